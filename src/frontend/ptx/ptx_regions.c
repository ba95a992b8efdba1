/* SPDX-License-Identifier: Apache-2.0
 *
 * Everything that a launch gives: arguments that are words (ptx_arguments.c), and by address
 * parameter bytes, regions of memory with their contents, tensor maps, and variables of the module.
 *
 * Contents that end before their region are not padded: a buffer knows how many of its bytes have
 * data, so that a large allocation costs as much as was given of it.
 */
#include <string.h>

#include "base/checked.h"
#include "frontend/ptx/ptx_arguments.h"

#define MOST_REGION_CONTENTS (INT64_C(1) << 30)
#define FIRST_WINDOW SPAD__PTX_CODE_BASE

/* ---- memory ------------------------------------------------------------------------ */

static spad_status give_contents(spad__ptx_arguments *out, spad__ptx_buffer *b,
                                 const uint8_t *contents, const uint8_t *known, int64_t count,
                                 spad_error *error) {
    if (count == 0) return SPAD_OK;
    if (count > MOST_REGION_CONTENTS)
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "memory of a launch has at most 1 GiB of contents");
    b->data = spad__new(&out->host, (size_t)count);
    b->known = spad__new(&out->host, (size_t)count);
    b->beyond = b->bytes - count;
    if (b->data == NULL || b->known == NULL) return spad__fail_host_memory(error);
    if (contents != NULL) memcpy(b->data, contents, (size_t)count);
    if (known != NULL) {
        memcpy(b->known, known, (size_t)count);
    } else {
        memset(b->known, 1, (size_t)count);
    }
    return SPAD_OK;
}

/* Later buffers begin above a region, unless it is above all that spad gives out. */
static void begin_above(spad__ptx_arguments *out, const spad_ptx_memory *m) {
    const uint64_t end = m->address + (uint64_t)m->bytes;
    if (end > out->next && end < FIRST_WINDOW / 2) out->next = (end | ((1 << 21) - 1)) + 1;
}

static spad_status add_memory(spad__ptx_arguments *out, const spad_ptx_memory *m,
                              spad_error *error) {
    if (m->bytes <= 0 || m->content_bytes < 0 || m->content_bytes > m->bytes ||
        m->address > (uint64_t)(INT64_MAX - m->bytes)) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "memory at 0x%llx of %lld B with %lld B of contents: it needs bytes, no "
                          "more contents than those, and addresses below 2^63",
                          (unsigned long long)m->address, (long long)m->bytes,
                          (long long)m->content_bytes);
    }
    if (!spad__array_reserve(&out->host, &out->buffers, 1)) return spad__fail_host_memory(error);
    spad__ptx_buffer *b = &out->buffers.items[out->buffers.count++];
    *b = (spad__ptx_buffer){.address = m->address, .bytes = m->bytes};
    begin_above(out, m);
    return give_contents(out, b, m->contents, m->known, m->content_bytes, error);
}

static int32_t find_variable(const spad__ptx_module *module, const char *name) {
    for (size_t i = 0; i < module->variables.count; i++) {
        const spad__ptx_variable *v = &module->variables.items[i];
        const bool global = v->space == SPAD__PTX_GLOBAL || v->space == SPAD__PTX_CONST;
        if (global && strcmp(v->name, name) == 0) return (int32_t)i;
    }
    return -1;
}

static spad_status add_variable_contents(spad__ptx_arguments *out, const spad__ptx_module *module,
                                         const spad_ptx_variable *given, spad_error *error) {
    const int32_t number = find_variable(module, given->name);
    if (number < 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "the module has no .global or .const variable '%.80s'", given->name);
    }
    const int64_t bytes = module->variables.items[number].bytes;
    if (given->content_bytes < 0 || given->content_bytes > bytes) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "variable '%.80s' has %lld B, and the launch gives it %lld B",
                          given->name, (long long)bytes, (long long)given->content_bytes);
    }
    if (given->content_bytes == 0) return SPAD_OK;
    const uint64_t address = spad__ptx_variable_address(module, number);
    if (address == 0 || !spad__array_reserve(&out->host, &out->buffers, 1))
        return spad__fail_host_memory(error);
    spad__ptx_buffer *b = &out->buffers.items[out->buffers.count++];
    *b = (spad__ptx_buffer){.address = address, .bytes = given->content_bytes};
    return give_contents(out, b, given->contents, given->known, given->content_bytes, error);
}

/* Memory and variables of the launch, as buffers. Those that are added later lie above them. */
static spad_status take_memory(spad__ptx_arguments *out, const spad__ptx_module *module,
                               const spad_ptx_launch *launch, spad_error *error) {
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < launch->memory_count && status == SPAD_OK; i++)
        status = add_memory(out, &launch->memory[i], error);
    for (size_t i = 0; i < launch->variable_count && status == SPAD_OK; i++)
        status = add_variable_contents(out, module, &launch->variables[i], error);
    return status;
}

/* ---- parameters -------------------------------------------------------------------- */

/* The bytes of all parameters, whose layout is known. */
static spad_status take_parameters(spad__ptx_arguments *out, const spad_ptx_launch *launch,
                                   spad_error *error) {
    const int64_t bytes = (int64_t)out->bytes.count;
    if (launch->argument_count > 0)
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "the launch has the bytes of its parameters: leave the arguments out");
    if (launch->parameter_bytes != bytes) {
        return spad__fail(
            error, SPAD_ERR_ARGUMENT,
            "the parameters of the kernel have %lld B, and the launch gives %lld B: is "
            "it a launch of another kernel?",
            (long long)bytes, (long long)launch->parameter_bytes);
    }
    if (bytes == 0) return SPAD_OK;
    memcpy(out->bytes.items, launch->parameters, (size_t)bytes);
    if (launch->parameters_known != NULL) {
        memcpy(out->known.items, launch->parameters_known, (size_t)bytes);
    } else {
        memset(out->known.items, 1, (size_t)bytes);
    }
    return SPAD_OK;
}

static spad_status take_tensor_maps(spad__ptx_arguments *out, const spad_ptx_launch *launch,
                                    spad_error *error) {
    for (size_t i = 0; i < launch->tensor_map_count; i++) {
        const spad_ptx_tensor_map *given = &launch->tensor_maps[i];
        const uint64_t end = given->at + SPAD__TENSOR_MAP_BYTES;
        spad__tensor_map map;
        if (given->in_parameters && end > out->bytes.count) {
            return spad__fail(error, SPAD_ERR_ARGUMENT,
                              "a tensor map at byte %llu of the parameters, which have %zu B",
                              (unsigned long long)given->at, out->bytes.count);
        }
        const spad_status status = spad__ptx_read_tensor_map(&map, out, given->map, error);
        if (status != SPAD_OK) return status;
        if (!spad__array_reserve(&out->host, &out->maps, 1)) return spad__fail_host_memory(error);
        out->maps.items[out->maps.count++] = (spad__ptx_mapped){
            given->in_parameters ? SPAD__PTX_PARAM_BASE + given->at : given->at, map};
    }
    return SPAD_OK;
}

spad_status spad__ptx_read_arguments(spad__ptx_arguments *out, const spad_host *host,
                                     const spad__ptx_module *module,
                                     const spad__ptx_function *kernel,
                                     const spad_ptx_launch *launch, spad_error *error) {
    *out = (spad__ptx_arguments){.host = spad__host_or_default(host), .next = UINT64_C(1) << 32};
    spad_status status = take_memory(out, module, launch, error);
    if (status == SPAD_OK) status = spad__ptx_read_words(out, module, kernel, launch, error);
    if (status == SPAD_OK && launch->parameters != NULL)
        status = take_parameters(out, launch, error);
    return status == SPAD_OK ? take_tensor_maps(out, launch, error) : status;
}
