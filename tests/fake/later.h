/* SPDX-License-Identifier: Apache-2.0
 *
 * Work that is put off, for the libraries that stand in for a driver's: copies on queues that
 * are not made before a program waits for them, so that mistakes in the order of copies and
 * frees show. Not safe for threads: the caller holds a lock.
 */
#ifndef SPAD_FAKE_LATER_H
#define SPAD_FAKE_LATER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct later_queue later_queue;

typedef struct later_work {
    struct later_work *next;
    char *to;
    const char *from;
    size_t to_pitch, from_pitch, width, rows;
    bool fills; /* not a copy: every byte is set to the value */
    unsigned char value;
    later_queue *wait_for; /* not a copy: this queue up to a point */
    long wait_until;
} later_work;

struct later_queue {
    later_work *first;
    later_work *last;
    long started; /* pieces of work so far */
    long done;
    long users; /* pieces of work that wait for it, events, and the program that opened it */
    later_queue *next;
};

/* A point of a queue. */
typedef struct later_event {
    later_queue *of; /* NULL: not recorded yet */
    long until;
    bool asked; /* the first question is answered with "not yet" */
} later_event;

/* The queue that is always there: the first of the list of all that are open. */
extern later_queue later_first;

/* NULL: no memory. */
later_queue *later_open(void);
/* Does all work of the queue and closes it. */
void later_close(later_queue *queue);
/* False: no memory. */
bool later_start(later_queue *queue, later_work work);
/* Lets the queue wait for an event. False: no memory. */
bool later_wait(later_queue *queue, const later_event *event);
void later_finish(later_queue *queue);
void later_finish_all(void);
/* Does the work up to the given piece, counted from 1 when the queue was opened. */
void later_finish_until(later_queue *queue, long piece);
/* Has any queue work left? */
bool later_is_busy(void);

void later_record(later_event *event, later_queue *queue);
/* Drops what an event holds. */
void later_forget(later_event *event);
/* Does the work up to an event. */
void later_reach(const later_event *event);
/* False for the first question while there is work to do; from then on does it. */
bool later_is_done(later_event *event);

#endif
