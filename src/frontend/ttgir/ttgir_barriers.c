/* SPDX-License-Identifier: Apache-2.0
 *
 * Barriers between warps of a Triton whose pass `membar` is part of its conversion to LLVM (3.6):
 * the text with a line for each of them, from what the conversion put before, into and after each
 * operation.
 *
 * A barrier is before the operation that membar put it before or, after a wait for copies, behind
 * it (Membar.cpp), and an operation may have one of its own. That arrivals, products and operations
 * with scratch memory have one is taken for granted of later versions, so it is compared: an
 * arrival without one is marked (spad.alone), anything else is not decided. O(length).
 */
#include <string.h>

#include "base/text.h"
#include "frontend/ttgir/ttgir.h"

/* What becomes of the lines of a text; by line, from 1 on. */
typedef struct barrier_lines {
    spad__ttgir *t;
    const spad_ttgir_meeting **meetings; /* NULL: none */
    bool *added;                         /* a barrier before the line */
    uint32_t *alone;                     /* the ':' of an operation that is marked; 0: none */
    int32_t count;
    int32_t first_alone; /* 0: none */
    bool has_partitions;
    spad_error *error;
} barrier_lines;

static bool is_among(const spad__mlir *m, const spad__mlir_op *op, const char *const *names) {
    while (*names != NULL && !spad__mlir_named(m, op, *names)) names++;
    return *names != NULL;
}

/* Operations that warps meet for in later versions. */
static const char *const ops_that_meet[] = {"ttng.arrive_barrier",
                                            "ttng.barrier_expect",
                                            "ttng.tc_gen5_commit",
                                            "ttng.tc_gen5_mma",
                                            "ttng.tc_gen5_mma_scaled",
                                            "ttng.warp_group_dot_wait",
                                            NULL};
static const char *const ops_with_scratch[] = {
    "tt.reduce",          "tt.scan", "tt.histogram", "tt.atomic_rmw", "tt.atomic_cas",
    "ttg.convert_layout", NULL};
static const char *const ops_of_barriers[] = {"gpu.barrier", "ttg.barrier", NULL};

/* The ':' between an operation and its types; 0: it has none. */
static uint32_t types_colon(const spad__mlir *m, const spad__mlir_op *op) {
    int depth = 0;
    for (uint32_t at = op->name + 1; at < op->end; at++) {
        const char mark =
            m->tokens.items[at].kind == SPAD__MLIR_MARK ? m->tokens.items[at].mark : 0;
        if (mark != 0 && strchr("([{", mark) != NULL) depth++;
        if (mark != 0 && strchr(")]}", mark) != NULL) depth--;
        if (mark == ':' && depth == 0) return at;
    }
    return 0;
}

static bool look_at_op(barrier_lines *lines, const spad__mlir_op *op, int64_t warps) {
    static const spad_ttgir_meeting none = {0};
    const spad__mlir *m = lines->t->m;
    const int32_t line = m->tokens.items[op->first].line;
    const spad_ttgir_meeting *found = lines->meetings[line] != NULL ? lines->meetings[line] : &none;
    if (found->before && !is_among(m, op, ops_of_barriers)) lines->added[line] = true;
    if (found->after) lines->added[m->tokens.items[op->end - 1].line + 1] = true;
    if (warps == 1) return true; /* nothing has to meet */
    if (is_among(m, op, ops_with_scratch) &&
        spad__mlir_attribute(m, op, "allocation.offset") != 0 && !found->inside) {
        const spad__mlir_token *name = &m->tokens.items[op->name];
        spad__fail(lines->error, SPAD_ERR_ARGUMENT,
                   "%.*s in line %ld has no barrier for its scratch memory", (int)name->length,
                   spad__mlir_text(m, op->name), (long)line);
        return false;
    }
    if (is_among(m, op, ops_that_meet) && !found->before && !found->inside) {
        lines->alone[line] = types_colon(m, op);
        if (lines->first_alone == 0) lines->first_alone = line;
    }
    return true;
}

static bool look_at_region(barrier_lines *lines, int32_t region, int64_t warps) {
    const spad__mlir *m = lines->t->m;
    for (int32_t number = m->regions.items[region].first_op; number >= 0;
         number = m->ops.items[number].next) {
        const spad__mlir_op *op = &m->ops.items[number];
        const bool divides = spad__mlir_named(m, op, "ttg.warp_specialize");
        size_t which = 0;
        if (!look_at_op(lines, op, warps)) return false;
        lines->has_partitions = lines->has_partitions || divides;
        for (int32_t inner = op->first_region; inner >= 0; inner = m->regions.items[inner].next) {
            const bool is_partition = divides && inner != op->first_region;
            const int64_t own = is_partition ? spad__ttgir_warps_of(lines->t, op, which++) : warps;
            if (!look_at_region(lines, inner, own)) return false;
        }
    }
    return true;
}

/* ---- the text ------------------------------------------------------------------------ */

/* Everything up to a token, and what is put in front of it: an attribute. */
static size_t write_mark(const spad__mlir *m, spad__out *out, size_t from, uint32_t colon) {
    const bool has_attributes = spad__mlir_is_mark(m, colon - 1, '}');
    const size_t to = m->tokens.items[has_attributes ? colon - 1 : colon].start;
    spad__out_bytes(out, m->source->text + from, to - from);
    spad__out_string(out, has_attributes ? ", spad.alone" : "{spad.alone} ");
    return to;
}

static void write_with_barriers(const barrier_lines *lines, spad__out *out) {
    const spad__mlir *m = lines->t->m;
    const char *text = m->source->text;
    const size_t length = m->source->length;
    size_t at = 0;
    for (int32_t line = 1; line <= lines->count; line++) {
        const char *stop = at < length ? memchr(text + at, '\n', length - at) : NULL;
        const size_t end = stop != NULL ? (size_t)(stop - text) + 1 : length;
        if (lines->added[line]) spad__out_string(out, "    ttg.barrier local\n");
        if (lines->alone[line] != 0) at = write_mark(m, out, at, lines->alone[line]);
        spad__out_bytes(out, text + at, end - at);
        at = end;
    }
}

static int32_t count_text_lines(const spad__source *source) {
    int32_t lines = 1;
    for (size_t i = 0; i < source->length; i++)
        if (source->text[i] == '\n') lines++;
    return lines;
}

static spad_status place_barriers(barrier_lines *lines, const spad__mlir_op *module,
                                  const spad_ttgir_meeting *meetings, size_t count) {
    int64_t warps = 0;
    for (size_t i = 0; i < count; i++) {
        if (meetings[i].line < 1 || meetings[i].line > lines->count) {
            return spad__fail(lines->error, SPAD_ERR_ARGUMENT, "line %ld of a text of %ld",
                              (long)meetings[i].line, (long)lines->count);
        }
        lines->meetings[meetings[i].line] = &meetings[i];
    }
    spad__mlir_number_of(lines->t->m, module, "ttg.num-warps", &warps);
    if (!look_at_region(lines, module->first_region, warps)) return SPAD_ERR_ARGUMENT;
    if (lines->first_alone == 0 || !lines->has_partitions) return SPAD_OK;
    return spad__fail(lines->error, SPAD_ERR_ARGUMENT,
                      "line %ld of a kernel with partitions lets one thread arrive for several "
                      "warps",
                      (long)lines->first_alone);
}

spad_status spad__ttgir_write_barriers(spad__ttgir *t, const spad__mlir_op *module,
                                       const spad_ttgir_meeting *meetings, size_t count,
                                       const spad_sink *sink, spad_error *error) {
    spad__arena arena = {.host = *t->g->host};
    const int32_t lines = count_text_lines(t->m->source);
    const size_t size = (size_t)lines + 2;
    barrier_lines all = {.t = t,
                         .meetings = spad__arena_array(&arena, size, sizeof *all.meetings),
                         .added = spad__arena_array(&arena, size, sizeof *all.added),
                         .alone = spad__arena_array(&arena, size, sizeof *all.alone),
                         .count = lines,
                         .error = error};
    spad_status status = SPAD_OK;
    if (all.meetings == NULL || all.added == NULL || all.alone == NULL)
        status = spad__fail_host_memory(error);
    if (status == SPAD_OK) status = place_barriers(&all, module, meetings, count);
    if (status == SPAD_OK) {
        spad__out out;
        spad__out_start(&out, sink);
        write_with_barriers(&all, &out);
        status = spad__out_finish(&out, error);
    }
    spad__arena_free(&arena);
    return status;
}
