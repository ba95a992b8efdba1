/* SPDX-License-Identifier: Apache-2.0
 *
 * Does a wait leave too many bundles pending?
 *
 * One such number gives a race for each buffer that the operation still uses, and none of them is
 * at the wait. So the events are judged again with less pending at one statement after another: the
 * first number that makes the kernel right is the cause. All errors then are of this cause, and the
 * first of them says which statement to change. What is proposed has passed the check, in this
 * shape.
 */
#include <stdio.h>

#include "check/hints.h"
#include "check/order_pass.h"

/* Events times trials, and how much less is tried. */
enum { WAIT_WORK_MAX = 200000, LESS_MAX = 4 };

typedef struct wait_repair {
    spad__events *events;
    const spad__run *run;
    size_t before; /* findings that were there before */
    size_t work;
} wait_repair;

static bool is_group_wait(const wait_repair *r, const spad__event *event) {
    if (event->kind != SPAD_WALK_SYNC || event->object < 0 || event->statement < 0) return false;
    return spad_kernel_get_statement(r->events->kernel, (size_t)event->statement)->kind ==
           SPAD_STATEMENT_WAIT_GROUP;
}

/* The most that a statement leaves pending; 0: it waits for all, or is no such wait. */
static int64_t pending_at(const wait_repair *r, int64_t statement) {
    int64_t most = 0;
    for (size_t i = 0; i < r->events->items.count; i++) {
        const spad__event *event = &r->events->items.items[i];
        if (event->statement == statement && is_group_wait(r, event) && event->amount > most)
            most = event->amount;
    }
    return most;
}

static void leave_less(wait_repair *r, int64_t statement, int64_t less) {
    for (size_t i = 0; i < r->events->items.count; i++) {
        spad__event *event = &r->events->items.items[i];
        if (event->statement == statement && is_group_wait(r, event)) event->amount -= less;
    }
}

/* Is the kernel right with that many fewer pending there? Only where all rounds leave as many. */
static spad_status try_less(wait_repair *r, int64_t statement, int64_t less, bool *right,
                            spad_error *error) {
    r->work += r->events->items.count;
    leave_less(r, statement, less);
    const spad_status status = spad__try_events(r->events, r->run, right, error);
    leave_less(r, statement, -less);
    return status;
}

static bool leaves_evenly(const wait_repair *r, int64_t statement, int64_t pending) {
    for (size_t i = 0; i < r->events->items.count; i++) {
        const spad__event *event = &r->events->items.items[i];
        if (event->statement == statement && is_group_wait(r, event) && event->amount != pending)
            return false;
    }
    return true;
}

/* The unit whose operations are in the group of a wait; -1: none. */
static int64_t unit_of_group(const spad_kernel *kernel, int64_t group) {
    for (size_t i = 0; i < spad_kernel_statement_count(kernel); i++) {
        const spad_statement *s = spad_kernel_get_statement(kernel, i);
        if (s->kind == SPAD_STATEMENT_OPERATION && s->group == group) return s->unit;
    }
    return -1;
}

/* Hints that name no place say what to add; the wait is there, and to be changed. */
static void drop_hints(spad_finding *finding) {
    size_t kept = 0;
    for (size_t i = 0; i < finding->note_count; i++) {
        if (finding->notes[i].line > 0) finding->notes[kept++] = finding->notes[i];
    }
    finding->note_count = kept;
}

static void report_wait(const wait_repair *r, int64_t statement, int64_t pending, int64_t right) {
    const spad_kernel *kernel = r->events->kernel;
    const spad_statement *s = spad_kernel_get_statement(kernel, (size_t)statement);
    const char *group = spad_kernel_get_sync(kernel, (size_t)s->item)->name;
    spad_check *check = r->run->check;
    char wait[SPAD__HINT_MAX];
    spad__hint_group_wait(wait, kernel, unit_of_group(kernel, s->item), group, right);
    for (size_t i = r->before; i < check->found.count; i++) {
        spad__found *found = &check->found.items[i];
        if (found->finding.severity != SPAD_SEVERITY_ERROR) continue;
        drop_hints(&found->finding);
        found->cause = statement + 1;
        if (found->finding.note_count == SPAD_NOTES_MAX) found->finding.note_count--;
        spad_note *note = spad__finding_add_note(
            &found->finding, "this wait leaves %lld pending: with %s here the kernel is right",
            (long long)pending, wait);
        spad__point_note(note, s->location);
        spad__locate_finding(&found->finding, kernel, found->statement, found->other);
    }
}

spad_status spad__repair_waits(spad__events *events, const spad__run *run, size_t before,
                               bool *done, spad_error *error) {
    wait_repair r = {.events = events, .run = run, .before = before};
    const size_t count = spad_kernel_statement_count(events->kernel);
    for (size_t i = 0; i < count && !*done; i++) {
        if (spad_kernel_get_statement(events->kernel, i)->kind != SPAD_STATEMENT_WAIT_GROUP)
            continue;
        const int64_t pending = pending_at(&r, (int64_t)i);
        if (!leaves_evenly(&r, (int64_t)i, pending)) continue;
        for (int64_t less = 1; less <= pending && less <= LESS_MAX && !*done; less++) {
            if (r.work + events->items.count > WAIT_WORK_MAX || spad__is_late(run)) return SPAD_OK;
            const spad_status status = try_less(&r, (int64_t)i, less, done, error);
            if (status != SPAD_OK) return status;
            if (*done) report_wait(&r, (int64_t)i, pending, pending - less);
        }
    }
    return SPAD_OK;
}
