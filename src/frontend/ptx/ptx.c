/* SPDX-License-Identifier: Apache-2.0
 *
 * The public calls: modules, and launches that are executed and translated.
 */
#include "spad/experimental/ptx.h"
#include "kernel/kernel.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "frontend/ptx/ptx_arguments.h"
#include "frontend/ptx/ptx_fold.h"
#include "frontend/ptx/ptx_handle.h"
#include "frontend/ptx/ptx_log.h"
#include "frontend/ptx/ptx_plain_name.h"
#include "frontend/ptx/ptx_transactions.h"
#include "frontend/ptx/ptx_translate.h"
#include "frontend/ptx/run/ptx_machine.h"
#include "frontend/ptx/run/ptx_shared.h"
#include "kernel/kernel.h"

enum { MOST_PLACES = 32, MOST_EVENTS = 4000000 };

/* Instructions and events of a launch that is executed again to find what its trip counts follow
 * from, and how many instructions more another run of it may have than twice as many. */
enum { MOST_REPEATED = 1000000, MOST_EVENTS_REPEATED = 60000, MORE_STEPS = 100000 };

#define TIMEOUT_NS INT64_C(60000000000)

/* Where data decides, by instruction; the answers are bits of the launch's `way`. */
typedef struct launch_choices {
    int32_t places[MOST_PLACES];
    int32_t count;
    uint32_t way;
} launch_choices;

/* A line of the source whose synchronising instruction no warp reached, in any of its copies. */
typedef struct skipped_line {
    int32_t instruction; /* the first of them */
    int64_t times;
} skipped_line;

struct spad_ptx_run {
    spad_host host;
    const spad_ptx *ptx;
    spad_kernel *kernel;
    spad__ptx_arguments arguments; /* with what the run has written to memory */
    spad__ptx_result result;
    SPAD_ARRAY(skipped_line) skipped;
    SPAD_ARRAY(spad__ptx_fault) faults;
    spad_ptx_counts counts;
    launch_choices choices;
    char assumption[640];
    char folding[SPAD__PTX_FOLDING_MAX];
    char undecided[400];
};

/* ---- modules ------------------------------------------------------------------------------------
 */

bool spad_ptx_detect(const char *text, size_t length) {
    return spad__ptx_detect(text, length);
}

void spad_ptx_destroy(spad_ptx *ptx) {
    if (ptx == NULL) return;
    const spad_host host = ptx->host;
    spad__ptx_module_free(&ptx->module);
    spad__array_free(&host, &ptx->kernels);
    spad__array_free(&host, &ptx->plain_names);
    spad__array_free(&host, &ptx->full_names);
    spad__arena_free(&ptx->names);
    spad__free(&host, ptx->text, ptx->source.length + 1);
    spad__free(&host, ptx->file, ptx->file != NULL ? strlen(ptx->file) + 1 : 0);
    spad__free(&host, ptx, sizeof *ptx);
}

static char *copy_ptx_text(const spad_host *host, const char *text, size_t length) {
    char *copy = spad__new(host, length + 1);
    if (copy != NULL && length > 0) memcpy(copy, text, length);
    return copy;
}

static spad_status read_ptx_text(spad_ptx *ptx, const char *text, size_t length, const char *file,
                                 spad_diagnostics *diagnostics, spad_error *error) {
    ptx->source.length = length;
    ptx->text = copy_ptx_text(&ptx->host, text, length);
    ptx->file = copy_ptx_text(&ptx->host, file, strlen(file));
    if (ptx->text == NULL || ptx->file == NULL) return spad__fail_host_memory(error);
    ptx->source = (spad__source){ptx->file, ptx->text, length};
    const spad_status status =
        spad__ptx_parse(&ptx->module, &ptx->host, &ptx->source, diagnostics, error);
    if (status != SPAD_OK) return status;
    if (!spad__array_reserve(&ptx->host, &ptx->kernels, ptx->module.functions.count))
        return spad__fail_host_memory(error);
    for (size_t i = 0; i < ptx->module.functions.count; i++) {
        const spad__ptx_function *f = &ptx->module.functions.items[i];
        if (f->entry && !f->external) ptx->kernels.items[ptx->kernels.count++] = (int32_t)i;
    }
    return spad__ptx_name_kernels(ptx, error);
}

spad_status spad_ptx_create(spad_ptx **out, const char *text, size_t length, const char *file,
                            const spad_host *host, spad_diagnostics *diagnostics,
                            spad_error *error) {
    const spad_host own = spad__host_or_default(host);
    *out = NULL;
    spad_ptx *ptx = spad__new(&own, sizeof *ptx);
    if (ptx == NULL) return spad__fail_host_memory(error);
    ptx->host = ptx->names.host = own;
    const spad_status status =
        read_ptx_text(ptx, text, length, file != NULL ? file : "<ptx>", diagnostics, error);
    if (status != SPAD_OK) {
        spad_ptx_destroy(ptx);
        return status;
    }
    *out = ptx;
    return SPAD_OK;
}

size_t spad_ptx_kernel_count(const spad_ptx *ptx) {
    return ptx->kernels.count;
}

const char *spad_ptx_target(const spad_ptx *ptx) {
    return ptx->module.target;
}

const char *spad_ptx_text(const spad_ptx *ptx, size_t *length) {
    *length = ptx->source.length;
    return ptx->text;
}

/* Shared memory of what the kernel and the functions that it calls refer to. */
static void find_shared(const spad_ptx *ptx, const spad__ptx_function *f, spad_ptx_kernel *k) {
    spad__ptx_layout layout;
    if (!spad__ptx_lay_out(&layout, &ptx->module, f, &ptx->host)) return;
    k->shared_bytes = layout.static_shared;
    for (size_t i = 0; i < ptx->module.variables.count; i++) {
        const spad__ptx_variable *v = &ptx->module.variables.items[i];
        const bool used = layout.module_at[i] >= 0;
        if (used && v->space == SPAD__PTX_SHARED && v->external && v->bytes == 0)
            k->dynamic_shared = true;
    }
    spad__ptx_layout_free(&layout, &ptx->module, &ptx->host);
}

spad_ptx_kernel spad_ptx_get_kernel(const spad_ptx *ptx, size_t kernel) {
    const spad__ptx_function *f = spad__ptx_kernel_function(ptx, kernel);
    spad_ptx_kernel k = {.name = f->name,
                         .plain_name = ptx->plain_names.items[kernel],
                         .full_name = ptx->full_names.items[kernel],
                         .line = f->line,
                         .parameter_count = (size_t)f->parameter_count,
                         .instructions = f->instruction_count};
    memcpy(k.required_threads, f->required_threads, sizeof k.required_threads);
    memcpy(k.most_threads, f->most_threads, sizeof k.most_threads);
    memcpy(k.cluster, f->cluster, sizeof k.cluster);
    find_shared(ptx, f, &k);
    return k;
}

/* "u64", by the one spelling of each type in ptx_words.h. */
static const char *type_name(uint8_t type) {
#define NAME(name, spelling, bits) [SPAD__PTX_##name] = spelling,
    static const char *const names[SPAD__PTX_TYPE_COUNT] = {SPAD__PTX_NUMBER_TYPES(NAME)};
#undef NAME
    return names[type] != NULL ? names[type] : "";
}

spad_ptx_parameter spad_ptx_get_parameter(const spad_ptx *ptx, size_t kernel, size_t parameter) {
    const spad__ptx_variable *v =
        &ptx->module.locals
             .items[spad__ptx_kernel_function(ptx, kernel)->first_variable + (int32_t)parameter];
    return (spad_ptx_parameter){v->name, type_name(v->type), v->bytes, v->align, v->pointer};
}

/* ---- launches
 * ------------------------------------------------------------------------------------- */

static uint32_t at_least_one(uint32_t value) {
    return value > 0 ? value : 1;
}

/* The n-th of three extents, for messages. */
static spad_status check_launch_block(const spad__ptx_function *f, const spad__ptx_launch *l,
                                      spad_error *error) {
    uint64_t threads = 1;
    for (int d = 0; d < 3; d++) {
        threads *= l->block[d];
        const int32_t required = f->required_threads[d];
        if (threads > 1024)
            return spad__fail(error, SPAD_ERR_ARGUMENT, "a block has at most 1024 threads");
        if (required > 0 && (uint32_t)required != l->block[d]) {
            return spad__fail(error, SPAD_ERR_ARGUMENT,
                              "the kernel requires blocks of %d x %d x %d threads (.reqntid): use "
                              "--block %d,%d,%d",
                              (int)f->required_threads[0], (int)f->required_threads[1],
                              (int)f->required_threads[2], (int)f->required_threads[0],
                              (int)f->required_threads[1], (int)f->required_threads[2]);
        }
    }
    const int64_t most = (int64_t)f->most_threads[0] *
                         (f->most_threads[1] > 0 ? f->most_threads[1] : 1) *
                         (f->most_threads[2] > 0 ? f->most_threads[2] : 1);
    if (most > 0 && (int64_t)threads > most) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "a block of %llu threads: the kernel is compiled for at most %lld "
                          "(.maxntid)",
                          (unsigned long long)threads, (long long)most);
    }
    return SPAD_OK;
}

static spad_status check_launch_cluster(const spad__ptx_launch *l, spad_error *error) {
    uint64_t ctas = 1;
    for (int d = 0; d < 3; d++) {
        ctas *= l->cluster[d];
        if (l->cluster[d] > SPAD__PTX_CLUSTER || ctas > SPAD__PTX_CLUSTER)
            return spad__fail(error, SPAD_ERR_ARGUMENT, "a cluster has at most 16 blocks");
        if (l->grid[d] % l->cluster[d] != 0) {
            return spad__fail(error, SPAD_ERR_ARGUMENT,
                              "a grid of %u blocks is no multiple of clusters of %u: change --grid "
                              "or --cluster",
                              (unsigned)l->grid[d], (unsigned)l->cluster[d]);
        }
        if (l->first_cta[d] >= l->grid[d])
            return spad__fail(error, SPAD_ERR_ARGUMENT, "the grid has no block %u",
                              (unsigned)l->first_cta[d]);
    }
    return SPAD_OK;
}

/* The kernel's own cluster extents hold where the launch gives none. */
static spad_status prepare_launch(spad__ptx_launch *l, const spad__ptx_function *f,
                                  const spad_ptx_launch *launch, spad_error *error) {
    l->kernel = f;
    for (int d = 0; d < 3; d++) {
        l->grid[d] = at_least_one(launch->grid[d]);
        l->block[d] = launch->block[d];
        if (l->block[d] == 0)
            l->block[d] = (uint32_t)(f->required_threads[d] > 0 ? f->required_threads[d] : 1);
        l->cluster[d] = launch->cluster[d];
        if (l->cluster[d] == 0) l->cluster[d] = at_least_one((uint32_t)f->cluster[d]);
    }
    for (int d = 0; d < 3; d++) l->first_cta[d] = launch->cta[d] - launch->cta[d] % l->cluster[d];
    l->dynamic_shared_bytes = launch->dynamic_shared_bytes;
    l->most_steps = launch->most_steps > 0 ? launch->most_steps : 1000000000;
    l->most_events = MOST_EVENTS;
    const spad_status status = check_launch_block(f, l, error);
    return status == SPAD_OK ? check_launch_cluster(l, error) : status;
}

/* The answers are bits of `way`, in the order in which the places are first met. */
static bool answer_choice(void *context, spad__ptx_remark_kind kind, int32_t instruction,
                          int32_t cta, int32_t warp) {
    launch_choices *c = context;
    int32_t at = 0;
    (void)kind, (void)cta, (void)warp;
    while (at < c->count && c->places[at] != instruction) at++;
    if (at == MOST_PLACES) return false;
    if (at == c->count) c->places[c->count++] = instruction;
    return (c->way >> at & 1) != 0;
}

/* ---- runs
 * ------------------------------------------------------------------------------------------- */

static const char *const sentences[] = {
    [SPAD__PTX_OUT_OF_SHARED] = "an access is outside of the shared memory of the block",
    [SPAD__PTX_OUT_OF_GLOBAL] = "an access is outside of all buffers of the launch",
    [SPAD__PTX_OUT_OF_LOCAL] = "an access is outside of the local memory of the thread",
    [SPAD__PTX_MISALIGNED] = "an address is not aligned for its access",
    [SPAD__PTX_BAD_BARRIER] = "a barrier has a number or a thread count that the chip refuses",
    [SPAD__PTX_BAD_DESCRIPTOR] = "a descriptor is wrong",
    [SPAD__PTX_DIVERGED] = "lanes that the instruction needs are elsewhere",
    [SPAD__PTX_BAD_MASK] = "a lane executes an instruction whose mask leaves it out",
    [SPAD__PTX_BAD_TRANSACTION] = "an mbarrier expects other bytes than its copies bring",
    [SPAD__PTX_PRODUCT_IN_FLIGHT] = "a register is accessed before wgmma.wait_group",
    [SPAD__PTX_NO_PRODUCT_FENCE] = "a wgmma needs wgmma.fence before it",
    [SPAD__PTX_LANES_RACE] = "two lanes of a warp race, with no __syncwarp in between",
    [SPAD__PTX_LANES_RELEASE] = "a lane arrives for its warp, with no __syncwarp before it",
    [SPAD__PTX_RELEASE_IN_STEP] =
        "a lane arrives for its warp without __syncwarp, which needs a warp that runs in step",
    [SPAD__PTX_TRAPPED] = "the program traps",
    [SPAD__PTX_ENDLESS] = "the program never ends",
    [SPAD__PTX_BRANCH_ON_DATA] = "data decides a branch",
    [SPAD__PTX_PEEK] = "time decides whether a phase is complete",
    [SPAD__PTX_UNKNOWN_ADDRESS] = "an address in shared memory is not known: it may be any",
    [SPAD__PTX_LEFT_OUT] = "an instruction is left out",
    [SPAD__PTX_UNKNOWN_OPERAND] = "an operand of a synchronisation is not known",
    [SPAD__PTX_APPROXIMATED] = "an instruction is approximated",
    [SPAD__PTX_LANES_COLLIDE] =
        "lanes of one store write different values to one place: which one stays is not known",
    [SPAD__PTX_SPIN] = "a loop waits for what another thread writes, and was left",
    [SPAD__PTX_AWAITS_BLOCKS] = "a loop waits for what other blocks write to global memory"};

static bool is_left_to_data(spad__ptx_remark_kind kind) {
    return kind == SPAD__PTX_BRANCH_ON_DATA || kind == SPAD__PTX_PEEK || kind == SPAD__PTX_SPIN;
}

/* Is it an error of the program that the execution has shown? */
static bool is_fault_of_run(spad__ptx_remark_kind kind) {
    return kind <= SPAD__PTX_ENDLESS;
}

static bool has_faults(const spad_ptx_run *run) {
    for (size_t i = 0; i < run->result.remarks.count; i++) {
        if (is_fault_of_run(run->result.remarks.items[i].kind)) return true;
    }
    return false;
}

static const char *file_of_location(const spad__ptx_module *m, int32_t location) {
    const int32_t file = m->locations.items[location].file;
    return file >= 0 && (size_t)file < m->files.count ? m->files.items[file] : NULL;
}

/* The location of an instruction outside of the headers of the toolkit, or its own; -1: none. */
static int32_t location_of_user(const spad__ptx_module *m, int32_t instruction) {
    const int32_t own = m->instructions.items[instruction].location;
    for (int32_t at = own; at >= 0;) {
        const char *file = file_of_location(m, at);
        if (file == NULL || !spad__is_toolkit_header(file)) return at;
        const int32_t caller = m->locations.items[at].inlined_at;
        at = caller < at ? caller : -1;
    }
    return own;
}

/* A remark with the place of an instruction. */
static spad_ptx_remark remark_at(const spad__ptx_module *m, int32_t instruction, int64_t times) {
    const spad__ptx_instruction *i = &m->instructions.items[instruction];
    spad_ptx_remark remark = {.line = i->line, .times = times};
    const int32_t location = location_of_user(m, instruction);
    if (location < 0) return remark;
    remark.source_line = m->locations.items[location].line;
    remark.file = file_of_location(m, location);
    return remark;
}

/* Are two locations one line of the source, reached through the same calls? */
static bool is_same_line(const spad__ptx_module *m, int32_t a, int32_t b) {
    for (int depth = 0; depth < 64; depth++) {
        if (a == b || a < 0 || b < 0) return a == b;
        const spad__ptx_location *x = &m->locations.items[a], *y = &m->locations.items[b];
        if (x->file != y->file || x->line != y->line) return false;
        a = x->inlined_at;
        b = y->inlined_at;
    }
    return false;
}

/* Are two instructions what one line of the source became, as copies of an unrolled loop are? */
static bool are_copies(const spad__ptx_module *m, int32_t a, int32_t b) {
    const spad__ptx_instruction *x = &m->instructions.items[a], *y = &m->instructions.items[b];
    return x->op == y->op && x->location >= 0 && is_same_line(m, x->location, y->location);
}

/* A peek only decides when a warp goes on. */
static bool leaves_run_undecided(spad__ptx_remark_kind kind) {
    return kind == SPAD__PTX_BRANCH_ON_DATA || kind == SPAD__PTX_SPIN ||
           kind == SPAD__PTX_UNKNOWN_OPERAND || kind == SPAD__PTX_LEFT_OUT;
}

static void write_first_fault(spad_ptx_run *run, const spad__ptx_remark *r) {
    const spad_ptx_remark place = remark_at(&run->ptx->module, r->instruction, 1);
    snprintf(run->undecided, sizeof run->undecided, "the execution has errors: %s:%d: %s",
             place.file != NULL ? place.file : run->ptx->file,
             (int)(place.file != NULL ? place.source_line : place.line), sentences[r->kind]);
}

/* Writes why the run proves nothing: the execution itself has found errors, or took one of several
 * ways that data decides. */
static void write_undecided(spad_ptx_run *run) {
    const spad__ptx_module *m = &run->ptx->module;
    size_t used = 0;
    int listed = 0;
    for (size_t i = 0; i < run->result.remarks.count; i++) {
        const spad__ptx_remark *r = &run->result.remarks.items[i];
        if (is_fault_of_run(r->kind)) {
            write_first_fault(run, r);
            return;
        }
        if (!leaves_run_undecided(r->kind)) continue;
        if (++listed > 2) continue;
        const spad_ptx_remark place = remark_at(m, r->instruction, 1);
        used = spad__append(run->undecided, sizeof run->undecided, used, "%s%s:%d",
                            listed == 1 ? "decided by data at " : ", ",
                            place.file != NULL ? place.file : run->ptx->file,
                            (int)(place.file != NULL ? place.source_line : place.line));
    }
    if (listed > 2)
        used = spad__append(run->undecided, sizeof run->undecided, used, " and %d more places",
                            listed - 2);
    if (listed > 0)
        spad__append(run->undecided, sizeof run->undecided, used,
                     "; give contents to what it depends on");
    if (run->result.remarks_full && listed == 0)
        snprintf(run->undecided, sizeof run->undecided, "more was found than is listed");
}

/* Is a remark the first one of its kind, of all copies of one line? */
static bool is_first_of_copies(const spad_ptx_run *run, size_t remark) {
    const spad__ptx_remark *all = run->result.remarks.items, *r = &all[remark];
    for (size_t k = 0; k < remark; k++) {
        if (all[k].kind == r->kind &&
            are_copies(&run->ptx->module, all[k].instruction, r->instruction))
            return false;
    }
    return true;
}

/* Writes the lines of the remarks of one kind, up to so many, after a word. */
static size_t write_remark_lines(spad_ptx_run *run, size_t used, spad__ptx_remark_kind kind,
                                 int most, const char *before) {
    int listed = 0;
    for (size_t i = 0; i < run->result.remarks.count && listed <= most; i++) {
        const spad__ptx_remark *r = &run->result.remarks.items[i];
        if (r->kind != kind || !is_first_of_copies(run, i)) continue;
        if (listed++ == most) {
            used = spad__append(run->assumption, sizeof run->assumption, used, " and elsewhere");
            break;
        }
        const spad_ptx_remark place = remark_at(&run->ptx->module, r->instruction, 1);
        const char *file = place.file != NULL ? place.file : run->ptx->file;
        const char *slash = strrchr(file, '/');
        used = spad__append(run->assumption, sizeof run->assumption, used, "%s%s:%d",
                            listed == 1 ? before : ", ", slash != NULL ? slash + 1 : file,
                            (int)(place.file != NULL ? place.source_line : place.line));
    }
    return used;
}

/* Writes the assumptions of a proof: which block ran, in which order, what time decided, and that
 * waits for other blocks end. Where data decides, nothing is proved. */
static void write_assumption(spad_ptx_run *run, const spad_ptx_launch *launch,
                             const spad__ptx_launch *l) {
    write_undecided(run);
    size_t used = spad__append(run->assumption, sizeof run->assumption, 0,
                               "all blocks do what block %u,%u,%u does with these arguments and "
                               "the values it finds in global memory, and threads of a warp take "
                               "effect in the order of the execution",
                               (unsigned)l->first_cta[0], (unsigned)l->first_cta[1],
                               (unsigned)l->first_cta[2]);
    if (l->cluster[0] * l->cluster[1] * l->cluster[2] > 1)
        used = spad__append(run->assumption, sizeof run->assumption, used,
                            ", and the blocks of the cluster have started when others access them");
    used = write_remark_lines(run, used, SPAD__PTX_PEEK, 2,
                              ", and tries that do not wait answer as in the execution at ");
    used = write_remark_lines(run, used, SPAD__PTX_AWAITS_BLOCKS, 4,
                              ", and other blocks end the waits at ");
    if (launch->assumption != NULL)
        spad__append(run->assumption, sizeof run->assumption, used, ", and %.160s",
                     launch->assumption);
}

/* Does an instruction synchronise? For the list of those that never ran. */
static bool synchronises(spad__ptx_op op) {
    switch (op) {
    case SPAD__PTX_OP_BAR_SYNC:
    case SPAD__PTX_OP_BAR_ARRIVE:
    case SPAD__PTX_OP_BARRIER_SYNC:
    case SPAD__PTX_OP_BARRIER_CTA_SYNC:
    case SPAD__PTX_OP_BARRIER_CLUSTER_ARRIVE:
    case SPAD__PTX_OP_BARRIER_CLUSTER_WAIT:
    case SPAD__PTX_OP_CP_ASYNC_WAIT:
    case SPAD__PTX_OP_CP_ASYNC_BULK_WAIT:
    case SPAD__PTX_OP_CP_ASYNC_BULK_TENSOR:
    case SPAD__PTX_OP_FENCE_PROXY:
    case SPAD__PTX_OP_MBARRIER_ARRIVE:
    case SPAD__PTX_OP_MBARRIER_INIT:
    case SPAD__PTX_OP_MBARRIER_TRY_WAIT:
    case SPAD__PTX_OP_MBARRIER_TEST_WAIT:
    case SPAD__PTX_OP_WGMMA_MMA:
    case SPAD__PTX_OP_WGMMA_WAIT:
    case SPAD__PTX_OP_TCGEN05_MMA:
    case SPAD__PTX_OP_TCGEN05_COMMIT: return true;
    default: return false;
    }
}

static bool has_been_executed(const spad_ptx_run *run, int32_t instruction) {
    return (size_t)instruction < run->result.executed.count &&
           run->result.executed.items[instruction] != 0;
}

/* Has any copy of an instruction run? */
static bool has_copy_that_ran(const spad_ptx_run *run, const spad__ptx_function *f,
                              int32_t instruction) {
    for (int32_t i = 0; i < f->instruction_count; i++) {
        const int32_t at = f->first_instruction + i;
        const bool copy = at == instruction || are_copies(&run->ptx->module, instruction, at);
        if (copy && has_been_executed(run, at)) return true;
    }
    return false;
}

static spad_status add_skipped(spad_ptx_run *run, int32_t instruction, spad_error *error) {
    run->counts.not_executed++;
    for (size_t i = 0; i < run->skipped.count; i++) {
        skipped_line *line = &run->skipped.items[i];
        if (!are_copies(&run->ptx->module, line->instruction, instruction)) continue;
        line->times++;
        return SPAD_OK;
    }
    if (!spad__array_reserve(&run->host, &run->skipped, 1)) return spad__fail_host_memory(error);
    run->skipped.items[run->skipped.count++] = (skipped_line){instruction, 1};
    return SPAD_OK;
}

static spad_status count_run(spad_ptx_run *run, const spad__ptx_function *f,
                             const spad__ptx_log *log, const spad__ptx_launch *l,
                             spad_error *error) {
    run->counts =
        (spad_ptx_counts){.instructions = run->result.steps,
                          .events = (int64_t)log->events.count,
                          .ctas = (int32_t)(l->cluster[0] * l->cluster[1] * l->cluster[2]),
                          .warps = (int32_t)log->warps.count,
                          .choices = run->choices.count};
    for (int32_t i = 0; i < f->instruction_count; i++) {
        const int32_t at = f->first_instruction + i;
        if (!synchronises(run->ptx->module.instructions.items[at].op)) continue;
        if (has_copy_that_ran(run, f, at)) continue;
        const spad_status status = add_skipped(run, at, error);
        if (status != SPAD_OK) return status;
    }
    return SPAD_OK;
}

/* The same fault in one line of the program is one, whichever thread was first. */
static bool count_fault(spad_ptx_run *run, const spad__ptx_remark *r, const char *message) {
    const size_t length = strcspn(message, "(");
    for (size_t i = 0; i < run->faults.count; i++) {
        spad__ptx_fault *f = &run->faults.items[i];
        if (strncmp(f->message, message, length) != 0 ||
            (f->instruction != r->instruction &&
             !are_copies(&run->ptx->module, f->instruction, r->instruction)))
            continue;
        f->times += r->times;
        return true;
    }
    return false;
}

static spad_status list_faults(spad_ptx_run *run, spad_error *error) {
    for (size_t i = 0; i < run->result.remarks.count; i++) {
        const spad__ptx_remark *r = &run->result.remarks.items[i];
        const spad_ptx_remark remark = spad_ptx_run_get_remark(run, i);
        if (!remark.wrong || count_fault(run, r, remark.message)) continue;
        if (!spad__array_reserve(&run->host, &run->faults, 1)) return spad__fail_host_memory(error);
        spad__ptx_fault *f = &run->faults.items[run->faults.count++];
        *f = (spad__ptx_fault){.instruction = r->instruction, .times = r->times};
        spad__copy_cut(f->message, sizeof f->message, remark.message);
    }
    return SPAD_OK;
}

static spad_status execute_launch(spad_ptx_run *run, const spad_ptx_launch *launch,
                                  spad__ptx_launch *l, const spad_kernel_options *options,
                                  spad_error *error) {
    const spad__ptx_function *f = spad__ptx_kernel_function(run->ptx, launch->kernel);
    spad__ptx_log log = {.host = run->host};
    const spad__ptx_sink sink = {&log, spad__ptx_log_add};
    const spad__ptx_choices decide = {&run->choices, answer_choice};
    spad_status status =
        spad__ptx_run(&run->result, &run->ptx->module, l, &sink, &decide, &run->host, error);
    if (status != SPAD_OK && error != NULL && error->line > 0)
        spad__fact_location(error, run->ptx->source.file, error->line, error->column);
    if (status == SPAD_OK) {
        status = spad__ptx_compare_transactions(&run->result, &log, &run->ptx->module, l,
                                                &run->host, error);
    }
    if (status == SPAD_OK) {
        write_assumption(run, launch, l);
        status = count_run(run, f, &log, l, error);
    }
    if (status == SPAD_OK) {
        status = list_faults(run, error);
    }
    if (status == SPAD_OK) {
        const spad__ptx_executed executed = {.module = &run->ptx->module,
                                             .launch = l,
                                             .log = &log,
                                             .source = &run->ptx->source,
                                             .assumption = run->assumption,
                                             .undecided = run->undecided,
                                             .faults = run->faults.items,
                                             .fault_count = run->faults.count};
        status = spad__ptx_translate(&run->kernel, &executed, options, error);
    }
    spad__ptx_log_free(&log);
    return status;
}

static spad_status run_launch(spad_ptx_run *run, const spad_ptx_launch *launch,
                              const spad_kernel_options *options, spad_error *error) {
    const spad__ptx_function *f = spad__ptx_kernel_function(run->ptx, launch->kernel);
    spad__ptx_arguments *arguments = &run->arguments;
    spad__ptx_launch l = {0};
    spad__limit limit;
    spad_status status = prepare_launch(&l, f, launch, error);
    if (status == SPAD_OK) {
        status =
            spad__limit_start(&limit, launch->timeout_ns != 0 ? launch->timeout_ns : TIMEOUT_NS,
                              launch->watch, error);
    }
    if (status != SPAD_OK) return status;
    l.limit = &limit;
    status = spad__ptx_read_arguments(arguments, &run->host, &run->ptx->module, f, launch, error);
    if (status != SPAD_OK) return status;
    l.parameters = arguments->bytes.items;
    l.parameters_known = arguments->known.items;
    l.parameter_bytes = (int64_t)arguments->bytes.count;
    l.buffers = arguments->buffers.items;
    l.buffer_count = arguments->buffers.count;
    l.maps = arguments->maps.items;
    l.map_count = arguments->maps.count;
    return execute_launch(run, launch, &l, options, error);
}

/* What executes the launch again: for its loops, with other arguments. */
typedef struct launch_again {
    const spad_ptx_run *first;
    const spad_kernel_options *options;
} launch_again;

/* Not being able to run is an answer: the arguments are ours. Memory and the caller's wishes count.
 */
static spad_status execute_again(void *context, spad_kernel **out, const spad_ptx_launch *launch,
                                 spad_error *error) {
    const launch_again *again = context;
    spad_ptx_launch other = *launch;
    spad_ptx_run *run;
    *out = NULL;
    other.straight = true;
    other.most_steps = 2 * again->first->counts.instructions + MORE_STEPS;
    spad_status status =
        spad_ptx_run_create(&run, again->first->ptx, &other, again->options, error);
    if (status == SPAD_ERR_HOST_MEMORY || status == SPAD_ERR_CANCELLED) return status;
    if (status != SPAD_OK) return SPAD_OK;
    if (run->undecided[0] == '\0') *out = spad_ptx_run_take_kernel(run);
    spad_ptx_run_destroy(run);
    return SPAD_OK;
}

/* Replaces the straight line with loops, if walking them gives exactly the same statements. */
static spad_status fold_run(spad_ptx_run *run, const spad_ptx_launch *launch,
                            const spad_kernel_options *options, spad_error *error) {
    launch_again again = {run, options};
    const spad__ptx_executor executor = {&again, execute_again};
    const spad__ptx_fold_request request = {.straight = run->kernel,
                                            .launch = launch,
                                            .assumption = spad__kernel_get_assumption(run->kernel),
                                            .repeatable = !has_faults(run) &&
                                                          run->counts.instructions <= MOST_REPEATED,
                                            .executor = &executor};
    spad__ptx_folded folded;
    const spad_status status = spad__ptx_fold(&folded, &request, &run->host, error);
    memcpy(run->folding, folded.text, sizeof run->folding);
    run->counts.loops = folded.loops;
    if (folded.kernel == NULL) return status;
    spad_kernel_destroy(run->kernel);
    run->kernel = folded.kernel;
    return status;
}

spad_status spad_ptx_run_create(spad_ptx_run **out, const spad_ptx *ptx,
                                const spad_ptx_launch *launch, const spad_kernel_options *options,
                                spad_error *error) {
    static const spad_kernel_options no_options;
    if (options == NULL) options = &no_options;
    *out = NULL;
    if (launch->kernel >= ptx->kernels.count)
        return spad__fail(error, SPAD_ERR_ARGUMENT, "the module has no kernel %zu", launch->kernel);
    const spad_host host = spad__host_or_default(options->host);
    spad_ptx_run *run = spad__new(&host, sizeof *run);
    if (run == NULL) return spad__fail_host_memory(error);
    run->host = run->arguments.host = host;
    run->ptx = ptx;
    run->choices.way = launch->way;
    spad_status status = run_launch(run, launch, options, error);
    if (status == SPAD_OK && !launch->straight) status = fold_run(run, launch, options, error);
    if (status != SPAD_OK) {
        spad_ptx_run_destroy(run);
        return status;
    }
    *out = run;
    return SPAD_OK;
}

void spad_ptx_run_destroy(spad_ptx_run *run) {
    if (run == NULL) return;
    const spad_host host = run->host;
    spad__ptx_result_free(&run->result, &host);
    spad__ptx_arguments_free(&run->arguments);
    spad__array_free(&host, &run->skipped);
    spad__array_free(&host, &run->faults);
    spad_kernel_destroy(run->kernel);
    spad__free(&host, run, sizeof *run);
}

spad_kernel *spad_ptx_run_take_kernel(spad_ptx_run *run) {
    spad_kernel *kernel = run->kernel;
    run->kernel = NULL;
    return kernel;
}

spad_ptx_counts spad_ptx_run_get_counts(const spad_ptx_run *run) {
    return run->counts;
}

const char *spad_ptx_run_get_folding(const spad_ptx_run *run) {
    return run->folding;
}

size_t spad_ptx_run_memory_count(const spad_ptx_run *run) {
    return run->arguments.buffers.count;
}

spad_ptx_memory spad_ptx_run_get_memory(const spad_ptx_run *run, size_t index) {
    const spad__ptx_buffer *b = &run->arguments.buffers.items[index];
    return (spad_ptx_memory){.address = b->address,
                             .bytes = b->bytes,
                             .contents = b->data,
                             .known = b->known,
                             .content_bytes = b->data != NULL ? b->bytes - b->beyond : 0};
}

size_t spad_ptx_run_remark_count(const spad_ptx_run *run) {
    return run->result.remarks.count + run->skipped.count;
}

/* ---- remarks
 * ------------------------------------------------------------------------------------------ */

static spad_ptx_remark skipped_at(const spad_ptx_run *run, const skipped_line *line) {
    const spad__ptx_module *m = &run->ptx->module;
    spad_ptx_remark remark = remark_at(m, line->instruction, line->times);
    snprintf(remark.message, sizeof remark.message,
             "'%s' never ran with these arguments and is not checked",
             spad__ptx_op_name(m->instructions.items[line->instruction].op));
    return remark;
}

spad_ptx_remark spad_ptx_run_get_remark(const spad_ptx_run *run, size_t index) {
    const size_t own = run->result.remarks.count;
    if (index >= own) return skipped_at(run, &run->skipped.items[index - own]);
    const spad__ptx_remark *r = &run->result.remarks.items[index];
    spad_ptx_remark remark = remark_at(&run->ptx->module, r->instruction, r->times);
    remark.wrong = is_fault_of_run(r->kind);
    remark.choice = is_left_to_data(r->kind);
    snprintf(remark.message, sizeof remark.message, "%s%s%s (block %d, warp %d, thread %d)",
             sentences[r->kind], r->text[0] != '\0' ? ": " : "", r->text, (int)r->cta, (int)r->warp,
             (int)r->warp * SPAD__PTX_LANES + (int)r->lane);
    return remark;
}

/* The instruction that a remark is about. */
static int32_t instruction_of_remark(const spad_ptx_run *run, size_t index) {
    const size_t own = run->result.remarks.count;
    return index < own ? run->result.remarks.items[index].instruction
                       : run->skipped.items[index - own].instruction;
}

bool spad_ptx_run_get_frame(spad_ptx_frame *out, const spad_ptx_run *run, size_t remark,
                            size_t depth) {
    const spad__ptx_module *m = &run->ptx->module;
    int32_t at = location_of_user(m, instruction_of_remark(run, remark));
    const char *function = NULL;
    for (size_t i = 0; i <= depth && at >= 0; i++) {
        function = m->locations.items[at].function;
        const int32_t caller = m->locations.items[at].inlined_at;
        at = caller < at ? caller : -1;
    }
    if (at < 0) return false;
    *out = (spad_ptx_frame){.file = file_of_location(m, at), .line = m->locations.items[at].line};
    if (function != NULL && !spad__ptx_full_name(out->function, sizeof out->function, function) &&
        !spad__ptx_plain_name(out->function, sizeof out->function, function))
        spad__copy_cut(out->function, sizeof out->function, function);
    return true;
}
