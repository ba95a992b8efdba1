/* SPDX-License-Identifier: Apache-2.0
 *
 * Parallel loops of random kernels: is a dependence of their iterations reported if and only if two
 * iterations of one run touch the same element, and not all read it or all add to it? The elements
 * are counted here one by one, from the numbers that the text was made of.
 */
#include "support/kernels.h"
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "spad/check.h"

enum { KERNELS = 4000, TILES = 200, ELEMENTS = 48, ACCESSES = 3, OUTER = 2, TEXT = 1024 };
enum { READ, ADD, WRITE };

/* (o * by[0] + i * by[1] + j * by[2] + by[3]) / divisor % rest */
typedef struct formula {
    int by[4];
    int divisor;
    int rest;
} formula;

typedef struct touch {
    int kind;
    formula tile;
    bool part; /* elements [first, first + width), else all */
    formula first;
    int width;
} touch;

typedef struct sample {
    spad__random random;
    int trips;
    int inner;
    touch touches[ACCESSES];
    int count;
} sample;

static int below(sample *s, int count) {
    return (int)spad__random_below(&s->random, (uint64_t)count);
}

static formula random_formula(sample *s, int most, int factor) {
    formula f = {{below(s, 3), below(s, factor), below(s, 3), below(s, 4)}, 1, most};
    if (below(s, 4) == 0) f.divisor = 1 + below(s, 3);
    if (below(s, 4) == 0) f.rest = 1 + below(s, 9);
    return f;
}

static int value_of(const formula *f, int o, int i, int j) {
    return (o * f->by[0] + i * f->by[1] + j * f->by[2] + f->by[3]) / f->divisor % f->rest;
}

static size_t put_formula(char *text, size_t size, const formula *f, int most) {
    size_t used = (size_t)snprintf(text, size, "(o * %d + i * %d + j * %d + %d)", f->by[0],
                                   f->by[1], f->by[2], f->by[3]);
    if (f->divisor > 1) {
        used += (size_t)snprintf(text + used, size - used, " / %d", f->divisor);
    }
    if (f->rest < most) used += (size_t)snprintf(text + used, size - used, " %% %d", f->rest);
    return used;
}

static void make_sample(sample *s) {
    s->trips = 1 + below(s, 6);
    s->inner = 1 + below(s, 3);
    s->count = 1 + below(s, ACCESSES);
    for (int a = 0; a < s->count; a++) {
        touch *t = &s->touches[a];
        t->kind = below(s, 3);
        t->tile = random_formula(s, TILES, 7);
        t->part = below(s, 3) == 0;
        t->first = random_formula(s, ELEMENTS - 4, 5);
        t->width = 1 + below(s, 4);
        if (a > 0 && below(s, 3) > 0) { /* most often alike */
            t->tile = s->touches[0].tile;
            t->first = s->touches[0].first;
            t->part = s->touches[0].part;
            t->tile.by[3] += below(s, 2);
        }
    }
}

static void write_text(const sample *s, char *text) {
    static const char *const verbs[] = {"reads", "updates", "writes"};
    size_t used = (size_t)snprintf(
        text, TEXT,
        "kernel k on sm_90\ntensor x : global u8 [%d] (%d) input output\nfor o in 0..%d { for i in "
        "0..%d parallel { for j in 0..%d {\n",
        TILES, ELEMENTS, OUTER, s->trips, s->inner);
    for (int a = 0; a < s->count; a++) {
        const touch *t = &s->touches[a];
        used += (size_t)snprintf(text + used, TEXT - used, "simt s%d %s x[", a, verbs[t->kind]);
        used += put_formula(text + used, TEXT - used, &t->tile, TILES);
        used += (size_t)snprintf(text + used, TEXT - used, "]");
        if (t->part) {
            used += (size_t)snprintf(text + used, TEXT - used, "(");
            used += put_formula(text + used, TEXT - used, &t->first, ELEMENTS - 4);
            used += (size_t)snprintf(text + used, TEXT - used, "..");
            used += put_formula(text + used, TEXT - used, &t->first, ELEMENTS - 4);
            used += (size_t)snprintf(text + used, TEXT - used, " + %d)", t->width);
        }
        used += (size_t)snprintf(text + used, TEXT - used, "\n");
    }
    used += (size_t)snprintf(text + used, TEXT - used, "} } }\n");
    assert_true(used < TEXT);
}

/* Per element: what the iterations of a run have done. */
typedef struct element {
    int kinds; /* bits */
    int iteration;
    bool several;
} element;

static bool depends_in_run(const sample *s, int o) {
    static element all[TILES][ELEMENTS];
    memset(all, 0, sizeof all);
    for (int i = 0; i < s->trips; i++) {
        for (int j = 0; j < s->inner; j++) {
            for (int a = 0; a < s->count; a++) {
                const touch *t = &s->touches[a];
                const int tile = value_of(&t->tile, o, i, j);
                const int first = t->part ? value_of(&t->first, o, i, j) : 0;
                const int width = t->part ? t->width : ELEMENTS;
                for (int e = first; e < first + width; e++) {
                    element *at = &all[tile][e];
                    if (at->kinds != 0 && at->iteration != i) at->several = true;
                    at->kinds |= 1 << t->kind;
                    at->iteration = i;
                    if (at->several && at->kinds != 1 << READ && at->kinds != 1 << ADD) return true;
                }
            }
        }
    }
    return false;
}

static void dependences_are_those_of_elements(void **state) {
    (void)state;
    int dependent = 0;
    for (uint64_t seed = 0; seed < KERNELS; seed++) {
        sample s = {.random = {seed}};
        char text[TEXT];
        bool expected = false;
        bool found = false;
        make_sample(&s);
        write_text(&s, text);
        for (int o = 0; o < OUTER; o++) expected = expected || depends_in_run(&s, o);
        const spad_check_options options = {.one_shape = true, .no_advice = true};
        spad_kernel *kernel = test_parse(text);
        spad_check *check;
        spad_error error;
        assert_ok(spad_check_create(&check, kernel, &options, &error), &error);
        for (size_t i = 0; i < spad_check_finding_count(check); i++) {
            found =
                found || spad_check_get_finding(check, i)->code == SPAD_FINDING_PARALLEL_DEPENDENCE;
        }
        if (found != expected) print_message("seed %d: %s\n", (int)seed, text);
        assert_int_equal(found, expected);
        dependent += expected;
        spad_check_destroy(check);
        spad_kernel_destroy(kernel);
    }
    assert_true(dependent > KERNELS / 4 && dependent < KERNELS * 3 / 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(dependences_are_those_of_elements)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
