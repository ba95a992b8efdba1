/* SPDX-License-Identifier: Apache-2.0
 *
 * Which tensors the lifetime check follows, from how the kernel uses them; before the walk, in
 * O(accesses + statements + tensors x those with `alloc` or `free`). Left out are tensors that
 * cannot be wrong: inputs that are never written and what is never read, with storage of their
 * own. Tiles that `alloc` and `free` name, and those of outputs whose bytes others can have, get a
 * table per tile here.
 */
#include "check/life.h"

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

bool spad__life_is_private(const spad__life *life, const spad_kernel_tensor *home) {
    if (home->mode != SPAD_MODE_AUTO) return false;
    return life->run->options->layout == NULL || life->kernel->target->spaces[home->space].off_chip;
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
static bool can_be_wrong(const spad__life *life, const spad_kernel_tensor *home,
                         const life_use *all) {
    if (!spad__life_is_private(life, home)) return true;
    if (all->output && (all->alias || home->slots < home->tiles)) return true;
    if (all->inputs > 1 || (all->inputs > 0 && home->slots < home->tiles)) return true;
    return all->wants || (all->read && all->written);
}

static void sort_tensors(spad__life *life, const life_use *own, const life_use *family) {
    const spad_kernel *k = life->kernel;
    for (size_t i = 0; i < k->tensors.count; i++) {
        const spad_kernel_tensor *tensor = &k->tensors.items[i];
        const life_use *all = &family[tensor->home];
        spad__life_tensor *state = &life->tensors[i];
        state->ring = ring_of(tensor);
        state->newest = -1;
        state->view = !own[i].written && (tensor->home != (int64_t)i || all->written);
        state->read = all->read;
        state->empty = !all->written && all->inputs == 0 &&
                       k->tensors.items[tensor->home].mode == SPAD_MODE_AUTO;
        state->tracked = can_be_wrong(life, &k->tensors.items[tensor->home], all);
        if ((tensor->flags & SPAD_TENSOR_INPUT) != 0) life->tensors[tensor->home].given = true;
    }
}

static spad_status mark_tensors(spad__life *life, spad_error *error) {
    const size_t count = life->kernel->tensors.count;
    if (count == 0) return SPAD_OK;
    life_use *uses = spad__new_array(&life->host, count, 2 * sizeof *uses);
    if (uses == NULL) return spad__fail_host_memory(error);
    mark_uses(life->kernel, uses, uses + count);
    sort_tensors(life, uses, uses + count);
    spad__free(&life->host, uses, 2 * count * sizeof *uses);
    return SPAD_OK;
}

static void track_storage(spad__life *life, int64_t home) {
    for (size_t i = 0; i < life->kernel->tensors.count; i++) {
        if (life->kernel->tensors.items[i].home == home) life->tensors[i].tracked = true;
    }
}

/* Tensors that `alloc` and `free` are about have a byte per tile. */
static spad_status find_managed(spad__life *life, spad_error *error) {
    const spad_kernel *k = life->kernel;
    for (size_t i = 0; i < k->statements.count; i++) {
        const spad_statement *s = &k->statements.items[i];
        const bool allocates = s->kind == SPAD_STATEMENT_ALLOC;
        if (!allocates && s->kind != SPAD_STATEMENT_FREE) continue;
        const spad_kernel_tensor *tensor = &k->tensors.items[s->item];
        spad__life_tensor *state = &life->tensors[s->item];
        if (tensor->mode == SPAD_MODE_HEAP && s->index_count == 0) continue;
        if (tensor->tiles > SPAD__LIFE_TILES) {
            life->run->gap = "a tensor with alloc and free has more than 2^24 tiles";
            continue;
        }
        if (state->dead == NULL) {
            state->dead = spad__new_array(&life->host, (size_t)tensor->tiles, 1);
            state->births =
                spad__new_array(&life->host, (size_t)tensor->tiles, sizeof *state->births);
            if (state->dead == NULL || state->births == NULL) {
                return spad__fail_host_memory(error);
            }
            track_storage(life, s->item);
        }
        state->allocated |= allocates;
    }
    return SPAD_OK;
}

/* Outputs whose bytes others can have: which of their tiles were written? */
static spad_status find_outputs(spad__life *life, spad_error *error) {
    for (size_t i = 0; i < life->kernel->tensors.count; i++) {
        const spad_kernel_tensor *tensor = &life->kernel->tensors.items[i];
        spad__life_tensor *state = &life->tensors[i];
        if ((tensor->flags & SPAD_TENSOR_OUTPUT) == 0 || !state->tracked) continue;
        if (tensor->tiles > SPAD__OUTPUT_TILES) {
            life->run->gap = "an output has more tiles than the check distinguishes";
            continue;
        }
        state->written = spad__new_array(&life->host, (size_t)tensor->tiles, 1);
        if (state->written == NULL) return spad__fail_host_memory(error);
        if (state->view) life->tensors[tensor->home].shown = true;
    }
    return SPAD_OK;
}

spad_status spad__life_find_uses(spad__life *life, spad_error *error) {
    spad_status status = mark_tensors(life, error);
    if (status == SPAD_OK) status = find_managed(life, error);
    if (status == SPAD_OK) status = find_outputs(life, error);
    return status;
}
