/* SPDX-License-Identifier: Apache-2.0
 *
 * One analysis: layout, then check and simulation with its places, then what would make
 * it fit. The order is that of the data: each part reads only what earlier parts made, so
 * each is computed once.
 *
 * A part may fail although nothing is wrong with the call (an index leaves its tensor, a
 * run is too long to simulate). Then the part is missing, its fault is kept, and the others
 * continue. Only a failure of the machine, such as no host memory, or bad options fail the
 * call.
 */
#include "analysis/analysis.h"
#include "sim/sim_report.h"
#include "spad/experimental/analysis_notes.h"
#include "spad/experimental/kernel_rows.h"

#include <string.h>

#include "base/error.h"
#include "base/limit.h"
#include "base/options.h"
#include "check/dead_work.h"
#include "check/passes.h"
#include "kernel/origin.h"
#include "sim/sim.h"
#include "spad/experimental/fit.h"
#include "spad/experimental/sim.h"
#include "verify/verify.h"

/* What an analysis is made with. */
typedef struct job {
    spad_analysis *made;
    spad_analysis_options options;
    spad_layout_options layout; /* the options of the parts: copies of the caller's */
    spad_check_options check;
    spad_sim_options sim;
    spad_fit_options fit;
    spad__limit limit; /* of all parts together */
} job;

/* Is a part to be made? `made`: the caller has it. */
static bool is_wanted(const job *j, spad_analysis_part part, const void *made) {
    return (j->options.skip & 1u << part) == 0 && made == NULL;
}

/* The time limit of a part: its own, cut to what is left of that of all parts. */
static int64_t time_for(const job *j, int64_t own) {
    const int64_t left = spad__limit_left(&j->limit);
    return left == 0 || (own > 0 && own < left) ? own : left;
}

/* A fault of the kernel belongs to the analysis; one of the machine, or the caller, ends it. */
static spad_status keep_fault(job *j, spad_analysis_part part, const spad_error *fault,
                              spad_error *error) {
    if (fault->code <= SPAD_ERR_HOST_MEMORY || fault->code == SPAD_ERR_CANCELLED) {
        if (error != NULL) *error = *fault;
        return fault->code;
    }
    j->made->faults[part] = *fault;
    return SPAD_OK;
}

/* ---- parts ------------------------------------------------------------------------- */

/* The parts that the caller has; they must be of this kernel. */
static spad_status take_parts(job *j, spad_error *error) {
    const spad_analysis_options *o = &j->options;
    const spad_kernel *kernel = j->made->kernel;
    const char *word = o->made_layout != NULL ? "layout" : "kernel"; /* the others belong to it */
    spad_status status = SPAD_OK;
    if (o->made_layout != NULL) {
        status = spad__match_kernels("kernel", kernel, "layout",
                                     spad_layout_get_kernel(o->made_layout), error);
    }
    if (status == SPAD_OK && o->made_sim != NULL) {
        status = spad__match_kernels(word, kernel, "simulation", o->made_sim->kernel, error);
    }
    if (status == SPAD_OK && o->made_check != NULL) {
        const spad__origin origin = spad__origin_of(kernel);
        status = spad__match_origins(word, &origin, "check", &o->made_check->origin, error);
    }
    if (status != SPAD_OK) return status;
    j->made->layout = o->made_layout;
    j->made->check = o->made_check;
    j->made->sim = o->made_sim;
    return SPAD_OK;
}

static spad_check_options options_of_check(const job *j) {
    spad_check_options options = j->check;
    options.host = &j->made->host;
    options.watch = j->options.watch;
    options.timeout_ns = time_for(j, options.timeout_ns);
    options.layout = j->made->layout;
    return options;
}

/* The check that proves a layout is the check of the analysis. */
static spad_status lay_out(job *j, spad_error *error) {
    spad_layout_options options = j->layout;
    spad_error fault;
    if (!is_wanted(j, SPAD_PART_LAYOUT, j->made->layout)) return SPAD_OK;
    options.host = &j->made->host;
    options.watch = j->options.watch;
    options.timeout_ns = time_for(j, options.timeout_ns);
    const spad_check_options checks = options_of_check(j);
    if (spad_layout_create_checked(&j->made->own_layout, &j->made->own_check, j->made->kernel,
                                   &options, &checks, &fault) != SPAD_OK) {
        return keep_fault(j, SPAD_PART_LAYOUT, &fault, error);
    }
    j->made->layout = j->made->own_layout;
    return SPAD_OK;
}

/* What the layout found is a finding as well. Why there is no layout, the check says better
 * where it has found an error itself. */
static spad_status add_layout(job *j, spad_error *error) {
    spad_analysis *made = j->made;
    const spad_error *fault = &made->faults[SPAD_PART_LAYOUT];
    if (made->layout != NULL) return spad__check_add_layout(made->own_check, made->layout, error);
    if (fault->code == SPAD_OK || spad_check_get_verdict(made->check) == SPAD_VERDICT_WRONG)
        return SPAD_OK;
    return spad__check_add_fault(made->own_check, fault, error);
}

static spad_status check(job *j, spad_error *error) {
    if (!is_wanted(j, SPAD_PART_CHECK, j->made->check)) return SPAD_OK;
    if (j->made->own_check == NULL) {
        const spad_check_options options = options_of_check(j);
        const spad_status status =
            spad_check_create(&j->made->own_check, j->made->kernel, &options, error);
        if (status != SPAD_OK) return status;
    }
    j->made->check = j->made->own_check;
    return add_layout(j, error);
}

static spad_status simulate_kernel(job *j, spad_error *error) {
    spad_sim_options options = j->sim;
    spad_error fault;
    if (!is_wanted(j, SPAD_PART_SIM, j->made->sim)) return SPAD_OK;
    options.host = &j->made->host;
    options.watch = j->options.watch;
    options.timeout_ns = time_for(j, options.timeout_ns);
    options.layout = j->made->layout;
    if (options.repeat_after == 0) options.repeat_after = SPAD_ANALYSIS_REPEAT_AFTER;
    if (spad_sim_create(&j->made->own_sim, j->made->kernel, &options, &fault) != SPAD_OK) {
        return keep_fault(j, SPAD_PART_SIM, &fault, error);
    }
    j->made->sim = j->made->own_sim;
    return SPAD_OK;
}

/* How long would it take if no tensors shared bytes? Only without synchronisation does sharing add
 * waits: with it, tensors share bytes where the kernel orders them already. */
static spad_status simulate_apart(job *j, spad_error *error) {
    spad_sim_options options = j->sim;
    spad_sim *sim;
    spad_error fault;
    if (j->made->own_sim == NULL || j->made->layout == NULL ||
        spad_sim_get_stuck(j->made->sim) != NULL) {
        return SPAD_OK;
    }
    if (!spad_kernel_is_implicit(j->made->kernel)) {
        j->made->apart = spad_sim_get_totals(j->made->sim).makespan;
        return SPAD_OK;
    }
    options.host = &j->made->host;
    options.watch = j->options.watch;
    options.timeout_ns = time_for(j, options.timeout_ns);
    options.layout = NULL;
    const spad_status status = spad_sim_create(&sim, j->made->kernel, &options, &fault);
    if (status == SPAD_ERR_HOST_MEMORY || status == SPAD_ERR_CANCELLED) {
        if (error != NULL) *error = fault;
        return status;
    }
    if (status == SPAD_OK) j->made->apart = spad_sim_get_totals(sim).makespan;
    spad_sim_destroy(sim);
    return SPAD_OK;
}

typedef struct statement_times {
    const spad_sim *sim;
    char field[SPAD_TIME_TEXT];
} statement_times;

/* The first execution of a statement in the simulation. */
static const char *time_of_statement(void *context, int64_t statement) {
    statement_times *t = context;
    const spad_sim_totals totals = spad_sim_get_totals(t->sim);
    if (totals.unit != SPAD_TIME_REAL && totals.unit != SPAD_TIME_CYCLES) return NULL;
    for (size_t i = 0; i < spad__sim_row_count(t->sim); i++) {
        const spad__sim_row row = spad__sim_get_row(t->sim, i);
        if (row.statement == statement)
            return spad_time_unit_text(totals.unit, row.end - row.start, t->field);
    }
    return NULL;
}

/* What work costs of which nothing is used. */
static void add_wasted_times(job *j) {
    statement_times times = {.sim = j->made->own_sim};
    if (j->made->own_check == NULL || times.sim == NULL) return;
    spad__wasted_add_times(j->made->own_check, time_of_statement, &times);
}

static spad_status find_fit_changes(job *j, spad_error *error) {
    spad_fit_options options = j->fit;
    const spad_layout *layout = j->made->layout;
    if (!is_wanted(j, SPAD_PART_FIT, NULL) || layout == NULL) return SPAD_OK;
    options.host = &j->made->host;
    options.watch = j->options.watch;
    return spad_fit_create(&j->made->fit, layout, &options, error);
}

/* ---- notes ------------------------------------------------------------------------- */

static void add_note(spad_analysis *made, spad_analysis_note_code code,
                     const spad_layout_space *space) {
    made->notes.items[made->notes.count++] = (spad_analysis_note){.code = code, .space = space};
}

/* One note of a kind for each space that is too small. */
static void add_space_notes(spad_analysis *made, spad_analysis_note_code code) {
    for (size_t i = 0; i < spad_layout_space_count(made->layout); i++) {
        const spad_layout_space *row = spad_layout_get_space(made->layout, i);
        if (!spad__space_fits(row)) add_note(made, code, row);
    }
}

static spad_status add_notes(job *j, spad_error *error) {
    spad_analysis *made = j->made;
    const bool unfit = made->layout != NULL && !spad_layout_fits(made->layout);
    const size_t spaces = unfit ? spad_layout_space_count(made->layout) : 0;
    if (!spad__array_reserve(&made->host, &made->notes, 2 + 2 * spaces)) {
        return spad__fail_host_memory(error);
    }
    if (unfit) {
        add_note(made, SPAD_ANALYSIS_DOES_NOT_FIT, NULL);
        if (made->fit != NULL) add_space_notes(made, SPAD_ANALYSIS_TOO_SMALL);
        add_space_notes(made, SPAD_ANALYSIS_PEAK);
    }
    if (made->check != NULL) add_note(made, SPAD_ANALYSIS_VERDICT, NULL);
    return SPAD_OK;
}

/* ---- all --------------------------------------------------------------------------- */

static spad_status take_analysis_options(job *j, const spad_analysis_options *options,
                                         spad_error *error) {
    spad_status status = SPAD__COPY_OPTIONS(&j->options, options, error);
    if (status == SPAD_OK) status = SPAD__COPY_OPTIONS(&j->layout, j->options.layout, error);
    if (status == SPAD_OK) status = SPAD__COPY_OPTIONS(&j->check, j->options.check, error);
    if (status != SPAD_OK) return status;
    if (j->options.sim != NULL) j->sim = *j->options.sim;
    if (j->options.fit != NULL) j->fit = *j->options.fit;
    return spad__limit_start(&j->limit, j->options.timeout_ns, j->options.watch, error);
}

spad_status spad_analysis_create(spad_analysis **out, const spad_kernel *kernel,
                                 const spad_analysis_options *options, spad_error *error) {
    job j = {0};
    *out = NULL;
    spad_status status = take_analysis_options(&j, options, error);
    if (status != SPAD_OK) return status;
    const spad_host host = spad__host_or_default(j.options.host);
    j.made = spad__new(&host, sizeof *j.made);
    if (j.made == NULL) return spad__fail_host_memory(error);
    j.made->host = host;
    j.made->kernel = kernel;
    j.made->apart = SPAD_UNBOUNDED;
    j.made->source = j.options.source;
    j.made->source_length = j.options.source != NULL ? j.options.source_length : 0;
    status = take_parts(&j, error);
    if (status == SPAD_OK) status = lay_out(&j, error);
    if (status == SPAD_OK) status = check(&j, error);
    if (status == SPAD_OK) status = simulate_kernel(&j, error);
    if (status == SPAD_OK) status = simulate_apart(&j, error);
    if (status == SPAD_OK) add_wasted_times(&j);
    if (status == SPAD_OK) status = find_fit_changes(&j, error);
    if (status == SPAD_OK) status = add_notes(&j, error);
    if (status != SPAD_OK) {
        spad_analysis_destroy(j.made);
        return status;
    }
    *out = j.made;
    return SPAD_OK;
}

void spad_analysis_destroy(spad_analysis *analysis) {
    if (analysis == NULL) return;
    const spad_host host = analysis->host;
    spad_fit_destroy(analysis->fit);
    spad_sim_destroy(analysis->own_sim);
    spad_check_destroy(analysis->own_check);
    spad_layout_destroy(analysis->own_layout);
    spad__array_free(&host, &analysis->notes);
    spad__free(&host, analysis, sizeof *analysis);
}

/* ---- questions --------------------------------------------------------------------- */

const spad_kernel *spad_analysis_get_kernel(const spad_analysis *analysis) {
    return analysis->kernel;
}

const spad_layout *spad_analysis_get_layout(const spad_analysis *analysis) {
    return analysis->layout;
}

const spad_check *spad_analysis_get_check(const spad_analysis *analysis) {
    return analysis->check;
}

const spad_sim *spad_analysis_get_sim(const spad_analysis *analysis) {
    return analysis->sim;
}

int64_t spad_analysis_get_apart(const spad_analysis *analysis) {
    return analysis->apart;
}

const spad_fit *spad_analysis_get_fit(const spad_analysis *analysis) {
    return analysis->fit;
}

const spad_error *spad_analysis_get_fault(const spad_analysis *analysis, spad_analysis_part part) {
    const bool known = (unsigned)part < SPAD_PARTS;
    return known && analysis->faults[part].code != SPAD_OK ? &analysis->faults[part] : NULL;
}

bool spad_analysis_is_fine(const spad_analysis *analysis) {
    for (int i = 0; i < SPAD_PARTS; i++) {
        if (analysis->faults[i].code != SPAD_OK) return false;
    }
    return (analysis->layout == NULL || spad_layout_fits(analysis->layout)) &&
           (analysis->check == NULL ||
            spad_check_get_verdict(analysis->check) != SPAD_VERDICT_WRONG) &&
           (analysis->sim == NULL || spad_sim_get_stuck(analysis->sim) == NULL);
}

size_t spad_analysis_note_count(const spad_analysis *analysis) {
    return analysis->notes.count;
}

const spad_analysis_note *spad_analysis_get_note(const spad_analysis *analysis, size_t number) {
    return number < analysis->notes.count ? &analysis->notes.items[number] : NULL;
}
