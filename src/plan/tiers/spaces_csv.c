/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows in several memories as CSV, in and out.
 *
 * A first pass looks at the column `space` only: which memories there are, and whether a row may
 * choose. A second one reads the rows as csv.c does, each into the plan of its memory, or, where
 * rows may choose, all of them into one plan that only keeps lives, sizes and names, and as buffers
 * of tiers. O(length).
 */
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/options.h"
#include "base/text.h"
#include "plan/io/csv.h"
#include "plan/tiers/spaces.h"

bool spad_spaces_in_csv(const char *text, size_t length) {
    spad_error ignored;
    spad__csv r = spad__csv_start(text, length, NULL, &ignored);
    r.spaces = true;
    (void)spad__csv_header(&r);
    return r.present[SPACE];
}

/* Cuts the next name off "sbuf|dram"; false: none exists. */
static bool next_space(spad__cell *rest, spad__cell *name) {
    size_t i = 0;
    while (i < rest->length && (rest->text[i] == '|' || spad__csv_is_blank(rest->text[i]))) i++;
    size_t until = i;
    while (until < rest->length && rest->text[until] != '|') until++;
    size_t end = until;
    while (end > i && spad__csv_is_blank(rest->text[end - 1])) end--;
    if (i == end) return false;
    *name = (spad__cell){rest->text + i, end - i, rest->line, rest->column + (int32_t)i, false};
    rest->column += (int32_t)until;
    rest->text += until;
    rest->length -= until;
    return true;
}

static spad_status fail_space(spad__csv *r, const spad__cell *name, const char *what) {
    return spad__csv_at(r, name,
                        spad__fail(r->error, SPAD_ERR_UNKNOWN, "%s: there is no memory '%.*s'",
                                   what, QUOTED(name)));
}

/* ---- the first pass ---------------------------------------------------------------- */

/* The cell `space` of the row at the reader, which is then at the end of the row. */
static spad__cell space_cell(spad__csv *r) {
    spad__cell found = {NULL, 0, r->line, 1, false};
    bool last = false;
    for (int32_t k = 0; !last; k++) {
        const spad__cell c = spad__csv_next_cell(r, &last);
        if (k < r->column_count && r->kinds[k] == SPACE) found = c;
    }
    return found;
}

/* Finds the memories that rows name. *choose: some row may be in several. A name that is not known
 * is left to the second pass. */
static spad_status find_spaces(spad_spaces *spaces, spad__csv *r, bool *choose) {
    spad_status status = spad__csv_header(r);
    *choose = false;
    bool any = !r->present[SPACE];
    spad__cell unknown = {NULL, 0, 0, 0, false};
    while (r->present[SPACE] && status == SPAD_OK && r->at < r->end) {
        spad__csv_begin_line(r);
        if (spad__csv_skip_blank(r)) continue;
        spad__cell rest = space_cell(r);
        spad__cell name;
        int32_t count = 0;
        for (; status == SPAD_OK && next_space(&rest, &name); count++) {
            if (spad__spaces_find(spaces, name.text, name.length, &status, r->error) ==
                SPAD__NO_MEMORY)
                unknown = name;
            status = spad__csv_at(r, &name, status);
        }
        *choose = *choose || count > 1;
        any = any || count == 0;
    }
    if (status == SPAD_OK && spaces->memory_count == 0 && unknown.text != NULL)
        return fail_space(r, &unknown, "space");
    if (any && status == SPAD_OK && spaces->memory_count == 0)
        return spad__fail(r->error, SPAD_ERR_ARGUMENT,
                          "a row names no space, and there are no memories");
    *choose = *choose || (any && spaces->memory_count > 1);
    return status;
}

/* ---- the second pass --------------------------------------------------------------- */

typedef struct space_reader {
    spad_spaces *spaces;
    SPAD_ARRAY(int64_t) uses; /* of one row */
} space_reader;

/* The memories of a row as bits; 0: all. */
static spad_status read_mask(spad_spaces *spaces, spad__csv *r, uint32_t *mask) {
    *mask = 0;
    if (!r->present[SPACE]) return SPAD_OK;
    spad__cell rest = r->cells[SPACE];
    spad__cell name;
    spad_status status = SPAD_OK;
    while (status == SPAD_OK && next_space(&rest, &name)) {
        const size_t m = spad__spaces_find(spaces, name.text, name.length, &status, r->error);
        if (m == SPAD__NO_MEMORY) return fail_space(r, &name, "space");
        *mask |= UINT32_C(1) << m;
    }
    return status;
}

/* No row may choose: the memory of the row, or the only one. */
static spad_status choose_one(void *context, spad__csv *r, spad_plan **plan) {
    space_reader *reader = context;
    uint32_t mask;
    const spad_status status = read_mask(reader->spaces, r, &mask);
    if (status != SPAD_OK) return status;
    size_t m = 0;
    while (mask >> m > 1) m++;
    *plan = reader->spaces->plans[m];
    return SPAD_OK;
}

static spad_status added_one(void *context, spad__csv *r, size_t number) {
    spad_spaces *spaces = ((space_reader *)context)->spaces;
    size_t m = 0;
    while (spaces->plans[m] != r->plan) m++;
    if (!spad__array_reserve(&spaces->host, &spaces->rows, 1))
        return spad__fail_host_memory(r->error);
    spaces->rows.items[spaces->rows.count++] = (spad__space_row){(uint32_t)m, (uint32_t)number};
    return SPAD_OK;
}

/* Rows may choose: what a plan of one memory knows, and the search over several does not. */
static spad_status choose_any(void *context, spad__csv *r, spad_plan **plan) {
    static const struct {
        column kind;
        const char *name;
    } refused[] = {{HINT, "hint"},   {GAPS, "gaps"},         {OFFSET, "offset"}, {LANE, "lane"},
                   {LANES, "lanes"}, {BANK, "bank"},         {ALIAS, "alias"},   {APART, "apart"},
                   {SLICE, "slice"}, {IN_PLACE, "in_place"}, {AVOID, "avoid"}};
    *plan = ((space_reader *)context)->spaces->all;
    for (size_t k = 0; k < sizeof refused / sizeof *refused; k++) {
        const spad__cell *c = &r->cells[refused[k].kind];
        if (!r->present[refused[k].kind] || c->length == 0 || spad__csv_cell_is(c, "-1")) continue;
        return spad__csv_at(r, c,
                            spad__fail(r->error, SPAD_ERR_ARGUMENT,
                                       "column '%s' is for files in which every row names one "
                                       "space",
                                       refused[k].name));
    }
    return SPAD_OK;
}

/* "yes", "no", or nothing, which is no. */
static spad_status read_space_flag(spad__csv *r, column kind, const char *what, bool *out) {
    static const char *const yes[] = {"yes", "true", "1"};
    static const char *const no[] = {"no", "false", "0"};
    const spad__cell *c = &r->cells[kind];
    *out = false;
    if (!r->present[kind] || c->length == 0) return SPAD_OK;
    for (size_t k = 0; k < 3; k++) {
        *out = spad__csv_cell_is(c, yes[k]);
        if (*out || spad__csv_cell_is(c, no[k])) return SPAD_OK;
    }
    return spad__csv_at(
        r, c,
        spad__fail(r->error, SPAD_ERR_SYNTAX, "%s is yes or no, not '%.*s'", what, QUOTED(c)));
}

static spad_status add_space_use(space_reader *reader, spad__csv *r, int64_t use) {
    if (!spad__array_reserve(&reader->spaces->host, &reader->uses, 1))
        return spad__fail_host_memory(r->error);
    reader->uses.items[reader->uses.count++] = use;
    return SPAD_OK;
}

/* The times of the cell `uses`, or both ends of the life. */
static spad_status read_space_uses(space_reader *reader, spad__csv *r,
                                   const spad_plan_buffer *life) {
    spad_status status = SPAD_OK;
    reader->uses.count = 0;
    spad__cell rest = r->present[USES] ? r->cells[USES] : (spad__cell){NULL, 0, 0, 0, false};
    spad__cell word;
    while (status == SPAD_OK && spad__csv_word(&rest, &word)) {
        int64_t use;
        const size_t count = reader->uses.count;
        if (!spad__csv_parse(word.text, word.length, &use) || use < life->lower ||
            use >= life->upper || (count > 0 && use <= reader->uses.items[count - 1]))
            return spad__csv_at(r, &word,
                                spad__fail(r->error, SPAD_ERR_SYNTAX,
                                           "use '%.*s' is not a time in the life of the buffer "
                                           "that is after the one before it",
                                           QUOTED(&word)));
        status = add_space_use(reader, r, use);
    }
    if (status == SPAD_OK && reader->uses.count == 0) {
        status = add_space_use(reader, r, life->lower);
        if (status == SPAD_OK && life->upper - 1 > life->lower)
            status = add_space_use(reader, r, life->upper - 1);
    }
    return status;
}

/* An alignment that is right in every memory of the mask: also one of whole granules. */
static spad_status join_space_rules(const spad_spaces *spaces, spad__csv *r, uint32_t mask,
                                    int64_t *alignment) {
    for (size_t m = 0; m < spaces->memory_count; m++) {
        const spad_space *rules = spaces->rules[m];
        if (rules == NULL || (mask != 0 && (mask >> m & 1) == 0)) continue;
        if (!spad__lcm(*alignment, rules->alignment, alignment) ||
            !spad__lcm(*alignment, rules->granule, alignment))
            return spad__csv_at(r, &r->cells[SIZE],
                                spad__fail(r->error, SPAD_ERR_OVERFLOW,
                                           "the alignments of its memories have no common "
                                           "multiple in 64 bits"));
    }
    return SPAD_OK;
}

static spad_status read_space_home(spad_spaces *spaces, spad__csv *r, spad__tier_buffer *b) {
    b->home = SPAD__NO_MEMORY;
    const spad__cell *c = &r->cells[HOME];
    spad_status status = SPAD_OK;
    if (r->present[HOME] && c->length > 0) {
        b->home = spad__spaces_find(spaces, c->text, c->length, &status, r->error);
        if (b->home == SPAD__NO_MEMORY) return fail_space(r, c, "home");
    }
    status = read_space_flag(r, KEPT, "kept", &b->kept);
    return status == SPAD_OK ? read_space_flag(r, CONSTANT, "constant", &b->constant) : status;
}

static spad_status added_any(void *context, spad__csv *r, size_t number) {
    space_reader *reader = context;
    spad_spaces *spaces = reader->spaces;
    const spad_plan_buffer *life = &spaces->all->buffers.items[number];
    spad__tier_buffer b = {.name = life->name, .size = life->size, .alignment = life->alignment};
    if (life->clock_count > 0)
        return spad__csv_at(r, &r->cells[LOWER],
                            spad__fail(r->error, SPAD_ERR_ARGUMENT,
                                       "vector clocks are for files in which every row names one "
                                       "space"));
    spad_status status = read_mask(spaces, r, &b.memories);
    if (status == SPAD_OK) status = join_space_rules(spaces, r, b.memories, &b.alignment);
    if (status == SPAD_OK) status = read_space_home(spaces, r, &b);
    if (status == SPAD_OK) status = read_space_uses(reader, r, life);
    if (status != SPAD_OK) return status;
    b.use_count = reader->uses.count;
    b.uses = reader->uses.items;
    if (life->name != NULL && strlen(life->name) > spaces->longest)
        spaces->longest = strlen(life->name);
    return spad__csv_at(r, &r->cells[SIZE], spad__tiers_add(NULL, spaces->tiers, &b, r->error));
}

/* ---- both -------------------------------------------------------------------------- */

/* Can a memory be one of several for a buffer? */
static spad_status check_space_rules(const spad_spaces *spaces, spad_error *error) {
    for (size_t m = 0; m < spaces->memory_count; m++) {
        const spad_space *rules = spaces->rules[m];
        if (rules == NULL || (rules->lanes == 1 && !rules->banks_exclusive && !rules->power_of_two))
            continue;
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "'%.40s' has lanes, banks or sizes of its own, so no row may be in it or "
                          "elsewhere: name one space in every row",
                          spaces->memories[m].name);
    }
    return SPAD_OK;
}

static spad_status make_tiers(spad_spaces *spaces, spad_error *error) {
    spad_status status = check_space_rules(spaces, error);
    if (status == SPAD_OK) status = spad_plan_create(&spaces->all, &spaces->host, error);
    if (status == SPAD_OK) status = spad__tiers_create(&spaces->tiers, &spaces->host, error);
    for (size_t m = 0; m < spaces->memory_count && status == SPAD_OK; m++) {
        spad_tier memory = spaces->memories[m];
        const spad_space *rules = spaces->rules[m];
        if (rules != NULL && memory.capacity != SPAD_UNBOUNDED)
            memory.capacity -= memory.capacity % rules->granule; /* of whole granules */
        status = spad__tiers_add_memory(NULL, spaces->tiers, &memory, error);
    }
    return status;
}

static spad_status make_space_plans(spad_spaces *spaces, spad_error *error) {
    spad_status status = SPAD_OK;
    for (size_t m = 0; m < spaces->memory_count && status == SPAD_OK; m++) {
        status = spad_plan_create(&spaces->plans[m], &spaces->host, error);
        if (status == SPAD_OK && spaces->rules[m] != NULL)
            status = spad_plan_set_space(spaces->plans[m], spaces->rules[m], error);
        if (status == SPAD_OK)
            status = spad_plan_set_capacity(spaces->plans[m], spaces->memories[m].capacity, error);
    }
    return status;
}

/* Back to `count` memories without rows. */
static void forget_space_rows(spad_spaces *spaces, size_t count, spad__arena_mark mark) {
    for (size_t m = 0; m < spaces->memory_count; m++) {
        spad_plan_destroy(spaces->plans[m]);
        spaces->plans[m] = NULL;
    }
    spad_plan_destroy(spaces->all);
    spad__tiers_destroy(spaces->tiers);
    spaces->all = NULL;
    spaces->tiers = NULL;
    spaces->rows.count = 0;
    spaces->longest = 0;
    spaces->memory_count = count;
    spad__arena_rewind(&spaces->arena, mark);
}

/* An error of the first pass is one of the collection, too. */
static spad_status note_space_error(spad__csv *r, spad_status status,
                                    const spad_plan_csv_options *options, spad_error *error) {
    if (status == SPAD_OK || status == SPAD_ERR_HOST_MEMORY || options == NULL ||
        options->diagnostics == NULL)
        return status;
    spad_error ignored;
    spad__diagnostics_begin(options->diagnostics, &r->source);
    spad__diagnostics_add(options->diagnostics, &r->source, r->blamed, "%s", error->message);
    if (spad__diagnostics_end(options->diagnostics, &ignored) == SPAD_ERR_HOST_MEMORY)
        return spad__fail_host_memory(error);
    return status;
}

static spad_status read_spaces(spad_spaces *spaces, const char *text, size_t length,
                               const char *file, const spad_plan_csv_options *options,
                               spad_error *error) {
    spad_error scratch;
    if (error == NULL) error = &scratch; /* texts of errors are taken from it */
    bool choose;
    spad__csv first = spad__csv_start(text, length, file, error);
    first.spaces = true;
    first.end_exclusive = options != NULL && options->end_exclusive;
    spad_status status = find_spaces(spaces, &first, &choose);
    if (status == SPAD_OK)
        status = choose ? make_tiers(spaces, error) : make_space_plans(spaces, error);
    if (status != SPAD_OK) return note_space_error(&first, status, options, error);
    spaces->inclusive = first.inclusive;
    if (options != NULL && options->end_inclusive != NULL)
        *options->end_inclusive = first.inclusive;
    space_reader reader = {.spaces = spaces};
    const spad__csv_route route = {
        &reader, choose ? 1 : spaces->memory_count, choose ? &spaces->all : spaces->plans,
        choose ? choose_any : choose_one, choose ? added_any : added_one};
    if (route.plan_count > 0)
        status = spad__csv_read(NULL, &route, text, length, file, options, error);
    spad__array_free(&spaces->host, &reader.uses);
    return status;
}

spad_status spad_spaces_read_csv(spad_spaces *spaces, const char *text, size_t length,
                                 const char *file, const spad_plan_csv_options *options,
                                 spad_error *error) {
    if (spaces->read) return spad__fail(error, SPAD_ERR_ARGUMENT, "a text was read before");
    spad_plan_csv_options o;
    spad_status status = SPAD__COPY_OPTIONS(&o, options, error);
    if (status != SPAD_OK) return status;
    const size_t count = spaces->memory_count;
    const spad__arena_mark mark = spad__arena_here(&spaces->arena);
    spaces->named = count == 0 && spaces->target == NULL;
    status = read_spaces(spaces, text, length, file, &o, error);
    spaces->read = status == SPAD_OK;
    if (status != SPAD_OK) forget_space_rows(spaces, count, mark);
    return status;
}

/* ---- writing ----------------------------------------------------------------------- */

/* What becomes of a row in the output. */
typedef struct written_row {
    const char *space;
    const char *suffix;         /* of the id */
    const spad_tier_stay *stay; /* NULL: the life is as it was */
    bool header;
} written_row;

static void write_space_id(spad__out *out, const spad__cell *c, const written_row *row) {
    if (c->quoted) spad__out_string(out, "\"");
    spad__out_bytes(out, c->text, c->length);
    spad__out_string(out, row->suffix);
    if (c->quoted) spad__out_string(out, "\"");
}

static void write_space_cell(spad__out *out, const spad_spaces *spaces, column kind,
                             const spad__cell *c, const written_row *row) {
    if (row->stay != NULL && kind == LOWER) {
        spad__out_format(out, "%lld", (long long)row->stay->lower);
    } else if (row->stay != NULL && kind == UPPER) {
        spad__out_format(out, "%lld", (long long)row->stay->upper - (spaces->inclusive ? 1 : 0));
    } else if (!row->header && kind == ID) {
        write_space_id(out, c, row);
    } else if (!row->header && kind == SPACE) {
        spad__out_string(out, row->space);
    } else {
        if (c->quoted) spad__out_string(out, "\"");
        spad__out_bytes(out, c->text, c->length);
        if (c->quoted) spad__out_string(out, "\"");
    }
}

/* Copies the cells of the row at the reader, which stays at its beginning. */
static void write_space_row(spad__csv *r, spad__out *out, const spad_spaces *spaces,
                            const written_row *row) {
    const char *from = r->at;
    bool last = false;
    bool any = false;
    for (int32_t k = 0; k < r->column_count && !last; k++) {
        const spad__cell c = spad__csv_next_cell(r, &last);
        if (r->kinds[k] == OFFSET || r->kinds[k] == LANE) continue;
        if (any) spad__out_bytes(out, &r->separator, 1);
        write_space_cell(out, spaces, r->kinds[k], &c, row);
        any = true;
    }
    if (!r->present[SPACE]) {
        spad__out_bytes(out, &r->separator, 1);
        spad__out_string(out, row->header ? "space" : row->space);
    }
    r->at = from;
}

static void write_space_place(spad__csv *r, spad__out *out, bool lanes, int64_t offset,
                              int64_t lane) {
    const char more[] = {r->separator, '\0'};
    spad__out_format(out, "%s%lld", more, (long long)offset);
    if (lanes) spad__out_format(out, "%s%lld", more, (long long)lane);
    spad__out_string(out, "\n");
}

/* A row for each stay of buffer `number`; *at is the first of them, and then the one after. */
static spad_status write_stay_rows(spad__csv *r, spad__out *out, const spad_spaces *spaces,
                                   const spad_tiers_result *tiers, size_t number, size_t *at,
                                   bool lanes) {
    const size_t room = spad__stay_room(spaces);
    char *name = spad__new_array(&spaces->host, room, 1);
    if (name == NULL) return spad__fail_host_memory(r->error);
    const char *plain = spaces->all->buffers.items[number].name;
    const size_t length = plain != NULL ? strlen(plain) : 0;
    for (size_t stay = 1; *at < tiers->stay_count && tiers->stays[*at].buffer == number; ++*at) {
        const spad_tier_stay *s = &tiers->stays[*at];
        spad__stay_name(name, spaces, number, stay++);
        if (s->lower == s->upper) continue; /* there is no time between two uses */
        const written_row row = {spaces->memories[s->memory].name, name + length, s, false};
        write_space_row(r, out, spaces, &row);
        write_space_place(r, out, lanes, s->offset, 0);
    }
    spad__free(&spaces->host, name, room);
    return SPAD_OK;
}

static spad_status write_any_row(spad__csv *r, spad__out *out, const spad_spaces *spaces,
                                 const spad_spaces_result *result, size_t number, size_t *at,
                                 bool lanes) {
    const size_t count = spaces->tiers != NULL ? spaces->all->buffers.count : spaces->rows.count;
    if (number >= count)
        return spad__fail(r->error, SPAD_ERR_ARGUMENT, "the text has more rows than the %zu read",
                          count);
    if (result->tiers != NULL)
        return write_stay_rows(r, out, spaces, result->tiers, number, at, lanes);
    const spad__space_row where = spaces->rows.items[number];
    const spad_plan_place *place = &result->parts[where.memory].result->places[where.number];
    const written_row row = {spaces->memories[where.memory].name, "", NULL, false};
    write_space_row(r, out, spaces, &row);
    write_space_place(r, out, lanes, place->offset, place->lane);
    return SPAD_OK;
}

static spad_status check_space_parts(const spad_spaces *spaces, const spad_spaces_result *result,
                                     bool *lanes, spad_error *error) {
    *lanes = false;
    for (size_t m = 0; m < result->count; m++) {
        const spad_spaces_part *part = &result->parts[m];
        if (part->result == NULL || part->result->verdict > SPAD_PLAN_FEASIBLE)
            return spad__fail(error, SPAD_ERR_ARGUMENT, "there is no plan for memory '%.40s'",
                              spaces->memories[m].name);
        *lanes = *lanes || part->plan->lanes > 1;
    }
    return SPAD_OK;
}

spad_status spad_spaces_write_csv(const spad_spaces *spaces, const spad_spaces_result *result,
                                  const char *text, size_t length, const spad_sink *sink,
                                  spad_error *error) {
    spad_error scratch;
    spad__csv r = spad__csv_start(text, length, NULL, error != NULL ? error : &scratch);
    r.spaces = true;
    bool lanes;
    spad_status status = check_space_parts(spaces, result, &lanes, error);
    if (status == SPAD_OK) status = spad__csv_header(&r);
    if (status != SPAD_OK) return status;
    spad__out out;
    spad__out_start(&out, sink);
    const char *after = r.at;
    r.at = r.line_start;
    const written_row header = {"", "", NULL, true};
    write_space_row(&r, &out, spaces, &header);
    r.at = after;
    spad__out_format(&out, "%coffset", r.separator);
    if (lanes) spad__out_format(&out, "%clane", r.separator);
    spad__out_string(&out, "\n");
    size_t at = 0;
    for (size_t number = 0; r.at < r.end;) {
        spad__csv_begin_line(&r);
        if (spad__csv_skip_blank(&r)) continue;
        status = write_any_row(&r, &out, spaces, result, number++, &at, lanes);
        if (status != SPAD_OK) return status;
        (void)space_cell(&r); /* to the end of the row */
    }
    return spad__out_finish(&out, error);
}
