/* SPDX-License-Identifier: Apache-2.0
 *
 * From folded nodes to a kernel: declarations first, then loops and operations, whose numbers are
 * sums of a constant and a multiple of each loop variable around them.
 */
#include "kernel/fold/fold_build.h"

#include <stdio.h>
#include <string.h>

/* ---- declarations ------------------------------------------------------------------ */

void spad__fold_add_sources(spad__fold_maker *m) {
    for (size_t i = 0; i < m->f->kernel->sources.count && spad__fold_fine(m); i++) {
        const spad_kernel_source *s = &m->f->kernel->sources.items[i];
        int64_t number;
        m->status =
            spad__kernel_builder_source(&number, m->b, s->file, s->line,
                                        s->code[0] != '\0' ? s->code : NULL, s->caller, m->error);
        if (spad__fold_fine(m)) m->b->kernel->sources.items[i].column = s->column;
    }
    m->b->kernel->compiled = m->f->kernel->compiled;
}

void spad__fold_add_faults(spad__fold_maker *m) {
    for (size_t i = 0; i < m->f->kernel->faults.count && spad__fold_fine(m); i++) {
        const spad__kernel_fault *fault = &m->f->kernel->faults.items[i];
        spad__kernel_builder_at(m->b, fault->location);
        m->status = spad__kernel_builder_from(m->b, fault->source, m->error);
        if (spad__fold_fine(m))
            m->status = spad__kernel_builder_fault(m->b, fault->message, fault->times, m->error);
    }
    if (spad__fold_fine(m)) m->status = spad__kernel_builder_from(m->b, -1, m->error);
}

/* Marks the families that operations in loops touch, and what those are in. */
static void mark_used(spad__folder *f, uint32_t number, bool inside) {
    const spad__fold_shape *shape = &f->shapes.items[number];
    for (size_t i = 0; i < shape->child_count; i++) mark_used(f, shape->children[i], true);
    if (shape->child_count > 0 || !inside) return;
    const spad_statement *s = &f->kernel->statements.items[shape->statement];
    for (size_t i = 0; i < s->access_count; i++) {
        const int64_t family = f->family[f->kernel->accesses.items[s->first_access + i].tensor];
        if (family >= 0) f->families.items[family].used = true;
    }
}

static void mark_families(spad__folder *f) {
    for (size_t i = 0; i < f->nodes.count; i++) mark_used(f, f->nodes.items[i].shape, false);
    for (size_t i = 0; i < f->families.count; i++) {
        spad__family *family = &f->families.items[i];
        if (family->used && family->of >= 0) f->families.items[family->of].used = true;
    }
    for (size_t i = 0; i < f->families.count; i++) { /* aliases go with what they are in */
        spad__family *family = &f->families.items[i];
        if (family->of >= 0) family->used = f->families.items[family->of].used;
        if (family->of < 0 && family->count == 1) family->used = false;
    }
    for (size_t i = 0; i < f->families.count; i++) {
        spad__family *family = &f->families.items[i];
        if (family->of >= 0) family->used = f->families.items[family->of].used;
    }
}

/* Lists of a family, one number for each dimension. */
typedef struct family_lists {
    spad_amount blocks[SPAD__FAMILY_RANK];
    spad_amount rings[SPAD__FAMILY_RANK];
    spad_amount steps[SPAD__FAMILY_RANK];
} family_lists;

static void place_family(const spad__family *family, spad_kernel_tensor *row, family_lists *lists) {
    bool turns = false;
    for (size_t d = 0; d < family->rank; d++) {
        const spad__family_dim *dim = &family->dims[d];
        lists->blocks[d] = (spad_amount){.value = dim->count};
        lists->rings[d] = (spad_amount){.value = dim->ring};
        lists->steps[d] = (spad_amount){.value = dim->stride};
        turns = turns || dim->ring < dim->count;
    }
    row->blocks = (spad_amounts){family->rank, lists->blocks};
    if (row->mode != SPAD_MODE_AT) return;
    row->byte = (spad_amount){.value = family->byte};
    if (turns) row->ring = (spad_amounts){family->rank, lists->rings};
    if (family->rank > 1) {
        row->steps = (spad_amounts){family->rank, lists->steps};
    } else if (lists->steps[0].value != row->tile_bytes) {
        row->step = lists->steps[0];
    }
}

/* Numbers as they are: their expressions belong to the other kernel. */
static spad_kernel_tensor copy_tensor(const spad_kernel_tensor *old, spad_amount *dims) {
    spad_kernel_tensor row = *old;
    for (size_t i = 0; i < old->dims.count; i++) {
        dims[i] = (spad_amount){.value = old->dims.items[i].value};
    }
    row.dims.items = dims;
    row.byte.expr = row.lane.expr = row.bank.expr = row.step.expr = row.align.expr = 0;
    return row;
}

/* A tensor of the new kernel: one of the old, or a family at its first member. */
static void fold_add_tensor(spad__fold_maker *m, size_t number) {
    spad__folder *f = m->f;
    const spad_kernel_tensor *old = &f->kernel->tensors.items[number];
    spad__family *family = f->family[number] >= 0 ? &f->families.items[f->family[number]] : NULL;
    family_lists lists;
    spad_amount dims[SPAD_RANK_MAX];
    int64_t made = -1;
    f->singles[number] = -1;
    if (family != NULL && family->used && family->first != (int64_t)number) return;
    spad_kernel_tensor row = copy_tensor(old, dims);
    if (family != NULL && family->used) {
        place_family(family, &row, &lists);
        if (family->of >= 0) {
            row.alias_of = f->families.items[family->of].made;
            row.alias_tile = -1;
        }
    } else if (row.mode == SPAD_MODE_ALIAS) {
        row.alias_of = f->singles[old->alias_of];
    }
    const int64_t source = f->kernel->statements.items[old->statement].source;
    m->status = spad__kernel_builder_from(m->b, source, m->error);
    if (spad__fold_fine(m)) m->status = spad__kernel_builder_tensor(&made, m->b, &row, m->error);
    if (family != NULL && family->used) {
        family->made = made;
    } else {
        f->singles[number] = made;
    }
}

/* ---- operations -------------------------------------------------------------------- */

static void fold_add_access(spad__fold_maker *m, const spad_kernel_access *old,
                            const int64_t *moving, size_t *at) {
    const spad__folder *f = m->f;
    const int64_t family = f->family[old->tensor];
    spad_expr index[SPAD__FAMILY_RANK];
    spad_expr_range ranges[SPAD_RANK_MAX];
    spad_kernel_access row = {
        .kind = old->kind, .ranges = ranges, .index = index, .spread = old->spread};
    if (old->moves != 0) {
        row.moves = spad__fold_number(m, moving, *at);
        ++*at;
    }
    const size_t rank = family >= 0 ? f->families.items[family].rank : 0;
    if (family >= 0 && f->families.items[family].used) {
        row.tensor = f->families.items[family].made;
        row.index_count = rank;
        for (size_t d = 0; d < rank; d++) index[d] = spad__fold_number(m, moving, *at + d);
    } else {
        row.tensor = f->singles[old->tensor];
    }
    *at += rank;
    row.range_count = old->range_count;
    for (size_t i = 0; i < old->range_count; i++) {
        const spad_expr_range *range = &old->ranges[i];
        ranges[i] = (spad_expr_range){0};
        if (range->from != 0) {
            ranges[i].from = spad__fold_number(m, moving, *at);
            ++*at;
        }
        if (range->to != 0) {
            ranges[i].to = spad__fold_number(m, moving, *at);
            ++*at;
        }
        if (range->step != 0) {
            ranges[i].step =
                spad__fold_constant(m, spad_kernel_get_expr(f->kernel, range->step).least);
        }
    }
    if (spad__fold_fine(m)) m->status = spad__kernel_builder_access(m->b, &row, m->error);
}

static void fold_add_operation(spad__fold_maker *m, size_t statement, const int64_t *moving) {
    const spad_kernel *k = m->f->kernel;
    const spad_statement *s = &k->statements.items[statement];
    size_t at = 0;
    m->status = spad__kernel_builder_from(m->b, s->source, m->error);
    if (spad__fold_fine(m)) {
        m->status = spad__kernel_builder_operation(m->b, k->target->engines[s->engine].name,
                                                   s->name, m->error);
    }
    spad_expr cost = 0;
    if (s->cost != 0) cost = spad__fold_number(m, moving, at);
    at += s->cost != 0;
    for (size_t i = 0; i < s->access_count && spad__fold_fine(m); i++) {
        fold_add_access(m, &k->accesses.items[s->first_access + i], moving, &at);
    }
    if (spad__fold_fine(m) && s->cost_kind != SPAD_COST_TARGET) {
        m->status = spad__kernel_builder_cost(m->b, s->cost_kind, cost, m->error);
    }
}

/* ---- loops ------------------------------------------------------------------------- */

/* "i", "j", "k", "l", "m", "n", then "i6"; with "_" until it is not taken. */
static void name_loop(const spad__fold_maker *m, char *field, size_t size) {
    static const char letters[] = "ijklmn";
    if (m->depth < sizeof letters - 1) {
        snprintf(field, size, "%c", letters[m->depth]);
    } else {
        snprintf(field, size, "i%zu", m->depth);
    }
    while (spad__find_symbol(m->b, field) != NULL && strlen(field) + 1 < size) strcat(field, "_");
}

static void fold_add_node(spad__fold_maker *m, uint32_t number, const int64_t *moving,
                          const int64_t *fixed);

/* Steps of the loops around point at the numbers of the child while it is added. */
static void fold_add_body(spad__fold_maker *m, const spad__fold_shape *shape, const int64_t *moving,
                          const int64_t *fixed) {
    size_t moved = 0;
    size_t stayed = 0;
    for (size_t i = 0; i < shape->child_count && spad__fold_fine(m); i++) {
        const spad__fold_shape *child = &m->f->shapes.items[shape->children[i]];
        fold_add_node(m, shape->children[i], moving + moved, fixed + stayed);
        for (size_t d = 0; d < m->depth; d++) m->steps[d] += child->moving;
        moved += child->moving;
        stayed += child->fixed;
    }
    for (size_t d = 0; d < m->depth; d++) m->steps[d] -= moved;
}

/* Has a loop one round, in every round of the loops around it? */
static bool fold_is_once(const spad__fold_maker *m, size_t trips, const int64_t *moving) {
    for (size_t d = 0; d < m->depth; d++) {
        if (m->steps[d][trips] != 0) return false;
    }
    return moving[trips] == 1 && !spad__fold_depends(m, moving, trips);
}

static void fold_add_loop(spad__fold_maker *m, const spad__fold_shape *shape, const int64_t *moving,
                          const int64_t *fixed) {
    char name[32];
    const size_t trips = shape->moving - 1;
    if (fold_is_once(m, trips, moving)) {
        fold_add_body(m, shape, moving, fixed);
        return;
    }
    if (m->depth == SPAD__LOOPS_DEEP) {
        m->status = spad__fail(m->error, SPAD_ERR_ARGUMENT, "loops are nested too deep: at most %d",
                               SPAD__LOOPS_DEEP);
        return;
    }
    const spad_expr from = spad__fold_constant(m, 0);
    const spad_expr to = spad__fold_number(m, moving, trips);
    name_loop(m, name, sizeof name);
    if (spad__fold_fine(m)) m->status = spad__kernel_builder_from(m->b, -1, m->error);
    if (spad__fold_fine(m)) {
        m->status = spad__kernel_builder_range(&m->variables[m->depth], m->b, name, from, to,
                                               (spad_amount){.value = 1}, false, m->error);
    }
    if (!spad__fold_fine(m)) return;
    m->grows[m->depth] = spad__fold_depends(m, moving, trips);
    m->steps[m->depth++] = fixed + shape->fixed - trips;
    fold_add_body(m, shape, moving, fixed);
    m->depth--;
    if (spad__fold_fine(m)) m->status = spad__kernel_builder_end(m->b, m->error);
}

/* Recursion as deep as loops are nested. */
static void fold_add_node(spad__fold_maker *m, uint32_t number, const int64_t *moving,
                          const int64_t *fixed) {
    const spad__fold_shape *shape = &m->f->shapes.items[number];
    if (shape->child_count > 0) {
        fold_add_loop(m, shape, moving, fixed);
    } else if (m->f->by_agent) {
        spad__fold_add_statement(m, shape->statement, moving);
    } else {
        fold_add_operation(m, shape->statement, moving);
    }
}

/* Outside of loops a shape also stands for operations on members of a family that is not used as
 * one, so the statement itself counts. */
void spad__fold_add_top(spad__fold_maker *m, const spad__fold_node *node) {
    const spad__fold_shape *shape = &m->f->shapes.items[node->shape];
    m->moving_slopes = shape->moving;
    m->fixed_slopes = shape->fixed;
    if (shape->child_count > 0) {
        fold_add_node(m, node->shape, node->moving, node->fixed);
    } else if (m->f->by_agent) {
        spad__fold_add_statement(m, node->statement, node->moving);
    } else {
        fold_add_operation(m, node->statement, node->moving);
    }
}

spad_status spad__fold_build(spad__folder *f, spad__kernel_builder *b, spad_error *error) {
    spad__fold_maker m = {.f = f, .b = b, .error = error};
    mark_families(f);
    spad__fold_add_sources(&m);
    spad__fold_add_faults(&m);
    for (size_t i = 0; i < f->kernel->tensors.count && spad__fold_fine(&m); i++) {
        fold_add_tensor(&m, i);
    }
    for (size_t i = 0; i < f->nodes.count && spad__fold_fine(&m); i++) {
        spad__fold_add_top(&m, &f->nodes.items[i]);
    }
    return m.status;
}
