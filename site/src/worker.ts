// Runs the simulator in a worker, so that the page stays responsive.

import wasm from "./paceline.wasm?url";
import { Engine, type Answer } from "./engine";

/** Messages from the page. A request with an `id` gets an answer with this id. */
export type ToWorker =
  | { kind: "request"; id: number; request: object }
  | { kind: "pace"; speed: number; every: number }
  /** A frame was drawn: simulate the time until the next one. */
  | { kind: "frame" };

/** Messages to the page. */
export type FromWorker =
  | { kind: "answer"; id: number; answer: Answer }
  | { kind: "rows"; rows: Float64Array; time: number; cpu: number; reached: number }
  | { kind: "status"; status: Answer };

/** Share of the time that the simulation may use; if it needs more, the run is slower. */
const BUDGET = 0.75;
const STATUS_EVERY = 200;

let engine: Engine | undefined;
let playing = false;
let [speed, every] = [0, 0.01];
/** Simulated time, and wall-clock time of its last advance. */
let [time, steppedAt] = [0, 0];
let statusAt = 0;
/**
 * Milliseconds of simulation since the last status, the simulated seconds in them, and the seconds
 * requested.
 */
let [spentMs, simulatedS, askedS] = [0, 0, 0];

function send(message: FromWorker, transfer: Transferable[] = []): void {
  (self as unknown as { postMessage(m: FromWorker, t: Transferable[]): void }).postMessage(message, transfer);
}

function step(): void {
  if (!engine || !playing) return;
  const now = performance.now();
  const since = Math.min(now - steppedAt, 250);
  const wanted = (since / 1000) * speed;
  steppedAt = now;
  if (wanted > 0) {
    const goal = time + wanted;
    const parts: Float64Array[] = [];
    const slice = Math.max(wanted / 16, every);
    while (time < goal && performance.now() - now < BUDGET * since) {
      const next = Math.min(goal, time + slice);
      parts.push(engine.advance(next, every));
      simulatedS += next - time;
      time = next;
    }
    askedS += wanted;
    spentMs += performance.now() - now;
    const rows = new Float64Array(parts.reduce((sum, part) => sum + part.length, 0));
    let offset = 0;
    for (const part of parts) {
      rows.set(part, offset);
      offset += part.length;
    }
    // Milliseconds of this processor per simulated second, and the share of the requested speed.
    const cpu = simulatedS > 0 ? spentMs / simulatedS : 0;
    const reached = askedS > 0 ? simulatedS / askedS : 1;
    send({ kind: "rows", rows, time, cpu, reached }, [rows.buffer]);
  }
  if (now - statusAt >= STATUS_EVERY) {
    statusAt = now;
    [spentMs, simulatedS, askedS] = [spentMs / 2, simulatedS / 2, askedS / 2];
    send({ kind: "status", status: engine.call({ method: "status" }) });
  }
}

async function receive(message: ToWorker & { kind: "request" }): Promise<void> {
  engine ??= await Engine.load(await (await fetch(wasm)).arrayBuffer());
  const answer = engine.call(message.request);
  const method = (message.request as { method?: string }).method;
  if (method === "play") {
    playing = answer.error === undefined;
    time = 0;
    steppedAt = performance.now();
    [statusAt, spentMs, simulatedS, askedS] = [0, 0, 0, 0];
  }
  send({ kind: "answer", id: message.id, answer });
}

/** Discards the simulator after a failure; the next request loads it again. */
function failureAnswer(error: unknown): Answer {
  engine = undefined;
  playing = false;
  return { error: `the simulator failed: ${String(error)}` };
}

/** Answers requests in their order, the first one after the simulator was loaded. */
let last = Promise.resolve();
self.onmessage = (event: MessageEvent<ToWorker>) => {
  const message = event.data;
  if (message.kind === "frame") {
    try {
      step();
    } catch (error) {
      send({ kind: "status", status: failureAnswer(error) });
    }
    return;
  }
  if (message.kind === "pace") {
    ({ speed, every } = message);
    return;
  }
  last = last.then(() => receive(message)).catch((error: unknown) => {
    send({ kind: "answer", id: message.id, answer: failureAnswer(error) });
  });
};
