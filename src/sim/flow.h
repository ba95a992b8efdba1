/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel without synchronisation while it is simulated. flow.c moves it on by one
 * operation; flow_repeat.c compares its state at the heads of loops and skips what would
 * only repeat.
 */
#ifndef SPAD_SIM_FLOW_H
#define SPAD_SIM_FLOW_H

#include "sim/sim.h"

/* Operations that start in order: of an engine or, for transfers, of a statement. */
typedef struct spad__stream {
    int64_t engine;
    int64_t base; /* end of the last one */
    int64_t last; /* its row; -1: none */
} spad__stream;

/* A copy engine is taken from `start` to `end`; the last transfer in it is `row`. */
typedef struct spad__taken {
    int64_t start;
    int64_t end;
    int64_t row;
} spad__taken;
typedef SPAD_ARRAY(spad__taken) spad__calendar;

/* One side of an exclusion: until when its engine uses the space. */
typedef struct spad__port {
    int64_t end;
    int64_t row;
} spad__port;

/* A state at the head of a loop, relative to the time and the iteration. */
typedef struct spad__snapshot {
    bool valid;
    int64_t value; /* of the loop variable */
    int64_t time;  /* that the others are relative to */
    size_t rows;
    spad__numbers bases; /* of the streams, as they are */
    spad__numbers light; /* streams, ports */
    spad__numbers heavy; /* everything else */
    spad__numbers counts;
} spad__snapshot;

typedef struct spad__loop_state {
    bool studied;
    spad__period period;
    SPAD_ARRAY(size_t) streams; /* of the operations in it, each once */
    spad__snapshot saved;
    int64_t patience; /* periods until another state is saved */
} spad__loop_state;

typedef struct spad__flow {
    spad_sim *sim;
    spad_walk *walk;
    spad__stream *streams;
    size_t stream_count;
    size_t *stream_of;         /* per statement */
    spad__calendar *calendars; /* per engine and path, where there are copies */
    spad__port *ports;         /* two per exclusion: of its engines a and b */
    int64_t starts[SPAD_SIM_WINDOW];
    int64_t operations; /* since the start, those that were skipped not counted */
    int64_t floor;      /* nothing starts earlier any more */
    int64_t floor_row;
    spad__places places;
    bool *is_written; /* per tensor, as a home */
    int64_t *hoisted; /* per tensor: tiles by turns; 0: as it stands */
    int64_t *lives;   /* per tensor */
    spad__loop_state *loops;
    spad__numbers scratch;
} spad__flow;

/* Was it written by the last operation of its engine? Then a reader may take longer. */
static inline bool spad__flow_is_last(const spad__flow *flow, const spad__touch *touch) {
    const spad__sim_row *row = &flow->sim->rows.items[touch->row];
    return touch->writes && flow->streams[flow->stream_of[row->statement]].last == touch->row;
}

/* At an iteration event: jumps to a later one if the state has occurred before. */
spad_status spad__flow_repeat(spad__flow *flow, const spad_walk_event *event, spad_error *error);

/* At the start of a loop: what was seen of it before does not count. */
void spad__flow_enter(spad__flow *flow, int64_t loop);

#endif
