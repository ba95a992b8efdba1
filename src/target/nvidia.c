/* SPDX-License-Identifier: Apache-2.0
 *
 * NVIDIA GPUs, sm_70 to sm_121. All numbers are of one multiprocessor (SM).
 *
 * Sources:
 *   [cccl]  NVIDIA CCCL, libcudacxx cuda/__device/arch_traits.h: shared memory
 *           per SM, reserve per block, blocks per SM
 *   [guide] CUDA programming guide, table of technical specifications
 *   [gpus]  CUDA GPU Compute Capability, developer.nvidia.com/cuda-gpus: products
 *   [ptx]   PTX ISA: which instructions reach which memory; tcgen05.alloc; bar and
 *           barrier; mbarrier, "Contents of the mbarrier object"; setmaxnreg;
 *           cp.async.bulk and cp.async.bulk.tensor; fence.proxy.async; wgmma.fence;
 *           tcgen05, "Memory Consistency Model"
 *
 * Shared memory is written as per-SM bytes with the reserve of one block on
 * top, so that usable is what one block may ask for (the opt-in limit) and
 * blocks per SM = bytes / (bytes of a block + reserve), at most max_groups.
 * ptxas refuses more than plain_limit bytes of static shared memory on all of
 * them. Clocks and rates differ from card to card: those of one card for each of sm_80, sm_86,
 * sm_89, sm_90, sm_100 and sm_120 are in nvidia_cards.h, the others have none.
 */
#include "target/builtin.h"

enum { SHARED, REGISTERS, LOCAL, GLOBAL, TMEM };

/* Alignment 1: the hardware asks for the size of the access; what TMA, MMA
 * descriptors and mbarriers need on top belongs to the tensor. Shared memory
 * has 32 banks of 4 bytes that take turns, so a tile always crosses them. */
#define SHARED_SPACE(per_sm, reserve) SHARED_OF("shared", per_sm, reserve, 0, 0)
#define SHARED_OF(id, per_sm, reserve, count, row)                                        \
    {                                                                                     \
        .name = (id), .about = "shared memory of a block", .lanes = 1, .bytes = (per_sm), \
        .reserved = (reserve), .alignment = 1, .granule = 1, .plain_limit = 49152,        \
        .instances = (count), .instance = (row), .instance_of = SHARED                    \
    }

/* The blocks of a cluster (sm_90): every block has shared memory of its own, and reaches that of
 * the others [guide]. As many can be named as a cluster has at most: 16 on data center chips
 * (sm_90, 100; sm_103 and sm_110 are taken to be like sm_100), 8 on sm_120 and sm_121. */
#define PEER(per_sm, reserve, count, row) SHARED_OF("shared[" #row "]", per_sm, reserve, count, row)
#define SEVEN_PEERS(per_sm, reserve, count)                               \
    PEER(per_sm, reserve, count, 1), PEER(per_sm, reserve, count, 2),     \
        PEER(per_sm, reserve, count, 3), PEER(per_sm, reserve, count, 4), \
        PEER(per_sm, reserve, count, 5), PEER(per_sm, reserve, count, 6), \
        PEER(per_sm, reserve, count, 7)
#define PEERS(per_sm, reserve)                                                                    \
    SEVEN_PEERS(per_sm, reserve, 16), PEER(per_sm, reserve, 16, 8), PEER(per_sm, reserve, 16, 9), \
        PEER(per_sm, reserve, 16, 10), PEER(per_sm, reserve, 16, 11),                             \
        PEER(per_sm, reserve, 16, 12), PEER(per_sm, reserve, 16, 13),                             \
        PEER(per_sm, reserve, 16, 14), PEER(per_sm, reserve, 16, 15)

/* 65536 registers of 4 bytes per SM, 255 for one thread [cccl], [guide]. */
#define REGISTER_SPACE                                                                         \
    {                                                                                          \
        .name = "registers", .about = "register file; the limit is of one thread", .lanes = 1, \
        .bytes = 65536 * 4, .alignment = 4, .granule = 4, .plain_limit = 255 * 4,              \
        .thread_bytes = 255 * 4                                                                \
    }

/* 512 KiB per thread [guide]; it lives in device memory. */
#define LOCAL_SPACE                                                                    \
    {                                                                                  \
        .name = "local", .about = "stack of one thread, in device memory", .lanes = 1, \
        .bytes = 524288, .alignment = 1, .granule = 1, .off_chip = true                \
    }

#define GLOBAL_SPACE GLOBAL_OF(NO_MEMORY)
#define NO_MEMORY .bytes_per_us = 0
#define GLOBAL_OF(...)                                                                   \
    {                                                                                    \
        .name = "global", .about = "device memory", .lanes = 1, .bytes = SPAD_UNBOUNDED, \
        .alignment = 1, .granule = 1, .off_chip = true, __VA_ARGS__                      \
    }

/* 128 lanes x 512 columns x 4 bytes. tcgen05.alloc hands out 32 columns or a
 * power of two of that [ptx]; it exists on sm_100, sm_103 and sm_110 only. Each block of a cluster
 * has one, and tcgen05 with cta_group::2 works on those of a pair of blocks. */
#define TENSOR_SPACE(id, row)                                                           \
    {                                                                                   \
        .name = (id), .about = "tensor memory: accumulators of tcgen05", .lanes = 128,  \
        .bytes = 512 * 4, .alignment = 32 * 4, .granule = 32 * 4, .power_of_two = true, \
        .instances = 16, .instance = (row), .instance_of = (row) == 0 ? 0 : TMEM        \
    }

#define TENSOR_PEER(row) TENSOR_SPACE("tmem[" #row "]", row)
#define TENSOR_PEERS                                                                     \
    TENSOR_PEER(1), TENSOR_PEER(2), TENSOR_PEER(3), TENSOR_PEER(4), TENSOR_PEER(5),      \
        TENSOR_PEER(6), TENSOR_PEER(7), TENSOR_PEER(8), TENSOR_PEER(9), TENSOR_PEER(10), \
        TENSOR_PEER(11), TENSOR_PEER(12), TENSOR_PEER(13), TENSOR_PEER(14), TENSOR_PEER(15)

#define ON_CHIP (SPAD__SPACE(SHARED) | SPAD__SPACE(REGISTERS))
#define EVERYWHERE (ON_CHIP | SPAD__SPACE(LOCAL) | SPAD__SPACE(GLOBAL))

/* The instructions of a thread; with tcgen05.ld and .st also tensor memory [ptx]. */
#define THREAD_ENGINE(tensor_memory) THREADS_OF(tensor_memory, NO_RATES)
#define NO_RATES .clock_khz = 0
#define THREADS_OF(tensor_memory, ...)                                                             \
    {                                                                                              \
        .name = "simt", .about = "the threads of a block", .count = 1,                             \
        .reads = EVERYWHERE | (tensor_memory), .writes = EVERYWHERE | (tensor_memory), __VA_ARGS__ \
    }
/* mma: registers to registers. wgmma (sm_90): operands also in shared memory.
 * tcgen05.mma (sm_100, 103, 110): operands in shared or tensor memory, results
 * in tensor memory. sm_120 and sm_121 have mma only [ptx]. */
#define MATRIX_ENGINE(from, to) MATRIX_OF(from, to, NO_RATES)
#define MATRIX_OF(from, to, ...)                                                                   \
    {                                                                                              \
        .name = "tensor", .about = "matrix multiply", .count = 1, .reads = (from), .writes = (to), \
        __VA_ARGS__                                                                                \
    }
/* cp.async (sm_80): global to shared. */
#define COPY_ENGINE(from, to) COPY_OF(from, to, NO_RATES)
#define COPY_OF(from, to, ...)                                                       \
    {                                                                                \
        .name = "copy", .about = "asynchronous copies", .count = 1, .reads = (from), \
        .writes = (to), __VA_ARGS__                                                  \
    }
/* cp.async.bulk, TMA (sm_90): also back. Its addresses in shared memory are multiples of 16; a
 * tensor copy with swizzle needs 128 and more, which the tensor has to say with `align` [ptx]. */
#define BULK_ENGINE(from, to) BULK_OF(from, to, NO_RATES)
#define BULK_OF(from, to, ...) COPY_OF(from, to, .proxy_align = 16, __VA_ARGS__)

#define IN_REGISTERS SPAD__SPACE(REGISTERS)
#define IN_SHARED SPAD__SPACE(SHARED)
#define IN_GLOBAL SPAD__SPACE(GLOBAL)
#define IN_TENSOR SPAD__SPACE(TMEM)

/* Rows of the blocks of a cluster: after all others, with and without tensor memory. */
#define ROWS(first, count) (((UINT64_C(1) << (count)) - 1) << (first))
#define IN_PEERS ROWS(4, 15)
#define IN_CLUSTER (IN_SHARED | IN_PEERS)
#define IN_SEVEN_PEERS ROWS(4, 7)
#define IN_SMALL_CLUSTER (IN_SHARED | IN_SEVEN_PEERS)
#define IN_TMEM_PEERS ROWS(5, 15)
#define IN_TMEM_CLUSTER (IN_SHARED | IN_TMEM_PEERS)
#define IN_PAIRS (IN_TENSOR | ROWS(20, 15))

#include "target/nvidia_cards.h"

static const spad_engine volta_engines[] = {
    THREAD_ENGINE(0),
    MATRIX_ENGINE(IN_REGISTERS, IN_REGISTERS),
};
#define AMPERE_ENGINES(card)                                                                 \
    {                                                                                        \
        THREADS_OF(0, card##_THREADS), MATRIX_OF(IN_REGISTERS, IN_REGISTERS, card##_MATRIX), \
            COPY_OF(IN_GLOBAL, IN_SHARED, card##_COPIES)                                     \
    }
static const spad_engine ampere_engines[] = AMPERE_ENGINES(none);
static const spad_engine sm_80_engines[] = AMPERE_ENGINES(a100);
static const spad_engine sm_86_engines[] = AMPERE_ENGINES(rtx3090);
static const spad_engine sm_89_engines[] = AMPERE_ENGINES(rtx4090);

static const spad_engine hopper_engines[] = {
    THREADS_OF(IN_PEERS, h200_THREADS),
    MATRIX_OF(IN_REGISTERS | IN_CLUSTER, IN_REGISTERS, h200_MATRIX),
    BULK_OF(IN_GLOBAL | IN_CLUSTER, IN_GLOBAL | IN_CLUSTER, h200_COPIES),
};
/* With tcgen05.cp, which brings scale factors from shared to tensor memory and runs in the order of
 * the products; no other copy reaches tensor memory [ptx]. */
#define BLACKWELL_ENGINES(card)                                                              \
    {                                                                                        \
        THREADS_OF(IN_PAIRS | IN_TMEM_PEERS, card##_THREADS),                                \
            MATRIX_OF(IN_TMEM_CLUSTER | IN_PAIRS, IN_PAIRS, card##_MATRIX),                  \
            BULK_OF(IN_GLOBAL | IN_TMEM_CLUSTER, IN_GLOBAL | IN_TMEM_CLUSTER, card##_COPIES) \
    }
static const spad_engine blackwell_engines[] = BLACKWELL_ENGINES(none);
static const spad_engine sm_100_engines[] = BLACKWELL_ENGINES(b200);
#define BLACKWELL_RTX_ENGINES(card)                                                            \
    {                                                                                          \
        THREADS_OF(IN_SEVEN_PEERS, card##_THREADS),                                            \
            MATRIX_OF(IN_REGISTERS, IN_REGISTERS, card##_MATRIX),                              \
            BULK_OF(IN_GLOBAL | IN_SMALL_CLUSTER, IN_GLOBAL | IN_SMALL_CLUSTER, card##_COPIES) \
    }
static const spad_engine blackwell_rtx_engines[] = BLACKWELL_RTX_ENGINES(none);
static const spad_engine sm_120_engines[] = BLACKWELL_RTX_ENGINES(rtx5090);

/* Fences [ptx]. fence.proxy.async, or .shared or .global of it (sm_90): threads and then the async
 * proxy. wgmma.fence (sm_90a): registers that threads accessed and then a wgmma.
 * tcgen05.fence::before_thread_sync and ::after_thread_sync (sm_100a): tensor memory that two
 * threads access; tcgen05.commit includes the first. fence.mbarrier_init (sm_90): mbarriers and
 * then copies that deliver to them. */
#define PROXY_FENCES(cluster)                                            \
    {.name = "shared", .kind = SPAD_FENCE_PROXY, .spaces = (cluster)}, { \
        .name = "global", .kind = SPAD_FENCE_PROXY, .spaces = IN_GLOBAL  \
    }
#define INIT_FENCE(cluster) \
    { .name = "mbarrier", .kind = SPAD_FENCE_INIT, .spaces = (cluster) }
static const spad_fence_rule hopper_fences[] = {
    PROXY_FENCES(IN_CLUSTER),
    {.name = "wgmma", .kind = SPAD_FENCE_ISSUE, .spaces = IN_REGISTERS},
    INIT_FENCE(IN_CLUSTER),
};
static const spad_fence_rule blackwell_fences[] = {
    PROXY_FENCES(IN_TMEM_CLUSTER),
    {.name = "tcgen05", .kind = SPAD_FENCE_THREADS, .spaces = IN_PAIRS},
    INIT_FENCE(IN_TMEM_CLUSTER),
};
static const spad_fence_rule blackwell_rtx_fences[] = {PROXY_FENCES(IN_SMALL_CLUSTER),
                                                       INIT_FENCE(IN_SMALL_CLUSTER)};

/* Shared memory per SM and reserve per block [cccl]; usable = opt-in limit. */
#define PLAIN_SPACES(per_sm, reserve) PLAIN_OF(per_sm, reserve, NO_MEMORY)
#define PLAIN_OF(per_sm, reserve, ...) \
    { SHARED_SPACE(per_sm, reserve), REGISTER_SPACE, LOCAL_SPACE, GLOBAL_OF(__VA_ARGS__) }
static const spad_space spaces_96k[] = PLAIN_SPACES(98304, 0);      /* sm_70 */
static const spad_space spaces_64k[] = PLAIN_SPACES(65536, 0);      /* sm_75 */
static const spad_space spaces_164k[] = PLAIN_SPACES(167936, 1024); /* sm_87 */
static const spad_space sm_80_spaces[] = PLAIN_OF(167936, 1024, a100_MEMORY);
static const spad_space spaces_100k[] = PLAIN_SPACES(102400, 1024); /* sm_88 */
static const spad_space sm_86_spaces[] = PLAIN_OF(102400, 1024, rtx3090_MEMORY);
static const spad_space sm_89_spaces[] = PLAIN_OF(102400, 1024, rtx4090_MEMORY);
#define SMALL_CLUSTER_OF(...)                                                 \
    {                                                                         \
        SHARED_OF("shared", 102400, 1024, 8, 0), REGISTER_SPACE, LOCAL_SPACE, \
            GLOBAL_OF(__VA_ARGS__), SEVEN_PEERS(102400, 1024, 8)              \
    }
static const spad_space spaces_100k_cluster[] = SMALL_CLUSTER_OF(NO_MEMORY); /* sm_121 */
static const spad_space sm_120_spaces[] = SMALL_CLUSTER_OF(rtx5090_MEMORY);
static const spad_space spaces_228k[] = {/* sm_90 */
                                         SHARED_OF("shared", 233472, 1024, 16, 0), REGISTER_SPACE,
                                         LOCAL_SPACE, GLOBAL_OF(h200_MEMORY), PEERS(233472, 1024)};
#define TMEM_OF(...)                                                                           \
    {                                                                                          \
        SHARED_OF("shared", 233472, 1024, 16, 0), REGISTER_SPACE, LOCAL_SPACE,                 \
            GLOBAL_OF(__VA_ARGS__), TENSOR_SPACE("tmem", 0), PEERS(233472, 1024), TENSOR_PEERS \
    }
static const spad_space spaces_228k_tmem[] = TMEM_OF(NO_MEMORY); /* sm_103, sm_110 */
static const spad_space sm_100_spaces[] = TMEM_OF(b200_MEMORY);

/* Binaries for the a variant run on that chip only; the chip is the same. */
static const char *const sm_90_aliases[] = {"sm_90a"};
static const char *const sm_100_aliases[] = {"sm_100a"};
static const char *const sm_103_aliases[] = {"sm_103a"};
static const char *const sm_110_aliases[] = {"sm_110a"};
static const char *const sm_120_aliases[] = {"sm_120a"};
static const char *const sm_121_aliases[] = {"sm_121a"};

/* Products by the compute capability that NVIDIA lists for them [gpus]. The NVIDIA A2 is left out:
 * "a2" is Atlas A2. */
#define GPU(id)                                                                         \
    {                                                                                   \
        .name = (id),                                                                   \
        .source = "NVIDIA, CUDA GPU Compute Capability, developer.nvidia.com/cuda-gpus" \
    }
static const spad_product sm_70_products[] = {
    {.name = "V100",
     .source =
         "NVIDIA, Legacy CUDA GPU Compute Capability, developer.nvidia.com/cuda-legacy-gpus"}};
static const spad_product sm_75_products[] = {GPU("T4"), GPU("RTX2080"), GPU("RTX2080Ti")};
static const spad_product sm_80_products[] = {GPU("A100"), GPU("A30")};
static const spad_product sm_86_products[] = {GPU("A10"), GPU("A40"), GPU("RTX3080"),
                                              GPU("RTX3090"), GPU("RTXA6000")};
static const spad_product sm_87_products[] = {GPU("Orin")};
static const spad_product sm_89_products[] = {GPU("L4"), GPU("L40"), GPU("L40S"), GPU("RTX4080"),
                                              GPU("RTX4090")};
static const spad_product sm_90_products[] = {GPU("H100"), GPU("H200"), GPU("GH200")};
static const spad_product sm_100_products[] = {GPU("B200"), GPU("GB200")};
static const spad_product sm_103_products[] = {GPU("B300"), GPU("GB300")};
static const spad_product sm_120_products[] = {GPU("RTX5080"), GPU("RTX5090"), GPU("RTXPRO6000")};
static const spad_product sm_121_products[] = {GPU("GB10")};

/* Threads and registers of a block: [guide]. 16 barriers, whose counts are multiples of the size
 * of a warp: [ptx], bar. An mbarrier (sm_80) counts up to 2^20 - 1 arrivals, and as many bytes
 * (sm_90): [ptx], mbarrier. setmaxnreg (sm_90a): 24 to 256 in steps of 8 [ptx]. Clusters (sm_90): 8
 * blocks are portable [guide], "Thread Block Clusters"; 16 on request, on sm_90 and sm_100 ("Hopper
 * tuning guide", "Blackwell tuning guide"). Threads of an SM: [guide]; registers are given to a
 * warp in steps of 256 ("CUDA occupancy calculator"). */
#define VOLTA_LIMITS(per_sm)                                                                       \
    {                                                                                              \
        .threads = 1024, .warp = 32, .barriers = 16, .registers = 65536, .unit_threads = (per_sm), \
        .register_step = 256                                                                       \
    }
#define AMPERE_LIMITS(per_sm)                                                                 \
    {                                                                                         \
        .threads = 1024, .warp = 32, .barriers = 16, .arrivals = 1048575, .registers = 65536, \
        .unit_threads = (per_sm), .register_step = 256                                        \
    }
#define CLUSTER_LIMITS(most, per_sm)                                                           \
    {                                                                                          \
        .threads = 1024, .warp = 32, .barriers = 16, .arrivals = 1048575, .expected = 1048575, \
        .registers = 65536, .budget_least = 24, .budget_most = 256, .budget_step = 8,          \
        .cluster = 8, .cluster_most = (most), .unit_threads = (per_sm), .register_step = 256   \
    }

#define SM(id, text, blocks, space_table, engine_table, most)                                  \
    .name = (id), .about = (text), .family = "nvidia", .max_groups = (blocks), .limits = most, \
    .space_count = SPAD__COUNT(space_table), .spaces = (space_table),                          \
    .engine_count = SPAD__COUNT(engine_table), .engines = (engine_table)
#define FENCES(table) .fence_count = SPAD__COUNT(table), .fences = (table)
#define ALIASES(table) .alias_count = SPAD__COUNT(table), .aliases = (table)

/* Blocks per SM: [cccl]. */
static const spad_target nvidia_targets[] = {
    {SM("sm_70", "NVIDIA Volta, one SM", 32, spaces_96k, volta_engines, VOLTA_LIMITS(2048)),
     SPAD__PRODUCTS(sm_70_products)},
    {SM("sm_75", "NVIDIA Turing, one SM", 16, spaces_64k, volta_engines, VOLTA_LIMITS(1024)),
     SPAD__PRODUCTS(sm_75_products)},
    {SM("sm_80", "NVIDIA Ampere, one SM; rates of an A100", 32, sm_80_spaces, sm_80_engines,
        AMPERE_LIMITS(2048)),
     a100_UNITS, SPAD__PRODUCTS(sm_80_products)},
    {SM("sm_86", "NVIDIA Ampere, one SM; rates of a GeForce RTX 3090", 16, sm_86_spaces,
        sm_86_engines, AMPERE_LIMITS(1536)),
     rtx3090_UNITS, SPAD__PRODUCTS(sm_86_products)},
    {SM("sm_87", "NVIDIA Ampere, one SM", 16, spaces_164k, ampere_engines, AMPERE_LIMITS(1536)),
     SPAD__PRODUCTS(sm_87_products)},
    {SM("sm_88", "NVIDIA Ampere, one SM", 16, spaces_100k, ampere_engines, AMPERE_LIMITS(0))},
    {SM("sm_89", "NVIDIA Ada, one SM; rates of a GeForce RTX 4090", 24, sm_89_spaces, sm_89_engines,
        AMPERE_LIMITS(1536)),
     rtx4090_UNITS, SPAD__PRODUCTS(sm_89_products)},
    {SM("sm_90", "NVIDIA Hopper, one SM; rates of an H200", 32, spaces_228k, hopper_engines,
        CLUSTER_LIMITS(16, 2048)),
     h200_UNITS, FENCES(hopper_fences), ALIASES(sm_90_aliases), SPAD__PRODUCTS(sm_90_products)},
    {SM("sm_100", "NVIDIA Blackwell, one SM; rates of a B200", 32, sm_100_spaces, sm_100_engines,
        CLUSTER_LIMITS(16, 2048)),
     b200_UNITS, FENCES(blackwell_fences), ALIASES(sm_100_aliases),
     SPAD__PRODUCTS(sm_100_products)},
    {SM("sm_103", "NVIDIA Blackwell, one SM", 32, spaces_228k_tmem, blackwell_engines,
        CLUSTER_LIMITS(0, 2048)),
     FENCES(blackwell_fences), ALIASES(sm_103_aliases), SPAD__PRODUCTS(sm_103_products)},
    {SM("sm_110", "NVIDIA Blackwell, one SM", 24, spaces_228k_tmem, blackwell_engines,
        CLUSTER_LIMITS(0, 0)),
     FENCES(blackwell_fences), ALIASES(sm_110_aliases)},
    {SM("sm_120", "NVIDIA Blackwell, one SM; rates of a GeForce RTX 5090", 24, sm_120_spaces,
        sm_120_engines, CLUSTER_LIMITS(0, 1536)),
     rtx5090_UNITS, FENCES(blackwell_rtx_fences), ALIASES(sm_120_aliases),
     SPAD__PRODUCTS(sm_120_products)},
    {SM("sm_121", "NVIDIA Blackwell, one SM", 24, spaces_100k_cluster, blackwell_rtx_engines,
        CLUSTER_LIMITS(0, 1536)),
     FENCES(blackwell_rtx_fences), ALIASES(sm_121_aliases), SPAD__PRODUCTS(sm_121_products)},
};

const spad__target_list spad__targets_nvidia = {SPAD__COUNT(nvidia_targets), nvidia_targets};
