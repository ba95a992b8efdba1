/* SPDX-License-Identifier: Apache-2.0
 *
 * Is a folded kernel with agents exactly the straight one? Walks both, agent by agent: the same
 * statements in the same order, from the same sources, on the same bytes and the same objects with
 * the same amounts. O(events + accesses).
 *
 * It trusts nothing of how the loops were found, only where each tensor and object is now. A run
 * that was not folded has rows of its own: then objects are the same if they have the same bytes,
 * or without an address the same name.
 */
#include <string.h>

#include "kernel/fold/fold_agents.h"
#include "spad/experimental/kernel_rows.h"
#include "spad/experimental/walk.h"

typedef struct exact_pair {
    const spad__folder *f; /* NULL: the straight kernel is of another run */
    const spad_kernel *straight;
    const spad_kernel *folded;
} exact_pair;

/* ---- objects ----------------------------------------------------------------------- */

static bool is_same_text(const char *a, const char *b) {
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* Tiles of two tensors: at the same bytes, or of the same name. */
static bool has_same_bytes(const exact_pair *x, int64_t tensor, int64_t tile, int64_t made,
                           int64_t made_tile) {
    const spad_kernel_tensor *a = &x->straight->tensors.items[tensor];
    const spad_kernel_tensor *b = &x->folded->tensors.items[made];
    if (a->space != b->space || a->mode != b->mode || a->tile_bytes != b->tile_bytes) return false;
    if (a->mode != SPAD_MODE_AT || a->blocks.count > 0)
        return tile == made_tile && strcmp(a->name, b->name) == 0;
    const int64_t step = b->step.value != 0 ? b->step.value : b->tile_bytes;
    const int64_t at = b->blocks.count > 0 && made_tile > 0 ? made_tile * step : 0;
    return a->lane.value == b->lane.value && a->byte.value == b->byte.value + at;
}

static bool is_same_tile(const exact_pair *x, int64_t tensor, int64_t tile, int64_t made,
                         int64_t made_tile) {
    if (tensor < 0 || made < 0) return tensor < 0 && made < 0;
    if (x->f == NULL) return has_same_bytes(x, tensor, tile, made, made_tile);
    const spad__fold_place *place = &x->f->tensors[tensor];
    if (place->ring < 0) return place->made == made && tile == made_tile;
    return x->f->rings.items[place->ring].made == made && made_tile == place->member;
}

/* Elements of one block of a cluster, or all of them. */
static int64_t elements_apart(const spad_kernel_sync *s) {
    return s->each_block ? s->elements / s->dims.items[0].value : s->elements;
}

static bool is_same_element(const exact_pair *x, int64_t row, int64_t element, int64_t made,
                            int64_t made_element) {
    if (row < 0 || made < 0) return row < 0 && made < 0;
    if (x->f == NULL) {
        const spad_kernel_sync *a = &x->straight->syncs.items[row];
        const spad_kernel_sync *b = &x->folded->syncs.items[made];
        if (a->kind != b->kind || a->count.value != b->count.value || a->placed != b->placed)
            return false;
        if (!a->placed) return element == made_element && strcmp(a->name, b->name) == 0;
        const int64_t one = elements_apart(a), two = elements_apart(b);
        return element / one == made_element / two &&
               a->byte.value + element % one * SPAD_MBARRIER_BYTES ==
                   b->byte.value + made_element % two * SPAD_MBARRIER_BYTES;
    }
    const spad__fold_place *place = &x->f->syncs[row];
    if (place->ring < 0) return place->made == made && element == made_element;
    const spad__fold_ring *ring = &x->f->rings.items[place->ring];
    return ring->made == made && made_element == element * ring->count + place->member;
}

/* The same line, reached through the same calls. Recursion as deep as calls are. */
static bool is_same_source(const exact_pair *x, int64_t source, int64_t made) {
    if (x->f != NULL || source < 0 || made < 0) return source == made;
    const spad_kernel_source *a = &x->straight->sources.items[source];
    const spad_kernel_source *b = &x->folded->sources.items[made];
    return a->line == b->line && strcmp(a->file, b->file) == 0 &&
           is_same_source(x, a->caller, b->caller);
}

/* ---- events ------------------------------------------------------------------------ */

static bool is_same_access(const exact_pair *x, const spad_walk_access *a,
                           const spad_walk_access *b) {
    return a->kind == b->kind && a->live == b->live && a->placed == b->placed &&
           memcmp(&a->rect, &b->rect, sizeof a->rect) == 0 &&
           memcmp(&a->tile_rect, &b->tile_rect, sizeof a->tile_rect) == 0 && a->runs == b->runs &&
           a->stride == b->stride && a->moved == b->moved &&
           is_same_tile(x, a->tensor, a->tile, b->tensor, b->tile) &&
           is_same_text(x->straight->accesses.items[a->row].spread,
                        x->folded->accesses.items[b->row].spread);
}

static bool is_same_completion(const exact_pair *x, const spad_walk_completion *a,
                               const spad_walk_completion *b) {
    return a->kind == b->kind && a->amount == b->amount && a->flags == b->flags &&
           is_same_element(x, a->object, a->element, b->object, b->element);
}

static bool is_same_statement(const exact_pair *x, const spad_statement *s,
                              const spad_statement *t) {
    const bool grouped = s->kind == SPAD_STATEMENT_OPERATION && s->group >= 0;
    if (!is_same_element(x, grouped ? s->group : -1, 0, grouped ? t->group : -1, 0)) return false;
    if (!grouped && s->group != t->group) return false;
    for (int w = 0; w < SPAD_WORKS; w++) {
        if (s->work[w].value != t->work[w].value) return false;
    }
    return s->kind == t->kind && is_same_text(s->name, t->name) && s->engine == t->engine &&
           s->unit == t->unit && s->flags == t->flags && s->fence == t->fence &&
           is_same_source(x, s->source, t->source) && s->cost_kind == t->cost_kind &&
           s->latency_kind == t->latency_kind && s->latency.value == t->latency.value;
}

static bool is_same_event(const exact_pair *x, const spad_walk_event *a, const spad_walk_event *b) {
    if (a->kind != b->kind || a->agent != b->agent) return false;
    if (a->kind == SPAD_WALK_END) return true;
    if ((a->statement < 0) != (b->statement < 0)) return false;
    const bool row = a->kind == SPAD_WALK_OPERATION || a->kind == SPAD_WALK_SYNC ||
                     a->kind == SPAD_WALK_ALLOC || a->kind == SPAD_WALK_FREE;
    if (row && !is_same_statement(x, &x->straight->statements.items[a->statement],
                                  &x->folded->statements.items[b->statement])) {
        return false;
    }
    if (a->amount != b->amount || a->expect != b->expect || a->cost != b->cost ||
        a->access_count != b->access_count || a->completion_count != b->completion_count ||
        !is_same_tile(x, a->tensor, a->tile, b->tensor, b->tile) ||
        !is_same_element(x, a->object, a->element, b->object, b->element)) {
        return false;
    }
    for (size_t i = 0; i < a->access_count; i++) {
        if (!is_same_access(x, &a->accesses[i], &b->accesses[i])) return false;
    }
    for (size_t i = 0; i < a->completion_count; i++) {
        if (!is_same_completion(x, &a->completions[i], &b->completions[i])) return false;
    }
    return true;
}

/* ---- walks ------------------------------------------------------------------------- */

/* Declarations and loops are how a kernel is written. */
static spad_status next_exact_event(const spad_walk_event **out, spad_walk *walk,
                                    spad_error *error) {
    for (;;) {
        const spad_status status = spad_walk_next(out, walk, error);
        if (status != SPAD_OK) return status;
        switch ((*out)->kind) {
        case SPAD_WALK_TENSOR:
        case SPAD_WALK_LOOP_BEGIN:
        case SPAD_WALK_ITERATION:
        case SPAD_WALK_LOOP_END: break;
        default: return SPAD_OK;
        }
    }
}

static spad_status compare_walks(bool *same, const exact_pair *x, spad_walk *one, spad_walk *two,
                                 spad_error *error) {
    const spad_walk_event *a = NULL;
    const spad_walk_event *b = NULL;
    do {
        spad_status status = next_exact_event(&a, one, error);
        if (status == SPAD_OK) status = next_exact_event(&b, two, error);
        if (status != SPAD_OK) return status;
        *same = is_same_event(x, a, b);
    } while (*same && a->kind != SPAD_WALK_END);
    return SPAD_OK;
}

static spad_status compare_agent(bool *same, const exact_pair *x, int64_t agent,
                                 spad_error *error) {
    const spad_walk_options options = {.agent = agent, .host = &x->folded->host};
    spad_walk *one = NULL;
    spad_walk *two = NULL;
    *same = strcmp(x->straight->agents.items[agent].name, x->folded->agents.items[agent].name) == 0;
    if (!*same) return SPAD_OK;
    spad_status status = spad_walk_create(&one, x->straight, &options, error);
    if (status == SPAD_OK) status = spad_walk_create(&two, x->folded, &options, error);
    if (status == SPAD_OK) status = compare_walks(same, x, one, two, error);
    spad_walk_destroy(one);
    spad_walk_destroy(two);
    return status;
}

spad_status spad__fold_is_exact(bool *same, const spad__folder *f, const spad_kernel *straight,
                                const spad_kernel *folded, spad_error *error) {
    const exact_pair x = {f, straight, folded};
    *same = straight->agents.count == folded->agents.count;
    for (size_t i = 0; *same && i < straight->agents.count; i++) {
        const spad_status status = compare_agent(same, &x, (int64_t)i, error);
        if (status != SPAD_OK) return status;
    }
    return SPAD_OK;
}

spad_status spad__fold_has_run(bool *same, const spad_kernel *folded, const spad_define *define,
                               const spad_kernel *straight, spad_error *error) {
    const spad_kernel_options options = {
        .defines = define, .define_count = 1, .host = &folded->host};
    spad_kernel *shaped = NULL;
    spad_status status = spad_kernel_reshape(&shaped, folded, &options, error);
    if (status == SPAD_OK) status = spad__fold_is_exact(same, NULL, straight, shaped, error);
    spad_kernel_destroy(shaped);
    if (status == SPAD_OK || status == SPAD_ERR_HOST_MEMORY) return status;
    *same = false; /* the loops cannot have that trip count */
    return SPAD_OK;
}
