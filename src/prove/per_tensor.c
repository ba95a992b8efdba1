/* SPDX-License-Identifier: Apache-2.0
 *
 * A proof for all trip counts, tensor by tensor.
 *
 * Rings of 31 and 33 slots return to the same state together after 1023 iterations, and each of
 * them alone after 31 and 33. Without agents and synchronisation a read is right or wrong by the
 * writes to its own bytes, in program order, and neither the order nor the conditions depend on
 * what memory holds. So whether there is an error at a tensor depends on those tensors only that
 * share bytes with it. Such a set of tensors is a part; its proof is the one of prove.c with the
 * step, the state and the shifts of its own tensors. If a part has a proof for all values from K
 * on, no larger value has an error at one of its tensors; if all parts have one, no value from the
 * largest K on has an error. The shapes that are run are run whole: their errors are those of all
 * parts.
 *
 * Parts are found from declarations, and from the layout if there is one: a tensor and its aliases;
 * all tensors with a place of their own (`at`, `mod`); what a layout puts on the same bytes. Parts
 * with the same steps are proved together.
 */
#include <string.h>

#include "base/checked.h"
#include "kernel/kernel.h"
#include "layout/overlap.h"
#include "prove/prover.h"
#include "spad/experimental/kernel_rows.h"

/* Parts beyond this many are not worth their runs; events, as PROOF_WORK_LEAST in prove.c. */
enum { PARTS_MAX = 8, APART_WORK_MAX = 4000000 };

typedef struct parts {
    const spad__prover *whole;
    size_t tensors;
    int64_t *first;   /* per tensor: the first tensor of its part */
    bool *mask;       /* per tensor */
    size_t count;     /* of parts with different steps */
    int64_t *members; /* per tensor: the part that it is proved with; -1: none */
    int64_t steps[PARTS_MAX][SPAD__TRIPS_MAX];
    size_t params[SPAD__TRIPS_MAX];
    size_t param_count;
} parts;

/* ---- which tensors share bytes ----------------------------------------------------- */

static void join_parts(parts *s, int64_t a, int64_t b) {
    const int64_t keep = spad__min(s->first[a], s->first[b]);
    const int64_t drop = spad__max(s->first[a], s->first[b]);
    for (size_t t = 0; t < s->tensors; t++) {
        if (s->first[t] == drop) s->first[t] = keep;
    }
}

static void find_parts(parts *s) {
    const spad_kernel *k = s->whole->kernel;
    const spad_layout *layout = s->whole->run->options->layout;
    for (size_t t = 0; t < s->tensors; t++) s->first[t] = (int64_t)t;
    for (size_t t = 0; t < s->tensors; t++) join_parts(s, (int64_t)t, k->tensors.items[t].home);
    for (size_t a = 0; a < s->tensors; a++) {
        for (size_t b = 0; b < a && k->tensors.items[a].home == (int64_t)a; b++) {
            if (k->tensors.items[b].home != (int64_t)b || s->first[a] == s->first[b]) continue;
            if (spad__tensors_may_share(k, layout, (int64_t)a, (int64_t)b))
                join_parts(s, (int64_t)a, (int64_t)b);
        }
    }
}

/* ---- their steps ------------------------------------------------------------------- */

/* The steps of one part; 0: it has none, so nothing is proved. *counts: tensors of the part have an
 * index that counts. */
static spad_status find_part_steps(const parts *s, int64_t *steps, bool *counts,
                                   spad_error *error) {
    const spad__prover *p = s->whole;
    *counts = false;
    for (size_t i = 0; i < s->param_count; i++) {
        spad__induction induction;
        const spad_status status =
            spad__induction_init(&induction, p->kernel, s->params[i], 1, s->mask, &p->host, error);
        if (status != SPAD_OK) return status;
        steps[i] = induction.refusal.kind == SPAD__NOT_REFUSED ? induction.step : 0;
        for (size_t t = 0; t < s->tensors; t++) *counts = *counts || induction.tracked[t];
        spad__induction_free(&induction);
    }
    return SPAD_OK;
}

static bool is_zero_among(const int64_t *steps, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (steps[i] == 0) return true;
    }
    return false;
}

/* Puts parts with the same steps together. *fine is false: nothing is proved. */
static spad_status group_parts(parts *s, bool *fine, spad_error *error) {
    for (size_t t = 0; t < s->tensors; t++) s->members[t] = -1;
    for (size_t part = 0; part < s->tensors && *fine; part++) {
        int64_t steps[SPAD__TRIPS_MAX] = {0};
        bool counts;
        if (s->first[part] != (int64_t)part) continue;
        for (size_t t = 0; t < s->tensors; t++) s->mask[t] = s->first[t] == (int64_t)part;
        const spad_status status = find_part_steps(s, steps, &counts, error);
        if (status != SPAD_OK) return status;
        if (!counts) continue;
        size_t group = 0;
        while (group < s->count && memcmp(s->steps[group], steps, sizeof steps) != 0) group++;
        *fine = group < PARTS_MAX && !is_zero_among(steps, s->param_count);
        if (!*fine) break;
        if (group == s->count) memcpy(s->steps[s->count++], steps, sizeof steps);
        for (size_t t = 0; t < s->tensors; t++) {
            if (s->mask[t]) s->members[t] = (int64_t)group;
        }
    }
    *fine = *fine && s->count > 1;
    return SPAD_OK;
}

/* ---- their proofs ------------------------------------------------------------------ */

/* Adds the result of a part to the result for all parts. */
static void merge_proof(spad__all_shapes *all, const spad__prover *part) {
    const spad__all_shapes *own = &part->all_shapes;
    for (size_t i = 0; i < part->count; i++) all->from[i] = spad__max(all->from[i], own->from[i]);
    if (own->seen_wrong && !all->seen_wrong) {
        all->seen_wrong = true;
        all->wrong = own->wrong;
        memcpy(all->message, own->message, sizeof all->message);
    }
    if (own->refused_count > all->refused_count) {
        all->refused_count = own->refused_count;
        memcpy(all->refused, own->refused, sizeof all->refused);
        all->refused_on = own->refused_on;
    }
    all->outcome = SPAD__ALL_RIGHT;
}

/* One part with all trip counts. */
static spad_status prove_part(spad__prover *q, size_t params, bool *fine, spad_error *error) {
    q->fixed = 0;
    spad_status status = spad__trips_find(q, error);
    if (status == SPAD_OK) spad__trips_part(q);
    if (status == SPAD_OK && q->fixed == 0) status = spad__trips_repeat(q, error);
    *fine = status == SPAD_OK && q->fixed == 0 && q->count == params;
    if (*fine) status = spad__shapes_prove(q, error);
    *fine = *fine && status == SPAD_OK && q->all_shapes.outcome == SPAD__ALL_RIGHT;
    return status;
}

/* The whole kernel takes the proof of its parts. */
static void take_proof(spad__prover *p, spad__prover *q, const spad__all_shapes *all) {
    spad__trips_free(p);
    memcpy(p->trips, q->trips, sizeof p->trips);
    p->count = q->count;
    q->count = 0;
    p->fixed = 0;
    p->why[0] = '\0';
    p->all_shapes = *all;
    memcpy(p->warned, q->warned, sizeof p->warned);
    p->warned_count = q->warned_count;
    memcpy(p->refusal, q->refusal, sizeof p->refusal);
    p->done = p->in_parts = true;
}

static spad_status prove_parts(spad__prover *p, parts *s, bool *proved, spad_error *error) {
    spad__prover *q = spad__new(&p->host, sizeof *q);
    if (q == NULL) return spad__fail_host_memory(error);
    spad__all_shapes all = {.outcome = SPAD__NOT_ALL};
    spad_status status = SPAD_OK;
    bool fine = true;
    *q = (spad__prover){.run = p->run,
                        .kernel = p->kernel,
                        .host = p->host,
                        .part = s->mask,
                        .work_most = APART_WORK_MAX,
                        .values = p->values};
    for (size_t part = 0; part < s->count && fine && status == SPAD_OK; part++) {
        for (size_t t = 0; t < s->tensors; t++) s->mask[t] = s->members[t] == (int64_t)part;
        spad__trips_free(q);
        status = prove_part(q, s->param_count, &fine, error);
        if (fine) merge_proof(&all, q);
    }
    *proved = fine && status == SPAD_OK;
    if (*proved) take_proof(p, q, &all);
    spad__trips_free(q);
    spad__free(&p->host, q, sizeof *q);
    return status;
}

/* The parameters that are trip counts or could be; false: too many. */
static bool list_params(parts *s) {
    const spad__prover *p = s->whole;
    for (size_t i = 0; i < spad_kernel_param_count(p->kernel); i++) {
        if (!spad__trip_bounds_loop(p->kernel, i)) continue;
        bool wanted = false;
        for (size_t t = 0; t < p->count; t++) wanted = wanted || p->trips[t].induction.param == i;
        for (size_t t = 0; t < p->fixed && t < SPAD__LEFT_MAX; t++) {
            wanted = wanted || p->left[t].param == i;
        }
        if (!wanted) continue; /* a size */
        if (s->param_count == SPAD__TRIPS_MAX) return false;
        s->params[s->param_count++] = i;
    }
    return s->param_count > 0 && p->fixed <= SPAD__LEFT_MAX;
}

spad_status spad__prove_per_tensor(spad__prover *p, bool *proved, spad_error *error) {
    const size_t tensors = p->kernel->tensors.count;
    parts s = {.whole = p, .tensors = tensors};
    *proved = false;
    if (!spad_kernel_is_implicit(p->kernel) || p->kernel->is_scoped || !list_params(&s)) {
        return SPAD_OK;
    }
    s.first = spad__new_array(&p->host, tensors + 1, sizeof *s.first);
    s.members = spad__new_array(&p->host, tensors + 1, sizeof *s.members);
    s.mask = spad__new_array(&p->host, tensors + 1, sizeof *s.mask);
    spad_status status = SPAD_OK;
    if (s.first == NULL || s.members == NULL || s.mask == NULL) {
        status = spad__fail_host_memory(error);
    } else {
        bool fine = true;
        find_parts(&s);
        status = group_parts(&s, &fine, error);
        if (status == SPAD_OK && fine) status = prove_parts(p, &s, proved, error);
    }
    spad__free(&p->host, s.first, (tensors + 1) * sizeof *s.first);
    spad__free(&p->host, s.members, (tensors + 1) * sizeof *s.members);
    spad__free(&p->host, s.mask, (tensors + 1) * sizeof *s.mask);
    return status;
}
