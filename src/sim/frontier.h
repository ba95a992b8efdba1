/* SPDX-License-Identifier: Apache-2.0
 *
 * A frontier from the inside: frontier.c searches, frontier_report.c shows.
 */
#ifndef SPAD_SIM_FRONTIER_H
#define SPAD_SIM_FRONTIER_H

#include "base/limit.h"
#include "base/memory.h"
#include "spad/experimental/frontier.h"

struct spad_frontier {
    spad_host host;
    const spad_kernel *given;
    spad_kernel *released; /* NULL: addresses are kept */
    spad_frontier_options options;
    spad__limit limit;
    SPAD_ARRAY(spad_layout *) layouts; /* of all that was tried and fits */
    SPAD_ARRAY(spad_frontier_point) points;
    spad_frontier_totals totals;
};

#endif
