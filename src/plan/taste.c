/* SPDX-License-Identifier: Apache-2.0
 *
 * Weights of boxes after a taste; see taste.h. */
#include "plan/taste.h"

#include "base/random.h"
#include "plan/units.h"

void spad__taste_weigh(const spad__taste *taste, const spad__boxes *boxes, uint64_t seed,
                       int32_t *weight) {
    spad__random random = {seed};
    for (int32_t i = 0; i < boxes->count; i++) {
        int64_t sum = (int64_t)taste->width * spad__log2(boxes->end[i] - boxes->begin[i]) +
                      (int64_t)taste->size * spad__log2(boxes->size[i]);
        sum /= 256;
        if (taste->noise > 0) sum += spad__random_in(&random, 0, taste->noise);
        weight[i] = (int32_t)sum;
    }
}
