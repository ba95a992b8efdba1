/* SPDX-License-Identifier: Apache-2.0
 *
 * How long an operation takes, in whole picoseconds, rounded up.
 *
 * The kernel's own figure comes first. Otherwise the target's: a path that the operation takes, or
 * rates (cost_rates.c), or these forms:
 *   transfer   start-up, then bytes over the rate of the units it is spread over. A space
 *              with lanes is dealt to the units lane by lane, so that a transfer of few
 *              lanes uses few units (AWS NKI DMA guide: 16 engines, 8 partitions each).
 *   compute    elements per lane x lanes / results per cycle, and at least the shortest
 *              operation. Lanes work side by side, so the lanes of the space count and not
 *              those that are used (nki.isa reference: max(64, N) cycles). The widest
 *              element decides the rate; for an engine that writes another memory than it
 *              reads, as matrix engines do, the widest it reads, and its results are counted.
 *   unknown    SPAD_SIM_UNKNOWN.
 */
#include "sim/cost.h"
#include "base/assert.h"
#include "base/checked.h"
#include "spad/experimental/kernel_rows.h"

/* ---- transfers --------------------------------------------------------------------- */

static bool transfer_time(const spad_kernel *kernel, const spad_engine *engine,
                          const spad_walk_event *event, spad__cost *out) {
    int64_t bytes[2] = {0, 0}; /* read, written */
    int64_t units = engine->count;
    for (size_t i = 0; i < event->access_count; i++) {
        const spad_walk_access *a = &event->accesses[i];
        const spad_kernel_tensor *tensor = spad_kernel_get_tensor(kernel, (size_t)a->tensor);
        const int64_t lanes = spad_kernel_get_target(kernel)->spaces[tensor->space].lanes;
        const bool writes = (a->kind & SPAD_ACCESS_WRITE) != 0;
        int64_t spread;
        if (!spad__add(bytes[writes], a->moved, &bytes[writes])) return false;
        if (lanes > 1 && spad__scale_up(a->rect.lanes, engine->count, lanes, &spread)) {
            units = spad__min(units, spread);
        }
    }
    const int64_t most = spad__max(bytes[0], bytes[1]);
    int64_t share;
    return spad__scale_up(most, 1, spad__max(units, 1), &share) &&
           spad__scale_up(share, INT64_C(1000000), engine->bytes_per_us, &out->busy) &&
           spad__mul(engine->fixed_ns, 1000, &out->startup);
}

/* ---- compute ----------------------------------------------------------------------- */

static int64_t width_for(const spad_engine *engine, int bits) {
    spad__assert(engine->width > 0);
    int64_t width = engine->width;
    if (bits <= 16 && engine->width_16bit > 0) width = engine->width_16bit;
    if (bits <= 8 && engine->width_8bit > 0) width = engine->width_8bit;
    return width;
}

static bool compute_cycles(const spad_kernel *kernel, const spad_engine *engine,
                           const spad_walk_event *event, int64_t *out) {
    const bool is_matrix = (engine->reads & engine->writes) == 0;
    int bits = 0;
    int64_t elements = 0;
    for (size_t i = 0; i < event->access_count; i++) {
        const spad_walk_access *a = &event->accesses[i];
        const spad_kernel_tensor *tensor = spad_kernel_get_tensor(kernel, (size_t)a->tensor);
        const int own = spad_dtype_bits(tensor->dtype);
        const bool reads_only = (a->kind & SPAD_ACCESS_WRITE) == 0;
        if ((!is_matrix || reads_only) && own > bits) bits = own;
        if (is_matrix && reads_only) continue;
        const int64_t lanes = spad_kernel_get_target(kernel)->spaces[tensor->space].lanes;
        spad__assert(own > 0);
        int64_t count; /* a wide element counts as several of 32 bits */
        const int64_t in_lane = a->moved / a->rect.lanes + (a->moved % a->rect.lanes != 0);
        if (!spad__scale_up(in_lane, 8, own < 32 ? own : 32, &count) ||
            !spad__mul(count, lanes, &count)) {
            return false;
        }
        elements = spad__max(elements, count);
    }
    int64_t cycles;
    if (!spad__scale_up(elements, 1, width_for(engine, bits), &cycles)) return false;
    *out = spad__max(cycles, engine->min_cycles);
    return true;
}

/* Engines with a width. */
static bool width_cost(const spad_kernel *kernel, const spad_engine *engine,
                       const spad_walk_event *event, spad__cost *out) {
    int64_t cycles;
    spad__cost_note_field(out, engine, "clock");
    spad__cost_note_field(out, engine, "width");
    return compute_cycles(kernel, engine, event, &cycles) &&
           spad__cycles_to_time(engine, cycles, &out->busy) &&
           spad__cycles_to_time(engine, engine->fixed_cycles, &out->dependent);
}

/* The time of the engine itself. */
static bool engine_cost(const spad_sim *sim, const spad_engine *engine, const spad_statement *s,
                        const spad_walk_event *event, spad__cost *out) {
    if (engine->bytes_per_us > 0) {
        spad__cost_note_field(out, engine, "rate");
        return transfer_time(sim->kernel, engine, event, out);
    }
    if (engine->rate_count > 0) {
        return spad__cost_rates(sim, engine, s, event, out) &&
               (!out->known || spad__cost_latency(engine, out));
    }
    out->known = engine->clock_khz > 0 && engine->width > 0;
    return !out->known ||
           (width_cost(sim->kernel, engine, event, out) && spad__cost_latency(engine, out));
}

/* A cycle or two: nothing that is counted by rates is shorter, so that pictures in nanoseconds show
 * everything in its order. In picoseconds. */
enum { SHORTEST = 1000 };

/* Is the operation one that only moves data: it has no work of its own? */
static bool only_moves(const spad_engine *engine, const spad_statement *s) {
    if (engine->rate_count == 0) return true;
    for (int i = 0; i < SPAD_WORKS; i++) {
        if (s->work[i].value > 0) return false;
    }
    return true;
}

/* The path that it takes, or the engine itself if that takes longer. */
static bool target_cost(const spad_sim *sim, const spad_engine *engine, const spad_statement *s,
                        const spad_walk_event *event, spad__cost *out) {
    spad__cost move = {.path = -1};
    if (!spad__cost_path(sim, engine, event, &move)) return false;
    const bool moves = move.path >= 0;
    if (!(moves && only_moves(engine, s)) && !engine_cost(sim, engine, s, event, out)) return false;
    if (moves && (only_moves(engine, s) || !out->known || move.busy >= out->busy)) *out = move;
    const bool by_rate = moves || engine->rate_count > 0;
    if (by_rate && out->busy < SHORTEST) out->busy = SHORTEST;
    if (!out->known) out->busy = SPAD_SIM_UNKNOWN;
    return true;
}

/* A latency in the kernel replaces the target's. */
static bool kernel_latency(const spad_engine *engine, const spad_statement *s, spad__cost *out) {
    if (s->latency_kind == SPAD_COST_TARGET) return true;
    return s->latency_kind == SPAD_COST_NS
               ? spad__mul(s->latency.value, 1000, &out->latency)
               : spad__cycles_to_time(engine, s->latency.value, &out->latency);
}

/* Blocks that do the same at the same time have each a part of an engine, and all are done after
 * the time of all. What comes from memory off chip is there at once (sim.c). */
static bool in_step(const spad_sim *sim, const spad_statement *s, spad__cost *out) {
    const size_t part = spad__sim_part(sim, s->engine, out->path);
    int64_t need;
    if (out->path >= 0) {
        const spad_path *path = &sim->target->engines[s->engine].paths[out->path];
        if (sim->target->spaces[path->from].off_chip) {
            out->startup = 0;
            out->busy = 0;
            out->shared[0] = out->shared[1] = 0;
            return true;
        }
    }
    if (!spad__mul(sim->in_step, out->need, &need)) return false;
    const int64_t all = spad__sim_capacity(sim, part);
    return need <= all || spad__scale_up(out->busy, need, all, &out->busy);
}

spad_status spad__sim_cost(spad__cost *out, const spad_sim *sim, const spad_walk_event *event,
                           spad_error *error) {
    const spad_kernel *kernel = sim->kernel;
    const spad_statement *s = spad_kernel_get_statement(kernel, (size_t)event->statement);
    const spad_engine *engine = &sim->target->engines[s->engine];
    bool fits;
    *out = (spad__cost){.known = true,
                        .path = -1,
                        .by_kernel = s->cost_kind != SPAD_COST_TARGET,
                        .need = spad__cost_threads(sim, engine, event->agent)};
    switch (s->cost_kind) {
    case SPAD_COST_CYCLES:
        out->unclocked = engine->clock_khz <= 0;
        fits = spad__cycles_to_time(engine, event->cost, &out->busy);
        break;
    case SPAD_COST_NS: fits = spad__mul(event->cost, 1000, &out->busy); break;
    default: fits = target_cost(sim, engine, s, event, out); break;
    }
    fits = fits && kernel_latency(engine, s, out) && (sim->in_step <= 1 || in_step(sim, s, out));
    spad__assert(!fits || (out->busy >= 0 && out->startup >= 0 && out->dependent >= 0));
    if (fits) return SPAD_OK;
    spad__fail(error, SPAD_ERR_OVERFLOW, "operation '%s' takes more than 2^63 picoseconds",
               s->name);
    spad__fact_location(error, spad_kernel_get_file(kernel), s->location.line, s->location.column);
    return SPAD_ERR_OVERFLOW;
}
