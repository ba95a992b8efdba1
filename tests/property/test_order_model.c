/* SPDX-License-Identifier: Apache-2.0
 *
 * The order check against all interleavings.
 *
 * Random programs of a main program and two or three agents with barriers, counters,
 * mbarriers, commit groups and units of every order. An explorer visits every state that
 * some execution reaches, with the literal meaning of each statement and no notion of
 * before and after: it finds out which phases each statement can meet, whether an
 * execution can get stuck, and which accesses can overlap in time.
 *
 *   - no finding about synchronisation: no execution gets stuck, every statement meets one
 *     phase only, and there is a race iff the explorer has one;
 *   - a deadlock: some execution gets stuck;
 *   - a stale or lapped wait, mixed phases, several takers: executions differ, or stick.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "spad/check.h"
#include "spad/experimental/walk.h"
#include "support/kernels.h"
#include "support/support.h"

enum { AGENTS = 4, EVENTS = 24, OBJECTS = 16, ALL = AGENTS * EVENTS, STATES = 1 << 14 };

/* ---- the program, as the explorer knows it ----------------------------------------- */

typedef struct item {
    int kind; /* spad_statement_kind; -1: fork, -2: join */
    int unit; /* -1: none; DRAIN: -1 is all */
    int object;
    int group;
    long amount;
    long expect;
    unsigned flags;
    int access_count;
    spad_walk_access accesses[3];
    int completion_count;
    spad_walk_completion completions[2];
    int bundle;  /* of an operation in a group; -1: not committed */
    int covered; /* WAIT_GROUP: bundles that it waits for */
} item;

typedef struct program {
    const spad_kernel *kernel;
    int agents;
    int counts[AGENTS];
    item items[AGENTS][EVENTS + 1];
} program;

/* Where everything stands. `stage` of what is issued: 1 issued, 2 started, 3 read, 4 done. */
typedef struct state {
    unsigned char at[AGENTS];
    unsigned char entered[AGENTS]; /* phase of the barrier it waits for, 0: none */
    unsigned char stage[AGENTS][EVENTS];
    signed char value[OBJECTS];
    signed char taken[OBJECTS];
    unsigned char phase[OBJECTS];
    signed char expected[OBJECTS];
    signed char pending[OBJECTS];
    short bytes[OBJECTS];
} state;

_Static_assert(sizeof(state) % sizeof(uint32_t) == 0, "states are hashed by words");

typedef struct explorer {
    program *p;
    state *states;
    int *table; /* index + 1 */
    int count;
    bool full;
    bool stuck;
    bool undefined;                          /* more arrives than a phase takes */
    unsigned long phases[AGENTS][EVENTS][4]; /* bit n: phase n was met; by kind of action */
    bool open_read[ALL][ALL];                /* [x][y]: y starts when x has not read */
    bool open_write[ALL][ALL];               /* ... has not written */
} explorer;

/* ---- visiting ---------------------------------------------------------------------- */

static void push(explorer *e, const state *s) {
    const unsigned char *bytes = (const unsigned char *)s;
    unsigned long hash = 1469598103934665603UL;
    for (size_t i = 0; i < sizeof *s; i += sizeof(uint32_t)) { /* its size is a multiple */
        uint32_t word;
        memcpy(&word, bytes + i, sizeof word);
        hash = (hash ^ word) * 1099511628211UL;
        hash ^= hash >> 29;
    }
    for (unsigned long slot = hash % (2 * STATES);; slot = (slot + 1) % (2 * STATES)) {
        if (e->table[slot] == 0) {
            if (e->count == STATES) {
                e->full = true;
                return;
            }
            e->states[e->count++] = *s;
            e->table[slot] = e->count;
            return;
        }
        if (memcmp(&e->states[e->table[slot] - 1], s, sizeof *s) == 0) return;
    }
}

static void met(explorer *e, int agent, int number, int which, int phase) {
    e->phases[agent][number][which] |= 1UL << (phase < 63 ? phase : 63);
}

static void complete_if(state *s, int o) {
    if (s->pending[o] != 0 || s->bytes[o] != 0 || s->expected[o] == 0) return;
    s->phase[o]++;
    s->pending[o] = s->expected[o];
}

static void arrive(explorer *e, state *s, int o, long amount, long expect, bool drop) {
    e->undefined |= amount > s->pending[o];
    s->bytes[o] = (short)(s->bytes[o] + expect);
    s->pending[o] = (signed char)(amount > s->pending[o] ? 0 : s->pending[o] - amount);
    if (drop)
        s->expected[o] = (signed char)(amount >= s->expected[o] ? 0 : s->expected[o] - amount);
    complete_if(s, o);
}

/* A statement about an object, where it need not wait. */
static void act(explorer *e, state *s, int agent, int number) {
    const item *it = &e->p->items[agent][number];
    const int o = it->object;
    const spad_kernel_sync *sync = NULL;
    switch (it->kind) {
    case SPAD_STATEMENT_SYNC:
    case SPAD_STATEMENT_ARRIVE:
        sync = spad_kernel_get_sync(e->p->kernel, (size_t)(o / 2));
        met(e, agent, number, 0, s->phase[o] + 1);
        if (sync->kind == SPAD_SYNC_MBARRIER) {
            arrive(e, s, o, it->amount, it->expect, (it->flags & SPAD_SYNC_DROP) != 0);
            break;
        }
        s->value[o] = (signed char)(s->value[o] + it->amount);
        e->undefined |= s->value[o] > sync->count.value;
        if (s->value[o] >= sync->count.value) {
            s->value[o] = 0;
            s->phase[o]++;
        }
        break;
    case SPAD_STATEMENT_SIGNAL: s->value[o] = (signed char)(s->value[o] + it->amount); break;
    case SPAD_STATEMENT_WAIT_VALUE: met(e, agent, number, 0, s->taken[o]); break;
    case SPAD_STATEMENT_TAKE:
        met(e, agent, number, 0, s->taken[o]);
        s->taken[o] = (signed char)(s->taken[o] + it->amount);
        break;
    case SPAD_STATEMENT_INIT: s->expected[o] = s->pending[o] = (signed char)it->amount; break;
    case SPAD_STATEMENT_EXPECT:
        met(e, agent, number, 0, s->phase[o] + 1);
        s->bytes[o] = (short)(s->bytes[o] + it->amount);
        break;
    case SPAD_STATEMENT_WAIT_PARITY: met(e, agent, number, 0, s->phase[o]); break;
    default: break;
    }
}

static bool may_act(const explorer *e, const state *s, int agent, int number) {
    const item *it = &e->p->items[agent][number];
    const int o = it->object;
    switch (it->kind) {
    case SPAD_STATEMENT_WAIT_VALUE:
    case SPAD_STATEMENT_TAKE: return s->value[o] - s->taken[o] >= it->amount;
    case SPAD_STATEMENT_WAIT_PARITY: return (s->phase[o] & 1) != it->amount;
    default: return true;
    }
}

static void finish(explorer *e, state *s, int agent, int number, int reads) {
    const item *it = &e->p->items[agent][number];
    for (int i = 0; i < it->completion_count; i++) {
        const spad_walk_completion *c = &it->completions[i];
        const int o = (int)(c->object * 2 + c->element);
        if (reads >= 0 && ((c->flags & SPAD_SYNC_READS) != 0) != reads) continue;
        if (c->kind == SPAD_COMPLETION_SIGNAL) {
            s->value[o] = (signed char)(s->value[o] + c->amount);
            continue;
        }
        met(e, agent, number, i + 1, s->phase[o] + 1);
        if (c->kind == SPAD_COMPLETION_ARRIVE) {
            arrive(e, s, o, c->amount, 0, false);
        } else {
            s->bytes[o] = (short)(s->bytes[o] - c->amount);
            complete_if(s, o);
        }
    }
}

/* y starts: everything that has not ended may overlap with it. */
static void starts(explorer *e, const state *s, int agent, int number) {
    const int y = agent * EVENTS + number;
    for (int a = 0; a < e->p->agents; a++) {
        for (int i = 0; i < e->p->counts[a]; i++) {
            const item *it = &e->p->items[a][i];
            if (it->kind != SPAD_STATEMENT_OPERATION) continue;
            const int x = a * EVENTS + i;
            const bool over = it->unit < 0 && s->at[a] > i;
            if (!over && s->stage[a][i] < 3) e->open_read[x][y] = true;
            if (!over && s->stage[a][i] < 4) e->open_write[x][y] = true;
        }
    }
}

/* ---- moves ------------------------------------------------------------------------- */

static bool overlap(const item *x, const item *y, bool only_writes) {
    for (int i = 0; i < x->access_count; i++) {
        for (int j = 0; j < y->access_count; j++) {
            const spad_walk_access *a = &x->accesses[i];
            const spad_walk_access *b = &y->accesses[j];
            if (a->home != b->home || a->slot != b->slot) continue;
            if (((a->kind | b->kind) & SPAD_ACCESS_WRITE) == 0) continue;
            if (only_writes && (a->kind & SPAD_ACCESS_WRITE) == 0) continue;
            if (a->rect.byte < b->rect.byte + b->rect.bytes &&
                b->rect.byte < a->rect.byte + a->rect.bytes) {
                return true;
            }
        }
    }
    return false;
}

static bool is_blocker(const item *it) {
    return it->kind == SPAD_STATEMENT_WAIT_VALUE || it->kind == SPAD_STATEMENT_TAKE ||
           it->kind == SPAD_STATEMENT_DRAIN;
}

/* May an issued operation start? Or has the queue reached a wait? */
static bool may_start(const explorer *e, const state *s, int agent, int number) {
    const item *it = &e->p->items[agent][number];
    const spad_unit_order order = spad_kernel_get_unit(e->p->kernel, (size_t)it->unit)->order;
    for (int i = 0; i < number; i++) {
        const item *older = &e->p->items[agent][i];
        const int stage = s->stage[agent][i];
        if (older->unit != it->unit) continue;
        if (older->kind != SPAD_STATEMENT_OPERATION) {
            if (is_blocker(older) && stage < 4) return false;
            continue;
        }
        if (order == SPAD_UNIT_FIFO && stage < 2) return false;
        if (order == SPAD_UNIT_SERIAL && stage < 4) return false;
        if (order == SPAD_UNIT_SAME && stage < 4 && overlap(older, it, false)) return false;
    }
    return true;
}

static bool all_done(const explorer *e, const state *s, int agent, int number, int unit) {
    for (int i = 0; i < number; i++) {
        const item *it = &e->p->items[agent][i];
        const bool issued = it->unit >= 0;
        if (issued && (unit < 0 || it->unit == unit) && s->stage[agent][i] < 4) return false;
    }
    return true;
}

static bool group_done(const explorer *e, const state *s, int agent, int number) {
    const item *wait = &e->p->items[agent][number];
    const int least = (wait->flags & SPAD_SYNC_READS) != 0 ? 3 : 4;
    for (int i = 0; i < number; i++) {
        const item *it = &e->p->items[agent][i];
        if (it->kind != SPAD_STATEMENT_OPERATION || it->group != wait->group) continue;
        const bool covered = it->bundle >= 0 && it->bundle < wait->covered;
        if (covered && it->unit >= 0 && s->stage[agent][i] < least) return false;
    }
    return true;
}

static bool agents_over(const explorer *e, const state *s) {
    for (int a = 1; a < e->p->agents; a++) {
        if (s->at[a] < e->p->counts[a]) return false;
    }
    return true;
}

/* The next statement of an agent. */
static bool step_agent(explorer *e, const state *from, int agent) {
    const int number = from->at[agent];
    if (number == e->p->counts[agent]) return false;
    const bool forked = e->p->items[0][from->at[0]].kind == -2; /* main stands at the join */
    if (agent > 0 && !forked) return false;
    const item *it = &e->p->items[agent][number];
    state s = *from;
    s.at[agent]++;
    if (it->kind == -1) {
        push(e, &s);
        return true;
    }
    if (it->kind == -2) {
        if (!agents_over(e, from)) return false;
        push(e, &s);
        return true;
    }
    if (it->kind == SPAD_STATEMENT_OPERATION && it->unit < 0) {
        starts(e, from, agent, number);
        s.stage[agent][number] = 4;
        finish(e, &s, agent, number, -1);
    } else if (it->unit >= 0) { /* issued; the same for a statement on a unit */
        s.stage[agent][number] = 1;
    } else if (it->kind == SPAD_STATEMENT_DRAIN) {
        if (!all_done(e, from, agent, number, -1)) return false;
    } else if (it->kind == SPAD_STATEMENT_WAIT_GROUP) {
        if (!group_done(e, from, agent, number)) return false;
    } else if (it->kind == SPAD_STATEMENT_SYNC) {
        if (from->entered[agent] == 0) {
            s.at[agent]--;
            s.entered[agent] = (unsigned char)(from->phase[it->object] + 1);
            act(e, &s, agent, number);
        } else {
            if (from->phase[it->object] < from->entered[agent]) return false;
            s.entered[agent] = 0;
        }
    } else {
        if (!may_act(e, from, agent, number)) return false;
        act(e, &s, agent, number);
    }
    push(e, &s);
    return true;
}

/* The next point of something that was issued. */
static bool step_issued(explorer *e, const state *from, int agent, int number) {
    const item *it = &e->p->items[agent][number];
    const int stage = from->stage[agent][number];
    if (it->unit < 0 || stage == 0 || stage == 4) return false;
    state s = *from;
    if (it->kind != SPAD_STATEMENT_OPERATION) {
        const bool waits = is_blocker(it) && it->kind != SPAD_STATEMENT_DRAIN;
        if (waits ? !may_start(e, from, agent, number)
                  : !all_done(e, from, agent, number, it->unit)) {
            return false;
        }
        if (!may_act(e, from, agent, number)) return false;
        s.stage[agent][number] = 4;
        act(e, &s, agent, number);
        push(e, &s);
        return true;
    }
    if (stage == 1 && !may_start(e, from, agent, number)) return false;
    if (stage == 1) starts(e, from, agent, number);
    s.stage[agent][number] = (unsigned char)(stage + 1);
    if (stage == 2) finish(e, &s, agent, number, 1);
    if (stage == 3) finish(e, &s, agent, number, 0);
    push(e, &s);
    return true;
}

static bool is_final(const explorer *e, const state *s) {
    for (int a = 0; a < e->p->agents; a++) {
        if (s->at[a] < e->p->counts[a]) return false;
        for (int i = 0; i < e->p->counts[a]; i++) {
            if (e->p->items[a][i].unit >= 0 && s->stage[a][i] < 4) return false;
        }
    }
    return true;
}

static void explore(explorer *e) {
    state start;
    memset(&start, 0, sizeof start);
    for (size_t i = 0; i < spad_kernel_sync_count(e->p->kernel); i++) {
        const spad_kernel_sync *sync = spad_kernel_get_sync(e->p->kernel, i);
        if (sync->kind != SPAD_SYNC_COUNTER) continue;
        start.value[2 * i] = start.value[2 * i + 1] = (signed char)sync->count.value;
    }
    push(e, &start);
    for (int i = 0; i < e->count && !e->full; i++) {
        const state s = e->states[i];
        bool moved = false;
        for (int a = 0; a < e->p->agents; a++) {
            moved |= step_agent(e, &s, a);
            for (int n = 0; n < e->p->counts[a]; n++) moved |= step_issued(e, &s, a, n);
        }
        if (!moved && !is_final(e, &s)) e->stuck = true;
    }
}

/* ---- reading a kernel -------------------------------------------------------------- */

static void read_agent(program *p, int agent) {
    const spad_walk_options options = {.agent = agent};
    spad_walk *walk;
    spad_error error;
    assert_ok(spad_walk_create(&walk, p->kernel, &options, &error), &error);
    const spad_walk_event *event;
    int bundles[OBJECTS] = {0};
    for (;;) {
        assert_ok(spad_walk_next(&event, walk, &error), &error);
        if (event->kind == SPAD_WALK_END) break;
        const bool fork = event->kind == SPAD_WALK_FORK;
        if (event->kind != SPAD_WALK_OPERATION && event->kind != SPAD_WALK_SYNC && !fork &&
            event->kind != SPAD_WALK_JOIN) {
            continue;
        }
        assert_true(p->counts[agent] < EVENTS);
        item *it = &p->items[agent][p->counts[agent]++];
        *it = (item){.kind = fork ? -1 : -2, .unit = -1, .object = -1, .group = -1, .bundle = -1};
        if (fork || event->kind == SPAD_WALK_JOIN) continue;
        const spad_statement *s = spad_kernel_get_statement(p->kernel, (size_t)event->statement);
        it->kind = (int)s->kind;
        it->unit = (int)s->unit;
        it->flags = s->flags;
        it->amount = event->amount;
        it->expect = event->expect;
        it->group = (int)(event->kind == SPAD_WALK_OPERATION ? s->group : event->object);
        if (event->object >= 0) it->object = (int)(event->object * 2 + event->element);
        it->access_count = (int)event->access_count;
        for (size_t i = 0; i < event->access_count; i++) it->accesses[i] = event->accesses[i];
        it->completion_count = (int)event->completion_count;
        for (size_t i = 0; i < event->completion_count; i++) {
            it->completions[i] = event->completions[i];
        }
        if (it->kind == SPAD_STATEMENT_COMMIT) {
            for (int i = 0; i < p->counts[agent]; i++) {
                item *op = &p->items[agent][i];
                if (op->kind == SPAD_STATEMENT_OPERATION && op->group == it->group &&
                    op->bundle < 0) {
                    op->bundle = bundles[it->group];
                }
            }
            bundles[it->group]++;
        }
        if (it->kind == SPAD_STATEMENT_WAIT_GROUP) {
            it->covered = bundles[it->group] - (int)it->amount;
        }
    }
    spad_walk_destroy(walk);
}

/* ---- random programs --------------------------------------------------------------- */

typedef struct writer {
    spad__random random;
    int agents;
    char lines[AGENTS][2048]; /* [0]: after the agents */
    int counts[AGENTS];
    int laps[2];
} writer;

static int below(writer *w, int bound) {
    return (int)spad__random_below(&w->random, (uint64_t)bound);
}

SPAD_PRINTF(3, 4) static void emit(writer *w, int agent, const char *format, ...) {
    if (w->counts[agent] == 7) return;
    char line[128];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    strcat(w->lines[agent], "    ");
    strcat(w->lines[agent], line);
    strcat(w->lines[agent], "\n");
    w->counts[agent]++;
}

static int other_agent(writer *w, int agent) {
    return 1 + (agent + below(w, w->agents - 2)) % (w->agents - 1);
}

static const char *some_part(writer *w) {
    static const char *const parts[] = {"", "", "(0..8)", "(8..16)"};
    return parts[below(w, 4)];
}

static const char *some_unit(writer *w) {
    static const char *const units[] = {"", "", " on u0", " on u1"};
    return units[below(w, 4)];
}

static void emit_operation(writer *w, int agent) {
    const int x = below(w, 2);
    static const char *const kinds[] = {"reads", "writes"};
    if (below(w, 2) == 0) {
        emit(w, agent, "simt s %s x[%d]%s", kinds[below(w, 2)], x, some_part(w));
        return;
    }
    char more[64] = "";
    switch (below(w, 6)) {
    case 0:
        snprintf(more, sizeof more, " signals c[%d]%s", below(w, 2),
                 below(w, 3) ? "" : " after reads");
        break;
    case 1: snprintf(more, sizeof more, " arrives m[%d]", below(w, 2)); break;
    case 2:
    case 3: snprintf(more, sizeof more, " in g"); break;
    default: break;
    }
    emit(w, agent, "u%d o %s x[%d]%s%s", below(w, 2), kinds[below(w, 2)], x, some_part(w), more);
}

/* Two agents that hand something over, and now and then only one end of it. */
static void emit_handover(writer *w) {
    const int a = 1 + below(w, w->agents - 1);
    const int b = other_agent(w, a);
    const int i = below(w, 2);
    const bool both = below(w, 8) != 0;
    switch (below(w, 8)) {
    case 0:
        emit(w, a, "signal c[%d]%s", i, some_unit(w));
        if (both) emit(w, b, "take c[%d]%s", i, some_unit(w));
        break;
    case 1:
        emit(w, a, "signal c[%d]%s", i, some_unit(w));
        if (both) emit(w, b, "wait c[%d] >= %d%s", i, 1 + below(w, 2), some_unit(w));
        break;
    case 2:
        emit(w, a, below(w, 4) ? "sync b" : "arrive b");
        emit(w, b, "sync b");
        break;
    case 3:
        for (int n = 1; n < w->agents; n++) emit(w, n, "sync b");
        break;
    case 4:
        emit(w, a, "arrive m[%d]%s", i, some_unit(w));
        if (both) emit(w, b, "wait m[%d] parity %d", i, w->laps[i]++ % 2);
        break;
    case 5:
        emit(w, a, "arrive m[%d] expect 4", i);
        emit(w, a, "u%d t writes x[%d] delivers m[%d] by 4", below(w, 2), i, i);
        if (both) emit(w, b, "wait m[%d] parity %d", i, w->laps[i]++ % 2);
        break;
    case 6:
        emit(w, a, "commit g");
        emit(w, a, "wait g pending %d%s", below(w, 2), below(w, 2) ? "" : " reads");
        break;
    default: emit(w, a, below(w, 2) ? "drain all" : "drain u%d", below(w, 2)); break;
    }
}

static void emit_noise(writer *w) {
    const int a = 1 + below(w, w->agents - 1);
    switch (below(w, 4)) {
    case 0: emit(w, a, "expect m[%d] by 4", below(w, 2)); break;
    case 1: emit(w, a, "wait m[%d] parity %d", below(w, 2), below(w, 2)); break;
    case 2: emit(w, a, "arrive m[%d]%s", below(w, 2), below(w, 3) ? "" : " drop"); break;
    default: emit(w, a, "signal c[%d] by 2", below(w, 2)); break;
    }
}

static void write_program(writer *w, char *text, size_t size) {
    static const char *const orders[] = {"free", "fifo", "serial", "same"};
    w->agents = 3 + (below(w, 3) == 0);
    const int steps = 3 + below(w, 3);
    for (int i = 0; i < steps; i++) {
        emit_operation(w, 1 + below(w, w->agents - 1));
        emit_handover(w);
        if (below(w, 6) == 0) emit_noise(w);
    }
    if (below(w, 3) == 0) emit_operation(w, 0);
    const int used = snprintf(text, size,
                              "kernel random on sm_90\n"
                              "unit u0 on copy %s\nunit u1 on copy %s\n"
                              "barrier b count %d\ncounter c[2] = %d\n"
                              "mbarrier m[2] count %d\ngroup g\n"
                              "tensor x : shared u8 [2] (16)\n"
                              "init m[0]\ninit m[1]\n%s",
                              orders[below(w, 4)], orders[below(w, 4)],
                              below(w, 3) ? w->agents - 1 : 2, below(w, 4) == 0,
                              1 + (below(w, 4) == 0), below(w, 4) ? "" : "u0 early writes x[0]\n");
    size_t at = (size_t)used;
    for (int a = 1; a < w->agents; a++) {
        at += (size_t)snprintf(text + at, size - at, "agent a%d {\n%s}\n", a, w->lines[a]);
    }
    snprintf(text + at, size - at, "%s", w->lines[0]);
}

/* ---- comparing --------------------------------------------------------------------- */

static bool has(const spad_check *check, spad_finding_code code) {
    for (size_t i = 0; i < spad_check_finding_count(check); i++) {
        if (spad_check_get_finding(check, i)->code == code) return true;
    }
    return false;
}

static bool is_race(const explorer *e, int x, int y) {
    const item *a = &e->p->items[x / EVENTS][x % EVENTS];
    const item *b = &e->p->items[y / EVENTS][y % EVENTS];
    if (a->kind != SPAD_STATEMENT_OPERATION || b->kind != SPAD_STATEMENT_OPERATION) return false;
    for (int i = 0; i < a->access_count; i++) {
        for (int j = 0; j < b->access_count; j++) {
            item p = *a;
            item q = *b;
            p.accesses[0] = a->accesses[i];
            q.accesses[0] = b->accesses[j];
            p.access_count = q.access_count = 1;
            if (!overlap(&p, &q, false)) continue;
            const bool first = (p.accesses[0].kind & SPAD_ACCESS_WRITE) != 0 ? e->open_write[x][y]
                                                                             : e->open_read[x][y];
            const bool second = (q.accesses[0].kind & SPAD_ACCESS_WRITE) != 0 ? e->open_write[y][x]
                                                                              : e->open_read[y][x];
            if (first && second) return true;
        }
    }
    return false;
}

static bool any_race(const explorer *e) {
    for (int x = 0; x < ALL; x++) {
        for (int y = x + 1; y < ALL; y++) {
            const bool there =
                x % EVENTS < e->p->counts[x / EVENTS] && y % EVENTS < e->p->counts[y / EVENTS];
            if (there && is_race(e, x, y)) return true;
        }
    }
    return false;
}

static bool differs(const explorer *e) {
    for (int a = 0; a < AGENTS; a++) {
        for (int i = 0; i < EVENTS; i++) {
            for (int k = 0; k < 4; k++) {
                const unsigned long bits = e->phases[a][i][k];
                if ((bits & (bits - 1)) != 0) return true;
            }
        }
    }
    return false;
}

typedef struct score {
    int compared;
    int accepted;
    int races;
    int deadlocks;
    int refused;
    int undefined;
    int skipped;
} tally;

static bool is_refused(const spad_check *check) {
    return has(check, SPAD_FINDING_STALE_PARITY) || has(check, SPAD_FINDING_LAPPED_WAIT) ||
           has(check, SPAD_FINDING_MIXED_PHASES) || has(check, SPAD_FINDING_MIXED_BARRIER) ||
           has(check, SPAD_FINDING_SEVERAL_TAKERS);
}

/* Misuse that has no defined meaning: the explorer has nothing to say. A late expectation is
 * refused where more bytes have come than were expected, complete or not. */
static bool is_undefined(const spad_check *check) {
    return has(check, SPAD_FINDING_BARRIER_COUNT) || has(check, SPAD_FINDING_MBARRIER_LIFE) ||
           has(check, SPAD_FINDING_LATE_EXPECT);
}

static void compare(explorer *e, const spad_check *check, const char *text, tally *score) {
    const bool deadlock = has(check, SPAD_FINDING_DEADLOCK);
    const bool refused = is_refused(check);
    const bool race = has(check, SPAD_FINDING_RACE);
    bool right = true;
    if (e->full || is_undefined(check)) {
        score->skipped++;
        return;
    }
    if (e->undefined) {
        score->undefined++;
        right = deadlock || refused;
    } else if (deadlock) {
        score->deadlocks++;
        right = e->stuck;
    } else if (refused) {
        score->refused++;
        right = e->stuck || differs(e);
    } else {
        score->accepted++;
        score->races += race;
        right = !e->stuck && !differs(e) && race == any_race(e);
    }
    score->compared++;
    if (right) return;
    print_error("%s", text);
    for (size_t i = 0; i < spad_check_finding_count(check); i++) {
        print_error("%s\n", spad_check_get_finding(check, i)->message);
    }
    print_error("explorer: stuck %d, differs %d, race %d\n", e->stuck, differs(e), any_race(e));
    fail();
}

static void try_one(explorer *e, uint64_t seed, tally *score) {
    writer w = {.random = {seed}};
    char text[8192];
    write_program(&w, text, sizeof text);
    spad_error error;
    spad_kernel *kernel = test_parse(text);
    program p = {.kernel = kernel, .agents = w.agents};
    for (int a = 0; a < p.agents; a++) read_agent(&p, a);
    state *states = e->states;
    int *table = e->table;
    memset(e, 0, sizeof *e);
    memset(table, 0, 2 * STATES * sizeof *table);
    e->p = &p;
    e->states = states;
    e->table = table;
    explore(e);
    spad_check *check;
    const spad_check_options options = {.no_advice = true, .one_shape = true};
    assert_ok(spad_check_create(&check, kernel, &options, &error), &error);
    compare(e, check, text, score);
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
}

static void test_all_interleavings(void **unused) {
    (void)unused;
    const char *rounds = getenv("SPAD_ORDER_PROGRAMS");
    const long count = rounds != NULL ? atol(rounds) : 2500;
    explorer *e = calloc(1, sizeof *e);
    assert_non_null(e);
    e->states = malloc(STATES * sizeof *e->states);
    e->table = malloc(2 * STATES * sizeof *e->table);
    assert_non_null(e->states);
    assert_non_null(e->table);
    tally score = {0};
    for (long i = 0; i < count; i++) try_one(e, (uint64_t)i + 1, &score);
    print_message("%d programs: %d accepted (%d with races), %d deadlocks, %d refused, %d "
                  "undefined; %d skipped\n",
                  score.compared, score.accepted, score.races, score.deadlocks, score.refused,
                  score.undefined, score.skipped);
    assert_true(score.accepted > score.compared / 8);
    free(e->states);
    free(e->table);
    free(e);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_interleavings)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
