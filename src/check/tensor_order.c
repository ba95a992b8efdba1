/* SPDX-License-Identifier: Apache-2.0
 *
 * Which tensors are over before others begin: the order that the check has of the events of a
 * shape (net, one run, causes), asked about tensors.
 *
 * A use is a statement that accesses a tensor: its first and its last execution. Tensor a is before
 * b if the end of the last execution of every use of a is before the start of the first execution
 * of every use of b. Executions in between are not compared: that they are ordered too follows
 * where an agent, or a unit that works in order, executes them, and is for the check of the layout
 * to prove otherwise. What has a value before the start, or is needed after the end, is never
 * after, or before, anything.
 *
 * O(uses^2) questions, and O(points + edges) for each use.
 */
#include "kernel/tensor_order.h"

#include "check/causes.h"
#include "check/check.h"
#include "check/order.h"
#include "kernel/kernel.h"

enum { USES_MAX = 1024 };

typedef struct tensor_use {
    int32_t tensor;
    int32_t statement;
    int32_t first; /* events */
    int32_t last;
    bool writes;
    int32_t next; /* use of the same statement; -1: none */
} tensor_use;

typedef struct orderer {
    spad_tensor_order *out;
    const spad_kernel *kernel;
    spad__events events;
    spad__net net;
    spad__machine machine;
    spad__causes causes;
    int32_t *newest; /* per statement: a use; -1: none */
    SPAD_ARRAY(tensor_use) uses;
    spad__limit *limit;
} orderer;

/* ---- uses -------------------------------------------------------------------------- */

static tensor_use *find_use(orderer *o, int32_t statement, int32_t tensor) {
    for (int32_t u = o->newest[statement]; u >= 0; u = o->uses.items[u].next)
        if (o->uses.items[u].tensor == tensor) return &o->uses.items[u];
    return NULL;
}

/* Events of a statement come in the order of its agent. */
static bool add_use(orderer *o, int32_t number, const spad_walk_access *access) {
    const int32_t statement = o->events.items.items[number].statement;
    const bool writes = (access->kind & SPAD_ACCESS_WRITE) != 0;
    if (statement < 0) return true;
    tensor_use *use = find_use(o, statement, (int32_t)access->home);
    if (use != NULL) {
        use->last = number;
        use->writes = use->writes || writes;
        return true;
    }
    if (!spad__array_reserve(&o->out->host, &o->uses, 1)) return false;
    const int32_t added = (int32_t)o->uses.count++;
    o->uses.items[added] = (tensor_use){.tensor = (int32_t)access->home,
                                        .statement = statement,
                                        .first = number,
                                        .last = number,
                                        .writes = writes,
                                        .next = o->newest[statement]};
    o->newest[statement] = added;
    return true;
}

static bool list_uses(orderer *o) {
    for (size_t i = 0; i < o->kernel->statements.count; i++) o->newest[i] = -1;
    for (size_t i = 0; i < o->events.items.count; i++) {
        const spad__event *event = &o->events.items.items[i];
        for (size_t k = 0; k < event->access_count; k++)
            if (!add_use(o, (int32_t)i, &o->events.accesses.items[event->first_access + k]))
                return false;
    }
    return true;
}

/* ---- the matrix -------------------------------------------------------------------- */

/* Tensors that are used, all pairs of them ordered until a pair of uses is not. */
static void assume_order(orderer *o) {
    const size_t n = o->out->count;
    uint8_t *before = o->out->before;
    for (size_t u = 0; u < o->uses.count; u++)
        for (size_t v = 0; v < o->uses.count; v++) {
            const tensor_use *a = &o->uses.items[u];
            const tensor_use *b = &o->uses.items[v];
            if (a->tensor != b->tensor) before[(size_t)a->tensor * n + (size_t)b->tensor] = 1;
        }
}

static bool is_kept_from_start(const spad_kernel *kernel, size_t tensor) {
    return (kernel->tensors.items[tensor].flags & SPAD_TENSOR_INPUT) != 0;
}

static bool is_kept_to_end(const spad_kernel *kernel, size_t tensor) {
    return (kernel->tensors.items[tensor].flags & SPAD_TENSOR_OUTPUT) != 0;
}

/* Inputs are after nothing, outputs before nothing, under whatever name. */
static void keep_inputs_and_outputs(orderer *o) {
    const size_t n = o->out->count;
    for (size_t i = 0; i < n; i++) {
        const size_t home = (size_t)o->out->home[i];
        for (size_t other = 0; other < n; other++) {
            if (is_kept_from_start(o->kernel, i)) o->out->before[other * n + home] = 0;
            if (is_kept_to_end(o->kernel, i)) o->out->before[home * n + other] = 0;
        }
    }
}

static spad_status compare_uses(orderer *o, const tensor_use *a, spad_error *error) {
    const size_t n = o->out->count;
    const int32_t end = spad__net_last(&o->net, a->last, a->writes);
    for (size_t v = 0; v < o->uses.count; v++) {
        const tensor_use *b = &o->uses.items[v];
        uint8_t *before = &o->out->before[(size_t)a->tensor * n + (size_t)b->tensor];
        if (*before == 0) continue;
        bool ordered;
        const int32_t start = spad__net_first(&o->net, b->first);
        const spad_status status = spad__causes_before(&o->causes, end, start, &ordered, error);
        if (status != SPAD_OK) return status;
        if (!ordered || end == start) *before = 0;
    }
    return SPAD_OK;
}

static void forget_order(spad_tensor_order *order) {
    for (size_t i = 0; i < order->count * order->count; i++) order->before[i] = 0;
}

static spad_status order_uses(orderer *o, spad_error *error) {
    spad_status status = spad__causes_build(&o->causes, &o->machine, false, error);
    assume_order(o);
    keep_inputs_and_outputs(o);
    for (size_t u = 0; u < o->uses.count && status == SPAD_OK; u++) {
        if (spad__limit_reached(o->limit)) {
            forget_order(o->out);
            break;
        }
        status = compare_uses(o, &o->uses.items[u], error);
    }
    o->out->known = spad__limit_reached(o->limit) == false;
    spad__causes_free(&o->causes);
    return status;
}

/* ---- the whole --------------------------------------------------------------------- */

static spad_status order_events(orderer *o, spad_error *error) {
    const size_t statements = o->kernel->statements.count + 1;
    o->newest = spad__new_array(&o->out->host, statements, sizeof *o->newest);
    if (o->newest == NULL || !list_uses(o)) return spad__fail_host_memory(error);
    if (o->uses.count > USES_MAX) return SPAD_OK;
    spad_status status = spad__net_build(&o->net, &o->events, error);
    if (status == SPAD_OK) {
        status = spad__machine_run(&o->machine, &o->net, error);
        if (status == SPAD_OK && (size_t)o->machine.happened == o->net.points.count)
            status = order_uses(o, error);
        spad__machine_free(&o->machine);
    }
    spad__net_free(&o->net);
    return status;
}

/* The order of a kernel whose order is not given by its text alone. */
static spad_status find_order(orderer *o, const spad_check_options *options, spad_error *error) {
    spad_check check = {.host = o->out->host};
    const spad__run run = {
        .kernel = o->kernel, .options = options, .check = &check, .limit = o->limit};
    spad_status status = spad__events_collect(&o->events, &run, error);
    if (status == SPAD_OK && o->events.gap == NULL) status = order_events(o, error);
    spad__events_free(&o->events);
    spad__array_free(&o->out->host, &o->uses);
    spad__free(&o->out->host, o->newest, (o->kernel->statements.count + 1) * sizeof *o->newest);
    return status;
}

spad_status spad_tensor_order_create(spad_tensor_order **out, const spad_kernel *kernel,
                                     const spad_tensor_order_options *options, spad_error *error) {
    const spad_tensor_order_options o = options != NULL ? *options : (spad_tensor_order_options){0};
    const spad_host host = spad__host_or_default(o.host);
    spad__limit limit;
    *out = NULL;
    if (o.event_limit < 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "event limit %lld is negative",
                          (long long)o.event_limit);
    }
    spad_status status = spad__limit_start(&limit, o.timeout_ns, o.watch, error);
    orderer work = {.kernel = kernel, .limit = &limit};
    if (status == SPAD_OK) status = spad__tensor_order_new(&work.out, kernel, &host, error);
    if (status != SPAD_OK) return status;
    const spad_check_options check = {.event_limit = o.event_limit > 0 ? o.event_limit
                                                                       : SPAD_TENSOR_ORDER_EVENTS};
    if (!spad_kernel_is_implicit(kernel)) status = find_order(&work, &check, error);
    if (status == SPAD_OK && limit.status == SPAD_ERR_CANCELLED)
        status = spad__limit_fail(&limit, (int64_t)work.uses.count, "uses of tensors", error);
    if (status != SPAD_OK) {
        spad_tensor_order_destroy(work.out);
        return status;
    }
    *out = work.out;
    return SPAD_OK;
}
