#!/usr/bin/env bash
# Run by `make test` after rustfmt and clippy: tests/all.sh SKIPS. The Rust tests mostly wait for
# sockets and clocks, so rustdoc, the Python package and the page are built and tested at the same
# time; their output is shown when they are done. Tests that could not run are listed in the file
# SKIPS.
set -euo pipefail
cd "$(dirname "$0")/.."
skips=$1
cargo=${CARGO:-cargo}
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
features=$(.ci/features)
mkdir -p "$(dirname "$skips")"
rm -f "$skips"
export PACELINE_SKIPS=$skips

$cargo test --locked --workspace $features --no-run
log=$(mktemp)
set -m # Each job has its own process group, so that Ctrl-C and failures end all of it.
(
  set -e
  make --no-print-directory rustdoc
  tests/python.sh test
  tests/site.sh "$target/debug/paceline" "$skips"
) >"$log" 2>&1 </dev/null &
beside=$!
set +m
ended() {
  kill -- -$beside 2>/dev/null || true
  cat "$log"
  rm -f "$log"
}
trap ended EXIT
trap 'exit 130' INT TERM

# Most tests wait for sockets and clocks: eight of a program at a time take half as long as two.
processors=$(nproc)
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-$((processors < 8 ? 8 : processors))}

# The kernel of the Linux guest is compiled beside them, before the tests that use it.
PACELINE_LINUX=$(tests/linux-guest.sh "$target/debug/paceline" "$skips")
export PACELINE_LINUX
$cargo test --locked --workspace $features
# cargo test has built the examples; cargo run would build the crates again, with fewer features.
"$target/debug/examples/own_controller"
"$target/debug/examples/by_hand"
echo "Waiting for rustdoc, the tests of the Python package and of the page."
wait $beside
