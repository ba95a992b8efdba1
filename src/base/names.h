/* SPDX-License-Identifier: Apache-2.0
 *
 * A set of names that remembers the order in which they came, so that the
 * newest ones can be taken back.
 *
 * Names live in an arena; a hash index finds them. Adding, finding and taking
 * back: O(length) expected.
 */
#ifndef SPAD_BASE_NAMES_H
#define SPAD_BASE_NAMES_H

#include <stdint.h>

#include "base/index.h"

typedef struct spad__name {
    const char *text;
    uint64_t hash;
    spad__arena_mark before; /* the arena without it */
} spad__name;

typedef struct spad__names {
    spad__arena texts;
    SPAD_ARRAY(spad__name) names;
    spad__index index;
} spad__names;

void spad__names_init(spad__names *set, const spad_host *host);
void spad__names_free(spad__names *set);

/* No such name. */
#define SPAD__NO_NAME SPAD__NO_ITEM

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

/* For assertions: O(names) expected. */
bool spad__names_is_valid(const spad__names *set);

#endif
