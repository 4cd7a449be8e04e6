#!/usr/bin/env bash
# Writes the report of `paceline evaluate` for several schemes beside the page: site/evaluations.sh PAGE. PAGE is the
# folder of the page. Takes a minute of processor time once the program is built.
set -euo pipefail
cd "$(dirname "$0")/.."
page=$(cd "$1" && pwd)
target=${CARGO_TARGET_DIR:-target}
program=${PACELINE:-$target/release/paceline}
[ -x "$program" ] || ${CARGO:-cargo} build --locked --release -p paceline-cli
out=$page/evaluations
"$program" evaluate abc cubic bbr3 remy --quick --runs 5 --quiet --output "$out" >/dev/null
# Finished runs are of use only to an evaluation that goes on.
rm -rf "$out/runs"
echo "wrote $out/index.html"
