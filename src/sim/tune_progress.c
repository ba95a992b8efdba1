/* SPDX-License-Identifier: Apache-2.0
 *
 * How far a search of the tuner has come, and a cancellation by the caller. Simulations, checks and
 * layouts of a search all ask its watch, so that is where progress is reported.
 */
#include "base/checked.h"
#include "sim/tune.h"

enum { TUNE_PROGRESS_NS = 100000000 };

static int64_t fastest(const spad_tune *tune) {
    int64_t least = SPAD_UNBOUNDED;
    for (size_t i = 0; i < tune->looked.count; i++) {
        least = spad__min(least, tune->looked.items[i].makespan);
    }
    return least;
}

static void report_tune(spad_tune *tune) {
    const int64_t now = spad__clock();
    if (now < tune->reports) return;
    tune->reports = now + TUNE_PROGRESS_NS;
    const spad_tune_progress progress = {.nanoseconds = now - tune->started,
                                         .simulations = tune->totals.simulations,
                                         .makespan = fastest(tune),
                                         .bound = tune->totals.bound};
    if (tune->options.progress(tune->options.context, &progress) == 0) return;
    tune->limit.deadline = now;
    tune->reports = INT64_MAX;
}

static int watch_tune(void *context) {
    spad_tune *tune = context;
    const spad_watch *given = &tune->options.watch;
    if (given->cancel != NULL && given->cancel(given->context) != 0) return 1;
    if (tune->options.progress != NULL) report_tune(tune);
    return 0;
}

spad_watch spad__tune_watch(spad_tune *tune) {
    const bool watched = tune->options.watch.cancel != NULL || tune->options.progress != NULL;
    if (tune->options.progress != NULL) tune->started = spad__clock();
    return watched ? (spad_watch){.cancel = watch_tune, .context = tune} : (spad_watch){0};
}
