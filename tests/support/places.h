/* SPDX-License-Identifier: Apache-2.0
 *
 * Layouts with places of a test's choice, wrong ones too: what a check says about them is the
 * point. */
#ifndef SPAD_TEST_PLACES_H
#define SPAD_TEST_PLACES_H

#include "spad/layout.h"

/* The place of a slot that the kernel leaves to the planner: fills in lane and byte of *rect, which
 * has the lanes and bytes of a tile. False: it has no place. */
typedef bool (*test_place)(void *context, int64_t tensor, int64_t slot, spad_rect *rect);

/* A layout with these places and nothing else: no spaces, no buffers. Made without the planner.
 * The kernel is borrowed; spad_layout_destroy. */
spad_layout *test_layout_with(const spad_kernel *kernel, test_place place, void *context);

#endif
