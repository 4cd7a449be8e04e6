// The simulator's side of a worker: answers requests, and advances a live run from frame to frame.

import type { Answer, Engine } from "./engine";

/** Messages from the page. A request with an `id` gets an answer with this id. */
export type ToWorker =
  | { kind: "request"; id: number; request: object }
  | { kind: "pace"; speed: number; every: number }
  /** A frame was drawn: simulate the time until the next one. */
  | { kind: "frame" }
  /** Simulate this many seconds at once, also while the run stands still. */
  | { kind: "step"; seconds: number }
  /** Apply these changes at their times, and end the run at `end_ns`; an empty list without an end takes a script back. */
  | { kind: "script"; changes: ScriptedChange[]; end_ns: number | null };

/** A request and the simulated time at which it is applied. */
export interface ScriptedChange {
  time_ns: number;
  request: object;
}

/** Messages to the page. */
export type FromWorker =
  | { kind: "answer"; id: number; answer: Answer }
  | { kind: "rows"; rows: Float64Array; time: number; cpu: number; reached: number }
  | { kind: "status"; status: Answer }
  /** A scripted change was applied; its index in the script. */
  | { kind: "scripted"; index: number; answer: Answer }
  /** The script has come to its end. */
  | { kind: "ended"; status: Answer };

/** Share of the time that the simulation may use; if it needs more, the run is slower. */
const BUDGET = 0.75;
const STATUS_EVERY = 200;

/** Sends a message to the page. */
export type Send = (message: FromWorker, transfer?: Transferable[]) => void;

/** Starts a session; returns the function that takes the page's messages. `load` loads the simulator. */
export function startSession(send: Send, load: () => Promise<Engine>): (message: ToWorker) => void {
  let engine: Engine | undefined;
  let playing = false;
  /** Changes of a recorded session, the next of them, and the end of the session. */
  let script: ScriptedChange[] = [];
  let scriptAt = 0;
  let scriptEnd: number | null = null;
  let [speed, every] = [0, 0.01];
  /** Simulated time, and wall-clock time of its last advance. */
  let [time, steppedAt] = [0, 0];
  let statusAt = 0;
  /**
   * Milliseconds of simulation since the last status, the simulated seconds in them, and the seconds
   * requested.
   */
  let [spentMs, simulatedS, askedS] = [0, 0, 0];

  /** Simulates until `goal` with rows, and applies scripted changes on the way. Returns the rows. */
  function advance(goal: number): Float64Array {
    const parts: Float64Array[] = [];
    for (;;) {
      const next = script[scriptAt]?.time_ns ?? scriptEnd;
      if (!engine || next === null || next / 1e9 > goal) break;
      // Rows end just before, since a time in seconds may be rounded up by a nanosecond.
      parts.push(engine.advance(next / 1e9 - 1e-6, every));
      engine.call({ method: "advance", time_ns: next });
      time = next / 1e9;
      const change = script[scriptAt];
      if (change) send({ kind: "scripted", index: scriptAt, answer: engine.call(change.request) });
      else {
        scriptEnd = null;
        speed = 0;
        send({ kind: "ended", status: engine.call({ method: "status" }) });
        return joined(parts);
      }
      scriptAt += 1;
    }
    if (engine) parts.push(engine.advance(goal, every));
    time = goal;
    return joined(parts);
  }

  function joined(parts: Float64Array[]): Float64Array {
    if (parts.length === 1) return parts[0]!;
    const rows = new Float64Array(parts.reduce((sum, part) => sum + part.length, 0));
    let offset = 0;
    for (const part of parts) {
      rows.set(part, offset);
      offset += part.length;
    }
    return rows;
  }

  function sendRows(rows: Float64Array): void {
    // Milliseconds of this processor per simulated second, and the share of the requested speed.
    const cpu = simulatedS > 0 ? spentMs / simulatedS : 0;
    const reached = askedS > 0 ? simulatedS / askedS : 1;
    send({ kind: "rows", rows, time, cpu, reached }, [rows.buffer]);
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
      while (time < goal && speed > 0 && performance.now() - now < BUDGET * since) {
        const before = time;
        parts.push(advance(Math.min(goal, time + slice)));
        simulatedS += time - before;
      }
      askedS += wanted;
      spentMs += performance.now() - now;
      sendRows(joined(parts));
    }
    if (now - statusAt >= STATUS_EVERY) sendStatus(now);
  }

  function sendStatus(now: number): void {
    if (!engine) return;
    statusAt = now;
    [spentMs, simulatedS, askedS] = [spentMs / 2, simulatedS / 2, askedS / 2];
    const status = engine.call({ method: "status" });
    // A controller of the page has failed.
    if (status.error !== undefined) playing = false;
    send({ kind: "status", status });
  }

  /** Simulates `seconds` at once. */
  function stepOnce(seconds: number): void {
    if (!engine || !playing) return;
    sendRows(advance(time + seconds));
    sendStatus(performance.now());
  }

  async function receive(message: ToWorker & { kind: "request" }): Promise<void> {
    engine ??= await load();
    const answer = engine.call(message.request);
    const method = (message.request as { method?: string }).method;
    if (method === "play") {
      playing = answer.error === undefined;
      [script, scriptAt, scriptEnd] = [[], 0, null];
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
  return (message: ToWorker) => {
    if (message.kind === "frame" || message.kind === "step") {
      try {
        if (message.kind === "step") stepOnce(message.seconds);
        else step();
      } catch (error) {
        send({ kind: "status", status: failureAnswer(error) });
      }
      return;
    }
    if (message.kind === "pace") {
      ({ speed, every } = message);
      return;
    }
    if (message.kind === "script") {
      // In the order of requests: the run that the script belongs to may not have begun yet.
      last = last.then(() => {
        [script, scriptAt, scriptEnd] = [message.changes, 0, message.end_ns];
      });
      return;
    }
    last = last.then(() => receive(message)).catch((error: unknown) => {
      send({ kind: "answer", id: message.id, answer: failureAnswer(error) });
    });
  };
}
