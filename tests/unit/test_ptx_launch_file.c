/* SPDX-License-Identifier: Apache-2.0
 *
 * Launch files: what each key becomes, the fault of each wrong line, and launches by address as
 * they are executed. */
#include <stdlib.h>
#include <string.h>

#include "spad/experimental/ptx.h"
#include "support/faults.h"
#include "support/support.h"

/* ---- reading --------------------------------------------------------------------------------- */

static spad_ptx_launch_file *file_of(const char *text) {
    spad_ptx_launch_file *file;
    assert_int_equal(spad_ptx_launch_file_create(&file, text, strlen(text), "f", NULL, NULL, NULL),
                     SPAD_OK);
    return file;
}

static void keys_become_a_launch(void **state) {
    (void)state;
    spad_ptx_launch_file *file = file_of(
        "# recorded\nversion = 1\nmodule = \"m/gemm.fatbin\"\nkernel = \"gemm*\"\n"
        "grid = 132\nblock = [384, 2]\ncluster = [2, 1, 1,\n]\ncta = [1, 0, 3]\nsmem = 200_704\n"
        "args = [\"A=bf16[64]\",\n  \"K=4\",]\nassume = \"K is even\"\n");
    const spad_ptx_launch l = spad_ptx_launch_file_get(file);
    static const uint32_t block[3] = {384, 2, 0}, cluster[3] = {2, 1, 1}, cta[3] = {1, 0, 3};
    assert_string_equal(spad_ptx_launch_file_module(file), "m/gemm.fatbin");
    assert_string_equal(spad_ptx_launch_file_kernel(file), "gemm*");
    assert_int_equal(l.grid[0], 132);
    assert_int_equal(l.grid[1], 0);
    assert_memory_equal(l.block, block, sizeof block);
    assert_memory_equal(l.cluster, cluster, sizeof cluster);
    assert_memory_equal(l.cta, cta, sizeof cta);
    assert_int_equal(l.dynamic_shared_bytes, 200704);
    assert_int_equal(l.argument_count, 2);
    assert_string_equal(l.arguments[1], "K=4");
    assert_string_equal(l.assumption, "K is even");
    assert_null(l.parameters);
    spad_ptx_launch_file_destroy(file);
}

static void tables_become_memory_maps_and_variables(void **state) {
    (void)state;
    spad_ptx_launch_file *file =
        file_of("version = 1\nmodule = \"a.ptx\"\nparameters = \"00aB..10\"\n"
                "[[memory]]\naddress = 0x2000\nbytes = 64\ncontents = \"01..03\"\n"
                "[[tensormap]]\nparameter = 64\nmap = \"f16[64,64],box[8,64],at[0x2000]\"\n"
                "[[variable]]\nname = \"lut\"\ncontents = \"ff\"\n"
                "[[memory]]\nbytes = 16\naddress = 0x1000\ncontents = \"zeros\"\n"
                "[[memory]]\naddress = 0x1010\nbytes = 4080\n"
                "[[tensormap]]\naddress = 0x2000\nmap = \"u8[1,8,16],box[1,8,16],stride[0,16]\"\n");
    const spad_ptx_launch l = spad_ptx_launch_file_get(file);
    static const uint8_t parameters[] = {0, 0xab, 0, 0x10}, known[] = {1, 1, 0, 1};
    assert_null(spad_ptx_launch_file_kernel(file));
    assert_int_equal(l.parameter_bytes, 4);
    assert_memory_equal(l.parameters, parameters, 4);
    assert_memory_equal(l.parameters_known, known, 4);
    assert_int_equal(l.memory_count, 3); /* by address */
    assert_true(l.memory[0].address == 0x1000 && l.memory[0].contents == NULL);
    assert_int_equal(l.memory[0].content_bytes, 16);
    assert_true(l.memory[1].address == 0x1010 && l.memory[1].content_bytes == 0);
    assert_int_equal(l.memory[2].content_bytes, 3);
    assert_int_equal(l.memory[2].contents[2], 3);
    assert_int_equal(l.memory[2].known[1], 0);
    assert_int_equal(l.tensor_map_count, 2);
    assert_true(l.tensor_maps[0].in_parameters && l.tensor_maps[0].at == 64);
    assert_true(!l.tensor_maps[1].in_parameters && l.tensor_maps[1].at == 0x2000);
    assert_int_equal(l.variable_count, 1);
    assert_string_equal(l.variables[0].name, "lut");
    assert_int_equal(l.variables[0].contents[0], 0xff);
    assert_null(l.variables[0].known);
    spad_ptx_launch_file_destroy(file);
}

static void the_first_line_says_that_it_is_one(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool is;
    } rows[] = {{"version = 1", true},
                {"# a launch\n\n  version=1", true},
                {"version", false},
                {"version 9.0", false},
                {".version 9.0", false},
                {"versions = 1", false},
                {"", false},
                {"# version = 1", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(spad_ptx_launch_file_detect(rows[i].text, strlen(rows[i].text)),
                         rows[i].is);
    }
}

/* ---- faults ---------------------------------------------------------------------------------- */

static spad_status read_launch(const char *text, const char *file, spad_diagnostics *diagnostics,
                               spad_error *error) {
    spad_ptx_launch_file *out;
    const spad_status status =
        spad_ptx_launch_file_create(&out, text, strlen(text), file, NULL, diagnostics, error);
    if (status != SPAD_OK) assert_null(out);
    spad_ptx_launch_file_destroy(out);
    return status;
}

static void wrong_keys_are_named(void **state) {
    (void)state;
    static const test_fault cases[] = {
        {"grids = 4", 1, 1, 5, "unknown key 'grids' in the file; did you mean 'grid'?"},
        {"grid = 4\ngrid = 4", 2, 1, 4, "key 'grid' is given twice"},
        {"version = 1", 1, 1, 7, "key 'version' is given twice"},
        {"grid 4", 1, 6, 1, "expected '=' after 'grid', found '4'"},
        {"grid = 0", 1, 8, 1, "expected a whole number from 1 to 2147483647 after '=', found '0'"},
        {"grid = 1.5", 1, 8, 3,
         "expected a whole number from 1 to 2147483647 after '=', found '1.5'"},
        {"grid = 4 5", 1, 10, 1, "expected the end of the line after '4', found '5'"},
        {"grid = [1, 1, 1, 1]", 1, 18, 1, "expected ']' after ',', found '1'"},
        {"grid = []", 1, 9, 1, "expected up to three whole numbers after '[', found ']'"},
        {"grid = [1 1]", 1, 11, 1, "expected ',' or ']' after '1', found '1'"},
        {"args = 4", 1, 8, 1,
         "expected a list of arguments, such as [\"K=4096\"] after '=', found '4'"},
        {"args = [4]", 1, 9, 1, "expected a string after '[', found '4'"},
        {"args = []\nparameters = \"\"", -1, 1, 1,
         "either 'args' or 'parameters' gives the parameters, not both"},
        {"parameters = 4", 1, 14, 1,
         "expected a string of hexadecimal digits after '=', found '4'"},
        {"parameters = \"001\"", 1, 17, 1,
         "expected two hexadecimal digits per byte, or '..' for an unknown byte"},
        {"parameters = \"00.1\"", 1, 17, 2,
         "expected two hexadecimal digits per byte, or '..' for an unknown byte"},
        {"[memory]", 1, 2, 6, "expected '[' after '[', found 'memory'"},
        {"[[memories]]\nbytes = 4", 1, 3, 8,
         "expected 'memory', 'tensormap' or 'variable' after '[', found 'memories'"},
        {"[[memory]", 1, 10, 1, "expected ']]' after ']', found the end of the line"},
        {"= 4", 1, 1, 1, "expected a key or a table such as [[memory]], found '='"},
    };
    TEST_FAULTS(read_launch, "version = 1\nmodule = \"m\"\n", "\n", cases);
    static const test_fault heads[] = {
        {"version = 2\nmodule = \"m\"", 1, 11, 1,
         "only version 1 of launch files is known; a newer spad may read this one"},
        {"version = 1", 1, 1, 1, "the file needs 'module'"},
        {"module = \"m\"", 1, 1, 1, "the file needs 'version'"},
        {"version = 1\nmodule = \"\"", 2, 10, 2, "the path of a file is needed"},
    };
    TEST_FAULTS(read_launch, "", "\n", heads);
}

static void wrong_tables_are_named(void **state) {
    (void)state;
    static const test_fault cases[] = {
        {"[[memory]]\nbytes = 4", 1, 1, 10, "[[memory]] needs 'address'"},
        {"[[memory]]\naddress = 4", 1, 1, 10, "[[memory]] needs 'bytes'"},
        {"[[memory]]\naddress = 4\nbytes = 1\ncontents = \"0102\"", 4, 12, 6,
         "these are more bytes than 'bytes'"},
        {"[[memory]]\naddress = 0x7a0000000000\nbytes = 1", 1, 1, 10,
         "spad itself uses the addresses from 0x7a0000000000 to 0x7fffffffffff: move this memory, "
         "and the pointers to it"},
        {"[[memory]]\naddress = 0x79ffffffffff\nbytes = 2", 1, 1, 10,
         "spad itself uses the addresses from 0x7a0000000000 to 0x7fffffffffff: move this memory, "
         "and the pointers to it"},
        {"[[memory]]\naddress = 16\nbytes = 8\n[[memory]]\naddress = 9\nbytes = 8", 1, 1, 10,
         "this memory overlaps the one at 0x9"},
        {"[[memory]]\naddress = 16\nbytes = 8\nkernel = \"k\"", 4, 1, 6,
         "unknown key 'kernel' in [[memory]]: it goes above the first table"},
        {"[[tensormap]]\nmap = \"f16[8],box[8]\"", 1, 1, 13,
         "[[tensormap]] needs either 'parameter', an offset in the parameters, or 'address'"},
        {"[[tensormap]]\nparameter = 4\naddress = 4\nmap = \"f16[8],box[8]\"", 1, 1, 13,
         "[[tensormap]] needs either 'parameter', an offset in the parameters, or 'address'"},
        {"[[tensormap]]\nparameter = 4", 1, 1, 13, "[[tensormap]] needs 'map'"},
        {"[[tensormap]]\nparameter = 4\nmap = \"f16[8]\"", 3, 7, 8,
         "tensor map 'f16[8]': expected ',box[...]' at ''"},
        {"[[tensormap]]\nparameter = 4\nmap = \"f16[8,8],box[8,8],stride[-1]\"", 3, 7, 30,
         "tensor map 'f16[8,8],box[8,8],stride[-1]': expected a stride in bytes at ']'"},
        {"[[tensormap]]\nparameter = 4\nmap = \"f16[8],box[8],at[0]\"", 3, 7, 21,
         "tensor map 'f16[8],box[8],at[0]': expected an address in brackets, such as "
         "[0x7200000000] at ']'"},
        {"[[tensormap]]\nparameter = 4\nmap = \"f16[8],box[8] \"", 3, 7, 16,
         "tensor map 'f16[8],box[8] ': expected the end at ' '"},
        {"[[variable]]\nname = \"lut\"", 1, 1, 12, "[[variable]] needs 'contents'"},
        {"[[variable]]\nname = \"lut\"\ncontents = \"zeros\"", 3, 12, 7,
         "the contents of a variable are hexadecimal digits; without a [[variable]] it has those "
         "of the module"},
    };
    TEST_FAULTS(read_launch, "version = 1\nmodule = \"m\"\n", "\n", cases);
}

/* ---- launches -------------------------------------------------------------------------------- */

/* Reads a word of memory, a variable and a word through a pointer to a pointer, and traps unless
 * they are as the launch says. */
static const char kernel[] =
    ".version 9.0\n.target sm_90a\n.address_size 64\n.const .align 4 .b8 lut[8];\n"
    ".entry k(.param .u64 table, .param .align 64 .b8 map[128], .param .u32 wanted) {\n"
    ".reg .b64 %rd<4>;\n.reg .b32 %r<6>;\n.reg .pred %p<4>;\n"
    "ld.param.u64 %rd1, [table];\nld.param.u32 %r1, [wanted];\n"
    "ld.global.u64 %rd2, [%rd1];\nld.global.u32 %r2, [%rd2];\n"
    /* beyond the contents of a region */
    "ld.global.u32 %r5, [%rd1+64];\nst.global.u32 [%rd1+128], %r1;\nst.global.u32 [%rd1+8], %r5;\n"
    "ld.const.u32 %r3, [lut+4];\nadd.u32 %r4, %r2, %r3;\n"
    "setp.ne.u32 %p1, %r4, %r1;\n@%p1 trap;\nret;\n}\n";

static spad_status run_file(const char *text, int *faults, spad_error *error) {
    spad_ptx_launch_file *file = file_of(text);
    spad_ptx_launch launch = spad_ptx_launch_file_get(file);
    spad_ptx *ptx;
    spad_ptx_run *run;
    assert_int_equal(spad_ptx_create(&ptx, kernel, sizeof kernel - 1, "k", NULL, NULL, NULL),
                     SPAD_OK);
    const spad_status status = spad_ptx_run_create(&run, ptx, &launch, NULL, error);
    *faults = 0;
    for (size_t i = 0; status == SPAD_OK && i < spad_ptx_run_remark_count(run); i++) {
        const spad_ptx_remark remark = spad_ptx_run_get_remark(run, i);
        *faults += remark.wrong;
        if (remark.wrong && error != NULL) memcpy(error->message, remark.message, 100);
    }
    spad_ptx_run_destroy(run);
    spad_ptx_destroy(ptx);
    spad_ptx_launch_file_destroy(file);
    return status;
}

/* The parameters: a pointer at 0, a map at 64, a number at 192. */
static char *launch_text(const char *wanted, const char *rest) {
    static char text[4096];
    char parameters[400] = "0000000072000000";
    while (strlen(parameters) < 2 * 192) strcat(parameters, "..");
    snprintf(text, sizeof text, "version = 1\nmodule = \"m\"\nparameters = \"%s%s\"\n%s",
             parameters, wanted, rest);
    return text;
}

#define TABLE                                                                             \
    "[[memory]]\naddress = 0x7200000000\nbytes = 4096\ncontents = \"0000000073000000\"\n" \
    "[[memory]]\naddress = 0x7300000000\nbytes = 8\ncontents = \"05000000\"\n"
#define MAP "[[tensormap]]\nparameter = 64\nmap = \"f16[64],box[64]\"\n"
#define LUT "[[variable]]\nname = \"lut\"\ncontents = \"0000000002000000\"\n"

static void pointers_in_memory_are_followed(void **state) {
    (void)state;
    int faults;
    assert_int_equal(run_file(launch_text("07000000", TABLE MAP LUT), &faults, NULL), SPAD_OK);
    assert_int_equal(faults, 0);
    /* another sum: the program traps */
    assert_int_equal(run_file(launch_text("08000000", TABLE MAP LUT), &faults, NULL), SPAD_OK);
    assert_int_equal(faults, 1);
    /* without the variable's contents it is zero */
    assert_int_equal(run_file(launch_text("05000000", TABLE MAP), &faults, NULL), SPAD_OK);
    assert_int_equal(faults, 0);
    /* memory that the launch does not have */
    assert_int_equal(run_file(launch_text("07000000", MAP LUT), &faults, NULL), SPAD_OK);
    assert_true(faults > 0);
}

static void launches_of_another_kernel_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *wanted, *rest, *message;
    } rows[] = {
        {"0700", "",
         "the parameters of the kernel have 196 B, and the launch gives 194 B: is it a launch of "
         "another kernel?"},
        {"07000000", "[[tensormap]]\nparameter = 128\nmap = \"f16[64],box[64]\"\n",
         "a tensor map at byte 128 of the parameters, which have 196 B"},
        {"07000000", "[[variable]]\nname = \"k\"\ncontents = \"00\"\n",
         "the module has no .global or .const variable 'k'"},
        {"07000000", "[[variable]]\nname = \"lut\"\ncontents = \"000000000000000000\"\n",
         "variable 'lut' has 8 B, and the launch gives it 9 B"},
        {"07000000", "[[memory]]\naddress = 64\nbytes = 2147483648\ncontents = \"zeros\"\n",
         "memory of a launch has at most 1 GiB of contents"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        spad_error error;
        int faults;
        assert_int_equal(run_file(launch_text(rows[i].wanted, rows[i].rest), &faults, &error),
                         SPAD_ERR_ARGUMENT);
        assert_string_equal(error.message, rows[i].message);
    }
}

/* ---- without memory -------------------------------------------------------------------------- */

static spad_status one_launch(const spad_host *host, void *context) {
    const char *text = context;
    const spad_kernel_options options = {.host = host};
    spad_ptx_launch_file *file;
    spad_ptx *ptx = NULL;
    spad_ptx_run *run = NULL;
    spad_status status =
        spad_ptx_launch_file_create(&file, text, strlen(text), "f", host, NULL, NULL);
    if (status != SPAD_OK) return status;
    const spad_ptx_launch launch = spad_ptx_launch_file_get(file);
    status = spad_ptx_create(&ptx, kernel, sizeof kernel - 1, "k", host, NULL, NULL);
    if (status == SPAD_OK) status = spad_ptx_run_create(&run, ptx, &launch, &options, NULL);
    spad_ptx_run_destroy(run);
    spad_ptx_destroy(ptx);
    spad_ptx_launch_file_destroy(file);
    return status;
}

static void every_allocation_can_fail(void **state) {
    (void)state;
    test_fail_each_allocation(one_launch, launch_text("07000000", TABLE MAP LUT));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_become_a_launch),
        cmocka_unit_test(tables_become_memory_maps_and_variables),
        cmocka_unit_test(the_first_line_says_that_it_is_one),
        cmocka_unit_test(wrong_keys_are_named),
        cmocka_unit_test(wrong_tables_are_named),
        cmocka_unit_test(pointers_in_memory_are_followed),
        cmocka_unit_test(launches_of_another_kernel_are_refused),
        cmocka_unit_test(every_allocation_can_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
