#!/usr/bin/env bash
# Builds the program for all Linux distributions since 2014, and packs it: packaging/archive.sh OUTPUT-FOLDER
#
# zig links it with glibc 2.17, so that it needs nothing but that. It has no programs for the kernel (`paceline kernel`), because
# their loader needs libelf. The archive paceline-MACHINE-linux.tar.gz has the program, a manual page for each command,
# completions and licences in one folder; packaging/install.sh and packaging/formula.sh install it. MACHINE=aarch64
# builds for another machine, with manual pages and completions of a program for this one.
set -euo pipefail
umask 022
cd "$(dirname "$0")/.."
mkdir -p "$1"
out=$(cd "$1" && pwd)
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
machine=${MACHINE:-$(uname -m)}
triple=$machine-unknown-linux-gnu
[ -d "$(rustc --print sysroot)/lib/rustlib/$triple" ] || rustup target add "$triple" >/dev/null 2>&1 || {
  echo "archive: Rust's target $triple cannot be installed: rustup target add $triple" >&2
  exit 1
}
tools=$target/zig
if ! cmp -s packaging/requirements.txt "$tools/requirements.txt"; then
  rm -rf "$tools"
  python3 -m venv "$tools"
  "$tools/bin/pip" install -q --disable-pip-version-check -r packaging/requirements.txt
  cp packaging/requirements.txt "$tools/"
fi
# cargo-zigbuild finds zig as a module of the Python in the PATH.
features=$([ -f "${PACELINE_PAGE:-}" ] && echo "--features page" || true)
# shellcheck disable=SC2086 # no features, or an option and its value
PATH=$tools/bin:$PATH cargo-zigbuild zigbuild --release --locked -p paceline-cli --target "$triple.2.17" $features >&2

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
root=$tree/paceline
program=$target/$triple/release/paceline
install -D -m 755 "$program" "$root/bin/paceline"
strip=strip
[ "$machine" = "$(uname -m)" ] || {
  program=$target/release/paceline
  strip=llvm-strip
}
command -v $strip >/dev/null || { echo "archive: no $strip: install binutils, for another machine's program llvm" >&2; exit 1; }
$strip --strip-unneeded --remove-section=.comment "$root/bin/paceline"
mkdir -p "$root/share/man/man1"
"$program" man "$root/share/man/man1" >/dev/null
gzip -9n "$root"/share/man/man1/*.1
completions() { "$program" completions "$1" | install -D -m 644 /dev/stdin "$root/share/$2"; }
completions bash bash-completion/completions/paceline
completions zsh zsh/site-functions/_paceline
completions fish fish/vendor_completions.d/paceline.fish
doc=$root/share/doc/paceline
install -D -m 644 -t "$doc" LICENSE-MIT LICENSE-APACHE CHANGELOG.md
${CARGO:-cargo} run --locked --quiet -p paceline-xtask --no-default-features -- \
  licenses paceline-cli "$doc/third-party-licenses.txt" >/dev/null
archive=$out/paceline-$machine-linux.tar.gz
tar -C "$tree" --sort=name --owner=0 --group=0 --mtime="@$(stat -c %Y CHANGELOG.md)" -cf - paceline | gzip -9n >"$archive"
echo "$archive"
