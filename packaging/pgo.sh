#!/usr/bin/env bash
# Builds the program again with a profile of its own runs, and compares it with a build without one:
# packaging/pgo.sh PROGRAM OUTPUT-FOLDER
#
# Prints the path of the faster program: OUTPUT-FOLDER/paceline, or PROGRAM. The profile comes from `bench`, a comparison of
# schemes and the quick runs of the papers' claims. Without the toolchain's llvm-tools it prints PROGRAM and says so.
# Features and page are those of `make build`.
set -euo pipefail
cd "$(dirname "$0")/.."
plain=$(realpath "$1")
mkdir -p "$2"
out=$(cd "$2" && pwd)
host=$(rustc -vV | sed -n 's/^host: //p')
profdata=$(rustc --print sysroot)/lib/rustlib/$host/bin/llvm-profdata
if [ ! -x "$profdata" ]; then
  echo 'pgo: built without a profile; for one: rustup component add llvm-tools' >&2
  echo "$plain"
  exit
fi
features=$(.ci/features)
# With --target, RUSTFLAGS do not apply to build scripts.
build() {
  # shellcheck disable=SC2086 # options and their values
  RUSTFLAGS=$1 "${CARGO:-cargo}" build --release --locked --workspace --bin paceline $features --target-dir "$out" \
    --target "$host" >&2
}
profiled=$out/$host/release/paceline
rm -rf "$out/profiles"
build "-Cprofile-generate=$out/profiles"
{
  "$profiled" bench a b d f
  "$profiled" compare --trace lte-driving --schemes abc,bbr,copa,cubic,cubic+codel,gcc,remy,sprout,xcp
  "$profiled" reproduce --quick --json
} >/dev/null
"$profdata" merge -o "$out/profile" "$out/profiles"
build "-Cprofile-use=$out/profile"
cp "$profiled" "$out/paceline"

# Processor time of both, in turn.
seconds() {
  TIMEFORMAT='%U'
  { time {
    "$1" bench a b d
    "$1" compare --trace lte-driving --trace umts-driving --schemes abc,bbr,copa,cubic,cubic+codel,xcp --runs 8 --json
  } >/dev/null 2>&1; } 2>&1
}
ratios=()
for _ in 1 2 3 4 5 6 7; do
  without=$(seconds "$plain")
  with=$(seconds "$out/paceline")
  ratios+=("$(awk "BEGIN { print $with / $without }")")
done
sorted=($(printf '%s\n' "${ratios[@]}" | sort -n))
echo "pgo: takes ${sorted[3]} of the processor time without a profile (${sorted[0]} to ${sorted[6]} in 7 pairs)" >&2
if awk "BEGIN { exit !(${sorted[3]} < 1) }"; then
  echo "$out/paceline"
else
  echo 'pgo: that is not faster, so the build without a profile is taken' >&2
  echo "$plain"
fi
