// `<paceline-run>`: a simulation as an element of any page. docs/page.md describes attributes and events.

import type { View } from "../canvas";
import { schemeName } from "../catalog";
import { element, formatShort } from "../dom";
import { Plot } from "../plot";
import { Rows } from "../rows";
import { SERIES, SeriesPlot, type SeriesName } from "../series";
import { runnerOf, type Ran } from "./runner";
import { describeSetting, type RunSetting } from "./setting";
import { STYLE } from "./style";

export type { RunSetting, ReadSetting } from "./setting";
export type { FlowResult, RunResult } from "./simulator";

/** Attributes that make a setting. */
const SETTING = ["schemes", "rate", "trace", "rtt", "buffer", "queue", "loss", "duration", "seed"] as const;

// Where there are no elements, as in Node.js, this file can be loaded and does nothing.
const Base = globalThis.HTMLElement ?? (class {} as typeof HTMLElement);

export class PacelineRun extends Base {
  static readonly observedAttributes = [...SETTING, "plots", "theme", "wasm", "label"];

  private readonly plot: Plot;
  private series: SeriesPlot[] = [];
  private readonly button = element("button", { type: "button", disabled: true }, "Play");
  private readonly slider = element("input", { type: "range", min: "0", max: "1", step: "any", "aria-label": "Time of the plot", disabled: true });
  private readonly shownTime = element("output");
  private readonly caption = element("figcaption");
  private readonly legend = element("p", { class: "legend" });
  private readonly table = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Figures of the flows" });
  private readonly plots = element("div", { class: "plots" });
  private readonly problem = element("p", { class: "error", role: "alert", hidden: true });
  private readonly figure: HTMLElement;
  private ran: Ran | undefined;
  /** Rows up to the time that is shown, and their number. */
  private rows = new Rows(1);
  private shownRows = 0;
  private at = 0;
  /** Time of the last frame while it plays. */
  private playedAt: number | undefined;
  private isAsked = false;
  /** Number of the latest run; answers to earlier ones are dropped. */
  private latest = 0;
  private text: string | undefined;
  private readonly resized = globalThis.ResizeObserver && new ResizeObserver(() => this.draw());
  private readonly darkness = globalThis.matchMedia?.("(prefers-color-scheme: dark)");
  private readonly recolour = () => this.draw();

  constructor() {
    super();
    const canvas = element("canvas", { role: "img", "aria-label": "Packets in flight over time" });
    this.plot = new Plot(canvas);
    this.button.addEventListener("click", () => (this.playedAt === undefined ? this.play() : this.pause()));
    this.slider.addEventListener("input", () => {
      this.pause();
      this.seek(Number(this.slider.value));
    });
    this.figure = element("figure", { "aria-busy": "true" },
      element("div", { class: "bar" }, this.button, this.slider, this.shownTime), this.problem, canvas, this.legend,
      this.plots, this.table, this.caption);
    const root = this.attachShadow({ mode: "open" });
    root.append(element("style", {}, STYLE), this.figure);
  }

  connectedCallback(): void {
    this.resized?.observe(this.figure);
    this.darkness?.addEventListener("change", this.recolour);
    if (!this.ran) this.ask();
  }

  disconnectedCallback(): void {
    this.pause();
    this.resized?.disconnect();
    this.darkness?.removeEventListener("change", this.recolour);
  }

  attributeChangedCallback(name: string): void {
    if (!this.isConnected) this.discard();
    else if (name === "theme") this.draw();
    else if (name === "plots" || name === "label") this.layOut();
    else this.ask();
  }

  /** The setting of the attributes. */
  get setting(): RunSetting {
    const words: Record<string, string> = {};
    for (const name of SETTING) {
      const value = this.getAttribute(name);
      if (value !== null) words[name] = value;
    }
    return { ...words, schemes: words["schemes"] ?? "cubic", ...(this.text === undefined ? {} : { traceText: this.text }) };
  }

  /** Text of a trace from a file, whose name is the attribute `trace`. */
  get traceText(): string | undefined {
    return this.text;
  }

  set traceText(text: string | undefined) {
    this.text = text;
    if (this.isConnected) this.ask();
    else this.discard();
  }

  /** Discards the run, also one under way: the element runs anew when it is put into a document. */
  private discard(): void {
    this.ran = undefined;
    this.latest += 1;
  }

  /** The result of the last run; undefined before its end and after an error. */
  get result(): Ran["result"] | undefined {
    return this.ran?.result;
  }

  /** Simulated time of the plot in seconds. */
  get time(): number {
    return this.at;
  }

  set time(seconds: number) {
    this.pause();
    this.seek(seconds);
  }

  /** Runs once after all changes of this task. */
  private ask(): void {
    if (this.isAsked) return;
    this.isAsked = true;
    queueMicrotask(() => {
      this.isAsked = false;
      void this.run();
    });
  }

  /** Runs the setting to its end. Events tell the result or the error. */
  async run(): Promise<void> {
    const number = ++this.latest;
    this.pause();
    this.figure.setAttribute("aria-busy", "true");
    const tell = (name: string, detail: object) =>
      this.dispatchEvent(new CustomEvent(`paceline-${name}`, { bubbles: true, composed: true, detail }));
    const { setting } = this;
    tell("start", { setting });
    let [ran, message]: [Ran | undefined, string] = [undefined, ""];
    try {
      ran = await runnerOf(this.getAttribute("wasm")).run(setting);
    } catch (error) {
      message = error instanceof Error ? error.message : String(error);
    }
    if (number !== this.latest) return;
    this.figure.setAttribute("aria-busy", "false");
    this.ran = ran;
    this.problem.textContent = message;
    this.problem.hidden = message === "";
    this.button.disabled = this.slider.disabled = !ran;
    this.layOut();
    if (!ran) return void tell("error", { message });
    tell("result", ran.result);
    if (this.hasAttribute("autoplay") && !globalThis.matchMedia("(prefers-reduced-motion: reduce)").matches) this.play();
  }

  /** Plays the run from the present time, or from its beginning if it was at its end. */
  play(): void {
    if (!this.ran) return;
    if (this.at >= this.ran.result.setting.duration) this.seek(0);
    this.button.textContent = "Pause";
    this.playedAt = performance.now();
    requestAnimationFrame((now) => this.frame(now));
  }

  /** Holds the plot at its present time. */
  pause(): void {
    this.playedAt = undefined;
    this.button.textContent = "Play";
  }

  private frame(now: number): void {
    if (this.playedAt === undefined || !this.ran) return;
    const speed = Number(this.getAttribute("speed") ?? 1);
    const seconds = (Math.max(0, now - this.playedAt) / 1000) * (speed > 0 ? speed : 1);
    this.playedAt = now;
    this.seek(this.at + seconds);
    if (this.at >= this.ran.result.setting.duration) this.pause();
    else requestAnimationFrame((next) => this.frame(next));
  }

  /** Shows the run up to this time. */
  private seek(seconds: number): void {
    if (!this.ran) return;
    const { duration } = this.ran.result.setting;
    this.at = Math.min(Math.max(Number.isFinite(seconds) ? seconds : 0, 0), duration);
    this.slider.value = String(this.at);
    this.shownTime.textContent = `${this.at.toFixed(1)} s`;
    this.slider.setAttribute("aria-valuetext", `${this.at.toFixed(1)} seconds`);
    const { rows, series } = this.ran.result;
    const times = series.link["time_s"]!;
    let count = this.shownRows;
    while (count < times.length && times[count]! <= this.at + 1e-9) count += 1;
    while (count > 0 && times[count - 1]! > this.at + 1e-9) count -= 1;
    if (count < this.shownRows) {
      this.rows.clear();
      this.shownRows = 0;
    }
    this.rows.push(rows.subarray(this.shownRows * this.rows.width, count * this.rows.width));
    this.shownRows = count;
    this.draw();
  }

  /** Shows figures, legend and plots of the run. */
  private layOut(): void {
    const { ran } = this;
    const names = (this.getAttribute("plots") ?? "").split(/[\s,]+/).filter((name): name is SeriesName => name in SERIES);
    this.series = names.map((name) => new SeriesPlot(
      element("canvas", { role: "img", "aria-label": `${SERIES[name].title} over time: ${SERIES[name].says}` }), name));
    this.plots.replaceChildren(...this.series.map((plot) => element("div", {}, element("p", {}, SERIES[plot.name].title), plot.canvas)));
    this.table.replaceChildren();
    this.legend.replaceChildren();
    this.caption.textContent = ran ? "" : this.problem.textContent === "" ? "The simulation runs …" : "";
    this.at = this.shownRows = 0;
    if (!ran) return this.clear();
    const { result, styles } = ran;
    const { setting } = result;
    this.rows = new Rows(setting.schemes.length, result.series.link["time_s"]!.length + 1);
    this.plot.reset();
    this.slider.max = String(setting.duration);
    const dark = this.isDark();
    this.legend.append(...setting.schemes.map((scheme, flow) => {
      const dash = styles[flow]!.dash;
      const key = element("span", { class: `key ${dash === "solid" ? "" : dash === "dotted" ? "dotted" : "dashed"}` });
      key.style.color = dark ? styles[flow]!.dark : styles[flow]!.light;
      return element("span", {}, key, `${flow + 1} ${scheme}`);
    }), element("span", {}, element("span", { class: "key ideal" }), "link × RTT"), element("span", {}, element("span", { class: "key queue" }), "the queue"));
    this.table.replaceChildren(this.figures(result));
    const label = this.getAttribute("label");
    this.caption.textContent = `${label ? `${label}: ` : ""}${describeSetting(setting)}. Digest ${result.digest}.`;
    this.plot.canvas.setAttribute("aria-label", `Packets in flight over time: ${result.flows.map((flow, at) =>
      `flow ${at + 1}, ${flow.scheme}, ${formatShort(flow.throughput_mbps)} Mbit/s`).join("; ")}`);
    this.seek(setting.duration);
  }

  private figures({ flows }: Ran["result"]): HTMLElement {
    const heads = ["flow", "Mbit/s", "mean RTT (ms)", "p95 RTT (ms)", "lost"];
    const rows = flows.map(({ scheme, throughput_mbps, rtt_ms, lost }, flow) => element("tr", {},
      element("th", { scope: "row" }, `${flow + 1} ${scheme}`),
      ...[formatShort(throughput_mbps), formatShort(rtt_ms?.mean ?? NaN), formatShort(rtt_ms?.p95 ?? NaN), String(lost)]
        .map((text) => element("td", {}, text))));
    return element("table", {},
      element("thead", {}, element("tr", {}, ...heads.map((text) => element("th", { scope: "col" }, text)))),
      element("tbody", {}, ...rows));
  }

  private isDark(): boolean {
    const theme = this.getAttribute("theme");
    return theme === "dark" || (theme !== "light" && this.darkness?.matches === true);
  }

  private clear(): void {
    this.rows = new Rows(1, 1);
    this.shownTime.textContent = "";
    this.draw();
  }

  private draw(): void {
    if (this.plot.canvas.clientWidth === 0) return;
    const setting = this.ran?.result.setting;
    const duration = setting?.duration ?? 1;
    const view: View = {
      rows: this.rows, time: duration, window: duration, buffer: setting?.buffer ?? 0, rtt: setting?.rtt ?? 0,
      styles: this.ran?.styles ?? [{ light: "", dark: "", dash: "solid" }],
      names: setting?.schemes.map(schemeName) ?? [""],
      shown: setting?.schemes.map(() => true) ?? [false], dark: this.isDark(),
    };
    this.plot.draw(view);
    for (const plot of this.series) plot.draw(view);
  }
}

if (globalThis.customElements && !customElements.get("paceline-run")) customElements.define("paceline-run", PacelineRun);

declare global {
  interface HTMLElementTagNameMap {
    "paceline-run": PacelineRun;
  }
}
