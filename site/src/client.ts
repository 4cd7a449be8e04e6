// The page's side of a worker.

import { startWorker } from "#parts";
import type { Answer } from "./engine";
import type { Script } from "./sandbox/controllers";
import { openSandbox, type Sandbox } from "./sandbox/open";
import { scripts } from "./scripts";
import type { FromWorker, ScriptedChange, ToWorker } from "./session";

/** Requests that begin work, for which controllers are loaded anew. */
const BEGINNINGS = ["play", "compare", "contest"];

/** Why a request got no answer: a later one of the same client has loaded other controllers. */
export const SUPERSEDED = "another run has begun";

export class Client {
  /** The worker of the page; a sandbox takes its place as soon as a request needs controllers. */
  private worker: Worker | undefined;
  private sandbox: Sandbox | undefined;
  /** The sandbox that is being opened; requests of that time share it. */
  private opening: Promise<Sandbox> | undefined;
  /** Number of times that controllers were loaded. */
  private loads = 0;
  /** The controllers that the sandbox has, as text. */
  private loaded = "[]";
  private readonly waiting = new Map<number, (answer: Answer) => void>();
  private next = 1;
  /** Reason why the worker cannot answer, if it could not be loaded. */
  private broken: string | undefined;
  private paced: ToWorker | undefined;
  onrows: (message: FromWorker & { kind: "rows" }) => void = () => {};
  onstatus: (status: Answer) => void = () => {};
  onscripted: (index: number, answer: Answer) => void = () => {};
  onended: (status: Answer) => void = () => {};
  /** Takes the lines that controllers log. */
  onlog: (lines: string[]) => void = () => {};

  constructor() {
    this.startWorker();
  }

  private startWorker(): void {
    const worker = startWorker();
    worker.onmessage = (event: MessageEvent<FromWorker>) => this.take(event.data);
    // No other event answers the waiting requests. An event without a message means that the
    // worker's file could not be loaded; then no later request gets an answer, either.
    worker.onerror = (event) => {
      const error = `the simulator cannot be loaded: ${event.message || "its file is missing"}`;
      if (!event.message) this.broken = error;
      this.fail(error);
    };
    this.worker = worker;
  }

  private take(message: FromWorker): void {
    if (message.kind === "rows") this.onrows(message);
    else if (message.kind === "status") this.onstatus(message.status);
    else if (message.kind === "scripted") this.onscripted(message.index, message.answer);
    else if (message.kind === "ended") this.onended(message.status);
    else {
      this.waiting.get(message.id)?.(message.answer);
      this.waiting.delete(message.id);
    }
  }

  private fail(error: string): void {
    for (const answer of this.waiting.values()) answer({ error });
    this.waiting.clear();
  }

  /** Returns whether a scheme is a controller that the present run does not have. */
  needsNewRun(scheme: string): boolean {
    try {
      const needed = scripts.of({ scheme });
      return needed.length > 0 && !this.loaded.includes(JSON.stringify(needed[0]));
    } catch {
      // The run says why it may not begin.
      return true;
    }
  }

  /** Sends a request and returns its answer; throws an error in words. */
  async ask<T>(request: object): Promise<T> {
    if (this.broken !== undefined) throw new Error(this.broken);
    const needed = scripts.of(request);
    const { method } = request as { method?: string };
    if (BEGINNINGS.includes(method ?? "") && (needed.length > 0 || this.sandbox)) await this.useScripts(needed);
    return this.exchange<T>((id) => ({ kind: "request", id, request }));
  }

  private async exchange<T>(message: (id: number) => Parameters<Sandbox["post"]>[0]): Promise<T> {
    const id = this.next++;
    const answer = await new Promise<Answer>((resolve) => {
      this.waiting.set(id, resolve);
      this.post(message(id));
    });
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer as T;
  }

  /** Loads controllers into the sandbox, for the run that begins. */
  private async useScripts(needed: Script[]): Promise<void> {
    const load = ++this.loads;
    const check = () => {
      if (load !== this.loads) throw new Error(SUPERSEDED);
    };
    this.worker?.terminate();
    this.worker = undefined;
    this.fail(SUPERSEDED);
    if (!this.sandbox) {
      this.opening ??= this.openSandbox();
      this.sandbox = await this.opening;
      check();
    }
    if (this.paced) this.post(this.paced);
    this.loaded = JSON.stringify(needed);
    await this.exchange((id) => ({ kind: "scripts", id, scripts: needed }));
    check();
    await this.exchange((id) => ({ kind: "request", id, request: { method: "scripts", names: needed.map(({ name }) => name) } }));
    check();
  }

  private async openSandbox(): Promise<Sandbox> {
    try {
      return await openSandbox(
        (message) => {
          if (message.kind === "log") this.onlog(message.lines);
          else if (message.kind !== "alive") this.take(message);
        },
        (reason) => this.endSandbox(reason),
      );
    } catch (error) {
      // Requests without controllers go on.
      this.startWorker();
      throw error;
    } finally {
      this.opening = undefined;
    }
  }

  /** Ends a run in the sandbox, whatever its controllers do. Waiting requests fail with `reason`. */
  endSandbox(reason: string): void {
    if (!this.sandbox) return;
    this.sandbox.close();
    this.sandbox = undefined;
    this.loaded = "[]";
    this.startWorker();
    if (this.paced) this.post(this.paced);
    this.fail(reason);
    this.onstatus({ error: reason });
  }

  /** Sets the speed of the live run, and the time between its rows. */
  pace(speed: number, every: number): void {
    this.paced = { kind: "pace", speed, every };
    this.post(this.paced);
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

  private post(message: Parameters<Sandbox["post"]>[0]): void {
    if (this.sandbox) this.sandbox.post(message);
    else this.worker?.postMessage(message);
  }
}
