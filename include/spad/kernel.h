/* SPDX-License-Identifier: Apache-2.0
 *
 * kernel: a program over the memory of one target: declarations, scopes, loops, operations and
 * synchronisation.
 *
 * A kernel is read from text (docs/kernel.md describes the language), or assembled by calls
 * (spad/experimental/kernel_builder.h); both go through the same checks and give the same program.
 * A finished kernel never changes: threads may share it, and functions that change one return
 * another. Its rows are in spad/experimental/kernel_rows.h.
 *
 *     spad_kernel *kernel;
 *     if (spad_kernel_parse(&kernel, text, length, "k.spad", NULL, NULL, &error) == SPAD_OK) {
 *         ...
 *         spad_kernel_destroy(kernel);
 *     }
 */
#ifndef SPAD_KERNEL_H
#define SPAD_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spad/host.h"
#include "spad/source.h"
#include "spad/target.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spad_kernel spad_kernel;

/** A location in the text; line 0: no text. */
typedef struct spad_location {
    int32_t line;
    int32_t column;
    int32_t width;
} spad_location;

/** The name of the kernel. */
SPAD_API const char *spad_kernel_get_name(const spad_kernel *kernel);

/** The description of the kernel; "" without one. */
SPAD_API const char *spad_kernel_get_about(const spad_kernel *kernel);

/** The assumption of every proof about the kernel: executions of the original program that break it
 * are not covered. "": none. */
SPAD_API const char *spad_kernel_get_assumption(const spad_kernel *kernel);

/** Work of the program that no statement of the kernel stands for, and that its simulated time
 * leaves out: "12 element-wise operations of threads". "": none is known. */
SPAD_API const char *spad_kernel_get_uncounted(const spad_kernel *kernel);

/** The file it was read from; NULL: it was built by calls. */
SPAD_API const char *spad_kernel_get_file(const spad_kernel *kernel);

/** The target of the kernel. */
SPAD_API const spad_target *spad_kernel_get_target(const spad_kernel *kernel);

/** Blocks of the grid; the kernel describes one of them. 0: not stated. */
SPAD_API int64_t spad_kernel_get_grid(const spad_kernel *kernel);

/** Blocks of a cluster whose agents the kernel has; 1: not stated. */
SPAD_API int64_t spad_kernel_get_cluster(const spad_kernel *kernel);

/** Does the compiler handle dependencies? True without agents, units and synchronisation. */
SPAD_API bool spad_kernel_is_implicit(const spad_kernel *kernel);

/** Writes the kernel as text. Reading it back gives the same program, apart from locations.
 *  Parameters are written with the values in effect, comments of the text that was read with the
 *  statements that they are about. */
SPAD_API spad_status spad_kernel_write_text(const spad_kernel *kernel, const spad_sink *sink,
                                            spad_error *error);

/** Frees it. NULL is fine. */
SPAD_API void spad_kernel_destroy(spad_kernel *kernel);

/* ---- text to kernel ---------------------------------------------------------------- */

/** A new value for a parameter: -D N=64. */
typedef struct spad_define {
    const char *name;
    int64_t value;
} spad_define;

/** Zeroed is the default. */
typedef struct spad_kernel_options {
    size_t struct_size; /**< see SPAD_OPTIONS_INIT */
    const spad_define *defines;
    size_t define_count;
    const spad_define *rings; /**< ring depths that replace those in the text, by name of the
                                   tensor: for auto tensors with block dimensions; 0: no ring */
    size_t ring_count;
    const spad_target *target; /**< replaces the target that the kernel names */
    const spad_host *host;
} spad_kernel_options;

/**
 * Reads a kernel. `file` is its name in messages. On a fault the status is
 * SPAD_ERR_SYNTAX, `error` has the first fault, and `diagnostics` (optional) has all
 * of them. SPAD_ERR_UNKNOWN: a define names no parameter, or a ring no tensor.
 * SPAD_ERR_ARGUMENT: the tensor cannot have a ring. The text is not needed
 * afterwards; the target is borrowed. The caller owns the result.
 */
SPAD_API spad_status spad_kernel_parse(spad_kernel **out, const char *text, size_t length,
                                       const char *file, const spad_kernel_options *options,
                                       spad_diagnostics *diagnostics, spad_error *error);

/**
 * The same kernel with the parameters and rings of `options`. Rows keep their numbers
 * and locations. Statuses are as for the builder, because a value may make a
 * dimension empty or an index leave its tensor, and SPAD_ERR_UNKNOWN and SPAD_ERR_ARGUMENT
 * of spad_kernel_parse for the options. The target is borrowed; the first kernel is not
 * needed afterwards.
 */
SPAD_API spad_status spad_kernel_reshape(spad_kernel **out, const spad_kernel *kernel,
                                         const spad_kernel_options *options, spad_error *error);

/**
 * The same kernel without the addresses that it gives to tensors on chip (`at`, `mod`), so that the
 * planner places them: a modulo tensor becomes a ring that repeats as its places do. Tensors of
 * stacks and heaps and aliases stay as they are. Rows keep their numbers and locations. A tensor
 * that was read through the address of another is uninitialised then: the check finds it. Statuses
 * of the builder. The target is borrowed; the first kernel is not needed afterwards.
 */
SPAD_API spad_status spad_kernel_release(spad_kernel **out, const spad_kernel *kernel,
                                         const spad_host *host, spad_error *error);

/**
 * The same kernel with a tensor declared before all enclosing loops. It gets a tile for every
 * iteration, and one more if a parameter determines how many there are, because there may be
 * none. `tiles` of them exist at a time; the innermost loop uses them in turn. The tensor must be
 * auto, without aliases, and without `alloc` and `free`; else SPAD_ERR_ARGUMENT. Other statuses are
 * as for the builder, such as SPAD_ERR_NAME for a name that would be used twice. Rows keep their
 * locations; tensors and statements have new numbers.
 */
SPAD_API spad_status spad_kernel_hoist(spad_kernel **out, const spad_kernel *kernel, int64_t tensor,
                                       int64_t tiles, const spad_host *host, spad_error *error);

/**
 * The same kernel with its loops found again: for straight ones, as traces are, of operations and
 * of tensors without blocks. Statements that repeat with indices, ranges and costs that move evenly
 * become loops; equal tensors of one source that only operations of loops tell apart become the
 * tiles of one. The operations of a run stay the same, in the same order and on the same bytes.
 * Tensors that the planner places are tiles of one only if the layout fits as before and takes no
 * more bytes; else their operations stay straight.
 * In a kernel with agents each of them is folded by itself, with units and synchronisation; tensors
 * and mbarriers at even distances that an agent uses in turn become tiles and elements of one.
 * *out is NULL where nothing is repeated three times, or if the kernel is not straight. Rows have
 * new numbers, and locations refer to the new text. O(statements) for loops whose bodies are
 * found at once.
 */
SPAD_API spad_status spad_kernel_fold(spad_kernel **out, const spad_kernel *kernel,
                                      const spad_host *host, spad_error *error);

#ifdef __cplusplus
}
#endif
#endif
