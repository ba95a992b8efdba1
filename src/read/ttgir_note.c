/* SPDX-License-Identifier: Apache-2.0
 *
 * The statements that were found, before there is a kernel: so that a function can be run again
 * with numbers, and so that the statements of each agent are together.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "read/ttgir.h"

bool spad__ttgir_no_memory(spad__ttgir *t) {
    t->m->out_of_memory = t->failed = true;
    return false;
}

void spad__ttgir_unclear(spad__ttgir *t, const char *why) {
    if (t->dry || t->unclear) return;
    t->unclear = true;
    t->unclear_op = t->op;
    snprintf(t->unclear_why, sizeof t->unclear_why, "%s", why);
}

/* What notes point to is never moved while it is filled: one note at a time. */
spad__ttgir_note *spad__ttgir_note_add(spad__ttgir *t, spad__ttgir_note_kind kind) {
    if (t->failed || t->dry) return NULL;
    if (t->notes.count == SPAD__TTGIR_NOTES) {
        SPAD__TTGIR_FAULT(t, "more than %d statements: give smaller sizes", SPAD__TTGIR_NOTES);
        return NULL;
    }
    if (!spad__array_reserve(t->host, &t->notes, 1)) {
        spad__ttgir_no_memory(t);
        return NULL;
    }
    spad__ttgir_note *note = &t->notes.items[t->notes.count++];
    *note = (spad__ttgir_note){.kind = kind,
                               .stream = t->stream,
                               .block = t->rank,
                               .blocks = UINT32_C(1) << t->rank,
                               .op = t->op,
                               .name = "",
                               .scalar = SPAD__NO_SCALAR,
                               .expect = SPAD__NO_SCALAR,
                               .stage = SPAD__NO_SCALAR,
                               .buffer = -1,
                               .first_access = (uint32_t)t->accesses.count};
    return note;
}

spad__ttgir_note *spad__ttgir_note_statement(spad__ttgir *t, spad_statement_kind statement) {
    spad__ttgir_note *note = spad__ttgir_note_add(t, SPAD__NOTE_STATEMENT);
    if (note != NULL) note->statement = statement;
    return note;
}

spad__ttgir_note *spad__ttgir_note_operation(spad__ttgir *t, const char *name,
                                             spad__ttgir_unit unit) {
    spad__ttgir_note *note = spad__ttgir_note_add(t, SPAD__NOTE_OPERATION);
    if (note != NULL) {
        note->name = name;
        note->unit = unit;
    }
    return note;
}

/* A number as an expression of rounds and sizes. */
spad__scalar spad__ttgir_clear(spad__ttgir *t, spad__scalar n, const char *why) {
    if (n < 0) return n;
    const spad__scalar solved = spad__scalar_resolve(&t->scalars, n);
    if (solved < 0 || spad__scalar_get(&t->scalars, solved)->data) spad__ttgir_unclear(t, why);
    return solved;
}

void spad__ttgir_note_access(spad__ttgir *t, const spad__ttgir_value *value, unsigned kind) {
    if (t->failed || t->dry || value->buffer < 0 || value->kind < SPAD__TTGIR_POINTER) return;
    if (!spad__array_reserve(t->host, &t->accesses, 1)) {
        spad__ttgir_no_memory(t);
        return;
    }
    spad__ttgir_access *access = &t->accesses.items[t->accesses.count++];
    *access = (spad__ttgir_access){
        .buffer = value->buffer, .block = t->rank, .kind = kind, .view = value->view};
    if (value->kind == SPAD__TTGIR_POINTER) access->view = (spad__ttgir_view){.stage = -1};
    access->view.stage = spad__ttgir_clear(t, access->view.stage, "a stage of a ring");
    for (int d = 0; d < access->view.rank; d++) {
        if (access->view.length[d] > 0) {
            access->view.from[d] = spad__ttgir_clear(t, access->view.from[d], "a part of a buffer");
        }
    }
    spad__ttgir_buffer *buffer = &t->buffers.items[value->buffer];
    if (buffer->freed) {
        SPAD__TTGIR_FAULT(t, "'%s' is used after its 'ttg.local_dealloc'", buffer->name);
    }
    if (kind & SPAD_ACCESS_READ) buffer->read = true;
    if (kind & SPAD_ACCESS_WRITE) buffer->written = true;
    t->notes.items[t->notes.count - 1].access_count++;
}

/* Two of them in a row with the same condition are one. */
static bool reopen_if(spad__ttgir *t, spad__scalar condition) {
    size_t at = t->notes.count;
    int depth = 0;
    if (at == 0 || t->notes.items[at - 1].kind != SPAD__NOTE_END ||
        t->notes.items[at - 1].stream != t->stream || t->notes.items[at - 1].block != t->rank) {
        return false;
    }
    while (at > 0) {
        const spad__ttgir_note *note = &t->notes.items[--at];
        if (note->stream != t->stream || note->block != t->rank) return false;
        if (note->kind == SPAD__NOTE_END) depth++;
        if (note->kind == SPAD__NOTE_ELSE && depth == 1) return false;
        if (note->kind == SPAD__NOTE_FOR || note->kind == SPAD__NOTE_IF) {
            if (--depth > 0) continue;
            if (note->kind != SPAD__NOTE_IF || note->scalar != condition) return false;
            t->notes.count--;
            return true;
        }
    }
    return false;
}

bool spad__ttgir_note_if(spad__ttgir *t, spad__scalar condition, bool *open) {
    int64_t value;
    *open = false;
    if (condition < 0) return true;
    condition = spad__ttgir_clear(t, condition, "a condition");
    if (condition < 0) return true;
    const spad__scalar_node *node = spad__scalar_get(&t->scalars, condition);
    if (!node->arguments && spad__scalar_known(&t->scalars, condition, &value)) return value != 0;
    *open = true;
    if (!t->dry && reopen_if(t, condition)) return true;
    spad__ttgir_note *note = spad__ttgir_note_add(t, SPAD__NOTE_IF);
    if (note != NULL) note->scalar = condition;
    return true;
}

void spad__ttgir_note_end(spad__ttgir *t, bool open) {
    if (open) spad__ttgir_note_add(t, SPAD__NOTE_END);
}

/* ---- values and buffers ------------------------------------------------------------------ */

const spad__ttgir_value spad__ttgir_nothing = {
    .kind = SPAD__TTGIR_NOTHING, .scalar = -1, .place = -1, .buffer = -1};

const spad__ttgir_value *spad__ttgir_operand(const spad__ttgir *t, const spad__mlir_op *op,
                                             uint32_t number) {
    if (number >= op->operand_count) return &spad__ttgir_nothing;
    return &t->values.items[t->m->operands.items[op->first_operand + number].value];
}

spad__scalar spad__ttgir_scalar(spad__ttgir *t, const spad__mlir_op *op, uint32_t number) {
    const spad__ttgir_value *value = spad__ttgir_operand(t, op, number);
    if (value->kind == SPAD__TTGIR_SCALAR && value->scalar >= 0) return value->scalar;
    return spad__scalar_data(&t->scalars);
}

void spad__ttgir_set(spad__ttgir *t, const spad__mlir_op *op, int32_t result,
                     spad__ttgir_value value) {
    if (result < op->result_count) t->values.items[op->first_result + result] = value;
}

void spad__ttgir_set_results(spad__ttgir *t, const spad__mlir_op *op, const spad__mlir_op *end) {
    for (int32_t i = 0; end != NULL && i < op->result_count; i++) {
        spad__ttgir_set(t, op, i, *spad__ttgir_operand(t, end, (uint32_t)i));
    }
}

void spad__ttgir_set_argument(spad__ttgir *t, int32_t region, uint32_t number,
                              spad__ttgir_value value) {
    const spad__mlir_region *r = &t->m->regions.items[region];
    if (number >= r->argument_count) return;
    t->values.items[t->m->arguments.items[r->first_argument + number]] = value;
}

spad__ttgir_value spad__ttgir_of_scalar(spad__scalar scalar) {
    spad__ttgir_value value = spad__ttgir_nothing;
    value.kind = SPAD__TTGIR_SCALAR;
    value.scalar = scalar;
    return value;
}

int32_t spad__ttgir_buffer_of(spad__ttgir *t, uint32_t token, bool *fresh) {
    const uint64_t key = (uint64_t)t->call << 32 | token;
    spad__probe probe = spad__index_probe(&t->buffer_index, key);
    *fresh = false;
    for (size_t i; (i = spad__probe_next(&probe)) != SPAD__NO_ITEM;) {
        if (t->buffers.items[i].key == key) return (int32_t)i;
    }
    if (!spad__array_reserve(t->host, &t->buffers, 1) ||
        !spad__index_reserve(&t->buffer_index, t->host, 1)) {
        spad__ttgir_no_memory(t);
        return -1;
    }
    *fresh = true;
    spad__index_add(&t->buffer_index, key, t->buffers.count);
    t->buffers.items[t->buffers.count] =
        (spad__ttgir_buffer){.key = key, .op = -1, .offset = -1, .row = -1};
    return (int32_t)t->buffers.count++;
}

void spad__ttgir_retire(spad__ttgir *t, int32_t buffer) {
    enum { RETIRED_MAX = 20000 };
    const spad__ttgir_buffer *b = &t->buffers.items[buffer];
    if (!t->run || t->dry || t->specialised || b->barrier || b->space != SPAD__TTGIR_SHARED ||
        t->retired == RETIRED_MAX) {
        return;
    }
    t->retired++;
    spad__index_remove(&t->buffer_index, b->key, (size_t)buffer);
}

spad__ttgir_value spad__ttgir_whole(const spad__ttgir *t, int32_t buffer) {
    spad__ttgir_value value = {.kind = SPAD__TTGIR_VIEW, .scalar = -1, .buffer = buffer};
    value.view.stage = -1;
    value.view.rank = t->buffers.items[buffer].rank;
    for (int d = 0; d < value.view.rank; d++) value.view.order[d] = d;
    return value;
}

/* A tile as it is in registers. */
static spad__ttgir_buffer moved_buffer(const spad__ttgir *t, const spad__ttgir_value *tile) {
    const spad__ttgir_buffer *b = &t->buffers.items[tile->buffer];
    spad__ttgir_buffer out = {.space = SPAD__TTGIR_REGISTERS,
                              .op = t->op,
                              .dtype = b->dtype,
                              .rank = b->rank,
                              .offset = -1,
                              .moved = true,
                              .row = -1};
    for (int d = 0; d < b->rank; d++) out.dims[d] = spad__ttgir_extent(b, &tile->view, d);
    return out;
}

static bool is_same_tile(const spad__ttgir_buffer *a, const spad__ttgir_buffer *b) {
    return a->moved && b->moved && a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->dims, b->dims, sizeof a->dims) == 0;
}

/* Its number; -1: there is no room. */
static int32_t find_moved(spad__ttgir *t, const spad__ttgir_buffer *like) {
    enum { MOVED_BYTES = 160 << 10 };
    const spad_shape shape = {(size_t)like->rank, like->dims};
    int64_t bytes;
    for (size_t i = 0; i < t->buffers.count; i++)
        if (is_same_tile(&t->buffers.items[i], like)) return (int32_t)i;
    if (spad_shape_bytes(&bytes, shape, like->dtype, NULL) != SPAD_OK) return -1;
    if (bytes > MOVED_BYTES - t->register_bytes) return -1;
    if (!spad__array_reserve(t->host, &t->buffers, 1)) {
        spad__ttgir_no_memory(t);
        return -1;
    }
    t->register_bytes += bytes;
    t->buffers.items[t->buffers.count] = *like;
    snprintf(t->buffers.items[t->buffers.count].name, SPAD__TTGIR_NAME, "tile");
    return (int32_t)t->buffers.count++;
}

void spad__ttgir_note_moved(spad__ttgir *t, const spad__ttgir_value *tile, unsigned kind) {
    if (t->dry || t->failed || !t->thread_registers || tile->buffer < 0) return;
    if (t->stream != SPAD__STREAM_BEFORE && t->stream != SPAD__STREAM_AFTER) return;
    if (t->ranks > 1) return;
    const spad__ttgir_buffer like = moved_buffer(t, tile);
    const spad__ttgir_space space = t->buffers.items[tile->buffer].space;
    if (like.rank == 0 || space == SPAD__TTGIR_TMEM) return;
    const int32_t buffer = find_moved(t, &like);
    if (buffer < 0) return;
    const spad__ttgir_value value = spad__ttgir_whole(t, buffer);
    spad__ttgir_note_access(t, &value, kind);
}

void spad__ttgir_shape_like(spad__ttgir *t, const spad__ttgir_value *pointer,
                            const spad__ttgir_value *view) {
    if (pointer->kind != SPAD__TTGIR_POINTER || pointer->buffer < 0 || t->dry) return;
    spad__ttgir_buffer *to = &t->buffers.items[pointer->buffer];
    const spad__ttgir_buffer *from = &t->buffers.items[view->buffer];
    if (to->rank > 0) return;
    to->rank = from->rank;
    to->dtype = from->dtype;
    for (int d = 0; d < from->rank; d++) to->dims[d] = spad__ttgir_extent(from, &view->view, d);
}
