/* SPDX-License-Identifier: Apache-2.0
 *
 * The lifetime check from the inside.
 *
 * The core takes one event after the other, in the order in which they happen: that of
 * the program, or any other that a caller has found. All its state is in flat tables with
 * numbers in them: pieces of memory name writes, writes name tensors, tiles, statements
 * and values of loop variables.
 */
#ifndef SPAD_CHECK_LIVE_RANGES_H
#define SPAD_CHECK_LIVE_RANGES_H

#include "base/index.h"
#include "check/last_writers.h"
#include "finding/findings.h"
#include "induction/recurrence.h"
#include "kernel/kernel.h"

/* Content of a piece of memory. The values of the loops around the statement, innermost
 * first, are in a table of their own. */
typedef struct spad__write {
    int64_t tensor;
    int64_t tile;
    int64_t life;
    int64_t home_tile;
    int64_t home_life;
    int64_t birth; /* `alloc` statements about that tile before it */
    int64_t statement;
    size_t row; /* the access in the kernel's table */
    bool read;  /* a byte of it was */
    bool may;   /* it may have left these bytes as they were */
    bool full;  /* may: they were written under some name of the storage before */
} spad__write;

/* A tensor while the check runs. `dead` is there when `alloc` or `free` name the tensor; with
 * `alloc` its tiles are dead until then. */
typedef struct spad__liveness_tensor {
    bool tracked;         /* its bytes can be wrong */
    bool read;            /* somewhere, under any name of its storage */
    bool view;            /* never written itself: shows what other names of its storage wrote */
    bool given;           /* a name of this storage is input */
    bool empty;           /* it is never written, so its bytes are undefined */
    bool shown;           /* an output of this storage is a view */
    bool allocated;       /* by `alloc` statements */
    bool heap;            /* a heap tensor that is live */
    bool wrong;           /* a read of it was, so its writes are not reported as unread */
    bool jumps;           /* its tiles are not written in ascending order */
    uint8_t *dead;        /* per tile; NULL: all are live */
    uint32_t *births;     /* per tile, with `dead`: how often it was allocated */
    uint8_t *written;     /* per tile of an output that can be written over; else NULL */
    int64_t declarations; /* declarations that ran */
    int64_t ring;         /* slots of a ring over the number of the tile; 0: none */
    int64_t newest;       /* tile that was written in this life */
    int64_t needed;       /* slots that its reads would have needed */
    size_t area;          /* + 1: of the slot that was touched last; 0: none */
} spad__liveness_tensor;

/* Tiles by turns, as in a ring, have hints of their own. A power of two. */
enum { SPAD__LIVE_HINTS = 8 };

/* Tiles of a tensor with `alloc` or `free`, and of an output, that are distinguished. */
enum { SPAD__LIVE_TILES = 1 << 24, SPAD__OUTPUT_TILES = 1 << 16 };

/* The bytes of one slot without a place. */
typedef struct spad__liveness_area {
    int64_t home;
    int64_t slot;
    spad__bytemap map;
} spad__liveness_area;

/* Bytes that an access may write and that do not hold its tile. */
typedef struct spad__liveness_part {
    spad_rect rect;
    bool full;
} spad__liveness_part;

/* An access whose bytes were never read, at its first such execution. */
typedef struct spad__unread {
    spad_finding finding;
    int64_t statement;
    int64_t tensor;
    size_t row;
    bool last; /* the last value of a variable */
} spad__unread;

typedef struct spad__liveness {
    spad__run *run;
    const spad_kernel *kernel;
    spad_host host;
    const int64_t *loop_values; /* by number of the loop; of the event */
    int64_t statement;          /* of the event */
    spad__liveness_tensor *tensors;
    spad__bytemap *spaces; /* per space; without bands: not touched */
    SPAD_ARRAY(spad__liveness_area) areas;
    spad__index area_index; /* by home and slot */
    size_t depth;           /* loops around a statement, at most */
    spad__writers writers;
    spad__write *writes;
    int64_t *values;
    size_t write_count; /* number 0: none */
    size_t write_room;
    spad__writer unused;
    spad__spot *hints; /* SPAD__LIVE_HINTS per access of the kernel: where its bytes were found */
    SPAD_ARRAY(spad__liveness_part) parts; /* of the access that may write */
    SPAD_ARRAY(spad__unread) unread;       /* to be reported at the end */
    size_t *unread_of;                     /* per access of the kernel, and again for last values:
                                              index + 1; 0: none */
    bool *carries; /* per access of the kernel: something that it wrote was read in a later
                      iteration */
} spad__liveness;

/* live_uses.c: which tensors are followed, and the tables of their tiles. */
spad_status spad__liveness_find_uses(spad__liveness *live, spad_error *error);

/* Has it bytes that no other tensor can have? */
bool spad__liveness_is_private(const spad__liveness *live, const spad_kernel_tensor *home);

spad_status spad__liveness_create(spad__liveness **out, spad__run *run, spad_error *error);
void spad__liveness_destroy(spad__liveness *live);

/* One thing happens. `values`: of the loop variables, as spad_walk_get_values gives them. */
spad_status spad__liveness_event(spad__liveness *live, const spad_walk_event *event,
                                 const int64_t *values, spad_error *error);

/* The tile of its home that a tile of a tensor is in. */
static inline int64_t spad__home_tile(const spad_kernel_tensor *tensor, int64_t tile) {
    return tensor->mode == SPAD_MODE_ALIAS && tensor->home_tile >= 0 ? tensor->home_tile : tile;
}

/* How often the tile was allocated that an access is in. What was written before the last time is
 * gone. */
static inline int64_t spad__liveness_birth(const spad__liveness *live,
                                           const spad_walk_access *access) {
    const uint32_t *births = live->tensors[access->home].births;
    if (births == NULL) return 0;
    return births[spad__home_tile(&live->kernel->tensors.items[access->tensor], access->tile)];
}

/* False: spad__liveness_outputs has nothing to read. */
bool spad__liveness_has_outputs(const spad__liveness *live);

/* Outputs are read when the kernel is over; `walk` stands at the end. */
spad_status spad__liveness_outputs(spad__liveness *live, const spad_walk *walk, spad_error *error);

/* The kernel is over: leaks, writes that were never read, depths that rings would need. */
spad_status spad__liveness_finish(spad__liveness *live, spad_error *error);

/* The state at the head of an iteration: see live_state.c. walk: NULL if none exists;
 * values: of all loops. */
spad_status spad__liveness_state(const spad__liveness *live, const spad_walk *walk,
                                 const int64_t *values, const spad__induction *induction,
                                 size_t group, int64_t periods, spad__state *state,
                                 spad_error *error);

/* ---- findings ---------------------------------------------------------------------- */

/* A read of bytes that hold something else: `part` of `access`, last written by `writer`.
 * `elsewhere`: only the device knows which bytes it reads, and some of them may hold the tile. */
spad_status spad__report_read(spad__liveness *live, const spad_walk_access *access, spad_rect part,
                              spad__writer writer, bool elsewhere, spad_error *error);
/* An access to a tile that is not live. */
spad_status spad__report_dead(spad__liveness *live, const spad_walk_access *access,
                              spad_error *error);
/* A write that is fully overwritten before any read (dead store): reported at the end. */
spad_status spad__report_unread(spad__liveness *live, spad__writer writer, spad_error *error);

/* "'x[1, 2]'" */
enum { SPAD__TILE_TEXT_MAX = 112 };
void spad__tile_text(const spad_kernel *kernel, int64_t tensor, int64_t tile, char *field,
                     size_t size);

/* Two tiles of a tensor clash: adds a note at its declaration if that is a ring. */
void spad__note_ring(spad_finding *finding, const spad_kernel *kernel, int64_t tensor, int64_t tile,
                     int64_t other);

/* A tensor that is declared again, or not any more, while it is allocated. */
spad_status spad__report_leaks(spad__liveness *live, int64_t tensor, spad_error *error);
/* A tile that is freed or allocated twice. */
spad_status spad__report_again(spad__liveness *live, const spad_walk_event *event,
                               spad_error *error);

/* ---- rules ------------------------------------------------------------------------- */

/* Is a tile of a tensor legal at that place? */
spad_status spad__check_place(spad__run *run, int64_t tensor, int64_t tile, spad_rect rect,
                              spad_error *error);

/* May the engine of an operation access a tile at this address? */
spad_status spad__check_proxy(spad__run *run, int64_t statement, const spad_walk_access *access,
                              spad_error *error);

/* May the engine of an operation touch these lanes of a tile? */
spad_status spad__check_operand(spad__run *run, int64_t statement, const spad_walk_access *access,
                                spad_error *error);

/* ---- hygiene ----------------------------------------------------------------------- */

/* Findings from the text alone: tensors never used or never read, mixed placement. */
spad_status spad__check_hygiene(spad__run *run, spad_error *error);

/* A walk that could not continue, at a statement (-1: none). `twice`: because it frees what is
 * free. Passes on a failure that is not the kernel's. */
spad_status spad__report_failure(spad__run *run, int64_t statement, bool twice,
                                 const spad_error *failure, spad_error *error);

#endif
