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
#define SPACES(l0c_bytes, ub_bytes, bt_bytes, fb_bytes, alone)              \
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
                .off_chip = true},                                          \
        [UB1] = UB_MEMORY("ub[1]", ub_bytes, 1, alone),                     \
    }

/* Sizes [catlass]. UB exists once per vector core: a core of the 910b reaches its own only; the
 * fixpipe of the 950 writes both [move]. */
static const spad_space spaces_910b[] = SPACES(131072, 196608, 1024, 7168, true);
static const spad_space spaces_950[] = SPACES(262144, 253952, 4096, 16384, false);

/* Pipes; each runs in order, all of them side by side. Clocks and rates are
 * not in the public documents. */
#define PIPE(id, text, units, from, to) \
    { .name = (id), .about = (text), .count = (units), .reads = (from), .writes = (to) }
#define IN(space) SPAD__SPACE(space)
#define BOTH_UB (IN(UB) | IN(UB1))
#define CUBE_PIPE PIPE("cube", "matrix multiply", 1, IN(L0A) | IN(L0B) | IN(L0C) | IN(BT), IN(L0C))
#define VECTOR_PIPE PIPE("vector", "vector unit, one per vector core", 2, BOTH_UB, BOTH_UB)
#define SCALAR_PIPE \
    PIPE("scalar", "control, issues the other pipes", 1, BOTH_UB | IN(GM), BOTH_UB | IN(GM))
#define MTE1_PIPE PIPE("mte1", "L1 to L0A, L0B and BT", 1, IN(L1), IN(L0A) | IN(L0B) | IN(BT))

static const spad_engine engines_910b[] = {
    CUBE_PIPE,
    VECTOR_PIPE,
    SCALAR_PIPE,
    MTE1_PIPE,
    /* [move]: the 910b also loads L0A and L0B straight from GM and stores L1 */
    PIPE("mte2", "GM to L1, L0A, L0B and UB", 1, IN(GM), IN(L1) | IN(L0A) | IN(L0B) | BOTH_UB),
    PIPE("mte3", "UB and L1 to GM", 1, BOTH_UB | IN(L1), IN(GM)),
    PIPE("fixpipe", "L0C to GM and L1, with the parameters in FB", 1, IN(L0C) | IN(L1) | IN(FB),
         IN(GM) | IN(L1) | IN(FB)),
};
static const spad_engine engines_950[] = {
    CUBE_PIPE,
    VECTOR_PIPE,
    SCALAR_PIPE,
    MTE1_PIPE,
    /* [move]: no GM to L0 and no L1 to GM; L0C to UB and UB to L1 are new */
    PIPE("mte2", "GM to L1 and UB", 1, IN(GM), IN(L1) | BOTH_UB),
    PIPE("mte3", "UB to GM and L1", 1, BOTH_UB, IN(GM) | IN(L1)),
    PIPE("fixpipe", "L0C to GM, L1 and UB, with the parameters in FB", 1, IN(L0C) | IN(L1) | IN(FB),
         IN(GM) | IN(L1) | BOTH_UB | IN(FB)),
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

/* Flags of a pair of pipes: [flag]. */
static const spad_target targets[] = {
    {
        .name = "910b",
        .about = "Ascend 910B and 910C (Atlas A2, A3), one AI core",
        .family = "ascend",
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
