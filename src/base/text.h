/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing text: a buffered printer in front of a sink, a JSON writer on top
 * of it, a UTF-8 reader, and the "did you mean" search.
 */
#ifndef SPAD_BASE_TEXT_H
#define SPAD_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/limit.h"
#include "base/memory.h"
#include "spad/dtype.h"
#include "spad/host.h"

/* The end of a text; one of no bytes may be NULL, to which C allows nothing to be added. */
static inline const char *spad__text_end(const char *text, size_t length) {
    return length > 0 ? text + length : text;
}

/* Bytes of the byte order mark (U+FEFF) that some editors put in front of a text: 3 or 0. */
size_t spad__mark_bytes(const char *text, size_t length);

/* Adds to a text of `used` bytes and a NUL in a field of `size` bytes, and returns how long it is
 * then; what does not fit is cut off. */
size_t spad__append(char *field, size_t size, size_t used, const char *format, ...)
    SPAD_PRINTF(4, 5);

/* ---- numbers for people: JSON and CSV have plain digits ------------------------------ */
typedef struct spad__figure {
    char text[56];
} spad__figure;

/* "163,840": digits in groups of three. */
spad__figure spad__grouped(int64_t number);
/* "160 KiB", "97.7 KiB", "512 B". */
spad__figure spad__short_size(int64_t bytes);
/* "163,840 B". */
spad__figure spad__exact_size(int64_t bytes);
/* "163,840 B (160 KiB)"; below 1 KiB "512 B". */
spad__figure spad__both_sizes(int64_t bytes);

/* ---- printer: errors stick, so that callers check once at the end ------------------ */
typedef struct spad__out {
    spad_sink sink;
    bool failed;
    bool for_people;
    size_t sent;  /* bytes so far */
    size_t asked; /* of them, when the limit was asked last */
    bool limited;
    spad__limit limit; /* where it is limited */
    size_t used;
    char buffer[512];
} spad__out;

/* From here on a copy of the limit is asked once in SPAD__OUT_BYTES_PER_CHECK bytes; when it is
 * reached, writing fails with its status. */
enum { SPAD__OUT_BYTES_PER_CHECK = 16 * 1024 };
void spad__out_limit(spad__out *out, const spad__limit *limit);
void spad__out_start(spad__out *out, const spad_sink *sink);
/* For text that a person reads on a terminal: whatever is written, a character that would act on
 * it (see spad__is_hidden) or is not UTF-8 arrives as '?'; line feeds stay. Every writer of such a
 * text starts with this one, so that a name from a file cannot turn into a command. */
void spad__out_start_text(spad__out *out, const spad_sink *sink);
void spad__out_bytes(spad__out *out, const char *bytes, size_t count);
void spad__out_string(spad__out *out, const char *text);
/* A name that a user gave, in such a text: line feeds become '?' as well. */
void spad__out_one_line(spad__out *out, const char *name);
void spad__out_repeat(spad__out *out, const char *text, int64_t times);
/* Integers and short strings only, as in spad__fail: a piece of 512 bytes or
 * more fails the printer. User strings go through spad__out_string. */
void spad__out_format(spad__out *out, const char *format, ...) SPAD_PRINTF(2, 3);
/* "(128, 512)", "(128,)", "()": the way Python shows a tuple. */
void spad__out_shape(spad__out *out, spad_shape shape);
/* The text in double quotes, with a backslash in front of quotes and backslashes. A
 * control character is written as `control`, such as "\\x", and two hexadecimal digits;
 * what is not UTF-8, or cannot be seen, becomes the replacement character. */
void spad__out_quoted_as(spad__out *out, const char *text, const char *control);
/* Sends what is left. SPAD_ERR_IO if any write failed. */
spad_status spad__out_finish(spad__out *out, spad_error *error);

/* ---- text in memory: a sink that keeps what it is given ---------------------------- */
typedef struct spad__memo {
    const spad_host *host;
    SPAD_ARRAY(char) text;
} spad__memo;

/* Fails only without host memory. */
spad_sink spad__memo_sink(spad__memo *memo);
void spad__memo_free(spad__memo *memo);

/* ---- JSON: two spaces of indent, members in the order written ---------------------- */
typedef struct spad__json {
    spad__out *out;
    int depth;
    bool after_key;
    int flat;          /* open containers that stand on one line */
    bool has_item[32]; /* per depth: something was written before */
} spad__json;

void spad__json_start(spad__json *json, spad__out *out);
void spad__json_open(spad__json *json, char bracket);  /* '{' or '[' */
void spad__json_close(spad__json *json, char bracket); /* '}' or ']' */
/* The same for a container that is written on one line with all it holds. */
void spad__json_open_flat(spad__json *json, char bracket);
void spad__json_close_flat(spad__json *json, char bracket);
void spad__json_key(spad__json *json, const char *key);
void spad__json_string(spad__json *json, const char *text); /* NULL: null */
void spad__json_int(spad__json *json, int64_t value);
void spad__json_thousandths(spad__json *json, int64_t value); /* 1500: 1.500 */
void spad__json_bool(spad__json *json, bool value);
void spad__json_end(spad__json *json); /* the last newline */
/* key and value in one */
void spad__json_key_open(spad__json *json, const char *key, char bracket);
void spad__json_key_string(spad__json *json, const char *key, const char *text);
void spad__json_key_int(spad__json *json, const char *key, int64_t value);
void spad__json_key_bool(spad__json *json, const char *key, bool value);

/* The letter in lower case; other characters as they are. No locale. */
static inline char spad__lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/* ---- UTF-8 ------------------------------------------------------------------------- */
/* Bytes of the well-formed character at text, or 0 for a bad one; length > 0. */
size_t spad__utf8_length(const char *text, size_t length);
/* The code point of a well-formed character of that many bytes. */
uint32_t spad__utf8_decode(const char *text, size_t size);
/* Does the character do something instead of being seen? Controls, marks of direction,
 * joiners, line separators, and what XML forbids. */
bool spad__is_hidden(uint32_t code);

/* ---- close matches ----------------------------------------------------------------- */
/* Collects the names nearest to a word (edit distance, letter case ignored). */
enum { SPAD__NEAREST_MAX = 3 };
typedef struct spad__nearest {
    const char *word;
    int count;
    int distance[SPAD__NEAREST_MAX];
    const char *name[SPAD__NEAREST_MAX]; /* borrowed; nearest first, ties in order of offering */
} spad__nearest;

void spad__nearest_start(spad__nearest *nearest, const char *word);
void spad__nearest_offer(spad__nearest *nearest, const char *name);
/* "; did you mean 'a', 'b' or 'c'?", or "" when nothing is near. */
void spad__nearest_phrase(const spad__nearest *nearest, char *field, size_t size);

/* An object as text for people, and as one JSON value. */
typedef void spad__text_writer(spad__out *out, const void *object);
typedef void spad__json_writer(spad__json *json, const void *object);
spad_status spad__write_as(const void *object, spad__text_writer *text, spad__json_writer *json,
                           spad_format format, const spad_sink *sink, spad_error *error);
/* SPAD_ERR_ARGUMENT. */
spad_status spad__fail_format(spad_error *error);

#endif
