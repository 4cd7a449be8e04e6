#!/usr/bin/env bash
# Runs the tests that use real time ROUNDS times beside each LOAD of busy processes: tests/loads.sh
# ROUNDS LOAD... Prints a line for each round, with its failed tests, and fails if any test failed.
# target/loads has the output of the tests. Run it as root to include tests of namespaces, of the
# kernel and of the page.
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${1:?usage: tests/loads.sh ROUNDS LOAD...}
shift
target=$(realpath "${CARGO_TARGET_DIR:-target}")
logs=$target/loads
mkdir -p "$logs"

# Tests that open sockets, start processes or wait for a clock.
tests=(allocations emulation faults kernel load loops marks queues
  live live_faults live_killed live_medium live_outputs reproduce_live saturate serve train tunnel wire wire_loops)
round() {
  cargo test --locked --no-fail-fast --workspace $(.ci/features) --lib "${tests[@]/#/--test=}"
  tests/site.sh "$target/debug/paceline" "$logs/skipped.tsv"
}

busy=()
relax() { [ ${#busy[@]} = 0 ] || kill "${busy[@]}" 2>/dev/null || true; busy=(); }
trap relax EXIT
failed=0
for load in "$@"; do
  for _ in $(seq "$load"); do
    (while :; do :; done) &
    busy+=($!)
  done
  for n in $(seq "$rounds"); do
    log=$logs/load-$load-round-$n.txt
    began=$SECONDS
    # `set -e` has no effect inside an `if`, so failures are found in the output.
    if (set +e; round) >"$log" 2>&1 && ! grep -qE '^test result: FAILED|^error|^not ok|^# fail [1-9]' "$log"; then
      echo "load $load, round $n: passed in $((SECONDS - began)) s"
    else
      failed=$((failed + 1))
      echo "load $load, round $n: FAILED in $((SECONDS - began)) s ($log)"
      grep -E '^test .*FAILED$|^not ok|^error' "$log" | sed 's/^/  /' || true
    fi
  done
  relax
done
[ "$failed" = 0 ]
