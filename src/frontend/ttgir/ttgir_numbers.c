/* SPDX-License-Identifier: Apache-2.0
 *
 * Arithmetic on whole numbers, as wide as their types are.
 *
 * A number is what its bits mean with a sign; an i1 is 0 or 1, although some operations give it a
 * sign: `extsi` of true is -1, and true is below false where signs count. What two numbers
 * give is exact, with the bits that do not fit cut off. Of expressions, a sum or product that
 * leaves its type at the given sizes is data, so that the function is run with numbers; one of
 * rounds is taken to stay in a type of 32 bits or more, and is data in a narrower one. O(1) an
 * operation.
 */
#include <string.h>

#include "base/checked.h"
#include "frontend/ttgir/ttgir.h"

/* ---- types ---------------------------------------------------------------------------- */

/* The type after the last ':' that is in no brackets: "addi %a, %b {x = 1 : i32} : i64". 0: none.
 */
static uint32_t type_of(const spad__ttgir *t, const spad__mlir_op *op) {
    uint32_t found = 0;
    int depth = 0;
    for (uint32_t at = op->name + 1; at + 1 < op->end; at++) {
        if (spad__mlir_is(t->m, at, "loc")) break;
        if (spad__mlir_is_mark(t->m, at, '{') || spad__mlir_is_mark(t->m, at, '<')) depth++;
        if (spad__mlir_is_mark(t->m, at, '}') || spad__mlir_is_mark(t->m, at, '>')) depth--;
        if (depth == 0 && spad__mlir_is_mark(t->m, at, ':')) found = at + 1;
    }
    return found;
}

/* Bits of a type of whole numbers; 0: it is another type. */
static int width_at(const spad__ttgir *t, uint32_t at) {
    static const struct {
        const char *word;
        int bits;
    } types[] = {{"i32", 32}, {"i64", 64}, {"i1", 1}, {"i8", 8}, {"i16", 16}, {"index", 64}};
    for (size_t i = 0; at != 0 && i < sizeof types / sizeof *types; i++) {
        if (spad__mlir_is(t->m, at, types[i].word)) return types[i].bits;
    }
    return 0;
}

bool spad__ttgir_is_bit(const spad__ttgir *t, const spad__mlir_op *op) {
    return width_at(t, type_of(t, op)) == 1;
}

/* ---- two numbers ----------------------------------------------------------------------- */

typedef enum integer_op {
    INTEGER_ADD,
    INTEGER_SUB,
    INTEGER_MUL,
    INTEGER_DIV,
    INTEGER_DIV_UNSIGNED,
    INTEGER_DIV_DOWN,
    INTEGER_DIV_UP,
    INTEGER_DIV_UP_UNSIGNED,
    INTEGER_REST,
    INTEGER_REST_UNSIGNED,
    INTEGER_MIN,
    INTEGER_MIN_UNSIGNED,
    INTEGER_MAX,
    INTEGER_MAX_UNSIGNED,
    INTEGER_AND,
    INTEGER_OR,
    INTEGER_XOR,
    INTEGER_LEFT,
    INTEGER_RIGHT,
    INTEGER_RIGHT_UNSIGNED
} integer_op;

static uint64_t ones(int width) {
    return width >= 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
}

/* The low bits, with their sign. */
static int64_t with_sign(uint64_t bits, int width) {
    const uint64_t sign = UINT64_C(1) << (width - 1);
    return (int64_t)(((bits & ones(width)) ^ sign) - sign);
}

/* How a number of this width is kept. */
static int64_t as_kept(uint64_t bits, int width) {
    return width == 1 ? (int64_t)(bits & 1) : with_sign(bits, width);
}

static int64_t rounded_down(int64_t a, int64_t b) {
    return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

static int64_t rounded_up(int64_t a, int64_t b) {
    return a / b + (a % b != 0 && (a < 0) == (b < 0) ? 1 : 0);
}

/* A quotient or rest; b is not 0, and a / b is not 2^63. */
static uint64_t divided(integer_op op, int64_t a, int64_t b, uint64_t x, uint64_t y) {
    switch (op) {
    case INTEGER_DIV: return (uint64_t)(a / b);
    case INTEGER_DIV_DOWN: return (uint64_t)rounded_down(a, b);
    case INTEGER_DIV_UP: return (uint64_t)rounded_up(a, b);
    case INTEGER_REST: return (uint64_t)(a % b);
    case INTEGER_DIV_UNSIGNED: return x / y;
    case INTEGER_DIV_UP_UNSIGNED: return x / y + (x % y != 0 ? 1 : 0);
    default: return x % y;
    }
}

/* False: the program has no such number. */
static bool result_of(integer_op op, int64_t left, int64_t right, int width, int64_t *out) {
    const int64_t a = with_sign((uint64_t)left, width), b = with_sign((uint64_t)right, width);
    const uint64_t x = (uint64_t)left & ones(width), y = (uint64_t)right & ones(width);
    uint64_t bits;
    switch (op) {
    case INTEGER_ADD: bits = x + y; break;
    case INTEGER_SUB: bits = x - y; break;
    case INTEGER_MUL: bits = x * y; break;
    case INTEGER_MIN: bits = a < b ? x : y; break;
    case INTEGER_MAX: bits = a > b ? x : y; break;
    case INTEGER_MIN_UNSIGNED: bits = x < y ? x : y; break;
    case INTEGER_MAX_UNSIGNED: bits = x > y ? x : y; break;
    case INTEGER_AND: bits = x & y; break;
    case INTEGER_OR: bits = x | y; break;
    case INTEGER_XOR: bits = x ^ y; break;
    case INTEGER_LEFT:
    case INTEGER_RIGHT:
    case INTEGER_RIGHT_UNSIGNED:
        if (y >= (uint64_t)width) return false;
        if (op == INTEGER_LEFT) {
            bits = x << y;
        } else if (op == INTEGER_RIGHT_UNSIGNED) {
            bits = x >> y;
        } else {
            bits = y == 63 ? (a < 0 ? UINT64_MAX : 0) : (uint64_t)rounded_down(a, INT64_C(1) << y);
        }
        break;
    default:
        if (b == 0 || (a == INT64_MIN && b == -1)) return false;
        bits = divided(op, a, b, x, y);
        break;
    }
    *out = as_kept(bits, width);
    return true;
}

/* ---- expressions ------------------------------------------------------------------------ */

/* The value of a result of this width: see the top. */
static spad__scalar fit(spad__ttgir *t, spad__scalar n, int width) {
    int64_t now;
    if (n < 0 || width >= 64) return n;
    if (!spad__scalar_known(&t->g->scalars, n, &now)) {
        return width < 32 && !spad__scalar_get(&t->g->scalars, n)->bit
                   ? spad__scalar_data(&t->g->scalars)
                   : n;
    }
    const int64_t kept = as_kept((uint64_t)now, width);
    if (kept == now) return n;
    if (!spad__scalar_is_number(&t->g->scalars, n, &now)) return spad__scalar_data(&t->g->scalars);
    return spad__scalar_number(&t->g->scalars, kept);
}

/* a < b or a <= b of numbers without a sign: something below 0 is larger than all that is not. */
static spad__scalar compare_unsigned(spad__ttgir *t, spad__scalar_op op, spad__scalar a,
                                     spad__scalar b) {
    spad__scalars *s = &t->g->scalars;
    const spad__scalar zero = spad__scalar_number(s, 0);
    const spad__scalar plain = spad__scalar_make(s, op, a, b);
    if (a < 0 || b < 0) return SPAD__NO_SCALAR;
    const bool left = spad__scalar_get(s, a)->least >= 0;
    const bool right = spad__scalar_get(s, b)->least >= 0;
    int64_t x, y;
    if (left && right) return plain;
    if (spad__scalar_is_number(s, a, &x) && spad__scalar_is_number(s, b, &y)) {
        const uint64_t p = (uint64_t)x, q = (uint64_t)y;
        return spad__scalar_number(s, op == SPAD__SCALAR_LESS ? p < q : p <= q);
    }
    if (right) {
        return spad__scalar_make(s, SPAD__SCALAR_AND,
                                 spad__scalar_make(s, SPAD__SCALAR_AT_MOST, zero, a), plain);
    }
    if (left) {
        return spad__scalar_make(s, SPAD__SCALAR_OR,
                                 spad__scalar_make(s, SPAD__SCALAR_LESS, b, zero), plain);
    }
    return spad__scalar_data(s);
}

static spad__scalar compare_by_word(spad__ttgir *t, const spad__mlir_op *op) {
    static const struct {
        const char *word;
        spad__scalar_op op;
        bool swap;
        bool negate;
        bool sign;
    } relations[] = {{"eq", SPAD__SCALAR_EQUAL, false, false, false},
                     {"ne", SPAD__SCALAR_EQUAL, false, true, false},
                     {"slt", SPAD__SCALAR_LESS, false, false, true},
                     {"ult", SPAD__SCALAR_LESS, false, false, false},
                     {"sle", SPAD__SCALAR_AT_MOST, false, false, true},
                     {"ule", SPAD__SCALAR_AT_MOST, false, false, false},
                     {"sgt", SPAD__SCALAR_LESS, true, false, true},
                     {"ugt", SPAD__SCALAR_LESS, true, false, false},
                     {"sge", SPAD__SCALAR_AT_MOST, true, false, true},
                     {"uge", SPAD__SCALAR_AT_MOST, true, false, false}};
    const spad__scalar a = spad__ttgir_operand(t, op, 0)->scalar;
    const spad__scalar b = spad__ttgir_operand(t, op, 1)->scalar;
    for (size_t i = 0; i < sizeof relations / sizeof *relations; i++) {
        if (!spad__mlir_is(t->m, op->name + 1, relations[i].word)) continue;
        const bool bit = relations[i].sign && spad__ttgir_is_bit(t, op); /* -1 is below 0 */
        const bool swap = relations[i].swap != bit;
        const spad__scalar left = swap ? b : a, right = swap ? a : b;
        if (relations[i].op == SPAD__SCALAR_EQUAL || relations[i].sign) {
            const spad__scalar result =
                spad__scalar_make(&t->g->scalars, relations[i].op, left, right);
            return relations[i].negate ? spad__scalar_not(&t->g->scalars, result) : result;
        }
        return compare_unsigned(t, relations[i].op, left, right);
    }
    return SPAD__NO_SCALAR;
}

/* A number with the same low bits, where what is added at its end is below 0: x - 1 is x + 1 for
 * the lowest bit. */
static spad__scalar from_zero(spad__ttgir *t, spad__scalar a, int64_t power) {
    const spad__scalar_node node = *spad__scalar_get(&t->g->scalars, a);
    int64_t last;
    if (node.op != SPAD__SCALAR_ADD || !spad__scalar_is_number(&t->g->scalars, node.b, &last) ||
        last >= 0) {
        return a;
    }
    return spad__scalar_plus(&t->g->scalars, node.a, last & (power - 1));
}

/* Bits of whole numbers: only a mask of ones at the low end has an expression. */
static spad__scalar and_bits(spad__ttgir *t, spad__scalar a, spad__scalar b) {
    int64_t mask;
    if (spad__scalar_is_number(&t->g->scalars, b, &mask) && mask > 0 && mask < INT64_MAX &&
        (mask & (mask + 1)) == 0) {
        return spad__scalar_make(&t->g->scalars, SPAD__SCALAR_MOD, from_zero(t, a, mask + 1),
                                 spad__scalar_number(&t->g->scalars, mask + 1));
    }
    return spad__scalar_data(&t->g->scalars);
}

/* By a number of bits that no size changes. */
static spad__scalar shift(spad__ttgir *t, spad__scalar_op op, spad__scalar a, spad__scalar b,
                          int width) {
    int64_t by;
    if (!spad__scalar_is_number(&t->g->scalars, b, &by) || by < 0 || by >= width || by > 40) {
        return spad__scalar_data(&t->g->scalars);
    }
    return spad__scalar_make(&t->g->scalars, op, a,
                             spad__scalar_number(&t->g->scalars, INT64_C(1) << by));
}

/* The smaller or larger one without signs. */
static spad__scalar pick_unsigned(spad__ttgir *t, bool smaller, spad__scalar a, spad__scalar b) {
    const spad__scalar less = compare_unsigned(t, SPAD__SCALAR_LESS, a, b);
    return spad__scalar_select(&t->g->scalars, less, smaller ? a : b, smaller ? b : a);
}

/* Of two bits. */
static spad__scalar bits_of(spad__ttgir *t, integer_op op, spad__scalar a, spad__scalar b) {
    spad__scalars *s = &t->g->scalars;
    switch (op) {
    case INTEGER_ADD:
    case INTEGER_SUB:
    case INTEGER_XOR: return spad__scalar_make(s, SPAD__SCALAR_XOR, a, b);
    case INTEGER_MUL:
    case INTEGER_AND:
    case INTEGER_MAX: /* 0 is above -1 */
    case INTEGER_MIN_UNSIGNED: return spad__scalar_make(s, SPAD__SCALAR_AND, a, b);
    case INTEGER_OR:
    case INTEGER_MIN:
    case INTEGER_MAX_UNSIGNED: return spad__scalar_make(s, SPAD__SCALAR_OR, a, b);
    default: return spad__scalar_data(s);
    }
}

/* Quotients of something below 0 are data, or no expression when the kernel is made. */
static spad__scalar expression_of(spad__ttgir *t, integer_op op, spad__scalar a, spad__scalar b,
                                  int width) {
    spad__scalars *s = &t->g->scalars;
    switch (op) {
    case INTEGER_ADD: return spad__scalar_make(s, SPAD__SCALAR_ADD, a, b);
    case INTEGER_SUB: return spad__scalar_sub(s, a, b);
    case INTEGER_MUL: return spad__scalar_make(s, SPAD__SCALAR_MUL, a, b);
    case INTEGER_DIV:
    case INTEGER_DIV_UNSIGNED:
    case INTEGER_DIV_DOWN: return spad__scalar_make(s, SPAD__SCALAR_DIV, a, b);
    case INTEGER_DIV_UP:
    case INTEGER_DIV_UP_UNSIGNED: return spad__scalar_ceil_div(s, a, b);
    case INTEGER_REST:
    case INTEGER_REST_UNSIGNED: return spad__scalar_make(s, SPAD__SCALAR_MOD, a, b);
    case INTEGER_MIN: return spad__scalar_make(s, SPAD__SCALAR_MIN, a, b);
    case INTEGER_MAX: return spad__scalar_make(s, SPAD__SCALAR_MAX, a, b);
    case INTEGER_MIN_UNSIGNED: return pick_unsigned(t, true, a, b);
    case INTEGER_MAX_UNSIGNED: return pick_unsigned(t, false, a, b);
    case INTEGER_AND: return and_bits(t, a, b);
    case INTEGER_XOR: return spad__scalar_make(s, SPAD__SCALAR_XOR, a, b);
    case INTEGER_LEFT: return shift(t, SPAD__SCALAR_MUL, a, b, width);
    case INTEGER_RIGHT:
    case INTEGER_RIGHT_UNSIGNED: return shift(t, SPAD__SCALAR_DIV, a, b, width);
    default: return spad__scalar_data(s);
    }
}

static spad__scalar of_two(spad__ttgir *t, const spad__mlir_op *op, integer_op what) {
    const spad__scalar a = spad__ttgir_operand(t, op, 0)->scalar;
    const spad__scalar b = spad__ttgir_operand(t, op, 1)->scalar;
    int width = width_at(t, type_of(t, op));
    int64_t x, y, value;
    if (a < 0 || b < 0) return SPAD__NO_SCALAR;
    if (width == 0) width = 64;
    if (spad__scalar_is_number(&t->g->scalars, a, &x) &&
        spad__scalar_is_number(&t->g->scalars, b, &y)) {
        return result_of(what, x, y, width, &value) ? spad__scalar_number(&t->g->scalars, value)
                                                    : spad__scalar_data(&t->g->scalars);
    }
    if (width == 1) return bits_of(t, what, a, b);
    return fit(t, expression_of(t, what, a, b, width), width);
}

/* ---- casts ------------------------------------------------------------------------------ */

/* Without its sign, in a wider type. */
static spad__scalar widen_unsigned(spad__ttgir *t, spad__scalar a, int from) {
    spad__scalars *s = &t->g->scalars;
    if (from == 1 || from == 64 || spad__scalar_get(s, a)->least >= 0) return a;
    const spad__scalar below =
        spad__scalar_make(s, SPAD__SCALAR_LESS, a, spad__scalar_number(s, 0));
    const spad__scalar moved = spad__scalar_plus(s, a, (int64_t)(ones(from) + 1));
    return spad__scalar_select(s, below, moved, a);
}

/* "extsi %a : i1 to i32"; that of an index may go either way */
static spad__scalar cast(spad__ttgir *t, const spad__mlir_op *op, bool sign) {
    const spad__scalar a = spad__ttgir_operand(t, op, 0)->scalar;
    const uint32_t at = type_of(t, op);
    const int from = width_at(t, at), to = at == 0 ? 0 : width_at(t, at + 2);
    spad__scalars *s = &t->g->scalars;
    if (a < 0) return SPAD__NO_SCALAR;
    if (from == 0 || to == 0) return a;
    if (from <= to && !sign) return widen_unsigned(t, a, from);
    if (from <= to) {
        return from == 1 ? spad__scalar_make(s, SPAD__SCALAR_MUL, a, spad__scalar_number(s, -1))
                         : a;
    }
    int64_t value;
    if (to > 1 || spad__scalar_is_number(s, a, &value) || spad__scalar_get(s, a)->bit)
        return fit(t, a, to);
    return spad__scalar_make(s, SPAD__SCALAR_MOD, a, spad__scalar_number(s, 2));
}

spad__scalar spad__ttgir_low_bit(spad__ttgir *t, spad__scalar n) {
    int64_t value;
    if (n < 0) return n; /* no memory */
    const spad__scalar_node *node = spad__scalar_get(&t->g->scalars, n);
    if (spad__scalar_is_number(&t->g->scalars, n, &value))
        return spad__scalar_number(&t->g->scalars, value & 1);
    if (node->op != SPAD__SCALAR_MUL || !spad__scalar_is(&t->g->scalars, node->b, -1)) return n;
    return spad__ttgir_low_bit(t, node->a); /* extsi of an i1 */
}

/* ---- the table -------------------------------------------------------------------------- */

static const struct {
    const char *name;
    integer_op op;
} operations[] = {
    {"arith.addi", INTEGER_ADD},           {"arith.subi", INTEGER_SUB},
    {"arith.muli", INTEGER_MUL},           {"arith.divsi", INTEGER_DIV},
    {"arith.divui", INTEGER_DIV_UNSIGNED}, {"arith.floordivsi", INTEGER_DIV_DOWN},
    {"arith.ceildivsi", INTEGER_DIV_UP},   {"arith.ceildivui", INTEGER_DIV_UP_UNSIGNED},
    {"arith.remsi", INTEGER_REST},         {"arith.remui", INTEGER_REST_UNSIGNED},
    {"arith.minsi", INTEGER_MIN},          {"arith.minui", INTEGER_MIN_UNSIGNED},
    {"arith.maxsi", INTEGER_MAX},          {"arith.maxui", INTEGER_MAX_UNSIGNED},
    {"arith.andi", INTEGER_AND},           {"arith.ori", INTEGER_OR},
    {"arith.xori", INTEGER_XOR},           {"arith.shli", INTEGER_LEFT},
    {"arith.shrsi", INTEGER_RIGHT},        {"arith.shrui", INTEGER_RIGHT_UNSIGNED}};

bool spad__ttgir_arithmetic(spad__ttgir *t, const spad__mlir_op *op, spad__scalar *out) {
    const spad__mlir *m = t->m;
    const spad__scalar a = spad__ttgir_operand(t, op, 0)->scalar;
    *out = SPAD__NO_SCALAR;
    if (m->tokens.items[op->name].length < 6 ||
        memcmp(spad__mlir_text(m, op->name), "arith.", 6) != 0) {
        return false;
    }
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        if (!spad__mlir_named(m, op, operations[i].name)) continue;
        *out = of_two(t, op, operations[i].op);
        return true;
    }
    if (spad__mlir_named(m, op, "arith.constant")) {
        int64_t value;
        if (spad__mlir_number(m, spad__ttgir_constant(t, op), &value)) {
            *out = spad__scalar_number(&t->g->scalars, value);
        }
    } else if (spad__mlir_named(m, op, "arith.cmpi")) {
        *out = compare_by_word(t, op);
    } else if (spad__mlir_named(m, op, "arith.select")) {
        *out = spad__scalar_select(&t->g->scalars, a, spad__ttgir_operand(t, op, 1)->scalar,
                                   spad__ttgir_operand(t, op, 2)->scalar);
    } else if (spad__mlir_named(m, op, "arith.extsi") ||
               spad__mlir_named(m, op, "arith.index_cast") ||
               spad__mlir_named(m, op, "arith.trunci")) {
        *out = cast(t, op, true);
    } else if (spad__mlir_named(m, op, "arith.extui") ||
               spad__mlir_named(m, op, "arith.index_castui")) {
        *out = cast(t, op, false);
    } else if (a >= 0 && op->result_count == 1 && !spad__mlir_is(m, type_of(t, op), "f32")) {
        *out = spad__scalar_data(&t->g->scalars);
    }
    return true;
}
