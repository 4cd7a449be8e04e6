// The simulator with controllers of the page, in a worker without network: sandbox.html starts it from
// its text, in a frame of another origin.

import { Engine, type Answer } from "../engine";
import { startSession, type FromWorker, type ToWorker } from "../session";
import { Controllers, type Script } from "./controllers";
import { lockDown } from "./lockdown";
import { replaceMath } from "./maths";

/** Messages beyond those of the simulator's other worker. */
export type ToSandbox = ToWorker
  | { kind: "load"; bytes: ArrayBuffer }
  | { kind: "scripts"; id: number; scripts: Script[] };
export type FromSandbox = FromWorker
  /** Controllers are being called; another message follows unless one of them does not return. */
  | { kind: "alive" }
  | { kind: "log"; lines: string[] };

/** Shortest time between two signs of life in milliseconds. */
const ALIVE_INTERVAL = 250;

const scope = self as unknown as { onmessage: ((event: MessageEvent) => void) | null; postMessage(message: unknown, transfer: Transferable[]): void };
const post = scope.postMessage.bind(scope);
const [clock, later] = [performance.now.bind(performance), setTimeout.bind(self)];
const listen = self.addEventListener.bind(self);

const controllers = new Controllers();
let engine: Promise<Engine> | undefined;
/** Time of the last sign of life, if no other message has followed it. */
let aliveAt = -Infinity;

function send(message: FromSandbox, transfer: Transferable[] = []): void {
  const lines = controllers.takeLines();
  if (lines.length > 0) post({ kind: "log", lines }, []);
  post(message, transfer);
  // The page waits for the next sign of life before it measures time again.
  if (message.kind !== "alive") aliveAt = -Infinity;
}

controllers.onalive = () => {
  const now = clock();
  if (now - aliveAt < ALIVE_INTERVAL) return;
  aliveAt = now;
  send({ kind: "alive" });
};

const receive = startSession(send, async () => {
  if (!engine) throw new Error("the simulator was not sent");
  return engine;
});

async function load(bytes: ArrayBuffer): Promise<Engine> {
  const loaded = await Engine.load(bytes, controllers);
  replaceMath(loaded);
  Object.defineProperty(Math, "random", { value: () => controllers.random() });
  lockDown((...values) => controllers.log(values));
  return loaded;
}

/** Returns the line of a text's first mistake in its syntax; browsers tell it for uncaught errors only. */
function syntaxLine(text: string): Promise<number> {
  return new Promise((resolve) => {
    listen("error", (event) => {
      event.preventDefault();
      resolve((event as ErrorEvent).lineno);
    }, { once: true });
    later(() => {
      (0, eval)(`"use strict"; (() => {${text}\n})\n//# sourceURL=syntax.js`);
      resolve(0);
    });
  });
}

async function use(scripts: Script[]): Promise<Answer> {
  await engine;
  try {
    controllers.use(scripts);
    return {};
  } catch (error) {
    const text = String(error instanceof Error ? error.message : error);
    const script = scripts.find(({ name }) => text.startsWith(`${name}.js: SyntaxError`));
    if (!script) return { error: text };
    const lines = script.text.split("\n").length;
    const line = Math.min(await syntaxLine(script.text), lines);
    return { error: line > 0 ? text.replace(".js:", `.js, line ${line}:`) : text };
  }
}

scope.onmessage = ({ data }: MessageEvent<ToSandbox>) => {
  if (data.kind === "load") engine = load(data.bytes);
  else if (data.kind === "scripts") void use(data.scripts).then((answer) => send({ kind: "answer", id: data.id, answer }));
  else receive(data);
};
