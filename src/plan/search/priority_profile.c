/* SPDX-License-Identifier: Apache-2.0
 *
 * Weights of boxes after a profile; see priority_profile.h. */
#include "plan/search/priority_profile.h"

#include "base/random.h"
#include "plan/problem/units.h"

void spad__profile_weigh(const spad__profile *profile, const spad__boxes *boxes, uint64_t seed,
                         int32_t *weight) {
    spad__random random = {seed};
    for (int32_t i = 0; i < boxes->count; i++) {
        int64_t sum = (int64_t)profile->width * spad__log2(boxes->end[i] - boxes->begin[i]) +
                      (int64_t)profile->size * spad__log2(boxes->size[i]);
        sum /= 256;
        if (profile->noise > 0) sum += spad__random_in(&random, 0, profile->noise);
        weight[i] = (int32_t)sum;
    }
}
