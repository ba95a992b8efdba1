/* SPDX-License-Identifier: Apache-2.0
 *
 * The numbers of a statement of an agent, and the statement with these numbers.
 *
 * `put` and `add` go through a statement in the same order: indices, ranges, amounts. An index
 * wraps at its extent. So that it moves evenly, it goes on counting here, and the statement that is
 * written takes it modulo the extent again. A parity wait has one number for its last index and its
 * parity, which changes each time the index wraps: number % extent is the index, and number /
 * extent % 2 the parity.
 */
#include "base/checked.h"
#include "kernel/fold/fold_build.h"

static int64_t value_of_expr(const spad__folder *f, spad_expr expr) {
    return spad_kernel_get_expr(f->kernel, expr).least;
}

static bool names_object(spad_statement_kind kind) {
    return kind >= SPAD_STATEMENT_SYNC && kind <= SPAD_STATEMENT_WAIT_GROUP;
}

/* The dims of an object that an index is for. The first ones, of the blocks of a cluster, do not
 * wrap. */
typedef struct turning_dims {
    const spad_amount *items;
    size_t count;
    size_t still;
} turning_dims;

static turning_dims dims_of_sync(const spad__folder *f, int64_t row, size_t count) {
    const spad_kernel_sync *sync = &f->kernel->syncs.items[row];
    return (turning_dims){sync->dims.items, count, sync->each_block && count > 0 ? 1 : 0};
}

static turning_dims dims_of_tensor(const spad__folder *f, int64_t row, size_t count) {
    return (turning_dims){f->kernel->tensors.items[row].blocks.items, count, 0};
}

/* ---- the code and the numbers --------------------------------------------------------- */

static void code_expr(spad__folder *f, spad_expr expr) {
    spad__fold_put_code(f, expr != 0);
    if (expr != 0) spad__fold_put_number(f, value_of_expr(f, expr));
}

/* An object: its ring, or itself. */
static void code_place(spad__folder *f, const spad__fold_place *place, int64_t row) {
    spad__fold_put_code(f, place->ring >= 0 ? place->ring : -1 - row);
}

/* An index that wraps goes on from its newest value in this agent, by the nearest way. */
static void code_turning_number(spad__folder *f, size_t number, int64_t value, int64_t extent) {
    spad__fold_cursor *cursor = &f->cursors.items[number];
    if (cursor->pass == f->pass) {
        int64_t way = (value - cursor->value) % extent;
        if (way < 0) way += extent;
        if (way > extent / 2) way -= extent;
        value = cursor->value + way;
    }
    spad__fold_put_number(f, value);
    *cursor = (spad__fold_cursor){value, f->pass};
}

/* Its own indices, and its number in the ring. The blocks of a cluster are not in turn. With a
 * parity, which is not negative, the last one that wraps counts both. */
static void code_index(spad__folder *f, const spad__fold_place *place, turning_dims dims,
                       const spad_expr *index, int64_t parity) {
    for (size_t i = 0; i < dims.count; i++) {
        const int64_t value = value_of_expr(f, index[i]);
        const bool last = parity >= 0 && place->ring < 0 && i + 1 == dims.count;
        const int64_t extent = i < dims.still ? 0 : dims.items[i].value;
        if (extent == 0) {
            spad__fold_put_number(f, value);
        } else {
            code_turning_number(f, place->cursor + i, value + (last ? parity * extent : 0),
                                last ? 2 * extent : extent);
        }
    }
    if (place->ring >= 0) {
        const int64_t extent = f->rings.items[place->ring].count;
        code_turning_number(f, (size_t)place->ring,
                            place->member + (parity >= 0 ? parity * extent : 0),
                            parity >= 0 ? 2 * extent : extent);
    } else if (parity >= 0 && dims.count == dims.still) {
        code_turning_number(f, place->cursor + dims.count, parity, 2);
    }
}

static void code_sync(spad__folder *f, int64_t row, const spad_expr *index, size_t count,
                      int64_t parity) {
    spad__fold_put_code(f, (int64_t)count);
    code_place(f, &f->syncs[row], row);
    code_index(f, &f->syncs[row], dims_of_sync(f, row, count), index, parity);
}

static void code_tensor(spad__folder *f, int64_t row, const spad_expr *index, size_t count) {
    spad__fold_put_code(f, (int64_t)count);
    code_place(f, &f->tensors[row], row);
    code_index(f, &f->tensors[row], dims_of_tensor(f, row, count), index, -1);
}

static void code_access(spad__folder *f, const spad_kernel_access *a) {
    spad__fold_put_code(f, a->kind);
    code_tensor(f, a->tensor, a->index, a->index_count);
    code_expr(f, a->moves);
    spad__fold_put_code(f, a->spread != NULL);
    if (a->spread != NULL) spad__fold_put_text(f, a->spread);
    spad__fold_put_code(f, (int64_t)a->range_count);
    for (size_t i = 0; i < a->range_count; i++) {
        code_expr(f, a->ranges[i].from);
        code_expr(f, a->ranges[i].to);
        spad__fold_put_code(f, a->ranges[i].step != 0 ? value_of_expr(f, a->ranges[i].step) : 0);
    }
}

static void code_operation(spad__folder *f, const spad_statement *s) {
    spad__fold_put_text(f, s->name);
    spad__fold_put_code(f, s->engine);
    spad__fold_put_code(f, s->group);
    spad__fold_put_code(f, (int64_t)s->access_count);
    spad__fold_put_code(f, (int64_t)s->completion_count);
    for (size_t i = 0; i < s->access_count; i++)
        code_access(f, &f->kernel->accesses.items[s->first_access + i]);
    for (size_t i = 0; i < s->completion_count; i++) {
        const spad_kernel_completion *c = &f->kernel->completions.items[s->first_completion + i];
        spad__fold_put_code(f, (int64_t)c->kind);
        spad__fold_put_code(f, c->flags);
        code_sync(f, c->object, c->index, c->index_count, -1);
        code_expr(f, c->amount);
    }
    spad__fold_put_code(f, (int64_t)s->cost_kind);
    code_expr(f, s->cost);
    spad__fold_put_code(f, (int64_t)s->latency_kind);
    spad__fold_put_code(f, s->latency.value);
    for (int w = 0; w < SPAD_WORKS; w++) spad__fold_put_code(f, s->work[w].value);
}

void spad__fold_put_statement(spad__folder *f, const spad_statement *s) {
    const bool waits = s->kind == SPAD_STATEMENT_WAIT_PARITY;
    spad__fold_put_code(f, -2 - s->agent);
    spad__fold_put_code(f, (int64_t)s->kind);
    spad__fold_put_code(f, s->source);
    spad__fold_put_code(f, s->flags);
    spad__fold_put_code(f, s->unit);
    spad__fold_put_code(f, s->fence);
    if (s->kind == SPAD_STATEMENT_OPERATION) {
        code_operation(f, s);
    } else if (names_object(s->kind)) {
        code_sync(f, s->item, s->index, s->index_count, waits ? value_of_expr(f, s->amount) : -1);
    } else if (s->item >= 0) {
        code_tensor(f, s->item, s->index, s->index_count);
    }
    if (!waits) code_expr(f, s->amount);
    code_expr(f, s->expect);
}

/* ---- the statement with its numbers --------------------------------------------------- */

/* Where the next number is. */
typedef struct number_reader {
    spad__fold_maker *m;
    const int64_t *moving;
    size_t at;
} number_reader;

static int64_t floor_modulo(int64_t value, int64_t extent) {
    const int64_t rest = value % extent;
    return rest < 0 ? rest + extent : rest;
}

static spad_expr next_expr(number_reader *r, spad_expr old) {
    if (old == 0) return 0;
    const spad_expr expr = spad__fold_number(r->m, r->moving, r->at);
    r->at++;
    return expr;
}

/* Is it inside of 0..extent, whatever the parameter is? */
static bool stays_below(const spad__fold_maker *m, const int64_t *moving, size_t at, spad_expr expr,
                        int64_t extent) {
    if (spad__fold_depends(m, moving, at)) return false;
    for (size_t d = 0; d < m->depth; d++) {
        if (m->grows[d] && m->steps[d][at] != 0) return false;
    }
    const spad_expr_info info = spad_kernel_get_expr(m->b->kernel, expr);
    return info.least >= 0 && info.most < extent;
}

/* Is it one number? */
static bool is_same_everywhere(const spad__fold_maker *m, const int64_t *moving, size_t at) {
    for (size_t d = 0; d < m->depth; d++) {
        if (m->steps[d][at] != 0) return false;
    }
    return !spad__fold_depends(m, moving, at);
}

/* A number, or one that is the same modulo the extent. */
static spad_expr near_number(number_reader *r, size_t at, int64_t extent) {
    return spad__fold_depends(r->m, r->moving, at)
               ? spad__fold_number(r->m, r->moving, at)
               : spad__fold_number_from(r->m, floor_modulo(r->moving[at], extent), r->moving, at);
}

/* A number modulo an extent. */
static spad_expr wrap_number(number_reader *r, size_t at, int64_t extent) {
    spad__fold_maker *m = r->m;
    if (is_same_everywhere(m, r->moving, at))
        return spad__fold_constant(m, floor_modulo(r->moving[at], extent));
    const spad_expr expr = near_number(r, at, extent);
    if (!spad__fold_fine(m) || stays_below(m, r->moving, at, expr, extent)) return expr;
    return spad__fold_apply(m, SPAD_EXPR_MOD, expr, spad__fold_constant(m, extent));
}

/* The parity of a number that counts the elements of a ring. */
static spad_expr parity_of_number(number_reader *r, size_t at, int64_t extent) {
    spad__fold_maker *m = r->m;
    if (is_same_everywhere(m, r->moving, at))
        return spad__fold_constant(m, floor_modulo(r->moving[at], 2 * extent) / extent);
    spad_expr expr = near_number(r, at, 2 * extent);
    if (!spad__fold_fine(m)) return 0;
    if (stays_below(m, r->moving, at, expr, extent)) return spad__fold_constant(m, 0);
    if (extent > 1) expr = spad__fold_apply(m, SPAD_EXPR_DIV, expr, spad__fold_constant(m, extent));
    return spad__fold_apply(m, SPAD_EXPR_MOD, expr, spad__fold_constant(m, 2));
}

typedef struct index_list {
    size_t count;
    spad_expr items[SPAD_RANK_MAX + 1];
} index_list;

static void next_fold_index(number_reader *r, const spad__fold_place *place, turning_dims dims,
                            index_list *out) {
    out->count = dims.count;
    for (size_t i = 0; i < dims.count; i++, r->at++) {
        out->items[i] = i < dims.still ? spad__fold_number(r->m, r->moving, r->at)
                                       : wrap_number(r, r->at, dims.items[i].value);
    }
    if (place->ring < 0) return;
    out->items[out->count++] = wrap_number(r, r->at, r->m->f->rings.items[place->ring].count);
    r->at++;
}

static int64_t made_row(const spad__folder *f, const spad__fold_place *place) {
    return place->ring >= 0 ? f->rings.items[place->ring].made : place->made;
}

/* The object of the new kernel and its index. */
static int64_t next_sync(number_reader *r, int64_t row, size_t count, index_list *out) {
    const spad__folder *f = r->m->f;
    next_fold_index(r, &f->syncs[row], dims_of_sync(f, row, count), out);
    return made_row(f, &f->syncs[row]);
}

static int64_t next_tensor(number_reader *r, int64_t row, size_t count, index_list *out) {
    const spad__folder *f = r->m->f;
    next_fold_index(r, &f->tensors[row], dims_of_tensor(f, row, count), out);
    return made_row(f, &f->tensors[row]);
}

/* The parity of a wait whose index was just read. */
static spad_expr next_wait_parity(number_reader *r, const spad_statement *s) {
    const spad__folder *f = r->m->f;
    const spad__fold_place *place = &f->syncs[s->item];
    const turning_dims dims = dims_of_sync(f, s->item, s->index_count);
    if (place->ring >= 0) return parity_of_number(r, r->at - 1, f->rings.items[place->ring].count);
    if (dims.count > dims.still)
        return parity_of_number(r, r->at - 1, dims.items[dims.count - 1].value);
    return parity_of_number(r, r->at++, 1);
}

static void write_fold_access(number_reader *r, const spad_kernel_access *old) {
    spad__fold_maker *m = r->m;
    index_list index;
    spad_expr_range ranges[SPAD_RANK_MAX];
    spad_kernel_access row = {.kind = old->kind, .ranges = ranges, .spread = old->spread};
    row.tensor = next_tensor(r, old->tensor, old->index_count, &index);
    row.index = index.items;
    row.index_count = index.count;
    row.moves = next_expr(r, old->moves);
    row.range_count = old->range_count;
    for (size_t i = 0; i < old->range_count; i++) {
        ranges[i] = (spad_expr_range){0};
        ranges[i].from = next_expr(r, old->ranges[i].from);
        ranges[i].to = next_expr(r, old->ranges[i].to);
        if (old->ranges[i].step != 0)
            ranges[i].step = spad__fold_constant(m, value_of_expr(m->f, old->ranges[i].step));
    }
    if (spad__fold_fine(m)) m->status = spad__kernel_builder_access(m->b, &row, m->error);
}

static void write_fold_completion(number_reader *r, const spad_kernel_completion *old) {
    spad__fold_maker *m = r->m;
    index_list index;
    spad_kernel_completion row = {.kind = old->kind, .flags = old->flags};
    row.object = next_sync(r, old->object, old->index_count, &index);
    row.index = index.items;
    row.index_count = index.count;
    row.amount = next_expr(r, old->amount);
    if (spad__fold_fine(m)) m->status = spad__kernel_builder_completion(m->b, &row, m->error);
}

static void write_fold_work(spad__fold_maker *m, const spad_statement *s) {
    if (spad__fold_fine(m) && s->latency_kind != SPAD_COST_TARGET) {
        m->status = spad__kernel_builder_latency(
            m->b, s->latency_kind, (spad_amount){.value = s->latency.value}, m->error);
    }
    for (int w = 0; w < SPAD_WORKS && spad__fold_fine(m); w++) {
        if (s->work[w].value == 0) continue;
        m->status = spad__kernel_builder_work(m->b, (spad_work)w,
                                              (spad_amount){.value = s->work[w].value}, m->error);
    }
}

static void write_fold_operation(number_reader *r, const spad_statement *s) {
    spad__fold_maker *m = r->m;
    const spad_kernel *k = m->f->kernel;
    const char *runner =
        s->unit >= 0 ? k->units.items[s->unit].name : k->target->engines[s->engine].name;
    m->status = spad__kernel_builder_operation(m->b, runner, s->name, m->error);
    for (size_t i = 0; i < s->access_count && spad__fold_fine(m); i++)
        write_fold_access(r, &k->accesses.items[s->first_access + i]);
    if (spad__fold_fine(m) && (s->flags & SPAD_BY_ONE) != 0)
        m->status = spad__kernel_builder_elect(m->b, m->error);
    if (spad__fold_fine(m) && s->group >= 0)
        m->status = spad__kernel_builder_group(m->b, m->f->syncs[s->group].made, m->error);
    for (size_t i = 0; i < s->completion_count && spad__fold_fine(m); i++)
        write_fold_completion(r, &k->completions.items[s->first_completion + i]);
    const spad_expr cost = next_expr(r, s->cost);
    if (spad__fold_fine(m) && s->cost_kind != SPAD_COST_TARGET)
        m->status = spad__kernel_builder_cost(m->b, s->cost_kind, cost, m->error);
    write_fold_work(m, s);
}

static void write_fold_other(number_reader *r, const spad_statement *s) {
    spad__fold_maker *m = r->m;
    spad_statement row = spad__statement_of(s->kind, s->item);
    index_list index = {.count = 0};
    if (names_object(s->kind)) {
        row.item = next_sync(r, s->item, s->index_count, &index);
    } else if (s->item >= 0) {
        row.item = next_tensor(r, s->item, s->index_count, &index);
    }
    row.amount =
        s->kind == SPAD_STATEMENT_WAIT_PARITY ? next_wait_parity(r, s) : next_expr(r, s->amount);
    row.expect = next_expr(r, s->expect);
    row.index = index.items;
    row.index_count = index.count;
    row.unit = s->unit;
    row.fence = s->fence;
    row.flags = s->flags;
    if (spad__fold_fine(m)) m->status = spad__kernel_builder_statement(m->b, &row, m->error);
}

void spad__fold_add_statement(spad__fold_maker *m, size_t statement, const int64_t *moving) {
    const spad_statement *s = &m->f->kernel->statements.items[statement];
    number_reader r = {m, moving, 0};
    spad__kernel_builder_at(m->b, s->location);
    m->status = spad__kernel_builder_from(m->b, s->source, m->error);
    if (!spad__fold_fine(m)) return;
    if (s->kind == SPAD_STATEMENT_OPERATION) {
        write_fold_operation(&r, s);
    } else {
        write_fold_other(&r, s);
    }
}
