/* SPDX-License-Identifier: Apache-2.0
 *
 * executor: runs a small kernel in every order that its synchronisation allows, with
 * memory that knows who wrote each byte. An oracle: nothing in it comes from the checker.
 *
 * What an execution is. A kernel is a set of points. A statement of an agent is one point
 * (a barrier `sync` two: going in, coming out). An operation on a unit is issued by a point
 * of its agent and has up to three more: its start, the end of its reads, the end of its
 * writes. A statement queued on a unit is a point of the unit. A point may happen when what
 * stands before it has (the statement before, the order of the unit, the bundles of a group
 * wait) and when counters, barriers and mbarriers let it. An execution lets one point happen
 * after another until none can. All executions are visited: depth first, states that were
 * seen before are left out.
 *
 * What is wrong is in executor_wrong, each found by its definition:
 *   race      in one execution y starts before x has ended, in another x before y has ended,
 *             for two accesses to a common byte of which one writes, unless both `adds` to it
 *             through one proxy
 *   content   a read starts and finds bytes that were not last written as its tile; inputs are
 *             written before the start, in the order of the text, and what a tile held before it
 *             was allocated is gone
 *   stuck     an execution ends with points that cannot happen
 *   parity    the phases that can be complete while a parity wait stands there do not leave
 *             it one meaning
 *   fence     a generic write is followed by an access through the async proxy (or the init of
 *             an mbarrier by what reaches it through the proxy) and no fence comes between
 *             them in every execution. Where a unit needs another fence of the target: `issue`, an
 *             access that is not of such a unit is followed by one that is, and no fence of
 *             the agent comes between, or an agent has none before its first such operation;
 *             `threads`, two agents access the memory, and the first one has no `before` fence
 *             (or arrival on such a unit) or the second one no `after` fence between them
 *   sync      an agent of several threads: the elected one and one of the others access the
 *             same bytes in any order. The others run what all threads do: they wait where the
 *             first one does, and at a sync, or where all arrive, the first one waits for them
 *
 *   bytes     of an mbarrier that has a place: an access to them starts while it is alive, or is
 *             not over when it, or another mbarrier there, begins. What a tile had there is gone
 *             then. A write through the async proxy needs a fence after `invalidate`
 *
 * Orders between two points are therefore not computed, they are what was seen. A run ends at
 * the first wrong thing. States are recognised by a hash of 64 bits: for 10^6 states the
 * chance to miss one is 3 x 10^-8.
 *
 * Left out, and listed in `unmodelled`: `relaxed` (memory here is as strong as execution).
 * Points that cannot be distinguished from others are taken as soon as they are possible, or fused:
 * see executor.c.
 */
#ifndef SPAD_TEST_EXECUTOR_H
#define SPAD_TEST_EXECUTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "spad/experimental/kernel_rows.h"
#include "spad/experimental/walk.h"

enum {
    EXECUTOR_RACE = 1,
    EXECUTOR_STALE = 2,     /* read of bytes last written as another tile or in another life */
    EXECUTOR_UNWRITTEN = 4, /* read of bytes that were never written */
    EXECUTOR_FREED = 8,     /* access to a tile that is not alive, or freed twice */
    EXECUTOR_STUCK = 16,
    EXECUTOR_PARITY = 32,
    EXECUTOR_BARRIER = 64, /* too much contributed, two arrivals of one agent, or to either round */
    EXECUTOR_MBARRIER = 128, /* not alive, initialised twice, too many arrivals, either phase */
    EXECUTOR_FENCE = 256,
    EXECUTOR_SYNC = 1024,      /* between the threads of an agent */
    EXECUTOR_BYTES = 2048,     /* of an mbarrier, accessed while it is alive */
    EXECUTOR_OUTPUT = 512,     /* an output is overwritten by something else when the kernel ends */
    EXECUTOR_UNFINISHED = 4096 /* a block ends while an operation uses its memory */
};

typedef struct executor_options {
    long states_max;           /* 0: 200000 */
    bool plain;                /* without the reductions on the order of points: slow */
    bool ends;                 /* only: which executions end? Bytes do not count, and a run
                                  does not end at one that is stuck */
    const spad_layout *layout; /* places of auto tensors; NULL: they share no bytes */
} executor_options;

typedef struct executor_result {
    unsigned wrong;     /* the first wrong thing that was met; 0: none */
    bool decided;       /* wrong, or everything was visited */
    bool some_end;      /* with `ends`: an execution ends */
    bool some_stuck;    /* with `ends`: one does not */
    bool unmodelled;    /* the kernel has something that is left out here */
    bool walk_failed;   /* the kernel has no run: an index leaves its tensor and the like */
    bool takers;        /* two agents or queues take from one counter */
    bool leftover;      /* something was signalled, delivered or contributed in vain */
    bool read_to_async; /* a generic read is followed by an async write without a fence */
    bool views;         /* an output is written under other names only */
    bool unwritten;     /* a byte of an output is never written under its own name */
    long states;
    char about[SPAD_MESSAGE_MAX]; /* what was found, in words */
} executor_result;

executor_result executor_run(const spad_kernel *kernel, const executor_options *options);

/* The same for all values that are not known; what is wrong for one is wrong. The kernel is left
 * with other values. */
executor_result executor_run_all_values(spad_kernel *kernel, const executor_options *options);

/* "race", "stuck" and so on; "right" for 0. */
const char *executor_word(unsigned wrong);

#endif
