/* SPDX-License-Identifier: Apache-2.0
 *
 * Building a problem: every buffer is checked against its own rules when it
 * is added, so that the solver sees only sound ones. Whether buffers fit
 * together is the solver's business.
 */
#include "plan/problem/problem.h"

#include <stdio.h>
#include <string.h>

#include "base/checked.h"

const char *spad_plan_verdict_name(spad_plan_verdict verdict) {
    switch (verdict) {
    case SPAD_PLAN_OPTIMAL: return "optimal";
    case SPAD_PLAN_FEASIBLE: return "feasible";
    case SPAD_PLAN_INFEASIBLE: return "infeasible";
    case SPAD_PLAN_UNKNOWN: return "unknown";
    }
    return "unknown";
}

spad_status spad_plan_create(spad_plan **out, const spad_host *host, spad_error *error) {
    *out = NULL;
    const spad_host memory = spad__host_or_default(host);
    spad_plan *plan = spad__new(&memory, sizeof *plan);
    if (plan == NULL) return spad__fail_host_memory(error);
    plan->host = memory;
    plan->arena.host = memory;
    plan->capacity = SPAD_UNBOUNDED;
    plan->lanes = 1;
    *out = plan;
    return SPAD_OK;
}

void spad_plan_destroy(spad_plan *plan) {
    if (plan == NULL) return;
    const spad_host host = plan->host;
    spad__array_free(&host, &plan->buffers);
    spad__array_free(&host, &plan->aliases);
    spad__array_free(&host, &plan->aparts);
    spad__array_free(&host, &plan->slices);
    spad__array_free(&host, &plan->in_places);
    spad__array_free(&host, &plan->avoids);
    spad__index_free(&plan->names, &host);
    spad__arena_free(&plan->arena);
    spad__free(&host, plan, sizeof *plan);
}

static int64_t space_capacity(const spad_space *space) {
    return space->bytes == SPAD_UNBOUNDED ? SPAD_UNBOUNDED : space->bytes - space->reserved;
}

spad_status spad_plan_set_capacity(spad_plan *plan, int64_t capacity, spad_error *error) {
    if (capacity < 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "a capacity of %lld B is negative",
                          (long long)capacity);
    }
    if (plan->space != NULL && capacity > space_capacity(plan->space)) {
        return spad__fail(error, SPAD_ERR_BOUNDS,
                          "a capacity of %s B is more than the %s B of space '%s'",
                          spad__grouped(capacity).text,
                          spad__grouped(space_capacity(plan->space)).text, plan->space->name);
    }
    plan->capacity = capacity;
    return SPAD_OK;
}

spad_status spad_plan_set_space(spad_plan *plan, const spad_space *space, spad_error *error) {
    if (plan->buffers.count > 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "the space of a plan is set before its buffers are added");
    }
    plan->space = space;
    plan->lanes = space->lanes;
    plan->capacity = space_capacity(space);
    return SPAD_OK;
}

size_t spad_plan_count(const spad_plan *plan) {
    return plan->buffers.count;
}

const spad_plan_buffer *spad_plan_get(const spad_plan *plan, size_t number) {
    return number < plan->buffers.count ? &plan->buffers.items[number] : NULL;
}

int64_t spad_plan_get_capacity(const spad_plan *plan) {
    return plan->capacity;
}

int64_t spad_plan_get_lanes(const spad_plan *plan) {
    return plan->lanes;
}

const char *spad__plan_label(const spad_plan *plan, size_t number, char *field, size_t size) {
    const char *name = plan->buffers.items[number].name;
    if (name != NULL)
        snprintf(field, size, "'%.*s'", SPAD_NAME_FACT_MAX, name);
    else
        snprintf(field, size, "number %lld", (long long)number);
    return field;
}

/* ---- names -------------------------------------------------------------------------
 * An index over the buffers: base/names would copy every text. */

int32_t spad__plan_find(const spad_plan *plan, const char *name, size_t length) {
    spad__probe probe = spad__index_probe(&plan->names, spad__hash_text(name, length));
    for (size_t i; (i = spad__probe_next(&probe)) != SPAD__NO_ITEM;) {
        const char *other = plan->buffers.items[i].name;
        if (strlen(other) == length && memcmp(other, name, length) == 0) return (int32_t)i;
    }
    return -1;
}

void spad__plan_forget(spad_plan *plan, size_t count) {
    while (plan->buffers.count > count) {
        const char *name = plan->buffers.items[--plan->buffers.count].name;
        if (name == NULL) continue;
        spad__index_remove(&plan->names, spad__hash_text(name, strlen(name)), plan->buffers.count);
    }
}

/* ---- lanes ------------------------------------------------------------------------- */

static const spad_lane_rule *lane_rule(const spad_space *space, int64_t lanes) {
    for (size_t i = 0; i < space->lane_rule_count; i++) {
        const spad_lane_rule *rule = &space->lane_rules[i];
        if (rule->lanes_min <= lanes && lanes <= rule->lanes_max) return rule;
    }
    return NULL;
}

int64_t spad__plan_start_lane(const spad_plan *plan, int64_t lanes, int64_t from) {
    const int64_t last = plan->lanes - lanes;
    if (plan->space == NULL || plan->space->lane_rule_count == 0) return from <= last ? from : -1;
    const spad_lane_rule *rule = lane_rule(plan->space, lanes);
    int64_t best = -1;
    for (size_t i = 0; rule != NULL && i < rule->start_count; i++) {
        const int64_t start = rule->starts[i];
        if (start >= from && start <= last && (best < 0 || start < best)) best = start;
    }
    return best;
}

/* ---- rules of one buffer ----------------------------------------------------------- */

/* Each check leaves in *field what it examined last. */

static spad_status check_lifetime(const spad_plan_buffer *b, const char *label, int32_t *field,
                                  spad_error *error) {
    *field = SPAD__FIELD_UPPER;
    if (b->upper <= b->lower) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "buffer %s lives from %lld to %lld: upper must be above lower", label,
                          (long long)b->lower, (long long)b->upper);
    }
    int64_t free_from = b->lower;
    for (size_t i = 0; i < b->gap_count; i++) {
        const spad_plan_gap *gap = &b->gaps[i];
        *field = SPAD__FIELD_GAPS + (int32_t)i;
        if (gap->lower < free_from || gap->upper <= gap->lower || gap->upper > b->upper) {
            return spad__fail(error, SPAD_ERR_ARGUMENT,
                              "gap %lld-%lld of buffer %s is empty, outside the lifetime or not "
                              "after the gap before it",
                              (long long)gap->lower, (long long)gap->upper, label);
        }
        if (gap->window_lower < 0 || gap->window_upper < gap->window_lower ||
            gap->window_upper > b->size) {
            return spad__fail(
                error, SPAD_ERR_BOUNDS, "window %s:%s of a gap of buffer %s is outside its %s B",
                spad__grouped(gap->window_lower).text, spad__grouped(gap->window_upper).text, label,
                spad__grouped(b->size).text);
        }
        free_from = gap->upper;
    }
    return SPAD_OK;
}

/* Clocks of the buffer, and that they suit those of the others; then lower and upper are the sums
 * of their numbers. If a is before b, the sums agree: no number of a.upper_clock is above that of
 * b.lower_clock, so neither is their sum. */
static spad_status check_clocks(const spad_plan *plan, spad_plan_buffer *b, const char *label,
                                int32_t *field, spad_error *error) {
    const size_t usual = plan->buffers.count > 0 ? plan->buffers.items[0].clock_count : 0;
    *field = SPAD__FIELD_LOWER;
    if (plan->buffers.count > 0 && b->clock_count != usual) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "buffer %s has clocks of %zu numbers and the buffers before it of %zu; "
                          "all buffers of a plan have as many (0: plain times)",
                          label, b->clock_count, usual);
    }
    if (b->clock_count == 0) return SPAD_OK;
    if (b->clock_count > SPAD_PLAN_CLOCKS || plan->buffers.count >= SPAD_PLAN_CLOCK_BUFFERS) {
        return spad__fail(
            error, SPAD_ERR_ARGUMENT,
            "buffer %s: a vector clock has at most %d numbers, and a plan with vector "
            "clocks at most %d buffers",
            label, SPAD_PLAN_CLOCKS, SPAD_PLAN_CLOCK_BUFFERS);
    }
    *field = SPAD__FIELD_GAPS;
    if (b->gap_count > 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "buffer %s has gaps and vector clocks; gaps need plain times", label);
    }
    *field = SPAD__FIELD_UPPER;
    b->lower = b->upper = 0;
    for (size_t k = 0; k < b->clock_count; k++) {
        if (b->upper_clock[k] < b->lower_clock[k]) {
            return spad__fail(error, SPAD_ERR_ARGUMENT,
                              "number %zu of the clocks of buffer %s goes back from %lld to %lld",
                              k + 1, label, (long long)b->lower_clock[k],
                              (long long)b->upper_clock[k]);
        }
        if (!spad__add(b->lower, b->lower_clock[k], &b->lower) ||
            !spad__add(b->upper, b->upper_clock[k], &b->upper)) {
            return spad__fail(error, SPAD_ERR_OVERFLOW,
                              "the sum of the clocks of buffer %s does not fit 64 bits", label);
        }
    }
    return SPAD_OK;
}

static spad_status check_buffer_size(const spad_plan_buffer *b, const char *label, int32_t *field,
                                     spad_error *error) {
    *field = SPAD__FIELD_SIZE;
    if (b->size < 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "buffer %s has a negative size of %lld B",
                          label, (long long)b->size);
    }
    if (b->size >= SPAD_UNBOUNDED) {
        return spad__fail(error, SPAD_ERR_OVERFLOW,
                          "buffer %s has a size of %s B; the most is %s B", label,
                          spad__grouped(b->size).text, spad__grouped(SPAD_UNBOUNDED - 1).text);
    }
    *field = SPAD__FIELD_ALIGNMENT;
    if (b->alignment < 1) {
        return spad__fail(error, SPAD_ERR_ALIGNMENT, "buffer %s has alignment %lld; use 1 for none",
                          label, (long long)b->alignment);
    }
    return SPAD_OK;
}

static spad_status check_rules(const spad_plan *plan, const spad_plan_buffer *b, const char *label,
                               int32_t *field, spad_error *error) {
    *field = SPAD__FIELD_BANK;
    if (b->bank < 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "buffer %s has banks of %s B; use 0 for none",
                          label, spad__grouped(b->bank).text);
    }
    if (b->bank > 0 && b->size > b->bank) {
        return spad__fail(error, SPAD_ERR_NO_FIT, "buffer %s of %s B does not fit a bank of %s B",
                          label, spad__grouped(b->size).text, spad__grouped(b->bank).text);
    }
    if (b->bank > 0 && !spad__nested(b->bank, b->alignment)) {
        return spad__fail(error, SPAD_ERR_ALIGNMENT,
                          "buffer %s has alignment %s and banks of %s B; one must divide the "
                          "other",
                          label, spad__grouped(b->alignment).text, spad__grouped(b->bank).text);
    }
    *field = SPAD__FIELD_LANES;
    if (b->lanes < 1 || spad__plan_start_lane(plan, b->lanes, 0) < 0) {
        return spad__fail(error, SPAD_ERR_LANES,
                          "buffer %s takes %lld lanes; no start lane allows that on %lld lanes",
                          label, (long long)b->lanes, (long long)plan->lanes);
    }
    return SPAD_OK;
}

static spad_status check_pin(const spad_plan *plan, const spad_plan_buffer *b, const char *label,
                             int32_t *field, spad_error *error) {
    if (!b->pinned) return SPAD_OK;
    int64_t top;
    *field = SPAD__FIELD_OFFSET;
    if (b->offset < 0 || !spad__add(b->offset, b->size, &top) || top == SPAD_UNBOUNDED) {
        return spad__fail(error, SPAD_ERR_BOUNDS, "buffer %s is pinned at offset %lld", label,
                          (long long)b->offset);
    }
    if (top > plan->capacity) {
        spad__fail(error, SPAD_ERR_BOUNDS,
                   "buffer %s is pinned at %s and ends at %s, above the capacity of %s B", label,
                   spad__grouped(b->offset).text, spad__grouped(top).text,
                   spad__grouped(plan->capacity).text);
        spad__fact_amounts(error, top, plan->capacity, SPAD_NO_FACT);
        return SPAD_ERR_BOUNDS;
    }
    if (b->offset % b->alignment != 0) {
        return spad__fail(
            error, SPAD_ERR_ALIGNMENT,
            "buffer %s is pinned at %lld, which is not a multiple of its alignment %lld", label,
            (long long)b->offset, (long long)b->alignment);
    }
    if (b->bank > 0 && b->offset % b->bank > b->bank - b->size) {
        return spad__fail(error, SPAD_ERR_BOUNDS,
                          "buffer %s is pinned at %s and crosses a boundary of its %s B banks",
                          label, spad__grouped(b->offset).text, spad__grouped(b->bank).text);
    }
    *field = SPAD__FIELD_LANE;
    if (b->lane < 0 || spad__plan_start_lane(plan, b->lanes, b->lane) != b->lane) {
        return spad__fail(
            error, SPAD_ERR_LANES,
            "buffer %s of %lld lanes is pinned at lane %lld, which is not a start lane for "
            "it",
            label, (long long)b->lanes, (long long)b->lane);
    }
    return SPAD_OK;
}

/* Fills in the defaults of zeros. */
static spad_plan_buffer with_defaults(const spad_plan *plan, const spad_plan_buffer *buffer) {
    spad_plan_buffer b = *buffer;
    const spad_space *space = plan->space;
    if (b.alignment == 0) b.alignment = space != NULL ? space->alignment : 1;
    if (b.lanes == 0) b.lanes = 1;
    if (b.bank == 0 && space != NULL && space->banks_exclusive) b.bank = space->bank_bytes;
    if (b.size == 0 && b.bank > 0) b.bank = 0;
    return b;
}

/* In a space sizes are whole granules, and addresses multiples of its alignment
 * whatever the buffer asks for. */
static spad_status obey_space(const spad_plan *plan, spad_plan_buffer *b, int32_t *field,
                              spad_error *error) {
    if (plan->space == NULL) return SPAD_OK;
    *field = SPAD__FIELD_ALIGNMENT;
    if (!spad__lcm(b->alignment, plan->space->alignment, &b->alignment)) {
        return spad__fail(error, SPAD_ERR_OVERFLOW,
                          "the alignments %lld and %lld have no common multiple in 64 bits",
                          (long long)b->alignment, (long long)plan->space->alignment);
    }
    *field = SPAD__FIELD_SIZE;
    return spad_space_round(&b->size, plan->space, b->size, error);
}

spad_status spad_plan_add(size_t *out, spad_plan *plan, const spad_plan_buffer *buffer,
                          spad_error *error) {
    int32_t field;
    return spad__plan_add(out, plan, buffer, &field, error);
}

/* All the rules of one buffer, which is completed. */
static spad_status check_plan_buffer(const spad_plan *plan, spad_plan_buffer *b, const char *label,
                                     int32_t *field, spad_error *error) {
    spad_status status = check_buffer_size(b, label, field, error);
    if (status == SPAD_OK) status = obey_space(plan, b, field, error);
    if (status == SPAD_OK) status = check_buffer_size(b, label, field, error); /* rounded up */
    if (status == SPAD_OK) status = check_clocks(plan, b, label, field, error);
    if (status == SPAD_OK) status = check_lifetime(b, label, field, error);
    if (status == SPAD_OK) status = check_rules(plan, b, label, field, error);
    return status == SPAD_OK ? check_pin(plan, b, label, field, error) : status;
}

spad_status spad__plan_add(size_t *out, spad_plan *plan, const spad_plan_buffer *buffer,
                           int32_t *field, spad_error *error) {
    const size_t length = buffer->name != NULL ? strlen(buffer->name) : 0;
    char label[SPAD_NAME_FACT_MAX + 16];
    if (buffer->name != NULL)
        snprintf(label, sizeof label, "'%.*s'", SPAD_NAME_FACT_MAX, buffer->name);
    else
        snprintf(label, sizeof label, "number %lld", (long long)plan->buffers.count);
    *field = SPAD__FIELD_NAME;
    if (plan->buffers.count >= INT32_MAX / 4) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "a plan has at most %d buffers", INT32_MAX / 4);
    }
    if (out != NULL) *out = SIZE_MAX;
    spad_plan_buffer b = with_defaults(plan, buffer);
    spad_status status = check_plan_buffer(plan, &b, label, field, error);
    if (status == SPAD_OK) *field = SPAD__FIELD_NAME;
    if (status == SPAD_OK && b.name != NULL && spad__plan_find(plan, b.name, length) >= 0)
        status = spad__fail(error, SPAD_ERR_NAME, "there is already a buffer %s", label);
    if (status != SPAD_OK) {
        spad__fact_names(error, b.name, NULL);
        return status;
    }
    const spad__arena_mark mark = spad__arena_here(&plan->arena);
    if (!spad__array_reserve(&plan->host, &plan->buffers, 1) ||
        !spad__index_reserve(&plan->names, &plan->host, 1)) {
        goto fail;
    }
    if (b.name != NULL) {
        b.name = spad__arena_copy(&plan->arena, b.name, length);
        if (b.name == NULL) goto fail;
    }
    if (b.gap_count > 0) {
        spad_plan_gap *gaps = spad__arena_array(&plan->arena, b.gap_count, sizeof *gaps);
        if (gaps == NULL) goto fail;
        memcpy(gaps, b.gaps, b.gap_count * sizeof *gaps);
        b.gaps = gaps;
    }
    if (b.clock_count > 0) {
        int64_t *clocks = spad__arena_array(&plan->arena, 2 * b.clock_count, sizeof *clocks);
        if (clocks == NULL) goto fail;
        memcpy(clocks, b.lower_clock, b.clock_count * sizeof *clocks);
        memcpy(clocks + b.clock_count, b.upper_clock, b.clock_count * sizeof *clocks);
        b.lower_clock = clocks;
        b.upper_clock = clocks + b.clock_count;
    }
    if (b.name != NULL)
        spad__index_add(&plan->names, spad__hash_text(b.name, length), plan->buffers.count);
    if (out != NULL) *out = plan->buffers.count;
    plan->buffers.items[plan->buffers.count++] = b;
    return SPAD_OK;
fail:
    spad__arena_rewind(&plan->arena, mark);
    return spad__fail_host_memory(error);
}

/* ---- pairs ------------------------------------------------------------------------- */

static spad_status check_pair(const spad_plan *plan, size_t a, size_t b, spad_error *error) {
    if (a < plan->buffers.count && b < plan->buffers.count && a != b) return SPAD_OK;
    return spad__fail(
        error, SPAD_ERR_ARGUMENT,
        "buffers %lld and %lld are not a pair: there are %lld buffers, counted from 0",
        (long long)a, (long long)b, (long long)plan->buffers.count);
}

/* Banks and the common alignment of two aliases; what a whole group joins is checked with
 * the model. */
static spad_status check_alias(const spad_plan *plan, size_t a, size_t b, spad_error *error) {
    const spad_plan_buffer *x = &plan->buffers.items[a];
    const spad_plan_buffer *y = &plan->buffers.items[b];
    char first[SPAD_NAME_FACT_MAX + 16];
    char second[SPAD_NAME_FACT_MAX + 16];
    spad__plan_label(plan, a, first, sizeof first);
    spad__plan_label(plan, b, second, sizeof second);
    int64_t alignment;
    if (!spad__lcm(x->alignment, y->alignment, &alignment)) {
        return spad__fail(error, SPAD_ERR_OVERFLOW,
                          "the alignments %lld of %s and %lld of %s have no common multiple in 64 "
                          "bits",
                          (long long)x->alignment, first, (long long)y->alignment, second);
    }
    if (x->bank > 0 && y->bank > 0 && !spad__nested(x->bank, y->bank)) {
        return spad__fail(error, SPAD_ERR_ALIGNMENT,
                          "aliases %s and %s have banks of %s and %s B; one must divide the "
                          "other",
                          first, second, spad__grouped(x->bank).text, spad__grouped(y->bank).text);
    }
    const int64_t bank = x->bank > 0 && !spad__nested(x->bank, alignment) ? x->bank : y->bank;
    if (bank == 0 || spad__nested(bank, alignment)) return SPAD_OK;
    return spad__fail(error, SPAD_ERR_ALIGNMENT,
                      "aliases %s and %s have the common alignment %s and a bank of %s B; one "
                      "must divide the other",
                      first, second, spad__grouped(alignment).text, spad__grouped(bank).text);
}

spad_status spad_plan_alias(spad_plan *plan, size_t a, size_t b, spad_error *error) {
    spad_status status = check_pair(plan, a, b, error);
    if (status == SPAD_OK) status = check_alias(plan, a, b, error);
    if (status != SPAD_OK) return status;
    if (!spad__array_reserve(&plan->host, &plan->aliases, 1)) return spad__fail_host_memory(error);
    plan->aliases.items[plan->aliases.count++] = (spad__pair){(int32_t)a, (int32_t)b};
    return SPAD_OK;
}

spad_status spad_plan_apart(spad_plan *plan, size_t a, size_t b, spad_error *error) {
    const spad_status status = check_pair(plan, a, b, error);
    if (status != SPAD_OK) return status;
    if (!spad__array_reserve(&plan->host, &plan->aparts, 1)) return spad__fail_host_memory(error);
    plan->aparts.items[plan->aparts.count++] = (spad__pair){(int32_t)a, (int32_t)b};
    return SPAD_OK;
}

static spad_status check_slice(const spad_plan *plan, size_t slice, size_t whole, int64_t at,
                               spad_error *error) {
    const spad_plan_buffer *part = &plan->buffers.items[slice];
    const spad_plan_buffer *all = &plan->buffers.items[whole];
    char first[SPAD_NAME_FACT_MAX + 16];
    char second[SPAD_NAME_FACT_MAX + 16];
    spad__plan_label(plan, slice, first, sizeof first);
    spad__plan_label(plan, whole, second, sizeof second);
    int64_t top;
    if (at < 0 || !spad__add(at, part->size, &top) || top > all->size) {
        return spad__fail(error, SPAD_ERR_BOUNDS,
                          "slice %s of %s B at byte %s is not inside %s of %s B", first,
                          spad__grouped(part->size).text, spad__grouped(at).text, second,
                          spad__grouped(all->size).text);
    }
    if (at % part->alignment != 0) {
        return spad__fail(error, SPAD_ERR_ALIGNMENT,
                          "slice %s at byte %s of %s is not at a multiple of its alignment %s",
                          first, spad__grouped(at).text, second,
                          spad__grouped(part->alignment).text);
    }
    if (part->bank != 0 && part->bank != all->bank) {
        return spad__fail(error, SPAD_ERR_ALIGNMENT, "slice %s has banks of %s B, which %s has not",
                          first, spad__grouped(part->bank).text, second);
    }
    return SPAD_OK;
}

spad_status spad_plan_slice(spad_plan *plan, size_t slice, size_t whole, int64_t at,
                            spad_error *error) {
    spad_status status = check_pair(plan, slice, whole, error);
    if (status == SPAD_OK) status = check_slice(plan, slice, whole, at, error);
    if (status == SPAD_OK) status = check_alias(plan, slice, whole, error);
    if (status != SPAD_OK) return status;
    if (!spad__array_reserve(&plan->host, &plan->slices, 1)) return spad__fail_host_memory(error);
    plan->slices.items[plan->slices.count++] = (spad__slice){(int32_t)slice, (int32_t)whole, at};
    return SPAD_OK;
}

spad_status spad_plan_in_place(spad_plan *plan, size_t output, size_t input, spad_error *error) {
    const spad_status status = check_pair(plan, output, input, error);
    if (status != SPAD_OK) return status;
    if (plan->buffers.items[output].clock_count > 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "lives with vector clocks have no last moment, so nothing is in place");
    }
    if (!spad__array_reserve(&plan->host, &plan->in_places, 1))
        return spad__fail_host_memory(error);
    plan->in_places.items[plan->in_places.count++] = (spad__pair){(int32_t)output, (int32_t)input};
    return SPAD_OK;
}

spad_status spad_plan_avoid(spad_plan *plan, size_t a, size_t b, int64_t cost, spad_error *error) {
    if (a >= plan->buffers.count || b >= plan->buffers.count || a == b || cost < 0)
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "buffers %zu and %zu of %zu at a cost of %lld: two buffers and a cost "
                          "that is not negative are needed",
                          a, b, plan->buffers.count, (long long)cost);
    if (!spad__array_reserve(&plan->host, &plan->avoids, 1)) return spad__fail_host_memory(error);
    plan->avoids.items[plan->avoids.count++] = (spad__avoid){(int32_t)a, (int32_t)b, cost};
    return SPAD_OK;
}

size_t spad_plan_avoid_count(const spad_plan *plan) {
    return plan->avoids.count;
}
