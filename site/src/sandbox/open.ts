// Opens the sandbox: a frame of another origin, without network, in which a worker runs controllers.

import workerText from "virtual:sandbox-worker";
import { loadSimulator, sandboxAddress } from "#parts";
import { element } from "../dom";
import frameText from "./frame.html?raw";
import type { FromSandbox, ToSandbox } from "./worker";

/** Longest time in milliseconds for which a controller may keep the worker from answering. */
const PATIENCE = 10_000;
/** Time between two checks. A check that comes late shows that the page itself stood still. */
const CHECK_INTERVAL = 500;

export interface Sandbox {
  post(message: ToSandbox): void;
  /** Ends the worker, whatever it does. */
  close(): void;
}

/** Opens a sandbox. `onmessage` gets its messages, `onbroken` the reason why there will be no more. */
export async function openSandbox(onmessage: (message: FromSandbox) => void, onbroken: (reason: string) => void): Promise<Sandbox> {
  const frame = element("iframe", { sandbox: "allow-scripts", hidden: true, title: "Sandbox of controllers" });
  const address = sandboxAddress();
  if (address === null) frame.srcdoc = frameText;
  else frame.src = address;
  const begun = new Promise<void>((resolve, reject) => {
    const listen = (event: MessageEvent) => {
      if (event.source !== frame.contentWindow) return;
      window.removeEventListener("message", listen);
      resolve();
    };
    window.addEventListener("message", listen);
    frame.addEventListener("error", () => reject(new Error("sandbox.html cannot be loaded")));
  });
  document.body.append(frame);
  const [bytes] = await Promise.all([loadSimulator(), begun]);
  const { port1, port2 } = new MessageChannel();
  /** Time of the last sign of life that no other message has followed. */
  let calledAt: number | undefined;
  let checkedAt = performance.now();
  const timer = window.setInterval(() => {
    const now = performance.now();
    if (calledAt !== undefined && now - checkedAt > 4 * CHECK_INTERVAL) calledAt = now;
    checkedAt = now;
    if (calledAt === undefined || now - calledAt < PATIENCE) return;
    close();
    onbroken(`the controller did not return within ${PATIENCE / 1000} s, and was stopped: look for a loop without an end`);
  }, CHECK_INTERVAL);
  const close = () => {
    window.clearInterval(timer);
    port1.close();
    frame.remove();
  };
  port1.onmessage = ({ data }: MessageEvent<FromSandbox | { kind: "broken"; error: string }>) => {
    calledAt = data.kind === "alive" ? performance.now() : undefined;
    if (data.kind === "broken") {
      close();
      onbroken(`the sandbox failed: ${data.error}`);
    } else onmessage(data);
  };
  frame.contentWindow!.postMessage(workerText, "*", [port2]);
  port1.postMessage({ kind: "load", bytes }, [bytes]);
  return { post: (message) => port1.postMessage(message), close };
}
