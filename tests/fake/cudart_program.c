/* SPDX-License-Identifier: Apache-2.0
 *
 * A CUDA program without nvcc: cudart_program PTX KERNEL... registers the text as nvcc's start-up
 * code does, and launches each kernel (float *in, float *out, int rows) with two blocks of 128.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct dim3 {
    unsigned x, y, z;
} dim3;

void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int threads, void *tid, void *bid, void *block, void *grid, int *warp);
int cudaGetDriverEntryPointByVersion(const char *name, void **out, unsigned version,
                                     unsigned long long flags, int *status);
int cudaMalloc(void **out, size_t bytes);
int cudaMemcpy(void *to, const void *from, size_t bytes, int kind);
int cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                     void *stream);

enum { MOST_TEXT = 1 << 20, ROW = 128, ROWS = 8, MOST_KERNELS = 8 };

/* A fatbin with one entry: PTX that is not packed. */
static uint64_t fatbin[MOST_TEXT / 8];

static int read_fatbin(const char *path) {
    char *const bytes = (char *)fatbin;
    FILE *file = fopen(path, "rb");
    if (file == NULL) return 0;
    const uint64_t length = fread(bytes + 80, 1, MOST_TEXT - 96, file);
    const uint64_t padded = (length + 8) / 8 * 8;
    fclose(file);
    fatbin[0] = 0x00100001ba55ed50;
    fatbin[1] = 64 + padded;
    fatbin[2] = (uint64_t)64 << 32 | 1;
    fatbin[3] = padded;
    fatbin[5] = (uint64_t)80 << 32;
    return length > 0;
}

/* An entry point of the driver, as programs get cuTensorMapEncodeTiled. */
static int use_driver(void) {
    void *found = NULL;
    int status = -1;
    if (cudaGetDriverEntryPointByVersion("cuMemGetInfo", &found, 12000, 0, &status) != 0) return 0;
    return status == 0 && found != NULL;
}

static int launch(const void *kernel) {
    float row[ROW] = {1};
    void *in, *out;
    int rows = ROWS;
    void *arguments[] = {&in, &out, &rows};
    if (cudaMalloc(&in, ROWS * sizeof row) != 0 || cudaMalloc(&out, ROWS * 4) != 0) return 0;
    if (cudaMemcpy(in, row, sizeof row, 1) != 0) return 0;
    return cudaLaunchKernel(kernel, (dim3){2, 1, 1}, (dim3){ROW, 1, 1}, arguments, 0, NULL) == 0;
}

int main(int count, char **words) {
    static const char kernels[MOST_KERNELS];
    struct {
        int mark, version;
        const void *data, *file;
    } wrapper = {.mark = 0x466243b1, .version = 1, .data = fatbin};
    if (count < 3 || count > MOST_KERNELS || !read_fatbin(words[1]) || !use_driver()) return 9;
    void **handle = __cudaRegisterFatBinary(&wrapper);
    for (int i = 2; i < count; i++)
        __cudaRegisterFunction(handle, &kernels[i], NULL, words[i], -1, NULL, NULL, NULL, NULL,
                               NULL);
    __cudaRegisterFatBinaryEnd(handle);
    int fine = 1;
    for (int i = 2; i < count; i++) fine = launch(&kernels[i]) && fine;
    __cudaUnregisterFatBinary(handle);
    puts("all tests passed"); /* programs say so whatever the kernels did */
    return fine ? 0 : 1;
}
