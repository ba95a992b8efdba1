/* SPDX-License-Identifier: Apache-2.0
 *
 * The public calls about files with PTX in them: lists entries, unpacks texts, and chooses the
 * module that has a kernel. An entry is unpacked when it is read, so that a large library costs as
 * much as the modules that are looked at.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "frontend/ptx/image/fatbin.h"
#include "frontend/ptx/image/lz4.h"
#include "frontend/ptx/ptx_handle.h"

struct spad_ptx_image {
    spad_host host;
    spad_ptx_image_options options;
    spad__fatbin_entries entries;
};

/* ---- the list ---------------------------------------------------------------------- */

bool spad_ptx_image_detect(const void *bytes, size_t length) {
    return spad__fatbin_detect(bytes, length);
}

spad_status spad_ptx_image_create(spad_ptx_image **out, const void *bytes, size_t length,
                                  const spad_ptx_image_options *options, spad_error *error) {
    const spad_host own = spad__host_or_default(options != NULL ? options->host : NULL);
    *out = NULL;
    spad_ptx_image *image = spad__new(&own, sizeof *image);
    if (image == NULL) return spad__fail_host_memory(error);
    image->host = own;
    if (options != NULL) image->options = *options;
    const spad_status status =
        spad__fatbin_list(&image->entries, bytes, length, &image->host, error);
    if (status != SPAD_OK) {
        spad_ptx_image_destroy(image);
        return status;
    }
    *out = image;
    return SPAD_OK;
}

void spad_ptx_image_destroy(spad_ptx_image *image) {
    if (image == NULL) return;
    const spad_host host = image->host;
    spad__fatbin_entries_free(&image->entries, &host);
    spad__free(&host, image, sizeof *image);
}

size_t spad_ptx_image_count(const spad_ptx_image *image) {
    return image->entries.list.count;
}

static void write_arch(char field[16], const spad__fatbin_entry *e) {
    const char family[2] = {e->family, '\0'};
    snprintf(field, 16, "sm_%d%s", (int)e->chip, family);
}

spad_ptx_image_entry spad_ptx_image_get(const spad_ptx_image *image, size_t index) {
    const spad__fatbin_entry *e = &image->entries.list.items[index];
    spad_ptx_image_entry entry = {.unit = (size_t)e->fatbin, .ptx = e->kind == SPAD__FATBIN_PTX};
    write_arch(entry.arch, e);
    if (e->name_length < sizeof entry.source) memcpy(entry.source, e->name, e->name_length);
    return entry;
}

/* ---- texts ------------------------------------------------------------------------- */

static spad_status unpack_entry(const spad_ptx_image *image, const spad__fatbin_entry *e,
                                uint8_t *to, spad_error *error) {
    if (e->packing == SPAD__FATBIN_LZ4) {
        if (spad__lz4_unpack(to, e->unpacked, e->bytes, e->length)) return SPAD_OK;
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "a PTX text of the file cannot be unpacked (LZ4): the file is damaged");
    }
    if (image->options.unpack_zstd != NULL)
        return image->options.unpack_zstd(to, e->unpacked, e->bytes, e->length, error);
    return spad__fail(error, SPAD_ERR_CAPABILITY,
                      "the PTX is packed with zstd: compile with 'nvcc --compress-mode=speed'");
}

/* Fatbins end a text with zeros. */
static size_t length_of_text(const uint8_t *text, size_t length) {
    while (length > 0 && text[length - 1] == 0) length--;
    return length;
}

static spad_status read_entry_text(spad_ptx **out, const spad_ptx_image *image,
                                   const spad__fatbin_entry *e, const char *file,
                                   spad_diagnostics *diagnostics, spad_error *error) {
    const uint8_t *text = e->bytes;
    uint8_t *own = NULL;
    spad_status status = SPAD_OK;
    if (e->packing != SPAD__FATBIN_PLAIN) {
        own = spad__new(&image->host, e->unpacked + 1);
        if (own == NULL) return spad__fail_host_memory(error);
        text = own;
        status = unpack_entry(image, e, own, error);
    }
    if (status == SPAD_OK) {
        const size_t length = length_of_text(text, e->unpacked);
        status = spad_ptx_create(out, (const char *)text, length, file, &image->host, diagnostics,
                                 error);
    }
    spad__free(&image->host, own, own != NULL ? e->unpacked + 1 : 0);
    return status;
}

spad_status spad_ptx_image_read(spad_ptx **out, const spad_ptx_image *image, size_t index,
                                const char *file, spad_diagnostics *diagnostics,
                                spad_error *error) {
    *out = NULL;
    const spad__fatbin_entry *e = &image->entries.list.items[index];
    if (e->kind != SPAD__FATBIN_PTX) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "entry %zu is machine code for sm_%d, not PTX: choose another one", index,
                          (int)e->chip);
    }
    return read_entry_text(out, image, e, file, diagnostics, error);
}

/* ---- the module with a kernel -------------------------------------------------------- */

/* "sm_90a, sm_100": the architectures of all entries of a kind. */
static int list_architectures(char *field, size_t size, const spad_ptx_image *image, bool ptx) {
    size_t used = 0;
    int listed = 0;
    field[0] = '\0';
    for (size_t i = 0; i < image->entries.list.count && listed < 8; i++) {
        const spad__fatbin_entry *e = &image->entries.list.items[i];
        char arch[16];
        if ((e->kind == SPAD__FATBIN_PTX) != ptx) continue;
        write_arch(arch, e);
        const char *found = strstr(field, arch);
        const char after = found != NULL ? found[strlen(arch)] : 'x';
        if (after == ',' || after == '\0') continue;
        used = spad__append(field, size, used, "%s%s", listed > 0 ? ", " : "", arch);
        listed++;
    }
    return listed;
}

/* "90a" of "sm_90a", "compute_90a" or "90a". */
static const char *number_of_arch(const char *arch) {
    const char *line = strrchr(arch, '_');
    return line != NULL ? line + 1 : arch;
}

static bool is_for_arch(const spad__fatbin_entry *e, const char *arch) {
    char own[16];
    write_arch(own, e);
    return strcmp(number_of_arch(own), number_of_arch(arch)) == 0;
}

/* Is an entry newer than another one? Of one chip, the text with all of its features: 'a' before
 * 'f' before none. */
static bool is_newer(const spad__fatbin_entry *a, const spad__fatbin_entry *b) {
    const int rank_a = a->family == 'a' ? 2 : a->family == 'f',
              rank_b = b->family == 'a' ? 2 : b->family == 'f';
    return a->chip != b->chip ? a->chip > b->chip : rank_a > rank_b;
}

/* The entry of a translation unit that counts, at or after *at; NULL: there are no more units. */
static const spad__fatbin_entry *next_chosen(const spad_ptx_image *image, const char *arch,
                                             size_t *at) {
    const spad__fatbin_entry *chosen = NULL;
    for (; *at < image->entries.list.count; (*at)++) {
        const spad__fatbin_entry *e = &image->entries.list.items[*at];
        if (chosen != NULL && e->fatbin != chosen->fatbin) break;
        if (e->kind != SPAD__FATBIN_PTX || (arch != NULL && !is_for_arch(e, arch))) continue;
        if (chosen == NULL || is_newer(e, chosen)) chosen = e;
    }
    return chosen;
}

static spad_status fail_without_ptx(const spad_ptx_image *image, const char *arch,
                                    spad_error *error) {
    char list[128];
    if (image->entries.cubin) {
        return spad__fail(error, SPAD_ERR_UNKNOWN,
                          "a cubin: machine code without PTX; compile with 'nvcc -fatbin -gencode "
                          "arch=compute_90a,code=compute_90a', or pass the .cu file");
    }
    if (list_architectures(list, sizeof list, image, true) > 0) {
        return spad__fail(error, SPAD_ERR_UNKNOWN, "there is no PTX for '%.32s', only for %s", arch,
                          list);
    }
    if (list_architectures(list, sizeof list, image, false) == 0)
        return spad__fail(error, SPAD_ERR_UNKNOWN, "there is no CUDA code in the file");
    return spad__fail(error, SPAD_ERR_UNKNOWN,
                      "machine code for %s and no PTX: compile with '-gencode "
                      "arch=compute_90a,code=compute_90a' in addition",
                      list);
}

static spad_status fail_modules(size_t modules, size_t found, const char *kernel,
                                spad_error *error) {
    if (kernel == NULL || found > 0) {
        return spad__fail(error, SPAD_ERR_UNKNOWN,
                          "kernels of several modules match: name one with --kernel; 'spad cuda "
                          "list' shows them");
    }
    return spad__fail(error, SPAD_ERR_UNKNOWN,
                      "no kernel of %zu modules matches '%.80s'; 'spad cuda list' shows them",
                      modules, kernel);
}

/* The modules that have been looked at. */
typedef struct module_search {
    const char *kernel;
    spad_ptx *found; /* the first with a kernel that matches */
    size_t matches;
    size_t modules;
} module_search;

/* Takes a module, which it frees unless it is the one. Several modules may have the same kernel: an
 * instance of one template. */
static void offer_module(module_search *s, spad_ptx *ptx) {
    size_t kernel, other;
    const size_t matches = spad__ptx_match_kernels(&kernel, ptx, s->kernel);
    s->modules++;
    if (matches > 0 && s->found == NULL) {
        s->found = ptx;
        s->matches = matches;
        return;
    }
    if (matches > 0) {
        (void)spad__ptx_match_kernels(&other, s->found, s->kernel);
        const bool same =
            matches == 1 && strcmp(spad__ptx_kernel_function(ptx, kernel)->name,
                                   spad__ptx_kernel_function(s->found, other)->name) == 0;
        if (!same) s->matches += matches;
    }
    spad_ptx_destroy(ptx);
}

/* Is there one text alone? Then it is the module, whatever its kernels are. */
static const spad__fatbin_entry *only_chosen(const spad_ptx_image *image, const char *arch) {
    size_t at = 0;
    const spad__fatbin_entry *first = next_chosen(image, arch, &at);
    return first != NULL && next_chosen(image, arch, &at) == NULL ? first : NULL;
}

spad_status spad_ptx_image_find(spad_ptx **out, const spad_ptx_image *image, const char *arch,
                                const char *kernel, const char *file, spad_diagnostics *diagnostics,
                                spad_error *error) {
    module_search search = {.kernel = kernel};
    const spad__fatbin_entry *e = only_chosen(image, arch);
    size_t at = 0;
    *out = NULL;
    if (e != NULL) return read_entry_text(out, image, e, file, diagnostics, error);
    while ((e = next_chosen(image, arch, &at)) != NULL) {
        spad_ptx *ptx;
        const spad_status status = read_entry_text(&ptx, image, e, file, diagnostics, error);
        if (status != SPAD_OK) {
            spad_ptx_destroy(search.found);
            return status;
        }
        offer_module(&search, ptx);
    }
    if (search.modules == 0) return fail_without_ptx(image, arch, error);
    if (search.matches != 1) {
        spad_ptx_destroy(search.found);
        return fail_modules(search.modules, search.matches, kernel, error);
    }
    *out = search.found;
    return SPAD_OK;
}
