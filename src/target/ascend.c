/* SPDX-License-Identifier: Apache-2.0
 *
 * Huawei Ascend: 910b (Atlas A2 and A3, arch 220x) and 950 (arch 3510). All
 * numbers are of one AI core: a cube core with L1, L0A, L0B, L0C, BT and FB,
 * and two vector cores with a UB each.
 *
 * Sources:
 *   [catlass] CATLASS, include/catlass/arch/arch.hpp: sizes
 *   [cann]    CANN 8.5 Ascend C guide, hardware constraints: alignment
 *   [flag]    CANN 8.5 Ascend C API, SetFlag/WaitFlag (ISASI): event ids 0 to 7 for each pair of
 *             pipes of the 910b; the 950 is not in its table
 *   [move]    CATLASS migration notes and the pipe marks of the data copies in
 *             asc-devkit: which pipe moves what. That fixpipe itself fetches FB
 *             from L1 is our reading; no mark says so.
 *   [npu]     torch_npu, csrc/core/npu/NpuVariables.h: names of the chips
 *   [ops]     vllm-ascend, csrc/build_aclnn.sh: names of the families
 *
 * Other public tables differ: the carver table of TileLang-Ascend has 1 MiB of
 * L1 and 512 KiB of L0C for the 910B, its code generator 256 KiB of UB for the
 * 950 (248 KiB in [catlass] and in triton-ascend). TileLang-Ascend also leaves
 * the top 256 bytes of UB and L1 to the runtime; the hardware does not ask for
 * it, so it is no reserve here.
 */
#include "target/builtin.h"

enum { L1, L0A, L0B, L0C, UB, BT, FB, GM, UB1 };

/* name, what it holds, bytes, alignment of starts [cann], granule of sizes */
#define ASCEND_MEMORY(id, text, size, align, unit)                                        \
    {                                                                                     \
        .name = (id), .about = (text), .lanes = 1, .bytes = (size), .alignment = (align), \
        .granule = (unit)                                                                 \
    }

/* L1 and UB are moved in blocks of 32 bytes and L0A and L0B hold fractals of
 * 512 bytes (16 rows of 32), hence their granules [cann]. FB: 128 in "hardware
 * constraints", 64 in "architecture 220x" of the same guide; 128 satisfies both.
 * The banks of UB take turns every 32 bytes, so a tile always crosses them. */
#define UB_MEMORY(id, size, row, alone)                                                       \
    {                                                                                         \
        .name = (id), .about = "vector data of one vector core", .lanes = 1, .bytes = (size), \
        .alignment = 32, .granule = 32, .instances = 2, .instance = (row),                    \
        .instance_of = (row) == 0 ? 0 : UB, .one_instance = (alone)                           \
    }
#define SPACES(l0c_bytes, ub_bytes, bt_bytes, fb_bytes, alone, table, rate) \
    {                                                                       \
        [L1] = ASCEND_MEMORY("l1", "cube operands", 524288, 32, 32),        \
        [L0A] = ASCEND_MEMORY("l0a", "left fractals", 65536, 512, 512),     \
        [L0B] = ASCEND_MEMORY("l0b", "right fractals", 65536, 512, 512),    \
        [L0C] = ASCEND_MEMORY("l0c", "accumulators", l0c_bytes, 64, 1),     \
        [UB] = UB_MEMORY("ub", ub_bytes, 0, alone),                         \
        [BT] = ASCEND_MEMORY("bt", "bias table", bt_bytes, 64, 1),          \
        [FB] = ASCEND_MEMORY("fb", "fixpipe parameters", fb_bytes, 128, 1), \
        [GM] = {.name = "gm",                                               \
                .about = "global memory",                                   \
                .lanes = 1,                                                 \
                .bytes = SPAD_UNBOUNDED,                                    \
                .alignment = 1,                                             \
                .granule = 1,                                               \
                .off_chip = true,                                           \
                .bytes_per_us = (rate),                                     \
                .figure_count = SPAD__COUNT(table),                         \
                .figures = (table)},                                        \
        [UB1] = UB_MEMORY("ub[1]", ub_bytes, 1, alone),                     \
    }

#define ASCEND_FIELD(name, kind, text) \
    { .field = (name), .origin = SPAD_ORIGIN_##kind, .source = (text) }
static const spad_figure memory_910b[] = {
    ASCEND_FIELD("rate", PUBLISHED, "Huawei, Atlas 800T A2: 64 GB of HBM, 1.6 TB/s; not verified")};
static const spad_figure memory_950[] = {
    ASCEND_FIELD("rate", PUBLISHED, "Huawei Connect 2025: Ascend 950PR, 1.6 TB/s")};

/* Sizes [catlass]. UB exists once per vector core: a core of the 910b reaches its own only; the
 * fixpipe of the 950 writes both [move]. */
static const spad_space spaces_910b[] =
    SPACES(131072, 196608, 1024, 7168, true, memory_910b, 1600000);
static const spad_space spaces_950[] =
    SPACES(262144, 253952, 4096, 16384, false, memory_950, 1600000);

/* Rates. Published: the cube multiplies 16 x 16 x 16 elements of 16 bits in a cycle, of 8 bits
 * twice as many (H. Liao and others, DaVinci, Hot Chips 31, 2019); a vector instruction works on
 * 256 bytes in a cycle [cann]; the HBM of an Atlas 800T A2 and of a 950PR. The clock is an estimate
 * from the peak of an Atlas 800T A2 (313 TFLOPS fp16 for each chip) and 20 AI cores of a 910B3.
 * Estimates are also all rates and latencies of the MTE pipes and the fixpipe, special functions of
 * the vector unit at a quarter of its rate, and everything of the 950 but its memory. */
#define ASCEND_PUBLISHED(text) \
    { .origin = SPAD_ORIGIN_PUBLISHED, .source = (text) }
#define ASCEND_ESTIMATE(text) \
    { .origin = SPAD_ORIGIN_ESTIMATE, .source = (text) }
#define DAVINCI "DaVinci, Hot Chips 31, 2019: 4096 fp16 multiply-adds in a cycle"
#define ASCEND_C "CANN 8.5 Ascend C guide: 256 bytes in a cycle"
#define CUBE_RATE(type, count, why) \
    { .work = SPAD_WORK_MAC, .dtype = SPAD_##type, .per_cycle = (count), .figure = why }
#define VECTOR_RATE(kind, count, why) \
    { .work = SPAD_WORK_##kind, .per_cycle = (count), .figure = why }
static const spad_rate cube_rates[] = {
    CUBE_RATE(FLOAT16, 4096, ASCEND_PUBLISHED(DAVINCI)),
    CUBE_RATE(BFLOAT16, 4096, ASCEND_PUBLISHED(DAVINCI)),
    CUBE_RATE(INT8, 8192, ASCEND_PUBLISHED(DAVINCI)),
    CUBE_RATE(FLOAT32, 1024, ASCEND_ESTIMATE("a quarter of fp16")),
};
/* 64 elements of 32 bits in each of two vector cores; an operation runs on one of them. */
static const spad_rate vector_rates[] = {
    VECTOR_RATE(FMA, 64, ASCEND_PUBLISHED(ASCEND_C)),
    VECTOR_RATE(EXP, 16, ASCEND_ESTIMATE("a quarter of fma")),
    VECTOR_RATE(CONVERT, 64, ASCEND_PUBLISHED(ASCEND_C)),
    VECTOR_RATE(REDUCE, 64, ASCEND_PUBLISHED(ASCEND_C)),
};
#define CARRIES(a, b, rate, cycles)                                                             \
    {                                                                                           \
        .from = (a), .to = (b), .bytes_per_kilocycle = (rate)*1000, .latency_cycles = (cycles), \
        .figure = ASCEND_ESTIMATE("no document has the rates of the MTE pipes")                 \
    }
/* L1 feeds one fractal of 512 bytes of each operand in a cycle at the rate of the cube; the way to
 * and from GM is as wide as the share of a core in L2 and HBM allows, about 64 bytes. */
static const spad_path mte1_paths[] = {CARRIES(L1, L0A, 256, 30), CARRIES(L1, L0B, 128, 30),
                                       CARRIES(L1, BT, 64, 30)};
static const spad_path mte2_910b[] = {CARRIES(GM, L1, 64, 600), CARRIES(GM, L0A, 64, 600),
                                      CARRIES(GM, L0B, 64, 600), CARRIES(GM, UB, 64, 600)};
static const spad_path mte2_950[] = {CARRIES(GM, L1, 64, 600), CARRIES(GM, UB, 64, 600)};
static const spad_path mte3_910b[] = {CARRIES(UB, GM, 64, 300), CARRIES(L1, GM, 64, 300)};
static const spad_path mte3_950[] = {CARRIES(UB, GM, 64, 300), CARRIES(UB, L1, 128, 100)};
static const spad_path fixpipe_910b[] = {CARRIES(L0C, GM, 64, 300), CARRIES(L0C, L1, 128, 100)};
static const spad_path fixpipe_950[] = {CARRIES(L0C, GM, 64, 300), CARRIES(L0C, L1, 128, 100),
                                        CARRIES(L0C, UB, 128, 100)};
#define PEAK_910B "313 TFLOPS fp16 (Atlas 800T A2) on 20 AI cores (910B3)"
static const spad_figure figures_910b[] = {ASCEND_FIELD("clock", ESTIMATE, PEAK_910B)};
static const spad_figure figures_950[] = {ASCEND_FIELD("clock", ESTIMATE, "as the 910B")};
#define CLOCKED(table) .clock_khz = 1900000, .figure_count = SPAD__COUNT(table), .figures = (table)
#define RATES(table) .rate_count = SPAD__COUNT(table), .rates = (table)
#define PATHS(table) .path_count = SPAD__COUNT(table), .paths = (table)
#define UNRATED .rate_count = 0

/* Pipes; each runs in order, all of them side by side. */
#define PIPE(id, text, units, from, to, ...)                                              \
    {                                                                                     \
        .name = (id), .about = (text), .count = (units), .reads = (from), .writes = (to), \
        __VA_ARGS__                                                                       \
    }
#define IN(space) SPAD__SPACE(space)
#define BOTH_UB (IN(UB) | IN(UB1))
#define CUBE_PIPE(table)                                                              \
    PIPE("cube", "matrix multiply", 1, IN(L0A) | IN(L0B) | IN(L0C) | IN(BT), IN(L0C), \
         RATES(cube_rates), CLOCKED(table))
#define VECTOR_PIPE(table)                                                                       \
    PIPE("vector", "vector unit, one per vector core", 2, BOTH_UB, BOTH_UB, RATES(vector_rates), \
         CLOCKED(table))
#define SCALAR_PIPE                                                                          \
    PIPE("scalar", "control, issues the other pipes", 1, BOTH_UB | IN(GM), BOTH_UB | IN(GM), \
         UNRATED)
#define MTE1_PIPE(table)                                                         \
    PIPE("mte1", "L1 to L0A, L0B and BT", 1, IN(L1), IN(L0A) | IN(L0B) | IN(BT), \
         PATHS(mte1_paths), CLOCKED(table))

static const spad_engine engines_910b[] = {
    CUBE_PIPE(figures_910b),
    VECTOR_PIPE(figures_910b),
    SCALAR_PIPE,
    MTE1_PIPE(figures_910b),
    /* [move]: the 910b also loads L0A and L0B straight from GM and stores L1 */
    PIPE("mte2", "GM to L1, L0A, L0B and UB", 1, IN(GM), IN(L1) | IN(L0A) | IN(L0B) | BOTH_UB,
         PATHS(mte2_910b), CLOCKED(figures_910b)),
    PIPE("mte3", "UB and L1 to GM", 1, BOTH_UB | IN(L1), IN(GM), PATHS(mte3_910b),
         CLOCKED(figures_910b)),
    PIPE("fixpipe", "L0C to GM and L1, with the parameters in FB", 1, IN(L0C) | IN(L1) | IN(FB),
         IN(GM) | IN(L1) | IN(FB), PATHS(fixpipe_910b), CLOCKED(figures_910b)),
};
static const spad_engine engines_950[] = {
    CUBE_PIPE(figures_950),
    VECTOR_PIPE(figures_950),
    SCALAR_PIPE,
    MTE1_PIPE(figures_950),
    /* [move]: no GM to L0 and no L1 to GM; L0C to UB and UB to L1 are new */
    PIPE("mte2", "GM to L1 and UB", 1, IN(GM), IN(L1) | BOTH_UB, PATHS(mte2_950),
         CLOCKED(figures_950)),
    PIPE("mte3", "UB to GM and L1", 1, BOTH_UB, IN(GM) | IN(L1), PATHS(mte3_950),
         CLOCKED(figures_950)),
    PIPE("fixpipe", "L0C to GM, L1 and UB, with the parameters in FB", 1, IN(L0C) | IN(L1) | IN(FB),
         IN(GM) | IN(L1) | BOTH_UB | IN(FB), PATHS(fixpipe_950), CLOCKED(figures_950)),
};

static const char *const aliases_910b[] = {"910c", "a2", "a3"};
static const char *const aliases_950[] = {"a5"};

#define CHIP(id) \
    { .name = (id), .source = "torch_npu, csrc/core/npu/NpuVariables.h, SocVersion" }
#define CHIP_FAMILY(id) \
    { .name = (id), .source = "vllm-ascend, csrc/build_aclnn.sh, SOC_ARG" }
/* Those of the form 910_93 are the 910C: chips in [npu], families in [ops]. */
static const spad_product products_910b[] = {
    CHIP_FAMILY("ascend910b"),   CHIP("ascend910b1"),    CHIP("ascend910b2"),
    CHIP("ascend910b2c"),        CHIP("ascend910b3"),    CHIP("ascend910b4"),
    CHIP_FAMILY("ascend910_93"), CHIP("ascend910_9391"), CHIP("ascend910_9392"),
    CHIP("ascend910_9381"),      CHIP("ascend910_9382"), CHIP("ascend910_9372"),
    CHIP("ascend910_9362"),
};
static const spad_product products_950[] = {CHIP_FAMILY("ascend950")};

static const spad_figure units_910b[] = {
    ASCEND_FIELD("units", ESTIMATE, "AI cores of a 910B3; a 910B1 or 910B2 has 24")};

/* Flags of a pair of pipes: [flag]. */
static const spad_target targets[] = {
    {
        .name = "910b",
        .about = "Ascend 910B and 910C (Atlas A2, A3), one AI core",
        .family = "ascend",
        .units = 20,
        .figure_count = SPAD__COUNT(units_910b),
        .figures = units_910b,
        .limits = {.flags = 8},
        .space_count = SPAD__COUNT(spaces_910b),
        .spaces = spaces_910b,
        .engine_count = SPAD__COUNT(engines_910b),
        .engines = engines_910b,
        .alias_count = SPAD__COUNT(aliases_910b),
        .aliases = aliases_910b,
        SPAD__PRODUCTS(products_910b),
    },
    {
        .name = "950",
        .about = "Ascend 950, one AI core",
        .family = "ascend",
        .space_count = SPAD__COUNT(spaces_950),
        .spaces = spaces_950,
        .engine_count = SPAD__COUNT(engines_950),
        .engines = engines_950,
        .alias_count = SPAD__COUNT(aliases_950),
        .aliases = aliases_950,
        SPAD__PRODUCTS(products_950),
    },
};

const spad__target_list spad__targets_ascend = {SPAD__COUNT(targets), targets};
