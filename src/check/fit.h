/* SPDX-License-Identifier: Apache-2.0
 *
 * Pieces of the text of a fit, for notes about an analysis.
 */
#ifndef SPAD_CHECK_FIT_H
#define SPAD_CHECK_FIT_H

#include "base/text.h"
#include "spad/fit.h"

/* How much too small a space is, then every change that makes it fit after a separator. */
void spad__fit_write_space(spad__out *out, const spad_fit *fit, const spad_layout *layout,
                           const spad_layout_space *row, const char *separator);

/* One change, without the bytes that it saves. */
void spad__fit_write_change(spad__out *out, const spad_fit_change *change);

#endif
