/* SPDX-License-Identifier: Apache-2.0
 *
 * spad lsp: a language server for kernels, over stdin and stdout, as the Language Server Protocol
 * 3.17 has it: https://microsoft.github.io/language-server-protocol/. The text of a document is
 * sent whole after each change.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_read.h"
#include "lsp.h"

enum { DOCUMENTS_MAX = 256, HEADER_MAX = 256, BODY_MAX = 64 << 20 };

typedef struct server {
    lsp_document documents[DOCUMENTS_MAX];
    size_t count;
    bool initialized;
    bool shut_down; /* by the editor, before it asks to exit */
} server;

/* ---- text -------------------------------------------------------------------------- */

static bool make_room(lsp_text *out, size_t more) {
    if (out->failed) return false;
    if (out->length + more + 1 <= out->room) return true;
    const size_t room = (out->length + more + 1) * 2;
    char *grown = realloc(out->bytes, room);
    out->failed = grown == NULL;
    if (out->failed) return false;
    out->bytes = grown;
    out->room = room;
    return true;
}

void lsp_put(lsp_text *out, const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    const int length = vsnprintf(NULL, 0, format, arguments);
    if (length >= 0 && make_room(out, (size_t)length)) {
        vsnprintf(out->bytes + out->length, (size_t)length + 1, format, again);
        out->length += (size_t)length;
    }
    va_end(again);
    va_end(arguments);
}

/* Lines are cleaned one by one, since a line end is not fit for a terminal and is fit for JSON. */
void lsp_put_string(lsp_text *out, const char *text) {
    char *copy = malloc(strlen(text) + 1);
    out->failed = out->failed || copy == NULL;
    if (copy == NULL) return;
    strcpy(copy, text);
    lsp_put(out, "\"");
    for (char *line = copy, *end; line != NULL; line = end) {
        end = strchr(line, '\n');
        if (end != NULL) *end++ = '\0';
        spad_text_clean(line);
        for (const char *p = line; *p != '\0'; p++)
            lsp_put(out, *p == '"' || *p == '\\' ? "\\%c" : "%c", *p);
        if (end != NULL) lsp_put(out, "\\n");
    }
    lsp_put(out, "\"");
    free(copy);
}

/* ---- messages ---------------------------------------------------------------------- */

/* Sends a message and empties it. */
static void send(lsp_text *message) {
    if (!message->failed && message->bytes != NULL) {
        printf("Content-Length: %zu\r\n\r\n", message->length);
        fwrite(message->bytes, 1, message->length, stdout);
        fflush(stdout);
    }
    free(message->bytes);
    *message = (lsp_text){0};
}

/* A message without its end: {"jsonrpc": "2.0", "id": ..., where NULL is an id that is not known.
 */
static void open_answer(lsp_text *out, const cli_json *id) {
    lsp_put(out, "{\"jsonrpc\": \"2.0\", \"id\": ");
    if (id == NULL)
        lsp_put(out, "null");
    else if (id->kind == CLI_JSON_STRING)
        lsp_put_string(out, id->text);
    else
        lsp_put(out, "%lld", (long long)id->number);
    lsp_put(out, ", ");
}

static void send_error(const cli_json *id, int code, const char *message) {
    lsp_text out = {0};
    open_answer(&out, id);
    lsp_put(&out, "\"error\": {\"code\": %d, \"message\": ", code);
    lsp_put_string(&out, message);
    lsp_put(&out, "}}");
    send(&out);
}

/* The length in the header of the next message; false: no message is left. */
static bool read_header(size_t *length) {
    char line[HEADER_MAX];
    bool any = false;
    *length = 0;
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (strcmp(line, "\r\n") == 0 || strcmp(line, "\n") == 0) return any;
        if (strncmp(line, "Content-Length:", 15) == 0) {
            const long long value = strtoll(line + 15, NULL, 10);
            any = value > 0 && value <= BODY_MAX;
            *length = any ? (size_t)value : 0;
        }
    }
    return false;
}

/* ---- documents --------------------------------------------------------------------- */

static lsp_document *find(server *s, const char *uri) {
    for (size_t i = 0; uri != NULL && i < s->count; i++) {
        if (strcmp(s->documents[i].uri, uri) == 0) return &s->documents[i];
    }
    return NULL;
}

static char *copy_text(const char *text) {
    char *copy = malloc(strlen(text) + 1);
    if (copy != NULL) strcpy(copy, text);
    return copy;
}

static void publish(const lsp_document *document, bool closed) {
    lsp_text out = {0};
    lsp_put(&out, "{\"jsonrpc\": \"2.0\", \"method\": \"textDocument/publishDiagnostics\", "
                  "\"params\": {\"uri\": ");
    lsp_put_string(&out, document->uri);
    lsp_put(&out, ", \"diagnostics\": ");
    if (closed)
        lsp_put(&out, "[]");
    else
        lsp_write_diagnostics(&out, document);
    lsp_put(&out, "}}");
    send(&out);
}

/* Takes a new text of a document, which is opened if it is not. */
static void take_text(server *s, const char *uri, const char *text) {
    lsp_document *document = find(s, uri);
    char *copy = uri != NULL && text != NULL ? copy_text(text) : NULL;
    if (copy == NULL) return;
    if (document == NULL && s->count < DOCUMENTS_MAX) {
        char *name = copy_text(uri);
        if (name != NULL) {
            document = &s->documents[s->count++];
            *document = (lsp_document){.uri = name};
        }
    }
    if (document == NULL) {
        free(copy);
        return;
    }
    free(document->text);
    document->text = copy;
    document->length = strlen(copy);
    publish(document, false);
}

static void close_document(server *s, const char *uri) {
    lsp_document *document = find(s, uri);
    if (document == NULL) return;
    publish(document, true);
    free(document->uri);
    free(document->text);
    *document = s->documents[--s->count];
}

/* The last of the changes has the whole text. */
static const char *changed_text(const cli_json *params) {
    const cli_json *changes = cli_json_get(params, "contentChanges");
    const char *text = NULL;
    for (const cli_json *c = changes != NULL ? changes->first : NULL; c != NULL; c = c->next)
        text = cli_json_text(c, "text");
    return text;
}

/* ---- requests ---------------------------------------------------------------------- */

static void answer_initialize(const cli_json *id) {
    lsp_text out = {0};
    open_answer(&out, id);
    lsp_put(&out,
            "\"result\": {\"capabilities\": {\"textDocumentSync\": 1, \"hoverProvider\": true, "
            "\"definitionProvider\": true, \"completionProvider\": {}}, "
            "\"serverInfo\": {\"name\": \"spad\", \"version\": \"%s\"}}}",
            spad_version());
    send(&out);
}

static void answer_about(const cli_json *id, const char *method, const lsp_document *document,
                         lsp_position at) {
    lsp_text out = {0};
    open_answer(&out, id);
    lsp_put(&out, "\"result\": ");
    if (document == NULL)
        lsp_put(&out, "null");
    else if (strcmp(method, "textDocument/hover") == 0)
        lsp_write_hover(&out, document, at);
    else if (strcmp(method, "textDocument/definition") == 0)
        lsp_write_definition(&out, document, at);
    else
        lsp_write_completion(&out, document);
    lsp_put(&out, "}");
    send(&out);
}

static bool is_about_document(const char *method) {
    return strcmp(method, "textDocument/hover") == 0 ||
           strcmp(method, "textDocument/definition") == 0 ||
           strcmp(method, "textDocument/completion") == 0;
}

static void handle_request(server *s, const cli_json *id, const char *method,
                           const cli_json *params) {
    const char *uri = cli_json_text(cli_json_get(params, "textDocument"), "uri");
    const cli_json *position = cli_json_get(params, "position");
    const lsp_position at = {cli_json_number(position, "line", -1),
                             cli_json_number(position, "character", -1)};
    if (s->shut_down) {
        send_error(id, -32600, "the server is shut down");
    } else if (strcmp(method, "initialize") == 0) {
        s->initialized = true;
        answer_initialize(id);
    } else if (!s->initialized) {
        send_error(id, -32002, "the first request is 'initialize'");
    } else if (strcmp(method, "shutdown") == 0) {
        lsp_text out = {0};
        s->shut_down = true;
        open_answer(&out, id);
        lsp_put(&out, "\"result\": null}");
        send(&out);
    } else if (is_about_document(method)) {
        answer_about(id, method, find(s, uri), at);
    } else {
        send_error(id, -32601, "the server does not have this method");
    }
}

static void handle_notification(server *s, const char *method, const cli_json *params) {
    const cli_json *document = cli_json_get(params, "textDocument");
    const char *uri = cli_json_text(document, "uri");
    if (strcmp(method, "textDocument/didOpen") == 0)
        take_text(s, uri, cli_json_text(document, "text"));
    else if (strcmp(method, "textDocument/didChange") == 0)
        take_text(s, uri, changed_text(params));
    else if (strcmp(method, "textDocument/didClose") == 0)
        close_document(s, uri);
}

/* False: the editor asked to exit. */
static bool handle(server *s, char *body, size_t length) {
    cli_json *message = cli_json_read(body, length);
    const char *method = cli_json_text(message, "method");
    const cli_json *id = cli_json_get(message, "id");
    bool goes_on = true;
    if (message == NULL)
        send_error(NULL, -32700, "the message is not JSON");
    else if (method != NULL && strcmp(method, "exit") == 0)
        goes_on = false;
    else if (method != NULL && id != NULL)
        handle_request(s, id, method, cli_json_get(message, "params"));
    else if (method != NULL)
        handle_notification(s, method, cli_json_get(message, "params"));
    cli_json_free(message);
    return goes_on;
}

static cli_exit serve(server *s) {
    size_t length;
    bool goes_on = true;
    while (goes_on && read_header(&length)) {
        char *body = malloc(length + 1);
        if (body == NULL) {
            cli_message("out of memory");
            return CLI_INTERNAL;
        }
        body[length] = '\0';
        if (fread(body, 1, length, stdin) == length)
            goes_on = handle(s, body, length);
        else
            goes_on = false;
        free(body);
    }
    return s->shut_down ? CLI_FINE : CLI_FINDINGS; /* as the protocol wants it */
}

static cli_exit run_lsp(const cli_command *command, int count, char **words) {
    const cli_option options[] = {{.name = NULL}};
    cli_exit exit;
    if (!cli_take_options(command, options, &count, words, &exit)) return exit;
    if (count > 0) {
        cli_message("'spad lsp' takes no arguments, such as '%s'", words[0]);
        return CLI_USAGE;
    }
    server *s = calloc(1, sizeof *s);
    if (s == NULL) {
        cli_message("out of memory");
        return CLI_INTERNAL;
    }
    exit = serve(s);
    for (size_t i = 0; i < s->count; i++) {
        free(s->documents[i].uri);
        free(s->documents[i].text);
    }
    free(s);
    return exit;
}

const cli_command cli_lsp = {
    .name = "lsp",
    .about = "a language server for editors, over stdin and stdout",
    .usage = "usage: spad lsp\n"
             "\n"
             "Serves an editor: faults and findings while you type, place and size of what is\n"
             "under the cursor, its declaration, and names to complete. docs/editors.md shows how\n"
             "to set up Neovim, VS Code, Emacs and Helix.\n"
             "\n"
             "exit status: 0 the editor ended it, 1 it ended without saying so, 2 bad words\n",
    .run = run_lsp};
