/* SPDX-License-Identifier: Apache-2.0
 * The least a user of the installed device library does. A wrong scope makes the library fail with
 * text of its own copy of base. */
#include <spad/device.h>
#include <stdio.h>

int main(void) {
    spad_device *device;
    spad_buffer buffer;
    spad_error error;
    if (spad_device_open(&device, "host", NULL, &error) != SPAD_OK) return 1;
    const int64_t dims[] = {128, 128};
    spad_buffer_spec spec = {.shape = {.rank = 2, .dims = dims}, .dtype = SPAD_FLOAT16};
    if (spad_buffer_alloc(&buffer, device, &spec, &error) != SPAD_OK) return 1;
    spec.dtype = SPAD_DTYPE_NONE;
    spad_buffer other;
    if (spad_buffer_alloc(&other, device, &spec, &error) != SPAD_ERR_DTYPE) return 1;
    printf("spad %s: %s: %s\n", spad_version(), spad_status_code(error.code), error.message);
    const spad_sink leaks = spad_sink_file(stdout);
    return spad_device_close(device, &leaks) == 1 ? 0 : 1;
}
