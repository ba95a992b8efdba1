/* SPDX-License-Identifier: Apache-2.0
 * Work that is put off. See later.h. */
#include "later.h"

#include <stdlib.h>
#include <string.h>

later_queue later_first;

static void release(later_queue *queue) {
    if (--queue->users == 0 && queue != &later_first) free(queue);
}

static void unlink_queue(const later_queue *queue) {
    for (later_queue *each = &later_first; each->next != NULL; each = each->next) {
        if (each->next != queue) continue;
        each->next = queue->next;
        return;
    }
}

/* The next piece of work, unless it waits for another queue. */
static void run_one(later_queue *queue) {
    later_work *w = queue->first;
    if (w == NULL) return;
    if (w->wait_for != NULL) {
        if (w->wait_for->done < w->wait_until) return;
        release(w->wait_for);
    }
    if (w->fills) memset(w->to, w->value, w->width);
    for (size_t row = 0; row < w->rows && !w->fills; row++) {
        memmove(w->to + row * w->to_pitch, w->from + row * w->from_pitch, w->width);
    }
    queue->first = w->next;
    if (queue->first == NULL) queue->last = NULL;
    queue->done++;
    free(w);
}

/* All queues take turns, so that work on different ones is mixed. */
static void run_until(const later_queue *queue, long until) {
    while (queue->done < until) {
        for (later_queue *each = &later_first; each != NULL;) {
            later_queue *next = each->next;
            run_one(each);
            each = next;
        }
    }
}

later_queue *later_open(void) {
    later_queue *queue = calloc(1, sizeof *queue);
    if (queue == NULL) return NULL;
    queue->users = 1;
    queue->next = later_first.next;
    later_first.next = queue;
    return queue;
}

void later_close(later_queue *queue) {
    later_finish(queue);
    unlink_queue(queue);
    release(queue);
}

bool later_start(later_queue *queue, later_work work) {
    later_work *added = malloc(sizeof *added);
    if (added == NULL) return false;
    *added = work;
    added->next = NULL;
    if (queue->last != NULL) {
        queue->last->next = added;
    } else {
        queue->first = added;
    }
    queue->last = added;
    queue->started++;
    return true;
}

bool later_wait(later_queue *queue, const later_event *event) {
    const later_work work = {.wait_for = event->of, .wait_until = event->until};
    if (event->of == NULL || event->of == queue) return true;
    event->of->users++;
    return later_start(queue, work);
}

void later_finish(later_queue *queue) {
    run_until(queue, queue->started);
}

void later_finish_until(later_queue *queue, long piece) {
    run_until(queue, piece);
}

bool later_is_busy(void) {
    for (later_queue *each = &later_first; each != NULL; each = each->next) {
        if (each->first != NULL) return true;
    }
    return false;
}

void later_finish_all(void) {
    for (later_queue *each = &later_first; each != NULL; each = each->next) later_finish(each);
}

void later_record(later_event *event, later_queue *queue) {
    later_forget(event);
    queue->users++;
    *event = (later_event){.of = queue, .until = queue->started};
}

void later_forget(later_event *event) {
    if (event->of != NULL) release(event->of);
    event->of = NULL;
}

void later_reach(const later_event *event) {
    if (event->of != NULL) run_until(event->of, event->until);
}

bool later_is_done(later_event *event) {
    const bool waits = event->of != NULL && event->of->done < event->until;
    if (waits && !event->asked) {
        event->asked = true;
        return false;
    }
    later_reach(event);
    return true;
}
