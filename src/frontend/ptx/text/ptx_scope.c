/* SPDX-License-Identifier: Apache-2.0
 *
 * Names: registers, variables, functions and labels, each in the braces that declare it.
 *
 * Inline assembly is what makes braces matter: each copy of it declares the same registers and
 * labels again. A name means the innermost declaration. A label may follow the branch to it, so
 * names that are not declared when they are read wait until the braces close, and then for the
 * braces around those.
 *
 * A range such as %r<100> declares nothing by itself: a register gets its number when it is first
 * named, so that a huge range costs nothing. Everything is O(1) expected per name, times the digits
 * at its end, and times the depth of braces for a label.
 *
 * Reference: PTX ISA 9.0, 4.4 (identifiers), 5.4 (variables), 9.7.14 (braces, labels).
 */
#include "frontend/ptx/text/ptx_parse.h"

/* ---- symbols -------------------------------------------------------------------------------- */

static uint64_t ptx_hash_of(const spad__ptx_lexer *x, spad__span name) {
    return spad__hash_text(spad__ptx_text(x, name), name.length);
}

static bool ptx_same_name(const spad__ptx_lexer *x, spad__span a, spad__span b) {
    return a.length == b.length && memcmp(x->text + a.start, x->text + b.start, a.length) == 0;
}

/* The innermost symbol of a name, among ranges or among others; -1: none. */
static int64_t ptx_find_hashed(const spad__ptx_parser *p, spad__span name, uint64_t hash,
                               bool is_range) {
    int64_t best = -1;
    spad__probe probe = spad__index_probe(&p->symbol_index, hash);
    for (size_t at; (at = spad__probe_next(&probe)) != SPAD__NO_ITEM;) {
        const spad__ptx_symbol *s = &p->symbols.items[at];
        if ((s->kind == SPAD__PTX_NAMES_RANGE) != is_range || (int64_t)at < best) continue;
        if (ptx_same_name(&p->lexer, s->name, name)) best = (int64_t)at;
    }
    return best;
}

const spad__ptx_symbol *spad__ptx_find_symbol(const spad__ptx_parser *p, spad__span name) {
    const int64_t at = ptx_find_hashed(p, name, ptx_hash_of(&p->lexer, name), false);
    return at < 0 ? NULL : &p->symbols.items[at];
}

static int32_t ptx_depth(const spad__ptx_parser *p) {
    return (int32_t)p->scopes.count;
}

const spad__ptx_symbol *spad__ptx_find_here(const spad__ptx_parser *p, spad__span name) {
    const spad__ptx_symbol *s = spad__ptx_find_symbol(p, name);
    return s != NULL && s->depth == ptx_depth(p) ? s : NULL;
}

bool spad__ptx_add_symbol(spad__ptx_parser *p, spad__ptx_symbol symbol) {
    const spad__span name = symbol.name;
    symbol.hash = ptx_hash_of(&p->lexer, name);
    symbol.depth = ptx_depth(p);
    symbol.line = p->lexer.line;
    const int64_t same =
        ptx_find_hashed(p, name, symbol.hash, symbol.kind == SPAD__PTX_NAMES_RANGE);
    if (same >= 0 && p->symbols.items[same].depth == symbol.depth) {
        spad__ptx_diagnose(&p->lexer, name,
                           "'%.*s' is declared already, on line %d; give it another name, or "
                           "braces of its own",
                           spad__ptx_shown(name), spad__ptx_text(&p->lexer, name),
                           p->symbols.items[same].line);
        return false;
    }
    if (!spad__array_reserve(p->host, &p->symbols, 1) ||
        !spad__index_reserve(&p->symbol_index, p->host, 1)) {
        spad__ptx_out_of_memory(&p->lexer);
        return false;
    }
    spad__index_add(&p->symbol_index, symbol.hash, p->symbols.count);
    p->symbols.items[p->symbols.count++] = symbol;
    return true;
}

/* ---- registers ------------------------------------------------------------------------------ */

static int32_t ptx_new_register(spad__ptx_parser *p, spad__span name, spad__ptx_type type,
                                int items, int64_t key) {
    spad__ptx_module *m = p->module;
    const char *text = spad__arena_copy(&m->arena, spad__ptx_text(&p->lexer, name), name.length);
    if (text == NULL || m->registers.count >= INT32_MAX ||
        !spad__array_reserve(p->host, &m->registers, items) ||
        !spad__array_reserve(p->host, &p->member_keys, items)) {
        spad__ptx_out_of_memory(&p->lexer);
        return -1;
    }
    const int32_t first = (int32_t)p->member_keys.count;
    for (int i = 0; i < items; i++) {
        m->registers.items[m->registers.count++] =
            (spad__ptx_register){.name = text, .type = (uint8_t)type};
        p->member_keys.items[p->member_keys.count++] = i == 0 ? key : -1;
    }
    return first;
}

bool spad__ptx_add_register(spad__ptx_parser *p, spad__span name, spad__ptx_type type, int items) {
    return ptx_new_register(p, name, type, items, -1) >= 0;
}

/* The register of a range with this number, which exists from now on. */
static int32_t ptx_member(spad__ptx_parser *p, const spad__ptx_symbol *range, int64_t number,
                          spad__span name) {
    const int64_t key = (int64_t)range->number << 32 | number;
    const uint64_t hash = spad__hash_add(0, key);
    spad__probe probe = spad__index_probe(&p->members, hash);
    for (size_t at; (at = spad__probe_next(&probe)) != SPAD__NO_ITEM;) {
        if (p->member_keys.items[at] == key) return (int32_t)at;
    }
    if (!spad__index_reserve(&p->members, p->host, 1)) {
        spad__ptx_out_of_memory(&p->lexer);
        return -1;
    }
    const int32_t made = ptx_new_register(p, name, (spad__ptx_type)range->type, range->items, key);
    if (made >= 0) spad__index_add(&p->members, hash, (size_t)made);
    return made;
}

enum { RANGE_DIGITS = 10 }; /* of the largest count */

/* The range that a name belongs to, and its number there: %r12 is of %r<100>, or of %r1<8>. */
static int64_t ptx_find_range(const spad__ptx_parser *p, spad__span name, int64_t *number) {
    const char *text = spad__ptx_text(&p->lexer, name);
    size_t digits = 0;
    while (digits < name.length - 1 && digits < RANGE_DIGITS &&
           spad__ptx_is_digit(text[name.length - 1 - digits])) {
        digits++;
    }
    int64_t best = -1;
    spad__span front = {name.start, name.length - digits};
    uint64_t hash = spad__hash_text(text, front.length);
    for (; front.length < name.length; front.length++) {
        const char first = text[front.length];
        const bool is_number = first != '0' || front.length + 1 == name.length;
        const int64_t at = is_number ? ptx_find_hashed(p, front, hash, true) : -1;
        if (at > best) {
            int64_t value = 0;
            for (size_t i = front.length; i < name.length; i++)
                value = value * 10 + (text[i] - '0');
            if (value < p->symbols.items[at].count) {
                best = at;
                *number = value;
            }
        }
        hash = spad__hash_more(hash, &first, 1);
    }
    return best;
}

int32_t spad__ptx_find_register(spad__ptx_parser *p, spad__span name, int *items) {
    const int64_t alone = ptx_find_hashed(p, name, ptx_hash_of(&p->lexer, name), false);
    int64_t number = 0;
    const int64_t range = ptx_find_range(p, name, &number);
    const int64_t found = range > alone ? range : alone;
    if (found < 0) return -1;
    const spad__ptx_symbol *symbol = &p->symbols.items[found];
    const bool is_range = symbol->kind == SPAD__PTX_NAMES_RANGE;
    if (!is_range && symbol->kind != SPAD__PTX_NAMES_REGISTER) return -1;
    *items = symbol->items;
    return is_range ? ptx_member(p, symbol, number, name) : symbol->number;
}

int32_t spad__ptx_need_register(spad__ptx_parser *p, spad__span name) {
    int items = 1;
    const int32_t found = spad__ptx_find_register(p, name, &items);
    if (found >= 0 && items == 1) return found;
    spad__ptx_diagnose(&p->lexer, name, "'%.*s' is not a single register that is declared here",
                       spad__ptx_shown(name), spad__ptx_text(&p->lexer, name));
    return -1;
}

/* ---- labels --------------------------------------------------------------------------------- */

/* The label of a name, among those from `first` on; -1: none. */
static int64_t ptx_find_place(const spad__ptx_parser *p, spad__span name, size_t first) {
    spad__probe probe = spad__index_probe(&p->place_index, ptx_hash_of(&p->lexer, name));
    for (size_t at; (at = spad__probe_next(&probe)) != SPAD__NO_ITEM;) {
        if (at >= first && ptx_same_name(&p->lexer, p->places.items[at].name, name)) {
            return (int64_t)at;
        }
    }
    return -1;
}

bool spad__ptx_name_place(spad__ptx_parser *p, spad__span name, spad__ptx_operand_kind kind,
                          int32_t value) {
    const size_t first = p->scopes.items[p->scopes.count - 1].places;
    if (ptx_find_place(p, name, first) >= 0) {
        spad__ptx_diagnose(&p->lexer, name, "the label '%.*s' is there already in these braces",
                           spad__ptx_shown(name), spad__ptx_text(&p->lexer, name));
        return false;
    }
    if (!spad__array_reserve(p->host, &p->places, 1) ||
        !spad__index_reserve(&p->place_index, p->host, 1)) {
        spad__ptx_out_of_memory(&p->lexer);
        return false;
    }
    spad__index_add(&p->place_index, ptx_hash_of(&p->lexer, name), p->places.count);
    p->places.items[p->places.count++] =
        (spad__ptx_named_place){.name = name, .kind = kind, .value = value};
    return true;
}

bool spad__ptx_add_reference(spad__ptx_parser *p, spad__ptx_reference reference) {
    if (!spad__array_reserve(p->host, &p->references, 1)) {
        spad__ptx_out_of_memory(&p->lexer);
        return false;
    }
    p->references.items[p->references.count++] = reference;
    return true;
}

static void ptx_bind(spad__ptx_parser *p, const spad__ptx_reference *r,
                     const spad__ptx_named_place *place) {
    spad__ptx_module *m = p->module;
    if (r->operand >= 0) {
        spad__ptx_operand *operand = &m->operands.items[r->operand];
        operand->kind = (uint8_t)place->kind;
        operand->value = place->value;
    } else if (place->kind == SPAD__PTX_LABEL) {
        m->targets.items[r->target] = place->value;
    } else {
        spad__ptx_diagnose(&p->lexer, r->name, "'%.*s' is a list of labels, not a label",
                           spad__ptx_shown(r->name), spad__ptx_text(&p->lexer, r->name));
    }
}

/* Names that are labels of the innermost braces find them; the others stay. */
static void ptx_bind_references(spad__ptx_parser *p, const spad__ptx_scope *scope) {
    size_t kept = scope->references;
    for (size_t i = kept; i < p->references.count; i++) {
        const spad__ptx_reference r = p->references.items[i];
        const int64_t place = ptx_find_place(p, r.name, scope->places);
        if (place >= 0) {
            ptx_bind(p, &r, &p->places.items[place]);
        } else {
            p->references.items[kept++] = r;
        }
    }
    p->references.count = kept;
}

static void ptx_report_references(spad__ptx_parser *p) {
    for (size_t i = 0; i < p->references.count; i++) {
        const spad__span name = p->references.items[i].name;
        spad__ptx_diagnose(&p->lexer, name,
                           "'%.*s' is not declared: neither a register, a variable or a function "
                           "before this line, nor a label in these braces",
                           spad__ptx_shown(name), spad__ptx_text(&p->lexer, name));
    }
    p->references.count = 0;
}

/* ---- braces --------------------------------------------------------------------------------- */

bool spad__ptx_enter(spad__ptx_parser *p, spad__span brace) {
    if (p->scopes.count >= SPAD__PTX_DEEPEST) {
        spad__ptx_diagnose(&p->lexer, brace, "braces are nested too deeply; at most %d levels",
                           SPAD__PTX_DEEPEST);
        spad__ptx_give_up(&p->lexer);
        return false;
    }
    if (!spad__array_reserve(p->host, &p->scopes, 1)) {
        spad__ptx_out_of_memory(&p->lexer);
        return false;
    }
    p->scopes.items[p->scopes.count++] = (spad__ptx_scope){.symbols = p->symbols.count,
                                                           .places = p->places.count,
                                                           .references = p->references.count,
                                                           .brace = brace};
    return true;
}

void spad__ptx_leave(spad__ptx_parser *p) {
    const spad__ptx_scope scope = p->scopes.items[p->scopes.count - 1];
    ptx_bind_references(p, &scope);
    while (p->symbols.count > scope.symbols) {
        p->symbols.count--;
        spad__index_remove(&p->symbol_index, p->symbols.items[p->symbols.count].hash,
                           p->symbols.count);
    }
    while (p->places.count > scope.places) {
        p->places.count--;
        spad__index_remove(&p->place_index,
                           ptx_hash_of(&p->lexer, p->places.items[p->places.count].name),
                           p->places.count);
    }
    p->scopes.count--;
    if (p->scopes.count > 0) return;
    ptx_report_references(p);
    spad__index_free(&p->members, p->host); /* a later function must not pay for a large one */
    p->member_keys.count = 0;
}
