/* SPDX-License-Identifier: Apache-2.0
 *
 * What a check makes of its findings in the end: whose fault they are (compiler_faults.c), what its
 * user wants to hear of, which are of one cause, and names that stay when lines move.
 *
 * A finding is hidden by a comment at its line in the program, `spad: ignore[SPAD-RACE] reason`, by
 * a rule of the policy, or by a baseline. Hidden findings are not counted and do not fail a check,
 * but the verdict stays: what is wrong does not become right by not being shown.
 *
 * The fingerprint of a finding is a hash of its code, of the kernel, of the name of its file, and
 * of its message without numbers. Lines and sizes may change. Findings that are the same in all of
 * this are numbered. O(findings^2) in the worst case, of numbers.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "kernel/kernel.h"
#include "verify/verify.h"

/* ---- comments in the program --------------------------------------------------------- */

static const char marker[] = "spad: ignore[";

/* Is the code in "SPAD-RACE, SPAD-LEAK]", with or without "SPAD-"? *end: after the ']'. */
static bool names_code(const char *list, const char *code, const char **end) {
    const char *close = strchr(list, ']');
    if (close == NULL) return false;
    *end = close + 1;
    while (list < close) {
        const size_t length = strcspn(list, ",]");
        const char *first = list + strspn(list, " ");
        size_t own = length - (size_t)(first - list);
        while (own > 0 && first[own - 1] == ' ') own--;
        const char *words[] = {code, code + 5}; /* after "SPAD-" */
        for (int i = 0; i < 2; i++) {
            if (own == strlen(words[i]) && strncmp(first, words[i], own) == 0) return true;
        }
        list += length + 1;
    }
    return false;
}

/* Does a line ask not to be told of the finding? Then the reason is what follows. */
static bool hides(spad_finding *finding, const char *line) {
    const char *at = strstr(line, marker);
    const char *end;
    if (at == NULL || !names_code(at + sizeof marker - 1, spad_finding_name(finding->code), &end))
        return false;
    finding->hidden = SPAD_HIDDEN_IN_SOURCE;
    spad__copy_cut(finding->why, sizeof finding->why, end + strspn(end, " "));
    return true;
}

static void hide_by_comment(spad_finding *finding, const spad_kernel *kernel) {
    if (finding->program.line > 0) {
        hides(finding, finding->program.code);
        return;
    }
    for (size_t i = 0; i < kernel->comments.count; i++) {
        const spad__comment *comment = &kernel->comments.items[i];
        if (comment->line == finding->line && comment->place != SPAD__COMMENT_BELOW &&
            hides(finding, comment->text)) {
            return;
        }
    }
}

/* ---- fingerprints ------------------------------------------------------------------ */

static uint64_t hash_word(uint64_t hash, const char *word) {
    return spad__hash_more(hash, word, strlen(word) + 1);
}

/* Without the numbers, and what is between them: "bytes [0, 16,384)" is the same for other sizes.
 */
static uint64_t hash_message(uint64_t hash, const char *message) {
    for (const char *c = message; *c != '\0'; c++) {
        const bool digit = *c >= '0' && *c <= '9';
        if (!digit && *c != ',' && *c != ' ') hash = spad__hash_more(hash, c, 1);
    }
    return hash;
}

static const char *name_in_folder(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static uint64_t hash_finding(const spad_finding *f, const spad_kernel *kernel) {
    uint64_t hash = hash_word(SPAD__HASH_OF_NOTHING, spad_finding_name(f->code));
    if (kernel != NULL) hash = hash_word(hash, spad_kernel_get_name(kernel));
    hash = hash_word(hash, name_in_folder(f->program.line > 0 ? f->program.file : f->file));
    hash = hash_word(hash, f->fault != NULL ? f->fault->name : "");
    return hash_message(hash, f->fault != NULL ? f->notes[0].message : f->message);
}

void spad__name_findings(spad_check *check, const spad_kernel *kernel) {
    for (size_t i = 0; i < check->found.count; i++) {
        spad__found *found = &check->found.items[i];
        if (found->finding.fingerprint[0] == '\0')
            found->hash = hash_finding(&found->finding, kernel);
    }
    for (size_t i = 0; i < check->found.count; i++) {
        spad_finding *f = &check->found.items[i].finding;
        int64_t before = 0;
        if (f->fingerprint[0] != '\0') continue;
        for (size_t k = 0; k < i; k++)
            before += check->found.items[k].hash == check->found.items[i].hash;
        const uint64_t hash = spad__hash_finish(spad__hash_add(check->found.items[i].hash, before));
        snprintf(f->fingerprint, sizeof f->fingerprint, "%016" PRIx64, hash);
    }
}

/* ---- the policy of the user ---------------------------------------------------------- */

static void apply_level(spad_finding *finding, const spad_rule_level *level) {
    if (finding->code != level->code) return;
    if (level->hide) {
        finding->hidden = SPAD_HIDDEN_BY_RULE;
    } else {
        finding->severity = level->severity;
    }
}

static void apply_policy(spad_finding *finding, const spad_check_policy *policy) {
    for (size_t i = 0; i < policy->level_count; i++) apply_level(finding, &policy->levels[i]);
    for (size_t i = 0; i < policy->baseline_count; i++) {
        if (strcmp(policy->baseline[i], finding->fingerprint) == 0)
            finding->hidden = SPAD_HIDDEN_IN_BASELINE;
    }
    if (finding->severity != SPAD_SEVERITY_COMPILER) return;
    switch (policy->compiler_faults) {
    case SPAD_COMPILER_FAULTS_KNOWN: break;
    case SPAD_COMPILER_FAULTS_ERROR: finding->fails = true; break;
    case SPAD_COMPILER_FAULTS_WARNING: finding->fails = false; break;
    case SPAD_COMPILER_FAULTS_IGNORE: finding->hidden = SPAD_HIDDEN_BY_RULE; break;
    }
}

/* ---- causes ------------------------------------------------------------------------ */

/* Advice is one piece if it says the same of other tensors: compares without what is in quotes. */
static bool say_the_same(const char *a, const char *b) {
    while (*a != '\0' && *a == *b) {
        if (*a == '\'') {
            a += 1 + strcspn(a + 1, "'");
            b += 1 + strcspn(b + 1, "'");
            if (*a == '\0' || *b == '\0') break;
        }
        a++, b++;
    }
    return *a == *b;
}

/* A missing fence is in front of the later access, whatever was accessed before. */
static bool are_of_one_cause(const spad__found *a, const spad__found *b) {
    const spad_finding *x = &a->finding;
    const spad_finding *y = &b->finding;
    if (x->severity != y->severity || x->hidden != y->hidden) return false;
    if (x->fault != NULL || y->fault != NULL) return x->fault == y->fault;
    if (a->cause != 0 || b->cause != 0) return a->cause == b->cause;
    if (x->code != y->code) return false;
    if (x->code == SPAD_FINDING_MISSING_FENCE) return a->statement == b->statement;
    return x->severity == SPAD_SEVERITY_ADVICE && say_the_same(x->message, y->message);
}

void spad__find_causes(spad_check *check) {
    for (size_t i = 0; i < check->found.count; i++) {
        spad__found *found = &check->found.items[i];
        found->finding.cause = 0;
        for (size_t k = 0; k < i && found->finding.cause == 0; k++) {
            const spad__found *first = &check->found.items[k];
            if (first->finding.cause == 0 && are_of_one_cause(first, found))
                found->finding.cause = k + 1;
        }
    }
}

/* ---- all of it --------------------------------------------------------------------- */

static void count_again(spad_check *check) {
    spad_check_counts *counts = &check->counts;
    counts->errors = counts->warnings = counts->advice = counts->compiler_faults = 0;
    counts->hidden = 0;
    for (size_t i = 0; i < check->found.count; i++) {
        const spad_finding *f = &check->found.items[i].finding;
        if (f->hidden != SPAD_HIDDEN_NOT) {
            counts->hidden++;
        } else {
            spad__count_severity(counts, f->severity, 1);
        }
    }
}

void spad__settle(spad_check *check, const spad_kernel *kernel, const spad_check_policy *policy) {
    spad__blame_compiler(check, kernel);
    spad__sort_findings(check);
    spad__name_findings(check, kernel);
    for (size_t i = 0; i < check->found.count; i++) {
        spad_finding *finding = &check->found.items[i].finding;
        if (policy != NULL) apply_policy(finding, policy);
        hide_by_comment(finding, kernel);
    }
    count_again(check);
    spad__sort_findings(check);
    spad__find_causes(check);
}

bool spad_check_passes(const spad_check *check) {
    for (size_t i = 0; i < check->found.count; i++) {
        const spad_finding *f = &check->found.items[i].finding;
        if (f->hidden != SPAD_HIDDEN_NOT) continue;
        if (f->severity == SPAD_SEVERITY_ERROR) return false;
        if (f->severity == SPAD_SEVERITY_COMPILER && f->fails) return false;
    }
    return true;
}
