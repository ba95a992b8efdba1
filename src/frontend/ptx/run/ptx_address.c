/* SPDX-License-Identifier: Apache-2.0
 *
 * Addresses: from a number to a place in a space, from a place to bytes on the host, and the
 * instructions that convert addresses. Global memory is found by binary search over the buffers of
 * the launch, after a look at the buffer that was used last.
 *
 * Reference: PTX ISA 9.0, sections 5.1 (state spaces), 9.7.9.20 (cvta), isspacep, mapa, getctarank.
 */
#include <string.h>

#include "frontend/ptx/run/ptx_memory.h"
#include "frontend/ptx/run/ptx_shared.h"

enum { WINDOW_BITS = 40, RANK_BITS = 24 };

#define WINDOW_OF(base) ((base) >> WINDOW_BITS)
#define WINDOW_MASK ((UINT64_C(1) << WINDOW_BITS) - 1)
#define RANK_MASK ((UINT64_C(1) << RANK_BITS) - 1)

/* ---- places ------------------------------------------------------------------------------------
 */

static spad__ptx_place shared_place(uint64_t address) {
    return (spad__ptx_place){.space = SPAD__PTX_SHARED,
                             .cta = (int32_t)(address >> RANK_BITS & 0xffff),
                             .offset = (int64_t)(address & RANK_MASK)};
}

static spad__ptx_place generic_place(uint64_t address) {
    spad__ptx_place place = {.offset = (int64_t)(address & WINDOW_MASK)};
    switch (address >> WINDOW_BITS) {
    case WINDOW_OF(SPAD__PTX_SHARED_BASE): return shared_place(address & WINDOW_MASK);
    case WINDOW_OF(SPAD__PTX_LOCAL_BASE): place.space = SPAD__PTX_LOCAL_MEMORY; return place;
    case WINDOW_OF(SPAD__PTX_PARAM_BASE): place.space = SPAD__PTX_PARAM; return place;
    case WINDOW_OF(SPAD__PTX_CONST_BASE): place.space = SPAD__PTX_CONST; return place;
    default:
        place.space = SPAD__PTX_GLOBAL;
        place.offset = (int64_t)address;
        return place;
    }
}

spad__ptx_place spad__ptx_resolve(const spad__ptx_machine *m, const spad__ptx_warp *w,
                                  spad__ptx_space space, uint64_t address) {
    (void)m;
    (void)w;
    switch (space) {
    case SPAD__PTX_SHARED:
    case SPAD__PTX_SHARED_CLUSTER: return shared_place(address & UINT32_MAX);
    case SPAD__PTX_LOCAL_MEMORY:
    case SPAD__PTX_PARAM:
    case SPAD__PTX_CONST:
        return (spad__ptx_place){.space = space, .offset = (int64_t)(address & WINDOW_MASK)};
    case SPAD__PTX_GLOBAL: return (spad__ptx_place){.space = space, .offset = (int64_t)address};
    default: return generic_place(address);
    }
}

/* ---- storage -----------------------------------------------------------------------------------
 */

static bool is_in_range(int64_t offset, int64_t count, int64_t bytes) {
    return offset >= 0 && count <= bytes && offset <= bytes - count;
}

static spad__ptx_storage shared_storage(spad__ptx_machine *m, spad__ptx_place place,
                                        int64_t count) {
    if (place.cta < 0 || place.cta >= m->cta_count) return (spad__ptx_storage){0};
    spad__ptx_cta *cta = &m->ctas[place.cta];
    const bool reserved = is_in_range(place.offset - cta->reserved_at, count, cta->reserved_bytes);
    if (!reserved && !is_in_range(place.offset, count, cta->shared_bytes))
        return (spad__ptx_storage){0};
    return (spad__ptx_storage){.found = true,
                               .bytes = cta->shared + place.offset,
                               .known = cta->shared_known + place.offset,
                               .stride = 1};
}

static bool buffer_has(const spad__ptx_buffer *b, uint64_t address, int64_t count) {
    return address >= b->address && b->bytes >= count &&
           address - b->address <= (uint64_t)(b->bytes - count);
}

/* Buffers are sorted by address, and the last one that begins at or before it may have it. */
static const spad__ptx_buffer *buffer_at(spad__ptx_machine *m, uint64_t address, int64_t count) {
    if (m->buffer_count == 0) return NULL;
    if (buffer_has(&m->buffers[m->last_buffer], address, count)) return &m->buffers[m->last_buffer];
    size_t low = 0;
    size_t high = m->buffer_count;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (m->buffers[middle].address <= address) {
            low = middle;
        } else {
            high = middle;
        }
    }
    if (!buffer_has(&m->buffers[low], address, count)) return NULL;
    m->last_buffer = low;
    return &m->buffers[low];
}

static int64_t data_bytes_of(const spad__ptx_buffer *b) {
    return b->bytes - b->beyond;
}

static spad__ptx_storage find_global(spad__ptx_machine *m, uint64_t address, int64_t count) {
    const spad__ptx_buffer *b = buffer_at(m, address, count);
    if (b == NULL) return (spad__ptx_storage){0};
    const uint64_t at = address - b->address;
    const bool has_data = b->data != NULL && (int64_t)at <= data_bytes_of(b) - count;
    return (spad__ptx_storage){.found = true,
                               .global = true,
                               .bytes = has_data ? b->data + at : NULL,
                               .known = has_data && b->known != NULL ? b->known + at : NULL,
                               .stride = 1};
}

static spad__ptx_storage find_parameter(spad__ptx_machine *m, const spad__ptx_warp *w, int lane,
                                        int64_t offset, int64_t count) {
    const spad__ptx_launch *launch = m->launch;
    if (is_in_range(offset, count, launch->parameter_bytes)) {
        /* Not written: `constant` says so. */
        union {
            const uint8_t *in;
            uint8_t *out;
        } bytes = {launch->parameters + offset}, known = {NULL};
        if (launch->parameters_known != NULL) known.in = launch->parameters_known + offset;
        return (spad__ptx_storage){
            .found = true, .constant = true, .bytes = bytes.out, .known = known.out, .stride = 1};
    }
    const int64_t at = offset - SPAD__PTX_FRAME_PARAM;
    if (!is_in_range(at, count, w->frame->local_bytes)) return (spad__ptx_storage){0};
    const int64_t first = at * SPAD__PTX_LANES + lane;
    return (spad__ptx_storage){.found = true,
                               .bytes = w->frame->locals + first,
                               .known = w->frame->locals_known + first,
                               .stride = SPAD__PTX_LANES};
}

static spad__ptx_storage find_local(const spad__ptx_warp *w, int lane, int64_t offset,
                                    int64_t count) {
    if (!is_in_range(offset, count, w->local_bytes)) return (spad__ptx_storage){0};
    const int64_t first = offset * SPAD__PTX_LANES + lane;
    return (spad__ptx_storage){.found = true,
                               .bytes = w->local + first,
                               .known = w->local_known + first,
                               .stride = SPAD__PTX_LANES};
}

spad__ptx_storage spad__ptx_find(spad__ptx_machine *m, const spad__ptx_warp *w, int lane,
                                 spad__ptx_place place, int64_t count) {
    switch (place.space) {
    case SPAD__PTX_SHARED: return shared_storage(m, place, count);
    case SPAD__PTX_LOCAL_MEMORY: return find_local(w, lane, place.offset, count);
    case SPAD__PTX_PARAM: return find_parameter(m, w, lane, place.offset, count);
    case SPAD__PTX_CONST: {
        spad__ptx_storage found =
            find_global(m, SPAD__PTX_CONST_BASE + (uint64_t)place.offset, count);
        found.constant = true;
        return found;
    }
    default: return find_global(m, (uint64_t)place.offset, count);
    }
}

bool spad__ptx_fetch(const spad__ptx_storage *from, int64_t at, unsigned bytes, uint64_t *out) {
    *out = 0;
    if (from->bytes == NULL) return false;
    const size_t first = (size_t)at * from->stride;
    uint64_t value = 0;
    bool known = true;
    for (unsigned n = 0; n < bytes; n++) {
        const size_t byte = first + n * from->stride;
        value |= (uint64_t)from->bytes[byte] << 8 * n;
        known &= from->known == NULL || from->known[byte] != 0;
    }
    if (known) *out = value;
    return known;
}

/* Buffers without a map of known bytes get one when an unknown value is stored: before that, all
 * of them are known. */
static uint8_t *known_bytes_of(spad__ptx_machine *m, const spad__ptx_storage *to) {
    if (to->known != NULL) return to->known;
    for (size_t n = 0; n < m->buffer_count; n++) {
        spad__ptx_buffer *b = &m->buffers[n];
        if (b->data == NULL || to->bytes < b->data || to->bytes >= b->data + data_bytes_of(b))
            continue;
        if (b->known == NULL) {
            b->known = spad__new(m->host, (size_t)data_bytes_of(b));
            if (b->known == NULL) {
                (void)spad__ptx_no_memory(m);
                return NULL;
            }
            memset(b->known, 1, (size_t)data_bytes_of(b));
            m->owned[n] = true;
        }
        return b->known + (to->bytes - b->data);
    }
    return NULL;
}

void spad__ptx_store(spad__ptx_machine *m, const spad__ptx_storage *to, int64_t at, unsigned bytes,
                     uint64_t value, bool known) {
    if (to->bytes == NULL || to->constant) return;
    uint8_t *flags = to->known;
    if (known && to->global) m->global_known = true;
    if (flags == NULL && !known) flags = known_bytes_of(m, to);
    const size_t first = (size_t)at * to->stride;
    for (unsigned n = 0; n < bytes; n++) {
        const size_t byte = first + n * to->stride;
        to->bytes[byte] = (uint8_t)(known ? value >> 8 * n : 0);
        if (flags != NULL) flags[byte] = (uint8_t)known;
    }
}

/* ---- bytes for other files ----------------------------------------------------------------------
 */

static spad__ptx_remark_kind out_of(spad__ptx_space space) {
    if (space == SPAD__PTX_SHARED) return SPAD__PTX_OUT_OF_SHARED;
    return space == SPAD__PTX_GLOBAL || space == SPAD__PTX_CONST ? SPAD__PTX_OUT_OF_GLOBAL
                                                                 : SPAD__PTX_OUT_OF_LOCAL;
}

static spad__ptx_storage find_or_remark(spad__ptx_machine *m, const spad__ptx_warp *w,
                                        spad__ptx_place place, int64_t count) {
    const spad__ptx_storage found = spad__ptx_find(m, w, 0, place, count);
    if (!found.found) {
        spad__ptx_remark_at(m, w, out_of(place.space), 0, (uint64_t)place.offset, count, "%s",
                            "outside of what was allocated");
    }
    return found;
}

bool spad__ptx_peek_bytes(spad__ptx_machine *m, const spad__ptx_warp *w, spad__ptx_place place,
                          uint8_t *bytes, uint8_t *known, int64_t count) {
    const spad__ptx_storage from = find_or_remark(m, w, place, count);
    memset(bytes, 0, (size_t)count);
    memset(known, 0, (size_t)count);
    if (!from.found || from.bytes == NULL) return from.found;
    for (int64_t n = 0; n < count; n++) {
        const size_t at = (size_t)n * from.stride;
        known[n] = from.known == NULL || from.known[at] != 0;
        if (known[n] != 0) bytes[n] = from.bytes[at];
    }
    return true;
}

bool spad__ptx_poke_bytes(spad__ptx_machine *m, const spad__ptx_warp *w, spad__ptx_place place,
                          const uint8_t *bytes, const uint8_t *known, int64_t count) {
    const spad__ptx_storage to = find_or_remark(m, w, place, count);
    if (!to.found || to.bytes == NULL) return to.found;
    for (int64_t n = 0; n < count; n++) {
        spad__ptx_store(m, &to, n, 1, bytes[n], known[n] != 0);
    }
    return true;
}

void spad__ptx_forget_bytes(spad__ptx_machine *m, spad__ptx_place place, int64_t count) {
    if (m->warps.count == 0) return;
    const spad__ptx_storage to = spad__ptx_find(m, &m->warps.items[0], 0, place, count);
    if (!to.found) return;
    for (int64_t n = 0; n < count; n++) spad__ptx_store(m, &to, n, 1, 0, false);
}

bool spad__ptx_forget_global(spad__ptx_machine *m) {
    if (!m->global_known) return true;
    m->global_known = false;
    for (size_t n = 0; n < m->buffer_count && m->status == SPAD_OK; n++) {
        const spad__ptx_buffer *b = &m->buffers[n];
        if (b->data == NULL || b->bytes == 0) continue;
        if (b->address >> WINDOW_BITS == WINDOW_OF(SPAD__PTX_CONST_BASE)) continue;
        const spad__ptx_storage all = {.found = true, .bytes = b->data, .known = b->known};
        uint8_t *known = known_bytes_of(m, &all);
        if (known != NULL) memset(known, 0, (size_t)data_bytes_of(b));
    }
    return m->status == SPAD_OK;
}

/* ---- instructions ------------------------------------------------------------------------------
 */

/* The base of a space in generic addresses. */
static uint64_t window_base(spad__ptx_space space) {
    switch (space) {
    case SPAD__PTX_SHARED:
    case SPAD__PTX_SHARED_CLUSTER: return SPAD__PTX_SHARED_BASE;
    case SPAD__PTX_LOCAL_MEMORY: return SPAD__PTX_LOCAL_BASE;
    case SPAD__PTX_PARAM: return SPAD__PTX_PARAM_BASE;
    case SPAD__PTX_CONST: return SPAD__PTX_CONST_BASE;
    default: return 0;
    }
}

/* Function parameters lie in the window of .param, too: their offsets begin elsewhere. */
static spad__ptx_outcome run_cvta(spad__ptx_machine *m, spad__ptx_warp *w,
                                  const spad__ptx_instruction *i, uint32_t lanes) {
    spad__ptx_value v;
    spad__ptx_get(m, w, spad__ptx_operand_at(m, i, 1), SPAD__PTX_NO_TYPE, &v);
    const uint64_t base = window_base((spad__ptx_space)i->space);
    const uint64_t change = spad__ptx_has(i, SPAD__PTX_WORD_TO) ? UINT64_C(0) - base : base;
    for (int l = 0; l < SPAD__PTX_LANES; l++) v.lanes[l] += change;
    spad__ptx_set(m, w, spad__ptx_operand_at(m, i, 0), lanes, &v);
    return SPAD__PTX_DONE;
}

static bool is_in_space(const spad__ptx_warp *w, const spad__ptx_place *place,
                        spad__ptx_space space) {
    if (space == SPAD__PTX_SHARED) return place->space == space && place->cta == w->cta;
    if (space == SPAD__PTX_SHARED_CLUSTER) return place->space == SPAD__PTX_SHARED;
    return place->space == space;
}

static spad__ptx_outcome run_isspacep(spad__ptx_machine *m, spad__ptx_warp *w,
                                      const spad__ptx_instruction *i, uint32_t lanes) {
    spad__ptx_value v;
    spad__ptx_get(m, w, spad__ptx_operand_at(m, i, 1), SPAD__PTX_NO_TYPE, &v);
    for (int l = 0; l < SPAD__PTX_LANES; l++) {
        const spad__ptx_place place = generic_place(v.lanes[l]);
        v.lanes[l] = is_in_space(w, &place, (spad__ptx_space)i->space);
    }
    spad__ptx_set(m, w, spad__ptx_operand_at(m, i, 0), lanes, &v);
    return SPAD__PTX_DONE;
}

/* The rank is in the same bits of shared and of generic addresses. */
static spad__ptx_outcome run_mapa(spad__ptx_machine *m, spad__ptx_warp *w,
                                  const spad__ptx_instruction *i, uint32_t lanes) {
    spad__ptx_value v;
    spad__ptx_value rank;
    spad__ptx_get(m, w, spad__ptx_operand_at(m, i, 1), SPAD__PTX_NO_TYPE, &v);
    spad__ptx_get(m, w, spad__ptx_operand_at(m, i, 2), SPAD__PTX_U32, &rank);
    for (int l = 0; l < SPAD__PTX_LANES; l++) {
        const uint64_t window = v.lanes[l] & ~WINDOW_MASK;
        v.lanes[l] = window | (rank.lanes[l] & 0xffff) << RANK_BITS | (v.lanes[l] & RANK_MASK);
    }
    v.known &= rank.known;
    spad__ptx_set(m, w, spad__ptx_operand_at(m, i, 0), lanes, &v);
    return SPAD__PTX_DONE;
}

static spad__ptx_outcome run_getctarank(spad__ptx_machine *m, spad__ptx_warp *w,
                                        const spad__ptx_instruction *i, uint32_t lanes) {
    spad__ptx_value v;
    spad__ptx_get(m, w, spad__ptx_operand_at(m, i, 1), SPAD__PTX_NO_TYPE, &v);
    for (int l = 0; l < SPAD__PTX_LANES; l++) v.lanes[l] = v.lanes[l] >> RANK_BITS & 0xffff;
    spad__ptx_set(m, w, spad__ptx_operand_at(m, i, 0), lanes, &v);
    return SPAD__PTX_DONE;
}

spad__ptx_outcome spad__ptx_run_address(spad__ptx_machine *m, spad__ptx_warp *w,
                                        const spad__ptx_instruction *i, uint32_t lanes) {
    switch (i->op) {
    case SPAD__PTX_OP_CVTA: return run_cvta(m, w, i, lanes);
    case SPAD__PTX_OP_ISSPACEP: return run_isspacep(m, w, i, lanes);
    case SPAD__PTX_OP_MAPA: return run_mapa(m, w, i, lanes);
    case SPAD__PTX_OP_GETCTARANK: return run_getctarank(m, w, i, lanes);
    default: return spad__ptx_unsupported(m, i, "it converts no address");
    }
}
