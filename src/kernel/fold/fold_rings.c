/* SPDX-License-Identifier: Apache-2.0
 *
 * Rings in a straight kernel with agents: equal tensors, or mbarriers, at even distances that a
 * statement visits in turn, again and again.
 *
 * Statements that are the same apart from their objects, after the same three statements, are one
 * site. A ring is what a site mostly visits in the order of addresses and then from the start
 * again. Rings only decide which tensors and mbarriers become one: a wrong guess costs loops, but
 * never changes the statements. O(statements + accesses), with at most SITES_MOST sites.
 */
#include <string.h>

#include "base/hash.h"
#include "kernel/fold/fold.h"

enum { RING_MOST = 32, SITES_MOST = 1 << 16, CONTEXT = 3 };

/* Objects in the order of their first visit. */
typedef struct ring_site {
    uint64_t key;
    int32_t objects[RING_MOST];
    size_t count;
    size_t at; /* of the newest visit */
    size_t steps;
    size_t jumps;
    bool closed; /* the first one came after the last one */
} ring_site;

/* Objects are numbered: tensors first, then synchronisation objects. */
typedef struct ring_finder {
    spad__folder *f;
    uint64_t *kinds; /* per object: equal for those that may be in one ring; 0: it is in none */
    spad__index index;
    SPAD_ARRAY(ring_site) sites;
} ring_finder;

/* ---- objects ----------------------------------------------------------------------- */

static bool can_ring_tensor(const spad_kernel_tensor *t) {
    return t->mode == SPAD_MODE_AT && t->flags == 0 && t->bank.value == 0 && t->blocks.count == 0 &&
           t->ring.count == 0;
}

static uint64_t kind_of_tensor(const spad_kernel_tensor *t) {
    uint64_t hash = spad__hash_add(1, (int64_t)t->space);
    hash = spad__hash_add(hash, (int64_t)t->dtype);
    hash = spad__hash_add(hash, t->lane.value);
    hash = spad__hash_add(hash, t->align.value);
    for (size_t i = 0; i < t->dims.count; i++) hash = spad__hash_add(hash, t->dims.items[i].value);
    return hash | 1;
}

static uint64_t kind_of_sync(const spad_kernel_sync *s) {
    uint64_t hash = spad__hash_add(2, s->count.value);
    hash = spad__hash_add(hash, s->each_block);
    hash = spad__hash_add(hash, s->elements);
    return hash | 1;
}

/* An mbarrier that is one element, or one in each block of a cluster. */
static bool can_ring_sync(const spad_kernel_sync *s) {
    return s->kind == SPAD_SYNC_MBARRIER && s->placed && s->dims.count == (s->each_block ? 1u : 0u);
}

static void find_kinds(ring_finder *r) {
    const spad_kernel *k = r->f->kernel;
    for (size_t i = 0; i < k->tensors.count; i++) {
        const spad_kernel_tensor *t = &k->tensors.items[i];
        if (can_ring_tensor(t)) r->kinds[i] = kind_of_tensor(t);
    }
    for (size_t i = 0; i < k->tensors.count; i++) { /* what has another name stays */
        const spad_kernel_tensor *t = &k->tensors.items[i];
        if (t->mode != SPAD_MODE_ALIAS) continue;
        r->kinds[t->home] = 0;
        r->kinds[t->alias_of] = 0;
    }
    for (size_t i = 0; i < k->syncs.count; i++) {
        if (can_ring_sync(&k->syncs.items[i]))
            r->kinds[k->tensors.count + i] = kind_of_sync(&k->syncs.items[i]);
    }
}

static int64_t byte_of_object(const ring_finder *r, int32_t object) {
    const spad_kernel *k = r->f->kernel;
    const size_t number = (size_t)object;
    return number < k->tensors.count ? k->tensors.items[number].byte.value
                                     : k->syncs.items[number - k->tensors.count].byte.value;
}

static spad__fold_place *place_of_object(const ring_finder *r, int32_t object) {
    const size_t number = (size_t)object, tensors = r->f->kernel->tensors.count;
    return number < tensors ? &r->f->tensors[number] : &r->f->syncs[number - tensors];
}

/* ---- sites ------------------------------------------------------------------------- */

static ring_site *find_site(ring_finder *r, uint64_t key) {
    spad__probe probe = spad__index_probe(&r->index, key);
    for (size_t i; (i = spad__probe_next(&probe)) != SPAD__NO_ITEM;) {
        if (r->sites.items[i].key == key) return &r->sites.items[i];
    }
    if (r->sites.count == SITES_MOST) return NULL;
    if (!spad__array_reserve(&r->f->host, &r->sites, 1) ||
        !spad__index_reserve(&r->index, &r->f->host, 1)) {
        r->f->out_of_memory = true;
        return NULL;
    }
    spad__index_add(&r->index, key, r->sites.count);
    ring_site *site = &r->sites.items[r->sites.count++];
    *site = (ring_site){.key = key};
    return site;
}

static size_t position_in_site(const ring_site *site, int32_t object) {
    for (size_t i = 0; i < site->count; i++) {
        if (site->objects[i] == object) return i;
    }
    return site->count;
}

/* A site stays at an object, goes on to the next one, or now and then jumps, as between tiles. */
static void visit_object(ring_finder *r, uint64_t key, size_t number) {
    if (r->kinds[number] == 0) return;
    ring_site *site = find_site(r, key);
    const int32_t object = (int32_t)number;
    if (site == NULL || (site->count > 0 && site->objects[site->at] == object)) return;
    const size_t at = position_in_site(site, object);
    const bool last = site->at + 1 == site->count;
    if (at == site->count) {
        const bool next = site->count == 0 || (last && !site->closed);
        if (!next || site->count == RING_MOST) {
            site->jumps++;
            return;
        }
        site->objects[site->count++] = object;
        site->steps++;
    } else if (at == (last ? 0 : site->at + 1)) {
        site->closed |= last;
        site->steps++;
    } else {
        site->jumps++;
    }
    site->at = at;
}

static bool names_sync_object(spad_statement_kind kind) {
    return kind >= SPAD_STATEMENT_SYNC && kind <= SPAD_STATEMENT_WAIT_GROUP;
}

static void visit_statement(ring_finder *r, const spad_statement *s, uint64_t context) {
    const spad_kernel *k = r->f->kernel;
    int64_t slot = 0;
    if (names_sync_object(s->kind)) {
        visit_object(r, context, k->tensors.count + (size_t)s->item);
    } else if (s->kind == SPAD_STATEMENT_ALLOC || s->kind == SPAD_STATEMENT_FREE) {
        visit_object(r, context, (size_t)s->item);
    }
    for (size_t i = 0; i < s->access_count; i++) {
        const spad_kernel_access *a = &k->accesses.items[s->first_access + i];
        if (i > 0 && a->tensor == a[-1].tensor) continue;
        visit_object(r, spad__hash_add(context, ++slot), (size_t)a->tensor);
    }
    for (size_t i = 0; i < s->completion_count; i++) {
        const spad_kernel_completion *c = &k->completions.items[s->first_completion + i];
        visit_object(r, spad__hash_add(context, ++slot), k->tensors.count + (size_t)c->object);
    }
}

/* A statement apart from its objects and numbers. */
static uint64_t hash_statement(const ring_finder *r, const spad_statement *s) {
    const spad_kernel *k = r->f->kernel;
    uint64_t hash = spad__hash_add(0, (int64_t)s->kind);
    hash = spad__hash_add(hash, s->source);
    hash = spad__hash_add(hash, s->engine);
    hash = spad__hash_add(hash, s->unit);
    hash = spad__hash_add(hash, (int64_t)s->flags);
    hash = spad__hash_add(hash, (int64_t)s->access_count);
    hash = spad__hash_add(hash, (int64_t)s->completion_count);
    if (names_sync_object(s->kind))
        hash = spad__hash_add(hash, (int64_t)r->kinds[k->tensors.count + (size_t)s->item]);
    return s->name != NULL ? spad__hash_more(hash, s->name, strlen(s->name)) : hash;
}

static void visit_statements(ring_finder *r) {
    const spad_kernel *k = r->f->kernel;
    uint64_t before[CONTEXT] = {0};
    for (size_t i = 0; i < k->statements.count && !r->f->out_of_memory; i++) {
        const spad_statement *s = &k->statements.items[i];
        const uint64_t own = hash_statement(r, s);
        uint64_t context = spad__hash_add(own, s->agent);
        for (int n = 0; n < CONTEXT; n++) context = spad__hash_add(context, (int64_t)before[n]);
        visit_statement(r, s, context);
        memmove(before + 1, before, (CONTEXT - 1) * sizeof *before);
        before[0] = own;
    }
}

/* ---- rings ------------------------------------------------------------------------- */

/* Where the lowest object is, if the others follow it in the order of addresses. */
static bool find_lowest(const ring_finder *r, const ring_site *site, size_t *lowest,
                        int64_t *stride) {
    *lowest = 0;
    for (size_t i = 1; i < site->count; i++) {
        if (byte_of_object(r, site->objects[i]) < byte_of_object(r, site->objects[*lowest]))
            *lowest = i;
    }
    for (size_t i = 0; i + 1 < site->count; i++) {
        const int32_t a = site->objects[(*lowest + i) % site->count];
        const int32_t b = site->objects[(*lowest + i + 1) % site->count];
        const int64_t step = byte_of_object(r, b) - byte_of_object(r, a);
        if (i == 0) *stride = step;
        if (step != *stride || step <= 0 || r->kinds[a] != r->kinds[b]) return false;
    }
    return true;
}

static bool is_stride_fine(const ring_finder *r, int32_t object, int64_t stride) {
    const spad_kernel *k = r->f->kernel;
    if ((size_t)object >= k->tensors.count) return stride == SPAD_MBARRIER_BYTES;
    return stride >= k->tensors.items[object].tile_bytes;
}

static bool make_ring(ring_finder *r, const ring_site *site) {
    size_t lowest;
    int64_t stride = 0;
    if (!site->closed || site->count < 2 || site->jumps > site->steps / 2) return true;
    if (!find_lowest(r, site, &lowest, &stride)) return true;
    const int32_t first = site->objects[lowest];
    if (!is_stride_fine(r, first, stride)) return true;
    for (size_t i = 0; i < site->count; i++) {
        if (place_of_object(r, site->objects[i])->ring >= 0) return true;
    }
    if (!spad__array_reserve(&r->f->host, &r->f->rings, 1)) return false;
    const size_t tensors = r->f->kernel->tensors.count;
    const bool sync = (size_t)first >= tensors;
    for (size_t i = 0; i < site->count; i++) {
        spad__fold_place *place = place_of_object(r, site->objects[(lowest + i) % site->count]);
        place->ring = (int64_t)r->f->rings.count;
        place->member = (int64_t)i;
    }
    r->f->rings.items[r->f->rings.count++] =
        (spad__fold_ring){.sync = sync,
                          .first = sync ? first - (int64_t)tensors : first,
                          .count = (int64_t)site->count,
                          .stride = stride,
                          .made = -1};
    return true;
}

bool spad__fold_find_rings(spad__folder *f) {
    const size_t count = f->kernel->tensors.count + f->kernel->syncs.count;
    ring_finder r = {.f = f};
    r.kinds = spad__new_array(&f->host, count + 1, sizeof *r.kinds);
    bool fine = r.kinds != NULL;
    if (fine) {
        find_kinds(&r);
        visit_statements(&r);
        fine = !f->out_of_memory;
    }
    for (size_t i = 0; fine && i < r.sites.count; i++) fine = make_ring(&r, &r.sites.items[i]);
    spad__array_free(&f->host, &r.sites);
    spad__index_free(&r.index, &f->host);
    spad__free(&f->host, r.kinds, (count + 1) * sizeof *r.kinds);
    return fine;
}
