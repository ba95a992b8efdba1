/* SPDX-License-Identifier: Apache-2.0
 *
 * The map of one space in an SVG: address upwards, time to the right, and the live bytes below it.
 */
#include <string.h>

#include "base/checked.h"
#include "report/svg.h"
#include "spad/experimental/report_parts.h"

enum { BANKS_MOST = 64 };

static void write_caption(spad__drawing *d) {
    const spad_report_space *facts = &d->view->facts;
    const spad_space *space = &d->picture->report->target->spaces[d->view->space];
    spad__svg_text(d->out, "h", "start", SPAD__SVG_LEFT * 100, (d->y + 16) * 100);
    spad__out_markup(d->out, space->name, 40);
    spad__out_string(d->out, "</text>\n");
    spad__svg_text(d->out, "m", "start", SPAD__SVG_LEFT * 100, (d->y + 34) * 100);
    spad__out_string(d->out, "used ");
    spad__out_bytes_short(d->out, spad__space_used(d->view));
    if (facts->usable != SPAD_UNBOUNDED) {
        spad__out_string(d->out, " of ");
        spad__out_bytes_short(d->out, facts->usable);
    }
    spad__out_format(d->out, "%s, live peak ", space->lanes > 1 ? " a lane" : "");
    spad__out_bytes_short(d->out, facts->peak_bytes);
    spad__out_string(d->out, " at ");
    spad__svg_number(d->out, facts->peak_time);
    spad__out_string(d->out, ", largest hole then ");
    spad__out_bytes_short(d->out, facts->largest_hole);
    spad__out_string(d->out, ", ");
    spad__svg_number(d->out, (int64_t)facts->boxes);
    spad__out_string(d->out, " boxes");
    if (space->lanes > 1) spad__out_format(d->out, ", %s lanes", spad__grouped(space->lanes).text);
    if (facts->conflicts > 0)
        spad__out_format(d->out, ", %s boxes in conflict (hatched)",
                         spad__grouped(facts->conflicts).text);
    spad__out_string(d->out, "</text>\n");
    d->y += SPAD__SVG_CAPTION;
}

/* A multiple of a step, exactly, in the largest unit that two steps consist of. */
static void write_address(spad__out *out, int64_t address, int64_t step) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t unit = 0;
    for (; step % 1024 == 0; step /= 1024, address /= 1024) unit++;
    const bool is_half = step == 512;
    if (is_half) unit++;
    if (is_half && address < 0 && address > -1024) spad__out_string(out, "-");
    spad__svg_number(out, is_half ? address / 1024 : address);
    if (is_half && address % 1024 != 0) spad__out_string(out, ".5");
    if (address != 0) spad__out_format(out, " %s", units[unit]);
}

static void write_address_axis(const spad__drawing *d) {
    const int64_t low = d->view->facts.low;
    const int64_t step = spad__svg_step(d->high - low, true);
    for (int64_t address = spad__svg_first_tick(low, step); address >= low && address <= d->high;) {
        spad__svg_text(d->out, "m tick address", "end", (SPAD__SVG_LEFT - 6) * 100,
                       spad__svg_y(d, address) + 400);
        write_address(d->out, address, step);
        spad__out_string(d->out, "</text>\n");
        if (address > d->high - step) break;
        address += step;
    }
}

/* Frame, banks, what is reserved, and the addresses at the left. */
static void write_frame(const spad__drawing *d) {
    const spad_space *space = &d->picture->report->target->spaces[d->view->space];
    const spad_report_space *facts = &d->view->facts;
    const int64_t x0 = SPAD__SVG_LEFT * 100;
    const int64_t x1 = (SPAD__SVG_LEFT + SPAD__SVG_PLOT) * 100;
    spad__svg_rectangle(d->out, "f", x0, d->y * 100, x1, (d->y + SPAD__SVG_MAP) * 100);
    spad__out_string(d->out, "/>\n");
    if (facts->usable < d->high) {
        spad__svg_rectangle(d->out, "r", x0, d->y * 100, x1, spad__svg_y(d, facts->usable));
        spad__out_string(d->out, "/>\n");
        spad__svg_line(d->out, "k", x0, spad__svg_y(d, facts->usable), x1,
                       spad__svg_y(d, facts->usable));
    }
    for (int64_t k = 1; space->bank_bytes > 0 && k <= BANKS_MOST; k++) {
        int64_t at;
        if (!spad__mul(k, space->bank_bytes, &at) || at >= d->high) break;
        spad__svg_line(d->out, "g", x0, spad__svg_y(d, at), x1, spad__svg_y(d, at));
    }
    write_address_axis(d);
}

static void write_title(spad__out *out, const spad_report_box *box, size_t most) {
    spad__out_string(out, "><title>");
    spad__out_markup(out, spad__box_label(box), most);
    spad__out_format(
        out, ": %s at %s, lanes %s to %s, live %s to %s, %s",
        spad__exact_size(box->rect.bytes).text, spad__grouped(box->rect.byte).text,
        spad__grouped(box->rect.lane).text, spad__grouped(box->rect.lane + box->rect.lanes).text,
        spad__grouped(box->begin).text, spad__grouped(box->end).text, spad_mode_name(box->mode));
    if (box->slots > 0)
        spad__out_format(out, ", copy %s of %s", spad__grouped(box->slot).text,
                         spad__grouped(box->slots).text);
    spad__out_string(out, "</title></rect>\n");
}

/* False: too small to be seen, or a part of the grid. */
static bool draw_box(spad__drawing *d, const spad_report_box *box) {
    const int64_t x0 = spad__svg_x(d, box->begin);
    const int64_t x1 = spad__svg_x(d, box->end);
    const int64_t y0 = spad__svg_y(d, box->rect.byte + box->rect.bytes);
    const int64_t y1 = spad__svg_y(d, box->rect.byte);
    if (d->light != NULL ? spad__svg_size_class(x1 - x0, y1 - y0) < d->least
                         : x1 - x0 < 20 && y1 - y0 < 20)
        return false;
    spad__svg_rectangle(d->out, "b", x0, y0, spad__max(x1, x0 + 20), spad__max(y1, y0 + 20));
    spad__svg_fill(d->out, spad__colour_of(&d->colours, spad__box_label(box)),
                   box->slots > 0 && box->slot % 2 != 0);
    write_title(d->out, box, d->light != NULL ? SPAD__SVG_LIGHT_CHARACTERS : 0);
    if (box->padding > 0) {
        spad__svg_rectangle(d->out, "p", x0, y0, x1,
                            spad__svg_y(d, box->rect.byte + box->rect.bytes - box->padding));
        spad__out_string(d->out, "/>\n");
    }
    if (y1 - y0 >= 1200)
        spad__svg_label(d->out, spad__box_label(box), x0 + 400, (y0 + y1) / 2 + 350, x1 - x0);
    return true;
}

static void write_conflict(const spad__drawing *d, const spad_report_box *a,
                           const spad_report_box *b) {
    spad__svg_rectangle(
        d->out, "c", spad__svg_x(d, spad__max(a->begin, b->begin)),
        spad__svg_y(d, spad__min(a->rect.byte + a->rect.bytes, b->rect.byte + b->rect.bytes)),
        spad__svg_x(d, spad__min(a->end, b->end)),
        spad__svg_y(d, spad__max(a->rect.byte, b->rect.byte)));
    spad__out_string(d->out, "><title>conflict: ");
    spad__out_markup(d->out, spad__box_label(a), 0);
    spad__out_string(d->out, " and ");
    spad__out_markup(d->out, spad__box_label(b), 0);
    spad__out_string(d->out, "</title></rect>\n");
}

/* Colours in the order of the boxes, whether they can be seen or not. */
static void choose_colours(spad__drawing *d) {
    const spad__picture *p = d->picture;
    d->colours = (spad__colours){0};
    for (size_t i = 0; i < d->view->facts.boxes; i++) {
        const size_t number = p->order[d->view->first + i];
        spad__colour_of(&d->colours, spad__box_label(&p->report->boxes.items[number]));
    }
}

static void write_boxes(spad__drawing *d) {
    const spad__picture *p = d->picture;
    int64_t hidden = 0;
    int64_t conflicts = d->light != NULL ? d->light->boxes / 4 : INT64_MAX;
    if (d->light != NULL) spad__svg_shades(d);
    for (size_t i = 0; i < d->view->facts.boxes; i++) {
        const spad_report_box *box = &p->report->boxes.items[p->order[d->view->first + i]];
        if (spad__is_drawn(box) && box->rect.bytes > 0) hidden += !draw_box(d, box);
    }
    for (size_t i = 0; i < d->view->facts.boxes; i++) {
        const size_t number = p->order[d->view->first + i];
        if (p->partner[number] < 0 || conflicts-- <= 0) continue;
        write_conflict(d, &p->report->boxes.items[number],
                       &p->report->boxes.items[p->partner[number]]);
    }
    if (hidden == 0) return;
    spad__svg_text(d->out, "m", "end", (SPAD__SVG_LEFT + SPAD__SVG_PLOT) * 100,
                   (d->y - SPAD__SVG_LEGEND - 12) * 100);
    spad__svg_number(d->out, hidden);
    spad__out_format(d->out, " boxes %s</text>\n",
                     d->light != NULL ? "are shades of gray" : "too small to draw");
}

/* What tensors may use, across the curve. */
static void write_curve_limit(const spad__drawing *d, int64_t most) {
    const int64_t usable = d->view->facts.usable;
    if (usable > most || usable < 0) return;
    const int64_t y =
        (d->y + SPAD__SVG_CURVE) * 100 - spad__scale(usable, most, (SPAD__SVG_CURVE - 16) * 100);
    spad__svg_line(d->out, "k", SPAD__SVG_LEFT * 100, y, (SPAD__SVG_LEFT + SPAD__SVG_PLOT) * 100,
                   y);
    spad__svg_text(d->out, "m", "end", (SPAD__SVG_LEFT + SPAD__SVG_PLOT - 4) * 100, y - 300);
    spad__out_string(d->out, "capacity ");
    spad__out_bytes_short(d->out, usable);
    spad__out_string(d->out, "</text>\n");
}

static void write_curve(const spad__drawing *d) {
    const spad__view *view = d->view;
    const int64_t bottom = (d->y + SPAD__SVG_CURVE) * 100;
    const int64_t peak = spad__max(view->facts.peak_bytes, 1);
    const int64_t usable = view->facts.usable;
    /* the capacity is in sight where the curve keeps a third of the height */
    const int64_t most = usable > peak && usable / 3 <= peak ? usable : peak;
    int64_t level = bottom;
    spad__out_format(d->out, "<path class=\"l\" d=\"M%d %lld", SPAD__SVG_LEFT,
                     (long long)(d->y + SPAD__SVG_CURVE));
    for (size_t i = 0; i < view->steps.count; i++) {
        const int64_t x = spad__svg_x(d, view->steps.items[i].time);
        int64_t live = view->steps.items[i].live;
        /* a light curve has the highest step of each cell */
        while (d->light != NULL && i + 1 < view->steps.count &&
               spad__svg_x(d, view->steps.items[i + 1].time) - x < d->light->cell * 25) {
            live = spad__max(live, view->steps.items[++i].live);
        }
        const int64_t y = bottom - spad__scale(live, most, (SPAD__SVG_CURVE - 16) * 100);
        spad__out_format(d->out, "H%lld.%02dV%lld.%02d", (long long)(x / 100), (int)(x % 100),
                         (long long)(y / 100), (int)(y % 100));
        level = y;
    }
    if (level != bottom) spad__out_format(d->out, "H%d", SPAD__SVG_LEFT + SPAD__SVG_PLOT);
    spad__out_format(d->out, "V%lldZ\"/>\n", (long long)(d->y + SPAD__SVG_CURVE));
    const int64_t x = spad__svg_x(d, view->facts.peak_time);
    spad__svg_line(d->out, "k", x, (d->y - SPAD__SVG_MAP - SPAD__SVG_GAP) * 100, x, bottom);
    spad__svg_text(d->out, "m", "start", x + 300, (d->y + 2) * 100);
    spad__out_string(d->out, "peak</text>\n");
    write_curve_limit(d, most);
    spad__svg_text(d->out, "m", "end", (SPAD__SVG_LEFT - 6) * 100,
                   bottom - spad__scale(peak, most, (SPAD__SVG_CURVE - 16) * 100) + 400);
    spad__out_bytes_short(d->out, view->facts.peak_bytes);
    spad__out_string(d->out, "</text>\n");
    spad__svg_text(d->out, "m", "end", (SPAD__SVG_LEFT - 6) * 100, bottom);
    spad__out_string(d->out, "live</text>\n");
}

void spad__svg_view(spad__drawing *d) {
    const spad_report_space *facts = &d->view->facts;
    const int64_t span = spad__max(facts->top - facts->low, 1);
    /* up to what is used; with the limit in sight when it is near */
    d->high = facts->low + span;
    choose_colours(d);
    const bool near = facts->usable != SPAD_UNBOUNDED && facts->usable > d->high &&
                      facts->usable - facts->low <= span + span / 3;
    if (near) d->high = facts->usable;
    write_caption(d);
    spad__svg_legend(d, (SPAD__SVG_LEFT + SPAD__SVG_PLOT) * 100);
    d->y += SPAD__SVG_LEGEND;
    write_frame(d);
    write_boxes(d);
    d->y += SPAD__SVG_MAP + SPAD__SVG_GAP;
    write_curve(d);
    d->y += SPAD__SVG_CURVE;
    spad__svg_time_axis(d);
    d->y += SPAD__SVG_AXIS + SPAD__SVG_GAP;
}
