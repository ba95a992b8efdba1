/* SPDX-License-Identifier: Apache-2.0
 *
 * status: how a call ended, and error: the facts of a call that failed.
 *
 * Every function that can fail returns a spad_status and takes an optional
 * spad_error as its last argument. On failure the error is filled, the
 * outputs hold null values and nothing else has changed; on success the error
 * does not change. There is no thread-local or global state.
 */
#ifndef SPAD_STATUS_H
#define SPAD_STATUS_H

#include <stdint.h>

#include "spad/api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The one list of codes: X(name, value, stable code, sentence).
 * Groups have gaps so that they can grow; a value never changes its meaning.
 * docs/errors.md has a page for each stable code. */
#define SPAD_STATUS_LIST(X)                                                                      \
    /* what the caller gave */                                                                   \
    X(ARGUMENT, -1, "SPAD-ARGUMENT", "an argument is outside what the function accepts")         \
    X(SHAPE, -2, "SPAD-SHAPE", "a shape is empty, has a negative extent or too many of them")    \
    X(OVERFLOW, -3, "SPAD-OVERFLOW", "a sum or product of sizes does not fit 64 bits")           \
    X(ALIGNMENT, -4, "SPAD-ALIGNMENT", "an alignment is zero, negative or not allowed here")     \
    X(DTYPE, -5, "SPAD-DTYPE", "an element type is not known or not allowed here")               \
    X(NAME, -6, "SPAD-NAME", "a name is already taken, or is not a legal one")                   \
    X(UNKNOWN, -7, "SPAD-UNKNOWN", "no target, space, tensor or option has that name")           \
    X(LANES, -8, "SPAD-LANES", "start lane and lane count break the start-lane table")           \
    X(BOUNDS, -9, "SPAD-BOUNDS", "an address or a rectangle is outside its space")               \
    X(SPACE, -10, "SPAD-SPACE", "the operation does not work in that memory space")              \
    X(BANK, -11, "SPAD-BANK",                                                                    \
      "a bank that holds one tile is shared, or its tile does not start at its first byte")      \
    X(CAPABILITY, -20, "SPAD-CAPABILITY", "the chip does not have what the operation needs")     \
    /* the state the object is in */                                                             \
    X(NO_SCOPE, -30, "SPAD-NO-SCOPE", "the operation needs an open scope")                       \
    X(HEAP_EMPTY, -32, "SPAD-HEAP-EMPTY", "there is nothing on the heap to free")                \
    X(NO_ADDRESS, -33, "SPAD-NO-ADDRESS", "addresses are left to the planner in automatic mode") \
    X(STALE, -34, "SPAD-STALE", "a checkpoint, handle or result is older than its object")       \
    X(NOT_LIVE, -35, "SPAD-NOT-LIVE", "the tensor is not allocated at this moment")              \
    X(CYCLE, -36, "SPAD-CYCLE", "components contain each other in a cycle")                      \
    X(LIFE_CYCLE, -40, "SPAD-LIFE-CYCLE", "a step comes too early, too late or twice")           \
    /* what does not fit */                                                                      \
    X(NO_FIT, -50, "SPAD-NO-FIT", "the buffer does not fit in the memory that is left")          \
    X(OVERLAP, -51, "SPAD-OVERLAP", "two buffers share bytes while both of them are live")       \
    /* text that was read */                                                                     \
    X(SYNTAX, -60, "SPAD-SYNTAX", "the text breaks the grammar or a rule of the format")         \
    /* a call that was not run to its end */                                                     \
    X(TIME, -70, "SPAD-TIME", "time was up before there was a result")                           \
    X(CANCELLED, -71, "SPAD-CANCELLED", "the caller ended the call")                             \
    /* the machine the library runs on */                                                        \
    X(HOST_MEMORY, -80, "SPAD-HOST-MEMORY", "the host allocator returned no memory")             \
    X(IO, -81, "SPAD-IO", "reading or writing failed")                                           \
    X(NO_DEVICE, -82, "SPAD-NO-DEVICE", "there is no such device, or no driver for it")          \
    X(DEVICE, -83, "SPAD-DEVICE", "a call of the driver of a device failed")                     \
    /* a defect of the library */                                                                \
    X(INTERNAL, -100, "SPAD-INTERNAL", "an invariant of the library does not hold")

typedef enum spad_status {
    SPAD_OK = 0,
#define SPAD_STATUS_ENUM(name, value, code, sentence) SPAD_ERR_##name = value,
    SPAD_STATUS_LIST(SPAD_STATUS_ENUM)
#undef SPAD_STATUS_ENUM
} spad_status;

/** Value of a numeric fact that does not apply. */
#define SPAD_NO_FACT INT64_MIN

#define SPAD_MESSAGE_MAX 384
#define SPAD_NAME_FACT_MAX 64

/**
 * The facts of one failure. All strings are copies, cut to their field at a
 * character boundary; the empty string and SPAD_NO_FACT mean "does not apply".
 */
typedef struct spad_error {
    spad_status code;
    int32_t line;                     /**< location in the input, 1-based; 0: none */
    int32_t column;                   /**< counted in characters, 1-based */
    int64_t needed;                   /**< bytes (or other units, see the message) requested */
    int64_t available;                /**< how many there were */
    int64_t largest_hole;             /**< largest free run in the same units */
    int64_t time;                     /**< event number in the trace */
    char subject[SPAD_NAME_FACT_MAX]; /**< what it is about: tensor, scope, key */
    char other[SPAD_NAME_FACT_MAX];   /**< what it collided with */
    char file[SPAD_NAME_FACT_MAX * 2];
    char message[SPAD_MESSAGE_MAX]; /**< one line: facts with units, then what to try */
} spad_error;

/** "SPAD-NO-FIT" and so on; "SPAD-INTERNAL" for a number that is no status. Static storage. */
SPAD_API const char *spad_status_code(spad_status status);

/** One sentence about the status. Static storage. */
SPAD_API const char *spad_status_sentence(spad_status status);

#ifdef __cplusplus
}
#endif
#endif
