// Recorded sessions: the setting at the start of a run, and its changes with their simulated times.
// The simulator repeats them to the same digest.

import { copySetting, readAddress, writeAddress, type Setting } from "./state";

/** A change of a run. */
export type Change =
  | { kind: "number"; name: "rate" | "rtt" | "buffer" | "second"; value: number }
  | { kind: "flow"; flow: number; on: boolean; scheme: string };

export interface TimedChange {
  time_ns: number;
  change: Change;
}

export interface Session {
  start: Setting;
  changes: TimedChange[];
  /** End of the recording, and the digest there. */
  end_ns: number;
  digest: string;
}

const NUMBERS = { rate: "rate_mbps", rtt: "rtt_ms", buffer: "buffer", second: "second_mbps" } as const;

/** Returns the simulator's request for a change. */
export function requestOf(change: Change): object {
  return change.kind === "number"
    ? { method: "change", [NUMBERS[change.name]]: change.value }
    : { method: "flow", flow: change.flow, on: change.on, scheme: change.scheme };
}

/** Applies a change to a setting. */
export function applyTo(setting: Setting, change: Change): void {
  if (change.kind === "number") setting[change.name] = change.value;
  else Object.assign(setting.flows[change.flow]!, { on: change.on, scheme: change.scheme });
}

/** Returns a change in words. */
export function describe(change: Change): string {
  if (change.kind === "flow") return `flow ${change.flow + 1} ${change.on ? change.scheme : "off"}`;
  const units = { rate: "Mbit/s", rtt: "ms", buffer: "packets", second: "Mbit/s" };
  return `${change.name === "second" ? "second link" : change.name} ${change.value} ${units[change.name]}`;
}

/** Returns a session as an address: the start, then `changes`, `end` and `digest`. */
export function writeSession(session: Session): string {
  const words = new URLSearchParams(writeAddress(session.start));
  const text = ({ time_ns, change }: TimedChange) => change.kind === "number"
    ? `${time_ns}:${change.name}=${change.value}`
    : `${time_ns}:flow${change.flow + 1}=${change.on ? "" : "-"}${change.scheme.replaceAll(/\s/g, "")}`;
  words.set("changes", session.changes.map(text).join(" "));
  words.set("end", String(session.end_ns));
  words.set("digest", session.digest);
  return words.toString();
}

/**
 * Returns the session in an address, null if the address has a setting only.
 *
 * Throws an error in words if the session is damaged.
 */
export function readSession(address: string): Session | null {
  const words = new URLSearchParams(address);
  if (!words.has("end")) return null;
  const changes = (words.get("changes") ?? "").split(" ").filter((word) => word !== "").map(readChange);
  const end_ns = Number(words.get("end"));
  if (!Number.isSafeInteger(end_ns) || end_ns < 0) throw new Error(`the session's end ${words.get("end")} is no time in ns`);
  if (changes.some((one, at) => one.time_ns > (changes[at + 1]?.time_ns ?? end_ns))) {
    throw new Error("the session's changes are not in the order of their times");
  }
  return { start: readAddress(address), changes, end_ns, digest: words.get("digest") ?? "" };
}

function readChange(word: string): TimedChange {
  const found = /^(\d+):([a-z]+)(\d?)=(.+)$/.exec(word);
  const damaged = new Error(`the session has a change that is damaged: ${word.slice(0, 80)}`);
  if (!found) throw damaged;
  const [time_ns, name, digit, text] = [Number(found[1]), found[2]!, found[3]!, found[4]!];
  if (!Number.isSafeInteger(time_ns)) throw damaged;
  if (name === "flow") {
    const flow = Number(digit) - 1;
    if (!(flow >= 0 && flow < 8)) throw damaged;
    const on = !text.startsWith("-");
    return { time_ns, change: { kind: "flow", flow, on, scheme: on ? text : text.slice(1) } };
  }
  const value = Number(text);
  if (!(name in NUMBERS) || digit !== "" || !Number.isFinite(value)) throw damaged;
  return { time_ns, change: { kind: "number", name: name as keyof typeof NUMBERS, value } };
}

/** Records the changes of the present run. */
export class Recorder {
  private start: Setting | undefined;
  private changes: TimedChange[] = [];

  /** Begins with a new run. */
  begin(setting: Setting): void {
    this.start = copySetting(setting);
    this.changes = [];
  }

  /** Notes a change that the simulator has applied. */
  note(time_ns: unknown, change: Change): void {
    if (typeof time_ns === "number") this.changes.push({ time_ns, change });
  }

  get count(): number {
    return this.changes.length;
  }

  /** Returns the session up to now; null before the first run. */
  session(end_ns: number, digest: string): Session | null {
    return this.start ? { start: copySetting(this.start), changes: [...this.changes], end_ns, digest } : null;
  }
}

/** The kind of a session's file. */
const KIND = "paceline-session";

/** Returns a session as the text of a file, with the texts of the traces that it uses. */
export function sessionFile(session: Session, traces: Map<string, string>): string {
  const trace = traces.get(session.start.trace);
  const files = trace === undefined ? {} : { [session.start.trace]: trace };
  return `${JSON.stringify({ kind: KIND, session: writeSession(session), files }, null, 1)}\n`;
}

/** Reads a file; null if it has no session. */
export function readSessionFile(text: string): { address: string; files: Record<string, string> } | null {
  try {
    const value = JSON.parse(text) as { kind?: unknown; session?: unknown; files?: Record<string, unknown> };
    if (value.kind !== KIND || typeof value.session !== "string") return null;
    const files = Object.entries(value.files ?? {}).filter((pair): pair is [string, string] => typeof pair[1] === "string");
    return { address: value.session, files: Object.fromEntries(files) };
  } catch {
    return null;
  }
}

