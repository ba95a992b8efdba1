/* SPDX-License-Identifier: Apache-2.0
 *
 * Limits of what a chip can count, as far as declarations say it: barriers and their threads,
 * arrivals of mbarriers, threads and registers of agents. The numbers are data of the target; 0 is
 * not known, and then nothing is examined. limits_run.c has what only a run shows.
 *
 * O(declarations + statements + accesses).
 */
#include <stdio.h>

#include "base/checked.h"
#include "check/passes.h"
#include "kernel/kernel.h"
#include "kernel/place.h"

/* Totals over the blocks of a cluster. */
static int64_t of_cluster(const spad_kernel *k, int64_t of_block) {
    int64_t all;
    return spad__mul(of_block, spad__kernel_get_cluster(k), &all) ? all : INT64_MAX;
}

/* ---- mbarriers --------------------------------------------------------------------- */

static spad_status check_arrivals(spad__run *run, size_t sync, spad_error *error) {
    const spad_kernel_sync *row = &run->kernel->syncs.items[sync];
    const int64_t most = run->kernel->target->limits.arrivals;
    if (most == 0 || row->count.value <= most) return SPAD_OK;
    spad_finding finding;
    spad__finding_init(&finding, SPAD_FINDING_MBARRIER_LIMIT,
                       "'%s' waits for %s arrivals, and an mbarrier of %s counts up to %s; let "
                       "fewer threads arrive",
                       row->name, spad__grouped(row->count.value).text, run->kernel->target->name,
                       spad__grouped(most).text);
    return spad__add_about_sync(run, &finding, sync, error);
}

/* ---- barriers ---------------------------------------------------------------------- */

static bool is_contribution(const spad_statement *s, size_t sync) {
    return (s->kind == SPAD_STATEMENT_SYNC || s->kind == SPAD_STATEMENT_ARRIVE) &&
           s->item == (int64_t)sync;
}

/* The contribution, if it is the same in all iterations; else 0. */
static int64_t contribution(const spad_kernel *k, const spad_statement *s) {
    if (s->amount == 0) return 1;
    const spad_expr_info info = spad_kernel_get_expr(k, s->amount);
    return info.constant ? info.least : 0;
}

/* A barrier to which everything contributes 1 counts agents, and says nothing of threads. */
static bool counts_threads(const spad_kernel *k, size_t sync) {
    for (size_t i = 0; i < k->statements.count; i++) {
        const spad_statement *s = &k->statements.items[i];
        if (is_contribution(s, sync) && contribution(k, s) != 1) return true;
    }
    return false;
}

static spad_status check_contributions(spad__run *run, size_t sync, spad_error *error) {
    const spad_kernel *k = run->kernel;
    const int64_t warp = k->target->limits.warp;
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < k->statements.count && status == SPAD_OK; i++) {
        const spad_statement *s = &k->statements.items[i];
        const int64_t threads = is_contribution(s, sync) ? contribution(k, s) : 0;
        if (threads % warp == 0) continue;
        spad_finding finding;
        spad__finding_init(&finding, SPAD_FINDING_BARRIER_LIMIT,
                           "%lld threads come to '%s', and a barrier of %s counts whole warps of "
                           "%lld; try %lld",
                           (long long)threads, k->syncs.items[sync].name, k->target->name,
                           (long long)warp, (long long)((threads / warp + 1) * warp));
        spad__finding_set_names(&finding, k->syncs.items[sync].name, NULL);
        status = spad__add_finding(run, &finding, (int64_t)i, -1, error);
    }
    return status;
}

static spad_status check_count(spad__run *run, size_t sync, spad_error *error) {
    const spad_kernel *k = run->kernel;
    const spad_limits *limits = &k->target->limits;
    const int64_t count = k->syncs.items[sync].count.value;
    spad_finding finding;
    spad_status status = SPAD_OK;
    if (limits->threads > 0 && count > limits->threads) {
        spad__finding_init(&finding, SPAD_FINDING_BARRIER_LIMIT,
                           "'%s' waits for %lld threads, and a block of %s has at most %lld",
                           k->syncs.items[sync].name, (long long)count, k->target->name,
                           (long long)limits->threads);
        return spad__add_about_sync(run, &finding, sync, error);
    }
    if (limits->warp > 0 && count % limits->warp != 0) {
        spad__finding_init(&finding, SPAD_FINDING_BARRIER_LIMIT,
                           "'%s' waits for %lld threads, and a barrier of %s counts whole warps of "
                           "%lld; count %lld, or let it count agents, each by 1",
                           k->syncs.items[sync].name, (long long)count, k->target->name,
                           (long long)limits->warp,
                           (long long)((count / limits->warp + 1) * limits->warp));
        status = spad__add_about_sync(run, &finding, sync, error);
    }
    if (status != SPAD_OK || limits->warp == 0) return status;
    return check_contributions(run, sync, error);
}

/* The declaration with the first barrier that is too many. */
static spad_status check_number(spad__run *run, size_t sync, int64_t *before, spad_error *error) {
    const spad_kernel_sync *row = &run->kernel->syncs.items[sync];
    const int64_t most = of_cluster(run->kernel, run->kernel->target->limits.barriers);
    const bool fitted = *before <= most;
    if (!spad__add(*before, row->elements, before)) *before = INT64_MAX;
    if (most == 0 || !fitted || *before <= most) return SPAD_OK;
    spad_finding finding;
    spad__finding_init(&finding, SPAD_FINDING_BARRIER_LIMIT,
                       "%lld barriers up to '%s', and a block of %s has %lld; use one again, or an "
                       "mbarrier",
                       (long long)*before, row->name, run->kernel->target->name, (long long)most);
    return spad__add_about_sync(run, &finding, sync, error);
}

static spad_status check_syncs(spad__run *run, spad_error *error) {
    const spad_kernel *k = run->kernel;
    int64_t barriers = 0;
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < k->syncs.count && status == SPAD_OK; i++) {
        if (k->syncs.items[i].kind == SPAD_SYNC_MBARRIER) status = check_arrivals(run, i, error);
        if (k->syncs.items[i].kind != SPAD_SYNC_BARRIER) continue;
        status = check_number(run, i, &barriers, error);
        if (status == SPAD_OK && counts_threads(k, i)) status = check_count(run, i, error);
    }
    return status;
}

/* ---- threads and registers --------------------------------------------------------- */

static spad_status add_about_agent(spad__run *run, spad_finding *finding, size_t agent,
                                   spad_error *error) {
    const spad_kernel_agent *row = &run->kernel->agents.items[agent];
    spad__finding_set_names(finding, row->name, NULL);
    finding->number = (int64_t)agent;
    return spad__add_finding(run, finding, (int64_t)row->statement, -1, error);
}

/* The sum over agents up to one of them; saturates at 64 bits. */
typedef struct demand {
    int64_t threads;
    int64_t registers;
} demand;

static void add_product(int64_t *sum, int64_t count, int64_t each) {
    int64_t more;
    if (!spad__mul(count, each, &more) || !spad__add(*sum, more, sum)) *sum = INT64_MAX;
}

static spad_status check_sums(spad__run *run, size_t agent, demand before, demand now,
                              spad_error *error) {
    const spad_kernel *k = run->kernel;
    const int64_t threads = of_cluster(k, k->target->limits.threads);
    const int64_t registers = of_cluster(k, k->target->limits.registers);
    char whose[64] = "a block";
    spad_status status = SPAD_OK;
    spad_finding finding;
    if (spad__kernel_get_cluster(k) > 1) {
        snprintf(whose, sizeof whose, "a cluster of %lld blocks",
                 (long long)spad__kernel_get_cluster(k));
    }
    if (threads > 0 && now.threads > threads && before.threads <= threads) {
        spad__finding_init(&finding, SPAD_FINDING_THREAD_LIMIT,
                           "the agents up to '%s' have %lld threads, and %s of %s has at most "
                           "%lld",
                           k->agents.items[agent].name, (long long)now.threads, whose,
                           k->target->name, (long long)threads);
        status = add_about_agent(run, &finding, agent, error);
    }
    if (status != SPAD_OK || registers == 0 || now.registers <= registers ||
        before.registers > registers) {
        return status;
    }
    spad__finding_init(&finding, SPAD_FINDING_REGISTER_LIMIT,
                       "the agents up to '%s' are given %lld registers, and %s of %s has %lld; "
                       "give some of them fewer",
                       k->agents.items[agent].name, (long long)now.registers, whose,
                       k->target->name, (long long)registers);
    return add_about_agent(run, &finding, agent, error);
}

/* setmaxnreg takes some numbers only. */
static spad_status check_budget(spad__run *run, size_t agent, spad_error *error) {
    const spad_limits *limits = &run->kernel->target->limits;
    const int64_t registers = run->kernel->agents.items[agent].registers.value;
    const int64_t step = spad__max(limits->budget_step, 1);
    if (registers == 0 || limits->budget_most == 0) return SPAD_OK;
    if (registers >= limits->budget_least && registers <= limits->budget_most &&
        registers % step == 0) {
        return SPAD_OK;
    }
    spad_finding finding;
    spad__finding_init(&finding, SPAD_FINDING_REGISTER_LIMIT,
                       "'%s' limits its threads to %lld registers; %s takes %lld to %lld, in "
                       "multiples of %lld",
                       run->kernel->agents.items[agent].name, (long long)registers,
                       run->kernel->target->name, (long long)limits->budget_least,
                       (long long)limits->budget_most, (long long)step);
    return add_about_agent(run, &finding, agent, error);
}

static spad_status add_about_program(spad__run *run, spad_finding *finding, spad_error *error) {
    const spad_kernel_agent *program = &run->kernel->agents.items[0];
    spad__finding_set_names(finding, program->name, NULL);
    spad__point_finding(finding, program->location);
    return spad__add_finding(run, finding, -1, -1, error);
}

/* Most registers of one thread; 0: the chip does not say. */
static int64_t most_registers_of_thread(const spad_target *target) {
    for (size_t i = 0; i < target->space_count; i++) {
        if (target->spaces[i].thread_bytes > 0) return target->spaces[i].thread_bytes / 4;
    }
    return 0;
}

/* The main program has the threads of one block. */
static spad_status check_program(spad__run *run, spad_error *error) {
    const spad_kernel *k = run->kernel;
    const int64_t threads = k->agents.items[0].threads.value;
    const int64_t each = k->agents.items[0].registers.value;
    const int64_t most = most_registers_of_thread(k->target);
    int64_t registers = 0;
    spad_status status = SPAD_OK;
    spad_finding finding;
    if (k->target->limits.threads > 0 && threads > k->target->limits.threads) {
        spad__finding_init(&finding, SPAD_FINDING_THREAD_LIMIT,
                           "the main program has %lld threads, and a block of %s has at most %lld",
                           (long long)threads, k->target->name,
                           (long long)k->target->limits.threads);
        status = add_about_program(run, &finding, error);
    }
    add_product(&registers, threads, each);
    const bool many = k->target->limits.registers > 0 && registers > k->target->limits.registers;
    if (status != SPAD_OK || (!many && (most == 0 || each <= most))) return status;
    spad__finding_init(&finding, SPAD_FINDING_REGISTER_LIMIT,
                       "the main program has %lld threads of %lld registers; on %s a thread has at "
                       "most %lld, and a block %lld",
                       (long long)threads, (long long)each, k->target->name, (long long)most,
                       (long long)k->target->limits.registers);
    return add_about_program(run, &finding, error);
}

static spad_status check_agents(spad__run *run, spad_error *error) {
    const spad_kernel *k = run->kernel;
    demand before = {0};
    spad_status status = SPAD_OK;
    for (size_t i = 1; i < k->agents.count && status == SPAD_OK; i++) {
        const spad_kernel_agent *agent = &k->agents.items[i];
        demand now = before;
        add_product(&now.threads, agent->threads.value, 1);
        add_product(&now.registers, agent->threads.value, agent->registers.value);
        status = check_sums(run, i, before, now, error);
        if (status == SPAD_OK) status = check_budget(run, i, error);
        before = now;
    }
    return status;
}

/* ---- registers of one thread ------------------------------------------------------- */

/* True if an earlier access of the operation has the storage of access `number`. */
static bool is_again(const spad_kernel *k, const spad_statement *s, size_t number) {
    const spad_kernel_access *all = &k->accesses.items[s->first_access];
    for (size_t i = 0; i < number; i++) {
        if (k->tensors.items[all[i].tensor].home == k->tensors.items[all[number].tensor].home) {
            return true;
        }
    }
    return false;
}

/* One tile of every tensor in registers that an operation uses, at least, is there at once, and
 * the threads of the agent hold equal parts of it. */
static spad_status check_held_registers(spad__run *run, size_t statement, spad_error *error) {
    const spad_kernel *k = run->kernel;
    const spad_statement *s = &k->statements.items[statement];
    const spad_kernel_agent *agent = &k->agents.items[s->agent];
    const int64_t threads = agent->threads.value;
    int64_t bytes = 0;
    int64_t most = 0;
    if (threads == 0) return SPAD_OK;
    for (size_t i = 0; i < s->access_count; i++) {
        const spad_kernel_tensor *tensor =
            &k->tensors.items[k->accesses.items[s->first_access + i].tensor];
        const int64_t limit = k->target->spaces[tensor->space].thread_bytes;
        if (limit == 0 || is_again(k, s, i)) continue;
        add_product(&bytes, tensor->tile_bytes, tensor->tile_lanes);
        most = limit;
    }
    const int64_t each = bytes / threads + (bytes % threads != 0);
    if (agent->registers.value > 0)
        most = spad__min(most, spad__min(agent->registers.value, 1 << 20) * 4);
    if (each <= most) return SPAD_OK;
    spad_finding finding;
    spad__finding_init(&finding, SPAD_FINDING_REGISTER_LIMIT,
                       "%s uses %s B in registers, %s for each of the %s threads of '%s', and "
                       "a thread has at most %s; use more threads or smaller tiles",
                       s->name, spad__grouped(bytes).text, spad__grouped(each).text,
                       spad__grouped(threads).text, agent->name, spad__grouped(most).text);
    spad__finding_set_names(&finding, agent->name, NULL);
    return spad__add_finding(run, &finding, (int64_t)statement, -1, error);
}

/* ---- instances of spaces ----------------------------------------------------------- */

static spad_status check_cluster(spad__run *run, size_t tensor, spad_error *error) {
    const spad_kernel_tensor *row = &run->kernel->tensors.items[tensor];
    const spad_space *space = &run->kernel->target->spaces[row->space];
    const int64_t most = run->kernel->target->limits.cluster;
    if (most == 0 || space->instance < most) return SPAD_OK;
    spad_finding finding;
    spad__finding_init(&finding, SPAD_FINDING_CLUSTER_LIMIT,
                       "'%s' is in %s, so the cluster has %lld blocks or more; %lld are portable, "
                       "and more must be asked for",
                       row->name, space->name, (long long)(space->instance + 1), (long long)most);
    return spad__add_about(run, &finding, (int64_t)tensor, error);
}

/* The first access of each agent to one space that belongs to cores. */
static spad_status check_private(spad__run *run, size_t base, int64_t *firsts, spad_error *error) {
    const spad_kernel *k = run->kernel;
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < k->agents.count; i++) firsts[i] = -1;
    for (size_t i = 0; i < k->statements.count && status == SPAD_OK; i++) {
        const spad_statement *s = &k->statements.items[i];
        if (s->kind != SPAD_STATEMENT_OPERATION || s->agent == 0) continue;
        for (size_t a = s->first_access; a < s->first_access + s->access_count; a++) {
            const spad_kernel_access *access = &k->accesses.items[a];
            const spad_kernel_tensor *tensor = &k->tensors.items[access->tensor];
            if (spad__first_instance(k->target, tensor->space) != base) continue;
            int64_t *first = &firsts[s->agent];
            if (*first < 0) *first = (int64_t)a;
            const spad_kernel_access *before = &k->accesses.items[*first];
            const spad_kernel_tensor *other = &k->tensors.items[before->tensor];
            if (other->space == tensor->space) continue;
            spad_finding finding;
            spad__finding_init(
                &finding, SPAD_FINDING_PRIVATE_MEMORY,
                "'%s' uses '%s' in %s and '%s' in %s, and a core of %s reaches one of them only",
                k->agents.items[s->agent].name, other->name, k->target->spaces[other->space].name,
                tensor->name, k->target->spaces[tensor->space].name, k->target->name);
            spad__finding_set_names(&finding, tensor->name, other->name);
            spad__point_finding(&finding, access->location);
            spad__point_note(spad__finding_add_note(&finding, "the other one is used here"),
                             before->location);
            const size_t agent = k->agents.items[s->agent].statement; /* once for each */
            status = spad__add_finding(run, &finding, (int64_t)agent, -1, error);
            break;
        }
    }
    return status;
}

static spad_status check_instances(spad__run *run, spad_error *error) {
    const spad_kernel *k = run->kernel;
    spad_status status = SPAD_OK;
    uint64_t apart = 0; /* spaces of cores with another instance in use */
    for (size_t i = 0; i < k->tensors.count && status == SPAD_OK; i++) {
        const spad_space *space = &k->target->spaces[k->tensors.items[i].space];
        if (space->instance == 0) continue;
        if (space->one_instance) apart |= UINT64_C(1) << space->instance_of;
        status = check_cluster(run, i, error);
    }
    if (apart == 0 || status != SPAD_OK) return status;
    int64_t *firsts = spad__new_array(&run->check->host, k->agents.count, sizeof *firsts);
    if (firsts == NULL) return spad__fail_host_memory(error);
    for (size_t base = 0; base < k->target->space_count && status == SPAD_OK; base++) {
        if (apart >> base & 1) status = check_private(run, base, firsts, error);
    }
    spad__free(&run->check->host, firsts, k->agents.count * sizeof *firsts);
    return status;
}

spad_status spad__check_limits(spad__run *run, spad_error *error) {
    const spad_kernel *k = run->kernel;
    spad_status status = check_syncs(run, error);
    if (status == SPAD_OK) status = check_instances(run, error);
    if (status == SPAD_OK) status = check_program(run, error);
    if (status == SPAD_OK) status = check_agents(run, error);
    for (size_t i = 0; i < k->statements.count && status == SPAD_OK; i++) {
        if (k->statements.items[i].kind == SPAD_STATEMENT_OPERATION) {
            status = check_held_registers(run, i, error);
        }
    }
    return status;
}
