/* SPDX-License-Identifier: Apache-2.0
 *
 * The buffers of an ODE integrator, after the buffer registry of CuBIE: a step
 * of a diagonally implicit Runge-Kutta method (3 states, 3 stages) contains a
 * Newton solver, which contains a linear solver, and a predictor beside it.
 * Each registers its own buffers; parents take over their children.
 *
 *     ./registry
 */
#include <stdio.h>
#include <stdlib.h>

#include "spad/experimental/launch.h"
#include "spad/registry.h"

enum { STATES = 3, STAGES = 3 };

static spad_error error;

static void need(spad_status status) {
    if (status == SPAD_OK) return;
    fprintf(stderr, "%s: %s\n", spad_status_code(status), error.message);
    exit(1);
}

typedef struct integrator {
    spad_registry *registry;
    spad_component step;
    spad_component newton;
    spad_component linear;
    spad_component predictor;
} integrator;

static spad_component component(spad_registry *registry, const char *name) {
    spad_component out;
    need(spad_registry_add(&out, registry, name, SPAD_FLOAT32, &error));
    return out;
}

/* ---- registering ------------------------------------------------------------------- */

static void local(integrator *in, spad_component c, const char *name, int64_t size) {
    const spad_registry_buffer buffer = {
        .name = name, .size = size, .location = SPAD_REGISTRY_LOCATION_LOCAL};
    need(spad_registry_register(in->registry, c, &buffer, &error));
}

static void persistent(integrator *in, spad_component c, const char *name, int64_t size) {
    const spad_registry_buffer buffer = {
        .name = name, .size = size, .location = SPAD_REGISTRY_LOCATION_LOCAL, .persistent = true};
    need(spad_registry_register(in->registry, c, &buffer, &error));
}

/* A child's totals are those of the moment: bottom up, and again after a change. */
static void take_over_children(integrator *in) {
    spad_registry *r = in->registry;
    need(spad_registry_register_child(NULL, r, in->newton, in->linear, "linear_solver", &error));
    need(spad_registry_register_child(NULL, r, in->step, in->newton, "solver", &error));
    need(spad_registry_register_child(NULL, r, in->step, in->predictor, "predictor", &error));
}

static void register_all(integrator *in) {
    local(in, in->linear, "preconditioned_vec", STATES);
    local(in, in->linear, "temp", STATES);
    local(in, in->linear, "precond_scratch", STATES);
    local(in, in->linear, "chain_scratch", 0); /* an array has at least one element */

    local(in, in->newton, "delta", STATES);
    local(in, in->newton, "residual", STATES);
    const spad_registry_buffer iterations = {.name = "krylov_iters",
                                             .size = 1,
                                             .location = SPAD_REGISTRY_LOCATION_LOCAL,
                                             .precision = SPAD_INT32};
    need(spad_registry_register(in->registry, in->newton, &iterations, &error));
    persistent(in, in->newton, "prev_theta", 1);

    local(in, in->predictor, "transform", STAGES * STAGES);
    local(in, in->predictor, "previous_values", STAGES);

    take_over_children(in);
    persistent(in, in->step, "increment_history", STAGES * STATES);
    persistent(in, in->step, "previous_step_size", 1);
    persistent(in, in->step, "stage_increment", STATES);
    local(in, in->step, "accumulator", (STAGES - 1) * STATES);
    const spad_registry_buffer base = {.name = "stage_base",
                                       .size = STATES,
                                       .location = SPAD_REGISTRY_LOCATION_LOCAL,
                                       .aliases = "accumulator"};
    need(spad_registry_register(in->registry, in->step, &base, &error));
    persistent(in, in->step, "stage_rhs", STATES);
}

/* ---- printing ---------------------------------------------------------------------- */

static void print_buffers(integrator *in, spad_component c) {
    const spad_registry_slice *elements;
    const spad_registry_slice *bytes;
    size_t count;
    spad_registry *r = in->registry;
    need(spad_registry_get_layout(&elements, &count, r, c, SPAD_REGISTRY_UNIT_ELEMENT, &error));
    need(spad_registry_get_layout(&bytes, &count, r, c, SPAD_REGISTRY_UNIT_BYTE, &error));
    printf("  %-26s %-8s %-11s %-10s %-10s %s\n", "buffer", "type", "region", "elements", "bytes",
           "inside");
    for (size_t i = 0; i < count; i++) {
        const spad_registry_buffer *buffer = spad_registry_get_buffer(r, c, i);
        char e[24];
        char b[24];
        snprintf(e, sizeof e, "%lld..%lld", (long long)elements[i].offset,
                 (long long)(elements[i].offset + elements[i].length));
        snprintf(b, sizeof b, "%lld..%lld", (long long)bytes[i].offset,
                 (long long)(bytes[i].offset + bytes[i].length));
        printf("  %-26s %-8s %-11s %-10s %-10s %s\n", buffer->name,
               spad_dtype_name(buffer->precision), spad_registry_region_name(elements[i].region), e,
               b, elements[i].inside != NULL ? elements[i].inside : "-");
    }
}

static int64_t size_of(integrator *in, spad_component c, spad_registry_region region,
                       spad_registry_unit unit) {
    int64_t out;
    need(spad_registry_get_size(&out, in->registry, c, region, unit, &error));
    return out;
}

static void print_component(integrator *in, spad_component c) {
    printf("%s\n", spad_registry_get_component_name(in->registry, c));
    print_buffers(in, c);
    printf("  total: ");
    for (int region = 0; region < SPAD_REGISTRY_REGION_COUNT; region++) {
        printf("%s %lld elements (%lld bytes)%s",
               spad_registry_region_name((spad_registry_region)region),
               (long long)size_of(in, c, (spad_registry_region)region, SPAD_REGISTRY_UNIT_ELEMENT),
               (long long)size_of(in, c, (spad_registry_region)region, SPAD_REGISTRY_UNIT_BYTE),
               region + 1 < SPAD_REGISTRY_REGION_COUNT ? ", " : "\n\n");
    }
}

static void print_declared(integrator *in) {
    int64_t out;
    need(spad_registry_get_declared_local(&out, in->registry, in->step, SPAD_REGISTRY_UNIT_ELEMENT,
                                          &error));
    printf("local memory of a thread, children included: %lld elements\n\n", (long long)out);
}

/* ---- the walk-through -------------------------------------------------------------- */

/* Moves the vectors of the solvers and of the step to shared memory. */
static void move_to_shared(integrator *in) {
    static const spad_registry_setting settings[] = {
        {"delta_location", "shared"},
        {"residual_location", "shared"},
        {"preconditioned_vec_location", "shared"},
        {"temp_location", "shared"},
        {"accumulator_location", "shared"},
        {"stage_base_location", "shared"},
        {"stage_rhs_location", "shared"},
    };
    const size_t count = sizeof settings / sizeof *settings;
    const spad_component components[] = {in->step, in->newton, in->linear};
    for (size_t i = 0; i < 3; i++) {
        bool known[sizeof settings / sizeof *settings];
        need(spad_registry_update(known, in->registry, components[i], settings, count, &error));
        size_t found = 0;
        for (size_t k = 0; k < count; k++) found += known[k];
        printf("%s: %zu of %zu settings are its own\n",
               spad_registry_get_component_name(in->registry, components[i]), found, count);
    }
    take_over_children(in);
    printf("\n");
}

static void print_budget(int64_t elements) {
    spad_run_shared run;
    spad_launch_size block;
    need(spad_run_shared_of(&run, elements, SPAD_FLOAT32, &error));
    need(spad_launch_fit(&block, elements, SPAD_FLOAT32, 256, 65536, SPAD_LAUNCH_DEFAULT_LIMIT,
                         &error));
    printf("  %3lld elements a run: %lld bytes (%lld of skew), stride %lld words; a block of 256 "
           "becomes %lld threads with %lld bytes\n",
           (long long)elements, (long long)run.bytes, (long long)run.pad,
           (long long)run.stride_words, (long long)block.threads, (long long)block.shared_bytes);
}

/* From the kernel's memory down to a vector of the linear solver, for one thread. */
static void print_path(integrator *in, int64_t thread) {
    const spad_registry_unit unit = SPAD_REGISTRY_UNIT_ELEMENT;
    spad_registry *r = in->registry;
    spad_registry_allocator shared;
    spad_registry_allocator kept;
    spad_registry_allocator temp;
    spad_registry_slice slice;
    spad_registry_base base = {.shared_stride = size_of(in, in->step, SPAD_REGISTRY_REGION_SHARED,
                                                        unit)}; /* odd: no skew */
    need(spad_registry_get_child_allocators(&shared, &kept, r, in->step, in->newton, "solver", unit,
                                            &error));
    need(spad_registry_allocator_slice(&slice, &shared, &base, thread, &error));
    printf("thread %lld: the solver has shared [%lld, %lld)", (long long)thread,
           (long long)slice.offset, (long long)(slice.offset + slice.length));
    base = (spad_registry_base){.shared = slice.offset};
    need(spad_registry_get_child_allocators(&shared, &kept, r, in->newton, in->linear,
                                            "linear_solver", unit, &error));
    need(spad_registry_allocator_slice(&slice, &shared, &base, 0, &error));
    printf(", in it the linear solver [%lld, %lld)", (long long)slice.offset,
           (long long)(slice.offset + slice.length));
    base = (spad_registry_base){.shared = slice.offset};
    need(spad_registry_get_allocator(&temp, r, in->linear, "temp", unit, true, &error));
    need(spad_registry_allocator_slice(&slice, &temp, &base, 0, &error));
    printf(", in it temp [%lld, %lld)\n\n", (long long)slice.offset,
           (long long)(slice.offset + slice.length));
}

/* With lifetimes an alias is checked: first one that is right, then one that is not. */
static void check_alias(integrator *in, int64_t base_ends) {
    const spad_registry_buffer accumulator = {.name = "accumulator", .t_begin = 2, .t_end = 6};
    const spad_registry_buffer base = {.name = "stage_base", .t_begin = 0, .t_end = base_ends};
    spad_registry *r = in->registry;
    need(spad_registry_update_buffer(NULL, r, in->step, SPAD_REGISTRY_BUFFER_LIFETIME, &accumulator,
                                     &error));
    need(spad_registry_update_buffer(NULL, r, in->step, SPAD_REGISTRY_BUFFER_LIFETIME, &base,
                                     &error));
    int64_t total;
    const spad_status status = spad_registry_get_size(
        &total, r, in->step, SPAD_REGISTRY_REGION_SHARED, SPAD_REGISTRY_UNIT_ELEMENT, &error);
    printf("stage_base until step %lld: ", (long long)base_ends);
    if (status == SPAD_OK) {
        printf("fine, %lld elements\n", (long long)total);
    } else {
        printf("%s: %s\n", spad_status_code(status), error.message);
    }
}

int main(void) {
    integrator in;
    need(spad_registry_create(&in.registry, NULL, &error));
    in.step = component(in.registry, "dirk_step");
    in.newton = component(in.registry, "newton");
    in.linear = component(in.registry, "linear_solver");
    in.predictor = component(in.registry, "predictor");

    printf("== as declared, everything local\n\n");
    register_all(&in);
    print_component(&in, in.step);
    print_declared(&in);

    printf("== solver vectors in shared memory\n\n");
    move_to_shared(&in);
    print_component(&in, in.linear);
    print_component(&in, in.newton);
    print_component(&in, in.step);
    print_declared(&in);
    print_path(&in, 5);

    printf("shared memory budget\n");
    print_budget(size_of(&in, in.step, SPAD_REGISTRY_REGION_SHARED, SPAD_REGISTRY_UNIT_ELEMENT));
    print_budget(70); /* the same step with 10 states */
    print_budget(300);
    printf("\n");

    printf("lifetimes\n");
    check_alias(&in, 2);
    check_alias(&in, 3);
    spad_registry_destroy(in.registry);
    return 0;
}
