// Write: a controller in JavaScript, in the simulator, against the schemes.

import "./write.css";
import type { Catalog } from "./catalog";
import { Client } from "./client";
import { splitSchemes } from "./component/setting";
import { Contest } from "./contest";
import { announce, byId, element, showError } from "./dom";
import { Editor } from "./editor";
import { EXAMPLES } from "./examples";
import { FIELD_HELP, PLAN_HELP } from "./write-help";
import { CompareResults, type Result } from "./results";
import type { Script } from "./sandbox/controllers";
import { scripts } from "./scripts";
import { FLOWS, RANGES } from "./state";
import { currentTab } from "./tabs";
import { readBuffer, readMillis, readRate } from "./units";

interface Progress {
  runs: number;
  done: number;
  next: string | null;
}

/** Fields of the form, with their defaults; their names in the address are the same words. */
const FIELDS = { against: "cubic", link: "lte-driving", rtt: "100ms", buffer: "250", duration: "30s", seed: "1" };
type Field = keyof typeof FIELDS;
const LABELS: Record<Field, string> = {
  against: "Against", link: "Link", rtt: "RTT", buffer: "Buffer", duration: "Duration", seed: "Seed",
};

export class Write {
  private readonly client = new Client();
  private readonly editor: Editor;
  private readonly name = element("input", { id: "write-name", size: "12", maxlength: "40", spellcheck: "false", autocomplete: "off" });
  private readonly choice = element("select", { id: "write-choice" });
  private readonly fields = {} as Record<Field, HTMLInputElement>;
  private readonly error = element("p", { class: "error", role: "alert", hidden: true });
  private readonly foreign = element("p", { class: "offer", hidden: true },
    "This controller comes with the address. It runs in this page without network, and only after you press Run.");
  private readonly log = element("pre", { class: "log", "aria-label": "Lines of console.log", tabindex: "0", hidden: true });
  private readonly digests = element("p", { class: "note", id: "write-digests" });
  private readonly line = element("span", { class: "note" });
  private readonly bar = element("progress", { "aria-label": "Runs that are done", hidden: true });
  private readonly buttons: Record<"run" | "stop" | "live" | "share" | "forget", HTMLButtonElement>;
  private readonly results: CompareResults;
  private readonly contest: Contest;
  private stopped = false;
  private isChanged = false;

  constructor(catalog: Catalog) {
    this.editor = new Editor("write-text", "The controller's text", () => this.edited());
    const button = (text: string, onclick: () => void, title = "") => element("button", { type: "button", title, onclick }, text);
    this.buttons = {
      run: button("Run", () => void this.run(), "Keeps the controller in this browser, and runs it"),
      stop: button("Stop", () => this.stop()),
      live: button("Watch live", () => void this.live(), "In Ratatouille, beside the schemes above"),
      share: button("Share", () => void this.share(), "Copies an address that has the controller"),
      forget: button("Forget", () => this.forget(), "Removes the controller from this browser"),
    };
    this.buttons.stop.hidden = true;
    const found = element("div", { class: "written" });
    this.results = new CompareResults(found);
    // A client of its own: a client that loads controllers for a run ends its other runs.
    const contestant = new Client();
    this.contest = new Contest(catalog, contestant, () => this.list());
    this.client.onlog = contestant.onlog = (lines) => {
      this.log.hidden = false;
      this.log.append(lines.map((text) => `${text}\n`).join(""));
    };
    this.choice.addEventListener("change", () => this.choose());
    this.name.addEventListener("change", () => this.edited());
    byId("write").append(...this.layout(catalog, found));
    this.list();
    const last = scripts.all().at(-1);
    this.show(last ?? EXAMPLES[0]!);
  }

  private layout(catalog: Catalog, found: HTMLElement): HTMLElement[] {
    const links = element("datalist", { id: "write-links" }, ...[...catalog.traces, "12Mbps"].map((value) => element("option", { value })));
    const fields = (Object.keys(FIELDS) as Field[]).map((name) => {
      const input = element("input", { name, value: FIELDS[name], spellcheck: "false", ...(name === "link" ? { list: links.id } : {}) });
      input.addEventListener("change", () => this.remember());
      this.fields[name] = input;
      return element("label", {}, `${LABELS[name]} `, input);
    });
    const { run, stop, live, share, forget } = this.buttons;
    run.classList.add("main");
    const row = ([name, what]: [string, string]) => element("tr", {}, element("th", { scope: "row" }, element("code", {}, name)), element("td", {}, what));
    const table = (title: string, rows: [string, string][]) =>
      element("table", {}, element("caption", {}, title), element("tbody", {}, ...rows.map(row)));
    return [
      element("h2", {}, "Write a controller"),
      element("p", {}, "A controller decides how many packets may be in flight. Its function ", element("code", {}, "on_ack"),
        " is called for each acknowledgement, and ", element("code", {}, "on_loss"),
        " once for each window in which packets were lost. Both return the window in packets. The controller runs in the simulator in this page; " +
        "equal texts and seeds give equal runs."),
      this.foreign,
      element("div", { class: "bar" },
        element("label", { for: this.choice.id }, "Controller"), this.choice,
        element("label", { for: this.name.id }, "Name"), this.name, forget),
      this.editor.node,
      element("details", {}, element("summary", {}, "What a controller gets and returns"),
        element("div", { class: "body help" }, table("Functions and what they return", PLAN_HELP), table("Fields of feedback", FIELD_HELP))),
      element("form", { class: "fields run", onsubmit: (event) => {
        event.preventDefault();
        void this.run();
      } }, ...fields, links, element("button", { type: "submit", hidden: true })),
      element("div", { class: "buttons" }, run, stop, live, share, this.bar, this.line),
      this.error, this.log, this.digests, found, this.contest.node,
    ];
  }

  /** Shows the tab, with the setting in the address if it has one. */
  activate(rest: string): void {
    const words = new URLSearchParams(rest);
    for (const name of Object.keys(FIELDS) as Field[]) {
      // An address leaves out the defaults.
      if (rest !== "") this.fields[name].value = words.get(name) ?? FIELDS[name];
    }
    const named = words.get("controller")?.split(".", 1)[0];
    const wanted = (named !== undefined && scripts.find(named)) || scripts.foreign()[0];
    this.list();
    if (wanted && (wanted.name !== this.name.value || wanted.text !== this.editor.text)) this.show(wanted);
  }

  private get script(): Script {
    return { name: this.name.value.trim(), text: this.editor.text };
  }

  private show(script: Script): void {
    this.name.value = script.name;
    this.editor.text = script.text;
    this.isChanged = false;
    this.foreign.hidden = !scripts.foreign().some(({ text }) => text === script.text);
    this.choice.value = this.valueOf(script.name);
    showError(this.error, "");
  }

  private valueOf(name: string): string {
    return scripts.find(name) ? `kept:${name}` : EXAMPLES.some((example) => example.name === name) ? `example:${name}` : "";
  }

  /** Fills the list of controllers. */
  private list(): void {
    const kept = scripts.all().map(({ name }) => element("option", { value: `kept:${name}` }, name));
    const examples = EXAMPLES.map(({ name, title }) => element("option", { value: `example:${name}` }, title));
    this.choice.replaceChildren(
      ...(kept.length > 0 ? [element("optgroup", { label: "Kept in this browser" }, ...kept)] : []),
      element("optgroup", { label: "Examples" }, ...examples));
    this.choice.value = this.valueOf(this.name.value);
    this.contest.list();
  }

  private choose(): void {
    const [kind, name = ""] = this.choice.value.split(":", 2);
    const script = kind === "kept" ? scripts.find(name) : EXAMPLES.find((example) => example.name === name);
    if (!script) return;
    if (this.isChanged && this.editor.text.trim() !== "" && !confirm("The text has changes that have not run. Discard them?")) {
      this.choice.value = this.valueOf(this.name.value);
      return;
    }
    this.show(script);
    this.remember();
  }

  private edited(): void {
    this.isChanged = true;
  }

  private forget(): void {
    const { name } = this.script;
    scripts.forget(name);
    this.list();
    announce(`The controller ${name} is forgotten. Its text stays in the editor.`);
  }

  /** Keeps the present controller, which may run then; returns whether that worked. */
  private async keep(): Promise<boolean> {
    try {
      await scripts.keep(this.script);
    } catch (error) {
      this.fail(error);
      return false;
    }
    this.isChanged = false;
    this.foreign.hidden = true;
    this.list();
    this.remember();
    return true;
  }

  private fail(error: unknown): void {
    showError(this.error, error);
    const found = /\.js, line (\d+)/.exec(this.error.textContent ?? "");
    if (found) this.editor.select(Number(found[1]));
  }

  private request(): object {
    const value = (name: Field) => this.fields[name].value.trim();
    const schemes = [this.script.name, value("against")].filter((text) => text !== "").join(",");
    return {
      method: "compare", schemes, traces: [{ name: value("link") }], duration: value("duration"), warmup: "0s", rtt: value("rtt"),
      buffer: value("buffer"), flows: 1, seed: Number(value("seed")), runs: 1, spread: "0s",
    };
  }

  private stop(): void {
    this.stopped = true;
    this.client.endSandbox("stopped");
  }

  private async run(): Promise<void> {
    if (this.buttons.run.disabled) return;
    showError(this.error, "");
    this.log.replaceChildren();
    this.log.hidden = true;
    if (!(await this.keep())) return;
    this.stopped = false;
    this.buttons.run.disabled = true;
    try {
      let progress = await this.client.ask<Progress>(this.request());
      this.bar.hidden = this.buttons.stop.hidden = false;
      while (progress.done < progress.runs) {
        [this.bar.max, this.bar.value] = [progress.runs, progress.done];
        this.line.textContent = `${progress.done + 1} of ${progress.runs}: ${progress.next ?? ""}`;
        progress = await this.client.ask<Progress>({ method: "compare-next" });
      }
      const result = await this.client.ask<Result>({ method: "compare-result" });
      this.results.show(result, true);
      const digests = result.json.runs.map(({ scheme, digest }) => `${scheme} ${digest}`);
      this.digests.textContent = `Digests: ${digests.join(", ")}. The same text, link and seed give the same digest on every machine.`;
      this.line.textContent = "";
      announce("The runs are done. The results stand below the controller.");
    } catch (error) {
      this.line.textContent = "";
      // Results of an earlier run would seem to be this one's.
      this.results.clear();
      this.digests.textContent = "";
      this.fail(this.stopped ? "Stopped." : error);
    } finally {
      this.buttons.run.disabled = false;
      this.bar.hidden = this.buttons.stop.hidden = true;
    }
  }

  /** Returns the address of the present controller and form. */
  private address(): string {
    const words = new URLSearchParams();
    for (const name of Object.keys(FIELDS) as Field[]) {
      const value = this.fields[name].value.trim();
      if (value !== FIELDS[name]) words.set(name, value);
    }
    scripts.addTo(words, [this.script.name, ...splitSchemes(this.fields.against.value)]);
    return words.toString();
  }

  private remember(): void {
    if (currentTab().tab === "write") history.replaceState(null, "", `#write?${this.address()}`);
  }

  private async share(): Promise<void> {
    if (!(await this.keep())) return;
    try {
      await navigator.clipboard.writeText(location.href);
      announce("The address of this controller is in the clipboard.");
      this.line.textContent = "The address is in the clipboard.";
    } catch {
      announce("Copy the address of this page: it has this controller.");
      this.line.textContent = "Copy the address of this page: it has the controller.";
    }
  }

  /** Shows the controller in Ratatouille, beside the schemes that it runs against. */
  private async live(): Promise<void> {
    showError(this.error, "");
    let words: URLSearchParams;
    try {
      words = this.liveSetting();
    } catch (error) {
      return this.fail(error);
    }
    if (!(await this.keep())) return;
    scripts.addTo(words, words.get("flows")!.split(" "));
    location.hash = `ratatouille?${words.toString()}`;
  }

  /** Returns the form as a setting of Ratatouille. Throws an error in words if the live view does not have it. */
  private liveSetting(): URLSearchParams {
    const value = (name: Field) => this.fields[name].value.trim();
    const within = (name: "rate" | "rtt" | "buffer", text: string, number: number | null, unit: string) => {
      const [low, high] = RANGES[name];
      if (number !== null && number >= low && number <= high) return String(number);
      throw new Error(`The live view does not have ${name} "${text}": it has ${low} to ${high} ${unit}.`);
    };
    const schemes = [this.script.name, ...splitSchemes(value("against"))];
    if (schemes.length > FLOWS) throw new Error(`The live view has ${FLOWS} flows, and these are ${schemes.length}.`);
    const queued = schemes.find((scheme) => /\+[^\]]*$/.test(scheme));
    if (queued !== undefined) throw new Error(`The live view has one queue for all flows: leave out that of ${queued}, and choose it there.`);
    const rate = readRate(value("link"));
    const words = new URLSearchParams(rate === null ? { trace: value("link") } : { rate: within("rate", value("link"), rate, "Mbit/s") });
    const rtt = readMillis(value("rtt"));
    words.set("rtt", within("rtt", value("rtt"), rtt, "ms"));
    words.set("buffer", within("buffer", value("buffer"), readBuffer(value("buffer"), { rate, rtt: rtt ?? 0 }), "packets"));
    words.set("flows", schemes.map((scheme) => scheme.replaceAll(/\s/g, "")).join(" "));
    return words;
  }
}
