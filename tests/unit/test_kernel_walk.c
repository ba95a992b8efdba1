/* SPDX-License-Identifier: Apache-2.0
 * The walk: events in program order, places of tiles and parts of tiles, scopes,
 * agents, failures while it runs, and the trace of a run. */
#include "spad/experimental/trace_queries.h"
#include "support/kernels.h"
#include "support/places.h"
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "spad/experimental/kernel_rows.h"
#include "spad/experimental/walk.h"

/* ---- a walk as text ---------------------------------------------------------------- */

static void put_access(char *line, size_t size, const spad_kernel *k, const spad_walk_access *a) {
    static const char *const kinds[] = {"", "r", "w", "u"};
    char *end = line + strlen(line);
    const spad_rect r = a->rect;
    end += snprintf(end, size - strlen(line), " %s:%s.%lld", kinds[a->kind],
                    spad_kernel_get_tensor(k, (size_t)a->tensor)->name, (long long)a->tile);
    if (a->life > 0) end += sprintf(end, "'%lld", (long long)a->life);
    if (!a->placed) {
        end += sprintf(end, "~%s.%lld", spad_kernel_get_tensor(k, (size_t)a->home)->name,
                       (long long)a->slot);
    }
    end += sprintf(end, "(%lld+%lld,%lld+%lld", (long long)r.lane, (long long)r.lanes,
                   (long long)r.byte, (long long)r.bytes);
    if (a->runs > 1) end += sprintf(end, "x%lld/%lld", (long long)a->runs, (long long)a->stride);
    end += sprintf(end, ")%s", a->live ? "" : "!");
}

static void put_event(char *line, size_t size, const spad_kernel *k, const spad_walk_event *e) {
    static const char *const names[] = {
        "end",       "tensor", "alloc",     "free", "open", "close", "section", "loop",
        "iteration", "done",   "operation", "sync", "fork", "begin", "over",    "join"};
    const spad_statement *s =
        e->statement >= 0 ? spad_kernel_get_statement(k, (size_t)e->statement) : NULL;
    const bool named = e->kind == SPAD_WALK_OPERATION;
    const char *word =
        e->kind == SPAD_WALK_SYNC ? spad_statement_kind_name(s->kind) : names[e->kind];
    snprintf(line, size, "%s", named ? s->name : word);
    char *end = line + strlen(line);
    if (e->agent > 0) end += sprintf(end, "@%lld", (long long)e->agent);
    if (e->tensor >= 0) {
        end += sprintf(end, " %s", spad_kernel_get_tensor(k, (size_t)e->tensor)->name);
        if (e->tile >= 0) end += sprintf(end, ".%lld", (long long)e->tile);
        if (e->life > 0) end += sprintf(end, "'%lld", (long long)e->life);
    }
    if (e->kind == SPAD_WALK_ITERATION) end += sprintf(end, " %lld", (long long)e->value);
    if (e->kind == SPAD_WALK_SECTION) end += sprintf(end, " %lld", (long long)e->amount);
    if (e->object >= 0) {
        end += sprintf(end, " %s.%lld", spad_kernel_get_sync(k, (size_t)e->object)->name,
                       (long long)e->element);
    }
    if (e->kind == SPAD_WALK_SYNC && e->amount != 0) {
        end += sprintf(end, " %lld", (long long)e->amount);
    }
    if (e->expect != 0) end += sprintf(end, " expect %lld", (long long)e->expect);
    for (size_t i = 0; i < e->access_count; i++) put_access(line, size, k, &e->accesses[i]);
    end = line + strlen(line);
    for (size_t i = 0; i < e->completion_count; i++) {
        const spad_walk_completion *c = &e->completions[i];
        end += sprintf(end, " -> %s.%lld+%lld", spad_kernel_get_sync(k, (size_t)c->object)->name,
                       (long long)c->element, (long long)c->amount);
    }
    if (e->cost != 0) sprintf(end, " cost %lld", (long long)e->cost);
}

/* Compares the events of a walk, one per line; declarations are left out unless asked for. */
static void check_walk(const char *text, int64_t agent, bool declarations, const char *expected) {
    spad_kernel *k = test_parse(text);
    const spad_walk_options options = {.agent = agent};
    spad_walk *walk;
    spad_error error;
    assert_ok(spad_walk_create(&walk, k, &options, &error), &error);
    static char all[65536];
    char *at = all;
    all[0] = '\0';
    const spad_walk_event *event;
    int64_t time = 0;
    do {
        char line[512];
        assert_ok(spad_walk_next(&event, walk, &error), &error);
        assert_int_equal(event->time, time++);
        if (event->kind == SPAD_WALK_TENSOR && !declarations) continue;
        put_event(line, sizeof line, k, event);
        at += sprintf(at, "%s\n", line);
    } while (event->kind != SPAD_WALK_END);
    assert_string_equal(all, expected);
    assert_ok(spad_walk_next(&event, walk, &error), &error); /* the end stays */
    assert_int_equal(event->kind, SPAD_WALK_END);
    spad_walk_destroy(walk);
    spad_kernel_destroy(k);
}

/* ---- control ----------------------------------------------------------------------- */

static void loops_and_branches_run_in_order(void **state) {
    (void)state;
    check_walk("kernel k on trn2\n"
               "tensor x : sbuf u8 [8] (1, 4) ring 2\n"
               "for i in -1..2 {\n"
               "    if i == 0 { dma first writes x[0] } else {\n"
               "        if i > 0 and i != 5 { dma later writes x[i + 2] }\n"
               "    }\n"
               "    for j in 3..4 { dma inner reads x[2 * i + j] cost 7 + j ns }\n"
               "    for j in 0..0 { dma never reads x[0] }\n"
               "    for j in 0..9 { }\n"
               "}\n",
               0, true,
               "tensor x\n"
               "loop\n"
               "iteration -1\n"
               "loop\niteration 3\ninner r:x.1~x.1(0+1,0+4) cost 10\ndone\n"
               "iteration 0\n"
               "first w:x.0~x.0(0+1,0+4)\n"
               "loop\niteration 3\ninner r:x.3~x.1(0+1,0+4) cost 10\ndone\n"
               "iteration 1\n"
               "later w:x.3~x.1(0+1,0+4)\n"
               "loop\niteration 3\ninner r:x.5~x.1(0+1,0+4) cost 10\ndone\n"
               "done\n"
               "end\n");
}

static void long_loops_start_and_stop(void **state) {
    (void)state;
    spad_kernel *k =
        test_parse("kernel k on trn2\n"
                   "tensor x : sbuf u8 [9223372036854775807] (1, 1) ring 3\n"
                   "for i in 0..9223372036854775807 {\n"
                   "    for j in 0..1000000000 { if j == 5 { dma load writes x[i] } }\n"
                   "}\n");
    spad_walk *walk;
    spad_error error;
    assert_ok(spad_walk_create(&walk, k, NULL, &error), &error);
    const spad_walk_event *event;
    for (int i = 0; i < 1000; i++) assert_ok(spad_walk_next(&event, walk, &error), &error);
    assert_int_equal(event->kind, SPAD_WALK_ITERATION);
    assert_int_equal(event->value, 994); /* tensor, 2 x loop, iteration, load before it */
    assert_int_equal(spad_walk_loop_count(walk), 2);
    assert_int_equal(spad_walk_get_loop(walk, 0), 0);
    assert_int_equal(spad_walk_get_loop(walk, 1), 1);
    assert_int_equal(spad_walk_get_loop(walk, 2), -1);
    assert_int_equal(spad_walk_get_values(walk)[1], 994);
    spad_walk_destroy(walk);
    spad_kernel_destroy(k);
}

static void loops_can_be_jumped_through(void **state) {
    (void)state;
    spad_kernel *k =
        test_parse("kernel k on trn2\n"
                   "tensor x : sbuf u8 [1000000000] (1, 1) ring 3\n"
                   "for i in 5..1000000000 { dma load writes x[i]; for j in 0..2 { fence } }\n"
                   "fence\n");
    spad_walk *walk;
    spad_error error;
    const spad_walk_event *event;
    assert_ok(spad_walk_create(&walk, k, NULL, &error), &error);
    for (int i = 0; i < 2; i++) assert_ok(spad_walk_next(&event, walk, &error), &error);
    assert_int_equal(event->kind, SPAD_WALK_LOOP_BEGIN);
    assert_int_equal(spad_walk_jump(walk, 9, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "a jump starts at an iteration event of a loop");
    assert_ok(spad_walk_next(&event, walk, &error), &error);
    assert_int_equal(event->kind, SPAD_WALK_ITERATION);
    assert_int_equal(spad_walk_jump(walk, 4, &error), SPAD_ERR_BOUNDS);
    assert_int_equal(spad_walk_jump(walk, 1000000000, &error), SPAD_ERR_BOUNDS);
    assert_string_equal(error.message, "loop 'i' continues from 5 to 999999999, not to 1000000000");
    assert_ok(spad_walk_jump(walk, 999999999, &error), &error);
    assert_ok(spad_walk_next(&event, walk, &error), &error);
    assert_int_equal(event->accesses[0].tile, 999999999);
    assert_int_equal(event->accesses[0].slot, 0);
    int64_t events = 0;
    for (; event->kind != SPAD_WALK_END; events++) {
        assert_ok(spad_walk_next(&event, walk, &error), &error);
    }
    assert_int_equal(events,
                     9); /* loop j with two iterations and two fences, two ends, fence, end */
    spad_walk_destroy(walk);
    spad_kernel_destroy(k);
}

/* ---- places ------------------------------------------------------------------------ */

/* The check values of NKI's modulo allocation: 4 tiles of 1024 bytes in 2 places, and
 * banks (g % 2) * 4 + k % 4. */
static void modes_place_tiles(void **state) {
    (void)state;
    check_walk("kernel k on trn2\n"
               "tensor m : sbuf bf16 [4] (128, 512) mod base 100 free 2\n"
               "tensor b : psum f32 [4, 8] (128, 512) mod banks [2, 4]\n"
               "tensor p : sbuf u8 [4, 2] (32, 8) mod base 8 par [2, 1] free [1, 2] lane 32\n"
               "tensor a : sbuf u8 [3] (64, 8) at 16 lane 64 step 10\n"
               "tensor r : sbuf u8 [4, 3] (64, 8) ring [2, 2]\n"
               "vector one reads m[0], m[1], m[2], m[3]\n"
               "vector two reads b[3, 6], b[2, 5]\n"
               "vector three reads p[3, 1], p[2, 0]\n"
               "vector four reads a[0], a[2]\n"
               "vector five reads r[3, 2], r[2, 1]\n",
               0, false,
               "one r:m.0(0+128,100+1024) r:m.1(0+128,1124+1024) r:m.2(0+128,100+1024) "
               "r:m.3(0+128,1124+1024)\n"
               "two r:b.30(0+128,12288+2048) r:b.21(0+128,2048+2048)\n"
               "three r:p.7(64+32,16+8) r:p.4(32+32,8+8)\n"
               "four r:a.0(64+64,16+8) r:a.2(64+64,36+8)\n"
               "five r:r.11~r.2(0+64,0+8) r:r.7~r.1(0+64,0+8)\n"
               "end\n");
}

static void aliases_lie_in_their_home(void **state) {
    (void)state;
    check_walk("kernel k on trn2\n"
               "tensor a : sbuf u8 [4] (128, 64) ring 2\n"
               "tensor f : sbuf u8 [2] (128, 100) at 1000\n"
               "tensor t : sbuf u8 [4] (32, 16) alias of a + 8\n"
               "tensor i : sbuf u8 [9] (32, 16) alias of f[1] + 4 ring 3\n"
               "tensor tt : sbuf u8 [4] (8, 4) alias of t + 2\n"
               "tensor ti : sbuf u8 [9] (8, 4) alias of i + 1\n"
               "tensor ii : sbuf u8 [2] (8, 4) alias of i[5] + 3\n"
               "tensor it : sbuf u8 [2] (8, 4) alias of t[3] + 5\n"
               "vector one reads t[3], i[7], tt[3]\n"
               "vector two reads ti[8], ii[1], it[1]\n",
               0, false,
               "one r:t.3~a.1(0+32,8+16) r:i.7(0+32,1120+16) r:tt.3~a.1(0+8,10+4)\n"
               "two r:ti.8(0+8,1137+4) r:ii.1(0+8,1143+4) r:it.1~a.1(0+8,17+4)\n"
               "end\n");
}

static void parts_of_tiles_are_runs(void **state) {
    (void)state;
    check_walk("kernel k on trn2\n"
               "tensor x : sbuf bf16 (128, 4, 8, 2) at 0\n"
               "tensor h : hbm u8 (4, 8) at 0\n"
               "tensor n : sbuf uint4 (128, 4, 6) at 0\n"
               "vector one reads x(32..64, .., .., ..), x(.., 1, .., ..), x(.., 1..3, .., ..)\n"
               "vector two reads x(.., 2, 3..5, ..), x(.., .., 3..5, ..), x(.., .., .., 1)\n"
               "vector three reads x(.., .., 2, 1), x(.., 1..3, 2, ..)\n"
               "dma four reads h(1..3, ..), h(.., 2..4), h(3, 7)\n"
               "vector five reads n(.., 1, 1..3), n(.., .., 2..4), n(0, 3, 5)\n",
               0, false,
               "one r:x.0(32+32,0+128) r:x.0(0+128,32+32) r:x.0(0+128,32+64)\n"
               "two r:x.0(0+128,76+8) r:x.0(0+128,12+8x4/32) r:x.0(0+128,2+2x32/4)\n"
               "three r:x.0(0+128,10+2x4/32) r:x.0(0+128,40+4x2/32)\n"
               "four r:h.0(0+1,8+16) r:h.0(0+1,2+2x4/8) r:h.0(0+1,31+1)\n"
               "five r:n.0(0+128,3+2) r:n.0(0+128,1+1x4/3) r:n.0(0+1,11+1)\n"
               "end\n");
}

static bool put_at(void *context, int64_t tensor, int64_t slot, spad_rect *rect) {
    (void)context;
    if (tensor != 0) return false;
    rect->lane = 64;
    rect->byte = 5000 + 100 * slot;
    return true;
}

static void a_plan_places_slots(void **state) {
    (void)state;
    spad_kernel *k = test_parse("kernel k on trn2\n"
                                "tensor x : sbuf u8 [4] (64, 16) ring 2\n"
                                "tensor y : sbuf u8 [4] (64, 8)\n"
                                "tensor z : sbuf u8 [4] (64, 4) alias of x + 4\n"
                                "dma load reads x[3](.., 2..5), y[1], z[2]\n");
    spad_layout *layout = test_layout_with(k, put_at, NULL);
    const spad_walk_options options = {.layout = layout};
    spad_walk *walk;
    const spad_walk_event *event;
    char line[512];
    assert_int_equal(spad_walk_create(&walk, k, &options, NULL), SPAD_OK);
    for (int i = 0; i < 4; i++) assert_int_equal(spad_walk_next(&event, walk, NULL), SPAD_OK);
    put_event(line, sizeof line, k, event);
    assert_string_equal(line, "load r:x.3(64+64,5102+3) r:y.1~y.1(0+64,0+8) r:z.2(64+64,5004+4)");
    spad_walk_destroy(walk);
    spad_layout_destroy(layout);
    spad_kernel_destroy(k);
}

/* ---- scopes ------------------------------------------------------------------------ */

static void scoped_tensors_are_placed_as_they_come(void **state) {
    (void)state;
    check_walk("kernel k on trn2\n"
               "region sbuf 100..1100\n"
               "tensor g : sbuf u8 (1, 50) heap\n"
               "scope s sections 2 {\n"
               "    tensor old : sbuf u8 (128, 10) stack\n"
               "    for i in 0..3 {\n"
               "        tensor t : sbuf u8 [2] (128, 20) stack align 16\n"
               "        tensor h : sbuf f32 [2] (128, 25) heap\n"
               "        dma load reads old writes t[1], h[1]\n"
               "        free h\n"
               "        dma late reads h[0]\n"
               "        next section\n"
               "    }\n"
               "}\n",
               0, true,
               "tensor g\n"
               "open\n"
               "tensor old\n"
               "loop\n"
               "iteration 0\n"
               "tensor t\ntensor h\n"
               "load r:old.0(0+128,100+10) w:t.1(0+128,144+20) w:h.1(0+128,848+100)\n"
               "free h\n"
               "late r:h.0(0+128,948+100)!\n"
               "section 1\n"
               "iteration 1\n"
               "tensor t'1\ntensor h'1\n"
               "load r:old.0(0+128,100+10) w:t.1'1(0+128,208+20) w:h.1'1(0+128,848+100)\n"
               "free h'1\n"
               "late r:h.0'1(0+128,948+100)!\n"
               "section 0\n"
               "iteration 2\n"
               "tensor t'2\ntensor h'2\n"
               "load r:old.0(0+128,100+10)! w:t.1'2(0+128,144+20) w:h.1'2(0+128,848+100)\n"
               "free h'2\n"
               "late r:h.0'2(0+128,948+100)!\n"
               "section 1\n"
               "done\n"
               "close\n"
               "end\n");
}

/* A tensor can be named when its scope has closed; the walk knows that it is gone. */
static void closed_scopes_are_over(void **state) {
    (void)state;
    check_walk("kernel k on trn2\n"
               "for i in 0..2 {\n"
               "    scope a {\n"
               "        tensor t : sbuf u8 (1, 8) stack\n"
               "        tensor h : sbuf u8 (1, 8) heap\n"
               "        dma one writes t, h\n"
               "    }\n"
               "    dma two reads t, h\n"
               "    scope b { tensor t : sbuf u8 (1, 4) stack; dma three writes t }\n"
               "    free h\n"
               "}\n",
               0, false,
               "loop\n"
               "iteration 0\n"
               "open\none w:t.0(0+1,0+8) w:h.0(0+1,212976+8)\nclose\n"
               "two r:t.0(0+1,0+8)! r:h.0(0+1,212976+8)\n"
               "open\nthree w:t.0(0+1,0+4)\nclose\n"
               "free h\n"
               "iteration 1\n"
               "open\none w:t.0'1(0+1,0+8) w:h.0'1(0+1,212976+8)\nclose\n"
               "two r:t.0'1(0+1,0+8)! r:h.0'1(0+1,212976+8)\n"
               "open\nthree w:t.0'1(0+1,0+4)\nclose\n"
               "free h'1\n"
               "done\n"
               "end\n");
}

/* ---- agents and synchronisation ---------------------------------------------------- */

static const char agents_text[] =
    "kernel k on sm_90\n"
    "param S = 2\n"
    "unit tma on copy free proxy\n"
    "mbarrier full[S] count 3\n"
    "counter c = 1\n"
    "barrier b count 4\n"
    "group g\n"
    "tensor x : shared fp16 [4] (8, 8) ring S\n"
    "tensor in : global fp16 [4] (8, 8) input\n"
    "init full[1]\n"
    "agent producer {\n"
    "    for k in 0..2 {\n"
    "        wait full[k % S] parity (k + 1) % 2\n"
    "        arrive full[k] expect 128 by 2\n"
    "        tma load reads in[k] writes x[k] in g delivers full[k] signals c by k + 1 after "
    "reads\n"
    "    }\n"
    "    commit g; wait g pending 0 reads\n"
    "}\n"
    "agent consumer { sync b by 4; signal c on tma; take c by 2; wait c >= 0; drain tma }\n"
    "drain all; fence; expect full[0] by 9; invalidate full[0]; alloc x[3]; free x\n";

static void agents_are_walked_alone_and_together(void **state) {
    (void)state;
    check_walk(agents_text, 0, false,
               "init full.1 3\n"
               "fork\n"
               "join\n"
               "drain\nfence\nexpect full.0 9\ninvalidate full.0\nalloc x.3\nfree x\nend\n");
#define PRODUCER                                                                  \
    "begin@1\n"                                                                   \
    "loop@1\n"                                                                    \
    "iteration@1 0\n"                                                             \
    "wait@1 full.0 1\narrive@1 full.0 2 expect 128\n"                             \
    "load@1 r:in.0~in.0(0+1,0+128) w:x.0~x.0(0+1,0+128) -> full.0+128 -> c.0+1\n" \
    "iteration@1 1\n"                                                             \
    "wait@1 full.1\narrive@1 full.1 2 expect 128\n"                               \
    "load@1 r:in.1~in.1(0+1,0+128) w:x.1~x.1(0+1,0+128) -> full.1+128 -> c.0+2\n" \
    "done@1\n"                                                                    \
    "commit@1 g.0\nwait@1 g.0\n"                                                  \
    "over@1\n"
#define CONSUMER \
    "begin@2\nsync@2 b.0 4\nsignal@2 c.0 1\ntake@2 c.0 2\nwait@2 c.0\ndrain@2\nover@2\n"
    check_walk(agents_text, 1, false, PRODUCER "end\n");
    check_walk(agents_text, 2, false, CONSUMER "end\n");
    check_walk(agents_text, SPAD_WALK_ALL, false,
               "init full.1 3\nfork\n" PRODUCER CONSUMER
               "join\ndrain\nfence\nexpect full.0 9\ninvalidate full.0\nalloc x.3\nfree x\nend\n");
    spad_kernel *k = test_parse(agents_text);
    spad_walk *walk;
    spad_error error;
    const spad_walk_options options = {.agent = 3};
    assert_int_equal(spad_walk_create(&walk, k, &options, &error), SPAD_ERR_ARGUMENT);
    assert_null(walk);
    assert_string_equal(error.message, "kernel 'k' has 3 agents, no number 3");
    spad_kernel_destroy(k);
}

/* ---- failures ---------------------------------------------------------------------- */

/* Walks until something fails; the same failure comes again. */
static void check_failure(const char *text, spad_status status, int line, int column,
                          const char *message) {
    spad_kernel *k = test_parse(text);
    spad_walk *walk;
    spad_error error;
    const spad_walk_event *event;
    assert_ok(spad_walk_create(&walk, k, NULL, &error), &error);
    spad_status got;
    do {
        got = spad_walk_next(&event, walk, &error);
        if (got == SPAD_OK) assert_int_not_equal(event->kind, SPAD_WALK_END);
    } while (got == SPAD_OK);
    assert_string_equal(error.message, message);
    assert_int_equal(got, status);
    assert_int_equal(error.line, line);
    assert_int_equal(error.column, column);
    assert_string_equal(error.file, "k.spad");
    assert_null(event);
    spad_error again;
    assert_int_equal(spad_walk_next(&event, walk, &again), status);
    assert_string_equal(again.message, message);
    spad_walk_destroy(walk);
    spad_kernel_destroy(k);
}

#define HEAD                               \
    "kernel k on trn2\n"                   \
    "tensor x : sbuf u8 [4] (128, 8, 8)\n" \
    "counter c[4]\n"                       \
    "mbarrier m count 1\n"                 \
    "for i in 0..9 { for j in 2..5 {\n"    \
    "if j == 3 {\n"

static void failures_name_the_iteration(void **state) {
    (void)state;
    check_failure(HEAD "dma load writes x[i]\n} } }", SPAD_ERR_BOUNDS, 7, 17,
                  "index 4 is outside 'x', which has 4; iteration i = 4, j = 3");
    check_failure(HEAD "dma load writes x[0](.., i, ..)\n} } }", SPAD_ERR_BOUNDS, 7, 17,
                  "index 8 is outside 'x', which has 8; iteration i = 8, j = 3");
    check_failure(HEAD "dma load writes x[0](.., 0..2 * i + 1, ..)\n} } }", SPAD_ERR_BOUNDS, 7, 17,
                  "index 8 is outside 'x', which has 8; iteration i = 4, j = 3");
    check_failure(HEAD "dma load writes x[0](.., 2..i, ..)\n} } }", SPAD_ERR_ARGUMENT, 7, 17,
                  "a range with a length of -2; iteration i = 0, j = 3");
    check_failure(
        "kernel k on trn2\ntensor x : sbuf u8 (128, 8, 8, 8)\n"
        "dma load writes x(.., 1..3, 1..3, 1..3)\n",
        SPAD_ERR_SHAPE, 3, 17,
        "this part of 'x' is not made of evenly spaced runs of bytes; cut fewer dimensions");
    check_failure(
        "kernel k on trn2\ntensor x : sbuf uint4 (128, 8, 7)\n"
        "dma load writes x(.., .., 0..2)\n",
        SPAD_ERR_SHAPE, 3, 17,
        "this part of 'x' is not made of evenly spaced runs of bytes; cut fewer dimensions");
    check_failure(HEAD "signal c[i - 1]\n} } }", SPAD_ERR_BOUNDS, 7, 1,
                  "index -1 is outside 'c', which has 4; iteration i = 0, j = 3");
    check_failure(HEAD "signal c[0] by i\n} } }", SPAD_ERR_ARGUMENT, 7, 1,
                  "an amount of 0; iteration i = 0, j = 3");
    check_failure(HEAD "wait m parity i\n} } }", SPAD_ERR_ARGUMENT, 7, 1,
                  "a parity of 2; iteration i = 2, j = 3");
    check_failure(HEAD "wait c[0] >= 1 - i\n} } }", SPAD_ERR_ARGUMENT, 7, 1,
                  "an amount of -1; iteration i = 2, j = 3");
    check_failure(HEAD "arrive m expect 1 - i\n} } }", SPAD_ERR_ARGUMENT, 7, 1,
                  "an expectation of -1; iteration i = 2, j = 3");
    check_failure(HEAD "dma load writes x[0] cost 3 - i ns\n} } }", SPAD_ERR_ARGUMENT, 7, 1,
                  "a cost of -1; iteration i = 4, j = 3");
    check_failure(HEAD "dma load writes x[0] delivers m by i\n} } }", SPAD_ERR_ARGUMENT, 7, 31,
                  "an amount of 0; iteration i = 0, j = 3");
    check_failure(HEAD "dma load writes x[0] signals c[i]\n} } }", SPAD_ERR_BOUNDS, 7, 30,
                  "index 4 is outside 'c', which has 4; iteration i = 4, j = 3");
    check_failure(HEAD "free x[i]\n} } }", SPAD_ERR_BOUNDS, 7, 1,
                  "index 4 is outside 'x', which has 4; iteration i = 4, j = 3");
}

static void failures_of_managers_have_a_place(void **state) {
    (void)state;
    check_failure("kernel k on trn2\nregion sbuf 0..100\nscope s {\n"
                  "    for i in 0..3 { tensor t : sbuf u8 (1, 40) stack }\n}\n",
                  SPAD_ERR_NO_FIT, 4, 28,
                  "stack: t.2.0 needs 40 B per lane at alignment 1, 20 of 100 B are free; largest "
                  "live: t 40 B, (unnamed) 40 B; close a scope, pop the heap or use smaller tiles");
    check_failure("kernel k on trn2\ntensor a : sbuf u8 (1, 1) heap\n"
                  "tensor b : sbuf u8 (1, 1) heap\nfree a\n",
                  SPAD_ERR_NOT_LIVE, 4, 1,
                  "'a' is not the newest heap tensor; 'b' is, and the heap is freed newest first");
    check_failure("kernel k on trn2\ntensor a : sbuf u8 (1, 1) heap\nfree a\nfree a\n",
                  SPAD_ERR_NOT_LIVE, 4, 1, "'a' is freed, but is not allocated; free it once");
}

/* ---- trace ------------------------------------------------------------------------- */

static void check_life(const spad_trace *trace, size_t number, const char *name, int64_t begin,
                       int64_t end, int64_t byte) {
    const spad_tensor *tensor = spad_trace_get_tensor(trace, number);
    assert_non_null(tensor);
    assert_string_equal(tensor->name, name);
    assert_int_equal(tensor->t_begin, begin);
    assert_int_equal(tensor->t_end, end);
    assert_int_equal(tensor->rect.byte, byte);
}

static spad_trace *trace_of(const spad_kernel *k) {
    spad_trace *trace;
    spad_error error;
    assert_ok(spad_trace_create(&trace, spad_kernel_get_target(k), NULL, &error), &error);
    assert_ok(spad_kernel_write_trace(k, trace, NULL, &error), &error);
    return trace;
}

static void a_run_becomes_a_trace(void **state) {
    (void)state;
    spad_kernel *k = test_parse("kernel k on trn2\n"
                                "tensor a : sbuf u8 [2] (1, 10)\n"
                                "tensor r : sbuf u8 [4] (1, 20) ring 1\n"
                                "tensor z : sbuf u8 (1, 30) at 500\n"
                                "tensor w : sbuf u8 (1, 5) alias of z\n"
                                "tensor o : sbuf u8 (1, 7) output\n"
                                "tensor e : sbuf u8 (1, 8) persistent\n"
                                "tensor h : hbm u8 (64)\n"
                                "tensor s : sbuf u8 (1, 9) heap\n"
                                "dma one writes a[0], r[0], h\n"
                                "dma two reads a[0] writes z, a[1]\n"
                                "dma three reads r[0] writes r[3], o\n"
                                "dma four reads w, a[1], s\n"
                                "free s\n");
    spad_trace *trace = trace_of(k);
    /* e first, the heap tensor, then what each operation begins */
    assert_int_equal(spad_trace_tensor_count(trace), 7);
    check_life(trace, 0, "e", 0, 13, SPAD_NO_BYTE);
    check_life(trace, 1, "s", 1, 11, 212975);
    check_life(trace, 2, "a[0]", 2, 6, SPAD_NO_BYTE);
    check_life(trace, 3, "r", 3, 8, SPAD_NO_BYTE);
    check_life(trace, 4, "z", 4, 9, 500);
    check_life(trace, 5, "a[1]", 5, 10, SPAD_NO_BYTE);
    check_life(trace, 6, "o", 7, 12, SPAD_NO_BYTE);
    spad_trace_destroy(trace);
    spad_kernel_destroy(k);
}

static void agents_keep_what_they_touch_alive(void **state) {
    (void)state;
    spad_kernel *k = test_parse("kernel k on sm_90\n"
                                "tensor x : shared u8 (16)\n"
                                "tensor y : shared u8 (16)\n"
                                "tensor z : shared u8 (16)\n"
                                "simt before writes y\n"
                                "agent one { simt a writes x }\n"
                                "agent two { simt b writes z; simt c reads z }\n"
                                "simt after reads z\n");
    spad_trace *trace = trace_of(k);
    spad_space_stats stats;
    assert_int_equal(spad_trace_get_stats(&stats, trace, 0, NULL), SPAD_OK);
    assert_int_equal(stats.peak_bytes, 32); /* x and z from fork to join; y has ended */
    assert_int_equal(stats.total_tensors, 3);
    assert_int_equal(stats.live_tensors, 0);
    spad_trace_destroy(trace);
    spad_kernel_destroy(k);
}

static void traces_have_limits(void **state) {
    (void)state;
    spad_error error;
    spad_trace *trace;
    spad_kernel *k = test_parse("kernel k on trn2\ntensor x : sbuf u8 [2000000] (1, 1)\n");
    assert_int_equal(spad_trace_create(&trace, spad_kernel_get_target(k), NULL, NULL), SPAD_OK);
    assert_int_equal(spad_kernel_write_trace(k, trace, NULL, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(
        error.message, "more than 1,000,000 tiles on chip; define a smaller parameter for a trace");
    assert_string_equal(error.subject, "x");
    spad_kernel_destroy(k);
    k = test_parse(
        "kernel k on trn2\nfor i in 0..9000000 { for j in 0..9 { for l in 0..0 { } } }\n");
    assert_int_equal(spad_kernel_write_trace(k, trace, NULL, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(
        error.message,
        "the kernel has more than 10,000,000 events; define a smaller parameter for a trace");
    spad_kernel_destroy(k);
    k = test_parse("kernel k on trn1\n");
    assert_int_equal(spad_kernel_write_trace(k, trace, NULL, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "the trace is of another target than 'trn1'");
    spad_kernel_destroy(k);
    spad_trace_destroy(trace);
}

/* Names of scoped tensors are unique in the log, even when the kernel uses one twice. */
static void scoped_names_are_made_unique(void **state) {
    (void)state;
    spad_kernel *k =
        test_parse("kernel k on trn2\n"
                   "scope s {\n"
                   "    scope a { tensor t : sbuf u8 (1, 8) stack }\n"
                   "    for i in 0..2 { scope b { tensor t : sbuf u8 [2] (1, 8) stack } }\n"
                   "    scope c { tensor t : sbuf u8 (1, 8) stack }\n"
                   "}\n");
    spad_trace *trace = trace_of(k);
    static const char *const names[] = {"t", "t.0.0", "t.0.1", "t.1.0", "t.1.1", "t.2.0.0"};
    assert_int_equal(spad_trace_tensor_count(trace), 6);
    for (size_t i = 0; i < 6; i++) {
        assert_string_equal(spad_trace_get_tensor(trace, i)->name, names[i]);
    }
    spad_trace_destroy(trace);
    spad_kernel_destroy(k);
}

/* ---- memory ------------------------------------------------------------------------ */

static spad_status walk_scenario(const spad_host *host, void *context) {
    const spad_kernel *k = context;
    const spad_walk_options options = {.agent = SPAD_WALK_ALL, .host = host};
    spad_walk *walk;
    const spad_walk_event *event;
    spad_status status = spad_walk_create(&walk, k, &options, NULL);
    if (status != SPAD_OK) return status;
    do {
        status = spad_walk_next(&event, walk, NULL);
    } while (status == SPAD_OK && event->kind != SPAD_WALK_END);
    spad_walk_destroy(walk);
    spad_trace *trace;
    if (status == SPAD_OK)
        status = spad_trace_create(&trace, spad_kernel_get_target(k), host, NULL);
    if (status != SPAD_OK) return status;
    status = spad_kernel_write_trace(k, trace, host, NULL);
    spad_trace_destroy(trace);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    spad_kernel *agents = test_parse(agents_text);
    test_fail_each_allocation(walk_scenario, agents);
    spad_kernel_destroy(agents);
    spad_kernel *scopes = test_parse("kernel k on trn2\n"
                                     "tensor g : sbuf u8 [3] (1, 50) heap\n"
                                     "scope s sections 2 { for i in 0..3 {\n"
                                     "    tensor t : sbuf u8 [2] (128, 20) stack\n"
                                     "    dma load writes t[1], g[2]\n"
                                     "    next section\n"
                                     "} }\n"
                                     "free g\n");
    test_fail_each_allocation(walk_scenario, scopes);
    spad_kernel_destroy(scopes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_and_branches_run_in_order),
        cmocka_unit_test(long_loops_start_and_stop),
        cmocka_unit_test(loops_can_be_jumped_through),
        cmocka_unit_test(modes_place_tiles),
        cmocka_unit_test(aliases_lie_in_their_home),
        cmocka_unit_test(parts_of_tiles_are_runs),
        cmocka_unit_test(a_plan_places_slots),
        cmocka_unit_test(scoped_tensors_are_placed_as_they_come),
        cmocka_unit_test(closed_scopes_are_over),
        cmocka_unit_test(agents_are_walked_alone_and_together),
        cmocka_unit_test(failures_name_the_iteration),
        cmocka_unit_test(failures_of_managers_have_a_place),
        cmocka_unit_test(a_run_becomes_a_trace),
        cmocka_unit_test(agents_keep_what_they_touch_alive),
        cmocka_unit_test(traces_have_limits),
        cmocka_unit_test(scoped_names_are_made_unique),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
