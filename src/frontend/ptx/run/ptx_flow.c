/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds the control flow graph of a function and its postdominators.
 *
 * Reference: K. Cooper, T. Harvey, K. Kennedy, "A simple, fast dominance algorithm", on the
 * reversed graph. Its end is a node of its own, number block_count, behind every block that leaves
 * the function.
 */
#include "frontend/ptx/run/ptx_flow.h"

#include <string.h>

#include "frontend/ptx/run/ptx_warp.h"

/* ---- instructions ------------------------------------------------------------------------------
 */

static bool is_jump(spad__ptx_op op) {
    return op == SPAD__PTX_OP_BRA || op == SPAD__PTX_OP_BRX_IDX;
}

bool spad__ptx_calls_assert(const spad__ptx_module *module, const spad__ptx_instruction *i) {
    if (i->op != SPAD__PTX_OP_CALL || i->count < 2) return false;
    const spad__ptx_operand *target = &module->operands.items[i->first + 1];
    if (target->kind != SPAD__PTX_FUNCTION) return false;
    const spad__ptx_function *f = &module->functions.items[target->value];
    return f->external && strcmp(f->name, "__assertfail") == 0;
}

static bool ends_threads(const spad__ptx_module *module, const spad__ptx_instruction *i) {
    return i->op == SPAD__PTX_OP_TRAP || spad__ptx_calls_assert(module, i);
}

static bool ends_block(const spad__ptx_module *module, const spad__ptx_instruction *i) {
    return is_jump(i->op) || i->op == SPAD__PTX_OP_RET || i->op == SPAD__PTX_OP_EXIT ||
           ends_threads(module, i);
}

/* Where a branch leads: targets counted from the function's first instruction. */
static int32_t targets_of(const spad__ptx_module *module, const spad__ptx_function *f,
                          const spad__ptx_instruction *i, const int32_t **out, int32_t *single) {
    if (!is_jump(i->op) || i->count < 1) return 0;
    const spad__ptx_operand *operand = &module->operands.items[i->first + i->count - 1];
    if (i->op == SPAD__PTX_OP_BRA) operand = &module->operands.items[i->first];
    if (operand->kind == SPAD__PTX_LABEL) {
        *single = (int32_t)operand->value;
        *out = single;
        return 1;
    }
    if (operand->kind != SPAD__PTX_TABLE || operand->value < 0) return 0;
    const spad__ptx_branch_table *table = &module->tables.items[f->first_table + operand->value];
    *out = &module->targets.items[table->first];
    return table->count;
}

/* ---- blocks ------------------------------------------------------------------------------------
 */

static const spad__ptx_instruction *instruction_at(const spad__ptx_module *module, int32_t n) {
    return &module->instructions.items[n];
}

/* Marks where blocks begin, in block_of, and counts blocks and edges. */
static void mark_leaders(const spad__ptx_module *module, spad__ptx_flow *flow) {
    const spad__ptx_function *f = flow->function;
    if (f->instruction_count > 0) flow->block_of[0] = 1;
    for (int32_t k = 0; k < f->instruction_count; k++) {
        const spad__ptx_instruction *i = instruction_at(module, f->first_instruction + k);
        if (!ends_block(module, i)) continue;
        const int32_t *targets = NULL;
        int32_t single;
        const int32_t count = targets_of(module, f, i, &targets, &single);
        for (int32_t t = 0; t < count; t++) {
            if (targets[t] < f->instruction_count) flow->block_of[targets[t]] = 1;
        }
        if (k + 1 < f->instruction_count) flow->block_of[k + 1] = 1;
        flow->most_edges += count;
    }
    for (int32_t k = 0; k < f->instruction_count; k++) flow->block_count += flow->block_of[k];
    flow->most_edges += flow->block_count;
}

static void make_blocks(spad__ptx_flow *flow) {
    const spad__ptx_function *f = flow->function;
    int32_t block = -1;
    for (int32_t k = 0; k < f->instruction_count; k++) {
        if (flow->block_of[k] != 0) flow->blocks[++block].first = f->first_instruction + k;
        flow->block_of[k] = block;
        flow->blocks[block].last = f->first_instruction + k;
        flow->blocks[block].join = -1;
    }
}

static int32_t target_block(const spad__ptx_flow *flow, int32_t target) {
    return target < flow->function->instruction_count ? flow->block_of[target] : flow->block_count;
}

/* Targets first, then the next block, if it is reached. */
static void make_edges(const spad__ptx_module *module, spad__ptx_flow *flow) {
    int32_t count = 0;
    for (int32_t b = 0; b < flow->block_count; b++) {
        spad__ptx_block *block = &flow->blocks[b];
        const spad__ptx_instruction *i = instruction_at(module, block->last);
        const int32_t *targets = NULL;
        int32_t single;
        const int32_t targets_count = targets_of(module, flow->function, i, &targets, &single);
        block->first_edge = count;
        for (int32_t t = 0; t < targets_count; t++) {
            flow->edges[count++] = target_block(flow, targets[t]);
        }
        const bool leaves = ends_block(module, i) && i->guard < 0;
        if (leaves && targets_count == 0) {
            block->doomed = ends_threads(module, i);
        } else if (!leaves) {
            flow->edges[count++] = b + 1;
        }
        block->edge_count = count - block->first_edge;
    }
}

static bool all_doomed(const spad__ptx_flow *flow, const spad__ptx_block *block) {
    for (int32_t e = 0; e < block->edge_count; e++) {
        const int32_t next = flow->edges[block->first_edge + e];
        if (next == flow->block_count || !flow->blocks[next].doomed) return false;
    }
    return block->edge_count > 0;
}

static void find_doomed(spad__ptx_flow *flow) {
    for (bool changed = true; changed;) {
        changed = false;
        for (int32_t b = flow->block_count; b-- > 0;) {
            spad__ptx_block *block = &flow->blocks[b];
            if (block->doomed || !all_doomed(flow, block)) continue;
            block->doomed = true;
            changed = true;
        }
    }
}

/* The next block over an edge; -1: an edge that does not count. Blocks without edges lead to the
 * end. */
static int32_t follow(const spad__ptx_flow *flow, const spad__ptx_block *block, int32_t edge) {
    if (block->edge_count == 0) return edge == 0 ? flow->block_count : -1;
    if (edge >= block->edge_count) return -1;
    const int32_t next = flow->edges[block->first_edge + edge];
    const bool left_out = next < flow->block_count && flow->blocks[next].doomed && !block->doomed;
    return left_out ? -1 : next;
}

static int32_t way_count(const spad__ptx_block *block) {
    return block->edge_count == 0 ? 1 : block->edge_count;
}

/* ---- postdominators ----------------------------------------------------------------------------
 */

/* Working arrays of block_count + 1, one behind the other. */
typedef struct order {
    int32_t *number; /* postorder of the reversed graph, from 1; 0: cannot reach the end */
    int32_t *blocks; /* in that order */
    int32_t *before; /* predecessors of b are `from` before[b + 1] to before[b + 2] */
    int32_t *from;
    int32_t *stack;
    int32_t *edge; /* of each on the stack */
    int32_t count;
} order;

static void find_predecessors(const spad__ptx_flow *flow, order *o) {
    const int32_t end = flow->block_count;
    for (int pass = 0; pass < 2; pass++) {
        for (int32_t b = 0; b < end; b++) {
            for (int32_t e = 0; e < way_count(&flow->blocks[b]); e++) {
                const int32_t next = follow(flow, &flow->blocks[b], e);
                if (next < 0) continue;
                if (pass == 0) {
                    o->before[next + 1]++;
                } else {
                    o->from[--o->before[next + 1]] = b;
                }
            }
        }
        if (pass != 0) break;
        for (int32_t b = 0; b <= end; b++) o->before[b + 1] += o->before[b];
        o->before[end + 2] = o->before[end + 1];
    }
}

static void number_blocks(const spad__ptx_flow *flow, order *o) {
    const int32_t end = flow->block_count;
    int32_t depth = 0;
    o->stack[depth] = end;
    o->edge[depth++] = o->before[end + 1];
    o->number[end] = -1;
    while (depth > 0) {
        const int32_t b = o->stack[depth - 1];
        if (o->edge[depth - 1] == o->before[b + 2]) {
            o->blocks[o->count++] = b;
            o->number[b] = o->count;
            depth--;
            continue;
        }
        const int32_t before = o->from[o->edge[depth - 1]++];
        if (o->number[before] != 0) continue;
        o->number[before] = -1;
        o->stack[depth] = before;
        o->edge[depth++] = o->before[before + 1];
    }
}

static int32_t join_of(const spad__ptx_flow *flow, int32_t block) {
    return block == flow->block_count ? block : flow->blocks[block].join;
}

static int32_t intersect(const spad__ptx_flow *flow, const order *o, int32_t a, int32_t b) {
    while (a != b) {
        while (o->number[a] < o->number[b]) a = join_of(flow, a);
        while (o->number[b] < o->number[a]) b = join_of(flow, b);
    }
    return a;
}

static bool update_join(spad__ptx_flow *flow, const order *o, int32_t block) {
    int32_t join = -1;
    for (int32_t e = 0; e < way_count(&flow->blocks[block]); e++) {
        const int32_t next = follow(flow, &flow->blocks[block], e);
        if (next < 0 || o->number[next] == 0 || join_of(flow, next) < 0) continue;
        join = join < 0 ? next : intersect(flow, o, next, join);
    }
    if (flow->blocks[block].join == join) return false;
    flow->blocks[block].join = join;
    return true;
}

static void find_joins(spad__ptx_flow *flow, order *o) {
    find_predecessors(flow, o);
    number_blocks(flow, o);
    for (bool changed = true; changed;) {
        changed = false;
        for (int32_t n = o->count - 1; n-- > 0;) changed |= update_join(flow, o, o->blocks[n]);
    }
}

static bool find_postdominators(spad__ptx_flow *flow, const spad_host *host) {
    const size_t nodes = (size_t)flow->block_count + 3;
    const size_t total = nodes * 5 + (size_t)flow->most_edges + nodes;
    int32_t *memory = spad__new_array(host, total, sizeof *memory);
    if (memory == NULL) return false;
    order o = {.number = memory,
               .blocks = memory + nodes,
               .before = memory + 2 * nodes,
               .stack = memory + 3 * nodes,
               .edge = memory + 4 * nodes,
               .from = memory + 5 * nodes};
    find_joins(flow, &o);
    spad__free(host, memory, total * sizeof *memory);
    return true;
}

/* ---- building ----------------------------------------------------------------------------------
 */

static void flow_free(spad__ptx_flow *flow, const spad_host *host) {
    if (flow->function == NULL) return;
    const size_t instructions = (size_t)flow->function->instruction_count + 1;
    const size_t blocks = (size_t)flow->block_count + 1;
    spad__free(host, flow->block_of, instructions * sizeof *flow->block_of);
    spad__free(host, flow->blocks, blocks * sizeof *flow->blocks);
    spad__free(host, flow->open, blocks * sizeof *flow->open);
    spad__free(host, flow->between, blocks * sizeof *flow->between);
    spad__free(host, flow->edges, ((size_t)flow->most_edges + 1) * sizeof *flow->edges);
    *flow = (spad__ptx_flow){0};
}

static bool build_flow(spad__ptx_flow *flow, spad__ptx_machine *m, const spad__ptx_function *f) {
    const spad_host *host = m->host;
    flow->function = f;
    flow->block_of =
        spad__new_array(host, (size_t)f->instruction_count + 1, sizeof *flow->block_of);
    if (flow->block_of == NULL) return false;
    mark_leaders(m->module, flow);
    const size_t blocks = (size_t)flow->block_count + 1;
    flow->blocks = spad__new_array(host, blocks, sizeof *flow->blocks);
    flow->open = spad__new_array(host, blocks, sizeof *flow->open);
    flow->between = spad__new_array(host, blocks, sizeof *flow->between);
    flow->edges = spad__new_array(host, (size_t)flow->most_edges + 1, sizeof *flow->edges);
    if (flow->blocks == NULL || flow->open == NULL || flow->between == NULL ||
        flow->edges == NULL) {
        return false;
    }
    make_blocks(flow);
    make_edges(m->module, flow);
    find_doomed(flow);
    return find_postdominators(flow, host);
}

spad__ptx_flow *spad__ptx_flow_of(spad__ptx_machine *m, const spad__ptx_function *function) {
    if (m->flows == NULL) {
        m->flows = spad__new_array(m->host, m->module->functions.count, sizeof *m->flows);
        if (m->flows == NULL) {
            (void)spad__ptx_no_memory(m);
            return NULL;
        }
    }
    spad__ptx_flow *flow = &m->flows[function - m->module->functions.items];
    if (flow->function != NULL) return flow;
    if (build_flow(flow, m, function)) return flow;
    flow_free(flow, m->host);
    (void)spad__ptx_no_memory(m);
    return NULL;
}

void spad__ptx_flows_free(spad__ptx_machine *m) {
    if (m->flows == NULL) return;
    for (size_t n = 0; n < m->module->functions.count; n++) flow_free(&m->flows[n], m->host);
    spad__free(m->host, m->flows, m->module->functions.count * sizeof *m->flows);
    m->flows = NULL;
}

/* ---- questions ---------------------------------------------------------------------------------
 */

spad__ptx_block *spad__ptx_block_of(spad__ptx_flow *flow, int32_t instruction) {
    return &flow->blocks[flow->block_of[instruction - flow->function->first_instruction]];
}

static int32_t push_edges(spad__ptx_flow *flow, const spad__ptx_block *block, int32_t first,
                          int32_t last, int32_t stop, int32_t open) {
    for (int32_t e = first; e < last; e++) {
        const int32_t next = follow(flow, block, e);
        if (next < 0 || next == stop || next == flow->block_count) continue;
        if (flow->blocks[next].seen) continue;
        flow->blocks[next].seen = true;
        flow->open[open++] = next;
        flow->between[flow->between_count++] = next;
    }
    return open;
}

/* Collects the blocks that are reached over some edges of a branch without passing `stop`. */
static void search(spad__ptx_flow *flow, const spad__ptx_block *branch, int32_t first, int32_t last,
                   int32_t stop) {
    flow->between_count = 0;
    for (int32_t b = 0; b < flow->block_count; b++) flow->blocks[b].seen = false;
    int32_t open = push_edges(flow, branch, first, last, stop, 0);
    while (open > 0) {
        const spad__ptx_block *block = &flow->blocks[flow->open[--open]];
        open = push_edges(flow, block, 0, way_count(block), stop, open);
    }
}

static bool is_private_space(uint8_t space) {
    return space == SPAD__PTX_GLOBAL || space == SPAD__PTX_LOCAL_MEMORY ||
           space == SPAD__PTX_CONST || space == SPAD__PTX_PARAM;
}

static bool can_skip_instruction(const spad__ptx_instruction *i, bool *stores) {
    switch (spad__ptx_effect_of(i->op)) {
    case SPAD__PTX_PURE:
    case SPAD__PTX_HINT: return true;
    case SPAD__PTX_LOAD: return is_private_space(i->space);
    case SPAD__PTX_STORE:
    case SPAD__PTX_ATOMIC_LOAD:
    case SPAD__PTX_ATOMIC_STORE:
        *stores = true;
        return is_private_space(i->space) && i->space != SPAD__PTX_PARAM;
    default: return is_jump(i->op) || i->op == SPAD__PTX_OP_ACTIVEMASK;
    }
}

static bool can_skip_blocks(const spad__ptx_module *module, const spad__ptx_flow *flow,
                            bool *stores) {
    for (int32_t n = 0; n < flow->between_count; n++) {
        const spad__ptx_block *block = &flow->blocks[flow->between[n]];
        for (int32_t k = block->first; k <= block->last; k++) {
            const spad__ptx_instruction *i = instruction_at(module, k);
            if (!can_skip_instruction(i, stores) && !ends_threads(module, i)) return false;
        }
    }
    return true;
}

bool spad__ptx_can_skip(spad__ptx_machine *m, spad__ptx_flow *flow, spad__ptx_block *branch) {
    if (branch->skip == 1) return false;
    if (branch->join < 0 || branch->join == flow->block_count) {
        branch->skip = 1;
        return false;
    }
    search(flow, branch, 0, way_count(branch), branch->join);
    if (branch->skip == 0) {
        bool stores = false;
        branch->skip = can_skip_blocks(m->module, flow, &stores) ? 2 : 1;
        branch->stores = stores;
    }
    return branch->skip == 2;
}

static bool can_guard_instruction(const spad__ptx_instruction *i) {
    const spad__ptx_effect effect = spad__ptx_effect_of(i->op);
    if (effect == SPAD__PTX_CONTROL) return i->op == SPAD__PTX_OP_BRA;
    return effect != SPAD__PTX_OTHER_EFFECT;
}

static bool can_guard_block(const spad__ptx_module *module, const spad__ptx_flow *flow,
                            int32_t number, int32_t join) {
    const spad__ptx_block *block = &flow->blocks[number];
    for (int32_t e = 0; e < way_count(block); e++) {
        const int32_t next = follow(flow, block, e);
        if (next >= 0 && next != join && next <= number) return false;
    }
    for (int32_t k = block->first; k <= block->last; k++) {
        if (!can_guard_instruction(instruction_at(module, k))) return false;
    }
    return true;
}

bool spad__ptx_can_guard(spad__ptx_machine *m, spad__ptx_flow *flow, spad__ptx_block *branch) {
    if (branch->guard != 0) return branch->guard == 2;
    branch->guard = 1;
    if (branch->join < 0 || branch->join == flow->block_count) return false;
    search(flow, branch, 0, way_count(branch), branch->join);
    for (int32_t n = 0; n < flow->between_count; n++) {
        if (!can_guard_block(m->module, flow, flow->between[n], branch->join)) return false;
    }
    branch->guard = branch->seen ? 1 : 2;
    return branch->guard == 2;
}

static bool leads_back(spad__ptx_flow *flow, spad__ptx_block *branch, int32_t edge) {
    search(flow, branch, edge, edge + 1, -1);
    return branch->seen;
}

spad__ptx_stays spad__ptx_which_stays(spad__ptx_flow *flow, spad__ptx_block *branch) {
    if (branch->stays != SPAD__PTX_STAYS_UNSURE) return (spad__ptx_stays)branch->stays;
    branch->stays = SPAD__PTX_STAYS_NEITHER;
    if (branch->edge_count != 2) return SPAD__PTX_STAYS_NEITHER;
    const bool taken = leads_back(flow, branch, 0);
    const bool next = leads_back(flow, branch, 1);
    if (taken != next) branch->stays = taken ? SPAD__PTX_STAYS_TAKEN : SPAD__PTX_STAYS_NEXT;
    return (spad__ptx_stays)branch->stays;
}

/* A barrier of all threads that gives all of them one answer. */
static bool is_vote_of_all(const spad__ptx_instruction *i) {
    const bool votes = i->op == SPAD__PTX_OP_BAR_RED || i->op == SPAD__PTX_OP_BARRIER_RED ||
                       i->op == SPAD__PTX_OP_BARRIER_CTA_RED;
    return votes && i->count == 3;
}

enum { MOST_VOTED = 8 };

/* Registers that follow from the last vote of a block alone. */
typedef struct voted {
    int32_t regs[MOST_VOTED];
    int count;
} voted;

static bool is_voted(const voted *v, int32_t reg) {
    for (int n = 0; n < v->count; n++) {
        if (v->regs[n] == reg) return true;
    }
    return false;
}

static void follow_vote(voted *v, const spad__ptx_module *module, const spad__ptx_instruction *i) {
    const spad__ptx_operand *operands = &module->operands.items[i->first];
    bool follows = spad__ptx_effect_of(i->op) == SPAD__PTX_PURE && v->count > 0 && i->guard < 0;
    if (is_vote_of_all(i)) v->count = 0;
    for (int32_t n = 1; n < i->count && follows; n++) {
        follows = operands[n].kind == SPAD__PTX_IMMEDIATE ||
                  (operands[n].kind == SPAD__PTX_REGISTER && is_voted(v, operands[n].reg));
    }
    if (!follows && !is_vote_of_all(i)) {
        if (i->count > 0 && is_voted(v, operands[0].reg)) v->count = 0;
        return;
    }
    if (v->count < MOST_VOTED && operands[0].kind == SPAD__PTX_REGISTER)
        v->regs[v->count++] = operands[0].reg;
}

/* Do all threads of the block leave the loop together, where they meet in it? */
static bool leaves_together(const spad__ptx_module *module, const spad__ptx_flow *flow,
                            const spad__ptx_block *branch) {
    voted v = {.count = 0};
    bool meets = false;
    for (int32_t k = branch->first; k <= branch->last; k++) {
        const spad__ptx_instruction *i = instruction_at(module, k);
        if (k == branch->last) break;
        meets |= is_vote_of_all(i);
        follow_vote(&v, module, i);
    }
    for (int32_t n = 0; n < flow->between_count; n++) {
        const spad__ptx_block *block = &flow->blocks[flow->between[n]];
        for (int32_t k = block->first; k <= block->last; k++) {
            if (block != branch && is_vote_of_all(instruction_at(module, k))) return false;
        }
    }
    return !meets || is_voted(&v, instruction_at(module, branch->last)->guard);
}

static bool is_strong_load(const spad__ptx_instruction *i) {
    return i->op == SPAD__PTX_OP_LD && i->space == SPAD__PTX_GLOBAL &&
           (spad__ptx_has(i, SPAD__PTX_WORD_ACQUIRE) || spad__ptx_has(i, SPAD__PTX_WORD_RELAXED) ||
            spad__ptx_has(i, SPAD__PTX_WORD_VOLATILE));
}

static bool can_wait_by(const spad__ptx_instruction *i) {
    switch (spad__ptx_effect_of(i->op)) {
    case SPAD__PTX_PURE:
    case SPAD__PTX_HINT: return true;
    case SPAD__PTX_LOAD: return is_private_space(i->space);
    default: return is_jump(i->op) || is_vote_of_all(i);
    }
}

/* Can all of the block be run again? *strong: a load of it sees what other blocks write. */
static bool can_wait_in(const spad__ptx_module *module, const spad__ptx_block *block,
                        bool *strong) {
    for (int32_t k = block->first; k <= block->last; k++) {
        const spad__ptx_instruction *i = instruction_at(module, k);
        if (!can_wait_by(i)) return false;
        *strong |= is_strong_load(i);
    }
    return true;
}

bool spad__ptx_awaits_blocks(spad__ptx_machine *m, spad__ptx_flow *flow, spad__ptx_block *branch) {
    if (branch->awaits != 0) return branch->awaits == 2;
    const spad__ptx_stays stays = spad__ptx_which_stays(flow, branch);
    branch->awaits = 1;
    if (stays == SPAD__PTX_STAYS_NEITHER || branch->join < 0 || branch->join == flow->block_count)
        return false;
    const int32_t edge = stays == SPAD__PTX_STAYS_TAKEN ? 0 : 1;
    bool strong = false;
    search(flow, branch, edge, edge + 1, branch->join);
    bool waits = branch->seen && can_wait_in(m->module, branch, &strong);
    for (int32_t n = 0; n < flow->between_count && waits; n++)
        waits = can_wait_in(m->module, &flow->blocks[flow->between[n]], &strong);
    if (waits && strong && leaves_together(m->module, flow, branch)) branch->awaits = 2;
    return branch->awaits == 2;
}
