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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spad/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum spad_severity {
    SPAD_SEVERITY_ERROR,   /**< the kernel is refused by its compiler, or computes wrong results */
    SPAD_SEVERITY_WARNING, /**< it may be wrong */
    SPAD_SEVERITY_ADVICE,  /**< it is right, and could be better */
    SPAD_SEVERITY_COMPILER /**< the program is right, and its compiler made a kernel of it that is
                                wrong: a known fault of the compiler */
} spad_severity;

/* The one list of codes: X(name, value, severity, stable code, sentence).
 * A value never changes its meaning. docs/findings.md has an example of each
 * (docs/direct.md of those that only direct placement reports). */
#define SPAD_FINDING_LIST(X)                                                                       \
    /* direct placement: before NKI 0.2 a kernel places all of its tensors or none */              \
    X(MIXED_PLACEMENT, 1, WARNING, "SPAD-MIXED-PLACEMENT",                                         \
      "a tensor is placed automatically in a kernel that places others directly")                  \
    X(IMPLICIT_TENSOR, 2, WARNING, "SPAD-IMPLICIT-TENSOR",                                         \
      "an operation makes a tensor that cannot be placed in a kernel that places "                 \
      "others directly")                                                                           \
    X(OFF_CHIP_NOT_OUTPUT, 3, WARNING, "SPAD-OFF-CHIP-NOT-OUTPUT",                                 \
      "an off-chip tensor is not an output in a kernel that places others directly")               \
    /* rules of the chip */                                                                        \
    X(OUT_OF_SPACE, 10, ERROR, "SPAD-OUT-OF-SPACE",                                                \
      "a tile is outside the bytes or lanes that its space has for tensors")                       \
    X(START_LANE, 11, ERROR, "SPAD-START-LANE", "a tile starts at a lane where it may not")        \
    X(MISALIGNED, 12, ERROR, "SPAD-MISALIGNED", "a tile starts at an address that is not aligned") \
    X(BANK_CROSSED, 13, ERROR, "SPAD-BANK-CROSSED",                                                \
      "a tile crosses the boundary between two banks")                                             \
    X(GRANULE, 14, ERROR, "SPAD-GRANULE",                                                          \
      "a tile has a size in which its space does not hand out memory")                             \
    X(INDEX_OUTSIDE, 15, ERROR, "SPAD-INDEX-OUTSIDE",                                              \
      "an index or a range leaves its tensor in some iteration")                                   \
    X(DOES_NOT_FIT, 16, ERROR, "SPAD-DOES-NOT-FIT",                                                \
      "tensors do not fit in what their space offers")                                             \
    X(CANNOT_RUN, 17, ERROR, "SPAD-CANNOT-RUN", "a statement cannot be run")                       \
    X(BANK_START, 18, ERROR, "SPAD-BANK-START",                                                    \
      "a tile does not start at the first byte and lane of a bank that holds one tile")            \
    /* lifetimes */                                                                                \
    X(LIFETIME_CONFLICT, 20, ERROR, "SPAD-LIFETIME-CONFLICT",                                      \
      "a tile is read after another one was written over it")                                      \
    X(STALE_READ, 21, ERROR, "SPAD-STALE-READ",                                                    \
      "a tile is read while its bytes still hold an older one of the same tensor")                 \
    X(UNINITIALISED_READ, 22, ERROR, "SPAD-UNINITIALISED-READ",                                    \
      "bytes are read that were never written")                                                    \
    X(ALIAS_CLASH, 23, ERROR, "SPAD-ALIAS-CLASH",                                                  \
      "a tensor is read after its bytes were written under another name")                          \
    X(SECTION_OVERLAP, 24, ERROR, "SPAD-SECTION-OVERLAP",                                          \
      "a tensor of one section overlaps a tensor of another that is still in use")                 \
    X(USE_AFTER_FREE, 25, ERROR, "SPAD-USE-AFTER-FREE", "a tile is used that is not allocated")    \
    X(USE_AFTER_SCOPE, 26, ERROR, "SPAD-USE-AFTER-SCOPE",                                          \
      "a tensor is used after its scope has closed")                                               \
    X(SECTION_OVER, 27, ERROR, "SPAD-SECTION-OVER",                                                \
      "a tensor is used after its scope has returned to its section")                              \
    /* hygiene */                                                                                  \
    X(DEAD_WRITE, 30, WARNING, "SPAD-DEAD-WRITE", "something is written and never read")           \
    X(LEAK, 31, WARNING, "SPAD-LEAK", "memory is allocated and not freed")                         \
    X(DOUBLE_FREE, 32, ERROR, "SPAD-DOUBLE-FREE", "a tile is freed that is not allocated")         \
    X(NEVER_USED, 33, WARNING, "SPAD-NEVER-USED", "a tensor is never used")                        \
    X(NEVER_READ, 34, WARNING, "SPAD-NEVER-READ", "a tensor is written and never read")            \
    X(ALLOCATION_ORDER, 35, ERROR, "SPAD-ALLOCATION-ORDER",                                        \
      "heap tensors are not freed newest first, or a tile is allocated twice")                     \
    X(UNWRITTEN_OUTPUT, 36, WARNING, "SPAD-UNWRITTEN-OUTPUT",                                      \
      "bytes of an output are never written")                                                      \
    X(PARALLEL_DEPENDENCE, 37, WARNING, "SPAD-PARALLEL-DEPENDENCE",                                \
      "iterations of a parallel loop depend on each other")                                        \
    /* order: agents, units and how they wait for each other */                                    \
    X(RACE, 40, ERROR, "SPAD-RACE",                                                                \
      "two accesses to the same bytes, one of them a write, are not ordered")                      \
    X(MISSING_FENCE, 41, ERROR, "SPAD-MISSING-FENCE",                                              \
      "accesses to the same bytes have no fence between them, and need one")                       \
    X(DEADLOCK, 42, ERROR, "SPAD-DEADLOCK", "a wait never ends")                                   \
    X(STALE_PARITY, 43, ERROR, "SPAD-STALE-PARITY", "a parity wait may pass on an older phase")    \
    X(LAPPED_WAIT, 44, ERROR, "SPAD-LAPPED-WAIT",                                                  \
      "a parity wait may come when its phase is over and the next one too")                        \
    X(MIXED_PHASES, 45, ERROR, "SPAD-MIXED-PHASES",                                                \
      "a contribution may count for another phase of its mbarrier")                                \
    X(LATE_EXPECT, 46, ERROR, "SPAD-LATE-EXPECT",                                                  \
      "bytes are expected when the phase may be complete already")                                 \
    X(UNWATCHED_PHASE, 47, WARNING, "SPAD-UNWATCHED-PHASE",                                        \
      "an mbarrier is arrived at again before anything waited for the last phase")                 \
    X(MBARRIER_LIFE, 48, ERROR, "SPAD-MBARRIER-LIFE",                                              \
      "an mbarrier is used before it is initialised or after it is invalidated")                   \
    X(MIXED_BARRIER, 49, ERROR, "SPAD-MIXED-BARRIER",                                              \
      "a contribution may count for another round of its barrier")                                 \
    X(BARRIER_COUNT, 50, ERROR, "SPAD-BARRIER-COUNT",                                              \
      "contributions do not add up to the count of a barrier")                                     \
    X(SEVERAL_TAKERS, 51, ERROR, "SPAD-SEVERAL-TAKERS",                                            \
      "the order in which agents take from a counter is undefined")                                \
    X(LEFTOVER, 52, WARNING, "SPAD-LEFTOVER",                                                      \
      "signals or arrivals are left over when the kernel ends")                                    \
    X(UNFINISHED, 53, ERROR, "SPAD-UNFINISHED",                                                    \
      "nothing waits until an asynchronous operation is done")                                     \
    X(FREE_IN_USE, 54, ERROR, "SPAD-FREE-IN-USE",                                                  \
      "a tile is allocated or freed while an operation may use its bytes")                         \
    X(MISSING_SYNC, 57, ERROR, "SPAD-MISSING-SYNC",                                                \
      "all threads of an agent and one of them access the same bytes with no sync between")        \
    X(MBARRIER_BYTES, 58, ERROR, "SPAD-MBARRIER-BYTES",                                            \
      "bytes of an mbarrier are accessed while it is in use, or its init has written over a tile") \
    X(SAME_VALUE, 59, WARNING, "SPAD-SAME-VALUE",                                                  \
      "two writes of one value to the same bytes are not ordered")                                 \
    /* advice */                                                                                   \
    X(SERIAL_TENSOR, 60, ADVICE, "SPAD-SERIAL-TENSOR",                                             \
      "a tensor that is declared in a loop has one live tile and serialises the loop")             \
    X(SHARED_BANK, 61, ADVICE, "SPAD-SHARED-BANK", "two accumulation groups share a bank")         \
    X(SHORT_ROW, 62, ADVICE, "SPAD-SHORT-ROW",                                                     \
      "a transfer moves so few bytes per lane that it is slow")                                    \
    X(DEEP_RING, 63, ADVICE, "SPAD-DEEP-RING", "a ring has more slots than can ever be used")      \
    X(WASTED_WORK, 64, ADVICE, "SPAD-WASTED-WORK",                                                 \
      "only operations of which nothing is used read a result")                                    \
    X(INIT_FENCE, 65, ADVICE, "SPAD-INIT-FENCE",                                                   \
      "bytes are delivered to an mbarrier with no fence after its init")                           \
    X(WRITER_FENCE, 66, ADVICE, "SPAD-WRITER-FENCE",                                               \
      "a proxy fence is not by the agent that wrote the bytes")                                    \
    /* what a chip can count */                                                                    \
    X(MBARRIER_LIMIT, 70, ERROR, "SPAD-MBARRIER-LIMIT",                                            \
      "an mbarrier waits for more arrivals or bytes than it can count")                            \
    X(BARRIER_LIMIT, 71, ERROR, "SPAD-BARRIER-LIMIT",                                              \
      "there are more barriers than the chip has, or one counts threads as it cannot")             \
    X(FLAG_LIMIT, 72, ERROR, "SPAD-FLAG-LIMIT",                                                    \
      "there are more flags between two pipes than the chip has")                                  \
    X(THREAD_LIMIT, 73, ERROR, "SPAD-THREAD-LIMIT",                                                \
      "agents have more threads than a block can have")                                            \
    X(REGISTER_LIMIT, 74, ERROR, "SPAD-REGISTER-LIMIT",                                            \
      "threads have more registers than the chip gives them")                                      \
    X(CLUSTER_LIMIT, 75, WARNING, "SPAD-CLUSTER-LIMIT",                                            \
      "a cluster has more blocks than every chip of the family allows")                            \
    X(PRIVATE_MEMORY, 76, ERROR, "SPAD-PRIVATE-MEMORY",                                            \
      "an agent uses the memory of two cores, and can reach that of one")                          \
    /* the program that a kernel was made from */                                                  \
    X(EXECUTION, 80, ERROR, "SPAD-EXECUTION",                                                      \
      "the program that the kernel was made from has an error in its execution")                   \
    /* the text itself */                                                                          \
    X(SYNTAX, 90, ERROR, "SPAD-SYNTAX", "the text breaks the grammar or a rule of the language")

typedef enum spad_finding_code {
    SPAD_FINDING_NONE = 0,
#define SPAD_FINDING_ENUM(name, value, severity, code, sentence) SPAD_FINDING_##name = value,
    SPAD_FINDING_LIST(SPAD_FINDING_ENUM)
#undef SPAD_FINDING_ENUM
} spad_finding_code;

/** Bytes of the text of a place, with the NUL. */
#define SPAD_PLACE_MAX 192

/** Bytes of the name of a file of a program, with the NUL. */
#define SPAD_PROGRAM_FILE_MAX 256

/** A line of the program that the input was compiled from, where that is what its user wrote: a
 *  kernel from PTX has lines of CUDA C++. */
typedef struct spad_program_line {
    char file[SPAD_PROGRAM_FILE_MAX]; /**< "": none is known, or the input is the program */
    int32_t line;
    int32_t column;                 /**< 0: not known */
    char code[SPAD_PLACE_MAX];      /**< its text; "": not known */
    char called_at[SPAD_PLACE_MAX]; /**< "a.cu:12, called at b.cu:7"; "": it was not inlined */
    char inside[SPAD_PLACE_MAX];    /**< "sync.h:149": the code of the toolkit that it calls, and
                                         where the fault is */
} spad_program_line;

/** A second location that a finding is about: the other end of a conflict, or a possible fix. */
typedef struct spad_note {
    int32_t line; /**< 0: no location */
    int32_t column;
    int32_t width;
    char place[SPAD_PLACE_MAX]; /**< as in spad_finding */
    char message[SPAD_MESSAGE_MAX];
    spad_program_line program;
} spad_note;

#define SPAD_NOTES_MAX 8

/** A known fault of a compiler. Static storage. */
typedef struct spad_compiler_fault {
    const char *name;   /**< stable: "triton-missing-proxy-fence" */
    const char *remedy; /**< what its user can do */
    const char *effect; /**< what is known about results */
    const char *link;
    bool wrong_results; /**< wrong results are known */
} spad_compiler_fault;

/** Why a finding is not shown. */
typedef enum spad_hidden {
    SPAD_HIDDEN_NOT,
    SPAD_HIDDEN_IN_SOURCE,   /**< a comment at its line: spad: ignore[SPAD-RACE] reason */
    SPAD_HIDDEN_IN_BASELINE, /**< it was known before */
    SPAD_HIDDEN_BY_RULE      /**< findings of its code are not wanted */
} spad_hidden;

/** Bytes of a fingerprint, with the NUL. */
#define SPAD_FINGERPRINT_MAX 17

/** One finding. The empty string and SPAD_NO_FACT mean "does not apply". */
typedef struct spad_finding {
    spad_finding_code code;
    spad_severity severity;
    int32_t line;                     /**< location in the input, 1-based; 0: none */
    int32_t column;                   /**< counted in characters, 1-based */
    int32_t width;                    /**< characters to underline; 0: not known */
    int64_t count;                    /**< how often it was seen, 0 and 1: once */
    int64_t number;                   /**< of the subject, among what was checked */
    int64_t time;                     /**< event number in the trace */
    char subject[SPAD_NAME_FACT_MAX]; /**< what it is about: a tensor, a tile */
    char other[SPAD_NAME_FACT_MAX];   /**< what it clashes with */
    char file[SPAD_NAME_FACT_MAX * 2];
    char place[SPAD_PLACE_MAX];     /**< line of the program that the input was made from, with the
                                         calls that led to it */
    char message[SPAD_MESSAGE_MAX]; /**< one line: facts with units, then what to try */
    size_t note_count;
    spad_note notes[SPAD_NOTES_MAX];
    spad_program_line program; /**< reports name it first, and the line of the input after it */
    const spad_compiler_fault *fault; /**< of SPAD_SEVERITY_COMPILER; else NULL */
    bool fails;         /**< of SPAD_SEVERITY_COMPILER: it fails a check, as an error does */
    spad_hidden hidden; /**< it is neither counted nor shown as text */
    char why[SPAD_NAME_FACT_MAX]; /**< the reason in the comment that hides it; "": none */
    size_t cause; /**< 0: it is the first finding of its cause; else that one's number, from 1 on */
    char fingerprint[SPAD_FINGERPRINT_MAX]; /**< stays when lines and sizes change; "": of no check
                                             */
} spad_finding;

/** "SPAD-MIXED-PLACEMENT" and so on; "?" for an invalid code. Static storage. */
SPAD_API const char *spad_finding_name(spad_finding_code code);

/** One sentence about the code. Static storage. */
SPAD_API const char *spad_finding_sentence(spad_finding_code code);

/** "error", "warning", "advice"; "?" for an invalid severity. Static storage. */
SPAD_API const char *spad_severity_name(spad_severity severity);

#ifdef __cplusplus
}
#endif
#endif
