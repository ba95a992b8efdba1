/* SPDX-License-Identifier: Apache-2.0
 *
 * What the user wants to hear of: options, .spad.toml, and baselines.
 *
 * .spad.toml is looked for in the folder of the input and in those above it. It is TOML of which
 * this is read: keys with a text or a whole number, comments, and the tables [rules] and [sizes].
 * A baseline has a line for each finding that is known: its fingerprint, and what it is, for
 * people.
 */
#define _XOPEN_SOURCE 700
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

enum { CONFIG_PATH = 4096, WORD_MAX = 128 };

/* ---- fingerprints and codes
 * ------------------------------------------------------------------------- */

/* There is room for one of each line. */
static bool add_fingerprint(cli_policy *policy, const char *word) {
    char *copy = calloc(1, SPAD_FINGERPRINT_MAX);
    if (copy == NULL) return false;
    memcpy(copy, word, SPAD_FINGERPRINT_MAX - 1);
    policy->known[policy->policy.baseline_count++] = copy;
    return true;
}

static bool make_room(cli_policy *policy, const cli_text *text) {
    size_t lines = 1;
    for (size_t i = 0; i < text->length; i++) lines += text->bytes[i] == '\n';
    policy->known = calloc(lines, sizeof *policy->known);
    policy->policy.baseline = (const char *const *)policy->known;
    return policy->known != NULL;
}

static bool find_code(spad_finding_code *out, const char *name) {
    static const spad_finding_code codes[] = {
#define CODE(word, value, severity, text, sentence) SPAD_FINDING_##word,
        SPAD_FINDING_LIST(CODE)
#undef CODE
    };
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        *out = codes[i];
        if (strcmp(spad_finding_name(codes[i]), name) == 0) return true;
    }
    return false;
}

/* ---- values ------------------------------------------------------------------------ */

static bool take_compiler_faults(cli_policy *policy, const char *word, const char *where) {
    static const char *const words[] = {"error", "warning", "ignore"};
    static const spad_compiler_policy values[] = {
        SPAD_COMPILER_FAULTS_ERROR, SPAD_COMPILER_FAULTS_WARNING, SPAD_COMPILER_FAULTS_IGNORE};
    for (size_t i = 0; i < 3; i++) {
        if (strcmp(word, words[i]) != 0) continue;
        policy->policy.compiler_faults = values[i];
        return true;
    }
    cli_message("%s: error, warning or ignore, not '%s'", where, word);
    return false;
}

static bool take_rule(cli_policy *policy, const char *code, const char *word, const char *where) {
    static const char *const words[] = {"error", "warning", "advice", "ignore"};
    spad_rule_level level = {0};
    size_t i = 0;
    if (!find_code(&level.code, code)) {
        cli_message("%s: there is no finding '%s'; docs/findings.md lists them", where, code);
        return false;
    }
    while (i < 4 && strcmp(word, words[i]) != 0) i++;
    if (i == 4) {
        cli_message("%s: %s is error, warning, advice or ignore, not '%s'", where, code, word);
        return false;
    }
    if (policy->policy.level_count == sizeof policy->levels / sizeof policy->levels[0]) {
        cli_message("%s: more rules than findings", where);
        return false;
    }
    level.hide = i == 3;
    level.severity = i < 3 ? (spad_severity)i : SPAD_SEVERITY_ADVICE;
    policy->levels[policy->policy.level_count++] = level;
    policy->policy.levels = policy->levels;
    return true;
}

/* ---- .spad.toml -------------------------------------------------------------------- */

/* A line "key = value" without its quotes and its comment. False: it is none. */
static bool cut_pair(char *line, char **key, char **value) {
    char *equals = strchr(line, '=');
    if (equals == NULL) return false;
    char *end = equals;
    while (end > line && (end[-1] == ' ' || end[-1] == '"')) end--;
    *end = '\0';
    *key = line + strspn(line, " \t\"");
    *value = equals + 1 + strspn(equals + 1, " \t");
    if (**value == '"') {
        end = strchr(++*value, '"');
        if (end == NULL) return false;
    } else {
        end = *value + strcspn(*value, " \t#");
    }
    *end = '\0';
    return (*key)[0] != '\0' && (*value)[0] != '\0';
}

/* The file of a baseline is named from the folder of the configuration. */
static cli_exit take_baseline(cli_policy *policy, const char *path, const char *value) {
    char name[CONFIG_PATH];
    const char *slash = strrchr(path, '/');
    const int folder = value[0] == '/' || slash == NULL ? 0 : (int)(slash - path) + 1;
    snprintf(name, sizeof name, "%.*s%s", folder, path, value);
    return policy->has_baseline ? CLI_FINE : cli_read_baseline(policy, name);
}

static cli_exit take_pair(cli_policy *policy, const char *path, const char *table, const char *key,
                          const char *value, const char *where) {
    if (strcmp(table, "rules") == 0)
        return take_rule(policy, key, value, where) ? CLI_FINE : CLI_USAGE;
    if (strcmp(table, "sizes") == 0 || (table[0] == '\0' && strcmp(key, "target") == 0))
        return CLI_FINE; /* of commands that compile: python/spad/_program/config.py */
    if (table[0] == '\0' && strcmp(key, "compiler-faults") == 0) {
        if (policy->policy.compiler_faults != SPAD_COMPILER_FAULTS_KNOWN) return CLI_FINE;
        return take_compiler_faults(policy, value, where) ? CLI_FINE : CLI_USAGE;
    }
    if (table[0] == '\0' && strcmp(key, "baseline") == 0) return take_baseline(policy, path, value);
    cli_message("%s: unknown key '%s'; known are target, compiler-faults, baseline, and the tables "
                "[rules] and [sizes]",
                where, key);
    return CLI_USAGE;
}

static cli_exit read_line(cli_policy *policy, const char *path, char table[WORD_MAX], char *line,
                          const char *where) {
    char *key, *value;
    const char *first = line + strspn(line, " \t");
    if (*first == '\0' || *first == '#') return CLI_FINE;
    if (sscanf(first, "[%127[a-z]]", table) == 1) return CLI_FINE;
    if (!cut_pair(line, &key, &value)) {
        cli_message("%s: expected [table], or key = \"value\"", where);
        return CLI_USAGE;
    }
    return take_pair(policy, path, table, key, value, where);
}

static cli_exit read_config(cli_policy *policy, const char *path) {
    cli_text text;
    char table[WORD_MAX] = "";
    char where[CONFIG_PATH + 32];
    cli_exit exit = cli_read(&text, path, CLI_TEXT_MIB);
    int number = 0;
    char *line = exit == CLI_FINE ? text.bytes : NULL;
    while (line != NULL && exit == CLI_FINE) {
        char *end = strchr(line, '\n');
        if (end != NULL) *end = '\0';
        const size_t length = strlen(line);
        if (length > 0 && line[length - 1] == '\r') line[length - 1] = '\0';
        snprintf(where, sizeof where, "%s:%d", path, ++number);
        exit = read_line(policy, path, table, line, where);
        line = end != NULL ? end + 1 : NULL;
    }
    if (exit == CLI_FINE || number > 0) free(text.bytes);
    return exit;
}

/* The nearest .spad.toml of the folder of an input and those above it. */
static bool find_config(char out[CONFIG_PATH], const char *input) {
    char folder[CONFIG_PATH];
    const char *slash = strrchr(input, '/');
    const int length = slash != NULL ? (int)(slash - input) + 1 : 0;
    if (length >= CONFIG_PATH) return false;
    snprintf(folder, sizeof folder, "%.*s", length, input);
    char *full = realpath(length > 0 ? folder : ".", NULL);
    if (full == NULL) return false;
    bool found = false;
    for (;;) {
        const int used = snprintf(out, CONFIG_PATH, "%s%s.spad.toml", full,
                                  full[strlen(full) - 1] == '/' ? "" : "/");
        found = used > 0 && used < CONFIG_PATH && access(out, R_OK) == 0;
        char *last = strrchr(full, '/');
        if (found || last == NULL || last[1] == '\0') break;
        last[last == full ? 1 : 0] = '\0';
    }
    free(full);
    return found;
}

/* ---- baselines --------------------------------------------------------------------- */

cli_exit cli_read_baseline(cli_policy *policy, const char *path) {
    cli_text text;
    cli_exit exit = cli_read(&text, path, CLI_TEXT_MIB);
    if (exit != CLI_FINE) return exit;
    const char *line = text.bytes;
    if (!make_room(policy, &text)) {
        cli_message("out of memory");
        exit = CLI_INTERNAL;
    }
    for (int number = 1; exit == CLI_FINE && *line != '\0'; number++) {
        const size_t word = strspn(line, "0123456789abcdef");
        if (line[0] != '#' && line[0] != '\n') {
            if (word != SPAD_FINGERPRINT_MAX - 1) {
                cli_message("%s:%d: expected a fingerprint of %d digits; --write-baseline writes "
                            "such a file",
                            path, number, SPAD_FINGERPRINT_MAX - 1);
                exit = CLI_USAGE;
            } else if (!add_fingerprint(policy, line)) {
                cli_message("out of memory");
                exit = CLI_INTERNAL;
            }
        }
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    policy->has_baseline = true;
    free(text.bytes);
    return exit;
}

static spad_status put_row(const spad_sink *sink, const char *row, spad_error *error) {
    if (sink->write(sink->context, row, strlen(row)) == 0) return SPAD_OK;
    error->code = SPAD_ERR_IO;
    snprintf(error->message, sizeof error->message, "the output cannot be written");
    return SPAD_ERR_IO;
}

static spad_status write_baseline_rows(const spad_sink *sink, const void *context,
                                       spad_error *error) {
    const cli_checks *checks = context;
    static const char head[] = "# Findings that are known: spad check --baseline hides them.\n";
    spad_status status = put_row(sink, head, error);
    for (size_t i = 0; i < checks->count; i++) {
        for (size_t k = 0; k < spad_check_finding_count(checks->items[i]); k++) {
            const spad_finding *f = spad_check_get_finding(checks->items[i], k);
            char row[2 * SPAD_MESSAGE_MAX];
            if (f->hidden != SPAD_HIDDEN_NOT && f->hidden != SPAD_HIDDEN_IN_BASELINE) continue;
            snprintf(row, sizeof row, "%s %s %s: %s\n", f->fingerprint, spad_finding_name(f->code),
                     f->program.line > 0 ? f->program.file : f->file, f->message);
            if (status == SPAD_OK) status = put_row(sink, row, error);
        }
    }
    return status;
}

cli_exit cli_write_baseline(const char *path, const cli_checks *checks) {
    return cli_write_file(path, write_baseline_rows, checks);
}

/* ---- all of it --------------------------------------------------------------------- */

cli_exit cli_take_policy(cli_policy *policy, const char *input) {
    char config[CONFIG_PATH];
    if (policy->compiler_faults != NULL &&
        !take_compiler_faults(policy, policy->compiler_faults, "'--compiler-faults'")) {
        return CLI_USAGE;
    }
    if (policy->baseline != NULL) {
        const cli_exit exit = cli_read_baseline(policy, policy->baseline);
        if (exit != CLI_FINE) return exit;
    }
    return find_config(config, input) ? read_config(policy, config) : CLI_FINE;
}

void cli_free_policy(cli_policy *policy) {
    for (size_t i = 0; i < policy->policy.baseline_count; i++) free(policy->known[i]);
    free(policy->known);
}
