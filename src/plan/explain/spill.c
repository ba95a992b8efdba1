/* SPDX-License-Identifier: Apache-2.0
 *
 * Which buffers to keep somewhere else where no single change is enough. Two sets at most:
 *
 *  - one that is built step by step: at the moment that lacks the most bytes, the smallest buffer
 *    that is enough, or the largest one; until no moment lacks any. If no plan is found then, the
 *    same with a little less capacity. Buffers that turn out to be superfluous are taken back,
 *    largest first;
 *  - the lightest pair, or else the lightest three, of the most promising buffers, if that is
 * fewer.
 *
 * Every set was planned. A moment is a time with more live bytes than the capacity; where lives are
 * not times (clocks), the only one is the set of buffers that need the most together. There is
 * always one: a capacity that is not bounded is never too small.
 */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "plan/explain/why.h"

enum {
    SPILL_ROUNDS = 6,    /* capacities that are tried */
    SHRINK = 32,         /* each less by this part */
    PROMISING = 24,      /* buffers of which pairs and threes are made */
    SOLVES = 24,         /* pairs, and threes, that are planned */
    TAKE_BACK_MOST = 64, /* a larger set is not made smaller */
    MOST_SETS = 2
};

typedef struct tight_time {
    int64_t time;
    int64_t lacks; /* bytes above the capacity */
} tight_time;

typedef SPAD_ARRAY(tight_time) tight_list;
typedef SPAD_ARRAY(size_t) number_list;

typedef struct spiller {
    spad__explorer *x;
    const spad_host *host;
    tight_list moments;
    number_list set;        /* spilled in x->changed */
    spad_plan_result *last; /* of the last set with a plan; NULL: none */
    spad_plan_spill *found;
} spiller;

/* ---- moments ----------------------------------------------------------------------- */

typedef struct load_step {
    int64_t time;
    int64_t bytes; /* that begin, or end */
} load_step;

static int compare_steps(const void *left, const void *right) {
    const load_step *a = left;
    const load_step *b = right;
    return (a->time > b->time) - (a->time < b->time);
}

static bool add_tight_time(spiller *p, int64_t time, int64_t load) {
    const int64_t capacity = p->x->plan->capacity;
    if (load <= capacity) return true;
    if (!spad__array_reserve(p->host, &p->moments, 1)) return false;
    p->moments.items[p->moments.count++] = (tight_time){time, load - capacity};
    return true;
}

/* Every buffer is an edge up and one down; gaps count as live, so that too much is spilled at
 * first and taken back later. */
static bool sweep_loads(spiller *p, load_step *steps) {
    const spad_plan *plan = p->x->plan;
    size_t count = 0;
    for (size_t i = 0; i < plan->buffers.count; i++) {
        const spad_plan_buffer *b = &plan->buffers.items[i];
        if (b->size == 0 || b->lower >= b->upper) continue;
        steps[count++] = (load_step){b->lower, b->size};
        steps[count++] = (load_step){b->upper, -b->size};
    }
    qsort(steps, count, sizeof *steps, compare_steps);
    int64_t load = 0;
    for (size_t k = 0; k < count; k++) {
        if (!spad__add(load, steps[k].bytes, &load)) load = INT64_MAX;
        const bool last = k + 1 == count || steps[k + 1].time != steps[k].time;
        if (last && !add_tight_time(p, steps[k].time, load)) return false;
    }
    return true;
}

static bool find_tight_times(spiller *p) {
    const spad_plan_result *r = p->x->result;
    const size_t n = p->x->plan->buffers.count;
    if (r->together_count > 0) return add_tight_time(p, r->peak_time, r->together_bytes);
    load_step *steps = spad__new_array(p->host, n + 1, 2 * sizeof *steps);
    const bool ok = steps != NULL && sweep_loads(p, steps);
    spad__free(p->host, steps, 2 * (n + 1) * sizeof *steps);
    if (!ok || p->moments.count > 0) return ok;
    /* every moment fits: rules are in the way, perhaps at the fullest one */
    return add_tight_time(p, r->peak_time, spad__max(p->x->plan->capacity, 0) + 1);
}

/* Needs the buffer bytes at the moment? */
static bool is_at(const spiller *p, size_t number, const tight_time *m) {
    const spad_plan_result *r = p->x->result;
    for (size_t k = 0; k < r->together_count; k++)
        if (r->together[k] == number) return true;
    return r->together_count == 0 && spad__is_live(&p->x->plan->buffers.items[number], m->time);
}

/* ---- sets -------------------------------------------------------------------------- */

static int64_t spill_size(const spiller *p, size_t number) {
    return p->x->plan->buffers.items[number].size;
}

static void spill(spiller *p, size_t number) {
    const spad_plan_change change = {.kind = SPAD_PLAN_SPILL, .buffer = number};
    spad__plan_apply_change(&p->x->changed.buffers.items[number], &change);
}

/* *fits: there is a plan without the spilled buffers, which is the last one then. */
static spad_status try_set(spiller *p, bool *fits, spad_error *error) {
    spad_plan_result *found;
    const spad_status status = spad__attempt(p->x, &found, error);
    *fits = found != NULL;
    if (found == NULL) return status;
    spad_plan_result_destroy(p->last);
    p->last = found;
    return status;
}

static void keep_on_chip(spiller *p, size_t number) {
    p->x->changed.buffers.items[number] = p->x->plan->buffers.items[number];
}

static bool is_spilled(const spiller *p, size_t number) {
    return p->x->changed.buffers.items[number].size == 0;
}

/* Largest first, then by number. */
static void sort_set(spiller *p) {
    for (size_t i = 1; i < p->set.count; i++) {
        for (size_t k = i; k > 0; k--) {
            size_t *two = &p->set.items[k - 1];
            const int64_t left = spill_size(p, two[0]);
            const int64_t right = spill_size(p, two[1]);
            if (left > right || (left == right && two[0] < two[1])) break;
            const size_t first = two[0];
            two[0] = two[1];
            two[1] = first;
        }
    }
}

/* Is enough spilled at every moment? */
static bool is_enough(const spiller *p, const size_t *set, size_t count) {
    for (size_t m = 0; m < p->moments.count; m++) {
        int64_t lacks = p->moments.items[m].lacks;
        for (size_t k = 0; k < count; k++)
            if (is_at(p, set[k], &p->moments.items[m])) lacks -= spill_size(p, set[k]);
        if (lacks > 0) return false;
    }
    return true;
}

/* The set that was planned last, with its places. */
static spad_status add_spill_set(spiller *p, spad_error *error) {
    spad_plan_reason *reason = &p->x->out->reason;
    const size_t count = p->set.count;
    size_t *copy = spad__arena_array(&p->x->out->arena, count, sizeof *copy);
    if (copy == NULL) return spad__fail_host_memory(error);
    memcpy(copy, p->set.items, count * sizeof *copy);
    spad_plan_spill *row = &p->found[reason->spill_count];
    *row = (spad_plan_spill){.count = count, .buffers = copy};
    for (size_t k = 0; k < count; k++) row->bytes += spill_size(p, copy[k]);
    const spad_status status = spad__keep_places(p->x, p->last, &row->places, error);
    if (status == SPAD_OK) reason->spill_count++;
    return status;
}

/* ---- step by step ------------------------------------------------------------------ */

/* The buffer to spill at a moment; the number of buffers: all are spilled. */
static size_t choose_spill(const spiller *p, const tight_time *m) {
    const size_t n = p->x->plan->buffers.count;
    size_t best = n;
    for (size_t i = 0; i < n; i++) {
        if (is_spilled(p, i) || !is_at(p, i, m)) continue;
        const int64_t size = spill_size(p, i);
        const int64_t other = best < n ? spill_size(p, best) : 0;
        const bool enough = size >= m->lacks;
        const bool other_enough = best < n && other >= m->lacks;
        if (best == n || (enough && !other_enough) ||
            (enough == other_enough && (enough ? size < other : size > other)))
            best = i;
    }
    return best;
}

/* Spills until no moment lacks bytes; false: no memory, or the time is over (*done is false). */
static bool build_set(spiller *p, int64_t less, bool *done) {
    *done = false;
    p->set.count = 0;
    tight_time *left = spad__new_array(p->host, p->moments.count + 1, sizeof *left);
    bool ok = left != NULL;
    for (size_t m = 0; ok && m < p->moments.count; m++) {
        left[m] = p->moments.items[m];
        left[m].lacks += less;
    }
    while (ok && !spad__limit_reached(&p->x->limit)) {
        size_t worst = 0;
        for (size_t m = 1; m < p->moments.count; m++)
            if (left[m].lacks > left[worst].lacks) worst = m;
        *done = left[worst].lacks <= 0;
        const size_t number = *done ? 0 : choose_spill(p, &left[worst]);
        if (*done || number == p->x->plan->buffers.count) break;
        ok = spad__array_reserve(p->host, &p->set, 1);
        if (!ok) break;
        p->set.items[p->set.count++] = number;
        spill(p, number);
        for (size_t m = 0; m < p->moments.count; m++)
            if (is_at(p, number, &left[m])) left[m].lacks -= spill_size(p, number);
    }
    spad__free(p->host, left, (p->moments.count + 1) * sizeof *left);
    return ok;
}

static void keep_all(spiller *p) {
    for (size_t k = 0; k < p->set.count; k++) keep_on_chip(p, p->set.items[k]);
}

/* Leaves out what is not needed, largest first. */
static spad_status take_back(spiller *p, spad_error *error) {
    spad_status status = SPAD_OK;
    sort_set(p);
    for (size_t k = 0; k < p->set.count && status == SPAD_OK;) {
        const size_t number = p->set.items[k];
        bool fits;
        keep_on_chip(p, number);
        status = try_set(p, &fits, error);
        if (status == SPAD_OK && fits) {
            memmove(p->set.items + k, p->set.items + k + 1,
                    (--p->set.count - k) * sizeof *p->set.items);
        } else {
            spill(p, number);
            k++;
        }
    }
    return status;
}

static spad_status find_light_set(spiller *p, spad_error *error) {
    const int64_t capacity = p->x->plan->capacity;
    spad_status status = SPAD_OK;
    bool fits = false;
    for (int64_t k = 0; k < SPILL_ROUNDS && !fits && status == SPAD_OK; k++) {
        bool done;
        keep_all(p);
        if (!build_set(p, capacity / SHRINK * k, &done)) return spad__fail_host_memory(error);
        if (!done) break;
        status = try_set(p, &fits, error);
    }
    if (status == SPAD_OK && fits && p->set.count <= TAKE_BACK_MOST) status = take_back(p, error);
    keep_all(p);
    if (status != SPAD_OK || !fits) p->set.count = 0;
    return status;
}

/* ---- two or three ------------------------------------------------------------------ */

typedef struct group {
    size_t buffers[3];
    int64_t bytes;
} group;

typedef SPAD_ARRAY(group) group_list;

static int compare_groups(const void *left, const void *right) {
    const group *a = left;
    const group *b = right;
    if (a->bytes != b->bytes) return a->bytes < b->bytes ? -1 : 1;
    for (size_t k = 0; k < 3; k++)
        if (a->buffers[k] != b->buffers[k]) return a->buffers[k] < b->buffers[k] ? -1 : 1;
    return 0;
}

/* What the buffer would give at all moments together. */
static int64_t promise(const spiller *p, size_t number) {
    int64_t sum = 0;
    for (size_t m = 0; m < p->moments.count; m++) {
        if (!is_at(p, number, &p->moments.items[m])) continue;
        const int64_t gives = spad__min(spill_size(p, number), p->moments.items[m].lacks);
        if (!spad__add(sum, gives, &sum)) return INT64_MAX;
    }
    return sum;
}

/* The most promising buffers, best first. Returns how many. */
static size_t list_promising(const spiller *p, size_t *list) {
    int64_t best[PROMISING];
    size_t count = 0;
    for (size_t i = 0; i < p->x->plan->buffers.count; i++) {
        if (spill_size(p, i) == 0 || spad__limit_reached(&p->x->limit)) continue;
        const int64_t gives = promise(p, i);
        size_t at = count;
        while (at > 0 && gives > best[at - 1]) at--;
        if (at == PROMISING) continue;
        if (count < PROMISING) count++;
        memmove(best + at + 1, best + at, (count - 1 - at) * sizeof *best);
        memmove(list + at + 1, list + at, (count - 1 - at) * sizeof *list);
        best[at] = gives;
        list[at] = i;
    }
    return count;
}

/* Groups of `size` of the listed buffers that are enough at every moment. */
static bool list_groups(const spiller *p, const size_t *list, size_t count, size_t size,
                        group_list *groups) {
    for (size_t a = 0; a < count; a++) {
        for (size_t b = a + 1; b < count && !spad__limit_reached(&p->x->limit); b++) {
            for (size_t c = b + 1; c < (size == 3 ? count : b + 2); c++) {
                group g = {.buffers = {list[a], list[b], size == 3 ? list[c] : 0}};
                if (!is_enough(p, g.buffers, size)) continue;
                for (size_t k = 0; k < size; k++) g.bytes += spill_size(p, g.buffers[k]);
                if (!spad__array_reserve(p->host, groups, 1)) return false;
                groups->items[groups->count++] = g;
            }
        }
    }
    return true;
}

/* The lightest group of this size with a plan, as the set; *found: there is one. */
static spad_status find_spill_group(spiller *p, const size_t *list, size_t count, size_t size,
                                    bool *found, spad_error *error) {
    group_list groups = {0};
    spad_status status = SPAD_OK;
    *found = false;
    if (!list_groups(p, list, count, size, &groups) || !spad__array_reserve(p->host, &p->set, size))
        status = spad__fail_host_memory(error);
    else if (groups.count > 0)
        qsort(groups.items, groups.count, sizeof *groups.items, compare_groups);
    for (size_t g = 0; g < groups.count && g < SOLVES && status == SPAD_OK && !*found; g++) {
        memcpy(p->set.items, groups.items[g].buffers, size * sizeof *p->set.items);
        p->set.count = size;
        for (size_t k = 0; k < size; k++) spill(p, p->set.items[k]);
        status = try_set(p, found, error);
        keep_all(p);
    }
    spad__array_free(p->host, &groups);
    return status;
}

/* A set of two or three, if it has no more buffers than the one of `light` (0: none exists). */
static spad_status find_small_set(spiller *p, size_t light, bool *found, spad_error *error) {
    size_t list[PROMISING];
    const size_t count = list_promising(p, list);
    spad_status status = SPAD_OK;
    *found = false;
    for (size_t size = 2; size <= 3 && status == SPAD_OK && !*found; size++)
        if (light == 0 || size <= light)
            status = find_spill_group(p, list, count, size, found, error);
    if (*found) sort_set(p);
    return status;
}

/* The light set was added first and the small one, of no more buffers, second. The one that is not
 * better in anything is left out; of both, the small one comes first. */
static void choose_sets(spiller *p) {
    spad_plan_spill *sets = p->found;
    size_t *count = &p->x->out->reason.spill_count;
    if (*count < 2) return;
    const spad_plan_spill light = sets[0];
    if (light.bytes >= sets[1].bytes || light.count == sets[1].count) {
        if (light.bytes >= sets[1].bytes) sets[0] = sets[1]; /* no fewer buffers, no fewer bytes */
        *count = 1;
        return;
    }
    sets[0] = sets[1];
    sets[1] = light;
}

static spad_status find_sets(spiller *p, spad_error *error) {
    spad_status status = find_light_set(p, error);
    const size_t light = p->set.count;
    bool small = false;
    if (status == SPAD_OK && light > 0) status = add_spill_set(p, error);
    if (status == SPAD_OK) status = find_small_set(p, light, &small, error);
    if (status == SPAD_OK && small) status = add_spill_set(p, error);
    choose_sets(p);
    return status;
}

spad_status spad__find_spills(spad__explorer *x, spad_error *error) {
    spiller p = {.x = x, .host = &x->plan->host};
    p.found = spad__arena_array(&x->out->arena, MOST_SETS, sizeof *p.found);
    x->out->reason.spills = p.found;
    const spad_status status = p.found != NULL && find_tight_times(&p)
                                   ? find_sets(&p, error)
                                   : spad__fail_host_memory(error);
    spad_plan_result_destroy(p.last);
    spad__array_free(p.host, &p.set);
    spad__array_free(p.host, &p.moments);
    return status;
}
