/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that are not what a command reads: what they are, and what spad can do with them.
 */
#include <string.h>

#include "cli.h"

static const char cuda[] =
    "a header of CUDA C++: 'spad cuda check' takes a .cu file with a kernel, or PTX (docs/cuda.md)";
static const char python[] =
    "a Python program: 'spad nki check', 'spad triton check' and 'spad tilelang check' take "
    "FILE.py:KERNEL; others call the package spad (docs/python.md)";
static const char source[] =
    "C or C++ source, which spad does not read: write down what the kernel does to memory as a "
    ".spad file (docs/kernel.md), and include the addresses that 'spad emit' prints";
static const char model[] = "a model: 'spad plan' places its tensors";
static const char pickle[] =
    "a pickle: 'spad plan' takes snapshots of PyTorch's CUDA memory (torch.cuda.memory._snapshot)";
static const char compiled[] = "a compiled program; spad reads kernels before they are compiled";
static const char page[] = "an HTML page, perhaps a report of spad: open it in a browser";
static const char json[] =
    "JSON; of that, 'spad plan' reads traces of PyTorch's profiler, and reports written with "
    "'--data' are for other programs";
static const char tree[] =
    "a tree of a kernel that TileLang lowered: 'spad tilelang check' takes it, as do plan, sim and "
    "report there";
static const char packed[] = "a packed file; unpack it first";
static const char sheet[] = "a spreadsheet: save it as CSV, which 'spad plan' reads";
static const char wide[] = "text in UTF-16: save it as UTF-8";
static const char picture[] = "a picture";
static const char empty[] = "empty";
static const char binary[] = "not a text, and not a file of another compiler that spad knows";
static const char table[] =
    "a table of buffers, not a kernel: 'spad plan' places them, 'spad emit' and 'spad diff' take "
    "them as well";

static const struct ending {
    const char *ending;
    const char *what;
} endings[] = {
    {".cuh", cuda},    {".c", source},     {".cc", source},      {".cpp", source},
    {".cxx", source},  {".h", source},     {".hpp", source},     {".py", python},
    {".onnx", model},  {".tflite", model}, {".pickle", pickle},  {".pkl", pickle},
    {".html", page},   {".json", json},    {".cubin", compiled}, {".neff", compiled},
    {".o", compiled},  {".so", compiled},  {".xlsx", sheet},     {".ods", sheet},
    {".png", picture}, {".svg", picture},
};

static const struct opening {
    const char *bytes;
    size_t length;
    const char *what;
} openings[] = {
    {"\177ELF", 4, compiled},     {"\x80\x02", 2, pickle},
    {"\x80\x03", 2, pickle},      {"\x80\x04", 2, pickle},
    {"\x80\x05", 2, pickle},      {"<!doctype html", 14, page},
    {"<!DOCTYPE html", 14, page}, {"\x1f\x8b", 2, packed},
    {"PK\x03\x04", 4, packed},    {"\x89PNG", 4, picture},
    {"\xff\xfe", 2, wide},        {"\xfe\xff", 2, wide},
    {"#include", 8, source},      {"import ", 7, python},
    {"from ", 5, python},         {"{", 1, json},
};

/* The most of a first line; a zero byte in it means that the file is not a text. */
enum { LOOKED_AT = 4096 };

/* As json.dump writes them: reports and results of spad begin with other names. */
static bool is_tree(const cli_text *text) {
    static const char begin[] = "{\"format\": 1, \"name\": ";
    return text->length >= sizeof begin - 1 && memcmp(text->bytes, begin, sizeof begin - 1) == 0;
}

/* The end of a sentence that starts "'FILE' is"; NULL: it may be one of ours. */
static const char *recognise(const char *path, const cli_text *text) {
    const char *dot = strrchr(path, '.');
    if (is_tree(text)) return tree;
    for (size_t i = 0; dot != NULL && i < sizeof endings / sizeof endings[0]; i++) {
        if (strcmp(dot, endings[i].ending) == 0) return endings[i].what;
    }
    for (size_t i = 0; i < sizeof openings / sizeof openings[0]; i++) {
        if (text->length >= openings[i].length &&
            memcmp(text->bytes, openings[i].bytes, openings[i].length) == 0)
            return openings[i].what;
    }
    if (text->length == 0) return empty;
    const size_t most = text->length < LOOKED_AT ? text->length : LOOKED_AT;
    const char *end = memchr(text->bytes, '\n', most);
    const size_t first = end != NULL ? (size_t)(end - text->bytes) : most;
    return memchr(text->bytes, '\0', first) != NULL ? binary : NULL;
}

/* A table by its ending, or by a first line that names a column of sizes among others. */
static bool is_table(const char *path, const cli_text *text) {
    const char *dot = strrchr(path, '.');
    if (dot != NULL && (strcmp(dot, ".csv") == 0 || strcmp(dot, ".tsv") == 0)) return true;
    const char *end = memchr(text->bytes, '\n', text->length);
    const size_t length = end != NULL ? (size_t)(end - text->bytes) : text->length;
    for (size_t at = 1; at + 4 <= length; at++) {
        const char before = text->bytes[at - 1];
        if ((before == ',' || before == ';' || before == '\t') &&
            memcmp(text->bytes + at, "size", 4) == 0)
            return true;
    }
    return false;
}

static bool refuse(const char *path, const char *what) {
    if (what != NULL) cli_message("'%s' is %s", cli_input_name(path), what);
    return what != NULL;
}

bool cli_refuse_foreign(const char *path, const cli_text *text) {
    return refuse(path, recognise(path, text));
}

bool cli_refuse_other_than_kernel(const char *path, const cli_text *text) {
    const char *what = recognise(path, text);
    return refuse(path, what == NULL && is_table(path, text) ? table : what);
}
