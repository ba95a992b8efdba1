/* SPDX-License-Identifier: Apache-2.0
 *
 * Results of a check in words, as JSON, and as SARIF (Static Analysis Results
 * Interchange Format 2.1.0, an OASIS standard).
 */
#include <stdio.h>

#include "base/diagnostics.h"
#include "base/text.h"
#include "finding/findings.h"
#include "kernel/kernel.h"
#include "verify/verify.h"

/* ---- text -------------------------------------------------------------------------- */

static void write_place(spad__out *out, const char *file, int32_t line, int32_t column) {
    if (file[0] == '\0') return;
    spad__out_one_line(out, file);
    if (line > 0) spad__out_format(out, ":%ld:%ld", (long)line, (long)column);
    spad__out_string(out, ": ");
}

static void write_lines(spad__out *out, const spad__source *source, int32_t line, int32_t column,
                        int32_t width) {
    if (source->text == NULL || line == 0) return;
    spad__out_excerpt(out, source, line, column, width);
}

/* The line of the program that the kernel was made from. */
static void write_origin(spad__out *out, const char *before, const char *place) {
    if (place[0] == '\0') return;
    spad__out_string(out, before);
    spad__out_one_line(out, place);
    spad__out_string(out, "\n");
}

/* What a finding and its notes have in common. */
typedef struct reported {
    const char *file; /* of the input */
    int32_t line;
    int32_t column;
    int32_t width;
    const char *place;
    const spad_program_line *program;
} reported;

/* A note without a line is about the file of its finding. */
static void write_reported_place(spad__out *out, const reported *r, const char *file) {
    const spad_program_line *p = r->program;
    if (p->line == 0) {
        write_place(out, r->line == 0 ? file : r->file, r->line, r->column);
        return;
    }
    spad__out_one_line(out, p->file);
    spad__out_format(out, ":%ld", (long)p->line);
    if (p->column > 0) spad__out_format(out, ":%ld", (long)p->column);
    spad__out_string(out, ": ");
}

/* The line, and where it comes from: the user's own first, the compiler's after it, with its text
 * if the user's file cannot be read. */
static void write_lines_of(spad__out *out, const spad__source *source, const reported *r) {
    const spad_program_line *p = r->program;
    if (p->line == 0) {
        write_lines(out, source, r->line, r->column, r->width);
        write_origin(out, "    at ", r->place);
        return;
    }
    if (p->code[0] != '\0') spad__out_code_line(out, p->code, p->line, p->column);
    write_origin(out, "    in ", p->inside);
    write_origin(out, "    called at ", p->called_at);
    spad__out_string(out, "    from ");
    spad__out_one_line(out, r->file);
    spad__out_format(out, ":%ld:%ld\n", (long)r->line, (long)r->column);
    if (p->code[0] == '\0') write_lines(out, source, r->line, r->column, r->width);
}

/* "in lines 36 and 37": where else findings of the cause of finding `first` are. */
static void write_others(spad__out *out, const spad_check *check, size_t first) {
    enum { NAMED_MAX = 6 };
    int32_t lines[NAMED_MAX];
    size_t named = 0;
    int64_t others = 0;
    for (size_t i = first + 1; i < check->found.count; i++) {
        const spad_finding *f = &check->found.items[i].finding;
        if (f->cause != first + 1) continue;
        others++;
        const int32_t line = f->program.line > 0 ? f->program.line : f->line;
        bool known = named == NAMED_MAX || line == 0;
        for (size_t k = 0; k < named; k++) known = known || lines[k] == line;
        if (!known) lines[named++] = line;
    }
    if (others == 0) return;
    spad__out_format(out, "    and %lld more of this cause", (long long)others);
    for (size_t k = 0; k < named; k++) {
        spad__out_format(out, "%s%ld",
                         k > 0       ? ", "
                         : named > 1 ? ", in lines "
                                     : ", in line ",
                         (long)lines[k]);
    }
    spad__out_string(out, "; --all shows each\n");
}

static void write_finding(spad__out *out, const spad__source *source, const spad_finding *f) {
    const reported main = {f->file, f->line, f->column, f->width, f->place, &f->program};
    const char *file = f->program.line > 0 ? f->program.file : f->file;
    write_reported_place(out, &main, file);
    spad__out_format(out, "%s: ", spad_severity_name(f->severity));
    spad__out_string(out, f->message);
    if (f->count > 1) spad__out_format(out, " (seen %lld times)", (long long)f->count);
    spad__out_format(out, " [%s]\n", spad_finding_name(f->code));
    write_lines_of(out, source, &main);
    for (size_t i = 0; i < f->note_count; i++) {
        const spad_note *n = &f->notes[i];
        const reported note = {f->file, n->line, n->column, n->width, n->place, &n->program};
        write_reported_place(out, &note, file);
        spad__out_string(out, "note: ");
        spad__out_string(out, n->message);
        spad__out_string(out, "\n");
        write_lines_of(out, source, &note);
    }
}

static void write_count(spad__out *out, const char *before, int64_t count, const char *one,
                        const char *many) {
    if (count == 0) return;
    spad__out_format(out, "%s%lld %s", before, (long long)count, count == 1 ? one : many);
}

/* A text that cannot be read has no kernel; its file is taken from its first fault. */
static const char *file_of(const spad_check *check) {
    return check->found.count > 0 ? check->found.items[0].finding.file : NULL;
}

/* How many causes findings of a severity have; 0: each its own. */
static int64_t count_causes(const spad_check *check, spad_severity severity) {
    int64_t causes = 0;
    bool shared = false;
    for (size_t i = 0; i < check->found.count; i++) {
        const spad_finding *f = &check->found.items[i].finding;
        if (f->severity != severity || f->hidden != SPAD_HIDDEN_NOT) continue;
        causes += f->cause == 0;
        shared = shared || f->cause > 0;
    }
    return shared ? causes : 0;
}

/* "4 errors of 1 cause". */
static void write_severity(spad__out *out, const spad_check *check, const char *before,
                           int64_t count, const char *one, const char *many,
                           spad_severity severity) {
    write_count(out, before, count, one, many);
    if (count > 1) write_count(out, " of ", count_causes(check, severity), "cause", "causes");
}

/* "2 errors, 1 warning" after an error; else "proved for this shape, 1 warning". */
static void write_outcome(spad__out *out, const spad_check *check) {
    const spad_check_counts *counts = &check->counts;
    const bool wrong =
        check->verdict == SPAD_VERDICT_WRONG && counts->errors + counts->compiler_faults > 0;
    const char *comma = wrong ? "" : ", ";
    if (!wrong) spad__out_string(out, spad_verdict_name(check->verdict));
    write_severity(out, check, comma, counts->errors, "error", "errors", SPAD_SEVERITY_ERROR);
    if (counts->errors > 0) comma = ", ";
    write_severity(out, check, comma, counts->compiler_faults, "compiler fault", "compiler faults",
                   SPAD_SEVERITY_COMPILER);
    write_count(out, ", ", counts->warnings, "warning", "warnings");
    write_severity(out, check, ", ", counts->advice, "piece of advice", "pieces of advice",
                   SPAD_SEVERITY_ADVICE);
    write_count(out, ", ", counts->hidden, "finding not shown", "findings not shown");
    if (check->full) spad__out_string(out, " and more that are not shown");
}

static void write_verdict(spad__out *out, const spad_check *check, const spad_kernel *kernel) {
    const char *name = kernel != NULL ? spad_kernel_get_name(kernel) : file_of(check);
    const bool counted = check->found.count > 0;
    spad__out_one_line(out, name != NULL ? name : "");
    spad__out_string(out, name != NULL ? ": " : "");
    if (counted) {
        write_outcome(out, check);
        spad__out_string(out, check->reason[0] != '\0' ? ": " : "");
        spad__out_string(out, check->reason);
    } else {
        char text[SPAD__REASON_MAX * 2];
        spad__verdict_text(text, sizeof text, check->verdict, check->reason);
        spad__out_string(out, text);
    }
    spad__out_string(out, "\n");
}

static spad_status match_kernel(const spad_check *check, const spad_kernel *kernel,
                                spad_error *error) {
    const spad__origin given = spad__origin_of(kernel);
    return spad__match_origins("kernel", &given, "check", &check->origin, error);
}

spad_status spad_check_write_text(const spad_check *check, const spad_kernel *kernel,
                                  const char *text, size_t length, const spad_sink *sink,
                                  spad_error *error) {
    const spad_status match = kernel != NULL ? match_kernel(check, kernel, error) : SPAD_OK;
    if (match != SPAD_OK) return match;
    const spad__source source = {.text = text, .length = length}; /* findings know their file */
    spad__out out;
    spad__out_start_text(&out, sink);
    for (size_t i = 0; i < check->found.count; i++) {
        const spad_finding *f = &check->found.items[i].finding;
        if (f->hidden != SPAD_HIDDEN_NOT || (f->cause > 0 && !check->every)) continue;
        write_finding(&out, &source, f);
        if (!check->every) write_others(&out, check, i);
    }
    write_verdict(&out, check, kernel);
    return spad__out_finish(&out, error);
}

/* ---- JSON -------------------------------------------------------------------------- */

static void json_fact(spad__json *json, const char *key, int64_t value) {
    if (value != SPAD_NO_FACT) spad__json_key_int(json, key, value);
}

static void json_word(spad__json *json, const char *key, const char *word) {
    if (word[0] != '\0') spad__json_key_string(json, key, word);
}

/* A known fault of the compiler. */
static void json_fault(spad__json *json, const spad_compiler_fault *fault) {
    if (fault == NULL) return;
    spad__json_key(json, "compiler_fault");
    spad__json_open(json, '{');
    spad__json_key_string(json, "name", fault->name);
    spad__json_key_string(json, "remedy", fault->remedy);
    spad__json_key_string(json, "effect", fault->effect);
    spad__json_key_string(json, "link", fault->link);
    spad__json_key_bool(json, "wrong_results", fault->wrong_results);
    spad__json_close(json, '}');
}

static void json_hidden(spad__json *json, const spad_finding *f) {
    static const char *const words[] = {"", "source", "baseline", "rule"};
    if (f->hidden == SPAD_HIDDEN_NOT) return;
    spad__json_key_string(json, "hidden", words[f->hidden]);
    json_word(json, "why", f->why);
}

static void json_finding(spad__json *json, const spad_finding *f, size_t number) {
    spad__json_open(json, '{');
    spad__json_key_string(json, "code", spad_finding_name(f->code));
    spad__json_key_string(json, "severity", spad_severity_name(f->severity));
    spad__json_key_string(json, "fingerprint", f->fingerprint);
    spad__json_key_int(json, "cause", (int64_t)(f->cause > 0 ? f->cause - 1 : number));
    json_hidden(json, f);
    json_fault(json, f->fault);
    spad__json_lines(json, &f->program, (spad_location){f->line, f->column, f->width});
    json_word(json, "place", f->place);
    spad__json_key_string(json, "message", f->message);
    json_word(json, "subject", f->subject);
    json_word(json, "other", f->other);
    json_fact(json, "time", f->time);
    spad__json_key_int(json, "count", f->count > 1 ? f->count : 1);
    spad__json_key(json, "notes");
    spad__json_open(json, '[');
    for (size_t i = 0; i < f->note_count; i++) {
        spad__json_open(json, '{');
        const spad_note *n = &f->notes[i];
        spad__json_lines(json, &n->program, (spad_location){n->line, n->column, n->width});
        json_word(json, "place", f->notes[i].place);
        spad__json_key_string(json, "message", f->notes[i].message);
        spad__json_close(json, '}');
    }
    spad__json_close(json, ']');
    spad__json_close(json, '}');
}

static void json_kernel(spad__json *json, const spad_check *check, const spad_kernel *kernel) {
    if (kernel != NULL) {
        spad__json_kernel(json, kernel);
        return;
    }
    spad__json_key_string(json, "kernel", NULL);
    spad__json_key_string(json, "file", file_of(check));
    spad__json_key_string(json, "target", NULL);
    spad__json_key(json, "params");
    spad__json_open(json, '{');
    spad__json_close(json, '}');
}

void spad__json_check(spad__json *json, const spad_check *check, const spad_kernel *kernel) {
    const spad_check_counts *counts = &check->counts;
    spad__json_open(json, '{');
    json_kernel(json, check, kernel);
    spad__json_key_string(json, "verdict", spad_verdict_name(check->verdict));
    spad__json_key_string(json, "reason", check->reason);
    spad__json_key_int(json, "errors", counts->errors);
    spad__json_key_int(json, "warnings", counts->warnings);
    spad__json_key_int(json, "advice", counts->advice);
    spad__json_key_int(json, "compiler_faults", counts->compiler_faults);
    spad__json_key_int(json, "hidden", counts->hidden);
    spad__json_key_bool(json, "complete", !check->full);
    spad__json_key_int(json, "events", counts->events);
    spad__json_key_int(json, "accesses", counts->accesses);
    spad__json_key_int(json, "runs", counts->runs);
    spad__json_key(json, "findings");
    spad__json_open(json, '[');
    for (size_t i = 0; i < check->found.count; i++) {
        json_finding(json, &check->found.items[i].finding, i);
    }
    spad__json_close(json, ']');
    spad__json_close(json, '}');
}

spad_status spad_check_write_json(const spad_check *check, const spad_kernel *kernel,
                                  const spad_sink *sink, spad_error *error) {
    const spad_status match = kernel != NULL ? match_kernel(check, kernel, error) : SPAD_OK;
    if (match != SPAD_OK) return match;
    spad__out out;
    spad__json json;
    spad__out_start(&out, sink);
    spad__json_start(&json, &out);
    spad__json_check(&json, check, kernel);
    spad__json_end(&json);
    return spad__out_finish(&out, error);
}

/* ---- SARIF ------------------------------------------------------------------------- */

static const char *sarif_level(spad_severity severity) {
    switch (severity) {
    case SPAD_SEVERITY_ERROR: return "error";
    case SPAD_SEVERITY_WARNING: return "warning";
    case SPAD_SEVERITY_ADVICE: return "note";
    case SPAD_SEVERITY_COMPILER: return "warning";
    }
    return "none";
}

static void sarif_message(spad__json *json, const char *key, const char *text) {
    spad__json_key(json, key);
    spad__json_open(json, '{');
    spad__json_key_string(json, "text", text);
    spad__json_close(json, '}');
}

/* Every code once, in the order of the list. */
static size_t sarif_rule_index(const bool *used, int number) {
    size_t index = 0;
    for (int i = 0; i < number; i++) index += used[i];
    return index;
}

typedef struct rule {
    spad_finding_code code;
    spad_severity severity;
} rule;

static const rule rules[] = {
#define RULE(name, value, severity, code, sentence) {SPAD_FINDING_##name, SPAD_SEVERITY_##severity},
    SPAD_FINDING_LIST(RULE)
#undef RULE
};

enum { RULES = sizeof rules / sizeof rules[0] };

static int rule_of(spad_finding_code code) {
    int i = 0;
    while (i < RULES - 1 && rules[i].code != code) i++;
    return i;
}

/* Where docs/findings.md has an example and its correction: "docs/findings.md#spad-race". */
static void sarif_help(spad__json *json, spad_finding_code code) {
    const char *name = spad_finding_name(code);
    char text[SPAD_MESSAGE_MAX];
    char anchor[64];
    size_t used = 0;
    for (; name[used] != '\0' && used + 1 < sizeof anchor; used++)
        anchor[used] =
            (char)(name[used] >= 'A' && name[used] <= 'Z' ? name[used] + 32 : name[used]);
    anchor[used] = '\0';
    spad__json_key(json, "help");
    spad__json_open(json, '{');
    snprintf(text, sizeof text, "%s: see docs/findings.md#%s", spad_finding_sentence(code), anchor);
    spad__json_key_string(json, "text", text);
    snprintf(text, sizeof text, "%s: see [%s](docs/findings.md#%s)", spad_finding_sentence(code),
             name, anchor);
    spad__json_key_string(json, "markdown", text);
    spad__json_close(json, '}');
}

static void sarif_rules(spad__json *json, const bool *used) {
    spad__json_key(json, "rules");
    spad__json_open(json, '[');
    for (int i = 0; i < RULES; i++) {
        if (!used[i]) continue;
        spad__json_open(json, '{');
        spad__json_key_string(json, "id", spad_finding_name(rules[i].code));
        sarif_message(json, "shortDescription", spad_finding_sentence(rules[i].code));
        sarif_help(json, rules[i].code);
        spad__json_key(json, "defaultConfiguration");
        spad__json_open(json, '{');
        spad__json_key_string(json, "level", sarif_level(rules[i].severity));
        spad__json_close(json, '}');
        spad__json_close(json, '}');
    }
    spad__json_close(json, ']');
}

/* A URI of a path: characters that are not plain are written as %XX (RFC 3986). */
static void sarif_uri(spad__json *json, const char *path) {
    static const char digits[] = "0123456789ABCDEF";
    char uri[SPAD_PROGRAM_FILE_MAX * 3 + 1];
    size_t used = 0;
    for (const char *c = path; *c != '\0' && used + 3 < sizeof uri; c++) {
        const unsigned char byte = (unsigned char)*c;
        const bool plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                           (byte >= '0' && byte <= '9') || byte == '/' || byte == '.' ||
                           byte == '-' || byte == '_' || byte == '~';
        if (plain) {
            uri[used++] = *c;
        } else {
            uri[used++] = '%';
            uri[used++] = digits[byte >> 4];
            uri[used++] = digits[byte & 15];
        }
    }
    uri[used] = '\0';
    spad__json_key_string(json, "uri", uri);
}

static void sarif_location(spad__json *json, const char *file, int32_t line, int32_t column,
                           int32_t width, const char *message) {
    spad__json_open(json, '{');
    spad__json_key(json, "physicalLocation");
    spad__json_open(json, '{');
    spad__json_key(json, "artifactLocation");
    spad__json_open(json, '{');
    sarif_uri(json, file);
    spad__json_close(json, '}');
    spad__json_key(json, "region");
    spad__json_open(json, '{');
    spad__json_key_int(json, "startLine", line);
    spad__json_key_int(json, "startColumn", column);
    spad__json_key_int(json, "endColumn", (int64_t)column + (width > 0 ? width : 1));
    spad__json_close(json, '}');
    spad__json_close(json, '}');
    if (message != NULL) sarif_message(json, "message", message);
    spad__json_close(json, '}');
}

/* The user's line where there is one. */
static void sarif_line(spad__json *json, const reported *r, const char *message) {
    const spad_program_line *p = r->program;
    if (p->line == 0) {
        sarif_location(json, r->file, r->line, r->column, r->width, message);
    } else {
        sarif_location(json, p->file, p->line, p->column > 0 ? p->column : 1, 1, message);
    }
}

static void sarif_related(spad__json *json, const spad_finding *f) {
    spad__json_key(json, "relatedLocations");
    spad__json_open(json, '[');
    if (f->program.line > 0)
        sarif_location(json, f->file, f->line, f->column, f->width, "compiled to this");
    for (size_t i = 0; i < f->note_count; i++) {
        const spad_note *n = &f->notes[i];
        const reported note = {f->file, n->line, n->column, n->width, n->place, &n->program};
        if (n->line > 0) sarif_line(json, &note, n->message);
    }
    spad__json_close(json, ']');
}

static void sarif_suppression(spad__json *json, const spad_finding *f) {
    spad__json_key(json, "suppressions");
    spad__json_open(json, '[');
    spad__json_open(json, '{');
    spad__json_key_string(json, "kind",
                          f->hidden == SPAD_HIDDEN_IN_SOURCE ? "inSource" : "external");
    if (f->why[0] != '\0') spad__json_key_string(json, "justification", f->why);
    spad__json_close(json, '}');
    spad__json_close(json, ']');
}

static void sarif_result(spad__json *json, const spad_finding *f, const bool *used) {
    const bool placed = f->file[0] != '\0' && f->line > 0;
    const reported main = {f->file, f->line, f->column, f->width, f->place, &f->program};
    spad__json_open(json, '{');
    spad__json_key_string(json, "ruleId", spad_finding_name(f->code));
    spad__json_key_int(json, "ruleIndex", (int64_t)sarif_rule_index(used, rule_of(f->code)));
    const bool fails = f->severity == SPAD_SEVERITY_COMPILER && f->fails;
    spad__json_key_string(json, "level", fails ? "error" : sarif_level(f->severity));
    sarif_message(json, "message", f->message);
    spad__json_key(json, "locations");
    spad__json_open(json, '[');
    if (placed) sarif_line(json, &main, NULL);
    spad__json_close(json, ']');
    if (placed && (f->note_count > 0 || f->program.line > 0)) sarif_related(json, f);
    spad__json_key_int(json, "occurrenceCount", f->count > 1 ? f->count : 1);
    spad__json_key(json, "partialFingerprints");
    spad__json_open(json, '{');
    spad__json_key_string(json, "spad/v1", f->fingerprint);
    spad__json_close(json, '}');
    if (f->hidden != SPAD_HIDDEN_NOT) sarif_suppression(json, f);
    spad__json_close(json, '}');
}

static void sarif_tool(spad__json *json, const bool *used) {
    spad__json_key(json, "tool");
    spad__json_open(json, '{');
    spad__json_key(json, "driver");
    spad__json_open(json, '{');
    spad__json_key_string(json, "name", "spad");
    spad__json_key_string(json, "version", spad_version());
    sarif_rules(json, used);
    spad__json_close(json, '}');
    spad__json_close(json, '}');
}

spad_status spad_check_write_sarif(const spad_check *const *checks, size_t count,
                                   const spad_sink *sink, spad_error *error) {
    bool used[RULES] = {false};
    spad__out out;
    spad__json json;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < checks[i]->found.count; k++) {
            used[rule_of(checks[i]->found.items[k].finding.code)] = true;
        }
    }
    spad__out_start(&out, sink);
    spad__json_start(&json, &out);
    spad__json_open(&json, '{');
    spad__json_key_string(&json, "$schema",
                          "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
                          "sarif-schema-2.1.0.json");
    spad__json_key_string(&json, "version", "2.1.0");
    spad__json_key(&json, "runs");
    spad__json_open(&json, '[');
    spad__json_open(&json, '{');
    sarif_tool(&json, used);
    spad__json_key_string(&json, "columnKind", "unicodeCodePoints");
    spad__json_key(&json, "results");
    spad__json_open(&json, '[');
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < checks[i]->found.count; k++) {
            sarif_result(&json, &checks[i]->found.items[k].finding, used);
        }
    }
    spad__json_close(&json, ']');
    spad__json_close(&json, '}');
    spad__json_close(&json, ']');
    spad__json_close(&json, '}');
    spad__json_end(&json);
    return spad__out_finish(&out, error);
}
