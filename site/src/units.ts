// Numbers with units, as people write them.

/**
 * Returns the number in a text and the unit behind it, in lower case; null if there is none. A comma is a decimal one,
 * unless three digits follow it: `1,000` could be one or a thousand, and is none.
 */
function split(text: string): { value: number; unit: string } | null {
  if (/^\s*[+-]?[1-9]\d{0,2}(,\d{3})+(?!\d)/.test(text)) return null;
  const found = /^([+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+))\s*([^\d]*)$/.exec(text.trim());
  if (!found) return null;
  return { value: Number(found[1]!.replace(",", ".")), unit: found[2]!.trim().toLowerCase() };
}

/** Reads a number with one of these units; a number alone has the factor one. */
function readIn(text: string, factors: Record<string, number>): number | null {
  const found = split(text);
  if (!found) return null;
  const factor = found.unit === "" ? 1 : factors[found.unit];
  return factor === undefined ? null : found.value * factor;
}

/** Reads a rate in Mbit/s: `10`, `10 Mbit/s`, `500k`, `1.2 Gbps`. */
export function readRate(text: string): number | null {
  const found = split(text);
  if (!found) return null;
  // Bits and packets only: "MB/s" would be bytes. The letter b is small in bits.
  if (/B/.test(text)) return null;
  const unit = /^([kmg]?)(bits?\/s|bits?|bps|b\/s)?$/.exec(found.unit);
  if (!unit) return null;
  const [, prefix = "", bits] = unit;
  const factors: Record<string, number> = { "": bits === undefined ? 1 : 1e-6, k: 1e-3, m: 1, g: 1e3 };
  return found.value * factors[prefix]!;
}

/** Reads a time in milliseconds: `100`, `100 ms`, `0.1 s`. */
export function readMillis(text: string): number | null {
  return readIn(text, { ms: 1, msec: 1, s: 1000, sec: 1000, us: 1e-3, "µs": 1e-3 });
}

/** Reads a time in seconds: `10`, `10 s`, `500 ms`. */
export function readSeconds(text: string): number | null {
  return readIn(text, { s: 1, sec: 1, ms: 1e-3, min: 60 });
}

/** Reads a share in per cent: `1`, `1 %`, `0.01` followed by nothing is a hundredth of a per cent. */
export function readPercent(text: string): number | null {
  return readIn(text, { "%": 1, percent: 1 });
}

/** Reads a factor: `0.1`, `2 x`, `2 ×`. */
export function readFactor(text: string): number | null {
  return readIn(text, { x: 1, "×": 1 });
}

/** Bytes of a packet. */
const PACKET = 1500;

/**
 * Reads a buffer in packets; 0 for no limit. `250`, `250 packets`, `64 kB`, `1 BDP`, `100 ms`,
 * `no limit`. Sizes in bandwidth-delay products and times follow the link: its rate in Mbit/s and
 * its round-trip time in ms. A link whose rate varies, which is null then, has no such sizes.
 */
export function readBuffer(text: string, link: { rate: number | null; rtt: number }): number | null {
  if (/^(no limit|unlimited|none|∞|inf|infinite)$/i.test(text.trim())) return 0;
  const perMs = link.rate === null ? null : (link.rate * 1000) / 8 / PACKET;
  const byRate: Record<string, number> = perMs === null ? {} : { bdp: perMs * link.rtt, ms: perMs, s: perMs * 1000 };
  const packets = readIn(text, {
    packet: 1, packets: 1, pkt: 1, p: 1, b: 1 / PACKET, bytes: 1 / PACKET, kb: 1000 / PACKET, mb: 1e6 / PACKET,
    kib: 1024 / PACKET, mib: 1024 ** 2 / PACKET, ...byRate,
  });
  // Zero is the word for no limit, which a size of zero does not mean.
  return packets === null ? null : packets <= 0 ? (Number(text) === 0 ? 0 : null) : Math.max(1, Math.round(packets));
}
