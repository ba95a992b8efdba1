/* SPDX-License-Identifier: Apache-2.0
 *
 * When each slot of a kernel is in use: one walk beside the rows of a simulation, which are in
 * program order in a kernel without synchronisation. Bytes must be free when the start-up of a
 * transfer begins, so that is where its use begins. O(accesses).
 */
#include "sim/uses.h"
#include "sim/sim_report.h"

#include "base/assert.h"
#include "base/checked.h"
#include "kernel/place.h"
#include "layout/layout.h"

/* The state of a slot during the walk. */
typedef struct slot_use {
    spad__use use;
    int64_t first; /* row of the operation that touches it first in the program; -1: none */
    int64_t lasts; /* how long that operation takes */
    int64_t next;  /* the earliest begin of another one; INT64_MAX: none */
} slot_use;

typedef struct use_table {
    const spad_kernel *kernel;
    const spad_host *host;
    size_t *bases; /* per tensor: number of its first slot, and one more */
    slot_use *slots;
    size_t count;
} use_table;

static bool make_use_table(use_table *t) {
    const size_t tensors = spad_kernel_tensor_count(t->kernel);
    t->bases = spad__new_array(t->host, tensors + 1, sizeof *t->bases);
    if (t->bases == NULL) return false;
    for (size_t i = 0; i < tensors; i++) {
        const spad_kernel_tensor *tensor = spad_kernel_get_tensor(t->kernel, i);
        t->bases[i] = t->count;
        if (spad__is_planned(t->kernel, tensor)) t->count += (size_t)tensor->slots;
    }
    t->bases[tensors] = t->count;
    t->slots = spad__new_array(t->host, t->count + 1, sizeof *t->slots);
    if (t->slots == NULL) return false;
    for (size_t i = 0; i < t->count; i++) t->slots[i] = (slot_use){.first = -1, .next = INT64_MAX};
    return true;
}

static void free_use_table(use_table *t) {
    const size_t tensors = spad_kernel_tensor_count(t->kernel);
    if (t->bases != NULL) spad__free(t->host, t->bases, (tensors + 1) * sizeof *t->bases);
    if (t->slots != NULL) spad__free(t->host, t->slots, (t->count + 1) * sizeof *t->slots);
}

static void note_use(use_table *t, const spad_walk_access *access, int64_t row, int64_t begin,
                     int64_t end) {
    const size_t base = t->bases[access->home];
    if (t->bases[access->home + 1] == base) return; /* not placed by the planner */
    slot_use *s = &t->slots[base + (size_t)access->slot];
    spad__assert(base + (size_t)access->slot < t->bases[access->home + 1]);
    if (s->first < 0) {
        *s = (slot_use){.use = {access->home, access->slot, begin, begin, end},
                        .first = row,
                        .lasts = end - begin,
                        .next = INT64_MAX};
        return;
    }
    s->use.begin = spad__min(s->use.begin, begin);
    s->use.end = spad__max(s->use.end, end);
    if (row != s->first) s->next = spad__min(s->next, begin);
}

static spad_status walk_uses(use_table *t, const spad_sim *sim, spad_error *error) {
    const spad_walk_options options = {.host = t->host};
    const spad_walk_event *event;
    spad_walk *walk;
    spad_status status = spad_walk_create(&walk, t->kernel, &options, error);
    if (status != SPAD_OK) return status;
    for (int64_t row = 0;;) {
        status = spad_walk_next(&event, walk, error);
        if (status != SPAD_OK || event->kind == SPAD_WALK_END) break;
        if (event->kind != SPAD_WALK_OPERATION) continue;
        const spad__sim_row ran = spad__sim_get_row(sim, (size_t)row);
        spad__cost cost;
        status = spad__sim_cost(&cost, sim, event, error);
        if (status != SPAD_OK) break;
        spad__assert(ran.statement == event->statement);
        const int64_t begin = spad__max(ran.start - cost.startup, 0);
        for (size_t i = 0; i < event->access_count; i++)
            note_use(t, &event->accesses[i], row, begin, ran.done);
        row++;
    }
    spad_walk_destroy(walk);
    return status;
}

spad_status spad__uses_find(spad__uses *uses, const spad_kernel *kernel, const spad_sim *sim,
                            const spad_host *host, spad_error *error) {
    use_table t = {.kernel = kernel, .host = host};
    spad_status status =
        make_use_table(&t) ? walk_uses(&t, sim, error) : spad__fail_host_memory(error);
    uses->count = 0;
    if (status == SPAD_OK && !spad__array_reserve(host, uses, t.count))
        status = spad__fail_host_memory(error);
    for (size_t i = 0; i < t.count && status == SPAD_OK; i++) {
        const slot_use *s = &t.slots[i];
        if (s->first < 0) continue;
        spad__use use = s->use;
        use.late = spad__max(use.begin, spad__min(s->next, use.end) - s->lasts);
        uses->items[uses->count++] = use;
    }
    free_use_table(&t);
    return status;
}
