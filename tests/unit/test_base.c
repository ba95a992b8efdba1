/* SPDX-License-Identifier: Apache-2.0
 * The ground floor: errors, checked arithmetic, memory, text. */
#include "support/support.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/text.h"

/* ---- status and error -------------------------------------------------------------- */

static void every_status_has_a_code_and_a_sentence(void **state) {
    (void)state;
#define CHECK(name, value, code, sentence)                                \
    assert_int_equal(SPAD_ERR_##name, value);                             \
    assert_string_equal(spad_status_code(SPAD_ERR_##name), code);         \
    assert_string_equal(spad_status_sentence(SPAD_ERR_##name), sentence); \
    assert_memory_equal(code, "SPAD-", 5);
    SPAD_STATUS_LIST(CHECK)
#undef CHECK
    assert_string_equal(spad_status_code(SPAD_OK), "SPAD-OK");
    assert_string_equal(spad_status_code((spad_status)12345), "SPAD-INTERNAL");
    assert_string_equal(spad_version(), SPAD_VERSION_STRING);
}

static void long_texts_are_cut_between_characters(void **state) {
    (void)state;
    char field[10];
    spad__copy_cut(field, sizeof field, "short");
    assert_string_equal(field, "short");
    spad__copy_cut(field, sizeof field, "exactly 9");
    assert_string_equal(field, "exactly 9");
    spad__copy_cut(field, sizeof field, "a text of many bytes");
    assert_string_equal(field, "a text...");
    spad__copy_cut(field, sizeof field, "12345\xE2\x86\xBB and more"); /* an arrow at the cut */
    assert_string_equal(field, "12345...");
    spad_error error;
    char name[1000];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    spad__fail(&error, SPAD_ERR_NAME, "name '%s'", name);
    assert_int_equal(strlen(error.message), SPAD_MESSAGE_MAX - 1);
    assert_string_equal(error.message + SPAD_MESSAGE_MAX - 4, "...");
    assert_int_equal(error.needed, SPAD_NO_FACT);
    assert_int_equal(spad__fail(NULL, SPAD_ERR_NAME, "unused"), SPAD_ERR_NAME);
}

/* ---- arithmetic -------------------------------------------------------------------- */

static void rounding_agrees_with_a_search(void **state) {
    (void)state;
    for (int64_t value = -70; value <= 70; value++) {
        for (int64_t align = 1; align <= 33; align++) {
            int64_t up = value;
            while (up % align != 0) up++;
            int64_t down = value;
            while (down % align != 0) down--;
            int64_t out;
            assert_true(spad__align_up(value, align, &out));
            assert_int_equal(out, up);
            assert_true(spad__align_down(value, align, &out));
            assert_int_equal(out, down);
            assert_int_equal(spad__floor_div(value, align), down / align);
            assert_int_equal(spad__floor_mod(value, align), value - down);
        }
    }
}

static void results_that_do_not_fit_are_refused(void **state) {
    (void)state;
    int64_t out = 5;
    assert_false(spad__add(INT64_MAX, 1, &out));
    assert_false(spad__sub(INT64_MIN, 1, &out));
    assert_false(spad__mul(INT64_MAX / 2, 3, &out));
    assert_false(spad__align_up(INT64_MAX, 2, &out));
    assert_false(spad__align_down(INT64_MIN, 3, &out));
    assert_int_equal(out, 5);
    assert_true(spad__align_up(INT64_MAX - 1, 2, &out));
    assert_true(spad__align_down(INT64_MIN, 1 << 20, &out));
    assert_int_equal(out, INT64_MIN);
}

/* ---- memory ------------------------------------------------------------------------ */

static spad_status use_arrays_and_arena(const spad_host *host, void *context) {
    (void)context;
    spad_status status = SPAD_ERR_HOST_MEMORY;
    SPAD_ARRAY(int) numbers = {0};
    spad__arena arena = {.host = *host};
    for (int i = 0; i < 1000; i++) {
        if (!spad__array_reserve(host, &numbers, 1)) goto done;
        numbers.items[numbers.count++] = i;
    }
    for (int i = 0; i < 1000; i++) {
        if (spad__arena_new(&arena, (size_t)i * 7) == NULL) goto done;
    }
    for (int i = 0; i < 1000; i++) assert_int_equal(numbers.items[i], i);
    status = SPAD_OK;
done:
    spad__array_free(host, &numbers);
    spad__arena_free(&arena);
    return status;
}

static void arrays_and_arenas_survive_failing_allocations(void **state) {
    (void)state;
    test_fail_each_allocation(use_arrays_and_arena, NULL);
    test_host host;
    test_host_init(&host);
    SPAD_ARRAY(int64_t) array = {0};
    assert_false(spad__array_reserve(&host.host, &array, SIZE_MAX / 2)); /* absurd: no call */
    assert_int_equal(host.calls, 0);
}

/* A product that does not fit must not wrap to a small block: nothing is asked of the host. */
static void arrays_whose_bytes_do_not_fit_are_refused(void **state) {
    (void)state;
    test_host host;
    test_host_init(&host);
    spad__arena arena = {.host = host.host};
    const size_t counts[] = {SIZE_MAX / 8 + 1, SIZE_MAX / 8 + 2, PTRDIFF_MAX / 8 + 1, SIZE_MAX};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        assert_null(spad__new_array(&host.host, counts[i], 8));
        assert_null(spad__arena_array(&arena, counts[i], 8));
    }
    assert_int_equal(host.calls, 0);
    int64_t *items = spad__new_array(&host.host, 3, sizeof *items);
    assert_non_null(items);
    for (size_t i = 0; i < 3; i++) assert_int_equal(items[i], 0);
    spad__free(&host.host, items, 3 * sizeof *items);
    assert_non_null(spad__arena_array(&arena, 3, sizeof *items));
    spad__arena_free(&arena);
    test_host_assert_clean(&host);
}

static void an_arena_rewinds_to_a_mark(void **state) {
    (void)state;
    test_host host;
    test_host_init(&host);
    spad__arena arena = {.host = host.host};
    const spad__arena_mark empty = spad__arena_here(&arena);
    char *first = spad__arena_copy(&arena, "first", 5);
    assert_string_equal(first, "first");
    const spad__arena_mark mark = spad__arena_here(&arena);
    char *second = spad__arena_new(&arena, 16);
    memset(spad__arena_new(&arena, 100000), 1, 100000); /* a chunk of its own */
    spad__arena_rewind(&arena, mark);
    assert_string_equal(first, "first");
    char *again = spad__arena_new(&arena, 16);
    assert_ptr_equal(again, second);
    assert_int_equal(again[0], 0); /* zeroed again */
    spad__arena_rewind(&arena, empty);
    test_host_assert_clean(&host);
}

/* ---- text -------------------------------------------------------------------------- */

static void the_printer_joins_pieces_of_any_length(void **state) {
    (void)state;
    test_text text;
    test_text_init(&text);
    spad__out out;
    spad__out_start(&out, &text.sink);
    char expected[3000];
    size_t length = 0;
    for (int i = 0; i < 200; i++) {
        spad__out_format(&out, "%d, ", i * 1000);
        length += (size_t)sprintf(expected + length, "%d, ", i * 1000);
    }
    char big[700];
    memset(big, 'x', sizeof big);
    spad__out_bytes(&out, big, sizeof big);
    memcpy(expected + length, big, sizeof big);
    expected[length + sizeof big] = '\0';
    assert_ok(spad__out_finish(&out, NULL), (&(spad_error){0}));
    assert_string_equal(text.bytes, expected);
    test_text_free(&text);
}

static void a_sink_that_fails_is_reported(void **state) {
    (void)state;
    test_text text;
    test_text_init(&text);
    text.fail_after = 10;
    spad__out out;
    spad_error error;
    spad__out_start(&out, &text.sink);
    spad__out_repeat(&out, "0123456789", 100);
    assert_int_equal(spad__out_finish(&out, &error), SPAD_ERR_IO);
    assert_string_equal(error.message, "writing the output failed");
    test_text_free(&text);
}

static void json_is_escaped_and_indented(void **state) {
    (void)state;
    test_text text;
    test_text_init(&text);
    spad__out out;
    spad__json json;
    spad__out_start(&out, &text.sink);
    spad__json_start(&json, &out);
    spad__json_open(&json, '{');
    spad__json_key_string(&json, "name", "a\"b\\c\n\t\x01\xFF\xE2\x86\xBB");
    spad__json_key_int(&json, "min", INT64_MIN);
    spad__json_key(&json, "list");
    spad__json_open(&json, '[');
    spad__json_bool(&json, true);
    spad__json_string(&json, NULL);
    spad__json_close(&json, ']');
    spad__json_key(&json, "empty");
    spad__json_open(&json, '[');
    spad__json_close(&json, ']');
    spad__json_key_bool(&json, "no", false);
    spad__json_close(&json, '}');
    spad__json_end(&json);
    assert_ok(spad__out_finish(&out, NULL), (&(spad_error){0}));
    assert_string_equal(
        text.bytes, "{\n"
                    "  \"name\": \"a\\\"b\\\\c\\u000a\\u0009\\u0001\xEF\xBF\xBD\xE2\x86\xBB\",\n"
                    "  \"min\": -9223372036854775808,\n"
                    "  \"list\": [\n"
                    "    true,\n"
                    "    null\n"
                    "  ],\n"
                    "  \"empty\": [],\n"
                    "  \"no\": false\n"
                    "}\n");
    test_text_free(&text);
}

static void bad_utf8_is_recognised(void **state) {
    (void)state;
    assert_int_equal(spad__utf8_length("a", 1), 1);
    assert_int_equal(spad__utf8_length("\xC3\xA9", 2), 2);
    assert_int_equal(spad__utf8_length("\xC3", 1), 0);         /* cut */
    assert_int_equal(spad__utf8_length("\xC0\x80", 2), 0);     /* overlong */
    assert_int_equal(spad__utf8_length("\xED\xA0\x80", 3), 0); /* surrogate */
    assert_int_equal(spad__utf8_length("\xF4\x90\x80\x80", 4), 0);
    assert_int_equal(spad__utf8_length("\xF0\x9F\x98\x80", 4), 4);
    assert_int_equal(spad__utf8_length("\x80", 1), 0);
}

static void close_matches_come_nearest_first(void **state) {
    (void)state;
    spad__nearest nearest;
    char phrase[128];
    spad__nearest_start(&nearest, "trn4");
    spad__nearest_phrase(&nearest, phrase, sizeof phrase);
    assert_string_equal(phrase, "");
    static const char *const names[] = {"sm_90", "trn1", "trn2", "TRN4x", "trn3"};
    for (size_t i = 0; i < 5; i++) spad__nearest_offer(&nearest, names[i]);
    spad__nearest_phrase(&nearest, phrase, sizeof phrase);
    assert_string_equal(phrase, "; did you mean 'trn1', 'trn2' or 'TRN4x'?");
}

static void what_does_not_fit_is_cut_off(void **state) {
    (void)state;
    char field[12] = "";
    size_t used = spad__append(field, sizeof field, 0, "%s = %d", "N", 4);
    assert_int_equal(used, 5);
    used = spad__append(field, sizeof field, used, ", %s", "M = 12345");
    assert_string_equal(field, "N = 4, M = ");
    assert_int_equal(used, sizeof field - 1);
    assert_int_equal(spad__append(field, sizeof field, used, "more"), used);
    assert_string_equal(field, "N = 4, M = ");
    assert_int_equal(spad__append(field, 6, 3, "ab"), 5); /* just fits */
    assert_string_equal(field, "N =ab");
}

static void numbers_are_for_people(void **state) {
    (void)state;
    assert_string_equal(spad__grouped(0).text, "0");
    assert_string_equal(spad__grouped(999).text, "999");
    assert_string_equal(spad__grouped(-1000).text, "-1,000");
    assert_string_equal(spad__grouped(INT64_MIN).text, "-9,223,372,036,854,775,808");
    assert_string_equal(spad__short_size(1023).text, "1023 B");
    assert_string_equal(spad__short_size(-1536).text, "-1.5 KiB");
    assert_string_equal(spad__short_size(INT64_MAX).text, "8 EiB");
    assert_string_equal(spad__exact_size(163840).text, "163,840 B");
    assert_string_equal(spad__both_sizes(1023).text, "1,023 B");
    assert_string_equal(spad__both_sizes(100000).text, "100,000 B (97.7 KiB)");
    assert_string_equal(spad__both_sizes(INT64_MIN).text, "-9,223,372,036,854,775,808 B (-8 EiB)");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_a_code_and_a_sentence),
        cmocka_unit_test(what_does_not_fit_is_cut_off),
        cmocka_unit_test(long_texts_are_cut_between_characters),
        cmocka_unit_test(rounding_agrees_with_a_search),
        cmocka_unit_test(results_that_do_not_fit_are_refused),
        cmocka_unit_test(arrays_and_arenas_survive_failing_allocations),
        cmocka_unit_test(arrays_whose_bytes_do_not_fit_are_refused),
        cmocka_unit_test(an_arena_rewinds_to_a_mark),
        cmocka_unit_test(the_printer_joins_pieces_of_any_length),
        cmocka_unit_test(a_sink_that_fails_is_reported),
        cmocka_unit_test(json_is_escaped_and_indented),
        cmocka_unit_test(bad_utf8_is_recognised),
        cmocka_unit_test(close_matches_come_nearest_first),
        cmocka_unit_test(numbers_are_for_people),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
