#!/usr/bin/env bash
# Makes the 10,000 runs of examples/cluster/grid.toml as an array of four tasks of Slurm, of which
# one is killed and requeued, and compares the joined table with that of one machine, byte by byte.
# usage: slurm.sh PROGRAM [GRID]; as root; needs Debian's slurmctld, slurmd, slurm-client, munge.
#
# Slurm runs in a temporary folder, on this machine alone, and is ended by this script. Prints the
# processor time of the tasks and of the one machine; that of the killed task counts. Runs of 1 ms
# show the time that a run takes beside its simulation.
set -euo pipefail
program=$(realpath "$1")
examples=$(realpath "$(dirname "$0")/../examples/cluster")
grid=$(realpath "${2:-$examples/grid.toml}")
[ "$(id -u)" = 0 ] || { echo "slurm: only root can start Slurm" >&2; exit 2; }
PATH=$PATH:/usr/sbin
for needed in munged slurmctld slurmd sbatch; do
  command -v $needed >/dev/null || {
    echo "slurm: no $needed: apt-get install slurmctld slurmd slurm-client munge" >&2
    exit 2
  }
done
work=$(mktemp -d "${TMPDIR:-/tmp}/paceline-slurm.XXXXXX")
started=
end() {
  kill $started 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap end EXIT
trap 'exit 1' INT TERM
# Waits up to five minutes for a command to succeed.
until_ok() {
  for ((try = 0; try < 1500; try++)); do
    "$@" >/dev/null 2>&1 && return
    sleep 0.2
  done
  echo "slurm: this did not succeed within five minutes: $*" >&2
  cat "$work"/*.log >&2
  exit 1
}

chmod 755 "$work"
install -d -o munge "$work/munge"
head -c 1024 /dev/urandom | install -o munge -m 400 /dev/stdin "$work/munge/key"
runuser -u munge -- munged --foreground --force --key-file="$work/munge/key" --socket="$work/munge/socket" \
  --pid-file="$work/munge/pid" --log-file="$work/munge/log" --seed-file="$work/munge/seed" >"$work/munged.log" 2>&1 &
started=$!
until_ok test -S "$work/munge/socket"
host=$(hostname -s)
mkdir "$work/state" "$work/spool"
cat >"$work/slurm.conf" <<CONF
ClusterName=private
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=16817
SlurmdPort=16818
SlurmUser=root
SlurmdUser=root
AuthInfo=socket=$work/munge/socket
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerParameters=requeue_delay=1
MinJobAge=3600
ReturnToService=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=main Nodes=$host Default=YES MaxTime=INFINITE State=UP
CONF
export SLURM_CONF=$work/slurm.conf
slurmctld -D -i >"$work/slurmctld.log" 2>&1 &
started+=" $!"
slurmd -D -N "$host" >"$work/slurmd.log" 2>&1 &
started+=" $!"
is_idle() { sinfo -h -o %T | grep -q idle; }
until_ok is_idle

# The tasks find this as `paceline`: it writes the processor time of the program to a file.
mkdir "$work/bin"
cat >"$work/bin/paceline" <<PACELINE
#!/bin/bash
TIMEFORMAT='%U %S'
{ time $program "\$@" 2>&3; } 3>&2 2>>"$work/cpu.\${SLURM_ARRAY_TASK_ID:-one}"
PACELINE
chmod +x "$work/bin/paceline"
PATH=$work/bin:$PATH

job=$(cd "$work" && sbatch --parsable "$examples/slurm.sh" "$grid" "$work/out")
# The journal has a line for each run; the first line is its head.
has_runs() { [ "$(wc -l <"$work/out/part-2-of-4.journal")" -gt 100 ]; }
until_ok has_runs
scancel --signal=KILL --full "${job}_2"
task_ended() { ! squeue -h -j "${job}_2" -t running | grep -q .; }
until_ok task_ended
kept=$(($(wc -l <"$work/out/part-2-of-4.journal") - 1))
scontrol requeue "${job}_2"
echo "task 2 of job $job was killed after $kept runs, and requeued"
all_parts() { [ "$(find "$work/out" -name 'part-*-of-4.parquet' | wc -l)" = 4 ]; }
until_ok all_parts
paceline merge -q "$work/out" -o "$work/array.parquet"
rm -f "$work/cpu.one"
paceline sweep -q "$grid" --threads 1 -o "$work/alone"
awk '{ cpu += $1 + $2 } END { printf "processor time on one machine: %.2f s\n", cpu }' "$work/cpu.one"
awk '{ cpu += $1 + $2 } END { printf "processor time of the array: %.2f s\n", cpu }' "$work"/cpu.[0-9]
rm "$work/cpu.one"
sed 's/^duration = .*/duration = "1ms"/' "$grid" >"$work/tiny.toml"
paceline sweep -q "$work/tiny.toml" --threads 1 -o "$work/tiny"
awk '{ cpu += $1 + $2 } END { printf "processor time of as many runs of 1 ms: %.2f s\n", cpu }' "$work/cpu.one"
paceline merge -q "$work/alone" -o "$work/alone.parquet"
sha256sum "$work/array.parquet" "$work/alone.parquet" | sed "s|$work/||"
cmp "$work/array.parquet" "$work/alone.parquet"
echo "equal tables"
