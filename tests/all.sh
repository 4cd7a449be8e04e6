#!/usr/bin/env bash
# What `make test` runs after rustfmt and clippy: tests/all.sh SKIPS. The tests of Rust wait for sockets and
# clocks most of the time, so that rustdoc, the Python package and the page are built and tested beside them. What
# these print is shown when they are done. The list of tests that could not run here is written to the file SKIPS.
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
set -m # A process group of its own, so that Ctrl-C and failures end all of it.
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

$cargo test --locked --workspace $features
# cargo test has built the examples, too: cargo run would build the crates once more, with fewer features.
"$target/debug/examples/own_controller"
"$target/debug/examples/by_hand"
echo "Waiting for rustdoc, the tests of the Python package and of the page."
wait $beside
