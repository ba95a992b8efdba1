/* SPDX-License-Identifier: Apache-2.0
 *
 * Lifetimes: does every read see what was last written as that tile?
 *
 * For every byte of every lane the map (last_writers.c) knows the write that came last. A read
 * of a tile is right if all its bytes were last written as that tile of that tensor, in
 * the same life of it. Whatever else is found there is a finding: another tile, an older
 * one, another name for the same bytes, or nothing. Placed tiles are compared in their
 * space; the slots of a tensor without a place are spaces of their own.
 *
 * Time: O(1) for an access to what another access touched as a whole; otherwise see
 * last_writers.c. Memory: bytes that are written and not yet overwritten. Tensors that cannot be
 * wrong (live_uses.c) are left out.
 */
#include "check/live_ranges.h"
#include "check/passes.h"
#include "spad/experimental/kernel_rows.h"

#include <string.h>

#include "base/checked.h"
#include "check/outputs.h"
#include "kernel/event_bound.h"
#include "kernel/walk/walk.h"

enum { FIRST_WRITES = 64 };

/* ---- create and free -------------------------------------------------------------- */

static size_t deepest(const spad_kernel *k) {
    size_t most = 0;
    for (size_t i = 0; i < k->loops.count; i++) {
        size_t depth = 0;
        for (int64_t l = (int64_t)i; l >= 0; l = k->loops.items[l].outer) depth++;
        if (depth > most) most = depth;
    }
    return most;
}

static void *new_table(spad__liveness *live, size_t count, size_t size) {
    return spad__new_array(&live->host, count > 0 ? count : 1, size);
}

static void free_table(spad__liveness *live, void *items, size_t count, size_t size) {
    spad__free(&live->host, items, (count > 0 ? count : 1) * size);
}

static bool allocate_life_tables(spad__liveness *live) {
    const spad_kernel *k = live->kernel;
    live->depth = (size_t)spad__max((int64_t)deepest(k), 1);
    live->tensors = new_table(live, k->tensors.count, sizeof *live->tensors);
    live->spaces = new_table(live, k->target->space_count, sizeof *live->spaces);
    live->unread_of = new_table(live, 2 * k->accesses.count, sizeof *live->unread_of);
    live->carries = new_table(live, k->accesses.count, sizeof *live->carries);
    live->hints = new_table(live, k->accesses.count + 1, SPAD__LIVE_HINTS * sizeof *live->hints);
    return live->tensors != NULL && live->spaces != NULL && live->unread_of != NULL &&
           live->carries != NULL && live->hints != NULL;
}

void spad__liveness_destroy(spad__liveness *live) {
    if (live == NULL) return;
    const spad_kernel *k = live->kernel;
    const spad_host host = live->host;
    for (size_t i = 0; live->tensors != NULL && i < k->tensors.count; i++) {
        const size_t tiles = (size_t)k->tensors.items[i].tiles;
        spad__free(&host, live->tensors[i].dead, tiles);
        spad__free(&host, live->tensors[i].births, tiles * sizeof *live->tensors[i].births);
        spad__free(&host, live->tensors[i].written, tiles);
    }
    for (size_t i = 0; live->spaces != NULL && i < k->target->space_count; i++) {
        spad__bytemap_free(&live->spaces[i], &host);
    }
    for (size_t i = 0; i < live->areas.count; i++) {
        spad__bytemap_free(&live->areas.items[i].map, &host);
    }
    spad__array_free(&host, &live->areas);
    spad__array_free(&host, &live->parts);
    spad__array_free(&host, &live->unread);
    free_table(live, live->tensors, k->tensors.count, sizeof *live->tensors);
    free_table(live, live->spaces, k->target->space_count, sizeof *live->spaces);
    free_table(live, live->hints, k->accesses.count + 1, SPAD__LIVE_HINTS * sizeof *live->hints);
    free_table(live, live->unread_of, 2 * k->accesses.count, sizeof *live->unread_of);
    free_table(live, live->carries, k->accesses.count, sizeof *live->carries);
    spad__index_free(&live->area_index, &host);
    spad__free(&host, live->writers.rows, live->write_room * sizeof *live->writers.rows);
    spad__free(&host, live->writes, live->write_room * sizeof *live->writes);
    spad__free(&host, live->values, live->write_room * live->depth * sizeof *live->values);
    spad__free(&host, live, sizeof *live);
}

/* ---- maps -------------------------------------------------------------------------- */

static uint64_t hash_area(int64_t home, int64_t slot) {
    return spad__hash_add(spad__hash_add(0, home), slot);
}

static spad__bytemap *add_area(spad__liveness *live, int64_t home, int64_t slot) {
    const spad_kernel_tensor *tensor = &live->kernel->tensors.items[home];
    if (!spad__array_reserve(&live->host, &live->areas, 1) ||
        !spad__index_reserve(&live->area_index, &live->host, 1)) {
        return NULL;
    }
    spad__liveness_area *area = &live->areas.items[live->areas.count];
    *area = (spad__liveness_area){.home = home, .slot = slot};
    if (!spad__bytemap_init(&area->map, &live->host, 0, tensor->tile_lanes, 0,
                            tensor->tile_bytes)) {
        return NULL;
    }
    spad__index_add(&live->area_index, hash_area(home, slot), live->areas.count++);
    live->tensors[home].area = live->areas.count;
    return &area->map;
}

/* The bytes of a slot that has no place. */
static spad__bytemap *find_area(spad__liveness *live, int64_t home, int64_t slot) {
    const size_t last = live->tensors[home].area;
    if (last > 0 && live->areas.items[last - 1].slot == slot)
        return &live->areas.items[last - 1].map;
    spad__probe probe = spad__index_probe(&live->area_index, hash_area(home, slot));
    for (size_t i; (i = spad__probe_next(&probe)) != SPAD__NO_ITEM;) {
        spad__liveness_area *area = &live->areas.items[i];
        if (area->home != home || area->slot != slot) continue;
        live->tensors[home].area = i + 1;
        return &area->map;
    }
    return add_area(live, home, slot);
}

/* A whole space; addresses outside of it are for the rules to report. */
static spad__bytemap *find_space_map(spad__liveness *live, size_t space) {
    spad__bytemap *map = &live->spaces[space];
    if (map->bands.count > 0) return map;
    return spad__bytemap_init(map, &live->host, INT64_MIN, INT64_MAX, INT64_MIN, INT64_MAX) ? map
                                                                                            : NULL;
}

/* NULL: no memory. */
static spad__bytemap *map_of(spad__liveness *live, const spad_walk_access *access) {
    if (!access->placed) return find_area(live, access->home, access->slot);
    return find_space_map(live, live->kernel->tensors.items[access->tensor].space);
}

/* One row more is for accesses that are not of the kernel. */
static spad__spot *hint_of(spad__liveness *live, const spad_walk_access *access) {
    const size_t row =
        access->row < live->kernel->accesses.count ? access->row : live->kernel->accesses.count;
    return &live->hints[row * SPAD__LIVE_HINTS + ((size_t)access->tile & (SPAD__LIVE_HINTS - 1))];
}

/* ---- writes ------------------------------------------------------------------------ */

/* Old blocks are freed with the old size, so all three tables grow together. */
static bool grow_writes(spad__liveness *live) {
    const size_t old = live->write_room;
    const size_t room = old > 0 ? old * 2 : FIRST_WRITES;
    if (room > UINT32_MAX) return false;
    spad__writer_row *rows = spad__new_array(&live->host, room, sizeof *rows);
    spad__write *writes = spad__new_array(&live->host, room, sizeof *writes);
    int64_t *values = spad__new_array(&live->host, room, live->depth * sizeof *values);
    const bool done = rows != NULL && writes != NULL && values != NULL;
    if (done && old > 0) {
        memcpy(rows, live->writers.rows, old * sizeof *rows);
        memcpy(writes, live->writes, old * sizeof *writes);
        memcpy(values, live->values, old * live->depth * sizeof *values);
    }
    spad__free(&live->host, done ? live->writers.rows : rows, (done ? old : room) * sizeof *rows);
    spad__free(&live->host, done ? live->writes : writes, (done ? old : room) * sizeof *writes);
    spad__free(&live->host, done ? live->values : values,
               (done ? old : room) * live->depth * sizeof *values);
    if (!done) return false;
    live->writers.rows = rows;
    live->writes = writes;
    live->values = values;
    live->write_room = room;
    return true;
}

/* A number for a write; 0: no memory. */
static spad__writer new_writer(spad__liveness *live) {
    const spad__writer writer = live->unused;
    if (writer != 0) {
        live->unused = live->writers.rows[writer].next;
        return writer;
    }
    if (live->write_count >= live->write_room && !grow_writes(live)) return 0;
    return (spad__writer)live->write_count++;
}

static int64_t home_life(const spad__liveness *live, int64_t home) {
    return spad__max(live->tensors[home].declarations - 1, 0);
}

static bool is_around(const spad_kernel *k, int64_t loop, int64_t statement) {
    int64_t around = k->statements.items[statement].loop;
    while (around >= 0 && around != loop) around = k->loops.items[around].outer;
    return around >= 0;
}

/* A write is read by the statement of the event. In a later iteration of a loop around both, it
 * carries a value on. */
static void note_carried(spad__liveness *live, spad__writer writer) {
    const spad__write *write = &live->writes[writer];
    const spad_kernel *k = live->kernel;
    if (write->row >= k->accesses.count || live->carries[write->row]) return;
    const int64_t *then = live->values + (size_t)writer * live->depth;
    int64_t loop = k->statements.items[write->statement].loop;
    for (; loop >= 0; loop = k->loops.items[loop].outer, then++) {
        /* in this order: few values are older, and loops may be nested deeply */
        if (*then < live->loop_values[loop] && is_around(k, loop, live->statement)) {
            live->carries[write->row] = true;
            return;
        }
    }
}

static void fill_write(spad__liveness *live, spad__writer writer, const spad_walk_access *access) {
    const spad_kernel *k = live->kernel;
    live->writers.rows[writer] = (spad__writer_row){0};
    live->writes[writer] = (spad__write){
        .tensor = access->tensor,
        .tile = access->tile,
        .life = access->life,
        .home_tile = spad__home_tile(&k->tensors.items[access->tensor], access->tile),
        .home_life = home_life(live, access->home),
        .birth = spad__liveness_birth(live, access),
        .statement = live->statement,
        .row = access->row,
        .read = access->row >= k->accesses.count, /* an input; it needs no reader */
        .may = (access->kind & SPAD_ACCESS_MAY) != 0,
    };
    live->writes[writer].read |= live->writes[writer].may; /* what it left may be elsewhere */
    int64_t *values = live->values + (size_t)writer * live->depth;
    int64_t loop = k->statements.items[live->statement].loop;
    for (; loop >= 0; loop = k->loops.items[loop].outer) *values++ = live->loop_values[loop];
}

/* Writes that are fully overwritten. */
static spad_status clear_over(spad__liveness *live, spad_error *error) {
    spad_status status = SPAD_OK;
    while (live->writers.over != 0 && status == SPAD_OK) {
        const spad__writer writer = live->writers.over;
        if (!live->writes[writer].read) status = spad__report_unread(live, writer, error);
        live->writers.over = live->writers.rows[writer].next;
        live->writers.rows[writer].next = live->unused;
        live->unused = writer;
    }
    return status;
}

/* Where a tile begins in the tile of its home. */
static int64_t home_byte(const spad_kernel_tensor *tensor, int64_t tile) {
    if (tensor->mode != SPAD_MODE_ALIAS) return 0;
    if (tensor->home_tile < 0) return tensor->home_byte;
    return tensor->home_byte + tile % tensor->slots * tensor->home_step;
}

/* Does a write go to a tile of another name, which is in the same tile of the home? */
static bool reaches(const spad_kernel *k, const spad_walk_access *access,
                    const spad_kernel_tensor *other, int64_t tile) {
    const int64_t lane = access->rect.lane - access->tile_rect.lane;
    const int64_t begin = home_byte(other, tile);
    const int64_t end = begin + other->tile_bytes;
    int64_t byte = access->rect.byte - access->tile_rect.byte +
                   home_byte(&k->tensors.items[access->tensor], access->tile);
    if (lane >= other->tile_lanes) return false;
    for (int64_t run = 0; run < access->runs; run++, byte += access->stride) {
        if (byte < end && byte + access->rect.bytes > begin) return true;
    }
    return false;
}

/* Outputs that show what other names of their storage write: the tiles that this write is for. */
static void mark_views(spad__liveness *live, const spad_walk_access *access) {
    const spad_kernel *k = live->kernel;
    const int64_t in = spad__home_tile(&k->tensors.items[access->tensor], access->tile);
    for (size_t i = 0; i < k->tensors.count; i++) {
        const spad_kernel_tensor *view = &k->tensors.items[i];
        uint8_t *written = live->tensors[i].written;
        if (!live->tensors[i].view || written == NULL || view->home != access->home) continue;
        const bool one = view->mode != SPAD_MODE_ALIAS || view->home_tile < 0;
        const int64_t first = one ? in : 0;
        const int64_t end = one ? spad__min(in + 1, view->tiles) : view->tiles;
        for (int64_t tile = first; tile < end; tile++) {
            if (spad__home_tile(view, tile) == in && reaches(k, access, view, tile))
                written[tile] = 1;
        }
    }
}

static spad_status write_access(spad__liveness *live, const spad_walk_access *access,
                                spad_error *error) {
    spad__liveness_tensor *state = &live->tensors[access->tensor];
    spad__bytemap *map = map_of(live, access);
    const spad__writer writer = map != NULL ? new_writer(live) : 0;
    if (writer == 0) return spad__fail_host_memory(error);
    fill_write(live, writer, access);
    if (!spad__bytemap_write(map, &live->host, &live->writers, access->rect, access->runs,
                             access->stride, writer, hint_of(live, access))) {
        return spad__fail_host_memory(error);
    }
    if (state->written != NULL) state->written[access->tile] = 1;
    if (live->tensors[access->home].shown) mark_views(live, access);
    if (access->tile < state->newest) state->jumps = true;
    state->newest = spad__max(state->newest, access->tile);
    return live->writers.over != 0 ? clear_over(live, error) : SPAD_OK;
}

/* ---- what writes leave ------------------------------------------------------------- */

/* Was it left in this tile of the storage, under any name, and is it still there? */
static bool is_of_storage(const spad__liveness *live, const spad_walk_access *access,
                          const spad__write *write) {
    const spad_kernel_tensor *tensor = &live->kernel->tensors.items[access->tensor];
    return live->kernel->tensors.items[write->tensor].home == access->home &&
           write->home_tile == spad__home_tile(tensor, access->tile) &&
           write->home_life == home_life(live, access->home);
}

/* Is what the write left what the access wants? A view wants whatever any name of its
 * storage has left in that tile. */
static bool is_right(const spad__liveness *live, const spad_walk_access *access,
                     spad__writer writer, bool view) {
    const spad_kernel_tensor *tensor = &live->kernel->tensors.items[access->tensor];
    if (writer == 0) {
        return (tensor->flags & SPAD_TENSOR_INPUT) != 0 ||
               (view && live->tensors[access->home].given);
    }
    const spad__write *write = &live->writes[writer];
    const bool input = write->row >= live->kernel->accesses.count;
    if (!input && write->birth != spad__liveness_birth(live, access)) return false;
    if (write->may && !(view && write->full)) return false;
    if (view) return is_of_storage(live, access, write);
    return write->tensor == access->tensor && write->tile == access->tile &&
           write->life == access->life;
}

/* Is it what an access that may have written left in the tile that is wanted, where nothing was
 * before? */
static bool is_possible(const spad__liveness *live, const spad_walk_access *access,
                        spad__writer writer) {
    const spad__write *write = &live->writes[writer];
    if (!write->may || write->birth != spad__liveness_birth(live, access)) return false;
    if (live->tensors[access->tensor].view) return is_of_storage(live, access, write);
    return write->tensor == access->tensor && write->tile == access->tile &&
           write->life == access->life;
}

/* ---- what may be written ----------------------------------------------------------- */

/* Lists the bytes of an access that do not hold its tile: they change while they are written. */
static bool list_possible(spad__liveness *live, spad__bytemap *map,
                          const spad_walk_access *access) {
    spad__byte_cursor look =
        spad__bytemap_read(map, access->rect, access->runs, access->stride, hint_of(live, access));
    spad_rect part;
    spad__writer writer;
    live->parts.count = 0;
    while (spad__bytemap_next(&look, &part, &writer)) {
        if (is_right(live, access, writer, false)) continue;
        if (!spad__array_reserve(&live->host, &live->parts, 1)) return false;
        live->parts.items[live->parts.count++] =
            (spad__liveness_part){part, is_right(live, access, writer, true)};
    }
    return true;
}

/* Bytes that hold the tile still do: the old elements or the new ones. All others may have been
 * overwritten, and it is not certain that they hold the tile now. */
static spad_status write_possible(spad__liveness *live, const spad_walk_access *access,
                                  spad_error *error) {
    spad__liveness_tensor *state = &live->tensors[access->tensor];
    spad__bytemap *map = map_of(live, access);
    if (map == NULL || !list_possible(live, map, access)) return spad__fail_host_memory(error);
    for (int full = 0; full < 2; full++) {
        spad__writer writer = 0;
        for (size_t i = 0; i < live->parts.count; i++) {
            const spad__liveness_part *part = &live->parts.items[i];
            if (part->full != (full != 0)) continue;
            if (writer == 0) {
                writer = new_writer(live);
                if (writer == 0) return spad__fail_host_memory(error);
                fill_write(live, writer, access);
                live->writes[writer].full = full != 0;
            }
            if (!spad__bytemap_write(map, &live->host, &live->writers, part->rect, 1, 0, writer,
                                     hint_of(live, access))) {
                return spad__fail_host_memory(error);
            }
        }
    }
    if (state->written != NULL) state->written[access->tile] = 1;
    if (live->tensors[access->home].shown) mark_views(live, access);
    return live->writers.over != 0 ? clear_over(live, error) : SPAD_OK;
}

/* ---- before the start -------------------------------------------------------------- */

/* Can another tile have bytes of this input? */
static bool can_be_shared(const spad__liveness *live, int64_t number) {
    const spad_kernel *k = live->kernel;
    const spad_kernel_tensor *tensor = &k->tensors.items[number];
    const spad_kernel_tensor *home = &k->tensors.items[tensor->home];
    if (!spad__liveness_is_private(live, home) || home->slots < home->tiles) return true;
    for (size_t i = 0; i < k->tensors.count; i++) {
        if ((int64_t)i != number && k->tensors.items[i].home == tensor->home) return true;
    }
    return false;
}

/* Fills an input, one tile after another. */
static spad_status write_input_tiles(spad__liveness *live, const spad_walk *walk, int64_t number,
                                     spad_error *error) {
    const spad_kernel_tensor *tensor = &live->kernel->tensors.items[number];
    spad_status status = SPAD_OK;
    if (tensor->tiles > SPAD__OUTPUT_TILES) {
        live->run->gap = "an input has more tiles than the check distinguishes";
        return SPAD_OK;
    }
    live->statement = (int64_t)tensor->statement;
    for (int64_t tile = 0; tile < tensor->tiles && status == SPAD_OK; tile++) {
        spad_walk_access access;
        spad__walk_tile_access(walk, number, tile, &access);
        status = write_access(live, &access, error);
    }
    live->tensors[number].newest = -1;
    return status;
}

/* Inputs are in memory when the kernel starts, in the order of their declarations: one that
 * overlaps another has its bytes. */
static spad_status write_inputs(spad__liveness *live, spad_error *error) {
    const spad_kernel *k = live->kernel;
    const spad_walk_options options = {
        .agent = SPAD_WALK_ALL, .layout = live->run->options->layout, .host = &live->host};
    spad_walk *walk = NULL;
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < k->tensors.count && status == SPAD_OK; i++) {
        const spad_kernel_tensor *tensor = &k->tensors.items[i];
        const spad_mode mode = k->tensors.items[tensor->home].mode;
        if ((tensor->flags & SPAD_TENSOR_INPUT) == 0 || !live->tensors[i].tracked) continue;
        if (live->tensors[i].written != NULL) {
            memset(live->tensors[i].written, 1, (size_t)tensor->tiles);
        }
        if (k->statements.items[tensor->statement].loop >= 0) continue;
        if (mode == SPAD_MODE_STACK || mode == SPAD_MODE_HEAP) continue;
        if (!can_be_shared(live, (int64_t)i)) continue;
        if (walk == NULL) status = spad__walk_create(&walk, k, &options, error);
        if (status == SPAD_OK) status = write_input_tiles(live, walk, (int64_t)i, error);
    }
    spad_walk_destroy(walk);
    return status;
}

spad_status spad__liveness_create(spad__liveness **out, spad__run *run, spad_error *error) {
    *out = NULL;
    const spad_host host = run->check->host;
    spad__liveness *live = spad__new(&host, sizeof *live);
    if (live == NULL) return spad__fail_host_memory(error);
    live->host = host;
    live->run = run;
    live->kernel = run->kernel;
    live->write_count = 1;
    spad_status status = allocate_life_tables(live) ? SPAD_OK : spad__fail_host_memory(error);
    if (status == SPAD_OK) status = spad__liveness_find_uses(live, error);
    if (status == SPAD_OK) status = write_inputs(live, error);
    if (status == SPAD_OK) {
        *out = live;
    } else {
        spad__liveness_destroy(live);
    }
    return status;
}

/* ---- reads ------------------------------------------------------------------------- */

/* Does only the device know which bytes it reads, and may some of them hold the tile? */
static bool may_be_elsewhere(const spad__liveness *live, spad__bytemap *map,
                             const spad_walk_access *access) {
    if ((access->kind & SPAD_ACCESS_MAY) == 0) return false;
    const bool view = live->tensors[access->tensor].view;
    spad__spot hint = {0, 0};
    spad__byte_cursor look =
        spad__bytemap_read(map, access->rect, access->runs, access->stride, &hint);
    spad_rect part;
    spad__writer writer;
    while (spad__bytemap_next(&look, &part, &writer)) {
        if (is_right(live, access, writer, view)) return true;
        if (writer != 0 && live->writes[writer].may) return true;
    }
    return false;
}

/* Looks at every piece of an access. `gaps`: it need not have been written. */
static spad_status read_access(spad__liveness *live, const spad_walk_access *access, bool gaps,
                               spad_error *error) {
    spad__liveness_tensor *state = &live->tensors[access->tensor];
    spad__bytemap *map = map_of(live, access);
    if (map == NULL) return spad__fail_host_memory(error);
    state->needed = spad__max(state->needed, state->newest - access->tile + 1);
    spad__byte_cursor look =
        spad__bytemap_read(map, access->rect, access->runs, access->stride, hint_of(live, access));
    spad_rect part;
    spad__writer writer;
    spad_status status = SPAD_OK;
    while (status == SPAD_OK && spad__bytemap_next(&look, &part, &writer)) {
        if (writer != 0) live->writes[writer].read = true;
        if (writer != 0 && !gaps) note_carried(live, writer);
        if (is_right(live, access, writer, state->view)) continue;
        if (!(gaps && (writer == 0 || is_possible(live, access, writer)))) {
            status = spad__report_read(live, access, part, state->empty ? 0 : writer,
                                       may_be_elsewhere(live, map, access), error);
        }
    }
    return status;
}

/* ---- events ------------------------------------------------------------------------ */

/* Is the tile one that was freed, or not yet allocated? */
static bool is_dead(const spad__liveness *live, const spad_walk_access *access) {
    const uint8_t *dead = live->tensors[access->home].dead;
    if (!access->live) return true;
    if (dead == NULL) return false;
    return dead[spad__home_tile(&live->kernel->tensors.items[access->tensor], access->tile)] != 0;
}

/* All reads of an operation come before its writes. */
static spad_status run_operation(spad__liveness *live, const spad_walk_event *event,
                                 spad_error *error) {
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < event->access_count && status == SPAD_OK; i++) {
        const spad_walk_access *access = &event->accesses[i];
        if (is_dead(live, access)) {
            status = spad__report_dead(live, access, error);
        } else if ((access->kind & SPAD_ACCESS_READ) != 0 &&
                   live->tensors[access->tensor].tracked) {
            status = read_access(live, access, false, error);
        }
    }
    for (size_t i = 0; i < event->access_count && status == SPAD_OK; i++) {
        const spad_walk_access *access = &event->accesses[i];
        if ((access->kind & SPAD_ACCESS_WRITE) == 0 || !live->tensors[access->tensor].tracked)
            continue;
        status = (access->kind & SPAD_ACCESS_MAY) != 0 ? write_possible(live, access, error)
                                                       : write_access(live, access, error);
    }
    return status;
}

static spad_status run_declaration(spad__liveness *live, int64_t number, spad_error *error) {
    const spad_kernel_tensor *tensor = &live->kernel->tensors.items[number];
    spad__liveness_tensor *state = &live->tensors[number];
    spad_status status = spad__report_leaks(live, number, error);
    if (state->dead != NULL) memset(state->dead, state->allocated, (size_t)tensor->tiles);
    state->heap = tensor->mode == SPAD_MODE_HEAP;
    state->declarations++;
    state->newest = -1;
    return status;
}

/* `alloc` and `free` of one tile, or of all. A heap tensor is the manager's. */
static spad_status run_tile(spad__liveness *live, const spad_walk_event *event, spad_error *error) {
    spad__liveness_tensor *state = &live->tensors[event->tensor];
    const bool frees = event->kind == SPAD_WALK_FREE;
    const int64_t tiles = live->kernel->tensors.items[event->tensor].tiles;
    const int64_t first = event->tile >= 0 ? event->tile : 0;
    const int64_t end = event->tile >= 0 ? event->tile + 1 : tiles;
    if (event->tile < 0 && frees) state->heap = false;
    if (state->dead == NULL) return SPAD_OK;
    bool again = false;
    for (int64_t tile = first; tile < end; tile++) {
        again |= state->dead[tile] == (frees ? 1 : 0);
        state->dead[tile] = frees ? 1 : 0;
        state->births[tile] += !frees;
    }
    return again ? spad__report_again(live, event, error) : SPAD_OK;
}

spad_status spad__liveness_event(spad__liveness *live, const spad_walk_event *event,
                                 const int64_t *values, spad_error *error) {
    live->loop_values = values;
    live->statement = event->statement;
    switch (event->kind) {
    case SPAD_WALK_OPERATION: return run_operation(live, event, error);
    case SPAD_WALK_TENSOR: return run_declaration(live, event->tensor, error);
    case SPAD_WALK_ALLOC:
    case SPAD_WALK_FREE: return run_tile(live, event, error);
    default: return SPAD_OK;
    }
}

/* A tile is read: of an output, when the kernel is over. A tile that was never written is fine. */
static spad_status read_output(spad__liveness *live, const spad_walk_access *access,
                               spad_error *error) {
    live->statement = (int64_t)live->kernel->tensors.items[access->tensor].statement;
    if (is_dead(live, access)) return spad__report_dead(live, access, error);
    return read_access(live, access, true, error);
}

/* ---- the whole check --------------------------------------------------------------- */

static spad_status report_failed_walk(spad__run *run, const spad_walk *walk,
                                      const spad_error *failure, spad_error *error) {
    const int64_t statement = walk->event.statement;
    const spad_statement *s = spad_kernel_get_statement(run->kernel, (size_t)statement);
    const bool twice =
        failure->code == SPAD_ERR_NOT_LIVE && walk->scoped != NULL && !walk->scoped[s->item].live;
    return spad__report_failure(run, statement, twice, failure, error);
}

typedef struct stop { /* of a walk */
    const spad__liveness *live;
    const spad_walk *walk;
} stop;

static spad_status write_life_state(void *context, const spad__watch *watch, size_t group,
                                    int64_t periods, spad__state *state, spad_error *error) {
    const stop *here = context;
    return spad__liveness_state(here->live, here->walk, spad_walk_get_values(here->walk),
                                watch->induction, group, periods, state, error);
}

/* Tells about loops, for proofs that they repeat themselves. */
static spad_status update_watches(spad__run *run, const spad__liveness *live, const spad_walk *walk,
                                  const spad_walk_event *event, spad_error *error) {
    if (run->watches == NULL) return SPAD_OK;
    stop here = {live, walk};
    const spad__state_of state = {write_life_state, &here};
    switch (event->kind) {
    case SPAD_WALK_LOOP_BEGIN:
        spad__watch_begin(run->watches, event->loop, spad_walk_get_values(walk));
        return SPAD_OK;
    case SPAD_WALK_ITERATION: {
        const int64_t begin = run->kernel->loops.items[event->loop].begin.value;
        return spad__watch_iteration(run->watches, event->loop, event->value - begin, state, error);
    }
    case SPAD_WALK_LOOP_END: {
        const spad_kernel_loop *loop = &run->kernel->loops.items[event->loop];
        return spad__watch_end(run->watches, event->loop, loop->end.value - loop->begin.value,
                               state, error);
    }
    default: return SPAD_OK;
    }
}

bool spad__liveness_has_outputs(const spad__liveness *live) {
    for (size_t i = 0; i < live->kernel->tensors.count; i++) {
        if (live->tensors[i].written != NULL) return true;
    }
    return false;
}

spad_status spad__liveness_outputs(spad__liveness *live, const spad_walk *walk, spad_error *error) {
    const spad_kernel *k = live->kernel;
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < k->tensors.count; i++) {
        const spad_kernel_tensor *tensor = &k->tensors.items[i];
        const uint8_t *written = live->tensors[i].written;
        for (int64_t tile = 0; written != NULL && tile < tensor->tiles; tile++) {
            if (written[tile] == 0 || status != SPAD_OK) continue;
            spad_walk_access access;
            spad__walk_tile_access(walk, (int64_t)i, tile, &access);
            access.kind = SPAD_ACCESS_READ;
            status = read_output(live, &access, error);
        }
    }
    return status;
}

/* Scoped tensors are placed when their declaration runs. */
static spad_status check_scoped(spad__run *run, const spad_walk *walk, int64_t tensor,
                                spad_error *error) {
    const spad_kernel_tensor *row = &run->kernel->tensors.items[tensor];
    spad_status status = SPAD_OK;
    if (row->mode != SPAD_MODE_STACK && row->mode != SPAD_MODE_HEAP) return SPAD_OK;
    for (int64_t tile = 0; tile < row->tiles && status == SPAD_OK; tile++) {
        status = spad__check_place(run, tensor, tile, walk->scoped[tensor].rects[tile], error);
    }
    return status;
}

/* Operands that are some lanes of a tile; whole tiles are where tiles may be. */
static spad_status check_operands(spad__run *run, const spad_walk_event *event, spad_error *error) {
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < event->access_count && status == SPAD_OK; i++) {
        const spad_walk_access *access = &event->accesses[i];
        status = spad__check_proxy(run, event->statement, access, error);
        if (status != SPAD_OK || access->rect.lanes == access->tile_rect.lanes) continue;
        status = spad__check_operand(run, event->statement, access, error);
    }
    return status;
}

/* Checks an event against the rules. */
static spad_status check_event(spad__run *run, const spad_walk *walk, const spad_walk_event *event,
                               spad_error *error) {
    if (event->kind == SPAD_WALK_OPERATION) return check_operands(run, event, error);
    if (event->kind == SPAD_WALK_TENSOR) return check_scoped(run, walk, event->tensor, error);
    return SPAD_OK;
}

/* Work between two looks at the clock: an event, a piece of an access, a part of a state. */
enum { WORK_PER_CLOCK_READ = 4096, WORK_OF_STATE = 64 };

/* Cost of an event. */
static int64_t work_of_event(const spad__run *run, const spad_walk_event *event) {
    int64_t work = 1;
    for (size_t i = 0; i < event->access_count; i++) {
        work = spad__add_clamped(work, event->accesses[i].runs);
    }
    return event->kind == SPAD_WALK_ITERATION && run->watches != NULL ? work + WORK_OF_STATE : work;
}

enum { EVENTS_OF_TOO_MANY = 1 << 20 };

static const char more_than_limit[] = "the kernel has more events than the limit";

/* Where it is known that there are more events than the limit, errors are looked for in the first
 * ones only. */
static int64_t limit_of(const spad__run *run) {
    const int64_t limit = run->options->event_limit;
    if (spad__events_least(run->kernel) <= limit) return limit;
    return spad__min(limit, EVENTS_OF_TOO_MANY);
}

/* True at the limit of events or of time, which is then the gap of the run. The clock is read once
 * in WORK_PER_CLOCK_READ; *work: since then. */
static bool is_at_limit(spad__run *run, const spad_walk_event *event, int64_t events, int64_t limit,
                        int64_t *work) {
    if (events == limit) {
        run->gap = more_than_limit;
        return true;
    }
    *work += spad__min(work_of_event(run, event), WORK_PER_CLOCK_READ);
    if (*work < WORK_PER_CLOCK_READ) return false;
    *work = 0;
    if (!spad__is_late(run)) return false;
    run->gap = spad__time_is_up;
    return true;
}

/* Rules, outputs and lifetimes at one event. */
static spad_status follow_event(spad__run *run, spad__liveness *live, spad__outputs *outputs,
                                spad_walk *walk, const spad_walk_event *event, spad_error *error) {
    run->check->counts.events++;
    run->check->counts.accesses += (int64_t)event->access_count;
    spad_status status = check_event(run, walk, event, error);
    if (status == SPAD_OK && outputs != NULL && event->kind == SPAD_WALK_OPERATION) {
        status = spad__outputs_operation(outputs, walk, event, error);
    }
    if (status != SPAD_OK || live == NULL) return status;
    status = spad__liveness_event(live, event, spad_walk_get_values(walk), error);
    return status == SPAD_OK ? update_watches(run, live, walk, event, error) : status;
}

/* One walk. Where the order of events is unknown there is no `live`: the rules are examined, and
 * whether the kernel can be run at all. */
static spad_status walk_through(spad__run *run, spad__liveness *live, spad__outputs *outputs,
                                spad_walk *walk, spad_error *error) {
    const spad_walk_event *event;
    spad_error failure;
    spad_status status = SPAD_OK;
    const int64_t limit = limit_of(run);
    int64_t work = 0;
    for (int64_t events = 0; status == SPAD_OK; events++) {
        if (spad_walk_next(&event, walk, &failure) != SPAD_OK) {
            return report_failed_walk(run, walk, &failure, error);
        }
        if (event->kind == SPAD_WALK_END) break;
        if (is_at_limit(run, event, events, limit, &work)) return SPAD_OK;
        status = follow_event(run, live, outputs, walk, event, error);
    }
    if (status == SPAD_OK && outputs != NULL) status = spad__outputs_report(outputs, run, error);
    if (status != SPAD_OK || live == NULL) return status;
    status = spad__liveness_outputs(live, walk, error);
    return status == SPAD_OK ? spad__liveness_finish(live, error) : status;
}

spad_status spad__check_lifetimes(spad__run *run, spad_error *error) {
    const spad_walk_options options = {
        .agent = SPAD_WALK_ALL, .layout = run->options->layout, .host = &run->check->host};
    spad__liveness *live = NULL;
    spad__outputs *outputs = NULL;
    spad_walk *walk = NULL;
    spad_error failure;
    spad_status status = spad__check_hygiene(run, error);
    if (status != SPAD_OK) return status;
    status = spad__walk_create(&walk, run->kernel, &options, &failure);
    if (status != SPAD_OK) return spad__report_failure(run, -1, false, &failure, error);
    if (spad_kernel_is_implicit(run->kernel)) status = spad__liveness_create(&live, run, error);
    if (status == SPAD_OK && run->outputs) {
        status = spad__outputs_create(&outputs, run->kernel, &run->check->host, error);
    }
    if (status == SPAD_OK) status = walk_through(run, live, outputs, walk, error);
    spad__outputs_destroy(outputs);
    spad__liveness_destroy(live);
    spad_walk_destroy(walk);
    return status;
}
