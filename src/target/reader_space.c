/* SPDX-License-Identifier: Apache-2.0
 *
 * Spaces of a target file.
 */
#include <string.h>

#include "base/checked.h"
#include "target/target_reader.h"

static bool read_bytes(spad__target_reader *r) {
    if (spad__parser_accept_word(&r->parser, "unbounded")) {
        r->space.bytes = SPAD_UNBOUNDED;
        return true;
    }
    spad__span span;
    if (!spad__parser_quantity(&r->parser, &spad__measure_size, &r->space.bytes, &span)) {
        return false;
    }
    if (r->space.bytes < 1) SPAD__TARGET_ERROR(r, span, "'bytes' must be at least 1");
    return r->space.bytes >= 1;
}

static bool read_bank(spad__target_reader *r) {
    spad__span span;
    if (!spad__parser_quantity(&r->parser, &spad__measure_size, &r->space.bank_bytes, &span)) {
        return false;
    }
    if (r->space.bank_bytes < 1) {
        SPAD__TARGET_ERROR(r, span, "'bank' must be at least 1");
        return false;
    }
    r->space.banks_exclusive = spad__parser_accept_word(&r->parser, "exclusive");
    return true;
}

/* "2" or "2 private" */
static bool read_instances(spad__target_reader *r) {
    spad__span span;
    if (!spad__parser_quantity(&r->parser, &spad__measure_count, &r->space.instances, &span)) {
        return false;
    }
    if (r->space.instances < 1 || r->space.instances > SPAD_SPACES_MAX) {
        SPAD__TARGET_ERROR(r, span, "'instances' must be 1 to %d", SPAD_SPACES_MAX);
        return false;
    }
    if (r->space.instances == 1) r->space.instances = 0;
    r->space.one_instance = spad__parser_accept_word(&r->parser, "private");
    return true;
}

static bool read_power_of_two(spad__target_reader *r) {
    r->space.power_of_two = true;
    return spad__parser_expect_word(&r->parser, "power") &&
           spad__parser_expect_word(&r->parser, "of") &&
           spad__parser_expect_word(&r->parser, "two");
}

static bool read_off_chip(spad__target_reader *r) {
    r->space.off_chip = true;
    return spad__parser_expect_word(&r->parser, "chip");
}

/* "0, 32, 64": upwards, so that none is given twice. */
static bool read_starts(spad__target_reader *r) {
    r->starts.count = 0;
    do {
        int64_t start;
        spad__span span;
        if (!spad__parser_quantity(&r->parser, &spad__measure_count, &start, &span)) return false;
        if (!SPAD__TARGET_RESERVE(r, &r->starts, SPAD__TARGET_LIST_MAX, "start lanes"))
            return false;
        if (r->starts.count > 0 && start <= r->starts.items[r->starts.count - 1]) {
            SPAD__TARGET_ERROR(r, span, "start lanes must ascend");
            return false;
        }
        r->starts.items[r->starts.count++] = start;
    } while (spad__target_next_in_list(r));
    return true;
}

/* "1 to 32 at 0, 32, 64": the values are checked when the lanes are known. */
static bool read_start_row(spad__target_reader *r) {
    spad_lane_rule rule = {0};
    spad__span first;
    spad__span last;
    if (!spad__parser_quantity(&r->parser, &spad__measure_count, &rule.lanes_min, &first)) {
        return false;
    }
    last = first;
    rule.lanes_max = rule.lanes_min;
    if (spad__parser_accept_word(&r->parser, "to") &&
        !spad__parser_quantity(&r->parser, &spad__measure_count, &rule.lanes_max, &last)) {
        return false;
    }
    if (!spad__parser_expect_word(&r->parser, "at") || !read_starts(r)) return false;
    if (!SPAD__TARGET_RESERVE(r, &r->rules, SPAD__TARGET_LIST_MAX, "start rows") ||
        !SPAD__TARGET_RESERVE(r, &r->rule_spans, SPAD__TARGET_LIST_MAX, "start rows")) {
        return false;
    }
    const size_t bytes = r->starts.count * sizeof *r->starts.items;
    int64_t *starts = spad__arena_array(r->parser.arena, r->starts.count, sizeof *starts);
    r->parser.out_of_memory |= starts == NULL;
    if (starts == NULL) return false;
    memcpy(starts, r->starts.items, bytes);
    rule.start_count = r->starts.count;
    rule.starts = starts;
    r->rules.items[r->rules.count++] = rule;
    r->rule_spans.items[r->rule_spans.count++] = spad__span_join(first, last);
    return true;
}

#define SPACE_NUMBER(word, unit, member, at_least)                                                \
    {                                                                                             \
        .name = (word), .measure = &spad__measure_##unit, .offset = offsetof(spad_space, member), \
        .least = (at_least)                                                                       \
    }

enum { FIELD_BYTES, FIELD_LANES, RESERVED, FIELD_BANK, LIMIT }; /* the fields that checks look at */
static const spad__target_field space_fields[] = {
    [FIELD_BYTES] = {.name = "bytes", .read = read_bytes},
    [FIELD_LANES] = SPACE_NUMBER("lanes", count, lanes, 1),
    [RESERVED] = SPACE_NUMBER("reserved", size, reserved, 0),
    [FIELD_BANK] = {.name = "bank", .read = read_bank},
    [LIMIT] = SPACE_NUMBER("limit", size, plain_limit, 1),
    SPACE_NUMBER("thread", size, thread_bytes, 1),
    SPACE_NUMBER("align", size, alignment, 1),
    SPACE_NUMBER("granule", size, granule, 1),
    {.name = "size", .read = read_power_of_two},
    {.name = "off", .read = read_off_chip},
    {.name = "instances", .read = read_instances},
    {.name = "start", .read = read_start_row, .repeats = true},
    SPACE_NUMBER("rate", rate, bytes_per_us, 1),
    SPACE_NUMBER("written", rate, write_bytes_per_us, 1),
    {.name = "cache", .read = spad__target_read_cache},
    SPACE_NUMBER("hit", time, cache_latency_ns, 1),
    {.name = "queue", .read = spad__target_read_queue},
};
enum { SPACE_FIELDS = sizeof space_fields / sizeof space_fields[0] };

/* Sizes against each other. */
static void check_sizes(spad__target_reader *r, spad__span name) {
    const spad_space *s = &r->space;
    int64_t total;
    if (s->bytes == SPAD_UNBOUNDED) {
        if (s->reserved > 0)
            SPAD__TARGET_ERROR(r, r->seen[RESERVED], "an unbounded space has no top to reserve");
        return;
    }
    if (s->bytes == 0) {
        SPAD__TARGET_ERROR(r, name, "space '%s' needs 'bytes'", s->name);
        return;
    }
    if (!spad__mul(s->lanes, s->bytes, &total)) {
        SPAD__TARGET_ERROR(r, r->seen[FIELD_BYTES], "%lld lanes of that size do not fit 64 bits",
                           (long long)s->lanes);
    }
    if (s->reserved > s->bytes) {
        SPAD__TARGET_ERROR(r, r->seen[RESERVED], "%lld bytes reserved of only %lld",
                           (long long)s->reserved, (long long)s->bytes);
    } else if (s->plain_limit > spad_space_get_usable(s)) {
        SPAD__TARGET_ERROR(r, r->seen[LIMIT],
                           "the limit of %lld bytes is above the %lld that are usable",
                           (long long)s->plain_limit, (long long)spad_space_get_usable(s));
    }
    if (s->bank_bytes > 0 && s->bytes % s->bank_bytes != 0) {
        SPAD__TARGET_ERROR(r, r->seen[FIELD_BANK],
                           "banks of %lld bytes do not divide a lane of %lld",
                           (long long)s->bank_bytes, (long long)s->bytes);
    }
}

/* One row of the start table against the lanes and the rows before it. */
static void check_start_row(spad__target_reader *r, size_t index) {
    const spad_lane_rule *rule = &r->rules.items[index];
    const spad__span span = r->rule_spans.items[index];
    const int64_t highest = rule->starts[rule->start_count - 1];
    if (rule->lanes_min < 1 || rule->lanes_min > rule->lanes_max) {
        SPAD__TARGET_ERROR(r, span, "not a range of lane counts: from 1, and upwards");
    } else if (rule->lanes_max > r->space.lanes) {
        SPAD__TARGET_ERROR(r, span, "more lanes than the %lld of the space",
                           (long long)r->space.lanes);
    } else if (highest > r->space.lanes - rule->lanes_min) {
        SPAD__TARGET_ERROR(r, span, "%lld lanes do not fit at start lane %lld of %lld",
                           (long long)rule->lanes_min, (long long)highest,
                           (long long)r->space.lanes);
    }
    for (size_t i = 0; i < index; i++) {
        const spad_lane_rule *before = &r->rules.items[i];
        if (rule->lanes_min > before->lanes_max || rule->lanes_max < before->lanes_min) continue;
        SPAD__TARGET_ERROR(r, span, "overlaps the row of %lld to %lld lanes",
                           (long long)before->lanes_min, (long long)before->lanes_max);
        return;
    }
}
/* Rows that spaces take, each instance counted. */
static size_t count_rows(const spad__target_reader *r) {
    size_t rows = 0;
    for (size_t i = 0; i < r->spaces.count; i++) {
        const int64_t instances = r->spaces.items[i].instances;
        rows += instances > 1 ? (size_t)instances : 1;
    }
    return rows;
}

/* The row that the block is for: a new one, or one that it amends. False: there is one already. */
static bool open_space(spad__target_reader *r, spad__span name, size_t *at) {
    *at = spad__target_find_row(r->spaces.items, sizeof r->space, r->spaces.count, r->space.name);
    r->figures.count = 0;
    r->old_figures = false;
    if (*at == r->spaces.count) return true;
    const bool amends =
        r->like != NULL && *at < r->old_spaces && (r->amended_spaces >> *at & 1) == 0;
    if (!amends) {
        SPAD__TARGET_ERROR(r, name, "a second space '%s'", r->space.name);
        return false;
    }
    const char *about = r->space.about;
    r->amended_spaces |= UINT64_C(1) << *at;
    r->space = r->spaces.items[*at];
    if (about[0] != '\0') r->space.about = about;
    return spad__target_keep_figures(r, r->space.figures, r->space.figure_count);
}

static void finish_space(spad__target_reader *r, spad__span name, size_t at) {
    if (r->space.off_chip && r->space.bytes == 0) r->space.bytes = SPAD_UNBOUNDED;
    if (!r->invalid) {
        check_sizes(r, name);
        for (size_t i = 0; i < r->rules.count; i++) check_start_row(r, i);
    }
    if (r->rules.count > 0) {
        r->space.lane_rule_count = r->rules.count;
        r->space.lane_rules =
            spad__target_freeze(r, r->rules.items, r->rules.count, sizeof *r->rules.items);
    }
    r->space.figures = spad__target_freeze_figures(r, &r->space.figure_count);
    r->spaces.items[at] = r->space;
    if (at == r->spaces.count) r->spaces.count++;
    if (!r->invalid && !r->crowded && count_rows(r) > SPAD_SPACES_MAX) {
        SPAD__TARGET_ERROR(r, name, "too many instances of spaces: at most %d in all",
                           SPAD_SPACES_MAX);
        r->crowded = true; /* once is enough */
    }
}

bool spad__target_read_space(spad__target_reader *r) {
    const spad__span name = r->parser.token.span;
    size_t at;
    r->space = (spad_space){.about = "", .lanes = 1, .alignment = 1, .granule = 1};
    if (!spad__target_read_heading(r, "a name for the space", &r->space.name, &r->space.about)) {
        return false;
    }
    if (!SPAD__TARGET_RESERVE(r, &r->spaces, SPAD_SPACES_MAX, "spaces")) return false;
    if (!open_space(r, name, &at)) return false;
    if (!spad__target_read_block(r, "a space has no field", space_fields, SPACE_FIELDS,
                                 &r->space)) {
        return false;
    }
    finish_space(r, name, at);
    return spad__parser_end_statement(&r->parser);
}
