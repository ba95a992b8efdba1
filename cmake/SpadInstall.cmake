# SPDX-License-Identifier: Apache-2.0
# Install rules: libraries, headers, the command, a CMake package and
# pkg-config files. Everything is relocatable.
include(CMakePackageConfigHelpers)

install(TARGETS spad_shared spad_static spad_device_shared spad_device_static EXPORT spadTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT spadTargets NAMESPACE spad:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/spad)

configure_package_config_file(cmake/spadConfig.cmake.in spadConfig.cmake
    INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/spad)
write_basic_package_version_file(spadConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/spadConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/spadConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/spad)

foreach(name spad spad_device)
    configure_file(cmake/${name}.pc.in ${name}.pc @ONLY)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc
            DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

# The capture runtime is in a folder of its own: its names are those of NVIDIA's libraries.
install(TARGETS spad_cudart spad_libcudart spad_libcuda
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/spad/cudart)

if(TARGET spad_cli)
    install(TARGETS spad_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    include(cmake/SpadManual.cmake)
endif()
