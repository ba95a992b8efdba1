/* SPDX-License-Identifier: Apache-2.0
 *
 * The judgement of the events of one shape: who waits for whom, and is it enough?
 *
 * Net of points and edges (net.c) -> one greedy run, which finds
 * the phases of barriers (greedy.c) -> the model of what must come before what (causes.c)
 * -> are the phases the same in every execution (phases.c)? -> are all accesses to the
 * same bytes ordered (race.c)? The last question makes sense only if the one before is
 * answered with yes.
 *
 * O(points + edges) for each agent, unit and object that is asked about.
 */
#include "check/order.h"
#include "check/others.h"

/* ---- preparation ------------------------------------------------------------------- */

static bool has_relaxed(const spad__net *net) {
    for (size_t i = 0; i < net->actions.count; i++) {
        if ((net->actions.items[i].flags & SPAD_SYNC_RELAXED) != 0) return true;
    }
    return false;
}

/* Ranks of points, and the actions of every object in the order of the run. */
static spad_status rank_points(spad__order *o, spad_error *error) {
    const spad__net *net = &o->net;
    const size_t objects = o->events.objects.count;
    o->rank = spad__new_array(&net->host, net->points.count + 1, sizeof *o->rank);
    o->actions = spad__new_array(&net->host, net->actions.count + 1, sizeof *o->actions);
    o->first_action = spad__new_array(&net->host, objects + 2, sizeof *o->first_action);
    if (o->rank == NULL || o->actions == NULL || o->first_action == NULL) {
        return spad__fail_host_memory(error);
    }
    for (size_t i = 0; i < net->points.count; i++) o->rank[i] = -1;
    for (size_t i = 0; i < net->actions.count; i++) {
        o->first_action[net->actions.items[i].object + 2]++;
    }
    for (size_t i = 0; i < objects; i++) o->first_action[i + 2] += o->first_action[i + 1];
    for (int32_t i = 0; i < o->machine.happened; i++) {
        const int32_t point = o->machine.order[i];
        const spad__point *p = &net->points.items[point];
        o->rank[point] = i;
        for (int32_t a = p->first_action; a < p->first_action + p->action_count; a++) {
            o->actions[o->first_action[net->actions.items[a].object + 1]++] = a;
        }
    }
    return SPAD_OK;
}

/* ---- the judgement ----------------------------------------------------------------- */

static spad_status judge_model(spad__order *o, spad_error *error) {
    const int64_t errors = o->run->check->counts.errors;
    const spad__net *others = spad__kernel_elects(o->events.kernel) ? &o->others : NULL;
    spad_status status = SPAD_OK;
    if (others != NULL) status = spad__net_build_others(&o->others, &o->events, error);
    if (status == SPAD_OK) {
        status = spad__causes_build(&o->model, &o->machine, others, false, error);
    }
    o->visible = &o->model;
    if (status == SPAD_OK) status = spad__find_phases(o, error);
    if (spad__is_late(o->run)) o->run->gap = spad__time_is_up;
    if (status == SPAD_OK && (!o->open || o->run->anyway) && o->run->gap == NULL) {
        status = spad__find_leftovers(o, error);
        if (status == SPAD_OK && has_relaxed(&o->net)) {
            status = spad__causes_build(&o->memory, &o->machine, others, true, error);
            o->visible = &o->memory;
        }
        if (status == SPAD_OK) status = spad__find_races(o, error);
        if (status == SPAD_OK && o->run->check->counts.errors == errors) {
            status = spad__order_lifetimes(o, error);
        }
    }
    if (o->memory.net != NULL) spad__causes_free(&o->memory);
    if (o->model.net != NULL) spad__causes_free(&o->model);
    if (others != NULL) spad__net_free(&o->others);
    return status;
}

static spad_status judge_run(spad__order *o, spad_error *error) {
    spad_status status = spad__machine_run(&o->machine, &o->net, error);
    if (status == SPAD_OK) status = rank_points(o, error);
    if (status == SPAD_OK) status = spad__find_limits(o, error);
    if (status == SPAD_OK) status = spad__find_stuck(o, error);
    if (status == SPAD_OK && (size_t)o->machine.happened == o->net.points.count) {
        status = judge_model(o, error);
    }
    const spad_host *host = &o->net.host;
    spad__free(host, o->rank, (o->net.points.count + 1) * sizeof *o->rank);
    spad__free(host, o->actions, (o->net.actions.count + 1) * sizeof *o->actions);
    spad__free(host, o->first_action, (o->events.objects.count + 2) * sizeof *o->first_action);
    spad__machine_free(&o->machine);
    return status;
}

spad_status spad__order_judge(const spad__events *events, spad__run *run, spad_error *error) {
    spad__order order = {.run = run, .events = *events};
    spad_status status = spad__net_build(&order.net, &order.events, error);
    if (spad__is_late(run)) run->gap = spad__time_is_up;
    if (status == SPAD_OK && run->gap == NULL) status = judge_run(&order, error);
    spad__net_free(&order.net);
    return status;
}

spad_status spad__order_try(const spad__events *events, const spad__run *run, bool *right,
                            spad_error *error) {
    spad_check rest = {.host = events->host};
    spad__run trial = *run;
    trial.check = &rest;
    trial.watches = NULL;
    trial.shown = false;
    const spad_status status = spad__order_judge(events, &trial, error);
    *right = status == SPAD_OK && rest.counts.errors == 0 && trial.gap == NULL;
    spad__drop_findings(&rest);
    return status;
}
