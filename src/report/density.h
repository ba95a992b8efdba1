/* SPDX-License-Identifier: Apache-2.0
 *
 * How much of each cell of a grid rectangles cover, for pictures of more boxes than can be seen.
 */
#ifndef SPAD_REPORT_DENSITY_H
#define SPAD_REPORT_DENSITY_H

#include "base/memory.h"

enum { SPAD__DENSITY_LEVELS = 4 };

typedef struct spad__density {
    int64_t cell; /* the side of a cell */
    int64_t columns;
    int64_t rows;
    int64_t *cover; /* per cell, row by row: what is covered of it */
    int64_t
        *begun; /* per column, and one more: rectangles that begin there, less those that ended */
} spad__density;

/* A grid over width x height, empty. False: no memory. */
bool spad__density_make(spad__density *grid, const spad_host *host, int64_t width, int64_t height,
                        int64_t cell);
void spad__density_free(spad__density *grid, const spad_host *host);

/* Adds a rectangle; what is outside of the grid is left out. O(cells that it touches). */
void spad__density_add(spad__density *grid, int64_t x0, int64_t y0, int64_t x1, int64_t y1);

/* 0: nothing is there; up to SPAD__DENSITY_LEVELS: all of the cell is covered. */
int spad__density_level(const spad__density *grid, int64_t column, int64_t row);

#endif
