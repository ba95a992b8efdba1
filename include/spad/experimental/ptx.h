/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx: kernels of CUDA C++ and of everything else that becomes PTX, for one launch.
 *
 * A launch is executed on the host, far enough to see every access to shared and tensor memory and
 * every synchronisation: numbers are computed, data is unknown unless the launch gives it. What the
 * threads of one CTA, or of the CTAs of one cluster, do becomes a kernel with an agent for each
 * warp, so that every analysis of kernels applies to it. docs/cuda.md says what becomes of each
 * instruction, and what is not known afterwards.
 */
#ifndef SPAD_PTX_H
#define SPAD_PTX_H

#ifndef SPAD_EXPERIMENTAL
#error "spad/experimental/ptx.h may change in any version: define SPAD_EXPERIMENTAL"
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spad/kernel.h"
#include "spad/source.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- modules ------------------------------------------------------------------------------- */

/** A PTX text that was read. Safe to read from several threads. */
typedef struct spad_ptx spad_ptx;

/** Does a text look like PTX? */
SPAD_API bool spad_ptx_detect(const char *text, size_t length);

/** Reads a text, which is copied. SPAD_ERR_SYNTAX with all faults in `diagnostics`;
 *  SPAD_ERR_ARGUMENT: more than 256 MiB. Instructions that are not known are no fault until a
 *  launch executes them. */
SPAD_API spad_status spad_ptx_create(spad_ptx **out, const char *text, size_t length,
                                     const char *file, const spad_host *host,
                                     spad_diagnostics *diagnostics, spad_error *error);

/** Frees it. NULL is fine. */
SPAD_API void spad_ptx_destroy(spad_ptx *ptx);

/** A parameter of a kernel, as PTX has it: C++ names are not in it. */
typedef struct spad_ptx_parameter {
    const char *name;
    const char *type; /**< "u64", "f32"; of a struct "b8" */
    int64_t bytes;
    int64_t align;
    bool pointer; /**< declared with .ptr; other 8-byte parameters may be pointers as well */
} spad_ptx_parameter;

/** A kernel of a module. Strings belong to the module. */
typedef struct spad_ptx_kernel {
    const char *name;       /**< mangled, as in the text */
    const char *plain_name; /**< in C++, without template arguments and parameters: "ns::gemm";
                                 `name` itself where it is not of this form */
    const char *full_name; /**< plain_name with template arguments: "ns::gemm<float, 4>"; plain_name
                                where they are of another form than types and numbers */
    int32_t line;          /**< of the text */
    size_t parameter_count;
    int64_t instructions;
    int64_t shared_bytes;        /**< static */
    bool dynamic_shared;         /**< it has .extern .shared memory */
    int32_t required_threads[3]; /**< .reqntid; 0: not given */
    int32_t most_threads[3];     /**< .maxntid */
    int32_t cluster[3];          /**< .reqnctapercluster */
} spad_ptx_kernel;

/** Number of kernels. */
SPAD_API size_t spad_ptx_kernel_count(const spad_ptx *ptx);

/** The kernel at an index below the count. */
SPAD_API spad_ptx_kernel spad_ptx_get_kernel(const spad_ptx *ptx, size_t kernel);

/** A parameter of a kernel. */
SPAD_API spad_ptx_parameter spad_ptx_get_parameter(const spad_ptx *ptx, size_t kernel,
                                                   size_t parameter);

/** "sm_90a": the chip that the text is for. */
SPAD_API const char *spad_ptx_target(const spad_ptx *ptx);

/** The text that was read, borrowed from the module. */
SPAD_API const char *spad_ptx_text(const spad_ptx *ptx, size_t *length);

/** The kernel with a name, or the only one that matches a pattern with `*`. A pattern is compared
 *  with the mangled name, the name in C++, and its last part. NULL: the only one of the module.
 * SPAD_ERR_UNKNOWN: none, or several; the message lists them. */
SPAD_API spad_status spad_ptx_find_kernel(size_t *out, const spad_ptx *ptx, const char *pattern,
                                          spad_error *error);

/* ---- files with PTX in them ---------------------------------------------------------------- */

/** A fatbin, or an ELF file with fatbins: an executable, a shared object or an object of nvcc. One
 *  fatbin for each translation unit, with an entry for each architecture. Safe to read from several
 *  threads. */
typedef struct spad_ptx_image spad_ptx_image;

typedef struct spad_ptx_image_options {
    const spad_host *host;
    /** Unpacks zstd into exactly `to_bytes`; spad_zstd_unpack of spad/device/zstd.h is one. NULL:
     *  texts that are packed with zstd are not read. LZ4 needs no function. */
    spad_status (*unpack_zstd)(void *to, size_t to_bytes, const void *from, size_t from_bytes,
                               spad_error *error);
} spad_ptx_image_options;

/** One entry of an image. */
typedef struct spad_ptx_image_entry {
    size_t unit;     /**< translation unit, counted from 0 */
    bool ptx;        /**< else machine code, which is not read */
    char arch[16];   /**< "sm_90a" */
    char source[64]; /**< the file that nvcc compiled; "": not known */
} spad_ptx_image_entry;

/** Do bytes look like a fatbin or an ELF file? */
SPAD_API bool spad_ptx_image_detect(const void *bytes, size_t length);

/** Lists the entries of a file, whose bytes have to stay until spad_ptx_image_destroy.
 *  SPAD_ERR_ARGUMENT: a damaged file. */
SPAD_API spad_status spad_ptx_image_create(spad_ptx_image **out, const void *bytes, size_t length,
                                           const spad_ptx_image_options *options,
                                           spad_error *error);

/** Frees it. NULL is fine. */
SPAD_API void spad_ptx_image_destroy(spad_ptx_image *image);

/** Number of entries. */
SPAD_API size_t spad_ptx_image_count(const spad_ptx_image *image);

/** The entry at an index below the count. */
SPAD_API spad_ptx_image_entry spad_ptx_image_get(const spad_ptx_image *image, size_t index);

/** Reads the text of a PTX entry as spad_ptx_create does. SPAD_ERR_ARGUMENT: machine code, or
 * damaged; SPAD_ERR_CAPABILITY: packed with zstd, and there is nothing to unpack it with. */
SPAD_API spad_status spad_ptx_image_read(spad_ptx **out, const spad_ptx_image *image, size_t index,
                                         const char *file, spad_diagnostics *diagnostics,
                                         spad_error *error);

/** Reads the module that has a kernel: a name or a pattern as in spad_ptx_find_kernel. Of each
 *  translation unit it takes the entry for `arch`, such as "sm_90a"; NULL: for the newest one.
 *  SPAD_ERR_UNKNOWN: no PTX, none for this architecture, or no or several modules with such a
 *  kernel; the message says what to do. */
SPAD_API spad_status spad_ptx_image_find(spad_ptx **out, const spad_ptx_image *image,
                                         const char *arch, const char *kernel, const char *file,
                                         spad_diagnostics *diagnostics, spad_error *error);

/* ---- launches ------------------------------------------------------------------------------ */

/** Device memory that a launch may access: bytes [address, address + bytes). */
typedef struct spad_ptx_memory {
    uint64_t address;
    int64_t bytes;
    const uint8_t *contents; /**< of the first content_bytes; NULL: these are zeros */
    const uint8_t *known;    /**< per byte of contents, 0: not known; NULL: all of them are known */
    int64_t content_bytes;   /**< the bytes after these are not known */
} spad_ptx_memory;

/** A CUtensorMap that lies in the parameters or in device memory. */
typedef struct spad_ptx_tensor_map {
    bool in_parameters;
    uint64_t at;     /**< offset in the parameters, or address */
    const char *map; /**< as an argument, without "tensormap:" */
} spad_ptx_tensor_map;

/** A .global or .const variable of the module that the host wrote before the launch. */
typedef struct spad_ptx_variable {
    const char *name;
    const uint8_t *contents;
    const uint8_t *known; /**< as in spad_ptx_memory */
    int64_t content_bytes;
} spad_ptx_variable;

/**
 * How a kernel is launched. Arguments are "NAME=VALUE" in the order of the parameters; NAME is a
 * label, or the number of a parameter from 0 (then the order does not matter). VALUE is
 *
 *     4096, -1, 0x10, 1.5              a number, stored in the type of the parameter
 *     bf16[4096,4096]                  a pointer to a tensor of unknown contents
 *     i32[16]=zeros                    ... of zeros
 *     i32[4]=1,2,3,4                   ... of these numbers; the rest is zeros
 *     tensormap:bf16[4096,4096],box[128,64],swizzle128
 *                                      a CUtensorMap; extents and boxes are outermost first;
 *                                      at[0x...] is the address of the tensor
 *     bytes:0a1b...                    a struct, in hexadecimal; ".." is an unknown byte
 *     unknown                          any value
 */
typedef struct spad_ptx_launch {
    size_t kernel;
    uint32_t grid[3]; /**< 0: 1 */
    uint32_t block[3];
    uint32_t cluster[3];
    uint32_t cta[3]; /**< that runs, or one of its cluster */
    int64_t dynamic_shared_bytes;
    const char *const *arguments;
    size_t argument_count;
    const uint8_t *parameters; /**< instead of arguments: all parameters, as the kernel has them */
    const uint8_t *parameters_known; /**< per byte, 0: not known; NULL: all of them are known */
    int64_t parameter_bytes;
    const spad_ptx_memory *memory;
    size_t memory_count;
    const spad_ptx_tensor_map *tensor_maps;
    size_t tensor_map_count;
    const spad_ptx_variable *variables;
    size_t variable_count;
    const char *assumption; /**< that a proof repeats, after "assuming that"; NULL: none */
    int64_t most_steps;     /**< warp instructions; 0: 10^9 */
    uint32_t way;  /**< of the choices that data leaves: bit n is the answer at the n-th place
                        that has one, in the order of their first occurrence */
    bool straight; /**< the statements of each warp stay in a straight line; else loops are found
                        again, and the launch may be executed with other values of an argument
                        that decides a trip count */
    int64_t timeout_ns; /**< 0: 60 seconds */
    spad_watch watch;
} spad_ptx_launch;

/** A launch file: a launch as text, written by hand or by a program that records launches
 *  (docs/cuda.md has the format). Safe to read from several threads. */
typedef struct spad_ptx_launch_file spad_ptx_launch_file;

/** Does a text look like a launch file? */
SPAD_API bool spad_ptx_launch_file_detect(const char *text, size_t length);

/** Reads a text. SPAD_ERR_SYNTAX with all faults in `diagnostics`; SPAD_ERR_ARGUMENT: more than
 *  256 MiB. */
SPAD_API spad_status spad_ptx_launch_file_create(spad_ptx_launch_file **out, const char *text,
                                                 size_t length, const char *file,
                                                 const spad_host *host,
                                                 spad_diagnostics *diagnostics, spad_error *error);

/** Frees it. NULL is fine. */
SPAD_API void spad_ptx_launch_file_destroy(spad_ptx_launch_file *launch_file);

/** The file with the kernel, as the text names it: relative to the folder of the launch file. */
SPAD_API const char *spad_ptx_launch_file_module(const spad_ptx_launch_file *launch_file);

/** The kernel, a name or a pattern; NULL: the only one of the module. */
SPAD_API const char *spad_ptx_launch_file_kernel(const spad_ptx_launch_file *launch_file);

/** The launch without its kernel: `kernel` is to be set. Its pointers lead into the file. */
SPAD_API spad_ptx_launch spad_ptx_launch_file_get(const spad_ptx_launch_file *launch_file);

/** Something that a run shows, apart from the kernel. */
typedef struct spad_ptx_remark {
    bool wrong;       /**< a fault of the program; else something that is not certain */
    bool choice;      /**< data decides, and the run went one way */
    int32_t line;     /**< of the PTX text */
    const char *file; /**< of the source; NULL: not in the text */
    int32_t source_line;
    int64_t times;
    char message[200];
} spad_ptx_remark;

/** One executed launch. */
typedef struct spad_ptx_run spad_ptx_run;

/** Executes a launch. `options`: target and host, as for text. SPAD_ERR_CAPABILITY: an instruction
 *  that spad cannot execute; SPAD_ERR_TIME: more steps or time than allowed; SPAD_ERR_CANCELLED;
 * SPAD_ERR_ARGUMENT: a launch that the kernel cannot have. */
SPAD_API spad_status spad_ptx_run_create(spad_ptx_run **out, const spad_ptx *ptx,
                                         const spad_ptx_launch *launch,
                                         const spad_kernel_options *options, spad_error *error);

/** Frees it; the kernel only if it was not taken. NULL is fine. */
SPAD_API void spad_ptx_run_destroy(spad_ptx_run *run);

/** The kernel, owned by the caller from then on; NULL the second time. */
SPAD_API spad_kernel *spad_ptx_run_take_kernel(spad_ptx_run *run);

/** Numbers of a run. */
typedef struct spad_ptx_counts {
    int64_t instructions; /**< of warps, executed */
    int64_t events;       /**< accesses and synchronisation */
    int32_t ctas;
    int32_t warps;
    int32_t choices;      /**< places where data decides */
    int64_t loops;        /**< of the kernel, outermost ones of all agents */
    int64_t not_executed; /**< synchronising instructions whose line no warp reached */
} spad_ptx_counts;

/** Numbers of a run. */
SPAD_API spad_ptx_counts spad_ptx_run_get_counts(const spad_ptx_run *run);

/** The loops of the kernel, or why it has none, as a clause; "" for a launch that stays straight.
 */
SPAD_API const char *spad_ptx_run_get_folding(const spad_ptx_run *run);

/** Number of regions of device memory that the launch had. */
SPAD_API size_t spad_ptx_run_memory_count(const spad_ptx_run *run);

/** A region after the run, with what the executed blocks have stored: first those of the launch's
 *  `memory` and `variables`, then those that its arguments made, each in their order. Contents are
 *  only there where the launch gave some, and belong to the run. */
SPAD_API spad_ptx_memory spad_ptx_run_get_memory(const spad_ptx_run *run, size_t index);

/** Number of remarks. */
SPAD_API size_t spad_ptx_run_remark_count(const spad_ptx_run *run);

/** The remark at an index below the count. */
SPAD_API spad_ptx_remark spad_ptx_run_get_remark(const spad_ptx_run *run, size_t index);

/** A call that the code of a remark was inlined into. */
typedef struct spad_ptx_frame {
    char function[128]; /**< that is called there, as full_name of kernels; "": not known */
    const char *file;   /**< NULL: not in the text */
    int32_t line;
} spad_ptx_frame;

/** The call at a depth: 0 is where the function of the remark's line was inlined. False: there is
 *  none, and *out is unchanged. */
SPAD_API bool spad_ptx_run_get_frame(spad_ptx_frame *out, const spad_ptx_run *run, size_t remark,
                                     size_t depth);

#ifdef __cplusplus
}
#endif
#endif
