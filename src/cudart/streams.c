/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams, events and graphs of both APIs. Work is done when it is asked for, so a stream is only a
 * handle. An event is the host's clock, so that programs which measure until some time has passed
 * come to an end. A graph holds nothing: what a stream would capture into it has been recorded
 * already.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cudart/cudart.h"

/* ---- handles -------------------------------------------------------------------------------- */

typedef struct handle_record {
    int64_t at_ns; /* of an event */
} handle_record;

static int make_handle(void **out) {
    if (out == NULL) return SPAD__RT_INVALID_VALUE;
    *out = calloc(1, sizeof(handle_record));
    return *out != NULL ? SPAD__RT_SUCCESS : SPAD__RT_OUT_OF_MEMORY;
}

static int free_handle(void *handle) {
    free(handle);
    return SPAD__RT_SUCCESS;
}

static int64_t host_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int mark_event(void *event) {
    if (event == NULL) return SPAD__RT_INVALID_HANDLE;
    ((handle_record *)event)->at_ns = host_clock();
    return SPAD__RT_SUCCESS;
}

static int time_between(float *out, const void *begin, const void *end) {
    if (out == NULL || begin == NULL || end == NULL) return SPAD__RT_INVALID_HANDLE;
    const int64_t ns = ((const handle_record *)end)->at_ns - ((const handle_record *)begin)->at_ns;
    *out = (float)ns * 1e-6F;
    return SPAD__RT_SUCCESS;
}

/* An entry point that does nothing. */
#define NOTHING(name, ...)           \
    SPAD__ENTRY(name, __VA_ARGS__) { \
        (void)a;                     \
        return SPAD__RT_SUCCESS;     \
    }
#define NOTHING_PTSZ(name, ...)           \
    SPAD__ENTRY_PTSZ(name, __VA_ARGS__) { \
        (void)a;                          \
        return SPAD__RT_SUCCESS;          \
    }

/* ---- streams -------------------------------------------------------------------------------- */

SPAD__ENTRY(cudaStreamCreateWithPriority, void **out, unsigned flags, int priority) {
    (void)flags;
    (void)priority;
    return make_handle(out);
}

SPAD__ENTRY(cudaStreamCreateWithFlags, void **out, unsigned flags) {
    return cudaStreamCreateWithPriority(out, flags, 0);
}

SPAD__ENTRY(cudaStreamCreate, void **out) {
    return cudaStreamCreateWithPriority(out, 0, 0);
}

SPAD__ENTRY(cudaStreamDestroy, void *stream) {
    return free_handle(stream);
}

SPAD__ENTRY_PTSZ(cudaStreamGetFlags, void *stream, unsigned *flags) {
    (void)stream;
    *flags = 0;
    return SPAD__RT_SUCCESS;
}

SPAD__ENTRY_PTSZ(cudaStreamGetPriority, void *stream, int *priority) {
    (void)stream;
    *priority = 0;
    return SPAD__RT_SUCCESS;
}

SPAD__ENTRY_PTSZ(cudaStreamGetDevice, void *stream, int *device) {
    (void)stream;
    *device = 0;
    return SPAD__RT_SUCCESS;
}

SPAD__ENTRY_PTSZ(cudaStreamGetId, void *stream, unsigned long long *id) {
    *id = (unsigned long long)(uintptr_t)stream;
    return SPAD__RT_SUCCESS;
}

SPAD__ENTRY_PTSZ(cudaStreamIsCapturing, void *stream, int *status) {
    (void)stream;
    *status = 0;
    return SPAD__RT_SUCCESS;
}

SPAD__ENTRY_PTSZ(cudaStreamWaitEvent, void *stream, void *event, unsigned flags) {
    (void)stream, (void)event, (void)flags;
    return SPAD__RT_SUCCESS;
}

SPAD__ENTRY_PTSZ(cudaLaunchHostFunc, void *stream, void (*function)(void *), void *context) {
    (void)stream;
    if (function != NULL) function(context);
    return SPAD__RT_SUCCESS;
}

SPAD__ENTRY_PTSZ(cudaStreamAddCallback, void *stream, void (*function)(void *, int, void *),
                 void *context, unsigned flags) {
    (void)flags;
    if (function != NULL) function(stream, SPAD__RT_SUCCESS, context);
    return SPAD__RT_SUCCESS;
}

NOTHING_PTSZ(cudaStreamSynchronize, void *a)
NOTHING_PTSZ(cudaStreamQuery, void *a)

SPAD__ENTRY_PTSZ(cudaStreamSetAttribute, void *stream, int attribute, const void *value) {
    (void)stream, (void)attribute, (void)value;
    return SPAD__RT_SUCCESS;
}

SPAD__ENTRY(cuStreamCreateWithPriority, void **out, unsigned flags, int priority) {
    return cudaStreamCreateWithPriority(out, flags, priority);
}

SPAD__ENTRY(cuStreamCreate, void **out, unsigned flags) {
    return cudaStreamCreateWithPriority(out, flags, 0);
}

NOTHING_PTSZ(cuStreamSynchronize, void *a)
NOTHING_PTSZ(cuStreamQuery, void *a)

SPAD__ENTRY(cuStreamDestroy_v2, void *stream) {
    return free_handle(stream);
}

SPAD__ENTRY_PTSZ(cuStreamIsCapturing, void *stream, int *status) {
    return cudaStreamIsCapturing(stream, status);
}

SPAD__ENTRY_PTSZ(cuStreamWaitEvent, void *stream, void *event, unsigned flags) {
    return cudaStreamWaitEvent(stream, event, flags);
}

SPAD__ENTRY_PTSZ(cuLaunchHostFunc, void *stream, void (*function)(void *), void *context) {
    return cudaLaunchHostFunc(stream, function, context);
}

/* ---- events --------------------------------------------------------------------------------- */

SPAD__ENTRY(cudaEventCreateWithFlags, void **out, unsigned flags) {
    (void)flags;
    return make_handle(out);
}

SPAD__ENTRY(cudaEventCreate, void **out) {
    return make_handle(out);
}

SPAD__ENTRY(cudaEventDestroy, void *event) {
    return free_handle(event);
}

SPAD__ENTRY_PTSZ(cudaEventRecord, void *event, void *stream) {
    (void)stream;
    return mark_event(event);
}

SPAD__ENTRY_PTSZ(cudaEventRecordWithFlags, void *event, void *stream, unsigned flags) {
    (void)flags;
    (void)stream;
    return mark_event(event);
}

NOTHING(cudaEventSynchronize, void *a)
NOTHING(cudaEventQuery, void *a)

SPAD__ENTRY(cudaEventElapsedTime, float *out, void *begin, void *end) {
    return time_between(out, begin, end);
}

SPAD__ENTRY(cuEventCreate, void **out, unsigned flags) {
    (void)flags;
    return make_handle(out);
}

SPAD__ENTRY(cuEventDestroy_v2, void *event) {
    return free_handle(event);
}

SPAD__ENTRY_PTSZ(cuEventRecord, void *event, void *stream) {
    (void)stream;
    return mark_event(event);
}

NOTHING(cuEventSynchronize, void *a)
NOTHING(cuEventQuery, void *a)

SPAD__ENTRY(cuEventElapsedTime, float *out, void *begin, void *end) {
    return time_between(out, begin, end);
}

SPAD__ENTRY(cuEventElapsedTime_v2, float *out, void *begin, void *end) {
    return time_between(out, begin, end);
}

/* ---- graphs --------------------------------------------------------------------------------- */

SPAD__ENTRY_PTSZ(cudaStreamBeginCapture, void *stream, int mode) {
    (void)stream;
    (void)mode;
    return SPAD__RT_SUCCESS;
}

SPAD__ENTRY_PTSZ(cudaStreamEndCapture, void *stream, void **graph) {
    (void)stream;
    return make_handle(graph);
}

SPAD__ENTRY(cudaGraphInstantiate, void **out, void *graph, unsigned long long flags) {
    (void)graph;
    (void)flags;
    return make_handle(out);
}

SPAD__ENTRY(cudaGraphInstantiateWithFlags, void **out, void *graph, unsigned long long flags) {
    return cudaGraphInstantiate(out, graph, flags);
}

SPAD__ENTRY_PTSZ(cudaGraphLaunch, void *graph, void *stream) {
    (void)graph;
    (void)stream;
    return SPAD__RT_SUCCESS;
}

SPAD__ENTRY(cudaGraphExecDestroy, void *graph) {
    return free_handle(graph);
}

SPAD__ENTRY(cudaGraphDestroy, void *graph) {
    return free_handle(graph);
}
