/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the statements of each agent through the builder of kernels.
 *
 * Strong accesses (atomic, volatile, relaxed) do not conflict with each other. What they order is
 * in ptx_flags.h: a signal of the warp that releases, and a wait of the one that has seen it.
 *
 * An approximation towards what is reported: a cluster barrier that arrives relaxed after
 * fence.mbarrier_init orders memory, because the fence is there for the mbarriers alone.
 */
#include "frontend/ptx/ptx_translate.h"

#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/text.h"
#include "frontend/ptx/ptx_objects.h"
#include "frontend/ptx/ptx_plain_name.h"
#include "kernel/kernel.h"

/* The next events of a warp, as far as they change what later ones mean. */
typedef struct warp_state {
    const spad__ptx_log_warp *warp;
    size_t cluster_arrived; /* phases of the cluster barrier */
    size_t cluster_waited;
    int64_t commits;     /* of wgmma groups */
    int64_t pair_allocs; /* of tensor memory, with the other CTA of the pair */
    uint32_t group_lanes[SPAD__PTX_GROUP_WGMMA]; /* by group: threads that put work into one */
    bool init_fence;                             /* since the last arrival at the cluster barrier */
} warp_state;

/* ---- lines of the program ------------------------------------------------------------------ */

/* The row of a line of the user's program that was called from another one: each once. */
static spad_status add_line_row(spad__ptx_translation *t, const spad__ptx_location *l,
                                int64_t caller, int64_t *out, spad_error *error) {
    const spad__ptx_module *m = t->run->module;
    for (size_t i = 0; i < t->lines.count; i++) {
        const spad__ptx_line *old = &t->lines.items[i];
        *out = old->row;
        if (old->file == l->file && old->line == l->line && old->column == l->column &&
            old->caller == caller)
            return SPAD_OK;
    }
    const bool named =
        l->file >= 0 && (size_t)l->file < m->files.count && m->files.items[l->file] != NULL;
    if (!spad__array_reserve(t->host, &t->lines, 1)) return spad__fail_host_memory(error);
    SPAD__PTX_TRY(spad__kernel_builder_source(
        out, t->builder, named ? m->files.items[l->file] : t->run->source->file,
        l->line > 0 ? l->line : 1, NULL, caller, error));
    t->builder->kernel->sources.items[*out].column = l->column;
    t->lines.items[t->lines.count++] = (spad__ptx_line){l->file, l->line, l->column, caller, *out};
    return SPAD_OK;
}

/* The row of a location. Calls that it was inlined into get their rows first. */
static spad_status add_source_line(spad__ptx_translation *t, int32_t location, int depth,
                                   int64_t *out, spad_error *error) {
    const spad__ptx_location *l = &t->run->module->locations.items[location];
    int64_t caller = -1;
    *out = t->sources.items[location];
    if (*out >= 0) return SPAD_OK;
    if (l->inlined_at >= 0 && l->inlined_at < location && depth < 64)
        SPAD__PTX_TRY(add_source_line(t, l->inlined_at, depth + 1, &caller, error));
    SPAD__PTX_TRY(add_line_row(t, l, caller, out, error));
    t->sources.items[location] = *out;
    return SPAD_OK;
}

/* The first instruction that ran of those that this line became by this opcode. */
static spad_status find_first_place(spad__ptx_translation *t, int64_t row, int32_t *instruction,
                                    spad_error *error) {
    const spad__ptx_op op = t->run->module->instructions.items[*instruction].op;
    for (size_t i = 0; i < t->places.count; i++) {
        const spad__ptx_place_in_text *p = &t->places.items[i];
        if (p->row != row || p->op != op) continue;
        *instruction = p->instruction;
        return SPAD_OK;
    }
    if (!spad__array_reserve(t->host, &t->places, 1)) return spad__fail_host_memory(error);
    t->places.items[t->places.count++] = (spad__ptx_place_in_text){row, op, *instruction};
    return SPAD_OK;
}

/* The opcode of an instruction in the text. */
static spad_location place_of_opcode(const spad__source *source, const spad__ptx_instruction *i) {
    size_t start = i->name.start;
    while (start > 0 && source->text[start - 1] != '\n') start--;
    return (spad_location){.line = i->line,
                           .column = (int32_t)(i->name.start - start) + 1,
                           .width = (int32_t)i->name.length};
}

spad_status spad__ptx_go_to(spad__ptx_translation *t, int32_t instruction, spad_error *error) {
    const spad__ptx_instruction *all = t->run->module->instructions.items;
    int64_t source = -1;
    if (all[instruction].location >= 0) {
        SPAD__PTX_TRY(add_source_line(t, all[instruction].location, 0, &source, error));
        SPAD__PTX_TRY(find_first_place(t, source, &instruction, error));
    }
    spad__kernel_builder_at(t->builder, place_of_opcode(t->run->source, &all[instruction]));
    return spad__kernel_builder_from(t->builder, source, error);
}

/* ---- statements ------------------------------------------------------------------------------ */

static spad_status constant_of(spad__ptx_translation *t, int64_t value, spad_expr *out,
                               spad_error *error) {
    return spad__kernel_builder_number(out, t->builder, value, error);
}

static spad_status add_plain_statement(spad__ptx_translation *t, spad_statement_kind kind,
                                       int64_t item, int64_t amount, unsigned flags,
                                       spad_error *error) {
    spad_statement statement = spad__statement_of(kind, item);
    statement.flags = flags;
    SPAD__PTX_TRY(constant_of(t, amount, &statement.amount, error));
    return spad__kernel_builder_statement(t->builder, &statement, error);
}

/* The index of an mbarrier: none, or the CTA that has it. */
static spad_status mbarrier_index(spad__ptx_translation *t, const spad__ptx_object *object,
                                  spad_expr *index, size_t *count, spad_error *error) {
    *count = t->ctas > 1 ? 1 : 0;
    return *count > 0 ? constant_of(t, object->cta, index, error) : SPAD_OK;
}

static spad_status add_mbarrier_statement(spad__ptx_translation *t, spad_statement_kind kind,
                                          const spad__ptx_event *e, int64_t amount,
                                          spad_error *error) {
    spad_expr index = 0;
    spad_statement statement =
        spad__statement_of(kind, spad__ptx_mbarrier_row_at(t, e->object.byte)->row);
    statement.index = &index;
    statement.flags = (e->relaxed ? SPAD_SYNC_RELAXED : 0u) | (e->drop ? SPAD_SYNC_DROP : 0u);
    if (e->unit != SPAD__PTX_NO_UNIT) statement.unit = t->units[e->unit];
    SPAD__PTX_TRY(mbarrier_index(t, &e->object, &index, &statement.index_count, error));
    if (kind != SPAD_STATEMENT_INVALIDATE)
        SPAD__PTX_TRY(constant_of(t, amount, &statement.amount, error));
    if (kind == SPAD_STATEMENT_ARRIVE && e->bytes > 0)
        SPAD__PTX_TRY(constant_of(t, e->bytes, &statement.expect, error));
    return spad__kernel_builder_statement(t->builder, &statement, error);
}

/* ---- accesses ----------------------------------------------------------------------------------
 */

/* Atomics, and strong accesses to flags, may come in any order. Other strong loads and stores are
 * data: what a `volatile` read finds is left to chance if nothing orders it after the write. */
static unsigned logged_access_kind(const spad__ptx_translation *t, const spad__ptx_event *e,
                                   const spad__ptx_event_access *a, const spad__ptx_bytes *run) {
    unsigned kind = a->kind & 7u;
    if (spad__ptx_is_agreed(&t->agreed, t->run->log, e, a, run))
        return SPAD_ACCESS_WRITE | SPAD_ACCESS_AGREED;
    const bool modifies = (a->kind & SPAD__PTX_UPDATE) == SPAD__PTX_UPDATE;
    if ((a->kind & SPAD__PTX_ATOMIC) != 0 &&
        (modifies || spad__ptx_is_flag(&t->flags, a->cta, run->begin, run->end)))
        kind = SPAD_ACCESS_ADD;
    if ((a->kind & SPAD__PTX_MAY) != 0) kind |= SPAD_ACCESS_MAY;
    return kind;
}

static spad_status add_logged_run(spad__ptx_translation *t, const spad__ptx_event *e,
                                  const spad__ptx_event_access *a, const spad__ptx_bytes *run,
                                  spad_error *error) {
    const spad__ptx_tensor *x =
        spad__ptx_tensor_of(&t->tensors, a->tensor_memory, a->cta, run->begin);
    spad_expr_range ranges[2] = {{0}, {0}};
    spad_kernel_access access = {
        .tensor = x->row, .kind = logged_access_kind(t, e, a, run), .ranges = ranges};
    if (a->tensor_memory) {
        spad_expr_range *lanes = &ranges[access.range_count++];
        SPAD__PTX_TRY(constant_of(t, run->lane, &lanes->from, error));
        SPAD__PTX_TRY(constant_of(t, (int64_t)run->lane + run->lanes, &lanes->to, error));
    }
    spad_expr_range *bytes = &ranges[access.range_count++];
    SPAD__PTX_TRY(constant_of(t, run->begin - x->begin, &bytes->from, error));
    SPAD__PTX_TRY(constant_of(t, run->end - x->begin, &bytes->to, error));
    return spad__kernel_builder_access(t->builder, &access, error);
}

static spad_status add_logged_accesses(spad__ptx_translation *t, const spad__ptx_logged *e,
                                       spad_error *error) {
    for (int32_t k = 0; k < e->event.access_count; k++) {
        const spad__ptx_event_access *a = spad__ptx_log_access(t->run->log, e, k);
        for (int32_t r = 0; r < a->run_count; r++)
            SPAD__PTX_TRY(
                add_logged_run(t, &e->event, a, spad__ptx_log_run(t->run->log, e, a, r), error));
    }
    return SPAD_OK;
}

/* "cp_async_bulk_tensor" */
static void name_operation(const spad__ptx_translation *t, const spad__ptx_event *e, char *name,
                           size_t size) {
    const spad__ptx_instruction *i = &t->run->module->instructions.items[e->instruction];
    snprintf(name, size, "%s", spad__ptx_op_name(i->op));
    for (char *c = name; *c != '\0'; c++) {
        if (*c == '.') *c = '_';
    }
}

static spad_status add_logged_operation(spad__ptx_translation *t, const spad__ptx_logged *logged,
                                        spad_error *error) {
    static const char *const runners[SPAD__PTX_UNIT_KINDS] = {
        "simt", "cp_async", "tma", "wgmma", "tcgen05", "st_async", "tcgen05_alloc"};
    const spad__ptx_event *e = &logged->event;
    char name[64];
    name_operation(t, e, name, sizeof name);
    const int unit = spad__ptx_is_alloc_result(t, e) ? SPAD__PTX_ALLOCATOR : (int)e->unit;
    SPAD__PTX_TRY(spad__kernel_builder_operation(t->builder, runners[unit], name, error));
    SPAD__PTX_TRY(add_logged_accesses(t, logged, error));
    const int group = spad__ptx_group_of(t, e);
    if (group != SPAD__PTX_NO_GROUP && t->groups[group] >= 0)
        SPAD__PTX_TRY(spad__kernel_builder_group(t->builder, t->groups[group], error));
    if (e->object.cta < 0) return SPAD_OK;
    spad_expr index = 0;
    spad_kernel_completion done = {.kind = SPAD_COMPLETION_DELIVER,
                                   .object = spad__ptx_mbarrier_row_at(t, e->object.byte)->row,
                                   .index = &index};
    SPAD__PTX_TRY(mbarrier_index(t, &e->object, &index, &done.index_count, error));
    SPAD__PTX_TRY(constant_of(t, e->bytes, &done.amount, error));
    return spad__kernel_builder_completion(t->builder, &done, error);
}

/* ---- the statements of a warp -------------------------------------------------------------------
 */

/* tcgen05.wait: the warp goes on when all of its loads, or stores, are complete. */
static spad_status add_tensor_wait(spad__ptx_translation *t, int group, spad_error *error) {
    if (t->groups[group] < 0) return SPAD_OK; /* it has none */
    const spad_statement commit = spad__statement_of(SPAD_STATEMENT_COMMIT, t->groups[group]);
    SPAD__PTX_TRY(spad__kernel_builder_statement(t->builder, &commit, error));
    return add_plain_statement(t, SPAD_STATEMENT_WAIT_GROUP, t->groups[group], 0, 0, error);
}

/* A warp's product is its signal to the agent of its warpgroup. tcgen05.alloc is taken to write its
 * result through the async proxy, as a copy that it waits for: Triton lets TMA write to
 * these bytes later, without a proxy fence. */
static spad_status add_access_event(spad__ptx_translation *t, const spad__ptx_logged *e,
                                    spad_error *error) {
    if (spad__ptx_is_alloc_result(t, &e->event)) {
        SPAD__PTX_TRY(add_logged_operation(t, e, error));
        return add_tensor_wait(t, SPAD__PTX_GROUP_TENSOR_ALLOCS, error);
    }
    if (e->event.unit != SPAD__PTX_WGMMA) return add_logged_operation(t, e, error);
    const spad__ptx_warpgroup *g = spad__ptx_warpgroup_of(t, e->event.cta, e->event.warp);
    return add_plain_statement(t, SPAD_STATEMENT_SIGNAL, g->issued[e->event.warp % 4], 1, 0, error);
}

/* Groups belong to threads, and here to a warp. So a commit or a wait counts if all threads of the
 * warp that have put work into a group take part; else nothing is waited for, which is less order
 * than there may be. */
static spad_status add_group_event(spad__ptx_translation *t, warp_state *s,
                                   const spad__ptx_event *e, spad_error *error) {
    const bool wait = e->kind == SPAD__PTX_WAIT_GROUP;
    if (e->group != SPAD__PTX_GROUP_WGMMA) {
        if (t->groups[e->group] < 0) return SPAD_OK; /* nothing was ever in such a group */
        if ((s->group_lanes[e->group] & ~e->lanes) != 0) return SPAD_OK; /* of other threads */
        if (!wait) {
            const spad_statement commit =
                spad__statement_of(SPAD_STATEMENT_COMMIT, t->groups[e->group]);
            return spad__kernel_builder_statement(t->builder, &commit, error);
        }
        return add_plain_statement(t, SPAD_STATEMENT_WAIT_GROUP, t->groups[e->group], e->amount,
                                   e->reads ? SPAD_SYNC_READS : 0u, error);
    }
    if (!wait) {
        s->commits++;
        return SPAD_OK;
    }
    const spad__ptx_warpgroup *g = spad__ptx_warpgroup_of(t, e->cta, e->warp);
    const int64_t done = s->commits - e->amount;
    if (g == NULL || g->done[e->warp % 4] < 0 || done <= 0) return SPAD_OK;
    return add_plain_statement(t, SPAD_STATEMENT_WAIT_VALUE, g->done[e->warp % 4], done, 0, error);
}

static spad_status add_cluster_event(spad__ptx_translation *t, warp_state *s,
                                     const spad__ptx_event *e, spad_error *error) {
    const bool arrive = e->kind == SPAD__PTX_CLUSTER_ARRIVE;
    const size_t phase = arrive ? s->cluster_arrived++ : s->cluster_waited++;
    if (phase >= t->cluster_rows.count) return SPAD_OK; /* no warp arrives at this phase */
    unsigned flags = e->relaxed && !(arrive && s->init_fence) ? SPAD_SYNC_RELAXED : 0u;
    if (arrive) s->init_fence = false;
    return add_plain_statement(t, arrive ? SPAD_STATEMENT_SIGNAL : SPAD_STATEMENT_WAIT_VALUE,
                               t->cluster_rows.items[phase],
                               arrive ? e->amount : t->cluster_threads.items[phase], flags, error);
}

static spad_status add_logged_fence(spad__ptx_translation *t, warp_state *s,
                                    const spad__ptx_event *e, spad_error *error) {
    spad_statement fence = spad__statement_of(SPAD_STATEMENT_FENCE, -1);
    switch (e->fence) {
    case SPAD__PTX_FENCE_PROXY: break;
    case SPAD__PTX_FENCE_PROXY_SHARED: fence.fence = t->fences[0]; break;
    case SPAD__PTX_FENCE_PROXY_GLOBAL: fence.fence = t->fences[1]; break;
    case SPAD__PTX_FENCE_INIT:
        s->init_fence = true;
        fence.fence = t->init_fence;
        break;
    case SPAD__PTX_FENCE_TCGEN05_BEFORE:
    case SPAD__PTX_FENCE_TCGEN05_AFTER:
        fence.fence = t->tcgen05_fence;
        fence.flags =
            e->fence == SPAD__PTX_FENCE_TCGEN05_BEFORE ? SPAD_FENCE_BEFORE : SPAD_FENCE_AFTER;
        break;
    case SPAD__PTX_WAIT_TCGEN05_LOADS:
        return add_tensor_wait(t, SPAD__PTX_GROUP_TENSOR_LOADS, error);
    case SPAD__PTX_WAIT_TCGEN05_STORES:
        return add_tensor_wait(t, SPAD__PTX_GROUP_TENSOR_STORES, error);
    case SPAD__PTX_FENCE_THREADS: /* orders nothing by itself */
    case SPAD__PTX_FENCE_WGMMA: /* registers, which are not in the kernel */ return SPAD_OK;
    }
    if (e->fence != SPAD__PTX_FENCE_PROXY && fence.fence < 0) return SPAD_OK;
    return spad__kernel_builder_statement(t->builder, &fence, error);
}

static spad_status add_mbarrier_init(spad__ptx_translation *t, const spad__ptx_event *e,
                                     spad_error *error) {
    const int64_t added = spad__ptx_mbarrier_row_at(t, e->object.byte)->added;
    return add_mbarrier_statement(t, SPAD_STATEMENT_INIT, e, e->count + added, error);
}

/* Of cp.async.mbarrier.arrive: it arrives when the copies of its own threads are complete. */
static bool arrives_for_all_copies(const warp_state *s, const spad__ptx_event *e) {
    return e->unit != SPAD__PTX_CP_ASYNC ||
           (s->group_lanes[SPAD__PTX_GROUP_CP_ASYNC] & ~e->lanes) == 0;
}

static spad_status add_mbarrier_event(spad__ptx_translation *t, const warp_state *s,
                                      const spad__ptx_event *e, spad_error *error) {
    spad__ptx_event alone = *e;
    alone.unit = SPAD__PTX_NO_UNIT;
    switch (e->kind) {
    case SPAD__PTX_MBARRIER_INIT: return add_mbarrier_init(t, e, error);
    case SPAD__PTX_MBARRIER_INVALIDATE:
        return add_mbarrier_statement(t, SPAD_STATEMENT_INVALIDATE, e, 0, error);
    case SPAD__PTX_MBARRIER_EXPECT:
        return add_mbarrier_statement(t, SPAD_STATEMENT_EXPECT, e, e->bytes, error);
    case SPAD__PTX_MBARRIER_WAIT:
        return add_mbarrier_statement(t, SPAD_STATEMENT_WAIT_PARITY, e, e->parity, error);
    default:
        return add_mbarrier_statement(t, SPAD_STATEMENT_ARRIVE,
                                      arrives_for_all_copies(s, e) ? e : &alone,
                                      e->amount + spad__ptx_missing_arrivals(t, e), error);
    }
}

/* tcgen05.alloc.cta_group::2 is one operation of a warp in each CTA of the pair (PTX ISA): none
 * goes on before the other has its memory. It orders the execution, and no memory. */
static spad_status meet_in_pair(spad__ptx_translation *t, warp_state *s, int32_t cta,
                                spad_error *error) {
    const int64_t counter = t->pair_allocs[cta / 2];
    SPAD__PTX_TRY(
        add_plain_statement(t, SPAD_STATEMENT_SIGNAL, counter, 1, SPAD_SYNC_RELAXED, error));
    return add_plain_statement(t, SPAD_STATEMENT_WAIT_VALUE, counter, 2 * ++s->pair_allocs,
                               SPAD_SYNC_RELAXED, error);
}

static spad_status add_tensor_memory(spad__ptx_translation *t, warp_state *s,
                                     const spad__ptx_logged *e, spad_error *error) {
    const bool alloc = e->event.kind == SPAD__PTX_TENSOR_ALLOC;
    const spad__ptx_event_access *a = spad__ptx_log_access(t->run->log, e, 0);
    const spad__ptx_bytes *run = spad__ptx_log_run(t->run->log, e, a, 0);
    const spad__ptx_tensor *x = spad__ptx_tensor_of(&t->tensors, true, a->cta, run->begin);
    const spad_statement tile =
        spad__statement_of(alloc ? SPAD_STATEMENT_ALLOC : SPAD_STATEMENT_FREE, x->row);
    SPAD__PTX_TRY(spad__kernel_builder_statement(t->builder, &tile, error));
    return spad__ptx_is_pair_alloc(t, &e->event) ? meet_in_pair(t, s, e->event.cta, error)
                                                 : SPAD_OK;
}

/* Lanes of one warp are in order as they are, registers are not in the kernel, and an exit may be
 * the only event of an empty function. */
static bool is_in_kernel(spad__ptx_event_kind kind) {
    return kind != SPAD__PTX_WARP_SYNC && kind != SPAD__PTX_REGISTERS && kind != SPAD__PTX_EXITED;
}

/* Waits for the flags that an event has seen. */
static spad_status wait_for_flags(spad__ptx_translation *t, int32_t event, spad_error *error) {
    const spad__ptx_flags *f = &t->flags;
    for (int32_t i = f->first[event]; i >= 0; i = f->seen.items[i].earlier) {
        const spad__ptx_seen *s = &f->seen.items[i];
        const spad__ptx_flag_row *row = &t->flag_rows.items[f->warp_of[s->source]];
        SPAD__PTX_TRY(add_plain_statement(t, SPAD_STATEMENT_WAIT_VALUE,
                                          s->relaxed ? row->relaxed : row->released,
                                          (s->relaxed ? f->relaxed_number : f->number)[s->source],
                                          s->relaxed ? SPAD_SYNC_RELAXED : 0u, error));
    }
    return SPAD_OK;
}

static spad_status signal_flags(spad__ptx_translation *t, int32_t event, spad_error *error) {
    const spad__ptx_flags *f = &t->flags;
    const spad__ptx_flag_row *row = &t->flag_rows.items[f->warp_of[event]];
    if (f->number[event] > 0)
        SPAD__PTX_TRY(add_plain_statement(t, SPAD_STATEMENT_SIGNAL, row->released, 1, 0, error));
    if (f->relaxed_number[event] == 0) return SPAD_OK;
    return add_plain_statement(t, SPAD_STATEMENT_SIGNAL, row->relaxed, 1, SPAD_SYNC_RELAXED, error);
}

static spad_status add_logged_event(spad__ptx_translation *t, warp_state *s,
                                    const spad__ptx_logged *e, spad_error *error);

/* An event with the flags that it waits for and sets. */
static spad_status add_ordered_event(spad__ptx_translation *t, warp_state *s, int32_t event,
                                     spad_error *error) {
    const spad__ptx_logged *e = &t->run->log->events.items[event];
    if (!is_in_kernel(e->event.kind)) return SPAD_OK;
    SPAD__PTX_TRY(spad__ptx_go_to(t, e->event.instruction, error));
    if (t->flag_rows.count == 0) return add_logged_event(t, s, e, error);
    SPAD__PTX_TRY(wait_for_flags(t, event, error));
    SPAD__PTX_TRY(add_logged_event(t, s, e, error));
    return signal_flags(t, event, error);
}

static spad_status add_logged_event(spad__ptx_translation *t, warp_state *s,
                                    const spad__ptx_logged *e, spad_error *error) {
    const spad__ptx_event *event = &e->event;
    switch (event->kind) {
    case SPAD__PTX_ACCESS:
        if (event->group != SPAD__PTX_NO_GROUP && event->group != SPAD__PTX_GROUP_WGMMA)
            s->group_lanes[event->group] |= event->lanes;
        return add_access_event(t, e, error);
    case SPAD__PTX_COMMIT:
    case SPAD__PTX_WAIT_GROUP: return add_group_event(t, s, event, error);
    case SPAD__PTX_BARRIER_SYNC:
        return add_plain_statement(t, SPAD_STATEMENT_SYNC,
                                   spad__ptx_barrier_row_of(t, event->cta, event)->row,
                                   event->amount, 0, error);
    case SPAD__PTX_BARRIER_ARRIVE:
        return add_plain_statement(t, SPAD_STATEMENT_ARRIVE,
                                   spad__ptx_barrier_row_of(t, event->cta, event)->row,
                                   event->amount, 0, error);
    case SPAD__PTX_CLUSTER_ARRIVE:
    case SPAD__PTX_CLUSTER_WAIT: return add_cluster_event(t, s, event, error);
    case SPAD__PTX_FENCE: return add_logged_fence(t, s, event, error);
    case SPAD__PTX_TENSOR_ALLOC:
    case SPAD__PTX_TENSOR_FREE: return add_tensor_memory(t, s, e, error);
    default: return add_mbarrier_event(t, s, event, error);
    }
}

/* Is it an arrival without more? */
static bool is_plain_arrival(const spad__ptx_event *e) {
    return e->kind == SPAD__PTX_MBARRIER_ARRIVE && e->unit == SPAD__PTX_NO_UNIT && e->bytes == 0 &&
           !e->drop && !e->relaxed;
}

/* The last arrival of the instruction that makes the arrival `first`: its lanes may arrive at
 * several mbarriers, those of all CTAs of a cluster for example. Each lane arrives once. */
static int32_t last_arrival(const spad__ptx_log *log, int32_t first) {
    const spad__ptx_event *e = &log->events.items[first].event;
    uint32_t lanes = e->lanes;
    int32_t last = first;
    while (is_plain_arrival(e) && log->events.items[last].next >= 0) {
        const int32_t next = log->events.items[last].next;
        const spad__ptx_event *other = &log->events.items[next].event;
        if (!is_plain_arrival(other) || other->instruction != e->instruction ||
            (other->lanes & lanes) != 0) {
            break;
        }
        lanes |= other->lanes;
        last = next;
    }
    return last;
}

/* Arrivals of one instruction are one operation: nobody sees one of them before another. */
static spad_status add_joint_arrivals(spad__ptx_translation *t, int32_t first, int32_t last,
                                      spad_error *error) {
    const spad__ptx_log *log = t->run->log;
    SPAD__PTX_TRY(spad__ptx_go_to(t, log->events.items[first].event.instruction, error));
    SPAD__PTX_TRY(spad__kernel_builder_operation(t->builder, "simt", "mbarrier_arrive", error));
    for (int32_t i = first;; i = log->events.items[i].next) {
        const spad__ptx_event *e = &log->events.items[i].event;
        spad_expr index = 0;
        spad_kernel_completion arrival = {.kind = SPAD_COMPLETION_ARRIVE,
                                          .object =
                                              spad__ptx_mbarrier_row_at(t, e->object.byte)->row,
                                          .index = &index};
        SPAD__PTX_TRY(mbarrier_index(t, &e->object, &index, &arrival.index_count, error));
        SPAD__PTX_TRY(
            constant_of(t, e->amount + spad__ptx_missing_arrivals(t, e), &arrival.amount, error));
        SPAD__PTX_TRY(spad__kernel_builder_completion(t->builder, &arrival, error));
        if (i == last) return SPAD_OK;
    }
}

/* Adds an event, or all arrivals of its instruction; *event is the last one that was added. */
static spad_status add_next_event(spad__ptx_translation *t, warp_state *s, int32_t *event,
                                  spad_error *error) {
    const int32_t last = last_arrival(t->run->log, *event);
    if (last == *event) return add_ordered_event(t, s, *event, error);
    const int32_t first = *event;
    *event = last;
    return add_joint_arrivals(t, first, last, error);
}

static spad_status add_warp_agent(spad__ptx_translation *t, const spad__ptx_log_warp *w,
                                  spad_error *error) {
    warp_state s = {.warp = w};
    char name[48];
    if (t->ctas > 1) {
        snprintf(name, sizeof name, "cta%d_warp%d", w->cta, w->number);
    } else {
        snprintf(name, sizeof name, "warp%d", w->number);
    }
    SPAD__PTX_TRY(spad__kernel_builder_agent(t->builder, name, error));
    SPAD__PTX_TRY(spad__kernel_builder_threads(t->builder, (spad_amount){.value = SPAD__PTX_LANES},
                                               (spad_amount){0}, error));
    for (int32_t i = w->first; i >= 0; i = t->run->log->events.items[i].next)
        SPAD__PTX_TRY(add_next_event(t, &s, &i, error));
    for (size_t phase = s.cluster_arrived; phase < t->cluster_rows.count; phase++)
        SPAD__PTX_TRY(add_plain_statement(t, SPAD_STATEMENT_SIGNAL, t->cluster_rows.items[phase],
                                          spad__ptx_warp_threads(t, w->number), 0, error));
    if (t->exits[w->cta] >= 0)
        SPAD__PTX_TRY(add_plain_statement(t, SPAD_STATEMENT_SIGNAL, t->exits[w->cta], 1, 0, error));
    return spad__kernel_builder_end(t->builder, error);
}

/* ---- the end of a CTA
 * ------------------------------------------------------------------------------ */

/* Nobody arrives at the mbarriers of a CTA that has ended. */
static spad_status add_end_of_mbarriers(spad__ptx_translation *t, int32_t cta, spad_error *error) {
    for (size_t i = 0; i < t->mbarriers.count; i++) {
        const spad__ptx_mbarrier_row *b = &t->mbarriers.items[i];
        const spad__ptx_object object = {.cta = cta, .byte = b->byte};
        spad_statement end = spad__statement_of(SPAD_STATEMENT_INVALIDATE, b->row);
        spad_expr index = 0;
        if (((b->remote & ~b->invalidated) >> cta & 1) == 0) continue;
        end.index = &index;
        SPAD__PTX_TRY(mbarrier_index(t, &object, &index, &end.index_count, error));
        SPAD__PTX_TRY(spad__kernel_builder_statement(t->builder, &end, error));
    }
    return SPAD_OK;
}

/* When all warps of a CTA have ended, the memory that others access is free: an agent says so. */
static spad_status add_exit(spad__ptx_translation *t, int32_t cta, spad_error *error) {
    const spad__ptx_log *log = t->run->log;
    int64_t warps = 0;
    char name[32];
    for (size_t i = 0; i < log->warps.count; i++) warps += log->warps.items[i].cta == cta;
    snprintf(name, sizeof name, "cta%d_exit", (int)cta);
    SPAD__PTX_TRY(spad__kernel_builder_from(t->builder, -1, error));
    SPAD__PTX_TRY(spad__kernel_builder_agent(t->builder, name, error));
    SPAD__PTX_TRY(
        add_plain_statement(t, SPAD_STATEMENT_WAIT_VALUE, t->exits[cta], warps, 0, error));
    for (size_t i = 0; i < t->tensors.items.count; i++) {
        const spad__ptx_tensor *x = &t->tensors.items.items[i];
        if (x->cta != cta || x->tensor_memory || !x->remote) continue;
        const spad_statement end = spad__statement_of(SPAD_STATEMENT_FREE, x->row);
        SPAD__PTX_TRY(spad__kernel_builder_statement(t->builder, &end, error));
    }
    SPAD__PTX_TRY(add_end_of_mbarriers(t, cta, error));
    return spad__kernel_builder_end(t->builder, error);
}

/* ---- the products of a warpgroup
 * ------------------------------------------------------------------- */

/* Takes a signal from each warp that issues the product. */
static spad_status take_products_issued(spad__ptx_translation *t, const spad__ptx_warpgroup *g,
                                        spad_error *error) {
    for (int k = 0; k < 4; k++) {
        if (g->issued[k] < 0) continue;
        SPAD__PTX_TRY(add_plain_statement(t, SPAD_STATEMENT_TAKE, g->issued[k], 1, 0, error));
    }
    return SPAD_OK;
}

/* When what was issued is complete, each warp may go on. */
static spad_status signal_products_done(spad__ptx_translation *t, const spad__ptx_warpgroup *g,
                                        spad_error *error) {
    for (int k = 0; k < 4; k++) {
        if (g->done[k] < 0) continue;
        spad_statement done = spad__statement_of(SPAD_STATEMENT_SIGNAL, g->done[k]);
        done.unit = t->units[SPAD__PTX_WGMMA];
        SPAD__PTX_TRY(constant_of(t, 1, &done.amount, error));
        SPAD__PTX_TRY(spad__kernel_builder_statement(t->builder, &done, error));
    }
    return SPAD_OK;
}

/* The products and commits in the order of the first warp that issues them: the instructions are
 * for the whole warpgroup, so the other warps have the same. */
static spad_status add_warpgroup(spad__ptx_translation *t, const spad__ptx_warpgroup *g,
                                 spad_error *error) {
    const spad__ptx_log *log = t->run->log;
    const spad__ptx_log_warp *leader = NULL;
    char name[48];
    for (size_t w = 0; w < log->warps.count && leader == NULL; w++) {
        const spad__ptx_log_warp *x = &log->warps.items[w];
        const bool in = x->cta == g->cta && x->number / 4 * 4 == g->first_warp;
        if (in && g->issued[x->number % 4] >= 0) leader = x;
    }
    if (t->ctas > 1) {
        snprintf(name, sizeof name, "cta%d_warpgroup%d", (int)g->cta, (int)g->first_warp / 4);
    } else {
        snprintf(name, sizeof name, "warpgroup%d", (int)g->first_warp / 4);
    }
    SPAD__PTX_TRY(spad__kernel_builder_agent(t->builder, name, error));
    for (int32_t i = leader->first; i >= 0; i = log->events.items[i].next) {
        const spad__ptx_logged *e = &log->events.items[i];
        const bool product = e->event.kind == SPAD__PTX_ACCESS && e->event.unit == SPAD__PTX_WGMMA;
        const bool commit =
            e->event.kind == SPAD__PTX_COMMIT && e->event.group == SPAD__PTX_GROUP_WGMMA;
        if (!product && !commit) continue;
        SPAD__PTX_TRY(spad__ptx_go_to(t, e->event.instruction, error));
        if (product) SPAD__PTX_TRY(take_products_issued(t, g, error));
        if (product) SPAD__PTX_TRY(add_logged_operation(t, e, error));
        if (commit) SPAD__PTX_TRY(signal_products_done(t, g, error));
    }
    return spad__kernel_builder_end(t->builder, error);
}

/* ---- the kernel
 * ------------------------------------------------------------------------------------- */

/* The chip that the module was compiled for, unless the caller names one. */
static spad_status choose_launch_target(spad__ptx_translation *t,
                                        const spad_kernel_options *options, spad_error *error) {
    char name[24];
    t->target = options->target;
    if (t->target != NULL) return SPAD_OK;
    snprintf(name, sizeof name, "sm_%d", t->run->module->architecture);
    return spad_target_find(&t->target, name, error);
}

/* The function's own name: "_ZN2ns4gemmIfEEvPf" is `gemm`. */
static void name_launched_kernel(const char *mangled, char *name, size_t size) {
    char plain[256];
    const char *from = mangled;
    size_t used = 0;
    if (spad__ptx_plain_name(plain, sizeof plain, mangled)) from = spad__ptx_last_part(plain);
    for (; *from != '\0' && used + 1 < size; from++)
        name[used++] = *from == '$' || *from == '%' ? '_' : *from;
    name[used] = '\0';
}

static spad_status begin_launch(spad__ptx_translation *t, const spad_kernel_options *options,
                                spad_error *error) {
    const spad__ptx_launch *launch = t->run->launch;
    char name[64], assumption[800];
    const int64_t blocks = (int64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    name_launched_kernel(launch->kernel->name, name, sizeof name);
    if (!spad__ptx_find_flags(&t->flags, t->run->log)) return spad__fail_host_memory(error);
    SPAD__PTX_TRY(spad__kernel_builder_create(&t->builder, name, "from PTX; one launch, executed",
                                              t->target, options, error));
    if (t->run->assumption[0] != '\0') {
        snprintf(assumption, sizeof assumption, "%s%s", t->run->assumption,
                 t->flags.seen.count > 0 ? ", and flags in shared memory are seen in the order of "
                                           "the execution"
                                         : "");
        SPAD__PTX_TRY(spad__kernel_builder_assume(t->builder, assumption, error));
    }
    if (t->run->undecided[0] != '\0')
        SPAD__PTX_TRY(spad__kernel_builder_undecided(t->builder, t->run->undecided, error));
    if (blocks > 1)
        SPAD__PTX_TRY(spad__kernel_builder_grid(t->builder, (spad_amount){.value = blocks}, error));
    return spad__kernel_builder_uncounted(t->builder, "what threads compute in registers", error);
}

/* Static and dynamic shared memory of a block, against the chip's: the driver refuses more. */
static spad_status check_shared_fits(const spad__ptx_translation *t, spad_error *error) {
    const int64_t bytes = spad__ptx_shared_bytes(&t->layout, t->run->launch->dynamic_shared_bytes);
    size_t space;
    SPAD__PTX_TRY(spad_target_find_space(&space, t->target, "shared", error));
    const int64_t most = t->target->spaces[space].bytes - t->target->spaces[space].reserved;
    if (bytes <= most) return SPAD_OK;
    return spad__fail(
        error, SPAD_ERR_ARGUMENT,
        "a block takes %lld bytes of shared memory, %lld of them static; %s has %lld: "
        "give a smaller --smem, or another --target",
        (long long)bytes, (long long)t->layout.static_shared, t->target->name, (long long)most);
}

static spad_status add_faults(spad__ptx_translation *t, spad_error *error) {
    for (size_t i = 0; i < t->run->fault_count; i++) {
        const spad__ptx_fault *f = &t->run->faults[i];
        SPAD__PTX_TRY(spad__ptx_go_to(t, f->instruction, error));
        SPAD__PTX_TRY(spad__kernel_builder_fault(t->builder, f->message, f->times, error));
    }
    return spad__kernel_builder_from(t->builder, -1, error);
}

static spad_status translate_log(spad__ptx_translation *t, const spad_kernel_options *options,
                                 spad_error *error) {
    SPAD__PTX_TRY(choose_launch_target(t, options, error));
    SPAD__PTX_TRY(begin_launch(t, options, error));
    SPAD__PTX_TRY(spad__ptx_declare(t, error));
    SPAD__PTX_TRY(check_shared_fits(t, error));
    for (size_t i = 0; i < t->run->log->warps.count; i++)
        SPAD__PTX_TRY(add_warp_agent(t, &t->run->log->warps.items[i], error));
    for (size_t i = 0; i < t->warpgroups.count; i++)
        SPAD__PTX_TRY(add_warpgroup(t, &t->warpgroups.items[i], error));
    for (int32_t cta = 0; cta < t->ctas; cta++)
        if (t->exits[cta] >= 0) SPAD__PTX_TRY(add_exit(t, cta, error));
    return add_faults(t, error);
}

static spad_status name_ptx_file(spad_kernel *kernel, const spad__ptx_executed *run,
                                 spad_error *error) {
    const char *file = run->source->file;
    kernel->compiled = true;
    kernel->file = spad__arena_copy(&kernel->arena, file, strlen(file));
    return kernel->file != NULL ? SPAD_OK : spad__fail_host_memory(error);
}

spad_status spad__ptx_translate(spad_kernel **out, const spad__ptx_executed *run,
                                const spad_kernel_options *options, spad_error *error) {
    const uint32_t *cluster = run->launch->cluster;
    spad__ptx_translation t = {.run = run,
                               .host = &run->log->host,
                               .ctas = (int32_t)(cluster[0] * cluster[1] * cluster[2])};
    *out = NULL;
    for (int i = 0; i < SPAD__PTX_UNIT_KINDS; i++) t.units[i] = -1;
    for (int i = 0; i < SPAD__PTX_CLUSTER; i++) t.exits[i] = -1;
    for (int i = 0; i < SPAD__PTX_GROUP_KINDS; i++) t.groups[i] = -1;
    const size_t locations = run->module->locations.count;
    spad_status status = SPAD_OK;
    if (!spad__array_reserve(t.host, &t.sources, locations)) {
        status = spad__fail_host_memory(error);
    } else {
        for (size_t i = 0; i < locations; i++) t.sources.items[t.sources.count++] = -1;
        status = translate_log(&t, options, error);
    }
    if (status == SPAD_OK) status = spad__kernel_builder_finish(out, t.builder, error);
    if (status == SPAD_OK) status = name_ptx_file(*out, run, error);
    spad__ptx_translation_free(&t);
    if (status != SPAD_OK) {
        spad_kernel_destroy(*out);
        *out = NULL;
    }
    return status;
}
