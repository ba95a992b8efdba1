/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that reads and writes share, caches that have a tile already, stores in small pieces,
 * queues of engines, agents that wake a moment later, blocks that take a while to start. The oracle
 * is arithmetic by hand. */
#include <string.h>

#include "sim/sim_report.h"
#include "spad/spad.h"
#include "support/kernels.h"
#include "support/support.h"

/* One of ten units: 10 B/ns of the memory. A tile of 8192 B takes 819.2 ns of it, 128 ns on a path.
 */
static const char chip_text[] =
    "target chip\n"
    "units 10%s\n"
    "space shared { bytes 228 KiB }\n"
    "space registers { bytes 256 KiB }\n"
    "space global { off chip; rate 100 B/ns; cache 1 MiB rate 1000 B/ns%s }\n"
    "engine copy {\n"
    "    path global to shared rate 64 B/ns latency 600 ns%s\n"
    "    path shared to global rate 64 B/ns\n"
    "    reads shared, global; writes shared, global\n"
    "}\n"
    "engine simt {\n"
    "    path registers to global rate 64 B/ns%s\n"
    "    reads registers, global; writes registers, global\n"
    "}\n"
    "engine tensor { clock 1 GHz; elements 1 fma%s; reads shared; writes shared }\n";

typedef struct chip_words {
    const char *units;
    const char *memory;
    const char *paths;
    const char *tensor;
} chip_words;

static const char *of_copies = ""; /* words of the path of copies */

typedef struct run {
    spad_target *chip;
    spad_kernel *kernel;
    spad_sim *sim;
} run;

static spad_status start(run *r, const chip_words *w, const char *kernel, const spad_host *host,
                         spad_error *error) {
    char text[1536];
    snprintf(text, sizeof text, chip_text, w->units, w->memory, of_copies, w->paths, w->tensor);
    *r = (run){0};
    spad_status status = spad_target_parse(&r->chip, text, strlen(text), "chip", NULL, host, error);
    if (status != SPAD_OK) return status;
    const spad_kernel_options options = {.target = r->chip, .host = host};
    status = spad_kernel_parse(&r->kernel, kernel, strlen(kernel), "k", &options, NULL, error);
    if (status != SPAD_OK) return status;
    const spad_sim_options how = {.host = host};
    return spad_sim_create(&r->sim, r->kernel, &how, error);
}

static void end(run *r) {
    spad_sim_destroy(r->sim);
    spad_kernel_destroy(r->kernel);
    spad_target_destroy(r->chip);
}

static run started(const chip_words *w, const char *kernel) {
    run r;
    spad_error error;
    if (start(&r, w, kernel, NULL, &error) != SPAD_OK) fail_msg("%s", error.message);
    assert_null(spad_sim_get_stuck(r.sim));
    return r;
}

static const chip_words plain = {"", "", "", ""};

/* Picoseconds of the grid. */
static int64_t time_of(const chip_words *w, const char *kernel) {
    run r = started(w, kernel);
    const int64_t time = spad_sim_get_totals(r.sim).time;
    end(&r);
    return time;
}

static int64_t makespan_of(const chip_words *w, const char *kernel) {
    run r = started(w, kernel);
    const int64_t time = spad_sim_get_totals(r.sim).makespan;
    end(&r);
    return time;
}

/* ---- reads and writes --------------------------------------------------------------- */

#define STREAM(stores)                              \
    "kernel k on chip\ngrid 10\n"                   \
    "unit in on copy free\nunit out on copy free\n" \
    "group loads\ngroup saves\n"                    \
    "tensor g : global bf16 [64] (64, 64) input\n"  \
    "tensor h : global bf16 [64] (64, 64) output\n" \
    "tensor s : shared bf16 [64] (64, 64) ring 8\n" \
    "for i in 0..64 {\n"                            \
    "    in load reads g[i] writes s[i] in loads\n" \
    "    commit loads\n"                            \
    "    wait loads pending 4\n" stores "}\n"       \
    "wait loads pending 0\n"
#define SAVES                                        \
    "    out save reads s[i] writes h[i] in saves\n" \
    "    commit saves\n    wait saves pending 4\n"

/* 64 tiles in and 64 out: the memory works for all 128, however many paths there are. */
static void reads_and_writes_share_the_memory(void **state) {
    (void)state;
    const int64_t tile = 819200;
    const int64_t both = time_of(&plain, STREAM(SAVES));
    const int64_t reads = time_of(&plain, STREAM(""));
    assert_true(reads >= 64 * tile && reads < 66 * tile);
    assert_true(both >= 128 * tile);
    assert_true(both < 131 * tile);
    run r = started(&plain, STREAM(SAVES));
    const spad__sim_roof roof = spad__sim_get_roof(r.sim, 0);
    assert_int_equal(roof.engine, -1);
    assert_int_equal(roof.memory, 2);
    assert_false(roof.cache);
    assert_int_equal(roof.kind, SPAD__BOUND_COPIES);
    assert_int_equal(roof.busy, 128 * tile);
    assert_int_equal(spad_sim_get_totals(r.sim).bound, 128 * tile);
    test_text text;
    test_text_init(&text);
    spad_error error;
    assert_int_equal(spad_sim_write(r.sim, SPAD_FORMAT_TEXT, &text.sink, &error), SPAD_OK);
    assert_non_null(strstr(text.bytes, "by copies: memory of global works"));
    test_text_free(&text);
    end(&r);
}

static void writes_may_take_longer(void **state) {
    (void)state;
    const chip_words slow = {"", "; written 50 B/ns", "", ""};
    const int64_t tile = 819200;
    const int64_t both = time_of(&slow, STREAM(SAVES));
    assert_true(both >= 64 * tile + 64 * 2 * tile);
    assert_true(both < 64 * tile + 67 * 2 * tile);
    assert_int_equal(time_of(&slow, STREAM("")), time_of(&plain, STREAM("")));
}

/* Where transfers wait for those of others, those of both directions count. */
static void both_directions_are_in_the_queue(void **state) {
    (void)state;
    const chip_words queued = {"", "; queue 20 percent", "", ""};
    const int64_t both = time_of(&queued, STREAM(SAVES));
    assert_true(both >= time_of(&plain, STREAM(SAVES)));
    assert_true(both > time_of(&queued, STREAM("")) * 19 / 10);
}

/* ---- caches ------------------------------------------------------------------------- */

#define LOADS(clause)                                       \
    "kernel k on chip\n"                                    \
    "unit cp on copy free\ngroup loads\n"                   \
    "tensor g : global bf16 [8] (64, 64) input" clause "\n" \
    "tensor s : shared bf16 [8] (64, 64) ring 1\n"          \
    "for i in 0..8 {\n"                                     \
    "    cp load reads g[i] writes s[i] in loads\n"         \
    "    commit loads\n    wait loads pending 0\n}\n"

static void a_cache_answers_sooner(void **state) {
    (void)state;
    const chip_words hits = {"", "; hit 200 ns", "", ""};
    assert_int_equal(makespan_of(&hits, LOADS("")), 8 * 728000);
    assert_int_equal(makespan_of(&hits, LOADS(" cached 1 of 1")), 8 * 328000);
    assert_int_equal(makespan_of(&hits, LOADS(" cached 1 of 2")), 4 * 728000 + 4 * 328000);
    assert_int_equal(makespan_of(&hits, LOADS(" cached 0 of 2")), 8 * 728000);
    assert_int_equal(makespan_of(&hits, LOADS(" cached 9 of 2")), 8 * 328000);
    assert_int_equal(makespan_of(&plain, LOADS(" cached 1 of 1")), 8 * 728000); /* no figure */
    /* a path has one of its own, beside that of the space or without it */
    of_copies = " hit 100 ns";
    assert_int_equal(makespan_of(&hits, LOADS(" cached 1 of 2")), 4 * 728000 + 4 * 228000);
    assert_int_equal(makespan_of(&plain, LOADS(" cached 1 of 2")), 4 * 728000 + 4 * 228000);
    of_copies = "";
}

/* What the cache has is not asked of the memory. */
static void the_memory_is_not_asked(void **state) {
    (void)state;
    run r = started(&plain, "kernel k on chip\ngrid 10\n"
                            "tensor g : global bf16 [8] (64, 64) input cached 1 of 2\n"
                            "tensor s : shared bf16 [8] (64, 64) ring 8\n"
                            "for i in 0..8 { copy load reads g[i] writes s[i] }\n");
    size_t seen = 0;
    for (size_t i = 0; i < spad__sim_roof_count(r.sim); i++) {
        const spad__sim_roof roof = spad__sim_get_roof(r.sim, i);
        if (roof.memory < 0) continue;
        assert_int_equal(roof.busy, roof.cache ? 8 * 81920 : 4 * 819200);
        seen++;
    }
    assert_int_equal(seen, 2);
    end(&r);
}

/* ---- pieces ------------------------------------------------------------------------- */

#define STORE(clause)                                                   \
    "kernel k on chip\ntensor g : global f32 (2048) output" clause "\n" \
    "tensor v : registers f32 (2048)\nsimt clear writes v cost 1 ns\n"  \
    "simt store reads v writes g\n"

static void small_pieces_are_slow(void **state) {
    (void)state;
    const chip_words paths = {"", "",
                              "; path registers to global rate 4 B/ns pieces 4 B"
                              "; path registers to global rate 16 B/ns pieces 8 B",
                              ""};
    assert_int_equal(makespan_of(&paths, STORE("")), 1000 + 128000);
    assert_int_equal(makespan_of(&paths, STORE(" pieces 2")), 1000 + 2048000);
    assert_int_equal(makespan_of(&paths, STORE(" pieces 4")), 1000 + 2048000);
    assert_int_equal(makespan_of(&paths, STORE(" pieces 8")), 1000 + 512000);
    assert_int_equal(makespan_of(&paths, STORE(" pieces 16")), 1000 + 128000);
    assert_int_equal(makespan_of(&plain, STORE(" pieces 4")), 1000 + 128000);
}

/* ---- queues, signals, starts -------------------------------------------------------- */

/* Four operations of 100 ns, then one of the agent itself. */
static const char issues[] = "kernel k on chip\nunit mma on tensor fifo\n"
                             "tensor s : shared bf16 (64, 64)\n"
                             "for i in 0..4 { mma one writes s cost 100 ns }\n"
                             "simt two cost 1 ns\n";

static int64_t start_of_two(const chip_words *w) {
    run r = started(w, issues);
    int64_t at = -1;
    for (size_t i = 0; i < spad__sim_row_count(r.sim); i++) {
        const spad__sim_row row = spad__sim_get_row(r.sim, i);
        const spad_statement *s = spad_kernel_get_statement(r.kernel, (size_t)row.statement);
        if (strcmp(s->name, "two") == 0) at = row.start;
    }
    end(&r);
    return at;
}

static void an_agent_waits_where_a_queue_is_full(void **state) {
    (void)state;
    assert_int_equal(start_of_two(&plain), 0);
    assert_int_equal(start_of_two(&(chip_words){"", "", "", "; queue 4"}), 0);
    assert_int_equal(start_of_two(&(chip_words){"", "", "", "; queue 3"}), 100000);
    assert_int_equal(start_of_two(&(chip_words){"", "", "", "; queue 1"}), 300000);
    assert_int_equal(start_of_two(&(chip_words){"", "", "", "; queue 5000"}), 0);
}

/* A full queue is no reason to be stuck: the signal that the first entry waits for comes after. */
static void a_full_queue_is_lengthened(void **state) {
    (void)state;
    const chip_words one = {"", "", "", "; queue 1"};
    assert_int_equal(makespan_of(&one, "kernel k on chip\nunit mma on tensor fifo\ncounter c\n"
                                       "tensor s : shared bf16 (64, 64)\n"
                                       "take c on mma\nmma a writes s cost 10 ns\n"
                                       "mma b writes s cost 10 ns\nsignal c\n"),
                     20000);
}

static const char turns[] = "kernel k on chip\nmbarrier m count 1\ninit m\n"
                            "agent a { simt one cost 10 ns\narrive m }\n"
                            "agent b { wait m parity 0\ntensor two cost 5 ns }\n";

static void who_waits_sees_an_arrival_later(void **state) {
    (void)state;
    assert_int_equal(makespan_of(&plain, turns), 15000);
    assert_int_equal(makespan_of(&(chip_words){" signal 40 ns", "", "", ""}, turns), 55000);
    /* who comes later, and who waits for what a copy delivers, does not */
    assert_int_equal(makespan_of(&(chip_words){" signal 40 ns", "", "", ""},
                                 "kernel k on chip\nmbarrier m count 1\ninit m\narrive m\n"
                                 "simt one cost 10 ns\nwait m parity 0\ntensor two cost 5 ns\n"),
                     15000);
    assert_int_equal(makespan_of(&(chip_words){" signal 40 ns", "", "", ""},
                                 "kernel k on chip\nunit cp on copy free\nmbarrier m count 1\n"
                                 "init m\ntensor s : shared bf16 (64, 64)\n"
                                 "arrive m expect 8 KiB\n"
                                 "cp load writes s delivers m cost 10 ns\n"
                                 "wait m parity 0\ntensor two cost 5 ns\n"),
                     15000);
}

/* A loop of turns is extrapolated with the moments in it. */
static void long_loops_have_them_too(void **state) {
    (void)state;
    static const char text[] = "kernel k on chip\nparam N = %d\nmbarrier m count 1\n"
                               "mbarrier w count 1\ninit m\ninit w\n"
                               "agent a { for i in 0..N { simt one cost 10 ns\narrive m\n"
                               "          wait w parity i %% 2 } }\n"
                               "agent b { for i in 0..N { wait m parity i %% 2\n"
                               "          tensor two cost 5 ns\narrive w } }\n";
    const chip_words words = {" signal 40 ns", "", "", ""};
    char kernel[512];
    for (int n = 1; n <= 100000; n *= 10) {
        snprintf(kernel, sizeof kernel, text, n);
        assert_int_equal(makespan_of(&words, kernel), (int64_t)n * 95000 - 40000);
    }
}

static void later_waves_start_their_blocks(void **state) {
    (void)state;
    static const char text[] = "kernel k on chip\ngrid %d\nsimt one cost 100 ns\n";
    const chip_words words = {" launch 5 us block 700 ns", "", "", ""};
    char kernel[128];
    const int grids[] = {1, 10, 11, 30, 35};
    const int waves[] = {1, 1, 2, 3, 4};
    for (size_t i = 0; i < sizeof grids / sizeof grids[0]; i++) {
        snprintf(kernel, sizeof kernel, text, grids[i]);
        assert_int_equal(time_of(&words, kernel),
                         5000000 + waves[i] * 100000 + (waves[i] - 1) * 700000);
    }
}

/* ---- texts and failures ------------------------------------------------------------- */

static const chip_words everything = {
    " launch 5 us block 700 ns signal 40 ns", "; written 50 B/ns; hit 200 ns; queue 20 percent",
    "; path registers to global rate 4 B/ns hit 90 ns pieces 4 B", "; queue 3"};

static void fields_are_written_and_read_again(void **state) {
    (void)state;
    run r = started(&everything, STORE(" cached 1 of 2 pieces 4"));
    test_text text;
    spad_error error;
    spad_target *again;
    test_text_init(&text);
    assert_int_equal(spad_target_write(r.chip, SPAD_FORMAT_TEXT, &text.sink, &error), SPAD_OK);
    assert_non_null(strstr(text.bytes, "launch 5000 ns block 700 ns signal 40 ns"));
    assert_int_equal(
        spad_target_parse(&again, text.bytes, strlen(text.bytes), "again", NULL, NULL, &error),
        SPAD_OK);
    assert_int_equal(again->block_ns, 700);
    assert_int_equal(again->signal_ns, 40);
    assert_int_equal(again->spaces[2].write_bytes_per_us, 50000);
    assert_int_equal(again->spaces[2].cache_latency_ns, 200);
    assert_int_equal(again->engines[2].queue_most, 3);
    assert_int_equal(again->engines[1].path_count, 2);
    assert_int_equal(again->engines[1].paths[1].pieces, 4);
    assert_int_equal(again->engines[1].paths[1].hit_ns, 90);
    spad_target_destroy(again);
    test_text_free(&text);
    test_text_init(&text);
    assert_int_equal(spad_kernel_write_text(r.kernel, &text.sink, &error), SPAD_OK);
    assert_non_null(strstr(text.bytes, "cached 1 of 2 pieces 4 output"));
    test_text_free(&text);
    end(&r);
}

static void assert_refused(const chip_words *w, const char *kernel, spad_status status,
                           const char *message) {
    run r;
    spad_error error;
    assert_int_equal(start(&r, w, kernel, NULL, &error), status);
    if (strstr(error.message, message) == NULL) fail_msg("%s", error.message);
    end(&r);
}

static void what_is_wrong_is_refused(void **state) {
    (void)state;
    assert_refused(&(chip_words){"", "; hit 0 ns", "", ""}, turns, SPAD_ERR_SYNTAX, "at least 1");
    assert_refused(&(chip_words){"", "; written 0 B/ns", "", ""}, turns, SPAD_ERR_SYNTAX,
                   "at least 1");
    assert_refused(&(chip_words){"", "", "", "; queue 0"}, turns, SPAD_ERR_SYNTAX, "at least 1");
    assert_refused(&(chip_words){"", "", "; path registers to global rate 4 B/ns pieces 0 B", ""},
                   turns, SPAD_ERR_SYNTAX, "'pieces' must be at least 1");
    assert_refused(&(chip_words){"", "", "; path registers to global rate 4 B/ns hit 0 ns", ""},
                   turns, SPAD_ERR_SYNTAX, "'hit' must be at least 1");
    assert_refused(&(chip_words){"", "", "; path registers to global rate 4 B/ns pieces x", ""},
                   turns, SPAD_ERR_SYNTAX, "expected");
    assert_refused(&(chip_words){" block x", "", "", ""}, turns, SPAD_ERR_SYNTAX, "expected");
    assert_refused(&plain, STORE(" cached 1"), SPAD_ERR_SYNTAX, "expected");
    assert_refused(&plain, STORE(" cached -1 of 2"), SPAD_ERR_SYNTAX, "'cached' is negative");
    assert_refused(&plain, STORE(" pieces -1"), SPAD_ERR_SYNTAX, "'pieces' is negative");
    assert_refused(&(chip_words){" signal 9000000000000000000 ns", "", "", ""}, turns,
                   SPAD_ERR_OVERFLOW, "2^63");
    assert_refused(&(chip_words){" signal 9223372036854775 ns", "", "", ""}, turns,
                   SPAD_ERR_OVERFLOW, "2^63");
    assert_refused(&(chip_words){" block 9000000000000000000 ns", "", "", ""},
                   "kernel k on chip\ngrid 11\nsimt one cost 1 ns\n", SPAD_ERR_OVERFLOW, "2^63");
}

static spad_status simulate(const spad_host *host, void *context) {
    run r;
    spad_error error;
    const spad_status status = start(&r, &everything, context, host, &error);
    end(&r);
    return status;
}

static void every_request_for_memory_may_fail(void **state) {
    (void)state;
    static char first[] = "kernel k on chip\ngrid 12\nunit in on copy free\ngroup loads\n"
                          "tensor g : global bf16 [2] (64, 64) input cached 1 of 2 pieces 4\n"
                          "tensor s : shared bf16 [2] (64, 64) ring 2\n"
                          "for i in 0..2 {\n    in load reads g[i] writes s[i] in loads\n"
                          "    commit loads\n}\nwait loads pending 0\n";
    static char second[] = "kernel k on chip\nmbarrier m count 1\ninit m\n"
                           "agent a { simt one cost 10 ns\narrive m }\n"
                           "agent b { wait m parity 0\ntensor two cost 5 ns }\n";
    test_fail_each_allocation(simulate, first);
    test_fail_each_allocation(simulate, second);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_and_writes_share_the_memory),
        cmocka_unit_test(writes_may_take_longer),
        cmocka_unit_test(both_directions_are_in_the_queue),
        cmocka_unit_test(a_cache_answers_sooner),
        cmocka_unit_test(the_memory_is_not_asked),
        cmocka_unit_test(small_pieces_are_slow),
        cmocka_unit_test(an_agent_waits_where_a_queue_is_full),
        cmocka_unit_test(a_full_queue_is_lengthened),
        cmocka_unit_test(who_waits_sees_an_arrival_later),
        cmocka_unit_test(long_loops_have_them_too),
        cmocka_unit_test(later_waves_start_their_blocks),
        cmocka_unit_test(fields_are_written_and_read_again),
        cmocka_unit_test(what_is_wrong_is_refused),
        cmocka_unit_test(every_request_for_memory_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
