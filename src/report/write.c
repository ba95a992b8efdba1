/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the writers: scaling without floats, labels and colours of boxes,
 * and text of the user in the clothes of each format.
 */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "report/report.h"
#include "spad/experimental/report_parts.h"

int64_t spad__scale(int64_t value, int64_t span, int64_t pixels) {
    int64_t product;
    while (span >= INT64_C(1) << 40) {
        span >>= 1;
        value >>= 1;
    }
    if (span <= 0) return 0;
    /* a value far outside of the span */
    return spad__mul(value, pixels, &product) ? product / span : value / span * pixels;
}

/* ---- boxes ------------------------------------------------------------------------- */

const char *spad__box_label(const spad_report_box *box) {
    return box->name != NULL && *box->name != '\0' ? box->name : "(unnamed)";
}

size_t spad__stem_length(const char *name) {
    const size_t length = strcspn(name, "[#");
    return length > 0 ? length : strlen(name);
}

int64_t spad__space_used(const spad__view *view) {
    const spad_report_space *facts = &view->facts;
    const bool fits = facts->usable == SPAD_UNBOUNDED || facts->top <= facts->usable;
    if (view->has_heap && fits) return facts->peak_bytes;
    return spad__max(facts->top, facts->peak_bytes);
}

/* Hue, saturation and lightness. Chosen so that any two stay apart (0.038 or more in OKLab) also as
 * people without one of the three kinds of cones see them, and that black text can be read on each.
 */
static const int colours[SPAD__COLOURS][3] = {
    {200, 38, 77}, {30, 75, 63},  {260, 75, 84}, {90, 75, 70}, {340, 38, 77}, {230, 75, 70},
    {160, 75, 70}, {290, 38, 63}, {310, 75, 89}, {80, 38, 70}, {20, 75, 56},  {210, 75, 70}};

/* FNV-1a over the stem. */
static int own_colour(const char *name) {
    const size_t length = spad__stem_length(name);
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)name[i]) * 16777619u;
    hash ^= hash >> 15;
    return (int)(hash % SPAD__COLOURS);
}

int spad__colour_of(spad__colours *known, const char *name) {
    const size_t length = spad__stem_length(name);
    for (size_t i = 0; i < known->count; i++) {
        if (spad__stem_length(known->names[i]) == length &&
            memcmp(known->names[i], name, length) == 0) {
            return (int)i;
        }
    }
    if (known->count == SPAD__COLOURS) return own_colour(name);
    known->names[known->count] = name;
    return (int)known->count++;
}

void spad__out_colour(spad__out *out, int colour, bool is_odd) {
    const int *c = colours[colour];
    spad__out_format(out, "hsl(%d,%d%%,%d%%)", c[0], c[1], c[2] - (is_odd ? 6 : 0));
}

/* ---- text of the user -------------------------------------------------------------- */

/* The bytes of the next character, or 0 if it must not be shown; *size: how many to skip. */
static size_t next_shown(const char *text, size_t length, size_t *size) {
    const size_t bytes = spad__utf8_length(text, length);
    *size = bytes > 0 ? bytes : 1;
    return bytes > 0 && !spad__is_hidden(spad__utf8_decode(text, bytes)) ? bytes : 0;
}

/* Characters of a text. */
static size_t count_code_points(const char *text, size_t length) {
    size_t count = 0;
    for (size_t size; length > 0; text += size, length -= size, count++) {
        next_shown(text, length, &size);
    }
    return count;
}

typedef struct clothes {
    bool markup;
    const char *hidden; /* instead of a character that must not be shown */
    const char *gap;    /* instead of the middle */
} clothes;

static const clothes plain = {false, "?", "~"};
static const clothes marked_up = {true, "\xEF\xBF\xBD", "\xE2\x80\xA6"};

/* Returns the characters written. */
static size_t out_text(spad__out *out, const char *text, size_t length, size_t most,
                       const clothes *in) {
    const size_t count = count_code_points(text, length);
    const bool cut = most > 0 && count > most;
    const size_t head = cut ? most / 2 : count; /* then the gap, then the others of `most` */
    const size_t tail = cut ? count - (most - 1 - head) : count;
    for (size_t i = 0, size; length > 0; i++, text += size, length -= size) {
        const size_t bytes = next_shown(text, length, &size);
        if (i == head) spad__out_string(out, in->gap);
        if (i >= head && i < tail) continue;
        if (bytes == 0)
            spad__out_string(out, in->hidden);
        else if (in->markup && strchr("<>&\"'", *text) != NULL)
            spad__out_format(out, "&#%d;", *text);
        else
            spad__out_bytes(out, text, bytes);
    }
    return cut ? most : count;
}

size_t spad__out_plain(spad__out *out, const char *text, size_t most) {
    return out_text(out, text, strlen(text), most, &plain);
}

size_t spad__out_plain_stem(spad__out *out, const char *name, size_t most) {
    return out_text(out, name, spad__stem_length(name), most, &plain);
}

void spad__out_markup(spad__out *out, const char *text, size_t most) {
    out_text(out, text, strlen(text), most, &marked_up);
}

void spad__out_markup_stem(spad__out *out, const char *name, size_t most) {
    out_text(out, name, spad__stem_length(name), most, &marked_up);
}

void spad__out_script_string(spad__out *out, const char *text) {
    if (text == NULL) {
        spad__out_string(out, "null");
        return;
    }
    size_t length = strlen(text);
    spad__out_string(out, "\"");
    while (length > 0) {
        const unsigned char c = (unsigned char)*text;
        size_t size = spad__utf8_length(text, length);
        const uint32_t code = size > 0 ? spad__utf8_decode(text, size) : 0xFFFD;
        if (c == '"' || c == '\\')
            spad__out_format(out, "\\%c", c);
        else if (c < 0x20 || c == 0x7F || c == '<' || c == '>' || c == '&' || size == 0 ||
                 code == 0x2028 || code == 0x2029)
            spad__out_format(out, "\\u%04x", (unsigned)code);
        else
            spad__out_bytes(out, text, size);
        if (size == 0) size = 1;
        text += size;
        length -= size;
    }
    spad__out_string(out, "\"");
}

/* ---- numbers ----------------------------------------------------------------------- */

void spad__out_bytes_short(spad__out *out, int64_t bytes) {
    spad__out_string(out, spad__short_size(bytes).text);
}
