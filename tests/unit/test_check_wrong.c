/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels that are wrong on purpose. A line in the first comment of each file of
 * examples/kernels/wrong says which findings it gives: `# gives: SPAD-...`, several with
 * spaces between. All of them are found, and no error that is not there. Every finding that
 * the checker has is given by a file.
 */
#include "support/kernels.h"
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spad/check.h"
#include "support/files.h"

enum { CODES_MAX = 100 };

#define FOLDER TEST_KERNELS "/wrong"

/* Is the code one of the words of the line? */
static bool is_listed(const char *line, const char *code) {
    const size_t length = strlen(code);
    for (const char *at = strstr(line, code); at != NULL; at = strstr(at + 1, code)) {
        if (at[-1] == ' ' && (at[length] == ' ' || at[length] == '\0')) return true;
    }
    return false;
}

static int compare_codes(const char *name, const char *line, const spad_check *check, bool *given) {
    int faults = 0;
    char left[512];
    snprintf(left, sizeof left, "%s", line);
    for (size_t i = 0; i < spad_check_finding_count(check); i++) {
        const spad_finding *finding = spad_check_get_finding(check, i);
        const char *code = spad_finding_name(finding->code);
        const bool listed = is_listed(line, code);
        if (listed) given[finding->code] = true;
        if (!listed && finding->severity == SPAD_SEVERITY_ERROR) {
            print_error("%s:%d: %s: %s\n", name, finding->line, code, finding->message);
            faults++;
        }
        char *at = strstr(left, code);
        while (listed && at != NULL) { /* cross it out */
            memset(at, ' ', strlen(code));
            at = strstr(left, code);
        }
    }
    if (strstr(left, "SPAD-") != NULL) {
        print_error("%s: not found: %s\n", name, left);
        faults++;
    }
    return faults;
}

static int check_file(const char *name, bool *given) {
    static const char mark[] = "# gives: ";
    char path[512];
    snprintf(path, sizeof path, "%s/%s", FOLDER, name);
    char *text = test_read_file(path);
    char line[512];
    spad_kernel *kernel;
    spad_check *check;
    spad_error error;
    const char *gives = strstr(text, mark);
    if (gives == NULL) {
        print_error("%s has no line '%s...'\n", name, mark);
        free(text);
        return 1;
    }
    snprintf(line, sizeof line, "%.*s", (int)strcspn(gives, "\n"), gives);
    kernel = test_parse_named(text, name, NULL);
    assert_ok(spad_check_create(&check, kernel, NULL, &error), &error);
    const int faults = compare_codes(name, line + strlen(mark) - 1, check, given);
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
    free(text);
    return faults;
}

/* Findings that the check of a kernel text cannot have: the language has no operations that make
 * tensors of their own, and a text with faults is no kernel. */
static bool needs_file(int code) {
    return code != SPAD_FINDING_IMPLICIT_TENSOR && code != SPAD_FINDING_SYNTAX;
}

static void every_wrong_kernel_gives_what_it_says(void **state) {
    (void)state;
    bool given[CODES_MAX] = {false};
    test_files files;
    test_list_kernels(&files, FOLDER);
    int faults = 0;
    for (size_t i = 0; i < files.count; i++) faults += check_file(files.names[i], given);
    for (int code = 1; code < CODES_MAX; code++) {
        const char *name = spad_finding_name((spad_finding_code)code);
        if (strcmp(name, "?") == 0 || !needs_file(code) || given[code]) continue;
        print_error("no file of examples/kernels/wrong gives %s\n", name);
        faults++;
    }
    assert_int_equal(faults, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_wrong_kernel_gives_what_it_says)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
