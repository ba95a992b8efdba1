/* SPDX-License-Identifier: Apache-2.0
 *
 * Declares the rows of a translated kernel. A first pass over the events finds what there is.
 */
#include "frontend/ptx/ptx_objects.h"
#include "target/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/checked.h"
#include "base/text.h"

/* ---- finding ------------------------------------------------------------------------ */

spad__ptx_mbarrier_row *spad__ptx_mbarrier_row_at(spad__ptx_translation *t, int64_t byte) {
    for (size_t i = 0; i < t->mbarriers.count; i++) {
        if (t->mbarriers.items[i].byte == byte) return &t->mbarriers.items[i];
    }
    return NULL;
}

spad__ptx_barrier_row *spad__ptx_barrier_row_of(spad__ptx_translation *t, int32_t cta,
                                                const spad__ptx_event *event) {
    for (size_t i = 0; i < t->barriers.count; i++) {
        spad__ptx_barrier_row *b = &t->barriers.items[i];
        if (b->cta == cta && b->number == event->object.byte && b->count == event->count) return b;
    }
    return NULL;
}

spad__ptx_warpgroup *spad__ptx_warpgroup_of(spad__ptx_translation *t, int32_t cta, int32_t warp) {
    for (size_t i = 0; i < t->warpgroups.count; i++) {
        spad__ptx_warpgroup *g = &t->warpgroups.items[i];
        if (g->cta == cta && g->first_warp == warp / 4 * 4) return g;
    }
    return NULL;
}

static bool note_mbarrier(spad__ptx_translation *t, const spad__ptx_event *e) {
    const bool init = e->kind == SPAD__PTX_MBARRIER_INIT;
    spad__ptx_mbarrier_row *row = spad__ptx_mbarrier_row_at(t, e->object.byte);
    if (row == NULL) {
        if (!spad__array_reserve(t->host, &t->mbarriers, 1)) return false;
        row = &t->mbarriers.items[t->mbarriers.count++];
        *row = (spad__ptx_mbarrier_row){.byte = e->object.byte, .row = -1};
    }
    if (init && row->count == 0) row->count = e->count;
    if (e->object.cta != e->cta) row->remote |= UINT32_C(1) << e->object.cta;
    if (e->kind == SPAD__PTX_MBARRIER_INVALIDATE) row->invalidated |= UINT32_C(1) << e->object.cta;
    if (e->kind == SPAD__PTX_MBARRIER_ARRIVE && e->count > 0) row->added = 1; /* see note_added */
    return true;
}

/* ---- arrivals that are added to a phase ----------------------------------------------- */

static spad__ptx_added *added_to_phase(spad__ptx_translation *t, const spad__ptx_event *e) {
    for (size_t i = t->added.count; i-- > 0;) {
        spad__ptx_added *a = &t->added.items[i];
        const bool same = a->byte == e->object.byte && a->cta == e->object.cta;
        if (same && !a->over && a->phase == e->phase) return a;
    }
    if (!spad__array_reserve(t->host, &t->added, 1)) return NULL;
    spad__ptx_added *a = &t->added.items[t->added.count++];
    *a = (spad__ptx_added){.byte = e->object.byte, .cta = e->object.cta, .phase = e->phase};
    return a;
}

static void end_phases(spad__ptx_translation *t, const spad__ptx_event *init) {
    for (size_t i = 0; i < t->added.count; i++) {
        spad__ptx_added *a = &t->added.items[i];
        a->over |= a->byte == init->object.byte && a->cta == init->object.cta;
    }
}

static bool note_added_arrival(spad__ptx_translation *t, spad__ptx_mbarrier_row *row,
                               const spad__ptx_event *e) {
    spad__ptx_added *a = added_to_phase(t, e);
    if (a == NULL) return false;
    a->arrivals += e->count;
    if (a->arrivals > row->added) row->added = a->arrivals;
    if (a->filler == NULL && e->unit == SPAD__PTX_NO_UNIT && !e->drop) a->filler = e;
    return true;
}

static bool note_added(spad__ptx_translation *t) {
    const spad__ptx_log *log = t->run->log;
    for (size_t i = 0; i < log->events.count; i++) {
        const spad__ptx_event *e = &log->events.items[i].event;
        const bool init = e->kind == SPAD__PTX_MBARRIER_INIT;
        if (!init && e->kind != SPAD__PTX_MBARRIER_ARRIVE) continue;
        spad__ptx_mbarrier_row *row = spad__ptx_mbarrier_row_at(t, e->object.byte);
        if (row == NULL || row->added == 0) continue;
        if (init) {
            end_phases(t, e);
        } else if (!note_added_arrival(t, row, e)) {
            return false;
        }
    }
    return true;
}

int64_t spad__ptx_missing_arrivals(spad__ptx_translation *t, const spad__ptx_event *event) {
    const spad__ptx_mbarrier_row *row = spad__ptx_mbarrier_row_at(t, event->object.byte);
    spad__assert(row != NULL); /* every object of an event was noted */
    const int64_t most = row->added;
    for (size_t i = 0; most > 0 && i < t->added.count; i++) {
        const spad__ptx_added *a = &t->added.items[i];
        if (a->filler == event) return most - a->arrivals;
    }
    return 0;
}

static bool note_barrier(spad__ptx_translation *t, const spad__ptx_event *e) {
    if (spad__ptx_barrier_row_of(t, e->cta, e) != NULL) return true;
    if (!spad__array_reserve(t->host, &t->barriers, 1)) return false;
    t->barriers.items[t->barriers.count++] =
        (spad__ptx_barrier_row){e->cta, e->object.byte, e->count, -1};
    return true;
}

static bool note_warpgroup(spad__ptx_translation *t, const spad__ptx_event *e) {
    spad__ptx_warpgroup *g = spad__ptx_warpgroup_of(t, e->cta, e->warp);
    if (g == NULL) {
        if (!spad__array_reserve(t->host, &t->warpgroups, 1)) return false;
        g = &t->warpgroups.items[t->warpgroups.count++];
        *g = (spad__ptx_warpgroup){e->cta, e->warp / 4 * 4, {-1, -1, -1, -1}, {-1, -1, -1, -1}};
    }
    g->issued[e->warp % 4] = 0;
    return true;
}

/* Threads that arrive in each phase of the cluster barrier: a warp's n-th arrival is of phase n. */
static int64_t block_threads(const spad__ptx_translation *t) {
    const uint32_t *block = t->run->launch->block;
    return (int64_t)block[0] * block[1] * block[2];
}

int64_t spad__ptx_warp_threads(const spad__ptx_translation *t, int32_t warp) {
    return spad__min(block_threads(t) - (int64_t)warp * SPAD__PTX_LANES, SPAD__PTX_LANES);
}

/* A phase of the cluster barrier needs all threads of the cluster: those that end count as arrived
 * when they do. */
static bool note_cluster(spad__ptx_translation *t) {
    const spad__ptx_log *log = t->run->log;
    const int64_t threads = block_threads(t) * t->ctas;
    for (size_t w = 0; w < log->warps.count; w++) {
        size_t phase = 0;
        for (int32_t i = log->warps.items[w].first; i >= 0; i = log->events.items[i].next) {
            const spad__ptx_event *e = &log->events.items[i].event;
            if (e->kind != SPAD__PTX_CLUSTER_ARRIVE) continue;
            if (phase == t->cluster_threads.count) {
                if (!spad__array_reserve(t->host, &t->cluster_threads, 1)) return false;
                t->cluster_threads.items[t->cluster_threads.count++] = threads;
            }
            phase++;
        }
    }
    return true;
}

bool spad__ptx_is_pair_alloc(const spad__ptx_translation *t, const spad__ptx_event *event) {
    return event->kind == SPAD__PTX_TENSOR_ALLOC &&
           spad__ptx_has(&t->run->module->instructions.items[event->instruction],
                         SPAD__PTX_WORD_CTA_GROUP_2);
}

bool spad__ptx_is_alloc_result(const spad__ptx_translation *t, const spad__ptx_event *event) {
    return event->kind == SPAD__PTX_ACCESS && event->unit == SPAD__PTX_NO_UNIT &&
           t->run->module->instructions.items[event->instruction].op == SPAD__PTX_OP_TCGEN05_ALLOC;
}

int spad__ptx_group_of(const spad__ptx_translation *t, const spad__ptx_event *event) {
    if (spad__ptx_is_alloc_result(t, event)) return SPAD__PTX_GROUP_TENSOR_ALLOCS;
    if (event->kind != SPAD__PTX_ACCESS || event->unit != SPAD__PTX_TCGEN05)
        return (int)event->group;
    switch (t->run->module->instructions.items[event->instruction].op) {
    case SPAD__PTX_OP_TCGEN05_LD: return SPAD__PTX_GROUP_TENSOR_LOADS;
    case SPAD__PTX_OP_TCGEN05_ST: return SPAD__PTX_GROUP_TENSOR_STORES;
    default: return (int)event->group;
    }
}

static bool note_logged_event(spad__ptx_translation *t, const spad__ptx_event *e, bool *units,
                              bool *groups) {
    units[spad__ptx_is_alloc_result(t, e) ? SPAD__PTX_ALLOCATOR : (int)e->unit] = true;
    groups[spad__ptx_group_of(t, e)] = true;
    if (e->kind == SPAD__PTX_BARRIER_SYNC || e->kind == SPAD__PTX_BARRIER_ARRIVE)
        return note_barrier(t, e);
    if (e->kind == SPAD__PTX_ACCESS && e->unit == SPAD__PTX_WGMMA) return note_warpgroup(t, e);
    return e->object.cta < 0 || note_mbarrier(t, e);
}

/* ---- names ---------------------------------------------------------------------------- */

/* The last name in a mangled one: "_ZZ4sumsE4part" is `part`, whose length stands before it. */
static const char *last_name(const char *mangled) {
    const size_t length = strlen(mangled);
    if (strncmp(mangled, "_Z", 2) != 0) return mangled;
    for (size_t at = 2; at < length; at++) {
        size_t digits = 0, named = 0;
        while (mangled[at + digits] >= '0' && mangled[at + digits] <= '9' && digits < 6)
            named = named * 10 + (size_t)(mangled[at + digits++] - '0');
        if (digits > 0 && at + digits + named == length) return mangled + at + digits;
    }
    return mangled;
}

/* "part_512": a byte of shared memory by the variable that has it, or "smem_512"; "_cta1" in a
 * cluster. */
static void name_shared_byte(const spad__ptx_translation *t, const char *before, int32_t cta,
                             int64_t byte, char *name, size_t size) {
    int64_t offset = byte;
    const spad__ptx_variable *v =
        spad__ptx_shared_variable(&t->layout, t->run->module, byte, &offset);
    size_t used = 0;
    char word[32] = "smem";
    for (const char *c = v != NULL ? last_name(v->name) : ""; *c != '\0' && used < 31; c++) {
        const bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || *c == '_';
        if (letter || (*c >= '0' && *c <= '9' && used > 0)) word[used++] = *c;
    }
    if (used > 0) word[used] = '\0';
    const size_t end = spad__append(name, size, 0, "%s%s_%lld", before, word, (long long)offset);
    if (cta >= 0 && t->ctas > 1) spad__append(name, size, end, "_cta%d", (int)cta);
}

/* "barrier1": with its CTA in a cluster, and with its count where warps do not agree on it. */
static void name_barrier(const spad__ptx_translation *t, const spad__ptx_barrier_row *b, char *name,
                         size_t size) {
    size_t same = 0;
    for (size_t i = 0; i < t->barriers.count; i++) {
        const spad__ptx_barrier_row *o = &t->barriers.items[i];
        if (o->cta == b->cta && o->number == b->number) same++;
    }
    size_t end = spad__append(name, size, 0, "barrier%lld", (long long)b->number);
    if (t->ctas > 1) end = spad__append(name, size, end, "_cta%d", (int)b->cta);
    if (same > 1) spad__append(name, size, end, "_of_%lld", (long long)b->count);
}

/* ---- their order ---------------------------------------------------------------------- */

/* Objects in the order of their places, whichever warp was first: so launches with other arguments
 * have the same rows. */

static int compare_mbarriers(const void *left, const void *right) {
    const spad__ptx_mbarrier_row *a = left, *b = right;
    return (a->byte > b->byte) - (a->byte < b->byte);
}

static int compare_barriers(const void *left, const void *right) {
    const spad__ptx_barrier_row *a = left, *b = right;
    if (a->cta != b->cta) return a->cta < b->cta ? -1 : 1;
    if (a->number != b->number) return a->number < b->number ? -1 : 1;
    return (a->count > b->count) - (a->count < b->count);
}

static int compare_warpgroups(const void *left, const void *right) {
    const spad__ptx_warpgroup *a = left, *b = right;
    if (a->cta != b->cta) return a->cta < b->cta ? -1 : 1;
    return (a->first_warp > b->first_warp) - (a->first_warp < b->first_warp);
}

#define SORT_ROWS(array, compare)                                                     \
    do {                                                                              \
        if ((array)->count > 0)                                                       \
            qsort((array)->items, (array)->count, sizeof *(array)->items, (compare)); \
    } while (0)

static void sort_objects(spad__ptx_translation *t) {
    SORT_ROWS(&t->mbarriers, compare_mbarriers);
    SORT_ROWS(&t->barriers, compare_barriers);
    SORT_ROWS(&t->warpgroups, compare_warpgroups);
}

/* ---- declaring ------------------------------------------------------------------------ */

static spad_status declare_ptx_units(spad__ptx_translation *t, const bool *used,
                                     spad_error *error) {
    static const struct {
        const char *name;
        const char *engine;
        spad_unit_order order;
        bool proxy;
    } kinds[SPAD__PTX_UNIT_KINDS] = {
        [SPAD__PTX_CP_ASYNC] = {"cp_async", "copy", SPAD_UNIT_FREE, false},
        [SPAD__PTX_BULK] = {"tma", "copy", SPAD_UNIT_FREE, true},
        [SPAD__PTX_WGMMA] = {"wgmma", "tensor", SPAD_UNIT_SAME, true},
        [SPAD__PTX_TCGEN05] = {"tcgen05", "tensor", SPAD_UNIT_SAME, true},
        [SPAD__PTX_REMOTE] = {"st_async", "copy", SPAD_UNIT_FREE, false},
        [SPAD__PTX_ALLOCATOR] = {"tcgen05_alloc", "simt", SPAD_UNIT_FREE, true}};
    for (int i = 1; i < SPAD__PTX_UNIT_KINDS; i++) {
        size_t engine;
        if (!used[i]) continue;
        SPAD__PTX_TRY(spad__target_find_engine(&engine, t->target, kinds[i].engine, error));
        SPAD__PTX_TRY(spad__kernel_builder_unit(&t->units[i], t->builder, kinds[i].name, engine,
                                                kinds[i].order, kinds[i].proxy, error));
    }
    return SPAD_OK;
}

static spad_status declare_groups(spad__ptx_translation *t, const bool *used, spad_error *error) {
    static const char *const names[SPAD__PTX_GROUP_KINDS] = {
        [SPAD__PTX_GROUP_CP_ASYNC] = "cp_async_groups",
        [SPAD__PTX_GROUP_BULK] = "bulk_groups",
        [SPAD__PTX_GROUP_TENSOR_LOADS] = "tcgen05_loads",
        [SPAD__PTX_GROUP_TENSOR_STORES] = "tcgen05_stores",
        [SPAD__PTX_GROUP_TENSOR_ALLOCS] = "tcgen05_allocs"};
    const spad_amounts none = {0};
    for (int i = 1; i < SPAD__PTX_GROUP_KINDS; i++) {
        if (!used[i] || names[i] == NULL) continue;
        SPAD__PTX_TRY(spad__kernel_builder_sync(&t->groups[i], t->builder, SPAD_SYNC_GROUP,
                                                names[i], none, (spad_amount){0}, error));
    }
    return SPAD_OK;
}

static int64_t find_target_fence(const spad_target *target, const char *name) {
    size_t fence;
    return spad__target_find_fence(&fence, target, name, NULL) == SPAD_OK ? (int64_t)fence : -1;
}

static spad_status declare_sync(spad__ptx_translation *t, spad_sync_kind kind, const char *name,
                                int64_t count, int64_t *row, spad_error *error) {
    const spad_amounts none = {0};
    return spad__kernel_builder_sync(row, t->builder, kind, name, none,
                                     (spad_amount){.value = count}, error);
}

static spad_status declare_mbarriers(spad__ptx_translation *t, spad_error *error) {
    const spad_amount ctas = {.value = t->ctas};
    const spad_amounts dims = {t->ctas > 1 ? 1 : 0, &ctas};
    for (size_t i = 0; i < t->mbarriers.count; i++) {
        spad__ptx_mbarrier_row *b = &t->mbarriers.items[i];
        char name[64];
        name_shared_byte(t, "mbarrier_", -1, b->byte, name, sizeof name);
        const spad_amount count = {.value = (b->count > 0 ? b->count : 1) + b->added};
        SPAD__PTX_TRY(spad__kernel_builder_sync(&b->row, t->builder, SPAD_SYNC_MBARRIER, name, dims,
                                                count, error));
        SPAD__PTX_TRY(spad__kernel_builder_sync_at(t->builder, b->row,
                                                   (spad_amount){.value = b->byte}, error));
        if (t->ctas > 1) SPAD__PTX_TRY(spad__kernel_builder_each_block(t->builder, error));
    }
    return SPAD_OK;
}

static spad_status declare_barriers(spad__ptx_translation *t, spad_error *error) {
    char name[64];
    for (size_t i = 0; i < t->barriers.count; i++) {
        spad__ptx_barrier_row *b = &t->barriers.items[i];
        name_barrier(t, b, name, sizeof name);
        SPAD__PTX_TRY(declare_sync(t, SPAD_SYNC_BARRIER, name, b->count, &b->row, error));
    }
    if (!spad__array_reserve(t->host, &t->cluster_rows, t->cluster_threads.count))
        return spad__fail_host_memory(error);
    for (size_t i = 0; i < t->cluster_threads.count; i++) {
        snprintf(name, sizeof name, "cluster_phase%zu", i);
        SPAD__PTX_TRY(declare_sync(t, SPAD_SYNC_COUNTER, name, 0,
                                   &t->cluster_rows.items[t->cluster_rows.count++], error));
    }
    return SPAD_OK;
}

static spad_status declare_warpgroups(spad__ptx_translation *t, spad_error *error) {
    char name[64];
    for (size_t i = 0; i < t->warpgroups.count; i++) {
        spad__ptx_warpgroup *g = &t->warpgroups.items[i];
        for (int k = 0; k < 4; k++) {
            if (g->issued[k] < 0) continue;
            const int warp = g->first_warp + k;
            snprintf(name, sizeof name, "issued_cta%d_warp%d", (int)g->cta, warp);
            SPAD__PTX_TRY(declare_sync(t, SPAD_SYNC_COUNTER, name, 0, &g->issued[k], error));
            snprintf(name, sizeof name, "done_cta%d_warp%d", g->cta, warp);
            SPAD__PTX_TRY(declare_sync(t, SPAD_SYNC_COUNTER, name, 0, &g->done[k], error));
        }
    }
    return SPAD_OK;
}

/* Do other CTAs access memory of a CTA, or arrive at its mbarriers? */
static bool is_used_by_others(const spad__ptx_translation *t, int32_t cta) {
    for (size_t i = 0; i < t->tensors.items.count; i++) {
        const spad__ptx_tensor *x = &t->tensors.items.items[i];
        if (x->cta == cta && x->remote && !x->tensor_memory) return true;
    }
    for (size_t i = 0; i < t->mbarriers.count; i++)
        if ((t->mbarriers.items[i].remote >> cta & 1) != 0) return true;
    return false;
}

/* Atomics and flags may be set before the launch reads them, and their last writes are not dead.
 * Memory that is freed with its CTA has no reader after that. */
static unsigned atomic_tensor_flags(const spad__ptx_translation *t, const spad__ptx_tensor *x) {
    const bool flag = !x->tensor_memory && spad__ptx_is_flag(&t->flags, x->cta, x->begin, x->end);
    if (!x->atomic && !flag) return 0;
    return is_used_by_others(t, x->cta) ? SPAD_TENSOR_INPUT
                                        : SPAD_TENSOR_INPUT | SPAD_TENSOR_OUTPUT;
}

/* A counter for each warp whose flags others have seen, and one for those seen relaxed. */
static spad_status declare_flags(spad__ptx_translation *t, spad_error *error) {
    const spad__ptx_log *log = t->run->log;
    const spad__ptx_flags *f = &t->flags;
    if (f->seen.count == 0) return SPAD_OK;
    if (!spad__array_reserve(t->host, &t->flag_rows, log->warps.count))
        return spad__fail_host_memory(error);
    for (size_t w = 0; w < log->warps.count; w++)
        t->flag_rows.items[t->flag_rows.count++] = (spad__ptx_flag_row){-1, -1};
    for (size_t i = 0; i < f->seen.count; i++) {
        const spad__ptx_seen *s = &f->seen.items[i];
        const int32_t warp = f->warp_of[s->source];
        const spad__ptx_log_warp *w = &log->warps.items[warp];
        spad__ptx_flag_row *row = &t->flag_rows.items[warp];
        int64_t *counter = s->relaxed ? &row->relaxed : &row->released;
        char name[48];
        if (*counter >= 0) continue;
        size_t end = spad__append(name, sizeof name, 0, "%s_warp%d",
                                  s->relaxed ? "relaxed_flags" : "flags", (int)w->number);
        if (t->ctas > 1) spad__append(name, sizeof name, end, "_cta%d", (int)w->cta);
        SPAD__PTX_TRY(declare_sync(t, SPAD_SYNC_COUNTER, name, 0, counter, error));
    }
    return SPAD_OK;
}

/* The system's own shared memory, which the kernel has asked for, is in no space of its chip: it
 * takes nothing of what a kernel can have, so it counts as memory outside, block after block. */
static bool is_of_system(const spad__ptx_translation *t, const spad__ptx_tensor *x) {
    const int64_t at = spad__ptx_system_at(&t->layout, t->run->launch->dynamic_shared_bytes);
    return !x->tensor_memory && t->layout.asks_reserved && x->begin >= at;
}

static void place_in_system(const spad__ptx_translation *t, const spad__ptx_tensor *x,
                            spad_kernel_tensor *tensor, char *name, size_t size) {
    const int64_t at = spad__ptx_system_at(&t->layout, t->run->launch->dynamic_shared_bytes);
    const int64_t byte = x->begin - at;
    tensor->byte.value = byte + x->cta * SPAD__PTX_SYSTEM_SHARED;
    const size_t end = spad__append(name, size, 0, "system_%lld", (long long)byte);
    if (t->ctas > 1) spad__append(name, size, end, "_cta%d", (int)x->cta);
}

static spad_status declare_range(spad__ptx_translation *t, spad__ptx_tensor *x, spad_error *error) {
    char name[80], space[32];
    const spad_amount dims[] = {{.value = 128}, {.value = x->end - x->begin}};
    const size_t first = x->tensor_memory ? 0 : 1;
    spad_kernel_tensor tensor = {.name = name,
                                 .dtype = SPAD_UINT8,
                                 .dims = {2 - first, dims + first},
                                 .mode = SPAD_MODE_AT,
                                 .byte = {.value = x->begin},
                                 .alias_of = -1,
                                 .alias_tile = -1,
                                 .flags = atomic_tensor_flags(t, x)};
    size_t end = spad__append(space, sizeof space, 0, x->tensor_memory ? "tmem" : "shared");
    if (x->cta > 0) spad__append(space, sizeof space, end, "[%d]", (int)x->cta);
    if (is_of_system(t, x)) {
        snprintf(space, sizeof space, "global");
        place_in_system(t, x, &tensor, name, sizeof name);
    } else if (x->tensor_memory) {
        snprintf(name, sizeof name, "tmem_%lld_cta%d", (long long)x->begin, (int)x->cta);
    } else {
        name_shared_byte(t, "", x->cta, x->begin, name, sizeof name);
    }
    SPAD__PTX_TRY(spad_target_find_space(&tensor.space, t->target, space, error));
    return spad__kernel_builder_tensor(&x->row, t->builder, &tensor, error);
}

/* Of each CTA that others use: when it ends, its memory is gone. */
static spad_status declare_exits(spad__ptx_translation *t, spad_error *error) {
    for (int32_t cta = 0; cta < t->ctas; cta++) {
        char name[32];
        if (!is_used_by_others(t, cta)) continue;
        snprintf(name, sizeof name, "exits_cta%d", (int)cta);
        SPAD__PTX_TRY(declare_sync(t, SPAD_SYNC_COUNTER, name, 0, &t->exits[cta], error));
    }
    return SPAD_OK;
}

static spad_status declare_pair_allocs(spad__ptx_translation *t, spad_error *error) {
    const spad__ptx_log *log = t->run->log;
    for (int i = 0; i < SPAD__PTX_CLUSTER / 2; i++) t->pair_allocs[i] = -1;
    for (size_t i = 0; i < log->events.count; i++) {
        const spad__ptx_event *e = &log->events.items[i].event;
        char name[32];
        if (!spad__ptx_is_pair_alloc(t, e) || t->pair_allocs[e->cta / 2] >= 0) continue;
        snprintf(name, sizeof name, "allocs_pair%d", (int)e->cta / 2);
        SPAD__PTX_TRY(
            declare_sync(t, SPAD_SYNC_COUNTER, name, 0, &t->pair_allocs[e->cta / 2], error));
    }
    return SPAD_OK;
}

spad_status spad__ptx_declare(spad__ptx_translation *t, spad_error *error) {
    bool units[SPAD__PTX_UNIT_KINDS] = {false}, groups[SPAD__PTX_GROUP_KINDS] = {false};
    const spad__ptx_log *log = t->run->log;
    if (!spad__ptx_lay_out(&t->layout, t->run->module, t->run->launch->kernel, t->host))
        return spad__fail_host_memory(error);
    for (size_t i = 0; i < log->events.count; i++) {
        if (!note_logged_event(t, &log->events.items[i].event, units, groups))
            return spad__fail_host_memory(error);
    }
    sort_objects(t);
    if (!note_added(t) || !note_cluster(t) || !spad__ptx_find_tensors(&t->tensors, log) ||
        !spad__ptx_find_agreed(&t->agreed, log))
        return spad__fail_host_memory(error);
    t->fences[0] = find_target_fence(t->target, "shared");
    t->fences[1] = find_target_fence(t->target, "global");
    t->init_fence = find_target_fence(t->target, "mbarrier");
    t->wgmma_fence = find_target_fence(t->target, "wgmma");
    t->tcgen05_fence = find_target_fence(t->target, "tcgen05");
    if (t->ctas > 1)
        SPAD__PTX_TRY(
            spad__kernel_builder_cluster(t->builder, (spad_amount){.value = t->ctas}, error));
    SPAD__PTX_TRY(declare_ptx_units(t, units, error));
    SPAD__PTX_TRY(declare_groups(t, groups, error));
    SPAD__PTX_TRY(declare_mbarriers(t, error));
    SPAD__PTX_TRY(declare_barriers(t, error));
    SPAD__PTX_TRY(declare_warpgroups(t, error));
    SPAD__PTX_TRY(declare_exits(t, error));
    SPAD__PTX_TRY(declare_pair_allocs(t, error));
    SPAD__PTX_TRY(declare_flags(t, error));
    for (size_t i = 0; i < t->tensors.items.count; i++)
        SPAD__PTX_TRY(declare_range(t, &t->tensors.items.items[i], error));
    return SPAD_OK;
}

void spad__ptx_translation_free(spad__ptx_translation *t) {
    spad__ptx_tensors_free(&t->tensors, t->host);
    spad__ptx_flags_free(&t->flags, t->host);
    spad__ptx_agreed_free(&t->agreed, t->host);
    spad__array_free(t->host, &t->flag_rows);
    spad__ptx_layout_free(&t->layout, t->run->module, t->host);
    spad__array_free(t->host, &t->mbarriers);
    spad__array_free(t->host, &t->added);
    spad__array_free(t->host, &t->barriers);
    spad__array_free(t->host, &t->cluster_rows);
    spad__array_free(t->host, &t->cluster_threads);
    spad__array_free(t->host, &t->warpgroups);
    spad__array_free(t->host, &t->sources);
    spad__array_free(t->host, &t->lines);
    spad__array_free(t->host, &t->places);
    spad__kernel_builder_destroy(t->builder);
}
