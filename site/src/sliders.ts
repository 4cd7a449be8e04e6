// Sliders over lists of values that people say, each with a field that takes any value.

import { announce, element } from "./dom";

export interface Slider {
  readonly node: HTMLElement;
  set(value: number): void;
  enable(on: boolean): void;
}

interface SliderSpec {
  id: string;
  label: string;
  /** Values of the slider's positions, ascending. */
  values: number[];
  low: number;
  high: number;
  /** Writes a value with its unit. */
  text(value: number): string;
  /** Reads a value as a user writes it; null if it is none. */
  read(text: string): number | null;
  /** Examples of values, for the field's description; a function if they depend on other values. */
  examples: string | (() => string);
  /** True if `value` may be set although it is outside `low..high`, such as zero for no limit. */
  also?(value: number): boolean;
  changed(value: number): void;
}

/** Steps in each power of ten: round numbers, at most a quarter apart. */
const ROUND = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8];

/** Returns the round numbers from `low` to `high`. */
export function roundValues(low: number, high: number): number[] {
  const values = [low];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1) {
    for (const factor of ROUND) {
      const value = Number((factor * 10 ** power).toPrecision(3));
      if (value > low && value < high) values.push(value);
    }
  }
  return [...values, high];
}

/** Returns a slider with a field. */
export function makeSlider(spec: SliderSpec): Slider {
  // A list has few values, in a range of many powers of ten: the nearest is that by ratio.
  const distance = (one: number, other: number) =>
    one > 0 && other > 0 ? Math.abs(Math.log(one / other)) : one === other ? 0 : Infinity;
  const nearest = (value: number) => {
    const distances = spec.values.map((listed) => distance(listed, value));
    return distances.indexOf(Math.min(...distances));
  };
  const examples = () => (typeof spec.examples === "string" ? spec.examples : spec.examples());
  let present = spec.values[0]!;
  const range = element("input", {
    type: "range", id: spec.id, min: "0", max: String(spec.values.length - 1), step: "1",
    oninput: () => apply(spec.values[Number(range.value)]!),
  });
  const problem = element("span", { class: "problem", id: `${spec.id}-problem`, hidden: true });
  const field = element("input", {
    type: "text", id: `${spec.id}-value`, class: "value", "aria-label": `${spec.label}, value`,
    "aria-describedby": `${spec.id}-problem`, autocomplete: "off", spellcheck: false,
    title: `Any value, for example ${examples()}`,
    onfocus: () => field.select(),
    onchange: () => enter(),
    onkeydown: (event: Event) => {
      const { key } = event as KeyboardEvent;
      // A field outside of a form: Enter takes the value, Escape the one of before.
      if (key === "Enter") enter();
      if (key === "Escape") show();
    },
  });
  function show(): void {
    const text = spec.text(present);
    field.value = text;
    range.value = String(nearest(present));
    range.setAttribute("aria-valuetext", text);
    complain("");
  }
  function complain(text: string): void {
    problem.textContent = text;
    problem.hidden = text === "";
    field.toggleAttribute("aria-invalid", text !== "");
    if (text !== "") field.setAttribute("aria-invalid", "true");
  }
  function apply(value: number): void {
    present = value;
    show();
    spec.changed(value);
  }
  function enter(): void {
    if (field.value === spec.text(present)) return complain("");
    const value = spec.read(field.value);
    const fits = value !== null && ((value >= spec.low && value <= spec.high) || spec.also?.(value) === true);
    if (!fits) {
      return complain(`Expected ${spec.text(spec.low)} to ${spec.text(spec.high)}, for example ${examples()}.`);
    }
    apply(Number(value.toPrecision(4)));
    announce(`${spec.label}: ${spec.text(present)}`);
  }
  return {
    node: element("div", { class: "slider" }, element("label", { for: spec.id }, spec.label), field, range, problem),
    set(value) {
      present = value;
      show();
    },
    enable(on) {
      range.disabled = field.disabled = !on;
    },
  };
}
