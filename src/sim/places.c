/* SPDX-License-Identifier: Apache-2.0
 *
 * Who touches which bytes until when.
 *
 * Bytes are sorted by place: a slot of an unplaced tensor, or a rectangle of a space.
 * Rectangles that share bytes know each other, so an access looks at its own place and
 * its neighbours only; they find each other by the pages of the space that they touch. Pages are
 * counted round: those beyond the last are the first again, so what lies outside of its space is
 * spread like everything else. A place keeps the touches that a later access may have to wait for:
 * a write covers what lies inside it, because it has waited for that itself, and of equal reads the
 * latest is enough. Programs touch few different parts of a tile, so these lists are short and a
 * look costs about a constant.
 *
 * Places that nothing waits for any more are forgotten whenever there are twice as many as were
 * left the last time, which costs O(1) per new place. So there are never many more places than
 * operations in the window of the simulator touch, however many a kernel has, and that is also
 * the most that one access can have as neighbours.
 */
#include "sim/sim.h"

#include <string.h>

#include "base/checked.h"

enum {
    PAGES = 1024,     /* of a space */
    SWEEP_LEAST = 256 /* places that are not worth a sweep */
};

/* ---- bytes ------------------------------------------------------------------------- */

static int64_t last_byte(const spad__bytes *b) { /* one after */
    return b->rect.byte + (b->runs - 1) * b->stride + b->rect.bytes;
}

/* Does [from, to) meet one of the runs? */
static bool meets_run(const spad__bytes *b, int64_t from, int64_t to) {
    if (to <= b->rect.byte || from >= last_byte(b)) return false;
    if (b->runs == 1) return true;
    /* the first run that ends after `from` */
    int64_t k = spad__floor_div(from - b->rect.byte - b->rect.bytes, b->stride) + 1;
    k = spad__max(k, 0);
    return k < b->runs && b->rect.byte + k * b->stride < to;
}

/* Runs at the same distance meet if one run of `a` meets those of `b` wherever it is moved to:
 * runs k and j are (k - j) strides apart, and each difference from 1 - runs of b to runs of a - 1
 * occurs. */
static bool meets_shifted(const spad__bytes *a, const spad__bytes *b) {
    /* the first difference at which the run of a ends after the start of that of b */
    const int64_t ahead = b->rect.byte - a->rect.byte - a->rect.bytes;
    const int64_t least = spad__max(spad__floor_div(ahead, a->stride) + 1, 1 - b->runs);
    return least <= a->runs - 1 && a->rect.byte + least * a->stride < b->rect.byte + b->rect.bytes;
}

bool spad__bytes_overlap(const spad__bytes *a, const spad__bytes *b) {
    if (a->rect.lane >= b->rect.lane + b->rect.lanes ||
        b->rect.lane >= a->rect.lane + a->rect.lanes || a->rect.byte >= last_byte(b) ||
        b->rect.byte >= last_byte(a)) {
        return false;
    }
    if (a->runs > b->runs) return spad__bytes_overlap(b, a);
    if (a->runs > 1 && a->stride == b->stride) return meets_shifted(a, b);
    for (int64_t k = 0; k < a->runs; k++) {
        const int64_t from = a->rect.byte + k * a->stride;
        if (meets_run(b, from, from + a->rect.bytes)) return true;
    }
    return false;
}

static bool same_bytes(const spad__bytes *a, const spad__bytes *b) {
    return a->rect.lane == b->rect.lane && a->rect.lanes == b->rect.lanes &&
           a->rect.byte == b->rect.byte && a->rect.bytes == b->rect.bytes && a->runs == b->runs &&
           (a->runs == 1 || a->stride == b->stride);
}

/* Is b inside a? True only if it is easy to see. */
static bool covers(const spad__bytes *a, const spad__bytes *b) {
    if (a->rect.lane > b->rect.lane ||
        b->rect.lane + b->rect.lanes > a->rect.lane + a->rect.lanes) {
        return false;
    }
    if (a->runs == 1) return a->rect.byte <= b->rect.byte && last_byte(b) <= last_byte(a);
    return a->rect.byte == b->rect.byte && a->rect.bytes == b->rect.bytes && a->runs == b->runs &&
           a->stride == b->stride;
}

/* ---- places ------------------------------------------------------------------------ */

static size_t pages_size(void) {
    return sizeof(spad__pages) + PAGES * sizeof(spad__page);
}

void spad__places_free(spad__places *places) {
    for (size_t i = 0; i < places->places.count; i++) {
        spad__array_free(places->host, &places->places.items[i].touches);
        spad__array_free(places->host, &places->places.items[i].neighbours);
    }
    spad__array_free(places->host, &places->places);
    for (size_t i = 0; places->pages != NULL && i < places->target->space_count; i++) {
        spad__pages *pages = places->pages[i];
        for (size_t p = 0; pages != NULL && p < PAGES; p++) {
            spad__array_free(places->host, &pages->items[p].all);
            spad__array_free(places->host, &pages->items[p].starts);
        }
        if (pages != NULL) spad__free(places->host, pages, pages_size());
    }
    if (places->pages != NULL) {
        spad__free(places->host, places->pages,
                   places->target->space_count * sizeof *places->pages);
    }
    places->pages = NULL;
    spad__free(places->host, places->buckets, places->bucket_count * sizeof *places->buckets);
    places->buckets = NULL;
    places->bucket_count = 0;
}

uint64_t spad__mix(uint64_t hash, int64_t value) {
    hash = (hash ^ (uint64_t)value) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ (hash >> 29);
}

static size_t bucket_of(const spad__places *places, const spad__place *key) {
    uint64_t hash = spad__mix(spad__mix(key->placed, key->home), key->slot);
    if (key->placed) hash = spad__mix(spad__mix(hash, key->rect.lane), key->rect.byte);
    return (size_t)(hash & (places->bucket_count - 1));
}

static bool same_place(const spad__place *a, const spad__place *b) {
    return a->placed == b->placed && a->home == b->home && a->slot == b->slot &&
           a->rect.lane == b->rect.lane && a->rect.lanes == b->rect.lanes &&
           a->rect.byte == b->rect.byte && a->rect.bytes == b->rect.bytes;
}

static void link_all(spad__places *places) {
    if (places->bucket_count == 0) return; /* no place was touched */
    memset(places->buckets, 0, places->bucket_count * sizeof *places->buckets);
    for (size_t i = 0; i < places->places.count; i++) {
        size_t *bucket = &places->buckets[bucket_of(places, &places->places.items[i])];
        places->places.items[i].next = *bucket;
        *bucket = i + 1;
    }
}

static bool grow_buckets(spad__places *places) {
    const size_t count = places->bucket_count == 0 ? 64 : places->bucket_count * 2;
    size_t *buckets = spad__new_array(places->host, count, sizeof *buckets);
    if (buckets == NULL) return false;
    spad__free(places->host, places->buckets, places->bucket_count * sizeof *buckets);
    places->buckets = buckets;
    places->bucket_count = count;
    link_all(places);
    return true;
}

/* The pages of the space of a rectangle. Where the space has no size, pages are as large as the
 * first rectangle in it. */
static spad__pages *pages_of(spad__places *places, const spad__place *place) {
    const size_t spaces = places->target->space_count;
    const int64_t bytes = places->target->spaces[place->home].bytes;
    if (places->pages == NULL) {
        places->pages = spad__new_array(places->host, spaces, sizeof *places->pages);
        if (places->pages == NULL) return NULL;
    }
    spad__pages *pages = places->pages[place->home];
    if (pages == NULL) {
        places->pages[place->home] = pages = spad__new(places->host, pages_size());
        if (pages == NULL) return NULL;
        pages->bytes =
            bytes == SPAD_UNBOUNDED ? spad__max(place->rect.bytes, 1) : bytes / PAGES + 1;
    }
    return pages;
}

static bool meet(spad__places *places, size_t number, const spad__numbered *others) {
    *places->steps += (int64_t)others->count;
    for (size_t k = 0; k < others->count; k++) {
        spad__place *mine = &places->places.items[number];
        spad__place *other = &places->places.items[others->items[k]];
        if (!spad_rect_overlaps(mine->rect, other->rect)) continue;
        if (!spad__array_reserve(places->host, &mine->neighbours, 1) ||
            !spad__array_reserve(places->host, &other->neighbours, 1)) {
            return false;
        }
        mine->neighbours.items[mine->neighbours.count++] = others->items[k];
        other->neighbours.items[other->neighbours.count++] = number;
    }
    return true;
}

static bool append(const spad_host *host, spad__numbered *list, size_t number) {
    if (!spad__array_reserve(host, list, 1)) return false;
    list->items[list->count++] = number;
    return true;
}

/* A rectangle learns which others it shares bytes with, and they learn it: those that are on its
 * first page, and those that start on a later one. */
static bool meet_neighbours(spad__places *places, size_t number) {
    const spad_rect rect = places->places.items[number].rect;
    spad__pages *pages = pages_of(places, &places->places.items[number]);
    if (pages == NULL) return false;
    const int64_t first = spad__floor_div(rect.byte, pages->bytes);
    const int64_t last = spad__floor_div(rect.byte + spad__max(rect.bytes, 1) - 1, pages->bytes);
    const int64_t count = spad__min(last - first + 1, PAGES);
    for (int64_t p = 0; p < count; p++) {
        spad__page *page = &pages->items[(uint64_t)(first + p) % PAGES];
        if (!meet(places, number, p == 0 ? &page->all : &page->starts)) return false;
        if (p == 0 && !append(places->host, &page->starts, number)) return false;
        if (!append(places->host, &page->all, number)) return false;
    }
    return true;
}

/* ---- places that nothing waits for ------------------------------------------------- */

static void empty_pages(spad__places *places) {
    for (size_t i = 0; places->pages != NULL && i < places->target->space_count; i++) {
        spad__pages *pages = places->pages[i];
        for (size_t p = 0; pages != NULL && p < PAGES; p++) {
            pages->items[p].all.count = pages->items[p].starts.count = 0;
        }
    }
}

static size_t drop_touches(spad__place *place, spad__touch_keep keep, const void *ctx) {
    size_t kept = 0;
    for (size_t i = 0; i < place->touches.count; i++) {
        if (keep(ctx, &place->touches.items[i])) {
            place->touches.items[kept++] = place->touches.items[i];
        }
    }
    place->touches.count = kept;
    return kept;
}

bool spad__places_sweep(spad__places *places, spad__touch_keep keep, const void *ctx) {
    if (places->places.count < 2 * places->swept + SWEEP_LEAST) return true;
    *places->steps += (int64_t)places->places.count;
    size_t kept = 0;
    for (size_t i = 0; i < places->places.count; i++) {
        spad__place *place = &places->places.items[i];
        if (drop_touches(place, keep, ctx) == 0) {
            spad__array_free(places->host, &place->touches);
            spad__array_free(places->host, &place->neighbours);
        } else {
            place->neighbours.count = 0;
            places->places.items[kept++] = *place;
        }
    }
    places->swept = places->places.count = kept;
    empty_pages(places);
    link_all(places);
    for (size_t i = 0; i < kept; i++) {
        if (places->places.items[i].placed && !meet_neighbours(places, i)) return false;
    }
    return true;
}

size_t spad__places_find(spad__places *places, const spad_kernel *kernel,
                         const spad_walk_access *access, int64_t slot) {
    spad__place key = {.placed = access->placed, .home = access->home, .slot = slot};
    if (access->placed) {
        key.home = (int64_t)spad_kernel_get_tensor(kernel, (size_t)access->tensor)->space;
        key.slot = 0;
        key.rect = access->tile_rect;
    }
    if (places->bucket_count > 0) {
        size_t i = places->buckets[bucket_of(places, &key)];
        for (; i != 0; i = places->places.items[i - 1].next) {
            if (same_place(&places->places.items[i - 1], &key)) return i - 1;
        }
    }
    if (places->places.count >= places->bucket_count && !grow_buckets(places)) return SIZE_MAX;
    if (!spad__array_reserve(places->host, &places->places, 1)) return SIZE_MAX;
    const size_t number = places->places.count++;
    size_t *bucket = &places->buckets[bucket_of(places, &key)];
    key.next = *bucket;
    *bucket = number + 1;
    places->places.items[number] = key;
    if (key.placed && !meet_neighbours(places, number)) return SIZE_MAX;
    return number;
}

/* ---- touches ----------------------------------------------------------------------- */

static void visit_one(const spad__place *place, const spad__bytes *bytes, bool writes,
                      spad__touch_visit visit, void *ctx) {
    for (size_t i = 0; i < place->touches.count; i++) {
        const spad__touch *touch = &place->touches.items[i];
        if (!writes && !touch->writes) continue;
        if (spad__bytes_overlap(bytes, &touch->bytes)) visit(ctx, touch);
    }
}

void spad__places_visit(const spad__places *places, size_t place, const spad__bytes *bytes,
                        bool writes, spad__touch_visit visit, void *ctx) {
    const spad__place *own = &places->places.items[place];
    visit_one(own, bytes, writes, visit, ctx);
    *places->steps += (int64_t)(own->touches.count + own->neighbours.count);
    for (size_t i = 0; i < own->neighbours.count; i++) {
        const spad__place *other = &places->places.items[own->neighbours.items[i]];
        visit_one(other, bytes, writes, visit, ctx);
        *places->steps += (int64_t)other->touches.count;
    }
}

bool spad__places_touch(spad__places *places, size_t place, const spad__touch *touch,
                        int64_t floor) {
    spad__place *own = &places->places.items[place];
    size_t kept = 0;
    bool merged = false;
    for (size_t i = 0; i < own->touches.count; i++) {
        spad__touch *old = &own->touches.items[i];
        if (old->end <= floor) continue;
        if (old->row != touch->row && touch->writes && covers(&touch->bytes, &old->bytes)) continue;
        if (!touch->writes && !old->writes && same_bytes(&touch->bytes, &old->bytes)) {
            merged = true;
            if (old->end <= touch->end) *old = *touch;
        }
        own->touches.items[kept++] = *old;
    }
    own->touches.count = kept;
    if (merged) return true;
    if (!spad__array_reserve(places->host, &own->touches, 1)) return false;
    own->touches.items[own->touches.count++] = *touch;
    return true;
}

bool spad__places_shift(spad__places *places, const int64_t *shifts, int64_t times) {
    *places->steps += (int64_t)places->places.count;
    for (size_t i = 0; i < places->places.count; i++) {
        spad__place *place = &places->places.items[i];
        int64_t move;
        if (place->placed || shifts[place->home] == 0) continue;
        if (!spad__mul(shifts[place->home], times, &move) ||
            !spad__add(place->slot, move, &place->slot)) {
            return false;
        }
    }
    link_all(places);
    return true;
}
