/* SPDX-License-Identifier: Apache-2.0
 *
 * Boxes of a kernel: one walk with the places of its layout. A tile lives from the
 * operation that writes it to the last that reads that value, in the bytes of its slot, so
 * the tiles of a ring follow each other in the same bytes, and overlap where a ring is too
 * short.
 *
 * Time is the number of the event in the walk, or, with a simulation, nanoseconds, cycles or
 * steps (from_sim.c). Without one, the order between agents is unknown: what they access is drawn
 * slot by slot, from the fork to the join.
 *
 * O(events), memory O(boxes). The walk is left at the limit of events, and repetitions
 * that the simulation has skipped are not drawn; a note says so.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/compare.h"
#include "base/error.h"
#include "base/index.h"
#include "kernel/kernel.h"
#include "kernel/place.h"
#include "report/from_kernel.h"
#include "report/report.h"
#include "sim/sim.h"
#include "spad/experimental/report_parts.h"
#include "spad/experimental/walk.h"

/* ---- tiles that have a box --------------------------------------------------------- */

typedef struct tile_key {
    int64_t tensor;
    int64_t tile; /* or slot */
    int64_t life;
} tile_key;

typedef struct tile_entry {
    tile_key key;
    size_t box;
    bool was_read; /* since it was last written */
} tile_entry;

typedef struct tile_table {
    SPAD_ARRAY(tile_entry) entries;
    spad__index index;
} tile_table;

static uint64_t hash_key(tile_key key) {
    return spad__hash_add(spad__hash_add(spad__hash_add(0, key.tensor), key.tile), key.life);
}

static tile_entry *find_drawn_tile(const tile_table *table, tile_key key) {
    spad__probe probe = spad__index_probe(&table->index, hash_key(key));
    for (size_t i; (i = spad__probe_next(&probe)) != SPAD__NO_ITEM;) {
        tile_entry *entry = &table->entries.items[i];
        if (entry->key.tensor == key.tensor && entry->key.tile == key.tile &&
            entry->key.life == key.life) {
            return entry;
        }
    }
    return NULL;
}

static bool reserve_tile(tile_table *table, const spad_host *host) {
    return spad__array_reserve(host, &table->entries, 1) &&
           spad__index_reserve(&table->index, host, 1);
}

static void set_tile(tile_table *table, tile_key key, size_t box) {
    tile_entry *entry = find_drawn_tile(table, key);
    if (entry == NULL) {
        spad__index_add(&table->index, hash_key(key), table->entries.count);
        entry = &table->entries.items[table->entries.count++];
    }
    *entry = (tile_entry){.key = key, .box = box};
}

/* ---- one walk ---------------------------------------------------------------------- */

typedef struct drawer {
    spad_report *report;
    const spad_kernel *kernel;
    const spad_layout *layout;
    const spad__placing *with; /* other places that are drawn; NULL: the layout's */
    tile_table tiles;
    spad__sim_times *times;             /* NULL: time is the number of an event */
    bool *shares;                       /* per tensor: tiles of one slot are a family */
    const spad_layout_buffer **buffers; /* per tensor that the planner places: its first buffer */
    int64_t family;                     /* first one of this kernel */
    int64_t fork;                       /* time; -1: not yet */
    bool skipped;                       /* the simulation has left out repetitions */
    size_t first_box;
} drawer;

/* "x", "x[3]", "x[1, 2]"; a later life of a tensor in a loop has "#" and its number after. */
static void name_tile(char *field, size_t size, const spad_kernel_tensor *tensor, int64_t tile,
                      int64_t life) {
    int64_t index[SPAD_RANK_MAX];
    size_t used = (size_t)snprintf(field, size, "%.100s", tensor->name);
    spad__tile_index(tensor, tile, index);
    for (size_t i = 0; i < tensor->blocks.count; i++) {
        used += (size_t)snprintf(field + used, size - used, "%s%" PRId64, i == 0 ? "[" : ", ",
                                 index[i]);
    }
    if (tensor->blocks.count > 0) used += (size_t)snprintf(field + used, size - used, "]");
    if (life > 0) snprintf(field + used, size - used, "#%" PRId64, life);
}

/* Aliases share bytes with the slot of their home. And a tile that is used part by part may
 * give way to the next one in the same way, which boxes of whole tiles cannot show: that is
 * no conflict either. */
static void find_buffers(drawer *d) {
    for (size_t k = 0; k < spad_layout_space_count(d->layout); k++) {
        const spad_layout_space *space = spad_layout_get_space(d->layout, k);
        for (size_t i = space->buffer_count; i > 0; i--) {
            const spad_layout_buffer *buffer =
                spad_layout_get_buffer(d->layout, space->first_buffer + i - 1);
            if (buffer->tensor >= 0 && buffer->mode == SPAD_MODE_AUTO)
                d->buffers[buffer->tensor] = buffer;
        }
    }
}

/* Bytes after a slot that rounding takes: up to the next slot, after the last one up to what the
 * buffer has. Buffers of one slot, of a ring that is not in one piece, are all the same. */
static int64_t rounding_of(const drawer *d, const spad_walk_access *access) {
    const spad_layout_buffer *buffer = d->buffers[access->tensor];
    if (buffer == NULL || !access->placed) return 0;
    const bool is_last = buffer->slots == 1 || access->slot + 1 >= buffer->slots;
    const int64_t taken =
        is_last ? buffer->taken - (buffer->slots - 1) * buffer->stride : buffer->stride;
    return spad__max(taken - access->tile_rect.bytes, 0);
}

static bool find_sharing(drawer *d) {
    const size_t count = spad_kernel_tensor_count(d->kernel);
    d->shares = spad__new_array(&d->report->host, count + 1, sizeof *d->shares);
    d->buffers = spad__new_array(&d->report->host, count + 1, sizeof *d->buffers);
    if (d->shares == NULL || d->buffers == NULL) return false;
    find_buffers(d);
    for (size_t i = 0; i < count; i++) {
        const spad_kernel_tensor *tensor = spad_kernel_get_tensor(d->kernel, i);
        if (tensor->mode == SPAD_MODE_ALIAS) d->shares[tensor->home] = true;
    }
    for (size_t i = 0; i < spad__kernel_access_count(d->kernel); i++) {
        const spad_kernel_access *access = spad_kernel_get_access(d->kernel, i);
        if (access->range_count == 0) continue;
        d->shares[spad_kernel_get_tensor(d->kernel, (size_t)access->tensor)->home] = true;
    }
    return true;
}

/* Do tiles of the space share bytes because agents order them? Without times of a simulation that
 * order cannot be drawn, and all of the space is one family; the check has proved it. */
static bool is_ordered_space(const drawer *d, size_t space) {
    for (size_t i = 0; d->layout != NULL && i < spad_layout_space_count(d->layout); i++) {
        const spad_layout_space *row = spad_layout_get_space(d->layout, i);
        if (row->space == space) return row->agents_ordered;
    }
    return false;
}

/* Boxes at one place of such a tensor may share bytes: a slot, or where rings by modulo put the
 * tile of the home. */
static int64_t family_of(const drawer *d, const spad_walk_access *access) {
    if (!d->shares[access->home]) return SPAD_NO_FAMILY;
    const spad_kernel_tensor *home = spad_kernel_get_tensor(d->kernel, (size_t)access->home);
    uint64_t hash = spad__hash_add(0, access->home);
    if (home->mode == SPAD_MODE_MOD) {
        int64_t index[SPAD_RANK_MAX];
        spad_rect rect;
        spad__tile_index(home, access->slot, index);
        spad__tile_place(d->kernel, home, access->slot, index, &rect);
        hash = spad__hash_add(spad__hash_add(hash, rect.byte), rect.lane);
    } else {
        hash = spad__hash_add(hash, access->slot);
    }
    const int64_t first = d->family + SPAD_SPACES_MAX; /* after those of ordered spaces */
    return first + (int64_t)(hash % (uint64_t)(INT32_MAX - first));
}

/* When an operation of the walk runs. */
typedef struct moment {
    int64_t begin;
    int64_t end;
    bool by_slot; /* begin is where the agents start: their order is unknown */
    size_t bar;   /* of the simulation; SPAD__NO_ITEM: none */
} moment;

static spad_status add_tile(drawer *d, const spad_walk_access *access, tile_key key,
                            const moment *at, spad_error *error) {
    const spad_kernel_tensor *tensor = spad_kernel_get_tensor(d->kernel, (size_t)access->tensor);
    int64_t dims[SPAD_RANK_MAX];
    char name[512];
    for (size_t i = 0; i < tensor->dims.count; i++) dims[i] = tensor->dims.items[i].value;
    if (at->by_slot && tensor->slots > 1)
        snprintf(name, sizeof name, "%.100s[%" PRId64 "]", tensor->name, key.tile);
    else
        name_tile(name, sizeof name, tensor, at->by_slot ? 0 : access->tile, key.life);
    spad_report_box box = {
        .name = name,
        .shape = {tensor->dims.count, dims},
        .dtype = tensor->dtype,
        .mode = tensor->mode,
        .space = tensor->space,
        .rect = access->tile_rect,
        .begin = at->begin,
        .end = at->end,
        .slot = access->slot,
        .slots = tensor->slots > 1 && tensor->slots < tensor->tiles ? tensor->slots : 0,
        .family = at->by_slot && is_ordered_space(d, tensor->space)
                      ? d->family + (int64_t)tensor->space
                      : family_of(d, access),
        .line = tensor->location.line,
        .rounding = rounding_of(d, access),
        .alignment =
            d->buffers[access->tensor] != NULL ? d->buffers[access->tensor]->alignment : 0};
    if (!access->placed) box.rect.byte = SPAD_NO_BYTE;
    if (!reserve_tile(&d->tiles, &d->report->host)) return spad__fail_host_memory(error);
    const spad_status status = spad_report_add_box(d->report, &box, error);
    if (status == SPAD_OK) set_tile(&d->tiles, key, d->report->boxes.count - 1);
    return status;
}

/* Does the operation read the tile as well? */
static bool reads_too(const spad_walk_event *event, const spad_walk_access *access) {
    for (size_t i = 0; i < event->access_count; i++) {
        const spad_walk_access *other = &event->accesses[i];
        if (other->tensor == access->tensor && other->tile == access->tile &&
            (other->kind & SPAD_ACCESS_READ) != 0) {
            return true;
        }
    }
    return false;
}

/* The operation runs in [begin, end). A write after a read is the start of a new life: what
 * was there is not needed any more; unless parts of it are still being read. */
static spad_status touch_tile(drawer *d, const spad_walk_event *event,
                              const spad_walk_access *access, const moment *at, spad_error *error) {
    const spad_kernel_tensor *tensor = spad_kernel_get_tensor(d->kernel, (size_t)access->tensor);
    if (d->report->target->spaces[tensor->space].off_chip) return SPAD_OK;
    const tile_key key = {access->tensor, at->by_slot ? access->slot : access->tile,
                          at->by_slot ? 0 : access->life};
    tile_entry *entry = find_drawn_tile(&d->tiles, key);
    if (entry == NULL) return add_tile(d, access, key, at, error);
    const bool reads = reads_too(event, access);
    spad_report_box *box = &d->report->boxes.items[entry->box];
    const bool renewed = entry->was_read && !reads && !at->by_slot && at->begin >= box->end;
    if (renewed) return add_tile(d, access, key, at, error);
    box->begin = spad__min(box->begin, at->begin);
    box->end = spad__max(box->end, at->end);
    entry->was_read = reads;
    return SPAD_OK;
}

/* False: the simulation has left out what comes now. */
static bool find_moment(const drawer *d, const spad_walk *walk, const spad_walk_event *event,
                        moment *out) {
    out->bar = SPAD__NO_ITEM;
    if (d->times != NULL) {
        spad__sim_time time;
        out->by_slot = false;
        if (!spad__sim_times_find(d->times, walk, event, &time)) return false;
        out->begin = time.begin;
        out->end = time.end;
        out->bar = time.bar;
        return true;
    }
    out->by_slot = event->agent > 0;
    out->begin = out->by_slot ? d->fork : event->time;
    out->end = event->time + 1;
    return true;
}

/* The bytes that the operation moves. A sum beyond 64 bits stays at the largest number. */
static void set_moved(spad_report_bar *bar, const spad_walk_event *event) {
    for (size_t i = 0; i < event->access_count; i++) {
        const spad_walk_access *a = &event->accesses[i];
        if ((a->kind & SPAD_ACCESS_READ) != 0 && !spad__add(bar->reads, a->moved, &bar->reads))
            bar->reads = INT64_MAX;
        if ((a->kind & SPAD_ACCESS_WRITE) != 0 && !spad__add(bar->writes, a->moved, &bar->writes))
            bar->writes = INT64_MAX;
    }
}

/* An operation on the row of its engine. */
static spad_status add_bar(drawer *d, const spad_walk_event *event, const spad_statement *s,
                           const moment *at, spad_error *error) {
    spad_report_bar bar = {
        .row = d->report->target->engines[s->engine].name,
        .name = s->name,
        .begin = at->begin,
        .end = at->end,
        .ready = at->begin,
        .line = s->location.line,
    };
    set_moved(&bar, event);
    return spad_report_add_bar(d->report, &bar, error);
}

static spad_status add_operation(drawer *d, const spad_walk_event *event, const moment *at,
                                 spad_error *error) {
    const spad_statement *s = spad_kernel_get_statement(d->kernel, (size_t)event->statement);
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < event->access_count && status == SPAD_OK; i++) {
        status = touch_tile(d, event, &event->accesses[i], at, error);
    }
    if (at->bar != SPAD__NO_ITEM) set_moved(&d->report->bars.items[at->bar].bar, event);
    const bool has_bar = d->times == NULL && !at->by_slot && s->engine >= 0;
    return status == SPAD_OK && has_bar ? add_bar(d, event, s, at, error) : status;
}

/* What agents touch lives up to the join. */
static void widen(drawer *d, int64_t join) {
    for (size_t i = d->first_box; i < d->report->boxes.count; i++) {
        spad_report_box *box = &d->report->boxes.items[i];
        if (box->begin == d->fork) box->end = spad__max(box->end, join);
    }
}

static spad_status walk_kernel(drawer *d, int64_t limit, bool *cut, spad_error *error) {
    const spad_walk_options options = {
        .agent = SPAD_WALK_ALL, .layout = d->layout, .host = &d->report->host};
    spad_walk *walk;
    spad_status status = spad_walk_create(&walk, d->kernel, &options, error);
    if (status != SPAD_OK) return status;
    const spad_walk_event *event;
    do {
        status = spad_walk_next(&event, walk, error);
        if (status == SPAD_OK) status = spad__report_step(d->report, error);
        if (status != SPAD_OK) break;
        if (event->kind == SPAD_WALK_FORK) d->fork = event->time;
        if (event->kind == SPAD_WALK_JOIN && d->times == NULL) widen(d, event->time);
        moment at;
        *cut = event->time >= limit;
        if (event->kind != SPAD_WALK_OPERATION) continue;
        if (find_moment(d, walk, event, &at))
            status = add_operation(d, event, &at, error);
        else
            d->skipped = true;
    } while (status == SPAD_OK && event->kind != SPAD_WALK_END && !*cut);
    if (status == SPAD_OK && *cut && d->fork >= 0 && d->times == NULL) widen(d, event->time);
    spad_walk_destroy(walk);
    return status;
}

/* ---- barriers in memory ------------------------------------------------------------ */

/* Mbarriers that the planner has put into the same bytes take turns there. Operations have times
 * here and statements have none, so their boxes may be drawn at one time: they are a family. */
static int64_t family_of_barrier(const drawer *d, const spad_layout_buffer *buffer, size_t space) {
    return buffer->mode == SPAD_MODE_AUTO ? d->family + (int64_t)space : SPAD_NO_FAMILY;
}

/* Times that tiles are drawn over the bytes of an mbarrier. */
typedef struct drawn_time {
    int64_t begin;
    int64_t end;
} drawn_time;

typedef SPAD_ARRAY(drawn_time) drawn_times;

static int compare_times(const void *left, const void *right) {
    const drawn_time *a = left;
    const drawn_time *b = right;
    const int order = spad__compare(a->begin, b->begin);
    return order != 0 ? order : spad__compare(a->end, b->end);
}

static spad_rect rect_of_barrier(const spad_layout_buffer *buffer) {
    spad_rect rect = buffer->rect;
    rect.bytes = spad__max(buffer->taken, buffer->rect.bytes);
    return rect;
}

/* In the order of their begins. Where the kernel has placed the mbarrier, tiles in its bytes are
 * shown as they are. False: no memory. */
static bool list_times_of_tiles(const drawer *d, const spad_layout_buffer *buffer, size_t space,
                                size_t tiles, drawn_times *times) {
    const spad_rect rect = rect_of_barrier(buffer);
    for (size_t i = d->first_box; i < tiles && buffer->mode == SPAD_MODE_AUTO; i++) {
        const spad_report_box *box = &d->report->boxes.items[i];
        if (box->space != space || !spad_rect_overlaps(box->rect, rect)) continue;
        if (!spad__array_reserve(&d->report->host, times, 1)) return false;
        times->items[times->count++] = (drawn_time){box->begin, box->end};
    }
    if (times->count > 0) qsort(times->items, times->count, sizeof *times->items, compare_times);
    return true;
}

static spad_status add_barrier(drawer *d, const spad_layout_buffer *buffer, size_t space,
                               drawn_time time, spad_error *error) {
    const spad_kernel_sync *sync = spad_kernel_get_sync(d->kernel, (size_t)buffer->sync);
    const spad_report_box box = {.name = buffer->name,
                                 .mode = buffer->mode,
                                 .space = space,
                                 .rect = rect_of_barrier(buffer),
                                 .padding = buffer->padding,
                                 .begin = time.begin,
                                 .end = time.end,
                                 .family = family_of_barrier(d, buffer, space),
                                 .line = sync->location.line};
    return time.begin < time.end ? spad_report_add_box(d->report, &box, error) : SPAD_OK;
}

/* An mbarrier that the planner has put over tiles is live at other times than they are, as the
 * check has proved: it is drawn where they are not. */
static spad_status add_barrier_between(drawer *d, const spad_layout_buffer *buffer, size_t space,
                                       size_t tiles, int64_t end, spad_error *error) {
    drawn_times times = {0};
    const bool listed = list_times_of_tiles(d, buffer, space, tiles, &times);
    spad_status status = listed ? SPAD_OK : spad__fail_host_memory(error);
    int64_t from = 0;
    for (size_t i = 0; i < times.count && status == SPAD_OK; i++) {
        status = add_barrier(d, buffer, space, (drawn_time){from, times.items[i].begin}, error);
        from = spad__max(from, times.items[i].end);
    }
    if (status == SPAD_OK) status = add_barrier(d, buffer, space, (drawn_time){from, end}, error);
    spad__array_free(&d->report->host, &times);
    return status;
}

/* Objects that are not tensors are drawn over the whole time. */
static spad_status draw_barriers(drawer *d, spad_error *error) {
    const size_t tiles = d->report->boxes.count;
    int64_t end = 1;
    for (size_t i = d->first_box; i < tiles; i++) {
        end = spad__max(end, d->report->boxes.items[i].end);
    }
    for (size_t k = 0; k < spad_layout_space_count(d->layout); k++) {
        const spad_layout_space *space = spad_layout_get_space(d->layout, k);
        for (size_t i = 0; i < space->buffer_count; i++) {
            const spad_layout_buffer *buffer =
                spad_layout_get_buffer(d->layout, space->first_buffer + i);
            if (buffer->sync < 0) continue;
            const spad_status status =
                add_barrier_between(d, buffer, space->space, tiles, end, error);
            if (status != SPAD_OK) return status;
        }
    }
    return SPAD_OK;
}

/* ---- buffers over statements ------------------------------------------------------- */

/* Where the planner has a buffer: with the change that is drawn, or in its best plan, which may be
 * above what there is. False: it is not on the chip. */
static bool find_buffer(const drawer *d, const spad_layout_space *space, size_t number,
                        spad_rect *rect) {
    const spad__placing *with = d->with;
    const bool changed = with != NULL && with->space == space->space;
    const spad_plan_place *places = changed                 ? with->places
                                    : space->result != NULL ? space->result->places
                                                            : NULL;
    for (size_t k = 0; changed && k < with->spilled_count; k++)
        if (with->spilled[k] == number) return false;
    if (number >= space->planned_count || places == NULL) return true;
    rect->byte = places[number].offset;
    rect->lane = places[number].lane;
    return true;
}

/* The slots of one buffer. */
static spad_status add_buffer(drawer *d, const spad_layout_space *space, size_t number,
                              spad_error *error) {
    const spad_layout_buffer *buffer =
        spad_layout_get_buffer(d->layout, space->first_buffer + number);
    spad_rect rect = buffer->rect;
    if (!find_buffer(d, space, number, &rect)) return SPAD_OK;
    spad_status status = SPAD_OK;
    for (int64_t s = 0; s < buffer->slots && status == SPAD_OK; s++) {
        char name[160];
        snprintf(name, sizeof name, buffer->slots > 1 ? "%.100s[%" PRId64 "]" : "%.100s",
                 buffer->name, buffer->slot + s);
        spad_report_box box = {.name = name,
                               .mode = buffer->mode,
                               .space = space->space,
                               .rect = rect,
                               .begin = buffer->begin,
                               .end = buffer->end,
                               .slot = s,
                               .slots = buffer->slots > 1 ? buffer->slots : 0,
                               .family = space->agents_ordered ? d->family + (int64_t)space->space
                                                               : SPAD_NO_FAMILY};
        /* what is lost to rounding is after each slot */
        const int64_t taken =
            s + 1 < buffer->slots ? buffer->stride : buffer->taken - s * buffer->stride;
        if (taken > box.rect.bytes && buffer->mode == SPAD_MODE_AUTO) {
            box.padding = taken - box.rect.bytes;
            box.rect.bytes = taken;
        }
        if (buffer->tensor >= 0) {
            box.line = spad_kernel_get_tensor(d->kernel, (size_t)buffer->tensor)->location.line;
        }
        if (rect.byte != SPAD_NO_BYTE) box.rect.byte = rect.byte + s * buffer->stride;
        if (box.begin < box.end) status = spad_report_add_box(d->report, &box, error);
    }
    return status;
}

/* All buffers over the statements of the kernel. */
static spad_status draw_buffers(drawer *d, spad_error *error) {
    spad_status status = SPAD_OK;
    d->report->time_unit = "statement";
    for (size_t k = 0; k < spad_layout_space_count(d->layout); k++) {
        const spad_layout_space *space = spad_layout_get_space(d->layout, k);
        for (size_t i = 0; i < space->buffer_count && status == SPAD_OK; i++) {
            status = add_buffer(d, space, i, error);
        }
    }
    return status;
}

/* ---- the whole --------------------------------------------------------------------- */

/* Tiles of the walk, bars of the simulation if there is one, barriers. */
static spad_status draw_run(drawer *d, const spad_sim *sim, int64_t limit, bool *cut,
                            spad_error *error) {
    spad__sim_times times;
    spad_status status = SPAD_OK;
    if (sim != NULL) {
        status = spad__take_sim_unit(d->report, sim, error);
        if (status != SPAD_OK) return status;
        d->times = &times;
        status = spad__sim_times_start(&times, sim, d->kernel, &d->report->host, error);
        if (status != SPAD_OK) return status;
        status = spad__add_sim_bars(d->report, &times, error);
    }
    if (status == SPAD_OK) status = walk_kernel(d, limit, cut, error);
    if (status == SPAD_OK) status = draw_barriers(d, error);
    if (sim != NULL) spad__sim_times_end(&times);
    return status;
}

static spad_status check_target(const spad_report *report, const spad_layout *layout,
                                spad_error *error) {
    if (spad_kernel_get_target(spad_layout_get_kernel(layout)) == report->target) return SPAD_OK;
    return spad__fail(error, SPAD_ERR_ARGUMENT, "the kernel is for another target than '%s'",
                      report->target->name);
}

static spad_status check_layout(spad_report *report, const spad_layout *layout, spad_error *error) {
    const spad__origin origin = spad__origin_of(spad_layout_get_kernel(layout));
    const spad_status status = spad__report_take_origin(report, "layout", &origin, error);
    return status == SPAD_OK ? check_target(report, layout, error) : status;
}

spad_status spad_report_add_buffers(spad_report *report, const spad_layout *layout,
                                    spad_error *error) {
    const spad__mark before = spad__report_mark(report);
    spad_status status = spad__report_take_program(report, spad_layout_get_kernel(layout), error);
    if (status == SPAD_OK) status = spad__report_add_placing(report, layout, NULL, error);
    if (status != SPAD_OK) spad__report_restore(report, before);
    return status;
}

spad_status spad__report_add_placing(spad_report *report, const spad_layout *layout,
                                     const spad__placing *with, spad_error *error) {
    drawer d = {
        .report = report, .kernel = spad_layout_get_kernel(layout), .layout = layout, .with = with};
    const spad__mark before = spad__report_mark(report);
    spad_status status = check_layout(report, layout, error);
    if (status == SPAD_OK) status = draw_buffers(&d, error);
    if (status != SPAD_OK) spad__report_restore(report, before);
    return status;
}

spad_status spad_report_add_layout(spad_report *report, const spad_layout *layout,
                                   const spad_sim *sim, int64_t event_limit, spad_error *error) {
    const spad_kernel *kernel = spad_layout_get_kernel(layout);
    const spad__mark before = spad__report_mark(report);
    spad_status status = SPAD_OK;
    if (sim != NULL)
        status = spad__match_kernels("layout", kernel, "simulation", sim->kernel, error);
    if (status == SPAD_OK) status = check_layout(report, layout, error);
    if (status == SPAD_OK) status = spad__report_take_program(report, kernel, error);
    if (status != SPAD_OK) {
        spad__report_restore(report, before);
        return status;
    }
    if (event_limit <= 0) event_limit = SPAD_REPORT_EVENTS;
    drawer d = {.report = report,
                .kernel = kernel,
                .layout = layout,
                .family = spad__min(spad__next_family(report), INT32_MAX / 2),
                .fork = -1,
                .first_box = report->boxes.count};
    bool cut = false;
    status = find_sharing(&d) ? SPAD_OK : spad__fail_host_memory(error);
    if (status == SPAD_OK) {
        status = spad_layout_fits(layout) ? draw_run(&d, sim, event_limit, &cut, error)
                                          : draw_buffers(&d, error);
    }
    if (status == SPAD_OK && (cut || d.skipped) && report->note_count < SPAD__NOTES) {
        status = spad_report_add_note(report, "not all of the run is drawn", error);
    }
    spad__array_free(&report->host, &d.tiles.entries);
    spad__index_free(&d.tiles.index, &report->host);
    const size_t tensors = spad_kernel_tensor_count(kernel) + 1;
    spad__free(&report->host, d.shares, tensors * sizeof *d.shares);
    spad__free(&report->host, d.buffers, tensors * sizeof *d.buffers);
    if (status != SPAD_OK) spad__report_restore(report, before);
    return status;
}
