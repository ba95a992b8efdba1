/* SPDX-License-Identifier: Apache-2.0
 *
 * Greedy passes: the skyline (skyline.c) with one preference after the other, and passes
 * that pack the core of the problem (narrow_peak.c) before the rest. A preference that suits one
 * problem does not suit the next, so the first ones are chosen to differ and all others
 * are drawn. O(n log n) for a pass.
 */
#include "plan/search/greedy_passes.h"

#include <string.h>

#include "base/checked.h"
#include "plan/search/narrow_peak.h"

enum {
    PASSES_CORE = 12,   /* over the core alone */
    PASSES_REST = 2,    /* around it */
    MOST_CORE = 20000,  /* boxes: a pass around them examines many */
    LOOKS_PER_BOX = 400 /* at pairs of a pinned box and one of the core */
};

static const spad__preference first_preferences[] = {{256, 512, 0}, {512, 256, 0}, {256, 256, 0},
                                                     {512, 0, 0},   {0, 512, 0},   {256, 256, 64}};

static spad__preference next_preference(spad__random *random, int32_t pass) {
    const int32_t known = (int32_t)(sizeof first_preferences / sizeof *first_preferences);
    if (pass < known) return first_preferences[pass];
    spad__preference drawn = {0};
    drawn.size = (int32_t)spad__random_in(random, 0, 512);
    drawn.width = (int32_t)spad__random_in(random, 0, 512);
    drawn.noise = (int32_t)spad__random_in(random, 0, 80);
    return drawn;
}

bool spad__pack_start(spad__pack *p) {
    p->skyline = spad__skyline_create(p->boxes, p->host);
    return p->skyline != NULL;
}

void spad__pack_end(spad__pack *p) {
    spad__skyline_destroy(p->skyline);
    p->skyline = NULL;
}

/* One pass around boxes with pinned offsets; keeps the plan if it is lower. */
static void pass_around(spad__pack *p, int32_t preference_number, const int64_t *fixed) {
    const spad__preference preference = next_preference(p->random, preference_number);
    const bool first = p->height == INT64_MAX;
    const int64_t height =
        spad__skyline_pass(p->skyline, &preference, spad__random_next(p->random), fixed,
                           first ? INT64_MAX : p->height - 1, first ? NULL : p->stop, p->trial);
    if (height < 0) return;
    p->height = height;
    memcpy(p->offset, p->trial, (size_t)p->boxes->count * sizeof *p->offset);
}

void spad__pack_pass(spad__pack *p) {
    pass_around(p, p->passes++, p->fixed);
}

/* ---- the core ---------------------------------------------------------------------- */

/* Room for the plans of one core; the core has fewer boxes than the whole. */
typedef struct rooms {
    int64_t *fixed;  /* per box of the whole: pinned, or in the best plan of the core, or -1 */
    int64_t *pinned; /* per box of the core */
    int64_t *kept;   /* the same, and the offsets in the core before */
    int64_t *offset;
} rooms;

static bool collide(const spad__boxes *b, const int64_t *offset, int32_t i, int32_t j) {
    return b->begin[i] < b->end[j] && b->begin[j] < b->end[i] &&
           offset[i] < offset[j] + b->size[j] && offset[j] < offset[i] + b->size[i];
}

/* A box of the core may be in the way of a pinned one outside the window: then it is free
 * again. False: too many pairs to look at. */
static bool respect_given(const spad__pack *p, const spad__core *core, const rooms *r) {
    const int32_t n = p->boxes->count;
    int64_t looks = (int64_t)n * LOOKS_PER_BOX;
    for (int32_t g = 0; g < n; g++) {
        if (p->fixed[g] < 0) continue;
        looks -= core->boxes.count;
        if (looks < 0) return false;
        for (int32_t k = 0; k < core->boxes.count; k++) {
            const int32_t i = core->origin[k];
            if (p->fixed[i] < 0 && r->fixed[i] >= 0 && collide(p->boxes, r->fixed, i, g))
                r->fixed[i] = -1;
        }
    }
    return true;
}

/* Passes over the core alone until it is low enough; then its boxes are fixed as well.
 * Returns its height; INT64_MAX: it has no plan; -1: out of memory. */
static int64_t pack_core_alone(spad__pack *p, const spad__core *core, const rooms *r) {
    spad__pack alone = {.boxes = &core->boxes,
                        .host = p->host,
                        .random = p->random,
                        .stop = p->stop,
                        .enough = p->enough,
                        .height = INT64_MAX,
                        .offset = r->offset,
                        .trial = p->trial};
    for (int32_t i = 0; i < core->boxes.count; i++) {
        r->kept[i] = r->fixed[core->origin[i]];
        r->pinned[i] = p->fixed != NULL ? p->fixed[core->origin[i]] : -1;
    }
    if (!spad__pack_start(&alone)) return -1;
    for (int32_t k = 0; k < 2 * PASSES_CORE && alone.height > p->enough; k++) {
        if (k > 0 && spad__stopped(p->stop)) break;
        if (k == PASSES_CORE) alone.passes = 0;
        alone.fixed = k < PASSES_CORE ? r->kept : r->pinned;
        spad__pack_pass(&alone);
    }
    spad__pack_end(&alone);
    if (alone.height == INT64_MAX) return INT64_MAX;
    for (int32_t i = 0; i < core->boxes.count; i++) r->fixed[core->origin[i]] = r->offset[i];
    if (p->fixed != NULL && !respect_given(p, core, r)) return INT64_MAX;
    return alone.height;
}

/* Larger and larger cores, each around the one before or afresh, as long as they are low enough. */
static bool pack_cores(spad__pack *p, const rooms *r) {
    bool ok = true;
    for (int32_t i = 0; i < p->boxes->count; i++) r->fixed[i] = p->fixed != NULL ? p->fixed[i] : -1;
    for (int64_t percent = 90; ok && percent >= 50 && p->height > p->enough; percent -= 10) {
        if (spad__stopped(p->stop)) break;
        spad__core core;
        ok = spad__core_build(&core, p->boxes, percent);
        const bool small = ok && core.boxes.count <= MOST_CORE;
        const int64_t height = small ? pack_core_alone(p, &core, r) : INT64_MAX;
        spad__core_free(&core);
        ok = ok && height >= 0;
        for (int32_t k = 0; ok && k < PASSES_REST; k++) {
            if (height >= p->height || p->height <= p->enough) break;
            pass_around(p, k, r->fixed);
        }
        if (height >= p->height) break; /* a larger core will not be lower */
    }
    return ok;
}

bool spad__pack_core(spad__pack *p) {
    const size_t count = (size_t)p->boxes->count;
    const size_t room = count * sizeof(int64_t);
    rooms r = {.fixed = spad__new_array(p->host, count, sizeof(int64_t)),
               .pinned = spad__new_array(p->host, count, sizeof(int64_t)),
               .kept = spad__new_array(p->host, count, sizeof(int64_t)),
               .offset = spad__new_array(p->host, count, sizeof(int64_t))};
    bool ok = r.fixed != NULL && r.pinned != NULL && r.kept != NULL && r.offset != NULL;
    if (ok) ok = pack_cores(p, &r);
    spad__free(p->host, r.fixed, room);
    spad__free(p->host, r.pinned, room);
    spad__free(p->host, r.kept, room);
    spad__free(p->host, r.offset, room);
    return ok;
}
