/* SPDX-License-Identifier: Apache-2.0
 *
 * Declaring the tensors of a kernel.
 *
 * A declaration goes one way: check the request, place it (direct_place.c, where
 * the callback runs), then keep it: name, dims, trace. The last step takes back
 * what it has done if memory runs out half way, so a failed call changes nothing.
 * Cost: that of placing, and O(physical tiles) for the trace.
 */
#include "alloc/direct/direct.h"

#include <stdio.h>
#include <string.h>

#include "alloc/direct/ring.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/options.h"
#include "trace/trace.h"

/* ---- life -------------------------------------------------------------------------- */

spad_status spad_direct_create(spad_direct **out, const spad_target *target,
                               const spad_direct_options *options, spad_error *error) {
    spad_direct_options o;
    *out = NULL;
    const spad_status status = SPAD__COPY_OPTIONS(&o, options, error);
    if (status != SPAD_OK) return status;
    if (target == NULL) return spad__fail(error, SPAD_ERR_ARGUMENT, "a kernel needs a target");
    if (o.trace != NULL && spad_trace_get_target(o.trace) != target) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "the trace was made for target %s, not for %s",
                          spad_trace_get_target(o.trace)->name, target->name);
    }
    const spad_host host = spad__host_or_default(o.host);
    spad_direct *direct = spad__new(&host, sizeof *direct);
    if (direct == NULL) return spad__fail_host_memory(error);
    direct->host = host;
    direct->target = target;
    direct->force_auto = o.force_auto;
    direct->trace = o.trace;
    direct->texts.host = host;
    spad__names_init(&direct->names, &host);
    *out = direct;
    return SPAD_OK;
}

void spad_direct_destroy(spad_direct *direct) {
    if (direct == NULL) return;
    const spad_host host = direct->host;
    for (size_t i = 0; i < direct->tensors.count; i++) {
        spad__direct_free_table(&direct->tensors.items[i], &host);
    }
    spad__array_free(&host, &direct->tensors);
    spad__names_free(&direct->names);
    spad__arena_free(&direct->texts);
    spad__free(&host, direct, sizeof *direct);
}

/* ---- the request ------------------------------------------------------------------- */

static spad_status refuse_tensor(const spad_direct_tensor *request, spad_status code,
                                 spad_error *error, const char *reason) {
    char who[DIRECT_WHO_MAX];
    spad__direct_who(who, request->name, 0, NULL);
    spad__fail(error, code, "%s: %s", who, reason);
    spad__fact_names(error, request->name, request->space);
    return code;
}

static spad_status check_extents(const spad_direct_tensor *request, spad_error *error) {
    const spad_shape shapes[] = {request->block, request->tile};
    static const char *const kinds[] = {"block dim", "tile dim"};
    char reason[96];
    if (request->tile.rank == 0) {
        return refuse_tensor(request, SPAD_ERR_SHAPE, error, "a tile needs at least its lane dim");
    }
    /* one by one, so that the sum cannot wrap */
    if (request->block.rank > SPAD_RANK_MAX || request->tile.rank > SPAD_RANK_MAX ||
        request->block.rank + request->tile.rank > SPAD_RANK_MAX) {
        snprintf(reason, sizeof reason, "%zu block dims and %zu tile dims; at most %d in all",
                 request->block.rank, request->tile.rank, SPAD_RANK_MAX);
        return refuse_tensor(request, SPAD_ERR_SHAPE, error, reason);
    }
    for (int s = 0; s < 2; s++) {
        for (size_t d = 0; d < shapes[s].rank; d++) {
            if (shapes[s].dims[d] >= 1) continue;
            snprintf(reason, sizeof reason, "%s %zu is %lld; it must be at least 1", kinds[s], d,
                     (long long)shapes[s].dims[d]);
            return refuse_tensor(request, SPAD_ERR_SHAPE, error, reason);
        }
    }
    return SPAD_OK;
}

static bool has_rings(const spad_direct_rings *rings) {
    return rings->base.bank != 0 || rings->base.lane != 0 || rings->base.byte != 0 ||
           rings->bank_tiles.rank > 0 || rings->lane_tiles.rank > 0 || rings->free_tiles.rank > 0;
}

/* A placement that is given with another mode would be ignored without a word. */
static spad_status check_placements(const spad_direct_tensor *request, spad_error *error) {
    const struct {
        bool is_set;
        spad_mode mode;
        const char *field;
    } placements[] = {
        {has_rings(&request->rings), SPAD_MODE_MOD, "rings"},
        {request->func != NULL || request->context != NULL, SPAD_MODE_FUNC, "func or context"},
        {request->spots != NULL || request->spot_count > 0, SPAD_MODE_AT, "spots"},
        {request->ring.rank > 0, SPAD_MODE_AUTO, "ring"},
    };
    for (size_t i = 0; i < sizeof placements / sizeof placements[0]; i++) {
        if (!placements[i].is_set || placements[i].mode == request->mode) continue;
        char reason[96];
        snprintf(reason, sizeof reason, "its mode is %s, but %s is given, which goes with mode %s",
                 spad_mode_name(request->mode), placements[i].field,
                 spad_mode_name(placements[i].mode));
        return refuse_tensor(request, SPAD_ERR_ARGUMENT, error, reason);
    }
    return SPAD_OK;
}

static spad_status check_fields(const spad_direct_tensor *request, const spad_space *space,
                                spad_error *error) {
    const bool is_auto = request->mode == SPAD_MODE_AUTO;
    if (!is_auto && request->mode != SPAD_MODE_AT && request->mode != SPAD_MODE_MOD &&
        request->mode != SPAD_MODE_FUNC) {
        return refuse_tensor(request, SPAD_ERR_ARGUMENT, error,
                             "its mode must be auto, at, mod or func");
    }
    if (request->implicit_of != NULL && !is_auto) {
        return refuse_tensor(request, SPAD_ERR_ARGUMENT, error,
                             "an implicit tensor cannot be placed, only have mode auto");
    }
    if (space->off_chip && !is_auto) {
        return refuse_tensor(request, SPAD_ERR_SPACE, error,
                             "a tensor off chip has no placement; give it mode auto");
    }
    if (!space->off_chip && request->output) {
        return refuse_tensor(request, SPAD_ERR_SPACE, error,
                             "only a tensor off chip can be an output");
    }
    return check_placements(request, error);
}

/* Block dims, then tile dims: the shape of the whole tensor. */
static spad_shape whole_shape(int64_t dims[SPAD_RANK_MAX], spad_shape block, spad_shape tile) {
    for (size_t d = 0; d < block.rank; d++) dims[d] = block.dims[d];
    for (size_t d = 0; d < tile.rank; d++) dims[block.rank + d] = tile.dims[d];
    return (spad_shape){.rank = block.rank + tile.rank, .dims = dims};
}

/* Sizes and counts; the pointers are still the caller's. */
static spad_status make_tensor(direct_tensor *out, const spad_direct *direct,
                               const spad_direct_tensor *request, spad_error *error) {
    *out = (direct_tensor){
        .name = request->name != NULL && *request->name != '\0' ? request->name : NULL,
        .implicit_of = request->implicit_of,
        .dtype = request->dtype,
        .mode = direct->force_auto ? SPAD_MODE_AUTO : request->mode,
        .output = request->output,
        .block = request->block,
        .tile = request->tile,
        .tiles = 1,
        .traced = -1,
    };
    if (request->space == NULL)
        return refuse_tensor(request, SPAD_ERR_ARGUMENT, error, "it has no space");
    spad_error reason;
    spad_status status =
        spad_target_find_space(&out->space, direct->target, request->space, &reason);
    if (status != SPAD_OK) return refuse_tensor(request, status, error, reason.message);
    const spad_space *space = &direct->target->spaces[out->space];
    status = check_fields(request, space, error);
    if (status == SPAD_OK) status = check_extents(request, error);
    if (status != SPAD_OK) return status;

    status = spad_tile_bytes(&out->lanes, &out->bytes, request->tile, request->dtype, &reason);
    if (status == SPAD_OK) status = spad_space_round(&out->bytes, space, out->bytes, &reason);
    if (status == SPAD_OK && space->off_chip) { /* counted as a whole in the trace */
        int64_t dims[SPAD_RANK_MAX], bytes;
        status = spad_shape_bytes(&bytes, whole_shape(dims, request->block, request->tile),
                                  request->dtype, &reason);
    }
    if (status != SPAD_OK) return refuse_tensor(request, status, error, reason.message);
    for (size_t d = 0; d < request->block.rank; d++) {
        if (!spad__mul(out->tiles, request->block.dims[d], &out->tiles)) {
            return refuse_tensor(request, SPAD_ERR_OVERFLOW, error, "the tiles do not fit 64 bits");
        }
    }
    return SPAD_OK;
}

/* ---- the trace --------------------------------------------------------------------- */

/* "x[1,0]" for the physical tile that begins at block index (1, 0). */
static const char *tile_name(char *field, size_t size, const direct_tensor *tensor, int64_t tile) {
    if (tensor->name == NULL || tensor->block.rank == 0) return tensor->name;
    int64_t index[SPAD_RANK_MAX] SPAD__FILLED_BY_LOOP;
    spad__index_of(tensor->block.rank, tensor->block.dims, tile, index);
    size_t used = (size_t)snprintf(field, size, "%s", tensor->name);
    for (size_t d = 0; d < tensor->block.rank; d++) {
        used += (size_t)snprintf(field + used, size - used, "%c%lld", d == 0 ? '[' : ',',
                                 (long long)index[d]);
    }
    snprintf(field + used, size - used, "]");
    return field;
}

static spad_status trace_tiles(direct_tensor *tensor, spad_direct *direct, char *field, size_t size,
                               spad_error *error) {
    const spad_space *space = &direct->target->spaces[tensor->space];
    for (int64_t p = 0; p < tensor->physical; p++) {
        const int64_t tile = spad__direct_first(tensor, p);
        const spad_tensor event = {
            .name = tile_name(field, size, tensor, tile),
            .shape = tensor->tile,
            .dtype = tensor->dtype,
            .mode = tensor->mode,
            .space = tensor->space,
            .rect = spad__direct_rect(tensor, space, tile),
            .scope = -1,
        };
        int64_t number;
        const spad_status status =
            spad_trace_alloc(&number, direct->trace, &event, event.rect.byte, error);
        if (status != SPAD_OK) return status;
        if (p == 0) tensor->traced = number;
    }
    return SPAD_OK;
}

static spad_status trace_off_chip(direct_tensor *tensor, spad_direct *direct, spad_error *error) {
    int64_t dims[SPAD_RANK_MAX];
    const spad_shape shape = whole_shape(dims, tensor->block, tensor->tile);
    int64_t bytes;
    const spad_status status = spad_shape_bytes(&bytes, shape, tensor->dtype, error);
    if (status != SPAD_OK) return status;
    const spad_tensor event = {
        .name = tensor->name,
        .shape = shape,
        .dtype = tensor->dtype,
        .mode = SPAD_MODE_AUTO,
        .space = tensor->space,
        .rect = {.lane = 0, .lanes = 1, .byte = SPAD_NO_BYTE, .bytes = bytes},
        .scope = -1,
    };
    return spad_trace_alloc(&tensor->traced, direct->trace, &event, SPAD_NO_BYTE, error);
}

/* All events of the tensor, or none. */
static spad_status trace_tensor(direct_tensor *tensor, spad_direct *direct, spad_error *error) {
    if (direct->trace == NULL) return SPAD_OK;
    spad__trace_mark mark;
    spad__trace_here(&mark, direct->trace);
    spad_status status;
    if (direct->target->spaces[tensor->space].off_chip) {
        status = trace_off_chip(tensor, direct, error);
    } else {
        const size_t size = (tensor->name != NULL ? strlen(tensor->name) : 0) + 24 * SPAD_RANK_MAX;
        char *field = spad__new(&direct->host, size);
        if (field == NULL) return spad__fail_host_memory(error);
        status = trace_tiles(tensor, direct, field, size, error);
        spad__free(&direct->host, field, size);
    }
    if (status != SPAD_OK) spad__trace_take_back(direct->trace, &mark);
    return status;
}

/* ---- keeping it -------------------------------------------------------------------- */

static bool keep_dims(spad__arena *arena, const int64_t **dims, size_t rank) {
    if (*dims == NULL || rank == 0) {
        *dims = NULL;
        return true;
    }
    int64_t *copy = spad__arena_array(arena, rank, sizeof *copy);
    if (copy == NULL) return false;
    memcpy(copy, *dims, rank * sizeof *copy);
    *dims = copy;
    return true;
}

/* Moves what is borrowed into the arena. */
static bool keep_texts(direct_tensor *tensor, spad__arena *arena) {
    const size_t rank = tensor->block.rank;
    bool kept = keep_dims(arena, &tensor->block.dims, rank) &&
                keep_dims(arena, &tensor->tile.dims, tensor->tile.rank) &&
                keep_dims(arena, &tensor->extent, rank);
    for (int c = 0; c < DIRECT_COORDINATES && kept; c++) {
        kept = keep_dims(arena, &tensor->counts[c], rank);
    }
    if (kept && tensor->implicit_of != NULL) {
        tensor->implicit_of =
            spad__arena_copy(arena, tensor->implicit_of, strlen(tensor->implicit_of));
        kept = tensor->implicit_of != NULL;
    }
    return kept;
}

static spad_status name_taken(const char *name, spad_error *error) {
    char shown[SPAD_NAME_FACT_MAX];
    spad__copy_cut(shown, sizeof shown, name);
    spad__fail(error, SPAD_ERR_NAME,
               "tensor '%s' is declared already; names are unique in a kernel", shown);
    spad__fact_names(error, name, NULL);
    return SPAD_ERR_NAME;
}

/* Adds a placed tensor to the kernel, or leaves the kernel as it was. */
static spad_status keep_tensor(direct_tensor *tensor, spad_direct *direct, spad_error *error) {
    if (direct->closed) {
        return spad__fail(error, SPAD_ERR_NOT_LIVE,
                          "the kernel is closed; declare its tensors before that");
    }
    if (tensor->name != NULL && spad__names_find(&direct->names, "", tensor->name) != NULL) {
        return name_taken(tensor->name, error);
    }
    const size_t names_before = direct->names.names.count;
    const spad__arena_mark mark = spad__arena_here(&direct->texts);
    spad_status status = SPAD_OK;
    if (!spad__array_reserve(&direct->host, &direct->tensors, 1) ||
        !keep_texts(tensor, &direct->texts)) {
        status = spad__fail_host_memory(error);
    } else if (tensor->name != NULL) {
        tensor->name = spad__names_add(&direct->names, "", tensor->name);
        if (tensor->name == NULL) status = spad__fail_host_memory(error);
    }
    if (status == SPAD_OK) status = trace_tensor(tensor, direct, error);
    if (status != SPAD_OK) {
        spad__names_truncate(&direct->names, names_before);
        spad__arena_rewind(&direct->texts, mark);
        return status;
    }
    direct->tensors.items[direct->tensors.count++] = *tensor;
    return SPAD_OK;
}

spad_status spad_direct_declare(size_t *out, spad_direct *direct, const spad_direct_tensor *request,
                                spad_error *error) {
    if (out != NULL) *out = SIZE_MAX;
    direct_tensor tensor;
    int64_t extent[SPAD_RANK_MAX];
    spad_status status = make_tensor(&tensor, direct, request, error);
    if (status == SPAD_OK) {
        status = spad__direct_place(&tensor, extent, direct->target, request, &direct->host, error);
    }
    if (status != SPAD_OK) return status;
    status = keep_tensor(&tensor, direct, error);
    if (status != SPAD_OK) {
        spad__direct_free_table(&tensor, &direct->host);
        return status;
    }
    if (out != NULL) *out = direct->tensors.count - 1;
    return SPAD_OK;
}

/* ---- the end ----------------------------------------------------------------------- */

/* Entries of the trace that belong to the tensor. */
static int64_t traced_count(const spad_direct *direct, const direct_tensor *tensor) {
    if (tensor->traced < 0) return 0;
    return direct->target->spaces[tensor->space].off_chip ? 1 : tensor->physical;
}

void spad_direct_close(spad_direct *direct) {
    if (direct->closed) return;
    for (size_t i = 0; direct->trace != NULL && i < direct->tensors.count; i++) {
        const direct_tensor *tensor = &direct->tensors.items[i];
        const int64_t count = traced_count(direct, tensor);
        for (int64_t p = 0; p < count; p++) {
            spad_trace_free(direct->trace, tensor->traced + p, -1, 0, NULL);
        }
    }
    direct->closed = true;
}
