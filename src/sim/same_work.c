/* SPDX-License-Identifier: Apache-2.0
 *
 * Hashes the operations of a kernel. See same_work.h.
 */
#include "sim/same_work.h"

#include <string.h>

#include "base/hash.h"
#include "spad/experimental/walk.h"

enum { WORK_EVENTS = 1000000 };

static uint64_t add_name(uint64_t hash, const char *name) {
    return spad__hash_add(hash, (int64_t)spad__hash_text(name, strlen(name)));
}

/* An operation and what it does to memory off the chip. */
static uint64_t hash_operation(const spad_kernel *k, const spad_walk_event *event) {
    uint64_t hash = add_name(1, k->statements.items[event->statement].name);
    for (size_t i = 0; i < event->access_count; i++) {
        const spad_walk_access *access = &event->accesses[i];
        const spad_kernel_tensor *t = &k->tensors.items[access->tensor];
        hash = spad__hash_add(add_name(hash, t->name), access->kind);
        if (!k->target->spaces[t->space].off_chip) continue;
        const int64_t part[] = {access->tile, access->rect.byte, access->rect.bytes, access->runs,
                                access->stride};
        for (size_t p = 0; p < sizeof part / sizeof *part; p++)
            hash = spad__hash_add(hash, part[p]);
    }
    return hash;
}

spad_status spad__find_work(const spad_kernel *kernel, const spad_host *host,
                            spad__kernel_work *out, spad_error *error) {
    const spad_walk_options options = {.agent = SPAD_WALK_ALL, .host = host};
    spad_walk *walk;
    *out = (spad__kernel_work){0};
    spad_status status = spad_walk_create(&walk, kernel, &options, error);
    if (status != SPAD_OK) return status;
    for (int64_t i = 0; i < WORK_EVENTS && !out->known; i++) {
        const spad_walk_event *event;
        status = spad_walk_next(&event, walk, NULL);
        if (status != SPAD_OK) break;
        if (event->kind == SPAD_WALK_OPERATION) out->sum += hash_operation(kernel, event);
        out->known = event->kind == SPAD_WALK_END;
    }
    spad_walk_destroy(walk);
    return spad__attempted(status, error);
}
