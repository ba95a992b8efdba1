/* SPDX-License-Identifier: Apache-2.0
 *
 * Families of random kernels: agents of several threads with elected operations, fences by kind,
 * macros and copies of agents.
 */
#include "support/random_maker.h"

/* ---- threads of an agent ----------------------------------------------------------- */

/* All threads meet; now and then in some iterations only. */
static void put_meeting(maker *m, const char *amount) {
    static const char *const guards[] = {"i < 2",     "i != 2", "i % 2 == 0",
                                         "i < N - 1", "i > 1",  "N < 4"};
    const bool guarded = chance(m, 12);
    if (guarded) put(m, "if %s { ", any(m, guards, 6));
    put(m, "sync own by %s%s\n", amount, guarded ? " }" : "");
}

/* A ring that all threads of a consumer read; they write a staging tile, and one of them stores
 * it. */
void random_epilogue(maker *m) {
    const int d = pick(m, 1, 2);
    const bool by_all = chance(m, 50); /* how the consumer frees a stage */
    const bool meet_at_mbarrier = chance(m, 30);
    const bool loads = chance(m, 50); /* the producer has threads, too */
    put(m, "kernel epilogue on sm_90\nparam N = %d\nunit tma on copy free proxy\n", pick(m, 1, 3));
    put(m, "group g\nbarrier own count 64\nmbarrier full[%d] count 1\n", d);
    put(m, "mbarrier empty[%d] count %d\nmbarrier here count 64\n", d, by_all ? 64 : 1);
    put(m, "tensor a : global u8 [N] (16) input\ntensor o : global u8 [N] (16) output\n");
    put(m, "tensor x : shared u8 [N] (16) ring %d\ntensor y : shared u8 (16)\n", d);
    put(m, "tensor r : registers u8 (16)\n");
    put(m, "for s in 0..%d {\ninit full[s]\ninit empty[s]\n}\ninit here\nfence\n", d);
    put(m, "agent p%s {\nfor i in 0..N {\n", loads ? " of 32 threads" : "");
    put(m, "wait empty[i %% %d] parity (i / %d + 1) %% 2\narrive full[i %% %d] expect 16\n", d, d,
        d);
    put(m, "tma load reads a[i] writes x[i]%s delivers full[i %% %d]\n}\n}\n",
        loads ? " elected" : "", d);
    put(m, "agent c of 64 threads {\nfor i in 0..N {\nwait full[i %% %d] parity i / %d %% 2\n", d,
        d);
    put(m, "simt use reads x[i] writes r\n");
    if (chance(m, 50)) put_meeting(m, "64");
    put(m, "fence\narrive empty[i %% %d]%s\n", d, by_all ? " by 64" : "");
    put(m, "simt stage reads r writes y\nfence shared\n");
    if (meet_at_mbarrier) put(m, "arrive here by 64\nwait here parity i %% 2\n");
    if (!meet_at_mbarrier) put_meeting(m, "64");
    put(m, "tma store reads y writes o[i] elected in g\ncommit g\nwait g pending 0 reads\n");
    put_meeting(m, chance(m, 90) ? "64" : "32");
    put(m, "}\nwait g pending 0\n}\n");
}

/* A ring whose consumer has 64 threads, or two such consumers. All of them read a stage, themselves
 * or with a product on the matrix unit, and one, one of each warp, or all of them arrive. One or
 * all wait for it to be full. */
void random_releases(maker *m) {
    static const char *const arrivals[] = {" elected", "", " by 2", " by 64"};
    static const int counts[] = {1, 1, 2, 64};
    const int d = pick(m, 1, 2);
    const int agents = chance(m, 80) ? 1 : 2;
    const int how = chance(m, 60) ? 0 : pick(m, 1, 3);
    const bool product = chance(m, 40);
    const bool polls = chance(m, 25); /* one thread waits for the stage */
    const bool late = chance(m, 25);  /* a stage is released one iteration later */
    put(m, "kernel releases on sm_90\nparam N = %d\nunit tma on copy free proxy\n", pick(m, 1, 3));
    put(m, "unit mma on tensor %s proxy\ngroup g\n", chance(m, 90) ? "same" : "serial");
    put(m, "barrier own[%d] count 64\nmbarrier full[%d] count 1\n", agents, d);
    put(m, "mbarrier empty[%d] count %d\n", d, counts[how] * agents);
    put(m, "tensor a : global u8 [N] (16) input\ntensor x : shared u8 [N] (16) ring %d\n", d);
    put(m, "tensor y : shared u8 [%d] (16)\ntensor r : registers u8 [%d] (16)\n", agents, agents);
    put(m, "for s in 0..%d {\ninit full[s]\ninit empty[s]\n}\nfence\n", d);
    const bool loads = chance(m, 40); /* by one of many threads */
    put(m, "agent p%s {\nfor i in 0..N {\n", loads ? " of 32 threads" : "");
    put(m, "wait empty[i %% %d] parity (i / %d + 1) %% 2\narrive full[i %% %d] expect 16\n", d, d,
        d);
    put(m, "tma load reads a[i] writes x[i]%s delivers full[i %% %d]\n}\n}\n",
        loads ? " elected" : "", d);
    put(m, "agent c[%d] as w of 64 threads {\nfor i in 0..N {\n", agents);
    put(m, "wait full[i %% %d] parity i / %d %% 2%s\n", d, d, polls ? " elected" : "");
    if (polls && chance(m, 70)) put(m, "sync own[w] by 64\n");
    if (product) put(m, "mma multiply reads x[i] writes r[w] in g\ncommit g\n");
    if (product && !late) put(m, "wait g pending %d\n", chance(m, 90) ? 0 : 1);
    if (!product) put(m, "simt use reads x[i] %s r[w]\n", chance(m, 80) ? "writes" : "updates");
    if (chance(m, product ? 20 : 60)) {
        const bool guarded = chance(m, 15);
        put(m, "%ssync own[w] by 64%s\n", guarded ? "if i < 2 { " : "", guarded ? " }" : "");
    }
    if (late) put(m, "if i > 0 {\n");
    if (product && late) put(m, "wait g pending 1\n");
    if (chance(m, 30)) put(m, "fence\n");
    put(m, "arrive empty[(i + %d) %% %d]%s\n%s", late ? d - 1 : 0, d, arrivals[how],
        late ? "}\n" : "");
    if (chance(m, 30)) put(m, "simt first writes y[w] elected\n");
    if (chance(m, 20)) put(m, "sync own[w] by 64\nsimt last reads y[w]\n");
    put(m, "}\n}\n");
}

static void put_thread_operation(maker *m) {
    static const char *const names[] = {"x", "x", "y", "r"};
    const char *name = any(m, names, 4);
    const bool unit = chance(m, 35);
    const bool product = unit && chance(m, 20);
    put(m, "%s op", product ? "mma" : unit ? chance(m, 70) ? "tma" : "up" : "simt");
    if (product) {
        put(m, " reads %s%s\n", name[0] == 'r' ? "x" : name, chance(m, 70) ? " in g" : "");
        return;
    }
    if (unit && name[0] == 'r') name = "y";
    put(m, " %s %s", chance(m, 50) ? "reads" : chance(m, 70) ? "writes" : "adds", name);
    if (name[0] != 'r' && chance(m, 20)) put(m, "(0..4)");
    if (chance(m, unit ? 80 : 35)) put(m, " elected");
    if (unit && chance(m, 60)) put(m, " in g");
    if (unit && chance(m, 15)) put(m, " arrives k");
    put(m, "\n");
}

static void put_thread_statement(maker *m, int other) {
    switch (pick(m, 0, 16)) {
    case 0:
    case 1: put(m, "sync own%d by 64\n", other); break;
    case 2: put(m, "sync all%s\n", chance(m, 30) ? " by 64" : ""); break;
    case 3: put(m, "arrive k by 64%s\n", chance(m, 15) ? " elected" : ""); break;
    case 4:
        put(m, "arrive j%s%s\n", chance(m, 30) ? " on tma" : "", chance(m, 20) ? " elected" : "");
        break;
    case 5: put(m, "wait k parity %d%s\n", pick(m, 0, 1), chance(m, 15) ? " elected" : ""); break;
    case 6: put(m, "wait j parity %d%s\n", pick(m, 0, 1), chance(m, 15) ? " elected" : ""); break;
    case 7: put(m, "commit g\nwait g pending 0%s\n", chance(m, 30) ? " reads" : ""); break;
    case 8: put(m, "fence\n"); break;
    case 9: put(m, chance(m, 50) ? "commit g\n" : "wait g pending %d\n", pick(m, 0, 1)); break;
    case 10:
        put(m, chance(m, 70) ? "arrive k by 64 on %s\n" : "drain %s\n",
            chance(m, 60) ? "tma" : "up");
        break;
    case 11: put(m, chance(m, 50) ? "drain all\n" : "expect j by 8\n"); break;
    default: put_thread_operation(m);
    }
}

/* Statements at random, one or two agents of 64 threads. */
void random_threads(maker *m) {
    const int agents = pick(m, 1, 2);
    put(m, "kernel threads on sm_90\nunit tma on copy free proxy\nunit up on simt serial\ngroup g\n"
           "unit mma on tensor same\n");
    put(m, "barrier own0 count 64\nbarrier own1 count 64\nbarrier all count %d\n", agents);
    put(m, "mbarrier k count 64\nmbarrier j count 1\ninit k\ninit j\nfence\n");
    put(m, "tensor x : shared u8 (8) at 64 input\ntensor y : shared u8 (8) at %d input\n",
        chance(m, 80) ? 80 : 68);
    put(m, "tensor r : registers u8 (8) input\n");
    for (int a = 0; a < agents; a++) {
        put(m, "agent a%d of 64 threads {\n", a);
        for (int i = pick(m, 2, agents == 2 ? 5 : 8); i > 0; i--) put_thread_statement(m, a);
        put(m, "}\n");
    }
}

/* All threads copy their parts of a tile, as with cp.async, and one of them stores it. How the
 * copies are known to be over: by a group, by an mbarrier that each thread arrives at on the unit,
 * or by bytes that are delivered. */
void random_copies(maker *m) {
    const int d = pick(m, 1, 2);
    const int how = pick(m, 0, 2);
    put(m, "kernel copies on sm_90\nparam N = %d\nunit cp on copy %s\n", pick(m, 1, 3),
        chance(m, 70) ? "free" : "serial");
    put(m, "unit tma on copy free proxy\ngroup g\ngroup st\nbarrier own count 64\n");
    put(m, "mbarrier full[%d] count %d\n", d, how == 1 ? 64 : 1);
    put(m, "tensor a : global u8 [N] (16) input\ntensor o : global u8 [N] (16) output\n");
    put(m, "tensor x : shared u8 [N] (16) ring %d\n", d);
    put(m, "for s in 0..%d { init full[s] }\nfence\nagent c of 64 threads {\nfor i in 0..N {\n", d);
    if (how == 2) put(m, "arrive full[i %% %d] expect 16\n", d);
    put(m, "cp load reads a[i] writes x[i]");
    if (how == 0) put(m, " in g\ncommit g\nwait g pending 0\n");
    if (how == 1) put(m, "\narrive full[i %% %d] by 64 on cp\n", d);
    if (how == 2) put(m, " delivers full[i %% %d]\n", d);
    if (how > 0) put(m, "wait full[i %% %d] parity i / %d %% 2\n", d, d);
    put(m, "fence\n");
    if (how == 0 || chance(m, 30)) put_meeting(m, "64");
    put(m, "tma store reads x[i] writes o[i]%s in st\ncommit st\nwait st pending 0%s\n",
        chance(m, 90) ? " elected" : "", chance(m, 50) ? " reads" : "");
    put_meeting(m, "64");
    put(m, "}\nwait st pending 0\n}\n");
}

/* ---- fences by kind ---------------------------------------------------------------- */

/* An accumulator in registers that a matrix unit and the threads use in turn. */
void random_registers(maker *m) {
    static const char *const fences[] = {"fence wgmma",  "fence wgmma", "fence wgmma",
                                         "fence shared", "fence",       "fence global"};
    const int agents = pick(m, 1, 2);
    const bool prologue = chance(m, 30);
    put(m, "kernel registers on sm_90\nparam N = %d\n", pick(m, 1, 3));
    put(m, "unit mma on tensor same proxy fence wgmma\ngroup g\n");
    put(m, "tensor x : shared u8 [%d] (16)\ntensor r : registers u8 [%d] (16)\n", agents, agents);
    put(m, "tensor o : global u8 [%d] (16) output\n", agents);
    if (prologue) {
        for (int a = 0; a < agents; a++) put(m, "simt fill writes x[%d], r[%d]\n", a, a);
        put(m, "fence shared\n");
        if (chance(m, 70)) put(m, "fence wgmma\n");
    }
    put(m, "agent c[%d] as w {\n", agents);
    if (!prologue) put(m, "simt fill writes x[w]\nfence shared\nsimt clear writes r[w]\n");
    put(m, "for i in 0..N {\n");
    if (chance(m, 90)) put(m, "%s\n", any(m, fences, chance(m, 80) ? 3 : 6));
    put(m, "mma first reads x[w] %s r[w] in g\n", chance(m, 60) ? "updates" : "writes");
    if (chance(m, 50)) put(m, "mma next reads x[w] updates r[w] in g\n");
    put(m, "commit g\nwait g pending 0\n");
    if (chance(m, 70)) put(m, "simt scale updates r[w]\n");
    if (chance(m, 20)) put(m, "simt look reads r[w]\n");
    put(m, "}\nsimt store reads r[w] writes o[w]\n}\n");
}

/* An accumulator in tensor memory that goes from the matrix unit to the epilogue and back. */
void random_handover(maker *m) {
    const int d = pick(m, 1, 2);
    const bool commits = chance(m, 60);  /* with an arrival on the unit, or at the end of each */
    const bool by_store = chance(m, 30); /* the epilogue writes the memory, too */
    put(m, "kernel handover on sm_100\nparam N = %d\n", pick(m, 1, 3));
    put(m, "unit mma on tensor same proxy%s\n", chance(m, 90) ? " fence tcgen05" : "");
    put(m, "mbarrier full[%d] count 1\nmbarrier empty[%d] count 1\n", d, d);
    put(m, "tensor a : shared u8 [N] (128, 16) input\n");
    put(m, "tensor acc : tmem f32 [N] (128, 32) ring %d\n", d);
    put(m, "tensor o : global f32 [N] (128, 32) output\n");
    put(m, "for s in 0..%d {\ninit full[s]\ninit empty[s]\n}\nfence\n", d);
    put(m, "agent issuer {\nfor i in 0..N {\n");
    put(m, "wait empty[i %% %d] parity (i / %d + 1) %% 2\nfence tcgen05 after\n", d, d);
    put(m, "mma first reads a[i] writes acc[i]%s\n", "");
    if (commits) put(m, "arrive full[i %% %d] on mma\n}\n}\n", d);
    if (!commits) put(m, "mma last reads a[i] updates acc[i] arrives full[i %% %d]\n}\n}\n", d);
    put(m, "agent epilogue {\nfor i in 0..N {\nwait full[i %% %d] parity i / %d %% 2\n", d, d);
    put(m, "fence tcgen05 after\nsimt ld reads acc[i] writes o[i]\n");
    if (by_store) put(m, "simt st writes acc[i]\n");
    put(m, "fence tcgen05 before\narrive empty[i %% %d]\n}\n}\n", d);
    if (chance(m, 20)) put(m, "simt last reads acc[0]\n");
}

/* ---- macros ------------------------------------------------------------------------ */

/* Stages that are filled and emptied by macros, by copies of an agent; a cursor is passed on. */
void random_macros(maker *m) {
    const int copies = pick(m, 1, 2);
    const int d = pick(m, 1, 2);
    put(m, "kernel macros on sm_90\nparam N = %d\nparam W = %d\n", pick(m, 1, 3), copies);
    put(m, "tensor a : global u8 [W, N] (8) input\ntensor o : global u8 [W, N] (8) output\n");
    put(m, "tensor x : shared u8 [W, %d] (8)\n", d);
    put(m, "mbarrier full[W, %d] count 1\nmbarrier empty[W, %d] count 1\n", d, d);
    put(m, "macro begin(b, w) { for s in 0..%d { init b[w, s] } }\n", d);
    put(m, "macro fill(w, i, s, p) {\nwait empty[w, s] parity 1 - p\n");
    put(m, "simt load reads a[w, i] writes x[w, s]\narrive full[w, s]\n}\n");
    put(m, "macro drop(w, i, s, p) {\nwait full[w, s] parity p\n");
    put(m, "simt use reads x[w, s] writes o[w, i]\narrive empty[w, s]\n}\n");
    put(m, "for w in 0..W {\nbegin(full, w)\nbegin(empty, w)\n}\n");
    static const char *const ranges[] = {"0..N", "0..N step -1", "0..max(N, 1)", "min(0, N)..N"};
    const char *range = any(m, ranges, 4);
    const bool ends = chance(m, 25);
    const bool skips = chance(m, 25);
    for (int c = 0; c < 2; c++) {
        put(m, "agent %s[W] as w {\ncursor stage, phase mod %d\nfor i in %s {\n",
            c == 0 ? "producer" : "consumer", d, range);
        if (ends) put(m, "if i == 1 and w == 0 or i == 2 { break }\n");
        if (skips) put(m, "if i != 1 or w == 1 {\n");
        put(m, "%s(w, i, stage, phase)\nadvance stage\n%s}\n}\n", c == 0 ? "fill" : "drop",
            skips ? "}\n" : "");
    }
}
