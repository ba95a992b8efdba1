/* SPDX-License-Identifier: Apache-2.0
 *
 * emit: places as source text that a kernel includes: a header for C99, C++ and CUDA,
 * Python for NKI and for TileLang, JSON and CSV (docs/emit.md).
 *
 * A table has a row per buffer with one place per copy. The same table gives the same
 * bytes. Externally synchronised; const functions may run concurrently.
 */
#ifndef SPAD_EMIT_H
#define SPAD_EMIT_H

#ifndef SPAD_EXPERIMENTAL
#error "spad/experimental/emit.h may change in any version: define SPAD_EXPERIMENTAL"
#endif

#include <stddef.h>
#include <stdint.h>

#include "spad/layout.h"
#include "spad/plan.h"
#include "spad/target.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spad_emit spad_emit;

typedef enum spad_emit_lang {
    SPAD_EMIT_C,
    SPAD_EMIT_CUDA, /**< the same with typed pointers from the start of shared memory */
    SPAD_EMIT_NKI,
    SPAD_EMIT_TILELANG, /**< allocations; TileLang decides the addresses */
    SPAD_EMIT_JSON,
    SPAD_EMIT_CSV,
    SPAD_EMIT_LANGS
} spad_emit_lang;

/** "c", "cuda", "nki", "tilelang", "json", "csv". Static storage. */
SPAD_API const char *spad_emit_lang_name(spad_emit_lang lang);

/** An empty table, owned by the caller. The target is borrowed. `name` is in front of every
 *  identifier; NULL: "spad". */
SPAD_API spad_status spad_emit_create(spad_emit **out, const spad_target *target, const char *name,
                                      const spad_host *host, spad_error *error);

/** Frees it. NULL is fine. */
SPAD_API void spad_emit_destroy(spad_emit *table);

/** Where one copy is. */
typedef struct spad_emit_place {
    int64_t lane;
    int64_t byte;
} spad_emit_place;

/** A buffer: a tensor with its tiles or ring, or a barrier. */
typedef struct spad_emit_buffer {
    const char *name; /**< NULL: unnamed */
    size_t space;
    int64_t lanes;
    int64_t bytes;     /**< of one copy, per lane */
    int64_t alignment; /**< at least 1 */
    size_t count;      /**< copies: tiles, or the depth of a ring; at least 1 */
    const spad_emit_place *places;
    spad_shape shape; /**< rank 0: not known */
    spad_dtype dtype;
    const char *agent; /**< that declares it; NULL: the main program, or not known */
    int32_t line;      /**< of its declaration; 0: none */
    int64_t arrivals;  /**< of a phase, of an mbarrier; 0: not an mbarrier */
} spad_emit_buffer;

/** Adds a row; everything is copied. SPAD_ERR_ARGUMENT: no place, no such space, a negative
 *  size. SPAD_ERR_OVERFLOW: its end does not fit 64 bits. */
SPAD_API spad_status spad_emit_add(spad_emit *table, const spad_emit_buffer *buffer,
                                   spad_error *error);

/** Adds every tensor and barrier that the layout places. SPAD_ERR_NO_FIT: it does not fit. */
SPAD_API spad_status spad_emit_add_layout(spad_emit *table, const spad_layout *layout,
                                          spad_error *error);

/** Adds the buffers of a problem at the places of its result. SPAD_ERR_STALE: the result of
 *  another problem, or of this one before it changed. SPAD_ERR_ARGUMENT: it has no places. */
SPAD_API spad_status spad_emit_add_plan(spad_emit *table, const spad_plan *plan,
                                        const spad_plan_result *result, size_t space,
                                        spad_error *error);

/** SPAD_ERR_ARGUMENT: no such language. */
SPAD_API spad_status spad_emit_write(const spad_emit *table, spad_emit_lang lang,
                                     const spad_sink *sink, spad_error *error);

#ifdef __cplusplus
}
#endif
#endif
