/* SPDX-License-Identifier: Apache-2.0
 *
 * Initial values of variables: numbers, and addresses of variables and functions.
 *
 * Reference: PTX ISA 9.0, 5.4.4 (initialisers).
 */
#include "frontend/ptx/text/ptx_initial.h"

typedef struct ptx_filling {
    spad__ptx_parser *p;
    const spad__ptx_extent *extent;
    spad__span name;
    spad__ptx_type type;
    int64_t most; /* bytes of the variable, or what is left for all initial values */
    bool limited; /* the latter */
} ptx_filling;

/* Adds zeros up to that many bytes. */
static bool ptx_pad_to(ptx_filling *f, int64_t bytes) {
    spad__ptx_parser *p = f->p;
    const size_t used = p->initial.count;
    if (bytes > f->most || bytes < (int64_t)used) {
        const char *why = "has more items than the variable";
        if (bytes < (int64_t)used) why = "has a row that is too long";
        if (f->limited) why = "is too large; all of them may have 64 MiB at most";
        spad__ptx_diagnose(&p->lexer, f->name, "the initial value of '%.*s' %s",
                           spad__ptx_shown(f->name), spad__ptx_text(&p->lexer, f->name), why);
        return false;
    }
    if (!spad__array_reserve(p->host, &p->initial, (size_t)bytes - used)) {
        spad__ptx_out_of_memory(&p->lexer);
        return false;
    }
    if ((size_t)bytes > used) memset(p->initial.items + used, 0, (size_t)bytes - used);
    p->initial.count = (size_t)bytes;
    return true;
}

/* Appends the low bytes of a number; the machine's order of bytes does not matter. */
static bool ptx_append(ptx_filling *f, uint64_t bits, int64_t size) {
    const int64_t start = (int64_t)f->p->initial.count;
    if (!ptx_pad_to(f, start + size)) return false;
    for (int64_t i = 0; i < size && i < 8; i++) {
        f->p->initial.items[start + i] = (uint8_t)(bits >> (8 * i));
    }
    return true;
}

static double ptx_as_double(const spad__ptx_constant *n) {
    double value;
    float narrow;
    const uint32_t low = (uint32_t)n->bits;
    switch (n->kind) {
    case SPAD__PTX_DOUBLE: memcpy(&value, &n->bits, sizeof value); return value;
    case SPAD__PTX_SINGLE: memcpy(&narrow, &low, sizeof narrow); return (double)narrow;
    case SPAD__PTX_UNSIGNED: return (double)n->bits;
    default: return (double)(int64_t)n->bits;
    }
}

/* The bits of a number as the type of the variable has them. */
static uint64_t ptx_bits_for(spad__ptx_type type, const spad__ptx_constant *n) {
    uint64_t bits = n->bits;
    if (type == SPAD__PTX_F64 && n->kind != SPAD__PTX_DOUBLE) {
        const double value = ptx_as_double(n);
        memcpy(&bits, &value, sizeof bits);
    } else if (type == SPAD__PTX_F32 && n->kind != SPAD__PTX_SINGLE) {
        const float value = (float)ptx_as_double(n);
        uint32_t low;
        memcpy(&low, &value, sizeof low);
        bits = low;
    }
    return bits;
}

/* ---- addresses ------------------------------------------------------------------------------ */

static bool ptx_keep_relocation(ptx_filling *f, const spad__ptx_relocation *r) {
    spad__ptx_module *m = f->p->module;
    if (m->relocations.count >= INT32_MAX || !spad__array_reserve(f->p->host, &m->relocations, 1)) {
        spad__ptx_out_of_memory(&f->p->lexer);
        return false;
    }
    m->relocations.items[m->relocations.count++] = *r;
    return true;
}

/* "name + 8" or "generic(name) + 8". */
static bool ptx_take_relocated(ptx_filling *f, spad__ptx_relocation *out) {
    spad__ptx_lexer *x = &f->p->lexer;
    spad__span name;
    *out = (spad__ptx_relocation){.variable = -1, .function = -1};
    if (!spad__ptx_take_name(x, &name)) {
        spad__ptx_expected(x, "a number or a name in an initial value");
        return false;
    }
    out->generic = spad__ptx_is(x, name, "generic") && spad__ptx_take(x, '(');
    if (out->generic && !spad__ptx_take_name(x, &name)) {
        spad__ptx_expected(x, "the name of a variable");
        return false;
    }
    const spad__ptx_symbol *symbol = spad__ptx_find_symbol(f->p, name);
    if (symbol == NULL ||
        (symbol->kind != SPAD__PTX_NAMES_VARIABLE && symbol->kind != SPAD__PTX_NAMES_FUNCTION)) {
        spad__ptx_diagnose(x, name, "'%.*s' is not a variable or a function declared before",
                           spad__ptx_shown(name), spad__ptx_text(x, name));
        return false;
    }
    if (symbol->kind == SPAD__PTX_NAMES_FUNCTION) out->function = symbol->number;
    if (symbol->kind == SPAD__PTX_NAMES_VARIABLE) out->variable = symbol->number;
    if (out->generic && !spad__ptx_need(x, ')', "after a name")) return false;
    return spad__ptx_take_addend(x, &out->addend);
}

static bool ptx_take_address_value(ptx_filling *f, int64_t size) {
    spad__ptx_relocation r;
    if (!ptx_take_relocated(f, &r)) return false;
    r.offset = (int64_t)f->p->initial.count;
    return ptx_keep_relocation(f, &r) && ptx_append(f, 0, size);
}

/* After "0xFF00(": one byte of an address. The first byte stands for all of them, which follow. */
static bool ptx_take_masked(ptx_filling *f, uint64_t mask, int64_t size) {
    spad__ptx_lexer *x = &f->p->lexer;
    spad__ptx_module *m = f->p->module;
    const size_t start = x->at;
    spad__ptx_relocation r;
    int64_t byte = 0;
    while (byte < 8 && mask != UINT64_C(0xFF) << (8 * byte)) byte++;
    if (byte == 8 || size != 1) {
        spad__ptx_diagnose(x, (spad__span){start - 1, 1},
                           "a mask is 0xFF, 0xFF00 and so on, for variables of bytes");
        return false;
    }
    if (!ptx_take_relocated(f, &r) || !spad__ptx_need(x, ')', "after a masked address"))
        return false;
    r.offset = (int64_t)f->p->initial.count - byte;
    if (byte == 0 && !ptx_keep_relocation(f, &r)) return false;
    const spad__ptx_relocation *last =
        m->relocations.count > 0 ? &m->relocations.items[m->relocations.count - 1] : NULL;
    if (last == NULL || last->offset != r.offset || last->variable != r.variable ||
        last->function != r.function || last->addend != r.addend) {
        spad__ptx_diagnose(x, (spad__span){start - 1, 1},
                           "the bytes of an address must follow one another, 0xFF first");
        return false;
    }
    return ptx_append(f, 0, size);
}

/* ---- values --------------------------------------------------------------------------------- */

static bool ptx_take_value(ptx_filling *f) {
    spad__ptx_lexer *x = &f->p->lexer;
    const int64_t size = (spad__ptx_type_bits(f->type) + 7) / 8;
    uint8_t byte;
    if (size == 1 && spad__ptx_take_listed(x, &byte)) return ptx_append(f, byte, 1);
    if (!spad__ptx_starts_constant(x)) return ptx_take_address_value(f, size);
    spad__ptx_constant number;
    if (!spad__ptx_take_constant(x, &number)) return false;
    if (spad__ptx_take(x, '(')) return ptx_take_masked(f, number.bits, size);
    return ptx_append(f, ptx_bits_for(f->type, &number), size);
}

/* The values of one rank, in braces or not; at most SPAD__PTX_RANK levels deep. */
static bool ptx_take_values(ptx_filling *f, int rank) {
    spad__ptx_lexer *x = &f->p->lexer;
    if (!spad__ptx_take(x, '{')) return ptx_take_value(f);
    if (rank >= f->extent->rank && rank > 0) {
        spad__ptx_diagnose(x, (spad__span){x->at - 1, 1}, "more braces than '%.*s' has sizes",
                           spad__ptx_shown(f->name), spad__ptx_text(x, f->name));
        return false;
    }
    if (spad__ptx_take(x, '}')) return true;
    do {
        const int64_t start = (int64_t)f->p->initial.count;
        const bool is_row = spad__ptx_peek(x) == '{';
        if (!ptx_take_values(f, rank + 1)) return false;
        if (!is_row) continue;
        int64_t end;
        if (!spad__add(start, f->extent->strides[rank], &end) || !ptx_pad_to(f, end)) return false;
    } while (spad__ptx_take(x, ','));
    if (spad__ptx_take(x, '}')) return true;
    spad__ptx_expected(x, "',' or '}' in an initial value");
    return false;
}

bool spad__ptx_take_initial(spad__ptx_parser *p, spad__span name, const spad__ptx_extent *extent,
                            spad__ptx_variable *v) {
    const int64_t left = SPAD__PTX_INITIAL - p->initial_bytes;
    const bool limited = extent->open || v->bytes > left;
    ptx_filling f = {.p = p,
                     .extent = extent,
                     .name = name,
                     .type = (spad__ptx_type)v->type,
                     .most = limited ? left : v->bytes,
                     .limited = limited};
    v->first_relocation = (int32_t)p->module->relocations.count;
    p->initial.count = 0;
    if (!ptx_take_values(&f, 0)) return false;
    v->relocation_count = (int32_t)p->module->relocations.count - v->first_relocation;
    if (extent->open) v->bytes = (int64_t)p->initial.count;
    if (!ptx_pad_to(&f, v->bytes)) return false;
    p->initial_bytes += v->bytes;
    v->initial = (const uint8_t *)spad__arena_copy(
        &p->module->arena, (const char *)p->initial.items, p->initial.count);
    if (v->initial != NULL) return true;
    spad__ptx_out_of_memory(&p->lexer);
    return false;
}
