/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows in several memories: the memories, and a solve over all of them.
 *
 * Where every row names one memory, each memory is a plan of its own. Where rows may choose, the
 * search of tiers decides, and the stays of each memory become a plan in which all of them are
 * pinned, so that a caller has one kind of result to show.
 */
#include "plan/tiers/spaces.h"

#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/limit.h"
#include "base/options.h"
#include "plan/problem/stop.h"

enum { STAY_DIGITS = 24 };

spad_status spad_spaces_create(spad_spaces **out, const spad_host *host, spad_error *error) {
    *out = NULL;
    const spad_host memory = spad__host_or_default(host);
    spad_spaces *spaces = spad__new(&memory, sizeof *spaces);
    if (spaces == NULL) return spad__fail_host_memory(error);
    spaces->host = memory;
    spaces->arena.host = memory;
    *out = spaces;
    return SPAD_OK;
}

void spad_spaces_destroy(spad_spaces *spaces) {
    if (spaces == NULL) return;
    const spad_host host = spaces->host;
    for (size_t m = 0; m < SPAD_TIERS_MEMORIES; m++) spad_plan_destroy(spaces->plans[m]);
    spad_plan_destroy(spaces->all);
    spad__tiers_destroy(spaces->tiers);
    spad__array_free(&host, &spaces->rows);
    spad__arena_free(&spaces->arena);
    spad__free(&host, spaces, sizeof *spaces);
}

void spad_spaces_set_target(spad_spaces *spaces, const spad_target *target) {
    spaces->target = target;
}

size_t spad_spaces_count(const spad_spaces *spaces) {
    return spaces->memory_count;
}

const spad_tier *spad_spaces_get(const spad_spaces *spaces, size_t number) {
    return number < spaces->memory_count ? &spaces->memories[number] : NULL;
}

const spad_space *spad_spaces_get_space(const spad_spaces *spaces, size_t number) {
    return number < spaces->memory_count ? spaces->rules[number] : NULL;
}

/* ---- memories ---------------------------------------------------------------------- */

static const spad_space *space_of_name(const spad_target *target, const char *name, size_t length) {
    for (size_t k = 0; target != NULL && k < target->space_count; k++)
        if (strlen(target->spaces[k].name) == length &&
            memcmp(target->spaces[k].name, name, length) == 0)
            return &target->spaces[k];
    return NULL;
}

static size_t memory_of_name(const spad_spaces *spaces, const char *name, size_t length) {
    for (size_t m = 0; m < spaces->memory_count; m++)
        if (strlen(spaces->memories[m].name) == length &&
            memcmp(spaces->memories[m].name, name, length) == 0)
            return m;
    return SPAD__NO_MEMORY;
}

/* Adds a memory of that name; its rules are those of the target. */
static spad_status add_named_memory(spad_spaces *spaces, const char *name, size_t length,
                                    int64_t capacity, int64_t cost, spad_error *error) {
    const spad_space *rules = space_of_name(spaces->target, name, length);
    if (spaces->memory_count == SPAD_TIERS_MEMORIES)
        return spad__fail(error, SPAD_ERR_ARGUMENT, "there are more than %d memories",
                          SPAD_TIERS_MEMORIES);
    if (rules != NULL && capacity == SPAD_UNBOUNDED) capacity = spad_space_get_usable(rules);
    if (rules != NULL && spad_space_get_usable(rules) != SPAD_UNBOUNDED &&
        capacity > spad_space_get_usable(rules))
        return spad__fail(error, SPAD_ERR_BOUNDS, "'%.*s' has %s B, which is less than %s",
                          (int)(length < 40 ? length : 40), name,
                          spad__grouped(spad_space_get_usable(rules)).text,
                          spad__grouped(capacity).text);
    const char *copy = spad__arena_copy(&spaces->arena, name, length);
    if (copy == NULL) return spad__fail_host_memory(error);
    spaces->rules[spaces->memory_count] = rules;
    spaces->memories[spaces->memory_count++] =
        (spad_tier){.name = copy, .capacity = capacity, .cost = cost};
    return SPAD_OK;
}

spad_status spad_spaces_add_memory(size_t *out, spad_spaces *spaces, const spad_tier *memory,
                                   spad_error *error) {
    if (memory->name == NULL || memory->name[0] == '\0' || memory->capacity < 0 || memory->cost < 0)
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "a memory has a name, and neither its capacity nor its cost is negative");
    if (spaces->read) return spad__fail(error, SPAD_ERR_ARGUMENT, "memories come before the rows");
    const size_t length = strlen(memory->name);
    if (memory_of_name(spaces, memory->name, length) != SPAD__NO_MEMORY)
        return spad__fail(error, SPAD_ERR_NAME, "memory '%.40s' was added before", memory->name);
    const spad_status status =
        add_named_memory(spaces, memory->name, length, memory->capacity, memory->cost, error);
    if (status == SPAD_OK && out != NULL) *out = spaces->memory_count - 1;
    return status;
}

size_t spad__spaces_find(spad_spaces *spaces, const char *name, size_t length, spad_status *status,
                         spad_error *error) {
    *status = SPAD_OK;
    if (memchr(name, '\0', length) != NULL) { /* it would not be found again */
        *status = spad__fail(error, SPAD_ERR_NAME, "the name of a memory has a zero byte");
        return SPAD__NO_MEMORY;
    }
    const size_t known = memory_of_name(spaces, name, length);
    if (known != SPAD__NO_MEMORY) return known;
    if (!spaces->named && space_of_name(spaces->target, name, length) == NULL)
        return SPAD__NO_MEMORY;
    *status = add_named_memory(spaces, name, length, SPAD_UNBOUNDED, (int64_t)spaces->memory_count,
                               error);
    return *status == SPAD_OK ? spaces->memory_count - 1 : SPAD__NO_MEMORY;
}

/* ---- solving ----------------------------------------------------------------------- */

/* What a result owns. */
typedef struct spaces_owned {
    spad_host host;
    size_t count;
    spad_spaces_part *parts;
    spad_plan *plans[SPAD_TIERS_MEMORIES]; /* of stays; NULL: the plan is that of the problem */
    spad_plan_result *results[SPAD_TIERS_MEMORIES];
    spad_plan_reason *reasons[SPAD_TIERS_MEMORIES];
    spad_tiers_result *tiers;
} spaces_owned;

void spad_spaces_result_destroy(spad_spaces_result *result) {
    if (result == NULL) return;
    spaces_owned *owned = result->owned;
    const spad_host host = owned->host;
    for (size_t m = 0; m < owned->count; m++) {
        spad_plan_reason_destroy(owned->reasons[m]);
        spad_plan_result_destroy(owned->results[m]);
        spad_plan_destroy(owned->plans[m]);
    }
    spad__tiers_result_destroy(owned->tiers);
    spad__free(&host, owned->parts, (owned->count + 1) * sizeof *owned->parts);
    spad__free(&host, owned, sizeof *owned);
    spad__free(&host, result, sizeof *result);
}

static spad_spaces_result *new_spaces_result(const spad_spaces *spaces) {
    const spad_host *host = &spaces->host;
    const size_t count = spaces->memory_count;
    spad_spaces_result *r = spad__new(host, sizeof *r);
    spaces_owned *owned = spad__new(host, sizeof *owned);
    spad_spaces_part *parts = spad__new_array(host, count + 1, sizeof *parts);
    if (r == NULL || owned == NULL || parts == NULL) {
        spad__free(host, r, sizeof *r);
        spad__free(host, owned, sizeof *owned);
        spad__free(host, parts, (count + 1) * sizeof *parts);
        return NULL;
    }
    *owned = (spaces_owned){.host = *host, .count = count, .parts = parts};
    *r = (spad_spaces_result){.count = count, .parts = parts, .owned = owned};
    return r;
}

/* The verdict of two memories together: what is worse. */
static spad_plan_verdict worse_verdict(spad_plan_verdict a, spad_plan_verdict b) {
    if (a == SPAD_PLAN_INFEASIBLE || b == SPAD_PLAN_INFEASIBLE) return SPAD_PLAN_INFEASIBLE;
    return a > b ? a : b;
}

/* Pairs of the column `avoid` are constraints, which a plain solve does not see. */
static spad_status solve_with_avoids(spad_plan_result **out, const spad_plan *plan,
                                     const spad_plan_options *options, spad_error *error) {
    spad_soft_result *r;
    if (plan->avoids.count == 0) return spad_plan_solve(out, plan, options, error);
    const spad_status status =
        spad_plan_solve_soft(&r, plan, &(spad_soft_constraints){0}, options, error);
    if (status != SPAD_OK) return status;
    *out = r->plan;
    r->plan = NULL;
    spad_soft_result_destroy(r);
    return SPAD_OK;
}

/* Plans memory m alone. */
static spad_status solve_space_alone(spad_spaces_result *r, const spad_spaces *spaces, size_t m,
                                     const spad_plan_options *options, spad_error *error) {
    spaces_owned *owned = r->owned;
    const spad_plan *plan = spaces->plans[m];
    spad_plan_options mine = *options;
    if (plan->capacity == SPAD_UNBOUNDED) mine.goal = SPAD_PLAN_MINIMIZE;
    spad_status status = solve_with_avoids(&owned->results[m], plan, &mine, error);
    if (status != SPAD_OK) return status;
    owned->parts[m] = (spad_spaces_part){.plan = plan, .result = owned->results[m]};
    if (owned->results[m]->verdict > SPAD_PLAN_FEASIBLE) {
        status = spad_plan_explain(&owned->reasons[m], plan, owned->results[m], 0, NULL, error);
        if (status != SPAD_OK) return status;
        if (owned->reasons[m]->found != NULL)
            owned->parts[m].result = owned->reasons[m]->found;
        else
            owned->parts[m].reason = owned->reasons[m];
    }
    r->verdict = worse_verdict(r->verdict, owned->parts[m].result->verdict);
    return SPAD_OK;
}

/* Each memory gets an equal part of the time that is left. */
static spad_status solve_spaces_alone(spad_spaces_result *r, const spad_spaces *spaces,
                                      const spad_plan_options *options, spad_error *error) {
    const int64_t deadline = spad__deadline(options->timeout_ns);
    spad_status status = SPAD_OK;
    for (size_t m = 0; m < spaces->memory_count && status == SPAD_OK; m++) {
        spad_plan_options mine = *options;
        if (options->timeout_ns > 0) {
            const int64_t left = deadline - spad__clock();
            mine.timeout_ns = spad__max(left / (int64_t)(spaces->memory_count - m), 1);
        }
        status = solve_space_alone(r, spaces, m, &mine, error);
    }
    return status;
}

/* ---- stays ------------------------------------------------------------------------- */

size_t spad__stay_room(const spad_spaces *spaces) {
    return 2 * spaces->longest + STAY_DIGITS + 2;
}

void spad__stay_name(char *field, const spad_spaces *spaces, size_t row, size_t stay) {
    const char *name = spaces->all->buffers.items[row].name;
    field[0] = '\0';
    if (name == NULL) return;
    size_t length = strlen(name);
    memcpy(field, name, length + 1);
    if (stay < 2) return;
    /* "x.2", or "x..2" if there is an x.2, and so on: it ends when it is longer than all names */
    for (bool taken = true; taken;) {
        field[length++] = '.';
        const int digits = snprintf(field + length, STAY_DIGITS, "%zu", stay);
        taken = spad__plan_find(spaces->all, field, length + (size_t)digits) >= 0;
    }
}

/* Adds the stays of a memory as pins. */
static spad_status add_stays(spad_plan *plan, const spad_spaces *spaces,
                             const spad_tiers_result *tiers, size_t m, spad_error *error) {
    spad_status status = SPAD_OK;
    size_t stay = 0;
    for (size_t k = 0; k < tiers->stay_count && status == SPAD_OK; k++) {
        const spad_tier_stay *s = &tiers->stays[k];
        stay = k > 0 && tiers->stays[k - 1].buffer == s->buffer ? stay + 1 : 1;
        if (s->memory != m || s->lower == s->upper) continue;
        const size_t room = spad__stay_room(spaces);
        char *name = spad__new_array(&spaces->host, room, 1);
        if (name == NULL) return spad__fail_host_memory(error);
        spad__stay_name(name, spaces, s->buffer, stay);
        const spad_plan_buffer buffer = {.name = name[0] != '\0' ? name : NULL,
                                         .lower = s->lower,
                                         .upper = s->upper,
                                         .size = spaces->all->buffers.items[s->buffer].size,
                                         .pinned = true,
                                         .offset = s->offset};
        status = spad_plan_add(NULL, plan, &buffer, error);
        spad__free(&spaces->host, name, room);
    }
    return status;
}

static spad_status plan_stays(spad_spaces_result *r, const spad_spaces *spaces, size_t m,
                              spad_error *error) {
    spaces_owned *owned = r->owned;
    spad_status status = spad_plan_create(&owned->plans[m], &spaces->host, error);
    if (status == SPAD_OK)
        status = spad_plan_set_capacity(owned->plans[m], spaces->memories[m].capacity, error);
    if (status == SPAD_OK) status = add_stays(owned->plans[m], spaces, owned->tiers, m, error);
    if (status == SPAD_OK)
        status = spad_plan_solve(&owned->results[m], owned->plans[m], NULL, error);
    if (status == SPAD_OK)
        owned->parts[m] = (spad_spaces_part){owned->plans[m], owned->results[m], NULL};
    return status;
}

static spad_status solve_space_choice(spad_spaces_result *r, const spad_spaces *spaces,
                                      const spad_plan_options *options, spad_error *error) {
    spaces_owned *owned = r->owned;
    spad_status status = spad__tiers_solve(&owned->tiers, spaces->tiers, options, error);
    if (status != SPAD_OK) return status;
    r->tiers = owned->tiers;
    r->verdict = owned->tiers->verdict;
    if (r->verdict > SPAD_PLAN_FEASIBLE) return SPAD_OK;
    for (size_t m = 0; m < spaces->memory_count && status == SPAD_OK; m++)
        status = plan_stays(r, spaces, m, error);
    return status;
}

spad_status spad_spaces_solve(spad_spaces_result **out, const spad_spaces *spaces,
                              const spad_plan_options *options, spad_error *error) {
    spad_plan_options o;
    *out = NULL;
    if (!spaces->read)
        return spad__fail(error, SPAD_ERR_ARGUMENT, "no text was read: there are no rows");
    spad_status status = SPAD__COPY_OPTIONS(&o, options, error);
    if (status == SPAD_OK) status = spad__check_effort(o.timeout_ns, o.node_limit, error);
    if (status != SPAD_OK) return status;
    spad_spaces_result *r = new_spaces_result(spaces);
    if (r == NULL) return spad__fail_host_memory(error);
    status = spaces->tiers != NULL ? solve_space_choice(r, spaces, &o, error)
                                   : solve_spaces_alone(r, spaces, &o, error);
    if (status == SPAD_OK)
        *out = r;
    else
        spad_spaces_result_destroy(r);
    return status;
}
