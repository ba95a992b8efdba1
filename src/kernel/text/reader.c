/* SPDX-License-Identifier: Apache-2.0
 *
 * The reader of kernel text (docs/kernel-reference.md has the grammar): words to calls of
 * the builder. The reader knows the grammar; the rules of a kernel are
 * checked by the builder, whose message is then shown at the words it is about.
 *
 * Nothing is recursive: blocks are kept by the builder, expressions are read with
 * two short stacks (Dijkstra's shunting yard). Cost: linear in the text.
 *
 * After a fault the statement is skipped, with the block that it opens. A name
 * whose declaration was faulty is remembered, so that its uses do not count as
 * faults again.
 */
#include "kernel/text/reader.h"
#include "base/options.h"
#include "target/target.h"

#include <string.h>

#include "kernel/text/comments.h"

/* ---- synchronisation --------------------------------------------------------------- */

typedef struct sync_text {
    spad_statement row;
    spad_expr index[SPAD__INDEX_MAX];
    spad__span span;
} sync_text;

static void start_sync(spad__reader *r, sync_text *s, spad_statement_kind kind) {
    memset(s, 0, sizeof *s);
    s->row = spad__statement_of(kind, -1);
    s->row.index = s->index;
    s->span = r->parser.last.span;
}

static bool finish_sync(spad__reader *r, sync_text *s) {
    const spad__span span = spad__span_from(r, s->span);
    spad__put_place(r, span);
    return spad__reader_accepts(r, span,
                                spad__kernel_builder_statement(r->builder, &s->row, &r->error)) &&
           spad__parser_end_statement(&r->parser);
}

static bool read_object(spad__reader *r, sync_text *s) {
    return spad__read_symbol(r, "barrier, counter or group", SPAD__SYMBOL_SYNC, &s->row.item) &&
           spad__read_index(r, s->index, &s->row.index_count);
}

/* The rest of a statement about an object: clauses in any order. */
static bool read_sync_clauses(spad__reader *r, sync_text *s) {
    for (;;) {
        if (spad__parser_accept_word(&r->parser, "by") ||
            spad__parser_accept_word(&r->parser, "count")) {
            if (!spad__read_expr(r, &s->row.amount)) return false;
        } else if (spad__parser_accept_word(&r->parser, "expect")) {
            if (!spad__read_expr(r, &s->row.expect)) return false;
        } else if (spad__parser_accept_word(&r->parser, "on")) {
            if (!spad__read_unit_name(r, &s->row.unit)) return false;
        } else if (spad__parser_accept_word(&r->parser, "relaxed")) {
            s->row.flags |= SPAD_SYNC_RELAXED;
        } else if (spad__parser_accept_word(&r->parser, "drop")) {
            s->row.flags |= SPAD_SYNC_DROP;
        } else if (spad__parser_accept_word(&r->parser, "reads")) {
            s->row.flags |= SPAD_SYNC_READS;
        } else if (spad__parser_accept_word(&r->parser, "elected")) {
            s->row.flags |= SPAD_BY_ONE;
        } else {
            return true;
        }
    }
}

static bool read_object_statement(spad__reader *r, spad_statement_kind kind) {
    sync_text s;
    start_sync(r, &s, kind);
    return read_object(r, &s) && read_sync_clauses(r, &s) && finish_sync(r, &s);
}

static bool read_arrive(spad__reader *r) {
    return read_object_statement(r, SPAD_STATEMENT_ARRIVE);
}

static bool read_signal(spad__reader *r) {
    return read_object_statement(r, SPAD_STATEMENT_SIGNAL);
}

static bool read_take(spad__reader *r) {
    return read_object_statement(r, SPAD_STATEMENT_TAKE);
}

static bool read_init(spad__reader *r) {
    return read_object_statement(r, SPAD_STATEMENT_INIT);
}

static bool read_expect(spad__reader *r) {
    return read_object_statement(r, SPAD_STATEMENT_EXPECT);
}

static bool read_invalidate(spad__reader *r) {
    return read_object_statement(r, SPAD_STATEMENT_INVALIDATE);
}

static bool read_commit(spad__reader *r) {
    return read_object_statement(r, SPAD_STATEMENT_COMMIT);
}

/* The kind of the object is seen from what is waited for. */
static bool read_wait(spad__reader *r) {
    sync_text s;
    start_sync(r, &s, SPAD_STATEMENT_WAIT_VALUE);
    if (!read_object(r, &s)) return false;
    if (spad__parser_accept_word(&r->parser, "next")) {
        s.row.kind = SPAD_STATEMENT_WAIT_PARITY;
        s.row.flags = SPAD_SYNC_NEXT;
        return read_sync_clauses(r, &s) && finish_sync(r, &s);
    }
    if (spad__parser_accept_word(&r->parser, "parity")) {
        s.row.kind = SPAD_STATEMENT_WAIT_PARITY;
    } else if (spad__parser_accept_word(&r->parser, "pending")) {
        s.row.kind = SPAD_STATEMENT_WAIT_GROUP;
    } else if (!spad__parser_accept(&r->parser, SPAD__GREATER_EQUAL)) {
        return spad__parser_expected(&r->parser, "'>=', 'parity', 'next' or 'pending'");
    }
    return spad__read_expr(r, &s.row.amount) && read_sync_clauses(r, &s) && finish_sync(r, &s);
}

static bool read_drain(spad__reader *r) {
    sync_text s;
    start_sync(r, &s, SPAD_STATEMENT_DRAIN);
    return (spad__parser_accept_word(&r->parser, "all") || spad__read_unit_name(r, &s.row.unit)) &&
           finish_sync(r, &s);
}

static bool read_fence(spad__reader *r) {
    sync_text s;
    start_sync(r, &s, SPAD_STATEMENT_FENCE);
    if (r->parser.token.kind != SPAD__WORD && r->parser.token.kind != SPAD__STRING) {
        return finish_sync(r, &s);
    }
    size_t fence;
    if (!spad__read_fence_name(r, &fence)) return false;
    s.row.fence = (int64_t)fence;
    if (spad__parser_accept_word(&r->parser, "before")) {
        s.row.flags = SPAD_FENCE_BEFORE;
    } else if (spad__parser_accept_word(&r->parser, "after")) {
        s.row.flags = SPAD_FENCE_AFTER;
    }
    return finish_sync(r, &s);
}

static bool read_tile_statement(spad__reader *r, spad_statement_kind kind) {
    sync_text s;
    start_sync(r, &s, kind);
    return spad__read_symbol(r, "tensor", SPAD__SYMBOL_TENSOR, &s.row.item) &&
           spad__read_index(r, s.index, &s.row.index_count) && finish_sync(r, &s);
}

static bool read_alloc(spad__reader *r) {
    return read_tile_statement(r, SPAD_STATEMENT_ALLOC);
}

static bool read_free(spad__reader *r) {
    return read_tile_statement(r, SPAD_STATEMENT_FREE);
}

static bool read_break(spad__reader *r) {
    sync_text s;
    start_sync(r, &s, SPAD_STATEMENT_BREAK);
    return finish_sync(r, &s);
}

static bool read_next(spad__reader *r) {
    sync_text s;
    start_sync(r, &s, SPAD_STATEMENT_SECTION);
    return spad__parser_expect_word(&r->parser, "section") && finish_sync(r, &s);
}

/* "cursor stage, phase mod S" */
static bool read_cursor(spad__reader *r) {
    char stage[SPAD__WORD_MAX];
    char phase[SPAD__WORD_MAX];
    spad__span span;
    spad_amount count;
    int64_t unused;
    if (!spad__read_new_name(r, "a name for the stage", stage, &span)) return false;
    const bool both = spad__parser_accept(&r->parser, SPAD__COMMA);
    const bool fine =
        (!both || spad__read_word(r, "a name for the phase", phase)) &&
        spad__parser_expect_word(&r->parser, "mod") && spad__read_amount(r, &count) &&
        spad__reader_accepts(r, span,
                             spad__kernel_builder_cursor(&unused, r->builder, stage,
                                                         both ? phase : NULL, count, &r->error));
    if (fine) return spad__parser_end_statement(&r->parser);
    if (!spad__add_broken(r->builder, stage)) r->parser.out_of_memory = true;
    return false;
}

/* "advance stage by 2" */
static bool read_advance(spad__reader *r) {
    sync_text s;
    start_sync(r, &s, SPAD_STATEMENT_ADVANCE);
    return spad__read_symbol(r, "cursor", SPAD__SYMBOL_STAGE, &s.row.item) &&
           (!spad__parser_accept_word(&r->parser, "by") || spad__read_expr(r, &s.row.amount)) &&
           finish_sync(r, &s);
}

/* ---- blocks ------------------------------------------------------------------------ */

/* The brace in front of a block is checked before the builder opens it and taken after,
 * so that a faulty head is skipped together with its block. */
static bool at_brace(spad__reader *r) {
    if (r->parser.token.kind == SPAD__LEFT_BRACE) return true;
    return spad__parser_expected(&r->parser, "'{'");
}

static bool open_reader_block(spad__reader *r, spad__span span, spad_status status) {
    if (!spad__reader_accepts(r, span, status)) return false;
    spad__parser_take(&r->parser);
    return true;
}

static bool read_for(spad__reader *r) {
    char name[SPAD__WORD_MAX];
    spad__span span;
    spad_expr from;
    spad_expr to;
    spad_amount step = {.value = 1};
    spad_expr unused;
    if (!spad__read_new_name(r, "a name for the loop variable", name, &span) ||
        !spad__parser_expect_word(&r->parser, "in")) {
        return false;
    }
    const spad__span range = r->parser.token.span;
    if (!spad__read_expr(r, &from) || !spad__parser_expect(&r->parser, SPAD__RANGE, "'..'") ||
        !spad__read_expr(r, &to)) {
        return false;
    }
    if (spad__parser_accept_word(&r->parser, "step") && !spad__read_amount(r, &step)) return false;
    const spad__span bounds = spad__span_from(r, range);
    const bool parallel = spad__parser_accept_word(&r->parser, "parallel");
    if (!at_brace(r)) return false;
    spad__put_place(r, span);
    const spad_status status =
        spad__kernel_builder_range(&unused, r->builder, name, from, to, step, parallel, &r->error);
    return open_reader_block(r, status == SPAD_ERR_NAME ? span : bounds, status);
}

static bool read_comparison(spad__reader *r, spad_comparison *comparison) {
    static const struct {
        spad__token_kind token;
        spad_relation relation;
    } relations[] = {{SPAD__EQUAL_EQUAL, SPAD_EQUAL}, {SPAD__NOT_EQUAL, SPAD_NOT_EQUAL},
                     {SPAD__LESS, SPAD_LESS},         {SPAD__LESS_EQUAL, SPAD_LESS_EQUAL},
                     {SPAD__GREATER, SPAD_GREATER},   {SPAD__GREATER_EQUAL, SPAD_GREATER_EQUAL}};
    if (!spad__read_expr(r, &comparison->left)) return false;
    for (size_t i = 0; i < sizeof relations / sizeof relations[0]; i++) {
        if (!spad__parser_accept(&r->parser, relations[i].token)) continue;
        comparison->relation = relations[i].relation;
        return spad__read_expr(r, &comparison->right);
    }
    return spad__parser_expected(&r->parser, "'==', '!=', '<', '<=', '>' or '>='");
}

static bool read_if(spad__reader *r) {
    enum { COMPARISONS_MAX = 16 };
    spad_comparison comparisons[COMPARISONS_MAX];
    size_t count = 0;
    const spad__span first = r->parser.last.span;
    bool more = true;
    for (bool alternative = false; more; count++) {
        if (count == COMPARISONS_MAX) {
            SPAD__FAULT(r, r->parser.token.span, "more than %d comparisons", COMPARISONS_MAX);
            return false;
        }
        comparisons[count].alternative = alternative;
        if (!read_comparison(r, &comparisons[count])) return false;
        alternative = spad__parser_accept_word(&r->parser, "or");
        more = alternative || spad__parser_accept_word(&r->parser, "and");
    }
    if (!at_brace(r)) return false;
    const spad__span span = spad__span_from(r, first);
    spad__put_place(r, span);
    return open_reader_block(r, span,
                             spad__kernel_builder_if(r->builder, comparisons, count, &r->error));
}

static bool read_scope(spad__reader *r) {
    char name[SPAD__WORD_MAX];
    spad_amount sections = {.value = 1};
    if (!spad__read_word(r, "a name for the scope", name)) return false;
    const spad__span span = r->parser.last.span;
    if (spad__parser_accept_word(&r->parser, "sections") && !spad__read_amount(r, &sections)) {
        return false;
    }
    if (!at_brace(r)) return false;
    spad__put_place(r, span);
    return open_reader_block(r, span,
                             spad__kernel_builder_scope(r->builder, name, sections, &r->error));
}

static bool read_agent(spad__reader *r) {
    char name[SPAD__WORD_MAX];
    spad__span span;
    spad_amount threads;
    spad_amount registers;
    if (!spad__read_new_name(r, "a name for the agent", name, &span)) return false;
    if (r->parser.token.kind == SPAD__LEFT_BRACKET) return spad__read_copies(r, name, span);
    if (!spad__read_agent_threads(r, &threads, &registers) || !at_brace(r)) return false;
    const spad__span all = spad__span_from(r, span);
    return open_reader_block(r, span, spad__kernel_builder_agent(r->builder, name, &r->error)) &&
           spad__reader_accepts(
               r, all, spad__kernel_builder_threads(r->builder, threads, registers, &r->error));
}

static bool read_else(spad__reader *r) {
    SPAD__FAULT(r, r->parser.last.span, "an else without its if");
    return false;
}

static bool read_second_kernel(spad__reader *r) {
    SPAD__FAULT(r, r->parser.last.span, "a second kernel; a file has one");
    return false;
}

/* A '}' that is taken: the end of a block, or an if continues with its else. */
static bool read_end(spad__reader *r) {
    const spad__span span = r->parser.last.span;
    bool ended;
    if (!spad__end_expansion(r, &ended)) return false;
    if (ended) return true;
    const size_t depth = r->builder->blocks.count;
    if (depth == 0) {
        SPAD__FAULT(r, span, "this '}' closes nothing");
        return false;
    }
    const size_t around = r->builder->blocks.items[depth - 1].statement;
    if (r->builder->kernel->statements.items[around].kind == SPAD_STATEMENT_IF &&
        !r->builder->blocks.items[depth - 1].of_loop) {
        spad__parser_skip_lines(&r->parser);
        if (spad__parser_accept_word(&r->parser, "else")) {
            spad__put_place(r, r->parser.last.span);
            return spad__reader_accepts(r, span,
                                        spad__kernel_builder_else(r->builder, &r->error)) &&
                   spad__parser_expect(&r->parser, SPAD__LEFT_BRACE, "'{'");
        }
    }
    return spad__reader_accepts(r, span, spad__kernel_builder_end(r->builder, &r->error));
}

/* ---- statements -------------------------------------------------------------------- */

static const struct {
    const char *word;
    bool (*read)(spad__reader *r);
    bool declares; /* not in a macro */
} statements[] = {
    {"param", spad__read_param, true},
    {"region", spad__read_region, true},
    {"assume", spad__read_assumption, true},
    {"undecided", spad__read_undecided, true},
    {"uncounted", spad__read_uncounted, true},
    {"compiler", spad__read_compiler, true},
    {"grid", spad__read_grid, true},
    {"cluster", spad__read_cluster, true},
    {"threads", spad__read_threads, true},
    {"unit", spad__read_unit, true},
    {"barrier", spad__read_barrier, true},
    {"counter", spad__read_counter, true},
    {"mbarrier", spad__read_mbarrier, true},
    {"group", spad__read_group, true},
    {"unknown", spad__read_unknown, true},
    {"source", spad__read_source, true},
    {"fault", spad__read_fault, true},
    {"cursor", read_cursor, true},
    {"macro", spad__read_macro, false},
    {"for", read_for, false},
    {"if", read_if, false},
    {"else", read_else, false},
    {"scope", read_scope, false},
    {"next", read_next, false},
    {"agent", read_agent, false},
    {"advance", read_advance, false},
    {"break", read_break, false},
    {"alloc", read_alloc, false},
    {"free", read_free, false},
    {"arrive", read_arrive, false},
    {"signal", read_signal, false},
    {"wait", read_wait, false},
    {"take", read_take, false},
    {"init", read_init, false},
    {"expect", read_expect, false},
    {"invalidate", read_invalidate, false},
    {"commit", read_commit, false},
    {"drain", read_drain, false},
    {"fence", read_fence, false},
    {"kernel", read_second_kernel, false},
};
enum { STATEMENTS = sizeof statements / sizeof statements[0] };

bool spad__is_kernel_word(const char *word) {
    for (size_t i = 0; i < STATEMENTS; i++) {
        if (strcmp(statements[i].word, word) == 0) return true;
    }
    return strcmp(word, "sync") == 0;
}

/* "tensor x :" declares, "tensor mm reads ..." is an operation. */
static bool read_after_runner(spad__reader *r, const char *runner, spad__span span) {
    char name[SPAD__WORD_MAX];
    if (!spad__read_word(r, "a name for the operation", name)) return false;
    if (strcmp(runner, "tensor") == 0 && r->parser.token.kind == SPAD__COLON) {
        if (spad__refuses_declaration(r, span)) return false;
        return spad__read_tensor(r, name, r->parser.last.span);
    }
    return spad__read_operation(r, runner, span, name);
}

/* "sync b" is about a barrier; an operation of an engine of that name has a clause. */
static bool read_sync(spad__reader *r, spad__span span) {
    char name[SPAD__WORD_MAX];
    size_t engine;
    sync_text s;
    start_sync(r, &s, SPAD_STATEMENT_SYNC);
    if (!spad__read_word(r, "a barrier", name)) return false;
    if (spad__find_symbol(r->builder, name) == NULL && spad__at_op_clause(r) &&
        spad__target_find_engine(&engine, r->builder->kernel->target, "sync", NULL) == SPAD_OK) {
        return spad__read_operation(r, "sync", span, name);
    }
    return spad__resolve_word(r, "barrier", SPAD__SYMBOL_SYNC, &s.row.item) &&
           spad__read_index(r, s.index, &s.row.index_count) && read_sync_clauses(r, &s) &&
           finish_sync(r, &s);
}

static bool read_statement(spad__reader *r) {
    char word[SPAD__WORD_MAX];
    if (r->parser.token.kind == SPAD__STRING) { /* an engine with the name of a statement */
        const char *runner;
        if (!spad__parser_name(&r->parser, "an engine", &runner)) return false;
        return read_after_runner(r, runner, r->parser.last.span);
    }
    if (!spad__read_word(r, "a statement", word)) return false;
    const spad__span span = r->parser.last.span;
    if (strcmp(word, "sync") == 0) return read_sync(r, span);
    for (size_t i = 0; i < STATEMENTS; i++) {
        if (strcmp(word, statements[i].word) != 0) continue;
        if (statements[i].declares && spad__refuses_declaration(r, span)) return false;
        return statements[i].read(r);
    }
    if (r->parser.token.kind == SPAD__LEFT_PARENTHESIS) return spad__read_call(r, word);
    if (r->parser.token.kind != SPAD__WORD) { /* not an operation: say so at the word */
        const spad_status status = spad__kernel_builder_operation(r->builder, word, "x", &r->error);
        if (status != SPAD_OK) return spad__reader_accepts(r, span, status);
    }
    return read_after_runner(r, word, span);
}

static bool stopped(const spad__reader *r) {
    return r->parser.out_of_memory || spad__diagnostics_full(r->parser.diagnostics);
}

/* Skips a faulty statement, and lines that continue it. */
static void skip_statement(spad__reader *r) {
    do {
        spad__parser_skip_statement(&r->parser);
        spad__parser_skip_lines(&r->parser);
    } while (spad__at_op_clause(r));
}

static void read_statements(spad__reader *r) {
    while (!stopped(r)) {
        spad__parser_skip_lines(&r->parser);
        if (r->parser.token.kind == SPAD__END) break;
        const bool fine =
            spad__parser_accept(&r->parser, SPAD__RIGHT_BRACE) ? read_end(r) : read_statement(r);
        if (!fine) skip_statement(r);
    }
    const size_t depth = r->builder->blocks.count;
    if (depth == 0 || stopped(r) || spad_diagnostics_count(r->parser.diagnostics) > 0) return;
    const size_t around = r->builder->blocks.items[depth - 1].statement;
    const spad_statement *statement = &r->builder->kernel->statements.items[around];
    SPAD__FAULT(r, r->parser.token.span, "'%s' in line %d has no '}'",
                spad_statement_kind_name(statement->kind), (int)statement->location.line);
}

/* "kernel NAME on TARGET": then there is a builder. */
static bool read_head(spad__reader *r) {
    char name[SPAD__WORD_MAX];
    const char *target_name;
    const char *about = "";
    const spad_target *target = r->options->target;
    spad__parser_skip_lines(&r->parser);
    if (!spad__parser_accept_word(&r->parser, "kernel")) {
        SPAD__FAULT(r, r->parser.token.span,
                    "a kernel file starts with 'kernel', a name, 'on' and a target");
        return false;
    }
    if (!spad__read_word(r, "a name for the kernel", name) ||
        !spad__parser_expect_word(&r->parser, "on")) {
        return false;
    }
    if (!spad__parser_name(&r->parser, "the name of a target", &target_name)) return false;
    if (target == NULL &&
        !spad__reader_accepts(r, r->parser.last.span,
                              spad_target_find(&target, target_name, &r->error))) {
        return false;
    }
    if (r->parser.token.kind == SPAD__STRING && !spad__parser_text(&r->parser, &about)) {
        return false;
    }
    return spad__reader_accepts(r, r->parser.last.span,
                                spad__kernel_builder_create(&r->builder, name, about, target,
                                                            r->options, &r->error)) &&
           spad__parser_end_statement(&r->parser);
}

/* ---- the calls --------------------------------------------------------------------- */

static spad_status finish_kernel(spad__reader *r, spad_kernel **out, const spad__source *source,
                                 spad_error *error) {
    spad_kernel *kernel = r->builder->kernel;
    kernel->file = spad__arena_copy(&kernel->arena, source->file, strlen(source->file));
    if (kernel->file == NULL || !spad__keep_comments(kernel, source)) {
        return spad__fail_host_memory(error);
    }
    return spad__kernel_builder_finish(out, r->builder, error);
}

static spad_status read_kernel(spad_kernel **out, const spad__source *source,
                               const spad_kernel_options *options, spad_diagnostics *diagnostics,
                               spad_error *error) {
    spad__reader r = {.options = options, .line = 1, .column = 1};
    spad__arena scratch = {.host = spad__host_or_default(options->host)};
    spad__diagnostics_begin(diagnostics, source);
    spad__parser_start(&r.parser, source, diagnostics, &scratch);
    if (read_head(&r)) read_statements(&r);
    spad_status status = spad__diagnostics_end(diagnostics, error);
    if (r.parser.out_of_memory) status = spad__fail_host_memory(error);
    if (status == SPAD_OK) status = finish_kernel(&r, out, source, error);
    spad__kernel_builder_destroy(r.builder);
    const spad_host host = spad__host_or_default(options->host);
    spad__array_free(&host, &r.macros);
    spad__arena_free(&scratch);
    return status;
}

spad_status spad_kernel_parse(spad_kernel **out, const char *text, size_t length, const char *file,
                              const spad_kernel_options *options, spad_diagnostics *diagnostics,
                              spad_error *error) {
    spad_kernel_options o;
    *out = NULL;
    spad_status status = SPAD__COPY_OPTIONS(&o, options, error);
    if (status != SPAD_OK) return status;
    if (length > INT32_MAX) { /* lines and columns are 32-bit numbers */
        return spad__fail(error, SPAD_ERR_ARGUMENT, "a text of %zu bytes is too long: at most %ld",
                          length, (long)INT32_MAX);
    }
    const spad__source source = {
        .file = file != NULL ? file : "<text>", .text = length > 0 ? text : "", .length = length};
    spad_diagnostics *own = NULL;
    if (diagnostics == NULL) status = spad_diagnostics_create(&own, o.host, error);
    if (status != SPAD_OK) return status;
    status = read_kernel(out, &source, &o, diagnostics != NULL ? diagnostics : own, error);
    spad_diagnostics_destroy(own);
    return status;
}

spad_status spad__kernel_builder_expr(spad_expr *out, spad__kernel_builder *builder,
                                      const char *text, spad_error *error) {
    static const spad_kernel_options no_options = {0};
    const spad__source source = {.file = "<expression>", .text = text, .length = strlen(text)};
    spad_diagnostics *diagnostics;
    *out = 0;
    spad_status status = spad_diagnostics_create(&diagnostics, &builder->host, error);
    if (status != SPAD_OK) return status;
    spad__reader r = {.options = &no_options, .builder = builder, .line = 1, .column = 1};
    spad__arena scratch = {.host = builder->host};
    spad_expr expr = 0;
    const spad__expr_mark mark = spad__mark_exprs(builder->kernel);
    spad__diagnostics_begin(diagnostics, &source);
    spad__parser_start(&r.parser, &source, diagnostics, &scratch);
    if (spad__read_expr(&r, &expr) && r.parser.token.kind != SPAD__END) {
        spad__parser_expected(&r.parser, "the end of the expression");
    }
    status = spad__diagnostics_end(diagnostics, error);
    if (r.parser.out_of_memory) status = spad__fail_host_memory(error);
    if (status == SPAD_OK) {
        *out = expr;
    } else {
        spad__drop_exprs(builder->kernel, mark);
    }
    spad__arena_free(&scratch);
    spad_diagnostics_destroy(diagnostics);
    return status;
}
