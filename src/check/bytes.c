/* SPDX-License-Identifier: Apache-2.0 */
#include "check/bytes.h"

#include "base/checked.h"

spad__storage spad__access_storage(const spad_kernel *kernel, const spad_walk_access *access) {
    if (!access->placed) return (spad__storage){access->home, access->slot};
    const spad_kernel_tensor *tensor = spad_kernel_get_tensor(kernel, (size_t)access->home);
    return (spad__storage){-1 - (int64_t)tensor->space, 0};
}

int spad__storage_compare(spad__storage a, spad__storage b) {
    if (a.home != b.home) return a.home < b.home ? -1 : 1;
    return (a.slot > b.slot) - (a.slot < b.slot);
}

/* Does [from, to) meet a run? The first run that ends after `from` decides. */
static bool meets(const spad_walk_access *access, int64_t from, int64_t to) {
    const int64_t start = access->rect.byte;
    if (access->runs == 1) return start < to && from < start + access->rect.bytes;
    const int64_t after = from - start - access->rect.bytes;
    const int64_t run = after < 0 ? 0 : after / access->stride + 1;
    return run < access->runs && start + run * access->stride < to;
}

bool spad__access_overlaps(const spad_walk_access *a, const spad_walk_access *b) {
    const bool lanes =
        a->rect.lane < b->rect.lane + b->rect.lanes && b->rect.lane < a->rect.lane + a->rect.lanes;
    if (!lanes) return false;
    if (a->runs > b->runs) {
        const spad_walk_access *swap = a;
        a = b;
        b = swap;
    }
    for (int64_t run = 0; run < a->runs; run++) {
        const int64_t from = a->rect.byte + run * a->stride;
        if (meets(b, from, from + a->rect.bytes)) return true;
    }
    return false;
}

bool spad__access_covers(const spad_walk_access *a, const spad_walk_access *b) {
    const bool lanes = a->rect.lane <= b->rect.lane &&
                       b->rect.lane + b->rect.lanes <= a->rect.lane + a->rect.lanes;
    if (!lanes) return false;
    if (a->runs == 1) {
        const int64_t end = b->rect.byte + (b->runs - 1) * b->stride + b->rect.bytes;
        return a->rect.byte <= b->rect.byte && end <= a->rect.byte + a->rect.bytes;
    }
    return a->runs == b->runs && a->stride == b->stride && a->rect.byte == b->rect.byte &&
           a->rect.bytes >= b->rect.bytes;
}
