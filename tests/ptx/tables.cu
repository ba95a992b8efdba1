// SPDX-License-Identifier: Apache-2.0
// Variables: constants with numbers, floats and addresses, shared and local arrays, memory of the whole device.
__constant__ float weights[2][3] = {{1.0f, -2.5f, 3.0f}, {0.25f, 0.0f, 1e-30f}};
__constant__ double halves[2] = {0.5, 1.5};
__device__ int counters[16];
__device__ short small[3] = {-1, 2, 300};
struct Node {
    Node *next;
    int value;
};
__device__ Node first = {nullptr, 7};
__device__ Node second = {&first, 8};
__device__ const char *names[2] = {"ab", "c"};

extern "C" __global__ void __launch_bounds__(256, 2) tables(float *out, int n) {
    __shared__ float rows[8][33];
    int history[8];
    for (int i = 0; i < 8; i++) history[(i * n) & 7] = counters[i] + small[i % 3];
    rows[threadIdx.x & 7][threadIdx.x >> 3] = weights[n & 1][threadIdx.x % 3] + (float)halves[n & 1];
    __syncthreads();
    for (const Node *node = &second; node != nullptr; node = node->next) n += node->value;
    out[threadIdx.x] = rows[n & 7][threadIdx.x & 31] + (float)history[n & 7] + (float)names[n & 1][0];
}
