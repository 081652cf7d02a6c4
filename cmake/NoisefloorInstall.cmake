# Install and export: find_package(noisefloor) gives noisefloor::base, noisefloor::event, … and noisefloor::core.
include(CMakePackageConfigHelpers)

get_property(folders GLOBAL PROPERTY NOISEFLOOR_FOLDERS)
add_library(noisefloor_core INTERFACE)
add_library(noisefloor::core ALIAS noisefloor_core)
set_target_properties(noisefloor_core PROPERTIES EXPORT_NAME core)
target_link_libraries(noisefloor_core INTERFACE ${folders})

install(TARGETS ${folders} noisefloor_core EXPORT noisefloor)
install(EXPORT noisefloor NAMESPACE noisefloor:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/noisefloor
        FILE noisefloorTargets.cmake)
configure_package_config_file(cmake/noisefloorConfig.cmake.in ${PROJECT_BINARY_DIR}/noisefloorConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/noisefloor)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/noisefloorConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/noisefloorConfig.cmake ${PROJECT_BINARY_DIR}/noisefloorConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/noisefloor)
