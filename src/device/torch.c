/* SPDX-License-Identifier: Apache-2.0
 *
 * PyTorch's pluggable allocator: per device a table of the driver's streams and a table of
 * the addresses that are given out, because PyTorch frees by address.
 *
 * As long as a device has one stream, which is so in most programs, its order is the order
 * of everything, and memory goes straight to the pool, where it joins its neighbours. When a
 * second stream comes the first is waited for once, and from then on each has a lane.
 *
 * The addresses are an array without order and a hash index over it: the last entry takes the
 * place of one that is removed.
 */
#include "spad/device/torch.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/index.h"
#include "device/device.h"

enum { DEVICES = 16, OTHERS = 3 };

typedef struct entry {
    spad_allocation block;
    uint32_t others[OTHERS]; /* streams that also use it, + 1; 0: none */
    bool by_all;             /* more streams use it than these: count it as used by all */
    bool by_unknown;         /* so does one that could not be remembered: it is kept for good */
} entry;

typedef struct torch_device {
    spad_device *device;
    spad_pool *pool;
    SPAD_ARRAY(void *) natives; /* the driver's streams */
    SPAD_ARRAY(spad_stream) streams;
    SPAD_ARRAY(entry) entries;
    spad__index index; /* of the entries, by the address of their block */
} torch_device;

static struct {
    pthread_mutex_t mutex;
    torch_device devices[DEVICES];
} torch = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* ---- addresses --------------------------------------------------------------------- */

static uint64_t hash_address(const entry *e) {
    return spad__hash_add(0, e->block.address);
}

/* NULL: nothing that was given out is there. */
static entry *find_entry(const torch_device *t, int64_t address) {
    spad__probe probe = spad__index_probe(&t->index, spad__hash_add(0, address));
    for (size_t i; (i = spad__probe_next(&probe)) != SPAD__NO_ITEM;) {
        if (t->entries.items[i].block.address == address) return &t->entries.items[i];
    }
    return NULL;
}

static bool reserve_entry(torch_device *t) {
    const spad_host host = spad__host_or_default(NULL);
    return spad__array_reserve(&host, &t->entries, 1) && spad__index_reserve(&t->index, &host, 1);
}

static void remove_entry(torch_device *t, entry *gone) {
    const size_t number = (size_t)(gone - t->entries.items);
    const size_t last = --t->entries.count;
    spad__index_remove(&t->index, hash_address(gone), number);
    if (number == last) return;
    *gone = t->entries.items[last];
    spad__index_remove(&t->index, hash_address(gone), last);
    spad__index_add(&t->index, hash_address(gone), number);
}

/* ---- devices and streams ----------------------------------------------------------- */

static torch_device *find_device(int number) {
    if (number < 0 || number >= DEVICES) return NULL;
    torch_device *t = &torch.devices[number];
    if (t->device == NULL) {
        char name[16];
        snprintf(name, sizeof name, "cuda:%d", number);
        const spad_device_options options = {.pool = &(spad_pool_options){.block_bytes = 512}};
        if (spad_device_open(&t->device, name, &options, NULL) != SPAD_OK) return NULL;
        spad_device_get_pool(&t->pool, t->device, SPAD_GLOBAL, NULL); /* always there */
    }
    return t;
}

/* The number of a stream of the driver's; SIZE_MAX: no memory. Programs have few. */
static size_t find_stream(torch_device *t, void *native) {
    for (size_t i = 0; i < t->natives.count; i++) {
        if (t->natives.items[i] == native) return i;
    }
    const spad_host host = spad__host_or_default(NULL);
    spad_stream stream;
    if (!spad__array_reserve(&host, &t->natives, 1) ||
        !spad__array_reserve(&host, &t->streams, 1) ||
        (t->streams.count == 1 && spad_stream_wait(t->streams.items[0], NULL) != SPAD_OK) ||
        spad_stream_wrap(&stream, t->device, native, NULL) != SPAD_OK) {
        return SIZE_MAX;
    }
    t->natives.items[t->natives.count++] = native;
    t->streams.items[t->streams.count++] = stream;
    return t->streams.count - 1;
}

/* ---- the functions ----------------------------------------------------------------- */

static void *alloc_on(torch_device *t, int64_t bytes, void *native) {
    entry added = {0};
    const size_t stream = find_stream(t, native);
    if (stream == SIZE_MAX || !reserve_entry(t)) return NULL;
    const spad_status status =
        t->streams.count == 1
            ? spad_pool_alloc(&added.block, t->pool, bytes, 1, NULL)
            : spad_stream_alloc(&added.block, t->streams.items[stream], bytes, 1, NULL);
    if (status != SPAD_OK) return NULL;
    spad__index_add(&t->index, hash_address(&added), t->entries.count);
    t->entries.items[t->entries.count++] = added;
    return (void *)(uintptr_t)added.block.address;
}

void *spad_torch_alloc(ptrdiff_t bytes, int device, void *stream) {
    void *memory = NULL;
    pthread_mutex_lock(&torch.mutex);
    torch_device *t = find_device(device);
    if (t != NULL) memory = alloc_on(t, bytes, stream);
    pthread_mutex_unlock(&torch.mutex);
    return memory;
}

/* Work of `next` from now on comes after the other streams' work with the memory. */
static spad_status follow_others(const torch_device *t, const entry *e, const spad_stream *next) {
    spad_status status = SPAD_OK;
    for (size_t i = 0; e->by_all && i < t->streams.count && status == SPAD_OK; i++) {
        status = spad__stream_follow(t->streams.items[i], next, NULL);
    }
    for (int i = 0; !e->by_all && i < OTHERS && e->others[i] != 0 && status == SPAD_OK; i++) {
        status = spad__stream_follow(t->streams.items[e->others[i] - 1], next, NULL);
    }
    return status;
}

/* Memory is kept for good, and its address with it, when it is not known who still uses it. */
static void free_on(torch_device *t, entry *e, void *native) {
    if (e->by_unknown) return;
    const size_t number = find_stream(t, native);
    if (number == SIZE_MAX) return;
    const spad_stream stream = t->streams.items[number];
    if (follow_others(t, e, &stream) != SPAD_OK) return;
    const spad_status status = t->streams.count == 1 ? spad_pool_free(t->pool, &e->block, NULL)
                                                     : spad_stream_free(stream, &e->block, NULL);
    if (status == SPAD_OK) remove_entry(t, e);
}

void spad_torch_free(void *memory, ptrdiff_t bytes, int device, void *stream) {
    (void)bytes;
    if (memory == NULL || device < 0 || device >= DEVICES) return;
    pthread_mutex_lock(&torch.mutex);
    torch_device *t = &torch.devices[device];
    entry *e = find_entry(t, (int64_t)(uintptr_t)memory);
    if (e != NULL) free_on(t, e, stream);
    pthread_mutex_unlock(&torch.mutex);
}

/* Remembers a stream that also uses it. The work on the stream counts when the memory
 * is freed, so waiting for a stream here would not do instead. */
static void record_on(torch_device *t, entry *e, void *native) {
    const size_t number = find_stream(t, native);
    if (number == SIZE_MAX) {
        e->by_unknown = true;
        return;
    }
    for (int i = 0; i < OTHERS; i++) {
        if (e->others[i] == number + 1) return;
        if (e->others[i] != 0) continue;
        e->others[i] = (uint32_t)number + 1;
        return;
    }
    e->by_all = true;
}

void spad_torch_record_stream(void *memory, void *stream) {
    if (memory == NULL) return;
    pthread_mutex_lock(&torch.mutex);
    for (int d = 0; d < DEVICES; d++) {
        torch_device *t = &torch.devices[d];
        entry *e = find_entry(t, (int64_t)(uintptr_t)memory);
        if (e != NULL) record_on(t, e, stream);
    }
    pthread_mutex_unlock(&torch.mutex);
}

spad_device *spad_torch_get_device(int device) {
    spad_device *found = NULL;
    pthread_mutex_lock(&torch.mutex);
    if (device >= 0 && device < DEVICES) found = torch.devices[device].device;
    pthread_mutex_unlock(&torch.mutex);
    return found;
}
