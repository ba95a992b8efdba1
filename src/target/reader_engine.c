/* SPDX-License-Identifier: Apache-2.0
 *
 * Engines of a target file: what they reach, and their speed.
 */
#include <string.h>

#include "target/target_reader.h"

/* "256", "512 at 16 bit", "512 at 8 bit": one of each. */
static bool read_width(spad__target_reader *r) {
    int64_t width;
    int64_t bits = 32;
    spad__span span;
    spad__span bits_span;
    if (!spad__parser_quantity(&r->parser, &spad__measure_count, &width, &span)) return false;
    if (width < 1) {
        SPAD__TARGET_ERROR(r, span, "'width' must be at least 1");
        return false;
    }
    if (spad__parser_accept_word(&r->parser, "at")) {
        if (!spad__parser_quantity(&r->parser, &spad__measure_count, &bits, &bits_span))
            return false;
        if (!spad__parser_expect_word(&r->parser, "bit")) return false;
        if (bits != 32 && bits != 16 && bits != 8) {
            SPAD__TARGET_ERROR(r, bits_span, "widths are given at 32, 16 or 8 bit");
            return false;
        }
    }
    int64_t *slot = bits == 32   ? &r->engine.width
                    : bits == 16 ? &r->engine.width_16bit
                                 : &r->engine.width_8bit;
    uint64_t *seen = &r->seen_widths;
    if ((*seen & (uint64_t)bits) != 0) {
        SPAD__TARGET_ERROR(r, span, "'width' at %d bit is given twice", (int)bits);
        return false;
    }
    *seen |= (uint64_t)bits;
    *slot = width;
    return true;
}

bool spad__target_read_space_set(spad__target_reader *r, uint64_t *set) {
    do {
        size_t space;
        if (!spad__target_read_space_name(r, &space)) return false;
        *set |= UINT64_C(1) << space;
    } while (spad__target_next_in_list(r));
    return true;
}

static bool read_reads(spad__target_reader *r) {
    r->engine.reads = 0;
    return spad__target_read_space_set(r, &r->engine.reads);
}

static bool read_writes(spad__target_reader *r) {
    r->engine.writes = 0;
    return spad__target_read_space_set(r, &r->engine.writes);
}

#define ENGINE_NUMBER(word, unit, member, at_least)                                                \
    {                                                                                              \
        .name = (word), .measure = &spad__measure_##unit, .offset = offsetof(spad_engine, member), \
        .least = (at_least)                                                                        \
    }

static const spad__target_field engine_fields[] = {
    ENGINE_NUMBER("count", count, count, 1),
    ENGINE_NUMBER("clock", clock, clock_khz, 1),
    {.name = "width", .read = read_width, .repeats = true},
    ENGINE_NUMBER("shortest", cycles, min_cycles, 0),
    ENGINE_NUMBER("dependent", cycles, fixed_cycles, 0),
    ENGINE_NUMBER("rate", rate, bytes_per_us, 1),
    ENGINE_NUMBER("startup", time, fixed_ns, 0),
    ENGINE_NUMBER("align", size, proxy_align, 1),
    {.name = "macs", .read = spad__target_read_macs, .repeats = true},
    {.name = "elements", .read = spad__target_read_elements, .repeats = true},
    {.name = "latency", .read = spad__target_read_latency},
    ENGINE_NUMBER("threads", count, threads, 1),
    ENGINE_NUMBER("queue", count, queue_most, 1),
    {.name = "path", .read = spad__target_read_path, .repeats = true},
    {.name = "reads", .read = read_reads},
    {.name = "writes", .read = read_writes},
};
enum { ENGINE_FIELDS = sizeof engine_fields / sizeof engine_fields[0] };

/* The row that the block is for: a new one, or one that it amends. False: there is one already. */
static bool open_engine(spad__target_reader *r, spad__span name, size_t *at) {
    *at =
        spad__target_find_row(r->engines.items, sizeof r->engine, r->engines.count, r->engine.name);
    r->figures.count = r->rates.count = r->paths.count = 0;
    r->old_figures = false;
    r->seen_widths = 0;
    if (*at == r->engines.count) return true;
    const bool amends = *at < r->old_engines && (r->amended_engines >> *at & 1) == 0;
    if (!amends) {
        SPAD__TARGET_ERROR(r, name, "a second engine '%s'", r->engine.name);
        return false;
    }
    const char *about = r->engine.about;
    const spad_engine *old = &r->engines.items[*at];
    r->amended_engines |= UINT64_C(1) << *at;
    r->engine = *old;
    if (about[0] != '\0') r->engine.about = about;
    if (!spad__array_reserve(r->host, &r->rates, old->rate_count) ||
        !spad__array_reserve(r->host, &r->paths, old->path_count)) {
        r->parser.out_of_memory = true;
        return false;
    }
    while (r->rates.count < old->rate_count) {
        r->rates.items[r->rates.count] = old->rates[r->rates.count];
        r->rates.count++;
    }
    while (r->paths.count < old->path_count) {
        r->paths.items[r->paths.count] = old->paths[r->paths.count];
        r->paths.count++;
    }
    return spad__target_keep_figures(r, old->figures, old->figure_count);
}

static void finish_engine(spad__target_reader *r, size_t at) {
    spad_engine *e = &r->engine;
    e->rate_count = r->rates.count;
    e->path_count = r->paths.count;
    e->rates = e->rate_count == 0
                   ? NULL
                   : spad__target_freeze(r, r->rates.items, r->rates.count, sizeof *r->rates.items);
    e->paths = e->path_count == 0
                   ? NULL
                   : spad__target_freeze(r, r->paths.items, r->paths.count, sizeof *r->paths.items);
    e->figures = spad__target_freeze_figures(r, &e->figure_count);
    r->engines.items[at] = *e;
    if (at == r->engines.count) r->engines.count++;
}

bool spad__target_read_engine(spad__target_reader *r) {
    const spad__span name = r->parser.token.span;
    size_t at;
    r->engine = (spad_engine){.about = "", .count = 1};
    if (!spad__target_read_heading(r, "a name for the engine", &r->engine.name, &r->engine.about)) {
        return false;
    }
    if (!SPAD__TARGET_RESERVE(r, &r->engines, SPAD_ENGINES_MAX, "engines")) return false;
    if (!open_engine(r, name, &at)) return false;
    if (!spad__target_read_block(r, "an engine has no field", engine_fields, ENGINE_FIELDS,
                                 &r->engine)) {
        return false;
    }
    finish_engine(r, at);
    return spad__parser_end_statement(&r->parser);
}
