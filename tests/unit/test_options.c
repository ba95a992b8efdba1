/* SPDX-License-Identifier: Apache-2.0
 * Option structs of callers that were compiled with older and newer headers. */
#include "kernel/kernel_builder.h"
#include "support/support.h"

#include <stddef.h>
#include <string.h>

#include "base/options.h"
#include "spad/spad.h"

/* A struct at three versions: the first, one with a field more, one with two. */
typedef struct options_1 {
    size_t struct_size;
    int64_t limit;
} options_1;

typedef struct options_2 {
    size_t struct_size;
    int64_t limit;
    int64_t added;
} options_2;

typedef struct options_3 {
    size_t struct_size;
    int64_t limit;
    int64_t added;
    int64_t later;
} options_3;

static spad_status copy(options_2 *out, const void *options, spad_error *error) {
    return spad__copy_options(out, sizeof *out, offsetof(options_2, added), options, error);
}

static void test_null_and_zero_are_the_defaults(void **unused) {
    (void)unused;
    options_2 o = {.limit = 7, .added = 7};
    assert_int_equal(copy(&o, NULL, NULL), SPAD_OK);
    assert_int_equal(o.limit, 0);
    assert_int_equal(o.added, 0);
    assert_int_equal(copy(&o, &(options_2){0}, NULL), SPAD_OK);
    assert_int_equal(o.limit, 0);
    assert_int_equal(o.struct_size, sizeof o);
}

/* What lies behind an older struct is not read: here, bytes that would be a value. */
static void test_an_older_caller_has_defaults_for_new_fields(void **unused) {
    (void)unused;
    static const size_t sizes[] = {0, sizeof(options_1)};
    for (size_t i = 0; i < 2; i++) {
        const options_2 memory = {.struct_size = sizes[i], .limit = 3, .added = 99};
        options_2 o;
        assert_int_equal(copy(&o, &memory, NULL), SPAD_OK);
        assert_int_equal(o.limit, 3);
        assert_int_equal(o.added, 0);
    }
    const options_2 own = {.struct_size = sizeof own, .limit = 3, .added = 99};
    options_2 o;
    assert_int_equal(copy(&o, &own, NULL), SPAD_OK);
    assert_int_equal(o.added, 99);
}

static void test_a_newer_caller_may_leave_unknown_fields_zero(void **unused) {
    (void)unused;
    spad_error error;
    options_2 o;
    options_3 newer = {.struct_size = sizeof newer, .limit = 3, .added = 4};
    assert_int_equal(copy(&o, &newer, &error), SPAD_OK);
    assert_int_equal(o.added, 4);
    newer.later = 1;
    assert_int_equal(copy(&o, &newer, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message,
                        "options of a newer version: 32 bytes, of which this library knows 24; "
                        "leave the newer fields 0 or update the library");
    assert_int_equal(o.limit, 0);
}

static void test_a_size_too_small_for_itself_is_refused(void **unused) {
    (void)unused;
    spad_error error;
    options_2 o;
    const options_2 given = {.struct_size = 4};
    assert_int_equal(copy(&o, &given, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message,
                        "struct_size is 4: set it to sizeof the option struct, or to 0");
}

/* ---- every function that takes a stable option struct ------------------------------- */

/* The largest option struct and one byte that no library knows. */
enum { ROOM = 512 };

/* Options with nothing set but the byte behind a struct of that size. */
static const void *newer_options(char *bytes, size_t size) {
    const size_t given = size + 1;
    assert_true(given <= ROOM);
    memset(bytes, 0, ROOM);
    memcpy(bytes, &given, sizeof given);
    bytes[size] = 1;
    return bytes;
}

/* Asserts that CALL, with OPTIONS for the options of a newer program, is refused as such. */
#define ASSERT_REFUSES(type, call)                                              \
    do {                                                                        \
        spad_error error = {0};                                                 \
        _Alignas(max_align_t) char bytes[ROOM];                                 \
        const type *newer = newer_options(bytes, sizeof(type));                 \
        assert_int_equal(offsetof(type, struct_size), 0);                       \
        assert_int_equal((call), SPAD_ERR_ARGUMENT);                            \
        assert_non_null(strstr(error.message, "options of a newer version: ")); \
    } while (0)

static const char text[] = "kernel k on trn2\ntensor x : sbuf f32 (128, 4)\n"
                           "vector fill writes x\nvector sum reads x\n";

static void test_every_call_refuses_options_it_does_not_know(void **unused) {
    (void)unused;
    spad_error failure;
    spad_kernel *kernel;
    spad_plan *plan;
    assert_ok(spad_kernel_parse(&kernel, text, strlen(text), NULL, NULL, NULL, &failure), &failure);
    assert_ok(spad_plan_create(&plan, NULL, &failure), &failure);
    const spad_target *target = spad_kernel_get_target(kernel);
    ASSERT_REFUSES(spad_kernel_options, spad_kernel_parse(&(spad_kernel *){NULL}, text,
                                                          strlen(text), NULL, newer, NULL, &error));
    ASSERT_REFUSES(spad_kernel_options,
                   spad_kernel_reshape(&(spad_kernel *){NULL}, kernel, newer, &error));
    ASSERT_REFUSES(spad_kernel_options,
                   spad__kernel_builder_create(&(spad__kernel_builder *){NULL}, "k", NULL, target,
                                               newer, &error));
    ASSERT_REFUSES(spad_kernel_options, spad_kernel_read_ttgir(&(spad_kernel *){NULL}, NULL, "", 0,
                                                               NULL, newer, NULL, &error));
    ASSERT_REFUSES(spad_plan_options,
                   spad_plan_solve(&(spad_plan_result *){NULL}, plan, newer, &error));
    ASSERT_REFUSES(spad_plan_csv_options, spad_plan_read_csv(plan, "", 0, NULL, newer, &error));
    ASSERT_REFUSES(spad_stack_options, spad_stack_create(&(spad_stack *){NULL}, target, "sbuf", 0,
                                                         SPAD_STACK_TO_THE_TOP, newer, &error));
    ASSERT_REFUSES(spad_direct_options,
                   spad_direct_create(&(spad_direct *){NULL}, target, newer, &error));
    ASSERT_REFUSES(spad_block_options,
                   spad_block_create(&(spad_block *){NULL}, target, newer, &error));
    ASSERT_REFUSES(spad_layout_options,
                   spad_layout_create(&(spad_layout *){NULL}, kernel, newer, &error));
    ASSERT_REFUSES(spad_check_options,
                   spad_check_create(&(spad_check *){NULL}, kernel, newer, &error));
    ASSERT_REFUSES(spad_layout_options, spad_layout_create_checked(&(spad_layout *){NULL}, NULL,
                                                                   kernel, newer, NULL, &error));
    ASSERT_REFUSES(spad_check_options, spad_layout_create_checked(&(spad_layout *){NULL}, NULL,
                                                                  kernel, NULL, newer, &error));
    ASSERT_REFUSES(spad_analysis_options,
                   spad_analysis_create(&(spad_analysis *){NULL}, kernel, newer, &error));
    ASSERT_REFUSES(spad_report_options,
                   spad_report_create(&(spad_report *){NULL}, target, newer, &error));
    spad_plan_destroy(plan);
    spad_kernel_destroy(kernel);
}

static void test_options_of_parts_are_read_too(void **unused) {
    (void)unused;
    spad_error failure;
    spad_kernel *kernel;
    spad_analysis *analysis;
    assert_ok(spad_kernel_parse(&kernel, text, strlen(text), NULL, NULL, NULL, &failure), &failure);
    ASSERT_REFUSES(
        spad_layout_options,
        spad_analysis_create(&analysis, kernel, &(spad_analysis_options){.layout = newer}, &error));
    ASSERT_REFUSES(
        spad_check_options,
        spad_analysis_create(&analysis, kernel, &(spad_analysis_options){.check = newer}, &error));
    spad_kernel_destroy(kernel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_null_and_zero_are_the_defaults),
        cmocka_unit_test(test_an_older_caller_has_defaults_for_new_fields),
        cmocka_unit_test(test_a_newer_caller_may_leave_unknown_fields_zero),
        cmocka_unit_test(test_a_size_too_small_for_itself_is_refused),
        cmocka_unit_test(test_every_call_refuses_options_it_does_not_know),
        cmocka_unit_test(test_options_of_parts_are_read_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
