#!/usr/bin/env bash
# Tests the page: digests in WebAssembly, then the page in a browser. tests/site.sh PROGRAM SKIPS.
# Reports missing requirements and appends them to the list SKIPS; fails with
# PACELINE_REQUIRE=browser.
set -euo pipefail
program=$1 skips=$2
cd "$(dirname "$0")/.."
missing() {
  echo "SKIPPED tests/site.sh: $1" >&2
  case ",${PACELINE_REQUIRE:-}," in
  *,browser,*) echo "PACELINE_REQUIRE has \`browser\`" >&2 && exit 1 ;;
  esac
  printf 'browser\ttests/site.sh\t%s\n' "$1" >>"$skips"
  exit 0
}
command -v npm >/dev/null || missing "there is no npm"
node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' \
  2>/dev/null || missing "there is no Node.js 20.19 or newer"
[ -d "$(rustc --print sysroot)/lib/rustlib/wasm32-unknown-unknown" ] ||
  missing "Rust's target wasm32-unknown-unknown is not installed"
target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target/site-test"
built=$(cd "$target/site-test" && pwd)
if ! cmp -s site/package-lock.json site/node_modules/.paceline-lock; then
  npm ping --loglevel=silent >/dev/null 2>&1 || missing "npm's packages are not installed, and its registry cannot be reached"
fi
site/build.sh dev "$built"
book=0
site/book.sh "$built/book" || book=$?
case $book in
0) ;;
3) printf 'mdbook\ttests/site.sh\tthere is no mdbook: the pages of the book were not checked\n' >>"$skips" ;;
*) exit 1 ;;
esac
site/links.sh "$built"
node site/compress.mjs "$built" fast
PACELINE_NPM=$(site/npm.sh "$target/npm-test")
export PACELINE_NPM
cd site
node --test test/digests.test.mjs test/controllers.test.mjs test/chapters.test.mjs
chromium=
for name in chromium chromium-browser google-chrome google-chrome-stable; do
  command -v "$name" >/dev/null && chromium=$name && break
done
[ -n "$chromium" ] || missing "there is no Chromium: the page was built, its digests were compared"
export PACELINE=$program PACELINE_SITE_BUILT=$built
timeout 2400 node --test test/page.test.mjs test/live.test.mjs test/write.test.mjs test/single.test.mjs test/first-view.test.mjs \
  test/access.test.mjs test/npm.test.mjs
