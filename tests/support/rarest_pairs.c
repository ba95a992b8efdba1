/* SPDX-License-Identifier: Apache-2.0 */
#include "support/rarest_pairs.h"

#include <stdio.h>

void write_rarest_pairs(const char *heading, const char *const *names, int count, pair_count *met,
                        const void *context) {
    printf("| %s | rarest with | together |\n|---|---|---:|\n", heading);
    for (int a = 0; a < count; a++) {
        int rarest = -1;
        int64_t least = INT64_MAX;
        for (int b = 0; b < count; b++) {
            const int64_t together = b == a ? -1 : met(a, b, context);
            if (together < 0 || together >= least) continue;
            least = together;
            rarest = b;
        }
        if (rarest >= 0) printf("| %s | %s | %lld |\n", names[a], names[rarest], (long long)least);
    }
}
