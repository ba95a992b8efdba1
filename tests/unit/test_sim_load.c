/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that the units of a chip share: transfers wait for those of other units, requests of
 * neighbours are merged, a grid has a launch. The oracle is the law itself, solved by hand for a
 * block that has one transfer under way at a time. */
#include <math.h>
#include <string.h>

#include "sim/sim_report.h"
#include "spad/spad.h"
#include "support/kernels.h"
#include "support/support.h"

enum { TILE = 8192, UNITS = 10, ROUNDS = 64 };

/* One tile: 128 ns on its path, 819.2 ns at a tenth of the memory, 204.8 ns at a tenth of the
 * cache. */
static const char chip_text[] =
    "target chip\n"
    "units 10%s\n"
    "space shared { bytes 228 KiB }\n"
    "space global { off chip; rate 100 B/ns; cache 1 MiB rate 400 B/ns%s%s }\n"
    "engine copy {\n"
    "    path global to shared rate 64 B/ns latency 600 ns\n"
    "    reads shared, global; writes shared, global\n"
    "}\n";

static const char kernel_text[] = "kernel k on chip\n"
                                  "param D = 1\n"
                                  "param R = 1\n"
                                  "param P = 1\n"
                                  "grid 10\n"
                                  "unit cp on copy free\n"
                                  "group loads\n"
                                  "tensor g : global bf16 [64] (64, 64) input reused R near P\n"
                                  "tensor s : shared bf16 [64] (64, 64) ring D\n"
                                  "for i in 0..64 {\n"
                                  "    cp load reads g[i] writes s[i] in loads\n"
                                  "    commit loads\n"
                                  "    wait loads pending D - 1\n"
                                  "}\n"
                                  "wait loads pending 0\n";

typedef struct run {
    spad_target *chip;
    spad_kernel *kernel;
    spad_sim *sim;
} run;

static spad_status start(run *r, const char *launch, const char *merges, const char *queue,
                         const int64_t parameters[3], const spad_host *host, spad_error *error) {
    static const char *const names[3] = {"D", "R", "P"};
    char text[1024];
    snprintf(text, sizeof text, chip_text, launch, merges, queue);
    *r = (run){0};
    spad_status status = spad_target_parse(&r->chip, text, strlen(text), "chip", NULL, host, error);
    if (status != SPAD_OK) return status;
    spad_define defines[3];
    for (int i = 0; i < 3; i++) defines[i] = (spad_define){names[i], parameters[i]};
    const spad_kernel_options options = {
        .target = r->chip, .defines = defines, .define_count = 3, .host = host};
    status =
        spad_kernel_parse(&r->kernel, kernel_text, strlen(kernel_text), "k", &options, NULL, error);
    if (status != SPAD_OK) return status;
    const spad_sim_options how = {.host = host};
    return spad_sim_create(&r->sim, r->kernel, &how, error);
}

static void end(run *r) {
    spad_sim_destroy(r->sim);
    spad_kernel_destroy(r->kernel);
    spad_target_destroy(r->chip);
}

/* Nanoseconds of the block, and of the grid. */
static double time_of(const char *launch, const char *merges, const char *queue, int64_t depth,
                      int64_t reused, int64_t near_blocks, double *grid) {
    run r;
    spad_error error;
    const int64_t parameters[3] = {depth, reused, near_blocks};
    if (start(&r, launch, merges, queue, parameters, NULL, &error) != SPAD_OK) {
        fail_msg("%s", error.message);
    }
    const spad_sim_totals totals = spad_sim_get_totals(r.sim);
    const spad__sim_grid g = spad__sim_get_grid(r.sim);
    assert_int_equal(g.units, UNITS);
    if (grid != NULL) *grid = (double)totals.time / 1000;
    end(&r);
    return (double)totals.makespan / 1000;
}

/* The time of a round in which one transfer of `busy` ns at the unit's share is under way. */
static double round_by_hand(double busy, double queue) {
    double low = 0;
    double high = 1;
    for (int i = 0; i < 60; i++) {
        const double use = (low + high) / 2;
        const double took = 600 + 128 + queue * busy * use / (1 - use);
        if (busy / took > use) {
            low = use;
        } else {
            high = use;
        }
    }
    return fmax(600 + 128 + queue * busy * low / (1 - low), busy);
}

static void assert_close(double value, double right, double part) {
    if (fabs(value / right - 1) > part) fail_msg("%g, and by hand %g", value, right);
}

static void transfers_wait_for_those_of_others(void **state) {
    (void)state;
    assert_close(time_of("", "", "", 1, 1, 1, NULL), ROUNDS * 819.2, 0.001);
    assert_close(time_of("", "", "", 1, 8, 1, NULL), ROUNDS * 728.0, 0.001);
    assert_close(time_of("", "", "; queue 20 percent", 1, 1, 1, NULL),
                 ROUNDS * round_by_hand(819.2, 0.2), 0.01);
    assert_close(time_of("", "", "; queue 40 percent", 1, 8, 1, NULL),
                 ROUNDS * round_by_hand(204.8, 0.4), 0.01);
}

static void longer_queues_take_longer(void **state) {
    (void)state;
    for (int64_t depth = 1; depth <= 8; depth++) {
        double before = 0;
        static const char *const queues[] = {"", "; queue 1 percent", "; queue 10 percent",
                                             "; queue 50 percent", "; queue 300.5 percent"};
        for (size_t i = 0; i < sizeof queues / sizeof queues[0]; i++) {
            const double now = time_of("", "", queues[i], depth, 4, 1, NULL);
            assert_true(now >= 0.999 * before);
            before = now;
        }
    }
}

static void requests_of_neighbours_are_merged(void **state) {
    (void)state;
    const double apart = time_of("", " merges 2", "", 8, 64, 1, NULL);
    const double together = time_of("", " merges 2", "", 8, 64, 4, NULL);
    const double unmerged = time_of("", "", "", 8, 64, 4, NULL);
    assert_close(apart, 600 + ROUNDS * 204.8, 0.02);
    assert_close(together, 600 + ROUNDS * 128.0, 0.02); /* its own path is slower then */
    assert_close(unmerged, apart, 0.001);
}

static void a_grid_has_a_launch(void **state) {
    (void)state;
    double without;
    double with;
    time_of("", "", "", 1, 1, 1, &without);
    time_of(" launch 5 us", "", "", 1, 1, 1, &with);
    assert_close(with - without, 5000, 1e-9);
}

static void the_fields_are_written_and_read_again(void **state) {
    (void)state;
    run r;
    spad_error error;
    const int64_t parameters[3] = {2, 8, 4};
    assert_int_equal(
        start(&r, " launch 5200 ns", " merges 2", "; queue 20.4 percent", parameters, NULL, &error),
        SPAD_OK);
    test_text text;
    test_text_init(&text);
    assert_int_equal(spad_target_write(r.chip, SPAD_FORMAT_TEXT, &text.sink, &error), SPAD_OK);
    assert_non_null(strstr(text.bytes, "units 10 launch 5200 ns"));
    assert_non_null(strstr(text.bytes, " merges 2"));
    assert_non_null(strstr(text.bytes, "20.4 percent"));
    spad_target *again;
    assert_int_equal(
        spad_target_parse(&again, text.bytes, strlen(text.bytes), "again", NULL, NULL, &error),
        SPAD_OK);
    assert_int_equal(again->launch_ns, 5200);
    assert_int_equal(again->spaces[1].cache_merges, 2);
    assert_int_equal(again->spaces[1].queue_permille, 204);
    spad_target_destroy(again);
    test_text_free(&text);
    test_text_init(&text);
    assert_int_equal(spad_kernel_write_text(r.kernel, &text.sink, &error), SPAD_OK);
    assert_non_null(strstr(text.bytes, "reused R near P"));
    test_text_free(&text);
    end(&r);
}

static spad_status simulate(const spad_host *host, void *context) {
    (void)context;
    run r;
    spad_error error;
    const int64_t parameters[3] = {2, 8, 4};
    const spad_status status =
        start(&r, " launch 5 us", " merges 2", "; queue 20 percent", parameters, host, &error);
    end(&r);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    test_fail_each_allocation(simulate, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transfers_wait_for_those_of_others),
        cmocka_unit_test(longer_queues_take_longer),
        cmocka_unit_test(requests_of_neighbours_are_merged),
        cmocka_unit_test(a_grid_has_a_launch),
        cmocka_unit_test(the_fields_are_written_and_read_again),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
