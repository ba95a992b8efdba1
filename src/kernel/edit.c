/* SPDX-License-Identifier: Apache-2.0
 *
 * Edits: the text of the changed kernel is read again, and every row gets the location that it has
 * in the kernel, so that what is reported about the new one points into the text of the old one.
 * O(text), and O(statements x moved ones).
 */
#include "kernel/edit.h"

#include <string.h>

#include "base/assert.h"

spad__edit spad__edit_of_nothing(void) {
    return (spad__edit){.flat = -1, .alias = -1, .alias_of = -1, .without_sync = -1};
}

bool spad__has_own_place(const spad_kernel *k, size_t tensor) {
    const spad_kernel_tensor *t = &k->tensors.items[tensor];
    return t->mode == SPAD_MODE_AUTO && t->flags == 0 && !k->target->spaces[t->space].off_chip &&
           t->lane.value == 0 && t->lane.expr == 0;
}

bool spad__is_home(const spad_kernel *k, size_t tensor) {
    for (size_t i = 0; i < k->tensors.count; i++) {
        if (i != tensor && k->tensors.items[i].home == (int64_t)tensor) return true;
    }
    return false;
}

spad__edit spad__edit_alias(const spad_kernel *k, size_t tensor, size_t of, int64_t *to) {
    const size_t at = k->tensors.items[tensor].statement;
    const size_t other_at = k->tensors.items[of].statement;
    spad__edit edit = spad__edit_of_nothing();
    for (size_t i = 0; i < k->statements.count; i++) to[i] = SPAD__STAYS;
    edit.to = to;
    edit.alias = (int64_t)tensor;
    edit.alias_of = (int64_t)of;
    if (at < other_at) to[at] = (int64_t)other_at + 1;
    return edit;
}

/* The statements of the kernel in the order of the new text; *count of them. False: no memory. */
static bool list_written(const spad_host *host, const spad_kernel *kernel, const spad__edit *edit,
                         size_t **out, size_t *count) {
    const size_t all = kernel->statements.count;
    size_t *list = spad__new_array(host, all + 1, sizeof *list);
    *out = list;
    *count = 0;
    if (list == NULL) return false;
    for (size_t i = 0; i < all; i++) {
        for (size_t k = 0; edit->to != NULL && k < all; k++) {
            if (edit->to[k] == (int64_t)i) list[(*count)++] = k;
        }
        if (edit->to == NULL || edit->to[i] == SPAD__STAYS) list[(*count)++] = i;
    }
    return true;
}

static void carry_statement(spad_kernel *to, size_t number, const spad_kernel *from,
                            size_t old_number) {
    spad_statement *s = &to->statements.items[number];
    const spad_statement *old = &from->statements.items[old_number];
    s->location = old->location;
    if (s->kind == SPAD_STATEMENT_TENSOR) {
        to->tensors.items[s->item].location = from->tensors.items[old->item].location;
    }
    for (size_t i = 0; i < s->access_count; i++) {
        to->accesses.items[s->first_access + i].location =
            from->accesses.items[old->first_access + i].location;
    }
    for (size_t i = 0; i < s->completion_count; i++) {
        to->completions.items[s->first_completion + i].location =
            from->completions.items[old->first_completion + i].location;
    }
}

#define CARRY_ROWS(table)                        \
    for (size_t i = 0; i < to->table.count; i++) \
    to->table.items[i].location = from->table.items[i].location

/* Declarations outside of blocks, loops and agents keep their order; an object may be missing. */
static void carry_declarations(spad_kernel *to, const spad_kernel *from, const spad__edit *edit) {
    CARRY_ROWS(params);
    CARRY_ROWS(regions);
    CARRY_ROWS(units);
    CARRY_ROWS(agents);
    CARRY_ROWS(loops);
    CARRY_ROWS(cursors);
    CARRY_ROWS(unknowns);
    for (size_t i = 0; i < to->syncs.count; i++) {
        const bool later = edit->without_sync >= 0 && i >= (size_t)edit->without_sync;
        to->syncs.items[i].location = from->syncs.items[later ? i + 1 : i].location;
    }
}

static spad_status carry_locations(spad_kernel *to, const spad_kernel *from, const spad__edit *edit,
                                   const spad_host *host, spad_error *error) {
    size_t *list;
    size_t count;
    if (!list_written(host, from, edit, &list, &count)) return spad__fail_host_memory(error);
    spad__assert(count == to->statements.count); /* the text has them in the same order */
    carry_declarations(to, from, edit);
    for (size_t i = 0; i < count; i++) carry_statement(to, i, from, list[i]);
    spad__free(host, list, (from->statements.count + 1) * sizeof *list);
    return SPAD_OK;
}

spad_status spad__kernel_edit(spad_kernel **out, const spad_kernel *kernel, const spad__edit *edit,
                              const spad_host *host, spad_error *error) {
    const spad_host memory = spad__host_or_default(host);
    const spad_kernel_options options = {.target = kernel->target, .host = &memory};
    spad__memo p = {.host = &memory};
    const spad_sink sink = spad__memo_sink(&p);
    *out = NULL;
    spad_status status = spad__kernel_write_edited(kernel, edit, &sink, NULL);
    if (status != SPAD_OK) {
        status = spad__fail_host_memory(error); /* the page is the only thing that can fail */
    } else {
        status =
            spad_kernel_parse(out, p.text.items, p.text.count, kernel->file, &options, NULL, error);
        if (status != SPAD_OK) spad__fact_location(error, NULL, 0, 0);
    }
    spad__memo_free(&p);
    if (status == SPAD_OK) status = carry_locations(*out, kernel, edit, &memory, error);
    if (status != SPAD_OK) {
        spad_kernel_destroy(*out);
        *out = NULL;
    }
    return status;
}
