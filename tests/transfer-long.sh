#!/bin/bash
# Sends a folder over an emulated LTE link with all kinds of faults: three outages of 15 s, a kill
# -9 of each end, a new address of the sender. Compares the received files, and counts bytes sent
# twice (5 % at most).
# usage: transfer-long.sh PROGRAM [FILES [BYTES [TRACE [SCHEME]]]]; as root; needs ip, nft, unshare, python3.
# Prints one line of results. Runs in network namespaces of its own and in a temporary folder.
set -euo pipefail

program=$(realpath "$1") files=${2:-10000} bytes=${3:-2000000000} trace=${4:-lte-driving} scheme=${5:-}
if [ -z "${TRANSFER_LONG_INSIDE:-}" ]; then
  folder=$(mktemp -d "${TMPDIR:-/tmp}/paceline-transfer.XXXXXX")
  trap 'rm -rf "$folder"' EXIT
  TRANSFER_LONG_INSIDE=1 FOLDER=$folder unshare --net --kill-child "$0" "$program" "$files" "$bytes" "$trace" "$scheme"
  exit
fi

port=5311
cd "$FOLDER"
ip link set lo up
(umask 077; "$program" key new -o server.key > client.key)
mkdir from into

# Files of many sizes: half of the bytes in a tenth of the files, empty files, links, modes.
python3 - "$files" "$bytes" <<'PYTHON'
import os, random, sys
files, total = int(sys.argv[1]), int(sys.argv[2])
random.seed(1)
large = max(files // 10, 1)
sizes = [total // 2 // large] * large + [random.randrange(total // max(files - large, 1)) for _ in range(files - large)]
random.shuffle(sizes)
for n, size in enumerate(sizes):
    folder = f"from/{n % 7}/{n % 91}"
    os.makedirs(folder, exist_ok=True)
    path = f"{folder}/file {n}"
    with open(path, "wb") as file:
        file.write(random.randbytes(size))
    os.chmod(path, random.choice([0o644, 0o600, 0o755]))
    os.utime(path, ns=(0, random.randrange(1 << 60)))
    if n % 100 == 0:
        os.symlink(f"../file {n}", f"{folder}/link {n}")
    if n % 150 == 0:
        os.link(path, f"{folder}/name {n}")
PYTHON

receive() {
  # Restarts the program whenever it ends.
  while [ ! -e done ]; do
    "$program" recv --listen "0.0.0.0:$port" --key-file server.key -o into/ >> recv.out 2>> recv.err &
    echo $! > recv.pid
    wait $! || true
    sleep 1
  done
}

# Prints the device of the emulated link in the receiver's network.
device() { ip -o link | sed -n 's/^[0-9]*: \(link-[0-9]*\)[:@].*/\1/p' | head -1; }

# Blocks packets in both directions between receiver and sender for 15 s.
outage() {
  local link
  link=$(device)
  nft -f - <<RULES
table inet outage {
  chain in { type filter hook prerouting priority -300; iifname "$link" drop; }
  chain out { type filter hook output priority 0; oifname "$link" drop; }
}
RULES
  sleep 15
  nft delete table inet outage
  echo "$(date +%s) outage of 15 s" >> events
}

# Gives the sender another address, with a route to it.
move() {
  ip route add 100.127.0.9/32 dev "$(device)"
  touch move
  echo "$(date +%s) another address" >> events
}

kill_receiver() { kill -9 "$(cat recv.pid)"; echo "$(date +%s) kill -9 of the receiver" >> events; }
kill_sender() { kill -9 "$(cat send.pid)"; echo "$(date +%s) kill -9 of the sender" >> events; }

# Prints the bytes that the receiver has, from its staging folder.
arrived() { { du -sb into 2> /dev/null || true; } | cut -f 1; }

# Triggers each event at its share of the bytes.
events() {
  local share event
  for event in "10 outage" "25 kill_sender" "35 outage" "50 kill_receiver" "65 outage" "80 move"; do
    share=${event% *}
    while [ "$(arrived)" -lt $((bytes / 100 * share)) ]; do
      [ -e done ] && return
      sleep 0.5
    done
    ${event#* }
  done
}

cat > inside.sh <<'INSIDE'
program=$1 port=$2 scheme=$3
# Adds the second address when it is requested.
(
  while [ ! -e move ] && [ ! -e done ]; do sleep 0.2; done
  [ -e done ] && exit
  device=$(ip -o -4 addr show scope global | awk '{ print $2; exit }')
  ip addr add 100.127.0.9/32 dev "$device"
  ip route show | while read -r route; do ip route change ${route%% src *} src 100.127.0.9; done
) &
for run in 1 2 3 4 5; do
  "$program" send from "$PACELINE_BASE:$port" --key-file client.key --retry 120s ${scheme:+--scheme "$scheme"} --json > "send.$run.json" 2>> send.err &
  echo $! > send.pid
  if wait $!; then break; fi
done
# Bytes and packets that left through the link's device.
awk -v device="$(ip -o -4 addr show scope global | awk '{ print $2; exit }'):" '$1 == device { print $10, $11 }' /proc/net/dev > counters
touch done
INSIDE

receive & receiver=$!
events & watcher=$!
start=$(date +%s)
timeout 7200 "$program" link -q --up "$trace" --down 50Mbps --up-queue 'codel' -- bash inside.sh "$program" "$port" "$scheme" || true
touch done
end=$(date +%s)
kill "$(cat recv.pid)" || true
wait "$receiver" "$watcher" || true

python3 - "$((end - start))" <<'PYTHON'
import glob, hashlib, json, os, stat, sys
def tree(top):
    found = {}
    for folder, folders, files in os.walk(top):
        for name in folders + files + ["."]:
            path = os.path.join(folder, name)
            about = os.lstat(path)
            what = [stat.S_IFMT(about.st_mode)]
            if stat.S_ISLNK(about.st_mode):
                what.append(os.readlink(path))
            else:
                what += [about.st_mode & 0o777, about.st_mtime_ns]
            if stat.S_ISREG(about.st_mode):
                what += [about.st_nlink, hashlib.sha256(open(path, "rb").read()).hexdigest()]
            found[os.path.relpath(path, top)] = what
    return found
one, other = tree("from"), tree("into/from")
total = sum(os.lstat("from/" + path).st_size for path, what in one.items() if what[0] == stat.S_IFREG)
rows = []
for run in sorted(glob.glob("send.*.json")):
    try:
        rows.append(json.load(open(run))["runs"][0])
    except Exception:
        rows.append(None)
last = rows[-1] or {}
# Overhead per packet: IP, UDP, identifier, number, congestion header and tag, 58 bytes or more.
sent, packets = map(int, open("counters").read().split())
more = (sent - 58 * packets) / total - 1
events = [line.split(" ", 1)[1].strip() for line in open("events")] if os.path.exists("events") else []
ok = one == other and last.get("files", [{}])[0].get("kept")
print(f"{'identical' if ok else 'DIFFERENT'}; entries {len(one)}; bytes {total}; {sys.argv[1]} s; runs of send {len(rows)}; "
      f"connections of the last {last.get('connections')}; it resumed at {last.get('resumed_bytes')}, "
      f"sent twice {last.get('repeated_bytes')}; payload of all packets, repairs of losses included: {100 * more:.1f} % more than "
      f"the files; events: {', '.join(events)}")
if not ok:
    print([path for path in one if other.get(path) != one[path]][:20], [p for p in other if p not in one][:20])
    print(open("send.err").read()[-3000:])
    print(open("recv.err").read()[-3000:])
    sys.exit(1)
PYTHON
