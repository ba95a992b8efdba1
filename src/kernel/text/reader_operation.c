/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations of kernel text: an engine, a name, and clauses for what is read and written, what the
 * operation signals when it completes, and what it costs.
 */
#include "kernel/text/reader.h"
#include "target/target.h"

/* "..", "3", "0..64", "0..64 by 2" */
static bool read_range(spad__reader *r, spad_expr_range *range) {
    *range = (spad_expr_range){0};
    if (!spad__parser_accept(&r->parser, SPAD__RANGE)) {
        if (!spad__read_expr(r, &range->from)) return false;
        if (!spad__parser_accept(&r->parser, SPAD__RANGE)) return true;
        if (!spad__read_expr(r, &range->to)) return false;
    }
    return !spad__parser_accept_word(&r->parser, "by") || spad__read_expr(r, &range->step);
}

static bool read_access_clause(spad__reader *r, unsigned kind) {
    spad_expr index[SPAD__INDEX_MAX];
    spad_expr_range ranges[SPAD__INDEX_MAX];
    char spread[SPAD__WORD_MAX];
    spad_kernel_access access = {.kind = kind, .index = index, .ranges = ranges};
    if (!spad__read_symbol(r, "tensor", SPAD__SYMBOL_TENSOR, &access.tensor)) return false;
    const spad__span first = r->parser.last.span;
    if (!spad__read_index(r, index, &access.index_count)) return false;
    if (spad__parser_accept(&r->parser, SPAD__LEFT_PARENTHESIS)) {
        do {
            if (!spad__has_room(r, access.range_count, "dimensions")) return false;
            if (!read_range(r, &ranges[access.range_count])) return false;
            access.range_count++;
        } while (spad__next_item(r));
        if (!spad__parser_expect(&r->parser, SPAD__RIGHT_PARENTHESIS, "',' or ')'")) return false;
    }
    if (spad__parser_accept_word(&r->parser, "moves") && !spad__read_expr(r, &access.moves)) {
        return false;
    }
    if (spad__parser_accept_word(&r->parser, "spread")) {
        if (!spad__read_word(r, "which threads access which bytes", spread)) return false;
        access.spread = spread;
    }
    const spad__span span = spad__span_from(r, first);
    spad__put_place(r, span);
    return spad__reader_accepts(r, span,
                                spad__kernel_builder_access(r->builder, &access, &r->error));
}

static bool read_accesses(spad__reader *r, unsigned kind) {
    do {
        if (!read_access_clause(r, kind)) return false;
    } while (spad__next_item(r));
    return true;
}

/* "full[s] by 2 after reads" */
static bool read_completion(spad__reader *r, spad_completion_kind kind) {
    spad_expr index[SPAD__INDEX_MAX];
    spad_kernel_completion completion = {.kind = kind, .index = index};
    const spad__span first = r->parser.token.span;
    if (!spad__read_symbol(r, "barrier, counter or group", SPAD__SYMBOL_SYNC, &completion.object) ||
        !spad__read_index(r, index, &completion.index_count)) {
        return false;
    }
    if (spad__parser_accept_word(&r->parser, "by") && !spad__read_expr(r, &completion.amount)) {
        return false;
    }
    if (spad__parser_accept_word(&r->parser, "after")) {
        if (!spad__parser_expect_word(&r->parser, "reads")) return false;
        completion.flags |= SPAD_SYNC_READS;
    }
    const spad__span span = spad__span_from(r, first);
    spad__put_place(r, span);
    return spad__reader_accepts(
        r, span, spad__kernel_builder_completion(r->builder, &completion, &r->error));
}

static bool read_membership(spad__reader *r) {
    int64_t group;
    return spad__read_symbol(r, "group", SPAD__SYMBOL_SYNC, &group) &&
           spad__reader_accepts(r, r->parser.last.span,
                                spad__kernel_builder_group(r->builder, group, &r->error));
}

static bool read_cost_unit(spad__reader *r, spad_cost_kind *kind) {
    if (spad__parser_accept_word(&r->parser, "cycles")) {
        *kind = SPAD_COST_CYCLES;
    } else if (spad__parser_accept_word(&r->parser, "ns")) {
        *kind = SPAD_COST_NS;
    } else {
        return spad__parser_expected(&r->parser, "'cycles' or 'ns'");
    }
    return true;
}

static bool read_latency(spad__reader *r) {
    spad_amount latency;
    spad_cost_kind kind = SPAD_COST_TARGET;
    const spad__span first = r->parser.token.span;
    return spad__read_amount(r, &latency) && read_cost_unit(r, &kind) &&
           spad__reader_accepts(r, spad__span_from(r, first),
                                spad__kernel_builder_latency(r->builder, kind, latency, &r->error));
}

/* "2 fma, 1 exp" */
static bool read_work(spad__reader *r) {
    do {
        spad_amount amount;
        int work = SPAD_WORK_FMA;
        const spad__span first = r->parser.token.span;
        if (!spad__read_amount(r, &amount)) return false;
        while (work < SPAD_WORKS &&
               !spad__parser_accept_word(&r->parser, spad__work_name((spad_work)work))) {
            work++;
        }
        if (work == SPAD_WORKS) {
            return spad__parser_expected(&r->parser, "'fma', 'exp', 'convert' or 'reduce'");
        }
        if (!spad__reader_accepts(
                r, spad__span_from(r, first),
                spad__kernel_builder_work(r->builder, (spad_work)work, amount, &r->error))) {
            return false;
        }
    } while (spad__parser_accept(&r->parser, SPAD__COMMA));
    return true;
}

static bool read_cost(spad__reader *r) {
    spad_expr cost;
    spad_cost_kind kind = SPAD_COST_TARGET;
    const spad__span first = r->parser.token.span;
    if (!spad__read_expr(r, &cost) || !read_cost_unit(r, &kind)) return false;
    return spad__reader_accepts(r, spad__span_from(r, first),
                                spad__kernel_builder_cost(r->builder, kind, cost, &r->error));
}

enum {
    OP_READS,
    OP_WRITES,
    OP_UPDATES,
    OP_ADDS,
    OP_IN,
    OP_DELIVERS,
    OP_ARRIVES,
    OP_SIGNALS,
    OP_COST,
    OP_ELECTED,
    OP_LATENCY,
    OP_WORK,
    OP_MAY,
    OP_AGREED,
    OP_FROM,
    OP_CLAUSES
};
static const char *const op_words[OP_CLAUSES] = {
    "reads", "writes",  "updates", "adds", "in",  "delivers", "arrives", "signals",
    "cost",  "elected", "latency", "work", "may", "agreed",   "from"};

/* The clause that the next word starts, or OP_CLAUSES. */
static int op_clause(const spad__reader *r) {
    int clause = 0;
    while (clause < OP_CLAUSES &&
           !spad__token_is(r->parser.source, r->parser.token, op_words[clause])) {
        clause++;
    }
    return clause;
}

bool spad__at_op_clause(const spad__reader *r) {
    return op_clause(r) != OP_CLAUSES;
}

/* "may reads x moves 4 KiB" */
static bool read_possible(spad__reader *r) {
    static const unsigned kinds[] = {SPAD_ACCESS_READ, SPAD_ACCESS_WRITE, SPAD_ACCESS_UPDATE,
                                     SPAD_ACCESS_ADD};
    const int clause = op_clause(r);
    if (clause > OP_ADDS) {
        return spad__parser_expected(&r->parser, "'reads', 'writes', 'updates' or 'adds'");
    }
    spad__parser_take(&r->parser);
    return read_accesses(r, kinds[clause] | SPAD_ACCESS_MAY);
}

/* "agreed writes x" */
static bool read_agreed(spad__reader *r) {
    if (op_clause(r) != OP_WRITES) return spad__parser_expected(&r->parser, "'writes'");
    spad__parser_take(&r->parser);
    return read_accesses(r, SPAD_ACCESS_WRITE | SPAD_ACCESS_AGREED);
}

static bool read_op_clause(spad__reader *r, int clause) {
    spad__parser_take(&r->parser);
    switch (clause) {
    case OP_READS: return read_accesses(r, SPAD_ACCESS_READ);
    case OP_WRITES: return read_accesses(r, SPAD_ACCESS_WRITE);
    case OP_UPDATES: return read_accesses(r, SPAD_ACCESS_UPDATE);
    case OP_ADDS: return read_accesses(r, SPAD_ACCESS_ADD);
    case OP_MAY: return read_possible(r);
    case OP_AGREED: return read_agreed(r);
    case OP_FROM: return spad__read_from(r);
    case OP_IN: return read_membership(r);
    case OP_DELIVERS: return read_completion(r, SPAD_COMPLETION_DELIVER);
    case OP_ARRIVES: return read_completion(r, SPAD_COMPLETION_ARRIVE);
    case OP_SIGNALS: return read_completion(r, SPAD_COMPLETION_SIGNAL);
    case OP_ELECTED:
        return spad__reader_accepts(r, r->parser.last.span,
                                    spad__kernel_builder_elect(r->builder, &r->error));
    case OP_LATENCY: return read_latency(r);
    case OP_WORK: return read_work(r);
    default: return read_cost(r);
    }
}

/* Clauses up to the end of the line, and of the next lines that start with one. */
static bool read_op_clauses(spad__reader *r) {
    for (;;) {
        int clause = op_clause(r);
        if (clause == OP_CLAUSES) {
            if (r->parser.token.kind == SPAD__WORD) {
                return spad__unknown_word(r, "an operation", op_words, OP_CLAUSES);
            }
            if (!spad__parser_end_statement(&r->parser)) return false;
            spad__parser_skip_lines(&r->parser);
            clause = op_clause(r);
            if (clause == OP_CLAUSES) return true;
        }
        if (!read_op_clause(r, clause)) return false;
    }
}

bool spad__read_operation(spad__reader *r, const char *runner, spad__span span, const char *name) {
    const spad__symbol *symbol = spad__find_symbol(r->builder, runner);
    if (symbol != NULL && symbol->kind == SPAD__SYMBOL_BROKEN) return false;
    spad__put_place(r, span);
    return spad__reader_accepts(
               r, span, spad__kernel_builder_operation(r->builder, runner, name, &r->error)) &&
           read_op_clauses(r);
}
