# Compiler settings that every target of the project shares, as one interface target.
add_library(noisefloor_options INTERFACE)
target_compile_features(noisefloor_options INTERFACE cxx_std_20)
target_compile_options(noisefloor_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor
  # The same expression must give the same bits on every machine: no contraction into fused operations.
  -ffp-contract=off
  $<$<BOOL:${NOISEFLOOR_WERROR}>:-Werror>)
# GCC 12 takes members of a variant that are not there for uninitialized ones, and finds overflows in the copies of
# short strings that std::string itself makes, once <string> comes from a precompiled header.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(noisefloor_options INTERFACE
    -Wno-maybe-uninitialized -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread)
endif()
if(NOISEFLOOR_FUZZ)
  target_compile_options(noisefloor_options INTERFACE -fsanitize=fuzzer-no-link)  # what is fuzzed reports its coverage
endif()
if(NOISEFLOOR_SANITIZE)
  target_compile_options(noisefloor_options INTERFACE
    -fsanitize=${NOISEFLOOR_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(noisefloor_options INTERFACE -fsanitize=${NOISEFLOOR_SANITIZE})
endif()

set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# The archives may be linked into someone's shared object: keep our symbols out of its interface.
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
