/* SPDX-License-Identifier: Apache-2.0
 *
 * Which tensors the lifetime check follows, from how the kernel uses them; before the walk, in
 * O(accesses + statements + tensors x those with `alloc` or `free`). Left out are tensors that
 * cannot be wrong: inputs that are never written and what is never read, with storage of their
 * own. Tiles that `alloc` and `free` name, and those of outputs whose bytes others can have, get a
 * table per tile here.
 */
#include "check/live_ranges.h"

/* How a tensor is used; and, of what owns storage, how any of its names is. */
typedef struct life_use {
    bool read;
    bool wants; /* read, and not input */
    bool written;
    bool output;
    bool alias;
    int inputs; /* names that are */
} life_use;

/* Ring over the number of a tile: a conflict in it can be counted in slots. */
static int64_t ring_of(const spad_kernel_tensor *tensor) {
    if (tensor->mode != SPAD_MODE_ALIAS && tensor->ring.count == 1) {
        return tensor->ring.items[0].value;
    }
    if (tensor->mode != SPAD_MODE_MOD || tensor->blocks.count != 1) return 0;
    if (tensor->free.count + tensor->par.count + tensor->banks.count != 1) return 0;
    const spad_amounts list = tensor->free.count > 0  ? tensor->free
                              : tensor->par.count > 0 ? tensor->par
                                                      : tensor->banks;
    return list.items[0].value;
}

bool spad__liveness_is_private(const spad__liveness *live, const spad_kernel_tensor *home) {
    if (home->mode != SPAD_MODE_AUTO) return false;
    return live->run->options->layout == NULL || live->kernel->target->spaces[home->space].off_chip;
}

static void mark_uses(const spad_kernel *k, life_use *own, life_use *family) {
    for (size_t i = 0; i < k->accesses.count; i++) {
        const spad_kernel_access *access = &k->accesses.items[i];
        own[access->tensor].read |= (access->kind & SPAD_ACCESS_READ) != 0;
        own[access->tensor].written |= (access->kind & SPAD_ACCESS_WRITE) != 0;
    }
    for (size_t i = 0; i < k->tensors.count; i++) {
        const spad_kernel_tensor *tensor = &k->tensors.items[i];
        const bool input = (tensor->flags & SPAD_TENSOR_INPUT) != 0;
        life_use *all = &family[tensor->home];
        all->read |= own[i].read;
        all->wants |= own[i].read && !input;
        all->written |= own[i].written;
        all->output |= (tensor->flags & SPAD_TENSOR_OUTPUT) != 0;
        all->alias |= tensor->home != (int64_t)i;
        all->inputs += input;
        own[i].written |= input;
    }
}

/* Can what its names read be wrong? */
static bool can_be_wrong(const spad__liveness *live, const spad_kernel_tensor *home,
                         const life_use *all) {
    if (!spad__liveness_is_private(live, home)) return true;
    if (all->output && (all->alias || home->slots < home->tiles)) return true;
    if (all->inputs > 1 || (all->inputs > 0 && home->slots < home->tiles)) return true;
    return all->wants || (all->read && all->written);
}

static void sort_tensors(spad__liveness *live, const life_use *own, const life_use *family) {
    const spad_kernel *k = live->kernel;
    for (size_t i = 0; i < k->tensors.count; i++) {
        const spad_kernel_tensor *tensor = &k->tensors.items[i];
        const life_use *all = &family[tensor->home];
        spad__liveness_tensor *state = &live->tensors[i];
        state->ring = ring_of(tensor);
        state->newest = -1;
        state->view = !own[i].written && (tensor->home != (int64_t)i || all->written);
        state->read = all->read;
        state->empty = !all->written && all->inputs == 0 &&
                       k->tensors.items[tensor->home].mode == SPAD_MODE_AUTO;
        state->tracked = can_be_wrong(live, &k->tensors.items[tensor->home], all);
        if ((tensor->flags & SPAD_TENSOR_INPUT) != 0) live->tensors[tensor->home].given = true;
    }
}

static spad_status mark_tensors(spad__liveness *live, spad_error *error) {
    const size_t count = live->kernel->tensors.count;
    if (count == 0) return SPAD_OK;
    life_use *uses = spad__new_array(&live->host, count, 2 * sizeof *uses);
    if (uses == NULL) return spad__fail_host_memory(error);
    mark_uses(live->kernel, uses, uses + count);
    sort_tensors(live, uses, uses + count);
    spad__free(&live->host, uses, 2 * count * sizeof *uses);
    return SPAD_OK;
}

static void track_storage(spad__liveness *live, int64_t home) {
    for (size_t i = 0; i < live->kernel->tensors.count; i++) {
        if (live->kernel->tensors.items[i].home == home) live->tensors[i].tracked = true;
    }
}

/* Tensors that `alloc` and `free` are about have a byte per tile. */
static spad_status find_managed(spad__liveness *live, spad_error *error) {
    const spad_kernel *k = live->kernel;
    for (size_t i = 0; i < k->statements.count; i++) {
        const spad_statement *s = &k->statements.items[i];
        const bool allocates = s->kind == SPAD_STATEMENT_ALLOC;
        if (!allocates && s->kind != SPAD_STATEMENT_FREE) continue;
        const spad_kernel_tensor *tensor = &k->tensors.items[s->item];
        spad__liveness_tensor *state = &live->tensors[s->item];
        if (tensor->mode == SPAD_MODE_HEAP && s->index_count == 0) continue;
        if (tensor->tiles > SPAD__LIVE_TILES) {
            live->run->gap = "a tensor with alloc and free has more than 2^24 tiles";
            continue;
        }
        if (state->dead == NULL) {
            state->dead = spad__new_array(&live->host, (size_t)tensor->tiles, 1);
            state->births =
                spad__new_array(&live->host, (size_t)tensor->tiles, sizeof *state->births);
            if (state->dead == NULL || state->births == NULL) {
                return spad__fail_host_memory(error);
            }
            track_storage(live, s->item);
        }
        state->allocated |= allocates;
    }
    return SPAD_OK;
}

/* Outputs whose bytes others can have: which of their tiles were written? */
static spad_status find_outputs(spad__liveness *live, spad_error *error) {
    for (size_t i = 0; i < live->kernel->tensors.count; i++) {
        const spad_kernel_tensor *tensor = &live->kernel->tensors.items[i];
        spad__liveness_tensor *state = &live->tensors[i];
        if ((tensor->flags & SPAD_TENSOR_OUTPUT) == 0 || !state->tracked) continue;
        if (tensor->tiles > SPAD__OUTPUT_TILES) {
            live->run->gap = "an output has more tiles than the check distinguishes";
            continue;
        }
        state->written = spad__new_array(&live->host, (size_t)tensor->tiles, 1);
        if (state->written == NULL) return spad__fail_host_memory(error);
        if (state->view) live->tensors[tensor->home].shown = true;
    }
    return SPAD_OK;
}

spad_status spad__liveness_find_uses(spad__liveness *live, spad_error *error) {
    spad_status status = mark_tensors(live, error);
    if (status == SPAD_OK) status = find_managed(live, error);
    if (status == SPAD_OK) status = find_outputs(live, error);
    return status;
}
