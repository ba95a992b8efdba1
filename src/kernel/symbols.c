/* SPDX-License-Identifier: Apache-2.0
 *
 * The names that are visible while a kernel is built: one table for all kinds,
 * because no two things that are visible at once share a name. A block takes its
 * names with it when it closes. A scope is about memory and not about names: what was
 * declared in it can be named after it, which is for the checks to report, until the
 * name is used again.
 *
 * An array in the order of declaration, and a hash index over the newest symbol of each name: one
 * that is used again hides the older one until it is dropped. Adding, finding and dropping a name:
 * O(length) expected.
 */
#include <string.h>

#include "base/lexer.h"
#include "base/parser.h"
#include "base/text.h"
#include "kernel/kernel.h"

const char *spad__symbol_phrase(spad__symbol_kind kind) {
    static const char *const phrases[] = {
        [SPAD__SYMBOL_PARAM] = "a parameter",
        [SPAD__SYMBOL_LOOP] = "a loop variable",
        [SPAD__SYMBOL_TENSOR] = "a tensor",
        [SPAD__SYMBOL_UNIT] = "a unit",
        [SPAD__SYMBOL_SYNC] = "a barrier, counter or group",
        [SPAD__SYMBOL_AGENT] = "an agent",
        [SPAD__SYMBOL_STAGE] = "the stage of a cursor",
        [SPAD__SYMBOL_PHASE] = "the phase of a cursor",
        [SPAD__SYMBOL_UNKNOWN] = "an unknown value",
        [SPAD__SYMBOL_VALUE] = "a number",
        [SPAD__SYMBOL_MACRO] = "a macro",
        [SPAD__SYMBOL_BROKEN] = "a name",
    };
    return phrases[kind];
}

static uint64_t hash_name(const char *name) {
    return spad__hash_text(name, strlen(name));
}

const spad__symbol *spad__find_symbol(const spad__kernel_builder *builder, const char *name) {
    spad__probe probe = spad__index_probe(&builder->symbol_index, hash_name(name));
    for (size_t i; (i = spad__probe_next(&probe)) != SPAD__NO_ITEM;) {
        const spad__symbol *symbol = &builder->symbols.items[i];
        if (strcmp(symbol->name, name) == 0) return symbol;
    }
    return NULL;
}

static bool reserve_symbol(spad__kernel_builder *builder) {
    return spad__array_reserve(&builder->host, &builder->symbols, 1) &&
           spad__index_reserve(&builder->symbol_index, &builder->host, 1);
}

spad_status spad__check_name(const char *name, spad_error *error) {
    const bool digit = name != NULL && name[0] >= '0' && name[0] <= '9';
    if (name != NULL && !digit && strlen(name) <= SPAD__NAME_MAX && spad__is_bare(name)) {
        return SPAD_OK;
    }
    return spad__fail(error, SPAD_ERR_NAME,
                      "not a name: a letter or '_' and up to %d more letters, digits or '_'",
                      SPAD__NAME_MAX - 1);
}

static void add_symbol(spad__kernel_builder *builder, const char *kept, spad__symbol_kind kind,
                       int64_t number) {
    const spad__symbol *older = spad__find_symbol(builder, kept);
    const size_t hidden = older != NULL ? (size_t)(older - builder->symbols.items) : SPAD__NO_ITEM;
    const uint64_t hash = hash_name(kept);
    if (older != NULL) spad__index_remove(&builder->symbol_index, hash, hidden);
    spad__index_add(&builder->symbol_index, hash, builder->symbols.count);
    builder->symbols.items[builder->symbols.count++] =
        (spad__symbol){.name = kept, .kind = kind, .number = number, .hidden = hidden};
}

/* Parameters, units and objects of synchronisation are written in front of the kernel, wherever
 * they were declared. So nothing before them may have had their name, not even in a block that is
 * closed. O(loops + tensors + cursors). */
static spad_status check_never_used(const spad_kernel *kernel, const char *name,
                                    spad_error *error) {
    spad__symbol_kind kind = SPAD__SYMBOL_BROKEN;
    for (size_t i = 0; i < kernel->loops.count; i++) {
        if (strcmp(kernel->loops.items[i].name, name) == 0) kind = SPAD__SYMBOL_LOOP;
    }
    for (size_t i = 0; i < kernel->tensors.count; i++) {
        if (strcmp(kernel->tensors.items[i].name, name) == 0) kind = SPAD__SYMBOL_TENSOR;
    }
    for (size_t i = 0; i < kernel->cursors.count; i++) {
        const spad_kernel_cursor *cursor = &kernel->cursors.items[i];
        if (strcmp(cursor->stage, name) == 0) kind = SPAD__SYMBOL_STAGE;
        if (cursor->phase != NULL && strcmp(cursor->phase, name) == 0) kind = SPAD__SYMBOL_PHASE;
    }
    if (kind == SPAD__SYMBOL_BROKEN) return SPAD_OK;
    spad__fail(error, SPAD_ERR_NAME, "'%s' is already %s above: choose another name", name,
               spad__symbol_phrase(kind));
    spad__fact_names(error, name, NULL);
    return SPAD_ERR_NAME;
}

spad_status spad__add_symbol(spad__kernel_builder *builder, const char *name,
                             spad__symbol_kind kind, int64_t number, const char **kept,
                             spad_error *error) {
    spad_status status = spad__check_name(name, error);
    if (status != SPAD_OK) return status;
    const spad__symbol *other = spad__find_symbol(builder, name);
    if (other != NULL && !other->closed) {
        spad__fail(error, SPAD_ERR_NAME, "'%s' is already %s here", name,
                   spad__symbol_phrase(other->kind));
        spad__fact_names(error, name, NULL);
        return SPAD_ERR_NAME;
    }
    if (kind == SPAD__SYMBOL_PARAM || kind == SPAD__SYMBOL_UNIT || kind == SPAD__SYMBOL_SYNC ||
        kind == SPAD__SYMBOL_UNKNOWN) {
        status = check_never_used(builder->kernel, name, error);
        if (status != SPAD_OK) return status;
    }
    if (!reserve_symbol(builder)) return spad__fail_host_memory(error);
    *kept = spad__arena_copy(&builder->kernel->arena, name, strlen(name));
    if (*kept == NULL) return spad__fail_host_memory(error);
    add_symbol(builder, *kept, kind, number);
    return SPAD_OK;
}

bool spad__bind_symbol(spad__kernel_builder *builder, const char *name, spad__symbol_kind kind,
                       int64_t number) {
    if (!reserve_symbol(builder)) return false;
    const char *kept = spad__arena_copy(&builder->kernel->arena, name, strlen(name));
    if (kept == NULL) return false;
    add_symbol(builder, kept, kind, number);
    return true;
}

bool spad__is_visible(const spad__kernel_builder *builder, const char *name, spad__symbol_kind kind,
                      int64_t number) {
    const spad__symbol *symbol = spad__find_symbol(builder, name);
    while (symbol != NULL && (symbol->kind != kind || symbol->number != number)) {
        symbol = symbol->hidden != SPAD__NO_ITEM ? &builder->symbols.items[symbol->hidden] : NULL;
    }
    return symbol != NULL;
}

bool spad__add_broken(spad__kernel_builder *builder, const char *name) {
    if (spad__find_symbol(builder, name) != NULL) return true;
    if (!reserve_symbol(builder)) return false;
    const char *kept = spad__arena_copy(&builder->kernel->arena, name, strlen(name));
    if (kept == NULL) return false;
    add_symbol(builder, kept, SPAD__SYMBOL_BROKEN, -1);
    return true;
}

void spad__drop_symbols(spad__kernel_builder *builder, size_t count) {
    while (builder->symbols.count > count) {
        const spad__symbol *symbol = &builder->symbols.items[--builder->symbols.count];
        const uint64_t hash = hash_name(symbol->name);
        spad__index_remove(&builder->symbol_index, hash, builder->symbols.count);
        if (symbol->hidden != SPAD__NO_ITEM)
            spad__index_add(&builder->symbol_index, hash, symbol->hidden);
    }
}

spad_status spad__fail_unknown(const spad__kernel_builder *builder, const char *what,
                               const char *name, spad__symbol_kind kind, spad_error *error) {
    spad__nearest nearest;
    char hint[192];
    spad__nearest_start(&nearest, name);
    for (size_t i = 0; i < builder->symbols.count; i++) {
        const spad__symbol *symbol = &builder->symbols.items[i];
        const bool number = symbol->kind == SPAD__SYMBOL_PARAM && kind == SPAD__SYMBOL_LOOP;
        if (symbol->kind == kind || number) spad__nearest_offer(&nearest, symbol->name);
    }
    spad__nearest_phrase(&nearest, hint, sizeof hint);
    spad__fail(error, SPAD_ERR_UNKNOWN, "no %s '%s' here%s", what, name, hint);
    spad__fact_names(error, name, NULL);
    return SPAD_ERR_UNKNOWN;
}

spad_status spad__check_visible(const spad__kernel_builder *builder, int64_t number,
                                spad_error *error) {
    const spad_kernel *kernel = builder->kernel;
    if (number < 0 || (size_t)number >= kernel->tensors.count) {
        return spad__fail(error, SPAD_ERR_UNKNOWN, "no such tensor");
    }
    const char *name = kernel->tensors.items[number].name;
    if (spad__is_visible(builder, name, SPAD__SYMBOL_TENSOR, number)) return SPAD_OK;
    return spad__fail(error, SPAD_ERR_UNKNOWN, "the block that declares '%s' is closed", name);
}
