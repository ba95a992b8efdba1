/* SPDX-License-Identifier: Apache-2.0
 *
 * The reader of target files (docs/targets.md): text to spad_target.
 *
 *     file      = { statement }, the first of them "target"
 *     statement = "target" name [string] [ "like" name ] | "family" name | "alias" names
 *               | "groups" number | "units" number [ "launch" time ] [ "block" time ]
 *                 [ "signal" time ] [ note ]
 *               | "limits" "{" { limit field } "}"
 *               | "space" name [string] "{" { space field } "}"
 *               | "engine" name [string] "{" { engine field } "}"
 *               | "exclusive" name name "on" name | "fence" name kind "on" names
 *
 * Fields are rows of two tables: a number goes straight into the struct, the
 * rest has a function. What a name refers to is known when it is read, because
 * a space comes before the engines that use it; so one pass is enough. Tables of
 * a target are limited, so that looking for doubles stays cheap: the cost is
 * linear in the text. Nothing is recursive.
 */
#include <stdio.h>
#include <string.h>

#include "target/builtin.h"
#include "target/target_reader.h"

/* A target and the memory that it owns. */
typedef struct owned_target {
    spad_target target;
    spad__arena arena;
} owned_target;

static bool read_exclusive(spad__target_reader *r) {
    spad_exclusion e;
    const spad__span first = r->parser.token.span;
    if (!spad__target_read_engine_name(r, &e.engine_a) ||
        !spad__target_read_engine_name(r, &e.engine_b)) {
        return false;
    }
    const spad__span pair = spad__span_join(first, r->parser.last.span);
    if (!spad__parser_expect_word(&r->parser, "on") || !spad__target_read_space_name(r, &e.space)) {
        return false;
    }
    if (e.engine_a == e.engine_b) {
        SPAD__TARGET_ERROR(r, pair, "an engine cannot exclude itself; name two");
        return false;
    }
    if (!SPAD__TARGET_RESERVE(r, &r->exclusions, SPAD__TARGET_LIST_MAX, "exclusions")) return false;
    r->exclusions.items[r->exclusions.count++] = e;
    return spad__parser_end_statement(&r->parser);
}

/* "fence wgmma issue on registers": a name, its kind, its memory. */
static bool read_fence_rule(spad__target_reader *r) {
    spad_fence_rule rule = {0};
    if (!spad__parser_name(&r->parser, "a name for the fence", &rule.name)) return false;
    if (spad__target_find_row(r->fences.items, sizeof rule, r->fences.count, rule.name) <
        r->fences.count) {
        SPAD__TARGET_ERROR(r, r->parser.last.span, "a second fence '%s'", rule.name);
        return false;
    }
    int kind = 0;
    while (kind < SPAD_FENCE_KINDS &&
           !spad__parser_accept_word(&r->parser, spad__fence_words[kind]))
        kind++;
    if (kind == SPAD_FENCE_KINDS) {
        return spad__parser_expected(&r->parser, "'proxy', 'issue', 'threads' or 'init'");
    }
    rule.kind = (spad_fence_kind)kind;
    if (!spad__parser_expect_word(&r->parser, "on") ||
        !spad__target_read_space_set(r, &rule.spaces)) {
        return false;
    }
    if (!SPAD__TARGET_RESERVE(r, &r->fences, SPAD_FENCES_MAX, "fences")) return false;
    r->fences.items[r->fences.count++] = rule;
    return spad__parser_end_statement(&r->parser);
}

/* ---- the target -------------------------------------------------------------------- */

static bool repeated(spad__target_reader *r, const char *word) {
    SPAD__TARGET_ERROR(r, r->parser.last.span, "'%s' is given twice", word);
    return false;
}

/* Starts from the rows of a built-in target; those of further instances are made at the end. */
static bool take_rows(spad__target_reader *r, const spad_target *like) {
    if (!spad__array_reserve(r->host, &r->spaces, like->space_count) ||
        !spad__array_reserve(r->host, &r->engines, like->engine_count) ||
        !spad__array_reserve(r->host, &r->exclusions, like->exclusion_count) ||
        !spad__array_reserve(r->host, &r->fences, like->fence_count)) {
        r->parser.out_of_memory = true;
        return false;
    }
    uint64_t firsts = 0;
    for (size_t i = 0; i < like->space_count; i++) {
        if (like->spaces[i].instance > 0) continue;
        firsts |= UINT64_C(1) << i;
        r->spaces.items[r->spaces.count++] = like->spaces[i];
    }
    for (size_t i = 0; i < like->engine_count; i++) {
        r->engines.items[i] = like->engines[i];
        r->engines.items[i].reads &= firsts;
        r->engines.items[i].writes &= firsts;
    }
    r->engines.count = like->engine_count;
    for (size_t i = 0; i < like->exclusion_count; i++) {
        if (like->spaces[like->exclusions[i].space].instance > 0) continue;
        r->exclusions.items[r->exclusions.count++] = like->exclusions[i];
    }
    for (size_t i = 0; i < like->fence_count; i++) {
        r->fences.items[i] = like->fences[i];
        r->fences.items[i].spaces &= firsts;
    }
    r->fences.count = like->fence_count;
    r->old_spaces = r->spaces.count;
    r->old_engines = r->engines.count;
    return true;
}

static bool read_like(spad__target_reader *r) {
    const spad__arena_mark mark = spad__arena_here(r->parser.arena);
    const char *name;
    if (!spad__parser_name(&r->parser, "the name of a built-in target", &name)) return false;
    spad_error error = {0};
    const spad_status status = spad_target_find(&r->like, name, &error);
    spad__arena_rewind(r->parser.arena, mark);
    if (status != SPAD_OK) {
        SPAD__TARGET_ERROR(r, r->parser.last.span, "%s", error.message);
        return false;
    }
    r->target->max_groups = r->like->max_groups;
    r->target->limits = r->like->limits;
    r->target->units = r->like->units;
    r->target->launch_ns = r->like->launch_ns;
    r->target->block_ns = r->like->block_ns;
    r->target->signal_ns = r->like->signal_ns;
    r->target->figures = r->like->figures;
    r->target->figure_count = r->like->figure_count;
    return take_rows(r, r->like);
}

static bool read_target(spad__target_reader *r) {
    if (r->target->name != NULL) return repeated(r, "target");
    r->target->name = ""; /* given, should the name be bad */
    r->target->about = "";
    if (!spad__target_read_heading(r, "a name for the target", &r->target->name,
                                   &r->target->about)) {
        return false;
    }
    if (spad__parser_accept_word(&r->parser, "like") && !read_like(r)) return false;
    return spad__parser_end_statement(&r->parser);
}

static bool read_family(spad__target_reader *r) {
    if (r->target->family != NULL) return repeated(r, "family");
    return spad__parser_name(&r->parser, "the name of a family", &r->target->family) &&
           spad__parser_end_statement(&r->parser);
}

static bool read_target_alias(spad__target_reader *r) {
    do {
        const char *name;
        if (!spad__parser_name(&r->parser, "another name", &name)) return false;
        if (!SPAD__TARGET_RESERVE(r, &r->aliases, SPAD__TARGET_LIST_MAX, "aliases")) return false;
        const size_t count = r->aliases.count;
        const bool is_target = r->target->name != NULL && strcmp(r->target->name, name) == 0;
        if (is_target ||
            spad__target_find_row(r->aliases.items, sizeof name, count, name) < count) {
            SPAD__TARGET_ERROR(r, r->parser.last.span, "the target has the name '%s' already",
                               name);
            return false;
        }
        r->aliases.items[r->aliases.count++] = name;
    } while (spad__target_next_in_list(r));
    return spad__parser_end_statement(&r->parser);
}

static bool read_groups(spad__target_reader *r) {
    if (r->grouped) return repeated(r, "groups");
    r->grouped = true;
    spad__span span;
    if (!spad__parser_quantity(&r->parser, &spad__measure_count, &r->target->max_groups, &span)) {
        return false;
    }
    if (r->target->max_groups < 1) {
        SPAD__TARGET_ERROR(r, span, "'groups' must be at least 1");
        return false;
    }
    return spad__parser_end_statement(&r->parser);
}

/* "132 launch 5 us block 500 ns signal 40 ns source "..."" */
static bool read_units(spad__target_reader *r) {
    if (r->counted) return repeated(r, "units");
    r->counted = true;
    spad__span span;
    spad_figure note;
    bool present;
    if (!spad__parser_quantity(&r->parser, &spad__measure_count, &r->target->units, &span)) {
        return false;
    }
    if (r->target->units < 1) {
        SPAD__TARGET_ERROR(r, span, "'units' must be at least 1");
        return false;
    }
    const struct {
        const char *word;
        int64_t *ns;
    } times[] = {{"launch", &r->target->launch_ns},
                 {"block", &r->target->block_ns},
                 {"signal", &r->target->signal_ns}};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        if (spad__parser_accept_word(&r->parser, times[i].word) &&
            !spad__parser_quantity(&r->parser, &spad__measure_time, times[i].ns, &span)) {
            return false;
        }
    }
    if (!spad__target_read_note(r, &note, &present)) return false;
    note.field = "units";
    r->target->figures = present ? spad__target_freeze(r, &note, 1, sizeof note) : NULL;
    r->target->figure_count = present;
    return spad__parser_end_statement(&r->parser);
}

#define LIMIT_NUMBER(member)                                                                       \
    {                                                                                              \
        .name = #member, .measure = &spad__measure_count, .offset = offsetof(spad_limits, member), \
        .least = 1                                                                                 \
    }

static const spad__target_field limit_fields[] = {
    LIMIT_NUMBER(threads),      LIMIT_NUMBER(warp),          LIMIT_NUMBER(barriers),
    LIMIT_NUMBER(arrivals),     LIMIT_NUMBER(expected),      LIMIT_NUMBER(flags),
    LIMIT_NUMBER(registers),    LIMIT_NUMBER(budget_least),  LIMIT_NUMBER(budget_most),
    LIMIT_NUMBER(budget_step),  LIMIT_NUMBER(cluster),       LIMIT_NUMBER(cluster_most),
    LIMIT_NUMBER(unit_threads), LIMIT_NUMBER(register_step),
};
enum { LIMIT_FIELDS = sizeof limit_fields / sizeof limit_fields[0] };

static bool read_limits(spad__target_reader *r) {
    const spad__span word = r->parser.last.span;
    if (r->limited) return repeated(r, "limits");
    r->limited = true;
    spad_limits limits = r->target->limits;
    r->figures.count = r->rates.count = r->paths.count = 0;
    r->old_figures = false;
    if (!spad__target_read_block(r, "limits have no field", limit_fields, LIMIT_FIELDS, &limits))
        return false;
    if (limits.budget_most > 0 && limits.budget_least > limits.budget_most) {
        SPAD__TARGET_ERROR(r, word, "'budget_least' is above 'budget_most'");
    }
    if (limits.cluster_most > 0 && limits.cluster > limits.cluster_most) {
        SPAD__TARGET_ERROR(r, word, "'cluster' is above 'cluster_most'");
    }
    r->target->limits = limits;
    return spad__parser_end_statement(&r->parser);
}

static const struct {
    const char *name;
    bool (*read)(spad__target_reader *r);
} target_statements[] = {
    {"target", read_target},
    {"family", read_family},
    {"alias", read_target_alias},
    {"groups", read_groups},
    {"space", spad__target_read_space},
    {"engine", spad__target_read_engine},
    {"exclusive", read_exclusive},
    {"limits", read_limits},
    {"units", read_units},
    {"fence", read_fence_rule},
};
enum { TARGET_STATEMENTS = sizeof target_statements / sizeof target_statements[0] };

static bool read_target_statement(spad__target_reader *r) {
    if (!spad__parser_expect(&r->parser, SPAD__WORD, "a statement")) return false;
    const size_t i = spad__target_find_keyword(r, "unknown statement", target_statements,
                                               sizeof target_statements[0], TARGET_STATEMENTS);
    return i < TARGET_STATEMENTS && target_statements[i].read(r);
}

static void read_file(spad__target_reader *r) {
    spad__parser_skip_lines(&r->parser);
    if (!spad__token_is(r->parser.source, r->parser.token, "target")) {
        SPAD__TARGET_ERROR(r, r->parser.token.span,
                           "a target file starts with 'target' and a name");
        r->target->name = ""; /* once is enough */
    }
    while (!spad__target_stopped(r)) {
        spad__parser_skip_lines(&r->parser);
        if (r->parser.token.kind == SPAD__END) break;
        if (read_target_statement(r)) continue;
        spad__parser_skip_statement(&r->parser);
        spad__parser_accept(&r->parser, SPAD__RIGHT_BRACE); /* one that closes nothing */
    }
    if (spad_diagnostics_count(r->parser.diagnostics) == 0 && r->spaces.count == 0) {
        SPAD__TARGET_ERROR(r, r->parser.token.span, "target '%s' has no space; write at least one",
                           r->target->name);
    }
}

/* Engines that reach a space reach its instances; what they cannot share, they share in none. */
static void reach_instance(spad__target_reader *r, size_t base, size_t row) {
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
static void add_instances(spad__target_reader *r) {
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
static void finish_target(spad__target_reader *r) {
    spad_target *t = r->target;
    add_instances(r);
    if (t->about == NULL) t->about = "";
    if (t->family == NULL) t->family = r->like != NULL ? r->like->family : "custom";
    t->space_count = r->spaces.count;
    t->spaces = spad__target_freeze(r, r->spaces.items, r->spaces.count, sizeof *r->spaces.items);
    t->engine_count = r->engines.count;
    t->engines =
        spad__target_freeze(r, r->engines.items, r->engines.count, sizeof *r->engines.items);
    t->exclusion_count = r->exclusions.count;
    t->exclusions = spad__target_freeze(r, r->exclusions.items, r->exclusions.count,
                                        sizeof *r->exclusions.items);
    t->fence_count = r->fences.count;
    t->fences = spad__target_freeze(r, r->fences.items, r->fences.count, sizeof *r->fences.items);
    t->alias_count = r->aliases.count;
    t->aliases =
        spad__target_freeze(r, r->aliases.items, r->aliases.count, sizeof *r->aliases.items);
}

static void free_reader(spad__target_reader *r) {
    spad__array_free(r->host, &r->spaces);
    spad__array_free(r->host, &r->engines);
    spad__array_free(r->host, &r->exclusions);
    spad__array_free(r->host, &r->fences);
    spad__array_free(r->host, &r->aliases);
    spad__array_free(r->host, &r->rules);
    spad__array_free(r->host, &r->rule_spans);
    spad__array_free(r->host, &r->starts);
    spad__array_free(r->host, &r->rates);
    spad__array_free(r->host, &r->paths);
    spad__array_free(r->host, &r->figures);
}

/* Reads into a target that exists. */
static spad_status read_into(owned_target *owned, const spad__source *source,
                             spad_diagnostics *diagnostics, spad_error *error) {
    spad__target_reader r = {.host = &owned->arena.host, .target = &owned->target};
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
