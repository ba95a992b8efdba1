/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes that make a kernel fit. Rings come first, because a shallower ring is the same
 * kernel: the largest depth that fits is found by halving, for every ring alone and for
 * all together. Where a ring takes its depth from a parameter, the parameter is changed,
 * so that loops and barriers that use it follow. What is offered was laid out and checked.
 * What a tensor would have to give up otherwise (alignment, its place on chip) comes from
 * the planner's explanation; where no single change is enough, several tensors, or the shallowest
 * rings with which the kernel is right and a tensor.
 *
 * Cost: O(log depth) layouts per ring, each with a deadline.
 */
#include "spad/experimental/fit.h"
#include "spad/experimental/kernel_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/fit.h"
#include "base/checked.h"
#include "base/memory.h"
#include "base/text.h"
#include "kernel/kernel.h"
#include "kernel/origin.h"
#include "spad/check.h"

enum { CAPS_MOST = 4 }; /* common depths that are tried with tensors moved */

/* Something that can be lowered: the depth of a ring, or a parameter that is one. */
typedef struct depth {
    spad_fit_kind kind;
    const char *name;
    int64_t value;
    bool written; /* the kernel has a ring there */
} depth;

typedef SPAD_ARRAY(depth) depth_list;

const char *spad_fit_kind_name(spad_fit_kind kind) {
    switch (kind) {
    case SPAD_FIT_PARAM: return "param";
    case SPAD_FIT_RING: return "ring";
    case SPAD_FIT_RINGS: return "rings";
    case SPAD_FIT_ALIGN: return "align";
    case SPAD_FIT_SPILL: return "spill";
    case SPAD_FIT_SPILLS: return "spills";
    case SPAD_FIT_ALIAS: return "alias";
    case SPAD_FIT_RELEASE: return "release";
    }
    return "?";
}

/* ---- trying ------------------------------------------------------------------------ */

/* The kernel with its depths at most `cap`. SPAD_OK and NULL: none exists. */
static spad_status reshape(const spad__fit_search *s, const depth *depths, size_t count,
                           int64_t cap, spad_kernel **out, spad_error *error) {
    const spad_host *host = &s->fit->host;
    spad_define *numbers = spad__new_array(host, count, 2 * sizeof *numbers);
    *out = NULL;
    if (numbers == NULL) return spad__fail_host_memory(error);
    spad_kernel_options options = {.defines = numbers, .rings = numbers + count, .host = host};
    for (size_t i = 0; i < count; i++) {
        const spad_define number = {depths[i].name, cap};
        if (depths[i].value <= cap) continue;
        if (depths[i].kind == SPAD_FIT_PARAM) {
            numbers[options.define_count++] = number;
        } else {
            numbers[count + options.ring_count++] = number;
        }
    }
    const spad_status status = spad_kernel_reshape(out, s->kernel, &options, NULL);
    spad__free(host, numbers, 2 * count * sizeof *numbers);
    return spad__attempted(status, error);
}

/* Lays the kernel out with the depths at most `cap`. *found: the space fits then. A kernel that
 * cannot be made with them, or not laid out, does not fit. `change` (optional) is filled in. */
static spad_status try_cap(const spad__fit_search *s, const depth *depths, size_t count,
                           int64_t cap, spad_fit_change *change, bool *found, spad_error *error) {
    spad_kernel *kernel;
    *found = false;
    spad_status status = reshape(s, depths, count, cap, &kernel, error);
    if (status != SPAD_OK || kernel == NULL) return status;
    status = spad__fit_try(s, kernel, change, found, error);
    spad_kernel_destroy(kernel);
    return status;
}

/* What makes every depth at most `cap`, as numbers of another kernel. False: no memory. */
static bool keep_numbers(const spad__fit_search *s, const depth *depths, size_t count, int64_t cap,
                         spad__fit_detail *detail) {
    spad_define *numbers = spad__arena_array(&s->fit->arena, count + 1, 2 * sizeof *numbers);
    if (numbers == NULL) return false;
    detail->defines = numbers;
    detail->rings = numbers + count;
    for (size_t i = 0; i < count; i++) {
        if (depths[i].value <= cap) continue;
        const size_t at = depths[i].kind == SPAD_FIT_PARAM ? detail->define_count++
                                                           : count + detail->ring_count++;
        numbers[at] = (spad_define){depths[i].name, cap};
    }
    return true;
}

/* The planner's places after buffers were spilled, or after another change. False: no memory. */
static bool keep_placing(const spad__fit_search *s, const spad_layout_space *row,
                         const spad_plan_place *places, const size_t *spilled, size_t count,
                         spad__fit_detail *detail) {
    const size_t n = row->planned_count;
    if (places == NULL) return true;
    spad_plan_place *own = spad__arena_array(&s->fit->arena, n + 1, sizeof *own);
    size_t *set = spad__arena_array(&s->fit->arena, count + 1, sizeof *set);
    if (own == NULL || set == NULL) return false;
    memcpy(own, places, n * sizeof *own);
    for (size_t k = 0; k < count; k++) set[k] = spilled[k];
    detail->places = own;
    detail->place_count = n;
    detail->spilled = set;
    detail->spilled_count = count;
    return true;
}

/* The largest cap of the depths with which the space fits, by halving; what it says is filled
 * in. *found: there is one. */
static spad_status lower(const spad__fit_search *s, const depth *depths, size_t count,
                         spad_fit_change *change, bool *found, spad_error *error) {
    int64_t low = 0; /* fits, if above 0 */
    int64_t high = change->from;
    spad_status status = SPAD_OK;
    while (status == SPAD_OK && high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        status = try_cap(s, depths, count, middle, NULL, found, error);
        if (*found) {
            low = middle;
        } else {
            high = middle;
        }
    }
    *found = false;
    change->to = low;
    if (status != SPAD_OK || low == 0) return status;
    return try_cap(s, depths, count, low, change, found, error);
}

/* ---- candidates -------------------------------------------------------------------- */

/* The parameter that an amount is, or -1. */
static int64_t lone_param(const spad_kernel *k, spad_amount amount) {
    const spad_expr_info info = spad_kernel_get_expr(k, amount.expr);
    return info.node_count == 1 && info.nodes[0].op == SPAD_EXPR_PARAM ? info.nodes[0].value : -1;
}

/* Is a parameter part of the problem, and not only of how it is solved? */
static bool is_extent(const spad_kernel *k, int64_t param) {
    for (size_t i = 0; i < spad_kernel_tensor_count(k); i++) {
        const spad_kernel_tensor *tensor = spad_kernel_get_tensor(k, i);
        if (spad__amounts_use_param(k, tensor->blocks, param) ||
            spad__amounts_use_param(k, tensor->dims, param))
            return true;
    }
    return false;
}

static spad_status add_depth(const spad__fit_search *s, depth_list *list, depth more,
                             spad_error *error) {
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].kind == more.kind && list->items[i].name == more.name) return SPAD_OK;
    }
    if (!spad__array_reserve(&s->fit->host, list, 1)) return spad__fail_host_memory(error);
    list->items[list->count++] = more;
    return SPAD_OK;
}

/* The parameters that a ring depends on, its own depth where that is a number of its own, or the
 * ring that a tensor without one could have. */
static spad_status add_depths_of(const spad__fit_search *s, const spad_kernel_tensor *tensor,
                                 depth_list *list, spad_error *error) {
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < tensor->ring.count && status == SPAD_OK; i++) {
        const int64_t number = lone_param(s->kernel, tensor->ring.items[i]);
        if (number < 0 || is_extent(s->kernel, number)) continue;
        const spad_kernel_param *param = spad_kernel_get_param(s->kernel, (size_t)number);
        status =
            add_depth(s, list, (depth){SPAD_FIT_PARAM, param->name, param->value, true}, error);
    }
    if (status != SPAD_OK) return status;
    const bool plain = tensor->ring.count == 1 && lone_param(s->kernel, tensor->ring.items[0]) < 0;
    if (plain || (tensor->ring.count == 0 && tensor->blocks.count > 0)) {
        status =
            add_depth(s, list, (depth){SPAD_FIT_RING, tensor->name, tensor->slots, plain}, error);
    }
    return status;
}

static spad_status find_depths(const spad__fit_search *s, depth_list *list, spad_error *error) {
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < spad_kernel_tensor_count(s->kernel) && status == SPAD_OK; i++) {
        const spad_kernel_tensor *tensor = spad_kernel_get_tensor(s->kernel, i);
        if (tensor->space != s->row->space || tensor->mode != SPAD_MODE_AUTO) continue;
        status = add_depths_of(s, tensor, list, error);
    }
    return status;
}

/* Each depth alone. A ring for a tensor that has none is offered only if it is right. */
static spad_status lower_each(const spad__fit_search *s, const depth_list *list,
                              spad_error *error) {
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < list->count && status == SPAD_OK; i++) {
        const depth *d = &list->items[i];
        spad_fit_change change = {
            .kind = d->kind, .space = s->row->space, .name = d->name, .from = d->value};
        bool found;
        status = lower(s, d, 1, &change, &found, error);
        if (status != SPAD_OK || !found) continue;
        if (!d->written && change.wrong != SPAD_FINDING_NONE) continue;
        spad__fit_detail detail = {0};
        status = keep_numbers(s, d, 1, change.to, &detail)
                     ? spad__fit_add(s, &change, &detail, error)
                     : spad__fail_host_memory(error);
    }
    return status;
}

/* "-D S=3 --ring x=3": the options that make every depth at most `cap`. NULL: no memory. */
static const char *words_of(const spad__fit_search *s, const depth_list *list, int64_t cap) {
    SPAD_ARRAY(char) text = {0};
    const char *kept = NULL;
    bool fine = true;
    for (size_t i = 0; i < list->count && fine; i++) {
        const depth *d = &list->items[i];
        if (d->value <= cap) continue;
        const char *option = d->kind == SPAD_FIT_PARAM ? "-D" : "--ring";
        const size_t room = strlen(d->name) + 40;
        fine = spad__array_reserve(&s->fit->host, &text, room);
        if (!fine) break;
        text.count += (size_t)snprintf(text.items + text.count, room, "%s%s %s=%lld",
                                       text.count > 0 ? " " : "", option, d->name, (long long)cap);
    }
    if (fine) kept = spad__arena_copy(&s->fit->arena, text.items, text.count);
    spad__array_free(&s->fit->host, &text);
    return kept;
}

/* All depths at once, if that is more than one of them. */
static spad_status lower_all(const spad__fit_search *s, const depth_list *list, spad_error *error) {
    spad_fit_change change = {.kind = SPAD_FIT_RINGS, .space = s->row->space};
    size_t lowered = 0;
    bool written = true;
    bool found;
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].value > change.from) change.from = list->items[i].value;
    }
    const spad_status status = lower(s, list->items, list->count, &change, &found, error);
    if (status != SPAD_OK || !found) return status;
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].value <= change.to) continue;
        lowered++;
        written = written && list->items[i].written;
    }
    if (lowered < 2 || (!written && change.wrong != SPAD_FINDING_NONE)) return SPAD_OK;
    spad__fit_detail detail = {0};
    change.name = words_of(s, list, change.to);
    if (change.name == NULL || !keep_numbers(s, list->items, list->count, change.to, &detail))
        return spad__fail_host_memory(error);
    return spad__fit_add(s, &change, &detail, error);
}

static spad_status lower_rings(const spad__fit_search *s, spad_error *error) {
    depth_list list = {0};
    spad_status status = find_depths(s, &list, error);
    if (status == SPAD_OK) status = lower_each(s, &list, error);
    if (status == SPAD_OK && list.count > 1) status = lower_all(s, &list, error);
    spad__array_free(&s->fit->host, &list);
    return status;
}

static bool was_tried(const spad__fit_search *s, spad_fit_kind kind, const char *name) {
    for (size_t i = 0; i < s->fit->rows.count; i++) {
        const spad_fit_change *change = &s->fit->rows.items[i].change;
        if (change->kind == kind && change->space == s->row->space && change->name == name) {
            return true;
        }
    }
    return false;
}

/* ---- what the planner knows ---------------------------------------------------------- */

static spad_status explain_space(const spad__fit_search *s, const spad_layout_space *row,
                                 spad_plan_reason **out, spad_error *error) {
    return spad_plan_explain(out, row->plan, row->result, s->timeout_ns, &s->watch, error);
}

/* A lower alignment, or one buffer less. */
static spad_status add_planned_changes(const spad__fit_search *s, const spad_plan_reason *reason,
                                       spad_error *error) {
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < reason->change_count && status == SPAD_OK; i++) {
        const spad_plan_change *from = &reason->changes[i];
        if (from->kind == SPAD_PLAN_SHORTEN || from->buffer >= s->row->planned_count) continue;
        const spad_layout_buffer *buffer =
            spad_layout_get_buffer(s->layout, s->row->first_buffer + from->buffer);
        if (buffer->tensor < 0) continue; /* an mbarrier stays on chip, and as it is aligned */
        const bool align = from->kind == SPAD_PLAN_ALIGN;
        const spad_fit_change change = {.kind = align ? SPAD_FIT_ALIGN : SPAD_FIT_SPILL,
                                        .space = s->row->space,
                                        .name = buffer->name,
                                        .from = align ? buffer->alignment : buffer->taken,
                                        .to = align ? from->amount : 0,
                                        .saved = align ? 0 : buffer->taken};
        if (was_tried(s, change.kind, change.name)) continue;
        spad__fit_detail detail = {0};
        status = keep_placing(s, s->row, from->places, &from->buffer, align ? 0 : 1, &detail)
                     ? spad__fit_add(s, &change, &detail, error)
                     : spad__fail_host_memory(error);
    }
    return status;
}

/* "'a', 'b' and 'c'" in the arena, each tensor once, and what they take. NULL: no memory. */
static const char *set_names(const spad__fit_search *s, const spad_layout *layout,
                             const spad_layout_space *row, const size_t *set, size_t count,
                             int64_t *taken) {
    spad__memo memo = {.host = &s->fit->host};
    const spad_sink sink = spad__memo_sink(&memo);
    spad__out out;
    spad__out_start(&out, &sink);
    const char *before = NULL; /* is written when it is known whether another one follows */
    bool any = false;
    *taken = 0;
    for (size_t k = 0; k <= count; k++) {
        const spad_layout_buffer *b =
            k < count ? spad_layout_get_buffer(layout, row->first_buffer + set[k]) : NULL;
        bool again = false;
        for (size_t i = 0; i < k && b != NULL; i++)
            again = again ||
                    spad_layout_get_buffer(layout, row->first_buffer + set[i])->name == b->name;
        if (b != NULL) *taken += b->taken;
        if (again) continue;
        if (before != NULL) {
            if (any) spad__out_string(&out, b == NULL ? " and " : ", ");
            spad__out_format(&out, "'%s'", before);
            any = true;
        }
        if (b != NULL) before = b->name;
    }
    const char *kept = NULL;
    if (spad__out_finish(&out, NULL) == SPAD_OK)
        kept = spad__arena_copy(&s->fit->arena, memo.text.items, memo.text.count);
    spad__memo_free(&memo);
    return kept;
}

/* Mbarriers stay on chip. */
static bool are_tensors(const spad_layout *layout, const spad_layout_space *row, const size_t *set,
                        size_t count) {
    for (size_t k = 0; k < count; k++) {
        if (set[k] >= row->planned_count ||
            spad_layout_get_buffer(layout, row->first_buffer + set[k])->tensor < 0)
            return false;
    }
    return true;
}

/* A layout for which sets are looked for. It may be that of the kernel with shallower rings. */
typedef struct spilled_layout {
    const spad_layout *layout;
    const spad_layout_space *row;
    const char *with; /* options for the shallower rings; NULL: it is the layout of the kernel */
    spad__fit_detail numbers;
} spilled_layout;

/* A set of the planner's for the layout. */
static spad_status add_spills(const spad__fit_search *s, const spilled_layout *l,
                              const spad_plan_spill *set, spad_error *error) {
    const spad_layout_space *row = l->row;
    if (!are_tensors(l->layout, row, set->buffers, set->count)) return SPAD_OK;
    spad_fit_change change = {.kind = SPAD_FIT_SPILLS, .space = row->space, .with = l->with};
    spad__fit_detail detail = l->numbers;
    change.name = set_names(s, l->layout, row, set->buffers, set->count, &change.saved);
    change.from = change.saved;
    if (change.name == NULL ||
        !keep_placing(s, row, set->places, set->buffers, set->count, &detail))
        return spad__fail_host_memory(error);
    if (l->with != NULL && s->row->height != SPAD_UNBOUNDED && row->height != SPAD_UNBOUNDED)
        change.saved += spad__max(s->row->height - row->height, 0);
    return spad__fit_add(s, &change, &detail, error);
}

static spad_status add_sets(const spad__fit_search *s, const spilled_layout *l,
                            const spad_plan_reason *reason, spad_error *error) {
    spad_status status = SPAD_OK;
    for (size_t i = 0; l->with != NULL && i < reason->change_count && status == SPAD_OK; i++) {
        const spad_plan_change *change = &reason->changes[i];
        if (change->kind != SPAD_PLAN_SPILL) continue;
        const spad_plan_spill one = {
            .count = 1, .buffers = &change->buffer, .places = change->places};
        status = add_spills(s, l, &one, error);
    }
    for (size_t i = 0; i < reason->spill_count && status == SPAD_OK; i++)
        status = add_spills(s, l, &reason->spills[i], error);
    return status;
}

static bool has_right_change(const spad__fit_search *s) {
    for (size_t i = 0; i < s->fit->rows.count; i++) {
        const spad_fit_change *change = &s->fit->rows.items[i].change;
        if (change->space == s->row->space && change->wrong == SPAD_FINDING_NONE &&
            change->kind != SPAD_FIT_SPILLS)
            return true;
    }
    return false;
}

/* Can the planner's changes be enough? Not where the kernel itself places tensors outside of the
 * space: to the planner those are bytes that are taken, up to the capacity. */
static bool may_be_planned(const spad_layout *layout, const spad_layout_space *row) {
    if (spad__fit_is_fine(row->result->verdict)) return false;
    for (size_t i = row->planned_count; i < row->buffer_count; i++) {
        const spad_layout_buffer *given = spad_layout_get_buffer(layout, row->first_buffer + i);
        const int64_t place = given->rect.byte;
        if (place < 0 || place + given->taken > row->capacity) return false;
    }
    return true;
}

static spad_status run_planner(const spad__fit_search *s, spad_error *error) {
    if (!may_be_planned(s->layout, s->row)) return SPAD_OK;
    spad_plan_reason *reason;
    spad_status status = explain_space(s, s->row, &reason, error);
    if (status != SPAD_OK) return status;
    status = add_planned_changes(s, reason, error);
    const spilled_layout own = {.layout = s->layout, .row = s->row};
    if (status == SPAD_OK && !has_right_change(s)) status = add_sets(s, &own, reason, error);
    spad_plan_reason_destroy(reason);
    return status;
}

/* ---- rings and tensors ------------------------------------------------------------- */

/* What to move when all rings are at most `cap` deep; *right: the kernel is right with them, so
 * that deeper ones need not be looked at. */
static spad_status spill_with(const spad__fit_search *s, const depth_list *list, int64_t cap,
                              bool *right, spad_error *error) {
    const spad_layout_options options = {
        .timeout_ns = s->timeout_ns, .watch = s->watch, .host = &s->fit->host};
    const spad_check_options checks = {.no_advice = true, .watch = s->watch, .host = &s->fit->host};
    spad_kernel *kernel;
    spad_layout *layout = NULL;
    *right = false;
    spad_status status = reshape(s, list->items, list->count, cap, &kernel, error);
    if (status != SPAD_OK || kernel == NULL) return status;
    status = spad_layout_create_checked(&layout, NULL, kernel, &options, &checks, NULL);
    spad_fit_change shallower = {.wrong = SPAD_FINDING_NONE};
    if (status == SPAD_OK)
        status = spad__fit_find_error(s, kernel, layout, &shallower, error);
    else
        status = spad__attempted(status, error);
    const spad_layout_space *row =
        layout != NULL ? spad__fit_find_space(layout, s->row->space) : NULL;
    if (status == SPAD_OK && row != NULL && shallower.wrong == SPAD_FINDING_NONE &&
        may_be_planned(layout, row)) {
        spilled_layout l = {.layout = layout, .row = row, .with = words_of(s, list, cap)};
        spad_plan_reason *reason = NULL;
        *right = true;
        status = l.with != NULL && keep_numbers(s, list->items, list->count, cap, &l.numbers)
                     ? explain_space(s, row, &reason, error)
                     : spad__fail_host_memory(error);
        if (status == SPAD_OK) status = add_sets(s, &l, reason, error);
        spad_plan_reason_destroy(reason);
    }
    spad_layout_destroy(layout);
    spad_kernel_destroy(kernel);
    return status;
}

/* Where nothing else helps: the shallowest rings with which the kernel is right, and tensors. */
static spad_status lower_and_spill(const spad__fit_search *s, spad_error *error) {
    depth_list list = {0};
    bool right = false;
    spad_status status = find_depths(s, &list, error);
    int64_t deepest = 0;
    for (size_t i = 0; i < list.count; i++) deepest = spad__max(deepest, list.items[i].value);
    for (int64_t cap = 1; cap < spad__min(deepest, CAPS_MOST + 1) && status == SPAD_OK && !right;
         cap++)
        status = spill_with(s, &list, cap, &right, error);
    spad__array_free(&s->fit->host, &list);
    return status;
}

/* ---- all --------------------------------------------------------------------------- */

/* Shallower rings, then other bytes, then more traffic. */
static int fit_rank(spad_fit_kind kind) {
    switch (kind) {
    case SPAD_FIT_PARAM:
    case SPAD_FIT_RING:
    case SPAD_FIT_RINGS: return 0;
    case SPAD_FIT_ALIAS:
    case SPAD_FIT_RELEASE: return 1;
    default: return 2;
    }
}

/* By space; right ones first; by kind; then the least. */
static int compare_changes(const void *left, const void *right) {
    const spad_fit_change *a = left;
    const spad_fit_change *b = right;
    if (a->space != b->space) return a->space < b->space ? -1 : 1;
    if ((a->wrong != 0) != (b->wrong != 0)) return a->wrong != 0 ? 1 : -1;
    if (fit_rank(a->kind) != fit_rank(b->kind))
        return fit_rank(a->kind) < fit_rank(b->kind) ? -1 : 1;
    if (a->saved != b->saved) return a->saved < b->saved ? -1 : 1;
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    const int names = strcmp(a->name, b->name);
    return names != 0 || a->with == NULL || b->with == NULL ? names : strcmp(a->with, b->with);
}

spad_status spad_fit_create(spad_fit **out, const spad_layout *layout,
                            const spad_fit_options *options, spad_error *error) {
    const spad_fit_options filled = options != NULL ? *options : (spad_fit_options){0};
    *out = NULL;
    if (filled.timeout_ns < 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "a timeout of %lld ns is negative",
                          (long long)filled.timeout_ns);
    }
    const spad_host host = spad__host_or_default(filled.host);
    spad_fit *fit = spad__new(&host, sizeof *fit);
    if (fit == NULL) return spad__fail_host_memory(error);
    fit->host = host;
    fit->arena.host = host;
    fit->origin = spad__origin_of(spad_layout_get_kernel(layout));
    spad__fit_search s = {.layout = layout,
                          .kernel = spad_layout_get_kernel(layout),
                          .timeout_ns =
                              filled.timeout_ns != 0 ? filled.timeout_ns : SPAD_FIT_TIMEOUT,
                          .watch = filled.watch,
                          .fit = fit};
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < spad_layout_space_count(layout) && status == SPAD_OK; i++) {
        s.row = spad_layout_get_space(layout, i);
        if (spad__fit_is_fine(s.row->verdict)) continue;
        status = lower_rings(&s, error);
        if (status == SPAD_OK) status = spad__fit_share(&s, error);
        if (status == SPAD_OK) status = run_planner(&s, error);
        if (status == SPAD_OK && !has_right_change(&s)) status = lower_and_spill(&s, error);
    }
    if (status != SPAD_OK) {
        spad_fit_destroy(fit);
        return status;
    }
    if (fit->rows.count > 0)
        qsort(fit->rows.items, fit->rows.count, sizeof fit->rows.items[0], compare_changes);
    *out = fit;
    return SPAD_OK;
}

void spad_fit_destroy(spad_fit *fit) {
    if (fit == NULL) return;
    const spad_host host = fit->host;
    spad__array_free(&host, &fit->rows);
    spad__arena_free(&fit->arena);
    spad__free(&host, fit, sizeof *fit);
}

const spad__fit_detail *spad__fit_get_detail(const spad_fit *fit, size_t number) {
    return &fit->rows.items[number].detail;
}

spad_status spad__fit_match(const spad_fit *fit, const spad_layout *layout, spad_error *error) {
    const spad__origin given = spad__origin_of(spad_layout_get_kernel(layout));
    return spad__match_origins("layout", &given, "list of changes", &fit->origin, error);
}
