/* SPDX-License-Identifier: Apache-2.0
 *
 * A report in one of its forms: makes the picture that all of them show, and hands it to a writer.
 */
#include "base/text.h"
#include "report/report.h"

spad_status spad_report_write(const spad_report *report, spad_format format, const spad_sink *sink,
                              spad_error *error) {
    static spad__report_writer *const writers[] = {[SPAD_FORMAT_TEXT] = spad__write_report_text,
                                                   [SPAD_FORMAT_SVG] = spad__write_report_svg,
                                                   [SPAD_FORMAT_LIGHT] = spad__write_report_light,
                                                   [SPAD_FORMAT_HTML] = spad__write_report_html,
                                                   [SPAD_FORMAT_JSON] = spad__write_report_json,
                                                   [SPAD_FORMAT_TRACE] = spad__write_report_trace};
    if ((size_t)format >= sizeof writers / sizeof *writers || writers[format] == NULL)
        return spad__fail_format(error);
    spad__picture picture;
    spad_status status = spad__picture_make(&picture, report, error);
    if (status != SPAD_OK) return status;
    status = writers[format](&picture, sink, error);
    spad__picture_free(&picture);
    return status;
}
