/* SPDX-License-Identifier: Apache-2.0
 *
 * Memories and the wrappers around them. A wrapper has one mutex, which guards its
 * counters and makes its log whole lines; except where the log says so it is not
 * held while the memory below works, so that a slow driver does not stop other threads.
 */
#include "spad/device/memory.h"

#include <pthread.h>
#include <string.h>

#include "base/checked.h"
#include "base/memory.h"
#include "base/text.h"

#include "device/request.h"
#include "device/stats.h"
#include "spad/experimental/log.h"
#include "trace/log_format.h"

spad_status spad_memory_alloc(spad_allocation *out, const spad_memory *memory, int64_t bytes,
                              int64_t align, spad_error *error) {
    *out = (spad_allocation){0};
    if (memory->calls == NULL) return spad__fail(error, SPAD_ERR_ARGUMENT, "there is no memory");
    const spad_status status = spad__check_request(bytes, align, error);
    if (status != SPAD_OK) return status;
    return memory->calls->alloc(memory->context, out, bytes, align, error);
}

spad_status spad_memory_free(const spad_memory *memory, const spad_allocation *block,
                             spad_error *error) {
    if (memory->calls == NULL) return spad__fail(error, SPAD_ERR_ARGUMENT, "there is no memory");
    if (block->handle == 0) return SPAD_OK;
    return memory->calls->free(memory->context, block, error);
}

bool spad_is_aligned(int64_t address, int64_t align) {
    return align >= 1 && spad__floor_mod(address, align) == 0;
}

/* ---- wrappers ---------------------------------------------------------------------- */

typedef enum wrapper_kind { LIMIT, STATISTICS, LOG, FAULT } wrapper_kind;

struct spad_wrapper {
    spad_host host;
    spad_memory below;
    wrapper_kind kind;
    int64_t max_bytes; /* limit */
    int64_t first;     /* fault: which allocations fail */
    int64_t every;
    spad_sink sink; /* log */
    spad_clock clock;

    pthread_mutex_t mutex; /* guards the next fields */
    spad_memory_stats stats;
    int64_t reserved; /* bytes of allocations under way, for the limit */
    int64_t requests;
    int64_t rows; /* of the log */
};

/* ---- the log ----------------------------------------------------------------------- */

static const char *const action_names[] = {
#define ACTION_NAME(name, word) [SPAD_LOG_##name] = word,
    SPAD__LOG_ACTIONS(ACTION_NAME)
#undef ACTION_NAME
};

static void write_log_header(spad__out *out) {
    static const char *const columns[] = {
#define COLUMN_NAME(name, word) word,
        SPAD__LOG_COLUMNS(COLUMN_NAME)
#undef COLUMN_NAME
    };
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        spad__out_format(out, "%s%s", i == 0 ? "" : ",", columns[i]);
    spad__out_string(out, "\n");
}

/* One row; the header comes with the first. Under the mutex. */
static spad_status log_row(spad_wrapper *w, spad_log_action action, int64_t address, int64_t bytes,
                           spad_error *error) {
    if (w->kind != LOG) return SPAD_OK;
    spad__out out;
    spad__out_start(&out, &w->sink);
    if (w->rows == 0) write_log_header(&out);
    const int64_t time = w->clock.now != NULL ? w->clock.now(w->clock.context) : w->rows;
    w->rows++;
    spad__out_format(&out, "0,%lld,%s,0x%llx,%lld,0x0\n", (long long)time, action_names[action],
                     (unsigned long long)address, (long long)bytes);
    return spad__out_finish(&out, error);
}

/* ---- calls ------------------------------------------------------------------------- */

static bool is_to_fail(const spad_wrapper *w) {
    if (w->kind != FAULT || w->requests < w->first) return false;
    if (w->requests == w->first) return true;
    return w->every > 0 && (w->requests - w->first) % w->every == 0;
}

/* May the request be passed on? Under the mutex. */
static spad_status admit(spad_wrapper *w, int64_t bytes, spad_error *error) {
    w->requests++;
    if (is_to_fail(w)) {
        spad__fail(error, SPAD_ERR_NO_FIT, "allocation number %lld is refused on purpose",
                   (long long)w->requests);
        spad__fact_amounts(error, bytes, 0, 0);
        return SPAD_ERR_NO_FIT;
    }
    const int64_t left = w->max_bytes - w->stats.allocated_bytes - w->reserved;
    if (w->kind == LIMIT && bytes > left) {
        spad__fail(error, SPAD_ERR_NO_FIT,
                   "%lld B are above the limit: %lld of %lld B are left; free something or raise "
                   "the limit",
                   (long long)bytes, (long long)left, (long long)w->max_bytes);
        spad__fact_amounts(error, bytes, left, left);
        return SPAD_ERR_NO_FIT;
    }
    if (w->kind == LIMIT) w->reserved += bytes;
    return SPAD_OK;
}

static spad_status wrapper_alloc(void *context, spad_allocation *out, int64_t bytes, int64_t align,
                                 spad_error *error) {
    spad_wrapper *w = context;
    pthread_mutex_lock(&w->mutex);
    spad_status status = admit(w, bytes, error);
    if (status != SPAD_OK) w->stats.failures++;
    pthread_mutex_unlock(&w->mutex);
    if (status != SPAD_OK) return status;

    status = spad_memory_alloc(out, &w->below, bytes, align, error);
    pthread_mutex_lock(&w->mutex);
    if (w->kind == LIMIT) w->reserved -= bytes;
    if (status != SPAD_OK) {
        w->stats.failures++;
        log_row(w, SPAD_LOG_FAILURE, 0, bytes, NULL); /* the refusal matters more */
    } else {
        status = log_row(w, SPAD_LOG_ALLOCATE, out->address, bytes, error);
        if (status == SPAD_OK) spad__stats_alloc(&w->stats, bytes);
    }
    pthread_mutex_unlock(&w->mutex);
    if (status == SPAD_ERR_IO && out->handle != 0) {
        spad_memory_free(&w->below, out, NULL);
        *out = (spad_allocation){0};
    }
    return status;
}

/* A log holds the mutex while it frees: once the bytes are free another thread may log
 * them again, and its row must come after this one. */
static spad_status wrapper_free(void *context, const spad_allocation *block, spad_error *error) {
    spad_wrapper *w = context;
    spad_status status;
    if (w->kind != LOG) {
        status = spad_memory_free(&w->below, block, error);
        pthread_mutex_lock(&w->mutex);
    } else {
        pthread_mutex_lock(&w->mutex);
        status = spad_memory_free(&w->below, block, error);
    }
    if (status == SPAD_OK) {
        spad__stats_free(&w->stats, block->bytes);
        status = log_row(w, SPAD_LOG_FREE, block->address, block->bytes, error);
    }
    pthread_mutex_unlock(&w->mutex);
    return status;
}

/* ---- creation ---------------------------------------------------------------------- */

static spad_status wrapper_create(spad_wrapper **out, const spad_memory *below, wrapper_kind kind,
                                  const spad_host *host, spad_error *error) {
    *out = NULL;
    if (below->calls == NULL) return spad__fail(error, SPAD_ERR_ARGUMENT, "there is no memory");
    const spad_host h = spad__host_or_default(host);
    spad_wrapper *w = spad__new(&h, sizeof *w);
    if (w == NULL) return spad__fail_host_memory(error);
    if (pthread_mutex_init(&w->mutex, NULL) != 0) {
        spad__free(&h, w, sizeof *w);
        return spad__fail_host_memory(error);
    }
    w->host = h;
    w->below = *below;
    w->kind = kind;
    *out = w;
    return SPAD_OK;
}

spad_status spad_wrapper_create_limit(spad_wrapper **out, const spad_memory *below,
                                      int64_t max_bytes, const spad_host *host, spad_error *error) {
    *out = NULL;
    if (max_bytes < 0) return spad__fail(error, SPAD_ERR_ARGUMENT, "the limit is negative");
    const spad_status status = wrapper_create(out, below, LIMIT, host, error);
    if (status == SPAD_OK) (*out)->max_bytes = max_bytes;
    return status;
}

spad_status spad_wrapper_create_statistics(spad_wrapper **out, const spad_memory *below,
                                           const spad_host *host, spad_error *error) {
    return wrapper_create(out, below, STATISTICS, host, error);
}

spad_status spad_wrapper_create_log(spad_wrapper **out, const spad_memory *below,
                                    const spad_sink *sink, const spad_clock *clock,
                                    const spad_host *host, spad_error *error) {
    const spad_status status = wrapper_create(out, below, LOG, host, error);
    if (status != SPAD_OK) return status;
    (*out)->sink = *sink;
    if (clock != NULL) (*out)->clock = *clock;
    return SPAD_OK;
}

spad_status spad_wrapper_create_fault(spad_wrapper **out, const spad_memory *below, int64_t first,
                                      int64_t every, const spad_host *host, spad_error *error) {
    *out = NULL;
    if (first < 1 || every < 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "allocations are counted from 1; the step between faults is not "
                          "negative");
    }
    const spad_status status = wrapper_create(out, below, FAULT, host, error);
    if (status != SPAD_OK) return status;
    (*out)->first = first;
    (*out)->every = every;
    return SPAD_OK;
}

void spad_wrapper_destroy(spad_wrapper *wrapper) {
    if (wrapper == NULL) return;
    pthread_mutex_destroy(&wrapper->mutex);
    const spad_host host = wrapper->host;
    spad__free(&host, wrapper, sizeof *wrapper);
}

spad_memory spad_wrapper_get_memory(spad_wrapper *wrapper) {
    static const spad_memory_calls calls = {.alloc = wrapper_alloc, .free = wrapper_free};
    return (spad_memory){.calls = &calls, .context = wrapper};
}

spad_memory_stats spad_wrapper_get_stats(spad_wrapper *wrapper) {
    pthread_mutex_lock(&wrapper->mutex);
    const spad_memory_stats stats = wrapper->stats;
    pthread_mutex_unlock(&wrapper->mutex);
    return stats;
}
