/* SPDX-License-Identifier: Apache-2.0
 *
 * Known faults of compilers: what a compiler made wrong, of a program in which nothing is wrong.
 *
 * Such a finding has the severity "compiler", says which version has the fault and which has not,
 * and whether wrong results are known. A fault of the user must not be excused: a row matches only
 * kernels of its compiler (spad__kernel_get_compiler), whose users cannot write the statements that
 * its condition names. Readers name a compiler only where that holds: functions of Gluon, whose
 * users write copies and fences, have none. The facts of each row are in docs/found.md.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/kernel.h"
#include "verify/verify.h"

typedef struct fault_version {
    int64_t major, minor;
} fault_version;

/* The two statements of a finding; `other` may be NULL. */
typedef struct blamed {
    const spad_kernel *kernel;
    const spad_finding *finding;
    const spad_statement *statement;
    const spad_statement *other;
} blamed;

typedef struct compiler_fault {
    spad_compiler_fault shown;
    const char *compiler;
    fault_version fixed; /* the first version that is known to be without it */
    spad_finding_code code;
    bool (*matches)(const blamed *b);
    const char *text; /* after the name of the compiler */
} compiler_fault;

/* ---- conditions -------------------------------------------------------------------- */

static bool runs_on(const blamed *b, const spad_statement *s, const char *unit) {
    return s != NULL && s->unit >= 0 &&
           strcmp(spad_kernel_get_unit(b->kernel, (size_t)s->unit)->name, unit) == 0;
}

static bool is_operation_on(const blamed *b, const spad_statement *s, const char *unit) {
    return s != NULL && s->kind == SPAD_STATEMENT_OPERATION && runs_on(b, s, unit);
}

static bool is_matrix_product(const blamed *b, const spad_statement *s) {
    return is_operation_on(b, s, "wgmma") || is_operation_on(b, s, "tc5");
}

static bool is_cp_async(const blamed *b, const spad_statement *s) {
    return is_operation_on(b, s, "cp") || is_operation_on(b, s, "cpasync");
}

/* A product reads through the async proxy what cp.async has written. */
static bool product_after_copy(const blamed *b) {
    return is_matrix_product(b, b->statement) && is_cp_async(b, b->other) &&
           b->statement->agent == b->other->agent;
}

/* The same, of a T.copy: who writes cp.async by hand writes the fence too. */
static bool product_after_tilelang_copy(const blamed *b) {
    if (!product_after_copy(b) || b->other->source < 0) return false;
    const char *code = spad_kernel_get_source(b->kernel, (size_t)b->other->source)->code;
    return strstr(code, "copy(") != NULL && strstr(code, "async") == NULL;
}

/* In one ring: other tensors have the same bytes where a layout says so. */
static bool copy_over_product(const blamed *b) {
    return strcmp(b->finding->subject, b->finding->other) == 0 && is_cp_async(b, b->statement) &&
           is_operation_on(b, b->other, "wgmma") && b->statement->agent == b->other->agent;
}

static bool commit_after_invalidate(const blamed *b) {
    return b->statement->kind == SPAD_STATEMENT_ARRIVE && runs_on(b, b->statement, "tc5") &&
           b->other != NULL && b->other->kind == SPAD_STATEMENT_INVALIDATE;
}

static bool init_twice(const blamed *b) {
    return b->statement->kind == SPAD_STATEMENT_INIT &&
           (b->other == NULL || b->other->kind == SPAD_STATEMENT_INIT);
}

/* ---- the table --------------------------------------------------------------------- */

static const char no_wrong_result[] = "no wrong result is known";

static const compiler_fault faults[] = {
    {{.name = "triton-missing-proxy-fence",
      .remedy = "Triton 3.9 has it",
      .effect = no_wrong_result,
      .link = "https://docs.nvidia.com/cuda/parallel-thread-execution/#async-proxy"},
     "Triton",
     {3, 9},
     SPAD_FINDING_MISSING_FENCE,
     product_after_copy,
     "omits fence.proxy.async between this product and the copy of its operand"},
    {{.name = "triton-ring-slot-race",
      .remedy = "num_stages=1 makes no ring; no Triton without the fault is known",
      .effect = "on an H200 results were wrong in 15 to 20 of 20 runs",
      .link = "https://github.com/triton-lang/triton/issues/6691",
      .wrong_results = true},
     "Triton",
     {INT64_MAX, 0},
     SPAD_FINDING_RACE,
     copy_over_product,
     "loads the next tile over one that an unfinished product reads: the ring in shared memory "
     "has a slot too few"},
    {{.name = "triton-commit-after-inval",
      .remedy = "Triton 3.9 waits first",
      .effect = no_wrong_result,
      .link = "https://docs.nvidia.com/cuda/parallel-thread-execution/"
              "#parallel-synchronization-and-communication-instructions-mbarrier-inval"},
     "Triton",
     {3, 9},
     SPAD_FINDING_MBARRIER_LIFE,
     commit_after_invalidate,
     "invalidates an mbarrier that tcgen05.commit of this product may still arrive at"},
    {{.name = "triton-mbarrier-init-twice",
      .remedy = "Triton 3.9 keeps them apart",
      .effect = no_wrong_result,
      .link = "https://docs.nvidia.com/cuda/parallel-thread-execution/"
              "#parallel-synchronization-and-communication-instructions-mbarrier-init"},
     "Triton",
     {3, 9},
     SPAD_FINDING_MBARRIER_LIFE,
     init_twice,
     "initialises an mbarrier in bytes of another one that it has not invalidated"},
    {{.name = "tilelang-missing-proxy-fence",
      .remedy = "T.fence_proxy_async() before the product adds it",
      .effect = no_wrong_result,
      .link = "https://docs.nvidia.com/cuda/parallel-thread-execution/#async-proxy"},
     "TileLang",
     {INT64_MAX, 0},
     SPAD_FINDING_MISSING_FENCE,
     product_after_tilelang_copy,
     "omits fence.proxy.async between this product and the copy of its operand"},
};

/* ---- whose fault it is ------------------------------------------------------------- */

/* "Triton 3.6.0" as a name and the first two numbers of a version; without one 0.0. */
static fault_version version_of(const char *compiler) {
    fault_version version = {0, 0};
    const char *at = strchr(compiler, ' ');
    char *end;
    if (at == NULL) return version;
    version.major = strtol(at, &end, 10);
    if (*end == '.') version.minor = strtol(end + 1, NULL, 10);
    return version;
}

static bool is_version_before(fault_version a, fault_version b) {
    return a.major != b.major ? a.major < b.major : a.minor < b.minor;
}

static bool is_by(const char *compiler, const char *name) {
    const size_t length = strlen(name);
    return strncmp(compiler, name, length) == 0 &&
           (compiler[length] == '\0' || compiler[length] == ' ');
}

static const compiler_fault *find_fault(const spad_kernel *kernel, const spad__found *found) {
    const char *compiler = spad__kernel_get_compiler(kernel);
    if (compiler[0] == '\0' || found->statement < 0) return NULL;
    if (found->finding.severity != SPAD_SEVERITY_ERROR) return NULL;
    const blamed b = {
        kernel, &found->finding, spad_kernel_get_statement(kernel, (size_t)found->statement),
        found->other >= 0 ? spad_kernel_get_statement(kernel, (size_t)found->other) : NULL};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        const compiler_fault *fault = &faults[i];
        if (fault->code == found->finding.code && is_by(compiler, fault->compiler) &&
            is_version_before(version_of(compiler), fault->fixed) && fault->matches(&b)) {
            return fault;
        }
    }
    return NULL;
}

/* The finding in words of the compiler's user: what the check says of the statements becomes the
 * first note, and advice about statements that the user cannot write is left out. */
static void blame(spad_finding *finding, const compiler_fault *fault, const char *compiler) {
    spad_note seen = finding->notes[0];
    const bool noted = finding->note_count > 0;
    spad__copy_cut(seen.message, sizeof seen.message, finding->message);
    snprintf(finding->message, sizeof finding->message, "%.60s %s; %s", compiler, fault->text,
             fault->shown.remedy);
    finding->severity = SPAD_SEVERITY_COMPILER;
    finding->fault = &fault->shown;
    finding->fails = fault->shown.wrong_results;
    finding->note_count = 0;
    memset(finding->notes, 0, sizeof finding->notes);
    spad_note *note = spad__finding_add_note(finding, "%s", seen.message);
    if (noted) *note = seen;
    spad__finding_add_note(finding, "%s; see %s", fault->shown.effect, fault->shown.link);
}

void spad__blame_compiler(spad_check *check, const spad_kernel *kernel) {
    for (size_t i = 0; i < check->found.count; i++) {
        spad__found *found = &check->found.items[i];
        const compiler_fault *fault = find_fault(kernel, found);
        if (fault == NULL) continue;
        blame(&found->finding, fault, spad__kernel_get_compiler(kernel));
        spad__count_severity(&check->counts, SPAD_SEVERITY_ERROR, -1);
        spad__count_severity(&check->counts, SPAD_SEVERITY_COMPILER, 1);
    }
}
