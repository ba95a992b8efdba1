/* SPDX-License-Identifier: Apache-2.0
 *
 * finding: what a check reports about a kernel that can be built but is wrong,
 * or could be better.
 *
 * A status says how a call ended; a finding is a result. Checks fill an array
 * of the caller, so a finding owns nothing: its strings are copies.
 */
#ifndef SPAD_FINDING_H
#define SPAD_FINDING_H

#include <stddef.h>
#include <stdint.h>

#include "spad/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum spad_severity {
    SPAD_SEVERITY_ERROR,   /**< the kernel is refused by its compiler, or computes wrong results */
    SPAD_SEVERITY_WARNING, /**< it may be wrong */
    SPAD_SEVERITY_ADVICE   /**< it is right, and could be better */
} spad_severity;

/* The one list of codes: X(name, value, severity, stable code, sentence).
 * A value never changes its meaning. The page of what finds it (docs/direct.md)
 * has an example of each. */
#define SPAD_FINDING_LIST(X)                                                                      \
    /* direct placement: a kernel places all of its tensors or none */                            \
    X(MIXED_PLACEMENT, 1, ERROR, "SPAD-MIXED-PLACEMENT",                                          \
      "a tensor is placed automatically in a kernel that places others directly")                 \
    X(IMPLICIT_TENSOR, 2, ERROR, "SPAD-IMPLICIT-TENSOR",                                          \
      "an operation makes a tensor that nobody can place in a kernel that places "                \
      "others directly")                                                                          \
    X(OFF_CHIP_NOT_OUTPUT, 3, ERROR, "SPAD-OFF-CHIP-NOT-OUTPUT",                                  \
      "an off-chip tensor is not an output in a kernel that places others directly")              \
    /* order: agents, units and how they wait for each other */                                   \
    X(RACE, 40, ERROR, "SPAD-RACE",                                                               \
      "two accesses to the same bytes, one of them a write, are not ordered")                     \
    X(MISSING_FENCE, 41, ERROR, "SPAD-MISSING-FENCE",                                             \
      "generic and async accesses to the same bytes have no proxy fence between")                 \
    X(DEADLOCK, 42, ERROR, "SPAD-DEADLOCK", "a wait never ends")                                  \
    X(STALE_PARITY, 43, ERROR, "SPAD-STALE-PARITY", "a parity wait may pass on an older phase")   \
    X(LAPPED_WAIT, 44, ERROR, "SPAD-LAPPED-WAIT",                                                 \
      "a parity wait may come when its phase is over and the next one too")                       \
    X(MIXED_PHASES, 45, ERROR, "SPAD-MIXED-PHASES",                                               \
      "a contribution may count for another phase of its mbarrier")                               \
    X(LATE_EXPECT, 46, ERROR, "SPAD-LATE-EXPECT",                                                 \
      "bytes are expected when the phase may be complete already")                                \
    X(UNWATCHED_PHASE, 47, WARNING, "SPAD-UNWATCHED-PHASE",                                       \
      "an mbarrier is arrived at again before anybody waited for the last phase")                 \
    X(MBARRIER_LIFE, 48, ERROR, "SPAD-MBARRIER-LIFE",                                             \
      "an mbarrier is used before it is initialised or after it is invalidated")                  \
    X(MIXED_BARRIER, 49, ERROR, "SPAD-MIXED-BARRIER",                                             \
      "a contribution may count for another round of its barrier")                                \
    X(BARRIER_COUNT, 50, ERROR, "SPAD-BARRIER-COUNT",                                             \
      "contributions do not add up to the count of a barrier")                                    \
    X(SEVERAL_TAKERS, 51, ERROR, "SPAD-SEVERAL-TAKERS", "who takes from a counter first is open") \
    X(LEFTOVER, 52, WARNING, "SPAD-LEFTOVER",                                                     \
      "signals or arrivals are left over when the kernel ends")                                   \
    X(UNFINISHED, 53, WARNING, "SPAD-UNFINISHED",                                                 \
      "nothing waits until an asynchronous operation is done")                                    \
    X(FREE_IN_USE, 54, ERROR, "SPAD-FREE-IN-USE",                                                 \
      "a tile is allocated or freed while an operation may use its bytes")

typedef enum spad_finding_code {
    SPAD_FINDING_NONE = 0,
#define SPAD_FINDING_ENUM(name, value, severity, code, sentence) SPAD_FINDING_##name = value,
    SPAD_FINDING_LIST(SPAD_FINDING_ENUM)
#undef SPAD_FINDING_ENUM
} spad_finding_code;

/** A second place that a finding is about: the other end of a conflict, or a way to mend it. */
typedef struct spad_note {
    int32_t line; /**< 0: no place */
    int32_t column;
    int32_t width;
    char message[SPAD_MESSAGE_MAX];
} spad_note;

#define SPAD_NOTES_MAX 4

/** One finding. The empty string and SPAD_NO_FACT mean "does not apply". */
typedef struct spad_finding {
    spad_finding_code code;
    spad_severity severity;
    int32_t line;                     /**< place in the input, 1-based; 0: no place */
    int32_t column;                   /**< counted in characters, 1-based */
    int32_t width;                    /**< characters to underline; 0: not known */
    int64_t count;                    /**< how often it was seen, 0 and 1: once */
    int64_t number;                   /**< of the subject, among what was checked */
    int64_t time;                     /**< event number in the trace */
    char subject[SPAD_NAME_FACT_MAX]; /**< what it is about: a tensor, a tile */
    char other[SPAD_NAME_FACT_MAX];   /**< what it clashes with */
    char file[SPAD_NAME_FACT_MAX * 2];
    char message[SPAD_MESSAGE_MAX]; /**< one line: facts with units, then what to try */
    size_t note_count;
    spad_note notes[SPAD_NOTES_MAX];
} spad_finding;

/** "SPAD-MIXED-PLACEMENT" and so on; "?" for a number that is no code. Static storage. */
SPAD_API const char *spad_finding_name(spad_finding_code code);

/** One sentence about the code. Static storage. */
SPAD_API const char *spad_finding_sentence(spad_finding_code code);

/** "error", "warning", "advice"; "?" for a number that is no severity. Static storage. */
SPAD_API const char *spad_severity_name(spad_severity severity);

#ifdef __cplusplus
}
#endif
#endif
