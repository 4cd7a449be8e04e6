// The parts that the page loads: the simulator, its worker, the documents. Here they are files beside the
// page; in the page that is one file they are `parts-single.ts`.

import wasm from "./paceline.wasm?url";

/** Starts a worker with the simulator. */
export function startWorker(): Worker {
  return new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
}

/** Returns the bytes of the simulator. */
export async function loadSimulator(): Promise<ArrayBuffer> {
  return (await fetch(wasm)).arrayBuffer();
}

/** Returns the address of the frame of controllers; null if its text is to be used. */
export function sandboxAddress(): string | null {
  return new URL("sandbox.html", location.href.split("#")[0]).href;
}

/** Returns a file of the documents by its path below `docs`, as text. */
export async function fetchDocument(path: string): Promise<string> {
  const answer = await fetch(documentAddress(path));
  if (!answer.ok) throw new Error(`docs/${path}: ${answer.status} ${answer.statusText}`);
  return answer.text();
}

/** Returns the address of a file of the documents, for figures and links. */
export function documentAddress(path: string): string {
  return `docs/${path}`;
}
