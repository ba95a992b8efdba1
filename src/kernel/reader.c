/* SPDX-License-Identifier: Apache-2.0
 *
 * The reader of kernel text (docs/kernel.md has the grammar): words to calls of
 * the builder. What the reader knows is grammar; what a kernel must obey is
 * checked by the builder, whose message is then shown at the words it is about.
 *
 * Nothing is recursive: blocks are kept by the builder, expressions are read with
 * two short stacks (Dijkstra's shunting yard). Cost: linear in the text.
 *
 * After a fault the statement is skipped, with the block that it opens. A name
 * whose declaration was faulty is remembered, so that its uses do not count as
 * faults again.
 */
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/parser.h"
#include "base/text.h"
#include "kernel/kernel.h"

enum { WORD_MAX = SPAD__NAME_MAX + 1, INDEX_MAX = SPAD_RANK_MAX };

typedef struct reader {
    spad__parser parser;
    spad_kernel_builder *builder;
    const spad_kernel_options *options;
    spad_error error; /* of the last call of the builder */
    /* the place of a byte, for spans that mostly go forward */
    size_t counted;
    int32_t line;
    int32_t column;
} reader;

#define FAULT(r, span, ...) \
    spad__diagnostics_add((r)->parser.diagnostics, (r)->parser.source, span, __VA_ARGS__)

/* ---- faults and places ------------------------------------------------------------------ */

/* Did a call of the builder go well? Else its message is shown at the span. */
static bool went_well(reader *r, spad__span span, spad_status status) {
    if (status == SPAD_OK) return true;
    if (status == SPAD_ERR_HOST_MEMORY) {
        r->parser.out_of_memory = true;
    } else {
        FAULT(r, span, "%s", r->error.message);
    }
    return false;
}

static bool stopped(const reader *r) {
    return r->parser.out_of_memory || spad__diagnostics_full(r->parser.diagnostics);
}

/* Tells the builder where the span is. */
static void put_place(reader *r, spad__span span) {
    if (span.start < r->counted) {
        r->counted = 0;
        r->line = r->column = 1;
    }
    for (; r->counted < span.start; r->counted++) {
        const unsigned char c = (unsigned char)r->parser.source->text[r->counted];
        const bool continues = (c & 0xC0) == 0x80; /* of a UTF-8 character */
        r->column = c == '\n' ? 1 : r->column + !continues;
        r->line += c == '\n';
    }
    const spad_place place = {r->line, r->column, span.length > 0 ? (int32_t)span.length : 1};
    spad_kernel_builder_at(r->builder, place);
}

static spad__span from_here(const reader *r, spad__span first) {
    return spad__span_join(first, r->parser.last.span);
}

/* Copies the last word; false, reported, if it is too long for a name. */
static bool copy_word(reader *r, char word[WORD_MAX]) {
    const spad__span span = r->parser.last.span;
    if (span.length >= WORD_MAX) {
        FAULT(r, span, "a name has at most %d characters", WORD_MAX - 1);
        return false;
    }
    memcpy(word, r->parser.source->text + span.start, span.length);
    word[span.length] = '\0';
    return true;
}

static bool read_word(reader *r, const char *what, char word[WORD_MAX]) {
    return spad__parser_expect(&r->parser, SPAD__WORD, what) && copy_word(r, word);
}

/* ---- expressions --------------------------------------------------------------------------- */

enum { STACK_MAX = 2 * SPAD_EXPR_MAX };

/* SPAD_EXPR_NUMBER on the stack of operators is an open parenthesis. */
typedef struct yard {
    spad_expr operands[STACK_MAX];
    size_t operand_count;
    spad_expr_op operators[STACK_MAX];
    size_t operator_count;
    spad__span first;
} yard;

static int priority(spad_expr_op op) {
    if (op == SPAD_EXPR_NUMBER) return 0;
    if (op == SPAD_EXPR_ADD || op == SPAD_EXPR_SUB) return 1;
    return op == SPAD_EXPR_NEGATE ? 3 : 2;
}

/* Applies operators from the top down to a priority. */
static bool reduce(reader *r, yard *y, int least) {
    while (y->operator_count > 0) {
        const spad_expr_op op = y->operators[y->operator_count - 1];
        if (priority(op) < least || op == SPAD_EXPR_NUMBER) return true;
        y->operator_count--;
        spad_expr right = 0;
        if (op != SPAD_EXPR_NEGATE) right = y->operands[--y->operand_count];
        spad_expr *left = &y->operands[y->operand_count - 1];
        if (!went_well(r, from_here(r, y->first),
                       spad_kernel_builder_apply(left, r->builder, op, *left, right, &r->error))) {
            return false;
        }
    }
    return true;
}

static bool push_operator(reader *r, yard *y, spad_expr_op op) {
    if (y->operator_count == STACK_MAX) {
        FAULT(r, r->parser.last.span, "the expression is nested too deep");
        return false;
    }
    y->operators[y->operator_count++] = op;
    return true;
}

static bool read_number(reader *r, spad_expr *out) {
    static const struct {
        const char *name;
        int64_t factor;
    } sizes[] = {{"B", 1}, {"KiB", 1024}, {"MiB", 1024 * 1024}, {"GiB", 1024 * 1024 * 1024}};
    const spad__token token = spad__parser_take(&r->parser);
    int64_t value = token.digits;
    if (token.scale != 0) {
        FAULT(r, token.span, "a whole number is wanted here");
        return false;
    }
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (!spad__parser_accept_word(&r->parser, sizes[i].name)) continue;
        if (!spad__mul(value, sizes[i].factor, &value)) {
            FAULT(r, from_here(r, token.span), "the size does not fit 64 bits");
            return false;
        }
        break;
    }
    return went_well(r, token.span, spad_kernel_builder_number(out, r->builder, value, &r->error));
}

static bool read_name(reader *r, spad_expr *out) {
    char name[WORD_MAX];
    spad__parser_take(&r->parser);
    if (!copy_word(r, name)) return false;
    const spad__symbol *symbol = spad__find_symbol(r->builder, name);
    if (symbol != NULL && symbol->kind == SPAD__SYMBOL_BROKEN) {
        *out = 0;
        return false;
    }
    return went_well(r, r->parser.last.span,
                     spad_kernel_builder_name(out, r->builder, name, &r->error));
}

/* Signs and parentheses in front of an operand, and the operand. */
static bool read_operand(reader *r, yard *y) {
    for (;;) {
        if (spad__parser_accept(&r->parser, SPAD__MINUS)) {
            if (!push_operator(r, y, SPAD_EXPR_NEGATE)) return false;
        } else if (spad__parser_accept(&r->parser, SPAD__LEFT_PARENTHESIS)) {
            if (!push_operator(r, y, SPAD_EXPR_NUMBER)) return false;
        } else {
            break;
        }
    }
    if (y->operand_count == STACK_MAX) {
        FAULT(r, r->parser.token.span, "the expression is nested too deep");
        return false;
    }
    spad_expr *operand = &y->operands[y->operand_count++];
    if (r->parser.token.kind == SPAD__NUMBER) return read_number(r, operand);
    if (r->parser.token.kind == SPAD__WORD) return read_name(r, operand);
    return spad__parser_expected(&r->parser, "a number, a name or '('");
}

static bool find_operator(spad__token_kind kind, spad_expr_op *op) {
    switch (kind) {
    case SPAD__PLUS: *op = SPAD_EXPR_ADD; return true;
    case SPAD__MINUS: *op = SPAD_EXPR_SUB; return true;
    case SPAD__STAR: *op = SPAD_EXPR_MUL; return true;
    case SPAD__SLASH: *op = SPAD_EXPR_DIV; return true;
    case SPAD__PERCENT: *op = SPAD_EXPR_MOD; return true;
    default: return false;
    }
}

/* Closes the innermost parenthesis, if one is open. */
static bool close_parenthesis(reader *r, yard *y, bool *closed) {
    *closed = false;
    for (size_t i = y->operator_count; i > 0 && !*closed; i--) {
        *closed = y->operators[i - 1] == SPAD_EXPR_NUMBER;
    }
    if (!*closed) return true;
    spad__parser_take(&r->parser);
    if (!reduce(r, y, 1)) return false;
    y->operator_count--;
    return true;
}

static bool read_expr(reader *r, spad_expr *out) {
    yard y;
    y.operand_count = y.operator_count = 0;
    y.first = r->parser.token.span;
    if (!read_operand(r, &y)) return false;
    for (;;) {
        spad_expr_op op;
        if (r->parser.token.kind == SPAD__RIGHT_PARENTHESIS) {
            bool closed;
            if (!close_parenthesis(r, &y, &closed)) return false;
            if (!closed) break;
        } else if (find_operator(r->parser.token.kind, &op)) {
            spad__parser_take(&r->parser);
            if (!reduce(r, &y, priority(op)) || !push_operator(r, &y, op)) return false;
            if (!read_operand(r, &y)) return false;
        } else {
            break;
        }
    }
    if (!reduce(r, &y, 1)) return false;
    if (y.operator_count > 0) return spad__parser_expected(&r->parser, "')'");
    *out = y.operands[0];
    return true;
}

/* A number that does not change: numbers and parameters. */
static bool read_amount(reader *r, spad_amount *amount) {
    const spad__span first = r->parser.token.span;
    amount->value = 0;
    return read_expr(r, &amount->expr) &&
           went_well(r, from_here(r, first), spad__settle(r->builder, amount, &r->error));
}

/* ---- lists ------------------------------------------------------------------------------------
 */

/* A comma between two items; a line may end behind it. */
static bool next_item(reader *r) {
    if (!spad__parser_accept(&r->parser, SPAD__COMMA)) return false;
    spad__parser_skip_lines(&r->parser);
    return true;
}

static bool has_room(reader *r, size_t count) {
    if (count < INDEX_MAX) return true;
    FAULT(r, r->parser.token.span, "more than %d dimensions", INDEX_MAX);
    return false;
}

/* Amounts up to a closing bracket; the opening one is taken. */
static bool read_amounts(reader *r, spad_amount *items, size_t *count, spad__token_kind closing,
                         const char *what) {
    *count = 0;
    do {
        if (!has_room(r, *count) || !read_amount(r, &items[*count])) return false;
        (*count)++;
    } while (next_item(r));
    return spad__parser_expect(&r->parser, closing, what);
}

/* "2" or "[2, 4]" */
static bool read_counts(reader *r, spad_amount *items, size_t *count) {
    if (spad__parser_accept(&r->parser, SPAD__LEFT_BRACKET)) {
        return read_amounts(r, items, count, SPAD__RIGHT_BRACKET, "',' or ']'");
    }
    *count = 1;
    return read_amount(r, &items[0]);
}

/* "[i, j + 1]" or nothing. */
static bool read_index(reader *r, spad_expr *index, size_t *count) {
    *count = 0;
    if (!spad__parser_accept(&r->parser, SPAD__LEFT_BRACKET)) return true;
    do {
        if (!has_room(r, *count) || !read_expr(r, &index[*count])) return false;
        (*count)++;
    } while (next_item(r));
    return spad__parser_expect(&r->parser, SPAD__RIGHT_BRACKET, "',' or ']'");
}

/* "..", "3", "0..64" */
static bool read_range(reader *r, spad_expr_range *range) {
    *range = (spad_expr_range){0};
    if (spad__parser_accept(&r->parser, SPAD__RANGE)) return true;
    if (!read_expr(r, &range->from)) return false;
    return !spad__parser_accept(&r->parser, SPAD__RANGE) || read_expr(r, &range->to);
}

/* ---- names of things ----------------------------------------------------------------------------
 */

/* A thing of a kind by the last word. A broken name is a silent fault. */
static bool find_symbol(reader *r, const char *what, spad__symbol_kind kind, int64_t *number) {
    char name[WORD_MAX];
    if (!copy_word(r, name)) return false;
    const spad__symbol *symbol = spad__find_symbol(r->builder, name);
    if (symbol != NULL && symbol->kind == SPAD__SYMBOL_BROKEN) return false;
    if (symbol != NULL && symbol->kind == kind) {
        *number = symbol->number;
        return true;
    }
    if (symbol != NULL) {
        FAULT(r, r->parser.last.span, "'%s' is %s, not %s", name, spad__symbol_phrase(symbol->kind),
              spad__symbol_phrase(kind));
        return false;
    }
    return went_well(r, r->parser.last.span,
                     spad__fail_unknown(r->builder, what, name, kind, &r->error));
}

static bool read_symbol(reader *r, const char *what, spad__symbol_kind kind, int64_t *number) {
    return spad__parser_expect(&r->parser, SPAD__WORD, spad__symbol_phrase(kind)) &&
           find_symbol(r, what, kind, number);
}

static bool read_unit_name(reader *r, int64_t *unit) {
    if (!spad__parser_expect(&r->parser, SPAD__WORD, "a unit")) return false;
    char name[WORD_MAX];
    size_t engine;
    if (!copy_word(r, name)) return false;
    if (spad__find_symbol(r->builder, name) == NULL &&
        spad_target_engine(&engine, r->builder->kernel->target, name, NULL) == SPAD_OK) {
        FAULT(r, r->parser.last.span,
              "engine '%s' is not declared as a unit here; write 'unit %s fifo' above", name, name);
        return false;
    }
    return find_symbol(r, "unit", SPAD__SYMBOL_UNIT, unit);
}

static bool read_space_name(reader *r, size_t *space) {
    const char *name;
    return spad__parser_name(&r->parser, "the name of a space", &name) &&
           went_well(r, r->parser.last.span,
                     spad_target_space(space, r->builder->kernel->target, name, &r->error));
}

/* ---- declarations
 * ---------------------------------------------------------------------------------- */

/* The name of something new; it counts as broken until it is declared. */
static bool read_new_name(reader *r, const char *what, char name[WORD_MAX], spad__span *span) {
    if (!read_word(r, what, name)) return false;
    *span = r->parser.last.span;
    put_place(r, *span);
    return true;
}

static bool read_param(reader *r) {
    char name[WORD_MAX];
    spad__span span;
    spad_amount preset;
    spad_expr unused;
    if (!read_new_name(r, "a name for the parameter", name, &span)) return false;
    const bool fine =
        spad__parser_expect(&r->parser, SPAD__EQUAL, "'='") && read_amount(r, &preset) &&
        went_well(r, span, spad_kernel_builder_param(&unused, r->builder, name, preset, &r->error));
    if (!fine) spad__add_broken(r->builder, name);
    return fine && spad__parser_end_statement(&r->parser);
}

/* "as library_2026_04" */
static bool read_behaviour(reader *r, spad_stack_behaviour *behaviour) {
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

static bool read_region(reader *r) {
    size_t space;
    spad_amount lower;
    spad_amount upper;
    spad_stack_behaviour behaviour;
    const spad__span first = r->parser.token.span;
    put_place(r, first);
    return read_space_name(r, &space) && read_amount(r, &lower) &&
           spad__parser_expect(&r->parser, SPAD__RANGE, "'..'") && read_amount(r, &upper) &&
           read_behaviour(r, &behaviour) &&
           went_well(
               r, from_here(r, first),
               spad_kernel_builder_region(r->builder, space, lower, upper, behaviour, &r->error)) &&
           spad__parser_end_statement(&r->parser);
}

static bool read_unit_body(reader *r, const char *name, spad__span span) {
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
    int64_t unused;
    if (!went_well(
            r, engine_span,
            spad_target_engine(&engine, r->builder->kernel->target, engine_name, &r->error))) {
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
    return went_well(r, span,
                     spad_kernel_builder_unit(&unused, r->builder, name, engine,
                                              (spad_unit_order)order, proxy, &r->error));
}

static bool read_unit(reader *r) {
    char name[WORD_MAX];
    spad__span span;
    if (!read_new_name(r, "a name for the unit", name, &span)) return false;
    if (read_unit_body(r, name, span)) return spad__parser_end_statement(&r->parser);
    spad__add_broken(r->builder, name);
    return false;
}

static bool read_sync_body(reader *r, spad_sync_kind kind, const char *name, spad__span span) {
    spad_amount dims[INDEX_MAX];
    size_t dim_count = 0;
    spad_amount count = {0};
    int64_t unused;
    if (kind != SPAD_SYNC_GROUP && spad__parser_accept(&r->parser, SPAD__LEFT_BRACKET) &&
        !read_amounts(r, dims, &dim_count, SPAD__RIGHT_BRACKET, "',' or ']'")) {
        return false;
    }
    if (kind == SPAD_SYNC_COUNTER) {
        if (spad__parser_accept(&r->parser, SPAD__EQUAL) && !read_amount(r, &count)) return false;
    } else if (kind != SPAD_SYNC_GROUP) {
        if (!spad__parser_expect_word(&r->parser, "count") || !read_amount(r, &count)) return false;
    }
    return went_well(r, span,
                     spad_kernel_builder_sync(&unused, r->builder, kind, name,
                                              (spad_amounts){dim_count, dims}, count, &r->error));
}

static bool read_sync_declaration(reader *r, spad_sync_kind kind) {
    char name[WORD_MAX];
    spad__span span;
    if (!read_new_name(r, "a name", name, &span)) return false;
    if (read_sync_body(r, kind, name, span)) return spad__parser_end_statement(&r->parser);
    spad__add_broken(r->builder, name);
    return false;
}

static bool read_barrier(reader *r) {
    return read_sync_declaration(r, SPAD_SYNC_BARRIER);
}

static bool read_counter(reader *r) {
    return read_sync_declaration(r, SPAD_SYNC_COUNTER);
}

static bool read_mbarrier(reader *r) {
    return read_sync_declaration(r, SPAD_SYNC_MBARRIER);
}

static bool read_group(reader *r) {
    return read_sync_declaration(r, SPAD_SYNC_GROUP);
}

/* ---- tensors
 * ---------------------------------------------------------------------------------------- */

/* The lists of a tensor while it is read. */
typedef struct tensor_text {
    spad_kernel_tensor row;
    spad_amount blocks[INDEX_MAX];
    spad_amount dims[INDEX_MAX];
    spad_amount ring[INDEX_MAX];
    spad_amount free[INDEX_MAX];
    spad_amount par[INDEX_MAX];
    spad_amount banks[INDEX_MAX];
    unsigned seen; /* bit per clause */
} tensor_text;

static bool read_list(reader *r, spad_amount *items, spad_amounts *list) {
    list->items = items;
    return read_counts(r, items, &list->count);
}

/* "of T", "of T[2]", "of T + 512" */
static bool read_alias(reader *r, spad_kernel_tensor *row) {
    spad_amount index[INDEX_MAX];
    size_t count = 0;
    row->alias_tile = -1;
    if (!spad__parser_expect_word(&r->parser, "of") ||
        !read_symbol(r, "tensor", SPAD__SYMBOL_TENSOR, &row->alias_of)) {
        return false;
    }
    const spad__span name = r->parser.last.span;
    const spad_kernel_tensor *other = &r->builder->kernel->tensors.items[row->alias_of];
    if (spad__parser_accept(&r->parser, SPAD__LEFT_BRACKET)) {
        if (!read_amounts(r, index, &count, SPAD__RIGHT_BRACKET, "',' or ']'")) return false;
        if (count != other->blocks.count) {
            FAULT(r, name, "'%s' has block rank %zu; indices given: %zu", other->name,
                  other->blocks.count, count);
            return false;
        }
        row->alias_tile = 0;
        for (size_t i = 0; i < count; i++) {
            const int64_t extent = other->blocks.items[i].value;
            if (index[i].value < 0 || index[i].value >= extent) {
                FAULT(r, from_here(r, name), "index %lld is outside '%s', which has %lld",
                      (long long)index[i].value, other->name, (long long)extent);
                return false;
            }
            row->alias_tile = row->alias_tile * extent + index[i].value;
        }
    }
    return !spad__parser_accept(&r->parser, SPAD__PLUS) || read_amount(r, &row->byte);
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
    CLAUSES
};
static const char *const clause_words[CLAUSES] = {
    "auto", "mod",  "at",   "stack", "heap",  "alias", "ring",  "base",   "lane",
    "bank", "step", "free", "par",   "banks", "align", "input", "output", "persistent",
};
enum { MODE_CLAUSES = (1 << CLAUSE_RING) - 1 };

static bool read_clause_value(reader *r, tensor_text *t, int clause) {
    static const spad_mode modes[] = {SPAD_MODE_AUTO,  SPAD_MODE_MOD,  SPAD_MODE_AT,
                                      SPAD_MODE_STACK, SPAD_MODE_HEAP, SPAD_MODE_ALIAS};
    spad_kernel_tensor *row = &t->row;
    if (clause < CLAUSE_RING) row->mode = modes[clause];
    switch (clause) {
    case CLAUSE_AT:
    case CLAUSE_BASE: return read_amount(r, &row->byte);
    case CLAUSE_ALIAS: return read_alias(r, row);
    case CLAUSE_RING: return read_list(r, t->ring, &row->ring);
    case CLAUSE_LANE: return read_amount(r, &row->lane);
    case CLAUSE_BANK: return read_amount(r, &row->bank);
    case CLAUSE_STEP: return read_amount(r, &row->step);
    case CLAUSE_FREE: return read_list(r, t->free, &row->free);
    case CLAUSE_PAR: return read_list(r, t->par, &row->par);
    case CLAUSE_BANKS: return read_list(r, t->banks, &row->banks);
    case CLAUSE_ALIGN: return read_amount(r, &row->align);
    case CLAUSE_INPUT: row->flags |= SPAD_TENSOR_INPUT; return true;
    case CLAUSE_OUTPUT: row->flags |= SPAD_TENSOR_OUTPUT; return true;
    case CLAUSE_PERSISTENT: row->flags |= SPAD_TENSOR_PERSISTENT; return true;
    default: return true;
    }
}

/* Reports that the next word is none of the words that may stand there. */
static bool unknown_word(reader *r, const char *what, const char *const *words, size_t count) {
    char quoted[64];
    char word[64];
    char hint[192];
    spad__token_describe(quoted, sizeof quoted, r->parser.source, r->parser.token);
    snprintf(word, sizeof word, "%.*s", (int)strlen(quoted) - 2, quoted + 1);
    spad_close_names(hint, sizeof hint, word, words, count);
    FAULT(r, r->parser.token.span, "%s has no %s%s", what, quoted, hint);
    return false;
}

/* One clause, if there is one; *more: there was. */
static bool read_clause(reader *r, tensor_text *t, bool *more) {
    *more = false;
    int clause = 0;
    while (clause < CLAUSES &&
           !spad__token_is(r->parser.source, r->parser.token, clause_words[clause])) {
        clause++;
    }
    if (clause == CLAUSES) {
        return r->parser.token.kind != SPAD__WORD ||
               unknown_word(r, "a tensor", clause_words, CLAUSES);
    }
    spad__parser_take(&r->parser);
    const unsigned bit = 1u << clause;
    const bool second_mode = clause < CLAUSE_RING && (t->seen & MODE_CLAUSES) != 0;
    if ((t->seen & bit) != 0 || second_mode) {
        FAULT(r, r->parser.last.span,
              second_mode ? "a tensor has one placement, and '%s' is another"
                          : "'%s' is given twice",
              clause_words[clause]);
        return false;
    }
    t->seen |= bit;
    *more = true;
    return read_clause_value(r, t, clause);
}

static bool read_tensor_body(reader *r, tensor_text *t, spad__span name) {
    char dtype[WORD_MAX];
    if (!spad__parser_expect(&r->parser, SPAD__COLON, "':'") ||
        !read_space_name(r, &t->row.space) || !read_word(r, "an element type", dtype)) {
        return false;
    }
    if (!went_well(r, r->parser.last.span, spad_dtype_parse(&t->row.dtype, dtype, &r->error))) {
        return false;
    }
    const spad__span shape = r->parser.token.span;
    t->row.blocks.items = t->blocks;
    t->row.dims.items = t->dims;
    if (spad__parser_accept(&r->parser, SPAD__LEFT_BRACKET) &&
        !read_amounts(r, t->blocks, &t->row.blocks.count, SPAD__RIGHT_BRACKET, "',' or ']'")) {
        return false;
    }
    if (!spad__parser_expect(&r->parser, SPAD__LEFT_PARENTHESIS, "'(' and the shape of a tile") ||
        !read_amounts(r, t->dims, &t->row.dims.count, SPAD__RIGHT_PARENTHESIS, "',' or ')'")) {
        return false;
    }
    const spad__span sizes = from_here(r, shape);
    for (bool more = true; more;) {
        if (!read_clause(r, t, &more)) return false;
    }
    int64_t unused;
    put_place(r, name);
    const spad_status status = spad_kernel_builder_tensor(&unused, r->builder, &t->row, &r->error);
    const bool about_shape =
        status == SPAD_ERR_SHAPE || status == SPAD_ERR_LANES || status == SPAD_ERR_OVERFLOW;
    return went_well(r, about_shape ? sizes : name, status);
}

/* The colon is next: "tensor x" is read. */
static bool read_tensor(reader *r, const char *name, spad__span span) {
    tensor_text t;
    memset(&t, 0, sizeof t);
    t.row.name = name;
    if (read_tensor_body(r, &t, span)) return spad__parser_end_statement(&r->parser);
    spad__add_broken(r->builder, name);
    return false;
}

/* ---- operations
 * -------------------------------------------------------------------------------------- */

static bool read_access(reader *r, unsigned kind) {
    spad_expr index[INDEX_MAX];
    spad_expr_range ranges[INDEX_MAX];
    spad_kernel_access access = {.kind = kind, .index = index, .ranges = ranges};
    if (!read_symbol(r, "tensor", SPAD__SYMBOL_TENSOR, &access.tensor)) return false;
    const spad__span first = r->parser.last.span;
    if (!read_index(r, index, &access.index_count)) return false;
    if (spad__parser_accept(&r->parser, SPAD__LEFT_PARENTHESIS)) {
        do {
            if (!has_room(r, access.range_count)) return false;
            if (!read_range(r, &ranges[access.range_count])) return false;
            access.range_count++;
        } while (next_item(r));
        if (!spad__parser_expect(&r->parser, SPAD__RIGHT_PARENTHESIS, "',' or ')'")) return false;
    }
    const spad__span span = from_here(r, first);
    put_place(r, span);
    return went_well(r, span, spad_kernel_builder_access(r->builder, &access, &r->error));
}

static bool read_accesses(reader *r, unsigned kind) {
    do {
        if (!read_access(r, kind)) return false;
    } while (next_item(r));
    return true;
}

/* "full[s] by 2 after reads" */
static bool read_completion(reader *r, spad_completion_kind kind) {
    spad_expr index[INDEX_MAX];
    spad_kernel_completion completion = {.kind = kind, .index = index};
    const spad__span first = r->parser.token.span;
    if (!read_symbol(r, "barrier, counter or group", SPAD__SYMBOL_SYNC, &completion.object) ||
        !read_index(r, index, &completion.index_count)) {
        return false;
    }
    if (spad__parser_accept_word(&r->parser, "by") && !read_expr(r, &completion.amount)) {
        return false;
    }
    if (spad__parser_accept_word(&r->parser, "after")) {
        if (!spad__parser_expect_word(&r->parser, "reads")) return false;
        completion.flags |= SPAD_SYNC_READS;
    }
    const spad__span span = from_here(r, first);
    put_place(r, span);
    return went_well(r, span, spad_kernel_builder_completion(r->builder, &completion, &r->error));
}

static bool read_membership(reader *r) {
    int64_t group;
    return read_symbol(r, "group", SPAD__SYMBOL_SYNC, &group) &&
           went_well(r, r->parser.last.span,
                     spad_kernel_builder_group(r->builder, group, &r->error));
}

static bool read_cost(reader *r) {
    spad_expr cost;
    spad_cost_kind kind;
    const spad__span first = r->parser.token.span;
    if (!read_expr(r, &cost)) return false;
    if (spad__parser_accept_word(&r->parser, "cycles")) {
        kind = SPAD_COST_CYCLES;
    } else if (spad__parser_accept_word(&r->parser, "ns")) {
        kind = SPAD_COST_NS;
    } else {
        return spad__parser_expected(&r->parser, "'cycles' or 'ns'");
    }
    return went_well(r, from_here(r, first),
                     spad_kernel_builder_cost(r->builder, kind, cost, &r->error));
}

enum {
    OP_READS,
    OP_WRITES,
    OP_UPDATES,
    OP_IN,
    OP_DELIVERS,
    OP_ARRIVES,
    OP_SIGNALS,
    OP_COST,
    OP_CLAUSES
};
static const char *const op_words[OP_CLAUSES] = {"reads",    "writes",  "updates", "in",
                                                 "delivers", "arrives", "signals", "cost"};

/* The clause that the next word starts, or OP_CLAUSES. */
static int op_clause(const reader *r) {
    int clause = 0;
    while (clause < OP_CLAUSES &&
           !spad__token_is(r->parser.source, r->parser.token, op_words[clause])) {
        clause++;
    }
    return clause;
}

static bool read_op_clause(reader *r, int clause) {
    spad__parser_take(&r->parser);
    switch (clause) {
    case OP_READS: return read_accesses(r, SPAD_ACCESS_READ);
    case OP_WRITES: return read_accesses(r, SPAD_ACCESS_WRITE);
    case OP_UPDATES: return read_accesses(r, SPAD_ACCESS_UPDATE);
    case OP_IN: return read_membership(r);
    case OP_DELIVERS: return read_completion(r, SPAD_COMPLETION_DELIVER);
    case OP_ARRIVES: return read_completion(r, SPAD_COMPLETION_ARRIVE);
    case OP_SIGNALS: return read_completion(r, SPAD_COMPLETION_SIGNAL);
    default: return read_cost(r);
    }
}

/* Clauses up to the end of the line, and of the next lines that start with one. */
static bool read_op_clauses(reader *r) {
    for (;;) {
        int clause = op_clause(r);
        if (clause == OP_CLAUSES) {
            if (r->parser.token.kind == SPAD__WORD) {
                return unknown_word(r, "an operation", op_words, OP_CLAUSES);
            }
            if (!spad__parser_end_statement(&r->parser)) return false;
            spad__parser_skip_lines(&r->parser);
            clause = op_clause(r);
            if (clause == OP_CLAUSES) return true;
        }
        if (!read_op_clause(r, clause)) return false;
    }
}

/* Engine and name are read. */
static bool read_operation(reader *r, const char *runner, spad__span span, const char *name) {
    const spad__symbol *symbol = spad__find_symbol(r->builder, runner);
    if (symbol != NULL && symbol->kind == SPAD__SYMBOL_BROKEN) return false;
    put_place(r, span);
    return went_well(r, span, spad_kernel_builder_operation(r->builder, runner, name, &r->error)) &&
           read_op_clauses(r);
}

/* ---- synchronisation
 * ------------------------------------------------------------------------------------ */

typedef struct sync_text {
    spad_statement row;
    spad_expr index[INDEX_MAX];
    spad__span span;
} sync_text;

static void start_sync(reader *r, sync_text *s, spad_statement_kind kind) {
    memset(s, 0, sizeof *s);
    s->row = spad_statement_of(kind, -1);
    s->row.index = s->index;
    s->span = r->parser.last.span;
}

static bool finish_sync(reader *r, sync_text *s) {
    const spad__span span = from_here(r, s->span);
    put_place(r, span);
    return went_well(r, span, spad_kernel_builder_statement(r->builder, &s->row, &r->error)) &&
           spad__parser_end_statement(&r->parser);
}

static bool read_object(reader *r, sync_text *s) {
    return read_symbol(r, "barrier, counter or group", SPAD__SYMBOL_SYNC, &s->row.item) &&
           read_index(r, s->index, &s->row.index_count);
}

/* The rest of a statement about an object: clauses in any order. */
static bool read_sync_clauses(reader *r, sync_text *s) {
    for (;;) {
        if (spad__parser_accept_word(&r->parser, "by") ||
            spad__parser_accept_word(&r->parser, "count")) {
            if (!read_expr(r, &s->row.amount)) return false;
        } else if (spad__parser_accept_word(&r->parser, "expect")) {
            if (!read_expr(r, &s->row.expect)) return false;
        } else if (spad__parser_accept_word(&r->parser, "on")) {
            if (!read_unit_name(r, &s->row.unit)) return false;
        } else if (spad__parser_accept_word(&r->parser, "relaxed")) {
            s->row.flags |= SPAD_SYNC_RELAXED;
        } else if (spad__parser_accept_word(&r->parser, "drop")) {
            s->row.flags |= SPAD_SYNC_DROP;
        } else if (spad__parser_accept_word(&r->parser, "reads")) {
            s->row.flags |= SPAD_SYNC_READS;
        } else {
            return true;
        }
    }
}

static bool read_object_statement(reader *r, spad_statement_kind kind) {
    sync_text s;
    start_sync(r, &s, kind);
    return read_object(r, &s) && read_sync_clauses(r, &s) && finish_sync(r, &s);
}

static bool read_arrive(reader *r) {
    return read_object_statement(r, SPAD_STATEMENT_ARRIVE);
}

static bool read_signal(reader *r) {
    return read_object_statement(r, SPAD_STATEMENT_SIGNAL);
}

static bool read_take(reader *r) {
    return read_object_statement(r, SPAD_STATEMENT_TAKE);
}

static bool read_init(reader *r) {
    return read_object_statement(r, SPAD_STATEMENT_INIT);
}

static bool read_expect(reader *r) {
    return read_object_statement(r, SPAD_STATEMENT_EXPECT);
}

static bool read_invalidate(reader *r) {
    return read_object_statement(r, SPAD_STATEMENT_INVALIDATE);
}

static bool read_commit(reader *r) {
    return read_object_statement(r, SPAD_STATEMENT_COMMIT);
}

/* The kind of the object is seen from what is waited for. */
static bool read_wait(reader *r) {
    sync_text s;
    start_sync(r, &s, SPAD_STATEMENT_WAIT_VALUE);
    if (!read_object(r, &s)) return false;
    if (spad__parser_accept_word(&r->parser, "parity")) {
        s.row.kind = SPAD_STATEMENT_WAIT_PARITY;
    } else if (spad__parser_accept_word(&r->parser, "pending")) {
        s.row.kind = SPAD_STATEMENT_WAIT_GROUP;
    } else if (!spad__parser_accept(&r->parser, SPAD__GREATER_EQUAL)) {
        return spad__parser_expected(&r->parser, "'>=', 'parity' or 'pending'");
    }
    return read_expr(r, &s.row.amount) && read_sync_clauses(r, &s) && finish_sync(r, &s);
}

static bool read_drain(reader *r) {
    sync_text s;
    start_sync(r, &s, SPAD_STATEMENT_DRAIN);
    return (spad__parser_accept_word(&r->parser, "all") || read_unit_name(r, &s.row.unit)) &&
           finish_sync(r, &s);
}

static bool read_fence(reader *r) {
    sync_text s;
    start_sync(r, &s, SPAD_STATEMENT_FENCE);
    return finish_sync(r, &s);
}

static bool read_tile_statement(reader *r, spad_statement_kind kind) {
    sync_text s;
    start_sync(r, &s, kind);
    return read_symbol(r, "tensor", SPAD__SYMBOL_TENSOR, &s.row.item) &&
           read_index(r, s.index, &s.row.index_count) && finish_sync(r, &s);
}

static bool read_alloc(reader *r) {
    return read_tile_statement(r, SPAD_STATEMENT_ALLOC);
}

static bool read_free(reader *r) {
    return read_tile_statement(r, SPAD_STATEMENT_FREE);
}

static bool read_next(reader *r) {
    sync_text s;
    start_sync(r, &s, SPAD_STATEMENT_SECTION);
    return spad__parser_expect_word(&r->parser, "section") && finish_sync(r, &s);
}

/* ---- blocks
 * ------------------------------------------------------------------------------------------------
 */

/* The brace in front of a block is checked before the builder opens it and taken after,
 * so that a faulty head is skipped together with its block. */
static bool at_brace(reader *r) {
    return r->parser.token.kind == SPAD__LEFT_BRACE || spad__parser_expected(&r->parser, "'{'");
}

static bool open_block(reader *r, spad__span span, spad_status status) {
    if (!went_well(r, span, status)) return false;
    spad__parser_take(&r->parser);
    return true;
}

static bool read_for(reader *r) {
    char name[WORD_MAX];
    spad__span span;
    spad_amount begin;
    spad_amount end;
    spad_expr unused;
    if (!read_new_name(r, "a name for the loop variable", name, &span) ||
        !spad__parser_expect_word(&r->parser, "in")) {
        return false;
    }
    const spad__span range = r->parser.token.span;
    if (!read_amount(r, &begin) || !spad__parser_expect(&r->parser, SPAD__RANGE, "'..'") ||
        !read_amount(r, &end)) {
        return false;
    }
    const spad__span bounds = from_here(r, range);
    const bool parallel = spad__parser_accept_word(&r->parser, "parallel");
    if (!at_brace(r)) return false;
    put_place(r, span);
    const spad_status status =
        spad_kernel_builder_for(&unused, r->builder, name, begin, end, parallel, &r->error);
    return open_block(r, status == SPAD_ERR_NAME ? span : bounds, status);
}

static bool read_comparison(reader *r, spad_comparison *comparison) {
    static const struct {
        spad__token_kind token;
        spad_relation relation;
    } relations[] = {{SPAD__EQUAL_EQUAL, SPAD_EQUAL}, {SPAD__NOT_EQUAL, SPAD_NOT_EQUAL},
                     {SPAD__LESS, SPAD_LESS},         {SPAD__LESS_EQUAL, SPAD_LESS_EQUAL},
                     {SPAD__GREATER, SPAD_GREATER},   {SPAD__GREATER_EQUAL, SPAD_GREATER_EQUAL}};
    if (!read_expr(r, &comparison->left)) return false;
    for (size_t i = 0; i < sizeof relations / sizeof relations[0]; i++) {
        if (!spad__parser_accept(&r->parser, relations[i].token)) continue;
        comparison->relation = relations[i].relation;
        return read_expr(r, &comparison->right);
    }
    return spad__parser_expected(&r->parser, "'==', '!=', '<', '<=', '>' or '>='");
}

static bool read_if(reader *r) {
    enum { COMPARISONS_MAX = 16 };
    spad_comparison comparisons[COMPARISONS_MAX];
    size_t count = 0;
    const spad__span first = r->parser.last.span;
    do {
        if (count == COMPARISONS_MAX) {
            FAULT(r, r->parser.token.span, "more than %d comparisons", COMPARISONS_MAX);
            return false;
        }
        if (!read_comparison(r, &comparisons[count])) return false;
        count++;
    } while (spad__parser_accept_word(&r->parser, "and"));
    if (!at_brace(r)) return false;
    const spad__span span = from_here(r, first);
    put_place(r, span);
    return open_block(r, span, spad_kernel_builder_if(r->builder, comparisons, count, &r->error));
}

static bool read_scope(reader *r) {
    char name[WORD_MAX];
    spad_amount sections = {.value = 1};
    if (!read_word(r, "a name for the scope", name)) return false;
    const spad__span span = r->parser.last.span;
    if (spad__parser_accept_word(&r->parser, "sections") && !read_amount(r, &sections)) {
        return false;
    }
    if (!at_brace(r)) return false;
    put_place(r, span);
    return open_block(r, span, spad_kernel_builder_scope(r->builder, name, sections, &r->error));
}

static bool read_agent(reader *r) {
    char name[WORD_MAX];
    spad__span span;
    if (!read_new_name(r, "a name for the agent", name, &span) || !at_brace(r)) return false;
    return open_block(r, span, spad_kernel_builder_agent(r->builder, name, &r->error));
}

static bool read_else(reader *r) {
    FAULT(r, r->parser.last.span, "an else without its if");
    return false;
}

static bool read_second_kernel(reader *r) {
    FAULT(r, r->parser.last.span, "a second kernel; a file has one");
    return false;
}

/* A '}' that is taken: the end of a block, or an if goes on with its else. */
static bool read_end(reader *r) {
    const spad__span span = r->parser.last.span;
    const size_t depth = r->builder->blocks.count;
    if (depth == 0) {
        FAULT(r, span, "this '}' closes nothing");
        return false;
    }
    const size_t around = r->builder->blocks.items[depth - 1].statement;
    if (r->builder->kernel->statements.items[around].kind == SPAD_STATEMENT_IF) {
        spad__parser_skip_lines(&r->parser);
        if (spad__parser_accept_word(&r->parser, "else")) {
            put_place(r, r->parser.last.span);
            return went_well(r, span, spad_kernel_builder_else(r->builder, &r->error)) &&
                   spad__parser_expect(&r->parser, SPAD__LEFT_BRACE, "'{'");
        }
    }
    return went_well(r, span, spad_kernel_builder_end(r->builder, &r->error));
}

/* ---- statements
 * ---------------------------------------------------------------------------------------------- */

static const struct {
    const char *word;
    bool (*read)(reader *r);
} statements[] = {
    {"param", read_param},     {"region", read_region},
    {"unit", read_unit},       {"barrier", read_barrier},
    {"counter", read_counter}, {"mbarrier", read_mbarrier},
    {"group", read_group},     {"for", read_for},
    {"if", read_if},           {"else", read_else},
    {"scope", read_scope},     {"next", read_next},
    {"agent", read_agent},     {"alloc", read_alloc},
    {"free", read_free},       {"arrive", read_arrive},
    {"signal", read_signal},   {"wait", read_wait},
    {"take", read_take},       {"init", read_init},
    {"expect", read_expect},   {"invalidate", read_invalidate},
    {"commit", read_commit},   {"drain", read_drain},
    {"fence", read_fence},     {"kernel", read_second_kernel},
};
enum { STATEMENTS = sizeof statements / sizeof statements[0] };

bool spad__is_kernel_word(const char *word) {
    for (size_t i = 0; i < STATEMENTS; i++) {
        if (strcmp(statements[i].word, word) == 0) return true;
    }
    return strcmp(word, "sync") == 0;
}

/* "tensor x :" declares, "tensor mm reads ..." is an operation. */
static bool read_after_runner(reader *r, const char *runner, spad__span span) {
    char name[WORD_MAX];
    if (!read_word(r, "a name for the operation", name)) return false;
    if (strcmp(runner, "tensor") == 0 && r->parser.token.kind == SPAD__COLON) {
        return read_tensor(r, name, r->parser.last.span);
    }
    return read_operation(r, runner, span, name);
}

/* "sync b" is about a barrier; an operation of an engine of that name has a clause. */
static bool read_sync(reader *r, spad__span span) {
    char name[WORD_MAX];
    size_t engine;
    sync_text s;
    start_sync(r, &s, SPAD_STATEMENT_SYNC);
    if (!read_word(r, "a barrier", name)) return false;
    if (spad__find_symbol(r->builder, name) == NULL && op_clause(r) != OP_CLAUSES &&
        spad_target_engine(&engine, r->builder->kernel->target, "sync", NULL) == SPAD_OK) {
        return read_operation(r, "sync", span, name);
    }
    return find_symbol(r, "barrier", SPAD__SYMBOL_SYNC, &s.row.item) &&
           read_index(r, s.index, &s.row.index_count) && read_sync_clauses(r, &s) &&
           finish_sync(r, &s);
}

static bool read_statement(reader *r) {
    char word[WORD_MAX];
    if (r->parser.token.kind == SPAD__STRING) { /* an engine with the name of a statement */
        const char *runner;
        if (!spad__parser_name(&r->parser, "an engine", &runner)) return false;
        return read_after_runner(r, runner, r->parser.last.span);
    }
    if (!read_word(r, "a statement", word)) return false;
    const spad__span span = r->parser.last.span;
    if (strcmp(word, "sync") == 0) return read_sync(r, span);
    for (size_t i = 0; i < STATEMENTS; i++) {
        if (strcmp(word, statements[i].word) == 0) return statements[i].read(r);
    }
    if (r->parser.token.kind != SPAD__WORD) { /* not an operation: say so at the word */
        const spad_status status = spad_kernel_builder_operation(r->builder, word, "x", &r->error);
        if (status != SPAD_OK) return went_well(r, span, status);
    }
    return read_after_runner(r, word, span);
}

/* Skips a faulty statement, and lines that continue it. */
static void skip(reader *r) {
    do {
        spad__parser_skip_statement(&r->parser);
        spad__parser_skip_lines(&r->parser);
    } while (op_clause(r) != OP_CLAUSES);
}

static void read_statements(reader *r) {
    while (!stopped(r)) {
        spad__parser_skip_lines(&r->parser);
        if (r->parser.token.kind == SPAD__END) break;
        const bool fine =
            spad__parser_accept(&r->parser, SPAD__RIGHT_BRACE) ? read_end(r) : read_statement(r);
        if (!fine) skip(r);
    }
    const size_t depth = r->builder->blocks.count;
    if (depth == 0 || stopped(r) || spad_diagnostics_count(r->parser.diagnostics) > 0) return;
    const size_t around = r->builder->blocks.items[depth - 1].statement;
    const spad_statement *statement = &r->builder->kernel->statements.items[around];
    FAULT(r, r->parser.token.span, "'%s' in line %d has no '}'",
          spad_statement_word(statement->kind), (int)statement->place.line);
}

/* "kernel NAME on TARGET": then there is a builder. */
static bool read_head(reader *r) {
    char name[WORD_MAX];
    const char *target_name;
    const char *about = "";
    const spad_target *target = r->options->target;
    spad__parser_skip_lines(&r->parser);
    if (!spad__parser_accept_word(&r->parser, "kernel")) {
        FAULT(r, r->parser.token.span,
              "a kernel file starts with 'kernel', a name, 'on' and a target");
        return false;
    }
    if (!read_word(r, "a name for the kernel", name) ||
        !spad__parser_expect_word(&r->parser, "on")) {
        return false;
    }
    if (!spad__parser_name(&r->parser, "the name of a target", &target_name)) return false;
    if (target == NULL &&
        !went_well(r, r->parser.last.span, spad_target_find(&target, target_name, &r->error))) {
        return false;
    }
    if (r->parser.token.kind == SPAD__STRING && !spad__parser_text(&r->parser, &about)) {
        return false;
    }
    return went_well(r, r->parser.last.span,
                     spad_kernel_builder_create(&r->builder, name, about, target, r->options,
                                                &r->error)) &&
           spad__parser_end_statement(&r->parser);
}

/* ---- the calls
 * -------------------------------------------------------------------------------------------------
 */

static spad_status finish(reader *r, spad_kernel **out, const char *file, spad_error *error) {
    if (file != NULL) {
        r->builder->kernel->file = spad__arena_copy(&r->builder->kernel->arena, file, strlen(file));
        if (r->builder->kernel->file == NULL) return spad__fail_host_memory(error);
    }
    return spad_kernel_builder_finish(out, r->builder, error);
}

static spad_status read_kernel(spad_kernel **out, const spad__source *source,
                               const spad_kernel_options *options, spad_diagnostics *diagnostics,
                               spad_error *error) {
    reader r = {.options = options, .line = 1, .column = 1};
    spad__arena scratch = {.host = spad__host_or_default(options->host)};
    spad__diagnostics_begin(diagnostics, source);
    spad__parser_start(&r.parser, source, diagnostics, &scratch);
    if (read_head(&r)) read_statements(&r);
    spad_status status = spad__diagnostics_end(diagnostics, error);
    if (r.parser.out_of_memory) status = spad__fail_host_memory(error);
    if (status == SPAD_OK) status = finish(&r, out, source->file, error);
    spad_kernel_builder_destroy(r.builder);
    spad__arena_free(&scratch);
    return status;
}

spad_status spad_kernel_parse(spad_kernel **out, const char *text, size_t length, const char *file,
                              const spad_kernel_options *options, spad_diagnostics *diagnostics,
                              spad_error *error) {
    static const spad_kernel_options defaults = {0};
    *out = NULL;
    if (options == NULL) options = &defaults;
    if (length > INT32_MAX) { /* lines and columns are 32-bit numbers */
        return spad__fail(error, SPAD_ERR_ARGUMENT, "a text of %zu bytes is too long: at most %ld",
                          length, (long)INT32_MAX);
    }
    const spad__source source = {
        .file = file != NULL ? file : "<text>", .text = length > 0 ? text : "", .length = length};
    spad_diagnostics *own = NULL;
    spad_status status = SPAD_OK;
    if (diagnostics == NULL) status = spad_diagnostics_create(&own, options->host, error);
    if (status != SPAD_OK) return status;
    status = read_kernel(out, &source, options, diagnostics != NULL ? diagnostics : own, error);
    spad_diagnostics_destroy(own);
    return status;
}

spad_status spad_kernel_builder_expr(spad_expr *out, spad_kernel_builder *builder, const char *text,
                                     spad_error *error) {
    static const spad_kernel_options no_options = {0};
    const spad__source source = {.file = "<expression>", .text = text, .length = strlen(text)};
    spad_diagnostics *diagnostics;
    *out = 0;
    spad_status status = spad_diagnostics_create(&diagnostics, &builder->host, error);
    if (status != SPAD_OK) return status;
    reader r = {.options = &no_options, .builder = builder, .line = 1, .column = 1};
    spad__arena scratch = {.host = builder->host};
    spad_expr expr = 0;
    spad__diagnostics_begin(diagnostics, &source);
    spad__parser_start(&r.parser, &source, diagnostics, &scratch);
    if (read_expr(&r, &expr) && r.parser.token.kind != SPAD__END) {
        spad__parser_expected(&r.parser, "the end of the expression");
    }
    status = spad__diagnostics_end(diagnostics, error);
    if (r.parser.out_of_memory) status = spad__fail_host_memory(error);
    if (status == SPAD_OK) *out = expr;
    spad__arena_free(&scratch);
    spad_diagnostics_destroy(diagnostics);
    return status;
}
