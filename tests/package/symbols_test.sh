#!/usr/bin/env bash
# Every strong symbol that the archives define is in namespace noisefloor, and is hidden from the interface of a shared object
# that someone links them into.
# usage: symbols_test.sh ARCHIVE…
set -euo pipefail
bad=$(nm --defined-only --extern-only "$@" | awk '$2 ~ /[TDBRSG]/ { print $3 }' | c++filt |
  grep -vE '^((typeinfo( name)?|vtable|guard variable|construction vtable|VTT) for )?noisefloor::' |
  grep -vE 'noisefloor::|^__odr_asan\.' || true)
if [[ -n $bad ]]; then
  echo "symbols outside namespace noisefloor:" >&2
  echo "$bad" >&2
  exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${CXX:-c++}" -shared -o "$work/all.so" -Wl,--whole-archive "$@" -Wl,--no-whole-archive ${SANITIZE:+-fsanitize=$SANITIZE} -lfmt -lcrypto
exported=$(nm -D --defined-only "$work/all.so" | awk '$2 ~ /[TDBRSG]/ { print $3 }' | c++filt | grep -E '^noisefloor::' || true)
if [[ -n $exported ]]; then
  echo "noisefloor symbols exported from a shared object:" >&2
  echo "$exported" | head >&2
  exit 1
fi
