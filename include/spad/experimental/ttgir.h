/* SPDX-License-Identifier: Apache-2.0
 *
 * ttgir: kernels of Triton, as its compiler prints them before it makes machine code.
 *
 * TTGIR is MLIR text with the dialects tt, ttg, ttng, scf and arith. It has the shared and tensor
 * memory of a kernel, rings, barriers, asynchronous copies and partitions of warps; docs/triton.md
 * says what becomes of each, and for which versions.
 */
#ifndef SPAD_TTGIR_H
#define SPAD_TTGIR_H

#ifndef SPAD_EXPERIMENTAL
#error "spad/experimental/ttgir.h may change in any version: define SPAD_EXPERIMENTAL"
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spad/experimental/kernel_rows.h"
#include "spad/source.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Facts of a text beyond the kernel itself. */
typedef struct spad_ttgir_info {
    int64_t shared_bytes;   /**< of the compiler's own layout; -1: not in the text */
    int64_t tensor_columns; /**< of tensor memory, by the compiler; -1: not in the text */
    int64_t warps;          /**< of the kernel, without the warps of partitions */
    bool placed;            /**< buffers have the compiler's addresses */
    bool barriers;          /**< the barriers between the warps of a partition are in the text, for
                                 these addresses: whether they are sufficient is checked */
    bool unrolled; /**< something that matters cannot be expressed by iterations and sizes, so the
                      kernel was run with the given sizes: it has no loops and holds for these sizes
                      only */
    char reason[160];  /**< unrolled: what that was, and the line */
    char assumed[200]; /**< sizes that were not given and matter: "K = 4096"; "": none */
    int64_t blocks;    /**< of a cluster: the kernel is what each of them does; 1: no cluster */
    char scratch[200]; /**< what is not in the text about scratch memory of operations: which sizes
                            follow from layouts, and which are not known; "": nothing */
    char
        approximated[200]; /**< what data decides and the kernel has in one way only; "": nothing */
    bool together; /**< blocks of the cluster touch the memory of one another: the kernel has the
                        agents, tensors and mbarriers of all of them */
    char skipped[120]; /**< what the program does not do with these sizes: a return before its end,
                            a loop without rounds; "": nothing */
} spad_ttgir_info;

/** Does a text look like MLIR of Triton? O(length) at most. */
SPAD_API bool spad_ttgir_detect(const char *text, size_t length);

/**
 * Reads the public function of a module; several are a fault. Options as for spad_kernel_parse; a
 * define gives an integer argument of the function its value (4096 where none exists), or a
 * parameter of the kernel; `program_id` (`_x`, `_y`, `_z`) and `num_programs` say which block of
 * the grid it is (0 of 128). `target` replaces the chip that the module names. Locations are those
 * of the text, and sources the lines of Python that it came from. info is optional. Statuses as for
 * spad_kernel_parse: SPAD_ERR_SYNTAX with all faults in `diagnostics`, among them operations on
 * memory that are not known. SPAD_ERR_ARGUMENT: a text of more than 64 MiB, or a value that its
 * argument cannot have.
 */
SPAD_API spad_status spad_kernel_read_ttgir(spad_kernel **out, spad_ttgir_info *info,
                                            const char *text, size_t length, const char *file,
                                            const spad_kernel_options *options,
                                            spad_diagnostics *diagnostics, spad_error *error);

/** A tile that blocks of a grid load first through an argument. */
typedef struct spad_ttgir_tile {
    char name[48];  /**< of the argument, and of the tensor that the kernel has for it */
    int64_t reused; /**< so many blocks begin with the same one */
    int64_t near;   /**< the longest run of neighbours that do */
    int64_t step;   /**< elements from it to the next one of a block, along a pointer; 0: unknown */
} spad_ttgir_tile;

/**
 * Compares the first `blocks` blocks of a grid in x (1 to 4096), by the arithmetic of pointers and
 * coordinates. `tiles` has room for so many; *count are set. Arguments whose places depend on data
 * are left out. Defines as for spad_kernel_read_ttgir; an argument without one is 4096. Statuses as
 * for spad_kernel_read_ttgir. O(blocks x operations + arguments x blocks^2).
 */
SPAD_API spad_status spad_ttgir_read_tiles(spad_ttgir_tile *tiles, size_t room, size_t *count,
                                           const char *text, size_t length, int64_t blocks,
                                           const spad_kernel_options *options, spad_error *error);

/** The line of the program that the operation in a line of TTGIR comes from: its file and line, of
 * the innermost function. The file is copied, cut to `size`; "": it has no location, or the text
 * cannot be read. */
SPAD_API spad_status spad_ttgir_find_source(char *file, size_t size, int32_t *source_line,
                                            const char *text, size_t length, int32_t line,
                                            const spad_host *host, spad_error *error);

/** Where warps meet around an operation, in what a conversion to LLVM made of it. */
typedef struct spad_ttgir_meeting {
    int32_t line; /**< of the operation, from 1 on */
    bool before;  /**< its first instruction that touches memory */
    bool inside;  /**< between two of them */
    bool after;   /**< the last one */
} spad_ttgir_meeting;

/**
 * Writes a text with a line `ttg.barrier local` for each meeting before or after an operation, for
 * versions of Triton that insert barriers while they convert (3.6). Arrivals without a meeting are
 * marked with the attribute `spad.alone`. SPAD_ERR_ARGUMENT: the meetings do not say where the
 * barriers are, or a line is not one of the text. SPAD_ERR_SYNTAX, SPAD_ERR_IO. host may be NULL.
 */
SPAD_API spad_status spad_ttgir_write_barriers(const char *text, size_t length,
                                               const spad_ttgir_meeting *meetings, size_t count,
                                               const spad_sink *sink, const spad_host *host,
                                               spad_error *error);

#ifdef __cplusplus
}
#endif
#endif
