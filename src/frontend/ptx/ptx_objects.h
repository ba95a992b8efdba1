/* SPDX-License-Identifier: Apache-2.0
 *
 * The declarations of a translated kernel: units, groups, tensors, synchronisation objects, lines
 * of the program. For ptx_translate.c and ptx_objects.c.
 */
#ifndef SPAD_FRONTEND_PTX_OBJECTS_H
#define SPAD_FRONTEND_PTX_OBJECTS_H

#include "frontend/ptx/ptx_agreed.h"
#include "frontend/ptx/ptx_flags.h"
#include "frontend/ptx/ptx_tensors.h"
#include "frontend/ptx/ptx_translate.h"
#include "frontend/ptx/run/ptx_shared.h"
#include "kernel/kernel_builder.h"

enum {
    SPAD__PTX_ALLOCATOR = SPAD__PTX_REMOTE + 1, /* what writes the result of tcgen05.alloc */
    SPAD__PTX_UNIT_KINDS,
    SPAD__PTX_GROUP_TENSOR_LOADS =
        SPAD__PTX_GROUP_WGMMA + 1, /* tcgen05.ld, which a warp waits for */
    SPAD__PTX_GROUP_TENSOR_STORES, /* tcgen05.st */
    SPAD__PTX_GROUP_TENSOR_ALLOCS, /* tcgen05.alloc, which is complete at once */
    SPAD__PTX_GROUP_KINDS
};

/* An mbarrier; in a cluster, those of all CTAs at one byte. */
typedef struct spad__ptx_mbarrier_row {
    int64_t byte;
    int64_t count; /* of its first init */
    int64_t row;
    int64_t added;   /* the most arrivals that were added to a phase: part of the count of all */
    uint32_t remote; /* CTAs whose mbarrier here other CTAs arrive at, a bit for each */
    uint32_t invalidated; /* CTAs that invalidate it */
} spad__ptx_mbarrier_row;

/* Arrivals of one phase that were added to it (cp.async.mbarrier.arrive). The kernel has one count
 * for all phases, so where a phase has fewer of them another arrival makes up for the rest. */
typedef struct spad__ptx_added {
    int64_t byte;
    int32_t cta;
    bool over; /* the object was initialised again */
    int64_t phase;
    int64_t arrivals;
    const spad__ptx_event *filler; /* NULL: none */
} spad__ptx_added;

/* A named barrier as some warps use it. */
typedef struct spad__ptx_barrier_row {
    int32_t cta;
    int64_t number;
    int64_t count;
    int64_t row;
} spad__ptx_barrier_row;

/* Counters of what a warp has released, and of its strong writes that released nothing: others
 * wait for those that they have seen. -1: nobody has seen any. */
typedef struct spad__ptx_flag_row {
    int64_t released;
    int64_t relaxed;
} spad__ptx_flag_row;

/* The products of a warpgroup. Per warp: what it has issued, and which groups it may go on after.
 */
typedef struct spad__ptx_warpgroup {
    int32_t cta;
    int32_t first_warp;
    int64_t issued[4]; /* counters; -1: the warp issues nothing */
    int64_t done[4];
} spad__ptx_warpgroup;

/* A line of the user's program, reached through these calls. */
typedef struct spad__ptx_line {
    int32_t file;
    int32_t line;
    int32_t column;
    int64_t caller; /* row of the kernel; -1: none */
    int64_t row;
} spad__ptx_line;

/* Instructions of one kind that a line becomes, as copies of an unrolled loop, are one place. */
typedef struct spad__ptx_place_in_text {
    int64_t row;
    spad__ptx_op op;
    int32_t instruction; /* the first of them that ran */
} spad__ptx_place_in_text;

typedef struct spad__ptx_translation {
    const spad__ptx_executed *run;
    const spad_target *target;
    spad__kernel_builder *builder;
    const spad_host *host;
    int32_t ctas;
    int64_t units[SPAD__PTX_UNIT_KINDS];
    int64_t groups[SPAD__PTX_GROUP_KINDS];
    int64_t fences[2]; /* of the target: shared, global; -1: it has none */
    int64_t init_fence;
    int64_t wgmma_fence;
    int64_t tcgen05_fence;
    spad__ptx_layout layout; /* of the variables of the text */
    spad__ptx_tensors tensors;
    spad__ptx_flags flags;
    spad__ptx_agreed agreed;
    SPAD_ARRAY(spad__ptx_flag_row) flag_rows; /* by warp, as in the log */
    SPAD_ARRAY(spad__ptx_mbarrier_row) mbarriers;
    SPAD_ARRAY(spad__ptx_added) added;
    SPAD_ARRAY(spad__ptx_barrier_row) barriers;
    SPAD_ARRAY(int64_t) cluster_rows;    /* a counter for each phase of the cluster barrier */
    SPAD_ARRAY(int64_t) cluster_threads; /* that arrive in the phase */
    SPAD_ARRAY(spad__ptx_warpgroup) warpgroups;
    int64_t
        exits[SPAD__PTX_CLUSTER]; /* counters of warps that have ended; -1: nothing depends on it */
    /* Counters of tcgen05.alloc.cta_group::2 in each pair of CTAs; -1: it has none. */
    int64_t pair_allocs[SPAD__PTX_CLUSTER / 2];
    SPAD_ARRAY(int64_t) sources; /* of the kernel, per location of the module; -1: none yet */
    SPAD_ARRAY(spad__ptx_line) lines;
    SPAD_ARRAY(spad__ptx_place_in_text) places;
} spad__ptx_translation;

#define SPAD__PTX_TRY(call)                     \
    do {                                        \
        const spad_status status_ = (call);     \
        if (status_ != SPAD_OK) return status_; \
    } while (0)

/* Declares everything that the events of the run use. */
spad_status spad__ptx_declare(spad__ptx_translation *t, spad_error *error);
void spad__ptx_translation_free(spad__ptx_translation *t);

spad__ptx_mbarrier_row *spad__ptx_mbarrier_row_at(spad__ptx_translation *t, int64_t byte);
/* Does an event write the address that tcgen05.alloc gives? */
/* Threads of a warp: fewer than 32 in the last one of some blocks. */
int64_t spad__ptx_warp_threads(const spad__ptx_translation *t, int32_t warp);
/* Is it the allocation of tensor memory that two CTAs make together? */
bool spad__ptx_is_pair_alloc(const spad__ptx_translation *t, const spad__ptx_event *event);
bool spad__ptx_is_alloc_result(const spad__ptx_translation *t, const spad__ptx_event *event);
/* The group that an access is in: of the event, or of what tcgen05.wait waits for. */
int spad__ptx_group_of(const spad__ptx_translation *t, const spad__ptx_event *event);
/* Arrivals that the event stands for beside its own. */
int64_t spad__ptx_missing_arrivals(spad__ptx_translation *t, const spad__ptx_event *event);
spad__ptx_barrier_row *spad__ptx_barrier_row_of(spad__ptx_translation *t, int32_t cta,
                                                const spad__ptx_event *event);
spad__ptx_warpgroup *spad__ptx_warpgroup_of(spad__ptx_translation *t, int32_t cta, int32_t warp);
/* Statements added from now on come from this instruction. */
spad_status spad__ptx_go_to(spad__ptx_translation *t, int32_t instruction, spad_error *error);

#endif
