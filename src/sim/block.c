/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulation of one block: its tables, its run, and what follows from its rows: waits in
 * order, the critical path.
 */
#include "sim/sim.h"
#include "spad/experimental/kernel_rows.h"

#include <stdlib.h>

#include "base/checked.h"
#include "base/compare.h"
#include "kernel/kernel.h"

/* ---- what follows from the rows ---------------------------------------------------- */

static int compare_waits(const void *left, const void *right) {
    const spad__sim_wait *a = left;
    const spad__sim_wait *b = right;
    int order = spad__compare(b->total, a->total);
    if (order == 0) order = spad__compare(a->statement, b->statement);
    if (order == 0) order = spad__compare((int64_t)a->kind, (int64_t)b->kind);
    if (order == 0) order = spad__compare(a->other, b->other);
    if (order == 0) order = spad__compare(a->tensor, b->tensor);
    if (order == 0) order = spad__compare(a->object, b->object);
    return order;
}

/* Back from the operation that ends last, always to what it waited for. */
static bool find_path(spad_sim *sim) {
    int64_t at = -1;
    for (size_t i = 0; i < sim->rows.count; i++) {
        if (at < 0 || sim->rows.items[i].done > sim->rows.items[at].done) at = (int64_t)i;
    }
    for (; at >= 0; at = sim->rows.items[at].blocker) {
        if (!spad__array_reserve(&sim->host, &sim->path, 1)) return false;
        sim->path.items[sim->path.count++] = (size_t)at;
    }
    for (size_t i = 0; i < sim->path.count / 2; i++) {
        const size_t other = sim->path.count - 1 - i;
        const size_t kept = sim->path.items[i];
        sim->path.items[i] = sim->path.items[other];
        sim->path.items[other] = kept;
    }
    return true;
}

static int compare_parts(const void *left, const void *right) {
    const spad__path_part *a = left;
    const spad__path_part *b = right;
    return spad__compare(a->statement, b->statement);
}

/* The critical path by statement. */
static bool sum_path(spad_sim *sim) {
    if (sim->path.count == 0) return true;
    if (!spad__array_reserve(&sim->host, &sim->path_parts, sim->path.count)) return false;
    spad__path_part *parts = sim->path_parts.items;
    for (size_t i = 0; i < sim->path.count; i++) {
        const spad__sim_row *row = &sim->rows.items[sim->path.items[i]];
        parts[i] = (spad__path_part){row->statement, row->end - row->start, 1};
    }
    qsort(parts, sim->path.count, sizeof *parts, compare_parts);
    size_t last = 0;
    for (size_t i = 1; i < sim->path.count; i++) {
        if (parts[i].statement != parts[last].statement) {
            parts[++last] = parts[i];
        } else {
            parts[last].time += parts[i].time; /* parts of the makespan */
            parts[last].count++;
        }
    }
    sim->path_parts.count = last + 1;
    return true;
}

/* Does an earlier operation on the engine come from the same queue: one agent, one unit? */
static bool is_queue_again(const spad_kernel *k, size_t number) {
    const spad_statement *s = &k->statements.items[number];
    for (size_t i = 0; i < number; i++) {
        const spad_statement *other = &k->statements.items[i];
        if (other->kind == SPAD_STATEMENT_OPERATION && other->engine == s->engine &&
            other->agent == s->agent && other->unit == s->unit) {
            return true;
        }
    }
    return false;
}

/* Units of an engine that the kernel can keep busy at once: a queue needs one at a time. */
static int64_t units_in_use(const spad_sim *sim, size_t engine) {
    const spad_engine *row = &sim->target->engines[engine];
    int64_t queues = 0;
    if (spad_kernel_is_implicit(sim->kernel) || spad__is_copy_engine(row)) return 1;
    for (size_t i = 0; i < sim->kernel->statements.count && queues < row->count; i++) {
        const spad_statement *s = &sim->kernel->statements.items[i];
        if (s->kind != SPAD_STATEMENT_OPERATION || s->engine != (int64_t)engine) continue;
        if (!is_queue_again(sim->kernel, i)) queues++;
    }
    return spad__max(queues, 1);
}

/* The busiest part of an engine stands for it. */
static void sum_engine(spad_sim *sim, size_t number) {
    const spad_engine *row = &sim->target->engines[number];
    spad__sim_engine *own = &sim->parts[number];
    const bool divides = row->count > 1 && row->threads == 0;
    const int64_t units = divides ? units_in_use(sim, number) : 1;
    own->busy = own->busy / units + (own->busy % units != 0);
    own->idle = sim->totals.makespan - own->busy;
    spad__sim_engine *engine = &sim->engines[number];
    *engine = *own;
    for (size_t i = 0; i < row->path_count; i++) {
        spad__sim_engine *path = &sim->parts[sim->first_path[number] + i];
        path->idle = sim->totals.makespan - path->busy;
        engine->operations += path->operations;
        engine->busy = spad__max(engine->busy, path->busy);
        engine->active = spad__max(engine->active, path->active);
    }
    engine->idle = sim->totals.makespan - engine->busy;
    sim->totals.bound = spad__max(sim->totals.bound, engine->busy);
}

static spad_status finish(spad_sim *sim, spad_error *error) {
    for (size_t i = 0; i < sim->target->engine_count; i++) sum_engine(sim, i);
    for (size_t i = sim->first_memory; i < sim->part_count; i++) {
        sim->totals.bound = spad__max(sim->totals.bound, sim->parts[i].busy);
    }
    if (!find_path(sim) || !sum_path(sim) || !spad__find_roofs(sim))
        return spad__fail_host_memory(error);
    if (sim->waits.count > 0) {
        qsort(sim->waits.items, sim->waits.count, sizeof sim->waits.items[0], compare_waits);
    }
    return SPAD_OK;
}

/* ---- life -------------------------------------------------------------------------- */

void spad_sim_destroy(spad_sim *sim) {
    if (sim == NULL) return;
    const spad_host host = sim->host;
    spad__array_free(&host, &sim->rows);
    spad__array_free(&host, &sim->first_values);
    spad__array_free(&host, &sim->values);
    spad__array_free(&host, &sim->waits);
    spad__index_free(&sim->wait_index, &host);
    spad__array_free(&host, &sim->repeats);
    spad__array_free(&host, &sim->path);
    spad__array_free(&host, &sim->path_parts);
    spad__array_free(&host, &sim->roofs);
    const size_t engines = sim->target->engine_count + 1;
    spad__free(&host, sim->engines, engines * sizeof *sim->engines);
    spad__free(&host, sim->first_path, engines * sizeof *sim->first_path);
    spad__free(&host, sim->parts, (sim->part_count + 1) * sizeof *sim->parts);
    spad__free(&host, sim->active, (sim->part_count + 1) * sizeof *sim->active);
    spad__free(&host, sim->basis, (sim->part_count + 1) * sizeof *sim->basis);
    spad__free(&host, sim, sizeof *sim);
}

/* Rows for the engines and their paths. */
static bool make_parts(spad_sim *sim) {
    const size_t engines = sim->target->engine_count;
    sim->part_count = engines;
    for (size_t i = 0; i < engines; i++) sim->part_count += sim->target->engines[i].path_count;
    sim->first_memory = sim->part_count;
    sim->part_count += 2 * sim->target->space_count;
    sim->engines = spad__new_array(&sim->host, engines + 1, sizeof *sim->engines);
    sim->first_path = spad__new_array(&sim->host, engines + 1, sizeof *sim->first_path);
    sim->parts = spad__new_array(&sim->host, sim->part_count + 1, sizeof *sim->parts);
    sim->active = spad__new_array(&sim->host, sim->part_count + 1, sizeof *sim->active);
    sim->basis = spad__new_array(&sim->host, sim->part_count + 1, sizeof *sim->basis);
    if (sim->engines == NULL || sim->first_path == NULL || sim->parts == NULL ||
        sim->active == NULL || sim->basis == NULL) {
        return false;
    }
    size_t next = engines;
    for (size_t i = 0; i < engines; i++) {
        sim->first_path[i] = next;
        next += sim->target->engines[i].path_count;
    }
    return true;
}

spad_status spad__sim_make(spad_sim **out, const spad_kernel *kernel,
                           const spad_sim_options *options, spad__limit limit, spad_error *error) {
    const spad_host host = spad__host_or_default(options->host);
    spad_sim *sim = spad__new(&host, sizeof *sim);
    *out = sim;
    if (sim == NULL) return spad__fail_host_memory(error);
    sim->host = host;
    sim->kernel = kernel;
    sim->target = spad_kernel_get_target(kernel);
    sim->options = *options;
    sim->options.host = &sim->host;
    sim->limit = limit;
    return make_parts(sim) ? SPAD_OK : spad__fail_host_memory(error);
}

spad_status spad__sim_again(spad_sim **out, const spad_sim *sim, spad_error *error) {
    return spad__sim_make(out, sim->kernel, &sim->options, sim->limit, error);
}

spad_status spad__sim_block(spad_sim *sim, spad_error *error) {
    spad_status status = spad_kernel_is_implicit(sim->kernel) ? spad__sim_implicit(sim, error)
                                                              : spad__sim_explicit(sim, error);
    if (status == SPAD_OK) status = finish(sim, error);
    sim->totals.unit = spad__sim_unit(&sim->totals);
    spad__copy_cut(sim->totals.uncounted, sizeof sim->totals.uncounted,
                   spad__kernel_get_uncounted(sim->kernel));
    return status;
}
