/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing folded nodes through the builder: what fold_build.c shares with the kernels with agents.
 */
#ifndef SPAD_KERNEL_FOLD_FOLD_BUILD_H
#define SPAD_KERNEL_FOLD_FOLD_BUILD_H

#include "kernel/fold/fold.h"

/* Numbers of a node may grow with a parameter: then as many slopes come after its moving numbers,
 * and after its fixed ones. */
typedef struct spad__fold_maker {
    spad__folder *f;
    spad__kernel_builder *b;
    spad_error *error;
    spad_status status; /* of the first call that failed */
    size_t depth;
    spad_expr variables[SPAD__LOOPS_DEEP];
    const int64_t *steps[SPAD__LOOPS_DEEP]; /* of each loop: of the numbers of the node at hand */
    bool grows[SPAD__LOOPS_DEEP];           /* its trip count depends on the parameter */
    spad_expr param;                        /* 0: none */
    int64_t param_value;
    size_t moving_slopes; /* from a moving number of the top node to its slope */
    size_t fixed_slopes;
} spad__fold_maker;

static inline bool spad__fold_fine(const spad__fold_maker *m) {
    return m->status == SPAD_OK;
}

spad_expr spad__fold_constant(spad__fold_maker *m, int64_t value);
spad_expr spad__fold_apply(spad__fold_maker *m, spad_expr_op op, spad_expr left, spad_expr right);

/* A number of the node at hand: its value in the first round and what each loop adds. */
spad_expr spad__fold_number(spad__fold_maker *m, const int64_t *moving, size_t at);

/* The same with another value in the first round. */
spad_expr spad__fold_number_from(spad__fold_maker *m, int64_t first, const int64_t *moving,
                                 size_t at);

/* Does it depend on the parameter? */
bool spad__fold_depends(const spad__fold_maker *m, const int64_t *moving, size_t at);

void spad__fold_add_sources(spad__fold_maker *m);
void spad__fold_add_faults(spad__fold_maker *m);

/* A top node with all that is in it. */
void spad__fold_add_top(spad__fold_maker *m, const spad__fold_node *node);

/* With agents: a statement with these numbers (fold_statement.c). */
void spad__fold_add_statement(spad__fold_maker *m, size_t statement, const int64_t *moving);

#endif
