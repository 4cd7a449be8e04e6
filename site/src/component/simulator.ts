// The npm package without a page: the simulator in Node.js, in workers and in browsers.

import type { Catalog } from "../catalog";
import { Engine, type Answer } from "../engine";
import { playRequest, readSetting, type ReadSetting, type RunSetting } from "./setting";

export type { Catalog, Scheme } from "../catalog";
export type { ReadSetting, RunSetting } from "./setting";

/** The address of the simulator beside this file; the build writes it. */
declare const __PACELINE_WASM__: URL;

/** What one flow did over the whole run. */
export interface FlowResult {
  scheme: string;
  /** Data that reached the receiver, in order, per second. */
  throughput_mbps: number;
  /** Mean and 95th percentile of the latest RTT samples, which are read at equal distances of time; null without samples. */
  rtt_ms: { mean: number; p95: number } | null;
  /** Packets that the sender took for lost. */
  lost: number;
  retransmits: number;
  /** Packets that the link's queue dropped, and that it marked with CE. */
  dropped: number;
  marked: number;
}

export interface RunResult {
  setting: ReadSetting;
  /** Digest of all events: equal settings give equal digests, on every machine. */
  digest: string;
  link: { drops: number; marks: number; queue_packets: { mean: number; max: number } };
  flows: FlowResult[];
  /** Values over time, at equal distances; docs/page.md describes the columns. */
  series: { link: Record<string, Float64Array>; flows: Record<string, Float64Array>[] };
  /** The same values as rows: the columns of the link, then those of each flow. */
  rows: Float64Array;
}

/** Number of rows of a run, and the shortest time between two in seconds. */
const [ROWS, SHORTEST] = [1000, 0.002];

type Source = BufferSource | URL | string;

async function readBytes(source: Source = __PACELINE_WASM__): Promise<BufferSource> {
  if (typeof source !== "string" && !(source instanceof URL)) return source;
  const address = typeof source === "string" ? new URL(source, globalThis.location?.href) : source;
  if (address.protocol === "file:") {
    // A name in a variable, which bundlers for browsers do not follow.
    const name = "node:fs/promises";
    const files = (await import(/* @vite-ignore */ /* webpackIgnore: true */ name)) as { readFile(file: URL): Promise<Uint8Array<ArrayBuffer>> };
    return files.readFile(address);
  }
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`${address.href}: ${answer.status} ${answer.statusText}`);
  return answer.arrayBuffer();
}

function quantile(sorted: number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN;
}

function meanOf(values: Iterable<number>): number {
  let [sum, count] = [0, 0];
  for (const value of values) [sum, count] = [sum + value, count + 1];
  return sum / count;
}

export class Simulator {
  private constructor(private readonly engine: Engine) {}

  /**
   * Loads the simulator: by default `paceline.wasm` beside this file. `source` is another address of that file, or
   * its bytes.
   */
  static async load(source?: Source): Promise<Simulator> {
    return new Simulator(await Engine.load(await readBytes(source)));
  }

  /** Sends a request of docs/page.md; throws an error in words if it fails. */
  ask<T = Answer>(request: object): T {
    const answer = this.engine.call(request);
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer as T;
  }

  /** Returns the schemes, queues and traces that runs can name. */
  catalog(): Catalog {
    return this.ask<Catalog>({ method: "catalog" });
  }

  /** Runs a setting to its end. Throws an error that names a wrong value. */
  run(setting: RunSetting): RunResult {
    const read = readSetting(setting);
    const layout = this.ask<{ link: string[]; flow: string[]; flows: number }>(playRequest(read, setting.traceText));
    const rows = this.engine.advance(read.duration, Math.max(read.duration / ROWS, SHORTEST));
    this.ask({ method: "advance", time_ns: Math.round(read.duration * 1e9) });
    const status = this.ask<{
      digest: string; drops: number; marks: number;
      flows: { goodput_bytes: number; lost: number; retransmits: number; dropped: number; marked: number }[];
    }>({ method: "status" });
    const width = layout.link.length + layout.flow.length * layout.flows;
    const column = (at: number) => Float64Array.from({ length: rows.length / width }, (_, row) => rows[row * width + at]!);
    const columns = (names: string[], first: number) => Object.fromEntries(names.map((name, at) => [name, column(first + at)]));
    const series = {
      link: columns(layout.link, 0),
      flows: read.schemes.map((_, flow) => columns(layout.flow, layout.link.length + flow * layout.flow.length)),
    };
    const backlog = series.link["backlog"]!;
    return {
      setting: read,
      digest: status.digest,
      link: {
        drops: status.drops, marks: status.marks,
        queue_packets: { mean: meanOf(backlog), max: backlog.reduce((most, value) => Math.max(most, value), 0) },
      },
      flows: status.flows.map(({ goodput_bytes, lost, retransmits, dropped, marked }, flow) => {
        const samples = [...series.flows[flow]!["rtt_ms"]!].filter((value) => value > 0).sort((one, other) => one - other);
        return {
          scheme: read.schemes[flow]!,
          throughput_mbps: (goodput_bytes * 8e-6) / read.duration,
          rtt_ms: samples.length > 0 ? { mean: meanOf(samples), p95: quantile(samples, 0.95) } : null,
          lost, retransmits, dropped, marked,
        };
      }),
      series,
      rows,
    };
  }

  /** Runs the text of a scenario file to its end, as run 1 of `paceline run`; `file` is its name in errors. */
  scenario(text: string, file = "scenario.toml"): { name: string; digest: string; packets: number } {
    return this.ask({ method: "run", file, text });
  }
}
