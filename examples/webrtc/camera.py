"""Writes the file of a fake camera: a textured scene that pans, with film grain.

Chromium's own test picture needs only 0.2 Mbit/s, so that it cannot fill a link. Grain costs much at fine quantisers
and nothing at coarse ones: an encoder can use 200 kbit/s as well as 6 Mbit/s for it at 640x360.
"""

import math
import random

FPS = 30


def write(path, width=640, height=360, seconds=10, grain=31):
    """Writes a .y4m file of `seconds`, after which the picture repeats without a jump. `grain` is 2^n - 1: the
    number of grey levels by which a pixel varies from frame to frame."""
    rng = random.Random(1)
    wide = 2 * width
    waves = [(rng.uniform(2, 60), rng.uniform(1, 40), rng.uniform(0, 6.3), rng.uniform(3, 14)) for _ in range(5)]
    rows = []
    for y in range(height):
        row = bytearray(wide)
        for x in range(wide):
            u, v = 2 * math.pi * x / wide, 2 * math.pi * y / height
            value = sum(size * math.sin(round(a) * u + b * v + c) for a, b, c, size in waves)
            row[x] = max(16, min(203, int(110 + value)))
        rows.append(bytes(row) + bytes(row))
    pixels = width * height
    mask = int.from_bytes(bytes([grain]) * pixels, "big")
    chroma = bytes([128]) * (pixels // 4) * 2
    frames = FPS * seconds
    with open(path, "wb") as out:
        out.write(f"YUV4MPEG2 W{width} H{height} F{FPS}:1 Ip A1:1 C420jpeg\n".encode())
        for index in range(frames):
            shift = int(width * (0.5 + 0.5 * math.sin(2 * math.pi * index / frames)))
            scene = b"".join(row[shift : shift + width] for row in rows)
            # Each byte is a pixel: no sum exceeds 255, so that none carries into the next one.
            noise = rng.getrandbits(8 * pixels) & mask
            luma = int.from_bytes(scene, "big") + noise
            out.write(b"FRAME\n" + luma.to_bytes(pixels, "big") + chroma)
