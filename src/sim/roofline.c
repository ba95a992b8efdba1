/* SPDX-License-Identifier: Apache-2.0
 *
 * What bounds a kernel. Every engine and path has a roof: the time in which it could do its work
 * without a wait (S. Williams and others, Roofline, 2009, in time instead of rates). The kernel is
 * bounded by the highest roof if it is close to the makespan, otherwise by waiting.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/compare.h"
#include "sim/sim.h"
#include "sim/sim_report.h"
#include "target/target.h"

const char *spad__bound_kind_name(spad__bound_kind kind) {
    static const char *const names[SPAD__BOUND_KINDS] = {[SPAD__BOUND_LATENCY] = "latency",
                                                         [SPAD__BOUND_COPIES] = "copies",
                                                         [SPAD__BOUND_MATRIX] = "matrix",
                                                         [SPAD__BOUND_VECTOR] = "vector"};
    return (unsigned)kind < SPAD__BOUND_KINDS ? names[kind] : "?";
}

/* Matrix engines have a rate of multiply-adds, or write another memory than they read. */
static spad__bound_kind roof_kind(const spad_engine *engine, int64_t path) {
    if (path >= 0 || spad__is_copy_engine(engine)) return SPAD__BOUND_COPIES;
    if (engine->rate_count > 0) {
        return engine->rates[0].work == SPAD_WORK_MAC ? SPAD__BOUND_MATRIX : SPAD__BOUND_VECTOR;
    }
    const bool apart = engine->reads != 0 && (engine->reads & engine->writes) == 0;
    return apart && engine->writes != 0 ? SPAD__BOUND_MATRIX : SPAD__BOUND_VECTOR;
}

static int compare_roofs(const void *left, const void *right) {
    const spad__sim_roof *a = left;
    const spad__sim_roof *b = right;
    int order = spad__compare(b->busy, a->busy);
    if (order == 0) order = spad__compare(a->engine, b->engine);
    if (order == 0) order = spad__compare(a->path, b->path);
    if (order == 0) order = spad__compare(2 * a->memory + a->cache, 2 * b->memory + b->cache);
    return order;
}

static const char *basis_word(unsigned char basis) {
    static const char *const words[SPAD__BASES] = {
        [SPAD_ORIGIN_STATED] = "of the target", [SPAD_ORIGIN_PUBLISHED] = "published",
        [SPAD_ORIGIN_MEASURED] = "measured",    [SPAD_ORIGIN_ESTIMATE] = "estimated",
        [SPAD__BASIS_KERNEL] = "in the kernel", [SPAD__BASIS_ASSUMED] = "assumed"};
    return basis == 0 ? NULL : words[basis - 1];
}

static void add_roof(spad_sim *sim, size_t engine, int64_t path) {
    const size_t part = spad__sim_part(sim, (int64_t)engine, path);
    if (sim->parts[part].operations == 0) return;
    sim->roofs.items[sim->roofs.count++] =
        (spad__sim_roof){.engine = (int64_t)engine,
                         .path = path,
                         .memory = -1,
                         .kind = roof_kind(&sim->target->engines[engine], path),
                         .basis = basis_word(sim->basis[part]),
                         .busy = sim->parts[part].busy};
}

/* The memory of the chip and its cache: counts of a grid. */
static void add_memory_roofs(spad_sim *sim, size_t space) {
    for (size_t i = 0; i < 2; i++) {
        const int64_t busy = sim->parts[sim->first_memory + 2 * space + i].busy;
        if (busy == 0) continue;
        const spad_space *row = &sim->target->spaces[space];
        const spad_figure *figure =
            spad__figure_find(row->figures, row->figure_count, i == 1 ? "cache" : "rate");
        const spad_origin origin = figure == NULL ? SPAD_ORIGIN_STATED : figure->origin;
        sim->roofs.items[sim->roofs.count++] =
            (spad__sim_roof){.engine = -1,
                             .path = -1,
                             .memory = (int64_t)space,
                             .cache = i == 1,
                             .kind = SPAD__BOUND_COPIES,
                             .basis = basis_word((unsigned char)(origin + 1)),
                             .busy = busy};
    }
}

bool spad__find_roofs(spad_sim *sim) {
    if (!spad__array_reserve(&sim->host, &sim->roofs, sim->part_count)) return false;
    for (size_t e = 0; e < sim->target->engine_count; e++) {
        add_roof(sim, e, -1);
        for (size_t p = 0; p < sim->target->engines[e].path_count; p++)
            add_roof(sim, e, (int64_t)p);
    }
    for (size_t s = 0; s < sim->target->space_count; s++) add_memory_roofs(sim, s);
    if (sim->roofs.count > 0) {
        qsort(sim->roofs.items, sim->roofs.count, sizeof *sim->roofs.items, compare_roofs);
    }
    return true;
}

size_t spad__sim_roof_count(const spad_sim *sim) {
    return sim->roofs.count;
}

spad__sim_roof spad__sim_get_roof(const spad_sim *sim, size_t number) {
    if (number < sim->roofs.count) return sim->roofs.items[number];
    return (spad__sim_roof){.engine = -1, .path = -1, .memory = -1};
}

/* In thousandths of the makespan. */
static int64_t roof_share(const spad_sim *sim, int64_t busy) {
    const int64_t whole = sim->totals.makespan;
    if (whole <= 0) return 0;
    return busy <= INT64_MAX / 1000 ? busy * 1000 / whole : busy / (whole / 1000);
}

spad__bound_kind spad__sim_get_bound_kind(const spad_sim *sim) {
    if (sim->roofs.count == 0) return SPAD__BOUND_LATENCY;
    const spad__sim_roof *first = &sim->roofs.items[0];
    return roof_share(sim, first->busy) >= SPAD__BOUND_SHARE ? first->kind : SPAD__BOUND_LATENCY;
}

/* ---- words ------------------------------------------------------------------------- */

void spad__roof_name(const spad_sim *sim, const spad__sim_roof *roof, char *field, size_t size) {
    if (roof->memory >= 0) {
        snprintf(field, size, "%s of %.63s", roof->cache ? "cache" : "memory",
                 sim->target->spaces[roof->memory].name);
        return;
    }
    const spad_engine *engine = &sim->target->engines[roof->engine];
    if (roof->path < 0) {
        snprintf(field, size, "%.63s", engine->name);
        return;
    }
    const spad_path *path = &engine->paths[roof->path];
    snprintf(field, size, "%.63s %.63s to %.63s", engine->name,
             sim->target->spaces[path->from].name, sim->target->spaces[path->to].name);
}

static const char *advice_for(spad__bound_kind kind) {
    switch (kind) {
    case SPAD__BOUND_COPIES: return "fewer bytes would help: larger tiles, data that is kept";
    case SPAD__BOUND_MATRIX:
        return "it is near the rate of its matrix unit; a narrower type is faster";
    case SPAD__BOUND_VECTOR: return "less work per element would help";
    default: return "deeper rings, or more blocks on a unit, would help";
    }
}

const char *spad__bound_advice(const spad_sim *sim) {
    return advice_for(spad__sim_get_bound_kind(sim));
}

void spad__write_roofs(spad__out *out, const spad_sim *sim) {
    const spad__bound_kind kind = spad__sim_get_bound_kind(sim);
    char share[SPAD_TIME_TEXT];
    char name[256];
    if (sim->roofs.count == 0 || sim->totals.makespan <= 0) return;
    if (sim->totals.unit != SPAD_TIME_REAL) return; /* without figures nothing is known */
    spad__roof_name(sim, &sim->roofs.items[0], name, sizeof name);
    spad__share_text(sim->roofs.items[0].busy, sim->totals.makespan, share);
    spad__out_format(out, "bounded    by %s: %s works %s of the time;\n           ",
                     spad__bound_kind_name(kind), name, share);
    if (sim->roofs.count > 1) {
        spad__roof_name(sim, &sim->roofs.items[1], name, sizeof name);
        spad__out_format(out, "next %s, %s;\n           ", name,
                         spad__share_text(sim->roofs.items[1].busy, sim->totals.makespan, share));
    }
    spad__out_format(out, "%s\n", advice_for(kind));
}
