/* SPDX-License-Identifier: Apache-2.0
 *
 * A report in Chrome's trace format, which Perfetto and chrome://tracing open.
 *
 * Process 1 has the rows of the timeline as threads; every space is a process
 * of its own after it, with its live bytes as a counter and each lifetime as an
 * asynchronous pair, because lifetimes overlap and complete events must nest. What an
 * operation waited for is among its arguments. Times are microseconds there: a
 * nanosecond is written as one thousandth, any other unit as a whole one. Where times are
 * assumed, the name of process 1 has the badge: viewers show nothing else that is ours.
 */
#include <stdio.h>
#include <string.h>

#include "report/report.h"
#include "spad/experimental/report_parts.h"
#include "spad/experimental/sim.h"

typedef struct event_writer {
    spad__json json;
    bool nanoseconds;
} event_writer;

static void out_time(event_writer *w, const char *key, int64_t time) {
    spad__json_key(&w->json, key);
    if (!w->nanoseconds) {
        spad__json_int(&w->json, time);
        return;
    }
    spad__json_thousandths(&w->json, time);
}

static void open_event(event_writer *w, const char *phase, const char *name, int64_t process) {
    spad__json_open_flat(&w->json, '{');
    spad__json_key_string(&w->json, "ph", phase);
    spad__json_key_string(&w->json, "name", name);
    spad__json_key_int(&w->json, "pid", process);
}

static void trace_name(event_writer *w, const char *what, int64_t process, int64_t thread,
                       const char *name) {
    open_event(w, "M", what, process);
    if (thread > 0) spad__json_key_int(&w->json, "tid", thread);
    spad__json_key_open(&w->json, "args", '{');
    spad__json_key_string(&w->json, "name", name);
    spad__json_close(&w->json, '}');
    spad__json_close_flat(&w->json, '}');
}

/* ---- the timeline ------------------------------------------------------------------ */

static void write_slice(event_writer *w, const char *name, int64_t thread, int64_t begin,
                        int64_t end, const char *category) {
    open_event(w, "X", name, 1);
    spad__json_key_int(&w->json, "tid", thread);
    out_time(w, "ts", begin);
    out_time(w, "dur", end - begin);
    spad__json_key_string(&w->json, "cat", category);
}

static void trace_bars(event_writer *w, const spad_report *report) {
    char name[SPAD_BADGE_TEXT + 16] = "engines";
    if (report->badge != NULL) snprintf(name, sizeof name, "engines (%s)", report->badge);
    if (report->rows.count > 0) trace_name(w, "process_name", 1, 0, name);
    for (size_t i = 0; i < report->rows.count; i++) {
        trace_name(w, "thread_name", 1, (int64_t)i + 1, report->rows.items[i]);
    }
    for (size_t i = 0; i < report->bars.count; i++) {
        const spad_report_bar *bar = &report->bars.items[i].bar;
        const int64_t thread = (int64_t)report->bars.items[i].row + 1;
        write_slice(w, bar->name != NULL ? bar->name : "(unnamed)", thread, bar->begin, bar->end,
                    bar->critical ? "critical" : "operation");
        spad__json_key_open(&w->json, "args", '{');
        if (bar->wait != NULL) {
            spad__json_key_string(&w->json, "waited for", bar->wait);
            out_time(w, "waited", bar->begin - bar->ready);
        }
        if (bar->line > 0) spad__json_key_int(&w->json, "line", bar->line);
        spad__json_close(&w->json, '}');
        spad__json_close_flat(&w->json, '}');
    }
}

/* ---- spaces ------------------------------------------------------------------------ */

static void trace_life(event_writer *w, const spad_report_box *box, size_t number, int64_t process,
                       bool begins) {
    open_event(w, begins ? "b" : "e", spad__box_label(box), process);
    spad__json_key_string(&w->json, "cat", "life");
    spad__json_key_int(&w->json, "id", (int64_t)number + 1);
    spad__json_key_int(&w->json, "tid", 1);
    out_time(w, "ts", begins ? box->begin : box->end);
    if (begins) {
        spad__json_key_open(&w->json, "args", '{');
        if (spad__is_drawn(box)) spad__json_key_int(&w->json, "byte", box->rect.byte);
        spad__json_key_int(&w->json, "bytes", box->rect.bytes);
        spad__json_key_int(&w->json, "lane", box->rect.lane);
        spad__json_key_int(&w->json, "lanes", box->rect.lanes);
        spad__json_key_string(&w->json, "mode", spad_mode_name(box->mode));
        spad__json_close(&w->json, '}');
    }
    spad__json_close_flat(&w->json, '}');
}

static void trace_view(event_writer *w, const spad__picture *p, const spad__view *view) {
    const int64_t process = (int64_t)view->space + 2;
    trace_name(w, "process_name", process, 0, p->report->target->spaces[view->space].name);
    for (size_t i = 0; i < view->steps.count; i++) {
        open_event(w, "C", "live bytes", process);
        out_time(w, "ts", view->steps.items[i].time);
        spad__json_key_open(&w->json, "args", '{');
        spad__json_key_int(&w->json, "bytes", view->steps.items[i].live);
        spad__json_close(&w->json, '}');
        spad__json_close_flat(&w->json, '}');
    }
    for (size_t i = 0; i < view->facts.boxes; i++) {
        const size_t number = p->order[view->first + i];
        trace_life(w, &p->report->boxes.items[number], number, process, true);
        trace_life(w, &p->report->boxes.items[number], number, process, false);
    }
}

spad_status spad__write_report_trace(const spad__picture *picture, const spad_sink *sink,
                                     spad_error *error) {
    const spad_report *report = picture->report;
    spad__out out;
    event_writer w = {.nanoseconds = strcmp(report->time_unit, "ns") == 0 ||
                                     strcmp(report->time_unit, "assumed ns") == 0};
    spad__out_start(&out, sink);
    spad__out_limit(&out, &picture->limit);
    spad__json_start(&w.json, &out);
    spad__json_open(&w.json, '{');
    spad__json_key_string(&w.json, "displayTimeUnit", "ns");
    spad__json_key_open(&w.json, "otherData", '{');
    spad__json_key_string(&w.json, "title", report->title);
    spad__json_key_string(&w.json, "target", report->target->name);
    spad__json_key_string(&w.json, "time unit", report->time_unit);
    if (report->badge != NULL) spad__json_key_string(&w.json, "costs", report->badge);
    spad__json_close(&w.json, '}');
    spad__json_key_open(&w.json, "traceEvents", '[');
    trace_bars(&w, report);
    for (size_t i = 0; i < picture->view_count; i++) trace_view(&w, picture, &picture->views[i]);
    spad__json_close(&w.json, ']');
    spad__json_close(&w.json, '}');
    spad__json_end(&w.json);
    return spad__out_finish(&out, error);
}
