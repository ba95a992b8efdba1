/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding texts and the filling of spad_finding. Nothing here allocates.
 */
#include "base/finding.h"

#include <stdio.h>
#include <string.h>

const char *spad_finding_name(spad_finding_code code) {
    switch (code) {
    case SPAD_FINDING_NONE: break;
#define SPAD_FINDING_CASE(name, value, severity, code, sentence) \
    case SPAD_FINDING_##name: return code;
        SPAD_FINDING_LIST(SPAD_FINDING_CASE)
#undef SPAD_FINDING_CASE
    }
    return "?";
}

const char *spad_finding_sentence(spad_finding_code code) {
    switch (code) {
    case SPAD_FINDING_NONE: break;
#define SPAD_FINDING_CASE(name, value, severity, code, sentence) \
    case SPAD_FINDING_##name: return sentence;
        SPAD_FINDING_LIST(SPAD_FINDING_CASE)
#undef SPAD_FINDING_CASE
    }
    return "not a finding of this library";
}

const char *spad_severity_name(spad_severity severity) {
    switch (severity) {
    case SPAD_SEVERITY_ERROR: return "error";
    case SPAD_SEVERITY_WARNING: return "warning";
    case SPAD_SEVERITY_ADVICE: return "advice";
    case SPAD_SEVERITY_COMPILER: return "compiler";
    }
    return "?";
}

static spad_severity severity_of(spad_finding_code code) {
    switch (code) {
    case SPAD_FINDING_NONE: break;
#define SPAD_FINDING_CASE(name, value, severity, code, sentence) \
    case SPAD_FINDING_##name: return SPAD_SEVERITY_##severity;
        SPAD_FINDING_LIST(SPAD_FINDING_CASE)
#undef SPAD_FINDING_CASE
    }
    return SPAD_SEVERITY_ERROR;
}

void spad__finding_init(spad_finding *finding, spad_finding_code code, const char *format, ...) {
    memset(finding, 0, sizeof *finding);
    finding->code = code;
    finding->severity = severity_of(code);
    finding->number = finding->time = SPAD_NO_FACT;
    va_list arguments;
    va_start(arguments, format);
    spad__format_cut(finding->message, sizeof finding->message, format, arguments);
    va_end(arguments);
}

void spad__finding_set_names(spad_finding *finding, const char *subject, const char *other) {
    spad__copy_cut(finding->subject, sizeof finding->subject, subject != NULL ? subject : "");
    spad__copy_cut(finding->other, sizeof finding->other, other != NULL ? other : "");
}

spad_note *spad__finding_add_note(spad_finding *finding, const char *format, ...) {
    if (finding->note_count == SPAD_NOTES_MAX) return &finding->notes[SPAD_NOTES_MAX - 1];
    spad_note *note = &finding->notes[finding->note_count++];
    va_list arguments;
    va_start(arguments, format);
    spad__format_cut(note->message, sizeof note->message, format, arguments);
    va_end(arguments);
    return note;
}
