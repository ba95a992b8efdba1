/* SPDX-License-Identifier: Apache-2.0
 *
 * The effects of an instruction beyond the registers of its own lanes, by opcode.
 *
 * Reference: PTX ISA 9.0, chapter 9.
 */
#include "frontend/ptx/run/ptx_warp.h"

#define EFFECT(effect, name) [SPAD__PTX_OP_##name] = SPAD__PTX_##effect

/* Opcodes that are not here synchronise, or work asynchronously or across lanes. */
static const uint8_t effects[SPAD__PTX_OP_COUNT] = {
    EFFECT(PURE, ABS),         EFFECT(PURE, ADD),          EFFECT(PURE, ADDC),
    EFFECT(PURE, AND),         EFFECT(PURE, BFE),          EFFECT(PURE, BFI),
    EFFECT(PURE, BFIND),       EFFECT(PURE, BMSK),         EFFECT(PURE, BREV),
    EFFECT(PURE, CLZ),         EFFECT(PURE, CNOT),         EFFECT(PURE, COPYSIGN),
    EFFECT(PURE, COS),         EFFECT(PURE, CREATEPOLICY), EFFECT(PURE, CVT),
    EFFECT(PURE, CVTA),        EFFECT(PURE, CVT_PACK),     EFFECT(PURE, DIV),
    EFFECT(PURE, DP2A),        EFFECT(PURE, DP4A),         EFFECT(PURE, EX2),
    EFFECT(PURE, FMA),         EFFECT(PURE, FNS),          EFFECT(PURE, GETCTARANK),
    EFFECT(PURE, ISSPACEP),    EFFECT(PURE, LG2),          EFFECT(PURE, LOP3),
    EFFECT(PURE, MAD),         EFFECT(PURE, MAD24),        EFFECT(PURE, MADC),
    EFFECT(PURE, MAPA),        EFFECT(PURE, MAX),          EFFECT(PURE, MIN),
    EFFECT(PURE, MOV),         EFFECT(PURE, MUL),          EFFECT(PURE, MUL24),
    EFFECT(PURE, NEG),         EFFECT(PURE, NOT),          EFFECT(PURE, OR),
    EFFECT(PURE, POPC),        EFFECT(PURE, PRMT),         EFFECT(PURE, RCP),
    EFFECT(PURE, REM),         EFFECT(PURE, RSQRT),        EFFECT(PURE, SAD),
    EFFECT(PURE, SELP),        EFFECT(PURE, SET),          EFFECT(PURE, SETP),
    EFFECT(PURE, SHF),         EFFECT(PURE, SHL),          EFFECT(PURE, SHR),
    EFFECT(PURE, SIN),         EFFECT(PURE, SLCT),         EFFECT(PURE, SQRT),
    EFFECT(PURE, SUB),         EFFECT(PURE, SUBC),         EFFECT(PURE, SZEXT),
    EFFECT(PURE, TANH),        EFFECT(PURE, TESTP),        EFFECT(PURE, XOR),
    EFFECT(LOAD, LD),          EFFECT(LOAD, LDU),          EFFECT(STORE, ST),
    EFFECT(ATOMIC_LOAD, ATOM), EFFECT(ATOMIC_STORE, RED),  EFFECT(HINT, APPLYPRIORITY),
    EFFECT(HINT, BRKPT),       EFFECT(HINT, DISCARD),      EFFECT(HINT, NANOSLEEP),
    EFFECT(HINT, PMEVENT),     EFFECT(HINT, PREFETCH),     EFFECT(HINT, PREFETCHU),
    EFFECT(CONTROL, BRA),      EFFECT(CONTROL, BRX_IDX),   EFFECT(CONTROL, CALL),
    EFFECT(CONTROL, EXIT),     EFFECT(CONTROL, RET),       EFFECT(CONTROL, TRAP),
};

spad__ptx_effect spad__ptx_effect_of(spad__ptx_op op) {
    return (spad__ptx_effect)effects[op];
}
