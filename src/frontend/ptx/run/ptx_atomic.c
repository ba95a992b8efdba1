/* SPDX-License-Identifier: Apache-2.0
 *
 * Atomics: lanes one after the other, lowest first. Old and new values are known as far as memory
 * and operands are.
 *
 * Reference: PTX ISA 9.0, sections 9.7.13.5 (atom), 9.7.13.6 (red).
 */
#include <string.h>

#include "frontend/ptx/run/ptx_arithmetic.h"
#include "frontend/ptx/run/ptx_memory.h"
#include "frontend/ptx/run/ptx_real.h"

/* ---- operations --------------------------------------------------------------------------------
 */

typedef struct update {
    const spad__ptx_instruction *i;
    spad__ptx_type type;
    unsigned bits;
    bool is_signed;
} update;

typedef uint64_t atomic_operation(const update *u, uint64_t old, uint64_t b, uint64_t c);

static bool is_less_in_memory(const update *u, uint64_t a, uint64_t b) {
    return u->is_signed ? spad__ptx_signed(a, u->bits) < spad__ptx_signed(b, u->bits) : a < b;
}

static uint64_t atomic_add(const update *u, uint64_t old, uint64_t b, uint64_t c) {
    (void)c;
    const spad__ptx_format *format = spad__ptx_format_of(u->type);
    if (format == NULL) return old + b;
    return spad__ptx_pack(spad__ptx_real_add(spad__ptx_unpack(old, format, false),
                                             spad__ptx_unpack(b, format, false),
                                             SPAD__PTX_TO_NEAREST),
                          format, SPAD__PTX_TO_NEAREST, false);
}
static uint64_t atomic_min(const update *u, uint64_t old, uint64_t b, uint64_t c) {
    (void)c;
    return is_less_in_memory(u, b, old) ? b : old;
}
static uint64_t atomic_max(const update *u, uint64_t old, uint64_t b, uint64_t c) {
    (void)c;
    return is_less_in_memory(u, old, b) ? b : old;
}
static uint64_t atomic_and(const update *u, uint64_t old, uint64_t b, uint64_t c) {
    (void)u, (void)c;
    return old & b;
}
static uint64_t atomic_or(const update *u, uint64_t old, uint64_t b, uint64_t c) {
    (void)u, (void)c;
    return old | b;
}
static uint64_t atomic_xor(const update *u, uint64_t old, uint64_t b, uint64_t c) {
    (void)u, (void)c;
    return old ^ b;
}
static uint64_t atomic_inc(const update *u, uint64_t old, uint64_t b, uint64_t c) {
    (void)u, (void)c;
    return old >= b ? 0 : old + 1;
}
static uint64_t atomic_dec(const update *u, uint64_t old, uint64_t b, uint64_t c) {
    (void)u, (void)c;
    return old == 0 || old > b ? b : old - 1;
}
static uint64_t atomic_exch(const update *u, uint64_t old, uint64_t b, uint64_t c) {
    (void)u, (void)old, (void)c;
    return b;
}
static uint64_t atomic_cas(const update *u, uint64_t old, uint64_t b, uint64_t c) {
    (void)u;
    return old == b ? c : old;
}

typedef struct atomic_rule {
    spad__ptx_word word;
    atomic_operation *run;
    bool commutes; /* with others of its kind */
} atomic_rule;

static const atomic_rule atomic_rules[] = {
    {SPAD__PTX_WORD_ADD, atomic_add, true},    {SPAD__PTX_WORD_MIN, atomic_min, true},
    {SPAD__PTX_WORD_MAX, atomic_max, true},    {SPAD__PTX_WORD_AND, atomic_and, true},
    {SPAD__PTX_WORD_OR, atomic_or, true},      {SPAD__PTX_WORD_XOR, atomic_xor, true},
    {SPAD__PTX_WORD_INC, atomic_inc, false},   {SPAD__PTX_WORD_DEC, atomic_dec, false},
    {SPAD__PTX_WORD_EXCH, atomic_exch, false}, {SPAD__PTX_WORD_CAS, atomic_cas, false},
};

static const atomic_rule *find_atomic(const spad__ptx_instruction *i) {
    for (size_t n = 0; n < sizeof atomic_rules / sizeof atomic_rules[0]; n++) {
        if (spad__ptx_has(i, atomic_rules[n].word)) return &atomic_rules[n];
    }
    return NULL;
}

/* Vectors, 128 bits, packed floats and float minima are done without values. */
static bool has_values(const update *u) {
    if (u->i->vector > 1 || u->bits > 64) return false;
    if (!spad__ptx_type_is_float(u->type)) return true;
    const bool plain = u->type == SPAD__PTX_F32 || u->type == SPAD__PTX_F64;
    return plain &&
           (spad__ptx_has(u->i, SPAD__PTX_WORD_ADD) || spad__ptx_has(u->i, SPAD__PTX_WORD_EXCH));
}

/* ---- running -----------------------------------------------------------------------------------
 */

typedef struct sources {
    spad__ptx_value b;
    spad__ptx_value c;
    spad__ptx_value old; /* out */
} sources;

static void update_lane(spad__ptx_machine *m, spad__ptx_warp *w, const spad__ptx_touch *t,
                        const update *u, const atomic_rule *r, sources *s, int lane) {
    const spad__ptx_storage at = spad__ptx_find(m, w, lane, t->places[lane], t->bytes);
    if (!at.found || at.bytes == NULL || at.constant) return;
    const uint32_t self = UINT32_C(1) << lane;
    const unsigned bytes = u->bits / 8;
    uint64_t old;
    const bool old_known = has_values(u) && spad__ptx_fetch(&at, 0, bytes, &old);
    if (!old_known) old = 0;
    if (old_known && (m->maybe & self) == 0) {
        s->old.lanes[lane] = old;
        s->old.known |= self;
    }
    const bool replaced = r->run == atomic_exch;
    const bool known = (m->maybe & self) == 0 && (old_known || replaced) && has_values(u) &&
                       (s->b.known & s->c.known & self) != 0;
    const uint64_t value =
        r->run(u, old, s->b.lanes[lane], s->c.lanes[lane]) & spad__ptx_mask(u->bits);
    for (int64_t n = 0; n < t->bytes; n += bytes) {
        spad__ptx_store(m, &at, n, bytes, value, known);
    }
    if (!known || value != old) w->stores++;
}

static unsigned kind_of_atomic(const atomic_rule *r) {
    return (r->commutes ? (unsigned)SPAD__PTX_ADD : (unsigned)SPAD__PTX_UPDATE) | SPAD__PTX_ATOMIC;
}

static void remark_atomic_outside(spad__ptx_machine *m, const spad__ptx_warp *w,
                                  const spad__ptx_touch *t, int lane) {
    const bool shared = t->places[lane].space == SPAD__PTX_SHARED;
    if (spad__ptx_find(m, w, lane, t->places[lane], t->bytes).found) return;
    spad__ptx_remark_at(m, w, shared ? SPAD__PTX_OUT_OF_SHARED : SPAD__PTX_OUT_OF_GLOBAL, lane,
                        t->address.lanes[lane], t->bytes, "%s",
                        "an atomic outside of what was allocated");
}

spad__ptx_outcome spad__ptx_run_atomic(spad__ptx_machine *m, spad__ptx_warp *w,
                                       const spad__ptx_instruction *i, uint32_t lanes) {
    const int32_t first = i->op == SPAD__PTX_OP_ATOM ? 1 : 0;
    const spad__ptx_operand *address = spad__ptx_operand_at(m, i, first);
    const spad__ptx_operand *b = spad__ptx_operand_at(m, i, first + 1);
    const spad__ptx_operand *c = spad__ptx_operand_at(m, i, first + 2);
    const atomic_rule *r = find_atomic(i);
    update u = {.i = i, .type = (spad__ptx_type)i->types[0]};
    u.bits = spad__ptx_bits(u.type);
    u.is_signed = spad__ptx_type_is_signed(u.type);
    if (r == NULL || b == NULL || u.bits < 8) {
        return spad__ptx_unsupported(m, i, "the operation is not known");
    }
    sources s = {.c = {{0}, UINT32_MAX}};
    spad__ptx_get(m, w, b, u.type, &s.b);
    if (r->run == atomic_cas && c != NULL) spad__ptx_get(m, w, c, u.type, &s.c);
    spad__ptx_touch t;
    const int64_t items = i->vector > 1 ? i->vector : 1;
    spad__ptx_touch_start(&t, m, w, i, address, lanes, u.bits / 8 * items, kind_of_atomic(r));
    for (uint32_t rest = lanes & ~t.blind; rest != 0; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        remark_atomic_outside(m, w, &t, lane);
        update_lane(m, w, &t, &u, r, &s, lane);
    }
    if (t.blind != 0) w->stores++;
    if (t.shared != 0) m->progress++;
    if (first == 1) {
        const spad__ptx_operand *to = spad__ptx_operand_at(m, i, 0);
        spad__ptx_forget(m, w, to, lanes);
        if (has_values(&u)) spad__ptx_set(m, w, to, lanes, &s.old);
        spad__ptx_touch_decides(&t, m, w, i, s.old.known);
    }
    return m->status == SPAD_OK ? spad__ptx_touch_event(&t, m, w) : SPAD__PTX_FAILED;
}
