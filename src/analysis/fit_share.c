/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes for two: changes that let a kernel fit because tensors use the same bytes one after the
 * other. The planner shares bytes of whole tensors that are needed at different times, so what is
 * left are rings whose tiles are, and addresses that the kernel gives.
 *
 * A pair of tensors is tried if no operation accesses both: an operation that reads the one and
 * writes the other would have to work in place, which only its author can say. The changed kernel
 * is laid out and checked, and only one that is right is named. At most ALIAS_TRIALS layouts.
 */
#include "analysis/fit.h"
#include "base/checked.h"
#include "kernel/edit.h"
#include "kernel/kernel.h"
#include "spad/experimental/kernel_rows.h"

enum { ALIAS_TRIALS = 16, ALIASES_SHOWN = 4 };

/* ---- addresses --------------------------------------------------------------------- */

static bool gives_addresses(const spad__fit_search *s) {
    for (size_t i = 0; i < s->row->buffer_count; i++) {
        const spad_layout_buffer *b = spad_layout_get_buffer(s->layout, s->row->first_buffer + i);
        if (b->mode == SPAD_MODE_AT || b->mode == SPAD_MODE_MOD) return true;
    }
    return false;
}

static spad_status try_release(const spad__fit_search *s, spad_error *error) {
    const spad__fit_detail none = {0};
    spad_fit_change change = {
        .kind = SPAD_FIT_RELEASE, .space = s->row->space, .name = "--release"};
    spad_kernel *kernel;
    bool found;
    if (!gives_addresses(s)) return SPAD_OK;
    spad_status status = spad_kernel_release(&kernel, s->kernel, &s->fit->host, NULL);
    if (status != SPAD_OK) return spad__attempted(status, error);
    status = spad__fit_try(s, kernel, &change, &found, error);
    if (status == SPAD_OK && found && change.wrong == SPAD_FINDING_NONE)
        status = spad__fit_add(s, &change, &none, error);
    spad_kernel_destroy(kernel);
    return status;
}

/* ---- aliases ----------------------------------------------------------------------- */

static bool accesses(const spad_kernel *k, const spad_statement *statement, size_t tensor) {
    for (size_t i = 0; i < statement->access_count; i++) {
        const int64_t used = k->accesses.items[statement->first_access + i].tensor;
        if (k->tensors.items[used].home == (int64_t)tensor) return true;
    }
    return false;
}

static bool meet_in_operation(const spad_kernel *k, size_t a, size_t b) {
    for (size_t i = 0; i < k->statements.count; i++) {
        const spad_statement *statement = &k->statements.items[i];
        if (accesses(k, statement, a) && accesses(k, statement, b)) return true;
    }
    return false;
}

static bool has_same_tiles(const spad_kernel_tensor *a, const spad_kernel_tensor *b) {
    if (a->blocks.count != b->blocks.count) return false;
    for (size_t i = 0; i < a->blocks.count; i++) {
        if (a->blocks.items[i].value != b->blocks.items[i].value) return false;
    }
    return true;
}

/* Could `tensor` be tile by tile in `other`? */
static bool may_be_inside(const spad__fit_search *s, size_t tensor, size_t other) {
    const spad_kernel *k = s->kernel;
    const spad_kernel_tensor *t = &k->tensors.items[tensor], *o = &k->tensors.items[other];
    return tensor != other && o->space == s->row->space && spad__has_own_place(k, other) &&
           t->tile_lanes <= o->tile_lanes && t->tile_bytes <= o->tile_bytes &&
           has_same_tiles(t, o) && !meet_in_operation(k, tensor, other);
}

/* Are the bytes of a tensor worth it? Where the layout has a height, less than what is missing
 * cannot be enough. */
static bool saves_enough(const spad__fit_search *s, const spad_kernel_tensor *t) {
    const int64_t over = s->row->height != SPAD_UNBOUNDED ? s->row->height - s->row->capacity : 0;
    int64_t bytes;
    return !spad__mul(t->tile_bytes, t->slots, &bytes) || bytes >= over;
}

/* Is the change the other way round there? */
static bool is_named(const spad__fit_search *s, size_t tensor, size_t other) {
    const spad_kernel_tensor *all = s->kernel->tensors.items;
    for (size_t i = 0; i < spad_fit_count(s->fit); i++) {
        const spad_fit_change *c = spad_fit_get(s->fit, i);
        if (c->kind == SPAD_FIT_ALIAS && c->name == all[tensor].name && c->with == all[other].name)
            return true;
    }
    return false;
}

static spad_status try_pair(const spad__fit_search *s, size_t tensor, size_t other, int64_t *to,
                            int *named, spad_error *error) {
    const spad_kernel *k = s->kernel;
    const spad_kernel_tensor *t = &k->tensors.items[tensor];
    const spad__fit_detail none = {0};
    spad_fit_change change = {.kind = SPAD_FIT_ALIAS,
                              .space = s->row->space,
                              .name = t->name,
                              .with = k->tensors.items[other].name};
    spad__edit edit = spad__edit_alias(k, tensor, other, to);
    spad_kernel *kernel;
    bool found;
    edit.alias_tiles = true;
    if (!spad__mul(t->tile_bytes, t->slots, &change.from)) return SPAD_OK;
    spad_status status = spad__kernel_edit(&kernel, k, &edit, &s->fit->host, NULL);
    if (status != SPAD_OK) return spad__attempted(status, error);
    status = spad__fit_try(s, kernel, &change, &found, error);
    if (status == SPAD_OK && found && change.wrong == SPAD_FINDING_NONE) {
        status = spad__fit_add(s, &change, &none, error);
        (*named)++;
    }
    spad_kernel_destroy(kernel);
    return status;
}

static spad_status try_pairs(const spad__fit_search *s, spad_error *error) {
    const spad_kernel *k = s->kernel;
    const size_t count = k->statements.count;
    int trials = 0, named = 0;
    int64_t *to = spad__new_array(&s->fit->host, count + 1, sizeof *to);
    if (to == NULL) return spad__fail_host_memory(error);
    spad_status status = SPAD_OK;
    for (size_t t = k->tensors.count; t-- > 0 && status == SPAD_OK;) { /* mostly the later one */
        const spad_kernel_tensor *tensor = &k->tensors.items[t];
        if (tensor->space != s->row->space || !spad__has_own_place(k, t) || spad__is_home(k, t) ||
            !saves_enough(s, tensor))
            continue;
        for (size_t o = 0; o < k->tensors.count && status == SPAD_OK; o++) {
            if (trials == ALIAS_TRIALS || named == ALIASES_SHOWN || !may_be_inside(s, t, o) ||
                is_named(s, o, t))
                continue;
            trials++;
            status = try_pair(s, t, o, to, &named, error);
        }
    }
    spad__free(&s->fit->host, to, (count + 1) * sizeof *to);
    return status;
}

spad_status spad__fit_share(const spad__fit_search *s, spad_error *error) {
    const spad_status status = try_release(s, error);
    return status == SPAD_OK ? try_pairs(s, error) : status;
}
