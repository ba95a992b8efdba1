/* SPDX-License-Identifier: Apache-2.0
 *
 * wgmma: the four warps of a warpgroup multiply matrices of shared memory together. Each of them
 * runs the instruction by itself, so each makes an event with all bytes that are read; who reads
 * the log joins them. Accumulators are not known.
 *
 * Reference: PTX ISA 9.0, section 9.7.15 (wgmma).
 */
#include "frontend/ptx/run/ptx_wgmma.h"
#include "frontend/ptx/run/ptx_async.h"
#include "frontend/ptx/run/ptx_products.h"

/* K of an instruction is 32 bytes of A and B; a sparse A has half of the elements of a B of 64. */
static int wgmma_element_bits(spad__ptx_type type) {
    if (type == SPAD__PTX_TF32) return 32;
    return type == SPAD__PTX_NO_TYPE ? 16 : spad__ptx_type_bits(type);
}

void spad__ptx_add_chunks(spad__ptx_machine *m, spad__ptx_warp *w, int32_t cta,
                          const spad__ptx_chunks *chunks) {
    int64_t begin;
    int64_t end = 0;
    const int64_t all = m->ctas[cta].shared_bytes;
    spad__ptx_add_access(m, SPAD__PTX_READ, false, cta);
    while (spad__ptx_next_run(chunks, end, &begin, &end)) {
        if (end > all) {
            spad__ptx_remark_at(m, w, SPAD__PTX_OUT_OF_SHARED, 0, (uint64_t)begin, end - begin,
                                "a matrix descriptor reaches beyond shared memory");
        }
        spad__ptx_add_run(m, begin, end < all ? end : all);
    }
}

/* The descriptor that an operand has in all lanes. */
static bool wgmma_get_descriptor(spad__ptx_machine *m, spad__ptx_warp *w,
                                 const spad__ptx_operand *operand, uint32_t lanes,
                                 spad__ptx_descriptor *out) {
    spad__ptx_value value;
    uint64_t bits = 0;
    if (operand == NULL) return false;
    spad__ptx_get(m, w, operand, SPAD__PTX_B64, &value);
    if (!spad__ptx_same(&value, lanes, &bits)) {
        spad__ptx_remark_at(m, w, SPAD__PTX_LEFT_OUT, spad__ptx_first_lane(lanes), 0, 0,
                            "a matrix descriptor is not known, or not the same in all lanes: what "
                            "is read is left out");
        return false;
    }
    if (spad__ptx_decode_wgmma(bits, out)) return true;
    spad__ptx_remark_at(m, w, SPAD__PTX_BAD_DESCRIPTOR, spad__ptx_first_lane(lanes), bits, 0,
                        "a matrix descriptor has no swizzle mode");
    return false;
}

static void wgmma_add_operand(spad__ptx_machine *m, spad__ptx_warp *w,
                              const spad__ptx_operand *operand, uint32_t lanes,
                              const spad__ptx_operand_shape *shape) {
    spad__ptx_descriptor d;
    spad__ptx_chunks chunks = {0};
    if (!wgmma_get_descriptor(m, w, operand, lanes, &d)) return;
    if (d.base_offset != 0) {
        spad__ptx_remark_at(m, w, SPAD__PTX_APPROXIMATED, 0, (uint64_t)d.start, 0,
                            "a matrix descriptor with a base offset: the pattern is taken to start "
                            "%d rows earlier",
                            d.base_offset);
    }
    spad__ptx_descriptor_chunks(&d, shape, &chunks);
    spad__ptx_add_chunks(m, w, w->cta, &chunks);
}

/* The immediates that say which operands are transposed: the last ones, of 16-bit types only. */
typedef struct wgmma_majors {
    bool a;
    bool b;
} wgmma_majors;

static bool wgmma_is_one(const spad__ptx_operand *operand) {
    return operand != NULL && operand->kind == SPAD__PTX_IMMEDIATE && operand->value == 1;
}

static wgmma_majors wgmma_majors_of(const spad__ptx_machine *m, const spad__ptx_instruction *i,
                                    bool a_in_registers) {
    wgmma_majors out = {0};
    const bool wide = i->types[1] == SPAD__PTX_F16 || i->types[1] == SPAD__PTX_BF16;
    /* d, a, b, [metadata, selector,] scale-d, scale of a, scale of b, [trans a,] trans b */
    const int32_t sparse = spad__ptx_has(i, SPAD__PTX_WORD_SP) ? 2 : 0;
    if (!wide || i->count < 7 + sparse) return out;
    out.b = wgmma_is_one(spad__ptx_operand_at(m, i, i->count - 1));
    out.a = !a_in_registers && wgmma_is_one(spad__ptx_operand_at(m, i, i->count - 2));
    return out;
}

static spad__ptx_outcome wgmma_run_mma(spad__ptx_machine *m, spad__ptx_warp *w,
                                       const spad__ptx_instruction *i, uint32_t lanes) {
    if (spad__ptx_gather(m, w, lanes) == SPAD__PTX_BLOCKED) return SPAD__PTX_BLOCKED;
    if (i->shape[0] == 0 || i->count < 3) return spad__ptx_unsupported(m, i, "it has no shape");
    const spad__ptx_operand *a = spad__ptx_operand_at(m, i, 1);
    const bool a_in_registers = a->kind == SPAD__PTX_VECTOR;
    const wgmma_majors trans = wgmma_majors_of(m, i, a_in_registers);
    const bool sparse = spad__ptx_has(i, SPAD__PTX_WORD_SP);
    spad__ptx_event *event = spad__ptx_begin_event(m, w, lanes, SPAD__PTX_ACCESS);
    event->unit = SPAD__PTX_WGMMA;
    event->group = SPAD__PTX_GROUP_WGMMA;
    if (!a_in_registers) {
        const spad__ptx_operand_shape shape = {.mn = i->shape[0],
                                               .k = sparse ? i->shape[2] / 2 : i->shape[2],
                                               .bits =
                                                   wgmma_element_bits((spad__ptx_type)i->types[1]),
                                               .mn_major = trans.a};
        wgmma_add_operand(m, w, a, lanes, &shape);
    }
    const spad__ptx_operand_shape shape = {.mn = i->shape[1],
                                           .k = i->shape[2],
                                           .bits = wgmma_element_bits((spad__ptx_type)i->types[2]),
                                           .mn_major = trans.b};
    wgmma_add_operand(m, w, spad__ptx_operand_at(m, i, 2), lanes, &shape);
    const spad__ptx_operand *d = spad__ptx_operand_at(m, i, 0);
    if (!spad__ptx_products_issue(m, w, i, d, a_in_registers ? a : NULL)) return SPAD__PTX_FAILED;
    spad__ptx_forget(m, w, d, lanes);
    return spad__ptx_end_event(m);
}

spad__ptx_outcome spad__ptx_run_wgmma(spad__ptx_machine *m, spad__ptx_warp *w,
                                      const spad__ptx_instruction *i, uint32_t lanes) {
    if (i->op == SPAD__PTX_OP_WGMMA_MMA) return wgmma_run_mma(m, w, i, lanes);
    if (spad__ptx_gather(m, w, lanes) == SPAD__PTX_BLOCKED) return SPAD__PTX_BLOCKED;
    if (i->op == SPAD__PTX_OP_WGMMA_FENCE) {
        if (!spad__ptx_products_fence(m, w)) return SPAD__PTX_FAILED;
        return spad__ptx_fence_event(m, w, lanes, SPAD__PTX_FENCE_WGMMA);
    }
    if (i->op == SPAD__PTX_OP_WGMMA_COMMIT) {
        spad__ptx_products_commit(w);
        return spad__ptx_commit_event(m, w, lanes, SPAD__PTX_GROUP_WGMMA);
    }
    const int64_t pending = spad__ptx_number(m, w, spad__ptx_operand_at(m, i, 0), lanes, 0,
                                             "the number of pending groups");
    spad__ptx_products_wait(w, pending);
    return spad__ptx_wait_event(m, w, lanes, SPAD__PTX_GROUP_WGMMA, pending, false);
}
