/* SPDX-License-Identifier: Apache-2.0
 *
 * Random kernels. Every family is one function that puts lines; numbers are small: two or
 * three agents, two to four iterations, tiles of a few bytes.
 */
#include "support/random_kernel.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spad/experimental/kernel_rows.h"
#include "support/mutate.h"
#include "support/random_maker.h"
#include "support/support.h"

/* ---- one list of operations: lifetimes --------------------------------------------- */

typedef struct tensor {
    int tiles; /* 0: no block dimension */
    int bytes;
    bool input;
    bool output;
    bool alias;
    bool allocated; /* `alloc` stands in front of all uses */
} tensor;

static void put_index(maker *m, const tensor *t, const char *variable) {
    if (t->tiles == 0) return;
    if (variable == NULL || chance(m, 15)) {
        put(m, "[%d]", pick(m, 0, t->tiles - 1));
    } else if (chance(m, 50)) {
        put(m, "[%s %% %d]", variable, t->tiles);
    } else {
        put(m, "[(%s + %d) %% %d]", variable, pick(m, 1, t->tiles), t->tiles);
    }
}

static void put_part(maker *m, const tensor *t) {
    if (!chance(m, 25)) return;
    const int from = pick(m, 0, t->bytes - 1);
    put(m, "(%s, %d..%d)", chance(m, 80) ? ".." : "0..32", from, pick(m, from + 1, t->bytes));
}

static void put_access(maker *m, const char *word, int number, const tensor *t,
                       const char *variable) {
    put(m, " %s t%d", word, number);
    put_index(m, t, variable);
    put_part(m, t);
}

static void put_operation(maker *m, const tensor *tensors, int count, const char *variable) {
    const int from = pick(m, 0, count - 1);
    const int to = pick(m, 0, count - 1);
    put(m, "vector op");
    if (chance(m, 60)) put_access(m, "reads", from, &tensors[from], variable);
    put_access(m, chance(m, 85) ? "writes" : "updates", to, &tensors[to], variable);
    put(m, "\n");
}

static void put_statements(maker *m, const tensor *tensors, int count, const char *variable,
                           int depth) {
    static const char *const relations[] = {"==", "<", ">=", "!="};
    for (int i = pick(m, 1, 4); i > 0; i--) {
        const int kind = pick(m, 0, 9);
        if (kind == 0 && depth < 2) {
            char name[16];
            snprintf(name, sizeof name, "i%d", depth);
            put(m, "for %s in 0..%d {\n", name, pick(m, 0, 4));
            put_statements(m, tensors, count, name, depth + 1);
            put(m, "}\n");
        } else if (kind == 1 && variable != NULL) {
            put(m, "if %s %s %d {\n", variable, any(m, relations, 4), pick(m, 0, 3));
            put_operation(m, tensors, count, variable);
            if (chance(m, 30)) {
                put(m, "} else {\n");
                put_operation(m, tensors, count, variable);
            }
            put(m, "}\n");
        } else if (kind == 2 && chance(m, 30)) {
            const int number = pick(m, 0, count - 1);
            const char *word = chance(m, 50) ? "alloc" : "free";
            if (tensors[number].allocated && chance(m, 80)) {
                put(m, "free t%d\nalloc t%d\n", number, number);
            } else if (!tensors[number].input) {
                put(m, "%s t%d\n", word, number);
            }
        } else {
            put_operation(m, tensors, count, variable);
        }
    }
}

static void declare(maker *m, tensor *t, int number, const tensor *tensors) {
    t->tiles = pick(m, 0, 4);
    t->bytes = pick(m, 2, 8);
    const int other = number > 0 && chance(m, 25) ? pick(m, 0, number - 1) : -1;
    if (other >= 0) {
        t->tiles = tensors[other].tiles;
        t->bytes = pick(m, 1, tensors[other].bytes);
    }
    t->alias = other >= 0;
    put(m, "tensor t%d : sbuf u8 ", number);
    if (t->tiles > 0) put(m, "[%d] ", t->tiles);
    put(m, "(64, %d)", t->bytes);
    if (other >= 0) {
        put(m, " alias of t%d + %d", other, pick(m, 0, tensors[other].bytes - t->bytes));
    } else if (t->tiles > 0 && chance(m, 40)) {
        put(m, " ring %d", pick(m, 1, t->tiles));
    } else if (t->tiles > 0 && chance(m, 50)) {
        put(m, " mod base %d free %d", pick(m, 0, 20), pick(m, 1, 3));
    } else if (chance(m, 60)) {
        put(m, " at %d", pick(m, 0, 24));
        if (t->tiles > 0 && chance(m, 30)) put(m, " step %d", pick(m, 1, t->bytes));
        if (chance(m, 30)) put(m, " lane 64");
    }
    t->input = other < 0 && chance(m, 30);
    if (t->input) put(m, " input");
    t->output = chance(m, 15);
    if (t->output) put(m, " output");
    put(m, "\n");
    t->allocated = other < 0 && !t->input && chance(m, 15);
}

static void make_list(maker *m) {
    tensor tensors[5];
    const int count = pick(m, 2, 5);
    put(m, "kernel list on trn2\n");
    for (int i = 0; i < count; i++) declare(m, &tensors[i], i, tensors);
    for (int i = 0; i < count; i++) {
        if (tensors[i].allocated) put(m, "alloc t%d\n", i);
    }
    for (int i = 0; i < count; i++) { /* most outputs and others are written first */
        const bool own = tensors[i].output && !tensors[i].alias;
        if (!own && !chance(m, 70)) continue;
        put(m, "for w in 0..%d { vector fill writes t%d",
            tensors[i].tiles == 0 ? 1 : tensors[i].tiles, i);
        put(m, tensors[i].tiles > 0 ? "[w] }\n" : " }\n");
    }
    put_statements(m, tensors, count, NULL, 0);
    put_statements(m, tensors, count, NULL, 0);
}

static void make_scopes(maker *m) {
    const int sections = pick(m, 1, 3);
    const int trips = pick(m, 1, 4);
    const int lag = pick(m, 0, 2); /* how far after a row is read */
    const bool heap = chance(m, 40);
    put(m, "kernel scopes on trn2\nregion sbuf 0..%d as exact\n", pick(m, 24, 96));
    put(m, "tensor in : hbm u8 [8] (32, 8) input\ntensor out : hbm u8 [8] (32, 8) output\n");
    put(m, "scope outer {\ntensor first : sbuf u8 (32, 4) stack\nvector fill writes first\n");
    put(m, "scope rows sections %d {\n", sections);
    put(m, "for i in 0..%d {\ntensor row : sbuf u8 (32, 8) stack\n", trips);
    if (heap) put(m, "tensor tmp : sbuf u8 (32, 4) heap\n");
    if (chance(m, 50))
        put(m, "tensor sum : sbuf u8 [2] (32, 2) stack\nvector clear writes sum[0]\n");
    put(m, "dma load reads in[i] writes row\n");
    if (heap) put(m, "vector step reads row writes tmp\n");
    put(m, "vector use reads row%s\n", chance(m, 50) ? ", first" : "");
    if (heap && chance(m, 80)) put(m, "vector use reads tmp\n");
    put(m, "dma store reads row writes out[i]\n");
    if (heap && chance(m, 85)) put(m, "free tmp\n");
    if (chance(m, 70)) put(m, "next section\n");
    if (lag > 0 && chance(m, 30)) put(m, "vector late reads row\n");
    put(m, "}\n}\n");
    if (chance(m, 30)) put(m, "vector after reads row\n");
    put(m, "tensor last : sbuf u8 (32, 12) stack\nvector fill writes last\n");
    put(m, "vector use reads last, first\n}\n");
    if (chance(m, 20)) put(m, "vector gone reads first\n");
}

/* ---- pipelines --------------------------------------------------------------------- */

/* Sizes of a pipeline: trips, depth. */
typedef struct pipe {
    int n;
    int d;
} pipe;

static pipe size_pipe(maker *m) {
    return (pipe){.n = pick(m, 1, 4), .d = pick(m, 1, 2)};
}

/* Places of the buffer: a ring, a modulo place, or more tiles than it needs. */
static void put_buffer(maker *m, const char *name, pipe p) {
    put(m, "tensor %s : shared u8 [N] (8)", name);
    const int kind = pick(m, 0, 5);
    if (kind <= 3) put(m, " ring %d", p.d);
    if (kind == 4) put(m, " mod base 64 free %d", p.d);
    put(m, "\n");
}

static void put_head(maker *m, pipe p) {
    put(m, "kernel pipe on sm_90\nparam N = %d\n", p.n);
    put(m, "tensor a : global u8 [N] (8) input\ntensor o : global u8 [N] (8) output\n");
}

/* Semaphores: values that only grow, or slots that are taken and given back. */
static void make_counters(maker *m) {
    const pipe p = size_pipe(m);
    const bool takes = chance(m, 50);
    const bool unit = chance(m, 50);
    const int consumers = takes || chance(m, 60) ? 1 : 2;
    put_head(m, p);
    put_buffer(m, "x", p);
    if (unit) put(m, "unit cp on copy %s\n", chance(m, 50) ? "free" : "serial");
    put(m, "counter full\n");
    for (int c = 0; c < consumers; c++)
        put(m, takes ? "counter f%d = %d\n" : "counter f%d\n", c, p.d);
    put(m, "agent p {\nfor i in 0..N {\n");
    for (int c = 0; c < consumers; c++) {
        if (takes) put(m, "take f%d\n", c);
        if (!takes) put(m, "if i >= %d { wait f%d >= i - %d }\n", p.d, c, p.d - 1);
    }
    if (unit) {
        put(m, "cp load reads a[i] writes x[i] signals full\n");
        if (!takes && consumers == 1 && p.d > 1) put(m, "drain cp\n");
        if (!takes) put(m, "wait full >= i + 1\n"); /* one at a time: the counter has no order */
    } else {
        put(m, "simt load reads a[i] writes x[i]\nsignal full\n");
    }
    put(m, "}\n}\n");
    for (int c = 0; c < consumers; c++) {
        put(m, "agent c%d {\nfor i in 0..N {\n", c);
        put(m, takes ? "take full\n" : "wait full >= i + 1\n");
        put(m, "simt use reads x[i]");
        if (c == 0) put(m, " writes o[i]");
        put(m, "\nsignal f%d\n}\n}\n", c);
    }
}

static void make_mbarriers(maker *m) {
    const pipe p = size_pipe(m);
    const bool late = chance(m, 50); /* the consumer is asynchronous */
    const bool separate = chance(m, 30);
    const int pieces = pick(m, 1, 2); /* loads of a stage */
    put_head(m, p);
    put_buffer(m, "x", p);
    put(m, "unit tma on copy free%s\n", chance(m, 70) ? " proxy" : "");
    if (late) put(m, "unit mma on simt same%s\ngroup g\n", chance(m, 50) ? " proxy" : "");
    put(m, "mbarrier full[%d] count 1\nmbarrier empty[%d] count 1\n", p.d, p.d);
    if (chance(m, 30)) {
        put(m, "macro begin(b) { for s in 0..%d { init b[s] } }\n", p.d);
        put(m, "begin(full)\nbegin(empty)\n");
    } else {
        put(m, "for s in 0..%d {\ninit full[s]\ninit empty[s]\n}\n", p.d);
    }
    if (chance(m, 80)) put(m, chance(m, 70) ? "fence\n" : "fence shared\n");
    put(m, "agent p {\nfor i in 0..N {\n");
    put(m, "wait empty[i %% %d] parity (i / %d + 1) %% 2\n", p.d, p.d);
    if (separate) {
        put(m, "expect full[i %% %d] by 8\narrive full[i %% %d]\n", p.d, p.d);
    } else {
        put(m, "arrive full[i %% %d] expect 8\n", p.d);
    }
    for (int k = 0; k < pieces; k++) {
        const int from = 8 * k / pieces;
        const int to = 8 * (k + 1) / pieces;
        put(m, "tma load reads a[i](%d..%d) writes x[i](%d..%d) delivers full[i %% %d]\n", from, to,
            from, to, p.d);
    }
    put(m, "}\n}\nagent c {\nfor i in 0..N {\nwait full[i %% %d] parity i / %d %% 2\n", p.d, p.d);
    if (late && chance(m, 50)) {
        put(m, "mma use reads x[i] writes o[i] in g\ncommit g\nwait g pending 1\n");
        put(m, "if i > 0 { arrive empty[(i - 1) %% %d] }\n}\nwait g pending 0\n", p.d);
        put(m, "arrive empty[(N - 1) %% %d]\n", p.d);
        put(m, "}\n");
        return;
    }
    if (late) {
        put(m, "mma use reads x[i] writes o[i]\narrive empty[i %% %d] on mma\n", p.d);
    } else {
        put(m, "simt use reads x[i] writes o[i]\narrive empty[i %% %d]\n", p.d);
    }
    put(m, "}\n}\n");
    if (chance(m, 30)) put(m, "for s in 0..%d {\ninvalidate full[s]\n}\n", p.d);
}

/* Two halves that copy and read together, as with cp.async and __syncthreads. */
static void make_groups(maker *m) {
    const int n = pick(m, 1, 3);
    const int s = pick(m, 2, 3);
    const int agents = pick(m, 1, 2);
    put_head(m, (pipe){n, s});
    put(m, "tensor x : shared u8 [N] (8) ring %d\n", s);
    put(m, "unit cp on copy %s\ngroup g\n", chance(m, 70) ? "free" : "fifo");
    if (agents == 2) put(m, "barrier all count 2\n");
    for (int h = 0; h < agents; h++) {
        const int from = 8 * h / agents;
        const int to = 8 * (h + 1) / agents;
        put(m, "agent h%d {\nfor j in 0..%d {\n", h, s - 1);
        put(m, "if j < N { cp load reads a[j](%d..%d) writes x[j](%d..%d) in g }\n", from, to, from,
            to);
        put(m, "commit g\n}\nwait g pending %d\n", s - 2);
        if (agents == 2) put(m, "sync all\n");
        put(m, "for i in 0..N {\nif i + %d < N {\n", s - 1);
        put(m, "cp load reads a[i + %d](%d..%d) writes x[i + %d](%d..%d) in g\n", s - 1, from, to,
            s - 1, from, to);
        put(m, "}\ncommit g\nsimt use reads x[i] writes o[i](%d..%d)\nwait g pending %d\n", from,
            to, s - 2);
        if (agents == 2) put(m, "sync all\n");
        put(m, "}\n}\n");
    }
}

/* Named barriers: full and empty pairs of sync and arrive. */
static void make_barriers(maker *m) {
    const pipe p = size_pipe(m);
    const bool store = chance(m, 40);
    put_head(m, p);
    put_buffer(m, "x", p);
    put(m, "barrier full[%d] count 2\nbarrier empty[%d] count 2\n", p.d, p.d);
    if (store) put(m, "unit st on copy free%s\ngroup g\n", chance(m, 60) ? " proxy" : "");
    put(m, "agent p {\nfor i in 0..N {\nif i >= %d { sync empty[i %% %d] }\n", p.d, p.d);
    put(m, "simt make reads a[i] writes x[i]\n");
    static const char *const fences[] = {"fence", "fence", "fence shared", "fence global"};
    if (store && chance(m, 80)) put(m, "%s\n", any(m, fences, 4));
    put(m, "arrive full[i %% %d]\n}\n}\n", p.d);
    put(m, "agent c {\nfor i in 0..N {\nsync full[i %% %d]\n", p.d);
    if (store) {
        put(m, "st copy reads x[i] writes o[i] in g\ncommit g\nwait g pending 0 reads\n");
    } else {
        put(m, "simt use reads x[i] writes o[i]\n");
    }
    put(m, "if i + %d < N { arrive empty[i %% %d] }\n}\n", p.d, p.d);
    if (store) put(m, "wait g pending 0\n");
    put(m, "}\n");
    if (chance(m, 30)) put(m, "for i in 0..N { simt last reads o[i] }\n");
}

/* Pipes of Ascend: one list that feeds three units, flags between them. */
static void make_flags(maker *m) {
    static const char *const orders[] = {"fifo", "fifo", "serial", "free"};
    const pipe p = size_pipe(m);
    put(m, "kernel flags on 910b\nparam N = %d\n", p.n);
    put(m, "unit mte2 %s\nunit vector %s\nunit mte3 %s\n", any(m, orders, 4), any(m, orders, 4),
        any(m, orders, 4));
    put(m, "counter fr = %d\ncounter fu\ncounter ofr = %d\ncounter ofu\n", p.d, p.d);
    put(m, "tensor a : gm u8 [N] (32) input\ntensor o : gm u8 [N] (32) output\n");
    put(m, "tensor x : ub u8 [N] (32) ring %d\ntensor y : ub u8 [N] (32) ring %d\n", p.d, p.d);
    put(m, "for i in 0..N {\ntake fr on mte2\nmte2 load reads a[i] writes x[i]\n");
    put(m, "signal fu on mte2\ntake fu on vector\ntake ofr on vector\n");
    put(m, "vector step reads x[i] writes y[i]\nsignal ofu on vector\nsignal fr on vector\n");
    put(m, "take ofu on mte3\nmte3 store reads y[i] writes o[i]\nsignal ofr on mte3\n}\n");
    if (chance(m, 50)) put(m, "drain all\n");
}

/* Tensor memory that is allocated and freed around a double-buffered accumulator. */
static void make_accumulators(maker *m) {
    const pipe p = {.n = pick(m, 1, 3), .d = pick(m, 1, 2)};
    const int steps = pick(m, 1, 2);
    const bool inside = chance(m, 30); /* alloc and free by the consumer */
    put(m, "kernel accumulators on sm_100\nparam N = %d\nunit mma on tensor same proxy\n", p.n);
    put(m, "mbarrier full[%d] count 1\nmbarrier empty[%d] count 1\n", p.d, p.d);
    put(m, "tensor a : shared u8 [N * %d] (128, 16) input\n", steps);
    put(m, "tensor acc : tmem f32 [N] (128, 32) ring %d\n", p.d);
    put(m, "tensor o : global f32 [N] (128, 32) output\n");
    put(m, "for s in 0..%d {\ninit full[s]\ninit empty[s]\n}\nfence\n", p.d);
    if (!inside) put(m, "alloc acc\n");
    if (inside) put(m, "barrier ready count 2\n");
    put(m, "agent issuer {\n");
    if (inside) put(m, "sync ready\n");
    put(m, "for i in 0..N {\nwait empty[i %% %d] parity (i / %d + 1) %% 2\n", p.d, p.d);
    put(m, "mma first reads a[i * %d] writes acc[i]\n", steps);
    if (steps > 1) put(m, "mma next reads a[i * %d + 1] updates acc[i]\n", steps);
    put(m, "arrive full[i %% %d] on mma\n}\n}\n", p.d);
    put(m, "agent epilogue {\n");
    if (inside) put(m, "alloc acc\nsync ready\n");
    put(m, "for i in 0..N {\nwait full[i %% %d] parity i / %d %% 2\n", p.d, p.d);
    put(m, "simt store reads acc[i] writes o[i]\narrive empty[i %% %d]\n}\n", p.d);
    put(m, inside ? "free acc\n}\n" : "}\nfree acc\n");
}

/* Two consumers that share a stage, with one count of arrivals or one barrier each. */
static void make_teams(maker *m) {
    const pipe p = {.n = pick(m, 1, 3), .d = pick(m, 1, 2)};
    const bool mbarriers = chance(m, 60);
    put_head(m, p);
    put_buffer(m, "x", p);
    if (mbarriers) {
        put(m, "mbarrier full[%d] count 1\nmbarrier empty[%d] count 2\n", p.d, p.d);
        put(m, "for s in 0..%d {\ninit full[s]\ninit empty[s]\n}\n", p.d);
    } else {
        put(m, "barrier full[%d] count 3\nbarrier empty[%d] count 3\n", p.d, p.d);
    }
    put(m, "agent p {\nfor i in 0..N {\n");
    if (mbarriers) put(m, "wait empty[i %% %d] parity (i / %d + 1) %% 2\n", p.d, p.d);
    if (!mbarriers) put(m, "if i >= %d { sync empty[i %% %d] }\n", p.d, p.d);
    put(m, "simt load reads a[i] writes x[i]\narrive full[i %% %d]\n}\n}\n", p.d);
    const bool copies = chance(m, 50);
    for (int c = 0; c < (copies ? 1 : 2); c++) {
        if (copies) put(m, "agent c[2] as w {\nfor i in 0..N {\n");
        if (!copies) put(m, "agent c%d {\nfor i in 0..N {\n", c);
        if (mbarriers) put(m, "wait full[i %% %d] parity i / %d %% 2\n", p.d, p.d);
        if (!mbarriers) put(m, "sync full[i %% %d]\n", p.d);
        if (copies) put(m, "simt use reads x[i] writes o[i](4 * w..4 * w + 4)\n");
        if (!copies) put(m, "simt use reads x[i] writes o[i](%d..%d)\n", 4 * c, 4 * c + 4);
        if (mbarriers) put(m, "arrive empty[i %% %d]\n", p.d);
        if (!mbarriers) put(m, "if i + %d < N { arrive empty[i %% %d] }\n", p.d, p.d);
        put(m, "}\n}\n");
    }
}

/* Persistent pipelines: runs of different lengths, stages and phases that advance by themselves. */
static void put_cursors(maker *m, bool unknown) {
    static const char *const ranges[] = {"0..t + 1",         "t..N",         "0..N step -1",
                                         "0..min(t + 2, N)", "t..2 * t + 1", "0..N - t step -1",
                                         "0..N step 2",      "0..max(t, 1)"};
    const int d = pick(m, 1, 3);
    const char *range = unknown && chance(m, 70) ? "0..len[t]" : any(m, ranges, 8);
    const bool skips = chance(m, 30);
    const bool ends = chance(m, 25);
    const bool next = chance(m, 40);
    const char *condition = unknown && chance(m, 60) ? "skip != 1 or t == 0" : "i != 1 or t == 0";
    put(m, "kernel cursors on sm_90\nparam N = %d\nparam S = %d\n", pick(m, 1, unknown ? 2 : 3), d);
    if (unknown) put(m, "unknown len[N] in 0..3\nunknown skip = 1\n");
    put(m,
        "tensor a : global u8 [N, N + 2] (8) input\ntensor o : global u8 [N, N + 2] (8) output\n");
    put(m, "tensor x : shared u8 [S] (8)\nunit tma on copy free\n");
    put(m, "mbarrier full[S] count 1\nmbarrier empty[S] count 1\n");
    put(m, "for s in 0..S {\ninit full[s]\ninit empty[s]\n}\n");
    for (int c = 0; c < 2; c++) {
        put(m, "agent %s {\ncursor stage, phase mod S\nfor t in 0..N {\n", c == 0 ? "p" : "c");
        put(m, "for i in %s {\n", range);
        if (ends) put(m, "if %s { break }\n", unknown ? "skip == 0 and i == 1" : "i + t == 2");
        if (skips) put(m, "if %s {\n", condition);
        if (c == 0) {
            put(m, "wait empty[stage] parity 1 - phase\narrive full[stage] expect 8\n");
            put(m, "tma load reads a[t, i] writes x[stage] delivers full[stage]\n");
        } else {
            put(m, next ? "wait full[stage] next\n" : "wait full[stage] parity phase\n");
            put(m, "simt use reads x[stage] writes o[t, i]\n");
            put(m, "arrive empty[stage]\n");
        }
        put(m, "advance stage\n%s}\n}\n}\n", skips ? "}\n" : "");
    }
}

static void make_cursors(maker *m) {
    put_cursors(m, false);
}

/* Lengths and flags that only the data decides. */
static void make_unknowns(maker *m) {
    put_cursors(m, true);
}

/* Partial sums: agents that add to one accumulator, cleared before and read after. */
static void make_sums(maker *m) {
    const int agents = pick(m, 2, 3);
    const bool store = chance(m, 40);  /* the sums are added by copies */
    const bool inside = chance(m, 40); /* a barrier around the adds instead of the join */
    put(m, "kernel sums on sm_90\nparam N = %d\n", pick(m, 1, 3));
    put(m, "tensor a : global u8 [%d, N] (8) input\ntensor s : global u8 [2] (8)\n", agents);
    put(m, "tensor o : global u8 (8) output\ntensor x : shared u8 [%d] (8)\n", agents);
    if (store) put(m, "unit red on copy %s\ngroup g\n", chance(m, 50) ? "free" : "free proxy");
    if (inside) put(m, "barrier all count %d\n", agents);
    if (!inside || chance(m, 30)) put(m, "simt clear writes s[0]\nsimt clear writes s[1]\n");
    put(m, "agent w[%d] as w {\n", agents);
    if (inside) put(m, "if w == 0 { simt clear writes s[0]\nsimt clear writes s[1] }\nsync all\n");
    put(m, "for i in 0..N {\nsimt make reads a[w, i] writes x[w]\n");
    static const char *const places[] = {"0", "w % 2", "i % 2"};
    const char *place = any(m, places, 3);
    if (store) {
        if (chance(m, 80)) put(m, "fence\n");
        put(m, "red add reads x[w] adds s[%s] in g\ncommit g\nwait g pending 0%s\n}\n", place,
            chance(m, 30) ? " reads" : "");
        if (chance(m, 80)) put(m, "wait g pending 0\n");
    } else {
        put(m, "simt add reads x[w] %s s[%s]\n}\n", chance(m, 85) ? "adds" : "updates", place);
    }
    if (inside) put(m, "sync all\nif w == 1 { simt read reads s[0] writes o }\n");
    put(m, "}\n");
    if (!inside) put(m, "simt read reads s[0], s[1] writes o\n");
}

/* Warpgroups that take turns: each waits at its own barrier and lets the next one in. The first
 * one lets itself in. */
static void make_turns(maker *m) {
    const int agents = pick(m, 2, 3);
    const int threads = pick(m, 1, 2);
    put(m, "kernel turns on sm_90\nparam N = %d\nparam W = %d\n", pick(m, 1, 3), agents);
    put(m, "tensor s : shared u8 (8)\ntensor o : global u8 (8) output\n");
    put(m, "barrier turn[W] count %d\nsimt clear writes s\n", 2 * threads);
    put(m, "agent w[W] as w {\nif w == 0 { arrive turn[0] by %d }\n", threads);
    put(m, "for i in 0..N {\nsync turn[w] by %d\nsimt add updates s\n", threads);
    put(m, "if i < N - 1 or w < W - 1 { arrive turn[(w + 1) %% W] by %d }\n}\n}\n", threads);
    put(m, "simt read reads s writes o\n");
}

/* ---- soups ------------------------------------------------------------------------- */

static void put_soup_index(maker *m, int count, bool looped) {
    if (looped && chance(m, 60)) {
        put(m, "[i]");
    } else if (looped && chance(m, 50)) {
        put(m, "[(i + 1) %% %d]", count);
    } else {
        put(m, "[%d]", pick(m, 0, count - 1));
    }
}

static void put_soup_access(maker *m, const char *word, bool looped) {
    static const char *const names[] = {"x", "x", "x", "y", "y", "z", "z", "v", "w"};
    const char *name = any(m, names, 9);
    put(m, " %s %s", word, name);
    if (name[0] == 'x') put_soup_index(m, 3, looped);
    if (name[0] == 'y') put_soup_index(m, 2, looped);
    if (chance(m, 20)) put(m, "(%s)", chance(m, 50) ? "0..4" : "4..8");
}

static void put_soup_operation(maker *m, bool looped) {
    static const char *const runners[] = {"simt", "simt", "simt", "uf", "uq", "us", "um", "up"};
    const char *runner = any(m, runners, 8);
    put(m, "%s op", runner);
    if (chance(m, 60)) put_soup_access(m, "reads", looped);
    if (chance(m, 55)) {
        put_soup_access(m, chance(m, 70) ? "writes" : chance(m, 40) ? "updates" : "adds", looped);
    }
    if (runner[0] == 'u' && chance(m, 40)) put(m, " in g");
    const int done = pick(m, 0, 9);
    const char *after = chance(m, 25) ? " after reads" : "";
    if (done == 0) put(m, " signals s%s", after);
    if (done == 1) put(m, " arrives b%s", after);
    if (done == 2) put(m, " delivers b by 4%s", after);
    put(m, "\n");
}

/* A statement of a soup; only the first agent takes. */
static void put_soup_statement(maker *m, bool is_first, bool looped) {
    static const char *const units[] = {" on uf", " on uq", " on us", " on um", ""};
    static const char *const parities[] = {"0", "1", "i", "1 - i"};
    static const char *const fences[] = {"fence", "fence", "fence shared", "fence global"};
    switch (pick(m, 0, 20)) {
    case 0:
    case 1: put(m, "signal s%s\n", any(m, units, 5)); break;
    case 2:
        put(m, "wait s >= %d%s%s\n", pick(m, 1, 2), looped ? " + i" : "",
            chance(m, 25) ? any(m, units, 5) : "");
        break;
    case 3:
        if (is_first) put(m, "take t%s\n", chance(m, 25) ? " on uq" : "");
        break;
    case 4:
    case 5: put(m, "signal t%s\n", any(m, units, 5)); break;
    case 6: put(m, "sync r\n"); break;
    case 7: put(m, "arrive b%s\n", any(m, units, 5)); break;
    case 8: put(m, "arrive b expect 4\n"); break;
    case 9: put(m, "wait b parity %s\n", any(m, parities, looped ? 4 : 2)); break;
    case 10: put(m, "commit g\n"); break;
    case 11: put(m, "wait g pending %d%s\n", pick(m, 0, 1), chance(m, 30) ? " reads" : ""); break;
    case 12: put(m, "%s\n", any(m, fences, 4)); break;
    case 13: put(m, chance(m, 60) ? "drain uq\n" : "drain all\n"); break;
    case 14:
        if (chance(m, 30)) put(m, "%s w\n", chance(m, 50) ? "alloc" : "free");
        break;
    default: put_soup_operation(m, looped);
    }
}

static void put_soup_agent(maker *m, int number, int most) {
    const bool looped = chance(m, 30);
    put(m, "agent a%d {\n", number);
    if (looped) put(m, "for i in 0..2 {\n");
    for (int i = pick(m, 1, looped ? (most + 1) / 2 : most); i > 0; i--) {
        put_soup_statement(m, number == 0, looped);
    }
    put(m, looped ? "}\n}\n" : "}\n");
}

/* Spaces are picked for every tensor, but that of an alias. */
static void put_soup(maker *m, const char *name, const char *const *spaces, int count) {
    const int agents = pick(m, 1, 3);
    put(m, "kernel %s on sm_90\n", name);
    put(m, "unit uf on simt free\nunit uq on simt fifo\nunit us on simt serial\n");
    put(m, "unit um on simt same\nunit up on simt free proxy\n");
    put(m, "counter s\ncounter t = %d\nbarrier r count %d\nmbarrier b count %d\ngroup g\n",
        pick(m, 0, 1), agents, pick(m, 1, 2));
    put(m, "tensor x : %s u8 [3] (8) ring %d%s\n", any(m, spaces, count), pick(m, 1, 3),
        chance(m, 80) ? " input" : "");
    put(m, "tensor y : %s u8 [2] (8) at 64 step %d input\n", any(m, spaces, count), pick(m, 4, 8));
    const char *shared = any(m, spaces, count);
    put(m, "tensor z : %s u8 (8) at %d input\ntensor v : %s u8 (8) alias of z\n", shared,
        pick(m, 56, 80), shared);
    put(m, "tensor w : %s u8 (8)\ninit b\n", any(m, spaces, count));
    if (chance(m, 50)) put(m, "fence\n");
    if (chance(m, 30)) put_soup_operation(m, false);
    for (int a = 0; a < agents; a++) put_soup_agent(m, a, agents == 3 ? 4 : 6);
    if (chance(m, 40)) put_soup_operation(m, false);
    if (chance(m, 10)) put(m, "invalidate b\n");
}

static void make_soup(maker *m) {
    static const char *const spaces[] = {"shared"};
    put_soup(m, "soup", spaces, 1);
}

/* The same bytes of several instances of a space are different memory. */
static void make_instances(maker *m) {
    static const char *const spaces[] = {"shared", "shared[1]", "shared[2]"};
    put_soup(m, "instances", spaces, 3);
}

/* Two agents, few kinds of statements, many of each: orders that come from counting. */
static void make_handshakes(maker *m) {
    const int agents = pick(m, 2, 3);
    put(m, "kernel handshakes on sm_90\nunit u on simt %s\n", chance(m, 50) ? "free" : "serial");
    put(m, "counter c0\ncounter c1\n");
    put(m, "tensor x : shared u8 (8) input\ntensor y : shared u8 (8) input\n");
    for (int a = 0; a < agents; a++) {
        put(m, "agent a%d {\n", a);
        for (int i = pick(m, 2, 6); i > 0; i--) {
            const int c = pick(m, 0, 1);
            const int kind = pick(m, 0, 8);
            if (kind <= 2) put(m, "signal c%d%s\n", c, chance(m, 20) ? " on u" : "");
            if (kind == 3 || kind == 4) put(m, "wait c%d >= %d\n", c, pick(m, 1, 3));
            if (kind == 5) put(m, "simt r reads %c\n", "xy"[c]);
            if (kind == 6 && chance(m, 60)) put(m, "simt w writes %c\n", "xy"[c]);
            if (kind == 7) put(m, "u r reads %c signals c%d\n", "xy"[c], 1 - c);
            if (kind == 8 && chance(m, 50)) put(m, "u w writes %c signals c%d\n", "xy"[c], 1 - c);
        }
        put(m, "}\n");
    }
}

/* ---- all families ------------------------------------------------------------------ */

typedef struct family {
    const char *name;
    void (*make)(maker *m);
    int mistakes; /* chance of one, in percent */
} family;

static const family families[RANDOM_KERNEL_FAMILIES] = {
    {"list", make_list, 0},
    {"scopes", make_scopes, 20},
    {"counters", make_counters, 75},
    {"mbarriers", make_mbarriers, 75},
    {"groups", make_groups, 75},
    {"barriers", make_barriers, 75},
    {"flags", make_flags, 75},
    {"accumulators", make_accumulators, 75},
    {"teams", make_teams, 75},
    {"cursors", make_cursors, 75},
    {"unknowns", make_unknowns, 75},
    {"sums", make_sums, 75},
    {"turns", make_turns, 75},
    {"soup", make_soup, 0},
    {"handshakes", make_handshakes, 0},
    {"instances", make_instances, 0},
    {"epilogues", random_epilogue, 75},
    {"threads", random_threads, 0},
    {"registers", random_registers, 60},
    {"handovers", random_handover, 75},
    {"macros", random_macros, 75},
    {"copies", random_copies, 75},
    {"releases", random_releases, 50},
    {"held", random_held, 40},
    {"lives", random_lives, 20},
};

const char *random_kernel_family(int number) {
    return families[number].name;
}

/* Writes the kernel one statement a line, as the mutations want it. False: it is refused. */
static bool rewrite(maker *m) {
    spad_kernel *kernel;
    test_text out;
    if (spad_kernel_parse(&kernel, m->text, strlen(m->text), "k", NULL, NULL, NULL) != SPAD_OK) {
        return false;
    }
    test_text_init(&out);
    assert_int_equal(spad_kernel_write_text(kernel, &out.sink, NULL), SPAD_OK);
    assert_true(out.count < RANDOM_KERNEL_TEXT);
    strcpy(m->text, out.bytes);
    test_text_free(&out);
    spad_kernel_destroy(kernel);
    return true;
}

static void add_mistake(maker *m) {
    if (!rewrite(m)) return;
    const size_t count = mutants_count(m->text);
    if (count == 0) return;
    char *text = mutants_one(m->text, (size_t)pick(m, 0, (int)count - 1));
    if (strlen(text) < RANDOM_KERNEL_TEXT) strcpy(m->text, text);
    free(text);
}

int random_kernel(uint64_t seed, char text[RANDOM_KERNEL_TEXT]) {
    maker m = {.random = {seed}, .text = text, .at = text};
    spad__random_next(&m.random);
    const int number = pick(&m, 0, RANDOM_KERNEL_FAMILIES - 1);
    families[number].make(&m);
    if (chance(&m, families[number].mistakes)) add_mistake(&m);
    if (chance(&m, families[number].mistakes / 4)) add_mistake(&m);
    return number;
}
