#!/usr/bin/env bash
# Installs noisefloor into a temporary folder and builds a stranger's project against it.
# usage: consumer_test.sh BUILD_DIR SOURCE_DIR CXX
set -euo pipefail
build=$1 source=$2 cxx=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/prefix" >/dev/null
"$source/tests/package/build_consumer.sh" "$work/prefix" "$source" "$cxx" "$work"
