/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of an SVG (svg.c). All coordinates are hundredths of a pixel.
 */
#ifndef SPAD_REPORT_SVG_H
#define SPAD_REPORT_SVG_H

#include "report/report.h"

/* Pixels. */
enum {
    SPAD__SVG_PAGE_WIDTH = 960,
    SPAD__SVG_LEFT = 90,
    SPAD__SVG_RIGHT = 20,
    SPAD__SVG_PLOT = SPAD__SVG_PAGE_WIDTH - SPAD__SVG_LEFT - SPAD__SVG_RIGHT,
    SPAD__SVG_HEAD = 60,
    SPAD__SVG_MAP = 320,
    SPAD__SVG_CURVE = 96,
    SPAD__SVG_CAPTION = 46,
    SPAD__SVG_LEGEND = 18,
    SPAD__SVG_NOTE = 16,
    SPAD__SVG_GAP = 14,
    SPAD__SVG_AXIS = 34,
    SPAD__SVG_ROW = 22,
    SPAD__SVG_LIGHT_CHARACTERS = 60 /* of a name or a note in a light picture */
};

/* The detail of a light picture. */
typedef struct spad__light_detail {
    int64_t boxes; /* drawn one by one in a map */
    int64_t bars;
    int64_t rows;
    int64_t cell; /* pixels of the grid for all others */
} spad__light_detail;

typedef struct spad__drawing {
    spad__out *out;
    const spad__picture *picture;
    const spad__view *view;
    int64_t y;    /* top of what is drawn now, in pixels */
    int64_t high; /* address at the top of the map */
    spad__colours colours;
    const spad__light_detail *light; /* NULL: everything is drawn */
    int least;   /* in a light picture: size class of what is drawn one by one */
    bool failed; /* no memory */
} spad__drawing;

int64_t spad__svg_x(const spad__drawing *d, int64_t time);
int64_t spad__svg_y(const spad__drawing *d, int64_t address);
void spad__svg_rectangle(spad__out *out, const char *class, int64_t x0, int64_t y0, int64_t x1,
                         int64_t y1);
void spad__svg_line(spad__out *out, const char *class, int64_t x0, int64_t y0, int64_t x1,
                    int64_t y1);
void spad__svg_fill(spad__out *out, int colour, bool is_odd);
/* anchor: start, middle or end. The caller writes the text and "</text>\n". */
void spad__svg_text(spad__out *out, const char *class, const char *anchor, int64_t x, int64_t y);
void spad__svg_number(spad__out *out, int64_t value);
/* A name where there is room for it; or its index, its two ends, or nothing. */
void spad__svg_label(spad__out *out, const char *name, int64_t x, int64_t y, int64_t width);
/* The first names of a map or timeline with their colours, on one line, up to `right`. */
void spad__svg_legend(const spad__drawing *d, int64_t right);
/* The least round number with at most TICKS of them in a span: 1, 2, 5, 10, 20 ... or a power of
 * two. It is below a third of what 64 bits hold, since it is at most 5/2 of an eighth. */
int64_t spad__svg_step(int64_t span, bool is_binary);
/* The first multiple of a step that is not before `begin`. */
int64_t spad__svg_first_tick(int64_t begin, int64_t step);
void spad__svg_time_axis(const spad__drawing *d);
void spad__svg_view(spad__drawing *d);
/* A number that grows with the area: one for each doubling. Less than a pixel: 0. */
int spad__svg_size_class(int64_t width, int64_t height);
void spad__svg_shades(spad__drawing *d);
/* Short bars of a light picture: what part of a cell of its row they cover. */
void spad__svg_bar_shades(spad__drawing *d, size_t rows);
size_t spad__svg_rows(const spad__picture *p, const spad__light_detail *light);
void spad__svg_timeline(spad__drawing *d);

#endif
