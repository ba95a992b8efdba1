/* SPDX-License-Identifier: Apache-2.0
 *
 * The program, recorded in its order before the kernel is built: operations with their
 * accesses, synchronisation, loops and conditions.
 *
 * Recording first has two reasons. A program that cannot be expressed with parameters is read again
 * with concrete sizes, and then nothing of the first attempt may be left. And the builder wants the
 * statements of one agent together, while a program interleaves them: each record names its stream
 * and its block, and emission filters by both.
 *
 * Loops and conditions are FOR or IF, optionally ELSE, and END, properly nested within a stream.
 * The accesses of a record are `accesses[first_access .. first_access + access_count)`; only the
 * newest record can get more. Pointers to a record are valid until the next one is added. During a
 * dry run (`dry`) nothing is recorded and the functions that add a record return NULL.
 */
#ifndef SPAD_FRONTEND_GPU_RECORDED_H
#define SPAD_FRONTEND_GPU_RECORDED_H

#include "frontend/gpu/gpu_threads.h"
#include "frontend/gpu/memory_objects.h"
#include "kernel/kernel_builder.h"
#include "spad/experimental/kernel_rows.h"

enum { SPAD__GPU_RECORDS_MAX = 400000 };

typedef enum spad__gpu_unit {
    SPAD__GPU_NO_UNIT,
    SPAD__GPU_CP,
    SPAD__GPU_TMA,
    SPAD__GPU_WGMMA,
    SPAD__GPU_TC5,
    SPAD__GPU_UNITS
} spad__gpu_unit;

typedef enum spad__gpu_group {
    SPAD__GPU_NO_GROUP,
    SPAD__GPU_LOADS,  /* cp.async */
    SPAD__GPU_STORES, /* TMA */
    SPAD__GPU_MMAS,   /* wgmma */
    SPAD__GPU_GROUPS
} spad__gpu_group;

typedef enum spad__gpu_record_kind {
    SPAD__RECORD_FOR, /* loop, scalar: iterations */
    SPAD__RECORD_IF,  /* scalar: the condition */
    SPAD__RECORD_ELSE,
    SPAD__RECORD_END,
    SPAD__RECORD_OPERATION, /* name, unit, group, accesses; buffer: the mbarrier that it delivers to
                             */
    SPAD__RECORD_STATEMENT, /* statement; buffer (mbarrier) or group, stage, scalar: amount, unit */
    SPAD__RECORD_AGENT_BARRIER,   /* of all agents of a block */
    SPAD__RECORD_WARP_BARRIER,    /* of all warps of an agent */
    SPAD__RECORD_CLUSTER_BARRIER, /* of all blocks of the cluster */
    SPAD__RECORD_ALLOCATE         /* buffer, inside a loop or a condition */
} spad__gpu_record_kind;

typedef struct spad__gpu_access {
    int32_t buffer;
    int block;       /* of the cluster: whose memory it is */
    unsigned kind;   /* SPAD_ACCESS_... */
    int32_t threads; /* which warps touch which bytes (gpu_threads.h) */
    spad__gpu_view view;
} spad__gpu_access;

/* Streams: the program before and after its agents, then the agents. */
enum { SPAD__STREAM_BEFORE, SPAD__STREAM_AFTER, SPAD__STREAM_DEFAULT, SPAD__STREAM_PARTITION };

typedef struct spad__gpu_record {
    spad__gpu_record_kind kind;
    int stream;       /* SPAD__STREAM_..., or a later partition */
    int block;        /* of the cluster: the one that does it */
    int32_t site;     /* in the program */
    const char *name; /* static; "": the operation's own */
    bool no_time;     /* it costs nothing in the simulation */
    bool matrix;      /* runs on the tensor engine, without a unit */
    spad__gpu_unit unit;
    spad__gpu_group group;
    spad_statement_kind statement;
    int64_t loop;        /* number of the loop, which SPAD__SCALAR_ITERATION names */
    spad__scalar scalar; /* iterations, condition or amount; below 0: none */
    spad__scalar expect; /* bytes; below 0: none */
    int32_t buffer;      /* mbarrier; -1: none */
    uint32_t blocks;     /* as bits: whose mbarriers it is about */
    uint32_t joined;     /* bits of a block's number that share one mbarrier */
    spad__scalar stage;
    unsigned flags;
    int64_t work[SPAD_WORKS]; /* OPERATION: of all threads, by kind */
    uint32_t first_access;
    uint32_t access_count;
} spad__gpu_record;

/* Warps that run a program of their own. */
typedef struct spad__gpu_agent {
    int64_t warps;
    int64_t registers; /* of a thread; 0: not stated */
    int64_t barrier;   /* in the kernel: of its warps; -1: none yet */
} spad__gpu_agent;

/* Work in registers since the last record. */
typedef struct spad__gpu_work {
    bool any;
    int stream;
    int32_t site; /* of the first of it */
    int64_t amount[SPAD_WORKS];
} spad__gpu_work;

typedef struct spad__gpu_records {
    SPAD_ARRAY(spad__gpu_record) all;
    SPAD_ARRAY(spad__gpu_access) accesses;
    SPAD_ARRAY(spad__gpu_thread_map)
    thread_maps;                        /* each once; accesses name them by position + 1 */
    SPAD_ARRAY(spad__gpu_agent) agents; /* default warps first; none: one program for all warps */
    int64_t warps;                      /* of the main program */
    int stream;                         /* of new records */
    int depth;                          /* open loops and conditions */
    spad__gpu_work work;
    int partitioned;     /* how often the program has split into agents so far */
    bool has_partitions; /* it splits somewhere: the kernel has agents */
    bool has_barriers;   /* the text has all barriers between the warps of an agent */
} spad__gpu_records;

spad__gpu_record *spad__gpu_add_record(spad__gpu *g, spad__gpu_record_kind kind);
spad__gpu_record *spad__gpu_add_statement(spad__gpu *g, spad_statement_kind statement);
/* `name` is static. */
spad__gpu_record *spad__gpu_add_operation(spad__gpu *g, const char *name, spad__gpu_unit unit);
/* Counts work of the threads in registers. It is recorded as an operation before the next record.
 */
void spad__gpu_add_work(spad__gpu *g, spad_work work, int64_t amount);
/* Records an operation for the work counted so far, if there is any. */
void spad__gpu_end_work(spad__gpu *g);
/* Adds an access to the newest record. view NULL: all of the buffer, as behind a pointer. */
void spad__gpu_add_access(spad__gpu *g, int32_t buffer, const spad__gpu_view *view, unsigned kind);
/* Adds the registers that threads move a tile through to the newest operation. Only their size
 * matters, for the time, and only in the main program: agents count their registers. view NULL: all
 * of the buffer. */
void spad__gpu_add_register_tile(spad__gpu *g, int32_t buffer, const spad__gpu_view *view,
                                 unsigned kind);
/* Begins an IF (*open), unless the condition is certain or below 0. False: it never holds. */
bool spad__gpu_open_if(spad__gpu *g, spad__scalar condition, bool *open);
void spad__gpu_close_if(spad__gpu *g, bool open);
/* Warps of the stream that is recorded. */
int64_t spad__gpu_warps(const spad__gpu *g);
/* A barrier of these warps, where the text has barriers and there are several warps. */
void spad__gpu_add_warp_barrier(spad__gpu *g);
/* All agents of the block meet: between two splits, the first agent runs alone. */
void spad__gpu_add_agent_barrier(spad__gpu *g);
/* Sets which warps touch which bytes, of the access that was added last. */
void spad__gpu_set_threads(spad__gpu *g, int32_t threads);
/* False: no memory. */
bool spad__gpu_add_agent(spad__gpu *g, int64_t warps, int64_t registers);
/* The condition under which alone the buffer has been written so far, in the block of the newest
 * record; below 0: unknown, or in any case. O(records). */
spad__scalar spad__gpu_written_where(const spad__gpu *g, int32_t buffer);

#endif
