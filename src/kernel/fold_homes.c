/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the tensors of a family are declared, and what a folded kernel needs.
 *
 * Tiles of one tensor that the planner places are all needed in the whole of a loop, but the
 * tensors of a straight kernel only from their first use to their last. So a family is declared in
 * a loop where every round has a member of its own: each declaration begins a new life, as long as
 * that of the member. This is so if all accesses are in the loop, their tile is the same sum of
 * the variables of it and of the loops around it, and no two rounds have the same sum.
 *
 * What is left is compared: a folded kernel that does not fit where the straight one does, or that
 * takes more bytes, loses. Then families are divided, and at last given up. O(accesses x depth).
 */
#include "base/checked.h"
#include "kernel/fold.h"
#include "kernel/layout.h"

/* ---- accesses of families ---------------------------------------------------------- */

/* What the accesses so far have in common. */
typedef struct fold_home {
    int64_t family;
    bool seen;
    bool fails;
    size_t depth; /* loops around all of them */
    size_t moves; /* the innermost loop that moves the tile, + 1 */
    int64_t first;
    int64_t loops[SPAD__LOOPS_DEEP];
    size_t children[SPAD__LOOPS_DEEP]; /* of each loop: the one with the first access */
    int64_t steps[SPAD__LOOPS_DEEP];
    int64_t rounds[SPAD__LOOPS_DEEP]; /* at most */
} fold_home;

typedef struct fold_scan {
    spad__folder *f;
    fold_home *homes;
    int64_t *home_of; /* per family; -1: it is not looked at */
    int64_t loop_count;
    size_t depth;
    int64_t loops[SPAD__LOOPS_DEEP];
    size_t children[SPAD__LOOPS_DEEP];
    int64_t rounds[SPAD__LOOPS_DEEP];
    const int64_t *steps[SPAD__LOOPS_DEEP];
} fold_scan;

static void begin_home(const fold_scan *s, fold_home *home, int64_t first, size_t at) {
    home->seen = true;
    home->depth = s->depth;
    home->first = first;
    for (size_t d = 0; d < s->depth; d++) {
        home->loops[d] = s->loops[d];
        home->children[d] = s->children[d];
        home->rounds[d] = s->rounds[d];
        home->steps[d] = s->steps[d][at];
        if (home->steps[d] != 0) home->moves = d + 1;
    }
}

static void scan_tile(const fold_scan *s, fold_home *home, int64_t first, size_t at) {
    if (!home->seen) begin_home(s, home, first, at);
    size_t common = 0;
    size_t moves = 0;
    while (common < home->depth && common < s->depth && home->loops[common] == s->loops[common]) {
        common++;
    }
    home->depth = common;
    for (size_t d = 0; d < s->depth; d++) {
        if (s->steps[d][at] == 0) continue;
        moves = d + 1;
        if (d >= common || s->steps[d][at] != home->steps[d]) home->fails = true;
    }
    if (first != home->first || moves != home->moves) home->fails = true;
}

static void scan_operation(const fold_scan *s, size_t statement, const int64_t *moving) {
    const spad__folder *f = s->f;
    const spad_statement *operation = &f->kernel->statements.items[statement];
    size_t at = operation->cost != 0;
    for (size_t i = 0; i < operation->access_count; i++) {
        const spad_kernel_access *a = &f->kernel->accesses.items[operation->first_access + i];
        const int64_t number = f->family[a->tensor];
        at += a->moves != 0;
        if (number >= 0) {
            const spad__family *family = &f->families.items[number];
            const int64_t home = s->home_of[family->of >= 0 ? family->of : number];
            if (home >= 0) scan_tile(s, &s->homes[home], moving[at], at);
            at += family->rank;
        }
        for (size_t r = 0; r < a->range_count; r++) {
            at += (size_t)(a->ranges[r].from != 0) + (size_t)(a->ranges[r].to != 0);
        }
    }
}

/* The most rounds of a loop in any round of those around it. */
static int64_t most_rounds(const fold_scan *s, int64_t first, size_t at) {
    for (size_t d = 0; d < s->depth; d++) {
        if (s->steps[d][at] > 0) first += s->steps[d][at] * (s->rounds[d] - 1);
    }
    return first;
}

/* Loops have numbers in the order in which they are built. Recursion as deep as they are nested. */
static void scan_node(fold_scan *s, uint32_t number, size_t statement, const int64_t *moving,
                      const int64_t *fixed) {
    const spad__fold_shape *shape = &s->f->shapes.items[number];
    if (shape->child_count == 0) {
        scan_operation(s, statement, moving);
        return;
    }
    if (s->depth == SPAD__LOOPS_DEEP) return; /* such a kernel is not built */
    const size_t trips = shape->moving - 1;
    s->rounds[s->depth] = most_rounds(s, moving[trips], trips);
    s->loops[s->depth] = s->loop_count++;
    s->steps[s->depth++] = fixed + shape->fixed - trips;
    for (size_t i = 0; i < shape->child_count; i++) {
        const spad__fold_shape *child = &s->f->shapes.items[shape->children[i]];
        s->children[s->depth - 1] = i;
        scan_node(s, shape->children[i], child->statement, moving, fixed);
        for (size_t d = 0; d < s->depth; d++) s->steps[d] += child->moving;
        moving += child->moving;
        fixed += child->fixed;
    }
    for (size_t d = 0; d < s->depth; d++) s->steps[d] -= trips;
    s->depth--;
}

/* ---- the loop that declares -------------------------------------------------------- */

static int64_t size_of_step(int64_t step) {
    return step < 0 ? -step : step;
}

/* Has every round a tile of its own? So it is if each step is longer than all that the shorter ones
 * add up to. */
static bool tells_rounds_apart(const fold_home *home) {
    for (size_t d = 0; d < home->moves; d++) {
        const int64_t step = size_of_step(home->steps[d]);
        int64_t reach = 0;
        for (size_t e = 0; e < home->moves; e++) {
            const int64_t other = size_of_step(home->steps[e]);
            if (e != d && other == step) return false;
            if (other < step) reach += other * (home->rounds[e] - 1);
        }
        if (step <= reach) return false;
    }
    return true;
}

static bool is_planned_family(const spad__folder *f, const spad__family *family) {
    return family->of < 0 && family->used &&
           spad__is_planned(f->kernel, &f->kernel->tensors.items[family->first]);
}

static bool list_homes(fold_scan *s) {
    spad__folder *f = s->f;
    size_t count = 0;
    s->home_of = spad__arena_array(&f->arena, f->families.count + 1, sizeof *s->home_of);
    if (s->home_of == NULL) return false;
    for (size_t i = 0; i < f->families.count; i++) {
        s->home_of[i] = is_planned_family(f, &f->families.items[i]) ? (int64_t)count++ : -1;
    }
    s->homes = spad__arena_array(&f->arena, count + 1, sizeof *s->homes);
    if (s->homes == NULL) return false;
    for (size_t i = 0; i < f->families.count; i++) {
        if (s->home_of[i] >= 0) s->homes[s->home_of[i]] = (fold_home){.family = (int64_t)i};
    }
    return true;
}

static void settle_homes(const fold_scan *s) {
    for (size_t i = 0; i < s->f->families.count; i++) {
        spad__family *family = &s->f->families.items[i];
        if (family->of >= 0) { /* after what it is in */
            family->loop = s->f->families.items[family->of].loop;
            family->child = s->f->families.items[family->of].child;
        }
        if (s->home_of[i] < 0) continue;
        const fold_home *home = &s->homes[s->home_of[i]];
        const bool fits = home->moves > 0 && home->moves <= home->depth && !home->fails;
        if (!fits || !tells_rounds_apart(home)) continue;
        family->loop = home->loops[home->moves - 1];
        family->child = home->children[home->moves - 1];
    }
}

/* Families of each loop, in their order. */
static bool list_declared(spad__folder *f, size_t loops) {
    f->declared = spad__arena_array(&f->arena, loops + 1, sizeof *f->declared);
    if (f->declared == NULL) return false;
    for (size_t i = 0; i < loops; i++) f->declared[i] = -1;
    for (size_t i = f->families.count; i-- > 0;) {
        spad__family *family = &f->families.items[i];
        if (family->loop < 0) continue;
        family->next = f->declared[family->loop];
        f->declared[family->loop] = (int64_t)i;
    }
    return true;
}

bool spad__fold_homes(spad__folder *f) {
    fold_scan s = {.f = f};
    for (size_t i = 0; i < f->families.count; i++) f->families.items[i].loop = -1;
    if (!list_homes(&s)) return false;
    for (size_t i = 0; i < f->nodes.count; i++) {
        const spad__fold_node *node = &f->nodes.items[i];
        scan_node(&s, node->shape, node->statement, node->moving, node->fixed);
    }
    settle_homes(&s);
    return list_declared(f, (size_t)s.loop_count);
}

/* ---- what it needs ----------------------------------------------------------------- */

/* Search steps for the layouts that are compared: the answer must not depend on a clock. */
enum { FOLD_NODES = 2000 };

spad_status spad__fold_measure(spad_layout **out, const spad_kernel *kernel, const spad_host *host,
                               spad_error *error) {
    const spad_layout_options options = {
        .timeout_ns = INT64_MAX / 4, .node_limit = FOLD_NODES, .host = host};
    *out = NULL;
    bool planned = false;
    for (size_t i = 0; i < kernel->tensors.count && !planned; i++) {
        planned = spad__is_planned(kernel, &kernel->tensors.items[i]);
    }
    if (!planned) return SPAD_OK;
    spad_error reason;
    const spad_status status = spad_layout_create(out, kernel, &options, &reason);
    if (status != SPAD_ERR_HOST_MEMORY) return SPAD_OK; /* it has no layout */
    return spad__fail_host_memory(error);
}

bool spad__fold_loses(const spad_layout *straight, const spad_layout *folded) {
    if (straight == NULL) return false;
    if (folded == NULL) return true;
    if (spad_layout_fits(straight) && !spad_layout_fits(folded)) return true;
    for (size_t i = 0; i < spad_layout_space_count(straight); i++) {
        const spad_layout_space *a = spad_layout_get_space(straight, i);
        const spad_layout_space *b = spad_layout_get_space(folded, i);
        if (b == NULL || a->planned_count == 0) continue;
        const bool alone = a->planned_count == a->buffer_count;
        if (b->height > a->height || (alone && b->peak_bytes > a->peak_bytes)) return true;
    }
    return false;
}

/* ---- smaller families -------------------------------------------------------------- */

/* The nodes with the first and with the last access to each tensor, from 1 on; 0: none. */
static void number_nodes(const spad__folder *f, int64_t *firsts, int64_t *lasts) {
    const spad_kernel *k = f->kernel;
    size_t node = 0;
    for (size_t i = 0; i < k->statements.count; i++) {
        const spad_statement *s = &k->statements.items[i];
        if (s->kind != SPAD_STATEMENT_OPERATION) continue;
        while (node + 1 < f->nodes.count && f->nodes.items[node + 1].statement <= i) node++;
        for (size_t a = 0; a < s->access_count; a++) {
            int64_t tensor = k->accesses.items[s->first_access + a].tensor;
            if (k->tensors.items[tensor].mode == SPAD_MODE_ALIAS) {
                tensor = k->tensors.items[tensor].home;
            }
            if (firsts[tensor] == 0) firsts[tensor] = (int64_t)node + 1;
            lasts[tensor] = (int64_t)node + 1;
        }
    }
}

/* Members of different nodes are different families. */
static bool divide_families(spad__folder *f, bool *changed) {
    const size_t count = f->kernel->tensors.count;
    int64_t *firsts = spad__arena_array(&f->arena, count + 1, sizeof *firsts);
    int64_t *lasts = spad__arena_array(&f->arena, count + 1, sizeof *lasts);
    if (firsts == NULL || lasts == NULL) return false;
    number_nodes(f, firsts, lasts);
    for (size_t i = 0; i < count; i++) {
        const spad__family *family = f->family[i] >= 0 ? &f->families.items[f->family[i]] : NULL;
        if (family == NULL || !is_planned_family(f, family) || family->loop >= 0) continue;
        const int64_t all = (int64_t)f->nodes.count + 1;
        const int64_t group = firsts[i] * all + lasts[i];
        const int64_t first = family->first;
        *changed = *changed || group != firsts[first] * all + lasts[first];
        f->group[i] = group;
    }
    return true;
}

bool spad__fold_retreat(spad__folder *f, spad__fold_level level, bool *changed) {
    if (level == SPAD__FOLD_DIVIDED) return divide_families(f, changed);
    for (size_t i = 0; i < f->kernel->tensors.count; i++) {
        const spad__family *family = f->family[i] >= 0 ? &f->families.items[f->family[i]] : NULL;
        if (family == NULL || !is_planned_family(f, family)) continue;
        if (level == SPAD__FOLD_DECLARED && family->loop >= 0) continue;
        f->group[i] = SPAD__FOLD_ALONE;
        *changed = true;
    }
    return true;
}
