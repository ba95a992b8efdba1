/* SPDX-License-Identifier: Apache-2.0
 *
 * The hunt for a plan of boxes.
 *
 * 1. Greedy passes with different preferences give a first plan. Most real
 *    problems end here, at the largest load. From some hundred boxes on the plan is lowered from
 *    its peaks outwards (spread.c) and by ejection (eject.c).
 * 2. Up to SPAD__EXACT_BOXES the exact search tries to reach a target height in
 *    many short runs (Luby's sequence of node limits), each with its own taste
 *    in ordering options. Run times of such searches have heavy tails, so a
 *    lucky short run beats a long one (Gomes et al. 2000). Half of the tastes
 *    are drawn near one of those that came furthest. A run that ends without
 *    being cut proves that the target is out of reach.
 * 3. Where that takes long, ejection (eject.c) looks for a plan at the same target in
 *    turns with it. It proves nothing, but finds plans where most sections have
 *    slack and only some do not, which no lucky short run of the exact search does.
 * 4. When a plan within a given height is asked for, that is the only target.
 *    To minimise, targets form a ladder: the proved bound first, then half and
 *    seven eighths of the way to the best plan, then just below it; every rung gets
 *    the same number of nodes, and twice as many in the next round. A plan that
 *    is found or a target that is refuted moves the ladder. After the first rounds the
 *    bound gets most of the time, half of it by ejection.
 *
 * Everything is steered by node counts and the seed, so one thread gives the
 * same plan on every machine; the deadline is only a cut. With more threads
 * each has its own search and seed, and every other one is mostly for ejection;
 * heights and bounds are shared.
 */
#include "plan/hunt.h"

#include <pthread.h>
#include <string.h>

#include "base/checked.h"
#include "base/random.h"
#include "plan/eject.h"
#include "plan/spread.h"
#include "plan/strips.h"
#include "plan/valley.h"

enum {
    PASSES_SMALL = 8,           /* greedy passes before the exact search */
    PASSES_WIDE = 48,           /* and where it has little hope, or none exists, */
    PASSED_BOXES = 400 * 1000,  /* but no more than these make up, */
    PASSED_LARGE = 100 * 1000,  /* or these, where no exact search comes next, */
    PASSES_BEFORE_CORE = 2,     /* though always one after the core */
    HOPELESS_GAP = 32,          /* part of the bound */
    EJECT_ROUNDS = 3,           /* without a deadline */
    MOST_ROUNDS = 24,           /* each twice as long as the one before */
    EJECT_LOOKS_PER_BOX = 500,  /* before the exact search */
    SPREAD_LOOKS_PER_BOX = 500, /* the same; in large problems a quarter of it in the first round */
    QUICK_SPREAD = 1 << 15,     /* boxes: above it ejection comes first */
    MOST_SPREAD = 1 << 17,      /* boxes */
    LEAST_FOR_CORE = 600,       /* boxes: below it the exact search is quicker */
    LEAST_FOR_STRIPS = 1 << 16, /* boxes: below it the core of the whole is better */
    MEMORY = 8,                 /* tastes remembered */
    MOST_HELPERS = 63,
    RUNG_NODES = 40,     /* per box on a rung, in the first round */
    FIRST_ROUNDS = 4,    /* before the first ejection */
    DECIDE_NODES = 600,  /* per box, before the first ejection when only one height counts */
    LOOKS_PER_NODE = 48, /* of the same time, about */
    EJECT_TURN = 16384,  /* nodes worth of ejection between two looks at the others */
    EJECTING = 4         /* times as much ejection in every other thread */
};

typedef struct remembered {
    spad__taste taste;
    int64_t depth;
} remembered;

/* The hunters of one hunt, one per thread. */
typedef struct team {
    pthread_mutex_t mutex; /* guards what the hunt has found, and the host */
    spad_host host;
    atomic_bool over;   /* ends the hunt for all of them */
    int64_t node_limit; /* of each; INT64_MAX: none */
} team;

/* An ejector and the target it has been working on. */
typedef struct ejection {
    spad__ejector *ejector; /* NULL until it is needed */
    int64_t target;
} ejection;

typedef struct hunter {
    spad__hunt *hunt;
    team *team;
    spad_host host;
    spad__stop stop;
    pthread_t thread;
    uint32_t number; /* 0: works in the calling thread */
    spad__random random;
    spad__valley *search;
    ejection at_bound;
    ejection above; /* between the bound and the best plan */
    bool ejecting;  /* most of its time is for ejection */
    int64_t *offset;
    int64_t luby_step;
    remembered memory[MEMORY];
    int32_t memory_count;
    bool loose; /* the target is above the bound, and the best plan above the target */
    bool no_memory;
} hunter;

/* Steps of all searches of a hunter. */
static int64_t hunt_nodes(const hunter *h) {
    int64_t nodes = h->search != NULL ? spad__valley_nodes(h->search) : 0;
    if (h->at_bound.ejector != NULL) nodes += spad__ejector_steps(h->at_bound.ejector);
    if (h->above.ejector != NULL) nodes += spad__ejector_steps(h->above.ejector);
    return nodes;
}

/* ---- what is shared ---------------------------------------------------------------- */

static void lock(hunter *h) {
    pthread_mutex_lock(&h->team->mutex);
}

static void unlock(hunter *h) {
    pthread_mutex_unlock(&h->team->mutex);
}

static void offer_plan(hunter *h, int64_t height) {
    spad__hunt *hunt = h->hunt;
    lock(h);
    if (height < hunt->height) {
        hunt->height = height;
        memcpy(hunt->offset, h->offset, (size_t)hunt->boxes->count * sizeof *hunt->offset);
    }
    unlock(h);
}

static void offer_bound(hunter *h, int64_t low) {
    lock(h);
    h->hunt->low = spad__max(h->hunt->low, low);
    unlock(h);
}

static void read_bounds(hunter *h, int64_t *low, int64_t *height) {
    lock(h);
    *low = h->hunt->low;
    *height = h->hunt->height;
    unlock(h);
}

static bool finished(hunter *h) {
    int64_t low;
    int64_t height;
    read_bounds(h, &low, &height);
    return height <= spad__max(low, h->hunt->enough) || low > h->hunt->capacity;
}

/* What the next progress callback will report. */
static void note_progress(hunter *h) {
    if (h->stop.listener == NULL) return;
    int64_t low;
    int64_t height;
    read_bounds(h, &low, &height);
    const int64_t unit = h->hunt->boxes->unit;
    spad_plan_progress *progress = &h->stop.listener->progress;
    if (height != INT64_MAX) progress->height = height * unit;
    if (h->hunt->boxes->exact) progress->bound = spad__max(progress->bound, low * unit);
    progress->nodes = hunt_nodes(h);
    progress->restarts = h->luby_step;
}

/* ---- greedy passes ----------------------------------------------------------------- */

/* Passes over the whole of a wide problem, and after some of them its core. */
static bool pass_wide(spad__pack *p, int32_t pass) {
    if (pass == PASSES_BEFORE_CORE && !spad__pack_core(p)) return false;
    if (p->height > p->enough) spad__pack_pass(p);
    return true;
}

/* Whether many boxes live together in a problem with too many for the exact search: what passes and
 * ejection leave then, a plan from the peaks outwards does not. */
static bool is_crowded(const spad__boxes *b) {
    return b->count > SPAD__EXACT_BOXES && b->count <= QUICK_SPREAD &&
           spad__boxes_over(b, b->peak, b->peak + 1) >= SPAD__MANY_ALIVE;
}

static bool passes_are_hopeless(const spad__pack *p) {
    return is_crowded(p->boxes) && p->height - p->enough > p->enough / HOPELESS_GAP;
}

/* First plans: of a long problem from strips, if they suit it, and if it is not too long two
 * passes over the whole; of others in passes over the whole alone. */
static bool greedy_passes(hunter *h, spad__pack *p) {
    const int32_t n = h->hunt->boxes->count;
    const bool wide = n > LEAST_FOR_CORE;
    const int64_t passed = n > SPAD__EXACT_BOXES ? PASSED_LARGE : PASSED_BOXES;
    const int64_t passes = wide ? spad__min(PASSES_WIDE, passed / n) : PASSES_SMALL;
    bool found = false;
    if (n > LEAST_FOR_STRIPS && !spad__strips_pass(p, &found)) return false;
    if (found && n > MOST_SPREAD) return true;
    bool ok = spad__pack_start(p);
    for (int32_t k = 0; ok && p->height > p->enough; k++) {
        if (found && k == PASSES_BEFORE_CORE) break;
        if (k >= passes && k > PASSES_BEFORE_CORE) break;
        if (k == PASSES_BEFORE_CORE && passes_are_hopeless(p)) break;
        note_progress(h);
        if ((found || k > 0) && spad__stopped(&h->stop)) break;
        if (wide)
            ok = pass_wide(p, k);
        else
            spad__pack_pass(p);
        h->hunt->height = p->height;
    }
    spad__pack_end(p);
    return ok;
}

/* Gives the plan of a pack to the others, or takes theirs if it is lower. */
static void share_plan(hunter *h, spad__pack *p) {
    spad__hunt *hunt = h->hunt;
    const size_t room = (size_t)hunt->boxes->count * sizeof *hunt->offset;
    lock(h);
    if (p->height < hunt->height) {
        hunt->height = p->height;
        memcpy(hunt->offset, p->offset, room);
    } else if (hunt->height < p->height) {
        p->height = hunt->height;
        memcpy(p->offset, hunt->offset, room);
    }
    unlock(h);
}

/* One round of lowering a plan from the peaks outwards and by ejection. In a large problem the
 * first round is for one of them: ejection, where a pass over all boxes takes long; and where
 * many boxes live together, the first one is the only one as long as it lowers the plan. */
static bool lower_once(hunter *h, spad__pack *p, spad__spread *spread, int32_t round) {
    const int64_t n = p->boxes->count;
    const bool large = n > SPAD__EXACT_BOXES;
    const bool slow = n > QUICK_SPREAD;
    if (spread != NULL && !(slow && round == 0)) {
        const int64_t before = p->height;
        const int64_t looks = n * SPREAD_LOOKS_PER_BOX;
        if (!spad__spread_round(spread, large && round == 0 ? looks / 4 : looks << round))
            return false;
        const bool lower = p->height < before;
        share_plan(h, p);
        if (large && !slow && (round == 0 || (lower && is_crowded(p->boxes)))) return true;
    }
    if (p->height <= p->enough || spad__stopped(&h->stop)) return true;
    const int64_t looks = large ? SPAD__EJECT_LOOKS : n * EJECT_LOOKS_PER_BOX;
    const bool ok = spad__eject(p, looks << round);
    share_plan(h, p);
    return ok;
}

/* Lowers the plan of a wide problem: once and for a short time if the exact search comes next,
 * else for as long as there is time. */
static bool lower_rounds(hunter *h, spad__pack *p) {
    const bool large = p->boxes->count > SPAD__EXACT_BOXES;
    const bool patient = large && h->hunt->options->timeout_ns > 0;
    const int32_t rounds = patient ? MOST_ROUNDS : large ? EJECT_ROUNDS : 1;
    const bool wanted = p->boxes->count <= MOST_SPREAD;
    spad__spread *spread = wanted ? spad__spread_create(p, h->number) : NULL;
    bool ok = !wanted || spread != NULL;
    for (int32_t round = 0; ok && round < rounds && p->height > p->enough; round++) {
        note_progress(h);
        if (spad__stopped(&h->stop)) break;
        ok = lower_once(h, p, spread, round);
    }
    spad__spread_destroy(spread);
    return ok;
}

/* Lowers the best plan so far, in any thread. False: no memory. */
static bool lower_plan(hunter *h) {
    spad__hunt *hunt = h->hunt;
    if (finished(h) || spad__stopped(&h->stop)) return true;
    spad__pack p = {.boxes = hunt->boxes,
                    .host = &h->host,
                    .random = &h->random,
                    .stop = &h->stop,
                    .enough = spad__max(hunt->low, hunt->enough),
                    .height = INT64_MAX,
                    .offset = h->offset};
    share_plan(h, &p);
    return lower_rounds(h, &p);
}

static bool first_plan(hunter *h) {
    spad__hunt *hunt = h->hunt;
    spad__pack p = {.boxes = hunt->boxes,
                    .host = &h->host,
                    .random = &h->random,
                    .stop = &h->stop,
                    .enough = spad__max(hunt->low, hunt->enough),
                    .height = hunt->height,
                    .offset = hunt->offset,
                    .trial = h->offset};
    const bool ok = greedy_passes(h, &p);
    hunt->height = p.height;
    return ok;
}

/* ---- tastes ------------------------------------------------------------------------ */

/* One draw per statement: the order of initialisers is the compiler's choice. */
static spad__taste fresh_taste(spad__random *random) {
    spad__taste taste = {0};
    taste.width = (int32_t)spad__random_in(random, 0, 160);
    taste.size = (int32_t)spad__random_in(random, 128, 448);
    taste.noise = (int32_t)spad__random_in(random, 200, 800);
    taste.edge = (int32_t)spad__random_in(random, 0, 400);
    taste.flush = (int32_t)spad__random_in(random, 300, 500);
    taste.rule = spad__random_below(random, 10) < 9 ? SPAD__TIGHT_FIRST : SPAD__FEW_FIRST;
    return taste;
}

static int32_t nudge(spad__random *random, int32_t value, int32_t by) {
    const int64_t moved = value + spad__random_in(random, -by, by);
    return (int32_t)spad__max(moved, 0);
}

static spad__taste nearby_taste(spad__random *random, spad__taste taste) {
    taste.width = nudge(random, taste.width, 32);
    taste.size = nudge(random, taste.size, 64);
    taste.noise = nudge(random, taste.noise, 100);
    taste.edge = nudge(random, taste.edge, 32);
    taste.flush = nudge(random, taste.flush, 32);
    return taste;
}

/* Above the bound every section has slack, and the best plan may be near to a better one. */
static spad__taste next_taste(hunter *h) {
    spad__random *random = &h->random;
    const bool fresh = h->memory_count == 0 || spad__random_below(random, 2) == 0;
    const uint64_t known = (uint64_t)h->memory_count;
    spad__taste taste =
        fresh ? fresh_taste(random)
              : nearby_taste(random, h->memory[spad__random_below(random, known)].taste);
    if (!h->loose) return taste;
    if (spad__random_below(random, 2) == 0) taste.rule = SPAD__SLACK_FIRST;
    taste.guide = (int32_t)spad__max(spad__random_in(random, -1000, 1000), 0);
    return taste;
}

/* Keeps the tastes that came furthest, best first. */
static void remember_taste(hunter *h, const spad__taste *taste, int64_t depth) {
    if (h->memory_count == MEMORY && h->memory[MEMORY - 1].depth >= depth) return;
    int32_t k = h->memory_count < MEMORY ? h->memory_count++ : MEMORY - 1;
    for (; k > 0 && h->memory[k - 1].depth < depth; k--) h->memory[k] = h->memory[k - 1];
    h->memory[k] = (remembered){*taste, depth};
}

/* 1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 ... (Luby, Sinclair and Zuckerman 1993) */
static int64_t luby(int64_t step) {
    for (;;) {
        int64_t power = 1;
        while (2 * power - 1 < step) power *= 2;
        if (2 * power - 1 == step) return power;
        step -= power - 1;
    }
}

/* ---- targets ----------------------------------------------------------------------- */

static int64_t height_of(const spad__boxes *b, const int64_t *offset) {
    int64_t height = 0;
    for (int32_t i = 0; i < b->count; i++) height = spad__max(height, offset[i] + b->size[i]);
    return height;
}

/* Nodes that may still be spent. */
static int64_t nodes_left(const hunter *h) {
    return h->team->node_limit - hunt_nodes(h);
}

/* Sets a target; above the bound the best plan becomes a guide. */
static void next_aim(hunter *h, int64_t target) {
    spad__hunt *hunt = h->hunt;
    spad__valley_capacity(h->search, target);
    h->memory_count = 0; /* how far a taste comes depends on the target */
    lock(h);
    h->loose = hunt->options->goal == SPAD_PLAN_MINIMIZE && target > hunt->low;
    if (h->loose) spad__valley_guide(h->search, hunt->offset);
    unlock(h);
}

/* Restarts at one target until `budget` nodes are spent or it is settled. */
static void try_target(hunter *h, int64_t target, int64_t budget) {
    const int64_t n = h->hunt->boxes->count;
    next_aim(h, target);
    const int64_t until = spad__valley_nodes(h->search) + budget;
    while (spad__valley_nodes(h->search) < until && nodes_left(h) > 0) {
        note_progress(h);
        if (spad__stopped(&h->stop) || finished(h)) return;
        const spad__taste taste = next_taste(h);
        const int64_t limit = (n + n / 2 + 50) * luby(++h->luby_step);
        switch (spad__valley_run(h->search, &taste, spad__random_next(&h->random),
                                 spad__min(limit, nodes_left(h)), &h->stop, h->offset)) {
        case SPAD__FOUND: offer_plan(h, height_of(h->hunt->boxes, h->offset)); return;
        case SPAD__NONE: offer_bound(h, target + 1); return;
        case SPAD__CUT: remember_taste(h, &taste, spad__valley_depth(h->search)); break;
        case SPAD__NO_MEMORY: h->no_memory = true; return;
        }
    }
}

/* ---- ejection ---------------------------------------------------------------------- */

/* An ejector for a target; what it has learned is kept while the target is the same. */
static bool aim_ejection(hunter *h, ejection *e, int64_t target) {
    if (e->ejector == NULL) {
        e->ejector = spad__ejector_create(h->hunt->boxes, &h->host, SPAD__EJECT_ROAMING, &h->random,
                                          &h->stop);
        e->target = -1;
    }
    h->no_memory = e->ejector == NULL;
    if (h->no_memory || e->target == target) return !h->no_memory;
    spad__ejector_forget(e->ejector);
    spad__ejector_start(e->ejector, NULL, target);
    e->target = target;
    return true;
}

/* Boxes are put in and taken out below a target, for about as long as `budget` nodes take. */
static void eject_below(hunter *h, ejection *e, int64_t target, int64_t budget) {
    if (!aim_ejection(h, e, target)) return;
    for (; budget > 0 && nodes_left(h) > 0; budget -= EJECT_TURN) {
        note_progress(h);
        if (spad__stopped(&h->stop) || finished(h)) return;
        const int64_t looks = spad__min(budget, EJECT_TURN) * LOOKS_PER_NODE;
        const spad__eject_limits limits = {looks, nodes_left(h), INT32_MAX};
        if (!spad__ejector_run(e->ejector, target, &limits)) continue;
        offer_plan(h, spad__ejector_plan(e->ejector, h->offset));
        e->target = -1;
        return;
    }
}

/* ---- the ladder -------------------------------------------------------------------- */

/* Eighths of the way from the bound to just below the best plan; a share of the budget in quarters.
 */
typedef struct rung {
    int8_t eighths;
    int8_t quarters;
    bool eject;
} rung;

/* The exact search alone settles most problems in the first rounds. */
static const rung first_rungs[] = {{0, 4, false}, {4, 4, false}, {7, 4, false}, {8, 4, false}};
static const rung later_rungs[] = {
    {0, 4, false}, {4, 1, true}, {4, 1, false}, {0, 4, true}, {8, 2, false}};

static bool hunt_is_over(hunter *h) {
    return finished(h) || spad__stopped(&h->stop) || nodes_left(h) <= 0 || h->no_memory;
}

/* Whether a plan was found. */
static bool try_rung(hunter *h, const rung *r, int64_t budget) {
    int64_t low;
    int64_t height;
    read_bounds(h, &low, &height);
    const int64_t target = low + (height - 1 - low) * r->eighths / 8;
    const int64_t share = budget * r->quarters / 4;
    const bool same = r->eighths > 0 && target == low;
    if (!same && r->eject)
        eject_below(h, r->eighths > 0 ? &h->above : &h->at_bound, target,
                    h->ejecting ? EJECTING * share : share);
    else if (!same)
        try_target(h, target, share);
    int64_t height_now;
    read_bounds(h, &low, &height_now);
    return height_now < height;
}

static void climb_ladder(hunter *h) {
    enum { FIRST = sizeof first_rungs / sizeof(rung), LATER = sizeof later_rungs / sizeof(rung) };
    int64_t budget = (int64_t)h->hunt->boxes->count * RUNG_NODES;
    for (int32_t round = 0;; round++, budget *= 2) {
        const bool first = round < FIRST_ROUNDS && !h->ejecting;
        for (int32_t k = 0; k < (first ? FIRST : LATER);) {
            if (hunt_is_over(h)) return;
            const rung *r = first ? &first_rungs[k] : &later_rungs[k];
            if (!try_rung(h, r, budget)) k++; /* one that gives way is climbed again */
        }
    }
}

/* One target, by the exact search and by ejection in turns. */
static void try_height(hunter *h, int64_t target) {
    for (int64_t budget = (int64_t)h->hunt->boxes->count * DECIDE_NODES;; budget *= 2) {
        if (hunt_is_over(h)) return;
        try_target(h, target, budget);
        if (hunt_is_over(h)) return;
        eject_below(h, &h->at_bound, target, h->ejecting ? EJECTING * budget / 2 : budget / 2);
    }
}

static void hunt_exactly(hunter *h) {
    if (h->hunt->options->goal == SPAD_PLAN_MINIMIZE)
        climb_ladder(h);
    else
        try_height(h, h->hunt->enough);
}

/* ---- threads ----------------------------------------------------------------------- */

/* The caller's host need not be made for threads. */
static void *locked_resize(void *context, void *block, size_t old_size, size_t new_size) {
    team *t = context;
    pthread_mutex_lock(&t->mutex);
    void *moved = t->host.resize(t->host.context, block, old_size, new_size);
    pthread_mutex_unlock(&t->mutex);
    return moved;
}

static bool hunter_start(hunter *h, spad__hunt *hunt, team *t, uint64_t seed) {
    *h = (hunter){.hunt = hunt,
                  .team = t,
                  .host = {.resize = locked_resize, .context = t},
                  .stop = {.deadline = hunt->stop->deadline, .now = &t->over},
                  .random = {hunt->options->seed + seed}};
    h->offset = spad__new_array(&h->host, (size_t)hunt->boxes->count, sizeof *h->offset);
    return h->offset != NULL;
}

static void hunter_end(hunter *h) {
    h->hunt->nodes += hunt_nodes(h);
    h->hunt->restarts += h->luby_step;
    spad__valley_destroy(h->search);
    spad__ejector_destroy(h->at_bound.ejector);
    spad__ejector_destroy(h->above.ejector);
    spad__free(&h->host, h->offset, (size_t)h->hunt->boxes->count * sizeof *h->offset);
}

static void *hunter_work(void *argument) {
    hunter *h = argument;
    h->search = spad__valley_create(h->hunt->boxes, &h->host);
    if (h->search != NULL)
        hunt_exactly(h);
    else
        h->no_memory = true;
    if (finished(h)) spad__stop_now(&h->stop);
    return NULL;
}

/* The same for a large problem, without the exact search. */
static void *lower_work(void *argument) {
    hunter *h = argument;
    h->no_memory = !lower_plan(h);
    if (finished(h)) spad__stop_now(&h->stop);
    return NULL;
}

/* Hunter 0 works in this thread, the others in theirs. A helper that cannot start is done
 * without. */
static void work_together(hunter *first, hunter *helpers, int32_t count, void *(*work)(void *)) {
    int32_t running = 0;
    for (; running < count; running++) {
        hunter *h = &helpers[running];
        const uint64_t seed = ((uint64_t)running + 1) << 32;
        if (!hunter_start(h, first->hunt, first->team, seed)) break;
        h->number = (uint32_t)running + 1;
        h->ejecting = running % 2 == 0;
        if (pthread_create(&h->thread, NULL, work, h) != 0) {
            hunter_end(h);
            break;
        }
    }
    work(first);
    spad__stop_now(&first->stop); /* it is done, and so are they */
    for (int32_t k = 0; k < running; k++) {
        pthread_join(helpers[k].thread, NULL);
        hunter_end(&helpers[k]);
    }
}

/* Helpers beside the calling thread; each of them has a node to spend at least. */
static int32_t helper_count(const spad__hunt *hunt) {
    const int64_t wanted = spad__min(hunt->options->threads - 1, MOST_HELPERS);
    const int64_t useful = hunt->node_limit > 0 ? hunt->node_limit - 1 : MOST_HELPERS;
    return (int32_t)spad__max(spad__min(wanted, useful), 0);
}

bool spad__hunt_run(spad__hunt *hunt) {
    hunter first;
    hunter *helpers = NULL;
    const int32_t count = helper_count(hunt);
    const size_t room = (size_t)count * sizeof *helpers;
    team t = {.host = *hunt->host, .node_limit = INT64_MAX};
    if (hunt->node_limit > 0) t.node_limit = hunt->node_limit / (count + 1);
    spad__listener *listener = hunt->stop->listener;
    pthread_mutex_init(&t.mutex, NULL);
    bool ok = hunter_start(&first, hunt, &t, 0);
    first.stop.listener = listener;
    if (listener != NULL && count > 0) listener->host_mutex = &t.mutex;
    ok = ok && first_plan(&first);
    const bool large = hunt->boxes->count > SPAD__EXACT_BOXES;
    if (ok && !large && hunt->boxes->count > LEAST_FOR_CORE) ok = lower_plan(&first);
    if (ok && !finished(&first) && !spad__stopped(&first.stop)) {
        if (count > 0) helpers = spad__new_array(hunt->host, (size_t)count, sizeof *helpers);
        work_together(&first, helpers, helpers != NULL ? count : 0,
                      large ? lower_work : hunter_work);
        spad__free(hunt->host, helpers, room);
    }
    hunter_end(&first);
    if (listener != NULL) listener->host_mutex = NULL;
    pthread_mutex_destroy(&t.mutex);
    return ok && !first.no_memory;
}
