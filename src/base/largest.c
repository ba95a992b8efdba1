/* SPDX-License-Identifier: Apache-2.0
 *
 * Selection with a bounded heap. Invariant while full: no item of the heap
 * comes after its parent, so items[0] is the last of the kept ones.
 */
#include "base/largest.h"

#include <string.h>

#include "base/assert.h"

static char *item_at(const spad__largest *list, size_t index) {
    return list->items + index * list->item_size;
}

static void swap(const spad__largest *list, size_t a, size_t b) {
    char held[128];
    spad__assert(list->item_size <= sizeof held && a < list->kept && b < list->kept);
    memcpy(held, item_at(list, a), list->item_size);
    memcpy(item_at(list, a), item_at(list, b), list->item_size);
    memcpy(item_at(list, b), held, list->item_size);
}

static bool comes_before(const spad__largest *list, size_t a, size_t b) {
    return list->before(list->context, item_at(list, a), item_at(list, b));
}

static void sink(const spad__largest *list, size_t count, size_t root) {
    for (;;) {
        size_t child = 2 * root + 1;
        if (child >= count) return;
        if (child + 1 < count && comes_before(list, child, child + 1)) child++;
        if (!comes_before(list, root, child)) return;
        swap(list, root, child);
        root = child;
    }
}

static void make_heap(const spad__largest *list) {
    for (size_t root = list->kept / 2; root-- > 0;) sink(list, list->kept, root);
}

void spad__largest_offer(spad__largest *list, const void *item) {
    spad__assert(list->kept <= list->capacity);
    if (list->kept < list->capacity) {
        memcpy(item_at(list, list->kept++), item, list->item_size);
        if (list->kept == list->capacity) make_heap(list);
    } else if (list->capacity > 0 && list->before(list->context, item, list->items)) {
        memcpy(list->items, item, list->item_size);
        sink(list, list->kept, 0);
    }
}

void spad__largest_finish(spad__largest *list) {
    if (list->kept < list->capacity) make_heap(list);
    for (size_t end = list->kept; end > 1; end--) {
        swap(list, 0, end - 1);
        sink(list, end - 1, 0);
    }
}
