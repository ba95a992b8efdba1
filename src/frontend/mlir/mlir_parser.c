/* SPDX-License-Identifier: Apache-2.0
 *
 * The structure of a printed module: which operation starts and ends where, its regions, and which
 * value every name means. A faulty operation is skipped up to the next line, so that one run finds
 * several faults. Regions are nested at most DEEPEST; O(tokens).
 */
#include <string.h>

#include "frontend/mlir/mlir.h"

enum { DEEPEST = 64, NO_TOKEN = 0 };

static bool parse_ops(spad__mlir *m, int32_t region);

static const spad__mlir_token *token_at(const spad__mlir *m, uint32_t at) {
    return &m->tokens.items[at];
}

static bool is_kind(const spad__mlir *m, uint32_t at, spad__mlir_kind kind) {
    return token_at(m, at)->kind == kind;
}

static bool out_of_memory(spad__mlir *m) {
    m->out_of_memory = true;
    return false;
}

/* ---- names ------------------------------------------------------------------------- */

static uint64_t name_hash(const spad__mlir *m, uint32_t token) {
    return spad__hash_text(spad__mlir_text(m, token), token_at(m, token)->length);
}

/* Results of one operation have one name: each has a hash of its own. */
static uint64_t part_hash(const spad__mlir *m, uint32_t token, int32_t part) {
    return spad__hash_add(name_hash(m, token), part);
}

/* The newest value of that name, in the scope; -1: none. */
static int32_t find_named(const spad__mlir *m, uint32_t token, int32_t part) {
    spad__probe probe = spad__index_probe(&m->scope_index, part_hash(m, token, part));
    for (size_t at; (at = spad__probe_next(&probe)) != SPAD__NO_ITEM;) {
        const spad__mlir_value *value = &m->values.items[m->scope.items[at].value];
        if (spad__mlir_same(m, value->token, token) && value->part == part) return (int32_t)at;
    }
    return -1;
}

static int32_t find_value(const spad__mlir *m, uint32_t token) {
    const int32_t at = find_named(m, token, token_at(m, token)->part);
    return at < 0 ? -1 : m->scope.items[at].value;
}

static bool add_to_scope(spad__mlir *m, int32_t number) {
    const spad__mlir_value *value = &m->values.items[number];
    const uint64_t hash = part_hash(m, value->token, value->part);
    if (!spad__array_reserve(m->host, &m->scope, 1) ||
        !spad__index_reserve(&m->scope_index, m->host, 1)) {
        return out_of_memory(m);
    }
    const int32_t older = find_named(m, value->token, value->part);
    if (older >= 0) spad__index_remove(&m->scope_index, hash, (size_t)older);
    spad__index_add(&m->scope_index, hash, m->scope.count);
    m->scope.items[m->scope.count++] = (spad__mlir_entry){number, older};
    return true;
}

static void leave_scope(spad__mlir *m, size_t count) {
    while (m->scope.count > count) {
        const spad__mlir_entry named = m->scope.items[--m->scope.count];
        const spad__mlir_value *value = &m->values.items[named.value];
        const uint64_t hash = part_hash(m, value->token, value->part);
        spad__index_remove(&m->scope_index, hash, m->scope.count);
        if (named.older >= 0) spad__index_add(&m->scope_index, hash, (size_t)named.older);
    }
}

static int32_t mlir_add_value(spad__mlir *m, uint32_t token, int32_t part, uint32_t type) {
    if (!spad__array_reserve(m->host, &m->values, 1)) {
        m->out_of_memory = true;
        return -1;
    }
    m->values.items[m->values.count] = (spad__mlir_value){token, part, type};
    return (int32_t)m->values.count++;
}

/* ---- aliases ----------------------------------------------------------------------- */

static bool parse_alias(spad__mlir *m) {
    spad__mlir_alias alias = {.name = m->at, .first = m->at + 2};
    m->at += 2;
    while (!is_kind(m, m->at, SPAD__MLIR_END) && !token_at(m, m->at)->fresh) m->at++;
    alias.end = m->at;
    if (!spad__array_reserve(m->host, &m->aliases, 1) ||
        !spad__index_reserve(&m->alias_index, m->host, 1)) {
        return out_of_memory(m);
    }
    spad__index_add(&m->alias_index, name_hash(m, alias.name), m->aliases.count);
    m->aliases.items[m->aliases.count++] = alias;
    return true;
}

const spad__mlir_alias *spad__mlir_find_alias(const spad__mlir *m, uint32_t token) {
    spad__probe probe = spad__index_probe(&m->alias_index, name_hash(m, token));
    for (size_t at; (at = spad__probe_next(&probe)) != SPAD__NO_ITEM;) {
        if (spad__mlir_same(m, m->aliases.items[at].name, token)) return &m->aliases.items[at];
    }
    return NULL;
}

/* ---- regions ----------------------------------------------------------------------- */

/* "^bb0(%a: i32, %b: f32):" after the '{', or a further block. */
static bool parse_label(spad__mlir *m) {
    m->at++;
    while (!is_kind(m, m->at, SPAD__MLIR_END) && !token_at(m, m->at)->fresh) {
        if (is_kind(m, m->at, SPAD__MLIR_VALUE) && spad__mlir_is_mark(m, m->at + 1, ':')) {
            const int32_t value = mlir_add_value(m, m->at, 0, m->at + 2);
            if (value < 0 || !spad__array_reserve(m->host, &m->pending, 1)) return out_of_memory(m);
            m->pending.items[m->pending.count++] = value;
        }
        m->at++;
    }
    return true;
}

/* The arguments that were found in front of a region, or with a label, become its own. */
static bool take_arguments(spad__mlir *m, uint32_t *first, uint32_t *count) {
    if (!spad__array_reserve(m->host, &m->arguments, m->pending.count)) return out_of_memory(m);
    *first = (uint32_t)m->arguments.count;
    *count = (uint32_t)m->pending.count;
    for (size_t i = 0; i < m->pending.count; i++) {
        m->arguments.items[m->arguments.count++] = m->pending.items[i];
        if (!add_to_scope(m, m->pending.items[i])) return false;
    }
    m->pending.count = 0;
    return true;
}

/* At a label after the first block. */
static bool parse_block(spad__mlir *m, int32_t region) {
    spad__mlir_block block = {.label = m->at, .first_op = -1, .next = -1};
    m->pending.count = 0;
    if (!parse_label(m) || !take_arguments(m, &block.first_argument, &block.argument_count)) {
        return false;
    }
    if (region < 0) return true; /* no operation has it */
    if (!spad__array_reserve(m->host, &m->blocks, 1)) return out_of_memory(m);
    const int32_t number = (int32_t)m->blocks.count++;
    spad__mlir_region *r = &m->regions.items[region];
    m->blocks.items[number] = block;
    if (r->last_block >= 0) m->blocks.items[r->last_block].next = number;
    if (r->first_block < 0) r->first_block = number;
    r->last_block = number;
    r->blocks++;
    return true;
}

static int32_t mlir_add_region(spad__mlir *m, int32_t op) {
    if (!spad__array_reserve(m->host, &m->regions, 1)) {
        m->out_of_memory = true;
        return -1;
    }
    const int32_t region = (int32_t)m->regions.count++;
    spad__mlir_op *owner = &m->ops.items[op];
    m->regions.items[region] = (spad__mlir_region){.open = m->at,
                                                   .first_op = -1,
                                                   .last_op = -1,
                                                   .first_block = -1,
                                                   .last_block = -1,
                                                   .next = -1};
    if (owner->last_region >= 0) m->regions.items[owner->last_region].next = region;
    if (owner->first_region < 0) owner->first_region = region;
    owner->last_region = region;
    return region;
}

/* At its '{'; stops after its '}'. */
static bool parse_region(spad__mlir *m, int32_t op) {
    const uint32_t open = m->at;
    const size_t names = m->scope.count;
    const int32_t region = mlir_add_region(m, op);
    if (region < 0) return false;
    if (m->depth == DEEPEST) {
        SPAD__MLIR_FAULT(m, open, "regions are nested too deep: at most %d", DEEPEST);
        m->at = (uint32_t)m->tokens.count - 1;
        m->cut = true;
        return true;
    }
    m->depth++;
    m->at++;
    if (is_kind(m, m->at, SPAD__MLIR_BLOCK) && !parse_label(m)) return false;
    spad__mlir_region *r = &m->regions.items[region];
    if (!take_arguments(m, &r->first_argument, &r->argument_count)) return false;
    if (!parse_ops(m, region)) return false;
    m->depth--;
    leave_scope(m, names);
    if (!spad__mlir_is_mark(m, m->at, '}')) {
        if (!m->cut) {
            SPAD__MLIR_FAULT(m, open, "this '{' has no '}': the text ends inside of it");
        }
        return true;
    }
    m->regions.items[region].close = m->at;
    m->tokens.items[open].jump = m->at++;
    return true;
}

/* ---- operations -------------------------------------------------------------------- */

/* "%a, %b:3 =" in front of the name: the values get their names after the operation is read. */
static bool parse_results(spad__mlir *m, spad__mlir_op *op) {
    op->first_result = (int32_t)m->values.count;
    while (is_kind(m, m->at, SPAD__MLIR_VALUE)) {
        const uint32_t name = m->at++;
        int64_t count = 1;
        if (spad__mlir_is_mark(m, m->at, ':')) {
            if (!spad__mlir_number(m, m->at + 1, &count) || count < 1 || count > 4096) {
                SPAD__MLIR_FAULT(m, m->at + 1, "expected a number of results");
                return false;
            }
            m->at += 2;
        }
        for (int64_t i = 0; i < count; i++) {
            if (mlir_add_value(m, name, (int32_t)i, NO_TOKEN) < 0) return false;
            op->result_count++;
        }
        if (spad__mlir_is_mark(m, m->at, ',')) m->at++;
    }
    if (op->result_count == 0) return true;
    if (!spad__mlir_is_mark(m, m->at, '=')) {
        SPAD__MLIR_FAULT(m, m->at, "expected '=' after the results of an operation");
        return false;
    }
    m->at++;
    return true;
}

static bool add_operand(spad__mlir *m, uint32_t token) {
    const int32_t value = find_value(m, token);
    if (value < 0) {
        SPAD__MLIR_FAULT(m, token, "a value that no operation before it defines");
        return false;
    }
    if (!spad__array_reserve(m->host, &m->operands, 1)) return out_of_memory(m);
    m->operands.items[m->operands.count++] = (spad__mlir_operand){value, token};
    return true;
}

/* Is the value at `at` one that the operation defines for its next region? `heads`: inside of the
 * arguments of a function or of a partition. */
static bool defines(const spad__mlir *m, bool heads, uint32_t at) {
    return spad__mlir_is_mark(m, at + 1, '=') || (heads && spad__mlir_is_mark(m, at + 1, ':'));
}

static bool add_pending(spad__mlir *m) {
    const bool typed = spad__mlir_is_mark(m, m->at + 1, ':');
    const int32_t value = mlir_add_value(m, m->at, 0, typed ? m->at + 2 : NO_TOKEN);
    if (value < 0) return false;
    if (!spad__array_reserve(m->host, &m->pending, 1)) return out_of_memory(m);
    m->pending.items[m->pending.count++] = value;
    return true;
}

static bool is_partition(const spad__mlir *m, uint32_t at) {
    return is_kind(m, at, SPAD__MLIR_WORD) &&
           (spad__mlir_is(m, at, "default") ||
            (token_at(m, at)->length > 9 && memcmp(spad__mlir_text(m, at), "partition", 9) == 0));
}

/* Does the operation go on with the token at `at`, which starts a line? */
static bool goes_on(const spad__mlir *m, const spad__mlir_op *op, uint32_t at) {
    return spad__mlir_named(m, op, "ttg.warp_specialize") && is_partition(m, at);
}

typedef struct spad__mlir_words {
    int depth; /* of brackets */
    int heads; /* depth of the arguments of a function or a partition; 0: not in them */
} spad__mlir_words;

static bool parse_word(spad__mlir *m, int32_t op, spad__mlir_words *w) {
    const spad__mlir_token *t = token_at(m, m->at);
    if (t->kind == SPAD__MLIR_VALUE) {
        const bool good = defines(m, w->heads > 0, m->at) ? add_pending(m) : add_operand(m, m->at);
        m->at++;
        return good;
    }
    if (t->kind == SPAD__MLIR_MARK && !t->arrow && strchr("([{", t->mark) != NULL) {
        const bool named = is_kind(m, m->at - 1, SPAD__MLIR_SYMBOL) || is_partition(m, m->at - 1);
        if (t->mark == '{' && token_at(m, m->at + 1)->fresh) return parse_region(m, op);
        w->depth++;
        if (t->mark == '(' && named && w->heads == 0) w->heads = w->depth;
    } else if (t->kind == SPAD__MLIR_MARK && !t->arrow && strchr(")]}", t->mark) != NULL) {
        if (w->heads == w->depth) w->heads = 0;
        w->depth--;
    }
    m->at++;
    return true;
}

/* Operands are those in front of the first region: the printed form has none after it. */
static void keep_operands(spad__mlir *m, int32_t op, size_t first) {
    m->ops.items[op].first_operand = (uint32_t)first;
    m->ops.items[op].operand_count = (uint32_t)(m->operands.count - first);
}

/* All words after the name, up to the end of the operation. */
static bool parse_words(spad__mlir *m, int32_t op) {
    const size_t first = m->operands.count;
    spad__mlir_words w = {0};
    bool kept = false;
    for (;;) {
        const spad__mlir_token *t = token_at(m, m->at);
        if (t->kind == SPAD__MLIR_END) break;
        if (t->fresh && w.depth <= 0 && !goes_on(m, &m->ops.items[op], m->at)) break;
        if (t->kind == SPAD__MLIR_MARK && t->mark == '}' && w.depth <= 0) break;
        if (!kept && spad__mlir_is_mark(m, m->at, '{') && token_at(m, m->at + 1)->fresh) {
            keep_operands(m, op, first);
            kept = true;
        }
        if (!parse_word(m, op, &w)) return false;
    }
    if (!kept) keep_operands(m, op, first);
    if (w.depth > 0) {
        SPAD__MLIR_FAULT(m, m->ops.items[op].name, "the text ends inside of this operation");
    }
    return true;
}

static void link_op(spad__mlir *m, int32_t region, int32_t op) {
    int32_t *first = region < 0 ? &m->first_op : &m->regions.items[region].first_op;
    int32_t *last = region < 0 ? &m->last_op : &m->regions.items[region].last_op;
    if (*last >= 0) m->ops.items[*last].next = op;
    if (*first < 0) *first = op;
    *last = op;
    const int32_t block = region < 0 ? -1 : m->regions.items[region].last_block;
    if (block >= 0 && m->blocks.items[block].first_op < 0) m->blocks.items[block].first_op = op;
}

/* False: a fault, or no memory. */
static bool parse_op(spad__mlir *m, int32_t region) {
    spad__mlir_op op = {.first = m->at, .first_region = -1, .last_region = -1, .next = -1};
    m->pending.count = 0;
    if (!parse_results(m, &op)) return false;
    op.name = m->at;
    if (!is_kind(m, m->at, SPAD__MLIR_WORD) && !is_kind(m, m->at, SPAD__MLIR_STRING)) {
        SPAD__MLIR_FAULT(m, m->at, "expected the name of an operation%s",
                         m->ops.count == 0 ? ": is this TTGIR, as Triton prints it?" : "");
        return false;
    }
    if (!spad__array_reserve(m->host, &m->ops, 1)) return out_of_memory(m);
    const int32_t number = (int32_t)m->ops.count++;
    m->ops.items[number] = op;
    m->at++;
    const bool good = parse_words(m, number);
    m->ops.items[number].end = m->at;
    if (m->out_of_memory) return false;
    link_op(m, region, number);
    for (int32_t i = 0; i < op.result_count; i++) {
        if (!add_to_scope(m, op.first_result + i)) return false;
    }
    return good;
}

/* After a fault: the next line, but not beyond the region. */
static void skip_line(spad__mlir *m, uint32_t first) {
    if (m->at == first && !spad__mlir_is_mark(m, m->at, '}')) m->at++;
    while (!token_at(m, m->at)->fresh) m->at++;
}

/* Operations up to the '}' of the region (-1: to the end of the text). False: no memory. */
static bool parse_ops(spad__mlir *m, int32_t region) {
    while (!is_kind(m, m->at, SPAD__MLIR_END) && !spad__diagnostics_full(m->diagnostics)) {
        const uint32_t first = m->at;
        if (spad__mlir_is_mark(m, m->at, '}')) {
            if (region >= 0) return true;
            SPAD__MLIR_FAULT(m, m->at, "a '}' without a '{'");
            m->at++;
        } else if (region < 0 && is_kind(m, m->at, SPAD__MLIR_ALIAS) &&
                   spad__mlir_is_mark(m, m->at + 1, '=')) {
            if (!parse_alias(m)) return false;
        } else if (is_kind(m, m->at, SPAD__MLIR_BLOCK)) {
            if (!parse_block(m, region)) return false;
        } else if (!parse_op(m, region)) {
            if (m->out_of_memory) return false;
            skip_line(m, first);
        }
    }
    return true;
}

bool spad__mlir_read(spad__mlir *m) {
    m->first_op = m->last_op = -1;
    return spad__mlir_split(m) && parse_ops(m, -1);
}

void spad__mlir_free(spad__mlir *m) {
    spad__array_free(m->host, &m->tokens);
    spad__array_free(m->host, &m->ops);
    spad__array_free(m->host, &m->regions);
    spad__array_free(m->host, &m->blocks);
    spad__array_free(m->host, &m->values);
    spad__array_free(m->host, &m->operands);
    spad__array_free(m->host, &m->arguments);
    spad__array_free(m->host, &m->aliases);
    spad__array_free(m->host, &m->scope);
    spad__array_free(m->host, &m->pending);
    spad__index_free(&m->alias_index, m->host);
    spad__index_free(&m->scope_index, m->host);
}

/* ---- words of an operation --------------------------------------------------------- */

bool spad__mlir_named(const spad__mlir *m, const spad__mlir_op *op, const char *name) {
    const spad__mlir_token *t = token_at(m, op->name);
    const char *text = spad__mlir_text(m, op->name);
    if (t->kind != SPAD__MLIR_STRING) return spad__mlir_is(m, op->name, name);
    const size_t length = strlen(name);
    return t->length == length + 2 && memcmp(text + 1, name, length) == 0;
}

uint32_t spad__mlir_after(const spad__mlir *m, const spad__mlir_op *op, uint32_t at) {
    const uint32_t jump = token_at(m, at)->jump;
    const uint32_t next = (jump > at ? jump : at) + 1;
    return next < op->end ? next : op->end;
}

/* An attribute is a word, or a string where it is no word: "ttg.num-warps" = 4. */
static bool is_attribute(const spad__mlir *m, uint32_t at, const char *name) {
    const spad__mlir_token *t = token_at(m, at);
    const size_t length = strlen(name);
    if (t->kind == SPAD__MLIR_WORD) return spad__mlir_is(m, at, name);
    return t->kind == SPAD__MLIR_STRING && t->length == length + 2 &&
           memcmp(spad__mlir_text(m, at) + 1, name, length) == 0;
}

uint32_t spad__mlir_after_word(const spad__mlir *m, uint32_t first, uint32_t end,
                               const char *word) {
    for (uint32_t at = first; at + 2 < end; at++) {
        if (spad__mlir_is(m, at, word) && spad__mlir_is_mark(m, at + 1, '=')) return at + 2;
    }
    return 0;
}

bool spad__mlir_number_after_word(const spad__mlir *m, uint32_t first, uint32_t end,
                                  const char *word, int64_t *out) {
    const uint32_t at = spad__mlir_after_word(m, first, end, word);
    return at != 0 && spad__mlir_number(m, at, out);
}

bool spad__mlir_mentions(const spad__mlir *m, const spad__mlir_op *op, const char *word) {
    for (uint32_t at = op->name + 1; at < op->end; at++) {
        if (spad__mlir_is(m, at, word)) return true;
    }
    return false;
}

uint32_t spad__mlir_attribute(const spad__mlir *m, const spad__mlir_op *op, const char *name) {
    for (uint32_t at = op->name + 1; at < op->end; at = spad__mlir_after(m, op, at)) {
        if (is_attribute(m, at, name) && at + 2 < op->end && spad__mlir_is_mark(m, at + 1, '=')) {
            return at + 2;
        }
    }
    return 0;
}

bool spad__mlir_number_of(const spad__mlir *m, const spad__mlir_op *op, const char *name,
                          int64_t *out) {
    const uint32_t at = spad__mlir_attribute(m, op, name);
    return at != 0 && spad__mlir_number(m, at, out);
}

bool spad__mlir_has(const spad__mlir *m, const spad__mlir_op *op, const char *name) {
    for (uint32_t at = op->name + 1; at < op->end; at = spad__mlir_after(m, op, at)) {
        if (is_attribute(m, at, name)) return true;
    }
    return false;
}

/* It is the last one: arguments have locations of their own. */
uint32_t spad__mlir_location(const spad__mlir *m, const spad__mlir_op *op) {
    uint32_t found = 0;
    for (uint32_t at = op->name + 1; at + 1 < op->end; at = spad__mlir_after(m, op, at)) {
        if (spad__mlir_is(m, at, "loc") && spad__mlir_is_mark(m, at + 1, '(')) found = at + 1;
    }
    return found;
}
