/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads arguments that are words. Each is a label, "=", and a value whose form decides what it is;
 * see the header.
 */
#include "frontend/ptx/ptx_arguments.h"

#include <string.h>

#include "base/checked.h"
#include "spad/dtype.h"

enum { BUFFER_ALIGN = 1 << 21, MOST_DATA = 1 << 30, DIMS = SPAD__TENSOR_MAP_DIMS };

/* A value while it is read. */
typedef struct argument_reader {
    spad__ptx_arguments *out;
    const char *what; /* "argument", for messages */
    const char *word; /* the whole of it */
    const char *at;
    const spad__ptx_variable *parameter;
    int64_t offset; /* of the parameter */
    spad_error *error;
} argument_reader;

static spad_status fail_argument(const argument_reader *r, const char *expected) {
    return spad__fail(r->error, SPAD_ERR_ARGUMENT, "%s '%s': expected %s at '%s'", r->what, r->word,
                      expected, r->at);
}

/* ---- words ------------------------------------------------------------------------------------
 */

static bool take_word(argument_reader *r, const char *text) {
    const size_t length = strlen(text);
    if (strncmp(r->at, text, length) != 0) return false;
    r->at += length;
    return true;
}

static int hex_digit_of(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 16;
}

/* A whole number, decimal or hexadecimal, of up to 64 bits. */
static bool take_whole(argument_reader *r, uint64_t *out) {
    const bool negative = *r->at == '-';
    const char *at = r->at + (negative ? 1 : 0);
    const int base = at[0] == '0' && (at[1] == 'x' || at[1] == 'X') ? 16 : 10;
    uint64_t value = 0;
    if (base == 16) at += 2;
    const char *first = at;
    for (; hex_digit_of(*at) < base; at++) {
        if (__builtin_mul_overflow(value, (uint64_t)base, &value) ||
            __builtin_add_overflow(value, (uint64_t)hex_digit_of(*at), &value))
            return false;
    }
    if (at == first) return false;
    *out = negative ? 0 - value : value;
    r->at = at;
    return true;
}

/* "[64,128]", outermost first; *count of them, each at least `least`. */
static spad_status take_listed_numbers(argument_reader *r, int64_t *extents, int most, int *count,
                                       uint64_t least) {
    *count = 0;
    if (!take_word(r, "[")) return fail_argument(r, "'[' and extents");
    do {
        uint64_t value;
        if (*count == most || !take_whole(r, &value) || value < least || value > INT64_MAX / 64)
            return fail_argument(r, least > 0 ? "an extent of at least 1" : "a stride in bytes");
        extents[(*count)++] = (int64_t)value;
    } while (take_word(r, ","));
    return take_word(r, "]") ? SPAD_OK : fail_argument(r, "',' or ']'");
}

static spad_status take_extents(argument_reader *r, int64_t *extents, int most, int *count) {
    return take_listed_numbers(r, extents, most, count, 1);
}

static spad_status take_element_type(argument_reader *r, spad_dtype *type) {
    char name[24];
    size_t length = 0;
    while (length + 1 < sizeof name && r->at[length] != '\0' &&
           strchr("[,=", r->at[length]) == NULL)
        length++;
    memcpy(name, r->at, length);
    name[length] = '\0';
    if (spad_dtype_parse(type, name, NULL) != SPAD_OK) return fail_argument(r, "an element type");
    r->at += length;
    return SPAD_OK;
}

/* ---- memory ------------------------------------------------------------------------------------
 */

static spad_status put_bytes(argument_reader *r, const void *bytes, size_t count) {
    if ((int64_t)count > r->parameter->bytes) {
        return spad__fail(r->error, SPAD_ERR_ARGUMENT,
                          "argument '%s' has %zu bytes and the parameter '%s' has %lld", r->word,
                          count, r->parameter->name, (long long)r->parameter->bytes);
    }
    memcpy(r->out->bytes.items + r->offset, bytes, count);
    memset(r->out->known.items + r->offset, 1, count);
    return SPAD_OK;
}

static spad_status put_scalar(argument_reader *r, uint64_t value) {
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)(value >> (8 * i));
    const size_t size = r->parameter->bytes < 8 ? (size_t)r->parameter->bytes : 8;
    return put_bytes(r, bytes, size);
}

spad__ptx_buffer *spad__ptx_add_buffer(spad__ptx_arguments *out, int64_t bytes) {
    if (!spad__array_reserve(&out->host, &out->buffers, 1)) return NULL;
    spad__ptx_buffer *b = &out->buffers.items[out->buffers.count++];
    *b = (spad__ptx_buffer){.address = out->next, .bytes = bytes};
    out->next += ((uint64_t)bytes / BUFFER_ALIGN + 2) * BUFFER_ALIGN;
    return b;
}

static spad_status give_data(argument_reader *r, spad__ptx_buffer *b) {
    if (b->bytes > MOST_DATA) return fail_argument(r, "at most 1 GiB of contents");
    b->data = spad__new(&r->out->host, (size_t)b->bytes);
    b->known = b->data != NULL ? spad__new(&r->out->host, (size_t)b->bytes) : NULL;
    if (b->known == NULL) return spad__fail_host_memory(r->error);
    memset(b->known, 1, (size_t)b->bytes);
    return SPAD_OK;
}

/* "=zeros" or "=1,2,3" after a tensor: its contents. */
static spad_status take_buffer_contents(argument_reader *r, spad__ptx_buffer *b, int64_t item) {
    if (!take_word(r, "=")) return SPAD_OK;
    const spad_status status = give_data(r, b);
    if (status != SPAD_OK || take_word(r, "zeros")) return status;
    int64_t at = 0;
    do {
        uint64_t value;
        if (at + item > b->bytes || !take_whole(r, &value))
            return fail_argument(r, "'zeros' or whole numbers that fit the tensor");
        for (int64_t i = 0; i < item && i < 8; i++) b->data[at + i] = (uint8_t)(value >> (8 * i));
        at += item;
    } while (take_word(r, ","));
    return SPAD_OK;
}

/* Bytes of all elements; false: they do not fit 2^46. */
static bool bytes_of_extents(const int64_t *extents, int count, int bits, int64_t *out) {
    int64_t total = bits;
    for (int i = 0; i < count; i++) {
        if (!spad__mul(total, extents[i], &total) || total > INT64_C(1) << 49) return false;
    }
    *out = total / 8;
    return true;
}

static spad_status take_tensor(argument_reader *r) {
    int64_t extents[8], bytes;
    int count;
    spad_dtype type;
    spad_status status = take_element_type(r, &type);
    if (status == SPAD_OK) status = take_extents(r, extents, 8, &count);
    if (status != SPAD_OK) return status;
    if (!bytes_of_extents(extents, count, spad_dtype_bits(type), &bytes) || bytes == 0)
        return fail_argument(r, "a tensor of 1 B to 64 TiB");
    spad__ptx_buffer *b = spad__ptx_add_buffer(r->out, bytes);
    if (b == NULL) return spad__fail_host_memory(r->error);
    status = take_buffer_contents(r, b, spad_dtype_bytes(type));
    return status == SPAD_OK ? put_scalar(r, b->address) : status;
}

/* ---- tensor maps -------------------------------------------------------------------------------
 */

static spad_status take_swizzle(argument_reader *r, spad__tensor_map *map) {
    if (take_word(r, "swizzle128atom32")) {
        map->swizzle = SPAD__SWIZZLE_128_ATOM_32;
    } else if (take_word(r, "swizzle128")) {
        map->swizzle = SPAD__SWIZZLE_128;
    } else if (take_word(r, "swizzle64")) {
        map->swizzle = SPAD__SWIZZLE_64;
    } else if (take_word(r, "swizzle32")) {
        map->swizzle = SPAD__SWIZZLE_32;
    } else if (!take_word(r, "swizzle0")) {
        return fail_argument(r,
                             "box[...], stride[...], at[...], or swizzle128, swizzle64, swizzle32, "
                             "swizzle0");
    }
    return SPAD_OK;
}

/* A list that is outermost first in the text, into one that is innermost first. */
static spad_status take_reversed(argument_reader *r, int64_t *out, int count, uint64_t least,
                                 const char *expected) {
    int64_t listed[DIMS];
    int found;
    const spad_status status = take_listed_numbers(r, listed, DIMS, &found, least);
    if (status != SPAD_OK) return status;
    if (found != count) return fail_argument(r, expected);
    for (int i = 0; i < count; i++) out[i] = listed[count - 1 - i];
    return SPAD_OK;
}

/* "[0x7200000000]": where the tensor is. */
static spad_status take_map_address(argument_reader *r, spad__tensor_map *map) {
    if (!take_word(r, "[") || !take_whole(r, &map->address) || map->address == 0 ||
        !take_word(r, "]"))
        return fail_argument(r, "an address in brackets, such as [0x7200000000]");
    return SPAD_OK;
}

static spad_status take_map_parts(argument_reader *r, spad__tensor_map *map, bool *boxed) {
    while (take_word(r, ",")) {
        spad_status status;
        if (take_word(r, "box")) {
            *boxed = true;
            status = take_reversed(r, map->box, map->dims, 1, "a box with as many extents");
        } else if (take_word(r, "stride")) {
            status = take_reversed(r, map->stride + 1, map->dims - 1, 0,
                                   "a stride in bytes per outer dim");
        } else if (take_word(r, "at")) {
            status = take_map_address(r, map);
        } else {
            status = take_swizzle(r, map);
        }
        if (status != SPAD_OK) return status;
    }
    return SPAD_OK;
}

static spad_status read_map_extents(argument_reader *r, spad__tensor_map *map) {
    int64_t extents[DIMS], bytes;
    spad_dtype type;
    bool boxed = false;
    spad_status status = take_element_type(r, &type);
    if (status == SPAD_OK) status = take_extents(r, extents, DIMS, &map->dims);
    if (status != SPAD_OK) return status;
    map->element_bits = spad_dtype_bits(type);
    if (!bytes_of_extents(extents, map->dims, map->element_bits, &bytes) || bytes == 0)
        return fail_argument(r, "a tensor of 1 B to 64 TiB");
    for (int i = 0; i < map->dims; i++) {
        map->size[i] = extents[map->dims - 1 - i];
        map->box[i] = map->size[i];
        map->stride[i] = i == 0   ? 0
                         : i == 1 ? map->size[0] * map->element_bits / 8
                                  : map->stride[i - 1] * map->size[i - 1];
    }
    status = take_map_parts(r, map, &boxed);
    if (status == SPAD_OK && !boxed) return fail_argument(r, "',box[...]'");
    if (status != SPAD_OK || map->address != 0) return status;
    const spad__ptx_buffer *b = spad__ptx_add_buffer(r->out, bytes);
    if (b == NULL) return spad__fail_host_memory(r->error);
    map->address = b->address;
    return SPAD_OK;
}

spad_status spad__ptx_read_tensor_map(spad__tensor_map *map, spad__ptx_arguments *out,
                                      const char *text, spad_error *error) {
    argument_reader r = {
        .out = out, .what = "tensor map", .word = text, .at = text, .error = error};
    *map = (spad__tensor_map){0};
    const spad_status status = read_map_extents(&r, map);
    if (status != SPAD_OK) return status;
    return *r.at == '\0' ? SPAD_OK : fail_argument(&r, "the end");
}

/* The map is the parameter itself (__grid_constant__), or a pointer leads to it. */
static spad_status take_tensor_map(argument_reader *r) {
    spad__tensor_map map = {0};
    spad__ptx_arguments *out = r->out;
    uint64_t address = SPAD__PTX_PARAM_BASE + (uint64_t)r->offset;
    spad_status status = read_map_extents(r, &map);
    if (status != SPAD_OK) return status;
    if (r->parameter->bytes < SPAD__TENSOR_MAP_BYTES) {
        const spad__ptx_buffer *b = spad__ptx_add_buffer(r->out, SPAD__TENSOR_MAP_BYTES);
        if (b == NULL) return spad__fail_host_memory(r->error);
        address = b->address;
        status = put_scalar(r, address);
    }
    if (status != SPAD_OK) return status;
    if (!spad__array_reserve(&out->host, &out->maps, 1)) return spad__fail_host_memory(r->error);
    out->maps.items[out->maps.count++] = (spad__ptx_mapped){address, map};
    return SPAD_OK;
}

/* ---- numbers and structs
 * -------------------------------------------------------------------------- */

/* "1.5" into the type of the parameter. At most 15 digits and 22 decimals: such a number is the
 * quotient of two doubles that are exact, so it is the nearest double. */
static spad_status take_decimal(argument_reader *r, uint64_t whole, bool negative) {
    double scale = 1, value = (double)(negative ? 0 - whole : whole);
    uint64_t bits = 0;
    if (take_word(r, ".")) {
        for (; *r->at >= '0' && *r->at <= '9'; r->at++) {
            value = value * 10 + (*r->at - '0');
            scale *= 10;
            if (value > 1e15 || scale > 1e22) return fail_argument(r, "at most 15 digits");
        }
    }
    value = negative ? -(value / scale) : value / scale;
    if (r->parameter->type == SPAD__PTX_F64) {
        memcpy(&bits, &value, 8);
    } else {
        const float single = (float)value;
        uint32_t word;
        memcpy(&word, &single, 4);
        bits = word;
    }
    return put_scalar(r, bits);
}

static spad_status take_scalar(argument_reader *r) {
    const bool negative = *r->at == '-';
    const bool real = r->parameter->type == SPAD__PTX_F32 || r->parameter->type == SPAD__PTX_F64;
    uint64_t whole;
    if (!take_whole(r, &whole)) {
        return fail_argument(r, "a number, TYPE[extents], tensormap:, bytes: or unknown");
    }
    if (real) return take_decimal(r, whole, negative);
    if (*r->at == '.') return fail_argument(r, "a whole number");
    const int64_t bits = spad__min(r->parameter->bytes, 8) * 8;
    const bool fits = bits == 64 || whole >> bits == 0 || ~whole >> (bits - 1) == 0;
    if (!fits) return fail_argument(r, "a number that fits the parameter");
    return put_scalar(r, whole);
}

static spad_status take_hex_bytes(argument_reader *r) {
    int64_t at = 0;
    for (; *r->at != '\0'; r->at += 2, at++) {
        const bool unknown = r->at[0] == '.' && r->at[1] == '.';
        const int high = hex_digit_of(r->at[0]), low = high < 16 ? hex_digit_of(r->at[1]) : 16;
        if (at == r->parameter->bytes)
            return fail_argument(r, "no more bytes than the parameter has");
        if (!unknown && low > 15)
            return fail_argument(r, "two hexadecimal digits per byte, or '..'");
        r->out->bytes.items[r->offset + at] = unknown ? 0 : (uint8_t)(high * 16 + low);
        r->out->known.items[r->offset + at] = unknown ? 0 : 1;
    }
    return SPAD_OK;
}

static spad_status take_argument_value(argument_reader *r) {
    if (take_word(r, "unknown")) return SPAD_OK;
    if (take_word(r, "tensormap:")) return take_tensor_map(r);
    if (take_word(r, "bytes:")) return take_hex_bytes(r);
    const bool number = *r->at == '-' || (*r->at >= '0' && *r->at <= '9');
    return number ? take_scalar(r) : take_tensor(r);
}

/* ---- the list
 * ---------------------------------------------------------------------------------------- */

/* The parameter that a label names by number; else the next one without an argument. */
static int32_t choose_parameter(const char *word, size_t length, const bool *given, int32_t count) {
    int64_t number = 0;
    size_t digits = 0;
    while (digits < length && word[digits] >= '0' && word[digits] <= '9' && number < count)
        number = number * 10 + (word[digits++] - '0');
    if (digits == length && length > 0) return number < count ? (int32_t)number : -1;
    for (int32_t i = 0; i < count; i++) {
        if (!given[i]) return i;
    }
    return -1;
}

static spad_status lay_out_parameters(spad__ptx_arguments *out,
                                      const spad__ptx_variable *parameters, int32_t count,
                                      int64_t *offsets, spad_error *error) {
    int64_t end = 0;
    for (int32_t i = 0; i < count; i++) {
        const int64_t align = spad__max(parameters[i].align, 1);
        if (!spad__align_up(end, align, &offsets[i]) ||
            !spad__add(offsets[i], parameters[i].bytes, &end) || end > 1 << 20) {
            return spad__fail(error, SPAD_ERR_ARGUMENT,
                              "the parameters of the kernel exceed 1 MiB");
        }
    }
    if (!spad__array_reserve(&out->host, &out->bytes, (size_t)end) ||
        !spad__array_reserve(&out->host, &out->known, (size_t)end))
        return spad__fail_host_memory(error);
    if (end > 0) {
        memset(out->bytes.items, 0, (size_t)end);
        memset(out->known.items, 0, (size_t)end);
    }
    out->bytes.count = out->known.count = (size_t)end;
    return SPAD_OK;
}

static spad_status read_word(spad__ptx_arguments *out, const spad__ptx_variable *parameters,
                             int32_t count, const int64_t *offsets, bool *given, const char *word,
                             spad_error *error) {
    const char *sign = strchr(word, '=');
    if (sign == NULL) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "argument '%s': expected NAME=VALUE, such as A=bf16[64,64]", word);
    }
    const int32_t which = choose_parameter(word, (size_t)(sign - word), given, count);
    if (which < 0 || given[which]) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "argument '%s': the kernel has %d parameters, and %s", word, (int)count,
                          which < 0 ? "none is left for it" : "this one has been given");
    }
    argument_reader r = {.out = out,
                         .what = "argument",
                         .word = word,
                         .at = sign + 1,
                         .parameter = &parameters[which],
                         .offset = offsets[which],
                         .error = error};
    const spad_status status = take_argument_value(&r);
    if (status != SPAD_OK) return status;
    given[which] = true;
    return *r.at == '\0' ? SPAD_OK : fail_argument(&r, "the end");
}

/* Labels are not compared with anything, as PTX has no names of parameters. But one that is given
 * twice is a mistake. */
static spad_status refuse_repeated_label(const char *const *words, size_t index,
                                         spad_error *error) {
    const size_t length = strcspn(words[index], "=");
    for (size_t i = 0; i < index; i++) {
        if (strcspn(words[i], "=") == length && memcmp(words[i], words[index], length) == 0)
            return spad__fail(error, SPAD_ERR_ARGUMENT,
                              "argument '%s': '%.*s' has been given before; arguments go in the "
                              "order of the parameters",
                              words[index], (int)spad__min((int64_t)length, 80), words[index]);
    }
    return SPAD_OK;
}

static spad_status read_launch_words(spad__ptx_arguments *out, const spad__ptx_variable *parameters,
                                     int32_t count, const int64_t *offsets, bool *given,
                                     const char *const *words, size_t word_count,
                                     spad_error *error) {
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < word_count && status == SPAD_OK; i++) {
        status = refuse_repeated_label(words, i, error);
        if (status == SPAD_OK)
            status = read_word(out, parameters, count, offsets, given, words[i], error);
    }
    for (int32_t i = 0; i < count && status == SPAD_OK; i++) {
        if (given[i]) continue;
        status = spad__fail(error, SPAD_ERR_ARGUMENT,
                            "parameter %d ('%s', %lld bytes) has no argument: give one, such as "
                            "--arg %d=bf16[64,64] or --arg %d=4096, or --arg %d=unknown",
                            (int)i, parameters[i].name, (long long)parameters[i].bytes, (int)i,
                            (int)i, (int)i);
    }
    return status;
}

spad_status spad__ptx_read_words(spad__ptx_arguments *out, const spad__ptx_module *module,
                                 const spad__ptx_function *kernel, const spad_ptx_launch *launch,
                                 spad_error *error) {
    const int32_t count = kernel->parameter_count;
    const spad__ptx_variable *parameters = &module->locals.items[kernel->first_variable];
    int64_t *offsets = spad__new_array(&out->host, (size_t)count + 1, sizeof *offsets);
    bool *given = spad__new_array(&out->host, (size_t)count + 1, sizeof *given);
    spad_status status = SPAD_OK;
    if (offsets == NULL || given == NULL) {
        status = spad__fail_host_memory(error);
    } else {
        status = lay_out_parameters(out, parameters, count, offsets, error);
        if (status == SPAD_OK && launch->parameters == NULL) {
            status = read_launch_words(out, parameters, count, offsets, given, launch->arguments,
                                       launch->argument_count, error);
        }
    }
    spad__free(&out->host, offsets, ((size_t)count + 1) * sizeof *offsets);
    spad__free(&out->host, given, ((size_t)count + 1) * sizeof *given);
    return status;
}

void spad__ptx_arguments_free(spad__ptx_arguments *a) {
    for (size_t i = 0; i < a->buffers.count; i++) {
        spad__ptx_buffer *b = &a->buffers.items[i];
        const size_t bytes = (size_t)(b->bytes - b->beyond);
        spad__free(&a->host, b->data, bytes);
        spad__free(&a->host, b->known, bytes);
    }
    spad__array_free(&a->host, &a->bytes);
    spad__array_free(&a->host, &a->known);
    spad__array_free(&a->host, &a->buffers);
    spad__array_free(&a->host, &a->maps);
}
