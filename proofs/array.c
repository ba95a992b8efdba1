/* SPDX-License-Identifier: Apache-2.0
 *
 * The growth of arrays for every count, capacity and number of items, with a host that gives
 * memory or does not; the sizes that the host sees are those of the array.
 */
#include "base/memory.c"
#include "proof.h"

typedef __int128 wide;

typedef struct call {
    int count;
    void *block;
    size_t old_size;
    size_t new_size;
    void *result;
} call;

static char some_memory[1];

static void *note_resize(void *context, void *block, size_t old_size, size_t new_size) {
    call *c = context;
    *c = (call){.count = c->count + 1, .block = block, .old_size = old_size, .new_size = new_size};
    c->result = nondet_bool() ? some_memory : NULL;
    return c->result;
}

int main(void) {
    const size_t item_size = ITEM_SIZE;
    const size_t count = nondet_size();
    const size_t capacity_before = nondet_size();
    const size_t extra = nondet_size();
    ASSUME(count <= capacity_before && capacity_before <= PTRDIFF_MAX / item_size);
    ASSUME(extra > capacity_before - count); /* spad__array_reserve asks for nothing else */
    call made = {0};
    const spad_host host = {.resize = note_resize, .context = &made};
    char old_items[1];
    void *items = capacity_before > 0 ? old_items : NULL;
    void *const items_before = items;
    size_t capacity = capacity_before;
    const bool grown = spad__array_grow(&host, &items, &capacity, count, extra, item_size);
    const wide needed = (wide)count + extra;
    if (grown) {
        PROVE(made.count == 1 && items == made.result && items != NULL);
        PROVE((wide)capacity >= needed);
        PROVE((wide)capacity >= (wide)capacity_before + capacity_before / 2);
        PROVE((wide)made.new_size == (wide)capacity * item_size);
        PROVE(made.new_size <= PTRDIFF_MAX);
    } else {
        PROVE(items == items_before && capacity == capacity_before);
        PROVE(made.count == 0 || made.result == NULL);
        /* nothing is refused that a host could give, up to the growth by half */
        if (made.count == 0) {
            const wide wanted = (wide)capacity_before + capacity_before / 2;
            PROVE((needed > wanted ? needed : wanted) > (wide)(PTRDIFF_MAX / item_size));
        }
    }
    if (made.count == 1) {
        PROVE(made.block == items_before);
        PROVE((wide)made.old_size == (wide)capacity_before * item_size);
    }
    return 0;
}
