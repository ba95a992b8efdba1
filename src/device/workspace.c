/* SPDX-License-Identifier: Apache-2.0
 *
 * Workspaces: one buffer, handed out from the bottom up, again in every phase. The buffers
 * of a phase are aliases of it, which all end with the phase.
 */
#include "base/checked.h"
#include "device/device.h"

enum { WORKSPACE_ALIGNMENT = 32 };

spad_status spad_workspace_open(spad_workspace *out, spad_device *device, int64_t bytes,
                                spad_memory_scope scope, const char *name, spad_error *error) {
    *out = (spad_workspace){0};
    const spad_buffer_spec spec = {.shape = {1, &bytes},
                                   .dtype = SPAD_UINT8,
                                   .scope = scope,
                                   .name = name,
                                   .alignment = WORKSPACE_ALIGNMENT};
    if (bytes < 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "a workspace of %lld B", (long long)bytes);
    }
    const spad_status status = spad_buffer_alloc(&out->whole, device, &spec, error);
    if (status == SPAD_OK) out->bytes = bytes;
    return status;
}

spad_status spad_workspace_next(spad_workspace *workspace, spad_error *error) {
    spad_device *device = workspace->whole.device;
    spad_status status = SPAD_OK;
    if (device == NULL) return spad__fail(error, SPAD_ERR_ARGUMENT, "the workspace is not open");
    pthread_mutex_lock(&device->mutex);
    if (spad__buffer_find(workspace->whole, error) == NULL) {
        status = SPAD_ERR_STALE;
    } else {
        spad__buffer_end_aliases(device, workspace->whole.slot);
        workspace->used = 0;
    }
    pthread_mutex_unlock(&device->mutex);
    return status;
}

spad_status spad_workspace_take(spad_buffer *out, spad_workspace *workspace, spad_shape shape,
                                spad_dtype dtype, int64_t alignment, const char *name,
                                spad_error *error) {
    int64_t bytes;
    int64_t start;
    int64_t end;
    *out = (spad_buffer){0};
    spad_status status = spad_shape_bytes(&bytes, shape, dtype, error);
    if (status != SPAD_OK) return status;
    if (alignment == 0) alignment = spad__max(WORKSPACE_ALIGNMENT, spad_dtype_bytes(dtype));
    if (!spad__is_pow2(alignment)) {
        return spad__fail(error, SPAD_ERR_ALIGNMENT, "alignment %lld is not a power of two",
                          (long long)alignment);
    }
    if (!spad__align_up(workspace->used, alignment, &start) || !spad__add(start, bytes, &end) ||
        end > workspace->bytes) {
        const int64_t left = workspace->bytes - workspace->used;
        spad__fail(error, SPAD_ERR_NO_FIT,
                   "%lld B do not fit in the workspace: %lld of %lld B are left in this phase",
                   (long long)bytes, (long long)left, (long long)workspace->bytes);
        spad__fact_amounts(error, bytes, left, left);
        spad__fact_names(error, name, NULL);
        return SPAD_ERR_NO_FIT;
    }
    status = spad_buffer_alias(out, workspace->whole, start, shape, dtype, name, error);
    if (status != SPAD_OK) return status;
    workspace->used = end;
    workspace->peak = spad__max(workspace->peak, end);
    return SPAD_OK;
}

spad_status spad_workspace_close(spad_workspace *workspace, spad_error *error) {
    const spad_status status = spad_buffer_free(workspace->whole, error);
    if (status == SPAD_OK) *workspace = (spad_workspace){0};
    return status;
}
