/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensors of a kernel: sizes, and what each placement mode asks for. Whether the
 * places fit and do not clash is not decided here: that is for the checks, which
 * can say more about it. Anything refused here has no meaning at all.
 *
 * An alias of an alias is reduced to the tensor that owns the bytes, so that
 * finding the place of a tile takes one step however long the chain is.
 */
#include <string.h>

#include "base/checked.h"
#include "base/text.h"
#include "kernel/kernel.h"
#include "kernel/place.h"

enum { SCOPED_TILES_MAX = 4096 }; /* tiles that one scoped declaration allocates */

static spad_status overflow(const char *what, spad_error *error) {
    return spad__fail(error, SPAD_ERR_OVERFLOW, "%s does not fit 64 bits", what);
}

static bool product(spad_amounts list, int64_t *out) {
    int64_t result = 1;
    for (size_t i = 0; i < list.count; i++) {
        if (!spad__mul(result, list.items[i].value, &result)) return false;
    }
    *out = result;
    return true;
}

/* ---- sizes ------------------------------------------------------------------------- */

static spad_status measure_tile(spad_kernel_tensor *tensor, const spad_space *space,
                                spad_error *error) {
    int64_t dims[SPAD_RANK_MAX];
    for (size_t i = 0; i < tensor->dims.count; i++) dims[i] = tensor->dims.items[i].value;
    const spad_shape shape = {tensor->dims.count, dims};
    if (space->lanes > 1) {
        return spad_tile_bytes(&tensor->tile_lanes, &tensor->tile_bytes, shape, tensor->dtype,
                               error);
    }
    tensor->tile_lanes = 1;
    return spad_shape_bytes(&tensor->tile_bytes, shape, tensor->dtype, error);
}

static spad_status measure(spad__kernel_builder *builder, spad_kernel_tensor *tensor,
                           spad_error *error) {
    const spad_target *target = builder->kernel->target;
    if (tensor->space >= target->space_count) {
        return spad__fail(error, SPAD_ERR_UNKNOWN, "no such space");
    }
    const spad_space *space = &target->spaces[tensor->space];
    spad_status status = spad__keep_amounts(builder, &tensor->blocks, 1, "an extent", error);
    if (status == SPAD_OK) {
        status = spad__keep_amounts(builder, &tensor->dims, 1, "an extent", error);
    }
    if (status != SPAD_OK) return status;
    if (tensor->dims.count == 0) {
        return spad__fail(error, SPAD_ERR_SHAPE, "a tile has at least one dimension");
    }
    status = measure_tile(tensor, space, error);
    if (status != SPAD_OK) return status;
    int64_t total;
    if (!product(tensor->blocks, &tensor->tiles) ||
        !spad__mul(tensor->tiles, tensor->tile_bytes, &total) ||
        !spad__mul(total, tensor->tile_lanes, &total)) {
        return overflow("the size of the tensor", error);
    }
    return SPAD_OK;
}

/* ---- placement --------------------------------------------------------------------- */

static spad_status settle_numbers(spad__kernel_builder *builder, spad_kernel_tensor *tensor,
                                  spad_error *error) {
    const struct {
        const char *what;
        spad_amount *amount;
    } numbers[] = {{"'at', 'base' or the offset", &tensor->byte},
                   {"'lane'", &tensor->lane},
                   {"'bank'", &tensor->bank},
                   {"'step'", &tensor->step},
                   {"'align'", &tensor->align},
                   {"'reused'", &tensor->reuse},
                   {"'near'", &tensor->near},
                   {"'cached'", &tensor->cached},
                   {"'of'", &tensor->cached_of},
                   {"'pieces'", &tensor->pieces}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        const spad_status status = spad__fold_amount(builder, numbers[i].amount, error);
        if (status != SPAD_OK) return status;
        if (numbers[i].amount->value < 0) {
            return spad__fail(error, SPAD_ERR_ARGUMENT, "%s is negative: %lld", numbers[i].what,
                              (long long)numbers[i].amount->value);
        }
    }
    return SPAD_OK;
}

/* Which numbers a mode has a use for; an unused one must not be given. */
static spad_status check_unused(const spad_kernel_tensor *tensor, spad_error *error) {
    const spad_mode mode = tensor->mode;
    const bool is_at = mode == SPAD_MODE_AT;
    const bool is_mod = mode == SPAD_MODE_MOD;
    const bool is_alias = mode == SPAD_MODE_ALIAS;
    const struct {
        const char *word;
        bool given;
        bool used;
    } numbers[] = {
        {"ring", tensor->ring.count > 0, mode == SPAD_MODE_AUTO || is_at || is_alias},
        {"base", tensor->byte.value > 0, is_at || is_mod || is_alias},
        {"bank", tensor->bank.value > 0, is_at || is_mod},
        {"step", tensor->step.value > 0 || tensor->steps.count > 0, is_at},
        {"lane", tensor->lane.value > 0, !is_alias},
        {"like", tensor->like > 0, mode == SPAD_MODE_AUTO},
        {"free", tensor->free.count > 0, is_mod},
        {"par", tensor->par.count > 0, is_mod},
        {"banks", tensor->banks.count > 0, is_mod},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (!numbers[i].given || numbers[i].used) continue;
        return spad__fail(error, SPAD_ERR_ARGUMENT, "'%s' does not go with '%s'", numbers[i].word,
                          spad_mode_name(mode));
    }
    return SPAD_OK;
}

/* A list of counts has one number per block dimension, or is left out. */
static spad_status keep_counts(spad__kernel_builder *builder, const spad_kernel_tensor *tensor,
                               spad_amounts *list, const char *what, spad_error *error) {
    if (list->count != 0 && list->count != tensor->blocks.count) {
        return spad__fail(error, SPAD_ERR_SHAPE,
                          "'%s' has %zu numbers, but the tensor has block rank %zu", what,
                          list->count, tensor->blocks.count);
    }
    return spad__keep_amounts(builder, list, 1, "a count", error);
}

static spad_status place_tensor_auto(spad__kernel_builder *builder, spad_kernel_tensor *tensor,
                                     spad_error *error) {
    tensor->slots = tensor->tiles;
    if (tensor->ring.count == 0) return SPAD_OK;
    if (tensor->blocks.count == 0) {
        return spad__fail(error, SPAD_ERR_SHAPE,
                          "a ring needs block dimensions: write [N] before the shape of a "
                          "tile");
    }
    const spad_status status = tensor->ring.count == 1
                                   ? spad__keep_amounts(builder, &tensor->ring, 1, "a ring", error)
                                   : keep_counts(builder, tensor, &tensor->ring, "ring", error);
    if (status != SPAD_OK) return status;
    int64_t total;
    if (!product(tensor->ring, &tensor->slots) ||
        !spad__mul(tensor->slots, tensor->tile_bytes, &total)) {
        return overflow("the size of the ring", error);
    }
    return SPAD_OK;
}

/* The first byte of a bank. */
static spad_status bank_start(const spad_space *space, int64_t bank, int64_t *byte,
                              spad_error *error) {
    *byte = 0;
    if (bank == 0) return SPAD_OK;
    if (space->bank_bytes == 0) {
        return spad__fail(error, SPAD_ERR_SPACE, "space '%s' has no banks", space->name);
    }
    return spad__mul(space->bank_bytes, bank, byte) ? SPAD_OK : overflow("a bank", error);
}

/* The address after the last one of a tensor with a step for each dimension. */
static spad_status place_by_steps(spad__kernel_builder *builder, spad_kernel_tensor *tensor,
                                  int64_t *last, spad_error *error) {
    if (tensor->steps.count != tensor->blocks.count ||
        (tensor->ring.count > 0 && tensor->ring.count != tensor->blocks.count)) {
        return spad__fail(error, SPAD_ERR_SHAPE,
                          "a list of steps, and the ring with it, has one number for each block "
                          "dimension: %zu",
                          tensor->blocks.count);
    }
    const spad_status status = spad__keep_amounts(builder, &tensor->steps, 0, "a step", error);
    if (status != SPAD_OK) return status;
    const spad_amounts counts = tensor->ring.count > 0 ? tensor->ring : tensor->blocks;
    *last = 0;
    for (size_t d = 0; d < counts.count; d++) {
        int64_t far;
        if (!spad__mul(counts.items[d].value, tensor->steps.items[d].value, &far) ||
            !spad__add(*last, far, last)) {
            return overflow("the address of the last tile", error);
        }
    }
    return SPAD_OK;
}

static spad_status place_at(spad__kernel_builder *builder, const spad_space *space,
                            spad_kernel_tensor *tensor, spad_error *error) {
    int64_t start = 0;
    int64_t last = 0;
    spad_status status = place_tensor_auto(builder, tensor, error); /* its slots */
    if (status == SPAD_OK) status = bank_start(space, tensor->bank.value, &start, error);
    if (status != SPAD_OK) return status;
    const int64_t step = tensor->step.value != 0 ? tensor->step.value : tensor->tile_bytes;
    if (tensor->steps.count > 0) {
        status = place_by_steps(builder, tensor, &last, error);
        if (status != SPAD_OK) return status;
    } else if (!spad__mul(tensor->slots, step, &last)) {
        return overflow("the address of the last tile", error);
    }
    if (!spad__add(last, start, &last) || !spad__add(last, tensor->byte.value, &last) ||
        !spad__add(last, tensor->tile_bytes, &last)) {
        return overflow("the address of the last tile", error);
    }
    return spad_space_check_lanes(space, tensor->lane.value, tensor->tile_lanes, error);
}

/* Every start lane that the ring across lanes uses. With a start-lane table the
 * first that is not in it ends the search, without one only the top matters. */
static spad_status check_tensor_ring_lanes(const spad_space *space,
                                           const spad_kernel_tensor *tensor, int64_t count,
                                           spad_error *error) {
    const int64_t lanes = tensor->tile_lanes;
    const int64_t first = space->lane_rule_count > 0 ? 0 : count - 1;
    for (int64_t i = first; i < count; i++) {
        int64_t lane;
        if (!spad__mul(i, lanes, &lane) || !spad__add(lane, tensor->lane.value, &lane)) {
            return overflow("a start lane", error);
        }
        const spad_status status = spad_space_check_lanes(space, lane, lanes, error);
        if (status != SPAD_OK) return status;
    }
    return SPAD_OK;
}

static spad_status place_mod(spad__kernel_builder *builder, const spad_space *space,
                             spad_kernel_tensor *tensor, spad_error *error) {
    int64_t frees;
    int64_t pars;
    int64_t banks;
    int64_t last_bank;
    int64_t start;
    int64_t last;
    tensor->slots = tensor->tiles;
    spad_status status = keep_counts(builder, tensor, &tensor->free, "free", error);
    if (status == SPAD_OK) status = keep_counts(builder, tensor, &tensor->par, "par", error);
    if (status == SPAD_OK) status = keep_counts(builder, tensor, &tensor->banks, "banks", error);
    if (status != SPAD_OK) return status;
    if (!product(tensor->free, &frees) || !product(tensor->par, &pars) ||
        !product(tensor->banks, &banks) || !spad__add(tensor->bank.value, banks - 1, &last_bank)) {
        return overflow("the number of tiles in a ring", error);
    }
    status = bank_start(space, last_bank, &start, error);
    if (status != SPAD_OK) return status;
    if (!spad__mul(frees, tensor->tile_bytes, &last) || !spad__add(last, start, &last) ||
        !spad__add(last, tensor->byte.value, &last)) {
        return overflow("the address of the last tile", error);
    }
    return check_tensor_ring_lanes(space, tensor, pars, error);
}

static spad_status place_scoped(const spad__kernel_builder *builder, const spad_space *space,
                                spad_kernel_tensor *tensor, spad_error *error) {
    tensor->slots = tensor->tiles;
    if (builder->kernel->agents.count > 1) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "a kernel with agents has no stack or heap tensors; use auto, ring, mod "
                          "or at");
    }
    if (space->off_chip) {
        return spad__fail(error, SPAD_ERR_SPACE, "space '%s' is off chip; it needs no manager",
                          space->name);
    }
    if (tensor->tiles > SCOPED_TILES_MAX) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "%s tiles are too many for one scoped "
                          "declaration: at most %d",
                          spad__grouped(tensor->tiles).text, SCOPED_TILES_MAX);
    }
    return spad_space_check_lanes(space, tensor->lane.value, tensor->tile_lanes, error);
}

/* Reduces an alias to the tensor that owns the bytes: `inside`: a tile of `other`
 * that holds all slots; else tile for tile. Offsets stay inside that tile, so the sums
 * fit. */
static void find_home(spad_kernel_tensor *tensor, const spad_kernel_tensor *other, bool inside) {
    tensor->home = other->home;
    tensor->home_step = tensor->tile_bytes;
    tensor->home_byte = tensor->byte.value;
    tensor->home_tile = inside ? tensor->alias_tile : -1;
    if (other->mode != SPAD_MODE_ALIAS) return;
    tensor->home_byte += other->home_byte;
    if (!inside) {
        tensor->home_tile = other->home_tile;
        tensor->home_step = other->home_step;
        tensor->slots = other->slots;
    } else if (other->home_tile >= 0) {
        tensor->home_byte += tensor->alias_tile % other->slots * other->home_step;
        tensor->home_tile = other->home_tile;
    }
}

static spad_status place_alias(spad__kernel_builder *builder, spad_kernel_tensor *tensor,
                               spad_error *error) {
    const spad_kernel *kernel = builder->kernel;
    const spad_status visible = spad__check_visible(builder, tensor->alias_of, error);
    if (visible != SPAD_OK) return visible;
    const spad_kernel_tensor *other = &kernel->tensors.items[tensor->alias_of];
    const bool inside = tensor->alias_tile >= 0 || other->blocks.count == 0;
    if (other->space != tensor->space) {
        return spad__fail(error, SPAD_ERR_SPACE,
                          "'%s' is in '%s'; an alias must be in the same space", other->name,
                          kernel->target->spaces[other->space].name);
    }
    tensor->slots = tensor->tiles;
    if (inside) {
        if (tensor->alias_tile < 0) tensor->alias_tile = 0;
        const spad_status status = place_tensor_auto(builder, tensor, error);
        if (status != SPAD_OK) return status;
        if (tensor->ring.count > 1) {
            return spad__fail(error, SPAD_ERR_ARGUMENT, "the ring of an alias is one number");
        }
        if (tensor->alias_tile >= other->tiles) {
            return spad__fail(error, SPAD_ERR_BOUNDS, "'%s' has %s tiles", other->name,
                              spad__grouped(other->tiles).text);
        }
    } else if (!spad__amounts_equal(tensor->blocks, other->blocks) || tensor->ring.count > 0) {
        return spad__fail(error, SPAD_ERR_SHAPE,
                          "an alias tile for tile has the block dimensions of '%s' and no ring; "
                          "or name the one tile that holds it: alias of %s[0]",
                          other->name, other->name);
    }
    int64_t bytes;
    if (!spad__mul(inside ? tensor->slots : 1, tensor->tile_bytes, &bytes) ||
        !spad__add(bytes, tensor->byte.value, &bytes)) {
        return overflow("the size of the alias", error);
    }
    if (bytes > other->tile_bytes || tensor->tile_lanes > other->tile_lanes) {
        spad__fail(error, SPAD_ERR_BOUNDS,
                   "%s lanes x %s bytes do not fit in a tile of '%s' of %s x %s",
                   spad__grouped(tensor->tile_lanes).text, spad__grouped(bytes).text, other->name,
                   spad__grouped(other->tile_lanes).text, spad__grouped(other->tile_bytes).text);
        spad__fact_amounts(error, bytes, other->tile_bytes, SPAD_NO_FACT);
        return SPAD_ERR_BOUNDS;
    }
    find_home(tensor, other, inside);
    return SPAD_OK;
}

/* The ring belongs to the other tensor, as the bytes do. */
static spad_status check_like(spad__kernel_builder *builder, spad_kernel_tensor *tensor,
                              spad_error *error) {
    const spad_kernel *kernel = builder->kernel;
    const spad_space *spaces = kernel->target->spaces;
    const spad_status visible = spad__check_visible(builder, tensor->like - 1, error);
    if (visible != SPAD_OK) return visible;
    const spad_kernel_tensor *other = &kernel->tensors.items[tensor->like - 1];
    const spad_space *space = &spaces[tensor->space];
    const size_t first = spad__first_instance(kernel->target, other->space);
    if (space->instance <= spaces[other->space].instance || space->instance_of != first) {
        return spad__fail(error, SPAD_ERR_SPACE,
                          "'%s' is in '%s'; a tensor like it is in a later instance of that space",
                          other->name, spaces[other->space].name);
    }
    if (other->mode != SPAD_MODE_AUTO || other->like != 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "the bytes of '%s' are not chosen by the planner; name a tensor whose "
                          "bytes are",
                          other->name);
    }
    if (!spad__amounts_equal(tensor->blocks, other->blocks) || tensor->ring.count > 0 ||
        tensor->tile_bytes != other->tile_bytes || tensor->tile_lanes != other->tile_lanes ||
        tensor->lane.value != other->lane.value || tensor->align.value != other->align.value) {
        return spad__fail(error, SPAD_ERR_SHAPE,
                          "a tensor like '%s' has the same tiles, 'lane' and 'align', and no ring "
                          "of its own",
                          other->name);
    }
    tensor->ring = other->ring;
    return SPAD_OK;
}

static spad_status place_tensor(spad__kernel_builder *builder, spad_kernel_tensor *tensor,
                                spad_error *error) {
    const spad_space *space = &builder->kernel->target->spaces[tensor->space];
    switch (tensor->mode) {
    case SPAD_MODE_AUTO: {
        spad_status status = tensor->like > 0 ? check_like(builder, tensor, error) : SPAD_OK;
        if (status == SPAD_OK) status = place_tensor_auto(builder, tensor, error);
        if (status != SPAD_OK) return status;
        return spad_space_check_lanes(space, tensor->lane.value, tensor->tile_lanes, error);
    }
    case SPAD_MODE_AT: return place_at(builder, space, tensor, error);
    case SPAD_MODE_MOD: return place_mod(builder, space, tensor, error);
    case SPAD_MODE_STACK:
    case SPAD_MODE_HEAP: return place_scoped(builder, space, tensor, error);
    case SPAD_MODE_ALIAS: return place_alias(builder, tensor, error);
    default:
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "tensors of a kernel are auto, at, mod, "
                          "stack, heap or alias");
    }
}

/* ---- the call ---------------------------------------------------------------------- */

/* Another depth that the caller gives to the ring; the last one counts. */
static void give_ring(spad__kernel_builder *builder, spad_kernel_tensor *tensor,
                      spad_amount *depth) {
    if (tensor->mode != SPAD_MODE_AUTO || tensor->blocks.count == 0 || tensor->name == NULL ||
        tensor->like != 0) {
        return;
    }
    for (size_t i = 0; i < builder->rings.count; i++) {
        if (strcmp(builder->rings.items[i].name, tensor->name) != 0) continue;
        builder->rings.items[i].used = true;
        *depth = (spad_amount){.value = builder->rings.items[i].value};
        tensor->ring = (spad_amounts){depth->value == 0 ? 0 : 1, depth};
    }
}

static bool in_scope(const spad__kernel_builder *builder) {
    for (size_t i = 0; i < builder->blocks.count; i++) {
        const size_t statement = builder->blocks.items[i].statement;
        if (builder->kernel->statements.items[statement].kind == SPAD_STATEMENT_SCOPE) return true;
    }
    return false;
}

spad_status spad__kernel_builder_tensor(int64_t *out, spad__kernel_builder *builder,
                                        const spad_kernel_tensor *tensor, spad_error *error) {
    spad_kernel *kernel = builder->kernel;
    *out = -1;
    spad_kernel_tensor row = *tensor;
    const int64_t number = (int64_t)kernel->tensors.count;
    if (row.mode == SPAD_MODE_STACK && !in_scope(builder)) {
        return spad__fail(error, SPAD_ERR_NO_SCOPE, "a stack tensor must be in a scope");
    }
    spad_amount depth;
    give_ring(builder, &row, &depth);
    row.home = number;
    row.proxy_align = 1;
    row.home_tile = -1;
    row.home_byte = row.home_step = 0;
    spad_status status = measure(builder, &row, error);
    if (status == SPAD_OK) status = settle_numbers(builder, &row, error);
    if (status == SPAD_OK) status = check_unused(&row, error);
    if (status == SPAD_OK) status = place_tensor(builder, &row, error);
    if (status != SPAD_OK) return status;
    if (!spad__array_reserve(&kernel->host, &kernel->tensors, 1)) {
        return spad__fail_host_memory(error);
    }
    spad_statement *statement = spad__new_statement(builder, SPAD_STATEMENT_TENSOR);
    if (statement == NULL) return spad__fail_host_memory(error);
    status = spad__add_symbol(builder, row.name, SPAD__SYMBOL_TENSOR, number, &row.name, error);
    if (status != SPAD_OK) return status;
    row.statement = kernel->statements.count;
    row.location = builder->location;
    kernel->tensors.items[kernel->tensors.count++] = row;
    statement->item = number;
    spad__add_statement(builder);
    if (row.mode == SPAD_MODE_STACK || row.mode == SPAD_MODE_HEAP) kernel->is_scoped = true;
    *out = number;
    return SPAD_OK;
}
