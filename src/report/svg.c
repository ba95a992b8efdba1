/* SPDX-License-Identifier: Apache-2.0
 *
 * A report as one SVG to print: per space the map (address upwards, time to the
 * right), below it the live bytes on the same axis, and at the end the rows of the
 * timeline. Coordinates are whole hundredths of a pixel, computed without floats, so
 * the file is the same everywhere.
 *
 * A box that would be smaller than a fifth of a pixel in both directions is left out;
 * the caption says how many were. Lanes are drawn on top of each other.
 *
 * The light picture is for notebooks: of many boxes and bars the largest are drawn, all others are
 * shades of gray in a grid, and every part of it answers to the pointer. Its detail is halved until
 * it is below LIGHT_BYTES. Its style holds for it alone, as it becomes a part of another page.
 */
#include <string.h>

#include "base/checked.h"
#include "report/density.h"
#include "report/report.h"

/* Pixels. */
enum {
    PAGE_WIDTH = 960,
    LEFT = 90,
    RIGHT = 20,
    PLOT = PAGE_WIDTH - LEFT - RIGHT,
    HEAD = 60,
    MAP = 320,
    CURVE = 96,
    CAPTION = 46,
    LEGEND = 18,
    NOTE = 16,
    NAME_CHARACTERS = 31, /* characters of a name in a legend */
    GAP = 14,
    AXIS = 34,
    TICKS = 8, /* at most, per axis */
    ROW = 22,
    BANKS_MOST = 64,
    LIGHT_BYTES = 100000,
    LIGHT_STEPS = 6,      /* how often the detail is halved at most */
    LIGHT_CHARACTERS = 60 /* of a name or a note */
};

/* The detail of a light picture. */
typedef struct light_detail {
    int64_t boxes; /* drawn one by one in a map */
    int64_t bars;
    int64_t rows;
    int64_t cell; /* pixels of the grid for all others */
} light_detail;

typedef struct drawing {
    spad__out *out;
    const spad__picture *picture;
    const spad__view *view;
    int64_t y;    /* top of what is drawn now, in pixels */
    int64_t high; /* address at the top of the map */
    spad__colours colours;
    const light_detail *light; /* NULL: everything is drawn */
    int least;                 /* in a light picture: size class of what is drawn one by one */
    bool failed;               /* no memory */
} drawing;

static const char style[] =
    "text{font:11px system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;fill:#24292f}"
    ".t{font-size:17px;font-weight:600}.h{font-size:13px;font-weight:600}.m{fill:#57606a}"
    ".n{pointer-events:none;font-size:10px}.f{fill:#f6f8fa;stroke:#8c959f;stroke-width:.6}"
    ".g{stroke:#8c959f;stroke-width:.4;stroke-dasharray:2 3}"
    ".b{stroke:#24292f;stroke-opacity:.45;stroke-width:.5}"
    ".c{fill:url(#hatch);stroke:#cf222e;stroke-width:1.2}.p{fill:url(#dots)}"
    ".r{fill:url(#lines)}.l{fill:#0969da;fill-opacity:.18;stroke:#0969da;stroke-width:1}"
    ".e{stroke:#8c959f;stroke-width:.6}.k{stroke:#cf222e;stroke-width:.8;stroke-dasharray:4 3}"
    ".a{fill:#9a6700;font-weight:600}"
    ".w{fill:none;stroke:#bf8700;stroke-width:1;stroke-dasharray:2 2}"
    ".d1{fill:#dfe3e8}.d2{fill:#bcc4cd}.d3{fill:#98a3af}.d4{fill:#76828f}.o{fill-opacity:0}";

static const char patterns[] =
    "<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
    "patternTransform=\"rotate(45)\"><rect width=\"6\" height=\"6\" fill=\"#ffebe9\"/>"
    "<rect width=\"3\" height=\"6\" fill=\"#cf222e\"/></pattern>"
    "<pattern id=\"dots\" width=\"4\" height=\"4\" patternUnits=\"userSpaceOnUse\">"
    "<circle cx=\"2\" cy=\"2\" r=\".9\" fill=\"#24292f\" fill-opacity=\".55\"/></pattern>"
    "<pattern id=\"lines\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" "
    "patternTransform=\"rotate(-45)\"><rect width=\"1\" height=\"5\" fill=\"#8c959f\"/>"
    "</pattern></defs>\n";

/* ---- coordinates, in hundredths of a pixel ----------------------------------------- */

static int64_t x_of(const drawing *d, int64_t time) {
    const spad__picture *p = d->picture;
    const int64_t inside = spad__max(p->begin, spad__min(time, p->end)) - p->begin;
    return LEFT * 100 + spad__scale(inside, p->end - p->begin, PLOT * 100);
}

static int64_t y_of(const drawing *d, int64_t address) {
    const int64_t low = d->view->facts.low;
    const int64_t inside = spad__max(low, spad__min(address, d->high)) - low;
    return (d->y + MAP) * 100 - spad__scale(inside, d->high - low, MAP * 100);
}

/* " name=\"12.34\"" */
static void attribute(spad__out *out, const char *name, int64_t hundredths) {
    spad__out_format(out, " %s=\"%lld", name, (long long)(hundredths / 100));
    if (hundredths % 100 != 0) spad__out_format(out, ".%02d", (int)(hundredths % 100));
    spad__out_string(out, "\"");
}

static void rectangle(spad__out *out, const char *class, int64_t x0, int64_t y0, int64_t x1,
                      int64_t y1) {
    spad__out_format(out, "<rect class=\"%s\"", class);
    attribute(out, "x", x0);
    attribute(out, "y", y0);
    attribute(out, "width", x1 - x0);
    attribute(out, "height", y1 - y0);
}

static void line(spad__out *out, const char *class, int64_t x0, int64_t y0, int64_t x1,
                 int64_t y1) {
    spad__out_format(out, "<line class=\"%s\"", class);
    attribute(out, "x1", x0);
    attribute(out, "y1", y0);
    attribute(out, "x2", x1);
    attribute(out, "y2", y1);
    spad__out_string(out, "/>\n");
}

static void write_fill(spad__out *out, int colour, bool is_odd) {
    spad__out_string(out, " fill=\"");
    spad__out_colour(out, colour, is_odd);
    spad__out_string(out, "\"");
}

/* anchor: start, middle or end. The caller writes the text and "</text>\n". */
static void open_text(spad__out *out, const char *class, const char *anchor, int64_t x, int64_t y) {
    spad__out_format(out, "<text class=\"%s\" text-anchor=\"%s\"", class, anchor);
    attribute(out, "x", x);
    attribute(out, "y", y);
    spad__out_string(out, ">");
}

/* ---- numbers ------------------------------------------------------------------------ */

static void write_grouped(spad__out *out, int64_t value) {
    spad__out_string(out, spad__grouped(value).text);
}

/* ---- the map ----------------------------------------------------------------------- */

static void write_caption(drawing *d) {
    const spad_report_space *facts = &d->view->facts;
    const spad_space *space = &d->picture->report->target->spaces[d->view->space];
    open_text(d->out, "h", "start", LEFT * 100, (d->y + 16) * 100);
    spad__out_markup(d->out, space->name, 40);
    spad__out_string(d->out, "</text>\n");
    open_text(d->out, "m", "start", LEFT * 100, (d->y + 34) * 100);
    spad__out_string(d->out, "used ");
    spad__out_bytes_short(d->out, spad__space_used(d->view));
    if (facts->usable != SPAD_UNBOUNDED) {
        spad__out_string(d->out, " of ");
        spad__out_bytes_short(d->out, facts->usable);
    }
    spad__out_format(d->out, "%s, live peak ", space->lanes > 1 ? " a lane" : "");
    spad__out_bytes_short(d->out, facts->peak_bytes);
    spad__out_string(d->out, " at ");
    write_grouped(d->out, facts->peak_time);
    spad__out_string(d->out, ", largest hole then ");
    spad__out_bytes_short(d->out, facts->largest_hole);
    spad__out_string(d->out, ", ");
    write_grouped(d->out, (int64_t)facts->boxes);
    spad__out_string(d->out, " boxes");
    if (space->lanes > 1) spad__out_format(d->out, ", %lld lanes", (long long)space->lanes);
    if (facts->conflicts > 0)
        spad__out_format(d->out, ", %lld boxes in conflict (hatched)", (long long)facts->conflicts);
    spad__out_string(d->out, "</text>\n");
    d->y += CAPTION;
}

/* ---- axes ------------------------------------------------------------------------- */

/* The least round number with at most TICKS of them in a span: 1, 2, 5, 10, 20 ... or a power of
 * two. It is below a third of what 64 bits hold, since it is at most 5/2 of an eighth. */
static int64_t round_step(int64_t span, bool is_binary) {
    const int64_t least = span / TICKS + (span % TICKS != 0);
    int64_t step = 1;
    for (int k = 0; step < least; k++) step = k % 3 == 1 && !is_binary ? step / 2 * 5 : step * 2;
    return step;
}

/* The first multiple of a step that is not before `begin`. */
static int64_t first_tick(int64_t begin, int64_t step) {
    const int64_t tick = begin / step * step;
    return tick < begin && tick <= INT64_MAX - step ? tick + step : tick;
}

/* A multiple of a step, exactly, in the largest unit that two steps consist of. */
static void write_address(spad__out *out, int64_t address, int64_t step) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t unit = 0;
    for (; step % 1024 == 0; step /= 1024, address /= 1024) unit++;
    const bool is_half = step == 512;
    if (is_half) unit++;
    if (is_half && address < 0 && address > -1024) spad__out_string(out, "-");
    write_grouped(out, is_half ? address / 1024 : address);
    if (is_half && address % 1024 != 0) spad__out_string(out, ".5");
    if (address != 0) spad__out_format(out, " %s", units[unit]);
}

static void write_address_axis(const drawing *d) {
    const int64_t low = d->view->facts.low;
    const int64_t step = round_step(d->high - low, true);
    for (int64_t address = first_tick(low, step); address >= low && address <= d->high;) {
        open_text(d->out, "m tick address", "end", (LEFT - 6) * 100, y_of(d, address) + 400);
        write_address(d->out, address, step);
        spad__out_string(d->out, "</text>\n");
        if (address > d->high - step) break;
        address += step;
    }
}

/* Frame, banks, what is reserved, and the addresses at the left. */
static void write_frame(const drawing *d) {
    const spad_space *space = &d->picture->report->target->spaces[d->view->space];
    const spad_report_space *facts = &d->view->facts;
    const int64_t x0 = LEFT * 100;
    const int64_t x1 = (LEFT + PLOT) * 100;
    rectangle(d->out, "f", x0, d->y * 100, x1, (d->y + MAP) * 100);
    spad__out_string(d->out, "/>\n");
    if (facts->usable < d->high) {
        rectangle(d->out, "r", x0, d->y * 100, x1, y_of(d, facts->usable));
        spad__out_string(d->out, "/>\n");
        line(d->out, "k", x0, y_of(d, facts->usable), x1, y_of(d, facts->usable));
    }
    for (int64_t k = 1; space->bank_bytes > 0 && k <= BANKS_MOST; k++) {
        int64_t at;
        if (!spad__mul(k, space->bank_bytes, &at) || at >= d->high) break;
        line(d->out, "g", x0, y_of(d, at), x1, y_of(d, at));
    }
    write_address_axis(d);
}

static void write_title(spad__out *out, const spad_report_box *box, size_t most) {
    spad__out_string(out, "><title>");
    spad__out_markup(out, spad__box_label(box), most);
    spad__out_format(out, ": %s at %s, lanes %lld to %lld, alive %s to %s, %s",
                     spad__exact_size(box->rect.bytes).text, spad__grouped(box->rect.byte).text,
                     (long long)box->rect.lane, (long long)(box->rect.lane + box->rect.lanes),
                     spad__grouped(box->begin).text, spad__grouped(box->end).text,
                     spad_mode_name(box->mode));
    if (box->slots > 0)
        spad__out_format(out, ", copy %lld of %lld", (long long)box->slot, (long long)box->slots);
    spad__out_string(out, "</title></rect>\n");
}

/* A name where there is room for it; or its index, its two ends, or nothing. */
static void write_label(spad__out *out, const char *name, int64_t x, int64_t y, int64_t width) {
    const size_t room = width > 700 ? (size_t)((width - 700) / 610) : 0;
    const char *index = name + spad__stem_length(name);
    if (strlen(name) > room && *index != '\0' && strlen(index) <= room) name = index;
    if (strlen(name) > room && room < 5) return;
    open_text(out, "n", "start", x, y);
    spad__out_markup(out, name, room);
    spad__out_string(out, "</text>\n");
}

/* The first names of a map or timeline with their colours, on one line, up to `right`. */
static void write_legend(const drawing *d, int64_t right) {
    int64_t x = LEFT * 100;
    for (size_t i = 0; i < d->colours.count; i++) {
        const char *name = d->colours.names[i];
        const size_t length = spad__stem_length(name);
        const int64_t next =
            x + 2600 + 610 * (int64_t)(length < NAME_CHARACTERS ? length : NAME_CHARACTERS);
        if (next > right) return;
        rectangle(d->out, "b", x, (d->y + 1) * 100, x + 1000, (d->y + 11) * 100);
        write_fill(d->out, (int)i, false);
        spad__out_string(d->out, "/>\n");
        open_text(d->out, "m", "start", x + 1400, (d->y + 10) * 100);
        spad__out_markup_stem(d->out, name, NAME_CHARACTERS);
        spad__out_string(d->out, "</text>\n");
        x = next;
    }
}

/* ---- many boxes as a grid ------------------------------------------------------------ */

enum { SIZE_CLASSES = 64 };

/* A number that grows with the area: one for each doubling. Less than a pixel: 0. */
static int size_class(int64_t width, int64_t height) {
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
static void fill_grid(drawing *d, spad__density *grid) {
    const spad__picture *p = d->picture;
    int64_t counts[SIZE_CLASSES] = {0};
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < d->view->facts.boxes; i++) {
            const spad_report_box *box = &p->report->boxes.items[p->order[d->view->first + i]];
            if (!spad__is_drawn(box) || box->rect.bytes == 0) continue;
            const int64_t x0 = x_of(d, box->begin), x1 = x_of(d, box->end);
            const int64_t y0 = y_of(d, box->rect.byte + box->rect.bytes);
            const int64_t y1 = y_of(d, box->rect.byte);
            const int class = size_class(x1 - x0, y1 - y0);
            if (pass == 0) counts[class]++;
            if (pass == 0 || class >= d->least) continue;
            spad__density_add(grid, x0 - LEFT * 100, y0 - d->y * 100, x1 - LEFT * 100,
                              y1 - d->y * 100);
        }
        if (pass == 0) d->least = least_class(counts, d->light->boxes);
    }
}

/* Cells of one level, those side by side as one; rows are `pitch` pixels apart. */
static void write_runs(const drawing *d, const spad__density *grid, int level, int64_t pitch,
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
            const int64_t wide = spad__min((column + run) * side, PLOT) - column * side;
            const int64_t tall = spad__min(high, pitch == side ? MAP - row * side : high);
            spad__out_format(d->out, "M%lld %lldh%lldv%lldh-%lldz",
                             (long long)(LEFT + column * side),
                             (long long)(d->y + row * pitch + from), (long long)wide,
                             (long long)tall, (long long)wide);
        }
    }
    spad__out_string(d->out, "\"/>\n");
}

/* The most live bytes from step number *step on, up to pixel x1, and the step there. */
static int64_t most_live(const drawing *d, size_t *step, int64_t x1) {
    const spad__view *view = d->view;
    int64_t most = *step > 0 ? view->steps.items[*step - 1].live : 0;
    for (; *step < view->steps.count && x_of(d, view->steps.items[*step].time) < x1 * 100;
         (*step)++)
        most = spad__max(most, view->steps.items[*step].live);
    return most;
}

/* A rectangle that is not seen over each column, with what is there: boxes of a map, or bars. */
static void write_columns(const drawing *d, const spad__density *grid, int64_t height,
                          bool is_map) {
    const spad__picture *p = d->picture;
    const int64_t side = d->light->cell;
    int64_t alive = 0;
    size_t step = 0;
    for (int64_t column = 0; column < grid->columns; column++) {
        const int64_t x0 = LEFT + column * side;
        const int64_t x1 = spad__min(x0 + side, LEFT + PLOT);
        const int64_t live = is_map ? most_live(d, &step, x1) : 0;
        alive += grid->begun[column];
        if (alive == 0) continue;
        rectangle(d->out, "o", x0 * 100, d->y * 100, x1 * 100, (d->y + height) * 100);
        spad__out_string(d->out, "><title>");
        write_grouped(d->out, p->begin + spad__scale(column * side, PLOT, p->end - p->begin));
        spad__out_string(d->out, " on: ");
        write_grouped(d->out, alive);
        spad__out_string(d->out, is_map ? " small boxes, live up to " : " short operations");
        if (is_map) spad__out_bytes_short(d->out, live);
        spad__out_string(d->out, "</title></rect>\n");
    }
}

static void write_shades(drawing *d) {
    const spad_host *host = &d->picture->report->host;
    spad__density grid;
    if (!spad__density_make(&grid, host, PLOT * 100, MAP * 100, d->light->cell * 100)) {
        d->failed = true;
        return;
    }
    fill_grid(d, &grid);
    for (int level = 1; level <= SPAD__DENSITY_LEVELS; level++)
        write_runs(d, &grid, level, d->light->cell, 0, d->light->cell);
    write_columns(d, &grid, MAP, true);
    spad__density_free(&grid, host);
}

/* False: too small to be seen, or a part of the grid. */
static bool draw_box(drawing *d, const spad_report_box *box) {
    const int64_t x0 = x_of(d, box->begin);
    const int64_t x1 = x_of(d, box->end);
    const int64_t y0 = y_of(d, box->rect.byte + box->rect.bytes);
    const int64_t y1 = y_of(d, box->rect.byte);
    if (d->light != NULL ? size_class(x1 - x0, y1 - y0) < d->least : x1 - x0 < 20 && y1 - y0 < 20)
        return false;
    rectangle(d->out, "b", x0, y0, spad__max(x1, x0 + 20), spad__max(y1, y0 + 20));
    write_fill(d->out, spad__colour_of(&d->colours, spad__box_label(box)),
               box->slots > 0 && box->slot % 2 != 0);
    write_title(d->out, box, d->light != NULL ? LIGHT_CHARACTERS : 0);
    if (box->padding > 0) {
        rectangle(d->out, "p", x0, y0, x1,
                  y_of(d, box->rect.byte + box->rect.bytes - box->padding));
        spad__out_string(d->out, "/>\n");
    }
    if (y1 - y0 >= 1200)
        write_label(d->out, spad__box_label(box), x0 + 400, (y0 + y1) / 2 + 350, x1 - x0);
    return true;
}

static void write_conflict(const drawing *d, const spad_report_box *a, const spad_report_box *b) {
    rectangle(d->out, "c", x_of(d, spad__max(a->begin, b->begin)),
              y_of(d, spad__min(a->rect.byte + a->rect.bytes, b->rect.byte + b->rect.bytes)),
              x_of(d, spad__min(a->end, b->end)), y_of(d, spad__max(a->rect.byte, b->rect.byte)));
    spad__out_string(d->out, "><title>conflict: ");
    spad__out_markup(d->out, spad__box_label(a), 0);
    spad__out_string(d->out, " and ");
    spad__out_markup(d->out, spad__box_label(b), 0);
    spad__out_string(d->out, "</title></rect>\n");
}

/* Colours in the order of the boxes, whether they can be seen or not. */
static void choose_colours(drawing *d) {
    const spad__picture *p = d->picture;
    d->colours = (spad__colours){0};
    for (size_t i = 0; i < d->view->facts.boxes; i++) {
        const size_t number = p->order[d->view->first + i];
        spad__colour_of(&d->colours, spad__box_label(&p->report->boxes.items[number]));
    }
}

static void write_boxes(drawing *d) {
    const spad__picture *p = d->picture;
    int64_t hidden = 0;
    int64_t conflicts = d->light != NULL ? d->light->boxes / 4 : INT64_MAX;
    if (d->light != NULL) write_shades(d);
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
    open_text(d->out, "m", "end", (LEFT + PLOT) * 100, (d->y - LEGEND - 12) * 100);
    write_grouped(d->out, hidden);
    spad__out_format(d->out, " boxes %s</text>\n",
                     d->light != NULL ? "are shades of gray" : "too small to draw");
}

/* ---- live bytes -------------------------------------------------------------------- */

/* What tensors may use, across the curve. */
static void write_curve_limit(const drawing *d, int64_t most) {
    const int64_t usable = d->view->facts.usable;
    if (usable > most || usable < 0) return;
    const int64_t y = (d->y + CURVE) * 100 - spad__scale(usable, most, (CURVE - 16) * 100);
    line(d->out, "k", LEFT * 100, y, (LEFT + PLOT) * 100, y);
    open_text(d->out, "m", "end", (LEFT + PLOT - 4) * 100, y - 300);
    spad__out_string(d->out, "capacity ");
    spad__out_bytes_short(d->out, usable);
    spad__out_string(d->out, "</text>\n");
}

static void write_curve(const drawing *d) {
    const spad__view *view = d->view;
    const int64_t bottom = (d->y + CURVE) * 100;
    const int64_t peak = spad__max(view->facts.peak_bytes, 1);
    const int64_t usable = view->facts.usable;
    /* the capacity is in sight where the curve keeps a third of the height */
    const int64_t most = usable > peak && usable / 3 <= peak ? usable : peak;
    int64_t level = bottom;
    spad__out_format(d->out, "<path class=\"l\" d=\"M%d %lld", LEFT, (long long)(d->y + CURVE));
    for (size_t i = 0; i < view->steps.count; i++) {
        const int64_t x = x_of(d, view->steps.items[i].time);
        int64_t live = view->steps.items[i].live;
        /* a light curve has the highest step of each cell */
        while (d->light != NULL && i + 1 < view->steps.count &&
               x_of(d, view->steps.items[i + 1].time) - x < d->light->cell * 25) {
            live = spad__max(live, view->steps.items[++i].live);
        }
        const int64_t y = bottom - spad__scale(live, most, (CURVE - 16) * 100);
        spad__out_format(d->out, "H%lld.%02dV%lld.%02d", (long long)(x / 100), (int)(x % 100),
                         (long long)(y / 100), (int)(y % 100));
        level = y;
    }
    if (level != bottom) spad__out_format(d->out, "H%d", LEFT + PLOT);
    spad__out_format(d->out, "V%lldZ\"/>\n", (long long)(d->y + CURVE));
    const int64_t x = x_of(d, view->facts.peak_time);
    line(d->out, "k", x, (d->y - MAP - GAP) * 100, x, bottom);
    open_text(d->out, "m", "start", x + 300, (d->y + 2) * 100);
    spad__out_string(d->out, "peak</text>\n");
    write_curve_limit(d, most);
    open_text(d->out, "m", "end", (LEFT - 6) * 100,
              bottom - spad__scale(peak, most, (CURVE - 16) * 100) + 400);
    spad__out_bytes_short(d->out, view->facts.peak_bytes);
    spad__out_string(d->out, "</text>\n");
    open_text(d->out, "m", "end", (LEFT - 6) * 100, bottom);
    spad__out_string(d->out, "live</text>\n");
}

/* What the axis shows. A number of an event says what comes first, not how long it takes. */
static void write_axis_title(const drawing *d) {
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
    open_text(d->out, "m", "end", (LEFT + PLOT) * 100, (d->y + 27) * 100);
    spad__out_string(d->out, before);
    spad__out_markup(d->out, unit, 20);
    spad__out_format(d->out, "%s</text>\n", after);
}

static void write_time_axis(const drawing *d) {
    const spad__picture *p = d->picture;
    const int64_t step = round_step(p->end - p->begin, false);
    for (int64_t time = first_tick(p->begin, step); time >= p->begin && time <= p->end;) {
        const int64_t x = x_of(d, time);
        line(d->out, "e", x, d->y * 100, x, (d->y + 4) * 100);
        open_text(d->out, "m tick time", x > (PAGE_WIDTH - 40) * 100 ? "end" : "middle", x,
                  (d->y + 14) * 100);
        write_grouped(d->out, time);
        spad__out_string(d->out, "</text>\n");
        if (time > p->end - step) break;
        time += step;
    }
    write_axis_title(d);
}

/* ---- the timeline ------------------------------------------------------------------ */

static void write_wait(const drawing *d, const spad__bar *item) {
    const int64_t y = (d->y + (int64_t)item->row * ROW) * 100;
    if (item->bar.ready == item->bar.begin) return;
    line(d->out, "w", x_of(d, item->bar.ready), y + 1000, x_of(d, item->bar.begin), y + 1000);
}

static void write_bar(drawing *d, const spad__bar *item) {
    const spad_report_bar *bar = &item->bar;
    const int64_t y = (d->y + (int64_t)item->row * ROW) * 100;
    const int64_t x0 = x_of(d, bar->begin);
    const int64_t x1 = x_of(d, bar->end);
    const char *name = bar->name != NULL ? bar->name : "(unnamed)";
    const int colour = spad__colour_of(&d->colours, name);
    if (d->light != NULL ? size_class(x1 - x0, 100) < d->least : x1 - x0 < 5) return;
    rectangle(d->out, "b", x0, y + 200, x1, y + 1800);
    write_fill(d->out, colour, false);
    if (bar->critical) spad__out_string(d->out, " style=\"stroke:#cf222e;stroke-opacity:1\"");
    spad__out_string(d->out, "><title>");
    spad__out_markup(d->out, name, d->light != NULL ? LIGHT_CHARACTERS : 0);
    spad__out_format(d->out, ": %s to %s</title></rect>\n", spad__grouped(bar->begin).text,
                     spad__grouped(bar->end).text);
    write_label(d->out, name, x0 + 300, y + 1350, x1 - x0);
}

static size_t shown_rows(const spad__picture *p, const light_detail *light) {
    const size_t rows = p->report->rows.count;
    return light != NULL && rows > (size_t)light->rows ? (size_t)light->rows : rows;
}

/* Short bars of a light picture: what part of a cell of its row they cover. */
static void write_bar_grid(drawing *d, size_t rows) {
    const spad_report *report = d->picture->report;
    spad__density grid;
    int64_t counts[SIZE_CLASSES] = {0};
    for (size_t i = 0; i < report->bars.count; i++) {
        const spad_report_bar *bar = &report->bars.items[i].bar;
        counts[size_class(x_of(d, bar->end) - x_of(d, bar->begin), 100)]++;
    }
    d->least = least_class(counts, d->light->bars);
    const int64_t cell = d->light->cell * 100;
    if (!spad__density_make(&grid, &report->host, PLOT * 100, (int64_t)rows * cell, cell)) {
        d->failed = true;
        return;
    }
    for (size_t i = 0; i < report->bars.count; i++) {
        const spad__bar *item = &report->bars.items[i];
        const int64_t x0 = x_of(d, item->bar.begin) - LEFT * 100;
        const int64_t x1 = x_of(d, item->bar.end) - LEFT * 100;
        if (item->row >= rows || size_class(x1 - x0, 100) >= d->least) continue;
        spad__density_add(&grid, x0, (int64_t)item->row * cell, x1,
                          (int64_t)(item->row + 1) * cell);
    }
    for (int level = 1; level <= SPAD__DENSITY_LEVELS; level++)
        write_runs(d, &grid, level, ROW, 2, ROW - 4);
    write_columns(d, &grid, (int64_t)rows * ROW, false);
    spad__density_free(&grid, &report->host);
}

static void draw_timeline(drawing *d) {
    const spad_report *report = d->picture->report;
    if (report->rows.count == 0) return;
    const size_t rows = shown_rows(d->picture, d->light);
    d->colours = (spad__colours){0};
    if (d->light != NULL) write_bar_grid(d, rows);
    for (size_t i = 0; i < rows; i++) {
        open_text(d->out, "m", "end", (LEFT - 6) * 100, (d->y + (int64_t)i * ROW + 14) * 100);
        spad__out_markup(d->out, report->rows.items[i], 12);
        spad__out_string(d->out, "</text>\n");
    }
    for (size_t i = 0; i < report->bars.count && d->light == NULL; i++)
        write_wait(d, &report->bars.items[i]);
    for (size_t i = 0; i < report->bars.count; i++)
        if (report->bars.items[i].row < rows) write_bar(d, &report->bars.items[i]);
    d->y += (int64_t)rows * ROW;
    write_time_axis(d);
    d->y += AXIS;
    write_legend(d, (LEFT + PLOT - 240) * 100);
    open_text(d->out, "m", "end", (LEFT + PLOT) * 100, (d->y + 10) * 100);
    spad__out_string(d->out, d->light != NULL ? "gray: short operations, red border: critical path"
                                              : "dotted: waits, red border: critical path");
    spad__out_string(d->out, "</text>\n");
}

/* ---- the whole --------------------------------------------------------------------- */

static void draw_view(drawing *d) {
    const spad_report_space *facts = &d->view->facts;
    const int64_t span = spad__max(facts->top - facts->low, 1);
    /* up to what is used; with the limit in sight when it is near */
    d->high = facts->low + span;
    choose_colours(d);
    const bool near = facts->usable != SPAD_UNBOUNDED && facts->usable > d->high &&
                      facts->usable - facts->low <= span + span / 3;
    if (near) d->high = facts->usable;
    write_caption(d);
    write_legend(d, (LEFT + PLOT) * 100);
    d->y += LEGEND;
    write_frame(d);
    write_boxes(d);
    d->y += MAP + GAP;
    write_curve(d);
    d->y += CURVE;
    write_time_axis(d);
    d->y += AXIS + GAP;
}

enum { NOTE_LINE = 130 }; /* bytes */

/* Bytes of a text that go on one line: up to a blank, or between two characters. */
static size_t note_line(const char *text) {
    const size_t length = strlen(text);
    if (length <= NOTE_LINE) return length;
    for (size_t end = NOTE_LINE; end > NOTE_LINE / 2; end--) {
        if (text[end] == ' ') return end;
    }
    size_t end = NOTE_LINE;
    while (end > 1 && ((unsigned char)text[end] & 0xC0) == 0x80) end--;
    return end;
}

/* Draws the lines of a note if there is a drawing; returns how many there are. */
static int64_t write_note(drawing *d, const char *text) {
    int64_t count = 0;
    for (size_t length; *text != '\0'; text += length, text += *text == ' ', count++) {
        char line[NOTE_LINE + 1];
        length = note_line(text);
        if (d == NULL) continue;
        memcpy(line, text, length);
        line[length] = '\0';
        open_text(d->out, "m", "start", (LEFT + (count > 0 ? 10 : 0)) * 100, (d->y + 8) * 100);
        spad__out_markup(d->out, line, 0);
        spad__out_string(d->out, "</text>\n");
        d->y += NOTE;
    }
    return count;
}

/* What the times are not: on the first line, before all notes. */
static void write_badge(drawing *d) {
    if (d->picture->report->badge == NULL) return;
    open_text(d->out, "a", "start", LEFT * 100, (d->y + 8) * 100);
    spad__out_markup(d->out, d->picture->report->badge, 0);
    spad__out_string(d->out, "</text>\n");
    d->y += NOTE;
}

/* A light picture has short notes. */
static int64_t write_some(drawing *d, const char *text, const light_detail *light) {
    char some[LIGHT_CHARACTERS * 4 + 8];
    if (light == NULL || strlen(text) <= LIGHT_CHARACTERS * 4) return write_note(d, text);
    size_t length = LIGHT_CHARACTERS * 4;
    while (((unsigned char)text[length] & 0xC0) == 0x80) length--;
    memcpy(some, text, length);
    memcpy(some + length, " ...", 5);
    return write_note(d, some);
}

static int64_t page_height(const spad__picture *p, const light_detail *light) {
    int64_t notes = p->report->badge != NULL;
    for (size_t i = 0; i < p->report->note_count; i++) {
        notes += write_some(NULL, p->report->notes[i], light);
    }
    const int64_t views =
        (int64_t)p->view_count * (CAPTION + LEGEND + MAP + GAP + CURVE + AXIS + GAP);
    const int64_t rows = (int64_t)shown_rows(p, light);
    return HEAD + notes * NOTE + views + (rows > 0 ? rows * ROW + AXIS + LEGEND : 0) + GAP;
}

/* The rules of the style, those of a light picture for it alone. */
static void write_style(spad__out *out, bool is_light) {
    spad__out_string(out, "<style>");
    for (const char *rule = style; *rule != '\0';) {
        const size_t length = strcspn(rule, "}") + 1;
        if (is_light) spad__out_string(out, ".spad-light ");
        spad__out_bytes(out, rule, length);
        rule += length;
    }
    spad__out_string(out, "</style>\n");
}

/* False: no memory. */
static bool write_picture(spad__out *out, const spad__picture *p, const light_detail *light) {
    const spad_report *report = p->report;
    const long long height = (long long)page_height(p, light);
    spad__out_format(out,
                     "<svg xmlns=\"http://www.w3.org/2000/svg\"%s viewBox=\"0 0 %d %lld\" "
                     "width=\"%d\" height=\"%lld\">\n",
                     light != NULL ? " class=\"spad-light\"" : "", PAGE_WIDTH, height, PAGE_WIDTH,
                     height);
    write_style(out, light != NULL);
    spad__out_string(out, patterns);
    spad__out_string(out, "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
    open_text(out, "t", "start", LEFT * 100, 3000);
    spad__out_markup(out, report->title, 80);
    spad__out_string(out, "</text>\n");
    open_text(out, "m", "start", LEFT * 100, 4800);
    spad__out_markup(out, report->target->about != NULL ? report->target->about : "", 120);
    spad__out_string(out, "</text>\n");
    drawing d = {.out = out, .picture = p, .y = HEAD, .light = light};
    write_badge(&d);
    for (size_t i = 0; i < report->note_count; i++) write_some(&d, report->notes[i], light);
    for (size_t i = 0; i < p->view_count; i++) {
        d.view = &p->views[i];
        draw_view(&d);
    }
    draw_timeline(&d);
    spad__out_string(out, "</svg>\n");
    return !d.failed;
}

spad_status spad_report_write_svg(const spad_report *report, const spad_sink *sink,
                                  spad_error *error) {
    spad__picture p;
    const spad_status status = spad__picture_make(&p, report, error);
    if (status != SPAD_OK) return status;
    spad__out out;
    spad__out_start(&out, sink);
    spad__out_limit(&out, &p.limit);
    write_picture(&out, &p, NULL); /* without a grid it needs no memory */
    spad__picture_free(&p);
    return spad__out_finish(&out, error);
}

/* The light picture in memory, with as much detail as there is room for. */
static spad_status make_light(spad__memo *memo, const spad__picture *p, spad_error *error) {
    const int64_t views = spad__max((int64_t)p->view_count, 1);
    light_detail light = {
        .boxes = 480 / views, .bars = 160, .rows = 48, .cell = views > 2 ? 10 : 6};
    spad_status status = SPAD_OK;
    for (int k = 0; k < LIGHT_STEPS && status == SPAD_OK; k++) {
        const spad_sink sink = spad__memo_sink(memo);
        spad__out out;
        memo->text.count = 0;
        spad__out_start(&out, &sink);
        spad__out_limit(&out, &p->limit);
        const bool fine = write_picture(&out, p, &light);
        status = fine ? spad__out_finish(&out, error) : spad__fail_host_memory(error);
        if (memo->text.count < LIGHT_BYTES) break;
        light = (light_detail){light.boxes / 2, light.bars / 2, light.rows / 2, light.cell * 3 / 2};
    }
    return status == SPAD_ERR_IO ? spad__fail_host_memory(error) : status;
}

spad_status spad_report_write_light(const spad_report *report, const spad_sink *sink,
                                    spad_error *error) {
    spad__picture p;
    spad__memo memo = {.host = &report->host};
    spad_status status = spad__picture_make(&p, report, error);
    if (status != SPAD_OK) return status;
    status = make_light(&memo, &p, error);
    spad__picture_free(&p);
    if (status == SPAD_OK) {
        spad__out out;
        spad__out_start(&out, sink);
        spad__out_bytes(&out, memo.text.items, memo.text.count);
        status = spad__out_finish(&out, error);
    }
    spad__memo_free(&memo);
    return status;
}
