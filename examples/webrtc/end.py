#!/usr/bin/env python3
"""One end of a call: a web server on localhost, since getUserMedia wants a secure context, and a Chromium.

The receiving end also keeps the mailboxes of the signalling, at all addresses; the sending end passes its signalling
on to those. Statistics are written to FILE, one JSON object per line.

    end.py receive --log FILE --signal-port 8900
    end.py send --log FILE --signal HOST:8900 --address HOST --seconds 60
"""

import argparse
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HERE = os.path.dirname(os.path.abspath(__file__))
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def remove(folder):
    """Removes a folder into which processes may still write while they die; gives up after 10 s."""
    for _ in range(100):
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.exists(folder):
            return
        time.sleep(0.1)
    print(f"{folder}: cannot be removed", file=sys.stderr)


def browser():
    """Returns the path of a Chromium, or None."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("role", choices=["send", "receive"])
    parser.add_argument("--log", required=True)
    parser.add_argument("--signal-port", type=int, default=8900)
    parser.add_argument("--signal", help="HOST:PORT of the mailboxes")
    parser.add_argument("--address", default="", help="the receiver's address, as the sender sees it")
    parser.add_argument("--page-port", type=int, default=8800)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--every-ms", type=int, default=200)
    parser.add_argument("--width", type=int, default=640)
    parser.add_argument("--height", type=int, default=360)
    parser.add_argument("--fps", type=int, default=30)
    parser.add_argument("--max-bps", type=int, default=6_000_000)
    parser.add_argument("--codec", default="VP8")
    parser.add_argument("--degradation", default="")
    parser.add_argument("--video", help="a .y4m file to send; otherwise Chromium's own pattern")
    parser.add_argument("--flags", default="", help="further flags for Chromium")
    return parser.parse_args()


class Server(ThreadingHTTPServer):
    """A web server that says nothing of connections which a browser breaks off as it ends."""

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class End:
    """The servers of one end, and its browser."""

    def __init__(self, args):
        self.args = args
        self.log = open(args.log, "w", buffering=1)
        self.boxes = {}
        self.lock = threading.Lock()
        self.done = threading.Event()

    def serve(self):
        end = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def reply(self, status, body=b"", kind="application/json"):
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def forward(self, method, body=None):
                link = http.client.HTTPConnection(end.args.signal, timeout=20)
                link.request(method, self.path, body)
                reply = link.getresponse()
                self.reply(reply.status, reply.read())
                link.close()

            def do_GET(self):
                if self.path.startswith("/signal/"):
                    if end.args.signal:
                        return self.forward("GET")
                    with end.lock:
                        box = end.boxes.get(self.path)
                    return self.reply(200, box) if box else self.reply(404)
                if self.path == "/settings":
                    return self.reply(200, json.dumps(vars(end.args)).encode())
                if self.path.split("?")[0] == "/":
                    with open(os.path.join(HERE, "call.html"), "rb") as page:
                        return self.reply(200, page.read(), "text/html")
                return self.reply(404)

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if self.path.startswith("/signal/"):
                    if end.args.signal:
                        return self.forward("POST", body)
                    with end.lock:
                        end.boxes[self.path] = body
                elif self.path == "/log":
                    lines = json.loads(body)
                    with end.lock:
                        for line in lines if isinstance(lines, list) else [lines]:
                            end.log.write(json.dumps(line) + "\n")
                elif self.path == "/done":
                    end.done.set()
                self.reply(200)

        addresses = [("127.0.0.1", self.args.page_port)]
        if self.args.role == "receive":
            addresses.append(("0.0.0.0", self.args.signal_port))
        for address in addresses:
            server = Server(address, Handler)
            threading.Thread(target=server.serve_forever, daemon=True).start()

    def run(self):
        """Serves and runs the browser until the call is over. Returns the exit status."""
        args = self.args
        program = browser()
        if program is None:
            sys.exit(f"there is no Chromium: none of {', '.join(BROWSERS)} is in the path")
        self.serve()
        # Chromium makes a socket below it, whose path may have 107 bytes: $TMPDIR can be too long.
        profile = tempfile.mkdtemp(prefix="call-", dir="/tmp")
        command = [
            program, "--headless=new", "--no-sandbox", "--no-first-run", "--disable-gpu", "--mute-audio",
            "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream",
            # Otherwise the candidates have names that only a multicast DNS server knows.
            "--disable-features=WebRtcHideLocalIpsWithMdns,Translate,OptimizationHints,MediaRouter",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--disable-extensions", "--disable-default-apps", "--disable-background-timer-throttling",
            "--disable-renderer-backgrounding", "--disable-backgrounding-occluded-windows",
            f"--user-data-dir={profile}",
            *([f"--use-file-for-fake-video-capture={args.video}"] if args.video else []),
            *args.flags.split(), f"http://127.0.0.1:{args.page_port}/?role={args.role}",
        ]
        with open(args.log + ".chromium", "w") as output:
            # Its own folder for temporary files: a killed Chromium leaves some.
            environment = dict(os.environ, TMPDIR=profile)
            child = subprocess.Popen(
                command, stdout=output, stderr=output, start_new_session=True, env=environment
            )
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.done.set())
        waited = 0
        while not self.done.wait(1) and child.poll() is None and waited < args.seconds + 120:
            waited += 1
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        child.wait()
        remove(profile)
        return 0 if self.done.is_set() else 1


if __name__ == "__main__":
    sys.exit(End(arguments()).run())
