/* SPDX-License-Identifier: Apache-2.0
 *
 * A pipelined product of matrices, as nvcc prints it (tests/ptx/pipeline.cu): what wgmma reads of a
 * stage is exactly what copies wrote to it, and what mbarriers expect is what is delivered.
 */
#include "unit/ptx_events.h"

#include <stdlib.h>

#include "support/files.h"

enum {
    STAGES = 3,
    STEPS = 7,
    A_BYTES = 128 * 64 * 2,
    B_BYTES = 16 * 64 * 2,
    B_AT = STAGES * A_BYTES,
    C_AT = B_AT + STAGES * B_BYTES,
    FULL_AT = C_AT + 128 * 16 * 2,
    EMPTY_AT = FULL_AT + 8 * STAGES,
    MEMORY = EMPTY_AT + 8 * STAGES,
    WARPS = 9,
    CHUNK = 16
};

typedef struct pipeline_run {
    int64_t expected[2][STAGES]; /* bytes, of each block */
    int64_t delivered[2][STAGES];
    int rounds[2][WARPS]; /* of each warp that multiplies */
    int stage[2][WARPS];  /* -1: none yet */
    uint8_t used[2][WARPS][MEMORY / CHUNK + 1];
    int endless;
    int stores;
    int64_t stored;
    int peeks;
} pipeline_run;

/* Reads of one round: half of A by its group, and all of B. */
static void check_round(pipeline_run *p, int cta, int warp) {
    const int stage = p->stage[cta][warp];
    uint8_t *used = p->used[cta][warp];
    if (stage < 0) return;
    const int64_t a = (int64_t)stage * A_BYTES + warp / 4 * (A_BYTES / 2);
    const int64_t b = B_AT + (int64_t)stage * B_BYTES;
    for (int64_t n = 0; n * CHUNK < MEMORY; n++) {
        const int64_t at = n * CHUNK;
        const bool expected = (at >= a && at < a + A_BYTES / 2) || (at >= b && at < b + B_BYTES);
        assert_int_equal(used[n], expected);
    }
    memset(used, 0, sizeof p->used[cta][warp]);
    p->rounds[cta][warp]++;
    p->stage[cta][warp] = -1;
}

static void add_reads(pipeline_run *p, const spad__ptx_event *e) {
    assert_true(p->stage[e->cta][e->warp] >= 0);
    for (int32_t n = 0; n < e->run_count; n++) {
        const spad__ptx_bytes *run = &e->runs[n];
        assert_true(run->begin >= 0 && run->end <= MEMORY && run->begin % CHUNK == 0);
        for (int64_t at = run->begin; at < run->end; at += CHUNK) {
            p->used[e->cta][e->warp][at / CHUNK] = 1;
        }
    }
}

static int full_stage(const spad__ptx_event *e) {
    const int64_t stage = (e->object.byte - FULL_AT) / 8;
    return e->object.byte >= FULL_AT && stage < STAGES ? (int)stage : -1;
}

static spad_status see_event(void *context, const spad__ptx_event *e, spad_error *error) {
    pipeline_run *p = context;
    (void)error;
    p->endless += e->endless;
    if (e->kind == SPAD__PTX_MBARRIER_ARRIVE && full_stage(e) >= 0) {
        p->expected[e->object.cta][full_stage(e)] += e->bytes;
    } else if (e->kind == SPAD__PTX_MBARRIER_WAIT && full_stage(e) >= 0) {
        check_round(p, e->cta, e->warp);
        p->stage[e->cta][e->warp] = full_stage(e);
    } else if (e->kind == SPAD__PTX_ACCESS && e->unit == SPAD__PTX_WGMMA) {
        add_reads(p, e);
    } else if (e->kind == SPAD__PTX_ACCESS && e->object.cta >= 0) {
        p->delivered[e->object.cta][full_stage(e)] += e->bytes;
        assert_int_equal(e->runs[0].end - e->runs[0].begin, e->bytes);
    } else if (e->kind == SPAD__PTX_ACCESS && e->group == SPAD__PTX_GROUP_BULK) {
        p->stores++;
        p->stored += e->runs[0].end - e->runs[0].begin;
    }
    return SPAD_OK;
}

static void run_pipeline(uint32_t ctas, bool answer) {
    static const spad__ptx_mapped maps[] = {
        {SPAD__PTX_PARAM_BASE,
         {.dims = 2,
          .element_bits = 16,
          .size = {1024, 256},
          .box = {64, 128},
          .swizzle = SPAD__SWIZZLE_128}},
        {SPAD__PTX_PARAM_BASE + 128,
         {.dims = 2,
          .element_bits = 16,
          .size = {1024, 16},
          .box = {64, 8},
          .swizzle = SPAD__SWIZZLE_128}},
        {SPAD__PTX_PARAM_BASE + 256,
         {.dims = 2, .element_bits = 16, .size = {16, 256}, .box = {16, 64}}}};
    static pipeline_run p;
    uint8_t parameters[388] = {0};
    char *text = test_read_file("tests/ptx/pipeline.ptx");
    const spad__ptx_sink sink = {.context = &p, .add = see_event};
    ptx_run run = {.threads = 288,
                   .ctas = ctas,
                   .dynamic = MEMORY,
                   .answer = answer,
                   .maps = maps,
                   .map_count = 3,
                   .parameters = parameters,
                   .parameter_bytes = sizeof parameters,
                   .sink = &sink};
    spad_error error = {0};
    memset(&p, 0, sizeof p);
    memset(p.stage, -1, sizeof p.stage);
    parameters[384] = STEPS;
    test_text_init(&run.text);
    assert_ok(ptx_execute(&run, text, NULL, &error), &error);
    assert_false(run.stuck);
    assert_int_equal(p.endless, 0);
    assert_true(run.choices > 0);
    for (const char *line = run.text.bytes; *line != '\0'; line = strchr(line, '\n') + 1) {
        assert_memory_equal(line, "! peek", 6);
    }
    for (int cta = 0; cta < (int)ctas; cta++) {
        for (int stage = 0; stage < STAGES; stage++) {
            assert_int_equal(p.expected[cta][stage], p.delivered[cta][stage]);
            assert_int_equal(p.expected[cta][stage],
                             (STEPS / STAGES + (stage < STEPS % STAGES)) * (A_BYTES + B_BYTES));
        }
        for (int warp = 0; warp < 8; warp++) {
            check_round(&p, cta, warp);
            assert_int_equal(p.rounds[cta][warp], STEPS);
        }
    }
    assert_int_equal(p.stores, 2 * ctas);
    assert_int_equal(p.stored, (int64_t)ctas * 128 * 16 * 2);
    test_text_free(&run.text);
    free(text);
}

static void one_block(void **state) {
    (void)state;
    run_pipeline(1, true);
    run_pipeline(1, false);
}

static void a_cluster(void **state) {
    (void)state;
    run_pipeline(2, true);
    run_pipeline(2, false);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_block), cmocka_unit_test(a_cluster)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
