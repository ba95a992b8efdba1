/* SPDX-License-Identifier: Apache-2.0
 *
 * Motions of random expressions (kernel/affine_step.h) against their values: after a period of a
 * loop, of a parameter, or of both, the value has changed by the step, from every start; and what
 * is found to be uneven is a product of two things that move. The same for changes by affine sums
 * (kernel/affine.h), whose steps depend on loops, with the smaller and larger of two, and with
 * values that only the data decides.
 */
#include "base/error.h"
#include "kernel/evaluate.h"
#include "support/kernels.h"
#include "support/support.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "kernel/affine.h"
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

/* As above, with factors and choices that a step by a number does not have. */
static void put_affine(writer *w, int depth) {
    static const char *const leaves[] = {"i", "j", "N", "M", "7", "u[j]"};
    static const char *const starts[] = {"(", "(", "(", "(", "(", "(-", "min(", "max("};
    static const char *const joints[] = {" + ", " - ", " * N", " * M", NULL, " - ", ", ", ", "};
    if (depth == 0 || below(w, 5) == 0) {
        put(w, "%s", leaves[below(w, 6)]);
        return;
    }
    const int kind = below(w, 8);
    put(w, "%s", starts[kind]);
    put_affine(w, depth - 1);
    if (kind == 4) {
        put(w, below(w, 2) == 0 ? " / %d" : " %% %d", 1 + below(w, 6));
    } else {
        put(w, "%s", joints[kind]);
    }
    if (kind != 2 && kind != 3 && kind != 4) put_affine(w, depth - 1);
    put(w, ")");
}

/* The kernel with a value of the parameter; the expression is the condition of an if. */
static spad_kernel *kernel_of(const char *expression, int n) {
    char text[2 * TEXT];
    snprintf(text, sizeof text,
             "kernel k on trn2\nparam N = %d\nparam M = 3\n"
             "unknown u[9] in 0..5 = [1, 4, 0, 0, 3, 2, 4, 1, 1]\n"
             "for i in 0..1000000 { for j in 0..9 {\n"
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
    const int64_t value = spad__kernel_evaluate(kernel, expression_of(kernel), values);
    spad_kernel_destroy(kernel);
    return value;
}

/* at: the values of the loops i and j */
static void assert_moves_from(const writer *w, const spad__moves *moves, const spad__affine_step *m,
                              int n, const int64_t *at) {
    const int64_t more = moves->param == 0 ? moves->param_step * m->period : 0;
    const int64_t on = moves->loop == 0 ? moves->loop_step * m->period : 0;
    const int64_t change =
        value_at(w->text, (int)(n + more), at[0] + on, at[1]) - value_at(w->text, n, at[0], at[1]);
    if (change != m->step) {
        fail_msg("%s: period %lld, step %lld, but %lld", w->text, (long long)m->period,
                 (long long)m->step, (long long)change);
    }
}

static void assert_moves(writer *w, const spad__moves *moves, const spad__affine_step *m) {
    for (int start = 0; start < STARTS; start++) {
        /* where a step relies on the parameter, it holds for the value that it had */
        const int n = moves->relies[0] ? 20 : 20 + below(w, 40);
        const int64_t at[] = {below(w, 500), below(w, 9)};
        assert_moves_from(w, moves, m, n, at);
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
        spad__affine_step m;
        const spad__evenness found = spad__affine_step_of(&moves, expression_of(kernel), &m);
        assert_int_not_equal(found, SPAD__UNEVEN); /* all factors here are fixed */
        if (found == SPAD__EVEN && m.period <= LONGEST) {
            even++;
            longer += m.period > 1;
            assert_moves(&w, &moves, &m);
        }
        spad_kernel_destroy(kernel);
    }
    printf("%ld even changes, %ld with a period above 1\n", even, longer);
    assert_true(even > EXPRESSIONS / 2 && longer > EXPRESSIONS / 20);
}

static void values_move_by_forms(void **state) {
    (void)state;
    writer w = {.random = {23}};
    long even = 0;
    long sums = 0;
    long uneven = 0;
    for (int count = 0; count < EXPRESSIONS; count++) {
        w.used = 0;
        put_affine(&w, 4);
        spad_kernel *kernel = kernel_of(w.text, 20);
        if (kernel == NULL) continue; /* a product of two loops, or too long */
        bool relies[2] = {false};
        const int what = 1 + below(&w, 3);
        const spad__moves moves = {.kernel = kernel,
                                   .param = (what & 1) != 0 ? 0 : -1,
                                   .param_step = 1 + below(&w, 2),
                                   .loop = (what & 2) != 0 ? 0 : -1,
                                   .loop_step = 1 + below(&w, 3),
                                   .relies = relies};
        spad__affine affine;
        spad__affine_step m;
        const spad__evenness found =
            spad__affine_of(&moves, expression_of(kernel), &affine, &m.period, NULL);
        uneven += found == SPAD__UNEVEN;
        for (int start = 0; start < STARTS && found == SPAD__EVEN && m.period <= LONGEST; start++) {
            const int n = relies[0] ? 20 : 20 + below(&w, 40);
            const int64_t at[] = {below(&w, 500), below(&w, 9)};
            assert_true(spad__affine_value(&affine, at, &m.step));
            assert_moves_from(&w, &moves, &m, n, at);
            even += start == 0;
            sums += start == 0 && affine.count > 0;
        }
        spad_kernel_destroy(kernel);
    }
    printf("%ld even changes, %ld affine, %ld uneven\n", even, sums, uneven);
    assert_true(even > EXPRESSIONS / 4 && sums > EXPRESSIONS / 100 && uneven > 0);
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
            int64_t moves_needed;
            const spad_kernel_tensor *tensor = spad_kernel_get_tensor(kernel, t);
            assert_int_equal(spad__tile_return(&moves, tensor, steps, &moves_needed),
                             SPAD__RETURNS);
            assert_true(comes_back(kernel, steps, moves_needed));
            for (int64_t less = 1; less < moves_needed; less++) {
                assert_false(comes_back(kernel, steps, less));
            }
        }
        spad_kernel_destroy(kernel);
    }
    spad_kernel *kernel = test_parse("kernel k on trn2\ntensor a : sbuf bf16 [9] (128, 8)\n"
                                     "tensor b : sbuf bf16 [9] (128, 64) ring 3\n"
                                     "tensor c : sbuf bf16 [9] (128, 8) alias of b[2] ring 2\n"
                                     "tensor d : sbuf bf16 [8] (128, 8) alias of b[2]\n");
    const spad__moves moves = {.kernel = kernel, .param = -1, .loop = -1};
    int64_t moves_needed;
    assert_int_equal(spad__tile_return(&moves, spad_kernel_get_tensor(kernel, 0),
                                       (const int64_t[]){1}, &moves_needed),
                     SPAD__MOVES_ON);
    /* inside of a tile of a ring: two slots of its own, or one per tile */
    assert_int_equal(spad__tile_return(&moves, spad_kernel_get_tensor(kernel, 2),
                                       (const int64_t[]){1}, &moves_needed),
                     SPAD__RETURNS);
    assert_int_equal(moves_needed, 2);
    assert_int_equal(spad__tile_return(&moves, spad_kernel_get_tensor(kernel, 3),
                                       (const int64_t[]){1}, &moves_needed),
                     SPAD__MOVES_ON);
    spad_kernel_destroy(kernel);
}

static spad__evenness step_in(const char *expression, bool param, int64_t step,
                              spad__affine_step *m, bool *relies) {
    spad_kernel *kernel = kernel_of(expression, 20);
    assert_non_null(kernel);
    const spad__moves moves = {.kernel = kernel,
                               .param = param ? 0 : -1,
                               .param_step = step,
                               .loop = 0,
                               .loop_step = step,
                               .relies = relies};
    const spad__evenness even = spad__affine_step_of(&moves, expression_of(kernel), m);
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
        spad__affine_step m;
        assert_int_equal(step_in(cases[c].text, false, cases[c].loop_step, &m, NULL), SPAD__EVEN);
        assert_int_equal(m.period, cases[c].period);
        assert_int_equal(m.step, cases[c].step);
    }
}

static void what_does_not_repeat_says_why(void **state) {
    (void)state;
    spad__affine_step m;
    bool relies[2] = {false};
    assert_int_equal(step_in("i * N", true, 1, &m, relies), SPAD__UNEVEN);
    assert_int_equal(step_in("i * N", false, 1, &m, relies), SPAD__EVEN);
    assert_true(m.step == 20 && relies[0] && !relies[1]);
    assert_int_equal(step_in("j * N", true, 1, &m, relies), SPAD__UNEVEN); /* affine */
    assert_int_equal(step_in("i % 65536", false, 1, &m, NULL), SPAD__EVEN);
    assert_int_equal(m.period, 65536);
    assert_int_equal(step_in("i % 65537", false, 1, &m, NULL), SPAD__TOO_LONG);
    assert_int_equal(step_in("i % 257 + i % 256", false, 1, &m, NULL), SPAD__TOO_LONG);
    assert_int_equal(step_in("i * 4", false, INT64_MAX / 2, &m, NULL), SPAD__UNEVEN);
    assert_int_equal(spad__moves_until_multiple(-3, 6), 2);
    assert_int_equal(spad__moves_until_multiple(12, 6), 1);
}

/* Affine steps in loops that run once, so that their factors may be large; the parameter moves
 * by the step. */
static spad__evenness form_in(const char *expression, int64_t step, spad__affine *affine,
                              int64_t *period) {
    char text[TEXT];
    snprintf(text, sizeof text,
             "kernel k on trn2\nparam N = 2\nunknown u[2]\n"
             "for a in 0..1 { for b in 0..1 { for c in 0..1 { for d in 0..1 { for e in 0..1 {\n"
             "if %s == 0 { vector op }\n} } } } }\n",
             expression);
    spad_kernel *kernel = test_parse(text);
    const spad__moves moves = {.kernel = kernel, .param = 0, .param_step = step, .loop = -1};
    const spad__evenness even =
        spad__affine_of(&moves, expression_of(kernel), affine, period, NULL);
    spad_kernel_destroy(kernel);
    return even;
}

static void forms_have_the_loops_that_are_left(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t period;
        spad__affine step;
    } cases[] = {
        {"b * N + a", 1, {0, 1, {1}, {3}}},
        {"a * N + c * N - a * N", 1, {0, 1, {2}, {3}}},
        {"b * N + (5 - b) * N", 1, {15, 0, {0}, {0}}},
        {"c * N + 2 * (N * b) + c * N", 1, {0, 2, {1, 2}, {6, 6}}},
        {"(b * N + N) / 2", 2, {3, 1, {1}, {3}}},
        {"(b * N + N) % 2", 2, {0, 0, {0}, {0}}},
        {"-(b * N)", 1, {0, 1, {1}, {-3}}},
        {"min(b * N, b * N + 7)", 1, {0, 1, {1}, {3}}},
        {"max(N, 9 + N)", 1, {3, 0, {0}, {0}}},
        {"max(4, 9) * N", 1, {27, 0, {0}, {0}}},
        {"min(4, 9) * N", 1, {12, 0, {0}, {0}}},
        {"N % 2 + N % 5", 10, {0, 0, {0}, {0}}},
        {"3 * (b / 2) + N", 1, {3, 0, {0}, {0}}},
        {"u[a] + N", 1, {3, 0, {0}, {0}}},
        {"a + b + c + d + e + N", 1, {3, 0, {0}, {0}}},
        {"a * N + b * N + c * N + d * N", 1, {0, 4, {0, 1, 2, 3}, {3, 3, 3, 3}}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        spad__affine step;
        int64_t period;
        assert_int_equal(form_in(cases[c].text, 3, &step, &period), SPAD__EVEN);
        if (!spad__affine_equal(&step, &cases[c].step) || period != cases[c].period) {
            fail_msg("%s: %lld with %zu loops in %lld", cases[c].text, (long long)step.constant,
                     step.count, (long long)period);
        }
    }
}

static void what_is_no_form_is_uneven(void **state) {
    (void)state;
    static const char *const texts[] = {
        "N * N",                                 /* both move */
        "7 % N",                                 /* by what moves */
        "b * N * N",                             /* the step depends on N */
        "a * N + b * N + c * N + d * N + e * N", /* loops of the step */
        "(a + b + c + d + e) * N",               /* loops of the factor */
        "N * (a + b + c + d + e)",               /* */
        "(b / 2) * N",                           /* a factor that is not affine */
        "N * (b / 2)",                           /* */
        "N * u[b]",                              /* only the data decides */
        "u[N - 2]",
        "u[N % 2]",                                                /* another element */
        "min(N, 7)",                                               /* they do not move alike */
        "max(b * N, 7 * N)",                                       /* */
        "b * 4611686018427387904 * 2 * N",                         /* beyond 64 bits: the factor */
        "(b * 4611686018427387904 + b * 4611686018427387904) * N", /* */
        "(b * (-9223372036854775807 - 1) - b) * N",                /* */
        "-(b * (-9223372036854775807 - 1)) * N",                   /* */
        "b * 4611686018427387904 * N",                             /* the step */
        "b * N * 4611686018427387904",                             /* */
        "b * 3074457345618258602 * N + b * N",                     /* the sum of two steps */
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        spad__affine step;
        int64_t period;
        if (form_in(texts[i], 3, &step, &period) != SPAD__UNEVEN) fail_msg("%s", texts[i]);
    }
    spad__affine step;
    int64_t period;
    assert_int_equal(form_in("min(N % 257, N % 256)", 1, &step, &period), SPAD__TOO_LONG);
    assert_int_equal(form_in("(b * N + N) / 65537", 1, &step, &period), SPAD__TOO_LONG);
    assert_int_equal(form_in("b * (N % 65537) * 2", 1, &step, &period), SPAD__TOO_LONG);
    assert_int_equal(form_in("(N % 257) * (N % 256)", 1, &step, &period), SPAD__TOO_LONG);
    assert_int_equal(form_in("(N % 257) / (N % 256 + 1)", 1, &step, &period), SPAD__TOO_LONG);
    assert_int_equal(form_in("-N", INT64_MIN, &step, &period), SPAD__UNEVEN);
    assert_int_equal(form_in("N + N", INT64_MAX, &step, &period), SPAD__UNEVEN);
    assert_int_equal(form_in("N / 2", INT64_MAX, &step, &period), SPAD__UNEVEN);
    assert_int_equal(form_in("N / 4 + N % 5", INT64_MAX / 4, &step, &period), SPAD__UNEVEN);
}

static void values_of_forms_fit_or_not(void **state) {
    (void)state;
    const spad__affine large = {
        .constant = INT64_MAX - 5, .count = 1, .loops = {1}, .factors = {2}};
    const spad__affine steep = {.count = 1, .loops = {1}, .factors = {INT64_MAX / 2}};
    int64_t value;
    int64_t most;
    assert_true(spad__affine_value(&large, (const int64_t[]){0, 2}, &value));
    assert_int_equal(value, INT64_MAX - 1);
    assert_false(spad__affine_value(&large, (const int64_t[]){0, 3}, &value));
    assert_false(spad__affine_value(&steep, (const int64_t[]){0, 3}, &value));
    static const struct {
        const char *bounds;
        bool large;
        bool steep;
    } cases[] = {{"0..3", true, true},  {"0..4", false, false},  {"3..4", false, false},
                 {"-2..1", true, true}, {"-9..-5", true, false}, {"-1..0", true, true}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        char text[256];
        snprintf(text, sizeof text,
                 "kernel k on trn2\nfor i in 0..1 { for j in %s { vector op } }\n",
                 cases[c].bounds);
        spad_kernel *kernel = test_parse(text);
        assert_int_equal(spad__affine_range(&large, kernel, &value, &most), cases[c].large);
        assert_int_equal(spad__affine_range(&steep, kernel, &value, &most), cases[c].steep);
        spad_kernel_destroy(kernel);
    }
    spad__affine sum = {.constant = 0};
    assert_true(spad__affine_add_loop(&sum, 2, 7));
    assert_true(spad__affine_add_loop(&sum, 0, 5));
    assert_true(spad__affine_add_loop(&sum, 1, 0));
    assert_false(spad__affine_add_loop(&sum, 0, INT64_MAX));
    assert_true(spad__affine_add_loop(&sum, 0, -5));
    assert_true(sum.count == 1 && sum.loops[0] == 2 && sum.factors[0] == 7);
    assert_false(spad__affine_add(&sum, &large, 3)); /* the constant */
    assert_false(spad__affine_add(&sum, &steep, 3)); /* a factor */
    spad__affine full = {.constant = 7};
    assert_false(spad__affine_add(&full, &large, 1)); /* the sum of two constants */
}

static void steps_are_compared_over_both_periods(void **state) {
    (void)state;
    static const struct {
        spad__affine_step left;
        spad__affine_step right;
        bool alike;
    } cases[] = {
        {{1, 3}, {1, 3}, true},
        {{2, 1}, {4, 2}, true},
        {{2, 1}, {4, 1}, false},
        {{7, 0}, {9, 0}, true},
        {{2, INT64_MAX / 2}, {3, 1}, false},
        {{3, 1}, {2, INT64_MAX / 2}, false},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        assert_int_equal(spad__affine_step_alike(&cases[c].left, &cases[c].right), cases[c].alike);
    }
}

static spad__return return_of(const char *space, const char *mode, const int64_t *steps) {
    char text[512];
    snprintf(text, sizeof text,
             "kernel k on trn2\ntensor a : %s bf16 [600, 600] (128, 8) %s\n"
             "vector op writes a[0, 0]\n",
             space, mode);
    spad_kernel *kernel = test_parse(text);
    const spad__moves moves = {.kernel = kernel, .param = -1, .loop = -1};
    int64_t moves_needed;
    const spad__return way =
        spad__tile_return(&moves, spad_kernel_get_tensor(kernel, 0), steps, &moves_needed);
    spad_kernel_destroy(kernel);
    return way;
}

static void tiles_may_be_too_far(void **state) {
    (void)state;
    const int64_t far[] = {INT64_MAX / 2, 1};
    const int64_t last[] = {INT64_MAX / 600, INT64_MAX};
    const int64_t near[] = {1, 1};
    assert_int_equal(return_of("sbuf", "ring 3", far), SPAD__TOO_FAR);
    assert_int_equal(return_of("sbuf", "ring 3", last), SPAD__TOO_FAR);
    assert_int_equal(return_of("sbuf", "ring 3", near), SPAD__RETURNS);
    assert_int_equal(return_of("psum", "mod free [1125899906842597, 1] banks [1, 1048573]", near),
                     SPAD__TOO_FAR);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(values_move_as_found),
                                       cmocka_unit_test(values_move_by_forms),
                                       cmocka_unit_test(periods_are_the_least),
                                       cmocka_unit_test(tiles_come_back),
                                       cmocka_unit_test(what_does_not_repeat_says_why),
                                       cmocka_unit_test(forms_have_the_loops_that_are_left),
                                       cmocka_unit_test(what_is_no_form_is_uneven),
                                       cmocka_unit_test(values_of_forms_fit_or_not),
                                       cmocka_unit_test(steps_are_compared_over_both_periods),
                                       cmocka_unit_test(tiles_may_be_too_far)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
