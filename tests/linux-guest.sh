#!/usr/bin/env bash
# Run by `make test`: tests/linux-guest.sh PROGRAM SKIPS prints the folder of a Linux guest for the tests. It is
# $PACELINE_LINUX if that is set, else one that `PROGRAM linux build` makes in the cache: minutes the first time, seconds
# afterwards. Where no guest can be built within 8 minutes and started, prints nothing, adds the reason to the list of skipped tests in
# the file SKIPS, and ends with 0: the tests that need a guest are then skipped by name.
set -euo pipefail
program=$1
skips=$2
if [ -n "${PACELINE_LINUX:-}" ]; then
  echo "$PACELINE_LINUX"
  exit 0
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# A guest of its own, so that the user's (~/.cache/paceline/linux) keeps its kernel.
folder=${XDG_CACHE_HOME:-$HOME/.cache}/paceline/linux-tests
started=$SECONDS
status=0
# `timeout` has a process group of its own, which Ctrl-C does not reach.
timeout -k 10 480 "$program" linux build -o "$folder" >"$log" 2>&1 &
building=$!
trap 'kill $building; exit 130' INT TERM
wait $building || status=$?
# A machine may build a guest and not be able to start one.
if [ "$status" = 0 ]; then
  timeout -k 10 60 "$program" linux test "$folder" >"$log" 2>&1 || status=$?
fi
if [ "$status" = 0 ]; then
  echo "Linux guest: built in $((SECONDS - started)) s" >&2
  echo "$folder"
  exit 0
fi
reason=$(tail -n 1 "$log" | tr '\t' ' ')
[ "$status" != 124 ] || reason="it was not built and started within 8 minutes; \`paceline linux build\` goes on where it stopped"
echo "SKIPPED the Linux guest: $reason" >&2
printf 'linux\ttests/linux-guest.sh\t%s\n' "$reason" >>"$skips"
case ",${PACELINE_REQUIRE:-}," in *,linux,*) exit 1 ;; esac
