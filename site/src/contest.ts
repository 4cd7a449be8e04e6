// A contest between controllers and schemes: `paceline contest` in the page.

import type { Catalog } from "./catalog";
import { SUPERSEDED, type Client } from "./client";
import { acceptFiles, announce, element, formatShort, readFiles, saveFile, showError } from "./dom";
import type { Script } from "./sandbox/controllers";
import { scripts, store, stored } from "./scripts";

interface Progress {
  runs: number;
  done: number;
  next: string | null;
}

/** A line of the JSON of `paceline contest`: see docs/json.md. */
interface Attempt {
  entry: string;
  kind: string;
  round: string;
  trace: string;
  throughput_mbps: number;
  delay_ms: number | null;
  power: number | null;
  place: number | null;
  on_front: boolean;
}

/** A leaderboard: the JSON of `paceline contest`, and the controllers in it. */
interface Board {
  attempts: Attempt[];
  controllers: Script[];
}

const BOARD = "paceline.contest";
const HEADS = ["Place", "Entry", "Mbit/s", "Delay ms", "Power", "Front"];

function isBoard(value: unknown): value is Board {
  const { attempts, controllers } = (value ?? {}) as Partial<Board>;
  const isNumber = (value: unknown) => value === null || typeof value === "number";
  const isAttempt = ({ entry, round, trace, throughput_mbps, delay_ms, power, place }: Attempt) =>
    [entry, round, trace].every((text) => typeof text === "string") && typeof throughput_mbps === "number"
    && isNumber(delay_ms) && isNumber(power) && isNumber(place);
  const isList = Array.isArray(attempts) && attempts.every((attempt) => attempt !== null && typeof attempt === "object" && isAttempt(attempt));
  return isList && (controllers === undefined || (Array.isArray(controllers) && controllers.every((one) => one !== null && typeof one === "object")));
}

export class Contest {
  readonly node: HTMLElement;
  private readonly own = element("div", { class: "choices" });
  private readonly schemes = element("input", { id: "contest-schemes", value: "cubic,newreno,vegas,copa,bbr,sprout", spellcheck: "false" });
  private readonly training = element("select", { id: "contest-training" });
  private readonly secret = element("select", { id: "contest-secret" });
  private readonly error = element("p", { class: "error", role: "alert", hidden: true });
  private readonly tables = element("div", { class: "boards" });
  private readonly line = element("span", { class: "note" });
  private readonly bar = element("progress", { "aria-label": "Runs of the contest that are done", hidden: true });
  private readonly start: HTMLButtonElement;
  private readonly end: HTMLButtonElement;
  private board: Board | undefined;
  private stopped = false;

  /** `changed` is called when a file has brought controllers. */
  constructor(catalog: Catalog, private readonly client: Client, private readonly changed: () => void) {
    const button = (text: string, onclick: () => void) => element("button", { type: "button", onclick }, text);
    this.start = button("Run the contest", () => void this.run());
    this.start.classList.add("main");
    this.end = button("Stop", () => this.stop());
    this.end.hidden = true;
    for (const [select, chosen] of [[this.training, "lte-driving"], [this.secret, "lte-walking"]] as const) {
      select.append(...catalog.traces.map((name) => element("option", { value: name }, name)));
      select.value = chosen;
    }
    const file = element("input", { id: "contest-file", type: "file", multiple: true, accept: ".json,application/json" });
    file.addEventListener("change", () => void readFiles(file.files, (name, text) => this.take(name, text)));
    const label = (text: string, input: HTMLElement) => element("label", {}, `${text} `, input);
    this.node = element("section", { class: "contest", "aria-label": "Contest" },
      element("h2", {}, "Contest"),
      element("p", {}, "The contest of Winstein's thesis, as ", element("code", {}, "paceline contest"),
        " holds it: each entry runs alone for 60 s on a training trace, for which it may be tuned, and on a secret one, which decides. ",
        "The entry with the highest power wins: throughput divided by the 95th percentile of the one-way delay."),
      element("fieldset", {}, element("legend", {}, "Controllers"), this.own,
        element("label", { for: file.id }, "Controllers and boards from files (or drop them here) "), file),
      element("div", { class: "fields run" }, label("Schemes", this.schemes), label("Training", this.training), label("Secret", this.secret)),
      element("div", { class: "buttons" }, this.start, this.end, button("Export JSON", () => this.save()), this.bar, this.line),
      this.error, this.tables);
    acceptFiles(this.node, (name, text) => this.take(name, text));
    const kept = stored<unknown>(() => localStorage, BOARD, undefined);
    if (isBoard(kept)) this.show(kept);
    this.list();
  }

  /** Shows the controllers that may take part. */
  list(): void {
    const off = new Set([...this.own.querySelectorAll<HTMLInputElement>("input:not(:checked)")].map((box) => box.value));
    const boxes = scripts.all().map(({ name }) => element("label", { class: "choice" },
      element("input", { type: "checkbox", value: name, checked: !off.has(name) }), ` ${name}`));
    this.own.replaceChildren(...(boxes.length > 0 ? boxes : [element("p", { class: "note" }, "None yet: each controller that you run stands here.")]));
  }

  private entrants(): Script[] {
    const names = [...this.own.querySelectorAll<HTMLInputElement>("input:checked")].map((box) => box.value);
    return names.map((name) => scripts.find(name)).filter((script) => script !== undefined);
  }

  private stop(): void {
    this.stopped = true;
    this.client.endSandbox("stopped");
  }

  private async run(): Promise<void> {
    showError(this.error, "");
    this.start.disabled = true;
    this.stopped = false;
    const entrants = this.entrants();
    // A controller that fails leaves the contest; the others go on.
    const failures: string[] = [];
    try {
      // The reader has pressed Run for these.
      for (const script of entrants) await scripts.keep(script);
      let board: Attempt[] | undefined;
      while (!board && !this.stopped) {
        const left = entrants.filter(({ name }) => !failures.some((text) => text.startsWith(`${name}:`)));
        board = await this.attempt(left, failures);
      }
      if (!board) throw new Error("Stopped.");
      this.show({ attempts: board, controllers: entrants });
      if (!store(() => localStorage, BOARD, this.board)) this.line.textContent = "This browser keeps nothing: export the board.";
      if (failures.length > 0) showError(this.error, `Left out: ${failures.join("; ")}`);
      announce("The contest is done. The leaderboards stand below.");
    } catch (error) {
      showError(this.error, error);
    } finally {
      this.start.disabled = false;
      this.bar.hidden = this.end.hidden = true;
      this.changed();
    }
  }

  /** Runs the contest; returns the board, or nothing after a controller failed, which `failures` gets. */
  private async attempt(entrants: Script[], failures: string[]): Promise<Attempt[] | undefined> {
    const others = this.schemes.value.split(",").map((text) => text.trim()).filter((text) => text !== "");
    const entries = [...entrants.map(({ name }) => name), ...others];
    let next = "";
    try {
      let progress = await this.client.ask<Progress>({
        method: "contest", schemes: entries.join(","), training: { name: this.training.value }, secret: { name: this.secret.value },
        duration: "60s", seed: 1,
      });
      this.bar.hidden = this.end.hidden = false;
      while (progress.done < progress.runs) {
        next = progress.next ?? "";
        [this.bar.max, this.bar.value] = [progress.runs, progress.done];
        this.line.textContent = `${progress.done + 1} of ${progress.runs}: ${next}`;
        progress = await this.client.ask<Progress>({ method: "contest-next" });
      }
    } catch (error) {
      this.line.textContent = "";
      const text = error instanceof Error ? error.message : String(error);
      // The next entrant has not failed.
      if (text === SUPERSEDED) throw error;
      const failed = entrants.find(({ name }) => text.startsWith(`${name}.js`) || text.includes(`\`${name}\``) || next.startsWith(`${name},`));
      if (!failed || this.stopped) throw this.stopped ? new Error("Stopped.") : error;
      failures.push(`${failed.name}: ${text}`);
      return undefined;
    }
    this.line.textContent = "";
    const { json } = await this.client.ask<{ json: Board }>({ method: "contest-result" });
    return json.attempts;
  }

  private show(board: Board): void {
    this.board = board;
    const rounds = [...new Set(board.attempts.map(({ round }) => round))];
    this.tables.replaceChildren(...rounds.map((round) => {
      const own = board.attempts.filter((attempt) => attempt.round === round);
      const written = new Set((board.controllers ?? []).map(({ name }) => name));
      const row = (attempt: Attempt) => element("tr", { class: written.has(attempt.entry) ? "own" : "" },
        element("td", { class: "n" }, attempt.place === null ? "" : String(attempt.place)),
        element("th", { scope: "row" }, attempt.entry),
        ...[attempt.throughput_mbps, attempt.delay_ms ?? Number.NaN, attempt.power ?? Number.NaN].map((value) => element("td", { class: "n" }, formatShort(value))),
        element("td", {}, attempt.on_front ? "★" : ""));
      return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Leaderboard, ${round} trace` },
        element("table", {}, element("caption", {}, `${round === "secret" ? "Secret" : "Training"} trace: ${own[0]!.trace}`),
          element("thead", {}, element("tr", {}, ...HEADS.map((text) => element("th", { scope: "col" }, text)))),
          element("tbody", {}, ...own.map(row))));
    }));
  }

  private save(): void {
    const board: Board = { attempts: this.board?.attempts ?? [], controllers: this.board?.controllers ?? this.entrants() };
    saveFile("contest.json", "application/json", `${JSON.stringify(board, null, 2)}\n`);
  }

  /** Takes a file: a board with its controllers, or a controller's text in a .js file. */
  private take(file: string, text: string): void {
    try {
      if (file.endsWith(".js")) {
        const name = file.slice(0, -3).toLowerCase().replaceAll(/[^a-z0-9_]/g, "_").replace(/^[^a-z]+/, "");
        scripts.add({ name: name || "mine", text });
      } else {
        const board: unknown = JSON.parse(text);
        if (!isBoard(board)) throw new Error("it is no leaderboard of a contest");
        for (const script of board.controllers ?? []) scripts.add(script);
        if (!this.board && board.attempts.length > 0) this.show(board);
      }
      showError(this.error, "");
      this.changed();
      announce(`The controllers of ${file} can take part.`);
    } catch (error) {
      showError(this.error, `${file}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}
