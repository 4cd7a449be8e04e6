// One worker for all `<paceline-run>` of a document, and the simulator that it gets.

import workerText from "virtual:run-worker";
import type { FlowStyle } from "../catalog";
import type { RunSetting } from "./setting";
import type { RunResult } from "./simulator";
import type { FromRunWorker, ToRunWorker } from "./worker";

/** The address of the simulator beside this file; the build writes it. */
declare const __PACELINE_WASM__: URL;

export interface Ran {
  result: RunResult;
  styles: FlowStyle[];
}

type Waiting = { resolve(ran: Ran): void; reject(error: Error): void };

class Runner {
  private readonly waiting = new Map<number, Waiting>();
  private next = 1;
  private worker: Promise<Worker> | undefined;

  constructor(private readonly address: string) {}

  /** Runs a setting to its end. Fails with an error in words. */
  async run(setting: RunSetting): Promise<Ran> {
    this.worker ??= this.start();
    const worker = await this.worker.catch((error: unknown) => {
      // The next run tries again.
      this.worker = undefined;
      throw error;
    });
    const id = this.next++;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      worker.postMessage({ kind: "run", id, setting } satisfies ToRunWorker);
    });
  }

  private async start(): Promise<Worker> {
    const answer = await fetch(this.address).catch((error: unknown) => {
      throw new Error(`the simulator ${this.address} cannot be loaded: ${String(error)}`);
    });
    if (!answer.ok) throw new Error(`the simulator ${this.address} cannot be loaded: ${answer.status} ${answer.statusText}`);
    const bytes = await answer.arrayBuffer();
    // From its text, because browsers start no worker from a file of another origin, such as a CDN.
    const worker = new Worker(URL.createObjectURL(new Blob([workerText], { type: "text/javascript" })));
    worker.onmessage = ({ data }: MessageEvent<FromRunWorker>) => {
      const waiting = this.waiting.get(data.id);
      this.waiting.delete(data.id);
      if ("error" in data) waiting?.reject(new Error(data.error));
      else waiting?.resolve(data);
    };
    worker.onerror = (event) => {
      this.worker = undefined;
      worker.terminate();
      const error = new Error(`the simulator's worker failed: ${event.message || "the page's policy (worker-src) may forbid blob:"}`);
      for (const { reject } of this.waiting.values()) reject(error);
      this.waiting.clear();
    };
    worker.postMessage({ kind: "load", bytes } satisfies ToRunWorker, [bytes]);
    return worker;
  }
}

const runners = new Map<string, Runner>();

/** Returns the runner of a simulator's address, by default that of `paceline.wasm` beside this file. */
export function runnerOf(address: string | null): Runner {
  const full = address === null ? __PACELINE_WASM__.href : new URL(address, document.baseURI).href;
  let runner = runners.get(full);
  if (!runner) runners.set(full, (runner = new Runner(full)));
  return runner;
}
