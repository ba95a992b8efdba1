/* SPDX-License-Identifier: Apache-2.0
 *
 * The events of an executed kernel on on-chip memory and synchronisation: the log between the
 * executor, which knows PTX, and the translation, which knows kernels of spad.
 *
 * One event is one warp instruction (or the part of it that lanes with the same operands have in
 * common). Events of one warp are in its program order; the order of events of different warps is
 * one schedule and means nothing. Bytes are exact sets of runs.
 */
#ifndef SPAD_FRONTEND_PTX_EVENT_H
#define SPAD_FRONTEND_PTX_EVENT_H

#include <stdbool.h>
#include <stdint.h>

typedef enum spad__ptx_event_kind {
    SPAD__PTX_ACCESS,         /* accesses; unit: what performs it, NO_UNIT: the threads themselves.
                                 group: committed with the next commit. object and bytes: the
                                 mbarrier that it delivers bytes to, or object.cta -1 */
    SPAD__PTX_COMMIT,         /* group */
    SPAD__PTX_WAIT_GROUP,     /* group; amount: may be pending; reads: only reads must be done */
    SPAD__PTX_BARRIER_SYNC,   /* object.byte: barrier number; amount: threads that arrive; count:
                                 threads that complete it */
    SPAD__PTX_BARRIER_ARRIVE, /* the same, without waiting */
    SPAD__PTX_CLUSTER_ARRIVE, /* amount: threads; relaxed */
    SPAD__PTX_CLUSTER_WAIT,
    SPAD__PTX_WARP_SYNC,     /* lanes */
    SPAD__PTX_MBARRIER_INIT, /* object; count: arrivals of a phase */
    SPAD__PTX_MBARRIER_INVALIDATE,
    SPAD__PTX_MBARRIER_EXPECT,   /* object; bytes */
    SPAD__PTX_MBARRIER_ARRIVE,   /* object; amount: arrivals; bytes: expected first; drop; relaxed.
                                    unit: when what this warp issued to the unit is done
                                    (cp.async.mbarrier.arrive, tcgen05.commit). count: arrivals that
                                    it first adds to those of the phase
                                    (cp.async.mbarrier.arrive without .noinc) */
    SPAD__PTX_MBARRIER_COMPLETE, /* object; bytes, without a copy */
    SPAD__PTX_MBARRIER_WAIT, /* object; parity; relaxed. endless: the run found no way to end it */
    SPAD__PTX_FENCE,         /* fence */
    SPAD__PTX_REGISTERS,     /* count: of each thread; amount: +1 increase, -1 decrease */
    SPAD__PTX_TENSOR_ALLOC,  /* accesses[0]: the columns, as a write */
    SPAD__PTX_TENSOR_FREE,
    SPAD__PTX_EXITED /* lanes */
} spad__ptx_event_kind;

typedef enum spad__ptx_unit {
    SPAD__PTX_NO_UNIT,
    SPAD__PTX_CP_ASYNC, /* non-bulk copies: generic proxy, in flight until waited for */
    SPAD__PTX_BULK,     /* TMA: async proxy */
    SPAD__PTX_WGMMA,    /* async proxy; in order */
    SPAD__PTX_TCGEN05,  /* async proxy; in order */
    SPAD__PTX_REMOTE    /* st.async, red.async: async, weak, of the generic proxy of another CTA */
} spad__ptx_unit;

typedef enum spad__ptx_group {
    SPAD__PTX_NO_GROUP,
    SPAD__PTX_GROUP_CP_ASYNC,
    SPAD__PTX_GROUP_BULK,
    SPAD__PTX_GROUP_WGMMA
} spad__ptx_group;

typedef enum spad__ptx_fence {
    SPAD__PTX_FENCE_PROXY,        /* fence.proxy.async */
    SPAD__PTX_FENCE_PROXY_SHARED, /* ....shared::cta, ....shared::cluster */
    SPAD__PTX_FENCE_PROXY_GLOBAL,
    SPAD__PTX_FENCE_INIT,    /* fence.mbarrier_init */
    SPAD__PTX_FENCE_THREADS, /* membar, fence.acq_rel, fence.sc */
    SPAD__PTX_FENCE_WGMMA,
    SPAD__PTX_FENCE_TCGEN05_BEFORE,
    SPAD__PTX_FENCE_TCGEN05_AFTER,
    SPAD__PTX_WAIT_TCGEN05_LOADS,
    SPAD__PTX_WAIT_TCGEN05_STORES
} spad__ptx_fence;

/* Bytes [begin, end) of the shared memory of a CTA; of tensor memory, the same in each of the lanes
 * [lane, lane + lanes), 4 bytes per column. */
typedef struct spad__ptx_bytes {
    int64_t begin;
    int64_t end;
    int32_t lane;
    int32_t lanes;
} spad__ptx_bytes;

enum {
    SPAD__PTX_READ = 1,
    SPAD__PTX_WRITE = 2,
    SPAD__PTX_UPDATE = 3,
    SPAD__PTX_ADD = 7, /* an atomic whose order with other ADDs does not matter */
    SPAD__PTX_ATOMIC =
        16,            /* with one of these: strong (atomic, volatile, relaxed, acquire, release) */
    SPAD__PTX_MAY = 32 /* some of these bytes: which ones is not known */
};

/* The ordering of a strong access or a fence: a set. */
enum {
    SPAD__PTX_ACQUIRE = 1,
    SPAD__PTX_RELEASE = 2,
    SPAD__PTX_DECIDES = 4,  /* what it reads is known and decides a branch */
    SPAD__PTX_CTA_SCOPE = 8 /* threads of other CTAs are out of its scope */
};

typedef struct spad__ptx_event_access {
    uint8_t kind;
    bool tensor_memory; /* else shared memory */
    int32_t cta;        /* whose memory: rank in the cluster */
    int32_t first_run;  /* in the event's runs */
    int32_t run_count;
} spad__ptx_event_access;

typedef struct spad__ptx_object {
    int32_t cta;  /* rank of the CTA that has it; -1: none */
    int64_t byte; /* mbarrier: its offset in shared memory; barrier: its number */
} spad__ptx_object;

typedef struct spad__ptx_event {
    spad__ptx_event_kind kind;
    int32_t cta;  /* that executes, rank in the cluster */
    int32_t warp; /* of the CTA */
    uint32_t lanes;
    int32_t instruction; /* of the module */
    spad__ptx_unit unit;
    spad__ptx_group group;
    spad__ptx_fence fence;
    spad__ptx_object object;
    int64_t amount;
    int64_t count;
    int64_t bytes;
    int parity;
    int64_t phase; /* MBARRIER_ARRIVE: of the object, before the arrival */
    bool reads;
    bool drop;
    bool relaxed;
    bool endless;
    uint8_t order;       /* of a strong access, or of FENCE_THREADS */
    uint8_t value_bytes; /* of a store whose lanes all store `value`, in items of so many bytes; 0:
                            they do not, or it is not known */
    uint64_t value;
    int32_t access_count;
    int32_t run_count;
    const spad__ptx_event_access *accesses;
    const spad__ptx_bytes *runs;
} spad__ptx_event;

#endif
