/* SPDX-License-Identifier: Apache-2.0
 *
 * Remarks of a run, and errors of instructions that cannot be executed.
 */
#include "frontend/ptx/run/ptx_state.h"

enum { MOST_REMARKS = 4096 };

/* ---- remarks -----------------------------------------------------------------------------------
 */

static spad__ptx_remark *find_remark(spad__ptx_machine *m, spad__ptx_remark_kind kind) {
    for (size_t n = m->result->remarks.count; n-- > 0;) {
        spad__ptx_remark *remark = &m->result->remarks.items[n];
        if (remark->kind == kind && remark->instruction == m->at) return remark;
    }
    return NULL;
}

void spad__ptx_remark_at(spad__ptx_machine *m, const spad__ptx_warp *w, spad__ptx_remark_kind kind,
                         int lane, uint64_t address, int64_t bytes, const char *format, ...) {
    spad__ptx_remark *old = find_remark(m, kind);
    if (old != NULL) {
        old->times++;
        return;
    }
    if (m->result->remarks.count >= MOST_REMARKS) {
        m->result->remarks_full = true;
        return;
    }
    if (!spad__array_reserve(m->host, &m->result->remarks, 1)) {
        (void)spad__ptx_no_memory(m);
        return;
    }
    spad__ptx_remark *remark = &m->result->remarks.items[m->result->remarks.count++];
    *remark = (spad__ptx_remark){
        .kind = kind,
        .instruction = m->at,
        .cta = w->cta,
        .warp = w->number,
        .lane = lane,
        .address = address,
        .bytes = bytes,
        .times = 1,
    };
    va_list arguments;
    va_start(arguments, format);
    spad__format_cut(remark->text, sizeof remark->text, format, arguments);
    va_end(arguments);
}

/* ---- errors ------------------------------------------------------------------------------------
 */

spad__ptx_outcome spad__ptx_unsupported(spad__ptx_machine *m, const spad__ptx_instruction *i,
                                        const char *why) {
    if (m->status == SPAD_OK) {
        m->status = spad__fail(m->error, SPAD_ERR_UNKNOWN,
                               "line %d: cannot execute '%s': %s; leave this kernel out, or report "
                               "the instruction",
                               (int)i->line, spad__ptx_op_name(i->op), why);
        spad__fact_location(m->error, NULL, i->line, 0);
    }
    return SPAD__PTX_FAILED;
}

spad__ptx_outcome spad__ptx_no_memory(spad__ptx_machine *m) {
    if (m->status == SPAD_OK) m->status = spad__fail_host_memory(m->error);
    return SPAD__PTX_FAILED;
}
