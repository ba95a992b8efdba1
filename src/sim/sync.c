/* SPDX-License-Identifier: Apache-2.0
 *
 * The synchronisation objects of a kernel while it is simulated: which operation changed each one
 * last, beside what order/sync.h has of it. Everything here takes no time; a wait is tried again
 * when something has happened. Kernels that misuse an object are for the check to report: here they
 * go on as the object does.
 */
#include <stdio.h>

#include "sim/agents.h"

/* ---- life -------------------------------------------------------------------------- */

static size_t bundle_count(const spad__objects *objects) {
    return objects->blocks * spad_kernel_agent_count(objects->kernel) *
               spad_kernel_sync_count(objects->kernel) +
           1;
}

void spad__objects_reset(spad__objects *objects, size_t block) {
    const size_t syncs = spad_kernel_sync_count(objects->kernel);
    for (size_t i = 0; i < syncs; i++) {
        const spad_kernel_sync *sync = spad_kernel_get_sync(objects->kernel, i);
        const size_t first = block * objects->object_count + objects->first[i];
        for (int64_t e = 0; e < sync->elements; e++) {
            objects->objects[first + (size_t)e] = (spad__sim_object){
                .sync = spad__sync_initial(sync->kind, sync->count.value), .row = -1};
        }
    }
    const size_t each = spad_kernel_agent_count(objects->kernel) * syncs;
    for (size_t i = block * each; i < (block + 1) * each; i++) {
        objects->bundles[i].items.count = objects->bundles[i].done = 0;
        objects->bundles[i].row = 0;
    }
}

bool spad__objects_make(spad__objects *objects, const spad_host *host, const spad_kernel *kernel,
                        size_t blocks) {
    const size_t syncs = spad_kernel_sync_count(kernel);
    *objects = (spad__objects){.host = host, .kernel = kernel, .blocks = blocks, .overflown = -1};
    objects->first = spad__new_array(host, syncs + 1, sizeof *objects->first);
    if (objects->first == NULL) return false;
    for (size_t i = 0; i < syncs; i++) {
        objects->first[i] = objects->object_count;
        objects->object_count += (size_t)spad_kernel_get_sync(kernel, i)->elements;
    }
    const size_t bundles = bundle_count(objects);
    objects->objects =
        spad__new_array(host, blocks * objects->object_count + 1, sizeof *objects->objects);
    objects->bundles = spad__new_array(host, bundles, sizeof *objects->bundles);
    if (objects->objects == NULL || objects->bundles == NULL) return false;
    for (size_t i = 0; i < blocks; i++) spad__objects_reset(objects, i);
    return true;
}

void spad__objects_free(spad__objects *objects) {
    if (objects->kernel == NULL) return;
    const size_t syncs = spad_kernel_sync_count(objects->kernel);
    const size_t bundles = bundle_count(objects);
    for (size_t i = 0; objects->bundles != NULL && i < bundles; i++) {
        spad__array_free(objects->host, &objects->bundles[i].items);
    }
    spad__free(objects->host, objects->bundles, bundles * sizeof *objects->bundles);
    spad__free(objects->host, objects->objects,
               (objects->blocks * objects->object_count + 1) * sizeof *objects->objects);
    spad__free(objects->host, objects->first, (syncs + 1) * sizeof *objects->first);
    *objects = (spad__objects){0};
}

spad__sim_object *spad__objects_get(const spad__objects *objects, int64_t agent, int64_t object,
                                    int64_t element) {
    const size_t block = (size_t)agent / spad_kernel_agent_count(objects->kernel);
    return &objects
                ->objects[block * objects->object_count + objects->first[object] + (size_t)element];
}

static spad__bundles *bundles_of(const spad__objects *objects, int64_t agent, int64_t group) {
    const size_t syncs = spad_kernel_sync_count(objects->kernel);
    return &objects->bundles[(size_t)agent * syncs + (size_t)group];
}

/* ---- changes ----------------------------------------------------------------------- */

/* Does an action, whose sums may not fit: then the run ends. */
static void apply_outcome(spad__objects *objects, int64_t number, spad__sim_object *o,
                          spad__sync_change *change, int64_t row, bool by_agent) {
    const unsigned outcome = spad__sync_apply(&o->sync, change);
    if ((outcome & SPAD__SYNC_OVERFLOWS) != 0) objects->overflown = number;
    if ((outcome & SPAD__SYNC_RELEASES) == 0) return;
    o->row = row;
    o->by_agent = by_agent;
}

bool spad__objects_by_agent(const spad__objects *objects, const spad__request *r) {
    if (r->object < 0 || r->kind == SPAD_STATEMENT_WAIT_GROUP) return false;
    const spad_kernel_sync *sync = spad_kernel_get_sync(objects->kernel, (size_t)r->object);
    return sync->kind == SPAD_SYNC_MBARRIER &&
           spad__objects_get(objects, r->agent, r->object, r->element)->by_agent;
}

void spad__objects_complete(spad__objects *objects, int64_t agent,
                            const spad_walk_completion *completion, int64_t row) {
    spad__sync_change change = {.kind = spad__sync_completion(completion->kind),
                                .amount = completion->amount};
    apply_outcome(objects, completion->object,
                  spad__objects_get(objects, agent, completion->object, completion->element),
                  &change, row, false);
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
    return (int64_t)b->done >= spad__group_due(committed, pending);
}

/* ---- statements -------------------------------------------------------------------- */

static bool commit(spad__objects *objects, const spad__request *r) {
    spad__bundles *b = bundles_of(objects, r->agent, r->object);
    const bool first = b->items.count > 0 || open_bundle(objects, b);
    objects->failed = !first || !open_bundle(objects, b);
    return !objects->failed;
}

/* An action on an object: whether it passed, and what released it. A wait is tried many times,
 * so the change stays in the request, and is not made again. */
static bool act_on_object(spad__objects *objects, spad__request *r, int64_t row,
                          int64_t *cause_row) {
    spad__sim_object *o = spad__objects_get(objects, r->agent, r->object, r->element);
    if (r->kind == SPAD_STATEMENT_SYNC && r->change.kind == SPAD__ACTION_ENTER) {
        apply_outcome(objects, r->object, o, &r->change, row, true);
        r->change.kind = SPAD__ACTION_LEAVE;
    }
    *cause_row = o->row;
    if (!spad__sync_passes(&o->sync, &r->change)) return false;
    if (spad__sync_changes(r->change.kind)) {
        apply_outcome(objects, r->object, o, &r->change, row, true);
    }
    return true;
}

bool spad__objects_try(spad__objects *objects, spad__request *r, int64_t row, int64_t *cause_row) {
    *cause_row = -1;
    switch (r->kind) {
    case SPAD_STATEMENT_FENCE: return true;
    case SPAD_STATEMENT_COMMIT: return commit(objects, r);
    case SPAD_STATEMENT_WAIT_GROUP:
        return is_drained(bundles_of(objects, r->agent, r->object), r->change.amount, cause_row);
    default: return act_on_object(objects, r, row, cause_row);
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
    const spad__sync_object *o = &spad__objects_get(objects, r->agent, r->object, r->element)->sync;
    switch (sync->kind) {
    case SPAD_SYNC_BARRIER:
        snprintf(field, size, "barrier '%s', where %lld of %lld have arrived", name,
                 (long long)o->value, (long long)o->count);
        break;
    case SPAD_SYNC_COUNTER:
        snprintf(field, size, "counter '%s' to be %lld, which is %lld", name,
                 (long long)r->change.amount, (long long)o->value);
        break;
    default:
        if (!o->live) {
            snprintf(field, size, "parity %lld of mbarrier '%s', which is not initialised",
                     (long long)r->change.amount, name);
            break;
        }
        snprintf(field, size,
                 "parity %s of mbarrier '%s', where %s arrivals and %s bytes "
                 "are missing",
                 spad__grouped(r->change.amount).text, name, spad__grouped(o->value).text,
                 spad__grouped(o->bytes).text);
        break;
    }
}
