/* SPDX-License-Identifier: Apache-2.0
 *
 * Executes one CTA, or the CTAs of one cluster, of a PTX kernel.
 *
 * Why execute: addresses, trip counts, barrier counts and roles of warps are arithmetic on the
 * launch, and arithmetic is cheap. Data is not needed for that: every value is known or unknown,
 * per lane, and an operation on an unknown value gives an unknown one.
 *
 * A warp runs until it blocks or exits, then the next one runs. Lanes that diverge run as groups
 * with one program counter each, the lowest first; a group that waits lets the others go on. Every
 * access to shared and tensor memory and every synchronisation is an event (ptx_event.h).
 *
 * Cost: O(1) per warp instruction, beyond the bytes that it accesses.
 */
#ifndef SPAD_FRONTEND_PTX_MACHINE_H
#define SPAD_FRONTEND_PTX_MACHINE_H

#include "base/limit.h"
#include "frontend/ptx/run/ptx_event.h"
#include "frontend/ptx/run/tensor_map.h"
#include "frontend/ptx/text/ptx_module.h"

enum { SPAD__PTX_LANES = 32, SPAD__PTX_CLUSTER = 16, SPAD__PTX_WARPS = 32 };

/* ---- a launch ------------------------------------------------------------------------------- */

/* A region of global memory that an argument points to. Addresses are ours. */
typedef struct spad__ptx_buffer {
    uint64_t address;
    int64_t bytes;
    uint8_t *data;  /* NULL: its contents are not known, and what is stored is not kept */
    uint8_t *known; /* per byte; NULL: as data */
    int64_t beyond; /* bytes at its end that `data` does not have: they are not known */
} spad__ptx_buffer;

typedef struct spad__ptx_mapped {
    uint64_t
        address; /* where the kernel finds the descriptor: in global memory, or SPAD__PTX_PARAM_BASE
                    + offset for one that is a parameter */
    spad__tensor_map map;
} spad__ptx_mapped;

typedef struct spad__ptx_launch {
    const spad__ptx_function *kernel;
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t cluster[3];   /* 1, 1, 1: none */
    uint32_t first_cta[3]; /* of the cluster that runs, in the grid */
    int64_t dynamic_shared_bytes;
    const uint8_t *parameters; /* parameter_bytes, laid out as the kernel declares them */
    const uint8_t *parameters_known;
    int64_t parameter_bytes;
    spad__ptx_buffer *buffers;
    size_t buffer_count;
    const spad__ptx_mapped *maps;
    size_t map_count;
    int64_t most_steps; /* warp instructions; beyond: SPAD_ERR_TIME */
    int64_t most_events;
    spad__limit *limit; /* NULL: none */
} spad__ptx_launch;

/* Generic addresses: the windows of the spaces. Global memory has all others. */
#define SPAD__PTX_SHARED_BASE UINT64_C(0x7f0000000000) /* + rank << 24 | offset */
#define SPAD__PTX_LOCAL_BASE UINT64_C(0x7e0000000000)
#define SPAD__PTX_PARAM_BASE UINT64_C(0x7d0000000000)
#define SPAD__PTX_CONST_BASE UINT64_C(0x7c0000000000)
#define SPAD__PTX_GLOBAL_BASE UINT64_C(0x7b0000000000) /* .global variables of the module */
#define SPAD__PTX_CODE_BASE UINT64_C(0x7a0000000000)   /* + 16 x number of a function */

/* ---- what is wrong, or not certain, beyond the events ------------------------------------------
 */

typedef enum spad__ptx_remark_kind {
    /* wrong */
    SPAD__PTX_OUT_OF_SHARED, /* address, bytes: beyond the CTA's shared memory */
    SPAD__PTX_OUT_OF_GLOBAL, /* beyond all buffers */
    SPAD__PTX_OUT_OF_LOCAL,
    SPAD__PTX_MISALIGNED,
    SPAD__PTX_BAD_BARRIER,       /* a count that is not a multiple of 32, a number above 15 */
    SPAD__PTX_BAD_DESCRIPTOR,    /* text says what */
    SPAD__PTX_DIVERGED,          /* lanes that an instruction needs are elsewhere */
    SPAD__PTX_BAD_MASK,          /* the mask of an instruction leaves out a lane that is here */
    SPAD__PTX_BAD_TRANSACTION,   /* bytes that an mbarrier expects; text: what copies bring */
    SPAD__PTX_PRODUCT_IN_FLIGHT, /* a register that wgmma uses is accessed */
    SPAD__PTX_NO_PRODUCT_FENCE,  /* wgmma.fence is missing */
    SPAD__PTX_LANES_RACE,        /* of one warp */
    SPAD__PTX_LANES_RELEASE,     /* of a warp that was diverged; one has released for the other */
    SPAD__PTX_TRAPPED,
    SPAD__PTX_ENDLESS, /* a loop without a condition that does nothing else */
    /* not certain: the run is one of several */
    SPAD__PTX_BRANCH_ON_DATA,  /* a choice was made */
    SPAD__PTX_PEEK,            /* try_wait or test_wait outside a wait loop: a choice was made */
    SPAD__PTX_UNKNOWN_ADDRESS, /* a shared address is not known */
    SPAD__PTX_UNKNOWN_OPERAND, /* of a synchronisation: count, parity, barrier; what was assumed is
                                  in text */
    SPAD__PTX_LEFT_OUT,     /* an address is not known, and what the instruction does is left out */
    SPAD__PTX_APPROXIMATED, /* text */
    SPAD__PTX_RELEASE_IN_STEP, /* one lane releases for others, unless the warp runs in step */
    SPAD__PTX_LANES_COLLIDE,   /* lanes of one store write different values to one place */
    SPAD__PTX_SPIN,            /* a loop on memory that another thread writes: it was left */
    SPAD__PTX_AWAITS_BLOCKS    /* a loop on global memory that other blocks write */
} spad__ptx_remark_kind;

typedef struct spad__ptx_remark {
    spad__ptx_remark_kind kind;
    int32_t instruction;
    int32_t cta;
    int32_t warp;
    int32_t lane;
    uint64_t address;
    int64_t bytes;
    int64_t times; /* remarks of one kind at one instruction are one */
    char text[120];
} spad__ptx_remark;

/* What decides where the run has a choice. */
typedef struct spad__ptx_choices {
    void *context;
    /* A branch (true: taken) or a peek (true: the phase is complete, if it can be). */
    bool (*choose)(void *context, spad__ptx_remark_kind kind, int32_t instruction, int32_t cta,
                   int32_t warp);
} spad__ptx_choices;

typedef struct spad__ptx_result {
    int64_t steps; /* warp instructions */
    int64_t events;
    bool stuck; /* some warps never ended: they block each other */
    SPAD_ARRAY(spad__ptx_remark) remarks;
    bool remarks_full;            /* some were left out */
    SPAD_ARRAY(uint8_t) executed; /* per instruction of the module: it ran */
} spad__ptx_result;

typedef struct spad__ptx_sink {
    void *context;
    spad_status (*add)(void *context, const spad__ptx_event *event, spad_error *error);
} spad__ptx_sink;

/* Runs a launch. SPAD_ERR_UNKNOWN names the instruction that cannot be executed and
 * its line. out is valid, and to be freed, in any case. */
spad_status spad__ptx_run(spad__ptx_result *out, const spad__ptx_module *module,
                          const spad__ptx_launch *launch, const spad__ptx_sink *sink,
                          const spad__ptx_choices *choices, const spad_host *host,
                          spad_error *error);
void spad__ptx_result_free(spad__ptx_result *result, const spad_host *host);
/* The generic address of a .global or .const variable of the module; 0: none, or no host memory. A
 * buffer of a launch that covers it replaces its initial contents. */
uint64_t spad__ptx_variable_address(const spad__ptx_module *module, int32_t variable);

#endif
