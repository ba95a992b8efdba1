/* SPDX-License-Identifier: Apache-2.0
 *
 * Files with PTX in them: what nvcc 13 wrote (fuzz/corpus/ptx_image), cut and changed in every
 * place, and blocks of LZ4 by hand. */
#include <stdlib.h>
#include <string.h>

#include "frontend/ptx/image/lz4.h"
#include "spad/device/zstd.h"
#include "spad/experimental/ptx.h"
#include "support/support.h"

typedef struct test_bytes {
    uint8_t bytes[8192];
    size_t length;
} test_bytes;

static test_bytes bytes_of(const char *name) {
    test_bytes b;
    char path[512];
    snprintf(path, sizeof path, SPAD_SOURCE_DIR "/fuzz/corpus/ptx_image/%s", name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    b.length = fread(b.bytes, 1, sizeof b.bytes, file);
    assert_true(b.length > 0 && b.length < sizeof b.bytes);
    fclose(file);
    return b;
}

static spad_ptx_image *image_of(const test_bytes *b) {
    const spad_ptx_image_options options = {.unpack_zstd = spad_zstd_unpack};
    spad_ptx_image *image;
    assert_int_equal(spad_ptx_image_create(&image, b->bytes, b->length, &options, NULL), SPAD_OK);
    return image;
}

/* ---- entries -------------------------------------------------------------------------------- */

static void entries_are_listed(void **state) {
    (void)state;
    const test_bytes b = bytes_of("plain.fatbin");
    spad_ptx_image *image = image_of(&b);
    assert_int_equal(spad_ptx_image_count(image), 2);
    const spad_ptx_image_entry first = spad_ptx_image_get(image, 0);
    const spad_ptx_image_entry second = spad_ptx_image_get(image, 1);
    assert_true(first.ptx && second.ptx && first.unit == 0 && second.unit == 0);
    assert_string_equal(first.arch, "sm_80");
    assert_string_equal(second.arch, "sm_90a");
    assert_string_equal(second.source, "scale.cu");
    spad_ptx_image_destroy(image);
}

/* Packed or not, the text is the same. */
static void texts_are_unpacked(void **state) {
    (void)state;
    static const char *const files[] = {"plain.fatbin", "lz4.fatbin", "zstd.fatbin"};
    char *first = NULL;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const test_bytes b = bytes_of(files[i]);
        spad_ptx_image *image = image_of(&b);
        spad_ptx *ptx;
        size_t length;
        assert_int_equal(spad_ptx_image_find(&ptx, image, NULL, NULL, "f", NULL, NULL), SPAD_OK);
        assert_string_equal(spad_ptx_target(ptx), "sm_90a");
        const char *text = spad_ptx_text(ptx, &length);
        assert_int_equal(strlen(text), length);
        if (first == NULL) first = strdup(text);
        assert_string_equal(text, first);
        spad_ptx_destroy(ptx);
        spad_ptx_image_destroy(image);
    }
    free(first);
}

static spad_status find_in(const char *file, const char *arch, const char *kernel, char target[16],
                           spad_error *error) {
    const test_bytes b = bytes_of(file);
    spad_ptx_image *image = image_of(&b);
    spad_ptx *ptx;
    const spad_status status = spad_ptx_image_find(&ptx, image, arch, kernel, "f", NULL, error);
    if (status == SPAD_OK) snprintf(target, 16, "%s", spad_ptx_target(ptx));
    spad_ptx_destroy(ptx);
    spad_ptx_image_destroy(image);
    return status;
}

static void the_module_with_the_kernel_is_found(void **state) {
    (void)state;
    static const struct {
        const char *file, *arch, *kernel, *target, *message;
    } rows[] = {
        {"plain.fatbin", NULL, NULL, "sm_90a", NULL},
        {"plain.fatbin", "sm_80", NULL, "sm_80", NULL},
        {"plain.fatbin", "compute_90a", "other", "sm_90a", NULL},
        {"plain.fatbin", "90", NULL, NULL, "there is no PTX for '90', only for sm_80, sm_90a"},
        {"two.o", NULL, "*clear*", "sm_90a", NULL},
        {"two.o", NULL, "_Z5scaleIfEvPT_S0_", "sm_90a", NULL},
        {"two.o", NULL, NULL, NULL,
         "kernels of several modules match: name one with --kernel; 'spad cuda list' shows them"},
        {"two.o", NULL, "*blur*", NULL,
         "no kernel of 2 modules matches '*blur*'; 'spad cuda list' shows them"},
        {"code.fatbin", NULL, NULL, NULL,
         "machine code for sm_90a and no PTX: compile with '-gencode "
         "arch=compute_90a,code=compute_90a' in addition"},
        {"cut.cubin", NULL, NULL, NULL,
         "a cubin: machine code without PTX; compile with 'nvcc -fatbin -gencode "
         "arch=compute_90a,code=compute_90a', or pass the .cu file"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char target[16] = "";
        spad_error error = {0};
        const spad_status status =
            find_in(rows[i].file, rows[i].arch, rows[i].kernel, target, &error);
        assert_int_equal(status, rows[i].message == NULL ? SPAD_OK : SPAD_ERR_UNKNOWN);
        if (rows[i].target != NULL) assert_string_equal(target, rows[i].target);
        if (rows[i].message != NULL) assert_string_equal(error.message, rows[i].message);
    }
}

static void without_a_function_zstd_is_refused(void **state) {
    (void)state;
    const test_bytes b = bytes_of("zstd.fatbin");
    spad_ptx_image *image;
    spad_ptx *ptx;
    spad_error error;
    assert_int_equal(spad_ptx_image_create(&image, b.bytes, b.length, NULL, NULL), SPAD_OK);
    assert_int_equal(spad_ptx_image_read(&ptx, image, 0, "f", NULL, &error), SPAD_ERR_CAPABILITY);
    assert_null(ptx);
    assert_string_equal(error.message,
                        "the PTX is packed with zstd: compile with 'nvcc --compress-mode=speed'");
    spad_ptx_image_destroy(image);
}

/* ---- damage --------------------------------------------------------------------------------- */

/* Reads all that a damaged file has; AddressSanitizer sees what lies outside of its bytes. */
static spad_status read_all(const uint8_t *bytes, size_t length, spad_error *error) {
    const spad_ptx_image_options options = {.unpack_zstd = spad_zstd_unpack};
    uint8_t *own = malloc(length + 1);
    spad_ptx_image *image;
    assert_non_null(own);
    memcpy(own, bytes, length);
    spad_status status = spad_ptx_image_create(&image, own, length, &options, error);
    for (size_t i = 0; status == SPAD_OK && i < spad_ptx_image_count(image); i++) {
        spad_ptx *ptx = NULL;
        if (!spad_ptx_image_get(image, i).ptx) continue;
        status = spad_ptx_image_read(&ptx, image, i, "f", NULL, error);
        spad_ptx_destroy(ptx);
    }
    spad_ptx_image_destroy(image);
    free(own);
    return status;
}

static void a_file_that_is_cut_off_is_refused(void **state) {
    (void)state;
    static const char *const files[] = {"plain.fatbin", "lz4.fatbin", "zstd.fatbin", "two.o"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const test_bytes b = bytes_of(files[i]);
        for (size_t length = 0; length < b.length; length++) {
            spad_error error = {0};
            assert_int_equal(read_all(b.bytes, length, &error), SPAD_ERR_ARGUMENT);
            assert_true(error.message[0] != '\0');
        }
    }
}

static void changed_bytes_give_a_text_or_a_message(void **state) {
    (void)state;
    static const uint8_t values[] = {0x00, 0x01, 0x7f, 0xff};
    test_bytes b = bytes_of("lz4.fatbin");
    for (size_t at = 0; at < b.length; at++) {
        const uint8_t before = b.bytes[at];
        for (size_t v = 0; v < sizeof values; v++) {
            spad_error error = {0};
            b.bytes[at] = values[v];
            if (read_all(b.bytes, b.length, &error) != SPAD_OK)
                assert_true(error.message[0] != '\0');
        }
        b.bytes[at] = before;
    }
}

static void put_number(uint8_t *at, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++) at[i] = (uint8_t)(value >> 8 * i);
}

/* One wrong field of the first entry at a time. */
static void wrong_fields_are_named(void **state) {
    (void)state;
    static const struct {
        int at, bytes;
        uint64_t value;
        const char *message;
    } rows[] = {{8, 8, 1 << 20, "fatbin 0 is cut off: the file is not complete"},
                {6, 2, 8, "fatbin 0 is cut off: the file is not complete"},
                {20, 4, 63, "fatbin 0, entry 0: its header is cut off"},
                {20, 4, UINT32_MAX, "fatbin 0, entry 0: its header is cut off"},
                {24, 8, UINT64_MAX, "fatbin 0, entry 0: its contents are cut off"},
                {24, 8, 8, "fatbin 0, entry 0: its packed bytes exceed it"},
                {32, 4, 1 << 20, "fatbin 0, entry 0: its packed bytes exceed it"},
                {52, 4, 1 << 20, "fatbin 0, entry 0: its name exceeds its header"},
                {72, 8, UINT64_C(1) << 40, "fatbin 0, entry 0: it unpacks to more than 256 MiB"},
                {72, 8, 1 << 20, "fatbin 0, entry 0: LZ4 cannot unpack to as many bytes"},
                {72, 8, 5, "a PTX text of the file cannot be unpacked (LZ4): the file is damaged"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        test_bytes b = bytes_of("lz4.fatbin");
        spad_error error = {0};
        put_number(b.bytes + rows[i].at, rows[i].value, rows[i].bytes);
        assert_int_equal(read_all(b.bytes, b.length, &error), SPAD_ERR_ARGUMENT);
        assert_memory_equal(error.message, rows[i].message, strlen(rows[i].message));
    }
}

/* ---- LZ4 ------------------------------------------------------------------------------------- */

static void lz4_blocks_are_unpacked(void **state) {
    (void)state;
    static const struct {
        const char *block;
        size_t length;
        const char *text; /* NULL: damaged */
        size_t size;
    } rows[] = {{"", 0, "", 0},
                {"\x30"
                 "abc",
                 4, "abc", 3},
                {"\x30"
                 "abc",
                 4, NULL, 4}, /* another size */
                {"\x30"
                 "ab",
                 3, NULL, 3}, /* literals are cut off */
                {"\x10"
                 "a\x01\x00",
                 4, "aaaaa", 5}, /* a copy that overlaps itself */
                {"\x20"
                 "ab\x02\x00\x10"
                 "c",
                 7, "abababc", 7},
                {"\x10"
                 "a\x01\x00",
                 4, NULL, 4}, /* a copy beyond the end */
                {"\x10"
                 "a\x02\x00",
                 4, NULL, 5}, /* a copy from before the start */
                {"\x10"
                 "a\x00\x00",
                 4, NULL, 5}, /* a copy of nothing */
                {"\x10"
                 "a\x01",
                 3, NULL, 5}, /* a distance that is cut off */
                {"\x1f"
                 "a\x01\x00\x01",
                 5, "aaaaaaaaaaaaaaaaaaaaa", 21},
                {"\x1f"
                 "a\x01\x00",
                 4, NULL, 21}, /* a length that is cut off */
                {"\xf0\x00"
                 "abcdefghijklmno",
                 17, "abcdefghijklmno", 15},
                {"\xf0\xff\xff\xff", 4, NULL, 15}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint8_t *to = malloc(rows[i].size + 1);
        assert_non_null(to);
        const bool fine =
            spad__lz4_unpack(to, rows[i].size, (const uint8_t *)rows[i].block, rows[i].length);
        assert_int_equal(fine, rows[i].text != NULL);
        if (fine) assert_memory_equal(to, rows[i].text, rows[i].size);
        free(to);
    }
}

/* ---- without memory -------------------------------------------------------------------------- */

static spad_status one_search(const spad_host *host, void *context) {
    const test_bytes *b = context;
    const spad_ptx_image_options options = {.host = host, .unpack_zstd = spad_zstd_unpack};
    spad_ptx_image *image;
    spad_ptx *ptx = NULL;
    spad_status status = spad_ptx_image_create(&image, b->bytes, b->length, &options, NULL);
    if (status != SPAD_OK) return status;
    status = spad_ptx_image_find(&ptx, image, NULL, "*clear*", "f", NULL, NULL);
    spad_ptx_destroy(ptx);
    spad_ptx_image_destroy(image);
    return status;
}

static void every_allocation_can_fail(void **state) {
    (void)state;
    test_bytes b = bytes_of("two.o");
    test_fail_each_allocation(one_search, &b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_are_listed),
        cmocka_unit_test(texts_are_unpacked),
        cmocka_unit_test(the_module_with_the_kernel_is_found),
        cmocka_unit_test(without_a_function_zstd_is_refused),
        cmocka_unit_test(a_file_that_is_cut_off_is_refused),
        cmocka_unit_test(changed_bytes_give_a_text_or_a_message),
        cmocka_unit_test(wrong_fields_are_named),
        cmocka_unit_test(lz4_blocks_are_unpacked),
        cmocka_unit_test(every_allocation_can_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
