/* SPDX-License-Identifier: Apache-2.0
 *
 * How the numbers of folded runs grow with a parameter.
 *
 * The runs must be the same nodes in every section, and every number a + b x parameter with whole a
 * and b in all of them. Two runs decide a and b; further ones confirm them. O(numbers x runs).
 */
#include <string.h>

#include "base/checked.h"
#include "kernel/fold/fold_agents.h"
#include "kernel/fold/fold_growth.h"

/* ---- nodes --------------------------------------------------------------------------- */

static bool has_same_nodes(const spad__fold_growth *g, size_t section) {
    const spad__fold_section *first = &g->runs[0][section];
    for (size_t r = 1; r < g->run_count; r++) {
        const spad__fold_section *other = &g->runs[r][section];
        if (other->count != first->count || other->agent != first->agent) return false;
        for (size_t i = 0; i < first->count; i++) {
            if (other->nodes[i].shape != first->nodes[i].shape) return false;
        }
    }
    return true;
}

/* ---- slopes -------------------------------------------------------------------------- */

/* The slope of a number, from its values in all runs. */
static bool find_slope(const spad__fold_growth *g, const int64_t *values, int64_t *slope) {
    const int64_t *params = g->request->values;
    int64_t rise, run;
    *slope = 0;
    if (!spad__sub(values[1], values[0], &rise) || !spad__sub(params[1], params[0], &run) ||
        run == 0 || rise % run != 0) {
        return false;
    }
    *slope = rise / run;
    for (size_t r = 1; r < g->run_count; r++) {
        int64_t moved;
        if (!spad__sub(params[r], params[0], &moved) || !spad__mul(moved, *slope, &moved) ||
            !spad__add(moved, values[0], &moved) || moved != values[r]) {
            return false;
        }
    }
    return true;
}

/* Numbers of one node in all runs: the first ones, and their slopes after them. NULL: no memory;
 * *even: all of them have one. */
static int64_t *join_numbers(const spad__fold_growth *g, const int64_t *const *lists, size_t count,
                             bool *even) {
    int64_t *joined = spad__arena_array(&g->f->arena, 2 * count + 1, sizeof *joined);
    for (size_t i = 0; joined != NULL && *even && i < count; i++) {
        int64_t values[SPAD__FOLD_RUNS] = {0};
        for (size_t r = 0; r < g->run_count; r++) values[r] = lists[r][i];
        joined[i] = values[0];
        *even = find_slope(g, values, &joined[count + i]);
    }
    return joined;
}

static bool join_node(const spad__fold_growth *g, size_t section, size_t i, spad__fold_node *out,
                      bool *even) {
    const int64_t *moving[SPAD__FOLD_RUNS], *fixed[SPAD__FOLD_RUNS];
    for (size_t r = 0; r < g->run_count; r++) {
        moving[r] = g->runs[r][section].nodes[i].moving;
        fixed[r] = g->runs[r][section].nodes[i].fixed;
    }
    *out = g->runs[0][section].nodes[i];
    const spad__fold_shape *shape = &g->f->shapes.items[out->shape];
    out->moving = join_numbers(g, moving, shape->moving, even);
    out->fixed = join_numbers(g, fixed, shape->fixed, even);
    return out->moving != NULL && out->fixed != NULL;
}

static bool join_section(const spad__fold_growth *g, size_t section, spad__fold_section *out,
                         bool *even) {
    *out = g->runs[0][section];
    spad__fold_node *nodes = spad__arena_array(&g->f->arena, out->count + 1, sizeof *nodes);
    if (nodes == NULL) return false;
    for (size_t i = 0; i < out->count && *even; i++) {
        if (!join_node(g, section, i, &nodes[i], even)) return false;
    }
    out->nodes = nodes;
    return true;
}

/* Does a trip count in the node grow? Its numbers begin at `moving`, and their slopes `slopes`
 * after them. Recursion as deep as loops are nested. */
static bool has_growing_loop(const spad__folder *f, uint32_t number, const int64_t *moving,
                             size_t slopes) {
    const spad__fold_shape *shape = &f->shapes.items[number];
    if (shape->child_count == 0) return false;
    if (moving[shape->moving - 1 + slopes] != 0) return true;
    for (size_t i = 0; i < shape->child_count; i++) {
        if (has_growing_loop(f, shape->children[i], moving, slopes)) return true;
        moving += f->shapes.items[shape->children[i]].moving;
    }
    return false;
}

static bool has_growth(const spad__fold_growth *g, const spad__fold_section *sections) {
    for (size_t s = 0; s < g->section_count; s++) {
        for (size_t i = 0; i < sections[s].count; i++) {
            const spad__fold_node *node = &sections[s].nodes[i];
            const size_t slopes = g->f->shapes.items[node->shape].moving;
            if (has_growing_loop(g->f, node->shape, node->moving, slopes)) return true;
        }
    }
    return false;
}

bool spad__fold_grow(const spad__fold_growth *g, spad__fold_section *out,
                     spad__fold_refusal *refusal) {
    bool even = true;
    *refusal = SPAD__FOLD_DIFFERS;
    for (size_t s = 0; s < g->section_count; s++) {
        if (!has_same_nodes(g, s)) return true;
    }
    for (size_t s = 0; s < g->section_count && even; s++) {
        if (!join_section(g, s, &out[s], &even)) return false;
    }
    if (even) *refusal = has_growth(g, out) ? SPAD__FOLDED : SPAD__FOLD_NO_GROWTH;
    return true;
}
