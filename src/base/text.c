/* SPDX-License-Identifier: Apache-2.0
 *
 * The printer, the JSON writer, UTF-8 and close matches. No locale, no
 * floating point; only a memo allocates.
 */
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "spad/source.h"

/* ---- text for people --------------------------------------------------------------- */

/* May the character at `text` be shown? A byte that is not UTF-8 may not, nor what acts on a
 * terminal; a line feed may, where `lines` are written. *size: its bytes, at least 1. */
static bool is_shown(const char *text, size_t length, bool lines, size_t *size) {
    const size_t bytes = spad__utf8_length(text, length);
    *size = bytes == 0 ? 1 : bytes;
    if (lines && *text == '\n') return true;
    return bytes > 0 && !spad__is_hidden(spad__utf8_decode(text, bytes));
}

/* In place, since a character becomes one byte. Returns the bytes that are left. */
static size_t clean(char *text, size_t length, bool lines) {
    size_t used = 0;
    size_t size;
    for (size_t at = 0; at < length; at += size) {
        if (is_shown(text + at, length - at, lines, &size)) {
            memmove(text + used, text + at, size);
            used += size;
        } else {
            text[used++] = '?';
        }
    }
    return used;
}

void spad_text_clean(char *text) {
    text[clean(text, strlen(text), false)] = '\0';
}

/* ---- numbers for people -------------------------------------------------------------- */

spad__figure spad__grouped(int64_t number) {
    spad__figure out;
    char *at = out.text + sizeof out.text - 1;
    uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    int digits = 0;
    *at = '\0';
    do {
        if (digits > 0 && digits % 3 == 0) *--at = ',';
        *--at = (char)('0' + left % 10);
        left /= 10;
        digits++;
    } while (left > 0);
    if (number < 0) *--at = '-';
    memmove(out.text, at, (size_t)(out.text + sizeof out.text - at));
    return out;
}

spad__figure spad__short_size(int64_t bytes) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    spad__figure out;
    uint64_t value = bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes;
    uint64_t rest = 0;
    size_t unit = 0;
    while (value >= 1024 && unit + 1 < sizeof units / sizeof units[0]) {
        rest = value % 1024;
        value /= 1024;
        unit++;
    }
    const char *sign = bytes < 0 ? "-" : "";
    unsigned tenths = (unsigned)((rest * 10 + 512) / 1024);
    value += tenths / 10;
    tenths %= 10;
    if (tenths == 0)
        snprintf(out.text, sizeof out.text, "%s%u %s", sign, (unsigned)value, units[unit]);
    else
        snprintf(out.text, sizeof out.text, "%s%u.%u %s", sign, (unsigned)value, tenths,
                 units[unit]);
    return out;
}

spad__figure spad__exact_size(int64_t bytes) {
    spad__figure out = spad__grouped(bytes);
    const size_t length = strlen(out.text);
    memcpy(out.text + length, " B", 3);
    return out;
}

spad__figure spad__both_sizes(int64_t bytes) {
    spad__figure out = spad__exact_size(bytes);
    if (bytes < 1024 && bytes > -1024) return out;
    const spad__figure rounded = spad__short_size(bytes);
    const size_t length = strlen(out.text);
    const size_t more = strlen(rounded.text);
    memcpy(out.text + length, " (", 2);
    memcpy(out.text + length + 2, rounded.text, more);
    memcpy(out.text + length + 2 + more, ")", 2);
    return out;
}

/* ---- printer ----------------------------------------------------------------------- */

static int file_write(void *context, const char *bytes, size_t count) {
    return fwrite(bytes, 1, count, (FILE *)context) == count ? 0 : -1;
}

spad_sink spad_sink_file(FILE *file) {
    return (spad_sink){.write = file_write, .context = file};
}

void spad__out_start(spad__out *out, const spad_sink *sink) {
    out->sink = *sink;
    out->failed = false;
    out->for_people = false;
    out->sent = out->asked = 0;
    out->limited = false;
    out->used = 0;
}

void spad__out_start_text(spad__out *out, const spad_sink *sink) {
    spad__out_start(out, sink);
    out->for_people = true;
}

void spad__out_limit(spad__out *out, const spad__limit *limit) {
    out->limited = true;
    out->limit = *limit;
}

/* Is it time to end? */
static bool is_over(spad__out *out) {
    if (!out->limited || (out->sent > 0 && out->sent - out->asked < SPAD__OUT_BYTES_PER_CHECK))
        return false;
    out->asked = out->sent;
    return spad__limit_reached(&out->limit);
}

static void out_send(spad__out *out, const char *bytes, size_t count) {
    while (count > 0 && !out->failed) {
        const size_t part = count < SPAD__OUT_BYTES_PER_CHECK ? count : SPAD__OUT_BYTES_PER_CHECK;
        if (is_over(out) || out->sink.write(out->sink.context, bytes, part) != 0)
            out->failed = true;
        out->sent += part;
        bytes += part;
        count -= part;
    }
}

static void out_drain(spad__out *out) {
    out_send(out, out->buffer, out->used);
    out->used = 0;
}

static void out_raw(spad__out *out, const char *bytes, size_t count) {
    if (count > sizeof out->buffer - out->used) out_drain(out);
    if (count > sizeof out->buffer) {
        out_send(out, bytes, count);
        return;
    }
    if (count > 0) memcpy(out->buffer + out->used, bytes, count);
    out->used += count;
}

/* Runs of characters that may be shown go out as they are. */
static void out_clean(spad__out *out, const char *bytes, size_t count, bool lines) {
    size_t run = 0;
    size_t size;
    for (size_t at = 0; at < count; at += size) {
        if (is_shown(bytes + at, count - at, lines, &size)) continue;
        out_raw(out, bytes + run, at - run);
        out_raw(out, "?", 1);
        run = at + size;
    }
    out_raw(out, bytes + run, count - run);
}

void spad__out_bytes(spad__out *out, const char *bytes, size_t count) {
    if (out->for_people)
        out_clean(out, bytes, count, true);
    else
        out_raw(out, bytes, count);
}

void spad__out_string(spad__out *out, const char *text) {
    spad__out_bytes(out, text, strlen(text));
}

void spad__out_one_line(spad__out *out, const char *name) {
    out_clean(out, name, strlen(name), false);
}

void spad__out_repeat(spad__out *out, const char *text, int64_t times) {
    const size_t length = strlen(text);
    for (int64_t i = 0; i < times; i++) spad__out_bytes(out, text, length);
}

size_t spad__mark_bytes(const char *text, size_t length) {
    static const char mark[] = "\xEF\xBB\xBF";
    const size_t bytes = sizeof mark - 1;
    return length >= bytes && memcmp(text, mark, bytes) == 0 ? bytes : 0;
}

size_t spad__append(char *field, size_t size, size_t used, const char *format, ...) {
    spad__assert(used < size);
    va_list arguments;
    va_start(arguments, format);
    const int more = vsnprintf(field + used, size - used, format, arguments);
    va_end(arguments);
    spad__assert(more >= 0);
    const size_t longer = used + (size_t)more;
    return longer < size ? longer : size - 1;
}

void spad__out_format(spad__out *out, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    va_list again;
    va_copy(again, arguments);
    const size_t room = sizeof out->buffer - out->used;
    const int length = vsnprintf(out->buffer + out->used, room, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof out->buffer) {
        out->failed = true; /* against the contract: see the header */
        va_end(again);
        return;
    }
    if ((size_t)length >= room) {
        out_drain(out);
        vsnprintf(out->buffer, sizeof out->buffer, format, again);
    }
    va_end(again);
    char *piece = out->buffer + out->used;
    out->used += out->for_people ? clean(piece, (size_t)length, true) : (size_t)length;
}

void spad__out_shape(spad__out *out, spad_shape shape) {
    spad__out_string(out, "(");
    for (size_t i = 0; i < shape.rank; i++) {
        spad__out_format(out, i == 0 ? "%lld" : ", %lld", (long long)shape.dims[i]);
    }
    spad__out_string(out, shape.rank == 1 ? ",)" : ")");
}

void spad__out_quoted_as(spad__out *out, const char *text, const char *control) {
    size_t length = strlen(text);
    spad__out_string(out, "\"");
    while (length > 0) {
        const unsigned char c = (unsigned char)*text;
        const size_t size = spad__utf8_length(text, length);
        if (c == '"' || c == '\\') {
            spad__out_format(out, "\\%c", c);
        } else if (c < 0x20 || c == 0x7F) {
            spad__out_format(out, "%s%02x", control, c);
        } else if (size == 0 || spad__is_hidden(spad__utf8_decode(text, size))) {
            spad__out_string(out, "\xEF\xBF\xBD");
        } else {
            spad__out_bytes(out, text, size);
        }
        text += size == 0 ? 1 : size;
        length -= size == 0 ? 1 : size;
    }
    spad__out_string(out, "\"");
}

spad_status spad__out_finish(spad__out *out, spad_error *error) {
    out_drain(out);
    if (out->failed && out->limited && out->limit.status != SPAD_OK) {
        return spad__limit_fail(&out->limit, (int64_t)out->asked, "bytes of output", error);
    }
    if (out->failed) return spad__fail(error, SPAD_ERR_IO, "writing the output failed");
    return SPAD_OK;
}

/* ---- text in memory ---------------------------------------------------------------- */

static int memo_write(void *context, const char *bytes, size_t count) {
    spad__memo *memo = context;
    if (!spad__array_reserve(memo->host, &memo->text, count)) return 1;
    if (count > 0) memcpy(memo->text.items + memo->text.count, bytes, count);
    memo->text.count += count;
    return 0;
}

spad_sink spad__memo_sink(spad__memo *memo) {
    return (spad_sink){.write = memo_write, .context = memo};
}

void spad__memo_free(spad__memo *memo) {
    spad__array_free(memo->host, &memo->text);
}

/* ---- JSON -------------------------------------------------------------------------- */

void spad__json_start(spad__json *json, spad__out *out) {
    memset(json, 0, sizeof *json);
    json->out = out;
}

static void json_new_line(spad__json *json) {
    spad__out_string(json->out, "\n");
    spad__out_repeat(json->out, "  ", json->depth);
}

/* Comma, line and indent in front of a value or key. */
static void json_before(spad__json *json) {
    if (json->after_key) {
        json->after_key = false;
        return;
    }
    if (json->depth == 0) return;
    const bool first = !json->has_item[json->depth];
    json->has_item[json->depth] = true;
    if (!first) spad__out_string(json->out, json->flat > 0 ? ", " : ",");
    if (json->flat == 0) json_new_line(json);
}

void spad__json_open(spad__json *json, char bracket) {
    json_before(json);
    spad__out_bytes(json->out, &bracket, 1);
    json->depth++;
    json->has_item[json->depth] = false;
}

void spad__json_close(spad__json *json, char bracket) {
    const bool has_items = json->has_item[json->depth];
    json->depth--;
    if (has_items && json->flat == 0) json_new_line(json);
    spad__out_bytes(json->out, &bracket, 1);
}

void spad__json_open_flat(spad__json *json, char bracket) {
    spad__json_open(json, bracket);
    json->flat++;
}

void spad__json_close_flat(spad__json *json, char bracket) {
    spad__json_close(json, bracket);
    json->flat--;
}

/* A code point as JSON writes it in ASCII: above 2^16 as two surrogates. */
static void json_escape_code(spad__out *out, uint32_t code) {
    if (code >= 0x10000) {
        spad__out_format(out, "\\u%04x", (unsigned)(0xD800 + ((code - 0x10000) >> 10)));
        code = 0xDC00 + ((code - 0x10000) & 0x3FF);
    }
    spad__out_format(out, "\\u%04x", (unsigned)code);
}

/* Valid JSON and valid UTF-8 for any bytes. What acts on a terminal is escaped, so that it is
 * kept and yet does nothing where JSON is shown. */
static void json_escape(spad__out *out, const char *text) {
    size_t length = strlen(text);
    spad__out_string(out, "\"");
    while (length > 0) {
        const size_t size = spad__utf8_length(text, length);
        const uint32_t code = size > 0 ? spad__utf8_decode(text, size) : 0;
        if (*text == '"' || *text == '\\')
            spad__out_format(out, "\\%c", *text);
        else if (size == 0)
            spad__out_string(out, "\xEF\xBF\xBD");
        else if (spad__is_hidden(code))
            json_escape_code(out, code);
        else
            spad__out_bytes(out, text, size);
        text += size == 0 ? 1 : size;
        length -= size == 0 ? 1 : size;
    }
    spad__out_string(out, "\"");
}

void spad__json_key(spad__json *json, const char *key) {
    json_before(json);
    json_escape(json->out, key);
    spad__out_string(json->out, ": ");
    json->after_key = true;
}

void spad__json_string(spad__json *json, const char *text) {
    json_before(json);
    if (text == NULL) {
        spad__out_string(json->out, "null");
    } else {
        json_escape(json->out, text);
    }
}

void spad__json_int(spad__json *json, int64_t value) {
    json_before(json);
    spad__out_format(json->out, "%lld", (long long)value);
}

void spad__json_thousandths(spad__json *json, int64_t value) {
    const uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    json_before(json);
    spad__out_format(json->out, "%s%llu.%03u", value < 0 ? "-" : "",
                     (unsigned long long)(size / 1000), (unsigned)(size % 1000));
}

void spad__json_bool(spad__json *json, bool value) {
    json_before(json);
    spad__out_string(json->out, value ? "true" : "false");
}

void spad__json_end(spad__json *json) {
    spad__out_string(json->out, "\n");
}

void spad__json_key_open(spad__json *json, const char *key, char bracket) {
    spad__json_key(json, key);
    spad__json_open(json, bracket);
}

void spad__json_key_string(spad__json *json, const char *key, const char *text) {
    spad__json_key(json, key);
    spad__json_string(json, text);
}

void spad__json_key_int(spad__json *json, const char *key, int64_t value) {
    spad__json_key(json, key);
    spad__json_int(json, value);
}

void spad__json_key_bool(spad__json *json, const char *key, bool value) {
    spad__json_key(json, key);
    spad__json_bool(json, value);
}

/* ---- UTF-8 (Unicode 15, table 3-7: well-formed byte sequences) --------------------- */

size_t spad__utf8_length(const char *text, size_t length) {
    const unsigned char *b = (const unsigned char *)text;
    size_t size;
    unsigned char low = 0x80;
    unsigned char high = 0xBF; /* range of the second byte */
    if (b[0] < 0x80) return 1;
    if (b[0] >= 0xC2 && b[0] <= 0xDF) {
        size = 2;
    } else if (b[0] >= 0xE0 && b[0] <= 0xEF) {
        size = 3;
        if (b[0] == 0xE0) low = 0xA0;
        if (b[0] == 0xED) high = 0x9F;
    } else if (b[0] >= 0xF0 && b[0] <= 0xF4) {
        size = 4;
        if (b[0] == 0xF0) low = 0x90;
        if (b[0] == 0xF4) high = 0x8F;
    } else {
        return 0;
    }
    if (length < size || b[1] < low || b[1] > high) return 0;
    for (size_t i = 2; i < size; i++) {
        if (b[i] < 0x80 || b[i] > 0xBF) return 0;
    }
    return size;
}

uint32_t spad__utf8_decode(const char *text, size_t size) {
    static const unsigned char masks[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    const unsigned char *b = (const unsigned char *)text;
    uint32_t code = b[0] & masks[size];
    for (size_t i = 1; i < size; i++) code = code << 6 | (b[i] & 0x3Fu);
    return code;
}

bool spad__is_hidden(uint32_t code) {
    return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0xAD || code == 0x61C ||
           (code >= 0x200B && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E) ||
           (code >= 0x2060 && code <= 0x206F) || code == 0xFEFF || code == 0xFFFE ||
           code == 0xFFFF || (code >= 0xE0000 && code <= 0xE0FFF);
}

/* ---- close matches ----------------------------------------------------------------- */

enum { NEAREST_WORD_MAX = 40 };

/* Levenshtein distance with one row; words longer than the limit are far. */
static int edit_distance(const char *a, const char *b) {
    const size_t a_length = strlen(a);
    const size_t b_length = strlen(b);
    if (a_length > NEAREST_WORD_MAX || b_length > NEAREST_WORD_MAX) return NEAREST_WORD_MAX;
    int row[NEAREST_WORD_MAX + 1];
    for (size_t j = 0; j <= b_length; j++) row[j] = (int)j;
    for (size_t i = 1; i <= a_length; i++) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= b_length; j++) {
            const int replaced = diagonal + (spad__lower(a[i - 1]) != spad__lower(b[j - 1]));
            diagonal = row[j];
            int best = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;
            if (replaced < best) best = replaced;
            row[j] = best;
        }
    }
    return row[b_length];
}

void spad__nearest_start(spad__nearest *nearest, const char *word) {
    memset(nearest, 0, sizeof *nearest);
    nearest->word = word;
}

void spad__nearest_offer(spad__nearest *nearest, const char *name) {
    const int length = (int)strlen(name);
    const int limit = length < 4 ? 1 : length < 8 ? 2 : 3; /* about a third of the word */
    const int distance = edit_distance(nearest->word, name);
    if (distance > limit) return;
    int place = nearest->count;
    while (place > 0 && nearest->distance[place - 1] > distance) place--;
    if (place == SPAD__NEAREST_MAX) return;
    if (nearest->count < SPAD__NEAREST_MAX) nearest->count++;
    for (int i = nearest->count - 1; i > place; i--) {
        nearest->distance[i] = nearest->distance[i - 1];
        nearest->name[i] = nearest->name[i - 1];
    }
    nearest->distance[place] = distance;
    nearest->name[place] = name;
}

void spad__nearest_phrase(const spad__nearest *nearest, char *field, size_t size) {
    const char *const *n = nearest->name;
    field[0] = '\0';
    if (nearest->count == 1) snprintf(field, size, "; did you mean '%s'?", n[0]);
    if (nearest->count == 2) snprintf(field, size, "; did you mean '%s' or '%s'?", n[0], n[1]);
    if (nearest->count == 3) {
        snprintf(field, size, "; did you mean '%s', '%s' or '%s'?", n[0], n[1], n[2]);
    }
}

/* ---- objects ----------------------------------------------------------------------- */

spad_status spad__fail_format(spad_error *error) {
    return spad__fail(error, SPAD_ERR_ARGUMENT, "this is not written in that format");
}

spad_status spad__write_as(const void *object, spad__text_writer *text, spad__json_writer *json,
                           spad_format format, const spad_sink *sink, spad_error *error) {
    spad__out out;
    if (format == SPAD_FORMAT_TEXT) {
        spad__out_start_text(&out, sink);
        text(&out, object);
    } else if (format == SPAD_FORMAT_JSON) {
        spad__json body;
        spad__out_start(&out, sink);
        spad__json_start(&body, &out);
        json(&body, object);
        spad__json_end(&body);
    } else {
        return spad__fail_format(error);
    }
    return spad__out_finish(&out, error);
}
