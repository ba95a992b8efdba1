# SPDX-License-Identifier: Apache-2.0
# The capture runtime: one library with every entry point, and two that have NVIDIA's names and only
# lead to it. Programs ask for the version node libcudart.so.13; definitions without a version, as in
# libspad_cudart, satisfy it. All three are in a folder of their own, which is never
# on the default path of the loader.
set(spad_cudart_folder ${PROJECT_BINARY_DIR}/cudart)
add_library(spad_cudart SHARED $<TARGET_OBJECTS:spad_cudart_objects>)
target_link_libraries(spad_cudart PRIVATE spad_device_static spad_options Threads::Threads ${CMAKE_DL_LIBS})
target_link_options(spad_cudart PRIVATE LINKER:--exclude-libs,ALL LINKER:-Bsymbolic)
set_target_properties(spad_cudart PROPERTIES LINKER_LANGUAGE C LIBRARY_OUTPUT_DIRECTORY ${spad_cudart_folder})

file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/cudart_name.c "/* nothing: see cmake/SpadCudart.cmake */\ntypedef int spad_nothing;\n")
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/libcudart.map "libcudart.so.13 { };\n")
function(spad_add_cudart_name target file)
    add_library(${target} SHARED ${CMAKE_CURRENT_BINARY_DIR}/cudart_name.c)
    target_link_libraries(${target} PRIVATE spad_cudart)
    target_link_options(${target} PRIVATE LINKER:--no-as-needed ${ARGN})
    set_target_properties(${target} PROPERTIES PREFIX "" SUFFIX "" OUTPUT_NAME ${file}
        LIBRARY_OUTPUT_DIRECTORY ${spad_cudart_folder}
        BUILD_RPATH_USE_ORIGIN ON INSTALL_RPATH "$ORIGIN")
endfunction()
spad_add_cudart_name(spad_libcudart libcudart.so.13
                     LINKER:--version-script=${CMAKE_CURRENT_BINARY_DIR}/libcudart.map)
spad_add_cudart_name(spad_libcuda libcuda.so.1)
