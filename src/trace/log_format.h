/* SPDX-License-Identifier: Apache-2.0
 *
 * The words of the memory log (spad/log.h), for its reader and for what writes one: macros only, so
 * that a library above this one can use them.
 */
#ifndef SPAD_TRACE_LOG_FORMAT_H
#define SPAD_TRACE_LOG_FORMAT_H

/* X(name, word): the columns in the order in which they are written. */
#define SPAD__LOG_COLUMNS(X) \
    X(THREAD, "Thread")      \
    X(TIME, "Time")          \
    X(ACTION, "Action")      \
    X(POINTER, "Pointer")    \
    X(SIZE, "Size")          \
    X(STREAM, "Stream")

/* X(name, word): SPAD_LOG_name. */
#define SPAD__LOG_ACTIONS(X)       \
    X(ALLOCATE, "allocate")        \
    X(FAILURE, "allocate failure") \
    X(FREE, "free")

#endif
