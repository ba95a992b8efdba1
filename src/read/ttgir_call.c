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
#include "read/ttgir.h"

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
        if (t->functions.count == FUNCTIONS_MAX) break;
        if (!spad__array_reserve(t->host, &t->functions, 1)) return false;
        t->functions.items[t->functions.count++] = op;
    }
    return true;
}

static const spad__mlir_op *function_named(const spad__ttgir *t, uint32_t symbol) {
    for (size_t i = 0; symbol != 0 && i < t->functions.count; i++) {
        const spad__mlir_op *op = &t->m->ops.items[t->functions.items[i]];
        const uint32_t own = spad__ttgir_symbol(t, op);
        if (own != 0 && spad__mlir_same(t->m, own, symbol)) return op;
    }
    return NULL;
}

/* The number of a call by where it is, so that a loop that is unrolled meets the same one. 0: no
 * memory. */
static uint32_t number_of_call(spad__ttgir *t) {
    const spad__ttgir_caller caller = {t->call, t->op};
    for (size_t i = 0; i < t->calls.count; i++) {
        if (t->calls.items[i].call == caller.call && t->calls.items[i].op == caller.op) {
            return (uint32_t)i + 1;
        }
    }
    if (!spad__array_reserve(t->host, &t->calls, 1)) {
        spad__ttgir_no_memory(t);
        return 0;
    }
    t->calls.items[t->calls.count++] = caller;
    return (uint32_t)t->calls.count;
}

static void run_function(spad__ttgir *t, const spad__mlir_op *op, const spad__mlir_op *function) {
    const int32_t self = t->op;
    const uint32_t outer = t->call;
    const int64_t base = t->call_base, own = spad__ttgir_offset(t, op);
    const spad__mlir_op *end = NULL;
    const uint32_t call = number_of_call(t);
    if (call == 0) return;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        spad__ttgir_set_argument(t, function->first_region, i, *spad__ttgir_operand(t, op, i));
    }
    t->call = call;
    t->call_base = own >= 0 ? own : base;
    t->call_depth++;
    const bool good = t->run_region(t, function->first_region, &end);
    t->call_depth--;
    t->call = outer;
    t->call_base = base;
    t->op = self;
    if (good) spad__ttgir_set_results(t, op, end);
}

void spad__ttgir_call(spad__ttgir *t, const spad__mlir_op *op) {
    const uint32_t symbol = spad__ttgir_symbol(t, op);
    const spad__mlir_op *function = function_named(t, symbol);
    if (function == NULL) {
        SPAD__TTGIR_FAULT(t, "'tt.call' of a function that the module does not have");
    } else if (t->call_depth == CALLS_DEEP) {
        SPAD__TTGIR_FAULT(t, "'tt.call' more than %d functions deep: does one call itself?",
                          CALLS_DEEP);
    } else if (++t->call_count > CALLS_MAX) {
        SPAD__TTGIR_FAULT(t, "more than %d calls: give smaller sizes", CALLS_MAX);
    } else {
        run_function(t, op, function);
    }
}
