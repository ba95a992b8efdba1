/* SPDX-License-Identifier: Apache-2.0
 *
 * Which registers of a warp wgmma.mma_async still uses, and which ones the warp has accessed since
 * its last wgmma.fence.
 *
 * Each register remembers the newest group of products that uses it, and when the threads last
 * accessed it. A copy (`mov`) accesses nothing: compilers print copies of accumulators around
 * inline assembly, and ptxas gives both names one register. So the copy takes over what is known of
 * the source. Compilers also move arithmetic over a fence, so any fence after the last commit is
 * enough. Registers of other functions that are called meanwhile are not followed.
 *
 * Cost: O(operands) for each instruction after the first product or fence of a warp.
 *
 * Reference: PTX ISA 9.0, sections 9.7.15.7.1 (wgmma.fence: before the first wgmma.mma_async, and
 * between an access to a register and a wgmma.mma_async that uses it, except for accumulators of
 * products of one shape) and 9.7.15.7.3 (wgmma.wait_group: accessing the accumulators or the
 * fragments of A before it is undefined).
 */
#include "frontend/ptx/run/ptx_products.h"

#include "frontend/ptx/run/ptx_wgmma.h"

typedef struct product_register {
    int64_t group;    /* that uses it; 0: none */
    int64_t accessed; /* by the threads: a step; 0: not yet, or a copy */
    int32_t shape;    /* N of the product whose accumulator it is */
    bool fragment;    /* of A, which the product only reads */
} product_register;

typedef struct spad__ptx_products {
    int32_t frame;
    int32_t count; /* registers of its function */
    int64_t steps;
    int64_t fence;     /* step of the last wgmma.fence; 0: none yet */
    int64_t committed; /* step of the last commit */
    bool reported;     /* that a fence is missing; until the next one comes */
    int64_t group;     /* that the next commit closes, from 1 */
    int64_t done;      /* the newest group that was waited for */
    product_register *registers;
} spad__ptx_products;

/* ---- life --------------------------------------------------------------------------------------
 */

void spad__ptx_products_free(const spad__ptx_machine *m, spad__ptx_warp *w) {
    spad__ptx_products *p = w->products;
    if (p == NULL) return;
    spad__free(m->host, p->registers, (size_t)p->count * sizeof *p->registers);
    spad__free(m->host, p, sizeof *p);
    w->products = NULL;
}

/* The products of a warp; another function that issues some starts anew. */
static spad__ptx_products *products_of(spad__ptx_machine *m, spad__ptx_warp *w) {
    if (w->products != NULL && w->products->frame == w->current) return w->products;
    spad__ptx_products_free(m, w);
    spad__ptx_products *p = spad__new(m->host, sizeof *p);
    if (p == NULL) {
        (void)spad__ptx_no_memory(m);
        return NULL;
    }
    *p = (spad__ptx_products){
        .frame = w->current, .count = w->frame->function->register_count, .group = 1};
    p->registers = spad__new_array(m->host, (size_t)p->count, sizeof *p->registers);
    w->products = p;
    if (p->registers != NULL) return p;
    spad__ptx_products_free(m, w);
    (void)spad__ptx_no_memory(m);
    return NULL;
}

static product_register *register_of(spad__ptx_products *p, const spad__ptx_operand *operand) {
    if (operand == NULL || operand->kind != SPAD__PTX_REGISTER) return NULL;
    return operand->reg >= 0 && operand->reg < p->count ? &p->registers[operand->reg] : NULL;
}

/* ---- products ----------------------------------------------------------------------------------
 */

static void remark_unfenced(spad__ptx_machine *m, const spad__ptx_warp *w, bool first) {
    spad__ptx_remark_at(m, w, SPAD__PTX_NO_PRODUCT_FENCE, 0, 0, 0, "%s",
                        first ? "none comes before the first product of the warp"
                              : "threads accessed a register of this product after the last one");
}

/* Marks the registers of an operand. True: one of them was accessed after the last fence. */
static bool use_registers(spad__ptx_machine *m, spad__ptx_products *p,
                          const spad__ptx_operand *operand, int32_t shape, bool fragment) {
    const spad__ptx_operand *item;
    bool unfenced = false;
    for (int32_t n = 0; (item = spad__ptx_item(m, operand, n)) != NULL; n++) {
        product_register *r = register_of(p, item);
        if (r == NULL) continue;
        const bool others = r->group > p->done && !fragment && !r->fragment && r->shape != shape;
        unfenced |= r->accessed > p->fence || others;
        *r = (product_register){p->group, r->accessed, fragment ? 0 : shape, fragment};
    }
    return unfenced;
}

bool spad__ptx_products_issue(spad__ptx_machine *m, spad__ptx_warp *w,
                              const spad__ptx_instruction *i, const spad__ptx_operand *d,
                              const spad__ptx_operand *a) {
    spad__ptx_products *p = products_of(m, w);
    if (p == NULL) return false;
    const bool first = p->fence == 0;
    bool unfenced = use_registers(m, p, d, i->shape[1], false);
    if (a != NULL) unfenced |= use_registers(m, p, a, 0, true);
    /* compilers move arithmetic over a fence, but not over the commit before it */
    if (p->reported || !(first || (unfenced && p->fence <= p->committed))) return true;
    remark_unfenced(m, w, first);
    p->reported = true; /* one remark for one cause */
    return true;
}

bool spad__ptx_products_fence(spad__ptx_machine *m, spad__ptx_warp *w) {
    spad__ptx_products *p = products_of(m, w);
    if (p == NULL) return false;
    p->fence = ++p->steps;
    p->reported = false;
    return true;
}

void spad__ptx_products_commit(spad__ptx_warp *w) {
    if (w->products == NULL) return;
    w->products->group++;
    w->products->committed = ++w->products->steps;
}

void spad__ptx_products_wait(spad__ptx_warp *w, int64_t pending) {
    spad__ptx_products *p = w->products;
    if (p != NULL && p->group - 1 - pending > p->done) p->done = p->group - 1 - pending;
}

/* ---- other instructions ------------------------------------------------------------------------
 */

static void access_register(spad__ptx_machine *m, const spad__ptx_warp *w, product_register *r,
                            bool writes) {
    spad__ptx_products *p = w->products;
    if (r == NULL) return;
    r->accessed = p->steps;
    if (r->group <= p->done || (r->fragment && !writes)) return;
    spad__ptx_remark_at(m, w, SPAD__PTX_PRODUCT_IN_FLIGHT, 0, 0, 0, "%s",
                        r->fragment ? "the product may still read this fragment of A"
                        : writes    ? "the product may still write this accumulator"
                                    : "this accumulator may not have its value yet");
    p->done = r->group; /* one remark for one cause */
}

/* The first operand is written by most instructions; which ones only read is of no use here, except
 * for those that store. */
static bool product_only_reads(const spad__ptx_instruction *i) {
    return i->op == SPAD__PTX_OP_ST || i->op == SPAD__PTX_OP_RED || i->op == SPAD__PTX_OP_STMATRIX;
}

void spad__ptx_products_see(spad__ptx_machine *m, spad__ptx_warp *w,
                            const spad__ptx_instruction *i) {
    spad__ptx_products *p = w->products;
    if (p->frame != w->current || i->op == SPAD__PTX_OP_WGMMA_MMA) return;
    p->steps++;
    if (i->op == SPAD__PTX_OP_MOV) {
        product_register *to = register_of(p, spad__ptx_operand_at(m, i, 0));
        const product_register *from = register_of(p, spad__ptx_operand_at(m, i, 1));
        if (to != NULL) *to = from != NULL ? *from : (product_register){0};
        return;
    }
    for (int32_t n = 0; n < i->count; n++) {
        const spad__ptx_operand *operand = spad__ptx_operand_at(m, i, n);
        const spad__ptx_operand *item;
        for (int32_t k = 0; (item = spad__ptx_item(m, operand, k)) != NULL; k++)
            access_register(m, w, register_of(p, item), n == 0 && !product_only_reads(i));
    }
}
