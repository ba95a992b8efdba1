/* SPDX-License-Identifier: Apache-2.0
 *
 * Who touches which bytes until when.
 *
 * Bytes are sorted by place: a slot of an unplaced tensor, or a rectangle of a space.
 * Rectangles that share bytes know each other, so an access examines its own place and
 * its neighbours only; they find each other by the pages of the space that they touch. Pages are
 * counted round: those beyond the last are the first again, so what is outside of its space is
 * spread like everything else. A place keeps the touches that a later access may have to wait for:
 * a write covers what is inside it, because it has waited for that itself, and of equal reads the
 * latest is enough. Programs touch few different parts of a tile, so these lists are short and a
 * look costs about a constant.
 *
 * Places that nothing waits for any more are forgotten whenever there are twice as many as were
 * left the last time, which costs O(1) per new place. So there are never many more places than
 * operations in the window of the simulator touch, however many a kernel has, and that is also
 * the most that one access can have as neighbours.
 */
#include "base/assert.h"
#include "sim/sim.h"

#include <string.h>

#include "base/checked.h"

enum {
    PAGES = 1024,     /* of a space */
    SWEEP_LEAST = 256 /* places that are not worth a sweep */
};

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
    spad__index_free(&places->index, places->host);
}

static uint64_t hash_place(const spad__place *key) {
    uint64_t hash = spad__hash_add(spad__hash_add(key->placed, key->home), key->slot);
    if (key->placed) hash = spad__hash_add(spad__hash_add(hash, key->rect.lane), key->rect.byte);
    return hash;
}

static bool same_place(const spad__place *a, const spad__place *b) {
    return a->placed == b->placed && a->home == b->home && a->slot == b->slot &&
           a->rect.lane == b->rect.lane && a->rect.lanes == b->rect.lanes &&
           a->rect.byte == b->rect.byte && a->rect.bytes == b->rect.bytes;
}

static void index_all(spad__places *places) {
    spad__index_clear(&places->index);
    for (size_t i = 0; i < places->places.count; i++)
        spad__index_add(&places->index, hash_place(&places->places.items[i]), i);
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

static bool link_overlapping(spad__places *places, size_t number, const spad__numbered *others) {
    *places->steps += (int64_t)others->count;
    for (size_t k = 0; k < others->count; k++) {
        spad__place *mine = &places->places.items[number];
        spad__place *other = &places->places.items[others->items[k]];
        spad__assert(others->items[k] != number);
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

static bool append_number(const spad_host *host, spad__numbered *list, size_t number) {
    if (!spad__array_reserve(host, list, 1)) return false;
    list->items[list->count++] = number;
    return true;
}

/* A rectangle learns which others it shares bytes with, and they learn it: those that are on its
 * first page, and those that start on a later one. */
static bool link_neighbours(spad__places *places, size_t number) {
    const spad_rect rect = places->places.items[number].rect;
    spad__pages *pages = pages_of(places, &places->places.items[number]);
    if (pages == NULL) return false;
    const int64_t first = spad__floor_div(rect.byte, pages->bytes);
    const int64_t last = spad__floor_div(rect.byte + spad__max(rect.bytes, 1) - 1, pages->bytes);
    const int64_t count = spad__min(last - first + 1, PAGES);
    spad__assert(pages->bytes > 0 && count > 0);
    for (int64_t p = 0; p < count; p++) {
        spad__page *page = &pages->items[(uint64_t)(first + p) % PAGES];
        if (!link_overlapping(places, number, p == 0 ? &page->all : &page->starts)) return false;
        if (p == 0 && !append_number(places->host, &page->starts, number)) return false;
        if (!append_number(places->host, &page->all, number)) return false;
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

static size_t drop_touches(spad__place *place, spad__touch_keep keep, const void *context) {
    size_t kept = 0;
    for (size_t i = 0; i < place->touches.count; i++) {
        if (keep(context, &place->touches.items[i])) {
            place->touches.items[kept++] = place->touches.items[i];
        }
    }
    place->touches.count = kept;
    return kept;
}

bool spad__places_sweep(spad__places *places, spad__touch_keep keep, const void *context) {
    if (places->places.count < 2 * places->swept + SWEEP_LEAST) return true;
    *places->steps += (int64_t)places->places.count;
    size_t kept = 0;
    for (size_t i = 0; i < places->places.count; i++) {
        spad__place *place = &places->places.items[i];
        if (drop_touches(place, keep, context) == 0) {
            spad__array_free(places->host, &place->touches);
            spad__array_free(places->host, &place->neighbours);
        } else {
            place->neighbours.count = 0;
            places->places.items[kept++] = *place;
        }
    }
    places->swept = places->places.count = kept;
    empty_pages(places);
    index_all(places);
    for (size_t i = 0; i < kept; i++) {
        if (places->places.items[i].placed && !link_neighbours(places, i)) return false;
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
    const uint64_t hash = hash_place(&key);
    spad__probe probe = spad__index_probe(&places->index, hash);
    for (size_t i; (i = spad__probe_next(&probe)) != SPAD__NO_ITEM;) {
        if (same_place(&places->places.items[i], &key)) return i;
    }
    if (!spad__index_reserve(&places->index, places->host, 1)) return SIZE_MAX;
    if (!spad__array_reserve(places->host, &places->places, 1)) return SIZE_MAX;
    const size_t number = places->places.count++;
    spad__index_add(&places->index, hash, number);
    places->places.items[number] = key;
    if (key.placed && !link_neighbours(places, number)) return SIZE_MAX;
    return number;
}

/* ---- touches ----------------------------------------------------------------------- */

static void visit_one(const spad__place *place, const spad__bytes *bytes, bool writes,
                      spad__touch_visit visit, void *context) {
    for (size_t i = 0; i < place->touches.count; i++) {
        const spad__touch *touch = &place->touches.items[i];
        if (!writes && !touch->writes) continue;
        if (spad__bytes_overlap(bytes, &touch->bytes)) visit(context, touch);
    }
}

void spad__places_visit(const spad__places *places, size_t place, const spad__bytes *bytes,
                        bool writes, spad__touch_visit visit, void *context) {
    spad__assert(place < places->places.count);
    const spad__place *own = &places->places.items[place];
    visit_one(own, bytes, writes, visit, context);
    *places->steps += (int64_t)(own->touches.count + own->neighbours.count);
    for (size_t i = 0; i < own->neighbours.count; i++) {
        const spad__place *other = &places->places.items[own->neighbours.items[i]];
        visit_one(other, bytes, writes, visit, context);
        *places->steps += (int64_t)other->touches.count;
    }
}

bool spad__places_touch(spad__places *places, size_t place, const spad__touch *touch,
                        int64_t floor) {
    spad__assert(place < places->places.count && touch->row >= 0);
    spad__place *own = &places->places.items[place];
    size_t kept = 0;
    bool merged = false;
    for (size_t i = 0; i < own->touches.count; i++) {
        spad__touch *old = &own->touches.items[i];
        if (old->end <= floor) continue;
        if (old->row != touch->row && touch->writes &&
            spad__bytes_cover(&touch->bytes, &old->bytes))
            continue;
        if (!touch->writes && !old->writes && spad__bytes_equal(&touch->bytes, &old->bytes)) {
            merged = true;
            if (old->end <= touch->end) *old = *touch;
        }
        own->touches.items[kept++] = *old;
    }
    spad__assert(kept <= own->touches.count);
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
    index_all(places);
    return true;
}
