// Runs scenario files, as `paceline run` does.

import { Client } from "./client";
import { announce, byId, element, readFiles, saveFile, showError } from "./dom";

interface ScenarioResult {
  name: string;
  /** Number of runs; the digest and the packets are those of run 1. */
  runs: number;
  digest: string;
  packets: number;
  page: string;
}

export class ScenarioRun {
  /** A worker of its own, so that a long run holds nothing else up. */
  private client: Client | undefined;
  private running = false;
  private readonly error = byId("scenario-error");
  private readonly line = byId("scenario-line");

  constructor() {
    byId<HTMLInputElement>("scenario-file").addEventListener("change", (event) =>
      void readFiles((event.target as HTMLInputElement).files, (name, text) => void this.run(name, text)));
  }

  /** Runs a dropped file if its name is that of a scenario; returns true if so. */
  offer(name: string, text: string): boolean {
    if (!/\.toml$/i.test(name)) return false;
    location.hash = "#compare";
    void this.run(name, text);
    return true;
  }

  private async run(file: string, text: string): Promise<void> {
    if (this.running) return;
    this.running = true;
    showError(this.error, "");
    this.line.textContent = `${file} runs …`;
    try {
      this.client ??= new Client();
      this.show(await this.client.ask<ScenarioResult>({ method: "run", file, text, page: true }));
    } catch (error) {
      this.line.textContent = "";
      // The page of an earlier run would seem to be this one's.
      byId("scenario-results").replaceChildren();
      showError(this.error, error);
    } finally {
      this.running = false;
    }
  }

  private show({ name, runs, digest, packets, page }: ScenarioResult): void {
    this.line.textContent = runs === 1
      ? `${name}: digest ${digest}, ${packets} packets arrived, as \`paceline run\` says.`
      : `${name}: ${runs} runs, and below their medians, as \`paceline run\` makes them; run 1 has the digest ${digest}.`;
    // The frame runs no scripts; those of the saved page sort its tables.
    const shown = page.replaceAll(/<script\b[\s\S]*?<\/script>/g, "");
    const frame = element("iframe", { title: `Results of ${name}`, sandbox: "", srcdoc: shown });
    byId("scenario-results").replaceChildren(frame, element("div", { class: "buttons" },
      element("button", { type: "button", onclick: () => saveFile("run.html", "text/html", page) }, "Save page")));
    announce(`The run ${name} is done.`);
    byId("scenario").scrollIntoView({ block: "start" });
  }
}
