// Recorded traces for claims: files and folders that are dropped on the tab Claims, and stay in the page.

import type { Client } from "./client";
import { acceptAll, announce, byId, showError } from "./dom";

/** The answer to `recordings`. */
interface Recordings {
  recordings: string[];
  missing: string[];
}

/** Largest file that is read, in bytes; Mahimahi's recordings have less than a tenth of it. */
const LARGEST = 64e6;

export class RecordingFiles {
  private readonly line = byId("claims-recordings");
  private readonly error = byId("claims-error");
  private readonly forget = byId<HTMLButtonElement>("claims-forget");
  private present: string[] = [];

  /** `onchange` is called when recordings are there or are removed. */
  constructor(private readonly client: Client, private readonly onchange: () => void) {
    acceptAll(byId("claims-drop"), (files) => void this.add(files));
    const input = byId<HTMLInputElement>("claims-files");
    input.addEventListener("change", () => void this.add([...(input.files ?? [])]));
    this.forget.addEventListener("click", () => {
      input.value = "";
      void this.send([]).then(() => input.focus());
    });
  }

  /** Returns whether claims run over recordings. */
  get some(): boolean {
    return this.present.length > 0;
  }

  private async add(files: File[]): Promise<void> {
    showError(this.error, "");
    try {
      // Only these are read, whatever else a folder has.
      const names = await this.client.ask<Recordings>({ method: "recordings", files: [], keep: true });
      const wanted = new Set([...names.recordings, ...names.missing]);
      const known = files.filter((file) => wanted.has(file.name) && file.size <= LARGEST);
      if (known.length === 0) {
        throw new Error(`None of the ${files.length} files is one of the recordings: ${[...wanted].sort().join(", ")}.`);
      }
      await this.send(await Promise.all(known.map(async (file) => ({ name: file.name, text: await file.text() }))));
    } catch (error) {
      showError(this.error, error);
    }
  }

  private async send(files: { name: string; text: string }[]): Promise<void> {
    try {
      const { recordings, missing } = await this.client.ask<Recordings>({ method: "recordings", files });
      this.present = recordings;
      const count = recordings.length === 1 ? "1 recording" : `${recordings.length} recordings`;
      const rest = missing.length > 0 ? ` Missing: ${missing.join(", ")}.` : "";
      this.line.textContent = recordings.length === 0 ? "" : `Claims run over ${count}: ${recordings.join(", ")}.${rest}`;
      this.forget.hidden = recordings.length === 0;
      announce(recordings.length === 0 ? "Claims run over synthetic traces." : `Claims run over ${count}.`);
      this.onchange();
    } catch (error) {
      showError(this.error, error);
    }
  }
}
