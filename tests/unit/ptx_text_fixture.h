/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts of PTX with a body to fill in, for tests of the parser. */
#ifndef SPAD_TEST_PTX_TEXT_FIXTURE_H
#define SPAD_TEST_PTX_TEXT_FIXTURE_H

#include <string.h>

#include "frontend/ptx/text/ptx_module.h"
#include "support/support.h"

#define HEAD ".version 8.7\n.target sm_90a\n.address_size 64\n"
#define BODY                                                                            \
    HEAD ".global .b32 g[4];\n.func f (.param .b32 a);\n.entry k (.param .b64 ptr) {\n" \
         ".reg .pred %p<9>;\n.reg .b32 %r<99>;\n.reg .b64 %rd<9>;\n.reg .f32 %f<9>;\n"  \
         ".reg .v2 .b32 %v;\n.shared .b64 bar[2];\n.param .b32 sent;\n"
#define END "\n}\n"

typedef spad__ptx_module module;

static inline spad_status read_bytes(module *out, const spad_host *host, const char *text,
                                     size_t length, spad_diagnostics *diagnostics,
                                     spad_error *error) {
    const spad__source source = {"k.ptx", text, length};
    return spad__ptx_parse(out, host, &source, diagnostics, error);
}

#endif
