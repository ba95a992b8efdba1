/* SPDX-License-Identifier: Apache-2.0
 *
 * Cluster launch control: a cluster takes over the work of one that has not been launched yet.
 *
 * How many it takes over is a choice. The answer is 16 bytes of shared memory in a form of our own:
 * byte 0 says whether a launch was cancelled, bytes 4 to 15 which: the first CTA's x, y and z.
 *
 * Reference: PTX ISA 9.0, section 9.7.13.16 (clusterlaunchcontrol).
 */
#include "frontend/ptx/run/ptx_tcgen05.h"

enum { LAUNCH_CONTROL_ANSWER_BYTES = 16, LAUNCH_CONTROL_MOST_CANCELLED = 64 };

/* The first CTA of the next cluster of the grid that has not started; false: all have. */
static bool launch_control_next_cluster(const spad__ptx_machine *m, uint32_t first[3]) {
    const spad__ptx_launch *l = m->launch;
    uint64_t counts[3];
    uint64_t number = (uint64_t)m->cancelled + 1;
    for (int d = 2; d >= 0; d--) {
        const uint64_t wide = l->cluster[d] == 0 ? 1 : l->cluster[d];
        counts[d] = l->grid[d] / wide == 0 ? 1 : l->grid[d] / wide;
    }
    uint64_t at = 0;
    for (int d = 2; d >= 0; d--) {
        const uint32_t wide = l->cluster[d] == 0 ? 1 : l->cluster[d];
        at = at * counts[d] + l->first_cta[d] / wide;
    }
    number += at;
    for (int d = 0; d < 3; d++) {
        const uint32_t wide = l->cluster[d] == 0 ? 1 : l->cluster[d];
        first[d] = (uint32_t)(number % counts[d]) * wide;
        number /= counts[d];
    }
    return number == 0;
}

/* Is there another cluster to take over, and does the run take it? */
static bool launch_control_choose_next(spad__ptx_machine *m, spad__ptx_warp *w, uint32_t first[3]) {
    if (m->cancelled >= LAUNCH_CONTROL_MOST_CANCELLED || !launch_control_next_cluster(m, first))
        return false;
    spad__ptx_remark_at(m, w, SPAD__PTX_PEEK, 0, 0, 0,
                        "whether the launch of another cluster is cancelled is a choice");
    if (!m->choices->choose(m->choices->context, SPAD__PTX_PEEK, m->at, w->cta, w->number)) {
        return false;
    }
    m->cancelled++;
    return true;
}

static void launch_control_encode(uint8_t *bytes, bool cancelled, const uint32_t first[3]) {
    bytes[0] = cancelled;
    for (int d = 0; d < 3 && cancelled; d++) {
        for (int n = 0; n < 4; n++) bytes[4 + 4 * d + n] = (uint8_t)(first[d] >> 8 * n);
    }
}

static spad__ptx_outcome launch_control_answer_cta(spad__ptx_machine *m, spad__ptx_warp *w,
                                                   const spad__ptx_delivery *d,
                                                   const uint8_t *bytes, int32_t cta) {
    uint8_t known[LAUNCH_CONTROL_ANSWER_BYTES];
    spad__ptx_place to = d->to;
    to.cta = cta;
    for (int n = 0; n < LAUNCH_CONTROL_ANSWER_BYTES; n++) known[n] = 1;
    (void)spad__ptx_poke_bytes(m, w, to, bytes, known, LAUNCH_CONTROL_ANSWER_BYTES);
    spad__ptx_begin_event(m, w, UINT32_C(1) << d->lane, SPAD__PTX_ACCESS)->unit = SPAD__PTX_BULK;
    spad__ptx_add_access(m, SPAD__PTX_WRITE, false, cta);
    spad__ptx_add_place(m, to, LAUNCH_CONTROL_ANSWER_BYTES);
    return spad__ptx_end_delivery(m, d, cta);
}

static spad__ptx_outcome launch_control_run_try(spad__ptx_machine *m, spad__ptx_warp *w,
                                                const spad__ptx_instruction *i, uint32_t lanes) {
    const bool to_all = spad__ptx_has(i, SPAD__PTX_WORD_MULTICAST_CLUSTER_ALL);
    spad__ptx_places to;
    spad__ptx_places barriers;
    spad__ptx_get_shared(m, w, spad__ptx_operand_at(m, i, 0), (spad__ptx_space)i->space, lanes,
                         LAUNCH_CONTROL_ANSWER_BYTES, &to);
    if (i->count < 2) return spad__ptx_unsupported(m, i, "it has no mbarrier");
    spad__ptx_get_shared(m, w, spad__ptx_operand_at(m, i, 1), (spad__ptx_space)i->space, lanes, 8,
                         &barriers);
    for (uint32_t left = to.known & barriers.known; left != 0; left &= left - 1) {
        const int lane = spad__ptx_first_lane(left);
        uint8_t bytes[LAUNCH_CONTROL_ANSWER_BYTES] = {0};
        uint32_t first[3] = {0};
        const uint32_t own = UINT32_C(1) << to.at[lane].cta;
        const spad__ptx_delivery d = {.lane = lane,
                                      .ctas = to_all ? (UINT32_C(1) << m->cta_count) - 1 : own,
                                      .to = to.at[lane],
                                      .barrier = barriers.at[lane],
                                      .bytes = LAUNCH_CONTROL_ANSWER_BYTES};
        const bool cancelled = launch_control_choose_next(m, w, first);
        launch_control_encode(bytes, cancelled, first);
        for (uint32_t ctas = d.ctas; ctas != 0; ctas &= ctas - 1) {
            if (launch_control_answer_cta(m, w, &d, bytes, spad__ptx_first_lane(ctas)) !=
                SPAD__PTX_DONE) {
                return SPAD__PTX_FAILED;
            }
        }
    }
    return SPAD__PTX_DONE;
}

/* ---- questions ------------------------------------------------------------------------------- */

/* 32 bits of an answer in a register of 128 bits: number 0 to 3. */
static void launch_control_get_part(spad__ptx_machine *m, spad__ptx_warp *w,
                                    const spad__ptx_operand *answer, int number,
                                    spad__ptx_value *out) {
    if (number < 2) {
        spad__ptx_get(m, w, answer, SPAD__PTX_NO_TYPE, out);
    } else {
        spad__ptx_get_high(m, w, answer, out);
    }
    for (int lane = 0; lane < SPAD__PTX_LANES; lane++) {
        out->lanes[lane] = out->lanes[lane] >> number % 2 * 32 & UINT32_MAX;
    }
}

static spad__ptx_outcome launch_control_run_query(spad__ptx_machine *m, spad__ptx_warp *w,
                                                  const spad__ptx_instruction *i, uint32_t lanes) {
    static const spad__ptx_word single[3] = {SPAD__PTX_WORD_GET_FIRST_CTAID_X,
                                             SPAD__PTX_WORD_GET_FIRST_CTAID_Y,
                                             SPAD__PTX_WORD_GET_FIRST_CTAID_Z};
    const spad__ptx_operand *result = spad__ptx_operand_at(m, i, 0);
    const spad__ptx_operand *answer = spad__ptx_operand_at(m, i, 1);
    spad__ptx_value value;
    if (result == NULL || answer == NULL) return spad__ptx_unsupported(m, i, "it has no answer");
    if (spad__ptx_has(i, SPAD__PTX_WORD_IS_CANCELED)) {
        launch_control_get_part(m, w, answer, 0, &value);
        for (int lane = 0; lane < SPAD__PTX_LANES; lane++) value.lanes[lane] &= 1;
        spad__ptx_set(m, w, result, lanes, &value);
        return SPAD__PTX_DONE;
    }
    for (int d = 0; d < 3; d++) {
        const bool all = spad__ptx_has(i, SPAD__PTX_WORD_GET_FIRST_CTAID);
        const spad__ptx_operand *item = spad__ptx_item(m, result, all ? d : 0);
        if (item == NULL || (!all && !spad__ptx_has(i, single[d]))) continue;
        launch_control_get_part(m, w, answer, d + 1, &value);
        spad__ptx_set(m, w, item, lanes, &value);
    }
    return SPAD__PTX_DONE;
}

spad__ptx_outcome spad__ptx_run_launch_control(spad__ptx_machine *m, spad__ptx_warp *w,
                                               const spad__ptx_instruction *i, uint32_t lanes) {
    return i->op == SPAD__PTX_OP_CLUSTERLAUNCHCONTROL_TRY_CANCEL
               ? launch_control_run_try(m, w, i, lanes)
               : launch_control_run_query(m, w, i, lanes);
}
