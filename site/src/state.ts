// The setting of the live run, and its form in the address of the page.

import type { SeriesName } from "./series";
import { SERIES } from "./series";
import { DRAWN, readDrawn, writeDrawn } from "./draw";
import { scripts } from "./scripts";

/** Links that a flow passes, if there are two. */
export const WAYS = ["both", "first", "second"] as const;
export type Way = (typeof WAYS)[number];

export interface FlowSetting {
  scheme: string;
  on: boolean;
  /** Round-trip time in milliseconds in addition to that of all flows. */
  extra: number;
  via: Way;
}

export interface Setting {
  /** Name of a built-in trace; empty for a constant rate. */
  trace: string;
  /** Rates of the link that is drawn by hand, one for each second; empty without one. */
  drawn: number[];
  rate: number;
  rtt: number;
  /** Buffer in packets; 0 for no limit. */
  buffer: number;
  queue: string;
  /** Random loss of data packets in per cent. */
  loss: number;
  /** Rate of a second link in Mbit/s; 0 for one link. */
  second: number;
  speed: number;
  window: number;
  /** Plots that are shown below the first one. */
  plots: SeriesName[];
  /** Whether packets are drawn as dots. */
  pipe: boolean;
  flows: FlowSetting[];
}

export const FLOWS = 8;

/** Ranges of the numbers, as the simulator takes them. */
export const RANGES = {
  rate: [0.3, 300], rtt: [5, 500], buffer: [0, 20_000], loss: [0, 50], second: [0, 300], speed: [0, 50], window: [1, 100],
} as const;

export function defaultSetting(): Setting {
  const schemes = ["cubic", "bbr", "abc", "vegas", "remy", "copa", "newreno", "cubic"];
  return {
    trace: "",
    drawn: [],
    rate: 12,
    rtt: 100,
    buffer: 250,
    queue: "droptail",
    loss: 0,
    second: 0,
    speed: 1,
    window: 10,
    plots: ["throughput", "delay"],
    pipe: false,
    flows: schemes.map((scheme, index) => ({ scheme, on: index < 2, extra: 0, via: "both" })),
  };
}

/** Returns an independent copy. */
export function copySetting(setting: Setting): Setting {
  return { ...setting, drawn: [...setting.drawn], plots: [...setting.plots], flows: setting.flows.map((flow) => ({ ...flow })) };
}

/** Returns the setting as an address. */
export function writeAddress(setting: Setting): string {
  const words = new URLSearchParams();
  if (setting.trace) words.set("trace", setting.trace);
  if (setting.trace === DRAWN && setting.drawn.length > 0) words.set("drawn", writeDrawn(setting.drawn));
  for (const name of ["rate", "rtt", "buffer", "speed", "window"] as const) words.set(name, String(setting[name]));
  for (const name of ["loss", "second"] as const) if (setting[name] > 0) words.set(name, String(setting[name]));
  words.set("queue", setting.queue);
  words.set("plots", setting.plots.join(" "));
  if (setting.pipe) words.set("pipe", "1");
  // A flow that is off has a minus before its scheme. Spaces separate flows, so schemes are written
  // without spaces.
  const word = (flow: FlowSetting) => (flow.on ? "" : "-") + flow.scheme.replaceAll(/\s/g, "");
  words.set("flows", setting.flows.map(word).join(" "));
  if (setting.flows.some((flow) => flow.extra > 0)) words.set("extra", setting.flows.map((flow) => flow.extra).join(" "));
  if (setting.flows.some((flow) => flow.via !== "both")) words.set("via", setting.flows.map((flow) => flow.via).join(" "));
  scripts.addTo(words, setting.flows.map((flow) => flow.scheme));
  return words.toString();
}

function numberWithin(text: string | null | undefined, [low, high]: readonly [number, number], otherwise: number): number {
  const value = Number(text);
  // An empty text would become the number zero.
  return text && text.trim() !== "" && Number.isFinite(value) && value >= low && value <= high ? value : otherwise;
}

/** Returns the setting in an address. Values that are missing or invalid get their defaults. */
export function readAddress(address: string): Setting {
  const words = new URLSearchParams(address);
  const setting = defaultSetting();
  setting.trace = words.get("trace") ?? "";
  setting.drawn = readDrawn(words.get("drawn"));
  for (const name of ["rate", "rtt", "buffer", "loss", "second", "speed", "window"] as const) {
    setting[name] = numberWithin(words.get(name), RANGES[name], setting[name]);
  }
  setting.buffer = Math.round(setting.buffer);
  if (setting.second > 0) setting.second = Math.max(setting.second, RANGES.rate[0]);
  setting.queue = words.get("queue") ?? setting.queue;
  const plots = words.get("plots")?.split(" ");
  if (plots) setting.plots = (Object.keys(SERIES) as SeriesName[]).filter((name) => plots.includes(name));
  setting.pipe = words.get("pipe") === "1";
  const flows = (words.get("flows") ?? "").split(" ").filter((word) => word !== "");
  const [extra, via] = [words.get("extra")?.split(" "), words.get("via")?.split(" ")];
  setting.flows = setting.flows.map((flow, index) => {
    const word = flows.length > 0 ? flows[index] : (flow.on ? "" : "-") + flow.scheme;
    const way = WAYS.find((name) => name === via?.[index]) ?? "both";
    const path = { extra: numberWithin(extra?.[index], [0, 10_000], 0), via: setting.second > 0 ? way : "both" };
    if (word === undefined) return { ...flow, ...path, on: false };
    const on = !word.startsWith("-");
    return { on, scheme: on ? word : word.slice(1), ...path };
  });
  return setting;
}
