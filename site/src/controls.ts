// The controls of the live run's link and time.

import type { Catalog } from "./catalog";
import { DRAWN } from "./draw";
import { byId, element, formatShort } from "./dom";
import { makeSlider, roundValues, type Slider } from "./sliders";
import { RANGES, type Setting } from "./state";
import { readBuffer, readFactor, readMillis, readPercent, readRate, readSeconds } from "./units";

const SPEEDS = [0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50];
const WINDOWS = [1, 2, 5, 10, 20, 50, 100];
const BUFFERS = [
  ...[1, 2, 5, 10, 15, 20, 30, 40, 50, 75, 100, 150, 200, 250, 300, 400, 500, 750, 1000, 1500, 2000],
  ...[3000, 5000, 7500, 10_000, 15_000, 20_000, 0],
];
const LOSSES = [0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20];

export type NumberName = "rate" | "rtt" | "buffer" | "loss" | "second" | "speed" | "window";

const isOption = (select: HTMLSelectElement, value: string) => [...select.options].some((option) => option.value === value);

/** Called after a number or a choice of the setting has changed. */
export interface ControlEvents {
  number(name: NumberName, value: number): void;
  trace(name: string): void;
  queue(name: string): void;
}

export class Controls {
  private readonly sliders: Record<NumberName, Slider>;
  private readonly trace = byId<HTMLSelectElement>("link-trace");
  private readonly queue = byId<HTMLSelectElement>("link-queue");

  constructor(catalog: Catalog, private readonly setting: Setting, private readonly events: ControlEvents) {
    this.sliders = this.makeSliders();
    const { rate, rtt, buffer, loss, second, speed, window } = this.sliders;
    byId("sliders").append(rate.node, rtt.node, buffer.node);
    byId("path-sliders").append(loss.node, second.node);
    byId("time-sliders").append(speed.node, window.node);
    const option = (value: string, text: string) => element("option", { value }, text);
    this.trace.append(option("", "constant rate"), ...catalog.traces.map((name) => option(name, name)));
    this.queue.append(...catalog.queues.map(({ name, summary }) =>
      element("option", { value: name, title: summary }, name)));
    this.trace.addEventListener("change", () => events.trace(this.trace.value));
    this.queue.addEventListener("change", () => events.queue(this.queue.value));
  }

  private makeSliders(): Record<NumberName, Slider> {
    const { setting } = this;
    const slider = (
      id: NumberName, label: string, values: number[],
      as: { text(value: number): string; read(text: string): number | null; examples: string | (() => string); also?(value: number): boolean },
    ) => makeSlider({
      id, label, values, low: RANGES[id][0], high: RANGES[id][1], ...as,
      changed: (value) => this.events.number(id, value),
    });
    const number = (value: number) => String(Number(value.toPrecision(4)));
    const rates = roundValues(...RANGES.rate);
    const unlimited = /^\s*(none|off|no|one link)\s*$/i;
    return {
      rate: slider("rate", "Rate of the link", rates,
        { text: (value) => `${number(value)} Mbit/s`, read: readRate, examples: "10 or 500 kbit/s" }),
      rtt: slider("rtt", "Round-trip time", roundValues(...RANGES.rtt),
        { text: (value) => `${number(value)} ms`, read: readMillis, examples: "100 or 0.1 s" }),
      buffer: slider("buffer", "Buffer", BUFFERS, {
        text: (value) => (value === 0 ? "no limit" : value === 1 ? "1 packet" : `${value} packets`),
        read: (text) => readBuffer(text, { rate: setting.trace === "" ? setting.rate : null, rtt: setting.rtt }),
        examples: () => (setting.trace === "" ? "250, 1 BDP, 64 kB, 100 ms or no limit" : "250, 64 kB or no limit"),
      }),
      loss: slider("loss", "Random loss", LOSSES, {
        text: (value) => (value === 0 ? "none" : `${number(value)} %`),
        read: (text) => (unlimited.test(text) ? 0 : readPercent(text)), examples: "1 or 0.1 %",
      }),
      second: slider("second", "Second link", [0, ...rates], {
        text: (value) => (value === 0 ? "none" : `${number(value)} Mbit/s`),
        // A link of less than the least rate would be as good as none.
        read: (text) => {
          const value = unlimited.test(text) ? 0 : readRate(text);
          return value === null || value === 0 || value >= RANGES.rate[0] ? value : null;
        },
        examples: "6 or none",
      }),
      speed: slider("speed", "Speed", SPEEDS, {
        text: (value) => (value === 0 ? "stands still" : `${number(value)} ×`),
        read: (text) => (/^\s*stands still\s*$/i.test(text) ? 0 : readFactor(text)), examples: "1 or 0.02",
      }),
      window: slider("window", "Time shown", WINDOWS,
        { text: (value) => `${formatShort(value).replace(/\.0+$/, "")} s`, read: readSeconds, examples: "10 or 500 ms" }),
    };
  }

  /** Adds a dropped file, or another link that is called `label`, to the list of traces. */
  addTrace(name: string, label = `${name} (file)`): void {
    if (isOption(this.trace, name)) return;
    this.trace.append(element("option", { value: name }, label));
  }

  /** Returns in words which trace or queue of a setting the page does not have; nothing if it has both. */
  missing({ trace, drawn, queue }: Setting): string {
    const isDrawn = trace === DRAWN && drawn.length > 0;
    if (!isDrawn && !isOption(this.trace, trace)) {
      return `There is no trace ${trace} here: drop its file on the page. The link has a constant rate.`;
    }
    return isOption(this.queue, queue) ? "" : `There is no queue ${queue}. The queue is droptail.`;
  }

  /** Sets all controls to the setting; an unknown trace or queue becomes the default one. */
  show(): void {
    for (const [name, slider] of Object.entries(this.sliders)) slider.set(this.setting[name as NumberName]);
    if (!isOption(this.trace, this.setting.trace)) this.setting.trace = "";
    if (!isOption(this.queue, this.setting.queue)) this.setting.queue = "droptail";
    this.trace.value = this.setting.trace;
    this.queue.value = this.setting.queue;
    this.sliders.rate.enable(this.setting.trace === "");
  }
}
