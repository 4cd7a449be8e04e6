#!/usr/bin/env bash
# Writes the SHA-256 of all packages in a folder to its file SHA256SUMS: packaging/checksums.sh FOLDER. Check a copy with
# `sha256sum -c SHA256SUMS --ignore-missing`.
set -euo pipefail
cd "$1"
find . -maxdepth 1 -type f ! -name SHA256SUMS ! -name '.*' -printf '%P\0' | sort -z | xargs -0 -r sha256sum -- >.SHA256SUMS.new
mv .SHA256SUMS.new SHA256SUMS
echo "$PWD/SHA256SUMS"
