/* SPDX-License-Identifier: Apache-2.0
 * Folding of kernels with agents: random pipelines are written without loops, as a trace records
 * them, and folded. Both kernels are walked side by side: the same statements of the same agents,
 * on the same bytes, and the verdicts are the same, also where one statement is missing. */
#include "spad/experimental/kernel_rows.h"
#include "support/kernels.h"
#include "support/support.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "kernel/fold/fold_agents.h"
#include "spad/check.h"
#include "spad/experimental/walk.h"

/* ---- two walks side by side -------------------------------------------------------- */

/* The byte of an mbarrier, or the number of any other object. */
static int64_t object_key(const spad_kernel *k, int64_t object, int64_t element) {
    const spad_kernel_sync *s = spad_kernel_get_sync(k, (size_t)object);
    if (s == NULL) return -1;
    int64_t key = 0;
    if (s->placed) return s->byte.value + SPAD_MBARRIER_BYTES * element;
    for (const char *c = s->name; *c != '\0'; c++) key = key * 31 + *c;
    return -2 - llabs(key) * 64 - element;
}

static const spad_walk_event *next_statement(spad_walk *walk) {
    const spad_walk_event *event;
    spad_error error;
    do {
        assert_ok(spad_walk_next(&event, walk, &error), &error);
    } while (event->kind == SPAD_WALK_ITERATION || event->kind == SPAD_WALK_LOOP_BEGIN ||
             event->kind == SPAD_WALK_LOOP_END || event->kind == SPAD_WALK_TENSOR);
    return event;
}

static void compare_events(const spad_kernel *one, const spad_walk_event *a, const spad_kernel *two,
                           const spad_walk_event *b) {
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->agent, b->agent);
    assert_int_equal(a->amount, b->amount);
    assert_int_equal(a->expect, b->expect);
    assert_true(object_key(one, a->object, a->element) == object_key(two, b->object, b->element));
    assert_int_equal(a->access_count, b->access_count);
    assert_int_equal(a->completion_count, b->completion_count);
    for (size_t i = 0; i < a->access_count; i++) {
        assert_int_equal(a->accesses[i].kind, b->accesses[i].kind);
        assert_memory_equal(&a->accesses[i].rect, &b->accesses[i].rect, sizeof(spad_rect));
        assert_memory_equal(&a->accesses[i].tile_rect, &b->accesses[i].tile_rect,
                            sizeof(spad_rect));
    }
    for (size_t i = 0; i < a->completion_count; i++) {
        const spad_walk_completion *c = &a->completions[i], *d = &b->completions[i];
        assert_int_equal(c->amount, d->amount);
        assert_true(object_key(one, c->object, c->element) ==
                    object_key(two, d->object, d->element));
    }
    const spad_statement *s = spad_kernel_get_statement(one, (size_t)a->statement);
    const spad_statement *t = spad_kernel_get_statement(two, (size_t)b->statement);
    if (a->kind != SPAD_WALK_OPERATION && a->kind != SPAD_WALK_SYNC) return;
    assert_int_equal(s->kind, t->kind);
    assert_int_equal(s->source, t->source);
    assert_int_equal(s->flags, t->flags);
    if (s->name != NULL) assert_string_equal(s->name, t->name);
}

static void compare_walks(const spad_kernel *one, const spad_kernel *two) {
    assert_int_equal(spad_kernel_agent_count(one), spad_kernel_agent_count(two));
    for (size_t agent = 0; agent < spad_kernel_agent_count(one); agent++) {
        const spad_walk_options options = {.agent = (int64_t)agent};
        spad_walk *first, *second;
        spad_error error;
        assert_ok(spad_walk_create(&first, one, &options, &error), &error);
        assert_ok(spad_walk_create(&second, two, &options, &error), &error);
        for (;;) {
            const spad_walk_event *a = next_statement(first);
            const spad_walk_event *b = next_statement(second);
            compare_events(one, a, two, b);
            if (a->kind == SPAD_WALK_END) break;
        }
        spad_walk_destroy(first);
        spad_walk_destroy(second);
    }
}

static spad_verdict verdict_of(const spad_kernel *kernel, bool one_shape) {
    spad_check *check;
    spad_error error;
    const spad_check_options options = {.no_advice = true, .one_shape = one_shape};
    assert_ok(spad_check_create(&check, kernel, &options, &error), &error);
    const spad_verdict verdict = spad_check_get_verdict(check);
    spad_check_destroy(check);
    return verdict;
}

static spad_kernel *fold_of(const spad_kernel *straight) {
    spad_kernel *folded;
    spad_error error;
    assert_ok(spad_kernel_fold(&folded, straight, NULL, &error), &error);
    return folded;
}

/* ---- pipelines without loops ------------------------------------------------------- */

enum { TEXT_MAX = 1 << 20 };

typedef struct pipeline {
    int stages, tiles, steps;
    bool peels;     /* the consumer releases a stage one step later */
    bool tile_sync; /* both meet after each tile */
    bool unrolled;  /* every fourth line has a source of its own: not folded by steps */
    int without;    /* the statement that is missing; -1: none */
} pipeline;

typedef struct trace {
    char *text;
    size_t used;
    int statements;
    const pipeline *p;
} trace;

static void put_line(trace *t, const char *format, ...) SPAD_PRINTF(2, 3);
static void put_line(trace *t, const char *format, ...) {
    va_list list;
    va_start(list, format);
    t->used += (size_t)vsnprintf(t->text + t->used, TEXT_MAX - t->used, format, list);
    va_end(list);
    assert_true(t->used < TEXT_MAX - 1024);
}

/* Is the next statement of the agents there? */
static bool is_kept(trace *t) {
    return t->statements++ != t->p->without;
}

static void put_declarations(trace *t) {
    const pipeline *p = t->p;
    t->used = 0;
    t->statements = 0;
    put_line(t, "kernel k on sm_90\nunit tma on copy free proxy\n");
    for (int s = 0; s < p->stages; s++) {
        put_line(t, "mbarrier full_%d count 1 at %d\n", s, 65536 + 8 * s);
        put_line(t, "mbarrier empty_%d count 1 at %d\n", s, 66560 + 8 * s);
    }
    put_line(t, "barrier meet count 64\n");
    for (int n = 0; n < 8; n++) put_line(t, "source %d \"a.cu\" %d\n", n, n + 1);
    for (int s = 0; s < p->stages; s++)
        put_line(t, "tensor tile_%d : shared uint8 (1024) at %d\n", s, 1024 * s);
    put_line(t, "tensor out : shared uint8 (256) at 32768\n");
    for (int s = 0; s < p->stages; s++) put_line(t, "init full_%d\ninit empty_%d\n", s, s);
    put_line(t, "fence\n");
}

static void put_producer(trace *t) {
    const pipeline *p = t->p;
    put_line(t, "agent producer of 32 threads {\n");
    for (int tile = 0, c = 0; tile < p->tiles; tile++) {
        for (int k = 0; k < p->steps; k++, c++) {
            const int s = c % p->stages, lap = c / p->stages;
            if (is_kept(t)) put_line(t, "wait empty_%d parity %d\n", s, (lap + 1) % 2);
            if (is_kept(t)) put_line(t, "arrive full_%d expect 1024\n", s);
            put_line(t, "tma load writes tile_%d delivers full_%d from %d\n", s, s,
                     p->unrolled ? c % 3 : 0);
        }
        if (p->tile_sync && is_kept(t)) put_line(t, "sync meet by 32\n");
    }
    put_line(t, "}\n");
}

static void put_consumer(trace *t) {
    const pipeline *p = t->p;
    put_line(t, "agent consumer of 32 threads {\n");
    for (int tile = 0, c = 0; tile < p->tiles; tile++) {
        for (int k = 0; k < p->steps; k++, c++) {
            const int s = c % p->stages, before = (c + p->stages - 1) % p->stages;
            if (is_kept(t)) put_line(t, "wait full_%d parity %d\n", s, c / p->stages % 2);
            put_line(t, "simt use reads tile_%d(0..512), tile_%d(512..1024) from 3\n", s, s);
            if (p->peels && k > 0 && is_kept(t)) put_line(t, "arrive empty_%d\n", before);
            if (!p->peels && is_kept(t)) put_line(t, "arrive empty_%d\n", s);
        }
        if (p->peels && is_kept(t))
            put_line(t, "arrive empty_%d\n", (c + p->stages - 1) % p->stages);
        put_line(t, "simt store writes out(%d..%d) from 5\n", tile % 8 * 16, tile % 8 * 16 + 16);
        if (p->tile_sync && is_kept(t)) put_line(t, "sync meet by 32\n");
    }
    put_line(t, "}\n");
}

static spad_kernel *straight_of(trace *t, const pipeline *p) {
    t->p = p;
    put_declarations(t);
    put_producer(t);
    put_consumer(t);
    return test_parse(t->text);
}

static pipeline random_pipeline(spad__random *random) {
    pipeline p = {.stages = 1 + (int)spad__random_below(random, 5),
                  .tiles = 1 + (int)spad__random_below(random, 4),
                  .steps = 1 + (int)spad__random_below(random, 14),
                  .peels = spad__random_below(random, 2) == 0,
                  .tile_sync = spad__random_below(random, 3) == 0,
                  .unrolled = spad__random_below(random, 6) == 0,
                  .without = -1};
    return p;
}

static void folded_pipelines_are_the_same(void **state) {
    (void)state;
    trace t = {.text = malloc(TEXT_MAX)};
    spad__random random = {7};
    int folded_ones = 0, wrong_ones = 0, short_ones = 0;
    assert_non_null(t.text);
    for (int n = 0; n < 300; n++) {
        pipeline p = random_pipeline(&random);
        spad_kernel *whole = straight_of(&t, &p);
        if (n % 2 == 0) p.without = (int)spad__random_below(&random, (uint64_t)t.statements);
        spad_kernel *straight = straight_of(&t, &p);
        spad_kernel *folded = fold_of(straight);
        if (folded != NULL) {
            const spad_verdict verdict = verdict_of(straight, false);
            compare_walks(straight, folded);
            assert_int_equal(verdict_of(folded, true), verdict);
            folded_ones++;
            wrong_ones += verdict == SPAD_VERDICT_WRONG;
            short_ones += spad_kernel_statement_count(folded) < 60;
        } else {
            const bool few = p.steps * p.tiles < 3 * p.stages;
            assert_true(few || p.unrolled || p.without >= 0);
        }
        spad_kernel_destroy(folded);
        spad_kernel_destroy(straight);
        spad_kernel_destroy(whole);
    }
    assert_true(folded_ones > 200);
    assert_true(wrong_ones > 80);
    assert_true(short_ones > 100);
    free(t.text);
}

/* ---- with a parameter -------------------------------------------------------------- */

/* Runs with three trip counts. */
static spad__fold_result fold_steps(trace *t, const pipeline *p, const int64_t values[3],
                                    spad_kernel *straight[3]) {
    spad__fold_result result;
    spad__fold_request request = {.count = 3, .param = "KT"};
    spad_error error;
    for (int r = 0; r < 3; r++) {
        pipeline own = *p;
        own.steps = (int)values[r];
        straight[r] = straight_of(t, &own);
        request.kernels[r] = straight[r];
        request.values[r] = values[r];
    }
    assert_ok(spad__fold_agents(&result, &request, NULL, &error), &error);
    return result;
}

static void free_runs(spad_kernel *straight[3], spad__fold_result *result) {
    for (int r = 0; r < 3; r++) spad_kernel_destroy(straight[r]);
    spad_kernel_destroy(result->kernel);
}

/* The family has the runs that it was not made from, too. */
static void runs_become_a_family(void **state) {
    (void)state;
    trace t = {.text = malloc(TEXT_MAX)};
    spad__random random = {11};
    int families = 0, proved = 0;
    for (int n = 0; n < 60; n++) {
        pipeline p = random_pipeline(&random);
        p.steps = 9 + (int)spad__random_below(&random, 8);
        p.stages = 2 + (int)spad__random_below(&random, 3);
        p.unrolled = false;
        spad_kernel *straight[3];
        const int64_t values[3] = {p.steps, p.steps + 1, p.steps + 7};
        spad__fold_result result = fold_steps(&t, &p, values, straight);
        assert_int_equal(result.refusal, SPAD__FOLDED);
        for (int steps = 2; steps < 12; steps++) {
            const spad_define define = {"KT", steps};
            const spad_kernel_options options = {.defines = &define, .define_count = 1};
            spad_kernel *shaped;
            spad_error error;
            assert_ok(spad_kernel_reshape(&shaped, result.kernel, &options, &error), &error);
            p.steps = steps;
            spad_kernel *other = straight_of(&t, &p);
            compare_walks(other, shaped);
            bool same;
            assert_ok(spad__fold_has_run(&same, result.kernel, &define, other, &error), &error);
            assert_true(same);
            spad_kernel_destroy(other);
            p.without = (int)spad__random_below(&random, (uint64_t)t.statements);
            other = straight_of(&t, &p);
            assert_ok(spad__fold_has_run(&same, result.kernel, &define, other, &error), &error);
            assert_false(same);
            spad_kernel_destroy(other);
            p.without = -1;
            spad_kernel_destroy(shaped);
        }
        families++;
        proved += p.tiles == 1 && verdict_of(result.kernel, false) == SPAD_VERDICT_PROVED_ALL;
        free_runs(straight, &result);
    }
    assert_int_equal(families, 60);
    assert_true(proved > 8);
    free(t.text);
}

/* ---- some of them ------------------------------------------------------------------ */

static void folds_to(const char *text, const char *expected) {
    spad_kernel *straight = test_parse(text);
    spad_kernel *folded = fold_of(straight);
    assert_true((folded == NULL) == (expected == NULL));
    if (folded != NULL) {
        test_text found;
        spad_error error;
        test_text_init(&found);
        assert_ok(spad_kernel_write_text(folded, &found.sink, &error), &error);
        const char *at = strstr(found.bytes, expected);
        if (at == NULL) assert_string_equal(found.bytes, expected);
        compare_walks(straight, folded);
        test_text_free(&found);
    }
    spad_kernel_destroy(folded);
    spad_kernel_destroy(straight);
}

static void stages_become_tiles_and_parities_expressions(void **state) {
    (void)state;
    trace t = {.text = malloc(TEXT_MAX)};
    pipeline p = {.stages = 3, .tiles = 1, .steps = 10, .peels = true, .without = -1};
    spad_kernel_destroy(straight_of(&t, &p));
    folds_to(t.text,
             "tensor tile_0 : shared uint8 [3] (1024) at 0\n"
             "tensor out : shared uint8 (256) at 32768\n"
             "for i in 0..3 {\n    init full_0[i] count 1\n    init empty_0[i] count 1\n}\nfence\n"
             "agent producer of 32 threads {\n"
             "    for i in 0..10 {\n"
             "        wait empty_0[i % 3] parity (3 + i) / 3 % 2\n"
             "        arrive full_0[i % 3] by 1 expect 1024\n"
             "        tma load writes tile_0[i % 3] delivers full_0[i % 3] from 0\n"
             "    }\n"
             "}\n"
             "agent consumer of 32 threads {\n"
             "    wait full_0[0] parity 0\n"
             "    simt use reads tile_0[0](0..512), tile_0[0](512..1024) from 3\n"
             "    for i in 0..9 {\n"
             "        wait full_0[(1 + i) % 3] parity (1 + i) / 3 % 2\n"
             "        simt use reads tile_0[(1 + i) % 3](0..512), "
             "tile_0[(1 + i) % 3](512..1024) from 3\n"
             "        arrive empty_0[i % 3] by 1\n"
             "    }\n"
             "    arrive empty_0[0] by 1\n"
             "    simt store writes out(0..16) from 5\n"
             "}\n");
    free(t.text);
}

#define TWO_AGENTS                                                             \
    "kernel k on sm_90\ncounter c\nmbarrier b count 1 at 4096\n"               \
    "tensor x : shared uint8 (64) at 0\ntensor y : shared uint8 (64) at 640\n" \
    "tensor z : shared uint8 (64) at 128\nagent a {\n"

static void what_is_no_ring_stays(void **state) {
    (void)state;
    folds_to(TWO_AGENTS "signal c\nsimt f writes x\nsignal c\n}\nagent other {\n}\n", NULL);
    folds_to(TWO_AGENTS "simt f writes x\nsimt f writes y\nsimt f writes z\nsimt f writes x\n"
                        "simt f writes y\nsimt f writes z\nsimt f writes x\n"
                        "}\nagent other {\n}\n",
             NULL); /* not at even distances, and not three times */
    folds_to("kernel k on sm_90\ncounter c\nparam N = 4\nagent a {\nsignal c\nsignal c\nsignal c\n"
             "}\nagent other {\n}\n",
             NULL); /* it has a parameter */
    folds_to(TWO_AGENTS "wait b parity 0\nwait b parity 1\nwait b parity 0\nwait b parity 1\n"
                        "wait c >= 5\nwait c >= 7\nwait c >= 9\n}\nagent d {\nsignal c\n}\n",
             "agent a {\n"
             "    for i in 0..4 {\n        wait b parity i % 2\n    }\n"
             "    for i in 0..3 {\n        wait c >= 5 + 2 * i\n    }\n}\n"
             "agent d {\n    signal c by 1\n}\n");
}

/* Runs that are not one family. */
static void runs_that_differ_have_no_parameter(void **state) {
    (void)state;
    trace t = {.text = malloc(TEXT_MAX)};
    pipeline p = {.stages = 3, .tiles = 1, .steps = 10, .without = -1};
    spad_kernel *straight[3];
    static const int64_t uneven[3] = {10, 11, 14}, equal[3] = {10, 10, 10};
    spad__fold_result result = fold_steps(&t, &p, uneven, straight);
    assert_int_equal(result.refusal, SPAD__FOLDED);
    free_runs(straight, &result);
    result = fold_steps(&t, &p, equal, straight); /* the values do not differ */
    assert_int_equal(result.refusal, SPAD__FOLD_DIFFERS);
    free_runs(straight, &result);
    static const int wrong[3] = {10, 11, 15};
    spad__fold_request request = {.values = {10, 11, 12}, .count = 3, .param = "KT"};
    for (int r = 0; r < 3; r++) { /* 15 steps where the two others say 12 */
        p.steps = wrong[r];
        request.kernels[r] = straight[r] = straight_of(&t, &p);
    }
    assert_int_equal(spad__fold_agents(&result, &request, NULL, NULL), SPAD_OK);
    assert_int_equal(result.refusal, SPAD__FOLD_DIFFERS);
    assert_null(result.kernel);
    request.kernels[1] = request.kernels[2] = straight[0];
    assert_int_equal(spad__fold_agents(&result, &request, NULL, NULL), SPAD_OK);
    assert_int_equal(result.refusal, SPAD__FOLD_NO_GROWTH);
    free_runs(straight, &result);
    free(t.text);
}

/* ---- without memory ---------------------------------------------------------------- */

static spad_status fold_in(const spad_host *host, void *context) {
    spad__fold_result result;
    const spad_status status = spad__fold_agents(&result, context, host, NULL);
    spad_kernel_destroy(result.kernel);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    trace t = {.text = malloc(TEXT_MAX)};
    pipeline p = {.stages = 2, .tiles = 1, .steps = 6, .peels = true, .without = -1};
    spad__fold_request request = {.values = {6, 7, 9}, .count = 3, .param = "KT"};
    spad_kernel *straight[3];
    for (int r = 0; r < 3; r++) {
        p.steps = (int)request.values[r];
        request.kernels[r] = straight[r] = straight_of(&t, &p);
    }
    test_fail_each_allocation(fold_in, &request);
    request.count = 1;
    test_fail_each_allocation(fold_in, &request);
    for (int r = 0; r < 3; r++) spad_kernel_destroy(straight[r]);
    free(t.text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stages_become_tiles_and_parities_expressions),
        cmocka_unit_test(what_is_no_ring_stays),
        cmocka_unit_test(runs_that_differ_have_no_parameter),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(folded_pipelines_are_the_same),
        cmocka_unit_test(runs_become_a_family),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
