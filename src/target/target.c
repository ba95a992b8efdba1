/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding targets and their parts, and the rules of a space: start lanes,
 * granules, reserve. Everything here is a look at constant tables; lookups by
 * name are linear in tables of at most a few dozen rows.
 */
#include "target/target.h"
#include "spad/target.h"

#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/text.h"
#include "target/builtin.h"

/* ---- rectangles -------------------------------------------------------------------- */

/* Do [a, a + n) and [b, b + m) share a number? The sums may not fit, the
 * difference of the starts always does, as an unsigned number. */
static bool ranges_overlap(int64_t a, int64_t n, int64_t b, int64_t m) {
    if (n <= 0 || m <= 0) return false;
    return a <= b ? (uint64_t)b - (uint64_t)a < (uint64_t)n
                  : (uint64_t)a - (uint64_t)b < (uint64_t)m;
}

bool spad_rect_overlaps(spad_rect a, spad_rect b) {
    return ranges_overlap(a.lane, a.lanes, b.lane, b.lanes) &&
           ranges_overlap(a.byte, a.bytes, b.byte, b.bytes);
}

/* ---- built-in targets -------------------------------------------------------------- */

const char *const spad__fence_words[SPAD_FENCE_KINDS] = {[SPAD_FENCE_PROXY] = "proxy",
                                                         [SPAD_FENCE_ISSUE] = "issue",
                                                         [SPAD_FENCE_THREADS] = "threads",
                                                         [SPAD_FENCE_INIT] = "init"};

static const spad__target_list *const lists[] = {
    &spad__targets_neuron,
    &spad__targets_nvidia,
    &spad__targets_ascend,
    &spad__targets_host,
};

size_t spad_target_count(void) {
    size_t count = 0;
    for (size_t i = 0; i < SPAD__COUNT(lists); i++) count += lists[i]->count;
    return count;
}

const spad_target *spad_target_get(size_t index) {
    for (size_t i = 0; i < SPAD__COUNT(lists); i++) {
        if (index < lists[i]->count) return &lists[i]->targets[index];
        index -= lists[i]->count;
    }
    return NULL;
}

static bool is_called(const spad_target *target, const char *name) {
    if (strcmp(target->name, name) == 0) return true;
    for (size_t i = 0; i < target->alias_count; i++) {
        if (strcmp(target->aliases[i], name) == 0) return true;
    }
    return false;
}

static bool is_separator(char c) {
    return c == '-' || c == '_' || c == ' ';
}

/* "RTX4090", "rtx-4090" and "RTX 4090" are one name; so are "910B" and "910b". */
static bool is_same_name(const char *a, const char *b) {
    for (;; a++, b++) {
        while (is_separator(*a)) a++;
        while (is_separator(*b)) b++;
        if (spad__lower(*a) != spad__lower(*b)) return false;
        if (*a == '\0') return true;
    }
}

/* Aliases are exact: "a2" is an Ascend, and "A2" a GPU. */
static bool is_product(const spad_target *target, const char *name) {
    if (is_same_name(target->name, name)) return true;
    for (size_t i = 0; i < target->product_count; i++) {
        if (is_same_name(target->products[i].name, name)) return true;
    }
    return false;
}

static spad_status unknown_target(const char *name, spad_error *error) {
    spad__nearest nearest;
    spad__nearest_start(&nearest, name);
    const spad_target *target;
    for (size_t t = 0; (target = spad_target_get(t)) != NULL; t++) {
        spad__nearest_offer(&nearest, target->name);
        for (size_t a = 0; a < target->alias_count; a++) {
            spad__nearest_offer(&nearest, target->aliases[a]);
        }
        for (size_t p = 0; p < target->product_count; p++) {
            spad__nearest_offer(&nearest, target->products[p].name);
        }
    }
    char hint[128];
    spad__nearest_phrase(&nearest, hint, sizeof hint);
    char shown[SPAD_NAME_FACT_MAX];
    spad__copy_cut(shown, sizeof shown, name);
    spad__fail(error, SPAD_ERR_UNKNOWN, "no target is called '%s'%s", shown, hint);
    spad__fact_names(error, name, NULL);
    return SPAD_ERR_UNKNOWN;
}

spad_status spad_target_find(const spad_target **out, const char *name, spad_error *error) {
    *out = NULL;
    if (name == NULL) return spad__fail(error, SPAD_ERR_UNKNOWN, "no target was named");
    const spad_target *target;
    for (size_t t = 0; (target = spad_target_get(t)) != NULL; t++) {
        if (!is_called(target, name)) continue;
        *out = target;
        return SPAD_OK;
    }
    for (size_t t = 0; (target = spad_target_get(t)) != NULL; t++) {
        if (!is_product(target, name)) continue;
        *out = target;
        return SPAD_OK;
    }
    return unknown_target(name, error);
}

/* ---- parts ------------------------------------------------------------------------- */

/* The name of row `index` in a table whose rows start with a name. */
typedef const char *name_at(const spad_target *target, size_t index);

static const char *space_name(const spad_target *target, size_t index) {
    return index < target->space_count ? target->spaces[index].name : NULL;
}

static const char *engine_name(const spad_target *target, size_t index) {
    return index < target->engine_count ? target->engines[index].name : NULL;
}

static const char *fence_name(const spad_target *target, size_t index) {
    return index < target->fence_count ? target->fences[index].name : NULL;
}

/* Rows of further instances come last, and are not listed. */
static const char *listed_space_name(const spad_target *target, size_t index) {
    if (index < target->space_count && target->spaces[index].instance > 0) return NULL;
    return space_name(target, index);
}

static spad_status find_part(size_t *out, const spad_target *target, const char *what, name_at *at,
                             const char *name, spad_error *error) {
    *out = SIZE_MAX;
    if (name == NULL) return spad__fail(error, SPAD_ERR_UNKNOWN, "no %s was named", what);
    const char *candidate;
    for (size_t i = 0; (candidate = at(target, i)) != NULL; i++) {
        if (strcmp(candidate, name) != 0) continue;
        *out = i;
        return SPAD_OK;
    }
    char list[SPAD_MESSAGE_MAX] = "";
    size_t used = 0;
    if (at == space_name) at = listed_space_name;
    for (size_t i = 0; (candidate = at(target, i)) != NULL && used < sizeof list; i++) {
        used +=
            (size_t)snprintf(list + used, sizeof list - used, i == 0 ? "%s" : ", %s", candidate);
    }
    char shown[SPAD_NAME_FACT_MAX];
    spad__copy_cut(shown, sizeof shown, name);
    spad__fail(error, SPAD_ERR_UNKNOWN, "target '%s' has no %s '%s'; it has %s%s%s", target->name,
               what, shown, used > 0 ? list : "no ", used > 0 ? "" : what, used > 0 ? "" : "s");
    spad__fact_names(error, name, target->name);
    return SPAD_ERR_UNKNOWN;
}

/* "ub[2]": the row of "ub" and the number, if that is what the name looks like. */
static bool splits(const spad_target *target, const char *name, size_t *base, int64_t *instance) {
    const char *open = name != NULL ? strchr(name, '[') : NULL;
    if (open == NULL) return false;
    const size_t length = (size_t)(open - name);
    *instance = 0;
    const char *at = open + 1;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (*instance > INT32_MAX) return false;
        *instance = *instance * 10 + (*at - '0');
    }
    if (at == open + 1 || strcmp(at, "]") != 0) return false;
    for (*base = 0; *base < target->space_count; (*base)++) {
        const char *candidate = target->spaces[*base].name;
        if (strlen(candidate) == length && strncmp(candidate, name, length) == 0) return true;
    }
    return false;
}

static spad_status find_instance(size_t *out, const spad_target *target, size_t base,
                                 int64_t instance, spad_error *error) {
    const spad_space *space = &target->spaces[base];
    *out = instance == 0 ? base : SIZE_MAX;
    for (size_t i = base; i < target->space_count && instance > 0; i++) {
        const spad_space *row = &target->spaces[i];
        if (row->instance == instance && row->instance_of == base) *out = i;
    }
    if (*out != SIZE_MAX) return SPAD_OK;
    const int64_t count = space->instances > 1 ? space->instances : 1;
    spad__fail(error, SPAD_ERR_UNKNOWN, "'%s' of '%s' has %lld %s, and no %s[%lld]", space->name,
               target->name, (long long)count,
               count == 1 ? "instance" : "instances, counted from 0", space->name,
               (long long)instance);
    spad__fact_names(error, space->name, target->name);
    spad__fact_amounts(error, instance, count, SPAD_NO_FACT);
    return SPAD_ERR_UNKNOWN;
}

spad_status spad_target_find_space(size_t *out, const spad_target *target, const char *name,
                                   spad_error *error) {
    size_t base;
    int64_t instance;
    if (splits(target, name, &base, &instance)) {
        return find_instance(out, target, base, instance, error);
    }
    return find_part(out, target, "space", space_name, name, error);
}

spad_status spad__target_find_engine(size_t *out, const spad_target *target, const char *name,
                                     spad_error *error) {
    return find_part(out, target, "engine", engine_name, name, error);
}

spad_status spad__target_find_fence(size_t *out, const spad_target *target, const char *name,
                                    spad_error *error) {
    return find_part(out, target, "fence", fence_name, name, error);
}

/* ---- figures ----------------------------------------------------------------------- */

const char *spad__origin_name(spad_origin origin) {
    static const char *const names[SPAD_ORIGINS] = {[SPAD_ORIGIN_STATED] = "stated",
                                                    [SPAD_ORIGIN_PUBLISHED] = "published",
                                                    [SPAD_ORIGIN_MEASURED] = "measured",
                                                    [SPAD_ORIGIN_ESTIMATE] = "estimate"};
    return (unsigned)origin < SPAD_ORIGINS ? names[origin] : "?";
}

const char *spad__work_name(spad_work work) {
    static const char *const names[SPAD_WORKS] = {[SPAD_WORK_MAC] = "mac",
                                                  [SPAD_WORK_FMA] = "fma",
                                                  [SPAD_WORK_EXP] = "exp",
                                                  [SPAD_WORK_CONVERT] = "convert",
                                                  [SPAD_WORK_REDUCE] = "reduce"};
    return (unsigned)work < SPAD_WORKS ? names[work] : "?";
}

const spad_figure *spad__figure_find(const spad_figure *figures, size_t count, const char *field) {
    const spad_figure *all = NULL;
    for (size_t i = count; i-- > 0;) {
        if (strcmp(figures[i].field, field) == 0) return &figures[i];
        if (all == NULL && figures[i].field[0] == '\0') all = &figures[i];
    }
    return all;
}

/* ---- rules of a space -------------------------------------------------------------- */

int64_t spad_space_get_usable(const spad_space *space) {
    return space->bytes == SPAD_UNBOUNDED ? SPAD_UNBOUNDED : space->bytes - space->reserved;
}

static const spad_lane_rule *find_rule(const spad_space *space, int64_t lanes) {
    for (size_t i = 0; i < space->lane_rule_count; i++) {
        const spad_lane_rule *rule = &space->lane_rules[i];
        if (lanes >= rule->lanes_min && lanes <= rule->lanes_max) return rule;
    }
    return NULL;
}

static bool allows_start(const spad_lane_rule *rule, int64_t lane) {
    for (size_t i = 0; i < rule->start_count; i++) {
        if (rule->starts[i] == lane) return true;
    }
    return false;
}

/* "0, 32, 64 or 96"; a long list ends in dots. */
static void list_starts(const spad_lane_rule *rule, char *field, size_t size) {
    char text[512] = "";
    size_t used = 0;
    for (size_t i = 0; i < rule->start_count && used < sizeof text; i++) {
        const char *comma = i == 0 ? "" : i + 1 < rule->start_count ? ", " : " or ";
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%lld", comma,
                                 (long long)rule->starts[i]);
    }
    spad__copy_cut(field, size, text);
}

/* "lane" or "lanes" */
static const char *lanes_word(int64_t count) {
    return count == 1 ? "lane" : "lanes";
}

static spad_status lane_error(const spad_space *space, int64_t lanes, spad_error *error) {
    spad__fact_names(error, space->name, NULL);
    spad__fact_amounts(error, lanes, space->lanes, SPAD_NO_FACT);
    return SPAD_ERR_LANES;
}

spad_status spad__space_check(const spad_space *space, spad_error *error) {
    const bool sound = space->lanes >= 1 && space->bytes >= 0 && space->reserved >= 0 &&
                       space->reserved <= space->bytes && space->alignment >= 1 &&
                       space->granule >= 1 && space->bank_bytes >= 0 &&
                       (space->bank_bytes > 0 || !space->banks_exclusive);
    if (sound) return SPAD_OK;
    spad__fail(
        error, SPAD_ERR_ARGUMENT,
        "space '%s' breaks a rule of spad_space: lanes, alignment and granule are at least 1, "
        "the reserve is within the bytes, exclusive banks have a size",
        space->name);
    spad__fact_names(error, space->name, NULL);
    return SPAD_ERR_ARGUMENT;
}

spad_status spad_space_check_lanes(const spad_space *space, int64_t lane, int64_t lanes,
                                   spad_error *error) {
    const char *word = lanes_word(lanes);
    if (lanes < 1 || lanes > space->lanes) {
        spad__fail(error, SPAD_ERR_LANES, "a tile of %lld %s does not fit: '%s' has %lld",
                   (long long)lanes, word, space->name, (long long)space->lanes);
        return lane_error(space, lanes, error);
    }
    const spad_lane_rule *rule = find_rule(space, lanes);
    if (space->lane_rule_count > 0 && rule == NULL) {
        spad__fail(error, SPAD_ERR_LANES, "'%s' has no start lane for a tile of %lld %s",
                   space->name, (long long)lanes, word);
        return lane_error(space, lanes, error);
    }
    if (rule != NULL && !allows_start(rule, lane)) {
        char starts[128];
        list_starts(rule, starts, sizeof starts);
        spad__fail(error, SPAD_ERR_LANES,
                   "a tile of %lld %s cannot start at lane %lld of '%s'; "
                   "%lld to %lld lanes start at %s",
                   (long long)lanes, word, (long long)lane, space->name, (long long)rule->lanes_min,
                   (long long)rule->lanes_max, starts);
        return lane_error(space, lanes, error);
    }
    if (lane < 0 || lane > space->lanes - lanes) {
        spad__fail(error, SPAD_ERR_LANES,
                   "a tile of %lld %s at lane %lld is outside the %lld %s of '%s'",
                   (long long)lanes, word, (long long)lane, (long long)space->lanes,
                   lanes_word(space->lanes), space->name);
        return lane_error(space, lanes, error);
    }
    return SPAD_OK;
}

/* The smallest power of two >= value, for 1 <= value <= 2^62. */
static int64_t power_of_two_up(int64_t value) {
    int64_t power = 1;
    while (power < value) power *= 2;
    return power;
}

spad_status spad_space_round(int64_t *out, const spad_space *space, int64_t bytes,
                             spad_error *error) {
    *out = 0;
    if (bytes < 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "a tile cannot have %lld bytes",
                          (long long)bytes);
    }
    if (bytes == 0) return SPAD_OK;
    int64_t granules = (bytes - 1) / space->granule + 1;
    const bool too_many = space->power_of_two && granules > (INT64_C(1) << 62);
    if (space->power_of_two && !too_many) granules = power_of_two_up(granules);
    if (too_many || !spad__mul(granules, space->granule, out)) {
        spad__fail(error, SPAD_ERR_OVERFLOW, "%lld bytes, rounded up for '%s', do not fit 64 bits",
                   (long long)bytes, space->name);
        return SPAD_ERR_OVERFLOW;
    }
    return SPAD_OK;
}
