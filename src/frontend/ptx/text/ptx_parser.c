/* SPDX-License-Identifier: Apache-2.0
 *
 * The module: its version and target, variables, functions, aliases.
 *
 * A statement with an error is skipped, so that one run finds several. Time is O(length), memory
 * too.
 *
 * Reference: PTX ISA 9.0, chapters 4, 5 and 11.
 */
#include "frontend/ptx/text/ptx_parse.h"

#define PTX_LENGTH_MOST ((size_t)256 << 20)

/* ---- directives of the module ---------------------------------------------------------------- */

/* "9.0" is two integers, not a decimal fraction: 8.10 comes after 8.9. */
static bool ptx_take_version(spad__ptx_parser *p) {
    spad__ptx_lexer *x = &p->lexer;
    spad__ptx_skip(x);
    for (int i = 0; i < 2; i++) {
        const size_t start = x->at;
        int32_t value = 0;
        for (; x->at < x->length && x->at - start < 6; x->at++) {
            if (!spad__ptx_is_digit(x->text[x->at])) break;
            value = value * 10 + (x->text[x->at] - '0');
        }
        const bool dotted = i == 1 || (x->at < x->length && x->text[x->at] == '.');
        if (x->at == start || !dotted) {
            spad__ptx_expected(x, "a version such as 9.0");
            return false;
        }
        if (i == 0) x->at++;
        p->module->version[i] = value;
    }
    return true;
}

static int32_t ptx_architecture(const char *target) {
    int32_t value = 0;
    const char *digits = strchr(target, '_');
    for (digits = digits != NULL ? digits + 1 : ""; spad__ptx_is_digit(*digits); digits++) {
        if (value < 10000) value = value * 10 + (*digits - '0');
    }
    return value;
}

/* "sm_90a, debug" */
static bool ptx_take_target_name(spad__ptx_parser *p) {
    spad__ptx_lexer *x = &p->lexer;
    do {
        spad__span name;
        if (!spad__ptx_take_name(x, &name)) {
            spad__ptx_expected(x, "a target such as sm_90a");
            return false;
        }
        if (p->module->target != NULL) continue;
        p->module->target =
            spad__arena_copy(&p->module->arena, spad__ptx_text(x, name), name.length);
        if (p->module->target == NULL) {
            spad__ptx_out_of_memory(x);
            return false;
        }
        p->module->architecture = ptx_architecture(p->module->target);
    } while (spad__ptx_take(x, ','));
    return true;
}

static bool ptx_take_address_size(spad__ptx_parser *p) {
    int64_t bits;
    if (!spad__ptx_take_integer(&p->lexer, 32, 64, "32 or 64 bits", &bits)) return false;
    p->module->address_bytes = bits == 32 ? 4 : 8;
    return true;
}

/* ".alias name, aliasee;" */
static bool ptx_take_alias(spad__ptx_parser *p) {
    spad__ptx_lexer *x = &p->lexer;
    int32_t functions[2];
    for (int i = 0; i < 2; i++) {
        spad__span name;
        if (!spad__ptx_take_name(x, &name)) {
            spad__ptx_expected(x, "the name of a function");
            return false;
        }
        const spad__ptx_symbol *symbol = spad__ptx_find_symbol(p, name);
        if (symbol == NULL || symbol->kind != SPAD__PTX_NAMES_FUNCTION) {
            spad__ptx_diagnose(x, name, "'%.*s' is not a function that is declared before",
                               spad__ptx_shown(name), spad__ptx_text(x, name));
            return false;
        }
        functions[i] = symbol->number;
        if (i == 0 && !spad__ptx_need(x, ',', "after the name of an alias")) return false;
    }
    if (!spad__array_reserve(p->host, &p->aliases, 1)) {
        spad__ptx_out_of_memory(x);
        return false;
    }
    p->aliases.items[p->aliases.count++] = (spad__ptx_alias){functions[0], functions[1]};
    return spad__ptx_need(x, ';', "after .alias");
}

/* An alias is the other function under another name: its body may follow it. */
static void ptx_end_aliases(spad__ptx_parser *p) {
    spad__ptx_function *functions = p->module->functions.items;
    for (size_t i = 0; i < p->aliases.count; i++) {
        const spad__ptx_alias alias = p->aliases.items[i];
        const char *name = functions[alias.name].name;
        functions[alias.name] = functions[alias.function];
        functions[alias.name].name = name;
    }
}

/* ---- statements of the module ---------------------------------------------------------------- */

typedef bool ptx_taker(spad__ptx_parser *p);

static bool ptx_take_module_pragma(spad__ptx_parser *p) {
    return spad__ptx_take_pragma(&p->lexer);
}
static bool ptx_take_entry(spad__ptx_parser *p) {
    return spad__ptx_take_function(p, true);
}
static bool ptx_take_func(spad__ptx_parser *p) {
    return spad__ptx_take_function(p, false);
}

static const struct {
    const char *name;
    ptx_taker *take;
} ptx_takers[] = {
    {"file", spad__ptx_take_file},    {"entry", ptx_take_entry},
    {"func", ptx_take_func},          {"version", ptx_take_version},
    {"target", ptx_take_target_name}, {"address_size", ptx_take_address_size},
    {"alias", ptx_take_alias},        {"pragma", ptx_take_module_pragma},
    {"loc", spad__ptx_take_location}, {"section", spad__ptx_take_section},
};

/* The words in front of a function or a variable. */
static bool ptx_is_linking(const spad__ptx_lexer *x, spad__span word) {
    return spad__ptx_is(x, word, "visible") || spad__ptx_is(x, word, "weak") ||
           spad__ptx_is(x, word, "extern") || spad__ptx_is(x, word, "common");
}

static bool ptx_take_module_statement(spad__ptx_parser *p, spad__span word) {
    spad__ptx_lexer *x = &p->lexer;
    bool external = false;
    while (ptx_is_linking(x, word)) {
        external = external || spad__ptx_is(x, word, "extern");
        if (!spad__ptx_take_dotted(x, &word)) {
            spad__ptx_expected(x, "a function or a variable: .entry, .func, .global and so on");
            return false;
        }
    }
    for (size_t i = 0; i < sizeof ptx_takers / sizeof ptx_takers[0]; i++) {
        if (spad__ptx_is(x, word, ptx_takers[i].name)) return ptx_takers[i].take(p);
    }
    const spad__ptx_space space = spad__ptx_space_of(x, word);
    if (space != SPAD__PTX_NO_SPACE && space != SPAD__PTX_REG) {
        return spad__ptx_take_variables(p, space, external) &&
               spad__ptx_need(x, ';', "after a variable");
    }
    spad__ptx_diagnose(x, word, "'.%.*s' is not a directive that a module can have",
                       spad__ptx_shown(word), spad__ptx_text(x, word));
    return false;
}

/* Past the next ';' that is not in braces, or past the braces of a function before it. */
static void ptx_skip_to_statement(spad__ptx_lexer *x) {
    while (!spad__ptx_at_end(x)) {
        const char c = x->text[x->at];
        if (c == '{') {
            spad__ptx_skip_braces(x);
            if (spad__ptx_peek(x) != ';') return;
        } else if (c == '}') {
            x->at++;
            if (spad__ptx_peek(x) != ';') return;
        } else if (c == ';') {
            x->at++;
            return;
        } else if (c == '"') {
            spad__span text;
            if (!spad__ptx_take_string(x, &text)) return;
        } else {
            x->at++;
        }
    }
}

static void ptx_take_module(spad__ptx_parser *p) {
    spad__ptx_lexer *x = &p->lexer;
    while (!spad__ptx_at_end(x)) {
        const spad__ptx_text_place start = spad__ptx_here(x);
        spad__span word;
        if (spad__ptx_take(x, ';')) continue;
        if (spad__ptx_take_dotted(x, &word)) {
            if (ptx_take_module_statement(p, word)) continue;
        } else {
            spad__ptx_expected(x, "a directive such as .entry");
        }
        spad__ptx_go_back(x, start); /* so that its braces are counted */
        ptx_skip_to_statement(x);
    }
    if (x->gave_up || x->out_of_memory) return;
    if (p->module->version[0] == 0 || p->module->target == NULL) {
        spad__ptx_diagnose(x, (spad__span){0, 0},
                           "this is not a PTX module: it needs .version and .target");
    }
    spad__ptx_end_lines(p);
    ptx_end_aliases(p);
}

/* ---- the parser ----------------------------------------------------------------------------- */

static void ptx_free_parser(spad__ptx_parser *p) {
    const spad_host *host = p->host;
    spad__array_free(host, &p->symbols);
    spad__index_free(&p->symbol_index, host);
    spad__array_free(host, &p->scopes);
    spad__array_free(host, &p->places);
    spad__index_free(&p->place_index, host);
    spad__array_free(host, &p->references);
    spad__index_free(&p->members, host);
    spad__array_free(host, &p->member_keys);
    spad__array_free(host, &p->operands);
    spad__array_free(host, &p->waiting);
    spad__array_free(host, &p->known_names);
    spad__index_free(&p->known_index, host);
    spad__index_free(&p->location_index, host);
    spad__array_free(host, &p->inlined);
    spad__array_free(host, &p->strings);
    spad__array_free(host, &p->string_labels);
    spad__array_free(host, &p->initial);
    spad__array_free(host, &p->aliases);
}

static spad_status ptx_read(spad__ptx_module *out, const spad__source *source,
                            spad_diagnostics *diagnostics, spad_error *error) {
    spad__diagnostics_begin(diagnostics, source);
    spad__ptx_parser p = {.host = &out->arena.host,
                          .module = out,
                          .function = -1,
                          .location = -1,
                          .lexer = {.source = source,
                                    .diagnostics = diagnostics,
                                    .text = source->text,
                                    .length = source->length,
                                    .at = spad__mark_bytes(source->text, source->length),
                                    .line = 1}};
    ptx_take_module(&p);
    const bool out_of_memory = p.lexer.out_of_memory;
    ptx_free_parser(&p);
    if (out_of_memory) return spad__fail_host_memory(error);
    return spad__diagnostics_end(diagnostics, error);
}

spad_status spad__ptx_parse(spad__ptx_module *out, const spad_host *host,
                            const spad__source *source, spad_diagnostics *diagnostics,
                            spad_error *error) {
    const spad_host memory = spad__host_or_default(host);
    spad_diagnostics *own = NULL;
    *out = (spad__ptx_module){.arena = {.host = memory}, .address_bytes = 8};
    if (source->length > PTX_LENGTH_MOST) {
        *out = (spad__ptx_module){0};
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "the PTX text has %zu bytes; at most %zu can be read", source->length,
                          PTX_LENGTH_MOST);
    }
    spad_status status = SPAD_OK;
    if (diagnostics == NULL) status = spad_diagnostics_create(&own, host, error);
    if (status == SPAD_OK) {
        status = ptx_read(out, source, diagnostics != NULL ? diagnostics : own, error);
    }
    spad_diagnostics_destroy(own);
    if (status != SPAD_OK) spad__ptx_module_free(out);
    return status;
}

void spad__ptx_module_free(spad__ptx_module *module) {
    const spad_host host = module->arena.host;
    if (host.resize == NULL) return; /* zeroed */
    spad__array_free(&host, &module->functions);
    spad__array_free(&host, &module->instructions);
    spad__array_free(&host, &module->operands);
    spad__array_free(&host, &module->registers);
    spad__array_free(&host, &module->variables);
    spad__array_free(&host, &module->locals);
    spad__array_free(&host, &module->relocations);
    spad__array_free(&host, &module->tables);
    spad__array_free(&host, &module->targets);
    spad__array_free(&host, &module->locations);
    spad__array_free(&host, &module->files);
    spad__arena_free(&module->arena);
    *module = (spad__ptx_module){0};
}

bool spad__ptx_detect(const char *text, size_t length) {
    static const char start[] = ".version";
    spad__ptx_lexer x = {.text = text,
                         .length = length,
                         .at = spad__mark_bytes(text, length),
                         .line = 1,
                         .gave_up = true}; /* without diagnostics */
    spad__ptx_skip(&x);
    return x.length - x.at >= sizeof start - 1 &&
           memcmp(x.text + x.at, start, sizeof start - 1) == 0;
}
