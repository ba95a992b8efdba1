/* SPDX-License-Identifier: Apache-2.0
 *
 * Two families of random kernels: mbarriers whose bytes a tile has before their life, after it, or,
 * wrongly, in between; and mbarriers whose lives begin and end in the rounds of a loop.
 */
#include "support/random_maker.h"

/* What the mbarrier is at, while a text is made. */
typedef struct life {
    bool alive;
    int phase;
    bool tma;     /* there is a unit tma, with proxy */
    bool written; /* the tile was, since the last life */
    bool threads; /* agents have 64 threads, of which one may be elected */
    bool inside;  /* an agent is being made */
} life;

static const char *elected(maker *m, const life *now, int percent) {
    return now->threads && now->inside && chance(m, percent) ? " elected" : "";
}

static void put_bytes(maker *m) {
    if (chance(m, 30)) {
        const int from = pick(m, 0, 3) * 4;
        put(m, "(%d..%d)", from, from + 4 * pick(m, 1, 4 - from / 4));
    }
}

/* An access to the tile; one that is right for the state of the mbarrier, mostly. */
static void put_tile_access(maker *m, life *now) {
    if (now->alive && chance(m, 93)) {
        put(m, "simt other updates y\n");
        return;
    }
    if (!now->written || chance(m, 40)) {
        now->written = true;
        if (now->tma && chance(m, 50)) {
            if (chance(m, 90)) put(m, "fence\n");
            put(m, "tma load reads a writes x%s in g\ncommit g\n", elected(m, now, 90));
            if (chance(m, 92)) put(m, "wait g pending 0\n");
            return;
        }
        put(m, "simt fill writes x");
        if (chance(m, 10)) put_bytes(m);
        put(m, "%s\n", elected(m, now, 30));
        return;
    }
    put(m, "simt use reads x");
    put_bytes(m);
    put(m, "%s\n", elected(m, now, 30));
}

static void put_life_change(maker *m, life *now) {
    if (now->alive) {
        put(m, "invalidate full\n");
        if (chance(m, 60)) put(m, "fence\n");
        now->alive = false;
        return;
    }
    put(m, "init full\n");
    now->alive = true;
    now->phase = 0;
    now->written = chance(m, 12);
}

static void put_phase(maker *m, life *now) {
    if (!now->alive) return;
    put(m, "arrive full\nwait full parity %d\n", now->phase);
    now->phase = 1 - now->phase;
}

static void put_part(maker *m, life *now, bool changes) {
    for (int i = pick(m, 0, 2); i > 0; i--) {
        if (changes && chance(m, 45)) {
            put_life_change(m, now);
        } else if (chance(m, 30)) {
            put_phase(m, now);
        } else {
            put_tile_access(m, now);
        }
    }
}

/* The part of one agent in a round; the other one waits. */
static void put_round(maker *m, life *now, bool mine, bool changes) {
    char *const at = m->at;
    put_part(m, now, changes);
    if (!mine) { /* it was made for the other agent */
        m->at = at;
        *at = '\0';
    }
}

static life put_agent(maker *m, life now, spad__random random, int number, int rounds, int loop) {
    const spad__random outside = m->random;
    m->random = random; /* both agents know what the other one does */
    now.inside = true;
    put(m, "agent g%d%s {\n", number, now.threads ? " of 64 threads" : "");
    for (int r = 0; r < rounds; r++) {
        const bool mine = pick(m, 0, 1) == number;
        if (r == loop) put(m, "for i in 0..N {\n");
        put_round(m, &now, mine, r != loop);
        if (r == loop && chance(m, 50)) put_round(m, &now, mine, false);
        if (chance(m, 93)) put(m, "sync all%s\n", now.threads ? " by 64" : "");
        if (r == loop) put(m, "}\n");
    }
    put(m, "}\n");
    m->random = outside;
    now.inside = false;
    return now;
}

void random_held(maker *m) {
    life now = {.tma = chance(m, 50), .threads = chance(m, 30)};
    const bool agents = chance(m, 60);
    const bool two = chance(m, 25);
    put(m, "kernel held on sm_90\nparam N = %d\nbarrier all count %d\n", pick(m, 1, 3),
        now.threads ? 128 : 2);
    if (now.tma) put(m, "unit tma on copy free proxy\ngroup g\n");
    put(m, "mbarrier full count 1 at %d\n", pick(m, 4, 8) * 8);
    if (two) put(m, "mbarrier more count 1 at %d\n", pick(m, 4, 8) * 8);
    put(m, "tensor a : global u8 (16) input\n");
    put(m, "tensor x : shared u8 (16) at %d%s%s\n", pick(m, 40, 60), chance(m, 15) ? " input" : "",
        chance(m, 15) ? " output" : "");
    put(m, "tensor y : shared u8 (16) input\n");
    if (two && chance(m, 50))
        put(m, "init more\narrive more\nwait more parity 0\ninvalidate more\n");
    for (int i = pick(m, 1, 3); i > 0; i--) put_part(m, &now, true);
    if (!agents) {
        put(m, "for i in 0..N {\n");
        put_part(m, &now, chance(m, 20));
        put(m, "}\n");
    } else {
        const int rounds = pick(m, 1, 3);
        const int loop = pick(m, 0, rounds);
        const spad__random random = {spad__random_next(&m->random)};
        put_agent(m, now, random, 0, rounds, loop);
        now = put_agent(m, now, random, 1, rounds, loop);
    }
    for (int i = pick(m, 0, 2); i > 0; i--) put_part(m, &now, true);
    if (two && chance(m, 30)) put(m, "init more\n");
}

/* ---- a life in each round ---------------------------------------------------------------- */

/* What the two agents of a round have agreed on. */
typedef struct round_plan {
    int phases;    /* of one life */
    int count;     /* arrivals of a phase: of agent 0, or of both */
    bool tma;      /* a copy counts, too, in the first phase */
    bool tile;     /* a tile has the bytes of the mbarrier between two lives */
    bool by_other; /* agent 1 ends the life */
    bool turns;    /* agent 1 begins and ends every second one */
} round_plan;

static void put_meeting(maker *m, int percent) {
    if (chance(m, percent)) put(m, "sync all\n");
}

static void put_begin(maker *m, const round_plan *p) {
    if (p->tile && chance(m, 90)) put(m, "simt before writes t\nsimt after reads t\n");
    if (chance(m, 97)) put(m, "init full\n");
    if (p->tma && chance(m, 95)) put(m, "fence\n");
}

static void put_end(maker *m, const round_plan *p) {
    if (chance(m, 96)) put(m, "invalidate full\n");
    if (p->tile && chance(m, 50)) put(m, "fence\n");
}

static void put_phases(maker *m, const round_plan *p, int agent) {
    for (int phase = 0; phase < p->phases; phase++) {
        const bool copies = p->tma && phase == 0;
        if (agent == 0 && copies) {
            put(m, "arrive full expect 16\ntma load reads a writes x delivers full\n");
        } else if (agent == 0 || p->count == 2) {
            if (agent == 0 && !p->tma) put(m, "simt fill writes x\n");
            put(m, "arrive full\n");
        }
        if (chance(m, agent == 0 ? 70 : 96)) put(m, "wait full parity %d\n", phase % 2);
        if (agent == 1) put(m, "simt use reads x\n");
        if (phase + 1 < p->phases) put_meeting(m, 90);
    }
}

static void put_lives_of(maker *m, const round_plan *p, int agent) {
    put(m, "agent g%d {\nfor i in 0..N {\n", agent);
    if (p->turns) {
        put(m, "if i %% 2 == %d {\n", agent);
        put_begin(m, p);
        put(m, "}\n");
    } else if (agent == 0) {
        put_begin(m, p);
    }
    put_meeting(m, 96);
    put_phases(m, p, agent);
    put_meeting(m, 92);
    if (p->turns) {
        put(m, "if i %% 2 == %d {\n", agent);
        put_end(m, p);
        put(m, "}\n");
    } else if (agent == (p->by_other ? 1 : 0)) {
        put_end(m, p);
    }
    put_meeting(m, p->turns || p->by_other ? 85 : 40);
    put(m, "}\n}\n");
}

/* An mbarrier that is initialised and invalidated in each round. Meetings come in both agents or,
 * wrongly, in one: then they wait for each other at different places, or for nothing. */
void random_lives(maker *m) {
    const round_plan p = {.phases = pick(m, 1, 2),
                          .count = pick(m, 1, 2),
                          .tma = chance(m, 40),
                          .tile = chance(m, 30),
                          .by_other = chance(m, 30),
                          .turns = chance(m, 20)};
    put(m, "kernel lives on sm_90\nparam N = %d\nbarrier all count 2\n", pick(m, 1, 4));
    if (p.tma) put(m, "unit tma on copy free proxy\n");
    put(m, "mbarrier full count %d at 64\n", p.count);
    put(m, "tensor a : global u8 (16) input\ntensor x : shared u8 (16) at 128\n");
    if (p.tile) put(m, "tensor t : shared u8 (16) at %d\n", chance(m, 80) ? 64 : 80);
    const spad__random same = {spad__random_next(&m->random)};
    for (int agent = 0; agent < 2; agent++) {
        const bool together = chance(m, 75); /* else each leaves out what it likes */
        const spad__random outside = m->random;
        if (together) m->random = same;
        put_lives_of(m, &p, agent);
        if (together) m->random = outside;
    }
}
