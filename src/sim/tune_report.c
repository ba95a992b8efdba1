/* SPDX-License-Identifier: Apache-2.0
 *
 * The results of the tuner, as text and as JSON.
 */
#include "sim/sim_report.h"
#include "sim/tune.h"
#include "spad/experimental/kernel_rows.h"

enum { POINTS_MAX = 16 };

/* ---- text -------------------------------------------------------------------------- */

static const char *tune_time(const spad_tune *tune, int64_t time, char field[SPAD_TIME_TEXT]) {
    return spad_time_unit_text(tune->totals.simulated.unit, time, field);
}

static void write_time(spad__out *out, const spad_tune *tune, const char *what, int64_t time,
                       const char *rest) {
    char a[SPAD_TIME_TEXT];
    spad__out_format(out, "%-10s %s%s\n", what,
                     time == SPAD_UNBOUNDED ? "-" : tune_time(tune, time, a), rest);
}

/* ", 4,096 B of shared and 512 B of registers placed": memories are not added up, because each has
 * a limit of its own. */
static void write_spaces(spad__out *out, const spad_tune *tune, const int64_t *spaces) {
    const spad_target *target = spad_kernel_get_target(tune->kernel);
    size_t used = 0;
    size_t written = 0;
    for (size_t i = 0; spaces != NULL && i < target->space_count; i++) used += spaces[i] > 0;
    for (size_t i = 0; spaces != NULL && i < target->space_count; i++) {
        if (spaces[i] == 0) continue;
        spad__out_string(out, written == 0 || written + 1 < used ? ", " : " and ");
        spad__out_format(out, "%s of %s", spad__exact_size(spaces[i]).text, target->spaces[i].name);
        written++;
    }
    if (used > 0) spad__out_string(out, " placed");
}

/* "as it is   3.668 us; 6.624 us where tensors share bytes, 4,096 B of shared placed" */
static void write_times(spad__out *out, const spad_tune *tune, const char *what, int64_t time,
                        int64_t planned, const int64_t *spaces, bool fits) {
    char a[SPAD_TIME_TEXT];
    spad__out_format(out, "%-10s %s", what, tune_time(tune, time, a));
    if (planned != time && planned != SPAD_UNBOUNDED) {
        spad__out_format(out, "; %s where tensors share bytes", tune_time(tune, planned, a));
    }
    write_spaces(out, tune, spaces);
    spad__out_string(out, fits ? "\n" : ", does not fit\n");
}

static void write_method(spad__out *out, const spad_tune *tune) {
    const spad_tune_totals *t = &tune->totals;
    if (tune->knobs.count == 0) {
        spad__out_string(out, "method     nothing can be chosen: ");
        spad__out_string(out, spad_kernel_is_implicit(tune->kernel)
                                  ? "no auto tensor has several tiles\n"
                                  : "no ring depends on a parameter\n");
    } else if (t->cut) {
        spad__out_format(out,
                         "method     cut after %s simulations of %s combinations: there is too "
                         "much to run\n",
                         spad__grouped(t->simulations).text, spad__grouped(t->combinations).text);
    } else if (t->exhaustive) {
        spad__out_format(out, "method     exhaustive: all %s combinations%s\n",
                         spad__grouped(t->combinations).text, t->sampled ? " of these depths" : "");
    } else {
        spad__out_format(out,
                         "method     descent from the deepest rings: %s simulations of %s "
                         "combinations\n",
                         spad__grouped(t->simulations).text, spad__grouped(t->combinations).text);
    }
}

static void write_left(spad__out *out, const spad_tune *tune) {
    if (tune->totals.left == 0) return;
    spad__out_format(out, "left       %s rings as they are: only the first %d are tuned\n",
                     spad__grouped(tune->totals.left).text, SPAD_TUNE_KNOBS);
}

static void write_tune_head(spad__out *out, const spad_tune *tune) {
    const spad_tune_totals *t = &tune->totals;
    char field[SPAD_BADGE_TEXT];
    spad__out_string(out, "kernel ");
    spad__out_one_line(out, spad_kernel_get_name(tune->kernel));
    spad__out_format(out, " on %s\n", spad_kernel_get_target(tune->kernel)->name);
    write_times(out, tune, "as it is", t->written, t->written_planned, t->written_spaces,
                t->written_fits);
    if (tune->chosen != NULL) {
        write_times(out, tune, "tuned", t->makespan, t->planned, t->spaces, true);
    } else {
        spad__out_string(out, "tuned      nothing fits; `spad fit` shows why\n");
    }
    write_time(out, tune, "deepest", t->deepest, ": all at their largest");
    write_time(out, tune, "bound", t->bound, ": the busiest engine without a wait");
    const char *badge = spad_sim_badge_text(&t->simulated, field);
    if (badge != NULL) spad__out_format(out, "unit       %s\n", badge);
    write_method(out, tune);
    write_left(out, tune);
}

static void write_knobs(spad__out *out, const spad_tune *tune) {
    if (tune->knobs.count == 0) return;
    spad__out_format(out, "\n%-16s %8s %8s   %s\n", "depth", "now", "tuned", "tried");
    for (size_t i = 0; i < tune->knobs.count; i++) {
        const spad_tune_knob *knob = &tune->knobs.items[i];
        spad__out_format(out, "%-16.63s %8lld ", knob->name, (long long)knob->written);
        if (tune->chosen != NULL) {
            spad__out_format(out, "%8lld  ", (long long)knob->chosen);
        } else {
            spad__out_format(out, "%8s  ", "-");
        }
        for (size_t k = 0; k < knob->value_count; k++) {
            spad__out_format(out, " %lld", (long long)knob->values[k]);
        }
        spad__out_string(out, "\n");
    }
}

/* Has a choice that fits bytes in the space? */
static bool is_space_placed(const spad_tune *tune, size_t space) {
    for (size_t i = 0; i < tune->points.count; i++) {
        const spad__tune_point *p = &tune->points.items[i];
        if (p->fits && p->spaces != NULL && p->spaces[space] > 0) return true;
    }
    return false;
}

static void write_point(spad__out *out, const spad_tune *tune, const spad__tune_point *p) {
    const spad_target *target = spad_kernel_get_target(tune->kernel);
    char a[SPAD_TIME_TEXT];
    for (size_t s = 0; s < target->space_count; s++) {
        if (!is_space_placed(tune, s)) continue;
        spad__out_format(out, "%14s ", p->fits ? spad__grouped(p->spaces[s]).text : "-");
    }
    spad__out_format(out, "%14s  ", tune_time(tune, p->fits ? p->planned : p->makespan, a));
    for (size_t k = 0; k < tune->knobs.count; k++) {
        spad__out_format(out, " %lld", (long long)p->values[k]);
    }
    spad__out_string(out, p->fits ? "\n" : ", does not fit\n");
}

/* A column for each memory: its placed bytes, over all lanes. */
static void write_frontier(spad__out *out, const spad_tune *tune) {
    const spad_target *target = spad_kernel_get_target(tune->kernel);
    if (tune->points.count == 0 || tune->knobs.count == 0) return;
    spad__out_string(out, "\n");
    for (size_t s = 0; s < target->space_count; s++) {
        if (is_space_placed(tune, s)) spad__out_format(out, "%12s B ", target->spaces[s].name);
    }
    spad__out_format(out, "%14s   %s\n", spad_time_unit_name(tune->totals.simulated.unit),
                     "depths");
    for (size_t i = 0; i < tune->points.count && i < POINTS_MAX; i++) {
        write_point(out, tune, &tune->points.items[i]);
    }
    if (tune->points.count > POINTS_MAX) {
        spad__out_format(out, "%14s and %zu more\n", "", tune->points.count - POINTS_MAX);
    }
}

static void write_hoists(spad__out *out, const spad_tune *tune) {
    char a[SPAD_TIME_TEXT];
    for (size_t i = 0; i < tune->hoists.count; i++) {
        const spad__tune_hoist *h = &tune->hoists.items[i];
        const spad_kernel_tensor *t = spad_kernel_get_tensor(tune->kernel, (size_t)h->tensor);
        spad__out_string(out, i == 0 ? "\n" : "");
        spad__out_format(out, "%s %.63s (line %ld) out of its loop, with %s tiles: ",
                         h->applied ? "hoisted" : "hoist  ", t->name, (long)t->location.line,
                         spad__grouped(h->tiles).text);
        if (!h->applied) spad__out_format(out, "%s,\n        ", tune_time(tune, h->makespan, a));
        spad__out_format(out, "%s bytes more%s\n", spad__grouped(h->bytes).text,
                         h->applied ? "" : "; not done here");
    }
}

static void write_tune_text(spad__out *out, const void *object) {
    const spad_tune *tune = object;
    write_tune_head(out, tune);
    write_knobs(out, tune);
    write_frontier(out, tune);
    write_hoists(out, tune);
}

/* ---- JSON -------------------------------------------------------------------------- */

/* A time, or null for none. */
static void json_time(spad__json *json, const char *key, int64_t time) {
    if (time == SPAD_UNBOUNDED) {
        spad__json_key_string(json, key, NULL);
    } else {
        spad__json_key_int(json, key, time);
    }
}

static void json_values(spad__json *json, const char *key, const int64_t *values, size_t count) {
    spad__json_key_open(json, key, '[');
    for (size_t i = 0; i < count; i++) spad__json_int(json, values[i]);
    spad__json_close(json, ']');
}

/* {"shared": 4096}: of the memories that a layout uses; null without one. */
static void json_spaces(spad__json *json, const char *key, const spad_tune *tune,
                        const int64_t *spaces) {
    const spad_target *target = spad_kernel_get_target(tune->kernel);
    if (spaces == NULL) {
        spad__json_key_string(json, key, NULL);
        return;
    }
    spad__json_key_open(json, key, '{');
    for (size_t i = 0; i < target->space_count; i++) {
        if (spaces[i] > 0) spad__json_key_int(json, target->spaces[i].name, spaces[i]);
    }
    spad__json_close(json, '}');
}

static void json_totals(spad__json *json, const spad_tune *tune) {
    const spad_tune_totals *t = &tune->totals;
    spad__json_key_string(json, "kernel", spad_kernel_get_name(tune->kernel));
    spad__json_key_string(json, "target", spad_kernel_get_target(tune->kernel)->name);
    spad__json_unit(json, &t->simulated);
    spad__json_key_int(json, "written_ps", t->written);
    json_time(json, "written_planned_ps", t->written_planned);
    spad__json_key_int(json, "written_bytes", t->written_bytes);
    spad__json_key_int(json, "written_placed", t->written_placed);
    json_spaces(json, "written_spaces", tune, t->written_spaces);
    spad__json_key_bool(json, "written_fits", t->written_fits);
    spad__json_key_bool(json, "fits", tune->chosen != NULL);
    json_time(json, "makespan_ps", t->makespan);
    json_time(json, "planned_ps", t->planned);
    spad__json_key_int(json, "bytes", t->bytes);
    spad__json_key_int(json, "placed", t->placed);
    json_spaces(json, "spaces", tune, t->spaces);
    json_time(json, "deepest_ps", t->deepest);
    spad__json_key_int(json, "bound_ps", t->bound);
    spad__json_key_bool(json, "exhaustive", t->exhaustive && !t->sampled);
    spad__json_key_bool(json, "cut", t->cut);
    spad__json_key_int(json, "left", t->left);
    spad__json_key_int(json, "combinations", t->combinations);
    spad__json_key_int(json, "simulations", t->simulations);
}

static void json_knobs(spad__json *json, const spad_tune *tune) {
    spad__json_key_open(json, "knobs", '[');
    for (size_t i = 0; i < tune->knobs.count; i++) {
        const spad_tune_knob *knob = &tune->knobs.items[i];
        spad__json_open(json, '{');
        spad__json_key_string(json, "kind", knob->kind == SPAD_KNOB_RING ? "ring" : "param");
        spad__json_key_string(json, "name", knob->name);
        spad__json_key_int(json, "written", knob->written);
        if (tune->chosen != NULL) spad__json_key_int(json, "chosen", knob->chosen);
        json_values(json, "values", knob->values, knob->value_count);
        spad__json_close(json, '}');
    }
    spad__json_close(json, ']');
}

static void json_frontier(spad__json *json, const spad_tune *tune) {
    spad__json_key_open(json, "frontier", '[');
    for (size_t i = 0; i < tune->points.count; i++) {
        const spad__tune_point *p = &tune->points.items[i];
        spad__json_open(json, '{');
        spad__json_key_int(json, "bytes", p->bytes);
        spad__json_key_int(json, "placed", p->placed);
        json_spaces(json, "spaces", tune, p->spaces);
        spad__json_key_int(json, "makespan_ps", p->makespan);
        json_time(json, "planned_ps", p->planned);
        spad__json_key_bool(json, "fits", p->fits);
        json_values(json, "values", p->values, tune->knobs.count);
        spad__json_close(json, '}');
    }
    spad__json_close(json, ']');
}

static void json_hoists(spad__json *json, const spad_tune *tune) {
    spad__json_key_open(json, "hoists", '[');
    for (size_t i = 0; i < tune->hoists.count; i++) {
        const spad__tune_hoist *h = &tune->hoists.items[i];
        const spad_kernel_tensor *t = spad_kernel_get_tensor(tune->kernel, (size_t)h->tensor);
        spad__json_open(json, '{');
        spad__json_key_string(json, "tensor", t->name);
        spad__json_key_int(json, "line", t->location.line);
        spad__json_key_int(json, "tiles", h->tiles);
        spad__json_key_int(json, "makespan_ps", h->makespan);
        spad__json_key_int(json, "bytes", h->bytes);
        spad__json_key_bool(json, "applied", h->applied);
        spad__json_close(json, '}');
    }
    spad__json_close(json, ']');
}

static void write_tune_json(spad__json *json, const void *object) {
    const spad_tune *tune = object;
    spad__json_open(json, '{');
    json_totals(json, tune);
    json_knobs(json, tune);
    json_frontier(json, tune);
    json_hoists(json, tune);
    spad__json_close(json, '}');
}

spad_status spad_tune_write(const spad_tune *tune, spad_format format, const spad_sink *sink,
                            spad_error *error) {
    return spad__write_as(tune, write_tune_text, write_tune_json, format, sink, error);
}
