/* SPDX-License-Identifier: Apache-2.0
 *
 * The data of a layout: which slots there are, how long each is needed, and where it is. The module
 * layout builds it; a walk asks it for places, so it belongs to the kernel.
 */
#ifndef SPAD_KERNEL_PLACEMENT_H
#define SPAD_KERNEL_PLACEMENT_H

#include "base/checked.h"
#include "base/limit.h"
#include "base/memory.h"
#include "kernel/kernel.h"
#include "spad/layout.h"

/* Statements [begin, end) in which something is needed; empty: never. */
typedef struct spad__slot_life {
    int64_t begin;
    int64_t end;
} spad__slot_life;

/* Needed in another life as well, and in between. */
static inline void spad__slot_need(spad__slot_life *slot, spad__slot_life life) {
    if (life.begin == life.end) return;
    if (slot->begin == slot->end) {
        *slot = life;
    } else {
        slot->begin = spad__min(slot->begin, life.begin);
        slot->end = spad__max(slot->end, life.end);
    }
}

/* One space while its problem is put together and afterwards. */
typedef struct spad__layout_space {
    spad_layout_space row;
    spad_space rules; /* lanes and capacity; what buffers obey is in the buffers */
    spad_plan *plan;
    spad_plan_result *result;
    size_t *alive;
    bool ordered; /* the plan has pairs and no times: see layout_solve.c */
} spad__layout_space;

/* A rectangle that is taken for a while. */
typedef struct spad__box {
    spad_rect rect;
    spad__slot_life life;
} spad__box;

typedef SPAD_ARRAY(spad__box) spad__box_list;
typedef SPAD_ARRAY(spad_layout_buffer) spad__layout_buffers;

struct spad_layout {
    spad_host host;
    const spad_kernel *kernel;
    spad_layout_options options;
    spad__limit limit;
    int64_t end;            /* time after all statements */
    size_t *first_slots;    /* per tensor: number of its first slot, and one more */
    spad__slot_life *lives; /* per slot of a tensor that the planner places; one for others */
    spad__slot_life *all;   /* per tensor: touches of all slots */
    size_t slot_count;
    int64_t
        *next_replica; /* per tensor: the next one that has its bytes, in another instance; -1 */
    bool widened;      /* some of these are needed at other times than the others */
    spad__slot_life *times; /* per slot on the clock of `uses`; NULL: none exists */
    int64_t last;           /* no use ends later */
    int64_t *bytes;         /* per slot: where it is, SPAD_NO_BYTE: nowhere */
    int64_t *lanes;
    spad__layout_buffers buffers;
    spad__layout_buffers given; /* of the space that is being solved */
    spad__layout_space *spaces;
    size_t space_count;
    size_t space_room;
};

/* How many places the slots of an alias have: those of its home if it is in all of its tiles. */
int64_t spad__layout_alias_slots(const spad_layout *layout, const spad_kernel_tensor *alias);

/* The place of a slot of an alias, from that of the tensor it is in. False: that has none, or one
 * only while the kernel runs (stack, heap). */
bool spad__layout_alias_place(spad_rect *out, const spad_layout *layout,
                              const spad_kernel_tensor *alias, int64_t slot);

#endif
