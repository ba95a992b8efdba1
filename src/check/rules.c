/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules of the chip: bounds and reserved bytes, start lanes, alignment, banks, granules.
 *
 * Places come from a formula over the index of a tile, so what can be wrong repeats: of a
 * tensor with any number of tiles it is enough to look at those with different rests by
 * the counts of its rings, at the extreme ones, and, for tiles in a row, at one period of
 * the banks. Scoped tensors are examined when they are placed. Aliases are in something
 * that was examined. Time: O(different places), at most PLACES_MAX per tensor.
 */
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "check/live_ranges.h"
#include "check/passes.h"
#include "kernel/place.h"

enum { PLACES_MAX = 1 << 16 };

static const char too_many[] = "a tensor has more places than the rule check covers";

/* ---- one place --------------------------------------------------------------------- */

static spad_status check_lanes(spad__run *run, int64_t tensor, const char *tile, spad_rect rect,
                               spad_error *error) {
    const spad_kernel_tensor *row = &run->kernel->tensors.items[tensor];
    const spad_space *space = &run->kernel->target->spaces[row->space];
    spad_error fault;
    spad_finding finding;
    if (spad_space_check_lanes(space, rect.lane, rect.lanes, &fault) == SPAD_OK) return SPAD_OK;
    const bool outside = rect.lane < 0 || rect.lane > space->lanes - rect.lanes;
    spad__finding_init(&finding, outside ? SPAD_FINDING_OUT_OF_SPACE : SPAD_FINDING_START_LANE,
                       "%s: %s", tile, fault.message);
    return spad__add_about(run, &finding, tensor, error);
}

static spad_status check_rect_bytes(spad__run *run, int64_t tensor, const char *tile,
                                    spad_rect rect, spad_error *error) {
    const spad_kernel_tensor *row = &run->kernel->tensors.items[tensor];
    const spad_space *space = &run->kernel->target->spaces[row->space];
    const int64_t usable = spad_space_get_usable(space);
    spad_finding finding;
    if (rect.byte >= 0 && (usable == SPAD_UNBOUNDED || rect.byte <= usable - rect.bytes)) {
        return SPAD_OK;
    }
    char reserved[96] = "";
    if (space->reserved > 0) {
        snprintf(reserved, sizeof reserved, " and reserves %s after them",
                 spad__grouped(space->reserved).text);
    }
    spad__finding_init(
        &finding, SPAD_FINDING_OUT_OF_SPACE,
        "%s takes bytes [%s, %s) of %s, which has %s for tensors%s; move it, make it "
        "smaller, or use fewer slots",
        tile, spad__grouped(rect.byte).text, spad__grouped(rect.byte + rect.bytes).text,
        space->name, spad__grouped(usable).text, reserved);
    return spad__add_about(run, &finding, tensor, error);
}

/* Elements of a space without lanes are addressed by themselves: CUDA and CANN want them at
 * multiples of their size. */
static int64_t alignment_of(const spad_kernel *k, const spad_kernel_tensor *row) {
    const spad_space *space = &k->target->spaces[row->space];
    const int64_t element = (spad_dtype_bits(row->dtype) + 7) / 8;
    int64_t align = spad__max(space->alignment, row->align.value);
    if (space->lanes == 1 && spad__is_pow2(element)) align = spad__max(align, element);
    return align;
}

/* NKI: a bank of PSUM holds one tile of a modulo tensor, from byte 0 and lane 0, as in direct
 * placement. Tiles that are placed one by one, or by the planner, may share one. */
static spad_status check_bank_start(spad__run *run, int64_t tensor, const char *tile,
                                    spad_rect rect, spad_error *error) {
    const spad_kernel_tensor *row = &run->kernel->tensors.items[tensor];
    const spad_space *space = &run->kernel->target->spaces[row->space];
    const int64_t inside = spad__floor_mod(rect.byte, space->bank_bytes);
    if (row->mode != SPAD_MODE_MOD || strcmp(run->kernel->target->family, "neuron") != 0) {
        return SPAD_OK;
    }
    if (inside == 0 && rect.lane == 0) return SPAD_OK;
    spad_finding finding;
    spad__finding_init(
        &finding, SPAD_FINDING_BANK_START,
        "%s starts at byte %s and lane %s of a bank of %s, which holds one tile, from "
        "byte 0 and lane 0; give each tile a bank of its own",
        tile, spad__grouped(inside).text, spad__grouped(rect.lane).text, space->name);
    return spad__add_about(run, &finding, tensor, error);
}

static spad_status check_address(spad__run *run, int64_t tensor, const char *tile, spad_rect rect,
                                 spad_error *error) {
    const spad_kernel_tensor *row = &run->kernel->tensors.items[tensor];
    const spad_space *space = &run->kernel->target->spaces[row->space];
    const int64_t align = alignment_of(run->kernel, row);
    const int64_t bank = space->bank_bytes;
    spad_status status = SPAD_OK;
    spad_finding finding;
    if (spad__floor_mod(rect.byte, align) != 0) {
        spad__finding_init(&finding, SPAD_FINDING_MISALIGNED,
                           "%s starts at byte %s of %s, which is not a multiple of %s; try %lld",
                           tile, spad__grouped(rect.byte).text, space->name,
                           spad__grouped(align).text,
                           (long long)(rect.byte - spad__floor_mod(rect.byte, align) + align));
        status = spad__add_about(run, &finding, tensor, error);
    }
    if (status != SPAD_OK || !space->banks_exclusive || bank <= 0) return status;
    if (spad__floor_div(rect.byte, bank) != spad__floor_div(rect.byte + rect.bytes - 1, bank)) {
        spad__finding_init(
            &finding, SPAD_FINDING_BANK_CROSSED,
            "%s takes bytes [%s, %s) of %s and crosses the boundary of a bank of %s; "
            "start it at a bank, or cut it in pieces of at most %s bytes",
            tile, spad__grouped(rect.byte).text, spad__grouped(rect.byte + rect.bytes).text,
            space->name, spad__grouped(bank).text, spad__grouped(bank).text);
        return spad__add_about(run, &finding, tensor, error);
    }
    return check_bank_start(run, tensor, tile, rect, error);
}

spad_status spad__check_place(spad__run *run, int64_t tensor, int64_t tile, spad_rect rect,
                              spad_error *error) {
    char text[SPAD__TILE_TEXT_MAX];
    spad__tile_text(run->kernel, tensor, tile, text, sizeof text);
    spad_status status = check_lanes(run, tensor, text, rect, error);
    if (status == SPAD_OK) status = check_rect_bytes(run, tensor, text, rect, error);
    if (status == SPAD_OK) status = check_address(run, tensor, text, rect, error);
    return status;
}

/* The start-lane table also holds for operands of all engines, except those that transfer. */
spad_status spad__check_operand(spad__run *run, int64_t statement, const spad_walk_access *access,
                                spad_error *error) {
    const spad_kernel *k = run->kernel;
    const spad_statement *s = &k->statements.items[statement];
    const spad_kernel_tensor *row = &k->tensors.items[access->tensor];
    const spad_space *space = &k->target->spaces[row->space];
    spad_error fault;
    if (space->lane_rule_count == 0 || k->target->engines[s->engine].bytes_per_us > 0 ||
        spad_space_check_lanes(space, access->rect.lane, access->rect.lanes, &fault) == SPAD_OK ||
        spad__count_finding(run, SPAD_FINDING_START_LANE, SPAD_SEVERITY_ERROR, statement, -1)) {
        return SPAD_OK;
    }
    const spad_location location = k->accesses.items[access->row].location;
    spad_finding finding;
    spad__finding_init(&finding, SPAD_FINDING_START_LANE, "%s touches part of '%s': %s", s->name,
                       row->name, fault.message);
    spad__finding_set_names(&finding, row->name, NULL);
    spad__point_finding(&finding, location);
    finding.number = access->tensor;
    return spad__add_finding(run, &finding, statement, -1, error);
}

/* An access through the async proxy starts at a multiple that the engine needs. A
 * slot without a place is aligned when it gets one: the access is relative to its start then. */
spad_status spad__check_proxy(spad__run *run, int64_t statement, const spad_walk_access *access,
                              spad_error *error) {
    const spad_kernel *k = run->kernel;
    const spad_statement *s = &k->statements.items[statement];
    const spad_kernel_tensor *row = &k->tensors.items[access->tensor];
    const int64_t align = s->unit >= 0 && k->units.items[s->unit].proxy
                              ? k->target->engines[s->engine].proxy_align
                              : 0;
    if (align <= 1 || k->target->spaces[row->space].off_chip ||
        spad__floor_mod(access->rect.byte, align) == 0 ||
        spad__count_finding(run, SPAD_FINDING_MISALIGNED, SPAD_SEVERITY_ERROR, statement, -1)) {
        return SPAD_OK;
    }
    char tile[SPAD__TILE_TEXT_MAX];
    spad_finding finding;
    spad__tile_text(k, access->tensor, access->tile, tile, sizeof tile);
    spad__finding_init(&finding, SPAD_FINDING_MISALIGNED,
                       "%s accesses %s at byte %s of %s%s, and '%s' needs a multiple of %s",
                       s->name, tile, spad__grouped(access->rect.byte).text,
                       access->placed ? "" : "its slot in ", k->target->spaces[row->space].name,
                       k->units.items[s->unit].name, spad__grouped(align).text);
    spad__finding_set_names(&finding, row->name, NULL);
    spad__point_finding(&finding, k->accesses.items[access->row].location);
    finding.number = access->tensor;
    return spad__add_finding(run, &finding, statement, -1, error);
}

/* ---- tiles by formula -------------------------------------------------------------- */

static spad_status check_index(spad__run *run, int64_t tensor, const int64_t *index,
                               spad_error *error) {
    const spad_kernel_tensor *row = &run->kernel->tensors.items[tensor];
    int64_t tile = 0;
    spad_rect rect;
    for (size_t d = 0; d < row->blocks.count; d++) {
        tile = tile * row->blocks.items[d].value + index[d];
    }
    spad__tile_place(run->kernel, row, tile, index, &rect);
    return spad__check_place(run, tensor, tile, rect, error);
}

/* Tiles with a step for each dimension: all places. */
static spad_status check_steps(spad__run *run, int64_t tensor, spad_error *error) {
    const spad_kernel_tensor *row = &run->kernel->tensors.items[tensor];
    int64_t index[SPAD_RANK_MAX] = {0};
    int64_t counts[SPAD_RANK_MAX];
    int64_t places = 1;
    for (size_t d = 0; d < row->blocks.count; d++) {
        counts[d] = row->blocks.items[d].value;
        if (row->ring.count > 0) counts[d] = spad__min(counts[d], row->ring.items[d].value);
        if (places <= PLACES_MAX && !spad__mul(places, counts[d], &places)) places = INT64_MAX;
    }
    if (places > PLACES_MAX) run->gap = too_many;
    spad_status status = SPAD_OK;
    for (int64_t i = 0; i < spad__min(places, PLACES_MAX) && status == SPAD_OK; i++) {
        int64_t rest = i;
        for (size_t d = row->blocks.count; d-- > 0; rest /= counts[d]) index[d] = rest % counts[d];
        status = check_index(run, tensor, index, error);
    }
    return status;
}

/* Tiles in a row: the first ones, for as long as banks do not repeat, and the last. */
static spad_status check_row(spad__run *run, int64_t tensor, spad_error *error) {
    const spad_kernel_tensor *row = &run->kernel->tensors.items[tensor];
    const spad_space *space = &run->kernel->target->spaces[row->space];
    const int64_t step = row->step.value != 0 ? row->step.value : row->tile_bytes;
    int64_t period = 2; /* the second one shows whether steps are aligned */
    if (space->banks_exclusive && space->bank_bytes > 0) {
        period = spad__max(period, space->bank_bytes /
                                       spad__gcd(step % space->bank_bytes, space->bank_bytes));
    }
    const int64_t places = spad__min(row->slots, row->tiles); /* of a ring by index, some of them */
    if (spad__min(period, places) > PLACES_MAX) run->gap = too_many;
    const int64_t count = spad__min(spad__min(period, places), PLACES_MAX);
    int64_t index[SPAD_RANK_MAX];
    spad_status status = SPAD_OK;
    for (int64_t i = 0; i < count && status == SPAD_OK; i++) {
        spad__tile_index(row, i, index);
        status = check_index(run, tensor, index, error);
    }
    if (count == row->tiles || status != SPAD_OK) return status;
    spad__tile_index(row, row->ring.count == 1 ? places - 1 : row->tiles - 1, index);
    return check_index(run, tensor, index, error);
}

/* How many indices of a dimension differ in their rests; at most its extent. */
static int64_t different(const spad_kernel_tensor *row, size_t dim) {
    const spad_amounts lists[] = {row->free, row->par, row->banks};
    const int64_t extent = row->blocks.items[dim].value;
    int64_t all = 1;
    for (size_t l = 0; l < sizeof lists / sizeof lists[0]; l++) {
        if (dim >= lists[l].count) continue;
        if (!spad__lcm(all, lists[l].items[dim].value, &all) || all >= extent) return extent;
    }
    return all;
}

/* The tile that is furthest along one of the lists. */
static spad_status check_furthest(spad__run *run, int64_t tensor, spad_amounts list,
                                  spad_error *error) {
    const spad_kernel_tensor *row = &run->kernel->tensors.items[tensor];
    int64_t index[SPAD_RANK_MAX] = {0};
    for (size_t d = 0; d < list.count; d++) {
        index[d] = spad__min(row->blocks.items[d].value, list.items[d].value) - 1;
    }
    return check_index(run, tensor, index, error);
}

static spad_status check_modulo(spad__run *run, int64_t tensor, spad_error *error) {
    const spad_kernel_tensor *row = &run->kernel->tensors.items[tensor];
    int64_t counts[SPAD_RANK_MAX];
    int64_t index[SPAD_RANK_MAX] = {0};
    for (size_t d = 0; d < row->blocks.count; d++) counts[d] = different(row, d);
    spad_status status = SPAD_OK;
    for (int64_t looked = 0; status == SPAD_OK; looked++) {
        if (looked == PLACES_MAX) {
            run->gap = too_many;
            status = check_furthest(run, tensor, row->free, error);
            if (status == SPAD_OK) status = check_furthest(run, tensor, row->par, error);
            return status == SPAD_OK ? check_furthest(run, tensor, row->banks, error) : status;
        }
        status = check_index(run, tensor, index, error);
        size_t d = row->blocks.count; /* count on, last dimension first */
        while (d > 0 && ++index[d - 1] == counts[d - 1]) index[--d] = 0;
        if (d == 0) break;
    }
    return status;
}

/* ---- tiles by the planner ---------------------------------------------------------- */

/* Whatever the planner does: a tile must fit in the space, and in a bank. */
static spad_status check_size(spad__run *run, int64_t tensor, spad_error *error) {
    const spad_kernel_tensor *row = &run->kernel->tensors.items[tensor];
    return spad__check_place(
        run, tensor, 0, (spad_rect){.lanes = row->tile_lanes, .bytes = row->tile_bytes}, error);
}

static spad_status check_planned(spad__run *run, int64_t tensor, spad_error *error) {
    const spad_kernel_tensor *row = &run->kernel->tensors.items[tensor];
    spad_status status = SPAD_OK;
    for (int64_t slot = 0; slot < row->slots && status == SPAD_OK; slot++) {
        spad_rect rect = {.lanes = row->tile_lanes, .bytes = row->tile_bytes};
        if (slot == PLACES_MAX) {
            run->gap = too_many;
            break;
        }
        if (!spad_layout_get_place(&rect, run->options->layout, tensor, slot)) continue;
        rect.lanes = row->tile_lanes;
        rect.bytes = row->tile_bytes;
        status = spad__check_place(run, tensor, spad__min(slot, row->tiles - 1), rect, error);
    }
    return status;
}

/* ---- sizes ------------------------------------------------------------------------- */

static bool has_alloc(const spad_kernel *k, int64_t tensor) {
    for (size_t i = 0; i < k->statements.count; i++) {
        const spad_statement *s = &k->statements.items[i];
        if (s->kind == SPAD_STATEMENT_ALLOC && s->item == tensor) return true;
    }
    return false;
}

/* Has a modulo tensor places one after another in its lanes? */
static bool has_neighbours(const spad_kernel_tensor *row) {
    for (size_t d = 0; d < row->free.count; d++) {
        if (row->free.items[d].value > 1 && row->blocks.items[d].value > 1) return true;
    }
    return false;
}

/* The least distance of two tiles that a kernel places in a row. */
static int64_t least_step(const spad_kernel_tensor *row) {
    int64_t step = row->step.value != 0 ? row->step.value : row->tile_bytes;
    for (size_t d = 0; d < row->steps.count; d++) {
        const int64_t own = row->steps.items[d].value;
        if (own > 0 && (d == 0 || own < step)) step = own;
    }
    return step;
}

/* Does a kernel place tiles of a tensor one after another? */
static bool is_in_a_row(const spad_kernel_tensor *row) {
    return (row->mode == SPAD_MODE_AT && spad__min(row->slots, row->tiles) > 1) ||
           (row->mode == SPAD_MODE_MOD && has_neighbours(row));
}

/* Memory that a kernel asks for with `alloc` comes in whole granules, or powers of two of
 * them; and tiles in a row that the kernel places itself must leave room for that. */
static spad_status check_granules(spad__run *run, int64_t tensor, spad_error *error) {
    const spad_kernel_tensor *row = &run->kernel->tensors.items[tensor];
    const spad_space *space = &run->kernel->target->spaces[row->space];
    int64_t rounded;
    if (spad_space_round(&rounded, space, row->tile_bytes, NULL) != SPAD_OK) return SPAD_OK;
    if (rounded == row->tile_bytes) return SPAD_OK;
    const bool close = is_in_a_row(row) && !space->power_of_two && least_step(row) < rounded;
    if (!close && !has_alloc(run->kernel, tensor)) return SPAD_OK;
    spad_finding finding;
    spad__finding_init(&finding, SPAD_FINDING_GRANULE,
                       "a tile of '%s' has %s bytes, and %s hands out %s%s for it; %s", row->name,
                       spad__grouped(row->tile_bytes).text, space->name,
                       spad__grouped(rounded).text, space->power_of_two ? " (powers of two)" : "",
                       close && row->mode == SPAD_MODE_AT ? "give it a larger step"
                                                          : "make it that large");
    return spad__add_about(run, &finding, tensor, error);
}

/* ---- all tensors ------------------------------------------------------------------- */

static spad_status check_tensor(spad__run *run, int64_t tensor, spad_error *error) {
    const spad_kernel_tensor *row = &run->kernel->tensors.items[tensor];
    switch (row->mode) {
    case SPAD_MODE_AT:
        return row->steps.count > 0 ? check_steps(run, tensor, error)
                                    : check_row(run, tensor, error);
    case SPAD_MODE_MOD: return check_modulo(run, tensor, error);
    case SPAD_MODE_AUTO:
        return run->options->layout != NULL ? check_planned(run, tensor, error)
                                            : check_size(run, tensor, error);
    default: return SPAD_OK;
    }
}

/* An mbarrier with a place is in shared memory, at a multiple of its size [PTX ISA, mbarrier]. */
static spad_status check_barrier_place(spad__run *run, size_t number, size_t space,
                                       spad_error *error) {
    const spad_kernel_sync *sync = &run->kernel->syncs.items[number];
    const spad_space *rules = &run->kernel->target->spaces[space];
    const int64_t usable = spad_space_get_usable(rules);
    const int64_t end = sync->byte.value + spad__mbarriers_of_block(sync) * SPAD_MBARRIER_BYTES;
    const int64_t rest = sync->byte.value % SPAD_MBARRIER_BYTES;
    spad_finding finding;
    spad_status status = SPAD_OK;
    if (usable != SPAD_UNBOUNDED && end > usable) {
        spad__finding_init(&finding, SPAD_FINDING_OUT_OF_SPACE,
                           "'%s' takes bytes [%s, %s) of %s, which has %s; move it", sync->name,
                           spad__grouped(sync->byte.value).text, spad__grouped(end).text,
                           rules->name, spad__grouped(usable).text);
        status = spad__add_about_sync(run, &finding, number, error);
    }
    if (status != SPAD_OK || rest == 0) return status;
    spad__finding_init(&finding, SPAD_FINDING_MISALIGNED,
                       "'%s' starts at byte %s of %s, and an mbarrier needs a multiple of %d; try "
                       "%lld",
                       sync->name, spad__grouped(sync->byte.value).text, rules->name,
                       SPAD_MBARRIER_BYTES,
                       (long long)(sync->byte.value - rest + SPAD_MBARRIER_BYTES));
    return spad__add_about_sync(run, &finding, number, error);
}

static spad_status check_barrier_places(spad__run *run, spad_error *error) {
    const spad_kernel *k = run->kernel;
    size_t space;
    spad_status status = SPAD_OK;
    if (!spad__barrier_space(k, &space)) return SPAD_OK;
    for (size_t i = 0; i < k->syncs.count && status == SPAD_OK; i++) {
        if (k->syncs.items[i].placed) status = check_barrier_place(run, i, space, error);
    }
    return status;
}

spad_status spad__check_rules(spad__run *run, spad_error *error) {
    const spad_kernel *k = run->kernel;
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < k->tensors.count && status == SPAD_OK; i++) {
        const spad_kernel_tensor *row = &k->tensors.items[i];
        if (row->mode == SPAD_MODE_ALIAS || k->target->spaces[row->space].off_chip) continue;
        status = check_tensor(run, (int64_t)i, error);
        if (status == SPAD_OK) status = check_granules(run, (int64_t)i, error);
    }
    if (status == SPAD_OK) status = check_barrier_places(run, error);
    return status == SPAD_OK ? spad__check_limits(run, error) : status;
}
