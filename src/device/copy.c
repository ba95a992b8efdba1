/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies: both sides are looked up and checked, the streams brought into order, and then
 * one call of a back end moves the bytes. A trace gets one event for it. Between two devices
 * whose memory the processor cannot read, their back end does it if both have the same and it can;
 * otherwise the bytes go through a piece of host memory.
 */
#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "device/device.h"
#include "spad/device/stream.h"
#include "spad/experimental/trace_queries.h"

enum { STAGE_BYTES = 1 << 20 };

enum { TITLE_MAX = 96 };

/* One side of a copy. */
typedef struct side {
    spad_buffer buffer; /* no device: memory of the program */
    spad_device *device;
    int64_t address; /* of the buffer */
    int64_t bytes;   /* of the buffer; -1: its extent is not known yet */
    int64_t pitch;
    spad_stream last;
    size_t space; /* in the trace of the device; SPAD_NO_SPACE: not traced */
} side;

/* Looks a buffer up. Everything that only messages need is left to them. */
static spad_status find_side(side *out, spad_buffer buffer, spad_error *error) {
    *out = (side){.buffer = buffer, .device = buffer.device, .space = SPAD_NO_SPACE};
    if (buffer.device == NULL)
        return spad__fail(error, SPAD_ERR_ARGUMENT, "there is no buffer to copy");
    pthread_mutex_lock(&buffer.device->mutex);
    spad__buffer_record *record = spad__buffer_find(buffer, error);
    if (record != NULL) {
        const spad__buffer_record *root = spad__buffer_root(buffer.device, record);
        out->address = root->address + record->offset;
        out->bytes = record->bytes;
        out->last = root->stream;
        if (buffer.device->trace != NULL) out->space = buffer.device->traced_spaces[record->scope];
    }
    pthread_mutex_unlock(&buffer.device->mutex);
    return record != NULL ? SPAD_OK : SPAD_ERR_STALE;
}

/* "'name'", "a buffer" or "the memory". */
static const char *side_title(char field[TITLE_MAX], const side *s) {
    if (s->device == NULL) return "the memory";
    pthread_mutex_lock(&s->device->mutex);
    const spad__buffer_record *record = spad__buffer_find(s->buffer, NULL);
    spad__buffer_title(field, TITLE_MAX, record != NULL ? record : &(spad__buffer_record){0});
    pthread_mutex_unlock(&s->device->mutex);
    return field;
}

static side program_side(const void *memory, int64_t bytes) {
    return (side){.address = (int64_t)(uintptr_t)memory, .bytes = bytes, .space = SPAD_NO_SPACE};
}

/* ---- checks ------------------------------------------------------------------------ */

static spad_status fail_bounds(const side *s, int64_t offset, int64_t width, int64_t rows,
                               spad_error *error) {
    char field[TITLE_MAX];
    const char *title = side_title(field, s);
    spad__fail(error, SPAD_ERR_BOUNDS,
               "%" PRId64 " row%s of %" PRId64 " B at byte %" PRId64 " are outside %s of %" PRId64
               " B",
               rows, rows == 1 ? "" : "s", width, offset, title, s->bytes);
    spad__fact_names(error, title, NULL);
    return SPAD_ERR_BOUNDS;
}

/* Moves the side to its offset, and checks that all rows are inside. */
static spad_status place_side(side *s, int64_t offset, int64_t pitch, int64_t width, int64_t rows,
                              spad_error *error) {
    int64_t end;
    s->pitch = pitch;
    if (s->bytes < 0 && s->device != NULL) {
        char field[TITLE_MAX];
        return spad__fail(error, SPAD_ERR_NO_ADDRESS,
                          "%s has an automatic extent and no data is bound to it yet",
                          side_title(field, s));
    }
    if (pitch < width) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "rows of %" PRId64 " B begin %" PRId64 " B apart; they would overlap",
                          width, pitch);
    }
    if (offset < 0 || !spad__mul(rows - 1, pitch, &end) || !spad__add(end, width, &end) ||
        !spad__add(end, offset, &end) || end > s->bytes) {
        return fail_bounds(s, offset, width, rows, error);
    }
    s->address += offset;
    return SPAD_OK;
}

static int64_t side_end(const side *s, int64_t width, int64_t rows) {
    return s->address + (rows - 1) * s->pitch + width;
}

/* Do two sets of rows share a byte? Both are sorted, so one walk along them is enough. */
static bool rows_overlap(const side *a, const side *b, int64_t width, int64_t rows) {
    int64_t i = 0;
    int64_t j = 0;
    while (i < rows && j < rows) {
        const int64_t x = a->address + i * a->pitch;
        const int64_t y = b->address + j * b->pitch;
        if (x < y + width && y < x + width) return true;
        if (x < y) {
            i++;
        } else {
            j++;
        }
    }
    return false;
}

static bool host_reads(const side *s) {
    return s->device == NULL || s->device->info.host_reads;
}

static spad_status check_overlap(const side *to, const side *from, int64_t width, int64_t rows,
                                 spad_error *error) {
    const bool comparable = to->device == from->device || (host_reads(to) && host_reads(from));
    if (!comparable || to->address >= side_end(from, width, rows) ||
        from->address >= side_end(to, width, rows) || !rows_overlap(to, from, width, rows)) {
        return SPAD_OK;
    }
    char from_field[TITLE_MAX];
    char to_field[TITLE_MAX];
    const char *from_title = side_title(from_field, from);
    const char *to_title = side_title(to_field, to);
    spad__fail(error, SPAD_ERR_OVERLAP, "a copy from %s to %s reads bytes that it writes",
               from_title, to_title);
    spad__fact_names(error, from_title, to_title);
    return SPAD_ERR_OVERLAP;
}

/* ---- moving the bytes -------------------------------------------------------------- */

/* Between two devices through host memory, some whole rows, or a piece of one, at a time. */
static spad_status copy_staged(const side *to, const side *from, int64_t width, int64_t rows,
                               spad_error *error) {
    const spad_host *host = &to->device->host;
    pthread_mutex_lock(&to->device->mutex);
    char *stage = spad__new(host, STAGE_BYTES);
    pthread_mutex_unlock(&to->device->mutex);
    if (stage == NULL) return spad__fail_host_memory(error);
    const int64_t piece = spad__min(width, STAGE_BYTES);
    spad_status status = SPAD_OK;
    for (int64_t at = 0; at < width && status == SPAD_OK; at += piece) {
        const int64_t columns = spad__min(piece, width - at);
        const int64_t at_once = STAGE_BYTES / columns;
        for (int64_t row = 0; row < rows && status == SPAD_OK; row += at_once) {
            const int64_t count = spad__min(at_once, rows - row);
            const spad_transfer in = {.direction = SPAD_FROM_DEVICE,
                                      .to = (int64_t)(uintptr_t)stage,
                                      .to_pitch = columns,
                                      .from = from->address + row * from->pitch + at,
                                      .from_pitch = from->pitch,
                                      .width = columns,
                                      .rows = count};
            const spad_transfer out = {.direction = SPAD_TO_DEVICE,
                                       .to = to->address + row * to->pitch + at,
                                       .to_pitch = to->pitch,
                                       .from = (int64_t)(uintptr_t)stage,
                                       .from_pitch = columns,
                                       .width = columns,
                                       .rows = count};
            status = from->device->backend->copy(from->device->native, NULL, &in, error);
            if (status == SPAD_OK)
                status = to->device->backend->copy(to->device->native, NULL, &out, error);
        }
    }
    pthread_mutex_lock(&to->device->mutex);
    spad__free(host, stage, STAGE_BYTES);
    pthread_mutex_unlock(&to->device->mutex);
    return status;
}

/* The device that does the work: one that the processor cannot read, if there is one; of two such
 * the target, if its back end can reach the other. NULL: none can. */
static spad_device *worker(const side *to, const side *from) {
    if (to->device == from->device) return to->device;
    if (!host_reads(to) && !host_reads(from)) {
        const bool reachable = to->device->backend == from->device->backend &&
                               to->device->backend->copy_between != NULL;
        return reachable ? to->device : NULL;
    }
    if (!host_reads(to) || from->device == NULL) return to->device;
    if (!host_reads(from) || to->device == NULL) return from->device;
    return to->device;
}

static spad_direction direction_of(const spad_device *device, const side *to, const side *from) {
    if (host_reads(to) == host_reads(from)) return SPAD_ON_DEVICE;
    return to->device == device ? SPAD_TO_DEVICE : SPAD_FROM_DEVICE;
}

static spad_status move(const side *to, const side *from, int64_t width, int64_t rows,
                        const spad_stream *stream, spad_error *error) {
    spad_device *device = worker(to, from);
    void *native = NULL;
    spad_status status;
    if (stream != NULL && stream->device == device) {
        const spad__stream_record *record = spad__stream_find(*stream, error);
        if (record == NULL) return SPAD_ERR_STALE;
        native = record->native;
    } else if (stream != NULL) { /* another device does it: in order, but not later */
        status = spad__stream_follow(*stream, NULL, error);
        if (status != SPAD_OK) return status;
    }
    if (device == NULL) return copy_staged(to, from, width, rows, error);
    const bool dense = to->pitch == width && from->pitch == width;
    const spad_transfer transfer = {
        .direction = direction_of(device, to, from),
        .to = to->address,
        .to_pitch = to->pitch,
        .from = from->address,
        .from_pitch = from->pitch,
        .width = dense ? width * rows : width,
        .rows = dense ? 1 : rows,
    };
    if (to->device != from->device && !host_reads(to) && !host_reads(from)) {
        return device->backend->copy_between(device->native, from->device->native, native,
                                             &transfer, error);
    }
    return device->backend->copy(device->native, native, &transfer, error);
}

/* ---- order ------------------------------------------------------------------------- */

/* The stream is the last to use the memory of a buffer. Without one: the last use before the copy
 * has been waited for, and if nothing came after it the memory is idle. */
static void set_last(const side *s, const spad_stream *stream) {
    if (s->device == NULL || (stream == NULL && s->last.device == NULL)) return;
    pthread_mutex_lock(&s->device->mutex);
    spad__buffer_record *record = spad__buffer_find(s->buffer, NULL);
    if (record != NULL) {
        spad_stream *last = &spad__buffer_root(s->device, record)->stream;
        if (stream != NULL) {
            *last = *stream;
        } else if (spad__stream_same(*last, s->last)) {
            *last = (spad_stream){0};
        }
    }
    pthread_mutex_unlock(&s->device->mutex);
}

/* ---- the trace --------------------------------------------------------------------- */

/* The event that the trace of a device gets. The trace at the beginning of the copy is kept: it
 * may be replaced, and destroyed, while the bytes move, and is not touched then. */
typedef struct note {
    spad_device *device;
    spad_trace *trace; /* NULL: there is nothing to write */
    size_t space;
} note;

static spad_status begin_note(note *out, const side *s, spad_error *error) {
    *out = (note){.device = s->device, .space = s->space};
    if (s->space == SPAD_NO_SPACE) return SPAD_OK; /* the usual case: no lock */
    spad_status status = SPAD_OK;
    pthread_mutex_lock(&s->device->mutex);
    spad_trace *trace = s->device->trace;
    if (trace != NULL) {
        status = spad_trace_reserve_copy(trace, error);
        if (status == SPAD_OK) out->trace = trace;
    }
    pthread_mutex_unlock(&s->device->mutex);
    return status;
}

/* The number of a side in the trace of a device. Under the mutex. */
static int64_t traced_side(const spad_device *device, const side *s) {
    const spad__buffer_record *record =
        s->device == device ? spad__buffer_find(s->buffer, NULL) : NULL;
    return record != NULL ? record->traced : -1;
}

static void end_note(const note *n, const side *to, const side *from, int64_t bytes, bool on_stream,
                     bool done) {
    if (n->trace == NULL) return;
    pthread_mutex_lock(&n->device->mutex);
    if (n->device->trace == n->trace) {
        if (done) {
            spad_trace_copy(n->trace, n->space, traced_side(n->device, to),
                            traced_side(n->device, from), bytes, on_stream, NULL);
        } else {
            spad_trace_release_copy(n->trace);
        }
    }
    pthread_mutex_unlock(&n->device->mutex);
}

/* Moves the bytes, and writes the copy into the traces of both devices: once if there is one. */
static spad_status move_noted(const side *to, const side *from, int64_t width, int64_t rows,
                              const spad_stream *stream, spad_error *error) {
    note here = {0};
    note there = {0};
    spad_status status = begin_note(&here, to, error);
    if (status != SPAD_OK) return status;
    if (from->device != to->device) status = begin_note(&there, from, error);
    if (status == SPAD_OK) status = move(to, from, width, rows, stream, error);
    const bool done = status == SPAD_OK;
    end_note(&here, to, from, width * rows, stream != NULL, done);
    end_note(&there, to, from, width * rows, stream != NULL, done && there.trace != here.trace);
    return status;
}

/* ---- a checked copy ---------------------------------------------------------------- */

static spad_status check_stream(const spad_stream *stream, const side *to, const side *from,
                                spad_error *error) {
    if (stream == NULL) return SPAD_OK;
    if (spad__stream_find(*stream, error) == NULL)
        return stream->device == NULL ? SPAD_ERR_ARGUMENT : SPAD_ERR_STALE;
    if (stream->device == to->device || stream->device == from->device) return SPAD_OK;
    return spad__fail(error, SPAD_ERR_ARGUMENT,
                      "the stream is of %s, and neither side of the copy is",
                      stream->device->info.name);
}

/* A checked copy between two sides that are placed. */
static spad_status copy_sides(const side *to, const side *from, int64_t width, int64_t rows,
                              const spad_stream *stream, spad_error *error) {
    spad_status status = check_stream(stream, to, from, error);
    if (status == SPAD_OK && width > 0) status = check_overlap(to, from, width, rows, error);
    if (status != SPAD_OK || width == 0) return status;
    status = spad__stream_follow(to->last, stream, error);
    if (status == SPAD_OK) status = spad__stream_follow(from->last, stream, error);
    if (status == SPAD_OK) status = move_noted(to, from, width, rows, stream, error);
    if (status != SPAD_OK) return status;
    set_last(to, stream);
    set_last(from, stream);
    return SPAD_OK;
}

/* ---- the public face --------------------------------------------------------------- */

spad_status spad_buffer_copy_part(spad_buffer to, spad_buffer from, const spad_copy_range *range,
                                  const spad_stream *stream, spad_error *error) {
    const int64_t width = range->width;
    const int64_t rows = range->rows != 0 ? range->rows : 1;
    side a;
    side b;
    spad_status status = find_side(&a, to, error);
    if (status == SPAD_OK) status = find_side(&b, from, error);
    if (status == SPAD_OK && (width < 0 || rows < 0)) {
        status = spad__fail(error, SPAD_ERR_ARGUMENT, "a copy of %" PRId64 " rows of %" PRId64 " B",
                            rows, width);
    }
    if (status == SPAD_OK)
        status = place_side(&a, range->to_offset, range->to_pitch != 0 ? range->to_pitch : width,
                            width, rows, error);
    if (status == SPAD_OK)
        status = place_side(&b, range->from_offset,
                            range->from_pitch != 0 ? range->from_pitch : width, width, rows, error);
    if (status != SPAD_OK) return status;
    return copy_sides(&a, &b, width, rows, stream, error);
}

static spad_status fail_other_size(const side *to, const side *from, spad_error *error) {
    spad_buffer_info target;
    spad_buffer_info source;
    spad_buffer_get_info(&target, to->buffer, NULL);
    spad_buffer_get_info(&source, from->buffer, NULL);
    spad__fail(error, SPAD_ERR_BOUNDS, "%" PRId64 " B do not fill a buffer of %" PRId64 " B",
               from->bytes, to->bytes);
    spad__fact_amounts(error, from->bytes, to->bytes, SPAD_NO_FACT);
    spad__fact_names(error, target.name, source.name);
    return SPAD_ERR_BOUNDS;
}

static spad_status copy_whole(spad_buffer to, spad_buffer from, const spad_stream *stream,
                              spad_error *error) {
    side a;
    side b;
    spad_status status = find_side(&b, from, error);
    if (status == SPAD_OK) status = find_side(&a, to, error);
    if (status == SPAD_OK && a.bytes < 0 && b.bytes >= 0) { /* the target becomes like the source */
        spad_buffer_info source;
        status = spad_buffer_get_info(&source, from, error);
        if (status == SPAD_OK) status = spad__buffer_settle(to, b.bytes, &source, error);
        if (status == SPAD_OK) status = find_side(&a, to, error);
    }
    if (status == SPAD_OK && a.bytes != b.bytes && b.bytes >= 0)
        status = fail_other_size(&a, &b, error);
    const int64_t width = spad__max(b.bytes, 0);
    if (status == SPAD_OK) status = place_side(&b, 0, width, width, 1, error);
    if (status == SPAD_OK) status = place_side(&a, 0, width, width, 1, error);
    if (status != SPAD_OK) return status;
    return copy_sides(&a, &b, width, 1, stream, error);
}

spad_status spad_buffer_copy(spad_buffer to, spad_buffer from, spad_error *error) {
    return copy_whole(to, from, NULL, error);
}

spad_status spad_buffer_copy_async(spad_buffer to, spad_buffer from, spad_stream stream,
                                   spad_error *error) {
    return copy_whole(to, from, &stream, error);
}

/* Bytes of a row and of an element of a matrix; checks that the tile is inside. */
static spad_status matrix_row(int64_t *row_bytes, int64_t *element, const spad_buffer_info *info,
                              int64_t row, int64_t column, const spad_copy_tile *tile,
                              spad_error *error) {
    if (info->rank < 2 || info->address == SPAD_NO_BYTE)
        return spad__fail(error, SPAD_ERR_SHAPE, "a tile needs buffers of two or more dimensions");
    if (spad_dtype_bits(info->dtype) % 8 != 0) {
        return spad__fail(error, SPAD_ERR_DTYPE, "%s elements share bytes; copy a range of bytes",
                          spad_dtype_name(info->dtype));
    }
    int64_t columns = 1;
    bool fits = true; /* it need not: with no rows any number of columns takes no bytes */
    for (size_t i = 1; i < info->rank; i++)
        fits = fits && spad__mul(columns, info->dims[i], &columns);
    if (!fits || !spad__mul(columns, spad_dtype_bytes(info->dtype), row_bytes))
        return spad__fail(error, SPAD_ERR_OVERFLOW, "the bytes of a row do not fit 64 bits");
    if (row < 0 || column < 0 || tile->rows < 0 || tile->columns < 0 ||
        tile->rows > info->dims[0] - row || tile->columns > columns - column) {
        spad__fail(error, SPAD_ERR_BOUNDS,
                   "a tile of %" PRId64 " x %" PRId64 " at (%" PRId64 ", %" PRId64
                   ") is outside a matrix of %" PRId64 " x %" PRId64,
                   tile->rows, tile->columns, row, column, info->dims[0], columns);
        spad__fact_names(error, info->name, NULL);
        return SPAD_ERR_BOUNDS;
    }
    *element = spad_dtype_bytes(info->dtype);
    return SPAD_OK;
}

spad_status spad_buffer_copy_matrix(spad_buffer to, spad_buffer from, const spad_copy_tile *tile,
                                    const spad_stream *stream, spad_error *error) {
    spad_buffer_info a;
    spad_buffer_info b;
    int64_t element = 0;
    int64_t to_row = 0;
    int64_t from_row = 0;
    spad_status status = spad_buffer_get_info(&a, to, error);
    if (status == SPAD_OK) status = spad_buffer_get_info(&b, from, error);
    if (status == SPAD_OK && a.dtype != b.dtype) {
        status = spad__fail(error, SPAD_ERR_DTYPE, "a tile of %s into a matrix of %s",
                            spad_dtype_name(b.dtype), spad_dtype_name(a.dtype));
    }
    if (status == SPAD_OK)
        status = matrix_row(&to_row, &element, &a, tile->to_row, tile->to_column, tile, error);
    if (status == SPAD_OK)
        status =
            matrix_row(&from_row, &element, &b, tile->from_row, tile->from_column, tile, error);
    if (status != SPAD_OK || tile->rows == 0 || tile->columns == 0) return status;
    const spad_copy_range range = {
        .to_offset = tile->to_row * to_row + tile->to_column * element,
        .to_pitch = to_row,
        .from_offset = tile->from_row * from_row + tile->from_column * element,
        .from_pitch = from_row,
        .width = tile->columns * element,
        .rows = tile->rows,
    };
    return spad_buffer_copy_part(to, from, &range, stream, error);
}

spad_status spad_buffer_write(spad_buffer to, int64_t offset, const void *from, int64_t bytes,
                              const spad_stream *stream, spad_error *error) {
    side a;
    side b = program_side(from, bytes);
    spad_status status = find_side(&a, to, error);
    if (status == SPAD_OK && bytes < 0)
        status = spad__fail(error, SPAD_ERR_ARGUMENT, "a copy of %" PRId64 " B", bytes);
    if (status == SPAD_OK) status = place_side(&a, offset, bytes, bytes, 1, error);
    if (status == SPAD_OK) status = place_side(&b, 0, bytes, bytes, 1, error);
    if (status != SPAD_OK) return status;
    return copy_sides(&a, &b, bytes, 1, stream, error);
}

spad_status spad_buffer_fill(spad_buffer to, int64_t offset, int64_t bytes, uint8_t value,
                             const spad_stream *stream, spad_error *error) {
    side a;
    spad_status status = find_side(&a, to, error);
    if (status == SPAD_OK && bytes < 0)
        status = spad__fail(error, SPAD_ERR_ARGUMENT, "a fill of %" PRId64 " B", bytes);
    if (status == SPAD_OK) status = place_side(&a, offset, bytes, bytes, 1, error);
    if (status == SPAD_OK) status = check_stream(stream, &a, &a, error);
    if (status != SPAD_OK || bytes == 0) return status;
    const spad_backend *backend = a.device->backend;
    if (backend->fill == NULL) {
        return spad__fail(error, SPAD_ERR_CAPABILITY,
                          "the back end of %s has no fill; write the bytes", a.device->info.name);
    }
    status = spad__stream_follow(a.last, stream, error);
    if (status != SPAD_OK) return status;
    const spad__stream_record *record = stream != NULL ? spad__stream_find(*stream, error) : NULL;
    if (stream != NULL && record == NULL) return SPAD_ERR_STALE; /* closed by another thread */
    status = backend->fill(a.device->native, record != NULL ? record->native : NULL, a.address,
                           bytes, value, error);
    if (status == SPAD_OK) set_last(&a, stream);
    return status;
}

spad_status spad_buffer_read(void *to, spad_buffer from, int64_t offset, int64_t bytes,
                             const spad_stream *stream, spad_error *error) {
    side a = program_side(to, bytes);
    side b;
    spad_status status = find_side(&b, from, error);
    if (status == SPAD_OK && bytes < 0)
        status = spad__fail(error, SPAD_ERR_ARGUMENT, "a copy of %" PRId64 " B", bytes);
    if (status == SPAD_OK) status = place_side(&a, 0, bytes, bytes, 1, error);
    if (status == SPAD_OK) status = place_side(&b, offset, bytes, bytes, 1, error);
    if (status != SPAD_OK) return status;
    return copy_sides(&a, &b, bytes, 1, stream, error);
}
