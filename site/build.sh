#!/usr/bin/env bash
# Builds the page: site/build.sh PROFILE FOLDER. Compiles the simulator to WebAssembly with the
# cargo profile PROFILE (`web` for use, `dev` for tests), and writes the page to FOLDER.
set -euo pipefail
profile=$1 out=$2
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
${CARGO:-cargo} build --locked -p paceline-web --profile "$profile" --target wasm32-unknown-unknown
built=$([ "$profile" = dev ] && echo debug || echo "$profile")
wasm=$target/wasm32-unknown-unknown/$built/paceline_web.wasm
cmp -s "$wasm" site/src/paceline.wasm || cp "$wasm" site/src/paceline.wasm
# The documents: those of the tree, with the whole documents in place of their summaries.
documents=site/public/docs
rm -rf "$documents"
mkdir -p "${documents%/*}"
cp -r docs "$documents"
# The table of contents is the book's alone.
rm -f "$documents/SUMMARY.md"
host=$([ "$profile" = dev ] && echo dev || echo release)
${CARGO:-cargo} run --locked --quiet -p paceline-xtask --profile "$host" -- documents "$documents"
(cd "$documents" && find . -name '*.md' | sed 's|^\./||; s|\.md$||' | sort >index.txt)
mkdir -p "$out"
out=$(cd "$out" && pwd)
cd site
if ! cmp -s package-lock.json node_modules/.paceline-lock; then
  npm ci --no-audit --no-fund --loglevel=error
  cp package-lock.json node_modules/.paceline-lock
fi
npx --no-install tsc --noEmit
npx --no-install vite build --logLevel warn --outDir "$out" --emptyOutDir
cd ..
${CARGO:-cargo} run --locked --quiet -p paceline-xtask --profile "$host" -- \
  licenses paceline-web "$out/licenses.txt" --target wasm32-unknown-unknown
