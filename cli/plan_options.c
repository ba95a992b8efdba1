/* SPDX-License-Identifier: Apache-2.0
 *
 * The two tables of `spad plan`: the kinds of input that an option applies to, and what an option
 * needs or excludes. An option in neither table goes with every input and every other option.
 * O(options x rows) string comparisons.
 */
#include "plan_options.h"

#include <stdio.h>
#include <string.h>

typedef struct applicability {
    const char *option;
    unsigned inputs;
} applicability;

static const applicability applicabilities[] = {
    {"--for", PLAN_KERNEL},
    {"--frontier", PLAN_KERNEL},
    {"--release", PLAN_KERNEL},
    {"--fix", PLAN_KERNEL},
    {"--steps", PLAN_KERNEL},
    {"--capacity", PLAN_ROWS | PLAN_SPACES},
    {"--end-exclusive", PLAN_ROWS | PLAN_SPACES},
    {"--space", PLAN_ROWS | PLAN_SPACES},
    {"--minimize", PLAN_ROWS | PLAN_SPACES},
    {"--previous", PLAN_ROWS},
    {"--count-moves", PLAN_ROWS},
    {"--reuse-steps", PLAN_ROWS},
    {"--reuse-cost", PLAN_ROWS},
    {"--slack", PLAN_ROWS},
    {"--arena", PLAN_MODEL},
    {"--alignment", PLAN_MODEL},
    {"--max-file", PLAN_MODEL},
    {"--no-views", PLAN_MODEL},
};

typedef enum relation { NEEDS, EXCLUDES } relation;

enum { OTHERS_MAX = 9, LIST_SIZE = 128 };

#define PICTURES "--report", "--svg", "--trace", "--data", "--text"

typedef struct option_rule {
    const char *option;
    relation relation;                  /* NEEDS: at least one of the others */
    const char *others[OTHERS_MAX + 1]; /* up to NULL */
    const char *hint;
} option_rule;

static const option_rule rules[] = {
    {"--frontier", EXCLUDES, {"-o", PICTURES}, "it shows several layouts; '--for' takes one"},
    {"--fix",
     EXCLUDES,
     {"--for", "--frontier", "--release", PICTURES},
     "it changes the kernel, and not the places of its tensors"},
    {"--progress", EXCLUDES, {"--for", "--frontier", "--fix"}, "it has nothing to report there"},
    {"--progress=json",
     EXCLUDES,
     {"--for", "--frontier", "--fix"},
     "it has nothing to report there"},
    {"--steps", NEEDS, {"--for", "--frontier", "--fix"}, "it is about simulated times"},
    {"--count-moves", NEEDS, {"--previous"}, "it counts the buffers that move"},
    {"--reuse-cost", NEEDS, {"--reuse-steps"}, "it is the cost of one such pair"},
};

/* True if the user gave the option. */
static bool is_given(const cli_option *options, const char *name) {
    for (; options->name != NULL; options++) {
        if (strcmp(options->name, name) != 0) continue;
        if (options->flag != NULL && *options->flag) return true;
        if (options->value != NULL && *options->value != NULL) return true;
        if (options->words != NULL && options->words->count > 0) return true;
    }
    return false;
}

static const char *applies_to(unsigned inputs) {
    switch (inputs) {
    case PLAN_KERNEL: return "kernels";
    case PLAN_ROWS: return "CSV files of one memory";
    case PLAN_MODEL: return "files of other compilers";
    default: return "CSV files";
    }
}

static const char *kind_of(plan_input input) {
    switch (input) {
    case PLAN_KERNEL: return "a kernel";
    case PLAN_ROWS: return "a CSV file of one memory";
    case PLAN_SPACES: return "a CSV file of several memories";
    default: return "a file of another compiler";
    }
}

static bool applies(const cli_option *options, plan_input input, const char *path) {
    for (size_t i = 0; i < sizeof applicabilities / sizeof *applicabilities; i++) {
        const applicability *a = &applicabilities[i];
        if ((a->inputs & input) != 0 || !is_given(options, a->option)) continue;
        cli_message("option '%s' is for %s, and '%s' is %s", a->option, applies_to(a->inputs),
                    cli_input_name(path), kind_of(input));
        return false;
    }
    return true;
}

/* The first of the others that was given; NULL: none. */
static const char *given_other(const cli_option *options, const option_rule *rule) {
    for (size_t i = 0; rule->others[i] != NULL; i++) {
        if (is_given(options, rule->others[i])) return rule->others[i];
    }
    return NULL;
}

/* "'--a', '--b' or '--c'". */
static const char *list_others(char list[LIST_SIZE], const option_rule *rule) {
    size_t used = 0;
    for (size_t i = 0; rule->others[i] != NULL && used < LIST_SIZE; i++) {
        const char *gap = i == 0 ? "" : rule->others[i + 1] != NULL ? ", " : " or ";
        used += (size_t)snprintf(list + used, LIST_SIZE - used, "%s'%s'", gap, rule->others[i]);
    }
    return list;
}

static bool keeps_rule(const cli_option *options, const option_rule *rule) {
    if (!is_given(options, rule->option)) return true;
    const char *other = given_other(options, rule);
    if (rule->relation == EXCLUDES && other != NULL) {
        cli_message("option '%s' does not go with '%s': %s", rule->option, other, rule->hint);
        return false;
    }
    if (rule->relation == NEEDS && other == NULL) {
        char list[LIST_SIZE];
        cli_message("option '%s' needs %s: %s", rule->option, list_others(list, rule), rule->hint);
        return false;
    }
    return true;
}

bool cli_plan_options_fit(const cli_option *options, plan_input input, const char *path) {
    if (!applies(options, input, path)) return false;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (!keeps_rule(options, &rules[i])) return false;
    }
    return true;
}
