#!/usr/bin/env bash
# Builds a stranger's project against an installed noisefloor, runs it, and checks what it links.
# usage: build_consumer.sh PREFIX SOURCE_DIR CXX WORK_DIR
set -euo pipefail
prefix=$1 source=$2 cxx=$3 work=$4

cmake -S "$source/tests/package/consumer" -B "$work/consumer" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_FLAGS="${CONSUMER_FLAGS:-}" >/dev/null
found=$(sed -n 's/^noisefloor_DIR:PATH=//p' "$work/consumer/CMakeCache.txt")
if [[ $found != "$prefix"/* ]]; then
  echo "find_package found $found, not what was installed in $prefix" >&2
  exit 1
fi
cmake --build "$work/consumer" >/dev/null
"$work/consumer/consumer"
"$prefix/bin/noisefloor" --version

# The core links nothing but OpenSSL, fmt and the system's own libraries. (Under sanitizers the linker keeps all that it was told.)
[[ -z ${CONSUMER_FLAGS:-} ]] || exit 0
unexpected=$(readelf -d "$work/consumer/consumer" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
  grep -vE '^(libcrypto|libfmt|libstdc\+\+|libm|libgcc_s|libc|libasan|libubsan|libtsan|ld-linux[^.]*)\.so' || true)
if [[ -n $unexpected ]]; then
  echo "unexpected libraries: $unexpected" >&2
  exit 1
fi
