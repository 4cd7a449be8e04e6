#!/usr/bin/env bash
# Runs fuzz targets one after the other and appends what each did to fuzz/corpus/runs.tsv.
#
#   fuzz/run.sh SECONDS [TARGET...]     all targets without TARGET
#
# Needs a nightly toolchain and cargo-fuzz. $SANITIZER is `none` (the default: most executions per second) or
# `address`. Overflow checks and debug assertions are on. Inputs that reach new code are kept in
# fuzz/corpus/TARGET for the next run. The exit status is 1 if a target found something; its input is then in
# fuzz/artifacts/TARGET.
set -euo pipefail
cd "$(dirname "$0")/.."
[[ ${1:-} =~ ^[0-9]+$ ]] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
seconds=$1
shift
sanitizer=${SANITIZER:-none}
mapfile -t all < <(sed -n 's/^name = "\(.*\)"$/\1/p' fuzz/Cargo.toml | tail -n +2)
targets=("$@")
[ $# -gt 0 ] || targets=("${all[@]}")
log=$(mktemp)
trap 'rm -f "$log"' EXIT
mkdir -p fuzz/corpus
table=fuzz/corpus/runs.tsv
[ -e "$table" ] || printf 'date\tcommit\ttarget\tsanitizer\tseconds\texecutions\tpeak_rss_mb\texit\n' > "$table"
found=0
for target in "${targets[@]}"; do
  folders=("fuzz/corpus/$target")
  mkdir -p "${folders[0]}"
  [ ! -d "fuzz/seeds/$target" ] || folders+=("fuzz/seeds/$target")
  options=(-rss_limit_mb=3000 -timeout=25 "-max_total_time=$seconds" -print_final_stats=1)
  case $target in
  scenario) folders+=(scenarios); options+=(-dict=fuzz/words.dict) ;;
  scheme) options+=(-dict=fuzz/words.dict) ;;
  esac
  status=0
  cargo +nightly fuzz run -O -a --sanitizer "$sanitizer" "$target" "${folders[@]}" -- "${options[@]}" \
    > "$log" 2>&1 || status=$?
  count=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -1)
  rss=$(sed -n 's/^stat::peak_rss_mb: *//p' "$log" | tail -1)
  printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$(date -u +%F)" "$(git rev-parse --short HEAD)" "$target" \
    "$sanitizer" "$seconds" "${count:-0}" "${rss:-}" "$status" | tee -a "$table"
  if [ "$status" -ne 0 ]; then
    found=1
    tail -30 "$log" >&2
  fi
done
exit $found
