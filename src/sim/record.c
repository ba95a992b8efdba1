/* SPDX-License-Identifier: Apache-2.0
 *
 * The record of a running simulation: rows, causes, counts, and whether it may go on.
 */
#include <string.h>

#include "base/checked.h"
#include "kernel/kernel.h"
#include "sim/sim.h"
#include "spad/experimental/kernel_rows.h"

/* ---- rows -------------------------------------------------------------------------- */

size_t spad__sim_values(const spad_kernel *kernel, int64_t statement, const int64_t *of_loops,
                        int64_t *list) {
    int64_t loops[SPAD__LOOPS_DEEP];
    const size_t count = spad__loops_around(kernel, statement, loops);
    for (size_t i = 0; i < count; i++) list[i] = of_loops[loops[i]];
    return count;
}

static uint64_t hash_wait(const spad__sim_wait *w) {
    const uint64_t hash = spad__hash_add(spad__hash_add((uint64_t)w->kind, w->statement), w->other);
    return spad__hash_add(spad__hash_add(hash, w->tensor), w->object);
}

/* The number of a cause, SPAD__NO_ITEM: it is a new one. */
static size_t find_wait(const spad_sim *sim, const spad__sim_wait *cause) {
    spad__probe probe = spad__index_probe(&sim->wait_index, hash_wait(cause));
    for (size_t i; (i = spad__probe_next(&probe)) != SPAD__NO_ITEM;) {
        const spad__sim_wait *w = &sim->waits.items[i];
        if (w->statement == cause->statement && w->kind == cause->kind &&
            w->other == cause->other && w->tensor == cause->tensor && w->object == cause->object) {
            return i;
        }
    }
    return SPAD__NO_ITEM;
}

/* Adds time to a cause, which may be a new one. False: no memory, or too long. */
static bool add_wait(spad_sim *sim, const spad__sim_wait *cause, int64_t time, bool *fits) {
    size_t i = find_wait(sim, cause);
    if (i == SPAD__NO_ITEM) {
        if (!spad__array_reserve(&sim->host, &sim->waits, 1) ||
            !spad__index_reserve(&sim->wait_index, &sim->host, 1)) {
            return false;
        }
        i = sim->waits.count++;
        sim->waits.items[i] = *cause;
        spad__index_add(&sim->wait_index, hash_wait(cause), i);
    }
    sim->waits.items[i].count++;
    *fits = spad__add(sim->waits.items[i].total, time, &sim->waits.items[i].total);
    return *fits;
}

static int64_t statement_of(const spad_sim *sim, int64_t row) {
    return row >= 0 ? sim->rows.items[row].statement : -1;
}

/* The two parts of the waiting of an operation. */
static bool add_waits(spad_sim *sim, const spad__sim_row *row, bool *fits) {
    const spad__sim_wait cause = {.statement = row->statement,
                                  .kind = row->kind,
                                  .other = statement_of(sim, row->cause),
                                  .tensor = row->tensor,
                                  .object = row->object};
    const spad__sim_wait queue = {.statement = row->statement,
                                  .kind = SPAD__WAIT_ENGINE,
                                  .other = statement_of(sim, row->blocker),
                                  .tensor = -1,
                                  .object = -1};
    return (row->wait == 0 || add_wait(sim, &cause, row->wait, fits)) &&
           (row->queued == 0 || add_wait(sim, &queue, row->queued, fits));
}

spad_status spad__sim_fail_long(const spad_sim *sim, int64_t statement, spad_error *error) {
    const spad_statement *s = spad_kernel_get_statement(sim->kernel, (size_t)statement);
    spad__fail(
        error, SPAD_ERR_OVERFLOW,
        "the kernel takes more than 2^63 picoseconds or operations; define smaller parameters");
    spad__fact_location(error, spad_kernel_get_file(sim->kernel), s->location.line,
                        s->location.column);
    return SPAD_ERR_OVERFLOW;
}

/* Forgets the earliest stretch: what comes is later, or counts as covered. */
static void forget_first(spad__active *a) {
    a->floor = a->items[0].end;
    a->count--;
    memmove(a->items, a->items + 1, a->count * sizeof a->items[0]);
}

/* An operation is under way from `from` to `to`: counts what no other one covers. */
static void count_active(spad_sim *sim, size_t part, int64_t from, int64_t to) {
    spad__active *a = &sim->active[part];
    if (a->count == SPAD__ACTIVE_MAX) forget_first(a);
    int64_t begin = spad__max(from, a->floor);
    int64_t end = to;
    if (end <= begin) return;
    size_t first = 0;
    while (first < a->count && a->items[first].end < begin) first++;
    size_t last = first;
    int64_t covered = 0;
    for (; last < a->count && a->items[last].begin <= end; last++) {
        covered += a->items[last].end - a->items[last].begin;
        begin = spad__min(begin, a->items[last].begin);
        end = spad__max(end, a->items[last].end);
    }
    sim->parts[part].active += end - begin - covered; /* part of the makespan */
    memmove(a->items + first + 1, a->items + last, (a->count - last) * sizeof a->items[0]);
    a->count = a->count - (last - first) + 1;
    a->items[first] = (spad__stretch){begin, end};
}

bool spad__sim_skip_time(spad_sim *sim, int64_t by) {
    if (!spad__add(sim->totals.makespan, by, &sim->totals.makespan)) return false;
    for (size_t i = 0; i < sim->part_count; i++) {
        spad__active *a = &sim->active[i];
        a->floor += by;
        for (size_t k = 0; k < a->count; k++) {
            a->items[k].begin += by;
            a->items[k].end += by;
        }
    }
    return true;
}

/* The least certain cost of a part. */
static void note_basis(spad_sim *sim, size_t part, const spad__cost *cost) {
    int basis = (int)cost->origin;
    if (cost->by_kernel) basis = SPAD__BASIS_KERNEL;
    if (!cost->known || cost->unclocked) basis = SPAD__BASIS_ASSUMED;
    if (basis + 1 > sim->basis[part]) sim->basis[part] = (unsigned char)(basis + 1);
}

spad_status spad__sim_add(spad_sim *sim, const spad__sim_row *row, const spad__cost *cost,
                          spad_error *error) {
    if ((int64_t)sim->rows.count / spad__sim_blocks(sim) >= sim->options.operation_limit) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "more than %s operations, and no loop that repeats itself; define "
                          "smaller parameters",
                          spad__grouped(sim->options.operation_limit).text);
    }
    const size_t count = row->value_count;
    bool fits = true;
    if (!spad__array_reserve(&sim->host, &sim->rows, 1) ||
        !spad__array_reserve(&sim->host, &sim->first_values, 1) ||
        !spad__array_reserve(&sim->host, &sim->values, count) || !add_waits(sim, row, &fits)) {
        return fits ? spad__fail_host_memory(error)
                    : spad__sim_fail_long(sim, row->statement, error);
    }
    const size_t number = spad__sim_part(sim, row->engine, row->path);
    spad__sim_engine *part = &sim->parts[number];
    const bool divided = row->path < 0 && sim->target->engines[row->engine].threads > 0;
    int64_t taken = row->end - row->start; /* of the whole of it */
    if ((divided && !spad__scale_up(taken, cost->need, spad__sim_capacity(sim, number), &taken)) ||
        !spad__add(part->busy, taken, &part->busy)) {
        return spad__sim_fail_long(sim, row->statement, error);
    }
    if (!spad__add(sim->totals.operations, 1, &sim->totals.operations)) {
        return spad__sim_fail_long(sim, row->statement, error);
    }
    for (int i = 0; i < 2; i++) {
        int64_t *busy = &sim->parts[sim->first_memory + 2 * cost->memory + (size_t)i].busy;
        if (!spad__add(*busy, cost->shared[i], busy)) {
            return spad__sim_fail_long(sim, row->statement, error);
        }
    }
    part->operations++;
    note_basis(sim, number, cost);
    count_active(sim, number, row->start - row->queued - cost->startup, row->done);
    sim->totals.unknown += !cost->known;
    sim->totals.unclocked += cost->unclocked;
    sim->totals.by_kernel += cost->by_kernel;
    if (cost->known && !cost->by_kernel) sim->totals.by_origin[cost->origin]++;
    sim->totals.makespan = spad__max(sim->totals.makespan, row->done);
    sim->first_values.items[sim->first_values.count++] = sim->values.count;
    for (size_t i = 0; i < count; i++) sim->values.items[sim->values.count++] = row->values[i];
    sim->rows.items[sim->rows.count] = *row;
    sim->rows.items[sim->rows.count++].values = NULL; /* filled in when it is asked for */
    return SPAD_OK;
}

spad_status spad__sim_check_limit(spad_sim *sim, spad_error *error) {
    sim->steps = 0;
    if (!spad__limit_reached(&sim->limit)) return SPAD_OK;
    return spad__limit_fail(&sim->limit, (int64_t)sim->rows.count, "operations", error);
}

spad_status spad__sim_count_event(spad_sim *sim, spad_error *error) {
    if (++sim->events / spad__sim_blocks(sim) > SPAD_SIM_EVENTS) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "more than %s events, and no loop that repeats itself; define smaller "
                          "parameters",
                          spad__grouped(SPAD_SIM_EVENTS).text);
    }
    return ++sim->steps >= SPAD_SIM_LOOK ? spad__sim_check_limit(sim, error) : SPAD_OK;
}

/* ---- counts ------------------------------------------------------------------------ */

/* Calls for every count, in an order to which new ones are only added at the end. */
static bool each_count(spad_sim *sim, bool (*act)(void *context, int64_t *count), void *context) {
    if (!act(context, &sim->totals.operations) || !act(context, &sim->totals.unknown) ||
        !act(context, &sim->totals.unclocked) || !act(context, &sim->totals.by_kernel)) {
        return false;
    }
    for (int i = 0; i < SPAD_ORIGINS; i++) {
        if (!act(context, &sim->totals.by_origin[i])) return false;
    }
    for (size_t i = 0; i < sim->part_count; i++) {
        if (!act(context, &sim->parts[i].busy) || !act(context, &sim->parts[i].operations) ||
            !act(context, &sim->parts[i].active)) {
            return false;
        }
    }
    for (size_t i = 0; i < sim->waits.count; i++) {
        if (!act(context, &sim->waits.items[i].count) ||
            !act(context, &sim->waits.items[i].total)) {
            return false;
        }
    }
    return true;
}

static bool copy_one(void *context, int64_t *count) {
    spad__numbers *counts = context;
    counts->items[counts->count++] = *count;
    return true;
}

bool spad__sim_copy_counts(spad_sim *sim, spad__numbers *counts) {
    counts->count = 0;
    const size_t most = 4 + SPAD_ORIGINS + 3 * sim->part_count + 2 * sim->waits.count;
    if (!spad__array_reserve(&sim->host, counts, most)) return false;
    return each_count(sim, copy_one, counts);
}

typedef struct repetition {
    const spad__numbers *since;
    size_t at;
    int64_t times;
} repetition;

static bool repeat_one(void *context, int64_t *count) {
    repetition *r = context;
    const int64_t before = r->at < r->since->count ? r->since->items[r->at] : 0;
    int64_t more;
    r->at++;
    return spad__mul(*count - before, r->times, &more) && spad__add(*count, more, count);
}

bool spad__sim_repeat_counts(spad_sim *sim, const spad__numbers *since, int64_t times) {
    repetition r = {since, 0, times};
    return each_count(sim, repeat_one, &r);
}
