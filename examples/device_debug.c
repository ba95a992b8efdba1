/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding out: an allocation that fails and a smaller one instead, statistics
 * (T.memory_stats), a trace of everything (T.memory_trace), a log to replay, and the report of
 * what was never freed.
 */
#include <stdio.h>

#include "spad/device.h"
#include "spad/spad.h"

/* 1024 x 1024 do not fit in the unified buffer of the chip; 256 x 256 do. */
static spad_status safe_allocation(spad_buffer *out, spad_device *device, spad_error *error) {
    const spad_buffer_spec large = {.shape = SPAD_SHAPE(1024, 1024),
                                    .dtype = SPAD_FLOAT16,
                                    .scope = SPAD_SHARED,
                                    .name = "scores"};
    spad_buffer_spec small = large;
    small.shape = SPAD_SHAPE(256, 256);
    if (spad_buffer_alloc(out, device, &large, error) == SPAD_OK) return SPAD_OK;
    printf("%s: %s\n", error->subject, error->message);
    return spad_buffer_alloc(out, device, &small, error);
}

static void show_stats(spad_device *device) {
    for (int scope = SPAD_GLOBAL; scope < SPAD_SCOPE_COUNT; scope++) {
        const spad_memory_stats s = spad_device_get_stats(device, (spad_memory_scope)scope);
        printf("%-6s allocated %lld B, peak %lld B, freed %lld B, %lld allocations, %lld refused\n",
               spad_memory_scope_name((spad_memory_scope)scope), (long long)s.allocated_bytes,
               (long long)s.peak_bytes, (long long)s.freed_bytes, (long long)s.allocations,
               (long long)s.failures);
    }
}

/* Every call in the format of RMM's log; spad replay runs it against each pool. */
static void log_calls(void) {
    spad_pool *pool;
    spad_wrapper *log;
    spad_allocation block;
    const spad_sink out = spad_sink_file(stdout);
    if (spad_pool_create_over(&pool, 0x10000, 1 << 20, NULL, NULL) != SPAD_OK) return;
    const spad_memory pooled = spad_pool_get_memory(pool);
    if (spad_wrapper_create_log(&log, &pooled, &out, NULL, NULL, NULL) == SPAD_OK) {
        const spad_memory memory = spad_wrapper_get_memory(log);
        if (spad_memory_alloc(&block, &memory, 1000, 256, NULL) == SPAD_OK)
            spad_memory_free(&memory, &block, NULL);
        spad_memory_alloc(&block, &memory, 2 << 20, 256, NULL); /* refused, and logged */
    }
    spad_wrapper_destroy(log);
    spad_pool_destroy(pool);
}

int main(void) {
    spad_device *device;
    spad_trace *trace;
    spad_error error;
    const spad_target *chip;
    spad_buffer scores, view;
    if (spad_target_find(&chip, "910b", &error) != SPAD_OK ||
        spad_trace_create(&trace, chip, NULL, &error) != SPAD_OK) {
        return 1;
    }
    const spad_device_options options = {.target = chip, .trace = trace};
    spad_status status = spad_device_open(&device, "host", &options, &error);
    if (status == SPAD_OK) status = safe_allocation(&scores, device, &error);
    const spad_buffer_spec forgotten = {
        .shape = SPAD_SHAPE(128, 128), .dtype = SPAD_FLOAT16, .name = "activations"};
    if (status == SPAD_OK) status = spad_buffer_alloc(&view, device, &forgotten, &error);
    if (status == SPAD_OK) status = spad_buffer_free(scores, &error);
    if (status != SPAD_OK) fprintf(stderr, "%s\n", error.message);
    show_stats(device);
    for (size_t i = 0; i < spad_trace_tensor_count(trace); i++) {
        const spad_tensor *t = spad_trace_get_tensor(trace, i);
        printf("traced: %s in %s, %s\n", t->name, chip->spaces[t->space].name,
               t->t_end == SPAD_OPEN_END ? "live" : "freed");
    }
    const spad_sink out = spad_sink_file(stdout);
    spad_device_close(device, &out); /* reports what was forgotten */
    spad_trace_destroy(trace);
    log_calls();
    return status != SPAD_OK;
}
