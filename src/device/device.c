/* SPDX-License-Identifier: Apache-2.0
 *
 * Devices: opening and closing, their pools and scratchpads, statistics, the
 * report of leaks.
 */
#include "device/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/options.h"
#include "base/text.h"
#include "device/backend.h"

/* ---- scopes ------------------------------------------------------------------------ */

static const char *const scope_names[SPAD_SCOPE_COUNT] = {"global", "shared", "local"};

const char *spad_memory_scope_name(spad_memory_scope scope) {
    return (unsigned)scope < SPAD_SCOPE_COUNT ? scope_names[scope] : "?";
}

spad_status spad_memory_scope_parse(spad_memory_scope *out, const char *name, spad_error *error) {
    static const struct {
        const char *name;
        spad_memory_scope scope;
    } names[] = {{"global", SPAD_GLOBAL}, {"shared", SPAD_SHARED}, {"local", SPAD_LOCAL},
                 {"cpu", SPAD_GLOBAL},    {"npu", SPAD_GLOBAL},    {"gpu", SPAD_GLOBAL},
                 {"hbm", SPAD_GLOBAL},    {"ub", SPAD_SHARED}};
    spad__nearest nearest;
    spad__nearest_start(&nearest, name);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i].name, name) == 0) {
            *out = names[i].scope;
            return SPAD_OK;
        }
        spad__nearest_offer(&nearest, names[i].name);
    }
    char hint[96];
    spad__nearest_phrase(&nearest, hint, sizeof hint);
    spad__fail(error, SPAD_ERR_UNKNOWN, "no memory scope is called '%s'%s", name,
               hint[0] != '\0' ? hint : "; there are global, shared and local");
    spad__fact_names(error, name, NULL);
    *out = SPAD_GLOBAL;
    return SPAD_ERR_UNKNOWN;
}

/* The number of the first of these spaces that the target has. */
static size_t find_space(const spad_target *target, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++) {
        size_t number;
        if (spad_target_find_space(&number, target, names[i], NULL) == SPAD_OK) return number;
    }
    return SPAD_NO_SPACE;
}

/* Global memory in a trace: the first space off chip, or the first of all. */
static size_t find_global(const spad_target *target) {
    static const char *const usual[] = {"gm", "hbm", "global"};
    const size_t found = find_space(target, usual, 3);
    if (found != SPAD_NO_SPACE) return found;
    for (size_t i = 0; i < target->space_count; i++) {
        if (target->spaces[i].off_chip) return i;
    }
    return target->space_count > 0 ? 0 : SPAD_NO_SPACE;
}

static size_t find_shared(const spad_target *target) {
    static const char *const names[] = {"ub", "sbuf", "shared", "l1"};
    return find_space(target, names, 4);
}

static size_t find_local(const spad_target *target) {
    static const char *const names[] = {"l0c", "psum", "registers", "local"};
    return find_space(target, names, 4);
}

static spad_status set_spaces(spad_device *device, const spad_device_options *o,
                              spad_error *error) {
    size_t *spaces = device->spaces;
    spad_status status = SPAD_OK;
    device->target = o->target;
    if (device->target == NULL) status = spad_target_find(&device->target, "910b", error);
    if (status != SPAD_OK) return status;
    spaces[SPAD_GLOBAL] = find_global(device->target);
    spaces[SPAD_SHARED] = find_shared(device->target);
    spaces[SPAD_LOCAL] = find_local(device->target);
    if (o->shared_space != NULL)
        status =
            spad_target_find_space(&spaces[SPAD_SHARED], device->target, o->shared_space, error);
    if (status == SPAD_OK && o->local_space != NULL)
        status = spad_target_find_space(&spaces[SPAD_LOCAL], device->target, o->local_space, error);
    for (int s = SPAD_SHARED; s <= SPAD_LOCAL && status == SPAD_OK; s++) {
        if (spaces[s] != SPAD_NO_SPACE)
            device->scratchpads[s].space = &device->target->spaces[spaces[s]];
    }
    return status;
}

/* ---- the driver's memory ----------------------------------------------------------- */

/* More alignment than the driver gives is taken out of a larger block; the handle is the
 * driver's address. */
static spad_status raw_alloc(void *context, spad_allocation *out, int64_t bytes, int64_t align,
                             spad_error *error) {
    const spad_device *device = context;
    const int64_t slack = spad__max(align - device->info.alignment, 0);
    int64_t address;
    int64_t size;
    if (!spad__add(spad__max(bytes, 1), slack, &size)) {
        return spad__fail(error, SPAD_ERR_OVERFLOW, "%lld B at alignment %lld do not fit 64 bits",
                          (long long)bytes, (long long)align);
    }
    const spad_status status = device->backend->alloc(&address, device->native, size, error);
    if (status != SPAD_OK) return status;
    *out = (spad_allocation){.address = slack > 0 ? spad__align_up_fits(address, align) : address,
                             .bytes = bytes,
                             .handle = (uint64_t)address};
    return SPAD_OK;
}

static spad_status raw_free(void *context, const spad_allocation *block, spad_error *error) {
    const spad_device *device = context;
    return device->backend->free(device->native, (int64_t)block->handle, error);
}

spad_memory spad_device_get_memory(spad_device *device) {
    static const spad_memory_calls calls = {.alloc = raw_alloc, .free = raw_free};
    return (spad_memory){.calls = &calls, .context = device};
}

/* ---- the driver's memory on the host ----------------------------------------------- */

/* A driver's blocks are aligned at least as malloc's; more is taken out of a larger block. */
static spad_status pinned_alloc(void *context, spad_allocation *out, int64_t bytes, int64_t align,
                                spad_error *error) {
    const spad_device *device = context;
    int64_t address;
    int64_t size;
    if (device->backend->host_alloc == NULL) {
        return spad__fail(error, SPAD_ERR_CAPABILITY,
                          "the driver of %s makes no host memory; use memory of the program",
                          device->info.name);
    }
    if (!spad__add(spad__max(bytes, 1), align - 1, &size)) {
        return spad__fail(error, SPAD_ERR_OVERFLOW, "%lld B at alignment %lld do not fit 64 bits",
                          (long long)bytes, (long long)align);
    }
    const spad_status status = device->backend->host_alloc(&address, device->native, size, error);
    if (status != SPAD_OK) return status;
    *out = (spad_allocation){.address = spad__align_up_fits(address, align),
                             .bytes = bytes,
                             .handle = (uint64_t)address};
    return SPAD_OK;
}

static spad_status pinned_free(void *context, const spad_allocation *block, spad_error *error) {
    const spad_device *device = context;
    return device->backend->host_free(device->native, (int64_t)block->handle, error);
}

spad_memory spad_device_get_host_memory(spad_device *device) {
    static const spad_memory_calls calls = {.alloc = pinned_alloc, .free = pinned_free};
    return (spad_memory){.calls = &calls, .context = device};
}

/* ---- views ------------------------------------------------------------------------- */

spad_status spad__device_open_view(void **out, spad_device *device, bool in_host, int64_t address,
                                   int64_t bytes, spad_error *error) {
    *out = NULL;
    if (device->backend->view_open == NULL) {
        return spad__fail(error, SPAD_ERR_CAPABILITY,
                          "%s needs no objects for parts of its memory; use the address",
                          device->info.name);
    }
    return device->backend->view_open(out, device->native, in_host, address, bytes, error);
}

spad_status spad_device_open_view(void **out, spad_device *device, void *memory, int64_t bytes,
                                  spad_error *error) {
    *out = NULL;
    if (memory == NULL || bytes <= 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "a view of %lld B of %s memory",
                          (long long)bytes, memory == NULL ? "no" : "host");
    }
    return spad__device_open_view(out, device, true, (int64_t)(uintptr_t)memory, bytes, error);
}

void spad_device_close_view(spad_device *device, void *view) {
    if (view != NULL) device->backend->view_close(device->native, view);
}

/* ---- opening ----------------------------------------------------------------------- */

/* The pool is full: blocks that streams have given back may suffice. */
static bool drain_and_retry(void *context, spad_pool *pool, int64_t needed) {
    spad_device *device = context;
    (void)pool;
    (void)needed;
    return spad__stream_drain_all(device);
}

static spad_status open_pool(spad_device *device, const spad_device_options *o, spad_error *error) {
    const spad_memory memory = spad_device_get_memory(device);
    spad_pool_options options;
    const spad_status status = SPAD__COPY_OPTIONS(&options, o->pool, error);
    if (status != SPAD_OK) return status;
    if (options.block_bytes == 0) options.block_bytes = device->info.alignment;
    options.retry = drain_and_retry;
    options.retry_context = device;
    options.host = &device->host;
    return spad_pool_create(&device->pool, &memory, &options, error);
}

/* The spaces of a trace's target in which the scopes are recorded. Another target than the device's
 * may do, if it has no scratchpads: buffers of global memory are recorded, and no others. */
static spad_status find_traced_spaces(size_t out[SPAD_SCOPE_COUNT], const spad_device *device,
                                      const spad_trace *trace, spad_error *error) {
    memcpy(out, device->spaces, sizeof device->spaces);
    const spad_target *target = trace != NULL ? spad_trace_get_target(trace) : device->target;
    if (target == device->target) return SPAD_OK;
    out[SPAD_GLOBAL] = find_global(target);
    out[SPAD_SHARED] = out[SPAD_LOCAL] = SPAD_NO_SPACE;
    if (find_shared(target) == SPAD_NO_SPACE && find_local(target) == SPAD_NO_SPACE) return SPAD_OK;
    return spad__fail(error, SPAD_ERR_ARGUMENT, "the trace is of target '%s', the device's is '%s'",
                      target->name, device->target->name);
}

/* Steps of opening, each of which may fail; spad_device_close undoes those that succeeded. */
static spad_status open_parts(spad_device *device, int index, const spad_device_options *o,
                              spad_error *error) {
    const spad_backend *b = device->backend;
    int count;
    spad_status status = set_spaces(device, o, error);
    if (status == SPAD_OK)
        status = find_traced_spaces(device->traced_spaces, device, o->trace, error);
    if (status == SPAD_OK) device->trace = o->trace;
    if (status == SPAD_OK) status = b->load(&device->driver, &device->host, error);
    if (status == SPAD_OK) status = b->count(&count, device->driver, error);
    if (status == SPAD_OK && (index < 0 || index >= count)) {
        status = spad__fail(error, SPAD_ERR_NO_DEVICE, "there is no %s:%d; %s has %d device%s",
                            b->name, index, b->name, count, count == 1 ? "" : "s");
    }
    if (status == SPAD_OK) status = b->open(&device->native, device->driver, index, error);
    if (status == SPAD_OK) status = b->describe(&device->info, device->driver, index, error);
    if (status == SPAD_OK) status = open_pool(device, o, error);
    return status;
}

void spad__device_set_name(spad_device_info *info, const spad_backend *backend, int index) {
    if (strcmp(backend->name, "host") == 0) {
        snprintf(info->name, sizeof info->name, "host");
    } else {
        snprintf(info->name, sizeof info->name, "%.10s:%d", backend->name, index);
    }
}

spad_status spad_device_open_on(spad_device **out, const spad_backend *backend, int index,
                                const spad_device_options *options, spad_error *error) {
    spad_device_options o;
    *out = NULL;
    const spad_status read = SPAD__COPY_OPTIONS(&o, options, error);
    if (read != SPAD_OK) return read;
    if (backend->version != SPAD_BACKEND_VERSION) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "the back end has version %u; this library requires %d", backend->version,
                          SPAD_BACKEND_VERSION);
    }
    const spad_host host = spad__host_or_default(o.host);
    spad_device *device = spad__new(&host, sizeof *device);
    if (device == NULL) return spad__fail_host_memory(error);
    device->host = host;
    device->backend = backend;
    spad__device_set_name(&device->info, backend, index);
    if (pthread_mutex_init(&device->mutex, NULL) != 0) {
        spad__free(&host, device, sizeof *device);
        return spad__fail_host_memory(error);
    }
    if (pthread_mutex_init(&device->streams_mutex, NULL) != 0) {
        pthread_mutex_destroy(&device->mutex);
        spad__free(&host, device, sizeof *device);
        return spad__fail_host_memory(error);
    }
    const spad_status status = open_parts(device, index, &o, error);
    if (status != SPAD_OK) {
        spad_device_close(device, NULL);
        return status;
    }
    *out = device;
    return SPAD_OK;
}

/* The number after the name of a back end: none is 0, "cuda" is the first. -1: not a number. */
static int parse_index(const char *rest) {
    if (rest[0] == '\0') return 0;
    if (rest[0] != ':' || rest[1] == '\0') return -1;
    int index = 0;
    const char *digit = rest + 1;
    for (; *digit >= '0' && *digit <= '9' && index < 100000; digit++) {
        index = index * 10 + (*digit - '0');
    }
    return *digit == '\0' ? index : -1;
}

static const spad_backend *find_backend(const char *name, size_t length) {
    const spad_backend *backend;
    for (size_t i = 0; (backend = spad__backend_get(i)) != NULL; i++) {
        if (strlen(backend->name) == length && memcmp(name, backend->name, length) == 0)
            return backend;
    }
    return NULL;
}

/* "cuda:12" as a back end and a number. */
static const spad_backend *parse_name(const char *name, int *index) {
    size_t length = strcspn(name, ":");
    *index = parse_index(name + length);
    if (*index < 0) return NULL;
    if (length == 3 && memcmp(name, "npu", length) == 0) { /* its name in TileLang-Ascend */
        name = spad__backend_ascend.name;
        length = strlen(name);
    }
    return find_backend(name, length);
}

spad_status spad_device_open(spad_device **out, const char *name,
                             const spad_device_options *options, spad_error *error) {
    int index;
    *out = NULL;
    const spad_backend *backend = parse_name(name, &index);
    if (backend == NULL) {
        spad__fail(error, SPAD_ERR_UNKNOWN,
                   "'%s' is not the name of a device; there are host, cuda:N, opencl:N, ascend:N "
                   "(or npu:N) and neuron:N",
                   name);
        spad__fact_names(error, name, NULL);
        return SPAD_ERR_UNKNOWN;
    }
    return spad_device_open_on(out, backend, index, options, error);
}

/* ---- closing ----------------------------------------------------------------------- */

static bool is_leak(const spad__buffer_record *record) {
    return record->generation % 2 != 0 && record->root == 0;
}

/* Larger first; equal sizes in order of their slots. */
static int compare_leaks(const void *a, const void *b) {
    const spad__buffer_record *x = *(const spad__buffer_record *const *)a;
    const spad__buffer_record *y = *(const spad__buffer_record *const *)b;
    if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
    return x < y ? -1 : x > y;
}

static void write_leak(spad__out *out, const spad__buffer_record *record) {
    spad__out_string(out, "leak: ");
    if (record->name != NULL) {
        spad__out_string(out, "'");
        spad__out_one_line(out, record->name);
        spad__out_string(out, "'");
    } else {
        spad__out_string(out, "an unnamed buffer");
    }
    spad__out_format(out, " of %lld B in %s memory, ", (long long)spad__max(record->bytes, 0),
                     spad_memory_scope_name(record->scope));
    spad__out_shape(out, (spad_shape){record->rank, record->dims});
    spad__out_format(out, " %s\n", spad_dtype_name(record->dtype));
}

/* Without host memory to sort them, the lines come in the order of the slots. */
static size_t report_leaks(const spad_device *device, const spad_sink *report) {
    size_t leaks = 0;
    for (size_t i = 0; i < device->buffers.count; i++) leaks += is_leak(&device->buffers.items[i]);
    if (report == NULL || leaks == 0) return leaks;
    const spad__buffer_record **order = spad__new_array(&device->host, leaks, sizeof *order);
    spad__out out;
    spad__out_start_text(&out, report);
    size_t found = 0;
    for (size_t i = 0; i < device->buffers.count; i++) {
        const spad__buffer_record *record = &device->buffers.items[i];
        if (!is_leak(record)) continue;
        if (order != NULL) {
            order[found++] = record;
        } else {
            write_leak(&out, record);
        }
    }
    if (order != NULL) qsort(order, found, sizeof *order, compare_leaks);
    for (size_t i = 0; i < found; i++) write_leak(&out, order[i]);
    spad__out_finish(&out, NULL);
    spad__free(&device->host, order, leaks * sizeof *order);
    return leaks;
}

size_t spad_device_close(spad_device *device, const spad_sink *report) {
    if (device == NULL) return 0;
    const spad_memory memory = spad_device_get_memory(device);
    const size_t leaks = report_leaks(device, report);
    if (device->native != NULL) spad__stream_drain_all(device);
    spad__stream_destroy_all(device);
    spad__buffer_destroy_all(device);
    for (int s = 0; s < SPAD_SCOPE_COUNT; s++) {
        spad_pool_destroy(device->scratchpads[s].pool);
        spad_memory_free(&memory, &device->scratchpads[s].region, NULL);
    }
    spad_pool_destroy(device->pool);
    if (device->native != NULL) device->backend->close(device->native);
    if (device->driver != NULL) device->backend->unload(device->driver);
    pthread_mutex_destroy(&device->streams_mutex);
    pthread_mutex_destroy(&device->mutex);
    const spad_host host = device->host;
    spad__free(&host, device, sizeof *device);
    return leaks;
}

/* ---- questions --------------------------------------------------------------------- */

const spad_device_info *spad_device_get_info(const spad_device *device) {
    return &device->info;
}

const spad_target *spad_device_get_target(const spad_device *device) {
    return device->target;
}

/* ---- pools ------------------------------------------------------------------------- */

static spad_status fail_no_scratchpad(const spad_device *device, spad_memory_scope scope,
                                      spad_error *error) {
    return spad__fail(error, SPAD_ERR_SPACE,
                      "target '%s' has no %s memory of a known size; name a space with the "
                      "options of the device",
                      device->target->name, spad_memory_scope_name(scope));
}

/* Makes the region and the pool of a scratchpad. Addresses are those in one lane. */
static spad_status make_scratchpad(spad__scratchpad *out, spad_device *device,
                                   const spad_space *space, spad_error *error) {
    const spad_memory memory = spad_device_get_memory(device);
    const int64_t bytes = spad_space_get_usable(space);
    int64_t all;
    if (!spad__mul(bytes, space->lanes, &all))
        return spad__fail(error, SPAD_ERR_OVERFLOW, "the bytes of all lanes do not fit 64 bits");
    /* starts and sizes of a space are multiples of numbers that need not be powers of two:
     * those that are not are left to alignment requests */
    int64_t block = spad__max(space->alignment, space->granule);
    if (!spad__is_pow2(block)) block = 1;
    const spad_pool_options options = {.block_bytes = block, .exact = true, .host = &device->host};
    spad_status status = spad_memory_alloc(&out->region, &memory, all, 1, error);
    if (status != SPAD_OK) return status;
    out->base = out->region.address;
    status = spad_pool_create_over(&out->pool, 0, bytes, &options, error);
    if (status != SPAD_OK) spad_memory_free(&memory, &out->region, NULL);
    return status;
}

spad_status spad_device_get_pool(spad_pool **out, spad_device *device, spad_memory_scope scope,
                                 spad_error *error) {
    *out = NULL;
    if ((unsigned)scope >= SPAD_SCOPE_COUNT)
        return spad__fail(error, SPAD_ERR_ARGUMENT, "%d is not a memory scope", (int)scope);
    if (scope == SPAD_GLOBAL) {
        *out = device->pool;
        return SPAD_OK;
    }
    spad__scratchpad *scratchpad = &device->scratchpads[scope];
    const spad_space *space = scratchpad->space;
    if (space == NULL || space->bytes == SPAD_UNBOUNDED)
        return fail_no_scratchpad(device, scope, error);
    spad_status status = SPAD_OK;
    pthread_mutex_lock(&device->mutex);
    if (scratchpad->pool == NULL) {
        spad__scratchpad made = *scratchpad;
        status = make_scratchpad(&made, device, space, error);
        if (status == SPAD_OK) *scratchpad = made;
    }
    *out = scratchpad->pool;
    pthread_mutex_unlock(&device->mutex);
    return status;
}

spad_memory_stats spad_device_get_stats(spad_device *device, spad_memory_scope scope) {
    spad_memory_stats stats = {0};
    if ((unsigned)scope > SPAD_SCOPE_COUNT) return stats;
    pthread_mutex_lock(&device->mutex);
    stats = device->stats[scope];
    pthread_mutex_unlock(&device->mutex);
    return stats;
}

spad_status spad_device_set_trace(spad_trace **before, spad_device *device, spad_trace *trace,
                                  spad_error *error) {
    if (before != NULL) *before = NULL;
    size_t spaces[SPAD_SCOPE_COUNT];
    const spad_status status = find_traced_spaces(spaces, device, trace, error);
    if (status != SPAD_OK) return status;
    pthread_mutex_lock(&device->mutex);
    if (before != NULL) *before = device->trace;
    device->trace = trace;
    memcpy(device->traced_spaces, spaces, sizeof spaces);
    for (size_t i = 0; i < device->buffers.count; i++) device->buffers.items[i].traced = -1;
    pthread_mutex_unlock(&device->mutex);
    return SPAD_OK;
}
