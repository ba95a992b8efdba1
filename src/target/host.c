/* SPDX-License-Identifier: Apache-2.0
 *
 * A machine without rules: one lane of memory, as long as it is needed, and one
 * processor. It is the target of plans that come as a list of lifetimes only.
 * Its numbers are ours, not a chip's.
 */
#include "target/builtin.h"

static const spad_space spaces[] = {
    {.name = "memory",
     .about = "plain memory",
     .lanes = 1,
     .bytes = SPAD_UNBOUNDED,
     .alignment = 1,
     .granule = 1},
};

static const spad_engine engines[] = {
    {.name = "cpu",
     .about = "runs everything",
     .count = 1,
     .reads = SPAD__SPACE(0),
     .writes = SPAD__SPACE(0)},
};

static const spad_target host_targets[] = {
    {
        .name = "host",
        .about = "generic memory without rules",
        .family = "host",
        .space_count = SPAD__COUNT(spaces),
        .spaces = spaces,
        .engine_count = SPAD__COUNT(engines),
        .engines = engines,
    },
};

const spad__target_list spad__targets_host = {SPAD__COUNT(host_targets), host_targets};
