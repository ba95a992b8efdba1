/* SPDX-License-Identifier: Apache-2.0
 *
 * Regions with several blocks: what Triton makes of a `return` that is not the last statement.
 *
 * Loops are those of scf, so branches lead forward only. The last return of the text is the end of
 * the function; a block that does not lead to it leaves the function early. Where two ways lead to
 * the end, they meet in the nearest block that both must pass, and what is between is a condition,
 * like an "scf.if".
 *
 * A block of the grid that leaves early has done what comes before. If nothing of that is waited
 * for, what holds for the blocks that go on holds for it as well, because its events are among
 * theirs: the kernel is that of the blocks that go on, and needs no condition, which data may
 * decide. In any other case the rest is in the `else` of a condition.
 *
 * O(blocks^2) for what meets where; each block is run once for each way that leads to it.
 */
#include "frontend/ttgir/ttgir.h"

enum {
    BLOCKS_MAX = 256,
    BLOCKS_RUN = 4096, /* blocks that are run, each time it happens */
    NO_BLOCK = -1
};

typedef struct spad__ttgir_branch {
    int32_t first_op;
    int32_t end;             /* its last operation; -1: none */
    uint32_t first_argument; /* in `arguments` */
    uint32_t argument_count;
    int successors[2];
    int successor_count;
    bool seen, open; /* while the order is found */
    bool leads;      /* to the end of the function */
    int meet;        /* the next block that every way to the end passes */
    int depth;       /* how many of them there are */
} spad__ttgir_branch;

typedef struct spad__ttgir_branches {
    spad__ttgir *t;
    int count;
    int last; /* the block that ends the function */
    int budget;
    spad__ttgir_branch items[BLOCKS_MAX];
} spad__ttgir_branches;

/* ---- the graph ----------------------------------------------------------------------- */

static bool is_branch(const spad__ttgir *t, const spad__mlir_op *op) {
    return spad__mlir_named(t->m, op, "cf.br") || spad__mlir_named(t->m, op, "cf.cond_br");
}

/* The label of successor `which` of a branch, as a token; 0: none. */
static uint32_t label_of(const spad__ttgir *t, const spad__mlir_op *op, int which) {
    for (uint32_t at = op->name + 1; at < op->end; at++) {
        if (t->m->tokens.items[at].kind == SPAD__MLIR_BLOCK && which-- == 0) return at;
    }
    return 0;
}

static int block_labelled(const spad__ttgir_branches *w, int32_t region, uint32_t label) {
    const spad__mlir *m = w->t->m;
    int number = 1;
    for (int32_t b = m->regions.items[region].first_block; b >= 0; b = m->blocks.items[b].next) {
        if (spad__mlir_same(m, m->blocks.items[b].label, label)) return number;
        number++;
    }
    return NO_BLOCK;
}

/* The last operation of a block, whose successor in the text begins with operation `next`. */
static bool find_end(spad__ttgir_branches *w, spad__ttgir_branch *block, int32_t next) {
    spad__ttgir *t = w->t;
    int32_t op = block->first_op;
    while (op >= 0 && t->m->ops.items[op].next != next) op = t->m->ops.items[op].next;
    block->end = op;
    if (op >= 0 && (is_branch(t, &t->m->ops.items[op]) ||
                    spad__mlir_named(t->m, &t->m->ops.items[op], "tt.return"))) {
        return true;
    }
    if (op >= 0) t->g->site = op;
    spad__gpu_fail(t->g, "a block that ends with neither 'tt.return', 'cf.br' nor 'cf.cond_br'");
    return false;
}

static bool find_successors(spad__ttgir_branches *w, int32_t region, spad__ttgir_branch *block) {
    const spad__mlir_op *op = &w->t->m->ops.items[block->end];
    const int count = spad__mlir_named(w->t->m, op, "cf.cond_br") ? 2 : is_branch(w->t, op) ? 1 : 0;
    for (int i = 0; i < count; i++) {
        const uint32_t label = label_of(w->t, op, i);
        block->successors[i] = label == 0 ? NO_BLOCK : block_labelled(w, region, label);
        if (block->successors[i] < 0) {
            w->t->g->site = block->end;
            spad__gpu_fail(w->t->g, "a branch to a block that is not there");
            return false;
        }
        block->successor_count++;
    }
    return true;
}

static bool read_branch_blocks(spad__ttgir_branches *w, int32_t region) {
    const spad__mlir *m = w->t->m;
    const spad__mlir_region *r = &m->regions.items[region];
    if (r->blocks >= BLOCKS_MAX) {
        spad__gpu_fail(w->t->g, "more than %d blocks with branches", BLOCKS_MAX);
        return false;
    }
    w->items[0] = (spad__ttgir_branch){.first_op = r->first_op};
    w->count = 1;
    for (int32_t b = r->first_block; b >= 0; b = m->blocks.items[b].next) {
        const spad__mlir_block *block = &m->blocks.items[b];
        w->items[w->count++] = (spad__ttgir_branch){.first_op = block->first_op,
                                                    .first_argument = block->first_argument,
                                                    .argument_count = block->argument_count};
    }
    for (int i = 0; i < w->count; i++) {
        const int32_t next = i + 1 < w->count ? w->items[i + 1].first_op : -1;
        if (!find_end(w, &w->items[i], next) || !find_successors(w, region, &w->items[i])) {
            return false;
        }
        if (w->items[i].successor_count == 0) w->last = i;
    }
    return true;
}

/* The nearest block that is passed after both. */
static int meeting(const spad__ttgir_branches *w, int a, int b) {
    while (a != b) {
        if (w->items[a].depth >= w->items[b].depth) {
            a = w->items[a].meet;
        } else {
            b = w->items[b].meet;
        }
    }
    return a;
}

/* Successors first. False: a branch backwards. */
static bool order_block(spad__ttgir_branches *w, int number) {
    spad__ttgir_branch *block = &w->items[number];
    if (block->seen) return true;
    if (block->open) {
        w->t->g->site = block->end;
        spad__gpu_fail(w->t->g, "branches that form a loop are not known: only loops of scf");
        return false;
    }
    block->open = true;
    block->leads = number == w->last;
    block->meet = number == w->last ? number : NO_BLOCK;
    for (int i = 0; i < block->successor_count; i++) {
        const int next = block->successors[i];
        if (!order_block(w, next)) return false;
        if (!w->items[next].leads) continue;
        block->meet = block->leads ? meeting(w, block->meet, next) : next;
        block->leads = true;
    }
    if (number != w->last && block->leads) block->depth = w->items[block->meet].depth + 1;
    block->seen = true;
    block->open = false;
    return true;
}

/* ---- running through it -------------------------------------------------------------- */

static bool run_from(spad__ttgir_branches *w, int at, int stop, const spad__mlir_op **end);

/* What branch `op` hands to the arguments of its successor. */
static void hand_arguments(spad__ttgir_branches *w, const spad__mlir_op *op, int which, int next) {
    spad__ttgir *t = w->t;
    const spad__ttgir_branch *block = &w->items[next];
    const uint32_t from = label_of(t, op, which), to = label_of(t, op, which + 1);
    uint32_t given = 0;
    for (uint32_t i = 0; i < op->operand_count && given < block->argument_count; i++) {
        const uint32_t token = t->m->operands.items[op->first_operand + i].token;
        if (token < from || (to != 0 && token > to)) continue;
        t->values.items[t->m->arguments.items[block->first_argument + given++]] =
            *spad__ttgir_operand(t, op, i);
    }
}

static spad__ttgir_value *argument_at(const spad__ttgir_branches *w, int block, uint32_t number) {
    const spad__mlir *m = w->t->m;
    return &w->t->values.items[m->arguments.items[w->items[block].first_argument + number]];
}

/* One of two ways up to where they meet, and then the other. */
static bool run_both(spad__ttgir_branches *w, const spad__mlir_op *op, const int *next, int stop) {
    spad__ttgir *t = w->t;
    spad__gpu_branch branch;
    const uint32_t count = w->items[stop].argument_count;
    SPAD_ARRAY(spad__ttgir_value) first = {0};
    const spad__mlir_op *end = NULL;
    if (!spad__array_reserve(t->g->host, &first, count)) return spad__gpu_no_memory(t->g);
    spad__ttgir_open_branch(t, &branch, spad__ttgir_condition(t, op));
    hand_arguments(w, op, 0, next[0]);
    bool good = next[0] == stop || run_from(w, next[0], stop, &end);
    for (uint32_t i = 0; i < count; i++) first.items[i] = *argument_at(w, stop, i);
    if (good) {
        spad__gpu_else_branch(t->g, &branch);
        hand_arguments(w, op, 1, next[1]);
        good = next[1] == stop || run_from(w, next[1], stop, &end);
    }
    for (uint32_t i = 0; good && i < count; i++) {
        *argument_at(w, stop, i) =
            spad__ttgir_either(t, branch.condition, first.items[i], *argument_at(w, stop, i));
    }
    spad__array_free(t->g->host, &first);
    if (good) spad__gpu_close_branch(t->g, &branch);
    return good;
}

/* Has a block of the grid that leaves here nothing under way that others wait for? */
static bool may_leave(const spad__ttgir *t) {
    if (t->calls.depth > 0 || t->g->records.stream != SPAD__STREAM_BEFORE) return false;
    for (size_t i = 0; i < t->g->records.all.count; i++) {
        const spad__gpu_record *record = &t->g->records.all.items[i];
        if (record->kind == SPAD__RECORD_STATEMENT || record->kind == SPAD__RECORD_AGENT_BARRIER)
            return false;
        if (record->kind == SPAD__RECORD_OPERATION && record->unit != SPAD__GPU_NO_UNIT)
            return false;
    }
    return true;
}

/* One successor leaves the function early, and the other one goes on. *at: the block to go on
 * with, if the condition does not matter. */
static bool run_early(spad__ttgir_branches *w, const spad__mlir_op *op,
                      const spad__ttgir_branch *block, int stop, int *at) {
    spad__ttgir *t = w->t;
    const int32_t self = t->g->site;
    const int which = w->items[block->successors[0]].leads ? 1 : 0;
    const int leaves = block->successors[which], other = block->successors[1 - which];
    const spad__mlir_op *end;
    spad__scalar condition = spad__ttgir_condition(t, op);
    spad__gpu_branch branch;
    *at = other;
    if (!t->g->dry) {
        const bool harmless = may_leave(t);
        if (which == 1) condition = spad__scalar_not(&t->g->scalars, condition);
        spad__ttgir_open_branch(t, &branch, condition);
        hand_arguments(w, op, which, leaves);
        if (!run_from(w, leaves, NO_BLOCK, &end)) return false;
        if (!harmless || !spad__gpu_drop_branch(t->g, &branch)) *at = NO_BLOCK;
        const bool some =
            spad__gpu_is_data(t->g, condition) || spad__gpu_has_trip_count(t->g, condition);
        if (*at >= 0 && some) spad__gpu_assume(t->g, SPAD__ASSUME_NO_EARLY_RETURN, self);
        t->g->site = self;
    }
    if (*at < 0 && stop >= 0) {
        spad__gpu_unresolved(t->g, "a return inside of a condition");
        return false;
    }
    if (*at < 0) spad__gpu_else_branch(t->g, &branch);
    hand_arguments(w, op, 1 - which, other);
    if (*at >= 0) return true;
    if (!run_from(w, other, NO_BLOCK, &end)) return false;
    spad__gpu_close_branch(t->g, &branch);
    return true;
}

/* Is it certain which successor is next: because the condition is a number, or because the sizes
 * lead out of the function? */
static bool sizes_decide(const spad__ttgir_branches *w, const spad__ttgir_branch *block,
                         spad__scalar condition, int *which) {
    int64_t value;
    if (!spad__scalar_known(&w->t->g->scalars, condition, &value)) return false;
    if (spad__gpu_has_trip_count(w->t->g, condition)) return false; /* data does */
    *which = value == 0 ? 1 : 0;
    if (spad__scalar_get(&w->t->g->scalars, condition)->op == SPAD__SCALAR_NUMBER) return true;
    return w->t->calls.depth == 0 && block->leads && !w->items[block->successors[*which]].leads;
}

/* From the end of a block to the next one. *at: NO_BLOCK after all ways were run. */
static bool run_branch(spad__ttgir_branches *w, const spad__mlir_op *op, int stop, int *at) {
    spad__ttgir *t = w->t;
    const spad__ttgir_branch *block = &w->items[*at];
    const int *next = block->successors;
    int which = 0;
    if (block->successor_count == 2) {
        const spad__scalar condition = spad__ttgir_condition(t, op);
        if (condition < 0) return false; /* no memory */
        if (!sizes_decide(w, block, condition, &which)) {
            if (!w->items[next[0]].leads || !w->items[next[1]].leads) {
                return run_early(w, op, block, stop, at);
            }
            *at = meeting(w, next[0], next[1]);
            return run_both(w, op, next, *at);
        }
    }
    if (!w->items[next[which]].leads && block->leads) {
        if (stop >= 0) {
            spad__gpu_unresolved(t->g, "a return inside of a condition");
            return false;
        }
        if (t->calls.depth == 0) t->g->assumptions.sites[SPAD__ASSUME_RETURN] = t->g->site;
    }
    hand_arguments(w, op, which, next[which]);
    *at = next[which];
    return true;
}

/* From block `at` to block `stop`, or to the end of the function. *end: the operation that it ends
 * with; NULL: none, or one of several. */
static bool run_from(spad__ttgir_branches *w, int at, int stop, const spad__mlir_op **end) {
    spad__ttgir *t = w->t;
    *end = NULL;
    while (at != stop) {
        const spad__ttgir_branch *block = &w->items[at];
        const spad__mlir_op *last = &t->m->ops.items[block->end];
        if (w->budget-- == 0) {
            spad__gpu_fail(t->g, "more than %d ways through the branches of a function",
                           BLOCKS_RUN);
            return false;
        }
        if (!t->run_ops(t, block->first_op, block->end)) return false;
        t->g->site = block->end;
        if (block->successor_count == 0) {
            *end = last;
            return true;
        }
        if (!run_branch(w, last, stop, &at)) return false;
        if (at == NO_BLOCK) return true;
    }
    return true;
}

bool spad__ttgir_branches_run(spad__ttgir *t, int32_t region, const spad__mlir_op **end) {
    spad__ttgir_branches w;
    w.t = t;
    w.last = 0;
    w.budget = BLOCKS_RUN;
    return read_branch_blocks(&w, region) && order_block(&w, 0) && run_from(&w, 0, NO_BLOCK, end);
}
