/* SPDX-License-Identifier: Apache-2.0
 *
 * spad calibrate from the inside: figures that were measured, and the target file that is fitted
 * to them. calibrate_measure.c runs the measurements, calibrate_fit.c reads and fits, and
 * cmd_calibrate.c is the command.
 */
#ifndef SPAD_CLI_CALIBRATE_H
#define SPAD_CLI_CALIBRATE_H

#include "cli.h"

/* The program that measures: cli/cuda/figures.cu and hopper.h, embedded. */
extern const char cli_cuda_cu[];
extern const size_t cli_cuda_cu_size;
extern const char cli_cuda_h[];
extern const size_t cli_cuda_h_size;

/* One line of the figures: what was measured, with which parameters, and the spread of the middle
 * half of the runs in percent. */
typedef struct cli_figure {
    char name[24];
    char parameters[64];
    double value;
    double spread;
} cli_figure;

enum { CLI_FIGURES_MAX = 512 };

typedef struct cli_figures {
    cli_figure items[CLI_FIGURES_MAX];
    size_t count;
} cli_figures;

/* Compiles and runs the measurements on a CUDA device; *out is their text, freed with free(). */
cli_exit cli_measure(cli_text *out, int64_t device);

/* Reads figures as the measurements print them. */
cli_exit cli_read_figures(cli_figures *out, const cli_text *text, const char *path);

/* How a memory answers one of many units that all copy from it: a copy of b bytes takes
 *     latency + b / rate + queue x b / share x u / (1 - u)
 * where u is the part of `share`, the unit's part of the rate of the chip, that is in use. */
typedef struct cli_memory_law {
    double latency; /* ns */
    double rate;    /* bytes per ns, of one copy alone */
    double share;   /* bytes per ns */
    double queue;
    double error; /* of the middle point against the law, in percent */
} cli_memory_law;

/* False: too few figures called `name`. */
bool cli_fit_memory(cli_memory_law *out, const cli_figures *figures, const char *name);

/* How it answers stages of a matrix product: two tiles, of which neighbours share one. */
typedef struct cli_tile_law {
    double hit;   /* ns that a stage takes beyond its bytes, where the cache has it */
    double miss;  /* and where it comes from memory */
    double share; /* bytes per ns of the cache for a unit, where requests are merged */
} cli_tile_law;

/* `rate`: bytes per ns of one copy alone. False: no figures of tiles. */
bool cli_fit_tiles(cli_tile_law *out, const cli_figures *figures, double rate);

/* The target file; false: a figure is missing, and the reason was printed. */
bool cli_write_chip(FILE *out, const cli_figures *figures, const char *name, const char *origin);

#endif
