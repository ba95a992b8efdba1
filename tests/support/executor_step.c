/* SPDX-License-Identifier: Apache-2.0
 *
 * What happens at a point: operations start and end, barriers, counters and mbarriers change.
 * Everything that can be seen to be wrong in one execution is found here.
 */
#include <stdio.h>
#include <string.h>

#include "support/executor_model.h"

void executor_say(executor *e, unsigned wrong, const char *format, ...) {
    if (e->result.wrong != 0) return; /* the first wrong thing counts */
    if (e->options->ends && wrong != EXECUTOR_BARRIER && wrong != EXECUTOR_MBARRIER) return;
    e->result.wrong = wrong;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(e->result.about, sizeof e->result.about, format, arguments);
    va_end(arguments);
}

int executor_line(const executor *e, int64_t statement) {
    if (statement < 0) return 0;
    return spad_kernel_get_statement(e->kernel, (size_t)statement)->location.line;
}

/* ---- mbarriers --------------------------------------------------------------------- */

/* ---- threads of an agent ----------------------------------------------------------- */

static int32_t *thread_values(const executor *e, const state *s, int list, int object) {
    return &s->values[e->thread_base + (list * e->sync_values + object) * THREAD_VALUES];
}

/* A round of an object is complete: it needs the arrivals of all threads that were made. */
static void note_round(const executor *e, const state *s, int object) {
    for (int i = 0; i < e->thread_lists; i++) {
        int32_t *v = thread_values(e, s, i, object);
        v[THREAD_NEEDED] = v[THREAD_FIRST];
    }
}

static bool all_have_arrived(const executor *e, const state *s, int object) {
    for (int i = 0; i < e->thread_lists; i++) {
        const int32_t *v = thread_values(e, s, i, object);
        if (v[THREAD_OTHERS] < v[THREAD_NEEDED]) return false;
    }
    return true;
}

/* A phase is complete at the instant that nothing is pending and all bytes are there. */
static void settle(executor *e, const point *p, const state *s, int32_t *m) {
    if (m[MBARRIER_PENDING] < 0) {
        executor_say(e, EXECUTOR_MBARRIER, "too many arrivals in a phase (line %d)",
                     executor_line(e, p->statement));
    }
    if (m[MBARRIER_PENDING] == 0 && m[MBARRIER_BYTES] == 0) {
        m[MBARRIER_PHASE]++;
        note_round(e, s, (int)(m - s->values));
        m[MBARRIER_PENDING] = m[MBARRIER_ARRIVALS];
        if (m[MBARRIER_ARRIVALS] <= 0) {
            executor_say(e, EXECUTOR_MBARRIER, "no arrivals are left (line %d)",
                         executor_line(e, p->statement));
        }
    }
}

static bool is_alive(executor *e, const point *p, const int32_t *m) {
    if (m[MBARRIER_ALIVE] != 0) return true;
    executor_say(e, EXECUTOR_MBARRIER, "mbarrier used while not initialised (line %d)",
                 executor_line(e, p->statement));
    return false;
}

static void arrive(executor *e, const point *p, const state *s, int32_t *m, int64_t arrivals,
                   int64_t bytes) {
    if (!is_alive(e, p, m)) return;
    m[MBARRIER_BYTES] += (int32_t)bytes;
    m[MBARRIER_PENDING] -= (int32_t)arrivals;
    if (p->drop) m[MBARRIER_ARRIVALS] -= (int32_t)arrivals;
    settle(e, p, s, m);
}

/* Is an access to these bytes under way? */
static bool is_accessed(const executor *e, const state *s, const access *bytes) {
    for (size_t i = 0; i < e->ops.count; i++) {
        const op *o = &e->ops.items[i];
        if (o->life != SPAD_WALK_OPERATION || !executor_is_done(s, o->start)) continue;
        for (size_t k = 0; k < o->access_count; k++) {
            const access *a = &e->accesses.items[o->first_access + k];
            const bool writes = (a->walk.kind & SPAD_ACCESS_WRITE) != 0;
            if (executor_is_done(s, writes ? o->write_end : o->read_end)) continue;
            if (executor_share_atom(e, a, bytes)) return true;
        }
    }
    return false;
}

enum { GONE = -1 }; /* what an mbarrier, or ALLOC, leaves of a tile */

/* A life begins in bytes: nothing else uses them, and a tile that was there is gone. */
static void take_bytes(executor *e, const point *p, const state *s) {
    for (size_t i = 0; i < e->held.count; i++) {
        const access *bytes = &e->accesses.items[e->held.items[i].access];
        if (e->held.items[i].object != p->object) continue;
        bool taken = is_accessed(e, s, bytes);
        for (size_t k = 0; k < e->held.count; k++) {
            const access *other = &e->accesses.items[e->held.items[k].access];
            taken = taken || (k != i && executor_share_atom(e, bytes, other) &&
                              s->values[e->held.items[k].object + MBARRIER_ALIVE] != 0);
        }
        if (taken) {
            executor_say(e, EXECUTOR_BYTES, "line %d begins in bytes that are in use",
                         executor_line(e, p->statement));
        }
        for (size_t k = 0; k < bytes->atom_count; k++) {
            int32_t *atom = &s->values[e->memory_base + e->atoms.items[bytes->first_atom + k]];
            if (*atom != 0) *atom = GONE;
        }
    }
}

/* No operation begins in the bytes of an mbarrier that is alive. */
static void check_bytes(executor *e, const state *s, const op *o) {
    for (size_t i = 0; i < e->held.count; i++) {
        if (s->values[e->held.items[i].object + MBARRIER_ALIVE] == 0) continue;
        for (size_t k = 0; k < o->access_count; k++) {
            if (!executor_share_atom(e, &e->accesses.items[o->first_access + k],
                                     &e->accesses.items[e->held.items[i].access])) {
                continue;
            }
            executor_say(e, EXECUTOR_BYTES, "line %d accesses bytes of an mbarrier",
                         executor_line(e, o->statement));
        }
    }
}

static void init(executor *e, const point *p, const state *s, int32_t *m) {
    take_bytes(e, p, s);
    if (m[MBARRIER_ALIVE] != 0) {
        executor_say(e, EXECUTOR_MBARRIER, "initialised twice (line %d)",
                     executor_line(e, p->statement));
    }
    m[MBARRIER_ALIVE] = 1;
    m[MBARRIER_PHASE] = 0;
    m[MBARRIER_PENDING] = m[MBARRIER_ARRIVALS] = (int32_t)p->amount;
    m[MBARRIER_BYTES] = 0;
}

void executor_note_phase(explorer *x, size_t p, int64_t phase) {
    if (phase < x->low[p]) x->low[p] = phase;
    if (phase > x->high[p]) x->high[p] = phase;
}

/* ---- operations -------------------------------------------------------------------- */

static void complete(explorer *x, const point *p, state *s, unsigned ends) {
    executor *e = x->e;
    const op *o = &e->ops.items[p->op];
    for (size_t i = 0; i < o->completion_count; i++) {
        const completion *c = &e->completions.items[o->first_completion + i];
        const bool reads = (c->walk.flags & SPAD_SYNC_READS) != 0;
        if ((ends & (reads ? SPAD_ACCESS_READ : SPAD_ACCESS_WRITE)) == 0) continue;
        int32_t *object = &s->values[c->object];
        if (c->walk.kind != SPAD_COMPLETION_SIGNAL) {
            executor_note_phase(x, e->points.count + o->first_completion + i,
                                object[MBARRIER_PHASE]);
        }
        switch (c->walk.kind) {
        case SPAD_COMPLETION_DELIVER: arrive(e, p, s, object, 0, -c->walk.amount); break;
        case SPAD_COMPLETION_ARRIVE: arrive(e, p, s, object, c->walk.amount, 0); break;
        case SPAD_COMPLETION_SIGNAL: *object += (int32_t)c->walk.amount; break;
        }
    }
}

/* Notes which accesses were not over when this one starts; both ways around is a race. */
static void meet_others(explorer *x, const state *s, int number) {
    executor *e = x->e;
    const size_t n = e->ops.count;
    for (size_t i = e->first_conflict[number]; i < e->first_conflict[number + 1]; i++) {
        const conflict *c = &e->conflicts.items[i];
        const op *other = &e->ops.items[c->other];
        unsigned char *late = &x->late[(size_t)c->other * n + (size_t)number];
        const unsigned char back = x->late[(size_t)number * n + (size_t)c->other];
        if (!executor_is_done(s, other->read_end)) *late |= LATE_READS;
        if (!executor_is_done(s, other->write_end)) *late |= LATE_WRITES;
        const bool other_reads = (*late & LATE_READS) != 0;
        const bool other_writes = (*late & LATE_WRITES) != 0;
        const bool reads = (back & LATE_READS) != 0;
        const bool writes = (back & LATE_WRITES) != 0;
        if ((c->read_write && other_writes && reads) || (c->write_read && other_reads && writes) ||
            (c->write_write && other_writes && writes)) {
            const bool threads = e->ops.items[number].others || other->others;
            executor_say(e, threads ? EXECUTOR_SYNC : EXECUTOR_RACE, "lines %d and %d in any order",
                         executor_line(e, e->ops.items[number].statement),
                         executor_line(e, other->statement));
        }
    }
}

static void read_atoms(executor *e, const state *s, const op *o, const access *a) {
    for (size_t i = 0; i < a->atom_count; i++) {
        const int writer = s->values[e->memory_base + e->atoms.items[a->first_atom + i]];
        if (writer == 0 && executor_is_given(e, a)) continue;
        if (writer <= 0) {
            executor_say(e, EXECUTOR_UNWRITTEN, "line %d reads what was never written",
                         executor_line(e, o->statement));
        } else if (!executor_is_same(e, a, &e->accesses.items[writer - 1])) {
            const access *w = &e->accesses.items[writer - 1];
            const int64_t by = w->op >= 0 ? e->ops.items[w->op].statement : -1;
            executor_say(e, EXECUTOR_STALE, "line %d reads tile %lld where line %d wrote tile %lld",
                         executor_line(e, o->statement), (long long)a->walk.tile,
                         executor_line(e, by), (long long)w->walk.tile);
        }
    }
}

static void check_alive(executor *e, const state *s, const op *o, const access *a) {
    const int64_t tensors[2] = {a->walk.tensor, a->walk.home};
    bool alive = a->walk.live;
    for (int i = 0; i < 2; i++) {
        const int base = e->alive_base[tensors[i]];
        if (base < 0) continue;
        const spad_kernel_tensor *t = spad_kernel_get_tensor(e->kernel, (size_t)tensors[i]);
        const int64_t tile = i == 0 || t->tiles > a->walk.tile ? a->walk.tile : 0;
        alive = alive && s->values[base + (int)(t->tiles > tile ? tile : 0)] != 0;
    }
    if (!alive)
        executor_say(e, EXECUTOR_FREED, "line %d: not alive", executor_line(e, o->statement));
}

/* What is left of a tile from before it was allocated means nothing. */
static void forget_contents(executor *e, const state *s, const op *o) {
    for (size_t i = 0; i < o->access_count; i++) {
        const access *a = &e->accesses.items[o->first_access + i];
        for (size_t j = 0; j < a->atom_count; j++) {
            int32_t *atom = &s->values[e->memory_base + e->atoms.items[a->first_atom + j]];
            const access *writer = *atom > 0 ? &e->accesses.items[*atom - 1] : NULL;
            if (writer != NULL && writer->op >= 0 &&
                (writer->walk.tensor == o->life_tensor || writer->walk.home == o->life_tensor)) {
                *atom = GONE;
            }
        }
    }
}

static void change_life(executor *e, const state *s, const op *o) {
    const spad_kernel_tensor *t = spad_kernel_get_tensor(e->kernel, (size_t)o->life_tensor);
    const bool alive = o->life == SPAD_WALK_ALLOC;
    for (int64_t tile = 0; tile < t->tiles; tile++) {
        if (o->life_tile >= 0 && tile != o->life_tile) continue;
        int32_t *flag = &s->values[e->alive_base[o->life_tensor] + (int)tile];
        if (*flag == (int32_t)alive) {
            executor_say(e, EXECUTOR_FREED, "line %d: %s twice", executor_line(e, o->statement),
                         alive ? "allocated" : "freed");
        }
        *flag = alive;
    }
    if (alive) forget_contents(e, s, o);
}

static void start(explorer *x, state *s, const point *p) {
    executor *e = x->e;
    const op *o = &e->ops.items[p->op];
    meet_others(x, s, p->op);
    if (o->life == SPAD_WALK_OPERATION) check_bytes(e, s, o);
    if (o->others) return; /* the first thread has the contents */
    if (o->life != SPAD_WALK_OPERATION) {
        change_life(e, s, o);
        return;
    }
    for (size_t i = 0; i < o->access_count; i++) {
        const access *a = &e->accesses.items[o->first_access + i];
        check_alive(e, s, o, a);
        if ((a->walk.kind & SPAD_ACCESS_READ) != 0) read_atoms(e, s, o, a);
    }
    for (size_t i = 0; i < o->access_count; i++) {
        const access *a = &e->accesses.items[o->first_access + i];
        if ((a->walk.kind & SPAD_ACCESS_WRITE) == 0) continue;
        for (size_t j = 0; j < a->atom_count; j++) {
            s->values[e->memory_base + e->atoms.items[a->first_atom + j]] =
                (int32_t)(o->first_access + i) + 1;
        }
    }
    if (o->unit < 0) complete(x, p, s, SPAD_ACCESS_UPDATE);
}

/* ---- points ------------------------------------------------------------------------ */

static void contribute(explorer *x, state *s, const point *p) {
    executor *e = x->e;
    int32_t *b = &s->values[p->object];
    executor_note_phase(x, (size_t)(p - e->points.items), b[BARRIER_TIMES]);
    const int32_t count = x->counts[p->object];
    const int32_t bit = (int32_t)(UINT32_C(1) << p->agent);
    s->values[e->agent_base + p->agent] = b[BARRIER_TIMES];
    /* an agent may wait where it has arrived, and not arrive twice */
    const bool waits =
        spad_kernel_get_statement(e->kernel, (size_t)p->statement)->kind == SPAD_STATEMENT_SYNC;
    if (((b[BARRIER_AGENTS] & bit) != 0 && !waits) || b[BARRIER_SUM] + p->amount > count) {
        executor_say(e, EXECUTOR_BARRIER, "barrier: line %d contributes too much or twice",
                     executor_line(e, p->statement));
    }
    b[BARRIER_SUM] += (int32_t)p->amount;
    b[BARRIER_AGENTS] |= bit;
    if (b[BARRIER_SUM] != count) return;
    b[BARRIER_TIMES]++;
    note_round(e, s, p->object);
    b[BARRIER_SUM] = 0;
    b[BARRIER_AGENTS] = 0;
}

/* Do sync objects let it happen? */
bool executor_is_let(const explorer *x, const state *s, int number) {
    const point *p = &x->e->points.items[number];
    const int32_t *object = p->object >= 0 ? &s->values[p->object] : NULL;
    switch (p->action) {
    case ACTION_LEAVE:
        return object[BARRIER_TIMES] > s->values[x->e->agent_base + p->agent] &&
               all_have_arrived(x->e, s, p->object);
    case ACTION_WAIT:
    case ACTION_TAKE: return *object >= p->amount;
    case ACTION_PARITY:
        return object[MBARRIER_ALIVE] == 0 ||
               ((object[MBARRIER_PHASE] & 1) != p->amount && all_have_arrived(x->e, s, p->object));
    case ACTION_FOLLOW:
        return executor_is_done(s, p->first) ||
               (object[MBARRIER_ALIVE] != 0 && (object[MBARRIER_PHASE] & 1) != p->amount &&
                all_have_arrived(x->e, s, p->object));
    default: return true;
    }
}

void executor_happen(explorer *x, state *s, int number) {
    executor *e = x->e;
    const point *p = &e->points.items[number];
    int32_t *object = p->object >= 0 ? &s->values[p->object] : NULL;
    for (size_t i = 0; i < e->words; i++) x->must[(size_t)number * e->words + i] &= s->done[i];
    if (p->threads >= 0) {
        const int whose = p->action == ACTION_JOIN ? THREAD_OTHERS : THREAD_FIRST;
        thread_values(e, s, p->threads, p->object)[whose]++;
    }
    switch (p->action) {
    case ACTION_START: start(x, s, p); break;
    case ACTION_END: complete(x, p, s, p->ends); break;
    case ACTION_CONTRIBUTE: contribute(x, s, p); break;
    case ACTION_SIGNAL: *object += (int32_t)p->amount; break;
    case ACTION_TAKE: *object -= (int32_t)p->amount; break;
    case ACTION_INIT: init(e, p, s, object); break;
    case ACTION_ARRIVE:
    case ACTION_EXPECT:
        executor_note_phase(x, (size_t)number, object[MBARRIER_PHASE]);
        if (p->action == ACTION_ARRIVE) arrive(e, p, s, object, p->amount, p->expect);
        if (p->action == ACTION_EXPECT) arrive(e, p, s, object, 0, p->amount);
        break;
    case ACTION_PARITY: is_alive(e, p, object); break;
    case ACTION_INVALIDATE:
        if (is_alive(e, p, object)) object[MBARRIER_ALIVE] = 0;
        break;
    case ACTION_NONE:
    case ACTION_LEAVE:
    case ACTION_WAIT:
    case ACTION_JOIN:
    case ACTION_FOLLOW:
    case ACTION_FENCE: break;
    }
    s->done[number / 64] |= UINT64_C(1) << (number % 64);
}
