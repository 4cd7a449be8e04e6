#!/usr/bin/env bash
# Builds the suite against a changed copy of a stack, and runs it:
#
#   crates/quic-sim/patches/suite.sh PACKAGE CHANGE [ARGUMENT]...
#
# PACKAGE is quinn-proto or noq-proto. CHANGE is a patch to the version in Cargo.lock, or a folder with
# another copy. The ARGUMENTs are those of the example `suite`, which is left in target/patched. PROFILE=dev builds
# with the profile of tests, which takes less time; the runs then take three times as long, and have equal figures.
set -eu
[ $# -ge 2 ] || { sed -n '4,8s/^# *//p' "$0" >&2; exit 2; }
profile=${PROFILE:-release}
package=$1 change=$(realpath "$2")
shift 2
start=$PWD
cd "$(dirname "$0")/../../.."
lock=$(mktemp)
cp Cargo.lock "$lock"
copies=$(mktemp -d)
# The patched package has no source in the lock file while this builds.
trap 'mv "$lock" Cargo.lock; rm -rf "$copies"' EXIT
copy=$change
if [ ! -d "$change" ]; then
  kept=$(cargo metadata --locked --format-version 1 --filter-platform "$(rustc -vV | sed -n 's/^host: //p')" | python3 -c 'import json, sys
for package in json.load(sys.stdin)["packages"]:
    if package["name"] == sys.argv[1]: print(package["manifest_path"])' "$package")
  [ -n "$kept" ] || { echo "Cargo.lock has no package $package" >&2; exit 1; }
  # Outside of the tree, whose crates would take it for one of theirs.
  copy=$copies/$package
  cp -r "$(dirname "$kept")" "$copy"
  patch --quiet -p1 -d "$copy" <"$change"
fi
cargo build --profile "$profile" --config "patch.crates-io.$package.path='$copy'" -p paceline-quic-sim --example suite
target=$(realpath "${CARGO_TARGET_DIR:-target}")
mkdir -p "$target/patched"
cp "$target/${profile/#dev/debug}/examples/suite" "$target/patched/suite"
mv "$lock" Cargo.lock
rm -rf "$copies"
trap - EXIT
cd "$start"
"$target/patched/suite" "$@"
