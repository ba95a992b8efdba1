/* SPDX-License-Identifier: Apache-2.0
 *
 * A reader of JSON for messages of an editor: small documents, read whole, looked at by key.
 */
#ifndef SPAD_CLI_JSON_READ_H
#define SPAD_CLI_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum cli_json_kind {
    CLI_JSON_NULL,
    CLI_JSON_FALSE,
    CLI_JSON_TRUE,
    CLI_JSON_NUMBER,
    CLI_JSON_STRING,
    CLI_JSON_LIST,
    CLI_JSON_OBJECT
} cli_json_kind;

/* A value; the values of a list or an object are linked by `next`. */
typedef struct cli_json {
    cli_json_kind kind;
    const char *key;  /* in an object; NULL elsewhere */
    const char *text; /* STRING: decoded; NUMBER: as it is written */
    int64_t number;   /* NUMBER: its whole part; the limits of 64 bits if it is beyond them */
    struct cli_json *first;
    struct cli_json *next;
} cli_json;

enum { CLI_JSON_DEPTH = 64 };

/* Reads one document of `length` bytes, which are changed and must stay. NULL: it is not JSON, is
 * nested too deeply, or there is no memory. Freed with cli_json_free. */
cli_json *cli_json_read(char *text, size_t length);
void cli_json_free(cli_json *value);

/* A member of an object; NULL: no such member, or `object` is NULL or another kind. */
const cli_json *cli_json_get(const cli_json *object, const char *key);
/* The text of a member that is a string; NULL: no such member. */
const char *cli_json_text(const cli_json *object, const char *key);
/* A member that is a number; `otherwise` without one. */
int64_t cli_json_number(const cli_json *object, const char *key, int64_t otherwise);

#endif
