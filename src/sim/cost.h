/* SPDX-License-Identifier: Apache-2.0
 *
 * Durations from the inside: cost.c chooses between the forms that a figure can have,
 * cost_rates.c has those by rate. All return false where a time exceeds 64 bits.
 */
#ifndef SPAD_SIM_COST_H
#define SPAD_SIM_COST_H

#include "sim/sim.h"

void spad__cost_note_field(spad__cost *out, const spad_engine *engine, const char *field);

bool spad__cycles_to_time(const spad_engine *engine, int64_t cycles, int64_t *out);

/* Threads of an agent that an engine serves at a time. */
int64_t spad__cost_threads(const spad_sim *sim, const spad_engine *engine, int64_t agent);

/* Of an engine with rates; `known` is false where none of them is for this operation. */
bool spad__cost_rates(const spad_sim *sim, const spad_engine *engine, const spad_statement *s,
                      const spad_walk_event *event, spad__cost *out);
bool spad__cost_latency(const spad_engine *engine, spad__cost *out);

/* Replaces the cost by the cost of the slowest path; path is -1 where none exists. */
bool spad__cost_path(const spad_sim *sim, const spad_engine *engine, const spad_walk_event *event,
                     spad__cost *out);

#endif
