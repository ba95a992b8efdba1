/* SPDX-License-Identifier: Apache-2.0
 *
 * Progress of a long search on stderr, and the Ctrl-C that ends it with the best so far.
 */
#ifndef SPAD_CLI_PROGRESS_H
#define SPAD_CLI_PROGRESS_H

#include "cli.h"

typedef struct cli_progress {
    bool asked;     /* without it, progress is shown on a terminal only, after the first second */
    bool json;      /* a line of JSON each time */
    bool line_open; /* a line is to be ended */
} cli_progress;

/* From now on the first Ctrl-C ends the search; the second one ends spad. */
void cli_progress_start(void);

/* Has there been one? Then the callback of the search returns 1. */
bool cli_interrupted(void);

/* Cancels what runs a second after that Ctrl-C: the check after a search may take long. */
spad_watch cli_watch_interrupt(void);

/* After the search: ends the line, and Ctrl-C is what it was. */
void cli_progress_end(cli_progress *p);

/* The callbacks of the three searches, with a cli_progress as their context. */
int cli_progress_plan(void *context, const spad_plan_progress *facts);
int cli_progress_layout(void *context, const spad_layout_progress *facts);
int cli_progress_tune(void *context, const spad_tune_progress *facts);

#define CLI_PROGRESS_OPTIONS(p)                       \
    {.name = "--progress=json", .flag = &(p).json}, { \
        .name = "--progress", .flag = &(p).asked      \
    }

#endif
