/* SPDX-License-Identifier: Apache-2.0
 *
 * tmem: tensor memory, the two-dimensional memory of tcgen05.
 *
 *     128 lanes x 512 columns x 4 bytes; an allocation is a run of whole columns
 *
 * Two things live here. spad_tmem follows the allocation protocol of one thread
 * block and refuses what the hardware forbids (PTX ISA, tcgen05.alloc): columns
 * that are no power of two in [32, 512], an allocation larger than an earlier
 * one, a free by another warp, columns still held at the end. spad_tmem_pack
 * puts tensors into as few allocated columns as it can.
 *
 * Plain data and pure functions. Externally synchronised.
 */
#ifndef SPAD_TMEM_H
#define SPAD_TMEM_H

#ifndef SPAD_EXPERIMENTAL
#error "spad/experimental/tmem.h may change in any version: define SPAD_EXPERIMENTAL"
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spad/host.h"
#include "spad/status.h"
#include "spad/target.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SPAD_TMEM_LANES 128
#define SPAD_TMEM_COLUMNS_MIN 32  /**< smallest allocation */
#define SPAD_TMEM_COLUMNS_MAX 512 /**< largest allocation */
#define SPAD_TMEM_COLUMN_BYTES 4  /**< of one column in one lane */

/* ---- the protocol ------------------------------------------------------------------ */

/** Allocations that can be live at once in the largest memory that is supported. */
#define SPAD_TMEM_LIVE_MAX 64

/** The allocations of one thread block. The fields are private. */
typedef struct spad_tmem {
    const char *target_name; /* borrowed */
    int64_t available;       /* columns */
    int64_t last_columns;    /* of the newest allocation; 0: none yet */
    size_t live_count;
    struct {
        int64_t column;
        int64_t columns;
        int64_t warp;
    } live[SPAD_TMEM_LIVE_MAX]; /* sorted by column */
    bool relinquished;
} spad_tmem;

/** Nothing allocated. SPAD_ERR_CAPABILITY: the target, which must outlive *out, has no space
 *  called tmem. SPAD_ERR_ARGUMENT: it has more columns than can be followed. */
SPAD_API spad_status spad_tmem_init(spad_tmem *out, const spad_target *target, spad_error *error);

/**
 * tcgen05.alloc by a warp. *column: the lowest place that is free (the hardware
 * chooses; on a unit without other blocks this is it). SPAD_ERR_ARGUMENT: not a power of
 * two in [32, 512]. SPAD_ERR_LIFE_CYCLE: more columns than an earlier allocation, or the
 * permit was given up. SPAD_ERR_NO_FIT: the hardware would wait forever.
 */
SPAD_API spad_status spad_tmem_alloc(int64_t *column, spad_tmem *tmem, int64_t columns,
                                     int64_t warp, spad_error *error);

/** tcgen05.dealloc. SPAD_ERR_NOT_LIVE: no allocation begins there. SPAD_ERR_ARGUMENT: another
 *  number of columns. SPAD_ERR_LIFE_CYCLE: another warp allocated it. */
SPAD_API spad_status spad_tmem_free(spad_tmem *tmem, int64_t column, int64_t columns, int64_t warp,
                                    spad_error *error);

/** tcgen05.relinquish_alloc_permit: this block allocates no more. */
SPAD_API void spad_tmem_relinquish(spad_tmem *tmem);

/** The block ends. SPAD_ERR_LIFE_CYCLE: columns are still held; names the first. */
SPAD_API spad_status spad_tmem_finish(const spad_tmem *tmem, spad_error *error);

/* ---- packing ----------------------------------------------------------------------- */

/** One tensor to place. */
typedef struct spad_tmem_tensor {
    const char *name; /**< for messages; NULL: unnamed */
    int64_t lanes;    /**< 1..128; up to 64 fit in half of the lanes */
    int64_t columns;  /**< 1..512, of 4 bytes */
    int64_t begin;    /**< live in [begin, end) */
    int64_t end;
    bool freed_by_hand; /**< TileLang: not packed with others */
} spad_tmem_tensor;

typedef enum spad_tmem_packing {
    /** Lifetimes and lane halves are used, and the sizes of the allocations are
     *  chosen together. Never more columns than SPAD_TMEM_TILELANG. */
    SPAD_TMEM_BEST,
    /** What TileLang's lower_shared_tmem.cc does: widest first, each into the
     *  allocation that grows least, no reuse over time, no sharing of lanes. */
    SPAD_TMEM_TILELANG
} spad_tmem_packing;

/** Where a tensor went. */
typedef struct spad_tmem_place {
    size_t alloc;   /**< number of the allocation, in the order of issue */
    int64_t column; /**< in it */
    int64_t lane;   /**< 0, or 64 for the upper half */
} spad_tmem_place;

typedef struct spad_tmem_totals {
    size_t allocs;
    int64_t columns; /**< sum over the allocations */
} spad_tmem_totals;

/** First columns inside an allocation are multiples of this: 32, or 4 for a
 *  tensor of less than 32 columns (scale factors). */
SPAD_API int64_t spad_tmem_alignment(int64_t columns);

/**
 * Packs tensors. places and alloc_columns have room for `count` entries;
 * alloc_columns[0 .. totals->allocs) are the sizes to allocate, largest first.
 * Whether the columns exist is the caller's question: compare totals->columns
 * with what the chip has. SPAD_ERR_ARGUMENT: lanes, columns or a lifetime out of
 * range, naming the tensor. O(count^2) for each of about a hundred tries at most.
 */
SPAD_API spad_status spad_tmem_pack(spad_tmem_totals *totals, spad_tmem_place *places,
                                    int64_t *alloc_columns, const spad_tmem_tensor *tensors,
                                    size_t count, spad_tmem_packing packing, const spad_host *host,
                                    spad_error *error);

#ifdef __cplusplus
}
#endif
#endif
