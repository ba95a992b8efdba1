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
 * it is below LIGHT_BYTES. Its style holds for it alone, as it becomes a part of another page, and
 * has no ground and the colour of that page's text: notebooks are light or dark.
 */
#include <string.h>

#include "base/checked.h"
#include "report/svg.h"

enum {
    LIGHT_BYTES = 100000,
    LIGHT_STEPS = 6, /* how often the detail is halved at most */
    NOTE_LINE = 130  /* bytes */
};

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

/* After the style, for a light picture. Names on boxes stay dark, as boxes are bright. */
static const char light_style[] =
    "text{fill:currentColor}.m{fill:currentColor;fill-opacity:.72}.n{fill:#24292f}"
    ".a{fill:currentColor}.f{fill:currentColor;fill-opacity:.04}"
    ".d1,.d2,.d3,.d4{fill:currentColor}.d1{fill-opacity:.13}.d2{fill-opacity:.27}"
    ".d3{fill-opacity:.42}.d4{fill-opacity:.6}.l{fill-opacity:.3}";

static const char patterns[] =
    "<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
    "patternTransform=\"rotate(45)\"><rect width=\"6\" height=\"6\" fill=\"#ffebe9\"/>"
    "<rect width=\"3\" height=\"6\" fill=\"#cf222e\"/></pattern>"
    "<pattern id=\"dots\" width=\"4\" height=\"4\" patternUnits=\"userSpaceOnUse\">"
    "<circle cx=\"2\" cy=\"2\" r=\".9\" fill=\"#24292f\" fill-opacity=\".55\"/></pattern>"
    "<pattern id=\"lines\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" "
    "patternTransform=\"rotate(-45)\"><rect width=\"1\" height=\"5\" fill=\"#8c959f\"/>"
    "</pattern></defs>\n";

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
static int64_t write_note(spad__drawing *d, const char *text) {
    int64_t count = 0;
    for (size_t length; *text != '\0'; text += length, text += *text == ' ', count++) {
        char line[NOTE_LINE + 1];
        length = note_line(text);
        if (d == NULL) continue;
        memcpy(line, text, length);
        line[length] = '\0';
        spad__svg_text(d->out, "m", "start", (SPAD__SVG_LEFT + (count > 0 ? 10 : 0)) * 100,
                       (d->y + 8) * 100);
        spad__out_markup(d->out, line, 0);
        spad__out_string(d->out, "</text>\n");
        d->y += SPAD__SVG_NOTE;
    }
    return count;
}

/* The caveat about times: on the first line, before all notes. */
static void write_badge(spad__drawing *d) {
    if (d->picture->report->badge == NULL) return;
    spad__svg_text(d->out, "a", "start", SPAD__SVG_LEFT * 100, (d->y + 8) * 100);
    spad__out_markup(d->out, d->picture->report->badge, 0);
    spad__out_string(d->out, "</text>\n");
    d->y += SPAD__SVG_NOTE;
}

/* A light picture has short notes. */
static int64_t write_some(spad__drawing *d, const char *text, const spad__light_detail *light) {
    char some[SPAD__SVG_LIGHT_CHARACTERS * 4 + 8];
    if (light == NULL || strlen(text) <= SPAD__SVG_LIGHT_CHARACTERS * 4) return write_note(d, text);
    size_t length = SPAD__SVG_LIGHT_CHARACTERS * 4;
    while (((unsigned char)text[length] & 0xC0) == 0x80) length--;
    memcpy(some, text, length);
    memcpy(some + length, " ...", 5);
    return write_note(d, some);
}

static int64_t page_height(const spad__picture *p, const spad__light_detail *light) {
    int64_t notes = p->report->badge != NULL;
    for (size_t i = 0; i < p->report->note_count; i++) {
        notes += write_some(NULL, p->report->notes[i], light);
    }
    const int64_t views =
        (int64_t)p->view_count * (SPAD__SVG_CAPTION + SPAD__SVG_LEGEND + SPAD__SVG_MAP +
                                  SPAD__SVG_GAP + SPAD__SVG_CURVE + SPAD__SVG_AXIS + SPAD__SVG_GAP);
    const int64_t rows = (int64_t)spad__svg_rows(p, light);
    return SPAD__SVG_HEAD + notes * SPAD__SVG_NOTE + views +
           (rows > 0 ? rows * SPAD__SVG_ROW + SPAD__SVG_AXIS + SPAD__SVG_LEGEND : 0) +
           SPAD__SVG_GAP;
}

static void write_style_rules(spad__out *out, const char *rules, const char *before) {
    for (const char *rule = rules; *rule != '\0';) {
        const size_t length = strcspn(rule, "}") + 1;
        for (size_t from = 0; from < length;) { /* each of `.a,.b{...}` */
            const size_t comma = strcspn(rule + from, ",{");
            const bool more = rule[from + comma] == ',';
            const size_t end = more ? from + comma + 1 : length;
            spad__out_string(out, before);
            spad__out_bytes(out, rule + from, end - from);
            from = end;
        }
        rule += length;
    }
}

/* The rules of the style, those of a light picture for it alone. */
static void write_style(spad__out *out, bool is_light) {
    spad__out_string(out, "<style>");
    write_style_rules(out, style, is_light ? ".spad-light " : "");
    if (is_light) write_style_rules(out, light_style, ".spad-light ");
    spad__out_string(out, "</style>\n");
}

/* False: no memory. */
static bool write_picture(spad__out *out, const spad__picture *p, const spad__light_detail *light) {
    const spad_report *report = p->report;
    const long long height = (long long)page_height(p, light);
    spad__out_format(out,
                     "<svg xmlns=\"http://www.w3.org/2000/svg\"%s viewBox=\"0 0 %d %lld\" "
                     "width=\"%d\" height=\"%lld\">\n",
                     light != NULL ? " class=\"spad-light\"" : "", SPAD__SVG_PAGE_WIDTH, height,
                     SPAD__SVG_PAGE_WIDTH, height);
    write_style(out, light != NULL);
    spad__out_string(out, patterns);
    if (light == NULL)
        spad__out_string(out, "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
    spad__svg_text(out, "t", "start", SPAD__SVG_LEFT * 100, 3000);
    spad__out_markup(out, report->title, 80);
    spad__out_string(out, "</text>\n");
    spad__svg_text(out, "m", "start", SPAD__SVG_LEFT * 100, 4800);
    spad__out_markup(out, report->target->about != NULL ? report->target->about : "", 120);
    spad__out_string(out, "</text>\n");
    spad__drawing d = {.out = out, .picture = p, .y = SPAD__SVG_HEAD, .light = light};
    write_badge(&d);
    for (size_t i = 0; i < report->note_count; i++) write_some(&d, report->notes[i], light);
    for (size_t i = 0; i < p->view_count; i++) {
        d.view = &p->views[i];
        spad__svg_view(&d);
    }
    spad__svg_timeline(&d);
    spad__out_string(out, "</svg>\n");
    return !d.failed;
}

spad_status spad__write_report_svg(const spad__picture *picture, const spad_sink *sink,
                                   spad_error *error) {
    spad__out out;
    spad__out_start(&out, sink);
    spad__out_limit(&out, &picture->limit);
    write_picture(&out, picture, NULL); /* without a grid it needs no memory */
    return spad__out_finish(&out, error);
}

/* The light picture in memory, with as much detail as there is room for. */
static spad_status make_light(spad__memo *memo, const spad__picture *p, spad_error *error) {
    const int64_t views = spad__max((int64_t)p->view_count, 1);
    spad__light_detail light = {
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
        light = (spad__light_detail){light.boxes / 2, light.bars / 2, light.rows / 2,
                                     light.cell * 3 / 2};
    }
    return status == SPAD_ERR_IO ? spad__fail_host_memory(error) : status;
}

spad_status spad__write_report_light(const spad__picture *picture, const spad_sink *sink,
                                     spad_error *error) {
    spad__memo memo = {.host = &picture->report->host};
    spad_status status = make_light(&memo, picture, error);
    if (status == SPAD_OK) {
        spad__out out;
        spad__out_start(&out, sink);
        spad__out_bytes(&out, memo.text.items, memo.text.count);
        status = spad__out_finish(&out, error);
    }
    spad__memo_free(&memo);
    return status;
}
