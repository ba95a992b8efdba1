/* SPDX-License-Identifier: Apache-2.0
 *
 * Advice in words and as JSON.
 */
#include <string.h>

#include "analysis/advice.h"
#include "base/text.h"
#include "sim/sim_report.h"

/* ---- text -------------------------------------------------------------------------- */

static void write_what(spad__out *out, const spad_advice_change *c) {
    const char *word = c->param ? "parameter" : "ring of";
    if (c->location.line > 0) spad__out_format(out, "line %ld: ", (long)c->location.line);
    switch (c->kind) {
    case SPAD_ADVICE_LOAD:
        spad__out_format(out, "'%s' of '%s' in front of loop '%s', where it gives the same",
                         c->operation, c->name, c->other);
        break;
    case SPAD_ADVICE_DEEPER:
    case SPAD_ADVICE_SHORTER:
        spad__out_format(out, "%s '%s' %lld instead of %lld", word, c->name, (long long)c->to,
                         (long long)c->from);
        break;
    default:
        spad__out_format(out, "'%s' as an alias of '%s', which is not needed then", c->name,
                         c->other);
        break;
    }
}

/* ", 4,096 B less placed" */
static void write_byte_change(spad__out *out, const char *what, int64_t before, int64_t after) {
    if (before == after) return;
    const int64_t more = after > before ? after - before : before - after;
    spad__out_format(out, ", %s %s %s", spad__exact_size(more).text,
                     after > before ? "more" : "less", what);
}

/* ": 4.000 us instead of 5.000 us, 4,096 B less placed" */
static void write_effect(spad__out *out, spad_time_unit unit, const spad_advice_cost *before,
                         const spad_advice_cost *after) {
    char a[SPAD_TIME_TEXT];
    char b[SPAD_TIME_TEXT];
    spad_time_unit_text(unit, after->makespan, a);
    spad_time_unit_text(unit, before->makespan, b);
    if (strcmp(a, b) == 0) {
        spad__out_format(out, ": %s as before", a);
    } else {
        spad__out_format(out, ": %s instead of %s", a, b);
    }
    if (after->operations < before->operations) {
        spad__out_format(out, ", %s operations fewer",
                         spad__grouped(before->operations - after->operations).text);
    }
    write_byte_change(out, "placed", before->placed, after->placed);
    write_byte_change(out, "declared", before->declared, after->declared);
    spad__out_string(out, "\n");
}

/* For which shapes the changes hold. */
static void write_shapes(spad__out *out, const spad_advice *a) {
    if (a->changes.count == 0) return;
    if (a->now.strength == 2) {
        spad__out_format(out, "proved as before: %s\n", a->now.reason);
        return;
    }
    spad__out_string(out, "proved for this shape only, as before");
    if (a->agreement.shapes > 0) {
        spad__out_format(out, "; right, too, at %zu other shapes from ", a->agreement.shapes);
        spad__out_one_line(out, a->agreement.least);
        spad__out_string(out, " to ");
        spad__out_one_line(out, a->agreement.most);
        spad__out_string(out, ", where conditions change their outcome");
    }
    spad__out_string(out, "\n");
}

static void write_end(spad__out *out, const spad_advice *a) {
    const spad_advice_totals *t = &a->totals;
    if (!t->proved) {
        spad__out_string(out, "no changes: the kernel is not proved, and a change keeps a proof\n");
        return;
    }
    if (a->changes.count == 0) spad__out_string(out, "no changes");
    if (a->changes.count > 0) {
        spad__out_format(out, "%zu change%s", a->changes.count, a->changes.count > 1 ? "s" : "");
    }
    write_effect(out, t->simulated.unit, &t->before, &t->after);
    write_shapes(out, a);
    char field[SPAD_BADGE_TEXT];
    const char *badge = spad_sim_badge_text(&t->simulated, field);
    if (badge != NULL) spad__out_format(out, "%s\n", badge);
    if (t->cut) spad__out_string(out, "the search ended at a limit; there may be more\n");
    const bool known = t->simulated.unit == SPAD_TIME_REAL || t->simulated.unit == SPAD_TIME_CYCLES;
    if (!known && !a->options.steps && (a->options.skip & 1u << SPAD_ADVICE_SHORTER) == 0) {
        spad__out_string(out, "depths of rings stay, because of that; --steps shortens them where "
                              "that takes no more steps\n");
    }
}

static void write_advice_text(spad__out *out, const void *object) {
    const spad_advice *advice = object;
    for (size_t i = 0; i < advice->changes.count; i++) {
        const spad_advice_change *c = &advice->changes.items[i];
        write_what(out, c);
        write_effect(out, advice->totals.simulated.unit, &c->before, &c->after);
    }
    write_end(out, advice);
}

/* ---- JSON -------------------------------------------------------------------------- */

static void json_cost(spad__json *json, const char *key, const spad_advice_cost *cost) {
    spad__json_key_open(json, key, '{');
    spad__json_key_int(json, "placed", cost->placed);
    spad__json_key_int(json, "declared", cost->declared);
    spad__json_key_int(json, "makespan_ps", cost->makespan);
    spad__json_key_int(json, "operations", cost->operations);
    spad__json_close(json, '}');
}

static void json_advice_change(spad__json *json, const spad_advice_change *c) {
    spad__json_open(json, '{');
    spad__json_key_string(json, "kind", spad_advice_kind_name(c->kind));
    spad__json_key_string(json, "name", c->name);
    spad__json_key_string(json, "other", c->other);
    spad__json_key_string(json, "operation", c->operation);
    spad__json_key_bool(json, "param", c->param);
    spad__json_key_int(json, "from", c->from);
    spad__json_key_int(json, "to", c->to);
    spad__json_key_int(json, "line", c->location.line);
    json_cost(json, "before", &c->before);
    json_cost(json, "after", &c->after);
    spad__json_close(json, '}');
}

static void write_advice_json(spad__json *json, const void *object) {
    const spad_advice *advice = object;
    const spad_advice_totals *t = &advice->totals;
    spad__json_open(json, '{');
    spad__json_key_string(json, "kernel", spad_kernel_get_name(advice->given));
    spad__json_key_string(json, "target", spad_kernel_get_target(advice->given)->name);
    spad__json_unit(json, &t->simulated);
    spad__json_key_bool(json, "proved", t->proved);
    spad__json_key_bool(json, "cut", t->cut);
    spad__json_key_int(json, "trials", t->trials);
    spad__json_key_int(json, "shapes", t->shapes);
    json_cost(json, "before", &t->before);
    json_cost(json, "after", &t->after);
    spad__json_key_open(json, "changes", '[');
    for (size_t i = 0; i < advice->changes.count; i++) {
        json_advice_change(json, &advice->changes.items[i]);
    }
    spad__json_close(json, ']');
    spad__json_close(json, '}');
}

spad_status spad_advice_write(const spad_advice *advice, spad_format format, const spad_sink *sink,
                              spad_error *error) {
    return spad__write_as(advice, write_advice_text, write_advice_json, format, sink, error);
}
