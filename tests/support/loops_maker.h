/* SPDX-License-Identifier: Apache-2.0
 *
 * What random_loops.c and random_indices.c share: the program that is made, and its expressions.
 */
#ifndef SPAD_TEST_LOOPS_MAKER_H
#define SPAD_TEST_LOOPS_MAKER_H

#include "base/random.h"
#include "support/loop_program.h"

/* 1, T, N, M, T x N, T x M, N x M */
enum { MONOMIALS = 7 };

typedef struct poly {
    int64_t of[MONOMIALS];
} poly;

typedef struct bounded {
    int node;
    poly most; /* its least value is 0 */
} bounded;

typedef struct scope {
    int variables[8];
    int count;
} scope;

/* What a kernel is about. */
typedef enum theme {
    WRITES,  /* off the chip, of agents: do they meet? */
    PROGRAM, /* no agents: does a read find what was written for it? */
    SHARED   /* agents that write and read the same tensors */
} theme;

typedef enum scheme { ALONE, IN_STEP, TURNS, AHEAD, REACHES, STORES, SCHEMES } scheme;

/* How most indices of one dimension look. */
typedef enum habit { FREE, RATE, REST, QUOTIENT, STAY } habit;

typedef struct loop_shape {
    int shape, inner_step, outer_step, outer_param, inner_param, outer_count, add, by;
    bool nested;
} loop_shape;

typedef struct loops_maker {
    spad__random random;
    loop_program *p;
    scheme scheme;
    poly most[LOOP_VARIABLES]; /* of loop variables; least: 0 */
    poly extent[LOOP_TENSORS][LOOP_DIMS];
    theme theme;
    int agent;
    int pending;
    int far;                           /* the largest constants */
    loop_shape loops;                  /* agents in step have the same */
    loop_statement last[LOOP_TENSORS]; /* write, to make a similar access */
    bool has_last[LOOP_TENSORS];
    scope last_scope[LOOP_TENSORS];
    habit habits[LOOP_TENSORS][LOOP_DIMS];
    int64_t rates[LOOP_TENSORS][LOOP_DIMS];
    int64_t divisors[LOOP_TENSORS][LOOP_DIMS];
    int level; /* of the loop that moves them */
} loops_maker;

static inline int pick(loops_maker *m, int low, int high) {
    return (int)spad__random_in(&m->random, low, high);
}

static inline bool chance(loops_maker *m, int percent) {
    return pick(m, 1, 100) <= percent;
}

int loops_new_node(loops_maker *m, loop_op op, int64_t value, int left, int right);
int loops_number(loops_maker *m, int64_t value);
int loops_param(loops_maker *m, int which);
int loops_variable(loops_maker *m, int which);
int loops_two(loops_maker *m, loop_op op, int left, int right);
int loops_times(loops_maker *m, int node, int64_t factor);
int loops_plus(loops_maker *m, int left, int right);
void loops_add_poly(poly *sum, const poly *other, int64_t factor);
int loops_poly_node(loops_maker *m, const poly *of);
int64_t loops_threshold(loops_maker *m);
bounded loops_rest_of(loops_maker *m, const scope *in);
bounded loops_usual_index(loops_maker *m, const scope *in, int tensor, int dim);
void loops_choose_habits(loops_maker *m, int tensor);

#endif
