/* SPDX-License-Identifier: Apache-2.0
 *
 * direct: the tensors that one kernel declares on a target, each with the
 * placement that its author chose.
 *
 * A tensor has block dims, then the lane (partition) dim, then free dims. A
 * block index names a logical tile; a placement maps it to a physical tile,
 * a rectangle of the space. Logical tiles that share a physical one use it in
 * turn: two physical tiles are double buffering.
 *
 *     mode                 place of a logical tile
 *     SPAD_MODE_FUNC       what a callback returns (ncc.sbuf.alloc, ncc.psum.alloc)
 *     SPAD_MODE_MOD        block index modulo the number of physical tiles
 *                          (ncc.sbuf.mod_alloc, ncc.psum.mod_alloc)
 *     SPAD_MODE_AT         specified, tile by tile (nl.ndarray(..., address=...))
 *     SPAD_MODE_AUTO       chosen by the planner (buffer=nl.sbuf, nl.psum)
 *
 * After the NKI direct allocation guide of the AWS Neuron SDK 2.26. Every place
 * is checked against the rules of its space when the tensor is declared. Two
 * tensors may share bytes: whether they are live together is for the checker
 * of the kernel, which starts from spad_direct_list_overlaps.
 *
 * Numbers of tensors count from 0 in order of declaration; numbers of logical
 * tiles count from 0 in row-major order of the block index (last dim fastest);
 * numbers of physical tiles in order of the first logical tile in them.
 *
 * The trace gets one ALLOC for each physical tile, at its declaration, so that
 * peaks count shared bytes of one tensor once. The tile that begins at block
 * index (1, 0) of x is named "x[1,0]"; a tensor without block dims has its plain
 * name. An off-chip tensor is one ALLOC without an address. All live until
 * spad_direct_close. A failed call changes nothing. Externally synchronised.
 */
#ifndef SPAD_DIRECT_H
#define SPAD_DIRECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spad/dtype.h"
#include "spad/finding.h"
#include "spad/target.h"
#include "spad/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spad_direct spad_direct;

/** Zeroed is the default. */
typedef struct spad_direct_options {
    size_t struct_size; /**< see SPAD_OPTIONS_INIT */
    bool force_auto;    /**< ignore all placements: every tensor is automatic. If the kernel
                             then computes something different, its placement is wrong. A
                             modulo tensor keeps its number of physical tiles */
    spad_trace *trace;  /**< where to log; borrowed until destroy; NULL: nowhere */
    const spad_host *host;
} spad_direct_options;

/** A kernel without tensors, owned by the caller. The target is borrowed until
 *  destroy. options == NULL: all defaults. SPAD_ERR_ARGUMENT: the trace is of
 *  another target. */
SPAD_API spad_status spad_direct_create(spad_direct **out, const spad_target *target,
                                        const spad_direct_options *options, spad_error *error);

/** Frees it; the trace does not change. NULL is fine. */
SPAD_API void spad_direct_destroy(spad_direct *direct);

/* ---- declarations ------------------------------------------------------------------ */

/** The start of a tile. `byte` counts from the start of the bank, and a space
 *  without banks is one bank, number 0. */
typedef struct spad_direct_spot {
    int64_t bank;
    int64_t lane;
    int64_t byte;
} spad_direct_spot;

/**
 * Places one logical tile: `index` has a number for each block dim, a tile takes
 * `bytes` of each of `lanes` lanes. Called once per logical tile while the tensor
 * is declared, in row-major order. *out is zeroed before. A status other than
 * SPAD_OK ends the declaration with that status, a positive number with
 * SPAD_ERR_ARGUMENT; `error` may be filled with the reason and is never NULL.
 */
typedef spad_status (*spad_direct_func)(spad_direct_spot *out, const int64_t *index, int64_t lanes,
                                        int64_t bytes, void *context, spad_error *error);

/**
 * The modulo scheme. For a tuple S of counts, one for each block dim, and a block
 * index I let
 *     line(S, I) = sum over d of (I[d] mod S[d]) * product of S[d + 1 ...]
 * and line = 0 for the empty tuple. Then
 *     bank = base.bank + line(bank_tiles, I)
 *     lane = base.lane + line(lane_tiles, I) * lanes of a tile
 *     byte = base.byte + line(free_tiles, I) * bytes per lane of a tile
 * The three are independent of each other. A count may be smaller than its block
 * dim (tiles are shared) or larger (holes, which count as reserved). A ring over
 * several banks has to stay in each of them.
 */
typedef struct spad_direct_rings {
    spad_direct_spot base; /**< base_bank, base_partition, base_addr */
    spad_shape bank_tiles; /**< num_bank_tiles */
    spad_shape lane_tiles; /**< num_par_tiles */
    spad_shape free_tiles; /**< num_free_tiles */
} spad_direct_rings;

/** A tensor as a kernel declares it. Zeroed: an automatic one. Borrowed for the call. */
typedef struct spad_direct_tensor {
    const char *name;  /**< NULL, or a name that no tensor of the kernel has */
    const char *space; /**< by name: "sbuf" */
    spad_dtype dtype;
    spad_shape block; /**< block dims; rank 0: one tile */
    spad_shape tile;  /**< lanes (partitions), then the free dims */
    spad_mode mode;   /**< auto, at, mod or func */

    spad_direct_rings rings;       /**< mod */
    spad_direct_func func;         /**< func */
    void *context;                 /**< func: handed to it */
    const spad_direct_spot *spots; /**< at: one for each logical tile */
    size_t spot_count;             /**< at */
    spad_shape ring;               /**< auto: physical tiles in each block dim, shared modulo;
                                        rank 0: each logical tile has its own */

    bool output;             /**< off chip: the kernel returns it */
    const char *implicit_of; /**< the operation that makes the tensor without a declaration,
                                  such as "nl.load"; NULL: the kernel declares it. Auto only */
} spad_direct_tensor;

/** Most tiles of one tensor that are kept one by one: logical ones for func and
 *  at, physical ones for mod and auto. SPAD_ERR_ARGUMENT beyond it. Block dims of
 *  rings have no limit: a declaration costs O(physical tiles). */
#define SPAD_DIRECT_TILES_MAX (INT64_C(1) << 20)

/**
 * Declares a tensor; *out (optional) is its number. All messages name the
 * tensor, the tile where there is one, the rule and the value:
 *
 * SPAD_ERR_LANES      start lane against the start-lane table of the space, or a tile of more
 *                     lanes than it has
 * SPAD_ERR_BOUNDS     outside the bytes, lanes or banks that the chip has for tensors: a
 *                     tile, the footprint of a modulo tensor, or a tile larger than a bank
 *                     that it may not leave
 * SPAD_ERR_BANK       exclusive banks (PSUM) hold one tile each, from byte 0 and lane 0: base
 *                     and counts of lane_tiles and free_tiles can only be zeros and ones
 * SPAD_ERR_ALIGNMENT  the address is not a multiple of the space's alignment
 * SPAD_ERR_SHAPE      an extent below 1, too many dims, a tuple that has not one count for
 *                     each block dim
 * SPAD_ERR_ARGUMENT   a count below 1; too many tiles; a field that does not go with the mode
 * SPAD_ERR_SPACE      a placement off chip, an output on chip
 * and SPAD_ERR_NAME, SPAD_ERR_UNKNOWN (space), SPAD_ERR_DTYPE, SPAD_ERR_OVERFLOW,
 * SPAD_ERR_NOT_LIVE (closed), what the callback returned.
 *
 * Sizes follow the space: bytes per lane are rounded up to its granule. NKI
 * 0.1 requires base_partition 0 in SBUF; spad uses the start-lane table.
 */
SPAD_API spad_status spad_direct_declare(size_t *out, spad_direct *direct,
                                         const spad_direct_tensor *tensor, spad_error *error);

/** Ends the kernel: every tensor is freed in the trace, in order of declaration.
 *  Later declarations are SPAD_ERR_NOT_LIVE, questions are still answered.
 *  Closing again does nothing. */
SPAD_API void spad_direct_close(spad_direct *direct);

/* ---- questions --------------------------------------------------------------------- */

/** Number of tensors. */
SPAD_API size_t spad_direct_count(const spad_direct *direct);

/** Describes a tensor. Borrowed until destroy. */
typedef struct spad_direct_info {
    const char *name; /**< NULL: unnamed */
    size_t space;     /**< number in the target */
    spad_dtype dtype;
    spad_shape block;
    spad_shape tile;
    spad_mode mode; /**< auto for all, with force_auto */
    bool output;
    const char *implicit_of;
    int64_t lanes;       /**< of a tile */
    int64_t bytes;       /**< per lane of a tile, as the space rounds it */
    int64_t tiles;       /**< logical */
    int64_t physical;    /**< distinct places; auto and off chip: one for each tile or ring slot */
    spad_rect footprint; /**< what is reserved: all counts of the rings for mod, holes included;
                              else the smallest rectangle around the tiles. Without an address
                              its byte is SPAD_NO_BYTE, its size that of one tile */
    int64_t traced;      /**< trace: number of physical tile 0, the others follow; -1: no trace */
} spad_direct_info;

/** SPAD_ERR_ARGUMENT: no such tensor. */
SPAD_API spad_status spad_direct_get(spad_direct_info *out, const spad_direct *direct,
                                     size_t tensor, spad_error *error);

/** The number of the tensor with that name. SPAD_ERR_UNKNOWN, with close names.
 *  SPAD_ERR_ARGUMENT: NULL. O(n). */
SPAD_API spad_status spad_direct_find(size_t *out, const spad_direct *direct, const char *name,
                                      spad_error *error);

/** The number of the logical tile at a block index, which has the rank of the block dims.
 *  SPAD_ERR_ARGUMENT: outside the tensor. */
SPAD_API spad_status spad_direct_tile_number(int64_t *out, const spad_direct *direct, size_t tensor,
                                             const int64_t *index, spad_error *error);

/** The block index of a logical tile; `index` has room for the rank of the block dims.
 *  SPAD_ERR_ARGUMENT: no such tile. */
SPAD_API spad_status spad_direct_tile_index(int64_t *index, const spad_direct *direct,
                                            size_t tensor, int64_t tile, spad_error *error);

/** A row of the placement table. */
typedef struct spad_direct_tile {
    int64_t tile;          /**< logical tile */
    int64_t physical;      /**< the physical tile it lives in */
    int64_t next;          /**< the next logical tile in the same one; -1: none */
    spad_direct_spot spot; /**< byte in its bank; SPAD_NO_BYTE without an address */
    spad_rect rect;        /**< the same as a rectangle of the space */
} spad_direct_tile;

/** The row of a logical tile. O(block dims). SPAD_ERR_ARGUMENT: no such tile. */
SPAD_API spad_status spad_direct_get_tile(spad_direct_tile *out, const spad_direct *direct,
                                          size_t tensor, int64_t tile, spad_error *error);

/** The row of the first logical tile in a physical one; follow `next` for all
 *  that share it. O(block dims). SPAD_ERR_ARGUMENT: no such tile. */
SPAD_API spad_status spad_direct_get_physical(spad_direct_tile *out, const spad_direct *direct,
                                              size_t tensor, int64_t physical, spad_error *error);

/** Two physical tiles that share bytes. */
typedef struct spad_direct_overlap {
    size_t tensor_a; /**< a before b, in order of declaration and of tiles; may be one tensor */
    size_t tensor_b;
    int64_t tile_a; /**< first logical tile in the physical one */
    int64_t tile_b;
    size_t space;
    spad_rect shared; /**< the bytes of both */
} spad_direct_overlap;

/**
 * Every pair of physical tiles that share bytes, ordered by tensor_a, tile_a,
 * tensor_b, tile_b. Fills out[0 .. min(*count, capacity)) and sets *count to how
 * many there are; with a small capacity the first are given. A sweep over the
 * addresses: O(n log n + n g + pairs x log capacity) for n physical tiles in g
 * different ranges of lanes. SPAD_ERR_HOST_MEMORY.
 */
SPAD_API spad_status spad_direct_list_overlaps(size_t *count, spad_direct_overlap *out,
                                               size_t capacity, const spad_direct *direct,
                                               spad_error *error);

/**
 * Lists findings about the kernel as a whole, in order of declaration. Once a
 * tensor on chip is placed directly, NKI 0.1 refuses tensors on chip that are not
 * (SPAD_FINDING_MIXED_PLACEMENT; SPAD_FINDING_IMPLICIT_TENSOR for those that an
 * operation makes) and tensors off chip that are not outputs
 * (SPAD_FINDING_OFF_CHIP_NOT_OUTPUT). Fills out[0 .. min(returned, capacity))
 * and returns how many there are. A finding has the number of its tensor and
 * the time of its declaration in the trace. O(tensors).
 */
SPAD_API size_t spad_direct_list_findings(spad_finding *out, size_t capacity,
                                          const spad_direct *direct);

#ifdef __cplusplus
}
#endif
#endif
