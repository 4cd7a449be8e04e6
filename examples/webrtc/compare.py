#!/usr/bin/env python3
"""A real call between two Chromiums through an emulated link, beside the simulated call: one page.

    sudo python3 compare.py --up 2Mbps
    sudo python3 compare.py --up lte-driving.up --seconds 60 -o lte

The sender is inside the link, the receiver outside. The simulated call is `gcc` with a video source on an equal link.
Writes call.html, call.json, the link's log and the browsers' statistics into a folder. Needs Linux, Chromium, the
rights of `paceline link`, and `paceline` in the path or in $PACELINE.
"""

import argparse
import html
import json
import math
import os
import re
import shlex
import subprocess
import sys

import camera
import end

HERE = os.path.dirname(os.path.abspath(__file__))
BIN_S = 0.5


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--up", default="2Mbps", help="the link's rate, a built-in trace or a trace file")
    parser.add_argument("--buffer", type=int, default=250, help="in packets")
    parser.add_argument("--queue", default="droptail")
    parser.add_argument("--delay-ms", type=float, default=25, help="each way")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--max-mbps", type=float, default=6, help="largest rate of the video")
    parser.add_argument("--seed", type=int, default=1, help="of the simulated call")
    parser.add_argument("--port", type=int, default=8900, help="first of the ports for signalling and pages")
    parser.add_argument("-o", "--output", default="call", help="the folder for the results")
    return parser.parse_args()


def real_call(args, paceline, folder):
    """Makes the real call. Returns its results."""
    picture = os.path.join(folder, "camera.y4m")
    if not os.path.exists(picture):
        camera.write(picture)
    python, program = shlex.quote(sys.executable), shlex.quote(os.path.join(HERE, "end.py"))
    common = f"--seconds {args.seconds} --max-bps {int(1e6 * args.max_mbps)}"
    log = shlex.quote(folder)
    receive = (f"{python} {program} receive {common} --log {log}/receive.jsonl --signal-port {args.port} "
               f"--page-port {args.port + 1}")
    send = (f"exec {python} {program} send {common} --log {log}/send.jsonl --page-port {args.port + 2} "
            f'--signal "$PACELINE_BASE:{args.port}" --address "$PACELINE_BASE" --video {log}/camera.y4m')
    command = [
        paceline, "link", "--up", args.up, "--down", "100Mbps", "--up-buffer", str(args.buffer), "--up-queue",
        args.queue, "--delay", f"{args.delay_ms}ms", "--log", f"{folder}/link", "--summary", f"{folder}/link.json",
        "-q", "--realtime", "--start-on", "data/udp", "--outside", receive, "--wait-for", str(args.port), "--", "sh", "-c", send,
    ]
    done = subprocess.run(command, timeout=args.seconds + 300)
    if done.returncode != 0:
        sys.exit(f"the call failed with status {done.returncode}; {folder}/send.jsonl.chromium has Chromium's messages")
    sent, received = lines(f"{folder}/send.jsonl"), lines(f"{folder}/receive.jsonl")
    start = next((line["at"] for line in sent if line.get("what") == "start"), None)
    stats = [line for line in sent if line.get("kind") == "stats" and "outbound-rtp" in line]
    if start is None or not stats:
        errors = [line["error"] for line in sent if "error" in line]
        sys.exit(f"the call did not begin: {', '.join(errors) or 'no connection'}; see {folder}/send.jsonl")
    departures, drops = link_log(f"{folder}/link.up")
    departures = [(at - start, size, delay) for at, size, delay in departures if at >= start]
    seconds = (stats[-1]["at"] - start) / 1000
    seen = [line["inbound-rtp"] for line in received if "inbound-rtp" in line]
    last = seen[-1] if seen else {}
    with open(f"{folder}/link.json") as file:
        late = json.load(file)["late"]
    targets = [((line["at"] - start) / 1000, line["candidate-pair"]["availableOutgoingBitrate"] / 1e6)
               for line in stats if "availableOutgoingBitrate" in line.get("candidate-pair", {})]
    return {
        "name": "Chromium",
        "late": late,
        "rate_mbps": sum(size for _, size, _ in departures) * 8e-6 / seconds,
        "queue_delay_ms": quantiles([delay for _, _, delay in departures]),
        "drops": drops,
        "frames_per_s": last.get("framesDecoded", 0) / seconds,
        "freezes": last.get("freezeCount"),
        "freezes_s": last.get("totalFreezesDuration"),
        "target_mbps": targets,
        "delay_series_ms": longest(departures),
    }


def simulated_call(args, paceline, folder):
    """Simulates the call. Returns its results in the same form."""
    is_rate = re.fullmatch(r"[0-9.]+ *[kMG]?bps", args.up)
    capacity = f'rate = "{args.up}"' if is_rate else f"trace = {json.dumps(trace(args.up))}"
    scenario = f"""\
duration = "{args.seconds}s"
seed = {args.seed}
mss = 1228

[[link]]
name = "up"
{capacity}
buffer = {args.buffer}
queue = "{args.queue}"

[[flow]]
name = "call"
scheme = "gcc[max_rate={args.max_mbps}Mbps]"
rtt = "{2 * args.delay_ms}ms"
video = {{ min = "50kbps", max = "{args.max_mbps}Mbps" }}
"""
    with open(f"{folder}/call.toml", "w") as file:
        file.write(scenario)
    command = [paceline, "run", f"{folder}/call.toml", "-q", "-o", f"{folder}/simulated"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=300)
    with open(f"{folder}/simulated/run.json") as file:
        outcome = json.load(file)
    link, flow = outcome["links"][0], outcome["flows"][0]
    bin_s = flow["series"]["bin_s"]
    targets = next(values for name, values in flow["series"]["state"] if name == "target")
    at = lambda index: bin_s * (index + 1)
    return {
        "name": "simulated gcc",
        "rate_mbps": link["throughput_mbps"],
        "queue_delay_ms": link["queue_delay_ms"],
        "drops": link["drops"],
        "frames_per_s": flow["frames"]["frames_per_s"],
        "freezes": flow["frames"]["freezes"],
        "freezes_s": flow["frames"]["freezes_s"],
        "target_mbps": [(at(index), value) for index, value in enumerate(targets) if value is not None],
        "delay_series_ms": [(at(index), value) for index, value in enumerate(link["series"]["queue_delay_ms"])
                            if value is not None],
    }


def trace(name):
    return os.path.abspath(name) if os.path.exists(name) else name


def lines(path):
    """The objects of a file with one JSON object per line; a last line without an end is left out."""
    with open(path) as file:
        return [json.loads(line) for line in file if line.endswith("\n")]


def link_log(path):
    """The departures of a link's log (Mahimahi's format), as wall-clock time in ms, bytes and delay in ms; and
    the number of drops."""
    begin, departures, drops = 0, [], 0
    with open(path) as file:
        for line in file:
            if line.startswith("# init timestamp:"):
                begin = int(line.split(":")[1])
            words = line.split()
            if len(words) == 4 and words[1] == "-":
                departures.append((begin + int(words[0]), int(words[2]), float(words[3])))
            elif len(words) > 2 and words[1] == "d":
                drops += int(words[2])
    return departures, drops


def quantiles(values):
    ordered = sorted(values)
    pick = lambda share: ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None
    return {"p50": pick(0.5), "p95": pick(0.95), "p99": pick(0.99)}


def longest(departures):
    """The longest delay in each bin."""
    bins = {}
    for at, _, delay in departures:
        index = int(at / 1000 / BIN_S)
        bins[index] = max(bins.get(index, 0), delay)
    return [(BIN_S * (index + 1), delay) for index, delay in sorted(bins.items())]


def ticks(most):
    """Round values from 0 on, at most six, the last of which is `most` or more."""
    unit = 10 ** math.floor(math.log10(most / 5))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor * 5 >= most)
    return [step * index for index in range(math.ceil(most / step) + 1)]


def chart(title, calls, key, seconds):
    """An SVG with one line per call, from 0 to `seconds`."""
    width, height, left, bottom = 720, 240, 50, 30
    series = [[(x, y) for x, y in call[key] if x <= seconds] for call in calls]
    values = ticks(max((y for one in series for _, y in one), default=1) or 1)
    most_y = values[-1]
    place = lambda x, y: (left + (width - left - 20) * x / seconds, (height - bottom) * (1 - y / most_y) + 10)
    parts = [f'<svg viewBox="0 0 {width} {height + 20}" role="img" aria-label="{html.escape(title)}">']
    for value in values:
        x, y = place(0, value)
        parts.append(f'<path class="grid" d="M{x:.1f} {y:.1f}H{width - 20}"/>')
        parts.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>')
    for time in (time for time in ticks(seconds) if time <= seconds):
        x, y = place(time, 0)
        parts.append(f'<text x="{x:.1f}" y="{y + 18:.1f}" text-anchor="middle">{time:g} s</text>')
    for index, one in enumerate(series):
        path = "L".join("{:.1f} {:.1f}".format(*place(x, y)) for x, y in one)
        parts.append(f'<path class="line{index}" d="M{path}"/>' if one else "")
    return f"<h2>{html.escape(title)}</h2>" + "".join(parts) + "</svg>"


STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;color:#222}
table{border-collapse:collapse}td,th{padding:.2rem .8rem;text-align:right;border-bottom:1px solid #ddd}
td:first-child,th:first-child{text-align:left}svg{width:100%;font-size:11px}
text{fill:currentColor}.grid{stroke:#ddd}.line0,.line1{fill:none;stroke-width:2}.line0{stroke:#0b6e99}.line1{stroke:#d9730d}
.key0{color:#0b6e99}.key1{color:#d9730d}@media(prefers-color-scheme:dark){body{background:#191919;color:#ddd}}"""


def page(args, calls):
    rows = [("rate, Mbit/s", lambda call: call["rate_mbps"]),
            *((f"queueing delay {part}, ms", lambda call, part=part: call["queue_delay_ms"][part])
              for part in ("p50", "p95", "p99")),
            ("dropped packets", lambda call: call["drops"]),
            ("frames per second", lambda call: call["frames_per_s"]),
            ("freezes", lambda call: call["freezes"]),
            ("time frozen, s", lambda call: call["freezes_s"])]
    show = lambda value: "" if value is None else f"{value:.3g}"
    body = "".join(f"<tr><td>{name}</td>" + "".join(f"<td>{show(of(call))}</td>" for call in calls) + "</tr>"
                   for name, of in rows)
    heads = "".join(f'<th class="key{index}">{call["name"]}</th>' for index, call in enumerate(calls))
    late = ("<p><strong>The emulator was late: the machine had too little time for it, and these figures are not "
            "the link's.</strong></p>" if calls[0]["late"] else "")
    link = f"{args.up}, {args.buffer} packets, {args.queue}, {args.delay_ms:g} ms each way, {args.seconds:g} s"
    return (f'<!doctype html><meta charset="utf-8"><title>A call over {html.escape(args.up)}</title>'
            f"<style>{STYLE}</style><h1>A real call beside the simulated one</h1><p>{html.escape(link)}</p>{late}"
            f"<table><tr><th></th>{heads}</tr>{body}</table>"
            + chart("Target rate (Mbit/s)", calls, "target_mbps", args.seconds)
            + chart("Longest queueing delay (ms)", calls, "delay_series_ms", args.seconds))


def main():
    args = arguments()
    if end.browser() is None:
        sys.exit(f"there is no Chromium: none of {', '.join(end.BROWSERS)} is in the path")
    paceline = os.environ.get("PACELINE", "paceline")
    folder = os.path.abspath(args.output)
    os.makedirs(folder, exist_ok=True)
    calls = [real_call(args, paceline, folder), simulated_call(args, paceline, folder)]
    with open(f"{folder}/call.json", "w") as file:
        json.dump({"link": args.up, "seconds": args.seconds, "calls": calls}, file)
    with open(f"{folder}/call.html", "w") as file:
        file.write(page(args, calls))
    for call in calls:
        delay = call["queue_delay_ms"]["p95"]
        shown = "" if delay is None else f"{delay:.0f}"
        print(f"{call['name']:>14}: {call['rate_mbps']:.2f} Mbit/s, p95 queueing delay {shown} ms, "
              f"{call['frames_per_s']:.1f} frames/s, {call['freezes']} freezes")
    print(f"wrote {folder}/call.html")


if __name__ == "__main__":
    main()
