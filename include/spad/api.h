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
