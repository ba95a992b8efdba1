/* SPDX-License-Identifier: Apache-2.0
 *
 * What fuzz targets share: the entry point, a check that stops with its place, bytes one after
 * the other, and a sink that collects text.
 */
#ifndef SPAD_FUZZ_H
#define SPAD_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)                                                                \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
            abort();                                                                      \
        }                                                                                 \
    } while (0)

/* Bytes that decide what is done; 0 after the last one. */
typedef struct fuzz_input {
    const uint8_t *data;
    size_t size;
} fuzz_input;

static inline uint8_t fuzz_next(fuzz_input *in) {
    if (in->size == 0) return 0;
    in->size--;
    return *in->data++;
}

typedef struct fuzz_text {
    char *bytes;
    size_t count;
    size_t room;
} fuzz_text;

/* The write function of a spad_sink over a fuzz_text. */
static inline int fuzz_append(void *context, const char *bytes, size_t count) {
    fuzz_text *text = context;
    if (text->room - text->count < count) {
        const size_t room = 2 * text->room + count;
        char *grown = realloc(text->bytes, room);
        if (grown == NULL) return -1;
        text->bytes = grown;
        text->room = room;
    }
    if (count > 0) memcpy(text->bytes + text->count, bytes, count);
    text->count += count;
    return 0;
}

#endif
