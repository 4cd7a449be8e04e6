// The line about the session: number of changes, digest, and buttons to copy, save and open one.

import { announce, byId, readFiles, saveFile } from "./dom";
import { DRAWN } from "./draw";
import { readSessionFile, sessionFile, writeSession, type Session } from "./recording";

export interface SessionEvents {
  session(): Promise<Session | null>;
  /** Texts of dropped traces. */
  traces: Map<string, string>;
  open(file: { address: string; files: Record<string, string> }): void;
}

export class SessionPanel {
  private readonly line = byId("session-line");
  private readonly result = byId("session-result");

  constructor(private readonly events: SessionEvents) {
    byId("session-copy").addEventListener("click", () => void this.copy());
    byId("session-save").addEventListener("click", () => void this.save());
    byId<HTMLInputElement>("session-file").addEventListener("change", (event) =>
      void readFiles((event.target as HTMLInputElement).files, (name, text) => {
        if (!this.offer(text)) this.say(`${name} has no session: choose a file that "Save session" has written.`);
      }));
  }

  /** Opens a session if this text of a file has one. */
  offer(text: string): boolean {
    const file = readSessionFile(text);
    if (file) this.events.open(file);
    return file !== null;
  }

  /** Shows how many changes are recorded, and the digest of a run that stands still. */
  update(changes: number, digest: string): void {
    const counted = changes === 1 ? "1 change is recorded" : `${changes} changes are recorded`;
    const text = `${counted}${digest === "" ? "; pause to see the run's digest" : `; digest ${digest}`}`;
    if (this.line.textContent !== text) this.line.textContent = text;
  }

  say(text: string): void {
    this.result.textContent = text;
    if (text) announce(text);
  }

  /** Says whether a repeated session has the recorded digest. */
  compare(recorded: string, digest: string): void {
    if (recorded === "") this.say(`The session has ended. Its digest is ${digest}.`);
    else if (recorded === digest) this.say(`The session has ended with the recorded digest ${digest}.`);
    else {
      this.say(`The session has ended with the digest ${digest}, and was recorded with ${recorded}: `
        + "another version of Paceline recorded it, or its trace was another one.");
    }
  }

  private async copy(): Promise<void> {
    const session = await this.events.session().catch(() => null);
    if (!session) return;
    const address = new URL(`#ratatouille?${writeSession(session)}`, location.href).href;
    try {
      await navigator.clipboard.writeText(address);
      this.say("The address of this session is in the clipboard.");
    } catch {
      history.replaceState(null, "", address);
      this.say("Copy the address of this page: it has this session.");
    }
    // The address has a link that was drawn, and no file.
    if (this.events.traces.has(session.start.trace) && session.start.trace !== DRAWN) {
      this.say("The address has the session, and not the trace from your file: save the session instead.");
    }
  }

  private async save(): Promise<void> {
    const session = await this.events.session().catch(() => null);
    if (session) saveFile("session.json", "application/json", sessionFile(session, this.events.traces));
  }
}
