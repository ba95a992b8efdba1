/* SPDX-License-Identifier: Apache-2.0
 *
 * Hygiene that the text alone shows: tensors that are never used or read, and kernels that
 * place some of their tensors by hand and leave others to a planner.
 *
 * The compilers with NKI's direct allocation (neuronxcc) refuse such a mixture, and off-chip
 * tensors that are neither argument nor result; from NKI 0.2 on both are allowed, and spad's
 * planner works around pinned tensors. So they are warnings here. Time: O(tensors + accesses).
 */
#include <string.h>

#include "check/live_ranges.h"

/* ---- uses -------------------------------------------------------------------------- */

enum { USED = 1, READ = 2, GIVEN = 4 };

/* Marks used names, and by home how their bytes are used. */
static void mark(const spad_kernel *k, uint8_t *own, uint8_t *family) {
    for (size_t i = 0; i < k->accesses.count; i++) {
        const spad_kernel_access *access = &k->accesses.items[i];
        const uint8_t bits = (access->kind & SPAD_ACCESS_READ) != 0 ? USED | READ : USED;
        own[access->tensor] |= bits;
        family[k->tensors.items[access->tensor].home] |= bits;
    }
    for (size_t i = 0; i < k->tensors.count; i++) {
        const spad_kernel_tensor *tensor = &k->tensors.items[i];
        if (tensor->mode == SPAD_MODE_ALIAS) own[tensor->alias_of] |= USED;
        if ((tensor->flags & SPAD_TENSOR_OUTPUT) != 0) family[tensor->home] |= READ;
        if ((tensor->flags & SPAD_TENSOR_INPUT) != 0) family[tensor->home] |= GIVEN;
    }
}

static spad_status check_uses(spad__run *run, const uint8_t *own, const uint8_t *family,
                              spad_error *error) {
    const spad_kernel *k = run->kernel;
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < k->tensors.count && status == SPAD_OK; i++) {
        const spad_kernel_tensor *tensor = &k->tensors.items[i];
        spad_finding finding;
        const bool output = (tensor->flags & SPAD_TENSOR_OUTPUT) != 0;
        if (output && (family[tensor->home] & GIVEN) == 0) {
            if ((family[tensor->home] & USED) != 0) continue; /* see outputs.c */
            spad__finding_init(
                &finding, SPAD_FINDING_UNWRITTEN_OUTPUT,
                "'%s' is an output, and nothing writes any of it; write it, or leave it out",
                tensor->name);
            status = spad__add_about(run, &finding, (int64_t)i, error);
        } else if (own[i] == 0) {
            spad__finding_init(&finding, SPAD_FINDING_NEVER_USED,
                               "'%s' is never used; leave it out", tensor->name);
            status = spad__add_about(run, &finding, (int64_t)i, error);
        } else if (tensor->home == (int64_t)i && (family[i] & READ) == 0) {
            spad__finding_init(
                &finding, SPAD_FINDING_NEVER_READ,
                "'%s' is written and never read; leave it out, or declare it as output",
                tensor->name);
            status = spad__add_about(run, &finding, (int64_t)i, error);
        }
    }
    return status;
}

/* ---- mixed placement --------------------------------------------------------------- */

/* The first tensor that the kernel places by hand; NULL: none. */
static const spad_kernel_tensor *first_placed(const spad_kernel *k) {
    for (size_t i = 0; i < k->tensors.count; i++) {
        const spad_kernel_tensor *tensor = &k->tensors.items[i];
        if (tensor->mode == SPAD_MODE_AT || tensor->mode == SPAD_MODE_MOD) return tensor;
    }
    return NULL;
}

static spad_status check_mixture(spad__run *run, spad_error *error) {
    const spad_kernel *k = run->kernel;
    const spad_kernel_tensor *placed = first_placed(k);
    spad_status status = SPAD_OK;
    if (placed == NULL || strcmp(k->target->family, "neuron") != 0) return SPAD_OK;
    for (size_t i = 0; i < k->tensors.count && status == SPAD_OK; i++) {
        const spad_kernel_tensor *tensor = &k->tensors.items[i];
        const spad_space *space = &k->target->spaces[tensor->space];
        spad_finding finding;
        if (tensor->mode != SPAD_MODE_AUTO || tensor->flags != 0) continue;
        if (space->off_chip) {
            spad__finding_init(
                &finding, SPAD_FINDING_OFF_CHIP_NOT_OUTPUT,
                "'%s' in %s is neither input nor output, while '%s' is placed directly: "
                "rejected before NKI 0.2; make it an output, or keep it on chip",
                tensor->name, space->name, placed->name);
        } else {
            spad__finding_init(&finding, SPAD_FINDING_MIXED_PLACEMENT,
                               "'%s' in %s is placed automatically, while '%s' is placed directly: "
                               "rejected before NKI "
                               "0.2; place all tensors or none",
                               tensor->name, space->name, placed->name);
        }
        spad__finding_set_names(&finding, tensor->name, placed->name);
        status = spad__add_about(run, &finding, (int64_t)i, error);
    }
    return status;
}

spad_status spad__check_hygiene(spad__run *run, spad_error *error) {
    const size_t count = run->kernel->tensors.count;
    if (count == 0) return SPAD_OK;
    uint8_t *marks = spad__new_array(&run->check->host, count, 2 * sizeof *marks);
    if (marks == NULL) return spad__fail_host_memory(error);
    mark(run->kernel, marks, marks + count);
    spad_status status = check_uses(run, marks, marks + count, error);
    if (status == SPAD_OK) status = check_mixture(run, error);
    spad__free(&run->check->host, marks, 2 * count);
    return status;
}
