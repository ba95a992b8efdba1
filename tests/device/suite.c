/* SPDX-License-Identifier: Apache-2.0
 * The device suite. See suite.h. A device that is not there skips it (exit code 77). */
#include "device/suite.h"

#include <stdio.h>

const char *device_name = "host";

spad_device *open_device(const spad_device_options *options) {
    spad_error error;
    spad_device *device;
    assert_ok(spad_device_open(&device, device_name, options, &error), &error);
    return device;
}

void close_device(spad_device *device) {
    test_text text;
    test_text_init(&text);
    assert_int_equal(spad_device_close(device, &text.sink), 0);
    assert_string_equal(text.bytes, "");
    test_text_free(&text);
}

spad_buffer new_buffer(spad_device *device, spad_shape shape, spad_dtype dtype) {
    spad_error error;
    spad_buffer buffer;
    const spad_buffer_spec spec = {.shape = shape, .dtype = dtype};
    assert_ok(spad_buffer_alloc(&buffer, device, &spec, &error), &error);
    return buffer;
}

void free_buffer(spad_buffer buffer) {
    spad_error error;
    assert_ok(spad_buffer_free(buffer, &error), &error);
}

spad_buffer_info info_of(spad_buffer buffer) {
    spad_error error;
    spad_buffer_info info;
    assert_ok(spad_buffer_get_info(&info, buffer, &error), &error);
    return info;
}

spad_stream new_stream(spad_device *device) {
    spad_error error;
    spad_stream stream;
    assert_ok(spad_stream_open(&stream, device, &error), &error);
    return stream;
}

int main(int argc, char **argv) {
    spad_error error;
    spad_device *device;
    if (argc > 1) device_name = argv[1];
    if (spad_device_open(&device, device_name, NULL, &error) == SPAD_ERR_NO_DEVICE) {
        fprintf(stderr, "skipped: %s\n", error.message);
        return 77;
    }
    /* open all the time: a driver that starts anew for every test takes long */
    const int failures = run_buffer_tests() + run_copy_tests() + run_fault_tests();
    spad_device_close(device, NULL);
    return failures;
}
