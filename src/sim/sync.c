/* SPDX-License-Identifier: Apache-2.0
 *
 * Barriers, counters, mbarriers and groups: plain state machines. Everything here takes
 * no time; a wait is tried again when something has happened.
 */
#include <stdio.h>

#include "base/checked.h"
#include "sim/agents.h"

/* ---- life -------------------------------------------------------------------------- */

static void preset(spad__object *o, const spad_kernel_sync *sync) {
    *o = (spad__object){.count = sync->count.value, .row = -1};
    if (sync->kind == SPAD_SYNC_COUNTER || sync->kind == SPAD_SYNC_MBARRIER) {
        o->value = sync->count.value;
    }
}

bool spad__objects_make(spad__objects *objects, const spad_host *host, const spad_kernel *kernel) {
    const size_t syncs = spad_kernel_sync_count(kernel);
    *objects = (spad__objects){.host = host, .kernel = kernel, .overflown = -1};
    objects->first = spad__new_array(host, syncs + 1, sizeof *objects->first);
    if (objects->first == NULL) return false;
    for (size_t i = 0; i < syncs; i++) {
        objects->first[i] = objects->object_count;
        objects->object_count += (size_t)spad_kernel_get_sync(kernel, i)->elements;
    }
    const size_t bundles = spad_kernel_agent_count(kernel) * syncs + 1;
    objects->objects = spad__new_array(host, objects->object_count + 1, sizeof *objects->objects);
    objects->bundles = spad__new_array(host, bundles, sizeof *objects->bundles);
    if (objects->objects == NULL || objects->bundles == NULL) return false;
    for (size_t i = 0; i < syncs; i++) {
        const spad_kernel_sync *sync = spad_kernel_get_sync(kernel, i);
        for (int64_t e = 0; e < sync->elements; e++) {
            preset(&objects->objects[objects->first[i] + (size_t)e], sync);
        }
    }
    return true;
}

void spad__objects_free(spad__objects *objects) {
    if (objects->kernel == NULL) return;
    const size_t syncs = spad_kernel_sync_count(objects->kernel);
    const size_t bundles = spad_kernel_agent_count(objects->kernel) * syncs + 1;
    for (size_t i = 0; objects->bundles != NULL && i < bundles; i++) {
        spad__array_free(objects->host, &objects->bundles[i].items);
    }
    spad__free(objects->host, objects->bundles, bundles * sizeof *objects->bundles);
    spad__free(objects->host, objects->objects,
               (objects->object_count + 1) * sizeof *objects->objects);
    spad__free(objects->host, objects->first, (syncs + 1) * sizeof *objects->first);
    *objects = (spad__objects){0};
}

spad__object *spad__objects_get(const spad__objects *objects, int64_t object, int64_t element) {
    return &objects->objects[objects->first[object] + (size_t)element];
}

static spad__bundles *bundles_of(const spad__objects *objects, int64_t agent, int64_t group) {
    const size_t syncs = spad_kernel_sync_count(objects->kernel);
    return &objects->bundles[(size_t)agent * syncs + (size_t)group];
}

/* ---- changes ----------------------------------------------------------------------- */

/* Adds to an amount of an object. What does not fit is left as it is, and reported at the end. */
static void add(spad__objects *objects, int64_t object, int64_t *amount, int64_t more) {
    if (!spad__add(*amount, more, amount)) objects->overflown = object;
}

static void take(spad__objects *objects, int64_t object, int64_t *amount, int64_t less) {
    if (!spad__sub(*amount, less, amount)) objects->overflown = object;
}

static void complete_phase(spad__object *o) {
    if (o->value > 0 || o->bytes != 0) return;
    o->phase++;
    o->value = o->count;
}

static void arrive(spad__objects *objects, int64_t object, spad__object *o, int64_t amount,
                   int64_t expect, bool drop, int64_t row) {
    add(objects, object, &o->bytes, expect);
    take(objects, object, &o->value, amount);
    if (drop) take(objects, object, &o->count, amount);
    o->row = row;
    complete_phase(o);
}

/* A contribution to a barrier. When it is complete it starts anew: what was too much is gone. */
static void contribute(spad__objects *objects, int64_t object, spad__object *o, int64_t amount,
                       int64_t row) {
    add(objects, object, &o->value, amount);
    o->row = row;
    if (o->value < o->count) return;
    o->value = 0;
    o->phase++;
}

void spad__objects_complete(spad__objects *objects, const spad_walk_completion *completion,
                            int64_t row) {
    spad__object *o = spad__objects_get(objects, completion->object, completion->element);
    o->row = row;
    switch (completion->kind) {
    case SPAD_COMPLETION_DELIVER:
        take(objects, completion->object, &o->bytes, completion->amount);
        complete_phase(o);
        break;
    case SPAD_COMPLETION_ARRIVE:
        arrive(objects, completion->object, o, completion->amount, 0, false, row);
        break;
    case SPAD_COMPLETION_SIGNAL:
        add(objects, completion->object, &o->value, completion->amount);
        break;
    }
}

/* ---- groups ------------------------------------------------------------------------ */

static bool open_bundle(spad__objects *objects, spad__bundles *b) {
    if (!spad__array_reserve(objects->host, &b->items, 1)) return false;
    b->items.items[b->items.count++] = (spad__bundle){0};
    return true;
}

bool spad__objects_join(spad__objects *objects, int64_t agent, int64_t group, size_t *bundle) {
    spad__bundles *b = bundles_of(objects, agent, group);
    if (b->items.count == 0 && !open_bundle(objects, b)) return false;
    *bundle = b->items.count - 1;
    b->items.items[*bundle].running++;
    return true;
}

void spad__objects_leave(spad__objects *objects, int64_t agent, int64_t group, size_t bundle,
                         int64_t row) {
    spad__bundles *b = bundles_of(objects, agent, group);
    b->items.items[bundle].running--;
    b->row = row + 1;
}

static bool is_drained(spad__bundles *b, int64_t pending, int64_t *row) {
    const int64_t committed = b->items.count > 0 ? (int64_t)b->items.count - 1 : 0;
    while ((int64_t)b->done < committed && b->items.items[b->done].running == 0) b->done++;
    *row = b->row - 1;
    return committed - (int64_t)b->done <= pending;
}

/* ---- statements -------------------------------------------------------------------- */

static bool try_barrier(spad__objects *objects, spad__object *o, spad__request *r, int64_t row) {
    if (!r->contributed) {
        r->contributed = true;
        r->phase = o->phase + 1;
        contribute(objects, r->object, o, r->amount, row);
    }
    return o->phase >= r->phase;
}

bool spad__objects_try(spad__objects *objects, spad__request *r, int64_t row, int64_t *cause_row) {
    const bool has_object = r->object >= 0;
    spad__object *o = has_object ? spad__objects_get(objects, r->object, r->element) : NULL;
    *cause_row = o != NULL ? o->row : -1;
    switch (r->kind) {
    case SPAD_STATEMENT_SYNC: {
        const bool passes = try_barrier(objects, o, r, row);
        *cause_row = o->row;
        return passes;
    }
    case SPAD_STATEMENT_ARRIVE:
        if (spad_kernel_get_sync(objects->kernel, (size_t)r->object)->kind == SPAD_SYNC_BARRIER) {
            contribute(objects, r->object, o, r->amount, row);
        } else {
            arrive(objects, r->object, o, r->amount, r->expect, (r->flags & SPAD_SYNC_DROP) != 0,
                   row);
        }
        return true;
    case SPAD_STATEMENT_SIGNAL:
        add(objects, r->object, &o->value, r->amount);
        o->row = row;
        return true;
    case SPAD_STATEMENT_WAIT_VALUE: return o->value >= r->amount;
    case SPAD_STATEMENT_TAKE:
        if (o->value < r->amount) return false;
        o->value -= r->amount;
        return true;
    case SPAD_STATEMENT_INIT:
        *o = (spad__object){.value = r->amount, .count = r->amount, .row = row};
        return true;
    case SPAD_STATEMENT_EXPECT: add(objects, r->object, &o->bytes, r->amount); return true;
    case SPAD_STATEMENT_WAIT_PARITY: return (o->phase & 1) != r->amount;
    case SPAD_STATEMENT_COMMIT: {
        spad__bundles *b = bundles_of(objects, r->agent, r->object);
        const bool first = b->items.count > 0 || open_bundle(objects, b);
        objects->failed = !first || !open_bundle(objects, b);
        return !objects->failed;
    }
    case SPAD_STATEMENT_WAIT_GROUP:
        return is_drained(bundles_of(objects, r->agent, r->object), r->amount, cause_row);
    default: return true; /* invalidate, fence; a drain is looked at elsewhere */
    }
}

void spad__objects_describe(const spad__objects *objects, const spad__request *r, char *field,
                            size_t size) {
    const spad_kernel_sync *sync =
        r->object >= 0 ? spad_kernel_get_sync(objects->kernel, (size_t)r->object) : NULL;
    char name[SPAD_NAME_FACT_MAX + 24];
    if (sync == NULL) {
        snprintf(field, size, "a drain");
        return;
    }
    snprintf(name, sizeof name, sync->dims.count > 0 ? "%.63s[%lld]" : "%.63s", sync->name,
             (long long)r->element);
    if (r->kind == SPAD_STATEMENT_WAIT_GROUP) {
        snprintf(field, size, "group '%s'", name);
        return;
    }
    const spad__object *o = spad__objects_get(objects, r->object, r->element);
    switch (sync->kind) {
    case SPAD_SYNC_BARRIER:
        snprintf(field, size, "barrier '%s', where %lld of %lld have arrived", name,
                 (long long)o->value, (long long)o->count);
        break;
    case SPAD_SYNC_COUNTER:
        snprintf(field, size, "counter '%s' to be %lld, which is %lld", name, (long long)r->amount,
                 (long long)o->value);
        break;
    default:
        snprintf(field, size,
                 "parity %lld of mbarrier '%s', where %lld arrivals and %lld bytes "
                 "are missing",
                 (long long)r->amount, name, (long long)o->value, (long long)o->bytes);
        break;
    }
}
