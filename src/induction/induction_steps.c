/* SPDX-License-Identifier: Apache-2.0
 *
 * How expressions move with a trip count whose steps are known.
 */
#include "induction/induction.h"

spad__moves spad__induction_moves(const spad__induction *induction, const spad_kernel *kernel,
                                  bool param, int64_t loop, bool *relies) {
    const bool moves = param && induction->param != SPAD__NO_PARAM;
    return (spad__moves){.kernel = kernel,
                         .param = moves ? (int64_t)induction->param : -1,
                         .param_step = induction->step,
                         .loop = loop,
                         .loop_step = loop >= 0 ? induction->extra[loop] : 0,
                         .relies = relies,
                         .extra = induction->extra,
                         .cursors_held = induction->holds_cursors};
}

bool spad__induction_shift(const spad__induction *induction, const spad_kernel *kernel,
                           spad_expr expr, bool param, int64_t loop, int64_t *shift) {
    spad__affine affine;
    *shift = 0;
    if (!spad__induction_affine(induction, kernel, expr, param, loop, &affine)) return false;
    *shift = affine.constant;
    return affine.count == 0;
}

bool spad__induction_affine(const spad__induction *induction, const spad_kernel *kernel,
                            spad_expr expr, bool param, int64_t loop, spad__affine *affine) {
    int64_t period;
    return spad__induction_period(induction, kernel, expr, param, loop, affine, &period) &&
           period == 1;
}

bool spad__induction_period(const spad__induction *induction, const spad_kernel *kernel,
                            spad_expr expr, bool param, int64_t loop, spad__affine *affine,
                            int64_t *period) {
    const spad__moves moves = spad__induction_moves(induction, kernel, param, loop, NULL);
    return spad__affine_of(&moves, expr, affine, period, NULL) == SPAD__EVEN;
}
