/* SPDX-License-Identifier: Apache-2.0
 *
 * Host memory: the default hook, array growth, and the arena.
 *
 * The arena is a list of chunks, newest first; each chunk is twice as large
 * as the one before up to a limit, so n bytes cost O(log n) host calls until
 * the limit and O(n / limit) after it. Invariant: only the newest chunk has
 * room that is still handed out.
 */
#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

static void *libc_resize(void *context, void *block, size_t old_size, size_t new_size) {
    (void)context;
    (void)old_size;
    if (new_size == 0) {
        free(block);
        return NULL;
    }
    return realloc(block, new_size);
}

spad_host spad__host_or_default(const spad_host *host) {
    if (host != NULL && host->resize != NULL) return *host;
    return (spad_host){.resize = libc_resize, .context = NULL};
}

void *spad__new(const spad_host *host, size_t size) {
    spad__assert(host->resize != NULL);
    void *block = host->resize(host->context, NULL, 0, size);
    if (block != NULL) memset(block, 0, size);
    return block;
}

/* The bytes of an array. False: larger than any object can be. */
static bool array_size(size_t count, size_t item_size, size_t *size) {
    if (item_size > 0 && count > PTRDIFF_MAX / item_size) return false;
    *size = count * item_size;
    return true;
}

void *spad__new_array(const spad_host *host, size_t count, size_t item_size) {
    size_t size;
    return array_size(count, item_size, &size) ? spad__new(host, size) : NULL;
}

void spad__free(const spad_host *host, void *block, size_t size) {
    if (block != NULL) host->resize(host->context, block, size, 0);
}

bool spad__array_grow(const spad_host *host, void *items_slot, size_t *capacity, size_t count,
                      size_t extra, size_t item_size) {
    spad__assert(count <= *capacity && item_size > 0);
    if (extra > SIZE_MAX - count) return false;
    size_t wanted = *capacity + *capacity / 2;
    if (wanted < count + extra) wanted = count + extra;
    if (wanted < 8) wanted = 8;
    size_t size;
    if (!array_size(wanted, item_size, &size)) return false;
    void *items;
    memcpy(&items, items_slot, sizeof items);
    items = host->resize(host->context, items, *capacity * item_size, size);
    if (items == NULL) return false;
    memcpy(items_slot, &items, sizeof items);
    *capacity = wanted;
    return true;
}

struct spad__arena_chunk {
    spad__arena_chunk *before;
    size_t size; /* of the whole block, header included */
    size_t used; /* likewise */
    max_align_t data[];
};

enum { ARENA_CHUNK_FIRST = 1024, ARENA_CHUNK_LARGEST = 1 << 20 };

static spad__arena_chunk *arena_add_chunk(spad__arena *arena, size_t room) {
    spad__assert(room % _Alignof(max_align_t) == 0);
    size_t size = arena->last != NULL ? arena->last->size * 2 : ARENA_CHUNK_FIRST;
    if (size > ARENA_CHUNK_LARGEST) size = ARENA_CHUNK_LARGEST;
    if (room > PTRDIFF_MAX - sizeof(spad__arena_chunk)) return NULL;
    if (size < room + sizeof(spad__arena_chunk)) size = room + sizeof(spad__arena_chunk);
    spad__arena_chunk *chunk = arena->host.resize(arena->host.context, NULL, 0, size);
    if (chunk == NULL) return NULL;
    chunk->before = arena->last;
    chunk->size = size;
    chunk->used = sizeof *chunk;
    arena->last = chunk;
    spad__assert_valid(spad__arena_is_valid(arena)); /* paid for by filling the chunk before */
    return chunk;
}

void *spad__arena_new(spad__arena *arena, size_t size) {
    const size_t unit = _Alignof(max_align_t);
    if (size > PTRDIFF_MAX - unit) return NULL;
    const size_t rounded = (size + unit - 1) / unit * unit;
    spad__arena_chunk *chunk = arena->last;
    if (chunk == NULL || chunk->size - chunk->used < rounded) {
        chunk = arena_add_chunk(arena, rounded);
        if (chunk == NULL) return NULL;
    }
    void *block = (char *)chunk + chunk->used;
    spad__assert(chunk->used % unit == 0 && rounded <= chunk->size - chunk->used);
    chunk->used += rounded;
    memset(block, 0, rounded);
    return block;
}

void *spad__arena_array(spad__arena *arena, size_t count, size_t item_size) {
    size_t size;
    return array_size(count, item_size, &size) ? spad__arena_new(arena, size) : NULL;
}

char *spad__arena_copy(spad__arena *arena, const char *bytes, size_t length) {
    if (length >= PTRDIFF_MAX) return NULL;
    char *copy = spad__arena_new(arena, length + 1);
    if (copy != NULL && length > 0) memcpy(copy, bytes, length);
    return copy;
}

spad__arena_mark spad__arena_here(const spad__arena *arena) {
    return (spad__arena_mark){.chunk = arena->last,
                              .used = arena->last != NULL ? arena->last->used : 0};
}

void spad__arena_rewind(spad__arena *arena, spad__arena_mark mark) {
    while (arena->last != mark.chunk) {
        spad__assert(arena->last != NULL); /* the mark is of this arena, and was not rewound past */
        spad__arena_chunk *chunk = arena->last;
        arena->last = chunk->before;
        spad__free(&arena->host, chunk, chunk->size);
    }
    if (arena->last == NULL) return;
    /* A mark is older than everything that is dropped, so the chunk was no fuller then. */
    spad__assert(mark.used <= arena->last->used);
    arena->last->used = mark.used;
}

void spad__arena_free(spad__arena *arena) {
    spad__arena_rewind(arena, (spad__arena_mark){.chunk = NULL, .used = 0});
}

bool spad__arena_is_valid(const spad__arena *arena) {
    if (arena->host.resize == NULL) return false;
    for (const spad__arena_chunk *chunk = arena->last; chunk != NULL; chunk = chunk->before) {
        if (chunk->used < sizeof *chunk || chunk->used > chunk->size) return false;
        if (chunk->used % _Alignof(max_align_t) != 0) return false;
    }
    return true;
}
