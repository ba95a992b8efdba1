/* SPDX-License-Identifier: Apache-2.0
 *
 * Findings about a run that does not come to its end, or with errors of synchronisation.
 *
 * When nothing can happen any more, some waits are stuck because others are. The cause is one
 * that nothing that is left to do could end: too few arrivals, bytes or signals remain, where a
 * statement that has contributed to the open phase counts for later phases only. It is the
 * finding, and the others are its notes. If every one could be ended by another, they wait for
 * each other in a cycle, and the first of them is the finding.
 */
#include "base/checked.h"
#include "check/actions.h"

#include <stdio.h>

/* Arrivals and bytes that the open phase of an mbarrier lacks. */
static void describe_phase(const spad__sync_object *s, char *field, size_t size) {
    const long long phase = s->phase - s->base;
    const long long pending = s->value;
    const long long expected = s->count;
    if (!s->live) {
        snprintf(field, size, "is not initialised");
    } else if (s->bytes < 0) {
        snprintf(field, size,
                 "is in phase %lld, which lacks %lld of %lld arrivals and has received %s bytes "
                 "more than "
                 "expected",
                 phase, pending, expected, spad__grouped(-s->bytes).text);
    } else if (s->bytes > 0 && pending == 0) {
        snprintf(field, size,
                 "is in phase %lld, which lacks %s bytes that were expected and not delivered",
                 phase, spad__grouped(s->bytes).text);
    } else {
        char bytes[72] = "";
        if (s->bytes > 0)
            snprintf(bytes, sizeof bytes, " and %s bytes", spad__grouped(s->bytes).text);
        snprintf(field, size, "is in phase %lld, which lacks %lld of %lld arrivals%s", phase,
                 pending, expected, bytes);
    }
}

static void describe_lack(const spad__order *o, const spad__action *a, char *field, size_t size) {
    const spad__sync_object *s = &o->executor.objects[a->object].sync;
    const long long count = o->events.objects.items[a->object].count;
    switch (a->kind) {
    case SPAD__ACTION_LEAVE:
        snprintf(field, size, "has %lld of %lld contributions", (long long)s->value, count);
        break;
    case SPAD__ACTION_PARITY: describe_phase(s, field, size); break;
    default:
        snprintf(field, size, "has %lld, and %lld is needed", (long long)s->value,
                 (long long)a->amount);
        break;
    }
}

/* The phase that a parity wait is meant for: its agent has waited so often before. */
static int64_t meant_phase(const spad__order *o, const spad__action *a) {
    const int32_t number = spad__order_event(o, a->point);
    const spad__event *events = o->events.items.items;
    int64_t before = 0;
    for (int32_t i = number - 1; i >= 0 && events[i].agent == events[number].agent; i--) {
        before += events[i].object == a->object && events[i].kind == SPAD_WALK_SYNC &&
                  spad_kernel_get_statement(o->events.kernel, (size_t)events[i].statement)->kind ==
                      SPAD_STATEMENT_WAIT_PARITY;
    }
    return before % 2 == a->amount ? before + 1 : before;
}

/* ---- which of them is the cause ---------------------------------------------------- */

/* A wait that is ready and does not pass. */
typedef struct stuck {
    int32_t object; /* that it is parked at */
    int32_t point;
} stuck;

/* The next one; false: there are no more. Starts with {-1, -1}. */
static bool next_stuck(const spad__order *o, stuck *at) {
    if (at->point >= 0) at->point = o->executor.next[at->point];
    while (at->point < 0 && ++at->object < (int32_t)o->events.objects.count) {
        at->point = o->executor.objects[at->object].parked;
    }
    return at->point >= 0;
}

static const spad__action *wait_of(const spad__order *o, stuck at) {
    spad__assert(o->graph.points.items[at.point].action_count > 0); /* it waits for something */
    return &o->graph.actions.items[o->graph.points.items[at.point].first_action];
}

static const spad__event *event_at(const spad__order *o, int32_t point) {
    return &o->events.items.items[spad__order_event(o, point)];
}

/* Missing actions of a kind, which add up to the amount that a wait lacks. */
typedef struct shortage {
    spad__action_kind kind;
    int64_t amount;
} shortage;

static shortage missing_of(const spad__order *o, const spad__action *a) {
    const spad__sync_object *s = &o->executor.objects[a->object].sync;
    switch (a->kind) {
    case SPAD__ACTION_LEAVE:
        return (shortage){SPAD__ACTION_ENTER, o->events.objects.items[a->object].count - s->value};
    case SPAD__ACTION_PARITY:
        if (s->value > 0 || !s->live) return (shortage){SPAD__ACTION_ARRIVE, s->value};
        if (s->bytes > 0) return (shortage){SPAD__ACTION_DELIVER, s->bytes};
        return (shortage){SPAD__ACTION_EXPECT, -s->bytes};
    default: return (shortage){SPAD__ACTION_SIGNAL, a->amount - s->value};
    }
}

/* Has the statement of an event done its part for the open phase? */
static bool has_contributed(const spad__order *o, int32_t object, spad__action_kind kind,
                            const spad__event *event) {
    const int64_t open = o->executor.objects[object].sync.phase + 1;
    if (kind == SPAD__ACTION_SIGNAL) return false; /* a counter has no phases */
    for (int32_t i = spad__order_action_count(o, object) - 1; i >= 0; i--) {
        const spad__action *a = spad__order_action(o, object, i);
        const spad__event *e = event_at(o, a->point);
        if (spad__sync_waits(a->kind)) continue;
        if (a->phase != open) break;
        if (a->kind == kind && e->statement == event->statement && e->agent == event->agent) {
            return true;
        }
    }
    return false;
}

/* Does it come after the wait in the program of the same agent? What a unit is to wait for is
 * issued before the wait, even where the wait holds up one queue only. */
static bool is_held_up(const spad__order *o, const spad__action *wait, const spad__action *a) {
    const int32_t waiting = spad__order_event(o, wait->point);
    const int32_t number = spad__order_event(o, a->point);
    return o->events.items.items[number].agent == o->events.items.items[waiting].agent &&
           number >= waiting;
}

/* Something that would end the wait, if it came to it; NULL: too little is left. Whatever has
 * contributed to the open phase contributes to a later one the next time. */
static const spad__action *find_help(const spad__order *o, const spad__action *wait) {
    const shortage missing = missing_of(o, wait);
    const spad__action *first = NULL;
    int64_t sum = 0;
    for (size_t i = 0; i < o->graph.actions.count; i++) {
        const spad__action *a = &o->graph.actions.items[i];
        if (a->object != wait->object || a->kind != missing.kind || o->rank[a->point] >= 0) {
            continue;
        }
        if (is_held_up(o, wait, a) ||
            has_contributed(o, a->object, missing.kind, event_at(o, a->point))) {
            continue;
        }
        if (first == NULL) first = a;
        if (!spad__add(sum, a->amount, &sum) || sum >= missing.amount) return first;
    }
    return NULL;
}

static bool is_lapped(const spad__order *o, const spad__action *a, int64_t *meant) {
    const spad__sync_object *s = &o->executor.objects[a->object].sync;
    *meant = a->kind == SPAD__ACTION_PARITY ? meant_phase(o, a) : 0;
    return *meant > 0 && s->live && s->base == 0 && s->phase > *meant;
}

/* Does the open phase get bytes that no arrival expects, or expect bytes that did not come? */
static bool is_unbalanced(const spad__order *o, const spad__action *a) {
    const spad__sync_object *s = &o->executor.objects[a->object].sync;
    if (a->kind != SPAD__ACTION_PARITY || !s->live) return false;
    return s->bytes < 0 || (s->value == 0 && s->bytes > 0);
}

/* 0: it waits for others that are stuck; 1: nothing that is left could end it, or its bytes are
 * wrong, which what is stuck does not mend; 2: it was lapped. */
static int severity_of_wait(const spad__order *o, const spad__action *a) {
    int64_t meant;
    if (is_lapped(o, a, &meant)) return 2;
    return find_help(o, a) == NULL || is_unbalanced(o, a);
}

/* ---- words ------------------------------------------------------------------------- */

static const char *agent_of_action(const spad__order *o, const spad__action *a) {
    const spad__event *event = event_at(o, a->point);
    if (event->agent == 0) return "the main program";
    return spad_kernel_get_agent(o->events.kernel, (size_t)event->agent)->name;
}

/* The others that are stuck, in notes. */
static void note_others(const spad__order *o, spad_finding *finding, int32_t root) {
    for (stuck at = {-1, -1}; next_stuck(o, &at);) {
        if (at.point == root || finding->note_count == SPAD_NOTES_MAX) continue;
        const spad__action *a = wait_of(o, at);
        const spad__about text = spad__order_describe(o, a);
        const spad__action *help = find_help(o, a);
        char why[SPAD__PHRASE_MAX];
        describe_lack(o, a, why, sizeof why);
        spad_note *note = spad__finding_add_note(
            finding, "%s is stuck as well: %s %s%s%s", text.event, text.object, why,
            help != NULL ? "; that comes from " : "", help != NULL ? agent_of_action(o, help) : "");
        const int64_t statement = event_at(o, at.point)->statement;
        spad__point_note(note,
                         spad_kernel_get_statement(o->events.kernel, (size_t)statement)->location);
    }
}

/* Draws the wait and the others that are stuck. */
static spad_status draw_stuck(spad__order *o, const spad_finding *finding, int32_t root,
                              spad_error *error) {
    int32_t events[SPAD__WITNESS_ROWS] = {spad__order_event(o, root)};
    size_t count = 1;
    for (stuck at = {-1, -1}; next_stuck(o, &at) && count < SPAD__WITNESS_ROWS;) {
        if (at.point != root) events[count++] = spad__order_event(o, at.point);
    }
    return spad__add_witness(o, finding, events, count, error);
}

/* The bytes that the open phase of an mbarrier expects, or gets; `at`: the last action that
 * expects some. */
static int64_t bytes_of_phase(const spad__order *o, int32_t object, bool expected,
                              const spad__action **at) {
    const int64_t open = o->executor.objects[object].sync.phase + 1;
    int64_t sum = 0;
    for (int32_t i = spad__order_action_count(o, object) - 1; i >= 0; i--) {
        const spad__action *a = spad__order_action(o, object, i);
        if (spad__sync_waits(a->kind)) continue;
        if (a->phase != open || a->kind == SPAD__ACTION_INIT) break;
        const bool expects = a->kind == SPAD__ACTION_EXPECT || a->kind == SPAD__ACTION_ARRIVE;
        const int64_t bytes = a->kind == SPAD__ACTION_ARRIVE ? a->expect : a->amount;
        if (expects != expected) continue;
        if (!spad__add(sum, bytes, &sum)) sum = INT64_MAX;
        if (expects && bytes > 0 && *at == NULL) *at = a;
    }
    return sum;
}

/* The last action that brings bytes in the open phase; NULL: none. */
static const spad__action *last_delivery(const spad__order *o, int32_t object) {
    const int64_t open = o->executor.objects[object].sync.phase + 1;
    for (int32_t i = spad__order_action_count(o, object) - 1; i >= 0; i--) {
        const spad__action *a = spad__order_action(o, object, i);
        if (a->kind == SPAD__ACTION_DELIVER && a->phase == open) return a;
    }
    return NULL;
}

/* Bytes came that no arrival expects, and an arrival is missing: where they were sent. */
static spad_status find_unexpected(spad__order *o, const spad__action *wait,
                                   const spad__action *delivery, spad_error *error) {
    const spad__about text = spad__order_describe(o, wait);
    char lacks[SPAD__PHRASE_MAX];
    spad_finding finding;
    describe_lack(o, wait, lacks, sizeof lacks);
    spad__finding_init(&finding, SPAD_FINDING_DEADLOCK,
                       "%s never ends: %s %s; let %s arrive at it and expect them", text.event,
                       text.object, lacks, agent_of_action(o, delivery));
    spad__finding_add_note(&finding, "%s waits for it here", agent_of_action(o, wait));
    note_others(o, &finding, wait->point);
    spad__finding_set_names(&finding, text.object, NULL);
    const spad_status status = draw_stuck(o, &finding, wait->point, error);
    if (status != SPAD_OK) return status;
    return spad__order_find(o, &finding, spad__order_event(o, delivery->point),
                            spad__order_event(o, wait->point), error);
}

/* All have arrived, and the bytes that came are not those that were expected. */
static spad_status find_unbalanced(spad__order *o, const spad__action *wait, spad_error *error) {
    const spad__sync_object *s = &o->executor.objects[wait->object].sync;
    const spad__about text = spad__order_describe(o, wait);
    const spad__action *expect = NULL;
    const int64_t needs = bytes_of_phase(o, wait->object, true, &expect);
    const int64_t gets = bytes_of_phase(o, wait->object, false, &expect);
    spad_finding finding;
    spad__finding_init(&finding, SPAD_FINDING_DEADLOCK,
                       "%s never ends: phase %s of %s needs %s bytes and gets %s", text.event,
                       spad__grouped(s->phase - s->base).text, text.object,
                       spad__grouped(needs).text, spad__grouped(gets).text);
    if (expect == NULL) {
        note_others(o, &finding, wait->point);
        return spad__order_find_at(o, &finding, wait, NULL, error);
    }
    spad__finding_add_note(&finding, "%s waits for it here", agent_of_action(o, wait));
    note_others(o, &finding, wait->point);
    spad__finding_set_names(&finding, text.object, NULL);
    const spad_status status = draw_stuck(o, &finding, wait->point, error);
    if (status != SPAD_OK) return status;
    return spad__order_find(o, &finding, spad__order_event(o, expect->point),
                            spad__order_event(o, wait->point), error);
}

static spad_status find_parked(spad__order *o, stuck at, bool with_notes, spad_error *error) {
    const spad__action *a = wait_of(o, at);
    const spad__sync_object *s = &o->executor.objects[a->object].sync;
    const spad__about text = spad__order_describe(o, a);
    const spad__action *help = find_help(o, a);
    char lacks[SPAD__PHRASE_MAX];
    int64_t meant;
    spad_finding finding;
    if (is_lapped(o, a, &meant)) {
        spad__describe_lapped(&finding, &text, meant, false);
    } else if (a->kind == SPAD__ACTION_PARITY && s->live && s->value == 0 &&
               (help == NULL || is_unbalanced(o, a))) {
        return find_unbalanced(o, a, error);
    } else if (is_unbalanced(o, a) && last_delivery(o, a->object) != NULL) {
        return find_unexpected(o, a, last_delivery(o, a->object), error);
    } else {
        describe_lack(o, a, lacks, sizeof lacks);
        spad__finding_init(&finding, SPAD_FINDING_DEADLOCK, "%s never ends: %s %s%s%s%s",
                           text.event, text.object, lacks, help != NULL ? "; that comes from " : "",
                           help != NULL ? agent_of_action(o, help) : "",
                           help != NULL ? ", which is stuck as well" : "");
    }
    if (with_notes) note_others(o, &finding, at.point);
    const spad_status status = draw_stuck(o, &finding, at.point, error);
    if (status != SPAD_OK) return status;
    return spad__order_find_at(o, &finding, a, NULL, error);
}

/* Stuck waits times actions that are compared for the cause. */
#define CAUSE_WORK_MAX INT64_C(20000000)

static size_t count_stuck(const spad__order *o) {
    size_t count = 0;
    for (stuck at = {-1, -1}; next_stuck(o, &at);) count++;
    return count;
}

/* True if an older wait for the same declaration is also a cause: it stands for this one. */
static bool is_repeated(const spad__order *o, stuck at, const int *severities, int severity) {
    const int32_t sync = o->events.objects.items[at.object].sync;
    size_t number = 0;
    for (stuck older = {-1, -1}; next_stuck(o, &older) && older.point != at.point; number++) {
        if (severities[number] == severity && o->events.objects.items[older.object].sync == sync) {
            return true;
        }
    }
    return false;
}

/* One finding for each cause: the waits that nothing could end. What waits for others is a note of
 * the first. Where all wait for each other, it is one finding about the first. */
static spad_status find_causes(spad__order *o, spad_error *error) {
    const size_t count = count_stuck(o);
    const bool compared = (int64_t)count <= CAUSE_WORK_MAX / ((int64_t)o->graph.actions.count + 1);
    int *severities = spad__new_array(&o->graph.host, count + 1, sizeof *severities);
    if (severities == NULL) return spad__fail_host_memory(error);
    int worst = 0;
    size_t number = 0;
    for (stuck at = {-1, -1}; next_stuck(o, &at); number++) {
        if (compared) severities[number] = severity_of_wait(o, wait_of(o, at));
        if (severities[number] > worst) worst = severities[number];
    }
    spad_status status = SPAD_OK;
    bool first = true;
    o->run->in_cycle = worst == 0;
    number = 0;
    for (stuck at = {-1, -1}; next_stuck(o, &at) && status == SPAD_OK; number++) {
        if (severities[number] != worst || (worst == 0 && !first) ||
            is_repeated(o, at, severities, worst)) {
            continue;
        }
        status = find_parked(o, at, first, error);
        first = false;
    }
    spad__free(&o->graph.host, severities, (count + 1) * sizeof *severities);
    return status;
}

/* ---- errors ------------------------------------------------------------------------ */

static spad_status report_sync_error(spad__order *o, const spad__sync_error *found,
                                     spad_error *error) {
    const spad__action *a = &o->graph.actions.items[found->action];
    const long long count = o->executor.objects[a->object].sync.count; /* as of the last init */
    const spad__about text = spad__order_describe(o, a);
    spad_finding finding;
    switch (found->kind) {
    case SPAD__SYNC_NOT_LIVE:
        spad__finding_init(&finding, SPAD_FINDING_MBARRIER_LIFE,
                           "%s finds %s not initialised; put its init before it, and order the two",
                           text.event, text.object);
        break;
    case SPAD__SYNC_INIT_TWICE:
        spad__finding_init(&finding, SPAD_FINDING_MBARRIER_LIFE,
                           "%s finds %s in use; invalidate it before it is initialised again",
                           text.event, text.object);
        break;
    case SPAD__SYNC_NO_ARRIVALS:
        spad__finding_init(&finding, SPAD_FINDING_MBARRIER_LIFE, "%s leaves no arrivals for %s",
                           text.event, text.object);
        break;
    case SPAD__SYNC_REENTRY:
        spad__finding_init(&finding, SPAD_FINDING_BARRIER_COUNT,
                           "%s arrives at %s a second time before it is complete", text.event,
                           text.object);
        break;
    default:
        spad__finding_init(&finding,
                           o->events.objects.items[a->object].kind == SPAD_SYNC_BARRIER
                               ? SPAD_FINDING_BARRIER_COUNT
                               : SPAD_FINDING_MIXED_PHASES,
                           "%s contributes more to %s than its count of %lld", text.event,
                           text.object, count);
        break;
    }
    o->open = true;
    return spad__order_find_at(o, &finding, a, NULL, error);
}

/* Where an mbarrier is not initialised its count means nothing. */
static bool is_due_to_another(const spad__order *o, const spad__sync_error *found) {
    const spad__action *actions = o->graph.actions.items;
    for (size_t i = 0; i < o->executor.errors.count; i++) {
        const spad__sync_error *other = &o->executor.errors.items[i];
        if (found->kind == SPAD__SYNC_SURPLUS && other->kind == SPAD__SYNC_NOT_LIVE &&
            actions[other->action].object == actions[found->action].object) {
            return true;
        }
    }
    return false;
}

spad_status spad__find_stuck(spad__order *o, spad_error *error) {
    for (size_t i = 0; i < o->executor.errors.count; i++) {
        if (is_due_to_another(o, &o->executor.errors.items[i])) continue;
        const spad_status status = report_sync_error(o, &o->executor.errors.items[i], error);
        if (status != SPAD_OK) return status;
    }
    if ((size_t)o->executor.happened == o->graph.points.count) return SPAD_OK;
    o->open = true;
    return find_causes(o, error);
}
