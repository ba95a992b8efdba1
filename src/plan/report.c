/* SPDX-License-Identifier: Apache-2.0
 *
 * A result in words and as JSON. Numbers are whole, so that they read the same
 * everywhere: times in microseconds, gaps in bytes and in thousandths of a per cent.
 */
#include "base/checked.h"
#include "base/text.h"
#include "plan/problem.h"

enum { ALIVE_SHOWN = 10 };

static void out_label(spad__out *out, const spad_plan *plan, size_t number) {
    const char *name = plan->buffers.items[number].name;
    if (name == NULL) {
        spad__out_format(out, "number %lld", (long long)number);
        return;
    }
    spad__out_string(out, "'");
    spad__out_string(out, name);
    spad__out_string(out, "'");
}

/* (height - bound) / bound in thousandths of a per cent, rounded up. */
static int64_t gap_share(const spad_plan_result *r) {
    int64_t scaled;
    const int64_t gap = r->height - r->bound;
    if (r->bound <= 0 || gap <= 0) return 0;
    if (spad__mul(gap, 100000, &scaled)) return (scaled + r->bound - 1) / r->bound;
    return gap / (r->bound / 100000 + 1);
}

/* ---- text -------------------------------------------------------------------------- */

static void text_change(spad__out *out, const spad_plan *plan, const spad_plan_change *change) {
    const spad_plan_buffer *b = &plan->buffers.items[change->buffer];
    spad__out_string(out, "  fits if ");
    switch (change->kind) {
    case SPAD_PLAN_ALIGN:
        spad__out_format(out, "alignment %lld of ", (long long)b->alignment);
        out_label(out, plan, change->buffer);
        spad__out_format(out, " becomes %lld\n", (long long)change->amount);
        return;
    case SPAD_PLAN_SHORTEN:
        out_label(out, plan, change->buffer);
        spad__out_format(out, " (alive %lld to %lld) %s %lld\n", (long long)b->lower,
                         (long long)b->upper, change->late ? "begins at" : "ends at",
                         (long long)change->amount);
        return;
    case SPAD_PLAN_SPILL:
        out_label(out, plan, change->buffer);
        spad__out_format(out, " (%lld B) lives elsewhere\n", (long long)change->amount);
        return;
    }
}

static const char *clash_sentence(spad_plan_clash clash) {
    switch (clash) {
    case SPAD_PLAN_NO_CLASH: break;
    case SPAD_PLAN_CLASH_PINS: return "are pinned and share bytes while both are alive";
    case SPAD_PLAN_CLASH_APART_PINS:
        return "are to be kept apart, but pinned so that they share bytes";
    case SPAD_PLAN_CLASH_ALIAS_PINS: return "are aliases, but pinned at different places";
    case SPAD_PLAN_CLASH_ALIAS_RULE:
        return "are aliases, and the pin of the first breaks the alignment, bank or lanes of the "
               "second";
    case SPAD_PLAN_CLASH_ALIAS_APART: return "are aliases, but to be kept apart";
    case SPAD_PLAN_CLASH_ALIAS_LANES: return "are aliases, but have no start lane in common";
    }
    return "";
}

static void text_clash(spad__out *out, const spad_plan *plan, const spad_plan_reason *reason) {
    const size_t both[2] = {reason->clash_first, reason->clash_second};
    spad__out_string(out, "why: ");
    for (int k = 0; k < 2; k++) {
        const spad_plan_buffer *b = &plan->buffers.items[both[k]];
        if (k == 1) spad__out_string(out, " and ");
        out_label(out, plan, both[k]);
        spad__out_format(out, " (%lld B, from %lld to %lld", (long long)b->size,
                         (long long)b->lower, (long long)b->upper);
        if (b->pinned) spad__out_format(out, ", offset %lld", (long long)b->offset);
        if (b->pinned && plan->lanes > 1) spad__out_format(out, ", lane %lld", (long long)b->lane);
        spad__out_string(out, ")");
    }
    spad__out_format(out, " %s\n", clash_sentence(reason->clash));
}

static void text_reason(spad__out *out, const spad_plan *plan, const spad_plan_reason *reason) {
    if (reason->clash != SPAD_PLAN_NO_CLASH) {
        text_clash(out, plan, reason);
        return;
    }
    spad__out_format(out, "why: at time %lld %lld B are alive, capacity %lld B, over by %lld B\n",
                     (long long)reason->time, (long long)reason->load, (long long)plan->capacity,
                     (long long)reason->over);
    for (size_t k = 0; k < reason->alive_count && k < ALIVE_SHOWN; k++) {
        const size_t i = reason->alive[k];
        spad__out_string(out, "  alive: ");
        out_label(out, plan, i);
        spad__out_format(
            out, ", %lld B, from %lld to %lld\n", (long long)plan->buffers.items[i].size,
            (long long)plan->buffers.items[i].lower, (long long)plan->buffers.items[i].upper);
    }
    if (reason->alive_count > ALIVE_SHOWN)
        spad__out_format(out, "  and %lld smaller ones\n",
                         (long long)(reason->alive_count - ALIVE_SHOWN));
    if (reason->works_at != SPAD_UNBOUNDED)
        spad__out_format(out, "smallest capacity known to work: %lld B\n",
                         (long long)reason->works_at);
    for (size_t k = 0; k < reason->change_count; k++) text_change(out, plan, &reason->changes[k]);
}

static void text_bound(spad__out *out, const spad_plan *plan, const spad_plan_result *r) {
    spad__out_format(out, "bound     %lld B (", (long long)r->bound);
    switch (r->proof) {
    case SPAD_PLAN_BY_LOAD:
        spad__out_format(out, "largest load at time %lld", (long long)r->bound_time);
        if (r->bound > r->peak_load) spad__out_string(out, ", rounded to the alignment");
        break;
    case SPAD_PLAN_BY_BANKS:
        spad__out_format(out, "banks needed at time %lld", (long long)r->bound_time);
        break;
    case SPAD_PLAN_BY_BUFFER:
        spad__out_string(out, "top of ");
        out_label(out, plan, r->bound_buffer);
        break;
    case SPAD_PLAN_BY_SEARCH: spad__out_string(out, "proved by search"); break;
    }
    spad__out_string(out, ")\n");
}

spad_status spad_plan_write_text(const spad_plan *plan, const spad_plan_result *r,
                                 const spad_plan_reason *reason, const spad_sink *sink,
                                 spad_error *error) {
    spad__out out;
    spad__out_start(&out, sink);
    spad__out_format(&out, "buffers   %lld\n", (long long)r->count);
    if (r->places != NULL)
        spad__out_format(&out, "height    %lld B\n", (long long)r->height);
    else
        spad__out_string(&out, "height    no plan\n");
    if (r->clash == SPAD_PLAN_NO_CLASH) text_bound(&out, plan, r);
    if (r->places != NULL) {
        const int64_t share = gap_share(r);
        spad__out_format(&out, "gap       %lld B (%lld.%03lld %%)\n",
                         (long long)(r->height - r->bound), (long long)(share / 1000),
                         (long long)(share % 1000));
    }
    spad__out_format(&out, "verdict   %s%s\n", spad_plan_verdict_name(r->verdict),
                     r->verdict == SPAD_PLAN_INFEASIBLE ? " (proved)"
                     : r->verdict == SPAD_PLAN_UNKNOWN  ? " (not found in time, no proof)"
                                                        : "");
    spad__out_format(&out, "time      %lld us, %lld nodes, %lld restarts\n",
                     (long long)(r->nanoseconds / 1000), (long long)r->nodes,
                     (long long)r->restarts);
    if (reason != NULL) text_reason(&out, plan, reason);
    return spad__out_finish(&out, error);
}

/* ---- JSON -------------------------------------------------------------------------- */

static const char *change_name(spad_plan_change_kind kind) {
    switch (kind) {
    case SPAD_PLAN_SHORTEN: return "shorten";
    case SPAD_PLAN_SPILL: return "spill";
    case SPAD_PLAN_ALIGN: return "align";
    }
    return "";
}

static const char *proof_name(spad_plan_proof proof) {
    switch (proof) {
    case SPAD_PLAN_BY_LOAD: return "load";
    case SPAD_PLAN_BY_BUFFER: return "buffer";
    case SPAD_PLAN_BY_BANKS: return "banks";
    case SPAD_PLAN_BY_SEARCH: return "search";
    }
    return "";
}

/* A buffer as an object: its number, its name if it has one, its bytes. Left open. */
static void json_buffer(spad__json *json, const spad_plan *plan, size_t number) {
    spad__json_open(json, '{');
    spad__json_key_int(json, "buffer", (int64_t)number);
    if (plan->buffers.items[number].name != NULL)
        spad__json_key_string(json, "name", plan->buffers.items[number].name);
    spad__json_key_int(json, "size", plan->buffers.items[number].size);
}

static void json_clash(spad__json *json, const spad_plan *plan, const spad_plan_reason *reason) {
    spad__json_key_string(json, "clash", clash_sentence(reason->clash));
    spad__json_key(json, "buffers");
    spad__json_open(json, '[');
    json_buffer(json, plan, reason->clash_first);
    spad__json_close(json, '}');
    json_buffer(json, plan, reason->clash_second);
    spad__json_close(json, '}');
    spad__json_close(json, ']');
}

static void json_reason(spad__json *json, const spad_plan *plan, const spad_plan_reason *reason) {
    spad__json_key(json, "why");
    spad__json_open(json, '{');
    spad__json_key_bool(json, "proved", reason->proved);
    if (reason->clash != SPAD_PLAN_NO_CLASH) {
        json_clash(json, plan, reason);
        spad__json_close(json, '}');
        return;
    }
    spad__json_key_int(json, "time", reason->time);
    spad__json_key_int(json, "load", reason->load);
    spad__json_key_int(json, "over", reason->over);
    if (reason->works_at != SPAD_UNBOUNDED) {
        spad__json_key_int(json, "works_at", reason->works_at);
        spad__json_key_bool(json, "works_best", reason->works_best);
    }
    spad__json_key(json, "alive");
    spad__json_open(json, '[');
    for (size_t k = 0; k < reason->alive_count; k++) {
        json_buffer(json, plan, reason->alive[k]);
        spad__json_close(json, '}');
    }
    spad__json_close(json, ']');
    spad__json_key(json, "changes");
    spad__json_open(json, '[');
    for (size_t k = 0; k < reason->change_count; k++) {
        json_buffer(json, plan, reason->changes[k].buffer);
        spad__json_key_string(json, "kind", change_name(reason->changes[k].kind));
        spad__json_key_int(json, "amount", reason->changes[k].amount);
        if (reason->changes[k].kind == SPAD_PLAN_SHORTEN)
            spad__json_key_bool(json, "late", reason->changes[k].late);
        spad__json_close(json, '}');
    }
    spad__json_close(json, ']');
    spad__json_close(json, '}');
}

static void json_places(spad__json *json, const spad_plan *plan, const spad_plan_result *r) {
    spad__json_key(json, "places");
    spad__json_open(json, '[');
    for (size_t i = 0; r->places != NULL && i < r->count; i++) {
        spad__json_open(json, '{');
        spad__json_key_string(json, "name", plan->buffers.items[i].name);
        spad__json_key_int(json, "offset", r->places[i].offset);
        if (plan->lanes > 1) spad__json_key_int(json, "lane", r->places[i].lane);
        spad__json_close(json, '}');
    }
    spad__json_close(json, ']');
}

spad_status spad_plan_write_json(const spad_plan *plan, const spad_plan_result *r,
                                 const spad_plan_reason *reason, const spad_sink *sink,
                                 spad_error *error) {
    spad__out out;
    spad__json json;
    spad__out_start(&out, sink);
    spad__json_start(&json, &out);
    spad__json_open(&json, '{');
    spad__json_key_int(&json, "buffers", (int64_t)r->count);
    spad__json_key_string(&json, "verdict", spad_plan_verdict_name(r->verdict));
    if (r->places != NULL) spad__json_key_int(&json, "height", r->height);
    if (r->clash == SPAD_PLAN_NO_CLASH) {
        spad__json_key_int(&json, "bound", r->bound);
        spad__json_key_string(&json, "proof", proof_name(r->proof));
        if (r->places != NULL) spad__json_key_int(&json, "gap", r->height - r->bound);
    }
    spad__json_key_int(&json, "peak_time", r->peak_time);
    spad__json_key_int(&json, "peak_load", r->peak_load);
    if (plan->capacity != SPAD_UNBOUNDED) spad__json_key_int(&json, "capacity", plan->capacity);
    spad__json_key_int(&json, "nodes", r->nodes);
    spad__json_key_int(&json, "restarts", r->restarts);
    spad__json_key_int(&json, "nanoseconds", r->nanoseconds);
    json_places(&json, plan, r);
    if (reason != NULL) json_reason(&json, plan, reason);
    spad__json_close(&json, '}');
    spad__json_end(&json);
    return spad__out_finish(&out, error);
}
