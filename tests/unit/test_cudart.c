/* SPDX-License-Identifier: Apache-2.0
 *
 * The capture runtime, called as a program that nvcc compiled calls it: its memory, what it writes
 * for a launch, what it remembers between launches, and its limits. tests/check_capture runs a
 * whole program on the shared library. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cudart/cudart.h"
#include "support/support.h"

/* Entry points that the tests call. */
void **__cudaRegisterFatBinary(void *wrapper);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int threads, void *tid, void *bid, void *block, void *grid, int *warp);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external,
                       size_t bytes, int constant, int global);
int cudaMalloc(void **out, size_t bytes);
int cudaMallocManaged(void **out, size_t bytes, unsigned flags);
int cudaFree(void *pointer);
int cudaMemcpy(void *to, const void *from, size_t bytes, int kind);
int cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                 size_t height, int kind);
int cudaMemset(void *to, int value, size_t bytes);
int cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset, int kind);
int cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset, int kind);
int cudaGetSymbolAddress(void **out, const void *symbol);
int cudaGetLastError(void);
const char *cudaGetErrorName(int code);
int cudaLaunchKernel(const void *kernel, spad__rt_dim3 grid, spad__rt_dim3 block, void **arguments,
                     size_t shared, void *stream);
int cudaFuncSetAttribute(const void *kernel, int attribute, int value);
int cudaFuncGetAttributes(void *out, const void *kernel);
int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *kernel, int threads,
                                                  size_t shared);
int cudaCreateTextureObject(void);
int cudaDeviceGetAttribute(int *value, int attribute, int device);
int cuModuleLoadData(void **module, const void *image);
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuModuleUnload(void *module);
int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                   void *stream, void **arguments, void **extra);
int cuTensorMapEncodeTiled(void *out, unsigned type, unsigned dims, void *address,
                           const uint64_t *extents, const uint64_t *strides, const uint32_t *box,
                           const uint32_t *steps, unsigned interleave, unsigned swizzle,
                           unsigned promotion, unsigned fill);
int cuTensorMapReplaceAddress(void *map, void *address);

enum { KIB = 1024, OPTIN_SHARED = 227 * KIB };

static char capture_folder[] = "/tmp/spad-test-cudart-XXXXXX";

/* ---- modules -------------------------------------------------------------------------------- */

/* A fatbin with one entry, as __cudaRegisterFatBinary gets it. */
typedef struct test_fatbin {
    struct {
        int mark;
        int version;
        const void *data;
        const void *file;
    } wrapper;
    uint8_t *bytes;
} test_fatbin;

static void put_number(uint8_t *bytes, size_t at, uint64_t value, size_t size) {
    memcpy(bytes + at, &value, size);
}

/* One entry of a fatbin: PTX (kind 1) or machine code (2). */
typedef struct test_entry {
    const char *text;
    uint64_t kind;
    uint64_t chip;
    bool chip_only; /* sm_90a */
} test_entry;

static size_t padded_length(const char *text) {
    return (strlen(text) + 8) / 8 * 8;
}

static test_fatbin make_fatbin_of(const test_entry *entries, size_t count) {
    test_fatbin f = {.wrapper = {.mark = 0x466243b1, .version = 1}};
    size_t bytes = 0, at = 16;
    for (size_t i = 0; i < count; i++) bytes += 64 + padded_length(entries[i].text);
    f.bytes = calloc(1, 16 + bytes);
    assert_non_null(f.bytes);
    put_number(f.bytes, 0, 0xba55ed50, 4);
    put_number(f.bytes, 4, 1, 2);
    put_number(f.bytes, 6, 16, 2);
    put_number(f.bytes, 8, bytes, 8);
    for (size_t i = 0; i < count; i++) {
        const size_t padded = padded_length(entries[i].text);
        put_number(f.bytes, at, entries[i].kind, 2);
        put_number(f.bytes, at + 4, 64, 4);
        put_number(f.bytes, at + 8, padded, 8);
        put_number(f.bytes, at + 28, entries[i].chip, 4);
        put_number(f.bytes, at + 40, entries[i].chip_only ? 0x100000 : 0, 8);
        memcpy(f.bytes + at + 64, entries[i].text, strlen(entries[i].text));
        at += 64 + padded;
    }
    f.wrapper.data = f.bytes;
    return f;
}

static test_fatbin make_fatbin(const char *text, uint64_t kind) {
    return make_fatbin_of(&(test_entry){.text = text, .kind = kind, .chip = 80}, 1);
}

static void register_kernel(void **handle, const char *host, const char *name) {
    __cudaRegisterFunction(handle, host, NULL, name, -1, NULL, NULL, NULL, NULL, NULL);
}

#define KERNELS                                                                       \
    ".version 9.0\n.target sm_80\n.address_size 64\n.const .align 4 .b8 table[16];\n" \
    ".global .align 4 .b8 counts[16];\n"                                              \
    ".entry two(.param .u64 a, .param .u32 n) { ret; }\n"                             \
    ".entry mapped(.param .align 64 .b8 map[128], .param .u64 out) { ret; }\n"        \
    ".entry none() .maxntid 256 { .shared .align 16 .b8 s[4096]; .reg .b32 %r<2>;\n"  \
    "mov.u32 %r1, s; ret; }\n"

static const char two = 0, mapped = 0, none = 0, missing = 0; /* host functions: addresses count */
static char table[16], counts[16];
static test_fatbin kernels;
static void **kernels_handle;

/* Every test has files and limits of its own. */
static void empty_folder(void) {
    DIR *folder = opendir(capture_folder);
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] != '.') unlinkat(dirfd(folder), entry->d_name, 0);
    }
    closedir(folder);
}

static int open_tests(void **state) {
    (void)state;
    if (mkdtemp(capture_folder) == NULL) return -1;
    setenv("SPAD_CUDA_CAPTURE", capture_folder, 1);
    kernels = make_fatbin(KERNELS, 1);
    kernels_handle = __cudaRegisterFatBinary(&kernels.wrapper);
    register_kernel(kernels_handle, &two, "two");
    register_kernel(kernels_handle, &mapped, "mapped");
    register_kernel(kernels_handle, &none, "none");
    register_kernel(kernels_handle, &missing, "missing");
    __cudaRegisterVar(kernels_handle, table, NULL, "table", 0, sizeof table, 1, 0);
    __cudaRegisterVar(kernels_handle, counts, NULL, "counts", 0, sizeof counts, 0, 1);
    return 0;
}

static int close_tests(void **state) {
    (void)state;
    __cudaUnregisterFatBinary(kernels_handle);
    free(kernels.bytes);
    empty_folder();
    return rmdir(capture_folder);
}

static int start_test(void **state) {
    (void)state;
    empty_folder();
    spad__rt_forget();
    unsetenv("SPAD_CUDA_CAPTURE_LAUNCHES");
    unsetenv("SPAD_CUDA_CAPTURE_TOTAL");
    unsetenv("SPAD_CUDA_CAPTURE_BYTES");
    return 0;
}

/* ---- files ---------------------------------------------------------------------------------- */

/* A file of the capture; NULL: there is none. Freed by the caller. */
static char *captured(const char *name) {
    char path[200];
    snprintf(path, sizeof path, "%s/%s", capture_folder, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL) return NULL;
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
    fclose(file);
    return text;
}

static void assert_captured(int number, const char *part, bool expected) {
    char name[40];
    snprintf(name, sizeof name, "launch-%04d.toml", number);
    char *text = captured(name);
    assert_non_null(text);
    if ((strstr(text, part) != NULL) != expected)
        fail_msg("%s: '%s' is %s in\n%s", name, part, expected ? "not" : "there", text);
    free(text);
}

static int launch_count(void) {
    int count = 0;
    DIR *folder = opendir(capture_folder);
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count += strncmp(entry->d_name, "launch-", 7) == 0;
    closedir(folder);
    return count;
}

static int launch_two(void *a, unsigned n) {
    void *arguments[] = {&a, &n};
    return cudaLaunchKernel(&two, (spad__rt_dim3){4, 1, 1}, (spad__rt_dim3){128, 1, 1}, arguments,
                            0, NULL);
}

/* ---- memory --------------------------------------------------------------------------------- */

static void copies_are_real(void **state) {
    (void)state;
    int from[64], to[64] = {0};
    void *a, *b;
    for (int i = 0; i < 64; i++) from[i] = i * 3;
    assert_int_equal(cudaMalloc(&a, sizeof from), 0);
    assert_int_equal(cudaMalloc(&b, sizeof from), 0);
    assert_int_equal(cudaMemcpy(a, from, sizeof from, 1), 0);
    assert_int_equal(cudaMemcpy((char *)b + 4, a, sizeof from - 4, 3), 0);
    assert_int_equal(cudaMemset(b, 1, 4), 0);
    assert_int_equal(cudaMemcpy(to, b, sizeof to, 2), 0);
    assert_int_equal(to[0], 0x01010101);
    for (int i = 1; i < 64; i++) assert_int_equal(to[i], (i - 1) * 3);
    /* 2 rows of 8 bytes out of rows of 32 */
    assert_int_equal(cudaMemcpy2D(to, 16, a, 32, 8, 2, 2), 0);
    assert_int_equal(to[5], 9 * 3);
    cudaFree(a);
    cudaFree(b);
}

static void ranges_are_checked(void **state) {
    (void)state;
    char bytes[64] = {0};
    void *a, *b;
    assert_int_equal(cudaMalloc(&a, 32), 0);
    assert_int_equal(cudaMalloc(&b, 32), 0);
    assert_true((uintptr_t)b - (uintptr_t)a > 1 << 20);
    assert_int_equal(cudaMemcpy(a, bytes, 33, 1), SPAD__RT_INVALID_VALUE);
    assert_int_equal(cudaMemset((char *)a + 32, 0, 1), SPAD__RT_INVALID_VALUE);
    assert_int_equal(cudaGetLastError(), SPAD__RT_INVALID_VALUE);
    assert_int_equal(cudaGetLastError(), 0);
    assert_string_equal(cudaGetErrorName(SPAD__RT_INVALID_VALUE), "cudaErrorInvalidValue");
    assert_int_equal(cudaFree((char *)a + 1), SPAD__RT_INVALID_VALUE);
    assert_int_equal(cudaFree(a), 0);
    assert_int_equal(cudaMemcpy(bytes, a, 1, 2), SPAD__RT_INVALID_VALUE);
    assert_int_equal(cudaFree(a), SPAD__RT_INVALID_VALUE);
    void *again;
    assert_int_equal(cudaMalloc(&again, 32), 0);
    assert_ptr_equal(again, a); /* the same launches have the same addresses */
    assert_int_equal(cudaMalloc(&a, (size_t)1 << 40), SPAD__RT_OUT_OF_MEMORY);
    assert_null(a);
    cudaFree(again);
    cudaFree(b);
}

static void managed_memory_is_host_memory(void **state) {
    (void)state;
    void *managed, *device;
    assert_int_equal(cudaMallocManaged(&managed, 8, 0), 0);
    assert_true((uintptr_t)managed < UINT64_C(0x7a0000000000)); /* no generic address */
    *(int64_t *)managed = 77;
    assert_int_equal(cudaMalloc(&device, 8), 0);
    assert_int_equal(cudaMemcpy(device, managed, 8, 4), 0);
    *(int64_t *)managed = 0;
    assert_int_equal(cudaMemcpy(managed, device, 8, 4), 0);
    assert_int_equal(*(int64_t *)managed, 77);
    cudaFree(managed);
    cudaFree(device);
}

/* ---- launch files --------------------------------------------------------------------------- */

static void a_launch_becomes_a_file(void **state) {
    (void)state;
    const uint8_t bytes[4] = {1, 2, 0xab, 4};
    char expected[800];
    void *a, *b;
    assert_int_equal(cudaMalloc(&a, 8), 0);
    assert_int_equal(cudaMalloc(&b, 64), 0);
    assert_int_equal(cudaMemcpy((char *)a + 2, bytes, 4, 1), 0);
    assert_int_equal(launch_two(a, 0x1234), 0);
    assert_captured(1, "version = 1\nmodule = \"module-", true);
    uint8_t parameters[12] = {0};
    memcpy(parameters, &a, 8);
    parameters[8] = 0x34, parameters[9] = 0x12;
    int used = snprintf(expected, sizeof expected,
                        "kernel = \"two\"\ngrid = [4, 1, 1]\nblock = [128, 1, 1]\nsmem = 0\n"
                        "parameters = \"");
    for (int i = 0; i < 12; i++) used += sprintf(expected + used, "%02x", parameters[i]);
    snprintf(expected + used, sizeof expected - (size_t)used,
             "\"\n\n[[memory]]\naddress = 0x%llx\nbytes = 8\ncontents = \"....0102ab04\"\n"
             "\n[[memory]]\naddress = 0x%llx\nbytes = 64\n",
             (unsigned long long)(uintptr_t)a, (unsigned long long)(uintptr_t)b);
    assert_captured(1, expected, true);
    cudaFree(a);
    cudaFree(b);
}

static void the_module_is_a_file(void **state) {
    (void)state;
    char name[80];
    assert_int_equal(launch_two(NULL, 0), 0);
    char *text = captured("launch-0001.toml");
    assert_non_null(text);
    assert_int_equal(sscanf(text, "version = 1\nmodule = \"%79[^\"]", name), 1);
    char *module = captured(name);
    assert_non_null(module);
    assert_string_equal(module, KERNELS);
    free(module);
    free(text);
}

/* The same launch again makes no file; one with other bytes or extents does. */
static void launches_are_distinct(void **state) {
    (void)state;
    void *a;
    int value = 5;
    assert_int_equal(cudaMalloc(&a, 4), 0);
    assert_int_equal(cudaMemcpy(a, &value, 4, 1), 0);
    for (int i = 0; i < 3; i++) assert_int_equal(launch_two(a, 1), 0);
    assert_int_equal(launch_count(), 1);
    assert_int_equal(launch_two(a, 2), 0);
    value = 6;
    assert_int_equal(cudaMemcpy(a, &value, 4, 1), 0);
    assert_int_equal(launch_two(a, 1), 0);
    assert_int_equal(launch_count(), 3);
    assert_captured(3, "contents = \"06000000\"", true);
    cudaFree(a);
}

/* Buffers at other addresses are the same launch, also where an address is in memory; two
 * parameters that are one buffer are not. */
static void addresses_do_not_count(void **state) {
    (void)state;
    void *a[3];
    for (int i = 0; i < 3; i++) assert_int_equal(cudaMalloc(&a[i], 64 + 8 * (i == 2)), 0);
    assert_int_equal(launch_two(a[0], 1), 0);
    assert_int_equal(launch_two(a[1], 1), 0);
    assert_int_equal(launch_count(), 1);
    assert_int_equal(launch_two((char *)a[1] + 8, 1), 0);
    assert_int_equal(launch_two(a[2], 1), 0); /* another size */
    assert_int_equal(launch_count(), 3);
    assert_int_equal(cudaMemcpy(a[2], &a[0], 8, 1), 0);
    assert_int_equal(launch_two(a[2], 1), 0);
    assert_int_equal(cudaMemcpy(a[2], &a[1], 8, 1), 0);
    assert_int_equal(launch_two(a[2], 1), 0);
    assert_int_equal(launch_count(), 4);
    assert_int_equal(cudaMemcpy(a[2], &a[2], 8, 1), 0);
    assert_int_equal(launch_two(a[2], 1), 0);
    assert_int_equal(launch_count(), 5);
    for (int i = 0; i < 3; i++) cudaFree(a[i]);
}

static void assert_noted(const char *part);

/* Of launches with other data, the first four count. */
static void few_differ_in_contents_alone(void **state) {
    (void)state;
    void *a;
    assert_int_equal(cudaMalloc(&a, 8), 0);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(cudaMemcpy(a, &i, 4, 1), 0);
        assert_int_equal(launch_two(a, 1), 0);
    }
    assert_int_equal(launch_count(), 4);
    assert_noted("kernel two: further launches that differ in memory contents alone are not");
    assert_int_equal(launch_two(a, 2), 0);
    assert_int_equal(launch_count(), 5);
    cudaFree(a);
}

/* Bytes that are addresses of the stack are padding: unknown, and no reason for another file. */
static void padding_does_not_count(void **state) {
    (void)state;
    char *here = (char *)&state;
    assert_int_equal(launch_two(here, 1), 0);
    assert_captured(1, "parameters = \"................01000000\"", true);
    assert_int_equal(launch_two(here + 256, 1), 0);
    assert_int_equal(launch_two((void *)(uintptr_t)0x5555, 1), 0); /* it stands for any value */
    assert_int_equal(launch_count(), 1);
    const uint64_t far = (uint64_t)(uintptr_t)here ^ 0x80000000;
    const unsigned char *low = (const unsigned char *)&far;
    char expected[80];
    assert_int_equal(launch_two((void *)(uintptr_t)far, 2), 0);
    snprintf(expected, sizeof expected, "parameters = \"%02x%02x%02x%02x........02000000\"", low[0],
             low[1], low[2], low[3]);
    assert_captured(2, expected, true);
}

/* What a launch could have written: filled bytes are unknown, copied ones are assumed. */
static void earlier_launches_count(void **state) {
    (void)state;
    void *copied, *filled, *inside;
    assert_int_equal(cudaMalloc(&copied, 8), 0);
    assert_int_equal(cudaMalloc(&filled, 4), 0);
    assert_int_equal(cudaMalloc(&inside, 4), 0);
    assert_int_equal(cudaMemset(filled, 7, 4), 0);
    assert_int_equal(cudaMemset(inside, 8, 4), 0);
    assert_int_equal(cudaMemcpy(copied, &inside, 8, 1), 0);
    assert_int_equal(launch_two(filled, 1), 0);
    assert_captured(1, "contents = \"07070707\"", true);
    assert_captured(1, "08080808", false); /* not reached */
    assert_int_equal(launch_two(copied, 1), 0);
    assert_captured(2, "contents = \"08080808\"", true); /* through the address in `copied` */
    assert_captured(2, "assume = ", false);
    assert_int_equal(launch_two(copied, 2), 0);
    assert_captured(3, "08080808", false);
    assert_captured(3, "assume = \"no earlier launch changed what the host had written", true);
    assert_int_equal(launch_two(filled, 2), 0);
    assert_captured(4, "contents", false);
    assert_int_equal(cudaMemset(filled, 0, 4), 0);
    assert_int_equal(launch_two(filled, 3), 0);
    assert_captured(5, "contents = \"00000000\"", true);
    cudaFree(copied);
    cudaFree(filled);
    cudaFree(inside);
}

/* Memory that was never written to has no pages yet. */
static void zeros_of_new_memory_are_recorded(void **state) {
    (void)state;
    void *zeros;
    assert_int_equal(cudaMalloc(&zeros, 4), 0);
    assert_int_equal(cudaMemset(zeros, 0, 4), 0);
    assert_int_equal(launch_two(zeros, 1), 0);
    assert_captured(1, "contents = \"00000000\"", true);
    cudaFree(zeros);
}

static void variables_are_recorded(void **state) {
    (void)state;
    const int values[2] = {1, 2};
    int back = 0;
    void *address;
    assert_int_equal(cudaMemcpyToSymbol(table, values, 8, 4, 1), 0);
    for (unsigned i = 0; i < 2; i++) assert_int_equal(launch_two(NULL, 10 + i), 0);
    assert_captured(2, "name = \"table\"", true);
    assert_captured(2, "assume", false); /* no kernel can write to constant memory */
    assert_int_equal(cudaMemcpyToSymbol(counts, values, 4, 0, 1), 0);
    assert_int_equal(cudaMemcpyFromSymbol(&back, table, 4, 8, 2), 0);
    assert_int_equal(back, 2);
    assert_int_equal(cudaMemcpyToSymbol(&two, values, 8, 4, 1), SPAD__RT_INVALID_SYMBOL);
    assert_int_equal(launch_two(NULL, 1), 0);
    assert_captured(3,
                    "[[variable]]\nname = \"table\"\ncontents = \"........0100000002000000\"\n"
                    "\n[[variable]]\nname = \"counts\"\ncontents = \"01000000\"\n",
                    true);
    assert_captured(3, "[[memory]]", false);
    assert_captured(3, "assume", false);
    assert_int_equal(launch_two(NULL, 2), 0);
    assert_captured(4, "assume", true); /* of counts */
    assert_int_equal(cudaGetSymbolAddress(&address, counts), 0);
    assert_int_equal(launch_two(address, 1), 0);
    assert_captured(5, "[[memory]]", true);
}

static void large_blocks_have_no_contents(void **state) {
    (void)state;
    void *a;
    char bytes[32] = {1};
    setenv("SPAD_CUDA_CAPTURE_BYTES", "16", 1);
    assert_int_equal(cudaMalloc(&a, 32), 0);
    assert_int_equal(cudaMemcpy(a, bytes, 32, 1), 0);
    assert_int_equal(launch_two(a, 1), 0);
    assert_captured(1, "bytes = 32\n", true);
    assert_captured(1, "contents", false);
    cudaFree(a);
}

static void limits_hold(void **state) {
    (void)state;
    setenv("SPAD_CUDA_CAPTURE_LAUNCHES", "2", 1);
    for (unsigned i = 0; i < 4; i++) assert_int_equal(launch_two(NULL, i), 0);
    assert_int_equal(launch_count(), 2);
    char *notes = captured("notes.txt");
    assert_non_null(notes);
    assert_non_null(strstr(notes, "further launches are not recorded: the limit is 2 launches "
                                  "(SPAD_CUDA_CAPTURE_LAUNCHES)"));
    free(notes);
    spad__rt_forget();
    empty_folder();
    unsetenv("SPAD_CUDA_CAPTURE_LAUNCHES");
    setenv("SPAD_CUDA_CAPTURE_TOTAL", "100", 1);
    assert_int_equal(launch_two(NULL, 1), 0);
    assert_int_equal(launch_count(), 0);
}

/* ---- what fails ----------------------------------------------------------------------------- */

static void impossible_launches_fail(void **state) {
    (void)state;
    const spad__rt_dim3 one = {1, 1, 1}, none_of_it = {0, 1, 1}, many = {32, 32, 2};
    assert_int_equal(cudaLaunchKernel(&none, none_of_it, one, NULL, 0, NULL),
                     SPAD__RT_INVALID_CONFIGURATION);
    assert_int_equal(cudaLaunchKernel(&none, one, many, NULL, 0, NULL),
                     SPAD__RT_INVALID_CONFIGURATION);
    assert_int_equal(cudaLaunchKernel(&capture_folder, one, one, NULL, 0, NULL),
                     SPAD__RT_INVALID_FUNCTION);
    assert_int_equal(cudaLaunchKernel(&none, one, one, NULL, 64 * KIB, NULL),
                     SPAD__RT_INVALID_VALUE);
    assert_int_equal(cudaFuncSetAttribute(&none, 8, OPTIN_SHARED), SPAD__RT_INVALID_VALUE);
    assert_int_equal(cudaFuncSetAttribute(&none, 8, 64 * KIB), 0);
    assert_int_equal(cudaLaunchKernel(&none, one, one, NULL, 64 * KIB, NULL), 0);
    assert_captured(1, "smem = 65536\nparameters = \"\"\n", true);
    assert_int_equal(cudaCreateTextureObject(), SPAD__RT_NOT_SUPPORTED);
    assert_int_equal(cudaGetLastError(), SPAD__RT_NOT_SUPPORTED);
}

static void assert_noted(const char *part) {
    char *notes = captured("notes.txt");
    assert_non_null(notes);
    if (strstr(notes, part) == NULL) fail_msg("'%s' is not in\n%s", part, notes);
    free(notes);
}

static int launch_one(const void *kernel) {
    return cudaLaunchKernel(kernel, (spad__rt_dim3){1, 1, 1}, (spad__rt_dim3){32, 1, 1}, NULL, 0,
                            NULL);
}

/* A kernel without PTX does not stop the program, but may have written anywhere. */
static void kernels_without_ptx_are_noted(void **state) {
    (void)state;
    static const char code = 0, broken = 0;
    void *a;
    test_fatbin machine = make_fatbin("machine code", 2), wrong = make_fatbin(".version 9.0 {", 1);
    void **handles[] = {__cudaRegisterFatBinary(&machine.wrapper),
                        __cudaRegisterFatBinary(&wrong.wrapper)};
    register_kernel(handles[0], &code, "code");
    register_kernel(handles[1], &broken, "broken");
    assert_int_equal(cudaMalloc(&a, 4), 0);
    assert_int_equal(cudaMemset(a, 3, 4), 0);
    assert_int_equal(launch_one(&code), 0);
    assert_int_equal(launch_one(&broken), 0);
    assert_int_equal(launch_one(&missing), 0);
    assert_int_equal(launch_count(), 0);
    assert_noted("kernel code is not recorded: its module has no PTX for sm_90");
    assert_noted("kernel broken is not recorded: ");
    assert_noted("kernel missing is not recorded: the PTX of its module does not have it");
    assert_int_equal(launch_two(a, 1), 0);
    assert_captured(1, "contents", false);
    for (int i = 0; i < 2; i++) __cudaUnregisterFatBinary(handles[i]);
    free(machine.bytes);
    free(wrong.bytes);
    cudaFree(a);
}

#define MODULE_OF(chip, kernel) \
    ".version 9.0\n.target " chip "\n.address_size 64\n.entry " kernel "() { ret; }\n"

/* Of several texts, the newest one that the chip runs. */
static void the_text_fits_the_chip(void **state) {
    (void)state;
    static const char old = 0, own = 0, new = 0, plain = 0;
    const test_entry entries[] = {
        {.text = "machine code", .kind = 2, .chip = 90},
        {.text = MODULE_OF("sm_80", "old"), .kind = 1, .chip = 80},
        {.text = MODULE_OF("sm_90a", "own"), .kind = 1, .chip = 90, .chip_only = true},
        {.text = MODULE_OF("sm_90", "plain"), .kind = 1, .chip = 90},
        {.text = MODULE_OF("sm_100a", "new"), .kind = 1, .chip = 100, .chip_only = true}};
    test_fatbin f = make_fatbin_of(entries, 5);
    void **handle = __cudaRegisterFatBinary(&f.wrapper);
    register_kernel(handle, &old, "old");
    register_kernel(handle, &own, "own");
    assert_int_equal(launch_one(&old), 0);
    assert_int_equal(launch_one(&own), 0);
    assert_int_equal(launch_count(), 1);
    assert_captured(1, "kernel = \"own\"", true);
    __cudaUnregisterFatBinary(handle);
    setenv("SPAD_CUDA_ARCH", "sm_100a", 1);
    handle = __cudaRegisterFatBinary(&f.wrapper);
    register_kernel(handle, &new, "new");
    assert_int_equal(launch_one(&new), 0);
    assert_captured(2, "kernel = \"new\"", true);
    __cudaUnregisterFatBinary(handle);
    setenv("SPAD_CUDA_ARCH", "sm_103a", 1); /* sm_100a is for its own chip alone */
    handle = __cudaRegisterFatBinary(&f.wrapper);
    register_kernel(handle, &plain, "plain");
    assert_int_equal(launch_one(&plain), 0);
    assert_captured(3, "kernel = \"plain\"", true);
    unsetenv("SPAD_CUDA_ARCH");
    __cudaUnregisterFatBinary(handle);
    free(f.bytes);
}

/* ---- the driver API ------------------------------------------------------------------------- */

static void modules_are_loaded_from_text(void **state) {
    (void)state;
    void *module, *function, *a = &module;
    unsigned n = 9;
    void *arguments[] = {&a, &n};
    assert_int_equal(cuModuleLoadData(&module, "no module"), SPAD__RT_INVALID_IMAGE);
    assert_int_equal(cuModuleLoadData(&module, KERNELS), 0);
    assert_int_equal(cuModuleGetFunction(&function, module, "three"), SPAD__RT_NOT_FOUND);
    assert_int_equal(cuModuleGetFunction(&function, module, "two"), 0);
    assert_int_equal(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL), 0);
    uint8_t buffer[12] = {0xaa, [8] = 0xbb};
    size_t bytes = sizeof buffer;
    void *extra[] = {(void *)1, buffer, (void *)2, &bytes, NULL};
    assert_int_equal(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, extra), 0);
    assert_captured(2, "parameters = \"aa00000000000000bb000000\"", true);
    bytes = 11;
    assert_int_equal(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, extra),
                     SPAD__RT_INVALID_VALUE);
    assert_int_equal(cuModuleUnload(module), 0);
    assert_int_equal(cuModuleUnload(module), SPAD__RT_INVALID_HANDLE);
    assert_int_equal(cuModuleGetFunction(&function, module, "two"), SPAD__RT_INVALID_HANDLE);
}

static void maps_are_found_again(void **state) {
    (void)state;
    _Alignas(64) uint8_t map[128], other[128];
    void *tensor, *maps;
    const uint64_t extents[3] = {64, 128, 4}, strides[2] = {128, 16384};
    const uint32_t box[3] = {64, 32, 1}, steps[3] = {1, 1, 1}, wide[3] = {512, 1, 1};
    char expected[200];
    assert_int_equal(cudaMalloc(&tensor, 65536), 0);
    assert_int_equal(cudaMalloc(&maps, 256), 0);
    assert_int_equal(
        cuTensorMapEncodeTiled(map, 9, 3, tensor, extents, strides, wide, steps, 0, 3, 0, 0),
        SPAD__RT_INVALID_VALUE);
    assert_int_equal(cuTensorMapEncodeTiled(map, 9, 3, (char *)tensor + 1, extents, strides, box,
                                            steps, 0, 3, 0, 0),
                     SPAD__RT_INVALID_VALUE);
    assert_int_equal(
        cuTensorMapEncodeTiled(map, 9, 3, tensor, extents, strides, box, steps, 0, 3, 0, 0), 0);
    map[10] &= 0xdf; /* CUTLASS clears this bit, against an error of a driver */
    memcpy(other, map, sizeof map);
    assert_int_equal(cuTensorMapReplaceAddress(other, (char *)tensor + 4096), 0);
    assert_int_equal(cudaMemcpy((char *)maps + 128, other, 128, 1), 0);
    void *arguments[] = {map, &maps};
    assert_int_equal(cudaLaunchKernel(&mapped, (spad__rt_dim3){1, 1, 1}, (spad__rt_dim3){32, 1, 1},
                                      arguments, 0, NULL),
                     0);
    const unsigned long long at = (uintptr_t)tensor, in = (uintptr_t)maps;
    snprintf(expected, sizeof expected,
             "[[tensormap]]\nparameter = 0\nmap = \"bfloat16[4,128,64],box[1,32,64],"
             "stride[16384,128],swizzle128,at[0x%llx]\"\n",
             at);
    assert_captured(1, expected, true);
    snprintf(expected, sizeof expected, "[[tensormap]]\naddress = 0x%llx\nmap = \"", in + 128);
    assert_captured(1, expected, true);
    snprintf(expected, sizeof expected, "at[0x%llx]", at + 4096);
    assert_captured(1, expected, true);
    cudaFree(tensor);
    cudaFree(maps);
}

/* ---- the device ----------------------------------------------------------------------------- */

static void the_device_is_plausible(void **state) {
    (void)state;
    int value = 0, blocks = 0;
    unsigned char attributes[144];
    int threads;
    assert_int_equal(cudaDeviceGetAttribute(&value, 97, 0), 0);
    assert_int_equal(value, OPTIN_SHARED);
    assert_int_equal(cudaDeviceGetAttribute(&value, 75, 0), 0);
    assert_int_equal(value, 9);
    setenv("SPAD_CUDA_ARCH", "sm_100a", 1);
    assert_int_equal(cudaDeviceGetAttribute(&value, 75, 0), 0);
    assert_int_equal(value, 10);
    unsetenv("SPAD_CUDA_ARCH");
    assert_int_equal(cudaDeviceGetAttribute(&value, 75, 1), SPAD__RT_INVALID_DEVICE);
    assert_int_equal(cudaFuncGetAttributes(attributes, &none), 0);
    memcpy(&threads, attributes + 24, sizeof threads);
    assert_int_equal(threads, 256);
    assert_int_equal(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &none, 256, 0), 0);
    assert_int_equal(blocks, 8); /* 2048 threads */
    assert_int_equal(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &none, 256, 60 * KIB),
                     0);
    assert_int_equal(blocks, 3); /* 228 KiB / (60 + 4 + 1) */
}

/* ---- without host memory -------------------------------------------------------------------- */

/* The runtime keeps its memory over the tests, so blocks are those of the C library. */
typedef struct failing_host {
    long calls;
    long fail_at;
} failing_host;

static void *failing_resize(void *context, void *block, size_t old_size, size_t new_size) {
    failing_host *host = context;
    (void)old_size;
    if (new_size == 0) {
        free(block);
        return NULL;
    }
    return ++host->calls == host->fail_at ? NULL : realloc(block, new_size);
}

/* Each request for memory fails once: the call says so, or the launch is not recorded with a note;
 * afterwards the same call works. */
static void memory_may_run_out(void **state) {
    (void)state;
    const int value = 5;
    failing_host host = {0};
    const spad_host hook = {failing_resize, &host};
    bool failed = true;
    for (long n = 1; failed; n++) {
        void *a = NULL;
        host = (failing_host){.fail_at = n};
        spad__rt_forget();
        empty_folder();
        spad__rt_set_host(&hook);
        const int made = cudaMalloc(&a, 64);
        const int copied = made == 0 ? cudaMemcpy(a, &value, 4, 1) : 0;
        const int launched = made == 0 ? launch_two(a, 1) : 0;
        spad__rt_set_host(NULL);
        failed = host.calls >= n;
        assert_true(made == 0 || made == SPAD__RT_OUT_OF_MEMORY);
        assert_int_equal(copied, 0);
        assert_int_equal(launched, 0);
        if (failed && made == 0 && launch_count() == 0) assert_noted("no host memory");
        if (!failed) assert_captured(1, "contents = \"05000000\"", true);
        if (made == 0) assert_int_equal(cudaFree(a), 0);
    }
    assert_true(host.calls > 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(copies_are_real, start_test),
        cmocka_unit_test_setup(ranges_are_checked, start_test),
        cmocka_unit_test_setup(managed_memory_is_host_memory, start_test),
        cmocka_unit_test_setup(a_launch_becomes_a_file, start_test),
        cmocka_unit_test_setup(the_module_is_a_file, start_test),
        cmocka_unit_test_setup(launches_are_distinct, start_test),
        cmocka_unit_test_setup(addresses_do_not_count, start_test),
        cmocka_unit_test_setup(few_differ_in_contents_alone, start_test),
        cmocka_unit_test_setup(padding_does_not_count, start_test),
        cmocka_unit_test_setup(earlier_launches_count, start_test),
        cmocka_unit_test_setup(zeros_of_new_memory_are_recorded, start_test),
        cmocka_unit_test_setup(large_blocks_have_no_contents, start_test),
        cmocka_unit_test_setup(limits_hold, start_test),
        cmocka_unit_test_setup(impossible_launches_fail, start_test),
        cmocka_unit_test_setup(kernels_without_ptx_are_noted, start_test),
        cmocka_unit_test_setup(the_text_fits_the_chip, start_test),
        cmocka_unit_test_setup(modules_are_loaded_from_text, start_test),
        cmocka_unit_test_setup(maps_are_found_again, start_test),
        cmocka_unit_test_setup(the_device_is_plausible, start_test),
        cmocka_unit_test_setup(memory_may_run_out, start_test),
        cmocka_unit_test_setup(variables_are_recorded, start_test), /* they stay */
    };
    return cmocka_run_group_tests(tests, open_tests, close_tests);
}
