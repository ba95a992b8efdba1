/* SPDX-License-Identifier: Apache-2.0
 *
 * spad plan K.spad: the whole street for a kernel: read, place what is left to the
 * planner, check, simulate, and say how it stands.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>

#include "cli.h"
#include "plan_kernel.h"

/* What is known about a kernel at the end of the street. */
typedef struct street {
    const cli_kernel *input;
    int64_t timeout_ns; /* for all of it; 0: none */
    int64_t started;
    spad_layout *layout;
    spad_check *check;
    spad_sim *sim;          /* NULL: it cannot be run */
    spad_error unsimulated; /* why not */
} street;

/* "name on target (N = 8, S = 3): " */
static void print_head(FILE *out, const spad_kernel *kernel) {
    cli_print(out, "%s on %s", spad_kernel_name(kernel), spad_kernel_target(kernel)->name);
    const size_t count = spad_kernel_param_count(kernel);
    for (size_t i = 0; i < count; i++) {
        const spad_kernel_param *param = spad_kernel_get_param(kernel, i);
        cli_print(out, "%s%s = %lld", i == 0 ? " (" : ", ", param->name, (long long)param->value);
    }
    fputs(count > 0 ? "): " : ": ", out);
}

static void print_summary(FILE *out, const street *k) {
    print_head(out, k->input->kernel);
    fprintf(out, "%s, %s\n", spad_layout_fits(k->layout) ? "fits" : "does not fit",
            spad_verdict_name(spad_check_verdict(k->check)));
}

/* "engines: tensor 82.1 %, vector 40.0 % busy in 12.345 us" */
static void print_engines(FILE *out, const street *k) {
    if (k->sim == NULL) {
        fprintf(out, "engines: not simulated: %s\n", k->unsimulated.message);
        return;
    }
    const spad_target *target = spad_kernel_target(k->input->kernel);
    const spad_sim_totals totals = spad_sim_get_totals(k->sim);
    char time[SPAD_TIME_TEXT];
    const char *comma = "engines: ";
    for (size_t i = 0; i < target->engine_count; i++) {
        const spad_sim_engine engine = spad_sim_get_engine(k->sim, i);
        if (engine.operations == 0 || totals.makespan < 1000) continue;
        const double part = (double)engine.busy / (double)totals.makespan;
        const long long share = (long long)(part * 1000.0);
        cli_print(out, "%s%s %lld.%lld %%", comma, target->engines[i].name, share / 10, share % 10);
        comma = ", ";
    }
    if (comma[0] == 'e') return; /* nothing ran */
    fprintf(out, " busy in %s", spad_time_text(totals.makespan, time));
    if (totals.unknown > 0) {
        fprintf(out, ", with %s for %s%lld operations of unknown cost",
                spad_time_text(SPAD_SIM_UNKNOWN, time),
                totals.unknown == totals.operations ? "all " : "", (long long)totals.unknown);
    }
    fputc('\n', out);
    if (spad_sim_stuck(k->sim) == NULL) return;
    cli_print(out, "stuck: %s", spad_sim_stuck(k->sim));
    fputc('\n', out);
}

static void print_engines_json(const street *k) {
    if (k->sim == NULL) {
        fputs("null", stdout);
        return;
    }
    const spad_target *target = spad_kernel_target(k->input->kernel);
    const spad_sim_totals totals = spad_sim_get_totals(k->sim);
    printf("{\n    \"makespan_ps\": %lld,\n    \"operations\": %lld,\n    \"unknown\": %lld",
           (long long)totals.makespan, (long long)totals.operations, (long long)totals.unknown);
    fputs(",\n    \"busy_ps\": {", stdout);
    const char *comma = "";
    for (size_t i = 0; i < target->engine_count; i++) {
        const spad_sim_engine engine = spad_sim_get_engine(k->sim, i);
        if (engine.operations == 0) continue;
        printf("%s\n      \"%s\": %lld", comma, target->engines[i].name, (long long)engine.busy);
        comma = ",";
    }
    printf("%s}\n  }", comma[0] == ',' ? "\n    " : "");
}

static spad_status write_placements(const spad_sink *sink, const void *layout, spad_error *error) {
    return spad_layout_write_csv(layout, sink, error);
}

static cli_exit show_json(const street *k) {
    cli_list object;
    spad_error error;
    cli_object_open(&object);
    cli_object_key(&object, "layout");
    spad_status status = spad_layout_write_json(k->layout, &object.items, &error);
    cli_object_key(&object, "check");
    if (status == SPAD_OK) {
        status = spad_check_write_json(k->check, k->input->kernel, &object.items, &error);
    }
    cli_object_key(&object, "engines");
    print_engines_json(k);
    cli_object_close(&object);
    return status == SPAD_OK ? CLI_FINE : cli_fail(&error);
}

static cli_exit show_text(FILE *out, const street *k) {
    const spad_sink sink = spad_sink_file(out);
    const cli_text *text = &k->input->text;
    spad_error error;
    print_summary(out, k);
    spad_status status = spad_layout_write_text(k->layout, &sink, &error);
    print_engines(out, k);
    if (status == SPAD_OK) {
        status = spad_check_write_text(k->check, k->input->kernel, text->bytes, text->length, &sink,
                                       &error);
    }
    return status == SPAD_OK ? CLI_FINE : cli_fail(&error);
}

static cli_exit show(const street *k, const plan_kernel_words *words) {
    cli_exit exit = CLI_FINE;
    if (words->output != NULL && spad_layout_fits(k->layout)) {
        exit = cli_write_file(words->output, write_placements, k->layout);
    }
    if (exit != CLI_FINE) return exit;
    return words->json ? show_json(k)
                       : show_text(cli_summary_file(&words->pictures, words->output), k);
}

/* Checks and simulates with the places that were found, in the time that is left. What cannot be
 * simulated (too long, an index that leaves its tensor) has no engines. */
static cli_exit go_on(street *k) {
    const spad_check_options check = {.place = spad_layout_place,
                                      .ctx = k->layout,
                                      .timeout_ns = cli_time_left(k->timeout_ns, k->started)};
    spad_sim_options sim = {.place = spad_layout_place, .ctx = k->layout};
    spad_error error;
    if (spad_check_kernel(&k->check, k->input->kernel, &check, &error) != SPAD_OK) {
        return cli_fail(&error);
    }
    if (spad_check_add_layout(k->check, k->layout, &error) != SPAD_OK) return cli_fail(&error);
    sim.timeout_ns = cli_time_left(k->timeout_ns, k->started);
    const spad_status status = spad_sim_kernel(&k->sim, k->input->kernel, &sim, &k->unsimulated);
    return status <= SPAD_ERR_HOST_MEMORY ? cli_fail(&k->unsimulated) : CLI_FINE;
}

cli_exit cli_plan_kernel(const cli_kernel *input, const plan_kernel_words *words) {
    street k = {.input = input, .timeout_ns = words->layout.timeout_ns, .started = cli_clock()};
    spad_error error;
    if (spad_layout_create(&k.layout, input->kernel, &words->layout, &error) != SPAD_OK) {
        return cli_fail_kernel(&error, input->path, words->json);
    }
    cli_exit exit = go_on(&k);
    if (exit == CLI_FINE) exit = show(&k, words);
    if (exit == CLI_FINE) exit = cli_draw_kernel(&words->pictures, input, k.layout, k.check, true);
    if (exit == CLI_FINE && spad_check_get_counts(k.check).errors > 0) exit = CLI_FINDINGS;
    spad_sim_destroy(k.sim);
    spad_check_destroy(k.check);
    spad_layout_destroy(k.layout);
    return exit;
}
