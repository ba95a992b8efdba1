/* SPDX-License-Identifier: Apache-2.0
 *
 * What a simulation keeps: rows, counts, causes, the critical path.
 */
#include "sim/sim.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/compare.h"
#include "kernel/kernel.h"
#include "kernel/origin.h"
#include "plan/stop.h"

const char *spad_wait_kind_name(spad_wait_kind kind) {
    static const char *const names[SPAD_WAIT_KINDS] = {
        "none", "engine", "data", "reader", "writer", "port", "startup", "window", "sync", "issue"};
    return kind < SPAD_WAIT_KINDS ? names[kind] : "?";
}

/* ---- rows -------------------------------------------------------------------------- */

size_t spad__sim_values(const spad_kernel *kernel, int64_t statement, const int64_t *of_loops,
                        int64_t *list) {
    int64_t loops[SPAD__LOOPS_DEEP];
    const size_t count = spad__loops_around(kernel, statement, loops);
    for (size_t i = 0; i < count; i++) list[i] = of_loops[loops[i]];
    return count;
}

static uint64_t hash_wait(const spad_sim_wait *w) {
    const uint64_t hash = spad__hash_add(spad__hash_add((uint64_t)w->kind, w->statement), w->other);
    return spad__hash_add(spad__hash_add(hash, w->tensor), w->object);
}

/* The number of a cause, SPAD__NO_ITEM: it is a new one. */
static size_t find_wait(const spad_sim *sim, const spad_sim_wait *cause) {
    spad__probe probe = spad__index_probe(&sim->wait_index, hash_wait(cause));
    for (size_t i; (i = spad__probe_next(&probe)) != SPAD__NO_ITEM;) {
        const spad_sim_wait *w = &sim->waits.items[i];
        if (w->statement == cause->statement && w->kind == cause->kind &&
            w->other == cause->other && w->tensor == cause->tensor && w->object == cause->object) {
            return i;
        }
    }
    return SPAD__NO_ITEM;
}

/* Adds time to a cause, which may be a new one. False: no memory, or too long. */
static bool add_wait(spad_sim *sim, const spad_sim_wait *cause, int64_t time, bool *fits) {
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
static bool add_waits(spad_sim *sim, const spad_sim_row *row, bool *fits) {
    const spad_sim_wait cause = {.statement = row->statement,
                                 .kind = row->kind,
                                 .other = statement_of(sim, row->cause),
                                 .tensor = row->tensor,
                                 .object = row->object};
    const spad_sim_wait queue = {.statement = row->statement,
                                 .kind = SPAD_WAIT_ENGINE,
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

spad_status spad__sim_add(spad_sim *sim, const spad_sim_row *row, bool known, spad_error *error) {
    if ((int64_t)sim->rows.count >= sim->options.operation_limit) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "more than %lld operations, and no loop that repeats itself; define "
                          "smaller parameters",
                          (long long)sim->options.operation_limit);
    }
    const size_t count = row->value_count;
    bool fits = true;
    if (!spad__array_reserve(&sim->host, &sim->rows, 1) ||
        !spad__array_reserve(&sim->host, &sim->first_values, 1) ||
        !spad__array_reserve(&sim->host, &sim->values, count) || !add_waits(sim, row, &fits)) {
        return fits ? spad__fail_host_memory(error)
                    : spad__sim_fail_long(sim, row->statement, error);
    }
    spad_sim_engine *engine = &sim->engines[row->engine];
    if (!spad__add(engine->busy, row->end - row->start, &engine->busy)) {
        return spad__sim_fail_long(sim, row->statement, error);
    }
    if (!spad__add(sim->totals.operations, 1, &sim->totals.operations)) {
        return spad__sim_fail_long(sim, row->statement, error);
    }
    engine->operations++;
    sim->totals.unknown += !known;
    sim->totals.makespan = spad__max(sim->totals.makespan, row->end);
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
    if (++sim->events > SPAD_SIM_EVENTS) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "more than %lld events, and no loop that repeats itself; define smaller "
                          "parameters",
                          (long long)SPAD_SIM_EVENTS);
    }
    return ++sim->steps >= SPAD_SIM_LOOK ? spad__sim_check_limit(sim, error) : SPAD_OK;
}

/* ---- counts ------------------------------------------------------------------------ */

/* Calls for every count, in an order to which new ones are only added at the end. */
static bool each_count(spad_sim *sim, bool (*act)(void *context, int64_t *count), void *context) {
    if (!act(context, &sim->totals.operations) || !act(context, &sim->totals.unknown)) return false;
    for (size_t i = 0; i < sim->target->engine_count; i++) {
        if (!act(context, &sim->engines[i].busy) || !act(context, &sim->engines[i].operations)) {
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
    const size_t most = 2 + 2 * sim->target->engine_count + 2 * sim->waits.count;
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

/* ---- what follows from the rows ---------------------------------------------------- */

static int compare_waits(const void *left, const void *right) {
    const spad_sim_wait *a = left;
    const spad_sim_wait *b = right;
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
        if (at < 0 || sim->rows.items[i].end > sim->rows.items[at].end) at = (int64_t)i;
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
        const spad_sim_row *row = &sim->rows.items[sim->path.items[i]];
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

static spad_status finish(spad_sim *sim, spad_error *error) {
    for (size_t i = 0; i < sim->target->engine_count; i++) {
        spad_sim_engine *engine = &sim->engines[i];
        engine->idle = sim->totals.makespan - engine->busy;
        sim->totals.bound = spad__max(sim->totals.bound, engine->busy);
    }
    if (!find_path(sim) || !sum_path(sim)) return spad__fail_host_memory(error);
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
    spad__free(&host, sim->engines, (sim->target->engine_count + 1) * sizeof *sim->engines);
    spad__free(&host, sim, sizeof *sim);
}

spad_status spad_sim_create(spad_sim **out, const spad_kernel *kernel,
                            const spad_sim_options *options, spad_error *error) {
    *out = NULL;
    spad_sim_options filled = options != NULL ? *options : (spad_sim_options){0};
    spad__limit limit;
    spad_status status = spad__limit_start(&limit, filled.timeout_ns, filled.watch, error);
    if (status != SPAD_OK) return status;
    if (filled.operation_limit < 0 || filled.repeat_after < 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "a limit of %lld operations is negative",
                          (long long)spad__min(filled.operation_limit, filled.repeat_after));
    }
    const spad_status match = spad__match_layout(kernel, filled.layout, error);
    if (match != SPAD_OK) return match;
    if (filled.repeat_after == 0) filled.repeat_after = SPAD_SIM_REPEAT_AFTER;
    if (filled.operation_limit == 0) filled.operation_limit = SPAD_SIM_OPERATIONS;
    const spad_host host = spad__host_or_default(filled.host);
    spad_sim *sim = spad__new(&host, sizeof *sim);
    if (sim == NULL) return spad__fail_host_memory(error);
    sim->host = host;
    sim->kernel = kernel;
    sim->target = spad_kernel_get_target(kernel);
    sim->options = filled;
    sim->options.host = &sim->host;
    sim->limit = limit;
    sim->engines = spad__new_array(&host, sim->target->engine_count + 1, sizeof *sim->engines);
    status = sim->engines != NULL ? SPAD_OK : spad__fail_host_memory(error);
    if (status == SPAD_OK) {
        status = spad_kernel_is_implicit(kernel) ? spad__sim_implicit(sim, error)
                                                 : spad__sim_explicit(sim, error);
    }
    if (status == SPAD_OK) status = finish(sim, error);
    if (status != SPAD_OK) {
        spad_sim_destroy(sim);
        return status;
    }
    *out = sim;
    return SPAD_OK;
}

/* ---- questions --------------------------------------------------------------------- */

spad_sim_totals spad_sim_get_totals(const spad_sim *sim) {
    return sim->totals;
}

const char *spad_sim_get_stuck(const spad_sim *sim) {
    return sim->is_stuck ? sim->stuck : NULL;
}

spad_sim_engine spad_sim_get_engine(const spad_sim *sim, size_t number) {
    return number < sim->target->engine_count ? sim->engines[number] : (spad_sim_engine){0};
}

size_t spad_sim_row_count(const spad_sim *sim) {
    return sim->rows.count;
}

spad_sim_row spad_sim_get_row(const spad_sim *sim, size_t number) {
    if (number >= sim->rows.count) {
        return (spad_sim_row){.statement = -1,
                              .agent = -1,
                              .engine = -1,
                              .cause = -1,
                              .blocker = -1,
                              .tensor = -1,
                              .slot = -1,
                              .object = -1,
                              .element = -1};
    }
    spad_sim_row row = sim->rows.items[number];
    if (row.value_count > 0) row.values = sim->values.items + sim->first_values.items[number];
    return row;
}

size_t spad_sim_wait_count(const spad_sim *sim) {
    return sim->waits.count;
}

const spad_sim_wait *spad_sim_get_wait(const spad_sim *sim, size_t number) {
    return number < sim->waits.count ? &sim->waits.items[number] : NULL;
}

size_t spad_sim_repeat_count(const spad_sim *sim) {
    return sim->repeats.count;
}

const spad_sim_repeat *spad_sim_get_repeat(const spad_sim *sim, size_t number) {
    return number < sim->repeats.count ? &sim->repeats.items[number] : NULL;
}

size_t spad_sim_path_count(const spad_sim *sim) {
    return sim->path.count;
}

size_t spad_sim_get_path(const spad_sim *sim, size_t number) {
    return number < sim->path.count ? sim->path.items[number] : SIZE_MAX;
}
