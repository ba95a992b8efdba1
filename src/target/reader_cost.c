/* SPDX-License-Identifier: Apache-2.0
 *
 * The costs in a target file: rates by type and kind of work, latencies, paths, caches.
 *
 *     macs     = "macs" number "at" dtype { "," dtype }
 *     elements = "elements" number ( "fma" | "exp" | "convert" | "reduce" )
 *     latency  = "latency" ( time | number "cycles" )
 *     path     = "path" space "to" space "rate" ( rate | size "/cycle" ) [ "latency" ... ]
 *                [ "hit" time ] [ "pieces" size ]
 *     cache    = "cache" size "rate" rate
 */
#include <string.h>

#include "base/checked.h"
#include "target/target_reader.h"

/* At least 1, and not so many that a kernel could not take part of a cycle. */
static bool read_per_cycle(spad__target_reader *r, const char *field, int64_t *value) {
    spad__span span;
    if (!spad__parser_quantity(&r->parser, &spad__measure_count, value, &span)) return false;
    if (*value >= 1) return true;
    SPAD__TARGET_ERROR(r, span, "'%s' must be at least 1", field);
    return false;
}

/* A rate that replaces the one of the row that is amended, or is new. */
static bool put_rate(spad__target_reader *r, const spad_rate *rate, const char *name) {
    const uint64_t bit = UINT64_C(1) << (unsigned)rate->dtype;
    if ((r->seen_rates[rate->work] & bit) != 0) {
        SPAD__TARGET_ERROR(r, r->parser.last.span, "the rate of %s is given twice", name);
        return false;
    }
    r->seen_rates[rate->work] |= bit;
    for (size_t i = 0; i < r->rates.count; i++) {
        if (r->rates.items[i].work != rate->work || r->rates.items[i].dtype != rate->dtype)
            continue;
        r->rates.items[i] = *rate;
        return true;
    }
    if (!SPAD__TARGET_RESERVE(r, &r->rates, SPAD__TARGET_LIST_MAX, "rates")) return false;
    r->rates.items[r->rates.count++] = *rate;
    return true;
}

/* "2048 at bf16, fp16" */
bool spad__target_read_macs(spad__target_reader *r) {
    spad_rate rate = {.work = SPAD_WORK_MAC};
    if (!read_per_cycle(r, "macs", &rate.per_cycle)) return false;
    if (!spad__parser_expect_word(&r->parser, "at")) return false;
    do {
        const spad__arena_mark mark = spad__arena_here(r->parser.arena);
        const char *name;
        if (!spad__parser_name(&r->parser, "an element type", &name)) return false;
        spad_error error = {0};
        const bool found = spad_dtype_parse(&rate.dtype, name, &error) == SPAD_OK;
        if (!found) SPAD__TARGET_ERROR(r, r->parser.last.span, "%s", error.message);
        const bool put = found && put_rate(r, &rate, spad_dtype_name(rate.dtype));
        spad__arena_rewind(r->parser.arena, mark);
        if (!put) return false;
    } while (spad__target_next_in_list(r));
    return true;
}

/* "16 exp" */
bool spad__target_read_elements(spad__target_reader *r) {
    static const struct {
        const char *name;
        spad_work work;
    } kinds[] = {{"fma", SPAD_WORK_FMA},
                 {"exp", SPAD_WORK_EXP},
                 {"convert", SPAD_WORK_CONVERT},
                 {"reduce", SPAD_WORK_REDUCE}};
    enum { KINDS = sizeof kinds / sizeof kinds[0] };
    spad_rate rate = {.dtype = SPAD_DTYPE_NONE};
    if (!read_per_cycle(r, "elements", &rate.per_cycle)) return false;
    if (!spad__parser_expect(&r->parser, SPAD__WORD, "fma, exp, convert or reduce")) return false;
    const size_t kind =
        spad__target_find_keyword(r, "no kind of work is called", kinds, sizeof kinds[0], KINDS);
    if (kind == KINDS) return false;
    rate.work = kinds[kind].work;
    return put_rate(r, &rate, kinds[kind].name);
}

/* A number of cycles or a time. */
static const spad__measure measure_latency_cycles = {
    .what = "a latency",
    .base = "ns or cycles",
    .choices = "ns, us, ms or cycles",
    .units = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"cycles", 1}, {"cycle", 1}}};

static bool read_time_or_cycles(spad__target_reader *r, int64_t *ns, int64_t *cycles) {
    spad__span span;
    int64_t value;
    *ns = *cycles = 0;
    if (!spad__parser_quantity(&r->parser, &measure_latency_cycles, &value, &span)) return false;
    const bool in_cycles = spad__token_is(r->parser.source, r->parser.last, "cycles") ||
                           spad__token_is(r->parser.source, r->parser.last, "cycle");
    *(in_cycles ? cycles : ns) = value;
    return true;
}

bool spad__target_read_latency(spad__target_reader *r) {
    return read_time_or_cycles(r, &r->engine.latency_ns, &r->engine.latency_cycles);
}

/* Bytes per us, or per thousand cycles. */
static const spad__measure measure_path_rate = {
    .what = "a rate",
    .base = "bytes per us or per thousand cycles",
    .choices = "B/cycle, B/ns, MB/s, GB/s or TB/s",
    .units = {{"B/cycle", 1000}, {"B/ns", 1000}, {"MB/s", 1}, {"GB/s", 1000}, {"TB/s", 1000000}}};

static bool read_path_rate(spad__target_reader *r, spad_path *path) {
    spad__span span;
    int64_t value;
    if (!spad__parser_expect_word(&r->parser, "rate")) return false;
    if (!spad__parser_quantity(&r->parser, &measure_path_rate, &value, &span)) return false;
    if (value < 1) {
        SPAD__TARGET_ERROR(r, span, "'rate' must be at least 1");
        return false;
    }
    const bool in_cycles = spad__token_is(r->parser.source, r->parser.last, "cycle");
    *(in_cycles ? &path->bytes_per_kilocycle : &path->bytes_per_us) = value;
    return true;
}

/* The path replaces that of the row that is amended, or is new. */
static bool put_path(spad__target_reader *r, const spad_path *path, spad__span span) {
    size_t at = 0;
    while (at < r->paths.count &&
           (r->paths.items[at].from != path->from || r->paths.items[at].to != path->to ||
            r->paths.items[at].pieces != path->pieces)) {
        at++;
    }
    if (at < r->paths.count && (r->seen_paths >> at & 1) != 0) {
        SPAD__TARGET_ERROR(r, span, "this path is given twice");
        return false;
    }
    if (!SPAD__TARGET_RESERVE(r, &r->paths, SPAD_SPACES_MAX, "paths")) return false;
    r->seen_paths |= UINT64_C(1) << at;
    r->paths.items[at] = *path;
    if (at == r->paths.count) r->paths.count++;
    return true;
}

/* A word of a path that need not be there, with a quantity of at least 1. */
static bool read_of_path(spad__target_reader *r, const char *word, const spad__measure *measure,
                         int64_t *out) {
    spad__span span;
    if (!spad__parser_accept_word(&r->parser, word)) return true;
    if (!spad__parser_quantity(&r->parser, measure, out, &span)) return false;
    if (*out >= 1) return true;
    SPAD__TARGET_ERROR(r, span, "'%s' must be at least 1", word);
    return false;
}

/* "registers to global rate 6 GB/s latency 650 ns pieces 4 B" */
bool spad__target_read_path(spad__target_reader *r) {
    spad_path path = {0};
    const spad__span first = r->parser.token.span;
    if (!spad__target_read_space_name(r, &path.from) ||
        !spad__parser_expect_word(&r->parser, "to") || !spad__target_read_space_name(r, &path.to)) {
        return false;
    }
    const spad__span span = spad__span_join(first, r->parser.last.span);
    if (!read_path_rate(r, &path)) return false;
    if (spad__parser_accept_word(&r->parser, "latency") &&
        !read_time_or_cycles(r, &path.latency_ns, &path.latency_cycles)) {
        return false;
    }
    if (!read_of_path(r, "hit", &spad__measure_time, &path.hit_ns) ||
        !read_of_path(r, "pieces", &spad__measure_size, &path.pieces)) {
        return false;
    }
    return put_path(r, &path, span);
}

static const spad__measure measure_queue = {
    .what = "a part", .base = "thousandths", .choices = "percent", .units = {{"percent", 10}}};

/* "20.5 percent" */
bool spad__target_read_queue(spad__target_reader *r) {
    spad__span span;
    return spad__parser_quantity(&r->parser, &measure_queue, &r->space.queue_permille, &span);
}

/* "50 MiB rate 5.5 TB/s" */
bool spad__target_read_cache(spad__target_reader *r) {
    spad__span span;
    spad__span rate_span;
    if (!spad__parser_quantity(&r->parser, &spad__measure_size, &r->space.cache_bytes, &span) ||
        !spad__parser_expect_word(&r->parser, "rate") ||
        !spad__parser_quantity(&r->parser, &spad__measure_rate, &r->space.cache_bytes_per_us,
                               &rate_span)) {
        return false;
    }
    if (spad__parser_accept_word(&r->parser, "merges") &&
        !spad__parser_quantity(&r->parser, &spad__measure_count, &r->space.cache_merges, &span)) {
        return false;
    }
    if (r->space.cache_bytes >= 1 && r->space.cache_bytes_per_us >= 1) return true;
    SPAD__TARGET_ERROR(r, spad__span_join(span, rate_span), "size and rate must be at least 1");
    return false;
}
