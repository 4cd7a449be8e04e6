// Controllers in JavaScript: those kept in the browser, that of the address, and which may run.

import type { Script } from "./sandbox/controllers";
import { schemeName } from "./catalog";

/** Keys of the browser's storage: controllers, and texts that the reader has run in this tab. */
const [LIBRARY, APPROVED] = ["paceline.controllers", "paceline.approved"];
/** Longest text of a controller in bytes. */
const LONGEST = 50_000;
/** Most controllers kept. */
const MOST = 200;
const NAME = /^[a-z][a-z0-9_]{0,39}$/;

/** Returns a value from storage; `otherwise` if the browser has none or does not allow storage. */
export function stored<T>(storage: () => Storage, key: string, otherwise: T): T {
  try {
    return (JSON.parse(storage().getItem(key) ?? "null") as T | null) ?? otherwise;
  } catch {
    return otherwise;
  }
}

/** Keeps a value in storage; returns whether the browser allows it. */
export function store(storage: () => Storage, key: string, value: unknown): boolean {
  try {
    storage().setItem(key, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

const isScript = (value: unknown): value is Script => {
  const { name, text } = (value ?? {}) as Partial<Script>;
  return typeof name === "string" && NAME.test(name) && typeof text === "string";
};

/** The page's controllers. */
class Scripts {
  /** Names of built-in schemes, which no controller may have. */
  reserved = new Set<string>();
  private readonly kept = new Map<string, Script>();
  /** Controllers of the address; they come before kept ones of the same name. */
  private readonly addressed = new Map<string, Script>();
  /** Texts that may run. */
  private readonly approved: Set<string>;
  /** The words of addresses, by the texts of controllers. */
  private readonly words = new Map<string, string>();

  constructor() {
    const kept = stored<unknown>(() => localStorage, LIBRARY, []);
    for (const script of Array.isArray(kept) ? kept : []) if (isScript(script)) this.kept.set(script.name, script);
    const approved = stored<unknown>(() => sessionStorage, APPROVED, []);
    this.approved = new Set(Array.isArray(approved) ? approved.map(String) : []);
  }

  /** Returns all controllers by name. */
  all(): Script[] {
    const all = [...new Map([...this.kept, ...this.addressed]).values()];
    return all.filter(({ name }) => !this.reserved.has(name)).sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  find(name: string): Script | undefined {
    return this.reserved.has(name) ? undefined : this.addressed.get(name) ?? this.kept.get(name);
  }

  /** Returns whether a controller comes with the address, and may not run yet. */
  isForeign({ name, text }: Script): boolean {
    return this.kept.get(name)?.text !== text && !this.approved.has(text);
  }

  /** Returns the controllers that come with the address and may not run yet. */
  foreign(): Script[] {
    return [...this.addressed.values()].filter((script) => this.isForeign(script));
  }

  /** Takes the controllers of an address; they may not run before the reader has approved them. */
  async readAddress(address: string): Promise<void> {
    for (const word of new URLSearchParams(address).getAll("controller")) {
      const script = await unpack(word);
      this.addressed.set(script.name, script);
      this.words.set(script.text, await pack(script));
    }
    for (const script of this.kept.values()) {
      if (!this.words.has(script.text)) this.words.set(script.text, await pack(script));
    }
  }

  /** Takes a controller from a file under a free name; it may not run before the reader has approved it. */
  add({ name, text }: Script): void {
    if (!isScript({ name, text })) throw new Error("a controller in the file has no legal name or no text");
    let free = name;
    for (let number = 2; this.reserved.has(free) || (this.find(free)?.text ?? text) !== text; number += 1) free = `${name}_${number}`;
    this.addressed.set(free, { name: free, text });
  }

  /** Adds the controllers that these schemes name to the words of an address. */
  addTo(words: URLSearchParams, schemes: string[]): void {
    for (const name of new Set(schemes.map(schemeName))) {
      const word = this.words.get(this.find(name)?.text ?? "");
      if (word !== undefined) words.append("controller", `${name}.${word.slice(word.indexOf(".") + 1)}`);
    }
  }

  /** Keeps a controller that the reader has written or run, and lets it run. */
  async keep(script: Script): Promise<void> {
    if (this.reserved.has(script.name)) throw new Error(`there is a scheme called \`${script.name}\` already; give the controller another name`);
    if (new TextEncoder().encode(script.text).length > LONGEST) {
      throw new Error(`a controller has at most ${LONGEST / 1000} kB, as addresses carry it; this one has more`);
    }
    this.words.set(script.text, await pack(script));
    if (!NAME.test(script.name)) throw new Error("a controller's name has up to 40 small letters, digits and _, and begins with a letter");
    this.addressed.delete(script.name);
    this.kept.delete(script.name);
    this.kept.set(script.name, script);
    while (this.kept.size > MOST) this.kept.delete(this.kept.keys().next().value!);
    this.approved.add(script.text);
    store(() => localStorage, LIBRARY, [...this.kept.values()]);
    store(() => sessionStorage, APPROVED, [...this.approved]);
  }

  forget(name: string): void {
    this.addressed.delete(name);
    this.kept.delete(name);
    store(() => localStorage, LIBRARY, [...this.kept.values()]);
  }

  /** Returns the controllers that a request runs. Throws an error in words if one may not run. */
  of(request: object): Script[] {
    const { schemes, scheme, flows } = request as { schemes?: unknown; scheme?: unknown; flows?: unknown };
    const texts = typeof schemes === "string" ? schemes.split(",") : [];
    if (typeof scheme === "string") texts.push(scheme);
    if (Array.isArray(flows)) texts.push(...flows.map((flow: { scheme?: unknown }) => String(flow.scheme)));
    const names = new Set(texts.map(schemeName));
    const found = [...names].map((name) => this.find(name)).filter((script) => script !== undefined);
    const foreign = found.find((script) => this.isForeign(script));
    if (foreign) throw new Error(`The controller ${foreign.name} comes with the address. Read it under Write, and press Run there.`);
    return found;
  }
}

export const scripts = new Scripts();

async function through(bytes: Uint8Array<ArrayBuffer>, stream: CompressionStream | DecompressionStream): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

/** Returns a controller as one word of an address: its name, and its compressed text in base64url. */
export async function pack({ name, text }: Script): Promise<string> {
  const bytes = await through(new TextEncoder().encode(text), new CompressionStream("deflate-raw"));
  const base64 = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return `${name}.${base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

/** Reads a controller from a word of an address. Throws an error in words if it is damaged. */
export async function unpack(word: string): Promise<Script> {
  const [name = "", packed = ""] = word.split(".", 2);
  let text: string;
  try {
    const binary = atob(packed.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = await through(Uint8Array.from(binary, (char) => char.charCodeAt(0)), new DecompressionStream("deflate-raw"));
    if (bytes.length > LONGEST) throw new Error("too long");
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Error("the controller in the address is damaged: ask for the whole link");
  }
  const script = { name, text };
  if (!isScript(script)) throw new Error(`the address has a controller without a legal name: ${name}`);
  return script;
}
