/* SPDX-License-Identifier: Apache-2.0
 *
 * Using memory again: an alias of another shape and type (T.buffer_alias), a workspace that
 * phases share (T.workspace), and a pool that is filled before the work begins.
 */
#include <stdio.h>

#include "spad/device.h"
#include "spad/spad.h"

static spad_status alias(spad_device *device, spad_error *error) {
    spad_buffer view;
    float value = 0.0f;
    const float three = 3.0f;
    const spad_buffer_spec spec = {.shape = SPAD_SHAPE(64, 128), .dtype = SPAD_FLOAT32};
    SPAD_BUFFER_SCOPE(a, device, &spec, error);
    spad_status status = a.status;
    if (status == SPAD_OK)
        status =
            spad_buffer_alias(&view, a.buffer, 0, SPAD_SHAPE(64, 64), SPAD_FLOAT32, "view", error);
    if (status == SPAD_OK) status = spad_buffer_write(view, 0, &three, sizeof three, NULL, error);
    if (status == SPAD_OK)
        status = spad_buffer_read(&value, a.buffer, 0, sizeof value, NULL, error);
    if (status != SPAD_OK) return status;
    printf("written through the alias, read from the buffer: %.1f\n", (double)value);
    /* it cannot be larger than what it is a view of */
    spad_error refused;
    if (spad_buffer_alias(&view, a.buffer, 0, SPAD_SHAPE(64, 129), SPAD_FLOAT32, NULL, &refused) !=
        SPAD_OK) {
        printf("%s\n", refused.message);
    }
    return SPAD_OK;
}

static spad_status workspace(spad_device *device, spad_error *error) {
    spad_workspace ws;
    spad_buffer first, second;
    spad_status status =
        spad_workspace_open(&ws, device, 64 * 1024, SPAD_SHARED, "workspace", error);
    if (status != SPAD_OK) return status;
    status =
        spad_workspace_take(&first, &ws, SPAD_SHAPE(128, 64), SPAD_FLOAT32, 0, "stage 1", error);
    if (status == SPAD_OK) status = spad_workspace_next(&ws, error);
    if (status == SPAD_OK)
        status = spad_workspace_take(&second, &ws, SPAD_SHAPE(128, 96), SPAD_FLOAT32, 0, "stage 2",
                                     error);
    printf("two stages of 32768 and 49152 B in %lld B of workspace\n", (long long)ws.peak);
    spad_error gone;
    if (spad_buffer_free(first, &gone) != SPAD_OK)
        printf("the buffer of stage 1 in stage 2: %s\n", spad_status_code(gone.code));
    const spad_status closed = spad_workspace_close(&ws, error);
    return status == SPAD_OK ? closed : status;
}

/* One chunk is taken from the device now; none in the loop. */
static spad_status preallocate(spad_error *error) {
    spad_device *device;
    spad_pool *pool;
    const spad_device_options options = {.pool = &(spad_pool_options){.initial_bytes = 8 << 20}};
    const spad_buffer_spec spec = {.shape = SPAD_SHAPE(1 << 20), .dtype = SPAD_FLOAT32};
    spad_status status = spad_device_open(&device, "host", &options, error);
    if (status != SPAD_OK) return status;
    for (int i = 0; i < 100 && status == SPAD_OK; i++) {
        SPAD_BUFFER_SCOPE(buffer, device, &spec, error);
        status = buffer.status;
    }
    if (status == SPAD_OK) status = spad_device_get_pool(&pool, device, SPAD_GLOBAL, error);
    if (status == SPAD_OK)
        printf("100 buffers, %lld chunk of %lld B\n", (long long)spad_pool_get_stats(pool).chunks,
               (long long)spad_pool_get_stats(pool).capacity_bytes);
    spad_device_close(device, NULL);
    return status;
}

int main(void) {
    spad_device *device;
    spad_error error;
    spad_status status = spad_device_open(&device, "host", NULL, &error);
    if (status == SPAD_OK) status = alias(device, &error);
    if (status == SPAD_OK) status = workspace(device, &error);
    if (status == SPAD_OK) status = preallocate(&error);
    if (status != SPAD_OK) fprintf(stderr, "%s\n", error.message);
    spad_device_close(device, NULL);
    return status != SPAD_OK;
}
