/* SPDX-License-Identifier: Apache-2.0
 *
 * A table of places from the inside.
 */
#ifndef SPAD_EMIT_EMIT_H
#define SPAD_EMIT_EMIT_H

#include "base/memory.h"
#include "base/names.h"
#include "base/text.h"
#include "spad/experimental/emit.h"

typedef struct spad__emit_row {
    spad_emit_buffer buffer;
    const char *identifier; /* upper case */
} spad__emit_row;

/* Invariants: byte + bytes of every place fits 64 bits; identifiers are all different. */
struct spad_emit {
    spad_host host;
    spad__arena texts;
    const spad_target *target;
    const char *name;         /* as given */
    const char *prefix;       /* the same as an identifier, upper case */
    spad__names taken;        /* identifiers of rows and spaces */
    const char **space_names; /* per space: its identifier */
    SPAD_ARRAY(spad__emit_row) rows;
};

/* Highest end of a buffer in the space; 0: none exists. */
int64_t spad__emit_total(const spad_emit *table, size_t space);

/* The distance from copy to copy if they are equally spaced in the same lane. */
bool spad__emit_stride(const spad_emit_buffer *buffer, int64_t *stride);

void spad__emit_write_c(const spad_emit *table, bool cuda, spad__out *out);
void spad__emit_write_nki(const spad_emit *table, spad__out *out);
spad_status spad__emit_check_tilelang(const spad_emit *table, spad_error *error);
void spad__emit_write_tilelang(const spad_emit *table, spad__out *out);
void spad__emit_write_json(const spad_emit *table, spad__out *out);
void spad__emit_write_csv(const spad_emit *table, spad__out *out);

#endif
