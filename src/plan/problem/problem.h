/* SPDX-License-Identifier: Apache-2.0
 *
 * The problem as the caller gave it; see problem.c.
 */
#ifndef SPAD_PLAN_PROBLEM_PROBLEM_H
#define SPAD_PLAN_PROBLEM_PROBLEM_H

#include "base/index.h"
#include "base/memory.h"
#include "base/text.h"
#include "spad/experimental/soft_constraints.h"
#include "spad/plan.h"

typedef struct spad__pair {
    int32_t a;
    int32_t b;
} spad__pair;

/* Buffer `slice` is at byte `at` of buffer `whole`. */
typedef struct spad__slice {
    int32_t slice;
    int32_t whole;
    int64_t at;
} spad__slice;

/* It costs something if the two share a byte; see soft.c. */
typedef struct spad__avoid {
    int32_t a;
    int32_t b;
    int64_t cost;
} spad__avoid;

/*
 * Invariants
 *   every buffer obeys its own rules (see spad_plan_add), alignment >= 1, lanes >= 1
 *   names has every buffer that has a name, and no two have the same one
 */
struct spad_plan {
    spad_host host;
    spad__arena arena;       /* names and gaps */
    const spad_space *space; /* NULL: one lane, no rules */
    int64_t capacity;
    int64_t lanes;
    SPAD_ARRAY(spad_plan_buffer) buffers;
    SPAD_ARRAY(spad__pair) aliases;
    SPAD_ARRAY(spad__pair) aparts;
    SPAD_ARRAY(spad__slice) slices;   /* at most one for a slice */
    SPAD_ARRAY(spad__pair) in_places; /* a: the output, b: the input */
    SPAD_ARRAY(spad__avoid) avoids;
    spad__index names;
};

/* What of a buffer was refused. */
typedef enum spad__field {
    SPAD__FIELD_NAME,
    SPAD__FIELD_LOWER,
    SPAD__FIELD_UPPER,
    SPAD__FIELD_SIZE,
    SPAD__FIELD_ALIGNMENT,
    SPAD__FIELD_LANES,
    SPAD__FIELD_BANK,
    SPAD__FIELD_OFFSET,
    SPAD__FIELD_LANE,
    SPAD__FIELD_GAPS /* + the number of the gap */
} spad__field;

/* spad_plan_add, which on an error also says which field is to blame. */
spad_status spad__plan_add(size_t *out, spad_plan *plan, const spad_plan_buffer *buffer,
                           int32_t *field, spad_error *error);

/* The number of the buffer with that name, or -1. */
int32_t spad__plan_find(const spad_plan *plan, const char *name, size_t length);

/* Takes back the buffers from number `count` on; the arena is the caller's business. */
void spad__plan_forget(spad_plan *plan, size_t count);

/* The lowest legal start lane at or after `from` for a tile of `lanes` lanes, or -1. */
int64_t spad__plan_start_lane(const spad_plan *plan, int64_t lanes, int64_t from);

/* Vector clocks: is the life of a over before that of b begins, in every order of execution? Both
 * have as many numbers. */
static inline bool spad__is_before(const spad_plan_buffer *a, const spad_plan_buffer *b) {
    for (size_t k = 0; k < a->clock_count; k++)
        if (a->upper_clock[k] > b->lower_clock[k]) return false;
    return true;
}

/* May the output be where the input is? It dies there, and was there before. */
static inline bool spad__dies_at(const spad_plan_buffer *input, const spad_plan_buffer *output) {
    return input->lower <= output->lower && input->upper - 1 <= output->lower;
}

/* Whether one of two alignments or bank sizes divides the other. */
static inline bool spad__nested(int64_t a, int64_t b) {
    return a % b == 0 || b % a == 0;
}

/* The places of a result of this very problem. SPAD_ERR_STALE: of another one; SPAD_ERR_ARGUMENT:
 * there are none. All that reads places by the numbers of buffers gets them here. */
spad_status spad__plan_places(const spad_plan_place **out, const spad_plan *plan,
                              const spad_plan_result *result, spad_error *error);

/* SPAD_ERR_STALE: the result or the reason (optional: NULL) is not one of this very problem. */
spad_status spad__plan_match_reason(const spad_plan *plan, const spad_plan_result *result,
                                    const spad_plan_reason *reason, spad_error *error);

/* "'name'" or "number 7" for messages. */
const char *spad__plan_label(const spad_plan *plan, size_t number, char *field, size_t size);

/* Why a result does not fit, and what would: each a line, with `separator` between its items. A
 * remedy is written only if there is one. */
void spad__plan_write_why(spad__out *out, const spad_plan *plan, const spad_plan_result *result,
                          const spad_plan_reason *reason, const char *separator);
bool spad__plan_has_remedy(const spad_plan_reason *reason);
void spad__plan_write_remedy(spad__out *out, const spad_plan *plan, const spad_plan_result *result,
                             const spad_plan_reason *reason, const char *separator);
/* One of its changes: "fits if ...". */
/* The buffer as it is after the change. */
void spad__plan_apply_change(spad_plan_buffer *buffer, const spad_plan_change *change);
void spad__plan_write_change(spad__out *out, const spad_plan *plan, const spad_plan_change *change);
/* One of its sets: "fits if ... are moved ...". */
void spad__plan_write_spill(spad__out *out, const spad_plan *plan, const spad_plan_spill *set);

/* The members of the JSON object of a result; the result and the reason are those of the plan. */
void spad__plan_json(spad__json *json, const spad_plan *plan, const spad_plan_result *r,
                     const spad_plan_reason *reason);

#endif
