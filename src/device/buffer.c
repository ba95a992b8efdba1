/* SPDX-License-Identifier: Apache-2.0
 *
 * Buffers: a table of records with generations. Memory is taken and given back outside
 * the lock of the table, so that a slow driver stops no other thread; a thread that finds
 * the table changed meanwhile gives its block back.
 */
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "device/device.h"
#include "device/stats.h"
#include "spad/device/buffer.h"

/* ---- the table --------------------------------------------------------------------- */

void spad__buffer_title(char *field, size_t size, const spad__buffer_record *record) {
    char name[SPAD_NAME_FACT_MAX] = "";
    if (record->name != NULL) spad__copy_cut(name, sizeof name, record->name);
    snprintf(field, size, record->name != NULL ? "'%s'" : "a buffer%s", name);
}

static spad__buffer_record *live_record(spad_device *device, uint32_t slot, uint32_t generation) {
    if (slot >= device->buffers.count) return NULL;
    spad__buffer_record *record = &device->buffers.items[slot];
    return record->generation == generation && generation % 2 != 0 ? record : NULL;
}

spad__buffer_record *spad__buffer_find(spad_buffer buffer, spad_error *error) {
    spad__buffer_record *record = live_record(buffer.device, buffer.slot, buffer.generation);
    if (record == NULL) {
        spad__fail(error, SPAD_ERR_STALE,
                   "the buffer was freed before; an alias ends with its buffer");
    }
    return record;
}

spad__buffer_record *spad__buffer_root(spad_device *device, spad__buffer_record *record) {
    return record->root != 0 ? &device->buffers.items[record->root - 1] : record;
}

static spad_status check_handle(spad_buffer buffer, spad_error *error) {
    if (buffer.device != NULL) return SPAD_OK;
    return spad__fail(error, SPAD_ERR_ARGUMENT, "there is no buffer");
}

/* A live record with copies of name and dims, or NULL: no host memory. */
static spad__buffer_record *add_record(spad_buffer *out, spad_device *device, spad_shape shape,
                                       const char *name) {
    const size_t name_bytes = name != NULL && name[0] != '\0' ? strlen(name) + 1 : 0;
    const size_t dims_bytes = shape.rank * sizeof(int64_t) + name_bytes;
    char *block = dims_bytes > 0 ? spad__new(&device->host, dims_bytes) : NULL;
    if (dims_bytes > 0 && block == NULL) return NULL;
    if (device->free_buffer == 0) {
        if (device->buffers.count >= UINT32_MAX - 1 ||
            !spad__array_reserve(&device->host, &device->buffers, 1)) {
            spad__free(&device->host, block, dims_bytes);
            return NULL;
        }
        device->buffers.items[device->buffers.count] = (spad__buffer_record){.generation = 0};
        device->free_buffer = (uint32_t)++device->buffers.count;
    }
    const uint32_t slot = device->free_buffer - 1;
    spad__buffer_record *record = &device->buffers.items[slot];
    device->free_buffer = record->next;
    const uint32_t generation = record->generation + 1;
    *record = (spad__buffer_record){.generation = generation,
                                    .rank = shape.rank,
                                    .dims = (int64_t *)(void *)block,
                                    .dims_bytes = dims_bytes,
                                    .bytes = -1,
                                    .traced = -1};
    if (shape.rank > 0) memcpy(record->dims, shape.dims, shape.rank * sizeof(int64_t));
    if (name_bytes > 0) {
        record->name = block + shape.rank * sizeof(int64_t);
        memcpy(block + shape.rank * sizeof(int64_t), name, name_bytes);
    }
    *out = (spad_buffer){.device = device, .slot = slot, .generation = generation};
    return record;
}

static void remove_record(spad_device *device, uint32_t slot) {
    spad__buffer_record *record = &device->buffers.items[slot];
    spad__free(&device->host, record->dims, record->dims_bytes);
    *record =
        (spad__buffer_record){.generation = record->generation + 1, .next = device->free_buffer};
    device->free_buffer = slot + 1;
}

/* ---- memory ------------------------------------------------------------------------ */

/* The memory of a buffer: the pool's block, and its address. */
typedef struct grant {
    spad_allocation block;
    int64_t address;
    int64_t bytes;
} grant;

/* A buffer in a scratchpad takes bytes of each lane; its first extent runs across lanes. */
static spad_status scratchpad_bytes(int64_t *per_lane, const spad_space *space, spad_shape shape,
                                    spad_dtype dtype, int64_t bytes, spad_error *error) {
    *per_lane = bytes;
    if (space->lanes > 1) {
        int64_t lanes;
        spad_status status = spad_tile_bytes(&lanes, per_lane, shape, dtype, error);
        if (status == SPAD_OK) status = spad_space_check_lanes(space, 0, lanes, error);
        if (status != SPAD_OK) return status;
    }
    return spad_space_round(per_lane, space, *per_lane, error);
}

static spad_status take_memory(grant *out, spad_device *device, spad_memory_scope scope,
                               spad_shape shape, spad_dtype dtype, int64_t align,
                               spad_error *error) {
    spad_pool *pool;
    spad_status status = spad_shape_bytes(&out->bytes, shape, dtype, error);
    if (status == SPAD_OK) status = spad_device_get_pool(&pool, device, scope, error);
    if (status != SPAD_OK) return status;
    if (scope == SPAD_GLOBAL) {
        int64_t guarded;
        if (!spad__add(out->bytes, device->info.guard_bytes, &guarded)) guarded = out->bytes;
        status = spad_pool_alloc(&out->block, pool, guarded, align, error);
        out->address = out->block.address;
        return status;
    }
    const spad__scratchpad *scratchpad = &device->scratchpads[scope];
    int64_t per_lane;
    status = scratchpad_bytes(&per_lane, scratchpad->space, shape, dtype, out->bytes, error);
    if (status == SPAD_OK) status = spad_pool_alloc(&out->block, pool, per_lane, align, error);
    out->address = scratchpad->base + out->block.address * scratchpad->space->lanes;
    return status;
}

/* Gives memory back: after the stream's work with it, or at once. */
static void release_memory(spad_device *device, spad_memory_scope scope,
                           const spad_allocation *block, spad_stream stream) {
    spad__stream_record *record =
        scope == SPAD_GLOBAL && stream.device == device ? spad__stream_find(stream, NULL) : NULL;
    if (record != NULL) {
        spad__lane_free(&record->lane, device->pool, block, NULL);
    } else {
        spad_pool *pool = scope == SPAD_GLOBAL ? device->pool : device->scratchpads[scope].pool;
        spad_pool_free(pool, block, NULL);
    }
}

/* ---- statistics and trace ---------------------------------------------------------- */

static spad_status trace_alloc(spad_device *device, spad__buffer_record *record,
                               spad_error *error) {
    if (device->trace == NULL) return SPAD_OK;
    const size_t space = device->traced_spaces[record->scope];
    if (space == SPAD_NO_SPACE) return SPAD_OK;
    const spad__buffer_record *root = spad__buffer_root(device, record);
    spad_tensor tensor = {
        .name = record->name,
        .shape = {record->rank, record->dims},
        .dtype = record->dtype,
        .mode = record->root != 0 ? SPAD_MODE_ALIAS : SPAD_MODE_POOL,
        .space = space,
        .rect = {.lanes = 1, .byte = SPAD_NO_BYTE, .bytes = record->bytes},
        .scope = -1,
    };
    if (record->scope == SPAD_GLOBAL) {
        const int64_t position = spad__pool_position(device->pool, root->block.address);
        if (position != SPAD_NO_BYTE) tensor.rect.byte = position + record->offset;
    } else {
        const int64_t lanes = device->scratchpads[record->scope].space->lanes;
        tensor.rect.byte = root->block.address + record->offset / lanes;
        if (lanes > 1 && record->root == 0) {
            tensor.rect.lanes = record->dims[0];
            tensor.rect.bytes = record->block.bytes;
        } else if (lanes > 1) {
            tensor.rect.lanes = lanes;
            tensor.rect.bytes = (record->bytes + lanes - 1) / lanes;
        }
    }
    return spad_trace_alloc(&record->traced, device->trace, &tensor,
                            tensor.rect.byte == SPAD_NO_BYTE ? 0 : tensor.rect.byte, error);
}

/* The buffer has its memory now. Under the mutex; on failure nothing has changed. */
static spad_status settle_record(spad_device *device, spad__buffer_record *record,
                                 const grant *memory, spad_error *error) {
    const spad__buffer_record before = *record;
    record->block = memory->block;
    record->address = memory->address;
    record->bytes = memory->bytes;
    const spad_status status = trace_alloc(device, record, error);
    if (status != SPAD_OK) {
        *record = before;
        return status;
    }
    spad__stats_alloc(&device->stats[record->scope], record->bytes);
    spad__stats_alloc(&device->stats[SPAD_SCOPE_COUNT], record->bytes);
    return SPAD_OK;
}

static void count_failure(spad_device *device, spad_memory_scope scope) {
    if ((unsigned)scope >= SPAD_SCOPE_COUNT) return;
    pthread_mutex_lock(&device->mutex);
    device->stats[scope].failures++;
    device->stats[SPAD_SCOPE_COUNT].failures++;
    pthread_mutex_unlock(&device->mutex);
}

/* ---- allocation -------------------------------------------------------------------- */

/* The place of the SPAD_AUTO extent; the rank for none. */
static size_t find_auto(spad_shape shape) {
    size_t i = 0;
    while (i < shape.rank && shape.dims[i] != SPAD_AUTO) i++;
    return i;
}

static spad_status check_spec(const spad_buffer_spec *spec, spad_error *error) {
    const spad_shape shape = spec->shape;
    if (spad_dtype_bits(spec->dtype) == 0)
        return spad__fail(error, SPAD_ERR_DTYPE, "the buffer has no element type");
    if ((unsigned)spec->scope >= SPAD_SCOPE_COUNT)
        return spad__fail(error, SPAD_ERR_ARGUMENT, "%d is not a memory scope", (int)spec->scope);
    if (spec->alignment != 0 && !spad__is_pow2(spec->alignment)) {
        return spad__fail(error, SPAD_ERR_ALIGNMENT,
                          "alignment %lld is not a power of two; use 0 for that of the memory",
                          (long long)spec->alignment);
    }
    if (shape.rank > SPAD_RANK_MAX) {
        return spad__fail(error, SPAD_ERR_SHAPE,
                          "a shape of %zu dimensions; at most %d are allowed", shape.rank,
                          SPAD_RANK_MAX);
    }
    const size_t open = find_auto(shape);
    for (size_t i = open + 1; i < shape.rank; i++) {
        if (shape.dims[i] == SPAD_AUTO)
            return spad__fail(error, SPAD_ERR_SHAPE, "two extents are automatic; one can be");
        if (shape.dims[i] < 0) {
            return spad__fail(error, SPAD_ERR_SHAPE,
                              "dimension %zu of the shape is %lld; extents cannot be negative", i,
                              (long long)shape.dims[i]);
        }
    }
    return SPAD_OK;
}

/* A record without memory, which only its maker knows of until it has settled it. */
static spad_status open_record(spad_buffer *out, spad_device *device, const spad_buffer_spec *spec,
                               int64_t align, spad_error *error) {
    pthread_mutex_lock(&device->mutex);
    spad__buffer_record *record = add_record(out, device, spec->shape, spec->name);
    if (record != NULL) {
        record->dtype = spec->dtype;
        record->scope = spec->scope;
        record->alignment = align;
    }
    pthread_mutex_unlock(&device->mutex);
    return record != NULL ? SPAD_OK : spad__fail_host_memory(error);
}

/* Takes memory for the record; whatever fails, none is taken. */
static spad_status settle_new(spad_buffer buffer, const spad_buffer_spec *spec, int64_t align,
                              spad_error *error) {
    spad_device *device = buffer.device;
    grant memory = {0};
    spad_status status =
        take_memory(&memory, device, spec->scope, spec->shape, spec->dtype, align, error);
    if (status != SPAD_OK) {
        if (status == SPAD_ERR_NO_FIT) spad__fact_names(error, spec->name, NULL);
        count_failure(device, spec->scope);
        return status;
    }
    pthread_mutex_lock(&device->mutex);
    status = settle_record(device, &device->buffers.items[buffer.slot], &memory, error);
    pthread_mutex_unlock(&device->mutex);
    if (status != SPAD_OK) release_memory(device, spec->scope, &memory.block, (spad_stream){0});
    return status;
}

/* The record comes first, so that no pool has grown for nothing when host memory is out. */
spad_status spad_buffer_alloc(spad_buffer *out, spad_device *device, const spad_buffer_spec *spec,
                              spad_error *error) {
    *out = (spad_buffer){0};
    spad_status status = check_spec(spec, error);
    if (status != SPAD_OK) return status;
    const int64_t align = spec->alignment > 0 ? spec->alignment : 1;
    status = open_record(out, device, spec, align, error);
    if (status != SPAD_OK) return status;
    if (find_auto(spec->shape) < spec->shape.rank) return SPAD_OK; /* its extent is not known yet */
    status = settle_new(*out, spec, align, error);
    if (status != SPAD_OK) {
        pthread_mutex_lock(&device->mutex);
        remove_record(device, out->slot);
        pthread_mutex_unlock(&device->mutex);
        *out = (spad_buffer){0};
    }
    return status;
}

/* Waits for the last stream before memory is freed that it cannot keep in its order. */
static spad_status wait_for_last(spad_buffer buffer, spad_error *error) {
    spad_stream last = {0};
    spad_status status = SPAD_OK;
    pthread_mutex_lock(&buffer.device->mutex);
    const spad__buffer_record *record = spad__buffer_find(buffer, error);
    if (record == NULL) {
        status = SPAD_ERR_STALE;
    } else if (record->root == 0 && record->bytes >= 0 &&
               (record->scope != SPAD_GLOBAL || record->stream.device != buffer.device)) {
        last = record->stream;
    }
    pthread_mutex_unlock(&buffer.device->mutex);
    if (status != SPAD_OK || last.device == NULL) return status;
    return spad__stream_follow(last, NULL, error);
}

/* Ends a record: statistics, trace, and its place in the table. Under the mutex. */
static void end_record(spad_device *device, uint32_t slot) {
    const spad__buffer_record *record = &device->buffers.items[slot];
    if (record->root != 0) {
        device->buffers.items[record->root - 1].aliases--;
    } else if (record->bytes >= 0) {
        spad__stats_free(&device->stats[record->scope], record->bytes);
        spad__stats_free(&device->stats[SPAD_SCOPE_COUNT], record->bytes);
    }
    /* the trace took the memory for this event when it recorded the allocation */
    if (record->traced >= 0) spad_trace_free(device->trace, record->traced, -1, 0, NULL);
    remove_record(device, slot);
}

void spad__buffer_end_aliases(spad_device *device, uint32_t slot) {
    for (size_t i = 0; i < device->buffers.count && device->buffers.items[slot].aliases > 0; i++) {
        if (device->buffers.items[i].root == slot + 1) end_record(device, (uint32_t)i);
    }
}

spad_status spad_buffer_free(spad_buffer buffer, spad_error *error) {
    spad_device *device = buffer.device;
    if (device == NULL) return SPAD_OK;
    spad_status status = wait_for_last(buffer, error);
    if (status != SPAD_OK) return status;
    spad__buffer_record freed = {0};
    pthread_mutex_lock(&device->mutex);
    const spad__buffer_record *record = spad__buffer_find(buffer, error);
    if (record == NULL) {
        status = SPAD_ERR_STALE;
    } else {
        freed = *record;
        spad__buffer_end_aliases(device, buffer.slot);
        end_record(device, buffer.slot);
    }
    pthread_mutex_unlock(&device->mutex);
    if (status == SPAD_OK && freed.root == 0 && freed.bytes >= 0)
        release_memory(device, freed.scope, &freed.block, freed.stream);
    return status;
}

void spad__buffer_destroy_all(spad_device *device) {
    for (size_t i = 0; i < device->buffers.count; i++) {
        spad__buffer_record *record = &device->buffers.items[i];
        spad__free(&device->host, record->dims, record->dims_bytes);
    }
    spad__array_free(&device->host, &device->buffers);
}

/* ---- extents from data ------------------------------------------------------------- */

/* Fills the open extent of dims so that the shape has `bytes` bytes. */
static spad_status infer_extent(int64_t *dims, spad_shape shape, spad_dtype dtype, int64_t bytes,
                                spad_error *error) {
    const size_t open = find_auto(shape);
    int64_t bits = spad_dtype_bits(dtype);
    int64_t all;
    memcpy(dims, shape.dims, shape.rank * sizeof *dims);
    for (size_t i = 0; i < shape.rank; i++) {
        if (i != open && !spad__mul(bits, dims[i], &bits))
            return spad__fail(error, SPAD_ERR_OVERFLOW,
                              "the bytes of the shape do not fit 64 bits");
    }
    if (!spad__mul(bytes, 8, &all) || bits == 0 || all % bits != 0) {
        return spad__fail(error, SPAD_ERR_SHAPE,
                          "%lld B are not a whole number of %s elements for the other extents",
                          (long long)bytes, spad_dtype_name(dtype));
    }
    dims[open] = all / bits;
    return SPAD_OK;
}

/* The fields needed to settle a buffer, read under the mutex. */
typedef struct open_buffer {
    spad_dtype dtype;
    spad_memory_scope scope;
    int64_t alignment;
    size_t rank;
    int64_t dims[SPAD_RANK_MAX];
    bool settled;
    int64_t bytes;
} open_buffer;

static spad_status read_open(open_buffer *out, spad_buffer buffer, spad_error *error) {
    spad_status status = SPAD_ERR_STALE;
    pthread_mutex_lock(&buffer.device->mutex);
    const spad__buffer_record *record = spad__buffer_find(buffer, error);
    if (record != NULL) {
        *out = (open_buffer){.dtype = record->dtype,
                             .scope = record->scope,
                             .alignment = record->alignment,
                             .rank = record->rank,
                             .settled = record->bytes >= 0,
                             .bytes = record->bytes};
        if (record->rank > 0) memcpy(out->dims, record->dims, record->rank * sizeof *out->dims);
        status = SPAD_OK;
    }
    pthread_mutex_unlock(&buffer.device->mutex);
    return status;
}

/* Host memory for the dims of a shape and the name of a buffer. */
typedef struct dims_block {
    char *block;
    size_t bytes;
} dims_block;

static spad_status new_dims(dims_block *out, spad_buffer buffer, spad_shape shape,
                            spad_error *error) {
    spad_device *device = buffer.device;
    spad_status status = SPAD_ERR_STALE;
    *out = (dims_block){.bytes = shape.rank * sizeof(int64_t)};
    pthread_mutex_lock(&device->mutex);
    const spad__buffer_record *record = spad__buffer_find(buffer, error);
    if (record != NULL) {
        const size_t name_bytes = record->name != NULL ? strlen(record->name) + 1 : 0;
        out->block = spad__new(&device->host, out->bytes + name_bytes);
        status = out->block != NULL ? SPAD_OK : spad__fail_host_memory(error);
        if (status == SPAD_OK) {
            memcpy(out->block, shape.dims, out->bytes);
            if (name_bytes > 0) memcpy(out->block + out->bytes, record->name, name_bytes);
            out->bytes += name_bytes;
        }
    }
    pthread_mutex_unlock(&device->mutex);
    return status;
}

/* Puts dims and memory into the record, unless someone else did so meanwhile. Ends the
 * dims that are not needed, the old or the new ones. */
static spad_status install(spad_buffer buffer, size_t rank, dims_block dims, const grant *memory,
                           spad_error *error) {
    spad_device *device = buffer.device;
    spad_status status = SPAD_ERR_STALE;
    pthread_mutex_lock(&device->mutex);
    spad__buffer_record *record = spad__buffer_find(buffer, error);
    if (record != NULL && record->bytes >= 0) {
        status = spad__fail(error, SPAD_ERR_LIFE_CYCLE, "another thread bound the buffer");
    } else if (record != NULL) {
        const spad__buffer_record old = *record;
        record->rank = rank;
        record->dims = (int64_t *)(void *)dims.block;
        record->dims_bytes = dims.bytes;
        record->name = old.name != NULL ? dims.block + rank * sizeof(int64_t) : NULL;
        status = settle_record(device, record, memory, error);
        if (status == SPAD_OK) {
            dims = (dims_block){.block = (char *)old.dims, .bytes = old.dims_bytes};
        } else {
            *record = old;
        }
    }
    spad__free(&device->host, dims.block, dims.bytes);
    pthread_mutex_unlock(&device->mutex);
    return status;
}

static void drop_dims(spad_device *device, dims_block dims) {
    pthread_mutex_lock(&device->mutex);
    spad__free(&device->host, dims.block, dims.bytes);
    pthread_mutex_unlock(&device->mutex);
}

spad_status spad__buffer_settle(spad_buffer buffer, int64_t bytes, const spad_buffer_info *like,
                                spad_error *error) {
    open_buffer open;
    int64_t dims[SPAD_RANK_MAX];
    spad_status status = read_open(&open, buffer, error);
    if (status != SPAD_OK || open.settled) return status;
    spad_shape shape = {open.rank, open.dims};
    if (like != NULL && open.rank == 1 && like->dtype == open.dtype) {
        shape = (spad_shape){like->rank, like->dims};
    } else {
        status = infer_extent(dims, shape, open.dtype, bytes, error);
        shape.dims = dims;
    }
    grant memory = {0};
    dims_block block = {0};
    if (status == SPAD_OK) status = new_dims(&block, buffer, shape, error);
    if (status != SPAD_OK) return status;
    status =
        take_memory(&memory, buffer.device, open.scope, shape, open.dtype, open.alignment, error);
    if (status != SPAD_OK) {
        drop_dims(buffer.device, block);
        return status;
    }
    status = install(buffer, shape.rank, block, &memory, error);
    if (status != SPAD_OK)
        release_memory(buffer.device, open.scope, &memory.block, (spad_stream){0});
    return status;
}

spad_status spad_buffer_bind(spad_buffer buffer, const void *data, int64_t bytes,
                             spad_error *error) {
    open_buffer open;
    spad_status status = check_handle(buffer, error);
    if (status == SPAD_OK && bytes < 0)
        status = spad__fail(error, SPAD_ERR_ARGUMENT, "data of %lld B", (long long)bytes);
    if (status == SPAD_OK) status = spad__buffer_settle(buffer, bytes, NULL, error);
    if (status == SPAD_OK) status = read_open(&open, buffer, error);
    if (status == SPAD_OK && open.bytes != bytes) {
        status = spad__fail(error, SPAD_ERR_BOUNDS, "%lld B of data for a buffer of %lld B",
                            (long long)bytes, (long long)open.bytes);
        spad__fact_amounts(error, bytes, open.bytes, SPAD_NO_FACT);
    }
    return status == SPAD_OK ? spad_buffer_write(buffer, 0, data, bytes, NULL, error) : status;
}

/* ---- questions --------------------------------------------------------------------- */

/* The address that a program sees: in a scratchpad, that in a lane. */
static int64_t visible_address(spad_device *device, spad__buffer_record *record) {
    const spad__buffer_record *root = spad__buffer_root(device, record);
    if (root->bytes < 0) return SPAD_NO_BYTE;
    if (record->scope == SPAD_GLOBAL) return root->address + record->offset;
    return root->block.address + record->offset / device->scratchpads[record->scope].space->lanes;
}

spad_status spad_buffer_get_info(spad_buffer_info *out, spad_buffer buffer, spad_error *error) {
    spad_status status = check_handle(buffer, error);
    memset(out, 0, sizeof *out);
    out->address = SPAD_NO_BYTE;
    if (status != SPAD_OK) return status;
    pthread_mutex_lock(&buffer.device->mutex);
    spad__buffer_record *record = spad__buffer_find(buffer, error);
    if (record == NULL) {
        status = SPAD_ERR_STALE;
    } else {
        out->dtype = record->dtype;
        out->scope = record->scope;
        out->address = visible_address(buffer.device, record);
        out->bytes = spad__max(record->bytes, 0);
        out->alignment = record->alignment;
        out->is_alias = record->root != 0;
        out->rank = record->rank;
        if (record->rank > 0) memcpy(out->dims, record->dims, record->rank * sizeof *out->dims);
        if (record->name != NULL) spad__copy_cut(out->name, sizeof out->name, record->name);
    }
    pthread_mutex_unlock(&buffer.device->mutex);
    return status;
}

/* Address in memory of a buffer that has some. */
static spad_status memory_address(int64_t *out, spad_buffer buffer, int64_t *visible,
                                  spad_error *error) {
    spad_status status = check_handle(buffer, error);
    *out = *visible = SPAD_NO_BYTE;
    if (status != SPAD_OK) return status;
    pthread_mutex_lock(&buffer.device->mutex);
    spad__buffer_record *record = spad__buffer_find(buffer, error);
    if (record == NULL) {
        status = SPAD_ERR_STALE;
    } else if (record->bytes < 0) {
        status = spad__fail(error, SPAD_ERR_NO_ADDRESS,
                            "the buffer has an automatic extent and no data is bound to it yet");
    } else {
        *out = spad__buffer_root(buffer.device, record)->address + record->offset;
        *visible = visible_address(buffer.device, record);
    }
    pthread_mutex_unlock(&buffer.device->mutex);
    return status;
}

spad_status spad_buffer_get_address(int64_t *out, spad_buffer buffer, spad_error *error) {
    int64_t address;
    return memory_address(&address, buffer, out, error);
}

spad_status spad_buffer_get_pointer(void **out, spad_buffer buffer, spad_error *error) {
    int64_t address;
    int64_t visible;
    *out = NULL;
    const spad_status status = memory_address(&address, buffer, &visible, error);
    if (status != SPAD_OK) return status;
    if (!buffer.device->info.host_reads) {
        return spad__fail(error, SPAD_ERR_CAPABILITY,
                          "the processor cannot read the memory of %s; copy the buffer",
                          buffer.device->info.name);
    }
    *out = (void *)(uintptr_t)address;
    return SPAD_OK;
}

spad_status spad_buffer_get_native(void **object, int64_t *offset, spad_buffer buffer,
                                   spad_error *error) {
    int64_t address;
    int64_t visible;
    *object = NULL;
    *offset = 0;
    const spad_status status = memory_address(&address, buffer, &visible, error);
    if (status != SPAD_OK) return status;
    const spad_device *device = buffer.device;
    if (device->backend->native == NULL) {
        return spad__fail(error, SPAD_ERR_CAPABILITY,
                          "%s has addresses and no objects; use spad_buffer_get_address",
                          device->info.name);
    }
    return device->backend->native(object, offset, device->native, address, error);
}

spad_status spad_buffer_open_view(void **out, spad_buffer buffer, spad_error *error) {
    int64_t address;
    int64_t visible;
    spad_buffer_info info;
    *out = NULL;
    spad_status status = memory_address(&address, buffer, &visible, error);
    if (status == SPAD_OK) status = spad_buffer_get_info(&info, buffer, error);
    if (status != SPAD_OK) return status;
    return spad__device_open_view(out, buffer.device, false, address, info.bytes, error);
}

/* ---- aliases ----------------------------------------------------------------------- */

/* Is the view inside the buffer? Under the mutex. */
static spad_status check_view(const spad__buffer_record *of, int64_t offset, int64_t bytes,
                              spad_dtype dtype, spad_error *error) {
    int64_t end;
    char title[96];
    spad__buffer_title(title, sizeof title, of);
    if (of->bytes < 0) return spad__fail(error, SPAD_ERR_NO_ADDRESS, "%s has no memory yet", title);
    if (offset < 0 || !spad__add(offset, bytes, &end) || end > of->bytes) {
        spad__fail(error, SPAD_ERR_BOUNDS, "a view of %lld B at %lld is outside %s of %lld B",
                   (long long)bytes, (long long)offset, title, (long long)of->bytes);
        const bool inside = 0 <= offset && offset <= of->bytes;
        spad__fact_amounts(error, bytes, inside ? of->bytes - offset : 0, SPAD_NO_FACT);
        return SPAD_ERR_BOUNDS;
    }
    if (offset % spad_dtype_bytes(dtype) != 0) {
        return spad__fail(error, SPAD_ERR_ALIGNMENT,
                          "a view of %s at byte %lld; it has to begin at a multiple of %lld",
                          spad_dtype_name(dtype), (long long)offset,
                          (long long)spad_dtype_bytes(dtype));
    }
    return SPAD_OK;
}

spad_status spad_buffer_alias(spad_buffer *out, spad_buffer of, int64_t offset, spad_shape shape,
                              spad_dtype dtype, const char *name, spad_error *error) {
    int64_t bytes;
    spad_device *device = of.device;
    *out = (spad_buffer){0};
    spad_status status = check_handle(of, error);
    if (status == SPAD_OK) status = spad_shape_bytes(&bytes, shape, dtype, error);
    if (status != SPAD_OK) return status;
    pthread_mutex_lock(&device->mutex);
    spad__buffer_record *parent = spad__buffer_find(of, error);
    status = parent == NULL ? SPAD_ERR_STALE : check_view(parent, offset, bytes, dtype, error);
    if (status == SPAD_OK) {
        const spad__buffer_record seen = *parent; /* adding a record may move them */
        spad__buffer_record *record = add_record(out, device, shape, name);
        if (record == NULL) {
            status = spad__fail_host_memory(error);
        } else {
            record->dtype = dtype;
            record->scope = seen.scope;
            record->alignment = 1;
            record->bytes = bytes;
            record->offset = seen.offset + offset;
            record->root = seen.root != 0 ? seen.root : of.slot + 1;
            status = trace_alloc(device, record, error);
            if (status == SPAD_OK) {
                spad__buffer_root(device, record)->aliases++;
            } else {
                remove_record(device, out->slot);
            }
        }
    }
    pthread_mutex_unlock(&device->mutex);
    if (status != SPAD_OK) *out = (spad_buffer){0};
    return status;
}

/* ---- guards ------------------------------------------------------------------------ */

spad_buffer_guard spad_buffer_enter(spad_device *device, const spad_buffer_spec *spec,
                                    spad_error *error) {
    spad_buffer_guard guard;
    guard.status = spad_buffer_alloc(&guard.buffer, device, spec, error);
    return guard;
}

void spad_buffer_leave(spad_buffer_guard *guard) {
    spad_buffer_free(guard->buffer, NULL); /* freed by hand: stale, and left alone */
}
