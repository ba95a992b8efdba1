/* SPDX-License-Identifier: Apache-2.0
 * The rules of a space where a tensor has more places than are examined one by one, where sizes
 * are handed out in granules, and with a target of our own: each finding and each verdict as a user
 * sees it. */
#include "support/kernels.h"
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "spad/check.h"
#include "spad/target.h"

/* The verdict, its reason, and the findings with one of the codes of rules: "CODE message|". */
static void describe(char *line, size_t size, const char *text, const spad_target *target) {
    const spad_kernel_options options = {.target = target};
    const spad_check_options how = {.one_shape = true, .no_advice = true};
    spad_kernel *kernel = test_parse_with(text, &options);
    spad_check *check;
    spad_error error;
    assert_ok(spad_check_create(&check, kernel, &how, &error), &error);
    const bool known = spad_check_get_verdict(check) != SPAD_VERDICT_UNKNOWN;
    snprintf(line, size, "%s", known ? "" : spad_check_get_reason(check));
    for (size_t i = 0; i < spad_check_finding_count(check); i++) {
        const spad_finding *f = spad_check_get_finding(check, i);
        if (f->severity != SPAD_SEVERITY_ERROR) continue;
        const size_t used = strlen(line);
        snprintf(line + used, size - used, "%s%s", used > 0 ? "|" : "", f->message);
    }
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
}

typedef struct row {
    const char *text;
    const char *expected;
} row;

static void check_rows(const row *rows, size_t count, const spad_target *target) {
    for (size_t i = 0; i < count; i++) {
        char line[2048];
        describe(line, sizeof line, rows[i].text, target);
        if (strcmp(line, rows[i].expected) != 0) print_error("%s", rows[i].text);
        assert_string_equal(line, rows[i].expected);
    }
}

#define TRN2 "kernel k on trn2\n"
#define USE "vector a writes x[0]\nvector b reads x[0]\n"

static void many_places(void **state) {
    (void)state;
    static const row rows[] = {
        {TRN2 "tensor x : sbuf u8 [70000] (128, 1) mod base 0 free 65536\n" USE, ""},
        {TRN2 "tensor x : sbuf u8 [70000] (128, 1) mod base 0 free 70000\n" USE,
         "a tensor has more places than the rule check covers"},
        {TRN2 "tensor x : sbuf u8 [300000] (128, 1) mod base 0 free 300000\n" USE,
         "'x[299999]' takes bytes [299,999, 300,000) of sbuf, which has 212,984 for tensors and "
         "reserves 16,392 after them; move it, make it smaller, or use fewer slots"},
        {TRN2 "tensor x : sbuf u8 [1000, 70000] (128, 1) mod base 0 free [3, 70000]\n"
              "vector a writes x[0, 0]\nvector b reads x[0, 0]\n",
         "a tensor has more places than the rule check covers"},
        {TRN2 "tensor x : psum u8 [9, 70000] (128, 1) mod base 0 free [1, 2048] banks [9, 1]\n"
              "vector a writes x[0, 0]\nvector b reads x[0, 0]\n",
         "'x[8, 0]' takes bytes [16,384, 16,385) of psum, which has 16,384 for tensors; move it, "
         "make "
         "it smaller, or use fewer slots|'x[0, 1]' starts at byte 1 of psum, which is not a "
         "multiple "
         "of 4; try 4|'x[0, 1]' starts at byte 1 and lane 0 of a bank of psum, which holds one "
         "tile, from byte 0 and lane 0; give each tile a bank of its own"},
        {TRN2 "tensor x : psum u8 [40, 70000] (32, 1) mod base 0 free [1, 2000] par [4, 1] "
              "banks [10, 1]\nvector a writes x[0, 0]\nvector b reads x[0, 0]\n",
         "'x[8, 0]' takes bytes [16,384, 16,385) of psum, which has 16,384 for tensors; move it, "
         "make "
         "it smaller, or use fewer slots|'x[0, 1]' starts at byte 1 of psum, which is not a "
         "multiple "
         "of 4; try 4|'x[0, 1]' starts at byte 1 and lane 0 of a bank of psum, which holds one "
         "tile, from byte 0 and lane 0; give each tile a bank of its own"},
        {TRN2 "tensor x : psum f32 [4] (128, 128) mod base 1024 banks 2\n" USE,
         "'x[0]' starts at byte 1,024 and lane 0 of a bank of psum, which holds one tile, from "
         "byte "
         "0 and lane 0; give each tile a bank of its own"},
        {TRN2 "tensor x : psum f32 [4] (32, 128) mod lane 32 banks 2\n" USE,
         "'x[0]' starts at byte 0 and lane 32 of a bank of psum, which holds one tile, from byte "
         "0 and lane 0; give each tile a bank of its own"},
        {TRN2 "tensor x : psum f32 [4] (128, 128) mod bank 3 banks 2\n" USE, ""},
        {"kernel k on trn3\ntensor x : psum f32 [4] (128, 128) mod base 1024 banks 2\n" USE, ""},
        {TRN2 "tensor x : sbuf u8 [3] (128, 8) at 0 step 80000\n" USE, ""},
        {TRN2 "tensor x : psum u8 [9] (128, 512) at 0 step 512\n" USE, ""},
        {TRN2 "tensor x : psum u8 [9] (128, 512) at 0 step 768\n" USE,
         "'x[5]' takes bytes [3,840, 4,352) of psum and crosses the boundary of a bank of 2,048; "
         "start "
         "it at a bank, or cut it in pieces of at most 2,048 bytes"},
    };
    check_rows(rows, sizeof rows / sizeof rows[0], NULL);
}

static void granules(void **state) {
    (void)state;
    static const row rows[] = {
        {"kernel k on 910b\ntensor x : ub u8 [3] (40) at 0 step 64\n" USE, ""},
        {"kernel k on 910b\ntensor x : ub u8 [3] (40) at 0 step 32\n" USE,
         "a tile of 'x' has 40 bytes, and ub hands out 64 for it; give it a larger step"},
        {"kernel k on 910b\ntensor x : ub u8 [3] (40) at 0\n" USE,
         "'x[1]' starts at byte 40 of ub, which is not a multiple of 32; try 64|a tile of 'x' has "
         "40 "
         "bytes, and ub hands out 64 for it; give it a larger step"},
        {"kernel k on 910b\ntensor x : ub u8 [3] (40) mod base 0 free 3\n" USE,
         "'x[1]' starts at byte 40 of ub, which is not a multiple of 32; try 64|a tile of 'x' has "
         "40 "
         "bytes, and ub hands out 64 for it; make it that large"},
        {"kernel k on 910b\ntensor x : ub u8 [1] (40) at 0\n" USE, ""},
        {"kernel k on sm_100\ntensor x : tmem u8 [2] (128, 160) ring 2\nalloc x[0]\n"
         "simt a writes x[0]\nsimt b reads x[0]\nfree x[0]\n",
         "a tile of 'x' has 160 bytes, and tmem hands out 256 (powers of two) for it; make it that "
         "large"},
        {"kernel k on sm_100\ntensor x : tmem u8 [2] (128, 256) ring 2\nalloc x[0]\n"
         "simt a writes x[0]\nsimt b reads x[0]\nfree x[0]\n",
         ""},
        {"kernel k on sm_100\ntensor x : tmem u8 [2] (128, 160) at 0 step 160\n"
         "simt a writes x[0]\nsimt b reads x[0]\n",
         "'x[1]' starts at byte 160 of tmem, which is not a multiple of 128; try 256"},
    };
    check_rows(rows, sizeof rows / sizeof rows[0], NULL);
}

/* A memory with every rule at once. */
static void own_target(void **state) {
    (void)state;
    static const char text[] = "target own\nspace s {\n lanes 8\n bytes 1 KiB\n"
                               " reserved 128\n align 4\n granule 16\n bank 256 exclusive\n"
                               " start 1 to 4 at 0, 4\n start 5 to 8 at 0\n}\n"
                               "engine e { reads s; writes s }\n";
    spad_target *target;
    spad_error error;
    assert_ok(spad_target_parse(&target, text, strlen(text), "own", NULL, NULL, &error), &error);
#define OWN(places) "kernel k on own\ntensor x : s u8 " places "\ne a writes x[0]\ne b reads x[0]\n"
    static const row rows[] = {
        {OWN("[3] (4, 250) at 0 step 256"), ""},
        {OWN("[4] (4, 250) at 0 step 256"),
         "'x[3]' takes bytes [768, 1,018) of s, which has 896 for tensors and reserves 128 after "
         "them; move it, make it smaller, or use fewer slots"},
        {OWN("[3] (4, 250) at 2 step 256"),
         "'x[0]' starts at byte 2 of s, which is not a multiple of 4; try 4"},
        {OWN("[3] (4, 250) at 256 step 240"),
         "'x[2]' takes bytes [736, 986) of s, which has 896 for tensors and reserves 128 after "
         "them; move it, make it smaller, or use fewer slots|'x[1]' takes bytes [496, 746) of s "
         "and crosses the boundary of a bank of 256; start it at a bank, or cut it in pieces of at "
         "most 256 bytes|a tile of 'x' has 250 bytes, and s hands out 256 for it; give it a larger "
         "step"},
        {OWN("[3] (4, 250) at 0 step 128"),
         "'x[1]' takes bytes [128, 378) of s and crosses the boundary of a bank of 256; start it "
         "at "
         "a bank, or cut it in pieces of at most 256 bytes|a tile of 'x' has 250 bytes, and s "
         "hands out 256 for it; give it a larger step"},
        {OWN("[2] (4, 8) mod base 0 free 1 par 2"), ""},
        {OWN("[2] (4, 8) mod base 0 free 2"),
         "a tile of 'x' has 8 bytes, and s hands out 16 for it; make it that large"},
    };
#undef OWN
    check_rows(rows, sizeof rows / sizeof rows[0], target);
    spad_target_destroy(target);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(many_places), cmocka_unit_test(granules),
                                       cmocka_unit_test(own_target)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
