/* SPDX-License-Identifier: Apache-2.0
 *
 * Filling spad_finding, as error.h does for spad_error.
 */
#ifndef SPAD_BASE_FINDING_H
#define SPAD_BASE_FINDING_H

#include "base/error.h"
#include "spad/finding.h"

/* Writes code, its severity and the message; every other fact is "none". */
void spad__finding_init(spad_finding *finding, spad_finding_code code, const char *format, ...)
    SPAD_PRINTF(3, 4);

/* NULL means "none". */
void spad__finding_set_names(spad_finding *finding, const char *subject, const char *other);

/* Adds a note without a place; the caller fills that in. A finding that is full drops it
 * and returns the last one. */
spad_note *spad__finding_add_note(spad_finding *finding, const char *format, ...) SPAD_PRINTF(2, 3);

#endif
