/* SPDX-License-Identifier: Apache-2.0
 *
 * Buffers, aliases, copies, streams, fences and workspaces of the host device, in any order, with
 * any numbers and with handles that are stale. A copy of all bytes is kept beside the device: what
 * is read must be what was written last, a copy inside its buffers must succeed and one outside
 * must not, a handle is stale exactly after its buffer was freed, and everything is given back at
 * the end.
 *
 * Input: records of an operation byte and its numbers.
 */
#include "faults.h"
#include "spad/device.h"
#include "spad/spad.h"

enum { SLOTS = 12, BYTES_MAX = 2048, CALLS_MAX = 200, STREAMS = 3, FENCES = 4 };

/* A buffer as it should be. Aliases share the bytes of the slot `root`. */
typedef struct slot {
    spad_buffer handle;
    bool used;  /* the handle was given out */
    bool alive; /* and is not freed */
    bool global;
    size_t root;
    int64_t offset;
    int64_t bytes; /* -1: no memory yet */
    uint8_t content[BYTES_MAX];
    bool known[BYTES_MAX];
} slot;

typedef struct world {
    fuzz_run run;
    spad_device *device;
    spad_stream streams[STREAMS];
    spad_fence fences[FENCES];
    slot slots[SLOTS];
} world;

static int64_t next_number(fuzz_input *in) {
    static const int64_t edges[] = {INT64_MAX, INT64_MIN, -1, 4096, SPAD_AUTO, INT64_MAX / 4, 256};
    const int first = fuzz_next(in);
    if (first >= 249) return edges[first - 249];
    return first % 40;
}

static slot *next_slot(world *w, fuzz_input *in) {
    return &w->slots[fuzz_next(in) % SLOTS];
}

/* NULL three times out of four. */
static const spad_stream *next_stream(world *w, fuzz_input *in) {
    const int what = fuzz_next(in);
    const spad_stream *stream = &w->streams[what % STREAMS];
    return what < 192 || stream->device == NULL ? NULL : stream;
}

static bool usable(const slot *s) {
    return s->alive && s->global && s->bytes >= 0;
}

static uint8_t *content_of(world *w, slot *s) {
    return w->slots[s->root].content + s->offset;
}

static bool *known_of(world *w, slot *s) {
    return w->slots[s->root].known + s->offset;
}

/* ---- life -------------------------------------------------------------------------- */

static spad_shape next_shape(fuzz_input *in, int64_t *dims) {
    const size_t rank = fuzz_next(in) % 4U;
    for (size_t i = 0; i < rank; i++) dims[i] = next_number(in);
    return (spad_shape){rank, dims};
}

static void set_slot(world *w, slot *s, spad_buffer handle, size_t root, int64_t offset) {
    spad_buffer_info info;
    MUST(&w->run, spad_buffer_get_info(&info, handle, &w->run.error));
    *s = (slot){.handle = handle,
                .used = true,
                .alive = true,
                .global = info.scope == SPAD_GLOBAL,
                .root = root,
                .offset = offset,
                .bytes = info.address == SPAD_NO_BYTE ? -1 : info.bytes};
    if (info.bytes > BYTES_MAX) { /* more than is kept beside it */
        MUST(&w->run, spad_buffer_free(handle, &w->run.error));
        s->alive = false;
    }
}

static void allocate(world *w, fuzz_input *in) {
    int64_t dims[4];
    slot *s = next_slot(w, in);
    const size_t number = (size_t)(s - w->slots);
    const spad_buffer_spec spec = {.shape = next_shape(in, dims),
                                   .dtype = (spad_dtype)(fuzz_next(in) % (SPAD_DTYPE_COUNT + 1)),
                                   .scope = (spad_memory_scope)(fuzz_next(in) % 5 / 2),
                                   .alignment = fuzz_next(in) & 1 ? next_number(in) : 0,
                                   .name = fuzz_next(in) & 1 ? "b" : NULL};
    spad_buffer handle;
    if (s->alive) return;
    TRY(&w->run, spad_buffer_alloc(&handle, w->device, &spec, &w->run.error));
    REQUIRE((w->run.status == SPAD_OK) == (handle.device != NULL));
    if (w->run.status == SPAD_OK) set_slot(w, s, handle, number, 0);
}

static void alias(world *w, fuzz_input *in) {
    int64_t dims[4];
    slot *of = next_slot(w, in);
    slot *s = next_slot(w, in);
    const int64_t offset = next_number(in);
    const spad_shape shape = next_shape(in, dims);
    const spad_dtype dtype = (spad_dtype)(fuzz_next(in) % (SPAD_DTYPE_COUNT + 1));
    spad_buffer handle;
    if (s->alive || !of->used || s == of) return;
    TRY(&w->run, spad_buffer_alias(&handle, of->handle, offset, shape, dtype, NULL, &w->run.error));
    if (!of->alive) REQUIRE(w->run.status != SPAD_OK);
    if (w->run.status == SPAD_OK) set_slot(w, s, handle, of->root, of->offset + offset);
}

/* Aliases end with what they are of, the root of all of them. */
static void release(world *w, fuzz_input *in) {
    slot *s = next_slot(w, in);
    if (!s->used) return;
    TRY(&w->run, spad_buffer_free(s->handle, &w->run.error));
    REQUIRE(w->run.status == (s->alive ? SPAD_OK : SPAD_ERR_STALE));
    s->alive = false;
    if (&w->slots[s->root] != s) return;
    for (size_t i = 0; i < SLOTS; i++) {
        if (w->slots[i].root == s->root) w->slots[i].alive = false;
    }
}

/* ---- bytes ------------------------------------------------------------------------- */

static void write_bytes(world *w, fuzz_input *in) {
    uint8_t bytes[BYTES_MAX];
    slot *s = next_slot(w, in);
    const int64_t offset = next_number(in);
    const int64_t count = next_number(in);
    const spad_stream *stream = next_stream(w, in);
    if (!s->used || count > BYTES_MAX) return;
    memset(bytes, fuzz_next(in), sizeof bytes);
    TRY(&w->run, spad_buffer_write(s->handle, offset, bytes, count, stream, &w->run.error));
    if (!s->alive) REQUIRE(w->run.status != SPAD_OK);
    if (!usable(s)) return;
    const bool inside =
        offset >= 0 && count >= 0 && offset <= s->bytes && count <= s->bytes - offset;
    REQUIRE((w->run.status == SPAD_OK) == inside);
    if (!inside || count == 0) return;
    memcpy(content_of(w, s) + offset, bytes, (size_t)count);
    memset(known_of(w, s) + offset, true, (size_t)count);
}

static void read_bytes(world *w, fuzz_input *in) {
    uint8_t bytes[BYTES_MAX] = {0};
    slot *s = next_slot(w, in);
    const spad_stream *stream = next_stream(w, in);
    if (!s->used) return;
    const int64_t count = usable(s) ? s->bytes : 1;
    TRY(&w->run, spad_buffer_read(bytes, s->handle, 0, count, stream, &w->run.error));
    if (!s->alive) REQUIRE(w->run.status == SPAD_ERR_STALE);
    if (!usable(s)) return;
    REQUIRE(w->run.status == SPAD_OK);
    for (int64_t i = 0; i < count; i++) {
        if (known_of(w, s)[i]) REQUIRE(bytes[i] == content_of(w, s)[i]);
    }
}

/* The same on the bytes beside the device. */
static void copy_model(world *w, slot *to, slot *from, const spad_copy_range *r) {
    uint8_t bytes[BYTES_MAX];
    bool known[BYTES_MAX];
    const int64_t rows = r->rows == 0 ? 1 : r->rows;
    const int64_t to_pitch = r->to_pitch == 0 ? r->width : r->to_pitch;
    const int64_t from_pitch = r->from_pitch == 0 ? r->width : r->from_pitch;
    memcpy(bytes, content_of(w, from), (size_t)from->bytes);
    memcpy(known, known_of(w, from), (size_t)from->bytes);
    for (int64_t row = 0; row < rows && r->width > 0; row++) {
        const int64_t at = r->to_offset + row * to_pitch;
        const int64_t source = r->from_offset + row * from_pitch;
        memcpy(content_of(w, to) + at, bytes + source, (size_t)r->width);
        memcpy(known_of(w, to) + at, known + source, (size_t)r->width);
    }
}

static bool rows_inside(const slot *s, int64_t offset, int64_t pitch, int64_t width, int64_t rows) {
    if (offset < 0 || width < 0 || rows < 0 || width > BYTES_MAX || offset > BYTES_MAX)
        return false;
    if (rows == 0) rows = 1;
    if (pitch == 0) pitch = width;
    if (pitch < width || rows > BYTES_MAX + 1) return false;
    if (rows > 1 && pitch > BYTES_MAX) return false;
    return offset + (rows - 1) * (rows > 1 ? pitch : 0) + width <= s->bytes;
}

static void copy_part(world *w, fuzz_input *in) {
    slot *to = next_slot(w, in);
    slot *from = next_slot(w, in);
    const int what = fuzz_next(in);
    spad_copy_range r = {.width = next_number(in), .rows = next_number(in)};
    const spad_stream *stream = next_stream(w, in);
    if (what & 1) r.to_offset = next_number(in);
    if (what & 2) r.from_offset = next_number(in);
    if (what & 4) r.to_pitch = next_number(in);
    if (what & 8) r.from_pitch = next_number(in);
    if (!to->used || !from->used) return;
    TRY(&w->run, spad_buffer_copy_part(to->handle, from->handle, &r, stream, &w->run.error));
    if (!to->alive || !from->alive) REQUIRE(w->run.status != SPAD_OK);
    if (!usable(to) || !usable(from)) return;
    const bool inside = rows_inside(to, r.to_offset, r.to_pitch, r.width, r.rows) &&
                        rows_inside(from, r.from_offset, r.from_pitch, r.width, r.rows);
    if (!inside) {
        REQUIRE(w->run.status != SPAD_OK || r.width == 0);
    } else if (to->root != from->root) {
        REQUIRE(w->run.status == SPAD_OK);
    } else {
        REQUIRE(w->run.status == SPAD_OK || w->run.status == SPAD_ERR_OVERLAP);
    }
    if (inside && w->run.status == SPAD_OK) copy_model(w, to, from, &r);
}

static void copy_whole(world *w, fuzz_input *in) {
    slot *to = next_slot(w, in);
    slot *from = next_slot(w, in);
    const spad_stream *stream = next_stream(w, in);
    if (!to->used || !from->used) return;
    if (stream != NULL) {
        TRY(&w->run, spad_buffer_copy_async(to->handle, from->handle, *stream, &w->run.error));
    } else {
        TRY(&w->run, spad_buffer_copy(to->handle, from->handle, &w->run.error));
    }
    if (w->run.status != SPAD_OK) return;
    REQUIRE(to->alive && from->alive);
    if (!usable(from)) return;
    if (to->bytes < 0) to->bytes = from->bytes; /* it has the shape of the source now */
    REQUIRE(to->bytes == from->bytes);
    if (usable(to)) copy_model(w, to, from, &(spad_copy_range){.width = from->bytes});
}

static void copy_matrix(world *w, fuzz_input *in) {
    slot *to = next_slot(w, in);
    slot *from = next_slot(w, in);
    const spad_copy_tile tile = {next_number(in), next_number(in), next_number(in),
                                 next_number(in), next_number(in), next_number(in)};
    if (!to->used || !from->used) return;
    TRY(&w->run, spad_buffer_copy_matrix(to->handle, from->handle, &tile, NULL, &w->run.error));
    if (w->run.status != SPAD_OK) return;
    REQUIRE(to->alive && from->alive);
    if (usable(to))
        memset(known_of(w, to), false, (size_t)to->bytes); /* which bytes: not modelled */
}

static void bind(world *w, fuzz_input *in) {
    uint8_t bytes[BYTES_MAX] = {0};
    slot *s = next_slot(w, in);
    const int64_t count = next_number(in);
    if (!s->used || count > BYTES_MAX) return;
    TRY(&w->run, spad_buffer_bind(s->handle, bytes, count, &w->run.error));
    if (w->run.status != SPAD_OK) return;
    REQUIRE(s->alive && count >= 0 && (s->bytes < 0 || s->bytes == count));
    s->bytes = count;
    if (!usable(s) || count == 0) return;
    memset(content_of(w, s), 0, (size_t)count);
    memset(known_of(w, s), true, (size_t)count);
}

/* ---- streams and workspaces -------------------------------------------------------- */

static void order(world *w, fuzz_input *in) {
    fuzz_run *run = &w->run;
    spad_stream *stream = &w->streams[fuzz_next(in) % STREAMS];
    spad_fence *fence = &w->fences[fuzz_next(in) % FENCES];
    bool done;
    switch (fuzz_next(in) % 7) {
    case 0:
        if (stream->device == NULL) MUST(run, spad_stream_open(stream, w->device, &run->error));
        break;
    case 1:
        if (stream->device == NULL) return;
        MUST(run, spad_stream_close(*stream, &run->error));
        TRY(run, spad_stream_wait(*stream, &run->error));
        REQUIRE(run->status == SPAD_ERR_STALE);
        *stream = (spad_stream){0};
        break;
    case 2: TRY(run, spad_stream_wait(*stream, &run->error)); break;
    case 3:
        if (fence->device == NULL) TRY(run, spad_fence_record(fence, *stream, &run->error));
        break;
    case 4: TRY(run, spad_fence_done(&done, *fence, &run->error)); break;
    case 5: TRY(run, spad_stream_wait_fence(*stream, *fence, &run->error)); break;
    default: TRY(run, spad_fence_free(*fence, &run->error)); *fence = (spad_fence){0};
    }
}

static void use_workspace(world *w, fuzz_input *in) {
    fuzz_run *run = &w->run;
    spad_workspace space;
    spad_buffer taken = {0};
    int64_t dims[4];
    const int64_t bytes = next_number(in);
    TRY(run, spad_workspace_open(&space, w->device, bytes, SPAD_GLOBAL, "w", &run->error));
    if (run->status != SPAD_OK) return;
    for (int i = fuzz_next(in) % 4; i > 0; i--) {
        const spad_shape shape = next_shape(in, dims);
        const spad_dtype dtype = (spad_dtype)(fuzz_next(in) % (SPAD_DTYPE_COUNT + 1));
        const int64_t align = fuzz_next(in) & 1 ? next_number(in) : 0;
        TRY(run, spad_workspace_take(&taken, &space, shape, dtype, align, NULL, &run->error));
        REQUIRE(space.used <= space.bytes && space.peak <= space.bytes);
        if (fuzz_next(in) & 1) MUST(run, spad_workspace_next(&space, &run->error));
    }
    MUST(run, spad_workspace_close(&space, &run->error));
    if (taken.device == NULL) return;
    TRY(run, spad_buffer_free(taken, &run->error));
    REQUIRE(run->status == SPAD_ERR_STALE);
}

/* ---- the whole --------------------------------------------------------------------- */

static void call(world *w, fuzz_input *in) {
    switch (fuzz_next(in) % 12) {
    case 0:
    case 1: allocate(w, in); break;
    case 2: alias(w, in); break;
    case 3: release(w, in); break;
    case 4: write_bytes(w, in); break;
    case 5: read_bytes(w, in); break;
    case 6: copy_part(w, in); break;
    case 7: copy_whole(w, in); break;
    case 8: copy_matrix(w, in); break;
    case 9: bind(w, in); break;
    case 10: use_workspace(w, in); break;
    default: order(w, in);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_input in = {data, size};
    world *w = calloc(1, sizeof *w);
    REQUIRE(w != NULL);
    fuzz_run *run = &w->run;
    fuzz_run_init(run, FUZZ_NO_FAULT, 0);
    const spad_device_options options = {.pool = &(spad_pool_options){.max_bytes = 1 << 20},
                                         .host = &run->host};
    MUST_OUT(run, w->device, spad_device_open(&w->device, "host", &options, &run->error));
    for (int i = 0; i < CALLS_MAX && in.size > 0; i++) call(w, &in);
    size_t left = 0;
    for (size_t i = 0; i < SLOTS; i++) left += w->slots[i].alive && w->slots[i].root == i;
    REQUIRE(spad_device_close(w->device, &run->sink) == left);
    REQUIRE(run->blocks == 0);
    free(run->text.bytes);
    free(w);
    return 0;
}
