// The simulator's worker for a page without files: the page sends the bytes of the simulator.

import { Engine } from "./engine";
import { startSession, type FromWorker, type ToWorker } from "./session";

type Load = { kind: "load"; bytes: ArrayBuffer } | { kind: "load"; error: string };

const scope = self as unknown as { postMessage(message: FromWorker, transfer: Transferable[]): void };

let take: (bytes: ArrayBuffer) => void;
let refuse: (error: Error) => void;
const simulator = new Promise<ArrayBuffer>((resolve, reject) => {
  take = resolve;
  refuse = reject;
});
// A failure is an answer to each request; before the first one it is no error of the worker.
simulator.catch(() => {});

const receive = startSession(
  (message, transfer = []) => scope.postMessage(message, transfer),
  async () => Engine.load(await simulator),
);

self.onmessage = ({ data }: MessageEvent<ToWorker | Load>) => {
  if (data.kind !== "load") receive(data);
  else if ("bytes" in data) take(data.bytes);
  else refuse(new Error(data.error));
};
