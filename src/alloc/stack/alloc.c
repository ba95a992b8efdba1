/* SPDX-License-Identifier: Apache-2.0
 *
 * Placing tensors: where a stack or a heap tensor goes in each behaviour, and
 * what happens when there is no room.
 *
 * Every allocation goes the same way: check the request, find the place
 * (pure arithmetic on the cursors), reserve memory and log the event (the
 * steps that can fail), then commit (which cannot).
 */
#include <stdio.h>
#include <string.h>

#include "alloc/stack/stack.h"
#include "base/assert.h"
#include "base/checked.h"
#include "base/dtype.h"
#include "base/entry.h"
#include "base/error.h"
#include "base/interval.h"
#include "base/text.h"

typedef struct stack_request {
    spad_mode mode; /* stack or heap */
    spad_shape shape;
    spad_dtype dtype;
    const char *name; /* as given, without the prefix */
    int64_t base_lane;
    int64_t lanes;
    int64_t bytes;
    int64_t align; /* at least 1, or SPAD_ALIGN_DEFAULT */
    bool list_shape;
} stack_request;

/* Where it goes, and the cursors afterwards. */
typedef struct stack_spot {
    int64_t address;
    int64_t shown; /* the address that the log shows */
    int64_t sp;
    int64_t hp;
} stack_spot;

static const char *mode_word(spad_mode mode) {
    return mode == SPAD_MODE_STACK ? "stack" : "heap";
}

/* ---- the request ------------------------------------------------------------------- */

/* sizeinbytes() of the library knows these and no others. */
static bool library_knows(spad_dtype dtype) {
    switch (dtype) {
    case SPAD_FLOAT32:
    case SPAD_INT32:
    case SPAD_UINT32:
    case SPAD_BFLOAT16:
    case SPAD_FLOAT16:
    case SPAD_UINT16:
    case SPAD_INT16:
    case SPAD_INT8:
    case SPAD_UINT8:
    case SPAD_FLOAT8_E4M3:
    case SPAD_FLOAT8_E4M3FN:
    case SPAD_FLOAT8_E5M2:
    case SPAD_FLOAT8_E4M3FN_X4:
    case SPAD_FLOAT8_E5M2_X4:
    case SPAD_FLOAT4_E2M1FN_X4: return true;
    default: return false;
    }
}

static spad_status check_space(const spad_stack *stack, spad_mode mode,
                               const spad_stack_place *place, spad_error *error) {
    if (place->space == NULL || strcmp(place->space, stack->space->name) == 0) return SPAD_OK;
    spad__fail(error, SPAD_ERR_SPACE, "alloc_%s works in %s only, not in %s", mode_word(mode),
               stack->space->name, place->space);
    spad__fact_names(error, place->space, stack->space->name);
    return SPAD_ERR_SPACE;
}

static spad_status check_request_lanes(const spad_stack *stack, const stack_request *request,
                                       spad_error *error) {
    const spad_space *space = stack->space;
    const spad_status status =
        spad_space_check_lanes(space, request->base_lane, request->lanes, error);
    if (status != SPAD_OK) spad__fact_names(error, request->name, space->name);
    return status;
}

/* The exact behaviour obeys the space: start lanes, granules. */
static spad_status apply_space_rules(const spad_stack *stack, stack_request *request,
                                     spad_error *error) {
    const spad_space *space = stack->space;
    const spad_status status = check_request_lanes(stack, request, error);
    if (status != SPAD_OK) return status;
    if (space->granule == 1 && !space->power_of_two) return SPAD_OK;
    return spad_space_round(&request->bytes, space, request->bytes, error);
}

static spad_status make_request(stack_request *out, const spad_stack *stack, spad_mode mode,
                                spad_shape shape, spad_dtype dtype, const char *name,
                                const spad_stack_place *place, spad_error *error) {
    const bool exact = stack->behaviour == SPAD_STACK_EXACT;
    if (exact && name != NULL && *name == '\0') name = NULL;
    *out = (stack_request){
        .mode = mode, .shape = shape, .dtype = dtype, .name = name, .align = SPAD_ALIGN_DEFAULT};
    if (place != NULL) {
        const spad_status status = check_space(stack, mode, place, error);
        if (status != SPAD_OK) return status;
        out->align = place->align;
        out->base_lane = place->base_lane;
        out->list_shape = place->list_shape;
        if (out->align < 1 && out->align != SPAD_ALIGN_DEFAULT) {
            spad__fail(error, SPAD_ERR_ALIGNMENT,
                       "an alignment of %lld B; it must be at least 1 (SPAD_ALIGN_DEFAULT for "
                       "that of the element type)",
                       (long long)out->align);
            spad__fact_names(error, name, NULL);
            return SPAD_ERR_ALIGNMENT;
        }
    }
    spad_status status = spad_tile_bytes(&out->lanes, &out->bytes, shape, dtype, error);
    if (status != SPAD_OK) {
        spad__fact_names(error, name, NULL);
        return status;
    }
    if (exact) return apply_space_rules(stack, out, error);
    if (!library_knows(dtype)) {
        spad__fail(error, SPAD_ERR_DTYPE,
                   "the library behaviours do not support the element type %s",
                   spad_dtype_name(dtype));
        spad__fact_names(error, name, NULL);
        return SPAD_ERR_DTYPE;
    }
    return stack->strict ? check_request_lanes(stack, out, error) : SPAD_OK;
}

/* ---- the place --------------------------------------------------------------------- */

static spad_status request_too_large(const stack_request *request, spad_error *error) {
    spad__fail(error, SPAD_ERR_OVERFLOW,
               "%lld B per lane at alignment %lld lead to an address beyond 2^60",
               (long long)request->bytes, (long long)request->align);
    spad__fact_names(error, request->name, NULL);
    return SPAD_ERR_OVERFLOW;
}

static bool in_limit(int64_t address) {
    return address >= -STACK_ADDRESS_LIMIT && address <= STACK_ADDRESS_LIMIT;
}

/* Must a place keep the library's documented contract? Without addresses there is none to keep. */
static bool keeps_contract(const spad_stack *stack) {
    return stack->strict && !stack->automatic;
}

/* The library: overflow of the region is examined before alignment; a strict manager examines it
 * afterwards as well. */
static spad_status library_stack_spot(stack_spot *out, const spad_stack *stack,
                                      stack_request *request, spad_error *error) {
    int64_t end;
    if (request->align == SPAD_ALIGN_DEFAULT) request->align = spad_dtype_bytes(request->dtype);
    if (!spad__add(stack->sp, request->bytes, &end)) return request_too_large(request, error);
    if (!stack->automatic && end > stack->hp) {
        return spad__stack_no_fit(stack, SPAD_MODE_STACK, request->name, request->bytes,
                                  request->align, stack->hp - stack->sp, error);
    }
    int64_t address;
    if (!spad__align_up(stack->sp, request->align, &address) ||
        !spad__add(address, request->bytes, &end) || !in_limit(end)) {
        return request_too_large(request, error);
    }
    if (keeps_contract(stack) && end > stack->hp) {
        return spad__stack_no_fit(stack, SPAD_MODE_STACK, request->name, request->bytes,
                                  request->align, stack->hp - address, error);
    }
    *out = (stack_spot){.address = address, .shown = address, .sp = end, .hp = stack->hp};
    return SPAD_OK;
}

/* A strict manager refuses a heap tensor that the library would put over the stack, or at an
 * address that is not a multiple of the alignment that was asked for. */
static spad_status check_heap_contract(const spad_stack *stack, const stack_request *request,
                                       const stack_spot *spot, spad_error *error) {
    if (!keeps_contract(stack)) return SPAD_OK;
    const int64_t address = spot->address;
    if (spot->hp < stack->sp) { /* hp is at or below the address */
        return spad__stack_no_fit(stack, SPAD_MODE_HEAP, request->name, request->bytes,
                                  request->align, spot->hp + request->bytes - stack->sp, error);
    }
    if (request->align == SPAD_ALIGN_DEFAULT || spad__floor_mod(address, request->align) == 0) {
        return SPAD_OK;
    }
    spad__fail(
        error, SPAD_ERR_ALIGNMENT,
        "the library puts this heap tensor of %s B at %s, not at a multiple of %s: it aligns "
        "the end of heap tensors; make the size a multiple of %s B, use the behaviour "
        "'exact', or strict=False for the library's address",
        spad__grouped(request->bytes).text, spad__grouped(address).text,
        spad__grouped(request->align).text, spad__grouped(request->align).text);
    spad__fact_names(error, request->name, NULL);
    return SPAD_ERR_ALIGNMENT;
}

/* April 2026: a given alignment rounds the end of the tensor down; the base is
 * whatever it is; the cursor is floored to 4. Later: the base is aligned, by 4
 * unless stated otherwise. */
static spad_status library_heap_spot(stack_spot *out, const spad_stack *stack,
                                     stack_request *request, spad_error *error) {
    int64_t end;
    if (!spad__add(stack->sp, request->bytes, &end)) return request_too_large(request, error);
    if (!stack->automatic && end > stack->hp) {
        return spad__stack_no_fit(stack, SPAD_MODE_HEAP, request->name, request->bytes,
                                  request->align, stack->hp - stack->sp, error);
    }
    const bool later = stack->behaviour == SPAD_STACK_LIBRARY_LATER;
    int64_t hp = stack->hp;
    int64_t base;
    if (!later && request->align != SPAD_ALIGN_DEFAULT &&
        !spad__align_down(hp, request->align, &hp)) {
        return request_too_large(request, error);
    }
    if (!spad__sub(hp, request->bytes, &base)) return request_too_large(request, error);
    const int64_t floor = later && request->align != SPAD_ALIGN_DEFAULT ? request->align : 4;
    if (!spad__align_down(base, floor, &hp) || !in_limit(hp))
        return request_too_large(request, error);
    *out = (stack_spot){.address = later ? hp : base, .shown = hp, .sp = stack->sp, .hp = hp};
    return check_heap_contract(stack, request, out, error);
}

/* The alignment that both the request and the space want. */
static spad_status join_alignment(stack_request *request, const spad_space *space,
                                  spad_error *error) {
    if (request->align == SPAD_ALIGN_DEFAULT) request->align = spad_dtype_bytes(request->dtype);
    if (request->align % space->alignment == 0) return SPAD_OK;
    int64_t both;
    if (!spad__lcm(request->align, space->alignment, &both))
        return request_too_large(request, error);
    request->align = both;
    return SPAD_OK;
}

static spad_status check_request_bank(const stack_request *request, const spad_space *space,
                                      spad_error *error) {
    if (!space->banks_exclusive || request->bytes <= space->bank_bytes) return SPAD_OK;
    spad__fail(error, SPAD_ERR_BOUNDS,
               "a tile of %lld B per lane does not fit a bank of %s, which has %lld B",
               (long long)request->bytes, space->name, (long long)space->bank_bytes);
    spad__fact_names(error, request->name, space->name);
    spad__fact_amounts(error, request->bytes, space->bank_bytes, SPAD_NO_FACT);
    return SPAD_ERR_BOUNDS;
}

static bool crosses_bank(const stack_request *request, const spad_space *space, int64_t address) {
    spad__assert(request->bytes >= 0 && in_limit(address));
    if (!space->banks_exclusive || request->bytes == 0) return false;
    return spad__floor_div(address, space->bank_bytes) !=
           spad__floor_div(address + request->bytes - 1, space->bank_bytes);
}

/* With an alignment that does not divide the bank, several banks may have to be
 * tried. After this many the tile goes to the start of one, where it always fits. */
enum { BANK_TRIES = 64 };

/* The lowest legal address at or above *address, or if BANK_TRIES banks have
 * none, the next start of a bank. */
static bool settle_up(int64_t *address, const stack_request *request, const spad_space *space) {
    spad__assert(request->align >= 1 && request->bytes <= STACK_ADDRESS_LIMIT);
    if (!spad__align_up(*address, request->align, address) || !in_limit(*address)) return false;
    for (int tries = 0; crosses_bank(request, space, *address); tries++) {
        int64_t step = request->align;
        if (tries == BANK_TRIES && !spad__lcm(step, space->bank_bytes, &step)) return false;
        int64_t border = *address + 1;
        if (!spad__align_up(border, space->bank_bytes, &border) || !in_limit(border) ||
            !spad__align_up(border, step, address) || !in_limit(*address)) {
            return false;
        }
    }
    return true;
}

/* The same downwards: the highest legal address at or below *address. */
static bool settle_down(int64_t *address, const stack_request *request, const spad_space *space) {
    spad__assert(request->align >= 1 && request->bytes <= STACK_ADDRESS_LIMIT);
    if (!spad__align_down(*address, request->align, address) || !in_limit(*address)) return false;
    for (int tries = 0; crosses_bank(request, space, *address); tries++) {
        int64_t step = request->align;
        if (tries == BANK_TRIES && !spad__lcm(step, space->bank_bytes, &step)) return false;
        int64_t border = *address + request->bytes - 1;
        if (!spad__align_down(border, space->bank_bytes, &border) || !in_limit(border) ||
            !spad__align_down(border - request->bytes, step, address) || !in_limit(*address)) {
            return false;
        }
    }
    return true;
}

/* Bytes of the largest tile of that alignment in [low, high): cut at bank borders,
 * the region is a first piece, whole banks, and a last piece. */
static int64_t room_between(int64_t low, int64_t high, int64_t align, const spad_space *space) {
    spad__assert(align >= 1);
    int64_t largest = 0;
    for (int pieces = 0; low < high && pieces < BANK_TRIES; pieces++) {
        int64_t end = high;
        int64_t border;
        if (space->banks_exclusive && spad__align_up(low + 1, space->bank_bytes, &border)) {
            end = spad__min(end, border);
        }
        int64_t start;
        if (spad__align_up(low, align, &start)) largest = spad__max(largest, end - start);
        low = end;
    }
    return largest;
}

/* Both ends check the region after alignment, and so cannot overrun it. */
static spad_status exact_stack_spot(stack_spot *out, const spad_stack *stack,
                                    const stack_request *request, spad_error *error) {
    int64_t address = stack->sp;
    if (!settle_up(&address, request, stack->space)) return request_too_large(request, error);
    const int64_t end = address + request->bytes;
    if (!stack->automatic && end > stack->hp) {
        return spad__stack_no_fit(
            stack, SPAD_MODE_STACK, request->name, request->bytes, request->align,
            room_between(stack->sp, stack->hp, request->align, stack->space), error);
    }
    if (!in_limit(end)) return request_too_large(request, error);
    spad__assert(address >= stack->sp);
    spad__assert(!crosses_bank(request, stack->space, address));
    *out = (stack_spot){.address = address, .shown = address, .sp = end, .hp = stack->hp};
    return SPAD_OK;
}

/* The heap keeps off everything that is live on the stack: what is below
 * sp, and tensors of the round before in sections that will be entered again. */
static spad_status exact_heap_spot(stack_spot *out, const spad_stack *stack,
                                   const stack_request *request, spad_error *error) {
    const stack_scope *top = spad__stack_top(stack);
    const int64_t floor = top != NULL ? spad__max(stack->sp, top->shadow.high) : stack->sp;
    int64_t base = stack->hp - request->bytes;
    if (!settle_down(&base, request, stack->space)) return request_too_large(request, error);
    if (!stack->automatic && base < floor) {
        return spad__stack_no_fit(
            stack, SPAD_MODE_HEAP, request->name, request->bytes, request->align,
            room_between(floor, stack->hp, request->align, stack->space), error);
    }
    spad__assert(base <= stack->hp - request->bytes);
    spad__assert(!crosses_bank(request, stack->space, base));
    *out = (stack_spot){.address = base, .shown = base, .sp = stack->sp, .hp = base};
    return SPAD_OK;
}

/* The region of a manager that was made automatic may pass the space; addresses may not. */
static spad_status check_end(const spad_stack *stack, const stack_request *request, int64_t address,
                             spad_error *error) {
    if (address >= 0 && address <= stack->end - request->bytes) return SPAD_OK;
    const int64_t low = spad__max(stack->sp, 0);
    const int64_t high = spad__min(stack->hp, stack->end);
    return spad__stack_no_fit(stack, request->mode, request->name, request->bytes, request->align,
                              room_between(low, high, request->align, stack->space), error);
}

static spad_status find_spot(stack_spot *out, const spad_stack *stack, stack_request *request,
                             spad_error *error) {
    spad__assert(in_limit(stack->sp) && in_limit(stack->hp) && request->bytes >= 0);
    const bool on_stack = request->mode == SPAD_MODE_STACK;
    /* From here on, every sum of an address and the bytes fits 64 bits. */
    if (request->bytes > STACK_ADDRESS_LIMIT) return request_too_large(request, error);
    if (stack->behaviour != SPAD_STACK_EXACT) {
        return on_stack ? library_stack_spot(out, stack, request, error)
                        : library_heap_spot(out, stack, request, error);
    }
    spad_status status = join_alignment(request, stack->space, error);
    if (status == SPAD_OK) status = check_request_bank(request, stack->space, error);
    if (status != SPAD_OK) return status;
    status = on_stack ? exact_stack_spot(out, stack, request, error)
                      : exact_heap_spot(out, stack, request, error);
    if (status != SPAD_OK || stack->automatic) return status;
    return check_end(stack, request, out->address, error);
}

/* ---- no room ----------------------------------------------------------------------- */

/* Largest run of the region that no live tensor touches; SPAD_NO_FACT when there
 * is no host memory to find it. */
static int64_t largest_hole(const spad_stack *stack) {
    const size_t live = spad_stack_list_live(NULL, 0, stack);
    const size_t each = sizeof(spad_stack_tensor) + sizeof(spad__interval);
    if (live == 0) return spad__max(stack->upper - stack->lower, 0);
    spad_stack_tensor *tensors = spad__new_array(&stack->host, live, each);
    if (tensors == NULL) return SPAD_NO_FACT;
    spad__interval *intervals = (spad__interval *)(tensors + live);
    spad_stack_list_live(tensors, live, stack);
    size_t count = 0;
    for (size_t i = 0; i < live; i++) {
        const spad_rect rect = tensors[i].rect;
        if (rect.byte == SPAD_NO_BYTE) continue;
        intervals[count++] = (spad__interval){.begin = rect.byte, .end = rect.byte + rect.bytes};
    }
    int64_t at;
    const int64_t hole = spad__largest_gap(&at, intervals, count, stack->lower, stack->upper);
    spad__free(&stack->host, tensors, live * each);
    return hole;
}

/* "; largest live: weights 512 B, buf1 128 B", as many as there is room for */
static void list_largest_tensors(const spad_stack *stack, char *field, size_t size) {
    enum { LISTED = 3, NAME_SHOWN = 28 };
    spad_stack_tensor largest[LISTED];
    const size_t live = spad_stack_list_live(largest, LISTED, stack);
    size_t used = 0;
    field[0] = '\0';
    for (size_t i = 0; i < live && i < LISTED; i++) {
        char name[NAME_SHOWN];
        spad__copy_cut(name, sizeof name, largest[i].name != NULL ? largest[i].name : "(unnamed)");
        if (!spad__put_entry(field, size, &used, "%s%s %s B", i == 0 ? "; largest live: " : ", ",
                             name, spad__grouped(largest[i].rect.bytes).text)) {
            return;
        }
    }
}

/* The name as it would have been, cut to the field. */
static void prefixed_name(char *field, size_t size, const spad_stack *stack, const char *name) {
    if (name == NULL) {
        spad__copy_cut(field, size, "(unnamed)");
        return;
    }
    spad__copy_cut(field, size, stack->prefix);
    const size_t used = strlen(field);
    if (used + 1 < size) spad__copy_cut(field + used, size - used, name);
}

spad_status spad__stack_no_fit(const spad_stack *stack, spad_mode mode, const char *name,
                               int64_t bytes, int64_t align, int64_t available, spad_error *error) {
    if (error == NULL) return SPAD_ERR_NO_FIT;
    if (available < 0) available = 0;
    char shown[SPAD_NAME_FACT_MAX];
    char list[160];
    prefixed_name(shown, sizeof shown, stack, name);
    list_largest_tensors(stack, list, sizeof list);
    spad__fail(error, SPAD_ERR_NO_FIT,
               "%s: %s needs %s B per lane at alignment %s, %s of %s B are free%s; close "
               "a scope, pop the heap or use smaller tiles",
               mode_word(mode), shown, spad__grouped(bytes).text,
               spad__grouped(align == SPAD_ALIGN_DEFAULT ? 1 : align).text,
               spad__grouped(available).text, spad__grouped(stack->upper - stack->lower).text,
               list);
    spad__fact_names(error, name != NULL ? shown : NULL, NULL);
    spad__fact_amounts(error, bytes, available, largest_hole(stack));
    if (stack->trace != NULL) error->time = (int64_t)spad_trace_event_count(stack->trace);
    return SPAD_ERR_NO_FIT;
}

spad_status spad_stack_align(spad_stack *stack, int64_t align, spad_error *error) {
    const spad_status status = spad__stack_refuse_automatic(stack, "aligning the stack", error);
    if (status != SPAD_OK) return status;
    if (align < 1) {
        return spad__fail(error, SPAD_ERR_ALIGNMENT,
                          "an alignment of %lld B; it must be at least 1", (long long)align);
    }
    int64_t address;
    if (!spad__align_up(stack->sp, align, &address) || address > STACK_ADDRESS_LIMIT) {
        return spad__fail(error, SPAD_ERR_OVERFLOW,
                          "aligning %lld to %lld leads to an address beyond 2^60",
                          (long long)stack->sp, (long long)align);
    }
    if (stack->strict && address > stack->hp) {
        return spad__stack_no_fit(stack, SPAD_MODE_STACK, "alignment padding", address - stack->sp,
                                  align, stack->hp - stack->sp, error);
    }
    stack->sp = address;
    return SPAD_OK;
}

/* ---- names ------------------------------------------------------------------------- */

/* The stored name of the tensor (NULL: unnamed); *added: it is new. */
static spad_status take_name(const char **out, bool *added, spad_stack *stack, const char *name,
                             spad_error *error) {
    *out = NULL;
    *added = false;
    if (name == NULL) return SPAD_OK;
    const char *prefix = stack->prefix;
    *out = spad__names_find(&stack->names, prefix, name);
    if (*out != NULL && stack->strict && **out != '\0') {
        char shown[SPAD_NAME_FACT_MAX];
        spad__copy_cut(shown, sizeof shown, *out);
        spad__fail(error, SPAD_ERR_NAME,
                   "a tensor named '%s' exists or has existed; names are unique in a kernel, so "
                   "number it or set a prefix",
                   shown);
        spad__fact_names(error, *out, *out);
        return SPAD_ERR_NAME;
    }
    if (*out != NULL) return SPAD_OK;
    *out = spad__names_add(&stack->names, prefix, name);
    if (*out == NULL) return spad__fail_host_memory(error);
    *added = true;
    return SPAD_OK;
}

/* ---- overlaps across a wrap -------------------------------------------------------- */

static bool spans_touch(stack_span span, spad_rect rect) {
    return rect.byte < span.high && rect.byte + rect.bytes > span.low;
}

/* Visits the records of later sections that share bytes with rect; returns
 * how many there are. note: also adds them to the list, as far as it goes. */
static size_t find_overlaps(spad_stack *stack, spad_rect rect, const char *name, bool note) {
    size_t found = 0;
    for (size_t d = 0; d < stack->scopes.count; d++) {
        const stack_scope *scope = &stack->scopes.items[d];
        for (size_t i = (size_t)scope->section + 1; scope->wrapped && i < scope->entered; i++) {
            int64_t r = stack->sections.items[scope->first_section + i].newest;
            for (; r >= 0; r = stack->records.items[r].next) {
                const stack_record *older = &stack->records.items[r];
                if (older->rect.byte == SPAD_NO_BYTE) continue;
                if (!spad_rect_overlaps(older->rect, rect)) continue;
                found++;
                if (!note || stack->overlaps.count == SPAD_STACK_OVERLAPS_KEPT) continue;
                stack->overlaps.items[stack->overlaps.count++] =
                    (spad_stack_overlap){.newer = stack->tensor_count,
                                         .older = older->number,
                                         .newer_name = name,
                                         .older_name = older->name,
                                         .newer_rect = rect,
                                         .older_rect = older->rect};
            }
        }
    }
    return found;
}

/* ---- reserve, log, commit ---------------------------------------------------------- */

static spad_status reserve_room(spad_stack *stack, spad_mode mode, size_t overlaps,
                                spad_error *error) {
    const size_t list_room = SPAD_STACK_OVERLAPS_KEPT - stack->overlaps.count;
    if ((stack->free_record < 0 && !spad__array_reserve(&stack->host, &stack->records, 1)) ||
        (mode == SPAD_MODE_HEAP && !spad__array_reserve(&stack->host, &stack->heap, 1)) ||
        (overlaps > 0 && !spad__array_reserve(&stack->host, &stack->overlaps,
                                              overlaps < list_room ? overlaps : list_room))) {
        return spad__fail_host_memory(error);
    }
    return SPAD_OK;
}

static spad_status log_alloc(int64_t *out, spad_stack *stack, const stack_request *request,
                             const stack_record *record, int64_t shown, spad_error *error) {
    *out = -1;
    if (stack->trace == NULL) return SPAD_OK;
    const stack_scope *top = spad__stack_top(stack);
    const spad_tensor tensor = {
        .name = record->name,
        .shape = request->shape,
        .dtype = request->dtype,
        .mode = request->mode,
        .space = stack->space_number,
        .rect = record->rect,
        .scope = top != NULL ? top->traced : -1,
        .section = top != NULL ? top->section : 0,
        .list_shape = request->list_shape,
    };
    return spad_trace_alloc(out, stack->trace, &tensor, shown, error);
}

/* A place for a record; room must have been reserved. */
static inline int64_t take_record(spad_stack *stack) {
    const int64_t number = stack->free_record;
    spad__assert(number >= 0 || stack->records.count < stack->records.capacity);
    if (number < 0) return (int64_t)stack->records.count++;
    stack->free_record = stack->records.items[number].next;
    return number;
}

/* All three, after any allocation: the cursors also move between allocations, by
 * spad_stack_align and by the library's pop_heap. */
static void update_peaks(spad_stack *stack) {
    spad__assert(in_limit(stack->sp) && in_limit(stack->hp)); /* differences fit */
    const int64_t on_stack = stack->sp - stack->lower;
    const int64_t on_heap = stack->upper - stack->hp;
    spad_stack_stats *stats = &stack->stats;
    if (on_stack > stats->peak_stack) stats->peak_stack = on_stack;
    if (on_heap > stats->peak_heap) stats->peak_heap = on_heap;
    if (on_stack + on_heap > stats->peak_combined) stats->peak_combined = on_stack + on_heap;
    stack->quiet_top = stack->sp;
}

static inline void commit_stack(spad_stack *stack, stack_scope *top, int64_t number, int64_t end) {
    spad__assert(top == spad__stack_top(stack) && end >= top->start);
    stack_section *section = spad__stack_section(stack, top);
    stack->records.items[number].next = section->newest;
    if (section->newest == -1) section->oldest = number;
    section->newest = number;
    if (end > top->next_section) top->next_section = end;
    if (end > top->high) top->high = end;
    stack->sp = end;
    stack->tensor_count++;
    stack->stats.stack_allocations++;
    if (end > stack->quiet_top) update_peaks(stack);
}

static void commit_heap(spad_stack *stack, int64_t number, int64_t hp) {
    spad__assert(stack->heap.count < stack->heap.capacity);
    stack->heap.items[stack->heap.count++] = (stack_heap_entry){
        .record = number, .before = stack->hp, .bytes = stack->records.items[number].rect.bytes};
    stack->hp = hp;
    stack->tensor_count++;
    stack->stats.heap_allocations++;
    update_peaks(stack);
}

static spad_status place_request(spad_rect *out, spad_stack *stack, stack_request *request,
                                 spad_error *error) {
    stack_spot spot = {0};
    spad_status status = find_spot(&spot, stack, request, error);
    if (status != SPAD_OK) return status;
    stack_scope *top = spad__stack_top(stack);
    /* Here and not earlier: the library finds out that it is full before it misses a scope. */
    if (request->mode == SPAD_MODE_STACK && top == NULL) {
        spad__fail(error, SPAD_ERR_NO_SCOPE,
                   "alloc_stack needs an open scope; open one, or use alloc_heap");
        spad__fact_names(error, request->name, NULL);
        return SPAD_ERR_NO_SCOPE;
    }
    const bool has_address = !stack->automatic;
    stack_record record = {
        .number = stack->tensor_count,
        .rect = {.lane = request->base_lane,
                 .lanes = request->lanes,
                 .byte = has_address ? spot.address : SPAD_NO_BYTE,
                 .bytes = request->bytes},
    };
    const bool may_overlap =
        request->mode == SPAD_MODE_STACK && has_address && spans_touch(top->shadow, record.rect);
    const size_t overlaps = may_overlap ? find_overlaps(stack, record.rect, NULL, false) : 0;
    status = reserve_room(stack, request->mode, overlaps, error);
    if (status != SPAD_OK) return status;
    bool name_added;
    status = take_name(&record.name, &name_added, stack, request->name, error);
    if (status != SPAD_OK) return status;
    const bool shows_cursor = has_address || stack->behaviour != SPAD_STACK_EXACT;
    status = log_alloc(&record.traced, stack, request, &record,
                       shows_cursor ? spot.shown : SPAD_NO_BYTE, error);
    if (status != SPAD_OK) {
        if (name_added) spad__names_truncate(&stack->names, stack->names.names.count - 1);
        return status;
    }
    if (overlaps > 0) {
        find_overlaps(stack, record.rect, record.name, true);
        stack->overlap_count += (int64_t)overlaps;
    }
    const int64_t number = take_record(stack);
    stack->records.items[number] = record;
    if (request->mode == SPAD_MODE_STACK) {
        commit_stack(stack, top, number, spot.sp);
    } else {
        commit_heap(stack, number, spot.hp);
    }
    *out = record.rect;
    spad__assert_valid(stack->records.count + stack->scopes.count > SPAD__FEW ||
                       spad__stack_is_valid(stack));
    return SPAD_OK;
}

/* ---- the everyday request ---------------------------------------------------------- */

/* A tensor of whole bytes with no name and no constraints, in a manager and a space
 * without special rules, that fits and touches no older section: placed without
 * the decisions of the general way, with the same result. Everything else, errors
 * included, is left to that: false. */
static inline bool place_everyday(spad_rect *out, spad_stack *stack, spad_shape shape,
                                  spad_dtype dtype) {
    enum { FEW_DIMS = 4 };
    if (stack->scopes.count == 0 || stack->free_record < 0 || stack->automatic ||
        shape.rank - 1 >= FEW_DIMS || shape.dims[0] < 1 || shape.dims[0] > stack->everyday_lanes) {
        return false;
    }
    const int64_t element = spad__dtype_whole_bytes(dtype);
    int64_t bytes = element;
    for (size_t i = 1; i < shape.rank; i++) {
        if (shape.dims[i] < 0 || !spad__mul(bytes, shape.dims[i], &bytes)) return false;
    }
    stack_scope *top = &stack->scopes.items[stack->scopes.count - 1];
    const int64_t address = (stack->sp + element - 1) & -element; /* a power of two */
    spad__assert(element == 0 || spad__is_pow2(element));
    if (element == 0 || bytes > stack->hp - address) return false;
    const int64_t end = address + bytes;
    if (address < top->shadow.high && end > top->shadow.low) return false;
    const int64_t number = take_record(stack);
    stack_record *record = &stack->records.items[number];
    record->number = stack->tensor_count;
    record->traced = -1;
    record->name = NULL;
    record->rect.lane = out->lane = 0;
    record->rect.lanes = out->lanes = shape.dims[0];
    record->rect.byte = out->byte = address;
    record->rect.bytes = out->bytes = bytes;
    spad__assert(stack->sp <= address && end <= stack->hp);
    commit_stack(stack, top, number, end);
    return true;
}

/* ---- the calls --------------------------------------------------------------------- */

static const spad_rect no_rect = {.lane = 0, .lanes = 0, .byte = SPAD_NO_BYTE, .bytes = 0};

__attribute__((noinline)) static spad_status allocate_tensor(spad_rect *out, spad_stack *stack,
                                                             spad_mode mode, spad_shape shape,
                                                             spad_dtype dtype, const char *name,
                                                             const spad_stack_place *place,
                                                             spad_error *error) {
    *out = no_rect;
    stack_request request;
    const spad_status status =
        make_request(&request, stack, mode, shape, dtype, name, place, error);
    if (status != SPAD_OK) return status;
    return place_request(out, stack, &request, error);
}

spad_status spad_stack_alloc_stack(spad_rect *out, spad_stack *stack, spad_shape shape,
                                   spad_dtype dtype, const char *name,
                                   const spad_stack_place *place, spad_error *error) {
    if (name == NULL && place == NULL && place_everyday(out, stack, shape, dtype)) return SPAD_OK;
    return allocate_tensor(out, stack, SPAD_MODE_STACK, shape, dtype, name, place, error);
}

spad_status spad_stack_alloc_heap(spad_rect *out, spad_stack *stack, spad_shape shape,
                                  spad_dtype dtype, const char *name, const spad_stack_place *place,
                                  spad_error *error) {
    return allocate_tensor(out, stack, SPAD_MODE_HEAP, shape, dtype, name, place, error);
}

/* An off-chip tensor: checked and named, but not placed or counted. */
static spad_status alloc_off_chip(spad_rect *out, spad_stack *stack, spad_shape shape,
                                  spad_dtype dtype, const char *name, spad_error *error) {
    int64_t bytes;
    spad_status status = spad_shape_bytes(&bytes, shape, dtype, error);
    if (status != SPAD_OK) return status;
    const char *stored;
    bool added;
    status = take_name(&stored, &added, stack, name, error);
    if (status != SPAD_OK) return status;
    *out = (spad_rect){.lane = 0, .lanes = 1, .byte = SPAD_NO_BYTE, .bytes = bytes};
    return SPAD_OK;
}

spad_status spad_stack_alloc(spad_rect *out, spad_stack *stack, spad_shape shape, spad_dtype dtype,
                             const char *name, const spad_stack_place *place, spad_error *error) {
    if (place != NULL && place->space != NULL) {
        *out = no_rect;
        size_t number;
        const spad_status status =
            spad_target_find_space(&number, stack->target, place->space, error);
        if (status != SPAD_OK) return status;
        if (stack->target->spaces[number].off_chip && number != stack->space_number) {
            return alloc_off_chip(out, stack, shape, dtype, name, error);
        }
    }
    const spad_mode mode = stack->default_heap ? SPAD_MODE_HEAP : SPAD_MODE_STACK;
    return allocate_tensor(out, stack, mode, shape, dtype, name, place, error);
}
