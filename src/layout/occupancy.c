/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks of a unit, and registers of threads: one pass over the tensors for each agent. Sums that
 * exceed 64 bits stay at the largest number.
 *
 * Registers are given to a warp in steps (CUDA programming guide, occupancy calculator: 256), so
 * the registers of a thread are rounded up to a multiple of step / threads of a warp.
 */
#include "layout/occupancy.h"

#include "base/assert.h"
#include "base/checked.h"
#include "kernel/kernel.h"

enum { REGISTER_BYTES = 4 };

const char *spad__occupancy_limit_name(spad__occupancy_limit limit) {
    static const char *const names[SPAD__OCCUPANCY_LIMITS] = {"unknown", "groups", "space",
                                                              "registers", "threads"};
    return (unsigned)limit < SPAD__OCCUPANCY_LIMITS ? names[limit] : "?";
}

/* Adds a product; INT64_MAX if it does not fit. */
static void add_bytes(int64_t *sum, int64_t a, int64_t b) {
    int64_t product;
    if (!spad__mul(a, b, &product) || !spad__add(*sum, product, sum)) *sum = INT64_MAX;
}

/* ---- registers --------------------------------------------------------------------- */

/* True if an operation of the agent uses the storage of the tensor. */
static bool agent_uses(const spad_kernel *k, size_t agent, int64_t home) {
    for (size_t i = 0; i < k->statements.count; i++) {
        const spad_statement *s = &k->statements.items[i];
        if (s->kind != SPAD_STATEMENT_OPERATION || s->agent != (int64_t)agent) continue;
        for (size_t a = s->first_access; a < s->first_access + s->access_count; a++) {
            if (k->tensors.items[k->accesses.items[a].tensor].home == home) return true;
        }
    }
    return false;
}

static int64_t register_bytes(const spad_kernel *k, size_t agent) {
    int64_t bytes = 0;
    for (size_t i = 0; i < k->tensors.count; i++) {
        const spad_kernel_tensor *t = &k->tensors.items[i];
        if (t->home != (int64_t)i || k->target->spaces[t->space].thread_bytes == 0) continue;
        if (!agent_uses(k, agent, (int64_t)i)) continue;
        /* of several slots an agent may use only its own: one is what it has at least */
        add_bytes(&bytes, t->tile_bytes, t->tile_lanes);
    }
    return bytes;
}

/* Most registers of a thread on the chip; 0: not known. */
static int64_t most_registers(const spad_target *target) {
    for (size_t i = 0; i < target->space_count; i++) {
        const int64_t bytes = target->spaces[i].thread_bytes;
        if (bytes > 0) return bytes / REGISTER_BYTES;
    }
    return 0;
}

spad__agent_registers spad__occupancy_get_agent(const spad_kernel *kernel, size_t agent) {
    spad__agent_registers out = {0};
    if (agent >= kernel->agents.count) return out;
    const spad_kernel_agent *row = &kernel->agents.items[agent];
    out.bytes = register_bytes(kernel, agent);
    out.threads = row->threads.value;
    const int64_t threads = out.threads > 0 ? out.threads : SPAD__OCCUPANCY_THREADS_ASSUMED;
    const int64_t words = out.bytes / REGISTER_BYTES + (out.bytes % REGISTER_BYTES != 0);
    out.needed = words / threads + (words % threads != 0);
    out.most = most_registers(kernel->target);
    if (row->registers.value > 0) out.most = row->registers.value;
    return out;
}

/* ---- blocks ------------------------------------------------------------------------ */

/* Bytes of a lane of a space that a block takes. */
static int64_t bytes_of_block(const spad_kernel *k, const spad_layout *layout, size_t space) {
    int64_t bytes = 0;
    for (size_t i = 0; layout != NULL && i < spad_layout_space_count(layout); i++) {
        const spad_layout_space *row = spad_layout_get_space(layout, i);
        if (row->space == space) return row->height;
    }
    for (size_t i = 0; layout == NULL && i < k->tensors.count; i++) {
        const spad_kernel_tensor *t = &k->tensors.items[i];
        if (t->home != (int64_t)i || t->space != space) continue;
        add_bytes(&bytes, t->slots, t->tile_bytes);
    }
    return bytes;
}

/* Keeps the smaller number of blocks. */
static void limit_blocks(spad__occupancy *o, spad__occupancy_limit limit, int64_t each,
                         int64_t available) {
    spad__assert(each > 0);
    const int64_t blocks = available / each;
    if (blocks >= o->blocks) return;
    o->blocks = blocks;
    o->limit = limit;
    o->space = SPAD_NO_SPACE;
    o->each = each;
    o->available = available;
}

static void limit_by_spaces(spad__occupancy *o, const spad_kernel *k, const spad_layout *layout) {
    for (size_t i = 0; i < k->target->space_count; i++) {
        const spad_space *space = &k->target->spaces[i];
        if (space->off_chip || space->thread_bytes > 0 || space->instance > 0) continue;
        const int64_t bytes = bytes_of_block(k, layout, i);
        int64_t each;
        if (bytes == 0 || space->bytes == SPAD_UNBOUNDED) continue;
        if (!spad__add(bytes, space->reserved, &each)) each = INT64_MAX;
        const int64_t before = o->blocks;
        limit_blocks(o, SPAD__OCCUPANCY_SPACE, each, space->bytes);
        if (o->blocks < before) o->space = i;
    }
}

typedef struct thread_demand {
    int64_t threads;
    int64_t registers; /* as they are given to warps */
} thread_demand;

/* Adds the threads and registers of an agent. False: it does not state its threads. */
static bool add_threads(thread_demand *sum, const spad_kernel *k, size_t agent) {
    const int64_t warp = spad__max(k->target->limits.warp, 1);
    const int64_t step = spad__max(k->target->limits.register_step / warp, 1);
    const spad__agent_registers a = spad__occupancy_get_agent(k, agent);
    const int64_t stated = k->agents.items[agent].registers.value;
    int64_t each = spad__min(spad__max(stated, a.needed), INT64_MAX / 2);
    if (stated == 0 && a.most > 0) each = spad__min(each, a.most); /* the rest is spilled */
    int64_t threads;                                               /* of whole warps */
    if (!spad__align_up(a.threads, warp, &threads)) threads = INT64_MAX;
    add_bytes(&sum->threads, a.threads, 1);
    add_bytes(&sum->registers, threads, (each / step + (each % step != 0)) * step);
    return a.threads > 0;
}

/* Those of one block of a cluster: each is on an SM of its own. All 0 if one agent does not state
 * its threads. */
static thread_demand demand_of_agents(const spad_kernel *k) {
    const int64_t blocks = spad__kernel_get_cluster(k);
    thread_demand sum = {0};
    for (size_t i = 1; i < k->agents.count; i++) {
        if (!add_threads(&sum, k, i)) return (thread_demand){0};
    }
    sum.threads = sum.threads / blocks + (sum.threads % blocks != 0);
    sum.registers = sum.registers / blocks + (sum.registers % blocks != 0);
    return sum;
}

/* The agents are threads of the same block as the main program, which waits for them: the larger
 * demand counts. */
static void count_threads(spad__occupancy *o, const spad_kernel *k) {
    const thread_demand agents = demand_of_agents(k);
    thread_demand program = {0};
    if (!add_threads(&program, k, 0)) program = (thread_demand){0};
    o->threads = spad__max(program.threads, agents.threads);
    o->registers = spad__max(program.registers, agents.registers);
}

spad__occupancy spad__occupancy_get(const spad_kernel *kernel, const spad_layout *layout) {
    const spad_target *target = kernel->target;
    spad__occupancy o = {.space = SPAD_NO_SPACE};
    count_threads(&o, kernel);
    if (target->max_groups == 0) return o;
    o.blocks = target->max_groups;
    o.limit = SPAD__OCCUPANCY_GROUPS;
    o.each = 1;
    o.available = target->max_groups;
    limit_by_spaces(&o, kernel, layout);
    if (target->limits.unit_threads > 0 && o.threads > 0) {
        limit_blocks(&o, SPAD__OCCUPANCY_THREADS, o.threads, target->limits.unit_threads);
    }
    if (target->limits.registers > 0 && o.registers > 0) {
        limit_blocks(&o, SPAD__OCCUPANCY_REGISTERS, o.registers, target->limits.registers);
    }
    return o;
}

/* ---- words ------------------------------------------------------------------------- */

static const char *what_limits(const spad_target *target, const spad__occupancy *o) {
    switch (o->limit) {
    case SPAD__OCCUPANCY_SPACE: return target->spaces[o->space].name;
    case SPAD__OCCUPANCY_REGISTERS: return "registers";
    case SPAD__OCCUPANCY_THREADS: return "threads";
    default: return "blocks";
    }
}

/* "occupancy: 2 blocks on a unit, limited by shared: 99328 of 167936 B each" */
static void write_blocks(spad__out *out, const spad_target *target, const spad__occupancy *o) {
    if (o->blocks == 0) {
        spad__out_format(out, "occupancy: no block fits a unit: %s, %s of %s\n",
                         what_limits(target, o), spad__grouped(o->each).text,
                         spad__grouped(o->available).text);
        return;
    }
    spad__out_format(
        out, "occupancy: %s block%s on a unit, limited by %s: ", spad__grouped(o->blocks).text,
        o->blocks == 1 ? "" : "s", what_limits(target, o));
    if (o->limit == SPAD__OCCUPANCY_GROUPS) {
        spad__out_format(out, "a unit has at most %s\n", spad__grouped(o->available).text);
        return;
    }
    spad__out_format(out, "%s%s each of %s\n", spad__grouped(o->each).text,
                     o->limit == SPAD__OCCUPANCY_SPACE ? " B" : "",
                     spad__grouped(o->available).text);
}

/* "registers: consumer takes 128 of the 255 of each of 128 threads" */
static void write_registers(spad__out *out, const spad_kernel *k, size_t agent) {
    const spad__agent_registers a = spad__occupancy_get_agent(k, agent);
    if (a.bytes == 0 || a.most == 0) return;
    const bool stated = a.threads > 0;
    const long long threads = stated ? a.threads : SPAD__OCCUPANCY_THREADS_ASSUMED;
    spad__out_string(out, "registers: ");
    spad__out_one_line(out, k->agents.items[agent].name);
    if (a.needed > a.most) {
        spad__out_format(out, " would need %s in each of %lld threads: at most %s",
                         spad__grouped(a.needed).text, threads, spad__grouped(a.most).text);
    } else {
        spad__out_format(out, " takes %s of the %s in each of %lld threads",
                         spad__grouped(a.needed).text, spad__grouped(a.most).text, threads);
    }
    spad__out_string(out, stated ? "\n" : " (threads are not stated)\n");
}

spad_status spad_occupancy_write_text(const spad_kernel *kernel, const spad_layout *layout,
                                      const spad_sink *sink, spad_error *error) {
    spad__out out;
    const spad__occupancy o = spad__occupancy_get(kernel, layout);
    spad__out_start_text(&out, sink);
    if (o.limit != SPAD__OCCUPANCY_UNKNOWN) {
        write_blocks(&out, kernel->target, &o);
        for (size_t i = 0; i < kernel->agents.count; i++) write_registers(&out, kernel, i);
    }
    return spad__out_finish(&out, error);
}

void spad__json_occupancy(spad__json *json, const spad_kernel *kernel, const spad_layout *layout) {
    const spad__occupancy o = spad__occupancy_get(kernel, layout);
    if (o.limit == SPAD__OCCUPANCY_UNKNOWN) {
        spad__json_string(json, NULL);
        return;
    }
    spad__json_open(json, '{');
    spad__json_key_int(json, "blocks", o.blocks);
    spad__json_key_string(json, "limit", spad__occupancy_limit_name(o.limit));
    spad__json_key_string(json, "space",
                          o.space != SPAD_NO_SPACE ? kernel->target->spaces[o.space].name : NULL);
    spad__json_key_int(json, "each", o.each);
    spad__json_key_int(json, "available", o.available);
    spad__json_key_int(json, "threads", o.threads);
    spad__json_key_int(json, "registers", o.registers);
    spad__json_key_open(json, "agents", '[');
    for (size_t i = 0; i < kernel->agents.count; i++) {
        const spad__agent_registers a = spad__occupancy_get_agent(kernel, i);
        if (a.bytes == 0) continue;
        spad__json_open(json, '{');
        spad__json_key_string(json, "agent", kernel->agents.items[i].name);
        spad__json_key_int(json, "bytes", a.bytes);
        spad__json_key_int(json, "threads", a.threads);
        spad__json_key_int(json, "needed", a.needed);
        spad__json_key_int(json, "most", a.most);
        spad__json_close(json, '}');
    }
    spad__json_close(json, ']');
    spad__json_close(json, '}');
}

spad_status spad_occupancy_write_json(const spad_kernel *kernel, const spad_layout *layout,
                                      const spad_sink *sink, spad_error *error) {
    spad__out out;
    spad__json json;
    spad__out_start(&out, sink);
    spad__json_start(&json, &out);
    spad__json_occupancy(&json, kernel, layout);
    spad__json_end(&json);
    return spad__out_finish(&out, error);
}
