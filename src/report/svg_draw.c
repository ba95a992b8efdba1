/* SPDX-License-Identifier: Apache-2.0
 *
 * The pieces of an SVG that all of its parts have: coordinates, rectangles, lines, texts, ticks and
 * legends. Coordinates are whole hundredths of a pixel, computed without floats, so the file is the
 * same everywhere.
 */
#include <string.h>

#include "base/checked.h"
#include "report/svg.h"

enum {
    NAME_CHARACTERS = 31, /* characters of a name in a legend */
    TICKS = 8             /* at most, per axis */
};

int64_t spad__svg_x(const spad__drawing *d, int64_t time) {
    const spad__picture *p = d->picture;
    const int64_t inside = spad__max(p->begin, spad__min(time, p->end)) - p->begin;
    return SPAD__SVG_LEFT * 100 + spad__scale(inside, p->end - p->begin, SPAD__SVG_PLOT * 100);
}

int64_t spad__svg_y(const spad__drawing *d, int64_t address) {
    const int64_t low = d->view->facts.low;
    const int64_t inside = spad__max(low, spad__min(address, d->high)) - low;
    return (d->y + SPAD__SVG_MAP) * 100 - spad__scale(inside, d->high - low, SPAD__SVG_MAP * 100);
}

/* " name=\"12.34\"" */
static void attribute(spad__out *out, const char *name, int64_t hundredths) {
    spad__out_format(out, " %s=\"%lld", name, (long long)(hundredths / 100));
    if (hundredths % 100 != 0) spad__out_format(out, ".%02d", (int)(hundredths % 100));
    spad__out_string(out, "\"");
}

void spad__svg_rectangle(spad__out *out, const char *class, int64_t x0, int64_t y0, int64_t x1,
                         int64_t y1) {
    spad__out_format(out, "<rect class=\"%s\"", class);
    attribute(out, "x", x0);
    attribute(out, "y", y0);
    attribute(out, "width", x1 - x0);
    attribute(out, "height", y1 - y0);
}

void spad__svg_line(spad__out *out, const char *class, int64_t x0, int64_t y0, int64_t x1,
                    int64_t y1) {
    spad__out_format(out, "<line class=\"%s\"", class);
    attribute(out, "x1", x0);
    attribute(out, "y1", y0);
    attribute(out, "x2", x1);
    attribute(out, "y2", y1);
    spad__out_string(out, "/>\n");
}

void spad__svg_fill(spad__out *out, int colour, bool is_odd) {
    spad__out_string(out, " fill=\"");
    spad__out_colour(out, colour, is_odd);
    spad__out_string(out, "\"");
}

/* anchor: start, middle or end. The caller writes the text and "</text>\n". */
void spad__svg_text(spad__out *out, const char *class, const char *anchor, int64_t x, int64_t y) {
    spad__out_format(out, "<text class=\"%s\" text-anchor=\"%s\"", class, anchor);
    attribute(out, "x", x);
    attribute(out, "y", y);
    spad__out_string(out, ">");
}

void spad__svg_number(spad__out *out, int64_t value) {
    spad__out_string(out, spad__grouped(value).text);
}

/* A name where there is room for it; or its index, its two ends, or nothing. */
void spad__svg_label(spad__out *out, const char *name, int64_t x, int64_t y, int64_t width) {
    const size_t room = width > 700 ? (size_t)((width - 700) / 610) : 0;
    const char *index = name + spad__stem_length(name);
    if (strlen(name) > room && *index != '\0' && strlen(index) <= room) name = index;
    if (strlen(name) > room && room < 5) return;
    spad__svg_text(out, "n", "start", x, y);
    spad__out_markup(out, name, room);
    spad__out_string(out, "</text>\n");
}

/* The first names of a map or timeline with their colours, on one line, up to `right`. */
void spad__svg_legend(const spad__drawing *d, int64_t right) {
    int64_t x = SPAD__SVG_LEFT * 100;
    for (size_t i = 0; i < d->colours.count; i++) {
        const char *name = d->colours.names[i];
        const size_t length = spad__stem_length(name);
        const int64_t next =
            x + 2600 + 610 * (int64_t)(length < NAME_CHARACTERS ? length : NAME_CHARACTERS);
        if (next > right) return;
        spad__svg_rectangle(d->out, "b", x, (d->y + 1) * 100, x + 1000, (d->y + 11) * 100);
        spad__svg_fill(d->out, (int)i, false);
        spad__out_string(d->out, "/>\n");
        spad__svg_text(d->out, "m", "start", x + 1400, (d->y + 10) * 100);
        spad__out_markup_stem(d->out, name, NAME_CHARACTERS);
        spad__out_string(d->out, "</text>\n");
        x = next;
    }
}

/* The least round number with at most TICKS of them in a span: 1, 2, 5, 10, 20 ... or a power of
 * two. It is below a third of what 64 bits hold, since it is at most 5/2 of an eighth. */
int64_t spad__svg_step(int64_t span, bool is_binary) {
    const int64_t least = span / TICKS + (span % TICKS != 0);
    int64_t step = 1;
    for (int k = 0; step < least; k++) step = k % 3 == 1 && !is_binary ? step / 2 * 5 : step * 2;
    return step;
}

/* The first multiple of a step that is not before `begin`. */
int64_t spad__svg_first_tick(int64_t begin, int64_t step) {
    const int64_t tick = begin / step * step;
    return tick < begin && tick <= INT64_MAX - step ? tick + step : tick;
}

/* The unit of the axis. The number of an event tells the order, not how long it takes. */
static void write_axis_title(const spad__drawing *d) {
    static const char *const times[] = {"ns", "assumed ns", "cycles"};
    static const char *const orders[] = {"event", "statement", "row"};
    const char *unit = d->picture->report->time_unit;
    const char *before = "";
    const char *after = strcmp(unit, "steps") == 0 ? ", not time" : "";
    for (size_t i = 0; i < 3; i++) {
        if (strcmp(unit, times[i]) == 0) before = "time in ";
        if (strcmp(unit, orders[i]) == 0) {
            before = "number of the ";
            after = ": an order, not time";
        }
    }
    spad__svg_text(d->out, "m", "end", (SPAD__SVG_LEFT + SPAD__SVG_PLOT) * 100, (d->y + 27) * 100);
    spad__out_string(d->out, before);
    spad__out_markup(d->out, unit, 20);
    spad__out_format(d->out, "%s</text>\n", after);
}

void spad__svg_time_axis(const spad__drawing *d) {
    const spad__picture *p = d->picture;
    const int64_t step = spad__svg_step(p->end - p->begin, false);
    for (int64_t time = spad__svg_first_tick(p->begin, step); time >= p->begin && time <= p->end;) {
        const int64_t x = spad__svg_x(d, time);
        spad__svg_line(d->out, "e", x, d->y * 100, x, (d->y + 4) * 100);
        spad__svg_text(d->out, "m tick time",
                       x > (SPAD__SVG_PAGE_WIDTH - 40) * 100 ? "end" : "middle", x,
                       (d->y + 14) * 100);
        spad__svg_number(d->out, time);
        spad__out_string(d->out, "</text>\n");
        if (time > p->end - step) break;
        time += step;
    }
    write_axis_title(d);
}
