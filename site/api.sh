#!/usr/bin/env bash
# Writes the interfaces of the Rust crates and of the Python package as pages: site/api.sh FOLDER. FOLDER/rust has the crates that
# are published (rustdoc), FOLDER/python the package `paceline` (pdoc), and FOLDER/index.html lists them. Takes minutes of
# processor time where nothing is built.
set -euo pipefail
cd "$(dirname "$0")/.."
rm -rf "$1"
mkdir -p "$1"
out=$(cd "$1" && pwd)
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
features=$(.ci/features)
excluded=()
rows=
while IFS= read -r manifest; do
  name=$(sed -n '/^\[package\]/,/^\[/s/^name = "\(.*\)"$/\1/p' "$manifest")
  if grep -q '^publish = true$' "$manifest"; then
    description=$(sed -n 's/^description = "\(.*\)"$/\1/p' "$manifest" | sed 's/&/\&amp;/g; s/</\&lt;/g')
    rows+="<tr><td><a href=\"rust/${name//-/_}/index.html\"><code>$name</code></a></td><td>$description</td></tr>"$'\n'
  else
    excluded+=(--exclude "$name")
  fi
done < <(git ls-files 'crates/*/Cargo.toml' 'bindings/*/Cargo.toml' 'examples/*/Cargo.toml')
# rustdoc leaves in its folder what is there already, such as the private items of `make rustdoc`.
rm -rf "$target/doc"
# shellcheck disable=SC2086 # an option and its value
${CARGO:-cargo} doc --locked --workspace $features "${excluded[@]}" --no-deps --lib
mv "$target/doc" "$out/rust"
rm -f "$out/rust/.lock"
tests/python.sh docs "$out/python"
cat >"$out/index.html" <<PAGE
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Interfaces of Paceline</title>
<style>
:root { color-scheme: light dark; }
body { max-width: 60rem; margin: 0 auto; padding: 1rem; font: 1rem/1.5 system-ui, sans-serif; }
table { border-collapse: collapse; }
td { padding: 0.25rem 1rem 0.25rem 0; vertical-align: top; border-bottom: 1px solid #8884; }
td:first-child { white-space: nowrap; }
</style>
</head>
<body>
<main>
<h1>Interfaces of Paceline</h1>
<h2>Python</h2>
<p><a href="python/paceline.html"><code>paceline</code></a>: comparisons, scenarios, controllers. Its parts for tables of rules:
<a href="python/paceline/remy.html"><code>paceline.remy</code></a>, for clusters:
<a href="python/paceline/cluster.html"><code>paceline.cluster</code></a>, and for learning:
<a href="python/paceline/gym.html"><code>paceline.gym</code></a>.</p>
<h2>Rust</h2>
<p>Begin with <a href="rust/paceline_cc/index.html"><code>paceline-cc</code></a> to write a scheme, and with
<a href="rust/paceline_sim/index.html"><code>paceline-sim</code></a> to simulate.</p>
<table>
<tbody>
$rows</tbody>
</table>
</main>
</body>
</html>
PAGE
echo "wrote $out/index.html"
