/* SPDX-License-Identifier: Apache-2.0
 *
 * The reader of kernel text: declarations. A name whose declaration has a fault is
 * remembered as broken, so that its uses are not reported as well.
 */
#include "kernel/text/reader.h"
#include "target/target.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* "ub", "ub[1]" */
static bool read_space_name(spad__reader *r, size_t *space) {
    const char *name;
    char instance[2 * SPAD__WORD_MAX];
    int64_t number;
    spad__span span;
    if (!spad__parser_name(&r->parser, "the name of a space", &name)) return false;
    const spad__span first = r->parser.last.span;
    if (spad__parser_accept(&r->parser, SPAD__LEFT_BRACKET)) {
        if (!spad__parser_quantity(&r->parser, &spad__measure_count, &number, &span) ||
            !spad__parser_expect(&r->parser, SPAD__RIGHT_BRACKET, "']'")) {
            return false;
        }
        snprintf(instance, sizeof instance, "%s[%lld]", name, (long long)number);
        name = instance;
    }
    return spad__reader_accepts(
        r, spad__span_from(r, first),
        spad_target_find_space(space, r->builder->kernel->target, name, &r->error));
}

/* "2" or "[2, 4]" */
static bool read_counts(spad__reader *r, spad_amount *items, size_t *count) {
    if (spad__parser_accept(&r->parser, SPAD__LEFT_BRACKET)) {
        return spad__read_amounts(r, items, count, SPAD__RIGHT_BRACKET, "',' or ']'");
    }
    *count = 1;
    return spad__read_amount(r, &items[0]);
}

static void mark_broken(spad__reader *r, const char *name) {
    if (!spad__add_broken(r->builder, name)) r->parser.out_of_memory = true;
}

/* "any": the value is not known; "fixed": the rest of the text was written for it. */
static bool read_param_word(spad__reader *r, const char *name, spad__span span) {
    if (spad__parser_accept_word(&r->parser, "any")) {
        return spad__reader_accepts(r, span, spad__kernel_builder_any(r->builder, name, &r->error));
    }
    if (!spad__parser_accept_word(&r->parser, "fixed")) return true;
    return spad__reader_accepts(r, span, spad__kernel_builder_fix(r->builder, name, &r->error));
}

bool spad__read_param(spad__reader *r) {
    char name[SPAD__WORD_MAX];
    spad__span span;
    spad_amount preset;
    spad_expr unused;
    if (!spad__read_new_name(r, "a name for the parameter", name, &span)) return false;
    const bool fine =
        spad__parser_expect(&r->parser, SPAD__EQUAL, "'='") && spad__read_amount(r, &preset) &&
        spad__reader_accepts(
            r, span, spad__kernel_builder_param(&unused, r->builder, name, preset, &r->error));
    if (!fine) mark_broken(r, name);
    return fine && read_param_word(r, name, span) && spad__parser_end_statement(&r->parser);
}

/* "as library_2026_04" */
static bool read_behaviour(spad__reader *r, spad_stack_behaviour *behaviour) {
    static const char *const names[] = {[SPAD_STACK_EXACT] = "exact",
                                        [SPAD_STACK_LIBRARY_2026_04] = "library_2026_04",
                                        [SPAD_STACK_LIBRARY_LATER] = "library_later"};
    *behaviour = SPAD_STACK_EXACT;
    if (!spad__parser_accept_word(&r->parser, "as")) return true;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        *behaviour = (spad_stack_behaviour)i;
        if (spad__parser_accept_word(&r->parser, names[i])) return true;
    }
    return spad__parser_expected(&r->parser, "'exact', 'library_2026_04' or 'library_later'");
}

static bool read_text(spad__reader *r, spad_status (*add)(spad__kernel_builder *builder,
                                                          const char *text, spad_error *error)) {
    const char *text;
    const spad__span first = r->parser.token.span;
    spad__put_place(r, first);
    return spad__parser_text(&r->parser, &text) &&
           spad__reader_accepts(r, spad__span_from(r, first), add(r->builder, text, &r->error)) &&
           spad__parser_end_statement(&r->parser);
}

bool spad__read_assumption(spad__reader *r) {
    return read_text(r, spad__kernel_builder_assume);
}

bool spad__read_undecided(spad__reader *r) {
    return read_text(r, spad__kernel_builder_undecided);
}

bool spad__read_uncounted(spad__reader *r) {
    return read_text(r, spad__kernel_builder_uncounted);
}

bool spad__read_compiler(spad__reader *r) {
    return read_text(r, spad__kernel_builder_compiler);
}

bool spad__read_grid(spad__reader *r) {
    spad_amount blocks;
    const spad__span first = r->parser.token.span;
    spad__put_place(r, first);
    return spad__read_amount(r, &blocks) &&
           spad__reader_accepts(r, spad__span_from(r, first),
                                spad__kernel_builder_grid(r->builder, blocks, &r->error)) &&
           spad__parser_end_statement(&r->parser);
}

bool spad__read_cluster(spad__reader *r) {
    spad_amount blocks;
    const spad__span first = r->parser.token.span;
    spad__put_place(r, first);
    return spad__read_amount(r, &blocks) &&
           spad__reader_accepts(r, spad__span_from(r, first),
                                spad__kernel_builder_cluster(r->builder, blocks, &r->error)) &&
           spad__parser_end_statement(&r->parser);
}

bool spad__read_region(spad__reader *r) {
    size_t space;
    spad_amount lower;
    spad_amount upper;
    spad_stack_behaviour behaviour;
    const spad__span first = r->parser.token.span;
    spad__put_place(r, first);
    return read_space_name(r, &space) && spad__read_amount(r, &lower) &&
           spad__parser_expect(&r->parser, SPAD__RANGE, "'..'") && spad__read_amount(r, &upper) &&
           read_behaviour(r, &behaviour) &&
           spad__reader_accepts(r, spad__span_from(r, first),
                                spad__kernel_builder_region(r->builder, space, lower, upper,
                                                            behaviour, &r->error)) &&
           spad__parser_end_statement(&r->parser);
}

bool spad__read_fence_name(spad__reader *r, size_t *fence) {
    const char *name;
    if (!spad__parser_name(&r->parser, "the name of a fence", &name)) return false;
    return spad__reader_accepts(
        r, r->parser.last.span,
        spad__target_find_fence(fence, r->builder->kernel->target, name, &r->error));
}

static bool read_unit_body(spad__reader *r, const char *name, spad__span span) {
    static const char *const orders[SPAD_UNIT_ORDERS] = {[SPAD_UNIT_FREE] = "free",
                                                         [SPAD_UNIT_FIFO] = "fifo",
                                                         [SPAD_UNIT_SERIAL] = "serial",
                                                         [SPAD_UNIT_SAME] = "same"};
    const char *engine_name = name;
    spad__span engine_span = span;
    if (spad__parser_accept_word(&r->parser, "on")) {
        if (!spad__parser_name(&r->parser, "the name of an engine", &engine_name)) return false;
        engine_span = r->parser.last.span;
    }
    size_t engine;
    int64_t unit;
    if (!spad__reader_accepts(r, engine_span,
                              spad__target_find_engine(&engine, r->builder->kernel->target,
                                                       engine_name, &r->error))) {
        return false;
    }
    int order = 0;
    while (order < SPAD_UNIT_ORDERS && !spad__parser_accept_word(&r->parser, orders[order])) {
        order++;
    }
    if (order == SPAD_UNIT_ORDERS) {
        return spad__parser_expected(&r->parser, "'free', 'fifo', 'serial' or 'same'");
    }
    const bool proxy = spad__parser_accept_word(&r->parser, "proxy");
    if (!spad__reader_accepts(r, span,
                              spad__kernel_builder_unit(&unit, r->builder, name, engine,
                                                        (spad_unit_order)order, proxy,
                                                        &r->error))) {
        return false;
    }
    if (!spad__parser_accept_word(&r->parser, "fence")) return true;
    const spad__span fence_span = r->parser.token.span;
    size_t fence;
    return spad__read_fence_name(r, &fence) &&
           spad__reader_accepts(
               r, fence_span, spad__kernel_builder_unit_fence(r->builder, unit, fence, &r->error));
}

bool spad__read_unit(spad__reader *r) {
    char name[SPAD__WORD_MAX];
    spad__span span;
    if (!spad__read_new_name(r, "a name for the unit", name, &span)) return false;
    if (read_unit_body(r, name, span)) return spad__parser_end_statement(&r->parser);
    mark_broken(r, name);
    return false;
}

static bool read_sync_body(spad__reader *r, spad_sync_kind kind, const char *name,
                           spad__span span) {
    spad_amount dims[SPAD__INDEX_MAX];
    size_t dim_count = 0;
    spad_amount count = {0};
    spad_amount byte = {0};
    int64_t number;
    if (kind != SPAD_SYNC_GROUP && spad__parser_accept(&r->parser, SPAD__LEFT_BRACKET) &&
        !spad__read_amounts(r, dims, &dim_count, SPAD__RIGHT_BRACKET, "',' or ']'")) {
        return false;
    }
    if (kind == SPAD_SYNC_COUNTER) {
        if (spad__parser_accept(&r->parser, SPAD__EQUAL) && !spad__read_amount(r, &count))
            return false;
    } else if (kind != SPAD_SYNC_GROUP) {
        if (!spad__parser_expect_word(&r->parser, "count") || !spad__read_amount(r, &count))
            return false;
    }
    const bool placed = kind == SPAD_SYNC_MBARRIER && spad__parser_accept_word(&r->parser, "at");
    if (placed && !spad__read_amount(r, &byte)) return false;
    spad_status status = spad__kernel_builder_sync(
        &number, r->builder, kind, name, (spad_amounts){dim_count, dims}, count, &r->error);
    if (status == SPAD_OK && placed)
        status = spad__kernel_builder_sync_at(r->builder, number, byte, &r->error);
    if (!spad__reader_accepts(r, span, status)) return false;
    if (kind != SPAD_SYNC_MBARRIER || !spad__parser_accept_word(&r->parser, "each")) return true;
    return spad__parser_expect_word(&r->parser, "block") &&
           spad__reader_accepts(r, span, spad__kernel_builder_each_block(r->builder, &r->error));
}

static bool read_sync_declaration(spad__reader *r, spad_sync_kind kind) {
    char name[SPAD__WORD_MAX];
    spad__span span;
    if (!spad__read_new_name(r, "a name", name, &span)) return false;
    if (read_sync_body(r, kind, name, span)) return spad__parser_end_statement(&r->parser);
    mark_broken(r, name);
    return false;
}

bool spad__read_barrier(spad__reader *r) {
    return read_sync_declaration(r, SPAD_SYNC_BARRIER);
}

bool spad__read_counter(spad__reader *r) {
    return read_sync_declaration(r, SPAD_SYNC_COUNTER);
}

bool spad__read_mbarrier(spad__reader *r) {
    return read_sync_declaration(r, SPAD_SYNC_MBARRIER);
}

bool spad__read_group(spad__reader *r) {
    return read_sync_declaration(r, SPAD_SYNC_GROUP);
}

/* "= 3" or "= [0, 1, 1]" */
static bool read_unknown_values(spad__reader *r, int64_t **values, size_t *count) {
    spad_amount one;
    *count = 0;
    if (!spad__parser_accept(&r->parser, SPAD__EQUAL)) return true;
    const bool list = spad__parser_accept(&r->parser, SPAD__LEFT_BRACKET);
    size_t room = 0;
    do {
        if (!spad__read_amount(r, &one)) return false;
        if (*count == room) {
            const size_t more = room == 0 ? 16 : 2 * room;
            int64_t *longer = spad__arena_array(r->parser.arena, more, sizeof *longer);
            if (longer == NULL) {
                r->parser.out_of_memory = true;
                return false;
            }
            if (*count > 0) memcpy(longer, *values, *count * sizeof *longer);
            *values = longer;
            room = more;
        }
        spad__fix_params(r->builder->kernel, one.expr);
        (*values)[(*count)++] = one.value;
    } while (list && spad__next_item(r));
    return !list || spad__parser_expect(&r->parser, SPAD__RIGHT_BRACKET, "',' or ']'");
}

static bool read_unknown_body(spad__reader *r, const char *name, spad__span span) {
    spad_amount dims[SPAD__INDEX_MAX];
    size_t dim_count = 0;
    spad_amount least = {.value = 0};
    spad_amount end = {.value = 2};
    int64_t *values = NULL;
    size_t value_count;
    int64_t unused;
    if (spad__parser_accept(&r->parser, SPAD__LEFT_BRACKET) &&
        !spad__read_amounts(r, dims, &dim_count, SPAD__RIGHT_BRACKET, "',' or ']'")) {
        return false;
    }
    if (spad__parser_accept_word(&r->parser, "in") &&
        (!spad__read_amount(r, &least) || !spad__parser_expect(&r->parser, SPAD__RANGE, "'..'") ||
         !spad__read_amount(r, &end))) {
        return false;
    }
    return read_unknown_values(r, &values, &value_count) &&
           spad__reader_accepts(r, span,
                                spad__kernel_builder_unknown(&unused, r->builder, name,
                                                             (spad_amounts){dim_count, dims}, least,
                                                             end, values, value_count, &r->error));
}

/* "unknown blocks[G] in 1..4 = [2, 1]" */
bool spad__read_unknown(spad__reader *r) {
    char name[SPAD__WORD_MAX];
    spad__span span;
    if (!spad__read_new_name(r, "a name", name, &span)) return false;
    if (read_unknown_body(r, name, span)) return spad__parser_end_statement(&r->parser);
    mark_broken(r, name);
    return false;
}

/* ---- sources ----------------------------------------------------------------------- */

/* 'source 4 "a.py" 12 from 2 "the line"' */
bool spad__read_source(spad__reader *r) {
    const spad__span first = r->parser.token.span;
    const char *file;
    const char *code = NULL;
    spad_amount number;
    spad_amount line;
    spad_amount caller = {.value = -1};
    int64_t made;
    if (!spad__read_amount(r, &number)) return false;
    if (number.value != (int64_t)r->builder->kernel->sources.count) {
        SPAD__FAULT(r, r->parser.last.span, "sources are numbered in their order: this is %zu",
                    r->builder->kernel->sources.count);
        return false;
    }
    if (r->parser.token.kind != SPAD__STRING) {
        return spad__parser_expected(&r->parser, "the name of a file");
    }
    if (!spad__parser_text(&r->parser, &file) || !spad__read_amount(r, &line)) return false;
    if (line.value < 0 || line.value > INT32_MAX) {
        SPAD__FAULT(r, r->parser.last.span, "%lld is no line", (long long)line.value);
        return false;
    }
    if (spad__parser_accept_word(&r->parser, "from") && !spad__read_amount(r, &caller))
        return false;
    if (r->parser.token.kind == SPAD__STRING && !spad__parser_text(&r->parser, &code)) return false;
    return spad__reader_accepts(r, spad__span_from(r, first),
                                spad__kernel_builder_source(&made, r->builder, file,
                                                            (int32_t)line.value, code, caller.value,
                                                            &r->error)) &&
           spad__parser_end_statement(&r->parser);
}

/* 'fault "the program traps" 2 from 4' */
bool spad__read_fault(spad__reader *r) {
    const spad__span first = r->parser.token.span;
    const char *message;
    spad_amount times = {.value = 1}, source = {.value = -1};
    spad__put_place(r, first);
    if (!spad__parser_text(&r->parser, &message)) return false;
    if (r->parser.token.kind == SPAD__NUMBER && !spad__read_amount(r, &times)) return false;
    if (spad__parser_accept_word(&r->parser, "from") && !spad__read_amount(r, &source))
        return false;
    return spad__reader_accepts(r, spad__span_from(r, first),
                                spad__kernel_builder_from(r->builder, source.value, &r->error)) &&
           spad__reader_accepts(
               r, spad__span_from(r, first),
               spad__kernel_builder_fault(r->builder, message, times.value, &r->error)) &&
           spad__reader_accepts(r, spad__span_from(r, first),
                                spad__kernel_builder_from(r->builder, -1, &r->error)) &&
           spad__parser_end_statement(&r->parser);
}

bool spad__read_from(spad__reader *r) {
    spad_amount source;
    return spad__read_amount(r, &source) &&
           spad__reader_accepts(r, r->parser.last.span,
                                spad__set_source(r->builder, source.value, &r->error));
}

/* ---- threads ------------------------------------------------------------------------ */

bool spad__read_threads(spad__reader *r) {
    spad_amount threads;
    spad_amount registers = {0};
    const spad__span first = r->parser.token.span;
    spad__put_place(r, first);
    if (!spad__read_amount(r, &threads)) return false;
    if (spad__parser_accept_word(&r->parser, "registers") && !spad__read_amount(r, &registers)) {
        return false;
    }
    return spad__reader_accepts(
               r, spad__span_from(r, first),
               spad__kernel_builder_threads(r->builder, threads, registers, &r->error)) &&
           spad__parser_end_statement(&r->parser);
}

bool spad__read_agent_threads(spad__reader *r, spad_amount *threads, spad_amount *registers) {
    *threads = *registers = (spad_amount){0};
    if (spad__parser_accept_word(&r->parser, "of") &&
        (!spad__read_amount(r, threads) || !spad__parser_expect_word(&r->parser, "threads"))) {
        return false;
    }
    return !spad__parser_accept_word(&r->parser, "registers") || spad__read_amount(r, registers);
}

/* ---- tensors ----------------------------------------------------------------------- */

/* The lists of a tensor while it is read. */
typedef struct tensor_text {
    spad_kernel_tensor row;
    spad_amount blocks[SPAD__INDEX_MAX];
    spad_amount dims[SPAD__INDEX_MAX];
    spad_amount ring[SPAD__INDEX_MAX];
    spad_amount steps[SPAD__INDEX_MAX];
    spad_amount free[SPAD__INDEX_MAX];
    spad_amount par[SPAD__INDEX_MAX];
    spad_amount banks[SPAD__INDEX_MAX];
    unsigned seen; /* bit per clause */
    spad_amount source;
} tensor_text;

static bool read_list(spad__reader *r, spad_amount *items, spad_amounts *list) {
    list->items = items;
    return read_counts(r, items, &list->count);
}

/* "of T", "of T[2]", "of T + 512" */
static bool read_alias(spad__reader *r, spad_kernel_tensor *row) {
    spad_amount index[SPAD__INDEX_MAX];
    size_t count = 0;
    row->alias_tile = -1;
    if (!spad__parser_expect_word(&r->parser, "of") ||
        !spad__read_symbol(r, "tensor", SPAD__SYMBOL_TENSOR, &row->alias_of)) {
        return false;
    }
    const spad__span name = r->parser.last.span;
    const spad_kernel_tensor *other = &r->builder->kernel->tensors.items[row->alias_of];
    if (spad__parser_accept(&r->parser, SPAD__LEFT_BRACKET)) {
        if (!spad__read_amounts(r, index, &count, SPAD__RIGHT_BRACKET, "',' or ']'")) return false;
        if (count != other->blocks.count) {
            SPAD__FAULT(r, name, "'%s' has block rank %zu; indices given: %zu", other->name,
                        other->blocks.count, count);
            return false;
        }
        row->alias_tile = 0;
        for (size_t i = 0; i < count; i++) {
            const int64_t extent = other->blocks.items[i].value;
            if (index[i].value < 0 || index[i].value >= extent) {
                SPAD__FAULT(r, spad__span_from(r, name),
                            "index %lld is outside '%s', which has %lld", (long long)index[i].value,
                            other->name, (long long)extent);
                return false;
            }
            row->alias_tile = row->alias_tile * extent + index[i].value;
            spad__fix_params(r->builder->kernel, index[i].expr);
        }
    }
    return !spad__parser_accept(&r->parser, SPAD__PLUS) || spad__read_amount(r, &row->byte);
}

/* X(word, what it does): the clauses of a tensor. */
enum {
    CLAUSE_AUTO,
    CLAUSE_MOD,
    CLAUSE_AT,
    CLAUSE_STACK,
    CLAUSE_HEAP,
    CLAUSE_ALIAS,
    CLAUSE_RING,
    CLAUSE_BASE,
    CLAUSE_LANE,
    CLAUSE_BANK,
    CLAUSE_STEP,
    CLAUSE_FREE,
    CLAUSE_PAR,
    CLAUSE_BANKS,
    CLAUSE_ALIGN,
    CLAUSE_INPUT,
    CLAUSE_OUTPUT,
    CLAUSE_PERSISTENT,
    CLAUSE_REUSED,
    CLAUSE_NEAR,
    CLAUSE_CACHED,
    CLAUSE_PIECES,
    CLAUSE_FROM,
    CLAUSE_LIKE,
    CLAUSES
};
static const char *const clause_words[CLAUSES] = {
    "auto",   "mod",        "at",     "stack", "heap",   "alias",  "ring",  "base",
    "lane",   "bank",       "step",   "free",  "par",    "banks",  "align", "input",
    "output", "persistent", "reused", "near",  "cached", "pieces", "from",  "like",
};
enum { MODE_CLAUSES = (1 << CLAUSE_RING) - 1 };

/* "like other" */
static bool read_tensor_like(spad__reader *r, spad_kernel_tensor *row) {
    int64_t other;
    if (!spad__read_symbol(r, "tensor", SPAD__SYMBOL_TENSOR, &other)) return false;
    row->like = other + 1;
    return true;
}

/* "1 of 2" */
static bool read_cached(spad__reader *r, spad_kernel_tensor *row) {
    return spad__read_amount(r, &row->cached) && spad__parser_expect_word(&r->parser, "of") &&
           spad__read_amount(r, &row->cached_of);
}

static bool read_clause_value(spad__reader *r, tensor_text *t, int clause) {
    static const spad_mode modes[] = {SPAD_MODE_AUTO,  SPAD_MODE_MOD,  SPAD_MODE_AT,
                                      SPAD_MODE_STACK, SPAD_MODE_HEAP, SPAD_MODE_ALIAS};
    spad_kernel_tensor *row = &t->row;
    if (clause < CLAUSE_RING) row->mode = modes[clause];
    switch (clause) {
    case CLAUSE_AT:
    case CLAUSE_BASE: return spad__read_amount(r, &row->byte);
    case CLAUSE_ALIAS: return read_alias(r, row);
    case CLAUSE_RING: return read_list(r, t->ring, &row->ring);
    case CLAUSE_LANE: return spad__read_amount(r, &row->lane);
    case CLAUSE_BANK: return spad__read_amount(r, &row->bank);
    case CLAUSE_STEP:
        return r->parser.token.kind == SPAD__LEFT_BRACKET ? read_list(r, t->steps, &row->steps)
                                                          : spad__read_amount(r, &row->step);
    case CLAUSE_FREE: return read_list(r, t->free, &row->free);
    case CLAUSE_PAR: return read_list(r, t->par, &row->par);
    case CLAUSE_BANKS: return read_list(r, t->banks, &row->banks);
    case CLAUSE_ALIGN: return spad__read_amount(r, &row->align);
    case CLAUSE_REUSED: return spad__read_amount(r, &row->reuse);
    case CLAUSE_NEAR: return spad__read_amount(r, &row->near);
    case CLAUSE_CACHED: return read_cached(r, row);
    case CLAUSE_PIECES: return spad__read_amount(r, &row->pieces);
    case CLAUSE_INPUT: row->flags |= SPAD_TENSOR_INPUT; return true;
    case CLAUSE_OUTPUT: row->flags |= SPAD_TENSOR_OUTPUT; return true;
    case CLAUSE_PERSISTENT: row->flags |= SPAD_TENSOR_PERSISTENT; return true;
    case CLAUSE_FROM: return spad__read_amount(r, &t->source);
    case CLAUSE_LIKE: return read_tensor_like(r, row);
    default: return true;
    }
}

/* One clause, if there is one; *more: there was. */
static bool read_clause(spad__reader *r, tensor_text *t, bool *more) {
    *more = false;
    int clause = 0;
    while (clause < CLAUSES &&
           !spad__token_is(r->parser.source, r->parser.token, clause_words[clause])) {
        clause++;
    }
    if (clause == CLAUSES) {
        return r->parser.token.kind != SPAD__WORD ||
               spad__unknown_word(r, "a tensor", clause_words, CLAUSES);
    }
    spad__parser_take(&r->parser);
    const unsigned bit = 1u << clause;
    const bool second_mode = clause < CLAUSE_RING && (t->seen & MODE_CLAUSES) != 0;
    if ((t->seen & bit) != 0 || second_mode) {
        SPAD__FAULT(r, r->parser.last.span,
                    second_mode ? "'%s' is a second placement; a tensor has one"
                                : "'%s' is given twice",
                    clause_words[clause]);
        return false;
    }
    t->seen |= bit;
    *more = true;
    return read_clause_value(r, t, clause);
}

static bool read_tensor_body(spad__reader *r, tensor_text *t, spad__span name) {
    char dtype[SPAD__WORD_MAX];
    if (!spad__parser_expect(&r->parser, SPAD__COLON, "':'") ||
        !read_space_name(r, &t->row.space) || !spad__read_word(r, "an element type", dtype)) {
        return false;
    }
    if (!spad__reader_accepts(r, r->parser.last.span,
                              spad_dtype_parse(&t->row.dtype, dtype, &r->error))) {
        return false;
    }
    const spad__span shape = r->parser.token.span;
    t->row.blocks.items = t->blocks;
    t->row.dims.items = t->dims;
    if (spad__parser_accept(&r->parser, SPAD__LEFT_BRACKET) &&
        !spad__read_amounts(r, t->blocks, &t->row.blocks.count, SPAD__RIGHT_BRACKET,
                            "',' or ']'")) {
        return false;
    }
    if (!spad__parser_expect(&r->parser, SPAD__LEFT_PARENTHESIS, "'(' and the shape of a tile") ||
        !spad__read_amounts(r, t->dims, &t->row.dims.count, SPAD__RIGHT_PARENTHESIS,
                            "',' or ')'")) {
        return false;
    }
    const spad__span sizes = spad__span_from(r, shape);
    for (bool more = true; more;) {
        if (!read_clause(r, t, &more)) return false;
    }
    int64_t unused;
    spad__put_place(r, name);
    const spad_status status = spad__kernel_builder_tensor(&unused, r->builder, &t->row, &r->error);
    const bool about_shape =
        status == SPAD_ERR_SHAPE || status == SPAD_ERR_LANES || status == SPAD_ERR_OVERFLOW;
    if (!spad__reader_accepts(r, about_shape ? sizes : name, status)) return false;
    return (t->seen & 1u << CLAUSE_FROM) == 0 ||
           spad__reader_accepts(r, spad__span_from(r, sizes),
                                spad__set_source(r->builder, t->source.value, &r->error));
}

/* The colon is next: "tensor x" is read. */
bool spad__read_tensor(spad__reader *r, const char *name, spad__span span) {
    tensor_text t;
    memset(&t, 0, sizeof t);
    t.row.name = name;
    if (read_tensor_body(r, &t, span)) return spad__parser_end_statement(&r->parser);
    mark_broken(r, name);
    return false;
}
