/* SPDX-License-Identifier: Apache-2.0
 *
 * Which bytes mbarriers have, and which bytes of tiles their inits have written over.
 *
 * Bytes are marked one by one: an init marks the bytes of its object, a write clears the marks of
 * what it writes, and a read that meets a mark does not find what was written before. The marks are
 * a state that later events depend on: live_agents.c puts them into the state of a cut. O(log
 * objects) for an access that meets none.
 */
#include "check/mbarrier_storage.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/checked.h"
#include "base/compare.h"
#include "check/live_ranges.h"
#include "check/outputs.h"
#include "kernel/kernel.h"
#include "kernel/place.h"

static const char perhaps_lost[] =
    "a tile may be read whose bytes an mbarrier had, and a write in between is not certain";

/* ---- places ------------------------------------------------------------------------ */

/* Where the first element of an mbarrier is. */
static bool place_of_barrier(const spad_kernel_sync *sync, size_t number, const spad__run *run,
                             int64_t *byte) {
    const spad_layout *layout = run->options->layout;
    *byte = sync->byte.value;
    if (sync->kind != SPAD_SYNC_MBARRIER) return false;
    if (sync->placed || layout == NULL) return sync->placed;
    *byte = SPAD_NO_BYTE;
    for (size_t i = 0; i < spad_layout_buffer_count(layout); i++) {
        const spad_layout_buffer *buffer = spad_layout_get_buffer(layout, i);
        if (buffer->sync == (int64_t)number) *byte = buffer->rect.byte; /* in all instances */
    }
    return *byte != SPAD_NO_BYTE;
}

static int compare_storage(const void *left, const void *right) {
    const spad__mbarrier_bytes *a = left;
    const spad__mbarrier_bytes *b = right;
    int order = spad__compare((int64_t)a->space, (int64_t)b->space);
    if (order == 0) order = spad__compare(a->byte, b->byte);
    return order != 0 ? order : spad__compare(a->object, b->object);
}

static spad_status sort_storage(spad__mbarrier_storage *storage, spad_error *error) {
    const size_t objects = storage->events->objects.count;
    qsort(storage->items.items, storage->items.count, sizeof *storage->items.items,
          compare_storage);
    storage->of_object =
        spad__new_array(&storage->events->host, objects, sizeof *storage->of_object);
    if (storage->of_object == NULL) return spad__fail_host_memory(error);
    for (size_t i = 0; i < objects; i++) storage->of_object[i] = -1;
    for (size_t i = 0; i < storage->items.count; i++) {
        storage->of_object[storage->items.items[i].object] = (int32_t)i;
    }
    return SPAD_OK;
}

spad_status spad__mbarrier_storage_list(spad__mbarrier_storage *storage, const spad__events *events,
                                        const spad__run *run, spad_error *error) {
    const spad_kernel *kernel = events->kernel;
    *storage = (spad__mbarrier_storage){.events = events};
    size_t space;
    if (!spad__barrier_space(kernel, &space)) return SPAD_OK;
    int64_t first = 0;
    int32_t sync = -1;
    bool placed = false;
    for (size_t i = 0; i < events->objects.count; i++) {
        const spad__object *object = &events->objects.items[i];
        if (object->sync != sync) {
            sync = object->sync;
            placed = place_of_barrier(spad_kernel_get_sync(kernel, (size_t)sync), (size_t)sync, run,
                                      &first);
        }
        if (!placed) continue;
        if (!spad__array_reserve(&events->host, &storage->items, 1)) {
            return spad__fail_host_memory(error);
        }
        spad__mbarrier_bytes *item = &storage->items.items[storage->items.count++];
        *item = (spad__mbarrier_bytes){.object = (int32_t)i, .init = -1};
        spad__barrier_place(kernel, (size_t)sync, object->element, first, &item->space,
                            &item->byte);
        for (int b = 0; b < SPAD_MBARRIER_BYTES; b++) item->writers[b] = -1;
    }
    return storage->items.count > 0 ? sort_storage(storage, error) : SPAD_OK;
}

void spad__mbarrier_storage_free(spad__mbarrier_storage *storage) {
    const spad__events *events = storage->events;
    spad__free(&events->host, storage->of_object,
               events->objects.count * sizeof *storage->of_object);
    spad__array_free(&events->host, &storage->items);
}

/* ---- accesses ---------------------------------------------------------------------- */

/* Bytes [from, to) of an item, as bits. */
static uint8_t bits_between(const spad__mbarrier_bytes *item, int64_t from, int64_t to) {
    const int64_t begin = spad__max(from - item->byte, 0);
    const int64_t end = spad__min(to - item->byte, SPAD_MBARRIER_BYTES);
    spad__assert(begin < end); /* the runs that are looked at have bytes of it */
    return (uint8_t)(((1u << (end - begin)) - 1) << begin);
}

uint8_t spad__mbarrier_touched(const spad__mbarrier_bytes *item, const spad_walk_access *access) {
    const int64_t bytes = access->rect.bytes;
    uint8_t bits = 0;
    if (access->rect.lane > 0) return 0; /* mbarriers are in lane 0 */
    /* the first run that ends after the begin of the item */
    int64_t run = 0;
    if (access->runs > 1 && item->byte >= access->rect.byte + bytes) {
        run = (item->byte - access->rect.byte - bytes) / access->stride + 1;
    }
    for (; run < access->runs; run++) {
        const int64_t from = access->rect.byte + run * access->stride;
        if (from >= item->byte + SPAD_MBARRIER_BYTES) break;
        bits |= bits_between(item, from, from + bytes);
    }
    return bits;
}

size_t spad__mbarrier_range(const spad__mbarrier_storage *storage, const spad_walk_access *access,
                            size_t *first) {
    const int64_t end =
        access->rect.byte + (access->runs - 1) * access->stride + access->rect.bytes;
    size_t low = 0;
    size_t high = storage->items.count;
    *first = 0;
    if (high == 0 || !access->placed) return 0;
    const size_t space = storage->events->kernel->tensors.items[access->home].space;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const spad__mbarrier_bytes *item = &storage->items.items[middle];
        if (item->space < space ||
            (item->space == space && item->byte + SPAD_MBARRIER_BYTES <= access->rect.byte)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *first = low;
    while (low < storage->items.count && storage->items.items[low].space == space &&
           storage->items.items[low].byte < end) {
        low++;
    }
    return low;
}

/* ---- marks ------------------------------------------------------------------------- */

/* An init: bytes of its item, and of others that have some of them, which are next to it. */
static void mark_init(spad__mbarrier_storage *storage, int32_t object, int32_t event) {
    spad__mbarrier_bytes *items = storage->items.items;
    const int32_t number = storage->of_object[object];
    if (number < 0) return;
    const spad__mbarrier_bytes own = items[number];
    const int64_t to = own.byte + SPAD_MBARRIER_BYTES;
    size_t i = (size_t)number;
    while (i > 0 && items[i - 1].space == own.space &&
           items[i - 1].byte + SPAD_MBARRIER_BYTES > own.byte) {
        i--;
    }
    for (; i < storage->items.count && items[i].space == own.space && items[i].byte < to; i++) {
        const uint8_t bits = bits_between(&items[i], own.byte, to);
        items[i].lost |= bits;
        items[i].unsure &= (uint8_t)~bits;
        items[i].init = event;
    }
}

static void mark_storage_write(spad__mbarrier_bytes *item, uint8_t bits, size_t number, bool may) {
    if (may) {
        item->unsure |= item->lost & bits;
        return;
    }
    item->lost &= (uint8_t)~bits;
    item->unsure &= (uint8_t)~bits;
    for (int b = 0; b < SPAD_MBARRIER_BYTES; b++) {
        if ((bits >> b & 1) != 0) item->writers[b] = (int32_t)number;
    }
}

static spad_status find_lost_tile(const spad__mbarrier_bytes *item, spad__order *o, spad__run *run,
                                  int32_t event, const spad_walk_access *access,
                                  spad_error *error) {
    const spad__event *init = &o->events.items.items[item->init];
    const int64_t statement = event >= 0 ? o->events.items.items[event].statement : -1;
    char reader[SPAD__PHRASE_MAX] = "the end of the kernel";
    char tile[SPAD__TILE_TEXT_MAX];
    char object[SPAD__PHRASE_MAX];
    spad_finding finding;
    if (statement >= 0 && spad__count_finding(run, SPAD_FINDING_MBARRIER_BYTES, SPAD_SEVERITY_ERROR,
                                              statement, init->statement)) {
        return SPAD_OK;
    }
    if (event >= 0) spad__event_phrase(&o->events, &o->events.items.items[event], reader);
    spad__tile_text(run->kernel, access->tensor, access->tile, tile, sizeof tile);
    spad__object_phrase(&o->events, item->object, object);
    spad__finding_init(&finding, SPAD_FINDING_MBARRIER_BYTES,
                       "%s reads %s, and the init of %s has written over its bytes [%s, %s); place "
                       "the mbarrier elsewhere, or write the tile again",
                       reader, tile, object, spad__grouped(item->byte).text,
                       spad__grouped(item->byte + SPAD_MBARRIER_BYTES).text);
    spad__finding_set_names(&finding, object, NULL);
    spad__finding_add_note(&finding, "the init is here");
    const int32_t events[] = {item->init, event};
    const spad_status status = spad__add_witness(o, &finding, events, event >= 0 ? 2 : 1, error);
    if (status != SPAD_OK) return status;
    return spad__add_finding(run, &finding, statement >= 0 ? statement : init->statement,
                             statement >= 0 ? init->statement : -1, error);
}

static spad_status touch_storage(spad__mbarrier_storage *storage, spad__order *o, spad__run *run,
                                 int32_t event, size_t number, bool writes, spad_error *error) {
    const spad_walk_access *access = &storage->events->accesses.items[number];
    size_t first;
    const size_t last = spad__mbarrier_range(storage, access, &first);
    spad_status status = SPAD_OK;
    for (size_t i = first; i < last && status == SPAD_OK; i++) {
        spad__mbarrier_bytes *item = &storage->items.items[i];
        const uint8_t bits = spad__mbarrier_touched(item, access);
        if (writes) {
            mark_storage_write(item, bits, number, (access->kind & SPAD_ACCESS_MAY) != 0);
        } else if ((item->lost & bits & ~item->unsure) != 0) {
            status = find_lost_tile(item, o, run, event, access, error);
        } else if ((item->lost & bits) != 0) {
            run->gap = perhaps_lost;
        }
    }
    return status;
}

spad_status spad__mbarrier_storage_event(spad__mbarrier_storage *storage, spad__order *o,
                                         spad__run *run, int32_t number, spad_error *error) {
    const spad__event *event = &storage->events->items.items[number];
    spad_status status = SPAD_OK;
    if (storage->items.count == 0) return SPAD_OK;
    if (event->kind == SPAD_WALK_SYNC && event->object >= 0 &&
        spad_kernel_get_statement(run->kernel, (size_t)event->statement)->kind ==
            SPAD_STATEMENT_INIT) {
        mark_init(storage, event->object, number);
    }
    if (event->kind != SPAD_WALK_OPERATION) return SPAD_OK;
    for (int writes = 0; writes < 2; writes++) { /* an operation reads before it writes */
        const unsigned kind = writes ? SPAD_ACCESS_WRITE : SPAD_ACCESS_READ;
        for (size_t i = 0; i < event->access_count && status == SPAD_OK; i++) {
            const size_t access = event->first_access + i;
            if ((storage->events->accesses.items[access].kind & kind) == 0) continue;
            status = touch_storage(storage, o, run, number, access, writes != 0, error);
        }
    }
    return status;
}

/* Is what an access wrote read after the kernel, under its name or under one that only shows it? */
static bool is_result(const spad_kernel *kernel, const spad_walk_access *access) {
    for (size_t i = 0; i < kernel->tensors.count; i++) {
        const spad_kernel_tensor *tensor = &kernel->tensors.items[i];
        if ((tensor->flags & SPAD_TENSOR_OUTPUT) == 0 || tensor->home != access->home) continue;
        if ((int64_t)i == access->tensor || tensor->mode == SPAD_MODE_ALIAS) return true;
    }
    return false;
}

/* The tile of a tensor with a place that has a byte. */
static bool find_tile_at(const spad_kernel *kernel, int64_t number, int64_t byte,
                         spad_walk_access *access) {
    const spad_kernel_tensor *tensor = &kernel->tensors.items[number];
    for (int64_t tile = 0; tile < spad__min(tensor->tiles, SPAD__OUTPUT_TILES); tile++) {
        int64_t index[SPAD_RANK_MAX];
        spad_rect rect;
        spad__tile_index(tensor, tile, index);
        if (!spad__tile_place(kernel, tensor, tile, index, &rect)) return false;
        if (byte < rect.byte || byte >= rect.byte + rect.bytes) continue;
        *access = (spad_walk_access){.tensor = number, .home = number, .tile = tile};
        return true;
    }
    return false;
}

/* The input in the byte storage before the start; of several inputs the last one. */
static bool find_input(const spad_kernel *kernel, size_t space, int64_t byte,
                       spad_walk_access *access) {
    for (size_t i = kernel->tensors.count; i-- > 0;) {
        const spad_kernel_tensor *tensor = &kernel->tensors.items[i];
        if ((tensor->flags & SPAD_TENSOR_INPUT) == 0 || tensor->space != space) continue;
        if (tensor->mode != SPAD_MODE_ALIAS && find_tile_at(kernel, (int64_t)i, byte, access)) {
            return true;
        }
    }
    return false;
}

/* Is a byte that was lost one of an output, and which tile had it? */
static bool is_lost_result(const spad__mbarrier_storage *storage, const spad__mbarrier_bytes *item,
                           int b, const spad_kernel *kernel, spad_walk_access *access) {
    if ((item->lost >> b & 1) == 0) return false;
    if (item->writers[b] < 0) {
        return find_input(kernel, item->space, item->byte + b, access) && is_result(kernel, access);
    }
    *access = storage->events->accesses.items[item->writers[b]];
    return is_result(kernel, access);
}

spad_status spad__mbarrier_storage_end(const spad__mbarrier_storage *storage, spad__order *o,
                                       spad__run *run, spad_error *error) {
    for (size_t i = 0; i < storage->items.count; i++) {
        const spad__mbarrier_bytes *item = &storage->items.items[i];
        for (int b = 0; b < SPAD_MBARRIER_BYTES; b++) {
            spad_walk_access access;
            if (!is_lost_result(storage, item, b, run->kernel, &access)) continue;
            const spad_status status = find_lost_tile(item, o, run, -1, &access, error);
            if (status != SPAD_OK) return status;
            break;
        }
    }
    return SPAD_OK;
}
