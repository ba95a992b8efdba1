# SPDX-License-Identifier: Apache-2.0
# Turns text files into C arrays. Run as a script:
#     cmake -DOUT=page.c -DHEADER=report/page.h -DPREFIX=spad__page -DFILES=a.html;a.css -P SpadEmbed.cmake
# gives `const char spad__page_html[]` and `const size_t spad__page_html_size` for a.html and so on.
set(text "/* Made by cmake/SpadEmbed.cmake; do not edit. */\n#include \"${HEADER}\"\n")
foreach(file IN LISTS FILES)
    cmake_path(GET file EXTENSION LAST_ONLY extension)
    string(SUBSTRING "${extension}" 1 -1 kind)
    file(READ "${file}" hex HEX)
    string(LENGTH "${hex}" digits)
    math(EXPR size "${digits} / 2")
    string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," hex "${hex}")
    string(APPEND text "\nconst size_t ${PREFIX}_${kind}_size = ${size};\n"
                       "const char ${PREFIX}_${kind}[] = {\n${hex}};\n")
endforeach()
file(WRITE "${OUT}" "${text}")
