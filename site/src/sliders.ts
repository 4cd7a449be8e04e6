// Sliders with units: logarithmic if the range spans several powers of ten.

import { element, formatShort } from "./dom";

export interface Slider {
  readonly node: HTMLElement;
  set(value: number): void;
  enable(on: boolean): void;
}

interface SliderSpec {
  id: string;
  label: string;
  /** Number of positions of the slider. */
  places: number;
  value(place: number): number;
  place(value: number): number;
  text(value: number): string;
  changed(value: number): void;
}

function makeSlider(spec: SliderSpec): Slider {
  const output = element("output", { for: spec.id });
  const input = element("input", {
    type: "range", id: spec.id, min: "0", max: String(spec.places), step: "1",
    oninput: () => {
      const value = spec.value(Number(input.value));
      show(value);
      spec.changed(value);
    },
  });
  function show(value: number): void {
    output.textContent = spec.text(value);
    input.setAttribute("aria-valuetext", spec.text(value));
  }
  return {
    node: element("div", { class: "slider" }, element("label", { for: spec.id }, spec.label), output, input),
    set(value) {
      input.value = String(Math.round(spec.place(value)));
      show(value);
    },
    enable(on) {
      input.disabled = !on;
    },
  };
}

/** Returns a slider from `low` to `high` whose positions differ by a constant factor. */
export function logarithmicSlider(
  of: { id: string; label: string; low: number; high: number; unit: string; changed(value: number): void },
): Slider {
  const places = 200;
  const ratio = of.high / of.low;
  return makeSlider({
    ...of,
    places,
    // About three digits, so that values are easy to read.
    value: (place) => Number((of.low * ratio ** (place / places)).toPrecision(3)),
    place: (value) => (Math.log(value / of.low) / Math.log(ratio)) * places,
    text: (value) => `${formatShort(value)} ${of.unit}`,
  });
}

/** Returns a slider over a list of values. */
export function steppedSlider(
  of: { id: string; label: string; values: number[]; text(value: number): string; changed(value: number): void },
): Slider {
  const nearest = (value: number) => {
    const distance = of.values.map((known) => Math.abs(known - value));
    return distance.indexOf(Math.min(...distance));
  };
  return makeSlider({
    ...of,
    places: of.values.length - 1,
    value: (place) => of.values[place]!,
    place: nearest,
  });
}
