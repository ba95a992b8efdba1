/* SPDX-License-Identifier: Apache-2.0
 *
 * Folds the straight kernel of a launch (kernel/fold), then looks for an argument that decides a
 * trip count: a number whose value is a multiple of one, or of one more. The launch is executed
 * with the next multiple of it and with a later one, and extents of tensors that are its value
 * follow. If all of these runs are the same loops, whose numbers follow from the argument, the
 * kernel has a parameter.
 *
 * That the program does the same for every other value is an assumption, which the kernel states
 * with the values that were executed. Those with 1 to SMALL_RUNS iterations are executed as well,
 * and the assumption begins after the last one that is another program. At most MOST_TRIES
 * arguments and multiples are tried.
 */
#include "frontend/ptx/ptx_fold.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/text.h"
#include "kernel/fold/fold_agents.h"

enum {
    MOST_TRIES = 6,
    FURTHER_RUNS = 2,
    SMALL_RUNS = 4,
    LABEL_MAX = 40,
    WORD_MAX = 80,
    ROOM_FOR_EXTENTS = 64
};

/* Further runs: so many multiples more than the first. Rings and unrolled loops then end at
 * different places. */
static const int64_t further[FURTHER_RUNS] = {1, 7};

/* An argument that is a number, and what a trip count more adds to it. */
typedef struct trip_argument {
    size_t index; /* of the launch's arguments */
    char label[LABEL_MAX];
    int64_t value;
    int64_t unit;
} trip_argument;

/* ---- arguments ------------------------------------------------------------------------- */

/* "steps=36": a label and a positive whole number. */
static bool read_number_argument(trip_argument *out, const char *word, size_t index) {
    const char *equal = strchr(word, '=');
    char *end;
    if (equal == NULL || (size_t)(equal - word) >= sizeof out->label) return false;
    if (equal[1] < '1' || equal[1] > '9') return false;
    errno = 0;
    out->value = strtoll(equal + 1, &end, 10);
    if (errno != 0 || *end != '\0' || out->value > INT32_MAX) return false;
    out->index = index;
    memcpy(out->label, word, (size_t)(equal - word));
    out->label[equal - word] = '\0';
    return true;
}

/* A label can name a parameter of a kernel. */
static bool is_parameter_name(const char *label) {
    if ((label[0] < 'a' || label[0] > 'z') && (label[0] < 'A' || label[0] > 'Z')) return false;
    for (const char *c = label; *c != '\0'; c++) {
        const bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');
        if (!letter && (*c < '0' || *c > '9') && *c != '_') return false;
    }
    return true;
}

typedef struct trip_tries {
    trip_argument items[MOST_TRIES];
    size_t count;
} trip_tries;

static void add_try(trip_tries *t, const trip_argument *argument, int64_t trips) {
    if (trips < 2 || argument->value % trips != 0 || t->count == MOST_TRIES) return;
    const int64_t unit = argument->value / trips;
    for (size_t i = 0; i < t->count; i++) {
        if (t->items[i].index == argument->index && t->items[i].unit == unit) return;
    }
    t->items[t->count] = *argument;
    t->items[t->count++].unit = unit;
}

/* A first iteration may stand before its loop, so one trip more counts as well. */
static void find_tries(trip_tries *t, const spad_ptx_launch *launch,
                       const spad__fold_result *folded) {
    for (size_t n = 0; n < folded->trip_count; n++) {
        for (size_t i = 0; i < launch->argument_count; i++) {
            trip_argument argument;
            if (!read_number_argument(&argument, launch->arguments[i], i)) continue;
            add_try(t, &argument, folded->trip_counts[n]);
            add_try(t, &argument, folded->trip_counts[n] + 1);
        }
    }
}

/* ---- further runs ---------------------------------------------------------------------- */

typedef struct further_runs {
    spad_kernel *kernels[FURTHER_RUNS];
    int64_t values[FURTHER_RUNS];
} further_runs;

static void free_further(further_runs *runs) {
    for (size_t i = 0; i < FURTHER_RUNS; i++) spad_kernel_destroy(runs->kernels[i]);
}

/* "bf16[64,36]" with 40 instead of 36: extents that are the value of the argument follow it. Boxes,
 * strides and contents stay. */
static char *follow_argument(const char *word, int64_t from, int64_t to, const spad_host *host) {
    const size_t size = strlen(word) + ROOM_FOR_EXTENTS;
    char *out = spad__new(host, size);
    size_t used = 0;
    bool extents = false, first = true;
    const char *at = word;
    while (out != NULL && *at != '\0') {
        const bool number = extents && *at >= '0' && *at <= '9';
        if (number) {
            char *end;
            const long long value = strtoll(at, &end, 10);
            used = spad__append(out, size, used, "%" PRId64, value == from ? to : (int64_t)value);
            at = end;
            continue;
        }
        if (*at == '[') {
            extents = first;
            first = false;
        } else if (*at == ']') {
            extents = false;
        }
        used = spad__append(out, size, used, "%c", *at++);
    }
    return out;
}

static void free_words(char **words, size_t count, const trip_argument *argument,
                       const spad_ptx_launch *launch, const spad_host *host) {
    for (size_t i = 0; words != NULL && i < count; i++) {
        const size_t size =
            i == argument->index ? WORD_MAX : strlen(launch->arguments[i]) + ROOM_FOR_EXTENTS;
        spad__free(host, words[i], words[i] != NULL ? size : 0);
    }
    spad__free(host, words, words != NULL ? count * sizeof *words : 0);
}

/* The arguments of a launch with another value of one. NULL: no memory. */
static char **words_with(const spad_ptx_launch *launch, const trip_argument *argument,
                         int64_t value, const spad_host *host) {
    const size_t count = launch->argument_count;
    char **words = spad__new_array(host, count, sizeof *words);
    bool fine = words != NULL;
    for (size_t i = 0; fine && i < count; i++) {
        if (i != argument->index) {
            words[i] = follow_argument(launch->arguments[i], argument->value, value, host);
        } else {
            words[i] = spad__new(host, WORD_MAX);
            if (words[i] != NULL)
                snprintf(words[i], WORD_MAX, "%s=%" PRId64, argument->label, value);
        }
        fine = words[i] != NULL;
    }
    if (fine) return words;
    free_words(words, count, argument, launch, host);
    return NULL;
}

/* The launch with another value of the argument. */
static spad_status execute_value(spad_kernel **out, const spad__ptx_fold_request *request,
                                 const trip_argument *argument, int64_t value,
                                 const spad_host *host, spad_error *error) {
    spad_ptx_launch launch = *request->launch;
    char **words = words_with(request->launch, argument, value, host);
    *out = NULL;
    if (words == NULL) return spad__fail_host_memory(error);
    launch.arguments = (const char *const *)words;
    const spad_status status =
        request->executor->run(request->executor->context, out, &launch, error);
    free_words(words, launch.argument_count, argument, request->launch, host);
    return status;
}

static spad_status execute_further(further_runs *runs, bool *all,
                                   const spad__ptx_fold_request *request,
                                   const trip_argument *argument, const spad_host *host,
                                   spad_error *error) {
    *all = false;
    for (size_t i = 0; i < FURTHER_RUNS; i++) {
        int64_t more;
        if (!spad__mul(argument->unit, further[i], &more) ||
            !spad__add(argument->value, more, &runs->values[i]) || runs->values[i] > INT32_MAX) {
            return SPAD_OK;
        }
        const spad_status status =
            execute_value(&runs->kernels[i], request, argument, runs->values[i], host, error);
        if (status != SPAD_OK || runs->kernels[i] == NULL) return status;
    }
    *all = true;
    return SPAD_OK;
}

/* ---- the parameter --------------------------------------------------------------------- */

/* Small trip counts, which need not be what the loops of many iterations are: which
 * of 1..SMALL_RUNS were executed and are the same loops. */
typedef struct small_runs {
    bool same[SMALL_RUNS + 1];
    int64_t least; /* from here on all of them */
} small_runs;

static spad_status execute_small(small_runs *out, const spad_kernel *folded,
                                 const spad__ptx_fold_request *request,
                                 const trip_argument *argument, const spad_host *host,
                                 spad_error *error) {
    const char *param = spad_kernel_get_param(folded, 0)->name;
    *out = (small_runs){.least = 1};
    for (int64_t n = 1; n <= SMALL_RUNS && n < argument->value / argument->unit; n++) {
        const spad_define define = {param, n};
        spad_kernel *kernel;
        spad_status status =
            execute_value(&kernel, request, argument, n * argument->unit, host, error);
        if (status == SPAD_OK && kernel != NULL)
            status = spad__fold_has_run(&out->same[n], folded, &define, kernel, error);
        spad_kernel_destroy(kernel);
        if (status != SPAD_OK) return status;
        if (!out->same[n]) out->least = n + 1;
    }
    return SPAD_OK;
}

/* "..., and 'K' is at least 128 and a multiple of 64, and for values other than 128, 192, 2304,
 * 2368 and 2752 the warps repeat the same iterations". */
static void write_fold_assumption(char *field, size_t size, const char *base,
                                  const trip_argument *argument, const further_runs *runs,
                                  const small_runs *small) {
    const int64_t unit = argument->unit, least = small->least * unit;
    size_t used = spad__append(field, size, 0, "%s, and '%s' is at least %" PRId64, base,
                               argument->label, least);
    if (unit > 1) used = spad__append(field, size, used, " and a multiple of %" PRId64, unit);
    used = spad__append(field, size, used, ", and for values other than ");
    for (int64_t n = small->least; n <= SMALL_RUNS; n++) {
        if (small->same[n]) used = spad__append(field, size, used, "%" PRId64 ", ", n * unit);
    }
    spad__append(field, size, used,
                 "%" PRId64 ", %" PRId64 " and %" PRId64 " the warps repeat the same iterations",
                 argument->value, runs->values[0], runs->values[1]);
}

static spad_status name_small_runs(spad_kernel *folded, const spad__ptx_fold_request *request,
                                   const trip_argument *argument, const further_runs *runs,
                                   const spad_host *host, spad_error *error) {
    char assumption[1024];
    small_runs small;
    const spad_status status = execute_small(&small, folded, request, argument, host, error);
    if (status != SPAD_OK) return status;
    write_fold_assumption(assumption, sizeof assumption, request->assumption, argument, runs,
                          &small);
    return spad__fold_assume(folded, assumption, error);
}

static spad_status fold_further(spad__fold_result *out, const spad__ptx_fold_request *request,
                                const trip_argument *argument, const further_runs *runs,
                                const spad_host *host, spad_error *error) {
    const int64_t unit = argument->unit;
    const bool named = unit == 1 && is_parameter_name(argument->label);
    spad__fold_request fold = {
        .kernels = {request->straight, runs->kernels[0], runs->kernels[1]},
        .values = {argument->value / unit, runs->values[0] / unit, runs->values[1] / unit},
        .count = 1 + FURTHER_RUNS,
        .param = named ? argument->label : "trips",
        .keeps_locations = true};
    const spad_status status = spad__fold_agents(out, &fold, host, error);
    if (status != SPAD_OK || out->kernel != NULL || !named) return status;
    fold.param = "trips"; /* the label may be a name of the kernel */
    return spad__fold_agents(out, &fold, host, error);
}

static spad_status try_argument(spad__fold_result *out, const spad__ptx_fold_request *request,
                                const trip_argument *argument, char *text, const spad_host *host,
                                spad_error *error) {
    further_runs runs = {.kernels = {NULL}};
    bool all;
    *out = (spad__fold_result){.refusal = SPAD__FOLD_DIFFERS};
    spad_status status = execute_further(&runs, &all, request, argument, host, error);
    if (status == SPAD_OK && all) status = fold_further(out, request, argument, &runs, host, error);
    if (status == SPAD_OK && out->kernel != NULL)
        status = name_small_runs(out->kernel, request, argument, &runs, host, error);
    if (status != SPAD_OK) {
        spad_kernel_destroy(out->kernel);
        out->kernel = NULL;
    } else if (out->kernel != NULL) {
        snprintf(text, SPAD__PTX_FOLDING_MAX,
                 "%" PRId64 " loops; the trip counts follow from argument '%s': launches with "
                 "%" PRId64 " and %" PRId64 " instead of %" PRId64 " repeat the same iterations",
                 out->loops, argument->label, runs.values[0], runs.values[1], argument->value);
    }
    free_further(&runs);
    return status;
}

static spad_status find_trip_parameter(spad_kernel **out, const spad__ptx_fold_request *request,
                                       const spad__fold_result *folded, char *text,
                                       const spad_host *host, spad_error *error) {
    trip_tries tries = {.count = 0};
    *out = NULL;
    if (request->repeatable) find_tries(&tries, request->launch, folded);
    for (size_t i = 0; i < tries.count; i++) {
        spad__fold_result result;
        const spad_status status =
            try_argument(&result, request, &tries.items[i], text, host, error);
        *out = result.kernel;
        if (status != SPAD_OK || result.kernel != NULL) return status;
    }
    return SPAD_OK;
}

/* ---- the call -------------------------------------------------------------------------- */

static const char *const refusals[] = {
    [SPAD__FOLDED] = "",
    [SPAD__FOLD_NOT_STRAIGHT] = "no loops: the kernel is not straight",
    [SPAD__FOLD_NO_LOOPS] = "no loops: no warp repeats anything three times",
    [SPAD__FOLD_NO_GROWTH] = "",
    [SPAD__FOLD_DIFFERS] = "",
    [SPAD__FOLD_NOT_EXACT] = "no loops: those found are not exactly what the warps did"};

spad_status spad__ptx_fold(spad__ptx_folded *out, const spad__ptx_fold_request *request,
                           const spad_host *host, spad_error *error) {
    const spad__fold_request alone = {
        .kernels = {request->straight}, .count = 1, .keeps_locations = true};
    spad__fold_result folded;
    spad_kernel *with_parameter;
    *out = (spad__ptx_folded){.kernel = NULL};
    spad_status status = spad__fold_agents(&folded, &alone, host, error);
    if (status != SPAD_OK) return status;
    snprintf(out->text, sizeof out->text, "%s", refusals[folded.refusal]);
    if (folded.kernel == NULL) return SPAD_OK;
    out->loops = folded.loops;
    snprintf(out->text, sizeof out->text,
             "%" PRId64 " loop%s; no argument is known to decide the trip counts", folded.loops,
             folded.loops == 1 ? "" : "s");
    status = find_trip_parameter(&with_parameter, request, &folded, out->text, host, error);
    if (status == SPAD_OK) out->kernel = with_parameter != NULL ? with_parameter : folded.kernel;
    if (out->kernel != folded.kernel) spad_kernel_destroy(folded.kernel);
    return status;
}
