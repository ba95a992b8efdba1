/* SPDX-License-Identifier: Apache-2.0 */
#include "support/random_mixed.h"

#include <string.h>

#include "support/random_maker.h"

typedef enum scheme {
    PROGRAM,   /* no agents */
    COUNTERS,  /* tokens that are taken */
    VALUES,    /* counters that are waited for */
    MBARRIERS, /* with cursors */
    COPIES,    /* mbarriers with asynchronous copies that deliver */
    BARRIERS,  /* both agents meet */
    GROUPS,    /* one agent with asynchronous copies */
    SCHEMES
} scheme;

/* What an agent does by itself in each round, and is right. */
enum { ALONE_COUNTER, ALONE_BARRIER, ALONE_GROUP, ALONE_DELIVERY, ALONE_SCOPE, ALONE_KINDS };

typedef struct mixed {
    maker *m;
    bool alone[2][ALONE_KINDS];
    random_mixed *out;
    scheme scheme;
    int most;
    int slots;
    bool unknown;
    bool heap;
    bool plain;        /* little besides conditions on both trip counts, which one side may lack */
    bool breaks;       /* the condition that leaves a round out ends the loop instead */
    const char *outer; /* range of t */
    const char *inner; /* range of n */
} mixed;

enum { CONDITION_TEXT = 256, OWN = 3 };

/* A tensor of one agent. */
typedef struct own {
    char name[16];
    int tiles; /* 0: no block dimensions; below 0: a tile for each n of each t */
    bool late; /* allocated in front of the loops and freed after them */
} own;

/* ---- conditions ---------------------------------------------------------------------- */

static int threshold(mixed *x) {
    const int value = pick(x->m, 1, x->most);
    random_mixed *out = x->out;
    if (out->threshold_count < RANDOM_MIXED_THRESHOLDS) {
        out->thresholds[out->threshold_count++] = value;
    }
    return value;
}

/* One comparison; most of them hold in small shapes. `m`: the innermost loop is there. */
static void comparison(mixed *x, char *text, size_t size) {
    static const char *const variables[] = {"n", "t", "N", "T"};
    static const char *const sums[] = {"n + t",     "2 * n + t", "N - n",     "T - t",
                                       "min(n, t)", "max(n, t)", "N + T",     "t * N + n",
                                       "n - t",     "n / 2",     "t / 3 + n", "max(n - 3, t)"};
    static const char *const relations[] = {"<", "<", "<", "!=", "!=", "<=", ">", "==", ">="};
    maker *m = x->m;
    const char *left = chance(m, 60) ? any(m, variables, 4) : any(m, sums, 12);
    if (x->unknown && chance(m, 15)) {
        snprintf(text, size, "r == %d", pick(m, 0, 1));
    } else if (x->out->params == 3 && chance(m, 20)) {
        snprintf(text, size, "M %s %d", any(m, relations, 9), threshold(x));
    } else if (chance(m, 15)) {
        const int by = pick(m, 2, 5);
        snprintf(text, size, "%s %% %d != %d", any(m, variables, 4), by, pick(m, 0, by - 1));
    } else {
        snprintf(text, size, "%s %s %d", left, any(m, relations, 9), threshold(x));
    }
}

/* Holds while one of the trip counts is small. */
static void joint_condition(mixed *x, char text[CONDITION_TEXT]) {
    static const char *const relations[] = {"<", "<", "<=", "!="};
    maker *m = x->m;
    snprintf(text, CONDITION_TEXT, "%s %s %d or %s %s %d", chance(m, 50) ? "n" : "N",
             any(m, relations, 4), threshold(x), chance(m, 50) ? "t" : "T", any(m, relations, 4),
             threshold(x));
}

static void condition(mixed *x, char text[CONDITION_TEXT]) {
    if (chance(x->m, x->plain ? 70 : 10)) {
        joint_condition(x, text);
        return;
    }
    const int count = pick(x->m, 1, 3);
    size_t used = 0;
    for (int i = 0; i < count; i++) {
        char one[64];
        comparison(x, one, sizeof one);
        const char *between = i == 0 ? "" : chance(x->m, 60) ? " or " : " and ";
        used += (size_t)snprintf(text + used, CONDITION_TEXT - used, "%s%s", between, one);
    }
}

/* The same condition, or now and then another one. */
static void nearly(mixed *x, const char *usual, char text[CONDITION_TEXT]) {
    if (chance(x->m, 8)) {
        condition(x, text);
    } else {
        strcpy(text, usual);
    }
}

/* ---- tensors of one agent -------------------------------------------------------------- */

static void put_place(mixed *x, const own *o, int number) {
    maker *m = x->m;
    const int base = 4096 + 512 * number;
    if (o->tiles < 0) {
        put(m, chance(m, 50) ? " ring [1, %d]" : " ring %d", pick(m, 1, 3));
    } else if (chance(m, 25)) {
        put(m, " at %d", base);
        if (o->tiles > 0 && chance(m, 40)) put(m, " step 16");
    } else if (o->tiles > 0 && chance(m, 40)) {
        if (chance(m, 50))
            put(m, " ring %d", pick(m, 1, o->tiles));
        else
            put(m, " mod base %d free %d", base, pick(m, 1, o->tiles));
    }
}

static void put_own(mixed *x, own *o, int agent, int number) {
    maker *m = x->m;
    snprintf(o->name, sizeof o->name, "%c%d", 'p' + agent, number);
    o->tiles = pick(m, -1, 3);
    o->late = o->tiles >= 0 && chance(m, 12);
    put(m, "tensor %s : shared u8 ", o->name);
    if (o->tiles < 0) put(m, "[T, N] ");
    if (o->tiles > 0) put(m, "[%d] ", o->tiles);
    put(m, "(8)");
    if (!o->late) put_place(x, o, agent * OWN + number);
    if (!o->late && o->tiles >= 0 && chance(m, 25)) put(m, " input");
    put(m, "\n");
    if (o->tiles == 0 && chance(m, 30)) {
        put(m, "tensor %sa : shared u8 (4) alias of %s + %d\n", o->name, o->name, pick(m, 0, 4));
    }
}

static void put_index(mixed *x, const own *o) {
    maker *m = x->m;
    if (o->tiles == 0) return;
    if (o->tiles < 0) {
        put(m, chance(m, 85) ? "[t, n]" : "[t, max(n - 1, 0)]");
        return;
    }
    switch (pick(m, 0, 8)) {
    case 0: put(m, "[%d]", pick(m, 0, o->tiles - 1)); break;
    case 1: put(m, "[(t * N + n) %% %d]", o->tiles); break;
    case 2: put(m, "[min(n, %d)]", o->tiles - 1); break;
    case 3: put(m, "[n / %d %% %d]", pick(m, 2, 3), o->tiles); break;
    case 4: put(m, "[(n + %d) %% %d]", pick(m, 1, 3), o->tiles); break;
    case 5: put(m, "[max(min(n - %d, %d), 0)]", threshold(x), o->tiles - 1); break;
    case 6: put(m, "[(N - 1 - n) %% %d]", o->tiles); break;
    default: put(m, "[n %% %d]", o->tiles); break;
    }
}

static void put_part(mixed *x) {
    if (chance(x->m, 15)) put(x->m, chance(x->m, 50) ? "(0..4)" : "(0..8 by 2)");
}

static void put_access(mixed *x, const own *o, const char *word) {
    put(x->m, "simt d %s %s", word, o->name);
    put_index(x, o);
    put_part(x);
    put(x->m, "\n");
}

/* Writes and reads under conditions. */
static void put_uses(mixed *x, const own *o) {
    static const char *const words[] = {"writes", "writes", "writes", "updates", "adds"};
    maker *m = x->m;
    char usual[CONDITION_TEXT], other[CONDITION_TEXT];
    condition(x, usual);
    const bool nested = chance(m, 25);
    put(m, "if %s {\n", usual);
    if (nested) {
        char inner[CONDITION_TEXT];
        condition(x, inner);
        put(m, "if %s {\n", inner);
    }
    put_access(x, o, any(m, words, 5));
    if (nested) put(m, "}\n");
    if (chance(m, 25)) {
        put(m, "} else {\n");
        put_access(x, o, any(m, words, 5));
    }
    put(m, "}\n");
    nearly(x, usual, other);
    put(m, "if %s { simt e %sreads %s", chance(m, x->plain ? 60 : 92) ? other : "n >= 0",
        chance(m, 10) ? "may " : "", o->name);
    put_index(x, o);
    put(m, " }\n");
}

/* In front of the loops: most tiles are written. */
static void put_first(mixed *x, const own *o) {
    maker *m = x->m;
    if (o->late) put(m, "alloc %s\n", o->name);
    if (o->tiles < 0 || chance(m, 8)) return;
    if (o->tiles == 0)
        put(m, "simt first writes %s\n", o->name);
    else
        put(m, "for i in 0..%d { simt first writes %s[i] }\n", o->tiles, o->name);
}

/* ---- the pipeline ---------------------------------------------------------------------- */

static void put_round(mixed *x, bool producer) {
    maker *m = x->m;
    const char *move = producer ? "simt put writes x[s]" : "simt get reads x[s]";
    switch (x->scheme) {
    case COUNTERS:
        put(m,
            producer ? "take empty\n%s\nsignal full\nadvance s\n"
                     : "take full\n%s\nsignal empty\nadvance s\n",
            move);
        break;
    case VALUES:
        put(m, producer ? "simt put writes x[0]\nsignal full\nwait empty >= t * N + n + 1\n"
                        : "wait full >= t * N + n + 1\nsimt get reads x[0]\nsignal empty\n");
        break;
    case MBARRIERS:
        put(m,
            producer ? "wait empty[s] parity 1 - h\n%s\narrive full[s]\nadvance s\n"
                     : "wait full[s] parity h\n%s\narrive empty[s]\nadvance s\n",
            move);
        break;
    case COPIES:
        if (producer) {
            put(m, "wait empty[s] parity 1 - h\narrive full[s] expect 8\n"
                   "tma load reads g[0] writes x[s] delivers full[s]\nadvance s\n");
        } else {
            put(m, "wait full[s] parity h\nsimt get reads x[s]\narrive empty[s]\nadvance s\n");
        }
        break;
    case BARRIERS:
        put(m, producer ? "sync both\nsimt put writes x[0]\nsync both\n"
                        : "sync both\nsync both\nsimt get reads x[0]\n");
        break;
    case GROUPS:
        put(m, "tma load reads g[0] writes x[s] in done\ncommit done\nwait done pending 0\n"
               "simt get reads x[s]\nadvance s\n");
        break;
    default: put(m, "simt put writes x[n %% %d]\nsimt get reads x[n %% %d]\n", x->slots, x->slots);
    }
}

static void put_alone(mixed *x, int agent) {
    maker *m = x->m;
    const char c = (char)('a' + agent);
    const bool *alone = x->alone[agent];
    if (alone[ALONE_COUNTER]) put(m, "signal c%c\ntake c%c\n", c, c);
    if (alone[ALONE_BARRIER]) put(m, "sync b%c\n", c);
    if (alone[ALONE_GROUP]) {
        put(m, "tma load reads g[0] writes z%d in g%c\ncommit g%c\nwait g%c pending 0\n", agent, c,
            c, c);
    }
    if (alone[ALONE_DELIVERY]) {
        put(m, "arrive m%c expect 8\ntma load reads g[0] writes v%d delivers m%c\n", c, agent, c);
        put(m, "wait m%c parity f%c\nadvance q%c\n", c, c, c);
    }
    if (alone[ALONE_SCOPE]) {
        put(m,
            "scope u%c {\ntensor l%c : shared u8 (8) %s\nsimt w writes l%c\nsimt v reads "
            "l%c\n%s%s}\n",
            c, c, x->heap ? "heap" : "stack", c, c, x->heap ? "free l" : "",
            !x->heap     ? ""
            : agent == 0 ? "a\n"
                         : "b\n");
    }
    if (chance(m, 15)) put(m, "fence\n");
}

static void declare_alone(mixed *x, int agents) {
    maker *m = x->m;
    for (int a = 0; a < agents; a++) {
        const char c = (char)('a' + a);
        for (int k = 0; k < ALONE_KINDS; k++) x->alone[a][k] = !x->plain && chance(m, 18);
        x->alone[a][ALONE_SCOPE] =
            x->scheme == PROGRAM && !x->plain && chance(m, 50); /* no agents */
        if (x->alone[a][ALONE_COUNTER]) put(m, "counter c%c\n", c);
        if (x->alone[a][ALONE_BARRIER]) put(m, "barrier b%c count 1\n", c);
        if (x->alone[a][ALONE_GROUP]) put(m, "group g%c\ntensor z%d : shared u8 (8)\n", c, a);
        if (x->alone[a][ALONE_DELIVERY]) {
            put(m, "mbarrier m%c count 1\ntensor v%d : shared u8 (8)\n", c, a);
        }
    }
}

static void put_agent(mixed *x, int agent, const own *owns, int count, const char *skip) {
    maker *m = x->m;
    char own_skip[CONDITION_TEXT] = "";
    const bool lacks = x->plain && agent == 1 && chance(m, 30);
    if (skip[0] != '\0' && lacks) snprintf(own_skip, sizeof own_skip, "n >= 0");
    if (skip[0] != '\0' && !lacks) nearly(x, skip, own_skip);
    for (int i = 0; i < count; i++) put_first(x, &owns[i]);
    const bool third = x->out->params == 3 && chance(m, 60);
    put(m, "for t in %s {\nfor n in %s {\n", x->outer, x->inner);
    if (skip[0] != '\0' && x->breaks) {
        put(m, "if %s { break }\n", own_skip);
        put_round(x, agent == 0);
    } else if (skip[0] != '\0') {
        put(m, "if %s {\n", own_skip);
        put_round(x, agent == 0);
        put(m, "}\n");
    } else {
        put_round(x, agent == 0);
    }
    for (int i = 0; i < count; i++) put_uses(x, &owns[i]);
    put_alone(x, agent);
    put(m, "}\n");
    if (third && count > 0 && owns[0].tiles == 0) {
        put(m, "for k in 0..M { simt w writes %s\nsimt v reads %s }\n", owns[0].name, owns[0].name);
    }
    put(m, "}\n");
    for (int i = 0; i < count; i++) {
        if (owns[i].late) put(m, "free %s\n", owns[i].name);
    }
}

static void put_sync(mixed *x) {
    maker *m = x->m;
    const bool barriers = x->scheme == MBARRIERS || x->scheme == COPIES;
    put(m, "unit tma on copy free\n");
    if (x->scheme == GROUPS) put(m, "group done\n");
    if (x->scheme == BARRIERS) put(m, "barrier both count 2\n");
    if (x->scheme == COUNTERS) put(m, "counter full\ncounter empty = %d\n", x->slots);
    if (x->scheme == VALUES) put(m, "counter full\ncounter empty\n");
    if (barriers)
        put(m, "mbarrier full[%d] count 1\nmbarrier empty[%d] count 1\n", x->slots, x->slots);
    put(m, "tensor g : global u8 [1] (8) input\ntensor x : shared u8 [%d] (8)\n", x->slots);
}

static void put_begin(mixed *x, int agents) {
    maker *m = x->m;
    const bool barriers = x->scheme == MBARRIERS || x->scheme == COPIES;
    if (barriers) put(m, "for i in 0..%d { init full[i]; init empty[i] }\n", x->slots);
    for (int a = 0; a < agents; a++) {
        if (x->alone[a][ALONE_DELIVERY]) put(m, "init m%c\n", 'a' + a);
    }
    put(m, "fence\n");
}

void random_mixed_make(random_mixed *out, uint64_t seed, int most) {
    static const char *const outers[] = {"0..T", "0..T", "0..T", "0..T step -1", "1..T + 1"};
    static const char *const inners[] = {"0..N", "0..N", "0..N", "0..N", "0..N step 2", "t..N + t"};
    maker m = {.random = {seed}, .text = out->text, .at = out->text};
    spad__random_next(&m.random);
    out->threshold_count = 0;
    out->params = chance(&m, 25) ? 3 : 2;
    mixed x = {.m = &m, .out = out, .most = most, .slots = pick(&m, 1, 3)};
    x.scheme = (scheme)pick(&m, 0, SCHEMES - 1);
    x.unknown = chance(&m, 12);
    x.plain = chance(&m, 50);
    x.outer = any(&m, outers, x.plain ? 1 : 5);
    x.inner = any(&m, inners, x.plain ? 1 : 6);
    if (x.scheme == VALUES) x.outer = "0..T";
    if (x.scheme == VALUES) x.inner = "0..N";
    x.heap = chance(&m, 50);
    x.breaks = chance(&m, 25);
    put(&m, "kernel mixed on sm_90\nparam T = %d\nparam N = %d%s\n", pick(&m, 1, 3), pick(&m, 1, 4),
        chance(&m, 12) ? " any" : "");
    if (out->params == 3) put(&m, "param M = %d\n", pick(&m, 1, 3));
    if (x.unknown) put(&m, "unknown r in 0..2\n");
    put_sync(&x);
    const bool two = x.scheme != PROGRAM && x.scheme != GROUPS;
    own owns[2][OWN];
    int counts[2];
    declare_alone(&x, two + 1);
    for (int a = 0; a <= (int)two; a++) {
        counts[a] = pick(&m, 0, x.plain ? 1 : two ? 2 : 3);
        for (int i = 0; i < counts[a]; i++) put_own(&x, &owns[a][i], a, i);
    }
    char skip[CONDITION_TEXT] = "";
    if (x.scheme != VALUES && chance(&m, 60)) condition(&x, skip);
    put_begin(&x, two + 1);
    for (int a = 0; a <= (int)two; a++) {
        const bool cursor = x.scheme == COUNTERS || x.scheme == MBARRIERS || x.scheme == COPIES ||
                            x.scheme == GROUPS;
        if (x.scheme != PROGRAM) put(&m, "agent %c {\n", 'a' + a);
        if (cursor) put(&m, "cursor s, h mod %d\n", x.slots);
        if (x.alone[a][ALONE_DELIVERY]) put(&m, "cursor q%c, f%c mod 1\n", 'a' + a, 'a' + a);
        put_agent(&x, a, owns[a], counts[a], skip);
        if (x.scheme != PROGRAM) put(&m, "}\n");
    }
}
