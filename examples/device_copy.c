/* SPDX-License-Identifier: Apache-2.0
 *
 * Alignment and copies: an aligned buffer and the check of its address (T.address_of,
 * T.is_aligned), a copy, a copy on a stream, one between devices, and tiles of a matrix.
 *
 * The device is the first argument: host (default), cuda:0, opencl:0, ascend:0, neuron:0.
 */
#include <stdio.h>
#include <string.h>

#include "spad/device.h"
#include "spad/spad.h"

enum { SIDE = 128, TILE = 32 };

static spad_status run(spad_device *cpu, spad_device *npu, spad_error *error) {
    static uint16_t in[SIDE][SIDE];
    static uint16_t out[SIDE][SIDE];
    spad_buffer host, a, b;
    spad_stream stream;
    int64_t address;
    for (int i = 0; i < SIDE * SIDE; i++) in[i / SIDE][i % SIDE] = (uint16_t)i;
    const spad_buffer_spec spec = {
        .shape = SPAD_SHAPE(SIDE, SIDE), .dtype = SPAD_UINT16, .alignment = 256, .name = "tile"};
    spad_status status = spad_buffer_alloc(&host, cpu, &spec, error);
    if (status == SPAD_OK) status = spad_buffer_alloc(&a, npu, &spec, error);
    if (status == SPAD_OK) status = spad_buffer_alloc(&b, npu, &spec, error);
    if (status == SPAD_OK) status = spad_buffer_get_address(&address, a, error);
    if (status != SPAD_OK) return status;
    printf("at a multiple of 256: %s\n", spad_is_aligned(address, 256) ? "yes" : "no");

    /* T.copy(cpu_buf, npu_buf): between devices */
    status = spad_buffer_bind(host, in, sizeof in, error);
    if (status == SPAD_OK) status = spad_buffer_copy(a, host, error);

    /* with T.stream("compute"): on a stream; the buffer can be freed right after it */
    if (status == SPAD_OK) status = spad_stream_open(&stream, npu, error);
    if (status == SPAD_OK) status = spad_buffer_copy_async(b, a, stream, error);
    if (status == SPAD_OK) status = spad_buffer_free(a, error);
    if (status == SPAD_OK) status = spad_stream_wait(stream, error);

    /* input_buf[i:i+32, j:j+32]: tile by tile, with the order of tiles turned round */
    for (int t = 0; t < (SIDE / TILE) * (SIDE / TILE) && status == SPAD_OK; t++) {
        const int row = t / (SIDE / TILE) * TILE;
        const int column = t % (SIDE / TILE) * TILE;
        const spad_copy_tile tile = {.to_row = SIDE - TILE - row,
                                     .to_column = SIDE - TILE - column,
                                     .from_row = row,
                                     .from_column = column,
                                     .rows = TILE,
                                     .columns = TILE};
        status = spad_buffer_copy_matrix(host, b, &tile, &stream, error);
    }
    if (status == SPAD_OK) status = spad_stream_close(stream, error);
    if (status == SPAD_OK) status = spad_buffer_read(out, host, 0, sizeof out, NULL, error);
    if (status != SPAD_OK) return status;
    printf("first element of the first tile: %d (was %d)\n", out[0][0], in[0][0]);
    printf("the same as element (96, 96): %s\n", out[0][0] == in[96][96] ? "yes" : "no");

    /* the error is reported, and nothing is copied */
    spad_error refused;
    const spad_copy_tile outside = {.from_row = 100, .rows = TILE, .columns = TILE};
    if (spad_buffer_copy_matrix(host, b, &outside, NULL, &refused) != SPAD_OK)
        printf("%s\n", refused.message);
    status = spad_buffer_free(b, error);
    return status == SPAD_OK ? spad_buffer_free(host, error) : status;
}

int main(int argc, char **argv) {
    spad_device *cpu;
    spad_device *npu;
    spad_error error;
    if (spad_device_open(&cpu, "host", NULL, &error) != SPAD_OK) return 1;
    spad_status status = spad_device_open(&npu, argc > 1 ? argv[1] : "host", NULL, &error);
    if (status == SPAD_OK) status = run(cpu, npu, &error);
    if (status != SPAD_OK) fprintf(stderr, "%s\n", error.message);
    spad_device_close(npu, NULL);
    spad_device_close(cpu, NULL);
    return status != SPAD_OK;
}
