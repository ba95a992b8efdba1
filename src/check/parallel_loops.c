/* SPDX-License-Identifier: Apache-2.0
 *
 * Parallel loops: do their iterations depend on each other?
 *
 * `parallel` promises that they do not (as affine_range of NKI does), so a compiler may run
 * them in any order. This is about tiles, not about places: that a ring makes
 * an iteration wait for an older one is no dependence. Two iterations of one run of the loop
 * that touch the same byte of the same tile may both read it, or both add to it with
 * `updates`, since sums can be made in any order. Anything else is a dependence.
 *
 * Most tensors are settled by their indices, whatever the trip counts are (disjoint_iterations.h).
 * For the others the events of the given shape are walked: for every byte of every tile that a run
 * of the loop has touched, a touch is known: an iteration and what it did, or that there are
 * several iterations which all read, or all add. That is enough to see the first touch that does
 * not go with those before. A tile that was only touched as a whole has one touch; others have a
 * map (last_writers.h). Linear in the events; memory for the tiles of one run of the loop.
 *
 * Different names of one storage are taken as different tensors.
 */
#include <stdio.h>

#include "base/checked.h"
#include "check/disjoint_iterations.h"
#include "check/last_writers.h"
#include "check/live_ranges.h"
#include "check/passes.h"

/* Events between two looks at the time. */
enum { EVENTS_PER_LOOK = 65536 };

/* How an iteration touches a byte. */
enum { READS = 1, ADDS = 2, WRITES = 4 };

/* Touches of bytes so far. Number 0: none. */
typedef struct parallel_touch {
    int64_t iteration;
    int64_t another;   /* iteration, if there are several */
    int32_t statement; /* that writes, or adds, or else reads */
    int32_t reader;    /* statement that reads; -1: none */
    uint8_t does;
    bool several; /* iterations */
} parallel_touch;

/* A tile in one run of the loop. */
typedef struct tile {
    int64_t tensor;
    int64_t number;
    int64_t life;
    int64_t run;
    parallel_touch whole; /* without a map: of all its bytes */
    spad__bytemap *map;   /* NULL: none */
} tile;

typedef struct part {
    spad_rect rect;
    spad__writer touch;
} part;

typedef struct scan {
    spad__run *run;
    const spad_kernel *kernel;
    spad_host host;
    int64_t loop;
    bool *asked;       /* per tensor: the events are needed */
    int64_t runs;      /* of the loop so far */
    int64_t iteration; /* of the loop */
    bool inside;
    SPAD_ARRAY(tile) tiles;
    spad__index tile_index;
    SPAD_ARRAY(parallel_touch) touches;
    SPAD_ARRAY(spad__writer_row) rows; /* per touch; the maps need them */
    spad__writers writers;             /* of these rows */
    spad__writer newest;
    SPAD_ARRAY(part) parts; /* scratch */
} scan;

/* ---- tiles ------------------------------------------------------------------------- */

static uint64_t hash_tile(int64_t tensor, int64_t number) {
    return spad__hash_add(spad__hash_add(0, tensor), number);
}

static tile *find_tile(const scan *l, int64_t tensor, int64_t number) {
    spad__probe probe = spad__index_probe(&l->tile_index, hash_tile(tensor, number));
    for (size_t i; (i = spad__probe_next(&probe)) != SPAD__NO_ITEM;) {
        tile *t = &l->tiles.items[i];
        if (t->tensor == tensor && t->number == number) return t;
    }
    return NULL;
}

static spad_rect whole_tile(const scan *l, int64_t tensor) {
    const spad_kernel_tensor *t = &l->kernel->tensors.items[tensor];
    return (spad_rect){.lane = 0, .lanes = t->tile_lanes, .byte = 0, .bytes = t->tile_bytes};
}

static void free_map(const scan *l, tile *t) {
    if (t->map == NULL) return;
    spad__bytemap_free(t->map, &l->host);
    spad__free(&l->host, t->map, sizeof *t->map);
    t->map = NULL;
}

/* A tile without touches again: what its map shows may be used again. */
static void clear_tile(scan *l, tile *t) {
    t->whole = (parallel_touch){.does = 0};
    for (size_t b = 0; t->map != NULL && b < t->map->bands.count; b++) {
        const spad__band *band = &t->map->bands.items[b];
        for (size_t c = 0; c < band->chunks.count; c++) {
            const spad__chunk *chunk = &band->chunks.items[c];
            for (size_t i = 0; i < chunk->pieces.count; i++) {
                const spad__writer touch = chunk->pieces.items[i].writer;
                if (touch == 0 || --l->rows.items[touch].pieces > 0) continue;
                l->rows.items[touch].next = l->writers.over;
                l->writers.over = touch;
            }
        }
    }
    free_map(l, t);
}

/* The tile of an access; untouched in this run of the loop, or life of the tensor, at first. NULL:
 * no memory. */
static tile *take_tile(scan *l, const spad_walk_access *access) {
    tile *t = find_tile(l, access->tensor, access->tile);
    if (t != NULL && t->run == l->runs && t->life == access->life) return t;
    if (t != NULL) {
        clear_tile(l, t);
    } else {
        if (!spad__array_reserve(&l->host, &l->tiles, 1) ||
            !spad__index_reserve(&l->tile_index, &l->host, 1)) {
            return NULL;
        }
        spad__index_add(&l->tile_index, hash_tile(access->tensor, access->tile), l->tiles.count);
        t = &l->tiles.items[l->tiles.count++];
        *t = (tile){.tensor = access->tensor, .number = access->tile};
    }
    t->life = access->life;
    t->run = l->runs;
    return t;
}

/* ---- findings ---------------------------------------------------------------------- */

static const char *verb(unsigned does) {
    if ((does & WRITES) != 0) return "writes";
    return (does & ADDS) != 0 ? "updates" : "reads";
}

static spad_status report(scan *l, const spad_walk_event *event, const spad_walk_access *access,
                          unsigned does, parallel_touch before, spad_error *error) {
    const spad_kernel *k = l->kernel;
    if (does == ADDS && (before.does & WRITES) == 0) { /* sums may meet, so it is the read */
        before.does = READS;
        before.statement = before.reader;
    }
    if (spad__count_finding(l->run, SPAD_FINDING_PARALLEL_DEPENDENCE, SPAD_SEVERITY_WARNING,
                            event->statement, before.statement)) {
        return SPAD_OK;
    }
    const int64_t iteration = before.iteration != l->iteration ? before.iteration : before.another;
    const char *loop = k->loops.items[l->loop].name;
    const char *other = k->statements.items[before.statement].name;
    char text[SPAD__TILE_TEXT_MAX];
    spad_finding finding;
    spad__tile_text(k, access->tensor, access->tile, text, sizeof text);
    spad__finding_init(
        &finding, SPAD_FINDING_PARALLEL_DEPENDENCE,
        "%s %s %s (%s = %lld), and %s %s it in another iteration (%s = %lld) of the parallel "
        "loop, which may run before or after; leave `parallel` out, or give each iteration a "
        "tile of its own",
        k->statements.items[event->statement].name, verb(does), text, loop, (long long)l->iteration,
        other, verb(before.does), loop, (long long)iteration);
    spad__finding_add_note(&finding, "%s %s it here", other, verb(before.does));
    spad__finding_set_names(&finding, k->tensors.items[access->tensor].name, loop);
    finding.number = access->tensor;
    return spad__add_finding(l->run, &finding, event->statement, before.statement, error);
}

/* ---- touches ----------------------------------------------------------------------- */

/* Adds a touch to the touches of bytes so far. *clash: it does not go with those before. */
static parallel_touch combine(const scan *l, const parallel_touch *before, unsigned does,
                              int64_t statement, bool *clash) {
    parallel_touch now = {.does = (uint8_t)does,
                          .iteration = l->iteration,
                          .statement = (int32_t)statement,
                          .reader = does == READS ? (int32_t)statement : -1};
    *clash = false;
    if (before->does == 0) return now;
    if (!before->several && before->iteration == l->iteration) {
        now.does |= before->does;
        if (does < before->does) now.statement = before->statement;
        if (does != READS) now.reader = before->reader;
        return now;
    }
    *clash = before->does != does || does == WRITES;
    if (*clash) return now;
    now.several = true;
    now.another = before->iteration != l->iteration ? before->iteration : before->another;
    return now;
}

static bool same_touch(const parallel_touch *a, const parallel_touch *b) {
    return a->does == b->does && a->several == b->several && a->iteration == b->iteration &&
           a->statement == b->statement && a->reader == b->reader && a->another == b->another;
}

/* A number for what bytes have seen; 0: no memory. The newest is often the same again; one that no
 * map shows any more is used again. */
static spad__writer number_of(scan *l, parallel_touch t) {
    const spad__writer newest = l->newest;
    if (newest > 0 && l->rows.items[newest].pieces > 0 &&
        same_touch(&l->touches.items[newest], &t)) {
        return newest;
    }
    spad__writer number = l->writers.over;
    if (number > 0) {
        l->writers.over = l->rows.items[number].next;
    } else {
        const size_t room = l->touches.count == 0 ? 2 : 1; /* the first is nothing */
        if (!spad__array_reserve(&l->host, &l->touches, room) ||
            !spad__array_reserve(&l->host, &l->rows, room)) {
            return 0;
        }
        if (room == 2) l->touches.items[0] = (parallel_touch){.does = 0};
        if (room == 2) l->rows.items[0] = (spad__writer_row){0};
        number = (spad__writer)(l->touches.count + room - 1);
        l->touches.count = l->rows.count = (size_t)number + 1;
    }
    l->touches.items[number] = t;
    l->rows.items[number] = (spad__writer_row){0};
    l->writers.rows = l->rows.items;
    l->newest = number;
    return number;
}

static unsigned kind_of_touch(const spad_walk_access *access) {
    if ((access->kind & SPAD_ACCESS_UPDATE) == SPAD_ACCESS_UPDATE) return ADDS;
    return (access->kind & SPAD_ACCESS_WRITE) != 0 ? WRITES : READS;
}

/* A map for a tile that was touched as a whole so far. False: no memory. */
static bool open_map(scan *l, tile *t) {
    const spad_rect all = whole_tile(l, t->tensor);
    spad__spot hint = {0, 0};
    if (t->map != NULL) return true;
    const spad__writer touch = t->whole.does != 0 ? number_of(l, t->whole) : 0;
    if (t->whole.does != 0 && touch == 0) return false;
    t->map = spad__new(&l->host, sizeof *t->map);
    if (t->map == NULL) return false;
    if (!spad__bytemap_init(t->map, &l->host, 0, all.lanes, 0, all.bytes)) {
        spad__free(&l->host, t->map, sizeof *t->map);
        t->map = NULL;
        return false;
    }
    return touch == 0 ||
           spad__bytemap_write(t->map, &l->host, &l->writers, all, 1, 0, touch, &hint);
}

/* Lists the pieces of an access, which change while they are touched. */
static bool list_parts(scan *l, spad__bytemap *map, const spad_walk_access *access) {
    spad_rect rect = access->rect;
    rect.lane -= access->tile_rect.lane;
    rect.byte -= access->tile_rect.byte;
    spad__spot hint = {0, 0};
    spad__byte_cursor pieces = spad__bytemap_read(map, rect, access->runs, access->stride, &hint);
    part p;
    l->parts.count = 0;
    while (spad__bytemap_next(&pieces, &p.rect, &p.touch)) {
        if (!spad__array_reserve(&l->host, &l->parts, 1)) return false;
        l->parts.items[l->parts.count++] = p;
    }
    return true;
}

/* Touches a part of a tile. */
static spad_status touch_part(scan *l, const spad_walk_event *event, const spad_walk_access *access,
                              tile *t, spad_error *error) {
    const unsigned does = kind_of_touch(access);
    if (!open_map(l, t) || !list_parts(l, t->map, access)) return spad__fail_host_memory(error);
    for (size_t i = 0; i < l->parts.count; i++) {
        const part p = l->parts.items[i];
        const parallel_touch before =
            p.touch > 0 ? l->touches.items[p.touch] : (parallel_touch){.does = 0};
        bool clash;
        const spad__writer now = number_of(l, combine(l, &before, does, event->statement, &clash));
        spad__spot hint = {0, 0};
        if (now == 0 ||
            !spad__bytemap_write(t->map, &l->host, &l->writers, p.rect, 1, 0, now, &hint)) {
            return spad__fail_host_memory(error);
        }
        if (!clash) continue;
        const spad_status status = report(l, event, access, does, before, error);
        if (status != SPAD_OK) return status;
    }
    return SPAD_OK;
}

static spad_status touch_access(scan *l, const spad_walk_event *event,
                                const spad_walk_access *access, spad_error *error) {
    const spad_rect all = whole_tile(l, access->tensor);
    const bool whole =
        access->runs == 1 && access->rect.lanes == all.lanes && access->rect.bytes == all.bytes;
    tile *t = take_tile(l, access);
    if (t == NULL) return spad__fail_host_memory(error);
    if (!whole || t->map != NULL) return touch_part(l, event, access, t, error);
    const parallel_touch before = t->whole;
    const unsigned does = kind_of_touch(access);
    bool clash;
    t->whole = combine(l, &before, does, event->statement, &clash);
    return clash ? report(l, event, access, does, before, error) : SPAD_OK;
}

/* ---- walks ------------------------------------------------------------------------- */

static spad_status scan_event(scan *l, const spad_walk_event *event, spad_error *error) {
    spad_status status = SPAD_OK;
    switch (event->kind) {
    case SPAD_WALK_LOOP_BEGIN:
        if (event->loop != l->loop) break;
        l->inside = true;
        l->runs++;
        break;
    case SPAD_WALK_ITERATION:
        if (event->loop == l->loop) l->iteration = event->value;
        break;
    case SPAD_WALK_LOOP_END: l->inside = l->inside && event->loop != l->loop; break;
    case SPAD_WALK_OPERATION:
        for (size_t i = 0; l->inside && i < event->access_count && status == SPAD_OK; i++) {
            if (!l->asked[event->accesses[i].tensor]) continue;
            status = touch_access(l, event, &event->accesses[i], error);
        }
        break;
    default: break;
    }
    return status;
}

static spad_status walk_loop(scan *l, spad_error *error) {
    const spad_walk_options options = {
        .agent = SPAD_WALK_ALL, .layout = l->run->options->layout, .host = &l->host};
    spad_walk *walk;
    spad_error failure;
    spad_status status = spad__walk_create(&walk, l->kernel, &options, &failure);
    if (status != SPAD_OK) { /* the lifetime check has reported it */
        return spad__attempted(status, error);
    }
    const int64_t limit = l->run->options->event_limit;
    for (int64_t events = 0; status == SPAD_OK; events++) {
        const spad_walk_event *event;
        if (events == limit || (events % EVENTS_PER_LOOK == 0 && spad__is_late(l->run))) {
            l->run->parallel_left = events;
            break;
        }
        status = spad_walk_next(&event, walk, &failure);
        if (status == SPAD_ERR_HOST_MEMORY) {
            spad__fail_host_memory(error);
        } else if (status != SPAD_OK || event->kind == SPAD_WALK_END) {
            status = SPAD_OK;
            break;
        } else {
            status = scan_event(l, event, error);
        }
    }
    spad_walk_destroy(walk);
    return status;
}

/* Which tensors have to be looked at, event by event? */
static bool ask_tensors(const scan *l) {
    bool any = false;
    for (size_t t = 0; t < l->kernel->tensors.count; t++) {
        l->asked[t] = !spad__iterations_apart(l->kernel, l->loop, (int64_t)t);
        any = any || l->asked[t];
    }
    return any;
}

static spad_status check_loop(spad__run *run, int64_t loop, bool *asked, spad_error *error) {
    scan l = {
        .run = run, .kernel = run->kernel, .host = run->check->host, .loop = loop, .asked = asked};
    if (!ask_tensors(&l)) return SPAD_OK;
    const spad_status status = walk_loop(&l, error);
    for (size_t t = 0; t < l.tiles.count; t++) free_map(&l, &l.tiles.items[t]);
    spad__array_free(&l.host, &l.tiles);
    spad__array_free(&l.host, &l.touches);
    spad__array_free(&l.host, &l.rows);
    spad__array_free(&l.host, &l.parts);
    spad__index_free(&l.tile_index, &l.host);
    return status;
}

spad_status spad__check_parallel(spad__run *run, spad_error *error) {
    const spad_kernel *k = run->kernel;
    const spad_host host = run->check->host;
    bool any = false;
    for (size_t i = 0; i < k->loops.count; i++) any = any || k->loops.items[i].parallel;
    if (!any) return SPAD_OK;
    bool *asked = spad__new_array(&host, k->tensors.count + 1, sizeof *asked);
    if (asked == NULL) return spad__fail_host_memory(error);
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < k->loops.count && status == SPAD_OK; i++) {
        if (k->loops.items[i].parallel) status = check_loop(run, (int64_t)i, asked, error);
    }
    spad__free(&host, asked, (k->tensors.count + 1) * sizeof *asked);
    return status;
}
