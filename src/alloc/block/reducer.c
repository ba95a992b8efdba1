/* SPDX-License-Identifier: Apache-2.0
 *
 * The life cycle of reducers: new -> open (init or fill) -> done (finalize), and
 * who may touch which buffer. A state machine; every call is O(1).
 *
 * Rules: TileLang verify_reducer_epoch.cc; for the older form with fill the
 * manual of tilelang.language.allocate.
 */
#include <stdio.h>

#include "alloc/block/block.h"
#include "base/error.h"

static spad_status refuse_buffer(const spad_block *block, const block_buffer *buffer,
                                 spad_status code, const char *what, spad_error *error) {
    char label[BLOCK_LABEL_MAX];
    spad__block_label(label, "reducer", block, buffer);
    spad__fail(error, code, "%s %s", label, what);
    spad__fact_names(error, buffer->info.name, NULL);
    return code;
}

static spad_status out_of_order(const spad_block *block, const block_buffer *buffer,
                                const char *what, spad_error *error) {
    return refuse_buffer(block, buffer, SPAD_ERR_LIFE_CYCLE, what, error);
}

static bool in_parallel(const spad_block *block) {
    for (size_t i = 0; i < block->regions.count; i++) {
        if (block->regions.items[i].kind == SPAD_FLOW_PARALLEL) return true;
    }
    return false;
}

/* The live reducer with that number, or NULL and *status. */
static block_buffer *find_reducer(spad_block *block, int64_t number, spad_status *status,
                                  spad_error *error) {
    block_buffer *buffer = spad__block_find(block, number, error);
    *status = SPAD_ERR_ARGUMENT;
    if (buffer == NULL) return NULL;
    *status = SPAD_OK;
    if (buffer->info.scope != SPAD_BLOCK_REDUCER) {
        char label[BLOCK_LABEL_MAX];
        spad__block_label(label, "buffer", block, buffer);
        *status = spad__fail(error, SPAD_ERR_SPACE, "%s is not a reducer but '%s'", label,
                             spad_block_scope_name(buffer->info.scope));
        spad__fact_names(error, buffer->info.name, NULL);
    } else if (!spad__block_is_live(block, buffer)) {
        const bool begun = buffer->info.begin < block->clock;
        *status = refuse_buffer(block, buffer, SPAD_ERR_NOT_LIVE,
                                begun ? "has ended already" : "is not live yet", error);
    }
    return *status == SPAD_OK ? buffer : NULL;
}

/* ---- opening ----------------------------------------------------------------------- */

static spad_status check_open(const spad_block *block, const block_buffer *buffer,
                              spad_error *error) {
    if (buffer->reducer.step == REDUCER_OPEN) {
        return out_of_order(block, buffer, "is initialised twice; finalize it first", error);
    }
    if (buffer->reducer.step == REDUCER_DONE) {
        return out_of_order(block, buffer,
                            "is initialised again after finalize; allocate another one", error);
    }
    if (in_parallel(block)) {
        return out_of_order(block, buffer,
                            "is initialised inside a parallel loop; do it before the loop", error);
    }
    return SPAD_OK;
}

static void open_reducer(spad_block *block, block_buffer *buffer, spad_value seed, bool filled) {
    buffer->info.init = seed;
    buffer->reducer = (block_reducer){
        .step = REDUCER_OPEN,
        .filled = filled,
        .init_depth = block->regions.count,
        .init_region = spad__block_region_now(block),
    };
}

static spad_status check_dtype(const spad_block *block, const block_buffer *buffer,
                               spad_value value, spad_error *error) {
    if (value.dtype == buffer->info.dtype) return SPAD_OK;
    char what[128];
    snprintf(what, sizeof what, "of %s is initialised with a value of %s",
             spad_dtype_name(buffer->info.dtype), spad_dtype_name(value.dtype));
    return refuse_buffer(block, buffer, SPAD_ERR_DTYPE, what, error);
}

spad_status spad_block_reducer_init(spad_block *block, int64_t number, const spad_value *seed,
                                    spad_error *error) {
    spad_status status;
    block_buffer *buffer = find_reducer(block, number, &status, error);
    if (buffer == NULL) return status;
    status = check_open(block, buffer, error);
    if (status == SPAD_OK && seed != NULL) status = check_dtype(block, buffer, *seed, error);
    if (status != SPAD_OK) return status;
    spad_value value;
    spad_reduce_identity(&value, buffer->info.op, buffer->info.dtype, NULL); /* worked at alloc */
    open_reducer(block, buffer, seed != NULL ? *seed : value, false);
    return SPAD_OK;
}

/* 0, also as the -0 of a type that has one. */
static bool is_zero(spad_value value) {
    spad_value minus_zero;
    if (value.bits == 0) return true;
    return spad_value_from_real(&minus_zero, value.dtype, -0.0, NULL) == SPAD_OK &&
           value.bits == minus_zero.bits;
}

static spad_status check_fill(const spad_block *block, const block_buffer *buffer, spad_value value,
                              spad_error *error) {
    const spad_reduce op = buffer->info.op;
    if (op == SPAD_REDUCE_MAX || op == SPAD_REDUCE_MIN) return SPAD_OK; /* a clamper */
    spad_value identity;
    spad_reduce_identity(&identity, op, buffer->info.dtype, NULL);
    if (op == SPAD_REDUCE_SUM ? is_zero(value) : value.bits == identity.bits) return SPAD_OK;
    return refuse_buffer(
        block, buffer, SPAD_ERR_ARGUMENT,
        op == SPAD_REDUCE_SUM
            ? "for sum must be filled with 0: replicas would each add it; init takes a seed"
            : "must be filled with the identity of its operator; init takes a seed",
        error);
}

spad_status spad_block_reducer_fill(spad_block *block, int64_t number, spad_value value,
                                    spad_error *error) {
    spad_status status;
    block_buffer *buffer = find_reducer(block, number, &status, error);
    if (buffer == NULL) return status;
    status = check_open(block, buffer, error);
    if (status == SPAD_OK) status = check_dtype(block, buffer, value, error);
    if (status == SPAD_OK) status = check_fill(block, buffer, value, error);
    if (status == SPAD_OK) open_reducer(block, buffer, value, true);
    return status;
}

/* ---- updating ---------------------------------------------------------------------- */

spad_status spad_block_reducer_update(spad_block *block, int64_t number, spad_reduce op,
                                      spad_error *error) {
    spad_status status;
    block_buffer *buffer = find_reducer(block, number, &status, error);
    if (buffer == NULL) return status;
    if (buffer->reducer.step == REDUCER_NEW) {
        return out_of_order(block, buffer, "is updated before it is initialised", error);
    }
    if (buffer->reducer.step == REDUCER_DONE) {
        return out_of_order(block, buffer, "is updated after finalize", error);
    }
    if (op != buffer->info.op) {
        char what[128];
        snprintf(what, sizeof what, "is for %s and is updated with %s",
                 spad_reduce_name(buffer->info.op), spad_reduce_name(op));
        return refuse_buffer(block, buffer, SPAD_ERR_ARGUMENT, what, error);
    }
    if (!in_parallel(block)) {
        return out_of_order(block, buffer, "is updated outside of a parallel loop", error);
    }
    return SPAD_OK;
}

/* ---- closing ----------------------------------------------------------------------- */

/* Is control in the region of the init, or in branches inside it? */
static bool in_region_of_init(const spad_block *block, const block_reducer *reducer) {
    const size_t depth = reducer->init_depth;
    if (block->regions.count < depth) return false;
    if (depth > 0 && block->regions.items[depth - 1].serial != reducer->init_region) return false;
    for (size_t i = depth; i < block->regions.count; i++) {
        if (block->regions.items[i].kind != SPAD_FLOW_BRANCH) return false;
    }
    return true;
}

static bool same_shape(spad_shape a, spad_shape b) {
    if (a.rank != b.rank) return false;
    for (size_t i = 0; i < a.rank; i++) {
        if (a.dims[i] != b.dims[i]) return false;
    }
    return true;
}

/* What is wrong with the destination, or NULL. */
static const char *destination_error(const spad_block *block, const block_buffer *buffer,
                                     const block_buffer *to) {
    if (to == buffer) return "is finalised into itself; give a separate fragment";
    if (to->info.scope == SPAD_BLOCK_REDUCER) {
        return "is finalised into another reducer; give a fragment";
    }
    if (to->info.scope != SPAD_BLOCK_FRAGMENT) {
        return "is finalised into something that is not a fragment ('local.fragment')";
    }
    if (!spad__block_is_live(block, to)) {
        return to->info.begin < block->clock ? "is finalised into a fragment that has ended"
                                             : "is finalised into a fragment that is not live yet";
    }
    if (to->info.dtype != buffer->info.dtype) {
        return "is finalised into a fragment of another element type";
    }
    if (!same_shape(to->info.shape, buffer->info.shape)) {
        return "is finalised into a fragment of another shape";
    }
    return NULL;
}

static spad_status check_destination(const spad_block *block, const block_buffer *buffer,
                                     int64_t number, spad_error *error) {
    if (buffer->reducer.filled) {
        if (number == SPAD_BLOCK_IN_PLACE) return SPAD_OK;
        return refuse_buffer(block, buffer, SPAD_ERR_ARGUMENT,
                             "was filled, so it is finalised in place; use init for a destination",
                             error);
    }
    if (number == SPAD_BLOCK_IN_PLACE) {
        return refuse_buffer(block, buffer, SPAD_ERR_ARGUMENT,
                             "was opened by init, so finalize needs a fragment for the results",
                             error);
    }
    const block_buffer *to = spad__block_find(block, number, error);
    if (to == NULL) return SPAD_ERR_ARGUMENT;
    const char *reason = destination_error(block, buffer, to);
    if (reason == NULL) return SPAD_OK;
    refuse_buffer(block, buffer, SPAD_ERR_ARGUMENT, reason, error);
    spad__fact_names(error, buffer->info.name, to->info.name);
    return SPAD_ERR_ARGUMENT;
}

spad_status spad_block_reducer_finalize(spad_block *block, int64_t number, int64_t destination,
                                        int64_t batch, spad_error *error) {
    spad_status status;
    block_buffer *buffer = find_reducer(block, number, &status, error);
    if (buffer == NULL) return status;
    if (buffer->reducer.step == REDUCER_NEW) {
        return out_of_order(block, buffer, "is finalised before it is initialised", error);
    }
    if (buffer->reducer.step == REDUCER_DONE) {
        return out_of_order(block, buffer, "is finalised twice", error);
    }
    if (in_parallel(block)) {
        return out_of_order(block, buffer,
                            "is finalised inside a parallel loop; do it after the loop", error);
    }
    if (!in_region_of_init(block, &buffer->reducer)) {
        return out_of_order(block, buffer,
                            "is finalised in another loop or branch than it was initialised in",
                            error);
    }
    if (batch < 1) {
        return refuse_buffer(block, buffer, SPAD_ERR_ARGUMENT,
                             "is finalised with a batch of less than 1 result", error);
    }
    status = check_destination(block, buffer, destination, error);
    if (status == SPAD_OK) buffer->reducer.step = REDUCER_DONE;
    return status;
}

spad_status spad__block_check_reducers(const spad_block *block, spad_error *error) {
    for (size_t i = 0; i < block->buffers.count; i++) {
        const block_buffer *buffer = &block->buffers.items[i];
        if (buffer->info.scope != SPAD_BLOCK_REDUCER) continue;
        if (buffer->reducer.step == REDUCER_NEW) {
            return out_of_order(block, buffer, "is never initialised", error);
        }
        if (buffer->reducer.step == REDUCER_OPEN) {
            return out_of_order(block, buffer, "is never finalised", error);
        }
    }
    return SPAD_OK;
}

/* ---- touching ---------------------------------------------------------------------- */

static spad_status touch_reducer(const spad_block *block, const block_buffer *buffer,
                                 spad_touch access, spad_error *error) {
    const block_reducer *r = &buffer->reducer;
    if (r->filled && r->step == REDUCER_DONE) return SPAD_OK;
    switch (access) {
    case SPAD_TOUCH_READ:
        return out_of_order(block, buffer,
                            r->filled ? "is read before finalize; its parts are not combined yet"
                                      : "is read; read the fragment that finalize writes",
                            error);
    case SPAD_TOUCH_WRITE:
        return out_of_order(
            block, buffer, "is stored to; only init or fill, update and finalize change it", error);
    default:
        return out_of_order(block, buffer, "has its address taken; it has no storage of its own",
                            error);
    }
}

spad_status spad_block_touch(const spad_block *block, int64_t number, spad_touch access,
                             spad_error *error) {
    const block_buffer *buffer = spad__block_find(block, number, error);
    if (buffer == NULL) return SPAD_ERR_ARGUMENT;
    if ((unsigned)access >= SPAD_TOUCH_COUNT) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "number %d is not a kind of access",
                          (int)access);
    }
    char label[BLOCK_LABEL_MAX];
    spad__block_label(label, "buffer", block, buffer);
    if (!spad__block_is_live(block, buffer)) {
        if (buffer->info.begin < block->clock) {
            spad__fail(error, SPAD_ERR_NOT_LIVE,
                       "%s is accessed at time %lld, after its end at %lld", label,
                       (long long)block->clock, (long long)buffer->info.end);
        } else { /* a life that was given; the newest event is the time */
            spad__fail(error, SPAD_ERR_NOT_LIVE,
                       "%s is accessed at time %lld, before its beginning at %lld", label,
                       (long long)(block->clock - 1), (long long)buffer->info.begin);
        }
        spad__fact_names(error, buffer->info.name, NULL);
        return SPAD_ERR_NOT_LIVE;
    }
    if (buffer->info.scope == SPAD_BLOCK_REDUCER) {
        return touch_reducer(block, buffer, access, error);
    }
    if (spad__block_is_barrier(buffer->info.scope) && access != SPAD_TOUCH_ADDRESS) {
        spad__fail(error, SPAD_ERR_LIFE_CYCLE,
                   "%s is a barrier and used as data; its bytes are data only after "
                   "spad_block_invalidate",
                   label);
        spad__fact_names(error, buffer->info.name, NULL);
        return SPAD_ERR_LIFE_CYCLE;
    }
    return SPAD_OK;
}
