// Ratatouille: packets in flight of each flow over time. All settings can be changed during the
// run.

import type { View } from "./canvas";
import { nameOfFile, schemeName, type Catalog } from "./catalog";
import { Client } from "./client";
import { Controls, type NumberName } from "./controls";
import { DRAWN, DrawPanel, drawnTable } from "./draw";
import { acceptFiles, announce, byId, element, formatShort, readFiles, showError } from "./dom";
import type { Answer } from "./engine";
import { FlowTable, type FlowStatus } from "./flows";
import { listenForKeys } from "./keys";
import { PipePicture } from "./pipe";
import { LINK, Rows } from "./rows";
import { RulePanel } from "./rules";
import { applyTo, describe, readSession, Recorder, requestOf, type Change, type Session } from "./recording";
import { SessionPanel } from "./recording-panel";
import { Stage } from "./stage";
import { copySetting, defaultSetting, FLOWS, readAddress, writeAddress, type FlowSetting, type Setting } from "./state";
import { currentTab } from "./tabs";

/** Time between drawings with reduced motion, in milliseconds. */
const REDUCED_MOTION_INTERVAL = 1000;
/** Numbers of the setting that the simulator changes while the run goes on. */
const LIVE: readonly string[] = ["rate", "rtt", "buffer", "second"];

type LiveNumber = "rate" | "rtt" | "buffer" | "second";

/** Changes of the setting by a text beside the plot. */
export type SettingChange = Partial<Omit<Setting, "flows">> & { flows?: Record<number, Partial<FlowSetting>> };

export class Ratatouille {
  private readonly setting: Setting;
  private readonly client = new Client();
  private readonly rows = new Rows(FLOWS);
  private readonly stage: Stage;
  private readonly pipe = new PipePicture(this.client);
  private readonly table: FlowTable;
  private readonly controls: Controls;
  private readonly error = byId("play-error");
  private readonly readings = byId("readings");
  private readonly recorder = new Recorder();
  private readonly sessions: SessionPanel;
  private readonly drawing: DrawPanel;
  /** Session that is repeated, until it ends or the user changes the run. */
  private replayed: Session | null = null;
  private panels = new Map<number, RulePanel>();
  private rulesAsked = 0;
  /** Texts of dropped files, by their names. */
  private readonly files = new Map<string, string>();
  /** False until a run has begun, and after a run that could not begin. */
  private begun = false;
  /** True while a request for a new run is under way. */
  private beginning = false;
  private time = 0;
  private paused = false;
  private active = false;
  private dirty = true;
  private drawnAt = 0;
  private addressTimer = 0;
  /** Numbers that are still to be changed, and what the simulator has. */
  private readonly pending = new Map<LiveNumber, { value: number; before: number }>();
  /** Number of the present run: answers to requests of earlier ones are dropped. */
  private run = 0;
  /** The run whose pending numbers are being changed; 0 for none. */
  private changing = 0;
  /** Milliseconds between the last frames, for measurements. */
  readonly frames: number[] = [];

  constructor(private readonly catalog: Catalog, address: string) {
    this.setting = readAddress(address);
    try {
      this.replayed = readSession(address);
    } catch (error) {
      // Not in the run's place, which the beginning of the run clears.
      showError(byId("start-error"), error);
    }
    this.table = new FlowTable(catalog, this.setting.flows, (flow, before) => void this.flow(flow, before));
    byId("flows").append(this.table.node);
    this.controls = new Controls(catalog, this.setting, {
      number: (name, value) => this.number(name, value),
      trace: (name) => {
        this.setting.trace = name;
        void this.begin(name ? `The link follows ${name}.` : "The link has a constant rate.");
      },
      queue: (name) => {
        this.setting.queue = name;
        void this.begin(`The queue is ${name}.`);
      },
    });
    this.stage = new Stage(() => this.setting.plots, (plots) => {
      this.setting.plots = plots;
      this.show();
      this.addressChanged();
    });
    this.drawing = new DrawPanel((rates) => {
      Object.assign(this.setting, { trace: DRAWN, drawn: rates });
      this.show();
      void this.begin("");
    }, () => this.setting.rate);
    this.sessions = new SessionPanel({
      session: () => this.presentSession(),
      traces: this.files,
      open: (file) => this.openSession(file.address, file.files),
    });
    this.client.onrows = (message) => {
      this.rows.push(message.rows);
      this.time = message.time;
      this.dirty = true;
      const pace = byId("pace");
      const text = message.reached < 0.9 ? `too fast for this computer: ${Math.round(100 * message.reached)} % of the speed` : "";
      if (pace.textContent !== text) pace.textContent = text;
      pace.title = `${formatShort(message.cpu)} ms of work for a simulated second`;
    };
    this.client.onstatus = (status) => this.status(status);
    this.client.onscripted = (index, answer) => this.scripted(index, answer);
    this.client.onended = (status) => this.ended(status);
    this.listen();
    this.paused = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const missing = this.controls.missing(this.setting);
    if (missing !== "") {
      showError(byId("start-error"), missing);
      // Another link would give another digest.
      this.replayed = null;
    }
    this.show();
    requestAnimationFrame((now) => this.frame(now));
  }

  private listen(): void {
    byId("pause").addEventListener("click", () => this.pause(!this.paused));
    byId("step").addEventListener("click", () => this.step(0.01));
    byId("restart").addEventListener("click", () => void this.begin("Started anew."));
    byId("share").addEventListener("click", () => void this.share());
    byId("reset").addEventListener("click", () => this.reset());
    byId<HTMLInputElement>("show-pipe").addEventListener("change", (event) => {
      this.setting.pipe = (event.target as HTMLInputElement).checked;
      this.show();
      this.addressChanged();
    });
    byId<HTMLInputElement>("own-paths").addEventListener("change", () => this.show());
    const use = (name: string, text: string) => this.useFile(name, text);
    acceptFiles(byId("play"), use);
    byId<HTMLInputElement>("link-file").addEventListener("change", (event) =>
      void readFiles((event.target as HTMLInputElement).files, use));
    listenForKeys({
      active: () => this.active,
      pause: () => this.pause(!this.paused),
      step: (seconds) => this.step(seconds),
      restart: () => void this.begin("Started anew."),
    });
    new ResizeObserver(() => this.updatePace()).observe(this.stage.plot.canvas);
    for (const query of ["(prefers-color-scheme: dark)", "print"]) {
      matchMedia(query).addEventListener("change", () => (this.dirty = true));
    }
    // The browser copies the plots right after this event.
    window.addEventListener("beforeprint", () => this.draw(false));
    window.addEventListener("afterprint", () => (this.dirty = true));
  }

  /** Called with the files that are neither traces nor sessions; returns true if it takes one. */
  onfile: (name: string, text: string) => boolean = () => false;

  /** Returns the address of the setting. */
  address(): string {
    return writeAddress(this.setting);
  }

  /** Returns the simulated times of the rows in the plot. */
  times(): number[] {
    return Array.from({ length: this.rows.length }, (_, row) => this.rows.link(row, LINK.time));
  }

  /** Returns the rows in the plot, for tests. */
  shownRows(): { total: number; ideal: number; queue: number }[] {
    return Array.from({ length: this.rows.length }, (_, row) => ({
      total: this.rows.total(row), ideal: this.rows.link(row, LINK.ideal), queue: this.rows.queue(row),
    }));
  }

  /** Returns the simulated time of the plot. */
  now(): number {
    return this.time;
  }

  /** Shows the tab, or stops the run while another tab is visible. */
  activate(on: boolean): void {
    const first = on && !this.active && this.time === 0 && this.rows.length === 0;
    this.active = on;
    // The tab's own address has no setting, so a reload would lose the present one.
    if (first && !this.begun && !this.beginning) void (this.replayed ? this.replay(this.replayed) : this.begin(""));
    else if (on) this.addressChanged();
    this.updatePace();
  }

  /** Applies a change of the setting; begins a new run if it cannot be applied to the present one. */
  async apply(change: SettingChange, anew: boolean): Promise<void> {
    const { flows, ...rest } = change;
    const differs = Object.entries(rest).filter(([name, value]) =>
      String(this.setting[name as keyof Setting]) !== String(value)).map(([name]) => name);
    const needsRun = differs.some((name) => ["trace", "queue", "loss"].includes(name)
      || (name === "second" && (this.setting.second > 0) !== ((rest.second ?? 0) > 0)))
      || Object.entries(flows ?? {}).some(([flow, to]) => {
        const { extra, via } = this.setting.flows[Number(flow)]!;
        return (to.extra ?? extra) !== extra || (to.via ?? via) !== via;
      });
    const before = copySetting(this.setting);
    Object.assign(this.setting, rest);
    for (const [flow, to] of Object.entries(flows ?? {})) Object.assign(this.setting.flows[Number(flow)]!, to);
    this.show();
    this.updatePace();
    if (this.paused && this.setting.speed > 0 && !matchMedia("(prefers-reduced-motion: reduce)").matches) this.pause(false);
    if (anew || needsRun || !this.begun) return this.begin("");
    for (const name of differs) if (LIVE.includes(name)) this.change(name as LiveNumber, before[name as LiveNumber]);
    for (const flow of Object.keys(flows ?? {}).map(Number)) {
      const [was, is] = [before.flows[flow]!, this.setting.flows[flow]!];
      if (was.on !== is.on || was.scheme !== is.scheme) await this.flow(flow, was);
    }
    this.addressChanged();
  }

  private reset(): void {
    const { flows, ...rest } = defaultSetting();
    Object.assign(this.setting, rest);
    flows.forEach((flow, index) => Object.assign(this.setting.flows[index]!, flow));
    this.show();
    void this.begin("Back to the beginning.");
  }

  private number(name: NumberName, value: number): void {
    const [before, live] = [this.setting[name], LIVE.includes(name)];
    this.setting[name] = value;
    const links = name === "second" && (before > 0) !== (value > 0);
    if (links && value === 0) this.setting.flows.forEach((flow) => (flow.via = "both"));
    if (name === "loss" || links) {
      this.show();
      void this.begin("");
    } else if (live) this.change(name as LiveNumber, before);
    else this.updatePace();
    this.addressChanged();
  }

  /** Sets all controls to the setting. */
  private show(): void {
    const { drawn } = this.setting;
    if (drawn.length > 0) {
      this.files.set(DRAWN, drawnTable(drawn));
      this.controls.addTrace(DRAWN, "drawn by hand");
    }
    this.drawing.set(drawn);
    this.controls.show();
    this.table.repaint();
    this.stage.show();
    byId<HTMLInputElement>("show-pipe").checked = this.setting.pipe;
    const own = byId<HTMLInputElement>("own-paths");
    if (this.setting.flows.some((flow) => flow.extra > 0 || flow.via !== "both")) own.checked = true;
    this.table.showPaths(own.checked, this.setting.second > 0);
    this.dirty = true;
  }

  private useFile(file: string, text: string): void {
    if (this.sessions.offer(text) || this.onfile(file, text)) return;
    // The drawing and the built-in traces keep their names.
    const name = nameOfFile(file, [DRAWN, ...this.catalog.traces]);
    this.files.set(name, text);
    this.controls.addTrace(name);
    this.setting.trace = name;
    this.show();
    void this.begin(`The link follows the file ${name}.`);
  }

  private async begin(said: string): Promise<void> {
    this.replayed = null;
    this.sessions.say("");
    await this.play();
    if (said && this.begun) announce(said);
  }

  /** Begins a run with the present setting. */
  private async play(): Promise<void> {
    const run = ++this.run;
    this.beginning = true;
    // The run begins with these.
    this.pending.clear();
    const { trace, rate, rtt, buffer, queue, loss, second, flows } = this.setting;
    this.clearRun();
    this.controls.show();
    this.updatePace();
    this.addressChanged();
    const request = {
      method: "play", rate_mbps: rate, rtt_ms: rtt, buffer, queue, loss: loss / 100,
      second_mbps: second > 0 ? second : null,
      flows: flows.map(({ scheme, on, extra, via }) => ({ scheme, on, extra_ms: extra, via })),
      trace: trace === "" ? null : { name: trace, text: this.files.get(trace) },
    };
    try {
      this.recorder.begin(this.setting);
      await this.client.ask(request);
      if (run !== this.run) return;
      this.begun = true;
      showError(this.error, "");
    } catch (error) {
      if (run !== this.run) return;
      this.begun = false;
      showError(this.error, error);
    }
    this.beginning = false;
    // Rows of the previous run may have arrived before the answer.
    this.clearRun();
    void this.applyChanges();
    await this.watchRules();
  }

  /** Clears drawn and counted data. */
  private clearRun(): void {
    this.rows.clear();
    this.stage.reset();
    this.pipe.reset();
    this.table.restart();
    this.time = 0;
    this.dirty = true;
  }

  /**
   * Changes the link to a number of the setting, which was `before`. Collects further changes while one is in
   * progress, or while a run begins.
   */
  private change(name: LiveNumber, before: number): void {
    this.fork();
    if (!this.begun && !this.beginning) return void this.begin("");
    this.pending.set(name, { value: this.setting[name], before: this.pending.get(name)?.before ?? before });
    if (!this.beginning) void this.applyChanges();
  }

  private async applyChanges(): Promise<void> {
    const { run } = this;
    if (this.changing === run) return;
    this.changing = run;
    for (let [next] = this.pending; next && run === this.run; [next] = this.pending) {
      const [name, { value, before }] = next;
      this.pending.delete(name);
      const change: Change = { kind: "number", name, value };
      try {
        const { time_ns } = await this.client.ask<Answer>(requestOf(change));
        if (run !== this.run) return;
        this.recorder.note(time_ns, change);
        showError(this.error, "");
      } catch (error) {
        if (run !== this.run) return;
        showError(this.error, error);
        const newer = this.pending.get(name);
        if (newer) newer.before = before;
        else {
          this.setting[name] = before;
          this.show();
          this.addressChanged();
        }
      }
    }
    if (this.changing === run) this.changing = 0;
  }

  private async flow(flow: number, before: FlowSetting): Promise<void> {
    const setting = this.setting.flows[flow]!;
    const said = `Flow ${flow + 1}, ${setting.scheme}, is ${setting.on ? "on" : "off"}.`;
    // A run that could not begin, perhaps because of this flow, is tried again, and one that is
    // beginning begins with the change. A path cannot be changed on the way.
    if (!this.begun || this.beginning || before.extra !== setting.extra || before.via !== setting.via) return this.begin(said);
    if (this.client.needsNewRun(setting.scheme)) {
      if (setting.on) return this.begin(said);
      // The present run does not know the controller. The flow is off, and begins with it when it is switched on.
      if (!before.on) return this.addressChanged();
    }
    this.fork();
    const { run } = this;
    const change: Change = { kind: "flow", flow, on: setting.on, scheme: setting.scheme };
    try {
      const { time_ns } = await this.client.ask<Answer>(requestOf(change));
      if (run !== this.run) return;
      this.recorder.note(time_ns, change);
      showError(this.error, "");
      announce(said);
    } catch (error) {
      if (run !== this.run) return;
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
    this.sessions.update(this.recorder.count, this.paused ? String(status["digest"]) : "");
    const last = this.rows.length - 1;
    if (last < 0) return;
    const figures: [string, string][] = [
      ["time", `${formatShort(time)} s`],
      ["link", `${formatShort(this.rows.link(last, LINK.capacity))} Mbit/s`],
      ["link × RTT", `${formatShort(this.rows.link(last, LINK.ideal))} packets`],
      ["in the queue", `${String(status["backlog_packets"])} packets`],
      ["in flight, all", `${Math.round(this.rows.total(last))} packets`],
      ["dropped", String(status["drops"])],
      ["marked", String(status["marks"])],
    ];
    this.readings.replaceChildren(...figures.map(([name, value]) =>
      element("div", {}, element("dt", {}, name), element("dd", {}, value))));
    const on = flows.map((flow, index) => ({ flow, index })).filter(({ flow }) => flow.on);
    const words = on.map(({ flow, index }) =>
      `flow ${index + 1} ${this.setting.flows[index]!.scheme}: ${Math.round(flow.in_flight_bytes / 1500)}`);
    this.stage.plot.canvas.setAttribute("aria-label",
      `Packets in flight over time; at ${formatShort(time)} seconds ${words.join(", ") || "no flow is on"}`);
  }

  private pause(on: boolean): void {
    this.paused = on;
    this.updatePace();
    announce(on ? "Paused." : "Running.");
  }

  /** Pauses, and simulates some more seconds. */
  private step(seconds: number): void {
    if (!this.paused) this.pause(true);
    this.client.step(seconds);
  }

  /** Sends the speed to the worker. */
  private updatePace(): void {
    const on = this.active && !this.paused;
    this.client.pace(on ? this.setting.speed : 0, this.stage.plot.spacing(this.setting.window));
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
    // address. A session keeps its address until the user changes the run.
    if (currentTab().tab !== "ratatouille" || this.replayed) return;
    history.replaceState(null, "", `#ratatouille?${this.address()}`);
  }

  private async share(): Promise<void> {
    const address = `#ratatouille?${this.address()}`;
    if (currentTab().tab === "ratatouille") history.replaceState(null, "", address);
    try {
      await navigator.clipboard.writeText(new URL(address, location.href).href);
      announce("The address of this setting is in the clipboard.");
    } catch {
      announce("Copy the address of this page: it has this setting.");
    }
    // The address has a link that was drawn, and no file.
    const { trace } = this.setting;
    if (this.files.has(trace) && trace !== DRAWN) {
      showError(this.error, `The address has the setting, and not the trace ${trace} from your file: `
        + "send the file, too, or save the session, which has it.");
    }
  }

  /** Returns the session up to now. */
  private async presentSession(): Promise<Session | null> {
    const status = await this.client.ask<Answer>({ method: "status" });
    return this.recorder.session(Number(status["time_ns"]), String(status["digest"]));
  }

  /** Repeats a session from its address, with the files that it uses. */
  private openSession(address: string, files: Record<string, string>): void {
    try {
      const session = readSession(address);
      if (!session) throw new Error("the file has a setting, and no session");
      for (const [name, text] of Object.entries(files)) {
        this.files.set(name, text);
        this.controls.addTrace(name);
      }
      const missing = this.controls.missing(session.start);
      if (missing !== "") throw new Error(missing);
      void this.replay(session);
    } catch (error) {
      showError(this.error, error);
    }
  }

  private async replay(session: Session): Promise<void> {
    const { flows, ...rest } = copySetting(session.start);
    Object.assign(this.setting, rest);
    flows.forEach((flow, index) => Object.assign(this.setting.flows[index]!, flow));
    this.replayed = session;
    this.show();
    await this.play();
    // The user may have changed the run while it began.
    if (!this.begun || this.replayed !== session) return;
    this.client.script(
      session.changes.map(({ time_ns, change }) => ({ time_ns, request: requestOf(change) })), session.end_ns);
    if (this.paused) this.pause(false);
    this.sessions.say(`A recorded session runs: ${session.changes.length} changes in ${formatShort(session.end_ns / 1e9)} s.`);
  }

  /** The simulator has applied a change of the session. */
  private scripted(index: number, answer: Answer): void {
    const timed = this.replayed?.changes[index];
    if (!timed) return;
    if (answer.error !== undefined) return showError(this.error, answer.error);
    applyTo(this.setting, timed.change);
    this.recorder.note(timed.time_ns, timed.change);
    this.show();
    announce(describe(timed.change));
    if (timed.change.kind === "flow") void this.watchRules();
  }

  private ended(status: Answer): void {
    this.pause(true);
    this.status(status);
    if (this.replayed) this.sessions.compare(this.replayed.digest, String(status["digest"]));
    this.replayed = null;
  }

  /** The user changes a run that repeats a session: the rest of the session is given up. */
  private fork(): void {
    if (!this.replayed) return;
    this.replayed = null;
    this.client.script([], null);
    this.sessions.say("You have changed the run, so that the rest of the recorded session is left out.");
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
    this.draw(matchMedia("(prefers-color-scheme: dark)").matches && !matchMedia("print").matches);
  }

  private draw(dark: boolean): void {
    const { flows, window, buffer, rtt } = this.setting;
    const view: View = {
      rows: this.rows,
      time: this.time,
      window,
      buffer,
      rtt,
      styles: this.table.styles,
      names: flows.map((flow) => schemeName(flow.scheme)),
      shown: flows.map((flow) => flow.on),
      dark,
    };
    this.stage.draw(view);
    this.pipe.update(this.setting, this.rows.length > 0 ? this.rows.link(this.rows.length - 1, LINK.capacity) : this.setting.rate);
    this.pipe.draw(view, this.setting);
  }
}
