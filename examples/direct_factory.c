/* SPDX-License-Identifier: Apache-2.0
 *
 * An allocator of one's own: a factory hands out placement functions with a
 * running address, so that each tensor begins where the one before ended.
 * After simple_1d_alloc_factory of the NKI direct allocation guide.
 */
#include <stdio.h>

#include "spad/spad.h"

/* What the function carries along: in C the closure is a struct. */
typedef struct placement {
    int64_t base;
} placement;

static placement factory(int64_t *next_address, int64_t total_bytes) {
    const placement made = {.base = *next_address};
    *next_address += total_bytes;
    return made;
}

static spad_status place(spad_direct_spot *out, const int64_t *index, int64_t lanes, int64_t bytes,
                         void *context, spad_error *error) {
    (void)lanes; /* each tile takes all 128, so it starts at lane 0 */
    (void)error;
    const placement *p = context;
    out->byte = p->base + index[0] * bytes;
    return SPAD_OK;
}

static spad_status declare(spad_direct *kernel, const char *name, int64_t *next_address,
                           spad_error *error) {
    placement p = factory(next_address, 512 * 2 * 4);
    size_t number;
    const spad_status status = spad_direct_declare(&number, kernel,
                                                   &(spad_direct_tensor){
                                                       .name = name,
                                                       .space = "sbuf",
                                                       .dtype = SPAD_BFLOAT16,
                                                       .block = SPAD_SHAPE(4),
                                                       .tile = SPAD_SHAPE(128, 512),
                                                       .mode = SPAD_MODE_FUNC,
                                                       .func = place,
                                                       .context = &p,
                                                   },
                                                   error);
    if (status != SPAD_OK) return status;
    spad_direct_info t;
    spad_direct_get(&t, kernel, number, NULL);
    printf("%s: bytes [%lld, %lld) of every lane\n", name, (long long)t.footprint.byte,
           (long long)(t.footprint.byte + t.footprint.bytes));
    return SPAD_OK;
}

int main(void) {
    const spad_target *chip;
    spad_direct *kernel = NULL;
    spad_error error;
    int64_t next_address = 0;
    spad_status status = spad_target_find(&chip, "trn1", &error);
    if (status == SPAD_OK) status = spad_direct_create(&kernel, chip, NULL, &error);
    if (status == SPAD_OK) status = declare(kernel, "t0", &next_address, &error);
    if (status == SPAD_OK) status = declare(kernel, "t1", &next_address, &error);
    if (status != SPAD_OK) fprintf(stderr, "direct_factory: %s\n", error.message);
    spad_direct_destroy(kernel);
    return status == SPAD_OK ? 0 : 1;
}
