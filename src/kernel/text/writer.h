/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel writer from the inside.
 */
#ifndef SPAD_KERNEL_TEXT_WRITER_H
#define SPAD_KERNEL_TEXT_WRITER_H

#include "kernel/kernel.h"

/* Gives the rows of a straight kernel or one with loops, as folding makes them, the places that
 * they have in its text. The content hash follows. */
spad_status spad__locate_in_text(spad_kernel *kernel, spad_error *error);

#endif
