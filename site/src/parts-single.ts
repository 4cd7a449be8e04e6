// The parts of the page that is one file: compressed texts in its own document, which `site/single.mjs`
// writes. No other file is loaded, so that the page works from a disk.

import workerText from "virtual:inline-worker";

/** Returns the bytes of a part: gzip in base64, in an element that browsers do not run. */
async function unpack(name: string): Promise<ArrayBuffer> {
  const packed = document.getElementById(`part-${name}`)?.textContent;
  if (packed === undefined) throw new Error(`this copy of the page has no part "${name}": download it again`);
  const bytes = Uint8Array.from(atob(packed), (char) => char.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

let simulator: Promise<ArrayBuffer> | undefined;
let documents: Map<string, string> | undefined;

/** Starts a worker with the simulator. */
export function startWorker(): Worker {
  const address = URL.createObjectURL(new Blob([workerText], { type: "text/javascript" }));
  const worker = new Worker(address);
  void loadSimulator().then(
    (bytes) => worker.postMessage({ kind: "load", bytes }, [bytes]),
    (error: unknown) => worker.postMessage({ kind: "load", error: String(error) }));
  return worker;
}

/** Returns the bytes of the simulator, for the caller alone. */
export async function loadSimulator(): Promise<ArrayBuffer> {
  simulator ??= unpack("simulator");
  return (await simulator).slice(0);
}

/** Returns the address of the frame of controllers; null if its text is to be used. */
export function sandboxAddress(): string | null {
  return null;
}

/** Returns a file of the documents by its path below `docs`, as text. */
export async function fetchDocument(path: string): Promise<string> {
  if (!documents) {
    const texts = JSON.parse(new TextDecoder().decode(await unpack("documents"))) as Record<string, string>;
    documents = new Map(Object.entries(texts));
  }
  const text = documents.get(path);
  if (text === undefined) throw new Error(`docs/${path}: this page has no such document`);
  return text;
}

/** Addresses of files that were shown. */
const addresses = new Map<string, string>();

/** Returns the address of a file of the documents, for figures and links. */
export function documentAddress(path: string): string {
  let address = addresses.get(path);
  if (address === undefined) {
    const type = path.endsWith(".svg") ? "image/svg+xml" : "text/plain";
    address = URL.createObjectURL(new Blob([documents?.get(path) ?? ""], { type }));
    addresses.set(path, address);
  }
  return address;
}
