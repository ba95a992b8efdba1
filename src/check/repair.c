/* SPDX-License-Identifier: Apache-2.0
 *
 * Which number is wrong?
 *
 * A count of arrivals that is off by one, or a wrong number of expected bytes, shows far away from
 * where it is written: waits that never end, arrivals that count for another phase. So when a
 * kernel is wrong, its events are judged again with other counts and expectations: those that
 * follow from what arrives and is delivered, and the neighbours of what is written. If one of them
 * makes the kernel right, that number is the cause: one finding at its place, and what was found
 * before is in its notes. Nothing is guessed: what is proposed has passed the check, in this shape.
 *
 * A wait that nothing ends may have the right count, and an arrival is missing. Then the events
 * are judged without the object: the operation that may then run at the wrong time is the one
 * after which its agent must arrive.
 *
 * Findings about bytes keep their message and place, and get a note.
 */
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "check/order_pass.h"
#include "kernel/touched_bytes.h"
#include "order/sync.h"

/* Events times trials. */
enum { REPAIR_WORK_MAX = 200000, COUNTS_MAX = 5 };

typedef struct repair {
    spad__events *events;
    const spad__run *run;
    size_t before;    /* findings that were there before */
    int64_t *amounts; /* per event, as given */
    int64_t *expects;
    size_t work;
} repair;

/* ---- what an event does ------------------------------------------------------------ */

static const spad_statement *statement_at(const repair *m, int64_t number) {
    return spad_kernel_get_statement(m->events->kernel, (size_t)number);
}

static bool is_sync_event(const spad__event *event) {
    return event->kind == SPAD_WALK_SYNC && event->object >= 0;
}

static bool does(const repair *m, const spad__event *event, spad__action_kind kind) {
    if (!is_sync_event(event)) return false;
    const spad__object *object = &m->events->objects.items[event->object];
    return object->kind != SPAD_SYNC_GROUP &&
           spad__sync_action(statement_at(m, event->statement)->kind, object->kind) == kind;
}

static bool waits_at(const repair *m, const spad__event *event) {
    if (!is_sync_event(event)) return false;
    const spad_statement_kind kind = statement_at(m, event->statement)->kind;
    return kind == SPAD_STATEMENT_WAIT_PARITY || kind == SPAD_STATEMENT_SYNC;
}

static int32_t sync_of(const repair *m, int32_t object) {
    return m->events->objects.items[object].sync;
}

/* ---- trials ------------------------------------------------------------------------ */

static void restore_amounts(const repair *m) {
    for (size_t i = 0; i < m->events->items.count; i++) {
        m->events->items.items[i].amount = m->amounts[i];
        m->events->items.items[i].expect = m->expects[i];
    }
}

static bool may_try(repair *m) {
    m->work += m->events->items.count;
    return m->work <= REPAIR_WORK_MAX && !spad__is_late(m->run);
}

/* ---- counts ------------------------------------------------------------------------ */

static void set_count(const repair *m, int32_t sync, int64_t count) {
    for (size_t i = 0; i < m->events->objects.count; i++) {
        if (sync_of(m, (int32_t)i) == sync) m->events->objects.items[i].count = count;
    }
    for (size_t i = 0; i < m->events->items.count; i++) {
        spad__event *event = &m->events->items.items[i];
        if (does(m, event, SPAD__ACTION_INIT) && sync_of(m, event->object) == sync) {
            event->amount = count;
        }
    }
}

/* Arrivals at the first element of a declaration, the largest part of it that comes at once,
 * and the most waits of one agent there. */
static void count_arrivals(const repair *m, int32_t sync, int64_t *arrivals, int64_t *largest,
                           int64_t *waits) {
    const spad__events *events = m->events;
    *arrivals = *largest = *waits = 0;
    for (size_t agent = 0; agent + 1 < events->firsts.count; agent++) {
        int64_t here = 0;
        for (size_t i = events->firsts.items[agent]; i < events->firsts.items[agent + 1]; i++) {
            const spad__event *event = &events->items.items[i];
            const bool about = is_sync_event(event) && sync_of(m, event->object) == sync &&
                               events->objects.items[event->object].element == 0;
            if (about &&
                (does(m, event, SPAD__ACTION_ARRIVE) || does(m, event, SPAD__ACTION_ENTER))) {
                *arrivals = spad__add_clamped(*arrivals, event->amount);
                *largest = spad__max(*largest, event->amount);
            }
            here += about && waits_at(m, event);
            for (size_t c = 0; c < event->completion_count; c++) {
                const spad__event_completion *row =
                    &events->completions.items[event->first_completion + c];
                if (row->kind == SPAD_COMPLETION_ARRIVE && sync_of(m, row->object) == sync &&
                    events->objects.items[row->object].element == 0)
                    *arrivals = spad__add_clamped(*arrivals, row->amount);
            }
        }
        if (here > *waits) *waits = here;
    }
}

/* Counts that are worth a trial: by what arrives between two waits, then the neighbours. */
static size_t list_counts(const repair *m, int32_t sync, int64_t given, int64_t *counts) {
    int64_t arrivals;
    int64_t largest;
    int64_t waits;
    size_t count = 0;
    const bool barrier =
        spad_kernel_get_sync(m->events->kernel, (size_t)sync)->kind == SPAD_SYNC_BARRIER;
    count_arrivals(m, sync, &arrivals, &largest, &waits);
    const int64_t laps[] = {waits, waits + 1, waits - 1};
    int64_t all[COUNTS_MAX];
    size_t found = 0;
    for (size_t i = 0; i < 3; i++) {
        if (laps[i] > 0 && arrivals % laps[i] == 0) all[found++] = arrivals / laps[i];
    }
    all[found++] = given - 1;
    if (given < INT64_MAX) all[found++] = given + 1;
    for (size_t i = 0; i < found; i++) {
        /* with more than all that arrives no phase is complete, and one part is no barrier */
        bool known =
            all[i] <= 0 || all[i] == given || all[i] > arrivals || (barrier && all[i] <= largest);
        for (size_t k = 0; k < count; k++) known = known || counts[k] == all[i];
        if (!known) counts[count++] = all[i];
    }
    return count;
}

/* The count as it is: from the first init, if any. `place`: where it is written. */
static int64_t given_count(const repair *m, int32_t sync, spad_location *place) {
    const spad_kernel_sync *row = spad_kernel_get_sync(m->events->kernel, (size_t)sync);
    *place = row->location;
    for (size_t i = 0; i < m->events->items.count; i++) {
        const spad__event *event = &m->events->items.items[i];
        if (!does(m, event, SPAD__ACTION_INIT) || sync_of(m, event->object) != sync) continue;
        if (m->amounts[i] == row->count.value) continue;
        *place = statement_at(m, event->statement)->location;
        return m->amounts[i];
    }
    return row->count.value;
}

static spad_status try_counts(repair *m, int32_t sync, int64_t *right, spad_error *error) {
    spad_location place;
    int64_t counts[COUNTS_MAX];
    const int64_t declared = spad_kernel_get_sync(m->events->kernel, (size_t)sync)->count.value;
    const size_t count = list_counts(m, sync, given_count(m, sync, &place), counts);
    *right = 0;
    for (size_t i = 0; i < count && *right == 0 && may_try(m); i++) {
        bool is_right;
        set_count(m, sync, counts[i]);
        const spad_status status = spad__try_events(m->events, m->run, &is_right, error);
        set_count(m, sync, declared);
        restore_amounts(m);
        if (status != SPAD_OK) return status;
        if (is_right) *right = counts[i];
    }
    return SPAD_OK;
}

/* ---- the findings ------------------------------------------------------------------ */

static bool is_error(const repair *m, size_t i) {
    return m->run->check->found.items[i].finding.severity == SPAD_SEVERITY_ERROR;
}

/* Findings about bytes and their lives stay as they are, and so do operations that nothing waits
 * for: the first of all errors may be one, and a race would be lost behind it. */
static bool is_about_bytes(spad_finding_code code) {
    return code == SPAD_FINDING_RACE || code == SPAD_FINDING_MISSING_FENCE ||
           code == SPAD_FINDING_FREE_IN_USE || code == SPAD_FINDING_LIFETIME_CONFLICT ||
           code == SPAD_FINDING_UNINITIALISED_READ || code == SPAD_FINDING_UNFINISHED;
}

static bool is_subject(const spad_finding *finding, const char *object) {
    const size_t length = strlen(object);
    return strncmp(finding->subject, object, length) == 0 &&
           (finding->subject[length] == '\0' || finding->subject[length] == '[');
}

/* The error that the cause belongs to: about contributions to the object, or about the object, or
 * the first. */
static spad__found *main_error(const repair *m, const char *object) {
    spad_check *check = m->run->check;
    spad__found *best = NULL;
    int best_rank = 0;
    for (size_t i = m->before; i < check->found.count; i++) {
        spad__found *found = &check->found.items[i];
        const spad_finding_code code = found->finding.code;
        const bool mixed = code == SPAD_FINDING_MIXED_PHASES || code == SPAD_FINDING_MIXED_BARRIER;
        const int rank = 1 + 2 * is_subject(&found->finding, object) + mixed;
        if (!is_error(m, i) || rank <= best_rank) continue;
        best = found;
        best_rank = rank;
    }
    return best;
}

static void take_note(spad_finding *finding, const char *message, int32_t line, int32_t column,
                      int32_t width) {
    if (finding->note_count == SPAD_NOTES_MAX) return;
    spad_note *note = spad__finding_add_note(finding, "%s", message);
    spad__point_note(note, (spad_location){.line = line, .column = column, .width = width});
}

/* Puts the cause in place of all errors that it explains; they become its notes. */
static void put_found_cause(const repair *m, spad__found *main, const spad_finding *cause,
                            int64_t statement) {
    spad_check *check = m->run->check;
    spad__found whole = {.finding = *cause, .statement = statement, .other = -1};
    spad_finding *f = &whole.finding;
    const spad_finding *old = &main->finding;
    const spad_location old_place = {old->line, old->column, old->width};
    f->code = old->code;
    f->number = old->number;
    f->count = old->count;
    memcpy(f->file, old->file, sizeof f->file);
    take_note(f, old->message, old->line, old->column, old->width);
    for (size_t i = 0; i < old->note_count; i++) {
        take_note(f, old->notes[i].message, old->notes[i].line, old->notes[i].column,
                  old->notes[i].width);
    }
    *main = whole;
    size_t kept = m->before;
    for (size_t i = m->before; i < check->found.count; i++) {
        spad__found *found = &check->found.items[i];
        const bool gone = found != main && is_error(m, i);
        const spad_finding other = found->finding;
        if (gone) {
            take_note(&whole.finding, other.message, other.line, other.column, other.width);
            check->counts.errors--;
        }
    }
    if (f->line == 0) /* objects of compiled kernels are not declared anywhere */
        spad__point_finding(f, old_place);
    spad__locate_finding(f, m->run->kernel, statement, -1);
    *main = whole;
    for (size_t i = m->before; i < check->found.count; i++) {
        spad__found *found = &check->found.items[i];
        if (found != main && is_error(m, i)) continue;
        check->found.items[kept++] = *found;
    }
    check->found.count = kept;
}

/* The agents that arrive at a declaration, once for each statement. */
static void note_arrivals(const repair *m, spad_finding *finding, int32_t sync) {
    const spad_kernel *kernel = m->events->kernel;
    for (size_t i = 0; i < spad_kernel_statement_count(kernel); i++) {
        const size_t *firsts = &m->events->firsts.items[statement_at(m, (int64_t)i)->agent];
        if (finding->note_count + 2 > SPAD_NOTES_MAX) return;
        for (size_t e = firsts[0]; e < firsts[1]; e++) {
            const spad__event *event = &m->events->items.items[e];
            if (event->statement != (int64_t)i) continue;
            bool arrives =
                is_sync_event(event) && sync_of(m, event->object) == sync &&
                (does(m, event, SPAD__ACTION_ARRIVE) || does(m, event, SPAD__ACTION_ENTER));
            int64_t amount = event->amount;
            for (size_t c = 0; c < event->completion_count; c++) {
                const spad__event_completion *row =
                    &m->events->completions.items[event->first_completion + c];
                if (row->kind != SPAD_COMPLETION_ARRIVE || sync_of(m, row->object) != sync)
                    continue;
                arrives = true;
                amount = row->amount;
            }
            if (!arrives) break;
            char text[SPAD__PHRASE_MAX];
            spad__event_phrase(m->events, event, text);
            spad_note *note =
                spad__finding_add_note(finding, "%lld by %s", (long long)amount, text);
            spad__point_note(note, statement_at(m, event->statement)->location);
            break;
        }
    }
}

static void report_count(const repair *m, int32_t sync, int64_t right) {
    const spad_kernel_sync *row = spad_kernel_get_sync(m->events->kernel, (size_t)sync);
    spad_location place;
    const long long given = given_count(m, sync, &place);
    const char *word = row->kind == SPAD_SYNC_BARRIER ? "contribution" : "arrival";
    const char *plural = right == 1 ? "" : "s";
    spad__found *main = main_error(m, row->name);
    if (main == NULL) return;
    if (is_about_bytes(main->finding.code)) {
        spad_note *note = spad__finding_add_note(
            &main->finding, "%lld %s%s a lap, count %lld: with count %lld the kernel is right",
            (long long)right, word, plural, given, (long long)right);
        spad__point_note(note, place);
        return;
    }
    spad_finding cause;
    spad__finding_init(&cause, main->finding.code,
                       "%s has %lld %s%s a lap, count %lld; with count %lld the kernel is right",
                       row->name, (long long)right, word, plural, given, (long long)right);
    spad__finding_set_names(&cause, row->name, NULL);
    spad__point_finding(&cause, place);
    note_arrivals(m, &cause, sync);
    put_found_cause(m, main, &cause, -1);
}

static spad_status repair_counts(repair *m, bool *done, spad_error *error) {
    const spad_kernel *kernel = m->events->kernel;
    for (size_t i = 0; i < spad_kernel_sync_count(kernel) && !*done; i++) {
        const spad_sync_kind kind = spad_kernel_get_sync(kernel, i)->kind;
        if (kind != SPAD_SYNC_BARRIER && kind != SPAD_SYNC_MBARRIER) continue;
        int64_t right;
        const spad_status status = try_counts(m, (int32_t)i, &right, error);
        if (status != SPAD_OK) return status;
        *done = right > 0;
        if (*done) report_count(m, (int32_t)i, right);
    }
    return SPAD_OK;
}

/* ---- expected bytes ---------------------------------------------------------------- */

static bool expects(const repair *m, const spad__event *event) {
    return does(m, event, SPAD__ACTION_ARRIVE) || does(m, event, SPAD__ACTION_EXPECT);
}

static int64_t *expectation(const repair *m, spad__event *event) {
    return does(m, event, SPAD__ACTION_EXPECT) ? &event->amount : &event->expect;
}

/* What a statement has to expect at an object, so that it is what is delivered there; -1: it
 * expects nothing there, or it cannot be. */
static int64_t balance_at(const repair *m, int32_t statement, int32_t object, int64_t *now) {
    int64_t bytes = 0;
    int64_t events = 0;
    for (size_t i = 0; i < m->events->items.count; i++) {
        spad__event *event = &m->events->items.items[i];
        if (is_sync_event(event) && event->object == object && expects(m, event)) {
            const int64_t value = *expectation(m, event);
            if (event->statement == statement) {
                events++;
                *now = value;
            } else if (!spad__add(bytes, -value, &bytes)) {
                return -1;
            }
        }
        for (size_t c = 0; c < event->completion_count; c++) {
            const spad__event_completion *row =
                &m->events->completions.items[event->first_completion + c];
            if (row->kind == SPAD_COMPLETION_DELIVER && row->object == object &&
                !spad__add(bytes, row->amount, &bytes)) {
                return -1;
            }
        }
    }
    return events > 0 && bytes >= 0 && bytes % events == 0 ? bytes / events : -1;
}

/* The bytes that a statement should expect; -1: none that differ from what it does. */
static int64_t balance(const repair *m, int32_t statement, int64_t *now) {
    int64_t all = -1;
    bool differs = false;
    for (size_t i = 0; i < m->events->objects.count; i++) {
        if (m->events->objects.items[i].sync != statement_at(m, statement)->item) continue;
        const int64_t value = balance_at(m, statement, (int32_t)i, now);
        if (value < 0) continue;
        if (all >= 0 && all != value) return -1;
        all = value;
        differs = differs || value != *now;
    }
    return differs ? all : -1;
}

static void set_expectation(const repair *m, int32_t statement, int64_t value) {
    for (size_t i = 0; i < m->events->items.count; i++) {
        spad__event *event = &m->events->items.items[i];
        if (event->statement == statement && is_sync_event(event)) *expectation(m, event) = value;
    }
}

static void report_expect(const repair *m, int32_t statement, int64_t now, int64_t right) {
    const spad_statement *s = statement_at(m, statement);
    const char *name = spad_kernel_get_sync(m->events->kernel, (size_t)s->item)->name;
    spad__found *main = main_error(m, name);
    if (main == NULL) return;
    if (is_about_bytes(main->finding.code) || main->statement == statement) {
        spad_note *note = spad__finding_add_note(
            &main->finding, "with %lld bytes expected here the kernel is right", (long long)right);
        spad__point_note(note, s->location);
        return;
    }
    spad_finding cause;
    spad__finding_init(&cause, main->finding.code,
                       "a phase of %s expects %s bytes and gets %s; with %s bytes expected "
                       "here the kernel is right",
                       name, spad__grouped(now).text, spad__grouped(right).text,
                       spad__grouped(right).text);
    spad__finding_set_names(&cause, name, NULL);
    spad__point_finding(&cause, s->location);
    put_found_cause(m, main, &cause, statement);
}

static spad_status repair_expectations(repair *m, bool *done, spad_error *error) {
    const spad_kernel *kernel = m->events->kernel;
    for (size_t i = 0; i < spad_kernel_statement_count(kernel) && !*done; i++) {
        const spad_statement *s = statement_at(m, (int64_t)i);
        if (s->kind != SPAD_STATEMENT_ARRIVE && s->kind != SPAD_STATEMENT_EXPECT) continue;
        if (spad_kernel_get_sync(kernel, (size_t)s->item)->kind != SPAD_SYNC_MBARRIER) continue;
        int64_t now = 0;
        const int64_t value = balance(m, (int32_t)i, &now);
        if (value < 0 || !may_try(m)) continue;
        set_expectation(m, (int32_t)i, value);
        const spad_status status = spad__try_events(m->events, m->run, done, error);
        restore_amounts(m);
        if (status != SPAD_OK) return status;
        if (*done) report_expect(m, (int32_t)i, now, value);
    }
    return SPAD_OK;
}

/* ---- arrivals that are missing ----------------------------------------------------- */

/* Takes a declaration out of the events. `kinds` and `counts` keep what they were. */
static void take_sync_out(const repair *m, int32_t sync, spad_walk_kind *kinds, size_t *counts) {
    spad__events *events = m->events;
    for (size_t i = 0; i < events->items.count; i++) {
        spad__event *event = &events->items.items[i];
        kinds[i] = event->kind;
        counts[i] = event->completion_count;
        if (is_sync_event(event) && sync_of(m, event->object) == sync) event->kind = SPAD_WALK_END;
        for (size_t c = event->completion_count; c-- > 0;) {
            spad__event_completion *rows = &events->completions.items[event->first_completion];
            if (sync_of(m, rows[c].object) != sync) continue;
            const spad__event_completion row = rows[c];
            const size_t last = --event->completion_count;
            rows[c] = rows[last];
            rows[last] = row;
        }
    }
}

static void put_back(const repair *m, const spad_walk_kind *kinds, const size_t *counts) {
    for (size_t i = 0; i < m->events->items.count; i++) {
        m->events->items.items[i].kind = kinds[i];
        m->events->items.items[i].completion_count = counts[i];
    }
}

/* Does an agent arrive at a declaration, or signal it? */
static bool arrives_anywhere(const repair *m, int64_t agent, int32_t sync) {
    for (size_t i = 0; i < m->events->items.count; i++) {
        const spad__event *event = &m->events->items.items[i];
        if (event->agent != agent) continue;
        if (is_sync_event(event) && sync_of(m, event->object) == sync &&
            (does(m, event, SPAD__ACTION_ARRIVE) || does(m, event, SPAD__ACTION_ENTER) ||
             does(m, event, SPAD__ACTION_SIGNAL))) {
            return true;
        }
        for (size_t c = 0; c < event->completion_count; c++) {
            const spad__event_completion *row =
                &m->events->completions.items[event->first_completion + c];
            if (row->kind != SPAD_COMPLETION_DELIVER && sync_of(m, row->object) == sync)
                return true;
        }
    }
    return false;
}

/* ---- whose arrival ----------------------------------------------------------------- */

/* The operation whose end a stuck wait is for, as far as it is known. */
typedef struct guess {
    int64_t statement; /* -1: none */
    int rank;
} guess;

static bool delivers_to(const repair *m, int64_t statement, int32_t sync) {
    const spad_statement *s = statement_at(m, statement);
    for (size_t i = 0; i < s->completion_count; i++) {
        const spad_kernel_completion *row =
            spad_kernel_get_completion(m->events->kernel, s->first_completion + i);
        if (row->object == sync) return true;
    }
    return false;
}

/* `late` comes after the wait and clashes with `early`. Better an agent that delivers there, or
 * one that does not arrive yet; then the last operation of the agent. */
static void consider(const repair *m, guess *best, const spad_statement *wait, int64_t early,
                     int64_t late) {
    const spad_statement *e = statement_at(m, early);
    const spad_statement *l = statement_at(m, late);
    const int32_t sync = (int32_t)wait->item;
    if (l->agent != wait->agent || (e->agent == wait->agent && e->unit == l->unit)) return;
    const bool fresh = e->agent != wait->agent && !arrives_anywhere(m, e->agent, sync);
    const bool same_queue = wait->unit < 0 || l->unit == wait->unit;
    const int rank = 1 + same_queue + 2 * fresh + 4 * delivers_to(m, early, sync);
    if (rank < best->rank) return;
    if (rank == best->rank && statement_at(m, best->statement)->agent != e->agent) return;
    *best = (guess){early, rank};
}

/* By the races that there are without the object. */
static guess guess_by_races(const repair *m, const spad_check *without,
                            const spad_statement *wait) {
    guess best = {-1, 0};
    for (size_t i = 0; i < without->found.count; i++) {
        const spad__found *found = &without->found.items[i];
        if (found->finding.code != SPAD_FINDING_RACE || found->other < 0) continue;
        consider(m, &best, wait, found->other, found->statement);
    }
    return best;
}

static bool clash(const repair *m, const spad__event *a, const spad__event *b) {
    const spad__events *events = m->events;
    for (size_t i = 0; i < a->access_count; i++) {
        for (size_t k = 0; k < b->access_count; k++) {
            const size_t x = a->first_access + i;
            const size_t y = b->first_access + k;
            const spad_walk_access *left = &events->accesses.items[x];
            const spad_walk_access *right = &events->accesses.items[y];
            if (events->storage[x] != events->storage[y]) continue;
            if (((left->kind | right->kind) & SPAD_ACCESS_WRITE) == 0) continue;

            const spad__bytes one = spad__bytes_of(left);
            const spad__bytes other = spad__bytes_of(right);
            if (spad__bytes_overlap(&one, &other)) return true;
        }
    }
    return false;
}

/* Does an operation announce its end, but at another object? */
static bool says_elsewhere(const repair *m, const spad__event *event, const spad_statement *wait) {
    return event->completion_count > 0 && !delivers_to(m, event->statement, (int32_t)wait->item);
}

/* By the bytes that the first operation after the wait uses: for kernels that do not run without
 * the object. */
static guess guess_by_bytes(const repair *m, int64_t number) {
    const spad__events *events = m->events;
    const spad_statement *wait = statement_at(m, number);
    guess best = {-1, 0};
    size_t at = 0;
    while (at < events->items.count && events->items.items[at].statement != number) at++;
    for (size_t i = at + 1; i < events->items.count; i++) {
        const spad__event *next = &events->items.items[i];
        if (next->agent != wait->agent) break;
        if (next->kind != SPAD_WALK_OPERATION || (wait->unit >= 0 && next->unit != wait->unit)) {
            continue;
        }
        for (size_t k = 0; k < events->items.count; k++) {
            const spad__event *other = &events->items.items[k];
            if (other->kind == SPAD_WALK_OPERATION && !says_elsewhere(m, other, wait) &&
                clash(m, next, other)) {
                consider(m, &best, wait, other->statement, next->statement);
            }
        }
        if (best.statement >= 0) break;
    }
    return best;
}

static const char *who(const repair *m, const spad_statement *s) {
    if (s->agent == 0) return "the main program";
    return spad_kernel_get_agent(m->events->kernel, (size_t)s->agent)->name;
}

static void report_missing(const repair *m, spad__found *main, int64_t operation, bool known) {
    const spad_statement *s = statement_at(m, operation);
    const spad_statement *wait = statement_at(m, main->statement);
    const spad_kernel_sync *sync = spad_kernel_get_sync(m->events->kernel, (size_t)wait->item);
    spad_finding old = main->finding;
    spad_finding *f = &main->finding;
    char message[2 * SPAD_MESSAGE_MAX];
    char unit[96] = "";
    if (s->unit >= 0) {
        snprintf(unit, sizeof unit, " on %.60s",
                 spad_kernel_get_unit(m->events->kernel, (size_t)s->unit)->name);
    }
    snprintf(message, sizeof message, "%s; %s %s %s %s%s after %s", old.message,
             known ? "let" : "perhaps let", who(m, s),
             sync->kind == SPAD_SYNC_COUNTER ? "signal" : "arrive at", sync->name,
             sync->kind == SPAD_SYNC_BARRIER ? "" : unit, s->name);
    spad__copy_cut(f->message, sizeof f->message, message);
    spad__point_finding(f, s->location);
    f->note_count = 0;
    spad_note *note = spad__finding_add_note(f, "%s waits for it here", who(m, wait));
    spad__point_note(note, wait->location);
    for (size_t i = 0; i < old.note_count; i++) {
        take_note(f, old.notes[i].message, old.notes[i].line, old.notes[i].column,
                  old.notes[i].width);
    }
}

static spad_status check_without_object(const repair *m, int32_t sync, spad_check *rest,
                                        spad_error *error) {
    const spad_host *host = &m->events->host;
    const size_t count = m->events->items.count + 1;
    spad_walk_kind *kinds = spad__new_array(host, count, sizeof *kinds);
    size_t *counts = spad__new_array(host, count, sizeof *counts);
    spad_status status = SPAD_OK;
    if (kinds == NULL || counts == NULL) {
        status = spad__fail_host_memory(error);
    } else {
        spad__run run = *m->run;
        run.check = rest;
        run.watches = NULL;
        run.shown = false;
        run.anyway = true; /* other objects rely on this one */
        take_sync_out(m, sync, kinds, counts);
        status = spad__check_events(m->events, &run, error);
        put_back(m, kinds, counts);
    }
    spad__free(host, kinds, count * sizeof *kinds);
    spad__free(host, counts, count * sizeof *counts);
    return status;
}

/* Deadlocks that no number explains: which agent should have arrived? */
static spad_status repair_missing_arrivals(repair *m, spad_error *error) {
    spad_check *check = m->run->check;
    if (m->run->in_cycle) return SPAD_OK; /* enough would arrive */
    for (size_t i = m->before; i < check->found.count; i++) {
        spad__found *found = &check->found.items[i];
        if (found->finding.code != SPAD_FINDING_DEADLOCK || found->statement < 0) continue;
        const spad_statement *wait = statement_at(m, found->statement);
        if (wait->kind == SPAD_STATEMENT_ARRIVE || wait->kind == SPAD_STATEMENT_EXPECT ||
            wait->kind == SPAD_STATEMENT_OPERATION) {
            continue; /* the cause is known */
        }
        if (!may_try(m)) return SPAD_OK;
        spad_check rest = {.host = m->events->host};
        const spad_status status = check_without_object(m, (int32_t)wait->item, &rest, error);
        guess best = guess_by_races(m, &rest, wait);
        spad__drop_findings(&rest);
        if (status != SPAD_OK) return status;
        const bool known = best.statement >= 0;
        if (!known) best = guess_by_bytes(m, found->statement);
        if (best.statement >= 0) report_missing(m, found, best.statement, known);
    }
    return SPAD_OK;
}

/* ---- all of them ------------------------------------------------------------------- */

spad_status spad__repair_numbers(spad__events *events, const spad__run *run, size_t before,
                                 bool *done, spad_error *error) {
    repair m = {.events = events, .run = run, .before = before};
    const size_t count = events->items.count + 1;
    *done = false;
    m.amounts = spad__new_array(&events->host, count, sizeof *m.amounts);
    m.expects = spad__new_array(&events->host, count, sizeof *m.expects);
    spad_status status = SPAD_OK;
    if (m.amounts == NULL || m.expects == NULL) {
        status = spad__fail_host_memory(error);
    } else {
        for (size_t i = 0; i < events->items.count; i++) {
            m.amounts[i] = events->items.items[i].amount;
            m.expects[i] = events->items.items[i].expect;
        }
        status = repair_counts(&m, done, error);
        if (status == SPAD_OK && !*done) status = repair_expectations(&m, done, error);
    }
    spad__free(&events->host, m.amounts, count * sizeof *m.amounts);
    spad__free(&events->host, m.expects, count * sizeof *m.expects);
    return status;
}

spad_status spad__repair_arrivals(spad__events *events, const spad__run *run, size_t before,
                                  spad_error *error) {
    repair m = {.events = events, .run = run, .before = before};
    return repair_missing_arrivals(&m, error);
}
