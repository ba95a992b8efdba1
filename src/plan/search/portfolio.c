/* SPDX-License-Identifier: Apache-2.0
 *
 * Portfolio search for a plan of boxes: greedy passes, then restarts of the exact search and of
 * ejection.
 *
 * 0. A perfect packing, in which no byte may be wasted, goes to the exact search at once.
 * 1. Greedy passes with different preferences give a first plan. Most real
 *    problems end here, at the largest load. From some hundred boxes on the plan is lowered from
 *    its peaks outwards (peaks_first.c) and by ejection (eject.c).
 * 2. Up to SPAD__EXACT_BOXES the exact search tries to reach a target height in
 *    many short runs (Luby's sequence of node limits), each with its own priority profile
 *    in ordering options. Run times of such searches have heavy tails, so a
 *    lucky short run beats a long one (Gomes et al. 2000). Half of the profiles
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
 *    bound gets most of the time, half of it by ejection; in a perfect packing the exact search
 *    at the bound gets nearly all of it.
 *
 * Everything is steered by node counts and the seed, so one thread gives the
 * same plan on every machine; the deadline is only a cut. With more threads
 * each has its own search and seed, and every other one is mostly for ejection;
 * heights and bounds are shared.
 */
#include "plan/search/portfolio.h"

#include <pthread.h>
#include <string.h>

#include "base/checked.h"
#include "base/random.h"
#include "plan/search/eject.h"
#include "plan/search/peaks_first.h"
#include "plan/search/strips.h"
#include "plan/search/valley.h"

enum {
    PASSES_SMALL = 8,          /* greedy passes before the exact search */
    PASSES_WIDE = 48,          /* and where it has little hope, or none exists, */
    PASSED_BOXES = 400 * 1000, /* but no more than these make up, */
    PASSED_LARGE = 100 * 1000, /* or these, where no exact search comes next, */
    PASSES_BEFORE_CORE = 2,    /* though always one after the core */
    HOPELESS_GAP = 32,         /* part of the bound */
    EJECT_ROUNDS = 3,          /* without a deadline */
    MOST_ROUNDS = 24,          /* each twice as long as the one before */
    EJECT_LOOKS_PER_BOX = 500, /* before the exact search */
    PEAKS_LOOKS_PER_BOX = 500, /* the same; in large problems a quarter of it in the first round */
    PEAKS_QUICK_BOXES = 1 << 15, /* boxes: above it ejection comes first */
    PEAKS_BOXES_MAX = 1 << 17,   /* boxes */
    LEAST_FOR_CORE = 600,        /* boxes: below it the exact search is quicker */
    LEAST_FOR_STRIPS = 1 << 16,  /* boxes: below it the core of the whole is better */
    MOST_TIGHT = 1 << 14,        /* boxes: a node takes long above it */
    TIGHT_NODES = 512,           /* per box, before all that is for problems with slack, */
    MOST_TIGHT_NODES = 1 << 20,  /* but no more than these */
    MEMORY = 8,                  /* profiles remembered */
    MOST_HELPERS = 63,
    RUNG_NODES = 40,     /* per box on a rung, in the first round */
    FIRST_ROUNDS = 4,    /* before the first ejection */
    DECIDE_NODES = 600,  /* per box, before the first ejection when only one height counts */
    LOOKS_PER_NODE = 48, /* of the same time, about */
    EJECT_TURN = 16384,  /* nodes worth of ejection between two looks at the others */
    EJECTING = 4         /* times as much ejection in every other thread */
};

typedef struct remembered {
    spad__profile profile;
    int64_t depth;
} remembered;

/* The workers of one search, one per thread. */
typedef struct team {
    pthread_mutex_t mutex; /* guards the results of the search, and the host */
    spad_host host;
    atomic_bool over;   /* ends the search for all of them */
    int64_t node_limit; /* of each; INT64_MAX: none */
} team;

/* An ejector and the target it has been working on. */
typedef struct ejection {
    spad__ejector *ejector; /* NULL until it is needed */
    int64_t target;
} ejection;

typedef struct worker {
    spad__portfolio *portfolio;
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
    bool one_pass; /* greedy passes have no hope yet */
    bool loose;    /* the target is above the bound, and the best plan above the target */
    bool no_memory;
} worker;

/* Steps of all searches of a worker. */
static int64_t worker_nodes(const worker *w) {
    int64_t nodes = w->search != NULL ? spad__valley_nodes(w->search) : 0;
    if (w->at_bound.ejector != NULL) nodes += spad__ejector_steps(w->at_bound.ejector);
    if (w->above.ejector != NULL) nodes += spad__ejector_steps(w->above.ejector);
    return nodes;
}

/* ---- shared results ---------------------------------------------------------------- */

static void lock(worker *w) {
    pthread_mutex_lock(&w->team->mutex);
}

static void unlock(worker *w) {
    pthread_mutex_unlock(&w->team->mutex);
}

static void offer_plan(worker *w, int64_t height) {
    spad__portfolio *portfolio = w->portfolio;
    lock(w);
    if (height < portfolio->height) {
        portfolio->height = height;
        memcpy(portfolio->offset, w->offset,
               (size_t)portfolio->boxes->count * sizeof *portfolio->offset);
    }
    unlock(w);
}

static void offer_bound(worker *w, int64_t low) {
    lock(w);
    w->portfolio->low = spad__max(w->portfolio->low, low);
    unlock(w);
}

static void read_bounds(worker *w, int64_t *low, int64_t *height) {
    lock(w);
    *low = w->portfolio->low;
    *height = w->portfolio->height;
    unlock(w);
}

static bool finished(worker *w) {
    int64_t low;
    int64_t height;
    read_bounds(w, &low, &height);
    return height <= spad__max(low, w->portfolio->enough) || low > w->portfolio->capacity;
}

/* Updates the numbers for the next progress callback. */
static void note_progress(worker *w) {
    if (w->stop.listener == NULL) return;
    int64_t low;
    int64_t height;
    read_bounds(w, &low, &height);
    const int64_t unit = w->portfolio->boxes->unit;
    spad_plan_progress *progress = &w->stop.listener->progress;
    if (height != INT64_MAX) progress->height = height * unit;
    if (w->portfolio->boxes->exact) progress->bound = spad__max(progress->bound, low * unit);
    progress->nodes = worker_nodes(w);
    progress->restarts = w->luby_step;
}

/* ---- greedy passes ----------------------------------------------------------------- */

/* Passes over the whole of a wide problem, and after some of them its core. */
static bool pass_wide(spad__pack *p, int32_t pass) {
    if (pass == PASSES_BEFORE_CORE && !spad__pack_core(p)) return false;
    if (p->height > p->enough) spad__pack_pass(p);
    return true;
}

/* Whether many boxes live together in a problem with too many for the exact search: then a plan
 * from the peaks outwards closes the gap that passes and ejection leave. */
static bool is_crowded(const spad__boxes *b) {
    return b->count > SPAD__EXACT_BOXES && b->count <= PEAKS_QUICK_BOXES &&
           spad__boxes_over(b, b->peak, b->peak + 1) >= SPAD__MANY_LIVE;
}

static bool passes_are_hopeless(const spad__pack *p) {
    return is_crowded(p->boxes) && p->height - p->enough > p->enough / HOPELESS_GAP;
}

/* Whether a plan of this height wastes no byte, as in a perfect packing. */
static bool is_tight(const spad__boxes *b, int64_t height) {
    return b->count <= MOST_TIGHT && spad__boxes_are_tight(b, height);
}

/* First plans: of a long problem from strips, if they suit it, and if it is not too long two
 * passes over the whole; of others in passes over the whole alone. */
static bool greedy_passes(worker *w, spad__pack *p) {
    const int32_t n = w->portfolio->boxes->count;
    const bool wide = n > LEAST_FOR_CORE;
    const int64_t passed = n > SPAD__EXACT_BOXES ? PASSED_LARGE : PASSED_BOXES;
    const int64_t passes = wide ? spad__min(PASSES_WIDE, passed / n) : PASSES_SMALL;
    bool found = false;
    if (n > LEAST_FOR_STRIPS && !spad__strips_pass(p, &found)) return false;
    if (found && n > PEAKS_BOXES_MAX) return true;
    bool ok = spad__pack_start(p);
    for (int32_t k = 0; ok && p->height > p->enough; k++) {
        if (found && k == PASSES_BEFORE_CORE) break;
        if (k >= passes && k > PASSES_BEFORE_CORE) break;
        if (k > 0 && w->one_pass) break;
        if (k == PASSES_BEFORE_CORE && passes_are_hopeless(p)) break;
        note_progress(w);
        if ((found || k > 0) && spad__stopped(&w->stop)) break;
        if (wide)
            ok = pass_wide(p, k);
        else
            spad__pack_pass(p);
        w->portfolio->height = p->height;
    }
    spad__pack_end(p);
    return ok;
}

/* Gives the plan of a pack to the others, or takes theirs if it is lower. */
static void share_plan(worker *w, spad__pack *p) {
    spad__portfolio *portfolio = w->portfolio;
    const size_t room = (size_t)portfolio->boxes->count * sizeof *portfolio->offset;
    lock(w);
    if (p->height < portfolio->height) {
        portfolio->height = p->height;
        memcpy(portfolio->offset, p->offset, room);
    } else if (portfolio->height < p->height) {
        p->height = portfolio->height;
        memcpy(p->offset, portfolio->offset, room);
    }
    unlock(w);
}

/* One round of lowering a plan from the peaks outwards and by ejection. In a large problem the
 * first round is for one of them: ejection, where a pass over all boxes takes long; and where
 * many boxes live together, the first one is the only one as long as it lowers the plan. */
static bool lower_once(worker *w, spad__pack *p, spad__peaks_first *peaks, int32_t round) {
    const int64_t n = p->boxes->count;
    const bool large = n > SPAD__EXACT_BOXES;
    const bool slow = n > PEAKS_QUICK_BOXES;
    if (peaks != NULL && !(slow && round == 0)) {
        const int64_t before = p->height;
        const int64_t looks = n * PEAKS_LOOKS_PER_BOX;
        if (!spad__peaks_first_round(peaks, large && round == 0 ? looks / 4 : looks << round))
            return false;
        const bool lower = p->height < before;
        share_plan(w, p);
        if (large && !slow && (round == 0 || (lower && is_crowded(p->boxes)))) return true;
    }
    if (p->height <= p->enough || spad__stopped(&w->stop)) return true;
    const int64_t looks = large ? SPAD__EJECT_LOOKS : n * EJECT_LOOKS_PER_BOX;
    const bool ok = spad__eject(p, looks << round);
    share_plan(w, p);
    return ok;
}

/* Lowers the plan of a wide problem: once and for a short time if the exact search comes next,
 * else for as long as there is time. */
static bool lower_rounds(worker *w, spad__pack *p) {
    const bool large = p->boxes->count > SPAD__EXACT_BOXES;
    const bool patient = large && w->portfolio->options->timeout_ns > 0;
    const int32_t rounds = patient ? MOST_ROUNDS : large ? EJECT_ROUNDS : 1;
    const bool wanted = p->boxes->count <= PEAKS_BOXES_MAX;
    spad__peaks_first *peaks = wanted ? spad__peaks_first_create(p, w->number) : NULL;
    bool ok = !wanted || peaks != NULL;
    for (int32_t round = 0; ok && round < rounds && p->height > p->enough; round++) {
        note_progress(w);
        if (spad__stopped(&w->stop)) break;
        ok = lower_once(w, p, peaks, round);
    }
    spad__peaks_first_destroy(peaks);
    return ok;
}

/* Lowers the best plan so far, in any thread. False: no memory. */
static bool lower_plan(worker *w) {
    spad__portfolio *portfolio = w->portfolio;
    if (finished(w) || spad__stopped(&w->stop)) return true;
    spad__pack p = {.boxes = portfolio->boxes,
                    .host = &w->host,
                    .random = &w->random,
                    .stop = &w->stop,
                    .enough = spad__max(portfolio->low, portfolio->enough),
                    .height = INT64_MAX,
                    .offset = w->offset};
    share_plan(w, &p);
    return lower_rounds(w, &p);
}

static bool first_plan(worker *w) {
    spad__portfolio *portfolio = w->portfolio;
    spad__pack p = {.boxes = portfolio->boxes,
                    .host = &w->host,
                    .random = &w->random,
                    .stop = &w->stop,
                    .enough = spad__max(portfolio->low, portfolio->enough),
                    .height = portfolio->height,
                    .offset = portfolio->offset,
                    .trial = w->offset};
    const bool ok = greedy_passes(w, &p);
    portfolio->height = p.height;
    return ok;
}

/* ---- profiles ------------------------------------------------------------------------ */

/* One draw per statement: the order of initialisers is the compiler's choice. */
static spad__profile fresh_profile(spad__random *random) {
    spad__profile profile = {0};
    profile.width = (int32_t)spad__random_in(random, 0, 160);
    profile.size = (int32_t)spad__random_in(random, 128, 448);
    profile.noise = (int32_t)spad__random_in(random, 200, 800);
    profile.edge = (int32_t)spad__random_in(random, 0, 400);
    profile.flush = (int32_t)spad__random_in(random, 300, 500);
    profile.rule = spad__random_below(random, 10) < 9 ? SPAD__TIGHT_FIRST : SPAD__FEW_FIRST;
    return profile;
}

static int32_t nudge(spad__random *random, int32_t value, int32_t by) {
    const int64_t moved = value + spad__random_in(random, -by, by);
    return (int32_t)spad__max(moved, 0);
}

static spad__profile nearby_profile(spad__random *random, spad__profile profile) {
    profile.width = nudge(random, profile.width, 32);
    profile.size = nudge(random, profile.size, 64);
    profile.noise = nudge(random, profile.noise, 100);
    profile.edge = nudge(random, profile.edge, 32);
    profile.flush = nudge(random, profile.flush, 32);
    return profile;
}

/* Above the bound every section has slack, and the best plan may be near to a better one. */
static spad__profile next_profile(worker *w) {
    spad__random *random = &w->random;
    const bool fresh = w->memory_count == 0 || spad__random_below(random, 2) == 0;
    const uint64_t known = (uint64_t)w->memory_count;
    spad__profile profile =
        fresh ? fresh_profile(random)
              : nearby_profile(random, w->memory[spad__random_below(random, known)].profile);
    if (!w->loose) return profile;
    if (spad__random_below(random, 2) == 0) profile.rule = SPAD__SLACK_FIRST;
    profile.guide = (int32_t)spad__max(spad__random_in(random, -1000, 1000), 0);
    return profile;
}

/* Keeps the profiles that came furthest, best first. */
static void remember_profile(worker *w, const spad__profile *profile, int64_t depth) {
    if (w->memory_count == MEMORY && w->memory[MEMORY - 1].depth >= depth) return;
    int32_t k = w->memory_count < MEMORY ? w->memory_count++ : MEMORY - 1;
    for (; k > 0 && w->memory[k - 1].depth < depth; k--) w->memory[k] = w->memory[k - 1];
    w->memory[k] = (remembered){*profile, depth};
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
static int64_t nodes_left(const worker *w) {
    return w->team->node_limit - worker_nodes(w);
}

/* Sets a target; above the bound the best plan becomes a guide. */
static void next_aim(worker *w, int64_t target) {
    spad__portfolio *portfolio = w->portfolio;
    spad__valley_capacity(w->search, target);
    w->memory_count = 0; /* how far a profile comes depends on the target */
    lock(w);
    w->loose = portfolio->options->goal == SPAD_PLAN_MINIMIZE && target > portfolio->low;
    if (w->loose) spad__valley_guide(w->search, portfolio->offset);
    unlock(w);
}

/* Restarts at one target until `budget` nodes are spent or it is settled. */
static void try_target(worker *w, int64_t target, int64_t budget) {
    const int64_t n = w->portfolio->boxes->count;
    next_aim(w, target);
    const int64_t until = spad__valley_nodes(w->search) + budget;
    while (spad__valley_nodes(w->search) < until && nodes_left(w) > 0) {
        note_progress(w);
        if (spad__stopped(&w->stop) || finished(w)) return;
        const spad__profile profile = next_profile(w);
        const int64_t limit = (n + n / 2 + 50) * luby(++w->luby_step);
        switch (spad__valley_run(w->search, &profile, spad__random_next(&w->random),
                                 spad__min(limit, nodes_left(w)), &w->stop, w->offset)) {
        case SPAD__FOUND: offer_plan(w, height_of(w->portfolio->boxes, w->offset)); return;
        case SPAD__NONE: offer_bound(w, target + 1); return;
        case SPAD__CUT: remember_profile(w, &profile, spad__valley_depth(w->search)); break;
        case SPAD__NO_MEMORY: w->no_memory = true; return;
        }
    }
}

/* ---- ejection ---------------------------------------------------------------------- */

/* An ejector for a target; its weights are kept while the target is the same. */
static bool aim_ejection(worker *w, ejection *e, int64_t target) {
    if (e->ejector == NULL) {
        e->ejector = spad__ejector_create(w->portfolio->boxes, &w->host, SPAD__EJECT_ROAMING,
                                          &w->random, &w->stop);
        e->target = -1;
    }
    w->no_memory = e->ejector == NULL;
    if (w->no_memory || e->target == target) return !w->no_memory;
    spad__ejector_forget(e->ejector);
    spad__ejector_start(e->ejector, NULL, target);
    e->target = target;
    return true;
}

/* Boxes are put in and taken out below a target, for about as long as `budget` nodes take. */
static void eject_below(worker *w, ejection *e, int64_t target, int64_t budget) {
    if (!aim_ejection(w, e, target)) return;
    for (; budget > 0 && nodes_left(w) > 0; budget -= EJECT_TURN) {
        note_progress(w);
        if (spad__stopped(&w->stop) || finished(w)) return;
        const int64_t looks = spad__min(budget, EJECT_TURN) * LOOKS_PER_NODE;
        const spad__eject_limits limits = {looks, nodes_left(w), INT32_MAX};
        if (!spad__ejector_run(e->ejector, target, &limits)) continue;
        offer_plan(w, spad__ejector_plan(e->ejector, w->offset));
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
/* Where no byte may be wasted: ejection does not find such a plan. */
static const rung tight_rungs[] = {{0, 16, false}, {8, 2, false}};

typedef struct ladder {
    const rung *rungs;
    size_t count;
} ladder;

#define LADDER_OF(rungs) ((ladder){rungs, sizeof(rungs) / sizeof *(rungs)})

static ladder ladder_in(worker *w, int32_t round) {
    int64_t low;
    int64_t height;
    read_bounds(w, &low, &height);
    if (is_tight(w->portfolio->boxes, low)) return LADDER_OF(tight_rungs);
    return round < FIRST_ROUNDS && !w->ejecting ? LADDER_OF(first_rungs) : LADDER_OF(later_rungs);
}

static bool search_is_over(worker *w) {
    return finished(w) || spad__stopped(&w->stop) || nodes_left(w) <= 0 || w->no_memory;
}

/* Whether a plan was found. */
static bool try_rung(worker *w, const rung *r, int64_t budget) {
    int64_t low;
    int64_t height;
    read_bounds(w, &low, &height);
    const int64_t target = low + (height - 1 - low) * r->eighths / 8;
    const int64_t share = budget * r->quarters / 4;
    const bool same = r->eighths > 0 && target == low;
    if (!same && r->eject)
        eject_below(w, r->eighths > 0 ? &w->above : &w->at_bound, target,
                    w->ejecting ? EJECTING * share : share);
    else if (!same)
        try_target(w, target, share);
    int64_t height_now;
    read_bounds(w, &low, &height_now);
    return height_now < height;
}

static void climb_ladder(worker *w) {
    int64_t budget = (int64_t)w->portfolio->boxes->count * RUNG_NODES;
    for (int32_t round = 0;; round++, budget *= 2) {
        const ladder l = ladder_in(w, round);
        for (size_t k = 0; k < l.count;) {
            if (search_is_over(w)) return;
            if (!try_rung(w, &l.rungs[k], budget)) k++; /* one that gives way is climbed again */
        }
    }
}

/* One target, by the exact search and by ejection in turns. */
static void try_height(worker *w, int64_t target) {
    for (int64_t budget = (int64_t)w->portfolio->boxes->count * DECIDE_NODES;; budget *= 2) {
        if (search_is_over(w)) return;
        try_target(w, target, budget);
        if (search_is_over(w)) return;
        eject_below(w, &w->at_bound, target, w->ejecting ? EJECTING * budget / 2 : budget / 2);
    }
}

static void search_exactly(worker *w) {
    if (w->portfolio->options->goal == SPAD_PLAN_MINIMIZE)
        climb_ladder(w);
    else
        try_height(w, w->portfolio->enough);
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

/* Helper threads in addition to the calling one; each has at least one node to spend. */
static int32_t helper_count(const spad__portfolio *portfolio) {
    const int64_t wanted = spad__min(portfolio->options->threads - 1, MOST_HELPERS);
    const int64_t useful = portfolio->node_limit > 0 ? portfolio->node_limit - 1 : MOST_HELPERS;
    return (int32_t)spad__max(spad__min(wanted, useful), 0);
}

static bool worker_start(worker *w, spad__portfolio *portfolio, team *t, uint64_t seed) {
    const spad_host locked = {.resize = locked_resize, .context = t};
    *w = (worker){.portfolio = portfolio,
                  .team = t,
                  .host = helper_count(portfolio) > 0 ? locked : t->host,
                  .stop = {.deadline = portfolio->stop->deadline, .now = &t->over},
                  .random = {portfolio->options->seed + seed}};
    w->offset = spad__new_array(&w->host, (size_t)portfolio->boxes->count, sizeof *w->offset);
    return w->offset != NULL;
}

static void worker_end(worker *w) {
    w->portfolio->nodes += worker_nodes(w);
    w->portfolio->restarts += w->luby_step;
    spad__valley_destroy(w->search);
    spad__ejector_destroy(w->at_bound.ejector);
    spad__ejector_destroy(w->above.ejector);
    spad__free(&w->host, w->offset, (size_t)w->portfolio->boxes->count * sizeof *w->offset);
}

static void *worker_work(void *argument) {
    worker *w = argument;
    if (w->search == NULL) w->search = spad__valley_create(w->portfolio->boxes, &w->host);
    if (w->search != NULL)
        search_exactly(w);
    else
        w->no_memory = true;
    if (finished(w)) spad__stop_now(&w->stop);
    return NULL;
}

/* The same for a large problem, without the exact search. */
static void *lower_work(void *argument) {
    worker *w = argument;
    w->no_memory = !lower_plan(w);
    if (finished(w)) spad__stop_now(&w->stop);
    return NULL;
}

/* Worker 0 runs in this thread, the others in theirs. A helper that cannot start is done
 * without. */
static void work_together(worker *first, worker *helpers, int32_t count, void *(*work)(void *)) {
    int32_t running = 0;
    for (; running < count; running++) {
        worker *w = &helpers[running];
        const uint64_t seed = ((uint64_t)running + 1) << 32;
        if (!worker_start(w, first->portfolio, first->team, seed)) break;
        w->number = (uint32_t)running + 1;
        w->ejecting = running % 2 == 0;
        if (pthread_create(&w->thread, NULL, work, w) != 0) {
            worker_end(w);
            break;
        }
    }
    work(first);
    spad__stop_now(&first->stop); /* it is done, and so are they */
    for (int32_t k = 0; k < running; k++) {
        pthread_join(helpers[k].thread, NULL);
        worker_end(&helpers[k]);
    }
}

/* Where no byte may be wasted a greedy pass fails, but the exact search has few options: then it
 * comes first, for a short time. */
static bool search_tight(worker *w) {
    const int64_t n = w->portfolio->boxes->count;
    const int64_t target = spad__max(w->portfolio->low, w->portfolio->enough);
    if (!is_tight(w->portfolio->boxes, target)) return true;
    w->one_pass = true;
    if (!first_plan(w)) return false;
    w->one_pass = false;
    w->search = spad__valley_create(w->portfolio->boxes, &w->host);
    if (w->search == NULL) return false;
    try_target(w, target, spad__min(n * TIGHT_NODES, MOST_TIGHT_NODES));
    return !w->no_memory;
}

bool spad__portfolio_run(spad__portfolio *portfolio) {
    worker first;
    worker *helpers = NULL;
    const int32_t count = helper_count(portfolio);
    const size_t room = (size_t)count * sizeof *helpers;
    team t = {.host = *portfolio->host, .node_limit = INT64_MAX};
    if (portfolio->node_limit > 0) t.node_limit = portfolio->node_limit / (count + 1);
    spad__listener *listener = portfolio->stop->listener;
    pthread_mutex_init(&t.mutex, NULL);
    bool ok = worker_start(&first, portfolio, &t, 0);
    first.stop.listener = listener;
    if (listener != NULL && count > 0) listener->host_mutex = &t.mutex;
    ok = ok && search_tight(&first) && first_plan(&first);
    const bool large = portfolio->boxes->count > SPAD__EXACT_BOXES;
    if (ok && !large && portfolio->boxes->count > LEAST_FOR_CORE) ok = lower_plan(&first);
    if (ok && !finished(&first) && !spad__stopped(&first.stop)) {
        if (count > 0) helpers = spad__new_array(portfolio->host, (size_t)count, sizeof *helpers);
        work_together(&first, helpers, helpers != NULL ? count : 0,
                      large ? lower_work : worker_work);
        spad__free(portfolio->host, helpers, room);
    }
    worker_end(&first);
    if (listener != NULL) listener->host_mutex = NULL;
    pthread_mutex_destroy(&t.mutex);
    return ok && !first.no_memory;
}
