/* SPDX-License-Identifier: Apache-2.0
 *
 * Host memory inside the library: single blocks, growable arrays and the
 * arena. Everything goes through the caller's spad_host, and every allocation
 * can fail.
 */
#ifndef SPAD_BASE_MEMORY_H
#define SPAD_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "spad/host.h"

/* The hook itself, or the C library's allocator for NULL. */
spad_host spad__host_or_default(const spad_host *host);

/* A zeroed block, or NULL. Freed with the same size. */
void *spad__new(const spad_host *host, size_t size);
/* A zeroed block of `count` items, or NULL: also if their bytes do not fit a size. The only way
 * to allocate a number of items; tests/check_allocations rejects products made by hand. */
void *spad__new_array(const spad_host *host, size_t count, size_t item_size);
void spad__free(const spad_host *host, void *block, size_t size);

/* ---- arrays -------------------------------------------------------------
 * SPAD_ARRAY(T) declares {T *items; size_t count; size_t capacity;}; zeroed
 * is empty. Reserve first, then write: reserve is the only call that fails,
 * so a function can reserve all it needs and then change things for good. */
#define SPAD_ARRAY(T)    \
    struct {             \
        T *items;        \
        size_t count;    \
        size_t capacity; \
    }

/* Room for `extra` more items; grows by half again at least. */
#define spad__array_reserve(host, array, extra)                                                   \
    ((array)->capacity - (array)->count >= (size_t)(extra) ||                                     \
     spad__array_grow(host, &(array)->items, &(array)->capacity, (array)->count, (size_t)(extra), \
                      sizeof *(array)->items))
#define spad__array_free(host, array)                                              \
    (spad__free(host, (array)->items, (array)->capacity * sizeof *(array)->items), \
     (array)->items = NULL, (array)->count = 0, (array)->capacity = 0)
/* For assertions. */
#define spad__array_is_valid(array) \
    ((array)->count <= (array)->capacity && ((array)->capacity == 0) == ((array)->items == NULL))

/* items_slot: address of the items pointer. False: no memory, nothing changed. */
bool spad__array_grow(const spad_host *host, void *items_slot, size_t *capacity, size_t count,
                      size_t extra, size_t item_size);

/* ---- arena --------------------------------------------------------------
 * Bump allocation in chunks, freed all at once or back to a mark. Zeroed is
 * empty, apart from the host that it needs. */
typedef struct spad__arena_chunk spad__arena_chunk;
typedef struct spad__arena {
    spad_host host;
    spad__arena_chunk *last; /* newest chunk; older ones hang after it */
} spad__arena;
typedef struct spad__arena_mark {
    spad__arena_chunk *chunk;
    size_t used;
} spad__arena_mark;

/* A zeroed block aligned for any type, or NULL. */
void *spad__arena_new(spad__arena *arena, size_t size);
/* As spad__new_array. */
void *spad__arena_array(spad__arena *arena, size_t count, size_t item_size);
/* A copy with a NUL after it, or NULL. */
char *spad__arena_copy(spad__arena *arena, const char *bytes, size_t length);
spad__arena_mark spad__arena_here(const spad__arena *arena);
void spad__arena_rewind(spad__arena *arena, spad__arena_mark mark);
void spad__arena_free(spad__arena *arena);
/* For assertions: every chunk is filled up to a place within it where any type may begin. */
bool spad__arena_is_valid(const spad__arena *arena);

#endif
