/* SPDX-License-Identifier: Apache-2.0
 *
 * A libnrt.so.1 for tests: what backend_neuron.c calls, on host memory, with the rules of the
 * public headers: most calls need nrt_init, which must not come twice here; tensors have bounds,
 * and copies between two of them need the same core; a slice holds the storage of its source. Work
 * of the asynchronous calls is put off (later.h); a program that uses memory too early or too late
 * reads wrong bytes, or is stopped by AddressSanitizer. Any one call can be made to fail, or its
 * work.
 *
 * FAKE_OLD: without the functions that older libraries lack. FAKE_BARE: without one that is needed.
 */
#include <unistd.h>

typedef int result;
enum { FAILURE = 1, INVALID = 2, RESOURCE = 4, HW_ERROR = 6, UNINITIALIZED = 13 };
enum { DEFAULT_CODE = HW_ERROR };

#include "fake.h" /* live: tensors, storages, trackers */

enum { CORES = 2, ON_DEVICE = 0, ON_HOST = 1, UNITS = 3, SEQUENCE_BITS = 48 };
static const size_t MOST_BYTES = (size_t)1 << 30;

/* More functions of our own. */

/* The version of the interface; at first 2.32. */
void fake_neuron_set_version(int major, int minor);
/* The number of the next piece of asynchronous work that ends with an error; 0: none. */
void fake_neuron_fail_work_at(long piece);
/* Does nrt_tensor_get_va fail? */
void fake_neuron_set_without_pointers(bool without);
/* What nrt_get_instance_info has, up to 15 characters; at first trn2. */
void fake_neuron_set_architecture(const char *name);
/* What nrta_get_completion_handle gives; 0, at first: a descriptor that is readable. */
void fake_neuron_set_descriptor(int descriptor);
/* Forgets nrt_init. */
void fake_neuron_reset(void);
/* Pieces of asynchronous work so far. */
long fake_neuron_pieces(void);

static int version[2] = {2, 32};
static bool initialized;
static bool without_pointers;
static int other_descriptor;
static char architecture[16] = "trn2";
static long pieces;
static long fail_piece_at;

typedef struct storage {
    char *bytes;
    long users;
    bool attached; /* the bytes are the program's */
} storage;

typedef struct tensor {
    storage *of; /* NULL: empty */
    size_t offset;
    size_t size;
    int core; /* -1: on the host */
} tensor;

void fake_neuron_set_version(int major, int minor) {
    version[0] = major;
    version[1] = minor;
}
void fake_neuron_fail_work_at(long piece) {
    pieces = 0;
    fail_piece_at = piece;
}
void fake_neuron_set_without_pointers(bool without) {
    without_pointers = without;
}
void fake_neuron_set_architecture(const char *name) {
    strncpy(architecture, name, sizeof architecture - 1);
}
void fake_neuron_set_descriptor(int descriptor) {
    other_descriptor = descriptor;
}
void fake_neuron_reset(void) {
    initialized = false;
}
long fake_neuron_pieces(void) {
    return pieces;
}

/* ---- the process and its cores ----------------------------------------------------- */

typedef struct nrt_version {
    uint64_t major, minor, patch, maintenance;
    char detail[128];
    char hash[64];
} nrt_version;

result nrt_get_version(nrt_version *out, size_t size);
result nrt_get_version(nrt_version *out, size_t size) {
    const nrt_version known = {.major = (uint64_t)version[0], .minor = (uint64_t)version[1]};
    CALL(
        if (size != sizeof known) { call_result = INVALID; } else { *out = known; });
}
result nrt_init(int framework, const char *framework_version, const char *layer_version);
result nrt_init(int framework, const char *framework_version, const char *layer_version) {
    const bool known = framework == 1 && framework_version != NULL && layer_version != NULL;
#ifdef FAKE_OLD
    initialized = false; /* whether it is cannot be asked: there it may come twice */
#endif
    CALL(
        if (!known || initialized) { call_result = FAILURE; } else { initialized = true; });
}
result nrt_get_visible_vnc_count(uint32_t *count);
result nrt_get_visible_vnc_count(uint32_t *count) {
    CALL(*count = CORES);
}

#ifndef FAKE_OLD
typedef struct nrt_instance {
    uint32_t family;
    uint32_t size;
    char architecture[16];
    char revision[8];
} nrt_instance;

result nrt_get_instance_info(nrt_instance *out, size_t size);
result nrt_get_instance_info(nrt_instance *out, size_t size) {
    nrt_instance known = {.family = 5};
    memcpy(known.architecture, architecture, sizeof architecture);
    CALL(
        if (size != sizeof known) { call_result = INVALID; } else { *out = known; });
}
result nrt_get_vnc_memory_stats(uint32_t core, size_t *stats, size_t size, size_t *written);
result nrt_get_vnc_memory_stats(uint32_t core, size_t *stats, size_t size, size_t *written) {
    CALL(
        if (!initialized) { call_result = UNINITIALIZED; } else if (core >= CORES) {
            call_result = INVALID;
        } else {
            stats[0] = 0;
            stats[1] = MOST_BYTES;
            *written = size;
        });
}
#endif

/* ---- tensors ----------------------------------------------------------------------- */

static void release(storage *s) {
    if (s == NULL || --s->users > 0) return;
    if (!s->attached) free(s->bytes);
    free(s);
    live--;
}

static storage *new_storage(char *bytes, bool attached) {
    storage *made = bytes != NULL ? calloc(1, sizeof *made) : NULL;
    if (made == NULL) return NULL;
    *made = (storage){.bytes = bytes, .users = 1, .attached = attached};
    live++;
    return made;
}

static result new_tensor(tensor **out, storage *s, size_t offset, size_t size, int core) {
    tensor *made = calloc(1, sizeof *made);
    if (made == NULL) return RESOURCE;
    *made = (tensor){.of = s, .offset = offset, .size = size, .core = core};
    *out = made;
    live++;
    return SUCCESS;
}

static result make_tensor(tensor **out, int placement, int core, size_t size) {
    const bool on_host = placement == ON_HOST && core == -1;
    if (!initialized) return UNINITIALIZED;
    if (!on_host && (placement != ON_DEVICE || core < 0 || core >= CORES)) return INVALID;
    if (size > MOST_BYTES) return RESOURCE;
    storage *s = new_storage(aligned_alloc(64, (size + 63) / 64 * 64), false);
    return s != NULL ? new_tensor(out, s, 0, size, core) : RESOURCE;
}

result nrt_tensor_allocate(int placement, int core, size_t size, const char *name, tensor **out);
result nrt_tensor_allocate(int placement, int core, size_t size, const char *name, tensor **out) {
    (void)name;
    CALL(call_result = make_tensor(out, placement, core, size));
}
/* Does not wait for work that was started. */
void nrt_tensor_free(tensor **t);
void nrt_tensor_free(tensor **t) {
    pthread_mutex_lock(&mutex);
    release((*t)->of);
    free(*t);
    *t = NULL;
    live--;
    pthread_mutex_unlock(&mutex);
}
void *nrt_tensor_get_va(const tensor *t);
void *nrt_tensor_get_va(const tensor *t) {
    pthread_mutex_lock(&mutex);
    char *bytes = fails() || without_pointers ? NULL : t->of->bytes + t->offset;
    pthread_mutex_unlock(&mutex);
    return bytes;
}
result nrt_tensor_allocate_empty(const char *name, tensor **out);
result nrt_tensor_allocate_empty(const char *name, tensor **out) {
    (void)name;
    CALL(call_result = new_tensor(out, NULL, 0, 0, -1));
}
result nrt_tensor_attach_buffer(tensor *t, void *bytes, size_t size);
result nrt_tensor_attach_buffer(tensor *t, void *bytes, size_t size) {
    CALL(release(t->of); t->of = new_storage(bytes, true); t->size = size;
         if (t->of == NULL) call_result = RESOURCE);
}
static result make_slice(tensor **out, const tensor *t, size_t offset, size_t size) {
    if (offset > t->size || size > t->size - offset) return INVALID;
    const result made = new_tensor(out, t->of, t->offset + offset, size, t->core);
    if (made == SUCCESS) t->of->users++;
    return made;
}
result nrt_tensor_allocate_slice(const tensor *t, size_t offset, size_t size, const char *name,
                                 tensor **out);
result nrt_tensor_allocate_slice(const tensor *t, size_t offset, size_t size, const char *name,
                                 tensor **out) {
    (void)name;
    CALL(call_result = make_slice(out, t, offset, size));
}

/* ---- copies ------------------------------------------------------------------------ */

/* The bytes of a part of a tensor; NULL: it is not all inside. */
static char *part(const tensor *t, uint64_t offset, uint64_t size) {
    if (!initialized || t->of == NULL || offset > t->size || size > t->size - offset) return NULL;
    return t->of->bytes + t->offset + offset;
}

static result move(char *to, const char *from, size_t size) {
    if (to == NULL || from == NULL) return INVALID;
    memmove(to, from, size);
    return SUCCESS;
}

#ifndef FAKE_BARE
result nrt_tensor_read(const tensor *t, void *to, size_t offset, size_t size);
result nrt_tensor_read(const tensor *t, void *to, size_t offset, size_t size) {
    CALL(call_result = move(to, part(t, offset, size), size));
}
#endif
result nrt_tensor_write(tensor *t, const void *from, size_t offset, size_t size);
result nrt_tensor_write(tensor *t, const void *from, size_t offset, size_t size) {
    CALL(call_result = move(part(t, offset, size), from, size));
}
result nrt_tensor_copy(const tensor *from, size_t from_offset, tensor *to, size_t to_offset,
                       size_t size);
result nrt_tensor_copy(const tensor *from, size_t from_offset, tensor *to, size_t to_offset,
                       size_t size) {
    CALL(call_result = from->core != to->core
                           ? INVALID
                           : move(part(to, to_offset, size), part(from, from_offset, size), size));
}
result nrt_tensor_memset(tensor *t, uint64_t offset, int value, size_t size);
result nrt_tensor_memset(tensor *t, uint64_t offset, int value, size_t size) {
    CALL(
        char *to = part(t, offset, size);
        if (to == NULL) { call_result = INVALID; } else { memset(to, value, size); });
}

/* ---- asynchronous copies ----------------------------------------------------------- */

#ifndef FAKE_OLD
typedef struct failure {
    uint64_t sequence;
    uint64_t code;
} failure;

enum { FAILURES_MAX = 16 };

typedef struct tracker {
    size_t count;
    failure list[FAILURES_MAX];
} tracker;

static later_queue *queues[UNITS];

/* A sequence has the unit above its 48 bits. */
static later_queue *queue_of(uint64_t sequence) {
    const uint64_t unit = sequence >> SEQUENCE_BITS;
    return unit < UNITS ? queues[unit] : NULL;
}

static long piece_of(uint64_t sequence) {
    return (long)(sequence & ((UINT64_C(1) << SEQUENCE_BITS) - 1));
}

static result start(unsigned unit, int queue, char *to, const char *from, uint64_t size,
                    tracker *errors, uint64_t *sequence) {
    const bool goes_wrong = ++pieces == fail_piece_at;
    if (queue != 0 || errors == NULL || to == NULL || from == NULL) return INVALID;
    if (queues[unit] == NULL) queues[unit] = later_open();
    const later_work w = {.to = to, .from = from, .width = size, .rows = goes_wrong ? 0 : 1};
    if (queues[unit] == NULL || !later_start(queues[unit], w)) return RESOURCE;
    *sequence = (uint64_t)unit << SEQUENCE_BITS | (uint64_t)queues[unit]->started;
    if (goes_wrong && errors->count < FAILURES_MAX)
        errors->list[errors->count++] = (failure){*sequence, HW_ERROR};
    return SUCCESS;
}

result nrta_tensor_read(void *to, tensor *t, uint64_t offset, uint64_t size, int queue,
                        tracker *errors, uint64_t *sequence);
result nrta_tensor_read(void *to, tensor *t, uint64_t offset, uint64_t size, int queue,
                        tracker *errors, uint64_t *sequence) {
    CALL(call_result = start(0, queue, to, part(t, offset, size), size, errors, sequence));
}
result nrta_tensor_write(tensor *t, const void *from, uint64_t offset, uint64_t size, int queue,
                         tracker *errors, uint64_t *sequence);
result nrta_tensor_write(tensor *t, const void *from, uint64_t offset, uint64_t size, int queue,
                         tracker *errors, uint64_t *sequence) {
    CALL(call_result = start(1, queue, part(t, offset, size), from, size, errors, sequence));
}
result nrta_tensor_copy(tensor *from, uint64_t from_offset, tensor *to, uint64_t to_offset,
                        uint64_t size, int queue, tracker *errors, uint64_t *sequence);
result nrta_tensor_copy(tensor *from, uint64_t from_offset, tensor *to, uint64_t to_offset,
                        uint64_t size, int queue, tracker *errors, uint64_t *sequence) {
    CALL(call_result = from->core != to->core
                           ? INVALID
                           : start(2, queue, part(to, to_offset, size),
                                   part(from, from_offset, size), size, errors, sequence));
}

/* Every other question is answered with "not yet" while there is work to do. */
static bool ask(later_queue *queue, long piece) {
    static bool asked;
    asked = !asked && queue->done < piece;
    if (!asked) later_finish_until(queue, piece);
    return !asked;
}

result nrta_is_completed(uint64_t sequence, bool *completed);
result nrta_is_completed(uint64_t sequence, bool *completed) {
    CALL(
        later_queue *queue = queue_of(sequence);
        if (queue == NULL || piece_of(sequence) > queue->started) { call_result = INVALID; } else {
            *completed = ask(queue, piece_of(sequence));
        });
}
/* A pipe that has a byte: the work is done now. */
static result make_completed(int *descriptor, later_queue *queue, long piece) {
    int ends[2];
    *descriptor = other_descriptor;
    if (other_descriptor != 0) return SUCCESS;
    if (queue == NULL || pipe(ends) != 0) return INVALID;
    later_finish_until(queue, piece);
    const bool written = write(ends[1], "", 1) == 1;
    close(ends[1]);
    *descriptor = ends[0];
    return written ? SUCCESS : FAILURE;
}

result nrta_get_completion_handle(uint64_t sequence, int *descriptor);
result nrta_get_completion_handle(uint64_t sequence, int *descriptor) {
    CALL(call_result = make_completed(descriptor, queue_of(sequence), piece_of(sequence)));
}
result nrta_error_tracker_create(uint32_t core, tracker **out);
result nrta_error_tracker_create(uint32_t core, tracker **out) {
    CALL(*out = core < CORES ? calloc(1, sizeof **out) : NULL; live += *out != NULL;
         if (*out == NULL) call_result = RESOURCE);
}
void nrta_error_tracker_destroy(tracker *t);
void nrta_error_tracker_destroy(tracker *t) {
    pthread_mutex_lock(&mutex);
    free(t);
    live--;
    pthread_mutex_unlock(&mutex);
}
result nrta_error_tracker_get_list(tracker *t, const failure **list, size_t *count);
result nrta_error_tracker_get_list(tracker *t, const failure **list, size_t *count) {
    CALL(*list = t->list; *count = t->count);
}
#endif
