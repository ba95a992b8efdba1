/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that are not what a command reads: what they are, and what spad can do with them.
 */
#include <string.h>

#include "cli.h"

static const char cuda[] =
    "CUDA source, which spad does not read: write down what the kernel does to memory as a .spad "
    "file (docs/kernel.md; examples/kernels/08_gemm_sm90.spad is a pipelined GEMM), and include "
    "the addresses that 'spad emit --lang cuda' prints";
static const char python[] =
    "a Python program: 'spad nki check FILE.py:KERNEL' takes NKI kernels; Triton, TileLang and "
    "compilers call the package spad (docs/python.md)";
static const char model[] = "a model: 'spad plan' places its tensors";
static const char pickle[] =
    "a pickle: 'spad plan' takes snapshots of PyTorch's CUDA memory (torch.cuda.memory._snapshot)";
static const char compiled[] = "a compiled program; spad reads kernels before they are compiled";
static const char page[] = "an HTML page, perhaps a report of spad: open it in a browser";
static const char json[] =
    "JSON; of that, 'spad plan' reads traces of PyTorch's profiler, and reports written with "
    "'--data' are for other programs";
static const char packed[] = "a packed file; unpack it first";

static const struct ending {
    const char *ending;
    const char *what;
} endings[] = {
    {".cu", cuda},       {".cuh", cuda},     {".cpp", cuda},      {".py", python},
    {".onnx", model},    {".tflite", model}, {".pickle", pickle}, {".pkl", pickle},
    {".html", page},     {".json", json},    {".ptx", compiled},  {".cubin", compiled},
    {".neff", compiled}, {".o", compiled},   {".so", compiled},
};

static const struct opening {
    const char *bytes;
    size_t length;
    const char *what;
} openings[] = {
    {"\177ELF", 4, compiled},
    {"\x80\x02", 2, pickle},
    {"\x80\x03", 2, pickle},
    {"\x80\x04", 2, pickle},
    {"\x80\x05", 2, pickle},
    {"<!doctype html", 14, page},
    {"<!DOCTYPE html", 14, page},
    {"\x1f\x8b", 2, packed},
    {"PK\x03\x04", 4, packed},
    {"#include", 8, cuda},
    {"import ", 7, python},
    {"from ", 5, python},
    {"{", 1, json},
};

const char *cli_recognise(const char *path, const cli_text *text) {
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot != NULL && i < sizeof endings / sizeof endings[0]; i++) {
        if (strcmp(dot, endings[i].ending) == 0) return endings[i].what;
    }
    for (size_t i = 0; i < sizeof openings / sizeof openings[0]; i++) {
        if (text->length >= openings[i].length &&
            memcmp(text->bytes, openings[i].bytes, openings[i].length) == 0)
            return openings[i].what;
    }
    return NULL;
}

bool cli_refuse_foreign(const char *path, const cli_text *text) {
    const char *what = cli_recognise(path, text);
    if (what != NULL) cli_message("'%s' is %s", cli_input_name(path), what);
    return what != NULL;
}
