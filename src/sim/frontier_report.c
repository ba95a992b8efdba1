/* SPDX-License-Identifier: Apache-2.0
 *
 * A frontier as text and as JSON.
 */
#include "base/text.h"
#include "sim/frontier.h"
#include "sim/sim_report.h"

static const char *frontier_time(const spad_frontier *f, int64_t time, char text[SPAD_TIME_TEXT]) {
    return spad_time_unit_text(f->totals.simulated.unit, time, text);
}

static const spad_space *space_of_row(const spad_layout *layout, size_t number) {
    const spad_target *target = spad_kernel_get_target(spad_layout_get_kernel(layout));
    return &target->spaces[spad_layout_get_space(layout, number)->space];
}

static void write_frontier_head(spad__out *out, const spad_frontier *f) {
    const spad_frontier_totals *t = &f->totals;
    char a[SPAD_TIME_TEXT];
    spad__out_string(out, "layouts of ");
    spad__out_one_line(out, spad_kernel_get_name(f->given));
    spad__out_format(out, " on %s: %zu of %s%s\n", spad_kernel_get_target(f->given)->name,
                     f->points.count, spad__grouped(t->layouts).text,
                     t->cut ? ", cut by the time limit" : "");
    if (t->written != SPAD_UNBOUNDED)
        spad__out_format(out, "as it is   %s, %s\n", frontier_time(f, t->written, a),
                         spad__exact_size(t->written_bytes).text);
    spad__out_format(out, "apart      %s: no planned tensors share bytes\n",
                     frontier_time(f, t->apart, a));
    spad__out_format(out, "bound      %s: the busiest engine without a wait\n",
                     frontier_time(f, t->simulated.bound, a));
}

/* Names of the memories, then a line per point with the top in each. */
static void write_points(spad__out *out, const spad_frontier *f) {
    char a[SPAD_TIME_TEXT];
    if (f->points.count == 0) {
        spad__out_string(out, f->totals.cut ? "no layout that fits was found in time\n"
                                            : "nothing fits; `spad fit` shows why\n");
        return;
    }
    const spad_layout *first = f->points.items[0].layout;
    spad__out_format(out, "\n%14s %14s", "bytes", spad_time_unit_name(f->totals.simulated.unit));
    for (size_t k = 0; k < spad_layout_space_count(first); k++)
        spad__out_format(out, " %10s", space_of_row(first, k)->name);
    spad__out_string(out, "\n");
    for (size_t i = 0; i < f->points.count; i++) {
        const spad_frontier_point *p = &f->points.items[i];
        spad__out_format(out, "%14s %14s", spad__grouped(p->bytes).text,
                         frontier_time(f, p->makespan, a));
        for (size_t k = 0; k < spad_layout_space_count(p->layout); k++)
            spad__out_format(out, " %10s",
                             spad__grouped(spad_layout_get_space(p->layout, k)->height).text);
        spad__out_string(out, "\n");
    }
}

static void write_frontier_text(spad__out *out, const void *object) {
    const spad_frontier *frontier = object;
    char field[SPAD_BADGE_TEXT];
    write_frontier_head(out, frontier);
    const char *badge = spad_sim_badge_text(&frontier->totals.simulated, field);
    if (badge != NULL) spad__out_format(out, "unit       %s\n", badge);
    write_points(out, frontier);
}

/* ---- JSON -------------------------------------------------------------------------- */

static void json_known(spad__json *json, const char *key, int64_t time) {
    if (time == SPAD_UNBOUNDED) {
        spad__json_key_string(json, key, NULL);
    } else {
        spad__json_key_int(json, key, time);
    }
}

static void json_point(spad__json *json, const spad_frontier_point *p) {
    spad__json_open(json, '{');
    spad__json_key_int(json, "bytes", p->bytes);
    spad__json_key_int(json, "makespan_ps", p->makespan);
    spad__json_key_open(json, "used", '{');
    for (size_t k = 0; k < spad_layout_space_count(p->layout); k++)
        spad__json_key_int(json, space_of_row(p->layout, k)->name,
                           spad_layout_get_space(p->layout, k)->height);
    spad__json_close(json, '}');
    spad__json_close(json, '}');
}

static void write_frontier_json(spad__json *json, const void *object) {
    const spad_frontier *frontier = object;
    const spad_frontier_totals *t = &frontier->totals;
    spad__json_open(json, '{');
    spad__json_key_string(json, "kernel", spad_kernel_get_name(frontier->given));
    spad__json_key_string(json, "target", spad_kernel_get_target(frontier->given)->name);
    json_known(json, "written_ps", t->written);
    spad__json_key_int(json, "written_bytes", t->written_bytes);
    json_known(json, "apart_ps", t->apart);
    spad__json_key_int(json, "bound_ps", t->simulated.bound);
    spad__json_unit(json, &t->simulated);
    spad__json_key_int(json, "layouts", t->layouts);
    spad__json_key_bool(json, "cut", t->cut);
    spad__json_key_open(json, "points", '[');
    for (size_t i = 0; i < frontier->points.count; i++)
        json_point(json, &frontier->points.items[i]);
    spad__json_close(json, ']');
    spad__json_close(json, '}');
}

spad_status spad_frontier_write(const spad_frontier *frontier, spad_format format,
                                const spad_sink *sink, spad_error *error) {
    return spad__write_as(frontier, write_frontier_text, write_frontier_json, format, sink, error);
}
