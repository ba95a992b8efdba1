/* SPDX-License-Identifier: Apache-2.0
 *
 * An order of tensors from the inside: a matrix of bits. The check finds it, the layout reads it.
 *
 * Its members are the slots of the tensors, and after them the synchronisation objects: an mbarrier
 * has bytes as a tile has, from an init to the invalidate. A tensor off the chip, and an alias, is
 * one member. So is a tensor with an index that a parameter moves, whose slots are needed alike
 * with one value or another, and each tensor where there are too many slots.
 */
#ifndef SPAD_LAYOUT_TENSOR_ORDER_H
#define SPAD_LAYOUT_TENSOR_ORDER_H

#include "base/memory.h"
#include "kernel/origin.h"
#include "spad/experimental/tensor_order.h"

struct spad_tensor_order {
    spad_host host;
    spad__origin origin;
    bool known;      /* what may not share is known not to; false: the run was too long */
    bool barriers;   /* does the layout use what it says about mbarriers? */
    bool strict;     /* and keeps apart what the order does, where the text would let it share? */
    bool coarse;     /* are slots one member that may differ in what they share bytes with? */
    size_t count;    /* tensors */
    size_t syncs;    /* synchronisation objects */
    size_t members;  /* slots and synchronisation objects */
    size_t *first;   /* per tensor, then per synchronisation object, then the end: members */
    int64_t *home;   /* per tensor: whose bytes it uses */
    uint8_t *shared; /* may a and b share bytes? [a * members + b], symmetric */
    uint8_t *used;   /* per member: has it a value in the run? */
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

/* Slots of a tensor, of an alias those of the tensor whose bytes it uses; 0 slots: all of them. */
spad__order_range spad__tensor_order_slots(const spad_tensor_order *order, int64_t tensor,
                                           int64_t slot, int64_t slots);

spad__order_range spad__tensor_order_sync(const spad_tensor_order *order, int64_t sync);

/* Has one of these a value in the run? */
bool spad__tensor_order_uses(const spad_tensor_order *order, spad__order_range members);

/* How many members of one range may share bytes with members of another one? */
typedef enum spad__sharing { SPAD__SHARE_NONE, SPAD__SHARE_SOME, SPAD__SHARE_ALL } spad__sharing;

spad__sharing spad__tensor_order_sharing(const spad_tensor_order *order, spad__order_range a,
                                         spad__order_range b);

/* Takes away the pairs that may not share bytes in the order of another shape of the kernel, in
 * which both are used. Returns how many. */
size_t spad__tensor_order_narrow(spad_tensor_order *order, const spad_tensor_order *other);

/* Takes the pairs of another shape of the kernel. False: they are not known. */
bool spad__tensor_order_take(spad_tensor_order *order, const spad_tensor_order *other);

/* Number of pairs for which it is so. */
size_t spad__tensor_order_pair_count(const spad_tensor_order *order);

#endif
