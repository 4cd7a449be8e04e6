#!/usr/bin/env bash
# Builds the page: site/build.sh PROFILE FOLDER. Compiles the simulator to WebAssembly with the
# cargo profile PROFILE (`web` for use, `dev` for tests), and writes the page to FOLDER: the files for a
# server, and paceline.html, which works from a disk.
set -euo pipefail
profile=$1 out=$2
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
if ! cmp -s site/package-lock.json site/node_modules/.paceline-lock; then
  (cd site && npm ci --no-audit --no-fund --loglevel=error)
  cp site/package-lock.json site/node_modules/.paceline-lock
fi
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
.ci/xtask "$host" documents "$documents"
.ci/xtask "$host" licenses paceline-web site/licences.txt --target wasm32-unknown-unknown
{ printf '# Licences\n\n```\n' && cat site/licences.txt && printf '```\n'; } >"$documents/licences.md"
(cd "$documents" && find . -name '*.md' | sed 's|^\./||; s|\.md$||' | sort >index.txt)
mkdir -p "$out"
out=$(cd "$out" && pwd)
single=$(mktemp -d)
trap 'rm -rf "$single"' EXIT
cd site
npx --no-install tsc --noEmit
npx --no-install vite build --logLevel warn --outDir "$out" --emptyOutDir
npx --no-install vite build --mode single --logLevel warn --outDir "$single" --emptyOutDir
node single.mjs "$single" "$out/paceline.html"
