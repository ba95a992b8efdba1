/* SPDX-License-Identifier: Apache-2.0
 *
 * How long an operation takes, in whole picoseconds, rounded up.
 *
 * The kernel's own figure comes first. Otherwise the target's, in three forms:
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
#include "base/assert.h"
#include "base/checked.h"
#include "sim/sim.h"

bool spad__is_copy_engine(const spad_engine *engine) {
    return engine->bytes_per_us > 0;
}

/* ceil(value x mul / div), all at least 0 and div at least 1. */
static bool scale_up(int64_t value, int64_t mul, int64_t div, int64_t *out) {
    spad__assert(value >= 0 && mul >= 0 && div >= 1);
    int64_t whole;
    int64_t rest;
    if (!spad__mul(value / div, mul, &whole) || !spad__mul(value % div, mul, &rest)) return false;
    return spad__add(whole, rest / div + (rest % div != 0), out);
}

static bool cycles_to_time(const spad_engine *engine, int64_t cycles, int64_t *out) {
    if (engine->clock_khz <= 0) return spad__mul(cycles, SPAD_SIM_CYCLE, out);
    return scale_up(cycles, INT64_C(1000000000), engine->clock_khz, out);
}

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
        if (lanes > 1 && scale_up(a->rect.lanes, engine->count, lanes, &spread)) {
            units = spad__min(units, spread);
        }
    }
    const int64_t most = spad__max(bytes[0], bytes[1]);
    int64_t share;
    return scale_up(most, 1, spad__max(units, 1), &share) &&
           scale_up(share, INT64_C(1000000), engine->bytes_per_us, &out->busy) &&
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
        if (!scale_up(in_lane, 8, own < 32 ? own : 32, &count) ||
            !spad__mul(count, lanes, &count)) {
            return false;
        }
        elements = spad__max(elements, count);
    }
    int64_t cycles;
    if (!scale_up(elements, 1, width_for(engine, bits), &cycles)) return false;
    *out = spad__max(cycles, engine->min_cycles);
    return true;
}

static bool target_cost(const spad_kernel *kernel, const spad_engine *engine,
                        const spad_walk_event *event, spad__cost *out) {
    if (spad__is_copy_engine(engine)) return transfer_time(kernel, engine, event, out);
    if (engine->clock_khz <= 0 || engine->width <= 0) {
        out->known = false;
        out->busy = SPAD_SIM_UNKNOWN;
        return true;
    }
    int64_t cycles;
    return compute_cycles(kernel, engine, event, &cycles) &&
           cycles_to_time(engine, cycles, &out->busy) &&
           cycles_to_time(engine, engine->fixed_cycles, &out->dependent);
}

spad_status spad__sim_cost(spad__cost *out, const spad_kernel *kernel, const spad_walk_event *event,
                           spad_error *error) {
    const spad_statement *s = spad_kernel_get_statement(kernel, (size_t)event->statement);
    const spad_engine *engine = &spad_kernel_get_target(kernel)->engines[s->engine];
    bool fits;
    *out = (spad__cost){.known = true};
    switch (s->cost_kind) {
    case SPAD_COST_CYCLES:
        out->unclocked = engine->clock_khz <= 0;
        fits = cycles_to_time(engine, event->cost, &out->busy);
        break;
    case SPAD_COST_NS: fits = spad__mul(event->cost, 1000, &out->busy); break;
    default: fits = target_cost(kernel, engine, event, out); break;
    }
    spad__assert(!fits || (out->busy >= 0 && out->startup >= 0 && out->dependent >= 0));
    if (fits) return SPAD_OK;
    spad__fail(error, SPAD_ERR_OVERFLOW, "operation '%s' takes more than 2^63 picoseconds",
               s->name);
    spad__fact_location(error, spad_kernel_get_file(kernel), s->location.line, s->location.column);
    return SPAD_ERR_OVERFLOW;
}
