/* SPDX-License-Identifier: Apache-2.0
 *
 * Two tensors whose physical tiles overlap, and a third that has fewer physical
 * tiles than a kernel may want alive. Neither is wrong on its own: it depends on
 * what is alive together. Prints what a lifetime check has to look at.
 * After the lifetime conflicts of the NKI direct allocation guide.
 */
#include <stdio.h>

#include "spad/spad.h"

static spad_status declare(spad_direct *kernel, const char *name, int64_t blocks, int64_t base,
                           spad_error *error) {
    return spad_direct_declare(NULL, kernel,
                               &(spad_direct_tensor){
                                   .name = name,
                                   .space = "sbuf",
                                   .dtype = SPAD_BFLOAT16,
                                   .block = SPAD_SHAPE(blocks),
                                   .tile = SPAD_SHAPE(128, 512),
                                   .mode = SPAD_MODE_MOD,
                                   .rings = {.base = {.byte = base}, .free_tiles = SPAD_SHAPE(2)},
                               },
                               error);
}

static void print_footprint(const spad_direct *kernel, size_t tensor) {
    spad_direct_info t;
    spad_direct_get(&t, kernel, tensor, NULL);
    const spad_rect r = t.footprint;
    printf("%s: lanes [%lld, %lld), bytes [%lld, %lld); %lld of %lld tiles can be alive\n", t.name,
           (long long)r.lane, (long long)(r.lane + r.lanes), (long long)r.byte,
           (long long)(r.byte + r.bytes), (long long)t.physical, (long long)t.tiles);
}

static spad_status print_overlaps(const spad_direct *kernel, spad_error *error) {
    spad_direct_overlap pairs[8];
    size_t count;
    const spad_status status = spad_direct_list_overlaps(&count, pairs, 8, kernel, error);
    for (size_t i = 0; i < count && i < 8; i++) {
        const spad_direct_overlap *p = &pairs[i];
        spad_direct_info a, b;
        spad_direct_get(&a, kernel, p->tensor_a, NULL);
        spad_direct_get(&b, kernel, p->tensor_b, NULL);
        printf("%s[%lld] and %s[%lld] share bytes [%lld, %lld)\n", a.name, (long long)p->tile_a,
               b.name, (long long)p->tile_b, (long long)p->shared.byte,
               (long long)(p->shared.byte + p->shared.bytes));
    }
    return status;
}

int main(void) {
    const spad_target *chip;
    spad_direct *kernel = NULL;
    spad_error error;
    spad_status status = spad_target_find(&chip, "trn1", &error);
    if (status == SPAD_OK) status = spad_direct_create(&kernel, chip, NULL, &error);
    if (status == SPAD_OK) status = declare(kernel, "t0", 4, 0, &error);
    if (status == SPAD_OK) status = declare(kernel, "t1", 4, 1024, &error);
    if (status == SPAD_OK) status = declare(kernel, "t2", 8, 4096, &error);
    for (size_t i = 0; i < 3 && status == SPAD_OK; i++) print_footprint(kernel, i);
    if (status == SPAD_OK) status = print_overlaps(kernel, &error);
    if (status != SPAD_OK) fprintf(stderr, "direct_conflict: %s\n", error.message);
    spad_direct_destroy(kernel);
    return status == SPAD_OK ? 0 : 1;
}
