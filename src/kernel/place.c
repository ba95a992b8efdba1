/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the tiles of a tensor are, and which bytes a part of a tile is. Pure
 * functions of the kernel; the builder has made sure that nothing overflows.
 */
#include "kernel/place.h"

#include "base/checked.h"

/* ---- tiles ------------------------------------------------------------------------- */

void spad__tile_index(const spad_kernel_tensor *tensor, int64_t tile, int64_t *index) {
    for (size_t i = tensor->blocks.count; i-- > 0;) {
        const int64_t extent = tensor->blocks.items[i].value;
        index[i] = tile % extent;
        tile /= extent;
    }
}

bool spad__barrier_space(const spad_kernel *kernel, size_t *space) {
    return spad_target_find_space(space, kernel->target, "shared", NULL) == SPAD_OK;
}

int64_t spad__mbarriers_of_block(const spad_kernel_sync *sync) {
    return sync->each_block ? sync->elements / sync->dims.items[0].value : sync->elements;
}

void spad__barrier_place(const spad_kernel *kernel, size_t sync, int64_t element, int64_t first,
                         size_t *space, int64_t *byte) {
    const int64_t each = spad__mbarriers_of_block(&kernel->syncs.items[sync]);
    const int64_t block = element / each;
    size_t base = 0;
    spad__barrier_space(kernel, &base);
    *space = base;
    *byte = first + element % each * SPAD_MBARRIER_BYTES;
    for (size_t i = 0; i < kernel->target->space_count && block > 0; i++) {
        const spad_space *row = &kernel->target->spaces[i];
        if (row->instance == block && row->instance_of == base) *space = i;
    }
}

/* NKI's linear function of a modulo allocation: the index modulo the counts, row-major
 * over the counts; without counts it is 0. */
static int64_t modulo(spad_amounts counts, const int64_t *index) {
    int64_t number = 0;
    for (size_t i = 0; i < counts.count; i++) {
        number = number * counts.items[i].value + index[i] % counts.items[i].value;
    }
    return number;
}

int64_t spad__tile_slot(const spad_kernel_tensor *tensor, int64_t tile, const int64_t *index) {
    if (tensor->ring.count == 0) return tile;
    if (tensor->ring.count == 1) return tile % tensor->ring.items[0].value;
    return modulo(tensor->ring, index);
}

/* NKI mod_alloc (neuronxcc.nki.compiler): lane, byte and bank are three functions of the
 * same index, each with its own counts. */
static void place_modulo(const spad_kernel_tensor *tensor, int64_t bank_bytes, const int64_t *index,
                         spad_rect *rect) {
    const int64_t bank = tensor->bank.value + modulo(tensor->banks, index);
    rect->lane = tensor->lane.value + modulo(tensor->par, index) * tensor->tile_lanes;
    rect->byte =
        bank * bank_bytes + tensor->byte.value + modulo(tensor->free, index) * tensor->tile_bytes;
}

bool spad__tile_place(const spad_kernel *kernel, const spad_kernel_tensor *tensor, int64_t tile,
                      const int64_t *index, spad_rect *rect) {
    const int64_t bank_bytes = kernel->target->spaces[tensor->space].bank_bytes;
    rect->lanes = tensor->tile_lanes;
    rect->bytes = tensor->tile_bytes;
    if (tensor->mode == SPAD_MODE_AT && tensor->steps.count > 0) {
        rect->lane = tensor->lane.value;
        rect->byte = tensor->bank.value * bank_bytes + tensor->byte.value;
        for (size_t d = 0; d < tensor->steps.count; d++) {
            const int64_t turn =
                tensor->ring.count > 0 ? index[d] % tensor->ring.items[d].value : index[d];
            rect->byte += turn * tensor->steps.items[d].value;
        }
        return true;
    }
    if (tensor->mode == SPAD_MODE_AT) {
        const int64_t step = tensor->step.value != 0 ? tensor->step.value : tensor->tile_bytes;
        rect->lane = tensor->lane.value;
        rect->byte = tensor->bank.value * bank_bytes + tensor->byte.value +
                     spad__tile_slot(tensor, tile, index) * step;
        return true;
    }
    if (tensor->mode == SPAD_MODE_MOD) {
        place_modulo(tensor, bank_bytes, index, rect);
        return true;
    }
    rect->lane = rect->byte = 0;
    return false;
}

/* ---- parts of tiles ---------------------------------------------------------------- */

/* Elements to bytes, downwards and upwards; types of less than a byte are packed. */
static int64_t bytes_down(int64_t elements, int bits) {
    return bits >= 8 ? elements * (bits / 8) : elements / (8 / bits);
}

static int64_t bytes_up(int64_t elements, int bits) {
    return bits >= 8 ? elements * (bits / 8) : elements / (8 / bits) + (elements % (8 / bits) != 0);
}

/* Walks the dims from the inside out. As long as they are whole, bytes stay in one piece;
 * the first that is cut or has a step ends the piece; further out, dims of one element add an
 * offset and the rest must repeat the piece at one stride. */
bool spad__part_of_tile(const spad_kernel_tensor *tensor, bool lanes_first,
                        const spad__dim_range *ranges, spad__part *part) {
    const int bits = spad_dtype_bits(tensor->dtype);
    const size_t outermost = lanes_first ? 1 : 0;
    int64_t size = 1;   /* elements of one step in this dim */
    int64_t offset = 0; /* all in elements */
    int64_t run = 1;
    int64_t runs = 1;
    int64_t stride = 0;
    for (size_t i = tensor->dims.count; i-- > outermost;) {
        const int64_t count = ranges[i].count;
        const int64_t distance = count > 1 ? size * ranges[i].step : 0; /* in the tile */
        offset += ranges[i].from * size;
        size *= tensor->dims.items[i].value;
        if (count == 1) continue;
        if (runs == 1 && distance == run) {
            run *= count;
        } else if (runs == 1) {
            runs = count;
            stride = distance;
        } else {
            if (distance != runs * stride) return false;
            runs *= count;
        }
    }
    const bool packed = bits < 8;
    if (packed && runs > 1 && stride % (8 / bits) != 0) return false;
    part->lane = lanes_first ? ranges[0].from : 0;
    part->lanes = lanes_first ? ranges[0].count : 1;
    part->byte = bytes_down(offset, bits);
    part->bytes = bytes_up(offset + run, bits) - part->byte;
    part->runs = runs;
    part->stride = bytes_down(stride, bits);
    return true;
}

bool spad__is_planned(const spad_kernel *kernel, const spad_kernel_tensor *tensor) {
    return tensor->mode == SPAD_MODE_AUTO && !kernel->target->spaces[tensor->space].off_chip;
}
