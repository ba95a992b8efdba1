/* SPDX-License-Identifier: Apache-2.0
 *
 * See density.h. Whole numbers only, so the same rectangles give the same levels everywhere.
 */
#include "report/density.h"

#include "base/checked.h"

static int64_t cells_in(int64_t length, int64_t cell) {
    return spad__max(length / cell + (length % cell != 0), 1);
}

bool spad__density_make(spad__density *grid, const spad_host *host, int64_t width, int64_t height,
                        int64_t cell) {
    *grid = (spad__density){
        .cell = cell, .columns = cells_in(width, cell), .rows = cells_in(height, cell)};
    const size_t count = (size_t)(grid->columns * grid->rows + grid->columns + 1);
    grid->cover = spad__new_array(host, count, sizeof *grid->cover);
    if (grid->cover == NULL) return false;
    grid->begun = grid->cover + grid->columns * grid->rows;
    return true;
}

void spad__density_free(spad__density *grid, const spad_host *host) {
    const size_t count = (size_t)(grid->columns * grid->rows + grid->columns + 1);
    spad__free(host, grid->cover, count * sizeof *grid->cover);
    *grid = (spad__density){0};
}

/* What [from, to) has of cell number k. */
static int64_t part_of(const spad__density *grid, int64_t k, int64_t from, int64_t to) {
    return spad__min(to, (k + 1) * grid->cell) - spad__max(from, k * grid->cell);
}

void spad__density_add(spad__density *grid, int64_t x0, int64_t y0, int64_t x1, int64_t y1) {
    x0 = spad__max(x0, 0);
    y0 = spad__max(y0, 0);
    x1 = spad__min(spad__max(x1, x0 + 1), grid->columns * grid->cell);
    y1 = spad__min(spad__max(y1, y0 + 1), grid->rows * grid->cell);
    if (x0 >= x1 || y0 >= y1) return;
    const int64_t first = x0 / grid->cell;
    const int64_t last = (x1 - 1) / grid->cell;
    for (int64_t row = y0 / grid->cell; row <= (y1 - 1) / grid->cell; row++) {
        const int64_t high = part_of(grid, row, y0, y1);
        for (int64_t column = first; column <= last; column++) {
            grid->cover[row * grid->columns + column] += high * part_of(grid, column, x0, x1);
        }
    }
    grid->begun[first]++;
    grid->begun[last + 1]--;
}

int spad__density_level(const spad__density *grid, int64_t column, int64_t row) {
    const int64_t cover = grid->cover[row * grid->columns + column];
    const int64_t whole = grid->cell * grid->cell;
    if (cover == 0) return 0;
    return (int)(1 +
                 spad__min(cover * SPAD__DENSITY_LEVELS / (whole + 1), SPAD__DENSITY_LEVELS - 1));
}
