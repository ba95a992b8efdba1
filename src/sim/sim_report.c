/* SPDX-License-Identifier: Apache-2.0
 *
 * A simulation as text and as JSON.
 */
#include "sim/sim_report.h"
#include "layout/occupancy.h"
#include "target/target.h"

#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "kernel/kernel.h"
#include "sim/sim.h"

enum {
    COLUMNS = 62,       /* of the timeline */
    TIMELINE_ROWS = 32, /* operations that it shows */
    WAITS_SHOWN = 10,
    PATH_MAX = 10,
    REPEATS_MAX = 4
};

/* ---- numbers ----------------------------------------------------------------------- */

/* "once", "12 times" */
static const char *times_text(int64_t count, char field[SPAD_TIME_TEXT]) {
    if (count == 1) return "once";
    snprintf(field, SPAD_TIME_TEXT, "%s times", spad__grouped(count).text);
    return field;
}

static const char *statement_name(const spad_sim *sim, int64_t statement) {
    return statement >= 0 ? spad_kernel_get_statement(sim->kernel, (size_t)statement)->name : "?";
}

static const char *sim_time(const spad_sim *sim, int64_t time, char field[SPAD_TIME_TEXT]) {
    return spad_time_unit_text(sim->totals.unit, time, field);
}

/* ---- parts of the text ------------------------------------------------------------- */

/* "grid       1024 blocks in 1.234 ms: 3 waves of 264 and one of 232" */
static void write_grid(spad__out *out, const spad_sim *sim) {
    const spad__sim_grid *g = &sim->grid;
    char a[SPAD_TIME_TEXT];
    if (g->blocks == 0) return;
    spad__out_format(out, "grid       %s block%s", spad__grouped(g->blocks).text,
                     g->blocks == 1 ? "" : "s");
    if (g->units == 0) {
        spad__out_string(out, "; the target does not say how many units the chip has\n");
        return;
    }
    spad__out_format(out, " in %s, %s on each of %s units", sim_time(sim, sim->totals.time, a),
                     spad__grouped(g->per_unit).text, spad__grouped(g->units).text);
    if (g->per_unit == g->occupancy.blocks) {
        const char *what = g->occupancy.space != SPAD_NO_SPACE
                               ? sim->target->spaces[g->occupancy.space].name
                               : spad__occupancy_limit_name(g->occupancy.limit);
        spad__out_format(out, ":\n           no more fit (%.63s)", what);
    }
    spad__out_string(out, ";\n           ");
    if (g->waves > 0) {
        int64_t wave;
        if (!spad__mul(g->units, g->per_unit, &wave)) wave = INT64_MAX;
        spad__out_format(out, "%s wave%s of %s in %s%s", spad__grouped(g->waves).text,
                         g->waves == 1 ? "" : "s", spad__grouped(wave).text,
                         sim_time(sim, g->wave_time, a), g->tail > 0 ? ", then " : "");
    }
    if (g->tail > 0) {
        spad__out_format(out, "%s in %s", spad__grouped(g->tail).text,
                         sim_time(sim, g->tail_time, a));
    }
    spad__out_string(out, "\n");
}

/* Work that no time is counted for; examples in brackets have a line of their own. */
static void write_uncounted(spad__out *out, const char *work) {
    char head[SPAD_UNCOUNTED_TEXT];
    if (work[0] == '\0') return;
    const char *examples = strstr(work, " (");
    const size_t length = examples != NULL ? (size_t)(examples - work) : strlen(work);
    memcpy(head, work, length);
    head[length] = '\0';
    spad__out_string(out, "not counted: ");
    spad__out_one_line(out, head);
    if (examples != NULL) {
        spad__out_string(out, "\n           ");
        spad__out_one_line(out, examples + 1);
    }
    spad__out_string(out, ";\n           the kernel may take longer\n");
}

static void write_head(spad__out *out, const spad_sim *sim) {
    char a[SPAD_TIME_TEXT];
    char badge_field[SPAD_BADGE_TEXT];
    char costs[SPAD_BADGE_TEXT];
    spad__out_string(out, "kernel ");
    spad__out_one_line(out, spad_kernel_get_name(sim->kernel));
    spad__out_format(out, " on %s\n", sim->target->name);
    spad__out_format(out, "makespan   %s, operations: %s\n", sim_time(sim, sim->totals.makespan, a),
                     spad__grouped(sim->totals.operations).text);
    spad__out_format(out, "bound      %s: the busiest engine without a wait\n",
                     sim_time(sim, sim->totals.bound, a));
    write_grid(out, sim);
    spad__write_roofs(out, sim);
    if (spad__sim_costs_text(&sim->totals, costs) != NULL) {
        spad__out_format(out, "costs      %s\n", costs);
    }
    for (size_t i = 0; i < sim->repeats.count && i < REPEATS_MAX; i++) {
        const spad__sim_repeat *r = &sim->repeats.items[i];
        spad__out_string(out, "repeats    loop ");
        spad__out_string(out, spad_kernel_get_loop(sim->kernel, (size_t)r->loop)->name);
        spad__out_format(out, " from %lld on: %s %s in %s, %s times more\n", (long long)r->value,
                         spad__grouped(r->period).text, r->period == 1 ? "iteration" : "iterations",
                         sim_time(sim, r->time, a), spad__grouped(r->times).text);
    }
    if (sim->repeats.count > REPEATS_MAX) {
        spad__out_format(out, "           and %zu more\n", sim->repeats.count - REPEATS_MAX);
    }
    write_uncounted(out, sim->totals.uncounted);
    const char *badge = spad__costs_badge(&sim->totals, badge_field);
    if (badge != NULL && sim->totals.unit != SPAD_TIME_REAL) {
        spad__out_format(out, "unit       %s;\n           ", badge);
        spad__out_string(out, "write `cost N ns` in the kernel, or use a target with figures\n");
    }
    if (sim->is_stuck) {
        spad__out_string(out, sim->stuck);
        spad__out_string(out, "\n");
    }
}

static void write_engines(spad__out *out, const spad_sim *sim) {
    char a[SPAD_TIME_TEXT];
    char b[SPAD_TIME_TEXT];
    char c[SPAD_TIME_TEXT];
    spad__out_format(out, "\n%-10s %14s %9s %14s %14s\n", "engine", "busy", "", "idle",
                     "operations");
    for (size_t i = 0; i < sim->target->engine_count; i++) {
        const spad__sim_engine *e = &sim->engines[i];
        if (e->operations == 0) continue;
        spad__out_format(out, "%-10.40s %14s %9s %14s %14s\n", sim->target->engines[i].name,
                         sim_time(sim, e->busy, a),
                         spad__share_text(e->busy, sim->totals.makespan, b),
                         sim_time(sim, e->idle, c), spad__grouped(e->operations).text);
    }
}

/* ---- the timeline ------------------------------------------------------------------ */

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The first letter of the operation, small and large by turns of its engine. */
static char mark_of(const spad_sim *sim, const spad__sim_row *row, bool large) {
    const char first = statement_name(sim, row->statement)[0];
    const char small = is_letter(first) ? spad__lower(first) : 'x';
    return large ? (char)(small - 'a' + 'A') : small;
}

static void draw_row(const spad_sim *sim, const spad__sim_row *row, int64_t column, bool large,
                     char *line) {
    int64_t from = row->start / column;
    int64_t to = (row->end - 1) / column;
    if (row->end <= row->start) return;
    for (; from <= to && from < COLUMNS; from++) line[from] = mark_of(sim, row, large);
}

/* One line per engine; each operation from the column it starts in to the one it ends in. */
static void write_timeline(spad__out *out, const spad_sim *sim) {
    char a[SPAD_TIME_TEXT];
    size_t rows = sim->rows.count < TIMELINE_ROWS ? sim->rows.count : TIMELINE_ROWS;
    int64_t end = 0;
    if (sim->repeats.count > 0 && sim->repeats.items[0].row < rows)
        rows = sim->repeats.items[0].row;
    for (size_t i = 0; i < rows; i++) end = spad__max(end, sim->rows.items[i].end);
    if (end <= 0) return;
    const int64_t column = (end + COLUMNS - 1) / COLUMNS;
    spad__out_format(out, "\noperations: the first %zu, %s a column\n", rows,
                     sim_time(sim, column, a));
    for (size_t e = 0; e < sim->target->engine_count; e++) {
        char line[COLUMNS + 1];
        bool large = false;
        bool any = false;
        memset(line, '.', COLUMNS);
        line[COLUMNS] = '\0';
        for (size_t i = 0; i < rows; i++) {
            const spad__sim_row *row = &sim->rows.items[i];
            if (row->engine != (int64_t)e) continue;
            draw_row(sim, row, column, large, line);
            large = !large;
            any = true;
        }
        if (any) spad__out_format(out, "%-10.40s %s\n", sim->target->engines[e].name, line);
    }
}

/* ---- causes and path --------------------------------------------------------------- */

static void write_cause(spad__out *out, const spad_sim *sim, const spad__sim_wait *w) {
    const char *other = statement_name(sim, w->other);
    const char *tensor =
        w->tensor >= 0 ? spad_kernel_get_tensor(sim->kernel, (size_t)w->tensor)->name : "?";
    switch (w->kind) {
    case SPAD__WAIT_DATA:
        spad__out_format(out, "until %.63s has written %.63s", other, tensor);
        break;
    case SPAD__WAIT_READER:
        spad__out_format(out, "until %.63s has read %.63s", other, tensor);
        break;
    case SPAD__WAIT_WRITER:
        spad__out_format(out, "until %.63s has written %.63s before", other, tensor);
        break;
    case SPAD__WAIT_ENGINE: spad__out_format(out, "after %.63s", other); break;
    case SPAD__WAIT_PORT: spad__out_format(out, "for the port that %.63s uses", other); break;
    case SPAD__WAIT_STARTUP: spad__out_string(out, "for its start-up"); break;
    case SPAD__WAIT_WINDOW: spad__out_format(out, "until %.63s has started", other); break;
    case SPAD__WAIT_SYNC:
        spad__out_format(out, "at %.63s",
                         w->object >= 0 ? spad_kernel_get_sync(sim->kernel, (size_t)w->object)->name
                                        : "a drain");
        if (w->other >= 0) spad__out_format(out, ", released by %.63s", other);
        break;
    default: spad__out_format(out, "until its agent has done %.63s", other); break;
    }
}

static void write_waits(spad__out *out, const spad_sim *sim) {
    char a[SPAD_TIME_TEXT];
    if (sim->waits.count == 0) return;
    spad__out_string(out, "\nwaiting\n");
    for (size_t i = 0; i < sim->waits.count && i < WAITS_SHOWN; i++) {
        const spad__sim_wait *w = &sim->waits.items[i];
        spad__out_format(out, "%14s  %-12.63s ", sim_time(sim, w->total, a),
                         statement_name(sim, w->statement));
        write_cause(out, sim, w);
        spad__out_format(out, " (%s)\n", times_text(w->count, a));
    }
    if (sim->waits.count > WAITS_SHOWN) {
        spad__out_format(out, "                and %zu more causes\n",
                         sim->waits.count - WAITS_SHOWN);
    }
}

/* Time on the critical path by statement, in the order of the text. */
static void write_path(spad__out *out, const spad_sim *sim) {
    char a[SPAD_TIME_TEXT];
    if (sim->path.count == 0) return;
    spad__out_format(out, "\ncritical path, operations: %zu%s\n", sim->path.count,
                     sim->repeats.count > 0 ? " of those that were run" : "");
    for (size_t i = 0; i < sim->path_parts.count && i < PATH_MAX; i++) {
        const spad__path_part *part = &sim->path_parts.items[i];
        char b[SPAD_TIME_TEXT];
        spad__out_format(out, "%14s  %.63s (%s)\n", sim_time(sim, part->time, a),
                         statement_name(sim, part->statement), times_text(part->count, b));
    }
    if (sim->path_parts.count > PATH_MAX) {
        spad__out_format(out, "                and %zu more\n", sim->path_parts.count - PATH_MAX);
    }
}

static void write_sim_text(spad__out *out, const void *object) {
    const spad_sim *sim = object;
    write_head(out, sim);
    write_engines(out, sim);
    write_timeline(out, sim);
    write_waits(out, sim);
    write_path(out, sim);
}

/* ---- JSON -------------------------------------------------------------------------- */

void spad__json_costs(spad__json *json, const spad_sim_totals *totals) {
    spad__json_key_open(json, "costs", '{');
    spad__json_key_int(json, "kernel", totals->by_kernel);
    for (int i = 0; i < SPAD_ORIGINS; i++) {
        spad__json_key_int(json, spad__origin_name((spad_origin)i), totals->by_origin[i]);
    }
    spad__json_close(json, '}');
}

void spad__json_unit(spad__json *json, const spad_sim_totals *totals) {
    spad__json_key_int(json, "unknown", totals->unknown);
    spad__json_key_int(json, "assumed", totals->unknown + totals->unclocked);
    spad__json_key_string(json, "unit", spad_time_unit_name(totals->unit));
    spad__json_key_string(json, "uncounted",
                          totals->uncounted[0] != '\0' ? totals->uncounted : NULL);
}

static void json_name(spad__json *json, const char *key, const char *name) {
    spad__json_key_string(json, key, name);
}

static void json_statement(spad__json *json, const spad_sim *sim, const char *key,
                           int64_t statement) {
    json_name(json, key, statement >= 0 ? statement_name(sim, statement) : NULL);
}

static void json_engines(spad__json *json, const spad_sim *sim) {
    spad__json_key_open(json, "engines", '[');
    for (size_t i = 0; i < sim->target->engine_count; i++) {
        if (sim->engines[i].operations == 0) continue;
        spad__json_open(json, '{');
        json_name(json, "engine", sim->target->engines[i].name);
        spad__json_key_int(json, "busy_ps", sim->engines[i].busy);
        spad__json_key_int(json, "idle_ps", sim->engines[i].idle);
        spad__json_key_int(json, "operations", sim->engines[i].operations);
        spad__json_key_int(json, "active_ps", sim->engines[i].active);
        spad__json_close(json, '}');
    }
    spad__json_close(json, ']');
}

static void json_grid(spad__json *json, const spad_sim *sim) {
    const spad__sim_grid *g = &sim->grid;
    spad__json_key(json, "grid");
    if (g->blocks == 0) {
        spad__json_string(json, NULL);
        return;
    }
    spad__json_open(json, '{');
    spad__json_key_int(json, "blocks", g->blocks);
    spad__json_key_int(json, "units", g->units);
    spad__json_key_int(json, "per_unit", g->per_unit);
    json_name(json, "limit", spad__occupancy_limit_name(g->occupancy.limit));
    spad__json_key_int(json, "waves", g->waves);
    spad__json_key_int(json, "tail", g->tail);
    spad__json_key_int(json, "wave_ps", g->wave_time);
    spad__json_key_int(json, "tail_ps", g->tail_time);
    spad__json_key_int(json, "time_ps", sim->totals.time);
    spad__json_close(json, '}');
}

static void json_roofs(spad__json *json, const spad_sim *sim) {
    json_name(json, "bounded_by", spad__bound_kind_name(spad__sim_get_bound_kind(sim)));
    spad__json_key_open(json, "roofs", '[');
    for (size_t i = 0; i < sim->roofs.count; i++) {
        char name[256];
        spad__roof_name(sim, &sim->roofs.items[i], name, sizeof name);
        spad__json_open(json, '{');
        json_name(json, "roof", name);
        json_name(json, "kind", spad__bound_kind_name(sim->roofs.items[i].kind));
        json_name(json, "basis", sim->roofs.items[i].basis);
        spad__json_key_int(json, "busy_ps", sim->roofs.items[i].busy);
        spad__json_close(json, '}');
    }
    spad__json_close(json, ']');
}

static void json_about(spad__json *json, const spad_sim *sim, spad__wait_kind kind, int64_t tensor,
                       int64_t object) {
    json_name(json, "wait", spad__wait_kind_name(kind));
    json_name(json, "tensor",
              tensor >= 0 ? spad_kernel_get_tensor(sim->kernel, (size_t)tensor)->name : NULL);
    json_name(json, "object",
              object >= 0 ? spad_kernel_get_sync(sim->kernel, (size_t)object)->name : NULL);
}

static void json_waits(spad__json *json, const spad_sim *sim) {
    spad__json_key_open(json, "waits", '[');
    for (size_t i = 0; i < sim->waits.count; i++) {
        const spad__sim_wait *w = &sim->waits.items[i];
        spad__json_open(json, '{');
        json_statement(json, sim, "operation", w->statement);
        json_about(json, sim, w->kind, w->tensor, w->object);
        json_statement(json, sim, "other", w->other);
        spad__json_key_int(json, "count", w->count);
        spad__json_key_int(json, "total_ps", w->total);
        spad__json_close(json, '}');
    }
    spad__json_close(json, ']');
}

static void json_repeats(spad__json *json, const spad_sim *sim) {
    spad__json_key_open(json, "repeats", '[');
    for (size_t i = 0; i < sim->repeats.count; i++) {
        const spad__sim_repeat *r = &sim->repeats.items[i];
        spad__json_open(json, '{');
        json_name(json, "loop", spad_kernel_get_loop(sim->kernel, (size_t)r->loop)->name);
        spad__json_key_int(json, "value", r->value);
        spad__json_key_int(json, "period", r->period);
        spad__json_key_int(json, "times", r->times);
        spad__json_key_int(json, "time_ps", r->time);
        spad__json_key_int(json, "row", (int64_t)r->row);
        spad__json_close(json, '}');
    }
    spad__json_close(json, ']');
}

static void json_row(spad__json *json, const spad_sim *sim, size_t number) {
    const spad__sim_row row = spad__sim_get_row(sim, number);
    const spad_statement *s = spad_kernel_get_statement(sim->kernel, (size_t)row.statement);
    spad__json_open(json, '{');
    json_name(json, "operation", s->name);
    json_name(json, "engine", sim->target->engines[row.engine].name);
    json_name(json, "agent", spad_kernel_get_agent(sim->kernel, (size_t)row.agent)->name);
    spad__json_key_int(json, "line", s->location.line);
    spad__json_key_open(json, "iteration", '[');
    int64_t loops[SPAD__LOOPS_DEEP];
    const bool all = spad__loops_around(sim->kernel, row.statement, loops) == row.value_count;
    for (size_t i = 0; i < row.value_count; i++) {
        spad__json_int(json,
                       all ? spad__loop_value(sim->kernel, loops[i], row.values) : row.values[i]);
    }
    spad__json_close(json, ']');
    spad__json_key_int(json, "start_ps", row.start);
    spad__json_key_int(json, "end_ps", row.end);
    spad__json_key_int(json, "done_ps", row.done);
    spad__json_key_int(json, "wait_ps", row.wait);
    json_about(json, sim, row.kind, row.tensor, row.object);
    spad__json_key_int(json, "cause", row.cause);
    spad__json_key_int(json, "queued_ps", row.queued);
    spad__json_key_int(json, "slot", row.slot);
    spad__json_key_int(json, "element", row.element);
    spad__json_key_int(json, "blocker", row.blocker);
    spad__json_close(json, '}');
}

static void write_sim_json(spad__json *json, const void *object) {
    const spad_sim *sim = object;
    spad__json_open(json, '{');
    json_name(json, "kernel", spad_kernel_get_name(sim->kernel));
    json_name(json, "target", sim->target->name);
    spad__json_key_int(json, "makespan_ps", sim->totals.makespan);
    spad__json_key_int(json, "bound_ps", sim->totals.bound);
    spad__json_key_int(json, "operations", sim->totals.operations);
    spad__json_costs(json, &sim->totals);
    spad__json_unit(json, &sim->totals);
    json_grid(json, sim);
    json_roofs(json, sim);
    json_name(json, "stuck", spad_sim_get_stuck(sim));
    json_engines(json, sim);
    json_waits(json, sim);
    json_repeats(json, sim);
    spad__json_key_open(json, "path", '[');
    for (size_t i = 0; i < sim->path.count; i++) spad__json_int(json, (int64_t)sim->path.items[i]);
    spad__json_close(json, ']');
    spad__json_key_int(json, "row_count", (int64_t)sim->rows.count);
    spad__json_key_open(json, "rows", '[');
    for (size_t i = 0; i < sim->rows.count && i < SPAD_SIM_JSON_ROWS; i++) {
        json_row(json, sim, i);
    }
    spad__json_close(json, ']');
    spad__json_close(json, '}');
}

spad_status spad_sim_write(const spad_sim *sim, spad_format format, const spad_sink *sink,
                           spad_error *error) {
    return spad__write_as(sim, write_sim_text, write_sim_json, format, sink, error);
}
