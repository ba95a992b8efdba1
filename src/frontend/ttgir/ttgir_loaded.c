/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers that a kernel loads from memory, and that the caller knows: sizes of a group of matrices,
 * lengths of sequences. A value that is given by the name of the user's variable is that of all
 * loads with this name, in each round: what depends on it is run with it.
 *
 * A number that is not given is data, and the same data wherever it is loaded from the same place,
 * if nothing is stored through that argument: partitions that ask for the same flag do the same.
 *
 * O(operations) for each value that is given, and for each depth of regions.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "frontend/ttgir/ttgir.h"

enum { LISTED_MAX = 6 };

/* "tt.load %p : !tt.ptr<i32>": one integer, and not a tensor of them. */
static bool loads_number(const spad__ttgir *t, const spad__mlir_op *op) {
    if (!spad__mlir_named(t->m, op, "tt.load") || op->result_count != 1) return false;
    for (uint32_t at = op->name + 1; at + 3 < op->end; at++) {
        if (spad__mlir_is_mark(t->m, at, ':') && spad__mlir_is(t->m, at + 1, "!tt.ptr") &&
            spad__ttgir_integer_bits(t->m, at + 3) > 0) {
            return true;
        }
    }
    return false;
}

/* False: not a load of a number, or it has no name. */
static bool name_of_load(const spad__ttgir *t, const spad__mlir_op *op, char *name) {
    if (!loads_number(t, op)) return false;
    spad__ttgir_name(t, op, name);
    return strcmp(name, SPAD__TTGIR_NO_NAME) != 0;
}

void spad__ttgir_read_loaded(spad__ttgir *t, bool *used) {
    char name[SPAD__GPU_NAME];
    for (size_t d = 0; d < t->options->define_count; d++) {
        for (size_t i = 0; i < t->m->ops.count && !used[d]; i++) {
            const spad__mlir_op *op = &t->m->ops.items[i];
            if (!name_of_load(t, op, name)) continue;
            t->loads.given[d] = used[d] = strcmp(name, t->options->defines[d].name) == 0;
        }
        t->loads.any = t->loads.any || t->loads.given[d];
    }
}

bool spad__ttgir_loaded(const spad__ttgir *t, const spad__mlir_op *op, int64_t *value) {
    char name[SPAD__GPU_NAME];
    if (!t->loads.any || !name_of_load(t, op, name)) return false;
    for (size_t d = 0; d < t->options->define_count; d++) {
        if (!t->loads.given[d] || strcmp(name, t->options->defines[d].name) != 0) continue;
        *value = t->options->defines[d].value;
        return true;
    }
    return false;
}

static bool is_in_list(char names[LISTED_MAX][SPAD__GPU_NAME], size_t count, const char *name) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) return true;
    }
    return false;
}

void spad__ttgir_list_loads(const spad__ttgir *t, char *text, size_t size) {
    char names[LISTED_MAX][SPAD__GPU_NAME];
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
        if (!t->loads.given[d]) continue;
        used = spad__append(text, size, used, "%s%.40s", used > 0 ? ", " : "",
                            t->options->defines[d].name);
    }
}

/* ---- the same number wherever it is loaded ---------------------------------------------- */

static bool is_one_of(const spad__ttgir *t, const spad__mlir_op *op, const char *const *names,
                      size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (spad__mlir_named(t->m, op, names[i])) return true;
    }
    return false;
}

/* Its result leads to the same memory as its first operand. */
static bool hands_pointer_on(const spad__ttgir *t, const spad__mlir_op *op) {
    static const char *const names[] = {"tt.addptr", "tt.splat", "tt.broadcast", "tt.expand_dims",
                                        "ttg.convert_layout"};
    return op->result_count == 1 && is_one_of(t, op, names, sizeof names / sizeof *names);
}

static bool only_reads(const spad__ttgir *t, const spad__mlir_op *op) {
    static const char *const names[] = {"tt.load", "ttg.async_copy_global_to_local"};
    return is_one_of(t, op, names, sizeof names / sizeof *names);
}

static bool set_origin(spad__ttgir *t, int32_t value, int32_t origin) {
    if (t->uses.origins.items[value] == origin) return false;
    t->uses.origins.items[value] = origin;
    return true;
}

/* One operand leads to the memory of an argument. True: something is new. */
static bool follow_pointer(spad__ttgir *t, const spad__mlir_op *op, uint32_t operand) {
    const spad__mlir *m = t->m;
    const int32_t origin =
        t->uses.origins.items[m->operands.items[op->first_operand + operand].value];
    bool changed = false;
    if (origin == 0 || only_reads(t, op)) return false;
    if (hands_pointer_on(t, op) && operand == 0) return set_origin(t, op->first_result, origin);
    if (!spad__mlir_named(m, op, "ttg.warp_specialize") || op->first_region < 0) {
        t->g->arguments.items[origin - 1].stored = true;
        return false;
    }
    for (int32_t region = m->regions.items[op->first_region].next; region >= 0;
         region = m->regions.items[region].next) {
        const spad__mlir_region *r = &m->regions.items[region];
        if (operand >= r->argument_count) continue;
        const int32_t argument = m->arguments.items[r->first_argument + operand];
        changed = set_origin(t, argument, origin) || changed;
    }
    return changed;
}

bool spad__ttgir_find_origins(spad__ttgir *t) {
    const spad__mlir *m = t->m;
    const spad__mlir_region *r = &m->regions.items[m->ops.items[t->function].first_region];
    if (!spad__array_reserve(t->g->host, &t->uses.origins, m->values.count)) return false;
    for (size_t i = 0; i < m->values.count; i++) t->uses.origins.items[i] = 0;
    t->uses.origins.count = m->values.count;
    for (uint32_t i = 0; i < r->argument_count; i++) {
        const int32_t value = m->arguments.items[r->first_argument + i];
        if (!t->g->arguments.items[i].integer) t->uses.origins.items[value] = (int32_t)i + 1;
    }
    for (bool changed = true; changed;) { /* an operation may come after those of its regions */
        changed = false;
        for (size_t i = 0; i < m->ops.count; i++) {
            const spad__mlir_op *op = &m->ops.items[i];
            for (uint32_t k = 0; k < op->operand_count; k++) {
                changed = follow_pointer(t, op, k) || changed;
            }
        }
    }
    return true;
}

spad__scalar spad__ttgir_same_load(spad__ttgir *t, const spad__mlir_op *op) {
    const spad__ttgir_value *pointer = spad__ttgir_operand(t, op, 0);
    if (!loads_number(t, op) || op->operand_count != 1) return SPAD__NO_SCALAR;
    if (spad__mlir_attribute(t->m, op, "isVolatile") != 0 ||
        spad__mlir_attribute(t->m, op, "cacheModifier") != 0) {
        return SPAD__NO_SCALAR; /* perhaps others write it */
    }
    if (pointer->kind != SPAD__TTGIR_POINTER || pointer->place < 0) return SPAD__NO_SCALAR;
    const int32_t origin = t->uses.origins.items[t->m->operands.items[op->first_operand].value];
    const spad__scalar_node *at = spad__scalar_get(&t->g->scalars, pointer->place);
    if (origin == 0 || t->g->arguments.items[origin - 1].stored || at->moves || at->data) {
        return SPAD__NO_SCALAR;
    }
    const spad__scalar loaded = spad__scalar_loaded(&t->g->scalars, origin - 1, pointer->place);
    if (loaded >= 0 && !t->g->dry && t->g->cluster.block == 0) {
        spad__scalar_node *node = &t->g->scalars.nodes.items[loaded];
        if (node->met) spad__gpu_assume(t->g, SPAD__ASSUME_LOAD_REPEATS, t->g->site);
        node->met = true;
    }
    return loaded;
}
