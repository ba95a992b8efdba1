/* SPDX-License-Identifier: Apache-2.0
 *
 * The block as its own files see it.
 *
 *   scope.c     scope names, and what a chip makes of them
 *   block_alloc.c    life, allocation, free, control flow
 *   reducer.c   the life cycle of reducers; who may touch what
 *   arena_offsets.c  offsets in one arena over lifetimes
 *   plan.c      the plan: all arenas, tensor memory, totals, the trace
 *   block_report.c   the plan as text and JSON
 *
 * Invariants
 *   buffers[i].info.begin < info.end; end == SPAD_OPEN_END while live and for
 *   barriers that are not invalidated
 *   regions: serials ascend; a buffer's region is 0 or the serial of a region that
 *   was open when it was allocated
 *   planned implies that offsets, tmem_sizes, arena_bytes and totals belong together
 */
#ifndef SPAD_ALLOC_BLOCK_BLOCK_H
#define SPAD_ALLOC_BLOCK_BLOCK_H

#include "base/memory.h"
#include "base/names.h"
#include "spad/block.h"
#include "spad/experimental/tmem.h"

/* ---- scopes ------------------------------------------------------------------------ */

/* Where a buffer's bytes are. */
typedef enum block_kind {
    BLOCK_NOT_HERE, /* the chip does not have the scope */
    BLOCK_ARENA,    /* planned: dynamic shared memory, an Ascend level */
    BLOCK_STATIC,   /* static shared memory */
    BLOCK_TENSOR,   /* tensor memory */
    BLOCK_THREAD,   /* registers */
    BLOCK_GLOBAL    /* off chip */
} block_kind;

/* What the chip makes of a scope: kind, and the number of its space. On failure the error says
 * what is missing and what to use. */
spad_status spad__block_resolve(block_kind *kind, size_t *space, const spad_block *block,
                                spad_block_scope scope, spad_error *error);

/* Can the chip do it? Read off the engines and spaces of the target. */
bool spad__block_has_bulk_copies(const spad_block *block); /* TMA, and mbarriers with it */

/* ---- buffers ----------------------------------------------------------------------- */

typedef enum reducer_step { REDUCER_NEW, REDUCER_OPEN, REDUCER_DONE } reducer_step;

typedef struct block_reducer {
    reducer_step step;
    bool filled;          /* opened by fill, not by init */
    size_t init_depth;    /* regions open at the init */
    uint64_t init_region; /* serial of the innermost of them; 0: none */
} block_reducer;

typedef struct block_buffer {
    spad_block_buffer info;
    block_kind kind;
    bool timed;
    bool pinned;
    bool freed_by_hand;
    int64_t last_use; /* end of a timed barrier's use */
    uint64_t region;  /* serial of the innermost region at its allocation; 0: none */
    block_reducer reducer;
} block_buffer;

typedef struct block_region {
    spad_block_flow kind;
    uint64_t serial;     /* from 1 */
    int64_t begin;       /* its enter */
    size_t first_buffer; /* allocated in it */
} block_region;

struct spad_block {
    spad_host host;
    const spad_target *target;
    spad_block_options options; /* name: a copy; host: not used */
    bool is_core;               /* Ascend: levels instead of shared memory */
    spad__names names;
    spad__arena texts; /* dims and arrivals, and the block's name */
    SPAD_ARRAY(block_buffer) buffers;
    SPAD_ARRAY(block_region) regions;
    uint64_t region_serial; /* of the newest region */
    int64_t clock;          /* events so far */
    int64_t last_columns;   /* of the newest allocation by the rules of tcgen05; 0: none */

    bool planned;
    spad_block_totals totals;
    SPAD_ARRAY(int64_t) tmem_sizes;       /* columns of each allocation */
    int64_t arena_bytes[SPAD_SPACES_MAX]; /* by space */
    int64_t word_bytes;                   /* static bytes of the address words */
};

/* The buffer with that number, or NULL and an error. */
block_buffer *spad__block_find(const spad_block *block, int64_t number, spad_error *error);

/* "noun 'A'" or "noun number 3", cut to the field. */
enum { BLOCK_LABEL_MAX = SPAD_NAME_FACT_MAX + 24 };
void spad__block_label(char *field, const char *noun, const spad_block *block,
                       const block_buffer *buffer);

static inline bool spad__block_is_barrier(spad_block_scope scope) {
    return scope == SPAD_BLOCK_BARRIER || scope == SPAD_BLOCK_CLUSTER_BARRIER;
}

static inline uint64_t spad__block_region_now(const spad_block *block) {
    return block->regions.count > 0 ? block->regions.items[block->regions.count - 1].serial : 0;
}

/* The outermost open region with sides that run side by side, or NULL. */
static inline const block_region *spad__block_concurrent(const spad_block *block) {
    for (size_t i = 0; i < block->regions.count; i++) {
        if (block->regions.items[i].kind == SPAD_FLOW_CONCURRENT) return &block->regions.items[i];
    }
    return NULL;
}

/* Is the buffer live after the newest event? */
static inline bool spad__block_is_live(const spad_block *block, const block_buffer *buffer) {
    if (!buffer->timed) return buffer->info.end == SPAD_OPEN_END;
    return buffer->info.begin < block->clock && block->clock <= buffer->info.end;
}

/* The rules of tcgen05.alloc for a number of columns after an allocation of `last` (0: the first
 * one). SPAD_ERR_ARGUMENT, SPAD_ERR_LIFE_CYCLE. */
spad_status spad__tmem_check_columns(int64_t columns, int64_t last, spad_error *error);

/* SPAD_OK if every reducer has been closed. */
spad_status spad__block_check_reducers(const spad_block *block, spad_error *error);

/* SPAD_ERR_STALE without a plan. */
spad_status spad__block_need_plan(const spad_block *block, spad_error *error);

/* ---- placement --------------------------------------------------------------------- */

/* One buffer in an arena. */
typedef struct block_item {
    int64_t begin;
    int64_t end;
    int64_t bytes; /* > 0 */
    int64_t align; /* a power of two */
    int64_t at;    /* in: the pinned offset, or -1; out: the offset */
    const char *name;
    int64_t buffer; /* its number, -1: an address word; ties are broken by order of items */
} block_item;

typedef enum block_placing {
    BLOCK_PLACE_BEST,
    BLOCK_PLACE_TILELANG,      /* no pins */
    BLOCK_PLACE_BY_NAME_IN_ROW /* TileLang without reuse; no pins */
} block_placing;

/* Gives every item an offset so that no two that are live together share bytes;
 * *top: end of the highest. SPAD_ERR_OVERFLOW, SPAD_ERR_HOST_MEMORY. */
spad_status spad__block_place(int64_t *top, block_item *items, size_t count, block_placing placing,
                              const spad_host *host, spad_error *error);

/* Most bytes live at one time, and the first such time (-1: no items). Sums were checked. */
spad_status spad__block_peak(int64_t *bytes, int64_t *time, const block_item *items, size_t count,
                             const spad_host *host, spad_error *error);

/* The scope of a name. SPAD_ERR_UNKNOWN: none; the message has close names. */
spad_status spad__block_scope_parse(spad_block_scope *out, const char *name, spad_error *error);

#endif
