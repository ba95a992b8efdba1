/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of a device, for the files of this room: tables of buffers, streams and fences,
 * the pools and the scratchpads.
 *
 * Locks, in the order in which they are taken: `streams_mutex` (opening, closing and
 * draining streams), `mutex` (the tables of buffers and fences, statistics, the trace
 * and the host). No driver call is made under `mutex`, apart from making a scratchpad.
 */
#ifndef SPAD_DEVICE_DEVICE_H
#define SPAD_DEVICE_DEVICE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/memory.h"
#include "device/pool_lane.h"
#include "spad/device/stream.h"

typedef struct spad__buffer_record {
    uint32_t generation;   /* odd: live */
    uint32_t next;         /* not live: the next of these, + 1 */
    uint32_t root;         /* alias: the buffer whose bytes it shares, + 1; 0: its own */
    uint32_t aliases;      /* that share its bytes */
    int64_t offset;        /* alias: from the root */
    spad_allocation block; /* own: of the pool; in a scratchpad, bytes of one lane */
    int64_t address;       /* of the memory, for copies */
    int64_t bytes;         /* -1: an extent is not known yet */
    int64_t alignment;     /* as asked for */
    spad_dtype dtype;
    spad_memory_scope scope;
    size_t rank;
    int64_t *dims;      /* one block with the name after it */
    const char *name;   /* NULL: unnamed */
    size_t dims_bytes;  /* of that block */
    int64_t traced;     /* number in the trace; -1: not recorded */
    spad_stream stream; /* that used it last; no device: none */
} spad__buffer_record;

typedef struct spad__stream_record {
    _Atomic uint32_t generation; /* odd: open */
    void *native;
    bool wrapped;
    spad__lane lane;
} spad__stream_record;

typedef struct spad__fence_record {
    uint32_t generation; /* odd: live */
    uint32_t next;       /* not live: the next of these, + 1 */
    void *event;
} spad__fence_record;

/* Shared and local memory: made at first use. */
typedef struct spad__scratchpad {
    const spad_space *space; /* NULL: the target has none */
    spad_pool *pool;         /* of addresses in one lane */
    spad_allocation region;  /* its memory: all lanes */
    int64_t base;            /* address of that */
} spad__scratchpad;

struct spad_device {
    spad_host host;
    const spad_backend *backend;
    void *driver;
    void *native;
    spad_device_info info;
    const spad_target *target;
    size_t spaces[SPAD_SCOPE_COUNT]; /* numbers in the target; SPAD_NO_SPACE: none */
    spad_pool *pool;                 /* of global memory */

    pthread_mutex_t streams_mutex;
    _Atomic(spad__stream_record *) streams[SPAD_STREAMS_MAX]; /* stay once they are there */

    pthread_mutex_t mutex; /* guards the next fields */
    spad_trace *trace;
    size_t traced_spaces[SPAD_SCOPE_COUNT]; /* numbers in its target; SPAD_NO_SPACE: not recorded */
    spad__scratchpad scratchpads[SPAD_SCOPE_COUNT];
    SPAD_ARRAY(spad__buffer_record) buffers;
    uint32_t free_buffer; /* first record that is not live, + 1 */
    SPAD_ARRAY(spad__fence_record) fences;
    uint32_t free_fence;
    spad_memory_stats stats[SPAD_SCOPE_COUNT + 1]; /* the last one: all scopes */
};

/* The name that opens the device: "host", "cuda:0". */
void spad__device_set_name(spad_device_info *info, const spad_backend *backend, int index);

/* An object of the driver's for these bytes; see the back end. */
spad_status spad__device_open_view(void **out, spad_device *device, bool in_host, int64_t address,
                                   int64_t bytes, spad_error *error);

/* ---- buffers ----------------------------------------------------------------------- */

/* The record of a live buffer; NULL: stale, with the error filled. Under the mutex. */
spad__buffer_record *spad__buffer_find(spad_buffer buffer, spad_error *error);
/* The record whose memory it is: itself, or the root of an alias. Under the mutex. */
spad__buffer_record *spad__buffer_root(spad_device *device, spad__buffer_record *record);
/* "'name'" or "a buffer", for messages. */
void spad__buffer_title(char *field, size_t size, const spad__buffer_record *record);
/* Gives a buffer with an open extent its shape and memory. like: a shape to take over, or NULL. */
spad_status spad__buffer_settle(spad_buffer buffer, int64_t bytes, const spad_buffer_info *like,
                                spad_error *error);
/* Ends all aliases of a buffer, given its slot. O(buffers) if there are any. Under the mutex. */
void spad__buffer_end_aliases(spad_device *device, uint32_t slot);
/* Frees the buffers that a closed device still has. */
void spad__buffer_destroy_all(spad_device *device);

/* ---- streams ----------------------------------------------------------------------- */

/* The record of an open stream, or NULL with the error filled. */
spad__stream_record *spad__stream_find(spad_stream stream, spad_error *error);
bool spad__stream_same(spad_stream a, spad_stream b);
/* Work that follows on `next` (or, without one, in the caller) comes after the work that is on
 * `last` now. A stream that is closed is done. */
spad_status spad__stream_follow(spad_stream last, const spad_stream *next, spad_error *error);
/* Waits for all streams and gives their blocks back; true: there were some. */
bool spad__stream_drain_all(spad_device *device);
void spad__stream_destroy_all(spad_device *device);

/*
 * Lists all devices of all built-in back ends: fills out[0 .. min(returned, capacity)) and returns
 * how many there are. A driver that is absent is no error and adds nothing; one that fails adds
 * nothing either, and `absent` (may be NULL) is called for both.
 */
size_t spad__device_list(spad_device_info *out, size_t capacity, const spad_host *host,
                         spad_device_absent absent, void *context);

#endif
