/* SPDX-License-Identifier: Apache-2.0
 * Folding: a folded kernel does what the straight one does. Random loop nests are unrolled to
 * straight text and folded, and both kernels are walked side by side: the same operations in the
 * same order, on the same bytes, tiles that are told apart in one are told apart in the other, and
 * the verdicts are the same. The folded one fits if the straight one does, and needs no more. */
#include "support/kernels.h"
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/random.h"
#include "kernel/kernel.h"
#include "layout/layout.h"
#include "spad/check.h"
#include "spad/experimental/kernel_rows.h"
#include "spad/experimental/walk.h"
#include "spad/layout.h"

/* ---- two walks side by side -------------------------------------------------------- */

enum { NAMES_MAX = 1 << 16 };

typedef struct name_pair {
    int64_t old_tensor, old_tile, new_tensor, new_tile;
} name_pair;

typedef struct comparison {
    const spad_kernel *straight;
    const spad_kernel *folded;
    name_pair *pairs; /* tiles that were seen */
    size_t count;
    name_pair *slots; /* storages */
    size_t slot_count;
} comparison;

/* One to one: neither side was paired with anything else. */
static void pair_up(name_pair *pairs, size_t *count, name_pair pair) {
    for (size_t i = 0; i < *count; i++) {
        const bool old =
            pairs[i].old_tensor == pair.old_tensor && pairs[i].old_tile == pair.old_tile;
        const bool new =
            pairs[i].new_tensor == pair.new_tensor &&pairs[i].new_tile == pair.new_tile;
        assert_true(old == new);
        if (old) return;
    }
    assert_true(*count < NAMES_MAX);
    pairs[(*count)++] = pair;
}

static const spad_walk_event *next_operation(spad_walk *walk) {
    const spad_walk_event *event;
    spad_error error;
    do {
        assert_ok(spad_walk_next(&event, walk, &error), &error);
    } while (event->kind != SPAD_WALK_OPERATION && event->kind != SPAD_WALK_END);
    return event;
}

static void compare_access(comparison *c, const spad_walk_access *a, const spad_walk_access *b) {
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->placed, b->placed);
    assert_memory_equal(&a->rect, &b->rect, sizeof a->rect);
    assert_memory_equal(&a->tile_rect, &b->tile_rect, sizeof a->tile_rect);
    assert_int_equal(a->runs, b->runs);
    assert_int_equal(a->stride, b->stride);
    assert_int_equal(a->moved, b->moved);
    pair_up(c->pairs, &c->count, (name_pair){a->tensor, a->tile, b->tensor, b->tile});
    if (!a->placed) {
        pair_up(c->slots, &c->slot_count, (name_pair){a->home, a->slot, b->home, b->slot});
    }
}

static void compare_operation(comparison *c, const spad_walk_event *a, const spad_walk_event *b) {
    const spad_statement *s = spad_kernel_get_statement(c->straight, (size_t)a->statement);
    const spad_statement *t = spad_kernel_get_statement(c->folded, (size_t)b->statement);
    assert_string_equal(s->name, t->name);
    assert_int_equal(s->engine, t->engine);
    assert_int_equal(s->source, t->source);
    assert_int_equal(s->cost_kind, t->cost_kind);
    assert_int_equal(a->cost, b->cost);
    assert_int_equal(a->access_count, b->access_count);
    for (size_t i = 0; i < a->access_count; i++) {
        compare_access(c, &a->accesses[i], &b->accesses[i]);
    }
}

static void compare_walks(const spad_kernel *straight, const spad_kernel *folded) {
    comparison c = {.straight = straight, .folded = folded};
    c.pairs = malloc(NAMES_MAX * sizeof *c.pairs);
    c.slots = malloc(NAMES_MAX * sizeof *c.slots);
    assert_true(c.pairs != NULL && c.slots != NULL);
    spad_walk *one;
    spad_walk *two;
    spad_error error;
    assert_ok(spad_walk_create(&one, straight, NULL, &error), &error);
    assert_ok(spad_walk_create(&two, folded, NULL, &error), &error);
    for (;;) {
        const spad_walk_event *a = next_operation(one);
        const spad_walk_event *b = next_operation(two);
        assert_int_equal(a->kind, b->kind);
        if (a->kind == SPAD_WALK_END) break;
        compare_operation(&c, a, b);
    }
    spad_walk_destroy(one);
    spad_walk_destroy(two);
    free(c.pairs);
    free(c.slots);
}

static spad_verdict verdict_of(const spad_kernel *kernel, int64_t *errors) {
    spad_check *check;
    spad_error error;
    const spad_check_options options = {.no_advice = true};
    assert_ok(spad_check_create(&check, kernel, &options, &error), &error);
    const spad_verdict verdict = spad_check_get_verdict(check);
    *errors = spad_check_get_counts(check).errors;
    spad_check_destroy(check);
    return verdict;
}

/* The load that folding asks for first: no layout is lower. */
static void compare_loads(const spad_kernel *kernel, const spad_layout *layout) {
    const spad_host host = spad__host_or_default(NULL);
    int64_t loads[SPAD_SPACES_MAX];
    spad_error error;
    assert_ok(spad__layout_loads(loads, kernel, &host, &error), &error);
    for (size_t i = 0; i < spad_layout_space_count(layout); i++) {
        const spad_layout_space *space = spad_layout_get_space(layout, i);
        assert_true(loads[space->space] <= space->height);
        if (space->planned_count > 0) assert_true(loads[space->space] > 0);
    }
}

/* Where the planner places something, the folded kernel takes no more bytes. Addresses of the
 * kernel are the same, but a loop needs all of them, so a live peak has more of them. */
static void compare_needs(const spad_kernel *straight, const spad_kernel *folded) {
    spad_layout *one;
    spad_layout *two;
    spad_error error;
    const spad_layout_options options = {.timeout_ns = INT64_MAX / 4, .node_limit = 2000};
    assert_ok(spad_layout_create(&one, straight, &options, &error), &error);
    assert_ok(spad_layout_create(&two, folded, &options, &error), &error);
    assert_int_equal(spad_layout_fits(one), spad_layout_fits(two));
    assert_int_equal(spad_layout_space_count(one), spad_layout_space_count(two));
    for (size_t i = 0; i < spad_layout_space_count(one); i++) {
        const spad_layout_space *a = spad_layout_get_space(one, i);
        const spad_layout_space *b = spad_layout_get_space(two, i);
        assert_int_equal(a->space, b->space);
        if (a->planned_count > 0) assert_true(b->height <= a->height);
        if (a->planned_count == a->buffer_count) assert_true(b->peak_bytes <= a->peak_bytes);
    }
    compare_loads(straight, one);
    compare_loads(folded, two);
    spad_layout_destroy(one);
    spad_layout_destroy(two);
}

/* A folded kernel is the one that is read from its text: the same rows at the same places. */
static void compare_text(const spad_kernel *folded) {
    test_text text;
    spad_error error;
    test_text_init(&text);
    assert_ok(spad_kernel_write_text(folded, &text.sink, &error), &error);
    spad_kernel *again = test_parse(text.bytes);
    assert_true(folded->content == again->content);
    spad_kernel_destroy(again);
    test_text_free(&text);
}

/* The folded kernel, or NULL; both are compared. */
static spad_kernel *fold_and_compare(const spad_kernel *straight) {
    spad_kernel *folded;
    spad_error error;
    int64_t errors;
    assert_ok(spad_kernel_fold(&folded, straight, NULL, &error), &error);
    if (folded == NULL) return NULL;
    compare_walks(straight, folded);
    compare_needs(straight, folded);
    compare_text(folded);
    const bool wrong = verdict_of(straight, &errors) == SPAD_VERDICT_WRONG;
    assert_int_equal(verdict_of(folded, &errors) == SPAD_VERDICT_WRONG, wrong);
    return folded;
}

/* ---- random nests ------------------------------------------------------------------ */

enum { TEXT_MAX = 1 << 20, DEPTH_MAX = 3, SLOTS = 8 };

typedef struct writer {
    spad__random random;
    char *text;
    size_t used;
    int statements;
    int tensors;
    int64_t loops[DEPTH_MAX];
    int depth;
    bool planned; /* no tensor has an address */
} writer;

static int64_t below(writer *w, int64_t bound) {
    return (int64_t)spad__random_below(&w->random, (uint64_t)bound);
}

/* A nest as a tree of decisions that are the same in every round: a body is written again from the
 * same state of the random numbers. */
static void put_line(writer *w, const char *format, ...) SPAD_PRINTF(2, 3);
static void put_line(writer *w, const char *format, ...) {
    va_list list;
    va_start(list, format);
    w->used += (size_t)vsnprintf(w->text + w->used, TEXT_MAX - w->used, format, list);
    va_end(list);
    assert_true(w->used < TEXT_MAX - 1024);
    w->statements++;
}

/* c + a i + b j + ..., or one of them modulo something. */
static int64_t moving_number(writer *w, int64_t bound) {
    int64_t value = below(w, 4);
    for (int d = 0; d < w->depth; d++) value += below(w, 3) * w->loops[d];
    if (below(w, 5) == 0) value += below(w, 7) * (w->loops[0] % 2);
    return value % bound;
}

static void put_statement(writer *w, int source) {
    static const char *const words[] = {"reads", "writes", "updates", "may reads", "may writes"};
    const int64_t kind = below(w, 5);
    const int64_t place = below(w, 4);
    char name[32];
    if (place == 0) { /* a tensor of its own for each round, anywhere */
        snprintf(name, sizeof name, "t%d", w->tensors++);
        const bool large = below(w, 2) == 0; /* four of them fit */
        const bool carried = below(w, 3) == 0 && w->tensors > 1;
        put_line(w, "tensor %s : %s from %d\n", name,
                 large ? "sbuf f32 (32, 12000)" : "sbuf f32 (32, 16)", source);
        if (large) put_line(w, "vector clear writes %s from %d\n", name, source);
        if (carried) put_line(w, "vector look reads t%d from %d\n", w->tensors - 2, source);
    } else if (place == 1) { /* at an address that moves, or comes by turns */
        const int64_t turns = 1 + below(w, 3);
        const int64_t stride = below(w, 2) == 0 ? 64 : 96;
        int64_t at = 4096 + moving_number(w, 1000) % turns * stride;
        if (w->depth > 1 && below(w, 2) == 0) { /* rows of places, by turns */
            at = 4096 + w->loops[0] % 2 * 1024 + w->loops[w->depth - 1] * stride;
        }
        snprintf(name, sizeof name, "t%d", w->tensors++);
        char place_text[32] = "";
        if (!w->planned) snprintf(place_text, sizeof place_text, " at %lld", (long long)at);
        put_line(w, "tensor %s : sbuf f32 (32, 16)%s from %d\n", name, place_text, source);
        if (below(w, 3) == 0) {
            put_line(w, "tensor v%s : sbuf u16 (32, 32) alias of %s from %d\n", name, name, source);
            put_line(w, "tensor r%s : sbuf u16 (32, 32) alias of %s from %d\n", name, name, source);
            put_line(w, "vector clear writes v%s from %d\n", name, source);
            put_line(w, "vector look reads r%s(.., 0..32 by 2) from %d\n", name, source);
        }
    } else {
        snprintf(name, sizeof name, "%s", place == 2 ? "big" : "out");
    }
    put_line(w, "%s op%lld %s %s", kind < 2 ? "dma" : "vector", (long long)below(w, 2), words[kind],
             place == 3 ? "big" : name);
    if (below(w, 2) == 0) {
        const int64_t from = moving_number(w, 8);
        put_line(w, "(.., %lld..%lld)", (long long)from, (long long)(from + 1 + below(w, 4)));
    }
    if (kind > 2) put_line(w, " moves %lld", (long long)moving_number(w, 100));
    if (below(w, 4) == 0) put_line(w, " cost %lld ns", (long long)(10 + moving_number(w, 50)));
    put_line(w, " from %d\n", source);
}

static void put_nest(writer *w, int source, uint64_t seed);

static void put_body(writer *w, int source, uint64_t seed) {
    w->random = (spad__random){seed};
    const int64_t count = 1 + below(w, 3);
    for (int64_t i = 0; i < count; i++) {
        const uint64_t own = seed * 31 + (uint64_t)i * 7 + 1;
        w->random = (spad__random){own};
        if (w->depth < DEPTH_MAX && below(w, 3) == 0) {
            put_nest(w, source % 20, own + 5);
        } else {
            put_statement(w, (source + (int)i * 3) % 20);
        }
    }
}

static void put_nest(writer *w, int source, uint64_t seed) {
    w->random = (spad__random){seed};
    int64_t rounds = 1 + below(w, 6);
    if (w->depth > 0 && below(w, 3) == 0) { /* a triangle */
        rounds = w->loops[w->depth - 1] + (seed % 3 != 0);
    } else if (w->depth > 0 && below(w, 4) == 0) { /* what is left of rows */
        rounds = (w->loops[w->depth - 1] + (int64_t)(seed % 2)) % 4;
    }
    for (int64_t i = 0; i < rounds && w->statements < 1500; i++) {
        w->loops[w->depth++] = i;
        put_body(w, source + 1, seed + 11);
        w->depth--;
    }
}

static const char *random_text(writer *w, uint64_t seed) {
    w->used = 0;
    w->statements = w->tensors = w->depth = 0;
    put_line(w, "kernel k on trn2\n");
    for (int i = 0; i < 20; i++) put_line(w, "source %d \"a.py\" %d\n", i, i + 1);
    w->planned = seed % 2 == 0;
    put_line(w, "tensor big : sbuf f32 (32, 16)%s input from 0\n", w->planned ? "" : " at 0");
    for (uint64_t i = 0; i < 3; i++) put_nest(w, (int)i * 5, seed * 101 + i * 13);
    return w->text;
}

static void random_nests_are_folded_exactly(void **state) {
    (void)state;
    writer w = {.text = malloc(TEXT_MAX)};
    assert_non_null(w.text);
    size_t folded_ones = 0;
    size_t before = 0;
    size_t after = 0;
    for (uint64_t seed = 1; seed <= 450; seed++) {
        spad_kernel *straight = test_parse(random_text(&w, seed));
        spad_kernel *folded = fold_and_compare(straight);
        if (folded != NULL) {
            folded_ones++;
            before += spad_kernel_statement_count(straight);
            after += spad_kernel_statement_count(folded);
        }
        spad_kernel_destroy(folded);
        spad_kernel_destroy(straight);
    }
    assert_true(folded_ones > 225);
    assert_true(after < before);
    free(w.text);
}

/* ---- what becomes of some ---------------------------------------------------------- */

static void folds_to(const char *text, const char *expected) {
    spad_kernel *straight = test_parse(text);
    spad_kernel *folded = fold_and_compare(straight);
    assert_true((folded == NULL) == (expected == NULL));
    if (folded != NULL) {
        test_text found;
        spad_error error;
        test_text_init(&found);
        assert_ok(spad_kernel_write_text(folded, &found.sink, &error), &error);
        assert_string_equal(found.bytes, expected);
        test_text_free(&found);
    }
    spad_kernel_destroy(folded);
    spad_kernel_destroy(straight);
}

#define START                                  \
    "kernel k on trn2\n"                       \
    "source 0 \"a.py\" 3\n"                    \
    "tensor x : hbm float32 (512, 64) input\n" \
    "tensor y : hbm float32 (512, 64) output\n"

static void rings_and_rows(void **state) {
    (void)state;
    char text[4096] = START;
    for (int i = 0; i < 4; i++) {
        char row[512];
        snprintf(row, sizeof row,
                 "tensor t%d : sbuf float32 (128, 64) at %d from 0\n"
                 "dma load reads x(%d..%d, ..) writes t%d from 0\n"
                 "dma store reads t%d writes y(%d..%d, ..) from 0\n",
                 i, i % 2 * 256, i * 128, i * 128 + 128, i, i, i * 128, i * 128 + 128);
        strncat(text, row, sizeof text - strlen(text) - 1);
    }
    folds_to(text, START "tensor t0 : sbuf float32 [4] (128, 64) at 0 ring 2 from 0\n"
                         "for i in 0..4 {\n"
                         "    dma load reads x(128 * i..128 + 128 * i, ..) writes t0[i] from 0\n"
                         "    dma store reads t0[i] writes y(128 * i..128 + 128 * i, ..) from 0\n"
                         "}\n");
}

/* Rounds that become longer, numbers that fall, a name that a loop cannot have. */
static void triangles_and_falling_numbers(void **state) {
    (void)state;
    char text[8192] = START "tensor i : sbuf float32 (128, 64) at 0 input\n";
    for (int i = 0; i < 4; i++) {
        char row[256];
        snprintf(row, sizeof row, "vector a reads i(.., %d..%d) from 0\n", 9 - i, 12 + i);
        strncat(text, row, sizeof text - strlen(text) - 1);
        for (int j = 0; j < i + 3; j++) {
            snprintf(row, sizeof row, "vector b reads i(.., %d) cost %d ns from 0\n", i * 5 + j,
                     20 - j);
            strncat(text, row, sizeof text - strlen(text) - 1);
        }
    }
    folds_to(text, START "tensor i : sbuf float32 (128, 64) at 0 input\n"
                         "for i_ in 0..4 {\n"
                         "    vector a reads i(.., 9 - i_..12 + i_) from 0\n"
                         "    for j in 0..3 + i_ {\n"
                         "        vector b reads i(.., 5 * i_ + j) cost 20 - j ns from 0\n"
                         "    }\n"
                         "}\n");
}

/* `rows` rounds of a loop around one of first, first + step, ... rounds, unrolled; the columns that
 * these read are `apart`. */
static void unroll_triangle(char *text, size_t size, int rows, int first, int step, int apart) {
    for (int i = 0; i < rows; i++) {
        char row[256];
        snprintf(row, sizeof row, "vector a writes t(.., %d) from 0\n", i);
        strncat(text, row, size - strlen(text) - 1);
        for (int j = 0; j < first + step * i; j++) {
            snprintf(row, sizeof row,
                     "tensor b reads u(.., %d) updates t(.., %d) from 0\n"
                     "vector c reads u(.., %d) from 0\n",
                     apart * j, i, apart * j);
            strncat(text, row, size - strlen(text) - 1);
        }
    }
}

#define TRIANGLE_TENSORS                                           \
    START "tensor t : psum float32 (128, 64) at 0 output from 0\n" \
          "tensor u : sbuf float32 (128, 64) at 0 input from 0\n"

#define TRIANGLE(ROUNDS)                                                         \
    TRIANGLE_TENSORS "for i in 0..6 {\n"                                         \
                     "    vector a writes t(.., i) from 0\n"                     \
                     "    for j in 0.." ROUNDS " {\n"                            \
                     "        tensor b reads u(.., j) updates t(.., i) from 0\n" \
                     "        vector c reads u(.., j) from 0\n"                  \
                     "    }\n"                                                   \
                     "}\n"

#define THREE_ROUNDS(ROUNDS)                                                     \
    TRIANGLE_TENSORS "vector a writes t(.., 0) from 0\n"                         \
                     "for i in 0..5 {\n"                                         \
                     "    tensor b reads u(.., i) updates t(.., 0) from 0\n"     \
                     "    vector c reads u(.., i) from 0\n"                      \
                     "}\n"                                                       \
                     "vector d writes t(.., 9) from 0\n"                         \
                     "for i in 0..3 {\n"                                         \
                     "    vector a writes t(.., i) from 0\n"                     \
                     "    for j in 0.." ROUNDS " {\n"                            \
                     "        tensor b reads u(.., j) updates t(.., i) from 0\n" \
                     "        vector c reads u(.., j) from 0\n"                  \
                     "    }\n"                                                   \
                     "}\n"                                                       \
                     "vector d writes t(.., 9) from 0\n"

/* The first rounds, or the last ones, have one or two rounds of the loop inside, or none. */
static void whole_triangles(void **state) {
    (void)state;
    static const struct {
        int first;
        int step;
        const char *expected;
    } rows[] = {{1, 1, TRIANGLE("1 + i")},
                {0, 1, TRIANGLE("i")},
                {6, -1, TRIANGLE("6 - i")},
                {2, 2, TRIANGLE("2 + 2 * i")}};
    for (size_t n = 0; n < sizeof rows / sizeof rows[0]; n++) {
        char text[16384] = TRIANGLE_TENSORS;
        unroll_triangle(text, sizeof text, 6, rows[n].first, rows[n].step, 1);
        folds_to(text, rows[n].expected);
    }
}

/* Rows of four, and after them one to four more: the last row is as long as the others, and its
 * loop could be one round more of them. */
static void tails_as_long_as_rows(void **state) {
    (void)state;
    char text[16384] = TRIANGLE_TENSORS;
    for (int i = 0; i < 4; i++) {
        char row[256];
        snprintf(row, sizeof row, "vector a writes t(.., %d) from 0\n", i);
        strncat(text, row, sizeof text - strlen(text) - 1);
        for (int j = 0; j < 12 + i + 1; j++) {
            snprintf(row, sizeof row, "tensor b reads u(.., %d) updates t(.., %d) from 0\n",
                     j / 4 * 8 + j % 4, i);
            strncat(text, row, sizeof text - strlen(text) - 1);
        }
        snprintf(row, sizeof row, "vector c reads t(.., %d) from 0\n", i);
        strncat(text, row, sizeof text - strlen(text) - 1);
    }
    folds_to(text, TRIANGLE_TENSORS
             "for i in 0..4 {\n"
             "    vector a writes t(.., i) from 0\n"
             "    for j in 0..3 {\n"
             "        for k in 0..4 {\n"
             "            tensor b reads u(.., 8 * j + k) updates t(.., i) from 0\n"
             "        }\n"
             "    }\n"
             "    for j in 0..1 + i {\n"
             "        tensor b reads u(.., 24 + j) updates t(.., i) from 0\n"
             "    }\n"
             "    vector c reads t(.., i) from 0\n"
             "}\n");
}

/* Three rounds of which only two have the loop inside, which is known from elsewhere. */
static void one_round_of_three_without_the_loop_inside(void **state) {
    (void)state;
    for (int falls = 0; falls < 2; falls++) {
        char text[16384] = TRIANGLE_TENSORS;
        unroll_triangle(text, sizeof text, 1, 5, 0, 1);
        strncat(text, "vector d writes t(.., 9) from 0\n", sizeof text - strlen(text) - 1);
        unroll_triangle(text, sizeof text, 3, falls ? 2 : 0, falls ? -1 : 1, 1);
        strncat(text, "vector d writes t(.., 9) from 0\n", sizeof text - strlen(text) - 1);
        folds_to(text, falls ? THREE_ROUNDS("2 - i") : THREE_ROUNDS("i"));
    }
}

/* A third round whose numbers would be too large, or negative, is no round. */
static void rounds_that_no_number_has(void **state) {
    (void)state;
    folds_to(TRIANGLE_TENSORS "vector a reads u(.., 1) cost 1 ns from 0\n"
                              "vector a reads u(.., 1) cost 4611686018427387905 ns from 0\n"
                              "vector a reads u(.., 1) cost 2 ns from 0\n",
             NULL);
    folds_to(TRIANGLE_TENSORS "vector a reads u(.., 5) from 0\n"
                              "vector a reads u(.., 2) from 0\n"
                              "vector a reads u(.., 0) from 0\n",
             NULL);
}

/* Loops of the same shape whose numbers move by other steps are others. */
static void steps_of_their_own(void **state) {
    (void)state;
    char text[16384] = TRIANGLE_TENSORS;
    for (int i = 0; i < 5; i++) {
        const int step = i == 3 ? 2 : 1;
        for (int j = 0; j < 4; j++) {
            char row[128];
            snprintf(row, sizeof row, "vector b reads u(.., %d) from 0\n", 10 * i + step * j);
            strncat(text, row, sizeof text - strlen(text) - 1);
        }
    }
    folds_to(text, TRIANGLE_TENSORS "for i in 0..3 {\n"
                                    "    for j in 0..4 {\n"
                                    "        vector b reads u(.., 10 * i + j) from 0\n"
                                    "    }\n"
                                    "}\n"
                                    "for i in 0..4 {\n"
                                    "    vector b reads u(.., 30 + 2 * i) from 0\n"
                                    "}\n"
                                    "for i in 0..4 {\n"
                                    "    vector b reads u(.., 40 + i) from 0\n"
                                    "}\n");
}

/* Triangles of the same statements that go through columns by other steps: what comes next decides
 * which loop a first round is of. */
static void triangles_with_other_steps(void **state) {
    (void)state;
    char text[16384] = TRIANGLE_TENSORS;
    unroll_triangle(text, sizeof text, 6, 1, 1, 1);
    unroll_triangle(text, sizeof text, 6, 1, 1, 2);
    unroll_triangle(text, sizeof text, 6, 1, 1, 1);
    spad_kernel *straight = test_parse(text);
    spad_kernel *folded = fold_and_compare(straight);
    assert_non_null(folded);
    assert_int_equal(spad_kernel_loop_count(folded), 6);
    assert_true(spad_kernel_statement_count(folded) < 40);
    spad_kernel_destroy(folded);
    spad_kernel_destroy(straight);
}

/* Ten banks at a time do not fit, and one after the other they do: such rounds stay straight, and
 * those with addresses become a loop all the same. */
static void what_needs_more_stays(void **state) {
    (void)state;
    char text[16384] = START;
    char banks[8192] = "";
    for (int i = 0; i < 10; i++) {
        char row[512];
        snprintf(row, sizeof row,
                 "tensor p%d : psum float32 (128, 512) from 0\n"
                 "tensor v%d : psum uint32 (128, 512) alias of p%d from 0\n"
                 "vector clear writes p%d from 0\n"
                 "vector look reads v%d(.., %d) from 0\n",
                 i, i, i, i, i, i);
        strncat(banks, row, sizeof banks - strlen(banks) - 1);
    }
    strncat(text, banks, sizeof text - strlen(text) - 1);
    folds_to(text, NULL);
    for (int i = 0; i < 3; i++) {
        char row[256];
        snprintf(row, sizeof row,
                 "tensor q%d : sbuf float32 (128, 64) at %d from 0\nvector a writes q%d from 0\n",
                 i, 256 * i, i);
        strncat(text, row, sizeof text - strlen(text) - 1);
    }
    spad_kernel *straight = test_parse(text);
    spad_kernel *folded = fold_and_compare(straight);
    assert_non_null(folded);
    assert_int_equal(spad_kernel_loop_count(folded), 1);
    spad_kernel_destroy(folded);
    spad_kernel_destroy(straight);
}

/* Two rounds are no loop; neither are numbers that do not move evenly, nor other sources. */
static void what_does_not_repeat_stays(void **state) {
    (void)state;
    folds_to(START "dma a reads x from 0\ndma a reads x from 0\n", NULL);
    folds_to(START "dma a reads x(0..1, ..) from 0\ndma a reads x(1..2, ..) from 0\n"
                   "dma a reads x(4..5, ..) from 0\n",
             NULL);
    folds_to("kernel k on trn2\n", NULL);
    folds_to("kernel k on trn2\nparam N = 3\ntensor x : hbm float32 (4) input\n"
             "for i in 0..N { dma a reads x }\n",
             NULL);
    folds_to("kernel k on trn2\nunit q on dma free\ntensor x : hbm float32 (4) input\n"
             "q a reads x\nq a reads x\nq a reads x\n",
             NULL);
    folds_to("kernel k on trn2\ntensor x : hbm float32 [3] (4) input\nfence\n"
             "dma a reads x[0]\ndma a reads x[1]\ndma a reads x[2]\n",
             NULL);
}

/* Banks by turns, addresses without a form: the body has as many copies as there are addresses. */
static void places_by_turns(void **state) {
    (void)state;
    char text[8192] = START;
    char irregular[8192] = START;
    for (int i = 0; i < 9; i++) {
        char row[256];
        snprintf(row, sizeof row,
                 "tensor p%d : psum float32 (128, 64) at %d from 0\nvector a writes p%d from 0\n",
                 i, 64 + i % 3 * 2048, i);
        strncat(text, row, sizeof text - strlen(text) - 1);
        static const int places[] = {0, 4096, 256};
        snprintf(row, sizeof row,
                 "tensor q%d : sbuf float32 (128, 64) at %d from 0\nvector a writes q%d from 0\n",
                 i, places[i % 3], i);
        strncat(irregular, row, sizeof irregular - strlen(irregular) - 1);
    }
    folds_to(text, START "tensor p0 : psum float32 [9] (128, 64) at 64 ring 3 step 2048 from 0\n"
                         "for i in 0..9 {\n"
                         "    vector a writes p0[i] from 0\n"
                         "}\n");
    folds_to(irregular, START "tensor q0 : sbuf float32 [3] (128, 64) at 0 ring 1 from 0\n"
                              "tensor q1 : sbuf float32 [3] (128, 64) at 4096 ring 1 from 0\n"
                              "tensor q2 : sbuf float32 [3] (128, 64) at 256 ring 1 from 0\n"
                              "for i in 0..3 {\n"
                              "    vector a writes q0[i] from 0\n"
                              "    vector a writes q1[i] from 0\n"
                              "    vector a writes q2[i] from 0\n"
                              "}\n");
}

/* Three rounds of lines in which every %d is the number of the round. */
static void three_rounds(char *text, size_t size, const char *line) {
    for (int i = 0; i < 3; i++) {
        size_t used = strlen(text);
        for (const char *at = line; *at != '\0'; at++) {
            const bool number = at[0] == '%' && at[1] == 'd';
            used += (size_t)snprintf(text + used, size - used, number ? "%d" : "%c",
                                     number ? i : (int)*at);
            if (number) at++;
            assert_true(used < size);
        }
    }
}

static void rounds_fold_to(const char *head, const char *line, const char *expected) {
    char text[8192];
    snprintf(text, sizeof text, "%s%s", START, head);
    three_rounds(text, sizeof text, line);
    folds_to(text, expected);
}

/* Tensors of one source are one family only if they are equal: by name, mode and alignment. */
static void tensors_that_differ(void **state) {
    (void)state;
    rounds_fold_to(
        "", "tensor row_%d : sbuf float32 (128, 4) at 0 from 0\nvector a writes row_%d from 0\n",
        START "tensor row_0 : sbuf float32 [3] (128, 4) at 0 ring 1 from 0\n"
              "for i in 0..3 {\n    vector a writes row_0[i] from 0\n}\n");
    static const char *const others[] = {/* after two rounds of the first kind */
                                         "tensor c0 : sbuf float32 (128, 4) at 0",
                                         "tensor row2 : sbuf float32 (128, 4)",
                                         "tensor row2 : sbuf float32 (128, 4) at 0 align 64",
                                         "tensor row2 : sbuf float32 (128, 5) at 0",
                                         "tensor row2 : sbuf int32 (128, 4) at 0",
                                         "tensor row2 : sbuf float32 (64, 4) at 0",
                                         "tensor row2 : sbuf float32 (128, 4) at 0 lane 0 output"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char text[2048];
        snprintf(text, sizeof text,
                 "%stensor row0 : sbuf float32 (128, 4) at 0 from 0\nvector a writes row0 from 0\n"
                 "tensor row1 : sbuf float32 (128, 4) at 0 from 0\nvector a writes row1 from 0\n"
                 "%s from 0\nvector a writes %s from 0\n",
                 START, others[i], i == 0 ? "c0" : "row2");
        folds_to(text, NULL);
    }
}

/* Two equal names of each tensor are two families; names that the caller knows stay. */
static void aliases_of_families(void **state) {
    (void)state;
    char text[4096] = START;
    for (int i = 0; i < 3; i++) {
        char row[512];
        snprintf(
            row, sizeof row,
            "tensor t%d : sbuf float32 (128, 4) at %d from 0\n"
            "tensor v%d : sbuf int32 (128, 4) alias of t%d from 0\n"
            "tensor v%d : sbuf int32 (128, 4) alias of t%d from 0\n"
            "vector a writes t%d from 0\nvector b reads v%d from 0\nvector b reads v%d from 0\n",
            i, 16 * i, 2 * i, i, 2 * i + 1, i, i, 2 * i, 2 * i + 1);
        strncat(text, row, sizeof text - strlen(text) - 1);
    }
    folds_to(text, START "tensor t0 : sbuf float32 [3] (128, 4) at 0 from 0\n"
                         "tensor v0 : sbuf int32 [3] (128, 4) alias of t0 from 0\n"
                         "tensor v1 : sbuf int32 [3] (128, 4) alias of t0 from 0\n"
                         "for i in 0..3 {\n    vector a writes t0[i] from 0\n"
                         "    vector b reads v0[i] from 0\n    vector b reads v1[i] from 0\n}\n");
    /* an output, tiles, and an alias of an alias */
#define OF_ALIAS                                             \
    "tensor u%d : sbuf int32 (128, 4) alias of t%d from 0\n" \
    "tensor v%d : sbuf int16 (128, 8) alias of u%d from 0\n" \
    "vector c reads v%d from 0\n"
    static const char *const kept[] = {
        "tensor v%d : sbuf int32 (128, 4) alias of t%d output from 0\n",
        "tensor v%d : sbuf int32 [2] (128, 2) alias of t%d from 0\n", OF_ALIAS};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        char line[512];
        snprintf(line, sizeof line,
                 "tensor t%%d : sbuf float32 (128, 4) at 0 from 0\n%svector a writes t%%d from 0\n",
                 kept[i]);
        rounds_fold_to("", line, NULL);
    }
}

/* Statements that no trace has, and tensors whose places are not a plain address. */
static void kernels_that_no_trace_gives(void **state) {
    (void)state;
#define MOD_TILES                                                       \
    "tensor m%d : sbuf float32 [1] (128, 4) mod base 0 free 1 from 0\n" \
    "vector a writes m%d[0] from 0\n"
    static const char *const lines[] = {"vector a writes s latency 5 ns from 0\n",
                                        "vector a writes s work 3 fma from 0\n", MOD_TILES,
                                        "alloc s\nvector a writes s from 0\nfree s\n"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        rounds_fold_to("tensor s : sbuf float32 (128, 4)\n", lines[i], NULL);
    }
    /* tensors with tiles of their own: nothing is known of their indices */
    rounds_fold_to("tensor s : sbuf float32 [3] (128, 4)\n", "vector a writes s[%d] from 0\n",
                   NULL);
    rounds_fold_to("tensor s : sbuf float32 [2] (128, 4) at 0 step 64\n",
                   "vector a writes s[0] from 0\nvector b reads s[0](.., %d) from 0\n", NULL);
    /* banks are no addresses */
    rounds_fold_to("",
                   "tensor p%d : psum float32 (128, 4) at 0 bank 2 from 0\n"
                   "vector a writes p%d from 0\n",
                   NULL);
}

/* Addresses in rows of rows: four levels have a form, five have not. */
static void rows_of_rows(void **state) {
    (void)state;
    for (int levels = 4; levels <= 5; levels++) {
        char text[32768] = START;
        const int count = levels == 4 ? 81 : 243;
        for (int i = 0; i < count; i++) {
            char row[256];
            int place = 0;
            for (int b = 0, rest = i; b < levels; b++, rest /= 3) place += rest % 3 << (4 + 2 * b);
            snprintf(
                row, sizeof row,
                "tensor t%d : sbuf float32 (128, 2) at %d from 0\nvector a writes t%d from 0\n", i,
                place, i);
            strncat(text, row, sizeof text - strlen(text) - 1);
        }
        spad_kernel *straight = test_parse(text);
        spad_kernel *folded = fold_and_compare(straight);
        assert_true((folded != NULL) == (levels == 4));
        if (folded != NULL) assert_int_equal(spad_kernel_tensor_count(folded), 3);
        spad_kernel_destroy(folded);
        spad_kernel_destroy(straight);
    }
}

/* A long straight program of a few lines takes few statements, and the time of a constant number of
 * looks at each of them: this one has 120000. */
static void long_ones_are_short(void **state) {
    (void)state;
    enum { MANY = 40000 };
    char *text = malloc(MANY * 200);
    assert_non_null(text);
    size_t used = (size_t)sprintf(text, START);
    for (int i = 0; i < MANY; i++) {
        used += (size_t)sprintf(text + used,
                                "dma a reads x(%d..%d, ..) from 0\nvector b writes t%d from 0\n"
                                "vector c reads t%d from 0\n",
                                i % 8, i % 8 + 9, i % 4, i % 4);
    }
    /* tensors first, so that they can be used */
    const char *const tensors =
        "tensor t0 : sbuf float32 (128, 4)\ntensor t1 : sbuf float32 (128, 4)\n"
        "tensor t2 : sbuf float32 (128, 4)\ntensor t3 : sbuf float32 (128, 4)\n";
    memmove(text + strlen(START) + strlen(tensors), text + strlen(START), used - strlen(START) + 1);
    memcpy(text + strlen(START), tensors, strlen(tensors));
    spad_kernel *straight = test_parse(text);
    spad_kernel *folded;
    spad_error error;
    assert_ok(spad_kernel_fold(&folded, straight, NULL, &error), &error);
    assert_non_null(folded);
    assert_true(spad_kernel_statement_count(folded) < 60);
    compare_walks(straight, folded);
    spad_kernel_destroy(folded);
    spad_kernel_destroy(straight);
    free(text);
}

/* Tiles of all rounds at once are a problem that the planner does not solve. The rounds stay
 * straight, and that is seen without a search, which takes 28 s of the optimised build. */
static void rounds_of_many_tensors_stay_without_a_search(void **state) {
    (void)state;
    enum { ROUNDS = 10, TENSORS = 100, SPAN = 60 };
    static const int lanes[] = {1, 16, 32, 64, 96, 128};
    static const int columns[] = {1, 3, 17, 64, 100, 128, 200};
    char *text = malloc(ROUNDS * TENSORS * 200);
    assert_non_null(text);
    size_t used = (size_t)sprintf(text, "kernel k on trn2\n");
    for (int round = 0; round < ROUNDS; round++) {
        spad__random random = {3};
        for (int i = 0; i < TENSORS; i++) {
            const int shape = (int)spad__random_below(&random, 42);
            const int one = i - 1 - (int)spad__random_below(&random, SPAN);
            const int two = i - 1 - (int)spad__random_below(&random, SPAN);
            used += (size_t)sprintf(text + used,
                                    "tensor n%dx_%d : sbuf float32 (%d, %d)\n"
                                    "vector make writes n%dx_%d\n",
                                    i, round, lanes[shape % 6], columns[shape / 6], i, round);
            if (i < SPAN) continue;
            used += (size_t)sprintf(text + used, "vector use reads n%dx_%d, n%dx_%d\n", one, round,
                                    two, round);
        }
    }
    spad_kernel *straight = test_parse(text);
    spad_kernel *folded;
    spad_error error;
    const clock_t start = clock();
    assert_ok(spad_kernel_fold(&folded, straight, NULL, &error), &error);
    assert_true(clock() - start < 10 * CLOCKS_PER_SEC);
    spad_kernel_destroy(folded);
    spad_kernel_destroy(straight);
    free(text);
}

static spad_status fold_in(const spad_host *host, void *context) {
    spad_kernel *folded;
    const spad_status status = spad_kernel_fold(&folded, context, host, NULL);
    spad_kernel_destroy(folded);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    writer w = {.text = malloc(TEXT_MAX)};
    assert_non_null(w.text);
    for (uint64_t seed = 2; seed < 4; seed++) {
        spad_kernel *straight = test_parse(random_text(&w, seed));
        test_fail_each_allocation(fold_in, straight);
        spad_kernel_destroy(straight);
    }
    for (int rows = 5; rows < 5 + (int)test_effort(24); rows++) { /* other calls get no memory */
        strcpy(w.text, TRIANGLE_TENSORS);
        unroll_triangle(w.text, TEXT_MAX, rows, rows % 2, 1, 1);
        spad_kernel *straight = test_parse(w.text);
        test_fail_each_allocation(fold_in, straight);
        spad_kernel_destroy(straight);
    }
    free(w.text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rings_and_rows),
        cmocka_unit_test(triangles_and_falling_numbers),
        cmocka_unit_test(whole_triangles),
        cmocka_unit_test(tails_as_long_as_rows),
        cmocka_unit_test(rounds_that_no_number_has),
        cmocka_unit_test(one_round_of_three_without_the_loop_inside),
        cmocka_unit_test(steps_of_their_own),
        cmocka_unit_test(triangles_with_other_steps),
        cmocka_unit_test(what_needs_more_stays),
        cmocka_unit_test(what_does_not_repeat_stays),
        cmocka_unit_test(places_by_turns),
        cmocka_unit_test(tensors_that_differ),
        cmocka_unit_test(aliases_of_families),
        cmocka_unit_test(kernels_that_no_trace_gives),
        cmocka_unit_test(rows_of_rows),
        cmocka_unit_test(random_nests_are_folded_exactly),
        cmocka_unit_test(long_ones_are_short),
        cmocka_unit_test(rounds_of_many_tensors_stay_without_a_search),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
