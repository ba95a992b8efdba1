/* SPDX-License-Identifier: Apache-2.0
 *
 * A report as one HTML file: the page (page.html, page.css and page.js, turned into
 * arrays when the library is built) with the data in a script element of its own.
 *
 * Data are columns of numbers, one array per property, and a table of different
 * strings, so that 10^5 boxes are a few MiB and are parsed at once. Times and
 * addresses go as differences to the box before. Nothing of the user stands anywhere
 * else in the file: the page reads the strings and shows them as text.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/names.h"
#include "report/html.h"
#include "report/page.h"

/* ---- strings: every different one once --------------------------------------------------------
 */

/* The number of a string, or -1 without memory. NULL counts as "". */
static int64_t string_number(spad__names *strings, const char *text) {
    if (text == NULL) text = "";
    const size_t known = spad__names_index(strings, "", text);
    if (known != SPAD__NO_NAME) return (int64_t)known;
    const size_t number = strings->names.count;
    return spad__names_add(strings, "", text) != NULL ? (int64_t)number : -1;
}

static void write_strings(spad__out *out, const spad__names *strings) {
    spad__out_string(out, "\"strings\":[");
    for (size_t i = 0; i < strings->names.count; i++) {
        if (i > 0) spad__out_string(out, ",");
        spad__out_script_string(out, strings->names.items[i].text);
    }
    spad__out_string(out, "]");
}

/* ---- numbers ------------------------------------------------------------------------------------
 */

static void write_number(spad__out *out, int64_t value) {
    char digits[24];
    char *at = digits + sizeof digits;
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        *--at = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    if (value < 0) *--at = '-';
    spad__out_bytes(out, at, (size_t)(digits + sizeof digits - at));
}

static void write_key_number(spad__out *out, const char *key, int64_t value) {
    spad__out_format(out, "\"%s\":", key);
    write_number(out, value);
    spad__out_string(out, ",");
}

static void write_key_string(spad__out *out, const char *key, const char *text) {
    spad__out_format(out, "\"%s\":", key);
    spad__out_script_string(out, text);
    spad__out_string(out, ",");
}

/* ---- boxes
 * --------------------------------------------------------------------------------------- */

typedef enum column {
    NUMBER,
    NAME,
    BEGIN,
    LENGTH,
    BYTE,
    BYTES,
    LANE,
    LANES,
    MODE,
    FORM,
    PADDING,
    SLOT,
    SLOTS,
    FAMILY,
    LINE,
    OPEN,
    PARTNER,
    STATE,
    COLUMNS
} column;

static const char *const column_names[COLUMNS] = {
    [NUMBER] = "number",   [NAME] = "name",     [BEGIN] = "begin",     [LENGTH] = "length",
    [BYTE] = "byte",       [BYTES] = "bytes",   [LANE] = "lane",       [LANES] = "lanes",
    [MODE] = "mode",       [FORM] = "form",     [PADDING] = "padding", [SLOT] = "slot",
    [SLOTS] = "slots",     [FAMILY] = "family", [LINE] = "line",       [OPEN] = "open",
    [PARTNER] = "partner", [STATE] = "state"};

typedef struct sheet {
    const spad__page_part *part;
    const spad__view *view;
    const int64_t *names; /* per box of the report: its string */
    const int64_t *forms; /* and that of its shape and type */
} sheet;

static int64_t cell(const sheet *s, size_t i, column what) {
    const spad__picture *p = s->part->picture;
    const size_t number = p->order[s->view->first + i];
    const spad_report_box *box = &p->report->boxes.items[number];
    switch (what) {
    case NUMBER: return (int64_t)number;
    case NAME: return s->names[number];
    case BEGIN: return box->begin;
    case LENGTH: return box->end - box->begin;
    case BYTE: return spad__is_drawn(box) ? box->rect.byte : -1;
    case BYTES: return box->rect.bytes;
    case LANE: return box->rect.lane;
    case LANES: return box->rect.lanes;
    case MODE: return (int64_t)box->mode;
    case FORM: return s->forms[number];
    case PADDING: return box->padding;
    case SLOT: return box->slot;
    case SLOTS: return box->slots;
    case FAMILY: return box->family;
    case LINE: return box->line;
    case OPEN: return (box->open ? 1 : 0) + (spad__is_drawn(box) ? 0 : 2);
    case PARTNER: return p->partner[number];
    case STATE: return s->part->states != NULL ? s->part->states[number] : 0;
    case COLUMNS: break;
    }
    return 0;
}

/* One column: a number if it is the same in all boxes, else differences from box to box,
 * where a run of equal ones is written [difference, times]. */
static void write_column(spad__out *out, const sheet *s, column what) {
    const size_t count = s->view->facts.boxes;
    const int64_t first = cell(s, 0, what);
    bool same = true;
    for (size_t i = 1; i < count && same; i++) same = cell(s, i, what) == first;
    spad__out_format(out, ",\"%s\":", column_names[what]);
    if (same) {
        write_number(out, first);
        return;
    }
    uint64_t before = 0;
    for (size_t i = 0; i < count;) {
        const uint64_t value = (uint64_t)cell(s, i, what);
        const uint64_t difference = value - before;
        uint64_t last = value;
        size_t run = 1;
        while (i + run < count && (uint64_t)cell(s, i + run, what) - last == difference) {
            last += difference;
            run++;
        }
        spad__out_string(out, i == 0 ? "[" : ",");
        if (run > 2) spad__out_string(out, "[");
        write_number(out, (int64_t)difference);
        if (run > 2) {
            spad__out_string(out, ",");
            write_number(out, (int64_t)run);
            spad__out_string(out, "]");
            before = last;
            i += run;
        } else {
            before = value;
            i++;
        }
    }
    spad__out_string(out, "]");
}

static void write_view(spad__out *out, const sheet *s) {
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
    write_key_number(out, "peak", facts->peak_bytes);
    write_key_number(out, "peakTime", facts->peak_time);
    write_key_number(out, "peakFree", facts->peak_free);
    write_key_number(out, "peakHole", facts->largest_hole);
    write_key_number(out, "padding", facts->padding);
    write_key_number(out, "conflicts", facts->conflicts);
    write_key_number(out, "sampled", facts->sampled);
    spad__out_string(out, "\"peakBoxes\":[");
    for (size_t i = 0; i < s->view->peak.count; i++) {
        if (i > 0) spad__out_string(out, ",");
        write_number(out, (int64_t)s->view->peak.items[i]);
    }
    spad__out_string(out, "],\"live\":[");
    for (size_t i = 0; i < s->view->steps.count; i++) {
        if (i > 0) spad__out_string(out, ",");
        write_number(out, s->view->steps.items[i].time);
        spad__out_string(out, ",");
        write_number(out, s->view->steps.items[i].live);
    }
    spad__out_string(out, "],\n\"boxes\":{");
    spad__out_string(out, "\"count\":");
    write_number(out, (int64_t)facts->boxes);
    for (int c = 0; c < COLUMNS; c++) write_column(out, s, (column)c);
    spad__out_string(out, "}}");
}

/* ---- the rest
 * ------------------------------------------------------------------------------------- */

static void write_bars(spad__out *out, const spad_report *report) {
    spad__out_string(out, "\"rows\":[");
    for (size_t i = 0; i < report->rows.count; i++) {
        if (i > 0) spad__out_string(out, ",");
        spad__out_script_string(out, report->rows.items[i]);
    }
    spad__out_string(out, "],\n\"bars\":[");
    for (size_t i = 0; i < report->bars.count; i++) {
        const spad_report_bar *bar = &report->bars.items[i].bar;
        spad__out_string(out, i > 0 ? ",[" : "[");
        const int64_t numbers[] = {(int64_t)report->bars.items[i].row,
                                   bar->begin,
                                   bar->end,
                                   bar->ready,
                                   bar->critical,
                                   bar->line};
        for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++) {
            write_number(out, numbers[k]);
            spad__out_string(out, ",");
        }
        spad__out_script_string(out, bar->name);
        spad__out_string(out, ",");
        spad__out_script_string(out, bar->wait);
        spad__out_string(out, "]");
    }
    spad__out_string(out, "],\n");
}

static void write_finding(spad__out *out, const spad_finding *finding) {
    spad__out_string(out, "{");
    write_key_string(out, "code", spad_finding_name(finding->code));
    write_key_string(out, "severity", spad_severity_name(finding->severity));
    write_key_string(out, "message", finding->message);
    write_key_string(out, "subject", finding->subject);
    write_key_string(out, "other", finding->other);
    write_key_number(out, "line", finding->line);
    write_key_number(out, "count", finding->count);
    if (finding->time != SPAD_NO_FACT) write_key_number(out, "time", finding->time);
    spad__out_string(out, "\"notes\":[");
    for (size_t i = 0; i < finding->note_count; i++) {
        if (i > 0) spad__out_string(out, ",");
        spad__out_string(out, "[");
        write_number(out, finding->notes[i].line);
        spad__out_string(out, ",");
        spad__out_script_string(out, finding->notes[i].message);
        spad__out_string(out, "]");
    }
    spad__out_string(out, "]}");
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

static bool number_texts(spad__names *strings, const spad_report *report, int64_t *names,
                         int64_t *forms) {
    bool fine = true;
    for (size_t i = 0; i < report->boxes.count && fine; i++) {
        names[i] = string_number(strings, report->boxes.items[i].name);
        forms[i] = form_number(strings, &report->boxes.items[i]);
        fine = names[i] >= 0 && forms[i] >= 0;
    }
    return fine;
}

static void write_report(spad__out *out, const spad__page_part *part, const spad__names *strings,
                         const int64_t *names, const int64_t *forms) {
    const spad__picture *p = part->picture;
    const spad_report *report = p->report;
    spad__out_string(out, "{");
    write_key_string(out, "title", report->title);
    write_key_string(out, "target", report->target->name);
    write_key_string(out, "about", report->target->about);
    write_key_string(out, "unit", report->time_unit);
    write_key_number(out, "begin", p->begin);
    write_key_number(out, "end", p->end);
    spad__out_string(out, "\"notes\":[");
    for (size_t i = 0; i < report->note_count; i++) {
        if (i > 0) spad__out_string(out, ",");
        spad__out_script_string(out, report->notes[i]);
    }
    spad__out_string(out, "],\n");
    write_bars(out, report);
    spad__out_string(out, "\"findings\":[");
    for (size_t i = 0; i < report->findings.count; i++) {
        if (i > 0) spad__out_string(out, ",\n");
        write_finding(out, &report->findings.items[i]);
    }
    spad__out_string(out, "],\n");
    write_key_string(out, "file", report->file);
    write_key_string(out, "source", report->source);
    spad__out_string(out, "\n\"spaces\":[");
    for (size_t i = 0; i < p->view_count; i++) {
        const sheet s = {part, &p->views[i], names, forms};
        if (i > 0) spad__out_string(out, ",\n");
        write_view(out, &s);
    }
    spad__out_string(out, "],\n");
    write_strings(out, strings);
    spad__out_string(out, "}");
}

static spad_status write_part(spad__out *out, const spad__page_part *part, spad_error *error) {
    const spad_report *report = part->picture->report;
    const size_t size = (report->boxes.count + 1) * sizeof(int64_t);
    spad__names strings;
    spad__names_init(&strings, &report->host);
    int64_t *names = spad__new(&report->host, size);
    int64_t *forms = spad__new(&report->host, size);
    const bool fine =
        names != NULL && forms != NULL && number_texts(&strings, report, names, forms);
    if (fine) write_report(out, part, &strings, names, forms);
    spad__free(&report->host, names, size);
    spad__free(&report->host, forms, size);
    spad__names_free(&strings);
    return fine ? SPAD_OK : spad__fail_host_memory(error);
}

/* ---- the page
 * ---------------------------------------------------------------------------------------- */

static void write_modes(spad__out *out) {
    spad__out_string(out, "\"modes\":[");
    for (int m = 0; m < SPAD_MODE_COUNT; m++) {
        spad__out_format(out, "%s\"%s\"", m > 0 ? "," : "", spad_mode_name((spad_mode)m));
    }
    spad__out_string(out, "],\n");
}

spad_status spad__write_page(const spad__page_part *parts, size_t count, const spad_sink *sink,
                             spad_error *error) {
    spad__out out;
    spad_status status = SPAD_OK;
    spad__out_start(&out, sink);
    spad__out_string(&out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                           "<meta name=\"viewport\" content=\"width=device-width\">\n"
                           "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
                           "'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
                           "<title>");
    spad__out_markup(&out, parts[0].picture->report->title, 120);
    spad__out_string(&out, "</title>\n<style>\n");
    spad__out_bytes(&out, spad__page_css, spad__page_css_size);
    spad__out_string(&out, "</style>\n</head>\n<body>\n");
    spad__out_bytes(&out, spad__page_html, spad__page_html_size);
    spad__out_string(&out, "<script type=\"application/json\" id=\"data\">{");
    write_modes(&out);
    spad__out_string(&out, "\"version\":\"" SPAD_VERSION_STRING "\",\"reports\":[");
    for (size_t i = 0; i < count && status == SPAD_OK; i++) {
        if (i > 0) spad__out_string(&out, ",\n");
        status = write_part(&out, &parts[i], error);
    }
    spad__out_string(&out, "]}</script>\n<script>\n");
    spad__out_bytes(&out, spad__page_js, spad__page_js_size);
    spad__out_string(&out, "</script>\n</body>\n</html>\n");
    return status == SPAD_OK ? spad__out_finish(&out, error) : status;
}

spad_status spad_report_write_html(const spad_report *report, const spad_sink *sink,
                                   spad_error *error) {
    spad__picture picture;
    spad_status status = spad__picture_make(&picture, report, error);
    if (status != SPAD_OK) return status;
    const spad__page_part part = {.picture = &picture};
    status = spad__write_page(&part, 1, sink, error);
    spad__picture_free(&picture);
    return status;
}
