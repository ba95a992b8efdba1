/* SPDX-License-Identifier: Apache-2.0
 *
 * The trace as a tree of text, in the format of the NKI library's
 * SbufManager:
 *
 *     [SBM] Allocations:
 *         ▶ SCOPE 'double_buffer' [interleave=2] @ 0
 *         ├── x: 1024 B @ 0 (128, 512) bfloat16
 *         ├── ↳ section: 1/2 @ 1024
 *         └── y: 1024 B @ 1024 (128, 512) bfloat16
 *         ◀ END 'double_buffer' freed=2048 B
 *
 * A line is drawn with └ when no later line stands at its depth before one at
 * a smaller depth; every level above it draws a bar. Both facts about a line
 * depend on what follows, so one pass from the end marks the lines (two bits
 * each) and a second one writes them: O(events), plus the indentation.
 */
#include <string.h>

#include "base/checked.h"
#include "base/text.h"
#include "trace/trace.h"

enum { LINE_SHOWN = 1, LINE_LAST = 2 };

static const spad_scope *scope_of_event(const spad_trace *trace, const spad_event *event) {
    return &trace->scopes.items[event->scope];
}

static const spad_tensor *tensor_of(const spad_trace *trace, const spad_event *event) {
    return &trace->tensors.items[event->tensor];
}

/* The end of a stack tensor goes without saying: its scope or section ends. */
static bool has_line(const spad_trace *trace, const spad_event *event, size_t space) {
    if (space != SPAD_ALL_SPACES && event->space != space) return false;
    return event->kind != SPAD_EVENT_FREE || tensor_of(trace, event)->mode == SPAD_MODE_HEAP;
}

/* ---- first pass: which lines are shown, which are the last at their depth ---------- */

typedef struct depth_state {
    bool *seen;  /* seen[d]: a line follows at depth d with none shallower before it */
    int32_t top; /* seen[d] is false for d > top */
} depth_state;

static bool is_last(depth_state *state, int32_t depth) {
    while (state->top > depth) state->seen[state->top--] = false;
    while (state->top < depth) state->seen[++state->top] = false;
    const bool last = !state->seen[depth];
    state->seen[depth] = true;
    return last;
}

/* In the exact style a section that is entered and never used is not shown.
 * Returns whether there is a line. */
static bool mark_lines(const spad_trace *trace, size_t space, size_t from, size_t to,
                       spad_tree_style style, unsigned char *marks, bool *seen) {
    depth_state state = {.seen = seen, .top = -1};
    bool any = false;
    bool scope_ends = false; /* between here and the end of a scope there is no line */
    for (size_t i = to; i-- > from;) {
        const spad_event *event = &trace->events.items[i];
        if (!has_line(trace, event, space)) continue;
        if (event->kind == SPAD_EVENT_SCOPE_CLOSE)
            scope_ends = true;
        else if (event->kind != SPAD_EVENT_SECTION)
            scope_ends = false;
        if (event->kind == SPAD_EVENT_SECTION && scope_ends && style == SPAD_TREE_EXACT) continue;
        marks[i - from] = LINE_SHOWN;
        if (is_last(&state, event->depth)) marks[i - from] |= LINE_LAST;
        any = true;
    }
    return any;
}

/* ---- second pass: the lines -------------------------------------------------------- */

static void write_scope_name(spad__out *out, const char *name) {
    if (name == NULL) {
        spad__out_string(out, "(unnamed)");
        return;
    }
    spad__out_string(out, "'");
    spad__out_one_line(out, name);
    spad__out_string(out, "'");
}

static void write_tensor_name(spad__out *out, const char *name) {
    spad__out_one_line(out, name != NULL && *name != '\0' ? name : "(unnamed)");
}

static void write_list(spad__out *out, spad_shape shape) {
    for (size_t i = 0; i < shape.rank; i++) {
        spad__out_format(out, i == 0 ? "[%lld" : ", %lld", (long long)shape.dims[i]);
    }
    spad__out_string(out, shape.rank == 0 ? "[]" : "]");
}

static void write_tree_alloc(spad__out *out, const spad_event *event, const spad_tensor *tensor) {
    if (tensor->mode == SPAD_MODE_HEAP) spad__out_string(out, "[HEAP+] ");
    write_tensor_name(out, tensor->name);
    spad__out_format(out, ": %lld B @ ", (long long)tensor->rect.bytes);
    if (event->address == SPAD_NO_BYTE) {
        spad__out_string(out, "auto ");
    } else {
        spad__out_format(out, "%lld ", (long long)event->address);
    }
    if (tensor->list_shape) {
        write_list(out, tensor->shape);
    } else {
        spad__out_shape(out, tensor->shape);
    }
    spad__out_format(out, " %s", spad_dtype_name(tensor->dtype));
}

static void write_side(spad__out *out, const spad_trace *trace, int64_t number) {
    if (number < 0) {
        spad__out_string(out, "(outside)");
    } else {
        write_tensor_name(out, trace->tensors.items[number].name);
    }
}

static void write_tree_copy(spad__out *out, const spad_trace *trace, const spad_event *event) {
    spad__out_string(out, "COPY ");
    write_side(out, trace, event->source);
    spad__out_string(out, " -> ");
    write_side(out, trace, event->tensor);
    spad__out_format(out, ": %lld B%s", (long long)event->bytes,
                     event->count != 0 ? ", on a stream" : "");
}

static void write_line(spad__out *out, const spad_trace *trace, const spad_event *event,
                       spad_tree_style style) {
    switch (event->kind) {
    case SPAD_EVENT_SCOPE_OPEN:
        spad__out_string(out, "▶ SCOPE ");
        write_scope_name(out, scope_of_event(trace, event)->name);
        spad__out_format(out, " [interleave=%lld] @ %lld",
                         (long long)scope_of_event(trace, event)->degree,
                         (long long)event->address);
        break;
    case SPAD_EVENT_SCOPE_CLOSE:
        spad__out_string(out, "◀ END ");
        write_scope_name(out, scope_of_event(trace, event)->name);
        spad__out_format(out, " freed=%lld B",
                         (long long)(style == SPAD_TREE_EXACT
                                         ? scope_of_event(trace, event)->high_water
                                         : event->bytes));
        break;
    case SPAD_EVENT_SECTION:
        spad__out_format(out, "%s section: %lld/%lld @ %lld", event->count == 0 ? "↻" : "↳",
                         (long long)event->count, (long long)scope_of_event(trace, event)->degree,
                         (long long)event->address);
        break;
    case SPAD_EVENT_ALLOC: write_tree_alloc(out, event, tensor_of(trace, event)); break;
    case SPAD_EVENT_FREE:
        spad__out_string(out, "[HEAP-] FREE ");
        write_tensor_name(out, tensor_of(trace, event)->name);
        spad__out_format(out, ": %lld B, remaining=%lld",
                         (long long)tensor_of(trace, event)->rect.bytes, (long long)event->count);
        break;
    case SPAD_EVENT_COPY: write_tree_copy(out, trace, event); break;
    case SPAD_EVENT_ROLLBACK: spad__out_string(out, "⟲ ROLLBACK"); break;
    }
}

static void write_tree_lines(spad__out *out, const spad_trace *trace, size_t from, size_t to,
                             spad_tree_style style, const unsigned char *marks) {
    spad__out_string(out, "[SBM] Allocations:\n");
    for (size_t i = from; i < to; i++) {
        if (!(marks[i - from] & LINE_SHOWN)) continue;
        const spad_event *event = &trace->events.items[i];
        spad__out_string(out, "    ");
        spad__out_repeat(out, "│   ", event->depth - 1);
        if (event->depth > 0) {
            spad__out_string(out, marks[i - from] & LINE_LAST ? "└── " : "├── ");
        }
        write_line(out, trace, event, style);
        spad__out_string(out, "\n");
    }
}

spad_status spad_trace_write_tree(const spad_trace *trace, size_t space, size_t from, size_t to,
                                  spad_tree_style style, const spad_sink *sink, spad_error *error) {
    if (to > trace->events.count) to = trace->events.count;
    if (from >= to) return SPAD_OK;
    int32_t deepest = 0;
    for (size_t i = from; i < to; i++) {
        if (trace->events.items[i].depth > deepest) deepest = trace->events.items[i].depth;
    }
    const size_t mark_bytes = to - from;
    const size_t seen_bytes = ((size_t)deepest + 1) * sizeof(bool);
    unsigned char *marks = spad__new_array(&trace->host, to - from, sizeof *marks);
    bool *seen = spad__new_array(&trace->host, (size_t)deepest + 1, sizeof *seen);
    spad_status status = SPAD_ERR_HOST_MEMORY;
    if (marks == NULL || seen == NULL) {
        spad__fail_host_memory(error);
    } else {
        spad__out out;
        spad__out_start_text(&out, sink);
        if (mark_lines(trace, space, from, to, style, marks, seen)) {
            write_tree_lines(&out, trace, from, to, style, marks);
        }
        status = spad__out_finish(&out, error);
    }
    spad__free(&trace->host, marks, mark_bytes);
    spad__free(&trace->host, seen, seen_bytes);
    return status;
}
