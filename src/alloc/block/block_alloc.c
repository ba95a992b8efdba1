/* SPDX-License-Identifier: Apache-2.0
 *
 * Life of a block, allocation by request, free, and control flow. Sizes and
 * alignments are settled here, so that planning only moves bytes about.
 *
 * Sizes: 4-bit types are packed, all others take whole bytes (TileLang
 * storage_size.h). Alignment of shared memory: TileLang's 16 bytes, and what
 * copies and descriptors need (src/layout/swizzle_mode.h: the period of a
 * swizzle pattern is 8 rows of its width). Every stage of a pipelined buffer
 * starts aligned, so the stride is padded.
 */
#include "alloc/block/block.h"

#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/options.h"

/* ---- life -------------------------------------------------------------------------- */

static bool has_space(const spad_target *target, const char *name) {
    size_t number;
    return spad_target_find_space(&number, target, name, NULL) == SPAD_OK;
}

spad_status spad_block_create(spad_block **out, const spad_target *target,
                              const spad_block_options *options, spad_error *error) {
    spad_block_options o;
    *out = NULL;
    const spad_status status = SPAD__COPY_OPTIONS(&o, options, error);
    if (status != SPAD_OK) return status;
    if (target == NULL) return spad__fail(error, SPAD_ERR_ARGUMENT, "a block needs a target");
    const bool is_core = has_space(target, "ub");
    if (!is_core && !has_space(target, "shared")) {
        return spad__fail(error, SPAD_ERR_CAPABILITY,
                          "%s has no thread blocks: a block needs a space called shared (GPU) or "
                          "ub (Ascend)",
                          target->name);
    }
    if (o.threads < 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "a block of %lld threads",
                          (long long)o.threads);
    }
    const spad_host host = spad__host_or_default(o.host);
    spad_block *block = spad__new(&host, sizeof *block);
    if (block == NULL) return spad__fail_host_memory(error);
    block->host = host;
    block->target = target;
    block->options = o;
    block->is_core = is_core;
    block->texts.host = host;
    spad__names_init(&block->names, &host);
    const char *name = o.name != NULL ? o.name : "block";
    block->options.name = spad__arena_copy(&block->texts, name, strlen(name));
    if (block->options.name == NULL) {
        spad_block_destroy(block);
        return spad__fail_host_memory(error);
    }
    *out = block;
    return SPAD_OK;
}

void spad_block_destroy(spad_block *block) {
    if (block == NULL) return;
    const spad_host host = block->host;
    spad__array_free(&host, &block->buffers);
    spad__array_free(&host, &block->regions);
    spad__array_free(&host, &block->tmem_sizes);
    spad__arena_free(&block->texts);
    spad__names_free(&block->names);
    spad__free(&host, block, sizeof *block);
}

size_t spad_block_count(const spad_block *block) {
    return block->buffers.count;
}

block_buffer *spad__block_find(const spad_block *block, int64_t number, spad_error *error) {
    if (number >= 0 && (size_t)number < block->buffers.count) return &block->buffers.items[number];
    spad__fail(error, SPAD_ERR_ARGUMENT, "the block has no buffer number %lld; it has %zu",
               (long long)number, block->buffers.count);
    return NULL;
}

spad_status spad_block_get(spad_block_buffer *out, const spad_block *block, int64_t number,
                           spad_error *error) {
    memset(out, 0, sizeof *out);
    const block_buffer *buffer = spad__block_find(block, number, error);
    if (buffer == NULL) return SPAD_ERR_ARGUMENT;
    *out = buffer->info;
    if (!block->planned) {
        out->offset = out->byte = SPAD_NO_BYTE;
        out->alloc = -1;
    }
    return SPAD_OK;
}

void spad__block_label(char *field, const char *noun, const spad_block *block,
                       const block_buffer *buffer) {
    if (buffer->info.name == NULL) {
        snprintf(field, BLOCK_LABEL_MAX, "%s number %lld", noun,
                 (long long)(buffer - block->buffers.items));
        return;
    }
    char shown[SPAD_NAME_FACT_MAX];
    spad__copy_cut(shown, sizeof shown, buffer->info.name);
    snprintf(field, BLOCK_LABEL_MAX, "%s '%s'", noun, shown);
}

/* ---- requests: size and alignment -------------------------------------------------- */

/* The state of a request so far. */
typedef struct draft {
    const spad_block *block;
    const spad_block_request *request;
    block_buffer buffer;
    char label[SPAD_NAME_FACT_MAX]; /* the name, cut, for messages */
} draft;

static spad_status refuse_draft(const draft *d, spad_status code, const char *what,
                                spad_error *error) {
    spad__fail(error, code, "%s '%s': %s", spad_block_scope_name(d->buffer.info.scope), d->label,
               what);
    spad__fact_names(error, d->request->name, NULL);
    return code;
}

static spad_status no_elements(const draft *d, spad_error *error) {
    return refuse_draft(d, SPAD_ERR_SHAPE, "a buffer needs positive extents", error);
}

static spad_status too_large(const draft *d, spad_error *error) {
    return refuse_draft(d, SPAD_ERR_OVERFLOW, "its bytes do not fit 64 bits", error);
}

/* The dtype that a descriptor is kept in (TileLang language/allocate.py). */
static spad_dtype descriptor_dtype(spad_block_scope scope) {
    return scope == SPAD_BLOCK_TCGEN05_INSTR ? SPAD_UINT32 : SPAD_UINT64;
}

static bool is_descriptor(spad_block_scope scope) {
    return scope == SPAD_BLOCK_WGMMA || scope == SPAD_BLOCK_TCGEN05_SMEM ||
           scope == SPAD_BLOCK_TCGEN05_INSTR;
}

/* mbarrier objects of 8 bytes; arrival counts are 1 to 2^20 - 1 (PTX ISA, mbarrier.init). */
static spad_status size_barrier(draft *d, spad_error *error) {
    enum { BARRIER_BYTES = 8, ARRIVALS_MAX = (1 << 20) - 1 };
    const spad_block_request *r = d->request;
    if (r->arrival_count == 0 || r->arrivals == NULL) {
        return refuse_draft(d, SPAD_ERR_ARGUMENT,
                            "a barrier needs the number of arrivals that complete it", error);
    }
    if (r->stages > 1) {
        return refuse_draft(
            d, SPAD_ERR_ARGUMENT,
            "a barrier has no stages; give the arrivals of the barriers of all stages", error);
    }
    for (size_t i = 0; i < r->arrival_count; i++) {
        if (r->arrivals[i] >= 1 && r->arrivals[i] <= ARRIVALS_MAX) continue;
        spad__fail(error, SPAD_ERR_ARGUMENT,
                   "%s '%s': %lld arrivals for barrier %zu; it must be 1 to %d",
                   spad_block_scope_name(d->buffer.info.scope), d->label, (long long)r->arrivals[i],
                   i, (int)ARRIVALS_MAX);
        spad__fact_names(error, r->name, NULL);
        return SPAD_ERR_ARGUMENT;
    }
    if (r->dtype != SPAD_DTYPE_NONE && r->dtype != SPAD_UINT64) {
        return refuse_draft(d, SPAD_ERR_DTYPE, "a barrier is a uint64", error);
    }
    if (r->arrival_count > INT64_MAX / BARRIER_BYTES) return too_large(d, error);
    d->buffer.info.dtype = SPAD_UINT64;
    d->buffer.info.arrival_count = r->arrival_count;
    d->buffer.info.bytes = (int64_t)r->arrival_count * BARRIER_BYTES;
    return SPAD_OK;
}

/* Lanes are the second extent from the end; everything else runs along the columns. */
static spad_status size_tensor_memory(draft *d, spad_error *error) {
    const spad_shape shape = d->request->shape;
    spad_block_buffer *info = &d->buffer.info;
    if (shape.rank < 2) {
        return refuse_draft(d, SPAD_ERR_SHAPE,
                            "tensor memory has two dimensions, give (lanes, columns)", error);
    }
    int64_t bits = spad_dtype_bits(d->request->dtype);
    for (size_t i = 0; i < shape.rank; i++) {
        if (i + 2 == shape.rank) continue;
        if (!spad__mul(bits, shape.dims[i], &bits)) return too_large(d, error);
    }
    info->lanes = shape.dims[shape.rank - 2];
    info->columns = bits / 32 + (bits % 32 != 0);
    if (d->request->tcgen05_rules) {
        spad_error reason;
        const spad_status status =
            spad__tmem_check_columns(info->columns, d->block->last_columns, &reason);
        if (status != SPAD_OK) return refuse_draft(d, status, reason.message, error);
    }
    if (info->lanes <= SPAD_TMEM_LANES && info->columns <= SPAD_TMEM_COLUMNS_MAX) return SPAD_OK;
    spad__fail(error, SPAD_ERR_SHAPE,
               "%s '%s': %lld lanes x %lld columns of 4 bytes; tensor memory has %d x %d",
               spad_block_scope_name(info->scope), d->label, (long long)info->lanes,
               (long long)info->columns, SPAD_TMEM_LANES, SPAD_TMEM_COLUMNS_MAX);
    spad__fact_names(error, d->request->name, NULL);
    return SPAD_ERR_SHAPE;
}

static spad_status size_scalar(draft *d, spad_error *error) {
    const spad_block_request *r = d->request;
    spad_block_buffer *info = &d->buffer.info;
    for (size_t i = 0; i < r->shape.rank; i++) {
        if (r->shape.dims[i] != 1)
            return refuse_draft(d, SPAD_ERR_SHAPE, "it has one element", error);
    }
    if (is_descriptor(info->scope)) {
        const spad_dtype dtype = descriptor_dtype(info->scope);
        if (r->dtype != SPAD_DTYPE_NONE && r->dtype != dtype) {
            return refuse_draft(d, SPAD_ERR_DTYPE,
                                dtype == SPAD_UINT32 ? "this descriptor is a uint32"
                                                     : "this descriptor is a uint64",
                                error);
        }
        info->dtype = dtype;
    } else if (r->init.dtype == SPAD_DTYPE_NONE) {
        info->init = (spad_value){r->dtype, 0};
    } else if (r->init.dtype != r->dtype) {
        return refuse_draft(d, SPAD_ERR_DTYPE, "the first value has another element type", error);
    }
    info->bytes = spad_dtype_bytes(info->dtype);
    return SPAD_OK;
}

static spad_status size_reducer(draft *d, spad_error *error) {
    const spad_block_request *r = d->request;
    spad_value identity;
    spad_error reason;
    const spad_status status = spad_reduce_identity(&identity, r->op, r->dtype, &reason);
    if (status != SPAD_OK) return refuse_draft(d, status, reason.message, error);
    if ((unsigned)r->replication >= SPAD_REPLICATION_COUNT) {
        return refuse_draft(d, SPAD_ERR_ARGUMENT, "no such replication", error);
    }
    const bool old_form = r->replication != SPAD_REPLICATION_UNSET;
    if (old_form && r->op != SPAD_REDUCE_SUM && r->op != SPAD_REDUCE_MAX &&
        r->op != SPAD_REDUCE_MIN) {
        return refuse_draft(
            d, SPAD_ERR_ARGUMENT,
            "with a replication given only sum, max and min work; leave it to the compiler", error);
    }
    d->buffer.info.init = identity;
    d->buffer.info.op = r->op;
    d->buffer.info.replication = r->replication;
    return SPAD_OK;
}

static spad_status settle_size(draft *d, spad_error *error) {
    const spad_block_request *r = d->request;
    spad_block_buffer *info = &d->buffer.info;
    if (spad__block_is_barrier(info->scope)) return size_barrier(d, error);
    if (!is_descriptor(info->scope) && spad_dtype_bits(r->dtype) == 0) {
        return refuse_draft(d, SPAD_ERR_DTYPE, "it needs an element type", error);
    }
    info->dtype = r->dtype;
    if (info->scope == SPAD_BLOCK_VAR || is_descriptor(info->scope)) return size_scalar(d, error);
    spad_error reason;
    spad_status status = spad_shape_bytes(&info->bytes, r->shape, r->dtype, &reason);
    if (status != SPAD_OK) return refuse_draft(d, status, reason.message, error);
    if (info->bytes == 0 || r->shape.rank == 0) return no_elements(d, error);
    if (info->scope == SPAD_BLOCK_REDUCER) status = size_reducer(d, error);
    if (info->scope == SPAD_BLOCK_TMEM) status = size_tensor_memory(d, error);
    return status;
}

static int64_t alignment_of_use(spad_block_use use) {
    static const int64_t bytes[SPAD_USE_COUNT] = {
        [SPAD_USE_PLAIN] = 16,        [SPAD_USE_BULK] = 16,         [SPAD_USE_TMA] = 128,
        [SPAD_USE_SWIZZLE_32B] = 256, [SPAD_USE_SWIZZLE_64B] = 512, [SPAD_USE_SWIZZLE_128B] = 1024,
        [SPAD_USE_MMA] = 1024,
    };
    return bytes[use];
}

static spad_status check_use(const draft *d, spad_error *error) {
    const spad_block_use use = d->request->use;
    if ((unsigned)use >= SPAD_USE_COUNT)
        return refuse_draft(d, SPAD_ERR_ARGUMENT, "no such use", error);
    if (use == SPAD_USE_PLAIN) return SPAD_OK;
    if (d->block->is_core || spad__block_is_barrier(d->buffer.info.scope) ||
        (d->buffer.kind != BLOCK_ARENA && d->buffer.kind != BLOCK_STATIC)) {
        return refuse_draft(d, SPAD_ERR_SPACE,
                            "bulk copies and matrix operands are in shared memory", error);
    }
    if (!spad__block_has_bulk_copies(d->block)) {
        spad__fail(error, SPAD_ERR_CAPABILITY,
                   "buffer '%s': %s has no bulk copies and no matrix operands in shared memory; "
                   "sm_90 and later have them",
                   d->label, d->block->target->name);
        spad__fact_names(error, d->request->name, d->block->target->name);
        return SPAD_ERR_CAPABILITY;
    }
    if (use == SPAD_USE_BULK && d->buffer.info.bytes % 16 != 0) {
        return refuse_draft(d, SPAD_ERR_SHAPE,
                            "bulk copies move multiples of 16 bytes; pad the last extent", error);
    }
    return SPAD_OK;
}

static spad_status settle_alignment(draft *d, spad_error *error) {
    const int64_t asked = d->request->align;
    if (asked != 0 && (!spad__is_pow2(asked) || asked > SPAD_BLOCK_BASE_ALIGN)) {
        spad__fail(error, SPAD_ERR_ALIGNMENT,
                   "%s '%s': an alignment of %lld; it must be a power of two up to %d, as the base "
                   "is not aligned to more",
                   spad_block_scope_name(d->buffer.info.scope), d->label, (long long)asked,
                   SPAD_BLOCK_BASE_ALIGN);
        spad__fact_names(error, d->request->name, NULL);
        return SPAD_ERR_ALIGNMENT;
    }
    const spad_status status = check_use(d, error);
    if (status != SPAD_OK) return status;
    int64_t least = spad_dtype_bytes(d->buffer.info.dtype);
    if (spad__block_is_barrier(d->buffer.info.scope)) {
        least = 8;
    } else if (d->block->is_core && d->buffer.kind == BLOCK_ARENA) {
        least = d->block->target->spaces[d->buffer.info.space].alignment;
    } else if (d->buffer.kind == BLOCK_ARENA || d->buffer.kind == BLOCK_STATIC) {
        least = alignment_of_use(d->request->use);
    }
    d->buffer.info.align = spad__max(least, asked);
    return SPAD_OK;
}

static spad_status settle_stages(draft *d, spad_error *error) {
    spad_block_buffer *info = &d->buffer.info;
    const int64_t stages = d->request->stages == 0 ? 1 : d->request->stages;
    const bool on_chip = d->buffer.kind == BLOCK_ARENA || d->buffer.kind == BLOCK_STATIC;
    if (stages < 1 || (stages > 1 && !on_chip)) {
        return refuse_draft(d, SPAD_ERR_ARGUMENT,
                            stages < 1 ? "a pipeline needs at least one stage"
                                       : "stages are for shared memory and the levels of a core",
                            error);
    }
    if (d->block->is_core && on_chip) { /* sizes in whole granules */
        const spad_status status = spad_space_round(
            &info->bytes, &d->block->target->spaces[info->space], info->bytes, NULL);
        if (status != SPAD_OK) return too_large(d, error);
    }
    info->stages = stages;
    int64_t before_last;
    if (!spad__align_up(info->bytes, info->align, &info->stride) ||
        !spad__mul(info->stride, stages - 1, &before_last) ||
        !spad__add(before_last, info->bytes, &info->span)) {
        return too_large(d, error);
    }
    return SPAD_OK;
}

/* ---- requests: time and place ------------------------------------------------------ */

static spad_status settle_time(draft *d, spad_error *error) {
    const spad_block_request *r = d->request;
    spad_block_buffer *info = &d->buffer.info;
    const block_region *sides = spad__block_concurrent(d->block);
    d->buffer.timed = r->timed;
    info->begin = r->timed ? r->begin : sides != NULL ? sides->begin : d->block->clock;
    info->end = r->timed ? r->end : SPAD_OPEN_END;
    if (info->begin < 0 || info->begin >= info->end) {
        return refuse_draft(d, SPAD_ERR_ARGUMENT, "a lifetime [begin, end) needs 0 <= begin < end",
                            error);
    }
    d->buffer.last_use = info->end;
    if (spad__block_is_barrier(info->scope)) info->end = SPAD_OPEN_END;
    return SPAD_OK;
}

/* The end of a buffer as a new one sees it: none while sides run beside each other. */
static int64_t end_seen(const spad_block *block, size_t number) {
    const block_buffer *buffer = &block->buffers.items[number];
    const block_region *sides = spad__block_concurrent(block);
    const bool beside = sides != NULL && number >= sides->first_buffer && !buffer->timed;
    return beside ? SPAD_OPEN_END : buffer->info.end;
}

static spad_status check_overlap(const draft *d, spad_error *error) {
    const spad_block_buffer *info = &d->buffer.info;
    for (size_t i = 0; i < d->block->buffers.count; i++) {
        const block_buffer *other = &d->block->buffers.items[i];
        const spad_block_buffer *b = &other->info;
        if (!other->pinned || b->space != info->space) continue;
        if (info->begin >= end_seen(d->block, i) || b->begin >= info->end) continue;
        const spad_rect bytes = {0, 1, info->offset, info->span};
        if (!spad_rect_overlaps(bytes, (spad_rect){0, 1, b->offset, b->span})) continue;
        char label[BLOCK_LABEL_MAX];
        spad__block_label(label, "buffer", d->block, other);
        spad__fail(error, SPAD_ERR_OVERLAP,
                   "'%s' is pinned to bytes [%lld, %lld), where %s is at [%lld, %lld) at the same "
                   "time%s",
                   d->label, (long long)info->offset, (long long)(info->offset + info->span), label,
                   (long long)b->offset, (long long)(b->offset + b->span),
                   spad__block_is_barrier(b->scope)
                       ? "; barrier bytes are data only after spad_block_invalidate"
                       : "; free it first, or pin elsewhere");
        spad__fact_names(error, d->request->name, b->name);
        return SPAD_ERR_OVERLAP;
    }
    return SPAD_OK;
}

static spad_status settle_pin(draft *d, spad_error *error) {
    const spad_block_request *r = d->request;
    spad_block_buffer *info = &d->buffer.info;
    const bool barrier = spad__block_is_barrier(info->scope);
    if (barrier && (r->pinned || d->block->options.barriers_in_arena)) d->buffer.kind = BLOCK_ARENA;
    info->offset = SPAD_NO_BYTE;
    if (!r->pinned) return SPAD_OK;
    if (d->buffer.kind != BLOCK_ARENA) {
        return refuse_draft(d, SPAD_ERR_SPACE,
                            "only buffers of an arena can be pinned, such as 'shared.dyn'", error);
    }
    if (d->block->options.policy == SPAD_BLOCK_TILELANG) {
        return refuse_draft(d, SPAD_ERR_ARGUMENT,
                            "TileLang takes no addresses; use SPAD_BLOCK_BEST to pin", error);
    }
    int64_t end;
    if (r->at < 0 || !spad__add(r->at, info->span, &end)) {
        return refuse_draft(d, SPAD_ERR_BOUNDS, "it is pinned outside of the arena", error);
    }
    if (r->at % info->align != 0) {
        spad__fail(error, SPAD_ERR_ALIGNMENT,
                   "'%s' is pinned to byte %lld, which is not a multiple of %lld", d->label,
                   (long long)r->at, (long long)info->align);
        spad__fact_names(error, r->name, NULL);
        return SPAD_ERR_ALIGNMENT;
    }
    d->buffer.pinned = true;
    info->offset = r->at;
    return check_overlap(d, error);
}

/* ---- requests: the whole ----------------------------------------------------------- */

/* The reason, with the buffer in front if it has a name. */
static spad_status no_scope(const draft *d, spad_status status, const spad_error *reason,
                            spad_error *error) {
    if (d->request->name == NULL) {
        if (error != NULL) *error = *reason;
        return status;
    }
    spad__fail(error, status, "buffer '%s': %s", d->label, reason->message);
    spad__fact_names(error, d->request->name,
                     reason->other[0] != '\0' ? reason->other : reason->subject);
    return status;
}

static spad_status settle_scope(draft *d, spad_error *error) {
    spad_block_buffer *info = &d->buffer.info;
    const char *scope = d->request->scope != NULL ? d->request->scope : "shared.dyn";
    spad_error reason;
    spad_status status = spad__block_scope_parse(&info->scope, scope, &reason);
    if (status != SPAD_OK) return no_scope(d, status, &reason, error);
    /* TileLang's merge pass cannot take bool, so it moves such buffers */
    if (info->scope == SPAD_BLOCK_SHARED_DYN && d->request->dtype == SPAD_BOOL &&
        d->block->options.policy == SPAD_BLOCK_TILELANG && !d->block->is_core) {
        info->scope = SPAD_BLOCK_SHARED;
    }
    status = spad__block_resolve(&d->buffer.kind, &info->space, d->block, info->scope, &reason);
    return status == SPAD_OK ? SPAD_OK : no_scope(d, status, &reason, error);
}

static spad_status complete_draft(draft *d, spad_error *error) {
    static spad_status (*const steps[])(draft *, spad_error *) = {
        settle_scope, settle_size, settle_alignment, settle_stages, settle_time, settle_pin,
    };
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        const spad_status status = steps[i](d, error);
        if (status != SPAD_OK) return status;
    }
    d->buffer.info.is_static = d->buffer.kind == BLOCK_STATIC;
    return SPAD_OK;
}

static spad_status check_name(const spad_block *block, const char *name, spad_error *error) {
    if (name == NULL || spad__names_find(&block->names, "", name) == NULL) return SPAD_OK;
    char shown[SPAD_NAME_FACT_MAX];
    spad__copy_cut(shown, sizeof shown, name);
    spad__fail(error, SPAD_ERR_NAME, "the block has a buffer called '%s' already", shown);
    spad__fact_names(error, name, NULL);
    return SPAD_ERR_NAME;
}

/* Copies numbers into the block's arena; *out stays NULL for none. */
static bool copy_numbers(const int64_t **out, spad_block *block, const int64_t *numbers,
                         size_t count) {
    *out = NULL;
    if (count == 0) return true;
    int64_t *copy = spad__arena_array(&block->texts, count, sizeof *copy);
    if (copy == NULL) return false;
    memcpy(copy, numbers, count * sizeof *copy);
    *out = copy;
    return true;
}

/* Gives the draft texts of its own; room for it is there afterwards. */
static bool copy_draft_texts(spad_block *block, draft *d) {
    const spad_block_request *r = d->request;
    spad_block_buffer *info = &d->buffer.info;
    const bool is_barrier = spad__block_is_barrier(info->scope);
    const int64_t count = is_barrier ? (int64_t)info->arrival_count : 1;
    const bool in_a_row = is_barrier || is_descriptor(info->scope) || info->scope == SPAD_BLOCK_VAR;
    const spad_shape shape = in_a_row ? (spad_shape){.dims = &count, .rank = 1} : r->shape;
    info->shape.rank = shape.rank;
    if (!spad__array_reserve(&block->host, &block->buffers, 1) ||
        !copy_numbers(&info->shape.dims, block, shape.dims, shape.rank) ||
        !copy_numbers(&info->arrivals, block, r->arrivals, info->arrival_count)) {
        return false;
    }
    if (r->name == NULL) return true;
    info->name = spad__names_add(&block->names, "", r->name);
    return info->name != NULL;
}

spad_status spad_block_alloc(int64_t *out, spad_block *block, const spad_block_request *request,
                             spad_error *error) {
    *out = -1;
    draft d = {.block = block, .request = request};
    const char *name = request->name != NULL && *request->name != '\0' ? request->name : NULL;
    spad__copy_cut(d.label, sizeof d.label, name != NULL ? name : "unnamed");
    spad_block_request named = *request;
    named.name = name;
    d.request = &named;
    d.buffer.info.init = request->init;
    d.buffer.info.alloc = -1;
    d.buffer.info.byte = SPAD_NO_BYTE;
    d.buffer.region = spad__block_region_now(block);
    spad_status status = check_name(block, name, error);
    if (status == SPAD_OK) status = complete_draft(&d, error);
    if (status != SPAD_OK) return status;
    const spad__arena_mark mark = spad__arena_here(&block->texts);
    if (!copy_draft_texts(block, &d)) {
        spad__arena_rewind(&block->texts, mark);
        return spad__fail_host_memory(error);
    }
    *out = (int64_t)block->buffers.count;
    block->buffers.items[block->buffers.count++] = d.buffer;
    if (named.tcgen05_rules && d.buffer.kind == BLOCK_TENSOR)
        block->last_columns = d.buffer.info.columns;
    block->clock++;
    block->planned = false;
    return SPAD_OK;
}

/* ---- the calls of TileLang --------------------------------------------------------- */

spad_status spad_block_alloc_shared(int64_t *out, spad_block *block, spad_shape shape,
                                    spad_dtype dtype, const char *scope, const char *name,
                                    spad_error *error) {
    *out = -1;
    if (scope != NULL && strcmp(scope, "local.reducer") == 0) {
        char shown[SPAD_NAME_FACT_MAX];
        spad__copy_cut(shown, sizeof shown, name != NULL ? name : "unnamed");
        spad__fail(error, SPAD_ERR_SPACE,
                   "local.reducer '%s': a reducer needs an operator; use spad_block_alloc_reducer",
                   shown);
        spad__fact_names(error, name, NULL);
        return SPAD_ERR_SPACE;
    }
    const spad_block_request r = {.name = name, .scope = scope, .shape = shape, .dtype = dtype};
    return spad_block_alloc(out, block, &r, error);
}

spad_status spad_block_alloc_local(int64_t *out, spad_block *block, spad_shape shape,
                                   spad_dtype dtype, const char *name, spad_error *error) {
    return spad_block_alloc_shared(out, block, shape, dtype, "local", name, error);
}

spad_status spad_block_alloc_fragment(int64_t *out, spad_block *block, spad_shape shape,
                                      spad_dtype dtype, const char *name, spad_error *error) {
    return spad_block_alloc_shared(out, block, shape, dtype, "local.fragment", name, error);
}

spad_status spad_block_alloc_var(int64_t *out, spad_block *block, spad_dtype dtype,
                                 const spad_value *init, const char *name, spad_error *error) {
    spad_block_request r = {.name = name, .scope = "local.var", .dtype = dtype};
    if (init != NULL) r.init = *init;
    return spad_block_alloc(out, block, &r, error);
}

static spad_status alloc_barrier(int64_t *out, spad_block *block, const char *scope,
                                 const int64_t *arrivals, size_t count, const char *name,
                                 spad_error *error) {
    const spad_block_request r = {
        .name = name, .scope = scope, .arrivals = arrivals, .arrival_count = count};
    return spad_block_alloc(out, block, &r, error);
}

spad_status spad_block_alloc_barrier(int64_t *out, spad_block *block, const int64_t *arrivals,
                                     size_t count, const char *name, spad_error *error) {
    return alloc_barrier(out, block, "shared.barrier", arrivals, count, name, error);
}

spad_status spad_block_alloc_cluster_barrier(int64_t *out, spad_block *block,
                                             const int64_t *arrivals, size_t count,
                                             const char *name, spad_error *error) {
    return alloc_barrier(out, block, "shared.cluster_barrier", arrivals, count, name, error);
}

spad_status spad_block_alloc_tmem(int64_t *out, spad_block *block, spad_shape shape,
                                  spad_dtype dtype, const char *name, spad_error *error) {
    const spad_block_request r = {.name = name,
                                  .scope = "shared.tmem",
                                  .shape = shape,
                                  .dtype = dtype,
                                  .tcgen05_rules = block->options.policy != SPAD_BLOCK_TILELANG};
    return spad_block_alloc(out, block, &r, error);
}

spad_status spad_block_alloc_reducer(int64_t *out, spad_block *block, spad_shape shape,
                                     spad_dtype dtype, spad_reduce op, spad_replication replication,
                                     const char *name, spad_error *error) {
    const spad_block_request r = {.name = name,
                                  .scope = "local.reducer",
                                  .shape = shape,
                                  .dtype = dtype,
                                  .op = op,
                                  .replication = replication};
    return spad_block_alloc(out, block, &r, error);
}

spad_status spad_block_alloc_descriptor(int64_t *out, spad_block *block, const char *kind,
                                        const char *name, spad_error *error) {
    char scope[SPAD_NAME_FACT_MAX];
    snprintf(scope, sizeof scope, "local.descriptor.%s", kind != NULL ? kind : "");
    return alloc_barrier(out, block, scope, NULL, 0, name, error);
}

spad_status spad_block_alloc_global(int64_t *out, spad_block *block, spad_shape shape,
                                    spad_dtype dtype, const char *name, spad_error *error) {
    return spad_block_alloc_shared(out, block, shape, dtype, "global", name, error);
}

/* ---- the end of a life ------------------------------------------------------------- */

/* A buffer from outside the innermost loop or branch would be gone in its next turn. An open
 * region that is older than the buffer's own contains it, so that turns do no harm. */
static spad_status check_same_region(const spad_block *block, const block_buffer *buffer,
                                     const char *verb, spad_error *error) {
    if (spad__block_region_now(block) <= buffer->region) return SPAD_OK;
    char label[BLOCK_LABEL_MAX];
    spad__block_label(label, "buffer", block, buffer);
    spad__fail(error, SPAD_ERR_LIFE_CYCLE,
               "%s is %s inside a loop or branch that was entered after it was allocated; do it "
               "where it was allocated",
               label, verb);
    spad__fact_names(error, buffer->info.name, NULL);
    return SPAD_ERR_LIFE_CYCLE;
}

static spad_status has_ended(const spad_block *block, const block_buffer *buffer,
                             spad_error *error) {
    char label[BLOCK_LABEL_MAX];
    spad__block_label(label, "buffer", block, buffer);
    spad__fail(error, SPAD_ERR_NOT_LIVE, "%s has ended already, at time %lld", label,
               (long long)buffer->info.end);
    spad__fact_names(error, buffer->info.name, NULL);
    return SPAD_ERR_NOT_LIVE;
}

static spad_status fail_buffer(const spad_block *block, const block_buffer *buffer,
                               spad_status code, const char *what, spad_error *error) {
    char label[BLOCK_LABEL_MAX];
    spad__block_label(label, "buffer", block, buffer);
    spad__fail(error, code, "%s %s", label, what);
    spad__fact_names(error, buffer->info.name, NULL);
    return code;
}

spad_status spad_block_free(spad_block *block, int64_t number, spad_error *error) {
    block_buffer *buffer = spad__block_find(block, number, error);
    if (buffer == NULL) return SPAD_ERR_ARGUMENT;
    if (spad__block_is_barrier(buffer->info.scope)) {
        return fail_buffer(block, buffer, SPAD_ERR_LIFE_CYCLE,
                           "is a barrier; its bytes are free once spad_block_invalidate is called",
                           error);
    }
    if (buffer->timed) {
        return fail_buffer(block, buffer, SPAD_ERR_ARGUMENT,
                           "was given its end when it was allocated", error);
    }
    if (buffer->info.end != SPAD_OPEN_END) return has_ended(block, buffer, error);
    const spad_status status = check_same_region(block, buffer, "freed", error);
    if (status != SPAD_OK) return status;
    buffer->info.end = block->clock++;
    buffer->freed_by_hand = true;
    block->planned = false;
    return SPAD_OK;
}

spad_status spad_block_invalidate(spad_block *block, int64_t number, spad_error *error) {
    block_buffer *buffer = spad__block_find(block, number, error);
    if (buffer == NULL) return SPAD_ERR_ARGUMENT;
    if (!spad__block_is_barrier(buffer->info.scope)) {
        return fail_buffer(block, buffer, SPAD_ERR_SPACE, "is not a barrier; free it instead",
                           error);
    }
    if (buffer->info.end != SPAD_OPEN_END) {
        return fail_buffer(block, buffer, SPAD_ERR_LIFE_CYCLE, "was invalidated before", error);
    }
    const spad_status status = check_same_region(block, buffer, "invalidated", error);
    if (status != SPAD_OK) return status;
    buffer->info.end = buffer->timed ? buffer->last_use : block->clock;
    block->clock++;
    block->planned = false;
    return SPAD_OK;
}

/* ---- control flow ------------------------------------------------------------------ */

spad_status spad_block_enter(spad_block *block, spad_block_flow kind, spad_error *error) {
    if ((unsigned)kind >= SPAD_FLOW_COUNT) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "number %d is not a kind of region", (int)kind);
    }
    if (!spad__array_reserve(&block->host, &block->regions, 1))
        return spad__fail_host_memory(error);
    block->regions.items[block->regions.count++] = (block_region){
        .kind = kind,
        .serial = ++block->region_serial,
        .begin = block->clock,
        .first_buffer = block->buffers.count,
    };
    block->clock++;
    block->planned = false;
    return SPAD_OK;
}

spad_status spad_block_leave(spad_block *block, spad_error *error) {
    if (block->regions.count == 0) {
        return spad__fail(error, SPAD_ERR_NO_SCOPE, "leave needs a region that was entered");
    }
    const block_region region = block->regions.items[--block->regions.count];
    for (size_t i = region.first_buffer; i < block->buffers.count; i++) {
        block_buffer *buffer = &block->buffers.items[i];
        if (buffer->timed) continue;
        const bool ended = buffer->info.end != SPAD_OPEN_END;
        const bool ends_here = !ended && !spad__block_is_barrier(buffer->info.scope);
        const bool had_sides = ended && region.kind == SPAD_FLOW_CONCURRENT;
        if (ends_here || had_sides) buffer->info.end = block->clock;
    }
    block->clock++;
    block->planned = false;
    return SPAD_OK;
}
