/* SPDX-License-Identifier: Apache-2.0
 *
 * Internals of a tensor order: a bit matrix that says which members may share bytes. The check
 * builds it, the layout reads it.
 *
 * Its members are the slots of the tensors, followed by the synchronisation objects: an mbarrier
 * occupies bytes like a tile, from an init to the invalidate. A tensor is one member as a whole if
 * it is off chip or an alias, if a parameter moves one of its indices (which slot an access touches
 * then depends on the value), or if the kernel has too many slots.
 *
 * Invariants: first[] ascends; shared[] is symmetric; a bit is set only if in the analysed run, of
 * any value of one member and any value of the other, one is over before the other begins.
 */
#ifndef SPAD_LAYOUT_TENSOR_ORDER_H
#define SPAD_LAYOUT_TENSOR_ORDER_H

#include "base/memory.h"
#include "kernel/origin.h"
#include "spad/experimental/tensor_order.h"

struct spad_tensor_order {
    spad_host host;
    spad__origin origin;
    bool known;    /* false: the run was too long, and clear bits mean nothing */
    bool barriers; /* the layout uses the rows of mbarriers */
    bool strict;  /* the layout keeps members apart whose bit is clear, even if live ranges allow */
    bool coarse;  /* slots with different sharing were merged into one member */
    size_t count; /* tensors */
    size_t syncs; /* synchronisation objects */
    size_t members;  /* slots and synchronisation objects */
    size_t *first;   /* per tensor, then per synchronisation object, then the end: members */
    int64_t *home;   /* per tensor: whose bytes it uses */
    uint8_t *shared; /* may a and b share bytes? [a * members + b], symmetric */
    uint8_t *used;   /* per member: it holds a value in the run */
    uint8_t
        *uneven; /* per member: may one of its mbarriers share bytes with what another may not? */
};

/* An order in which no two members may share bytes. */
spad_status spad__tensor_order_new(spad_tensor_order **out, const spad_kernel *kernel,
                                   const spad_host *host, spad_error *error);

/* Members [first, end) of an order. */
typedef struct spad__order_range {
    size_t first;
    size_t end;
} spad__order_range;

/* The member that a slot of a tensor is. */
size_t spad__tensor_order_slot(const spad_tensor_order *order, int64_t tensor, int64_t slot);

/* The slots of a tensor, for an alias of the tensor whose bytes it uses; 0 slots: all of them. */
spad__order_range spad__tensor_order_slots(const spad_tensor_order *order, int64_t tensor,
                                           int64_t slot, int64_t slots);

spad__order_range spad__tensor_order_sync(const spad_tensor_order *order, int64_t sync);

/* True if one of the members holds a value in the run. */
bool spad__tensor_order_uses(const spad_tensor_order *order, spad__order_range members);

/* How many pairs of members of two ranges may share bytes. */
typedef enum spad__sharing { SPAD__SHARE_NONE, SPAD__SHARE_SOME, SPAD__SHARE_ALL } spad__sharing;

spad__sharing spad__tensor_order_sharing(const spad_tensor_order *order, spad__order_range a,
                                         spad__order_range b);

/* Clears the pairs that may not share bytes in the order of another shape of the kernel, if both
 * members are used there. Returns how many were cleared. */
size_t spad__tensor_order_narrow(spad_tensor_order *order, const spad_tensor_order *other);

/* Copies the pairs of another shape of the kernel. False: they are not known. */
bool spad__tensor_order_take(spad_tensor_order *order, const spad_tensor_order *other);

/* The number of pairs that may share bytes. */
size_t spad__tensor_order_pair_count(const spad_tensor_order *order);

#endif
