/* SPDX-License-Identifier: Apache-2.0
 *
 * Direct placement by a function: four physical tiles back to back along the
 * free dimension of SBUF, one for each logical tile. Prints the table.
 * After simple_1d_alloc_func of the NKI direct allocation guide.
 */
#include <stdio.h>

#include "spad/spad.h"

static spad_status simple_1d(spad_direct_spot *out, const int64_t *index, int64_t lanes,
                             int64_t bytes, void *context, spad_error *error) {
    (void)lanes;
    (void)context;
    (void)error;
    *out = (spad_direct_spot){.lane = 0, .byte = index[0] * bytes};
    return SPAD_OK;
}

static void print_table(const spad_direct *kernel, size_t tensor) {
    spad_direct_info t;
    spad_direct_get(&t, kernel, tensor, NULL);
    printf("%s: %lld logical tiles of %lld lanes x %lld B in %lld physical ones\n", t.name,
           (long long)t.tiles, (long long)t.lanes, (long long)t.bytes, (long long)t.physical);
    for (int64_t i = 0; i < t.tiles; i++) {
        spad_direct_tile row;
        spad_direct_get_tile(&row, kernel, tensor, i, NULL);
        printf("  (%lld,) -> lane %lld, byte %lld\n", (long long)i, (long long)row.spot.lane,
               (long long)row.spot.byte);
    }
}

int main(void) {
    const spad_target *chip;
    spad_direct *kernel = NULL;
    spad_error error;
    spad_status status = spad_target_find(&chip, "trn1", &error);
    if (status == SPAD_OK) status = spad_direct_create(&kernel, chip, NULL, &error);
    size_t t = 0;
    if (status == SPAD_OK) {
        status = spad_direct_declare(&t, kernel,
                                     &(spad_direct_tensor){.name = "t",
                                                           .space = "sbuf",
                                                           .dtype = SPAD_BFLOAT16,
                                                           .block = SPAD_SHAPE(4),
                                                           .tile = SPAD_SHAPE(128, 512),
                                                           .mode = SPAD_MODE_FUNC,
                                                           .func = simple_1d},
                                     &error);
    }
    if (status == SPAD_OK) print_table(kernel, t);
    if (status != SPAD_OK) fprintf(stderr, "direct_function: %s\n", error.message);
    spad_direct_destroy(kernel);
    return status == SPAD_OK ? 0 : 1;
}
