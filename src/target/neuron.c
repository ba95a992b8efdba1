/* SPDX-License-Identifier: Apache-2.0
 *
 * AWS Trainium and Inferentia: NeuronCore v2 (trn1, inf2), v3 (trn2), v4 (trn3).
 * All numbers are of one NeuronCore.
 *
 * Sources:
 *   [arch]  AWS Neuron SDK, NKI architecture guides of Trainium/Inferentia2,
 *           Trainium2 and Trainium3
 *   [isa]   AWS Neuron SDK 2.26, costs in the nki.isa reference
 *   [dma]   AWS Neuron SDK, NKI DMA bandwidth guide
 *   [klr]   KLR, KLR/Trace.lean (the tile_size constants)
 *   [nkipy] nkipy, HardwareConstants.h
 */
#include "target/builtin.h"

enum { SBUF, PSUM, HBM };

/* Where a tile may start, by its number of partitions: an operand of 65 to 128
 * at 0, of 33 to 64 at a half, of up to 32 at a quadrant. [arch], the same for
 * SBUF and PSUM and for all three versions. */
static const int64_t at_quadrant[] = {0, 32, 64, 96};
static const int64_t at_half[] = {0, 64};
static const int64_t at_bottom[] = {0};
static const spad_lane_rule start_partitions[] = {
    {.lanes_min = 1, .lanes_max = 32, .start_count = 4, .starts = at_quadrant},
    {.lanes_min = 33, .lanes_max = 64, .start_count = 2, .starts = at_half},
    {.lanes_min = 65, .lanes_max = 128, .start_count = 1, .starts = at_bottom},
};

/* 128 partitions [arch]; usable 180224, 212984 and 245752 bytes of each [klr],
 * [nkipy]. The difference to the physical size is the reserve: 16384 for DMA
 * descriptors, on v3 and v4 another 8 for the runtime (nki-library,
 * mlp_cte_constants.py). The usable range starts at 0, so the reserve is taken
 * to be at the top; no document says so. Alignment 1: sbuf_min_align [klr]. */
#define SBUF_SPACE(physical, reserve)                                                    \
    {                                                                                    \
        .name = "sbuf", .about = "state buffer: operands and results", .lanes = 128,     \
        .bytes = (physical), .reserved = (reserve), .alignment = 1, .granule = 1,        \
        .lane_rule_count = SPAD__COUNT(start_partitions), .lane_rules = start_partitions \
    }

/* 128 partitions x 8 banks x 2048 bytes [arch], [nkipy]. Alignment 4:
 * psum_min_align [klr]. A matmul result has to stay in one bank on v2 and v3;
 * on v4 it may run over all of them [arch]. */
#define PSUM_SPACE(one_bank)                                                                 \
    {                                                                                        \
        .name = "psum", .about = "partial sums: results of the tensor engine", .lanes = 128, \
        .bytes = 8 * 2048, .alignment = 4, .granule = 1, .bank_bytes = 2048,                 \
        .banks_exclusive = (one_bank), .lane_rule_count = SPAD__COUNT(start_partitions),     \
        .lane_rules = start_partitions                                                       \
    }

/* The rate is that of the device, which all its cores share [arch]. */
#define HBM_SPACE(rate)                                                               \
    {                                                                                 \
        .name = "hbm", .about = "device memory", .lanes = 1, .bytes = SPAD_UNBOUNDED, \
        .alignment = 1, .granule = 1, .off_chip = true, .bytes_per_us = (rate),       \
        NEURON_FIGURES(device_figures)                                                \
    }

/* Shortest instruction about 64 cycles, about 100 cycles more when it depends
 * on the one before [isa]. */
#define INSTRUCTION_COST .min_cycles = 64, .fixed_cycles = 100, NEURON_FIGURES(engine_figures)

/* Where they come from, for answers. */
#define NEURON_FIGURES(table) .figure_count = SPAD__COUNT(table), .figures = (table)
#define ALL_PUBLISHED(text)                                                \
    {                                                                      \
        { .field = "", .origin = SPAD_ORIGIN_PUBLISHED, .source = (text) } \
    }
static const spad_figure engine_figures[] =
    ALL_PUBLISHED("AWS Neuron SDK, NKI architecture guides and nki.isa reference");
static const spad_figure dma_figures[] = ALL_PUBLISHED("AWS Neuron SDK, NKI DMA bandwidth guide");
static const spad_figure device_figures[] =
    ALL_PUBLISHED("AWS Neuron SDK, NKI architecture guides");

/* The tensor engine takes one column of the moving matrix per cycle and so
 * gives 128 results; fp32 takes four passes [isa]. It reads SBUF and writes
 * PSUM only [arch]. */
#define TENSOR_ENGINE(khz)                                                                         \
    {                                                                                              \
        .name = "tensor", .about = "matrix multiply", .count = 1, .clock_khz = (khz), .width = 32, \
        .width_16bit = 128, INSTRUCTION_COST, .reads = SPAD__SPACE(SBUF),                          \
        .writes = SPAD__SPACE(PSUM)                                                                \
    }
#define VECTOR_ENGINE(khz, w32, w16, w8)                                              \
    {                                                                                 \
        .name = "vector", .about = "elementwise, reductions, copies", .count = 1,     \
        .clock_khz = (khz), .width = (w32), .width_16bit = (w16), .width_8bit = (w8), \
        INSTRUCTION_COST, .reads = SPAD__SPACE(SBUF) | SPAD__SPACE(PSUM),             \
        .writes = SPAD__SPACE(SBUF) | SPAD__SPACE(PSUM)                               \
    }
#define SCALAR_ENGINE(khz, w32, w16)                                                               \
    {                                                                                              \
        .name = "scalar", .about = "activation functions, copies", .count = 1, .clock_khz = (khz), \
        .width = (w32), .width_16bit = (w16), INSTRUCTION_COST,                                    \
        .reads = SPAD__SPACE(SBUF) | SPAD__SPACE(PSUM),                                            \
        .writes = SPAD__SPACE(SBUF) | SPAD__SPACE(PSUM)                                            \
    }
/* GpSimd has no way to PSUM [arch]. */
#define GPSIMD_ENGINE(khz)                                                                      \
    {                                                                                           \
        .name = "gpsimd", .about = "programmable cores", .count = 1, .clock_khz = (khz),        \
        .width = 128, INSTRUCTION_COST, .reads = SPAD__SPACE(SBUF), .writes = SPAD__SPACE(SBUF) \
    }
/* The sync engine has no data path; it issues DMA and waits [arch]. */
#define SYNC_ENGINE \
    { .name = "sync", .about = "issues DMA, holds semaphores", .count = 1 }
/* 16 engines per core [arch]. Two AWS pages disagree on the rate of one: 17, 23
 * and 33 B/ns in the peak table of [dma], 27.2, 27.2 and 38.4 GB/s in the DMA
 * overview. The profile in the overview (32 KiB in 1416 ns on trn2, 23.1 B/ns)
 * agrees with [dma]. Start-up about 1300 ns [dma]. DMA moves between HBM and
 * SBUF in all directions, not from or to PSUM [arch]. */
#define DMA_ENGINE(rate)                                                       \
    {                                                                          \
        .name = "dma", .about = "copies between HBM and SBUF", .count = 16,    \
        .bytes_per_us = (rate), .fixed_ns = 1300, NEURON_FIGURES(dma_figures), \
        .reads = SPAD__SPACE(SBUF) | SPAD__SPACE(HBM),                         \
        .writes = SPAD__SPACE(SBUF) | SPAD__SPACE(HBM)                         \
    }

/* ---- v2: trn1, inf2 ---------------------------------------------------------------- */

static const spad_space v2_spaces[] = {
    SBUF_SPACE(196608, 16384), /* 24 MiB / 128 [arch]; 180224 usable */
    PSUM_SPACE(true),
    HBM_SPACE(820000),
};
enum { TENSOR, VECTOR, SCALAR, GPSIMD };
static const spad_engine v2_engines[] = {
    [TENSOR] = TENSOR_ENGINE(2800000),            /* 2.8 GHz [arch] */
    [VECTOR] = VECTOR_ENGINE(1120000, 128, 0, 0), /* 1.12 GHz, 128 per cycle [arch] */
    [SCALAR] = SCALAR_ENGINE(1400000, 128, 0),    /* 1.4 GHz, 128 per cycle [arch] */
    [GPSIMD] = GPSIMD_ENGINE(1400000),            /* 1.4 GHz, 128 per cycle [arch] */
    SYNC_ENGINE,
    DMA_ENGINE(17000), /* 17 B/ns [dma] */
};
/* On v2 these share a port; v3 and v4 lifted both [arch]. */
static const spad_exclusion v2_exclusions[] = {
    {.engine_a = VECTOR, .engine_b = GPSIMD, .space = SBUF},
    {.engine_a = VECTOR, .engine_b = SCALAR, .space = PSUM},
};
static const char *const v2_aliases[] = {"inf2"};

/* ---- v3: trn2 ---------------------------------------------------------------------- */

static const spad_space v3_spaces[] = {
    SBUF_SPACE(229376, 16392), /* 28 MiB / 128 [arch]; 212984 usable */
    PSUM_SPACE(true),
    HBM_SPACE(2900000),
};
static const spad_engine v3_engines[] = {
    TENSOR_ENGINE(2400000),               /* 2.4 GHz [arch] */
    VECTOR_ENGINE(960000, 256, 512, 256), /* 0.96 GHz, 512 for bf16 and fp16, else 256 [arch] */
    SCALAR_ENGINE(1200000, 128, 0),       /* 1.2 GHz, 128 per cycle [arch] */
    GPSIMD_ENGINE(1200000),               /* 1.2 GHz, 128 per cycle [arch] */
    SYNC_ENGINE,
    DMA_ENGINE(23000), /* 23 B/ns [dma] */
};

/* ---- v4: trn3 ---------------------------------------------------------------------- */

static const spad_space v4_spaces[] = {
    SBUF_SPACE(262144, 16392), /* 32 MiB / 128 [arch]; 245752 usable */
    PSUM_SPACE(false),
    HBM_SPACE(4900000),
};
static const spad_engine v4_engines[] = {
    TENSOR_ENGINE(2400000),              /* 2.4 GHz [arch] */
    VECTOR_ENGINE(1200000, 256, 512, 0), /* 1.2 GHz, 512 for 16 and 8 bit, else 256 [arch] */
    SCALAR_ENGINE(1200000, 128, 256),    /* 1.2 GHz, 256 for 16 and 8 bit, else 128 [arch] */
    GPSIMD_ENGINE(1200000),              /* 1.2 GHz, 128 per cycle [arch] */
    SYNC_ENGINE,
    DMA_ENGINE(33000), /* 33 B/ns [dma] */
};

#define NEURON(id) \
    { .name = (id), .source = "AWS Neuron SDK, NKI architecture guides" } /* [arch] */
static const spad_product v2_products[] = {NEURON("trainium"), NEURON("trainium1"),
                                           NEURON("inferentia2")};
static const spad_product v3_products[] = {NEURON("trainium2")};
static const spad_product v4_products[] = {NEURON("trainium3")};

static const spad_target neuron_targets[] = {
    {
        .name = "trn1",
        .about = "AWS Trainium and Inferentia2, one NeuronCore v2",
        .family = "neuron",
        .units = 2, /* NeuronCores of a device [arch] */
        NEURON_FIGURES(device_figures),
        .space_count = SPAD__COUNT(v2_spaces),
        .spaces = v2_spaces,
        .engine_count = SPAD__COUNT(v2_engines),
        .engines = v2_engines,
        .exclusion_count = SPAD__COUNT(v2_exclusions),
        .exclusions = v2_exclusions,
        .alias_count = SPAD__COUNT(v2_aliases),
        .aliases = v2_aliases,
        SPAD__PRODUCTS(v2_products),
    },
    {
        .name = "trn2",
        .about = "AWS Trainium2, one NeuronCore v3",
        .family = "neuron",
        .units = 8, /* NeuronCores of a device [arch] */
        NEURON_FIGURES(device_figures),
        .space_count = SPAD__COUNT(v3_spaces),
        .spaces = v3_spaces,
        .engine_count = SPAD__COUNT(v3_engines),
        .engines = v3_engines,
        SPAD__PRODUCTS(v3_products),
    },
    {
        .name = "trn3",
        .about = "AWS Trainium3, one NeuronCore v4",
        .family = "neuron",
        .units = 8, /* NeuronCores of a device [arch] */
        NEURON_FIGURES(device_figures),
        .space_count = SPAD__COUNT(v4_spaces),
        .spaces = v4_spaces,
        .engine_count = SPAD__COUNT(v4_engines),
        .engines = v4_engines,
        SPAD__PRODUCTS(v4_products),
    },
};

const spad__target_list spad__targets_neuron = {SPAD__COUNT(neuron_targets), neuron_targets};
