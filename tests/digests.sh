#!/usr/bin/env bash
# Checks that an unoptimised, a lightly optimised and a fully optimised build give the golden
# digests of scenarios/golden.txt, on one thread and on several.
set -eu
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
target=${CARGO_TARGET_DIR:-target}

check() {
  local name=$1
  shift
  if "$cargo" test --quiet --locked -p paceline-sim --test golden --test threads "$@" >"$log" 2>&1; then
    echo "digests: $name: equal to scenarios/golden.txt"
  else
    cat "$log"
    echo "digests: $name: NOT equal to scenarios/golden.txt" >&2
    exit 1
  fi
}

unset PACELINE_UPDATE
log=$(mktemp)
trap 'rm -f "$log"' EXIT
check "opt-level 0, overflow checks" --target-dir "$target/unoptimised" \
  --config profile.dev.opt-level=0 --config profile.dev.debug=0
check "dev profile" --target-dir "$target"
check "release profile" --target-dir "$target" --release
