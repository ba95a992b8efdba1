/* SPDX-License-Identifier: Apache-2.0
 *
 * Conditions of the program. See branch.h.
 */
#include "frontend/gpu/branch.h"

#include <string.h>

#include "frontend/gpu/gpu_program.h"

bool spad__gpu_is_data(spad__gpu *g, spad__scalar n) {
    const spad__scalar solved = spad__scalar_resolve(&g->scalars, n);
    return solved < 0 || spad__scalar_get(&g->scalars, solved)->data;
}

/* True if a record in [first, end) is a barrier of warps. */
static bool has_warp_barrier(const spad__gpu *g, size_t first, size_t end) {
    for (size_t i = first; i < end; i++) {
        if (g->records.all.items[i].kind == SPAD__RECORD_WARP_BARRIER) return true;
    }
    return false;
}

bool spad__gpu_drop_barriers(spad__gpu *g, size_t first) {
    for (size_t i = first; i < g->records.all.count; i++) {
        if (g->records.all.items[i].kind != SPAD__RECORD_WARP_BARRIER) return false;
    }
    g->records.all.count = first;
    return true;
}

/* True if the records from `first` only load and store global memory, with barriers of warps. Then
 * only their time would matter, and that is unknown where data decides whether they happen. */
static bool records_are_off_chip(const spad__gpu *g, size_t first) {
    for (size_t i = first; i < g->records.all.count; i++) {
        const spad__gpu_record *record = &g->records.all.items[i];
        if (record->kind == SPAD__RECORD_ELSE || record->kind == SPAD__RECORD_WARP_BARRIER)
            continue;
        if (record->kind != SPAD__RECORD_OPERATION || record->unit != SPAD__GPU_NO_UNIT)
            return false;
        for (uint32_t k = 0; k < record->access_count; k++) {
            const int32_t buffer = g->records.accesses.items[record->first_access + k].buffer;
            const spad__gpu_space space = g->memory.buffers.items[buffer].space;
            if (space != SPAD__GPU_GLOBAL && space != SPAD__GPU_REGISTERS) return false;
        }
    }
    return true;
}

/* True if data decides a condition: directly, or through a flag that a loop carries to its next
 * iteration and that has no expression. A flag counts only in modes that assume conditions to be
 * the same in each iteration. */
static bool is_unknown(spad__gpu *g, spad__scalar condition) {
    if (spad__scalar_get(&g->scalars, condition)->op == SPAD__SCALAR_DATA) return true;
    if (g->mode < SPAD__GPU_ANY_ITERATIONS) return false;
    const spad__scalar solved = spad__scalar_resolve(&g->scalars, condition);
    return solved >= 0 && spad__scalar_get(&g->scalars, solved)->op == SPAD__SCALAR_CARRIED;
}

/* Keeps a condition that only data decides, once for the whole kernel. False: it is another kind of
 * condition, or there are too many. */
static bool keep_unknown(spad__gpu *g, spad__scalar condition, const spad__gpu_decision *decision) {
    const int block = g->cluster.block;
    if (!is_unknown(g, condition) || decision->key < 0) return false;
    if (!decision->steady) {
        if (g->mode < SPAD__GPU_ANY_ITERATIONS) return false;
        spad__gpu_assume_repeats(g);
    }
    for (size_t i = 0; i < g->unknowns.count; i++) {
        if (g->unknowns.items[i].scalars[block] == condition) return true;
    }
    for (size_t i = 0; i < g->unknowns.count; i++) { /* all blocks of a cluster decide alike */
        spad__gpu_unknown *unknown = &g->unknowns.items[i];
        if (unknown->key != decision->key || unknown->scalars[block] >= 0) continue;
        unknown->scalars[block] = condition;
        return true;
    }
    if (g->unknowns.count == SPAD__GPU_UNKNOWNS) {
        spad__gpu_unresolved(g, "data decides more than 10 conditions");
        return false;
    }
    spad__gpu_unknown *unknown = &g->unknowns.items[g->unknowns.count++];
    *unknown = (spad__gpu_unknown){.key = decision->key};
    memcpy(unknown->name, decision->name, sizeof unknown->name);
    for (int i = 0; i < SPAD__GPU_BLOCKS; i++) unknown->scalars[i] = SPAD__NO_SCALAR;
    unknown->scalars[block] = condition;
    return true;
}

void spad__gpu_open_branch(spad__gpu *g, spad__gpu_branch *branch, spad__scalar condition,
                           const spad__gpu_decision *decision) {
    spad__gpu_end_work(g);
    *branch = (spad__gpu_branch){.condition = condition,
                                 .decision = *decision,
                                 .site = g->site,
                                 .before = g->records.all.count};
    g->records.depth++;
    spad__gpu_record *record = spad__gpu_add_record(g, SPAD__RECORD_IF);
    if (record != NULL) record->scalar = condition;
    branch->opened = branch->middle = g->records.all.count;
}

void spad__gpu_else_branch(spad__gpu *g, spad__gpu_branch *branch) {
    spad__gpu_end_work(g);
    branch->middle = g->records.all.count;
    branch->has_else = true;
    g->site = branch->site;
    spad__gpu_add_record(g, SPAD__RECORD_ELSE);
}

void spad__gpu_close_branch(spad__gpu *g, spad__gpu_branch *branch) {
    spad__gpu_end_work(g);
    g->records.depth--;
    g->site = branch->site;
    if (!branch->has_else) branch->middle = g->records.all.count;
    if (g->dry || g->outcome == SPAD__GPU_FAILED) return;
    if (branch->has_else && g->records.all.count == branch->middle + 1)
        g->records.all.count = branch->middle;
    if (g->records.all.count == branch->opened ||
        (spad__gpu_is_data(g, branch->condition) && records_are_off_chip(g, branch->opened))) {
        const bool both = has_warp_barrier(g, branch->opened, branch->middle) &&
                          has_warp_barrier(g, branch->middle, g->records.all.count);
        g->records.all.count = branch->before; /* no effect that matters */
        if (both) spad__gpu_add_warp_barrier(g);
        return;
    }
    if (!keep_unknown(g, branch->condition, &branch->decision)) {
        g->records.all.items[branch->before].scalar =
            spad__gpu_resolve(g, branch->condition, "a condition");
    }
    spad__gpu_add_record(g, SPAD__RECORD_END);
}

bool spad__gpu_drop_branch(spad__gpu *g, spad__gpu_branch *branch) {
    spad__gpu_end_work(g);
    if (g->dry || g->outcome == SPAD__GPU_FAILED || !records_are_off_chip(g, branch->opened))
        return false;
    g->records.depth--;
    g->site = branch->site;
    g->records.all.count = branch->before;
    return true;
}
