# SPDX-License-Identifier: Apache-2.0
# Manual pages and completions, printed by the command itself from its usage texts, and installed
# where man and shells look for them. A command built for another machine cannot print them.
if(CMAKE_CROSSCOMPILING)
    return()
endif()

# What COMMAND prints is installed as FOLDER/FILE.
function(spad_install_printed file folder)
    set(path ${CMAKE_CURRENT_BINARY_DIR}/manual/${file})
    add_custom_command(OUTPUT ${path} COMMAND spad_cli ${ARGN} > ${path} DEPENDS spad_cli VERBATIM)
    set_property(GLOBAL APPEND PROPERTY spad_manual ${path})
    install(FILES ${path} DESTINATION ${folder})
endfunction()

file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/manual)
set(manual ${CMAKE_INSTALL_MANDIR}/man1)
spad_install_printed(spad.1 ${manual} man)
foreach(command plan fit check sim tune sweep diff emit cuda nki triton tilelang targets devices replay calibrate lsp man completion)
    spad_install_printed(spad-${command}.1 ${manual} man ${command})
endforeach()
spad_install_printed(spad ${CMAKE_INSTALL_DATADIR}/bash-completion/completions completion bash)
spad_install_printed(_spad ${CMAKE_INSTALL_DATADIR}/zsh/site-functions completion zsh)
spad_install_printed(spad.fish ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d completion fish)
get_property(pages GLOBAL PROPERTY spad_manual)
add_custom_target(spad_manual ALL DEPENDS ${pages})
