// The setting of the live run, and its form in the address of the page.

export interface FlowSetting {
  scheme: string;
  on: boolean;
}

export interface Setting {
  /** Name of a built-in trace; empty for a constant rate. */
  trace: string;
  rate: number;
  rtt: number;
  /** Buffer in packets; 0 for no limit. */
  buffer: number;
  queue: string;
  speed: number;
  window: number;
  flows: FlowSetting[];
}

export const FLOWS = 8;

export function defaultSetting(): Setting {
  const schemes = ["remy", "cubic", "abc", "bbr", "vegas", "copa", "newreno", "cubic"];
  return {
    trace: "",
    rate: 12,
    rtt: 100,
    buffer: 250,
    queue: "droptail",
    speed: 1,
    window: 10,
    flows: schemes.map((scheme, index) => ({ scheme, on: index < 2 })),
  };
}

/** Returns the setting as an address. */
export function writeAddress(setting: Setting): string {
  const words = new URLSearchParams();
  if (setting.trace) words.set("trace", setting.trace);
  for (const name of ["rate", "rtt", "buffer", "speed", "window"] as const) {
    words.set(name, String(Number(setting[name].toPrecision(4))));
  }
  words.set("queue", setting.queue);
  // A flow that is off has a minus before its scheme. Spaces separate flows, so schemes are written
  // without spaces.
  const word = (flow: FlowSetting) => (flow.on ? "" : "-") + flow.scheme.replaceAll(/\s/g, "");
  words.set("flows", setting.flows.map(word).join(" "));
  return words.toString();
}

function numberWithin(text: string | null, low: number, high: number, otherwise: number): number {
  const value = Number(text);
  // An empty text would become the number zero.
  return text !== null && text.trim() !== "" && Number.isFinite(value) && value >= low && value <= high ? value : otherwise;
}

/** Returns the setting in an address. Values that are missing or invalid get their defaults. */
export function readAddress(address: string): Setting {
  const words = new URLSearchParams(address);
  const setting = defaultSetting();
  setting.trace = words.get("trace") ?? "";
  setting.rate = numberWithin(words.get("rate"), 0.3, 300, setting.rate);
  setting.rtt = numberWithin(words.get("rtt"), 5, 500, setting.rtt);
  setting.buffer = Math.round(numberWithin(words.get("buffer"), 0, 20_000, setting.buffer));
  setting.speed = numberWithin(words.get("speed"), 0, 50, setting.speed);
  setting.window = numberWithin(words.get("window"), 1, 100, setting.window);
  setting.queue = words.get("queue") ?? setting.queue;
  const flows = (words.get("flows") ?? "").split(" ").filter((word) => word !== "");
  if (flows.length > 0) {
    setting.flows = setting.flows.map((flow, index) => {
      const word = flows[index];
      if (word === undefined) return { ...flow, on: false };
      const on = !word.startsWith("-");
      return { on, scheme: on ? word : word.slice(1) };
    });
  }
  return setting;
}
