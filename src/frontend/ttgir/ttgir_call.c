/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions that are not inlined: 'tt.call' of a 'tt.func' of the same module.
 *
 * The function is run where it is called, with the values of the call, so what it does is in the
 * kernel once for each call. Its shared memory begins at the address that the compiler gave the
 * call, and is that of the call: two calls are different buffers. Functions of Triton cannot call
 * themselves; a text that says so is refused.
 */
#include "base/checked.h"
#include "frontend/ttgir/ttgir.h"

enum { CALLS_DEEP = 32, CALLS_MAX = 1 << 14, FUNCTIONS_MAX = 4096 };

uint32_t spad__ttgir_symbol(const spad__ttgir *t, const spad__mlir_op *op) {
    for (uint32_t at = op->name + 1; at < op->end; at = spad__mlir_after(t->m, op, at)) {
        if (t->m->tokens.items[at].kind == SPAD__MLIR_SYMBOL) return at;
    }
    return 0;
}

bool spad__ttgir_list_functions(spad__ttgir *t, int32_t first) {
    for (int32_t op = first; op >= 0; op = t->m->ops.items[op].next) {
        const spad__mlir_op *o = &t->m->ops.items[op];
        if (!spad__mlir_named(t->m, o, "tt.func") || o->first_region < 0) continue;
        if (t->calls.functions.count == FUNCTIONS_MAX) break;
        if (!spad__array_reserve(t->g->host, &t->calls.functions, 1)) return false;
        t->calls.functions.items[t->calls.functions.count++] = op;
    }
    return true;
}

const spad__mlir_op *spad__ttgir_function_named(const spad__ttgir *t, uint32_t symbol) {
    for (size_t i = 0; symbol != 0 && i < t->calls.functions.count; i++) {
        const spad__mlir_op *op = &t->m->ops.items[t->calls.functions.items[i]];
        const uint32_t own = spad__ttgir_symbol(t, op);
        if (own != 0 && spad__mlir_same(t->m, own, symbol)) return op;
    }
    return NULL;
}

/* The number of a call by where it is, so that a loop that is unrolled meets the same one. 0: no
 * memory. */
static uint32_t number_of_call(spad__ttgir *t) {
    const spad__ttgir_caller caller = {t->calls.current, t->g->site};
    for (size_t i = 0; i < t->calls.sites.count; i++) {
        if (t->calls.sites.items[i].call == caller.call &&
            t->calls.sites.items[i].op == caller.op) {
            return (uint32_t)i + 1;
        }
    }
    if (!spad__array_reserve(t->g->host, &t->calls.sites, 1)) {
        spad__gpu_no_memory(t->g);
        return 0;
    }
    t->calls.sites.items[t->calls.sites.count++] = caller;
    return (uint32_t)t->calls.sites.count;
}

static void run_function(spad__ttgir *t, const spad__mlir_op *op, const spad__mlir_op *function) {
    const int32_t self = t->g->site;
    const uint32_t outer = t->calls.current;
    const int64_t base = t->calls.shared_base, own = spad__ttgir_offset(t, op);
    const spad__mlir_op *end = NULL;
    const uint32_t call = number_of_call(t);
    if (call == 0) return;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        spad__ttgir_set_argument(t, function->first_region, i, *spad__ttgir_operand(t, op, i));
    }
    t->calls.current = call;
    t->calls.shared_base = own >= 0 ? own : base;
    t->calls.depth++;
    const bool good = t->run_region(t, function->first_region, &end);
    t->calls.depth--;
    t->calls.current = outer;
    t->calls.shared_base = base;
    t->g->site = self;
    if (good) spad__ttgir_set_results(t, op, end);
}

void spad__ttgir_call(spad__ttgir *t, const spad__mlir_op *op) {
    const uint32_t symbol = spad__ttgir_symbol(t, op);
    const spad__mlir_op *function = spad__ttgir_function_named(t, symbol);
    if (function == NULL) {
        spad__gpu_fail(t->g, "'tt.call' of a function that the module does not have");
    } else if (t->calls.depth == CALLS_DEEP) {
        spad__gpu_fail(t->g, "'tt.call' more than %d functions deep: does one call itself?",
                       CALLS_DEEP);
    } else if (++t->calls.count > CALLS_MAX) {
        spad__gpu_fail(t->g, "more than %d calls: give smaller sizes", CALLS_MAX);
    } else {
        run_function(t, op, function);
    }
}
