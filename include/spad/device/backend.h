/* SPDX-License-Identifier: Apache-2.0
 *
 * backend: how the library talks to a kind of device: a table of functions, for those
 * who write one. Host, CUDA, OpenCL, Ascend and Neuron are built in (spad__backend_get); any
 * other table can be given to spad_device_open_on.
 *
 * Addresses are numbers of the back end's choosing; 0 is never one. Host memory is
 * passed as an address too: the pointer as a number. Pointers to the back end's own
 * objects are opaque. A function that fails fills the error and changes nothing.
 * All functions of one device may be called by several threads at once.
 */
#ifndef SPAD_BACKEND_H
#define SPAD_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spad/host.h"
#include "spad/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The version of this table. */
#define SPAD_BACKEND_VERSION 2

#define SPAD_DEVICE_NAME_MAX 128

/** Properties of a device. */
typedef struct spad_device_info {
    char name[24];                     /**< "host", "cuda:0": what spad_device_open takes */
    char about[SPAD_DEVICE_NAME_MAX];  /**< the vendor's name for it */
    char driver[SPAD_DEVICE_NAME_MAX]; /**< what drives it, with its version */
    int64_t total_bytes;               /**< memory; 0: not known */
    int64_t alignment;                 /**< of every allocation */
    bool host_reads;                   /**< its addresses are pointers for the processor */
    int64_t guard_bytes;               /**< after every buffer, free of other buffers: kernels of
                                            the device may touch them */
} spad_device_info;

typedef enum spad_direction {
    SPAD_TO_DEVICE,   /**< the source is host memory */
    SPAD_FROM_DEVICE, /**< the destination is host memory */
    SPAD_ON_DEVICE
} spad_direction;

/** `rows` rows of `width` bytes; rows of each side begin a pitch apart. rows, width > 0; a
 *  single row needs no pitch. */
typedef struct spad_transfer {
    spad_direction direction;
    int64_t to;
    int64_t to_pitch;
    int64_t from;
    int64_t from_pitch;
    int64_t width;
    int64_t rows;
} spad_transfer;

typedef struct spad_backend {
    uint32_t version; /**< SPAD_BACKEND_VERSION */
    const char *name; /**< the part before the colon */

    /** Loads the driver. SPAD_ERR_NO_DEVICE: it is not installed. */
    spad_status (*load)(void **driver, const spad_host *host, spad_error *error);
    void (*unload)(void *driver);
    spad_status (*count)(int *count, void *driver, spad_error *error);
    /** Fills all but the name. Of an open device it is asked after `open`. */
    spad_status (*describe)(spad_device_info *out, void *driver, int index, spad_error *error);

    spad_status (*open)(void **device, void *driver, int index, spad_error *error);
    void (*close)(void *device);
    /** SPAD_ERR_NO_FIT: out of device memory. */
    spad_status (*alloc)(int64_t *address, void *device, int64_t bytes, spad_error *error);
    /** Waits, if it must, until the device no longer uses the memory. */
    spad_status (*free)(void *device, int64_t address, spad_error *error);

    /** On a stream: starts the copy, in the stream's order; host memory must stay until it
     *  is done. Without one (NULL): returns when it is done. */
    spad_status (*copy)(void *device, void *stream, const spad_transfer *transfer,
                        spad_error *error);

    spad_status (*stream_open)(void **stream, void *device, spad_error *error);
    void (*stream_close)(void *device, void *stream);
    /** Returns when everything on the stream is done. */
    spad_status (*stream_wait)(void *device, void *stream, spad_error *error);

    spad_status (*event_open)(void **event, void *device, spad_error *error);
    void (*event_close)(void *device, void *event);
    /** The event happens when what is on the stream now is done. */
    spad_status (*event_record)(void *device, void *event, void *stream, spad_error *error);
    spad_status (*event_done)(bool *done, void *device, void *event, spad_error *error);
    spad_status (*event_wait)(void *device, void *event, spad_error *error);
    /** What comes later on the stream waits for the event. */
    spad_status (*stream_wait_event)(void *device, void *stream, void *event, spad_error *error);

    /** Optional (NULL): a copy between two devices of this back end, SPAD_ON_DEVICE. A stream is
     * one of to_device; otherwise as `copy`. */
    spad_status (*copy_between)(void *to_device, void *from_device, void *stream,
                                const spad_transfer *transfer, spad_error *error);

    /** Optional (NULL): the driver's own object for an address, such as a cl_mem, and the
     *  address's distance from its beginning. */
    spad_status (*native)(void **object, int64_t *offset, void *device, int64_t address,
                          spad_error *error);

    /** Optional (NULL): sets bytes to a value, on a stream or without one as `copy`. */
    spad_status (*fill)(void *device, void *stream, int64_t address, int64_t bytes, uint8_t value,
                        spad_error *error);

    /** Optional (NULL, both): memory of the host that the driver made for copies; the address is a
     *  pointer for the processor. SPAD_ERR_NO_FIT. */
    spad_status (*host_alloc)(int64_t *address, void *device, int64_t bytes, spad_error *error);
    spad_status (*host_free)(void *device, int64_t address, spad_error *error);

    /** Optional (NULL, both): an object of the driver's for these bytes and no others, of the
     * device or, with in_host, of the host's memory. */
    spad_status (*view_open)(void **view, void *device, bool in_host, int64_t address,
                             int64_t bytes, spad_error *error);
    void (*view_close)(void *device, void *view);
} spad_backend;

#ifdef __cplusplus
}
#endif
#endif
