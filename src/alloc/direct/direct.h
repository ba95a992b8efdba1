/* SPDX-License-Identifier: Apache-2.0
 *
 * Direct placement as its own files see it.
 *
 * A placement is kept in one of two forms.
 *
 *   rings   (mod, auto, off chip) nothing is kept per tile. The place of a tile
 *           depends on its block index modulo extent[d] in each dim, and the
 *           physical tiles are the indices of that box in row-major order. For
 *           the modulo scheme the three coordinates are functions of I[d] modulo
 *           their counts; mixed-radix numbers are unique, and so are addresses,
 *           since a ring over several banks stays in each. So two tiles share a
 *           place exactly if their indices are equal modulo the least common
 *           multiple of the three counts: extent[d] = min(block[d], lcm).
 *   table   (func, at) a row for each logical and each physical tile.
 *
 * Invariants
 *   every extent, count and size is at least 1; tiles == product of block
 *   rings: physical == product of extent, 1 <= extent[d] <= block[d]
 *   table: places are distinct; logical[places[p].first].physical == p; the chain
 *          of `next` from there visits the tiles of p in ascending order
 *   every rectangle with an address is in the usable part of its space
 */
#ifndef SPAD_ALLOC_DIRECT_DIRECT_H
#define SPAD_ALLOC_DIRECT_DIRECT_H

#include "base/memory.h"
#include "base/names.h"
#include "spad/direct.h"

#define DIRECT_NO_NEXT UINT32_MAX

typedef struct direct_logical {
    uint32_t physical;
    uint32_t next; /* logical tile in the same place, or DIRECT_NO_NEXT */
} direct_logical;

typedef struct direct_place {
    int64_t lane;
    int64_t byte;   /* in the space */
    uint32_t first; /* logical tiles in it */
    uint32_t last;
} direct_place;

typedef SPAD_ARRAY(direct_place) direct_places;

enum { DIRECT_BANK, DIRECT_LANE, DIRECT_FREE, DIRECT_COORDINATES };

/* While it is being declared, name and dims are the caller's; keep_tensor of
 * direct.c moves them to the arena. */
typedef struct direct_tensor {
    const char *name;        /* NULL: unnamed */
    const char *implicit_of; /* NULL: declared by the kernel */
    size_t space;
    spad_dtype dtype;
    spad_mode mode; /* as it is placed: auto with force_auto */
    bool output;
    spad_shape block;
    spad_shape tile;
    int64_t lanes; /* of a tile */
    int64_t bytes; /* of a tile per lane, rounded by the space */
    int64_t tiles; /* logical */
    int64_t physical;
    spad_rect footprint;
    int64_t traced; /* number of the first physical tile in the trace; -1: none */
    /* rings */
    const int64_t *extent;
    spad_direct_spot base;
    const int64_t *counts[DIRECT_COORDINATES]; /* NULL: the empty tuple */
    /* table; NULL: rings */
    direct_logical *logical; /* `tiles` of them */
    direct_places places;
} direct_tensor;

struct spad_direct {
    spad_host host;
    const spad_target *target;
    bool force_auto;
    bool closed;
    spad_trace *trace;
    spad__arena texts; /* dims and the names of operations */
    spad__names names;
    SPAD_ARRAY(direct_tensor) tensors;
};

/* ---- direct_place.c ----------------------------------------------------------------------- */

/* "tensor 'x'", "tensor 'x', tile (1, 0)"; index NULL: no tile. */
enum { DIRECT_WHO_MAX = 192 };
void spad__direct_who(char who[DIRECT_WHO_MAX], const char *name, size_t rank,
                      const int64_t *index);

/* Places the tensor by its mode and checks every rule: fills extent (an array of
 * SPAD_RANK_MAX), base, counts, physical, footprint, or the table, which the
 * caller then owns. Calls the callback, so the kernel may change meanwhile. */
spad_status spad__direct_place(direct_tensor *tensor, int64_t *extent, const spad_target *target,
                               const spad_direct_tensor *request, const spad_host *host,
                               spad_error *error);
void spad__direct_free_table(direct_tensor *tensor, const spad_host *host);

/* ---- direct_overlaps.c ----------------------------------------------------------------------- */

/* The first logical tile in a physical one, and the rectangle of a logical one. */
int64_t spad__direct_first(const direct_tensor *tensor, int64_t physical);
spad_rect spad__direct_rect(const direct_tensor *tensor, const spad_space *space, int64_t tile);

#endif
