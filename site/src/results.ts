// The results of a comparison: table, sentences and plots.

import { byId, element, formatShort, parseMarkup, saveFile } from "./dom";

/** The answer to `compare-result`. */
export interface Result {
  json: { summary: SummaryRow[]; ratios: RatioRow[]; runs: { scheme: string; run: number; digest: string }[] };
  figures: { title: string; svg: string }[];
  table: string;
  page: string;
}

/** A part of the JSON of `paceline compare`: see docs/json.md. */
interface Distribution {
  median: number;
  p5: number;
  p95: number;
}

interface SummaryRow {
  trace: string;
  scheme: string;
  runs: number;
  equal: boolean;
}

interface RatioRow {
  trace: string;
  scheme: string;
  over: string;
  throughput_mbps: Distribution | null;
  queue_delay_ms: { p95: Distribution | null };
}

/** Most sentences about each trace; the JSON has all figures. */
const MOST_SENTENCES = 8;

export class CompareResults {
  private readonly heading = element("h2");
  private readonly table = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table of results" });
  private readonly words = element("ul", { class: "words" });
  private readonly figures = element("div");
  private result: Result | undefined;

  constructor(private readonly place = byId("compare-results")) {}

  /** Replaces the present result by another one. Elements that stay keep their place and focus. */
  show(result: Result, isComplete: boolean): void {
    this.result = result;
    if (!this.heading.isConnected) this.place.append(this.heading, this.buttons(), this.table, this.words, this.figures);
    const runs = Math.max(0, ...result.json.summary.map((row) => row.runs));
    this.heading.textContent = isComplete ? "Results" : `Results of ${runs === 1 ? "the first run" : `${runs} runs`}, more follow`;
    this.place.setAttribute("aria-busy", String(!isComplete));
    this.table.replaceChildren(parseMarkup(result.table));
    this.words.replaceChildren(...sentences(result).map((text) => element("li", {}, text)));
    this.showFigures(result.figures);
  }

  /** Removes the present result. */
  clear(): void {
    this.result = undefined;
    this.place.replaceChildren();
    this.place.setAttribute("aria-busy", "false");
  }

  private buttons(): HTMLElement {
    const save = (label: string, name: string, type: string, text: (result: Result) => string) =>
      element("button", { type: "button", onclick: () => this.result && saveFile(name, type, text(this.result)) }, label);
    const json = (result: Result) => `${JSON.stringify(result.json, null, 2)}\n`;
    return element("div", { class: "buttons" },
      save("Save JSON", "compare.json", "application/json", json),
      save("Save the page", "compare.html", "text/html", (result) => result.page));
  }

  private showFigures(figures: Result["figures"]): void {
    const same = [...this.figures.children].map((figure) => figure.getAttribute("aria-label"));
    if (same.length !== figures.length || figures.some(({ title }, at) => same[at] !== title)) {
      this.figures.replaceChildren(...figures.map(({ title }) =>
        element("figure", { tabindex: "0", "aria-label": title }, element("figcaption", {}, title))));
    }
    for (const [at, { svg }] of figures.entries()) {
      const figure = this.figures.children[at]!;
      figure.querySelector("svg")?.remove();
      figure.append(parseMarkup(svg));
    }
  }
}

/**
 * Returns sentences about the first scheme against the others on each trace, and about schemes
 * without randomness.
 */
function sentences({ json: { summary, ratios } }: Result): string[] {
  if (!summary.some((row) => row.runs > 1)) return [];
  const traces = [...new Set(summary.map((row) => row.trace))];
  return traces.flatMap((trace) => {
    const where = traces.length > 1 ? ` on ${trace}` : "";
    const first = summary.find((row) => row.trace === trace)!.scheme;
    const own = ratios.filter((ratio) => ratio.trace === trace && ratio.scheme === first);
    const carried = own.slice(0, MOST_SENTENCES).flatMap(({ scheme, over, throughput_mbps, queue_delay_ms }) => {
      if (!throughput_mbps) return [];
      const delay = queue_delay_ms.p95;
      return [`${scheme} carries ${range(throughput_mbps)} times what ${over} carries${where}` +
        (delay ? `, and its p95 delay is ${range(delay)} times as long.` : ".")];
    });
    const equal = summary.filter((row) => row.trace === trace && row.equal).map(({ scheme, runs }) =>
      `${scheme}${where}: all ${runs} runs are equal: nothing here depends on the seed or the start.`);
    return [...carried, ...equal];
  });
}

/** Formats a median with the range of 90 % of the runs. */
function range({ median, p5, p95 }: Distribution): string {
  const [middle, low, high] = [median, p5, p95].map(formatShort);
  return low === middle && high === middle ? middle! : `${middle} (${low} to ${high})`;
}
