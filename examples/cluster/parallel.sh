#!/bin/sh
# Makes a sweep in parts with GNU parallel, one processor for each part, and joins the tables:
# parallel.sh GRID FOLDER [PARTS [OPTIONS OF PARALLEL...]]
#
#   ./parallel.sh grid.toml out
#   ./parallel.sh grid.toml out 100 --sshloginfile nodes     # FOLDER is on a disk that the nodes share
#
# PARTS is by default the number of processors. If it is stopped, the same command continues.
set -eu
grid=$(realpath "$1") folder=$(realpath -m "$2")
shift 2
parts=${1:-$(nproc)}
[ $# -eq 0 ] || shift
mkdir -p "$folder"
seq "$parts" | parallel --halt soon,fail=1 "$@" \
  paceline sweep -q "$grid" --shard "{}/$parts" --threads 1 -o "$folder"
paceline merge "$folder" -o "$folder.parquet"
