/* SPDX-License-Identifier: Apache-2.0
 *
 * Allocating and freeing, after the chapters on allocation and release of the memory guide
 * of TileLang-Ascend: alloc_buffer, allocate with its scope, free, and the three ways to give a
 * shape: fixed, known at run time, and taken from the data.
 */
#include <stdio.h>

#include "spad/device.h"
#include "spad/spad.h"

static void show(const char *what, spad_buffer buffer) {
    spad_buffer_info info;
    if (spad_buffer_get_info(&info, buffer, NULL) != SPAD_OK) return;
    printf("%-12s %s %s (", what, spad_memory_scope_name(info.scope), spad_dtype_name(info.dtype));
    for (size_t i = 0; i < info.rank; i++) {
        if (info.dims[i] == SPAD_AUTO) {
            printf("%sauto", i == 0 ? "" : ", ");
        } else {
            printf("%s%lld", i == 0 ? "" : ", ", (long long)info.dims[i]);
        }
    }
    printf("), %lld B\n", (long long)info.bytes);
}

/* T.alloc_buffer(shape, dtype, scope) and T.free(buf) */
static spad_status alloc_and_free(spad_device *device, spad_error *error) {
    spad_buffer buffer;
    const spad_buffer_spec spec = {
        .shape = SPAD_SHAPE(128, 128), .dtype = SPAD_FLOAT16, .scope = SPAD_GLOBAL};
    const spad_status status = spad_buffer_alloc(&buffer, device, &spec, error);
    if (status != SPAD_OK) return status;
    show("alloc_buffer", buffer);
    return spad_buffer_free(buffer, error);
}

/* with T.allocate(dtype, scope) as buf: freed at the end of the block */
static spad_status scoped(spad_device *device, spad_error *error) {
    const spad_buffer_spec spec = {
        .shape = SPAD_SHAPE(256), .dtype = SPAD_FLOAT32, .scope = SPAD_SHARED};
    SPAD_BUFFER_SCOPE(temp, device, &spec, error);
    if (temp.status != SPAD_OK) return temp.status;
    const float one = 1.0f;
    show("allocate", temp.buffer);
    return spad_buffer_write(temp.buffer, 0, &one, sizeof one, NULL, error); /* buf[0] = 1.0 */
}

/* the size is known when the program runs */
static spad_status dynamic(spad_device *device, int64_t n, spad_error *error) {
    const spad_buffer_spec spec = {.shape = SPAD_SHAPE(n, 128), .dtype = SPAD_FLOAT16};
    SPAD_BUFFER_SCOPE(temp, device, &spec, error);
    show("dynamic", temp.buffer);
    return temp.status;
}

/* T.alloc_buffer("auto", dtype): the data decides */
static spad_status automatic(spad_device *device, spad_error *error) {
    static const uint16_t rows[6][4] = {{0}};
    const spad_buffer_spec spec = {.shape = SPAD_SHAPE(SPAD_AUTO, 4), .dtype = SPAD_FLOAT16};
    SPAD_BUFFER_SCOPE(temp, device, &spec, error);
    if (temp.status != SPAD_OK) return temp.status;
    show("auto", temp.buffer);
    const spad_status status = spad_buffer_bind(temp.buffer, rows, sizeof rows, error);
    show("auto, bound", temp.buffer);
    return status;
}

int main(void) {
    spad_device *device;
    spad_error error;
    spad_status status = spad_device_open(&device, "host", NULL, &error);
    if (status == SPAD_OK) status = alloc_and_free(device, &error);
    if (status == SPAD_OK) status = scoped(device, &error);
    if (status == SPAD_OK) status = dynamic(device, 77, &error);
    if (status == SPAD_OK) status = automatic(device, &error);
    if (status != SPAD_OK) fprintf(stderr, "%s\n", error.message);
    const spad_sink out = spad_sink_file(stdout);
    printf("%zu leaks\n", spad_device_close(device, &out));
    return status != SPAD_OK;
}
