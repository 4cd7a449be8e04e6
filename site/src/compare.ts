// Compare: schemes side by side over traces, as `paceline compare` runs them.

import { nameOfFile, type Catalog } from "./catalog";
import type { Client } from "./client";
import { splitSchemes } from "./component/setting";
import { acceptFiles, announce, byId, element, readFiles, showError } from "./dom";
import { CompareResults, type Result } from "./results";
import { scripts } from "./scripts";
import { currentTab } from "./tabs";

interface Progress {
  /** Number of runs; below, of finished ones. */
  runs: number;
  done: number;
  /** Schemes times traces: the number of runs after which each has one more. */
  pairs: number;
  next: string | null;
}

interface TraceChoice {
  name: string;
  text?: string;
}

/** Fields of the form with text or numbers; their names in the address are the same words. */
const FIELDS = ["duration", "warmup", "rtt", "buffer", "flows", "seed", "runs", "spread"];
/** Minimum time in milliseconds between two displays of incomplete results. */
const SHOW_INTERVAL = 1500;

export class Compare {
  private readonly files: TraceChoice[] = [];
  private readonly error = byId("compare-error");
  private readonly form = byId<HTMLFormElement>("compare-form");
  private readonly results = new CompareResults();
  private stopped = false;
  /** Address of the form's initial state. */
  private readonly initial: string;

  constructor(private readonly catalog: Catalog, private readonly client: Client) {
    const box = (name: string, value: string, title: string, on: boolean) => {
      const input = element("input", { type: "checkbox", name, value, checked: on });
      return element("label", { class: "choice", title }, input, ` ${value}`);
    };
    byId("compare-schemes").append(...catalog.schemes.map((scheme) =>
      box("scheme", scheme.bulk ?? scheme.name, scheme.summary, ["abc", "cubic"].includes(scheme.name))));
    byId("compare-traces").append(...catalog.traces.map((name) =>
      box("trace", name, "built in", name === "lte-driving")));
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.run();
    });
    byId("compare-stop").addEventListener("click", () => (this.stopped = true));
    this.form.addEventListener("change", () => this.remember());
    this.initial = this.address();
    const seen = (name: string, text: string) => this.add({ name, text });
    acceptFiles(byId("drop"), seen);
    byId<HTMLInputElement>("compare-file").addEventListener("change", (event) =>
      void readFiles((event.target as HTMLInputElement).files, seen));
  }

  private add({ name, text }: { name: string; text: string }): void {
    const file = { name: nameOfFile(name, this.catalog.traces), text };
    const known = this.files.findIndex((other) => other.name === file.name);
    if (known >= 0) this.files.splice(known, 1);
    this.files.push(file);
    this.showFiles();
    announce(`The trace ${file.name} is part of the comparison.`);
  }

  private showFiles(): void {
    const list = this.files.map((file) => element("li", {}, file.name, " ", element("button", {
      type: "button", "aria-label": `Take ${file.name} away`,
      onclick: () => {
        this.files.splice(this.files.indexOf(file), 1);
        this.showFiles();
        byId("compare-file").focus();
      },
    }, "×")));
    byId("compare-files").replaceChildren(...list);
  }

  /** Shows the tab, with the setting in the address if it has one. */
  activate(rest: string): void {
    if (rest !== "") this.readAddress(rest);
    else if (this.address() !== this.initial) this.remember();
  }

  /** Returns the setting as an address. Traces from files are not part of it. */
  private address(): string {
    const data = new FormData(this.form);
    const words = new URLSearchParams();
    words.set("traces", [...data.getAll("trace").map(String), ...this.rates()].join(" "));
    words.set("schemes", data.getAll("scheme").join(" "));
    for (const name of ["more-schemes", ...FIELDS]) {
      const text = String(data.get(name) ?? "").trim();
      if (text !== "") words.set(name, text);
    }
    scripts.addTo(words, String(data.get("more-schemes") ?? "").split(","));
    return words.toString();
  }

  /** Applies the setting in an address; values that the address does not have stay unchanged. */
  private readAddress(address: string): void {
    const words = new URLSearchParams(address);
    for (const name of ["more-schemes", ...FIELDS]) {
      const text = words.get(name);
      if (text !== null) (this.form.elements.namedItem(name) as HTMLInputElement).value = text;
    }
    for (const [list, name] of [["traces", "trace"], ["schemes", "scheme"]] as const) {
      const chosen = words.get(list)?.split(" ").filter((word) => word !== "");
      if (chosen === undefined) continue;
      for (const box of this.form.querySelectorAll<HTMLInputElement>(`input[name="${name}"]`)) {
        box.checked = chosen.includes(box.value);
      }
      const listed = [...this.form.querySelectorAll<HTMLInputElement>(`input[name="${name}"]`)].map((box) => box.value);
      const others = chosen.filter((word) => !listed.includes(word));
      if (name === "trace") {
        // Traces that are not in the list are constant rates.
        (this.form.elements.namedItem("rates") as HTMLInputElement).value = others.join(", ");
      } else if (others.length > 0) {
        const more = this.form.elements.namedItem("more-schemes") as HTMLInputElement;
        more.value = [...others, ...splitSchemes(words.get("more-schemes") ?? "")].join(", ");
      }
    }
  }

  /** Returns the constant rates, written without spaces. */
  private rates(): string[] {
    const text = String(new FormData(this.form).get("rates") ?? "");
    return text.split(",").map((word) => word.replaceAll(/\s/g, "")).filter((word) => word !== "");
  }

  /** Writes the setting into the address. */
  private remember(): void {
    if (currentTab().tab === "compare") history.replaceState(null, "", `#compare?${this.address()}`);
  }

  private request(): object {
    const data = new FormData(this.form);
    const text = (name: string) => String(data.get(name) ?? "").trim();
    const names = [...data.getAll("trace").map(String), ...this.rates()];
    const traces: TraceChoice[] = [...names.map((name) => ({ name })), ...this.files];
    const written = text("more-schemes");
    const schemes = [...data.getAll("scheme").map(String), ...(written ? [written] : [])];
    const numbers = ["flows", "seed", "runs"];
    const fields = FIELDS.map((name) => [name, numbers.includes(name) ? Number(text(name)) : text(name)]);
    return { method: "compare", traces, schemes: schemes.join(","), ...Object.fromEntries(fields) };
  }

  private async run(): Promise<void> {
    const [button, bar] = [byId<HTMLButtonElement>("compare-run"), byId<HTMLProgressElement>("compare-progress")];
    const [line, stop] = [byId("compare-line"), byId("compare-stop")];
    this.stopped = false;
    showError(this.error, "");
    button.disabled = true;
    try {
      let progress = await this.client.ask<Progress>(this.request());
      bar.hidden = stop.hidden = false;
      announce(`${progress.runs} runs begin.`);
      let [shown, shownAt] = [0, -SHOW_INTERVAL];
      while (progress.done < progress.runs && !this.stopped) {
        bar.max = progress.runs;
        bar.value = progress.done;
        line.textContent = `${progress.done + 1} of ${progress.runs}: ${progress.next ?? ""}`;
        progress = await this.client.ask<Progress>({ method: "compare-next" });
        // Compare only when each scheme has as many runs as the others on each trace.
        const isEven = progress.done % progress.pairs === 0;
        if (isEven && progress.done < progress.runs && performance.now() - shownAt >= SHOW_INTERVAL) {
          this.results.show(await this.client.ask<Result>({ method: "compare-result" }), false);
          shownAt = performance.now();
          if (shown === 0) announce("First results stand below the form; further runs follow.");
          shown = progress.done;
        }
      }
      line.textContent = this.stopped ? `stopped after ${progress.done} of ${progress.runs} runs` : "";
      this.results.show(await this.client.ask<Result>({ method: "compare-result" }), true);
      announce(`${progress.done} runs are done. The results stand below the form.`);
    } catch (error) {
      line.textContent = "";
      // Results of an earlier run would seem to be this one's.
      this.results.clear();
      showError(this.error, error);
    } finally {
      button.disabled = false;
      bar.hidden = stop.hidden = true;
    }
  }
}
