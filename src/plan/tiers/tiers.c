/* SPDX-License-Identifier: Apache-2.0
 *
 * Several memories: building the problem, and the result in words. Every buffer is checked against
 * its own rules when it is added.
 */
#include "plan/tiers/tiers.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/text.h"

spad_status spad__tiers_create(spad__tiers **out, const spad_host *host, spad_error *error) {
    *out = NULL;
    const spad_host memory = spad__host_or_default(host);
    spad__tiers *tiers = spad__new(&memory, sizeof *tiers);
    if (tiers == NULL) return spad__fail_host_memory(error);
    tiers->host = memory;
    tiers->arena.host = memory;
    *out = tiers;
    return SPAD_OK;
}

void spad__tiers_destroy(spad__tiers *tiers) {
    if (tiers == NULL) return;
    const spad_host host = tiers->host;
    spad__array_free(&host, &tiers->memories);
    spad__array_free(&host, &tiers->buffers);
    spad__arena_free(&tiers->arena);
    spad__free(&host, tiers, sizeof *tiers);
}

/* Copies a name; *out stays NULL without one. False: no memory. */
static bool copy_tier_name(spad__tiers *tiers, const char *name, const char **out) {
    *out = NULL;
    if (name == NULL) return true;
    const size_t length = strlen(name) + 1;
    char *copy = spad__arena_array(&tiers->arena, length, 1);
    if (copy == NULL) return false;
    memcpy(copy, name, length);
    *out = copy;
    return true;
}

spad_status spad__tiers_add_memory(size_t *out, spad__tiers *tiers, const spad_tier *memory,
                                   spad_error *error) {
    if (memory->capacity < 0 || memory->cost < 0)
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "a memory of %s B at a cost of %s per byte: neither may be negative",
                          spad__grouped(memory->capacity).text, spad__grouped(memory->cost).text);
    if (tiers->memories.count == SPAD_TIERS_MEMORIES || tiers->buffers.count > 0)
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "a problem has at most %d memories, and they come before its buffers",
                          SPAD_TIERS_MEMORIES);
    spad_tier copy = *memory;
    if (!spad__array_reserve(&tiers->host, &tiers->memories, 1) ||
        !copy_tier_name(tiers, memory->name, &copy.name))
        return spad__fail_host_memory(error);
    tiers->dearest = spad__max(tiers->dearest, memory->cost);
    if (out != NULL) *out = tiers->memories.count;
    tiers->memories.items[tiers->memories.count++] = copy;
    return SPAD_OK;
}

static spad_status check_tier_buffer(const spad__tiers *tiers, const spad__tier_buffer *b,
                                     spad_error *error) {
    const size_t memories = tiers->memories.count;
    if (b->size < 0 || b->alignment < 0)
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "a size of %s B with an alignment of %s: neither may be negative",
                          spad__grouped(b->size).text, spad__grouped(b->alignment).text);
    if (memories == 0 || b->memories >> memories != 0 ||
        (b->home != SPAD__NO_MEMORY && b->home >= memories))
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "a buffer is in memories that there are not: there are %zu", memories);
    if ((b->kept || b->constant) && b->home == SPAD__NO_MEMORY)
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "a buffer that is kept or constant needs a home");
    if (b->use_count == 0)
        return spad__fail(error, SPAD_ERR_ARGUMENT, "a buffer without uses is nowhere");
    for (size_t k = 0; k < b->use_count; k++)
        if (b->uses[k] == INT64_MAX || (k > 0 && b->uses[k] <= b->uses[k - 1]))
            return spad__fail(error, SPAD_ERR_ARGUMENT,
                              "use %zu, at moment %s, is not after the one before it", k,
                              spad__grouped(b->uses[k]).text);
    return SPAD_OK;
}

/* Adds what the buffer could cost at most, and its bytes in every stay. */
static bool add_most(const spad__tiers *tiers, const spad__tier_buffer *b, int64_t *most,
                     int64_t *bytes) {
    const int64_t alignment = spad__max(b->alignment, 1);
    int64_t stays;
    int64_t size;
    int64_t cost;
    return b->use_count < INT32_MAX / 8 && spad__mul((int64_t)b->use_count + 2, 4, &stays) &&
           spad__align_up(b->size, alignment, &size) && spad__mul(size, stays, &size) &&
           spad__mul(size, tiers->dearest, &cost) && spad__add(tiers->most, cost, most) &&
           spad__add(tiers->bytes, size, bytes);
}

spad_status spad__tiers_add(size_t *out, spad__tiers *tiers, const spad__tier_buffer *buffer,
                            spad_error *error) {
    int64_t most = 0;
    int64_t bytes = 0;
    const spad_status status = check_tier_buffer(tiers, buffer, error);
    if (status != SPAD_OK) return status;
    if (!add_most(tiers, buffer, &most, &bytes))
        return spad__fail(error, SPAD_ERR_OVERFLOW,
                          "what all buffers could cost together does not fit 64 bits");
    spad__tier_buffer b = *buffer;
    const spad__arena_mark mark = spad__arena_here(&tiers->arena);
    int64_t *uses = spad__arena_array(&tiers->arena, b.use_count, sizeof *uses);
    if (uses == NULL || !copy_tier_name(tiers, buffer->name, &b.name) ||
        !spad__array_reserve(&tiers->host, &tiers->buffers, 1)) {
        spad__arena_rewind(&tiers->arena, mark);
        return spad__fail_host_memory(error);
    }
    memcpy(uses, buffer->uses, b.use_count * sizeof *uses);
    b.uses = uses;
    b.alignment = spad__max(b.alignment, 1);
    if (b.memories == 0) b.memories = (UINT32_C(1) << tiers->memories.count) - 1;
    tiers->most = most;
    tiers->bytes = bytes;
    if (out != NULL) *out = tiers->buffers.count;
    tiers->buffers.items[tiers->buffers.count++] = b;
    return SPAD_OK;
}

/* ---- in words ---------------------------------------------------------------------- */

static void out_memory(spad__out *out, const spad__tiers *tiers, size_t memory) {
    if (tiers->memories.items[memory].name != NULL)
        spad__out_string(out, tiers->memories.items[memory].name);
    else
        spad__out_format(out, "memory %zu", memory);
}

/* The cheapest memory that a buffer may be in. */
static size_t cheapest_memory(const spad__tiers *tiers, const spad__tier_buffer *b) {
    size_t best = SPAD__NO_MEMORY;
    for (size_t m = 0; m < tiers->memories.count; m++) {
        if ((b->memories >> m & 1) == 0) continue;
        if (best == SPAD__NO_MEMORY ||
            tiers->memories.items[m].cost < tiers->memories.items[best].cost)
            best = m;
    }
    return best;
}

/* A buffer that is larger than every memory that it may be in; SIZE_MAX: none. */
static size_t tier_too_large(const spad__tiers *tiers) {
    for (size_t k = 0; k < tiers->buffers.count; k++) {
        const spad__tier_buffer *b = &tiers->buffers.items[k];
        bool fits = false;
        for (size_t m = 0; m < tiers->memories.count; m++)
            fits = fits ||
                   ((b->memories >> m & 1) != 0 && b->size <= tiers->memories.items[m].capacity);
        if (!fits) return k;
    }
    return SIZE_MAX;
}

static void out_buffer(spad__out *out, const spad__tiers *tiers, size_t buffer) {
    if (tiers->buffers.items[buffer].name != NULL)
        spad__out_one_line(out, tiers->buffers.items[buffer].name);
    else
        spad__out_format(out, "buffer %zu", buffer);
}

static void write_tier_summary(spad__out *out, const spad__tiers *tiers,
                               const spad_tiers_result *r) {
    if (r->cost == SPAD_UNBOUNDED) {
        const size_t large = tier_too_large(tiers);
        spad__out_format(out, "verdict   %s: %s\n", spad_plan_verdict_name(r->verdict),
                         r->verdict == SPAD_PLAN_INFEASIBLE
                             ? "no choice of memories has room for all buffers"
                             : "no plan was found within the limits");
        if (large != SIZE_MAX) {
            out_buffer(out, tiers, large);
            spad__out_format(out, " has %s B, more than any memory that it may be in\n",
                             spad__grouped(tiers->buffers.items[large].size).text);
        }
        return;
    }
    spad__out_format(out, "cost      %s\nbound     %s\nmoved     %s\nverdict   %s\n",
                     spad__grouped(r->cost).text, spad__grouped(r->bound).text,
                     spad__exact_size(r->moved).text, spad_plan_verdict_name(r->verdict));
}

/* What a memory has: how many stays, and their highest top. */
static void write_memory(spad__out *out, const spad__tiers *tiers, const spad_tiers_result *r,
                         size_t memory) {
    size_t stays = 0;
    int64_t top = 0;
    for (size_t k = 0; k < r->stay_count; k++) {
        if (r->stays[k].memory != memory) continue;
        stays++;
        top = spad__max(top, r->stays[k].offset + tiers->buffers.items[r->stays[k].buffer].size);
    }
    out_memory(out, tiers, memory);
    spad__out_format(out, ": %s", spad__exact_size(top).text);
    if (tiers->memories.items[memory].capacity != SPAD_UNBOUNDED)
        spad__out_format(out, " of %s", spad__grouped(tiers->memories.items[memory].capacity).text);
    spad__out_format(out, ", %zu %s\n", stays, stays == 1 ? "stay" : "stays");
}

enum { ELSEWHERE_ROWS = 20 };

/* What a stay costs more per access than one in the cheapest memory of its buffer; 0: it is in one
 * that is as cheap. */
static int64_t extra_of_stay(const spad__tiers *tiers, const spad_tier_stay *stay) {
    const spad__tier_buffer *b = &tiers->buffers.items[stay->buffer];
    const size_t cheapest = cheapest_memory(tiers, b);
    return b->size *
           (tiers->memories.items[stay->memory].cost - tiers->memories.items[cheapest].cost);
}

/* The stay that comes after `last` if the most expensive is first, and of equal ones the first;
 * SIZE_MAX: none. */
static size_t next_elsewhere(const spad__tiers *tiers, const spad_tiers_result *r, size_t last) {
    const int64_t limit = last == SIZE_MAX ? INT64_MAX : extra_of_stay(tiers, &r->stays[last]);
    size_t best = SIZE_MAX;
    int64_t most = 0;
    for (size_t k = 0; k < r->stay_count; k++) {
        const int64_t extra = extra_of_stay(tiers, &r->stays[k]);
        const bool after = extra < limit || (extra == limit && last != SIZE_MAX && k > last);
        if (!after || extra <= most) continue;
        best = k;
        most = extra;
    }
    return best;
}

static void write_elsewhere_row(spad__out *out, const spad__tiers *tiers,
                                const spad_tier_stay *stay) {
    const spad__tier_buffer *b = &tiers->buffers.items[stay->buffer];
    spad__out_string(out, "  ");
    out_buffer(out, tiers, stay->buffer);
    spad__out_format(out, " (%s) in ", spad__exact_size(b->size).text);
    out_memory(out, tiers, stay->memory);
    spad__out_format(out, " from %s to %s\n", spad__grouped(stay->lower).text,
                     spad__grouped(stay->upper).text);
}

/* The stays of buffers that are not where they cost the least. */
static void write_elsewhere(spad__out *out, const spad__tiers *tiers, const spad_tiers_result *r) {
    size_t stays = 0;
    size_t buffers = 0;
    size_t last = SIZE_MAX;
    for (size_t k = 0; k < r->stay_count; k++) {
        if (extra_of_stay(tiers, &r->stays[k]) == 0) continue;
        stays++;
        buffers += last != r->stays[k].buffer;
        last = r->stays[k].buffer;
    }
    if (stays == 0) return;
    spad__out_format(out, "not in the cheapest memory: %zu %s, %s moved\n", buffers,
                     buffers == 1 ? "buffer" : "buffers", spad__exact_size(r->moved).text);
    size_t at = SIZE_MAX;
    for (size_t k = 0; k < stays && k < ELSEWHERE_ROWS; k++) {
        at = next_elsewhere(tiers, r, at);
        write_elsewhere_row(out, tiers, &r->stays[at]);
    }
    if (stays > ELSEWHERE_ROWS)
        spad__out_format(out, "  and %zu more stays\n", stays - ELSEWHERE_ROWS);
    if (r->verdict == SPAD_PLAN_OPTIMAL)
        spad__out_string(out, "no other choice costs less: proved\n");
    else
        spad__out_format(out, "whether another choice costs less is not known; none is below %s\n",
                         spad__grouped(r->bound).text);
}

spad_status spad__tiers_write_text(const spad__tiers *tiers, const spad_tiers_result *result,
                                   const spad_sink *sink, spad_error *error) {
    spad__out out;
    spad__out_start(&out, sink);
    write_tier_summary(&out, tiers, result);
    for (size_t m = 0; m < tiers->memories.count && result->cost != SPAD_UNBOUNDED; m++)
        write_memory(&out, tiers, result, m);
    write_elsewhere(&out, tiers, result);
    return spad__out_finish(&out, error);
}
