/* SPDX-License-Identifier: Apache-2.0
 *
 * tcgen05.mma, tcgen05.cp, tcgen05.shift: asynchronous work on tensor memory.
 *
 * With .cta_group::2 the instruction runs in both CTAs of a pair: each has half of the rows of A
 * and D, and half of the columns of B, at the same addresses of its own memory.
 *
 * Reference: PTX ISA 9.0, sections 9.7.16.4 (instruction descriptor), 9.7.16.10 (layouts of D and
 * A), 9.7.16.9.2 (tcgen05.cp).
 */
#include "frontend/ptx/run/ptx_tcgen05.h"
#include "frontend/ptx/run/ptx_wgmma.h"

enum { TENSOR_MMA_LANES = 128, TENSOR_MMA_QUARTER = 32 };

/* A product, by its instruction descriptor; rows and columns of one CTA. */
typedef struct tensor_mma_product {
    int64_t m;
    int64_t n;
    int64_t n_of_b; /* columns of B that this CTA has */
    int64_t k;      /* of B; a sparse A has half of it */
    int bits;       /* of an element, in shared memory */
    bool a_mn_major;
    bool b_mn_major;
    bool sparse;
    bool pair;
    bool separate; /* .ws */
} tensor_mma_product;

static int64_t tensor_mma_k_bytes(const spad__ptx_instruction *i, uint32_t descriptor) {
    const bool fours = spad__ptx_has(i, SPAD__PTX_WORD_KIND_MXF4) ||
                       spad__ptx_has(i, SPAD__PTX_WORD_KIND_MXF4NVF4);
    return fours && descriptor >> 31 != 0 ? 48 : 32;
}

static int tensor_mma_element_bits(const spad__ptx_instruction *i) {
    if (spad__ptx_has(i, SPAD__PTX_WORD_KIND_F16)) return 16;
    if (spad__ptx_has(i, SPAD__PTX_WORD_KIND_TF32)) return 32;
    const bool fours = spad__ptx_has(i, SPAD__PTX_WORD_KIND_MXF4) ||
                       spad__ptx_has(i, SPAD__PTX_WORD_KIND_MXF4NVF4);
    return fours ? 4 : 8; /* 6 and 4 bits of f8f6f4 are kept in bytes */
}

static tensor_mma_product tensor_mma_read_product(const spad__ptx_instruction *i,
                                                  uint32_t descriptor) {
    tensor_mma_product p = {.m = (int64_t)(descriptor >> 24 & 31) * 16,
                            .n = (int64_t)(descriptor >> 17 & 63) * 8,
                            .bits = tensor_mma_element_bits(i),
                            .a_mn_major = (descriptor >> 15 & 1) != 0,
                            .b_mn_major = (descriptor >> 16 & 1) != 0,
                            .sparse = spad__ptx_has(i, SPAD__PTX_WORD_SP),
                            .pair = spad__ptx_has(i, SPAD__PTX_WORD_CTA_GROUP_2),
                            .separate = spad__ptx_has(i, SPAD__PTX_WORD_WS)};
    p.k = tensor_mma_k_bytes(i, descriptor) * 8 / p.bits * (p.sparse ? 2 : 1);
    p.n_of_b = p.pair ? p.n / 2 : p.n;
    if (p.pair) p.m /= 2;
    return p;
}

/* ---- tensor memory --------------------------------------------------------------------------- */

/* Rows of D, or of an A in tensor memory, with `columns` columns if all rows had a lane. */
static void tensor_mma_add_rows(spad__ptx_machine *m, const tensor_mma_product *p, uint32_t address,
                                int64_t columns) {
    if (p->m >= TENSOR_MMA_LANES) {
        spad__ptx_add_columns(m, address, 0, TENSOR_MMA_LANES, 0, columns);
    } else if (p->m == 64 && !p->pair && !p->separate) {
        for (int64_t quarter = 0; quarter < 4; quarter++) {
            spad__ptx_add_columns(m, address, quarter * TENSOR_MMA_QUARTER, 16, 0, columns);
        }
    } else { /* rows in 64 or 32 lanes, and columns split among the others */
        const int64_t parts = p->m >= 64 ? 2 : 4;
        spad__ptx_add_columns(m, address, 0, TENSOR_MMA_LANES, 0, (columns + parts - 1) / parts);
    }
}

static void tensor_mma_add_output(spad__ptx_machine *m, spad__ptx_warp *w,
                                  const tensor_mma_product *p, const spad__ptx_operand *accumulates,
                                  uint32_t lanes, uint32_t address, int32_t cta) {
    spad__ptx_value value;
    uint64_t enabled = 1;
    if (accumulates != NULL) {
        spad__ptx_get(m, w, accumulates, SPAD__PTX_PRED, &value);
        if (!spad__ptx_same(&value, lanes, &enabled)) enabled = 1;
    }
    spad__ptx_add_access(m, enabled != 0 ? SPAD__PTX_UPDATE : SPAD__PTX_WRITE, true, cta);
    tensor_mma_add_rows(m, p, address, p->n);
}

/* Scale factors: 32 lanes times four, a column for every 32 rows or columns. */
static void tensor_mma_add_scales(spad__ptx_machine *m, spad__ptx_warp *w,
                                  const spad__ptx_operand *operand, uint32_t lanes, int64_t rows,
                                  int32_t cta) {
    uint32_t address;
    if (!spad__ptx_tensor_address(m, w, operand, lanes, &address)) return;
    spad__ptx_add_access(m, SPAD__PTX_READ, true, cta);
    spad__ptx_add_columns(m, address, 0, TENSOR_MMA_LANES, 0, (rows + 31) / 32);
}

/* ---- shared memory --------------------------------------------------------------------------- */

static bool tensor_mma_get_descriptor(spad__ptx_machine *m, spad__ptx_warp *w,
                                      const spad__ptx_operand *operand, int lane,
                                      spad__ptx_descriptor *out) {
    spad__ptx_value value;
    spad__ptx_get(m, w, operand, SPAD__PTX_B64, &value);
    if ((value.known >> lane & 1) == 0) {
        spad__ptx_remark_at(m, w, SPAD__PTX_LEFT_OUT, lane, 0, 0,
                            "a matrix descriptor is not known: what is read is left out");
        return false;
    }
    if (spad__ptx_decode_tcgen05(value.lanes[lane], out)) return true;
    spad__ptx_remark_at(m, w, SPAD__PTX_BAD_DESCRIPTOR, lane, value.lanes[lane], 0,
                        "a matrix descriptor has no swizzle mode");
    return false;
}

static void tensor_mma_add_matrix(spad__ptx_machine *m, spad__ptx_warp *w,
                                  const spad__ptx_operand *operand, int lane,
                                  const spad__ptx_operand_shape *shape, int32_t cta) {
    spad__ptx_descriptor d;
    spad__ptx_chunks chunks = {0};
    if (operand == NULL || !tensor_mma_get_descriptor(m, w, operand, lane, &d)) return;
    spad__ptx_descriptor_chunks(&d, shape, &chunks);
    spad__ptx_add_chunks(m, w, cta, &chunks);
}

/* ---- products -------------------------------------------------------------------------------- */

/* Operands: [d], a or [a], b, [metadata] if sparse, descriptor, {mask} or [scales] or nothing,
 * accumulates, ... */
typedef struct tensor_mma_operands {
    const spad__ptx_operand *d;
    const spad__ptx_operand *a;
    const spad__ptx_operand *b;
    const spad__ptx_operand *metadata;
    const spad__ptx_operand *descriptor;
    const spad__ptx_operand *scale_a;
    const spad__ptx_operand *scale_b;
    const spad__ptx_operand *accumulates;
} tensor_mma_operands;

static tensor_mma_operands tensor_mma_operands_of(const spad__ptx_machine *m,
                                                  const spad__ptx_instruction *i) {
    tensor_mma_operands o = {.d = spad__ptx_operand_at(m, i, 0),
                             .a = spad__ptx_operand_at(m, i, 1),
                             .b = spad__ptx_operand_at(m, i, 2)};
    int32_t at = 3;
    if (spad__ptx_has(i, SPAD__PTX_WORD_SP)) o.metadata = spad__ptx_operand_at(m, i, at++);
    o.descriptor = spad__ptx_operand_at(m, i, at++);
    if (spad__ptx_has(i, SPAD__PTX_WORD_BLOCK_SCALE)) {
        o.scale_a = spad__ptx_operand_at(m, i, at++);
        o.scale_b = spad__ptx_operand_at(m, i, at++);
    } else if (at < i->count && spad__ptx_operand_at(m, i, at)->kind == SPAD__PTX_VECTOR) {
        at++; /* lanes of D that are left out */
    }
    o.accumulates = spad__ptx_operand_at(m, i, at);
    return o;
}

static void tensor_mma_add_cta(spad__ptx_machine *m, spad__ptx_warp *w,
                               const tensor_mma_operands *o, const tensor_mma_product *p, int lane,
                               uint32_t output, int32_t cta) {
    const uint32_t lanes = UINT32_C(1) << lane;
    const int64_t k_of_a = p->sparse ? p->k / 2 : p->k;
    uint32_t address;
    if (o->a->kind != SPAD__PTX_ADDRESS) {
        const spad__ptx_operand_shape a = {
            .mn = p->m, .k = k_of_a, .bits = p->bits, .mn_major = p->a_mn_major};
        tensor_mma_add_matrix(m, w, o->a, lane, &a, cta);
    } else if (spad__ptx_tensor_address(m, w, o->a, lanes, &address)) {
        tensor_mma_product rows = *p;
        if (rows.m < TENSOR_MMA_LANES && (rows.pair || rows.separate))
            rows.m = TENSOR_MMA_LANES; /* in all lanes */
        spad__ptx_add_access(m, SPAD__PTX_READ, true, cta);
        tensor_mma_add_rows(m, &rows, address, k_of_a * p->bits / 32);
    }
    const spad__ptx_operand_shape b = {
        .mn = p->n_of_b, .k = p->k, .bits = p->bits, .mn_major = p->b_mn_major};
    tensor_mma_add_matrix(m, w, o->b, lane, &b, cta);
    if (o->scale_a != NULL) tensor_mma_add_scales(m, w, o->scale_a, lanes, p->m, cta);
    if (o->scale_b != NULL) tensor_mma_add_scales(m, w, o->scale_b, lanes, p->n, cta);
    tensor_mma_add_output(m, w, p, o->accumulates, lanes, output, cta);
}

static spad__ptx_outcome tensor_mma_run_one(spad__ptx_machine *m, spad__ptx_warp *w,
                                            const spad__ptx_instruction *i,
                                            const tensor_mma_operands *o, int lane) {
    const uint32_t lanes = UINT32_C(1) << lane;
    spad__ptx_value value;
    uint32_t output = 0;
    spad__ptx_get(m, w, o->descriptor, SPAD__PTX_U32, &value);
    if ((value.known >> lane & 1) == 0) {
        spad__ptx_remark_at(m, w, SPAD__PTX_UNKNOWN_OPERAND, lane, 0, 0,
                            "an instruction descriptor is not known: the product is left out");
        return SPAD__PTX_DONE;
    }
    if (!spad__ptx_tensor_address(m, w, o->d, lanes, &output)) return SPAD__PTX_DONE;
    const tensor_mma_product p = tensor_mma_read_product(i, (uint32_t)value.lanes[lane]);
    if (p.n == 0 || p.m == 0) {
        spad__ptx_remark_at(m, w, SPAD__PTX_BAD_DESCRIPTOR, lane, value.lanes[lane], 0,
                            "an instruction descriptor without rows or columns");
        return SPAD__PTX_DONE;
    }
    if (o->metadata != NULL) {
        spad__ptx_remark_at(m, w, SPAD__PTX_APPROXIMATED, lane, 0, 0,
                            "reads of the metadata of a sparse product are left out");
    }
    spad__ptx_begin_event(m, w, lanes, SPAD__PTX_ACCESS)->unit = SPAD__PTX_TCGEN05;
    for (uint32_t ctas = spad__ptx_tensor_ctas(m, w, i); ctas != 0; ctas &= ctas - 1) {
        tensor_mma_add_cta(m, w, o, &p, lane, output, spad__ptx_first_lane(ctas));
    }
    return spad__ptx_end_event(m);
}

spad__ptx_outcome spad__ptx_run_tensor_mma(spad__ptx_machine *m, spad__ptx_warp *w,
                                           const spad__ptx_instruction *i, uint32_t lanes) {
    const tensor_mma_operands o = tensor_mma_operands_of(m, i);
    if (o.descriptor == NULL) return spad__ptx_unsupported(m, i, "it has too few operands");
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
        if (tensor_mma_run_one(m, w, i, &o, spad__ptx_first_lane(left)) != SPAD__PTX_DONE) {
            return SPAD__PTX_FAILED;
        }
    }
    return SPAD__PTX_DONE;
}

/* ---- copies and shifts ----------------------------------------------------------------------- */

/* tcgen05.cp moves rows of shared memory. All lanes get a copy, but for
 * 4x256b, whose lanes are not documented. */
typedef struct tensor_mma_move {
    int64_t rows;
    int64_t bytes;
    bool some_lanes;
} tensor_mma_move;

static tensor_mma_move tensor_mma_move_of(const spad__ptx_instruction *i) {
    if (spad__ptx_has(i, SPAD__PTX_WORD_T128X256B)) return (tensor_mma_move){128, 32, false};
    if (spad__ptx_has(i, SPAD__PTX_WORD_T4X256B)) return (tensor_mma_move){4, 32, true};
    if (spad__ptx_has(i, SPAD__PTX_WORD_T128X128B)) return (tensor_mma_move){128, 16, false};
    if (spad__ptx_has(i, SPAD__PTX_WORD_T64X128B)) return (tensor_mma_move){64, 16, false};
    return (tensor_mma_move){32, 16, false};
}

static spad__ptx_outcome tensor_mma_move_one(spad__ptx_machine *m, spad__ptx_warp *w,
                                             const spad__ptx_instruction *i, int lane) {
    const tensor_mma_move moved = tensor_mma_move_of(i);
    const bool copies = i->op == SPAD__PTX_OP_TCGEN05_CP;
    const spad__ptx_operand_shape shape = {.mn = moved.rows, .k = moved.bytes, .bits = 8};
    const unsigned may = moved.some_lanes ? SPAD__PTX_MAY : 0;
    uint32_t address;
    if (!spad__ptx_tensor_address(m, w, spad__ptx_operand_at(m, i, 0), UINT32_C(1) << lane,
                                  &address)) {
        return SPAD__PTX_DONE;
    }
    spad__ptx_begin_event(m, w, UINT32_C(1) << lane, SPAD__PTX_ACCESS)->unit = SPAD__PTX_TCGEN05;
    for (uint32_t ctas = spad__ptx_tensor_ctas(m, w, i); ctas != 0; ctas &= ctas - 1) {
        const int32_t cta = spad__ptx_first_lane(ctas);
        if (copies) tensor_mma_add_matrix(m, w, spad__ptx_operand_at(m, i, 1), lane, &shape, cta);
        spad__ptx_add_access(m, copies ? SPAD__PTX_WRITE | may : SPAD__PTX_UPDATE, true, cta);
        spad__ptx_add_columns(m, address, 0, TENSOR_MMA_LANES, 0, copies ? moved.bytes / 4 : 8);
    }
    return spad__ptx_end_event(m);
}

spad__ptx_outcome spad__ptx_run_tensor_move(spad__ptx_machine *m, spad__ptx_warp *w,
                                            const spad__ptx_instruction *i, uint32_t lanes) {
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
        if (tensor_mma_move_one(m, w, i, spad__ptx_first_lane(left)) != SPAD__PTX_DONE) {
            return SPAD__PTX_FAILED;
        }
    }
    return SPAD__PTX_DONE;
}
