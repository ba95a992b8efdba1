/* SPDX-License-Identifier: Apache-2.0
 *
 * State of the process: the lock, the banner, the last error of each thread, the notes.
 *
 * Settings come from the environment, because the program belongs to someone else:
 * SPAD_CUDA_CAPTURE names the folder, see docs/cuda-capture.md for the others.
 */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cudart/cudart.h"

enum { NOTE_ROOM = 600, PATH_ROOM = 1200, ENTRY_ROOM = 120, STACK_ROOM = 16 << 10 };

static pthread_mutex_t session_lock = PTHREAD_MUTEX_INITIALIZER;
static bool session_begun;
static spad_host session_host;
static _Thread_local int last_error;

const spad_host *spad__rt_host(void) {
    if (session_host.resize == NULL) session_host = spad__host_or_default(NULL);
    return &session_host;
}

void spad__rt_set_host(const spad_host *host) {
    session_host = spad__host_or_default(host);
}

const char *spad__rt_folder(void) {
    const char *folder = getenv("SPAD_CUDA_CAPTURE");
    return folder != NULL && folder[0] != '\0' ? folder : NULL;
}

uint64_t spad__rt_setting(const char *name, uint64_t otherwise) {
    const char *word = getenv(name);
    char *end;
    if (word == NULL || *word < '0' || *word > '9') return otherwise;
    errno = 0;
    const unsigned long long value = strtoull(word, &end, 0);
    return errno == 0 && *end == '\0' ? value : otherwise;
}

/* The notes of the capture, which exist as soon as the program has called the runtime. */
static FILE *open_notes(void) {
    char path[PATH_ROOM];
    if (spad__rt_folder() == NULL) return NULL;
    snprintf(path, sizeof path, "%s/notes.txt", spad__rt_folder());
    return fopen(path, "a");
}

void spad__rt_note(const char *format, ...) {
    char text[NOTE_ROOM];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "spad: %s\n", text);
    FILE *file = open_notes();
    if (file == NULL) return;
    fprintf(file, "%s\n", text);
    fclose(file);
}

void spad__rt_enter(void) {
    pthread_mutex_lock(&session_lock);
    if (session_begun) return;
    session_begun = true;
    fputs("spad: *** capture runtime: kernels are NOT executed. Nothing is computed, and all "
          "results, checks and times that this program prints are meaningless ***\n",
          stderr);
    FILE *notes = open_notes();
    if (notes != NULL) fclose(notes);
}

/* Zeros what this call has left below the frames of the program. Padding in the parameters of later
 * launches often is such memory, and launches that differ in it alone would not be the same. */
__attribute__((noinline)) static void clear_stack(void) {
    volatile char frames[STACK_ROOM];
    for (size_t i = 0; i < sizeof frames; i++) frames[i] = 0;
}

int spad__rt_leave_driver(int code) {
    pthread_mutex_unlock(&session_lock);
    clear_stack();
    return code;
}

int spad__rt_leave(int code) {
    if (code != SPAD__RT_SUCCESS) last_error = code;
    return spad__rt_leave_driver(code);
}

/* ---- errors --------------------------------------------------------------------------------- */

SPAD__ENTRY(cudaGetLastError, void) {
    const int code = last_error;
    last_error = SPAD__RT_SUCCESS;
    return code;
}

SPAD__ENTRY(cudaPeekAtLastError, void) {
    return last_error;
}

static const struct {
    int code;
    const char *runtime;
    const char *driver;
    const char *text;
} error_rows[] = {
    {SPAD__RT_SUCCESS, "cudaSuccess", "CUDA_SUCCESS", "no error"},
    {SPAD__RT_INVALID_VALUE, "cudaErrorInvalidValue", "CUDA_ERROR_INVALID_VALUE",
     "invalid argument"},
    {SPAD__RT_OUT_OF_MEMORY, "cudaErrorMemoryAllocation", "CUDA_ERROR_OUT_OF_MEMORY",
     "out of memory"},
    {SPAD__RT_INVALID_CONFIGURATION, "cudaErrorInvalidConfiguration", "CUDA_ERROR_UNKNOWN",
     "invalid configuration argument"},
    {SPAD__RT_INVALID_SYMBOL, "cudaErrorInvalidSymbol", "CUDA_ERROR_UNKNOWN",
     "invalid device symbol"},
    {SPAD__RT_INVALID_FUNCTION, "cudaErrorInvalidDeviceFunction", "CUDA_ERROR_UNKNOWN",
     "invalid device function"},
    {SPAD__RT_INVALID_DEVICE, "cudaErrorInvalidDevice", "CUDA_ERROR_INVALID_DEVICE",
     "invalid device ordinal"},
    {SPAD__RT_INVALID_IMAGE, "cudaErrorInvalidKernelImage", "CUDA_ERROR_INVALID_IMAGE",
     "device kernel image is invalid"},
    {SPAD__RT_INVALID_HANDLE, "cudaErrorInvalidResourceHandle", "CUDA_ERROR_INVALID_HANDLE",
     "invalid resource handle"},
    {SPAD__RT_NOT_FOUND, "cudaErrorSymbolNotFound", "CUDA_ERROR_NOT_FOUND",
     "named symbol not found"},
    {SPAD__RT_NOT_SUPPORTED, "cudaErrorNotSupported", "CUDA_ERROR_NOT_SUPPORTED",
     "not supported by spad's capture runtime"},
};

enum { ERROR_ROWS = sizeof error_rows / sizeof *error_rows };

static int error_row(int code) {
    int row = 0;
    while (row < ERROR_ROWS && error_rows[row].code != code) row++;
    return row;
}

__attribute__((visibility("default"))) const char *cudaGetErrorName(int code);
const char *cudaGetErrorName(int code) {
    const int row = error_row(code);
    return row < ERROR_ROWS ? error_rows[row].runtime : "unrecognized error code";
}

__attribute__((visibility("default"))) const char *cudaGetErrorString(int code);
const char *cudaGetErrorString(int code) {
    const int row = error_row(code);
    return row < ERROR_ROWS ? error_rows[row].text : "unrecognized error code";
}

SPAD__ENTRY(cuGetErrorName, int code, const char **out) {
    const int row = error_row(code);
    *out = row < ERROR_ROWS ? error_rows[row].driver : NULL;
    return row < ERROR_ROWS ? SPAD__RT_SUCCESS : SPAD__RT_INVALID_VALUE;
}

SPAD__ENTRY(cuGetErrorString, int code, const char **out) {
    const int row = error_row(code);
    *out = row < ERROR_ROWS ? error_rows[row].text : NULL;
    return row < ERROR_ROWS ? SPAD__RT_SUCCESS : SPAD__RT_INVALID_VALUE;
}

/* ---- entry points by name ------------------------------------------------------------------- */

/* The newest version first: programs ask for "cuMemAlloc" and expect cuMemAlloc_v2. */
void *spad__rt_entry_point(const char *name) {
    static const char *const endings[] = {"_v3", "_v2", ""};
    if (strlen(name) > ENTRY_ROOM / 2) return NULL;
    void *library = dlopen("libspad_cudart.so", RTLD_LAZY | RTLD_NOLOAD); /* this one */
    void *found = NULL;
    for (size_t i = 0; library != NULL && found == NULL && i < 3; i++) {
        char full[ENTRY_ROOM];
        snprintf(full, sizeof full, "%s%s", name, endings[i]);
        found = dlsym(library, full);
    }
    if (library != NULL) dlclose(library);
    return found;
}
