/* SPDX-License-Identifier: Apache-2.0
 *
 * A binary heap in an array that its user owns: item k has the items 2k + 1 and 2k + 2 below it,
 * and no item comes before the one above it, so the first comes before all others.
 *
 * The two steps that restore this after a change at one position are made for each user by a macro,
 * because the searches of the planner spend their time in them and a comparison through a pointer
 * cannot be inlined there. Adding, removing and sorting are a line or two over these steps. Both
 * are O(log count). (base/largest keeps items of any size behind a pointer and has steps of its
 * own.)
 *
 * SPAD__HEAP(name, context_type, item, before, put) defines both, SPAD__HEAP_UP and SPAD__HEAP_DOWN
 * with the same arguments one of
 *     void name_up(context_type context, item *items, size_t at)
 *         restores the heap after the item at `at` was added or came to be before others
 *     void name_down(context_type context, item *items, size_t count, size_t at)
 *         restores the heap after the item at `at` came to be after others
 * before(context, a, b): does item a come before item b? A strict order.
 * put(context, items, at, x): items[at] = x, and whatever keeps the position of x up to date;
 * SPAD__HEAP_PUT where there is nothing else to do.
 */
#ifndef SPAD_BASE_HEAP_H
#define SPAD_BASE_HEAP_H

#include <stddef.h>

#define SPAD__HEAP_PUT(context, heap, at, x) ((void)(context), (heap)[at] = (x))

#define SPAD__HEAP_UP(name, context_type, item, before, put)                             \
    static inline void name##_up(context_type context, item *items, size_t at) {         \
        const item moved = items[at];                                                    \
        for (; at > 0 && before(context, moved, items[(at - 1) / 2]); at = (at - 1) / 2) \
            put(context, items, at, items[(at - 1) / 2]);                                \
        put(context, items, at, moved);                                                  \
    }

#define SPAD__HEAP_DOWN(name, context_type, item, before, put)                                   \
    static inline void name##_down(context_type context, item *items, size_t count, size_t at) { \
        const item moved = items[at];                                                            \
        for (size_t child = 2 * at + 1; child < count; child = 2 * at + 1) {                     \
            if (child + 1 < count && before(context, items[child + 1], items[child])) child++;   \
            if (!before(context, items[child], moved)) break;                                    \
            put(context, items, at, items[child]);                                               \
            at = child;                                                                          \
        }                                                                                        \
        put(context, items, at, moved);                                                          \
    }

#define SPAD__HEAP(name, context_type, item, before, put) \
    SPAD__HEAP_UP(name, context_type, item, before, put)  \
    SPAD__HEAP_DOWN(name, context_type, item, before, put)

#endif
