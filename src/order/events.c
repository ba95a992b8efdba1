/* SPDX-License-Identifier: Apache-2.0
 *
 * Events: one walk per agent, copied. Synchronisation objects get dense numbers in
 * the order of declarations and elements.
 */
#include "order/events.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "kernel/kernel.h"
#include "kernel/place.h"
#include "order/sync.h"

/* Events of one kernel at most: about a kilobyte is kept for each event. */
#define EVENTS_MAX INT64_C(1000000)

static const char too_many_objects[] =
    "there are more than 1000000 synchronisation objects; define a smaller parameter";
static const char too_many_events[] =
    "there are more events than the limit; define a smaller parameter";
static const char not_walked[] = "the kernel cannot be walked to its end";

/* ---- objects ----------------------------------------------------------------------- */

static spad_status number_objects(spad__events *events, spad_error *error) {
    const spad_kernel *kernel = events->kernel;
    int64_t total = 0;
    for (size_t i = 0; i < spad_kernel_sync_count(kernel); i++) {
        const spad_kernel_sync *sync = spad_kernel_get_sync(kernel, i);
        if (!spad__add(total, sync->elements, &total) || total > SPAD__SYNC_OBJECTS_MAX) {
            events->gap = too_many_objects;
            return SPAD_OK;
        }
    }
    if (!spad__array_reserve(&events->host, &events->objects, total)) {
        return spad__fail_host_memory(error);
    }
    for (size_t i = 0; i < spad_kernel_sync_count(kernel); i++) {
        const spad_kernel_sync *sync = spad_kernel_get_sync(kernel, i);
        for (int64_t e = 0; e < sync->elements; e++) {
            events->objects.items[events->objects.count++] =
                (spad__object){(int32_t)i, e, sync->kind, sync->count.value};
        }
    }
    return SPAD_OK;
}

static int32_t object_number(const int32_t *bases, int64_t sync, int64_t element) {
    return sync >= 0 ? (int32_t)(bases[sync] + element) : -1;
}

bool spad__has_cursor(const spad_kernel *kernel, int64_t agent, size_t cursor) {
    const spad_kernel_cursor *row = spad_kernel_get_cursor(kernel, cursor);
    return !row->even && row->agent == agent;
}

/* ---- copying a walk ---------------------------------------------------------------- */

static bool is_kept(spad_walk_kind kind) {
    switch (kind) {
    case SPAD_WALK_TENSOR:
    case SPAD_WALK_ALLOC:
    case SPAD_WALK_FREE:
    case SPAD_WALK_OPERATION:
    case SPAD_WALK_SYNC:
    case SPAD_WALK_FORK:
    case SPAD_WALK_JOIN: return true;
    default: return false;
    }
}

static bool reserve_event(spad__events *events, const spad_walk_event *from, size_t depth) {
    const spad_host *host = &events->host;
    depth += spad_kernel_cursor_count(events->kernel);
    return spad__array_reserve(host, &events->items, 1) &&
           spad__array_reserve(host, &events->accesses, from->access_count) &&
           spad__array_reserve(host, &events->completions, from->completion_count) &&
           spad__array_reserve(host, &events->values, depth);
}

static void copy_parts(spad__events *events, const int32_t *bases, const spad_walk_event *from,
                       const spad_walk *walk, size_t depth) {
    for (size_t i = 0; i < depth; i++) {
        events->values.items[events->values.count++] =
            spad_walk_get_values(walk)[spad_walk_get_loop(walk, i)];
    }
    const spad_kernel *kernel = events->kernel;
    const int64_t agent = events->items.items[events->items.count - 1].agent;
    for (size_t i = 0; i < spad_kernel_cursor_count(kernel); i++) {
        if (!spad__has_cursor(kernel, agent, i)) continue;
        events->values.items[events->values.count++] =
            spad_walk_get_values(walk)[spad_kernel_loop_count(kernel) + i];
    }
    for (size_t i = 0; i < from->access_count; i++) {
        events->accesses.items[events->accesses.count++] = from->accesses[i];
    }
    for (size_t i = 0; i < from->completion_count; i++) {
        const spad_walk_completion *c = &from->completions[i];
        const int32_t object = object_number(bases, c->object, c->element);
        events->completions.items[events->completions.count++] =
            (spad__event_completion){c->kind, object, c->amount, c->flags};
    }
}

static spad_status copy_event(spad__events *events, const int32_t *bases,
                              const spad_walk_event *from, const spad_walk *walk, int32_t agent,
                              spad_error *error) {
    const size_t depth = spad_walk_loop_count(walk);
    if (!reserve_event(events, from, depth)) return spad__fail_host_memory(error);
    const spad_statement *s =
        from->statement >= 0 ? spad_kernel_get_statement(events->kernel, (size_t)from->statement)
                             : NULL;
    const bool operation = from->kind == SPAD_WALK_OPERATION;
    events->items.items[events->items.count++] = (spad__event){
        .kind = from->kind,
        .agent = agent,
        .statement = (int32_t)from->statement,
        .unit = s != NULL ? (int32_t)s->unit : -1,
        .object = operation ? object_number(bases, s->group, 0)
                            : object_number(bases, from->object, from->element),
        .flags = s != NULL ? s->flags : 0,
        .tensor = from->tensor,
        .tile = from->tile,
        .amount = from->amount,
        .expect = from->expect,
        .first_value = events->values.count,
        .first_access = events->accesses.count,
        .access_count = from->access_count,
        .first_completion = events->completions.count,
        .completion_count = from->completion_count,
    };
    copy_parts(events, bases, from, walk, depth);
    return SPAD_OK;
}

/* One tile of an ALLOC or FREE event, as an access that writes; of a ring the slot with that
 * number. */
static void fill_tile(const spad__events *events, const spad__run *run, int64_t number,
                      int64_t tile, spad_walk_access *access) {
    const spad_kernel_tensor *tensor = spad_kernel_get_tensor(events->kernel, (size_t)number);
    *access = (spad_walk_access){.tensor = number,
                                 .kind = SPAD_ACCESS_WRITE,
                                 .tile = tile,
                                 .live = true,
                                 .home = number,
                                 .slot = tile,
                                 .runs = 1};
    int64_t index[SPAD_RANK_MAX];
    spad__tile_index(tensor, tile, index);
    access->placed = spad__tile_place(events->kernel, tensor, tile, index, &access->rect);
    if (!access->placed && run->options->layout != NULL) {
        access->placed = spad_layout_get_place(&access->rect, run->options->layout, number, tile);
    }
    access->rect.lanes = tensor->tile_lanes;
    access->rect.bytes = tensor->tile_bytes;
    access->tile_rect = access->rect;
}

/* The slots of an ALLOC or FREE event. */
static spad_status copy_tiles(spad__events *events, const spad__run *run, spad_error *error) {
    spad__event *event = &events->items.items[events->items.count - 1];
    const spad_kernel_tensor *tensor =
        spad_kernel_get_tensor(events->kernel, (size_t)event->tensor);
    const bool automatic = tensor->mode == SPAD_MODE_AUTO;
    if (!automatic && tensor->mode != SPAD_MODE_AT && tensor->mode != SPAD_MODE_MOD) return SPAD_OK;
    int64_t from = 0;
    int64_t to = automatic ? tensor->slots : tensor->tiles;
    if (event->tile >= 0) {
        int64_t index[SPAD_RANK_MAX];
        spad__tile_index(tensor, event->tile, index);
        from = automatic ? spad__tile_slot(tensor, event->tile, index) : event->tile;
        to = from + 1;
    }
    if (to - from > EVENTS_MAX) {
        events->gap = too_many_events;
        return SPAD_OK;
    }
    if (!spad__array_reserve(&events->host, &events->accesses, to - from)) {
        return spad__fail_host_memory(error);
    }
    for (int64_t tile = from; tile < to; tile++) {
        spad_walk_access *access = &events->accesses.items[events->accesses.count++];
        fill_tile(events, run, event->tensor, tile, access);
        event->access_count++;
    }
    return SPAD_OK;
}

enum { EVENTS_A_LOOK = 4096 }; /* at the clock */

static spad_status walk_agent(spad__events *events, const spad__run *run, const int32_t *bases,
                              int32_t agent, spad_error *error) {
    const spad_walk_options options = {
        .agent = agent, .layout = run->options->layout, .host = &events->host};
    spad_walk *walk;
    spad_status status = spad__walk_create(&walk, events->kernel, &options, NULL);
    const spad_walk_event *event;
    const int64_t limit = spad__min(run->options->event_limit, EVENTS_MAX);
    const int64_t before = (int64_t)events->items.count;
    while (status == SPAD_OK) {
        status = spad_walk_next(&event, walk, NULL);
        if (status != SPAD_OK || event->kind == SPAD_WALK_END || events->gap != NULL) break;
        if (event->time >= limit - before) {
            events->gap = too_many_events;
            break;
        }
        if (event->time % EVENTS_A_LOOK == EVENTS_A_LOOK - 1 && spad__is_late(run)) {
            events->gap = spad__time_is_up;
            break;
        }
        if (!is_kept(event->kind)) continue;
        status = copy_event(events, bases, event, walk, agent, NULL);
        const bool tiles = event->kind == SPAD_WALK_ALLOC || event->kind == SPAD_WALK_FREE;
        if (status == SPAD_OK && tiles) status = copy_tiles(events, run, NULL);
    }
    spad_walk_destroy(walk);
    if (status != SPAD_OK && status != SPAD_ERR_HOST_MEMORY) events->gap = not_walked;
    return spad__attempted(status, error);
}

static spad_status walk_agents(spad__events *events, const spad__run *run, const int32_t *bases,
                               spad_error *error) {
    const size_t agents = spad_kernel_agent_count(events->kernel);
    if (!spad__array_reserve(&events->host, &events->firsts, agents + 1)) {
        return spad__fail_host_memory(error);
    }
    for (size_t agent = 0; agent < agents; agent++) {
        events->firsts.items[events->firsts.count++] = events->items.count;
        if (events->gap == NULL && spad__is_late(run)) events->gap = spad__time_is_up;
        if (events->gap != NULL) continue;
        const spad_status status = walk_agent(events, run, bases, (int32_t)agent, error);
        if (status != SPAD_OK) return status;
    }
    events->firsts.items[events->firsts.count++] = events->items.count;
    return SPAD_OK;
}

/* ---- storages ---------------------------------------------------------------------- */

/* An access and its storage: the whole space for a placed tensor, else the slot itself. */
typedef struct stored {
    int64_t home; /* space when placed: -1 - space */
    int64_t slot; /* 0 when placed */
    size_t access;
} stored;

static stored stored_at(const spad__events *events, size_t number) {
    const spad_walk_access *access = &events->accesses.items[number];
    if (!access->placed) return (stored){access->home, access->slot, number};
    const spad_kernel_tensor *tensor = spad_kernel_get_tensor(events->kernel, (size_t)access->home);
    return (stored){-1 - (int64_t)tensor->space, 0, number};
}

static int compare_stored(const void *left, const void *right) {
    const stored *a = left;
    const stored *b = right;
    if (a->home != b->home) return a->home < b->home ? -1 : 1;
    if (a->slot != b->slot) return a->slot < b->slot ? -1 : 1;
    return (a->access > b->access) - (a->access < b->access);
}

static spad_status number_storages(spad__events *events, spad_error *error) {
    const size_t count = events->accesses.count;
    if (count == 0) return SPAD_OK;
    events->storage = spad__new_array(&events->host, count, sizeof *events->storage);
    stored *all = spad__new_array(&events->host, count, sizeof *all);
    if (events->storage == NULL || all == NULL) {
        spad__free(&events->host, events->storage, count * sizeof *events->storage);
        spad__free(&events->host, all, count * sizeof *all);
        events->storage = NULL;
        return spad__fail_host_memory(error);
    }
    for (size_t i = 0; i < count; i++) all[i] = stored_at(events, i);
    qsort(all, count, sizeof *all, compare_stored);
    for (size_t i = 0; i < count; i++) {
        const bool same = i > 0 && all[i - 1].home == all[i].home && all[i - 1].slot == all[i].slot;
        if (!same) events->storages++;
        events->storage[all[i].access] = events->storages - 1;
    }
    spad__free(&events->host, all, count * sizeof *all);
    return SPAD_OK;
}

spad_status spad__events_collect(spad__events *events, const spad__run *run, spad_error *error) {
    *events = (spad__events){.host = run->check->host, .kernel = run->kernel};
    spad_status status = number_objects(events, error);
    if (status != SPAD_OK || events->gap != NULL) return status;
    const size_t syncs = spad_kernel_sync_count(run->kernel);
    int32_t *bases = spad__new_array(&events->host, syncs + 1, sizeof *bases);
    if (bases == NULL) return spad__fail_host_memory(error);
    for (size_t i = 0; i < syncs; i++) {
        bases[i + 1] = bases[i] + (int32_t)spad_kernel_get_sync(run->kernel, i)->elements;
    }
    status = walk_agents(events, run, bases, error);
    spad__free(&events->host, bases, (syncs + 1) * sizeof *bases);
    return status == SPAD_OK ? number_storages(events, error) : status;
}

void spad__events_free(spad__events *events) {
    const spad_host host = events->host;
    spad__free(&host, events->storage, events->accesses.count * sizeof *events->storage);
    events->storage = NULL;
    spad__array_free(&host, &events->items);
    spad__array_free(&host, &events->accesses);
    spad__array_free(&host, &events->completions);
    spad__array_free(&host, &events->values);
    spad__array_free(&host, &events->objects);
    spad__array_free(&host, &events->firsts);
}

/* ---- words ------------------------------------------------------------------------- */

/* Adds to a text that may be full already. */
static void add_text(char *field, size_t *used, const char *text) {
    for (; *text != '\0' && *used < SPAD__PHRASE_MAX - 1; text++) field[(*used)++] = *text;
    field[*used] = '\0';
}

static void add_number(char *field, size_t *used, int64_t number) {
    char digits[24];
    snprintf(digits, sizeof digits, "%lld", (long long)number);
    add_text(field, used, digits);
}

static void add_iteration(const spad__events *events, const spad__event *event, char *field,
                          size_t *used) {
    const spad_kernel *kernel = events->kernel;
    int64_t loops[SPAD__LOOPS_DEEP];
    size_t depth = 0;
    int64_t number = spad_kernel_get_statement(kernel, (size_t)event->statement)->loop;
    while (number >= 0 && depth < SPAD__LOOPS_DEEP) {
        loops[depth++] = number;
        number = spad_kernel_get_loop(kernel, (size_t)number)->outer;
    }
    for (size_t i = 0; i < depth; i++) {
        add_text(field, used, i == 0 ? " of iteration " : ", ");
        add_text(field, used, spad_kernel_get_loop(kernel, (size_t)loops[depth - 1 - i])->name);
        add_text(field, used, " = ");
        add_number(field, used,
                   spad__loop_value(kernel, loops[depth - 1 - i],
                                    &events->values.items[event->first_value]));
    }
}

static void add_subject(const spad__events *events, const spad__event *event, char *field,
                        size_t *used) {
    if (event->kind == SPAD_WALK_OPERATION) return;
    if (event->object >= 0) {
        char object[SPAD__PHRASE_MAX];
        spad__object_phrase(events, event->object, object);
        add_text(field, used, " ");
        add_text(field, used, object);
    } else if (event->tensor >= 0) {
        add_text(field, used, " ");
        add_text(field, used, spad_kernel_get_tensor(events->kernel, (size_t)event->tensor)->name);
    }
}

void spad__event_phrase(const spad__events *events, const spad__event *event, char *field) {
    const spad_kernel *kernel = events->kernel;
    size_t used = 0;
    field[0] = '\0';
    if (event->statement < 0) {
        const bool fork = event->kind == SPAD_WALK_FORK;
        add_text(field, &used, fork ? "the start of the agents" : "the end of the agents");
        return;
    }
    const spad_statement *s = spad_kernel_get_statement(kernel, (size_t)event->statement);
    const bool operation = s->kind == SPAD_STATEMENT_OPERATION;
    add_text(field, &used, operation ? s->name : spad_statement_kind_name(s->kind));
    add_subject(events, event, field, &used);
    add_iteration(events, event, field, &used);
    if (event->agent > 0) {
        add_text(field, &used, " (");
        add_text(field, &used, spad_kernel_get_agent(kernel, (size_t)event->agent)->name);
        add_text(field, &used, ")");
    }
}

void spad__object_phrase(const spad__events *events, int32_t object, char *field) {
    const spad__object *o = &events->objects.items[object];
    const spad_kernel_sync *sync = spad_kernel_get_sync(events->kernel, (size_t)o->sync);
    int64_t index[SPAD_RANK_MAX];
    int64_t rest = o->element;
    for (size_t i = sync->dims.count; i-- > 0;) {
        index[i] = rest % sync->dims.items[i].value;
        rest /= sync->dims.items[i].value;
    }
    size_t used = 0;
    add_text(field, &used, sync->name);
    for (size_t i = 0; i < sync->dims.count; i++) {
        add_text(field, &used, i == 0 ? "[" : ", ");
        add_number(field, &used, index[i]);
    }
    if (sync->dims.count > 0) add_text(field, &used, "]");
}
