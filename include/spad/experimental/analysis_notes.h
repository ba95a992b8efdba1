/* SPDX-License-Identifier: Apache-2.0
 *
 * analysis_notes: the lines of the summary of an analysis, one by one.
 */
#ifndef SPAD_ANALYSIS_NOTES_H
#define SPAD_ANALYSIS_NOTES_H

#ifndef SPAD_EXPERIMENTAL
#error "spad/experimental/analysis_notes.h may change in any version: define SPAD_EXPERIMENTAL"
#endif

#include "spad/analysis.h"

#ifdef __cplusplus
extern "C" {
#endif

/** "does-not-fit", "too-small", "peak", "verdict". Static storage. */
SPAD_API const char *spad_analysis_note_name(spad_analysis_note_code code);

/** Number of notes. */
SPAD_API size_t spad_analysis_note_count(const spad_analysis *analysis);

/** A note by number; NULL beyond the count. Borrowed. */
SPAD_API const spad_analysis_note *spad_analysis_get_note(const spad_analysis *analysis,
                                                          size_t number);

/** Writes one note as one line, without its end. SPAD_ERR_ARGUMENT: no such note. */
SPAD_API spad_status spad_analysis_write_note(const spad_analysis *analysis, size_t number,
                                              const spad_sink *sink, spad_error *error);

#ifdef __cplusplus
}
#endif
#endif
