#!/usr/bin/env bash
# Makes the Debian package, unpacks it into a temporary root, looks at what is in it, and builds a stranger's project
# against it.
# usage: deb_test.sh BUILD_DIR SOURCE_DIR CXX
set -euo pipefail
build=$1 source=$2 cxx=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "deb_test: $1" >&2; exit 1; }

(cd "$work" && cpack --config "$build/CPackConfig.cmake" -B "$work/packages" -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip >cpack.log) ||
  { cat "$work/cpack.log" >&2; fail 'cpack failed'; }
packages=("$work"/packages/*.deb)
[[ ${#packages[@]} -eq 1 && -f ${packages[0]} ]] || fail "one package was wanted, made were: ${packages[*]}"
deb=${packages[0]}
dpkg-deb -x "$deb" "$work/root"
usr=$work/root/usr

[[ $(dpkg-deb -f "$deb" Package) == noisefloor ]] || fail 'the package has another name'
[[ $("$usr/bin/noisefloor" --version) == *$(dpkg-deb -f "$deb" Version)* ]] || fail 'the program has another version'
depends=$(dpkg-deb -f "$deb" Depends)
for library in libc6 libfmt libpq5 libsodium libsqlite3-0 libssl3 libstdc++6 zlib1g; do
  [[ $depends == *"$library"* ]] || fail "the program links $library, but the package depends only on $depends"
done

# The manual page has every command, and troff takes it without a warning.
page=$usr/share/man/man1/noisefloor.1.gz
commands() { "$usr/bin/noisefloor" "$@" --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z][a-z-]*\).*/\1/p'; }
zcat "$page" >"$work/noisefloor.1"
[[ $(commands | wc -l) -ge 10 ]] || fail 'the program shows no commands'
for command in $(commands); do
  grep -qxF ".SS \"noisefloor ${command//-/\\-}\"" "$work/noisefloor.1" || fail "the manual page lacks $command"
  for below in $(commands "$command"); do
    grep -qxF ".SS \"noisefloor ${command//-/\\-} ${below//-/\\-}\"" "$work/noisefloor.1" ||
      fail "the manual page lacks $command $below"
  done
done
warnings=$(groff -Kutf8 -man -Tutf8 -ww -z "$work/noisefloor.1" 2>&1 | grep -v 'cannot adjust\|can.t break line' || true)
[[ -z $warnings ]] || fail "the manual page: $warnings"

# Completion scripts, where each shell looks for them.
bash -n "$usr/share/bash-completion/completions/noisefloor"
grep -q 'complete -F' "$usr/share/bash-completion/completions/noisefloor" || fail 'no completion for bash'
head -n 1 "$usr/share/zsh/vendor-completions/_noisefloor" | grep -qx '#compdef noisefloor' || fail 'no completion for zsh'
grep -q '^complete -c noisefloor' "$usr/share/fish/vendor_completions.d/noisefloor.fish" || fail 'no completion for fish'

# Headers that users are promised, and no other.
[[ -f $usr/include/noisefloor/mechanisms/laplace.h ]] || fail 'a promised header is missing'
internal=$(grep -rlE '^namespace noisefloor::internal' "$usr/include" | xargs -r -n 1 basename | sort |
  comm -12 - <(sed -n 's/^ *INTERNAL //p' "$source"/noisefloor/*/CMakeLists.txt | tr ' )' '\n\n' | sort))
[[ -z $internal ]] || fail "internal headers are installed: $internal"

"$source/tests/package/build_consumer.sh" "$usr" "$source" "$cxx" "$work"
