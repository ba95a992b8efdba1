/* SPDX-License-Identifier: Apache-2.0
 *
 * A report as one HTML file: the page (page.html, page.css and page_*.js, turned into
 * arrays when the library is built) with the data in a script element of its own.
 *
 * Data are a table of different strings and columns of numbers, one per property (columns.h), in an
 * element that all share. That element and what is long are packed (deflate.c), so that 10^5 boxes
 * are about 1.5 MB. The page reads
 * the strings and shows them as text. Of the user, only the title and the names in witnesses
 * (witness_svg.c) stand in the markup itself, where they are escaped.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/names.h"
#include "report/columns.h"
#include "report/deflate.h"
#include "report/html.h"
#include "report/page.h"
#include "spad/experimental/report_parts.h"

enum {
    PACKED_FROM = 1 << 16, /* bytes of an element from which on it is packed */
    SOURCE_NEAR = 1 << 19  /* bytes of a text beyond which it has an element of its own */
};

/* ---- strings: every different one once --------------------------------------------- */

/* The number of a string, or -1 without memory. NULL counts as "". */
static int64_t string_number(spad__names *strings, const char *text) {
    if (text == NULL) text = "";
    const size_t known = spad__names_index(strings, "", text);
    if (known != SPAD__NO_NAME) return (int64_t)known;
    const size_t number = strings->names.count;
    return spad__names_add(strings, "", text) != NULL ? (int64_t)number : -1;
}

/* A list under a key: `write` has one entry, without what separates them. */
typedef void (*write_entry)(spad__out *out, const void *context, size_t i);

static void write_key_list(spad__out *out, const char *key, size_t count, write_entry write,
                           const void *context) {
    spad__out_format(out, "\"%s\":[", key);
    for (size_t i = 0; i < count; i++) {
        if (i > 0) spad__out_string(out, ",");
        write(out, context, i);
    }
    spad__out_string(out, "]");
}

static void write_string_entry(spad__out *out, const void *context, size_t i) {
    const spad__names *strings = context;
    spad__out_script_string(out, strings->names.items[i].text);
}

/* ---- keys --------------------------------------------------------------------------- */

static void write_key_number(spad__out *out, const char *key, int64_t value) {
    spad__out_format(out, "\"%s\":", key);
    spad__write_number(out, value);
    spad__out_string(out, ",");
}

static void write_key_string(spad__out *out, const char *key, const char *text) {
    spad__out_format(out, "\"%s\":", key);
    spad__out_script_string(out, text);
    spad__out_string(out, ",");
}

/* ---- boxes ------------------------------------------------------------------------- */

typedef enum sheet_column {
    NUMBER,
    NAME,
    BEGIN,
    LENGTH,
    BYTE,
    BYTES,
    SHEET_LANE,
    SHEET_LANES,
    MODE,
    FORM,
    PADDING,
    SLOT,
    SLOTS,
    FAMILY,
    LINE,
    OPEN,
    PARTNER,
    BOX_INPUT,
    STATE,
    BOX_ROUNDING,
    BOX_ALIGNMENT,
    SHEET_COLUMNS
} sheet_column;

static const char *const sheet_column_names[SHEET_COLUMNS] = {[NUMBER] = "number",
                                                              [NAME] = "name",
                                                              [BEGIN] = "begin",
                                                              [LENGTH] = "length",
                                                              [BYTE] = "byte",
                                                              [BYTES] = "bytes",
                                                              [SHEET_LANE] = "lane",
                                                              [SHEET_LANES] = "lanes",
                                                              [MODE] = "mode",
                                                              [FORM] = "form",
                                                              [PADDING] = "padding",
                                                              [SLOT] = "slot",
                                                              [SLOTS] = "slots",
                                                              [FAMILY] = "family",
                                                              [LINE] = "line",
                                                              [OPEN] = "open",
                                                              [PARTNER] = "partner",
                                                              [BOX_INPUT] = "input",
                                                              [STATE] = "state",
                                                              [BOX_ROUNDING] = "rounding",
                                                              [BOX_ALIGNMENT] = "alignment"};

/* Strings of a report, by their numbers. */
typedef struct texts {
    const spad_report *report;
    spad__names strings;
    int64_t *names; /* per box */
    int64_t *forms; /* per box: shape and type */
    int64_t *bar_names;
    int64_t *bar_waits;
} texts;

typedef struct sheet {
    const spad__page_part *part;
    const spad__view *view;
    const texts *texts;
} sheet;

static int64_t sheet_cell(const sheet *s, size_t i, sheet_column what) {
    const spad__picture *p = s->part->picture;
    const size_t number = p->order[s->view->first + i];
    const spad_report_box *box = &p->report->boxes.items[number];
    switch (what) {
    case NUMBER: return (int64_t)number;
    case NAME: return s->texts->names[number];
    case BEGIN: return box->begin;
    case LENGTH: return box->end - box->begin;
    case BYTE: return spad__is_drawn(box) ? box->rect.byte : -1;
    case BYTES: return box->rect.bytes;
    case SHEET_LANE: return box->rect.lane;
    case SHEET_LANES: return box->rect.lanes;
    case MODE: return (int64_t)box->mode;
    case FORM: return s->texts->forms[number];
    case PADDING: return box->padding;
    case SLOT: return box->slot;
    case SLOTS: return box->slots;
    case FAMILY: return box->family;
    case LINE: return box->line;
    case OPEN: return (box->open ? 1 : 0) + (spad__is_drawn(box) ? 0 : 2);
    case PARTNER: return p->partner[number];
    case BOX_INPUT: return spad__report_input_of(p->report, number);
    case STATE: return s->part->states != NULL ? s->part->states[number] : 0;
    case BOX_ROUNDING: return box->rounding;
    case BOX_ALIGNMENT: return box->alignment;
    case SHEET_COLUMNS: break;
    }
    return 0;
}

static int64_t box_cell(const void *context, size_t i, int what) {
    return sheet_cell(context, i, (sheet_column)what);
}

static int64_t peak_cell(const void *context, size_t i, int what) {
    const spad__view *view = context;
    (void)what;
    return (int64_t)view->peak.items[i];
}

enum { STEP_TIME, STEP_LIVE };

static int64_t step_cell(const void *context, size_t i, int what) {
    const spad__view *view = context;
    return what == STEP_TIME ? view->steps.items[i].time : view->steps.items[i].live;
}

static void write_key_count(spad__out *out, const char *key, size_t count) {
    spad__out_format(out, "\"%s\":{\"count\":%zu", key, count);
}

static void write_view(spad__page_out *page, const sheet *s) {
    spad__out *out = page->json;
    const spad__picture *p = s->part->picture;
    const spad_space *space = &p->report->target->spaces[s->view->space];
    const spad_report_space *facts = &s->view->facts;
    spad__out_string(out, "{");
    write_key_string(out, "name", space->name);
    write_key_string(out, "about", space->about);
    write_key_number(out, "lanes", space->lanes);
    write_key_number(out, "size", space->bytes != SPAD_UNBOUNDED ? space->bytes : -1);
    write_key_number(out, "usable", facts->usable != SPAD_UNBOUNDED ? facts->usable : -1);
    write_key_number(out, "bank", space->bank_bytes);
    write_key_number(out, "low", facts->low);
    write_key_number(out, "top", facts->top);
    write_key_number(out, "used", spad__space_used(s->view));
    write_key_number(out, "peak", facts->peak_bytes);
    write_key_number(out, "peakTime", facts->peak_time);
    write_key_number(out, "peakFree", facts->peak_free);
    write_key_number(out, "peakHole", facts->largest_hole);
    write_key_number(out, "padding", facts->padding);
    write_key_number(out, "conflicts", facts->conflicts);
    write_key_number(out, "sampled", facts->sampled);
    write_key_count(out, "peakBoxes", s->view->peak.count);
    spad__write_column(page, "number", s->view->peak.count, peak_cell, s->view, 0);
    spad__out_string(out, "},");
    write_key_count(out, "live", s->view->steps.count);
    spad__write_column(page, "time", s->view->steps.count, step_cell, s->view, STEP_TIME);
    spad__write_column(page, "bytes", s->view->steps.count, step_cell, s->view, STEP_LIVE);
    spad__out_string(out, "},\n");
    write_key_count(out, "boxes", facts->boxes);
    for (int c = 0; c < SHEET_COLUMNS; c++) {
        spad__write_column(page, sheet_column_names[c], facts->boxes, box_cell, s, c);
    }
    spad__out_string(out, "}}");
}

/* ---- the rest ---------------------------------------------------------------------- */

typedef enum bar_column {
    BAR_ROW,
    BAR_BEGIN,
    BAR_LENGTH,
    BAR_WAIT,
    BAR_CRITICAL,
    BAR_LINE,
    BAR_NAME,
    BAR_FOR,
    BAR_READS,
    BAR_WRITES,
    BAR_COLUMNS
} bar_column;

static const char *const bar_names[BAR_COLUMNS] = {
    [BAR_ROW] = "row",      [BAR_BEGIN] = "begin",       [BAR_LENGTH] = "length",
    [BAR_WAIT] = "wait",    [BAR_CRITICAL] = "critical", [BAR_LINE] = "line",
    [BAR_NAME] = "name",    [BAR_FOR] = "for",           [BAR_READS] = "reads",
    [BAR_WRITES] = "writes"};

static int64_t bar_cell(const void *context, size_t i, int what) {
    const texts *t = context;
    const spad__bar *item = &t->report->bars.items[i];
    switch ((bar_column)what) {
    case BAR_ROW: return (int64_t)item->row;
    case BAR_BEGIN: return item->bar.begin;
    case BAR_LENGTH: return item->bar.end - item->bar.begin;
    case BAR_WAIT: return item->bar.begin - item->bar.ready;
    case BAR_CRITICAL: return item->bar.critical;
    case BAR_LINE: return item->bar.line;
    case BAR_NAME: return t->bar_names[i];
    case BAR_FOR: return t->bar_waits[i];
    case BAR_READS: return item->bar.reads;
    case BAR_WRITES: return item->bar.writes;
    case BAR_COLUMNS: break;
    }
    return 0;
}

static void write_row_entry(spad__out *out, const void *context, size_t i) {
    const spad_report *report = context;
    spad__out_script_string(out, report->rows.items[i]);
}

static void write_bars(spad__page_out *page, const texts *t) {
    spad__out *out = page->json;
    write_key_list(out, "rows", t->report->rows.count, write_row_entry, t->report);
    spad__out_string(out, ",\n");
    write_key_count(out, "bars", t->report->bars.count);
    for (int c = 0; c < BAR_COLUMNS; c++) {
        spad__write_column(page, bar_names[c], t->report->bars.count, bar_cell, t, c);
    }
    spad__out_string(out, "},\n");
}

/* "at": [file, line, its text, the calls, the code of a toolkit inside], of the user's program. */
static void write_program_line(spad__out *out, const spad_program_line *p) {
    const char *const rest[] = {p->code, p->called_at, p->inside};
    spad__out_string(out, "[");
    spad__out_script_string(out, p->file);
    spad__out_string(out, ",");
    spad__write_number(out, p->line);
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) {
        spad__out_string(out, ",");
        spad__out_script_string(out, rest[i]);
    }
    spad__out_string(out, "]");
}

static void write_finding_note(spad__out *out, const void *context, size_t i) {
    const spad_finding *finding = context;
    spad__out_string(out, "[");
    spad__write_number(out, finding->notes[i].line);
    spad__out_string(out, ",");
    spad__out_script_string(out, finding->notes[i].message);
    if (finding->notes[i].program.line > 0) {
        spad__out_string(out, ",");
        write_program_line(out, &finding->notes[i].program);
    }
    spad__out_string(out, "]");
}

static void write_finding_entry(spad__out *out, const void *context, size_t i) {
    const spad_finding *finding = &((const spad_report *)context)->findings.items[i];
    spad__out_string(out, "{");
    write_key_string(out, "code", spad_finding_name(finding->code));
    write_key_string(out, "severity", spad_severity_name(finding->severity));
    write_key_string(out, "message", finding->message);
    write_key_string(out, "subject", finding->subject);
    write_key_string(out, "other", finding->other);
    write_key_number(out, "line", finding->line);
    if (finding->program.line > 0) {
        spad__out_string(out, "\"at\":");
        write_program_line(out, &finding->program);
        spad__out_string(out, ",");
    }
    write_key_number(out, "count", finding->count);
    if (finding->time != SPAD_NO_FACT) write_key_number(out, "time", finding->time);
    write_key_list(out, "notes", finding->note_count, write_finding_note, finding);
    spad__out_string(out, "}");
}

/* "(128, 512) bfloat16" as a string of the table; -1: no memory. */
static int64_t form_number(spad__names *strings, const spad_report_box *box) {
    char text[SPAD_RANK_MAX * 24 + 64];
    size_t used = 0;
    for (size_t i = 0; i < box->shape.rank; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, i == 0 ? "(%lld" : ", %lld",
                                 (long long)box->shape.dims[i]);
    }
    if (box->shape.rank > 0) used += (size_t)snprintf(text + used, sizeof text - used, ") ");
    snprintf(text + used, sizeof text - used, "%s",
             box->dtype != SPAD_DTYPE_NONE ? spad_dtype_name(box->dtype) : "");
    return string_number(strings, text);
}

static bool number_texts(texts *t) {
    const spad_report *report = t->report;
    bool fine = true;
    for (size_t i = 0; i < report->boxes.count && fine; i++) {
        t->names[i] = string_number(&t->strings, report->boxes.items[i].name);
        t->forms[i] = form_number(&t->strings, &report->boxes.items[i]);
        fine = t->names[i] >= 0 && t->forms[i] >= 0;
    }
    for (size_t i = 0; i < report->bars.count && fine; i++) {
        t->bar_names[i] = string_number(&t->strings, report->bars.items[i].bar.name);
        t->bar_waits[i] = string_number(&t->strings, report->bars.items[i].bar.wait);
        fine = t->bar_names[i] >= 0 && t->bar_waits[i] >= 0;
    }
    return fine;
}

/* A long text is unpacked when the reader asks for it. */
static bool has_far_source(const spad_report *report) {
    return report->source != NULL && strlen(report->source) > SOURCE_NEAR;
}

static bool names_file(const spad_finding *finding, const char *file) {
    bool named = finding->program.line > 0 && strcmp(finding->program.file, file) == 0;
    for (size_t i = 0; i < finding->note_count && !named; i++) {
        const spad_program_line *p = &finding->notes[i].program;
        named = p->line > 0 && strcmp(p->file, file) == 0;
    }
    return named;
}

/* Is a file of the program shown? Those that findings name, or else that of the first statement. */
static bool shows_file(const spad_report *report, const spad__program_file *f) {
    const char *name = report->program.words.names.items[f->name].text;
    bool named = false, any = false;
    if (strlen(f->text) > SOURCE_NEAR) return false;
    for (size_t i = 0; i < report->findings.count && !named; i++) {
        const spad_finding *finding = &report->findings.items[i];
        named = names_file(finding, name);
        any |= finding->program.line > 0;
    }
    return named || (!any && strcmp(name, report->program.first) == 0);
}

/* [name, text] of each file of the program that is shown. */
static void write_files(spad__out *out, const spad_report *report) {
    const char *before = "";
    spad__out_string(out, "\"files\":[");
    for (size_t i = 0; i < report->program.files.count; i++) {
        const spad__program_file *f = &report->program.files.items[i];
        if (!shows_file(report, f)) continue;
        spad__out_format(out, "%s[", before);
        spad__out_script_string(out, report->program.words.names.items[f->name].text);
        spad__out_string(out, ",");
        spad__out_script_string(out, f->text);
        spad__out_string(out, "]");
        before = ",";
    }
    spad__out_string(out, "],\n");
}

/* [text, text, number]: a row of a table. */
static void write_table_row(spad__out *out, const char *first, const char *second, int64_t number) {
    spad__out_string(out, "[");
    spad__out_script_string(out, first);
    spad__out_string(out, ",");
    spad__out_script_string(out, second);
    spad__out_string(out, ",");
    spad__write_number(out, number);
    spad__out_string(out, "]");
}

/* Name, basis, thousandths. */
static void write_roof_entry(spad__out *out, const void *context, size_t i) {
    const spad__roof_row *roof = &((const spad_report *)context)->roofs.items[i];
    write_table_row(out, roof->name, roof->basis, roof->busy);
}

/* Name, sentence, bytes that leave the peak. */
static void write_change_entry(spad__out *out, const void *context, size_t i) {
    const spad__report_change *change = &((const spad_report *)context)->changes.items[i];
    write_table_row(out, change->name, change->text, change->leaves);
}

static void write_note_entry(spad__out *out, const void *context, size_t i) {
    spad__out_script_string(out, ((const spad_report *)context)->notes[i]);
}

static void write_in_tables_entry(spad__out *out, const void *context, size_t i) {
    spad__out_string(out, ((const spad_report *)context)->in_tables[i] ? "1" : "0");
}

/* The basis of the times, the bound of the kernel, and the change that makes it fit. */
static void write_tables(spad__out *out, const spad_report *report) {
    if (report->costs != NULL) write_key_string(out, "costs", report->costs);
    if (report->bound != NULL) write_key_string(out, "bound", report->bound);
    if (report->roofs.count > 0) {
        write_key_list(out, "roofs", report->roofs.count, write_roof_entry, report);
        spad__out_string(out, ",\n");
    }
    if (report->changes.count > 0) {
        write_key_list(out, "changes", report->changes.count, write_change_entry, report);
        spad__out_string(out, ",\n");
    }
}

static void write_report(spad__page_out *page, const spad__page_part *part, const texts *t) {
    spad__out *out = page->json;
    const spad__picture *p = part->picture;
    const spad_report *report = p->report;
    spad__out_string(out, "{");
    write_key_string(out, "title", report->title);
    write_key_string(out, "target", report->target->name);
    write_key_string(out, "about", report->target->about);
    write_key_string(out, "unit", report->time_unit);
    if (report->badge != NULL) write_key_string(out, "badge", report->badge);
    write_tables(out, report);
    write_key_number(out, "begin", p->begin);
    write_key_number(out, "end", p->end);
    if (report->works_at > 0) write_key_number(out, "worksAt", report->works_at);
    write_key_list(out, "notes", report->note_count, write_note_entry, report);
    spad__out_string(out, ",");
    write_key_list(out, "inTables", report->note_count, write_in_tables_entry, report);
    spad__out_string(out, ",\n");
    write_bars(page, t);
    write_key_list(out, "findings", report->findings.count, write_finding_entry, report);
    spad__out_string(out, ",\n");
    write_files(out, report);
    write_key_string(out, "file", report->file);
    if (has_far_source(report)) {
        spad__out_string(out, "\"far\":true,"); /* in an element of its own: write_far */
    } else {
        write_key_string(out, "source", report->source);
    }
    spad__out_string(out, "\n\"spaces\":[");
    for (size_t i = 0; i < p->view_count; i++) {
        const sheet s = {part, &p->views[i], t};
        if (i > 0) spad__out_string(out, ",\n");
        write_view(page, &s);
    }
    spad__out_string(out, "],\n");
    write_key_list(out, "strings", t->strings.names.count, write_string_entry, &t->strings);
    spad__out_string(out, "}");
}

static spad_status write_page_part(spad__page_out *out, const spad__page_part *part,
                                   spad_error *error) {
    const spad_report *report = part->picture->report;
    spad__arena arena = {.host = report->host};
    texts t = {.report = report};
    spad__names_init(&t.strings, &report->host);
    t.names = spad__arena_array(&arena, report->boxes.count + 1, sizeof *t.names);
    t.forms = spad__arena_array(&arena, report->boxes.count + 1, sizeof *t.forms);
    t.bar_names = spad__arena_array(&arena, report->bars.count + 1, sizeof *t.bar_names);
    t.bar_waits = spad__arena_array(&arena, report->bars.count + 1, sizeof *t.bar_waits);
    const bool fine = t.names != NULL && t.forms != NULL && t.bar_names != NULL &&
                      t.bar_waits != NULL && number_texts(&t);
    if (fine) write_report(out, part, &t);
    spad__arena_free(&arena);
    spad__names_free(&t.strings);
    return fine ? SPAD_OK : spad__fail_host_memory(error);
}

/* ---- the program ------------------------------------------------------------------- */

typedef enum program_column {
    SOURCE_FILE,
    SOURCE_LINE,
    SOURCE_CODE,
    SOURCE_CALLER,
    STATEMENT_LINE,
    STATEMENT_AGENT,
    STATEMENT_NAME,
    STATEMENT_SOURCE,
    USE_STATEMENT,
    USE_TENSOR,
    USE_KIND,
    USE_LINE,
    USE_COLUMN,
    USE_WIDTH,
    PROGRAM_COLUMNS
} program_column;

static const char *const program_names[PROGRAM_COLUMNS] = {
    [SOURCE_FILE] = "file",     [SOURCE_LINE] = "line",        [SOURCE_CODE] = "code",
    [SOURCE_CALLER] = "caller", [STATEMENT_LINE] = "line",     [STATEMENT_AGENT] = "agent",
    [STATEMENT_NAME] = "name",  [STATEMENT_SOURCE] = "source", [USE_STATEMENT] = "statement",
    [USE_TENSOR] = "tensor",    [USE_KIND] = "kind",           [USE_LINE] = "line",
    [USE_COLUMN] = "column",    [USE_WIDTH] = "width"};

static int64_t program_cell(const void *context, size_t i, int what) {
    const spad__program *program = context;
    switch ((program_column)what) {
    case SOURCE_FILE: return (int64_t)program->sources.items[i].file;
    case SOURCE_LINE: return program->sources.items[i].line;
    case SOURCE_CODE: return (int64_t)program->sources.items[i].code;
    case SOURCE_CALLER: return program->sources.items[i].caller;
    case STATEMENT_LINE: return program->statements.items[i].line;
    case STATEMENT_AGENT: return (int64_t)program->statements.items[i].agent;
    case STATEMENT_NAME: return (int64_t)program->statements.items[i].name;
    case STATEMENT_SOURCE: return program->statements.items[i].source;
    case USE_STATEMENT: return (int64_t)program->uses.items[i].statement;
    case USE_TENSOR: return (int64_t)program->uses.items[i].tensor;
    case USE_KIND: return program->uses.items[i].kind & SPAD_ACCESS_UPDATE;
    case USE_LINE: return program->uses.items[i].place.line;
    case USE_COLUMN: return program->uses.items[i].place.column;
    case USE_WIDTH: return program->uses.items[i].place.width;
    case PROGRAM_COLUMNS: break;
    }
    return 0;
}

/* The columns [first, end) as a table. */
static void write_program_table(spad__page_out *page, const spad__program *program, const char *key,
                                size_t count, program_column first, program_column end) {
    write_key_count(page->json, key, count);
    for (int c = (int)first; c < (int)end; c++)
        spad__write_column(page, program_names[c], count, program_cell, program, c);
    spad__out_string(page->json, "},");
}

static void write_program(spad__page_out *page, const spad__program *program) {
    spad__out_string(page->json, "{");
    write_program_table(page, program, "sources", program->sources.count, SOURCE_FILE,
                        STATEMENT_LINE);
    write_program_table(page, program, "statements", program->statements.count, STATEMENT_LINE,
                        USE_STATEMENT);
    write_program_table(page, program, "uses", program->uses.count, USE_STATEMENT, PROGRAM_COLUMNS);
    write_key_list(page->json, "words", program->words.names.count, write_string_entry,
                   &program->words);
    spad__out_string(page->json, "}");
}

/* ---- the page ---------------------------------------------------------------------- */

static void write_modes(spad__out *out) {
    spad__out_string(out, "\"modes\":[");
    for (int m = 0; m < SPAD_MODE_COUNT; m++) {
        spad__out_format(out, "%s\"%s\"", m > 0 ? "," : "", spad_mode_name((spad_mode)m));
    }
    spad__out_string(out, "],\n");
}

/* Nothing is loaded, and only our own script and style are run, which their digests name: text that
 * got out of its quotes would do nothing. */
static void write_policy(spad__out *out) {
    spad__out_string(out, "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
                          "'none'; base-uri 'none'; form-action 'none'; style-src '");
    spad__out_string(out, spad__page_css_hash);
    spad__out_string(out, "'; script-src '");
    spad__out_string(out, spad__page_js_hash);
    spad__out_string(out, "'\">\n");
}

/* The parts of the page that are always the same, with the witnesses in front of its main part. */
static void write_body(spad__out *out, const spad__page_part *parts, size_t count) {
    static const char main_part[] = "<main>";
    size_t at = 0;
    while (at + sizeof main_part <= spad__page_html_size &&
           memcmp(spad__page_html + at, main_part, sizeof main_part - 1) != 0) {
        at++;
    }
    spad__out_bytes(out, spad__page_html, at);
    spad__write_witnesses(out, parts, count);
    spad__out_bytes(out, spad__page_html + at, spad__page_html_size - at);
}

/* [number of a change, the plan with it as a report] of each change whose places are known. Reports
 * that are compared have no changes, so it is known whose they are. */
static spad_status write_alternatives(spad__page_out *page, const spad_report *report,
                                      spad_error *error) {
    spad_status status = SPAD_OK;
    bool first = true;
    for (size_t i = 0; i < report->changes.count && status == SPAD_OK; i++) {
        spad__picture picture;
        if (report->changes.items[i].with == NULL) continue;
        status = spad__picture_make(&picture, report->changes.items[i].with, error);
        if (status != SPAD_OK) break;
        const spad__page_part part = {.picture = &picture};
        spad__out_format(page->json, "%s[%zu,", first ? "" : ",\n", i);
        status = write_page_part(page, &part, error);
        spad__out_string(page->json, "]");
        spad__picture_free(&picture);
        first = false;
    }
    return status;
}

/* All data as JSON and columns. */
static spad_status write_json(spad__page_out *page, const spad__page_part *parts, size_t count,
                              spad_error *error) {
    spad__out *out = page->json;
    spad_status status = SPAD_OK;
    spad__out_string(out, "{");
    write_modes(out);
    spad__out_string(out, "\"version\":\"" SPAD_VERSION_STRING "\",\"reports\":[");
    for (size_t i = 0; i < count && status == SPAD_OK; i++) {
        if (i > 0) spad__out_string(out, ",\n");
        status = write_page_part(page, &parts[i], error);
    }
    spad__out_string(out, "],\n\"programs\":[");
    for (size_t i = 0; i < count && status == SPAD_OK; i++) {
        if (i > 0) spad__out_string(out, ",\n");
        write_program(page, &parts[i].picture->report->program);
    }
    spad__out_string(out, "],\n\"with\":[");
    for (size_t i = 0; i < count && status == SPAD_OK; i++)
        status = write_alternatives(page, parts[i].picture->report, error);
    spad__out_string(out, "]}");
    return status;
}

/* An element with bytes in packed form. */
static bool write_packed(spad__out *out, const spad_host *host, const char *id, const char *bytes,
                         size_t count) {
    spad__out_format(out, "<script type=\"application/json\" id=\"%s\" data-size=\"%zu\">", id,
                     count);
    const bool fine = spad__out_deflated(out, host, bytes, count);
    spad__out_string(out, "</script>\n");
    return fine;
}

/* An element with text, as it is or packed where it is long. */
static bool write_element(spad__out *out, const spad_host *host, const char *id, const char *text,
                          size_t length) {
    if (length > PACKED_FROM) return write_packed(out, host, id, text, length);
    spad__out_format(out, "<script type=\"application/json\" id=\"%s\">", id);
    spad__out_bytes(out, text, length);
    spad__out_string(out, "</script>\n");
    return true;
}

/* All data in memory, from where they are written or packed. */
typedef struct page_data {
    spad__memo json;
    spad__memo columns;
} page_data;

static void start_memo(spad__out *out, spad__memo *memo, const spad__limit *limit) {
    const spad_sink sink = spad__memo_sink(memo);
    spad__out_start(out, &sink);
    spad__out_limit(out, limit);
}

static spad_status make_data(page_data *data, const spad__page_part *parts, size_t count,
                             spad_error *error) {
    spad__out json;
    spad__out columns;
    spad__page_out page = {.json = &json, .columns = &columns};
    start_memo(&json, &data->json, &parts[0].picture->limit);
    start_memo(&columns, &data->columns, &parts[0].picture->limit);
    spad_status status = write_json(&page, parts, count, error);
    /* the first that failed has the reason: nothing is asked of the other one after it */
    if (status == SPAD_OK && !(json.failed && !columns.failed))
        status = spad__out_finish(&columns, error);
    if (status == SPAD_OK) status = spad__out_finish(&json, error);
    return status == SPAD_ERR_IO ? spad__fail_host_memory(error) : status;
}

static bool write_far(spad__out *out, const spad_report *report, size_t number) {
    char id[32];
    if (!has_far_source(report)) return true;
    snprintf(id, sizeof id, "source%zu", number);
    return write_element(out, &report->host, id, report->source, strlen(report->source));
}

static spad_status write_whole(const spad__page_part *parts, size_t count, const page_data *data,
                               const spad_sink *sink, spad_error *error) {
    const spad_host *host = &parts[0].picture->report->host;
    spad__out out;
    spad__out_start(&out, sink);
    spad__out_limit(&out, &parts[0].picture->limit);
    spad__out_string(&out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                           "<meta name=\"viewport\" content=\"width=device-width\">\n");
    write_policy(&out);
    spad__out_string(&out, "<title>");
    spad__out_markup(&out, parts[0].picture->report->title, 120);
    spad__out_string(&out, "</title>\n<style>\n");
    spad__out_bytes(&out, spad__page_css, spad__page_css_size);
    spad__out_string(&out, "</style>\n</head>\n<body>\n");
    write_body(&out, parts, count);
    bool fine =
        write_packed(&out, host, "columns", data->columns.text.items, data->columns.text.count) &&
        write_element(&out, host, "data", data->json.text.items, data->json.text.count);
    for (size_t i = 0; i < count && fine; i++) fine = write_far(&out, parts[i].picture->report, i);
    if (!fine) return spad__fail_host_memory(error);
    spad__out_string(&out, "<script>\n");
    spad__out_bytes(&out, spad__page_js, spad__page_js_size);
    spad__out_string(&out, "</script>\n</body>\n</html>\n");
    return spad__out_finish(&out, error);
}

spad_status spad__write_page(const spad__page_part *parts, size_t count, const spad_sink *sink,
                             spad_error *error) {
    const spad_host *host = &parts[0].picture->report->host;
    page_data data = {.json = {.host = host}, .columns = {.host = host}};
    spad_status status = make_data(&data, parts, count, error);
    if (status == SPAD_OK) status = write_whole(parts, count, &data, sink, error);
    spad__memo_free(&data.json);
    spad__memo_free(&data.columns);
    return status;
}

spad_status spad__write_report_html(const spad__picture *picture, const spad_sink *sink,
                                    spad_error *error) {
    const spad__page_part part = {.picture = picture};
    return spad__write_page(&part, 1, sink, error);
}
