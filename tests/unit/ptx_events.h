/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a PTX text and writes its events and remarks as lines, one for each, to compare with.
 *
 *   0.1 sync 0 32/64        CTA 0, warp 1: event, object, amounts
 *   0.0 bulk wr 0:0-4096 ->0:4096 +4096
 */
#ifndef SPAD_TEST_PTX_EVENTS_H
#define SPAD_TEST_PTX_EVENTS_H

#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "frontend/ptx/run/ptx_machine.h"

typedef struct ptx_run {
    uint32_t threads; /* of a block */
    uint32_t ctas;    /* of the cluster; 0: 1 */
    int64_t dynamic;  /* bytes of shared memory */
    bool answer;      /* of every choice */
    const spad__ptx_mapped *maps;
    size_t map_count;
    const uint8_t *parameters;
    int64_t parameter_bytes;
    const char *only; /* lines that begin with this, NULL: all */
    long choices;     /* made */
    test_text text;
    bool stuck;
    const spad__ptx_sink *sink; /* instead of the text */
} ptx_run;

static bool ptx_choose(void *context, spad__ptx_remark_kind kind, int32_t instruction, int32_t cta,
                       int32_t warp) {
    ptx_run *run = context;
    (void)kind, (void)instruction, (void)cta, (void)warp;
    run->choices++;
    return run->answer;
}

static const char *ptx_event_name(const spad__ptx_event *e) {
    static const char *const names[] = {
        "access",         "commit",       "wait-group", "sync",  "arrive-barrier",
        "cluster-arrive", "cluster-wait", "warp-sync",  "init",  "inval",
        "expect",         "arrive",       "complete",   "wait",  "fence",
        "registers",      "tmem-alloc",   "tmem-free",  "exited"};
    static const char *const fences[] = {
        "fence-proxy", "fence-proxy-shared", "fence-proxy-global", "fence-init", "fence-threads",
        "fence-wgmma", "fence-before",       "fence-after",        "wait-loads", "wait-stores"};
    static const char *const units[] = {"own", "cp.async", "bulk", "wgmma", "tcgen05", "remote"};
    if (e->kind == SPAD__PTX_FENCE) return fences[e->fence];
    return e->kind == SPAD__PTX_ACCESS ? units[e->unit] : names[e->kind];
}

static const char *ptx_kind_name(unsigned kind) {
    switch (kind & ~(unsigned)(SPAD__PTX_ATOMIC | SPAD__PTX_MAY)) {
    case SPAD__PTX_READ: return "rd";
    case SPAD__PTX_WRITE: return "wr";
    case SPAD__PTX_UPDATE: return "up";
    default: return "add";
    }
}

static void ptx_put_accesses(test_text *text, const spad__ptx_event *e) {
    for (int32_t n = 0; n < e->access_count; n++) {
        const spad__ptx_event_access *a = &e->accesses[n];
        test_text_put(text, " %s%s %d:", ptx_kind_name(a->kind), a->tensor_memory ? "-tmem" : "",
                      a->cta);
        for (int32_t k = 0; k < a->run_count && k < 4; k++) {
            const spad__ptx_bytes *run = &e->runs[a->first_run + k];
            test_text_put(text, "%s%lld-%lld", k > 0 ? "," : "", (long long)run->begin,
                          (long long)run->end);
            if (a->tensor_memory) test_text_put(text, "@%d+%d", run->lane, run->lanes);
        }
        if (a->run_count > 4) test_text_put(text, ",...%d", a->run_count);
    }
}

static spad_status ptx_add_event(void *context, const spad__ptx_event *e, spad_error *error) {
    ptx_run *run = context;
    test_text *t = &run->text;
    (void)error;
    if (e->kind == SPAD__PTX_EXITED) return SPAD_OK;
    test_text_put(t, "%d.%d %s", e->cta, e->warp, ptx_event_name(e));
    ptx_put_accesses(t, e);
    if (e->kind == SPAD__PTX_ACCESS) {
        if (e->object.cta >= 0) {
            test_text_put(t, " ->%d:%lld +%lld", e->object.cta, (long long)e->object.byte,
                          (long long)e->bytes);
        }
        if (e->group != SPAD__PTX_NO_GROUP) test_text_put(t, " grouped");
    } else if (e->object.cta >= 0) {
        test_text_put(t, " %d:%lld", e->object.cta, (long long)e->object.byte);
    }
    if (e->kind != SPAD__PTX_ACCESS && (e->amount != 0 || e->count != 0)) {
        test_text_put(t, " %lld/%lld", (long long)e->amount, (long long)e->count);
    }
    if (e->kind != SPAD__PTX_ACCESS && e->bytes != 0) {
        test_text_put(t, " +%lld", (long long)e->bytes);
    }
    if (e->kind == SPAD__PTX_MBARRIER_WAIT) test_text_put(t, " p%d", e->parity);
    if (e->kind == SPAD__PTX_WARP_SYNC) test_text_put(t, " %x", (unsigned)e->lanes);
    if (e->kind == SPAD__PTX_MBARRIER_ARRIVE && e->unit != SPAD__PTX_NO_UNIT) {
        test_text_put(t, " unit%d", (int)e->unit);
    }
    test_text_put(t, "%s%s%s%s\n", e->reads ? " reads" : "", e->drop ? " drop" : "",
                  e->relaxed ? " relaxed" : "", e->endless ? " endless" : "");
    return SPAD_OK;
}

static void ptx_put_remarks(ptx_run *run, const spad__ptx_result *result) {
    static const char *const names[] = {"out-of-shared",   "out-of-global",  "out-of-local",
                                        "misaligned",      "bad-barrier",    "bad-descriptor",
                                        "diverged",        "bad-mask",       "bad-transaction",
                                        "in-flight",       "no-wgmma-fence", "lanes",
                                        "lanes-release",   "trapped",        "endless",
                                        "branch-on-data",  "peek",           "unknown-address",
                                        "unknown-operand", "left-out",       "approximated",
                                        "release-in-step", "lanes-collide",  "spin"};
    for (size_t n = 0; n < result->remarks.count; n++) {
        const spad__ptx_remark *r = &result->remarks.items[n];
        test_text_put(&run->text, "! %s: %s\n", names[r->kind], r->text);
    }
}

/* Runs the first kernel of a text; the lines are in run->text, which the caller frees. */
static spad_status ptx_execute(ptx_run *run, const char *text, const spad_host *host,
                               spad_error *error) {
    const spad__source source = {.file = "test.ptx", .text = text, .length = strlen(text)};
    spad__ptx_module module;
    spad_status status = spad__ptx_parse(&module, host, &source, NULL, error);
    if (status != SPAD_OK) return status;
    const spad__ptx_function *kernel = NULL;
    for (size_t n = 0; n < module.functions.count && kernel == NULL; n++) {
        if (module.functions.items[n].entry) kernel = &module.functions.items[n];
    }
    const uint32_t ctas = run->ctas == 0 ? 1 : run->ctas;
    const spad__ptx_launch launch = {.kernel = kernel,
                                     .grid = {ctas * 4, 1, 1},
                                     .block = {run->threads, 1, 1},
                                     .cluster = {ctas, 1, 1},
                                     .dynamic_shared_bytes = run->dynamic,
                                     .parameters = run->parameters,
                                     .parameter_bytes = run->parameter_bytes,
                                     .maps = run->maps,
                                     .map_count = run->map_count,
                                     .most_steps = 1000000,
                                     .most_events = 100000};
    const spad__ptx_sink lines = {.context = run, .add = ptx_add_event};
    const spad__ptx_sink *sink = run->sink != NULL ? run->sink : &lines;
    const spad__ptx_choices choices = {.context = run, .choose = ptx_choose};
    spad__ptx_result result = {0};
    const spad_host memory = spad__host_or_default(host);
    status = spad__ptx_run(&result, &module, &launch, sink, &choices, &memory, error);
    run->stuck = result.stuck;
    if (status == SPAD_OK) ptx_put_remarks(run, &result);
    spad__ptx_result_free(&result, &memory);
    spad__ptx_module_free(&module);
    return status;
}

/* The lines that begin with a prefix, in place. */
static inline void ptx_keep_lines(char *text, const char *prefix) {
    char *to = text;
    for (char *line = text; *line != '\0';) {
        char *end = strchr(line, '\n');
        const size_t length = end == NULL ? strlen(line) : (size_t)(end - line) + 1;
        if (strncmp(line, prefix, strlen(prefix)) == 0) {
            memmove(to, line, length);
            to += length;
        }
        line += length;
    }
    *to = '\0';
}

static int ptx_warp_of(const char *line) {
    int cta = 1 << 20; /* remarks come last */
    int warp = 0;
    return sscanf(line, "%d.%d", &cta, &warp) == 2 ? cta * 32 + warp : 1 << 20;
}

/* Lines by warp: the order of events of different warps means nothing. */
static inline void ptx_sort_lines(test_text *text) {
    test_text sorted;
    test_text_init(&sorted);
    for (int after = -1;;) {
        int least = INT32_MAX;
        for (const char *line = text->bytes; *line != '\0'; line = strchr(line, '\n') + 1) {
            const int warp = ptx_warp_of(line);
            if (warp > after && warp < least) least = warp;
        }
        if (least == INT32_MAX) break;
        for (const char *line = text->bytes; *line != '\0'; line = strchr(line, '\n') + 1) {
            const int length = (int)(strchr(line, '\n') + 1 - line);
            if (ptx_warp_of(line) == least) test_text_put(&sorted, "%.*s", length, line);
        }
        after = least;
    }
    test_text_free(text);
    *text = sorted;
    text->sink.context = text;
}

static inline void ptx_expect(ptx_run run, const char *text, const char *expected) {
    spad_error error = {0};
    test_text_init(&run.text);
    assert_ok(ptx_execute(&run, text, NULL, &error), &error);
    ptx_sort_lines(&run.text);
    if (run.only != NULL) ptx_keep_lines(run.text.bytes, run.only);
    if (strcmp(run.text.bytes, expected) != 0) print_error("found:\n%s", run.text.bytes);
    assert_string_equal(run.text.bytes, expected);
    test_text_free(&run.text);
}

#define PTX_HEAD ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k() {\n"
#define PTX_100 ".version 8.7\n.target sm_100a\n.address_size 64\n.visible .entry k() {\n"

#endif
