/* SPDX-License-Identifier: Apache-2.0
 *
 * The facts that the page shows about a line of the source: its agent, the tensors that its
 * statements read and write, and the lines of the user's program that led to it. The rows of the
 * kernel have this, so the page does not read the text. A report is of one kernel: it is taken
 * once, and again only after it was taken back. O(statements + accesses) expected.
 */
#include <string.h>

#include "kernel/kernel.h"
#include "report/report.h"

/* The number of a word. False: no memory. */
static bool take_program_word(spad__program *program, const char *word, size_t *number) {
    *number = spad__names_index(&program->words, "", word);
    if (*number != SPAD__NO_NAME) return true;
    *number = program->words.names.count;
    return spad__names_add(&program->words, "", word) != NULL;
}

static bool take_program_source(spad__program *program, const spad_kernel_source *source) {
    spad__program_source row = {.line = source->line, .caller = source->caller};
    if (!take_program_word(program, source->file, &row.file)) return false;
    if (!take_program_word(program, source->code, &row.code)) return false;
    program->sources.items[program->sources.count++] = row;
    return true;
}

/* A front end without places of accesses gives them that of their statement. */
static spad_location own_place(const spad_statement *s, const spad_kernel_access *access) {
    const spad_location place = access->location;
    const bool is_own = place.line != s->location.line || place.column != s->location.column;
    return is_own ? place : (spad_location){.line = place.line};
}

static bool take_program_statement(spad__program *program, const spad_kernel *kernel,
                                   const spad_statement *s) {
    const char *agent = s->agent > 0 ? kernel->agents.items[s->agent].name : "";
    spad__program_statement row = {.line = s->location.line, .source = s->source};
    if (!take_program_word(program, agent, &row.agent)) return false;
    if (!take_program_word(program, s->name != NULL ? s->name : "", &row.name)) return false;
    for (size_t i = 0; i < s->access_count; i++) {
        const spad_kernel_access *access = &kernel->accesses.items[s->first_access + i];
        spad__program_use use = {.statement = program->statements.count,
                                 .kind = access->kind,
                                 .place = own_place(s, access)};
        if (!take_program_word(program, kernel->tensors.items[access->tensor].name, &use.tensor))
            return false;
        program->uses.items[program->uses.count++] = use;
    }
    program->statements.items[program->statements.count++] = row;
    return true;
}

/* Texts of the program are the kernel's, which need not live as long. */
static bool take_program_file(spad_report *report, const spad__kernel_program *from) {
    spad__program *program = &report->program;
    spad__program_file row = {.text =
                                  spad__arena_copy(&report->texts, from->text, strlen(from->text))};
    if (row.text == NULL || !take_program_word(program, from->file, &row.name)) return false;
    program->files.items[program->files.count++] = row;
    return true;
}

static void find_first_file(spad__program *program, const spad_kernel *kernel) {
    spad_program_line line = {.line = 0};
    for (size_t i = 0; i < kernel->statements.count && line.line == 0; i++)
        spad__program_line(kernel, kernel->statements.items[i].source, &line);
    memcpy(program->first, line.file, sizeof program->first);
}

static bool take_program_rows(spad_report *report, const spad_kernel *kernel) {
    spad__program *program = &report->program;
    bool fine =
        spad__array_reserve(&report->host, &program->files, kernel->programs.count) &&
        spad__array_reserve(&report->host, &program->sources, kernel->sources.count) &&
        spad__array_reserve(&report->host, &program->statements, kernel->statements.count) &&
        spad__array_reserve(&report->host, &program->uses, kernel->accesses.count);
    for (size_t i = 0; i < kernel->sources.count && fine; i++)
        fine = take_program_source(program, &kernel->sources.items[i]);
    for (size_t i = 0; i < kernel->programs.count && fine; i++)
        fine = take_program_file(report, &kernel->programs.items[i]);
    find_first_file(program, kernel);
    for (size_t i = 0; i < kernel->statements.count && fine; i++) {
        const spad_statement *s = &kernel->statements.items[i];
        if (s->location.line > 0) fine = take_program_statement(program, kernel, s);
    }
    return fine;
}

spad_status spad__report_take_program(spad_report *report, const spad_kernel *kernel,
                                      spad_error *error) {
    if (report->program.taken) return SPAD_OK;
    report->program.taken = true;
    if (take_program_rows(report, kernel)) return SPAD_OK;
    spad__report_drop_program(report);
    return spad__fail_host_memory(error);
}

void spad__report_drop_program(spad_report *report) {
    spad__program *program = &report->program;
    program->taken = false;
    spad__names_truncate(&program->words, 0);
    spad__array_free(&report->host, &program->files);
    spad__array_free(&report->host, &program->sources);
    spad__array_free(&report->host, &program->statements);
    spad__array_free(&report->host, &program->uses);
}
