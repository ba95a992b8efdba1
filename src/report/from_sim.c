/* SPDX-License-Identifier: Apache-2.0
 *
 * A simulation in a report: when the operations of a walk run, and bars for its rows.
 *
 * An operation is found by its statement and the variables of the loops around it, in a
 * table over the rows; those of repetitions that were skipped are not there. Bars that run at
 * the same time on one engine, as asynchronous copies do, stand on rows below each other:
 * by their start, each on the first row that is free. Picoseconds become nanoseconds, or steps
 * where no cost is known; a badge says what is assumed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/checked.h"
#include "base/error.h"
#include "kernel/kernel.h"
#include "report/from_kernel.h"
#include "sim/sim.h"
#include "sim/sim_report.h"
#include "spad/experimental/report_parts.h"

enum { NANOSECOND = 1000, SIDE_BY_SIDE = 8 }; /* picoseconds; bars */

/* ---- times ------------------------------------------------------------------------- */

/* The statement and the variables of the loops around it, the outermost first. */
static uint64_t hash_row(const spad__sim_row *row) {
    uint64_t hash = spad__hash_add(0, row->statement);
    for (size_t i = 0; i < row->value_count; i++) hash = spad__hash_add(hash, row->values[i]);
    return hash;
}

static void index_rows(spad__sim_times *times) {
    for (size_t i = 0; i < spad__sim_row_count(times->sim); i++) {
        const spad__sim_row row = spad__sim_get_row(times->sim, i);
        spad__index_add(&times->index, hash_row(&row), i);
    }
}

spad_status spad__sim_times_start(spad__sim_times *times, const spad_sim *sim,
                                  const spad_kernel *kernel, const spad_host *host,
                                  spad_error *error) {
    *times =
        (spad__sim_times){.host = *host,
                          .sim = sim,
                          .kernel = kernel,
                          .scale = spad__max(spad__time_unit_size(sim->totals.unit), NANOSECOND)};
    const size_t count = spad__sim_row_count(sim);
    times->bars = spad__new_array(host, count + 1, sizeof *times->bars);
    if (times->bars == NULL || !spad__index_reserve(&times->index, host, count)) {
        spad__sim_times_end(times);
        return spad__fail_host_memory(error);
    }
    for (size_t i = 0; i < count; i++) times->bars[i] = SPAD__NO_ITEM;
    index_rows(times);
    return SPAD_OK;
}

void spad__sim_times_end(spad__sim_times *times) {
    const size_t count = spad__sim_row_count(times->sim) + 1;
    spad__free(&times->host, times->bars, count * sizeof *times->bars);
    spad__index_free(&times->index, &times->host);
}

/* A copy of a text; NULL stays NULL. False: out of memory. */
static bool keep_report_text(spad_report *report, const char *text, const char **kept) {
    *kept = text == NULL ? NULL : spad__arena_copy(&report->texts, text, strlen(text));
    return text == NULL || *kept != NULL;
}

/* What bounds the kernel: only where all costs are known. */
static bool take_roofs(spad_report *report, const spad_sim *sim) {
    char text[SPAD_MESSAGE_MAX];
    const int64_t whole = sim->totals.makespan;
    const size_t count = spad__sim_roof_count(sim);
    if (sim->totals.unit != SPAD_TIME_REAL || whole <= 0 || count == 0) return true;
    if (!spad__array_reserve(&report->host, &report->roofs, count)) return false;
    for (size_t i = 0; i < count; i++) {
        const spad__sim_roof roof = spad__sim_get_roof(sim, i);
        spad__roof_row row = {.kind = spad__bound_kind_name(roof.kind), .basis = roof.basis};
        row.busy = roof.busy <= INT64_MAX / 1000 ? roof.busy * 1000 / whole : 1000;
        spad__roof_name(sim, &roof, text, sizeof text);
        if (!keep_report_text(report, text, &row.name)) return false;
        report->roofs.items[report->roofs.count++] = row;
    }
    snprintf(text, sizeof text, "bounded by %s: %s",
             spad__bound_kind_name(spad__sim_get_bound_kind(sim)), spad__bound_advice(sim));
    return keep_report_text(report, text, &report->bound);
}

spad_status spad__take_sim_unit(spad_report *report, const spad_sim *sim, spad_error *error) {
    static const char *const names[SPAD_TIME_UNITS] = {[SPAD_TIME_REAL] = "ns",
                                                       [SPAD_TIME_MIXED] = "assumed ns",
                                                       [SPAD_TIME_CYCLES] = "cycles",
                                                       [SPAD_TIME_STEPS] = "steps"};
    char field[SPAD_BADGE_TEXT];
    const spad__mark before = spad__report_mark(report);
    if (!keep_report_text(report, spad_sim_badge_text(&sim->totals, field), &report->badge) ||
        !keep_report_text(report, spad__sim_costs_text(&sim->totals, field), &report->costs) ||
        !take_roofs(report, sim)) {
        spad__report_restore(report, before);
        return spad__fail_host_memory(error);
    }
    report->time_unit = names[sim->totals.unit];
    return SPAD_OK;
}

static void row_times(const spad__sim_times *times, const spad__sim_row *row, int64_t *begin,
                      int64_t *end) {
    *begin = row->start / times->scale;
    *end = spad__max(row->end / times->scale, *begin + 1);
}

/* The row as the walk stands now, without times; `values` has room for all loops. */
static spad__sim_row row_of_event(const spad__sim_times *times, const spad_walk *walk,
                                  const spad_walk_event *event, int64_t *values) {
    spad__sim_row row = {.statement = event->statement, .values = values};
    const int64_t *current = spad_walk_get_values(walk);
    const spad_statement *s = spad_kernel_get_statement(times->kernel, (size_t)event->statement);
    for (int64_t loop = s->loop; loop >= 0 && row.value_count < SPAD__SIM_LOOPS;
         loop = spad_kernel_get_loop(times->kernel, (size_t)loop)->outer) {
        row.value_count++;
    }
    size_t at = row.value_count;
    for (int64_t loop = s->loop; at > 0;
         loop = spad_kernel_get_loop(times->kernel, (size_t)loop)->outer) {
        values[--at] = current[loop];
    }
    return row;
}

static bool is_same_row(const spad__sim_row *a, const spad__sim_row *b) {
    return a->statement == b->statement && a->value_count == b->value_count &&
           (a->value_count == 0 ||
            memcmp(a->values, b->values, a->value_count * sizeof *a->values) == 0);
}

bool spad__sim_times_find(const spad__sim_times *times, const spad_walk *walk,
                          const spad_walk_event *event, spad__sim_time *out) {
    int64_t values[SPAD__SIM_LOOPS] SPAD__FILLED_BY_LOOP;
    const spad__sim_row wanted = row_of_event(times, walk, event, values);
    spad__probe probe = spad__index_probe(&times->index, hash_row(&wanted));
    for (size_t i; (i = spad__probe_next(&probe)) != SPAD__NO_ITEM;) {
        const spad__sim_row row = spad__sim_get_row(times->sim, i);
        if (!is_same_row(&row, &wanted)) continue;
        row_times(times, &row, &out->begin, &out->end);
        out->bar = times->bars[i];
        return true;
    }
    return false;
}

/* ---- bars -------------------------------------------------------------------------- */

typedef struct ordered {
    int64_t start;
    size_t row;
} ordered;

static int compare_starts(const void *left, const void *right) {
    const ordered *a = left;
    const ordered *b = right;
    if (a->start != b->start) return a->start < b->start ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

/* Rows of the timeline for one engine of one agent: when each is free again. */
typedef struct track {
    int64_t free_at[SIDE_BY_SIDE];
} track;

typedef struct bar_writer {
    spad_report *report;
    const spad__sim_times *times;
    ordered *order;
    bool *critical;
    track *tracks; /* per agent and engine */
    size_t rows;
    size_t track_count;
} bar_writer;

/* "for store to read y", in the words of the simulator. */
static const char *describe_wait(const bar_writer *w, const spad__sim_row *row, char *field,
                                 size_t size) {
    const spad_kernel *kernel = w->times->kernel;
    if (row->wait <= 0 || row->kind == SPAD__WAIT_NONE) return NULL;
    const char *tensor =
        row->tensor >= 0 ? spad_kernel_get_tensor(kernel, (size_t)row->tensor)->name : NULL;
    const char *object =
        row->object >= 0 ? spad_kernel_get_sync(kernel, (size_t)row->object)->name : NULL;
    const char *blocker = NULL;
    if (row->blocker >= 0) {
        const spad__sim_row other = spad__sim_get_row(w->times->sim, (size_t)row->blocker);
        blocker = spad_kernel_get_statement(kernel, (size_t)other.statement)->name;
    }
    const char *what = tensor != NULL ? tensor : object;
    snprintf(field, size, "%s%s%.60s%s%.60s", spad__wait_kind_name(row->kind),
             what != NULL ? " " : "", what != NULL ? what : "", blocker != NULL ? ", " : "",
             blocker != NULL ? blocker : "");
    return field;
}

/* "dma", "dma 2", "upper simt": the agent where there are several, a number for bars beside
 * others. */
static void name_row(const bar_writer *w, const spad__sim_row *row, int side, char *field,
                     size_t size) {
    const spad_kernel *kernel = w->times->kernel;
    size_t used = 0;
    if (row->agent > 0) {
        used = (size_t)snprintf(field, size, "%.40s ",
                                spad_kernel_get_agent(kernel, (size_t)row->agent)->name);
    }
    used += (size_t)snprintf(field + used, size - used, "%.40s",
                             w->report->target->engines[row->engine].name);
    if (side > 0) snprintf(field + used, size - used, " %d", side + 1);
}

/* The first side that is free; the last one takes what is too much. */
static int take_side(track *t, int64_t begin, int64_t end) {
    int side = 0;
    while (side + 1 < SIDE_BY_SIDE && t->free_at[side] > begin) side++;
    t->free_at[side] = spad__max(t->free_at[side], end);
    return side;
}

static spad_status add_sim_bar(bar_writer *w, size_t number, spad_error *error) {
    const spad__sim_row row = spad__sim_get_row(w->times->sim, number);
    const spad_statement *s = spad_kernel_get_statement(w->times->kernel, (size_t)row.statement);
    char name[128];
    char wait[192];
    int64_t begin;
    int64_t end;
    if (row.engine < 0) return SPAD_OK;
    row_times(w->times, &row, &begin, &end);
    const size_t engines = w->report->target->engine_count;
    track *t = &w->tracks[(size_t)row.agent * engines + (size_t)row.engine];
    name_row(w, &row, take_side(t, begin, end), name, sizeof name);
    const spad_report_bar bar = {
        .row = name,
        .name = s->name,
        .begin = begin,
        .end = end,
        .ready = spad__min(begin, (row.start - row.wait) / w->times->scale),
        .wait = describe_wait(w, &row, wait, sizeof wait),
        .critical = w->critical[number],
        .line = s->location.line,
    };
    w->times->bars[number] = w->report->bars.count;
    return spad_report_add_bar(w->report, &bar, error);
}

static spad_status add_sim_bars(bar_writer *w, spad_error *error) {
    const spad_sim *sim = w->times->sim;
    for (size_t i = 0; i < w->rows; i++) {
        w->order[i] = (ordered){spad__sim_get_row(sim, i).start, i};
    }
    for (size_t i = 0; i < spad__sim_path_count(sim); i++)
        w->critical[spad__sim_get_path(sim, i)] = true;
    qsort(w->order, w->rows, sizeof *w->order, compare_starts);
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < w->rows && status == SPAD_OK; i++) {
        status = add_sim_bar(w, w->order[i].row, error);
    }
    return status;
}

spad_status spad__add_sim_bars(spad_report *report, const spad__sim_times *times,
                               spad_error *error) {
    spad__arena arena = {.host = report->host};
    bar_writer w = {.report = report,
                    .times = times,
                    .rows = spad__sim_row_count(times->sim),
                    .track_count = spad_kernel_agent_count(times->kernel) *
                                   (report->target->engine_count + 1)};
    if (w.rows == 0) return SPAD_OK;
    w.order = spad__arena_array(&arena, w.rows, sizeof *w.order);
    w.critical = spad__arena_array(&arena, w.rows, sizeof *w.critical);
    w.tracks = spad__arena_array(&arena, w.track_count, sizeof *w.tracks);
    const spad_status status = w.order != NULL && w.critical != NULL && w.tracks != NULL
                                   ? add_sim_bars(&w, error)
                                   : spad__fail_host_memory(error);
    spad__arena_free(&arena);
    return status;
}
