/* SPDX-License-Identifier: Apache-2.0
 *
 * Bodies of functions: declarations, labels, instructions.
 *
 * A file has a few hundred different instruction names, so each is read once and then found again.
 *
 * Reference: PTX ISA 9.0, 4.3 (statements), 9.3 (guards), 11.3 (control flow directives).
 */
#include "frontend/ptx/text/ptx_parse.h"

enum { KNOWN_NAMES = 1 << 16 }; /* beyond, names are read each time */

static spad__ptx_function *ptx_current(spad__ptx_parser *p) {
    return &p->module->functions.items[p->function];
}

static int32_t ptx_next_instruction(spad__ptx_parser *p) {
    return (int32_t)p->module->instructions.count - ptx_current(p)->first_instruction;
}

/* ---- lists of labels ------------------------------------------------------------------------- */

/* A function by its name; -1: none. */
static int32_t ptx_function_number(spad__ptx_parser *p, spad__span name) {
    const spad__ptx_symbol *symbol = spad__ptx_find_symbol(p, name);
    if (symbol != NULL && symbol->kind == SPAD__PTX_NAMES_FUNCTION) return symbol->number;
    spad__ptx_diagnose(&p->lexer, name, "'%.*s' is not a function that is declared before",
                       spad__ptx_shown(name), spad__ptx_text(&p->lexer, name));
    return -1;
}

static bool ptx_take_target(spad__ptx_parser *p, bool is_call) {
    spad__ptx_module *m = p->module;
    spad__span name;
    int32_t value = -1;
    if (!spad__ptx_take_name(&p->lexer, &name)) {
        spad__ptx_expected(&p->lexer, is_call ? "the name of a function" : "a label");
        return false;
    }
    if (is_call && (value = ptx_function_number(p, name)) < 0) return false;
    if (m->targets.count >= SPAD__PTX_OPERANDS || !spad__array_reserve(p->host, &m->targets, 1)) {
        spad__ptx_out_of_memory(&p->lexer);
        return false;
    }
    const spad__ptx_reference later = {name, -1, (int32_t)m->targets.count};
    if (!is_call && !spad__ptx_add_reference(p, later)) return false;
    m->targets.items[m->targets.count++] = value;
    return true;
}

/* ".branchtargets A, B;" or ".calltargets f, g;" after a label. */
static bool ptx_take_table(spad__ptx_parser *p, spad__span label, bool is_call) {
    spad__ptx_module *m = p->module;
    const int32_t number = (int32_t)m->tables.count - ptx_current(p)->first_table;
    if (!spad__array_reserve(p->host, &m->tables, 1)) {
        spad__ptx_out_of_memory(&p->lexer);
        return false;
    }
    spad__ptx_branch_table table = {.first = (int32_t)m->targets.count};
    do {
        if (!ptx_take_target(p, is_call)) return false;
    } while (spad__ptx_take(&p->lexer, ','));
    table.count = (int32_t)m->targets.count - table.first;
    m->tables.items[m->tables.count++] = table;
    return spad__ptx_name_place(p, label, SPAD__PTX_TABLE, number) &&
           spad__ptx_need(&p->lexer, ';', "after a list of targets");
}

static bool ptx_skip_parameters(spad__ptx_parser *p) {
    if (!spad__ptx_take(&p->lexer, '(')) return true;
    if (spad__ptx_take(&p->lexer, ')')) return true;
    do {
        if (!spad__ptx_take_parameter(p, true)) return false;
    } while (spad__ptx_take(&p->lexer, ','));
    return spad__ptx_need(&p->lexer, ')', "after parameters");
}

/* ".callprototype (.param .b32 _) _ (.param .b64 _);": the executor takes the callee's own. */
static bool ptx_take_prototype(spad__ptx_parser *p, spad__span label) {
    spad__ptx_lexer *x = &p->lexer;
    spad__span name;
    if (!ptx_skip_parameters(p)) return false;
    if (!spad__ptx_take_name(x, &name)) {
        spad__ptx_expected(x, "'_' in .callprototype");
        return false;
    }
    if (!ptx_skip_parameters(p)) return false;
    while (spad__ptx_peek(x) == '.') { /* .noreturn, .abi_preserve 2 */
        int64_t unused;
        if (!spad__ptx_take_dotted(x, &name)) break;
        if (!spad__ptx_starts_constant(x)) continue;
        if (!spad__ptx_take_integer(x, 0, INT32_MAX, "a number", &unused)) return false;
    }
    return spad__ptx_name_place(p, label, SPAD__PTX_TABLE, -1) &&
           spad__ptx_need(x, ';', "after .callprototype");
}

/* After "label:". */
static bool ptx_take_labelled(spad__ptx_parser *p, spad__span label) {
    spad__ptx_lexer *x = &p->lexer;
    spad__span word;
    if (spad__ptx_peek(x) == '.') {
        const size_t start = x->at;
        if (spad__ptx_take_dotted(x, &word)) {
            if (spad__ptx_is(x, word, "branchtargets")) return ptx_take_table(p, label, false);
            if (spad__ptx_is(x, word, "calltargets")) return ptx_take_table(p, label, true);
            if (spad__ptx_is(x, word, "callprototype")) return ptx_take_prototype(p, label);
        }
        x->at = start;
    }
    return spad__ptx_name_place(p, label, SPAD__PTX_LABEL, ptx_next_instruction(p));
}

/* ---- instructions --------------------------------------------------------------------------- */

/* Where a suffix begins that follows a name, perhaps after blanks; 0: none does. */
static size_t ptx_next_suffix(const spad__ptx_lexer *x) {
    size_t at = x->at;
    if (at + 2 < x->length && x->text[at] == ':' && x->text[at + 1] == ':') {
        return spad__ptx_is_name_byte(x->text[at + 2]) ? at + 2 : 0;
    }
    while (at < x->length && (x->text[at] == ' ' || x->text[at] == '\t')) at++;
    if (at + 1 >= x->length || x->text[at] != '.') return 0;
    return spad__ptx_is_name_byte(x->text[at + 1]) ? at + 1 : 0;
}

/* The rest of an instruction's name, after its first word. */
static spad__span ptx_take_suffixes(spad__ptx_lexer *x, spad__span name) {
    for (size_t next; (next = ptx_next_suffix(x)) != 0;) {
        x->at = next;
        while (x->at < x->length && spad__ptx_is_name_byte(x->text[x->at])) x->at++;
    }
    name.length = x->at - name.start;
    return name;
}

static bool ptx_read_known(spad__ptx_parser *p, spad__span name, spad__ptx_instruction *out) {
    const char *text = spad__ptx_text(&p->lexer, name);
    const uint64_t hash = spad__hash_text(text, name.length);
    spad__probe probe = spad__index_probe(&p->known_index, hash);
    for (size_t at; (at = spad__probe_next(&probe)) != SPAD__NO_ITEM;) {
        const spad__ptx_known_name *known = &p->known_names.items[at];
        if (known->name.length == name.length &&
            memcmp(spad__ptx_text(&p->lexer, known->name), text, name.length) == 0) {
            *out = known->read;
            return true;
        }
    }
    *out = (spad__ptx_instruction){.guard = -1, .location = -1};
    spad__ptx_read_name(out, text, name.length);
    if (p->known_names.count >= KNOWN_NAMES) return true;
    if (!spad__array_reserve(p->host, &p->known_names, 1) ||
        !spad__index_reserve(&p->known_index, p->host, 1)) {
        spad__ptx_out_of_memory(&p->lexer);
        return false;
    }
    spad__index_add(&p->known_index, hash, p->known_names.count);
    p->known_names.items[p->known_names.count++] = (spad__ptx_known_name){name, *out};
    return true;
}

/* After "@": "p" or "!p". */
static bool ptx_take_guard(spad__ptx_parser *p, int32_t *guard, bool *negated) {
    spad__ptx_lexer *x = &p->lexer;
    spad__span name;
    *negated = spad__ptx_take(x, '!');
    if (!spad__ptx_take_name(x, &name)) {
        spad__ptx_expected(x, "a predicate register after '@'");
        return false;
    }
    *guard = spad__ptx_need_register(p, name);
    return *guard >= 0;
}

static bool ptx_take_instruction(spad__ptx_parser *p, spad__span first, int32_t guard,
                                 bool negated) {
    spad__ptx_module *m = p->module;
    spad__ptx_instruction instruction;
    const int32_t line = p->lexer.line;
    const spad__span name = ptx_take_suffixes(&p->lexer, first);
    if (!ptx_read_known(p, name, &instruction)) return false;
    instruction.guard = guard;
    instruction.guard_negated = negated;
    instruction.line = line;
    instruction.location = p->location;
    instruction.name = name;
    if (!spad__ptx_take_operands(p, &instruction)) return false;
    if (!spad__ptx_need(&p->lexer, ';', "after an instruction")) return false;
    if (m->instructions.count >= SPAD__PTX_INSTRUCTIONS) {
        spad__ptx_diagnose(&p->lexer, name, "too many instructions; at most %d",
                           SPAD__PTX_INSTRUCTIONS);
        spad__ptx_give_up(&p->lexer);
        return false;
    }
    if (!spad__array_reserve(p->host, &m->instructions, 1)) {
        spad__ptx_out_of_memory(&p->lexer);
        return false;
    }
    m->instructions.items[m->instructions.count++] = instruction;
    return true;
}

static bool ptx_take_guarded(spad__ptx_parser *p) {
    int32_t guard = -1;
    bool negated = false;
    spad__span name;
    p->lexer.at++;
    if (!ptx_take_guard(p, &guard, &negated)) return false;
    if (spad__ptx_take_name(&p->lexer, &name)) {
        return ptx_take_instruction(p, name, guard, negated);
    }
    spad__ptx_expected(&p->lexer, "an instruction after its guard");
    return false;
}

/* ---- statements ----------------------------------------------------------------------------- */

static bool ptx_take_directive(spad__ptx_parser *p) {
    spad__ptx_lexer *x = &p->lexer;
    spad__span word;
    if (!spad__ptx_take_dotted(x, &word)) {
        spad__ptx_expected(x, "a directive or an instruction");
        return false;
    }
    if (spad__ptx_is(x, word, "loc")) return spad__ptx_take_location(p);
    if (spad__ptx_is(x, word, "pragma")) return spad__ptx_take_pragma(x);
    if (spad__ptx_is(x, word, "file")) return spad__ptx_take_file(p);
    if (spad__ptx_is(x, word, "reg")) {
        return spad__ptx_take_registers(p) && spad__ptx_need(x, ';', "after registers");
    }
    const bool external = spad__ptx_is(x, word, "extern");
    if (external && !spad__ptx_take_dotted(x, &word)) {
        spad__ptx_expected(x, "a space such as .shared");
        return false;
    }
    const spad__ptx_space space = spad__ptx_space_of(x, word);
    if (space != SPAD__PTX_NO_SPACE) {
        return spad__ptx_take_variables(p, space, external) &&
               spad__ptx_need(x, ';', "after a variable");
    }
    spad__ptx_diagnose(x, word, "'.%.*s' is not a directive that a function can have",
                       spad__ptx_shown(word), spad__ptx_text(x, word));
    return false;
}

/* Takes the ':' of "label:"; "wait::ld" is not a label. */
static bool ptx_take_colon(spad__ptx_lexer *x) {
    if (spad__ptx_peek(x) != ':') return false;
    if (x->at + 1 < x->length && x->text[x->at + 1] == ':') return false;
    x->at++;
    return true;
}

static bool ptx_take_statement(spad__ptx_parser *p) {
    spad__ptx_lexer *x = &p->lexer;
    spad__span name;
    const char c = spad__ptx_peek(x);
    if (c == '.') return ptx_take_directive(p);
    if (c == '@') return ptx_take_guarded(p);
    if (c == ';') {
        x->at++;
        return true;
    }
    if (!spad__ptx_take_name(x, &name)) {
        spad__ptx_expected(x, "an instruction, a label or a directive");
        return false;
    }
    if (ptx_take_colon(x)) return ptx_take_labelled(p, name);
    x->at = name.start + name.length;
    return ptx_take_instruction(p, name, -1, false);
}

void spad__ptx_take_body(spad__ptx_parser *p) {
    spad__ptx_lexer *x = &p->lexer;
    const size_t outer = p->scopes.count;
    const spad__span brace = {x->at - 1, 1};
    while (!spad__ptx_at_end(x)) {
        if (spad__ptx_take(x, '}')) {
            if (p->scopes.count == outer) return;
            spad__ptx_leave(p);
        } else if (spad__ptx_take(x, '{')) {
            if (!spad__ptx_enter(p, (spad__span){x->at - 1, 1})) return;
        } else {
            const spad__ptx_text_place start = spad__ptx_here(x);
            if (ptx_take_statement(p)) continue;
            spad__ptx_go_back(x, start); /* so that its braces are counted */
            spad__ptx_skip_statement(x);
        }
    }
    const bool inner = p->scopes.count > outer;
    const spad__span open = inner ? p->scopes.items[p->scopes.count - 1].brace : brace;
    spad__ptx_diagnose(x, open, "these braces have no end; add a '}'");
}
