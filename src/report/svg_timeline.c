/* SPDX-License-Identifier: Apache-2.0
 *
 * The timeline of an SVG: operations on the rows of their engines, and what they wait for.
 */
#include "base/checked.h"
#include "report/svg.h"
#include "spad/experimental/report_parts.h"

static void write_wait(const spad__drawing *d, const spad__bar *item) {
    const int64_t y = (d->y + (int64_t)item->row * SPAD__SVG_ROW) * 100;
    if (item->bar.ready == item->bar.begin) return;
    spad__svg_line(d->out, "w", spad__svg_x(d, item->bar.ready), y + 1000,
                   spad__svg_x(d, item->bar.begin), y + 1000);
}

static void write_bar(spad__drawing *d, const spad__bar *item) {
    const spad_report_bar *bar = &item->bar;
    const int64_t y = (d->y + (int64_t)item->row * SPAD__SVG_ROW) * 100;
    const int64_t x0 = spad__svg_x(d, bar->begin);
    const int64_t x1 = spad__svg_x(d, bar->end);
    const char *name = bar->name != NULL ? bar->name : "(unnamed)";
    const int colour = spad__colour_of(&d->colours, name);
    if (d->light != NULL ? spad__svg_size_class(x1 - x0, 100) < d->least : x1 - x0 < 5) return;
    spad__svg_rectangle(d->out, "b", x0, y + 200, x1, y + 1800);
    spad__svg_fill(d->out, colour, false);
    if (bar->critical) spad__out_string(d->out, " style=\"stroke:#cf222e;stroke-opacity:1\"");
    spad__out_string(d->out, "><title>");
    spad__out_markup(d->out, name, d->light != NULL ? SPAD__SVG_LIGHT_CHARACTERS : 0);
    spad__out_format(d->out, ": %s to %s</title></rect>\n", spad__grouped(bar->begin).text,
                     spad__grouped(bar->end).text);
    spad__svg_label(d->out, name, x0 + 300, y + 1350, x1 - x0);
}

size_t spad__svg_rows(const spad__picture *p, const spad__light_detail *light) {
    const size_t rows = p->report->rows.count;
    return light != NULL && rows > (size_t)light->rows ? (size_t)light->rows : rows;
}

void spad__svg_timeline(spad__drawing *d) {
    const spad_report *report = d->picture->report;
    if (report->rows.count == 0) return;
    const size_t rows = spad__svg_rows(d->picture, d->light);
    d->colours = (spad__colours){0};
    if (d->light != NULL) spad__svg_bar_shades(d, rows);
    for (size_t i = 0; i < rows; i++) {
        spad__svg_text(d->out, "m", "end", (SPAD__SVG_LEFT - 6) * 100,
                       (d->y + (int64_t)i * SPAD__SVG_ROW + 14) * 100);
        spad__out_markup(d->out, report->rows.items[i], 12);
        spad__out_string(d->out, "</text>\n");
    }
    for (size_t i = 0; i < report->bars.count && d->light == NULL; i++)
        write_wait(d, &report->bars.items[i]);
    for (size_t i = 0; i < report->bars.count; i++)
        if (report->bars.items[i].row < rows) write_bar(d, &report->bars.items[i]);
    d->y += (int64_t)rows * SPAD__SVG_ROW;
    spad__svg_time_axis(d);
    d->y += SPAD__SVG_AXIS;
    spad__svg_legend(d, (SPAD__SVG_LEFT + SPAD__SVG_PLOT - 240) * 100);
    spad__svg_text(d->out, "m", "end", (SPAD__SVG_LEFT + SPAD__SVG_PLOT) * 100, (d->y + 10) * 100);
    spad__out_string(d->out, d->light != NULL ? "gray: short operations, red border: critical path"
                                              : "dotted: waits, red border: critical path");
    spad__out_string(d->out, "</text>\n");
}
