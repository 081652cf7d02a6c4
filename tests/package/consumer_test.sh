#!/usr/bin/env bash
# Installs noisefloor into a temporary folder, builds a stranger's project against it, runs it, and checks what it links.
# usage: consumer_test.sh BUILD_DIR SOURCE_DIR CXX
set -euo pipefail
build=$1 source=$2 cxx=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/prefix" >/dev/null
cmake -S "$source/tests/package/consumer" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_CXX_FLAGS="${CONSUMER_FLAGS:-}" >/dev/null
cmake --build "$work/build" >/dev/null
"$work/build/consumer"
"$work/prefix/bin/noisefloor" --version

# The core links nothing but OpenSSL, fmt and the system's own libraries. (Under sanitizers the linker keeps all that it was told.)
[[ -z ${CONSUMER_FLAGS:-} ]] || exit 0
unexpected=$(readelf -d "$work/build/consumer" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
  grep -vE '^(libcrypto|libfmt|libstdc\+\+|libm|libgcc_s|libc|libasan|libubsan|libtsan|ld-linux[^.]*)\.so' || true)
if [[ -n $unexpected ]]; then
  echo "unexpected libraries: $unexpected" >&2
  exit 1
fi
