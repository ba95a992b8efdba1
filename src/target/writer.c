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

static void write_decimal(spad__out *out, const char *name, int64_t value, int places,
                          const char *unit) {
    write_field(out, name);
    put_decimal(out, value, places);
    spad__out_format(out, " %s\n", unit);
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
    spad__out_string(out, "}\n");
}

static void write_width(spad__out *out, int64_t width, int bits) {
    if (width == 0) return;
    write_field(out, "width");
    spad__out_format(out, bits == 32 ? "%lld\n" : "%lld at %d bit\n", (long long)width, bits);
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

static void write_engine(spad__out *out, const spad_target *target, const spad_engine *engine) {
    spad__out_string(out, "\n");
    write_heading(out, "engine", engine->name, engine->about);
    spad__out_string(out, " {\n");
    write_target_count(out, "count", engine->count, 1);
    const int64_t khz = engine->clock_khz;
    if (khz >= 1000000) {
        write_decimal(out, "clock", khz, 6, "GHz");
    } else if (khz >= 1000) {
        write_decimal(out, "clock", khz, 3, "MHz");
    } else if (khz > 0) {
        write_decimal(out, "clock", khz, 0, "kHz");
    }
    write_width(out, engine->width, 32);
    write_width(out, engine->width_16bit, 16);
    write_width(out, engine->width_8bit, 8);
    if (engine->min_cycles > 0) write_decimal(out, "shortest", engine->min_cycles, 0, "cycles");
    if (engine->fixed_cycles > 0)
        write_decimal(out, "dependent", engine->fixed_cycles, 0, "cycles");
    if (engine->bytes_per_us >= 1000) {
        write_decimal(out, "rate", engine->bytes_per_us, 3, "B/ns");
    } else if (engine->bytes_per_us > 0) {
        write_decimal(out, "rate", engine->bytes_per_us, 0, "B/us");
    }
    if (engine->fixed_ns > 0) write_decimal(out, "startup", engine->fixed_ns, 0, "ns");
    write_size(out, "align", engine->proxy_align, 0);
    write_space_set(out, "reads", target, engine->reads);
    write_space_set(out, "writes", target, engine->writes);
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
        {"threads", l->threads},         {"warp", l->warp},
        {"barriers", l->barriers},       {"arrivals", l->arrivals},
        {"expected", l->expected},       {"flags", l->flags},
        {"registers", l->registers},     {"budget_least", l->budget_least},
        {"budget_most", l->budget_most}, {"budget_step", l->budget_step},
        {"cluster", l->cluster},         {"cluster_most", l->cluster_most},
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

spad_status spad_target_write_text(const spad_target *target, const spad_sink *sink,
                                   spad_error *error) {
    spad__out out;
    spad__out_start(&out, sink);
    write_heading(&out, "target", target->name, target->about);
    spad__out_string(&out, "\nfamily ");
    spad__out_name(&out, target->family);
    for (size_t i = 0; i < target->alias_count; i++) {
        spad__out_string(&out, i == 0 ? "\nalias " : ", ");
        spad__out_name(&out, target->aliases[i]);
    }
    if (target->max_groups > 0) {
        spad__out_format(&out, "\ngroups %lld", (long long)target->max_groups);
    }
    spad__out_string(&out, "\n");
    write_limits(&out, &target->limits);
    for (size_t i = 0; i < target->space_count; i++) write_target_space(&out, &target->spaces[i]);
    for (size_t i = 0; i < target->engine_count; i++) {
        write_engine(&out, target, &target->engines[i]);
    }
    if (target->exclusion_count > 0) spad__out_string(&out, "\n");
    for (size_t i = 0; i < target->exclusion_count; i++) {
        write_exclusion(&out, target, &target->exclusions[i]);
    }
    if (target->fence_count > 0) spad__out_string(&out, "\n");
    for (size_t i = 0; i < target->fence_count; i++) {
        write_fence_rule(&out, target, &target->fences[i]);
    }
    return spad__out_finish(&out, error);
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

spad_status spad_target_write_json(const spad_target *target, const spad_sink *sink,
                                   spad_error *error) {
    spad__out out;
    spad__json json;
    spad__out_start(&out, sink);
    spad__json_start(&json, &out);
    json_target(&json, target);
    spad__json_end(&json);
    return spad__out_finish(&out, error);
}
