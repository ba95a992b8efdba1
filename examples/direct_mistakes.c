/* SPDX-License-Identifier: Apache-2.0
 *
 * The mistakes that the NKI direct allocation guide lists: a tensor that is
 * placed automatically among direct ones, one that nl.load makes, and a tensor
 * in device memory that is not returned. Prints the findings; with every
 * placement forced to automatic there are none.
 */
#include <stdio.h>

#include "spad/spad.h"

static spad_status declare(spad_direct *kernel, spad_error *error) {
    const spad_direct_tensor tensors[] = {
        {.name = "t", .mode = SPAD_MODE_MOD, .space = "sbuf"},
        {.name = "forgotten", .mode = SPAD_MODE_AUTO, .space = "sbuf"},
        {.name = "loaded", .mode = SPAD_MODE_AUTO, .space = "sbuf", .implicit_of = "nl.load"},
        {.name = "scratch", .mode = SPAD_MODE_AUTO, .space = "hbm"},
        {.name = "result", .mode = SPAD_MODE_AUTO, .space = "hbm", .output = true},
    };
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors && status == SPAD_OK; i++) {
        spad_direct_tensor tensor = tensors[i];
        tensor.dtype = SPAD_BFLOAT16;
        tensor.tile = SPAD_SHAPE(128, 512);
        status = spad_direct_declare(NULL, kernel, &tensor, error);
    }
    return status;
}

static spad_status check(const spad_target *chip, bool force_auto, spad_error *error) {
    const spad_direct_options options = {.force_auto = force_auto};
    spad_direct *kernel;
    spad_status status = spad_direct_create(&kernel, chip, &options, error);
    if (status == SPAD_OK) status = declare(kernel, error);
    if (status == SPAD_OK) {
        spad_finding found[8];
        const size_t count = spad_direct_list_findings(found, 8, kernel);
        printf("%s: %zu findings\n", force_auto ? "forced to automatic" : "as declared", count);
        for (size_t i = 0; i < count && i < 8; i++) {
            printf("  %s %s: %s\n", spad_severity_name(found[i].severity),
                   spad_finding_name(found[i].code), found[i].message);
        }
    }
    spad_direct_destroy(kernel);
    return status;
}

int main(void) {
    const spad_target *chip;
    spad_error error;
    spad_status status = spad_target_find(&chip, "trn1", &error);
    if (status == SPAD_OK) status = check(chip, false, &error);
    if (status == SPAD_OK) status = check(chip, true, &error);
    if (status != SPAD_OK) fprintf(stderr, "direct_mistakes: %s\n", error.message);
    return status == SPAD_OK ? 0 : 1;
}
