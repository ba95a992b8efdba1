/* SPDX-License-Identifier: Apache-2.0
 * The costs in target files: rates, latencies, paths, where they come from; files that start from a
 * built-in target. */
#include "support/support.h"
#include "target/target.h"

#include <string.h>

#include "spad/target.h"
#include "support/faults.h"

static const char costs_text[] =
    "target t \"costs\"\n"
    "units 132 source \"datasheet\"\n"
    "limits { unit_threads 2048; register_step 256 }\n"
    "space shared { bytes 228 KiB }\n"
    "space registers { bytes 256 KiB; thread 1020 }\n"
    "space global {\n"
    "    off chip\n"
    "    rate 4.8 TB/s source \"datasheet\"\n"
    "    cache 50 MiB rate 5500 GB/s measured \"by hand\"\n"
    "}\n"
    "engine tensor {\n"
    "    estimate\n"
    "    clock 1.83 GHz source \"paper\"\n"
    "    macs 2048 at bf16, fp16 source \"whitepaper\"\n"
    "    macs 1024 at tf32\n"
    "    latency 60 cycles\n"
    "    threads 128\n"
    "    reads registers; writes registers\n"
    "}\n"
    "engine simt {\n"
    "    clock 1.83 GHz\n"
    "    elements 128 fma\n"
    "    elements 16 exp measured \"loop\"\n"
    "    elements 64 convert\n"
    "    elements 64 reduce estimate \"half of fma\"\n"
    "    latency 20 ns\n"
    "    path shared to registers rate 128 B/cycle latency 30 cycles\n"
    "    path registers to global rate 62.5 B/ns latency 1 us source \"guide\"\n"
    "    reads shared, registers, global; writes shared, registers, global\n"
    "}\n";

static spad_target *parse(const char *text) {
    spad_target *target;
    spad_error error;
    const spad_status status =
        spad_target_parse(&target, text, strlen(text), "f", NULL, NULL, &error);
    if (status != SPAD_OK) fail_msg("%s", error.message);
    return target;
}

static void assert_figure(const spad_figure *figure, spad_origin origin, const char *source) {
    assert_non_null(figure);
    assert_int_equal(figure->origin, origin);
    assert_string_equal(figure->source, source);
}

static void costs_are_read(void **state) {
    (void)state;
    spad_target *t = parse(costs_text);
    assert_int_equal(t->units, 132);
    assert_figure(spad__figure_find(t->figures, t->figure_count, "units"), SPAD_ORIGIN_PUBLISHED,
                  "datasheet");
    assert_int_equal(t->limits.unit_threads, 2048);
    assert_int_equal(t->limits.register_step, 256);
    const spad_space *global = &t->spaces[2];
    assert_int_equal(global->bytes_per_us, 4800000);
    assert_int_equal(global->cache_bytes, 50 << 20);
    assert_int_equal(global->cache_bytes_per_us, 5500000);
    assert_figure(spad__figure_find(global->figures, global->figure_count, "cache"),
                  SPAD_ORIGIN_MEASURED, "by hand");
    spad_target_destroy(t);
}

static void rates_are_read(void **state) {
    (void)state;
    spad_target *t = parse(costs_text);
    const spad_engine *e = &t->engines[0];
    assert_int_equal(e->rate_count, 3);
    assert_int_equal(e->rates[0].work, SPAD_WORK_MAC);
    assert_int_equal(e->rates[0].dtype, SPAD_BFLOAT16);
    assert_int_equal(e->rates[1].dtype, SPAD_FLOAT16);
    assert_int_equal(e->rates[1].per_cycle, 2048);
    assert_int_equal(e->rates[2].dtype, SPAD_TFLOAT32);
    assert_figure(&e->rates[1].figure, SPAD_ORIGIN_PUBLISHED, "whitepaper");
    assert_figure(&e->rates[2].figure, SPAD_ORIGIN_ESTIMATE, ""); /* that of the block */
    assert_figure(spad__figure_find(e->figures, e->figure_count, "clock"), SPAD_ORIGIN_PUBLISHED,
                  "paper");
    assert_figure(spad__figure_find(e->figures, e->figure_count, "latency"), SPAD_ORIGIN_ESTIMATE,
                  "");
    assert_int_equal(e->latency_cycles, 60);
    assert_int_equal(e->latency_ns, 0);
    assert_int_equal(e->threads, 128);
    e = &t->engines[1];
    assert_int_equal(e->rate_count, 4);
    assert_int_equal(e->rates[1].work, SPAD_WORK_EXP);
    assert_int_equal(e->rates[3].work, SPAD_WORK_REDUCE);
    assert_figure(&e->rates[3].figure, SPAD_ORIGIN_ESTIMATE, "half of fma");
    assert_figure(&e->rates[0].figure, SPAD_ORIGIN_STATED, "");
    assert_int_equal(e->latency_ns, 20);
    assert_int_equal(e->path_count, 2);
    assert_int_equal(e->paths[0].bytes_per_kilocycle, 128000);
    assert_int_equal(e->paths[0].latency_cycles, 30);
    assert_int_equal(e->paths[1].bytes_per_us, 62500);
    assert_int_equal(e->paths[1].latency_ns, 1000);
    assert_int_equal(e->paths[1].from, 1);
    assert_int_equal(e->paths[1].to, 2);
    spad_target_destroy(t);
}

static void names_of_kinds(void **state) {
    (void)state;
    assert_string_equal(spad__origin_name(SPAD_ORIGIN_MEASURED), "measured");
    assert_string_equal(spad__origin_name(SPAD_ORIGINS), "?");
    assert_string_equal(spad__work_name(SPAD_WORK_CONVERT), "convert");
    assert_string_equal(spad__work_name(SPAD_WORKS), "?");
    assert_null(spad__figure_find(NULL, 0, "clock"));
}

/* Text -> target -> text -> target -> text: the two texts are the same. */
static void check_text_round_trip(const spad_target *target) {
    test_text first;
    test_text second;
    test_text_init(&first);
    test_text_init(&second);
    assert_int_equal(spad_target_write(target, SPAD_FORMAT_TEXT, &first.sink, NULL), SPAD_OK);
    spad_target *again = parse(first.bytes);
    assert_int_equal(spad_target_write(again, SPAD_FORMAT_TEXT, &second.sink, NULL), SPAD_OK);
    assert_string_equal(first.bytes, second.bytes);
    test_text_clear(&first);
    test_text_clear(&second);
    assert_int_equal(spad_target_write(target, SPAD_FORMAT_JSON, &first.sink, NULL), SPAD_OK);
    assert_non_null(strstr(first.bytes, "\"units\""));
    spad_target_destroy(again);
    test_text_free(&first);
    test_text_free(&second);
}

static void costs_are_written(void **state) {
    (void)state;
    spad_target *t = parse(costs_text);
    test_text text;
    check_text_round_trip(t);
    test_text_init(&text);
    assert_int_equal(spad_target_write(t, SPAD_FORMAT_TEXT, &text.sink, NULL), SPAD_OK);
    static const char *const parts[] = {
        "units 132 source \"datasheet\"\n",
        "    rate      4800 B/ns source \"datasheet\"\n",
        "    cache     50 MiB rate 5500 B/ns measured \"by hand\"\n",
        "    clock     1.83 GHz source \"paper\"\n",
        "    macs      2048 at float16 source \"whitepaper\"\n",
        "    latency   60 cycles estimate\n",
        "    elements  64 reduce estimate \"half of fma\"\n",
        "    path      shared to registers rate 128 B/cycle latency 30 cycles\n",
        "    path      registers to global rate 62.5 B/ns latency 1000 ns source \"guide\"\n",
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (strstr(text.bytes, parts[i]) == NULL) fail_msg("no %s in %s", parts[i], text.bytes);
    }
    test_text_free(&text);
    spad_target_destroy(t);
}

/* ---- files that start from a built-in target --------------------------------------- */

/* The text of a target without its first line, and without names that a file cannot have. */
static void assert_same_text(const spad_target *a, const spad_target *b) {
    test_text one;
    test_text two;
    test_text_init(&one);
    test_text_init(&two);
    assert_int_equal(spad_target_write(a, SPAD_FORMAT_TEXT, &one.sink, NULL), SPAD_OK);
    assert_int_equal(spad_target_write(b, SPAD_FORMAT_TEXT, &two.sink, NULL), SPAD_OK);
    assert_string_equal(strchr(one.bytes, '\n'), strchr(two.bytes, '\n'));
    test_text_free(&one);
    test_text_free(&two);
}

static void like_a_built_in_target(void **state) {
    (void)state;
    for (size_t i = 0; i < spad_target_count(); i++) {
        const spad_target *built_in = spad_target_get(i);
        char text[256];
        size_t used =
            (size_t)snprintf(text, sizeof text, "target mine like \"%s\"\n", built_in->name);
        for (size_t a = 0; a < built_in->alias_count; a++) {
            used += (size_t)snprintf(text + used, sizeof text - used, "alias \"%s\"\n",
                                     built_in->aliases[a]);
        }
        spad_target *t = parse(text);
        assert_same_text(t, built_in);
        assert_int_equal(t->space_count, built_in->space_count);
        for (size_t e = 0; e < t->engine_count; e++) {
            assert_true(t->engines[e].reads == built_in->engines[e].reads);
            assert_true(t->engines[e].writes == built_in->engines[e].writes);
        }
        spad_target_destroy(t);
    }
}

static void blocks_amend_rows(void **state) {
    (void)state;
    spad_target *t = parse("target card \"a card\" like sm_90\n"
                           "groups 8\n"
                           "units 3 estimate\n"
                           "limits { threads 512 }\n"
                           "space shared \"smaller\" { bytes 100 KiB; instances 2 }\n"
                           "engine tensor { clock 2 GHz; macs 7 at bf16 measured \"here\" }\n"
                           "engine extra { reads shared }\n");
    const spad_target *old;
    assert_int_equal(spad_target_find(&old, "sm_90", NULL), SPAD_OK);
    assert_string_equal(t->family, "nvidia");
    assert_int_equal(t->max_groups, 8);
    assert_int_equal(t->limits.threads, 512);
    assert_int_equal(t->limits.registers, 65536);
    assert_int_equal(t->space_count, 5);
    assert_string_equal(t->spaces[0].about, "smaller");
    assert_int_equal(t->spaces[0].bytes, 102400);
    assert_int_equal(t->spaces[0].reserved, 1024);
    assert_string_equal(t->spaces[1].about, old->spaces[1].about);
    assert_int_equal(t->engine_count, old->engine_count + 1);
    assert_int_equal(t->engines[1].clock_khz, 2000000);
    bool found = false;
    for (size_t i = 0; i < t->engines[1].rate_count; i++) {
        const spad_rate *rate = &t->engines[1].rates[i];
        if (rate->dtype != SPAD_BFLOAT16) continue;
        found = true;
        assert_int_equal(rate->per_cycle, 7);
        assert_figure(&rate->figure, SPAD_ORIGIN_MEASURED, "here");
    }
    assert_true(found);
    /* a clock without a source has not that of the clock that it replaces */
    const spad_figure *clock =
        spad__figure_find(t->engines[1].figures, t->engines[1].figure_count, "clock");
    assert_true(clock == NULL || clock->origin == SPAD_ORIGIN_STATED);
    check_text_round_trip(t);
    spad_target_destroy(t);
}

static const struct {
    const char *text;
    const char *message;
} faults[] = {
    {"target t like sm_99x\n", "no target is called 'sm_99x'"},
    {"target t like\n", "expected the name of a built-in target"},
    {"target t like sm_90\nspace shared { }\nspace shared { }\n", "a second space 'shared'"},
    {"target t like sm_90\nengine copy { }\nengine copy { }\n", "a second engine 'copy'"},
    {"target t\nunits 0\n", "'units' must be at least 1"},
    {"target t\nunits many\n", "expected a whole number"},
    {"target t\nunits 1\nunits 2\n", "'units' is given twice"},
    {"target t\nunits 1 source\n", "expected a text in quotes"},
    {"target t\nspace s { bytes 4; rate 0 MB/s }\n", "'rate' must be at least 1"},
    {"target t\nspace s { bytes 4; cache 1 KiB }\n", "expected 'rate'"},
    {"target t\nspace s { bytes 4; cache 0 rate 1 MB/s }\n", "size and rate must be at least 1"},
    {"target t\nspace s { bytes 4; cache x }\n", "expected a size"},
    {"target t\nspace s { bytes 4 measured 7 }\n", "expected a text in quotes"},
    {"target t\nspace s { bytes 4; estimate; estimate }\n", "a second source for the whole block"},
    {"target t\nspace s { bytes 4; source }\n", "expected a text in quotes"},
    {"target t\nengine e { macs 0 at bf16 }\n", "'macs' must be at least 1"},
    {"target t\nengine e { macs x at bf16 }\n", "expected a whole number"},
    {"target t\nengine e { macs 4 }\n", "expected 'at'"},
    {"target t\nengine e { macs 4 at }\n", "expected an element type"},
    {"target t\nengine e { macs 4 at bf61 }\n", "bf61"},
    {"target t\nengine e { macs 4 at bf16, bf16 }\n", "the rate of bfloat16 is given twice"},
    {"target t\nengine e { elements 4 }\n", "expected fma, exp, convert or reduce"},
    {"target t\nengine e { elements x fma }\n", "expected a whole number"},
    {"target t\nengine e { elements 4 exq }\n", "no kind of work is called 'exq'; did you mean"},
    {"target t\nengine e { elements 4 fma; elements 5 fma }\n", "the rate of fma is given twice"},
    {"target t\nengine e { latency 5 }\n", "expected a unit"},
    {"target t\nengine e { latency 5 GB }\n", "is not a unit of a latency"},
    {"target t\nspace s { bytes 4 }\nengine e { path s s }\n", "expected 'to'"},
    {"target t\nspace s { bytes 4 }\nengine e { path s to z }\n", "'z' is not a space"},
    {"target t\nspace s { bytes 4 }\nengine e { path x to s }\n", "'x' is not a space"},
    {"target t\nspace s { bytes 4 }\nengine e { path s to s }\n", "expected 'rate'"},
    {"target t\nspace s { bytes 4 }\nengine e { path s to s rate 4 }\n", "expected a unit"},
    {"target t\nspace s { bytes 4 }\nengine e { path s to s rate 0 B/ns }\n",
     "'rate' must be at least 1"},
    {"target t\nspace s { bytes 4 }\nengine e { path s to s rate 1 B/ns latency x }\n",
     "expected a latency"},
    {"target t\nspace s { bytes 4 }\nengine e { path s to s rate 1 B/ns\n path s to s rate 2 "
     "B/ns }\n",
     "this path is given twice"},
};

static void faults_are_found(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        spad_target *target;
        spad_error error;
        const char *text = faults[i].text;
        const spad_status status =
            spad_target_parse(&target, text, strlen(text), "f", NULL, NULL, &error);
        assert_int_equal(status, SPAD_ERR_SYNTAX);
        if (strstr(error.message, faults[i].message) == NULL) {
            fail_msg("%s\ngives: %s\nwanted: %s", text, error.message, faults[i].message);
        }
    }
}

/* A figure of a row that a file amends replaces the one that was there, with its source. */
static void a_figure_has_one_source(void **state) {
    (void)state;
    spad_target *target;
    spad_error error;
    const char *text = "target t like sm_90\n"
                       "space global { rate 5 TB/s source \"x\"; hit 9 ns }\n"
                       "engine tensor { clock 1 GHz source \"y\"; queue 2 }\n";
    assert_int_equal(spad_target_parse(&target, text, strlen(text), "f", NULL, NULL, &error),
                     SPAD_OK);
    const size_t global = 3;
    const spad_space *space = &target->spaces[global];
    assert_string_equal(space->name, "global");
    for (size_t i = 0; i < space->figure_count; i++) {
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(space->figures[i].field, space->figures[k].field);
        }
    }
    assert_string_equal(spad__figure_find(space->figures, space->figure_count, "rate")->source,
                        "x");
    assert_int_equal(spad__figure_find(space->figures, space->figure_count, "hit")->origin,
                     SPAD_ORIGIN_STATED);
    assert_int_equal(spad__figure_find(space->figures, space->figure_count, "queue")->origin,
                     SPAD_ORIGIN_MEASURED);
    const spad_engine *tensor = &target->engines[1];
    assert_string_equal(tensor->name, "tensor");
    assert_string_equal(spad__figure_find(tensor->figures, tensor->figure_count, "clock")->source,
                        "y");
    assert_int_equal(spad__figure_find(tensor->figures, tensor->figure_count, "queue")->origin,
                     SPAD_ORIGIN_STATED);
    spad_target_destroy(target);
}

/* More rates, sources or instances than tables hold. */
static void tables_are_limited(void **state) {
    (void)state;
    spad_target *target;
    spad_error error;
    char text[32768] = "target t\nspace s { bytes 4 }\nengine e {\n";
    for (int i = 0; i < 300; i++) strcat(text, "reads s source \"x\"\n");
    strcat(text, "}\n");
    assert_int_equal(spad_target_parse(&target, text, strlen(text), "f", NULL, NULL, &error),
                     SPAD_ERR_SYNTAX); /* 'reads' twice */
    const char *crowded = "target t like sm_90\nspace a { bytes 4; instances 60 }\n";
    assert_int_equal(spad_target_parse(&target, crowded, strlen(crowded), "f", NULL, NULL, &error),
                     SPAD_ERR_SYNTAX);
    assert_non_null(strstr(error.message, "too many instances of spaces"));
}

static spad_status read_costs(const spad_host *host, void *context) {
    spad_target *target;
    const char *text = context;
    const spad_status status =
        spad_target_parse(&target, text, strlen(text), "f", NULL, host, NULL);
    spad_target_destroy(target);
    return status;
}

static void reading_survives_failing_allocations(void **state) {
    (void)state;
    char text[sizeof costs_text];
    memcpy(text, costs_text, sizeof text);
    test_fail_each_allocation(read_costs, text);
    char like[] = "target t like sm_90\nunits 3 source \"x\"\nspace global { rate 5 GB/s }\n"
                  "engine tensor { macs 4 at bf16 source \"y\" }\n"
                  "engine copy { path global to shared rate 7 B/cycle }\n";
    test_fail_each_allocation(read_costs, like);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(costs_are_read),
        cmocka_unit_test(rates_are_read),
        cmocka_unit_test(names_of_kinds),
        cmocka_unit_test(costs_are_written),
        cmocka_unit_test(like_a_built_in_target),
        cmocka_unit_test(blocks_amend_rows),
        cmocka_unit_test(faults_are_found),
        cmocka_unit_test(a_figure_has_one_source),
        cmocka_unit_test(tables_are_limited),
        cmocka_unit_test(reading_survives_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
