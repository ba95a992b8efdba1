/* SPDX-License-Identifier: Apache-2.0
 *
 * The page of a report, or of two that are compared.
 */
#ifndef SPAD_REPORT_HTML_H
#define SPAD_REPORT_HTML_H

#include "report/report.h"

typedef struct spad__page_part {
    const spad__picture *picture;
    const int64_t *states; /* per box: SPAD_DIFF_... bits; NULL: nothing is compared */
} spad__page_part;

/* How errors happen, as sections of the page: witness_svg.c. */
void spad__write_witnesses(spad__out *out, const spad__page_part *parts, size_t count);

/* Writes the page of one part, or of two next to each other. */
spad_status spad__write_page(const spad__page_part *parts, size_t count, const spad_sink *sink,
                             spad_error *error);

#endif
