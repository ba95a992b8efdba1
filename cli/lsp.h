/* SPDX-License-Identifier: Apache-2.0
 *
 * The answers of the language server about a kernel: faults and findings, what is under the cursor,
 * where it is declared, what could be written. cmd_lsp.c has the protocol around it.
 */
#ifndef SPAD_CLI_LSP_H
#define SPAD_CLI_LSP_H

#include "cli.h"

/* A text that grows. After memory is gone it stays as it is, and `failed` is set. */
typedef struct lsp_text {
    char *bytes;
    size_t length;
    size_t room;
    bool failed;
} lsp_text;

void lsp_put(lsp_text *out, const char *format, ...) CLI_PRINTF(2);
/* A string of JSON, with its quotes. Invalid UTF-8 becomes '?'. */
void lsp_put_string(lsp_text *out, const char *text);

/* A position as the protocol counts: lines from 0, columns in units of UTF-16 from 0. */
typedef struct lsp_position {
    int64_t line;
    int64_t column;
} lsp_position;

/* A kernel that is open in an editor. */
typedef struct lsp_document {
    char *uri;
    char *text;
    size_t length;
} lsp_document;

/* Each writes a value of JSON: a list of diagnostics; a hover, a location or null; a list of
 * items. */
void lsp_write_diagnostics(lsp_text *out, const lsp_document *document);
void lsp_write_hover(lsp_text *out, const lsp_document *document, lsp_position at);
void lsp_write_definition(lsp_text *out, const lsp_document *document, lsp_position at);
void lsp_write_completion(lsp_text *out, const lsp_document *document);

#endif
