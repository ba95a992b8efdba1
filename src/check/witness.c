/* SPDX-License-Identifier: Apache-2.0
 *
 * Witnesses from the run of the executor.
 *
 * Of every agent that the error is about, the last events before it are taken; of every wait among
 * them, what let it go on. All of that comes before the error in the run, and the order of the run
 * is an order in which it may happen. The accesses of a race come last and at the same time:
 * neither must wait for the other. Of a deadlock the waits that never end come last.
 */
#include "check/actions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"

enum { EVENTS_BACK = 4, HELP_MAX = 3 };

typedef struct chosen {
    int32_t event;
    int32_t rank; /* in the run; of wrong events: after everything else */
    bool wrong;
} chosen;

typedef struct sketch {
    const spad__order *order;
    chosen items[SPAD__WITNESS_STEPS];
    size_t count;
    struct {
        int32_t from; /* events */
        int32_t to;
        bool in_vain;
    } arrows[SPAD__WITNESS_ARROWS];
    size_t arrow_count;
    struct {
        int32_t agent;
        int32_t unit;
    } rows[SPAD__WITNESS_ROWS];
    size_t row_count;
} sketch;

/* ---- choosing ---------------------------------------------------------------------- */

static const spad__event *event_number(const sketch *s, int32_t number) {
    return &s->order->events.items.items[number];
}

static bool is_chosen(const sketch *s, int32_t event) {
    for (size_t i = 0; i < s->count; i++) {
        if (s->items[i].event == event) return true;
    }
    return false;
}

static bool is_wrong(const sketch *s, int32_t event) {
    for (size_t i = 0; i < s->count; i++) {
        if (s->items[i].event == event) return s->items[i].wrong;
    }
    return false;
}

/* When an event happens: a wait, when it is over. */
static int32_t rank_of_event(const sketch *s, int32_t event) {
    const spad__event_graph *graph = &s->order->graph;
    int32_t point = graph->start[event] >= 0 ? graph->start[event] : graph->step[event];
    while ((size_t)point + 1 < graph->points.count &&
           graph->points.items[point + 1].event == event &&
           graph->points.items[point + 1].kind == SPAD__POINT_RETURN) {
        point++;
    }
    return s->order->rank[point];
}

static bool choose_event(sketch *s, int32_t event, bool wrong) {
    if (is_chosen(s, event)) return true;
    const int32_t rank = wrong ? INT32_MAX : rank_of_event(s, event);
    if (s->count == SPAD__WITNESS_STEPS || rank < 0) return false;
    s->items[s->count++] = (chosen){event, rank, wrong};
    return true;
}

/* Operations, and what goes from one agent to another. */
static bool is_drawn_event(const sketch *s, const spad__event *event) {
    if (event->kind != SPAD_WALK_SYNC) return event->kind == SPAD_WALK_OPERATION;
    switch (spad_kernel_get_statement(s->order->events.kernel, (size_t)event->statement)->kind) {
    case SPAD_STATEMENT_COMMIT:
    case SPAD_STATEMENT_FENCE:
    case SPAD_STATEMENT_INIT:
    case SPAD_STATEMENT_INVALIDATE: return false;
    default: return true;
    }
}

static void choose_before(sketch *s, int32_t event) {
    const int32_t agent = event_number(s, event)->agent;
    int left = EVENTS_BACK;
    for (int32_t i = event - 1; i >= 0 && left > 0; i--) {
        if (event_number(s, i)->agent != agent) break;
        if (is_drawn_event(s, event_number(s, i)) && choose_event(s, i, false)) left--;
    }
}

/* ---- what lets a wait go on -------------------------------------------------------- */

static bool gives(spad__action_kind kind) {
    return kind == SPAD__ACTION_ENTER || kind == SPAD__ACTION_ARRIVE ||
           kind == SPAD__ACTION_SIGNAL || kind == SPAD__ACTION_DELIVER;
}

static const spad__action *wait_of_event(const sketch *s, int32_t event) {
    const spad__order *o = s->order;
    for (size_t i = 0; i < o->graph.actions.count; i++) {
        const spad__action *a = &o->graph.actions.items[i];
        if (spad__sync_waits(a->kind) && spad__order_event(o, a->point) == event) return a;
    }
    return NULL;
}

static void add_arrow(sketch *s, int32_t from, int32_t to, bool in_vain) {
    if (s->arrow_count == SPAD__WITNESS_ARROWS) return;
    s->arrows[s->arrow_count].from = from;
    s->arrows[s->arrow_count].to = to;
    s->arrows[s->arrow_count++].in_vain = in_vain;
}

/* Does a contribution belong to what a wait waited for? Of a counter: it came before it. */
static bool helps(const spad__order *o, const spad__action *wait, const spad__action *a) {
    if (!gives(a->kind) || o->rank[a->point] > o->rank[wait->point]) return false;
    if (a->kind == SPAD__ACTION_SIGNAL) return true;
    return a->phase == (wait->kind == SPAD__ACTION_LEAVE ? wait[-1].phase : wait->phase);
}

static void choose_help(sketch *s, int32_t event) {
    const spad__order *o = s->order;
    const spad__action *wait = wait_of_event(s, event);
    int left = HELP_MAX;
    if (wait == NULL || o->rank[wait->point] < 0) return;
    for (int32_t i = spad__order_action_count(o, wait->object) - 1; i >= 0 && left > 0; i--) {
        const spad__action *a = spad__order_action(o, wait->object, i);
        const int32_t from = spad__order_event(o, a->point);
        if (from == event || !helps(o, wait, a) || !choose_event(s, from, false)) continue;
        left =
            a->kind == SPAD__ACTION_SIGNAL ? 0 : left - 1; /* the last one is what it waited for */
        add_arrow(s, from, event, false);
    }
}

/* Picks the arrivals at a wait that is wrong, the last first: those of the open phase or, if the
 * wait was lapped, of the phases before. Signals that a counter has had were taken. */
static void choose_vain(sketch *s, int32_t event, bool lapped) {
    const spad__order *o = s->order;
    const spad__action *wait = wait_of_event(s, event);
    int left = HELP_MAX;
    if (wait == NULL || o->events.objects.items[wait->object].kind == SPAD_SYNC_COUNTER) return;
    for (int32_t i = spad__order_action_count(o, wait->object) - 1; i >= 0 && left > 0; i--) {
        const spad__action *a = spad__order_action(o, wait->object, i);
        const int32_t from = spad__order_event(o, a->point);
        if (from == event || !gives(a->kind)) continue;
        if (!lapped && a->phase <= o->executor.objects[wait->object].sync.phase) break;
        if (is_wrong(s, from) || !choose_event(s, from, false)) continue;
        add_arrow(s, from, event, true);
        left--;
    }
}

/* ---- rows and columns -------------------------------------------------------------- */

static int compare_chosen(const void *left, const void *right) {
    const chosen *a = left;
    const chosen *b = right;
    const int order = spad__compare(a->rank, b->rank);
    return order != 0 ? order : spad__compare(a->event, b->event);
}

static int compare_rows(const void *left, const void *right) {
    const int32_t *a = left; /* agent, unit */
    const int32_t *b = right;
    const int order = spad__compare(a[0], b[0]);
    return order != 0 ? order : spad__compare(a[1], b[1]);
}

static size_t row_of_step(const sketch *s, const spad__event *event) {
    size_t row = 0;
    while (row < s->row_count &&
           (s->rows[row].agent != event->agent || s->rows[row].unit != event->unit)) {
        row++;
    }
    return row;
}

/* Events that have lost their row are left out. */
static void number_rows(sketch *s) {
    size_t kept = 0;
    for (size_t i = s->count; i-- > 0;) { /* wrong events have the first choice */
        const spad__event *event = event_number(s, s->items[i].event);
        if (row_of_step(s, event) < s->row_count || s->row_count == SPAD__WITNESS_ROWS) continue;
        s->rows[s->row_count].agent = event->agent;
        s->rows[s->row_count++].unit = event->unit;
    }
    for (size_t i = 0; i < s->count; i++) {
        if (row_of_step(s, event_number(s, s->items[i].event)) < s->row_count)
            s->items[kept++] = s->items[i];
    }
    s->count = kept;
    qsort(s->rows, s->row_count, sizeof s->rows[0], compare_rows);
}

/* A unit of the agent in the row above has its own name only. */
static void name_witness_row(const sketch *s, size_t row, char *field) {
    const spad_kernel *kernel = s->order->events.kernel;
    const int32_t agent = s->rows[row].agent;
    const char *name = agent == 0 ? "main" : spad_kernel_get_agent(kernel, (size_t)agent)->name;
    const char *unit =
        s->rows[row].unit < 0 ? "" : spad_kernel_get_unit(kernel, (size_t)s->rows[row].unit)->name;
    if (row > 0 && s->rows[row - 1].agent == agent) {
        snprintf(field, SPAD__WITNESS_TEXT, "- %.60s", unit);
    } else {
        snprintf(field, SPAD__WITNESS_TEXT, "%.30s%s%.30s", name, unit[0] != '\0' ? ", " : "",
                 unit);
    }
}

/* ---- words ------------------------------------------------------------------------- */

static spad__step_kind kind_of_step(const sketch *s, const spad__event *event) {
    if (event->kind == SPAD_WALK_OPERATION) return SPAD__STEP_OPERATION;
    switch (spad_kernel_get_statement(s->order->events.kernel, (size_t)event->statement)->kind) {
    case SPAD_STATEMENT_SYNC:
    case SPAD_STATEMENT_WAIT_GROUP:
    case SPAD_STATEMENT_WAIT_VALUE:
    case SPAD_STATEMENT_WAIT_PARITY:
    case SPAD_STATEMENT_DRAIN:
    case SPAD_STATEMENT_TAKE: return SPAD__STEP_WAIT;
    case SPAD_STATEMENT_ARRIVE:
    case SPAD_STATEMENT_EXPECT:
    case SPAD_STATEMENT_SIGNAL: return SPAD__STEP_ARRIVE;
    default: return SPAD__STEP_OTHER;
    }
}

static void fill_step(const sketch *s, const chosen *item, int32_t column,
                      spad__witness_step *step) {
    static const char between[] = " of iteration ";
    const spad__event *event = event_number(s, item->event);
    const spad_kernel *kernel = s->order->events.kernel;
    spad__event plain = *event;
    char phrase[SPAD__PHRASE_MAX];
    plain.agent = 0;
    spad__event_phrase(&s->order->events, &plain, phrase);
    char *where = strstr(phrase, between);
    if (where != NULL) {
        spad__copy_cut(step->where, sizeof step->where, where + strlen(between));
        *where = '\0';
    }
    spad__copy_cut(step->text, sizeof step->text, phrase);
    step->row = row_of_step(s, event);
    step->column = column;
    step->kind = kind_of_step(s, event);
    step->wrong = item->wrong;
    step->line = spad_kernel_get_statement(kernel, (size_t)event->statement)->location.line;
}

static size_t step_of_event(const sketch *s, int32_t event) {
    size_t i = 0;
    while (i < s->count && s->items[i].event != event) i++;
    return i;
}

/* Wrong events share the last column, as far as they are in different rows. */
static void draw(const sketch *s, spad__witness *w) {
    w->row_count = s->row_count;
    for (size_t i = 0; i < s->row_count; i++) name_witness_row(s, i, w->rows[i]);
    int32_t column = -1;
    uint32_t taken = 0; /* rows of wrong events in this column */
    for (size_t i = 0; i < s->count; i++) {
        const uint32_t row = 1u << row_of_step(s, event_number(s, s->items[i].event));
        const bool first = i == 0 || !s->items[i].wrong || !s->items[i - 1].wrong;
        if (first || (taken & row) != 0) {
            column++;
            taken = 0;
        }
        taken |= row;
        fill_step(s, &s->items[i], column, &w->steps[i]);
    }
    w->step_count = s->count;
    w->columns = column + 1;
    for (size_t i = 0; i < s->arrow_count; i++) {
        const spad__witness_arrow arrow = {step_of_event(s, s->arrows[i].from),
                                           step_of_event(s, s->arrows[i].to), s->arrows[i].in_vain};
        if (arrow.from < s->count && arrow.to < s->count) w->arrows[w->arrow_count++] = arrow;
    }
}

spad_status spad__add_witness(spad__order *o, const spad_finding *finding, const int32_t *events,
                              size_t count, spad_error *error) {
    spad_check *check = o->run->check;
    if (!o->run->shown || check->witnesses.count == SPAD__WITNESSES) return SPAD_OK;
    for (size_t i = 0; i < check->witnesses.count; i++) { /* one of each kind tells it */
        if (check->witnesses.items[i].code == finding->code) return SPAD_OK;
    }
    if (!spad__array_reserve(&check->host, &check->witnesses, 1)) {
        return spad__fail_host_memory(error);
    }
    sketch s = {.order = o};
    for (size_t i = 0; i < count && i < SPAD__WITNESS_ROWS; i++) choose_event(&s, events[i], true);
    for (size_t i = 0; i < count && i < SPAD__WITNESS_ROWS; i++) choose_before(&s, events[i]);
    for (size_t i = 0, chosen_before = s.count; i < chosen_before; i++) {
        if (!s.items[i].wrong) choose_help(&s, s.items[i].event);
    }
    if (count > 0) choose_vain(&s, events[0], finding->code != SPAD_FINDING_DEADLOCK);
    qsort(s.items, s.count, sizeof s.items[0], compare_chosen);
    number_rows(&s);
    spad__witness *w = &check->witnesses.items[check->witnesses.count++];
    memset(w, 0, sizeof *w);
    w->code = finding->code;
    spad__copy_cut(w->title, sizeof w->title, finding->message);
    draw(&s, w);
    return SPAD_OK;
}
