/* SPDX-License-Identifier: Apache-2.0
 *
 * An order of tensors: the matrix and the questions to it. O(tensors^2) bytes.
 */
#include "kernel/tensor_order.h"

#include <string.h>

#include "kernel/kernel.h"

spad_status spad__tensor_order_new(spad_tensor_order **out, const spad_kernel *kernel,
                                   const spad_host *host, spad_error *error) {
    const size_t count = kernel->tensors.count;
    spad_tensor_order *order = spad__new(host, sizeof *order);
    *out = NULL;
    if (order == NULL) return spad__fail_host_memory(error);
    order->host = *host;
    order->count = count;
    order->origin = spad__origin_of(kernel);
    order->home = spad__new_array(host, count + 1, sizeof *order->home);
    order->shared = spad__new_array(host, count + 1, count + 1);
    order->used = spad__new_array(host, count + 1, sizeof *order->used);
    if (order->home == NULL || order->shared == NULL || order->used == NULL) {
        spad_tensor_order_destroy(order);
        return spad__fail_host_memory(error);
    }
    for (size_t i = 0; i < count; i++) {
        const int64_t home = kernel->tensors.items[i].home;
        order->home[i] = home >= 0 ? home : (int64_t)i;
    }
    *out = order;
    return SPAD_OK;
}

void spad_tensor_order_destroy(spad_tensor_order *order) {
    if (order == NULL) return;
    const spad_host host = order->host;
    spad__free(&host, order->home, (order->count + 1) * sizeof *order->home);
    spad__free(&host, order->shared, (order->count + 1) * (order->count + 1));
    spad__free(&host, order->used, (order->count + 1) * sizeof *order->used);
    spad__free(&host, order, sizeof *order);
}

size_t spad__tensor_order_narrow(spad_tensor_order *order, const spad_tensor_order *other) {
    const size_t n = order->count;
    size_t taken = 0;
    if (!other->known || other->count != n) return 0;
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
    if (!other->known || other->count != order->count) return false;
    memcpy(order->shared, other->shared, order->count * order->count);
    memcpy(order->used, other->used, order->count);
    order->known = true;
    return true;
}

bool spad_tensor_order_may_share(const spad_tensor_order *order, int64_t a, int64_t b) {
    const int64_t count = (int64_t)order->count;
    if (a < 0 || b < 0 || a >= count || b >= count) return false;
    return order->shared[order->home[a] * count + order->home[b]] != 0;
}

size_t spad_tensor_order_pair_count(const spad_tensor_order *order) {
    size_t count = 0;
    for (size_t i = 0; i < order->count * order->count; i++) count += order->shared[i];
    return count / 2;
}
