/* SPDX-License-Identifier: Apache-2.0
 *
 * spad targets: lists the chips that are built in, shows one, checks files.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const char usage[] =
    "usage: spad targets [--json]                  list the built-in targets\n"
    "       spad targets TARGET [--json]           print one as a target file\n"
    "       spad targets show TARGET [--json]      the same\n"
    "       spad targets check FILE... [--json]    read target files, report every fault\n"
    "\n"
    "  --json                    the result as JSON\n"
    "\n"
    "TARGET is a name, an alias, a product (H100) or a target file. A file named '-' is\n"
    "read from stdin. The format of target files: docs/targets.md\n";

/* ---- list -------------------------------------------------------------------------- */

static void print_size(int64_t bytes) {
    char size[CLI_SIZE_ROOM];
    cli_format_size(size, bytes);
    fputs(size, stdout);
}

/* "sbuf 128 x 192 KiB, psum 128 x 16 KiB" */
static void print_memories(const spad_target *target) {
    const char *comma = "";
    for (size_t i = 0; i < target->space_count; i++) {
        const spad_space *space = &target->spaces[i];
        if (space->off_chip || space->bytes == SPAD_UNBOUNDED || space->instance > 0) continue;
        printf("%s%s ", comma, space->name);
        if (space->lanes > 1) printf("%" PRId64 " x ", space->lanes);
        print_size(space->bytes);
        comma = ", ";
    }
    if (comma[0] == '\0') putchar('-');
}

/* "; H100, H200": names under which it is sold. */
static void print_products(const spad_target *target) {
    for (size_t i = 0; i < target->product_count; i++) {
        printf("%s%s", i == 0 ? "; " : ", ", target->products[i].name);
    }
}

/* The aliases of a target, "-" for none; returns the length. */
static int join_aliases(const spad_target *target, char *field, size_t size) {
    int used = snprintf(field, size, "%s", target->alias_count == 0 ? "-" : "");
    for (size_t i = 0; i < target->alias_count && (size_t)used < size; i++) {
        used += snprintf(field + used, size - (size_t)used, "%s%s", i == 0 ? "" : ", ",
                         target->aliases[i]);
    }
    return used;
}

static int longer(int width, int length) {
    return length > width ? length : width;
}

static void list_table(void) {
    char aliases[128];
    int name_width = (int)strlen("name");
    int alias_width = (int)strlen("aliases");
    int about_width = (int)strlen("about");
    const spad_target *target;
    for (size_t i = 0; (target = spad_target_get(i)) != NULL; i++) {
        name_width = longer(name_width, (int)strlen(target->name));
        alias_width = longer(alias_width, join_aliases(target, aliases, sizeof aliases));
        about_width = longer(about_width, (int)strlen(target->about));
    }
    printf("%-*s  %-*s  %-*s  %s\n", name_width, "name", alias_width, "aliases", about_width,
           "about", "on-chip memory; products");
    for (size_t i = 0; (target = spad_target_get(i)) != NULL; i++) {
        join_aliases(target, aliases, sizeof aliases);
        printf("%-*s  %-*s  %-*s  ", name_width, target->name, alias_width, aliases, about_width,
               target->about);
        print_memories(target);
        print_products(target);
        putchar('\n');
    }
}

static cli_exit list_targets(bool json) {
    if (!json) {
        list_table();
        return CLI_FINE;
    }
    cli_list list;
    const spad_target *target;
    cli_list_open(&list);
    for (size_t i = 0; (target = spad_target_get(i)) != NULL; i++) {
        spad_error error;
        cli_list_next(&list);
        if (spad_target_write(target, SPAD_FORMAT_JSON, &list.items, &error) != SPAD_OK)
            return cli_fail(&error);
    }
    cli_list_close(&list);
    return CLI_FINE;
}

/* ---- show -------------------------------------------------------------------------- */

/* Reads a target file. On a fault: *target is NULL and the faults are in the
 * collection, or the error says what else went wrong. */
static cli_exit read_target(spad_target **target, spad_diagnostics *diagnostics, const char *path) {
    cli_text text;
    spad_error error;
    *target = NULL;
    const cli_exit exit = cli_read(&text, path, CLI_TEXT_MIB);
    if (exit != CLI_FINE) return exit;
    const spad_status status = spad_target_parse(target, text.bytes, text.length,
                                                 cli_input_name(path), diagnostics, NULL, &error);
    free(text.bytes);
    if (status == SPAD_OK) return CLI_FINE;
    return status == SPAD_ERR_SYNTAX ? CLI_FINDINGS : cli_fail(&error);
}

/* A word that can only be a file: with a '/' or a '.', or "-". */
static bool looks_like_file(const char *word) {
    return strcmp(word, "-") == 0 || strpbrk(word, "/.") != NULL;
}

static bool is_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file != NULL) fclose(file);
    return file != NULL;
}

/* A file may be called like a built-in target or a product, but not without a word. */
static void note_shadow(const spad_target *target, const char *path) {
    const spad_target *other;
    if (spad_target_find(&other, target->name, NULL) != SPAD_OK) return;
    cli_message("note: %s is called '%s', a name of the built-in target %s; the file is used",
                cli_input_name(path), target->name, other->name);
}

cli_exit cli_find_target(const spad_target **target, spad_target **owned, const char *word) {
    spad_error error;
    *target = *owned = NULL;
    if (!looks_like_file(word)) {
        if (spad_target_find(target, word, &error) == SPAD_OK) {
            if (is_file(word))
                cli_message("'%s' is the built-in target %s; the file is './%s'", word,
                            (*target)->name, word);
            return CLI_FINE;
        }
        if (!is_file(word)) {
            cli_fail(&error);
            cli_message("'spad targets' lists them");
            return CLI_USAGE;
        }
    }
    spad_diagnostics *diagnostics;
    if (spad_diagnostics_create(&diagnostics, NULL, &error) != SPAD_OK) return cli_fail(&error);
    cli_exit exit = read_target(owned, diagnostics, word);
    *target = *owned;
    if (exit == CLI_FINDINGS) {
        const spad_sink messages = cli_sink(stderr, false);
        spad_diagnostics_write(diagnostics, SPAD_FORMAT_TEXT, &messages, NULL);
        exit = CLI_USAGE; /* bad input: showing was the task, not checking */
    }
    spad_diagnostics_destroy(diagnostics);
    if (exit == CLI_FINE) note_shadow(*target, word);
    return exit;
}

static cli_exit show_target(int count, char **words, bool json) {
    if (count != 1) {
        cli_message("'spad targets show' needs one target, not %d", count);
        return CLI_USAGE;
    }
    const spad_target *target;
    spad_target *owned;
    spad_error error;
    const cli_exit exit = cli_find_target(&target, &owned, words[0]);
    if (exit != CLI_FINE) return exit;
    const spad_sink results = spad_sink_file(stdout);
    const spad_status status = json ? spad_target_write(target, SPAD_FORMAT_JSON, &results, &error)
                                    : spad_target_write(target, SPAD_FORMAT_TEXT, &results, &error);
    spad_target_destroy(owned);
    return status == SPAD_OK ? CLI_FINE : cli_fail(&error);
}

/* ---- check ------------------------------------------------------------------------- */

static cli_exit check_file(const char *path, spad_diagnostics *diagnostics, cli_list *list) {
    spad_target *target;
    spad_error error;
    const cli_exit exit = read_target(&target, diagnostics, path);
    if (exit == CLI_FINE && list == NULL) {
        size_t spaces = 0;
        for (size_t i = 0; i < target->space_count; i++) spaces += target->spaces[i].instance == 0;
        cli_print(stdout, "%s: ok: target %s, %zu space%s, %zu engine%s", cli_input_name(path),
                  target->name, spaces, spaces == 1 ? "" : "s", target->engine_count,
                  target->engine_count == 1 ? "" : "s");
        putchar('\n');
    }
    spad_target_destroy(target);
    if (exit > CLI_FINDINGS) return exit;
    spad_status status = SPAD_OK;
    if (list != NULL) {
        cli_list_next(list);
        status = spad_diagnostics_write(diagnostics, SPAD_FORMAT_JSON, &list->items, &error);
    } else {
        const spad_sink messages = cli_sink(stderr, false);
        status = spad_diagnostics_write(diagnostics, SPAD_FORMAT_TEXT, &messages, &error);
    }
    return status == SPAD_OK ? exit : cli_fail(&error);
}

/* Goes on after a bad file; the worst exit code wins. */
static cli_exit check_files(int count, char **words, bool json) {
    if (count == 0) {
        cli_message("'spad targets check' needs a file");
        return CLI_USAGE;
    }
    spad_diagnostics *diagnostics;
    spad_error error;
    if (spad_diagnostics_create(&diagnostics, NULL, &error) != SPAD_OK) return cli_fail(&error);
    cli_list list;
    cli_exit worst = CLI_FINE;
    if (json) cli_list_open(&list);
    for (int i = 0; i < count; i++) {
        const cli_exit exit = check_file(words[i], diagnostics, json ? &list : NULL);
        if (exit > worst) worst = exit;
    }
    if (json) cli_list_close(&list);
    spad_diagnostics_destroy(diagnostics);
    return worst;
}

/* ---- dispatch ---------------------------------------------------------------------- */

static cli_exit run(const cli_command *command, int count, char **words) {
    bool json = false;
    const cli_option options[] = {{.name = "--json", .flag = &json}, {.name = NULL}};
    cli_exit exit;
    if (!cli_take_options(command, options, &count, words, &exit)) return exit;
    if (count == 0) return list_targets(json);
    if (strcmp(words[0], "show") == 0) return show_target(count - 1, words + 1, json);
    if (strcmp(words[0], "check") == 0) return check_files(count - 1, words + 1, json);
    const spad_target *target;
    static const char *const verbs[] = {"show", "check"};
    char near[64];
    spad_close_names(near, sizeof near, words[0], verbs, 2);
    const bool is_verb = near[0] != '\0' && spad_target_find(&target, words[0], NULL) != SPAD_OK;
    if (!is_verb) return show_target(count, words, json);
    return cli_unknown("word", words[0], verbs, 2, "spad targets --help");
}

const cli_command cli_targets = {
    .name = "targets",
    .about = "list chips, show one, check a target file",
    .usage = usage,
    .run = run,
};
