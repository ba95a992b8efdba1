/* SPDX-License-Identifier: Apache-2.0
 *
 * growth: what happens to a kernel when one of its parameters grows.
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
#ifndef SPAD_CHECK_GROWTH_H
#define SPAD_CHECK_GROWTH_H

#include "base/memory.h"
#include "kernel/form.h"
#include "spad/kernel.h"

/* Why a parameter is no trip count; in words: growth_text.c. */
typedef enum spad__refusal_kind {
    SPAD__NOT_REFUSED,
    SPAD__REFUSED_UNEVEN,         /* an expression, or the step itself, does not move evenly */
    SPAD__REFUSED_SIZE,           /* of a tile, a ring, a number of objects changes */
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
    SPAD__REFUSED_TOO_LONG      /* a step beyond what is worth its runs */
} spad__refusal_kind;

typedef struct spad__refusal {
    spad__refusal_kind kind;
    const char *name; /* of a tensor, loop, object or statement of the kernel; NULL: none */
    int64_t tiles;    /* TILES: how many there are */
    bool along;       /* TILES: along one of several indices */
} spad__refusal;

typedef struct spad__growth {
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
    spad__form *runs;  /* per growing loop: its number among the runs of growing loops of its agent
                          and group, as a form of the loops around it */
    bool *guarded; /* per loop: an `if`, or a loop that ends with a break, is around it, so that it
                      is not known how often it runs */
    int64_t *begins; /* per loop and cursor: scratch */
    bool *counted;   /* per growing loop: `runs` is known, and every agent of the group has as many
                        runs */
    bool *tracked;   /* per tensor: its index counts; false: off chip, only read or only written, or
                        left out */
    bool *left_out;  /* per tensor: this is about other tensors, which share no bytes with it */
    bool *relies;    /* per parameter: the step and the shifts hold for its value only */
    bool walked; /* a cursor is kept by the walk, or a loop ends with a break: runs of growing loops
                    are counted as they come (cut.c) */
    bool skipped;  /* statements that run with other values of other parameters only */
    int64_t least; /* shapes up to this value at least have to be run: writes off the chip meet */
    bool rests;    /* an expression has the rest of the parameter by a number in it */
    bool holds_cursors; /* the places of cursors that a walk keeps are part of the state, so that
                           they need not move evenly */
    /* Where `param` is SPAD__NO_PARAM: runs of these loops get longer, each by itself, and nothing
     * else changes (prove_rounds.c). */
    const bool *rounds; /* per loop; NULL: no loop. Owned by the caller */
    int64_t keep;       /* shorter runs stay as they are */
    spad__refusal refusal;
} spad__growth;

enum { SPAD__NO_PARAM = INT32_MAX };

/* What a growth is about, where that is more than a parameter. */
typedef struct spad__growth_of {
    size_t param;
    int64_t step;
    const bool *part;
    bool holds_cursors;
    const bool *rounds;
    int64_t keep;
} spad__growth_of;

spad_status spad__growth_init_of(spad__growth *growth, const spad_kernel *kernel,
                                 const spad__growth_of *of, const spad_host *host,
                                 spad_error *error);

/* How many iterations a run of a loop of `rounds` has, where the loops around it stand at `values`;
 * below `keep`: none of them is repeated. Longer runs are cut (kernel/shorten.h) to at least `keep`
 * iterations, the same modulo the step. */
int64_t spad__growth_run_length(const spad__growth *growth, const spad_kernel *kernel, int64_t loop,
                                const int64_t *values);

/* Looks at a parameter of a kernel; its step will be a multiple of `step`, which is 1 if nothing
 * else is known. part: per tensor, is it about it; NULL: about all. SPAD_ERR_HOST_MEMORY. */
spad_status spad__growth_init(spad__growth *growth, const spad_kernel *kernel, size_t param,
                              int64_t step, const bool *part, const spad_host *host,
                              spad_error *error);
void spad__growth_free(spad__growth *growth);

/* "'x' changes with it": the refusal of a parameter of the kernel in words; "": not refused. */
void spad__growth_reason(const spad__growth *growth, const spad_kernel *kernel, char *field,
                         size_t size);

/* A motion with its steps; relies: of the growth, or NULL. */
spad__moves spad__growth_moves(const spad__growth *growth, const spad_kernel *kernel, bool param,
                               int64_t loop, bool *relies);

/* By how much an expression changes when the parameter grows by a step (`param`), when a growing
 * loop advances by a period (-1: none), or both. False: not by the same amount each time. */
bool spad__growth_shift(const spad__growth *growth, const spad_kernel *kernel, spad_expr expr,
                        bool param, int64_t loop, int64_t *shift);

/* The same where the change depends on loops that do not grow. */
bool spad__growth_form(const spad__growth *growth, const spad_kernel *kernel, spad_expr expr,
                       bool param, int64_t loop, spad__form *form);

/* How often loops of a group have run to their end before a statement is reached, by its agent:
 * a form of the loops around the statement. False: none exists, since conditions decide it. */
bool spad__growth_runs(const spad__growth *growth, const spad_kernel *kernel, size_t statement,
                       size_t group, spad__form *runs);

/* Is an extent 1 or more for every value of the trip counts, as its bounds show? */
bool spad__growth_extent_settled(const spad_kernel *kernel, spad_amount extent);

/* Is an index inside of an extent for every value of the trip counts, as its bounds show? */
bool spad__growth_index_settled(const spad_kernel *kernel, spad_expr index, spad_amount extent);

/* The same with a period: after so many of these motions it has changed by the form. */
bool spad__growth_period(const spad__growth *growth, const spad_kernel *kernel, spad_expr expr,
                         bool param, int64_t loop, spad__form *form, int64_t *period);

/* Fills in `tracked`. */
void spad__growth_find_tracked(spad__growth *growth, const spad_kernel *kernel);

/* Fills in `least`. begins: room for one number per loop and cursor. */
void spad__growth_find_meetings(spad__growth *growth, const spad_kernel *kernel, int64_t *begins);

/* Fills in `guarded`. */
void spad__growth_find_guarded(spad__growth *growth, const spad_kernel *kernel);

/* Fills in `runs` and `counted`. */
void spad__growth_count_runs(spad__growth *growth, const spad_kernel *kernel);

/* Which iterations of a growing loop, counted from 0, may be repeated, as far as conditions
 * go. In the iterations below `fixed` every condition stays as it is when the parameter grows;
 * from `steady` on it stays when the loop moves on with it. */
typedef struct spad__window {
    int64_t steady;
    int64_t fixed;
} spad__window;

/* Evaluates every condition of a run of the kernel, which may have another value of the
 * parameter than the one that growth was made from. windows: one per loop; values: room for one
 * per loop. *ended: all growing loops end with a break, and larger values change nothing. False: a
 * condition outside of all growing loops changes when the parameter grows, some runs of growing
 * loops end with a break and others do not, or more than `limit` statements. */
bool spad__growth_windows(const spad__growth *growth, const spad_kernel *kernel, int64_t limit,
                          int64_t *values, spad__window *windows, bool *ended);

#endif
