// Ratatouille: packets in flight of each flow over time. All settings can be changed during the
// run.

import { schemeName, type Catalog } from "./catalog";
import { Client } from "./client";
import { acceptFiles, announce, byId, element, readFiles, formatShort, showError } from "./dom";
import type { Answer } from "./engine";
import { FlowTable, type FlowStatus } from "./flows";
import { currentTab } from "./tabs";
import { Plot } from "./plot";
import { LINK, Rows } from "./rows";
import { RulePanel } from "./rules";
import { logarithmicSlider, steppedSlider, type Slider } from "./sliders";
import { defaultSetting, FLOWS, readAddress, writeAddress, type FlowSetting, type Setting } from "./state";

const SPEEDS = [0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50];
const WINDOWS = [1, 2, 5, 10, 20, 50, 100];
const BUFFERS = [
  ...[1, 2, 5, 10, 15, 20, 30, 40, 50, 75, 100, 150, 200, 250, 300, 400, 500, 750, 1000, 1500, 2000],
  ...[3000, 5000, 7500, 10_000, 15_000, 20_000, 0],
];
/** Time between drawings with reduced motion, in milliseconds. */
const REDUCED_MOTION_INTERVAL = 1000;

export class Ratatouille {
  private setting: Setting;
  private readonly client = new Client();
  private readonly rows = new Rows(FLOWS);
  private readonly plot = new Plot(byId<HTMLCanvasElement>("plot"));
  private readonly table: FlowTable;
  private readonly sliders: Record<"rate" | "rtt" | "buffer" | "speed" | "window", Slider>;
  private readonly error = byId("play-error");
  private readonly readings = byId("readings");
  private panels = new Map<number, RulePanel>();
  private rulesAsked = 0;
  private readonly trace = byId<HTMLSelectElement>("link-trace");
  private readonly queue = byId<HTMLSelectElement>("link-queue");
  /** Texts of dropped files, by their names. */
  private readonly files = new Map<string, string>();
  /** False until a run has begun, and after a run that could not begin. */
  private begun = false;
  private time = 0;
  private paused = false;
  private active = false;
  private dirty = true;
  private drawnAt = 0;
  private addressTimer = 0;
  private pending: { rate_mbps?: number; rtt_ms?: number; buffer?: number } | undefined;
  private busy = false;
  /** Milliseconds between the last frames, for measurements. */
  readonly frames: number[] = [];

  constructor(private readonly catalog: Catalog, address: string) {
    this.setting = readAddress(address);
    this.table = new FlowTable(catalog, this.setting.flows, (flow, before) => void this.flow(flow, before));
    byId("flows").append(this.table.node);
    this.sliders = this.controls();
    this.fillSelects();
    this.client.onrows = (message) => {
      this.rows.push(message.rows);
      this.time = message.time;
      this.dirty = true;
      const pace = message.reached < 0.9
        ? `too fast for this computer: ${Math.round(100 * message.reached)} % of the speed`
        : `${formatShort(message.cpu)} ms of work for a simulated second`;
      if (byId("pace").textContent !== pace) byId("pace").textContent = pace;
    };
    this.client.onstatus = (status) => this.status(status);
    byId("pause").addEventListener("click", () => this.pause(!this.paused));
    byId("restart").addEventListener("click", () => void this.begin("Started anew."));
    byId("share").addEventListener("click", () => void this.share());
    byId("reset").addEventListener("click", () => {
      Object.assign(this.setting, { ...defaultSetting(), flows: this.setting.flows });
      defaultSetting().flows.forEach((flow, index) => Object.assign(this.setting.flows[index]!, flow));
      this.show();
      void this.begin("Back to the beginning.");
    });
    acceptFiles(byId("play"), (name, text) => this.useTraceFile(name, text));
    byId<HTMLInputElement>("link-file").addEventListener("change", (event) =>
      void readFiles((event.target as HTMLInputElement).files, (name, text) => this.useTraceFile(name, text)));
    new ResizeObserver(() => this.updatePace()).observe(this.plot.canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => (this.dirty = true));
    this.paused = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.show();
    requestAnimationFrame((now) => this.frame(now));
  }

  /** Returns the address of the setting. */
  address(): string {
    return writeAddress(this.setting);
  }

  /** Returns the simulated times of the rows in the plot. */
  times(): number[] {
    return Array.from({ length: this.rows.length }, (_, row) => this.rows.link(row, LINK.time));
  }

  /** Shows the tab, or stops the run while another tab is visible. */
  activate(on: boolean): void {
    const first = on && !this.active && this.time === 0 && this.rows.length === 0;
    this.active = on;
    // The tab's own address has no setting, so a reload would lose the present one.
    if (first) void this.begin("");
    else if (on) this.addressChanged();
    this.updatePace();
  }

  private controls() {
    const changed = (name: "rate" | "rtt" | "buffer" | "speed" | "window", key?: string) => (value: number) => {
      this.setting[name] = value;
      if (key) this.change({ [key]: value });
      else this.updatePace();
      this.addressChanged();
    };
    const sliders = {
      rate: logarithmicSlider({ id: "rate", label: "Rate of the link", low: 0.3, high: 300, unit: "Mbit/s",
        changed: changed("rate", "rate_mbps") }),
      rtt: logarithmicSlider({ id: "rtt", label: "Round-trip time", low: 5, high: 500, unit: "ms",
        changed: changed("rtt", "rtt_ms") }),
      buffer: steppedSlider({ id: "buffer", label: "Buffer", values: BUFFERS,
        text: (value) => (value === 0 ? "no limit" : value === 1 ? "1 packet" : `${value} packets`),
        changed: changed("buffer", "buffer") }),
      speed: steppedSlider({ id: "speed", label: "Speed", values: SPEEDS,
        text: (value) => (value === 0 ? "stands still" : `${value} ×`), changed: changed("speed") }),
      window: steppedSlider({ id: "window", label: "Time shown", values: WINDOWS, text: (value) => `${value} s`,
        changed: changed("window") }),
    };
    byId("sliders").append(...Object.values(sliders).map((slider) => slider.node));
    return sliders;
  }

  private fillSelects(): void {
    const option = (value: string, text: string) => element("option", { value }, text);
    this.trace.append(option("", "constant rate"), ...this.catalog.traces.map((name) => option(name, name)));
    this.queue.append(...this.catalog.queues.map(({ name, summary }) =>
      element("option", { value: name, title: summary }, name)));
    this.trace.addEventListener("change", () => {
      this.setting.trace = this.trace.value;
      void this.begin(this.setting.trace ? `The link follows ${this.setting.trace}.` : "The link has a constant rate.");
    });
    this.queue.addEventListener("change", () => {
      this.setting.queue = this.queue.value;
      void this.begin(`The queue is ${this.setting.queue}.`);
    });
  }

  /** Sets all controls to the setting. */
  private show(): void {
    for (const name of ["rate", "rtt", "buffer", "speed", "window"] as const) {
      this.sliders[name].set(this.setting[name]);
    }
    const known = (select: HTMLSelectElement, value: string) =>
      [...select.options].some((option) => option.value === value);
    if (!known(this.trace, this.setting.trace)) this.setting.trace = "";
    if (!known(this.queue, this.setting.queue)) this.setting.queue = "droptail";
    this.trace.value = this.setting.trace;
    this.queue.value = this.setting.queue;
    this.table.repaint();
    this.dirty = true;
  }

  private useTraceFile(name: string, text: string): void {
    this.files.set(name, text);
    if (![...this.trace.options].some((option) => option.value === name)) {
      this.trace.append(element("option", { value: name }, `${name} (file)`));
    }
    this.trace.value = this.setting.trace = name;
    void this.begin(`The link follows the file ${name}.`);
  }

  private async begin(said: string): Promise<void> {
    const { trace, rate, rtt, buffer, queue, flows } = this.setting;
    this.clearRun();
    this.sliders.rate.enable(trace === "");
    this.updatePace();
    this.addressChanged();
    const request = {
      method: "play", rate_mbps: rate, rtt_ms: rtt, buffer, queue, flows,
      trace: trace === "" ? null : { name: trace, text: this.files.get(trace) },
    };
    try {
      await this.client.ask(request);
      this.begun = true;
      showError(this.error, "");
      if (said) announce(said);
    } catch (error) {
      this.begun = false;
      showError(this.error, error);
    }
    // Rows of the previous run may have arrived before the answer.
    this.clearRun();
    await this.watchRules();
  }

  /** Clears drawn and counted data. */
  private clearRun(): void {
    this.rows.clear();
    this.plot.reset();
    this.table.restart();
    this.time = 0;
    this.dirty = true;
  }

  /** Changes the link. Collects further changes while one is in progress. */
  private change(change: { rate_mbps?: number; rtt_ms?: number; buffer?: number }): void {
    if (!this.begun) return void this.begin("");
    this.pending = { ...this.pending, ...change };
    if (this.busy) return;
    this.busy = true;
    void (async () => {
      while (this.pending) {
        const next = this.pending;
        this.pending = undefined;
        try {
          await this.client.ask({ method: "change", ...next });
          showError(this.error, "");
        } catch (error) {
          showError(this.error, error);
        }
      }
      this.busy = false;
    })();
  }

  private async flow(flow: number, before: FlowSetting): Promise<void> {
    const setting = this.setting.flows[flow]!;
    const said = `Flow ${flow + 1}, ${setting.scheme}, is ${setting.on ? "on" : "off"}.`;
    // A run that could not begin, perhaps because of this flow, is tried again.
    if (!this.begun) return this.begin(said);
    try {
      await this.client.ask({ method: "flow", flow, on: setting.on, scheme: setting.scheme });
      showError(this.error, "");
      announce(said);
    } catch (error) {
      showError(this.error, error);
      Object.assign(setting, before);
      this.table.repaint();
    }
    this.addressChanged();
    await this.watchRules();
  }

  /** Shows a panel for each flow that follows a table of rules. */
  private async watchRules(): Promise<void> {
    const asked = ++this.rulesAsked;
    const panels = new Map<number, RulePanel>();
    for (const [flow, setting] of this.setting.flows.entries()) {
      if (!setting.on || schemeName(setting.scheme) !== "remy") continue;
      const panel = new RulePanel(flow);
      try {
        await panel.load(this.client);
      } catch {
        continue;
      }
      panels.set(flow, panel);
    }
    // A later request is in progress, whose answer is newer.
    if (asked !== this.rulesAsked) return;
    this.panels = panels;
    byId("rules").replaceChildren(...[...panels.values()].map((panel) => panel.node));
  }

  private status(status: Answer): void {
    if (status.error !== undefined) {
      this.begun = false;
      return showError(this.error, status.error);
    }
    const flows = status["flows"] as FlowStatus[] | undefined;
    if (!flows) return;
    const time = status["time_s"] as number;
    this.table.update(time, flows);
    for (const [flow, panel] of this.panels) panel.showUses(flows[flow]!.rules);
    const last = this.rows.length - 1;
    if (last < 0) return;
    const figures: [string, string][] = [
      ["time", `${formatShort(time)} s`],
      ["link", `${formatShort(this.rows.link(last, LINK.capacity))} Mbit/s`],
      ["link × RTT", `${formatShort(this.rows.link(last, LINK.ideal))} packets`],
      ["in the queue", `${String(status["backlog_packets"])} packets`],
      ["dropped", String(status["drops"])],
      ["marked", String(status["marks"])],
    ];
    this.readings.replaceChildren(...figures.map(([name, value]) =>
      element("div", {}, element("dt", {}, name), element("dd", {}, value))));
    const on = flows.map((flow, index) => ({ flow, index })).filter(({ flow }) => flow.on);
    const words = on.map(({ flow, index }) =>
      `flow ${index + 1} ${this.setting.flows[index]!.scheme}: ${Math.round(flow.in_flight_bytes / 1500)}`);
    this.plot.canvas.setAttribute("aria-label",
      `Packets in flight over time; at ${formatShort(time)} seconds ${words.join(", ") || "no flow is on"}`);
  }

  private pause(on: boolean): void {
    this.paused = on;
    this.updatePace();
    announce(on ? "Paused." : "Running.");
  }

  /** Sends the speed to the worker. */
  private updatePace(): void {
    const on = this.active && !this.paused;
    this.client.pace(on ? this.setting.speed : 0, this.plot.spacing(this.setting.window));
    const button = byId("pause");
    button.textContent = this.paused ? "Run" : "Pause";
    button.setAttribute("aria-pressed", String(this.paused));
    this.dirty = true;
  }

  private addressChanged(): void {
    clearTimeout(this.addressTimer);
    this.addressTimer = window.setTimeout(() => this.remember(), 250);
  }

  /** Writes a pending change of the setting into the address. */
  remember(): void {
    if (this.addressTimer === 0) return;
    clearTimeout(this.addressTimer);
    this.addressTimer = 0;
    // A link to another tab changes the address before the page gets the event: then keep that
    // address.
    if (currentTab().tab === "ratatouille") history.replaceState(null, "", `#ratatouille?${this.address()}`);
  }

  private async share(): Promise<void> {
    history.replaceState(null, "", `#ratatouille?${this.address()}`);
    try {
      await navigator.clipboard.writeText(location.href);
      announce("The address of this setting is in the clipboard.");
    } catch {
      announce("Copy the address of this page: it has this setting.");
    }
  }

  private frame(now: number): void {
    requestAnimationFrame((next) => this.frame(next));
    // The simulation advances with frames; while another tab is visible both stop.
    if (this.active) this.client.frame();
    const since = now - this.drawnAt;
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (!this.active || !this.dirty || (calm && since < REDUCED_MOTION_INTERVAL)) return;
    this.frames.push(since);
    if (this.frames.length > 2400) this.frames.shift();
    this.drawnAt = now;
    this.dirty = false;
    const { flows, window, buffer } = this.setting;
    this.plot.draw({
      rows: this.rows,
      time: this.time,
      window,
      buffer,
      styles: this.table.styles,
      shown: flows.map((flow) => flow.on),
      dark: matchMedia("(prefers-color-scheme: dark)").matches,
    });
  }
}
