/* SPDX-License-Identifier: Apache-2.0
 *
 * Compresses the data of large pages; see deflate.c.
 */
#ifndef SPAD_REPORT_DEFLATE_H
#define SPAD_REPORT_DEFLATE_H

#include "base/memory.h"
#include "base/text.h"

/* Writes the bytes as raw DEFLATE (RFC 1951) in base64 (RFC 4648). False: no memory. */
bool spad__out_deflated(spad__out *out, const spad_host *host, const char *bytes, size_t count);

#endif
