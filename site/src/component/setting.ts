// The setting of a run of the npm package: values as people write them, and the request that they make.

import { readBuffer, readMillis, readPercent, readRate, readSeconds } from "../units";

/** A run of flows over one link. Numbers have the units that are named here; texts may have others. */
export interface RunSetting {
  /** Schemes of the flows: a list, or a text with commas outside of brackets. */
  schemes: string | string[];
  /** Constant rate of the link in Mbit/s: `12`, `"500 kbit/s"`. 12 without a rate and a trace. */
  rate?: number | string;
  /** Name of a built-in trace, in place of a rate; with `traceText` any name. */
  trace?: string;
  /** Text of a trace: Mahimahi's format, or rates as CSV if the name ends in `.csv`. */
  traceText?: string;
  /** Round-trip time of the empty path in ms: `100`, `"0.1 s"`. 100 by default. */
  rtt?: number | string;
  /** Buffer in packets of 1500 bytes: `250`, `"1 BDP"`, `"64 kB"`, `"no limit"`. 250 by default. */
  buffer?: number | string;
  /** Queue of the link, such as `codel`. `droptail` by default. */
  queue?: string;
  /** Random loss after the link in per cent. None by default. */
  loss?: number | string;
  /** Simulated time in seconds, at most 600. 30 by default. */
  duration?: number | string;
  /** Seed of the random numbers. 1 by default. */
  seed?: number | string;
}

/** A setting with numbers only. */
export interface ReadSetting {
  schemes: string[];
  /** Mbit/s; null on a trace. */
  rate: number | null;
  trace: string | null;
  /** Milliseconds. */
  rtt: number;
  /** Packets; 0 for no limit. */
  buffer: number;
  queue: string;
  /** Per cent. */
  loss: number;
  /** Seconds. */
  duration: number;
  seed: number;
}

/** Longest run in seconds of simulated time, and most flows, as in the page. */
const [LONGEST, MOST_FLOWS] = [600, 8];

/** Divides a list of schemes at its commas outside of brackets. */
export function splitSchemes(text: string): string[] {
  const parts = [""];
  let depth = 0;
  for (const char of text) {
    if (char === "[") depth += 1;
    if (char === "]") depth -= 1;
    if (char === "," && depth === 0) parts.push("");
    else parts[parts.length - 1] += char;
  }
  return parts.map((part) => part.trim()).filter((part) => part !== "");
}

function readWithin(
  name: string, value: number | string | undefined, otherwise: number, read: (text: string) => number | null,
  [low, high]: [number, number], example: string,
): number {
  if (value === undefined) return otherwise;
  const number = read(String(value));
  if (number !== null && number >= low && number <= high) return number;
  throw new Error(`${name} "${value}": expected ${example}, from ${low} to ${high}`);
}

/**
 * Reads a setting.
 *
 * Throws an error that names the value and what is expected.
 */
export function readSetting(setting: RunSetting): ReadSetting {
  const { schemes } = setting;
  const list = typeof schemes === "string" ? splitSchemes(schemes) : (schemes ?? []).map((text) => String(text).trim());
  if (list.length === 0 || list.length > MOST_FLOWS || list.includes("")) {
    throw new Error(`schemes "${String(schemes ?? "")}": expected the schemes of 1 to ${MOST_FLOWS} flows, such as cubic,bbr`);
  }
  const trace = setting.trace?.trim() || null;
  if (trace !== null && setting.rate !== undefined) {
    throw new Error(`rate "${setting.rate}" and trace "${trace}": expected one of the two`);
  }
  const rate = readWithin("rate", setting.rate, 12, readRate, [0.01, 1000], "Mbit/s, such as 12 or 500 kbit/s");
  const rtt = readWithin("rtt", setting.rtt, 100, readMillis, [0.001, 60_000], "ms, such as 100 or 0.1 s");
  const perLink = (text: string) => readBuffer(text, { rate: trace === null ? rate : null, rtt });
  const buffer = String(setting.buffer ?? 250);
  if (trace !== null && perLink(buffer) === null && readBuffer(buffer, { rate, rtt }) !== null) {
    throw new Error(`buffer "${setting.buffer}": on a trace, whose rate varies, expected packets or bytes`);
  }
  const wholeNumber = (text: string) => (/^\s*\d+\s*$/.test(text) ? Number(text) : null);
  return {
    schemes: list,
    rate: trace === null ? rate : null,
    trace,
    rtt,
    buffer: readWithin("buffer", setting.buffer, 250, perLink, [0, 1_000_000], "packets, such as 250, 1 BDP or no limit"),
    queue: setting.queue?.trim() || "droptail",
    loss: readWithin("loss", setting.loss, 0, readPercent, [0, 50], "per cent"),
    duration: readWithin("duration", setting.duration, 30, readSeconds, [0.1, LONGEST], "seconds, such as 30"),
    seed: readWithin("seed", setting.seed, 1, wholeNumber, [0, Number.MAX_SAFE_INTEGER], "a whole number"),
  };
}

/** Returns the request that begins the run: docs/page.md, `play`. */
export function playRequest(setting: ReadSetting, traceText: string | undefined): object {
  const { rate, trace, rtt, buffer, queue, loss, seed, schemes } = setting;
  return {
    method: "play", rate_mbps: rate ?? 12, rtt_ms: rtt, buffer, queue, loss: loss / 100, seed,
    trace: trace === null ? null : { name: trace, text: traceText },
    flows: schemes.map((scheme) => ({ scheme, on: true })),
  };
}

/** Describes a setting in words. */
export function describeSetting(setting: ReadSetting): string {
  const { rate, trace, rtt, buffer, queue, loss, duration, seed } = setting;
  const link = trace ?? `${rate} Mbit/s`;
  const words = [link, `RTT ${rtt} ms`, buffer === 0 ? "buffer without limit" : `buffer ${buffer} packets`];
  if (queue !== "droptail") words.push(`queue ${queue}`);
  if (loss > 0) words.push(`random loss ${loss} %`);
  return [...words, `${duration} s`, `seed ${seed}`].join(", ");
}
