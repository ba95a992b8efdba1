/* SPDX-License-Identifier: Apache-2.0
 *
 * The reader of kernel text, smallest pieces: faults and places, words, expressions,
 * lists and names. An expression is read with two short stacks (Dijkstra's shunting
 * yard): operands, which are expressions of the kernel already, and operators.
 */
#include "kernel/text/reader.h"
#include "target/target.h"

#include <stdio.h>
#include <string.h>

#include "base/checked.h"

/* ---- faults and places ------------------------------------------------------------- */

bool spad__reader_accepts(spad__reader *r, spad__span span, spad_status status) {
    if (status == SPAD_OK) return true;
    if (status == SPAD_ERR_HOST_MEMORY) {
        r->parser.out_of_memory = true;
    } else if (r->expansion_count > 0 && r->expansions[r->expansion_count - 1].macro >= 0) {
        SPAD__FAULT(r, span, "%s; the macro is called in line %d", r->error.message,
                    (int)r->expansions[r->expansion_count - 1].line);
    } else {
        SPAD__FAULT(r, span, "%s", r->error.message);
    }
    return false;
}

void spad__put_place(spad__reader *r, spad__span span) {
    if (span.start < r->counted) {
        r->counted = 0;
        r->line = r->column = 1;
    }
    const unsigned char *text = (const unsigned char *)r->parser.source->text;
    int32_t line = r->line, column = r->column; /* kept out of memory in the loop */
    for (size_t at = r->counted; at < span.start; at++) {
        const bool continues = (text[at] & 0xC0) == 0x80; /* of a UTF-8 character */
        column = text[at] == '\n' ? 1 : column + !continues;
        line += text[at] == '\n';
    }
    r->counted = span.start;
    r->line = line;
    r->column = column;
    const spad_location location = {r->line, r->column, span.length > 0 ? (int32_t)span.length : 1};
    spad__kernel_builder_at(r->builder, location);
}

spad__span spad__span_from(const spad__reader *r, spad__span first) {
    return spad__span_join(first, r->parser.last.span);
}

bool spad__unknown_word(spad__reader *r, const char *what, const char *const *words, size_t count) {
    char quoted[64];
    char word[64];
    char hint[192];
    spad__token_describe(quoted, sizeof quoted, r->parser.source, r->parser.token);
    snprintf(word, sizeof word, "%.*s", (int)strlen(quoted) - 2, quoted + 1);
    spad_close_names(hint, sizeof hint, word, words, count);
    SPAD__FAULT(r, r->parser.token.span, "%s has no %s%s", what, quoted, hint);
    return false;
}

/* Copies the last word; false, reported, if it is too long for a name. */
static bool copy_word(spad__reader *r, char word[SPAD__WORD_MAX]) {
    const spad__span span = r->parser.last.span;
    if (span.length >= SPAD__WORD_MAX) {
        SPAD__FAULT(r, span, "a name has at most %d characters", SPAD__WORD_MAX - 1);
        return false;
    }
    memcpy(word, r->parser.source->text + span.start, span.length);
    word[span.length] = '\0';
    return true;
}

bool spad__read_word(spad__reader *r, const char *what, char word[SPAD__WORD_MAX]) {
    return spad__parser_expect(&r->parser, SPAD__WORD, what) && copy_word(r, word);
}

/* ---- expressions ------------------------------------------------------------------- */

enum { STACK_MAX = 2 * SPAD_EXPR_MAX };

/* SPAD_EXPR_NUMBER on the stack of operators is an open parenthesis, and SPAD_EXPR_SMALLER and
 * SPAD_EXPR_LARGER that of a function. */
typedef struct yard {
    spad_expr
        operands[2 * STACK_MAX + 1]; /* before all but the first stands an operator or comma */
    size_t operand_count;
    spad_expr_op operators[STACK_MAX];
    size_t operands_before[STACK_MAX]; /* of a function: operands that are not its own */
    bool second[STACK_MAX];            /* of a function: a comma was read */
    int64_t rows[STACK_MAX];           /* of unknown values: which */
    size_t operator_count;
    spad__span first;
} yard;

static bool is_parenthesis(spad_expr_op op) {
    return op == SPAD_EXPR_NUMBER || op == SPAD_EXPR_SMALLER || op == SPAD_EXPR_LARGER ||
           op == SPAD_EXPR_UNKNOWN;
}

static int operator_priority(spad_expr_op op) {
    if (is_parenthesis(op)) return 0;
    if (op == SPAD_EXPR_ADD || op == SPAD_EXPR_SUB) return 1;
    return op == SPAD_EXPR_NEGATE ? 3 : 2;
}

static bool apply_operator(spad__reader *r, yard *y, spad_expr_op op) {
    spad_expr right = 0;
    if (op != SPAD_EXPR_NEGATE) right = y->operands[--y->operand_count];
    spad_expr *left = &y->operands[y->operand_count - 1];
    return spad__reader_accepts(
        r, spad__span_from(r, y->first),
        spad__kernel_builder_apply(left, r->builder, op, *left, right, &r->error));
}

/* Applies operators from the top down to a priority. */
static bool reduce(spad__reader *r, yard *y, int least) {
    while (y->operator_count > 0) {
        const spad_expr_op op = y->operators[y->operator_count - 1];
        if (operator_priority(op) < least || is_parenthesis(op)) return true;
        y->operator_count--;
        if (!apply_operator(r, y, op)) return false;
    }
    return true;
}

static bool push_operator(spad__reader *r, yard *y, spad_expr_op op) {
    if (y->operator_count == STACK_MAX) {
        SPAD__FAULT(r, r->parser.last.span, "the expression is nested too deep");
        return false;
    }
    y->operands_before[y->operator_count] = y->operand_count;
    y->second[y->operator_count] = false;
    y->operators[y->operator_count++] = op;
    return true;
}

static bool read_number(spad__reader *r, spad_expr *out) {
    static const struct {
        const char *name;
        int64_t factor;
    } sizes[] = {{"B", 1}, {"KiB", 1024}, {"MiB", INT64_C(1) << 20}, {"GiB", INT64_C(1) << 30}};
    const spad__token token = spad__parser_take(&r->parser);
    int64_t value = token.digits;
    if (token.scale != 0) {
        SPAD__FAULT(r, token.span, "a whole number is expected here");
        return false;
    }
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (!spad__parser_accept_word(&r->parser, sizes[i].name)) continue;
        if (!spad__mul(value, sizes[i].factor, &value)) {
            SPAD__FAULT(r, spad__span_from(r, token.span), "the size does not fit 64 bits");
            return false;
        }
        break;
    }
    return spad__reader_accepts(r, token.span,
                                spad__kernel_builder_number(out, r->builder, value, &r->error));
}

/* "min(" or "max(": its operator. Without the parenthesis it is a name like others. */
static bool find_function(const spad__reader *r, spad_expr_op *op) {
    const char *text = r->parser.source->text + r->parser.lexer.at;
    const char *end = r->parser.source->text + r->parser.source->length;
    while (text < end && (*text == ' ' || *text == '\t')) text++;
    *op = spad__token_is(r->parser.source, r->parser.token, "min") ? SPAD_EXPR_SMALLER
                                                                   : SPAD_EXPR_LARGER;
    return text < end && *text == '(' &&
           (*op == SPAD_EXPR_SMALLER || spad__token_is(r->parser.source, r->parser.token, "max"));
}

static bool read_name(spad__reader *r, spad_expr *out) {
    char name[SPAD__WORD_MAX];
    spad__parser_take(&r->parser);
    if (!copy_word(r, name)) return false;
    const spad__symbol *symbol = spad__find_symbol(r->builder, name);
    if (symbol != NULL && symbol->kind == SPAD__SYMBOL_BROKEN) {
        *out = 0;
        return false;
    }
    return spad__reader_accepts(r, r->parser.last.span,
                                spad__kernel_builder_name(out, r->builder, name, &r->error));
}

/* Does the next word name unknown values? */
static bool find_unknown(const spad__reader *r, int64_t *unknown) {
    char name[SPAD__WORD_MAX];
    const spad__span span = r->parser.token.span;
    if (r->parser.token.kind != SPAD__WORD || span.length >= SPAD__WORD_MAX) return false;
    memcpy(name, r->parser.source->text + span.start, span.length);
    name[span.length] = '\0';
    const spad__symbol *symbol = spad__find_symbol(r->builder, name);
    if (symbol == NULL || symbol->kind != SPAD__SYMBOL_UNKNOWN) return false;
    *unknown = symbol->number;
    return true;
}

static bool read_operand(spad__reader *r, yard *y);

/* One value, or "[" and the operand that the number of the element begins with. */
static bool read_unknown_value(spad__reader *r, yard *y, int64_t unknown) {
    const spad_kernel_unknown *row = &r->builder->kernel->unknowns.items[unknown];
    spad__parser_take(&r->parser);
    const spad__span span = r->parser.last.span;
    if (row->dims.count == 0) {
        return spad__reader_accepts(r, span,
                                    spad__kernel_builder_value(&y->operands[y->operand_count++],
                                                               r->builder, unknown, 0, &r->error));
    }
    if (!spad__parser_expect(&r->parser, SPAD__LEFT_BRACKET, "'['") ||
        !push_operator(r, y, SPAD_EXPR_UNKNOWN)) {
        return false;
    }
    y->rows[y->operator_count - 1] = unknown;
    return read_operand(r, y);
}

/* Signs and parentheses in front of an operand, and the operand. */
static bool read_operand(spad__reader *r, yard *y) {
    for (;;) {
        spad_expr_op function;
        if (spad__parser_accept(&r->parser, SPAD__MINUS)) {
            if (!push_operator(r, y, SPAD_EXPR_NEGATE)) return false;
        } else if (spad__parser_accept(&r->parser, SPAD__LEFT_PARENTHESIS)) {
            if (!push_operator(r, y, SPAD_EXPR_NUMBER)) return false;
        } else if (find_function(r, &function)) {
            spad__parser_take(&r->parser);
            spad__parser_take(&r->parser);
            if (!push_operator(r, y, function)) return false;
        } else {
            break;
        }
    }
    int64_t unknown;
    if (find_unknown(r, &unknown)) return read_unknown_value(r, y, unknown);
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

/* The innermost open parenthesis, or NULL. */
static const spad_expr_op *find_parenthesis(const yard *y) {
    for (size_t i = y->operator_count; i > 0; i--) {
        if (is_parenthesis(y->operators[i - 1])) return &y->operators[i - 1];
    }
    return NULL;
}

/* The end of an operand of the function on top: with the one before it, it makes one. */
static bool fold_function(spad__reader *r, yard *y) {
    const size_t top = y->operator_count - 1;
    return y->operand_count < y->operands_before[top] + 2 ||
           apply_operator(r, y, y->operators[top]);
}

/* Closes the bracket of unknown values, if that is the innermost. */
static bool close_bracket(spad__reader *r, yard *y, bool *closed) {
    const spad_expr_op *open = find_parenthesis(y);
    *closed = open != NULL && *open == SPAD_EXPR_UNKNOWN;
    if (!*closed) return true;
    if (!reduce(r, y, 1)) return false;
    spad__parser_take(&r->parser);
    const int64_t unknown = y->rows[--y->operator_count];
    spad_expr *element = &y->operands[y->operand_count - 1];
    return spad__reader_accepts(
        r, spad__span_from(r, y->first),
        spad__kernel_builder_value(element, r->builder, unknown, *element, &r->error));
}

/* Closes the innermost parenthesis, if one is open. */
static bool close_parenthesis(spad__reader *r, yard *y, bool *closed) {
    const spad_expr_op *open = find_parenthesis(y);
    *closed = open != NULL && *open != SPAD_EXPR_UNKNOWN;
    if (!*closed) return true;
    if (!reduce(r, y, 1)) return false;
    const size_t top = y->operator_count - 1;
    if (y->operators[top] != SPAD_EXPR_NUMBER) {
        if (!y->second[top]) return spad__parser_expected(&r->parser, "',' and another number");
        if (!fold_function(r, y)) return false;
    }
    spad__parser_take(&r->parser);
    y->operator_count--;
    return true;
}

/* A comma between two operands of a function; *inside: it is one. */
static bool read_comma(spad__reader *r, yard *y, bool *inside) {
    const spad_expr_op *open = find_parenthesis(y);
    *inside = open != NULL && *open != SPAD_EXPR_NUMBER && *open != SPAD_EXPR_UNKNOWN;
    if (!*inside) return true;
    if (!reduce(r, y, 1) || !fold_function(r, y)) return false;
    y->second[y->operator_count - 1] = true;
    spad__next_item(r);
    return read_operand(r, y);
}

bool spad__read_expr(spad__reader *r, spad_expr *out) {
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
        } else if (r->parser.token.kind == SPAD__RIGHT_BRACKET) {
            bool closed;
            if (!close_bracket(r, &y, &closed)) return false;
            if (!closed) break;
        } else if (r->parser.token.kind == SPAD__COMMA) {
            bool inside;
            if (!read_comma(r, &y, &inside)) return false;
            if (!inside) break;
        } else if (find_operator(r->parser.token.kind, &op)) {
            spad__parser_take(&r->parser);
            if (!reduce(r, &y, operator_priority(op)) || !push_operator(r, &y, op)) return false;
            if (!read_operand(r, &y)) return false;
        } else {
            break;
        }
    }
    if (!reduce(r, &y, 1)) return false;
    if (y.operator_count > 0) {
        const spad_expr_op open = y.operators[y.operator_count - 1];
        return spad__parser_expected(&r->parser, open == SPAD_EXPR_UNKNOWN ? "']'" : "')'");
    }
    *out = y.operands[0];
    return true;
}

static void fix_params_in(const spad_kernel *kernel, spad_expr expr) {
    const spad_expr_info info = spad_kernel_get_expr(kernel, expr);
    for (size_t i = 0; i < info.node_count; i++) {
        if (info.nodes[i].op != SPAD_EXPR_PARAM) continue;
        kernel->params.items[info.nodes[i].value].fixed = true;
    }
}

void spad__fix_params(const spad_kernel *kernel, spad_expr expr) {
    fix_params_in(kernel, expr);
    for (size_t i = kernel->params.count; i-- > 0;) {
        const spad_kernel_param *param = &kernel->params.items[i];
        if (param->fixed) fix_params_in(kernel, param->preset.expr);
    }
}

bool spad__read_amount(spad__reader *r, spad_amount *amount) {
    const spad__span first = r->parser.token.span;
    amount->value = 0;
    return spad__read_expr(r, &amount->expr) &&
           spad__reader_accepts(r, spad__span_from(r, first),
                                spad__fold_amount(r->builder, amount, &r->error));
}

/* ---- lists ------------------------------------------------------------------------- */

bool spad__next_item(spad__reader *r) {
    if (!spad__parser_accept(&r->parser, SPAD__COMMA)) return false;
    spad__parser_skip_lines(&r->parser);
    return true;
}

bool spad__has_room(spad__reader *r, size_t count, const char *of) {
    if (count < SPAD__INDEX_MAX) return true;
    SPAD__FAULT(r, r->parser.token.span, "more than %d %s", SPAD__INDEX_MAX, of);
    return false;
}

bool spad__read_amounts(spad__reader *r, spad_amount *items, size_t *count,
                        spad__token_kind closing, const char *what) {
    *count = 0;
    do {
        if (!spad__has_room(r, *count, "dimensions") || !spad__read_amount(r, &items[*count]))
            return false;
        (*count)++;
    } while (spad__next_item(r));
    return spad__parser_expect(&r->parser, closing, what);
}

bool spad__read_index(spad__reader *r, spad_expr *index, size_t *count) {
    *count = 0;
    if (!spad__parser_accept(&r->parser, SPAD__LEFT_BRACKET)) return true;
    do {
        if (!spad__has_room(r, *count, "dimensions") || !spad__read_expr(r, &index[*count]))
            return false;
        (*count)++;
    } while (spad__next_item(r));
    return spad__parser_expect(&r->parser, SPAD__RIGHT_BRACKET, "',' or ']'");
}

/* ---- names of things --------------------------------------------------------------- */

bool spad__resolve_word(spad__reader *r, const char *what, spad__symbol_kind kind,
                        int64_t *number) {
    char name[SPAD__WORD_MAX];
    if (!copy_word(r, name)) return false;
    const spad__symbol *symbol = spad__find_symbol(r->builder, name);
    if (symbol != NULL && symbol->kind == SPAD__SYMBOL_BROKEN) return false;
    if (symbol != NULL && symbol->kind == kind) {
        *number = symbol->number;
        return true;
    }
    if (symbol != NULL) {
        SPAD__FAULT(r, r->parser.last.span, "'%s' is %s, not %s", name,
                    spad__symbol_phrase(symbol->kind), spad__symbol_phrase(kind));
        return false;
    }
    return spad__reader_accepts(r, r->parser.last.span,
                                spad__fail_unknown(r->builder, what, name, kind, &r->error));
}

bool spad__read_symbol(spad__reader *r, const char *what, spad__symbol_kind kind, int64_t *number) {
    return spad__parser_expect(&r->parser, SPAD__WORD, spad__symbol_phrase(kind)) &&
           spad__resolve_word(r, what, kind, number);
}

bool spad__read_unit_name(spad__reader *r, int64_t *unit) {
    if (!spad__parser_expect(&r->parser, SPAD__WORD, "a unit")) return false;
    char name[SPAD__WORD_MAX];
    size_t engine;
    if (!copy_word(r, name)) return false;
    if (spad__find_symbol(r->builder, name) == NULL &&
        spad__target_find_engine(&engine, r->builder->kernel->target, name, NULL) == SPAD_OK) {
        SPAD__FAULT(r, r->parser.last.span,
                    "engine '%s' is not declared as a unit here; write 'unit %s fifo' above", name,
                    name);
        return false;
    }
    return spad__resolve_word(r, "unit", SPAD__SYMBOL_UNIT, unit);
}

bool spad__read_new_name(spad__reader *r, const char *what, char name[SPAD__WORD_MAX],
                         spad__span *span) {
    if (!spad__read_word(r, what, name)) return false;
    *span = r->parser.last.span;
    spad__put_place(r, *span);
    return true;
}
