/* SPDX-License-Identifier: Apache-2.0
 *
 * The blocks of a unit, side by side and at the same time. Written out, several blocks are one
 * kernel with the agents and objects of each; at the same time, each has a part of the engines, and
 * copies take no time. The longer of the two is the time of the wave. The clock is 1 GHz. */
#include <stdio.h>
#include <string.h>

#include "sim/sim_report.h"
#include "spad/spad.h"
#include "support/kernels.h"
#include "support/support.h"

enum { NS = 1000, TEXT_MAX = 8192 };

static const char chip_text[] =
    "target chip\n"
    "units 2\n"
    "groups 8\n"
    "limits { warp 32; registers 65536; unit_threads 1024; register_step 256 }\n"
    "space shared { bytes 100 KiB }\n"
    "space registers { bytes 256 KiB; thread 1020 }\n"
    "space global { off chip; rate 100 B/ns estimate; queue 20 percent }\n"
    "engine simt { count 2; clock 1 GHz source \"s\"; reads shared, registers, global; writes "
    "shared, registers, global }\n"
    "engine copy {\n"
    "    path global to shared rate 64 B/ns latency 40 ns source \"s\"\n"
    "    reads global; writes shared\n"
    "}\n"
    "engine tensor { clock 1 GHz source \"s\"; reads shared, registers; writes registers }\n";

typedef struct run {
    spad_target *chip;
    spad_kernel *kernel;
} run;

static run start_run(const char *text) {
    run r;
    spad_error error;
    if (spad_target_parse(&r.chip, chip_text, strlen(chip_text), "chip", NULL, NULL, &error) !=
        SPAD_OK) {
        fail_msg("%s", error.message);
    }
    r.kernel = test_parse_with(text, &(spad_kernel_options){.target = r.chip});
    return r;
}

static void end_run(run *r) {
    spad_kernel_destroy(r->kernel);
    spad_target_destroy(r->chip);
}

static spad_sim *simulate(const run *r, const spad_sim_options *options) {
    spad_sim *sim;
    spad_error error;
    if (spad_sim_create(&sim, r->kernel, options, &error) != SPAD_OK) fail_msg("%s", error.message);
    return sim;
}

/* The time of a full wave. */
static int64_t wave_time(const run *r, int64_t grid, int64_t per_unit, bool no_repeat) {
    spad_sim *sim =
        simulate(r, &(spad_sim_options){.grid = grid, .no_repeat = no_repeat, .repeat_after = 16});
    const spad__sim_grid g = spad__sim_get_grid(sim);
    assert_int_equal(g.per_unit, per_unit);
    spad_sim_destroy(sim);
    return g.wave_time;
}

/* ---- by hand ------------------------------------------------------------------------ */

/* 40 KiB: two on a unit. It loads for 100 ns and works on that for 64, on one engine each. */
static const char pair_text[] = "kernel k on chip\n"
                                "unit cp on copy free\n"
                                "group loads\n"
                                "tensor s : shared u8 (40960)\n"
                                "tensor x : registers f32 (64)\n"
                                "agent a of 128 threads {\n"
                                "    cp load writes s in loads cost 100 ns\n"
                                "    commit loads\n"
                                "    wait loads pending 0\n"
                                "    tensor op reads s writes x cost 64 ns\n"
                                "}\n";

static void blocks_share_engines(void **state) {
    (void)state;
    run r = start_run(pair_text);
    static const struct {
        int64_t blocks, wave, tail, time;
    } cases[] = {
        {1, 164, 164, 164}, /* one unit, one block */
        /* side by side 100 and 100 of the copies, then the work of the second: 264; at the same
         * time 200 of the copies, then 128 of the work, which is longer */
        {2, 164, 0, 164},
        {4, 328, 0, 328},
        {8, 328, 0, 656},
        /* the third block of a unit begins when the first ends: its copy is the third in a row */
        {6, 328, 164, 364},
        {7, 328, 328, 328 + 328},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_sim *sim = simulate(&r, &(spad_sim_options){.grid = cases[i].blocks});
        const spad__sim_grid g = spad__sim_get_grid(sim);
        if (g.wave_time != cases[i].wave * NS || g.tail_time != cases[i].tail * NS ||
            spad_sim_get_totals(sim).time != cases[i].time * NS) {
            fail_msg("%lld blocks: %lld, %lld, %lld ps", (long long)cases[i].blocks,
                     (long long)g.wave_time, (long long)g.tail_time,
                     (long long)spad_sim_get_totals(sim).time);
        }
        /* the timeline is that of one block */
        assert_int_equal(spad_sim_get_totals(sim).makespan, 164 * NS);
        assert_int_equal(spad__sim_row_count(sim), 2);
        spad_sim_destroy(sim);
    }
    end_run(&r);
}

/* It loads 6400 bytes, works on them for 30 ns, and stores a result for 500. */
static const char store_text[] = "kernel k on chip\n"
                                 "unit cp on copy free\n"
                                 "group loads\n"
                                 "tensor g : global u8 (6400) input\n"
                                 "tensor s : shared u8 (40960)\n"
                                 "tensor x : registers f32 (64)\n"
                                 "agent a of 128 threads {\n"
                                 "    for i in 0..20 {\n"
                                 "        cp load reads g writes s(0..6400) in loads\n"
                                 "        commit loads\n"
                                 "        wait loads pending 0\n"
                                 "        tensor op reads s writes x cost 30 ns\n"
                                 "    }\n"
                                 "    simt store cost 500 ns latency 10 ns\n"
                                 "}\n";

/* Later blocks begin as others end: what a block does at its end lies beside the steps of others,
 * and each further round of blocks takes the same time. */
static void blocks_begin_as_others_end(void **state) {
    (void)state;
    run r = start_run(store_text);
    int64_t times[6];
    int64_t wave = 0;
    for (int64_t i = 0; i < 6; i++) {
        spad_sim *sim = simulate(&r, &(spad_sim_options){.grid = 4 * (i + 1)});
        times[i] = spad_sim_get_totals(sim).time;
        wave = spad__sim_get_grid(sim).wave_time;
        spad_sim_destroy(sim);
    }
    assert_int_equal(times[0], wave);
    assert_true(times[1] < 2 * wave && times[1] > wave);
    assert_true(times[2] - times[1] < wave);
    for (int i = 3; i < 6; i++) assert_int_equal(times[i] - times[i - 1], times[2] - times[1]);
    end_run(&r);
}

/* ---- written out -------------------------------------------------------------------- */

/* A ring of two stages between a producer and a consumer with groups, a barrier and a counter, in a
 * loop of N: the objects and agents of each of `blocks` blocks. sharing: one block as it is
 * where so many do the same at the same time; there are two of engine simt. */
static void write_ring(char *text, size_t size, int blocks, int sharing, int rounds) {
    const int simt = sharing > 2 ? sharing : 2;
    size_t used = (size_t)snprintf(text, size,
                                   "kernel k on chip\nparam N = %d\nunit cp on copy free proxy\n"
                                   "unit mma on tensor same\n",
                                   rounds);
    for (int b = 0; b < blocks; b++) {
        used += (size_t)snprintf(
            text + used, size - used,
            "group mmas%d\nbarrier meet%d count 2\ncounter sent%d\nmbarrier full%d[2] count 1\n"
            "mbarrier empty%d[2] count 1\ntensor g%d : global u8 (1600) input reused 2\n"
            "tensor s%d : shared u8 [2] (1600) ring 2\ntensor x%d : registers f32 (64)\n"
            "for s in 0..2 { init full%d[s]; init empty%d[s] }\n",
            b, b, b, b, b, b, b, b, b, b);
    }
    for (int b = 0; b < blocks; b++) {
        used += (size_t)snprintf(
            text + used, size - used,
            "agent put%d of 128 threads registers 200 {\n    sync meet%d\n    for i in 0..N {\n"
            "        wait empty%d[i %% 2] parity 1 - i / 2 %% 2\n"
            "        arrive full%d[i %% 2] expect 1600\n"
            "        cp load reads g%d writes s%d[i %% 2] delivers full%d[i %% 2]%s\n"
            "    }\n    signal sent%d\n}\n",
            b, b, b, b, b, b, b, sharing > 1 ? " cost 0 ns" : "", b);
        used += (size_t)snprintf(
            text + used, size - used,
            "agent get%d of 128 threads registers 40 {\n    sync meet%d\n    for i in 0..N {\n"
            "        wait full%d[i %% 2] parity i / 2 %% 2\n"
            "        mma op reads s%d[i %% 2] writes x%d in mmas%d cost %d ns\n"
            "        mma op reads s%d[i %% 2] writes x%d in mmas%d cost %d ns\n"
            "        commit mmas%d\n        wait mmas%d pending 0\n"
            "        simt op updates x%d cost %d ns\n        arrive empty%d[i %% 2]\n"
            "    }\n    wait sent%d >= 1\n    simt last reads x%d cost %d ns\n}\n",
            b, b, b, b, b, b, 17 * sharing, b, b, b, 11 * sharing, b, b, b, 3 * simt, b, b, b,
            4 * simt);
    }
    assert_true(used < size);
}

/* Without a grid, no share of the memory: the kernel that is written out has the copies of both in
 * its one path. So the chip has one unit, and the queue of the memory nothing to say. */
static int64_t written_out(int blocks, int rounds) {
    char text[TEXT_MAX];
    write_ring(text, sizeof text, blocks, 1, rounds);
    run r = start_run(text);
    spad_sim *sim = simulate(&r, &(spad_sim_options){.grid = 1});
    const int64_t time = spad_sim_get_totals(sim).makespan;
    assert_null(spad_sim_get_stuck(sim));
    spad_sim_destroy(sim);
    end_run(&r);
    return time;
}

static void as_if_written_out(void **state) {
    (void)state;
    char text[TEXT_MAX];
    for (int rounds = 0; rounds < 150; rounds = 3 * rounds + 1) {
        write_ring(text, sizeof text, 1, 1, rounds);
        run r = start_run(text);
        /* registers: two fit; the last wave has one unit, as the kernel that is written out */
        spad_sim *sim = simulate(&r, &(spad_sim_options){.grid = 4 + 1});
        const spad__sim_grid g = spad__sim_get_grid(sim);
        assert_int_equal(g.per_unit, 2);
        assert_int_equal(g.tail_time, written_out(1, rounds));
        assert_true(g.wave_time >= spad_sim_get_totals(sim).makespan);
        spad_sim_destroy(sim);
        end_run(&r);
    }
}

/* One unit has all blocks, so that the share is the whole. */
static void several_as_if_written_out(void **state) {
    (void)state;
    int longer[2] = {0};
    char text[TEXT_MAX];
    for (int blocks = 2; blocks <= 3; blocks++) {
        for (int rounds = 1; rounds < 100; rounds = 4 * rounds + 1) {
            spad_target *chip;
            spad_error error;
            char with_unit[sizeof chip_text];
            memcpy(with_unit, chip_text, sizeof with_unit);
            strstr(with_unit, "units 2")[6] = '1';
            assert_ok(
                spad_target_parse(&chip, with_unit, strlen(with_unit), "chip", NULL, NULL, &error),
                &error);
            int64_t times[3]; /* of the wave; written out; of one block that shares the engines */
            for (int form = 0; form < 3; form++) {
                write_ring(text, sizeof text, form == 1 ? blocks : 1, form == 2 ? blocks : 1,
                           rounds);
                if (form == 0) { /* as many threads as leave room for that many */
                    char *at = strstr(text, "registers 200");
                    memcpy(at, blocks == 2 ? "registers 200" : "registers 100", 13);
                }
                spad_kernel *kernel = test_parse_with(text, &(spad_kernel_options){.target = chip});
                spad_sim *sim;
                const spad_sim_options options = {.grid = form == 0 ? blocks : 1,
                                                  .repeat_after = 16};
                assert_ok(spad_sim_create(&sim, kernel, &options, &error), &error);
                assert_int_equal(spad__sim_get_grid(sim).per_unit, form == 0 ? blocks : 1);
                times[form] = form == 2 ? spad_sim_get_totals(sim).makespan
                                        : spad__sim_get_grid(sim).wave_time;
                spad_sim_destroy(sim);
                spad_kernel_destroy(kernel);
            }
            longer[times[2] > times[1]]++;
            if (times[0] != (times[2] > times[1] ? times[2] : times[1])) {
                fail_msg("%d blocks, %d rounds: %lld ps, written out %lld, at the same time %lld",
                         blocks, rounds, (long long)times[0], (long long)times[1],
                         (long long)times[2]);
            }
            spad_target_destroy(chip);
        }
    }
    assert_true(longer[0] > 0 && longer[1] > 0);
}

/* ---- repetition, limits, faults ------------------------------------------------------ */

static void repetition_changes_nothing(void **state) {
    (void)state;
    char text[TEXT_MAX];
    for (int rounds = 5; rounds < 200; rounds = 3 * rounds) {
        write_ring(text, sizeof text, 1, 1, rounds);
        run r = start_run(text);
        assert_int_equal(wave_time(&r, 4, 2, false), wave_time(&r, 4, 2, true));
        end_run(&r);
    }
}

/* The limit of operations is that of a block. */
static void limits_are_those_of_a_block(void **state) {
    (void)state;
    run r = start_run(pair_text);
    spad_sim *sim;
    spad_error error;
    assert_ok(spad_sim_create(&sim, r.kernel, &(spad_sim_options){.grid = 8, .operation_limit = 2},
                              &error),
              &error);
    spad_sim_destroy(sim);
    assert_int_equal(spad_sim_create(&sim, r.kernel,
                                     &(spad_sim_options){.grid = 8, .operation_limit = 1}, &error),
                     SPAD_ERR_ARGUMENT);
    end_run(&r);
}

static void blocks_that_wait_forever(void **state) {
    (void)state;
    run r = start_run("kernel k on chip\nmbarrier full count 1\ninit full\n"
                      "agent a of 128 threads registers 200 { wait full parity 0 }\n"
                      "agent b of 128 threads registers 40 { simt op cost 5 ns }\n");
    spad_sim *sim = simulate(&r, &(spad_sim_options){.grid = 8});
    assert_non_null(spad_sim_get_stuck(sim));
    assert_int_equal(spad_sim_get_totals(sim).time, 5 * NS);
    spad_sim_destroy(sim);
    end_run(&r);
}

static spad_status create(const spad_host *host, void *context) {
    spad_sim *sim;
    const spad_sim_options options = {.grid = 5, .repeat_after = 4, .host = host};
    const spad_status status = spad_sim_create(&sim, context, &options, NULL);
    spad_sim_destroy(sim);
    return status;
}

static void failing_allocations(void **state) {
    (void)state;
    char text[TEXT_MAX];
    write_ring(text, sizeof text, 1, 1, 2);
    run r = start_run(text);
    test_fail_each_allocation(create, r.kernel);
    end_run(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_share_engines),       cmocka_unit_test(blocks_begin_as_others_end),
        cmocka_unit_test(as_if_written_out),          cmocka_unit_test(several_as_if_written_out),
        cmocka_unit_test(repetition_changes_nothing), cmocka_unit_test(limits_are_those_of_a_block),
        cmocka_unit_test(blocks_that_wait_forever),   cmocka_unit_test(failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
