/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads and stores: values with known and unknown bytes, and the event of what they do to shared
 * memory. Accesses to other spaces are no events; what the kernel stores there is kept where the
 * launch gives contents, because later loads may read an index from it.
 *
 * Reference: PTX ISA 9.0, sections 9.7.9.8 (ld), 9.7.9.11 (st), 9.7.9.15 (prefetch).
 */
#include <string.h>

#include "base/checked.h"
#include "frontend/ptx/run/ptx_decides.h"
#include "frontend/ptx/run/ptx_memory.h"
#include "frontend/ptx/run/ptx_pointer.h"
#include "frontend/ptx/run/ptx_shared.h"
#include "frontend/ptx/run/ptx_warp_races.h"

enum { MOST_ITEMS = 8 };

/* ---- what is accessed --------------------------------------------------------------------------
 */

static void check_aligned(const spad__ptx_touch *t, spad__ptx_machine *m, const spad__ptx_warp *w,
                          int lane) {
    const uint64_t address = t->address.lanes[lane];
    if (t->bytes <= 1 || (address & (uint64_t)(t->bytes - 1)) == 0) return;
    spad__ptx_remark_at(m, w, SPAD__PTX_MISALIGNED, lane, address, t->bytes,
                        "an access of %lld bytes must start at a multiple of them",
                        (long long)t->bytes);
}

void spad__ptx_touch_start(spad__ptx_touch *t, spad__ptx_machine *m, spad__ptx_warp *w,
                           const spad__ptx_instruction *i, const spad__ptx_operand *address,
                           uint32_t lanes, int64_t bytes, unsigned kind) {
    t->lanes = lanes;
    t->shared = 0;
    t->space = (spad__ptx_space)i->space;
    t->variable = address->variable;
    t->reg = address->reg;
    t->bytes = bytes;
    t->kind = kind;
    t->order = (kind & SPAD__PTX_ATOMIC) != 0 ? spad__ptx_order_of(i) : 0;
    t->value_bytes = 0;
    t->value = 0;
    spad__ptx_get(m, w, address, SPAD__PTX_NO_TYPE, &t->address);
    t->blind = lanes & ~t->address.known;
    for (uint32_t rest = lanes & t->address.known; rest != 0; rest &= rest - 1) {
        const int l = __builtin_ctz(rest);
        t->places[l] = spad__ptx_resolve(m, w, t->space, t->address.lanes[l]);
        if (t->places[l].space == SPAD__PTX_SHARED) t->shared |= UINT32_C(1) << l;
        check_aligned(t, m, w, l);
    }
}

static void add_touched_runs(const spad__ptx_touch *t, spad__ptx_machine *m, uint32_t lanes,
                             int32_t cta, unsigned kind) {
    bool begun = false;
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        const spad__ptx_place *place = &t->places[__builtin_ctz(rest)];
        if (place->cta != cta) continue;
        const int64_t most = place->offset >= m->ctas[cta].reserved_at
                                 ? spad__ptx_all_shared(&m->ctas[cta])
                                 : m->ctas[cta].shared_bytes;
        const int64_t end = spad__min(place->offset + t->bytes, most);
        if (end <= place->offset) continue;
        if (!begun) spad__ptx_add_access(m, kind, false, cta);
        begun = true;
        spad__ptx_add_run(m, place->offset, end);
    }
}

/* The bytes that an access with an unknown address may go to, in one CTA: it stays in the variable
 * that its address is computed from. */
static spad__ptx_bytes blind_bytes(const spad__ptx_machine *m, const spad__ptx_warp *w,
                                   int32_t variable, int32_t cta) {
    const spad__ptx_bytes all = {.end = m->ctas[cta].shared_bytes};
    const spad__ptx_function *f = w->frame->function;
    if (variable < 0) return all;
    const spad__ptx_variable *v = spad__ptx_variable_of(m->module, f, variable);
    const int64_t at = variable >= SPAD__PTX_LOCAL
                           ? m->layout->local_at[f->first_variable + variable - SPAD__PTX_LOCAL]
                           : m->layout->module_at[variable];
    if (v->space != SPAD__PTX_SHARED || at < 0) return all;
    if (v->bytes == 0) return (spad__ptx_bytes){.begin = at, .end = all.end};
    return (spad__ptx_bytes){.begin = at, .end = at + v->bytes};
}

static void add_blind(const spad__ptx_touch *t, spad__ptx_machine *m, const spad__ptx_warp *w) {
    const int32_t variable =
        t->variable >= 0 ? t->variable : spad__ptx_pointed_variable(m, w, t->reg);
    for (int32_t cta = 0; cta < m->cta_count; cta++) {
        if (t->space == SPAD__PTX_SHARED && cta != w->cta) continue;
        const spad__ptx_bytes bytes = blind_bytes(m, w, variable, cta);
        spad__ptx_add_access(m, t->kind | SPAD__PTX_MAY, false, cta);
        spad__ptx_add_run(m, bytes.begin, bytes.end);
        if ((t->kind & SPAD__PTX_WRITE) == 0 || bytes.end <= bytes.begin) continue;
        memset(m->ctas[cta].shared_known + bytes.begin, 0, (size_t)(bytes.end - bytes.begin));
    }
}

/* An access at an unknown address outside shared memory. */
static spad__ptx_outcome touch_blindly(const spad__ptx_touch *t, spad__ptx_machine *m,
                                       const spad__ptx_warp *w) {
    if (t->space == SPAD__PTX_NO_SPACE) {
        spad__ptx_remark_at(m, w, SPAD__PTX_UNKNOWN_ADDRESS, __builtin_ctz(t->blind), 0, t->bytes,
                            "%s", "a generic address is not known: taken as global memory");
    }
    if ((t->kind & SPAD__PTX_WRITE) == 0) return SPAD__PTX_DONE;
    if (t->space == SPAD__PTX_LOCAL_MEMORY) {
        if (w->local_bytes > 0) memset(w->local_known, 0, (size_t)w->local_bytes * SPAD__PTX_LANES);
        return SPAD__PTX_DONE;
    }
    return spad__ptx_forget_global(m) ? SPAD__PTX_DONE : SPAD__PTX_FAILED;
}

void spad__ptx_touch_decides(spad__ptx_touch *t, spad__ptx_machine *m, const spad__ptx_warp *w,
                             const spad__ptx_instruction *i, uint32_t known) {
    if ((t->kind & SPAD__PTX_ATOMIC) == 0 || t->shared == 0 || (t->shared & ~known) != 0) return;
    if (spad__ptx_decides(m, w, i)) t->order |= SPAD__PTX_DECIDES;
}

spad__ptx_outcome spad__ptx_touch_event(spad__ptx_touch *t, spad__ptx_machine *m,
                                        spad__ptx_warp *w) {
    const bool in_shared = t->space == SPAD__PTX_SHARED || t->space == SPAD__PTX_SHARED_CLUSTER;
    uint32_t lanes = t->shared;
    if (t->blind != 0 && !in_shared && touch_blindly(t, m, w) == SPAD__PTX_FAILED) {
        return SPAD__PTX_FAILED;
    }
    if (in_shared) lanes |= t->blind;
    if (lanes == 0) return SPAD__PTX_DONE;
    if ((t->kind & SPAD__PTX_ATOMIC) != 0 && (t->kind & SPAD__PTX_WRITE) != 0) m->yields = true;
    spad__ptx_compare_lanes(t, m, w);
    if (m->status != SPAD_OK) return SPAD__PTX_FAILED;
    spad__ptx_event *event = spad__ptx_begin_event(m, w, lanes, SPAD__PTX_ACCESS);
    event->order = (uint8_t)t->order;
    event->value_bytes = (uint8_t)t->value_bytes;
    event->value = t->value;
    for (int32_t cta = 0; cta < m->cta_count; cta++) {
        add_touched_runs(t, m, t->shared & ~m->maybe, cta, t->kind);
        add_touched_runs(t, m, t->shared & m->maybe, cta, t->kind | SPAD__PTX_MAY);
    }
    if (in_shared && t->blind != 0) {
        add_blind(t, m, w);
        spad__ptx_remark_at(m, w, SPAD__PTX_UNKNOWN_ADDRESS, __builtin_ctz(t->blind), 0, t->bytes,
                            "%s",
                            "a shared address depends on data: it may be any byte of its variable");
    }
    return m->accesses.count == 0 ? SPAD__PTX_DONE : spad__ptx_end_event(m);
}

static void remark_no_bytes(const spad__ptx_touch *t, spad__ptx_machine *m, const spad__ptx_warp *w,
                            int lane) {
    const uint64_t address = t->address.lanes[lane];
    switch (t->places[lane].space) {
    case SPAD__PTX_SHARED:
        spad__ptx_remark_at(m, w, SPAD__PTX_OUT_OF_SHARED, lane, address, t->bytes,
                            "the CTA has %lld bytes of shared memory",
                            (long long)m->ctas[w->cta].shared_bytes);
        return;
    case SPAD__PTX_GLOBAL:
    case SPAD__PTX_CONST:
        spad__ptx_remark_at(m, w, SPAD__PTX_OUT_OF_GLOBAL, lane, address, t->bytes, "%s",
                            "no buffer of the launch has these bytes");
        return;
    case SPAD__PTX_PARAM:
        spad__ptx_remark_at(m, w, SPAD__PTX_OUT_OF_LOCAL, lane, address, t->bytes,
                            "the launch has %lld bytes of parameters",
                            (long long)m->launch->parameter_bytes);
        return;
    default:
        spad__ptx_remark_at(m, w, SPAD__PTX_OUT_OF_LOCAL, lane, address, t->bytes, "%s",
                            "no variable of the thread has these bytes");
        return;
    }
}

/* ---- loads and stores --------------------------------------------------------------------------
 */

/* The shape of an access: `count` items of `bytes` bytes, in registers. b128 is two items in one
 * register. */
typedef struct shape {
    spad__ptx_type type;
    unsigned bytes;
    int32_t count;
    bool halves;
} shape;

static bool find_shape(const spad__ptx_instruction *i, shape *out) {
    const spad__ptx_type type = i->type_count > 0 ? (spad__ptx_type)i->types[0] : SPAD__PTX_NO_TYPE;
    const unsigned bits = spad__ptx_bits(type);
    *out = (shape){.type = type,
                   .bytes = bits / 8,
                   .count = i->vector > 1 ? i->vector : 1,
                   .halves = type == SPAD__PTX_B128};
    if (out->halves) {
        out->bytes = 8;
        out->count *= 2;
    }
    return i->type_count > 0 && bits >= 8 && out->bytes <= 8 && out->count <= MOST_ITEMS;
}

static bool is_strong(const spad__ptx_instruction *i) {
    static const spad__ptx_word words[] = {SPAD__PTX_WORD_VOLATILE, SPAD__PTX_WORD_RELAXED,
                                           SPAD__PTX_WORD_ACQUIRE, SPAD__PTX_WORD_RELEASE,
                                           SPAD__PTX_WORD_MMIO};
    for (size_t n = 0; n < sizeof words / sizeof words[0]; n++) {
        if (spad__ptx_has(i, words[n])) return true;
    }
    return false;
}

static uint64_t extend(uint64_t value, unsigned bytes) {
    const unsigned unused = 64 - 8 * bytes;
    return (uint64_t)((int64_t)(value << unused) >> unused);
}

static void load_lane(const spad__ptx_touch *t, spad__ptx_machine *m, const spad__ptx_warp *w,
                      int lane, const shape *s, spad__ptx_value *items) {
    const spad__ptx_storage from = spad__ptx_find(m, w, lane, t->places[lane], t->bytes);
    if (!from.found) {
        remark_no_bytes(t, m, w, lane);
        return;
    }
    if (from.bytes == NULL) return;
    const bool is_signed = spad__ptx_type_is_signed(s->type);
    for (int32_t n = 0; n < s->count; n++) {
        uint64_t value;
        if (!spad__ptx_fetch(&from, n * (int64_t)s->bytes, s->bytes, &value)) continue;
        items[n].lanes[lane] = is_signed ? extend(value, s->bytes) : value;
        items[n].known |= UINT32_C(1) << lane;
    }
}

static void write_items(spad__ptx_machine *m, spad__ptx_warp *w, const spad__ptx_operand *to,
                        uint32_t lanes, const shape *s, const spad__ptx_value *items) {
    for (int32_t n = 0; n < s->count; n++) {
        const spad__ptx_operand *item = spad__ptx_item(m, to, s->halves ? n / 2 : n);
        if (item == NULL) return;
        if (s->halves && n % 2 != 0) {
            spad__ptx_set_high(m, w, item, lanes, &items[n]);
        } else {
            spad__ptx_set(m, w, item, lanes, &items[n]);
        }
    }
}

static spad__ptx_outcome run_load(spad__ptx_machine *m, spad__ptx_warp *w,
                                  const spad__ptx_instruction *i, uint32_t lanes) {
    shape s;
    spad__ptx_touch t;
    spad__ptx_value items[MOST_ITEMS];
    const spad__ptx_operand *address = spad__ptx_operand_at(m, i, 1);
    if (!find_shape(i, &s) || address == NULL) {
        return spad__ptx_unsupported(m, i, "the type cannot be loaded");
    }
    memset(items, 0, sizeof *items * (size_t)s.count);
    spad__ptx_touch_start(&t, m, w, i, address, lanes, (int64_t)s.bytes * s.count,
                          SPAD__PTX_READ | (is_strong(i) ? SPAD__PTX_ATOMIC : 0U));
    for (uint32_t rest = lanes & ~t.blind; rest != 0; rest &= rest - 1) {
        load_lane(&t, m, w, __builtin_ctz(rest), &s, items);
    }
    for (int32_t n = 0; n < s.count; n++) items[n].known &= ~m->maybe;
    spad__ptx_touch_decides(&t, m, w, i, items[0].known);
    write_items(m, w, spad__ptx_operand_at(m, i, 0), lanes, &s, items);
    return spad__ptx_touch_event(&t, m, w);
}

static void store_lane(const spad__ptx_touch *t, spad__ptx_machine *m, const spad__ptx_warp *w,
                       int lane, const shape *s, const spad__ptx_value *items) {
    const spad__ptx_storage to = spad__ptx_find(m, w, lane, t->places[lane], t->bytes);
    if (!to.found || to.constant) {
        remark_no_bytes(t, m, w, lane);
        return;
    }
    if (to.bytes == NULL) return;
    const bool certain = (m->maybe >> lane & 1) == 0;
    for (int32_t n = 0; n < s->count; n++) {
        const bool known = certain && (items[n].known >> lane & 1) != 0;
        spad__ptx_store(m, &to, n * (int64_t)s->bytes, s->bytes, items[n].lanes[lane], known);
    }
}

/* What several lanes have written at one place is known only if they have all written the same. */
static void forget_collisions(const spad__ptx_touch *t, spad__ptx_machine *m,
                              const spad__ptx_warp *w, uint32_t lanes, const shape *s,
                              const spad__ptx_value *items) {
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        const spad__ptx_storage at = spad__ptx_find(m, w, lane, t->places[lane], t->bytes);
        if (!at.found || at.constant || at.bytes == NULL) continue;
        for (int32_t n = 0; n < s->count; n++) {
            const bool known = (items[n].known & ~m->maybe) >> lane & 1;
            const uint64_t value = items[n].lanes[lane] & spad__ptx_mask(8 * s->bytes);
            uint64_t stays;
            if (!spad__ptx_fetch(&at, n * (int64_t)s->bytes, s->bytes, &stays)) continue;
            if (known && stays == value) continue;
            spad__ptx_store(m, &at, n * (int64_t)s->bytes, s->bytes, 0, false);
            if (known)
                spad__ptx_remark_at(m, w, SPAD__PTX_LANES_COLLIDE, lane, t->address.lanes[lane],
                                    s->bytes, "lane %d", lane);
        }
    }
}

static void read_items(spad__ptx_machine *m, spad__ptx_warp *w, const spad__ptx_operand *from,
                       const shape *s, spad__ptx_value *items) {
    for (int32_t n = 0; n < s->count; n++) {
        const spad__ptx_operand *item = spad__ptx_item(m, from, s->halves ? n / 2 : n);
        items[n].known = 0;
        if (item == NULL) continue;
        if (s->halves && n % 2 != 0) {
            spad__ptx_get_high(m, w, item, &items[n]);
        } else {
            spad__ptx_get(m, w, item, s->halves ? SPAD__PTX_NO_TYPE : s->type, &items[n]);
        }
    }
}

/* Do all lanes store one known value, in each of their items? */
static void note_value(spad__ptx_touch *t, const spad__ptx_machine *m, const shape *s,
                       const spad__ptx_value *items) {
    uint64_t value, next;
    if ((t->kind & SPAD__PTX_ATOMIC) != 0 || t->blind != 0 || m->maybe != 0) return;
    if (!spad__ptx_same(&items[0], t->lanes, &value)) return;
    for (int32_t n = 1; n < s->count; n++) {
        if (!spad__ptx_same(&items[n], t->lanes, &next) || next != value) return;
    }
    t->value = value & spad__ptx_mask(8 * s->bytes);
    t->value_bytes = s->bytes;
}

static spad__ptx_outcome run_store(spad__ptx_machine *m, spad__ptx_warp *w,
                                   const spad__ptx_instruction *i, uint32_t lanes) {
    shape s;
    spad__ptx_touch t;
    spad__ptx_value items[MOST_ITEMS];
    const spad__ptx_operand *address = spad__ptx_operand_at(m, i, 0);
    const spad__ptx_operand *from = spad__ptx_operand_at(m, i, 1);
    if (!find_shape(i, &s) || from == NULL) {
        return spad__ptx_unsupported(m, i, "the type cannot be stored");
    }
    read_items(m, w, from, &s, items);
    spad__ptx_touch_start(&t, m, w, i, address, lanes, (int64_t)s.bytes * s.count,
                          SPAD__PTX_WRITE | (is_strong(i) ? SPAD__PTX_ATOMIC : 0U));
    for (uint32_t rest = lanes & ~t.blind; rest != 0; rest &= rest - 1) {
        store_lane(&t, m, w, __builtin_ctz(rest), &s, items);
    }
    note_value(&t, m, &s, items);
    if ((lanes & (lanes - 1)) != 0 && t.value_bytes == 0)
        forget_collisions(&t, m, w, lanes & ~t.blind, &s, items);
    w->stores++;
    if (t.shared != 0 || is_strong(i)) m->progress++;
    return m->status == SPAD_OK ? spad__ptx_touch_event(&t, m, w) : SPAD__PTX_FAILED;
}

static spad__ptx_outcome run_hint(spad__ptx_machine *m, spad__ptx_warp *w,
                                  const spad__ptx_instruction *i, uint32_t lanes) {
    if (i->op == SPAD__PTX_OP_CREATEPOLICY) {
        spad__ptx_forget(m, w, spad__ptx_operand_at(m, i, 0), lanes);
    }
    return SPAD__PTX_DONE;
}

/* Several GPUs' memory: contents are not ours to know. */
static spad__ptx_outcome run_multimem(spad__ptx_machine *m, spad__ptx_warp *w,
                                      const spad__ptx_instruction *i, uint32_t lanes) {
    if (i->op == SPAD__PTX_OP_MULTIMEM_LD_REDUCE) {
        spad__ptx_forget(m, w, spad__ptx_operand_at(m, i, 0), lanes);
        return SPAD__PTX_DONE;
    }
    return spad__ptx_forget_global(m) ? SPAD__PTX_DONE : SPAD__PTX_FAILED;
}

spad__ptx_outcome spad__ptx_run_memory(spad__ptx_machine *m, spad__ptx_warp *w,
                                       const spad__ptx_instruction *i, uint32_t lanes) {
    switch (i->op) {
    case SPAD__PTX_OP_LD:
    case SPAD__PTX_OP_LDU: return run_load(m, w, i, lanes);
    case SPAD__PTX_OP_ST: return run_store(m, w, i, lanes);
    case SPAD__PTX_OP_MULTIMEM_LD_REDUCE:
    case SPAD__PTX_OP_MULTIMEM_RED:
    case SPAD__PTX_OP_MULTIMEM_ST: return run_multimem(m, w, i, lanes);
    default: return run_hint(m, w, i, lanes);
    }
}
