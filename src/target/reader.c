/* SPDX-License-Identifier: Apache-2.0
 *
 * The reader of target files (docs/targets.md): text to spad_target.
 *
 *     file      = { statement }, the first of them "target"
 *     statement = "target" name [string] | "family" name | "alias" names
 *               | "groups" number
 *               | "limits" "{" { limit field } "}"
 *               | "space" name [string] "{" { space field } "}"
 *               | "engine" name [string] "{" { engine field } "}"
 *               | "exclusive" name name "on" name
 *
 * Fields are rows of two tables: a number goes straight into the struct, the
 * rest has a function. What a name refers to is known when it is read, because
 * a space comes before the engines that use it; so one pass is enough. Tables of
 * a target are limited, so that looking for doubles stays cheap: the cost is
 * linear in the text. Nothing is recursive.
 */
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/memory.h"
#include "base/parser.h"
#include "base/text.h"
#include "spad/target.h"
#include "target/builtin.h"

enum { FIELDS_MAX = 16, LIST_MAX = 256 }; /* LIST_MAX: aliases, exclusions, rows, starts */

/* A target and the memory that it owns. */
typedef struct owned_target {
    spad_target target;
    spad__arena arena;
} owned_target;

typedef struct target_reader {
    spad__parser parser;
    const spad_host *host;
    spad_target *target;
    SPAD_ARRAY(spad_space) spaces;
    SPAD_ARRAY(spad_engine) engines;
    SPAD_ARRAY(spad_exclusion) exclusions;
    SPAD_ARRAY(spad_fence_rule) fences;
    SPAD_ARRAY(const char *) aliases;
    bool limited; /* limits were given */
    size_t rows;  /* spaces, each instance */
    /* of the block that is being read */
    spad_space space;
    spad_engine engine;
    spad__span seen[FIELDS_MAX]; /* value of each field; empty: not given */
    bool faulty;                 /* a field of it could not be read */
    SPAD_ARRAY(spad_lane_rule) rules;
    SPAD_ARRAY(spad__span) rule_spans;
    SPAD_ARRAY(int64_t) starts;
} target_reader;

/* A field of a block. Numbers: measure, where in the struct, least value. */
typedef struct field {
    const char *name;
    bool (*read)(target_reader *r);
    const spad__measure *measure;
    size_t offset;
    int64_t least;
    bool repeats;
} field;

#define FAULT(r, span, ...) \
    spad__diagnostics_add((r)->parser.diagnostics, (r)->parser.source, span, __VA_ARGS__)

/* Room for one more row of a table; false, reported, when it is full. */
#define RESERVE(r, array, most, what)                                                        \
    (spad__array_reserve((r)->host, array, 1) ? has_list_room(r, (array)->count, most, what) \
                                              : ((r)->parser.out_of_memory = true, false))

static bool has_list_room(target_reader *r, size_t count, size_t most, const char *what) {
    if (count < most) return true;
    FAULT(r, r->parser.last.span, "too many %s: at most %zu", what, most);
    return false;
}

/* ---- names ------------------------------------------------------------------------- */

/* Rows of all tables start with their name. */
static const char *row_name(const void *rows, size_t row_size, size_t index) {
    const char *name;
    memcpy(&name, (const char *)rows + index * row_size, sizeof name);
    return name;
}

/* The row with a name, or `count`. */
static size_t find_target_row(const void *rows, size_t row_size, size_t count, const char *name) {
    size_t i = 0;
    while (i < count && strcmp(row_name(rows, row_size, i), name) != 0) i++;
    return i;
}

enum { HINT_MAX = 256 };

/* "; did you mean ...?" for a name that no row has. */
static void suggest(char hint[HINT_MAX], const char *name, const void *rows, size_t row_size,
                    size_t count) {
    spad__nearest nearest;
    spad__nearest_start(&nearest, name);
    for (size_t i = 0; i < count; i++) spad__nearest_offer(&nearest, row_name(rows, row_size, i));
    spad__nearest_phrase(&nearest, hint, HINT_MAX);
}

/* The row that the last word names, or `count`, which is reported: "<what> 'wrod'; did
 * you mean 'word'?". */
static size_t find_keyword(target_reader *r, const char *what, const void *rows, size_t row_size,
                           size_t count) {
    const spad__token token = r->parser.last;
    size_t i = 0;
    while (i < count && !spad__token_is(r->parser.source, token, row_name(rows, row_size, i))) i++;
    if (i < count) return i;
    char quoted[64];
    char hint[HINT_MAX];
    char word[64];
    spad__token_describe(quoted, sizeof quoted, r->parser.source, token);
    snprintf(word, sizeof word, "%.*s", (int)strlen(quoted) - 2, quoted + 1);
    suggest(hint, word, rows, row_size, count);
    FAULT(r, token.span, "%s %s%s", what, quoted, hint);
    return count;
}

/* Reads the name of a row that exists already. */
static bool read_reference(target_reader *r, const char *wanted, const char *what, const void *rows,
                           size_t row_size, size_t count, size_t *index) {
    const spad__arena_mark mark = spad__arena_here(r->parser.arena);
    const char *name;
    if (!spad__parser_name(&r->parser, wanted, &name)) return false;
    *index = find_target_row(rows, row_size, count, name);
    if (*index == count) {
        char hint[HINT_MAX];
        suggest(hint, name, rows, row_size, count);
        FAULT(r, r->parser.last.span, "'%s' is not %s above this line%s", name, what, hint);
    }
    spad__arena_rewind(r->parser.arena, mark); /* the row has the name already */
    return *index < count;
}

static bool read_space_reference(target_reader *r, size_t *index) {
    return read_reference(r, "the name of a space", "a space", r->spaces.items,
                          sizeof *r->spaces.items, r->spaces.count, index);
}

static bool read_engine_reference(target_reader *r, size_t *index) {
    return read_reference(r, "the name of an engine", "an engine", r->engines.items,
                          sizeof *r->engines.items, r->engines.count, index);
}

/* A comma between two items of a list; a line may end after it. */
static bool next_in_list(target_reader *r) {
    if (!spad__parser_accept(&r->parser, SPAD__COMMA)) return false;
    spad__parser_skip_lines(&r->parser);
    return true;
}

/* Name and text in front of a block. */
static bool read_heading(target_reader *r, const char *what, const char **name,
                         const char **about) {
    *about = "";
    if (!spad__parser_name(&r->parser, what, name)) return false;
    return r->parser.token.kind != SPAD__STRING || spad__parser_text(&r->parser, about);
}

/* ---- blocks ------------------------------------------------------------------------ */

static bool read_value(target_reader *r, const field *f, char *record, spad__span *span) {
    int64_t value;
    if (f->measure == NULL) {
        const spad__span first = r->parser.token.span;
        if (!f->read(r)) return false;
        *span = spad__span_join(first, r->parser.last.span);
        return true;
    }
    if (!spad__parser_quantity(&r->parser, f->measure, &value, span)) return false;
    if (value < f->least) {
        FAULT(r, *span, "'%s' must be at least %lld", f->name, (long long)f->least);
        return false;
    }
    memcpy(record + f->offset, &value, sizeof value);
    return true;
}

static bool read_field(target_reader *r, const char *unknown, const field *fields, size_t count,
                       void *record) {
    if (!spad__parser_expect(&r->parser, SPAD__WORD, "a field or '}'")) return false;
    const spad__token name = r->parser.last;
    const size_t i = find_keyword(r, unknown, fields, sizeof *fields, count);
    if (i == count) return false;
    if (r->seen[i].length > 0 && !fields[i].repeats) {
        FAULT(r, name.span, "'%s' is given twice", fields[i].name);
        return false;
    }
    r->seen[i] = name.span; /* so that a bad value does not count as missing */
    return read_value(r, &fields[i], record, &r->seen[i]) && spad__parser_end_statement(&r->parser);
}

static bool reader_stopped(const target_reader *r) {
    return r->parser.out_of_memory || spad__diagnostics_full(r->parser.diagnostics);
}

static bool read_block(target_reader *r, const char *unknown, const field *fields, size_t count,
                       void *record) {
    if (!spad__parser_expect(&r->parser, SPAD__LEFT_BRACE, "'{'")) return false;
    const spad__span opened = r->parser.last.span;
    memset(r->seen, 0, sizeof r->seen);
    r->faulty = false;
    r->rules.count = r->rule_spans.count = 0;
    while (!reader_stopped(r)) {
        spad__parser_skip_lines(&r->parser);
        if (spad__parser_accept(&r->parser, SPAD__RIGHT_BRACE)) return true;
        if (r->parser.token.kind == SPAD__END) {
            FAULT(r, opened, "this '{' has no '}'");
            return false;
        }
        if (!read_field(r, unknown, fields, count, record)) {
            r->faulty = true;
            spad__parser_skip_statement(&r->parser);
        }
    }
    return false;
}

/* ---- spaces ------------------------------------------------------------------------ */

static bool read_bytes(target_reader *r) {
    if (spad__parser_accept_word(&r->parser, "unbounded")) {
        r->space.bytes = SPAD_UNBOUNDED;
        return true;
    }
    spad__span span;
    if (!spad__parser_quantity(&r->parser, &spad__measure_size, &r->space.bytes, &span)) {
        return false;
    }
    if (r->space.bytes < 1) FAULT(r, span, "'bytes' must be at least 1");
    return r->space.bytes >= 1;
}

static bool read_bank(target_reader *r) {
    spad__span span;
    if (!spad__parser_quantity(&r->parser, &spad__measure_size, &r->space.bank_bytes, &span)) {
        return false;
    }
    if (r->space.bank_bytes < 1) {
        FAULT(r, span, "'bank' must be at least 1");
        return false;
    }
    r->space.banks_exclusive = spad__parser_accept_word(&r->parser, "exclusive");
    return true;
}

/* "2" or "2 private" */
static bool read_instances(target_reader *r) {
    spad__span span;
    if (!spad__parser_quantity(&r->parser, &spad__measure_count, &r->space.instances, &span)) {
        return false;
    }
    if (r->space.instances < 1 || r->space.instances > SPAD_SPACES_MAX) {
        FAULT(r, span, "'instances' must be 1 to %d", SPAD_SPACES_MAX);
        return false;
    }
    if (r->space.instances == 1) r->space.instances = 0;
    r->space.one_instance = spad__parser_accept_word(&r->parser, "private");
    return true;
}

static bool read_power_of_two(target_reader *r) {
    r->space.power_of_two = true;
    return spad__parser_expect_word(&r->parser, "power") &&
           spad__parser_expect_word(&r->parser, "of") &&
           spad__parser_expect_word(&r->parser, "two");
}

static bool read_off_chip(target_reader *r) {
    r->space.off_chip = true;
    return spad__parser_expect_word(&r->parser, "chip");
}

/* "0, 32, 64": upwards, so that none is given twice. */
static bool read_starts(target_reader *r) {
    r->starts.count = 0;
    do {
        int64_t start;
        spad__span span;
        if (!spad__parser_quantity(&r->parser, &spad__measure_count, &start, &span)) return false;
        if (!RESERVE(r, &r->starts, LIST_MAX, "start lanes")) return false;
        if (r->starts.count > 0 && start <= r->starts.items[r->starts.count - 1]) {
            FAULT(r, span, "start lanes must ascend");
            return false;
        }
        r->starts.items[r->starts.count++] = start;
    } while (next_in_list(r));
    return true;
}

/* "1 to 32 at 0, 32, 64": the values are checked when the lanes are known. */
static bool read_start_row(target_reader *r) {
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
    if (!RESERVE(r, &r->rules, LIST_MAX, "start rows") ||
        !RESERVE(r, &r->rule_spans, LIST_MAX, "start rows")) {
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
static const field space_fields[] = {
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
};
enum { SPACE_FIELDS = sizeof space_fields / sizeof space_fields[0] };

/* Sizes against each other. */
static void check_sizes(target_reader *r, spad__span name) {
    const spad_space *s = &r->space;
    int64_t total;
    if (s->bytes == SPAD_UNBOUNDED) {
        if (s->reserved > 0)
            FAULT(r, r->seen[RESERVED], "an unbounded space has no top to reserve");
        return;
    }
    if (s->bytes == 0) {
        FAULT(r, name, "space '%s' needs 'bytes'", s->name);
        return;
    }
    if (!spad__mul(s->lanes, s->bytes, &total)) {
        FAULT(r, r->seen[FIELD_BYTES], "%lld lanes of that size do not fit 64 bits",
              (long long)s->lanes);
    }
    if (s->reserved > s->bytes) {
        FAULT(r, r->seen[RESERVED], "%lld bytes reserved of only %lld", (long long)s->reserved,
              (long long)s->bytes);
    } else if (s->plain_limit > spad_space_get_usable(s)) {
        FAULT(r, r->seen[LIMIT], "the limit of %lld bytes is above the %lld that are usable",
              (long long)s->plain_limit, (long long)spad_space_get_usable(s));
    }
    if (s->bank_bytes > 0 && s->bytes % s->bank_bytes != 0) {
        FAULT(r, r->seen[FIELD_BANK], "banks of %lld bytes do not divide a lane of %lld",
              (long long)s->bank_bytes, (long long)s->bytes);
    }
}

/* One row of the start table against the lanes and the rows before it. */
static void check_start_row(target_reader *r, size_t index) {
    const spad_lane_rule *rule = &r->rules.items[index];
    const spad__span span = r->rule_spans.items[index];
    const int64_t highest = rule->starts[rule->start_count - 1];
    if (rule->lanes_min < 1 || rule->lanes_min > rule->lanes_max) {
        FAULT(r, span, "not a range of lane counts: from 1, and upwards");
    } else if (rule->lanes_max > r->space.lanes) {
        FAULT(r, span, "more lanes than the %lld of the space", (long long)r->space.lanes);
    } else if (highest > r->space.lanes - rule->lanes_min) {
        FAULT(r, span, "%lld lanes do not fit at start lane %lld of %lld",
              (long long)rule->lanes_min, (long long)highest, (long long)r->space.lanes);
    }
    for (size_t i = 0; i < index; i++) {
        const spad_lane_rule *before = &r->rules.items[i];
        if (rule->lanes_min > before->lanes_max || rule->lanes_max < before->lanes_min) continue;
        FAULT(r, span, "overlaps the row of %lld to %lld lanes", (long long)before->lanes_min,
              (long long)before->lanes_max);
        return;
    }
}

/* A copy of `count` items in the arena; NULL with a mark when there is no memory. */
static void *freeze(target_reader *r, const void *items, size_t count, size_t item_size) {
    void *copy = spad__arena_array(r->parser.arena, count, item_size);
    r->parser.out_of_memory |= copy == NULL;
    if (copy != NULL && count > 0) memcpy(copy, items, count * item_size);
    return copy;
}

static bool read_space(target_reader *r) {
    const spad__span name = r->parser.token.span;
    r->space = (spad_space){.lanes = 1, .alignment = 1, .granule = 1};
    if (!read_heading(r, "a name for the space", &r->space.name, &r->space.about)) return false;
    if (!RESERVE(r, &r->spaces, SPAD_SPACES_MAX, "spaces")) return false;
    if (find_target_row(r->spaces.items, sizeof r->space, r->spaces.count, r->space.name) <
        r->spaces.count) {
        FAULT(r, name, "a second space '%s'", r->space.name);
        return false;
    }
    if (!read_block(r, "a space has no field", space_fields, SPACE_FIELDS, &r->space)) return false;
    if (r->space.off_chip && r->seen[FIELD_BYTES].length == 0) r->space.bytes = SPAD_UNBOUNDED;
    r->rows += r->space.instances > 1 ? (size_t)r->space.instances : 1;
    if (!r->faulty && r->rows > SPAD_SPACES_MAX && r->spaces.count < SPAD_SPACES_MAX) {
        FAULT(r, name, "too many instances of spaces: at most %d in all", SPAD_SPACES_MAX);
        r->rows = 0; /* once is enough */
    }
    if (!r->faulty) {
        check_sizes(r, name);
        for (size_t i = 0; i < r->rules.count; i++) check_start_row(r, i);
    }
    r->space.lane_rule_count = r->rules.count;
    if (r->rules.count > 0) {
        r->space.lane_rules = freeze(r, r->rules.items, r->rules.count, sizeof *r->rules.items);
    }
    r->spaces.items[r->spaces.count++] = r->space;
    return spad__parser_end_statement(&r->parser);
}

/* ---- engines ----------------------------------------------------------------------- */

/* "256", "512 at 16 bit", "512 at 8 bit": one of each. */
static bool read_width(target_reader *r) {
    int64_t width;
    int64_t bits = 32;
    spad__span span;
    spad__span bits_span;
    if (!spad__parser_quantity(&r->parser, &spad__measure_count, &width, &span)) return false;
    if (width < 1) {
        FAULT(r, span, "'width' must be at least 1");
        return false;
    }
    if (spad__parser_accept_word(&r->parser, "at")) {
        if (!spad__parser_quantity(&r->parser, &spad__measure_count, &bits, &bits_span))
            return false;
        if (!spad__parser_expect_word(&r->parser, "bit")) return false;
        if (bits != 32 && bits != 16 && bits != 8) {
            FAULT(r, bits_span, "widths are given at 32, 16 or 8 bit");
            return false;
        }
    }
    int64_t *slot = bits == 32   ? &r->engine.width
                    : bits == 16 ? &r->engine.width_16bit
                                 : &r->engine.width_8bit;
    if (*slot != 0) {
        FAULT(r, span, "'width' at %d bit is given twice", (int)bits);
        return false;
    }
    *slot = width;
    return true;
}

static bool read_space_set(target_reader *r, uint64_t *set) {
    do {
        size_t space;
        if (!read_space_reference(r, &space)) return false;
        *set |= UINT64_C(1) << space;
    } while (next_in_list(r));
    return true;
}

static bool read_reads(target_reader *r) {
    return read_space_set(r, &r->engine.reads);
}

static bool read_writes(target_reader *r) {
    return read_space_set(r, &r->engine.writes);
}

#define ENGINE_NUMBER(word, unit, member, at_least)                                                \
    {                                                                                              \
        .name = (word), .measure = &spad__measure_##unit, .offset = offsetof(spad_engine, member), \
        .least = (at_least)                                                                        \
    }

static const field engine_fields[] = {
    ENGINE_NUMBER("count", count, count, 1),
    ENGINE_NUMBER("clock", clock, clock_khz, 1),
    {.name = "width", .read = read_width, .repeats = true},
    ENGINE_NUMBER("shortest", cycles, min_cycles, 0),
    ENGINE_NUMBER("dependent", cycles, fixed_cycles, 0),
    ENGINE_NUMBER("rate", rate, bytes_per_us, 1),
    ENGINE_NUMBER("startup", time, fixed_ns, 0),
    ENGINE_NUMBER("align", size, proxy_align, 1),
    {.name = "reads", .read = read_reads},
    {.name = "writes", .read = read_writes},
};
enum { ENGINE_FIELDS = sizeof engine_fields / sizeof engine_fields[0] };

static bool read_engine(target_reader *r) {
    const spad__span name = r->parser.token.span;
    r->engine = (spad_engine){.count = 1};
    if (!read_heading(r, "a name for the engine", &r->engine.name, &r->engine.about)) return false;
    if (!RESERVE(r, &r->engines, SPAD_ENGINES_MAX, "engines")) return false;
    if (find_target_row(r->engines.items, sizeof r->engine, r->engines.count, r->engine.name) <
        r->engines.count) {
        FAULT(r, name, "a second engine '%s'", r->engine.name);
        return false;
    }
    if (!read_block(r, "an engine has no field", engine_fields, ENGINE_FIELDS, &r->engine))
        return false;
    r->engines.items[r->engines.count++] = r->engine;
    return spad__parser_end_statement(&r->parser);
}

static bool read_exclusive(target_reader *r) {
    spad_exclusion e;
    const spad__span first = r->parser.token.span;
    if (!read_engine_reference(r, &e.engine_a) || !read_engine_reference(r, &e.engine_b)) {
        return false;
    }
    const spad__span pair = spad__span_join(first, r->parser.last.span);
    if (!spad__parser_expect_word(&r->parser, "on") || !read_space_reference(r, &e.space)) {
        return false;
    }
    if (e.engine_a == e.engine_b) {
        FAULT(r, pair, "an engine cannot exclude itself; name two");
        return false;
    }
    if (!RESERVE(r, &r->exclusions, LIST_MAX, "exclusions")) return false;
    r->exclusions.items[r->exclusions.count++] = e;
    return spad__parser_end_statement(&r->parser);
}

/* "fence wgmma issue on registers": a name, its kind, its memory. */
static bool read_fence_rule(target_reader *r) {
    spad_fence_rule rule = {0};
    if (!spad__parser_name(&r->parser, "a name for the fence", &rule.name)) return false;
    if (find_target_row(r->fences.items, sizeof rule, r->fences.count, rule.name) <
        r->fences.count) {
        FAULT(r, r->parser.last.span, "a second fence '%s'", rule.name);
        return false;
    }
    int kind = 0;
    while (kind < SPAD_FENCE_KINDS &&
           !spad__parser_accept_word(&r->parser, spad__fence_words[kind]))
        kind++;
    if (kind == SPAD_FENCE_KINDS) {
        return spad__parser_expected(&r->parser, "'proxy', 'issue' or 'threads'");
    }
    rule.kind = (spad_fence_kind)kind;
    if (!spad__parser_expect_word(&r->parser, "on") || !read_space_set(r, &rule.spaces)) {
        return false;
    }
    if (!RESERVE(r, &r->fences, SPAD_FENCES_MAX, "fences")) return false;
    r->fences.items[r->fences.count++] = rule;
    return spad__parser_end_statement(&r->parser);
}

/* ---- the target -------------------------------------------------------------------- */

static bool given_twice(target_reader *r, const char *word) {
    FAULT(r, r->parser.last.span, "'%s' is given twice", word);
    return false;
}

static bool read_target(target_reader *r) {
    if (r->target->name != NULL) return given_twice(r, "target");
    r->target->name = ""; /* given, should the name be bad */
    return read_heading(r, "a name for the target", &r->target->name, &r->target->about) &&
           spad__parser_end_statement(&r->parser);
}

static bool read_family(target_reader *r) {
    if (r->target->family != NULL) return given_twice(r, "family");
    return spad__parser_name(&r->parser, "the name of a family", &r->target->family) &&
           spad__parser_end_statement(&r->parser);
}

static bool read_target_alias(target_reader *r) {
    do {
        const char *name;
        if (!spad__parser_name(&r->parser, "another name", &name)) return false;
        if (!RESERVE(r, &r->aliases, LIST_MAX, "aliases")) return false;
        const size_t count = r->aliases.count;
        const bool is_target = r->target->name != NULL && strcmp(r->target->name, name) == 0;
        if (is_target || find_target_row(r->aliases.items, sizeof name, count, name) < count) {
            FAULT(r, r->parser.last.span, "the target has the name '%s' already", name);
            return false;
        }
        r->aliases.items[r->aliases.count++] = name;
    } while (next_in_list(r));
    return spad__parser_end_statement(&r->parser);
}

static bool read_groups(target_reader *r) {
    if (r->target->max_groups != 0) return given_twice(r, "groups");
    spad__span span;
    if (!spad__parser_quantity(&r->parser, &spad__measure_count, &r->target->max_groups, &span)) {
        return false;
    }
    if (r->target->max_groups < 1) {
        FAULT(r, span, "'groups' must be at least 1");
        return false;
    }
    return spad__parser_end_statement(&r->parser);
}

#define LIMIT_NUMBER(member)                                                                       \
    {                                                                                              \
        .name = #member, .measure = &spad__measure_count, .offset = offsetof(spad_limits, member), \
        .least = 1                                                                                 \
    }

static const field limit_fields[] = {
    LIMIT_NUMBER(threads),     LIMIT_NUMBER(warp),         LIMIT_NUMBER(barriers),
    LIMIT_NUMBER(arrivals),    LIMIT_NUMBER(expected),     LIMIT_NUMBER(flags),
    LIMIT_NUMBER(registers),   LIMIT_NUMBER(budget_least), LIMIT_NUMBER(budget_most),
    LIMIT_NUMBER(budget_step), LIMIT_NUMBER(cluster),      LIMIT_NUMBER(cluster_most),
};
enum { LIMIT_FIELDS = sizeof limit_fields / sizeof limit_fields[0] };

static bool read_limits(target_reader *r) {
    const spad__span word = r->parser.last.span;
    if (r->limited) return given_twice(r, "limits");
    r->limited = true;
    spad_limits limits = {0};
    if (!read_block(r, "limits have no field", limit_fields, LIMIT_FIELDS, &limits)) return false;
    if (limits.budget_most > 0 && limits.budget_least > limits.budget_most) {
        FAULT(r, word, "'budget_least' is above 'budget_most'");
    }
    if (limits.cluster_most > 0 && limits.cluster > limits.cluster_most) {
        FAULT(r, word, "'cluster' is above 'cluster_most'");
    }
    r->target->limits = limits;
    return spad__parser_end_statement(&r->parser);
}

static const struct {
    const char *name;
    bool (*read)(target_reader *r);
} target_statements[] = {
    {"target", read_target},       {"family", read_family}, {"alias", read_target_alias},
    {"groups", read_groups},       {"space", read_space},   {"engine", read_engine},
    {"exclusive", read_exclusive}, {"limits", read_limits}, {"fence", read_fence_rule},
};
enum { TARGET_STATEMENTS = sizeof target_statements / sizeof target_statements[0] };

static bool read_target_statement(target_reader *r) {
    if (!spad__parser_expect(&r->parser, SPAD__WORD, "a statement")) return false;
    const size_t i = find_keyword(r, "unknown statement", target_statements,
                                  sizeof target_statements[0], TARGET_STATEMENTS);
    return i < TARGET_STATEMENTS && target_statements[i].read(r);
}

static void read_file(target_reader *r) {
    spad__parser_skip_lines(&r->parser);
    if (!spad__token_is(r->parser.source, r->parser.token, "target")) {
        FAULT(r, r->parser.token.span, "a target file starts with 'target' and a name");
        r->target->name = ""; /* once is enough */
    }
    while (!reader_stopped(r)) {
        spad__parser_skip_lines(&r->parser);
        if (r->parser.token.kind == SPAD__END) break;
        if (read_target_statement(r)) continue;
        spad__parser_skip_statement(&r->parser);
        spad__parser_accept(&r->parser, SPAD__RIGHT_BRACE); /* one that closes nothing */
    }
    if (spad_diagnostics_count(r->parser.diagnostics) == 0 && r->spaces.count == 0) {
        FAULT(r, r->parser.token.span, "target '%s' has no space; write at least one",
              r->target->name);
    }
}

/* Engines that reach a space reach its instances; what they cannot share, they share in none. */
static void reach_instance(target_reader *r, size_t base, size_t row) {
    const uint64_t bit = UINT64_C(1) << row;
    for (size_t e = 0; e < r->engines.count; e++) {
        spad_engine *engine = &r->engines.items[e];
        if (engine->reads >> base & 1) engine->reads |= bit;
        if (engine->writes >> base & 1) engine->writes |= bit;
    }
    for (size_t i = 0; i < r->fences.count; i++) {
        if (r->fences.items[i].spaces >> base & 1) r->fences.items[i].spaces |= bit;
    }
    const size_t count = r->exclusions.count;
    for (size_t i = 0; i < count; i++) {
        spad_exclusion e = r->exclusions.items[i];
        if (e.space != base) continue;
        if (!spad__array_reserve(r->host, &r->exclusions, 1)) {
            r->parser.out_of_memory = true;
            return;
        }
        e.space = row;
        r->exclusions.items[r->exclusions.count++] = e;
    }
}

/* Rows for the instances after the first, after all other rows. */
static void add_instances(target_reader *r) {
    const size_t count = r->spaces.count;
    for (size_t base = 0; base < count; base++) {
        const int64_t instances = r->spaces.items[base].instances;
        for (int64_t i = 1; i < instances; i++) {
            char name[96];
            spad_space row = r->spaces.items[base];
            const int length = snprintf(name, sizeof name, "%s[%lld]", row.name, (long long)i);
            row.name = spad__arena_copy(r->parser.arena, name, (size_t)length);
            if (row.name == NULL || !spad__array_reserve(r->host, &r->spaces, 1)) {
                r->parser.out_of_memory = true;
                return;
            }
            row.instance = i;
            row.instance_of = base;
            reach_instance(r, base, r->spaces.count);
            r->spaces.items[r->spaces.count++] = row;
        }
    }
}

/* Gives the target its tables. */
static void finish_target(target_reader *r) {
    spad_target *t = r->target;
    add_instances(r);
    if (t->about == NULL) t->about = "";
    if (t->family == NULL) t->family = "custom";
    t->space_count = r->spaces.count;
    t->spaces = freeze(r, r->spaces.items, r->spaces.count, sizeof *r->spaces.items);
    t->engine_count = r->engines.count;
    t->engines = freeze(r, r->engines.items, r->engines.count, sizeof *r->engines.items);
    t->exclusion_count = r->exclusions.count;
    t->exclusions =
        freeze(r, r->exclusions.items, r->exclusions.count, sizeof *r->exclusions.items);
    t->fence_count = r->fences.count;
    t->fences = freeze(r, r->fences.items, r->fences.count, sizeof *r->fences.items);
    t->alias_count = r->aliases.count;
    t->aliases = freeze(r, r->aliases.items, r->aliases.count, sizeof *r->aliases.items);
}

static void free_reader(target_reader *r) {
    spad__array_free(r->host, &r->spaces);
    spad__array_free(r->host, &r->engines);
    spad__array_free(r->host, &r->exclusions);
    spad__array_free(r->host, &r->fences);
    spad__array_free(r->host, &r->aliases);
    spad__array_free(r->host, &r->rules);
    spad__array_free(r->host, &r->rule_spans);
    spad__array_free(r->host, &r->starts);
}

/* Reads into a target that exists. */
static spad_status read_into(owned_target *owned, const spad__source *source,
                             spad_diagnostics *diagnostics, spad_error *error) {
    target_reader r = {.host = &owned->arena.host, .target = &owned->target};
    spad__diagnostics_begin(diagnostics, source);
    spad__parser_start(&r.parser, source, diagnostics, &owned->arena);
    read_file(&r);
    spad_status status = spad__diagnostics_end(diagnostics, error);
    if (status == SPAD_OK) finish_target(&r);
    if (r.parser.out_of_memory) status = spad__fail_host_memory(error);
    free_reader(&r);
    return status;
}

spad_status spad_target_parse(spad_target **out, const char *text, size_t length, const char *file,
                              spad_diagnostics *diagnostics, const spad_host *host,
                              spad_error *error) {
    *out = NULL;
    if (length > INT32_MAX) { /* lines and columns are 32-bit numbers */
        return spad__fail(error, SPAD_ERR_ARGUMENT, "a text of %zu bytes is too long: at most %ld",
                          length, (long)INT32_MAX);
    }
    const spad_host memory = spad__host_or_default(host);
    owned_target *owned = spad__new(&memory, sizeof *owned);
    if (owned == NULL) return spad__fail_host_memory(error);
    owned->arena.host = memory;
    owned->target.owned = owned;
    const spad__source source = {
        .file = file != NULL ? file : "<text>", .text = length > 0 ? text : "", .length = length};
    spad_diagnostics *own = NULL;
    spad_status status = SPAD_OK;
    if (diagnostics == NULL) status = spad_diagnostics_create(&own, host, error);
    if (status == SPAD_OK) {
        status = read_into(owned, &source, diagnostics != NULL ? diagnostics : own, error);
    }
    spad_diagnostics_destroy(own);
    if (status == SPAD_OK) {
        *out = &owned->target;
    } else {
        spad_target_destroy(&owned->target);
    }
    return status;
}

void spad_target_destroy(spad_target *target) {
    if (target == NULL || target->owned == NULL) return;
    owned_target *owned = target->owned;
    spad__arena_free(&owned->arena);
    const spad_host host = owned->arena.host;
    spad__free(&host, owned, sizeof *owned);
}
