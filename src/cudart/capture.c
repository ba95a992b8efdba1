/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes launch files (docs/cuda-capture.md): one for each distinct launch of the program.
 *
 * Which memory a launch can access: blocks with an address among the parameters, in tensor maps, in
 * host-written variables of the module, and in the contents of blocks that are reached in this way.
 * Contents are recorded as far as the host wrote them. After a launch, filled bytes of the blocks
 * that it reached are unknown, since a filled buffer is there for kernels to write; copied bytes
 * stay, and a later file says that it assumes them unchanged.
 *
 * Two launches are the same if their files are, apart from blocks that they do not reach; an
 * unknown byte of a parameter stands for any other. Cost: O(parameters + contents of what is
 * reached + blocks).
 */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/text.h"
#include "cudart/cudart.h"

enum {
    CAPTURE_PATH = 1200,
    CAPTURE_LAUNCHES = 256,
    CAPTURE_ALIKE = 4,
    CAPTURE_TOTAL = 64 << 20,
    CAPTURE_WORD = 8,
    CAPTURE_PLACE_BITS = 44, /* a place is beyond all offsets */
    CAPTURE_MOST_NUMBER = 100000
};

#define CAPTURE_WINDOWS UINT64_C(0x7a0000000000)
#define CAPTURE_WINDOWS_END UINT64_C(0x800000000000)

/* A launch that has a file: its parameters, and hashes of everything else. */
typedef struct written_launch {
    uint64_t hash;
    uint64_t head; /* hash without memory contents */
    uint64_t count;
    uint8_t *parameters;
    uint8_t *origin;
} written_launch;

static SPAD_ARRAY(written_launch) launches_written;
static uint64_t written_bytes;
static bool limit_noted;

/* A launch on its way to its file. */
typedef struct capture {
    const spad__rt_launch *launch;
    SPAD_ARRAY(uint32_t) reached; /* by number of the block: its place in `found`, from 1; 0: no */
    SPAD_ARRAY(size_t) found;     /* blocks in the order in which they were reached */
    uint8_t *canonical;           /* the parameters, with places in `found` as addresses */
    spad__out tables;             /* [[memory]] and so on of what is reached */
    bool assumed;                 /* contents that an earlier launch could have changed */
    bool failed;                  /* no host memory */
} capture;

static void free_written(written_launch *w) {
    spad__free(spad__rt_host(), w->parameters, (size_t)w->count + 1);
    spad__free(spad__rt_host(), w->origin, (size_t)w->count + 1);
    *w = (written_launch){0};
}

void spad__rt_forget(void) {
    for (size_t i = 0; i < launches_written.count; i++) free_written(&launches_written.items[i]);
    launches_written.count = 0;
    written_bytes = 0;
    limit_noted = false;
    spad__rt_forget_files();
}

/* ---- files ---------------------------------------------------------------------------------- */

/* True if the file is new and was written. */
static bool write_new_file(const char *path, const char *bytes, size_t count) {
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
    if (file < 0) return false;
    size_t done = 0;
    while (done < count) {
        const ssize_t wrote = write(file, bytes + done, count - done);
        if (wrote <= 0) break;
        done += (size_t)wrote;
    }
    const bool fine = close(file) == 0 && done == count;
    if (!fine) unlink(path);
    return fine;
}

static bool is_within_limits(uint64_t bytes) {
    const uint64_t launches = spad__rt_setting("SPAD_CUDA_CAPTURE_LAUNCHES", CAPTURE_LAUNCHES);
    const uint64_t total = spad__rt_setting("SPAD_CUDA_CAPTURE_TOTAL", CAPTURE_TOTAL);
    if (launches_written.count < launches && bytes <= total && written_bytes <= total - bytes)
        return true;
    if (!limit_noted)
        spad__rt_note("further launches are not recorded: the limit is %" PRIu64
                      " launches (SPAD_CUDA_CAPTURE_LAUNCHES) and %" PRIu64
                      " B (SPAD_CUDA_CAPTURE_TOTAL)",
                      launches, total);
    limit_noted = true;
    return false;
}

bool spad__rt_write_module(spad__rt_module *module) {
    char path[CAPTURE_PATH];
    size_t length;
    if (module->file[0] != '\0') return true;
    const char *text = spad_ptx_text(module->ptx, &length);
    if (!is_within_limits(length)) return false;
    snprintf(module->file, sizeof module->file, "module-%016" PRIx64 ".ptx",
             spad__hash_text(text, length));
    snprintf(path, sizeof path, "%s/%s", spad__rt_folder(), module->file);
    if (access(path, R_OK) == 0) return true;
    if (write_new_file(path, text, length) || access(path, R_OK) == 0) {
        written_bytes += length;
        return true;
    }
    spad__rt_note("cannot write '%s'", path);
    module->file[0] = '\0';
    return false;
}

/* ---- what a launch reaches ------------------------------------------------------------------ */

static void reach_address(capture *c, uint64_t address) {
    size_t count;
    const spad__rt_block *blocks = spad__rt_blocks(&count);
    const spad__rt_block *block = spad__rt_find_block(address);
    if (block == NULL) return;
    const size_t number = (size_t)(block - blocks);
    if (c->reached.items[number] > 0) return;
    if (!spad__array_reserve(spad__rt_host(), &c->found, 1)) {
        c->failed = true;
        return;
    }
    c->found.items[c->found.count++] = number;
    c->reached.items[number] = (uint32_t)c->found.count;
}

static void write_map(capture *c, const uint8_t *bytes, const char *key, uint64_t place) {
    char text[SPAD__RT_MAP_TEXT];
    const bool described = spad__rt_describe_map(bytes, text);
    if (!described) {
        spad__out_format(&c->tables, "\n# %s 0x%" PRIx64 ": ", key, place);
        spad__out_string(&c->tables, text);
        spad__out_string(&c->tables, ", which cannot be described here\n");
        return;
    }
    spad__out_format(&c->tables, "\n[[tensormap]]\n%s = ", key);
    spad__out_format(&c->tables, *key == 'p' ? "%" PRIu64 : "0x%" PRIx64, place);
    spad__out_string(&c->tables, "\nmap = \"");
    spad__out_string(&c->tables, text);
    spad__out_string(&c->tables, "\"\n");
}

/* Looks for addresses and tensor maps in bytes that the host wrote. `origin` NULL: all of them. */
static void search_bytes(capture *c, const uint8_t *bytes, const uint8_t *origin, uint64_t count,
                         const char *key, uint64_t place) {
    for (uint64_t at = 0; at + CAPTURE_WORD <= count; at += CAPTURE_WORD) {
        uint64_t word;
        if (origin != NULL && origin[at] == SPAD__RT_UNWRITTEN) continue;
        if (at + SPAD__RT_MAP_BYTES <= count && spad__rt_is_map(bytes + at)) {
            write_map(c, bytes + at, key, place + at);
            reach_address(c, spad__rt_map_address(bytes + at));
            at += SPAD__RT_MAP_BYTES - CAPTURE_WORD;
            continue;
        }
        memcpy(&word, bytes + at, sizeof word);
        reach_address(c, word);
    }
}

static bool is_recorded(const spad__rt_block *block) {
    return block->live && block->backing != NULL && block->bytes <= spad__rt_recorded_bytes() &&
           (block->kind != SPAD__RT_DEVICE || block->origin != NULL);
}

static void search_reached(capture *c) {
    for (size_t i = 0; i < c->found.count && !c->failed; i++) {
        size_t count;
        const spad__rt_block *block = &spad__rt_blocks(&count)[c->found.items[i]];
        if (is_recorded(block))
            search_bytes(c, block->backing, block->origin, block->bytes, "address", block->address);
    }
}

/* ---- tables --------------------------------------------------------------------------------- */

static void write_hex(spad__out *out, const uint8_t *bytes, const uint8_t *origin, uint64_t count) {
    static const char digits[] = "0123456789abcdef";
    for (uint64_t i = 0; i < count; i++) {
        const char known[2] = {digits[bytes[i] >> 4], digits[bytes[i] & 15]};
        const bool unknown = origin != NULL && origin[i] == SPAD__RT_UNWRITTEN;
        spad__out_bytes(out, unknown ? ".." : known, 2);
    }
}

static bool is_all_zero(const uint8_t *bytes, uint64_t count) {
    return count == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, (size_t)count - 1) == 0);
}

/* Bytes up to the last one that is known. */
static uint64_t known_bytes(const spad__rt_block *block) {
    uint64_t count = block->bytes;
    if (block->origin == NULL) {
        const bool written = !block->reached || !is_all_zero(block->backing, count);
        return written ? count : 0;
    }
    while (count > 0 && block->origin[count - 1] == SPAD__RT_UNWRITTEN) count--;
    return count;
}

static bool is_assumed(const spad__rt_block *block) {
    if (block->origin == NULL) return block->reached;
    return memchr(block->origin, SPAD__RT_ASSUMED, (size_t)block->bytes) != NULL;
}

/* contents = "..." of a block, if there are any. */
static void write_contents(capture *c, const spad__rt_block *block) {
    const uint64_t count = is_recorded(block) ? known_bytes(block) : 0;
    if (count == 0) return;
    spad__out_string(&c->tables, "contents = \"");
    write_hex(&c->tables, block->backing, block->origin, count);
    spad__out_string(&c->tables, "\"\n");
    if (is_assumed(block)) c->assumed = true;
}

static void write_memory_head(spad__out *out, const spad__rt_block *block) {
    spad__out_format(out, "\n[[memory]]\naddress = 0x%" PRIx64 "\nbytes = %" PRIu64 "\n",
                     block->address, block->bytes);
}

static void write_variables(capture *c) {
    const spad__rt_module *module = c->launch->function->module;
    for (size_t i = 0; i < module->variables.count; i++) {
        const spad__rt_variable *variable = &module->variables.items[i];
        const spad__rt_block *block =
            variable->address != 0 ? spad__rt_find_block(variable->address) : NULL;
        if (block == NULL || !is_recorded(block) || known_bytes(block) == 0) continue;
        spad__out_string(&c->tables, "\n[[variable]]\nname = \"");
        spad__out_string(&c->tables, variable->name);
        spad__out_string(&c->tables, "\"\n");
        write_contents(c, block);
    }
}

/* Kernels access a variable by its name, unless the program took its address. Registered memory can
 * be where generic addresses have their windows (ptx_machine.h): a launch file cannot have it. */
static bool is_listed(const spad__rt_block *block) {
    const bool window = block->kind == SPAD__RT_REGISTERED && block->address >= CAPTURE_WINDOWS &&
                        block->address < CAPTURE_WINDOWS_END;
    return block->live && block->bytes > 0 && !block->hidden && !window;
}

/* Blocks that the launch reaches, with contents, and all others. */
static void write_blocks(capture *c, spad__out *others) {
    size_t count;
    const spad__rt_block *blocks = spad__rt_blocks(&count);
    for (size_t i = 0; i < count; i++) {
        const bool reached = c->reached.items[i] > 0;
        if (!is_listed(&blocks[i])) continue;
        write_memory_head(reached ? &c->tables : others, &blocks[i]);
        if (reached) write_contents(c, &blocks[i]);
    }
}

/* ---- the file ------------------------------------------------------------------------------- */

static void write_extents(spad__out *out, const char *key, const unsigned e[3]) {
    spad__out_format(out, "%s = [%u, %u, %u]\n", key, e[0], e[1], e[2]);
}

static void write_head(const capture *c, spad__out *out) {
    const spad__rt_launch *launch = c->launch;
    spad__out_string(out, "version = 1\nmodule = \"");
    spad__out_string(out, launch->function->module->file);
    spad__out_string(out, "\"\nkernel = \"");
    spad__out_string(out, launch->function->name);
    spad__out_string(out, "\"\n");
    write_extents(out, "grid", launch->grid);
    write_extents(out, "block", launch->block);
    if (launch->cluster[0] > 0) write_extents(out, "cluster", launch->cluster);
    spad__out_format(out, "smem = %" PRIu64 "\n", launch->shared_bytes);
}

static void write_parameters(const capture *c, spad__out *out) {
    const spad__rt_launch *launch = c->launch;
    spad__out_string(out, "parameters = \"");
    write_hex(out, launch->parameters, launch->origin, launch->parameter_bytes);
    spad__out_string(out, "\"\n");
    if (c->assumed)
        spad__out_string(out, "assume = \"no earlier launch changed what the host had written to "
                              "the memory of this one\"\n");
}

/* ---- equal launches ------------------------------------------------------------------------- */

/* A word of 8 bytes; an address becomes the place of its block among those that are reached, since
 * programs that rotate their buffers launch the same at other addresses. All blocks are aligned
 * alike. */
static uint64_t canonical_word(const capture *c, const uint8_t *bytes) {
    size_t count;
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    const spad__rt_block *block = spad__rt_find_block(word);
    if (block == NULL) return word;
    const uint64_t place = c->reached.items[block - spad__rt_blocks(&count)];
    return place << CAPTURE_PLACE_BITS | (word - block->address);
}

static bool is_known_word(const uint8_t *origin, uint64_t at) {
    return origin == NULL || memchr(origin + at, SPAD__RT_UNWRITTEN, CAPTURE_WORD) == NULL;
}

static uint64_t hash_contents(const capture *c, uint64_t hash, const spad__rt_block *block) {
    const uint64_t count = is_recorded(block) ? known_bytes(block) : 0;
    hash = spad__hash_add(spad__hash_add(hash, (int64_t)block->bytes), (int64_t)count);
    for (uint64_t at = 0; at < count;) {
        if (at + CAPTURE_WORD <= count && is_known_word(block->origin, at)) {
            hash = spad__hash_add(hash, (int64_t)canonical_word(c, block->backing + at));
            at += CAPTURE_WORD;
            continue;
        }
        const bool known = block->origin == NULL || block->origin[at] != SPAD__RT_UNWRITTEN;
        hash = spad__hash_add(hash, known ? block->backing[at] : -1);
        at++;
    }
    return hash;
}

/* Adds what a launch reaches. */
static uint64_t hash_memory(const capture *c, uint64_t hash) {
    const spad__rt_module *module = c->launch->function->module;
    size_t count;
    const spad__rt_block *blocks = spad__rt_blocks(&count);
    for (size_t i = 0; i < c->found.count; i++)
        hash = hash_contents(c, hash, &blocks[c->found.items[i]]);
    for (size_t i = 0; i < module->variables.count; i++) {
        const uint64_t address = module->variables.items[i].address;
        const spad__rt_block *block = address != 0 ? spad__rt_find_block(address) : NULL;
        if (block != NULL) hash = spad__hash_add(hash, c->reached.items[block - blocks]);
    }
    return hash;
}

/* False: no host memory. */
static bool make_canonical(capture *c) {
    const spad__rt_launch *launch = c->launch;
    c->canonical = spad__new(spad__rt_host(), (size_t)launch->parameter_bytes + 1);
    if (c->canonical == NULL) return false;
    memcpy(c->canonical, launch->parameters, (size_t)launch->parameter_bytes);
    for (uint64_t at = 0; at + CAPTURE_WORD <= launch->parameter_bytes; at += CAPTURE_WORD) {
        if (!is_known_word(launch->origin, at)) continue;
        const uint64_t word = canonical_word(c, launch->parameters + at);
        memcpy(c->canonical + at, &word, sizeof word);
    }
    return true;
}

/* Do the parameters of an earlier file stand for those of the launch: the same or unknown bytes? */
static bool covers(const written_launch *w, const capture *c) {
    const spad__rt_launch *launch = c->launch;
    if (w->count != launch->parameter_bytes) return false;
    for (uint64_t i = 0; i < w->count; i++) {
        if (w->origin[i] == SPAD__RT_UNWRITTEN) continue;
        if (launch->origin[i] == SPAD__RT_UNWRITTEN || c->canonical[i] != w->parameters[i])
            return false;
    }
    return true;
}

/* Is a launch new? Of launches that differ in memory contents alone, such as random data, the first
 * few count. */
static bool is_distinct(const capture *c, uint64_t hash, uint64_t head) {
    spad__rt_function *function = c->launch->function;
    int alike = 0;
    for (size_t i = 0; i < launches_written.count; i++) {
        const written_launch *w = &launches_written.items[i];
        if (w->head != head || !covers(w, c)) continue;
        if (w->hash == hash) return false;
        alike++;
    }
    if (alike < CAPTURE_ALIKE) return true;
    if (!function->alike_noted)
        spad__rt_note("kernel %s: further launches that differ in memory contents alone are not "
                      "recorded",
                      function->name);
    function->alike_noted = true;
    return false;
}

/* False: no host memory. */
static bool remember(const capture *c, uint64_t hash, uint64_t head) {
    const spad__rt_launch *launch = c->launch;
    const size_t count = (size_t)launch->parameter_bytes;
    if (!spad__array_reserve(spad__rt_host(), &launches_written, 1)) return false;
    written_launch w = {.hash = hash,
                        .head = head,
                        .count = count,
                        .parameters = spad__new(spad__rt_host(), count + 1),
                        .origin = spad__new(spad__rt_host(), count + 1)};
    if (w.parameters == NULL || w.origin == NULL) {
        free_written(&w);
        return false;
    }
    memcpy(w.parameters, c->canonical, count);
    memcpy(w.origin, launch->origin, count);
    launches_written.items[launches_written.count++] = w;
    return true;
}

/* Takes the next free number, since several processes may write into one folder. */
static void write_launch_file(const spad__memo *text) {
    char path[CAPTURE_PATH] = "";
    bool done = false;
    for (size_t number = launches_written.count; !done && number < CAPTURE_MOST_NUMBER; number++) {
        snprintf(path, sizeof path, "%s/launch-%04zu.toml", spad__rt_folder(), number);
        if (access(path, F_OK) != 0)
            done = write_new_file(path, text->text.items, text->text.count);
        if (!done && access(path, F_OK) != 0) break;
    }
    if (!done) spad__rt_note("cannot write '%s'", path);
    written_bytes += text->text.count;
}

static void finish_file(capture *c, spad__memo *tables, spad__memo *others) {
    spad__memo whole = {.host = spad__rt_host()};
    const spad_sink sink = spad__memo_sink(&whole);
    spad__out out;
    spad__out_start(&out, &sink);
    write_head(c, &out);
    bool fine = spad__out_finish(&out, NULL) == SPAD_OK && make_canonical(c);
    const uint64_t head = fine ? spad__hash_text(whole.text.items, whole.text.count) : 0;
    const uint64_t hash = fine ? hash_memory(c, head) : 0;
    const bool distinct = fine && is_distinct(c, hash, head);
    write_parameters(c, &out);
    spad__out_bytes(&out, tables->text.items, tables->text.count);
    spad__out_bytes(&out, others->text.items, others->text.count);
    fine = spad__out_finish(&out, NULL) == SPAD_OK && fine;
    if (fine && distinct && is_within_limits(whole.text.count)) {
        fine = remember(c, hash, head);
        if (fine) write_launch_file(&whole);
    }
    if (!fine) c->failed = true;
    spad__free(spad__rt_host(), c->canonical, (size_t)c->launch->parameter_bytes + 1);
    spad__memo_free(&whole);
}

static void note_reached(const capture *c) {
    size_t count;
    spad__rt_block *blocks = spad__rt_blocks(&count);
    for (size_t i = 0; i < count; i++) {
        if (c->reached.items[i] > 0) spad__rt_reach(&blocks[i]);
    }
}

static void record(capture *c) {
    spad__memo tables = {.host = spad__rt_host()}, others = {.host = spad__rt_host()};
    const spad_sink tables_sink = spad__memo_sink(&tables), others_sink = spad__memo_sink(&others);
    const spad__rt_module *module = c->launch->function->module;
    spad__out rest;
    spad__out_start(&c->tables, &tables_sink);
    spad__out_start(&rest, &others_sink);
    search_bytes(c, c->launch->parameters, c->launch->origin, c->launch->parameter_bytes,
                 "parameter", 0);
    for (size_t i = 0; i < module->variables.count; i++)
        reach_address(c, module->variables.items[i].address);
    search_reached(c);
    write_variables(c);
    write_blocks(c, &rest);
    const bool fine = spad__out_finish(&c->tables, NULL) == SPAD_OK &&
                      spad__out_finish(&rest, NULL) == SPAD_OK && !c->failed;
    if (fine && spad__rt_write_module(c->launch->function->module))
        finish_file(c, &tables, &others);
    if (!fine) c->failed = true;
    note_reached(c);
    spad__memo_free(&tables);
    spad__memo_free(&others);
}

void spad__rt_capture(const spad__rt_launch *launch) {
    capture c = {.launch = launch};
    size_t count;
    (void)spad__rt_blocks(&count);
    if (spad__array_reserve(spad__rt_host(), &c.reached, count + 1)) {
        memset(c.reached.items, 0, c.reached.capacity * sizeof *c.reached.items);
        record(&c);
    } else {
        c.failed = true;
    }
    if (c.failed)
        spad__rt_note("kernel %s is not recorded: no host memory", launch->function->name);
    spad__array_free(spad__rt_host(), &c.reached);
    spad__array_free(spad__rt_host(), &c.found);
}
