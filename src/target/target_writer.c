/* SPDX-License-Identifier: Apache-2.0
 *
 * Targets as text: as a target file that reads back to the same target, and as
 * JSON. Fields with their default value are left out of the file. Every number
 * is written exactly, in the largest unit that keeps it short.
 */
#include <string.h>

#include "base/lexer.h"
#include "base/text.h"
#include "spad/target.h"
#include "target/builtin.h"
#include "target/target.h"

/* ---- values ------------------------------------------------------------------------ */

/* "name" or "name "about"" */
static void write_heading(spad__out *out, const char *word, const char *name, const char *about) {
    spad__out_format(out, "%s ", word);
    spad__out_name(out, name);
    if (about == NULL || about[0] == '\0') return;
    spad__out_string(out, " ");
    spad__out_quoted(out, about);
}

static void write_field(spad__out *out, const char *name) {
    spad__out_format(out, "    %-9s ", name);
}

static void write_target_count(spad__out *out, const char *name, int64_t value, int64_t preset) {
    if (value == preset) return;
    write_field(out, name);
    spad__out_format(out, "%lld\n", (long long)value);
}

/* The largest unit that divides the value. */
static void put_size(spad__out *out, int64_t value) {
    static const char *const units[] = {"", " KiB", " MiB", " GiB", " TiB"};
    size_t unit = 0;
    for (; unit < 4 && value != 0 && value % 1024 == 0; unit++) value /= 1024;
    spad__out_format(out, "%lld%s", (long long)value, units[unit]);
}

static void write_size(spad__out *out, const char *name, int64_t value, int64_t preset) {
    if (value == preset) return;
    write_field(out, name);
    put_size(out, value);
    spad__out_string(out, "\n");
}

/* value / 10^places in decimals: 2800000 with 6 places is "2.8". */
static void put_decimal(spad__out *out, int64_t value, int places) {
    int64_t unit = 1;
    for (int i = 0; i < places; i++) unit *= 10;
    int64_t rest = value % unit;
    spad__out_format(out, "%lld", (long long)(value / unit));
    if (rest == 0) return;
    for (; rest % 10 == 0; places--) rest /= 10;
    spad__out_format(out, ".%0*lld", places, (long long)rest);
}

/* ` source "..."`, if it is known. */
static void put_note(spad__out *out, const spad_figure *figure) {
    static const char *const words[SPAD_ORIGINS] = {[SPAD_ORIGIN_PUBLISHED] = "source",
                                                    [SPAD_ORIGIN_MEASURED] = "measured",
                                                    [SPAD_ORIGIN_ESTIMATE] = "estimate"};
    if (figure == NULL || figure->origin == SPAD_ORIGIN_STATED) return;
    spad__out_format(out, " %s", words[figure->origin]);
    if (figure->source[0] == '\0') return;
    spad__out_string(out, " ");
    spad__out_quoted(out, figure->source);
}

/* A rate in the unit in which it is short. */
static void put_byte_rate(spad__out *out, int64_t bytes_per_us) {
    put_decimal(out, bytes_per_us, bytes_per_us >= 1000 ? 3 : 0);
    spad__out_string(out, bytes_per_us >= 1000 ? " B/ns" : " MB/s");
}

/* ---- target file ------------------------------------------------------------------- */

static void write_lane_rule(spad__out *out, const spad_lane_rule *rule) {
    write_field(out, "start");
    spad__out_format(out, "%lld to %lld at ", (long long)rule->lanes_min,
                     (long long)rule->lanes_max);
    for (size_t i = 0; i < rule->start_count; i++) {
        spad__out_format(out, i == 0 ? "%lld" : ", %lld", (long long)rule->starts[i]);
    }
    spad__out_string(out, "\n");
}

/* Rate of the chip and the cache, off chip. */
static void write_space_rates(spad__out *out, const spad_space *space) {
    if (space->bytes_per_us > 0) {
        write_field(out, "rate");
        put_byte_rate(out, space->bytes_per_us);
        put_note(out, spad__figure_find(space->figures, space->figure_count, "rate"));
        spad__out_string(out, "\n");
    }
    if (space->write_bytes_per_us > 0) {
        write_field(out, "written");
        put_byte_rate(out, space->write_bytes_per_us);
        put_note(out, spad__figure_find(space->figures, space->figure_count, "written"));
        spad__out_string(out, "\n");
    }
    if (space->cache_bytes > 0) {
        write_field(out, "cache");
        put_size(out, space->cache_bytes);
        spad__out_string(out, " rate ");
        put_byte_rate(out, space->cache_bytes_per_us);
        if (space->cache_merges > 0) {
            spad__out_format(out, " merges %lld", (long long)space->cache_merges);
        }
        put_note(out, spad__figure_find(space->figures, space->figure_count, "cache"));
        spad__out_string(out, "\n");
    }
    if (space->cache_latency_ns > 0) {
        write_field(out, "hit");
        spad__out_format(out, "%lld ns", (long long)space->cache_latency_ns);
        put_note(out, spad__figure_find(space->figures, space->figure_count, "hit"));
        spad__out_string(out, "\n");
    }
    if (space->queue_permille > 0) {
        write_field(out, "queue");
        spad__out_format(out, "%lld.%lld percent", (long long)(space->queue_permille / 10),
                         (long long)(space->queue_permille % 10));
        put_note(out, spad__figure_find(space->figures, space->figure_count, "queue"));
        spad__out_string(out, "\n");
    }
}

static void write_target_space(spad__out *out, const spad_space *space) {
    if (space->instance > 0) return; /* the first one stands for all */
    spad__out_string(out, "\n");
    write_heading(out, "space", space->name, space->about);
    spad__out_string(out, " {\n");
    if (space->off_chip) spad__out_string(out, "    off chip\n");
    write_target_count(out, "lanes", space->lanes, 1);
    if (space->bytes != SPAD_UNBOUNDED) {
        write_size(out, "bytes", space->bytes, 0);
    } else if (!space->off_chip) {
        spad__out_string(out, "    bytes     unbounded\n");
    }
    write_size(out, "reserved", space->reserved, 0);
    write_size(out, "limit", space->plain_limit, 0);
    write_size(out, "thread", space->thread_bytes, 0);
    write_size(out, "align", space->alignment, 1);
    write_size(out, "granule", space->granule, 1);
    if (space->bank_bytes != 0) {
        write_field(out, "bank");
        put_size(out, space->bank_bytes);
        spad__out_string(out, space->banks_exclusive ? " exclusive\n" : "\n");
    }
    if (space->power_of_two) spad__out_string(out, "    size      power of two\n");
    if (space->instances > 1) {
        write_field(out, "instances");
        spad__out_format(out, "%lld%s\n", (long long)space->instances,
                         space->one_instance ? " private" : "");
    }
    for (size_t i = 0; i < space->lane_rule_count; i++) write_lane_rule(out, &space->lane_rules[i]);
    write_space_rates(out, space);
    spad__out_string(out, "}\n");
}

static void write_space_set(spad__out *out, const char *name, const spad_target *target,
                            uint64_t set) {
    if (set == 0) return;
    write_field(out, name);
    const char *comma = "";
    for (size_t s = 0; s < target->space_count; s++) {
        if ((set >> s & 1) == 0 || target->spaces[s].instance > 0) continue;
        spad__out_string(out, comma);
        spad__out_name(out, target->spaces[s].name);
        comma = ", ";
    }
    spad__out_string(out, "\n");
}

/* A field of an engine with the source of its figure. */
static void write_engine_number(spad__out *out, const spad_engine *engine, const char *field,
                                int64_t value, int places, const char *unit) {
    if (value == 0) return;
    write_field(out, field);
    put_decimal(out, value, places);
    spad__out_string(out, unit);
    put_note(out, spad__figure_find(engine->figures, engine->figure_count, field));
    spad__out_string(out, "\n");
}

static void put_latency(spad__out *out, int64_t ns, int64_t cycles) {
    spad__out_format(out, "%lld %s", (long long)(ns > 0 ? ns : cycles), ns > 0 ? "ns" : "cycles");
}

static void write_rates(spad__out *out, const spad_engine *engine) {
    for (size_t i = 0; i < engine->rate_count; i++) {
        const spad_rate *rate = &engine->rates[i];
        const bool macs = rate->work == SPAD_WORK_MAC;
        write_field(out, macs ? "macs" : "elements");
        spad__out_format(out, "%lld %s", (long long)rate->per_cycle,
                         macs ? "at " : spad__work_name(rate->work));
        if (macs) spad__out_name(out, spad_dtype_name(rate->dtype));
        put_note(out, &rate->figure);
        spad__out_string(out, "\n");
    }
    if (engine->latency_ns > 0 || engine->latency_cycles > 0) {
        write_field(out, "latency");
        put_latency(out, engine->latency_ns, engine->latency_cycles);
        put_note(out, spad__figure_find(engine->figures, engine->figure_count, "latency"));
        spad__out_string(out, "\n");
    }
}

static void write_paths(spad__out *out, const spad_target *target, const spad_engine *engine) {
    for (size_t i = 0; i < engine->path_count; i++) {
        const spad_path *path = &engine->paths[i];
        write_field(out, "path");
        spad__out_name(out, target->spaces[path->from].name);
        spad__out_string(out, " to ");
        spad__out_name(out, target->spaces[path->to].name);
        spad__out_string(out, " rate ");
        if (path->bytes_per_us > 0) {
            put_byte_rate(out, path->bytes_per_us);
        } else {
            put_decimal(out, path->bytes_per_kilocycle, 3);
            spad__out_string(out, " B/cycle");
        }
        if (path->latency_ns > 0 || path->latency_cycles > 0) {
            spad__out_string(out, " latency ");
            put_latency(out, path->latency_ns, path->latency_cycles);
        }
        if (path->hit_ns > 0) {
            spad__out_string(out, " hit ");
            put_latency(out, path->hit_ns, 0);
        }
        if (path->pieces > 0) {
            spad__out_string(out, " pieces ");
            put_size(out, path->pieces);
        }
        put_note(out, &path->figure);
        spad__out_string(out, "\n");
    }
}

static void write_engine(spad__out *out, const spad_target *target, const spad_engine *engine) {
    spad__out_string(out, "\n");
    write_heading(out, "engine", engine->name, engine->about);
    spad__out_string(out, " {\n");
    if (engine->count != 1) write_engine_number(out, engine, "count", engine->count, 0, "");
    const int64_t khz = engine->clock_khz;
    write_engine_number(out, engine, "clock", khz,
                        khz >= 1000000 ? 6
                        : khz >= 1000  ? 3
                                       : 0,
                        khz >= 1000000 ? " GHz"
                        : khz >= 1000  ? " MHz"
                                       : " kHz");
    write_engine_number(out, engine, "width", engine->width, 0, "");
    write_engine_number(out, engine, "width", engine->width_16bit, 0, " at 16 bit");
    write_engine_number(out, engine, "width", engine->width_8bit, 0, " at 8 bit");
    write_engine_number(out, engine, "shortest", engine->min_cycles, 0, " cycles");
    write_engine_number(out, engine, "dependent", engine->fixed_cycles, 0, " cycles");
    const int64_t rate = engine->bytes_per_us;
    write_engine_number(out, engine, "rate", rate, rate >= 1000 ? 3 : 0,
                        rate >= 1000 ? " B/ns" : " B/us");
    write_engine_number(out, engine, "startup", engine->fixed_ns, 0, " ns");
    write_size(out, "align", engine->proxy_align, 0);
    write_rates(out, engine);
    write_engine_number(out, engine, "threads", engine->threads, 0, "");
    write_engine_number(out, engine, "queue", engine->queue_most, 0, "");
    write_space_set(out, "reads", target, engine->reads);
    write_space_set(out, "writes", target, engine->writes);
    write_paths(out, target, engine);
    spad__out_string(out, "}\n");
}

static void write_exclusion(spad__out *out, const spad_target *target, const spad_exclusion *e) {
    if (target->spaces[e->space].instance > 0) return;
    spad__out_string(out, "exclusive ");
    spad__out_name(out, target->engines[e->engine_a].name);
    spad__out_string(out, " ");
    spad__out_name(out, target->engines[e->engine_b].name);
    spad__out_string(out, " on ");
    spad__out_name(out, target->spaces[e->space].name);
    spad__out_string(out, "\n");
}

static void write_fence_rule(spad__out *out, const spad_target *target,
                             const spad_fence_rule *rule) {
    const char *comma = " on ";
    spad__out_string(out, "fence ");
    spad__out_name(out, rule->name);
    spad__out_format(out, " %s", spad__fence_words[rule->kind]);
    for (size_t s = 0; s < target->space_count; s++) {
        if ((rule->spaces >> s & 1) == 0 || target->spaces[s].instance > 0) continue;
        spad__out_string(out, comma);
        spad__out_name(out, target->spaces[s].name);
        comma = ", ";
    }
    spad__out_string(out, "\n");
}

/* The limits in the order of the file; the names are those of the struct. */
typedef struct limit {
    const char *name;
    int64_t value;
} limit;

enum { LIMITS = sizeof(spad_limits) / sizeof(int64_t) };

static void list_limits(limit rows[LIMITS], const spad_limits *l) {
    const limit all[LIMITS] = {
        {"threads", l->threads},           {"warp", l->warp},
        {"barriers", l->barriers},         {"arrivals", l->arrivals},
        {"expected", l->expected},         {"flags", l->flags},
        {"registers", l->registers},       {"budget_least", l->budget_least},
        {"budget_most", l->budget_most},   {"budget_step", l->budget_step},
        {"cluster", l->cluster},           {"cluster_most", l->cluster_most},
        {"unit_threads", l->unit_threads}, {"register_step", l->register_step},
    };
    memcpy(rows, all, sizeof all);
}

static void write_limits(spad__out *out, const spad_limits *limits) {
    limit rows[LIMITS];
    bool known = false;
    list_limits(rows, limits);
    for (size_t i = 0; i < LIMITS; i++) {
        if (rows[i].value == 0) continue;
        if (!known) spad__out_string(out, "\nlimits {\n");
        known = true;
        write_target_count(out, rows[i].name, rows[i].value, 0);
    }
    if (known) spad__out_string(out, "}\n");
}

static void put_unit_time(spad__out *out, const char *word, int64_t ns) {
    if (ns > 0) spad__out_format(out, " %s %lld ns", word, (long long)ns);
}

static void write_target(spad__out *out, const spad_target *target) {
    write_heading(out, "target", target->name, target->about);
    spad__out_string(out, "\nfamily ");
    spad__out_name(out, target->family);
    for (size_t i = 0; i < target->alias_count; i++) {
        spad__out_string(out, i == 0 ? "\nalias " : ", ");
        spad__out_name(out, target->aliases[i]);
    }
    if (target->max_groups > 0) {
        spad__out_format(out, "\ngroups %lld", (long long)target->max_groups);
    }
    if (target->units > 0) {
        spad__out_format(out, "\nunits %lld", (long long)target->units);
        put_unit_time(out, "launch", target->launch_ns);
        put_unit_time(out, "block", target->block_ns);
        put_unit_time(out, "signal", target->signal_ns);
        put_note(out, spad__figure_find(target->figures, target->figure_count, "units"));
    }
    spad__out_string(out, "\n");
    write_limits(out, &target->limits);
    for (size_t i = 0; i < target->space_count; i++) write_target_space(out, &target->spaces[i]);
    for (size_t i = 0; i < target->engine_count; i++) {
        write_engine(out, target, &target->engines[i]);
    }
    if (target->exclusion_count > 0) spad__out_string(out, "\n");
    for (size_t i = 0; i < target->exclusion_count; i++) {
        write_exclusion(out, target, &target->exclusions[i]);
    }
    if (target->fence_count > 0) spad__out_string(out, "\n");
    for (size_t i = 0; i < target->fence_count; i++) {
        write_fence_rule(out, target, &target->fences[i]);
    }
}

/* ---- JSON -------------------------------------------------------------------------- */

/* A size that may be unbounded: null. */
static void json_target_bytes(spad__json *json, const char *key, int64_t bytes) {
    spad__json_key(json, key);
    if (bytes == SPAD_UNBOUNDED) {
        spad__json_string(json, NULL);
    } else {
        spad__json_int(json, bytes);
    }
}

/* Where figures come from: by field, without those that the target only states. */
static void json_figures(spad__json *json, const spad_figure *figures, size_t count) {
    spad__json_key_open(json, "sources", '[');
    for (size_t i = 0; i < count; i++) {
        spad__json_open(json, '{');
        spad__json_key_string(json, "field", figures[i].field);
        spad__json_key_string(json, "origin", spad__origin_name(figures[i].origin));
        spad__json_key_string(json, "source", figures[i].source);
        spad__json_close(json, '}');
    }
    spad__json_close(json, ']');
}

static void json_figure(spad__json *json, const spad_figure *figure) {
    spad__json_key_string(json, "origin", spad__origin_name(figure->origin));
    spad__json_key_string(json, "source", figure->source);
}

static void json_target_space(spad__json *json, const spad_space *space) {
    spad__json_open(json, '{');
    spad__json_key_string(json, "name", space->name);
    spad__json_key_string(json, "about", space->about);
    spad__json_key_int(json, "lanes", space->lanes);
    json_target_bytes(json, "bytes", space->bytes);
    spad__json_key_int(json, "reserved", space->reserved);
    json_target_bytes(json, "usable", spad_space_get_usable(space));
    spad__json_key_int(json, "plain_limit", space->plain_limit);
    spad__json_key_int(json, "thread_bytes", space->thread_bytes);
    spad__json_key_int(json, "alignment", space->alignment);
    spad__json_key_int(json, "granule", space->granule);
    spad__json_key_int(json, "bank_bytes", space->bank_bytes);
    spad__json_key_bool(json, "banks_exclusive", space->banks_exclusive);
    spad__json_key_bool(json, "power_of_two", space->power_of_two);
    spad__json_key_bool(json, "off_chip", space->off_chip);
    spad__json_key_int(json, "instances", space->instances > 1 ? space->instances : 1);
    spad__json_key_bool(json, "one_instance", space->one_instance);
    spad__json_key_int(json, "bytes_per_us", space->bytes_per_us);
    spad__json_key_int(json, "write_bytes_per_us", space->write_bytes_per_us);
    spad__json_key_int(json, "cache_bytes", space->cache_bytes);
    spad__json_key_int(json, "cache_bytes_per_us", space->cache_bytes_per_us);
    spad__json_key_int(json, "cache_merges", space->cache_merges);
    spad__json_key_int(json, "cache_latency_ns", space->cache_latency_ns);
    spad__json_key_int(json, "queue_permille", space->queue_permille);
    json_figures(json, space->figures, space->figure_count);
    spad__json_key_open(json, "lane_rules", '[');
    for (size_t i = 0; i < space->lane_rule_count; i++) {
        const spad_lane_rule *rule = &space->lane_rules[i];
        spad__json_open(json, '{');
        spad__json_key_int(json, "lanes_min", rule->lanes_min);
        spad__json_key_int(json, "lanes_max", rule->lanes_max);
        spad__json_key_open(json, "starts", '[');
        for (size_t s = 0; s < rule->start_count; s++) spad__json_int(json, rule->starts[s]);
        spad__json_close(json, ']');
        spad__json_close(json, '}');
    }
    spad__json_close(json, ']');
    spad__json_close(json, '}');
}

static void json_space_set(spad__json *json, const char *key, const spad_target *target,
                           uint64_t set) {
    spad__json_key_open(json, key, '[');
    for (size_t s = 0; s < target->space_count; s++) {
        if (target->spaces[s].instance > 0) continue;
        if (set >> s & 1) spad__json_string(json, target->spaces[s].name);
    }
    spad__json_close(json, ']');
}

static void json_rates(spad__json *json, const spad_target *target, const spad_engine *engine) {
    spad__json_key_open(json, "rates", '[');
    for (size_t i = 0; i < engine->rate_count; i++) {
        const spad_rate *rate = &engine->rates[i];
        spad__json_open(json, '{');
        spad__json_key_string(json, "work", spad__work_name(rate->work));
        spad__json_key_string(json, "dtype",
                              rate->dtype != SPAD_DTYPE_NONE ? spad_dtype_name(rate->dtype) : NULL);
        spad__json_key_int(json, "per_cycle", rate->per_cycle);
        json_figure(json, &rate->figure);
        spad__json_close(json, '}');
    }
    spad__json_close(json, ']');
    spad__json_key_open(json, "paths", '[');
    for (size_t i = 0; i < engine->path_count; i++) {
        const spad_path *path = &engine->paths[i];
        spad__json_open(json, '{');
        spad__json_key_string(json, "from", target->spaces[path->from].name);
        spad__json_key_string(json, "to", target->spaces[path->to].name);
        spad__json_key_int(json, "bytes_per_us", path->bytes_per_us);
        spad__json_key_int(json, "bytes_per_kilocycle", path->bytes_per_kilocycle);
        spad__json_key_int(json, "latency_ns", path->latency_ns);
        spad__json_key_int(json, "latency_cycles", path->latency_cycles);
        spad__json_key_int(json, "hit_ns", path->hit_ns);
        spad__json_key_int(json, "pieces", path->pieces);
        json_figure(json, &path->figure);
        spad__json_close(json, '}');
    }
    spad__json_close(json, ']');
}

static void json_engine(spad__json *json, const spad_target *target, const spad_engine *engine) {
    spad__json_open(json, '{');
    spad__json_key_string(json, "name", engine->name);
    spad__json_key_string(json, "about", engine->about);
    spad__json_key_int(json, "count", engine->count);
    spad__json_key_int(json, "clock_khz", engine->clock_khz);
    spad__json_key_int(json, "width", engine->width);
    spad__json_key_int(json, "width_16bit", engine->width_16bit);
    spad__json_key_int(json, "width_8bit", engine->width_8bit);
    spad__json_key_int(json, "min_cycles", engine->min_cycles);
    spad__json_key_int(json, "fixed_cycles", engine->fixed_cycles);
    spad__json_key_int(json, "bytes_per_us", engine->bytes_per_us);
    spad__json_key_int(json, "fixed_ns", engine->fixed_ns);
    spad__json_key_int(json, "proxy_align", engine->proxy_align);
    spad__json_key_int(json, "latency_ns", engine->latency_ns);
    spad__json_key_int(json, "latency_cycles", engine->latency_cycles);
    spad__json_key_int(json, "threads", engine->threads);
    spad__json_key_int(json, "queue_most", engine->queue_most);
    json_rates(json, target, engine);
    json_figures(json, engine->figures, engine->figure_count);
    json_space_set(json, "reads", target, engine->reads);
    json_space_set(json, "writes", target, engine->writes);
    spad__json_close(json, '}');
}

/* Without what is not known. */
static void json_limits(spad__json *json, const spad_limits *limits) {
    limit rows[LIMITS];
    list_limits(rows, limits);
    spad__json_key_open(json, "limits", '{');
    for (size_t i = 0; i < LIMITS; i++) {
        if (rows[i].value != 0) spad__json_key_int(json, rows[i].name, rows[i].value);
    }
    spad__json_close(json, '}');
}

static void json_target(spad__json *json, const spad_target *target) {
    spad__json_open(json, '{');
    spad__json_key_string(json, "name", target->name);
    spad__json_key_string(json, "about", target->about);
    spad__json_key_string(json, "family", target->family);
    spad__json_key_open(json, "aliases", '[');
    for (size_t i = 0; i < target->alias_count; i++) spad__json_string(json, target->aliases[i]);
    spad__json_close(json, ']');
    spad__json_key_open(json, "products", '[');
    for (size_t i = 0; i < target->product_count; i++) {
        spad__json_open(json, '{');
        spad__json_key_string(json, "name", target->products[i].name);
        spad__json_key_string(json, "source", target->products[i].source);
        spad__json_close(json, '}');
    }
    spad__json_close(json, ']');
    spad__json_key_int(json, "max_groups", target->max_groups);
    spad__json_key_int(json, "units", target->units);
    spad__json_key_int(json, "launch_ns", target->launch_ns);
    spad__json_key_int(json, "block_ns", target->block_ns);
    spad__json_key_int(json, "signal_ns", target->signal_ns);
    json_figures(json, target->figures, target->figure_count);
    json_limits(json, &target->limits);
    spad__json_key_open(json, "spaces", '[');
    for (size_t i = 0; i < target->space_count; i++) {
        if (target->spaces[i].instance == 0) json_target_space(json, &target->spaces[i]);
    }
    spad__json_close(json, ']');
    spad__json_key_open(json, "engines", '[');
    for (size_t i = 0; i < target->engine_count; i++) {
        json_engine(json, target, &target->engines[i]);
    }
    spad__json_close(json, ']');
    spad__json_key_open(json, "exclusions", '[');
    for (size_t i = 0; i < target->exclusion_count; i++) {
        const spad_exclusion *e = &target->exclusions[i];
        if (target->spaces[e->space].instance > 0) continue;
        spad__json_open(json, '{');
        spad__json_key_string(json, "engine_a", target->engines[e->engine_a].name);
        spad__json_key_string(json, "engine_b", target->engines[e->engine_b].name);
        spad__json_key_string(json, "space", target->spaces[e->space].name);
        spad__json_close(json, '}');
    }
    spad__json_close(json, ']');
    spad__json_key_open(json, "fences", '[');
    for (size_t i = 0; i < target->fence_count; i++) {
        spad__json_open(json, '{');
        spad__json_key_string(json, "name", target->fences[i].name);
        spad__json_key_string(json, "kind", spad__fence_words[target->fences[i].kind]);
        json_space_set(json, "spaces", target, target->fences[i].spaces);
        spad__json_close(json, '}');
    }
    spad__json_close(json, ']');
    spad__json_close(json, '}');
}

spad_status spad_target_write(const spad_target *target, spad_format format, const spad_sink *sink,
                              spad_error *error) {
    spad__out out;
    spad__json json;
    spad__out_start(&out, sink);
    if (format == SPAD_FORMAT_TEXT) {
        write_target(&out, target);
    } else if (format == SPAD_FORMAT_JSON) {
        spad__json_start(&json, &out);
        json_target(&json, target);
        spad__json_end(&json);
    } else {
        return spad__fail_format(error);
    }
    return spad__out_finish(&out, error);
}
