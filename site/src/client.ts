// The page's side of a worker.

import type { Answer } from "./engine";
import type { FromWorker, ScriptedChange, ToWorker } from "./worker";

export class Client {
  private readonly worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
  private readonly waiting = new Map<number, (answer: Answer) => void>();
  private next = 1;
  /** Reason why the worker cannot answer, if it could not be loaded. */
  private broken: string | undefined;
  onrows: (message: FromWorker & { kind: "rows" }) => void = () => {};
  onstatus: (status: Answer) => void = () => {};
  onscripted: (index: number, answer: Answer) => void = () => {};
  onended: (status: Answer) => void = () => {};

  constructor() {
    this.worker.onmessage = (event: MessageEvent<FromWorker>) => {
      const message = event.data;
      if (message.kind === "rows") this.onrows(message);
      else if (message.kind === "status") this.onstatus(message.status);
      else if (message.kind === "scripted") this.onscripted(message.index, message.answer);
      else if (message.kind === "ended") this.onended(message.status);
      else {
        this.waiting.get(message.id)?.(message.answer);
        this.waiting.delete(message.id);
      }
    };
    // No other event answers the waiting requests. An event without a message means that the
    // worker's file could not be loaded; then no later request gets an answer, either.
    this.worker.onerror = (event) => {
      const error = `the simulator cannot be loaded: ${event.message || "its file is missing"}`;
      if (!event.message) this.broken = error;
      for (const answer of this.waiting.values()) answer({ error });
      this.waiting.clear();
    };
  }

  /** Sends a request and returns its answer; throws an error in words. */
  async ask<T>(request: object): Promise<T> {
    if (this.broken !== undefined) throw new Error(this.broken);
    const id = this.next++;
    const answer = await new Promise<Answer>((resolve) => {
      this.waiting.set(id, resolve);
      this.post({ kind: "request", id, request });
    });
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer as T;
  }

  /** Sets the speed of the live run, and the time between its rows. */
  pace(speed: number, every: number): void {
    this.post({ kind: "pace", speed, every });
  }

  /** Tells the worker that a frame was drawn. */
  frame(): void {
    this.post({ kind: "frame" });
  }

  /** Simulates `seconds` at once, also while the run stands still. */
  step(seconds: number): void {
    this.post({ kind: "step", seconds });
  }

  /** Applies changes at their times, and ends the run at `end_ns`. Without both, takes a script back. */
  script(changes: ScriptedChange[], end_ns: number | null): void {
    this.post({ kind: "script", changes, end_ns });
  }

  private post(message: ToWorker): void {
    this.worker.postMessage(message);
  }
}
