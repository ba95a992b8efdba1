/* SPDX-License-Identifier: Apache-2.0
 *
 * Which buffers are declared in a loop: a buffer that is declared outside is needed in all of it,
 * and one that is declared inside shares its bytes with what is used before and after it in the
 * same round.
 *
 * A buffer that is allocated in a block of the text and accessed only there is declared there.
 * Scratch memory is declared where it is used. Kernels with agents have no scopes, and in those
 * without loops a buffer may be allocated several times, so there all are declared at the start.
 * One pass over the notes: O(notes).
 */
#include "base/text.h"
#include "read/ttgir.h"

enum { BLOCKS_DEEP = 256, NOT_ALLOCATED = -1 };

typedef struct spad__ttgir_scopes {
    int32_t stack[BLOCKS_DEEP]; /* blocks that are open, by number */
    int depth;
    SPAD_ARRAY(bool) open;     /* by block */
    SPAD_ARRAY(int32_t) where; /* by buffer: the block that allocates it */
} spad__ttgir_scopes;

static bool open_block(const spad__ttgir *t, spad__ttgir_scopes *s) {
    if (!spad__array_reserve(t->host, &s->open, 1)) return false;
    s->stack[s->depth++] = (int32_t)s->open.count;
    s->open.items[s->open.count++] = true;
    return true;
}

static void close_block(spad__ttgir_scopes *s) {
    s->open.items[s->stack[--s->depth]] = false;
}

static void see_allocation(spad__ttgir *t, spad__ttgir_scopes *s, int32_t buffer) {
    spad__ttgir_buffer *b = &t->buffers.items[buffer];
    const bool again = s->where.items[buffer] != NOT_ALLOCATED;
    s->where.items[buffer] = s->stack[s->depth - 1];
    b->local = !again && !b->barrier;
}

static void see_accesses(spad__ttgir *t, const spad__ttgir_scopes *s,
                         const spad__ttgir_note *note) {
    for (uint32_t i = 0; i < note->access_count; i++) {
        const int32_t buffer = t->accesses.items[note->first_access + i].buffer;
        const int32_t block = s->where.items[buffer];
        if (block != NOT_ALLOCATED && !s->open.items[block]) t->buffers.items[buffer].local = false;
    }
}

/* False: no memory, or nested too deep. */
static bool see_notes(spad__ttgir *t, spad__ttgir_scopes *s) {
    for (size_t i = 0; i < t->notes.count; i++) {
        const spad__ttgir_note *note = &t->notes.items[i];
        if (note->kind == SPAD__NOTE_END || note->kind == SPAD__NOTE_ELSE) close_block(s);
        if (note->kind == SPAD__NOTE_FOR || note->kind == SPAD__NOTE_IF ||
            note->kind == SPAD__NOTE_ELSE) {
            if (s->depth == BLOCKS_DEEP || !open_block(t, s)) return false;
        }
        if (note->kind == SPAD__NOTE_ALLOCATE) see_allocation(t, s, note->buffer);
        see_accesses(t, s, note);
    }
    return true;
}

static bool begin_scopes(const spad__ttgir *t, spad__ttgir_scopes *s) {
    if (!spad__array_reserve(t->host, &s->where, t->buffers.count)) return false;
    for (size_t i = 0; i < t->buffers.count; i++) s->where.items[i] = NOT_ALLOCATED;
    s->where.count = t->buffers.count;
    return open_block(t, s); /* the function */
}

spad_status spad__ttgir_find_local(spad__ttgir *t, spad_error *error) {
    spad__ttgir_scopes scopes = {0};
    if (t->agents.count > 0 || t->run || t->ranks > 1) return SPAD_OK;
    const bool good = begin_scopes(t, &scopes) && see_notes(t, &scopes);
    const bool deep = scopes.depth == BLOCKS_DEEP;
    spad__array_free(t->host, &scopes.open);
    spad__array_free(t->host, &scopes.where);
    for (size_t i = 0; good && i < t->buffers.count; i++) {
        if (t->buffers.items[i].scratch) t->buffers.items[i].local = true;
    }
    if (!good && deep) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "blocks are nested too deep");
    }
    return good ? SPAD_OK : spad__fail_host_memory(error);
}
