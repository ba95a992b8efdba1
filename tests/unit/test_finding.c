/* SPDX-License-Identifier: Apache-2.0
 * The codes of findings and statuses: each has a name of its own and words; and the texts that
 * errors and findings are made of. */
#include <string.h>

#include "base/entry.h"
#include "base/error.h"
#include "base/finding.h"
#include "spad/finding.h"
#include "support/support.h"

#define COUNT(code, number, severity, name, about) +1
enum { CODES = 0 SPAD_FINDING_LIST(COUNT) };

static void every_code_has_a_name_and_a_severity(void **state) {
    (void)state;
#define ROW(code, number, severity, name, about) \
    {SPAD_FINDING_##code, SPAD_SEVERITY_##severity, name, about},
    static const struct {
        spad_finding_code code;
        spad_severity severity;
        const char *name;
        const char *sentence;
    } rows[] = {SPAD_FINDING_LIST(ROW)};
    for (size_t i = 0; i < CODES; i++) {
        assert_string_equal(spad_finding_name(rows[i].code), rows[i].name);
        assert_string_equal(spad_finding_sentence(rows[i].code), rows[i].sentence);
        spad_finding finding;
        spad__finding_init(&finding, rows[i].code, "about %d", 7);
        assert_string_equal(finding.message, "about 7");
        assert_int_equal(finding.severity, rows[i].severity);
        assert_int_equal(strncmp(rows[i].name, "SPAD-", 5), 0);
        for (size_t k = 0; k < i; k++) assert_string_not_equal(rows[i].name, rows[k].name);
    }
}

static void a_finding_keeps_its_first_notes(void **state) {
    (void)state;
    spad_finding finding;
    spad__finding_init(&finding, SPAD_FINDING_RACE, "m");
    spad__finding_set_names(&finding, NULL, "other");
    assert_string_equal(finding.subject, "");
    assert_string_equal(finding.other, "other");
    for (int i = 0; i < SPAD_NOTES_MAX; i++) spad__finding_add_note(&finding, "note %d", i);
    const spad_note *last = spad__finding_add_note(&finding, "one too many");
    assert_ptr_equal(last, &finding.notes[SPAD_NOTES_MAX - 1]);
    assert_null(strstr(last->message, "one too many"));
    assert_int_equal(finding.note_count, SPAD_NOTES_MAX);
}

static void every_status_has_words(void **state) {
    (void)state;
    assert_string_equal(spad_finding_name(SPAD_FINDING_NONE), "?");
    assert_string_equal(spad_finding_sentence(SPAD_FINDING_NONE), "not a finding of this library");
    assert_string_equal(spad_severity_name((spad_severity)99), "?");
    assert_string_equal(spad_status_sentence(SPAD_OK), "nothing went wrong");
    assert_string_equal(spad_status_sentence((spad_status)1000), "not a status of this library");
    assert_string_equal(spad_status_sentence((spad_status)-1000), "not a status of this library");
}

static void an_entry_is_put_whole_or_not_at_all(void **state) {
    (void)state;
    char field[16];
    size_t used = 0;
    assert_true(spad__put_entry(field, sizeof field, &used, "%s", "four"));
    assert_true(spad__put_entry(field, sizeof field, &used, ", %d", 12345));
    assert_string_equal(field, "four, 12345");
    assert_int_equal(used, 11);
    assert_false(spad__put_entry(field, sizeof field, &used, ", %d", 678)); /* one too many */
    assert_string_equal(field, "four, 12345");
    assert_true(spad__put_entry(field, sizeof field, &used, ", %d", 67)); /* exactly */
    assert_string_equal(field, "four, 12345, 67");
    assert_false(spad__put_entry(field, sizeof field, &used, "%c", '.'));
    assert_true(spad__put_entry(field, sizeof field, &used, "%s", ""));
    assert_string_equal(field, "four, 12345, 67");
}

static void a_text_is_cut_between_characters(void **state) {
    (void)state;
    char field[10];
    spad__copy_cut(field, sizeof field, "123456789");
    assert_string_equal(field, "123456789");
    spad__copy_cut(field, sizeof field, "1234567890");
    assert_string_equal(field, "123456...");
    spad__copy_cut(field, sizeof field,
                   "1234\xE2\x82\xAC"
                   "890"); /* the euro sign would be split */
    assert_string_equal(field, "1234...");
    spad__copy_cut(field, 4, "12345"); /* no room for dots */
    assert_string_equal(field, "123");
    spad__copy_cut(field, sizeof field, "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80");
    assert_string_equal(field, "..."); /* no character begins there */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_has_a_name_and_a_severity),
        cmocka_unit_test(a_finding_keeps_its_first_notes),
        cmocka_unit_test(every_status_has_words),
        cmocka_unit_test(an_entry_is_put_whole_or_not_at_all),
        cmocka_unit_test(a_text_is_cut_between_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
