/* SPDX-License-Identifier: Apache-2.0
 *
 * Times in words, and whether the time of a simulation is one: the only place that decides it.
 *
 * An operation without a figure is a step, and a cycle of an engine without a clock is a
 * cycle. A result in which all operations are steps, or all are in cycles, is exact in that
 * unit; one with costs of several kinds is in picoseconds in which some are assumptions.
 */
#include <stdio.h>
#include <string.h>

#include "sim/sim.h"
#include "sim/sim_report.h"

spad_time_unit spad__sim_unit(const spad_sim_totals *totals) {
    if (totals->unknown == 0 && totals->unclocked == 0) return SPAD_TIME_REAL;
    if (totals->unknown == totals->operations) return SPAD_TIME_STEPS;
    if (totals->unclocked == totals->operations) return SPAD_TIME_CYCLES;
    return SPAD_TIME_MIXED;
}

int64_t spad__time_unit_size(spad_time_unit unit) {
    switch (unit) {
    case SPAD_TIME_STEPS: return SPAD_SIM_UNKNOWN;
    case SPAD_TIME_CYCLES: return SPAD_SIM_CYCLE;
    default: return 1;
    }
}

const char *spad_time_unit_name(spad_time_unit unit) {
    static const char *const names[SPAD_TIME_UNITS] = {[SPAD_TIME_REAL] = "time",
                                                       [SPAD_TIME_MIXED] = "mixed",
                                                       [SPAD_TIME_CYCLES] = "cycles",
                                                       [SPAD_TIME_STEPS] = "steps"};
    return (unsigned)unit < SPAD_TIME_UNITS ? names[unit] : "?";
}

const char *spad_time_text(int64_t time, char field[SPAD_TIME_TEXT]) {
    static const char *const units[] = {"ps", "ns", "us", "ms", "s"};
    int unit = 0;
    int64_t scale = 1;
    while (unit < 4 && time / scale >= 1000) {
        scale *= 1000;
        unit++;
    }
    if (unit == 0) {
        snprintf(field, SPAD_TIME_TEXT, "%s ps", spad__grouped(time).text);
    } else {
        snprintf(field, SPAD_TIME_TEXT, "%.26s.%03d %s", spad__grouped(time / scale).text,
                 (int)(time % scale / (scale / 1000)), units[unit]);
    }
    return field;
}

/* "17 steps", "1 step", "0.274 steps" */
static void count_text(spad_time_unit unit, int64_t time, char field[SPAD_TIME_TEXT]) {
    const char *word = unit == SPAD_TIME_STEPS ? "step" : "cycle";
    const int64_t size = spad__time_unit_size(unit);
    const int64_t rest = time % size / (size / 1000);
    const char *plural = time == size ? "" : "s";
    if (rest == 0) {
        snprintf(field, SPAD_TIME_TEXT, "%s %s%s", spad__grouped(time / size).text, word, plural);
    } else {
        snprintf(field, SPAD_TIME_TEXT, "%.26s.%03d %s%s", spad__grouped(time / size).text,
                 (int)rest, word, plural);
    }
}

const char *spad__share_text(int64_t part, int64_t whole, char field[SPAD_TIME_TEXT]) {
    int64_t mille = 0;
    if (whole > 0) {
        mille = part <= INT64_MAX / 1000 ? part * 1000 / whole
                                         : part / (whole / 1000 > 0 ? whole / 1000 : 1);
    }
    snprintf(field, SPAD_TIME_TEXT, "%lld.%lld %%", (long long)(mille / 10),
             (long long)(mille % 10));
    return field;
}

const char *spad_time_unit_text(spad_time_unit unit, int64_t picoseconds,
                                char field[SPAD_TIME_TEXT]) {
    if (unit == SPAD_TIME_STEPS || unit == SPAD_TIME_CYCLES) {
        count_text(unit, picoseconds, field);
    } else if (unit == SPAD_TIME_MIXED) {
        char plain[SPAD_TIME_TEXT];
        snprintf(field, SPAD_TIME_TEXT, "~%.40s", spad_time_text(picoseconds, plain));
    } else {
        spad_time_text(picoseconds, field);
    }
    return field;
}

const char *spad__sim_costs_text(const spad_sim_totals *totals, char field[SPAD_BADGE_TEXT]) {
    const struct {
        int64_t count;
        const char *word;
    } parts[] = {{totals->by_origin[SPAD_ORIGIN_STATED], "of the target"},
                 {totals->by_origin[SPAD_ORIGIN_PUBLISHED], "published"},
                 {totals->by_origin[SPAD_ORIGIN_MEASURED], "measured"},
                 {totals->by_origin[SPAD_ORIGIN_ESTIMATE], "estimated"},
                 {totals->by_kernel, "in the kernel"},
                 {totals->unknown, "assumed"}};
    bool any = false;
    size_t used = 0;
    for (int i = 0; i < SPAD_ORIGINS; i++) any = any || totals->by_origin[i] > 0;
    if (!any) return NULL;
    field[0] = '\0';
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && used < SPAD_BADGE_TEXT; i++) {
        if (parts[i].count == 0) continue;
        used +=
            (size_t)snprintf(field + used, SPAD_BADGE_TEXT - used, "%s%s %s", used > 0 ? ", " : "",
                             spad__grouped(parts[i].count).text, parts[i].word);
    }
    return field;
}

const char *spad__costs_badge(const spad_sim_totals *totals, char field[SPAD_BADGE_TEXT]) {
    const spad__figure all = spad__grouped(totals->operations);
    const spad__figure assumed = spad__grouped(totals->unknown + totals->unclocked);
    switch (totals->unit) {
    case SPAD_TIME_STEPS:
        snprintf(field, SPAD_BADGE_TEXT, "%s of %s costs assumed: steps, not time", assumed.text,
                 all.text);
        return field;
    case SPAD_TIME_CYCLES:
        snprintf(field, SPAD_BADGE_TEXT, "%s of %s costs without a clock: cycles, not time",
                 assumed.text, all.text);
        return field;
    case SPAD_TIME_MIXED:
        snprintf(field, SPAD_BADGE_TEXT, "%s of %s costs assumed, at %s%s%s: not a real time",
                 assumed.text, all.text, totals->unknown > 0 ? "1 us" : "",
                 totals->unknown > 0 && totals->unclocked > 0 ? " or " : "",
                 totals->unclocked > 0 ? "1 ns a cycle" : "");
        return field;
    default:
        if (totals->by_origin[SPAD_ORIGIN_ESTIMATE] == 0) return NULL;
        snprintf(field, SPAD_BADGE_TEXT, "%s of %s costs estimated",
                 spad__grouped(totals->by_origin[SPAD_ORIGIN_ESTIMATE]).text, all.text);
        return field;
    }
}

const char *spad_sim_badge_text(const spad_sim_totals *totals, char field[SPAD_BADGE_TEXT]) {
    const char *costs = spad__costs_badge(totals, field);
    if (totals->uncounted[0] == '\0') return costs;
    const size_t used = costs != NULL ? strlen(costs) : 0;
    snprintf(field + used, SPAD_BADGE_TEXT - used, "%snot counted: %s", used > 0 ? "; " : "",
             totals->uncounted);
    return field;
}
