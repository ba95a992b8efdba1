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
    char all[CLI_SIZE_ROOM];
    fprintf(out, "the %zu largest of %s; '-o OUT.csv' writes all, '--report OUT.html' draws them\n",
            shown, cli_group_digits(all, (int64_t)count));
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
    char offset[CLI_SIZE_ROOM];
    fprintf(out, "  %14s  %10s  [%" PRId64 ", %" PRId64 ")\n", cli_group_digits(offset, r->offset),
            size, buffer->lower, buffer->upper);
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
    fprintf(out, "\n%-*s  %14s  %10s  live\n", width, "name", "offset", "size");
    for (size_t i = 0; i < shown; i++) print_plan_row(out, plan, result, &rows[i], width);
    print_rest(out, shown, count);
    free(rows);
    return CLI_FINE;
}

/* ---- layouts ----------------------------------------------------------------------- */

/* The places of a tensor or mbarrier that are one after another at equal distances; or those of an
 * alias, inside another tensor. */
typedef struct places {
    const spad_layout_buffer *buffer; /* the first; NULL: an alias */
    const spad_kernel_tensor *tensor; /* NULL: an mbarrier */
    spad_rect rect;
    int64_t slots;
    int64_t stride;
} places;

/* Do the slots of a buffer continue those before it? */
static bool continues(const places *before, const spad_layout_buffer *next) {
    const spad_layout_buffer *first = before->buffer;
    const int64_t stride = before->slots > 1 ? before->stride : next->rect.byte - before->rect.byte;
    return first->tensor == next->tensor && first->sync == next->sync &&
           first->rect.lane == next->rect.lane && first->rect.lanes == next->rect.lanes &&
           first->rect.bytes == next->rect.bytes && stride >= first->rect.bytes &&
           next->rect.byte == before->rect.byte + before->slots * stride &&
           (next->slots == 1 || next->stride == stride);
}

/* Where agents declare tensors of equal names, a name has its agent: "acc (upper)". */
static void format_owner(char field[NAME_WIDTH + 4], const spad_kernel *kernel, const places *p,
                         size_t number) {
    const spad_kernel_tensor *own = p->tensor;
    const int64_t agent =
        own != NULL ? spad_kernel_get_statement(kernel, (size_t)own->statement)->agent : 0;
    format_name(field, own != NULL ? own->name : p->buffer->name, number);
    bool twice = false;
    for (size_t i = 0; agent > 0 && !twice && i < spad_kernel_tensor_count(kernel); i++) {
        const spad_kernel_tensor *other = spad_kernel_get_tensor(kernel, i);
        twice = other != own && strcmp(other->name, own->name) == 0;
    }
    const size_t used = strlen(field);
    if (twice)
        snprintf(field + used, NAME_WIDTH + 4 - used, " (%s)",
                 spad_kernel_get_agent(kernel, (size_t)agent)->name);
}

static void print_layout_row(FILE *out, const spad_kernel *kernel, const places *p, const row *r,
                             int width) {
    const spad_space *space = &spad_kernel_get_target(kernel)->spaces[r->space];
    char name[NAME_WIDTH + 4], size[CLI_SIZE_ROOM], number[CLI_SIZE_ROOM];
    format_owner(name, kernel, p, r->number);
    cli_format_size(size, p->rect.bytes);
    cli_print(out, "%-10s  %-*s", space->name, width, name);
    fprintf(out, "  %10s  %10s", cli_group_digits(number, r->offset), size);
    if (p->slots > 1) fprintf(out, " x %s", cli_group_digits(number, p->slots));
    if (p->slots > 1 && p->stride != p->rect.bytes)
        fprintf(out, ", one every %s B", cli_group_digits(number, p->stride));
    if (space->lanes > 1 && (p->rect.lane > 0 || p->rect.lanes < space->lanes))
        fprintf(out, "  lanes [%" PRId64 ", %" PRId64 ")", p->rect.lane,
                p->rect.lane + p->rect.lanes);
    if (p->buffer == NULL)
        cli_print(out, "  inside %s",
                  spad_kernel_get_tensor(kernel, (size_t)p->tensor->alias_of)->name);
    fputc('\n', out);
}

static void add_row(row *rows, places *all, size_t *count, size_t space, places p) {
    all[*count] = p;
    rows[*count] = (row){*count, space, p.rect.byte, p.rect.bytes * p.slots};
    (*count)++;
}

/* The tensors that are inside others; the place of the first tile. */
static void collect_aliases(row *rows, places *all, size_t *count, const spad_layout *layout) {
    const spad_kernel *kernel = spad_layout_get_kernel(layout);
    const spad_target *target = spad_kernel_get_target(kernel);
    for (size_t i = 0; i < spad_kernel_tensor_count(kernel); i++) {
        const spad_kernel_tensor *tensor = spad_kernel_get_tensor(kernel, i);
        places p = {.tensor = tensor, .slots = 1};
        if (tensor->mode == SPAD_MODE_ALIAS && !target->spaces[tensor->space].off_chip &&
            spad_layout_get_alias_place(&p.rect, layout, (int64_t)i, 0))
            add_row(rows, all, count, tensor->space, p);
    }
}

/* The rows of a layout that have a place. */
static size_t collect(row *rows, places *all, const spad_layout *layout) {
    const spad_kernel *kernel = spad_layout_get_kernel(layout);
    size_t count = 0;
    for (size_t i = 0; i < spad_layout_space_count(layout); i++) {
        const spad_layout_space *space = spad_layout_get_space(layout, i);
        for (size_t b = 0, first = count; b < space->buffer_count; b++) {
            const spad_layout_buffer *buffer =
                spad_layout_get_buffer(layout, space->first_buffer + b);
            if (buffer->rect.byte == SPAD_NO_BYTE) continue;
            if (count > first && continues(&all[count - 1], buffer)) {
                places *before = &all[count - 1];
                if (before->slots == 1) before->stride = buffer->rect.byte - before->rect.byte;
                before->slots += buffer->slots;
                rows[count - 1].size += buffer->rect.bytes * buffer->slots;
                continue;
            }
            const spad_kernel_tensor *tensor =
                buffer->tensor >= 0 ? spad_kernel_get_tensor(kernel, (size_t)buffer->tensor) : NULL;
            add_row(rows, all, &count, space->space,
                    (places){buffer, tensor, buffer->rect, buffer->slots, buffer->stride});
        }
    }
    collect_aliases(rows, all, &count, layout);
    return count;
}

static void print_layout_rows(FILE *out, const spad_layout *layout, row *rows, places *all) {
    const spad_kernel *kernel = spad_layout_get_kernel(layout);
    const size_t count = collect(rows, all, layout);
    const size_t shown = choose_rows(rows, count);
    int width = 4;
    for (size_t i = 0; i < shown; i++) {
        char name[NAME_WIDTH + 4];
        format_owner(name, kernel, &all[rows[i].number], rows[i].number);
        if ((int)strlen(name) > width) width = (int)strlen(name);
    }
    if (count > 0)
        fprintf(out, "\n%-10s  %-*s  %10s  %10s\n", "space", width, "name", "byte", "size");
    for (size_t i = 0; i < shown; i++)
        print_layout_row(out, kernel, &all[rows[i].number], &rows[i], width);
    print_rest(out, shown, count);
}

cli_exit cli_print_layout(FILE *out, const spad_layout *layout) {
    const size_t room =
        spad_layout_buffer_count(layout) + spad_kernel_tensor_count(spad_layout_get_kernel(layout));
    if (room == 0 || !spad_layout_fits(layout)) return CLI_FINE;
    row *rows = calloc(room, sizeof *rows);
    places *all = calloc(room, sizeof *all);
    const bool enough = rows != NULL && all != NULL;
    if (enough)
        print_layout_rows(out, layout, rows, all);
    else
        cli_message("out of memory");
    free(rows);
    free(all);
    return enough ? CLI_FINE : CLI_INTERNAL;
}
