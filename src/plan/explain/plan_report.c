/* SPDX-License-Identifier: Apache-2.0
 *
 * A result in words and as JSON. Numbers are whole, so that they read the same
 * everywhere: times in microseconds, gaps in bytes and in thousandths of a per cent.
 */
#include "base/checked.h"
#include "base/text.h"
#include "plan/problem/problem.h"

enum { PLAN_LIVE_SHOWN = 10, PINS_SHOWN = 3 };

static void out_label(spad__out *out, const spad_plan *plan, size_t number) {
    const char *name = plan->buffers.items[number].name;
    if (name == NULL) {
        spad__out_format(out, "number %lld", (long long)number);
        return;
    }
    spad__out_string(out, "'");
    spad__out_one_line(out, name);
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

void spad__plan_write_change(spad__out *out, const spad_plan *plan,
                             const spad_plan_change *change) {
    const spad_plan_buffer *b = &plan->buffers.items[change->buffer];
    spad__out_string(out, "fits if ");
    switch (change->kind) {
    case SPAD_PLAN_ALIGN:
        spad__out_format(out, "alignment %s of ", spad__grouped(b->alignment).text);
        out_label(out, plan, change->buffer);
        spad__out_format(out, " becomes %s", spad__grouped(change->amount).text);
        return;
    case SPAD_PLAN_SHORTEN:
        out_label(out, plan, change->buffer);
        spad__out_format(out, " (live %s to %s) %s %s", spad__grouped(b->lower).text,
                         spad__grouped(b->upper).text, change->late ? "begins at" : "ends at",
                         spad__grouped(change->amount).text);
        return;
    case SPAD_PLAN_SPILL:
        out_label(out, plan, change->buffer);
        spad__out_format(out, " (%s) is moved to another memory",
                         spad__exact_size(change->amount).text);
        return;
    }
}

void spad__plan_write_spill(spad__out *out, const spad_plan *plan, const spad_plan_spill *set) {
    const size_t shown = set->count <= PLAN_LIVE_SHOWN ? set->count : PLAN_LIVE_SHOWN;
    spad__out_string(out, "fits if ");
    for (size_t k = 0; k < shown; k++) {
        const bool last = k + 1 == set->count;
        if (k > 0) spad__out_string(out, last ? " and " : ", ");
        out_label(out, plan, set->buffers[k]);
        spad__out_format(out, " (%s)",
                         spad__exact_size(plan->buffers.items[set->buffers[k]].size).text);
    }
    if (shown < set->count)
        spad__out_format(out, " and %s smaller ones",
                         spad__grouped((int64_t)(set->count - shown)).text);
    spad__out_format(out, " are moved to another memory: %s", spad__both_sizes(set->bytes).text);
    int64_t moved;
    if (spad__mul(set->bytes, 2, &moved))
        spad__out_format(out, ", %s moved if each goes out and back once",
                         spad__exact_size(moved).text);
}

static const char *clash_sentence(spad_plan_clash clash) {
    switch (clash) {
    case SPAD_PLAN_NO_CLASH: break;
    case SPAD_PLAN_CLASH_PINS: return "are pinned and share bytes while both are live";
    case SPAD_PLAN_CLASH_APART_PINS:
        return "are pinned so that they share bytes, but must be kept apart";
    case SPAD_PLAN_CLASH_ALIAS_PINS: return "are aliases, but pinned at different offsets";
    case SPAD_PLAN_CLASH_ALIAS_RULE:
        return "are aliases, and the pin of the first breaks the alignment, bank or lanes of the "
               "second";
    case SPAD_PLAN_CLASH_ALIAS_APART:
        return "share bytes as aliases or slices, but must be kept apart";
    case SPAD_PLAN_CLASH_ALIAS_LANES: return "are aliases, but have no start lane in common";
    case SPAD_PLAN_CLASH_SLICES:
        return "are at two different distances by their slices and aliases";
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
        spad__out_format(out, " (%s B, from %s to %s", spad__grouped(b->size).text,
                         spad__grouped(b->lower).text, spad__grouped(b->upper).text);
        if (b->pinned) spad__out_format(out, ", offset %s", spad__grouped(b->offset).text);
        if (b->pinned && plan->lanes > 1)
            spad__out_format(out, ", lane %s", spad__grouped(b->lane).text);
        spad__out_string(out, ")");
    }
    spad__out_format(out, " %s", clash_sentence(reason->clash));
}

/* The pins, then the other kinds of rules that a problem has. */
static void text_obstacles(spad__out *out, const spad_plan *plan) {
    bool aligned = false;
    bool banked = false;
    bool gaps = false;
    int32_t pins = 0;
    const char *before = "; in the way: ";
    for (size_t i = 0; i < plan->buffers.count; i++) {
        const spad_plan_buffer *b = &plan->buffers.items[i];
        aligned = aligned || b->alignment > 1;
        banked = banked || b->bank > 0;
        gaps = gaps || b->gap_count > 0;
        if (!b->pinned || ++pins > PINS_SHOWN) continue;
        spad__out_string(out, before);
        before = ", ";
        out_label(out, plan, i);
        spad__out_format(out, " pinned at %s", spad__grouped(b->offset).text);
    }
    if (pins > PINS_SHOWN) spad__out_format(out, ", %d more pins", (int)(pins - PINS_SHOWN));
    const struct {
        bool present;
        const char *name;
    } kinds[] = {{plan->aparts.count > 0, "buffers kept apart"},
                 {plan->aliases.count > 0, "aliases"},
                 {plan->slices.count > 0, "slices"},
                 {aligned, "alignments"},
                 {banked, "banks"},
                 {gaps, "gaps and windows"},
                 {plan->lanes > 1, "lanes"}};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (!kinds[k].present) continue;
        spad__out_string(out, before);
        before = ", ";
        spad__out_string(out, kinds[k].name);
    }
    if (*before == ';') spad__out_string(out, "; the lifetimes interlock");
}

static void text_load(spad__out *out, const spad_plan_result *r) {
    if (r->together_count > 0) {
        spad__out_format(out, "%zu buffers of which no two may share bytes take %s",
                         r->together_count, spad__exact_size(r->together_bytes).text);
        return;
    }
    spad__out_format(out, "at time %s %s are live", spad__grouped(r->peak_time).text,
                     spad__both_sizes(r->peak_load).text);
    if (r->peak_lanes > 1)
        spad__out_format(out, " on average over %s lanes", spad__grouped(r->peak_lanes).text);
}

/* The bound alone shows that it does not fit, without a search. */
static bool is_bounded_away(const spad_plan *plan, const spad_plan_result *r) {
    return r->bound > plan->capacity && r->proof != SPAD_PLAN_BY_SEARCH;
}

/* What is too large for the capacity: the load, a buffer, the banks; or nothing is, and yet
 * there is no plan. */
static void text_shortage(spad__out *out, const spad_plan *plan, const spad_plan_result *r,
                          const spad_plan_reason *reason) {
    spad__out_string(out, "why: ");
    if (!is_bounded_away(plan, r)) {
        text_load(out, r);
        spad__out_string(out, ", which would fit");
        if (plan->capacity != SPAD_UNBOUNDED)
            spad__out_format(out, " in %s", spad__exact_size(plan->capacity).text);
        spad__out_string(out, reason->proved ? ", but no plan does" : ", but no plan was found");
        text_obstacles(out, plan);
        return;
    }
    switch (r->proof) {
    case SPAD_PLAN_BY_BUFFER:
        out_label(out, plan, r->bound_buffer);
        spad__out_format(out, " alone reaches %s", spad__both_sizes(r->bound).text);
        break;
    case SPAD_PLAN_BY_BANKS:
        spad__out_format(out, "the banks needed at time %s reach %s",
                         spad__grouped(r->bound_time).text, spad__both_sizes(r->bound).text);
        break;
    case SPAD_PLAN_BY_LANES:
        spad__out_format(out, "the lanes needed at time %s reach %s",
                         spad__grouped(r->bound_time).text, spad__both_sizes(r->bound).text);
        break;
    case SPAD_PLAN_BY_PAIRS:
    case SPAD_PLAN_BY_LOAD:
    case SPAD_PLAN_BY_SEARCH:
        if (r->together_count == 0 && r->bound > r->peak_load && r->bound_time != r->peak_time) {
            spad__out_format(out, "at time %s sizes rounded to the alignment take %s",
                             spad__grouped(r->bound_time).text, spad__both_sizes(r->bound).text);
            break;
        }
        text_load(out, r);
        if (r->bound > spad__max(r->peak_load, r->together_bytes))
            spad__out_format(out, ", %s rounded to the alignment", spad__exact_size(r->bound).text);
        break;
    }
    spad__out_format(out, ", capacity %s, over by %s", spad__both_sizes(plan->capacity).text,
                     spad__both_sizes(reason->over).text);
}

void spad__plan_write_why(spad__out *out, const spad_plan *plan, const spad_plan_result *r,
                          const spad_plan_reason *reason, const char *separator) {
    if (reason->clash != SPAD_PLAN_NO_CLASH) {
        text_clash(out, plan, reason);
        return;
    }
    text_shortage(out, plan, r, reason);
    for (size_t k = 0; k < reason->live_count && k < PLAN_LIVE_SHOWN; k++) {
        const spad_plan_buffer *b = &plan->buffers.items[reason->live[k]];
        spad__out_string(out, separator);
        spad__out_string(out, "live: ");
        out_label(out, plan, reason->live[k]);
        spad__out_format(out, ", %s, from %s to %s", spad__exact_size(b->size).text,
                         spad__grouped(b->lower).text, spad__grouped(b->upper).text);
    }
    if (reason->live_count > PLAN_LIVE_SHOWN) {
        spad__out_string(out, separator);
        spad__out_format(out, "and %s smaller ones",
                         spad__grouped((int64_t)(reason->live_count - PLAN_LIVE_SHOWN)).text);
    }
}

bool spad__plan_has_remedy(const spad_plan_reason *reason) {
    return reason->clash == SPAD_PLAN_NO_CLASH &&
           (reason->works_at != SPAD_UNBOUNDED || reason->change_count > 0 ||
            reason->spill_count > 0);
}

void spad__plan_write_remedy(spad__out *out, const spad_plan *plan, const spad_plan_result *r,
                             const spad_plan_reason *reason, const char *separator) {
    bool any = false;
    if (reason->works_at != SPAD_UNBOUNDED) {
        spad__out_format(out, "smallest capacity known to work: %s",
                         spad__both_sizes(reason->works_at).text);
        if (!is_bounded_away(plan, r))
            spad__out_format(out, ", %s more", spad__exact_size(reason->over).text);
        any = true;
    }
    for (size_t k = 0; k < reason->change_count; k++) {
        if (any) spad__out_string(out, separator);
        spad__plan_write_change(out, plan, &reason->changes[k]);
        any = true;
    }
    for (size_t k = 0; k < reason->spill_count; k++) {
        if (any) spad__out_string(out, separator);
        spad__plan_write_spill(out, plan, &reason->spills[k]);
        any = true;
    }
}

static void text_reason(spad__out *out, const spad_plan *plan, const spad_plan_result *r,
                        const spad_plan_reason *reason) {
    spad__plan_write_why(out, plan, r, reason, "\n  ");
    spad__out_string(out, "\n");
    if (!spad__plan_has_remedy(reason)) return;
    if (reason->works_at == SPAD_UNBOUNDED) spad__out_string(out, "  ");
    spad__plan_write_remedy(out, plan, r, reason, "\n  ");
    spad__out_string(out, "\n");
}

/* The live peak: the height may be far above it, as with a buffer that is pinned at the top. */
static void text_peak(spad__out *out, const spad_plan_result *r) {
    spad__out_format(out, "live peak %s at time %s", spad__both_sizes(r->peak_load).text,
                     spad__grouped(r->peak_time).text);
    if (r->peak_lanes > 1)
        spad__out_format(out, ", on average over %s lanes", spad__grouped(r->peak_lanes).text);
    spad__out_string(out, "\n");
}

static void text_bound(spad__out *out, const spad_plan *plan, const spad_plan_result *r) {
    spad__out_format(out, "bound     %s (", spad__exact_size(r->bound).text);
    switch (r->proof) {
    case SPAD_PLAN_BY_LOAD:
        spad__out_format(out, "largest load at time %s", spad__grouped(r->bound_time).text);
        if (r->bound > r->peak_load) spad__out_string(out, ", rounded to the alignment");
        break;
    case SPAD_PLAN_BY_BANKS:
        spad__out_format(out, "banks needed at time %s", spad__grouped(r->bound_time).text);
        break;
    case SPAD_PLAN_BY_LANES:
        spad__out_format(out, "lanes needed at time %s", spad__grouped(r->bound_time).text);
        break;
    case SPAD_PLAN_BY_PAIRS:
        spad__out_format(out, "%zu buffers of which no two may share bytes", r->together_count);
        if (r->bound > r->together_bytes) spad__out_string(out, ", rounded to the alignment");
        break;
    case SPAD_PLAN_BY_BUFFER:
        spad__out_string(out, "top of ");
        out_label(out, plan, r->bound_buffer);
        break;
    case SPAD_PLAN_BY_SEARCH: spad__out_string(out, "proved by search"); break;
    }
    spad__out_string(out, ")\n");
}

/* "42 us", "50.8 ms", "20.0 s" */
static void text_duration(spad__out *out, int64_t nanoseconds) {
    const int64_t us = nanoseconds / 1000;
    if (us < 10000)
        spad__out_format(out, "%lld us", (long long)us);
    else if (us < 1000000)
        spad__out_format(out, "%lld.%lld ms", (long long)(us / 1000), (long long)(us / 100 % 10));
    else
        spad__out_format(out, "%lld.%lld s", (long long)(us / 1000000),
                         (long long)(us / 100000 % 10));
}

/* What is written of a problem. */
typedef struct plan_words {
    const spad_plan *plan;
    const spad_plan_result *result;
    const spad_plan_reason *reason;
} plan_words;

static void write_plan_text(spad__out *out, const void *object) {
    const plan_words *w = object;
    const spad_plan *plan = w->plan;
    const spad_plan_result *r = w->result;
    const spad_plan_reason *reason = w->reason;
    spad__out_format(out, "buffers   %s\n", spad__grouped((int64_t)r->count).text);
    if (r->places != NULL)
        spad__out_format(out, "height    %s\n", spad__both_sizes(r->height).text);
    else
        spad__out_string(out, "height    no plan\n");
    text_peak(out, r);
    if (r->clash == SPAD_PLAN_NO_CLASH) text_bound(out, plan, r);
    if (r->places != NULL) {
        const int64_t share = gap_share(r);
        spad__out_format(out, "gap       %s (%lld.%03lld %%)\n",
                         spad__exact_size(r->height - r->bound).text, (long long)(share / 1000),
                         (long long)(share % 1000));
    }
    spad__out_format(out, "verdict   %s%s\n", spad_plan_verdict_name(r->verdict),
                     r->verdict == SPAD_PLAN_INFEASIBLE ? " (proved)"
                     : r->verdict == SPAD_PLAN_UNKNOWN  ? " (not found in time, no proof)"
                                                        : "");
    spad__out_string(out, "time      ");
    text_duration(out, r->nanoseconds);
    spad__out_format(out, ", %s nodes, %s restarts\n", spad__grouped(r->nodes).text,
                     spad__grouped(r->restarts).text);
    if (reason != NULL) text_reason(out, plan, r, reason);
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
    case SPAD_PLAN_BY_PAIRS: return "pairs";
    case SPAD_PLAN_BY_LANES: return "lanes";
    case SPAD_PLAN_BY_SEARCH: return "search";
    }
    return "";
}

/* A buffer as an object: its number, its name if it has one, its bytes. Left open. */
static void json_plan_buffer(spad__json *json, const spad_plan *plan, size_t number) {
    spad__json_open(json, '{');
    spad__json_key_int(json, "buffer", (int64_t)number);
    if (plan->buffers.items[number].name != NULL)
        spad__json_key_string(json, "name", plan->buffers.items[number].name);
    spad__json_key_int(json, "size", plan->buffers.items[number].size);
}

static void json_clash(spad__json *json, const spad_plan *plan, const spad_plan_reason *reason) {
    spad__json_key_string(json, "clash", clash_sentence(reason->clash));
    spad__json_key_open(json, "buffers", '[');
    json_plan_buffer(json, plan, reason->clash_first);
    spad__json_close(json, '}');
    json_plan_buffer(json, plan, reason->clash_second);
    spad__json_close(json, '}');
    spad__json_close(json, ']');
}

static void json_spill(spad__json *json, const spad_plan *plan, const spad_plan_spill *set) {
    spad__json_open(json, '{');
    spad__json_key_int(json, "bytes", set->bytes);
    spad__json_key_open(json, "buffers", '[');
    for (size_t k = 0; k < set->count; k++) {
        json_plan_buffer(json, plan, set->buffers[k]);
        spad__json_close(json, '}');
    }
    spad__json_close(json, ']');
    spad__json_close(json, '}');
}

static void json_reason(spad__json *json, const spad_plan *plan, const spad_plan_reason *reason) {
    spad__json_key_open(json, "why", '{');
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
    spad__json_key_open(json, "live", '[');
    for (size_t k = 0; k < reason->live_count; k++) {
        json_plan_buffer(json, plan, reason->live[k]);
        spad__json_close(json, '}');
    }
    spad__json_close(json, ']');
    spad__json_key_open(json, "changes", '[');
    for (size_t k = 0; k < reason->change_count; k++) {
        json_plan_buffer(json, plan, reason->changes[k].buffer);
        spad__json_key_string(json, "kind", change_name(reason->changes[k].kind));
        spad__json_key_int(json, "amount", reason->changes[k].amount);
        if (reason->changes[k].kind == SPAD_PLAN_SHORTEN)
            spad__json_key_bool(json, "late", reason->changes[k].late);
        spad__json_close(json, '}');
    }
    spad__json_close(json, ']');
    spad__json_key_open(json, "spills", '[');
    for (size_t k = 0; k < reason->spill_count; k++) json_spill(json, plan, &reason->spills[k]);
    spad__json_close(json, ']');
    spad__json_close(json, '}');
}

static void json_places(spad__json *json, const spad_plan *plan, const spad_plan_result *r) {
    spad__json_key_open(json, "places", '[');
    for (size_t i = 0; r->places != NULL && i < r->count; i++) {
        spad__json_open(json, '{');
        spad__json_key_string(json, "name", plan->buffers.items[i].name);
        spad__json_key_int(json, "offset", r->places[i].offset);
        if (plan->lanes > 1) spad__json_key_int(json, "lane", r->places[i].lane);
        spad__json_close(json, '}');
    }
    spad__json_close(json, ']');
}

void spad__plan_json(spad__json *json, const spad_plan *plan, const spad_plan_result *r,
                     const spad_plan_reason *reason) {
    spad__json_key_int(json, "buffers", (int64_t)r->count);
    spad__json_key_string(json, "verdict", spad_plan_verdict_name(r->verdict));
    if (r->places != NULL) spad__json_key_int(json, "height", r->height);
    if (r->clash == SPAD_PLAN_NO_CLASH) {
        spad__json_key_int(json, "bound", r->bound);
        spad__json_key_string(json, "proof", proof_name(r->proof));
        if (r->places != NULL) spad__json_key_int(json, "gap", r->height - r->bound);
    }
    spad__json_key_int(json, "peak_time", r->peak_time);
    spad__json_key_int(json, "peak_load", r->peak_load);
    if (r->together_count > 0) {
        spad__json_key_int(json, "together_bytes", r->together_bytes);
        spad__json_key_open(json, "together", '[');
        for (size_t k = 0; k < r->together_count; k++)
            spad__json_int(json, (int64_t)r->together[k]);
        spad__json_close(json, ']');
    }
    if (plan->capacity != SPAD_UNBOUNDED) spad__json_key_int(json, "capacity", plan->capacity);
    spad__json_key_int(json, "nodes", r->nodes);
    spad__json_key_int(json, "restarts", r->restarts);
    spad__json_key_int(json, "nanoseconds", r->nanoseconds);
    json_places(json, plan, r);
    if (reason != NULL) json_reason(json, plan, reason);
}

static void write_plan_json(spad__json *json, const void *object) {
    const plan_words *w = object;
    spad__json_open(json, '{');
    spad__plan_json(json, w->plan, w->result, w->reason);
    spad__json_close(json, '}');
}

spad_status spad_plan_write(const spad_plan *plan, const spad_plan_result *r,
                            const spad_plan_reason *reason, spad_format format,
                            const spad_sink *sink, spad_error *error) {
    const spad_status match = spad__plan_match_reason(plan, r, reason, error);
    if (match != SPAD_OK) return match;
    const bool found = reason != NULL && reason->found != NULL;
    const plan_words words = {plan, found ? reason->found : r, found ? NULL : reason};
    return spad__write_as(&words, write_plan_text, write_plan_json, format, sink, error);
}
