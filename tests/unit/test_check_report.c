/* SPDX-License-Identifier: Apache-2.0
 *
 * How findings look: as text with lines and carets, as JSON, as SARIF. The findings are made by
 * hand, so that every case is there.
 */
#include "support/kernels.h"
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "check/passes.h"
#include "verify/verify.h"

static const char source[] = "kernel k on trn2\n"
                             "param N = 4\n"
                             "tensor x : sbuf bf16 [N] (128, 8) ring 2\n"
                             "for i in 0..N {\n"
                             "\tdma load writes x[i]\n"
                             "    scalar exp reads x[i]\n"
                             "}\n";

typedef struct fixture {
    spad_kernel *kernel;
    spad_check *check;
    test_text text;
} fixture;

static spad_finding *add(fixture *f, spad_finding_code code, const char *file, int32_t line,
                         int32_t column, int32_t width, const char *message) {
    const spad_host memory = f->check->host;
    assert_true(spad__array_reserve(&memory, &f->check->found, 1));
    spad__found *found = &f->check->found.items[f->check->found.count++];
    memset(found, 0, sizeof *found);
    spad__finding_init(&found->finding, code, "%s", message);
    found->finding.line = line;
    found->finding.column = column;
    found->finding.width = width;
    snprintf(found->finding.file, sizeof found->finding.file, "%s", file);
    return &found->finding;
}

static void set_up(fixture *f) {
    const spad_check_options options = {.no_advice = true, .one_shape = true};
    spad_error error;
    f->kernel = test_parse_named(source, "my k.spad", NULL);
    assert_ok(spad_check_create(&f->check, f->kernel, &options, &error), &error);
    f->check->found.count = 0;
    f->check->counts = (spad_check_counts){.events = 7, .accesses = 8, .runs = 1};
    f->check->verdict = SPAD_VERDICT_PROVED_SHAPE;
    snprintf(f->check->reason, sizeof f->check->reason, "all was examined");
    test_text_init(&f->text);
}

static void tear_down(fixture *f) {
    test_text_free(&f->text);
    spad_check_destroy(f->check);
    spad_kernel_destroy(f->kernel);
}

/* An error with notes, a warning seen often, a finding without a place. */
static void add_some(fixture *f) {
    spad_finding *first =
        add(f, SPAD_FINDING_LIFETIME_CONFLICT, "my k.spad", 6, 5, 10, "'x[1]' is read \"late\"");
    spad_note *note = spad__finding_add_note(first, "it was written here");
    note->line = 5;
    note->column = 2;
    note->width = 8;
    spad__finding_add_note(first, "a deeper ring would help");
    spad__finding_set_names(first, "x[1]", "x[3]");
    first->time = 12;
    spad_finding *second = add(f, SPAD_FINDING_NEVER_READ, "my k.spad", 3, 8, 1, "'x' is idle");
    second->count = 9;
    add(f, SPAD_FINDING_LIFETIME_CONFLICT, "", 0, 0, 0, "nowhere");
    f->check->counts.errors = 2;
    f->check->counts.warnings = 1;
    f->check->verdict = SPAD_VERDICT_WRONG;
    f->check->reason[0] = '\0';
}

static void text_shows_both_ends(void **state) {
    (void)state;
    fixture f;
    spad_error error;
    set_up(&f);
    assert_ok(
        spad_check_write_text(f.check, f.kernel, source, strlen(source), &f.text.sink, &error),
        &error);
    assert_string_equal(f.text.bytes, "k: proved for this shape: all was examined\n");
    add_some(&f);
    test_text_clear(&f.text);
    assert_ok(
        spad_check_write_text(f.check, f.kernel, source, strlen(source), &f.text.sink, &error),
        &error);
    assert_string_equal(f.text.bytes,
                        "my k.spad:6:5: error: 'x[1]' is read \"late\" [SPAD-LIFETIME-CONFLICT]\n"
                        "    6 |     scalar exp reads x[i]\n"
                        "      |     ^~~~~~~~~~\n"
                        "my k.spad:5:2: note: it was written here\n"
                        "    5 |     dma load writes x[i]\n"
                        "      |     ^~~~~~~~\n"
                        "my k.spad: note: a deeper ring would help\n"
                        "my k.spad:3:8: warning: 'x' is idle (seen 9 times) [SPAD-NEVER-READ]\n"
                        "    3 | tensor x : sbuf bf16 [N] (128, 8) ring 2\n"
                        "      |        ^\n"
                        "error: nowhere [SPAD-LIFETIME-CONFLICT]\n"
                        "k: 2 errors, 1 warning\n");
    /* without the text, and with another one that is shorter */
    test_text_clear(&f.text);
    f.check->full = true;
    f.check->found.count = 1;
    assert_ok(spad_check_write_text(f.check, f.kernel, NULL, 0, &f.text.sink, &error), &error);
    assert_ok(spad_check_write_text(f.check, f.kernel, "one line", 8, &f.text.sink, &error),
              &error);
    static const char plain[] =
        "my k.spad:6:5: error: 'x[1]' is read \"late\" [SPAD-LIFETIME-CONFLICT]\n"
        "my k.spad:5:2: note: it was written here\n"
        "my k.spad: note: a deeper ring would help\n"
        "k: 2 errors, 1 warning and more that are not shown\n";
    assert_memory_equal(f.text.bytes, plain, strlen(plain));
    assert_string_equal(f.text.bytes + strlen(plain), plain);
    tear_down(&f);
}

static void json_has_every_fact(void **state) {
    (void)state;
    fixture f;
    spad_error error;
    set_up(&f);
    add_some(&f);
    f.check->found.count = 1;
    assert_ok(spad_check_write_json(f.check, f.kernel, &f.text.sink, &error), &error);
    assert_string_equal(f.text.bytes, "{\n"
                                      "  \"kernel\": \"k\",\n"
                                      "  \"file\": \"my k.spad\",\n"
                                      "  \"target\": \"trn2\",\n"
                                      "  \"params\": {\n"
                                      "    \"N\": 4\n"
                                      "  },\n"
                                      "  \"verdict\": \"wrong\",\n"
                                      "  \"reason\": \"\",\n"
                                      "  \"errors\": 2,\n"
                                      "  \"warnings\": 1,\n"
                                      "  \"advice\": 0,\n"
                                      "  \"compiler_faults\": 0,\n"
                                      "  \"hidden\": 0,\n"
                                      "  \"complete\": true,\n"
                                      "  \"events\": 7,\n"
                                      "  \"accesses\": 8,\n"
                                      "  \"runs\": 1,\n"
                                      "  \"findings\": [\n"
                                      "    {\n"
                                      "      \"code\": \"SPAD-LIFETIME-CONFLICT\",\n"
                                      "      \"severity\": \"error\",\n"
                                      "      \"fingerprint\": \"\",\n"
                                      "      \"cause\": 0,\n"
                                      "      \"line\": 6,\n"
                                      "      \"column\": 5,\n"
                                      "      \"width\": 10,\n"
                                      "      \"message\": \"'x[1]' is read \\\"late\\\"\",\n"
                                      "      \"subject\": \"x[1]\",\n"
                                      "      \"other\": \"x[3]\",\n"
                                      "      \"time\": 12,\n"
                                      "      \"count\": 1,\n"
                                      "      \"notes\": [\n"
                                      "        {\n"
                                      "          \"line\": 5,\n"
                                      "          \"column\": 2,\n"
                                      "          \"width\": 8,\n"
                                      "          \"message\": \"it was written here\"\n"
                                      "        },\n"
                                      "        {\n"
                                      "          \"message\": \"a deeper ring would help\"\n"
                                      "        }\n"
                                      "      ]\n"
                                      "    }\n"
                                      "  ]\n"
                                      "}\n");
    tear_down(&f);
}

/* How often a piece is in a text. */
static int count(const char *text, const char *piece) {
    int times = 0;
    for (const char *at = text; (at = strstr(at, piece)) != NULL; at++) times++;
    return times;
}

static void sarif_has_rules_and_places(void **state) {
    (void)state;
    fixture f;
    spad_error error;
    set_up(&f);
    add_some(&f);
    const spad_check *checks[] = {f.check, f.check};
    assert_ok(spad_check_write_sarif(checks, 2, &f.text.sink, &error), &error);
    const char *text = f.text.bytes;
    assert_int_equal(count(text, "\"version\": \"2.1.0\""), 1);
    assert_int_equal(count(text, "\"id\": "), 2); /* a rule per code */
    assert_int_equal(count(text, "\"ruleId\": "), 6);
    assert_int_equal(count(text, "\"ruleIndex\": 0"), 4);
    assert_int_equal(count(text, "\"ruleIndex\": 1"), 2);
    assert_int_equal(count(text, "\"uri\": \"my%20k.spad\""), 6);
    assert_int_equal(count(text, "\"relatedLocations\""), 2);
    assert_int_equal(count(text, "\"startLine\": 6"), 2);
    assert_int_equal(count(text, "\"endColumn\": 15"), 2);
    assert_int_equal(count(text, "\"occurrenceCount\": 9"), 2);
    assert_int_equal(count(text, "\"locations\": []"), 2);
    assert_int_equal(count(text, "{"), count(text, "}"));
    test_text_clear(&f.text);
    assert_ok(spad_check_write_sarif(NULL, 0, &f.text.sink, &error), &error);
    assert_int_equal(count(f.text.bytes, "\"results\": []"), 1);
    assert_int_equal(count(f.text.bytes, "\"rules\": []"), 1);
    tear_down(&f);
}

/* ---- what no run gives ------------------------------------------------------------- */

static void faults_of_a_text_are_findings(void **state) {
    (void)state;
    static const char bad[] =
        "kernel k on trn2\ntensor x : sbuf bf17 (128, 8)\nvector w writes y\n";
    spad_diagnostics *faults;
    spad_kernel *kernel;
    spad_check *check;
    spad_error error;
    test_text text;
    test_text_init(&text);
    assert_ok(spad_diagnostics_create(&faults, NULL, &error), &error);
    assert_int_equal(spad_kernel_parse(&kernel, bad, strlen(bad), "bad.spad", NULL, faults, &error),
                     SPAD_ERR_SYNTAX);
    assert_ok(spad_check_create_from_faults(&check, faults, "bad.spad", NULL, &error), &error);
    assert_int_equal(spad_check_get_verdict(check), SPAD_VERDICT_WRONG);
    assert_string_equal(spad_check_get_reason(check), "the text cannot be read");
    assert_int_equal(spad_check_get_counts(check).errors, 2);
    assert_int_equal(spad_check_get_finding(check, 0)->line, 2);
    assert_int_equal(spad_check_get_finding(check, 1)->line, 3);
    assert_int_equal(spad_check_get_finding(check, 1)->code, SPAD_FINDING_SYNTAX);
    assert_ok(spad_check_write_json(check, NULL, &text.sink, &error), &error);
    assert_int_equal(count(text.bytes, "\"kernel\": null"), 1);
    assert_int_equal(count(text.bytes, "\"file\": \"bad.spad\""), 1);
    test_text_clear(&text);
    assert_ok(spad_check_write_text(check, NULL, bad, strlen(bad), &text.sink, &error), &error);
    assert_int_equal(count(text.bytes, "bad.spad:2:17: error: "), 1);
    assert_int_equal(count(text.bytes, "    3 | vector w writes y\n"), 1);
    assert_int_equal(count(text.bytes, "bad.spad: 2 errors: the text cannot be read\n"), 1);
    test_text_clear(&text);
    assert_ok(spad_check_write_text(check, NULL, NULL, 0, &text.sink, &error), &error);
    assert_int_equal(count(text.bytes, " | "), 0);
    test_text_free(&text);
    spad_check_destroy(check);
    spad_diagnostics_destroy(faults);
}

/* A kernel of one ring of a size, with its layout if it has one. */
typedef struct ring_kernel {
    spad_kernel *kernel;
    spad_layout *layout;
    spad_check *check;
    spad_error fault;
} ring_kernel;

static void make_ring(ring_kernel *r, int64_t depth) {
    const spad_define ring = {"x", depth};
    const spad_kernel_options options = {.rings = &ring, .ring_count = 1};
    static const char text[] = "kernel k on trn2\n"
                               "param N = 500\n"
                               "tensor x : sbuf u8 [N] (128, 1024) ring 2\n"
                               "for i in 0..N {\n"
                               "    dma load writes x[i]\n"
                               "    scalar exp reads x[i]\n"
                               "}\n";
    spad_error error;
    r->kernel = test_parse_with(text, &options);
    spad_layout_create(&r->layout, r->kernel, NULL, &r->fault);
    assert_ok(spad_check_create(&r->check, r->kernel, NULL, &error), &error);
}

static void drop_ring(ring_kernel *r) {
    spad_check_destroy(r->check);
    spad_layout_destroy(r->layout);
    spad_kernel_destroy(r->kernel);
}

static void memories_that_are_too_small_are_findings(void **state) {
    (void)state;
    ring_kernel r;
    spad_error error;
    make_ring(&r, 3);
    assert_ok(spad__check_add_layout(r.check, r.layout, &error), &error);
    assert_int_equal(spad_check_get_counts(r.check).errors, 0);
    assert_int_equal(spad_check_get_verdict(r.check), SPAD_VERDICT_PROVED_ALL);
    drop_ring(&r);

    make_ring(&r, 250);
    assert_ok(spad__check_add_layout(r.check, r.layout, &error), &error);
    const spad_finding *f = spad_check_get_finding(r.check, 0);
    assert_int_equal(f->code, SPAD_FINDING_DOES_NOT_FIT);
    assert_int_equal(f->line, 3);
    assert_string_equal(f->subject, "x");
    assert_string_equal(f->message, "sbuf is too small: 256,000 B per lane are needed at the same "
                                    "time, and it has 212,984 B; 'spad fit' shows what would fit");
    assert_int_equal(f->notes[0].line, 4);
    assert_string_equal(f->notes[0].message, "the peak is here");
    assert_int_equal(spad_check_get_counts(r.check).errors, 1);
    assert_int_equal(spad_check_get_verdict(r.check), SPAD_VERDICT_WRONG);
    assert_non_null(
        strstr(spad_check_get_reason(r.check), "it does not fit; apart from that, proved"));
    drop_ring(&r);

    make_ring(&r, 2000000);
    assert_null(r.layout);
    assert_ok(spad__check_add_fault(r.check, &r.fault, &error), &error);
    f = spad_check_get_finding(r.check, 0);
    assert_int_equal(f->code, SPAD_FINDING_DOES_NOT_FIT);
    assert_int_equal(f->line, 3);
    assert_string_equal(f->message, r.fault.message);
    assert_int_equal(spad_check_get_verdict(r.check), SPAD_VERDICT_WRONG);
    drop_ring(&r);
}

static void writing_may_fail(void **state) {
    (void)state;
    fixture f;
    spad_error error;
    set_up(&f);
    add_some(&f);
    const spad_check *checks[] = {f.check};
    f.text.fail_after = 10;
    assert_int_equal(
        spad_check_write_text(f.check, f.kernel, source, strlen(source), &f.text.sink, &error),
        SPAD_ERR_IO);
    assert_int_equal(spad_check_write_json(f.check, f.kernel, &f.text.sink, &error), SPAD_ERR_IO);
    assert_int_equal(spad_check_write_sarif(checks, 1, &f.text.sink, &error), SPAD_ERR_IO);
    tear_down(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_shows_both_ends),
        cmocka_unit_test(json_has_every_fact),
        cmocka_unit_test(sarif_has_rules_and_places),
        cmocka_unit_test(faults_of_a_text_are_findings),
        cmocka_unit_test(memories_that_are_too_small_are_findings),
        cmocka_unit_test(writing_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
