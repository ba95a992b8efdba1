/* SPDX-License-Identifier: Apache-2.0
 *
 * Declarations: registers, variables of all spaces, parameters.
 *
 * Reference: PTX ISA 9.0, chapter 5; 11.6 (.attribute).
 */
#include "frontend/ptx/text/ptx_initial.h"
#include "frontend/ptx/text/ptx_parse.h"

/* What stands between the space and the name. */
typedef struct ptx_declared {
    spad__ptx_type type;
    bool opaque; /* .texref and the like */
    int64_t align;
    int64_t items; /* of a vector type; else 1 */
    bool pointer;
    spad__ptx_space pointer_space;
} ptx_declared;

spad__ptx_space spad__ptx_space_of(const spad__ptx_lexer *x, spad__span directive) {
    static const struct {
        const char *name;
        spad__ptx_space space;
    } rows[] = {{"reg", SPAD__PTX_REG},       {"param", SPAD__PTX_PARAM},
                {"shared", SPAD__PTX_SHARED}, {"global", SPAD__PTX_GLOBAL},
                {"const", SPAD__PTX_CONST},   {"local", SPAD__PTX_LOCAL_MEMORY},
                {"tex", SPAD__PTX_GLOBAL},    {"sreg", SPAD__PTX_SREG}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (spad__ptx_is(x, directive, rows[i].name)) return rows[i].space;
    }
    return SPAD__PTX_NO_SPACE;
}

/* ---- what stands in front of a name ---------------------------------------------------------- */

static bool ptx_take_align(spad__ptx_lexer *x, int64_t *out) {
    spad__ptx_skip(x);
    const size_t start = x->at;
    if (!spad__ptx_take_integer(x, 1, INT64_C(1) << 30, "an alignment", out)) return false;
    if (spad__is_pow2(*out)) return true;
    spad__ptx_diagnose(x, spad__ptx_since(x, start), "an alignment is a power of two, not %lld",
                       (long long)*out);
    return false;
}

/* After ".ptr": a space and an alignment, of what the pointer leads to. */
static bool ptx_read_pointer(spad__ptx_lexer *x, spad__span word, ptx_declared *out, bool *taken) {
    int64_t align;
    const spad__ptx_space space = spad__ptx_space_of(x, word);
    *taken = true;
    if (space != SPAD__PTX_NO_SPACE) {
        out->pointer_space = space;
    } else if (spad__ptx_is(x, word, "align")) {
        return ptx_take_align(x, &align);
    } else {
        *taken = false;
    }
    return true;
}

bool spad__ptx_skip_attribute(spad__ptx_lexer *x) {
    if (!spad__ptx_need(x, '(', "after .attribute")) return false;
    while (!spad__ptx_at_end(x) && x->text[x->at] != ';' && x->text[x->at] != '{') {
        if (x->text[x->at++] == ')') {
            if (spad__ptx_peek(x) != ')') return true; /* .unified(a, b) has its own */
        }
    }
    spad__ptx_expected(x, "')' after an attribute");
    return false;
}

bool spad__ptx_take_pragma(spad__ptx_lexer *x) {
    do {
        spad__span text;
        if (!spad__ptx_take_string(x, &text)) return false;
    } while (spad__ptx_take(x, ','));
    return spad__ptx_need(x, ';', "after .pragma");
}

static bool ptx_is_opaque(const spad__ptx_lexer *x, spad__span word) {
    return spad__ptx_is(x, word, "texref") || spad__ptx_is(x, word, "samplerref") ||
           spad__ptx_is(x, word, "surfref");
}

static bool ptx_read_declared_word(spad__ptx_lexer *x, spad__span word, ptx_declared *out) {
    const spad__ptx_type type = spad__ptx_find_type(spad__ptx_text(x, word), word.length);
    bool taken = false;
    if (type != SPAD__PTX_NO_TYPE) {
        out->type = type;
        return true;
    }
    if (out->pointer && !ptx_read_pointer(x, word, out, &taken)) return false;
    if (taken) return true;
    if (spad__ptx_is(x, word, "align")) return ptx_take_align(x, &out->align);
    if (spad__ptx_is(x, word, "attribute")) return spad__ptx_skip_attribute(x);
    if (spad__ptx_is(x, word, "ptr")) {
        out->pointer = true;
    } else if (ptx_is_opaque(x, word)) {
        out->opaque = true;
        out->type = SPAD__PTX_B64;
    } else if (spad__ptx_is(x, word, "v2") || spad__ptx_is(x, word, "v4")) {
        out->items = x->text[word.start + 1] - '0';
    } else {
        spad__ptx_diagnose(x, word, "'.%.*s' is not a type, an alignment or an attribute",
                           spad__ptx_shown(word), spad__ptx_text(x, word));
        return false;
    }
    return true;
}

static bool ptx_take_declared(spad__ptx_lexer *x, ptx_declared *out) {
    *out = (ptx_declared){.items = 1};
    spad__span word;
    while (spad__ptx_take_dotted(x, &word)) {
        if (!ptx_read_declared_word(x, word, out)) return false;
    }
    if (out->type != SPAD__PTX_NO_TYPE) return true;
    spad__ptx_expected(x, "a type such as .b32");
    return false;
}

/* ---- registers ------------------------------------------------------------------------------ */

/* "%r<100>" or "%SP". */
static bool ptx_take_register(spad__ptx_parser *p, const ptx_declared *declared) {
    spad__ptx_lexer *x = &p->lexer;
    spad__ptx_symbol symbol = {.kind = SPAD__PTX_NAMES_REGISTER,
                               .type = (uint8_t)declared->type,
                               .items = (uint8_t)declared->items,
                               .number = (int32_t)p->member_keys.count};
    if (!spad__ptx_take_name(x, &symbol.name)) {
        spad__ptx_expected(x, "the name of a register");
        return false;
    }
    if (!spad__ptx_take(x, '<')) {
        return spad__ptx_add_symbol(p, symbol) &&
               spad__ptx_add_register(p, symbol.name, declared->type, symbol.items);
    }
    int64_t count;
    if (!spad__ptx_take_count(x, INT32_MAX, "a number of registers", &count) ||
        !spad__ptx_need(x, '>', "after a number of registers")) {
        return false;
    }
    symbol.kind = SPAD__PTX_NAMES_RANGE;
    symbol.number = p->ranges++;
    symbol.count = (int32_t)count;
    return spad__ptx_add_symbol(p, symbol);
}

bool spad__ptx_take_registers(spad__ptx_parser *p) {
    ptx_declared declared;
    if (!ptx_take_declared(&p->lexer, &declared)) return false;
    do {
        if (!ptx_take_register(p, &declared)) return false;
    } while (spad__ptx_take(&p->lexer, ','));
    return true;
}

/* ---- variables ------------------------------------------------------------------------------ */

/* "[4][5]", or "[]" whose first size the initial value tells. */
static bool ptx_take_sizes(spad__ptx_lexer *x, spad__ptx_extent *extent) {
    while (spad__ptx_take(x, '[')) {
        int64_t size = 0;
        if (extent->rank == SPAD__PTX_RANK - 1) {
            spad__ptx_diagnose(x, (spad__span){x->at - 1, 1}, "an array has at most %d sizes",
                               SPAD__PTX_RANK - 1);
            return false;
        }
        if (spad__ptx_peek(x) != ']') {
            if (!spad__ptx_take_integer(x, 0, SPAD__PTX_LARGEST, "a size", &size)) return false;
        } else if (extent->rank == 0) {
            extent->open = true;
        } else {
            spad__ptx_expected(x, "a size; only the first one may be left out");
            return false;
        }
        if (!spad__ptx_need(x, ']', "after a size")) return false;
        extent->sizes[extent->rank++] = size;
    }
    return true;
}

static bool ptx_fill_extent(spad__ptx_lexer *x, spad__span name, spad__ptx_extent *extent,
                            const ptx_declared *declared, int64_t *bytes) {
    if (declared->items > 1) extent->sizes[extent->rank++] = declared->items;
    *bytes = (spad__ptx_type_bits(declared->type) + 7) / 8;
    for (int i = extent->rank; i-- > 0;) {
        extent->strides[i] = *bytes;
        if (i == 0 && extent->open) break;
        if (spad__mul(*bytes, extent->sizes[i], bytes) && *bytes <= SPAD__PTX_LARGEST) continue;
        spad__ptx_diagnose(x, name, "'%.*s' is too large; at most %lld bytes",
                           spad__ptx_shown(name), spad__ptx_text(x, name),
                           (long long)SPAD__PTX_LARGEST);
        return false;
    }
    if (extent->open) *bytes = 0;
    return true;
}

/* Gives a variable of the module its number, or the number of an earlier external declaration.
 */
static bool ptx_keep_global(spad__ptx_parser *p, spad__span name, const spad__ptx_variable *v) {
    spad__ptx_module *m = p->module;
    const spad__ptx_symbol *same = spad__ptx_find_here(p, name);
    if (same != NULL && same->kind == SPAD__PTX_NAMES_VARIABLE) {
        spad__ptx_variable *before = &m->variables.items[same->number];
        if (before->external || v->external) {
            if (before->external) *before = *v;
            return true;
        }
    }
    const size_t number = m->variables.count;
    if (number >= SPAD__PTX_LOCAL) {
        spad__ptx_diagnose(&p->lexer, name, "too many variables; at most %d", SPAD__PTX_LOCAL);
        spad__ptx_give_up(&p->lexer);
        return false;
    }
    if (!spad__array_reserve(p->host, &m->variables, 1)) {
        spad__ptx_out_of_memory(&p->lexer);
        return false;
    }
    if (!spad__ptx_add_symbol(p, (spad__ptx_symbol){.name = name,
                                                    .kind = SPAD__PTX_NAMES_VARIABLE,
                                                    .number = (int32_t)number})) {
        return false;
    }
    m->variables.items[m->variables.count++] = *v;
    return true;
}

static bool ptx_keep_local(spad__ptx_parser *p, spad__span name, const spad__ptx_variable *v) {
    spad__ptx_module *m = p->module;
    const size_t number = m->locals.count - (size_t)m->functions.items[p->function].first_variable;
    if (number >= INT32_MAX - SPAD__PTX_LOCAL || !spad__array_reserve(p->host, &m->locals, 1)) {
        spad__ptx_out_of_memory(&p->lexer);
        return false;
    }
    if (!spad__ptx_is(&p->lexer, name, "_") &&
        !spad__ptx_add_symbol(p, (spad__ptx_symbol){.name = name,
                                                    .kind = SPAD__PTX_NAMES_VARIABLE,
                                                    .number = SPAD__PTX_LOCAL + (int32_t)number})) {
        return false;
    }
    m->locals.items[m->locals.count++] = *v;
    return true;
}

static bool ptx_take_initial(spad__ptx_parser *p, spad__span name, const ptx_declared *declared,
                             const spad__ptx_extent *extent, spad__ptx_variable *v) {
    if (declared->opaque) { /* the settings of a sampler */
        if (spad__ptx_peek(&p->lexer) == '{' && spad__ptx_skip_braces(&p->lexer)) return true;
        spad__ptx_expected(&p->lexer, "settings in braces");
        return false;
    }
    if (v->space != SPAD__PTX_GLOBAL && v->space != SPAD__PTX_CONST) {
        spad__ptx_diagnose(&p->lexer, name,
                           "'%.*s' cannot have an initial value; only .global and .const can",
                           spad__ptx_shown(name), spad__ptx_text(&p->lexer, name));
        return false;
    }
    return spad__ptx_take_initial(p, name, extent, v);
}

/* From the name to the end of the initial value. */
static bool ptx_take_variable(spad__ptx_parser *p, const ptx_declared *declared,
                              spad__ptx_space space, bool external) {
    spad__ptx_lexer *x = &p->lexer;
    spad__ptx_extent extent = {0};
    spad__span name;
    if (!spad__ptx_take_name(x, &name)) {
        spad__ptx_expected(x, "the name of a variable");
        return false;
    }
    spad__ptx_variable v = {.space = (uint8_t)space,
                            .type = (uint8_t)declared->type,
                            .external = external,
                            .pointer = declared->pointer,
                            .pointer_space = (uint8_t)declared->pointer_space,
                            .line = x->line};
    if (!ptx_take_sizes(x, &extent)) return false;
    if (!ptx_fill_extent(x, name, &extent, declared, &v.bytes)) return false;
    const int64_t natural = (spad__ptx_type_bits(declared->type) + 7) / 8 * declared->items;
    v.align = declared->align > 0 ? declared->align : natural;
    v.name = spad__arena_copy(&p->module->arena, spad__ptx_text(x, name), name.length);
    if (v.name == NULL) {
        spad__ptx_out_of_memory(x);
        return false;
    }
    if (spad__ptx_take(x, '=')) {
        if (!ptx_take_initial(p, name, declared, &extent, &v)) return false;
    } else if (extent.open && !external && space != SPAD__PTX_PARAM) {
        spad__ptx_diagnose(x, name, "'%.*s' needs a size, an initial value or .extern",
                           spad__ptx_shown(name), spad__ptx_text(x, name));
        return false;
    }
    return p->function < 0 || external ? ptx_keep_global(p, name, &v) : ptx_keep_local(p, name, &v);
}

bool spad__ptx_take_variables(spad__ptx_parser *p, spad__ptx_space space, bool external) {
    ptx_declared declared;
    if (!ptx_take_declared(&p->lexer, &declared)) return false;
    do {
        if (!ptx_take_variable(p, &declared, space, external)) return false;
    } while (spad__ptx_take(&p->lexer, ','));
    return true;
}

/* ---- parameters ----------------------------------------------------------------------------- */

static bool ptx_skip_parameter(spad__ptx_lexer *x) {
    spad__ptx_extent extent = {0};
    spad__span name;
    if (!spad__ptx_take_name(x, &name)) {
        spad__ptx_expected(x, "'_' or a name");
        return false;
    }
    return ptx_take_sizes(x, &extent);
}

/* A register whose value the caller sets: it is the function's next one. */
static bool ptx_take_register_parameter(spad__ptx_parser *p, const ptx_declared *declared) {
    spad__ptx_module *m = p->module;
    const size_t before = m->registers.count;
    spad__ptx_skip(&p->lexer);
    const size_t start = p->lexer.at;
    if (!ptx_take_register(p, declared)) return false;
    if (m->registers.count != before + 1) {
        spad__ptx_diagnose(&p->lexer, spad__ptx_since(&p->lexer, start),
                           "a parameter is a single register, not a range or a vector");
        return false;
    }
    const int64_t bytes = (spad__ptx_type_bits(declared->type) + 7) / 8;
    const spad__ptx_variable v = {.name = m->registers.items[before].name,
                                  .space = SPAD__PTX_REG,
                                  .type = (uint8_t)declared->type,
                                  .align = bytes,
                                  .bytes = bytes,
                                  .line = p->lexer.line};
    if (!spad__array_reserve(p->host, &m->locals, 1)) {
        spad__ptx_out_of_memory(&p->lexer);
        return false;
    }
    m->locals.items[m->locals.count++] = v;
    return true;
}

bool spad__ptx_take_parameter(spad__ptx_parser *p, bool unnamed) {
    spad__ptx_lexer *x = &p->lexer;
    ptx_declared declared;
    spad__span word = {0};
    const bool is_dotted = spad__ptx_take_dotted(x, &word);
    const spad__ptx_space space = is_dotted ? spad__ptx_space_of(x, word) : SPAD__PTX_NO_SPACE;
    if (space != SPAD__PTX_PARAM && space != SPAD__PTX_REG) {
        if (is_dotted) x->at = word.start - 1;
        spad__ptx_expected(x, "a parameter: .param or .reg");
        return false;
    }
    if (!ptx_take_declared(x, &declared)) return false;
    if (unnamed) return ptx_skip_parameter(x);
    if (space == SPAD__PTX_PARAM) return ptx_take_variable(p, &declared, space, false);
    return ptx_take_register_parameter(p, &declared);
}
