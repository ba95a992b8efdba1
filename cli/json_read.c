/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads JSON (RFC 8259) in place: strings are decoded where they are.
 */
#include <stdlib.h>
#include <string.h>

#include "json_read.h"

typedef struct reader {
    char *at;
    char *end;
    int depth;
} reader;

static bool read_value(reader *r, cli_json **out);

static void skip_blanks(reader *r) {
    while (r->at < r->end && strchr(" \t\r\n", *r->at) != NULL && *r->at != '\0') r->at++;
}

static bool take(reader *r, char wanted) {
    skip_blanks(r);
    if (r->at == r->end || *r->at != wanted) return false;
    r->at++;
    return true;
}

static bool take_word(reader *r, const char *word) {
    const size_t length = strlen(word);
    if ((size_t)(r->end - r->at) < length || memcmp(r->at, word, length) != 0) return false;
    r->at += length;
    return true;
}

/* ---- strings ----------------------------------------------------------------------- */

/* Four hexadecimal digits. */
static bool read_unit(reader *r, uint32_t *out) {
    *out = 0;
    if (r->end - r->at < 4) return false;
    for (int i = 0; i < 4; i++) {
        const char c = *r->at++;
        const char *digits = "0123456789abcdef";
        const char lower = c >= 'A' && c <= 'F' ? (char)(c - 'A' + 'a') : c;
        const char *digit = lower != '\0' ? strchr(digits, lower) : NULL;
        if (digit == NULL) return false;
        *out = *out * 16 + (uint32_t)(digit - digits);
    }
    return true;
}

/* A character as UTF-8; an invalid one, such as half of a pair, becomes U+FFFD. */
static char *put_character(char *out, uint32_t c) {
    if (c == 0 || (c >= 0xd800 && c < 0xe000)) c = 0xfffd;
    if (c < 0x80) {
        *out++ = (char)c;
    } else if (c < 0x800) {
        *out++ = (char)(0xc0 | (c >> 6));
        *out++ = (char)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        *out++ = (char)(0xe0 | (c >> 12));
        *out++ = (char)(0x80 | ((c >> 6) & 0x3f));
        *out++ = (char)(0x80 | (c & 0x3f));
    } else {
        *out++ = (char)(0xf0 | (c >> 18));
        *out++ = (char)(0x80 | ((c >> 12) & 0x3f));
        *out++ = (char)(0x80 | ((c >> 6) & 0x3f));
        *out++ = (char)(0x80 | (c & 0x3f));
    }
    return out;
}

/* What follows "\u"; it is never longer than what it stands for. */
static char *read_escaped_character(reader *r, char *out) {
    uint32_t c, low;
    if (!read_unit(r, &c)) return NULL;
    if (c >= 0xd800 && c < 0xdc00 && r->end - r->at >= 6 && r->at[0] == '\\' && r->at[1] == 'u') {
        reader after = *r;
        after.at += 2;
        if (read_unit(&after, &low) && low >= 0xdc00 && low < 0xe000) {
            c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
            *r = after;
        }
    }
    return put_character(out, c);
}

static bool read_string(reader *r, const char **text) {
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    if (!take(r, '"')) return false;
    char *out = r->at;
    *text = out;
    while (r->at < r->end && *r->at != '"') {
        if (*r->at != '\\') {
            *out++ = *r->at++;
            continue;
        }
        if (++r->at == r->end) return false;
        const char name = *r->at++;
        const char *found = name != '\0' ? strchr(names, name) : NULL;
        if (found != NULL)
            *out++ = values[found - names];
        else if (name != 'u' || (out = read_escaped_character(r, out)) == NULL)
            return false;
    }
    if (r->at == r->end) return false;
    r->at++;
    *out = '\0';
    return true;
}

/* ---- values ------------------------------------------------------------------------ */

static bool read_number(reader *r, cli_json *value) {
    const size_t length = strspn(r->at, "-+.0123456789eE"); /* the text ends with a NUL */
    if (length == 0 || (size_t)(r->end - r->at) < length) return false;
    value->kind = CLI_JSON_NUMBER;
    value->text = r->at;
    char *end;
    value->number = strtoll(r->at, &end, 10); /* at the limits where it is beyond them */
    if (end == r->at) return false;
    r->at += length;
    return true;
}

/* The values of a list, or the members of an object, up to the closing bracket. */
static bool read_members(reader *r, cli_json *parent, char close) {
    cli_json **last = &parent->first;
    if (take(r, close)) return true;
    do {
        const char *key = NULL;
        if (parent->kind == CLI_JSON_OBJECT && (!read_string(r, &key) || !take(r, ':')))
            return false;
        if (!read_value(r, last)) return false;
        (*last)->key = key;
        last = &(*last)->next;
    } while (take(r, ','));
    return take(r, close);
}

static bool read_kind(reader *r, cli_json *value) {
    skip_blanks(r);
    if (r->at == r->end) return false;
    switch (*r->at) {
    case '{': value->kind = CLI_JSON_OBJECT; return r->at++, read_members(r, value, '}');
    case '[': value->kind = CLI_JSON_LIST; return r->at++, read_members(r, value, ']');
    case '"': value->kind = CLI_JSON_STRING; return read_string(r, &value->text);
    case 't': value->kind = CLI_JSON_TRUE; return take_word(r, "true");
    case 'f': value->kind = CLI_JSON_FALSE; return take_word(r, "false");
    case 'n': value->kind = CLI_JSON_NULL; return take_word(r, "null");
    default: return read_number(r, value);
    }
}

static bool read_value(reader *r, cli_json **out) {
    if (r->depth == CLI_JSON_DEPTH) return false;
    *out = calloc(1, sizeof **out);
    if (*out == NULL) return false;
    r->depth++;
    const bool fine = read_kind(r, *out);
    r->depth--;
    return fine;
}

cli_json *cli_json_read(char *text, size_t length) {
    reader r = {.at = text, .end = text + length};
    cli_json *value = NULL;
    bool fine = memchr(text, '\0', length) == NULL && read_value(&r, &value);
    skip_blanks(&r);
    if (fine && r.at == r.end) return value;
    cli_json_free(value);
    return NULL;
}

void cli_json_free(cli_json *value) {
    while (value != NULL) {
        cli_json *next = value->next;
        cli_json_free(value->first);
        free(value);
        value = next;
    }
}

const cli_json *cli_json_get(const cli_json *object, const char *key) {
    if (object == NULL || object->kind != CLI_JSON_OBJECT) return NULL;
    for (const cli_json *member = object->first; member != NULL; member = member->next) {
        if (strcmp(member->key, key) == 0) return member;
    }
    return NULL;
}

const char *cli_json_text(const cli_json *object, const char *key) {
    const cli_json *member = cli_json_get(object, key);
    return member != NULL && member->kind == CLI_JSON_STRING ? member->text : NULL;
}

int64_t cli_json_number(const cli_json *object, const char *key, int64_t otherwise) {
    const cli_json *member = cli_json_get(object, key);
    return member != NULL && member->kind == CLI_JSON_NUMBER ? member->number : otherwise;
}
