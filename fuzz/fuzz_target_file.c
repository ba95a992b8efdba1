/* SPDX-License-Identifier: Apache-2.0
 *
 * Target files: any bytes give a target or faults. A target that was read
 * follows the rules of the format, writes without a fault, and what was written
 * reads back and writes to the same bytes.
 */
#include "fuzz.h"
#include "spad/spad.h"

static fuzz_text written(const spad_target *target) {
    fuzz_text text = {0};
    const spad_sink sink = {.write = fuzz_append, .context = &text};
    REQUIRE(spad_target_write(target, SPAD_FORMAT_TEXT, &sink, NULL) == SPAD_OK);
    return text;
}

static void check_space(const spad_space *space) {
    REQUIRE(space->lanes >= 1 && space->bytes >= 1);
    REQUIRE(space->alignment >= 1 && space->granule >= 1 && spad_space_get_usable(space) >= 0);
    for (size_t i = 0; i < space->lane_rule_count; i++) {
        const spad_lane_rule *rule = &space->lane_rules[i];
        REQUIRE(rule->start_count > 0 && rule->lanes_max <= space->lanes);
        /* every row can be used */
        REQUIRE(spad_space_check_lanes(space, rule->starts[0], rule->lanes_min, NULL) == SPAD_OK);
    }
    int64_t rounded;
    if (spad_space_round(&rounded, space, space->bytes, NULL) == SPAD_OK) {
        REQUIRE(rounded >= space->bytes && rounded % space->granule == 0);
    }
}

static void check_target(const spad_target *target) {
    REQUIRE(target->space_count >= 1 && target->space_count <= SPAD_SPACES_MAX);
    for (size_t i = 0; i < target->space_count; i++) check_space(&target->spaces[i]);
    const fuzz_text first = written(target);
    spad_target *again;
    spad_error error;
    REQUIRE(spad_target_parse(&again, first.bytes, first.count, "again", NULL, NULL, &error) ==
            SPAD_OK);
    const fuzz_text second = written(again);
    REQUIRE(first.count == second.count && memcmp(first.bytes, second.bytes, first.count) == 0);
    fuzz_text json = {0};
    const spad_sink sink = {.write = fuzz_append, .context = &json};
    REQUIRE(spad_target_write(again, SPAD_FORMAT_JSON, &sink, NULL) == SPAD_OK);
    spad_target_destroy(again);
    free(first.bytes);
    free(second.bytes);
    free(json.bytes);
}

static void check_faults(const spad_diagnostics *diagnostics) {
    const size_t count = spad_diagnostics_count(diagnostics);
    REQUIRE(count >= 1 && count <= SPAD_DIAGNOSTICS_MAX);
    for (size_t i = 0; i < count; i++) {
        const spad_diagnostic *fault = spad_diagnostics_get(diagnostics, i);
        REQUIRE(fault->line >= 1 && fault->column >= 1 && fault->width >= 1);
        REQUIRE(strpbrk(fault->message, "\n\r\x1b") == NULL);
    }
    fuzz_text text = {0};
    const spad_sink sink = {.write = fuzz_append, .context = &text};
    REQUIRE(spad_diagnostics_write(diagnostics, SPAD_FORMAT_TEXT, &sink, NULL) == SPAD_OK);
    for (size_t i = 0; i < text.count; i++) { /* nothing that acts on a terminal */
        REQUIRE((unsigned char)text.bytes[i] >= 0x20 || text.bytes[i] == '\n' ||
                text.bytes[i] == '\t');
    }
    free(text.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    spad_diagnostics *diagnostics;
    spad_target *target;
    if (spad_diagnostics_create(&diagnostics, NULL, NULL) != SPAD_OK) return 0;
    const spad_status status =
        spad_target_parse(&target, (const char *)data, size, "fuzz", diagnostics, NULL, NULL);
    if (status == SPAD_OK) {
        check_target(target);
    } else {
        REQUIRE(status == SPAD_ERR_SYNTAX && target == NULL);
        check_faults(diagnostics);
    }
    spad_target_destroy(target);
    spad_diagnostics_destroy(diagnostics);
    return 0;
}
