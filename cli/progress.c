/* SPDX-License-Identifier: Apache-2.0
 *
 * Progress of a long search: on a terminal one line that is written over, elsewhere a line each
 * time, or JSON.
 */
#include "progress.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { PATIENCE_NS = 1000000000 }; /* progress that was not asked for starts then */

/* Set by the first Ctrl-C: the search ends with the best so far. The second one ends spad. */
static volatile sig_atomic_t interrupted;
static int64_t interrupted_at; /* written before the flag, and once */

static void interrupt(int number) {
    interrupted_at = cli_clock();
    interrupted = 1;
    signal(number, SIG_DFL);
}

static int is_overdue(void *context) {
    (void)context;
    return interrupted && cli_clock() - interrupted_at > PATIENCE_NS;
}

spad_watch cli_watch_interrupt(void) {
    return (spad_watch){.cancel = is_overdue};
}

void cli_progress_start(void) {
    signal(SIGINT, interrupt);
}

bool cli_interrupted(void) {
    return interrupted != 0;
}

void cli_progress_end(cli_progress *p) {
    signal(SIGINT, SIG_DFL);
    if (p->line_open) fputc('\n', stderr);
    p->line_open = false;
}

static bool is_shown(const cli_progress *p, int64_t nanoseconds) {
    if (interrupted) return false;
    return p->asked || p->json || (nanoseconds >= PATIENCE_NS && isatty(STDERR_FILENO));
}

/* The beginning of a line. */
static void begin_line(cli_progress *p, int64_t nanoseconds) {
    p->line_open = isatty(STDERR_FILENO) != 0;
    if (p->line_open) fputc('\r', stderr);
    fprintf(stderr, "%lld.%lld s  ", (long long)(nanoseconds / 1000000000),
            (long long)(nanoseconds / 100000000 % 10));
}

static void end_line(const cli_progress *p) {
    fputs(p->line_open ? "\033[K" : "\n", stderr);
}

static void show_gap(int64_t value, int64_t bound) {
    if (value == SPAD_UNBOUNDED || bound <= 0) return;
    fprintf(stderr, "  gap %.3f %%", 100.0 * (double)(value - bound) / (double)bound);
}

static void write_number(const char *name, int64_t number) {
    if (number == SPAD_UNBOUNDED) {
        fprintf(stderr, "\"%s\": null", name);
    } else {
        fprintf(stderr, "\"%s\": %lld", name, (long long)number);
    }
}

static void write_next(const char *name, int64_t number) {
    fputs(", ", stderr);
    write_number(name, number);
}

/* ---- searches of the planner --------------------------------------------------------- */

static void write_plan(const spad_plan_progress *f) {
    write_number("ns", f->nanoseconds);
    write_next("height", f->height);
    write_next("bound", f->bound);
    write_next("nodes", f->nodes);
    write_next("restarts", f->restarts);
    fputs("}\n", stderr);
}

static void show_plan(cli_progress *p, const spad_plan_progress *f) {
    char height[CLI_SIZE_ROOM], bound[CLI_SIZE_ROOM], restarts[CLI_SIZE_ROOM];
    if (f->height != SPAD_UNBOUNDED)
        fprintf(stderr, "best %s B", cli_group_digits(height, f->height));
    else
        fputs("best none", stderr);
    fprintf(stderr, "  bound %s B", cli_group_digits(bound, f->bound));
    show_gap(f->height, f->bound);
    fprintf(stderr, "  %s restarts", cli_group_digits(restarts, f->restarts));
    end_line(p);
}

int cli_progress_plan(void *context, const spad_plan_progress *facts) {
    cli_progress *p = context;
    if (!is_shown(p, facts->nanoseconds)) return cli_interrupted();
    if (p->json) {
        fputc('{', stderr);
        write_plan(facts);
    } else {
        begin_line(p, facts->nanoseconds);
        show_plan(p, facts);
    }
    return 0;
}

int cli_progress_layout(void *context, const spad_layout_progress *facts) {
    cli_progress *p = context;
    if (!is_shown(p, facts->plan.nanoseconds)) return cli_interrupted();
    if (p->json) {
        fprintf(stderr, "{\"space\": \"%s\", ", facts->name);
        write_plan(&facts->plan);
    } else {
        begin_line(p, facts->plan.nanoseconds);
        fprintf(stderr, "%s  ", facts->name);
        show_plan(p, &facts->plan);
    }
    return 0;
}

/* ---- the tuner ----------------------------------------------------------------------- */

int cli_progress_tune(void *context, const spad_tune_progress *facts) {
    cli_progress *p = context;
    char simulations[CLI_SIZE_ROOM];
    if (!is_shown(p, facts->nanoseconds)) return cli_interrupted();
    if (p->json) {
        fputc('{', stderr);
        write_number("ns", facts->nanoseconds);
        write_next("simulations", facts->simulations);
        write_next("makespan_ps", facts->makespan);
        write_next("bound_ps", facts->bound);
        fputs("}\n", stderr);
        return 0;
    }
    begin_line(p, facts->nanoseconds);
    fprintf(stderr, "%s simulation%s", cli_group_digits(simulations, facts->simulations),
            facts->simulations == 1 ? "" : "s");
    show_gap(facts->makespan, facts->bound);
    end_line(p);
    return 0;
}
