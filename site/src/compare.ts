// Compare: schemes side by side over traces, as `paceline compare` has them.

import type { Catalog } from "./catalog";
import type { Client } from "./client";
import { acceptFiles, announce, byId, parseMarkup, element, readFiles, saveFile, showError } from "./dom";

interface Progress {
  runs: number;
  done: number;
  next: string | null;
}

interface Result {
  json: unknown;
  figures: { title: string; svg: string }[];
  table: string;
  page: string;
}

interface TraceChoice {
  name: string;
  text?: string;
}

export class Compare {
  private readonly files: TraceChoice[] = [];
  private readonly error = byId("compare-error");
  private readonly form = byId<HTMLFormElement>("compare-form");
  private stopped = false;

  constructor(catalog: Catalog, private readonly client: Client) {
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
    const seen = (name: string, text: string) => this.add({ name, text });
    acceptFiles(byId("drop"), seen);
    byId<HTMLInputElement>("compare-file").addEventListener("change", (event) =>
      void readFiles((event.target as HTMLInputElement).files, seen));
  }

  private add(file: TraceChoice): void {
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

  private request(): object {
    const data = new FormData(this.form);
    const text = (name: string) => String(data.get(name) ?? "").trim();
    const traces: TraceChoice[] = [...data.getAll("trace").map((name) => ({ name: String(name) })), ...this.files];
    const written = text("more-schemes");
    const schemes = [...data.getAll("scheme").map(String), ...(written ? [written] : [])];
    return {
      method: "compare", traces, schemes: schemes.join(","), duration: text("duration"), warmup: text("warmup"),
      rtt: text("rtt"), buffer: text("buffer"), flows: Number(text("flows")), seed: Number(text("seed")),
    };
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
      while (progress.done < progress.runs && !this.stopped) {
        bar.max = progress.runs;
        bar.value = progress.done;
        line.textContent = `${progress.done + 1} of ${progress.runs}: ${progress.next ?? ""}`;
        progress = await this.client.ask<Progress>({ method: "compare-next" });
      }
      line.textContent = this.stopped ? `stopped after ${progress.done} of ${progress.runs} runs` : "";
      this.show(await this.client.ask<Result>({ method: "compare-end" }));
      announce(`${progress.done} runs are done. The results stand below the form.`);
    } catch (error) {
      line.textContent = "";
      showError(this.error, error);
    } finally {
      button.disabled = false;
      bar.hidden = stop.hidden = true;
    }
  }

  private show(result: Result): void {
    const json = `${JSON.stringify(result.json, null, 2)}\n`;
    const figures = result.figures.map(({ title, svg }) =>
      element("figure", { tabindex: "0", "aria-label": title }, element("figcaption", {}, title), parseMarkup(svg)));
    byId("compare-results").replaceChildren(
      element("h2", {}, "Results"),
      element("div", { class: "buttons" },
        element("button", { type: "button", onclick: () => saveFile("compare.json", "application/json", json) },
          "Save JSON"),
        element("button", { type: "button", onclick: () => saveFile("compare.html", "text/html", result.page) },
          "Save the page")),
      element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table of results" },
        parseMarkup(result.table)),
      ...figures,
    );
  }
}
