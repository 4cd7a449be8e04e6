// A link that is drawn by hand: a rate for each second, which then repeats.

import { announce, byId, saveFile } from "./dom";
import { makeSlider, type Slider } from "./sliders";
import { readRate, readSeconds } from "./units";

/** Name of the drawn link among the traces; its ending says the format. */
export const DRAWN = "drawn.csv";
/** Length of a drawn link in seconds, and its highest rate and steps in Mbit/s. */
const SECONDS = 20;
const HIGHEST = 24;
const STEP = 0.5;
/** Time after the last change by a slider until a run begins with the new link, in milliseconds. */
const PAUSE = 400;

/** Returns the link as a table that `paceline` reads. */
export function drawnTable(rates: number[]): string {
  return `time_ms,mbps\n${rates.map((rate, second) => `${1000 * second},${rate}\n`).join("")}`;
}

/** Returns a drawn link as a word of an address: rates with a space between them. */
export const writeDrawn = (rates: number[]): string => rates.join(" ");

/** Reads such a word; a word that has no link becomes no link. */
export function readDrawn(word: string | null): number[] {
  const rates = (word ?? "").split(" ").filter((rate) => rate !== "").map(Number);
  const fits = (rate: number) => Number.isFinite(rate) && rate >= 0 && rate <= HIGHEST;
  return rates.length === SECONDS && rates.every(fits) ? rates : [];
}

const SVG = "http://www.w3.org/2000/svg";

/** The panel: a drawing for the pointer, and two sliders for the keyboard. */
export class DrawPanel {
  private rates: number[] = [];
  private second = 0;
  private timer = 0;
  private readonly drawing = byId<HTMLElement>("draw-link");
  private readonly bars: SVGRectElement[] = [];
  private readonly sliders: { second: Slider; rate: Slider };

  /** `use` is called with the rates after each change; `rate` returns the rate with which a drawing begins. */
  constructor(private readonly use: (rates: number[]) => void, private readonly rate: () => number) {
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", `0 0 ${SECONDS} ${HIGHEST}`);
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("aria-hidden", "true");
    for (let second = 0; second < SECONDS; second += 1) {
      const bar = document.createElementNS(SVG, "rect");
      bar.setAttribute("x", String(second));
      bar.setAttribute("width", "1");
      svg.append(bar);
      this.bars.push(bar);
    }
    this.drawing.append(svg);
    this.sliders = {
      second: makeSlider({
        id: "draw-second", label: "Second", low: 1, high: SECONDS, values: this.bars.map((_, second) => second + 1),
        text: (value) => `${value} s`, examples: "3 s",
        read: (text) => Math.round(readSeconds(text) ?? NaN) || null,
        changed: (value) => {
          this.second = value - 1;
          this.show();
        },
      }),
      rate: makeSlider({
        id: "draw-rate", label: "Rate in this second", low: 0, high: HIGHEST,
        values: Array.from({ length: HIGHEST / STEP + 1 }, (_, step) => step * STEP),
        text: (value) => `${value} Mbit/s`, read: readRate, examples: "3 or 500 kbit/s",
        changed: (value) => {
          this.begin();
          this.rates[this.second] = value;
          this.show();
          clearTimeout(this.timer);
          this.timer = window.setTimeout(() => this.finish(), PAUSE);
        },
      }),
    };
    byId("draw-sliders").append(this.sliders.second.node, this.sliders.rate.node);
    byId("draw-save").addEventListener("click", () => {
      this.begin();
      saveFile(DRAWN, "text/csv", drawnTable(this.rates));
    });
    this.listen();
    this.set([]);
  }

  private listen(): void {
    let last: { second: number; rate: number } | null = null;
    const paint = (event: PointerEvent) => {
      const box = this.drawing.getBoundingClientRect();
      const part = (at: number, size: number) => Math.min(Math.max(at / size, 0), 1);
      const second = Math.min(Math.floor(SECONDS * part(event.clientX - box.left, box.width)), SECONDS - 1);
      const height = HIGHEST * (1 - part(event.clientY - box.top, box.height));
      const rate = Math.round(height / STEP) * STEP;
      // A fast pointer skips seconds: these get rates between both.
      const from = last ?? { second, rate };
      const steps = Math.abs(second - from.second);
      for (let step = 0; step <= steps; step += 1) {
        const share = steps === 0 ? 1 : step / steps;
        const between = from.rate + share * (rate - from.rate);
        this.rates[from.second + Math.sign(second - from.second) * step] = Math.round(between / STEP) * STEP;
      }
      last = { second, rate };
      this.second = second;
      this.show();
    };
    this.drawing.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      this.drawing.setPointerCapture(event.pointerId);
      this.begin();
      last = null;
      paint(event);
    });
    this.drawing.addEventListener("pointermove", (event) => {
      if (this.drawing.hasPointerCapture(event.pointerId)) paint(event);
    });
    this.drawing.addEventListener("lostpointercapture", () => this.finish());
  }

  /** A drawing begins with the present rate in all seconds. */
  private begin(): void {
    if (this.rates.length > 0) return;
    const start = Math.min(Math.max(STEP, Math.round(this.rate() / STEP) * STEP), HIGHEST);
    this.rates = Array.from({ length: SECONDS }, () => start);
  }

  private finish(): void {
    clearTimeout(this.timer);
    this.use([...this.rates]);
    announce(`The link is drawn by hand: ${this.rates.join(", ")} Mbit/s.`);
  }

  /** Shows a link from elsewhere; without rates the drawing is empty. */
  set(rates: number[]): void {
    this.rates = [...rates];
    this.show();
  }

  private show(): void {
    for (const [second, bar] of this.bars.entries()) {
      const rate = this.rates[second] ?? 0;
      bar.setAttribute("y", String(HIGHEST - rate));
      bar.setAttribute("height", String(rate));
      bar.classList.toggle("chosen", second === this.second && this.rates.length > 0);
    }
    this.sliders.second.set(this.second + 1);
    this.sliders.rate.set(this.rates[this.second] ?? 0);
  }
}
