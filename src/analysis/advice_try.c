/* SPDX-License-Identifier: Apache-2.0
 *
 * One changed kernel: it is analysed as a whole and compared with the one before. A change that
 * loses a part of the proof, adds a warning, takes more time, or does not give what its kind is for
 * is not kept.
 */
#include <string.h>

#include "analysis/advice.h"
#include "base/assert.h"
#include "sim/tune.h"
#include "spad/analysis.h"

const spad_kernel *spad__advice_kernel(const spad_advice *advice) {
    return advice->owned != NULL ? advice->owned : advice->given;
}

spad_status spad__advice_check_limit(spad_advice *advice, bool *over, spad_error *error) {
    const bool late = spad__limit_reached(&advice->limit);
    if (late && advice->limit.status == SPAD_ERR_CANCELLED) {
        *over = true;
        return spad__limit_fail(&advice->limit, advice->totals.trials, "trials", error);
    }
    *over = late || advice->totals.trials >= advice->options.trials_most;
    advice->totals.cut = advice->totals.cut || *over;
    return SPAD_OK;
}

/* ---- how good a kernel is ---------------------------------------------------------- */

static int verdict_strength(spad_verdict verdict) {
    switch (verdict) {
    case SPAD_VERDICT_PROVED_ALL: return 2;
    case SPAD_VERDICT_PROVED_SHAPE: return 1;
    default: return 0;
    }
}

static void describe_standing(const spad_analysis *analysis, spad__standing *out) {
    const spad_layout *layout = spad_analysis_get_layout(analysis);
    const spad_check *check = spad_analysis_get_check(analysis);
    const spad_sim *sim = spad_analysis_get_sim(analysis);
    if (!spad_analysis_is_fine(analysis)) return;
    spad__assert(layout != NULL && check != NULL && sim != NULL); /* none was left out, or failed */
    const spad_sim_totals totals = spad_sim_get_totals(sim);
    out->strength = verdict_strength(spad_check_get_verdict(check));
    out->fine = out->strength > 0;
    spad__copy_cut(out->reason, sizeof out->reason, spad_check_get_reason(check));
    out->warnings = spad_check_get_counts(check).warnings;
    out->simulated = totals;
    out->cost = (spad_advice_cost){.placed = spad__tune_placed(layout),
                                   .declared = spad__tune_bytes(spad_layout_get_kernel(layout)),
                                   .makespan = totals.makespan,
                                   .operations = totals.operations};
}

spad_status spad__advice_measure(const spad_advice *advice, const spad_kernel *kernel,
                                 spad__standing *out, spad_error *error) {
    const spad_analysis_options options = {.skip = 1u << SPAD_PART_FIT,
                                           .timeout_ns = spad__limit_left(&advice->limit),
                                           .watch = advice->limit.watch,
                                           .check = &(spad_check_options){.no_advice = true},
                                           .host = &advice->host};
    spad_analysis *analysis;
    *out = (spad__standing){0};
    const spad_status status = spad_analysis_create(&analysis, kernel, &options, error);
    if (status != SPAD_OK) return status;
    describe_standing(analysis, out);
    spad_analysis_destroy(analysis);
    return SPAD_OK;
}

/* Nothing is lost. A proof for all trip counts says for which: in the same words. */
static bool keeps_proof(const spad__standing *before, const spad__standing *after) {
    if (!after->fine || after->strength < before->strength) return false;
    if (before->strength == 2 && strcmp(before->reason, after->reason) != 0) return false;
    return after->warnings <= before->warnings && after->simulated.unit == before->simulated.unit &&
           after->cost.makespan <= before->cost.makespan;
}

/* A verdict that does not cover all trip counts is kept only if the changed kernel is also as right
 * as the given one where it could break first, and all such values could be tried. */
static spad_status keeps_shapes(spad_advice *a, const spad_kernel *changed,
                                spad__agreement *agreement, bool *kept, spad_error *error) {
    *kept = true;
    if (a->now.strength == 2) return SPAD_OK;
    const spad_status status =
        spad__compare_shapes(agreement, a->given, changed, &a->limit, &a->host, error);
    *kept = status == SPAD_OK && agreement->agrees && agreement->covers;
    return status;
}

/* What a change of a kind is for. */
static bool is_gain(spad_advice_kind kind, const spad_advice_cost *before,
                    const spad_advice_cost *after) {
    switch (kind) {
    case SPAD_ADVICE_LOAD: /* fewer transfers, and not for bytes alone */
        return after->makespan < before->makespan || after->placed <= before->placed;
    case SPAD_ADVICE_DEEPER: return after->makespan < before->makespan;
    case SPAD_ADVICE_SHORTER: return after->placed < before->placed;
    case SPAD_ADVICE_ALIAS:
        return after->declared < before->declared && after->placed <= before->placed;
    case SPAD_ADVICE_KINDS: break;
    }
    return false;
}

/* ---- keeping a change -------------------------------------------------------------- */

static spad_status keep_change(spad_advice *a, const spad_advice_change *change,
                               spad_error *error) {
    spad_advice_change kept = *change;
    kept.name = spad__arena_copy(&a->arena, change->name, strlen(change->name));
    kept.other = spad__arena_copy(&a->arena, change->other, strlen(change->other));
    kept.operation = spad__arena_copy(&a->arena, change->operation, strlen(change->operation));
    if (kept.name == NULL || kept.other == NULL || kept.operation == NULL ||
        !spad__array_reserve(&a->host, &a->changes, 1)) {
        return spad__fail_host_memory(error);
    }
    a->changes.items[a->changes.count++] = kept;
    return SPAD_OK;
}

spad_status spad__advice_try(spad_advice *advice, spad_kernel *changed,
                             const spad_advice_change *change, bool *taken, spad_error *error) {
    spad_advice_change filled = *change;
    spad__standing after = {0};
    spad__agreement agreement = {.agrees = true};
    bool over;
    *taken = false;
    spad_status status = spad__advice_check_limit(advice, &over, error);
    if (status == SPAD_OK && !over) {
        advice->totals.trials++;
        status = spad__advice_measure(advice, changed, &after, error);
        filled.before = advice->now.cost;
        filled.after = after.cost;
        *taken = status == SPAD_OK && keeps_proof(&advice->now, &after) &&
                 is_gain(change->kind, &filled.before, &filled.after);
    }
    if (*taken) status = keeps_shapes(advice, changed, &agreement, taken, error);
    if (*taken) status = keep_change(advice, &filled, error);
    if (status != SPAD_OK || !*taken) {
        *taken = false;
        spad_kernel_destroy(changed);
        return status;
    }
    spad_kernel_destroy(advice->owned);
    advice->owned = changed;
    advice->now = after;
    advice->agreement = agreement;
    advice->totals.shapes = (int64_t)agreement.shapes;
    return SPAD_OK;
}
