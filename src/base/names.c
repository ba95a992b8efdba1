/* SPDX-License-Identifier: Apache-2.0
 *
 * The name set: hash chains over an array in order of arrival.
 */
#include "base/names.h"

#include <stdint.h>
#include <string.h>

#include "base/assert.h"

/* A name in two pieces, the first may be empty. */
typedef struct pair {
    const char *prefix;
    size_t prefix_length;
    const char *name;
    size_t name_length;
} pair;

static pair pair_of(const char *prefix, const char *name) {
    return (pair){prefix, strlen(prefix), name, strlen(name)};
}

#define HASH_OF_NOTHING UINT64_C(0xCBF29CE484222325)

static uint64_t hash_more(uint64_t hash, const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001B3);
    }
    return hash;
}

uint64_t spad__text_hash(const char *text, size_t length) {
    return hash_more(HASH_OF_NOTHING, text, length);
}

static uint64_t hash_pair(const pair *p) {
    return hash_more(spad__text_hash(p->prefix, p->prefix_length), p->name, p->name_length);
}

static bool is_pair(const char *text, const pair *p) {
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
    spad__free(&set->texts.host, set->buckets, set->bucket_count * sizeof *set->buckets);
    spad__array_free(&set->texts.host, &set->names);
    spad__arena_free(&set->texts);
}

static size_t *bucket_of(const spad__names *set, uint64_t hash) {
    spad__assert((set->bucket_count & (set->bucket_count - 1)) == 0 && set->bucket_count > 0);
    return &set->buckets[hash & (set->bucket_count - 1)];
}

static size_t find_pair(const spad__names *set, const pair *p) {
    if (set->bucket_count == 0) return SPAD__NO_NAME;
    const uint64_t hash = hash_pair(p);
    for (size_t i = *bucket_of(set, hash); i != 0; i = set->names.items[i - 1].older) {
        const spad__name *found = &set->names.items[i - 1];
        spad__assert(found->older < i); /* chains run from new to old, and so they end */
        if (found->hash == hash && is_pair(found->text, p)) return i - 1;
    }
    return SPAD__NO_NAME;
}

size_t spad__names_index(const spad__names *set, const char *prefix, const char *name) {
    const pair p = pair_of(prefix, name);
    return find_pair(set, &p);
}

size_t spad__names_index_of(const spad__names *set, const char *text, size_t length) {
    const pair p = {"", 0, text, length};
    return find_pair(set, &p);
}

const char *spad__names_find(const spad__names *set, const char *prefix, const char *name) {
    const size_t index = spad__names_index(set, prefix, name);
    return index != SPAD__NO_NAME ? set->names.items[index].text : NULL;
}

/* Twice the buckets; names are linked again in order, so the newest stays first. */
static bool grow_buckets(spad__names *set) {
    const size_t count = set->bucket_count == 0 ? 16 : set->bucket_count * 2;
    size_t *buckets = spad__new_array(&set->texts.host, count, sizeof *buckets);
    if (buckets == NULL) return false;
    spad__free(&set->texts.host, set->buckets, set->bucket_count * sizeof *buckets);
    set->buckets = buckets;
    set->bucket_count = count;
    for (size_t i = 0; i < set->names.count; i++) {
        size_t *bucket = bucket_of(set, set->names.items[i].hash);
        set->names.items[i].older = *bucket;
        *bucket = i + 1;
    }
    spad__assert_valid(spad__names_is_valid(set)); /* paid for by the names since the last time */
    return true;
}

const char *spad__names_add(spad__names *set, const char *prefix, const char *name) {
    spad__assert(spad__names_index(set, prefix, name) == SPAD__NO_NAME);
    if (!spad__array_reserve(&set->texts.host, &set->names, 1)) return NULL;
    if (set->names.count >= set->bucket_count && !grow_buckets(set)) return NULL;
    const spad__arena_mark before = spad__arena_here(&set->texts);
    const pair p = pair_of(prefix, name);
    char *text = spad__arena_new(&set->texts, p.prefix_length + p.name_length + 1);
    if (text == NULL) return NULL;
    memcpy(text, prefix, p.prefix_length);
    memcpy(text + p.prefix_length, name, p.name_length);
    const uint64_t hash = hash_pair(&p);
    size_t *bucket = bucket_of(set, hash);
    set->names.items[set->names.count++] =
        (spad__name){.text = text, .hash = hash, .older = *bucket, .before = before};
    *bucket = set->names.count;
    return text;
}

/* Every name is on the chain of its hash, after all newer ones. The lengths of the chains add up
 * to the number of names, so that no name is missing. */
bool spad__names_is_valid(const spad__names *set) {
    if (!spad__array_is_valid(&set->names)) return false;
    if (set->bucket_count == 0) return set->names.count == 0;
    size_t chained = 0;
    for (size_t b = 0; b < set->bucket_count; b++) {
        size_t newer = set->names.count + 1;
        for (size_t i = set->buckets[b]; i != 0; i = set->names.items[i - 1].older) {
            if (i >= newer) return false;
            if ((set->names.items[i - 1].hash & (set->bucket_count - 1)) != b) return false;
            newer = i;
            chained++;
        }
    }
    return chained == set->names.count;
}
void spad__names_truncate(spad__names *set, size_t count) {
    while (set->names.count > count) {
        const spad__name *newest = &set->names.items[--set->names.count];
        /* What is newest of all is newest of its chain. */
        spad__assert(*bucket_of(set, newest->hash) == set->names.count + 1);
        *bucket_of(set, newest->hash) = newest->older;
        spad__arena_rewind(&set->texts, newest->before);
    }
}
