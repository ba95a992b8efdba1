/* SPDX-License-Identifier: Apache-2.0
 * Changes that make a kernel fit, against the changed kernel: random kernels that do not fit are
 * written again with each change that is offered, and then the memory must fit; where the change is
 * called right, the changed kernel has no error, and where it is called wrong, it has that one. */
#include "support/kernels.h"
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "spad/check.h"
#include "spad/experimental/fit.h"

enum { TENSORS = 5, KERNELS = 20 };

typedef struct tensor {
    const char *space; /* NULL: elsewhere */
    int64_t bytes;
    int64_t depth; /* 0: one tile; -1: a tile for each iteration */
    bool by_param;
    int64_t align;
    bool late; /* read an iteration later: it needs two slots */
} tensor;

typedef struct model {
    tensor tensors[TENSORS];
    spad__random random;
    char text[4096];
    size_t used;
} model;

static void SPAD_PRINTF(2, 3) put(model *m, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    m->used += (size_t)vsnprintf(m->text + m->used, sizeof m->text - m->used, format, arguments);
    va_end(arguments);
    assert_true(m->used < sizeof m->text);
}

static int64_t pick(model *m, int64_t count) {
    return spad__random_in(&m->random, 0, count - 1);
}

static void choose(model *m) {
    for (int i = 0; i < TENSORS; i++) {
        tensor *t = &m->tensors[i];
        const bool tmem = pick(m, 4) == 0;
        *t = (tensor){.space = tmem ? "tmem" : "shared", .depth = pick(m, 6)};
        t->bytes = tmem ? 128 << pick(m, 4) : 1000 + pick(m, 60) * 1000;
        t->by_param = t->depth > 0 && pick(m, 3) == 0;
        t->align = pick(m, 3) == 0 && !tmem ? 1024 << pick(m, 7) : 0;
        t->late = pick(m, 4) == 0;
        if (pick(m, 12) == 0) t->depth = -1;
    }
}

/* t0 to t4, each written and read in one loop. */
static void render(model *m) {
    m->used = 0;
    put(m, "kernel k on sm_100\nparam N = 12\n");
    for (int i = 0; i < TENSORS; i++) {
        const tensor *t = &m->tensors[i];
        if (t->by_param) put(m, "param S%d = %lld\n", i, (long long)t->depth);
    }
    for (int i = 0; i < TENSORS; i++) {
        const tensor *t = &m->tensors[i];
        const bool tmem = t->space != NULL && strcmp(t->space, "tmem") == 0;
        put(m, "tensor t%d : %s u8 ", i, t->space != NULL ? t->space : "global");
        if (t->depth != 0) put(m, "[N + 1] ");
        put(m, tmem ? "(128, %lld)" : "(%lld)", (long long)t->bytes);
        if (t->depth > 0 && t->by_param) put(m, " ring S%d", i);
        if (t->depth > 0 && !t->by_param) put(m, " ring %lld", (long long)t->depth);
        if (t->align > 0) put(m, " align %lld", (long long)t->align);
        put(m, "\n");
    }
    put(m, "for i in 0..N {\n");
    for (int i = 0; i < TENSORS; i++) {
        put(m, "simt w%d writes t%d%s\n", i, i, m->tensors[i].depth != 0 ? "[i]" : "");
    }
    for (int i = 0; i < TENSORS; i++) {
        const bool late = m->tensors[i].late && m->tensors[i].depth != 0;
        if (late) put(m, "if i > 0 { simt r%d reads t%d[i - 1] }\n", i, i);
        if (!late) put(m, "simt r%d reads t%d%s\n", i, i, m->tensors[i].depth != 0 ? "[i]" : "");
    }
    put(m, "}\n");
}

/* ---- changes ----------------------------------------------------------------------- */

/* Sets the depth that "t3" or "S3" names. */
static void set_depth(model *m, const char *name, int64_t depth) {
    m->tensors[name[1] - '0'].depth = depth;
}

/* Sets the depths of options: "-D S=3 --ring t1=3". */
static void set_depths(model *m, const char *options) {
    char words[256];
    snprintf(words, sizeof words, "%s", options);
    for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " ")) {
        char *equals = strchr(word, '=');
        if (equals == NULL) continue; /* -D or --ring */
        *equals = '\0';
        set_depth(m, word, atoll(equals + 1));
    }
}

/* The model with a change. */
static void apply(model *m, const spad_fit_change *change) {
    switch (change->kind) {
    case SPAD_FIT_PARAM:
    case SPAD_FIT_RING: set_depth(m, change->name, change->to); break;
    case SPAD_FIT_RINGS: set_depths(m, change->name); break;
    case SPAD_FIT_ALIGN: m->tensors[change->name[1] - '0'].align = change->to; break;
    case SPAD_FIT_SPILL: m->tensors[change->name[1] - '0'].space = NULL; break;
    case SPAD_FIT_SPILLS:
        if (change->with != NULL) set_depths(m, change->with);
        for (const char *at = strchr(change->name, 't'); at != NULL; at = strchr(at + 1, 't'))
            m->tensors[at[1] - '0'].space = NULL;
        break;
    default: fail();
    }
}

static bool fits_in(const spad_layout *layout, size_t space) {
    for (size_t i = 0; i < spad_layout_space_count(layout); i++) {
        const spad_layout_space *row = spad_layout_get_space(layout, i);
        if (row->space != space) continue;
        return row->verdict == SPAD_PLAN_OPTIMAL || row->verdict == SPAD_PLAN_FEASIBLE;
    }
    return true; /* nothing is left there */
}

static void check_change(const model *before, const spad_fit_change *change, const char *words) {
    model m = *before;
    spad_layout *layout;
    spad_check *check;
    spad_error error;
    apply(&m, change);
    render(&m);
    spad_kernel *kernel = test_parse(m.text);
    assert_ok(spad_layout_create(&layout, kernel, NULL, &error), &error);
    if (!fits_in(layout, change->space)) print_error("%s\n%s%s", before->text, words, m.text);
    assert_true(fits_in(layout, change->space));
    const spad_check_options options = {.one_shape = true, .no_advice = true};
    assert_ok(spad_check_create(&check, kernel, &options, &error), &error);
    bool wrong = change->wrong == SPAD_FINDING_NONE;
    for (size_t i = 0; i < spad_check_finding_count(check); i++) {
        const spad_finding *finding = spad_check_get_finding(check, i);
        if (finding->severity != SPAD_SEVERITY_ERROR) continue;
        wrong =
            change->wrong == SPAD_FINDING_NONE ? false : wrong || finding->code == change->wrong;
    }
    const bool depth = change->kind != SPAD_FIT_ALIGN && change->kind != SPAD_FIT_SPILL &&
                       change->kind != SPAD_FIT_SPILLS;
    if (depth && !wrong) print_error("%s\n%s%s", before->text, words, m.text);
    assert_true(!depth || wrong);
    spad_check_destroy(check);
    spad_layout_destroy(layout);
    spad_kernel_destroy(kernel);
}

static void changes_make_it_fit(void **state) {
    (void)state;
    static model m;
    int64_t kinds[8] = {0};
    int64_t wrong = 0;
    int64_t both = 0;
    m.random.state = 3;
    for (int i = 0; i < KERNELS; i++) {
        choose(&m);
        render(&m);
        spad_kernel *kernel = test_parse(m.text);
        spad_layout *layout;
        spad_fit *fit;
        spad_error error;
        assert_ok(spad_layout_create(&layout, kernel, NULL, &error), &error);
        assert_ok(spad_fit_create(&fit, layout, NULL, &error), &error);
        if (spad_layout_fits(layout)) assert_int_equal(spad_fit_count(fit), 0);
        test_text text;
        test_text_init(&text);
        assert_ok(spad_fit_write(fit, layout, SPAD_FORMAT_TEXT, &text.sink, &error), &error);
        for (size_t c = 0; c < spad_fit_count(fit); c++) {
            const spad_fit_change *change = spad_fit_get(fit, c);
            kinds[change->kind]++;
            both += change->with != NULL;
            wrong += change->wrong != SPAD_FINDING_NONE;
            check_change(&m, change, text.bytes);
        }
        test_text_clear(&text);
        assert_ok(spad_fit_write(fit, layout, SPAD_FORMAT_JSON, &text.sink, &error), &error);
        test_text_free(&text);
        spad_fit_destroy(fit);
        spad_layout_destroy(layout);
        spad_kernel_destroy(kernel);
    }
    print_message("param %lld, ring %lld, rings %lld, align %lld, spill %lld, "
                  "spills %lld (%lld with rings); %lld wrong\n",
                  (long long)kinds[SPAD_FIT_PARAM], (long long)kinds[SPAD_FIT_RING],
                  (long long)kinds[SPAD_FIT_RINGS], (long long)kinds[SPAD_FIT_ALIGN],
                  (long long)kinds[SPAD_FIT_SPILL], (long long)kinds[SPAD_FIT_SPILLS],
                  (long long)both, (long long)wrong);
    assert_true(kinds[SPAD_FIT_PARAM] > 0 && kinds[SPAD_FIT_RING] > 0 &&
                kinds[SPAD_FIT_RINGS] > 0 && kinds[SPAD_FIT_SPILL] > 0 &&
                kinds[SPAD_FIT_SPILLS] > 0 && both > 0 && wrong > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(changes_make_it_fit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
