/* SPDX-License-Identifier: Apache-2.0
 *
 * Where everything is, as a table on the terminal: all rows of a small plan, the largest of a large
 * one.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

enum { ROWS_MAX = 40, LARGEST_MAX = 20, NAME_WIDTH = 40 };

/* A buffer, with what sorts it. */
typedef struct row {
    size_t number;
    size_t space;
    int64_t offset;
    int64_t size;
} row;

static int by_size(const void *a, const void *b) {
    const row *x = a, *y = b;
    if (x->size != y->size) return x->size > y->size ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static int by_place(const void *a, const void *b) {
    const row *x = a, *y = b;
    if (x->space != y->space) return x->space < y->space ? -1 : 1;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Those that are shown, in the order of their places; the others are counted. */
static size_t choose_rows(row *rows, size_t count) {
    size_t shown = count;
    if (count > ROWS_MAX) {
        qsort(rows, count, sizeof *rows, by_size);
        shown = LARGEST_MAX;
    }
    if (shown > 0) qsort(rows, shown, sizeof *rows, by_place);
    return shown;
}

static void print_rest(FILE *out, size_t shown, size_t count) {
    if (shown == count) return;
    fprintf(out,
            "the %zu largest of %zu; '-o OUT.csv' writes all, '--report OUT.html' draws them\n",
            shown, count);
}

const char *cli_group_digits(char field[CLI_SIZE_ROOM], int64_t number) {
    char digits[24];
    const int length = snprintf(digits, sizeof digits, "%" PRId64, number);
    size_t used = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && digits[i - 1] != '-' && (length - i) % 3 == 0) field[used++] = ',';
        field[used++] = digits[i];
    }
    field[used] = '\0';
    return field;
}

void cli_format_size(char field[CLI_SIZE_ROOM], int64_t bytes) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    size_t unit = 0;
    for (; unit < 3 && bytes != 0 && bytes % 1024 == 0; unit++) bytes /= 1024;
    cli_group_digits(field, bytes);
    const size_t length = strlen(field);
    snprintf(field + length, CLI_SIZE_ROOM - length, " %s", units[unit]);
}

/* ---- plans ------------------------------------------------------------------------- */

/* The name of a buffer, or its number; what is too long for the table is cut. */
static void format_name(char field[NAME_WIDTH + 4], const char *name, size_t number) {
    if (name == NULL) {
        snprintf(field, NAME_WIDTH + 4, "#%zu", number);
        return;
    }
    const bool cut = strlen(name) > NAME_WIDTH;
    snprintf(field, NAME_WIDTH + 4, "%.*s%s", cut ? NAME_WIDTH - 3 : NAME_WIDTH, name,
             cut ? "..." : "");
}

static void print_plan_row(FILE *out, const spad_plan *plan, const spad_plan_result *result,
                           const row *r, int width) {
    const spad_plan_buffer *buffer = spad_plan_get(plan, r->number);
    char name[NAME_WIDTH + 4], size[CLI_SIZE_ROOM];
    format_name(name, buffer->name, r->number);
    cli_format_size(size, buffer->size);
    cli_print(out, "%-*s", width, name);
    if (result->places[r->number].lane > 0 || buffer->lanes > 1)
        fprintf(out, "  lane %" PRId64, result->places[r->number].lane);
    char offset[CLI_SIZE_ROOM], lower[CLI_SIZE_ROOM], upper[CLI_SIZE_ROOM];
    fprintf(out, "  %14s  %10s  [%s, %s)\n", cli_group_digits(offset, r->offset), size,
            cli_group_digits(lower, buffer->lower), cli_group_digits(upper, buffer->upper));
}

cli_exit cli_print_plan(FILE *out, const spad_plan *plan, const spad_plan_result *result) {
    const size_t count = result->places != NULL ? spad_plan_count(plan) : 0;
    if (count == 0) return CLI_FINE;
    row *rows = calloc(count, sizeof *rows);
    if (rows == NULL) {
        cli_message("out of memory");
        return CLI_INTERNAL;
    }
    for (size_t i = 0; i < count; i++)
        rows[i] = (row){i, 0, result->places[i].offset, spad_plan_get(plan, i)->size};
    const size_t shown = choose_rows(rows, count);
    int width = 4;
    for (size_t i = 0; i < shown; i++) {
        char name[NAME_WIDTH + 4];
        format_name(name, spad_plan_get(plan, rows[i].number)->name, rows[i].number);
        if ((int)strlen(name) > width) width = (int)strlen(name);
    }
    fprintf(out, "\n%-*s  %14s  %10s  alive\n", width, "name", "offset", "size");
    for (size_t i = 0; i < shown; i++) print_plan_row(out, plan, result, &rows[i], width);
    print_rest(out, shown, count);
    free(rows);
    return CLI_FINE;
}

/* ---- layouts ----------------------------------------------------------------------- */

static void print_layout_row(FILE *out, const spad_layout *layout, const row *r, int width) {
    const spad_layout_buffer *buffer = spad_layout_get_buffer(layout, r->number);
    const spad_target *target = spad_kernel_get_target(spad_layout_get_kernel(layout));
    const spad_space *space = &target->spaces[r->space];
    char name[NAME_WIDTH + 4], size[CLI_SIZE_ROOM];
    format_name(name, buffer->name, r->number);
    cli_format_size(size, buffer->rect.bytes);
    cli_print(out, "%-10s  %-*s", space->name, width, name);
    char offset[CLI_SIZE_ROOM];
    fprintf(out, "  %10s  %10s", cli_group_digits(offset, r->offset), size);
    if (buffer->slots > 1) fprintf(out, " x %" PRId64, buffer->slots);
    if (space->lanes > 1 && (buffer->rect.lane > 0 || buffer->rect.lanes < space->lanes))
        fprintf(out, "  lanes [%" PRId64 ", %" PRId64 ")", buffer->rect.lane,
                buffer->rect.lane + buffer->rect.lanes);
    fputc('\n', out);
}

/* The rows of a layout that have a place. */
static size_t collect(row *rows, const spad_layout *layout) {
    size_t count = 0;
    for (size_t i = 0; i < spad_layout_space_count(layout); i++) {
        const spad_layout_space *space = spad_layout_get_space(layout, i);
        for (size_t b = 0; b < space->buffer_count; b++) {
            const size_t number = space->first_buffer + b;
            const spad_layout_buffer *buffer = spad_layout_get_buffer(layout, number);
            if (buffer->rect.byte == SPAD_NO_BYTE) continue;
            rows[count++] = (row){number, space->space, buffer->rect.byte, buffer->taken};
        }
    }
    return count;
}

cli_exit cli_print_layout(FILE *out, const spad_layout *layout) {
    const size_t room = spad_layout_buffer_count(layout);
    if (room == 0 || !spad_layout_fits(layout)) return CLI_FINE;
    row *rows = calloc(room, sizeof *rows);
    if (rows == NULL) {
        cli_message("out of memory");
        return CLI_INTERNAL;
    }
    const size_t count = collect(rows, layout);
    const size_t shown = choose_rows(rows, count);
    int width = 4;
    for (size_t i = 0; i < shown; i++) {
        char name[NAME_WIDTH + 4];
        format_name(name, spad_layout_get_buffer(layout, rows[i].number)->name, rows[i].number);
        if ((int)strlen(name) > width) width = (int)strlen(name);
    }
    if (count > 0)
        fprintf(out, "\n%-10s  %-*s  %10s  %10s\n", "space", width, "name", "byte", "size");
    for (size_t i = 0; i < shown; i++) print_layout_row(out, layout, &rows[i], width);
    print_rest(out, shown, count);
    free(rows);
    return CLI_FINE;
}
