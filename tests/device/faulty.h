/* SPDX-License-Identifier: Apache-2.0
 *
 * A back end that passes everything on to another one, counts open objects, and fails
 * one call. For one test at a time: its state is static.
 */
#ifndef SPAD_TEST_FAULTY_H
#define SPAD_TEST_FAULTY_H

#include "spad/device/backend.h"

/* Starts anew over a back end; call number fail_at (from 1) fails with SPAD_ERR_DEVICE. */
const spad_backend *faulty_backend(const spad_backend *over, long fail_at);
/* Calls that could have failed so far. */
long faulty_calls(void);
/* Everything that was opened or allocated is closed and freed. */
void faulty_assert_clean(void);

#endif
