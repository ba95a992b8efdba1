/* SPDX-License-Identifier: Apache-2.0
 *
 * Operands of instructions.
 *
 * The items of a vector go to the module's operands at once, since vectors do not nest; the
 * operands of the instruction itself follow when all of them are known, so that both are
 * consecutive.
 *
 * Reference: PTX ISA 9.0, chapter 6; 9.7.12.5 (call).
 */
#include "frontend/ptx/text/ptx_parse.h"

/* An operand while it is read. `label`: a name that has not been declared so far. */
typedef struct ptx_reading {
    spad__ptx_operand operand;
    spad__span name;  /* no bytes: it was a number */
    spad__span label; /* no bytes: none */
    int items;        /* more than 1: a vector of registers, from operand.reg on */
    bool part;        /* %r1.b0, of video instructions */
} ptx_reading;

static ptx_reading ptx_begin_operand(void) {
    return (ptx_reading){
        .operand = {.kind = SPAD__PTX_SINK, .reg = -1, .also = -1, .variable = -1, .special = -1},
        .items = 1};
}

/* ---- names ---------------------------------------------------------------------------------- */

/* "x" of %tid.x, or "b0" of a part of a register, directly after a name. */
static bool ptx_take_component(spad__ptx_lexer *x, spad__span *out) {
    if (x->at >= x->length || x->text[x->at] != '.') return false;
    return spad__ptx_take_dotted(x, out);
}

/* Performance counters and registers of the driver have no enumerator of their own. */
static bool ptx_is_other_special(const spad__ptx_lexer *x, spad__span name) {
    static const char *const starts[] = {"%pm", "%envreg", "%reserved_smem_offset_"};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        const size_t length = strlen(starts[i]);
        if (name.length > length && memcmp(spad__ptx_text(x, name), starts[i], length) == 0) {
            return true;
        }
    }
    return false;
}

static bool ptx_read_special(spad__ptx_parser *p, spad__span name, ptx_reading *out) {
    spad__ptx_lexer *x = &p->lexer;
    const char first = x->text[name.start];
    if (first != '%' && first != 'W') return false;
    const spad__ptx_special special = spad__ptx_find_special(spad__ptx_text(x, name), name.length);
    if (special == SPAD__PTX_SPECIAL_COUNT && !ptx_is_other_special(x, name)) return false;
    out->operand.kind = SPAD__PTX_SPECIAL;
    out->operand.special = (int32_t)special;
    spad__span component;
    if (!ptx_take_component(x, &component)) return true;
    const char letter = x->text[component.start];
    if (component.length == 1 && letter >= 'w' && letter <= 'z') {
        out->operand.component = letter == 'w' ? 3 : (uint8_t)(letter - 'x');
        return true;
    }
    spad__ptx_diagnose(x, component, "a special register has the components .x, .y and .z");
    return true;
}

/* "name[2]" is the element's address. */
static bool ptx_take_element(spad__ptx_parser *p, ptx_reading *out) {
    if (!spad__ptx_take(&p->lexer, '[')) return true;
    const spad__ptx_function *f = &p->module->functions.items[p->function];
    const spad__ptx_variable *v = spad__ptx_variable_of(p->module, f, out->operand.variable);
    int64_t element;
    if (!spad__ptx_take_integer(&p->lexer, 0, INT32_MAX, "the number of an element", &element)) {
        return false;
    }
    const int64_t bytes = spad__ptx_type_bits((spad__ptx_type)v->type) / 8;
    out->operand.value = spad__add_clamped(out->operand.value, element * bytes);
    return spad__ptx_need(&p->lexer, ']', "after the number of an element");
}

static bool ptx_read_symbol(spad__ptx_parser *p, const spad__ptx_symbol *symbol, ptx_reading *out) {
    if (symbol->kind == SPAD__PTX_NAMES_FUNCTION) {
        out->operand.kind = SPAD__PTX_FUNCTION;
        out->operand.value = symbol->number;
        return true;
    }
    out->operand.kind = SPAD__PTX_VARIABLE;
    out->operand.variable = symbol->number;
    return spad__ptx_take_addend(&p->lexer, &out->operand.value) && ptx_take_element(p, out);
}

static bool ptx_refuse_name(spad__ptx_parser *p, spad__span name, const char *what) {
    spad__ptx_diagnose(&p->lexer, name, "'%.*s' is not %s that is declared here",
                       spad__ptx_shown(name), spad__ptx_text(&p->lexer, name), what);
    return false;
}

/* The second destination of "p|q". */
static bool ptx_take_also(spad__ptx_parser *p, ptx_reading *out) {
    spad__ptx_lexer *x = &p->lexer;
    spad__span name;
    if (!spad__ptx_take(x, '|')) return true;
    if (!spad__ptx_take_name(x, &name)) {
        spad__ptx_expected(x, "a register after '|'");
        return false;
    }
    if (spad__ptx_is(x, name, "_")) return true;
    out->operand.also = spad__ptx_need_register(p, name);
    return out->operand.also >= 0;
}

/* ".x" of a vector of registers; anything else is a part of a register. */
static bool ptx_read_register(spad__ptx_parser *p, ptx_reading *out) {
    static const char letters[] = "xyzwrgba";
    spad__span component;
    out->operand.kind = SPAD__PTX_REGISTER;
    if (!ptx_take_component(&p->lexer, &component)) return ptx_take_also(p, out);
    const char *letter =
        component.length == 1 ? strchr(letters, p->lexer.text[component.start]) : NULL;
    if (out->items == 1) {
        out->part = true;
    } else if (letter != NULL && (letter - letters) % 4 < out->items) {
        out->operand.reg += (int32_t)((letter - letters) % 4);
        out->items = 1;
    } else {
        spad__ptx_diagnose(&p->lexer, component, "this vector has %d components", out->items);
        return false;
    }
    return ptx_take_also(p, out);
}

/* Resolves a name that the lexer has just passed. */
static bool ptx_read_name(spad__ptx_parser *p, spad__span name, ptx_reading *out) {
    if (spad__ptx_is(&p->lexer, name, "_")) return ptx_take_also(p, out);
    out->operand.reg = spad__ptx_find_register(p, name, &out->items);
    if (out->operand.reg >= 0) return ptx_read_register(p, out);
    if (p->lexer.out_of_memory) return false;
    const spad__ptx_symbol *symbol = spad__ptx_find_symbol(p, name);
    if (symbol != NULL) return ptx_read_symbol(p, symbol, out);
    if (ptx_read_special(p, name, out)) return true;
    if (spad__ptx_peek(&p->lexer) == '|') return ptx_refuse_name(p, name, "a register");
    out->operand.kind = SPAD__PTX_LABEL;
    out->label = name;
    return true;
}

/* ---- single operands ------------------------------------------------------------------------ */

static bool ptx_take_immediate(spad__ptx_parser *p, ptx_reading *out) {
    spad__ptx_constant number;
    if (!spad__ptx_take_constant(&p->lexer, &number)) return false;
    out->operand.kind = SPAD__PTX_IMMEDIATE;
    out->operand.wide = number.kind == SPAD__PTX_DOUBLE;
    out->operand.value = (int64_t)number.bits;
    return true;
}

/* "!p", where '!' could also begin a constant. */
static bool ptx_take_not(spad__ptx_parser *p) {
    spad__ptx_lexer *x = &p->lexer;
    if (spad__ptx_peek(x) != '!') return false;
    size_t next = x->at + 1;
    while (next < x->length && (x->text[next] == ' ' || x->text[next] == '\t')) next++;
    if (next >= x->length || !spad__ptx_is_name_byte(x->text[next])) return false;
    if (spad__ptx_is_digit(x->text[next])) return false;
    x->at = next;
    return true;
}

/* A name or a number: all that vectors and lists of arguments have. */
static bool ptx_take_item(spad__ptx_parser *p, ptx_reading *out) {
    spad__ptx_lexer *x = &p->lexer;
    spad__span name;
    out->operand.negated = ptx_take_not(p);
    if (spad__ptx_take_name(x, &name)) {
        out->name = name;
        return ptx_read_name(p, name, out);
    }
    if (spad__ptx_starts_constant(x)) return ptx_take_immediate(p, out);
    spad__ptx_expected(x, "a register, a name or a number");
    return false;
}

/* Puts an item of a vector, or a coordinate, at the end of the module's operands. */
static bool ptx_keep_item(spad__ptx_parser *p, const ptx_reading *item) {
    spad__ptx_module *m = p->module;
    if (item->items > 1) {
        return ptx_refuse_name(p, item->name, "a single register");
    }
    if (m->operands.count >= SPAD__PTX_OPERANDS || !spad__array_reserve(p->host, &m->operands, 1)) {
        spad__ptx_out_of_memory(&p->lexer);
        return false;
    }
    if (item->label.length > 0 &&
        !spad__ptx_add_reference(
            p, (spad__ptx_reference){item->label, (int32_t)m->operands.count, -1})) {
        return false;
    }
    m->operands.items[m->operands.count++] = item->operand;
    return true;
}

/* Items up to a closing bracket, which is taken; they follow *first. */
static bool ptx_take_items(spad__ptx_parser *p, char close, ptx_reading *out) {
    spad__ptx_lexer *x = &p->lexer;
    if (close == ')' && spad__ptx_take(x, close)) return true;
    do {
        ptx_reading item = ptx_begin_operand();
        if (!ptx_take_item(p, &item) || !ptx_keep_item(p, &item)) return false;
        out->part = out->part || item.part;
        out->operand.count++;
    } while (spad__ptx_take(x, ','));
    if (spad__ptx_take(x, close)) return true;
    spad__ptx_expected(x, close == '}' ? "',' or '}' in a vector" : "',' or ')' in a list");
    return false;
}

/* After the '{' of a vector, or the '(' of a list. */
static bool ptx_take_vector(spad__ptx_parser *p, char close, ptx_reading *out) {
    out->operand.kind = SPAD__PTX_VECTOR;
    out->operand.first = (int32_t)p->module->operands.count;
    return ptx_take_items(p, close, out);
}

/* The coordinates of [map, {x, y}]; a texture has a sampler in front of them. */
static bool ptx_take_coordinates(spad__ptx_parser *p, ptx_reading *out) {
    out->operand.first = (int32_t)p->module->operands.count;
    while (spad__ptx_take(&p->lexer, ',')) {
        if (spad__ptx_take(&p->lexer, '{')) {
            if (!ptx_take_items(p, '}', out)) return false;
            continue;
        }
        ptx_reading item = ptx_begin_operand();
        if (!ptx_take_item(p, &item) || !ptx_keep_item(p, &item)) return false;
        out->operand.count++;
    }
    return true;
}

/* After '[': a register, a variable or a number, an offset, and coordinates. */
static bool ptx_take_address(spad__ptx_parser *p, ptx_reading *out) {
    spad__ptx_lexer *x = &p->lexer;
    ptx_reading base = ptx_begin_operand();
    if (!ptx_take_item(p, &base)) return false;
    if (base.items > 1) return ptx_keep_item(p, &base); /* refuses it */
    if (base.label.length > 0) return ptx_refuse_name(p, base.label, "a register or a variable");
    const uint8_t kind = base.operand.kind;
    if (kind != SPAD__PTX_REGISTER && kind != SPAD__PTX_VARIABLE && kind != SPAD__PTX_IMMEDIATE) {
        return ptx_refuse_name(p, base.name, "a register or a variable");
    }
    out->operand = base.operand;
    out->operand.kind = SPAD__PTX_ADDRESS;
    if (kind == SPAD__PTX_REGISTER && !spad__ptx_take_addend(x, &out->operand.value)) return false;
    if (!ptx_take_coordinates(p, out)) return false;
    return spad__ptx_need(x, ']', "after an address");
}

/* A vector of registers is what its components in braces would be. */
static bool ptx_expand_vector(spad__ptx_parser *p, ptx_reading *out) {
    ptx_reading item = ptx_begin_operand();
    item.operand.kind = SPAD__PTX_REGISTER;
    item.operand.reg = out->operand.reg;
    out->operand = ptx_begin_operand().operand;
    out->operand.kind = SPAD__PTX_VECTOR;
    out->operand.first = (int32_t)p->module->operands.count;
    out->operand.count = out->items;
    for (int i = 0; i < out->items; i++, item.operand.reg++) {
        if (!ptx_keep_item(p, &item)) return false;
    }
    return true;
}

static bool ptx_take_operand(spad__ptx_parser *p, ptx_reading *out) {
    if (spad__ptx_take(&p->lexer, '[')) return ptx_take_address(p, out);
    if (spad__ptx_take(&p->lexer, '{')) return ptx_take_vector(p, '}', out);
    return ptx_take_item(p, out) && (out->items == 1 || ptx_expand_vector(p, out));
}

/* ---- the operands of an instruction --------------------------------------------------------- */

static bool ptx_hold_operand(spad__ptx_parser *p, const ptx_reading *reading) {
    if (!spad__array_reserve(p->host, &p->operands, 1) ||
        !spad__array_reserve(p->host, &p->waiting, 1)) {
        spad__ptx_out_of_memory(&p->lexer);
        return false;
    }
    if (reading->label.length > 0) {
        p->waiting.items[p->waiting.count++] =
            (spad__ptx_reference){reading->label, (int32_t)p->operands.count, -1};
    }
    p->operands.items[p->operands.count++] = reading->operand;
    return true;
}

/* Moves the operands of the instruction after the items of its vectors. */
static bool ptx_keep_operands(spad__ptx_parser *p, spad__ptx_instruction *instruction) {
    spad__ptx_module *m = p->module;
    const size_t count = p->operands.count;
    if (m->operands.count > SPAD__PTX_OPERANDS - count ||
        !spad__array_reserve(p->host, &m->operands, count)) {
        spad__ptx_out_of_memory(&p->lexer);
        return false;
    }
    instruction->first = (int32_t)m->operands.count;
    instruction->count = (int32_t)count;
    for (size_t i = 0; i < p->waiting.count; i++) {
        spad__ptx_reference r = p->waiting.items[i];
        r.operand += instruction->first;
        if (!spad__ptx_add_reference(p, r)) return false;
    }
    if (count > 0) {
        memcpy(m->operands.items + m->operands.count, p->operands.items,
               count * sizeof *p->operands.items);
    }
    m->operands.count += count;
    return true;
}

static bool ptx_take_list(spad__ptx_parser *p, bool is_there) {
    ptx_reading list = ptx_begin_operand();
    list.operand.kind = SPAD__PTX_VECTOR;
    list.operand.first = (int32_t)p->module->operands.count;
    if (is_there) {
        if (!spad__ptx_need(&p->lexer, '(', "in front of arguments")) return false;
        if (!ptx_take_vector(p, ')', &list)) return false;
    }
    return ptx_hold_operand(p, &list);
}

/* "(results), target, (arguments), table"; only the target is required. */
static bool ptx_take_call(spad__ptx_parser *p) {
    spad__ptx_lexer *x = &p->lexer;
    const bool has_results = spad__ptx_peek(x) == '(';
    if (!ptx_take_list(p, has_results)) return false;
    if (has_results && !spad__ptx_need(x, ',', "after the results of a call")) return false;
    ptx_reading target = ptx_begin_operand();
    if (!ptx_take_operand(p, &target) || !ptx_hold_operand(p, &target)) return false;
    if (!ptx_take_list(p, spad__ptx_take(x, ','))) return false;
    if (!spad__ptx_take(x, ',')) return true;
    ptx_reading table = ptx_begin_operand();
    return ptx_take_operand(p, &table) && ptx_hold_operand(p, &table);
}

bool spad__ptx_take_operands(spad__ptx_parser *p, spad__ptx_instruction *instruction) {
    spad__ptx_lexer *x = &p->lexer;
    p->operands.count = 0;
    p->waiting.count = 0;
    if (instruction->op == SPAD__PTX_OP_CALL) {
        return ptx_take_call(p) && ptx_keep_operands(p, instruction);
    }
    if (spad__ptx_peek(x) != ';') {
        do {
            ptx_reading reading = ptx_begin_operand();
            if (!ptx_take_operand(p, &reading) || !ptx_hold_operand(p, &reading)) return false;
            instruction->unknown_word = instruction->unknown_word || reading.part;
        } while (spad__ptx_take(x, ','));
    }
    return ptx_keep_operands(p, instruction);
}
