/* SPDX-License-Identifier: Apache-2.0
 *
 * The last test of a proof: shapes at which it would fail first (challenge.h) are run before a
 * claim is made; without a proof, shapes of all trip counts together are run.
 */
#include <stdio.h>

#include "base/checked.h"
#include "base/text.h"
#include "prove/challenge.h"
#include "prove/prover.h"

/* A challenge of a large proof may cost a part of it; one without a claim costs less. */
enum { PART_OF_PROOF = 8, OPEN_WORK = SPAD__CHALLENGE_WORK / 4 };

typedef struct challenge {
    spad__challenge list;
    spad__challenged found;
} challenge;

/* Lists the shapes and runs them. *out is the caller's, also where it fails. */
static spad_status run_list(challenge **out, spad__prover *p, const spad__challenge_param *params,
                            size_t count, int64_t work, spad_error *error) {
    challenge *c = spad__new(&p->host, sizeof *c);
    *out = c;
    if (c == NULL) return spad__fail_host_memory(error);
    spad_status status = spad__challenge_list(&c->list, p->kernel, params, count, &p->host, error);
    if (status == SPAD_OK) status = spad__challenge_run(&c->found, &c->list, p->run, work, error);
    return status;
}

/* The same for the trip counts: a shape that is wrong becomes the first one of all shapes. */
static spad_status challenge_trips(spad__prover *p, const spad__challenge_param *params,
                                   spad_error *error) {
    spad__all_shapes *all = &p->all_shapes;
    challenge *c;
    const int64_t work = spad__max(SPAD__CHALLENGE_WORK, p->work / PART_OF_PROOF);
    const spad_status status = run_list(&c, p, params, p->count, work, error);
    if (status == SPAD_OK && c->found.failed) {
        all->wrong = (spad__shape){.possible = true, .errors = 1};
        for (size_t i = 0; i < p->count; i++) all->wrong.values[i] = c->found.shape.values[i];
        spad__copy_cut(all->message, sizeof all->message, c->found.message);
        all->outcome = SPAD__ONE_WRONG;
    }
    spad__free(&p->host, c, sizeof *c);
    return status;
}

spad_status spad__challenge_claim(spad__prover *p, spad_error *error) {
    spad__challenge_param params[SPAD__TRIPS_MAX];
    for (size_t i = 0; i < p->count; i++) {
        const spad__trip *t = &p->trips[i];
        const int64_t from = p->all_shapes.from[i];
        params[i] = (spad__challenge_param){
            .param = t->induction.param,
            .least = from,
            .most = INT64_MAX,
            .seen = p->in_parts ? from : spad__max(spad__trip_shapes(p, t), from)};
    }
    return challenge_trips(p, params, error);
}

spad_status spad__challenge_given(spad__prover *p, const spad__shape *s, bool *holds,
                                  spad_error *error) {
    spad__challenge_param params[SPAD__TRIPS_MAX];
    for (size_t i = 0; i < p->count; i++) {
        params[i] = (spad__challenge_param){.param = p->trips[i].induction.param,
                                            .least = s->values[i],
                                            .most = p->trips[i].given,
                                            .seen = s->values[i] + 1};
    }
    const spad_status status = challenge_trips(p, params, error);
    *holds = status != SPAD_OK || p->all_shapes.outcome != SPAD__ONE_WRONG;
    return status;
}

/* ---- without a claim ----------------------------------------------------------------- */

/* A value from which on others are tried: the given one, or a small one in its place. */
static spad__challenge_param open_param(size_t param, int64_t value) {
    return (spad__challenge_param){
        .param = param, .least = value, .most = INT64_MAX, .seen = value + 1};
}

static size_t list_open(const spad__prover *p, spad__challenge_param *params) {
    enum { SMALL = 16 }; /* a parameter that is not understood is left at its value if it is */
    size_t count = 0;
    for (size_t i = 0; i < p->count; i++) {
        params[count++] = open_param(p->trips[i].induction.param, spad__trip_small(&p->trips[i]));
    }
    for (size_t i = 0; i < p->fixed && i < SPAD__LEFT_MAX; i++) {
        const int64_t given = spad_kernel_get_param(p->kernel, p->left[i].param)->value;
        if (count < SPAD__CHALLENGE_PARAMS && given <= SMALL) {
            params[count++] = open_param(p->left[i].param, given);
        }
    }
    return count;
}

/* Are parameters with other values than the given ones all without a known value? */
static bool is_of_any_values(const spad__prover *p, const challenge *c) {
    for (size_t i = 0; i < c->list.param_count; i++) {
        const spad_kernel_param *param = spad_kernel_get_param(p->kernel, c->list.params[i].param);
        if (c->found.shape.values[i] != param->value && !param->any) return false;
    }
    return true;
}

spad_status spad__challenge_open(spad__prover *p, bool trips_alone, char *field, size_t size,
                                 spad_error *error) {
    spad__challenge_param params[SPAD__CHALLENGE_PARAMS];
    challenge *c;
    char values[SPAD_MESSAGE_MAX / 2];
    field[0] = '\0';
    const size_t count = list_open(p, params);
    if (count == p->count && !trips_alone) return SPAD_OK;
    spad_status status = run_list(&c, p, params, count, OPEN_WORK, error);
    if (status == SPAD_OK && c->found.failed) {
        const bool any = is_of_any_values(p, c);
        spad__challenge_text(&c->list, p->kernel, &c->found.shape, values, sizeof values);
        snprintf(field, size, "not with %s: %s", values, c->found.message);
        status = spad__challenge_report(p->run, &c->list, &c->found.shape,
                                        any ? SPAD_SEVERITY_ERROR : SPAD_SEVERITY_WARNING, error);
    }
    spad__free(&p->host, c, sizeof *c);
    return status;
}
