/* SPDX-License-Identifier: Apache-2.0
 *
 * A set of names that remembers the order in which they came, so that the
 * newest ones can be taken back.
 *
 * Names live in an arena; a hash table of chains finds them. Within a chain
 * the newest name comes first, so taking back is unlinking the head. Adding
 * and finding: O(length) expected.
 */
#ifndef SPAD_BASE_NAMES_H
#define SPAD_BASE_NAMES_H

#include <stdint.h>

#include "base/memory.h"

typedef struct spad__name {
    const char *text;
    uint64_t hash;
    size_t older;            /* next in the chain: index + 1, 0: none */
    spad__arena_mark before; /* the arena without it */
} spad__name;

typedef struct spad__names {
    spad__arena texts;
    SPAD_ARRAY(spad__name) names;
    size_t *buckets;     /* index + 1 of the newest name, 0: none */
    size_t bucket_count; /* a power of two, or 0 */
} spad__names;

/* A hash of the first `length` bytes of a text: FNV-1a, 64 bit (Fowler, Noll, Vo). */
uint64_t spad__text_hash(const char *text, size_t length);

void spad__names_init(spad__names *set, const spad_host *host);
void spad__names_free(spad__names *set);

/* No such name. */
#define SPAD__NO_NAME SIZE_MAX

/* The place in the order of arrival of prefix + name, or of the first `length`
 * bytes of a text; SPAD__NO_NAME if it is not there. */
size_t spad__names_index(const spad__names *set, const char *prefix, const char *name);
size_t spad__names_index_of(const spad__names *set, const char *text, size_t length);

/* The stored text of prefix + name, or NULL if it is not there. */
const char *spad__names_find(const spad__names *set, const char *prefix, const char *name);

/* Adds prefix + name, which must not be there; NULL: no memory, nothing changed. */
const char *spad__names_add(spad__names *set, const char *prefix, const char *name);

/* Takes back the newest until `count` are left. */
void spad__names_truncate(spad__names *set, size_t count);

/* For assertions: O(names + buckets). */
bool spad__names_is_valid(const spad__names *set);

#endif
