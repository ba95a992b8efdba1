/* SPDX-License-Identifier: Apache-2.0
 *
 * spad plan for the rows of several memories: those that each row names, or one of several where a
 * row may choose.
 */
#include "plan_spaces.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 64 };

static bool names_one(const char *word) {
    return strpbrk(word, "=@") == NULL;
}

bool cli_has_spaces(const cli_text *text, const cli_words *spaces) {
    return spaces->count > 1 || (spaces->count == 1 && !names_one(spaces->items[0])) ||
           spad_spaces_in_csv(text->bytes, text->length);
}

/* ---- memories ---------------------------------------------------------------------- */

/* "sram", "sram=256KiB", "dram@10", "dram=4GiB@10". Without a cost it is the number of the memory.
 */
static cli_exit add_space(spad_spaces *spaces, const char *word) {
    const size_t length = strcspn(word, "=@");
    char name[NAME_MAX_BYTES];
    if (length == 0 || length >= sizeof name) {
        cli_message("option '--space' takes NAME, NAME=BYTES or NAME=BYTES@COST, not '%s'", word);
        return CLI_USAGE;
    }
    memcpy(name, word, length);
    name[length] = '\0';
    spad_tier memory = {
        .name = name, .capacity = SPAD_UNBOUNDED, .cost = (int64_t)spad_spaces_count(spaces)};
    const char *at = strchr(word + length, '@');
    if (word[length] == '=') {
        char bytes[NAME_MAX_BYTES];
        const size_t size = strcspn(word + length + 1, "@");
        snprintf(bytes, sizeof bytes, "%.*s", (int)(size < sizeof bytes ? size : sizeof bytes - 1),
                 word + length + 1);
        if (!cli_take_bytes("--space", bytes, 0, &memory.capacity)) return CLI_USAGE;
    }
    if (at != NULL && !cli_take_number("--space", at + 1, 0, &memory.cost)) return CLI_USAGE;
    spad_error error;
    return spad_spaces_add_memory(NULL, spaces, &memory, &error) == SPAD_OK ? CLI_FINE
                                                                            : cli_fail(&error);
}

static spad_status read_space_rows(void *into, const cli_text *text, const char *name,
                                   const spad_plan_csv_options *options, spad_error *error) {
    return spad_spaces_read_csv(into, text->bytes, text->length, name, options, error);
}

/* ---- output ------------------------------------------------------------------------ */

typedef struct space_rows {
    const spad_spaces *spaces;
    const spad_spaces_result *result;
    const cli_text *text;
} space_rows;

static spad_status write_rows(const spad_sink *sink, const void *context, spad_error *error) {
    const space_rows *r = context;
    return spad_spaces_write_csv(r->spaces, r->result, r->text->bytes, r->text->length, sink,
                                 error);
}

/* A target with the memories of the rows: those of a chip as they are, others made up. */
static void make_up_spaces(spad_space *out, const spad_spaces *spaces) {
    for (size_t m = 0; m < spad_spaces_count(spaces); m++) {
        const spad_tier *memory = spad_spaces_get(spaces, m);
        const spad_space *rules = spad_spaces_get_space(spaces, m);
        if (rules != NULL)
            out[m] = *rules;
        else
            out[m] = (spad_space){.name = memory->name,
                                  .about = "",
                                  .lanes = 1,
                                  .bytes = memory->capacity,
                                  .alignment = 1,
                                  .granule = 1};
    }
}

static cli_exit draw(const spad_spaces *spaces, const spad_spaces_result *result,
                     const plan_spaces_words *words, const char *file) {
    spad_space made_up[SPAD_TIERS_MEMORIES];
    make_up_spaces(made_up, spaces);
    const spad_target target = {.name = "plan",
                                .about = "buffers with known lifetimes",
                                .family = "host",
                                .space_count = spad_spaces_count(spaces),
                                .spaces = made_up};
    const spad_report_options options = {.title = file, .time_unit = "time"};
    spad_report *report;
    spad_error error;
    if (spad_report_create(&report, &target, &options, &error) != SPAD_OK) return cli_fail(&error);
    spad_status status = SPAD_OK;
    for (size_t m = 0; m < result->count && status == SPAD_OK; m++) {
        const spad_spaces_part *part = &result->parts[m];
        if (part->result == NULL) continue;
        status = spad_report_add_plan(report, part->plan, part->result, m, &error);
        if (status == SPAD_OK && part->reason != NULL)
            status = spad_report_add_reason(report, part->plan, part->result, part->reason, &error);
    }
    const cli_exit exit =
        status == SPAD_OK ? cli_write_pictures(words->pictures, report) : cli_fail(&error);
    spad_report_destroy(report);
    return exit;
}

/* The summary of all memories and the places of each. */
static cli_exit print_all(const spad_spaces *spaces, const spad_spaces_result *result,
                          const plan_spaces_words *words) {
    FILE *out = cli_summary_file(words->pictures, words->output);
    const bool json = words->input->kernel.json;
    const spad_sink sink = cli_sink(out, json);
    spad_error error;
    const spad_status status =
        json ? spad_spaces_write(spaces, result, SPAD_FORMAT_JSON, &sink, &error)
             : spad_spaces_write(spaces, result, SPAD_FORMAT_TEXT, &sink, &error);
    if (status != SPAD_OK) return cli_fail(&error);
    cli_exit exit = CLI_FINE;
    for (size_t m = 0; !json && m < result->count && exit == CLI_FINE; m++) {
        const spad_spaces_part *part = &result->parts[m];
        if (part->result == NULL || part->reason != NULL || part->result->count == 0) continue;
        fputc('\n', out);
        cli_print(out, "in %s:", spad_spaces_get(spaces, m)->name);
        exit = cli_print_plan(out, part->plan, part->result);
    }
    return exit;
}

static cli_exit show(const spad_spaces *spaces, const spad_spaces_result *result,
                     const cli_text *text, const char *file, const plan_spaces_words *words) {
    const bool fits = result->verdict <= SPAD_PLAN_FEASIBLE;
    cli_exit exit = fits ? CLI_FINE : CLI_FINDINGS;
    if (words->output != NULL && !fits)
        cli_message("'%s' is not written: there is no plan within the capacities", words->output);
    const space_rows rows = {spaces, result, text};
    if (fits && words->output != NULL) exit = cli_write_file(words->output, write_rows, &rows);
    cli_exit shown = print_all(spaces, result, words);
    if (shown == CLI_FINE && cli_wants_pictures(words->pictures))
        shown = draw(spaces, result, words, file);
    return shown == CLI_FINE ? exit : shown;
}

static cli_exit run_spaces(spad_spaces *spaces, const cli_text *text, const char *path,
                           const plan_spaces_words *words) {
    for (size_t k = 0; k < words->spaces->count; k++) {
        const cli_exit added = add_space(spaces, words->spaces->items[k]);
        if (added != CLI_FINE) return added;
    }
    cli_exit exit = cli_read_rows(read_space_rows, spaces, text, path, words->input);
    if (exit != CLI_FINE) return exit;
    spad_spaces_result *result;
    spad_error error;
    if (spad_spaces_solve(&result, spaces, words->options, &error) != SPAD_OK)
        return cli_fail_input(&error, path, words->input->kernel.json);
    exit = show(spaces, result, text, cli_input_name(path), words);
    spad_spaces_result_destroy(result);
    return exit;
}

cli_exit cli_plan_spaces(const cli_text *text, const char *path, const plan_spaces_words *words) {
    const spad_target *target = NULL;
    spad_target *owned = NULL;
    spad_spaces *spaces;
    spad_error error;
    if (words->input->capacity != NULL) {
        cli_message("option '--capacity' is for one memory; '--space NAME=BYTES' is for each of "
                    "several");
        return CLI_USAGE;
    }
    if (words->input->kernel.defines.count > 0 || words->input->kernel.rings.count > 0) {
        cli_message("options '-D' and '--ring' are for kernels, and '%s' is not a kernel",
                    cli_input_name(path));
        return CLI_USAGE;
    }
    if (spad_spaces_create(&spaces, NULL, &error) != SPAD_OK) return cli_fail(&error);
    cli_exit exit = CLI_FINE;
    if (words->input->kernel.target != NULL) {
        exit = cli_find_target(&target, &owned, words->input->kernel.target);
        if (exit == CLI_FINE) spad_spaces_set_target(spaces, target);
    }
    if (exit == CLI_FINE) exit = run_spaces(spaces, text, path, words);
    spad_spaces_destroy(spaces);
    spad_target_destroy(owned);
    return exit;
}
