# Headers of others take longer to read than our own code takes to compile, so each is read once:
#   noisefloor_precompiled        for the libraries of folders (position-independent code, optimised as they are)
#   noisefloor_precompiled_cold   for those that are COLD, which are compiled like tests
#   noisefloor_precompiled_tests  for test programs (compiled as noisefloor_test compiles them)
# Only headers of others are in these lists: a folder still sees no other folder that it does not depend on. What a
# file forgets to include is found by the probes of NoisefloorFolder.cmake (headers) and by the preset clang, which
# sets CMAKE_DISABLE_PRECOMPILE_HEADERS (sources). A precompiled header is mapped whole by every compilation: what few
# files use costs the others more than it saves them.
set(noisefloor_slow_headers
  <algorithm> <array> <cmath> <cstdint> <functional> <map> <memory> <optional> <span> <string> <string_view> <variant> <vector>
  <boost/outcome/basic_result.hpp> <boost/outcome/policy/terminate.hpp> <fmt/format.h>)

# A precompiled header fits only what is compiled with the same definitions: those of the libraries in it.
add_library(noisefloor_precompiled_definitions INTERFACE)
target_compile_definitions(noisefloor_precompiled_definitions INTERFACE
  $<TARGET_PROPERTY:fmt::fmt,INTERFACE_COMPILE_DEFINITIONS> $<TARGET_PROPERTY:Boost::headers,INTERFACE_COMPILE_DEFINITIONS>)

file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled/library.cc CONTENT "namespace noisefloor {}\n")
add_library(noisefloor_precompiled OBJECT ${PROJECT_BINARY_DIR}/precompiled/library.cc)
target_link_libraries(noisefloor_precompiled PRIVATE noisefloor_options noisefloor_precompiled_definitions)
target_precompile_headers(noisefloor_precompiled PRIVATE ${noisefloor_slow_headers})
add_library(noisefloor_precompiled_cold OBJECT ${PROJECT_BINARY_DIR}/precompiled/library.cc)
target_compile_options(noisefloor_precompiled_cold PRIVATE ${NOISEFLOOR_TEST_OPTIONS})
target_link_libraries(noisefloor_precompiled_cold PRIVATE noisefloor_options noisefloor_precompiled_definitions)
target_precompile_headers(noisefloor_precompiled_cold PRIVATE ${noisefloor_slow_headers} <nlohmann/json.hpp>)

if(NOISEFLOOR_TESTS)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled/tests.cc CONTENT "int main() { return 0; }\n")
  add_executable(noisefloor_precompiled_tests ${PROJECT_BINARY_DIR}/precompiled/tests.cc)
  target_compile_options(noisefloor_precompiled_tests PRIVATE ${NOISEFLOOR_TEST_OPTIONS})
  target_link_libraries(noisefloor_precompiled_tests PRIVATE
    noisefloor_options noisefloor_precompiled_definitions GTest::gtest)
  target_precompile_headers(noisefloor_precompiled_tests PRIVATE
    ${noisefloor_slow_headers} <filesystem> <fstream> <gtest/gtest.h>)
endif()

# noisefloor_precompile(TARGET OWNER): TARGET reads the headers of OWNER from their precompiled form.
function(noisefloor_precompile target owner)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:noisefloor_precompiled_definitions>)
  target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()

# noisefloor_precompile_program(TARGET OWNER): the same for a program, and for headers that a folder states with
# PRECOMPILE. A precompiled header fits only what is compiled alike.
function(noisefloor_precompile_program target owner)
  target_compile_options(${target} PRIVATE ${NOISEFLOOR_TEST_OPTIONS} -fPIC)
  if(NOISEFLOOR_TESTS)
    target_compile_options(${target} PRIVATE $<TARGET_PROPERTY:GTest::gtest,INTERFACE_COMPILE_OPTIONS>)
  endif()
  noisefloor_precompile(${target} ${owner})
endfunction()

# noisefloor_compile_together(TARGET COUNT): COUNT of the target's files are compiled as one, in the order of their
# list, so what they share (templates of torch, of JSON) is instantiated once a batch. An edit compiles its batch anew:
# keep batches small enough for that. Files of one batch share their anonymous namespaces. The preset clang turns this
# off, and so finds what a file forgets to include.
function(noisefloor_compile_together target count)
  if(NOISEFLOOR_BATCHES)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${count})
  endif()
endfunction()
