/* SPDX-License-Identifier: Apache-2.0
 *
 * mutate: small mistakes in the text of a kernel, as spad_kernel_write_text gives it (one statement
 * a line). For every statement of synchronisation: left out, moved up or down by one
 * statement, made weaker; for every operation: what it does when it is done; for units, counts
 * and starting values: weaker; for every ring: one slot less; for every placement: onto its
 * neighbour.
 */
#ifndef SPAD_TEST_MUTATE_H
#define SPAD_TEST_MUTATE_H

#include <stddef.h>

typedef struct mutant {
    char *text;
    size_t line;     /* that was changed, from 1; of a statement that is left out: where it was */
    char about[240]; /* "line 7, delete: wait full[0] parity 0" */
} mutant;

typedef struct mutants {
    mutant *items;
    size_t count;
    size_t reserve;
} mutants;

mutants mutants_of(const char *text);

/* The mistakes of one kind only, for the study of messages. */
typedef enum mutant_kind {
    MUTANT_COUNT,  /* a count of arrivals or contributions, one more or one less */
    MUTANT_RING,   /* a ring one slot short */
    MUTANT_EXPECT, /* too many or too few bytes expected, or none */
    MUTANT_ARRIVE, /* an arrival, a delivery or a signal left out */
    MUTANT_KINDS
} mutant_kind;

mutants mutants_of_kind(const char *text, mutant_kind kind);

/* How many there are, and the text of one of them, freed by the caller. */
size_t mutants_count(const char *text);
char *mutants_one(const char *text, size_t number);

void mutants_free(mutants *list);

#endif
