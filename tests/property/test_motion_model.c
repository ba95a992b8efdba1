/* SPDX-License-Identifier: Apache-2.0
 *
 * Motions of random expressions (kernel/motion.h) against their values: after a period of a loop,
 * of a parameter, or of both, the value has changed by the step, from every start; and what is
 * found to be uneven is a product of two things that move.
 */
#include "base/error.h"
#include "support/kernels.h"
#include "support/support.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "kernel/motion.h"
#include "kernel/place.h"
#include "spad/spad.h"

enum { EXPRESSIONS = 3000, STARTS = 12, TEXT = 1024, LONGEST = 400 };

typedef struct writer {
    spad__random random;
    char text[TEXT];
    size_t used;
} writer;

static int below(writer *w, int count) {
    return (int)spad__random_below(&w->random, (uint64_t)count);
}

static void put(writer *w, const char *format, ...) SPAD_PRINTF(2, 3);

static void put(writer *w, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    w->used += (size_t)vsnprintf(w->text + w->used, TEXT - w->used, format, arguments);
    va_end(arguments);
    assert_true(w->used < TEXT);
}

/* A sum, product, quotient or rest; factors and divisors are numbers or the parameter M. */
static void put_expression(writer *w, int depth) {
    static const char *const leaves[] = {"i", "i", "j", "N", "M", "7"};
    if (depth == 0 || below(w, 5) == 0) {
        put(w, "%s", leaves[below(w, 6)]);
        return;
    }
    put(w, "(");
    put_expression(w, depth - 1);
    switch (below(w, 6)) {
    case 0:
        put(w, " + ");
        put_expression(w, depth - 1);
        break;
    case 1:
        put(w, " - ");
        put_expression(w, depth - 1);
        break;
    case 2: put(w, " * %d", below(w, 4) - 1); break;
    case 3: put(w, " * M"); break;
    case 4: put(w, " / %d", 1 + below(w, 6)); break;
    default: put(w, " %% %d", 1 + below(w, 6)); break;
    }
    put(w, ")");
}

/* The kernel with a value of the parameter; the expression is the condition of an if. */
static spad_kernel *kernel_of(const char *expression, int n) {
    char text[2 * TEXT];
    snprintf(text, sizeof text,
             "kernel k on trn2\nparam N = %d\nparam M = 3\nfor i in 0..1000000 { for j in 0..9 {\n"
             "if %s == 0 { vector op }\n} }\n",
             n, expression);
    spad_kernel *kernel;
    return spad_kernel_parse(&kernel, text, strlen(text), NULL, NULL, NULL, NULL) == SPAD_OK
               ? kernel
               : NULL;
}

static spad_expr expression_of(const spad_kernel *kernel) {
    for (size_t i = 0; i < spad_kernel_statement_count(kernel); i++) {
        const spad_statement *s = spad_kernel_get_statement(kernel, i);
        if (s->kind == SPAD_STATEMENT_IF) return s->comparisons[0].left;
    }
    fail_msg("no condition");
    return 0;
}

static int64_t value_at(const char *expression, int n, int64_t i, int64_t j) {
    spad_kernel *kernel = kernel_of(expression, n);
    const int64_t values[] = {i, j};
    assert_non_null(kernel);
    const int64_t value = spad_kernel_evaluate(kernel, expression_of(kernel), values);
    spad_kernel_destroy(kernel);
    return value;
}

static void assert_moves(writer *w, const spad__moves *moves, const spad__motion *m) {
    for (int start = 0; start < STARTS; start++) {
        /* where a motion relies on the parameter, it holds for the value that it had */
        const int n = moves->relies[0] ? 20 : 20 + below(w, 40);
        const int64_t i = below(w, 500);
        const int64_t j = below(w, 9);
        const int64_t more = moves->param == 0 ? moves->param_step * m->period : 0;
        const int64_t on = moves->loop == 0 ? moves->loop_step * m->period : 0;
        const int64_t change =
            value_at(w->text, (int)(n + more), i + on, j) - value_at(w->text, n, i, j);
        if (change != m->step) {
            fail_msg("%s: period %lld, step %lld, but %lld", w->text, (long long)m->period,
                     (long long)m->step, (long long)change);
        }
    }
}

static void values_move_as_found(void **state) {
    (void)state;
    writer w = {.random = {11}};
    long even = 0;
    long longer = 0;
    for (int count = 0; count < EXPRESSIONS; count++) {
        w.used = 0;
        put_expression(&w, 4);
        spad_kernel *kernel = kernel_of(w.text, 20);
        assert_non_null(kernel);
        bool relies[2] = {false};
        const int what = 1 + below(&w, 3);
        const spad__moves moves = {.kernel = kernel,
                                   .param = (what & 1) != 0 ? 0 : -1,
                                   .param_step = 1 + below(&w, 2),
                                   .loop = (what & 2) != 0 ? 0 : -1,
                                   .loop_step = 1 + below(&w, 3),
                                   .relies = relies};
        spad__motion m;
        const spad__evenness found = spad__motion_of(&moves, expression_of(kernel), &m, NULL);
        assert_int_not_equal(found, SPAD__UNEVEN); /* all factors here are fixed */
        if (found == SPAD__EVEN && m.period <= LONGEST) {
            even++;
            longer += m.period > 1;
            assert_moves(&w, &moves, &m);
        }
        spad_kernel_destroy(kernel);
    }
    printf("%ld even motions, %ld with a period above 1\n", even, longer);
    assert_true(even > EXPRESSIONS / 2 && longer > EXPRESSIONS / 20);
}

/* The slot or the address of a tile, whichever its tensor has. */
static int64_t bytes_of_tile(const spad_kernel *kernel, const int64_t *index) {
    const spad_kernel_tensor *t = spad_kernel_get_tensor(kernel, 0);
    const int64_t tile = index[0] * t->blocks.items[1].value + index[1];
    spad_rect rect;
    if (!spad__tile_place(kernel, t, tile, index, &rect)) return spad__tile_slot(t, tile, index);
    return rect.lane * 1000000 + rect.byte;
}

static bool comes_back(const spad_kernel *kernel, const int64_t *steps, int64_t times) {
    for (int64_t start = 0; start < 36; start++) {
        const int64_t from[] = {200 + start / 6, 200 + start % 6};
        const int64_t to[] = {from[0] + steps[0] * times, from[1] + steps[1] * times};
        if (bytes_of_tile(kernel, from) != bytes_of_tile(kernel, to)) return false;
    }
    return true;
}

/* Tensor 1 is an alias of tensor 0, tile for tile, and moves like it. */
static void tiles_come_back(void **state) {
    (void)state;
    spad__random random = {3};
    for (int count = 0; count < 400; count++) {
        char mode[64];
        char text[512];
        const int first = (int)spad__random_in(&random, 1, 6);
        const int second = (int)spad__random_in(&random, 1, 6);
        switch (count % 3) {
        case 0: snprintf(mode, sizeof mode, "ring %d", first); break;
        case 1: snprintf(mode, sizeof mode, "ring [%d, %d]", first, second); break;
        default: snprintf(mode, sizeof mode, "mod base 0 free [%d, %d]", first, second); break;
        }
        snprintf(text, sizeof text,
                 "kernel k on trn2\ntensor a : sbuf bf16 [600, 600] (128, 8) %s\n"
                 "tensor b : sbuf bf16 [600, 600] (128, 8) alias of a\nvector op writes a[0, 0]\n",
                 mode);
        spad_kernel *kernel = test_parse(text);
        const spad__moves moves = {.kernel = kernel, .param = -1, .loop = -1};
        const int64_t steps[] = {spad__random_in(&random, -3, 3), spad__random_in(&random, -3, 3)};
        for (size_t t = 0; t < 2; t++) {
            int64_t rounds;
            const spad_kernel_tensor *tensor = spad_kernel_get_tensor(kernel, t);
            assert_int_equal(spad__tile_return(&moves, tensor, steps, &rounds), SPAD__RETURNS);
            assert_true(comes_back(kernel, steps, rounds));
            for (int64_t less = 1; less < rounds; less++) {
                assert_false(comes_back(kernel, steps, less));
            }
        }
        spad_kernel_destroy(kernel);
    }
    spad_kernel *kernel = test_parse("kernel k on trn2\ntensor a : sbuf bf16 [9] (128, 8)\n");
    const spad__moves moves = {.kernel = kernel, .param = -1, .loop = -1};
    int64_t rounds;
    assert_int_equal(
        spad__tile_return(&moves, spad_kernel_get_tensor(kernel, 0), (const int64_t[]){1}, &rounds),
        SPAD__MOVES_ON);
    spad_kernel_destroy(kernel);
}

static spad__evenness motion_in(const char *expression, bool param, int64_t step, spad__motion *m,
                                bool *relies) {
    spad_kernel *kernel = kernel_of(expression, 20);
    assert_non_null(kernel);
    const spad__moves moves = {.kernel = kernel,
                               .param = param ? 0 : -1,
                               .param_step = step,
                               .loop = 0,
                               .loop_step = step,
                               .relies = relies};
    const spad__evenness even = spad__motion_of(&moves, expression_of(kernel), m, NULL);
    spad_kernel_destroy(kernel);
    return even;
}

static void periods_are_the_least(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t loop_step;
        int64_t period;
        int64_t step;
    } cases[] = {
        {"i", 1, 1, 1},
        {"i / 4", 1, 4, 1},
        {"i / 4", 2, 2, 1},
        {"i % 4", 6, 2, 0},
        {"i / 2 + i / 3", 1, 6, 5},
        {"(i / 2 + i / 2) / 2", 1, 2, 1},
        {"i / 4 + i / 6", 1, 12, 5},
        {"(i / 4) % 3", 1, 12, 0},
        {"7", 1, 1, 0},
        {"0 - i * 3", 2, 1, -6},
        {"j / 5", 1, 1, 0},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        spad__motion m;
        assert_int_equal(motion_in(cases[c].text, false, cases[c].loop_step, &m, NULL), SPAD__EVEN);
        assert_int_equal(m.period, cases[c].period);
        assert_int_equal(m.step, cases[c].step);
    }
}

static void what_does_not_repeat_says_why(void **state) {
    (void)state;
    spad__motion m;
    bool relies[2] = {false};
    assert_int_equal(motion_in("i * N", true, 1, &m, relies), SPAD__UNEVEN);
    assert_int_equal(motion_in("i * N", false, 1, &m, relies), SPAD__EVEN);
    assert_true(m.step == 20 && relies[0] && !relies[1]);
    assert_int_equal(motion_in("i % 65536", false, 1, &m, NULL), SPAD__EVEN);
    assert_int_equal(m.period, 65536);
    assert_int_equal(motion_in("i % 65537", false, 1, &m, NULL), SPAD__TOO_LONG);
    assert_int_equal(motion_in("i % 257 + i % 256", false, 1, &m, NULL), SPAD__TOO_LONG);
    assert_int_equal(motion_in("i * 4", false, INT64_MAX / 2, &m, NULL), SPAD__UNEVEN);
    assert_int_equal(spad__motion_rounds(-3, 6), 2);
    assert_int_equal(spad__motion_rounds(12, 6), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_move_as_found), cmocka_unit_test(periods_are_the_least),
        cmocka_unit_test(tiles_come_back), cmocka_unit_test(what_does_not_repeat_says_why)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
