/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels as text: first what is declared for the whole kernel, then the
 * statements. Numbers are written as the kernel has them, with their parameters.
 * Reading the text back gives the same tables in the same order. Comments that were read go with
 * their rows (comments.c).
 */
#include <string.h>

#include "base/checked.h"
#include "base/lexer.h"
#include "base/text.h"
#include "kernel/kernel.h"
#include "kernel/place.h"
#include "kernel/text/comments.h"
#include "kernel/text/writer.h"
#include "target/target.h"

typedef struct kernel_writer {
    spad__out out;
    const spad_kernel *kernel;
    spad_kernel *located; /* the same kernel, whose rows get their places in this text; NULL */
    size_t depth;
    int32_t line;      /* of the text, from 1 */
    size_t line_start; /* bytes before it */
    int32_t read_from; /* the line that the latest row was read from */
} kernel_writer;

/* ---- lines ------------------------------------------------------------------------- */

static size_t count_written(const kernel_writer *w) {
    return w->out.sent + w->out.used;
}

static void end_line(kernel_writer *w) {
    spad__out_string(&w->out, "\n");
    w->line++;
    w->line_start = count_written(w);
}

/* Where in this text is what was written since `start`? */
static spad_location place_since(const kernel_writer *w, size_t start) {
    return (spad_location){.line = w->line,
                           .column = (int32_t)(start - w->line_start) + 1,
                           .width = (int32_t)(count_written(w) - start)};
}

/* Comments above or below the rows of a line. */
static void put_comments(kernel_writer *w, int32_t line, spad__comment_place place, size_t depth) {
    size_t count;
    const spad__comment *comments = spad__comments_of(w->kernel, line, &count);
    for (size_t i = 0; i < count; i++) {
        if (comments[i].place != place) continue;
        if (comments[i].text[0] != '\0') spad__out_repeat(&w->out, "    ", (int64_t)depth);
        spad__out_string(&w->out, comments[i].text);
        end_line(w);
    }
}

static void put_comment_beside(kernel_writer *w, int32_t line) {
    size_t count;
    const spad__comment *comments = spad__comments_of(w->kernel, line, &count);
    for (size_t i = 0; i < count; i++) {
        if (comments[i].place != SPAD__COMMENT_BESIDE) continue;
        spad__out_string(&w->out, " ");
        spad__out_string(&w->out, comments[i].text);
    }
}

/* A row that was read from that line. Of several rows the first has the comments. */
static void begin_row(kernel_writer *w, int32_t line) {
    if (line != w->read_from) put_comments(w, line, SPAD__COMMENT_ABOVE, w->depth);
    spad__out_repeat(&w->out, "    ", (int64_t)w->depth);
}

/* `opens`: the row opens a block. */
static void end_row(kernel_writer *w, int32_t line, bool opens) {
    const bool commented = line != w->read_from;
    if (commented) put_comment_beside(w, line);
    end_line(w);
    if (commented) put_comments(w, line, SPAD__COMMENT_BELOW, w->depth + opens);
    w->read_from = line;
}

/* ---- numbers ----------------------------------------------------------------------- */

static void put_expr(kernel_writer *w, spad_expr expr) {
    char text[SPAD__EXPR_TEXT_MAX];
    spad__expr_text(w->kernel, expr, text, sizeof text);
    spad__out_string(&w->out, text);
}

static void put_amount(kernel_writer *w, spad_amount amount) {
    if (amount.expr != 0) {
        put_expr(w, amount.expr);
    } else if (amount.value == INT64_MIN) { /* its digits alone do not fit */
        spad__out_string(&w->out, "-9223372036854775807 - 1");
    } else {
        spad__out_format(&w->out, "%lld", (long long)amount.value);
    }
}

static void put_list(kernel_writer *w, spad_amounts list, const char *open, const char *close) {
    spad__out_string(&w->out, open);
    for (size_t i = 0; i < list.count; i++) {
        if (i > 0) spad__out_string(&w->out, ", ");
        put_amount(w, list.items[i]);
    }
    spad__out_string(&w->out, close);
}

static void put_word(kernel_writer *w, const char *word, spad_expr expr) {
    if (expr == 0) return;
    spad__out_format(&w->out, " %s ", word);
    put_expr(w, expr);
}

/* A clause with a number, unless it is 0. */
static void put_clause(kernel_writer *w, const char *word, spad_amount amount) {
    if (amount.value == 0 && amount.expr == 0) return;
    spad__out_format(&w->out, " %s ", word);
    put_amount(w, amount);
}

static void put_counts(kernel_writer *w, const char *word, spad_amounts list) {
    if (list.count == 0) return;
    spad__out_format(&w->out, " %s ", word);
    put_list(w, list, list.count > 1 ? "[" : "", list.count > 1 ? "]" : "");
}

static void put_space(kernel_writer *w, size_t number) {
    const spad_target *target = w->kernel->target;
    const spad_space *space = &target->spaces[number];
    spad__out_name(&w->out, target->spaces[spad__first_instance(target, number)].name);
    if (space->instance > 0) spad__out_format(&w->out, "[%lld]", (long long)space->instance);
}

/* ---- declarations ------------------------------------------------------------------ */

static void put_params(kernel_writer *w) {
    for (size_t i = 0; i < w->kernel->params.count; i++) {
        const spad_kernel_param *param = &w->kernel->params.items[i];
        const spad_amount now = {.value = param->value};
        begin_row(w, param->location.line);
        spad__out_format(&w->out, "param %s = ", param->name);
        put_amount(w, param->value == param->preset.value ? param->preset : now);
        spad__out_string(&w->out, param->fixed ? " fixed" : param->any ? " any" : "");
        end_row(w, param->location.line, false);
    }
}

/* assume "...": a statement with a text, where there is one. */
static void put_stated_text(kernel_writer *w, const char *keyword, const char *text) {
    if (text[0] == '\0') return;
    spad__out_format(&w->out, "%s ", keyword);
    spad__out_quoted(&w->out, text);
    end_line(w);
}

static void put_grid(kernel_writer *w) {
    if (w->kernel->grid.value == 0) return;
    spad__out_string(&w->out, "grid ");
    put_amount(w, w->kernel->grid);
    end_line(w);
}

static void put_cluster(kernel_writer *w) {
    if (w->kernel->cluster.value == 0) return;
    spad__out_string(&w->out, "cluster ");
    put_amount(w, w->kernel->cluster);
    end_line(w);
}

/* "threads 256 registers 128": of the main program. */
static void put_main_threads(kernel_writer *w) {
    const spad_kernel_agent *program = &w->kernel->agents.items[0];
    if (program->threads.value == 0) return;
    begin_row(w, program->location.line);
    spad__out_string(&w->out, "threads ");
    put_amount(w, program->threads);
    put_clause(w, "registers", program->registers);
    end_row(w, program->location.line, false);
}

static void put_regions(kernel_writer *w) {
    static const char *const behaviours[] = {[SPAD_STACK_EXACT] = "",
                                             [SPAD_STACK_LIBRARY_2026_04] = " as library_2026_04",
                                             [SPAD_STACK_LIBRARY_LATER] = " as library_later"};
    for (size_t i = 0; i < w->kernel->regions.count; i++) {
        const spad_kernel_region *region = &w->kernel->regions.items[i];
        begin_row(w, region->location.line);
        spad__out_string(&w->out, "region ");
        put_space(w, region->space);
        spad__out_string(&w->out, " ");
        put_amount(w, region->lower);
        spad__out_string(&w->out, "..");
        put_amount(w, region->upper);
        spad__out_string(&w->out, behaviours[region->behaviour]);
        end_row(w, region->location.line, false);
    }
}

static void put_units(kernel_writer *w) {
    static const char *const orders[SPAD_UNIT_ORDERS] = {[SPAD_UNIT_FREE] = "free",
                                                         [SPAD_UNIT_FIFO] = "fifo",
                                                         [SPAD_UNIT_SERIAL] = "serial",
                                                         [SPAD_UNIT_SAME] = "same"};
    for (size_t i = 0; i < w->kernel->units.count; i++) {
        const spad_kernel_unit *unit = &w->kernel->units.items[i];
        const char *engine = w->kernel->target->engines[unit->engine].name;
        begin_row(w, unit->location.line);
        spad__out_format(&w->out, "unit %s", unit->name);
        if (strcmp(engine, unit->name) != 0) {
            spad__out_string(&w->out, " on ");
            spad__out_name(&w->out, engine);
        }
        spad__out_format(&w->out, " %s%s", orders[unit->order], unit->proxy ? " proxy" : "");
        if (unit->fence >= 0) {
            spad__out_string(&w->out, " fence ");
            spad__out_name(&w->out, w->kernel->target->fences[unit->fence].name);
        }
        end_row(w, unit->location.line, false);
    }
}

static void put_syncs(kernel_writer *w) {
    static const char *const words[SPAD_SYNC_KINDS] = {[SPAD_SYNC_BARRIER] = "barrier",
                                                       [SPAD_SYNC_COUNTER] = "counter",
                                                       [SPAD_SYNC_MBARRIER] = "mbarrier",
                                                       [SPAD_SYNC_GROUP] = "group"};
    for (size_t i = 0; i < w->kernel->syncs.count; i++) {
        const spad_kernel_sync *sync = &w->kernel->syncs.items[i];
        begin_row(w, sync->location.line);
        spad__out_format(&w->out, "%s %s", words[sync->kind], sync->name);
        if (sync->dims.count > 0) put_list(w, sync->dims, "[", "]");
        if (sync->kind == SPAD_SYNC_COUNTER) {
            put_clause(w, "=", sync->count);
        } else if (sync->kind != SPAD_SYNC_GROUP) {
            spad__out_string(&w->out, " count ");
            put_amount(w, sync->count);
        }
        if (sync->placed) {
            spad__out_string(&w->out, " at ");
            put_amount(w, sync->byte);
        }
        if (sync->each_block) spad__out_string(&w->out, " each block");
        end_row(w, sync->location.line, false);
    }
}

static void put_unknowns(kernel_writer *w) {
    for (size_t i = 0; i < w->kernel->unknowns.count; i++) {
        const spad_kernel_unknown *unknown = &w->kernel->unknowns.items[i];
        begin_row(w, unknown->location.line);
        spad__out_format(&w->out, "unknown %s", unknown->name);
        if (unknown->dims.count > 0) put_list(w, unknown->dims, "[", "]");
        spad__out_string(&w->out, " in ");
        put_amount(w, unknown->least);
        spad__out_string(&w->out, "..");
        put_amount(w, unknown->end);
        size_t given = (size_t)unknown->elements;
        while (given > 0 && unknown->values[given - 1] == unknown->least.value) given--;
        for (size_t k = 0; k < given; k++) {
            spad__out_format(&w->out, "%s%lld", k == 0 ? " = [" : ", ",
                             (long long)unknown->values[k]);
        }
        if (given > 0) spad__out_string(&w->out, "]");
        end_row(w, unknown->location.line, false);
    }
}

static void put_sources(kernel_writer *w) {
    for (size_t i = 0; i < w->kernel->sources.count; i++) {
        const spad_kernel_source *source = &w->kernel->sources.items[i];
        spad__out_format(&w->out, "source %zu ", i);
        spad__out_quoted(&w->out, source->file);
        spad__out_format(&w->out, " %ld", (long)source->line);
        if (source->caller >= 0) spad__out_format(&w->out, " from %lld", (long long)source->caller);
        if (source->code[0] != '\0') {
            spad__out_string(&w->out, " ");
            spad__out_quoted(&w->out, source->code);
        }
        end_line(w);
    }
}

static void put_faults(kernel_writer *w) {
    for (size_t i = 0; i < w->kernel->faults.count; i++) {
        const spad__kernel_fault *fault = &w->kernel->faults.items[i];
        spad__out_string(&w->out, "fault ");
        spad__out_quoted(&w->out, fault->message);
        if (fault->times > 1) spad__out_format(&w->out, " %lld", (long long)fault->times);
        if (fault->source >= 0) spad__out_format(&w->out, " from %lld", (long long)fault->source);
        end_line(w);
    }
}

static void put_source(kernel_writer *w, const spad_statement *s) {
    if (s->source >= 0) spad__out_format(&w->out, " from %lld", (long long)s->source);
}

static void put_alias(kernel_writer *w, const spad_kernel_tensor *tensor) {
    const spad_kernel_tensor *other = &w->kernel->tensors.items[tensor->alias_of];
    spad__out_format(&w->out, " alias of %s", other->name);
    if (other->blocks.count > 0 && tensor->alias_tile >= 0) {
        int64_t index[SPAD_RANK_MAX];
        spad__tile_index(other, tensor->alias_tile, index);
        for (size_t i = 0; i < other->blocks.count; i++) {
            spad__out_format(&w->out, "%s%lld", i == 0 ? "[" : ", ", (long long)index[i]);
        }
        spad__out_string(&w->out, "]");
    }
    put_clause(w, "+", tensor->byte);
}

static bool is_number(const kernel_writer *w, spad_amount amount) {
    const spad_expr_info info = spad_kernel_get_expr(w->kernel, amount.expr);
    return info.node_count == 0 || (info.node_count == 1 && info.nodes[0].op == SPAD_EXPR_NUMBER);
}

/* Where the tensor is. */
static void put_placement(kernel_writer *w, const spad_kernel_tensor *tensor) {
    if (tensor->mode == SPAD_MODE_ALIAS) {
        put_alias(w, tensor);
    } else if (tensor->mode == SPAD_MODE_AT) {
        spad__out_string(&w->out, " at ");
        put_amount(w, tensor->byte);
    } else if (tensor->mode == SPAD_MODE_MOD) {
        spad__out_string(&w->out, " mod");
        put_clause(w, "base", tensor->byte);
    } else if (tensor->mode != SPAD_MODE_AUTO) {
        spad__out_format(&w->out, " %s", spad_mode_name(tensor->mode));
    }
    if (tensor->like == 0) put_counts(w, "ring", tensor->ring);
    if (tensor->like > 0) {
        spad__out_format(&w->out, " like %s", w->kernel->tensors.items[tensor->like - 1].name);
    }
    put_clause(w, "lane", tensor->lane);
    put_clause(w, "bank", tensor->bank);
    put_clause(w, "step", tensor->step);
    if (tensor->steps.count > 0) put_list(w, tensor->steps, " step [", "]");
    put_counts(w, "free", tensor->free);
    put_counts(w, "par", tensor->par);
    put_counts(w, "banks", tensor->banks);
}

/* Gives a statement, and what it declares, the place of the name that was written at `start`. */
static void locate(kernel_writer *w, const spad_statement *s, size_t start) {
    if (w->located == NULL) return;
    const spad_location place = place_since(w, start);
    w->located->statements.items[s - w->kernel->statements.items].location = place;
    if (s->kind == SPAD_STATEMENT_TENSOR) w->located->tensors.items[s->item].location = place;
    if (s->kind == SPAD_STATEMENT_FOR) w->located->loops.items[s->item].location = place;
}

static void put_tensor(kernel_writer *w, const spad_statement *s) {
    const spad_kernel_tensor *tensor = &w->kernel->tensors.items[s->item];
    spad__out_string(&w->out, "tensor ");
    const size_t start = count_written(w);
    spad__out_string(&w->out, tensor->name);
    locate(w, s, start);
    spad__out_string(&w->out, " : ");
    put_space(w, tensor->space);
    spad__out_format(&w->out, " %s", spad_dtype_name(tensor->dtype));
    if (tensor->blocks.count > 0) put_list(w, tensor->blocks, " [", "]");
    put_list(w, tensor->dims, " (", ")");
    put_placement(w, tensor);
    put_clause(w, "align", tensor->align);
    put_clause(w, "reused", tensor->reuse);
    put_clause(w, "near", tensor->near);
    if (tensor->cached_of.value != 0 || tensor->cached_of.expr != 0) {
        spad__out_string(&w->out, " cached ");
        put_amount(w, tensor->cached);
        spad__out_string(&w->out, " of ");
        put_amount(w, tensor->cached_of);
    }
    put_clause(w, "pieces", tensor->pieces);
    if (tensor->flags == SPAD_TENSOR_PERSISTENT) {
        spad__out_string(&w->out, " persistent");
    } else if (tensor->flags != 0) {
        const bool input = (tensor->flags & SPAD_TENSOR_INPUT) != 0;
        spad__out_string(&w->out, input ? " input" : " output");
    }
}

/* ---- statements -------------------------------------------------------------------- */

static void put_index(kernel_writer *w, const spad_expr *index, size_t count) {
    for (size_t i = 0; i < count; i++) {
        spad__out_string(&w->out, i == 0 ? "[" : ", ");
        put_expr(w, index[i]);
    }
    if (count > 0) spad__out_string(&w->out, "]");
}

static void put_access(kernel_writer *w, const spad_kernel_access *access) {
    const size_t start = count_written(w);
    spad__out_string(&w->out, w->kernel->tensors.items[access->tensor].name);
    put_index(w, access->index, access->index_count);
    for (size_t i = 0; i < access->range_count; i++) {
        const spad_expr_range range = access->ranges[i];
        spad__out_string(&w->out, i == 0 ? "(" : ", ");
        if (range.from != 0) put_expr(w, range.from);
        if (range.from == 0 || range.to != 0) spad__out_string(&w->out, "..");
        if (range.to != 0) put_expr(w, range.to);
        put_word(w, "by", range.step);
    }
    if (access->range_count > 0) spad__out_string(&w->out, ")");
    put_word(w, "moves", access->moves);
    if (access->spread != NULL) spad__out_format(&w->out, " spread %s", access->spread);
    if (w->located != NULL) {
        const size_t number = (size_t)(access - w->kernel->accesses.items);
        w->located->accesses.items[number].location = place_since(w, start);
    }
}

/* Accesses in their order: a word for every run of one kind. */
static void put_accesses(kernel_writer *w, const spad_statement *s) {
    static const char *const words[] = {[SPAD_ACCESS_READ] = " reads ",
                                        [SPAD_ACCESS_WRITE] = " writes ",
                                        [SPAD_ACCESS_UPDATE] = " updates ",
                                        [SPAD_ACCESS_ADD] = " adds "};
    unsigned kind = 0;
    for (size_t i = 0; i < s->access_count; i++) {
        const spad_kernel_access *access = &w->kernel->accesses.items[s->first_access + i];
        const bool again = access->kind == kind;
        kind = access->kind;
        if (!again && (kind & SPAD_ACCESS_MAY) != 0) spad__out_string(&w->out, " may");
        if (!again && (kind & SPAD_ACCESS_AGREED) != 0) spad__out_string(&w->out, " agreed");
        spad__out_string(&w->out, again ? ", " : words[kind & SPAD_ACCESS_ADD]);
        put_access(w, access);
    }
}

static void put_completion(kernel_writer *w, const spad_kernel_completion *completion) {
    static const char *const words[] = {[SPAD_COMPLETION_DELIVER] = " delivers ",
                                        [SPAD_COMPLETION_ARRIVE] = " arrives ",
                                        [SPAD_COMPLETION_SIGNAL] = " signals "};
    spad__out_string(&w->out, words[completion->kind]);
    spad__out_string(&w->out, w->kernel->syncs.items[completion->object].name);
    put_index(w, completion->index, completion->index_count);
    put_word(w, "by", completion->amount);
    if ((completion->flags & SPAD_SYNC_READS) != 0) spad__out_string(&w->out, " after reads");
}

static void put_latency_and_work(kernel_writer *w, const spad_statement *s) {
    if (s->latency_kind != SPAD_COST_TARGET) {
        spad__out_string(&w->out, " latency ");
        put_amount(w, s->latency);
        spad__out_string(&w->out, s->latency_kind == SPAD_COST_NS ? " ns" : " cycles");
    }
    const char *between = " work ";
    for (int work = 0; work < SPAD_WORKS; work++) {
        if (s->work[work].value == 0) continue;
        spad__out_string(&w->out, between);
        put_amount(w, s->work[work]);
        spad__out_format(&w->out, " %s", spad__work_name((spad_work)work));
        between = ", ";
    }
}

static void put_operation(kernel_writer *w, const spad_statement *s) {
    const char *runner = s->unit >= 0 ? w->kernel->units.items[s->unit].name
                                      : w->kernel->target->engines[s->engine].name;
    const size_t start = count_written(w);
    if (spad__is_kernel_word(runner)) {
        spad__out_quoted(&w->out, runner);
    } else {
        spad__out_name(&w->out, runner);
    }
    locate(w, s, start);
    spad__out_string(&w->out, " ");
    spad__out_string(&w->out, s->name);
    put_accesses(w, s);
    if ((s->flags & SPAD_BY_ONE) != 0) spad__out_string(&w->out, " elected");
    if (s->group >= 0) {
        spad__out_string(&w->out, " in ");
        spad__out_string(&w->out, w->kernel->syncs.items[s->group].name);
    }
    for (size_t i = 0; i < s->completion_count; i++) {
        put_completion(w, &w->kernel->completions.items[s->first_completion + i]);
    }
    if (s->cost_kind != SPAD_COST_TARGET) {
        put_word(w, "cost", s->cost);
        spad__out_string(&w->out, s->cost_kind == SPAD_COST_NS ? " ns" : " cycles");
    }
    put_latency_and_work(w, s);
}

static void put_fence(kernel_writer *w, const spad_statement *s) {
    if (s->fence < 0) return;
    spad__out_string(&w->out, " ");
    spad__out_name(&w->out, w->kernel->target->fences[s->fence].name);
    if ((s->flags & SPAD_FENCE_BEFORE) != 0) spad__out_string(&w->out, " before");
    if ((s->flags & SPAD_FENCE_AFTER) != 0) spad__out_string(&w->out, " after");
}

static void put_sync(kernel_writer *w, const spad_statement *s) {
    static const char *const amounts[SPAD_STATEMENT_KINDS] = {
        [SPAD_STATEMENT_WAIT_VALUE] = ">=",
        [SPAD_STATEMENT_WAIT_PARITY] = "parity",
        [SPAD_STATEMENT_WAIT_GROUP] = "pending",
        [SPAD_STATEMENT_INIT] = "count",
    };
    spad__out_string(&w->out, spad_statement_kind_name(s->kind));
    if (s->kind == SPAD_STATEMENT_DRAIN) {
        spad__out_string(&w->out, " ");
        spad__out_string(&w->out, s->unit >= 0 ? w->kernel->units.items[s->unit].name : "all");
        return;
    }
    if (s->kind == SPAD_STATEMENT_FENCE) {
        put_fence(w, s);
        return;
    }
    spad__out_string(&w->out, " ");
    spad__out_string(&w->out, w->kernel->syncs.items[s->item].name);
    put_index(w, s->index, s->index_count);
    if ((s->flags & SPAD_SYNC_NEXT) != 0) {
        spad__out_string(&w->out, " next");
    } else {
        put_word(w, amounts[s->kind] != NULL ? amounts[s->kind] : "by", s->amount);
    }
    put_word(w, "expect", s->expect);
    if (s->unit >= 0) {
        spad__out_string(&w->out, " on ");
        spad__out_string(&w->out, w->kernel->units.items[s->unit].name);
    }
    if ((s->flags & SPAD_SYNC_READS) != 0) spad__out_string(&w->out, " reads");
    if ((s->flags & SPAD_SYNC_DROP) != 0) spad__out_string(&w->out, " drop");
    if ((s->flags & SPAD_SYNC_RELAXED) != 0) spad__out_string(&w->out, " relaxed");
    if ((s->flags & SPAD_BY_ONE) != 0) spad__out_string(&w->out, " elected");
}

static void put_for(kernel_writer *w, const spad_statement *s) {
    const spad_kernel_loop *loop = &w->kernel->loops.items[s->item];
    spad__out_string(&w->out, "for ");
    const size_t start = count_written(w);
    spad__out_string(&w->out, loop->name);
    locate(w, s, start);
    spad__out_string(&w->out, " in ");
    if (loop->from != 0) {
        put_expr(w, loop->from);
        spad__out_string(&w->out, "..");
        put_expr(w, loop->to);
    } else {
        put_amount(w, loop->begin);
        spad__out_string(&w->out, "..");
        put_amount(w, loop->end);
    }
    if (loop->step.value != 1 || !is_number(w, loop->step)) {
        spad__out_string(&w->out, " step ");
        put_amount(w, loop->step);
    }
    spad__out_string(&w->out, loop->parallel ? " parallel {" : " {");
}

static void put_if(kernel_writer *w, const spad_statement *s) {
    static const char *const relations[SPAD_RELATIONS] = {
        [SPAD_EQUAL] = " == ",      [SPAD_NOT_EQUAL] = " != ", [SPAD_LESS] = " < ",
        [SPAD_LESS_EQUAL] = " <= ", [SPAD_GREATER] = " > ",    [SPAD_GREATER_EQUAL] = " >= "};
    for (size_t i = 0; i < s->comparison_count; i++) {
        const spad_comparison *comparison = &s->comparisons[i];
        spad__out_string(&w->out, i == 0 ? "if " : comparison->alternative ? " or " : " and ");
        put_expr(w, comparison->left);
        spad__out_string(&w->out, relations[comparison->relation]);
        put_expr(w, comparison->right);
    }
    spad__out_string(&w->out, " {");
}

static void put_cursor(kernel_writer *w, const spad_kernel_cursor *cursor) {
    spad__out_format(&w->out, "cursor %s", cursor->stage);
    if (cursor->phase != NULL) spad__out_format(&w->out, ", %s", cursor->phase);
    spad__out_string(&w->out, " mod ");
    put_amount(w, cursor->count);
}

static void put_statement(kernel_writer *w, const spad_statement *s) {
    switch (s->kind) {
    case SPAD_STATEMENT_TENSOR:
        put_tensor(w, s);
        put_source(w, s);
        break;
    case SPAD_STATEMENT_FOR: put_for(w, s); break;
    case SPAD_STATEMENT_IF: put_if(w, s); break;
    case SPAD_STATEMENT_ELSE: spad__out_string(&w->out, "} else {"); break;
    case SPAD_STATEMENT_SCOPE:
        spad__out_string(&w->out, "scope ");
        spad__out_string(&w->out, s->name);
        put_word(w, "sections", s->amount);
        spad__out_string(&w->out, " {");
        break;
    case SPAD_STATEMENT_AGENT:
        spad__out_string(&w->out, "agent ");
        spad__out_string(&w->out, s->name);
        put_clause(w, "of", w->kernel->agents.items[s->item].threads);
        if (w->kernel->agents.items[s->item].threads.value != 0) {
            spad__out_string(&w->out, " threads");
        }
        put_clause(w, "registers", w->kernel->agents.items[s->item].registers);
        spad__out_string(&w->out, " {");
        break;
    case SPAD_STATEMENT_OPERATION:
        put_operation(w, s);
        put_source(w, s);
        break;
    case SPAD_STATEMENT_BREAK: spad__out_string(&w->out, "break"); break;
    case SPAD_STATEMENT_SECTION: spad__out_string(&w->out, "next section"); break;
    case SPAD_STATEMENT_ALLOC:
    case SPAD_STATEMENT_FREE:
        spad__out_string(&w->out, spad_statement_kind_name(s->kind));
        spad__out_string(&w->out, " ");
        spad__out_string(&w->out, w->kernel->tensors.items[s->item].name);
        put_index(w, s->index, s->index_count);
        break;
    case SPAD_STATEMENT_CURSOR: put_cursor(w, &w->kernel->cursors.items[s->item]); break;
    case SPAD_STATEMENT_ADVANCE:
        spad__out_string(&w->out, "advance ");
        spad__out_string(&w->out, w->kernel->cursors.items[s->item].stage);
        put_word(w, "by", s->amount);
        break;
    default: put_sync(w, s); break;
    }
}

/* Closes the blocks that end in front of a statement, innermost first. */
static void close_blocks(kernel_writer *w, const size_t *open, size_t at) {
    while (w->depth > 0 && w->kernel->statements.items[open[w->depth - 1]].end == at) {
        spad__out_repeat(&w->out, "    ", (int64_t)--w->depth);
        spad__out_string(&w->out, "}");
        end_line(w);
    }
}

/* The bounds of a loop imply its guard, which is not written: it is where the loop is. */
static void skip_guard(kernel_writer *w, size_t guard) {
    if (w->located == NULL) return;
    spad_statement *statements = w->located->statements.items;
    statements[guard].location = statements[statements[guard].parent].location;
}

static void put_statements(kernel_writer *w) {
    const spad_kernel *kernel = w->kernel;
    size_t open[SPAD__BLOCKS_DEEP]; /* an else replaces its if */
    for (size_t i = 0; i < kernel->statements.count; i++) {
        const spad_statement *s = &kernel->statements.items[i];
        const int32_t line = s->location.line;
        close_blocks(w, open, i);
        if ((s->flags & SPAD_IF_OF_LOOP) != 0) {
            skip_guard(w, i);
            continue;
        }
        if (s->kind == SPAD_STATEMENT_ELSE) w->depth--;
        begin_row(w, line);
        put_statement(w, s);
        end_row(w, line, spad__is_block(s->kind));
        if (spad__is_block(s->kind)) open[w->depth++] = i;
    }
    close_blocks(w, open, kernel->statements.count);
}

static void put_head(kernel_writer *w) {
    begin_row(w, SPAD__COMMENT_HEAD);
    spad__out_string(&w->out, "kernel ");
    spad__out_string(&w->out, w->kernel->name);
    spad__out_string(&w->out, " on ");
    spad__out_name(&w->out, w->kernel->target->name);
    if (w->kernel->about[0] != '\0') {
        spad__out_string(&w->out, " ");
        spad__out_quoted(&w->out, w->kernel->about);
    }
    end_row(w, SPAD__COMMENT_HEAD, false);
}

static spad_status write_kernel(kernel_writer *w, const spad_sink *sink, spad_error *error) {
    w->line = 1;
    spad__out_start(&w->out, sink);
    put_head(w);
    put_params(w);
    put_stated_text(w, "assume", w->kernel->assumption);
    put_stated_text(w, "undecided", w->kernel->undecided);
    put_stated_text(w, "uncounted", w->kernel->uncounted);
    put_stated_text(w, "compiler", w->kernel->compiler);
    put_grid(w);
    put_cluster(w);
    put_main_threads(w);
    put_regions(w);
    put_units(w);
    put_syncs(w);
    put_unknowns(w);
    put_sources(w);
    put_faults(w);
    put_statements(w);
    put_comments(w, SPAD__COMMENT_LAST, SPAD__COMMENT_ABOVE, 0);
    return spad__out_finish(&w->out, error);
}

spad_status spad_kernel_write_text(const spad_kernel *kernel, const spad_sink *sink,
                                   spad_error *error) {
    kernel_writer w = {.kernel = kernel};
    return write_kernel(&w, sink, error);
}

static int discard(void *context, const char *bytes, size_t count) {
    (void)context;
    (void)bytes;
    (void)count;
    return 0;
}

spad_status spad__locate_in_text(spad_kernel *kernel, spad_error *error) {
    const spad_sink nowhere = {.write = discard};
    kernel_writer w = {.kernel = kernel, .located = kernel};
    const spad_status status = write_kernel(&w, &nowhere, error);
    kernel->content = spad__kernel_hash(kernel);
    return status;
}
