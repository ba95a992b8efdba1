/* SPDX-License-Identifier: Apache-2.0
 *
 * The device suite: the same tests on any device, whose name is the argument of test_device
 * ("host" without one). What all of its files share, and the tests of each.
 */
#ifndef SPAD_TEST_SUITE_H
#define SPAD_TEST_SUITE_H

#include "spad/device/stream.h"
#include "support/support.h"

/* The device under test: what spad_device_open takes. */
extern const char *device_name;

/* These fail the test if the call does. */
spad_device *open_device(const spad_device_options *options);
/* Nothing may have leaked. */
void close_device(spad_device *device);
spad_buffer new_buffer(spad_device *device, spad_shape shape, spad_dtype dtype);
void free_buffer(spad_buffer buffer);
spad_buffer_info info_of(spad_buffer buffer);
spad_stream new_stream(spad_device *device);

/* Each returns the number of tests that failed. */
int run_buffer_tests(void);
int run_copy_tests(void);
int run_fault_tests(void);

#endif
