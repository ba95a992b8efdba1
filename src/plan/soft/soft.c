/* SPDX-License-Identifier: Apache-2.0
 *
 * Solves with soft constraints: lists them, then minimises their cost at a fixed height.
 *
 * The height comes first: the plan without soft constraints sets the limit. Within it a constraint
 * either holds, and then it is a hard rule (a pin, or a pair kept apart), or it costs. Large plans
 * are improved place by place (soft_local.c); small ones are solved exactly (soft_search.c).
 */
#include "plan/soft/soft.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/options.h"
#include "plan/io/csv.h"
#include "plan/problem/model.h"
#include "plan/problem/sort.h"
#include "plan/problem/stop.h"

enum { PAIRS_MAX = 1 << 22 };

/* ---- the list ---------------------------------------------------------------------- */

typedef struct soft_maker {
    const spad_plan *plan;
    const spad_soft_constraints *requested;
    spad_host host;
    spad__model model;
    int64_t sum;
    SPAD_ARRAY(spad__soft_constraint) list;
    spad_error *error;
} soft_maker;

static spad_status note_constraint(soft_maker *m, size_t a, size_t b, int64_t cost) {
    if (cost == 0) return SPAD_OK;
    if (m->list.count >= PAIRS_MAX)
        return spad__fail(m->error, SPAD_ERR_ARGUMENT, "there are more than %d soft constraints",
                          (int)PAIRS_MAX);
    if (!spad__add(m->sum, cost, &m->sum))
        return spad__fail(m->error, SPAD_ERR_OVERFLOW,
                          "the costs of all soft constraints together do not fit 64 bits");
    if (!spad__array_reserve(&m->host, &m->list, 1)) return spad__fail_host_memory(m->error);
    m->list.items[m->list.count++] = (spad__soft_constraint){a, b, cost};
    return SPAD_OK;
}

static spad_status list_moves(soft_maker *m) {
    const spad_soft_constraints *w = m->requested;
    spad_status status = SPAD_OK;
    for (size_t k = 0; w->previous != NULL && k < m->plan->buffers.count && status == SPAD_OK;
         k++) {
        const spad_plan_buffer *b = &m->plan->buffers.items[k];
        int64_t cost;
        if (b->pinned || b->size == 0 || w->previous[k].offset < 0) continue;
        if (!spad__mul(b->size, b->lanes, &cost) || !spad__mul(cost, w->move_byte_cost, &cost) ||
            !spad__add(cost, w->move_cost, &cost))
            return spad__fail(m->error, SPAD_ERR_OVERFLOW,
                              "what it costs to move a buffer does not fit 64 bits");
        status = note_constraint(m, k, SIZE_MAX, cost);
    }
    return status;
}

/* Are two buffers live together, or at one offset? Then they have no choice. */
static bool has_no_choice(const soft_maker *m, size_t a, size_t b) {
    const spad_plan_buffer *x = &m->plan->buffers.items[a];
    const spad_plan_buffer *y = &m->plan->buffers.items[b];
    if (m->model.item_of[a] == m->model.item_of[b] || x->size == 0 || y->size == 0) return true;
    return x->clock_count == 0 && x->gap_count == 0 && y->gap_count == 0 && x->lower < y->upper &&
           y->lower < x->upper;
}

static spad_status list_avoids(soft_maker *m) {
    spad_status status = SPAD_OK;
    for (size_t k = 0; k < m->plan->avoids.count && status == SPAD_OK; k++) {
        const spad__avoid *w = &m->plan->avoids.items[k];
        if (!has_no_choice(m, (size_t)w->a, (size_t)w->b))
            status = note_constraint(m, (size_t)w->a, (size_t)w->b, w->cost);
    }
    return status;
}

static bool may_be_in_place(const spad_plan *plan, size_t a, size_t b) {
    for (size_t k = 0; k < plan->in_places.count; k++) {
        const spad__pair *p = &plan->in_places.items[k];
        if (((size_t)p->a == a && (size_t)p->b == b) || ((size_t)p->a == b && (size_t)p->b == a))
            return true;
    }
    return false;
}

/* The first row whose time is at least `time`. */
static size_t first_row(const spad__row *rows, size_t count, int64_t time) {
    size_t low = 0;
    size_t high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (rows[middle].key < spad__sort_key(time))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Pairs of which one begins less than some steps after the other has ended. */
static spad_status list_reuses(soft_maker *m) {
    const spad_soft_constraints *w = m->requested;
    const size_t count = m->plan->buffers.count;
    if (w->reuse_steps == 0 || w->reuse_cost == 0 || count == 0) return SPAD_OK;
    if (m->plan->buffers.items[0].clock_count > 0)
        return spad__fail(m->error, SPAD_ERR_ARGUMENT,
                          "vector clocks have no steps between two lives");
    spad__row *rows = spad__new_array(&m->host, 2 * count, sizeof *rows);
    if (rows == NULL) return spad__fail_host_memory(m->error);
    for (size_t k = 0; k < count; k++)
        rows[k] = (spad__row){spad__sort_key(m->plan->buffers.items[k].lower), (int32_t)k};
    spad__sort_rows(rows, rows + count, count);
    spad_status status = SPAD_OK;
    for (size_t k = 0; k < count && status == SPAD_OK; k++) {
        const int64_t upper = m->plan->buffers.items[k].upper;
        int64_t until;
        if (!spad__add(upper, w->reuse_steps, &until)) until = INT64_MAX;
        for (size_t j = first_row(rows, count, upper);
             j < count && rows[j].key < spad__sort_key(until) && status == SPAD_OK; j++) {
            const size_t other = (size_t)rows[j].value;
            if (!has_no_choice(m, k, other) && !may_be_in_place(m->plan, k, other))
                status = note_constraint(m, k, other, w->reuse_cost);
        }
    }
    spad__free(&m->host, rows, 2 * count * sizeof *rows);
    return status;
}

static spad_status check_soft_constraints(const spad_soft_constraints *w, spad_error *error) {
    if (w->slack >= 0 && w->move_cost >= 0 && w->move_byte_cost >= 0 && w->reuse_steps >= 0 &&
        w->reuse_cost >= 0)
        return SPAD_OK;
    return spad__fail(error, SPAD_ERR_ARGUMENT, "a slack, a cost or a number of steps is negative");
}

static spad_status list_soft_constraints(soft_maker *m) {
    spad_status status = spad__model_build(&m->model, m->plan, m->error);
    if (status == SPAD_OK) status = list_moves(m);
    if (status == SPAD_OK) status = list_avoids(m);
    if (status == SPAD_OK) status = list_reuses(m);
    return status;
}

/* ---- solving ----------------------------------------------------------------------- */

void spad_soft_result_destroy(spad_soft_result *result) {
    if (result == NULL) return;
    const spad_host host = *(const spad_host *)result->owned;
    spad__free(&host, result->owned, sizeof(spad_host));
    spad_plan_result_destroy(result->plan);
    spad__free(&host, result, sizeof *result);
}

static spad_soft_result *new_soft_result(const spad_host *host) {
    spad_soft_result *r = spad__new(host, sizeof *r);
    spad_host *owned = spad__new(host, sizeof *owned);
    if (r == NULL || owned == NULL) {
        spad__free(host, r, sizeof *r);
        spad__free(host, owned, sizeof *owned);
        return NULL;
    }
    *owned = *host;
    r->owned = owned;
    r->cost = SPAD_UNBOUNDED;
    return r;
}

/* The height that a plan with soft constraints may have. */
static int64_t soft_limit(const spad_plan *plan, const spad_plan_result *r, int64_t slack,
                          spad_plan_goal goal) {
    int64_t limit;
    if (goal == SPAD_PLAN_DECIDE) return plan->capacity;
    if (!spad__add(r->height, slack, &limit)) limit = INT64_MAX - 1;
    return spad__min(limit, plan->capacity);
}

/* Counts what a plan violates. */
static void count_violated(spad_soft_result *r, const spad__soft_list *w) {
    for (size_t k = 0; k < w->count; k++) {
        const spad__soft_constraint *constraint = &w->items[k];
        if (spad__soft_holds(w, constraint, r->plan->places)) continue;
        r->violated_count++;
        if (constraint->b == SIZE_MAX) {
            const spad_plan_buffer *b = &w->plan->buffers.items[constraint->a];
            r->moved_count++;
            r->moved_bytes += b->size * b->lanes;
        } else {
            r->shared_count++;
        }
    }
}

/* Puts better places into a result, if they are a plan by the check that shares no code with the
 * searches. */
static spad_status take_soft_places(spad_soft_result *r, const spad__soft_list *w,
                                    const spad_plan_place *places, spad_error *error) {
    int64_t height;
    const spad_status status =
        spad_plan_check(&height, w->plan, places, w->plan->buffers.count, error);
    if (status != SPAD_OK) return status;
    memcpy(r->plan->places, places, w->plan->buffers.count * sizeof *places);
    r->plan->height = height;
    if (height <= w->plan->capacity)
        r->plan->verdict = height == r->plan->bound ? SPAD_PLAN_OPTIMAL : SPAD_PLAN_FEASIBLE;
    return SPAD_OK;
}

static spad_status improve_plan(spad_soft_result *r, const spad__soft_list *w, spad_error *error) {
    const size_t count = w->plan->buffers.count;
    spad_plan_place *places = spad__new_array(&w->plan->host, count + 1, sizeof *places);
    if (places == NULL) return spad__fail_host_memory(error);
    memcpy(places, r->plan->places, count * sizeof *places);
    r->cost = spad__soft_cost(w, places);
    r->bound = 0;
    spad_status status = SPAD_OK;
    if (r->cost > 0) status = spad__soft_improve(w, places, &r->cost);
    if (status == SPAD_OK && r->cost > 0)
        status = spad__soft_search(w, places, &r->cost, &r->bound);
    if (status == SPAD_ERR_HOST_MEMORY) status = spad__fail_host_memory(error);
    if (status == SPAD_OK) status = take_soft_places(r, w, places, error);
    if (status == SPAD_OK) count_violated(r, w);
    r->constraint_count = w->count;
    spad__free(&w->plan->host, places, (count + 1) * sizeof *places);
    return status;
}

spad_status spad_plan_solve_soft(spad_soft_result **out, const spad_plan *plan,
                                 const spad_soft_constraints *constraints,
                                 const spad_plan_options *options, spad_error *error) {
    const int64_t started = spad__clock();
    spad_plan_options mine;
    *out = NULL;
    spad_status status = SPAD__COPY_OPTIONS(&mine, options, error);
    if (status == SPAD_OK) status = check_soft_constraints(constraints, error);
    if (status == SPAD_OK) status = spad__check_effort(mine.timeout_ns, mine.node_limit, error);
    if (status != SPAD_OK) return status;
    spad_soft_result *r = new_soft_result(&plan->host);
    if (r == NULL) return spad__fail_host_memory(error);
    soft_maker m = {.plan = plan, .requested = constraints, .host = plan->host, .error = error};
    spad__limit time;
    status = list_soft_constraints(&m);
    if (plan->capacity == SPAD_UNBOUNDED) mine.goal = SPAD_PLAN_MINIMIZE;
    if (mine.timeout_ns > 0) mine.timeout_ns = spad__max(mine.timeout_ns / 2, 1);
    if (status == SPAD_OK) status = spad_plan_solve(&r->plan, plan, &mine, error);
    if (status == SPAD_OK && r->plan->verdict <= SPAD_PLAN_FEASIBLE) {
        const spad__soft_list w = {plan,
                                   constraints->previous,
                                   soft_limit(plan, r->plan, constraints->slack, mine.goal),
                                   m.list.count,
                                   m.list.items,
                                   &time};
        r->limit = w.limit;
        status = spad__limit_start(&time, mine.timeout_ns, (spad_watch){0}, error);
        if (status == SPAD_OK) status = improve_plan(r, &w, error);
    }
    spad__model_free(&m.model);
    spad__array_free(&m.host, &m.list);
    r->nanoseconds = spad__clock() - started;
    if (status == SPAD_OK)
        *out = r;
    else
        spad_soft_result_destroy(r);
    return status;
}

/* ---- texts ------------------------------------------------------------------------- */

/* The place of one row. */
static spad_status read_place_row(spad__csv *r, spad_plan_place *places, size_t count,
                                  const spad_plan *plan) {
    spad_plan_place place = {.lane = 0};
    bool last = false;
    for (int32_t k = 0; k < r->column_count; k++) {
        if (last)
            return spad__fail(r->error, SPAD_ERR_SYNTAX, "%s:%d: the row has too few cells",
                              r->file, (int)r->line);
        r->cells[r->kinds[k]] = spad__csv_next_cell(r, &last);
    }
    while (!last) (void)spad__csv_next_cell(r, &last);
    spad_status status = spad__csv_place(r, OFFSET, "offset", &place.offset);
    int64_t lane;
    if (status == SPAD_OK) status = spad__csv_place(r, LANE, "lane", &lane);
    if (status != SPAD_OK) return status;
    place.lane = spad__max(lane, 0);
    const int32_t buffer = spad__plan_find(plan, r->cells[ID].text, r->cells[ID].length);
    if (buffer >= 0 && (size_t)buffer < count) places[buffer] = place;
    return SPAD_OK;
}

spad_status spad_plan_read_places(spad_plan_place *places, size_t count, const spad_plan *plan,
                                  const char *text, size_t length, const char *file,
                                  spad_error *error) {
    for (size_t k = 0; k < count; k++) places[k] = (spad_plan_place){.offset = -1};
    spad__csv r = spad__csv_start(text, length, file, error);
    spad_status status = spad__csv_header(&r);
    if (status == SPAD_OK && (!r.present[ID] || !r.present[OFFSET]))
        status = spad__fail(error, SPAD_ERR_SYNTAX,
                            "there are no columns 'id' and 'offset': this is not the plan that "
                            "'spad plan -o' writes");
    while (status == SPAD_OK && r.at < r.end) {
        spad__csv_begin_line(&r);
        if (!spad__csv_skip_blank(&r)) status = read_place_row(&r, places, count, plan);
    }
    return status;
}

static void write_soft_text(spad__out *out, const void *object) {
    const spad_soft_result *r = object;
    spad__out_format(out, "soft      %zu", r->constraint_count);
    if (r->cost != SPAD_UNBOUNDED) {
        spad__out_format(out, ", %zu violated, cost %s, ", r->violated_count,
                         spad__grouped(r->cost).text);
        if (r->cost == r->bound)
            spad__out_string(out, "no plan of this height costs less: proved\n");
        else
            spad__out_format(out, "no plan of this height is below %s\n",
                             spad__grouped(r->bound).text);
        spad__out_format(out, "moved     %zu %s, %s B\n", r->moved_count,
                         r->moved_count == 1 ? "buffer" : "buffers",
                         spad__grouped(r->moved_bytes).text);
        if (r->shared_count > 0)
            spad__out_format(out, "shared    %zu %s that should not share bytes\n", r->shared_count,
                             r->shared_count == 1 ? "pair" : "pairs");
    } else {
        spad__out_string(out, ", no plan\n");
    }
}

static void write_soft_json(spad__json *json, const void *object) {
    const spad_soft_result *r = object;
    spad__json_open(json, '{');
    spad__json_key_int(json, "constraints", (int64_t)r->constraint_count);
    if (r->cost != SPAD_UNBOUNDED) {
        spad__json_key_int(json, "cost", r->cost);
        spad__json_key_int(json, "bound", r->bound);
        spad__json_key_int(json, "limit", r->limit);
        spad__json_key_int(json, "violated", (int64_t)r->violated_count);
        spad__json_key_int(json, "moved", (int64_t)r->moved_count);
        spad__json_key_int(json, "moved_bytes", r->moved_bytes);
        spad__json_key_int(json, "shared", (int64_t)r->shared_count);
    }
    spad__json_key_int(json, "nanoseconds", r->nanoseconds);
    spad__json_close(json, '}');
}

spad_status spad_soft_write(const spad_soft_result *r, spad_format format, const spad_sink *sink,
                            spad_error *error) {
    return spad__write_as(r, write_soft_text, write_soft_json, format, sink, error);
}
