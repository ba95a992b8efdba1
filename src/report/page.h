/* SPDX-License-Identifier: Apache-2.0
 *
 * The static parts of the page, made from page.html, page.css and page_*.js by
 * cmake/SpadEmbed.cmake when the library is built.
 */
#ifndef SPAD_REPORT_PAGE_H
#define SPAD_REPORT_PAGE_H

#include <stddef.h>

extern const char spad__page_html[];
extern const size_t spad__page_html_size;
extern const char spad__page_css[];
extern const char spad__page_css_hash[]; /* "sha256-...": see the content security policy */
extern const size_t spad__page_css_size;
extern const char spad__page_js[];
extern const char spad__page_js_hash[];
extern const size_t spad__page_js_size;

#endif
