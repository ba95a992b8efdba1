/* SPDX-License-Identifier: Apache-2.0
 *
 * The reader of kernel text: what is read more than once. The body of a macro is read at every
 * call, and that of an agent with copies once for each copy; names then stand for the arguments,
 * or for the number of the copy. So nothing after the reader knows of them: a kernel has the
 * statements that were read, with the places of the body they come from.
 *
 * An expansion is the place to go back to, kept on a stack; nothing is recursive. What is read
 * is limited, because macros that call macros could make any amount of text out of a few
 * lines.
 */
#include "kernel/text/reader.h"

#include <stdio.h>
#include <string.h>

#include "base/checked.h"

enum { COPIES_MAX = 1024 };
static const size_t expanded_max = (size_t)1 << 22; /* bytes */

/* ---- places in the text ------------------------------------------------------------ */

static spad__reader_place reader_place(const spad__reader *r) {
    return (spad__reader_place){.lexer = r->parser.lexer,
                                .token = r->parser.token,
                                .last = r->parser.last,
                                .counted = r->counted,
                                .line = r->line,
                                .column = r->column};
}

static void read_at(spad__reader *r, const spad__reader_place *place) {
    r->parser.lexer = place->lexer;
    r->parser.token = place->token;
    r->parser.last = place->last;
    r->counted = place->counted;
    r->line = place->line;
    r->column = place->column;
}

/* The '{' is taken: everything up to and with its '}'. */
static bool skip_body(spad__reader *r) {
    const spad__span open = r->parser.last.span;
    for (size_t depth = 1; depth > 0;) {
        const spad__token_kind kind = spad__parser_take(&r->parser).kind;
        if (kind == SPAD__LEFT_BRACE) depth++;
        if (kind == SPAD__RIGHT_BRACE) depth--;
        if (kind == SPAD__END) {
            SPAD__FAULT(r, open, "this '{' has no '}'");
            return false;
        }
    }
    return true;
}

/* Room for one more expansion of a body. */
static bool push_expansion(spad__reader *r, spad__expansion expansion, size_t bytes,
                           spad__span span) {
    if (r->expansion_count == SPAD__EXPANSIONS_DEEP) {
        SPAD__FAULT(r, span, "macros are nested too deep: at most %d", SPAD__EXPANSIONS_DEEP);
        return false;
    }
    r->expanded += bytes;
    if (r->expanded > expanded_max) {
        SPAD__FAULT(r, span, "macros and copies of agents make more than %zu MiB of text",
                    expanded_max >> 20);
        return false;
    }
    r->expansions[r->expansion_count++] = expansion;
    return true;
}

/* ---- macros ------------------------------------------------------------------------ */

bool spad__read_macro(spad__reader *r) {
    char name[SPAD__WORD_MAX];
    spad__span span;
    spad__macro macro = {0};
    if (!spad__read_new_name(r, "a name for the macro", name, &span)) return false;
    if (r->builder->blocks.count > 0 || r->expansion_count > 0) {
        SPAD__FAULT(r, span, "a macro is defined outside of all blocks");
        return false;
    }
    if (!spad__parser_expect(&r->parser, SPAD__LEFT_PARENTHESIS, "'('")) return false;
    while (r->parser.token.kind == SPAD__WORD) {
        char param[SPAD__WORD_MAX];
        if (!spad__has_room(r, macro.param_count, "parameters of a macro")) return false;
        if (!spad__read_word(r, "a name", param)) return false;
        char *kept = spad__arena_copy(r->parser.arena, param, strlen(param));
        if (kept == NULL) {
            r->parser.out_of_memory = true;
            return false;
        }
        macro.params[macro.param_count++] = kept;
        if (!spad__next_item(r)) break;
    }
    if (!spad__parser_expect(&r->parser, SPAD__RIGHT_PARENTHESIS, "',' or ')'") ||
        !spad__parser_expect(&r->parser, SPAD__LEFT_BRACE, "'{'")) {
        return false;
    }
    const char *unused;
    macro.body = reader_place(r);
    if (!skip_body(r)) return false;
    macro.bytes = r->parser.last.span.start - macro.body.last.span.start;
    const int64_t number = (int64_t)r->macros.count;
    if (!spad__reader_accepts(
            r, span,
            spad__add_symbol(r->builder, name, SPAD__SYMBOL_MACRO, number, &unused, &r->error))) {
        return false;
    }
    if (!spad__array_reserve(&r->builder->host, &r->macros, 1)) {
        r->parser.out_of_memory = true;
        return false;
    }
    r->macros.items[r->macros.count++] = macro;
    return true;
}

/* Is the next word all of an argument? A stage may be part of an expression. */
static bool is_whole_argument(const spad__reader *r) {
    const spad__source *source = r->parser.source;
    size_t at = r->parser.lexer.at;
    while (at < source->length && (source->text[at] == ' ' || source->text[at] == '\t')) at++;
    return at < source->length && (source->text[at] == ',' || source->text[at] == ')');
}

/* A name for something that has one, or the value of an expression. */
static bool read_argument(spad__reader *r, spad__argument *argument) {
    char name[SPAD__WORD_MAX];
    if (r->parser.token.kind == SPAD__WORD && r->parser.token.span.length < SPAD__WORD_MAX) {
        memcpy(name, r->parser.source->text + r->parser.token.span.start,
               r->parser.token.span.length);
        name[r->parser.token.span.length] = '\0';
        const spad__symbol *symbol = spad__find_symbol(r->builder, name);
        const bool thing =
            symbol != NULL &&
            (symbol->kind == SPAD__SYMBOL_TENSOR || symbol->kind == SPAD__SYMBOL_SYNC ||
             symbol->kind == SPAD__SYMBOL_UNIT || symbol->kind == SPAD__SYMBOL_STAGE ||
             symbol->kind == SPAD__SYMBOL_PHASE || symbol->kind == SPAD__SYMBOL_BROKEN);
        if (thing && is_whole_argument(r)) {
            spad__parser_take(&r->parser);
            *argument = (spad__argument){symbol->kind, symbol->number};
            return true;
        }
    }
    spad_expr expr;
    if (!spad__read_expr(r, &expr)) return false;
    *argument = (spad__argument){SPAD__SYMBOL_VALUE, expr};
    return true;
}

static bool read_arguments(spad__reader *r, const char *name, const spad__macro *macro,
                           spad__argument *arguments) {
    size_t count = 0;
    const spad__span first = r->parser.last.span;
    spad__parser_take(&r->parser); /* '(' */
    while (r->parser.token.kind != SPAD__RIGHT_PARENTHESIS) {
        if (!spad__has_room(r, count, "arguments of a macro") ||
            !read_argument(r, &arguments[count]))
            return false;
        count++;
        if (!spad__next_item(r)) break;
    }
    if (!spad__parser_expect(&r->parser, SPAD__RIGHT_PARENTHESIS, "',' or ')'")) return false;
    if (count == macro->param_count) return true;
    SPAD__FAULT(r, spad__span_from(r, first), "'%s' has %zu parameters; arguments given: %zu", name,
                macro->param_count, count);
    return false;
}

static bool is_active(const spad__reader *r, int64_t macro) {
    for (size_t i = 0; i < r->expansion_count; i++) {
        if (r->expansions[i].macro == macro) return true;
    }
    return false;
}

bool spad__read_call(spad__reader *r, const char *name) {
    spad__argument arguments[SPAD__INDEX_MAX];
    const spad__span span = r->parser.last.span;
    int64_t number;
    if (!spad__resolve_word(r, "macro", SPAD__SYMBOL_MACRO, &number)) return false;
    spad__macro *macro = &r->macros.items[number];
    if (!read_arguments(r, name, macro, arguments) || !spad__parser_end_statement(&r->parser)) {
        return false;
    }
    if (macro->broken) return true; /* its faults are reported */
    if (is_active(r, number)) {
        SPAD__FAULT(r, span, "'%s' uses itself", name);
        return true; /* the statement is read */
    }
    const spad__expansion expansion = {.macro = number,
                                       .back = reader_place(r),
                                       .blocks = r->builder->blocks.count,
                                       .symbols = r->builder->symbols.count,
                                       .faults = spad_diagnostics_count(r->parser.diagnostics)};
    if (!push_expansion(r, expansion, macro->bytes, span)) return true;
    spad__put_place(r, span);
    r->expansions[r->expansion_count - 1].line = r->line;
    for (size_t i = 0; i < macro->param_count; i++) {
        if (!spad__bind_symbol(r->builder, macro->params[i], arguments[i].kind,
                               arguments[i].number)) {
            r->parser.out_of_memory = true;
            return false;
        }
    }
    read_at(r, &macro->body);
    return true;
}

/* ---- agents with copies ------------------------------------------------------------ */

static bool open_copy(spad__reader *r, const spad__expansion *e) {
    char name[2 * SPAD__WORD_MAX];
    spad_expr value;
    snprintf(name, sizeof name, "%s_%lld", e->name, (long long)e->copy);
    spad__put_place(r, e->span);
    if (!spad__reader_accepts(r, e->span,
                              spad__kernel_builder_agent(r->builder, name, &r->error)) ||
        !spad__reader_accepts(
            r, e->span,
            spad__kernel_builder_threads(r->builder, e->threads, e->registers, &r->error)) ||
        !spad__reader_accepts(
            r, e->span, spad__kernel_builder_number(&value, r->builder, e->copy, &r->error))) {
        return false;
    }
    if (spad__bind_symbol(r->builder, e->variable, SPAD__SYMBOL_VALUE, value)) return true;
    r->parser.out_of_memory = true;
    return false;
}

/* "agent wg" is read: "[2] as w {" */
bool spad__read_copies(spad__reader *r, const char *name, spad__span span) {
    char variable[SPAD__WORD_MAX];
    spad_amount count;
    spad__parser_take(&r->parser); /* '[' */
    const spad__span first = r->parser.token.span;
    if (!spad__read_amount(r, &count)) return false;
    if (count.value < 1 || count.value > COPIES_MAX) {
        SPAD__FAULT(r, spad__span_from(r, first), "%lld copies of an agent; 1 to %d are possible",
                    (long long)count.value, COPIES_MAX);
        return false;
    }
    if (!spad__parser_expect(&r->parser, SPAD__RIGHT_BRACKET, "']'") ||
        !spad__parser_expect_word(&r->parser, "as") ||
        !spad__read_word(r, "a name for the number of the copy", variable)) {
        return false;
    }
    spad_amount threads;
    spad_amount registers;
    if (!spad__read_agent_threads(r, &threads, &registers)) return false;
    if (r->parser.token.kind != SPAD__LEFT_BRACE) {
        return spad__parser_expected(&r->parser, "'{'");
    }
    spad__fix_params(r->builder->kernel, count.expr);
    spad__expansion e = {.macro = -1,
                         .copies = count.value,
                         .threads = threads,
                         .registers = registers,
                         .span = span,
                         .blocks = r->builder->blocks.count,
                         .faults = spad_diagnostics_count(r->parser.diagnostics)};
    e.name = spad__arena_copy(r->parser.arena, name, strlen(name));
    e.variable = spad__arena_copy(r->parser.arena, variable, strlen(variable));
    if (e.name == NULL || e.variable == NULL) {
        r->parser.out_of_memory = true;
        return false;
    }
    if (!open_copy(r, &e)) return false;
    spad__parser_take(&r->parser); /* '{' */
    e.back = reader_place(r);
    return push_expansion(r, e, 0, span);
}

/* ---- the end of a body ------------------------------------------------------------- */

static bool end_macro(spad__reader *r, const spad__expansion *e) {
    spad__drop_symbols(r->builder, e->symbols);
    read_at(r, &e->back);
    if (spad_diagnostics_count(r->parser.diagnostics) > e->faults) {
        r->macros.items[e->macro].broken = true;
    }
    r->expansion_count--;
    return true;
}

/* The '}' of an agent with copies: the next one, or on. */
static bool end_copy(spad__reader *r, spad__expansion *e) {
    const size_t bytes = r->parser.last.span.start - e->back.last.span.start;
    if (!spad__reader_accepts(r, r->parser.last.span,
                              spad__kernel_builder_end(r->builder, &r->error))) {
        return false;
    }
    r->expansion_count--;
    if (++e->copy == e->copies || spad_diagnostics_count(r->parser.diagnostics) > e->faults) {
        return true;
    }
    const spad__reader_place after = reader_place(r);
    if (!push_expansion(r, *e, bytes, e->span)) return true;
    if (!open_copy(r, e)) {
        r->expansion_count--;
        read_at(r, &after);
        return true;
    }
    read_at(r, &e->back);
    return true;
}

bool spad__end_expansion(spad__reader *r, bool *ended) {
    *ended = false;
    if (r->expansion_count == 0) return true;
    spad__expansion *e = &r->expansions[r->expansion_count - 1];
    if (r->builder->blocks.count != e->blocks + (e->macro < 0)) return true;
    *ended = true;
    return e->macro < 0 ? end_copy(r, e) : end_macro(r, e);
}

bool spad__refuses_declaration(spad__reader *r, spad__span span) {
    for (size_t i = 0; i < r->expansion_count; i++) {
        if (r->expansions[i].macro < 0) continue;
        SPAD__FAULT(r, span, "a macro declares nothing: declare it outside, and pass its name");
        return true;
    }
    return false;
}
