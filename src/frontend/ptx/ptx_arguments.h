/* SPDX-License-Identifier: Apache-2.0
 *
 * The arguments of a launch: from words such as "A=bf16[4096,4096]", or from bytes that were
 * recorded, to parameter bytes, buffers in global memory and tensor maps.
 * include/spad/experimental/ptx.h has the grammar.
 */
#ifndef SPAD_FRONTEND_PTX_ARGUMENTS_H
#define SPAD_FRONTEND_PTX_ARGUMENTS_H

#include "frontend/ptx/run/ptx_machine.h"
#include "spad/experimental/ptx.h"

typedef struct spad__ptx_arguments {
    spad_host host;
    SPAD_ARRAY(uint8_t) bytes; /* of the parameters */
    SPAD_ARRAY(uint8_t) known;
    SPAD_ARRAY(spad__ptx_buffer) buffers;
    SPAD_ARRAY(spad__ptx_mapped) maps;
    uint64_t next; /* address for the next buffer */
} spad__ptx_arguments;

/* Everything that a launch says about its parameters and about memory. SPAD_ERR_ARGUMENT: names
 * what is wrong, and what it should be. `out` is to be freed in any case. */
spad_status spad__ptx_read_arguments(spad__ptx_arguments *out, const spad_host *host,
                                     const spad__ptx_module *module,
                                     const spad__ptx_function *kernel,
                                     const spad_ptx_launch *launch, spad_error *error);
void spad__ptx_arguments_free(spad__ptx_arguments *arguments);

/* ---- parts ---- */

/* A buffer of these bytes at the next address; NULL: no memory. */
spad__ptx_buffer *spad__ptx_add_buffer(spad__ptx_arguments *out, int64_t bytes);
/* "bf16[64,64],box[...]"; without at[...] it adds a buffer for the tensor. */
spad_status spad__ptx_read_tensor_map(spad__tensor_map *map, spad__ptx_arguments *out,
                                      const char *text, spad_error *error);
/* Lays out the parameters, and fills them from the words of the launch unless it has their bytes.
 */
spad_status spad__ptx_read_words(spad__ptx_arguments *out, const spad__ptx_module *module,
                                 const spad__ptx_function *kernel, const spad_ptx_launch *launch,
                                 spad_error *error);

#endif
