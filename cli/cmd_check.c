/* SPDX-License-Identifier: Apache-2.0
 *
 * spad check: is the memory of kernels right?
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

enum { VARY_MAX = 16, WAYS_MAX = 16 }; /* names after --vary; answers of data that are tried */

typedef struct check_words {
    cli_kernel_words kernel;
    cli_pictures pictures;
    const char *sarif;
    const char *timeout;
    int64_t timeout_ns; /* for each kernel; 0: none */
    const char *vary;   /* "S,R" */
    char *cut;          /* a copy of it, cut at the commas */
    const char *names[VARY_MAX];
    size_t name_count;
    bool json;
    bool no_advice;
    bool one_shape;
    bool all;
    bool fix;
    bool steps;
    const char *output; /* the changed kernel */
    const char *compiler_faults;
    const char *baseline;
    const char *new_baseline; /* to be written */
} check_words;

/* One kernel on the command line. */
typedef struct job {
    cli_kernel input;
    spad_analysis *analysis; /* NULL: the text cannot be read */
    spad_check *faults;      /* then: what is wrong with it; NULL: not even that is known */
    cli_policy policy;
} job;

static const spad_check *check_of(const job *j) {
    return j->analysis != NULL ? spad_analysis_get_check(j->analysis) : j->faults;
}

/* Checked with the places of the planner, where it has found some. A kernel that does not fit
 * is checked as if every slot had bytes of its own. */
static cli_exit run_job(job *j, const check_words *words) {
    const bool drawn = cli_wants_pictures(&words->pictures);
    const spad_check_options checks = {.no_advice = words->no_advice,
                                       .one_shape = words->one_shape,
                                       .vary = words->names,
                                       .vary_count = words->name_count,
                                       .finding_limit = words->all ? SIZE_MAX : 0,
                                       .policy = &j->policy.policy};
    const spad_analysis_options options = {.skip = 1u << SPAD_PART_SIM |
                                                   (drawn ? 0 : 1u << SPAD_PART_FIT),
                                           .timeout_ns = words->timeout_ns,
                                           .source = j->input.text.bytes,
                                           .source_length = j->input.text.length,
                                           .check = &checks};
    spad_error error;
    if (spad_analysis_create(&j->analysis, j->input.kernel, &options, &error) != SPAD_OK) {
        return cli_fail(&error);
    }
    const bool wrong = j->input.wrong > 0 || !spad_check_passes(check_of(j));
    return wrong ? CLI_FINDINGS : CLI_FINE;
}

static void end_job(job *j) {
    spad_analysis_destroy(j->analysis);
    spad_check_destroy(j->faults);
    cli_free_kernel(&j->input);
    cli_free_policy(&j->policy);
    *j = (job){0};
}

static cli_exit take_policy(job *j, const char *path, const check_words *words) {
    j->policy.compiler_faults = words->compiler_faults;
    j->policy.baseline = words->baseline;
    j->policy.has_baseline = words->new_baseline != NULL; /* all findings are to be written */
    return cli_take_policy(&j->policy, path);
}

/* The launch of a kernel with other answers where data decides; the first one with an error takes
 * the place of the job. Each place has one answer at all times, so this is a search, not a proof.
 */
static cli_exit try_other_ways(job *j, const char *path, const check_words *words) {
    const int32_t places = j->input.choices;
    const uint32_t ways = places < 4 ? 1u << places : WAYS_MAX;
    cli_exit exit = CLI_FINE;
    uint32_t way = 1;
    for (; way < ways && exit == CLI_FINE; way++) {
        check_words other = *words;
        spad_diagnostics *faults;
        job tried = {0};
        other.kernel.launch.way = way;
        exit = take_policy(&tried, path, words);
        faults = NULL;
        if (exit == CLI_FINE) exit = cli_read_or_faults(&tried.input, &faults, path, &other.kernel);
        if (exit == CLI_FINE) exit = run_job(&tried, &other);
        spad_diagnostics_destroy(faults);
        if (exit == CLI_FINDINGS) {
            end_job(j);
            *j = tried;
        } else {
            end_job(&tried);
        }
    }
    cli_message("%s: data decides at %d place%s: %s in the first %u combination%s of answers",
                cli_input_name(path), (int)places, places == 1 ? "" : "s",
                exit == CLI_FINE ? "no error" : "an error", (unsigned)way, way == 1 ? "" : "s");
    return exit;
}

/* Reads and checks; the check of a text that cannot be read has its faults. */
static cli_exit start_job(job *j, const char *path, const check_words *words) {
    spad_diagnostics *faults;
    spad_error error;
    cli_exit exit = take_policy(j, path, words);
    if (exit != CLI_FINE) return exit;
    exit = cli_read_or_faults(&j->input, &faults, path, &words->kernel);
    if (exit == CLI_FINE) {
        exit = run_job(j, words);
        const bool undecided = exit == CLI_FINE && j->input.choices > 0;
        return undecided ? try_other_ways(j, path, words) : exit;
    }
    if (faults != NULL && spad_check_create_from_faults(&j->faults, faults, cli_input_name(path),
                                                        NULL, &error) != SPAD_OK) {
        exit = cli_fail(&error);
    }
    spad_diagnostics_destroy(faults);
    return exit;
}

/* ---- output ------------------------------------------------------------------------ */

/* The faults of a text that cannot be read have been shown. */
static cli_exit show_text(const job *j, FILE *out) {
    if (j->input.kernel == NULL) return CLI_FINE;
    const spad_sink sink = cli_sink(out, false);
    spad_error error;
    const spad_status status = spad_check_write_text(
        check_of(j), j->input.kernel, j->input.text.bytes, j->input.text.length, &sink, &error);
    return status == SPAD_OK ? CLI_FINE : cli_fail(&error);
}

static spad_status write_checks(const spad_sink *sink, const void *context, spad_error *error) {
    const cli_checks *c = context;
    return spad_check_write_sarif(c->items, c->count, sink, error);
}

/* Files about all kernels together. */
static cli_exit write_files(const job *jobs, int count, const check_words *words) {
    if (words->sarif == NULL && words->new_baseline == NULL) return CLI_FINE;
    cli_checks c = {calloc((size_t)count, sizeof *c.items), 0};
    if (c.items == NULL) {
        cli_message("out of memory");
        return CLI_INTERNAL;
    }
    for (int i = 0; i < count; i++) {
        if (check_of(&jobs[i]) != NULL) c.items[c.count++] = check_of(&jobs[i]);
    }
    cli_exit exit = CLI_FINE;
    if (words->sarif != NULL) exit = cli_write_file(words->sarif, write_checks, &c);
    if (exit == CLI_FINE && words->new_baseline != NULL)
        exit = cli_write_baseline(words->new_baseline, &c);
    free(c.items);
    return exit;
}

static cli_exit worse_exit(cli_exit a, cli_exit b) {
    return a > b ? a : b;
}

/* Goes on after a bad file; the worst exit code wins. */
static cli_exit run_jobs(job *jobs, int count, char **paths, const check_words *words) {
    const bool quiet = words->sarif != NULL && strcmp(words->sarif, "-") == 0;
    cli_list list;
    cli_exit worst = CLI_FINE;
    if (words->json) cli_list_open(&list);
    for (int i = 0; i < count; i++) {
        worst = worse_exit(worst, start_job(&jobs[i], paths[i], words));
        const spad_check *check = check_of(&jobs[i]);
        if (check == NULL || quiet) continue;
        if (words->json) {
            spad_error error;
            cli_list_next(&list);
            if (spad_check_write_json(check, jobs[i].input.kernel, &list.items, &error) !=
                SPAD_OK) {
                worst = worse_exit(worst, cli_fail(&error));
            }
        } else {
            worst =
                worse_exit(worst, show_text(&jobs[i], cli_summary_file(&words->pictures, NULL)));
        }
    }
    if (words->json) cli_list_close(&list);
    for (int i = 0; i < count; i++) {
        if (jobs[i].analysis == NULL) continue;
        worst = worse_exit(worst, cli_draw_analysis(&words->pictures, jobs[i].analysis));
    }
    const cli_exit written = write_files(jobs, count, words);
    if (words->new_baseline != NULL && worst == CLI_FINDINGS) worst = CLI_FINE; /* all are known */
    return worse_exit(worst, written);
}

/* The names after --vary. */
static cli_exit cut_names(check_words *words) {
    if (words->vary == NULL) return CLI_FINE;
    words->cut = malloc(strlen(words->vary) + 1);
    if (words->cut == NULL) {
        cli_message("out of memory");
        return CLI_INTERNAL;
    }
    strcpy(words->cut, words->vary);
    for (char *name = words->cut; name != NULL;) {
        char *comma = strchr(name, ',');
        if (comma != NULL) *comma = '\0';
        if (name[0] == '\0' || words->name_count == VARY_MAX) {
            cli_message("option '--vary' needs up to %d names of parameters, such as S,R, not '%s'",
                        VARY_MAX, words->vary);
            return CLI_USAGE;
        }
        words->names[words->name_count++] = name;
        name = comma != NULL ? comma + 1 : NULL;
    }
    return CLI_FINE;
}

/* What does not go with changes of one kernel. */
static bool can_fix(const check_words *words, int count) {
    if (!words->fix && words->output == NULL && !words->steps) return true;
    if (!words->fix) {
        cli_message("options '-o' and '--steps' are for '--fix'");
        return false;
    }
    if (count != 1 || cli_wants_pictures(&words->pictures) || words->sarif != NULL ||
        words->vary != NULL || words->one_shape) {
        cli_message("option '--fix' is for one kernel, and not for '--sarif', '--vary', "
                    "'--one-shape' and pictures");
        return false;
    }
    return true;
}

static cli_exit fix_kernel(const char *path, const check_words *words) {
    cli_kernel input;
    cli_kernel_words kernel = words->kernel;
    kernel.json = words->json;
    const cli_exit exit = cli_read_kernel(&input, path, &kernel);
    if (exit != CLI_FINE) return exit;
    const spad_advice_options options = {.timeout_ns = words->timeout_ns, .steps = words->steps};
    const cli_exit fixed = cli_fix(&input, words->output, &options, words->json);
    cli_free_kernel(&input);
    return fixed;
}

static cli_exit run_check(const cli_command *command, int count, char **arguments) {
    check_words words = {0};
    const cli_option options[] = {CLI_KERNEL_OPTIONS(words.kernel),
                                  CLI_PICTURE_OPTIONS(words.pictures),
                                  {.name = "--json", .flag = &words.json},
                                  {.name = "--sarif", .value = &words.sarif},
                                  {.name = "--compiler-faults", .value = &words.compiler_faults},
                                  {.name = "--baseline", .value = &words.baseline},
                                  {.name = "--write-baseline", .value = &words.new_baseline},
                                  {.name = "--no-advice", .flag = &words.no_advice},
                                  {.name = "--one-shape", .flag = &words.one_shape},
                                  {.name = "--vary", .value = &words.vary},
                                  {.name = "--timeout", .value = &words.timeout},
                                  {.name = "--all", .flag = &words.all},
                                  {.name = "--fix", .flag = &words.fix},
                                  {.name = "--steps", .flag = &words.steps},
                                  {.name = "-o", .value = &words.output},
                                  {.name = "--output", .value = &words.output},
                                  {.name = NULL}};
    cli_exit exit;
    if (!cli_take_options(command, options, &count, arguments, &exit)) return exit;
    if (count == 0) {
        cli_message("a kernel file is needed; see 'spad check --help'");
        return CLI_USAGE;
    }
    if (count > 1 && cli_wants_pictures(&words.pictures)) {
        cli_message("a picture needs one kernel, and there are %d", count);
        return CLI_USAGE;
    }
    if (!cli_pictures_fit(&words.pictures, words.json, words.sarif)) return CLI_USAGE;
    if (words.timeout != NULL && !cli_take_seconds("--timeout", words.timeout, &words.timeout_ns)) {
        return CLI_USAGE;
    }
    words.kernel.launch.timeout_ns = words.timeout_ns;
    words.kernel.launch.calls = words.all;
    words.kernel.launch.checks = !words.fix;
    if (!can_fix(&words, count)) return CLI_USAGE;
    if (words.fix) return fix_kernel(arguments[0], &words);
    exit = cut_names(&words);
    job *jobs = calloc((size_t)count, sizeof *jobs);
    if (jobs == NULL || exit != CLI_FINE) {
        if (exit == CLI_FINE) cli_message("out of memory");
        free(jobs);
        free(words.cut);
        return exit != CLI_FINE ? exit : CLI_INTERNAL;
    }
    exit = run_jobs(jobs, count, arguments, &words);
    for (int i = 0; i < count; i++) end_job(&jobs[i]);
    free(jobs);
    free(words.cut);
    return exit;
}

const cli_command cli_check = {
    .name = "check",
    .about = "find memory errors in a kernel, or prove that there are none",
    .usage =
        "usage: spad check KERNEL.spad... [options]\n"
        "\n"
        "Finds accesses that break rules of the chip, read bytes that were not written or\n"
        "were overwritten, or race; waits that never end; and gives advice. '-' is stdin.\n"
        "\n" CLI_KERNEL_USAGE "  --no-advice               errors and warnings only\n"
        "  --one-shape               these values of the parameters only, no proof for all\n"
        "  --vary S,R                tries other values near these parameters, too: an error\n"
        "                            there is a warning\n"
        "  --all                     every finding, however many, not one for each cause; of a "
        "CUDA\n"
        "                            kernel also the calls\n"
        "                            that the line of a note was inlined into\n"
        "  --fix                     instead: changes that make it smaller or faster and keep\n"
        "                            its proof; -o OUT.spad writes the kernel with them\n"
        "  --steps                   for --fix: shortens rings even if costs are assumed\n"
        "  --timeout SECONDS         for each kernel; what was not checked is unknown; default 60\n"
        "  --json                    a list of results as JSON\n"
        "  --sarif OUT.sarif         for code-review tools (SARIF 2.1.0); '-' is "
        "stdout\n"
        "  --compiler-faults POLICY  error, warning or ignore: what known faults of the compiler\n"
        "                            do; default: an error where wrong results are known\n"
        "  --baseline FILE           findings in it are known, and neither shown nor counted\n"
        "  --write-baseline FILE     writes those that are shown now\n" CLI_PICTURE_USAGE "\n"
        "exit status: 0 no errors (or none found, if the verdict is unknown), 1 errors or a\n"
        "kernel that does not fit, 2 bad input, 3 the output could not be written;\n"
        "docs/findings.md explains every finding, docs/ci.md .spad.toml and baselines\n",
    .run = run_check};
