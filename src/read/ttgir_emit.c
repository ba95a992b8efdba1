/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel of the notes, through its builder: its units, barriers and tensors, then the
 * statements of each stream of notes, as those of the whole kernel or of an agent.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "kernel/kernel.h"
#include "read/ttgir.h"

#define TRY(call)                                     \
    do {                                              \
        const spad_status try_status = (call);        \
        if (try_status != SPAD_OK) return try_status; \
    } while (0)

/* ---- declarations -------------------------------------------------------------------- */

static const char *const unit_names[] = {"", "cp", "tma", "wgmma", "tc5"};
static const char *const group_names[] = {"", "loads", "stores", "mmas"};

typedef struct spad__ttgir_rows {
    int64_t units[SPAD__TTGIR_UNITS];
    int64_t groups[SPAD__TTGIR_GROUPS];
    int64_t join;
    int64_t meet;    /* where the warps of the main program meet; -1: not yet made */
    int64_t cluster; /* where the blocks of a cluster meet */
    int64_t fence;
    int64_t init_fence; /* after the init of mbarriers */
} spad__ttgir_rows;

static spad_status emit_units(spad__ttgir *t, spad__ttgir_rows *rows, spad_error *error) {
    static const struct {
        const char *engine;
        spad_unit_order order;
        bool proxy;
    } kinds[] = {{"", SPAD_UNIT_FREE, false},
                 {"copy", SPAD_UNIT_FREE, false},
                 {"copy", SPAD_UNIT_FREE, true},
                 {"tensor", SPAD_UNIT_SAME, true},
                 {"tensor", SPAD_UNIT_SAME, true}};
    const spad_amount none = {0};
    const spad_amounts no_dims = {0};
    bool units[SPAD__TTGIR_UNITS] = {false}, groups[SPAD__TTGIR_GROUPS] = {false};
    for (size_t i = 0; i < t->notes.count; i++) {
        units[t->notes.items[i].unit] = true;
        groups[t->notes.items[i].group] = true;
    }
    for (size_t i = 1; i < SPAD__TTGIR_UNITS; i++) {
        size_t engine;
        rows->units[i] = -1;
        if (!units[i]) continue;
        TRY(spad_target_find_engine(&engine, t->target, kinds[i].engine, error));
        TRY(spad_kernel_builder_unit(&rows->units[i], t->builder, unit_names[i], engine,
                                     kinds[i].order, kinds[i].proxy, error));
    }
    for (size_t i = 1; i < SPAD__TTGIR_GROUPS; i++) {
        if (!groups[i]) continue;
        TRY(spad_kernel_builder_sync(&rows->groups[i], t->builder, SPAD_SYNC_GROUP, group_names[i],
                                     no_dims, none, error));
    }
    return SPAD_OK;
}

/* A barrier of this name, for each block of a cluster where the kernel has several. */
static spad_status emit_barrier(spad__ttgir *t, const char *name, int64_t count, int64_t *row,
                                spad_error *error) {
    const spad_amount blocks = {.value = t->ranks}, all = {.value = count};
    const spad_amounts dims = {t->ranks > 1 ? 1 : 0, &blocks};
    return spad_kernel_builder_sync(row, t->builder, SPAD_SYNC_BARRIER, name, dims, all, error);
}

/* Where the agents of a block meet, and the blocks. */
static spad_status emit_joins(spad__ttgir *t, spad__ttgir_rows *rows, spad_error *error) {
    const spad_amount blocks = {.value = t->ranks};
    const spad_amounts no_dims = {0};
    if (t->regions > (t->ranks > 1 ? 0 : 1)) {
        TRY(emit_barrier(t, "join", (int64_t)t->agents.count, &rows->join, error));
    }
    if (t->ranks < 2) return SPAD_OK;
    TRY(spad_kernel_builder_cluster(t->builder, blocks, error));
    return spad_kernel_builder_sync(&rows->cluster, t->builder, SPAD_SYNC_BARRIER, "cluster",
                                    no_dims, blocks, error);
}

/* Where the warps of the stream of a note meet: a barrier of its own, which one agent takes part
 * in.
 */
static spad_status emit_meet(spad__ttgir *t, spad__ttgir_rows *rows, int stream,
                             spad_error *error) {
    const int agent = stream - SPAD__STREAM_DEFAULT;
    int64_t *row = agent < 0 ? &rows->meet : &t->agents.items[agent].meet;
    char name[SPAD__TTGIR_NAME] = "meet";
    if (*row >= 0) return SPAD_OK;
    if (agent == 0) strcpy(name, "meet_default");
    if (agent > 0) snprintf(name, sizeof name, "meet_partition%d", agent - 1);
    if (!spad__ttgir_unique(t, name, "")) return spad__fail_host_memory(error);
    return emit_barrier(t, name, 1, row, error);
}

static spad_status emit_meets(spad__ttgir *t, spad__ttgir_rows *rows, spad_error *error) {
    for (size_t i = 0; i < t->notes.count; i++) {
        const spad__ttgir_note *note = &t->notes.items[i];
        if (note->kind == SPAD__NOTE_MEET) TRY(emit_meet(t, rows, note->stream, error));
    }
    return SPAD_OK;
}

static spad_status source_at(spad__ttgir *t, uint32_t at, int64_t *out, int depth,
                             spad_error *error) {
    const spad__ttgir_place place = spad__ttgir_place_at(t, at);
    char file[512];
    int64_t caller = -1;
    *out = -1;
    if (place.call != 0 && depth < 8) TRY(source_at(t, place.call, &caller, depth + 1, error));
    const size_t length = place.file != 0 ? t->m->tokens.items[place.file].length : 0;
    if (length < 3 || length - 2 >= sizeof file) {
        *out = caller;
        return SPAD_OK;
    }
    memcpy(file, spad__mlir_text(t->m, place.file) + 1, length - 2);
    file[length - 2] = '\0';
    const spad_kernel *kernel = t->builder->kernel;
    for (size_t i = 0; i < kernel->sources.count; i++) {
        const spad_kernel_source *row = &kernel->sources.items[i];
        if (row->line == place.line && row->caller == caller && strcmp(row->file, file) == 0) {
            *out = (int64_t)i;
            return SPAD_OK;
        }
    }
    return spad_kernel_builder_source(out, t->builder, file, place.line, NULL, caller, error);
}

/* What is added next is at this operation. */
static spad_status go_to(spad__ttgir *t, int32_t number, spad_error *error) {
    int64_t source = -1;
    if (number < 0) return SPAD_OK;
    const spad__mlir_op *op = &t->m->ops.items[number];
    const spad__mlir_token *name = &t->m->tokens.items[op->name];
    const uint32_t at = spad__mlir_location(t->m, op);
    spad_kernel_builder_at(t->builder, (spad_location){.line = name->line,
                                                       .column = spad__mlir_column(t->m, op->name),
                                                       .width = (int32_t)name->length});
    if (at != 0) TRY(source_at(t, at + 1, &source, 0, error));
    return spad_kernel_builder_from(t->builder, source, error);
}

static spad_status emit_tensor(spad__ttgir *t, spad__ttgir_buffer *b, spad_error *error) {
    static const char *const spaces[] = {"shared", "tmem", "global", "registers"};
    spad_amount dims[SPAD__TTGIR_RANK];
    const spad_amount stages = {.value = b->stages};
    spad_kernel_tensor tensor = {.name = b->name,
                                 .dtype = b->dtype,
                                 .mode = b->offset >= 0 ? SPAD_MODE_AT : SPAD_MODE_AUTO,
                                 .alias_of = -1,
                                 .alias_tile = -1};
    char space[32];
    if (b->rank < 1) return SPAD_OK;
    snprintf(space, sizeof space, "%s", spaces[b->space]);
    if (t->rank > 0 && b->space <= SPAD__TTGIR_TMEM) {
        snprintf(space, sizeof space, "%s[%d]", spaces[b->space], t->rank);
    }
    TRY(spad_target_find_space(&tensor.space, t->target, space, error));
    for (int d = 0; d < b->rank; d++) dims[d] = (spad_amount){.value = b->dims[d]};
    tensor.dims = (spad_amounts){(size_t)b->rank, dims};
    if (b->stages > 0) tensor.blocks = (spad_amounts){1, &stages};
    if (b->offset >= 0) {
        tensor.byte.value = b->offset;
    } else if (t->rank > 0 && b->space <= SPAD__TTGIR_TMEM) { /* one program: the same bytes */
        const int32_t number = (int32_t)(b - t->buffers.items);
        tensor.like = spad__ttgir_buffer_in(t, number, t->rank, 0)->row + 1;
    }
    if (b->space == SPAD__TTGIR_SHARED) tensor.align.value = b->align;
    if (b->space == SPAD__TTGIR_GLOBAL || b->space == SPAD__TTGIR_REGISTERS) {
        tensor.flags = b->written ? SPAD_TENSOR_PERSISTENT : SPAD_TENSOR_INPUT;
    }
    return spad_kernel_builder_tensor(&b->row, t->builder, &tensor, error);
}

/* An mbarrier that the compiler has put where an earlier one is; -1: none. To the chip the two are
 * one object, which is to be invalidated before it is initialised again. */
static int64_t same_barrier(const spad__ttgir *t, const spad__ttgir_buffer *b) {
    for (const spad__ttgir_buffer *o = t->buffers.items; o < b && b->offset >= 0; o++) {
        if (o->barrier && o->row >= 0 && o->offset == b->offset && o->stages == b->stages)
            return o->row;
    }
    return -1;
}

/* The name of what is in a block has the number of the block. False: no memory. */
static bool name_buffer(spad__ttgir *t, spad__ttgir_buffer *b, const char *suffix) {
    char word[16], name[SPAD__TTGIR_NAME];
    if (t->ranks < 2 || b->barrier || b->space == SPAD__TTGIR_GLOBAL) {
        return spad__ttgir_unique(t, b->name, suffix);
    }
    snprintf(name, sizeof name, "%.15s%s", b->name, suffix);
    snprintf(word, sizeof word, "_block%d", t->rank);
    memcpy(b->name, name, sizeof name);
    return spad__ttgir_unique(t, b->name, word);
}

/* What all blocks of a cluster have together: its row is that of the first block. */
static bool is_of_cluster(const spad__ttgir *t, const spad__ttgir_buffer *b) {
    return t->ranks > 1 && (b->barrier || b->space == SPAD__TTGIR_GLOBAL);
}

static spad_status emit_buffer(spad__ttgir *t, spad__ttgir_buffer *b, spad_error *error) {
    const spad_amount extents[] = {{.value = t->ranks}, {.value = b->stages}};
    const spad_amount count = {.value = b->count > 0 ? b->count : 1};
    const size_t first = t->ranks > 1 ? 0 : 1;
    const spad_amounts dims = {(b->stages > 0 ? 2 : 1) - first, extents + first};
    const char *suffix = b->barrier                          ? "_bar"
                         : b->scratch                        ? "_scratch"
                         : b->space == SPAD__TTGIR_REGISTERS ? "_r"
                                                             : "";
    if (b->barrier) b->row = same_barrier(t, b);
    if (b->barrier && b->row >= 0) return SPAD_OK;
    TRY(go_to(t, b->op, error));
    if (!name_buffer(t, b, suffix)) return spad__fail_host_memory(error);
    if (!b->barrier) return emit_tensor(t, b, error);
    TRY(spad_kernel_builder_sync(&b->row, t->builder, SPAD_SYNC_MBARRIER, b->name, dims, count,
                                 error));
    if (b->offset >= 0) {
        TRY(spad_kernel_builder_sync_at(t->builder, b->row, (spad_amount){.value = b->offset},
                                        error));
    }
    return t->ranks > 1 ? spad_kernel_builder_each_block(t->builder, error) : SPAD_OK;
}

static spad_status emit_buffers(spad__ttgir *t, spad_error *error) {
    for (size_t i = t->first_buffers[t->rank]; i < t->first_buffers[t->rank + 1]; i++) {
        spad__ttgir_buffer *b = &t->buffers.items[i];
        if ((!b->barrier && !b->read && !b->written) || b->local) continue;
        if (t->rank > 0 && is_of_cluster(t, b)) {
            b->row = spad__ttgir_buffer_in(t, (int32_t)i, t->rank, 0)->row;
        } else {
            TRY(emit_buffer(t, b, error));
        }
    }
    return SPAD_OK;
}

static spad_status emit_local_buffers(spad__ttgir *t, const spad__ttgir_note *note,
                                      spad_error *error) {
    for (uint32_t i = 0; i < note->access_count; i++) {
        spad__ttgir_buffer *b = &t->buffers.items[t->accesses.items[note->first_access + i].buffer];
        if (b->row < 0 && b->local) TRY(emit_buffer(t, b, error));
    }
    return SPAD_OK;
}

/* ---- statements ---------------------------------------------------------------------- */

static spad_status emit_for(spad__ttgir *t, const spad__ttgir_note *note, spad_error *error) {
    const spad__ttgir_param *param;
    const spad_amount zero = {0};
    char name[SPAD__TTGIR_NAME] = "i";
    spad_amount end = {0};
    spad_expr *round = &t->rounds.items[note->loop];
    if (!spad__ttgir_unique(t, name, "")) return spad__fail_host_memory(error);
    int64_t added;
    TRY(spad__ttgir_rounds_param(t, note->scalar, &param, &added, error));
    if (param != NULL) {
        end.expr = param->expr;
        if (added > 0) TRY(spad__ttgir_add_number(t, param->expr, added, &end.expr, error));
    } else if (!spad__scalar_get(&t->scalars, note->scalar)->moves) {
        end.value = spad__scalar_get(&t->scalars, note->scalar)->now;
    } else {
        const spad_amount one = {.value = 1};
        spad_expr from, to;
        TRY(spad__ttgir_number_expr(t, 0, &from, error));
        TRY(spad__ttgir_expr(t, note->scalar, &to, error));
        return spad_kernel_builder_range(round, t->builder, name, from, to, one, false, error);
    }
    TRY(spad_kernel_builder_for(round, t->builder, name, zero, end, false, error));
    if (param == NULL || added >= 0) return SPAD_OK;
    /* K_tiles - 1 rounds are none for 0 and 1: the last ones are left out instead */
    spad_comparison inside = {.left = *round, .relation = SPAD_LESS};
    TRY(spad__ttgir_add_number(t, param->expr, added, &inside.right, error));
    t->shorter[t->depth] = true;
    return spad_kernel_builder_if(t->builder, &inside, 1, error);
}

/* Blocks are as deep as regions; a loop with its condition is one. */
static spad_status emit_end(spad__ttgir *t, spad_error *error) {
    if (t->shorter[t->depth--]) TRY(spad_kernel_builder_end(t->builder, error));
    return spad_kernel_builder_end(t->builder, error);
}

static spad_status begin_block(spad__ttgir *t, spad_error *error) {
    if (t->depth + 1 == (int)(sizeof t->shorter / sizeof *t->shorter)) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "blocks are nested too deep");
    }
    t->shorter[++t->depth] = false;
    t->conditions[t->depth] = SPAD__NO_SCALAR;
    return SPAD_OK;
}

/* One access, or one for each stage where it is to all of them. */
static spad_status emit_access(spad__ttgir *t, const spad__ttgir_access *access,
                               spad_error *error) {
    const spad__ttgir_buffer *b = spad__ttgir_buffer_in(t, access->buffer, t->rank, access->block);
    spad_expr_range ranges[SPAD__TTGIR_RANK] = {{0}};
    char spread[SPAD__TTGIR_NAME];
    spad_kernel_access row = {.tensor = b->row,
                              .kind = access->kind,
                              .spread = spad__ttgir_spread_word(t, access, spread, sizeof spread)};
    bool part = false;
    if (b->row < 0) return SPAD_OK; /* nothing is known of what a pointer leads to */
    for (int d = 0; d < b->rank && d < access->view.rank; d++) {
        if (access->view.length[d] == 0) continue;
        const spad__scalar from = access->view.from[d];
        const spad__scalar to = spad__scalar_plus(&t->scalars, from, access->view.length[d]);
        TRY(spad__ttgir_expr(t, from, &ranges[d].from, error));
        TRY(spad__ttgir_expr(t, to, &ranges[d].to, error));
        part = true;
    }
    if (part) {
        row.range_count = (size_t)b->rank;
        row.ranges = ranges;
    }
    const bool all = b->stages > 0 && access->view.stage < 0;
    for (int64_t stage = 0; stage < (all ? b->stages : 1); stage++) {
        spad_expr index;
        if (b->stages > 0) {
            if (all) {
                TRY(spad__ttgir_number_expr(t, stage, &index, error));
            } else {
                TRY(spad__ttgir_expr(t, access->view.stage, &index, error));
            }
            row.index_count = 1;
            row.index = &index;
        }
        TRY(spad_kernel_builder_access(t->builder, &row, error));
    }
    return SPAD_OK;
}

/* The mbarrier of a note for what happens in this block: index[2]. */
static spad_status barrier_index(spad__ttgir *t, const spad__ttgir_note *note, int block,
                                 spad_expr *index, size_t *count, spad_error *error) {
    const spad__ttgir_buffer *b = &t->buffers.items[note->buffer];
    *count = 0;
    if (t->ranks > 1) {
        const int64_t owner = (int64_t)((uint32_t)block & ~note->joined);
        TRY(spad__ttgir_number_expr(t, owner, &index[(*count)++], error));
    }
    if (b->stages == 0) return SPAD_OK;
    if (note->stage < 0) return spad__ttgir_number_expr(t, 0, &index[(*count)++], error);
    return spad__ttgir_expr(t, note->stage, &index[(*count)++], error);
}

/* What the operation wrote in each block is delivered to the mbarrier of that block. */
static spad_status emit_deliveries(spad__ttgir *t, const spad__ttgir_note *note,
                                   spad_error *error) {
    const bool several = (note->blocks & (note->blocks - 1)) != 0;
    for (int block = 0; block < t->ranks; block++) {
        spad_expr index[2] = {0};
        spad_kernel_completion completion = {.kind = SPAD_COMPLETION_DELIVER,
                                             .object = t->buffers.items[note->buffer].row,
                                             .index = index};
        int64_t bytes;
        if ((note->blocks >> block & 1) == 0) continue;
        TRY(barrier_index(t, note, block, index, &completion.index_count, error));
        if (several) {
            const spad__ttgir_access *last = /* as those to the other blocks */
                &t->accesses.items[note->first_access + note->access_count - 1];
            TRY(spad__ttgir_view_bytes(t, last->buffer, &last->view, &bytes, error));
            TRY(spad__ttgir_number_expr(t, bytes, &completion.amount, error));
        }
        TRY(spad_kernel_builder_completion(t->builder, &completion, error));
    }
    return SPAD_OK;
}

/* The operation that was added last takes no time. */
static spad_status emit_no_time(spad__ttgir *t, spad_error *error) {
    const spad_amount none = {0};
    spad_expr zero;
    TRY(spad__ttgir_number_expr(t, 0, &zero, error));
    TRY(spad_kernel_builder_cost(t->builder, SPAD_COST_NS, zero, error));
    return spad_kernel_builder_latency(t->builder, SPAD_COST_NS, none, error);
}

static spad_status emit_operation(spad__ttgir *t, const spad__ttgir_rows *rows,
                                  const spad__ttgir_note *note, spad_error *error) {
    char name[SPAD__TTGIR_NAME + 16], user[SPAD__TTGIR_NAME];
    TRY(emit_local_buffers(t, note, error));
    spad__ttgir_name(t, &t->m->ops.items[note->op], user);
    if (strcmp(user, SPAD__TTGIR_NO_NAME) == 0) {
        snprintf(name, sizeof name, "%s", note->name);
    } else {
        snprintf(name, sizeof name, "%s_%.30s", note->name, user);
    }
    const char *runner = note->unit != SPAD__TTGIR_NO_UNIT ? unit_names[note->unit]
                         : note->matrix                    ? "tensor"
                                                           : "simt";
    TRY(spad_kernel_builder_operation(t->builder, runner, name, error));
    for (uint32_t i = 0; i < note->access_count; i++) {
        TRY(emit_access(t, &t->accesses.items[note->first_access + i], error));
    }
    if (note->group != SPAD__TTGIR_NO_GROUP) {
        TRY(spad_kernel_builder_group(t->builder, rows->groups[note->group], error));
    }
    if (note->free) TRY(emit_no_time(t, error));
    return note->buffer < 0 ? SPAD_OK : emit_deliveries(t, note, error);
}

/* `block`: whose mbarrier it is. */
static spad_status emit_one_statement(spad__ttgir *t, const spad__ttgir_rows *rows,
                                      const spad__ttgir_note *note, int block, spad_error *error) {
    spad_statement statement = spad_statement_of(note->statement, -1);
    spad_expr index[2] = {0};
    if (note->group != SPAD__TTGIR_NO_GROUP) statement.item = rows->groups[note->group];
    if (note->buffer >= 0) {
        statement.item = t->buffers.items[note->buffer].row;
        statement.index = index;
        TRY(barrier_index(t, note, block, index, &statement.index_count, error));
    }
    if (note->scalar >= 0) TRY(spad__ttgir_expr(t, note->scalar, &statement.amount, error));
    if (note->expect >= 0) TRY(spad__ttgir_expr(t, note->expect, &statement.expect, error));
    if (note->unit != SPAD__TTGIR_NO_UNIT) statement.unit = rows->units[note->unit];
    if (note->statement == SPAD_STATEMENT_FENCE) statement.fence = rows->fence;
    statement.flags = note->flags;
    return spad_kernel_builder_statement(t->builder, &statement, error);
}

/* One tcgen05.commit for blocks beyond the pair: all of them have the arrival at the same time. So
 * it is one operation, which waits for the products before it. */
static spad_status emit_commit(spad__ttgir *t, const spad__ttgir_rows *rows,
                               const spad__ttgir_note *note, spad_error *error) {
    spad_statement drain = spad_statement_of(SPAD_STATEMENT_DRAIN, -1);
    spad_expr cost;
    drain.unit = rows->units[note->unit];
    TRY(spad_kernel_builder_statement(t->builder, &drain, error));
    TRY(spad_kernel_builder_operation(t->builder, unit_names[note->unit], "commit", error));
    for (int block = 0; block < t->ranks; block++) {
        spad_expr index[2] = {0};
        spad_kernel_completion arrival = {.kind = SPAD_COMPLETION_ARRIVE,
                                          .object = t->buffers.items[note->buffer].row,
                                          .index = index};
        if ((note->blocks >> block & 1) == 0) continue;
        TRY(barrier_index(t, note, block, index, &arrival.index_count, error));
        TRY(spad_kernel_builder_completion(t->builder, &arrival, error));
    }
    TRY(spad__ttgir_number_expr(t, 0, &cost, error));
    return spad_kernel_builder_cost(t->builder, SPAD_COST_CYCLES, cost, error);
}

static spad_status emit_statement(spad__ttgir *t, const spad__ttgir_rows *rows,
                                  const spad__ttgir_note *note, spad_error *error) {
    const uint32_t pair = spad__ttgir_peers(t, t->pairs ? 1 : 0);
    if (note->buffer >= 0 && note->unit == SPAD__TTGIR_TC5 && (note->blocks & ~pair) != 0) {
        return emit_commit(t, rows, note, error);
    }
    if (note->buffer < 0) return emit_one_statement(t, rows, note, t->rank, error);
    for (int block = 0; block < t->ranks; block++) {
        if (note->blocks >> block & 1) TRY(emit_one_statement(t, rows, note, block, error));
    }
    return SPAD_OK;
}

/* A barrier of the block. */
static spad_status emit_sync(spad__ttgir *t, int64_t row, spad_error *error) {
    spad_statement sync = spad_statement_of(SPAD_STATEMENT_SYNC, row);
    spad_expr block = 0;
    if (t->ranks > 1) {
        TRY(spad__ttgir_number_expr(t, t->rank, &block, error));
        sync.index = &block;
        sync.index_count = 1;
    }
    return spad_kernel_builder_statement(t->builder, &sync, error);
}

static spad_status emit_note(spad__ttgir *t, const spad__ttgir_rows *rows,
                             const spad__ttgir_note *note, spad_error *error) {
    if (note->kind == SPAD__NOTE_FOR || note->kind == SPAD__NOTE_IF) TRY(begin_block(t, error));
    switch (note->kind) {
    case SPAD__NOTE_FOR: return emit_for(t, note, error);
    case SPAD__NOTE_IF:
        TRY(spad__ttgir_emit_if(t, note, error));
        t->conditions[t->depth] = note->scalar;
        return SPAD_OK;
    case SPAD__NOTE_ELSE:
        t->conditions[t->depth] = SPAD__NO_SCALAR;
        return spad_kernel_builder_else(t->builder, error);
    case SPAD__NOTE_END: return emit_end(t, error);
    case SPAD__NOTE_OPERATION: return emit_operation(t, rows, note, error);
    case SPAD__NOTE_ALLOCATE: {
        spad__ttgir_buffer *b = &t->buffers.items[note->buffer];
        const bool now = b->local && b->row < 0 && (b->read || b->written);
        return now ? emit_buffer(t, b, error) : SPAD_OK;
    }
    case SPAD__NOTE_JOIN: return rows->join >= 0 ? emit_sync(t, rows->join, error) : SPAD_OK;
    case SPAD__NOTE_MEET: {
        const int agent = note->stream - SPAD__STREAM_DEFAULT;
        return emit_sync(t, agent < 0 ? rows->meet : t->agents.items[agent].meet, error);
    }
    case SPAD__NOTE_CLUSTER: {
        const spad_statement all = spad_statement_of(SPAD_STATEMENT_SYNC, rows->cluster);
        return spad_kernel_builder_statement(t->builder, &all, error);
    }
    default: return emit_statement(t, rows, note, error);
    }
}

/* An index that leaves its buffer is a fault of the operation that has it. */
static spad_status emit_note_at(spad__ttgir *t, const spad__ttgir_rows *rows,
                                const spad__ttgir_note *note, spad_error *error) {
    spad_error own;
    if (error == NULL) error = &own;
    const spad_status status = emit_note(t, rows, note, error);
    if (status != SPAD_ERR_BOUNDS) return status;
    SPAD__TTGIR_FAULT(t, "%s", error->message);
    return SPAD_ERR_SYNTAX;
}

/* Has a thread, or a copy through the generic proxy, written shared memory before this note? */
static bool is_written_before(const spad__ttgir *t, size_t end) {
    for (size_t i = 0; i < end; i++) {
        const spad__ttgir_note *note = &t->notes.items[i];
        if (note->kind != SPAD__NOTE_OPERATION ||
            (note->unit != SPAD__TTGIR_NO_UNIT && note->unit != SPAD__TTGIR_CP)) {
            continue;
        }
        for (uint32_t k = 0; k < note->access_count; k++) {
            const spad__ttgir_access *access = &t->accesses.items[note->first_access + k];
            if ((access->kind & SPAD_ACCESS_WRITE) != 0 &&
                t->buffers.items[access->buffer].space == SPAD__TTGIR_SHARED) {
                return true;
            }
        }
    }
    return false;
}

/* mbarrier.init is a write of threads, and a copy signals through the async proxy: the fence
 * between them is left to the machine code of the compiler, so it is put after a run of inits. It
 * is one for mbarriers only, where another one would hide that tiles lack theirs. */
static spad_status emit_init_fence(spad__ttgir *t, const spad__ttgir_rows *rows, bool only,
                                   spad_error *error) {
    spad_statement fence = spad_statement_of(SPAD_STATEMENT_FENCE, -1);
    if (only) fence.fence = rows->init_fence;
    return spad_kernel_builder_statement(t->builder, &fence, error);
}

static spad_status emit_stream(spad__ttgir *t, const spad__ttgir_rows *rows, int stream,
                               spad_error *error) {
    bool inits = false, only = false;
    int depth = 0; /* of loops and conditions: what is written there may come before as well */
    for (size_t i = 0; i < t->notes.count; i++) {
        const spad__ttgir_note *note = &t->notes.items[i];
        if (note->stream != stream || note->block != t->rank) continue;
        const bool init =
            note->kind == SPAD__NOTE_STATEMENT && note->statement == SPAD_STATEMENT_INIT;
        TRY(go_to(t, note->op, error));
        if (inits && !init) TRY(emit_init_fence(t, rows, only, error));
        if (init && !inits) only = depth > 0 || is_written_before(t, i);
        inits = init;
        if (note->kind == SPAD__NOTE_FOR || note->kind == SPAD__NOTE_IF) depth++;
        if (note->kind == SPAD__NOTE_END) depth--;
        t->op = note->op;
        TRY(emit_note_at(t, rows, note, error));
    }
    return inits ? emit_init_fence(t, rows, only, error) : SPAD_OK;
}

static spad_status begin_agent(spad__ttgir *t, const char *name, int64_t warps, int64_t registers,
                               spad_error *error) {
    const spad_amount threads = {.value = warps * 32};
    const spad_amount each = {.value = registers};
    TRY(spad_kernel_builder_agent(t->builder, name, error));
    return spad_kernel_builder_threads(t->builder, threads, each, error);
}

static spad_status emit_agent(spad__ttgir *t, const spad__ttgir_rows *rows, size_t number,
                              const char *name, spad_error *error) {
    const spad__ttgir_agent *agent = &t->agents.items[number];
    TRY(begin_agent(t, name, agent->warps, agent->registers, error));
    TRY(emit_stream(t, rows, SPAD__STREAM_DEFAULT + (int)number, error));
    return spad_kernel_builder_end(t->builder, error);
}

static spad_status emit_agents(spad__ttgir *t, const spad__ttgir_rows *rows, spad_error *error) {
    for (size_t i = 0; i < t->agents.count; i++) {
        char name[SPAD__TTGIR_NAME];
        if (i == 0) {
            strcpy(name, "default_warps");
        } else {
            snprintf(name, sizeof name, "partition%zu", i - 1);
        }
        TRY(emit_agent(t, rows, i, name, error));
    }
    return SPAD_OK;
}

/* ---- blocks of a cluster -------------------------------------------------------------- */

/* Does the block end without a wait for its last stores? That is reported (SPAD-UNFINISHED), so
 * that what else uses their bytes is not reported as well. */
static bool has_open_stores(const spad__ttgir *t) {
    bool open = false;
    for (size_t i = 0; i < t->notes.count; i++) {
        const spad__ttgir_note *note = &t->notes.items[i];
        if (note->block != t->rank || note->group != SPAD__TTGIR_STORES) continue;
        open = note->kind != SPAD__NOTE_STATEMENT || note->statement != SPAD_STATEMENT_WAIT_GROUP ||
               !spad__scalar_is(&t->scalars, note->scalar, 0);
    }
    return open;
}

/* When a block ends, its memory is gone: all accesses of other blocks must have ended. */
static spad_status emit_exit(spad__ttgir *t, const spad__ttgir_rows *rows, spad_error *error) {
    if (!t->meets) return SPAD_OK; /* the text has no barriers */
    const bool stores = has_open_stores(t);
    for (size_t i = t->first_buffers[t->rank]; i < t->first_buffers[t->rank + 1]; i++) {
        const spad__ttgir_buffer *b = &t->buffers.items[i];
        const uint32_t joined = t->shared_barriers ? b->same : 0;
        if (!b->remote || b->row < 0 || b->space == SPAD__TTGIR_GLOBAL) continue;
        if (!b->barrier && stores) continue;
        if (!b->barrier) {
            const spad_statement end = spad_statement_of(SPAD_STATEMENT_FREE, b->row);
            TRY(spad_kernel_builder_statement(t->builder, &end, error));
            continue;
        }
        if (b->ended || !spad__ttgir_leads(t, joined)) continue;
        for (int64_t stage = 0; stage < (b->stages > 0 ? b->stages : 1); stage++) {
            const spad__ttgir_note end = {.statement = SPAD_STATEMENT_INVALIDATE,
                                          .scalar = SPAD__NO_SCALAR,
                                          .expect = SPAD__NO_SCALAR,
                                          .buffer = (int32_t)i,
                                          .stage = spad__scalar_number(&t->scalars, stage)};
            TRY(emit_one_statement(t, rows, &end, t->rank, error));
        }
    }
    return SPAD_OK;
}

/* The main program of a block, with its default warps, and its partitions. */
static spad_status emit_block(spad__ttgir *t, const spad__ttgir_rows *rows, spad_error *error) {
    char name[SPAD__TTGIR_NAME];
    snprintf(name, sizeof name, "block%d", t->rank);
    TRY(begin_agent(t, name, t->warps, 0, error));
    TRY(emit_stream(t, rows, SPAD__STREAM_BEFORE, error));
    if (t->agents.count > 0) TRY(emit_stream(t, rows, SPAD__STREAM_DEFAULT, error));
    TRY(emit_stream(t, rows, SPAD__STREAM_AFTER, error));
    TRY(emit_exit(t, rows, error));
    TRY(spad_kernel_builder_end(t->builder, error));
    for (size_t i = 1; i < t->agents.count; i++) {
        snprintf(name, sizeof name, "block%d_partition%zu", t->rank, i - 1);
        TRY(emit_agent(t, rows, i, name, error));
    }
    return SPAD_OK;
}

static spad_status emit_cluster(spad__ttgir *t, const spad__ttgir_rows *rows, spad_error *error) {
    for (t->rank = 0; t->rank < t->ranks; t->rank++) TRY(emit_buffers(t, error));
    for (t->rank = 0; t->rank < t->ranks; t->rank++) TRY(emit_block(t, rows, error));
    t->rank = 0;
    return SPAD_OK;
}

/* ---- the kernel ------------------------------------------------------------------------ */

static spad_status emit_all(spad__ttgir *t, spad_error *error) {
    spad__ttgir_rows rows = {.fence = -1, .init_fence = -1, .join = -1, .meet = -1, .cluster = -1};
    size_t fence;
    if (spad_target_find_fence(&fence, t->target, "shared", NULL) == SPAD_OK) {
        rows.fence = (int64_t)fence;
    }
    if (spad_target_find_fence(&fence, t->target, "mbarrier", NULL) == SPAD_OK) {
        rows.init_fence = (int64_t)fence;
    }
    t->rank = 0;
    TRY(spad__ttgir_emit_params(t, error));
    TRY(emit_units(t, &rows, error));
    TRY(emit_joins(t, &rows, error));
    TRY(emit_meets(t, &rows, error));
    TRY(spad__ttgir_find_local(t, error));
    if (t->ranks > 1) {
        TRY(emit_cluster(t, &rows, error));
    } else {
        TRY(emit_buffers(t, error));
        TRY(emit_stream(t, &rows, SPAD__STREAM_BEFORE, error));
        TRY(emit_agents(t, &rows, error));
        TRY(emit_stream(t, &rows, SPAD__STREAM_AFTER, error));
    }
    return spad__ttgir_fix_params(t, error);
}

spad_status spad__ttgir_emit(spad__ttgir *t, spad_kernel **out, const char *file,
                             spad_error *error) {
    spad_kernel *kernel = t->builder->kernel;
    if (!spad__array_reserve(t->host, &t->rounds, t->m->ops.count)) {
        return spad__fail_host_memory(error);
    }
    memset(t->rounds.items, 0, t->m->ops.count * sizeof *t->rounds.items);
    t->rounds.count = t->m->ops.count;
    TRY(emit_all(t, error));
    kernel->file = spad__arena_copy(&kernel->arena, file, strlen(file));
    if (kernel->file == NULL) return spad__fail_host_memory(error);
    return spad_kernel_builder_finish(out, t->builder, error);
}
