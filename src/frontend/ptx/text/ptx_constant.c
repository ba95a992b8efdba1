/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers and constant expressions. Integers have 64 bits and wrap; an expression is unsigned if
 * one of its parts is.
 *
 * Reference: PTX ISA 9.0, 4.5 (constants), 4.5.4 to 4.5.6 (expressions).
 */
#include "frontend/ptx/text/ptx_parse.h"

enum { NESTED_MOST = 64 }; /* parentheses and signs in front of a number */

static bool ptx_take_choice(spad__ptx_lexer *x, int depth, spad__ptx_constant *out);

bool spad__ptx_starts_constant(spad__ptx_lexer *x) {
    const char c = spad__ptx_peek(x);
    return spad__ptx_is_digit(c) || c == '-' || c == '+' || c == '~' || c == '!' || c == '(';
}

/* ---- literals ------------------------------------------------------------------------------- */

static int ptx_digit_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return 99;
}

/* Digits of a base, as many as there are; false: none, or more than 64 bits. */
static bool ptx_read_digits(const char *text, size_t length, int base, size_t *at, uint64_t *out) {
    const size_t start = *at;
    uint64_t value = 0;
    bool fits = true;
    for (; *at < length; ++*at) {
        const int digit = ptx_digit_value(text[*at]);
        if (digit >= base) break;
        uint64_t scaled;
        if (__builtin_mul_overflow(value, (uint64_t)base, &scaled) ||
            __builtin_add_overflow(scaled, (uint64_t)digit, &value)) {
            fits = false;
        }
    }
    *out = value;
    return fits && *at > start;
}

/* 10^exponent x digits as a double. Exact where both are (up to 15 digits and 10^22), as all that
 * compilers print is hexadecimal; elsewhere the last bits may be off. */
static uint64_t ptx_decimal_bits(uint64_t digits, int exponent) {
    double value = (double)digits;
    for (; exponent >= 22; exponent -= 22) value *= 1e22;
    for (; exponent <= -22; exponent += 22) value /= 1e22;
    double power = 1;
    for (int i = exponent < 0 ? -exponent : exponent; i > 0; i--) power *= 10;
    value = exponent < 0 ? value / power : value * power;
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

enum { EXPONENT_MOST = 1000 };

/* The exponent after 'e'; limited, since a larger one gives zero or infinity anyway. */
static bool ptx_read_exponent(const char *text, size_t length, size_t *at, int *out) {
    if (*at >= length || (text[*at] != 'e' && text[*at] != 'E')) return true;
    ++*at;
    const bool negative = *at < length && text[*at] == '-';
    if (*at < length && (text[*at] == '-' || text[*at] == '+')) ++*at;
    const size_t start = *at;
    int value = 0;
    for (; *at < length && spad__ptx_is_digit(text[*at]); ++*at) {
        if (value < EXPONENT_MOST) value = value * 10 + (text[*at] - '0');
    }
    *out += negative ? -value : value;
    return *at > start;
}

/* "1.5e3": digits with a '.' or an exponent. */
static bool ptx_read_decimal(const char *text, size_t length, size_t *at, spad__ptx_constant *out) {
    uint64_t digits = 0;
    int exponent = 0;
    bool after_point = false;
    for (; *at < length; ++*at) {
        const char c = text[*at];
        if (c == '.' && !after_point) {
            after_point = true;
        } else if (!spad__ptx_is_digit(c)) {
            break;
        } else if (digits < UINT64_C(100000000000000000)) {
            digits = digits * 10 + (uint64_t)(c - '0');
            if (after_point) exponent--;
        } else if (!after_point && exponent < EXPONENT_MOST) {
            exponent++;
        }
    }
    if (!ptx_read_exponent(text, length, at, &exponent)) return false;
    *out = (spad__ptx_constant){SPAD__PTX_DOUBLE, ptx_decimal_bits(digits, exponent)};
    return true;
}

/* True for digits that a '.' or an exponent follows. */
static bool ptx_is_decimal(const char *text, size_t length, size_t at) {
    while (at < length && spad__ptx_is_digit(text[at])) at++;
    return at < length && (text[at] == '.' || text[at] == 'e' || text[at] == 'E');
}

/* "0f3F800000" or "0d3FF0000000000000": the digits must be 8 or 16. */
static bool ptx_read_float(const char *text, size_t length, size_t *at, bool wide,
                           spad__ptx_constant *out) {
    const size_t start = *at + 2;
    *at = start;
    uint64_t bits;
    const bool fits = ptx_read_digits(text, length, 16, at, &bits);
    *out = (spad__ptx_constant){wide ? SPAD__PTX_DOUBLE : SPAD__PTX_SINGLE, bits};
    return fits && *at - start == (wide ? 16U : 8U);
}

static bool ptx_read_integer(const char *text, size_t length, size_t *at, spad__ptx_constant *out) {
    int base = 10;
    if (text[*at] == '0' && *at + 1 < length) {
        const char mark = spad__lower(text[*at + 1]);
        if (mark == 'x' || mark == 'b') {
            base = mark == 'x' ? 16 : 2;
            *at += 2;
        } else if (spad__ptx_is_digit(mark)) {
            base = 8;
            ++*at;
        }
    }
    uint64_t bits;
    if (!ptx_read_digits(text, length, base, at, &bits)) return false;
    const bool marked = *at < length && text[*at] == 'U';
    if (marked) ++*at;
    out->kind = marked || bits > INT64_MAX ? SPAD__PTX_UNSIGNED : SPAD__PTX_SIGNED;
    out->bits = bits;
    return true;
}

static bool ptx_take_literal(spad__ptx_lexer *x, spad__ptx_constant *out) {
    const size_t start = x->at;
    const char *text = x->text;
    const char mark = x->at + 1 < x->length ? spad__lower(text[x->at + 1]) : '\0';
    bool good;
    if (text[start] == '0' && (mark == 'f' || mark == 'd')) {
        good = ptx_read_float(text, x->length, &x->at, mark == 'd', out);
    } else if (ptx_is_decimal(text, x->length, start)) {
        good = ptx_read_decimal(text, x->length, &x->at, out);
    } else {
        good = ptx_read_integer(text, x->length, &x->at, out);
    }
    if (good && (x->at >= x->length || !spad__ptx_is_name_byte(text[x->at]))) return true;
    while (x->at < x->length && spad__ptx_is_name_byte(text[x->at])) x->at++;
    const spad__span span = {start, x->at - start};
    spad__ptx_diagnose(x, span,
                       "'%.*s' is not a number of PTX: integers have at most 64 bits, 0f is "
                       "followed by 8 hexadecimal digits and 0d by 16",
                       spad__ptx_shown(span), text + start);
    return false;
}

/* Lists of bytes are most of many files, so they do not go through expressions. */
bool spad__ptx_take_listed(spad__ptx_lexer *x, uint8_t *out) {
    size_t at = x->at;
    while (at < x->length && x->text[at] == ' ') at++;
    const size_t start = at;
    unsigned value = 0;
    while (at < x->length && at - start < 3 && spad__ptx_is_digit(x->text[at])) {
        value = value * 10 + (unsigned)(x->text[at++] - '0');
    }
    const bool octal = at - start > 1 && x->text[start] == '0';
    if (at == start || octal || value > 255 || at >= x->length) return false;
    if (x->text[at] != ',' && x->text[at] != '}') return false;
    x->at = at;
    *out = (uint8_t)value;
    return true;
}

/* ---- expressions ---------------------------------------------------------------------------- */

static bool ptx_is_integer(const spad__ptx_constant *n) {
    return n->kind == SPAD__PTX_SIGNED || n->kind == SPAD__PTX_UNSIGNED;
}

static bool ptx_refuse(spad__ptx_lexer *x, size_t start, const char *why) {
    spad__ptx_diagnose(x, spad__ptx_since(x, start), "%s", why);
    return false;
}

static bool ptx_negate(spad__ptx_lexer *x, size_t start, char sign, spad__ptx_constant *n) {
    if (sign == '-' && n->kind == SPAD__PTX_SINGLE) {
        n->bits ^= UINT64_C(1) << 31;
    } else if (sign == '-' && n->kind == SPAD__PTX_DOUBLE) {
        n->bits ^= UINT64_C(1) << 63;
    } else if (sign == '-') {
        n->bits = 0 - n->bits;
        /* -9223372036854775808 is a number of its own */
        if (n->bits == UINT64_C(1) << 63) n->kind = SPAD__PTX_SIGNED;
    } else if (sign != '+' && !ptx_is_integer(n)) {
        return ptx_refuse(x, start, "'~' and '!' take an integer");
    } else if (sign == '~') {
        n->bits = ~n->bits;
    } else if (sign == '!') {
        *n = (spad__ptx_constant){SPAD__PTX_SIGNED, n->bits == 0};
    }
    return true;
}

/* "(.s64)" or "(.u64)"; false: something else, nothing taken. */
static bool ptx_take_cast(spad__ptx_lexer *x, spad__ptx_constant_kind *out) {
    const spad__ptx_text_place start = spad__ptx_here(x);
    spad__span word;
    if (spad__ptx_take(x, '(') && spad__ptx_take_dotted(x, &word)) {
        *out = spad__ptx_is(x, word, "u64") ? SPAD__PTX_UNSIGNED : SPAD__PTX_SIGNED;
        const bool known = *out == SPAD__PTX_UNSIGNED || spad__ptx_is(x, word, "s64");
        if (known && spad__ptx_take(x, ')')) return true;
    }
    spad__ptx_go_back(x, start);
    return false;
}

static bool ptx_take_part(spad__ptx_lexer *x, int depth, spad__ptx_constant *out) {
    const char c = spad__ptx_peek(x);
    const size_t start = x->at;
    spad__ptx_constant_kind cast;
    if (depth > NESTED_MOST) {
        x->at++;
        return ptx_refuse(x, start, "this expression is nested too deeply; at most 64 levels");
    }
    if (c == '-' || c == '+' || c == '~' || c == '!') {
        x->at++;
        return ptx_take_part(x, depth + 1, out) && ptx_negate(x, start, c, out);
    }
    if (c == '(' && ptx_take_cast(x, &cast)) {
        if (!ptx_take_part(x, depth + 1, out)) return false;
        if (!ptx_is_integer(out)) return ptx_refuse(x, start, "a cast takes an integer");
        out->kind = cast;
        return true;
    }
    if (spad__ptx_take(x, '(')) {
        return ptx_take_choice(x, depth + 1, out) && spad__ptx_need(x, ')', "after an expression");
    }
    if (spad__ptx_is_digit(c)) return ptx_take_literal(x, out);
    spad__ptx_expected(x, "a number");
    return false;
}

typedef enum ptx_infix {
    PTX_MULTIPLY,
    PTX_DIVIDE,
    PTX_REMAINDER,
    PTX_PLUS,
    PTX_MINUS,
    PTX_SHIFT_LEFT,
    PTX_SHIFT_RIGHT,
    PTX_AT_MOST,
    PTX_AT_LEAST,
    PTX_BELOW,
    PTX_ABOVE,
    PTX_EQUAL,
    PTX_UNEQUAL,
    PTX_BOTH,
    PTX_EITHER,
    PTX_BITS_AND,
    PTX_BITS_XOR,
    PTX_BITS_OR,
    PTX_NO_INFIX
} ptx_infix;

/* Longer spellings first; a higher level binds tighter. */
static const struct {
    const char *text;
    uint8_t length;
    uint8_t level;
} ptx_infixes[PTX_NO_INFIX] = {
    [PTX_MULTIPLY] = {"*", 1, 10},    [PTX_DIVIDE] = {"/", 1, 10},  [PTX_REMAINDER] = {"%", 1, 10},
    [PTX_PLUS] = {"+", 1, 9},         [PTX_MINUS] = {"-", 1, 9},    [PTX_SHIFT_LEFT] = {"<<", 2, 8},
    [PTX_SHIFT_RIGHT] = {">>", 2, 8}, [PTX_AT_MOST] = {"<=", 2, 7}, [PTX_AT_LEAST] = {">=", 2, 7},
    [PTX_BELOW] = {"<", 1, 7},        [PTX_ABOVE] = {">", 1, 7},    [PTX_EQUAL] = {"==", 2, 6},
    [PTX_UNEQUAL] = {"!=", 2, 6},     [PTX_BOTH] = {"&&", 2, 2},    [PTX_EITHER] = {"||", 2, 1},
    [PTX_BITS_AND] = {"&", 1, 5},     [PTX_BITS_XOR] = {"^", 1, 4}, [PTX_BITS_OR] = {"|", 1, 3},
};

static ptx_infix ptx_next_infix(spad__ptx_lexer *x) {
    if (spad__ptx_at_end(x) || memchr("*/%+-<>=!&^|", x->text[x->at], 12) == NULL) {
        return PTX_NO_INFIX;
    }
    for (int i = 0; i < PTX_NO_INFIX; i++) {
        const size_t length = ptx_infixes[i].length;
        if (x->length - x->at >= length &&
            memcmp(x->text + x->at, ptx_infixes[i].text, length) == 0) {
            return (ptx_infix)i;
        }
    }
    return PTX_NO_INFIX;
}

static uint64_t ptx_compare_bits(ptx_infix infix, uint64_t a, uint64_t b, bool is_unsigned) {
    const int order =
        is_unsigned ? (a > b) - (a < b) : ((int64_t)a > (int64_t)b) - ((int64_t)a < (int64_t)b);
    switch (infix) {
    case PTX_AT_MOST: return order <= 0;
    case PTX_AT_LEAST: return order >= 0;
    case PTX_BELOW: return order < 0;
    case PTX_ABOVE: return order > 0;
    case PTX_EQUAL: return order == 0;
    default: return order != 0;
    }
}

/* For b other than 0. */
static uint64_t ptx_divide_bits(bool rest, uint64_t a, uint64_t b, bool is_unsigned) {
    if (is_unsigned) return rest ? a % b : a / b;
    if (b == UINT64_MAX) return rest ? 0 : 0 - a; /* also for the least number, which wraps */
    const int64_t left = (int64_t)a;
    const int64_t right = (int64_t)b;
    return (uint64_t)(rest ? left % right : left / right);
}

static uint64_t ptx_shift_bits(ptx_infix infix, uint64_t a, uint64_t b, bool is_unsigned) {
    const bool negative = !is_unsigned && (int64_t)a < 0;
    if (infix == PTX_SHIFT_LEFT) return b > 63 ? 0 : a << b;
    if (b > 63) return negative ? UINT64_MAX : 0;
    return negative ? ~(~a >> b) : a >> b;
}

static uint64_t ptx_combine_bits(ptx_infix infix, uint64_t a, uint64_t b) {
    switch (infix) {
    case PTX_MULTIPLY: return a * b;
    case PTX_PLUS: return a + b;
    case PTX_MINUS: return a - b;
    case PTX_BITS_AND: return a & b;
    case PTX_BITS_XOR: return a ^ b;
    case PTX_BITS_OR: return a | b;
    case PTX_BOTH: return a != 0 && b != 0;
    default: return a != 0 || b != 0; /* EITHER */
    }
}

static bool ptx_combine(spad__ptx_lexer *x, size_t start, ptx_infix infix, spad__ptx_constant *a,
                        const spad__ptx_constant *b) {
    if (!ptx_is_integer(a) || !ptx_is_integer(b)) {
        return ptx_refuse(x, start, "only integers can be combined in a constant expression");
    }
    const bool is_shift = infix == PTX_SHIFT_LEFT || infix == PTX_SHIFT_RIGHT;
    const bool is_unsigned =
        a->kind == SPAD__PTX_UNSIGNED || (!is_shift && b->kind == SPAD__PTX_UNSIGNED);
    a->kind = is_unsigned ? SPAD__PTX_UNSIGNED : SPAD__PTX_SIGNED;
    if (infix == PTX_DIVIDE || infix == PTX_REMAINDER) {
        if (b->bits == 0) return ptx_refuse(x, start, "this expression divides by zero");
        a->bits = ptx_divide_bits(infix == PTX_REMAINDER, a->bits, b->bits, is_unsigned);
    } else if (is_shift) {
        a->bits = ptx_shift_bits(infix, a->bits, b->bits, is_unsigned);
    } else if (infix >= PTX_AT_MOST && infix <= PTX_UNEQUAL) {
        a->bits = ptx_compare_bits(infix, a->bits, b->bits, is_unsigned);
        a->kind = SPAD__PTX_SIGNED;
    } else {
        a->bits = ptx_combine_bits(infix, a->bits, b->bits);
    }
    return true;
}

/* Parts joined by operators of at least this level; `depth` also counts the levels, which are few.
 */
static bool ptx_take_joined(spad__ptx_lexer *x, int depth, int level, spad__ptx_constant *out) {
    if (!ptx_take_part(x, depth, out)) return false;
    const size_t start = x->at;
    for (;;) {
        const ptx_infix infix = ptx_next_infix(x);
        if (infix == PTX_NO_INFIX || ptx_infixes[infix].level < level) return true;
        x->at += ptx_infixes[infix].length;
        spad__ptx_constant right;
        if (!ptx_take_joined(x, depth, ptx_infixes[infix].level + 1, &right)) return false;
        if (!ptx_combine(x, start, infix, out, &right)) return false;
    }
}

/* "a ? b : c" */
static bool ptx_take_choice(spad__ptx_lexer *x, int depth, spad__ptx_constant *out) {
    const size_t start = x->at;
    if (!ptx_take_joined(x, depth, 1, out)) return false;
    if (!spad__ptx_take(x, '?')) return true;
    if (!ptx_is_integer(out)) return ptx_refuse(x, start, "the condition is not an integer");
    spad__ptx_constant yes;
    spad__ptx_constant no;
    if (depth > NESTED_MOST) return ptx_refuse(x, start, "this expression is nested too deeply");
    if (!ptx_take_choice(x, depth + 1, &yes)) return false;
    if (!spad__ptx_need(x, ':', "between the values of a choice")) return false;
    if (!ptx_take_choice(x, depth + 1, &no)) return false;
    *out = out->bits != 0 ? yes : no;
    return true;
}

bool spad__ptx_take_constant(spad__ptx_lexer *x, spad__ptx_constant *out) {
    return ptx_take_choice(x, 0, out);
}

typedef bool ptx_number_taker(spad__ptx_lexer *x, spad__ptx_constant *out);

static bool ptx_take_limited(spad__ptx_lexer *x, ptx_number_taker *take, int64_t least,
                             int64_t most, const char *what, int64_t *out) {
    spad__ptx_skip(x);
    const size_t start = x->at;
    spad__ptx_constant number;
    if (!spad__ptx_starts_constant(x)) {
        spad__ptx_expected(x, what);
        return false;
    }
    if (!take(x, &number)) return false;
    const int64_t value = (int64_t)number.bits;
    const bool beyond = number.kind == SPAD__PTX_UNSIGNED && value < 0;
    if (!ptx_is_integer(&number) || beyond || value < least || value > most) {
        spad__ptx_diagnose(x, spad__ptx_since(x, start), "expected %s, from %lld to %lld", what,
                           (long long)least, (long long)most);
        return false;
    }
    *out = value;
    return true;
}

bool spad__ptx_take_integer(spad__ptx_lexer *x, int64_t least, int64_t most, const char *what,
                            int64_t *out) {
    return ptx_take_limited(x, spad__ptx_take_constant, least, most, what, out);
}

static bool ptx_take_single(spad__ptx_lexer *x, spad__ptx_constant *out) {
    return ptx_take_part(x, 0, out);
}

bool spad__ptx_take_count(spad__ptx_lexer *x, int64_t most, const char *what, int64_t *out) {
    return ptx_take_limited(x, ptx_take_single, 0, most, what, out);
}

bool spad__ptx_take_addend(spad__ptx_lexer *x, int64_t *out) {
    *out = 0;
    const char sign = spad__ptx_peek(x);
    if (sign != '+' && sign != '-') return true;
    const size_t start = x->at;
    if (sign == '+') x->at++;
    spad__ptx_constant number;
    if (!spad__ptx_take_constant(x, &number)) return false;
    if (!ptx_is_integer(&number)) return ptx_refuse(x, start, "an offset is an integer");
    *out = (int64_t)number.bits;
    return true;
}
