// Claims: the results of `paceline reproduce`, and runs of single claims in the page.

import { fetchDocument } from "#parts";
import { Client } from "./client";
import { announce, byId, parseMarkup, element, showError } from "./dom";
import { parseClaims, renderMarkdown, type Section } from "./markdown";
import { RecordingFiles } from "./recordings";

interface ClaimInfo {
  id: string;
  unmeasured: boolean;
  tables: boolean;
  /** Whether the paper measured it over recorded traces. */
  recording: boolean;
}

interface ClaimResult {
  checks: { what: string; stated: BoundResult; now: BoundResult | null }[];
}

interface BoundResult {
  expected: string;
  tolerance: string;
  measured: string;
  holds: boolean;
}

interface TrialResult {
  verdict: string;
  judged: ClaimResult;
  exhibits: { name: string; caption: string; svg?: string; table?: string }[];
}

const MARKS: [string, string][] = [
  ["reproduced", "good"], ["in part", "fair"], ["not reproduced", "bad"], ["not measured", "none"],
];

function kind(verdict: string): string {
  return MARKS.find(([words]) => verdict.startsWith(words))?.[1] ?? "none";
}

export class Claims {
  private readonly client = new Client();
  private readonly recordings = new RecordingFiles(this.client, () => this.showNotes());
  private readonly list = byId("claims-list");
  private listed = new Map<string, ClaimInfo>();
  private loading: Promise<void> | undefined;
  private asked = "";
  private running = false;

  /** Shows the claims, and opens the one with this id. */
  async activate(id: string): Promise<void> {
    this.asked = id;
    this.loading ??= this.load();
    await this.loading;
    // While the list was loading, another claim was requested, or none.
    if (id !== this.asked) return;
    const wanted = id === "" ? null : byId("claims").querySelector<HTMLDetailsElement>(`#claim-${CSS.escape(id.toLowerCase())}`);
    if (wanted) {
      if (wanted.hidden) {
        byId<HTMLSelectElement>("claims-filter").value = "";
        byId<HTMLInputElement>("claims-search").value = "";
        this.filter();
      }
      wanted.open = true;
      wanted.scrollIntoView({ block: "start" });
      wanted.querySelector("summary")?.focus();
    }
  }

  private async load(): Promise<void> {
    const reproduction = await fetchDocument("reproduction.md").catch((error: unknown) => {
      showError(byId("start-error"), error);
      return "";
    });
    const { summary, introduction, sections } = parseClaims(reproduction);
    byId("claims-summary").replaceChildren(...renderMarkdown(summary));
    byId("claims-about").replaceChildren(...renderMarkdown(introduction));
    const { claims } = await this.client.ask<{ claims: ClaimInfo[] }>({ method: "claims" }).catch(
      (error: unknown) => {
        showError(byId("start-error"), error);
        return { claims: [] };
      });
    this.listed = new Map(claims.map((claim) => [claim.id, claim]));
    this.list.replaceChildren(...sections.map((section) => this.entry(section)));
    byId<HTMLSelectElement>("claims-filter").addEventListener("change", () => this.filter());
    byId<HTMLInputElement>("claims-search").addEventListener("input", () => this.filter());
    this.filter();
  }

  private entry(section: Section): HTMLElement {
    const badge = (verdict: string) => element("span", { class: `verdict ${kind(verdict)}` }, verdict);
    const body = element("div", { class: "body" });
    const made = element("details", { id: `claim-${section.id.toLowerCase()}`, "data-kind": kind(section.now) },
      element("summary", {}, element("b", {}, section.id), ` ${section.title} `, badge(section.now)), body);
    made.addEventListener("toggle", () => {
      if (!made.open || body.childNodes.length > 0) return;
      const stated = element("p", {}, `${section.place}. Command: `, element("code", {}, `paceline reproduce ${section.id}`),
        ". As stated in advance: ", badge(section.stated),
        "; with later changes: ", badge(section.now), `; ${section.runs}`);
      body.append(stated, ...renderMarkdown(section.body), this.trial(section.id));
    });
    return made;
  }

  private filter(): void {
    const wanted = byId<HTMLSelectElement>("claims-filter").value;
    const words = byId<HTMLInputElement>("claims-search").value.trim().toLowerCase();
    let shown = 0;
    for (const entry of this.list.querySelectorAll<HTMLDetailsElement>("details")) {
      const text = entry.querySelector("summary")?.textContent?.toLowerCase() ?? "";
      entry.hidden = (wanted !== "" && entry.dataset["kind"] !== wanted) || !text.includes(words);
      shown += entry.hidden ? 0 : 1;
    }
    byId("claims-count").textContent = shown === 1 ? "1 claim" : `${shown} claims`;
  }

  /** Returns the button that runs a claim, or the reason why there is none. */
  private trial(id: string): HTMLElement {
    const place = element("section", { class: "trial" });
    const claim = this.listed.get(id);
    // Without the simulator there is no list of claims; the top of the page says why.
    if (!claim || claim.unmeasured) return place;
    if (claim.tables) {
      place.append("It is about published tables of rules, which are no part of this page.");
      return place;
    }
    const error = element("p", { class: "error", role: "alert", hidden: true });
    const line = element("p", { class: "note" });
    const results = element("div");
    const start = (text: string, full: boolean) => {
      const button = element("button", {
        type: "button", onclick: () => void this.run(id, full, button, line, error, results),
      }, text);
      return button;
    };
    place.append(
      element("p", { class: `note ${claim.recording ? "on-recordings" : ""}` }, this.noteOf(claim.recording)),
      element("div", { class: "buttons" }, start("Run it here", false), start("At full length", true)), line, error, results);
    return place;
  }

  /** Returns what runs of a claim here show. */
  private noteOf(isRecorded: boolean): string {
    const traces = !isRecorded ? "A run at full length does."
      : this.recordings.some ? "A run at full length does, over the recordings that you have added."
        : "The paper measured it over recorded traces, which you can add above; until then synthetic ones stand in, and reproduce nothing.";
    return `A short run shows how the claim is measured, and does not reproduce it. ${traces}`;
  }

  private showNotes(): void {
    for (const note of this.list.querySelectorAll(".on-recordings")) note.textContent = this.noteOf(true);
  }

  private async run(
    id: string, full: boolean, button: HTMLButtonElement, line: HTMLElement, error: HTMLElement, results: HTMLElement,
  ): Promise<void> {
    if (this.running) return;
    this.running = button.disabled = true;
    showError(error, "");
    line.textContent = "Planning …";
    try {
      const plan = await this.client.ask<{ tasks: number; done: number; cost: number; small: boolean }>(
        { method: "claim", id, full });
      if (!plan.small) {
        line.textContent = `Its ${plan.tasks} runs simulate ${Math.round(plan.cost / 60)} minutes of traffic, too much `
          + `for a page. Run: paceline reproduce ${id}${full ? "" : " --quick"}`;
        return;
      }
      announce(`${plan.tasks} runs begin.`);
      const began = performance.now();
      let left = "";
      for (let done = 0, paid = 0; done < plan.tasks; ) {
        line.textContent = `${done} of ${plan.tasks} runs are done${left}.`;
        ({ done, paid } = await this.client.ask<{ done: number; paid: number }>({ method: "claim-next" }));
        // By the simulated time that is left, at the speed of the runs so far.
        const seconds = ((performance.now() - began) / 1000) * (plan.cost / Math.max(paid, 1e-9) - 1);
        left = `; about ${seconds < 90 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} minutes`} are left`;
      }
      const found = await this.client.ask<TrialResult>({ method: "claim-end" });
      line.textContent = found.verdict;
      announce(`${id}: ${found.verdict}`);
      results.replaceChildren(...this.found(found));
    } catch (problem) {
      line.textContent = "";
      showError(error, problem);
    } finally {
      this.running = button.disabled = false;
    }
  }

  private found(found: TrialResult): Node[] {
    const heads = ["check", "paper", "tolerance", "here", "verdict"];
    const rows = found.judged.checks.filter((check) => check.now).map(({ what, now }) => {
      const held = element("span", { class: `verdict ${now!.holds ? "good" : "bad"}` },
        now!.holds ? "holds" : "does not hold");
      return element("tr", {}, ...[what, now!.expected, now!.tolerance, now!.measured, held].map((cell) =>
        element("td", {}, cell)));
    });
    const head = element("tr", {}, ...heads.map((text) => element("th", { scope: "col" }, text)));
    const table = element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Checks" },
      element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)));
    const exhibits = found.exhibits.map((exhibit) => element("figure", { tabindex: "0", "aria-label": exhibit.caption },
      parseMarkup(exhibit.svg ?? exhibit.table ?? ""), element("figcaption", {}, exhibit.caption)));
    return [table, ...exhibits];
  }
}
