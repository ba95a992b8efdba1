/* SPDX-License-Identifier: Apache-2.0
 *
 * Objects too small to be drawn one by one in a light picture become shades of gray in a grid,
 * whose columns answer to the pointer.
 */
#include "base/checked.h"
#include "report/density.h"
#include "report/svg.h"
#include "spad/experimental/report_parts.h"

enum { SIZE_CLASSES = 64 };

/* A number that grows with the area: one for each doubling. Less than a pixel: 0. */
int spad__svg_size_class(int64_t width, int64_t height) {
    int class = 0;
    if (width < 100 || height < 100) return 0;
    for (int64_t area = width * height; area > 0; area /= 2) class ++;
    return class;
}

/* The least class of which at most `most` are of it or larger. */
static int least_class(const int64_t counts[SIZE_CLASSES], int64_t most) {
    int least = SIZE_CLASSES;
    for (int64_t sum = 0; least > 1; least--) {
        sum += counts[least - 1];
        if (sum > most) break;
    }
    return least;
}

/* What boxes below that class cover. */
static void fill_grid(spad__drawing *d, spad__density *grid) {
    const spad__picture *p = d->picture;
    int64_t counts[SIZE_CLASSES] = {0};
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < d->view->facts.boxes; i++) {
            const spad_report_box *box = &p->report->boxes.items[p->order[d->view->first + i]];
            if (!spad__is_drawn(box) || box->rect.bytes == 0) continue;
            const int64_t x0 = spad__svg_x(d, box->begin), x1 = spad__svg_x(d, box->end);
            const int64_t y0 = spad__svg_y(d, box->rect.byte + box->rect.bytes);
            const int64_t y1 = spad__svg_y(d, box->rect.byte);
            const int class = spad__svg_size_class(x1 - x0, y1 - y0);
            if (pass == 0) counts[class]++;
            if (pass == 0 || class >= d->least) continue;
            spad__density_add(grid, x0 - SPAD__SVG_LEFT * 100, y0 - d->y * 100,
                              x1 - SPAD__SVG_LEFT * 100, y1 - d->y * 100);
        }
        if (pass == 0) d->least = least_class(counts, d->light->boxes);
    }
}

/* Cells of one level, those side by side as one; rows are `pitch` pixels apart. */
static void write_runs(const spad__drawing *d, const spad__density *grid, int level, int64_t pitch,
                       int64_t from, int64_t high) {
    const int64_t side = d->light->cell;
    spad__out_format(d->out, "<path class=\"d%d\" d=\"", level);
    for (int64_t row = 0; row < grid->rows; row++) {
        for (int64_t column = 0, run; column < grid->columns; column += run) {
            const bool here = spad__density_level(grid, column, row) == level;
            for (run = 1; column + run < grid->columns; run++) {
                if ((spad__density_level(grid, column + run, row) == level) != here) break;
            }
            if (!here) continue;
            const int64_t wide = spad__min((column + run) * side, SPAD__SVG_PLOT) - column * side;
            const int64_t tall = spad__min(high, pitch == side ? SPAD__SVG_MAP - row * side : high);
            spad__out_format(d->out, "M%lld %lldh%lldv%lldh-%lldz",
                             (long long)(SPAD__SVG_LEFT + column * side),
                             (long long)(d->y + row * pitch + from), (long long)wide,
                             (long long)tall, (long long)wide);
        }
    }
    spad__out_string(d->out, "\"/>\n");
}

/* The most live bytes from step number *step on, up to pixel x1, and the step there. */
static int64_t most_live(const spad__drawing *d, size_t *step, int64_t x1) {
    const spad__view *view = d->view;
    int64_t most = *step > 0 ? view->steps.items[*step - 1].live : 0;
    for (; *step < view->steps.count && spad__svg_x(d, view->steps.items[*step].time) < x1 * 100;
         (*step)++)
        most = spad__max(most, view->steps.items[*step].live);
    return most;
}

/* A rectangle that is not seen over each column, with what is there: boxes of a map, or bars. */
static void write_columns(const spad__drawing *d, const spad__density *grid, int64_t height,
                          bool is_map) {
    const spad__picture *p = d->picture;
    const int64_t side = d->light->cell;
    int64_t open = 0; /* boxes or bars at the column */
    size_t step = 0;
    for (int64_t column = 0; column < grid->columns; column++) {
        const int64_t x0 = SPAD__SVG_LEFT + column * side;
        const int64_t x1 = spad__min(x0 + side, SPAD__SVG_LEFT + SPAD__SVG_PLOT);
        const int64_t live = is_map ? most_live(d, &step, x1) : 0;
        open += grid->begun[column];
        if (open == 0) continue;
        spad__svg_rectangle(d->out, "o", x0 * 100, d->y * 100, x1 * 100, (d->y + height) * 100);
        spad__out_string(d->out, "><title>");
        spad__svg_number(d->out,
                         p->begin + spad__scale(column * side, SPAD__SVG_PLOT, p->end - p->begin));
        spad__out_string(d->out, " on: ");
        spad__svg_number(d->out, open);
        spad__out_string(d->out, is_map ? " small boxes, live up to " : " short operations");
        if (is_map) spad__out_bytes_short(d->out, live);
        spad__out_string(d->out, "</title></rect>\n");
    }
}

void spad__svg_shades(spad__drawing *d) {
    const spad_host *host = &d->picture->report->host;
    spad__density grid;
    if (!spad__density_make(&grid, host, SPAD__SVG_PLOT * 100, SPAD__SVG_MAP * 100,
                            d->light->cell * 100)) {
        d->failed = true;
        return;
    }
    fill_grid(d, &grid);
    for (int level = 1; level <= SPAD__DENSITY_LEVELS; level++)
        write_runs(d, &grid, level, d->light->cell, 0, d->light->cell);
    write_columns(d, &grid, SPAD__SVG_MAP, true);
    spad__density_free(&grid, host);
}

/* Short bars of a light picture: what part of a cell of its row they cover. */
void spad__svg_bar_shades(spad__drawing *d, size_t rows) {
    const spad_report *report = d->picture->report;
    spad__density grid;
    int64_t counts[SIZE_CLASSES] = {0};
    for (size_t i = 0; i < report->bars.count; i++) {
        const spad_report_bar *bar = &report->bars.items[i].bar;
        counts[spad__svg_size_class(spad__svg_x(d, bar->end) - spad__svg_x(d, bar->begin), 100)]++;
    }
    d->least = least_class(counts, d->light->bars);
    const int64_t cell = d->light->cell * 100;
    if (!spad__density_make(&grid, &report->host, SPAD__SVG_PLOT * 100, (int64_t)rows * cell,
                            cell)) {
        d->failed = true;
        return;
    }
    for (size_t i = 0; i < report->bars.count; i++) {
        const spad__bar *item = &report->bars.items[i];
        const int64_t x0 = spad__svg_x(d, item->bar.begin) - SPAD__SVG_LEFT * 100;
        const int64_t x1 = spad__svg_x(d, item->bar.end) - SPAD__SVG_LEFT * 100;
        if (item->row >= rows || spad__svg_size_class(x1 - x0, 100) >= d->least) continue;
        spad__density_add(&grid, x0, (int64_t)item->row * cell, x1,
                          (int64_t)(item->row + 1) * cell);
    }
    for (int level = 1; level <= SPAD__DENSITY_LEVELS; level++)
        write_runs(d, &grid, level, SPAD__SVG_ROW, 2, SPAD__SVG_ROW - 4);
    write_columns(d, &grid, (int64_t)rows * SPAD__SVG_ROW, false);
    spad__density_free(&grid, &report->host);
}
