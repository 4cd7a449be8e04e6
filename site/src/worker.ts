// Runs the simulator in a worker, so that the page stays responsive.

import wasm from "./paceline.wasm?url";
import { Engine } from "./engine";
import { startSession, type FromWorker, type ToWorker } from "./session";

const scope = self as unknown as { postMessage(message: FromWorker, transfer: Transferable[]): void };

const receive = startSession(
  (message, transfer = []) => scope.postMessage(message, transfer),
  async () => Engine.load(await (await fetch(wasm)).arrayBuffer()),
);

self.onmessage = (event: MessageEvent<ToWorker>) => receive(event.data);
