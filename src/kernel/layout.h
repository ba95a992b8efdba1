/* SPDX-License-Identifier: Apache-2.0
 *
 * A layout from the inside. layout_lives.c finds how long each slot is needed,
 * layout_barriers.c the same for mbarriers, layout_like.c for tensors in several instances,
 * layout_turns.c which take turns by an order, layout_given.c what has an address already,
 * layout_solve.c asks the planner for one space, layout_claims.c says what that proves,
 * layout_peak.c finds the peak, layout.c joins them, layout_query.c answers.
 */
#ifndef SPAD_KERNEL_LAYOUT_H
#define SPAD_KERNEL_LAYOUT_H

#include "base/checked.h"
#include "base/interval.h"
#include "base/limit.h"
#include "base/memory.h"
#include "base/text.h"
#include "kernel/tensor_order.h"
#include "spad/layout.h"

/* Buffers of a space, beyond which an order of the caller is left out. */
enum { SPAD__ORDERED_MAX = 4096 };

/* Statements [begin, end) in which something is needed; empty: never. */
typedef struct spad__slot_life {
    int64_t begin;
    int64_t end;
} spad__slot_life;

/* Needed in another life as well, and in between. */
static inline void spad__slot_need(spad__slot_life *slot, spad__slot_life life) {
    if (life.begin == life.end) return;
    if (slot->begin == slot->end) {
        *slot = life;
    } else {
        slot->begin = spad__min(slot->begin, life.begin);
        slot->end = spad__max(slot->end, life.end);
    }
}

/* One space while its problem is put together and afterwards. */
typedef struct spad__layout_space {
    spad_layout_space row;
    spad_space rules; /* lanes and capacity; what buffers obey is in the buffers */
    spad_plan *plan;
    spad_plan_result *result;
    size_t *alive;
    bool ordered; /* the plan has pairs and no times: see layout_solve.c */
} spad__layout_space;

/* A rectangle that is taken for a while. */
typedef struct spad__box {
    spad_rect rect;
    spad__slot_life life;
} spad__box;

typedef SPAD_ARRAY(spad__box) spad__box_list;
typedef SPAD_ARRAY(spad_layout_buffer) spad__layout_buffers;

struct spad_layout {
    spad_host host;
    const spad_kernel *kernel;
    spad_layout_options options;
    spad__limit limit;
    int64_t end;            /* time after all statements */
    size_t *first_slots;    /* per tensor: number of its first slot, and one more */
    spad__slot_life *lives; /* per slot of a tensor that the planner places; one for others */
    spad__slot_life *all;   /* per tensor: touches of all slots */
    size_t slot_count;
    int64_t *next_like; /* per tensor: the next one that has its bytes, in another instance; -1 */
    bool widened;       /* some of these are needed at other times than the others */
    spad__slot_life *times; /* per slot on the clock of `uses`; NULL: none exists */
    int64_t last;           /* no use ends later */
    int64_t *bytes;         /* per slot: where it is, SPAD_NO_BYTE: nowhere */
    int64_t *lanes;
    spad__layout_buffers buffers;
    spad__layout_buffers given; /* of the space that is being solved */
    spad__layout_space *spaces;
    size_t space_count;
    size_t space_room;
};

/* Is it the planner that places this tensor? On-chip spaces only. */
bool spad__is_planned(const spad_kernel *kernel, const spad_kernel_tensor *tensor);

/* Does the number of tiles depend on a parameter? A layout is for all of its values. */
bool spad__is_open_extent(const spad_kernel *kernel, spad_amount extent);

/* Numbers the slots and fills in `lives`. */
spad_status spad__layout_lives(spad_layout *layout, spad_error *error);

/* What tensors that have the same bytes in several instances need together. */
spad_status spad__layout_join_likes(spad_layout *layout, spad_error *error);
/* Which slots of two buffers, and of those like them in each instance, are never needed together by
 * the order of the caller? */
spad__turns spad__layout_turns(const spad_layout *layout, const spad_layout_buffer *a,
                               const spad_layout_buffer *b);
/* Are all of them? */
bool spad__layout_in_turns(const spad_layout *layout, const spad_layout_buffer *a,
                           const spad_layout_buffer *b);

/* Does the order keep two tensors apart, whatever the text says? */
bool spad__layout_keeps_apart(const spad_layout *layout, const spad_layout_buffer *a,
                              const spad_layout_buffer *b);
/* May they share bytes for that in this layout? */
bool spad__layout_may_share(const spad_layout *layout, const spad_layout_buffer *a,
                            const spad_layout_buffer *b);
/* The first instance of a space, which is solved before it; NULL: it is the first, or that has no
 * buffers. */
const spad__layout_space *spad__layout_first_instance(const spad_layout *layout, size_t space);
/* Tensors like others are kept apart where any of them needs its bytes at the same time: where
 * their times differ, another layout may be lower. And the bytes that a tensor has because another
 * one has them may be others in another layout. */
void spad__layout_weaken_likes(const spad_layout *layout, spad_layout_space *row);

/* The statements in which the bytes of an mbarrier are needed. */
spad__slot_life spad__barrier_life(const spad_layout *layout, size_t sync);
/* A layout that puts an mbarrier over a tile outside of its life may be lower than ours. */
spad_status spad__layout_weaken_barriers(const spad_layout *layout, spad_layout_space *row,
                                         spad_error *error);

/* Fills `given` with the buffers of a space that have addresses. */
spad_status spad__layout_given(spad_layout *layout, size_t space, spad_error *error);

/* Places the planned buffers of a space that has some, around the others; fills in the row. */
spad_status spad__layout_solve(spad_layout *layout, spad__layout_space *space, spad_error *error);

/* What the kernel has placed is in every layout, and outside the space it does not fit, whatever
 * the planner says. */
void spad__layout_claim_given(const spad_layout *layout, spad_layout_space *row);
/* Bytes that every layout has: those of each slot alone, and what the kernel has placed itself. */
int64_t spad__layout_certain_bytes(const spad_layout *layout, const spad_layout_space *row);
/* Claims no more than a bound says: takes back verdicts that rest on a higher one. */
void spad__layout_lower_bound(const spad_layout *layout, spad_layout_space *row, int64_t bound);
/* A buffer of an agent and another one may be ordered, and then a layout may let them share bytes.
 * An order of the tensors settles it, where it is not left out. `loose`: it was for slots. */
void spad__layout_weaken_agents(const spad_layout *layout, spad_layout_space *row, bool loose);

/* The live peak of a space: the most bytes of one lane that are needed at one statement, and the
 * first such statement. Unchanged where a buffer has no place, or nothing is needed. */
spad_status spad__layout_find_peak(const spad_layout *layout, const spad_layout_space *row,
                                   int64_t *bytes, int64_t *statement, spad_error *error);

/* The line in which the tensor or barrier of a buffer is declared (0: none), and the agent that
 * declares it; NULL: the main program. */
int32_t spad__buffer_origin(const spad_kernel *kernel, const spad_layout_buffer *buffer,
                            const char **agent);

/* A statement by which all that is needed at the peak of a solved space has begun. Without times
 * the peak is a set of buffers: the last of their first statements. */
int64_t spad__layout_peak_statement(const spad_layout *layout, const spad__layout_space *space);

/* Fills in who is needed at the peak, largest first, and the largest room that is left then. */
spad_status spad__layout_describe_peak(const spad_layout *layout, spad__layout_space *space,
                                       spad_error *error);

/* "peak of SPACE: ..." without the end of the line. */
void spad__layout_write_peak(spad__out *out, const spad_layout *layout,
                             const spad_layout_space *row);
/* A layout as one value of a larger document. */
void spad__json_layout(spad__json *json, const spad_layout *layout);

/* How many places the slots of an alias have: those of its home if it is in all of its tiles. */
int64_t spad__layout_alias_slots(const spad_layout *layout, const spad_kernel_tensor *alias);

/* The place of a slot of an alias, from that of the tensor it is in. False: that has none, or one
 * only while the kernel runs (stack, heap). */
bool spad__layout_alias_place(spad_rect *out, const spad_layout *layout,
                              const spad_kernel_tensor *alias, int64_t slot);

#endif
