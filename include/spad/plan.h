/* SPDX-License-Identifier: Apache-2.0
 *
 * plan: offsets for buffers whose lifetimes are known, so that buffers live
 * together share no byte and the top stays under a capacity, or as low as
 * possible. Exact on small problems, near the lower bound on large ones,
 * always with the bound beside the answer (docs/planner.md).
 */
#ifndef SPAD_PLAN_H
#define SPAD_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spad/host.h"
#include "spad/source.h"
#include "spad/status.h"
#include "spad/target.h"
#include "spad/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the problem ------------------------------------------------------------------- */

/** Times [lower, upper) inside a lifetime in which only the bytes
 *  [window_lower, window_upper) of the buffer are in use; none when they are
 *  equal, so that a lifetime of several intervals is one with gaps. */
typedef struct spad_plan_gap {
    int64_t lower;
    int64_t upper;
    int64_t window_lower;
    int64_t window_upper;
} spad_plan_gap;

/** A buffer to place. Zeroed fields mean "nothing special".
 *
 *  Vector clocks. Where programs run side by side, live ranges are only partially ordered. A clock
 * has one number per program: how far it is known to be. Buffer a is before b if a.upper_clock <=
 * b.lower_clock in every number. Two buffers that are not ordered may be live together, so they
 * share no byte. */
typedef struct spad_plan_buffer {
    const char *name;  /**< unique when given; copied */
    int64_t lower;     /**< live in [lower, upper); with clocks these become the sums of the */
    int64_t upper;     /**< clocks, which agree with the order of lives */
    int64_t size;      /**< bytes in each of its lanes; 0 is legal */
    int64_t alignment; /**< of the offset; 0: as the space says, or 1 */
    int64_t lanes;     /**< lanes it takes; 0: one */
    int64_t bank;      /**< it may not cross a multiple of this; 0: the rule of the space */
    bool pinned;       /**< offset (and lane) are given: an obstacle for the others */
    bool hinted;       /**< hint is where it would like to be, if that costs no height */
    int64_t offset;
    int64_t lane;
    int64_t hint;
    size_t gap_count;
    const spad_plan_gap *gaps;  /**< sorted, inside the lifetime, apart from each other; copied */
    size_t clock_count;         /**< 0: lower and upper; the same for all buffers of a plan */
    const int64_t *lower_clock; /**< copied; no number of lower_clock is above that of upper_clock,
                                     and one is below */
    const int64_t *upper_clock;
} spad_plan_buffer;

/** Buffers that a plan with vector clocks may have. */
#define SPAD_PLAN_CLOCK_BUFFERS 2048

/** Numbers that a vector clock may have. */
#define SPAD_PLAN_CLOCKS 256

/** A problem: buffers and rules. Externally synchronised; solving only reads it. */
typedef struct spad_plan spad_plan;

/** An empty problem on one lane, without capacity. SPAD_ERR_HOST_MEMORY. */
SPAD_API spad_status spad_plan_create(spad_plan **out, const spad_host *host, spad_error *error);

/** Frees it. NULL is fine. */
SPAD_API void spad_plan_destroy(spad_plan *plan);

/** Bytes per lane that may be used; SPAD_UNBOUNDED: no limit. SPAD_ERR_ARGUMENT: negative;
 *  SPAD_ERR_BOUNDS: more than the space has. */
SPAD_API spad_status spad_plan_set_capacity(spad_plan *plan, int64_t capacity, spad_error *error);

/** Takes lanes, start-lane table, alignment, bank rule and capacity from a
 *  space, which must outlive the problem. Call before adding buffers: SPAD_ERR_ARGUMENT. */
SPAD_API spad_status spad_plan_set_space(spad_plan *plan, const spad_space *space,
                                         spad_error *error);

/** Adds a buffer; *out (optional) is its number, counted from 0. In a space its size is
 *  rounded to granules and its alignment joined with the space's. Refuses a buffer that
 *  breaks its own rules: an empty lifetime, a negative size, a pin outside the
 *  capacity or off its alignment, a name that is taken, lanes the space does not have. */
SPAD_API spad_status spad_plan_add(size_t *out, spad_plan *plan, const spad_plan_buffer *buffer,
                                   spad_error *error);

/** Both get the same offset and lane, and may share bytes at any time. SPAD_ERR_ALIGNMENT:
 *  of their banks and their common alignment, one does not divide the other. */
SPAD_API spad_status spad_plan_alias(spad_plan *plan, size_t a, size_t b, spad_error *error);

/** Makes `slice` the bytes [at, at + its size) of `whole`: its offset is that of `whole` plus `at`,
 *  its lane is the same, and it may share bytes at any time with `whole`, with other slices of it
 *  and with aliases of these. So a concatenation is one buffer and its inputs are slices of it; a
 *  reshape is a slice at 0. Slices may have slices. SPAD_ERR_BOUNDS: it is not inside `whole`;
 *  SPAD_ERR_ALIGNMENT: `at` is not a multiple of the alignment of the slice, or the slice has a
 *  bank and `whole` has not the same one. */
SPAD_API spad_status spad_plan_slice(spad_plan *plan, size_t slice, size_t whole, int64_t at,
                                     spad_error *error);

/** `output` may have the offset and the lane of `input`, and then share its bytes, if `input` dies
 *  where `output` is born: it is not live after the first moment of `output` (input.upper <=
 *  output.lower + 1). If it lives longer, or begins later than `output`, the call has no effect.
 *  An output may have several such inputs, and an input several such outputs; the planner decides.
 *  SPAD_ERR_ARGUMENT: buffers with vector clocks. */
SPAD_API spad_status spad_plan_in_place(spad_plan *plan, size_t output, size_t input,
                                        spad_error *error);

/** The two share no byte even if they never live at the same time. */
SPAD_API spad_status spad_plan_apart(spad_plan *plan, size_t a, size_t b, spad_error *error);

/** Number of buffers. */
SPAD_API size_t spad_plan_count(const spad_plan *plan);

/** The buffer as it was added; borrowed. NULL beyond the count. */
SPAD_API const spad_plan_buffer *spad_plan_get(const spad_plan *plan, size_t number);

/** Bytes per lane that may be used; SPAD_UNBOUNDED: no limit. */
SPAD_API int64_t spad_plan_get_capacity(const spad_plan *plan);

/** Lanes of the space; 1 without one. */
SPAD_API int64_t spad_plan_get_lanes(const spad_plan *plan);

/**
 * Adds the tensors of one space of a trace: one without an address is to be placed, one
 * with an address is a pin. The i-th tensor of that space becomes buffer first + i,
 * where *first (optional) is the number of buffers before. A tensor that is still live
 * lives to the end of the trace. A name that is taken gets a number after it.
 * The plan should have the rules of that space (spad_plan_set_space). Nothing is added on an error.
 */
SPAD_API spad_status spad_plan_add_trace(size_t *first, spad_plan *plan, const spad_trace *trace,
                                         size_t space, spad_error *error);

/* ---- solving ----------------------------------------------------------------------- */

typedef enum spad_plan_goal {
    SPAD_PLAN_MINIMIZE, /**< the lowest height, within the capacity if there is one */
    SPAD_PLAN_DECIDE    /**< any plan within the capacity */
} spad_plan_goal;

/** How far a solve has come. */
typedef struct spad_plan_progress {
    int64_t nanoseconds;
    int64_t height; /**< of the best plan so far; SPAD_UNBOUNDED: none */
    int64_t bound;
    int64_t nodes;
    int64_t restarts;
} spad_plan_progress;

/** Zeroed: minimise, no limits, seed 0, one thread. */
typedef struct spad_plan_options {
    size_t struct_size; /**< see SPAD_OPTIONS_INIT */
    spad_plan_goal goal;
    int64_t timeout_ns; /**< time to spend; 0: none. Only a cut: it never changes the path. */
    int64_t node_limit; /**< search steps to spend, all threads together; 0: none */
    uint64_t seed;
    int32_t threads; /**< 0 and 1: the calling thread only, and then deterministic */
    /** Called regularly from the calling thread; a value other than 0 cancels. It may use the
     *  host of the plan, but not the plan. */
    int (*progress)(void *context, const spad_plan_progress *progress);
    void *context;
} spad_plan_options;

typedef enum spad_plan_verdict {
    SPAD_PLAN_OPTIMAL,    /**< a plan, and no lower one exists */
    SPAD_PLAN_FEASIBLE,   /**< a plan within the capacity */
    SPAD_PLAN_INFEASIBLE, /**< proved: no plan within the capacity */
    SPAD_PLAN_UNKNOWN     /**< none found within the capacity, and no proof */
} spad_plan_verdict;

/** "optimal", "feasible", "infeasible", "unknown". Static storage. */
SPAD_API const char *spad_plan_verdict_name(spad_plan_verdict verdict);

/** What proves that no plan is lower than the bound. */
typedef enum spad_plan_proof {
    SPAD_PLAN_BY_LOAD, /**< the bytes live at bound_time, sizes rounded up to a common alignment */
    SPAD_PLAN_BY_BUFFER, /**< the top of one buffer, bound_buffer, alone or pinned */
    SPAD_PLAN_BY_BANKS,  /**< the banks that the buffers live at bound_time need */
    SPAD_PLAN_BY_PAIRS,  /**< the bytes of the buffers in `together`, sizes rounded up as above */
    SPAD_PLAN_BY_LANES,  /**< the buffers live at bound_time that cannot be beside each other */
    SPAD_PLAN_BY_SEARCH  /**< every way to a lower plan was tried */
} spad_plan_proof;

/** Rules of two buffers that no plan can obey, whatever the capacity. */
typedef enum spad_plan_clash {
    SPAD_PLAN_NO_CLASH,
    SPAD_PLAN_CLASH_PINS,        /**< both are pinned and share bytes while live */
    SPAD_PLAN_CLASH_APART_PINS,  /**< both are pinned and share bytes, but are kept apart */
    SPAD_PLAN_CLASH_ALIAS_PINS,  /**< aliases pinned at different places */
    SPAD_PLAN_CLASH_ALIAS_RULE,  /**< the pin of the first breaks a rule of the second, its alias */
    SPAD_PLAN_CLASH_ALIAS_APART, /**< aliases or slices that share bytes, but are kept apart */
    SPAD_PLAN_CLASH_ALIAS_LANES, /**< aliases without a start lane in common */
    SPAD_PLAN_CLASH_SLICES       /**< slices and aliases that put the two at different distances */
} spad_plan_clash;

typedef struct spad_plan_place {
    int64_t offset;
    int64_t lane;
} spad_plan_place;

/** The result of a solve. Owned by the caller. It belongs to the problem as it was when it was
 * solved: functions that take both refuse it once a buffer, a rule or the capacity has changed
 *  (SPAD_ERR_STALE, see spad_plan_match). To hand places of your own to such a function, fill in
 *  count, fingerprint and places of a zeroed result. */
typedef struct spad_plan_result {
    spad_plan_verdict verdict;
    size_t count;            /**< buffers of the problem */
    uint64_t fingerprint;    /**< of the problem: spad_plan_get_fingerprint */
    spad_plan_place *places; /**< per buffer: the best plan, even one above the capacity; NULL:
                                  none, as when pins collide */
    int64_t height;          /**< of that plan; SPAD_UNBOUNDED without one */
    int64_t bound;           /**< no plan is lower than this */
    spad_plan_proof proof;   /**< of the bound */
    int64_t bound_time;
    size_t bound_buffer;
    spad_plan_clash clash; /**< why no plan exists at all, if so */
    size_t clash_first;
    size_t clash_second;
    int64_t peak_time;  /**< a moment where the load is largest */
    int64_t peak_load;  /**< bytes (lane-bytes over lanes, rounded up) live there */
    int64_t peak_lanes; /**< lanes over which peak_load is an average; 1: it is exact */
    /** Buffers that pairwise may not share bytes, ascending, if together they need more than the
     *  buffers live at any one moment; looked for only with vector clocks or pairs kept apart. */
    size_t together_count;
    size_t *together;
    int64_t together_bytes; /**< their sum */
    int64_t nodes;
    int64_t restarts;
    int64_t nanoseconds;
    void *owned;
} spad_plan_result;

/**
 * Solves. SPAD_OK whatever the verdict; other statuses are errors:
 * SPAD_ERR_ARGUMENT (options outside their range), SPAD_ERR_HOST_MEMORY, SPAD_ERR_ALIGNMENT
 * (alignments and banks of an alias group that do not divide one another), SPAD_ERR_OVERFLOW (sizes
 * whose sum does not fit 64 bits).
 */
SPAD_API spad_status spad_plan_solve(spad_plan_result **out, const spad_plan *plan,
                                     const spad_plan_options *options, spad_error *error);

/** Frees it. NULL is fine. */
SPAD_API void spad_plan_result_destroy(spad_plan_result *result);

/** A number that identifies the problem as it is now: buffers, rules and capacity. Equal problems
 *  have equal numbers. O(n). */
SPAD_API uint64_t spad_plan_get_fingerprint(const spad_plan *plan);

/** Was the result made from this problem as it is now? SPAD_ERR_STALE: from another one, or the
 *  problem has changed since. Functions that take both call it themselves. O(n). */
SPAD_API spad_status spad_plan_match(const spad_plan *plan, const spad_plan_result *result,
                                     spad_error *error);

/**
 * Checks a plan against the problem without any part of the solver. SPAD_OK, or the first
 * broken rule with its buffers: SPAD_ERR_BOUNDS, SPAD_ERR_ALIGNMENT, SPAD_ERR_LANES,
 * SPAD_ERR_OVERLAP (two buffers share a byte), SPAD_ERR_NO_FIT (aliases or pins are not where
 * they must be). *height (optional): the top of the plan. O(n log n + pairs that live together).
 */
SPAD_API spad_status spad_plan_check(int64_t *height, const spad_plan *plan,
                                     const spad_plan_place *places, size_t count,
                                     spad_error *error);

/* ---- why it does not fit ----------------------------------------------------------- */

typedef enum spad_plan_change_kind {
    SPAD_PLAN_SHORTEN, /**< end or begin the lifetime so that it leaves the peak */
    SPAD_PLAN_SPILL,   /**< keep the buffer somewhere else */
    SPAD_PLAN_ALIGN    /**< lower the alignment to `amount` */
} spad_plan_change_kind;

/** One change to one buffer after which a plan within the capacity was found. */
typedef struct spad_plan_change {
    spad_plan_change_kind kind;
    size_t buffer;
    int64_t amount; /**< shorten: the new end, or the new beginning; spill: its bytes; align: the
                         new alignment */
    bool late;      /**< shorten: amount is the beginning */
    spad_plan_place *places; /**< per buffer: the plan with it; NULL: not kept, since there are more
                                  than SPAD_PLAN_PLACES_KEPT of all changes */
} spad_plan_change;

enum { SPAD_PLAN_PLACES_KEPT = 65536 };

/** A set of buffers after whose spilling a plan within the capacity was found. */
typedef struct spad_plan_spill {
    size_t count;
    const size_t *buffers;   /**< largest first */
    int64_t bytes;           /**< of all of them */
    spad_plan_place *places; /**< per buffer: the plan without them; NULL: not kept, as in
                                  spad_plan_change */
} spad_plan_spill;

typedef struct spad_plan_reason {
    size_t count;          /**< buffers of the problem */
    uint64_t fingerprint;  /**< of the problem */
    bool proved;           /**< no plan exists; otherwise none was found */
    spad_plan_clash clash; /**< if there is one, it is the reason, and what follows is empty */
    size_t clash_first;
    size_t clash_second;
    int64_t time;      /**< the moment of the largest load */
    int64_t load;      /**< bytes live then; if they fit, rules or lifetimes are in the way */
    int64_t over;      /**< bytes that are missing: up to the bound, or up to works_at where only a
                            search proves more than the capacity; 0: not known */
    int64_t works_at;  /**< smallest capacity with a known plan; SPAD_UNBOUNDED: none */
    bool works_best;   /**< no smaller one works: proved */
    size_t live_count; /**< buffers live at that moment, largest first */
    const size_t *live;
    size_t change_count; /**< cheapest first, at most 8 */
    const spad_plan_change *changes;
    size_t spill_count; /**< sets, where no single change helps: at most 2, the first one with fewer
                             buffers, the second one with fewer bytes. No buffer of a set was found
                             to be superfluous; smaller sets may exist */
    const spad_plan_spill *spills;
    const spad_plan_result *found; /**< a plan within the capacity after all, found on the way: the
                                        answer, and there is nothing to explain; NULL: none */
    void *owned;
} spad_plan_reason;

/** Explains a result whose verdict is infeasible or unknown (SPAD_ERR_ARGUMENT otherwise).
 *  SPAD_ERR_STALE: the result of another problem. A capacity that works and changes that help are
 * looked for by solving again, within timeout_ns (0: one second). watch (optional): a cancelled
 * call has no result (SPAD_ERR_CANCELLED). */
SPAD_API spad_status spad_plan_explain(spad_plan_reason **out, const spad_plan *plan,
                                       const spad_plan_result *result, int64_t timeout_ns,
                                       const spad_watch *watch, spad_error *error);

/** Frees it. NULL is fine. */
SPAD_API void spad_plan_reason_destroy(spad_plan_reason *reason);

/* ---- showing it -------------------------------------------------------------------- */

/** Writes buffers, height, bound, gap, verdict, time and nodes as TEXT, or the same and every place
 * as JSON; and, with a reason (optional), why it does not fit and what would help, or the plan that
 * it has found. SPAD_ERR_STALE: the result or the reason of another problem. */
SPAD_API spad_status spad_plan_write(const spad_plan *plan, const spad_plan_result *result,
                                     const spad_plan_reason *reason, spad_format format,
                                     const spad_sink *sink, spad_error *error);

/* ---- CSV --------------------------------------------------------------------------- */

/** How a CSV text is read. Zeroed is the default. */
typedef struct spad_plan_csv_options {
    size_t struct_size;  /**< see SPAD_OPTIONS_INIT */
    bool end_exclusive;  /**< column `end` is the time after the last one, as `upper` is */
    bool *end_inclusive; /**< set to whether there was a column `end` with last times; NULL:
                              not asked */
    spad_diagnostics *diagnostics; /**< takes the errors of all rows; NULL: the first error ends
                                   the reading. Its codes are SPAD_ERR_SYNTAX */
} spad_plan_csv_options;

/**
 * Adds the buffers of a CSV text (the dialect of MiniMalloc): a header with the columns
 * id (or name), lower, upper, size and optionally alignment, hint, gaps, offset, and as extensions
 * lanes, bank, alias (a group name), apart (ids, separated by blanks), slice (id@byte: the whole
 * and where in it), in_place (ids of inputs, separated by blanks). `start` and `begin` mean lower;
 * `end` means upper but is the last time, not the one after it. Other columns are left alone,
 * unless their names are one letter away from these. Cells are divided by commas, or by semicolons
 * or tabs if the header has no comma; they may be in double quotes. Bytes may be as
 * spad_bytes_parse takes them. An offset is a pin; -1 or empty: no pin. `file` is its name in
 * messages. On an error: SPAD_ERR_SYNTAX or the status of the rule, with line and column, and
 * nothing is added. options NULL: the default.
 */
SPAD_API spad_status spad_plan_read_csv(spad_plan *plan, const char *text, size_t length,
                                        const char *file, const spad_plan_csv_options *options,
                                        spad_error *error);

/** Writes the rows of that text in their order, with the columns offset and, on a space of
 *  several lanes, lane at the end. `first`: the number of the buffer of the first row, which is
 *  the count of buffers before the text was read. SPAD_ERR_ARGUMENT: a result without places, or
 *  more rows than buffers. SPAD_ERR_STALE: the result of another problem. */
SPAD_API spad_status spad_plan_write_csv(const spad_plan *plan, size_t first,
                                         const spad_plan_result *result, const char *text,
                                         size_t length, const spad_sink *sink, spad_error *error);

#ifdef __cplusplus
}
#endif
#endif
