#!/usr/bin/env python3
"""A web server for the page-load example.

`/` is a page of 44 objects (10 scripts, 4 style sheets, 30 pictures; 1.6 MB), which shows
its load time in milliseconds. `/bulk` is an endless download. Arguments:
address, port, congestion control.
"""

import socket
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SCRIPTS, SHEETS, PICTURES = 10, 4, 30


def size(kind, number):
    """Returns the size of an object, from 2 to 125 kB; equal in every run."""
    return 2_000 + (7919 * (number + 1) * len(kind)) % 123_000 // (1 + number % 3)


def page():
    parts = ["<!doctype html><meta charset=utf-8><title>page</title>"]
    parts += [f"<link rel=stylesheet href=/css/{n}.css>" for n in range(SHEETS)]
    parts += [f"<script async src=/js/{n}.js></script>" for n in range(SCRIPTS)]
    parts += [f"<img src=/svg/{n}.svg width=10 height=10>" for n in range(PICTURES)]
    parts.append(
        "<p id=load>-</p><script>addEventListener('load', () => {"
        "document.getElementById('load').textContent = 'load_ms=' + performance.now().toFixed(0)"
        "})</script>"
    )
    return "".join(parts).encode()


def thing(path):
    """Returns the body and the type of an object, padded with a comment to its size."""
    kind, name = path.strip("/").split("/")
    pad = b"x" * size(kind, int(name.split(".")[0]))
    if kind == "css":
        return b"/*" + pad + b"*/", "text/css"
    if kind == "js":
        return b"/*" + pad + b"*/", "text/javascript"
    svg = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><!--' + pad + b"--></svg>"
    return svg, "image/svg+xml"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/bulk":
            self.bulk()
            return
        try:
            body, kind = (page(), "text/html") if self.path == "/" else thing(self.path)
        except (ValueError, IndexError):
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def bulk(self):
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        try:
            while True:
                self.wfile.write(b"\0" * 65536)
        except OSError:
            self.close_connection = True

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    ThreadingHTTPServer.daemon_threads = True
    ThreadingHTTPServer.request_queue_size = 128
    server = ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), Handler)
    # Set this before the first connection: its first packets negotiate ECN.
    server.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, sys.argv[3].encode())
    server.serve_forever()
