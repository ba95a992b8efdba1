/* SPDX-License-Identifier: Apache-2.0
 *
 * Which function executes an opcode. Branches are not here: ptx_warp.c runs them itself.
 */
#include "frontend/ptx/run/ptx_copy.h"
#include "frontend/ptx/run/ptx_tcgen05.h"
#include "frontend/ptx/run/ptx_warp.h"

/* Opcodes that are integer or float arithmetic by their type. */
static spad__ptx_outcome run_arithmetic(spad__ptx_machine *m, spad__ptx_warp *w,
                                        const spad__ptx_instruction *i, uint32_t lanes) {
    /* set.CmpOp.dtype.stype compares numbers of the second type. */
    const int of_type = i->op == SPAD__PTX_OP_SET && i->type_count > 1 ? 1 : 0;
    return spad__ptx_type_is_float((spad__ptx_type)i->types[of_type])
               ? spad__ptx_run_float(m, w, i, lanes)
               : spad__ptx_run_integer(m, w, i, lanes);
}

#define NUMBER(name) [SPAD__PTX_OP_##name] = run_arithmetic
#define INTEGER(name) [SPAD__PTX_OP_##name] = spad__ptx_run_integer
#define FLOAT(name) [SPAD__PTX_OP_##name] = spad__ptx_run_float
#define CONVERT(name) [SPAD__PTX_OP_##name] = spad__ptx_run_convert
#define ADDRESS(name) [SPAD__PTX_OP_##name] = spad__ptx_run_address
#define MEMORY_OP(name) [SPAD__PTX_OP_##name] = spad__ptx_run_memory
#define ATOMICS(name) [SPAD__PTX_OP_##name] = spad__ptx_run_atomic
#define LANES(name) [SPAD__PTX_OP_##name] = spad__ptx_run_lanes
#define CALLS(name) [SPAD__PTX_OP_##name] = spad__ptx_run_call
#define BARRIER(name) [SPAD__PTX_OP_##name] = spad__ptx_run_barrier
#define MBARRIER(name) [SPAD__PTX_OP_##name] = spad__ptx_run_mbarrier
#define COPY(name) [SPAD__PTX_OP_##name] = spad__ptx_run_copy
#define MATRIX(name) [SPAD__PTX_OP_##name] = spad__ptx_run_matrix
#define WGMMA(name) [SPAD__PTX_OP_##name] = spad__ptx_run_wgmma
#define TCGEN05(name) [SPAD__PTX_OP_##name] = spad__ptx_run_tcgen05
#define TENSOR_COPY(name) [SPAD__PTX_OP_##name] = spad__ptx_run_tensor_copy
#define TENSOR_MMA(name) [SPAD__PTX_OP_##name] = spad__ptx_run_tensor_mma
#define TENSOR_MOVE(name) [SPAD__PTX_OP_##name] = spad__ptx_run_tensor_move
#define LAUNCHES(name) [SPAD__PTX_OP_##name] = spad__ptx_run_launch_control

static spad__ptx_runs *const op_rules[SPAD__PTX_OP_COUNT] = {
    NUMBER(ABS),
    NUMBER(ADD),
    NUMBER(DIV),
    NUMBER(MAD),
    NUMBER(MAX),
    NUMBER(MIN),
    NUMBER(MUL),
    NUMBER(NEG),
    NUMBER(SET),
    NUMBER(SETP),
    NUMBER(SUB),
    INTEGER(ADDC),
    INTEGER(AND),
    INTEGER(BFE),
    INTEGER(BFI),
    INTEGER(BFIND),
    INTEGER(BMSK),
    INTEGER(BREV),
    INTEGER(CLZ),
    INTEGER(CNOT),
    INTEGER(DP2A),
    INTEGER(DP4A),
    INTEGER(FNS),
    INTEGER(LOP3),
    INTEGER(MAD24),
    INTEGER(MADC),
    INTEGER(MUL24),
    INTEGER(NOT),
    INTEGER(OR),
    INTEGER(POPC),
    INTEGER(PRMT),
    INTEGER(REM),
    INTEGER(SAD),
    INTEGER(SHF),
    INTEGER(SHL),
    INTEGER(SHR),
    INTEGER(SUBC),
    INTEGER(SZEXT),
    INTEGER(XOR),
    FLOAT(COPYSIGN),
    FLOAT(COS),
    FLOAT(EX2),
    FLOAT(FMA),
    FLOAT(LG2),
    FLOAT(RCP),
    FLOAT(RSQRT),
    FLOAT(SIN),
    FLOAT(SQRT),
    FLOAT(TANH),
    FLOAT(TESTP),
    CONVERT(CVT),
    CONVERT(CVT_PACK),
    CONVERT(MOV),
    CONVERT(SELP),
    CONVERT(SLCT),
    ADDRESS(CVTA),
    ADDRESS(GETCTARANK),
    ADDRESS(ISSPACEP),
    ADDRESS(MAPA),
    MEMORY_OP(APPLYPRIORITY),
    MEMORY_OP(BRKPT),
    MEMORY_OP(CREATEPOLICY),
    MEMORY_OP(DISCARD),
    MEMORY_OP(LD),
    MEMORY_OP(LDU),
    MEMORY_OP(MULTIMEM_LD_REDUCE),
    MEMORY_OP(MULTIMEM_RED),
    MEMORY_OP(MULTIMEM_ST),
    MEMORY_OP(PMEVENT),
    MEMORY_OP(PREFETCH),
    MEMORY_OP(PREFETCHU),
    MEMORY_OP(ST),
    ATOMICS(ATOM),
    ATOMICS(RED),
    LANES(ACTIVEMASK),
    LANES(ELECT_SYNC),
    LANES(MATCH),
    LANES(REDUX_SYNC),
    LANES(SHFL),
    LANES(VOTE),
    CALLS(CALL),
    CALLS(EXIT),
    CALLS(RET),
    CALLS(TRAP),
    BARRIER(BARRIER_ARRIVE),
    BARRIER(BARRIER_CLUSTER_ARRIVE),
    BARRIER(BARRIER_CLUSTER_WAIT),
    BARRIER(BARRIER_CTA_ARRIVE),
    BARRIER(BARRIER_CTA_RED),
    BARRIER(BARRIER_CTA_SYNC),
    BARRIER(BARRIER_RED),
    BARRIER(BARRIER_SYNC),
    BARRIER(BAR_ARRIVE),
    BARRIER(BAR_CTA_ARRIVE),
    BARRIER(BAR_CTA_RED),
    BARRIER(BAR_CTA_SYNC),
    BARRIER(BAR_RED),
    BARRIER(BAR_SYNC),
    BARRIER(BAR_WARP_SYNC),
    BARRIER(FENCE),
    BARRIER(FENCE_MBARRIER_INIT),
    BARRIER(FENCE_PROXY),
    BARRIER(GRIDDEPCONTROL),
    BARRIER(MEMBAR),
    [SPAD__PTX_OP_NANOSLEEP] = spad__ptx_run_barrier,
    BARRIER(SETMAXNREG),
    MBARRIER(MBARRIER_ARRIVE),
    MBARRIER(MBARRIER_ARRIVE_DROP),
    MBARRIER(MBARRIER_COMPLETE_TX),
    MBARRIER(MBARRIER_EXPECT_TX),
    MBARRIER(MBARRIER_INIT),
    MBARRIER(MBARRIER_INVAL),
    MBARRIER(MBARRIER_PENDING_COUNT),
    MBARRIER(MBARRIER_TEST_WAIT),
    MBARRIER(MBARRIER_TRY_WAIT),
    COPY(CP_ASYNC),
    COPY(CP_ASYNC_BULK),
    COPY(CP_ASYNC_BULK_COMMIT),
    COPY(CP_ASYNC_BULK_PREFETCH),
    COPY(CP_ASYNC_BULK_PREFETCH_TENSOR),
    TENSOR_COPY(CP_ASYNC_BULK_TENSOR),
    COPY(CP_ASYNC_BULK_WAIT),
    COPY(CP_ASYNC_COMMIT),
    COPY(CP_ASYNC_MBARRIER_ARRIVE),
    COPY(CP_ASYNC_WAIT),
    COPY(CP_ASYNC_WAIT_ALL),
    COPY(CP_REDUCE_ASYNC_BULK),
    TENSOR_COPY(CP_REDUCE_ASYNC_BULK_TENSOR),
    COPY(RED_ASYNC),
    COPY(ST_ASYNC),
    COPY(ST_BULK),
    COPY(TENSORMAP_CP_FENCEPROXY),
    COPY(TENSORMAP_REPLACE),
    MATRIX(LDMATRIX),
    MATRIX(MMA),
    MATRIX(MOVMATRIX),
    MATRIX(STMATRIX),
    MATRIX(WMMA_LOAD),
    MATRIX(WMMA_MMA),
    MATRIX(WMMA_STORE),
    WGMMA(WGMMA_COMMIT),
    WGMMA(WGMMA_FENCE),
    WGMMA(WGMMA_MMA),
    WGMMA(WGMMA_WAIT),
    LAUNCHES(CLUSTERLAUNCHCONTROL_QUERY_CANCEL),
    LAUNCHES(CLUSTERLAUNCHCONTROL_TRY_CANCEL),
    TCGEN05(TCGEN05_ALLOC),
    TCGEN05(TCGEN05_COMMIT),
    TENSOR_MOVE(TCGEN05_CP),
    TCGEN05(TCGEN05_DEALLOC),
    TCGEN05(TCGEN05_FENCE),
    TCGEN05(TCGEN05_LD),
    TENSOR_MMA(TCGEN05_MMA),
    TCGEN05(TCGEN05_RELINQUISH),
    TENSOR_MOVE(TCGEN05_SHIFT),
    TCGEN05(TCGEN05_ST),
    TCGEN05(TCGEN05_WAIT),
};

spad__ptx_runs *spad__ptx_run_of(spad__ptx_op op) {
    return op_rules[op];
}
