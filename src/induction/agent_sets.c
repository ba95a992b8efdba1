/* SPDX-License-Identifier: Apache-2.0
 *
 * Agents that share nothing: a union of agents over what they use.
 *
 * A use is an agent and a resource: a synchronisation declaration, or the tensors that may share
 * bytes with one another. Uses of one resource are in one set unless an index tells them apart: an
 * element of `full[w, s]`, or a tile of a tensor with a place for every tile, is another one where
 * the bounds of an index are disjoint for all trip counts. So uses are sorted by the bounds of each
 * index in turn, and cut where no bounds overlap.
 */
#include "induction/agent_sets.h"

#include <stdlib.h>

#include "base/checked.h"
#include "base/compare.h"
#include "induction/induction.h"
#include "kernel/kernel.h"
#include "layout/overlap.h"

/* Beyond these it is one set. */
enum { AGENT_USES_MAX = 1 << 16, SHARED_TENSORS_MAX = 1024 };

/* The bounds of one index of a use. */
typedef struct span_of_index {
    int64_t least;
    int64_t most;
} span_of_index;

typedef struct agent_use {
    int32_t agent;
    int64_t resource; /* tensors first, by the first one of those that may share bytes */
    bool writes;
    span_of_index index[SPAD_RANK_MAX];
} agent_use;

typedef struct set_finder {
    const spad_kernel *kernel;
    const spad_layout *layout;
    const bool *tracked;
    spad_host host;
    int64_t *first; /* per tensor: the first one that it may share bytes with */
    bool *alone;    /* per tensor: no other one is in its storage, and each tile has its bytes */
    SPAD_ARRAY(agent_use) uses;
    int32_t *parent; /* per agent: towards the root of its set */
    bool failed;     /* no memory */
    bool whole;      /* something that this does not look into */
} set_finder;

/* ---- sets -------------------------------------------------------------------------- */

static int32_t root_of_set(const set_finder *f, int32_t agent) {
    while (f->parent[agent] != agent) {
        f->parent[agent] = f->parent[f->parent[agent]];
        agent = f->parent[agent];
    }
    return agent;
}

static void join_agents(const set_finder *f, int32_t a, int32_t b) {
    const int32_t one = root_of_set(f, a);
    const int32_t other = root_of_set(f, b);
    f->parent[one > other ? one : other] = one > other ? other : one;
}

/* ---- uses -------------------------------------------------------------------------- */

/* index NULL: of all elements. */
static void add_agent_use(set_finder *f, int64_t agent, int64_t resource, bool writes,
                          const spad_expr *index, size_t count) {
    if (f->whole || f->failed) return;
    if (f->uses.count == AGENT_USES_MAX) {
        f->whole = true;
        return;
    }
    if (!spad__array_reserve(&f->host, &f->uses, 1)) {
        f->failed = true;
        return;
    }
    agent_use *use = &f->uses.items[f->uses.count++];
    *use = (agent_use){.agent = (int32_t)agent, .resource = resource, .writes = writes};
    for (size_t d = 0; d < SPAD_RANK_MAX; d++) {
        use->index[d] = (span_of_index){INT64_MIN, INT64_MAX};
        if (index == NULL || d >= count || index[d] == 0) continue;
        spad__induction_index_range(f->kernel, index[d], &use->index[d].least, &use->index[d].most);
    }
}

static void use_tensor(set_finder *f, int64_t agent, int64_t tensor, bool writes,
                       const spad_expr *index, size_t count) {
    if (!f->tracked[tensor]) return;
    add_agent_use(f, agent, f->first[tensor], writes, f->alone[tensor] ? index : NULL, count);
}

static void use_sync(set_finder *f, int64_t agent, int64_t sync, const spad_expr *index,
                     size_t count) {
    if (f->kernel->syncs.items[sync].kind == SPAD_SYNC_GROUP) return; /* each agent has its own */
    add_agent_use(f, agent, (int64_t)f->kernel->tensors.count + sync, true, index, count);
}

static void add_operation_uses(set_finder *f, const spad_statement *s) {
    for (size_t i = s->first_access; i < s->first_access + s->access_count; i++) {
        const spad_kernel_access *access = spad_kernel_get_access(f->kernel, i);
        use_tensor(f, s->agent, access->tensor, (access->kind & SPAD_ACCESS_WRITE) != 0,
                   access->index, access->index_count);
    }
    for (size_t i = s->first_completion; i < s->first_completion + s->completion_count; i++) {
        const spad_kernel_completion *row = spad_kernel_get_completion(f->kernel, i);
        use_sync(f, s->agent, row->object, row->index, row->index_count);
    }
}

static void add_statement_uses(set_finder *f, const spad_statement *s) {
    switch (s->kind) {
    case SPAD_STATEMENT_OPERATION: add_operation_uses(f, s); break;
    case SPAD_STATEMENT_TENSOR:
    case SPAD_STATEMENT_ALLOC:
    case SPAD_STATEMENT_FREE: use_tensor(f, s->agent, s->item, true, NULL, 0); break;
    case SPAD_STATEMENT_SYNC:
    case SPAD_STATEMENT_ARRIVE:
    case SPAD_STATEMENT_SIGNAL:
    case SPAD_STATEMENT_WAIT_VALUE:
    case SPAD_STATEMENT_TAKE:
    case SPAD_STATEMENT_EXPECT:
    case SPAD_STATEMENT_WAIT_PARITY:
        use_sync(f, s->agent, s->item, s->index, s->index_count);
        break;
    case SPAD_STATEMENT_INIT:
    case SPAD_STATEMENT_INVALIDATE:
    case SPAD_STATEMENT_SCOPE:
    case SPAD_STATEMENT_SECTION: f->whole = true; break; /* what they change is of all agents */
    default: break;
    }
}

/* Is a statement in a loop without iterations? That stays so: a loop that grows has some where it
 * is watched. Bounds that move may give iterations elsewhere. */
static bool has_no_iterations(const spad_kernel *kernel, const spad_statement *s) {
    for (int64_t l = s->loop; l >= 0; l = spad_kernel_get_loop(kernel, (size_t)l)->outer) {
        const spad_kernel_loop *loop = spad_kernel_get_loop(kernel, (size_t)l);
        if (loop->from == 0 && loop->begin.value >= loop->end.value) return true;
    }
    return false;
}

/* ---- tensors ----------------------------------------------------------------------- */

static void note_tensor(const spad_kernel *kernel, int64_t tensor, bool *used) {
    used[tensor] = used[kernel->tensors.items[tensor].home] = true;
}

/* Tensors that agents use, and whose content matters. */
static void find_used(const set_finder *f, bool *used) {
    for (size_t i = 0; i < f->kernel->statements.count; i++) {
        const spad_statement *s = &f->kernel->statements.items[i];
        if (s->agent == 0 || s->kind != SPAD_STATEMENT_OPERATION) continue;
        for (size_t a = s->first_access; a < s->first_access + s->access_count; a++) {
            const int64_t tensor = f->kernel->accesses.items[a].tensor;
            if (f->tracked[tensor]) note_tensor(f->kernel, tensor, used);
        }
    }
}

static void group_tensors(set_finder *f, const int64_t *list, size_t count) {
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < i; j++) {
            const int64_t a = list[i];
            const int64_t b = list[j];
            if (f->first[a] == f->first[b]) continue;
            const bool same = f->kernel->tensors.items[a].home == f->kernel->tensors.items[b].home;
            if (!same && !spad__tensors_may_share(f->kernel, f->layout, a, b)) continue;
            const int64_t keep = spad__min(f->first[a], f->first[b]);
            const int64_t drop = spad__max(f->first[a], f->first[b]);
            for (size_t k = 0; k < count; k++) {
                if (f->first[list[k]] != drop) continue;
                f->first[list[k]] = keep;
            }
            f->alone[a] = f->alone[b] = false;
        }
    }
}

static spad_status find_tensors(set_finder *f, spad_error *error) {
    const size_t tensors = f->kernel->tensors.count;
    bool *used = spad__new_array(&f->host, tensors + 1, sizeof *used);
    int64_t *list = spad__new_array(&f->host, tensors + 1, sizeof *list);
    const bool failed = used == NULL || list == NULL;
    size_t count = 0;
    if (!failed) find_used(f, used);
    for (size_t t = 0; !failed && t < tensors; t++) {
        const spad_kernel_tensor *row = &f->kernel->tensors.items[t];
        f->first[t] = (int64_t)t;
        f->alone[t] = row->mode == SPAD_MODE_AUTO && row->slots == row->tiles;
        if (used[t]) list[count++] = (int64_t)t;
    }
    if (count > SHARED_TENSORS_MAX) f->whole = true;
    if (!f->whole && !failed) group_tensors(f, list, count);
    spad__free(&f->host, used, (tensors + 1) * sizeof *used);
    spad__free(&f->host, list, (tensors + 1) * sizeof *list);
    return failed ? spad__fail_host_memory(error) : SPAD_OK;
}

/* ---- uses that may meet ------------------------------------------------------------ */

/* A use while the uses are sorted by one of their indices. */
typedef struct sorted_use {
    int64_t part;
    span_of_index span;
    size_t use;
} sorted_use;

static int compare_sorted_uses(const void *left, const void *right) {
    const sorted_use *a = left;
    const sorted_use *b = right;
    int order = spad__compare(a->part, b->part);
    if (order == 0) order = spad__compare(a->span.least, b->span.least);
    return order != 0 ? order : spad__compare((int64_t)a->use, (int64_t)b->use);
}

/* Cuts parts of uses where no bounds of an index overlap; dim SPAD_RANK_MAX: cuts nothing. */
static void cut_apart_uses(const set_finder *f, int64_t *parts, sorted_use *sorted, size_t dim) {
    const size_t count = f->uses.count;
    int64_t part = -1;
    int64_t most = 0;
    for (size_t i = 0; i < count; i++) {
        const agent_use *use = &f->uses.items[i];
        const span_of_index all = {INT64_MIN, INT64_MAX};
        sorted[i] = (sorted_use){parts[i], dim < SPAD_RANK_MAX ? use->index[dim] : all, i};
    }
    qsort(sorted, count, sizeof *sorted, compare_sorted_uses);
    for (size_t i = 0; i < count; i++) {
        const bool same = i > 0 && sorted[i].part == sorted[i - 1].part;
        if (!same || sorted[i].span.least > most) {
            part++;
            most = sorted[i].span.most;
        }
        most = spad__max(most, sorted[i].span.most);
        parts[sorted[i].use] = part;
    }
}

/* Joins the agents of each part in which something is written. */
static void join_parts_of_uses(const set_finder *f, const sorted_use *sorted) {
    const size_t count = f->uses.count;
    for (size_t first = 0; first < count;) {
        bool writes = false;
        size_t end = first;
        for (; end < count && sorted[end].part == sorted[first].part; end++) {
            writes = writes || f->uses.items[sorted[end].use].writes;
        }
        for (size_t i = first + 1; writes && i < end; i++) {
            join_agents(f, f->uses.items[sorted[first].use].agent,
                        f->uses.items[sorted[i].use].agent);
        }
        first = end;
    }
}

static spad_status join_uses(set_finder *f, spad_error *error) {
    const size_t count = f->uses.count;
    int64_t *parts = spad__new_array(&f->host, count + 1, sizeof *parts);
    sorted_use *sorted = spad__new_array(&f->host, count + 1, sizeof *sorted);
    const bool failed = parts == NULL || sorted == NULL;
    for (size_t i = 0; !failed && i < count; i++) parts[i] = f->uses.items[i].resource;
    for (size_t d = 0; !failed && d <= SPAD_RANK_MAX; d++) cut_apart_uses(f, parts, sorted, d);
    if (!failed) join_parts_of_uses(f, sorted);
    spad__free(&f->host, parts, (count + 1) * sizeof *parts);
    spad__free(&f->host, sorted, (count + 1) * sizeof *sorted);
    return failed ? spad__fail_host_memory(error) : SPAD_OK;
}

/* ---- all --------------------------------------------------------------------------- */

static void number_sets(const set_finder *f, spad__agent_sets *sets) {
    sets->of[0] = -1;
    for (size_t a = 1; a < sets->agents; a++) {
        const int32_t root = f->whole ? 1 : root_of_set(f, (int32_t)a);
        sets->of[a] = (size_t)root == a ? sets->count++ : sets->of[root];
    }
}

static spad_status find_agent_sets(set_finder *f, spad__agent_sets *sets, spad_error *error) {
    const spad_kernel *k = f->kernel;
    f->whole = k->is_scoped || spad__kernel_get_cluster(k) > 1;
    for (size_t a = 0; a < sets->agents; a++) f->parent[a] = (int32_t)a;
    spad_status status = find_tensors(f, error);
    if (status != SPAD_OK) return status;
    for (size_t i = 0; i < k->statements.count; i++) {
        const spad_statement *s = &k->statements.items[i];
        if (s->agent > 0 && !has_no_iterations(k, s)) add_statement_uses(f, s);
    }
    if (f->failed) return spad__fail_host_memory(error);
    if (!f->whole) status = join_uses(f, error);
    if (status == SPAD_OK) number_sets(f, sets);
    return status;
}

spad_status spad__agent_sets_find(spad__agent_sets *sets, const spad_kernel *kernel,
                                  const spad_layout *layout, const bool *tracked,
                                  const spad_host *host, spad_error *error) {
    const size_t tensors = kernel->tensors.count + 1;
    set_finder f = {.kernel = kernel, .layout = layout, .tracked = tracked, .host = *host};
    *sets = (spad__agent_sets){.host = *host, .agents = spad_kernel_agent_count(kernel)};
    sets->of = spad__new_array(host, sets->agents, sizeof *sets->of);
    f.parent = spad__new_array(host, sets->agents, sizeof *f.parent);
    f.first = spad__new_array(host, tensors, sizeof *f.first);
    f.alone = spad__new_array(host, tensors, sizeof *f.alone);
    spad_status status = SPAD_OK;
    if (sets->of == NULL || f.parent == NULL || f.first == NULL || f.alone == NULL) {
        status = spad__fail_host_memory(error);
    } else {
        status = find_agent_sets(&f, sets, error);
    }
    spad__free(host, f.parent, sets->agents * sizeof *f.parent);
    spad__free(host, f.first, tensors * sizeof *f.first);
    spad__free(host, f.alone, tensors * sizeof *f.alone);
    spad__array_free(host, &f.uses);
    return status;
}

void spad__agent_sets_free(spad__agent_sets *sets) {
    const spad_host host = sets->host;
    if (sets->of != NULL) spad__free(&host, sets->of, sets->agents * sizeof *sets->of);
    sets->of = NULL;
}
