/* SPDX-License-Identifier: Apache-2.0
 *
 * spad plan for the rows of several memories.
 */
#ifndef SPAD_CLI_PLAN_SPACES_H
#define SPAD_CLI_PLAN_SPACES_H

#include "cli.h"

typedef struct plan_spaces_words {
    const cli_plan_words *input;
    const cli_words *spaces; /* --space NAME[=BYTES][@COST] */
    const spad_plan_options *options;
    const char *output;
    const cli_pictures *pictures;
} plan_spaces_words;

/* Is a text, or what is said about its memories, of this kind? */
bool cli_has_spaces(const cli_text *text, const cli_words *spaces);

cli_exit cli_plan_spaces(const cli_text *text, const char *path, const plan_spaces_words *words);

#endif
