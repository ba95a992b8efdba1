/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that a program uses: buffers, and views of parts of them.
 *
 * A buffer is an allocation of shared or tensor memory, a tile in registers, or the memory behind a
 * global pointer. A ring is one buffer with several stages. The memory owns all buffers; others
 * name them by their position in `buffers`, which stays valid until the pass ends. A buffer is
 * found again by the `key` that the front end chooses for each allocation, so that an allocation
 * that runs again is the same buffer.
 */
#ifndef SPAD_FRONTEND_GPU_MEMORY_OBJECTS_H
#define SPAD_FRONTEND_GPU_MEMORY_OBJECTS_H

#include "frontend/gpu/scalar.h"
#include "spad/dtype.h"
#include "spad/kernel.h"

typedef struct spad__gpu spad__gpu;

enum {
    SPAD__GPU_RANK = 6, /* dimensions of a buffer, including its stages */
    SPAD__GPU_NAME = 48 /* bytes, with the NUL */
};

/* A part of a buffer: in dimension d of the buffer, `length[d]` elements starting at `from[d]`, or
 * all of them where length is 0. `order` lists the dimensions of the buffer in the order of the
 * view. */
typedef struct spad__gpu_view {
    spad__scalar stage; /* of a ring; below 0: all stages */
    int rank;
    int order[SPAD__GPU_RANK];
    spad__scalar from[SPAD__GPU_RANK];
    int64_t length[SPAD__GPU_RANK];
    bool reshaped; /* its dimensions are no longer the buffer's, so parts of it are unknown */
    int64_t bits;  /* of an element, in columns of tensor memory with another type; 0: as in the
                      buffer */
} spad__gpu_view;

typedef enum spad__gpu_space {
    SPAD__GPU_SHARED,
    SPAD__GPU_TMEM,
    SPAD__GPU_GLOBAL,
    SPAD__GPU_REGISTERS /* operands of products, and tiles that threads move: only their size counts
                         */
} spad__gpu_space;

typedef enum spad__gpu_role {
    SPAD__GPU_DATA,
    SPAD__GPU_MBARRIER,
    SPAD__GPU_SCRATCH,      /* of one operation, while it runs */
    SPAD__GPU_REGISTER_TILE /* registers that threads move a tile through */
} spad__gpu_role;

typedef struct spad__gpu_buffer {
    char name[SPAD__GPU_NAME];
    spad__gpu_space space;
    spad__gpu_role role;
    uint64_t key; /* of the allocation */
    int32_t site; /* in the program; -1: unknown */
    spad_dtype dtype;
    int64_t stages; /* of a ring; 0: no ring */
    int rank;       /* without the stages; 0: nothing is known about its shape */
    int64_t dims[SPAD__GPU_RANK];
    int64_t offset;    /* in bytes, chosen by the compiler; -1: not given */
    int64_t align;     /* in bytes; 0: not given */
    int64_t count;     /* mbarrier: arrivals per phase */
    int stream;        /* scratch: the stream that uses it */
    int depth;         /* loops and conditions around its allocation */
    unsigned accessed; /* SPAD_ACCESS_READ and SPAD_ACCESS_WRITE, of all accesses so far */
    uint32_t same;     /* bits of a block's number: blocks that differ only in these have the same
                          elements */
    bool folded;       /* its dimensions differ from its type's, so parts of it are unknown */
    bool local;        /* declared in the loop that allocates or first uses it */
    bool computed;     /* scratch: its size follows from layouts and is not in the text */
    bool skipped;      /* its product has a predicate that never holds */
    bool freed;        /* by the program, since its last allocation */
    bool invalidated;  /* mbarrier: by the program */
    bool repeats;      /* several warps write the same elements */
    bool remote;       /* another block accesses it, or arrives at it */
    int64_t row;       /* in the kernel: its tensor or synchronisation object; -1: none yet */
} spad__gpu_buffer;

typedef struct spad__gpu_memory {
    SPAD_ARRAY(spad__gpu_buffer) buffers;
    spad__index index;      /* by key, without register tiles and retired buffers */
    int64_t register_bytes; /* of operands of products, and of tiles that threads move */
    int retired;            /* buffers that a later allocation replaced */
    bool placed;            /* the compiler gave at least one of them an offset */
} spad__gpu_memory;

/* Elements that a view has in dimension d of its buffer. */
static inline int64_t spad__gpu_extent(const spad__gpu_buffer *b, const spad__gpu_view *view,
                                       int d) {
    return view->length[d] > 0 ? view->length[d] : b->dims[d];
}

/* The buffer with this key, added if it is missing (*fresh). -1: no memory. O(1) expected. */
int32_t spad__gpu_find_buffer(spad__gpu *g, uint64_t key, bool *fresh);
/* Forgets the key of a buffer of shared memory, so that its next allocation is another buffer with
 * a lifetime of its own. Only for runs without loops and agents; mbarriers, and buffers of long
 * runs, keep their identity. */
void spad__gpu_retire_buffer(spad__gpu *g, int32_t buffer);
/* A register tile of this shape: one for each shape, and none that would fill the registers. -1:
 * none. */
int32_t spad__gpu_find_register_tile(spad__gpu *g, const spad__gpu_buffer *like);
/* All of a buffer. */
spad__gpu_view spad__gpu_whole_view(const spad__gpu *g, int32_t buffer);
/* Narrows dimension d of the buffer in the view; `from` counts elements of the view. */
void spad__gpu_cut_view(spad__gpu *g, spad__gpu_view *view, int d, spad__scalar from,
                        int64_t length);
/* Bytes of one stage of a view. */
spad_status spad__gpu_view_bytes(const spad__gpu *g, int32_t buffer, const spad__gpu_view *view,
                                 int64_t *bytes, spad_error *error);

#endif
