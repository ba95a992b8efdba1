/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a layout as text, tables, JSON and CSV.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "kernel/kernel.h"
#include "layout/layout.h"

enum { ALIVE_SHOWN = 6 };

const char *spad_layout_verdict_phrase(spad_plan_verdict verdict) {
    switch (verdict) {
    case SPAD_PLAN_OPTIMAL: return "fits; provably the smallest layout";
    case SPAD_PLAN_FEASIBLE: return "fits";
    case SPAD_PLAN_INFEASIBLE: return "does not fit";
    case SPAD_PLAN_UNKNOWN: return "no layout that fits was found, nor a proof that none exists";
    }
    return "?";
}

static const char *ordered_phrase(spad_plan_verdict verdict) {
    switch (verdict) {
    case SPAD_PLAN_OPTIMAL:
        return "fits; provably the smallest layout (values kept until their last use)";
    case SPAD_PLAN_INFEASIBLE: return "does not fit with values kept to their last use";
    default: return spad_layout_verdict_phrase(verdict);
    }
}

static const char *timed_phrase(spad_plan_verdict verdict) {
    switch (verdict) {
    case SPAD_PLAN_OPTIMAL:
        return "fits; provably the smallest layout (bytes shared only between uses)";
    case SPAD_PLAN_INFEASIBLE: return "does not fit if bytes are shared only between uses";
    default: return spad_layout_verdict_phrase(verdict);
    }
}

/* Of one space. */
static const char *phrase_of(const spad_layout_space *row) {
    if (row->timed) return timed_phrase(row->verdict);
    if (row->agents_in_doubt && row->verdict == SPAD_PLAN_FEASIBLE)
        return "fits in the order of a kernel with errors";
    if (row->agents_ordered) return ordered_phrase(row->verdict);
    if (!row->agents_apart) return spad_layout_verdict_phrase(row->verdict);
    switch (row->verdict) {
    case SPAD_PLAN_FEASIBLE: return "fits with all tiles of agents apart; a lower layout may exist";
    case SPAD_PLAN_UNKNOWN:
        return "does not fit with all tiles of agents apart; a lower layout may exist";
    default: return spad_layout_verdict_phrase(row->verdict);
    }
}

/* ---- pieces ------------------------------------------------------------------------ */

/* Names may be longer than a piece of the printer. */
static void write_left_aligned(spad__out *out, const char *text, int64_t width) {
    spad__out_one_line(out, text);
    spad__out_repeat(out, " ", width - (int64_t)strlen(text));
}

static void write_right(spad__out *out, const char *text, int64_t width) {
    spad__out_repeat(out, " ", width - (int64_t)strlen(text));
    spad__out_one_line(out, text);
}

static void write_number(spad__out *out, int64_t value, int64_t width) {
    write_right(out, spad__grouped(value).text, width);
}

static void write_bytes(spad__out *out, int64_t value, int64_t width) {
    if (value == SPAD_UNBOUNDED || value == SPAD_NO_BYTE) {
        write_right(out, "-", width);
    } else {
        write_number(out, value, width);
    }
}

static const spad_space *space_of(const spad_layout *layout, const spad_layout_space *row) {
    return &layout->kernel->target->spaces[row->space];
}

/* "line 12 (for k)", "line 14 (tensor mma)", or "statement 3" of a kernel without text. */
static void write_moment(spad__out *out, const spad_layout *layout, int64_t statement) {
    const spad_kernel *k = layout->kernel;
    if (statement < 0 || (size_t)statement >= k->statements.count) {
        spad__out_string(out, "the end");
        return;
    }
    const spad_statement *s = &k->statements.items[statement];
    if (s->location.line > 0) {
        spad__out_format(out, "line %ld (", (long)s->location.line);
    } else {
        spad__out_format(out, "statement %lld (", (long long)statement);
    }
    if (s->kind == SPAD_STATEMENT_OPERATION) {
        spad__out_string(out, k->target->engines[s->engine].name);
    } else {
        spad__out_string(out, spad_statement_kind_name(s->kind));
    }
    const char *name = s->kind == SPAD_STATEMENT_FOR      ? k->loops.items[s->item].name
                       : s->kind == SPAD_STATEMENT_TENSOR ? k->tensors.items[s->item].name
                       : s->kind == SPAD_STATEMENT_AGENT  ? k->agents.items[s->item].name
                                                          : s->name;
    if (name != NULL) {
        spad__out_string(out, " ");
        spad__out_one_line(out, name);
    }
    spad__out_string(out, ")");
}

enum { OWNER_MAX = 2 * SPAD_NAME_FACT_MAX };

/* The name of a buffer; "acc (upper)" where agents declare several tensors of that name. */
static void name_owner(char field[OWNER_MAX], const spad_kernel *k,
                       const spad_layout_buffer *buffer) {
    const char *agent;
    spad__buffer_origin(k, buffer, &agent);
    spad__copy_cut(field, SPAD_NAME_FACT_MAX, buffer->name);
    bool twice = false;
    for (size_t i = 0; agent != NULL && !twice && i < k->tensors.count; i++)
        twice = (int64_t)i != buffer->tensor && strcmp(k->tensors.items[i].name, buffer->name) == 0;
    const size_t used = strlen(field);
    if (twice) snprintf(field + used, OWNER_MAX - used, " (%.*s)", SPAD_NAME_FACT_MAX - 4, agent);
}

/* The buffers from `at` on that are of the same tensor or mbarrier; *total and *padding: of all. */
static size_t count_same_owner(const spad_layout *layout, const spad_layout_space *row, size_t at,
                               int64_t *slots, int64_t *total, int64_t *padding) {
    const spad_layout_buffer *first = &layout->buffers.items[row->first_buffer + at];
    size_t count = 0;
    *slots = *total = *padding = 0;
    for (; at + count < row->buffer_count; count++) {
        const spad_layout_buffer *buffer = first + count;
        if (buffer->tensor != first->tensor || buffer->sync != first->sync) break;
        *slots += buffer->slots;
        *total += buffer->taken;
        *padding += buffer->padding;
    }
    return count;
}

/* ---- a line per space -------------------------------------------------------------- */

static bool same_tensor(const spad_layout_buffer *a, const spad_layout_buffer *b) {
    return a->tensor == b->tensor && a->sync == b->sync;
}

/* Slots at the peak of the tensor of buffer `at`; 0: the tensor was counted at an earlier buffer.
 */
static int64_t slots_alive(const spad_layout *layout, const spad_layout_space *row, size_t at) {
    const spad_layout_buffer *all = layout->buffers.items;
    int64_t slots = 0;
    for (size_t i = 0; i < row->alive_count; i++) {
        if (!same_tensor(&all[row->alive[i]], &all[row->alive[at]])) continue;
        if (i < at) return 0;
        slots += all[row->alive[i]].slots;
    }
    return slots;
}

void spad__layout_write_peak(spad__out *out, const spad_layout *layout,
                             const spad_layout_space *row) {
    int shown = 0;
    spad__out_string(out, "live peak of ");
    spad__out_string(out, space_of(layout, row)->name);
    spad__out_format(out, ": %s at ", spad__both_sizes(row->peak_bytes).text);
    write_moment(out, layout, row->peak_statement);
    for (size_t i = 0; i < row->alive_count; i++) {
        const spad_layout_buffer *buffer = &layout->buffers.items[row->alive[i]];
        const int64_t slots = slots_alive(layout, row, i);
        if (slots == 0) continue;
        if (shown == ALIVE_SHOWN) {
            spad__out_string(out, " and smaller ones");
            break;
        }
        char name[OWNER_MAX];
        name_owner(name, layout->kernel, buffer);
        spad__out_string(out, shown++ == 0 ? ": " : ", ");
        spad__out_one_line(out, name);
        if (slots > 1) spad__out_format(out, " %lld x", (long long)slots);
        spad__out_format(out, " %s", spad__grouped(buffer->rect.bytes).text);
    }
}

static void write_space_line(spad__out *out, const spad_layout *layout,
                             const spad_layout_space *row, int64_t width) {
    write_left_aligned(out, space_of(layout, row)->name, width);
    write_bytes(out, row->height, 12);
    write_bytes(out, row->peak_bytes, 12);
    write_bytes(out, row->bound, 12);
    write_bytes(out, row->capacity, 12);
    spad__out_string(out, "  ");
    spad__out_string(out, phrase_of(row));
    spad__out_string(out, "\n");
}

static spad_status write_layout_text(const spad_layout *layout, const spad_sink *sink,
                                     spad_error *error) {
    spad__out out;
    size_t width = strlen("space");
    bool lanes = false;
    spad__out_start_text(&out, sink);
    for (size_t i = 0; i < layout->space_count; i++) {
        const spad_space *space = space_of(layout, &layout->spaces[i].row);
        const size_t length = strlen(space->name);
        if (length > width) width = length;
        if (space->lanes > 1) lanes = true;
    }
    write_left_aligned(&out, "space", (int64_t)width);
    spad__out_format(&out, "        used   live peak       bound    capacity  (bytes%s)\n",
                     lanes ? " per lane" : "");
    for (size_t i = 0; i < layout->space_count; i++) {
        write_space_line(&out, layout, &layout->spaces[i].row, (int64_t)width);
    }
    for (size_t i = 0; i < layout->space_count; i++) {
        spad__layout_write_peak(&out, layout, &layout->spaces[i].row);
        spad__out_string(&out, "\n");
    }
    return spad__out_finish(&out, error);
}

/* ---- a table per space ------------------------------------------------------------- */

static const char *kind_of(const spad_layout_buffer *buffer) {
    if (buffer->sync >= 0) return "mbarrier";
    return buffer->mode == SPAD_MODE_AUTO ? "planned" : spad_mode_name(buffer->mode);
}

static int32_t line_of(const spad_layout *layout, int64_t statement) {
    const spad_kernel *k = layout->kernel;
    if (k->statements.count == 0) return 0;
    const size_t last = k->statements.count - 1;
    const size_t at = (size_t)statement < last ? (size_t)statement : last;
    return k->statements.items[at].location.line;
}

static void write_owner(spad__out *out, const spad_layout *layout, const spad_layout_buffer *buffer,
                        int64_t slots, int64_t total, int64_t padding, int64_t width) {
    char name[OWNER_MAX];
    name_owner(name, layout->kernel, buffer);
    spad__out_string(out, "  ");
    write_left_aligned(out, name, width);
    spad__out_string(out, "  ");
    write_left_aligned(out, kind_of(buffer), 8);
    write_number(out, slots, 8);
    write_number(out, buffer->rect.bytes, 10);
    write_number(out, padding, 9);
    write_number(out, total, 10);
    write_bytes(out, buffer->rect.byte, 10);
    spad__out_format(out, "  %ld to %ld\n", (long)line_of(layout, buffer->begin),
                     (long)line_of(layout, buffer->end - 1));
}

static void write_space_table(spad__out *out, const spad_layout *layout,
                              const spad_layout_space *row) {
    int64_t slots;
    int64_t total;
    int64_t padding;
    int64_t width = (int64_t)strlen("reserved");
    for (size_t i = 0; i < row->buffer_count; i++) {
        char name[OWNER_MAX];
        name_owner(name, layout->kernel, &layout->buffers.items[row->first_buffer + i]);
        const int64_t length = (int64_t)strlen(name);
        if (length > width) width = length;
    }
    spad__out_string(out, space_of(layout, row)->name);
    spad__out_string(out, ": ");
    write_bytes(out, row->height, 0);
    spad__out_string(out, " of ");
    write_bytes(out, row->capacity, 0);
    spad__out_format(out, " B%s, %s\n  ", space_of(layout, row)->lanes > 1 ? " per lane" : "",
                     phrase_of(row));
    write_left_aligned(out, "buffer", width);
    spad__out_string(out, "  placed    copies      tile  padding     total        at  lines\n");
    for (size_t i = 0; i < row->buffer_count;) {
        const spad_layout_buffer *buffer = &layout->buffers.items[row->first_buffer + i];
        i += count_same_owner(layout, row, i, &slots, &total, &padding);
        write_owner(out, layout, buffer, slots, total, padding, width);
    }
    if (row->reserved > 0) {
        spad__out_string(out, "  ");
        write_left_aligned(out, "reserved", width + 10);
        write_number(out, row->reserved, 37);
        write_bytes(out, row->capacity, 10);
        spad__out_string(out, "\n");
    }
    spad__out_format(out, "  live peak: %s, %s of it padding, at ",
                     spad__both_sizes(row->peak_bytes).text,
                     spad__exact_size(row->peak_padding).text);
    write_moment(out, layout, row->peak_statement);
    spad__out_format(out, "; largest hole then: %s at %s\n", spad__exact_size(row->hole).text,
                     spad__grouped(row->hole_at).text);
}

static spad_status write_layout_table(const spad_layout *layout, const spad_sink *sink,
                                      spad_error *error) {
    spad__out out;
    spad__out_start_text(&out, sink);
    for (size_t i = 0; i < layout->space_count; i++) {
        write_space_table(&out, layout, &layout->spaces[i].row);
    }
    return spad__out_finish(&out, error);
}

/* ---- JSON -------------------------------------------------------------------------- */

static void json_bytes(spad__json *json, const char *key, int64_t value) {
    if (value != SPAD_UNBOUNDED && value != SPAD_NO_BYTE) spad__json_key_int(json, key, value);
}

static void json_layout_buffer(spad__json *json, const spad_layout *layout,
                               const spad_layout_buffer *buffer) {
    spad__json_open(json, '{');
    spad__json_key_string(json, "name", buffer->name);
    spad__json_key_string(json, "placed", kind_of(buffer));
    spad__json_key_int(json, "slot", buffer->slot);
    spad__json_key_int(json, "slots", buffer->slots);
    spad__json_key_int(json, "lane", buffer->rect.lane);
    spad__json_key_int(json, "lanes", buffer->rect.lanes);
    json_bytes(json, "byte", buffer->rect.byte);
    spad__json_key_int(json, "bytes", buffer->rect.bytes);
    spad__json_key_int(json, "stride", buffer->stride);
    spad__json_key_int(json, "taken", buffer->taken);
    spad__json_key_int(json, "padding", buffer->padding);
    spad__json_key_int(json, "alignment", buffer->alignment);
    spad__json_key_int(json, "begin", buffer->begin);
    spad__json_key_int(json, "end", buffer->end);
    spad__json_key_int(json, "first_line", line_of(layout, buffer->begin));
    spad__json_key_int(json, "last_line", line_of(layout, buffer->end - 1));
    spad__json_close(json, '}');
}

static void json_peak(spad__json *json, const spad_layout *layout, const spad_layout_space *row) {
    spad__json_key(json, "peak");
    spad__json_open(json, '{');
    spad__json_key_int(json, "bytes", row->peak_bytes);
    spad__json_key_int(json, "padding", row->peak_padding);
    spad__json_key_int(json, "statement", row->peak_statement);
    spad__json_key_int(json, "line", line_of(layout, row->peak_statement));
    json_bytes(json, "hole", row->hole);
    spad__json_key_int(json, "hole_at", row->hole_at);
    spad__json_key(json, "buffers");
    spad__json_open(json, '[');
    for (size_t i = 0; i < row->alive_count; i++) {
        spad__json_int(json, (int64_t)(row->alive[i] - row->first_buffer));
    }
    spad__json_close(json, ']');
    spad__json_close(json, '}');
}

static void json_space(spad__json *json, const spad_layout *layout, const spad_layout_space *row) {
    spad__json_open(json, '{');
    spad__json_key_string(json, "space", space_of(layout, row)->name);
    spad__json_key_string(json, "verdict", spad_plan_verdict_name(row->verdict));
    json_bytes(json, "used", row->height);
    spad__json_key_int(json, "bound", row->bound);
    if (row->agents_apart) spad__json_key_bool(json, "agents_apart", true);
    if (row->agents_ordered) spad__json_key_bool(json, "agents_ordered", true);
    if (row->agents_in_doubt) spad__json_key_bool(json, "agents_in_doubt", true);
    json_bytes(json, "capacity", row->capacity);
    spad__json_key_int(json, "reserved", row->reserved);
    json_peak(json, layout, row);
    spad__json_key(json, "buffers");
    spad__json_open(json, '[');
    for (size_t i = 0; i < row->buffer_count; i++) {
        json_layout_buffer(json, layout, &layout->buffers.items[row->first_buffer + i]);
    }
    spad__json_close(json, ']');
    spad__json_close(json, '}');
}

void spad__json_layout(spad__json *json, const spad_layout *layout) {
    spad__json_open(json, '{');
    spad__json_kernel(json, layout->kernel);
    spad__json_key_bool(json, "fits", spad_layout_fits(layout));
    spad__json_key(json, "spaces");
    spad__json_open(json, '[');
    for (size_t i = 0; i < layout->space_count; i++) {
        json_space(json, layout, &layout->spaces[i].row);
    }
    spad__json_close(json, ']');
    spad__json_close(json, '}');
}

static spad_status write_layout_json(const spad_layout *layout, const spad_sink *sink,
                                     spad_error *error) {
    spad__out out;
    spad__json json;
    spad__out_start(&out, sink);
    spad__json_start(&json, &out);
    spad__json_layout(&json, layout);
    spad__json_end(&json);
    return spad__out_finish(&out, error);
}

/* ---- CSV --------------------------------------------------------------------------- */

int32_t spad__buffer_origin(const spad_kernel *k, const spad_layout_buffer *buffer,
                            const char **agent) {
    *agent = NULL;
    if (buffer->tensor < 0)
        return buffer->sync >= 0 ? k->syncs.items[buffer->sync].location.line : 0;
    const spad_kernel_tensor *tensor = &k->tensors.items[buffer->tensor];
    const int64_t number = k->statements.items[tensor->statement].agent;
    if (number > 0) *agent = k->agents.items[number].name;
    return tensor->location.line;
}

/* A row for each slot of a tensor that is inside another one, and lives as long as that one. */
static void write_alias_rows(spad__out *out, const spad_layout *layout,
                             const spad_kernel_tensor *alias) {
    const int64_t count = spad__layout_alias_slots(layout, alias);
    for (int64_t s = 0; s < count; s++) {
        spad_rect rect;
        if (!spad__layout_alias_place(&rect, layout, alias, s)) return;
        spad__out_string(out, layout->kernel->target->spaces[alias->space].name);
        spad__out_string(out, ",");
        spad__out_string(out, alias->name);
        spad__out_format(out, ",%lld,%lld,%lld,%lld,%lld,,,,%ld\n", (long long)s,
                         (long long)rect.lane, (long long)rect.lanes, (long long)rect.byte,
                         (long long)rect.bytes, (long)alias->location.line);
    }
}

static spad_status write_layout_csv(const spad_layout *layout, const spad_sink *sink,
                                    spad_error *error) {
    spad__out out;
    spad__out_start(&out, sink);
    spad__out_string(&out, "space,tensor,slot,lane,lanes,byte,bytes,begin,end,agent,line\n");
    for (size_t i = 0; i < layout->space_count; i++) {
        const spad_layout_space *row = &layout->spaces[i].row;
        for (size_t b = 0; b < row->buffer_count; b++) {
            const spad_layout_buffer *buffer = &layout->buffers.items[row->first_buffer + b];
            const char *agent;
            const int32_t line = spad__buffer_origin(layout->kernel, buffer, &agent);
            if (buffer->rect.byte == SPAD_NO_BYTE) continue;
            for (int64_t s = 0; s < buffer->slots; s++) {
                spad__out_string(&out, space_of(layout, row)->name);
                spad__out_string(&out, ",");
                spad__out_string(&out, buffer->name);
                spad__out_format(&out, ",%lld,%lld,%lld,%lld,%lld,%lld,%lld,",
                                 (long long)(buffer->slot + s), (long long)buffer->rect.lane,
                                 (long long)buffer->rect.lanes,
                                 (long long)(buffer->rect.byte + s * buffer->stride),
                                 (long long)buffer->rect.bytes, (long long)buffer->begin,
                                 (long long)buffer->end);
                spad__out_string(&out, agent != NULL ? agent : "");
                spad__out_string(&out, ",");
                if (line > 0) spad__out_format(&out, "%ld", (long)line);
                spad__out_string(&out, "\n");
            }
        }
    }
    for (size_t i = 0; i < layout->kernel->tensors.count; i++) {
        const spad_kernel_tensor *tensor = &layout->kernel->tensors.items[i];
        if (tensor->mode != SPAD_MODE_ALIAS) continue;
        if (!layout->kernel->target->spaces[tensor->space].off_chip)
            write_alias_rows(&out, layout, tensor);
    }
    return spad__out_finish(&out, error);
}

spad_status spad_layout_write(const spad_layout *layout, spad_format format, const spad_sink *sink,
                              spad_error *error) {
    switch (format) {
    case SPAD_FORMAT_TEXT: return write_layout_text(layout, sink, error);
    case SPAD_FORMAT_TABLE: return write_layout_table(layout, sink, error);
    case SPAD_FORMAT_JSON: return write_layout_json(layout, sink, error);
    case SPAD_FORMAT_CSV: return write_layout_csv(layout, sink, error);
    default: return spad__fail_format(error);
    }
}
