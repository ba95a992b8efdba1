/* SPDX-License-Identifier: Apache-2.0
 *
 * kernel_builder: assembles a kernel by calls, as a front end does. The same checks as for text
 * apply, at once: a call appends one item, or fails and appends nothing.
 *
 * A builder belongs to one thread. Blocks (loop, if, scope, agent) are begun and ended in the order
 * of the program; spad__kernel_builder_finish hands the kernel over.
 */
#ifndef SPAD_KERNEL_KERNEL_BUILDER_H
#define SPAD_KERNEL_KERNEL_BUILDER_H

#include "spad/experimental/kernel_rows.h"
#include "target/target.h"

/* ---- calls to kernel ------------------------------------------------------------------------
 * Every call appends one item, or fails and appends nothing. The statuses:
 * SPAD_ERR_NAME (taken, or not a word), SPAD_ERR_UNKNOWN (no such number or name),
 * SPAD_ERR_ARGUMENT, SPAD_ERR_SHAPE, SPAD_ERR_DTYPE, SPAD_ERR_LANES, SPAD_ERR_BOUNDS
 * (an index that is certain to be outside in some iteration), SPAD_ERR_OVERFLOW,
 * SPAD_ERR_SPACE (the engine cannot reach the space), SPAD_ERR_NO_SCOPE,
 * SPAD_ERR_HOST_MEMORY. Names are copied. */

typedef struct spad__kernel_builder spad__kernel_builder;

/* Creates a builder. `options`: target, host, defines and rings, as for text. */
spad_status spad__kernel_builder_create(spad__kernel_builder **out, const char *name,
                                        const char *about, const spad_target *target,
                                        const spad_kernel_options *options, spad_error *error);

/* Frees a builder, finished or not. NULL is fine. */
void spad__kernel_builder_destroy(spad__kernel_builder *builder);

/* Returns the kernel, owned by the caller. The builder is then empty and can only be destroyed.
 *  SPAD_ERR_ARGUMENT: a block is not ended. SPAD_ERR_UNKNOWN: a define or a ring was not used. */
spad_status spad__kernel_builder_finish(spad_kernel **out, spad__kernel_builder *builder,
                                        spad_error *error);

/* Sets the location of everything that is added after this call. */
void spad__kernel_builder_at(spad__kernel_builder *builder, spad_location location);

/* Adds a line of the program that the kernel is made from. code: its text, or NULL. caller: the
 *  source of the call that leads to it, or -1. *out: its number. */
spad_status spad__kernel_builder_source(int64_t *out, spad__kernel_builder *builder,
                                        const char *file, int32_t line, const char *code,
                                        int64_t caller, spad_error *error);

/* Sets the source of all statements that are added after this call; -1: none. */
spad_status spad__kernel_builder_from(spad__kernel_builder *builder, int64_t source,
                                      spad_error *error);

/* Adds a constant. */
spad_status spad__kernel_builder_number(spad_expr *out, spad__kernel_builder *builder,
                                        int64_t value, spad_error *error);

/* Adds a parameter or the variable of an enclosing loop, by name. */
spad_status spad__kernel_builder_name(spad_expr *out, spad__kernel_builder *builder,
                                      const char *name, spad_error *error);

/* Applies an operator to one or two expressions; right is 0 for SPAD_EXPR_NEGATE. */
spad_status spad__kernel_builder_apply(spad_expr *out, spad__kernel_builder *builder,
                                       spad_expr_op op, spad_expr left, spad_expr right,
                                       spad_error *error);

/* Adds an expression from text: "(i / 3) % 2". */
spad_status spad__kernel_builder_expr(spad_expr *out, spad__kernel_builder *builder,
                                      const char *text, spad_error *error);

/* Declarations. An amount is its value, or a constant expression from which the builder
 * fills in the value. *out: the number of the row. */

/* Declares a parameter; *out is an expression with its value. */
spad_status spad__kernel_builder_param(spad_expr *out, spad__kernel_builder *builder,
                                       const char *name, spad_amount preset, spad_error *error);

/* The kernel that is built depends on the value of a parameter, beyond expressions: on how many
 *  agents there are, for instance. It cannot be reshaped to another value. */
spad_status spad__kernel_builder_fix(spad__kernel_builder *builder, const char *param,
                                     spad_error *error);

/* A parameter is not known before the kernel runs, as the rounds of a loop that data ends: a check
 *  proves the kernel for all of its values, or nothing. */
spad_status spad__kernel_builder_any(spad__kernel_builder *builder, const char *param,
                                     spad_error *error);

/* The newest synchronisation object is one of mbarriers, and the first of its extents counts the
 *  blocks of the cluster, which is declared before it: each block has the others, at the same bytes
 *  of its shared memory. */
spad_status spad__kernel_builder_each_block(spad__kernel_builder *builder, spad_error *error);

/* Declares that the agents are those of several blocks of a cluster, each with threads, registers
 *  and barriers of its own. */
spad_status spad__kernel_builder_cluster(spad__kernel_builder *builder, spad_amount blocks,
                                         spad_error *error);

/* The assumption of a proof about the kernel, as a clause: "the loop in line 7 has 3 rounds". A
 * kernel has at most one. SPAD_ERR_NAME: it has one already. */
spad_status spad__kernel_builder_assume(spad__kernel_builder *builder, const char *assumption,
                                        spad_error *error);

/* `undecided "text"`: why a check may find errors, but proves nothing: the program has executions
 * that are not known. SPAD_ERR_NAME: a second one. */
spad_status spad__kernel_builder_undecided(spad__kernel_builder *builder, const char *why,
                                           spad_error *error);

/* `fault "text" [times] [from source]`: an error that the program has shown already, so that every
 * check of the kernel reports it, with the location and the source that are set. */
spad_status spad__kernel_builder_fault(spad__kernel_builder *builder, const char *message,
                                       int64_t times, spad_error *error);

/* States work that no statement of the kernel stands for: its simulated time leaves it out, and
 *  every text and picture with that time says so. A kernel states this at most once. SPAD_ERR_NAME:
 *  it has done so already. */
spad_status spad__kernel_builder_uncounted(spad__kernel_builder *builder, const char *work,
                                           spad_error *error);

/* Names the compiler whose statements these are, as "Triton 3.6.0": its known faults are reported
 * as its own. */
spad_status spad__kernel_builder_compiler(spad__kernel_builder *builder, const char *compiler,
                                          spad_error *error);

/* Declares how many blocks the grid has. The kernel describes one of them. */
spad_status spad__kernel_builder_grid(spad__kernel_builder *builder, spad_amount blocks,
                                      spad_error *error);

/* Declares the region of the scoped manager of a space. */
spad_status spad__kernel_builder_region(spad__kernel_builder *builder, size_t space,
                                        spad_amount lower, spad_amount upper,
                                        spad_stack_behaviour behaviour, spad_error *error);

/* Declares a unit of an engine. */
spad_status spad__kernel_builder_unit(int64_t *out, spad__kernel_builder *builder, const char *name,
                                      size_t engine, spad_unit_order order, bool proxy,
                                      spad_error *error);

/* Operations of a unit need a fence of the target, by number (spad__target_find_fence), that is not
 *  a proxy fence; the check then asks for it. SPAD_ERR_UNKNOWN: no such unit or fence,
 *  SPAD_ERR_ARGUMENT: a proxy fence, or the engine does not reach its memory. */
spad_status spad__kernel_builder_unit_fence(spad__kernel_builder *builder, int64_t unit,
                                            size_t fence, spad_error *error);

/* Declares values that are not known before the kernel runs: from least up to end, which is not
 *  one. dims: none or one. values: what is taken for them; fewer than there are, or NULL: least
 *  for the others. Their expressions are made by spad__kernel_builder_value. */
spad_status spad__kernel_builder_unknown(int64_t *out, spad__kernel_builder *builder,
                                         const char *name, spad_amounts dims, spad_amount least,
                                         spad_amount end, const int64_t *values, size_t value_count,
                                         spad_error *error);

/* An unknown value as an expression. element: 0 where there is one. */
spad_status spad__kernel_builder_value(spad_expr *out, spad__kernel_builder *builder,
                                       int64_t unknown, spad_expr element, spad_error *error);

/* Declares a synchronisation object, or an array of them. */
spad_status spad__kernel_builder_sync(int64_t *out, spad__kernel_builder *builder,
                                      spad_sync_kind kind, const char *name, spad_amounts dims,
                                      spad_amount count, spad_error *error);

/* Gives an mbarrier a place: the byte of its first element in the space `shared` of the target. A
 *  target without one is refused (SPAD_ERR_UNKNOWN), and so are other kinds of objects, a negative
 *  byte, and elements whose bytes do not fit 64 bits. */
spad_status spad__kernel_builder_sync_at(spad__kernel_builder *builder, int64_t sync,
                                         spad_amount byte, spad_error *error);

/* Declares a tensor; fields that the builder fills in are not read. */
spad_status spad__kernel_builder_tensor(int64_t *out, spad__kernel_builder *builder,
                                        const spad_kernel_tensor *tensor, spad_error *error);

/* Declares a cursor in the block that is open, at stage 0 of phase 0. phase NULL: it has no name.
 *  Stage and phase are expressions then, by spad__kernel_builder_name. */
spad_status spad__kernel_builder_cursor(int64_t *out, spad__kernel_builder *builder,
                                        const char *stage, const char *phase, spad_amount count,
                                        spad_error *error);

/* Blocks; spad__kernel_builder_end ends each. */

/* Begins a loop; *variable is an expression with its variable. */
spad_status spad__kernel_builder_for(spad_expr *variable, spad__kernel_builder *builder,
                                     const char *name, spad_amount begin, spad_amount end,
                                     bool parallel, spad_error *error);

/*
 * Begins a loop whose bounds may change with loops around it, over the values from, from + step,
 * ... below to. A negative step runs the range from its end: to - 1, to - 1 + step, ... down to
 * from. *variable is the value. Bounds that are constant, and a step of 1, make the loop of the
 * call above.
 */
spad_status spad__kernel_builder_range(spad_expr *variable, spad__kernel_builder *builder,
                                       const char *name, spad_expr from, spad_expr to,
                                       spad_amount step, bool parallel, spad_error *error);

/* Begins a block that runs if all comparisons of one alternative hold. */
spad_status spad__kernel_builder_if(spad__kernel_builder *builder,
                                    const spad_comparison *comparisons, size_t count,
                                    spad_error *error);

/* Begins the else part of the innermost block, which must be an if. */
spad_status spad__kernel_builder_else(spad__kernel_builder *builder, spad_error *error);

/* Begins a scope of the scoped managers. name NULL: unnamed. */
spad_status spad__kernel_builder_scope(spad__kernel_builder *builder, const char *name,
                                       spad_amount sections, spad_error *error);

/* Begins the program of an agent, outside of all blocks. */
spad_status spad__kernel_builder_agent(spad__kernel_builder *builder, const char *name,
                                       spad_error *error);

/* States how many threads an agent has, directly after its begin, and how many registers each of
 *  them is limited to; a value of 0: not stated. Before the first agent, outside of all blocks, it
 *  states those of the main program: the threads of a block. */
spad_status spad__kernel_builder_threads(spad__kernel_builder *builder, spad_amount threads,
                                         spad_amount registers, spad_error *error);

/* Ends the innermost block. SPAD_ERR_ARGUMENT: none exists. */
spad_status spad__kernel_builder_end(spad__kernel_builder *builder, spad_error *error);

/* Adds an operation on an engine of the target or on a unit, by name. */
spad_status spad__kernel_builder_operation(spad__kernel_builder *builder, const char *runner,
                                           const char *name, spad_error *error);
/* The next four calls, and spad__kernel_builder_elect, extend the last operation. */

/* Adds an access to the last operation. */
spad_status spad__kernel_builder_access(spad__kernel_builder *builder,
                                        const spad_kernel_access *access, spad_error *error);

/* Adds a completion to the last operation. */
spad_status spad__kernel_builder_completion(spad__kernel_builder *builder,
                                            const spad_kernel_completion *completion,
                                            spad_error *error);

/* Puts the last operation into the next commit of a group. */
spad_status spad__kernel_builder_group(spad__kernel_builder *builder, int64_t group,
                                       spad_error *error);

/* Sets the cost of the last operation. */
spad_status spad__kernel_builder_cost(spad__kernel_builder *builder, spad_cost_kind kind,
                                      spad_expr cost, spad_error *error);

/* Sets how long after the end of its occupation the result of the last operation is there. */
spad_status spad__kernel_builder_latency(spad__kernel_builder *builder, spad_cost_kind kind,
                                         spad_amount latency, spad_error *error);

/* Sets how much of a kind of work the last operation does per element of its largest operand.
 *  SPAD_ERR_ARGUMENT: not a kind that is counted by element, or below 1. */
spad_status spad__kernel_builder_work(spad__kernel_builder *builder, spad_work work,
                                      spad_amount amount, spad_error *error);

/* One elected thread of the agent runs the last operation; without it, all of them do. */
spad_status spad__kernel_builder_elect(spad__kernel_builder *builder, spad_error *error);

/* A statement with this kind and item and all other fields unused, to pass to the next call. */
spad_statement spad__statement_of(spad_statement_kind kind, int64_t item);

/* Adds any other statement. Only kind, item, index, amount, expect, unit, fence and flags are
 * read. An amount of 0 means 1, or in INIT the count of the mbarrier. */
spad_status spad__kernel_builder_statement(spad__kernel_builder *builder,
                                           const spad_statement *statement, spad_error *error);

#endif
