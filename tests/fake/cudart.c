/* SPDX-License-Identifier: Apache-2.0
 *
 * NVIDIA's libcudart.so.13 as the linker sees it: programs of tests are linked against these names,
 * with their version, and find the capture runtime when they start.
 */
#define NAME(name)                                   \
    int name(void);                                  \
    int name(void) {                                 \
        return 35; /* cudaErrorInsufficientDriver */ \
    }
NAME(__cudaRegisterFatBinary)
NAME(__cudaRegisterFatBinaryEnd)
NAME(__cudaRegisterFunction)
NAME(__cudaUnregisterFatBinary)
NAME(cudaGetDriverEntryPointByVersion)
NAME(cudaLaunchKernel)
NAME(cudaMalloc)
NAME(cudaMemcpy)
