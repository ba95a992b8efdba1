/* SPDX-License-Identifier: Apache-2.0
 *
 * A report as JSON: docs/schema/report.schema.json. One box a line. Names are as
 * they were given, apart from bytes that are not UTF-8.
 */
#include "finding/findings.h"
#include "report/report.h"
#include "spad/experimental/report_parts.h"

enum { JSON_VERSION = 1 };

static void write_shape(spad__json *json, spad_shape shape) {
    spad__json_key(json, "shape");
    spad__json_open_flat(json, '[');
    for (size_t i = 0; i < shape.rank; i++) spad__json_int(json, shape.dims[i]);
    spad__json_close_flat(json, ']');
}

void spad__json_place(spad__json *json, const spad_report_box *box) {
    spad__json_key_int(json, "lane", box->rect.lane);
    spad__json_key_int(json, "lanes", box->rect.lanes);
    if (spad__is_drawn(box)) spad__json_key_int(json, "byte", box->rect.byte);
    spad__json_key_int(json, "bytes", box->rect.bytes);
    spad__json_key_int(json, "begin", box->begin);
    spad__json_key_int(json, "end", box->end);
}

static void write_box(spad__json *json, const spad__picture *p, size_t number) {
    const spad_report_box *box = &p->report->boxes.items[number];
    const int64_t input = spad__report_input_of(p->report, number);
    spad__json_open_flat(json, '{');
    spad__json_key_int(json, "number", (int64_t)number);
    spad__json_key_string(json, "name", box->name);
    if (box->shape.rank > 0) write_shape(json, box->shape);
    if (box->dtype != SPAD_DTYPE_NONE)
        spad__json_key_string(json, "dtype", spad_dtype_name(box->dtype));
    spad__json_key_string(json, "mode", spad_mode_name(box->mode));
    spad__json_place(json, box);
    if (box->open) spad__json_key_bool(json, "open", true);
    if (box->padding > 0) spad__json_key_int(json, "padding", box->padding);
    if (box->alignment > 1) spad__json_key_int(json, "alignment", box->alignment);
    if (box->rounding > 0) spad__json_key_int(json, "rounding", box->rounding);
    if (box->slots > 0) {
        spad__json_key_int(json, "slot", box->slot);
        spad__json_key_int(json, "slots", box->slots);
    }
    if (box->family >= 0) spad__json_key_int(json, "family", box->family);
    if (box->line > 0) spad__json_key_int(json, "line", box->line);
    if (input >= 0) spad__json_key_int(json, "in_place", input);
    if (p->partner[number] >= 0) spad__json_key_int(json, "conflict", p->partner[number]);
    spad__json_close_flat(json, '}');
}

static void write_rules(spad__json *json, const spad_space *space) {
    spad__json_key_string(json, "name", space->name);
    spad__json_key_int(json, "lanes", space->lanes);
    if (space->bytes != SPAD_UNBOUNDED) {
        spad__json_key_int(json, "bytes", space->bytes);
        spad__json_key_int(json, "reserved", space->reserved);
    }
    if (space->bank_bytes > 0) spad__json_key_int(json, "bank_bytes", space->bank_bytes);
}

static void json_view(spad__json *json, const spad__picture *p, const spad__view *view) {
    const spad_report_space *facts = &view->facts;
    spad__json_open(json, '{');
    write_rules(json, &p->report->target->spaces[view->space]);
    spad__json_key_int(json, "low", facts->low);
    spad__json_key_int(json, "top", facts->top);
    spad__json_key_int(json, "padding", facts->padding);
    spad__json_key_int(json, "conflicts", facts->conflicts);
    if (facts->sampled) spad__json_key_bool(json, "sampled", true);
    spad__json_key_open(json, "peak", '{');
    spad__json_key_int(json, "time", facts->peak_time);
    spad__json_key_int(json, "bytes", facts->peak_bytes);
    spad__json_key_int(json, "free", facts->peak_free);
    spad__json_key_int(json, "largest_hole", facts->largest_hole);
    spad__json_key(json, "boxes");
    spad__json_open_flat(json, '[');
    for (size_t i = 0; i < view->peak.count; i++) {
        spad__json_int(json, (int64_t)view->peak.items[i]);
    }
    spad__json_close_flat(json, ']');
    spad__json_close(json, '}');
    spad__json_key(json, "live");
    spad__json_open_flat(json, '[');
    for (size_t i = 0; i < view->steps.count; i++) {
        spad__json_open(json, '[');
        spad__json_int(json, view->steps.items[i].time);
        spad__json_int(json, view->steps.items[i].live);
        spad__json_close(json, ']');
    }
    spad__json_close_flat(json, ']');
    spad__json_key_open(json, "boxes", '[');
    for (size_t i = 0; i < facts->boxes; i++) {
        write_box(json, p, p->order[view->first + i]);
    }
    spad__json_close(json, ']');
    spad__json_close(json, '}');
}

static void json_bars(spad__json *json, const spad_report *report) {
    spad__json_key(json, "rows");
    spad__json_open_flat(json, '[');
    for (size_t i = 0; i < report->rows.count; i++) spad__json_string(json, report->rows.items[i]);
    spad__json_close_flat(json, ']');
    spad__json_key_open(json, "bars", '[');
    for (size_t i = 0; i < report->bars.count; i++) {
        const spad_report_bar *bar = &report->bars.items[i].bar;
        spad__json_open_flat(json, '{');
        spad__json_key_int(json, "row", (int64_t)report->bars.items[i].row);
        spad__json_key_string(json, "name", bar->name);
        spad__json_key_int(json, "begin", bar->begin);
        spad__json_key_int(json, "end", bar->end);
        if (bar->ready < bar->begin) spad__json_key_int(json, "ready", bar->ready);
        if (bar->wait != NULL) spad__json_key_string(json, "wait", bar->wait);
        if (bar->critical) spad__json_key_bool(json, "critical", true);
        if (bar->line > 0) spad__json_key_int(json, "line", bar->line);
        if (bar->reads > 0) spad__json_key_int(json, "reads", bar->reads);
        if (bar->writes > 0) spad__json_key_int(json, "writes", bar->writes);
        spad__json_close_flat(json, '}');
    }
    spad__json_close(json, ']');
}

static void json_report_finding(spad__json *json, const spad_finding *finding) {
    spad__json_open(json, '{');
    spad__json_key_string(json, "code", spad_finding_name(finding->code));
    spad__json_key_string(json, "severity", spad_severity_name(finding->severity));
    spad__json_key_string(json, "message", finding->message);
    if (finding->subject[0] != '\0') spad__json_key_string(json, "subject", finding->subject);
    if (finding->other[0] != '\0') spad__json_key_string(json, "other", finding->other);
    spad__json_lines(json, &finding->program, (spad_location){finding->line, finding->column, -1});
    if (finding->place[0] != '\0') spad__json_key_string(json, "place", finding->place);
    if (finding->time != SPAD_NO_FACT) spad__json_key_int(json, "time", finding->time);
    if (finding->count > 1) spad__json_key_int(json, "count", finding->count);
    spad__json_key_open(json, "notes", '[');
    for (size_t i = 0; i < finding->note_count; i++) {
        spad__json_open_flat(json, '{');
        spad__json_key_string(json, "message", finding->notes[i].message);
        spad__json_lines(json, &finding->notes[i].program,
                         (spad_location){finding->notes[i].line, -1, -1});
        spad__json_close_flat(json, '}');
    }
    spad__json_close(json, ']');
    spad__json_close(json, '}');
}

static void json_head(spad__json *json, const spad__picture *p) {
    const spad_report *report = p->report;
    spad__json_key_string(json, "format", "spad-report");
    spad__json_key_int(json, "version", JSON_VERSION);
    spad__json_key_string(json, "title", report->title);
    spad__json_key_string(json, "target", report->target->name);
    spad__json_key_open(json, "notes", '[');
    for (size_t i = 0; i < report->note_count; i++) spad__json_string(json, report->notes[i]);
    spad__json_close(json, ']');
    spad__json_key(json, "time");
    spad__json_open_flat(json, '{');
    spad__json_key_string(json, "unit", report->time_unit);
    if (report->badge != NULL) spad__json_key_string(json, "badge", report->badge);
    if (report->costs != NULL) spad__json_key_string(json, "costs", report->costs);
    if (report->bound != NULL) spad__json_key_string(json, "bound", report->bound);
    spad__json_key_int(json, "begin", p->begin);
    spad__json_key_int(json, "end", p->end);
    spad__json_close_flat(json, '}');
    if (report->roofs.count == 0) return;
    spad__json_key_open(json, "roofs", '[');
    for (size_t i = 0; i < report->roofs.count; i++) {
        const spad__roof_row *roof = &report->roofs.items[i];
        spad__json_open_flat(json, '{');
        spad__json_key_string(json, "roof", roof->name);
        spad__json_key_string(json, "kind", roof->kind);
        spad__json_key_string(json, "basis", roof->basis);
        spad__json_key_int(json, "permille", roof->busy);
        spad__json_close_flat(json, '}');
    }
    spad__json_close(json, ']');
}

spad_status spad__write_report_json(const spad__picture *picture, const spad_sink *sink,
                                    spad_error *error) {
    const spad_report *report = picture->report;
    spad__out out;
    spad__json json;
    spad__out_start(&out, sink);
    spad__out_limit(&out, &picture->limit);
    spad__json_start(&json, &out);
    spad__json_open(&json, '{');
    json_head(&json, picture);
    spad__json_key_open(&json, "spaces", '[');
    for (size_t i = 0; i < picture->view_count; i++) json_view(&json, picture, &picture->views[i]);
    spad__json_close(&json, ']');
    json_bars(&json, report);
    spad__json_key_open(&json, "findings", '[');
    for (size_t i = 0; i < report->findings.count; i++) {
        json_report_finding(&json, &report->findings.items[i]);
    }
    spad__json_close(&json, ']');
    if (report->source != NULL) {
        spad__json_key_open(&json, "source", '{');
        spad__json_key_string(&json, "file", report->file);
        spad__json_key_string(&json, "text", report->source);
        spad__json_close(&json, '}');
    }
    spad__json_close(&json, '}');
    spad__json_end(&json);
    return spad__out_finish(&out, error);
}
