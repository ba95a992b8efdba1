/* SPDX-License-Identifier: Apache-2.0
 *
 * Durations from the rates of an engine: multiply-adds, elements, bytes on a path.
 *
 *   macs      A, B and the accumulator C of m x k, k x n and m x n elements: m k n, the root of
 *             the product of the three sizes. A and B are the two largest operands that are read,
 *             C is the largest that is written. Both are multiplied in the narrower of their
 *             types: what is wider is converted first.
 *   elements  those of the largest operand, per kind of work. Each kind has a pipe of its own, and
 *             they work at the same time: the longest one counts, but no more instructions begin
 *             in a cycle than the engine has threads. An agent of fewer threads than the engine
 *             serves at a time takes longer, and leaves the rest of it to others. An operation
 *             without accesses states the work of all its threads.
 *   paths     bytes at the source (of registers: at the destination), at the rate of the path, or
 *             at the share of the chip's rate that is left for one of the units that are at work,
 *             if that is less. Of several paths, the one that takes longest.
 */
#include <string.h>

#include "base/assert.h"
#include "base/checked.h"
#include "kernel/place.h"
#include "sim/cost.h"
#include "target/target.h"

/* Of several figures, the one with the least certain origin counts. */
static void cost_note(spad__cost *out, const spad_figure *figure) {
    if (figure != NULL && figure->origin > out->origin) out->origin = figure->origin;
}

void spad__cost_note_field(spad__cost *out, const spad_engine *engine, const char *field) {
    cost_note(out, spad__figure_find(engine->figures, engine->figure_count, field));
}

bool spad__cycles_to_time(const spad_engine *engine, int64_t cycles, int64_t *out) {
    if (engine->clock_khz <= 0) return spad__mul(cycles, SPAD_SIM_CYCLE, out);
    return spad__scale_up(cycles, INT64_C(1000000000), engine->clock_khz, out);
}

/* ---- what an operation touches ----------------------------------------------------- */

static const spad_kernel_tensor *accessed_tensor(const spad_sim *sim, const spad_walk_access *a) {
    return spad_kernel_get_tensor(sim->kernel, (size_t)a->tensor);
}

/* The row of instance 0 of the space that is accessed. */
static size_t first_instance(const spad_sim *sim, const spad_walk_access *a) {
    return spad__first_instance(sim->target, accessed_tensor(sim, a)->space);
}

static int64_t access_bytes(const spad_walk_access *a) {
    return a->rect.lanes * a->rect.bytes * a->runs;
}

static bool elements_of(const spad_sim *sim, const spad_walk_access *a, int64_t *out) {
    return spad__scale_up(access_bytes(a), 8,
                          spad__max(spad_dtype_bits(accessed_tensor(sim, a)->dtype), 1), out);
}

/* ---- multiply-adds ----------------------------------------------------------------- */

/* The operands of a matrix product: elements, and the type of the factors. */
typedef struct matrix_product {
    int64_t a;
    int64_t b; /* a >= b; 0: none exists */
    int64_t c;
    spad_dtype dtype;
} matrix_product;

static bool read_product(const spad_sim *sim, const spad_walk_event *event, matrix_product *p) {
    spad_dtype types[2] = {SPAD_DTYPE_NONE, SPAD_DTYPE_NONE};
    *p = (matrix_product){0};
    for (size_t i = 0; i < event->access_count; i++) {
        const spad_walk_access *a = &event->accesses[i];
        const spad_dtype dtype = accessed_tensor(sim, a)->dtype;
        int64_t count;
        if (!elements_of(sim, a, &count)) return false;
        if (a->kind != SPAD_ACCESS_READ) {
            p->c = spad__max(p->c, count);
        } else if (count > p->a) {
            p->b = p->a;
            types[1] = types[0];
            p->a = count;
            types[0] = dtype;
        } else if (count > p->b) {
            p->b = count;
            types[1] = dtype;
        }
    }
    p->dtype = spad_dtype_bits(types[0]) <= spad_dtype_bits(types[1]) ? types[0] : types[1];
    return true;
}

/* The largest r with r x r <= value. */
static int64_t root_of(int64_t value) {
    int64_t root = 0;
    for (int64_t bit = INT64_C(1) << 31; bit > 0; bit >>= 1) {
        const int64_t next = root + bit;
        if (next <= value / next) root = next;
    }
    return root;
}

/* The root of a x b x c, to about nine digits where the product exceeds 64 bits. */
static int64_t root_of_product(int64_t a, int64_t b, int64_t c) {
    int64_t all;
    int64_t factor = 1;
    int64_t sizes[3] = {a, b, c};
    while (!spad__mul(sizes[0], sizes[1], &all) || !spad__mul(all, sizes[2], &all)) {
        int largest = 0;
        for (int i = 1; i < 3; i++) {
            if (sizes[i] > sizes[largest]) largest = i;
        }
        sizes[largest] /= 4;
        factor *= 2;
    }
    const int64_t root = root_of(all);
    return root > INT64_MAX / factor ? INT64_MAX : root * factor;
}

/* The rate for a type, otherwise for another one of the same size; NULL: none exists. */
static const spad_rate *find_mac_rate(const spad_engine *engine, spad_dtype dtype) {
    const spad_rate *same_size = NULL;
    for (size_t i = 0; i < engine->rate_count; i++) {
        const spad_rate *rate = &engine->rates[i];
        if (rate->work != SPAD_WORK_MAC) continue;
        if (rate->dtype == dtype) return rate;
        if (same_size == NULL && spad_dtype_bits(rate->dtype) == spad_dtype_bits(dtype)) {
            same_size = rate;
        }
    }
    return same_size;
}

/* Cycles of the whole engine; *known is false where the target has no figure. */
static bool mac_cycles(const spad_sim *sim, const spad_engine *engine, const spad_walk_event *event,
                       spad__cost *out, int64_t *cycles) {
    matrix_product p;
    if (!read_product(sim, event, &p)) return false;
    const spad_rate *rate = p.b > 0 && p.c > 0 ? find_mac_rate(engine, p.dtype) : NULL;
    out->known = rate != NULL;
    if (rate == NULL) return true;
    cost_note(out, &rate->figure);
    return spad__scale_up(root_of_product(p.a, p.b, p.c), 1, rate->per_cycle, cycles);
}

/* ---- elements ---------------------------------------------------------------------- */

static const spad_rate *find_element_rate(const spad_engine *engine, spad_work work) {
    for (size_t i = 0; i < engine->rate_count; i++) {
        if (engine->rates[i].work == work) return &engine->rates[i];
    }
    return NULL;
}

/* The work per element: as the operation says (true), or by its name, or one addition, which is an
 * estimate. */
static bool find_work(const spad_statement *s, int64_t work[SPAD_WORKS], spad__cost *out) {
    bool given = false;
    for (int i = 0; i < SPAD_WORKS; i++) {
        work[i] = s->work[i].value;
        given = given || work[i] > 0;
    }
    if (given) return true;
    for (int i = SPAD_WORK_FMA; i < SPAD_WORKS && !given; i++) {
        given = strcmp(s->name, spad__work_name((spad_work)i)) == 0;
        work[i] = given;
    }
    if (given) return false;
    work[SPAD_WORK_FMA] = 1;
    out->origin = SPAD_ORIGIN_ESTIMATE;
    return false;
}

static bool element_cycles(const spad_sim *sim, const spad_engine *engine, const spad_statement *s,
                           const spad_walk_event *event, spad__cost *out, int64_t *cycles) {
    int64_t work[SPAD_WORKS];
    int64_t elements = 0, instructions = 0, issued = 0;
    const bool given = find_work(s, work, out);
    if (event->access_count == 0 && given) { /* its work is that of all threads */
        elements = 1;
        out->origin = SPAD_ORIGIN_ESTIMATE;
    }
    out->known = event->access_count > 0 || given;
    for (size_t i = 0; i < event->access_count; i++) {
        int64_t count;
        if (!elements_of(sim, &event->accesses[i], &count)) return false;
        elements = spad__max(elements, count);
    }
    *cycles = 0;
    for (int i = SPAD_WORK_FMA; i < SPAD_WORKS && out->known; i++) {
        int64_t some;
        const spad_rate *rate = find_element_rate(engine, (spad_work)i);
        if (work[i] == 0) continue;
        out->known = rate != NULL;
        if (rate == NULL) break;
        cost_note(out, &rate->figure);
        if (!spad__scale_up(elements, work[i], rate->per_cycle, &some)) return false;
        *cycles = spad__max(*cycles, some);
        if (!spad__add(instructions, work[i], &instructions)) return false;
    }
    if (engine->threads == 0) return true;
    if (!spad__scale_up(elements, instructions, engine->threads, &issued)) return false;
    *cycles = spad__max(*cycles, issued);
    return true;
}

/* ---- the engine itself ------------------------------------------------------------- */

bool spad__is_copy_engine(const spad_engine *engine) {
    if (engine->bytes_per_us > 0) return true;
    return engine->path_count > 0 && engine->rate_count == 0 && engine->width == 0;
}

int64_t spad__sim_capacity(const spad_sim *sim, size_t part) {
    if (part >= sim->target->engine_count) return 1;
    const spad_engine *engine = &sim->target->engines[part];
    if (engine->threads > 0) return engine->threads;
    return spad__is_copy_engine(engine) ? 1 : engine->count;
}

/* Threads of the agent that an engine serves; all that it can, if they are not stated. */
int64_t spad__cost_threads(const spad_sim *sim, const spad_engine *engine, int64_t agent) {
    if (engine->threads == 0) return 1;
    const int64_t threads = spad_kernel_get_agent(sim->kernel, (size_t)agent)->threads.value;
    return threads > 0 ? spad__min(threads, engine->threads) : engine->threads;
}

bool spad__cost_rates(const spad_sim *sim, const spad_engine *engine, const spad_statement *s,
                      const spad_walk_event *event, spad__cost *out) {
    int64_t cycles = 0;
    const bool macs = engine->rates[0].work == SPAD_WORK_MAC;
    const bool fits = macs ? mac_cycles(sim, engine, event, out, &cycles)
                           : element_cycles(sim, engine, s, event, out, &cycles);
    if (!fits || !out->known) return fits;
    if (engine->threads > 0 && !spad__scale_up(cycles, engine->threads, out->need, &cycles)) {
        return false;
    }
    if (cycles < engine->min_cycles) {
        cycles = engine->min_cycles;
        spad__cost_note_field(out, engine, "shortest");
    }
    spad__cost_note_field(out, engine, "clock");
    out->unclocked = engine->clock_khz <= 0;
    return spad__cycles_to_time(engine, cycles, &out->busy) &&
           spad__cycles_to_time(engine, engine->fixed_cycles, &out->dependent);
}

bool spad__cost_latency(const spad_engine *engine, spad__cost *out) {
    if (engine->latency_ns > 0 || engine->latency_cycles > 0) {
        spad__cost_note_field(out, engine, "latency");
    }
    return engine->latency_ns > 0
               ? spad__mul(engine->latency_ns, 1000, &out->latency)
               : spad__cycles_to_time(engine, engine->latency_cycles, &out->latency);
}

/* ---- paths ------------------------------------------------------------------------- */

/* Bytes that an operation moves along a path; `fresh`: that no cache has, of a tile that other
 * blocks use as well its part; `asked`: that the cache
 * is asked for, where requests of neighbours are merged. 0: another path. */
typedef struct cargo {
    int64_t bytes;
    int64_t fresh;
    int64_t asked;
    bool cached; /* all that is read is in the cache */
} cargo;

/* Of `cached_of` tiles in a row the last ones are in the cache: the first brought them. */
static bool is_cached(const spad_kernel_tensor *tensor, int64_t tile) {
    const int64_t row = tensor->cached_of.value;
    return row > 0 && tile % row >= row - spad__min(tensor->cached.value, row);
}

/* Is the path the one for the pieces in which the tensor is accessed: that for the smallest pieces
 * that are no smaller, otherwise the one for all? */
static bool is_for_pieces(const spad_engine *engine, const spad_path *path, int64_t pieces) {
    const spad_path *best = NULL;
    for (size_t i = 0; i < engine->path_count; i++) {
        const spad_path *other = &engine->paths[i];
        const bool fits = other->pieces == 0 || (pieces > 0 && other->pieces >= pieces);
        if (other->from != path->from || other->to != path->to || !fits) continue;
        if (best == NULL || best->pieces == 0 ||
            (other->pieces > 0 && other->pieces < best->pieces)) {
            best = other;
        }
    }
    return best == path;
}

static bool weigh(const spad_sim *sim, const spad_engine *engine, const spad_walk_event *event,
                  const spad_path *path, cargo *out) {
    int64_t bytes[2] = {0, 0}; /* read at the source, written at the destination */
    int64_t fresh[2] = {0, 0};
    int64_t asked[2] = {0, 0};
    int64_t pieces = 0; /* the smallest */
    for (size_t i = 0; i < event->access_count; i++) {
        const spad_walk_access *a = &event->accesses[i];
        const size_t space = first_instance(sim, a);
        const spad_kernel_tensor *tensor = accessed_tensor(sim, a);
        const int64_t reuse = spad__max(tensor->reuse.value, 1);
        const int64_t merged = spad__min(spad__max(tensor->near.value, 1),
                                         spad__max(sim->target->spaces[space].cache_merges, 1));
        const bool ends[2] = {(a->kind & SPAD_ACCESS_READ) != 0 && space == path->from,
                              (a->kind & SPAD_ACCESS_WRITE) != 0 && space == path->to};
        for (int end = 0; end < 2; end++) {
            if (!ends[end]) continue;
            if (!spad__add(bytes[end], access_bytes(a), &bytes[end])) return false;
            if (end == 1 || !is_cached(tensor, a->tile)) {
                fresh[end] += access_bytes(a) / reuse + (access_bytes(a) % reuse != 0);
            }
            if (pieces == 0 || (tensor->pieces.value > 0 && tensor->pieces.value < pieces)) {
                pieces = tensor->pieces.value;
            }
            asked[end] += access_bytes(a) / merged + (access_bytes(a) % merged != 0);
        }
    }
    *out = (cargo){0};
    if (bytes[0] == 0 || bytes[1] == 0 || !is_for_pieces(engine, path, pieces)) return true;
    const bool from_registers = sim->target->spaces[path->from].thread_bytes > 0;
    const bool to_memory = sim->target->spaces[path->to].off_chip;
    out->bytes = bytes[from_registers];
    out->fresh = fresh[to_memory];
    out->asked = asked[to_memory];
    out->cached = !to_memory && fresh[0] == 0;
    return true;
}

static bool path_time(const spad_engine *engine, const spad_path *path, int64_t bytes,
                      int64_t *out) {
    if (path->bytes_per_us > 0) {
        return spad__scale_up(bytes, INT64_C(1000000), path->bytes_per_us, out);
    }
    int64_t cycles; /* thousandths */
    return spad__scale_up(bytes, INT64_C(1000000), path->bytes_per_kilocycle, &cycles) &&
           spad__cycles_to_time(engine, cycles, out) &&
           (*out = *out / 1000 + (*out % 1000 != 0), true);
}

/* The time of bytes at one unit's share of the rate of the chip. */
static bool shared_time(const spad_sim *sim, int64_t bytes, int64_t bytes_per_us, int64_t *out) {
    int64_t all;
    *out = 0;
    if (bytes_per_us == 0 || sim->active_units == 0) return true;
    return spad__mul(bytes, sim->active_units, &all) &&
           spad__scale_up(all, INT64_C(1000000), bytes_per_us, out);
}

/* How long the memory of the chip takes for it, in a grid. */
static bool memory_time(const spad_sim *sim, const spad_path *path, const cargo *c, spad__cost *out,
                        int64_t *time) {
    const spad_space *from = &sim->target->spaces[path->from];
    const spad_space *memory = from->off_chip ? from : &sim->target->spaces[path->to];
    *time = 0;
    if (!memory->off_chip) return true;
    out->memory = from->off_chip ? path->from : path->to;
    const bool writes = !from->off_chip && memory->write_bytes_per_us > 0;
    const int64_t rate = writes ? memory->write_bytes_per_us : memory->bytes_per_us;
    if (!shared_time(sim, c->fresh, rate, &out->shared[0]) ||
        !shared_time(sim, c->asked, memory->cache_bytes_per_us, &out->shared[1])) {
        return false;
    }
    *time = spad__max(out->shared[0], out->shared[1]);
    if (*time > out->busy) {
        const bool is_cache = out->shared[1] > out->shared[0];
        cost_note(out, spad__figure_find(memory->figures, memory->figure_count,
                                         is_cache ? "cache"
                                         : writes ? "written"
                                                  : "rate"));
    }
    return true;
}

/* Before its time on the path begins: so that it takes its latency and its own time in all, and
 * what it waits for the transfers of other units, however much of the path it occupies. */
static bool find_startup(const spad_sim *sim, const spad_engine *engine, const spad_path *path,
                         int64_t alone, int64_t memory, bool cached, int64_t *out) {
    const spad_space *from = &sim->target->spaces[path->from];
    int64_t latency;
    const int64_t hit_ns = path->hit_ns > 0 ? path->hit_ns : from->cache_latency_ns;
    const bool hits = cached && hit_ns > 0;
    const int64_t ns = hits ? hit_ns : path->latency_ns;
    if (ns > 0 ? !spad__mul(ns, 1000, &latency)
               : !spad__cycles_to_time(engine, path->latency_cycles, &latency)) {
        return false;
    }
    int64_t waiting = 0;
    if (from->off_chip && memory > 0 && !hits) {
        int64_t own; /* of its time at the unit's share */
        if (!spad__scale_up(memory, from->queue_permille, 1000, &own) ||
            !spad__scale_up(own, sim->load, 1000 - sim->load, &waiting)) {
            return false;
        }
    }
    int64_t all;
    if (!spad__add(latency, alone, &all) || !spad__add(all, waiting, &all)) return false;
    *out = spad__max(all - spad__max(alone, memory), 0);
    return true;
}

static bool try_path(const spad_sim *sim, const spad_engine *engine, size_t number,
                     const spad_walk_event *event, spad__cost *best) {
    const spad_path *path = &engine->paths[number];
    cargo c;
    spad__cost cost = {.known = true, .path = (int64_t)number, .need = 1};
    int64_t memory;
    if (!weigh(sim, engine, event, path, &c)) return false;
    if (c.bytes == 0) return true;
    int64_t alone;
    if (!path_time(engine, path, c.bytes, &alone) || !memory_time(sim, path, &c, &cost, &memory)) {
        return false;
    }
    cost.busy = spad__max(alone, memory);
    if (best->path >= 0 && best->busy >= cost.busy) return true;
    cost_note(&cost, &path->figure);
    const bool in_cycles = path->bytes_per_kilocycle > 0 || path->latency_cycles > 0;
    if (in_cycles) spad__cost_note_field(&cost, engine, "clock");
    cost.unclocked = in_cycles && engine->clock_khz <= 0;
    *best = cost;
    return find_startup(sim, engine, path, alone, memory, c.cached, &best->startup);
}

bool spad__cost_path(const spad_sim *sim, const spad_engine *engine, const spad_walk_event *event,
                     spad__cost *out) {
    for (size_t i = 0; i < engine->path_count; i++) {
        if (!try_path(sim, engine, i, event, out)) return false;
    }
    return true;
}
