/* SPDX-License-Identifier: Apache-2.0
 *
 * What every other header needs: the export mark, attributes and the version.
 */
#ifndef SPAD_API_H
#define SPAD_API_H

#define SPAD_VERSION_MAJOR 0
#define SPAD_VERSION_MINOR 2
#define SPAD_VERSION_PATCH 0
#define SPAD_VERSION_STRING "0.2.0"

/* SPAD_STATIC: set by the build of the static library and by its users. */
#if defined(SPAD_STATIC)
#define SPAD_API
#elif defined(_WIN32)
#if defined(SPAD_BUILDING)
#define SPAD_API __declspec(dllexport)
#else
#define SPAD_API __declspec(dllimport)
#endif
#elif defined(__GNUC__)
#define SPAD_API __attribute__((visibility("default")))
#else
#define SPAD_API
#endif

/** Option structs grow at their end. `struct_size` tells the library which fields the program that
 * calls it was compiled with; 0 means the first version of the struct, so a zeroed struct always
 * means the defaults. A program that sets a field that was added later sets struct_size:
 *
 *     spad_plan_options options = SPAD_OPTIONS_INIT(spad_plan_options);
 *     options.timeout_ns = 1000000000;
 *
 * A field that the library does not know must be 0, or the call fails with SPAD_ERR_ARGUMENT. */
#if !defined(__cplusplus) || __cplusplus >= 202002L
#define SPAD_OPTIONS_INIT(type) \
    { .struct_size = sizeof(type) }
#else
#define SPAD_OPTIONS_INIT(type) \
    { sizeof(type) }
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** The version of the library that is running, such as "0.2.0"; compare with
 *  SPAD_VERSION_STRING, the version of the headers. Static storage. */
SPAD_API const char *spad_version(void);

#ifdef __cplusplus
}
#endif
#endif
