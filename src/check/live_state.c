/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of the lifetime check at the head of an iteration, as numbers: what
 * every byte holds and the state of the scoped managers. Only what later reads can distinguish
 * apart is in it, and tiles are counted from where the loop stands, so that two
 * states are equal if what follows them is the same. See prove.c.
 */
#include <stdlib.h>

#include "check/live_ranges.h"
#include "induction/recurrence.h"
#include "kernel/place.h"
#include "kernel/walk/walk.h"
#include "spad/experimental/stack_queries.h"

/* Where the loops of a group stand. */
typedef struct standing {
    const spad__induction *induction;
    size_t group;
    int64_t periods;
    const int64_t *values; /* per loop */
} standing;

/* Was it written in the last period of a growing loop? Then it moves along; older writes are
 * left where they are. */
static bool moves_along(const spad__liveness *live, spad__writer holder, standing at) {
    const spad_kernel *k = live->kernel;
    const int64_t *values = live->values + (size_t)holder * live->depth;
    bool moves = false;
    int64_t loop = k->statements.items[live->writes[holder].statement].loop;
    for (; loop >= 0; loop = k->loops.items[loop].outer, values++) {
        if (at.induction->group[loop] == (int32_t)at.group) {
            moves = at.values[loop] - *values <= at.induction->extra[loop];
        } else if (moves && at.values[loop] != *values) {
            return false; /* an earlier run of the growing loop */
        }
    }
    return moves;
}

/* Content of a piece. Tiles of an index that carries on from run to run are counted from where it
 * stands, whenever they were written. Once a tensor has begun a new life, or a tile was allocated
 * again, nothing can want what the old one left: all such pieces are the same. */
static void put_holder(spad__state_out *w, const spad__liveness *live, spad__writer holder,
                       standing at) {
    enum { NO_WRITER = -1, PAST = -2 };
    if (holder == 0) {
        spad__state_put(w, NO_WRITER);
        return;
    }
    const spad__write *write = &live->writes[holder];
    const spad_kernel_tensor *tensor = &live->kernel->tensors.items[write->tensor];
    const spad__liveness_tensor *own = &live->tensors[write->tensor];
    const spad__liveness_tensor *home = &live->tensors[tensor->home];
    const int64_t current =
        (write->life + 1 >= own->declarations) + 2 * (write->home_life + 1 >= home->declarations);
    const bool input = write->row >= live->kernel->accesses.count;
    const bool again =
        home->births != NULL && !input && write->birth != (int64_t)home->births[write->home_tile];
    if (current == 0 || again) {
        spad__state_put(w, PAST);
        return;
    }
    const spad__induction *g = at.induction;
    const int64_t *shift = &g->shift[at.group * g->dims + g->first_dim[write->tensor]];
    const bool *carry = &g->carry[g->first_dim[write->tensor]];
    int64_t index[SPAD_RANK_MAX];
    spad__tile_index(tensor, write->tile, index);
    const int64_t periods = moves_along(live, holder, at) ? at.periods : 0;
    spad__state_put(w, write->tensor);
    spad__state_put(w, current + 4 * write->may + 8 * write->full);
    for (size_t d = 0; d < tensor->blocks.count; d++)
        spad__state_put(w, index[d] - shift[d] * (carry[d] ? at.periods : periods));
}

static void put_map(spad__state_out *w, const spad__liveness *live, const spad__bytemap *map,
                    standing at) {
    spad__state_put(w, (int64_t)map->bands.count);
    for (size_t b = 0; b < map->bands.count; b++) {
        const spad__band *band = &map->bands.items[b];
        spad__state_put(w, band->lane);
        spad__state_put(w, (int64_t)spad__band_pieces(band));
        for (size_t c = 0; c < band->chunks.count; c++) {
            const spad__chunk *chunk = &band->chunks.items[c]; /* its end does not count */
            for (size_t i = 0; i < chunk->pieces.count; i++) {
                spad__state_put(w, chunk->pieces.items[i].byte);
                put_holder(w, live, chunk->pieces.items[i].writer, at);
            }
        }
    }
}

/* A space in which other tensors have bytes, too, that do not count: what tensors of the part hold
 * is all, and where it begins and ends. */
static void put_part_of_map(spad__state_out *w, const spad__liveness *live,
                            const spad__bytemap *map, standing at) {
    for (size_t b = 0; b < map->bands.count; b++) {
        const spad__band *band = &map->bands.items[b];
        int64_t begin = 0;
        spad__writer holder = 0; /* of the piece that is open */
        spad__state_put(w, band->lane);
        for (size_t c = 0; c < band->chunks.count; c++) {
            const spad__chunk *chunk = &band->chunks.items[c];
            for (size_t i = 0; i < chunk->pieces.count; i++) {
                const spad__map_piece piece = chunk->pieces.items[i];
                if (holder != 0) {
                    spad__state_put(w, begin);
                    spad__state_put(w, piece.byte);
                    put_holder(w, live, holder, at);
                }
                const bool counts =
                    piece.writer != 0 && !at.induction->left_out[live->writes[piece.writer].tensor];
                holder = counts ? piece.writer : 0;
                begin = piece.byte;
            }
        }
        if (holder != 0) { /* up to the end of the map */
            spad__state_put(w, begin);
            put_holder(w, live, holder, at);
        }
    }
}

static bool leaves_out(const standing *at, size_t tensors) {
    for (size_t i = 0; i < tensors; i++) {
        if (at->induction->left_out[i]) return true;
    }
    return false;
}

static int compare_areas(const void *left, const void *right) {
    const spad__liveness_area *a = *(const spad__liveness_area *const *)left;
    const spad__liveness_area *b = *(const spad__liveness_area *const *)right;
    if (a->home != b->home) return a->home < b->home ? -1 : 1;
    return (a->slot > b->slot) - (a->slot < b->slot);
}

/* Slots in the order of their numbers, not of their first use. */
static void put_areas(spad__state_out *w, const spad__liveness *live, standing at) {
    const size_t room = live->areas.count;
    size_t count = 0;
    if (room == 0) spad__state_put(w, 0);
    if (room == 0) return;
    const spad__liveness_area **areas = spad__new_array(w->host, room, sizeof *areas);
    if (areas == NULL) {
        w->failed = true;
        return;
    }
    for (size_t i = 0; i < room; i++) {
        if (at.induction->left_out[live->areas.items[i].home]) continue;
        areas[count++] = &live->areas.items[i];
    }
    spad__state_put(w, (int64_t)count);
    qsort(areas, count, sizeof *areas, compare_areas);
    for (size_t i = 0; i < count; i++) {
        spad__state_put(w, areas[i]->home);
        spad__state_put(w, areas[i]->slot);
        put_map(w, live, &areas[i]->map, at);
    }
    spad__free(w->host, areas, room * sizeof *areas);
}

/* Which tiles of a tensor are allocated: all or none, or one by one if the loop does not move
 * over them. */
static void put_dead(spad__state_out *w, const spad__liveness *live, size_t number, standing at) {
    const spad_kernel_tensor *tensor = &live->kernel->tensors.items[number];
    const uint8_t *dead = live->tensors[number].dead;
    const spad__induction *g = at.induction;
    const int64_t *shift = &g->shift[at.group * g->dims + g->first_dim[number]];
    bool moves = false;
    bool alike = true;
    for (size_t d = 0; d < tensor->blocks.count; d++) moves = moves || shift[d] != 0;
    for (int64_t t = 1; t < tensor->tiles; t++) alike = alike && dead[t] == dead[0];
    if (moves && !alike) spad__state_put(w, at.periods); /* never the same again */
    for (int64_t t = 0; t < (alike ? 1 : tensor->tiles); t++) spad__state_put(w, dead[t]);
}

static void put_tensors(spad__state_out *w, const spad__liveness *live, standing at) {
    for (size_t i = 0; i < live->kernel->tensors.count; i++) {
        if (at.induction->left_out[i]) continue;
        spad__state_put(w, live->tensors[i].heap);
        if (live->tensors[i].dead != NULL) put_dead(w, live, i, at);
    }
}

static void put_manager(spad__state_out *w, const spad_stack *stack) {
    int64_t address = 0;
    const size_t depth = spad_stack_scope_count(stack);
    spad__state_put(w, spad_stack_get_address(&address, stack, NULL) == SPAD_OK ? address : -1);
    spad__state_put(w,
                    spad_stack_get_heap_address(&address, stack, NULL) == SPAD_OK ? address : -1);
    spad__state_put(w, (int64_t)depth);
    for (size_t i = 0; i < depth; i++) {
        spad_stack_scope scope = {0};
        if (spad_stack_get_scope(&scope, stack, i, NULL) != SPAD_OK) continue;
        spad__state_put(w, scope.start);
        spad__state_put(w, scope.section);
        spad__state_put(w, scope.high_water);
    }
}

static void put_live(spad__state_out *w, const spad_stack *stack) {
    const size_t count = spad_stack_list_live(NULL, 0, stack);
    spad__state_put(w, (int64_t)count);
    if (count == 0) return;
    spad_stack_tensor *live = spad__new_array(w->host, count, sizeof *live);
    if (live == NULL) {
        w->failed = true;
        return;
    }
    spad_stack_list_live(live, count, stack);
    for (size_t i = 0; i < count; i++) {
        spad__state_put(w, live[i].rect.lane);
        spad__state_put(w, live[i].rect.byte);
        spad__state_put(w, live[i].rect.bytes);
    }
    spad__free(w->host, live, count * sizeof *live);
}

static void put_managers(spad__state_out *w, const spad_walk *walk) {
    const spad_kernel *k = walk->kernel;
    for (size_t i = 0; walk->managers != NULL && i < k->target->space_count; i++) {
        if (walk->managers[i].stack == NULL) continue;
        put_manager(w, walk->managers[i].stack);
        put_live(w, walk->managers[i].stack);
    }
    for (size_t i = 0; walk->scoped != NULL && i < k->tensors.count; i++) {
        spad__state_put(w, walk->scoped[i].live);
    }
}

spad_status spad__liveness_state(const spad__liveness *live, const spad_walk *walk,
                                 const int64_t *values, const spad__induction *induction,
                                 size_t group, int64_t periods, spad__state *state,
                                 spad_error *error) {
    spad__state_out w = {&live->host, state, false};
    const standing at = {induction, group, periods, values};
    const bool part = leaves_out(&at, live->kernel->tensors.count);
    for (size_t i = 0; i < live->kernel->target->space_count; i++) {
        (part ? put_part_of_map : put_map)(&w, live, &live->spaces[i], at);
    }
    put_areas(&w, live, at);
    put_tensors(&w, live, at);
    if (walk != NULL) put_managers(&w, walk);
    if (walk != NULL && induction->holds_cursors) {
        const spad_kernel *k = live->kernel;
        for (size_t i = 0; i < k->cursors.count; i++) {
            if (!k->cursors.items[i].even) spad__state_put(&w, walk->values[k->loops.count + i]);
        }
    }
    if (walk == NULL && live->kernel->is_scoped)
        spad__state_put(&w, periods); /* managers are not known */
    return w.failed ? spad__fail_host_memory(error) : SPAD_OK;
}
