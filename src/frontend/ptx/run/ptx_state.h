/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of the executor, for its own files: warps, values, memory, and how instructions read
 * and write them.
 *
 * Files: ptx_machine.c (set-up, scheduling), ptx_record.c (events), ptx_remark.c, ptx_value.c
 * (operands), ptx_warp.c (divergence, one step), ptx_flow.c (branches on data), ptx_integer.c,
 * ptx_float.c, ptx_real.c, ptx_convert.c (arithmetic), ptx_address.c, ptx_memory.c, ptx_atomic.c
 * (loads, stores, atomics), ptx_lanes.c (shfl, vote), ptx_call.c, ptx_shared.c (layout);
 * ptx_barrier.c, ptx_mbarrier.c, ptx_copy.c, ptx_matrix.c, ptx_wgmma.c, ptx_tcgen05.c
 * (synchronisation and asynchronous work).
 */
#ifndef SPAD_FRONTEND_PTX_STATE_H
#define SPAD_FRONTEND_PTX_STATE_H

#include "frontend/ptx/run/ptx_machine.h"

typedef struct spad__ptx_value {
    uint64_t lanes[SPAD__PTX_LANES]; /* the low bits of the register's type; others are 0 */
    uint32_t known;                  /* lanes whose value is known; the others are 0 */
} spad__ptx_value;

/* What one step of a warp came to. */
typedef enum spad__ptx_outcome {
    SPAD__PTX_DONE,    /* go on with the next instruction */
    SPAD__PTX_JUMPED,  /* program counters are set */
    SPAD__PTX_BLOCKED, /* nothing happened: try again when something else has */
    SPAD__PTX_FAILED   /* machine->status and machine->error are set */
} spad__ptx_outcome;

/* One call of a function: the kernel itself is the first. Lanes that diverged may be in different
 * frames, so the frames of a warp are a tree. */
typedef struct spad__ptx_frame {
    const spad__ptx_function *function;
    spad__ptx_value *registers; /* of the function, then the high halves of its b128 registers */
    int64_t register_count;
    uint8_t *locals; /* .param variables of calls that it makes, and (unless it is a kernel) its own
                        parameters: byte n of lane l is at n * SPAD__PTX_LANES + l */
    uint8_t *locals_known;
    int64_t local_bytes; /* for each lane */
    int64_t stack;       /* .local memory in front of this frame's */
    uint32_t lanes;      /* that made the call and have not returned */
    int32_t parent;      /* frame of the caller; -1: the kernel */
    int32_t depth;
    int32_t call; /* the call, counted from the module's first instruction; -1: the kernel */
} spad__ptx_frame;

/* How often a warp chose to stay in a loop whose end depends on data. */
typedef struct spad__ptx_stay {
    int32_t instruction;
    int32_t times;
} spad__ptx_stay;

/* A loop that may repeat without end: a copy of the registers at one of its turns. */
typedef struct spad__ptx_spin {
    int32_t instruction; /* the branch back; -1: none */
    int32_t frame;
    uint32_t lanes;
    int64_t turns;
    int64_t next_copy; /* turn */
    int64_t stores;    /* of the warp, at the copy */
    int64_t count;     /* registers that are copied; 0: no copy */
    int64_t capacity;
    spad__ptx_value *copy;
} spad__ptx_spin;

/* A wait that answers false again and again. */
typedef struct spad__ptx_peeked {
    int32_t instruction;
    int32_t times;
} spad__ptx_peeked;

typedef struct spad__ptx_warp {
    int32_t cta;      /* rank in the cluster */
    int32_t number;   /* in the CTA */
    uint32_t threads; /* lanes that exist */
    uint32_t exited;
    int32_t pc[SPAD__PTX_LANES]; /* instruction, counted from the module's first */
    uint32_t waiting;            /* lanes that are blocked where they are */
    uint32_t arrived;            /* blocked lanes that have arrived at what they wait for (a named
                                    or cluster barrier): they must not arrive again */
    uint64_t ticket[SPAD__PTX_LANES];   /* arrived: which phase of it they wait for */
    SPAD_ARRAY(spad__ptx_frame) frames; /* lanes == 0 and not the kernel: free */
    int32_t frame_of[SPAD__PTX_LANES];
    int32_t current;        /* frame of the lanes that run */
    spad__ptx_frame *frame; /* the same; valid while frames does not grow */
    uint8_t *local;         /* .local memory: byte n of lane l is at n * SPAD__PTX_LANES + l */
    uint8_t *local_known;
    int64_t local_bytes; /* for each lane; grows with calls */
    uint32_t maybe; /* lanes between a branch on data and where its ways join: what they write is
                       not known, and they may access memory */
    int32_t maybe_until[SPAD__PTX_LANES]; /* program counter of the join */
    int32_t maybe_next[SPAD__PTX_LANES];  /* of the other way, which comes then; -1: none */
    uint32_t carry;                       /* of add.cc */
    uint32_t carry_known;
    int64_t seen;    /* machine->progress when its lanes blocked */
    bool spinning;   /* some of them are in a loop that repeats itself */
    int64_t yielded; /* the number of its strong write after which the others come first; 0: none */
    int64_t stores;  /* counts what a spinning loop would not do */
    spad__ptx_spin spin;
    SPAD_ARRAY(spad__ptx_stay) stays;
    uint32_t cluster_arrived;  /* lanes with a barrier.cluster.arrive whose phase is not complete */
    uint32_t cluster_ready;    /* lanes whose phase is complete, and that have not waited for it */
    spad__ptx_peeked peeks[4]; /* waits that answered false, with nothing in between: a loop of
                                several waits repeats all of them */
    int32_t peek_count;
    int64_t peeked_progress; /* machine->progress and events after the last of them */
    int64_t peeked_events;
    bool hurries;                        /* it peeks, and is to see its phases early */
    int64_t registers;                   /* of setmaxnreg; 0: not set */
    int64_t met[SPAD__PTX_LANES];        /* step of the last instruction that may order lanes */
    int64_t released[SPAD__PTX_LANES];   /* what the lane did before this step has been released */
    int64_t released_last;               /* step of the last release by any lane, */
    int32_t releaser;                    /* and its instruction */
    struct spad__ptx_products *products; /* of wgmma; NULL: none yet (ptx_products.h) */
} spad__ptx_warp;

/* Where an address leads. */
typedef struct spad__ptx_place {
    spad__ptx_space space; /* never NO_SPACE: generic addresses are resolved */
    int32_t cta;           /* SHARED: whose */
    int64_t offset;        /* in the space; GLOBAL: the address */
} spad__ptx_place;

typedef struct spad__ptx_mbarrier {
    int32_t cta;
    int64_t byte;
    bool valid;
    int64_t count;   /* of a phase */
    int64_t pending; /* arrivals of this phase to come */
    int64_t bytes;   /* expected minus delivered; may be below 0 in between */
    int64_t phase;   /* of the current phase, from 0 */
} spad__ptx_mbarrier;

typedef struct spad__ptx_barrier {
    int64_t expected; /* threads, of the first arrival of this phase; 0: no thread has arrived */
    int64_t arrived;
    uint64_t phase;
    bool everyone;    /* expected: all threads that have not exited */
    bool red_unknown; /* of bar.red: some thread's operand is not known */
    bool red_false;   /* some thread's operand is false */
    int64_t red_true; /* threads whose operand is true */
} spad__ptx_barrier;

enum { SPAD__PTX_BARRIERS = 16 };

typedef struct spad__ptx_cta {
    uint32_t id[3];
    uint8_t *shared;
    uint8_t *shared_known;
    int64_t shared_bytes;   /* static and dynamic */
    int64_t reserved_at;    /* where the system's own shared memory begins, above the kernel's */
    int64_t reserved_bytes; /* 0: the kernel does not ask where it is */
    spad__ptx_barrier barriers[SPAD__PTX_BARRIERS];
    int32_t first_warp;
    int32_t warp_count;
    int64_t tensor_columns; /* allocated in tensor memory: next free column; see ptx_tcgen05.c */
    uint32_t tensor_used[512 / 32];
    bool tensor_permit_gone;
    struct spad__ptx_shared_word
        *words; /* of shared memory; NULL: not accessed (ptx_warp_races.h) */
} spad__ptx_cta;

struct spad__ptx_flow;
struct spad__ptx_layout;

typedef struct spad__ptx_machine {
    const spad_host *host;
    const spad__ptx_module *module;
    const spad__ptx_launch *launch;
    const spad__ptx_sink *sink;
    const spad__ptx_choices *choices;
    spad__ptx_result *result;
    spad_status status;
    spad_error *error;
    spad__ptx_cta ctas[SPAD__PTX_CLUSTER];
    int32_t cta_count;
    SPAD_ARRAY(spad__ptx_warp) warps;
    SPAD_ARRAY(spad__ptx_mbarrier) mbarriers;
    spad__ptx_barrier cluster_barrier;
    int64_t progress; /* rises with everything that could wake a blocked warp */
    bool endless;     /* nothing can wake the warps that are left: waits are reported and end */
    int32_t at;       /* the instruction that runs, counted from the module's first */
    uint32_t maybe;   /* of its lanes: the guard is not known (loads, stores and atomics only) */
    bool stalled;     /* all warps are blocked, and each is tried once more before it is endless:
                         whoever waits only because that is likelier than not (peeks, lanes of a
                         diverged warp) goes on, and clears this */
    int64_t endings;  /* times that the machine was endless */
    bool leave_spins; /* nothing else can go on: loops that repeat themselves are left */
    bool left_spin;   /* one was */
    bool ended;       /* a wait that is endless has ended: the other warps come first */
    bool yields;      /* the warp that runs has made a strong write: the other warps come first */
    int64_t strong_writes;
    bool hurried;                    /* some warp hurries: the others make one event at a time */
    struct spad__ptx_layout *layout; /* of variables; ptx_shared.h */
    struct spad__ptx_flow *flows;    /* of each function of the module; ptx_flow.h */
    int32_t *pointers;               /* of each instruction; ptx_pointer.h */
    uint8_t *decides;                /* of each instruction; ptx_decides.h */
    spad__ptx_buffer *buffers; /* of the launch and .global and .const variables, by address */
    size_t buffer_count;
    size_t last_buffer; /* that was accessed */
    uint8_t *variables; /* contents of .const and .global variables, and whether they are known */
    int64_t variable_bytes;
    bool *owned;       /* of each buffer: its `known` is ours */
    bool global_known; /* some byte of global memory may be known */
    int64_t cancelled; /* launches of clusters that this one took over (clusterlaunchcontrol) */
    /* the event in the making */
    spad__ptx_event event;
    SPAD_ARRAY(spad__ptx_event_access) accesses;
    SPAD_ARRAY(spad__ptx_bytes) runs;
} spad__ptx_machine;

/* ---- reading and writing (ptx_value.c) ----------------------------------------------------------
 */

static inline const spad__ptx_operand *
spad__ptx_operand_at(const spad__ptx_machine *m, const spad__ptx_instruction *i, int32_t n) {
    return n < i->count ? &m->module->operands.items[i->first + n] : NULL;
}
/* The value of an operand in all lanes, of the given type (SPAD__PTX_NO_TYPE: as it is). Addresses
 * are not loaded from: they give the address. Immediates are of the type; a wider register gives
 * its low bits. b128: the low half. NULL: nothing is known. */
void spad__ptx_get(const spad__ptx_machine *m, const spad__ptx_warp *w,
                   const spad__ptx_operand *operand, spad__ptx_type type, spad__ptx_value *out);
/* Writes the lanes to a register; a sink takes anything. The rest of the register stays. */
void spad__ptx_set(spad__ptx_machine *m, spad__ptx_warp *w, const spad__ptx_operand *operand,
                   uint32_t lanes, const spad__ptx_value *value);
void spad__ptx_set_register(spad__ptx_machine *m, spad__ptx_warp *w, int32_t reg, uint32_t lanes,
                            const spad__ptx_value *value);
/* High halves of b128 registers; other operands: zeros, and nothing is written. */
void spad__ptx_get_high(const spad__ptx_machine *m, const spad__ptx_warp *w,
                        const spad__ptx_operand *operand, spad__ptx_value *out);
void spad__ptx_set_high(spad__ptx_machine *m, spad__ptx_warp *w, const spad__ptx_operand *operand,
                        uint32_t lanes, const spad__ptx_value *value);
/* The register itself where it can be read as it is, else the value in *space. */
const spad__ptx_value *spad__ptx_read(const spad__ptx_machine *m, const spad__ptx_warp *w,
                                      const spad__ptx_operand *operand, spad__ptx_type type,
                                      spad__ptx_value *space);
/* The registers that an operand names (its own, its items', the one after "|") become unknown in
 * the lanes. */
void spad__ptx_forget(spad__ptx_machine *m, spad__ptx_warp *w, const spad__ptx_operand *operand,
                      uint32_t lanes);
/* Bits of a type; 64 for NO_TYPE. */
unsigned spad__ptx_bits(spad__ptx_type type);
static inline uint64_t spad__ptx_mask(unsigned bits) {
    return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}
/* One item of a vector operand, or a plain one as its only item. NULL: none. */
const spad__ptx_operand *spad__ptx_item(const spad__ptx_machine *m,
                                        const spad__ptx_operand *operand, int32_t n);
/* Lanes with a value that all of them know and share, among `lanes`. */
bool spad__ptx_same(const spad__ptx_value *value, uint32_t lanes, uint64_t *out);

/* ---- memory (ptx_address.c) --------------------------------------------------------------- */

/* Where an address in a space (as the instruction names it) leads, for a CTA. */
spad__ptx_place spad__ptx_resolve(const spad__ptx_machine *m, const spad__ptx_warp *w,
                                  spad__ptx_space space, uint64_t address);
/* Bytes of all shared memory of a CTA, with the system's own. */
static inline int64_t spad__ptx_all_shared(const spad__ptx_cta *cta) {
    return cta->reserved_at + cta->reserved_bytes;
}
/* Copies bytes in and out, with a flag per byte whether it is known. False: out of range; a remark
 * was made, reads are unknown and writes are lost. Shared, global, const and param space. */
bool spad__ptx_peek_bytes(spad__ptx_machine *m, const spad__ptx_warp *w, spad__ptx_place place,
                          uint8_t *bytes, uint8_t *known, int64_t count);
bool spad__ptx_poke_bytes(spad__ptx_machine *m, const spad__ptx_warp *w, spad__ptx_place place,
                          const uint8_t *bytes, const uint8_t *known, int64_t count);
/* The bytes have unknown contents from now on. */
void spad__ptx_forget_bytes(spad__ptx_machine *m, spad__ptx_place place, int64_t count);
/* All of global memory has. False: out of memory, which is the machine's status. */
bool spad__ptx_forget_global(spad__ptx_machine *m);

/* ---- events and remarks (ptx_record.c, ptx_remark.c) -------------------------------------- */

/* Begins an event of the instruction that runs; fields may be set until the end. */
spad__ptx_event *spad__ptx_begin_event(spad__ptx_machine *m, const spad__ptx_warp *w,
                                       uint32_t lanes, spad__ptx_event_kind kind);
/* Adds an access, and then its runs: overlapping and adjacent runs are merged at the end. */
void spad__ptx_add_access(spad__ptx_machine *m, unsigned kind, bool tensor_memory, int32_t cta);
void spad__ptx_add_run(spad__ptx_machine *m, int64_t begin, int64_t end);
void spad__ptx_add_lanes_run(spad__ptx_machine *m, int64_t begin, int64_t end, int32_t lane,
                             int32_t lanes);
/* Hands the event to the sink. FAILED or DONE. */
spad__ptx_outcome spad__ptx_end_event(spad__ptx_machine *m);

void spad__ptx_remark_at(spad__ptx_machine *m, const spad__ptx_warp *w, spad__ptx_remark_kind kind,
                         int lane, uint64_t address, int64_t bytes, const char *format, ...)
    SPAD_PRINTF(7, 8);
/* An instruction that cannot be executed. Sets the status; returns FAILED. */
spad__ptx_outcome spad__ptx_unsupported(spad__ptx_machine *m, const spad__ptx_instruction *i,
                                        const char *why);
spad__ptx_outcome spad__ptx_no_memory(spad__ptx_machine *m);

/* ---- instructions by kind -------------------------------------------------------------------
 *
 * Each runs one instruction for the lanes that reached it with a guard that holds. BLOCKED: these
 * lanes stay at it, and run it again, with others that have come to it since. */

typedef spad__ptx_outcome spad__ptx_runs(spad__ptx_machine *m, spad__ptx_warp *w,
                                         const spad__ptx_instruction *i, uint32_t lanes);

spad__ptx_runs spad__ptx_run_integer; /* ptx_integer.c */
spad__ptx_runs spad__ptx_run_float;   /* ptx_float.c */
spad__ptx_runs spad__ptx_run_convert; /* ptx_convert.c: cvt, cvta, mov, selp, prmt, ... */
spad__ptx_runs spad__ptx_run_memory;  /* ptx_memory.c: ld, st, prefetch */
spad__ptx_runs spad__ptx_run_atomic;  /* ptx_atomic.c: atom, red */
spad__ptx_runs spad__ptx_run_address; /* ptx_address.c: cvta, isspacep, mapa, getctarank */
spad__ptx_runs spad__ptx_run_lanes;   /* ptx_lanes.c: shfl, vote, match, redux, elect, activemask */
spad__ptx_runs spad__ptx_run_call;    /* ptx_call.c */
spad__ptx_runs spad__ptx_run_barrier; /* ptx_barrier.c: bar, barrier, barrier.cluster, fences,
                                         bar.warp.sync, setmaxnreg, griddepcontrol, nanosleep */
spad__ptx_runs spad__ptx_run_mbarrier; /* ptx_mbarrier.c */
spad__ptx_runs spad__ptx_run_copy;   /* ptx_copy.c: cp.async, bulk copies, their groups, st.async */
spad__ptx_runs spad__ptx_run_matrix; /* ptx_matrix.c: ldmatrix, stmatrix, movmatrix, mma, wmma */
spad__ptx_runs spad__ptx_run_wgmma;  /* ptx_wgmma.c */
spad__ptx_runs spad__ptx_run_tcgen05; /* ptx_tcgen05.c, clusterlaunchcontrol */

/* The mbarrier at a byte of shared memory; NULL: none was initialised there. */
spad__ptx_mbarrier *spad__ptx_find_mbarrier(spad__ptx_machine *m, int32_t cta, int64_t byte);
/* Bytes were delivered, or arrivals made: completes phases. */
void spad__ptx_deliver(spad__ptx_machine *m, spad__ptx_mbarrier *b, int64_t bytes);
void spad__ptx_arrive(spad__ptx_machine *m, spad__ptx_mbarrier *b, int64_t arrivals);
/* A warp's lanes have exited: barriers of the CTA no longer wait for them. */
void spad__ptx_leave_barriers(spad__ptx_machine *m, spad__ptx_warp *w);

#endif
