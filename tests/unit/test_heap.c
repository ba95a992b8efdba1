/* SPDX-License-Identifier: Apache-2.0
 * The heap macro and the small orders of base, against literal readings. */
#include "support/support.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/compare.h"
#include "base/heap.h"
#include "base/interval.h"
#include "base/random.h"

enum { KEYS = 64, STEPS = 4000 };

/* Numbers 0 to KEYS - 1 by key, each with its position in the heap; -1: not there. */
typedef struct queue {
    int64_t keys[KEYS];
    int at[KEYS];
    int heap[KEYS];
    size_t count;
} queue;

static bool is_before(const queue *q, int a, int b) {
    return q->keys[a] != q->keys[b] ? q->keys[a] < q->keys[b] : a < b;
}

static void put(queue *q, int *heap, size_t at, int number) {
    heap[at] = number;
    q->at[number] = (int)at;
}

SPAD__HEAP(queue, queue *, int, is_before, put)

static void check_queue(const queue *q) {
    int first = -1;
    size_t count = 0;
    for (int i = 0; i < KEYS; i++) {
        if (q->at[i] < 0) continue;
        count++;
        assert_int_equal(q->heap[q->at[i]], i);
        if (first < 0 || is_before(q, i, first)) first = i;
    }
    assert_int_equal(q->count, count);
    if (count > 0) assert_int_equal(q->heap[0], first);
    for (size_t k = 1; k < count; k++) assert_false(is_before(q, q->heap[k], q->heap[(k - 1) / 2]));
}

static void remove_at(queue *q, size_t at) {
    q->at[q->heap[at]] = -1;
    const int last = q->heap[--q->count];
    if (at == q->count) return;
    put(q, q->heap, at, last);
    queue_up(q, q->heap, at);
    queue_down(q, q->heap, q->count, (size_t)q->at[last]);
}

static void the_first_is_on_top(void **state) {
    (void)state;
    spad__random random = {.state = 5};
    queue q = {0};
    for (int i = 0; i < KEYS; i++) q.at[i] = -1;
    for (int step = 0; step < STEPS; step++) {
        const int i = (int)spad__random_below(&random, KEYS);
        if (q.at[i] < 0) {
            q.keys[i] = spad__random_in(&random, 0, 20);
            put(&q, q.heap, q.count++, i);
            queue_up(&q, q.heap, q.count - 1);
        } else if (step % 3 == 0) { /* its key changes where it is */
            q.keys[i] = spad__random_in(&random, 0, 20);
            queue_up(&q, q.heap, (size_t)q.at[i]);
            queue_down(&q, q.heap, q.count, (size_t)q.at[i]);
        } else {
            remove_at(&q, (size_t)q.at[i]);
        }
        check_queue(&q);
    }
}

static void orders_are_total(void **state) {
    (void)state;
    assert_true(spad__compare(INT64_MIN, INT64_MAX) < 0);
    assert_true(spad__compare(INT64_MAX, INT64_MIN) > 0);
    assert_int_equal(spad__compare(3, 3), 0);
    int64_t numbers[] = {4, INT64_MAX, -1, INT64_MIN, 4};
    qsort(numbers, 5, sizeof *numbers, spad__compare_int64);
    for (int i = 1; i < 5; i++) assert_true(numbers[i - 1] <= numbers[i]);
    spad__sized sized[] = {{5, 2}, {9, 3}, {5, 1}};
    qsort(sized, 3, sizeof *sized, spad__compare_sized);
    assert_int_equal(sized[0].number, 3);
    assert_int_equal(sized[1].number, 1);
    assert_int_equal(sized[2].number, 2);
}

/* Against a map of the bytes. */
static void intervals_cover_and_leave_gaps(void **state) {
    (void)state;
    enum { BYTES = 40, MOST = 6 };
    spad__random random = {.state = 9};
    for (int round = 0; round < 2000; round++) {
        spad__interval list[MOST];
        bool taken[BYTES] = {false};
        const size_t count = (size_t)spad__random_below(&random, MOST + 1);
        for (size_t i = 0; i < count; i++) {
            list[i].begin = spad__random_in(&random, 0, BYTES - 1);
            list[i].end = spad__random_in(&random, list[i].begin, BYTES);
            for (int64_t b = list[i].begin; b < list[i].end; b++) taken[b] = true;
        }
        int64_t bytes = 0, run = 0, largest = 0;
        for (int b = 0; b < BYTES; b++) {
            bytes += taken[b];
            run = taken[b] ? 0 : run + 1;
            if (run > largest) largest = run;
        }
        int64_t at;
        assert_int_equal(spad__covered_bytes(list, count), bytes);
        assert_int_equal(spad__largest_gap(&at, list, count, 0, BYTES), largest);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_is_on_top),
        cmocka_unit_test(orders_are_total),
        cmocka_unit_test(intervals_cover_and_leave_gaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
