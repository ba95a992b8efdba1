/* SPDX-License-Identifier: Apache-2.0
 *
 * An order of tensors: the matrix and the questions to it. O(members^2) bytes.
 */
#include "kernel/tensor_order.h"

#include <string.h>

#include "base/assert.h"
#include "kernel/kernel.h"

spad_status spad__tensor_order_new(spad_tensor_order **out, const spad_kernel *kernel,
                                   const spad_host *host, spad_error *error) {
    const size_t members = kernel->tensors.count + kernel->syncs.count;
    spad_tensor_order *order = spad__new(host, sizeof *order);
    *out = NULL;
    if (order == NULL) return spad__fail_host_memory(error);
    order->host = *host;
    order->count = kernel->tensors.count;
    order->members = members;
    order->origin = spad__origin_of(kernel);
    order->home = spad__new_array(host, members + 1, sizeof *order->home);
    order->shared = spad__new_array(host, members + 1, members + 1);
    order->used = spad__new_array(host, members + 1, sizeof *order->used);
    order->uneven = spad__new_array(host, members + 1, sizeof *order->uneven);
    if (order->home == NULL || order->shared == NULL || order->used == NULL ||
        order->uneven == NULL) {
        spad_tensor_order_destroy(order);
        return spad__fail_host_memory(error);
    }
    for (size_t i = 0; i < members; i++) {
        const int64_t home = i < order->count ? kernel->tensors.items[i].home : -1;
        order->home[i] = home >= 0 ? home : (int64_t)i;
    }
    *out = order;
    return SPAD_OK;
}

void spad_tensor_order_destroy(spad_tensor_order *order) {
    if (order == NULL) return;
    const spad_host host = order->host;
    spad__free(&host, order->home, (order->members + 1) * sizeof *order->home);
    spad__free(&host, order->shared, (order->members + 1) * (order->members + 1));
    spad__free(&host, order->used, (order->members + 1) * sizeof *order->used);
    spad__free(&host, order->uneven, (order->members + 1) * sizeof *order->uneven);
    spad__free(&host, order, sizeof *order);
}

size_t spad__tensor_order_narrow(spad_tensor_order *order, const spad_tensor_order *other) {
    const size_t n = order->members;
    size_t taken = 0;
    if (!other->known || other->members != n) return 0;
    for (size_t a = 0; a < n; a++) {
        for (size_t b = a + 1; b < n; b++) {
            if (order->shared[a * n + b] == 0 || other->shared[a * n + b] != 0) continue;
            if (!other->used[a] || !other->used[b]) continue;
            order->shared[a * n + b] = order->shared[b * n + a] = 0;
            taken++;
        }
    }
    return taken;
}

bool spad__tensor_order_take(spad_tensor_order *order, const spad_tensor_order *other) {
    if (!other->known || other->members != order->members) return false;
    memcpy(order->shared, other->shared, order->members * order->members);
    memcpy(order->used, other->used, order->members);
    memcpy(order->uneven, other->uneven, order->members);
    order->known = true;
    return true;
}

bool spad__tensor_order_may_share(const spad_tensor_order *order, size_t a, size_t b) {
    spad__assert(a < order->members && b < order->members);
    const size_t one = (size_t)order->home[a];
    return order->shared[one * order->members + (size_t)order->home[b]] != 0;
}

bool spad_tensor_order_may_share(const spad_tensor_order *order, int64_t a, int64_t b) {
    const int64_t count = (int64_t)order->count;
    if (a < 0 || b < 0 || a >= count || b >= count) return false;
    return spad__tensor_order_may_share(order, (size_t)a, (size_t)b);
}

size_t spad_tensor_order_pair_count(const spad_tensor_order *order) {
    size_t count = 0;
    for (size_t a = 0; a < order->count; a++)
        for (size_t b = a + 1; b < order->count; b++)
            count += order->shared[a * order->members + b];
    return count;
}
