/* SPDX-License-Identifier: Apache-2.0
 *
 * How expressions move with a trip count whose steps are known.
 */
#include "check/growth.h"

spad__moves spad__growth_moves(const spad__growth *growth, const spad_kernel *kernel, bool param,
                               int64_t loop, bool *relies) {
    const bool moves = param && growth->param != SPAD__NO_PARAM;
    return (spad__moves){.kernel = kernel,
                         .param = moves ? (int64_t)growth->param : -1,
                         .param_step = growth->step,
                         .loop = loop,
                         .loop_step = loop >= 0 ? growth->extra[loop] : 0,
                         .relies = relies,
                         .extra = growth->extra,
                         .cursors_held = growth->holds_cursors};
}

bool spad__growth_shift(const spad__growth *growth, const spad_kernel *kernel, spad_expr expr,
                        bool param, int64_t loop, int64_t *shift) {
    spad__form form;
    *shift = 0;
    if (!spad__growth_form(growth, kernel, expr, param, loop, &form)) return false;
    *shift = form.constant;
    return form.count == 0;
}

bool spad__growth_form(const spad__growth *growth, const spad_kernel *kernel, spad_expr expr,
                       bool param, int64_t loop, spad__form *form) {
    int64_t period;
    return spad__growth_period(growth, kernel, expr, param, loop, form, &period) && period == 1;
}

bool spad__growth_period(const spad__growth *growth, const spad_kernel *kernel, spad_expr expr,
                         bool param, int64_t loop, spad__form *form, int64_t *period) {
    const spad__moves moves = spad__growth_moves(growth, kernel, param, loop, NULL);
    return spad__form_of(&moves, expr, form, period, NULL) == SPAD__EVEN;
}
