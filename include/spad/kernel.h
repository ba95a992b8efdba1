/* SPDX-License-Identifier: Apache-2.0
 *
 * kernel: a program over the memory of one target: declarations, scopes, loops, operations and
 * synchronisation.
 *
 * A kernel is read from text (docs/kernel.md describes the language). It never changes: threads may
 * share it, and functions that change one return another. Its rows are in
 * spad/experimental/kernel_rows.h.
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

/** The target of the kernel. */
SPAD_API const spad_target *spad_kernel_get_target(const spad_kernel *kernel);

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

#ifdef __cplusplus
}
#endif
#endif
