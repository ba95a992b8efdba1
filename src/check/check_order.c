/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks the order of the events of one shape, in five steps:
 *
 *     event_graph.c      points and the edges that are known beforehand
 *     executor.c         one run, which finds the phases of barriers
 *     happens_before.c   the order that every execution keeps, with these phases
 *     phases.c           are the phases the same in every execution?
 *     race.c             are all accesses to the same bytes ordered?
 *
 * Races are only meaningful if the phases are the same in every execution: otherwise happens-before
 * describes one execution of several.
 *
 * O(points + edges) for each agent, unit and object that is queried.
 */
#include "check/order_pass.h"
#include "order/non_elected.h"

/* ---- preparation ------------------------------------------------------------------- */

static bool has_relaxed(const spad__event_graph *graph) {
    for (size_t i = 0; i < graph->actions.count; i++) {
        if ((graph->actions.items[i].flags & SPAD_SYNC_RELAXED) != 0) return true;
    }
    return false;
}

/* Ranks of points, and the actions of every object in the order of the run. */
static spad_status rank_points(spad__order *o, spad_error *error) {
    const spad__event_graph *graph = &o->graph;
    const size_t objects = o->events.objects.count;
    o->rank = spad__new_array(&graph->host, graph->points.count + 1, sizeof *o->rank);
    o->actions = spad__new_array(&graph->host, graph->actions.count + 1, sizeof *o->actions);
    o->first_action = spad__new_array(&graph->host, objects + 2, sizeof *o->first_action);
    if (o->rank == NULL || o->actions == NULL || o->first_action == NULL) {
        return spad__fail_host_memory(error);
    }
    for (size_t i = 0; i < graph->points.count; i++) o->rank[i] = -1;
    for (size_t i = 0; i < graph->actions.count; i++) {
        o->first_action[graph->actions.items[i].object + 2]++;
    }
    for (size_t i = 0; i < objects; i++) o->first_action[i + 2] += o->first_action[i + 1];
    for (int32_t i = 0; i < o->executor.happened; i++) {
        const int32_t point = o->executor.order[i];
        const spad__point *p = &graph->points.items[point];
        o->rank[point] = i;
        for (int32_t a = p->first_action; a < p->first_action + p->action_count; a++) {
            o->actions[o->first_action[graph->actions.items[a].object + 1]++] = a;
        }
    }
    return SPAD_OK;
}

/* ---- the steps --------------------------------------------------------------------- */

/* Leftovers, races and lifetimes, where the order of execution decides them. Lifetimes are only
 * meaningful if the passes before found nothing: `errors` is how many there were. */
static spad_status check_ordered_accesses(spad__order *o, const spad__event_graph *non_elected,
                                          int64_t errors, spad_error *error) {
    const spad_check_counts *counts = &o->run->check->counts;
    const int64_t before = counts->errors;
    spad_status status = spad__find_leftovers(o, error);
    errors += counts->errors - before; /* unfinished work at the end changes no values */
    if (status == SPAD_OK && has_relaxed(&o->graph)) {
        status =
            spad__happens_before_build(&o->memory_order, &o->executor, non_elected, true, error);
        o->visible = &o->memory_order;
    }
    if (status == SPAD_OK) status = spad__find_races(o, error);
    if (status == SPAD_OK && counts->errors == errors && o->run->gap != spad__time_is_up) {
        status = spad__order_lifetimes(o, error);
    }
    return status;
}

static spad_status check_happens_before(spad__order *o, spad_error *error) {
    const int64_t errors = o->run->check->counts.errors;
    const spad__event_graph *non_elected =
        spad__kernel_elects(o->events.kernel) ? &o->non_elected : NULL;
    spad_status status = SPAD_OK;
    if (non_elected != NULL)
        status = spad__event_graph_build_non_elected(&o->non_elected, &o->events, error);
    if (status == SPAD_OK) {
        status = spad__happens_before_build(&o->execution_order, &o->executor, non_elected, false,
                                            error);
    }
    o->visible = &o->execution_order;
    if (status == SPAD_OK) status = spad__find_phases(o, error);
    if (spad__is_late(o->run)) o->run->gap = spad__time_is_up;
    if (status == SPAD_OK && (!o->open || o->run->anyway) && o->run->gap == NULL)
        status = check_ordered_accesses(o, non_elected, errors, error);
    if (o->memory_order.graph != NULL) spad__happens_before_free(&o->memory_order);
    if (o->execution_order.graph != NULL) spad__happens_before_free(&o->execution_order);
    if (non_elected != NULL) spad__event_graph_free(&o->non_elected);
    return status;
}

static spad_status check_execution(spad__order *o, spad_error *error) {
    spad_status status = spad__executor_run(&o->executor, &o->graph, error);
    if (status == SPAD_OK) status = rank_points(o, error);
    if (status == SPAD_OK) status = spad__find_limits(o, error);
    if (status == SPAD_OK) status = spad__find_stuck(o, error);
    if (spad__is_late(o->run)) o->run->gap = spad__time_is_up;
    if (status == SPAD_OK && o->run->gap != spad__time_is_up &&
        (size_t)o->executor.happened == o->graph.points.count) {
        status = check_happens_before(o, error);
    }
    const spad_host *host = &o->graph.host;
    spad__free(host, o->rank, (o->graph.points.count + 1) * sizeof *o->rank);
    spad__free(host, o->actions, (o->graph.actions.count + 1) * sizeof *o->actions);
    spad__free(host, o->first_action, (o->events.objects.count + 2) * sizeof *o->first_action);
    spad__executor_free(&o->executor);
    return status;
}

spad_status spad__check_events(const spad__events *events, spad__run *run, spad_error *error) {
    spad__order order = {.run = run, .events = *events};
    spad_status status = spad__event_graph_build(&order.graph, &order.events, error);
    if (spad__is_late(run)) run->gap = spad__time_is_up;
    if (status == SPAD_OK && run->gap == NULL) status = check_execution(&order, error);
    spad__event_graph_free(&order.graph);
    return status;
}

spad_status spad__try_events(const spad__events *events, const spad__run *run, bool *right,
                             spad_error *error) {
    spad_check rest = {.host = events->host};
    spad__run trial = *run;
    trial.check = &rest;
    trial.watches = NULL;
    trial.shown = false;
    const spad_status status = spad__check_events(events, &trial, error);
    *right = status == SPAD_OK && rest.counts.errors == 0 && trial.gap == NULL;
    spad__drop_findings(&rest);
    return status;
}
