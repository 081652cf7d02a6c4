# noisefloor_folder(NAME
#   HEADERS   headers that users are promised: installed
#   INTERNAL  headers that users are not promised: not installed, and no installed header includes one
#   SOURCES   compiled files
#   DEPENDS   folders below this one   LIBRARIES third-party targets, as target_link_libraries takes them
#   TESTS     x_test.cc files          TEST_LIBRARIES further targets for the tests
#   PRECOMPILE <header> …              further headers of others that are slow to read, for the library and its tests
#   TOGETHER n, TESTS_TOGETHER n       so many files are compiled as one (noisefloor_compile_together)
#   NOT_PRECOMPILED                    every file reads the headers of others by itself
#   COLD                               no loop takes noticeable time: the preset dev compiles it as it compiles tests
#   OUTSIDE_CORE                       not part of noisefloor::core, nor installed)
#
# One library per folder: noisefloor::NAME. A folder sees its own headers and those of the folders it DEPENDS on,
# and no others: each is offered through an include directory of its own that holds only noisefloor/NAME (a link
# to the source). So an include of a folder that is not stated as a dependency does not compile.
set_property(GLOBAL PROPERTY NOISEFLOOR_FOLDERS "")
add_custom_target(noisefloor_header_probes)  # every header compiles by itself: see below

function(noisefloor_include_view name result)
  set(view ${PROJECT_BINARY_DIR}/include/${name})
  file(MAKE_DIRECTORY ${view}/noisefloor)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/noisefloor/${name} ${view}/noisefloor/${name} SYMBOLIC)
  set(${result} ${view} PARENT_SCOPE)
endfunction()

function(noisefloor_folder name)
  cmake_parse_arguments(arg "OUTSIDE_CORE;NOT_PRECOMPILED;COLD" "TOGETHER;TESTS_TOGETHER"
    "HEADERS;INTERNAL;SOURCES;DEPENDS;LIBRARIES;TESTS;TEST_LIBRARIES;PRECOMPILE" ${ARGN})
  set(target noisefloor_${name})
  noisefloor_include_view(${name} view)

  if(arg_SOURCES)
    add_library(${target} STATIC ${arg_SOURCES})
    set(scope PUBLIC)
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:noisefloor_options>)
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(noisefloor::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(${target} ${scope} cxx_std_20)
  target_include_directories(${target} ${scope}
    $<BUILD_INTERFACE:${view}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  list(TRANSFORM arg_DEPENDS PREPEND noisefloor:: OUTPUT_VARIABLE depends)
  target_link_libraries(${target} ${scope} ${depends})
  if(arg_LIBRARIES)
    target_link_libraries(${target} ${arg_LIBRARIES})
  endif()
  if(arg_COLD)
    target_compile_options(${target} PRIVATE ${NOISEFLOOR_TEST_OPTIONS})
  endif()
  if(arg_PRECOMPILE)
    if(NOISEFLOOR_TESTS)  # so that the tests can use it too
      list(APPEND arg_PRECOMPILE <gtest/gtest.h>)
      target_compile_options(${target} PRIVATE $<TARGET_PROPERTY:GTest::gtest,INTERFACE_COMPILE_OPTIONS>)
    endif()
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:noisefloor_precompiled_definitions>)
    target_precompile_headers(${target} PRIVATE ${arg_PRECOMPILE})
  elseif(arg_SOURCES AND arg_COLD)
    noisefloor_precompile(${target} noisefloor_precompiled_cold)
  elseif(arg_SOURCES AND NOT arg_NOT_PRECOMPILED)
    noisefloor_precompile(${target} noisefloor_precompiled)
  endif()
  if(arg_TOGETHER)
    noisefloor_compile_together(${target} ${arg_TOGETHER})
  endif()
  if(NOT arg_OUTSIDE_CORE)
    install(FILES ${arg_HEADERS} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/noisefloor/${name})
    set_property(GLOBAL APPEND PROPERTY NOISEFLOOR_FOLDERS ${target})
  endif()

  # Every header compiles by itself: `make lint` and `make lint-changed` build these probes, and nothing runs them.
  # They are not part of the usual build, of which they would take a seventh.
  if(NOISEFLOOR_TESTS AND (arg_HEADERS OR arg_INTERNAL))
    set(includes "")
    foreach(header IN LISTS arg_HEADERS arg_INTERNAL)
      set(probe ${CMAKE_CURRENT_BINARY_DIR}/self_contained/${header}.cc)
      file(CONFIGURE OUTPUT ${probe} CONTENT "#include \"noisefloor/${name}/${header}\"  // NOLINT\n")
      list(APPEND includes ${probe})
    endforeach()
    add_library(${target}_headers OBJECT EXCLUDE_FROM_ALL ${includes})
    add_dependencies(noisefloor_header_probes ${target}_headers)
    target_link_libraries(${target}_headers PRIVATE ${target} noisefloor_options)
    target_compile_options(${target}_headers PRIVATE -O0 -g0)
  endif()

  if(NOISEFLOOR_TESTS AND arg_TESTS)
    if(arg_PRECOMPILE)
      noisefloor_test(${target}_test PRECOMPILED ${target} SOURCES ${arg_TESTS} LIBRARIES ${target} ${arg_TEST_LIBRARIES})
    else()
      noisefloor_test(${target}_test SOURCES ${arg_TESTS} LIBRARIES ${target} ${arg_TEST_LIBRARIES})
    endif()
    if(arg_TESTS_TOGETHER)
      noisefloor_compile_together(${target}_test ${arg_TESTS_TOGETHER})
    endif()
  endif()
endfunction()

# noisefloor_test(NAME SOURCES … LIBRARIES …): a GoogleTest program. Suites whose name begins with "Slow" carry the
# label "slow" and run with `make test-slow` only. Tests with "Postgres" in their name get a server of their own.
# PRECOMPILED TARGET: it reads the precompiled headers of this library, which is compiled like tests; else those of all
# tests.
function(noisefloor_test name)
  cmake_parse_arguments(arg "" "PRECOMPILED" "SOURCES;LIBRARIES" ${ARGN})
  include(GoogleTest)
  add_executable(${name} ${arg_SOURCES} $<TARGET_OBJECTS:noisefloor_test_state>)
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} noisefloor_test_support noisefloor_options GTest::gtest_main)
  if(arg_PRECOMPILED)
    noisefloor_precompile_program(${name} ${arg_PRECOMPILED})
  else()
    target_compile_options(${name} PRIVATE ${NOISEFLOOR_TEST_OPTIONS})
    noisefloor_precompile(${name} noisefloor_precompiled_tests)
  endif()
  set(server FIXTURES_REQUIRED postgres ENVIRONMENT NOISEFLOOR_TEST_POSTGRES=${PROJECT_BINARY_DIR}/postgres_url)
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST TEST_FILTER "-Slow*:*Postgres*" PROPERTIES TIMEOUT 300)
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST TEST_FILTER "*Postgres*:-Slow*" TEST_LIST ${name}_postgres
                       PROPERTIES TIMEOUT 300 ${server})
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST TEST_FILTER "Slow*" TEST_LIST ${name}_slow
                       PROPERTIES LABELS slow TIMEOUT 3600 ${server})
endfunction()
