// SPDX-License-Identifier: Apache-2.0
// Calls: direct, through a pointer, with a structure, a switch that becomes a jump table, an assertion.
#include <cstdio>

struct Pair {
    int first;
    double second;
};

__device__ __noinline__ Pair twice(Pair p) {
    return {2 * p.first, 2 * p.second};
}
__device__ __noinline__ int one(int x) {
    return x + 1;
}
__device__ __noinline__ int square(int x) {
    return x * x;
}
__device__ int (*const table[2])(int) = {one, square};

__device__ __noinline__ int choose(int x, int *p) {
    switch (x) {
    case 0: return p[7];
    case 1: return p[1] * p[2];
    case 2: return p[3] + 9;
    case 3: return atomicAdd(p, 4);
    case 4: return p[0] ^ 55;
    case 5: return __popc(p[5]);
    case 6: return p[6] / 3;
    default: return -1;
    }
}

extern "C" __global__ void calls(int *out, int n) {
    const Pair p = twice({n, 0.5});
    int value = table[n & 1](p.first) + choose(n, out);
    if (p.second > 3.0) printf("%d\n", value);
    out[threadIdx.x] = value;
}
