/* SPDX-License-Identifier: Apache-2.0
 *
 * Where bytes of memory are on the host, and the accesses of one instruction: for the files of the
 * executor that load and store.
 *
 * Reference: PTX ISA 9.0, sections 5.1 (state spaces) and 6.4 (addresses).
 */
#ifndef SPAD_FRONTEND_PTX_MEMORY_H
#define SPAD_FRONTEND_PTX_MEMORY_H

#include "frontend/ptx/run/ptx_state.h"

/* Bytes of a space on the host, `stride` apart. */
typedef struct spad__ptx_storage {
    bool found; /* else out of range */
    bool global;
    bool constant;  /* must not be written */
    uint8_t *bytes; /* NULL: contents are not kept */
    uint8_t *known; /* NULL: all are known */
    size_t stride;
} spad__ptx_storage;

/* `count` bytes at a place, as a lane sees it. */
spad__ptx_storage spad__ptx_find(spad__ptx_machine *m, const spad__ptx_warp *w, int lane,
                                 spad__ptx_place place, int64_t count);
/* Up to 8 bytes as a number. False: some of them are not known. */
bool spad__ptx_fetch(const spad__ptx_storage *from, int64_t at, unsigned bytes, uint64_t *out);
void spad__ptx_store(spad__ptx_machine *m, const spad__ptx_storage *to, int64_t at, unsigned bytes,
                     uint64_t value, bool known);

/* The accesses of the lanes of one instruction. */
typedef struct spad__ptx_touch {
    spad__ptx_value address;
    spad__ptx_place places[SPAD__PTX_LANES]; /* of lanes whose address is known */
    uint32_t lanes;
    uint32_t blind;        /* lanes whose address is not known */
    uint32_t shared;       /* lanes that access shared memory */
    spad__ptx_space space; /* as the instruction names it */
    int32_t variable;      /* that the address names; -1: none */
    int32_t reg;           /* that the address has; -1: none */
    int64_t bytes;         /* of each lane */
    unsigned kind;         /* SPAD__PTX_READ and so on */
    unsigned order;        /* SPAD__PTX_ACQUIRE and so on */
    unsigned value_bytes;  /* as of the event; 0 unless set */
    uint64_t value;
} spad__ptx_touch;

/* Finds out where an ADDRESS operand leads in all lanes. Remarks on misaligned addresses. */
void spad__ptx_touch_start(spad__ptx_touch *t, spad__ptx_machine *m, spad__ptx_warp *w,
                           const spad__ptx_instruction *i, const spad__ptx_operand *address,
                           uint32_t lanes, int64_t bytes, unsigned kind);
/* The lanes `known` know what they have read: notes whether that decides a branch. */
void spad__ptx_touch_decides(spad__ptx_touch *t, spad__ptx_machine *m, const spad__ptx_warp *w,
                             const spad__ptx_instruction *i, uint32_t known);
/* The event of accesses to shared memory, if there are any. Lanes with an unknown address may
 * access all bytes of the variable, or of the CTA; what they write is forgotten. */
spad__ptx_outcome spad__ptx_touch_event(spad__ptx_touch *t, spad__ptx_machine *m,
                                        spad__ptx_warp *w);

#endif
