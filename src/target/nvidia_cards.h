/* SPDX-License-Identifier: Apache-2.0
 *
 * Rates of one card for each family that has some: part of nvidia.c. Per SM and cycle, dense.
 *
 * Sources:
 *   [ga100]  NVIDIA A100 Tensor Core GPU Architecture, whitepaper
 *   [ga102]  NVIDIA Ampere GA102 GPU Architecture, whitepaper
 *   [ada]    NVIDIA Ada GPU Architecture, whitepaper
 *   [gh100]  NVIDIA H100 Tensor Core GPU Architecture, whitepaper
 *   [h200]   NVIDIA H200 Tensor Core GPU, datasheet
 *   [b200]   NVIDIA DGX B200, datasheet: of one of eight GPUs; SMs and L2 cache are not in it
 *   [rtx]    NVIDIA RTX Blackwell GPU Architecture, whitepaper
 *   [guide]  CUDA programming guide, throughput of native arithmetic instructions
 *   [luo]    W. Luo and others, Benchmarking and Dissecting the Nvidia Hopper GPU Architecture,
 *            arXiv 2402.13499: latencies of shared and global memory
 *
 * What was compared with texts that quote these documents, on 2026-11-16: SMs, clock, cache, memory
 * rate and peak rates of A100 (whitepaper of the 40 GB card; the rate of the 80 GB card is in the
 * datasheet), H100 and H200, RTX 4090, RTX 5090 (3352 sparse TFLOPS of FP4 are 2048 multiply-adds a
 * cycle), and the peak rates and 8 TB/s of B200. Not found, and so not verified: SMs and L2 cache
 * of B200, and the rows of [guide] for conversions and comparisons.
 *
 * Peak rates of matrix units follow from the peak of the card: TFLOPS / (2 x SMs x clock). What no
 * document has is an estimate: the rate between one SM and the L2 cache, the latency of a matrix
 * instruction after its last cycle, rates of tensor memory and of distributed shared memory, rates
 * of most L2 caches.
 */
#ifndef SPAD_TARGET_NVIDIA_CARDS_H
#define SPAD_TARGET_NVIDIA_CARDS_H

#define PUBLISHED(text) \
    { .origin = SPAD_ORIGIN_PUBLISHED, .source = (text) }
#define ESTIMATED(text) \
    { .origin = SPAD_ORIGIN_ESTIMATE, .source = (text) }
#define OF_FIELD(name, kind, text) \
    { .field = (name), .origin = SPAD_ORIGIN_##kind, .source = (text) }

#define GUIDE "CUDA programming guide, throughput of native arithmetic instructions"
#define GUIDE_OPEN GUIDE "; not verified"
#define LUO "Luo and others, arXiv 2402.13499"
#define LUO_BEFORE "Luo and others, arXiv 2402.13499, for a chip of the generation before"
#define L2_PORT "64 B a cycle between an SM and the L2 cache"

#define MACS_ROW(type, count, text) \
    { .work = SPAD_WORK_MAC, .dtype = SPAD_##type, .per_cycle = (count), .figure = PUBLISHED(text) }
#define ELEMENTS_ROW(kind, count, text) \
    { .work = SPAD_WORK_##kind, .per_cycle = (count), .figure = PUBLISHED(text) }

/* Additions and products, special functions, conversions, comparisons [guide]. */
#define THREAD_RATES(fma, convert)                                                           \
    {                                                                                        \
        ELEMENTS_ROW(FMA, fma, GUIDE), ELEMENTS_ROW(EXP, 16, GUIDE),                         \
            ELEMENTS_ROW(CONVERT, convert, GUIDE_OPEN), ELEMENTS_ROW(REDUCE, 64, GUIDE_OPEN) \
    }

/* Shared memory: 32 banks of 4 bytes [guide]; latencies [luo]. */
#define PATH(a, b, rate, cycles, ...)                                                           \
    {                                                                                           \
        .from = (a), .to = (b), .bytes_per_kilocycle = (rate)*1000, .latency_cycles = (cycles), \
        .figure = __VA_ARGS__                                                                   \
    }
#define THREAD_PATHS(shared_cycles, global_cycles, text)                \
    PATH(SHARED, REGISTERS, 128, shared_cycles, PUBLISHED(text)),       \
        PATH(REGISTERS, SHARED, 128, shared_cycles, PUBLISHED(text)),   \
        PATH(GLOBAL, REGISTERS, 64, global_cycles, ESTIMATED(L2_PORT)), \
        PATH(REGISTERS, GLOBAL, 64, global_cycles, ESTIMATED(L2_PORT)), \
        PATH(SHARED, GLOBAL, 64, global_cycles, ESTIMATED(L2_PORT)),    \
        PATH(GLOBAL, SHARED, 64, global_cycles, ESTIMATED(L2_PORT))
#define ASYNC_PATH(global_cycles) PATH(GLOBAL, SHARED, 64, global_cycles, ESTIMATED(L2_PORT))
/* TMA: in both directions, and between the blocks of a cluster. */
#define BULK_PATHS(global_cycles)                                    \
    PATH(GLOBAL, SHARED, 64, global_cycles, ESTIMATED(L2_PORT)),     \
        PATH(SHARED, GLOBAL, 64, global_cycles, ESTIMATED(L2_PORT)), \
        PATH(SHARED, SHARED, 32, 200, ESTIMATED("between the blocks of a cluster"))

/* What an engine, the memory and the chip have of a card. */
#define CARD_THREADS(card, khz)                                                              \
    .clock_khz = (khz), .threads = 128, .rate_count = SPAD__COUNT(card##_threads),           \
    .rates = card##_threads, .path_count = SPAD__COUNT(card##_paths), .paths = card##_paths, \
    .figure_count = SPAD__COUNT(card##_figures), .figures = card##_figures
#define CARD_MATRIX(card, khz, all_threads, cycles)                           \
    .clock_khz = (khz), .threads = (all_threads), .latency_cycles = (cycles), \
    .rate_count = SPAD__COUNT(card##_macs), .rates = card##_macs,             \
    .figure_count = SPAD__COUNT(card##_figures), .figures = card##_figures
#define CARD_COPIES(card, khz)                                                            \
    .clock_khz = (khz), .path_count = SPAD__COUNT(card##_copies), .paths = card##_copies, \
    .figure_count = SPAD__COUNT(card##_figures), .figures = card##_figures
#define CARD_MEMORY(card, rate, l2_bytes, l2_rate)                                      \
    .bytes_per_us = (rate), .cache_bytes = (l2_bytes), .cache_bytes_per_us = (l2_rate), \
    .figure_count = SPAD__COUNT(card##_memory), .figures = card##_memory
#define CARD_UNITS(card, sms) .units = (sms), .figure_count = 1, .figures = card##_figures

/* A target without rates. */
#define none_THREADS NO_RATES
#define none_MATRIX NO_RATES
#define none_COPIES NO_RATES
#define none_MEMORY NO_MEMORY

/* ---- A100 SXM 80 GB -------------------------------------------------------------- */

#define a100_SOURCE "NVIDIA A100 Tensor Core GPU Architecture, whitepaper"
static const spad_rate a100_macs[] = {
    MACS_ROW(FLOAT16, 1024, a100_SOURCE), MACS_ROW(BFLOAT16, 1024, a100_SOURCE),
    MACS_ROW(TFLOAT32, 512, a100_SOURCE), MACS_ROW(INT8, 2048, a100_SOURCE),
    MACS_ROW(FLOAT64, 64, a100_SOURCE),
};
static const spad_rate a100_threads[] = THREAD_RATES(64, 16);
static const spad_path a100_paths[] = {THREAD_PATHS(29, 466, LUO)};
static const spad_path a100_copies[] = {ASYNC_PATH(466)};
static const spad_figure a100_figures[] = {OF_FIELD("units", PUBLISHED, a100_SOURCE),
                                           OF_FIELD("clock", PUBLISHED, a100_SOURCE),
                                           OF_FIELD("latency", ESTIMATE, "")};
static const spad_figure a100_memory[] = {
    OF_FIELD("rate", PUBLISHED, "NVIDIA A100 datasheet, 80 GB SXM"),
    OF_FIELD("cache", PUBLISHED, a100_SOURCE)};
#define a100_THREADS CARD_THREADS(a100, 1410000)
#define a100_MATRIX CARD_MATRIX(a100, 1410000, 128, 33)
#define a100_COPIES CARD_COPIES(a100, 1410000)
#define a100_MEMORY CARD_MEMORY(a100, 2039000, 41943040, 7219200)
#define a100_UNITS CARD_UNITS(a100, 108)

/* ---- GeForce RTX 3090 ------------------------------------------------------------ */

#define rtx3090_SOURCE "NVIDIA Ampere GA102 GPU Architecture, whitepaper"
static const spad_rate rtx3090_macs[] = {
    MACS_ROW(FLOAT16, 256, rtx3090_SOURCE),
    MACS_ROW(BFLOAT16, 256, rtx3090_SOURCE),
    MACS_ROW(TFLOAT32, 128, rtx3090_SOURCE),
    MACS_ROW(INT8, 1024, rtx3090_SOURCE),
};
static const spad_rate rtx3090_threads[] = THREAD_RATES(128, 16);
static const spad_path rtx3090_paths[] = {THREAD_PATHS(29, 466, LUO_BEFORE)};
static const spad_path rtx3090_copies[] = {ASYNC_PATH(466)};
static const spad_figure rtx3090_figures[] = {OF_FIELD("units", PUBLISHED, rtx3090_SOURCE),
                                              OF_FIELD("clock", PUBLISHED, rtx3090_SOURCE),
                                              OF_FIELD("latency", ESTIMATE, "")};
static const spad_figure rtx3090_memory[] = {
    OF_FIELD("rate", PUBLISHED, rtx3090_SOURCE),
    OF_FIELD("cache", ESTIMATE, "size as published, rate of the order of measurements")};
#define rtx3090_THREADS CARD_THREADS(rtx3090, 1695000)
#define rtx3090_MATRIX CARD_MATRIX(rtx3090, 1695000, 128, 33)
#define rtx3090_COPIES CARD_COPIES(rtx3090, 1695000)
#define rtx3090_MEMORY CARD_MEMORY(rtx3090, 936000, 6291456, 2200000)
#define rtx3090_UNITS CARD_UNITS(rtx3090, 82)

/* ---- GeForce RTX 4090 ------------------------------------------------------------ */

#define rtx4090_SOURCE "NVIDIA Ada GPU Architecture, whitepaper"
static const spad_rate rtx4090_macs[] = {
    MACS_ROW(FLOAT16, 256, rtx4090_SOURCE),     MACS_ROW(BFLOAT16, 256, rtx4090_SOURCE),
    MACS_ROW(TFLOAT32, 128, rtx4090_SOURCE),    MACS_ROW(FLOAT8_E4M3FN, 512, rtx4090_SOURCE),
    MACS_ROW(FLOAT8_E4M3, 512, rtx4090_SOURCE), MACS_ROW(FLOAT8_E5M2, 512, rtx4090_SOURCE),
    MACS_ROW(INT8, 1024, rtx4090_SOURCE),
};
static const spad_rate rtx4090_threads[] = THREAD_RATES(128, 16);
static const spad_path rtx4090_paths[] = {THREAD_PATHS(30, 542, LUO)};
static const spad_path rtx4090_copies[] = {ASYNC_PATH(542)};
static const spad_figure rtx4090_figures[] = {OF_FIELD("units", PUBLISHED, rtx4090_SOURCE),
                                              OF_FIELD("clock", PUBLISHED, rtx4090_SOURCE),
                                              OF_FIELD("latency", ESTIMATE, "")};
static const spad_figure rtx4090_memory[] = {
    OF_FIELD("rate", PUBLISHED, rtx4090_SOURCE),
    OF_FIELD("cache", ESTIMATE, "size as published, rate of the order of measurements")};
#define rtx4090_THREADS CARD_THREADS(rtx4090, 2520000)
#define rtx4090_MATRIX CARD_MATRIX(rtx4090, 2520000, 128, 33)
#define rtx4090_COPIES CARD_COPIES(rtx4090, 2520000)
#define rtx4090_MEMORY CARD_MEMORY(rtx4090, 1008000, 75497472, 5000000)
#define rtx4090_UNITS CARD_UNITS(rtx4090, 128)

/* ---- H200 SXM -------------------------------------------------------------------- */

#define h200_SOURCE "NVIDIA H100 Tensor Core GPU Architecture, whitepaper; NVIDIA H200 datasheet"
static const spad_rate h200_macs[] = {
    MACS_ROW(FLOAT16, 2048, h200_SOURCE),     MACS_ROW(BFLOAT16, 2048, h200_SOURCE),
    MACS_ROW(TFLOAT32, 1024, h200_SOURCE),    MACS_ROW(FLOAT8_E4M3FN, 4096, h200_SOURCE),
    MACS_ROW(FLOAT8_E4M3, 4096, h200_SOURCE), MACS_ROW(FLOAT8_E5M2, 4096, h200_SOURCE),
    MACS_ROW(INT8, 4096, h200_SOURCE),        MACS_ROW(FLOAT64, 128, h200_SOURCE),
};
/* Measured on one H200; the file is examples/chips/h200.chip, and a test compares it with this. */
#define H200_MEASURED "spad calibrate cuda:0, 2026-11-16"
#define H200_STEPS "examples/cuda/steps.cu, H200 at 1500 MHz, 2026-11-16"
#define H200_COPIES "examples/cuda/copies.cu, H200 at 1500 MHz, 2026-11-16"
#define MEASURED_ROW(kind, count)                                   \
    {                                                               \
        .work = SPAD_WORK_##kind, .per_cycle = (count), .figure = { \
            .origin = SPAD_ORIGIN_MEASURED,                         \
            .source = H200_MEASURED                                 \
        }                                                           \
    }
#define MEASURED_PATH(a, b, rate, ns, least) PATH_FROM(H200_MEASURED, a, b, rate, ns, least)
/* What threads copy: through registers, and by cp.async. */
#define COPIES_PATH(a, b, rate, ns, hit, least)                                              \
    {                                                                                        \
        .from = (a), .to = (b), .bytes_per_us = (rate), .latency_ns = (ns), .hit_ns = (hit), \
        .pieces = (least), .figure = {                                                       \
            .origin = SPAD_ORIGIN_MEASURED,                                                  \
            .source = H200_STEPS                                                             \
        }                                                                                    \
    }
#define PATH_FROM(text, a, b, rate, ns, least)                                                 \
    {                                                                                          \
        .from = (a), .to = (b), .bytes_per_us = (rate), .latency_ns = (ns), .pieces = (least), \
        .figure = {                                                                            \
            .origin = SPAD_ORIGIN_MEASURED,                                                    \
            .source = text                                                                     \
        }                                                                                      \
    }
static const spad_rate h200_threads[] = {MEASURED_ROW(FMA, 116), MEASURED_ROW(EXP, 16),
                                         MEASURED_ROW(CONVERT, 126), MEASURED_ROW(REDUCE, 32)};
static const spad_path h200_paths[] = {
    PATH(SHARED, REGISTERS, 128, 30, PUBLISHED(LUO)),
    PATH(REGISTERS, SHARED, 128, 30, PUBLISHED(LUO)),
    PATH(GLOBAL, REGISTERS, 64, 479, ESTIMATED(L2_PORT)),
    MEASURED_PATH(REGISTERS, GLOBAL, 24000, 500, 0),
    PATH(SHARED, GLOBAL, 64, 479, ESTIMATED(L2_PORT)),
    PATH_FROM(H200_COPIES, GLOBAL, SHARED, 60000, 614, 0),
    MEASURED_PATH(REGISTERS, GLOBAL, 6200, 500, 4),
};
static const spad_path h200_copies[] = {
    MEASURED_PATH(GLOBAL, SHARED, 142000, 584, 0),
    PATH(SHARED, GLOBAL, 64, 479, ESTIMATED(L2_PORT)),
    PATH(SHARED, SHARED, 32, 200, ESTIMATED("between the blocks of a cluster")),
    COPIES_PATH(GLOBAL, SHARED, 118000, 480, 150, 16),
};
static const spad_figure h200_figures[] = {
    OF_FIELD("units", MEASURED, H200_MEASURED), OF_FIELD("clock", MEASURED, H200_MEASURED),
    OF_FIELD("latency", MEASURED, H200_MEASURED), OF_FIELD("queue", MEASURED, H200_COPIES)};
static const spad_figure h200_memory[] = {
    OF_FIELD("rate", MEASURED, H200_MEASURED), OF_FIELD("written", MEASURED, H200_MEASURED),
    OF_FIELD("hit", MEASURED, H200_MEASURED), OF_FIELD("cache", MEASURED, H200_MEASURED),
    OF_FIELD("queue", MEASURED, H200_MEASURED)};
#define h200_THREADS CARD_THREADS(h200, 1775000)
#define h200_MATRIX CARD_MATRIX(h200, 1775000, 0, 54), .queue_most = 6
#define h200_COPIES CARD_COPIES(h200, 1775000)
#define h200_MEMORY                                                                \
    CARD_MEMORY(h200, 4460000, 62914560, 10700000),                                \
        .cache_merges = 2, .write_bytes_per_us = 3510000, .cache_latency_ns = 219, \
        .queue_permille = 196
#define h200_UNITS CARD_UNITS(h200, 132), .launch_ns = 5200, .block_ns = 421, .signal_ns = 34

/* ---- B200 ------------------------------------------------------------------------ */

#define b200_SOURCE "NVIDIA DGX B200, datasheet, of one of eight GPUs"
static const spad_rate b200_macs[] = {
    MACS_ROW(FLOAT16, 4096, b200_SOURCE),        MACS_ROW(BFLOAT16, 4096, b200_SOURCE),
    MACS_ROW(TFLOAT32, 2048, b200_SOURCE),       MACS_ROW(FLOAT8_E4M3FN, 8192, b200_SOURCE),
    MACS_ROW(FLOAT8_E4M3, 8192, b200_SOURCE),    MACS_ROW(FLOAT8_E5M2, 8192, b200_SOURCE),
    MACS_ROW(FLOAT4_E2M1FN, 16384, b200_SOURCE),
};
static const spad_rate b200_threads[] = THREAD_RATES(128, 64);
static const spad_path b200_paths[] = {
    THREAD_PATHS(29, 479, LUO_BEFORE),
    PATH(TMEM, REGISTERS, 512, 20, ESTIMATED("tcgen05.ld: 128 B a cycle for each of four warps")),
    PATH(REGISTERS, TMEM, 512, 20, ESTIMATED("tcgen05.st: as tcgen05.ld"))};
static const spad_path b200_copies[] = {BULK_PATHS(479)};
static const spad_figure b200_figures[] = {
    OF_FIELD("units", ESTIMATE, "148 SMs: no document of the vendor was found, not verified"),
    OF_FIELD("clock", ESTIMATE, "from the peak rate and 148 SMs"),
    OF_FIELD("latency", ESTIMATE, "")};
static const spad_figure b200_memory[] = {
    OF_FIELD("rate", PUBLISHED, b200_SOURCE),
    OF_FIELD("cache", ESTIMATE, "size as published, rate of the order of measurements")};
#define b200_THREADS CARD_THREADS(b200, 1850000)
#define b200_MATRIX CARD_MATRIX(b200, 1850000, 0, 32)
#define b200_COPIES CARD_COPIES(b200, 1850000)
#define b200_MEMORY CARD_MEMORY(b200, 8000000, 132120576, 10000000)
#define b200_UNITS CARD_UNITS(b200, 148)

/* ---- GeForce RTX 5090 ------------------------------------------------------------ */

#define rtx5090_SOURCE "NVIDIA RTX Blackwell GPU Architecture, whitepaper"
static const spad_rate rtx5090_macs[] = {
    MACS_ROW(FLOAT16, 256, rtx5090_SOURCE),     MACS_ROW(BFLOAT16, 256, rtx5090_SOURCE),
    MACS_ROW(TFLOAT32, 128, rtx5090_SOURCE),    MACS_ROW(FLOAT8_E4M3FN, 512, rtx5090_SOURCE),
    MACS_ROW(FLOAT8_E4M3, 512, rtx5090_SOURCE), MACS_ROW(FLOAT8_E5M2, 512, rtx5090_SOURCE),
    MACS_ROW(INT8, 1024, rtx5090_SOURCE),       MACS_ROW(FLOAT4_E2M1FN, 2048, rtx5090_SOURCE),
};
static const spad_rate rtx5090_threads[] = THREAD_RATES(128, 64);
static const spad_path rtx5090_paths[] = {THREAD_PATHS(30, 542, LUO_BEFORE)};
static const spad_path rtx5090_copies[] = {BULK_PATHS(542)};
static const spad_figure rtx5090_figures[] = {OF_FIELD("units", PUBLISHED, rtx5090_SOURCE),
                                              OF_FIELD("clock", PUBLISHED, rtx5090_SOURCE),
                                              OF_FIELD("latency", ESTIMATE, "")};
static const spad_figure rtx5090_memory[] = {
    OF_FIELD("rate", PUBLISHED, rtx5090_SOURCE),
    OF_FIELD("cache", ESTIMATE, "size as published, rate of the order of measurements")};
#define rtx5090_THREADS CARD_THREADS(rtx5090, 2407000)
#define rtx5090_MATRIX CARD_MATRIX(rtx5090, 2407000, 128, 33)
#define rtx5090_COPIES CARD_COPIES(rtx5090, 2407000)
#define rtx5090_MEMORY CARD_MEMORY(rtx5090, 1792000, 100663296, 7000000)
#define rtx5090_UNITS CARD_UNITS(rtx5090, 170)

#endif
