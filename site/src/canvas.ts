// What the plots share: colours, sizes, axes, and labels at the ends of lines.

import type { FlowStyle } from "./catalog";
import type { Rows } from "./rows";

/** What the plots show. */
export interface View {
  rows: Rows;
  time: number;
  /** Visible time in seconds. */
  window: number;
  /** Buffer in packets; 0 for no limit. */
  buffer: number;
  /** Round-trip time of the path without a queue, in milliseconds. */
  rtt: number;
  styles: FlowStyle[];
  /** Names of the flows' schemes. */
  names: string[];
  /** Whether the line of each flow is drawn. */
  shown: boolean[];
  dark: boolean;
}

export const MARGIN = { left: 62, top: 14, bottom: 34 };
/** Width from which on a plot has room for the names of schemes beside its lines. */
const ROOM = 700;
/** Most letters of such a name. */
const LETTERS = 9;

/** Returns the margin on the right, for the labels at the ends of lines. */
export const rightMargin = (width: number): number => (width < ROOM ? 30 : 96);

/** Returns the label of a flow's line: its number, and its scheme where there is room. */
export function lineLabel(view: View, flow: number, width: number): string {
  const name = view.names[flow] ?? "";
  const short = name.length > LETTERS ? `${name.slice(0, LETTERS - 1)}…` : name;
  return width < ROOM ? String(flow + 1) : `${flow + 1} ${short}`;
}

export interface Colours {
  paper: string;
  muted: string;
  grid: string;
  area: string;
  queue: string;
  ideal: string;
  accelerate: string;
  brake: string;
  mark: string;
}

/** The colours of the report (crates/report/src/style.rs). */
const LIGHT: Colours = {
  paper: "#ffffff", muted: "#59636e", grid: "#e6e9ec", area: "#eef1f4", queue: "#f3d9b8",
  ideal: "#1c2126", accelerate: "#009e73", brake: "#d55e00", mark: "#6a3fa8",
};
const DARK: Colours = {
  paper: "#14181d", muted: "#9aa5b1", grid: "#272e36", area: "#20262d", queue: "#54401f",
  ideal: "#e8ecf0", accelerate: "#2fcb9f", brake: "#ff8a3d", mark: "#b693ea",
};

export function coloursOf(dark: boolean): Colours {
  return dark ? DARK : LIGHT;
}

/**
 * Returns the step of 1, 2 or 5 times a power of ten that divides the range into at most `count`
 * steps.
 */
export function niceStep(range: number, count: number): number {
  const raw = range / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= raw) ?? raw;
}

/** Fits a canvas to its place in the page, and clears it; returns its width and height. */
export function clearCanvas(canvas: HTMLCanvasElement, c: CanvasRenderingContext2D, paper: string): [number, number] {
  const scale = Math.min(window.devicePixelRatio || 1, 2);
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  c.setTransform(scale, 0, 0, scale, 0, 0);
  c.fillStyle = paper;
  c.fillRect(0, 0, width, height);
  c.font = "12px system-ui, sans-serif";
  return [width, height];
}

/** The place of a plot in its canvas, and its scales. */
export interface Frame {
  x(time: number): number;
  y(value: number): number;
  width: number;
  height: number;
  /** Lower end of the plot; below it are marks and the labels of times. */
  bottom: number;
  /** Value at the upper end. */
  top: number;
}

export function makeFrame(view: View, width: number, height: number, bottom: number, top: number): Frame {
  return {
    x: (time) => MARGIN.left + ((time - view.time) / view.window + 1) * (width - MARGIN.left - rightMargin(width)),
    y: (value) => bottom - (value / top) * (bottom - MARGIN.top),
    width, height, bottom, top,
  };
}

/** Draws the grid with values and times, and the name of the vertical axis. */
export function drawAxes(c: CanvasRenderingContext2D, view: View, colours: Colours, at: Frame, name: string): void {
  c.lineWidth = 1;
  c.strokeStyle = colours.grid;
  c.fillStyle = colours.muted;
  c.textAlign = "right";
  c.textBaseline = "middle";
  const step = niceStep(at.top, Math.max(2, Math.min(6, (at.bottom - MARGIN.top) / 28)));
  for (let value = 0; value <= at.top; value += step) {
    const y = Math.round(at.y(value)) + 0.5;
    c.beginPath();
    c.moveTo(MARGIN.left, y);
    c.lineTo(at.width - rightMargin(at.width), y);
    c.stroke();
    c.fillText(String(Number(value.toPrecision(6))), MARGIN.left - 6, y);
  }
  c.textAlign = "center";
  c.textBaseline = "top";
  const seconds = niceStep(view.window, Math.max(3, Math.min(10, at.width / 110)));
  for (let n = Math.ceil((view.time - view.window) / seconds); n * seconds <= view.time; n += 1) {
    const x = Math.round(at.x(n * seconds)) + 0.5;
    if (x < MARGIN.left || n < 0) continue;
    c.beginPath();
    c.moveTo(x, MARGIN.top);
    c.lineTo(x, at.bottom);
    c.stroke();
    c.fillText(`${Number((n * seconds).toPrecision(6))} s`, x, at.height - MARGIN.bottom + 6);
  }
  c.save();
  c.translate(11, (MARGIN.top + at.bottom) / 2);
  c.rotate(-Math.PI / 2);
  c.textBaseline = "middle";
  c.fillText(name, 0, 0);
  c.restore();
}

/** Limits further drawing to the plot, until `restore`. */
export function clipTo(c: CanvasRenderingContext2D, at: Frame): void {
  c.save();
  c.beginPath();
  c.rect(MARGIN.left, MARGIN.top - 2, at.width - MARGIN.left - rightMargin(at.width), at.bottom - MARGIN.top + 4);
  c.clip();
}

export interface EndLabel {
  text: string;
  colour: string;
  /** Vertical place of the line's end. */
  at: number;
}

/** Vertical distance between two labels. */
const LABEL = 13;

/** Draws a label at the end of each line; labels stay apart, and between top and bottom of the plot. */
export function drawEndLabels(c: CanvasRenderingContext2D, frame: Frame, labels: EndLabel[]): void {
  labels.sort((one, other) => one.at - other.at);
  let highest = MARGIN.top;
  for (const label of labels) {
    label.at = Math.max(label.at, highest);
    highest = label.at + LABEL;
  }
  let lowest = frame.bottom - 5;
  for (const label of [...labels].reverse()) {
    label.at = Math.min(label.at, lowest);
    lowest = label.at - LABEL;
  }
  c.textAlign = "left";
  c.textBaseline = "middle";
  c.font = "600 12px system-ui, sans-serif";
  for (const label of labels) {
    c.fillStyle = label.colour;
    c.fillText(label.text, frame.width - rightMargin(frame.width) + 6, label.at);
  }
  c.font = "12px system-ui, sans-serif";
}
