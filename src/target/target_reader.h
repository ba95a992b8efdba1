/* SPDX-License-Identifier: Apache-2.0
 *
 * The reader of target files from the inside. reader_block.c has names and blocks; reader_space.c,
 * reader_engine.c and reader_cost.c their fields; target_reader.c the statements.
 */
#ifndef SPAD_TARGET_TARGET_READER_H
#define SPAD_TARGET_TARGET_READER_H

#include "base/memory.h"
#include "base/parser.h"
#include "spad/target.h"

/* SPAD__TARGET_LIST_MAX: aliases, exclusions, rows, starts, rates, paths, sources */
enum { SPAD__TARGET_FIELDS_MAX = 24, SPAD__TARGET_LIST_MAX = 256 };

typedef struct spad__target_reader {
    spad__parser parser;
    const spad_host *host;
    spad_target *target;
    SPAD_ARRAY(spad_space) spaces;
    SPAD_ARRAY(spad_engine) engines;
    SPAD_ARRAY(spad_exclusion) exclusions;
    SPAD_ARRAY(spad_fence_rule) fences;
    SPAD_ARRAY(const char *) aliases;
    const spad_target *like; /* what the file starts from; NULL: from nothing */
    bool limited;            /* limits were read */
    bool grouped;            /* and blocks of a unit */
    bool counted;            /* and units */
    size_t old_spaces;       /* rows of `like` */
    size_t old_engines;
    bool crowded; /* more instances of spaces than there can be */
    /* of the block that is being read */
    spad_space space;
    spad_engine engine;
    spad__span seen[SPAD__TARGET_FIELDS_MAX]; /* value of each field; empty: not given */
    bool invalid;                             /* a field of it could not be read */
    SPAD_ARRAY(spad_lane_rule) rules;
    SPAD_ARRAY(spad__span) rule_spans;
    SPAD_ARRAY(int64_t) starts;
    SPAD_ARRAY(spad_rate) rates;
    SPAD_ARRAY(spad_path) paths;
    SPAD_ARRAY(spad_figure) figures;
    spad_figure block_note;          /* for all of it; source NULL: none */
    uint64_t seen_rates[SPAD_WORKS]; /* in this block: a bit per dtype */
    uint64_t seen_widths;            /* and per number of bits */
    uint64_t seen_paths;             /* and per row */
    bool old_figures;                /* of a row that the block amends */
    /* rows of `like` that a block has amended */
    uint64_t amended_spaces;
    uint64_t amended_engines;
} spad__target_reader;

/* A field of a block. Numbers: measure, where in the struct, least value. */
typedef struct spad__target_field {
    const char *name;
    bool (*read)(spad__target_reader *r);
    const spad__measure *measure;
    size_t offset;
    int64_t least;
    bool repeats;
} spad__target_field;

#define SPAD__TARGET_ERROR(r, span, ...) \
    spad__diagnostics_add((r)->parser.diagnostics, (r)->parser.source, span, __VA_ARGS__)

/* Room for one more row of a table; false, reported, when it is full. */
#define SPAD__TARGET_RESERVE(r, array, most, what)              \
    (spad__array_reserve((r)->host, array, 1)                   \
         ? spad__target_has_room(r, (array)->count, most, what) \
         : ((r)->parser.out_of_memory = true, false))
bool spad__target_has_room(spad__target_reader *r, size_t count, size_t most, const char *what);

/* ---- names and blocks (reader_block.c) --------------------------------------------- */

/* The row with a name, or `count`. Rows of all tables start with their name. */
size_t spad__target_find_row(const void *rows, size_t row_size, size_t count, const char *name);

/* The row that the last word names, or `count`, which is reported: "<what> 'wrod'; did
 * you mean 'word'?". */
size_t spad__target_find_keyword(spad__target_reader *r, const char *what, const void *rows,
                                 size_t row_size, size_t count);

/* Reads the name of a space or engine that exists already. */
bool spad__target_read_space_name(spad__target_reader *r, size_t *index);
/* Names of spaces, as a set of bits. */
bool spad__target_read_space_set(spad__target_reader *r, uint64_t *set);
bool spad__target_read_engine_name(spad__target_reader *r, size_t *index);

/* A comma between two items of a list; a line may end after it. */
bool spad__target_next_in_list(spad__target_reader *r);

/* Name and text in front of a block. Without a text *about stays as it is. */
bool spad__target_read_heading(spad__target_reader *r, const char *what, const char **name,
                               const char **about);

/* `source "..."`, `measured "..."` or `estimate ["..."]`, if there is one: *present. */
bool spad__target_read_note(spad__target_reader *r, spad_figure *note, bool *present);

/* Has the reader to stop: no memory, or enough errors? */
bool spad__target_stopped(const spad__target_reader *r);

bool spad__target_read_block(spad__target_reader *r, const char *unknown,
                             const spad__target_field *fields, size_t count, void *record);

/* A copy of `count` items in the arena; NULL with a mark when there is no memory. */
void *spad__target_freeze(spad__target_reader *r, const void *items, size_t count,
                          size_t item_size);

/* Starts the figures of a block that amends a row with those of the row. */
bool spad__target_keep_figures(spad__target_reader *r, const spad_figure *figures, size_t count);

/* The figures of the block, or NULL with a mark. */
const spad_figure *spad__target_freeze_figures(spad__target_reader *r, size_t *count);

/* ---- parts ------------------------------------------------------------------------- */

bool spad__target_read_space(spad__target_reader *r);
bool spad__target_read_engine(spad__target_reader *r);

/* Fields of engines and spaces that are costs (reader_cost.c). */
bool spad__target_read_macs(spad__target_reader *r);
bool spad__target_read_elements(spad__target_reader *r);
bool spad__target_read_latency(spad__target_reader *r);
bool spad__target_read_path(spad__target_reader *r);
bool spad__target_read_cache(spad__target_reader *r);
bool spad__target_read_queue(spad__target_reader *r);

#endif
