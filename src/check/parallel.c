/* SPDX-License-Identifier: Apache-2.0
 *
 * Parallel loops: do their iterations depend on each other?
 *
 * `parallel` promises that they do not (as affine_range of NKI does), so a compiler may run
 * them in any order. What is asked here is about tiles, not about places: that a ring makes
 * an iteration wait for an older one is no dependence. Two iterations of one run of the loop
 * that touch the same byte of the same tile may both read it, or both add to it with
 * `updates`, since sums can be made in any order. Anything else is a dependence.
 *
 * For every byte of every tile that a run of the loop has touched, the map (bytemap.h) names a
 * touch: an iteration and what it did, or that there are several iterations which all read,
 * or all add. That is enough to see the first touch that does not go with those before.
 *
 * One walk per parallel loop, over the events of the given shape. Different names of one
 * storage are taken as different tensors.
 */
#include <stdio.h>

#include "base/checked.h"
#include "check/bytemap.h"
#include "check/check.h"
#include "check/life.h"
#include "check/size.h"

/* Events up to which all are walked, and how many are if there are more. */
enum { PARALLEL_ALL = 4000000, PARALLEL_FIRST = 65536 };

/* What an iteration does to a byte. */
enum { READS = 1, ADDS = 2, WRITES = 4 };

/* What bytes have seen. Number 0 is nothing. */
typedef struct parallel_touch {
    unsigned does;
    int64_t iteration;
    int64_t statement; /* that writes, or adds, or else reads */
    int64_t reader;    /* statement that reads; -1: none */
    bool several;      /* iterations; then also: */
    int64_t another;   /* not the one above */
} parallel_touch;

/* The bytes of a tile, in one run of the loop. */
typedef struct tile {
    int64_t tensor;
    int64_t number;
    int64_t life;
    int64_t run;
    spad__bytemap map;
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
    int64_t runs;      /* of the loop so far */
    int64_t iteration; /* of the loop */
    bool inside;
    SPAD_ARRAY(tile) tiles;
    spad__index tile_index;
    SPAD_ARRAY(parallel_touch) touches;
    SPAD_ARRAY(spad__writer_row) rows; /* per touch; the maps need them */
    SPAD_ARRAY(part) parts;            /* scratch */
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

/* The bytes of a tile, counted from its start; untouched in this run of the loop, or life of the
 * tensor, at first. NULL: no memory. */
static spad__bytemap *tile_map(scan *l, const spad_walk_access *access) {
    const spad_kernel_tensor *tensor = &l->kernel->tensors.items[access->tensor];
    tile *t = find_tile(l, access->tensor, access->tile);
    if (t != NULL && t->run == l->runs && t->life == access->life) return &t->map;
    if (t != NULL) {
        spad__bytemap_free(&t->map, &l->host);
    } else {
        if (!spad__array_reserve(&l->host, &l->tiles, 1) ||
            !spad__index_reserve(&l->tile_index, &l->host, 1)) {
            return NULL;
        }
        spad__index_add(&l->tile_index, hash_tile(access->tensor, access->tile), l->tiles.count);
        t = &l->tiles.items[l->tiles.count++];
    }
    *t = (tile){
        .tensor = access->tensor, .number = access->tile, .life = access->life, .run = l->runs};
    return spad__bytemap_init(&t->map, &l->host, 0, tensor->tile_lanes, 0, tensor->tile_bytes)
               ? &t->map
               : NULL;
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
    if (spad__count_finding(l->run, SPAD_FINDING_PARALLEL_DEPENDENCE, event->statement,
                            before.statement)) {
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

/* What bytes have seen with one touch more. *clash: it does not go with those before. */
static parallel_touch combine(const scan *l, const parallel_touch *before, unsigned does,
                              int64_t statement, bool *clash) {
    parallel_touch now = {.does = does,
                          .iteration = l->iteration,
                          .statement = statement,
                          .reader = does == READS ? statement : -1};
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

static bool add_touch(scan *l, parallel_touch t) {
    if (!spad__array_reserve(&l->host, &l->touches, 1) ||
        !spad__array_reserve(&l->host, &l->rows, 1)) {
        return false;
    }
    l->touches.items[l->touches.count++] = t;
    l->rows.items[l->rows.count++] = (spad__writer_row){0};
    return true;
}

/* A number for what bytes have seen; 0: no memory. The newest is often the same again. */
static spad__writer number_of(scan *l, parallel_touch t) {
    const size_t count = l->touches.count;
    const parallel_touch *last = &l->touches.items[count - 1];
    if (last->does == t.does && last->several == t.several && last->iteration == t.iteration &&
        last->statement == t.statement && last->reader == t.reader && last->another == t.another) {
        return (spad__writer)(count - 1);
    }
    return add_touch(l, t) ? (spad__writer)count : 0;
}

static unsigned kind_of_touch(const spad_walk_access *access) {
    if ((access->kind & SPAD_ACCESS_UPDATE) == SPAD_ACCESS_UPDATE) return ADDS;
    return (access->kind & SPAD_ACCESS_WRITE) != 0 ? WRITES : READS;
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

static spad_status touch_access(scan *l, const spad_walk_event *event,
                                const spad_walk_access *access, spad_error *error) {
    const unsigned does = kind_of_touch(access);
    spad__bytemap *map = tile_map(l, access);
    if (map == NULL || !list_parts(l, map, access)) return spad__fail_host_memory(error);
    for (size_t i = 0; i < l->parts.count; i++) {
        const part p = l->parts.items[i];
        const parallel_touch before = l->touches.items[p.touch];
        bool clash;
        const spad__writer now = number_of(l, combine(l, &before, does, event->statement, &clash));
        spad__writers writers = {.rows = l->rows.items};
        spad__spot hint = {0, 0};
        if (now == 0 || !spad__bytemap_write(map, &l->host, &writers, p.rect, 1, 0, now, &hint)) {
            return spad__fail_host_memory(error);
        }
        if (!clash) continue;
        const spad_status status = report(l, event, access, does, before, error);
        if (status != SPAD_OK) return status;
    }
    return SPAD_OK;
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
            status = touch_access(l, event, &event->accesses[i], error);
        }
        break;
    default: break;
    }
    return status;
}

/* All events, unless there are so many that the shape itself is not run either where a smaller
 * one represents it. */
static int64_t limit_of_parallel(const spad__run *run) {
    const bool all = spad__events_most(run->kernel) <= PARALLEL_ALL;
    return spad__min(all ? INT64_MAX : PARALLEL_FIRST, run->options->event_limit);
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
    if (!add_touch(l, (parallel_touch){.does = 0})) status = spad__fail_host_memory(error);
    const int64_t limit = limit_of_parallel(l->run);
    for (int64_t events = 0; status == SPAD_OK; events++) {
        const spad_walk_event *event;
        if (events == limit) {
            l->run->parallel_left = limit;
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

spad_status spad__check_parallel(spad__run *run, spad_error *error) {
    const spad_kernel *k = run->kernel;
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < k->loops.count && status == SPAD_OK; i++) {
        if (!k->loops.items[i].parallel) continue;
        scan l = {.run = run, .kernel = k, .host = run->check->host, .loop = (int64_t)i};
        status = walk_loop(&l, error);
        for (size_t t = 0; t < l.tiles.count; t++) {
            spad__bytemap_free(&l.tiles.items[t].map, &l.host);
        }
        spad__array_free(&l.host, &l.tiles);
        spad__array_free(&l.host, &l.touches);
        spad__array_free(&l.host, &l.rows);
        spad__array_free(&l.host, &l.parts);
        spad__index_free(&l.tile_index, &l.host);
    }
    return status;
}
