/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of the kernel builder in any order, with any numbers, and with a request for memory that
 * fails: each call adds one thing or fails and adds nothing (faults.h). A kernel that comes out is
 * written, reads back to the same text, and walks.
 *
 * Input: 1 byte which fault, 2 bytes N, 1 byte which target; then records of an operation byte and
 * its numbers.
 */
#include "faults.h"
#include "kernel/kernel_builder.h"
#include "spad/spad.h"

enum { CALLS_MAX = 96, EVENTS_MAX = 500, LIST_MAX = 3 };

static int64_t next_number(fuzz_input *in) {
    static const int64_t edges[] = {INT64_MAX, INT64_MIN, -1, INT64_C(1) << 40, 4096, 128, -7};
    const int first = fuzz_next(in);
    if (first >= 249) return edges[first - 249];
    return first % 24;
}

static const char *next_name(fuzz_input *in) {
    static const char *const names[] = {"a",  "b", "c",   "x",   "y",   "N",      "M",  "i",
                                        "j",  "s", "",    "9",   "for", "a b",    "\n", "dma",
                                        "pe", "z", "act", "tma", "w",   "tensor", "k",  "simt"};
    return names[fuzz_next(in) % (sizeof names / sizeof *names)];
}

static const char *next_text(fuzz_input *in) {
    static const char *const texts[] = {
        "i",     "i + 1", "(i / 3) % 2", "N - 1",     "i * N + j", "1 +",
        "i % 0", "9 / 2", "((1))",       "-i",        "i * i",     "N * 4",
        "",      "$",     "a[1]",        "N % 2 + 3", "i / -1",    "7 * N * i"};
    return texts[fuzz_next(in) % (sizeof texts / sizeof *texts)];
}

/* Plain numbers most of the time; else with an expression, of which few are constant. */
static spad_amount next_amount(fuzz_input *in) {
    const int how = fuzz_next(in);
    if (how < 200) return (spad_amount){.value = next_number(in)};
    return (spad_amount){.value = how, .expr = (spad_expr)next_number(in)};
}

typedef struct lists {
    spad_amount amounts[6][LIST_MAX];
    spad_expr exprs[LIST_MAX];
    spad_expr_range ranges[LIST_MAX];
} lists;

static spad_amounts next_amounts(fuzz_input *in, spad_amount *items) {
    const size_t count = fuzz_next(in) % (LIST_MAX + 1);
    for (size_t i = 0; i < count; i++) items[i] = next_amount(in);
    return (spad_amounts){count, items};
}

static size_t next_exprs(fuzz_input *in, spad_expr *items) {
    const size_t count = fuzz_next(in) % (LIST_MAX + 1);
    for (size_t i = 0; i < count; i++) items[i] = (spad_expr)next_number(in);
    return count;
}

/* ---- one call each ----------------------------------------------------------------- */

static void add_tensor(fuzz_run *run, spad__kernel_builder *b, fuzz_input *in) {
    lists l;
    int64_t number;
    const int what = fuzz_next(in);
    spad_kernel_tensor t = {.name = next_name(in),
                            .space = fuzz_next(in) % 8U,
                            .dtype = (spad_dtype)(fuzz_next(in) % (SPAD_DTYPE_COUNT + 1)),
                            .mode = (spad_mode)(fuzz_next(in) % (SPAD_MODE_COUNT + 1)),
                            .alias_tile = -1,
                            .flags = (unsigned)what & 3U};
    t.blocks = next_amounts(in, l.amounts[0]);
    t.dims = next_amounts(in, l.amounts[1]);
    if (what & 4) t.ring = next_amounts(in, l.amounts[2]);
    if (what & 8) {
        t.byte = next_amount(in);
        t.lane = next_amount(in);
        t.bank = next_amount(in);
        t.step = next_amount(in);
    }
    if (what & 16) {
        t.free = next_amounts(in, l.amounts[3]);
        t.par = next_amounts(in, l.amounts[4]);
        t.banks = next_amounts(in, l.amounts[5]);
    }
    if (what & 32) {
        t.alias_of = next_number(in);
        t.alias_tile = next_number(in);
    }
    if (what & 64) t.align = next_amount(in);
    TRY(run, spad__kernel_builder_tensor(&number, b, &t, &run->error));
}

static void add_access(fuzz_run *run, spad__kernel_builder *b, fuzz_input *in) {
    lists l;
    spad_kernel_access access = {.tensor = next_number(in),
                                 .kind = fuzz_next(in) % 5U,
                                 .index = l.exprs,
                                 .ranges = l.ranges};
    access.index_count = next_exprs(in, l.exprs);
    access.range_count = fuzz_next(in) % (LIST_MAX + 1);
    for (size_t i = 0; i < access.range_count; i++) {
        l.ranges[i] = (spad_expr_range){.from = (spad_expr)next_number(in),
                                        .to = (spad_expr)next_number(in),
                                        .step = (spad_expr)next_number(in)};
    }
    TRY(run, spad__kernel_builder_access(b, &access, &run->error));
}

static void add_statement(fuzz_run *run, spad__kernel_builder *b, fuzz_input *in) {
    lists l;
    const spad_statement_kind kind =
        (spad_statement_kind)(fuzz_next(in) % (SPAD_STATEMENT_KINDS + 1));
    spad_statement s = spad__statement_of(kind, next_number(in));
    s.index = l.exprs;
    s.index_count = next_exprs(in, l.exprs);
    s.amount = (spad_expr)next_number(in);
    s.expect = (spad_expr)next_number(in);
    s.unit = fuzz_next(in) & 1 ? -1 : next_number(in);
    s.flags = fuzz_next(in) % 9U;
    TRY(run, spad__kernel_builder_statement(b, &s, &run->error));
}

static void add_completion(fuzz_run *run, spad__kernel_builder *b, fuzz_input *in) {
    lists l;
    spad_kernel_completion c = {.kind = (spad_completion_kind)(fuzz_next(in) % 4),
                                .object = next_number(in),
                                .index = l.exprs,
                                .flags = fuzz_next(in) % 9U};
    c.index_count = next_exprs(in, l.exprs);
    c.amount = (spad_expr)next_number(in);
    TRY(run, spad__kernel_builder_completion(b, &c, &run->error));
}

static void add_if(fuzz_run *run, spad__kernel_builder *b, fuzz_input *in) {
    spad_comparison list[LIST_MAX];
    const size_t count = fuzz_next(in) % (LIST_MAX + 1);
    for (size_t i = 0; i < count; i++) {
        list[i] = (spad_comparison){(spad_expr)next_number(in),
                                    (spad_relation)(fuzz_next(in) % (SPAD_RELATIONS + 1)),
                                    (spad_expr)next_number(in), (fuzz_next(in) & 1) != 0};
    }
    TRY(run, spad__kernel_builder_if(b, list, count, &run->error));
}

static void add_expr(fuzz_run *run, spad__kernel_builder *b, fuzz_input *in) {
    spad_expr expr;
    switch (fuzz_next(in) % 4) {
    case 0: {
        const int64_t value = next_number(in);
        TRY(run, spad__kernel_builder_number(&expr, b, value, &run->error));
        break;
    }
    case 1: {
        const char *name = next_name(in);
        TRY(run, spad__kernel_builder_name(&expr, b, name, &run->error));
        break;
    }
    case 2: {
        const spad_expr_op op = (spad_expr_op)(fuzz_next(in) % (SPAD_EXPR_OPS + 1));
        const spad_expr left = (spad_expr)next_number(in);
        const spad_expr right = (spad_expr)next_number(in);
        TRY(run, spad__kernel_builder_apply(&expr, b, op, left, right, &run->error));
        break;
    }
    default: {
        const char *text = next_text(in);
        TRY(run, spad__kernel_builder_expr(&expr, b, text, &run->error));
    }
    }
    REQUIRE((run->status == SPAD_OK) == (expr != 0));
}

static void add_declaration(fuzz_run *run, spad__kernel_builder *b, fuzz_input *in) {
    lists l;
    int64_t number;
    spad_expr expr;
    const int what = fuzz_next(in) % 4;
    const char *name = next_name(in);
    if (what == 0) {
        const spad_amount preset = next_amount(in);
        TRY(run, spad__kernel_builder_param(&expr, b, name, preset, &run->error));
    } else if (what == 1) {
        const size_t space = fuzz_next(in) % 8U;
        const spad_amount lower = next_amount(in);
        const spad_amount upper = next_amount(in);
        const spad_stack_behaviour behaviour = (spad_stack_behaviour)(fuzz_next(in) % 4);
        TRY(run, spad__kernel_builder_region(b, space, lower, upper, behaviour, &run->error));
    } else if (what == 2) {
        const size_t engine = fuzz_next(in) % 10U;
        const spad_unit_order order = (spad_unit_order)(fuzz_next(in) % (SPAD_UNIT_ORDERS + 1));
        const bool proxy = fuzz_next(in) & 1;
        TRY(run, spad__kernel_builder_unit(&number, b, name, engine, order, proxy, &run->error));
    } else {
        const spad_sync_kind kind = (spad_sync_kind)(fuzz_next(in) % (SPAD_SYNC_KINDS + 1));
        const spad_amounts dims = next_amounts(in, l.amounts[0]);
        const spad_amount count = next_amount(in);
        TRY(run, spad__kernel_builder_sync(&number, b, kind, name, dims, count, &run->error));
    }
}

static void add_block(fuzz_run *run, spad__kernel_builder *b, fuzz_input *in) {
    spad_expr variable;
    const int what = fuzz_next(in) % 10;
    const char *name = next_name(in);
    if (what == 8) {
        int64_t number;
        lists l;
        const int64_t value = next_number(in);
        const spad_amounts dims = next_amounts(in, l.amounts[0]);
        const spad_amount least = next_amount(in);
        const spad_amount end = next_amount(in);
        TRY(run, spad__kernel_builder_unknown(&number, b, name, dims, least, end, &value,
                                              fuzz_next(in) & 1, &run->error));
    } else if (what == 9) {
        spad_expr value;
        const int64_t unknown = next_number(in);
        const spad_expr element = (spad_expr)next_number(in);
        TRY(run, spad__kernel_builder_value(&value, b, unknown, element, &run->error));
        TRY(run, spad__kernel_builder_any(b, name, &run->error));
        TRY(run, spad__kernel_builder_fix(b, name, &run->error));
    } else if (what == 6) {
        const spad_expr from = (spad_expr)next_number(in);
        const spad_expr to = (spad_expr)next_number(in);
        const spad_amount step = next_amount(in);
        const bool parallel = fuzz_next(in) & 1;
        TRY(run,
            spad__kernel_builder_range(&variable, b, name, from, to, step, parallel, &run->error));
    } else if (what == 7) {
        int64_t number;
        const char *phase = fuzz_next(in) & 1 ? next_name(in) : NULL;
        const spad_amount count = next_amount(in);
        TRY(run, spad__kernel_builder_cursor(&number, b, name, phase, count, &run->error));
    } else if (what == 0) {
        const spad_amount begin = next_amount(in);
        const spad_amount end = next_amount(in);
        const bool parallel = fuzz_next(in) & 1;
        TRY(run, spad__kernel_builder_for(&variable, b, name, begin, end, parallel, &run->error));
    } else if (what == 1) {
        add_if(run, b, in);
    } else if (what == 2) {
        TRY(run, spad__kernel_builder_else(b, &run->error));
    } else if (what == 3) {
        const spad_amount sections = next_amount(in);
        TRY(run, spad__kernel_builder_scope(b, name, sections, &run->error));
    } else if (what == 4) {
        TRY(run, spad__kernel_builder_agent(b, name, &run->error));
    } else {
        TRY(run, spad__kernel_builder_end(b, &run->error));
    }
}

static void add_operation(fuzz_run *run, spad__kernel_builder *b, fuzz_input *in) {
    const int what = fuzz_next(in) % 4;
    if (what == 0) {
        const int64_t group = next_number(in);
        TRY(run, spad__kernel_builder_group(b, group, &run->error));
    } else if (what == 1) {
        const spad_cost_kind kind = (spad_cost_kind)(fuzz_next(in) % 4);
        const spad_expr cost = (spad_expr)next_number(in);
        TRY(run, spad__kernel_builder_cost(b, kind, cost, &run->error));
    } else {
        const size_t engines = 10;
        const spad_target *target = spad_target_get(fuzz_next(in) % spad_target_count());
        const size_t engine = fuzz_next(in) % engines;
        const char *runner = what == 2 && engine < target->engine_count
                                 ? target->engines[engine].name
                                 : next_name(in);
        const char *name = next_name(in);
        TRY(run, spad__kernel_builder_operation(b, runner, name, &run->error));
    }
}

static void call(fuzz_run *run, spad__kernel_builder *b, fuzz_input *in) {
    switch (fuzz_next(in) % 9) {
    case 0: add_tensor(run, b, in); break;
    case 1: add_access(run, b, in); break;
    case 2: add_statement(run, b, in); break;
    case 3: add_completion(run, b, in); break;
    case 4: add_expr(run, b, in); break;
    case 5: add_declaration(run, b, in); break;
    case 6: add_operation(run, b, in); break;
    case 7: {
        const spad_location location = {fuzz_next(in), fuzz_next(in), 1};
        spad__kernel_builder_at(b, location);
        break;
    }
    default: add_block(run, b, in);
    }
}

/* ---- the whole --------------------------------------------------------------------- */

static spad_kernel *build(fuzz_run *run, fuzz_input in, const spad_target *target) {
    const spad_kernel_options options = {.host = &run->host};
    spad__kernel_builder *b;
    spad_kernel *kernel;
    MUST_OUT(run, b, spad__kernel_builder_create(&b, "k", "about", target, &options, &run->error));
    for (int i = 0; i < CALLS_MAX && in.size > 0; i++) {
        call(run, b, &in);
        char status[16];
        snprintf(status, sizeof status, "%d\n", (int)run->status);
        fuzz_append(&run->text, status, strlen(status));
    }
    do { /* close what is open */
        TRY(run, spad__kernel_builder_end(b, &run->error));
    } while (run->status == SPAD_OK);
    TRY(run, spad__kernel_builder_finish(&kernel, b, &run->error));
    REQUIRE((run->status == SPAD_OK) == (kernel != NULL));
    spad__kernel_builder_destroy(b);
    if (kernel != NULL) MUST(run, spad_kernel_write_text(kernel, &run->sink, &run->error));
    return kernel;
}

static void check_kernel(const spad_kernel *kernel) {
    fuzz_text first = {0};
    fuzz_text second = {0};
    const spad_sink first_sink = {fuzz_append, &first};
    const spad_sink second_sink = {fuzz_append, &second};
    const spad_walk_options options = {.agent = SPAD_WALK_ALL};
    const spad_walk_event *event = NULL;
    spad_kernel *again;
    spad_walk *walk;
    spad_error error;
    REQUIRE(spad_kernel_write_text(kernel, &first_sink, NULL) == SPAD_OK);
    const spad_status status =
        spad_kernel_parse(&again, first.bytes, first.count, "again", NULL, NULL, &error);
    if (status != SPAD_OK) {
        fprintf(stderr, "%.*s%d: %s\n", (int)first.count, first.bytes, error.line, error.message);
    }
    REQUIRE(status == SPAD_OK);
    REQUIRE(spad_kernel_write_text(again, &second_sink, NULL) == SPAD_OK);
    REQUIRE(first.count == second.count && memcmp(first.bytes, second.bytes, first.count) == 0);
    REQUIRE(spad_walk_create(&walk, kernel, &options, NULL) == SPAD_OK);
    for (int i = 0; i < EVENTS_MAX && (event == NULL || event->kind != SPAD_WALK_END); i++) {
        if (spad_walk_next(&event, walk, NULL) != SPAD_OK) break;
    }
    spad_walk_destroy(walk);
    spad_kernel_destroy(again);
    free(first.bytes);
    free(second.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_input in = {data, size};
    const fuzz_fault fault = (fuzz_fault)(fuzz_next(&in) % FUZZ_FAULTS);
    const uint64_t at = fuzz_next(&in) + 256U * fuzz_next(&in);
    const spad_target *target = spad_target_get(fuzz_next(&in) % spad_target_count());
    fuzz_run plain;
    fuzz_run faulty;
    fuzz_run_init(&plain, FUZZ_NO_FAULT, 0);
    spad_kernel *kernel = build(&plain, in, target);
    if (kernel != NULL) check_kernel(kernel);
    spad_kernel_destroy(kernel);
    const uint64_t steps = fault == FUZZ_WRITE ? plain.written : plain.requests;
    fuzz_run_init(&faulty, fault, steps > 0 ? 1 + at % steps : 0);
    spad_kernel_destroy(build(&faulty, in, target));
    REQUIRE(plain.blocks == 0 && faulty.blocks == 0);
    if (plain.text.count != faulty.text.count) {
        fprintf(stderr, "without the fault:\n%.*swith it:\n%.*s", (int)plain.text.count,
                plain.text.bytes, (int)faulty.text.count, faulty.text.bytes);
    }
    REQUIRE(plain.text.count == faulty.text.count);
    if (plain.text.count > 0)
        REQUIRE(memcmp(plain.text.bytes, faulty.text.bytes, plain.text.count) == 0);
    free(plain.text.bytes);
    free(faulty.text.bytes);
    return 0;
}
