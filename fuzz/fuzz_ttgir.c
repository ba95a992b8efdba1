/* SPDX-License-Identifier: Apache-2.0
 *
 * TTGIR: any bytes give a kernel or faults with a message. A kernel that was read can be written,
 * and what is written reads back; its walk ends, or says why not.
 */
#include "fuzz.h"
#include "spad/spad.h"

enum { EVENTS_MAX = 3000, LENGTH_MAX = 1 << 17 };

static void walk_some(const spad_kernel *kernel) {
    const spad_walk_options options = {.agent = SPAD_WALK_ALL};
    const spad_walk_event *event;
    spad_walk *walk;
    spad_error error;
    if (spad_walk_create(&walk, kernel, &options, &error) != SPAD_OK) return;
    for (int i = 0; i < EVENTS_MAX; i++) {
        if (spad_walk_next(&event, walk, &error) != SPAD_OK) {
            REQUIRE(error.message[0] != '\0');
            break;
        }
        if (event->kind == SPAD_WALK_END) break;
    }
    spad_walk_destroy(walk);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const spad_define define = {"K", 192};
    const spad_kernel_options options = {.defines = &define, .define_count = size % 2};
    spad_ttgir_info info;
    spad_kernel *kernel;
    spad_error error;
    if (size > LENGTH_MAX) return 0;
    const char *text = (const char *)data;
    spad_ttgir_tile tiles[4];
    size_t count;
    spad_ttgir_detect(text, size);
    if (spad_ttgir_read_tiles(tiles, 4, &count, text, size, 1 + (int64_t)(size % 9), &options,
                              &error) == SPAD_OK) {
        for (size_t i = 0; i < count; i++) REQUIRE(tiles[i].near <= 9 && tiles[i].reused >= 1);
    } else {
        REQUIRE(error.message[0] != '\0');
    }
    char file[8];
    int32_t line;
    if (spad_ttgir_find_source(file, sizeof file, &line, text, size, (int32_t)(size % 64), NULL,
                               &error) == SPAD_OK)
        REQUIRE(strlen(file) < sizeof file);
    const spad_ttgir_meeting meeting = {(int32_t)(size % 64) + 1, size % 2 == 0, size % 3 == 0,
                                        true};
    fuzz_text placed = {0};
    const spad_sink to = {.write = fuzz_append, .context = &placed};
    if (spad_ttgir_write_barriers(text, size, &meeting, 1, &to, NULL, &error) == SPAD_OK)
        REQUIRE(placed.count >= size);
    free(placed.bytes);
    const spad_status status =
        spad_kernel_read_ttgir(&kernel, &info, text, size, "fuzz.ttgir", &options, NULL, &error);
    REQUIRE((status == SPAD_OK) == (kernel != NULL));
    if (status != SPAD_OK) {
        REQUIRE(error.message[0] != '\0');
        return 0;
    }
    fuzz_text written = {0};
    const spad_sink sink = {.write = fuzz_append, .context = &written};
    spad_kernel *again;
    REQUIRE(spad_kernel_write_text(kernel, &sink, NULL) == SPAD_OK);
    REQUIRE(spad_kernel_parse(&again, written.bytes, written.count, "again", NULL, NULL, &error) ==
            SPAD_OK);
    walk_some(kernel);
    spad_kernel_destroy(again);
    spad_kernel_destroy(kernel);
    free(written.bytes);
    return 0;
}
