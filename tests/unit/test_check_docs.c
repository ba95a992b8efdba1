/* SPDX-License-Identifier: Apache-2.0
 *
 * docs/findings.md is accurate. Under a heading "### SPAD-..." the first block gives that
 * finding, with the message that is quoted after it, and no other error; with the diff that
 * follows, it does not give it and has no errors. A block that does not start with "kernel"
 * follows the prelude.
 */
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spad/check.h"
#include "support/files.h"

enum { BLOCK_MAX = 4096 };

/* The block that starts after *at, with the prelude in front where it is needed. */
static void next_block(const char **at, const char *prelude, char *block) {
    const char *fence = strstr(*at, "```spad");
    assert_non_null(fence);
    const char *begin = strchr(fence, '\n') + 1;
    const char *end = strstr(begin, "```");
    assert_non_null(end);
    const bool whole = strncmp(begin, "kernel ", 7) == 0;
    const int count =
        snprintf(block, BLOCK_MAX, "%s%.*s", whole ? "" : prelude, (int)(end - begin), begin);
    assert_true(count > 0 && count < BLOCK_MAX);
    *at = end + 3;
}

/* The block with the diff that follows *at; freed by the caller. */
static char *corrected(const char *block, const char *at, const char *name) {
    const char *fence = strstr(at, "```diff\n");
    const char *next = strstr(at, "\n### ");
    const bool missing = fence == NULL || (next != NULL && next < fence);
    if (missing) print_error("%s: no diff corrects the block\n", name);
    assert_false(missing);
    const char *begin = fence + strlen("```diff\n");
    return test_apply_diff(block, begin, (size_t)(strstr(begin, "```") - begin));
}

/* The lines in front of the next diff that start with ">", joined; "" if there are none. */
static void next_quote(const char *at, char *quote) {
    const char *line = strstr(at, "\n> ");
    const char *diff = strstr(at, "```diff");
    quote[0] = '\0';
    if (line == NULL || (diff != NULL && line > diff)) return;
    while (strncmp(line, "\n> ", 3) == 0) {
        const size_t length = strcspn(line + 3, "\n");
        if (quote[0] != '\0') strcat(quote, " ");
        strncat(quote, line + 3, length);
        line += 3 + length;
    }
}

static spad_check *check_block(const char *block) {
    spad_kernel *kernel;
    spad_check *check;
    spad_error error;
    spad_diagnostics *faults;
    assert_ok(spad_diagnostics_create(&faults, NULL, &error), &error);
    if (spad_kernel_parse(&kernel, block, strlen(block), "findings.md", NULL, faults, &error) ==
        SPAD_OK) {
        assert_ok(spad_check_create(&check, kernel, NULL, &error), &error);
    } else {
        assert_ok(spad_check_create_from_faults(&check, faults, "findings.md", NULL, &error),
                  &error);
    }
    spad_diagnostics_destroy(faults);
    spad_kernel_destroy(kernel); /* findings own what they say */
    return check;
}

/* The first finding of that name; counts errors of other names. */
static const spad_finding *find(const spad_check *check, const char *name, int *others) {
    const spad_finding *found = NULL;
    *others = 0;
    for (size_t i = 0; i < spad_check_finding_count(check); i++) {
        const spad_finding *finding = spad_check_get_finding(check, i);
        if (strcmp(spad_finding_name(finding->code), name) == 0) {
            if (found == NULL) found = finding;
        } else if (finding->severity == SPAD_SEVERITY_ERROR) {
            print_error("%s: %s\n", name, finding->message);
            ++*others;
        }
    }
    return found;
}

static void check_section(const char *at, const char *name, const char *prelude) {
    char block[BLOCK_MAX];
    char quote[BLOCK_MAX];
    int others;
    next_block(&at, prelude, block);
    next_quote(at, quote);
    spad_check *check = check_block(block);
    const spad_finding *finding = find(check, name, &others);
    if (finding == NULL) print_error("%s: the first block does not give it\n", name);
    assert_non_null(finding);
    if (quote[0] != '\0') {
        if (strcmp(finding->message, quote) != 0)
            print_error("%s: another message is quoted\n", name);
        assert_string_equal(finding->message, quote);
        assert_int_equal(others, 0);
    }
    spad_check_destroy(check);

    char *right = corrected(block, at, name);
    check = check_block(right);
    finding = find(check, name, &others);
    if (finding != NULL) print_error("%s: the corrected kernel gives it, too\n", name);
    assert_null(finding);
    assert_int_equal(others, 0);
    spad_check_destroy(check);
    free(right);
}

static void every_section_shows_its_finding(void **state) {
    (void)state;
    char *page = test_read_file("docs/findings.md");
    char prelude[BLOCK_MAX];
    int count = 0;
    const char *at = strstr(page, "```spad prelude");
    assert_non_null(at);
    next_block(&at, "", prelude);
    while ((at = strstr(at, "\n### SPAD-")) != NULL) {
        char name[64];
        at += strlen("\n### ");
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "\n"), at);
        check_section(at, name, prelude);
        count++;
    }
    assert_true(count >= 43);
    free(page);
}

static void every_finding_has_a_section(void **state) {
    (void)state;
    char *page = test_read_file("docs/findings.md");
    int missing = 0;
    for (int code = 1; code < 100; code++) {
        const char *name = spad_finding_name((spad_finding_code)code);
        char heading[96];
        if (strcmp(name, "?") == 0 || code == SPAD_FINDING_IMPLICIT_TENSOR) continue;
        snprintf(heading, sizeof heading, "\n### %s\n", name);
        if (strstr(page, heading) == NULL) print_error("docs/findings.md does not have %s\n", name);
        missing += strstr(page, heading) == NULL;
    }
    assert_int_equal(missing, 0);
    free(page);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_section_shows_its_finding),
        cmocka_unit_test(every_finding_has_a_section),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
