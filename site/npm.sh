#!/usr/bin/env bash
# Builds the npm package `paceline` after site/build.sh: site/npm.sh FOLDER. Writes the package's files to FOLDER/package, and the
# package for `npm publish` beside them. Prints its path.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p "$1"
out=$(cd "$1" && pwd)
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"$/\1/p' Cargo.toml)
(cd site &&
  npx --no-install vite build --config vite.npm.config.ts --logLevel warn --outDir "$out/package" --emptyOutDir &&
  npx --no-install tsc --project tsconfig.npm.json --outDir "$out/package/types") >&2
# Node.js' rules ask for the endings that this tree leaves out.
find "$out/package/types" -name '*.d.ts' -exec sed -i -E 's#((from|import\()[ ]?"\.[^"]*)"#\1.js"#g' {} +
sed "s/\"version\": \"0.0.0\"/\"version\": \"$version\"/" site/npm/package.json >"$out/package/package.json"
cp site/npm/README.md LICENSE-MIT LICENSE-APACHE site/src/paceline.wasm "$out/package/"
cp site/licences.txt "$out/package/THIRD-PARTY.txt"
rm -f "$out"/*.tgz
cd "$out"
echo "$out/$(npm pack --silent "$out/package" | tail -1)"
