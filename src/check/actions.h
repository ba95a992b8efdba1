/* SPDX-License-Identifier: Apache-2.0
 *
 * The actions of synchronisation objects, in words: what deadlocks.c and phases.c share.
 */
#ifndef SPAD_CHECK_ACTIONS_H
#define SPAD_CHECK_ACTIONS_H

#include "base/assert.h"
#include "check/order_pass.h"

static inline const spad__action *spad__order_action(const spad__order *o, int32_t object,
                                                     int32_t i) {
    spad__assert(i >= 0 && i < o->first_action[object + 1] - o->first_action[object]);
    return &o->graph.actions.items[o->actions[o->first_action[object] + i]];
}

static inline int32_t spad__order_action_count(const spad__order *o, int32_t object) {
    return o->first_action[object + 1] - o->first_action[object];
}

static inline int32_t spad__order_event(const spad__order *o, int32_t point) {
    spad__assert(point >= 0 && (size_t)point < o->graph.points.count);
    return o->graph.points.items[point].event;
}

static inline void spad__order_phrase(const spad__order *o, int32_t point, char *field) {
    spad__event_phrase(&o->events, &o->events.items.items[spad__order_event(o, point)], field);
}

/* A finding whose message starts with the event of an action and the object of it. */
typedef struct spad__about {
    char event[SPAD__PHRASE_MAX];
    char object[SPAD__PHRASE_MAX];
} spad__about;

static inline spad__about spad__order_describe(const spad__order *o, const spad__action *a) {
    spad__about text;
    spad__order_phrase(o, a->point, text.event);
    spad__object_phrase(&o->events, a->object, text.object);
    return text;
}

static inline spad_status spad__order_find_at(spad__order *o, spad_finding *finding,
                                              const spad__action *a, const spad__action *other,
                                              spad_error *error) {
    char name[SPAD__PHRASE_MAX];
    spad__object_phrase(&o->events, a->object, name);
    spad__finding_set_names(finding, name, NULL);
    if (other != NULL) {
        char text[SPAD__PHRASE_MAX];
        spad__order_phrase(o, other->point, text);
        spad__finding_add_note(finding, "%s", text);
    }
    return spad__order_find(o, finding, spad__order_event(o, a->point),
                            other != NULL ? spad__order_event(o, other->point) : -1, error);
}

/* A wait that comes, or may come, when the phase after the one it is for is complete, too: that
 * one, counted from 0 as in all messages, so that phase k has the parity k % 2. */
static inline void spad__describe_lapped(spad_finding *finding, const spad__about *text,
                                         int64_t phase, bool may) {
    spad__finding_init(
        finding, SPAD_FINDING_LAPPED_WAIT,
        "%s %s when phase %lld of %s is complete, and then waits for the one after it; let "
        "an arrival of that phase wait for it",
        text->event, may ? "may come" : "comes", (long long)phase, text->object);
}

#endif
