/* SPDX-License-Identifier: Apache-2.0
 *
 * The capture runtime: a CUDA runtime and driver library that computes nothing. A program runs on
 * it without a GPU, and every distinct launch becomes a file (capture.c), which spad checks later.
 *
 * Entry points are C functions with the names and the calling convention of NVIDIA's libraries; the
 * declarations are our own and hold only what they use. Device memory is a table of address ranges
 * with host memory behind them (device_memory.c). Names without an implementation answer "not
 * supported" (stubs.c).
 *
 * Invariants: one lock for everything (spad__rt_enter). Device addresses are never addresses of
 * host memory, except in managed and pinned memory, which the program accesses itself.
 *
 * Reference: CUDA Runtime API and CUDA Driver API 13.0.
 */
#ifndef SPAD_CUDART_H
#define SPAD_CUDART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "spad/experimental/ptx.h"

/* ---- what programs see ---------------------------------------------------------------------- */

/* Both APIs use the same numbers for these. */
typedef enum spad__rt_code {
    SPAD__RT_SUCCESS = 0,
    SPAD__RT_INVALID_VALUE = 1,
    SPAD__RT_OUT_OF_MEMORY = 2,
    SPAD__RT_INVALID_CONFIGURATION = 9,
    SPAD__RT_INVALID_SYMBOL = 13,
    SPAD__RT_INVALID_FUNCTION = 98,
    SPAD__RT_INVALID_DEVICE = 101,
    SPAD__RT_INVALID_IMAGE = 200,
    SPAD__RT_INVALID_HANDLE = 400,
    SPAD__RT_NOT_FOUND = 500,
    SPAD__RT_NOT_SUPPORTED = 801
} spad__rt_code;

/* Defines an entry point; all of them return an int, their code. */
#define SPAD__ENTRY(name, ...)                                    \
    __attribute__((visibility("default"))) int name(__VA_ARGS__); \
    int name(__VA_ARGS__)

/* The same under a second name: for programs whose default stream is one per thread. */
#define SPAD__ENTRY_PTSZ(name, ...)                                                    \
    __attribute__((visibility("default"))) int name(__VA_ARGS__);                      \
    __attribute__((visibility("default"), alias(#name))) int name##_ptsz(__VA_ARGS__); \
    int name(__VA_ARGS__)
#define SPAD__ENTRY_PTDS(name, ...)                                                    \
    __attribute__((visibility("default"))) int name(__VA_ARGS__);                      \
    __attribute__((visibility("default"), alias(#name))) int name##_ptds(__VA_ARGS__); \
    int name(__VA_ARGS__)

typedef struct spad__rt_dim3 {
    unsigned x, y, z;
} spad__rt_dim3;

/* cudaLaunchAttribute and CUlaunchAttribute. */
typedef struct spad__rt_attribute {
    int id;
    int pad;
    union {
        unsigned extents[3];
        unsigned char bytes[64];
    } value;
} spad__rt_attribute;

enum { SPAD__RT_ATTRIBUTE_COOPERATIVE = 2, SPAD__RT_ATTRIBUTE_CLUSTER = 4 };

/* ---- the session: session.c ----------------------------------------------------------------- */

/* Takes the lock; the first call prints the banner. */
void spad__rt_enter(void);
/* Gives the lock back and returns the code. The first keeps it for cudaGetLastError. */
int spad__rt_leave(int code);
int spad__rt_leave_driver(int code);
/* A line on stderr and in the notes of the capture: why something is not recorded. */
void spad__rt_note(const char *format, ...) SPAD_PRINTF(1, 2);
/* Host memory of the runtime itself; a test replaces it. */
const spad_host *spad__rt_host(void);
void spad__rt_set_host(const spad_host *host);
/* A number from the environment, or the default. */
uint64_t spad__rt_setting(const char *name, uint64_t otherwise);
/* The folder of the capture; NULL: none. */
const char *spad__rt_folder(void);

/* ---- memory: device_memory.c ---------------------------------------------------------------- */

typedef enum spad__rt_kind {
    SPAD__RT_DEVICE,    /* virtual addresses; host memory behind them from the first write on */
    SPAD__RT_HOST,      /* managed and pinned: the program's own accesses are not seen */
    SPAD__RT_REGISTERED /* host memory of the program */
} spad__rt_kind;

/* Where a byte comes from. */
enum {
    SPAD__RT_UNWRITTEN, /* or a launch may have written it */
    SPAD__RT_FILLED,    /* memset */
    SPAD__RT_COPIED,    /* from the host */
    SPAD__RT_ASSUMED    /* copied, and a launch could have changed it since */
};

typedef struct spad__rt_block {
    uint64_t address;
    uint64_t bytes;
    spad__rt_kind kind;
    bool live;
    bool hidden;      /* the storage of a variable, whose address the program does not have */
    bool constant;    /* of a .const variable, which no kernel can write */
    bool reached;     /* an earlier launch had an address in it */
    uint8_t *backing; /* NULL: never written */
    uint8_t *origin;  /* per byte; NULL: nothing was written, or the block is larger than what is
                         recorded */
} spad__rt_block;

/* The address of a new block; 0: no memory. */
uint64_t spad__rt_allocate(spad__rt_kind kind, uint64_t bytes);
/* Host memory that a program registers. */
int spad__rt_register(const void *host, uint64_t bytes);
int spad__rt_release(uint64_t address);
/* The live block with an address; NULL: none. */
spad__rt_block *spad__rt_find_block(uint64_t address);
/* Live and freed blocks by address. */
spad__rt_block *spad__rt_blocks(size_t *count);
/* The bytes behind an address of the device or the host; NULL: beyond a block, or no memory. */
uint8_t *spad__rt_host_bytes(uint64_t address, uint64_t bytes);
/* Copies between any two places. Rows are `pitch` bytes apart. */
int spad__rt_copy(uint64_t to, uint64_t from, uint64_t bytes);
int spad__rt_copy_rows(uint64_t to, uint64_t to_pitch, uint64_t from, uint64_t from_pitch,
                       uint64_t width, uint64_t rows);
/* Writes `count` values of 1, 2 or 4 bytes. */
int spad__rt_fill(uint64_t to, uint32_t value, unsigned width, uint64_t count);
uint64_t spad__rt_free_bytes(void);
/* Largest block whose contents are recorded. */
uint64_t spad__rt_recorded_bytes(void);
/* A launch had an address in the block: it may have written there. */
void spad__rt_reach(spad__rt_block *block);
/* A launch whose parameters are not known. */
void spad__rt_reach_all(void);

/* ---- modules: modules.c --------------------------------------------------------------------- */

typedef struct spad__rt_variable {
    char *name;
    const void *host; /* the shadow that cudaMemcpyToSymbol names; NULL: loaded by the program */
    uint64_t address;
    uint64_t bytes;
    bool constant;
} spad__rt_variable;

typedef struct spad__rt_module {
    const uint8_t *image; /* fatbin container, PTX or cubin */
    uint64_t bytes;
    bool owned;    /* image is a copy of ours */
    bool text;     /* image is PTX */
    bool tried;    /* `ptx` was read */
    bool dead;     /* unloaded */
    spad_ptx *ptx; /* NULL: it has none that we can read, see `why` */
    char why[160]; /* after "kernel X is not recorded: " */
    char file[48]; /* in the folder of the capture; "": not written yet */
    SPAD_ARRAY(spad__rt_variable) variables;
} spad__rt_module;

/* A kernel: cudaKernel_t, cudaFunction_t, CUfunction and CUkernel. */
typedef struct spad__rt_function {
    spad__rt_module *module;
    const void *host; /* the function that the program names; NULL: found by name */
    char *name;
    uint64_t most_dynamic_shared; /* cudaFuncSetAttribute */
    bool noted;                   /* that it is not recorded */
    bool alike_noted;             /* that some of its launches are not */
} spad__rt_function;

/* NULL: no memory. `image` stays valid as long as the module if it is not copied. */
spad__rt_module *spad__rt_add_module(const void *image, bool copy);
void spad__rt_unload(spad__rt_module *module);
/* The names of their files are forgotten. */
void spad__rt_forget_files(void);
/* Is it a module of ours? */
bool spad__rt_is_module(const void *module);
spad__rt_function *spad__rt_add_function(spad__rt_module *module, const void *host,
                                         const char *name);
/* By the host function, or by the handle itself; NULL: neither. */
spad__rt_function *spad__rt_find_function(const void *host);
/* The kernel of a module; NULL: its PTX has none with the name. */
spad__rt_function *spad__rt_named_function(spad__rt_module *module, const char *name);
/* Finds the index of the kernel in its module's PTX. False: not found; module->why has the reason.
 */
bool spad__rt_read_kernel(const spad__rt_function *function, size_t *kernel);
spad__rt_variable *spad__rt_add_variable(spad__rt_module *module, const void *host,
                                         const char *name, uint64_t bytes, bool constant);
/* By the host shadow or the address; by name in a module. NULL: none. */
spad__rt_variable *spad__rt_find_variable(const void *host);
spad__rt_variable *spad__rt_named_variable(spad__rt_module *module, const char *name);
/* The program takes the address of a variable, so that a kernel may have it as a pointer. */
uint64_t spad__rt_expose(const spad__rt_variable *variable);
/* Compute capability x 10 of the chip: SPAD_CUDA_ARCH, or what the program's code is for. */
int spad__rt_architecture(void);

/* ---- launches: launch.c, capture.c ---------------------------------------------------------- */

typedef struct spad__rt_launch {
    spad__rt_function *function;
    unsigned grid[3];
    unsigned block[3];
    unsigned cluster[3]; /* 0: none */
    uint64_t shared_bytes;
    size_t kernel;             /* in the module's PTX */
    const uint8_t *parameters; /* laid out as the kernel declares them */
    const uint8_t *origin;     /* per byte: SPAD__RT_UNWRITTEN or SPAD__RT_COPIED */
    uint64_t parameter_bytes;
} spad__rt_launch;

void spad__rt_take_attributes(spad__rt_launch *launch, const spad__rt_attribute *attributes,
                              unsigned count);
/* Checks a launch as the driver does, and records it. `arguments` has a pointer for each parameter,
 * or is NULL; then `buffer` has their bytes. */
int spad__rt_do_launch(spad__rt_launch *launch, void *const *arguments, const void *buffer,
                       size_t buffer_bytes);
/* Writes the file of a launch, unless there is one that is the same. */
void spad__rt_capture(const spad__rt_launch *launch);
/* Forgets what was written: the next launch is the first one. For tests. */
void spad__rt_forget(void);
/* Writes the module of a launch, unless it is there. */
bool spad__rt_write_module(spad__rt_module *module);

/* ---- tensor maps: tensor_maps.c ------------------------------------------------------------- */

enum { SPAD__RT_MAP_BYTES = 128, SPAD__RT_MAP_TEXT = 400 };

/* Is it one that this runtime has encoded? */
bool spad__rt_is_map(const uint8_t *bytes);
/* The tensor of a map: its address. */
uint64_t spad__rt_map_address(const uint8_t *bytes);
/* In the words of a tensormap: argument. False: they cannot describe it, and `field` is the
 * reason. */
bool spad__rt_describe_map(const uint8_t *bytes, char field[SPAD__RT_MAP_TEXT]);

/* ---- the device: device.c ------------------------------------------------------------------- */

/* An attribute by its number, which both APIs share; 0 where it means nothing here. */
int spad__rt_device_attribute(int attribute);
const char *spad__rt_device_name(void);
uint64_t spad__rt_device_bytes(void);
/* Blocks per multiprocessor by threads and shared memory; registers are not known. */
int spad__rt_occupancy(const spad__rt_function *function, int threads, uint64_t dynamic_shared);
/* An attribute of a function by its number, which both APIs share. */
int spad__rt_function_attribute(const spad__rt_function *function, int attribute);
int spad__rt_set_function_attribute(spad__rt_function *function, int attribute, int value);

/* An entry point by its name, of the version that it has now; NULL: none. */
void *spad__rt_entry_point(const char *name);

#endif
