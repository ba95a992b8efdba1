/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions: results, name, parameters, directives.
 *
 * Reference: PTX ISA 9.0, 11.1 (.entry, .func), 11.2 and 11.4 (directives of both).
 */
#include "frontend/ptx/text/ptx_parse.h"

/* ---- directives ----------------------------------------------------------------------------- */

typedef enum ptx_setting_kind {
    PTX_NO_VALUE, /* the word alone */
    PTX_ONE,      /* a number that is not kept */
    PTX_MOST_THREADS,
    PTX_REQUIRED_THREADS,
    PTX_CLUSTER,
    PTX_EXPLICIT_CLUSTER,
    PTX_MOST_CLUSTER,
    PTX_MOST_REGISTERS
} ptx_setting_kind;

static const struct {
    const char *name;
    ptx_setting_kind kind;
} ptx_settings[] = {
    {"maxntid", PTX_MOST_THREADS},
    {"reqntid", PTX_REQUIRED_THREADS},
    {"reqnctapercluster", PTX_CLUSTER},
    {"explicitcluster", PTX_EXPLICIT_CLUSTER},
    {"maxclusterrank", PTX_MOST_CLUSTER},
    {"maxnreg", PTX_MOST_REGISTERS},
    {"minnctapersm", PTX_ONE},
    {"maxnctapersm", PTX_ONE},
    {"noreturn", PTX_NO_VALUE},
    {"blocksareclusters", PTX_NO_VALUE},
    {"abi_preserve", PTX_ONE},
    {"abi_preserve_control", PTX_ONE},
};

/* "128, 2": what is not given is 1. */
static bool ptx_take_extents(spad__ptx_lexer *x, int32_t out[3]) {
    int64_t sizes[3] = {1, 1, 1};
    for (int i = 0; i < 3; i++) {
        if (!spad__ptx_take_integer(x, 1, INT32_MAX, "a number of threads or CTAs", &sizes[i])) {
            return false;
        }
        if (!spad__ptx_take(x, ',')) break;
    }
    for (int i = 0; i < 3; i++) out[i] = (int32_t)sizes[i];
    return true;
}

static bool ptx_take_count(spad__ptx_lexer *x, int32_t *out) {
    int64_t value;
    if (!spad__ptx_take_integer(x, 0, INT32_MAX, "a number", &value)) return false;
    *out = (int32_t)value;
    return true;
}

static bool ptx_take_setting(spad__ptx_lexer *x, ptx_setting_kind kind, spad__ptx_function *f) {
    int32_t unused;
    switch (kind) {
    case PTX_NO_VALUE: return true;
    case PTX_ONE: return ptx_take_count(x, &unused);
    case PTX_MOST_THREADS: return ptx_take_extents(x, f->most_threads);
    case PTX_REQUIRED_THREADS: return ptx_take_extents(x, f->required_threads);
    case PTX_CLUSTER: return ptx_take_extents(x, f->cluster);
    case PTX_EXPLICIT_CLUSTER: f->explicit_cluster = true; return true;
    case PTX_MOST_CLUSTER: return ptx_take_count(x, &f->most_cluster);
    default: return ptx_take_count(x, &f->most_registers);
    }
}

/* Directives in front of the name or of the body. */
static bool ptx_take_settings(spad__ptx_lexer *x, spad__ptx_function *f) {
    spad__span word;
    while (spad__ptx_take_dotted(x, &word)) {
        bool known = true;
        if (spad__ptx_is(x, word, "pragma")) {
            if (!spad__ptx_take_pragma(x)) return false;
            continue;
        }
        if (spad__ptx_is(x, word, "attribute")) {
            if (!spad__ptx_skip_attribute(x)) return false;
            continue;
        }
        known = false;
        for (size_t i = 0; !known && i < sizeof ptx_settings / sizeof ptx_settings[0]; i++) {
            if (!spad__ptx_is(x, word, ptx_settings[i].name)) continue;
            known = true;
            if (!ptx_take_setting(x, ptx_settings[i].kind, f)) return false;
        }
        if (!known) {
            spad__ptx_diagnose(x, word, "'.%.*s' is not a directive of functions",
                               spad__ptx_shown(word), spad__ptx_text(x, word));
            return false;
        }
    }
    return true;
}

/* ---- parameters ----------------------------------------------------------------------------- */

/* "(a, b)"; *count: how many. */
static bool ptx_take_parameters(spad__ptx_parser *p, int32_t *count) {
    spad__ptx_lexer *x = &p->lexer;
    if (!spad__ptx_take(x, '(')) return true;
    if (spad__ptx_take(x, ')')) return true;
    do {
        if (!spad__ptx_take_parameter(p, false)) return false;
        ++*count;
    } while (spad__ptx_take(x, ','));
    if (spad__ptx_take(x, ')')) return true;
    spad__ptx_expected(x, "',' or ')' after a parameter");
    return false;
}

/* ---- functions ------------------------------------------------------------------------------ */

/* The function of a name, which has no body yet; a new one, or one that was declared. -1: failed.
 */
static int32_t ptx_declare(spad__ptx_parser *p, spad__span name) {
    spad__ptx_module *m = p->module;
    const spad__ptx_symbol *same = spad__ptx_find_here(p, name);
    if (same != NULL && same->kind == SPAD__PTX_NAMES_FUNCTION) return same->number;
    const char *text = spad__arena_copy(&m->arena, spad__ptx_text(&p->lexer, name), name.length);
    if (text == NULL || m->functions.count >= INT32_MAX ||
        !spad__array_reserve(p->host, &m->functions, 1)) {
        spad__ptx_out_of_memory(&p->lexer);
        return -1;
    }
    const int32_t number = (int32_t)m->functions.count;
    if (!spad__ptx_add_symbol(
            p,
            (spad__ptx_symbol){.name = name, .kind = SPAD__PTX_NAMES_FUNCTION, .number = number})) {
        return -1;
    }
    m->functions.items[m->functions.count++] = (spad__ptx_function){.name = text, .external = true};
    return number;
}

static void ptx_begin_function(spad__ptx_parser *p, bool entry, spad__ptx_function *f) {
    const spad__ptx_module *m = p->module;
    *f = (spad__ptx_function){.name = f->name,
                              .entry = entry,
                              .external = true,
                              .first_instruction = (int32_t)m->instructions.count,
                              .first_register = (int32_t)m->registers.count,
                              .first_variable = (int32_t)m->locals.count,
                              .first_table = (int32_t)m->tables.count,
                              .line = p->lexer.line};
}

static void ptx_end_function(const spad__ptx_module *m, spad__ptx_function *f) {
    f->instruction_count = (int32_t)m->instructions.count - f->first_instruction;
    f->register_count = (int32_t)m->registers.count - f->first_register;
    f->variable_count = (int32_t)m->locals.count - f->first_variable;
    f->table_count = (int32_t)m->tables.count - f->first_table;
}

/* Skips the results. They are in the scope of the function, whose name comes after them. */
static bool ptx_skip_results(spad__ptx_lexer *x) {
    if (!spad__ptx_take(x, '(')) return true;
    while (!spad__ptx_at_end(x) && x->text[x->at] != ';' && x->text[x->at] != '{') {
        if (x->text[x->at++] == ')') return true;
    }
    spad__ptx_expected(x, "')' after the results of a function");
    return false;
}

/* From the results to the body, in the braces of the function. */
static bool ptx_take_head(spad__ptx_parser *p, spad__ptx_text_place results,
                          spad__ptx_function *f) {
    spad__ptx_lexer *x = &p->lexer;
    const spad__ptx_text_place after_name = spad__ptx_here(x);
    spad__ptx_go_back(x, results);
    if (!ptx_take_parameters(p, &f->result_count)) return false;
    spad__ptx_go_back(x, after_name);
    f->parameter_count = f->result_count;
    return ptx_take_parameters(p, &f->parameter_count) && ptx_take_settings(x, f);
}

/* The name, and what it is about. */
static bool ptx_take_function_start(spad__ptx_parser *p, spad__ptx_function *before,
                                    spad__span *name) {
    spad__ptx_lexer *x = &p->lexer;
    if (!spad__ptx_take_name(x, name)) {
        spad__ptx_expected(x, "the name of a function");
        return false;
    }
    p->function = ptx_declare(p, *name);
    if (p->function < 0) return false;
    *before = p->module->functions.items[p->function];
    return true;
}

/* After the head: a body, or the ';' of a declaration. */
static bool ptx_take_rest(spad__ptx_parser *p, spad__span name, spad__ptx_function *f,
                          const spad__ptx_function *before) {
    spad__ptx_lexer *x = &p->lexer;
    if (spad__ptx_peek(x) != '{') return spad__ptx_need(x, ';', "or a body in braces");
    if (!before->external) {
        spad__ptx_diagnose(x, name, "'%.*s' has a body already, on line %d", spad__ptx_shown(name),
                           spad__ptx_text(x, name), before->line);
        return false;
    }
    x->at++;
    f->external = false;
    p->module->functions.items[p->function] = *f;
    spad__ptx_take_body(p);
    return true;
}

bool spad__ptx_take_function(spad__ptx_parser *p, bool entry) {
    spad__ptx_lexer *x = &p->lexer;
    spad__ptx_function f = {0};
    spad__ptx_function before;
    spad__span name;
    if (!ptx_take_settings(x, &f)) return false;
    spad__ptx_skip(x);
    const spad__ptx_text_place results = spad__ptx_here(x);
    if (!ptx_skip_results(x) || !ptx_take_function_start(p, &before, &name)) {
        p->function = -1;
        return false;
    }
    f.name = before.name;
    ptx_begin_function(p, entry, &f);
    p->module->functions.items[p->function] = f;
    p->location = -1;
    bool good = spad__ptx_enter(p, name);
    if (good) good = ptx_take_head(p, results, &f) && ptx_take_rest(p, name, &f, &before);
    ptx_end_function(p->module, &f);
    while (p->scopes.count > 0) spad__ptx_leave(p);
    p->module->functions.items[p->function] = before.external ? f : before;
    p->function = -1;
    return good;
}
