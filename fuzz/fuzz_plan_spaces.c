/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as a CSV of buffers in several memories: read, solve a little, write, read again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "spad/experimental/spaces.h"

typedef struct text {
    char *bytes;
    size_t length;
} text;

static int collect(void *context, const char *bytes, size_t count) {
    text *t = context;
    char *more = realloc(t->bytes, t->length + count + 1);
    if (more == NULL) abort();
    memcpy(more + t->length, bytes, count);
    t->bytes = more;
    t->length += count;
    return 0;
}

static spad_spaces *new_spaces(uint8_t kind) {
    spad_spaces *spaces;
    spad_error error;
    const spad_tier memories[] = {{"a", 100, 0}, {"b", SPAD_UNBOUNDED, 1}};
    if (spad_spaces_create(&spaces, NULL, &error) != SPAD_OK) abort();
    for (size_t k = 0; k < 2 && kind % 2 != 0; k++)
        if (spad_spaces_add_memory(NULL, spaces, &memories[k], &error) != SPAD_OK) abort();
    return spaces;
}

/* What was written is a text with the same memories, all rows of which have their places. */
static void read_back(const text *t, uint8_t kind) {
    spad_spaces *spaces = new_spaces(kind);
    spad_spaces_result *r;
    spad_error error;
    const spad_plan_options options = {.node_limit = 300, .seed = 1};
    if (spad_spaces_read_csv(spaces, t->bytes, t->length, "again", NULL, &error) != SPAD_OK)
        abort();
    if (spad_spaces_solve(&r, spaces, &options, &error) == SPAD_OK) {
        if (r->tiers == NULL && r->verdict > SPAD_PLAN_FEASIBLE) abort();
        spad_spaces_result_destroy(r);
    }
    spad_spaces_destroy(spaces);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t kind = size > 0 ? data[0] : 0;
    const char *rows = (const char *)data + (size > 0);
    const size_t length = size - (size > 0);
    spad_spaces *spaces = new_spaces(kind);
    spad_spaces_result *r;
    spad_error error;
    const spad_plan_options options = {.node_limit = 300, .seed = 1};
    const spad_status status = spad_spaces_read_csv(spaces, rows, length, "fuzz", NULL, &error);
    if (status != SPAD_OK && error.message[0] == '\0') abort();
    if (status == SPAD_OK && spad_spaces_solve(&r, spaces, &options, &error) == SPAD_OK) {
        text t = {NULL, 0};
        const spad_sink sink = {collect, &t};
        if (r->verdict <= SPAD_PLAN_FEASIBLE) {
            if (spad_spaces_write_csv(spaces, r, rows, length, &sink, &error) != SPAD_OK) abort();
            read_back(&t, kind);
        }
        free(t.bytes);
        spad_spaces_result_destroy(r);
    }
    spad_spaces_destroy(spaces);
    return 0;
}
