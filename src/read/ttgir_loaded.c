/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers that a kernel loads from memory, and that the caller knows: sizes of a group of matrices,
 * lengths of sequences. A value that is given by the name of the user's variable is that of all
 * loads with this name, in each round: what depends on it is run with it.
 *
 * O(operations) for each value that is given.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "read/ttgir.h"

enum { LISTED_MAX = 6 };

/* "tt.load %p : !tt.ptr<i32>": one integer, and not a tensor of them. */
static bool loads_number(const spad__ttgir *t, const spad__mlir_op *op) {
    if (!spad__mlir_named(t->m, op, "tt.load") || op->result_count != 1) return false;
    for (uint32_t at = op->name + 1; at + 3 < op->end; at++) {
        if (spad__mlir_is_mark(t->m, at, ':') && spad__mlir_is(t->m, at + 1, "!tt.ptr") &&
            spad__ttgir_is_integer(t->m, at + 3)) {
            return true;
        }
    }
    return false;
}

/* False: it is no load of a number, or has no name. */
static bool name_of_load(const spad__ttgir *t, const spad__mlir_op *op, char *name) {
    if (!loads_number(t, op)) return false;
    spad__ttgir_name(t, op, name);
    return strcmp(name, SPAD__TTGIR_NO_NAME) != 0;
}

void spad__ttgir_read_loaded(spad__ttgir *t, bool *used) {
    char name[SPAD__TTGIR_NAME];
    for (size_t d = 0; d < t->options->define_count; d++) {
        for (size_t i = 0; i < t->m->ops.count && !used[d]; i++) {
            const spad__mlir_op *op = &t->m->ops.items[i];
            if (!name_of_load(t, op, name)) continue;
            t->loaded[d] = used[d] = strcmp(name, t->options->defines[d].name) == 0;
        }
        t->has_loaded = t->has_loaded || t->loaded[d];
    }
}

bool spad__ttgir_loaded(const spad__ttgir *t, const spad__mlir_op *op, int64_t *value) {
    char name[SPAD__TTGIR_NAME];
    if (!t->has_loaded || !name_of_load(t, op, name)) return false;
    for (size_t d = 0; d < t->options->define_count; d++) {
        if (!t->loaded[d] || strcmp(name, t->options->defines[d].name) != 0) continue;
        *value = t->options->defines[d].value;
        return true;
    }
    return false;
}

static bool is_in_list(char names[LISTED_MAX][SPAD__TTGIR_NAME], size_t count, const char *name) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) return true;
    }
    return false;
}

void spad__ttgir_list_loads(const spad__ttgir *t, char *text, size_t size) {
    char names[LISTED_MAX][SPAD__TTGIR_NAME];
    size_t count = 0, used = 0;
    int64_t value;
    text[0] = '\0';
    for (size_t i = 0; i < t->m->ops.count && count < LISTED_MAX; i++) {
        const spad__mlir_op *op = &t->m->ops.items[i];
        if (!name_of_load(t, op, names[count]) || spad__ttgir_loaded(t, op, &value)) continue;
        if (is_in_list(names, count, names[count])) continue;
        used = spad__append(text, size, used, "%s%s", count > 0 ? ", " : "", names[count]);
        count++;
    }
}

void spad__ttgir_list_loaded(const spad__ttgir *t, char *text, size_t size) {
    size_t used = 0;
    text[0] = '\0';
    for (size_t d = 0; d < t->options->define_count; d++) {
        if (!t->loaded[d]) continue;
        used = spad__append(text, size, used, "%s%.40s", used > 0 ? ", " : "",
                            t->options->defines[d].name);
    }
}
