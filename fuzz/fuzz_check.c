/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels through the check and the simulator: any kernel that was read gets a verdict
 * that goes with its findings, the same one again, and every writer can show it. A large
 * event limit would only make it slow.
 */
#include "fuzz.h"
#include "sim/sim_report.h"
#include "spad/spad.h"

enum { EVENTS_MAX = 1500, OPERATIONS_MAX = 2000 };

static fuzz_text shown(const spad_check *check, const spad_kernel *kernel, const uint8_t *data,
                       size_t size) {
    fuzz_text text = {0};
    const spad_sink sink = {.write = fuzz_append, .context = &text};
    REQUIRE(spad_check_write_text(check, kernel, (const char *)data, size, &sink, NULL) == SPAD_OK);
    REQUIRE(spad_check_write_json(check, kernel, &sink, NULL) == SPAD_OK);
    return text;
}

static void check_findings(const spad_check *check) {
    int64_t errors = 0;
    for (size_t i = 0; i < spad_check_finding_count(check); i++) {
        const spad_finding *finding = spad_check_get_finding(check, i);
        REQUIRE(finding->message[0] != '\0' && finding->count >= 1);
        REQUIRE(strcmp(spad_finding_name(finding->code), "?") != 0);
        errors += finding->severity == SPAD_SEVERITY_ERROR;
    }
    REQUIRE(spad_check_get_counts(check).errors == errors);
    REQUIRE((spad_check_get_verdict(check) == SPAD_VERDICT_WRONG) == (errors > 0));
    REQUIRE(errors > 0 || spad_check_get_reason(check)[0] != '\0');
}

static void check_kernel(const spad_kernel *kernel, const uint8_t *data, size_t size) {
    const spad_check_options options = {.event_limit = EVENTS_MAX};
    spad_check *check;
    spad_check *again;
    REQUIRE(spad_check_create(&check, kernel, &options, NULL) == SPAD_OK);
    REQUIRE(spad_check_create(&again, kernel, &options, NULL) == SPAD_OK);
    check_findings(check);
    const fuzz_text first = shown(check, kernel, data, size);
    const fuzz_text second = shown(again, kernel, data, size);
    REQUIRE(first.count == second.count && memcmp(first.bytes, second.bytes, first.count) == 0);
    free(first.bytes);
    free(second.bytes);
    spad_check_destroy(check);
    spad_check_destroy(again);
}

static void simulate(const spad_kernel *kernel) {
    const spad_sim_options options = {.operation_limit = OPERATIONS_MAX};
    spad_sim *sim;
    spad_error error;
    const spad_status status = spad_sim_create(&sim, kernel, &options, &error);
    REQUIRE(status == SPAD_OK || (error.code == status && error.message[0] != '\0'));
    if (status != SPAD_OK) return;
    fuzz_text text = {0};
    const spad_sink sink = {.write = fuzz_append, .context = &text};
    const spad_sim_totals totals = spad_sim_get_totals(sim);
    for (size_t i = 0; i < spad_kernel_get_target(kernel)->engine_count; i++) {
        REQUIRE(spad__sim_get_engine(sim, i).busy <= totals.makespan);
    }
    REQUIRE(spad_sim_write(sim, SPAD_FORMAT_TEXT, &sink, NULL) == SPAD_OK);
    REQUIRE(spad_sim_write(sim, SPAD_FORMAT_JSON, &sink, NULL) == SPAD_OK);
    free(text.bytes);
    spad_sim_destroy(sim);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    spad_kernel *kernel;
    if (spad_kernel_parse(&kernel, (const char *)data, size, "fuzz", NULL, NULL, NULL) != SPAD_OK) {
        return 0;
    }
    check_kernel(kernel, data, size);
    simulate(kernel);
    spad_kernel_destroy(kernel);
    return 0;
}
