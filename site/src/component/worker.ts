// The worker of `<paceline-run>`: runs settings to their end, one after the other.

import type { FlowStyle } from "../catalog";
import { flowStyles } from "../catalog";
import type { RunSetting } from "./setting";
import { Simulator, type RunResult } from "./simulator";

export type ToRunWorker =
  | { kind: "load"; bytes: ArrayBuffer }
  | { kind: "run"; id: number; setting: RunSetting };

export type FromRunWorker =
  | { id: number; result: RunResult; styles: FlowStyle[] }
  | { id: number; error: string };

const scope = self as unknown as { postMessage(message: FromRunWorker): void };

let simulator: Promise<Simulator> | undefined;

async function run(id: number, setting: RunSetting): Promise<void> {
  try {
    if (!simulator) throw new Error("the simulator was not sent");
    const loaded = await simulator;
    const result = loaded.run(setting);
    scope.postMessage({ id, result, styles: flowStyles(loaded.catalog(), result.setting.schemes) });
  } catch (error) {
    scope.postMessage({ id, error: error instanceof Error ? error.message : String(error) });
  }
}

self.onmessage = ({ data }: MessageEvent<ToRunWorker>) => {
  if (data.kind === "load") {
    simulator = Simulator.load(data.bytes);
    // The answer to each run says so.
    simulator.catch(() => {});
  } else void run(data.id, data.setting);
};
