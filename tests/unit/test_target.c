/* SPDX-License-Identifier: Apache-2.0
 * The built-in chips against the public figures, and the rules of a space. */
#include "support/support.h"
#include "target/target.h"

#include <string.h>

#include "base/random.h"
#include "spad/target.h"

static const spad_target *find(const char *name) {
    const spad_target *target;
    spad_error error;
    assert_ok(spad_target_find(&target, name, &error), &error);
    return target;
}

static const spad_space *find_space(const char *target_name, const char *name) {
    const spad_target *target = find(target_name);
    size_t index;
    spad_error error;
    assert_ok(spad_target_find_space(&index, target, name, &error), &error);
    return &target->spaces[index];
}

static const spad_engine *find_engine(const char *target_name, const char *name) {
    const spad_target *target = find(target_name);
    size_t index;
    spad_error error;
    assert_ok(spad__target_find_engine(&index, target, name, &error), &error);
    return &target->engines[index];
}

/* All built-in chips; a new one adds one here and a row below. */
enum { CHIPS = 19 };

/* ---- facts ------------------------------------------------------------------------- */

static void neuron_memories_have_their_public_sizes(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int64_t bytes;
        int64_t usable; /* tile_size.total_available_sbuf_size */
        int64_t dma;    /* B/us of one engine */
        bool one_bank;
    } rows[] = {
        {"trn1", 192 * 1024, 180224, 17000, true},
        {"inf2", 192 * 1024, 180224, 17000, true},
        {"trn2", 224 * 1024, 212984, 23000, true},
        {"trn3", 256 * 1024, 245752, 33000, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const spad_space *sbuf = find_space(rows[i].name, "sbuf");
        assert_int_equal(sbuf->lanes, 128);
        assert_int_equal(sbuf->bytes, rows[i].bytes);
        assert_int_equal(spad_space_get_usable(sbuf), rows[i].usable);
        const spad_space *psum = find_space(rows[i].name, "psum");
        assert_int_equal(psum->lanes * psum->bytes, 2 * 1024 * 1024);
        assert_int_equal(psum->bank_bytes, 2048);
        assert_int_equal(psum->alignment, 4);
        assert_int_equal(psum->banks_exclusive, rows[i].one_bank);
        const spad_engine *dma = find_engine(rows[i].name, "dma");
        assert_int_equal(dma->count, 16);
        assert_int_equal(dma->bytes_per_us, rows[i].dma);
        const spad_space *hbm = find_space(rows[i].name, "hbm");
        assert_true(hbm->off_chip);
        assert_int_equal(spad_space_get_usable(hbm), SPAD_UNBOUNDED);
    }
    assert_ptr_equal(find("inf2"), find("trn1"));
    assert_int_equal(find_engine("trn1", "tensor")->clock_khz, 2800000);
    assert_int_equal(find_engine("trn2", "vector")->width_16bit, 512);
    assert_int_equal(find("trn1")->exclusion_count, 2);
    assert_int_equal(find("trn2")->exclusion_count, 0);
}

static void neuron_engines_reach_what_the_guides_say(void **state) {
    (void)state;
    const uint64_t sbuf = 1;
    const uint64_t psum = 2;
    const uint64_t hbm = 4;
    static const char *const names[] = {"trn1", "trn2", "trn3"};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(find_engine(names[i], "tensor")->reads, sbuf);
        assert_int_equal(find_engine(names[i], "tensor")->writes, psum);
        assert_int_equal(find_engine(names[i], "gpsimd")->reads, sbuf);
        assert_int_equal(find_engine(names[i], "vector")->writes, sbuf | psum);
        assert_int_equal(find_engine(names[i], "dma")->reads, sbuf | hbm);
        assert_int_equal(find_engine(names[i], "sync")->writes, 0);
    }
}

static void nvidia_memories_have_their_public_sizes(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int64_t per_sm;
        int64_t opt_in;
        int64_t blocks;
        bool tmem;
    } rows[] = {
        {"sm_70", 98304, 98304, 32, false},     {"sm_75", 65536, 65536, 16, false},
        {"sm_80", 167936, 166912, 32, false},   {"sm_86", 102400, 101376, 16, false},
        {"sm_87", 167936, 166912, 16, false},   {"sm_88", 102400, 101376, 16, false},
        {"sm_89", 102400, 101376, 24, false},   {"sm_90", 233472, 232448, 32, false},
        {"sm_90a", 233472, 232448, 32, false},  {"sm_100", 233472, 232448, 32, true},
        {"sm_100a", 233472, 232448, 32, true},  {"sm_103", 233472, 232448, 32, true},
        {"sm_110a", 233472, 232448, 24, true},  {"sm_120", 102400, 101376, 24, false},
        {"sm_121a", 102400, 101376, 24, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const spad_target *target = find(rows[i].name);
        const spad_space *shared = find_space(rows[i].name, "shared");
        assert_int_equal(shared->bytes, rows[i].per_sm);
        assert_int_equal(spad_space_get_usable(shared), rows[i].opt_in);
        assert_int_equal(shared->plain_limit, 49152);
        assert_int_equal(target->max_groups, rows[i].blocks);
        assert_int_equal(find_space(rows[i].name, "registers")->bytes, 262144);
        assert_int_equal(find_space(rows[i].name, "registers")->plain_limit, 1020);
        assert_int_equal(find_space(rows[i].name, "local")->bytes, 524288);
        size_t index;
        const spad_status status = spad_target_find_space(&index, target, "tmem", NULL);
        assert_int_equal(status, rows[i].tmem ? SPAD_OK : SPAD_ERR_UNKNOWN);
        if (!rows[i].tmem) continue;
        const spad_space *tmem = &target->spaces[index];
        assert_int_equal(tmem->lanes * tmem->bytes, 262144);
        assert_int_equal(tmem->granule, 128);
        assert_true(tmem->power_of_two);
    }
}

static void ascend_memories_have_their_public_sizes(void **state) {
    (void)state;
    static const struct {
        const char *space;
        int64_t a2;
        int64_t a5;
        int64_t alignment;
    } rows[] = {
        {"l1", 524288, 524288, 32},  {"l0a", 65536, 65536, 512}, {"l0b", 65536, 65536, 512},
        {"l0c", 131072, 262144, 64}, {"ub", 196608, 253952, 32}, {"bt", 1024, 4096, 64},
        {"fb", 7168, 16384, 128},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(find_space("910b", rows[i].space)->bytes, rows[i].a2);
        assert_int_equal(find_space("950", rows[i].space)->bytes, rows[i].a5);
        assert_int_equal(find_space("910b", rows[i].space)->alignment, rows[i].alignment);
        assert_int_equal(find_space("a5", rows[i].space)->alignment, rows[i].alignment);
    }
    assert_ptr_equal(find("a2"), find("910b"));
    assert_ptr_equal(find("a3"), find("910c"));
    assert_int_equal(find_engine("910b", "vector")->count, 2);
}

/* What every table has to keep, also a user's. */
static void built_in_tables_follow_the_rules(void **state) {
    (void)state;
    assert_int_equal(spad_target_count(), CHIPS);
    assert_null(spad_target_get(CHIPS));
    for (size_t t = 0; t < spad_target_count(); t++) {
        const spad_target *target = spad_target_get(t);
        assert_ptr_equal(find(target->name), target); /* no name is used for two */
        for (size_t a = 0; a < target->alias_count; a++) {
            assert_ptr_equal(find(target->aliases[a]), target);
        }
        for (size_t p = 0; p < target->product_count; p++) { /* in any letter case */
            char lower[64];
            size_t n = 0;
            for (const char *c = target->products[p].name; *c != '\0'; c++)
                lower[n++] = (char)(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
            lower[n] = '\0';
            assert_ptr_equal(find(target->products[p].name), target);
            assert_ptr_equal(find(lower), target);
            assert_true(target->products[p].source[0] != '\0');
        }
        assert_true(target->about[0] != '\0' && target->family[0] != '\0');
        assert_true(target->space_count >= 1 && target->space_count <= SPAD_SPACES_MAX);
        assert_null(target->owned);
        for (size_t s = 0; s < target->space_count; s++) {
            const spad_space *space = &target->spaces[s];
            assert_ptr_equal(find_space(target->name, space->name), space);
            assert_true(space->lanes >= 1 && space->bytes >= 1 && space->reserved >= 0);
            assert_true(space->alignment >= 1 && space->granule >= 1);
            assert_true(spad_space_get_usable(space) > 0);
            assert_true(space->plain_limit <= spad_space_get_usable(space));
            if (space->bank_bytes > 0) assert_int_equal(space->bytes % space->bank_bytes, 0);
        }
        for (size_t e = 0; e < target->engine_count; e++) {
            const spad_engine *engine = &target->engines[e];
            assert_ptr_equal(find_engine(target->name, engine->name), engine);
            assert_true(engine->count >= 1);
            assert_int_equal((engine->reads | engine->writes) >> target->space_count, 0);
        }
    }
    spad_target_destroy(NULL);
}

/* ---- lookups ----------------------------------------------------------------------- */

static void products_are_names(void **state) {
    (void)state;
    static const char *const names[][2] = {
        {"H100", "sm_90"},          {"h200", "sm_90"},       {"A100", "sm_80"},
        {"B200", "sm_100"},         {"RTX4090", "sm_89"},    {"rtx 4090", "sm_89"},
        {"RTX-3090", "sm_86"},      {"L4", "sm_89"},         {"L40S", "sm_89"},
        {"Trainium2", "trn2"},      {"Ascend910B3", "910b"}, {"ascend_910b4", "910b"},
        {"ascend910_9391", "910b"}, {"a2", "910b"},          {"910B", "910b"},
        {"TRN2", "trn2"},           {"sm90", "sm_90"},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_string_equal(find(names[i][0])->name, names[i][1]);
    }
    static const char *const others[] = {"", "-", "H", "H1000", "A2", "RTX"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        const spad_target *target;
        assert_int_equal(spad_target_find(&target, others[i], NULL), SPAD_ERR_UNKNOWN);
    }
    const spad_target *target;
    spad_error error;
    assert_int_equal(spad_target_find(&target, "h3OO", &error), SPAD_ERR_UNKNOWN);
    assert_int_equal(spad_target_find(&target, "L40X", &error), SPAD_ERR_UNKNOWN);
    assert_non_null(strstr(error.message, "did you mean 'L40"));
}

static void unknown_names_are_reported_with_what_there_is(void **state) {
    (void)state;
    spad_error error;
    const spad_target *target = find("trn2");
    size_t index = 7;
    assert_int_equal(spad_target_find(&target, "trn4", &error), SPAD_ERR_UNKNOWN);
    assert_null(target);
    assert_string_equal(error.message,
                        "no target is called 'trn4'; did you mean 'trn1', 'trn2' or 'trn3'?");
    assert_string_equal(error.subject, "trn4");
    assert_int_equal(spad_target_find(&target, "abacus", &error), SPAD_ERR_UNKNOWN);
    assert_string_equal(error.message, "no target is called 'abacus'");
    target = find("trn2");
    assert_int_equal(spad_target_find_space(&index, target, "SBUF", &error), SPAD_ERR_UNKNOWN);
    assert_string_equal(error.message, "target 'trn2' has no space 'SBUF'; it has sbuf, psum, hbm");
    assert_string_equal(error.other, "trn2");
    assert_int_equal(index, SIZE_MAX);
    assert_int_equal(spad__target_find_engine(&index, target, "pe", &error), SPAD_ERR_UNKNOWN);
    assert_string_equal(error.message, "target 'trn2' has no engine 'pe'; it has tensor, vector, "
                                       "scalar, gpsimd, sync, dma");
    const spad_target bare = {.name = "bare"};
    assert_int_equal(spad__target_find_engine(&index, &bare, "pe", &error), SPAD_ERR_UNKNOWN);
    assert_string_equal(error.message, "target 'bare' has no engine 'pe'; it has no engines");
}

/* ---- rules ------------------------------------------------------------------------- */

/* The start-partition table of the ISA, in words of its own. */
static bool neuron_allows(int64_t lane, int64_t lanes) {
    if (lanes < 1 || lanes > 128) return false;
    if (lanes > 64) return lane == 0;
    if (lanes > 32) return lane == 0 || lane == 64;
    return lane == 0 || lane == 32 || lane == 64 || lane == 96;
}

static void start_lanes_follow_the_table(void **state) {
    (void)state;
    static const char *const spaces[] = {"sbuf", "psum"};
    for (size_t s = 0; s < 2; s++) {
        const spad_space *space = find_space("trn2", spaces[s]);
        for (int64_t lanes = -1; lanes <= 130; lanes++) {
            for (int64_t lane = -2; lane <= 130; lane++) {
                const bool good = spad_space_check_lanes(space, lane, lanes, NULL) == SPAD_OK;
                assert_int_equal(good, neuron_allows(lane, lanes));
            }
        }
    }
    const spad_space *tmem = find_space("sm_100", "tmem"); /* no table: anywhere inside */
    assert_int_equal(spad_space_check_lanes(tmem, 77, 51, NULL), SPAD_OK);
    assert_int_equal(spad_space_check_lanes(tmem, 77, 52, NULL), SPAD_ERR_LANES);
}

static void a_bad_start_lane_names_the_rule(void **state) {
    (void)state;
    spad_error error;
    const spad_space *sbuf = find_space("trn2", "sbuf");
    assert_int_equal(spad_space_check_lanes(sbuf, 16, 20, &error), SPAD_ERR_LANES);
    assert_string_equal(error.message, "a tile of 20 lanes cannot start at lane 16 of 'sbuf'; "
                                       "1 to 32 lanes start at 0, 32, 64 or 96");
    assert_string_equal(error.subject, "sbuf");
    assert_int_equal(error.needed, 20);
    assert_int_equal(error.available, 128);
    assert_int_equal(spad_space_check_lanes(sbuf, 0, 200, &error), SPAD_ERR_LANES);
    assert_string_equal(error.message, "a tile of 200 lanes does not fit: 'sbuf' has 128");
    assert_int_equal(spad_space_check_lanes(sbuf, 0, 0, &error), SPAD_ERR_LANES);
    assert_string_equal(error.message, "a tile of 0 lanes does not fit: 'sbuf' has 128");
    const spad_space *ub = find_space("910b", "ub");
    assert_int_equal(spad_space_check_lanes(ub, 1, 1, &error), SPAD_ERR_LANES);
    assert_string_equal(error.message, "a tile of 1 lane at lane 1 is outside the 1 lane of 'ub'");
    int64_t many[100];
    for (int i = 0; i < 100; i++) many[i] = 1000 + i;
    const spad_lane_rule rule = {2, 2, 100, many};
    const spad_space odd = {
        .name = "odd", .lanes = 2000, .lane_rule_count = 1, .lane_rules = &rule};
    assert_int_equal(spad_space_check_lanes(&odd, 0, 1, &error), SPAD_ERR_LANES);
    assert_string_equal(error.message, "'odd' has no start lane for a tile of 1 lane");
    assert_int_equal(spad_space_check_lanes(&odd, 0, 2, &error), SPAD_ERR_LANES);
    assert_string_equal(error.message + strlen(error.message) - 3, "..."); /* a long list is cut */
}

static void sizes_round_up_like_a_search(void **state) {
    (void)state;
    for (int64_t granule = 1; granule <= 40; granule++) {
        const spad_space plain = {.name = "p", .granule = granule};
        const spad_space power = {.name = "q", .granule = granule, .power_of_two = true};
        for (int64_t bytes = 0; bytes <= 300; bytes++) {
            int64_t out;
            int64_t expected = bytes;
            while (expected % granule != 0) expected++;
            assert_int_equal(spad_space_round(&out, &plain, bytes, NULL), SPAD_OK);
            assert_int_equal(out, expected);
            expected = bytes == 0 ? 0 : granule;
            while (expected < bytes) expected *= 2;
            assert_int_equal(spad_space_round(&out, &power, bytes, NULL), SPAD_OK);
            assert_int_equal(out, expected);
        }
    }
    const spad_space *tmem = find_space("sm_100", "tmem"); /* 33 columns take 64 */
    int64_t out;
    assert_int_equal(spad_space_round(&out, tmem, 33 * 4, NULL), SPAD_OK);
    assert_int_equal(out, 64 * 4);
}

static void sizes_that_cannot_be_rounded_are_refused(void **state) {
    (void)state;
    spad_error error;
    int64_t out = 9;
    const spad_space power = {.name = "q", .granule = 1, .power_of_two = true};
    assert_int_equal(spad_space_round(&out, &power, -1, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "a tile cannot have -1 bytes");
    assert_int_equal(out, 0);
    assert_int_equal(spad_space_round(&out, &power, INT64_MAX, &error), SPAD_ERR_OVERFLOW);
    assert_string_equal(error.message,
                        "9223372036854775807 bytes, rounded up for 'q', do not fit 64 bits");
    assert_int_equal(spad_space_round(&out, &power, INT64_C(1) << 62, &error), SPAD_OK);
    const spad_space wide = {.name = "w", .granule = 1024};
    assert_int_equal(spad_space_round(&out, &wide, INT64_MAX, &error), SPAD_ERR_OVERFLOW);
}

/* Cell by cell. */
static bool share_a_cell(spad_rect a, spad_rect b) {
    for (int64_t lane = a.lane; lane < a.lane + a.lanes; lane++) {
        for (int64_t byte = a.byte; byte < a.byte + a.bytes; byte++) {
            if (lane >= b.lane && lane < b.lane + b.lanes && byte >= b.byte &&
                byte < b.byte + b.bytes) {
                return true;
            }
        }
    }
    return false;
}

static void rectangles_overlap_where_they_share_a_cell(void **state) {
    (void)state;
    spad__random random = {.state = 3};
    int overlaps = 0;
    for (int i = 0; i < 20000; i++) {
        spad_rect r[2];
        for (int j = 0; j < 2; j++) {
            r[j].lane = spad__random_in(&random, -4, 4);
            r[j].lanes = spad__random_in(&random, -1, 8);
            r[j].byte = spad__random_in(&random, -4, 4);
            r[j].bytes = spad__random_in(&random, -1, 8);
        }
        const bool expected = share_a_cell(r[0], r[1]);
        overlaps += expected;
        assert_int_equal(spad_rect_overlaps(r[0], r[1]), expected);
        assert_int_equal(spad_rect_overlaps(r[1], r[0]), expected);
    }
    assert_true(overlaps > 1000);
    /* sums that do not fit */
    const spad_rect all = {INT64_MIN, INT64_MAX, INT64_MIN, INT64_MAX};
    const spad_rect top = {INT64_MAX - 1, INT64_MAX, -2, INT64_MAX};
    const spad_rect low = {INT64_MIN, 1, -2, 1};
    assert_false(spad_rect_overlaps(all, top));
    assert_true(spad_rect_overlaps(all, low));
    assert_true(spad_rect_overlaps(top, (spad_rect){INT64_MAX, 1, 0, 1}));
}

/* The copies of TMA go to shared memory; tcgen05.cp runs with the products [ptx]. */
static void tensor_memory_is_reached_by_matrix_units_and_threads(void **state) {
    (void)state;
    static const struct {
        const char *engine;
        bool reads, writes;
    } rows[] = {{"simt", true, true}, {"tensor", true, true}, {"copy", false, false}};
    static const char *const chips[] = {"sm_100", "sm_103", "sm_110"};
    for (size_t c = 0; c < 3; c++) {
        const spad_target *chip = find(chips[c]);
        spad_error error;
        size_t tmem;
        assert_ok(spad_target_find_space(&tmem, chip, "tmem", &error), &error);
        for (size_t i = 0; i < 3; i++) {
            size_t engine;
            assert_ok(spad__target_find_engine(&engine, chip, rows[i].engine, &error), &error);
            assert_int_equal(chip->engines[engine].reads >> tmem & 1, rows[i].reads);
            assert_int_equal(chip->engines[engine].writes >> tmem & 1, rows[i].writes);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neuron_memories_have_their_public_sizes),
        cmocka_unit_test(neuron_engines_reach_what_the_guides_say),
        cmocka_unit_test(nvidia_memories_have_their_public_sizes),
        cmocka_unit_test(ascend_memories_have_their_public_sizes),
        cmocka_unit_test(built_in_tables_follow_the_rules),
        cmocka_unit_test(unknown_names_are_reported_with_what_there_is),
        cmocka_unit_test(products_are_names),
        cmocka_unit_test(start_lanes_follow_the_table),
        cmocka_unit_test(a_bad_start_lane_names_the_rule),
        cmocka_unit_test(sizes_round_up_like_a_search),
        cmocka_unit_test(sizes_that_cannot_be_rounded_are_refused),
        cmocka_unit_test(rectangles_overlap_where_they_share_a_cell),
        cmocka_unit_test(tensor_memory_is_reached_by_matrix_units_and_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
