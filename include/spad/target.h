/* SPDX-License-Identifier: Apache-2.0
 *
 * target: a chip as data: its memory spaces, its engines and their rules.
 *
 * Targets are plain read-only structs. The ones that are built in live for
 * ever; a user's own chip is read from text (docs/targets.md) and owned by
 * the caller. Everything else in the library takes a const spad_target.
 */
#ifndef SPAD_TARGET_H
#define SPAD_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spad/dtype.h"
#include "spad/host.h"
#include "spad/source.h"
#include "spad/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Size of a space without a size: off-chip memory. */
#define SPAD_UNBOUNDED INT64_MAX

/** The number that means no space. */
#define SPAD_NO_SPACE SIZE_MAX

/** A rectangle of a space: lanes [lane, lane + lanes) x bytes [byte, byte + bytes). */
typedef struct spad_rect {
    int64_t lane;
    int64_t lanes;
    int64_t byte;
    int64_t bytes; /**< per lane */
} spad_rect;

/** True if the two share a byte of a lane. Empty rectangles share nothing. */
SPAD_API bool spad_rect_overlaps(spad_rect a, spad_rect b);

/** Where a figure comes from. Of several figures, the greatest decides. */
typedef enum spad_origin {
    SPAD_ORIGIN_STATED,    /**< the target has it and says no more */
    SPAD_ORIGIN_PUBLISHED, /**< a document of the vendor or a paper */
    SPAD_ORIGIN_MEASURED,  /**< measured; the source has the command and the date */
    SPAD_ORIGIN_ESTIMATE,  /**< no document has it */
    SPAD_ORIGINS
} spad_origin;

/** Where the figures of a field come from. */
typedef struct spad_figure {
    const char *field; /**< as it is called in a target file; "": all that have no row */
    spad_origin origin;
    const char *source; /**< "" without one */
} spad_figure;

/** The units in which an engine's work is counted. */
typedef enum spad_work {
    SPAD_WORK_MAC,     /**< multiply-adds of matrices */
    SPAD_WORK_FMA,     /**< elements: additions, products, comparisons */
    SPAD_WORK_EXP,     /**< elements: exponentials and other special functions */
    SPAD_WORK_CONVERT, /**< elements: from one type to another */
    SPAD_WORK_REDUCE,  /**< elements: sums and maxima across lanes or threads */
    SPAD_WORKS
} spad_work;

/** What an engine does in a cycle. */
typedef struct spad_rate {
    spad_work work;
    spad_dtype dtype; /**< SPAD_WORK_MAC: of the operands; SPAD_DTYPE_NONE otherwise */
    int64_t per_cycle;
    spad_figure figure; /**< field is NULL */
} spad_rate;

/** A way of data through an engine, from one space to another (instance 0 stands for all). Rate and
 *  latency are in one of two units; both 0: not known. Transfers on a path share its rate; paths of
 *  an engine work side by side. */
typedef struct spad_path {
    size_t from;
    size_t to;
    int64_t bytes_per_us;
    int64_t bytes_per_kilocycle; /**< of the engine's clock */
    int64_t latency_ns;
    int64_t latency_cycles;
    int64_t hit_ns; /**< of what a cache of the source has; 0: as the space says */
    int64_t pieces; /**< for accesses of at most this many bytes of a thread at a time; 0: for all
                         others. Several paths between the same spaces differ in it */
    spad_figure figure; /**< field is NULL */
} spad_path;

/** A row of a start-lane table: a tile of [lanes_min, lanes_max] lanes may
 *  start at one of these lanes. */
typedef struct spad_lane_rule {
    int64_t lanes_min;
    int64_t lanes_max;
    size_t start_count;
    const int64_t *starts;
} spad_lane_rule;

/**
 * One memory of a target: lanes x bytes.
 *
 * Every lane has `bytes` bytes, the top `reserved` of them are for the
 * compiler, the runtime or the driver; [0, bytes - reserved) is for tensors. A space
 * with banks is divided into banks of bank_bytes; if banks_exclusive is set, a tile
 * may not cross from one to the next.
 *
 * A memory that exists several times (once per vector core, once per block of a cluster) is several
 * spaces: the rows of instances 1, 2, ... are called "ub[1]" and so on, come after all other rows
 * of the target, and are like the first one otherwise. So everything that is per space is per
 * instance.
 */
typedef struct spad_space {
    const char *name;       /**< unique in the target: "sbuf", "shared" */
    const char *about;      /**< what it holds, one line */
    int64_t lanes;          /**< at least 1 */
    int64_t bytes;          /**< per lane, reserve included; SPAD_UNBOUNDED: no limit */
    int64_t reserved;       /**< per lane, at the top */
    int64_t alignment;      /**< of every start address, in bytes; at least 1 */
    int64_t granule;        /**< sizes are rounded up to a multiple; at least 1 */
    int64_t bank_bytes;     /**< 0: no banks */
    int64_t plain_limit;    /**< bytes one user gets without asking for more (CUDA's static
                                 limit, a thread's registers); 0: all that is usable */
    int64_t thread_bytes;   /**< most bytes of one thread, where threads divide the space among
                                 them (registers); 0: they do not, or it is not known */
    bool banks_exclusive;   /**< a tile may not cross a bank border */
    bool power_of_two;      /**< sizes are rounded up to a power of two of granules */
    bool one_instance;      /**< an agent can reach one instance only: each belongs to a core */
    int64_t instances;      /**< how many there are; 0: one. The same in the rows of all */
    int64_t instance;       /**< which one this row is, from 0 */
    size_t instance_of;     /**< instance > 0: number of the row of instance 0 */
    bool off_chip;          /**< holds tensors that need no placement: HBM, global memory */
    size_t lane_rule_count; /**< 0: a tile may start at any lane where it fits */
    const spad_lane_rule *lane_rules;
    int64_t bytes_per_us;       /**< off chip: rate of the whole chip, which its units share; 0: not
                                     known */
    int64_t write_bytes_per_us; /**< off chip: the same for what is written; reads and writes take
                                     turns. 0: as the rate */
    int64_t cache_bytes;        /**< off chip: a cache of the whole chip before it; 0: none */
    int64_t cache_bytes_per_us; /**< and its rate */
    int64_t cache_merges;     /**< neighbouring units whose requests for the same bytes become one;
                                   0: 1 */
    int64_t cache_latency_ns; /**< of a transfer that hits the cache; 0: as on its path */
    /** Off chip: how long a transfer waits for other units' transfers, as a fraction of its own
     * time at the unit's share when half of the share is in use; in thousandths. */
    int64_t queue_permille;
    size_t figure_count;
    const spad_figure *figures;
} spad_space;

/** A unit that runs operations, in order. Costs are whole numbers so that
 *  results are the same everywhere. Zero means "not known". */
typedef struct spad_engine {
    const char *name;
    const char *about;
    int64_t count; /**< how many of them work side by side; at least 1 */
    int64_t clock_khz;
    int64_t width;          /**< results per cycle over all lanes, 32-bit elements */
    int64_t width_16bit;    /**< the same for 16-bit elements; 0: as width */
    int64_t width_8bit;     /**< the same for 8-bit elements; 0: as width_16bit */
    int64_t min_cycles;     /**< shortest operation */
    int64_t fixed_cycles;   /**< added when an operation depends on the one before */
    int64_t bytes_per_us;   /**< transfer rate of one unit, for copy engines */
    int64_t fixed_ns;       /**< start-up of a transfer */
    int64_t proxy_align;    /**< addresses on chip of operations through the async proxy are
                                 multiples of it (TMA: 16) */
    uint64_t reads;         /**< bit s: can read space number s of the target */
    uint64_t writes;        /**< bit s: can write it */
    int64_t latency_ns;     /**< results are there that long after the engine is free again */
    int64_t latency_cycles; /**< the same in cycles */
    int64_t threads;        /**< an agent needs that many to use all of it; 0: any agent does */
    int64_t queue_most;     /**< operations of a block that can be issued to it and not over; 0: not
                                 known, as good as no limit */
    size_t rate_count;
    const spad_rate *rates;
    size_t path_count;
    const spad_path *paths;
    size_t figure_count;
    const spad_figure *figures;
} spad_engine;

/** Two engines that cannot use a space at the same time. Numbers into the target's tables. */
typedef struct spad_exclusion {
    size_t engine_a;
    size_t engine_b;
    size_t space;
} spad_exclusion;

/** The accesses that a fence orders, beyond a synchronisation. */
typedef enum spad_fence_kind {
    SPAD_FENCE_PROXY,   /**< an access of threads, then one through the async proxy: a fence between
                             them, of any agent that comes in between */
    SPAD_FENCE_ISSUE,   /**< an access of threads, then one of an issued operation: a fence of the
                             agent that issues it, between them */
    SPAD_FENCE_THREADS, /**< accesses of two agents: one of the first agent (`before`) before it
                             synchronises, and one of the second (`after`) after that. What arrives
                             on a unit for its operations includes the first */
    SPAD_FENCE_INIT,    /**< the init of an mbarrier, then a delivery to it through the async proxy:
                             a fence between them, for nothing else */
    SPAD_FENCE_KINDS
} spad_fence_kind;

/** A kind of fence, and the memory that it is for. */
typedef struct spad_fence_rule {
    const char *name; /**< unique in the target: "shared", "wgmma" */
    spad_fence_kind kind;
    uint64_t spaces; /**< bit s: accesses to space number s need it */
} spad_fence_rule;

/** Limits of a chip. Zero means "not known", and nothing is reported then. */
typedef struct spad_limits {
    int64_t threads;       /**< threads of a block */
    int64_t warp;          /**< barriers count threads in multiples of it */
    int64_t barriers;      /**< named barriers of a block */
    int64_t arrivals;      /**< arrivals that a phase of an mbarrier waits for */
    int64_t expected;      /**< bytes that a phase of an mbarrier waits for */
    int64_t flags;         /**< flags between two pipes of a core */
    int64_t registers;     /**< 32-bit registers of a block */
    int64_t budget_least;  /**< fewest registers that threads can be limited to (setmaxnreg) */
    int64_t budget_most;   /**< most registers that threads can be given */
    int64_t budget_step;   /**< and both in multiples of it */
    int64_t cluster;       /**< blocks of a cluster on every chip of the family */
    int64_t cluster_most;  /**< blocks of a cluster on this chip, on request */
    int64_t unit_threads;  /**< threads of all blocks on one unit (SM) */
    int64_t register_step; /**< registers are given to a warp in multiples of it */
} spad_limits;

/** Most spaces of a target (engines keep a bit for each), most engines and most fences. */
#define SPAD_SPACES_MAX 64
#define SPAD_ENGINES_MAX 64
#define SPAD_FENCES_MAX 64

/** A product that has the chip of a built-in target. */
typedef struct spad_product {
    const char *name;   /**< "H100"; letter case, '-', '_' and blanks make no difference */
    const char *source; /**< the document that says so */
} spad_product;

typedef struct spad_target {
    const char *name;   /**< "trn2", "sm_90" */
    const char *about;  /**< one line */
    const char *family; /**< "neuron", "nvidia", "ascend", "host", or the word in a file */
    int64_t max_groups; /**< blocks that share one unit's memory at most (CUDA: blocks per
                             SM); 0: not shared */
    int64_t units;      /**< how many of what is described the chip has (SMs); 0: not known */
    int64_t launch_ns;  /**< what starting and ending a grid takes; 0: not known */
    int64_t block_ns;   /**< what a block takes to start and to end where another one was before */
    int64_t signal_ns;  /**< from an arrival at an mbarrier to an agent that waits there */
    spad_limits limits;
    size_t space_count; /**< at most SPAD_SPACES_MAX */
    const spad_space *spaces;
    size_t engine_count; /**< at most SPAD_ENGINES_MAX */
    const spad_engine *engines;
    size_t exclusion_count;
    const spad_exclusion *exclusions;
    size_t fence_count; /**< at most SPAD_FENCES_MAX; 0: not stated; `fence` is then one for all
                           spaces with one lane */
    const spad_fence_rule *fences;
    size_t alias_count;
    const char *const *aliases; /**< other names for the same chip: "inf2" for "trn1" */
    size_t product_count;
    const spad_product *products; /**< that are names of it, too; none for a target from a file */
    size_t figure_count;
    const spad_figure *figures; /**< of `units` */
    void *owned;                /**< storage of a target that was read; NULL when built in */
} spad_target;

/* ---- built-in targets -------------------------------------------------------------- */

/** Number of built-in targets. */
SPAD_API size_t spad_target_count(void);

/** The built-in target at an index below the count, in a fixed order; NULL beyond it. */
SPAD_API const spad_target *spad_target_get(size_t index);

/** A built-in target by name, alias or product. SPAD_ERR_UNKNOWN: none; the message lists close
 *  names. */
SPAD_API spad_status spad_target_find(const spad_target **out, const char *name, spad_error *error);

/* ---- parts ------------------------------------------------------------------------- */

/** The number of the space with that name; "ub[1]" is instance 1, "ub[0]" is "ub".
 *  SPAD_ERR_UNKNOWN: none; the message lists them, and *out is SIZE_MAX. */
SPAD_API spad_status spad_target_find_space(size_t *out, const spad_target *target,
                                            const char *name, spad_error *error);

/** Bytes per lane that tensors may use: bytes - reserved, or SPAD_UNBOUNDED. */
SPAD_API int64_t spad_space_get_usable(const spad_space *space);

/**
 * Is it legal to put a tile of `lanes` lanes at `lane`? Checks the lane count,
 * the start-lane table and the top of the space. SPAD_ERR_LANES names the rule
 * and the starts that are allowed.
 */
SPAD_API spad_status spad_space_check_lanes(const spad_space *space, int64_t lane, int64_t lanes,
                                            spad_error *error);

/** Bytes a tile takes: rounded up to granules and, if the space requires it,
 *  to a power of two of them. SPAD_ERR_OVERFLOW, SPAD_ERR_ARGUMENT (negative). */
SPAD_API spad_status spad_space_round(int64_t *out, const spad_space *space, int64_t bytes,
                                      spad_error *error);

/* ---- target files ------------------------------------------------------------------ */

/**
 * Reads a target from text. `file` is its name in messages. On an error the
 * status is SPAD_ERR_SYNTAX, `error` has the first error, and `diagnostics`
 * (optional) all of them. The text is not needed afterwards. The result is
 * owned by the caller.
 */
SPAD_API spad_status spad_target_parse(spad_target **out, const char *text, size_t length,
                                       const char *file, spad_diagnostics *diagnostics,
                                       const spad_host *host, spad_error *error);

/** Frees a target that was read; NULL and built-in targets are ignored. */
SPAD_API void spad_target_destroy(spad_target *target);

/** Writes a target as TEXT, a target file that reads back as the same target, or as JSON. */
SPAD_API spad_status spad_target_write(const spad_target *target, spad_format format,
                                       const spad_sink *sink, spad_error *error);

#ifdef __cplusplus
}
#endif
#endif
