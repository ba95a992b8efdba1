/* SPDX-License-Identifier: Apache-2.0
 *
 * Which parity would be right?
 *
 * The n-th wait of an agent on an mbarrier is nearly always meant for its n-th phase, with
 * the parity n % 2 (n from 0), or, on the way back, for the phase before that, with
 * (n + 1) % 2: it passes immediately in the first round. So when a kernel with parity waits is
 * wrong, the same events are judged again with each wait changed to these, one statement at
 * a time and then two. If that is right, a note says so. Nothing is guessed: what is proposed
 * has passed the check, in this shape.
 */
#include <stdio.h>
#include <string.h>

#include "check/order_pass.h"
#include "kernel/kernel.h"

/* Statements that wait for a parity, and events times trials. */
enum { WAITS_MAX = 8, WORK_MAX = 200000 };

typedef enum rhythm { AS_IT_IS, FIRST_PHASE_FIRST, PASSES_AT_FIRST, RHYTHMS } rhythm;

typedef struct change {
    int32_t statement;
    rhythm to;
} change;

typedef struct trial {
    spad__events *events;
    const spad__run *run;
    int64_t *given;  /* per event: its own amount */
    int64_t *number; /* per event: waits of its agent on that object before it */
    int32_t statements[WAITS_MAX];
    size_t count;
} trial;

static bool is_wait(const trial *t, size_t event) {
    const spad__event *e = &t->events->items.items[event];
    return e->kind == SPAD_WALK_SYNC &&
           t->events->kernel->statements.items[e->statement].kind == SPAD_STATEMENT_WAIT_PARITY;
}

/* Numbers the waits of each agent on each object; false: no memory. */
static bool number_waits(trial *t) {
    const spad__events *events = t->events;
    const size_t objects = events->objects.count;
    int64_t *seen = spad__new_array(&events->host, objects, sizeof *seen);
    if (seen == NULL) return false;
    for (size_t agent = 0; agent + 1 < events->firsts.count; agent++) {
        memset(seen, 0, objects * sizeof *seen);
        for (size_t i = events->firsts.items[agent]; i < events->firsts.items[agent + 1]; i++) {
            t->given[i] = events->items.items[i].amount;
            if (is_wait(t, i)) t->number[i] = seen[events->items.items[i].object]++;
        }
    }
    spad__free(&events->host, seen, objects * sizeof *seen);
    return true;
}

/* The statements that wait; false: too many. */
static bool list_statements(trial *t) {
    const spad_kernel *k = t->events->kernel;
    for (size_t i = 0; i < k->statements.count; i++) {
        if (k->statements.items[i].kind != SPAD_STATEMENT_WAIT_PARITY) continue;
        if (t->count == WAITS_MAX) return false;
        t->statements[t->count++] = (int32_t)i;
    }
    return true;
}

/* ---- trials ------------------------------------------------------------------------ */

/* Changes the waits of a statement, or puts them back. */
static void apply(const trial *t, change c) {
    for (size_t i = 0; i < t->events->items.count; i++) {
        spad__event *event = &t->events->items.items[i];
        if (event->statement != c.statement || !is_wait(t, i)) continue;
        event->amount = c.to == AS_IT_IS ? t->given[i] : (t->number[i] + c.to - 1) % 2;
    }
}

static spad_status try_changes(const trial *t, const change *changes, size_t count, bool *right,
                               spad_error *error) {
    for (size_t i = 0; i < count; i++) apply(t, changes[i]);
    const spad_status status = spad__try_events(t->events, t->run, right, error);
    for (size_t i = 0; i < count; i++) apply(t, (change){changes[i].statement, AS_IT_IS});
    return status;
}

/* One change, or two: of number `n`; false: there are no more. */
static bool nth_changes(const trial *t, size_t n, change *changes, size_t *count) {
    const size_t ways = RHYTHMS - 1;
    const size_t single = t->count * ways;
    *count = 1;
    if (n < single) {
        changes[0] = (change){t->statements[n / ways], (rhythm)(n % ways + 1)};
        return true;
    }
    n -= single;
    *count = 2;
    if (n >= single * single) return false;
    changes[0] = (change){t->statements[n / single / ways], (rhythm)(n / single % ways + 1)};
    changes[1] = (change){t->statements[n % single / ways], (rhythm)(n % single % ways + 1)};
    return true;
}

static spad_status find_changes(const trial *t, change *changes, size_t *count, spad_error *error) {
    size_t work = 0;
    for (size_t n = 0; nth_changes(t, n, changes, count); n++) {
        bool right;
        if (*count == 2 && changes[0].statement >= changes[1].statement) continue;
        work += t->events->items.count;
        if (work > WORK_MAX) break;
        const spad_status status = try_changes(t, changes, *count, &right, error);
        if (status != SPAD_OK || right) return status;
    }
    *count = 0;
    return SPAD_OK;
}

/* ---- words ------------------------------------------------------------------------- */

/* A number, or the name of the parameter that it is. */
static void amount_text(const spad_kernel *k, spad_amount amount, char *field, size_t size) {
    const spad_expr_info info = spad_kernel_get_expr(k, amount.expr);
    if (amount.expr != 0 && info.node_count == 1 && info.nodes[0].op == SPAD_EXPR_PARAM) {
        snprintf(field, size, "%.60s", k->params.items[info.nodes[0].value].name);
    } else {
        snprintf(field, size, "%lld", (long long)amount.value);
    }
}

/* The waits of a statement have the numbers v / D, where v is the variable of the loop around
 * it and D the number of elements. */
static bool counts_iterations(const trial *t, int32_t statement, const spad_kernel_loop *loop,
                              int64_t elements) {
    for (size_t i = 0; i < t->events->items.count; i++) {
        const spad__event *event = &t->events->items.items[i];
        if (event->statement != statement || !is_wait(t, i)) continue;
        const int64_t value = t->events->values.items[event->first_value];
        if ((value - loop->begin.value) / elements != t->number[i]) return false;
    }
    return true;
}

static bool is_name_of(const spad_kernel *k, const char *name) {
    bool used = false;
    for (size_t i = 0; i < k->params.count; i++) used |= !strcmp(k->params.items[i].name, name);
    for (size_t i = 0; i < k->loops.count; i++) used |= !strcmp(k->loops.items[i].name, name);
    for (size_t i = 0; i < k->tensors.count; i++) used |= !strcmp(k->tensors.items[i].name, name);
    for (size_t i = 0; i < k->syncs.count; i++) used |= !strcmp(k->syncs.items[i].name, name);
    return used;
}

/* A name for the number of a wait that means nothing else in the kernel. */
static const char *wait_name(const spad_kernel *k) {
    static const char *const names[] = {"n", "w", "nth", "wait_number"};
    size_t i = 0;
    while (i < 3 && is_name_of(k, names[i])) i++;
    return names[i];
}

/* "k / S % 2" or "(k / S + 1) % 2". True: it is "n % 2", where n is the number of the wait. */
static bool parity_text(const trial *t, change c, char *field, size_t size) {
    const spad_kernel *k = t->events->kernel;
    const spad_statement *s = &k->statements.items[c.statement];
    const spad_kernel_sync *sync = &k->syncs.items[s->item];
    const bool later = c.to == PASSES_AT_FIRST;
    const spad_kernel_loop *loop = s->loop >= 0 ? &k->loops.items[s->loop] : NULL;
    char round[160];
    char elements[64] = "";
    if (loop == NULL) {
        snprintf(field, size, "%d", later);
        return false;
    }
    const bool plain = loop->outer < 0 && loop->begin.value == 0 && sync->dims.count <= 1 &&
                       counts_iterations(t, c.statement, loop, sync->elements);
    if (plain && sync->elements > 1) {
        amount_text(k, sync->dims.items[0], elements, sizeof elements);
        snprintf(round, sizeof round, "%.60s / %s", loop->name, elements);
    } else {
        snprintf(round, sizeof round, "%.60s", plain ? loop->name : wait_name(k));
    }
    snprintf(field, size, later ? "(%s + 1) %% 2" : "%s %% 2", round);
    return !plain;
}

static bool is_about_phases(spad_finding_code code) {
    return code == SPAD_FINDING_DEADLOCK || code == SPAD_FINDING_STALE_PARITY ||
           code == SPAD_FINDING_LAPPED_WAIT || code == SPAD_FINDING_MIXED_PHASES;
}

static bool is_changed(const change *changes, size_t count, int64_t statement) {
    for (size_t n = 0; n < count; n++) {
        if (changes[n].statement == statement) return true;
    }
    return false;
}

static void add_parity_note(const trial *t, spad_finding *finding, const change *made,
                            const char *others) {
    char parity[256];
    char meaning[96] = "";
    if (parity_text(t, *made, parity, sizeof parity)) {
        snprintf(meaning, sizeof meaning, " (%s: waits on the same element before it)",
                 wait_name(t->events->kernel));
    }
    spad_note *note = spad__finding_add_note(
        finding, "with parity %s here%s%s the kernel is right%s", parity, meaning, others,
        made->to == PASSES_AT_FIRST ? "; it passes immediately in the first round" : "");
    spad__point_note(note, t->events->kernel->statements.items[made->statement].location);
}

/* Adds what is right to the first finding about phases and to those about the statements; to all
 * errors if there are none of them. */
static void add_parity_notes(const trial *t, const change *changes, size_t count) {
    spad_check *check = t->run->check;
    bool any = false;
    bool first = true;
    for (size_t i = 0; i < check->found.count; i++) {
        any = any || is_about_phases(check->found.items[i].finding.code);
    }
    for (size_t i = 0; i < check->found.count; i++) {
        spad_finding *finding = &check->found.items[i].finding;
        if (any ? !is_about_phases(finding->code) : finding->severity != SPAD_SEVERITY_ERROR) {
            continue;
        }
        if (any && !first && !is_changed(changes, count, check->found.items[i].statement)) continue;
        first = false;
        for (size_t n = 0; n < count && finding->note_count < SPAD_NOTES_MAX; n++) {
            add_parity_note(t, finding, &changes[n],
                            count == 1 ? ""
                            : n == 0   ? " and the parity of the next note"
                                       : " and the parity of the note before");
        }
    }
}

spad_status spad__hint_parity(spad__events *events, const spad__run *run, bool *done,
                              spad_error *error) {
    *done = false;
    trial t = {.events = events, .run = run};
    if (!list_statements(&t) || t.count == 0) return SPAD_OK;
    const size_t size = (events->items.count + 1) * sizeof(int64_t);
    t.given = spad__new_array(&events->host, events->items.count + 1, sizeof(int64_t));
    t.number = spad__new_array(&events->host, events->items.count + 1, sizeof(int64_t));
    spad_status status = SPAD_OK;
    if (t.given == NULL || t.number == NULL || !number_waits(&t)) {
        status = spad__fail_host_memory(error);
    }
    change changes[2];
    size_t count = 0;
    if (status == SPAD_OK) status = find_changes(&t, changes, &count, error);
    if (status == SPAD_OK) add_parity_notes(&t, changes, count);
    *done = status == SPAD_OK && count > 0;
    spad__free(&events->host, t.given, size);
    spad__free(&events->host, t.number, size);
    return status;
}
