#!/usr/bin/env bash
# Makes the simulator smaller: site/wasm-opt.sh FROM TO. The features are those that rustc uses for
# wasm32-unknown-unknown.
set -euo pipefail
features=(bulk-memory bulk-memory-opt call-indirect-overlong multivalue mutable-globals nontrapping-float-to-int reference-types sign-ext)
node "$(dirname "$0")/node_modules/binaryen/bin/wasm-opt" -O2 "${features[@]/#/--enable-}" "$1" -o "$2"
