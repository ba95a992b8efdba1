/* SPDX-License-Identifier: Apache-2.0
 * Target files: what they mean, every fault with its place, and back to text. */
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "spad/target.h"
#include "support/faults.h"

/* ---- the same target? -------------------------------------------------------------- */

static void assert_same_space(const spad_space *a, const spad_space *b) {
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->about, b->about);
    assert_int_equal(a->lanes, b->lanes);
    assert_int_equal(a->bytes, b->bytes);
    assert_int_equal(a->reserved, b->reserved);
    assert_int_equal(a->alignment, b->alignment);
    assert_int_equal(a->granule, b->granule);
    assert_int_equal(a->bank_bytes, b->bank_bytes);
    assert_int_equal(a->plain_limit, b->plain_limit);
    assert_int_equal(a->thread_bytes, b->thread_bytes);
    assert_int_equal(a->banks_exclusive, b->banks_exclusive);
    assert_int_equal(a->power_of_two, b->power_of_two);
    assert_int_equal(a->off_chip, b->off_chip);
    assert_int_equal(a->instances, b->instances);
    assert_int_equal(a->one_instance, b->one_instance);
    assert_int_equal(a->instance, b->instance);
    if (a->instance > 0) assert_int_equal(a->instance_of, b->instance_of);
    assert_int_equal(a->lane_rule_count, b->lane_rule_count);
    for (size_t i = 0; i < a->lane_rule_count; i++) {
        const spad_lane_rule *x = &a->lane_rules[i];
        const spad_lane_rule *y = &b->lane_rules[i];
        assert_int_equal(x->lanes_min, y->lanes_min);
        assert_int_equal(x->lanes_max, y->lanes_max);
        assert_int_equal(x->start_count, y->start_count);
        assert_memory_equal(x->starts, y->starts, x->start_count * sizeof *x->starts);
    }
}

static void assert_same_engine(const spad_engine *a, const spad_engine *b) {
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->about, b->about);
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->clock_khz, b->clock_khz);
    assert_int_equal(a->width, b->width);
    assert_int_equal(a->width_16bit, b->width_16bit);
    assert_int_equal(a->width_8bit, b->width_8bit);
    assert_int_equal(a->min_cycles, b->min_cycles);
    assert_int_equal(a->fixed_cycles, b->fixed_cycles);
    assert_int_equal(a->bytes_per_us, b->bytes_per_us);
    assert_int_equal(a->fixed_ns, b->fixed_ns);
    assert_int_equal(a->proxy_align, b->proxy_align);
    assert_int_equal(a->reads, b->reads);
    assert_int_equal(a->writes, b->writes);
}

static void assert_same_target(const spad_target *a, const spad_target *b) {
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->about, b->about);
    assert_string_equal(a->family, b->family);
    assert_int_equal(a->max_groups, b->max_groups);
    assert_memory_equal(&a->limits, &b->limits, sizeof a->limits);
    assert_int_equal(a->space_count, b->space_count);
    for (size_t i = 0; i < a->space_count; i++) assert_same_space(&a->spaces[i], &b->spaces[i]);
    assert_int_equal(a->engine_count, b->engine_count);
    for (size_t i = 0; i < a->engine_count; i++) assert_same_engine(&a->engines[i], &b->engines[i]);
    assert_int_equal(a->exclusion_count, b->exclusion_count);
    for (size_t i = 0; i < a->exclusion_count; i++) {
        assert_int_equal(a->exclusions[i].engine_a, b->exclusions[i].engine_a);
        assert_int_equal(a->exclusions[i].engine_b, b->exclusions[i].engine_b);
        assert_int_equal(a->exclusions[i].space, b->exclusions[i].space);
    }
    assert_int_equal(a->fence_count, b->fence_count);
    for (size_t i = 0; i < a->fence_count; i++) {
        assert_string_equal(a->fences[i].name, b->fences[i].name);
        assert_int_equal(a->fences[i].kind, b->fences[i].kind);
        assert_int_equal(a->fences[i].spaces, b->fences[i].spaces);
    }
    assert_int_equal(a->alias_count, b->alias_count);
    for (size_t i = 0; i < a->alias_count; i++) assert_string_equal(a->aliases[i], b->aliases[i]);
}

/* ---- reading ----------------------------------------------------------------------- */

static const char full_text[] =
    "# every statement and every field\n"
    "target npu7 \"Example \\\"NPU\\\"\"\n"
    "family example\n"
    "alias \"npu-7\", 77, # lists may continue\n"
    "      n7\n"
    "groups 12\n"
    "limits {\n"
    "    threads 1024; warp 32; barriers 16\n"
    "    arrivals 1048575; expected 1_048_574\n"
    "    flags 8; registers 65536\n"
    "    budget_least 24; budget_most 256; budget_step 8\n"
    "    cluster 8; cluster_most 16\n"
    "}\n"
    "\n"
    "space sbuf \"scratchpad\" {\n"
    "    lanes 128; bytes 192 KiB\n"
    "    reserved 16 KiB\n"
    "    limit 48KiB\n"
    "    thread 1020\n"
    "    align 4\n"
    "    granule 0x20\n"
    "    bank 2 KiB exclusive\n"
    "    size power of two\n"
    "    start 1 to 32 at 0, 32, 64, 96\n"
    "    start 33 at 0,\n"
    "             64\n"
    "}\n"
    "space hbm { off chip }\n"
    "space heap { bytes unbounded }\n"
    "space flash { off chip; bytes 1 TiB; bank 512 }\n"
    "engine vector \"elementwise\" {\n"
    "    clock 960.5 MHz\n"
    "    width 256\n"
    "    width 512 at 16 bit\n"
    "    width 1024 at 8 bit\n"
    "    shortest 64 cycles\n"
    "    dependent 100\n"
    "    reads sbuf, hbm\n"
    "    writes sbuf\n"
    "}\n"
    "engine dma { count 16; rate 27.25 GB/s; startup 1.3 us; align 16; reads hbm }\n"
    "engine idle { }\n"
    "exclusive vector dma on sbuf\n"
    "fence \"any-word\" proxy on sbuf, hbm\nfence issue issue on sbuf\n"
    "fence meet threads on hbm";

static const int64_t row_1[] = {0, 32, 64, 96};
static const int64_t row_2[] = {0, 64};
static const spad_lane_rule full_rules[] = {{1, 32, 4, row_1}, {33, 33, 2, row_2}};
static const spad_space full_spaces[] = {
    {.name = "sbuf",
     .about = "scratchpad",
     .lanes = 128,
     .bytes = 196608,
     .reserved = 16384,
     .plain_limit = 49152,
     .thread_bytes = 1020,
     .alignment = 4,
     .granule = 32,
     .bank_bytes = 2048,
     .banks_exclusive = true,
     .power_of_two = true,
     .lane_rule_count = 2,
     .lane_rules = full_rules},
    {.name = "hbm",
     .about = "",
     .lanes = 1,
     .bytes = SPAD_UNBOUNDED,
     .alignment = 1,
     .granule = 1,
     .off_chip = true},
    {.name = "heap",
     .about = "",
     .lanes = 1,
     .bytes = SPAD_UNBOUNDED,
     .alignment = 1,
     .granule = 1},
    {.name = "flash",
     .about = "",
     .lanes = 1,
     .bytes = INT64_C(1) << 40,
     .alignment = 1,
     .granule = 1,
     .bank_bytes = 512,
     .off_chip = true},
};
static const spad_engine full_engines[] = {
    {.name = "vector",
     .about = "elementwise",
     .count = 1,
     .clock_khz = 960500,
     .width = 256,
     .width_16bit = 512,
     .width_8bit = 1024,
     .min_cycles = 64,
     .fixed_cycles = 100,
     .reads = 3,
     .writes = 1},
    {.name = "dma",
     .about = "",
     .count = 16,
     .bytes_per_us = 27250,
     .fixed_ns = 1300,
     .proxy_align = 16,
     .reads = 2},
    {.name = "idle", .about = "", .count = 1},
};
static const spad_exclusion full_exclusions[] = {{.engine_a = 0, .engine_b = 1, .space = 0}};
static const spad_fence_rule full_fences[] = {
    {.name = "any-word", .kind = SPAD_FENCE_PROXY, .spaces = 3},
    {.name = "issue", .kind = SPAD_FENCE_ISSUE, .spaces = 1},
    {.name = "meet", .kind = SPAD_FENCE_THREADS, .spaces = 2},
};
static const char *const full_aliases[] = {"npu-7", "77", "n7"};
static const spad_target full_target = {
    .name = "npu7",
    .about = "Example \"NPU\"",
    .family = "example",
    .max_groups = 12,
    .limits = {.threads = 1024,
               .warp = 32,
               .barriers = 16,
               .arrivals = 1048575,
               .expected = 1048574,
               .flags = 8,
               .registers = 65536,
               .budget_least = 24,
               .budget_most = 256,
               .budget_step = 8,
               .cluster = 8,
               .cluster_most = 16},
    .space_count = 4,
    .spaces = full_spaces,
    .engine_count = 3,
    .engines = full_engines,
    .exclusion_count = 1,
    .exclusions = full_exclusions,
    .fence_count = 3,
    .fences = full_fences,
    .alias_count = 3,
    .aliases = full_aliases,
};

static void a_file_says_what_the_struct_says(void **state) {
    (void)state;
    test_host host;
    spad_target *target;
    spad_error error;
    test_host_init(&host);
    assert_ok(spad_target_parse(&target, full_text, strlen(full_text), "npu7.chip", NULL,
                                &host.host, &error),
              &error);
    assert_same_target(target, &full_target);
    assert_non_null(target->owned);
    spad_target_destroy(target);
    test_host_assert_clean(&host);
    /* what is not given has a preset */
    const char *small = "target x\nspace m { bytes 8 }";
    assert_ok(spad_target_parse(&target, small, strlen(small), NULL, NULL, NULL, &error), &error);
    assert_string_equal(target->family, "custom");
    assert_string_equal(target->about, "");
    assert_int_equal(target->max_groups, 0);
    const spad_limits unknown = {0};
    assert_memory_equal(&target->limits, &unknown, sizeof unknown);
    spad_target_destroy(target);
}

/* ---- faults ------------------------------------------------------------------------ */

static spad_status read_target(const char *text, const char *file, spad_diagnostics *diagnostics,
                               spad_error *error) {
    spad_target *target;
    const spad_status status =
        spad_target_parse(&target, text, strlen(text), file, diagnostics, NULL, error);
    if (status != SPAD_OK) assert_null(target);
    spad_target_destroy(target);
    return status;
}

#define CHECK_FAULTS(before, after, cases) TEST_FAULTS(read_target, before, after, cases)

static void faults_of_spaces_are_found(void **state) {
    (void)state;
    static const test_fault cases[] = {
        {"lanes many", 1, 7, 4, "expected a whole number after 'lanes', found 'many'"},
        {"lanes", 1, 6, 1, "expected a whole number after 'lanes', found the end of the line"},
        {"lanes 0", 1, 7, 1, "'lanes' must be at least 1"},
        {"lanes -1", 1, 7, 1, "expected a whole number after 'lanes', found '-'"},
        {"lanes 1.5", 1, 7, 3, "'1.5' is not a whole number of units"},
        {"lanes 4 5", 1, 9, 1, "expected the end of the line after '4', found '5'"},
        {"lanes 4\nlanes 5", 2, 1, 5, "'lanes' is given twice"},
        {"lnes 4", 1, 1, 4, "a space has no field 'lnes'; did you mean 'lanes'?"},
        {"{ }", 1, 1, 1, "expected a field or '}', found '{'"},
        {"bytes 8", 1, 1, 5, "'bytes' is given twice"},
        {"reserved 64.5 KiB", 1, 10, 8, "66048 bytes reserved of only 65536"},
        {"limit 70000", 1, 7, 5, "the limit of 70000 bytes is above the 65536 that are usable"},
        {"limit 0", 1, 7, 1, "'limit' must be at least 1"},
        {"thread 0", 1, 8, 1, "'thread' must be at least 1"},
        {"instances 0", 1, 11, 1, "'instances' must be 1 to 64"},
        {"instances 65", 1, 11, 2, "'instances' must be 1 to 64"},
        {"align 0", 1, 7, 1, "'align' must be at least 1"},
        {"granule 0", 1, 9, 1, "'granule' must be at least 1"},
        {"granule 4 KB", 1, 11, 2, "'KB' is not a unit of a size; use B, KiB, MiB, GiB or TiB"},
        {"bank 0", 1, 6, 1, "'bank' must be at least 1"},
        {"bank 3000 exclusive", 1, 6, 14, "banks of 3000 bytes do not divide a lane of 65536"},
        {"bank 2 KiB exclusiv", 1, 12, 8,
         "expected the end of the line after 'KiB', found 'exclusiv'"},
        {"size power of 2", 1, 15, 1, "expected 'two' after 'of', found '2'"},
        {"off", 1, 4, 1, "expected 'chip' after 'off', found the end of the line"},
        {"start 1 to 2", 1, 13, 1, "expected 'at' after '2', found the end of the line"},
        {"start 1 at", 1, 11, 1, "expected a whole number after 'at', found the end of the line"},
        {"start 0 to 2 at 0", 1, 7, 6, "not a range of lane counts: from 1, and upwards"},
        {"start 3 to 2 at 0", 1, 7, 6, "not a range of lane counts: from 1, and upwards"},
        {"lanes 4\nstart 1 to 5 at 0", 2, 7, 6, "more lanes than the 4 of the space"},
        {"start 1 to 2 at 0", 1, 7, 6, "more lanes than the 1 of the space"},
        {"lanes 4\nstart 2 to 4 at 0, 3", 2, 7, 6, "2 lanes do not fit at start lane 3 of 4"},
        {"lanes 4\nstart 1 to 2 at 0\nstart 2 at 1", 3, 7, 1, "overlaps the row of 1 to 2 lanes"},
        {"lanes 4\nstart 1 at 2, 2", 2, 15, 1, "start lanes must ascend"},
        {"lanes 1_000_000_000_000_000", 0, 7, 6,
         "1000000000000000 lanes of that size do not fit 64 bits"},
    };
    CHECK_FAULTS("target t\nspace s {\nbytes 64 KiB\n", "\n}\n", cases);
    static const test_fault unbounded[] = {
        {"bytes unbounded; reserved 4", 1, 27, 1, "an unbounded space has no top to reserve"},
        {"lanes 4", 0, 7, 1, "space 's' needs 'bytes'"},
        {"bytes 0", 1, 7, 1, "'bytes' must be at least 1"},
        {"bytes unbound", 1, 7, 7, "expected a size after 'bytes', found 'unbound'"},
    };
    CHECK_FAULTS("target t\nspace s {\n", "\n}\n", unbounded);
}

static void faults_of_engines_are_found(void **state) {
    (void)state;
    static const test_fault cases[] = {
        {"count 0", 1, 7, 1, "'count' must be at least 1"},
        {"clock 4", 1, 8, 1,
         "expected a unit (kHz, MHz or GHz) after '4', found the end of the line"},
        {"clock 1.0005 MHz", 1, 7, 10, "'1.0005 MHz' is not a whole number of kHz"},
        {"clock 0 kHz", 1, 7, 5, "'clock' must be at least 1"},
        {"rate 5 KiB/s", 1, 8, 5,
         "'KiB/s' is not a unit of a rate; use B/us, B/ns, MB/s, GB/s or TB/s"},
        {"startup 5 min", 1, 11, 3, "'min' is not a unit of a time; use ns, us, ms or s"},
        {"width 0", 1, 7, 1, "'width' must be at least 1"},
        {"width 8 at 12 bit", 1, 12, 2, "widths are given at 32, 16 or 8 bit"},
        {"width 8 at 16", 1, 14, 1, "expected 'bit' after '16', found the end of the line"},
        {"width 8\nwidth 9", 2, 7, 1, "'width' at 32 bit is given twice"},
        {"width 8 at 8 bit\nwidth 9 at 8 bit", 2, 7, 1, "'width' at 8 bit is given twice"},
        {"reads sbfu", 1, 7, 4, "'sbfu' is not a space above this line; did you mean 'sbuf'?"},
        {"reads sbuf,", 2, 1, 1, "expected the name of a space, found '}'"},
        {"writes sbuf $", 1, 13, 1, "unexpected character '$'"},
        {"speed 9", 1, 1, 5, "an engine has no field 'speed'"},
    };
    CHECK_FAULTS("target t\nspace sbuf { bytes 4 }\nengine e {\n", "\n}\n", cases);
}

static void faults_of_the_file_are_found(void **state) {
    (void)state;
    static const test_fault cases[] = {
        {"target u", 1, 1, 6, "'target' is given twice"},
        {"family", 1, 7, 1,
         "expected the name of a family after 'family', found the end of the line"},
        {"family a\nfamily b", 2, 1, 6, "'family' is given twice"},
        {"family \"a b\"", 1, 8, 5,
         "not a name: a name has 1 to 63 letters, digits, '_', '-' or '.'"},
        {"alias a, b, a", 1, 13, 1, "the target has the name 'a' already"},
        {"alias t", 1, 7, 1, "the target has the name 't' already"},
        {"groups 0", 1, 8, 1, "'groups' must be at least 1"},
        {"groups 1; groups 2", 1, 11, 6, "'groups' is given twice"},
        {"limits { warp 0 }", 1, 15, 1, "'warp' must be at least 1"},
        {"limits { }; limits { }", 1, 13, 6, "'limits' is given twice"},
        {"limits { warps 1 }", 1, 10, 5, "limits have no field 'warps'; did you mean 'warp'?"},
        {"limits { budget_least 9; budget_most 8 }", 1, 1, 6,
         "'budget_least' is above 'budget_most'"},
        {"limits { cluster 9; cluster_most 8 }", 1, 1, 6, "'cluster' is above 'cluster_most'"},
        {"spcae x { lanes 4\n bytes 5 }", 1, 1, 5,
         "unknown statement 'spcae'; did you mean 'space'?"},
        {"space s { bytes 4 }", 1, 7, 1, "a second space 's'"},
        {"space { bytes 4 }", 1, 7, 1, "expected a name for the space after 'space', found '{'"},
        {"space z\n", 1, 8, 1, "expected '{' after 'z', found the end of the line"},
        {"space z { bytes 4 } x", 1, 21, 1, "expected the end of the line after '}', found 'x'"},
        {"space z {\nbytes 4\n", 1, 9, 1, "this '{' has no '}'"},
        {"engine e { }", 1, 8, 1, "a second engine 'e'"},
        {"engine \"\" { }", 1, 8, 2,
         "not a name: a name has 1 to 63 letters, digits, '_', '-' or '.'"},
        {"exclusive e e on s", 1, 11, 3, "an engine cannot exclude itself; name two"},
        {"exclusive e x on s", 1, 13, 1, "'x' is not an engine above this line; did you mean 'e'?"},
        {"fence f on s", 1, 9, 2,
         "expected 'proxy', 'issue', 'threads' or 'init' after 'f', found 'on'"},
        {"fence f proxy s", 1, 15, 1, "expected 'on' after 'proxy', found 's'"},
        {"fence f proxy on x", 1, 18, 1, "'x' is not a space above this line; did you mean 's'?"},
        {"fence f proxy on s; fence f issue on s", 1, 27, 1, "a second fence 'f'"},
        {"exclusive e on s", 1, 13, 2, "'on' is not an engine above this line"},
        {"}", 1, 1, 1, "expected a statement, found '}'"},
        {"\"text\"", 1, 1, 6, "expected a statement, found a string"},
        {"this_is_a_very_long_word_that_no_statement_has 1", 1, 1, 46,
         "unknown statement 'this_is_a_very_long_word_that_no...'"},
    };
    CHECK_FAULTS("target t\nspace s { bytes 4 }\nengine e { }\n", "\n", cases);
    static const test_fault starts[] = {
        {"", 1, 1, 1, "a target file starts with 'target' and a name"},
        {"# nothing\n\n", 3, 1, 1, "a target file starts with 'target' and a name"},
        {"space s { bytes 4 }", 1, 1, 5, "a target file starts with 'target' and a name"},
        {"target", 1, 7, 1,
         "expected a name for the target after 'target', found the end of the file"},
        {"target t", 1, 9, 1, "target 't' has no space; write at least one"},
    };
    CHECK_FAULTS("", "", starts);
}

/* One run, several faults, in the order of the text and with the lines. */
static void several_faults_are_found_in_one_run(void **state) {
    (void)state;
    const char *text = "target npu7 \"Example\n"
                       "space sbuf {\n"
                       "    lanes many\n"
                       "\tbytes 12 kB\n"
                       "    grnule 4\n"
                       "}\n"
                       "space psum { bytes 4 KiB; bank 3 KiB }\n"
                       "engine pe {\n"
                       "    reads  sbuf, psun\n"
                       "    clock  2.8\n"
                       "}\n"
                       "exclusive pe pe on psum\n";
    spad_diagnostics *diagnostics;
    spad_target *target;
    test_text shown;
    assert_int_equal(spad_diagnostics_create(&diagnostics, NULL, NULL), SPAD_OK);
    assert_int_equal(
        spad_target_parse(&target, text, strlen(text), "npu7.chip", diagnostics, NULL, NULL),
        SPAD_ERR_SYNTAX);
    test_text_init(&shown);
    assert_int_equal(spad_diagnostics_write(diagnostics, SPAD_FORMAT_TEXT, &shown.sink, NULL),
                     SPAD_OK);
    assert_string_equal(
        shown.bytes,
        "npu7.chip:1:13: error: string without its closing quote; it must end on the same line\n"
        "    1 | target npu7 \"Example\n"
        "      |             ^~~~~~~~\n"
        "npu7.chip:3:11: error: expected a whole number after 'lanes', found 'many'\n"
        "    3 |     lanes many\n"
        "      |           ^~~~\n"
        "npu7.chip:4:11: error: expected the end of the line after '12', found 'kB'\n"
        "    4 |     bytes 12 kB\n"
        "      |              ^~\n"
        "npu7.chip:5:5: error: a space has no field 'grnule'; did you mean 'granule'?\n"
        "    5 |     grnule 4\n"
        "      |     ^~~~~~\n"
        "npu7.chip:7:32: error: banks of 3072 bytes do not divide a lane of 4096\n"
        "    7 | space psum { bytes 4 KiB; bank 3 KiB }\n"
        "      |                                ^~~~~\n"
        "npu7.chip:9:18: error: 'psun' is not a space above this line; did you mean 'psum'?\n"
        "    9 |     reads  sbuf, psun\n"
        "      |                  ^~~~\n"
        "npu7.chip:10:15: error: expected a unit (kHz, MHz or GHz) after '2.8', found the end of "
        "the line\n"
        "   10 |     clock  2.8\n"
        "      |               ^\n"
        "npu7.chip:12:11: error: an engine cannot exclude itself; name two\n"
        "   12 | exclusive pe pe on psum\n"
        "      |           ^~~~~\n");
    test_text_free(&shown);
    /* the collection is emptied by the next text */
    const char *good = "target t\nspace s { bytes 4 }";
    assert_int_equal(spad_target_parse(&target, good, strlen(good), "", diagnostics, NULL, NULL),
                     SPAD_OK);
    assert_int_equal(spad_diagnostics_count(diagnostics), 0);
    spad_target_destroy(target);
    spad_diagnostics_destroy(diagnostics);
}

static void reading_stops_after_twenty_faults(void **state) {
    (void)state;
    char text[4096] = "target t\n";
    for (int i = 0; i < 100; i++) strcat(text, "oops\n");
    spad_diagnostics *diagnostics;
    spad_target *target;
    assert_int_equal(spad_diagnostics_create(&diagnostics, NULL, NULL), SPAD_OK);
    assert_int_equal(spad_target_parse(&target, text, strlen(text), "", diagnostics, NULL, NULL),
                     SPAD_ERR_SYNTAX);
    assert_int_equal(spad_diagnostics_count(diagnostics), SPAD_DIAGNOSTICS_MAX);
    assert_int_equal(spad_diagnostics_get(diagnostics, 19)->line, 21);
    spad_diagnostics_destroy(diagnostics);
}

/* ---- limits ------------------------------------------------------------------------ */

/* Repeats a line with a number in it and returns the first fault, or "". */
static void first_fault(char message[SPAD_MESSAGE_MAX], const char *before, const char *line,
                        int times, const char *after) {
    const size_t size = strlen(before) + (strlen(line) + 8) * (size_t)times + strlen(after) + 1;
    char *text = malloc(size);
    size_t used = (size_t)sprintf(text, "%s", before);
    for (int i = 0; i < times; i++) {
        for (const char *c = line; *c != '\0'; c++) {
            if (*c == '@') {
                used += (size_t)sprintf(text + used, "%d", i + 1);
            } else {
                text[used++] = *c;
            }
        }
    }
    used += (size_t)sprintf(text + used, "%s", after);
    spad_target *target;
    spad_error error;
    message[0] = '\0';
    if (spad_target_parse(&target, text, used, "", NULL, NULL, &error) != SPAD_OK) {
        strcpy(message, error.message);
    }
    spad_target_destroy(target);
    free(text);
}

static void tables_have_limits(void **state) {
    (void)state;
    static const struct {
        const char *before;
        const char *line;
        const char *after;
        int most;
        const char *message;
    } rows[] = {
        {"target t\n", "space s@ { bytes 4 }\n", "", 64, "too many spaces: at most 64"},
        {"target t\n", "space s@ { bytes 4; instances 2 }\n", "", 32,
         "too many instances of spaces: at most 64 in all"},
        {"target t\nspace s { bytes 4 }\n", "engine e@ { }\n", "", 64,
         "too many engines: at most 64"},
        {"target t\nspace s { bytes 4 }\n", "alias a@\n", "", 256, "too many aliases: at most 256"},
        {"target t\nspace s { bytes 4 }\nengine a { }; engine b { }\n", "exclusive a b on s # @\n",
         "", 256, "too many exclusions: at most 256"},
        {"target t\nspace s { bytes 4 }\n", "fence f@ proxy on s\n", "", 64,
         "too many fences: at most 64"},
        {"target t\nspace s { bytes 4; lanes 1000\n", "start @ at 0\n", "}", 256,
         "too many start rows: at most 256"},
        {"target t\nspace s { bytes 4; lanes 1000; start 1 at 0", ", @", "}", 255,
         "too many start lanes: at most 256"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char message[SPAD_MESSAGE_MAX];
        first_fault(message, rows[i].before, rows[i].line, rows[i].most, rows[i].after);
        assert_string_equal(message, "");
        first_fault(message, rows[i].before, rows[i].line, rows[i].most + 1, rows[i].after);
        assert_string_equal(message, rows[i].message);
    }
    spad_target *target;
    spad_error error;
    assert_int_equal(spad_target_parse(&target, "", (size_t)INT32_MAX + 1, "", NULL, NULL, &error),
                     SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message,
                        "a text of 2147483648 bytes is too long: at most 2147483647");
    char message[SPAD_MESSAGE_MAX];
    first_fault(message, "target ", "x", 63, "\nspace s { bytes 4 }");
    assert_string_equal(message, "");
    first_fault(message, "target ", "x", 64, "\nspace s { bytes 4 }");
    assert_string_equal(message, "not a name: a name has 1 to 63 letters, digits, '_', '-' or '.'");
}

/* ---- back to text ------------------------------------------------------------------ */

static void check_round_trip(const spad_target *target) {
    test_text first;
    test_text second;
    spad_target *again;
    spad_error error;
    test_text_init(&first);
    test_text_init(&second);
    assert_ok(spad_target_write(target, SPAD_FORMAT_TEXT, &first.sink, &error), &error);
    assert_ok(spad_target_parse(&again, first.bytes, first.count, "again", NULL, NULL, &error),
              &error);
    assert_same_target(again, target);
    assert_ok(spad_target_write(again, SPAD_FORMAT_TEXT, &second.sink, &error), &error);
    assert_string_equal(first.bytes, second.bytes);
    spad_target_destroy(again);
    test_text_free(&first);
    test_text_free(&second);
}

/* Instances are rows after all others; what reaches the first reaches them. */
static void instances_are_spaces(void **state) {
    (void)state;
    const char *text =
        "target t\nspace ub { bytes 64; instances 3 private }\nspace gm { off chip }\n"
        "space acc { bytes 8; instances 2 }\n"
        "engine v { reads ub, gm; writes acc }\nengine w { reads ub }\n"
        "exclusive v w on ub\n";
    static const char *const names[] = {"ub", "gm", "acc", "ub[1]", "ub[2]", "acc[1]"};
    static const size_t bases[] = {0, 1, 2, 0, 0, 2};
    spad_target *target;
    spad_error error;
    size_t number;
    assert_ok(spad_target_parse(&target, text, strlen(text), NULL, NULL, NULL, &error), &error);
    assert_int_equal(target->space_count, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_string_equal(target->spaces[i].name, names[i]);
        assert_int_equal(target->spaces[i].bytes, target->spaces[bases[i]].bytes);
        if (i >= 3) assert_int_equal(target->spaces[i].instance_of, bases[i]);
        assert_ok(spad_target_find_space(&number, target, names[i], &error), &error);
        assert_int_equal(number, i);
    }
    assert_int_equal(target->spaces[4].instance, 2);
    assert_true(target->spaces[4].one_instance);
    assert_int_equal(target->engines[0].reads, 1 | 2 | 8 | 16);
    assert_int_equal(target->engines[0].writes, 4 | 32);
    assert_int_equal(target->exclusion_count, 3);
    assert_ok(spad_target_find_space(&number, target, "acc[0]", &error), &error);
    assert_int_equal(number, 2);
    static const char *const unknown[] = {
        "ub[3]", "gm[1]", "ub[", "ub[]", "ub[1]x", "ux[1]", "ub[99999999999999999999]", "ub[-1]"};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        assert_int_equal(spad_target_find_space(&number, target, unknown[i], &error),
                         SPAD_ERR_UNKNOWN);
        assert_int_equal(number, SIZE_MAX);
    }
    assert_int_equal(spad_target_find_space(&number, target, "ub[3]", &error), SPAD_ERR_UNKNOWN);
    assert_string_equal(error.message, "'ub' of 't' has 3 instances, counted from 0, and no ub[3]");
    assert_int_equal(spad_target_find_space(&number, target, "x", &error), SPAD_ERR_UNKNOWN);
    assert_string_equal(error.message, "target 't' has no space 'x'; it has ub, gm, acc");
    check_round_trip(target);
    spad_target_destroy(target);
}

static void every_built_in_target_reads_back(void **state) {
    (void)state;
    for (size_t i = 0; i < spad_target_count(); i++) check_round_trip(spad_target_get(i));
    check_round_trip(&full_target);
}

/* A target with random but legal numbers and texts. */
static void random_targets_read_back(void **state) {
    (void)state;
    static const char *const names[] = {"a",     "950",       "910b", "32KiB",
                                        "x-1.y", "unbounded", "0x",   "at"};
    static const char *const texts[] = {"", "plain", "q\"\\\n\t\x01\x7f", "\xC3\xA9 \xE2\x86\xBB",
                                        "#;{}"};
    spad__random random = {.state = 11};
    for (int round = 0; round < 500; round++) {
        spad_space spaces[8];
        spad_engine engines[8];
        for (int i = 0; i < 8; i++) {
            spaces[i] = (spad_space){
                .name = names[i],
                .about = texts[spad__random_below(&random, 5)],
                .lanes = spad__random_in(&random, 1, 4),
                .bytes = INT64_C(1) << spad__random_in(&random, 10, 60),
                .reserved = spad__random_in(&random, 0, 600),
                .plain_limit = spad__random_in(&random, 0, 400),
                .alignment = spad__random_in(&random, 1, 5000),
                .granule = spad__random_in(&random, 1, 5000),
                .bank_bytes = INT64_C(512) * spad__random_in(&random, 0, 2),
                .power_of_two = spad__random_below(&random, 2) != 0,
                .off_chip = spad__random_below(&random, 2) != 0,
            };
            spaces[i].banks_exclusive =
                spaces[i].bank_bytes > 0 && spad__random_below(&random, 2) != 0;
            engines[i] = (spad_engine){
                .name = names[7 - i],
                .about = texts[spad__random_below(&random, 5)],
                .count = spad__random_in(&random, 1, 9),
                .clock_khz = spad__random_in(&random, 0, 5000000),
                .width = spad__random_in(&random, 0, 9),
                .width_16bit = spad__random_in(&random, 0, 9),
                .width_8bit = spad__random_in(&random, 0, 9),
                .min_cycles = spad__random_in(&random, 0, 9),
                .fixed_cycles = spad__random_in(&random, 0, 9),
                .bytes_per_us = spad__random_in(&random, 0, 2) * spad__random_in(&random, 0, 50000),
                .fixed_ns = spad__random_in(&random, 0, 9999),
                .reads = spad__random_below(&random, 256),
                .writes = spad__random_below(&random, 256),
            };
        }
        const spad_target target = {.name = names[spad__random_below(&random, 8)],
                                    .about = texts[spad__random_below(&random, 5)],
                                    .family = names[spad__random_below(&random, 8)],
                                    .max_groups = spad__random_in(&random, 0, 3),
                                    .space_count = 8,
                                    .spaces = spaces,
                                    .engine_count = 8,
                                    .engines = engines};
        check_round_trip(&target);
    }
}

static void bytes_that_are_no_text_are_replaced(void **state) {
    (void)state;
    test_text text;
    const spad_space space = {.name = "s", .lanes = 1, .bytes = 4, .alignment = 1, .granule = 1};
    const spad_target target = {
        .name = "t", .about = "\xFFx", .family = "f", .space_count = 1, .spaces = &space};
    test_text_init(&text);
    assert_int_equal(spad_target_write(&target, SPAD_FORMAT_TEXT, &text.sink, NULL), SPAD_OK);
    assert_string_equal(text.bytes, "target t \"\xEF\xBF\xBDx\"\n"
                                    "family f\n"
                                    "\n"
                                    "space s {\n"
                                    "    bytes     4\n"
                                    "}\n");
    test_text_free(&text);
}

static void writing_reports_a_sink_that_fails(void **state) {
    (void)state;
    test_text text;
    spad_error error;
    test_text_init(&text);
    text.fail_after = 100;
    assert_int_equal(spad_target_write(&full_target, SPAD_FORMAT_TEXT, &text.sink, &error),
                     SPAD_ERR_IO);
    test_text_clear(&text);
    assert_int_equal(spad_target_write(&full_target, SPAD_FORMAT_JSON, &text.sink, &error),
                     SPAD_ERR_IO);
    assert_string_equal(error.message, "writing the output failed");
    test_text_free(&text);
}

/* ---- bad luck ---------------------------------------------------------------------- */

static spad_status read_with(const spad_host *host, void *context) {
    spad_diagnostics *diagnostics = NULL;
    spad_target *target = NULL;
    spad_error error;
    const char *text = context;
    spad_status status = spad_diagnostics_create(&diagnostics, host, &error);
    if (status == SPAD_OK) {
        status = spad_target_parse(&target, text, strlen(text), "f", diagnostics, host, &error);
        if (status == SPAD_ERR_SYNTAX) status = SPAD_OK; /* faults are what it should find */
    }
    spad_target_destroy(target);
    spad_diagnostics_destroy(diagnostics);
    return status;
}

static spad_status read_without_diagnostics(const spad_host *host, void *context) {
    spad_target *target;
    const char *text = context;
    const spad_status status =
        spad_target_parse(&target, text, strlen(text), "f", NULL, host, NULL);
    spad_target_destroy(target);
    return status;
}

static void reading_survives_failing_allocations(void **state) {
    (void)state;
    char text[sizeof full_text];
    memcpy(text, full_text, sizeof text);
    test_fail_each_allocation(read_with, text);
    test_fail_each_allocation(read_without_diagnostics, text);
    char faulty[4096] = "target t\n";
    for (int i = 0; i < 30; i++) {
        strcat(faulty, "space \"a fault with a line that is long enough to fill a chunk\" {}\n");
    }
    test_fail_each_allocation(read_with, faulty);
}

/* A valid file with a few bytes changed, cut or doubled gives a target or
 * faults, and a target that was read can be written and read again. */
static void mutated_files_never_crash(void **state) {
    (void)state;
    spad__random random = {.state = 5};
    int good = 0;
    int bad = 0;
    for (int round = 0; round < 4000; round++) {
        char text[sizeof full_text + 64];
        size_t length = strlen(full_text);
        memcpy(text, full_text, length);
        for (uint64_t n = spad__random_below(&random, 4); n > 0; n--) {
            const size_t at = spad__random_below(&random, length);
            switch (spad__random_below(&random, 3)) {
            case 0: text[at] = (char)spad__random_below(&random, 256); break;
            case 1: memmove(text + at, text + at + 1, --length - at); break;
            default: memmove(text + at + 1, text + at, length++ - at); break;
            }
        }
        char *exact = malloc(length); /* so that reading beyond the end is caught */
        memcpy(exact, text, length);
        spad_target *target;
        spad_error error;
        const spad_status status =
            spad_target_parse(&target, exact, length, "m", NULL, NULL, &error);
        free(exact);
        if (status == SPAD_OK) {
            check_round_trip(target);
            good++;
        } else {
            assert_int_equal(status, SPAD_ERR_SYNTAX);
            assert_true(error.line >= 1 && error.column >= 1 && error.message[0] != '\0');
            bad++;
        }
        spad_target_destroy(target);
    }
    assert_true(good > 100 && bad > 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_says_what_the_struct_says),
        cmocka_unit_test(faults_of_spaces_are_found),
        cmocka_unit_test(faults_of_engines_are_found),
        cmocka_unit_test(faults_of_the_file_are_found),
        cmocka_unit_test(several_faults_are_found_in_one_run),
        cmocka_unit_test(reading_stops_after_twenty_faults),
        cmocka_unit_test(tables_have_limits),
        cmocka_unit_test(instances_are_spaces),
        cmocka_unit_test(every_built_in_target_reads_back),
        cmocka_unit_test(random_targets_read_back),
        cmocka_unit_test(bytes_that_are_no_text_are_replaced),
        cmocka_unit_test(writing_reports_a_sink_that_fails),
        cmocka_unit_test(reading_survives_failing_allocations),
        cmocka_unit_test(mutated_files_never_crash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
