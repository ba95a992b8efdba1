/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel and its simulation, for the tests of the simulator. */
#ifndef SPAD_TEST_SIM_FIXTURE_H
#define SPAD_TEST_SIM_FIXTURE_H

#include "sim/sim_report.h"
#include "support/kernels.h"
#include "support/support.h"

#include "spad/spad.h"

typedef struct run {
    spad_kernel *kernel;
    spad_sim *sim;
} run;

static inline run start_with(const char *text, const spad_kernel_options *shape,
                             const spad_sim_options *options) {
    run r = {.kernel = test_parse_with(text, shape)};
    spad_error error;
    assert_ok(spad_sim_create(&r.sim, r.kernel, options, &error), &error);
    return r;
}

static inline run start(const char *text) {
    return start_with(text, NULL, NULL);
}

static inline void stop(run *r) {
    spad_sim_destroy(r->sim);
    spad_kernel_destroy(r->kernel);
}

static inline int64_t makespan(const run *r) {
    return spad_sim_get_totals(r->sim).makespan;
}

/* Start and end of a row in nanoseconds. */
static inline void assert_row(const run *r, size_t number, const char *name, int64_t start_ns,
                              int64_t end_ns) {
    const spad__sim_row row = spad__sim_get_row(r->sim, number);
    const spad_statement *s = spad_kernel_get_statement(r->kernel, (size_t)row.statement);
    assert_string_equal(s->name, name);
    assert_int_equal(row.start, start_ns * 1000);
    assert_int_equal(row.end, end_ns * 1000);
}

static inline int64_t makespan_of(const char *text) {
    run r = start(text);
    const int64_t time = makespan(&r);
    stop(&r);
    return time;
}

#define IN_LOOP                                  \
    "kernel in_loop on trn2\n"                   \
    "for i in 0..8 {\n"                          \
    "    tensor t : sbuf bf16 (128, 512) at 0\n" \
    "    dma    load writes t cost 100 ns\n"     \
    "    scalar exp  reads t  cost 100 ns\n"     \
    "}\n"

#define AGENTS "kernel k on sm_90\n"

#define RING(stages)                                                                     \
    "kernel ring on sm_100\nparam S = " stages "\nparam KT = 6\nunit tma on copy free\n" \
    "mbarrier full[S] count 1\nmbarrier empty[S] count 1\n"                              \
    "tensor sa : shared fp16 [KT] (128, 64) ring S\n"                                    \
    "for s in 0..S { init full[s]; init empty[s] }\n"                                    \
    "agent producer { for k in 0..KT {\n"                                                \
    "    wait empty[k % S] parity (k / S + 1) % 2\n"                                     \
    "    arrive full[k % S] expect 16 KiB\n"                                             \
    "    tma load writes sa[k] delivers full[k % S] cost 100 ns\n"                       \
    "} }\n"                                                                              \
    "agent consumer { for k in 0..KT {\n"                                                \
    "    wait full[k % S] parity k / S % 2\n"                                            \
    "    tensor mma reads sa[k] cost 100 ns\n"                                           \
    "    arrive empty[k % S]\n"                                                          \
    "} }\n"

#endif
