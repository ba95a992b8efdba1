/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing rows of the memory log (spad/log.h).
 */
#ifndef SPAD_DEVICE_LOG_FORMAT_H
#define SPAD_DEVICE_LOG_FORMAT_H

#include "base/text.h"
#include "spad/log.h"

void spad__log_write_header(spad__out *out);
void spad__log_write_row(spad__out *out, int64_t time, spad_log_action action, int64_t address,
                         int64_t bytes);

#endif
