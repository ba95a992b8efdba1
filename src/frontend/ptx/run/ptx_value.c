/* SPDX-License-Identifier: Apache-2.0
 *
 * Operands: registers, immediates, special registers and addresses as values of 32 lanes.
 *
 * A lane that is not known holds 0 in its register, so that a run does not depend on what an
 * operation made of it.
 *
 * Reference: PTX ISA 9.0, chapters 6 (operands) and 10 (special registers).
 */
#include <string.h>

#include "frontend/ptx/run/ptx_real.h"
#include "frontend/ptx/run/ptx_shared.h"
#include "frontend/ptx/run/ptx_state.h"

#define TYPE_BITS(name, spelling, bits) bits,
static const uint16_t type_bits[SPAD__PTX_TYPE_COUNT] = {64, SPAD__PTX_NUMBER_TYPES(TYPE_BITS)};

unsigned spad__ptx_bits(spad__ptx_type type) {
    return type_bits[type];
}

static unsigned register_bits(const spad__ptx_machine *m, const spad__ptx_warp *w, int32_t reg) {
    const int32_t row = w->frame->function->first_register + reg;
    return type_bits[m->module->registers.items[row].type];
}

static void broadcast(spad__ptx_value *out, uint64_t value) {
    for (int l = 0; l < SPAD__PTX_LANES; l++) out->lanes[l] = value;
    out->known = UINT32_MAX;
}

/* ---- immediates ---------------------------------------------------------------------------------
 */

/* Floats are written with 64 bits wherever they are decimal. */
static uint64_t immediate_bits(const spad__ptx_operand *operand, spad__ptx_type type) {
    const uint64_t value = (uint64_t)operand->value;
    if (operand->wide) {
        const spad__ptx_format *format = spad__ptx_format_of(type);
        if (type == SPAD__PTX_B32) format = spad__ptx_format_of(SPAD__PTX_F32);
        if (type == SPAD__PTX_B16) format = spad__ptx_format_of(SPAD__PTX_F16);
        if (format != NULL) return spad__ptx_narrow(value, format);
    }
    return value & spad__ptx_mask(type_bits[type]);
}

/* ---- special registers
 * ---------------------------------------------------------------------------
 */

/* The inputs of special registers. */
typedef struct question {
    const spad__ptx_machine *machine;
    const spad__ptx_warp *warp;
    const spad__ptx_cta *cta;
    unsigned component; /* 0 to 2 */
} question;

static uint32_t product_of_sizes(const uint32_t *sizes) {
    return sizes[0] * sizes[1] * sizes[2];
}

static void thread_index(const question *q, spad__ptx_value *out) {
    const uint32_t *block = q->machine->launch->block;
    for (uint32_t l = 0; l < SPAD__PTX_LANES; l++) {
        const uint32_t thread = (uint32_t)q->warp->number * SPAD__PTX_LANES + l;
        const uint32_t parts[3] = {thread % block[0], thread / block[0] % block[1],
                                   thread / block[0] / block[1] % block[2]};
        out->lanes[l] = parts[q->component];
    }
    out->known = UINT32_MAX;
}

static void lane_number(const question *q, spad__ptx_value *out) {
    (void)q;
    for (uint32_t l = 0; l < SPAD__PTX_LANES; l++) out->lanes[l] = l;
    out->known = UINT32_MAX;
}

static void lane_mask(spad__ptx_special special, spad__ptx_value *out) {
    for (uint32_t l = 0; l < SPAD__PTX_LANES; l++) {
        const uint32_t self = UINT32_C(1) << l;
        const uint32_t below = self - 1;
        switch (special) {
        case SPAD__PTX_SPECIAL_LANEMASK_EQ: out->lanes[l] = self; break;
        case SPAD__PTX_SPECIAL_LANEMASK_LT: out->lanes[l] = below; break;
        case SPAD__PTX_SPECIAL_LANEMASK_LE: out->lanes[l] = below | self; break;
        case SPAD__PTX_SPECIAL_LANEMASK_GT: out->lanes[l] = ~(below | self); break;
        default: out->lanes[l] = ~below; break;
        }
        out->lanes[l] &= UINT32_MAX;
    }
    out->known = UINT32_MAX;
}

static uint64_t warp_number(const question *q) {
    return (uint64_t)q->warp->number;
}
static uint64_t warps_of_cta(const question *q) {
    return (uint64_t)q->cta->warp_count;
}
static uint64_t block_size(const question *q) {
    return q->machine->launch->block[q->component];
}
static uint64_t cta_id(const question *q) {
    return q->cta->id[q->component];
}
static uint64_t grid_size(const question *q) {
    return q->machine->launch->grid[q->component];
}
static uint64_t cluster_size(const question *q) {
    return q->machine->launch->cluster[q->component];
}
static uint64_t cluster_id(const question *q) {
    return cta_id(q) / cluster_size(q);
}
static uint64_t clusters(const question *q) {
    return grid_size(q) / cluster_size(q);
}
static uint64_t cta_in_cluster(const question *q) {
    return cta_id(q) % cluster_size(q);
}
static uint64_t special_rank(const question *q) {
    return (uint64_t)q->warp->cta;
}
static uint64_t ranks(const question *q) {
    return (uint64_t)q->machine->cta_count;
}
static uint64_t has_cluster(const question *q) {
    return product_of_sizes(q->machine->launch->cluster) > 1 ||
           q->machine->launch->kernel->explicit_cluster;
}
static uint64_t shared_size(const question *q) {
    return (uint64_t)q->cta->shared_bytes;
}
static uint64_t dynamic_size(const question *q) {
    return (uint64_t)q->machine->launch->dynamic_shared_bytes;
}
static uint64_t reserved_begin(const question *q) {
    return (uint64_t)q->cta->reserved_at | (uint64_t)q->warp->cta << 24;
}
static uint64_t reserved_end(const question *q) {
    return reserved_begin(q) + (uint64_t)q->cta->reserved_bytes;
}
static uint64_t reserved_size(const question *q) {
    return (uint64_t)q->cta->reserved_bytes;
}
static uint64_t warp_size(const question *q) {
    (void)q;
    return SPAD__PTX_LANES;
}
static uint64_t zero(const question *q) {
    (void)q;
    return 0;
}

/* The others (clocks, %smid, %gridid) depend on the machine and on time: they are not known. */
static uint64_t (*const uniform_specials[SPAD__PTX_SPECIAL_COUNT])(const question *) = {
    [SPAD__PTX_SPECIAL_WARPID] = warp_number,
    [SPAD__PTX_SPECIAL_NWARPID] = warps_of_cta,
    [SPAD__PTX_SPECIAL_NTID] = block_size,
    [SPAD__PTX_SPECIAL_CTAID] = cta_id,
    [SPAD__PTX_SPECIAL_NCTAID] = grid_size,
    [SPAD__PTX_SPECIAL_CLUSTERID] = cluster_id,
    [SPAD__PTX_SPECIAL_NCLUSTERID] = clusters,
    [SPAD__PTX_SPECIAL_CLUSTER_CTAID] = cta_in_cluster,
    [SPAD__PTX_SPECIAL_CLUSTER_NCTAID] = cluster_size,
    [SPAD__PTX_SPECIAL_CLUSTER_CTARANK] = special_rank,
    [SPAD__PTX_SPECIAL_CLUSTER_NCTARANK] = ranks,
    [SPAD__PTX_SPECIAL_IS_EXPLICIT_CLUSTER] = has_cluster,
    [SPAD__PTX_SPECIAL_TOTAL_SMEM_SIZE] = shared_size,
    [SPAD__PTX_SPECIAL_AGGR_SMEM_SIZE] = shared_size,
    [SPAD__PTX_SPECIAL_DYNAMIC_SMEM_SIZE] = dynamic_size,
    [SPAD__PTX_SPECIAL_WARP_SZ] = warp_size,
    [SPAD__PTX_SPECIAL_CURRENT_GRAPH_EXEC] = zero,
    [SPAD__PTX_SPECIAL_RESERVED_BEGIN] = reserved_begin,
    [SPAD__PTX_SPECIAL_RESERVED_END] = reserved_end,
    [SPAD__PTX_SPECIAL_RESERVED_CAP] = reserved_size,
    [SPAD__PTX_SPECIAL_RESERVED_1] = reserved_begin, /* the words of cooperative groups */
};

static void get_special(const spad__ptx_machine *m, const spad__ptx_warp *w,
                        const spad__ptx_operand *operand, spad__ptx_value *out) {
    const spad__ptx_special special = (spad__ptx_special)operand->special;
    const question q = {m, w, &m->ctas[w->cta], operand->component};
    out->known = 0;
    memset(out->lanes, 0, sizeof out->lanes);
    if (special >= SPAD__PTX_SPECIAL_COUNT || q.component > 3) return;
    if (q.component == 3) { /* .w */
        broadcast(out, 0);
    } else if (special == SPAD__PTX_SPECIAL_TID) {
        thread_index(&q, out);
    } else if (special == SPAD__PTX_SPECIAL_LANEID) {
        lane_number(&q, out);
    } else if (special >= SPAD__PTX_SPECIAL_LANEMASK_EQ &&
               special <= SPAD__PTX_SPECIAL_LANEMASK_GT) {
        lane_mask(special, out);
    } else if (uniform_specials[special] != NULL) {
        broadcast(out, uniform_specials[special](&q));
    }
}

/* ---- addresses
 * ----------------------------------------------------------------------------------- */

/* The address of a variable as a number of its space. */
static uint64_t variable_address(const spad__ptx_machine *m, const spad__ptx_warp *w,
                                 int32_t variable) {
    const spad__ptx_function *f = w->frame->function;
    const spad__ptx_layout *layout = m->layout;
    const bool local = variable >= SPAD__PTX_LOCAL;
    const int32_t row = local ? f->first_variable + variable - SPAD__PTX_LOCAL : variable;
    const int64_t at = local ? layout->local_at[row] : layout->module_at[row];
    const spad__ptx_variable *v = spad__ptx_variable_of(m->module, f, variable);
    switch (v->space) {
    case SPAD__PTX_SHARED: return (uint64_t)at | (uint64_t)w->cta << 24;
    case SPAD__PTX_LOCAL_MEMORY: return (uint64_t)(at + w->frame->stack);
    case SPAD__PTX_GLOBAL: return (uint64_t)at + SPAD__PTX_GLOBAL_BASE;
    default: return (uint64_t)at;
    }
}

static void get_address(const spad__ptx_machine *m, const spad__ptx_warp *w,
                        const spad__ptx_operand *operand, spad__ptx_value *out) {
    uint64_t base = (uint64_t)operand->value;
    if (operand->variable >= 0) base += variable_address(m, w, operand->variable);
    if (operand->reg < 0) {
        broadcast(out, base);
        return;
    }
    const spad__ptx_value *r = &w->frame->registers[operand->reg];
    const uint64_t mask = spad__ptx_mask(register_bits(m, w, operand->reg));
    for (int l = 0; l < SPAD__PTX_LANES; l++) out->lanes[l] = (r->lanes[l] + base) & mask;
    out->known = r->known;
}

/* ---- reading
 * ------------------------------------------------------------------------------------- */

static void get_register(const spad__ptx_machine *m, const spad__ptx_warp *w,
                         const spad__ptx_operand *operand, spad__ptx_type type,
                         spad__ptx_value *out) {
    *out = w->frame->registers[operand->reg];
    const unsigned bits = type_bits[type];
    if (bits < register_bits(m, w, operand->reg)) {
        const uint64_t mask = spad__ptx_mask(bits);
        for (int l = 0; l < SPAD__PTX_LANES; l++) out->lanes[l] &= mask;
    }
    if (!operand->negated) return;
    for (int l = 0; l < SPAD__PTX_LANES; l++) out->lanes[l] ^= 1;
}

void spad__ptx_get(const spad__ptx_machine *m, const spad__ptx_warp *w,
                   const spad__ptx_operand *operand, spad__ptx_type type, spad__ptx_value *out) {
    switch (operand != NULL ? operand->kind : SPAD__PTX_SINK) {
    case SPAD__PTX_REGISTER: get_register(m, w, operand, type, out); return;
    case SPAD__PTX_IMMEDIATE: broadcast(out, immediate_bits(operand, type)); return;
    case SPAD__PTX_SPECIAL: get_special(m, w, operand, out); return;
    case SPAD__PTX_ADDRESS:
    case SPAD__PTX_VARIABLE: get_address(m, w, operand, out); return;
    case SPAD__PTX_FUNCTION:
        broadcast(out, SPAD__PTX_CODE_BASE + (uint64_t)operand->value * 16);
        return;
    case SPAD__PTX_LABEL: broadcast(out, (uint64_t)operand->value); return;
    default:
        memset(out->lanes, 0, sizeof out->lanes);
        out->known = 0;
        return;
    }
}

const spad__ptx_value *spad__ptx_read(const spad__ptx_machine *m, const spad__ptx_warp *w,
                                      const spad__ptx_operand *operand, spad__ptx_type type,
                                      spad__ptx_value *space) {
    if (operand != NULL && operand->kind == SPAD__PTX_REGISTER && !operand->negated &&
        type_bits[type] >= register_bits(m, w, operand->reg)) {
        return &w->frame->registers[operand->reg];
    }
    spad__ptx_get(m, w, operand, type, space);
    return space;
}

static int32_t high_of(const spad__ptx_machine *m, const spad__ptx_warp *w,
                       const spad__ptx_operand *operand) {
    if (operand == NULL || operand->kind != SPAD__PTX_REGISTER) return -1;
    return m->layout->high_at[w->frame->function->first_register + operand->reg];
}

void spad__ptx_get_high(const spad__ptx_machine *m, const spad__ptx_warp *w,
                        const spad__ptx_operand *operand, spad__ptx_value *out) {
    const int32_t high = high_of(m, w, operand);
    if (high < 0) {
        broadcast(out, 0);
    } else {
        *out = w->frame->registers[high];
    }
}

const spad__ptx_operand *spad__ptx_item(const spad__ptx_machine *m,
                                        const spad__ptx_operand *operand, int32_t n) {
    if (operand == NULL) return NULL;
    if (operand->kind != SPAD__PTX_VECTOR) return n == 0 ? operand : NULL;
    return n < operand->count ? &m->module->operands.items[operand->first + n] : NULL;
}

bool spad__ptx_same(const spad__ptx_value *value, uint32_t lanes, uint64_t *out) {
    if ((value->known & lanes) != lanes || lanes == 0) return false;
    const uint64_t first = value->lanes[__builtin_ctz(lanes)];
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        if (value->lanes[__builtin_ctz(rest)] != first) return false;
    }
    *out = first;
    return true;
}

/* ---- writing
 * ------------------------------------------------------------------------------------- */

static void write_lanes(spad__ptx_value *to, uint32_t lanes, const spad__ptx_value *value,
                        uint64_t mask, uint32_t maybe) {
    const uint32_t all_known = value->known & ~maybe;
    if ((lanes & all_known) == UINT32_MAX) {
        for (int l = 0; l < SPAD__PTX_LANES; l++) to->lanes[l] = value->lanes[l] & mask;
        to->known = UINT32_MAX;
        return;
    }
    for (int l = 0; l < SPAD__PTX_LANES; l++) {
        const uint64_t written = UINT64_C(0) - (lanes >> l & 1);
        const uint64_t known = UINT64_C(0) - (all_known >> l & 1);
        to->lanes[l] = (to->lanes[l] & ~written) | (value->lanes[l] & mask & written & known);
    }
    to->known = (to->known & ~lanes) | (all_known & lanes);
}

void spad__ptx_set_register(spad__ptx_machine *m, spad__ptx_warp *w, int32_t reg, uint32_t lanes,
                            const spad__ptx_value *value) {
    write_lanes(&w->frame->registers[reg], lanes, value, spad__ptx_mask(register_bits(m, w, reg)),
                w->maybe);
}

void spad__ptx_set(spad__ptx_machine *m, spad__ptx_warp *w, const spad__ptx_operand *operand,
                   uint32_t lanes, const spad__ptx_value *value) {
    if (operand != NULL && operand->kind == SPAD__PTX_REGISTER && operand->reg >= 0) {
        spad__ptx_set_register(m, w, operand->reg, lanes, value);
    }
}

void spad__ptx_set_high(spad__ptx_machine *m, spad__ptx_warp *w, const spad__ptx_operand *operand,
                        uint32_t lanes, const spad__ptx_value *value) {
    const int32_t high = high_of(m, w, operand);
    if (high >= 0) write_lanes(&w->frame->registers[high], lanes, value, UINT64_MAX, w->maybe);
}

static void forget_plain(spad__ptx_machine *m, spad__ptx_warp *w, const spad__ptx_operand *operand,
                         uint32_t lanes) {
    static const spad__ptx_value unknown = {{0}, 0};
    spad__ptx_set(m, w, operand, lanes, &unknown);
    spad__ptx_set_high(m, w, operand, lanes, &unknown);
    if (operand->also >= 0) spad__ptx_set_register(m, w, operand->also, lanes, &unknown);
}

void spad__ptx_forget(spad__ptx_machine *m, spad__ptx_warp *w, const spad__ptx_operand *operand,
                      uint32_t lanes) {
    const spad__ptx_operand *item;
    for (int32_t n = 0; (item = spad__ptx_item(m, operand, n)) != NULL; n++) {
        forget_plain(m, w, item, lanes);
    }
}
