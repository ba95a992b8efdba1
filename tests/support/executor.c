/* SPDX-License-Identifier: Apache-2.0
 *
 * The executor: all executions, depth first.
 *
 * Reductions, none of which changes an answer:
 * - Some points happen as soon as they can (`eager`): issues, starts of operations, the way out
 *   of a barrier, and all that is done to a counter that has at most one taker. Take any
 *   execution and let such a point happen earlier, when it first can: the rest continues in the
 *   same order, since these points only make more possible; no access ends earlier, and if
 *   one starts earlier then more accesses are not over at its start, not fewer. So what can be
 *   seen at all can be seen in an execution like that.
 * - Ends of operations at which nothing else happens come when the first point that needs them
 *   does (`lazy`): to end later only makes the span of an access longer.
 * - Ends of reads and of writes are one point where nothing can see the end of the reads.
 * - Group waits and commits are no points but conditions of the point after them.
 * - Bytes that the same accesses touch are one atom of memory.
 */
#include "support/executor.h"

#include <stdio.h>
#include <string.h>

#include "kernel/kernel.h"
#include "support/executor_model.h"

const char *executor_word(unsigned wrong) {
    static const char *const words[] = {
        "race",      "stale read", "unwritten read", "freed",  "stuck",   "parity",
        "barrier",   "mbarrier",   "fence",          "output", "threads", "bytes of an mbarrier",
        "unfinished"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if ((wrong >> i & 1) != 0) return words[i];
    }
    return "right";
}

/* ---- order of points --------------------------------------------------------------- */

static bool follows(const explorer *x, const state *s, int p) {
    const size_t words = x->e->words;
    for (size_t i = 0; i < words; i++) {
        if ((x->needs[(size_t)p * words + i] & ~s->done[i]) != 0) return false;
    }
    return true;
}

/* May it happen once ends that nothing else has needed yet have? Lazy points have at most one
 * before them that is lazy, too: the end of the reads before that of the writes. */
static bool may_follow(const explorer *x, const state *s, int p) {
    const size_t words = x->e->words;
    for (size_t i = 0; i < words; i++) {
        uint64_t open = x->needs[(size_t)p * words + i] & ~s->done[i];
        for (; open != 0; open &= open - 1) {
            const int q = (int)i * 64 + __builtin_ctzll(open);
            if (!x->e->points.items[q].lazy || !may_follow(x, s, q)) return false;
        }
    }
    return true;
}

/* Lets a point happen, and in front of it the ends that it needs. */
static void happen_after_ends(explorer *x, state *s, int p) {
    const size_t words = x->e->words;
    for (size_t i = 0; i < words; i++) {
        uint64_t open = x->needs[(size_t)p * words + i] & ~s->done[i];
        for (; open != 0; open &= open - 1) {
            happen_after_ends(x, s, (int)i * 64 + __builtin_ctzll(open));
        }
    }
    executor_happen(x, s, p);
}

/* The first point from p on that has not happened and whose turn may have come; the number of
 * points if there is none. What stands after the next point of an agent's list waits for it. */
static int next_candidate(const explorer *x, const state *s, int p) {
    const executor *e = x->e;
    const int count = (int)e->points.count;
    while (p < count) {
        const uint64_t left = ~s->done[p / 64] >> (p % 64);
        if (left == 0) {
            p = (p / 64 + 1) * 64;
            continue;
        }
        p += __builtin_ctzll(left);
        return p < count ? p : count;
    }
    return count;
}

/* The candidate after p. */
static int after_candidate(const explorer *x, const state *s, int p) {
    const point *this = &x->e->points.items[p];
    const bool skip = this->listed && !executor_is_done(s, p);
    return next_candidate(x, s, skip ? x->e->agent_points.items[this->list + 1] : p + 1);
}

static void hurry(explorer *x, state *s) {
    const int count = (int)x->e->points.count;
    bool again = true;
    while (again && x->e->result.wrong == 0) {
        again = false;
        for (int p = next_candidate(x, s, 0); p < count; p = after_candidate(x, s, p)) {
            if (!x->e->points.items[p].eager || !follows(x, s, p) || !executor_is_let(x, s, p))
                continue;
            executor_happen(x, s, p);
            again = true;
        }
    }
}

/* ---- states ------------------------------------------------------------------------ */

static uint64_t hash_state(const unsigned char *bytes, size_t count) {
    uint64_t hash = UINT64_C(0x243F6A8885A308D3);
    for (size_t i = 0; i + 8 <= count; i += 8) {
        uint64_t word;
        memcpy(&word, bytes + i, 8);
        hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 32;
    }
    return hash != 0 ? hash : 1;
}

static void put_hash(uint64_t *table, size_t room, uint64_t hash) {
    size_t at = hash & (room - 1);
    while (table[at] != 0) at = (at + 1) & (room - 1);
    table[at] = hash;
}

static bool is_new(explorer *x, uint64_t hash) {
    size_t at = hash & (x->seen_room - 1);
    while (x->seen[at] != 0) {
        if (x->seen[at] == hash) return false;
        at = (at + 1) & (x->seen_room - 1);
    }
    x->seen[at] = hash;
    if (++x->seen_count * 2 > x->seen_room) {
        uint64_t *larger = calloc(x->seen_room * 2, sizeof *larger);
        assert_non_null(larger);
        for (size_t i = 0; i < x->seen_room; i++) {
            if (x->seen[i] != 0) put_hash(larger, x->seen_room * 2, x->seen[i]);
        }
        free(x->seen);
        x->seen = larger;
        x->seen_room *= 2;
    }
    return true;
}

static state view(const explorer *x, unsigned char *bytes) {
    return (state){(uint64_t *)(void *)bytes,
                   (int32_t *)(void *)(bytes + x->e->words * sizeof(uint64_t))};
}

static void push_state(explorer *x, const unsigned char *bytes) {
    if (!is_new(x, hash_state(bytes, x->state_bytes))) return;
    while (x->stack.count + x->state_bytes > x->stack.reserve) {
        x->stack.items = list_grown(x->stack.items, &x->stack.reserve, 1);
    }
    memcpy(x->stack.items + x->stack.count, bytes, x->state_bytes);
    x->stack.count += x->state_bytes;
}

static void check_output_alive(executor *e, const state *s, int64_t tensor) {
    const spad_kernel_tensor *t = spad_kernel_get_tensor(e->kernel, (size_t)tensor);
    for (int64_t i = 0; e->alive_base[tensor] >= 0 && i < t->tiles; i++) {
        if (s->values[e->alive_base[tensor] + (int)i] == 0) {
            executor_say(e, EXECUTOR_FREED, "output '%s' is not alive at the end", t->name);
        }
    }
}

/* Was anything written to a tile, under its own name or, for a view, under another? */
static bool is_result_written(const executor *e, const access *result) {
    for (size_t i = 0; i < e->first_result; i++) {
        const access *a = &e->accesses.items[i];
        if (a->op >= 0 && e->ops.items[a->op].life != SPAD_WALK_OPERATION) continue;
        if ((a->walk.kind & SPAD_ACCESS_WRITE) == 0 || !executor_is_same(e, result, a)) continue;
        if (executor_share_atom(e, result, a)) return true;
    }
    return false;
}

/* Of a tile that was written all bytes are read. Those that were never written are another matter.
 */
static void check_results(executor *e, const state *s) {
    for (size_t i = e->first_result; i < e->end_results; i++) {
        const access *result = &e->accesses.items[i];
        if (!is_result_written(e, result)) continue;
        for (size_t j = 0; j < result->atom_count; j++) {
            const int w = s->values[e->memory_base + e->atoms.items[result->first_atom + j]];
            if (w < 0 || (w > 0 && !executor_is_same(e, result, &e->accesses.items[w - 1]))) {
                executor_say(e, EXECUTOR_OUTPUT,
                             "an output holds what was written as another tile");
            }
        }
    }
}

/* Outputs are read after the kernel: alive, and not written over. */
static void check_outputs(executor *e, const state *s) {
    for (size_t i = 0; i < spad_kernel_tensor_count(e->kernel); i++) {
        const spad_kernel_tensor *t = spad_kernel_get_tensor(e->kernel, i);
        const int64_t names[2] = {(int64_t)i, t->home};
        for (int k = 0; (t->flags & SPAD_TENSOR_OUTPUT) != 0 && k < 2; k++) {
            check_output_alive(e, s, names[k]);
        }
    }
    for (size_t i = 0; i < e->accesses.count; i++) {
        const access *a = &e->accesses.items[i];
        if (a->op >= 0 && e->ops.items[a->op].life != SPAD_WALK_OPERATION) continue;
        if ((a->walk.kind & SPAD_ACCESS_WRITE) == 0) continue;
        const spad_kernel_tensor *t = spad_kernel_get_tensor(e->kernel, (size_t)a->walk.tensor);
        const int64_t statement =
            a->op >= 0 ? e->ops.items[a->op].statement : (int64_t)t->statement;
        if ((t->flags & SPAD_TENSOR_OUTPUT) == 0) continue;
        for (size_t j = 0; j < a->atom_count; j++) {
            const int w = s->values[e->memory_base + e->atoms.items[a->first_atom + j]];
            if (w < 0 || (w > 0 && !executor_is_same(e, a, &e->accesses.items[w - 1]))) {
                executor_say(e, EXECUTOR_OUTPUT, "output of line %d is overwritten",
                             executor_line(e, statement));
            }
        }
    }
    check_results(e, s);
}

static void note_leftover(executor *e, const state *s, const int *counts) {
    for (size_t i = 0; i < spad_kernel_sync_count(e->kernel); i++) {
        const spad_kernel_sync *sync = spad_kernel_get_sync(e->kernel, i);
        const int32_t *v = &s->values[e->object_base[i]];
        for (int64_t j = 0; j < sync->elements; j++) {
            switch (sync->kind) {
            case SPAD_SYNC_BARRIER:
                e->result.leftover |= v[BARRIER_SUM] != 0;
                v += BARRIER_VALUES;
                break;
            case SPAD_SYNC_COUNTER:
                e->result.leftover |=
                    e->taker[v - s->values] != 0 && *v != (int32_t)counts[v - s->values];
                v += 1;
                break;
            case SPAD_SYNC_MBARRIER:
                e->result.leftover |=
                    v[MBARRIER_ALIVE] != 0 &&
                    (v[MBARRIER_PENDING] != v[MBARRIER_ARRIVALS] || v[MBARRIER_BYTES] != 0);
                v += MBARRIER_VALUES;
                break;
            default: break;
            }
        }
    }
}

/* Nothing can happen any more but ends that nothing needs. */
static void end_execution(explorer *x, state *s) {
    executor *e = x->e;
    for (int p = 0; p < (int)e->points.count; p++) {
        if (executor_is_done(s, p) || !may_follow(x, s, p)) continue;
        if (e->points.items[p].lazy) {
            happen_after_ends(x, s, p);
            continue;
        }
        executor_say(e, EXECUTOR_STUCK, "line %d is never released",
                     executor_line(e, e->points.items[p].statement));
        e->result.some_stuck = true;
        return;
    }
    e->result.some_end = true;
    check_outputs(e, s);
    note_leftover(e, s, x->counts);
}

/* Lets every possible next point happen, each in a copy of the state. */
static void expand(explorer *x, unsigned char *bytes, unsigned char *copy) {
    executor *e = x->e;
    state s = view(x, bytes);
    bool end = true;
    const int count = (int)e->points.count;
    for (int p = next_candidate(x, &s, 0); p < count && e->result.wrong == 0;
         p = after_candidate(x, &s, p)) {
        const point *next_one = &e->points.items[p];
        if (next_one->lazy || !may_follow(x, &s, p)) continue;
        if (next_one->action == ACTION_PARITY && s.values[next_one->object + MBARRIER_ALIVE] != 0) {
            executor_note_phase(x, (size_t)p, s.values[next_one->object + MBARRIER_PHASE]);
        }
        if (!executor_is_let(x, &s, p)) continue;
        end = false;
        memcpy(copy, bytes, x->state_bytes);
        state next = view(x, copy);
        happen_after_ends(x, &next, p);
        hurry(x, &next);
        if (e->result.wrong == 0) push_state(x, copy);
    }
    if (end) end_execution(x, &s);
}

/* ---- what all executions say together ---------------------------------------------- */

/* A parity wait waits for one phase, or passes in any case. */
static void judge_waits(explorer *x) {
    for (size_t i = 0; i < x->e->points.count; i++) {
        const point *p = &x->e->points.items[i];
        if (p->action != ACTION_PARITY || x->low[i] > x->high[i]) continue;
        const bool waits = (x->low[i] & 1) == p->amount;
        if (x->high[i] > x->low[i] + (waits ? 1 : 0)) {
            executor_say(x->e, EXECUTOR_PARITY, "line %d: %lld to %lld phases are complete there",
                         executor_line(x->e, p->statement), (long long)x->low[i],
                         (long long)x->high[i]);
        }
    }
}

/* What is contributed to a barrier or an mbarrier counts for the same round in all executions. */
static void judge_contributions(explorer *x) {
    executor *e = x->e;
    for (size_t i = 0; i < e->points.count; i++) {
        const point *p = &e->points.items[i];
        if (p->action == ACTION_PARITY || x->high[i] <= x->low[i]) continue;
        executor_say(e, p->action == ACTION_CONTRIBUTE ? EXECUTOR_BARRIER : EXECUTOR_MBARRIER,
                     "line %d counts for one round or another", executor_line(e, p->statement));
    }
    for (size_t i = 0; i < e->ops.count; i++) {
        const op *o = &e->ops.items[i];
        for (size_t j = 0; j < o->completion_count; j++) {
            const size_t at = e->points.count + o->first_completion + j;
            if (x->high[at] <= x->low[at]) continue;
            executor_say(e, EXECUTOR_MBARRIER, "the end of line %d counts for one phase or another",
                         executor_line(e, o->statement));
        }
    }
}

static bool is_before(const explorer *x, int before, int after) {
    return (x->must[(size_t)after * x->e->words + (size_t)(before / 64)] >> (before % 64) & 1) != 0;
}

static bool is_between(const explorer *x, int p, int from, int to) {
    return is_before(x, from, p) && is_before(x, p, to);
}

static const spad_fence_rule *rule_of(const executor *e, int64_t fence) {
    return fence >= 0 ? &spad_kernel_get_target(e->kernel)->fences[fence] : NULL;
}

/* Does a point of an agent come after it? What happens on units is not in the lists of agents. */
static bool is_waited_for(const explorer *x, int end) {
    for (int p = 0; p < (int)x->e->points.count; p++) {
        if (x->e->points.items[p].listed && is_before(x, end, p)) return true;
    }
    return false;
}

/* Where blocks share a unit, its memory is gone when the agents have ended. */
static void judge_ends(explorer *x) {
    executor *e = x->e;
    const spad_target *target = spad_kernel_get_target(e->kernel);
    for (size_t i = 0; i < e->ops.count && target->max_groups > 0; i++) {
        const op *o = &e->ops.items[i];
        if (o->unit < 0 || o->others) continue;
        for (size_t j = 0; j < o->access_count; j++) {
            const spad_walk_access *a = &e->accesses.items[o->first_access + j].walk;
            const spad_kernel_tensor *t = spad_kernel_get_tensor(e->kernel, (size_t)a->tensor);
            const bool writes = (a->kind & SPAD_ACCESS_WRITE) != 0;
            if (target->spaces[t->space].off_chip) continue;
            if (writes && !o->proxy && o->completion_count == 0) continue; /* into its own block */
            if (is_waited_for(x, writes ? o->write_end : o->read_end)) continue;
            executor_say(e, EXECUTOR_UNFINISHED, "nothing waits for the end of line %d",
                         executor_line(e, o->statement));
        }
    }
}

/* A proxy fence for one of the spaces. */
static bool is_fenced(const explorer *x, uint64_t spaces, int from, int to) {
    for (int p = 0; p < (int)x->e->points.count; p++) {
        const point *f = &x->e->points.items[p];
        if (f->action != ACTION_FENCE || !is_between(x, p, from, to)) continue;
        const spad_fence_rule *rule = rule_of(x->e, f->fence);
        if (rule == NULL) return true;
        if (rule->kind == SPAD_FENCE_PROXY && (rule->spaces & spaces) != 0) return true;
    }
    return false;
}

/* Does a point tell that operations on a unit that needs the fence are done? It is an arrival on
 * the unit, or the end of an operation with an effect. */
static bool tells_end(const executor *e, const point *p, int64_t fence) {
    if (p->action == ACTION_END) {
        const op *o = &e->ops.items[p->op];
        return o->fence == fence && o->completion_count > 0;
    }
    if ((p->action != ACTION_ARRIVE && p->action != ACTION_SIGNAL) || p->unit < 0) return false;
    return spad_kernel_get_unit(e->kernel, (size_t)p->unit)->fence == fence;
}

/* A fence of the target by an agent. */
static bool has_fence(const explorer *x, int64_t fence, unsigned when, int agent, int from,
                      int to) {
    for (int p = 0; p < (int)x->e->points.count; p++) {
        const point *f = &x->e->points.items[p];
        if (f->agent != agent || !is_between(x, p, from, to)) continue;
        if (f->action == ACTION_FENCE && f->fence == fence && f->when == when) return true;
        if (when == SPAD_FENCE_BEFORE && tells_end(x->e, f, fence)) return true;
    }
    return false;
}

/* Does a unit of the kernel need it? */
static bool is_needed(const executor *e, int64_t fence) {
    for (size_t i = 0; i < spad_kernel_unit_count(e->kernel); i++) {
        if (spad_kernel_get_unit(e->kernel, i)->fence == fence) return true;
    }
    return false;
}

/* A pair that is ordered: does it lack a fence of the target that is not a proxy fence? */
static bool lacks_fence(const explorer *x, const op *o, const op *after, int64_t fence, int end) {
    const spad_fence_rule *rule = rule_of(x->e, fence);
    if (rule->kind == SPAD_FENCE_ISSUE && after->fence == fence && o->fence != fence) {
        return !has_fence(x, fence, 0, after->agent, end, after->start) &&
               !has_fence(x, fence, 0, 0, end, after->start);
    }
    if (rule->kind != SPAD_FENCE_THREADS || o->agent == after->agent) return false;
    const bool told = o->unit >= 0 && o->completion_count > 0;
    return (!told && !has_fence(x, fence, SPAD_FENCE_BEFORE, o->agent, end, after->start)) ||
           !has_fence(x, fence, SPAD_FENCE_AFTER, after->agent, end, after->start);
}

static void judge_rules(explorer *x, const op *o, const conflict *c) {
    executor *e = x->e;
    const op *after = &e->ops.items[c->other];
    const size_t rules = spad_kernel_get_target(e->kernel)->fence_count;
    for (size_t i = 0; i < rules; i++) {
        if (!is_needed(e, (int64_t)i)) continue;
        const uint64_t spaces = rule_of(e, (int64_t)i)->spaces;
        const bool writes = (c->written & spaces) != 0;
        const int end = writes ? o->write_end : o->read_end;
        if (((c->written | c->read) & spaces) == 0 || !is_before(x, end, after->start)) continue;
        if (!lacks_fence(x, o, after, (int64_t)i, end)) continue;
        executor_say(e, EXECUTOR_FENCE, "no fence %s between lines %d and %d",
                     rule_of(e, (int64_t)i)->name, executor_line(e, o->statement),
                     executor_line(e, after->statement));
    }
}

/* Before its first operation that needs a fence of its own an agent has one, or the main program
 * has before the agents. */
static void judge_first_uses(explorer *x) {
    executor *e = x->e;
    for (size_t i = 0; i < e->ops.count; i++) {
        const op *o = &e->ops.items[i];
        const spad_fence_rule *rule = rule_of(e, o->fence);
        bool fenced = o->others || rule == NULL || rule->kind != SPAD_FENCE_ISSUE;
        bool touches = false;
        for (size_t j = 0; j < o->access_count && !fenced; j++) {
            const access *a = &e->accesses.items[o->first_access + j];
            const size_t space = spad_kernel_get_tensor(e->kernel, (size_t)a->walk.tensor)->space;
            touches = touches || (rule->spaces >> space & 1) != 0;
        }
        for (int p = 0; p < (int)e->points.count && !fenced; p++) {
            const point *f = &e->points.items[p];
            fenced = f->action == ACTION_FENCE && f->fence == o->fence &&
                     (f->agent == o->agent || f->agent == 0) && is_before(x, p, o->start);
        }
        if (touches && !fenced) {
            executor_say(e, EXECUTOR_FENCE, "no fence %s before line %d", rule->name,
                         executor_line(e, o->statement));
        }
    }
}

/* Generic accesses and then async ones need a fence between them, for each memory. */
static void judge_proxies(explorer *x, const op *o, const conflict *c) {
    executor *e = x->e;
    const op *after = &e->ops.items[c->other];
    for (size_t s = 0; s < spad_kernel_get_target(e->kernel)->space_count; s++) {
        const uint64_t bit = UINT64_C(1) << s;
        const bool writes = (c->written & bit) != 0;
        const int end = writes ? o->write_end : o->read_end;
        if (((c->written | c->read) & bit) == 0 || !executor_has_proxies(e, s)) continue;
        if (!is_before(x, end, after->start) || is_fenced(x, bit, end, after->start)) continue;
        if (!writes) {
            e->result.read_to_async = true;
            continue;
        }
        executor_say(e, EXECUTOR_FENCE, "no fence between lines %d and %d",
                     executor_line(e, o->statement), executor_line(e, after->statement));
    }
}

static void judge_fences(explorer *x) {
    executor *e = x->e;
    for (size_t i = 0; i < e->ops.count; i++) {
        const op *o = &e->ops.items[i];
        if (o->others || o->life != SPAD_WALK_OPERATION) continue;
        for (size_t j = e->first_conflict[i]; j < e->first_conflict[i + 1]; j++) {
            const conflict *c = &e->conflicts.items[j];
            const op *after = &e->ops.items[c->other];
            if (after->others || after->life != SPAD_WALK_OPERATION) continue;
            if (!o->proxy && after->proxy) judge_proxies(x, o, c);
            judge_rules(x, o, c);
        }
    }
}

/* So do the end of an mbarrier's life, and what the async proxy writes to its bytes. Its init needs
 * none: deliveries access it through the generic proxy [PTX ISA, cp.async.bulk]. */
static void judge_invalidates(explorer *x) {
    executor *e = x->e;
    for (size_t h = 0; h < e->held.count; h++) {
        const access *bytes = &e->accesses.items[e->held.items[h].access];
        for (size_t i = 0; i < e->accesses.count; i++) {
            const access *a = &e->accesses.items[i];
            if (a->op < 0 || (a->walk.kind & SPAD_ACCESS_WRITE) == 0) continue;
            const op *o = &e->ops.items[a->op];
            if (!o->proxy || o->others || o->life != SPAD_WALK_OPERATION) continue;
            if (!executor_share_atom(e, a, bytes)) continue;
            for (int p = 0; p < (int)e->points.count; p++) {
                const point *end = &e->points.items[p];
                if (end->action != ACTION_INVALIDATE || end->object != e->held.items[h].object ||
                    !is_before(x, p, o->start) ||
                    is_fenced(x, UINT64_C(1) << bytes->space, p, o->start)) {
                    continue;
                }
                executor_say(e, EXECUTOR_FENCE, "no fence between lines %d and %d",
                             executor_line(e, end->statement), executor_line(e, o->statement));
            }
        }
    }
}

/* ---- all together ------------------------------------------------------------------ */

static int lay_out_syncs(executor *e) {
    int at = 0;
    for (size_t i = 0; i < spad_kernel_sync_count(e->kernel); i++) {
        const spad_kernel_sync *sync = spad_kernel_get_sync(e->kernel, i);
        e->object_base[i] = at;
        if (sync->kind == SPAD_SYNC_BARRIER) at += BARRIER_VALUES * (int)sync->elements;
        if (sync->kind == SPAD_SYNC_COUNTER) at += (int)sync->elements;
        if (sync->kind == SPAD_SYNC_MBARRIER) at += MBARRIER_VALUES * (int)sync->elements;
    }
    e->agent_base = at;
    return at + (int)spad_kernel_agent_count(e->kernel);
}

/* Agents of several threads have three numbers for each value of a sync object. */
static int lay_out_threads(executor *e, int at) {
    e->thread_base = at;
    for (size_t i = 1; i < spad_kernel_agent_count(e->kernel); i++) {
        if (spad_kernel_get_agent(e->kernel, i)->threads.value > 1) e->thread_lists++;
    }
    return at + e->thread_lists * e->sync_values * THREAD_VALUES;
}

/* Tensors that statements allocate or free have a flag per tile. */
static int lay_out_lives(executor *e, int at) {
    for (size_t i = 0; i < spad_kernel_statement_count(e->kernel); i++) {
        const spad_statement *s = spad_kernel_get_statement(e->kernel, i);
        if (s->kind != SPAD_STATEMENT_ALLOC && s->kind != SPAD_STATEMENT_FREE) continue;
        const spad_kernel_tensor *t = spad_kernel_get_tensor(e->kernel, (size_t)s->item);
        if (t->mode == SPAD_MODE_STACK || t->mode == SPAD_MODE_HEAP) continue;
        if (e->alive_base[s->item] >= 0) continue;
        e->alive_base[s->item] = at;
        at += (int)t->tiles;
    }
    return at;
}

/* A tensor without an `alloc` in the text is alive from the start. */
static bool has_alloc(const executor *e, int64_t tensor) {
    for (size_t i = 0; i < spad_kernel_statement_count(e->kernel); i++) {
        const spad_statement *s = spad_kernel_get_statement(e->kernel, i);
        if (s->kind == SPAD_STATEMENT_ALLOC && s->item == tensor) return true;
    }
    return false;
}

static void fill_first_state(const explorer *x, state *s) {
    const executor *e = x->e;
    for (size_t i = 0; i < spad_kernel_sync_count(e->kernel); i++) {
        const spad_kernel_sync *sync = spad_kernel_get_sync(e->kernel, i);
        if (sync->kind != SPAD_SYNC_COUNTER) continue;
        for (int64_t j = 0; j < sync->elements; j++) {
            s->values[e->object_base[i] + (int)j] = (int32_t)sync->count.value;
        }
    }
    for (size_t i = 0; i < e->given; i++) {
        const access *a = &e->accesses.items[i];
        for (size_t j = 0; j < a->atom_count; j++) {
            s->values[e->memory_base + e->atoms.items[a->first_atom + j]] = (int32_t)i + 1;
        }
    }
    for (size_t i = 0; i < spad_kernel_tensor_count(e->kernel); i++) {
        if (e->alive_base[i] < 0) continue;
        for (int64_t j = 0; j < spad_kernel_get_tensor(e->kernel, i)->tiles; j++) {
            s->values[e->alive_base[i] + (int)j] = !has_alloc(e, (int64_t)i);
        }
    }
}

static int *list_counts(const executor *e) {
    int *counts = calloc(e->values + 1, sizeof *counts);
    assert_non_null(counts);
    for (size_t i = 0; i < spad_kernel_sync_count(e->kernel); i++) {
        const spad_kernel_sync *sync = spad_kernel_get_sync(e->kernel, i);
        const int size = sync->kind == SPAD_SYNC_BARRIER ? BARRIER_VALUES : 1;
        if (sync->kind != SPAD_SYNC_BARRIER && sync->kind != SPAD_SYNC_COUNTER) continue;
        for (int64_t j = 0; j < sync->elements; j++) {
            counts[e->object_base[i] + (int)j * size] = (int)sync->count.value;
        }
    }
    return counts;
}

static void explore(executor *e) {
    const size_t points = e->points.count;
    const size_t phases = points + e->completions.count;
    int *counts = list_counts(e);
    explorer x = {.e = e,
                  .counts = counts,
                  .needs = calloc(points * e->words, sizeof *x.needs),
                  .must = malloc(points * e->words * sizeof *x.must),
                  .low = malloc(phases * sizeof *x.low),
                  .high = malloc(phases * sizeof *x.high),
                  .late = calloc(e->ops.count * e->ops.count + 1, 1),
                  .state_bytes =
                      (e->words * sizeof(uint64_t) + e->values * sizeof(int32_t) + 7) & ~(size_t)7,
                  .seen = calloc(64, sizeof *x.seen),
                  .seen_room = 64};
    unsigned char *now = calloc(2, x.state_bytes);
    assert_true(x.needs != NULL && x.must != NULL && x.low != NULL && x.high != NULL &&
                x.late != NULL && x.seen != NULL && now != NULL);
    memset(x.must, 0xff, points * e->words * sizeof *x.must);
    for (size_t i = 0; i < phases; i++) {
        x.low[i] = INT64_MAX;
        x.high[i] = -1;
    }
    for (size_t i = 0; i < e->orders.count; i++) {
        const order *o = &e->orders.items[i];
        x.needs[(size_t)o->after * e->words + (size_t)(o->before / 64)] |= UINT64_C(1)
                                                                           << (o->before % 64);
    }
    state first = view(&x, now);
    fill_first_state(&x, &first);
    hurry(&x, &first);
    push_state(&x, now);
    const size_t most = e->options->states_max > 0 ? (size_t)e->options->states_max : 200000;
    while (x.stack.count > 0 && e->result.wrong == 0 && x.seen_count <= most) {
        x.stack.count -= x.state_bytes;
        memcpy(now, x.stack.items + x.stack.count, x.state_bytes);
        expand(&x, now, now + x.state_bytes);
    }
    e->too_large = e->result.wrong == 0 && x.stack.count > 0;
    e->result.states = (long)x.seen_count;
    if (e->result.wrong == 0 && !e->too_large && !e->options->ends) {
        judge_waits(&x);
        judge_contributions(&x);
        judge_fences(&x);
        judge_invalidates(&x);
        judge_first_uses(&x);
        judge_ends(&x);
    }
    free(counts);
    free(x.needs);
    free(x.must);
    free(x.low);
    free(x.high);
    free(x.late);
    free(x.seen);
    free(x.stack.items);
    free(now);
}

static void *zeroed(size_t count, size_t size) {
    void *block = calloc(count + 1, size);
    assert_non_null(block);
    return block;
}

static void run_collected(executor *e, int values) {
    executor_cut(e);
    if (e->too_large) return;
    values = lay_out_lives(e, values);
    e->memory_base = values;
    e->values = (size_t)values + e->atom_count;
    e->words = (e->points.count + 63) / 64;
    e->first_conflict = zeroed(e->ops.count + 1, sizeof *e->first_conflict);
    executor_find_conflicts(e);
    explore(e);
}

executor_result executor_run(const spad_kernel *kernel, const executor_options *options) {
    static const executor_options defaults = {0};
    executor e = {.kernel = kernel, .options = options != NULL ? options : &defaults};
    const size_t tensors = spad_kernel_tensor_count(kernel);
    e.object_base = zeroed(spad_kernel_sync_count(kernel), sizeof *e.object_base);
    e.waits_for_reads = zeroed(spad_kernel_sync_count(kernel), sizeof *e.waits_for_reads);
    e.alive_base = zeroed(tensors, sizeof *e.alive_base);
    e.lives = zeroed(tensors, sizeof *e.lives);
    for (size_t i = 0; i < tensors; i++) e.alive_base[i] = -1;
    int values = lay_out_syncs(&e);
    e.sync_values = values;
    values = lay_out_threads(&e, values);
    e.taker = zeroed((size_t)values, sizeof *e.taker);
    assert_true(spad_kernel_agent_count(kernel) <= AGENTS_MAX);

    if (!executor_collect(&e)) {
        e.result.walk_failed = true;
    } else {
        executor_look_at_outputs(&e);
        if (!e.too_large && e.result.wrong == 0) run_collected(&e, values);
    }
    e.result.decided = !e.result.walk_failed && (e.result.wrong != 0 || !e.too_large);

    free(e.points.items);
    free(e.orders.items);
    free(e.accesses.items);
    free(e.completions.items);
    free(e.ops.items);
    free(e.agent_points.items);
    free(e.firsts.items);
    free(e.queue.items);
    free(e.loose.items);
    free(e.shared.items);
    free(e.atoms.items);
    free(e.held.items);
    free(e.lives);
    free(e.conflicts.items);
    free(e.first_conflict);
    free(e.object_base);
    free(e.waits_for_reads);
    free(e.alive_base);
    free(e.taker);
    return e.result;
}

/* ---- values that are not known ----------------------------------------------------- */

/* On to other values of what is not known; false: all were there. */
static bool next_values(spad_kernel *kernel) {
    for (size_t i = 0; i < spad_kernel_unknown_count(kernel); i++) {
        const spad_kernel_unknown *u = spad_kernel_get_unknown(kernel, i);
        int64_t *values = spad__unknown_values(kernel, i);
        for (int64_t k = 0; k < u->elements; k++) {
            if (++values[k] < u->end.value) return true;
            values[k] = u->least.value;
        }
    }
    return false;
}

/* The executions for the given values, and then for all others until one is wrong. */
executor_result executor_run_all_values(spad_kernel *kernel, const executor_options *options) {
    const executor_result given = executor_run(kernel, options);
    executor_result all = given;
    if (spad_kernel_unknown_count(kernel) == 0) return given;
    for (size_t i = 0; i < spad_kernel_unknown_count(kernel); i++) {
        const spad_kernel_unknown *u = spad_kernel_get_unknown(kernel, i);
        for (int64_t k = 0; k < u->elements; k++) {
            spad__unknown_values(kernel, i)[k] = u->least.value;
        }
    }
    bool more = true;
    while (more && all.wrong == 0 && !all.walk_failed) {
        const executor_result one = executor_run(kernel, options);
        all.decided = all.decided && one.decided;
        all.unmodelled = all.unmodelled || one.unmodelled;
        if (one.wrong != 0 || one.walk_failed) all = one;
        more = next_values(kernel);
    }
    all.unwritten = given.unwritten;
    all.views = given.views;
    return all;
}
