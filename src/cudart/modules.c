/* SPDX-License-Identifier: Apache-2.0
 *
 * Modules, kernels and variables that a program has registered or loaded.
 *
 * A module is a fatbin, as nvcc embeds it, or PTX. Registration only notes addresses: the PTX is
 * read at the first use of one of its kernels. Kernels are found by the address of their host
 * function through an index; handles that programs hold are addresses of our records, which live as
 * long as the process.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/index.h"
#include "cudart/cudart.h"
#include "spad/device/zstd.h"
#include "spad/source.h"

enum { CHIP_H200 = 90, FATBIN_HEAD = 16 };

#define FATBIN_MARK UINT32_C(0xba55ed50)

static SPAD_ARRAY(spad__rt_module *) modules;
static SPAD_ARRAY(spad__rt_function *) functions;
static spad__index functions_by_address; /* of the host function, and of the record */

/* ---- images --------------------------------------------------------------------------------- */

static uint64_t bytes_of_elf(const uint8_t *image) {
    uint64_t sections;
    uint16_t size, count;
    memcpy(&sections, image + 40, 8);
    memcpy(&size, image + 58, 2);
    memcpy(&count, image + 60, 2);
    return sections + (uint64_t)size * count;
}

/* Bytes of an image that a program gives without its size; 0: of no kind that we know. */
static uint64_t bytes_of_image(const uint8_t *image) {
    uint32_t mark;
    memcpy(&mark, image, sizeof mark);
    if (mark == FATBIN_MARK) {
        uint16_t head;
        uint64_t bytes;
        memcpy(&head, image + 6, sizeof head);
        memcpy(&bytes, image + 8, sizeof bytes);
        return head + bytes;
    }
    if (memcmp(image,
               "\x7f"
               "ELF",
               4) == 0)
        return bytes_of_elf(image);
    const size_t length = strlen((const char *)image);
    return spad_ptx_detect((const char *)image, length) ? length : 0;
}

spad__rt_module *spad__rt_add_module(const void *image, bool copy) {
    const uint64_t bytes = bytes_of_image(image);
    spad__rt_module *module = spad__new(spad__rt_host(), sizeof *module);
    if (module == NULL || !spad__array_reserve(spad__rt_host(), &modules, 1)) {
        spad__free(spad__rt_host(), module, sizeof *module);
        return NULL;
    }
    module->image = image;
    module->bytes = bytes;
    if (copy && bytes > 0) {
        uint8_t *own = spad__new(spad__rt_host(), (size_t)bytes + 1);
        if (own == NULL) {
            spad__free(spad__rt_host(), module, sizeof *module);
            return NULL;
        }
        memcpy(own, image, (size_t)bytes);
        module->image = own;
        module->owned = true;
    }
    module->text = bytes > 0 && spad_ptx_detect((const char *)module->image, (size_t)bytes);
    modules.items[modules.count++] = module;
    return module;
}

void spad__rt_unload(spad__rt_module *module) {
    spad_ptx_destroy(module->ptx);
    if (module->owned)
        spad__free(spad__rt_host(), (void *)(uintptr_t)module->image, (size_t)module->bytes + 1);
    module->ptx = NULL;
    module->image = NULL;
    module->owned = false;
    module->dead = true;
    module->tried = true;
    snprintf(module->why, sizeof module->why, "its module was unloaded");
}

void spad__rt_forget_files(void) {
    for (size_t i = 0; i < modules.count; i++) modules.items[i]->file[0] = '\0';
}

bool spad__rt_is_module(const void *module) {
    for (size_t i = 0; i < modules.count; i++) {
        if (modules.items[i] == module) return !modules.items[i]->dead;
    }
    return false;
}

/* ---- the chip ------------------------------------------------------------------------------- */

/* 90 of "sm_90a"; *exact: the code runs on this chip alone. */
static int chip_of(const char *arch, bool *exact) {
    char *end;
    const char *digits = strchr(arch, '_');
    const long chip = strtol(digits != NULL ? digits + 1 : arch, &end, 10);
    *exact = *end == 'a' || *end == 'f';
    return (int)chip;
}

static bool runs_on(const char *arch, int chip) {
    bool exact;
    const int own = chip_of(arch, &exact);
    return exact ? own == chip : own <= chip;
}

static spad_ptx_image *open_image(const spad__rt_module *module, spad_error *error) {
    const spad_ptx_image_options options = {.unpack_zstd = spad_zstd_unpack};
    spad_ptx_image *image = NULL;
    if (spad_ptx_image_create(&image, module->image, (size_t)module->bytes, &options, error) !=
        SPAD_OK)
        return NULL;
    return image;
}

/* Adds what the PTX of a module says about the chip. */
static void find_chip(const spad__rt_module *module, bool *h200, int *least) {
    spad_error error;
    spad_ptx_image *image =
        module->dead || module->text || module->bytes == 0 ? NULL : open_image(module, &error);
    for (size_t i = 0; image != NULL && i < spad_ptx_image_count(image); i++) {
        const spad_ptx_image_entry entry = spad_ptx_image_get(image, i);
        bool exact;
        const int chip = chip_of(entry.arch, &exact);
        if (!entry.ptx) continue;
        if (runs_on(entry.arch, CHIP_H200)) *h200 = true;
        if (*least == 0 || chip < *least) *least = chip;
    }
    spad_ptx_image_destroy(image);
}

int spad__rt_architecture(void) {
    const char *word = getenv("SPAD_CUDA_ARCH");
    bool h200 = false, exact;
    int least = 0;
    if (word != NULL && word[0] != '\0') {
        const int chip = chip_of(word, &exact);
        if (chip >= 50 && chip < 1000) return chip;
    }
    for (size_t i = 0; i < modules.count; i++) find_chip(modules.items[i], &h200, &least);
    return h200 || least == 0 ? CHIP_H200 : least;
}

/* ---- PTX ------------------------------------------------------------------------------------ */

/* The entry that the driver would compile; the number of entries: none. */
static size_t choose_entry(const spad_ptx_image *image) {
    const int device = spad__rt_architecture();
    const size_t count = spad_ptx_image_count(image);
    size_t chosen = count;
    int best = 0;
    for (size_t i = 0; i < count; i++) {
        const spad_ptx_image_entry entry = spad_ptx_image_get(image, i);
        bool exact;
        const int rank = 2 * chip_of(entry.arch, &exact) + (exact ? 1 : 0);
        if (!entry.ptx || !runs_on(entry.arch, device) || rank <= best) continue;
        chosen = i;
        best = rank;
    }
    return chosen;
}

static spad_status read_image(spad__rt_module *module, spad_diagnostics *faults,
                              spad_error *error) {
    spad_ptx_image *image = open_image(module, error);
    if (image == NULL) return error->code;
    const size_t entry = choose_entry(image);
    spad_status status = SPAD_OK;
    if (entry < spad_ptx_image_count(image)) {
        status = spad_ptx_image_read(&module->ptx, image, entry, "module", faults, error);
    } else {
        snprintf(module->why, sizeof module->why,
                 "its module has no PTX for sm_%d; compile with -gencode "
                 "arch=compute_90a,code=compute_90a",
                 spad__rt_architecture());
    }
    spad_ptx_image_destroy(image);
    return status;
}

static void read_ptx(spad__rt_module *module) {
    spad_diagnostics *faults = NULL;
    spad_error error = {.message = ""};
    module->tried = true;
    spad_status status = spad_diagnostics_create(&faults, NULL, &error);
    if (status == SPAD_OK) {
        status = module->text
                     ? spad_ptx_create(&module->ptx, (const char *)module->image,
                                       (size_t)module->bytes, "module", NULL, faults, &error)
                     : read_image(module, faults, &error);
    }
    if (status != SPAD_OK) {
        module->ptx = NULL;
        snprintf(module->why, sizeof module->why, "%.*s", (int)sizeof module->why - 1,
                 error.message);
    }
    spad_diagnostics_destroy(faults);
}

bool spad__rt_read_kernel(const spad__rt_function *function, size_t *kernel) {
    spad__rt_module *module = function->module;
    spad_error error;
    if (!module->tried) read_ptx(module);
    if (module->ptx == NULL) return false;
    if (spad_ptx_find_kernel(kernel, module->ptx, function->name, &error) == SPAD_OK) return true;
    snprintf(module->why, sizeof module->why, "the PTX of its module does not have it");
    return false;
}

/* ---- kernels -------------------------------------------------------------------------------- */

static uint64_t hash_of_address(const void *address) {
    return spad__hash_finish((uint64_t)(uintptr_t)address);
}

static char *copy_name(const char *name) {
    size_t bytes = strlen(name) + 1;
    char *copy = spad__new(spad__rt_host(), bytes);
    return copy != NULL ? memcpy(copy, name, bytes) : NULL;
}

static void free_name(char *name) {
    if (name != NULL) spad__free(spad__rt_host(), name, strlen(name) + 1);
}

spad__rt_function *spad__rt_add_function(spad__rt_module *module, const void *host,
                                         const char *name) {
    spad__rt_function *function = spad__new(spad__rt_host(), sizeof *function);
    char *own = copy_name(name);
    if (function == NULL || own == NULL || !spad__array_reserve(spad__rt_host(), &functions, 1) ||
        !spad__index_reserve(&functions_by_address, spad__rt_host(), 2)) {
        spad__free(spad__rt_host(), function, sizeof *function);
        free_name(own);
        return NULL;
    }
    *function = (spad__rt_function){.module = module, .host = host, .name = own};
    spad__index_add(&functions_by_address, hash_of_address(function), functions.count);
    if (host != NULL)
        spad__index_add(&functions_by_address, hash_of_address(host), functions.count);
    functions.items[functions.count++] = function;
    return function;
}

spad__rt_function *spad__rt_find_function(const void *host) {
    spad__probe probe = spad__index_probe(&functions_by_address, hash_of_address(host));
    for (size_t i; host != NULL && (i = spad__probe_next(&probe)) != SPAD__NO_ITEM;) {
        spad__rt_function *function = functions.items[i];
        if (function == host || function->host == host) return function;
    }
    return NULL;
}

spad__rt_function *spad__rt_named_function(spad__rt_module *module, const char *name) {
    for (size_t i = 0; i < functions.count; i++) {
        spad__rt_function *function = functions.items[i];
        if (function->module == module && strcmp(function->name, name) == 0) return function;
    }
    spad__rt_function probe = {.module = module, .name = (char *)(uintptr_t)name};
    size_t kernel;
    if (!spad__rt_read_kernel(&probe, &kernel)) return NULL;
    return spad__rt_add_function(module, NULL, name);
}

/* ---- variables ------------------------------------------------------------------------------ */

spad__rt_variable *spad__rt_add_variable(spad__rt_module *module, const void *host,
                                         const char *name, uint64_t bytes, bool constant) {
    char *own = copy_name(name);
    if (own == NULL || !spad__array_reserve(spad__rt_host(), &module->variables, 1)) {
        free_name(own);
        return NULL;
    }
    spad__rt_variable *variable = &module->variables.items[module->variables.count++];
    *variable =
        (spad__rt_variable){.host = host, .name = own, .bytes = bytes, .constant = constant};
    return variable;
}

static spad__rt_variable *with_address(spad__rt_variable *variable) {
    if (variable->address == 0 && variable->bytes > 0) {
        variable->address = spad__rt_allocate(SPAD__RT_DEVICE, variable->bytes);
        spad__rt_block *block = spad__rt_find_block(variable->address);
        if (block != NULL) {
            block->hidden = true;
            block->constant = variable->constant;
        }
    }
    return variable->address != 0 ? variable : NULL;
}

uint64_t spad__rt_expose(const spad__rt_variable *variable) {
    spad__rt_block *block = spad__rt_find_block(variable->address);
    if (block != NULL) block->hidden = false;
    return variable->address;
}

spad__rt_variable *spad__rt_find_variable(const void *host) {
    for (size_t i = 0; i < modules.count; i++) {
        spad__rt_module *module = modules.items[i];
        for (size_t v = 0; v < module->variables.count; v++) {
            if (module->variables.items[v].host == host)
                return with_address(&module->variables.items[v]);
        }
    }
    return NULL;
}

spad__rt_variable *spad__rt_named_variable(spad__rt_module *module, const char *name) {
    for (size_t v = 0; v < module->variables.count; v++) {
        if (strcmp(module->variables.items[v].name, name) == 0)
            return with_address(&module->variables.items[v]);
    }
    return NULL;
}
