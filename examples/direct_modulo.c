/* SPDX-License-Identifier: Apache-2.0
 *
 * Double buffering by modulo: four logical tiles take turns in two physical
 * ones, in SBUF along the bytes and in PSUM over the banks. Prints who shares
 * with whom, and the trace. After the modulo example of the NKI direct
 * allocation guide.
 */
#include <stdio.h>

#include "spad/spad.h"

static void print_sharing(const spad_direct *kernel, size_t tensor) {
    spad_direct_info t;
    spad_direct_get(&t, kernel, tensor, NULL);
    for (int64_t p = 0; p < t.physical; p++) {
        spad_direct_tile row;
        spad_direct_get_physical(&row, kernel, tensor, p, NULL);
        printf("%s: bank %lld, lane %lld, byte %lld holds", t.name, (long long)row.spot.bank,
               (long long)row.spot.lane, (long long)row.spot.byte);
        for (int64_t i = row.tile; i != -1; i = row.next) {
            spad_direct_get_tile(&row, kernel, tensor, i, NULL);
            printf(" (%lld,)", (long long)i);
        }
        printf("\n");
    }
}

static spad_status declare(spad_direct *kernel, spad_error *error) {
    const spad_direct_tensor operands = {
        .name = "nki_tensor",
        .space = "sbuf",
        .dtype = SPAD_BFLOAT16,
        .block = SPAD_SHAPE(4),
        .tile = SPAD_SHAPE(128, 512),
        .mode = SPAD_MODE_MOD,
        .rings = {.base = {.byte = 0}, .free_tiles = SPAD_SHAPE(2)},
    };
    const spad_direct_tensor sums = {
        .name = "sums",
        .space = "psum",
        .dtype = SPAD_FLOAT32,
        .block = SPAD_SHAPE(4),
        .tile = SPAD_SHAPE(128, 512),
        .mode = SPAD_MODE_MOD,
        .rings = {.base = {.bank = 4}, .bank_tiles = SPAD_SHAPE(2)},
    };
    size_t first = 0, second = 0;
    spad_status status = spad_direct_declare(&first, kernel, &operands, error);
    if (status == SPAD_OK) status = spad_direct_declare(&second, kernel, &sums, error);
    if (status != SPAD_OK) return status;
    print_sharing(kernel, first);
    print_sharing(kernel, second);
    spad_direct_close(kernel);
    return SPAD_OK;
}

int main(void) {
    const spad_target *chip;
    spad_trace *trace = NULL;
    spad_direct *kernel = NULL;
    spad_error error;
    spad_status status = spad_target_find(&chip, "trn1", &error);
    if (status == SPAD_OK) status = spad_trace_create(&trace, chip, NULL, &error);
    if (status == SPAD_OK) {
        const spad_direct_options options = {.trace = trace};
        status = spad_direct_create(&kernel, chip, &options, &error);
    }
    if (status == SPAD_OK) status = declare(kernel, &error);
    const size_t events = trace != NULL ? spad_trace_event_count(trace) : 0;
    for (size_t i = 0; i < events && status == SPAD_OK; i++) {
        const spad_event *event = spad_trace_get_event(trace, i);
        const spad_tensor *tile = spad_trace_get_tensor(trace, (size_t)event->tensor);
        printf("event %zu: %s %s\n", i, event->kind == SPAD_EVENT_ALLOC ? "alloc" : "free",
               tile->name);
    }
    if (status != SPAD_OK) fprintf(stderr, "direct_modulo: %s\n", error.message);
    spad_direct_destroy(kernel);
    spad_trace_destroy(trace);
    return status == SPAD_OK ? 0 : 1;
}
