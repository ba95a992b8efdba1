/* SPDX-License-Identifier: Apache-2.0
 *
 * A rebuilt kernel is the kernel that its text gives: random kernels and all that we ship, with
 * random parameter values, are reshaped and released, and compared with what parsing the written
 * text with the same values gives: the same text, the same bounds of expressions, or both refused.
 * Arguments: how many random kernels, and the first seed.
 */
#include "kernel/kernel.h"
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "spad/experimental/kernel_rows.h"
#include "support/files.h"
#include "support/kernels.h"
#include "support/random_kernel.h"

static uint64_t kernel_count = 2000;
static uint64_t first_seed = 1;

static void write_kernel(const spad_kernel *kernel, test_text *text) {
    spad_error error;
    test_text_init(text);
    assert_ok(spad_kernel_write_text(kernel, &text->sink, &error), &error);
}

static void assert_same_expr(const spad_kernel *a, spad_expr x, const spad_kernel *b, spad_expr y) {
    const spad_expr_info one = spad_kernel_get_expr(a, x);
    const spad_expr_info two = spad_kernel_get_expr(b, y);
    assert_int_equal(one.node_count, two.node_count);
    assert_int_equal(one.written_count, two.written_count);
    assert_int_equal(one.least, two.least);
    assert_int_equal(one.most, two.most);
    assert_int_equal(one.exact, two.exact);
    for (size_t i = 0; i < one.node_count; i++) {
        assert_int_equal(one.nodes[i].op, two.nodes[i].op);
        assert_int_equal(one.nodes[i].value, two.nodes[i].value);
    }
}

static void assert_same_kernel(const spad_kernel *a, const spad_kernel *b) {
    test_text one;
    test_text two;
    write_kernel(a, &one);
    write_kernel(b, &two);
    assert_string_equal(one.bytes, two.bytes);
    test_text_free(&one);
    test_text_free(&two);
    assert_int_equal(spad_kernel_statement_count(a), spad_kernel_statement_count(b));
    for (size_t i = 0; i < spad_kernel_statement_count(a); i++) {
        const spad_statement *s = spad_kernel_get_statement(a, i);
        const spad_statement *t = spad_kernel_get_statement(b, i);
        assert_int_equal(s->kind, t->kind);
        assert_int_equal(s->item, t->item);
        assert_int_equal(s->end, t->end);
        assert_int_equal(s->guarded, t->guarded);
        assert_same_expr(a, s->amount, b, t->amount);
        for (size_t k = 0; k < s->comparison_count; k++) {
            assert_same_expr(a, s->comparisons[k].left, b, t->comparisons[k].left);
        }
    }
    assert_int_equal(spad__kernel_access_count(a), spad__kernel_access_count(b));
    for (size_t i = 0; i < spad__kernel_access_count(a); i++) {
        const spad_kernel_access *x = spad_kernel_get_access(a, i);
        const spad_kernel_access *y = spad_kernel_get_access(b, i);
        assert_int_equal(x->index_count, y->index_count);
        for (size_t k = 0; k < x->index_count; k++) {
            assert_same_expr(a, x->index[k], b, y->index[k]);
        }
    }
    for (size_t i = 0; i < spad_kernel_tensor_count(a); i++) {
        const spad_kernel_tensor *x = spad_kernel_get_tensor(a, i);
        const spad_kernel_tensor *y = spad_kernel_get_tensor(b, i);
        assert_int_equal(x->tiles, y->tiles);
        assert_int_equal(x->slots, y->slots);
        assert_int_equal(x->home, y->home);
        assert_int_equal(x->home_tile, y->home_tile);
        assert_int_equal(x->home_byte, y->home_byte);
        assert_int_equal(x->proxy_align, y->proxy_align);
    }
}

/* Locations are the only thing that a rebuilt kernel has and a parsed text does not. */
static void assert_same_locations(const spad_kernel *a, const spad_kernel *b) {
    for (size_t i = 0; i < spad_kernel_statement_count(a); i++) {
        const spad_location x = spad_kernel_get_statement(a, i)->location;
        const spad_location y = spad_kernel_get_statement(b, i)->location;
        assert_memory_equal(&x, &y, sizeof x);
    }
    for (size_t i = 0; i < spad__kernel_access_count(a); i++) {
        const spad_location x = spad_kernel_get_access(a, i)->location;
        const spad_location y = spad_kernel_get_access(b, i)->location;
        assert_memory_equal(&x, &y, sizeof x);
    }
    for (size_t i = 0; i < spad_kernel_loop_count(a); i++) {
        const spad_location x = spad_kernel_get_loop(a, i)->location;
        const spad_location y = spad_kernel_get_loop(b, i)->location;
        assert_memory_equal(&x, &y, sizeof x);
    }
}

/* The kernel reshaped, and its text parsed, with the same options. */
static void compare_with_text(const spad_kernel *kernel, const spad_kernel_options *options) {
    spad_kernel *rebuilt;
    spad_kernel *parsed;
    test_text text;
    spad_error error;
    write_kernel(kernel, &text);
    const spad_status a = spad_kernel_reshape(&rebuilt, kernel, options, &error);
    const spad_status b =
        spad_kernel_parse(&parsed, text.bytes, strlen(text.bytes), NULL, options, NULL, NULL);
    assert_true((a == SPAD_OK) == (b == SPAD_OK));
    assert_true(a == SPAD_OK || error.message[0] != '\0');
    if (a == SPAD_OK) {
        assert_same_kernel(rebuilt, parsed);
        assert_same_locations(rebuilt, kernel);
    }
    spad_kernel_destroy(rebuilt);
    spad_kernel_destroy(parsed);
    test_text_free(&text);
}

static void compare_kernel(const spad_kernel *kernel, uint64_t seed) {
    enum { DEFINES_MAX = 8 };
    spad__random random = {seed};
    const size_t params = spad_kernel_param_count(kernel);
    compare_with_text(kernel, &(spad_kernel_options){.target = spad_kernel_get_target(kernel)});
    for (int round = 0; round < 3; round++) {
        spad_define defines[DEFINES_MAX];
        size_t count = 0;
        for (size_t i = 0; i < params && count < DEFINES_MAX; i++) {
            const int64_t value = (int64_t)spad__random_below(&random, 9) - 1;
            if (spad__random_below(&random, 2) == 0) continue;
            defines[count++] = (spad_define){spad_kernel_get_param(kernel, i)->name, value};
        }
        const spad_kernel_options options = {
            .defines = defines, .define_count = count, .target = spad_kernel_get_target(kernel)};
        compare_with_text(kernel, &options);
    }
}

/* Every third kernel states the threads of its main program, with a parameter if it has one. */
static void state_threads(char text[RANDOM_KERNEL_TEXT], uint64_t seed) {
    const char *param = strstr(text, "\nparam N ");
    char *place = strchr(param != NULL ? param + 1 : text, '\n');
    char line[80];
    if (seed % 3 != 0 || place == NULL) return;
    const int length = snprintf(line, sizeof line, "\nthreads 32 * (%s + 1) registers 40",
                                param != NULL ? "N" : "1");
    const size_t rest = strlen(place) + 1;
    if ((size_t)(place - text) + (size_t)length + rest > RANDOM_KERNEL_TEXT) return;
    memmove(place + length, place, rest);
    memcpy(place, line, (size_t)length);
}

static void random_kernels(void **state) {
    (void)state;
    char *text = malloc(RANDOM_KERNEL_TEXT);
    assert_non_null(text);
    for (uint64_t seed = first_seed; seed < first_seed + kernel_count; seed++) {
        spad_kernel *kernel;
        random_kernel(seed, text);
        state_threads(text, seed);
        if (spad_kernel_parse(&kernel, text, strlen(text), NULL, NULL, NULL, NULL) != SPAD_OK) {
            continue;
        }
        compare_kernel(kernel, seed);
        spad_kernel_destroy(kernel);
    }
    free(text);
}

static void shipped_kernels(void **state) {
    (void)state;
    static const char *const folders[] = {TEST_KERNELS, TEST_KERNELS "/wrong"};
    for (size_t f = 0; f < 2; f++) {
        test_files files;
        test_list_kernels(&files, folders[f]);
        assert_true(files.count > 0);
        for (size_t i = 0; i < files.count; i++) {
            char path[256];
            snprintf(path, sizeof path, "%s/%s", folders[f], files.names[i]);
            char *text = test_read_file(path);
            spad_kernel *kernel = test_parse(text);
            compare_kernel(kernel, i + 1);
            spad_kernel_destroy(kernel);
            free(text);
        }
    }
}

int main(int argc, char **argv) {
    if (argc > 1) kernel_count = strtoull(argv[1], NULL, 10);
    if (argc > 2) first_seed = strtoull(argv[2], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_kernels),
        cmocka_unit_test(shipped_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
