/* SPDX-License-Identifier: Apache-2.0
 *
 * spad fit: does a kernel fit, and if not, what is the smallest change? And would two
 * kernels fit together?
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"

typedef struct fit_words {
    cli_kernel_words kernel;
    const char *timeout;
} fit_words;

/* The layout of a kernel, and what would make it fit unless that is to be skipped. */
static cli_exit analyse(spad_analysis **out, const cli_kernel *input, const fit_words *words,
                        unsigned skip) {
    spad_layout_options layouts = {0};
    const spad_analysis_options options = {
        .skip = skip | 1u << SPAD_PART_CHECK | 1u << SPAD_PART_SIM, .layout = &layouts};
    spad_error error;
    if (words->timeout != NULL &&
        !cli_take_seconds("--timeout", words->timeout, &layouts.timeout_ns)) {
        return CLI_USAGE;
    }
    if (spad_analysis_create(out, input->kernel, &options, &error) != SPAD_OK) {
        return cli_fail(&error);
    }
    const spad_error *fault = spad_analysis_get_fault(*out, SPAD_PART_LAYOUT);
    return fault == NULL ? CLI_FINE : cli_fail_kernel(fault, input->path, words->kernel.json);
}

/* ---- one kernel -------------------------------------------------------------------- */

static cli_exit show(const spad_analysis *analysis, bool json) {
    const spad_layout *layout = spad_analysis_get_layout(analysis);
    const spad_fit *fit = spad_analysis_get_fit(analysis);
    const spad_sink sink = cli_sink(stdout, json);
    spad_status status;
    spad_error error;
    if (json) {
        cli_list object;
        cli_object_open(&object);
        cli_object_key(&object, "layout");
        status = spad_layout_write(layout, SPAD_FORMAT_JSON, &object.items, &error);
        cli_object_key(&object, "occupancy");
        if (status == SPAD_OK) {
            status = spad_occupancy_write_json(spad_layout_get_kernel(layout), layout,
                                               &object.items, &error);
        }
        cli_object_key(&object, "changes");
        if (status == SPAD_OK)
            status = spad_fit_write(fit, layout, SPAD_FORMAT_JSON, &object.items, &error);
        cli_object_close(&object);
    } else {
        status = spad_layout_write(layout, SPAD_FORMAT_TABLE, &sink, &error);
        if (status == SPAD_OK) {
            status =
                spad_occupancy_write_text(spad_layout_get_kernel(layout), layout, &sink, &error);
        }
        if (status == SPAD_OK)
            status = spad_fit_write(fit, layout, SPAD_FORMAT_TEXT, &sink, &error);
    }
    return status == SPAD_OK ? CLI_FINE : cli_fail(&error);
}

static cli_exit fit_one(const char *path, const fit_words *words) {
    cli_kernel input;
    spad_analysis *analysis = NULL;
    cli_exit exit = cli_read_kernel(&input, path, &words->kernel);
    if (exit == CLI_FINE) exit = analyse(&analysis, &input, words, 0);
    if (exit == CLI_FINE) exit = show(analysis, words->kernel.json);
    if (exit == CLI_FINE && !spad_layout_fits(spad_analysis_get_layout(analysis)))
        exit = CLI_FINDINGS;
    spad_analysis_destroy(analysis);
    cli_free_kernel(&input);
    return exit;
}

/* ---- two kernels ------------------------------------------------------------------- */

/* What one of two kernels takes of a space. */
typedef struct share {
    int64_t used;      /* bytes per lane; 0: nothing */
    int64_t alignment; /* that its layout needs to be moved by */
    bool fixed;        /* has addresses of its own, so it cannot be moved */
    bool known;        /* a layout was found */
} share;

static int64_t common_multiple(int64_t a, int64_t b) {
    int64_t x = a;
    int64_t y = b;
    while (y != 0) {
        const int64_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b; /* alignments divide each other or are small */
}

static share share_of(const spad_layout *layout, size_t space) {
    const spad_target *target = spad_kernel_get_target(spad_layout_get_kernel(layout));
    share s = {.alignment = 1, .known = true};
    for (size_t i = 0; i < spad_layout_space_count(layout); i++) {
        const spad_layout_space *row = spad_layout_get_space(layout, i);
        if (row->space != space) continue;
        s.used = row->height;
        s.known = row->height != SPAD_UNBOUNDED;
        s.fixed = row->planned_count < row->buffer_count;
        for (size_t b = 0; b < row->planned_count; b++) {
            const spad_layout_buffer *buffer =
                spad_layout_get_buffer(layout, row->first_buffer + b);
            s.alignment = common_multiple(s.alignment, buffer->alignment);
        }
        if (target->spaces[space].banks_exclusive) {
            s.alignment = common_multiple(s.alignment, target->spaces[space].bank_bytes);
        }
    }
    return s;
}

typedef struct both {
    const char *space;
    share a;
    share b;
    int64_t together; /* bytes per lane at the same time; -1: not known */
    int64_t capacity;
    bool side_by_side;
    bool in_turns;
    bool must_move; /* both have addresses of their own */
} both;

/* One is after the other: the one without addresses of its own is moved. */
static both put_together(const spad_layout *first, const spad_layout *second, size_t space) {
    const spad_space *rules = &spad_kernel_get_target(spad_layout_get_kernel(first))->spaces[space];
    both t = {.space = rules->name,
              .a = share_of(first, space),
              .b = share_of(second, space),
              .capacity = spad_space_get_usable(rules),
              .together = -1};
    const share *base = t.b.fixed ? &t.b : &t.a;
    const share *moved = t.b.fixed ? &t.a : &t.b;
    const int64_t room = INT64_MAX - moved->alignment;
    if (t.a.known && t.b.known && base->used < room) {
        const int64_t rest = base->used % moved->alignment;
        const int64_t start = rest == 0 ? base->used : base->used + (moved->alignment - rest);
        if (moved->used <= INT64_MAX - start) t.together = start + moved->used;
        if (moved->used == 0) t.together = base->used;
    }
    t.must_move = t.a.fixed && t.b.fixed;
    t.side_by_side = t.together >= 0 && t.together <= t.capacity;
    t.in_turns = t.a.known && t.b.known && t.a.used <= t.capacity && t.b.used <= t.capacity;
    return t;
}

static void print_both(const both *t, int width) {
    char a[CLI_SIZE_ROOM], b[CLI_SIZE_ROOM], together[CLI_SIZE_ROOM] = "-";
    if (t->together >= 0) cli_group_digits(together, t->together);
    cli_print(stdout, "%-*s %11s %11s ", width, t->space, cli_group_digits(a, t->a.used),
              cli_group_digits(b, t->b.used));
    printf("%11s %11s  %s, %s%s\n", together, cli_group_digits(a, t->capacity),
           t->side_by_side ? "fits at the same time" : "does not fit at the same time",
           t->in_turns ? "fits one after the other" : "does not fit one after the other",
           t->must_move ? "; both have addresses of their own: one must be moved" : "");
}

static void print_both_json(const both *t, bool first) {
    printf("%s\n    {\n      \"space\": \"%s\",\n", first ? "" : ",", t->space);
    printf("      \"first\": %lld,\n      \"second\": %lld,\n", (long long)t->a.used,
           (long long)t->b.used);
    if (t->together >= 0) printf("      \"together\": %lld,\n", (long long)t->together);
    printf("      \"capacity\": %lld,\n      \"at_the_same_time\": %s,\n", (long long)t->capacity,
           t->side_by_side ? "true" : "false");
    printf("      \"one_after_the_other\": %s,\n      \"must_move\": %s\n    }",
           t->in_turns ? "true" : "false", t->must_move ? "true" : "false");
}

/* Is a byte of a memory on chip a byte of each of its lanes? */
static bool has_lanes(const spad_target *target) {
    for (size_t i = 0; i < target->space_count; i++) {
        if (!target->spaces[i].off_chip && target->spaces[i].lanes > 1) return true;
    }
    return false;
}

static cli_exit show_both(const spad_layout *first, const spad_layout *second, bool json) {
    const spad_kernel *a = spad_layout_get_kernel(first);
    const spad_kernel *b = spad_layout_get_kernel(second);
    const spad_target *target = spad_kernel_get_target(a);
    bool all = true;
    int width = 5;
    bool any = false;
    if (strcmp(target->name, spad_kernel_get_target(b)->name) != 0) {
        cli_message("'%s' is for %s and '%s' for %s; use '--target' to choose one",
                    spad_kernel_get_name(a), target->name, spad_kernel_get_name(b),
                    spad_kernel_get_target(b)->name);
        return CLI_USAGE;
    }
    for (size_t i = 0; i < target->space_count; i++) {
        const both t = put_together(first, second, i);
        if (target->spaces[i].instance > 0 && t.a.used == 0 && t.b.used == 0) continue;
        const int length = (int)strlen(target->spaces[i].name);
        if (length > width) width = length;
    }
    if (json) {
        fputs("{\n  \"spaces\": [", stdout);
    } else {
        printf("%-*s %11s %11s %11s %11s  (bytes%s)\n", width, "space", "first", "second",
               "together", "capacity", has_lanes(target) ? " per lane" : "");
    }
    for (size_t i = 0; i < target->space_count; i++) {
        if (target->spaces[i].off_chip) continue;
        const both t = put_together(first, second, i);
        if (t.a.used == 0 && t.b.used == 0) continue;
        all = all && t.side_by_side && !t.must_move;
        if (json) {
            print_both_json(&t, !any);
        } else {
            print_both(&t, width);
        }
        any = true;
    }
    if (json) printf("%s],\n  \"fits\": %s\n}\n", any ? "\n  " : "", all ? "true" : "false");
    return all ? CLI_FINE : CLI_FINDINGS;
}

static cli_exit fit_two(char **paths, const fit_words *words) {
    cli_kernel inputs[2] = {{0}, {0}};
    spad_analysis *analyses[2] = {NULL, NULL};
    cli_exit exit = CLI_FINE;
    for (int i = 0; i < 2 && exit == CLI_FINE; i++) {
        exit = cli_read_kernel(&inputs[i], paths[i], &words->kernel);
        if (exit == CLI_FINE) exit = analyse(&analyses[i], &inputs[i], words, 1u << SPAD_PART_FIT);
    }
    if (exit == CLI_FINE) {
        exit = show_both(spad_analysis_get_layout(analyses[0]),
                         spad_analysis_get_layout(analyses[1]), words->kernel.json);
    }
    for (int i = 0; i < 2; i++) {
        spad_analysis_destroy(analyses[i]);
        cli_free_kernel(&inputs[i]);
    }
    return exit;
}

static cli_exit run_fit(const cli_command *command, int count, char **arguments) {
    fit_words words = {0};
    const cli_option options[] = {CLI_KERNEL_OPTIONS(words.kernel),
                                  {.name = "--timeout", .value = &words.timeout},
                                  {.name = "--json", .flag = &words.kernel.json},
                                  {.name = NULL}};
    cli_exit exit;
    if (!cli_take_options(command, options, &count, arguments, &exit)) return exit;
    if (count != 1 && count != 2) {
        cli_message("one kernel or two are needed; see 'spad fit --help'");
        return CLI_USAGE;
    }
    return count == 1 ? fit_one(arguments[0], &words) : fit_two(arguments, &words);
}

const cli_command cli_fit = {
    .name = "fit",
    .about = "whether a kernel fits, and if not, the smallest changes that make it fit",
    .usage =
        "usage: spad fit KERNEL.spad [options]\n"
        "       spad fit FIRST.spad SECOND.spad [options]\n"
        "\n"
        "For one kernel: the contents of each memory, item by item, and the changes that make\n"
        "it fit where it does not. For two: do they fit at the same time, as in a fused kernel,\n"
        "and one after the other? '-' is stdin.\n"
        "\n" CLI_KERNEL_USAGE "  --timeout SECONDS         for the planner, in each memory\n"
        "  --json                    the result as JSON\n"
        "\n"
        "exit status: 0 it fits (two: at the same time), 1 it does not or is wrong, 2 bad input,\n"
        "3 the output could not be written; docs/layout.md explains the table\n",
    .run = run_fit};
