/* SPDX-License-Identifier: Apache-2.0
 *
 * An order of tensors from the inside: a matrix of bits. The check finds it, the layout reads it.
 *
 * Its members are the tensors, and after them the synchronisation objects: an mbarrier has bytes as
 * a tile has, from an init to the invalidate.
 */
#ifndef SPAD_KERNEL_TENSOR_ORDER_H
#define SPAD_KERNEL_TENSOR_ORDER_H

#include "base/memory.h"
#include "kernel/origin.h"
#include "spad/tensor_order.h"

struct spad_tensor_order {
    spad_host host;
    spad__origin origin;
    bool known;      /* what may not share is known not to; false: the run was too long */
    bool barriers;   /* does the layout use what it says about mbarriers? */
    bool strict;     /* and keeps apart what the order does, where the text would let it share? */
    size_t count;    /* tensors */
    size_t members;  /* tensors and synchronisation objects */
    int64_t *home;   /* per member: whose bytes it uses */
    uint8_t *shared; /* may a and b share bytes? [a * members + b], symmetric */
    uint8_t *used;   /* per member: has it a value in the run? */
    uint8_t
        *uneven; /* per member: may one of its mbarriers share bytes with what another may not? */
};

/* An order in which no two members may share bytes. */
spad_status spad__tensor_order_new(spad_tensor_order **out, const spad_kernel *kernel,
                                   const spad_host *host, spad_error *error);

/* May two members share bytes? */
bool spad__tensor_order_may_share(const spad_tensor_order *order, size_t a, size_t b);

/* Takes away the pairs that may not share bytes in the order of another shape of the kernel, in
 * which both are used. Returns how many. */
size_t spad__tensor_order_narrow(spad_tensor_order *order, const spad_tensor_order *other);

/* Takes the pairs of another shape of the kernel. False: they are not known. */
bool spad__tensor_order_take(spad_tensor_order *order, const spad_tensor_order *other);

#endif
