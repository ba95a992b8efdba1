/* SPDX-License-Identifier: Apache-2.0
 *
 * The name set: an array in order of arrival and a hash index over it.
 */
#include "base/names.h"

#include <stdint.h>
#include <string.h>

#include "base/assert.h"

/* A name in two pieces, the first may be empty. */
typedef struct name_pair {
    const char *prefix;
    size_t prefix_length;
    const char *name;
    size_t name_length;
} name_pair;

static name_pair pair_of(const char *prefix, const char *name) {
    return (name_pair){prefix, strlen(prefix), name, strlen(name)};
}

static uint64_t hash_pair(const name_pair *p) {
    return spad__hash_more(spad__hash_text(p->prefix, p->prefix_length), p->name, p->name_length);
}

static bool is_pair(const char *text, const name_pair *p) {
    return strncmp(text, p->prefix, p->prefix_length) == 0 &&
           strncmp(text + p->prefix_length, p->name, p->name_length) == 0 &&
           text[p->prefix_length + p->name_length] == '\0';
}

void spad__names_init(spad__names *set, const spad_host *host) {
    memset(set, 0, sizeof *set);
    set->texts.host = *host;
}

void spad__names_free(spad__names *set) {
    spad__assert_valid(spad__names_is_valid(set));
    spad__index_free(&set->index, &set->texts.host);
    spad__array_free(&set->texts.host, &set->names);
    spad__arena_free(&set->texts);
}

static size_t find_pair(const spad__names *set, const name_pair *p) {
    spad__probe probe = spad__index_probe(&set->index, hash_pair(p));
    for (size_t i; (i = spad__probe_next(&probe)) != SPAD__NO_ITEM;) {
        if (is_pair(set->names.items[i].text, p)) return i;
    }
    return SPAD__NO_NAME;
}

size_t spad__names_index(const spad__names *set, const char *prefix, const char *name) {
    const name_pair p = pair_of(prefix, name);
    return find_pair(set, &p);
}

size_t spad__names_index_of(const spad__names *set, const char *text, size_t length) {
    const name_pair p = {"", 0, text, length};
    return find_pair(set, &p);
}

const char *spad__names_find(const spad__names *set, const char *prefix, const char *name) {
    const size_t index = spad__names_index(set, prefix, name);
    return index != SPAD__NO_NAME ? set->names.items[index].text : NULL;
}

const char *spad__names_add(spad__names *set, const char *prefix, const char *name) {
    spad__assert(spad__names_index(set, prefix, name) == SPAD__NO_NAME);
    if (!spad__array_reserve(&set->texts.host, &set->names, 1)) return NULL;
    if (!spad__index_reserve(&set->index, &set->texts.host, 1)) return NULL;
    const spad__arena_mark before = spad__arena_here(&set->texts);
    const name_pair p = pair_of(prefix, name);
    char *text = spad__arena_new(&set->texts, p.prefix_length + p.name_length + 1);
    if (text == NULL) return NULL;
    memcpy(text, prefix, p.prefix_length);
    memcpy(text + p.prefix_length, name, p.name_length);
    const uint64_t hash = hash_pair(&p);
    spad__index_add(&set->index, hash, set->names.count);
    set->names.items[set->names.count++] =
        (spad__name){.text = text, .hash = hash, .before = before};
    return text;
}

/* The index finds every name at its number, and has no more than the names. */
bool spad__names_is_valid(const spad__names *set) {
    if (!spad__array_is_valid(&set->names) || !spad__index_is_valid(&set->index)) return false;
    for (size_t i = 0; i < set->names.count; i++) {
        size_t found;
        spad__probe probe = spad__index_probe(&set->index, set->names.items[i].hash);
        do found = spad__probe_next(&probe);
        while (found != i && found != SPAD__NO_ITEM);
        if (found != i) return false;
    }
    return set->index.count == set->names.count;
}

void spad__names_truncate(spad__names *set, size_t count) {
    while (set->names.count > count) {
        const spad__name *newest = &set->names.items[--set->names.count];
        spad__index_remove(&set->index, newest->hash, set->names.count);
        spad__arena_rewind(&set->texts, newest->before);
    }
}
