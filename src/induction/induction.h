/* SPDX-License-Identifier: Apache-2.0
 *
 * induction: what happens to a kernel when one of its parameters grows.
 *
 * A parameter N is a trip count if some loops run longer when it grows and nothing
 * else changes its shape. Then there is a step Q so that with N + Q every such loop
 * has a fixed number of further iterations (`extra`), and every index in it moves
 * by a fixed amount when its loop moves on by them (`shift`). A run with N + Q is
 * then the run with N and one more period put into every growing loop, if the state
 * in front of that period is the same as after it: see prove.c.
 *
 * Loops that grow together are a group: each loop of the main program is one, and
 * all loops of the agents are one.
 */
#ifndef SPAD_INDUCTION_INDUCTION_H
#define SPAD_INDUCTION_INDUCTION_H

#include "base/limit.h"
#include "base/memory.h"
#include "kernel/affine.h"
#include "spad/experimental/kernel_rows.h"

/* Why a parameter cannot be a trip count; in words: induction_reason.c. */
typedef enum spad__refusal_kind {
    SPAD__NOT_REFUSED,
    SPAD__REFUSED_UNEVEN,         /* an expression, or the step itself, does not move evenly */
    SPAD__REFUSED_SIZE,           /* of a tile, a ring, a number of objects changes */
    SPAD__REFUSED_CHANGES,        /* not a size: numbers of tiles, the begin of a loop */
    SPAD__REFUSED_FOLLOWED,       /* another parameter is computed from it */
    SPAD__REFUSED_MORE_INPUT,     /* an input with bytes that others use gets more tiles */
    SPAD__REFUSED_SHORTER,        /* a loop gets shorter */
    SPAD__REFUSED_NESTED,         /* two growing loops, one inside the other */
    SPAD__REFUSED_NO_LOOP,        /* no loop grows */
    SPAD__REFUSED_AMOUNT,         /* an amount or a range moves */
    SPAD__REFUSED_FROM_END,       /* an index inside the loop counts from its end */
    SPAD__REFUSED_APART,          /* indices of one tensor move apart */
    SPAD__REFUSED_WAITS_APART,    /* values of one counter move apart */
    SPAD__REFUSED_TOO_MANY_TILES, /* numbers of tiles beyond 64 bits */
    SPAD__REFUSED_OFF_CHIP,       /* off chip, read and written at one tile after another */
    SPAD__REFUSED_MORE_MEMORY,    /* each tile has its own bytes */
    SPAD__REFUSED_INDEX_FALLS,    /* below 0 sooner or later */
    SPAD__REFUSED_INDEX_FASTER,   /* out of its tensor sooner or later */
    SPAD__REFUSED_TILES,          /* a tensor does not grow: `tiles`, `along` */
    SPAD__REFUSED_COST_FALLS,
    SPAD__REFUSED_EXTENT_FALLS, /* to 0 sooner or later */
    SPAD__REFUSED_TOO_LONG      /* a step too long to be worth its runs */
} spad__refusal_kind;

typedef struct spad__refusal {
    spad__refusal_kind kind;
    const char *name; /* of a tensor, loop, object or statement of the kernel; NULL: none */
    int64_t tiles;    /* TILES: how many there are */
    bool along;       /* TILES: along one of several indices */
} spad__refusal;

typedef struct spad__induction {
    spad__arena arena; /* of all lists */
    size_t param;
    int64_t step;      /* Q */
    size_t groups;     /* 0: no loop grows */
    int64_t *extra;    /* per loop: iterations of a period; 0: does not grow */
    int32_t *group;    /* per loop: its group; -1 */
    int32_t *inside;   /* per statement: the growing loop around it; -1 */
    size_t *first_dim; /* per tensor: where its block dims begin in a row of shifts */
    size_t dims;       /* of all tensors */
    int64_t *shift;    /* [groups][dims]: of the index of a tile in a period */
    int64_t *raise;    /* [groups][syncs]: of the values that waits on a counter ask for */
    bool *carry;       /* [dims]: every run of a growing loop goes on where the one before it ended,
                          as t * N + n does; false: it starts where that one did */
    bool *carry_waits; /* [syncs]: the same for values that waits ask for */
    bool carries;      /* one of them does */
    bool meets;        /* tiles that move are used after their loops at places that do not */
    spad__affine *runs; /* per growing loop: its number among the runs of growing loops of its agent
                         and group,  affine in the loops around it */
    bool *guarded; /* per loop: an `if`, or a loop that ends with a break, is around it, so that it
                      is not known how often it runs */
    int64_t *begins; /* per loop and cursor: scratch */
    bool *counted;   /* per growing loop: `runs` is known, and every agent of the group has as many
                        runs */
    bool *tracked;   /* per tensor: its index counts; false: off chip, only read or only written, or
                        left out */
    uint8_t *kinds;  /* per tensor: SPAD_ACCESS_... of all accesses to it */
    bool *left_out;  /* per tensor: this is about other tensors, which share no bytes with it */
    bool *relies;    /* per parameter: the step and the shifts hold for its value only */
    bool *late;      /* per parameter: `least` holds for its value only */
    bool any_late;   /* true for at least one parameter */
    bool writes_off_chip; /* `least` was looked for */
    bool walked; /* a cursor is kept by the walk, or a loop ends with a break: runs of growing loops
                    are counted as they come (cut.c) */
    bool skipped;  /* statements that run with other values of other parameters only */
    int64_t least; /* writes off the chip meet so late: shapes are run up to that many iterations
                      after those from which on they repeat themselves */
    bool rests;    /* an expression has the rest of the parameter by a number in it */
    bool holds_cursors; /* the places of cursors that a walk keeps are part of the state, so that
                           they need not move evenly */
    /* Where `param` is SPAD__NO_PARAM: runs of these loops get longer, each by itself, and nothing
     * else changes (nested_induction.c). */
    const bool *cut_loops; /* per loop; NULL: no loop. Owned by the caller */
    int64_t keep;          /* shorter runs stay as they are */
    spad__refusal refusal;
} spad__induction;

enum { SPAD__NO_PARAM = INT32_MAX };

/* The subject of an induction, where it is more than a parameter. */
typedef struct spad__induction_request {
    size_t param;
    int64_t step;
    const bool *part;
    bool holds_cursors;
    const bool *cut_loops;
    int64_t keep;
} spad__induction_request;

spad_status spad__induction_init_of(spad__induction *induction, const spad_kernel *kernel,
                                    const spad__induction_request *of, const spad_host *host,
                                    spad_error *error);

/* How many iterations a run of a loop of `rounds` has, where the loops around it stand at `values`;
 * below `keep`: none of them is repeated. Longer runs are cut (kernel/shorten_run.h) to at least
 * `keep` iterations, the same modulo the step. */
int64_t spad__induction_run_length(const spad__induction *induction, const spad_kernel *kernel,
                                   int64_t loop, const int64_t *values);

/* Looks at a parameter of a kernel; its step will be a multiple of `step`, which is 1 if nothing
 * else is known. part: per tensor, is it about it; NULL: about all. SPAD_ERR_HOST_MEMORY. */
static inline spad_status spad__induction_init(spad__induction *induction,
                                               const spad_kernel *kernel, size_t param,
                                               int64_t step, const bool *part,
                                               const spad_host *host, spad_error *error) {
    const spad__induction_request of = {.param = param, .step = step, .part = part};
    return spad__induction_init_of(induction, kernel, &of, host, error);
}
void spad__induction_free(spad__induction *induction);

/* "'x' changes with it": the refusal of a parameter of the kernel in words; "": not refused. */
void spad__induction_reason(const spad__induction *induction, const spad_kernel *kernel,
                            char *field, size_t size);

/* The steps of the parameter, a loop, or both; relies: of the induction, or NULL. */
spad__moves spad__induction_moves(const spad__induction *induction, const spad_kernel *kernel,
                                  bool param, int64_t loop, bool *relies);

/* By how much an expression changes when the parameter grows by a step (`param`), when a growing
 * loop advances by a period (-1: none), or both. False: not by the same amount each time. */
bool spad__induction_shift(const spad__induction *induction, const spad_kernel *kernel,
                           spad_expr expr, bool param, int64_t loop, int64_t *shift);

/* The same where the change depends on loops that do not grow. */
bool spad__induction_affine(const spad__induction *induction, const spad_kernel *kernel,
                            spad_expr expr, bool param, int64_t loop, spad__affine *affine);

/* The same with a period: after *period of these changes it has changed by *affine. */
bool spad__induction_period(const spad__induction *induction, const spad_kernel *kernel,
                            spad_expr expr, bool param, int64_t loop, spad__affine *affine,
                            int64_t *period);

/* Do two accesses to one tensor touch different tiles for every value of the trip counts, as the
 * bounds of their indices show? */
bool spad__induction_never_same(const spad_kernel *kernel, const spad_kernel_access *left,
                                const spad_kernel_access *right);

/* The bounds of an index for every value of the trip counts; INT64_MIN, INT64_MAX: none. */
void spad__induction_index_range(const spad_kernel *kernel, spad_expr index, int64_t *least,
                                 int64_t *most);

/* How often loops of a group have run to their end before a statement is reached, by its agent:
 * affine in the loops around the statement. False: none exists, since conditions decide it. */
bool spad__induction_runs(const spad__induction *induction, const spad_kernel *kernel,
                          size_t statement, size_t group, spad__affine *runs);

/* Is an extent 1 or more for every value of the trip counts, as its bounds show? */
bool spad__induction_extent_settled(const spad_kernel *kernel, spad_amount extent);

/* Is an index inside of an extent for every value of the trip counts, as its bounds show? */
bool spad__induction_index_settled(const spad_kernel *kernel, spad_expr index, spad_amount extent);

/* Fills in `tracked`. */
void spad__induction_find_tracked(spad__induction *induction, const spad_kernel *kernel);

/* Fills in `least`. begins: room for one number per loop and cursor. */
void spad__induction_find_write_collisions(spad__induction *induction, const spad_kernel *kernel,
                                           int64_t *begins);

/* Fills in `guarded`. */
void spad__induction_find_guarded(spad__induction *induction, const spad_kernel *kernel);

/* Fills in `runs` and `counted`. */
void spad__induction_count_runs(spad__induction *induction, const spad_kernel *kernel);

/* Which iterations of a growing loop, counted from 0, may be repeated, as far as conditions
 * go. In the iterations below `fixed` every condition stays as it is when the parameter grows;
 * from `steady` on it stays when the loop moves on with it. */
typedef struct spad__window {
    int64_t steady;
    int64_t fixed;
} spad__window;

/* Cost limit of walks over conditions: a statement counts as one event, and a comparison, whose
 * change is computed, as SPAD__COMPARISON_COST more. */
enum { SPAD__COMPARISON_COST = 4 };
typedef struct spad__steps {
    int64_t left;
    spad__limit *limit; /* looked at once in many steps */
} spad__steps;

/* Evaluates every condition of a run of the kernel, which may have another value of the
 * parameter than the one that induction was made from. windows: one per loop; values: room for one
 * per loop. *ended: all growing loops end with a break, and larger values change nothing. False: a
 * condition outside of all growing loops changes when the parameter grows, some runs of growing
 * loops end with a break and others do not, or no steps or no time are left. */
bool spad__induction_windows(const spad__induction *induction, const spad_kernel *kernel,
                             spad__steps *steps, int64_t *values, spad__window *windows,
                             bool *ended);

/* A trip count whose larger values a shape stands for. */
typedef struct spad__growing {
    const spad__induction *induction;
    spad__window *windows; /* per loop */
    bool ended;            /* of spad__induction_windows */
} spad__growing;

/* Is there a condition that two or more of them move (joint_conditions.c)? */
bool spad__windows_need_join(const spad__growing *all, size_t count, const spad_kernel *kernel);

/* Narrows the windows of all of them so that every condition keeps its answer when several grow at
 * once. False: no windows do, or no steps or no time are left. values, scratch: room for one per
 * loop. */
bool spad__induction_join_windows(const spad__growing *all, size_t count, const spad_kernel *kernel,
                                  spad__steps *steps, int64_t *values, spad__window *scratch);

/* The same for one condition, where loops stand at `values`. */
bool spad__windows_join_at(const spad__growing *all, size_t count, const spad_kernel *kernel,
                           size_t statement, const int64_t *values);

/* Does a comparison of `value` with 0 keep its answer when the value changes by `shift` again
 * and again? *holds: the answer. */
bool spad__keeps_answer(spad_relation relation, int64_t value, int64_t shift, bool *holds);

/* Does a condition in a growing loop not count, since the run of the loop stays as it is? */
bool spad__window_passes_by(const spad__induction *induction, const spad_kernel *kernel,
                            const spad_statement *s, int64_t loop, const int64_t *values);

#endif
