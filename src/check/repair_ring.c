/* SPDX-License-Identifier: Apache-2.0
 *
 * Is a ring too short? Where two tiles of one ring clash, the kernel is examined again with one
 * slot more. If that is right, a note at the declaration says so; the finding itself stays as it
 * is.
 */
#include <string.h>

#include "check/passes.h"
#include "kernel/kernel.h"
#include "spad/experimental/kernel_rows.h"

/* Rings that are tried, and events of a kernel that is tried. */
enum { RINGS_MAX = 4, RING_EVENTS_MAX = 20000 };

static bool is_clash_in_ring(const spad_finding *finding) {
    return (finding->code == SPAD_FINDING_RACE ||
            finding->code == SPAD_FINDING_LIFETIME_CONFLICT) &&
           strcmp(finding->subject, finding->other) == 0;
}

/* The tensor of that name, if it has a plain ring. */
static const spad_kernel_tensor *find_ring(const spad_kernel *kernel, const char *name) {
    for (size_t i = 0; i < spad_kernel_tensor_count(kernel); i++) {
        const spad_kernel_tensor *t = spad_kernel_get_tensor(kernel, i);
        if (strcmp(t->name, name) != 0) continue;
        return t->mode == SPAD_MODE_AUTO && t->ring.count == 1 && t->slots < t->tiles ? t : NULL;
    }
    return NULL;
}

/* Is the kernel right with that many slots? */
static spad_status try_ring(const spad__run *run, const spad_kernel_tensor *tensor, int64_t slots,
                            bool *right, spad_error *error) {
    const spad_host host = run->check->host;
    const spad_define ring = {tensor->name, slots};
    const spad_kernel_options options = {.rings = &ring, .ring_count = 1, .host = &host};
    spad_kernel *kernel;
    *right = false;
    spad_status status =
        spad__attempted(spad_kernel_reshape(&kernel, run->kernel, &options, NULL), error);
    if (status != SPAD_OK || kernel == NULL) return status;
    spad_check rest = {.host = host};
    spad_check_options plain = *run->options;
    plain.layout = NULL; /* of another kernel */
    spad__run trial = {.kernel = kernel, .options = &plain, .check = &rest, .limit = run->limit};
    status = spad__check_rules(&trial, error);
    if (status == SPAD_OK) status = spad__check_lifetimes(&trial, error);
    if (status == SPAD_OK) status = spad__check_order(&trial, error);
    *right = status == SPAD_OK && rest.counts.errors == 0 && trial.gap == NULL;
    spad__drop_findings(&rest);
    spad_kernel_destroy(kernel);
    return status;
}

/* Was the same ring tried for a finding before? */
static bool has_repair(const spad_check *check, size_t number) {
    const spad_finding *finding = &check->found.items[number].finding;
    for (size_t i = 0; i < number; i++) {
        const spad_finding *before = &check->found.items[i].finding;
        if (is_clash_in_ring(before) && strcmp(before->subject, finding->subject) == 0) return true;
    }
    return false;
}

spad_status spad__repair_rings(spad__run *run, spad_error *error) {
    spad_check *check = run->check;
    size_t left = RINGS_MAX;
    if (!run->shown || check->counts.errors == 0 || check->counts.events > RING_EVENTS_MAX) {
        return SPAD_OK;
    }
    for (size_t i = 0; i < check->found.count && left > 0; i++) {
        spad_finding *finding = &check->found.items[i].finding;
        if (!is_clash_in_ring(finding) || has_repair(check, i)) continue;
        if (finding->note_count == SPAD_NOTES_MAX) continue;
        const spad_kernel_tensor *tensor = find_ring(run->kernel, finding->subject);
        if (tensor == NULL) continue;
        bool right;
        left--;
        const spad_status status = try_ring(run, tensor, tensor->slots + 1, &right, error);
        if (status != SPAD_OK) return status;
        if (!right) continue;
        spad_note *note = spad__finding_add_note(
            finding, "with %lld slots here the kernel is right", (long long)tensor->slots + 1);
        spad__point_note(note, tensor->location);
    }
    return SPAD_OK;
}
