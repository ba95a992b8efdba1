/* SPDX-License-Identifier: Apache-2.0
 *
 * Layouts with mbarriers over tiles against brute force. The kernels are those of two families of
 * support/random_held.c, without the places that they give: mbarriers whose lives begin and end,
 * and tiles that are used before, after, or in between. For a kernel that is right with all bytes
 * apart
 *   - the layout that was made is right, by an executor that visits every execution;
 *   - if the layout claims that none is lower, none is: every lower way to place tiles and
 * mbarriers at multiples of 8 bytes is wrong, by the same executor.
 *
 *     test_layout_barriers [KERNELS [SEED]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spad/spad.h"
#include "support/executor.h"
#include "support/random_kernel.h"
#include "support/random_text.h"
#include "support/support.h"

enum { ITEMS_MAX = 4, TILE_BYTES = 16, STEP = 8, LEAST_TO_COUNT = 40000 };

static int64_t kernels = 40000;
static uint64_t seed = 19;

/* A text in pieces: after piece i comes the place of item i, an mbarrier or a tile. */
typedef struct pattern {
    char text[RANDOM_KERNEL_TEXT];
    char *pieces[ITEMS_MAX + 1];
    int64_t bytes[ITEMS_MAX];
    int items;
} pattern;

/* Cuts a line of the declarations after its shape, and takes out the place that it has. */
static void cut_line(pattern *t, char *line, const char *end) {
    const bool barrier = strncmp(line, "mbarrier ", 9) == 0;
    const bool tile = strncmp(line, "tensor ", 7) == 0 && strstr(line, " : shared ") != NULL &&
                      strstr(line, " : shared ") < end;
    if (!barrier && !tile) return;
    assert_true(t->items < ITEMS_MAX);
    char *place = strstr(line, " at ");
    char *cut = barrier ? strchr(line, '\n') : strchr(line, ')') + 1;
    if (place != NULL && place < end) {
        char *rest = place + 4 + strspn(place + 4, "0123456789");
        memmove(place, rest, strlen(rest) + 1);
        cut = place;
    }
    /* the piece ends here: one byte for its NUL */
    memmove(cut + 1, cut, strlen(cut) + 1);
    *cut = '\0';
    t->bytes[t->items++] = barrier ? STEP : TILE_BYTES;
    t->pieces[t->items] = cut + 1;
}

static void make_pattern(pattern *t) {
    t->items = 0;
    t->pieces[0] = t->text;
    for (char *line = t->text; line != NULL && *line != '\0';) {
        const int items = t->items;
        cut_line(t, line, strchr(line, '\n'));
        if (t->items > items) line = t->pieces[t->items];
        line = strchr(line, '\n');
        if (line != NULL) line++;
    }
}

/* The kernel with its items at places, or placed by the planner. NULL: a mistake that was made in
 * the text is one that the reader finds. */
static spad_kernel *parse_pattern(const pattern *t, const int64_t *places) {
    text out = {.used = 0};
    for (int i = 0; i <= t->items; i++) {
        put(&out, "%s", t->pieces[i]);
        if (places != NULL && i < t->items) put(&out, " at %lld", (long long)places[i]);
    }
    spad_kernel *kernel = NULL;
    (void)spad_kernel_parse(&kernel, out.bytes, out.used, "k", NULL, NULL, NULL);
    return kernel;
}

static bool is_right(const spad_kernel *kernel, const spad_layout *layout, bool *decided) {
    const executor_options options = {.layout = layout};
    const executor_result result = executor_run(kernel, &options);
    *decided = result.decided && !result.unmodelled && !result.walk_failed && !result.takers;
    return result.decided && result.wrong == 0;
}

/* Is there a right way to place the items from number `i` on below a height? */
static bool has_lower(const pattern *t, int64_t *places, int i, int64_t height, bool *decided) {
    if (i == t->items) {
        spad_kernel *k = parse_pattern(t, places);
        bool sure;
        assert_non_null(k);
        const bool right = is_right(k, NULL, &sure);
        *decided = *decided && sure;
        spad_kernel_destroy(k);
        return right;
    }
    for (places[i] = 0; places[i] + t->bytes[i] < height; places[i] += STEP)
        if (has_lower(t, places, i + 1, height, decided)) return true;
    return false;
}

static bool has_barrier_over_tile(const spad_layout *layout) {
    for (size_t i = 0; i < spad_layout_buffer_count(layout); i++) {
        const spad_layout_buffer *a = spad_layout_get_buffer(layout, i);
        for (size_t k = 0; a->sync >= 0 && k < spad_layout_buffer_count(layout); k++) {
            const spad_layout_buffer *b = spad_layout_get_buffer(layout, k);
            if (b->tensor >= 0 && spad_rect_overlaps(a->rect, b->rect)) return true;
        }
    }
    return false;
}

/* Is each tile used as a whole? Of one that is not, a byte that nothing writes can be an output. */
static bool writes_all(const pattern *t) {
    return strstr(t->pieces[t->items], " x(") == NULL;
}

/* Is each item used? A layout has bytes for an mbarrier that is not, too, for a tile of a round
 * that only larger N have, and for an input from the start on, which a kernel may write before it
 * reads it. */
static bool uses_all(const pattern *t) {
    const bool odd = strstr(t->pieces[t->items], "if i % 2 == 1") != NULL;
    if (odd && strstr(t->pieces[0], "param N = 1\n") != NULL) return false;
    for (int i = 0; i < t->items; i++) {
        const char *line = strrchr(t->pieces[i], '\n') + 1;
        const char *name = strchr(line, ' ') + 1;
        char word[16];
        snprintf(word, sizeof word, " %.*s", (int)strcspn(name, " "), name);
        const bool input = strncmp(t->pieces[i + 1], " input", 6) == 0 ||
                           strncmp(t->pieces[i + 1], " persistent", 11) == 0;
        if (strstr(t->pieces[t->items], word) == NULL) return false;
        if (input && strcmp(word, " x") == 0) return false;
    }
    return true;
}

typedef struct tally {
    int right;
    int over; /* mbarriers over tiles */
    int lowest;
    int compared; /* with all lower ways */
} tally;

static void judge_layout(const pattern *t, const spad_kernel *k, tally *count) {
    spad_layout *layout;
    spad_error error;
    bool sure;
    assert_ok(spad_layout_create_checked(&layout, NULL, k, NULL, NULL, &error), &error);
    if (!is_right(k, layout, &sure) && sure) {
        for (int i = 0; i <= t->items; i++) print_message("%s", t->pieces[i]);
        fail_msg("the layout is wrong");
    }
    const spad_layout_space *row = spad_layout_get_space(layout, 0);
    count->over += has_barrier_over_tile(layout);
    const bool lowest =
        row != NULL && row->agents_ordered && row->verdict == SPAD_PLAN_OPTIMAL && uses_all(t);
    count->lowest += lowest;
    if (lowest) {
        int64_t places[ITEMS_MAX];
        bool decided = true;
        if (has_lower(t, places, 0, row->height, &decided)) {
            for (int i = 0; i < t->items; i++)
                print_message("%s at %lld", t->pieces[i], (long long)places[i]);
            print_message("%s", t->pieces[t->items]);
            fail_msg("the layout has %lld B, and this one is lower", (long long)row->height);
        }
        count->compared += decided;
    }
    spad_layout_destroy(layout);
}

static void one_kernel(uint64_t number, tally *count) {
    pattern t;
    const char *family = random_kernel_family(random_kernel(number, t.text));
    if (strcmp(family, "held") != 0 && strcmp(family, "lives") != 0) return;
    make_pattern(&t);
    if (!writes_all(&t)) return;
    spad_kernel *k = parse_pattern(&t, NULL);
    bool sure;
    if (k != NULL && is_right(k, NULL, &sure) && sure) {
        count->right++;
        judge_layout(&t, k, count);
    }
    spad_kernel_destroy(k);
}

static void layouts_are_right_and_the_lowest(void **state) {
    (void)state;
    tally count = {0};
    for (int64_t i = 0; i < kernels; i++) one_kernel(seed * 1000003 + (uint64_t)i, &count);
    print_message("%lld kernels: %d right, %d with mbarriers over tiles, %d lowest, %d compared\n",
                  (long long)kernels, count.right, count.over, count.lowest, count.compared);
    if (kernels >= LEAST_TO_COUNT) assert_true(count.over > 20 && count.compared > 20);
}

int main(int argc, char **argv) {
    if (argc > 1) kernels = atoll(argv[1]);
    if (argc > 2) seed = strtoull(argv[2], NULL, 10);
    const struct CMUnitTest tests[] = {cmocka_unit_test(layouts_are_right_and_the_lowest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
