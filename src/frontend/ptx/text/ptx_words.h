/* SPDX-License-Identifier: Apache-2.0
 *
 * The words of PTX: opcodes, modifiers, types, spaces and special registers, each as an enumeration
 * and a table of spellings.
 *
 * An opcode is the longest spelling of the list that the instruction starts with: "cp.async.bulk"
 * wins over "cp.async". What follows are types, spaces, a vector length, a shape (.m64n8k16), and
 * modifiers.
 */
#ifndef SPAD_FRONTEND_PTX_WORDS_H
#define SPAD_FRONTEND_PTX_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Opcodes, in the order of their spellings (bytes compared as unsigned): they are found by
 * bisection. X(name, "spelling") */
#define SPAD__PTX_OPS(X)                                                      \
    X(ABS, "abs")                                                             \
    X(ACTIVEMASK, "activemask")                                               \
    X(ADD, "add")                                                             \
    X(ADDC, "addc")                                                           \
    X(ALLOCA, "alloca")                                                       \
    X(AND, "and")                                                             \
    X(APPLYPRIORITY, "applypriority")                                         \
    X(ATOM, "atom")                                                           \
    X(BAR_ARRIVE, "bar.arrive")                                               \
    X(BAR_CTA_ARRIVE, "bar.cta.arrive")                                       \
    X(BAR_CTA_RED, "bar.cta.red")                                             \
    X(BAR_CTA_SYNC, "bar.cta.sync")                                           \
    X(BAR_RED, "bar.red")                                                     \
    X(BAR_SYNC, "bar.sync")                                                   \
    X(BAR_WARP_SYNC, "bar.warp.sync")                                         \
    X(BARRIER_ARRIVE, "barrier.arrive")                                       \
    X(BARRIER_CLUSTER_ARRIVE, "barrier.cluster.arrive")                       \
    X(BARRIER_CLUSTER_WAIT, "barrier.cluster.wait")                           \
    X(BARRIER_CTA_ARRIVE, "barrier.cta.arrive")                               \
    X(BARRIER_CTA_RED, "barrier.cta.red")                                     \
    X(BARRIER_CTA_SYNC, "barrier.cta.sync")                                   \
    X(BARRIER_RED, "barrier.red")                                             \
    X(BARRIER_SYNC, "barrier.sync")                                           \
    X(BFE, "bfe")                                                             \
    X(BFI, "bfi")                                                             \
    X(BFIND, "bfind")                                                         \
    X(BMSK, "bmsk")                                                           \
    X(BRA, "bra")                                                             \
    X(BREV, "brev")                                                           \
    X(BRKPT, "brkpt")                                                         \
    X(BRX_IDX, "brx.idx")                                                     \
    X(CALL, "call")                                                           \
    X(CLUSTERLAUNCHCONTROL_QUERY_CANCEL, "clusterlaunchcontrol.query_cancel") \
    X(CLUSTERLAUNCHCONTROL_TRY_CANCEL, "clusterlaunchcontrol.try_cancel")     \
    X(CLZ, "clz")                                                             \
    X(CNOT, "cnot")                                                           \
    X(COPYSIGN, "copysign")                                                   \
    X(COS, "cos")                                                             \
    X(CP_ASYNC, "cp.async")                                                   \
    X(CP_ASYNC_BULK, "cp.async.bulk")                                         \
    X(CP_ASYNC_BULK_COMMIT, "cp.async.bulk.commit_group")                     \
    X(CP_ASYNC_BULK_PREFETCH, "cp.async.bulk.prefetch")                       \
    X(CP_ASYNC_BULK_PREFETCH_TENSOR, "cp.async.bulk.prefetch.tensor")         \
    X(CP_ASYNC_BULK_TENSOR, "cp.async.bulk.tensor")                           \
    X(CP_ASYNC_BULK_WAIT, "cp.async.bulk.wait_group")                         \
    X(CP_ASYNC_COMMIT, "cp.async.commit_group")                               \
    X(CP_ASYNC_MBARRIER_ARRIVE, "cp.async.mbarrier.arrive")                   \
    X(CP_ASYNC_WAIT_ALL, "cp.async.wait_all")                                 \
    X(CP_ASYNC_WAIT, "cp.async.wait_group")                                   \
    X(CP_REDUCE_ASYNC_BULK, "cp.reduce.async.bulk")                           \
    X(CP_REDUCE_ASYNC_BULK_TENSOR, "cp.reduce.async.bulk.tensor")             \
    X(CREATEPOLICY, "createpolicy")                                           \
    X(CVT, "cvt")                                                             \
    X(CVT_PACK, "cvt.pack")                                                   \
    X(CVTA, "cvta")                                                           \
    X(DISCARD, "discard")                                                     \
    X(DIV, "div")                                                             \
    X(DP2A, "dp2a")                                                           \
    X(DP4A, "dp4a")                                                           \
    X(ELECT_SYNC, "elect.sync")                                               \
    X(EX2, "ex2")                                                             \
    X(EXIT, "exit")                                                           \
    X(FENCE, "fence")                                                         \
    X(FENCE_MBARRIER_INIT, "fence.mbarrier_init")                             \
    X(FENCE_PROXY, "fence.proxy")                                             \
    X(FMA, "fma")                                                             \
    X(FNS, "fns")                                                             \
    X(GETCTARANK, "getctarank")                                               \
    X(GRIDDEPCONTROL, "griddepcontrol")                                       \
    X(ISSPACEP, "isspacep")                                                   \
    X(ISTYPEP, "istypep")                                                     \
    X(LD, "ld")                                                               \
    X(LDMATRIX, "ldmatrix")                                                   \
    X(LDU, "ldu")                                                             \
    X(LG2, "lg2")                                                             \
    X(LOP3, "lop3")                                                           \
    X(MAD, "mad")                                                             \
    X(MAD24, "mad24")                                                         \
    X(MADC, "madc")                                                           \
    X(MAPA, "mapa")                                                           \
    X(MATCH, "match")                                                         \
    X(MAX, "max")                                                             \
    X(MBARRIER_ARRIVE, "mbarrier.arrive")                                     \
    X(MBARRIER_ARRIVE_DROP, "mbarrier.arrive_drop")                           \
    X(MBARRIER_COMPLETE_TX, "mbarrier.complete_tx")                           \
    X(MBARRIER_EXPECT_TX, "mbarrier.expect_tx")                               \
    X(MBARRIER_INIT, "mbarrier.init")                                         \
    X(MBARRIER_INVAL, "mbarrier.inval")                                       \
    X(MBARRIER_PENDING_COUNT, "mbarrier.pending_count")                       \
    X(MBARRIER_TEST_WAIT, "mbarrier.test_wait")                               \
    X(MBARRIER_TRY_WAIT, "mbarrier.try_wait")                                 \
    X(MEMBAR, "membar")                                                       \
    X(MIN, "min")                                                             \
    X(MMA, "mma")                                                             \
    X(MOV, "mov")                                                             \
    X(MOVMATRIX, "movmatrix")                                                 \
    X(MUL, "mul")                                                             \
    X(MUL24, "mul24")                                                         \
    X(MULTIMEM_CP_ASYNC_BULK, "multimem.cp.async.bulk")                       \
    X(MULTIMEM_CP_REDUCE_ASYNC_BULK, "multimem.cp.reduce.async.bulk")         \
    X(MULTIMEM_LD_REDUCE, "multimem.ld_reduce")                               \
    X(MULTIMEM_RED, "multimem.red")                                           \
    X(MULTIMEM_ST, "multimem.st")                                             \
    X(NANOSLEEP, "nanosleep")                                                 \
    X(NEG, "neg")                                                             \
    X(NOT, "not")                                                             \
    X(OR, "or")                                                               \
    X(PMEVENT, "pmevent")                                                     \
    X(POPC, "popc")                                                           \
    X(PREFETCH, "prefetch")                                                   \
    X(PREFETCHU, "prefetchu")                                                 \
    X(PRMT, "prmt")                                                           \
    X(RCP, "rcp")                                                             \
    X(RED, "red")                                                             \
    X(RED_ASYNC, "red.async")                                                 \
    X(REDUX_SYNC, "redux.sync")                                               \
    X(REM, "rem")                                                             \
    X(RET, "ret")                                                             \
    X(RSQRT, "rsqrt")                                                         \
    X(SAD, "sad")                                                             \
    X(SELP, "selp")                                                           \
    X(SET, "set")                                                             \
    X(SETMAXNREG, "setmaxnreg")                                               \
    X(SETP, "setp")                                                           \
    X(SHF, "shf")                                                             \
    X(SHFL, "shfl")                                                           \
    X(SHL, "shl")                                                             \
    X(SHR, "shr")                                                             \
    X(SIN, "sin")                                                             \
    X(SLCT, "slct")                                                           \
    X(SQRT, "sqrt")                                                           \
    X(ST, "st")                                                               \
    X(ST_ASYNC, "st.async")                                                   \
    X(ST_BULK, "st.bulk")                                                     \
    X(STACKRESTORE, "stackrestore")                                           \
    X(STACKSAVE, "stacksave")                                                 \
    X(STMATRIX, "stmatrix")                                                   \
    X(SUB, "sub")                                                             \
    X(SUBC, "subc")                                                           \
    X(SULD, "suld")                                                           \
    X(SUQ, "suq")                                                             \
    X(SURED, "sured")                                                         \
    X(SUST, "sust")                                                           \
    X(SZEXT, "szext")                                                         \
    X(TANH, "tanh")                                                           \
    X(TCGEN05_ALLOC, "tcgen05.alloc")                                         \
    X(TCGEN05_COMMIT, "tcgen05.commit")                                       \
    X(TCGEN05_CP, "tcgen05.cp")                                               \
    X(TCGEN05_DEALLOC, "tcgen05.dealloc")                                     \
    X(TCGEN05_FENCE, "tcgen05.fence")                                         \
    X(TCGEN05_LD, "tcgen05.ld")                                               \
    X(TCGEN05_MMA, "tcgen05.mma")                                             \
    X(TCGEN05_RELINQUISH, "tcgen05.relinquish_alloc_permit")                  \
    X(TCGEN05_SHIFT, "tcgen05.shift")                                         \
    X(TCGEN05_ST, "tcgen05.st")                                               \
    X(TCGEN05_WAIT, "tcgen05.wait")                                           \
    X(TENSORMAP_CP_FENCEPROXY, "tensormap.cp_fenceproxy")                     \
    X(TENSORMAP_REPLACE, "tensormap.replace")                                 \
    X(TESTP, "testp")                                                         \
    X(TEX, "tex")                                                             \
    X(TLD4, "tld4")                                                           \
    X(TRAP, "trap")                                                           \
    X(TXQ, "txq")                                                             \
    X(VABSDIFF, "vabsdiff")                                                   \
    X(VABSDIFF2, "vabsdiff2")                                                 \
    X(VABSDIFF4, "vabsdiff4")                                                 \
    X(VADD, "vadd")                                                           \
    X(VADD2, "vadd2")                                                         \
    X(VADD4, "vadd4")                                                         \
    X(VAVRG2, "vavrg2")                                                       \
    X(VAVRG4, "vavrg4")                                                       \
    X(VMAD, "vmad")                                                           \
    X(VMAX, "vmax")                                                           \
    X(VMAX2, "vmax2")                                                         \
    X(VMAX4, "vmax4")                                                         \
    X(VMIN, "vmin")                                                           \
    X(VMIN2, "vmin2")                                                         \
    X(VMIN4, "vmin4")                                                         \
    X(VOTE, "vote")                                                           \
    X(VSET, "vset")                                                           \
    X(VSET2, "vset2")                                                         \
    X(VSET4, "vset4")                                                         \
    X(VSHL, "vshl")                                                           \
    X(VSHR, "vshr")                                                           \
    X(VSUB, "vsub")                                                           \
    X(VSUB2, "vsub2")                                                         \
    X(VSUB4, "vsub4")                                                         \
    X(WGMMA_COMMIT, "wgmma.commit_group")                                     \
    X(WGMMA_FENCE, "wgmma.fence")                                             \
    X(WGMMA_MMA, "wgmma.mma_async")                                           \
    X(WGMMA_WAIT, "wgmma.wait_group")                                         \
    X(WMMA_LOAD, "wmma.load")                                                 \
    X(WMMA_MMA, "wmma.mma")                                                   \
    X(WMMA_STORE, "wmma.store")                                               \
    X(XOR, "xor")

#define SPAD__PTX_AS_OP(name, spelling) SPAD__PTX_OP_##name,
typedef enum spad__ptx_op {
    SPAD__PTX_OP_UNKNOWN,
    SPAD__PTX_OPS(SPAD__PTX_AS_OP) SPAD__PTX_OP_COUNT
} spad__ptx_op;

#define SPAD__PTX_NUMBER_TYPES(X) \
    X(PRED, "pred", 1)            \
    X(B1, "b1", 1)                \
    X(B8, "b8", 8)                \
    X(B16, "b16", 16)             \
    X(B32, "b32", 32)             \
    X(B64, "b64", 64)             \
    X(B128, "b128", 128)          \
    X(U4, "u4", 4)                \
    X(U8, "u8", 8)                \
    X(U16, "u16", 16)             \
    X(U32, "u32", 32)             \
    X(U64, "u64", 64)             \
    X(S4, "s4", 4)                \
    X(S8, "s8", 8)                \
    X(S16, "s16", 16)             \
    X(S32, "s32", 32)             \
    X(S64, "s64", 64)             \
    X(U16X2, "u16x2", 32)         \
    X(S16X2, "s16x2", 32)         \
    X(F16, "f16", 16)             \
    X(F16X2, "f16x2", 32)         \
    X(BF16, "bf16", 16)           \
    X(BF16X2, "bf16x2", 32)       \
    X(TF32, "tf32", 32)           \
    X(F32, "f32", 32)             \
    X(F32X2, "f32x2", 64)         \
    X(F64, "f64", 64)             \
    X(E4M3, "e4m3", 8)            \
    X(E5M2, "e5m2", 8)            \
    X(E4M3X2, "e4m3x2", 16)       \
    X(E5M2X2, "e5m2x2", 16)       \
    X(E4M3X4, "e4m3x4", 32)       \
    X(E5M2X4, "e5m2x4", 32)       \
    X(E2M1, "e2m1", 4)            \
    X(E2M1X2, "e2m1x2", 8)        \
    X(E2M1X4, "e2m1x4", 16)       \
    X(E2M3, "e2m3", 8)            \
    X(E3M2, "e3m2", 8)            \
    X(E2M3X2, "e2m3x2", 16)       \
    X(E3M2X2, "e3m2x2", 16)       \
    X(E2M3X4, "e2m3x4", 32)       \
    X(E3M2X4, "e3m2x4", 32)       \
    X(UE8M0, "ue8m0", 8)          \
    X(UE8M0X2, "ue8m0x2", 16)     \
    X(UE4M3, "ue4m3", 8)          \
    X(B1024, "b1024", 1024)

#define SPAD__PTX_AS_TYPE(name, spelling, bits) SPAD__PTX_##name,
typedef enum spad__ptx_type {
    SPAD__PTX_NO_TYPE,
    SPAD__PTX_NUMBER_TYPES(SPAD__PTX_AS_TYPE) SPAD__PTX_TYPE_COUNT
} spad__ptx_type;

typedef enum spad__ptx_space {
    SPAD__PTX_NO_SPACE, /* generic */
    SPAD__PTX_REG,
    SPAD__PTX_SREG,
    SPAD__PTX_CONST,
    SPAD__PTX_GLOBAL,
    SPAD__PTX_LOCAL_MEMORY,
    SPAD__PTX_PARAM,  /* .param, .param::entry, .param::func */
    SPAD__PTX_SHARED, /* .shared, .shared::cta */
    SPAD__PTX_SHARED_CLUSTER,
    SPAD__PTX_TENSOR_MEMORY, /* none of the text: of tcgen05 operands */
    SPAD__PTX_SPACES
} spad__ptx_space;

/* Modifiers, in the order of their spellings. X(name, "spelling as in the text, without the first
 * dot"). ASYNC_GLOBAL, ASYNC_SHARED_CTA and ASYNC_SHARED_CLUSTER are ".async" with the space after
 * it, as in fence.proxy.async.global; such a name has ASYNC and the space as well. */
#define SPAD__PTX_WORDS(X)                                     \
    X(T128X128B, "128x128b")                                   \
    X(T128X256B, "128x256b")                                   \
    X(T16X128B, "16x128b")                                     \
    X(T16X256B, "16x256b")                                     \
    X(T16X32BX2, "16x32bx2")                                   \
    X(T16X64B, "16x64b")                                       \
    X(ND1, "1d")                                               \
    X(ND2, "2d")                                               \
    X(D2MS, "2dms")                                            \
    X(T32X128B, "32x128b")                                     \
    X(T32X32B, "32x32b")                                       \
    X(ND3, "3d")                                               \
    X(ND4, "4d")                                               \
    X(T4X256B, "4x256b")                                       \
    X(ND5, "5d")                                               \
    X(T64X128B, "64x128b")                                     \
    X(L1, "L1")                                                \
    X(EVICT_FIRST, "L1::evict_first")                          \
    X(EVICT_LAST, "L1::evict_last")                            \
    X(EVICT_NORMAL, "L1::evict_normal")                        \
    X(EVICT_UNCHANGED, "L1::evict_unchanged")                  \
    X(NO_ALLOCATE, "L1::no_allocate")                          \
    X(L2, "L2")                                                \
    X(L2_128B, "L2::128B")                                     \
    X(L2_256B, "L2::256B")                                     \
    X(L2_64B, "L2::64B")                                       \
    X(L2_CACHE_HINT, "L2::cache_hint")                         \
    X(L2_EVICT_FIRST, "L2::evict_first")                       \
    X(L2_EVICT_LAST, "L2::evict_last")                         \
    X(L2_EVICT_NORMAL, "L2::evict_normal")                     \
    X(L2_EVICT_UNCHANGED, "L2::evict_unchanged")               \
    X(NAN, "NaN")                                              \
    X(A, "a")                                                  \
    X(A1D, "a1d")                                              \
    X(A2D, "a2d")                                              \
    X(A2DMS, "a2dms")                                          \
    X(ABS_WORD, "abs")                                         \
    X(ACC_F16, "acc::f16")                                     \
    X(ACC_F32, "acc::f32")                                     \
    X(ACQ_REL, "acq_rel")                                      \
    X(ACQUIRE, "acquire")                                      \
    X(ACUBE, "acube")                                          \
    X(ADD, "add")                                              \
    X(AFTER_THREAD_SYNC, "after_thread_sync")                  \
    X(ALIAS, "alias")                                          \
    X(ALIGNED, "aligned")                                      \
    X(ALL, "all")                                              \
    X(AND, "and")                                              \
    X(ANY, "any")                                              \
    X(APPROX, "approx")                                        \
    X(ARRAY_SIZE, "array_size")                                \
    X(ASHIFT, "ashift")                                        \
    X(ASYNC, "async")                                          \
    X(ASYNC_GLOBAL, "async.global")                            \
    X(ASYNC_SHARED_CLUSTER, "async.shared::cluster")           \
    X(ASYNC_SHARED_CTA, "async.shared::cta")                   \
    X(ASYNC_GENERIC, "async::generic")                         \
    X(B, "b")                                                  \
    X(B4E, "b4e")                                              \
    X(B4X16_P64, "b4x16_p64")                                  \
    X(B6X16_P32, "b6x16_p32")                                  \
    X(B8X16, "b8x16")                                          \
    X(BALLOT, "ballot")                                        \
    X(BASE, "base")                                            \
    X(BEFORE_THREAD_SYNC, "before_thread_sync")                \
    X(BFLY, "bfly")                                            \
    X(BLOCK16, "block16")                                      \
    X(BLOCK32, "block32")                                      \
    X(BLOCK_SCALE, "block_scale")                              \
    X(BOX_DIM, "box_dim")                                      \
    X(BULK_GROUP, "bulk_group")                                \
    X(C, "c")                                                  \
    X(CA, "ca")                                                \
    X(CAS, "cas")                                              \
    X(CC, "cc")                                                \
    X(CG, "cg")                                                \
    X(CHANNEL_DATA_TYPE, "channel_data_type")                  \
    X(CHANNEL_ORDER, "channel_order")                          \
    X(CLAMP, "clamp")                                          \
    X(CLUSTER, "cluster")                                      \
    X(COL, "col")                                              \
    X(COLLECTOR_A_DISCARD, "collector::a::discard")            \
    X(COLLECTOR_A_FILL, "collector::a::fill")                  \
    X(COLLECTOR_A_LASTUSE, "collector::a::lastuse")            \
    X(COLLECTOR_A_USE, "collector::a::use")                    \
    X(COLLECTOR_B0_DISCARD, "collector::b0::discard")          \
    X(COLLECTOR_B0_FILL, "collector::b0::fill")                \
    X(COLLECTOR_B0_LASTUSE, "collector::b0::lastuse")          \
    X(COLLECTOR_B0_USE, "collector::b0::use")                  \
    X(COLLECTOR_B1_DISCARD, "collector::b1::discard")          \
    X(COLLECTOR_B1_FILL, "collector::b1::fill")                \
    X(COLLECTOR_B1_LASTUSE, "collector::b1::lastuse")          \
    X(COLLECTOR_B1_USE, "collector::b1::use")                  \
    X(COLLECTOR_B2_DISCARD, "collector::b2::discard")          \
    X(COLLECTOR_B2_FILL, "collector::b2::fill")                \
    X(COLLECTOR_B2_LASTUSE, "collector::b2::lastuse")          \
    X(COLLECTOR_B2_USE, "collector::b2::use")                  \
    X(COLLECTOR_B3_DISCARD, "collector::b3::discard")          \
    X(COLLECTOR_B3_FILL, "collector::b3::fill")                \
    X(COLLECTOR_B3_LASTUSE, "collector::b3::lastuse")          \
    X(COLLECTOR_B3_USE, "collector::b3::use")                  \
    X(CP_MASK, "cp_mask")                                      \
    X(CS, "cs")                                                \
    X(CTA, "cta")                                              \
    X(CTA_GROUP_1, "cta_group::1")                             \
    X(CTA_GROUP_2, "cta_group::2")                             \
    X(CUBE, "cube")                                            \
    X(CV, "cv")                                                \
    X(CVT, "cvt")                                              \
    X(D, "d")                                                  \
    X(DEC, "dec")                                              \
    X(DEPTH, "depth")                                          \
    X(DOWN, "down")                                            \
    X(ECL, "ecl")                                              \
    X(ECR, "ecr")                                              \
    X(ELEMENT_STRIDE, "element_stride")                        \
    X(ELEMTYPE, "elemtype")                                    \
    X(EQ, "eq")                                                \
    X(EQU, "equ")                                              \
    X(EXCH, "exch")                                            \
    X(EXPECT_TX, "expect_tx")                                  \
    X(F4E, "f4e")                                              \
    X(FILL_MODE, "fill_mode")                                  \
    X(FINITE, "finite")                                        \
    X(FRACTIONAL, "fractional")                                \
    X(FTZ, "ftz")                                              \
    X(FULL, "full")                                            \
    X(GE, "ge")                                                \
    X(GET_FIRST_CTAID, "get_first_ctaid")                      \
    X(GET_FIRST_CTAID_X, "get_first_ctaid::x")                 \
    X(GET_FIRST_CTAID_Y, "get_first_ctaid::y")                 \
    X(GET_FIRST_CTAID_Z, "get_first_ctaid::z")                 \
    X(GEU, "geu")                                              \
    X(GL, "gl")                                                \
    X(GLOBAL_ADDRESS, "global_address")                        \
    X(GLOBAL_DIM, "global_dim")                                \
    X(GLOBAL_STRIDE, "global_stride")                          \
    X(GPU, "gpu")                                              \
    X(GRAD, "grad")                                            \
    X(GT, "gt")                                                \
    X(GTU, "gtu")                                              \
    X(HEIGHT, "height")                                        \
    X(HI, "hi")                                                \
    X(HS, "hs")                                                \
    X(IDX, "idx")                                              \
    X(IGNORE_OOB, "ignore_oob")                                \
    X(IM2COL, "im2col")                                        \
    X(IM2COL_W, "im2col::w")                                   \
    X(IM2COL_W_128, "im2col::w::128")                          \
    X(IM2COL_NO_OFFS, "im2col_no_offs")                        \
    X(INC, "inc")                                              \
    X(INFINITE, "infinite")                                    \
    X(INTERLEAVE_LAYOUT, "interleave_layout")                  \
    X(IS_CANCELED, "is_canceled")                              \
    X(KIND_F16, "kind::f16")                                   \
    X(KIND_F8F6F4, "kind::f8f6f4")                             \
    X(KIND_I8, "kind::i8")                                     \
    X(KIND_MXF4, "kind::mxf4")                                 \
    X(KIND_MXF4NVF4, "kind::mxf4nvf4")                         \
    X(KIND_MXF8F6F4, "kind::mxf8f6f4")                         \
    X(KIND_TF32, "kind::tf32")                                 \
    X(L, "l")                                                  \
    X(LAUNCH_DEPENDENTS, "launch_dependents")                  \
    X(LD_WORD, "ld")                                           \
    X(LE, "le")                                                \
    X(LEU, "leu")                                              \
    X(LEVEL, "level")                                          \
    X(LO, "lo")                                                \
    X(LS, "ls")                                                \
    X(LT, "lt")                                                \
    X(LTU, "ltu")                                              \
    X(LU, "lu")                                                \
    X(M16N16, "m16n16")                                        \
    X(M16N8, "m16n8")                                          \
    X(M8N16, "m8n16")                                          \
    X(M8N8, "m8n8")                                            \
    X(MASK, "mask")                                            \
    X(MAX, "max")                                              \
    X(MBARRIER_ARRIVE_ONE, "mbarrier::arrive::one")            \
    X(MBARRIER_COMPLETE_1, "mbarrier::complete_tx::1b")        \
    X(MBARRIER_COMPLETE, "mbarrier::complete_tx::bytes")       \
    X(MIN, "min")                                              \
    X(MMIO, "mmio")                                            \
    X(MULTICAST_CLUSTER, "multicast::cluster")                 \
    X(MULTICAST_CLUSTER_ALL, "multicast::cluster::all")        \
    X(NAN_TEST, "nan")                                         \
    X(NC, "nc")                                                \
    X(NE, "ne")                                                \
    X(NEU, "neu")                                              \
    X(NOCOMPLETE, "noComplete")                                \
    X(NOFTZ, "noftz")                                          \
    X(NOINC, "noinc")                                          \
    X(NORMAL, "normal")                                        \
    X(NORMALIZED_COORDS, "normalized_coords")                  \
    X(NOTANUMBER, "notanumber")                                \
    X(NUM, "num")                                              \
    X(NUM_MIPMAP_LEVELS, "num_mipmap_levels")                  \
    X(NUM_SAMPLES, "num_samples")                              \
    X(NUMBER, "number")                                        \
    X(OOB, "oob")                                              \
    X(OR, "or")                                                \
    X(P, "p")                                                  \
    X(PACK, "pack")                                            \
    X(PACK_16B, "pack::16b")                                   \
    X(PARITY, "parity")                                        \
    X(PO, "po")                                                \
    X(POPC, "popc")                                            \
    X(PROXY, "proxy")                                          \
    X(PTR, "ptr")                                              \
    X(R, "r")                                                  \
    X(RANGE, "range")                                          \
    X(RANK, "rank")                                            \
    X(RC16, "rc16")                                            \
    X(RC8, "rc8")                                              \
    X(READ, "read")                                            \
    X(RED, "red")                                              \
    X(RELAXED, "relaxed")                                      \
    X(RELEASE, "release")                                      \
    X(RELU, "relu")                                            \
    X(RM, "rm")                                                \
    X(RMI, "rmi")                                              \
    X(RN, "rn")                                                \
    X(RNA, "rna")                                              \
    X(RNI, "rni")                                              \
    X(ROW, "row")                                              \
    X(RP, "rp")                                                \
    X(RPI, "rpi")                                              \
    X(RS, "rs")                                                \
    X(RZ, "rz")                                                \
    X(RZI, "rzi")                                              \
    X(SAT, "sat")                                              \
    X(SATF, "satf")                                            \
    X(SATFINITE, "satfinite")                                  \
    X(SC, "sc")                                                \
    X(SCALE_VEC_1X, "scale_vec::1X")                           \
    X(SCALE_VEC_2X, "scale_vec::2X")                           \
    X(SCALE_VEC_4X, "scale_vec::4X")                           \
    X(SCALED, "scaled")                                        \
    X(SCALED_N2_UE8M0, "scaled::n2::ue8m0")                    \
    X(SHIFTAMT, "shiftamt")                                    \
    X(SHR15, "shr15")                                          \
    X(SHR7, "shr7")                                            \
    X(SP, "sp")                                                \
    X(SP_ORDERED, "sp::ordered_metadata")                      \
    X(ST_WORD, "st")                                           \
    X(STATE, "state")                                          \
    X(SUBNORMAL, "subnormal")                                  \
    X(SWIZZLE_ATOMICITY, "swizzle_atomicity")                  \
    X(SWIZZLE_MODE, "swizzle_mode")                            \
    X(SYNC, "sync")                                            \
    X(SYNC_RESTRICT_CLUSTER, "sync_restrict::shared::cluster") \
    X(SYNC_RESTRICT_CTA, "sync_restrict::shared::cta")         \
    X(SYS, "sys")                                              \
    X(TENSORMAP, "tensormap")                                  \
    X(TENSORMAP_GENERIC, "tensormap::generic")                 \
    X(TILE, "tile")                                            \
    X(TILE_GATHER4, "tile::gather4")                           \
    X(TILE_SCATTER4, "tile::scatter4")                         \
    X(TO, "to")                                                \
    X(TRANS, "trans")                                          \
    X(TRAP, "trap")                                            \
    X(TX_COUNT, "tx_count")                                    \
    X(UNI, "uni")                                              \
    X(UNIFIED, "unified")                                      \
    X(UNIFORM, "uniform")                                      \
    X(UNPACK_16B, "unpack::16b")                               \
    X(UP, "up")                                                \
    X(VOLATILE, "volatile")                                    \
    X(WAIT, "wait")                                            \
    X(WARPX2_01_23, "warpx2::01_23")                           \
    X(WARPX2_02_13, "warpx2::02_13")                           \
    X(WARPX4, "warpx4")                                        \
    X(WB, "wb")                                                \
    X(WEAK, "weak")                                            \
    X(WIDE, "wide")                                            \
    X(WIDTH, "width")                                          \
    X(WRAP, "wrap")                                            \
    X(WS, "ws")                                                \
    X(WT, "wt")                                                \
    X(X1, "x1")                                                \
    X(X128, "x128")                                            \
    X(X16, "x16")                                              \
    X(X2, "x2")                                                \
    X(X32, "x32")                                              \
    X(X4, "x4")                                                \
    X(X64, "x64")                                              \
    X(X8, "x8")                                                \
    X(XOR, "xor")                                              \
    X(XORSIGN, "xorsign")                                      \
    X(ZERO, "zero")

#define SPAD__PTX_AS_WORD(name, spelling) SPAD__PTX_WORD_##name,
typedef enum spad__ptx_word {
    SPAD__PTX_WORDS(SPAD__PTX_AS_WORD) SPAD__PTX_WORD_COUNT
} spad__ptx_word;

typedef struct spad__ptx_word_set {
    uint64_t bits[(SPAD__PTX_WORD_COUNT + 63) / 64];
} spad__ptx_word_set;

#define SPAD__PTX_SPECIALS(X)                        \
    X(TID, "%tid")                                   \
    X(NTID, "%ntid")                                 \
    X(LANEID, "%laneid")                             \
    X(WARPID, "%warpid")                             \
    X(NWARPID, "%nwarpid")                           \
    X(CTAID, "%ctaid")                               \
    X(NCTAID, "%nctaid")                             \
    X(SMID, "%smid")                                 \
    X(NSMID, "%nsmid")                               \
    X(GRIDID, "%gridid")                             \
    X(CLUSTERID, "%clusterid")                       \
    X(NCLUSTERID, "%nclusterid")                     \
    X(CLUSTER_CTAID, "%cluster_ctaid")               \
    X(CLUSTER_NCTAID, "%cluster_nctaid")             \
    X(CLUSTER_CTARANK, "%cluster_ctarank")           \
    X(CLUSTER_NCTARANK, "%cluster_nctarank")         \
    X(IS_EXPLICIT_CLUSTER, "%is_explicit_cluster")   \
    X(LANEMASK_EQ, "%lanemask_eq")                   \
    X(LANEMASK_LE, "%lanemask_le")                   \
    X(LANEMASK_LT, "%lanemask_lt")                   \
    X(LANEMASK_GE, "%lanemask_ge")                   \
    X(LANEMASK_GT, "%lanemask_gt")                   \
    X(CLOCK, "%clock")                               \
    X(CLOCK_HI, "%clock_hi")                         \
    X(CLOCK64, "%clock64")                           \
    X(GLOBALTIMER, "%globaltimer")                   \
    X(GLOBALTIMER_LO, "%globaltimer_lo")             \
    X(GLOBALTIMER_HI, "%globaltimer_hi")             \
    X(TOTAL_SMEM_SIZE, "%total_smem_size")           \
    X(AGGR_SMEM_SIZE, "%aggr_smem_size")             \
    X(DYNAMIC_SMEM_SIZE, "%dynamic_smem_size")       \
    X(CURRENT_GRAPH_EXEC, "%current_graph_exec")     \
    X(WARP_SZ, "WARP_SZ")                            \
    X(RESERVED_BEGIN, "%reserved_smem_offset_begin") \
    X(RESERVED_END, "%reserved_smem_offset_end")     \
    X(RESERVED_CAP, "%reserved_smem_offset_cap")     \
    X(RESERVED_1, "%reserved_smem_offset_1")

#define SPAD__PTX_AS_SPECIAL(name, spelling) SPAD__PTX_SPECIAL_##name,
typedef enum spad__ptx_special {
    SPAD__PTX_SPECIALS(SPAD__PTX_AS_SPECIAL) SPAD__PTX_SPECIAL_COUNT /* others: %pm0, %envreg3 */
} spad__ptx_special;

/* Reads the name of an instruction, `length` bytes: opcode, types, spaces, modifiers. Fills in
 * those fields of *out and leaves the rest. */
struct spad__ptx_instruction;
void spad__ptx_read_name(struct spad__ptx_instruction *out, const char *name, size_t length);
/* The type with this spelling; NO_TYPE: none. */
spad__ptx_type spad__ptx_find_type(const char *word, size_t length);
int spad__ptx_type_bits(spad__ptx_type type);
bool spad__ptx_type_is_float(spad__ptx_type type);
bool spad__ptx_type_is_signed(spad__ptx_type type);
/* The special register of a name without its component; SPECIAL_COUNT: one that is not known. */
spad__ptx_special spad__ptx_find_special(const char *name, size_t length);
const char *spad__ptx_op_name(spad__ptx_op op);

#endif
