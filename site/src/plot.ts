// The plot of Ratatouille: packets in flight over time, on a canvas.
//
// Own code instead of a chart library: the lines scroll with simulated time, the area between two
// curves is the buffer, and the marks of each flow are below. The plot is redrawn sixty times per
// second, from numbers in a ring buffer.

import { dashPattern, type FlowStyle } from "./catalog";
import { FLOW, LINK, type Rows } from "./rows";

export interface View {
  rows: Rows;
  time: number;
  /** Visible time in seconds. */
  window: number;
  /** Buffer in packets; 0 for no limit. */
  buffer: number;
  styles: FlowStyle[];
  /** Whether the line of each flow is drawn. */
  shown: boolean[];
  dark: boolean;
}

const MARGIN = { left: 62, right: 30, top: 14, bottom: 34 };
const STRIP = 16;

interface Colours {
  paper: string;
  muted: string;
  grid: string;
  area: string;
  ideal: string;
  accelerate: string;
  brake: string;
  mark: string;
}

/** The colours of the report (crates/report/src/style.rs). */
const LIGHT: Colours = {
  paper: "#ffffff", muted: "#59636e", grid: "#e6e9ec", area: "#eef1f4",
  ideal: "#1c2126", accelerate: "#009e73", brake: "#d55e00", mark: "#6a3fa8",
};
const DARK: Colours = {
  paper: "#14181d", muted: "#9aa5b1", grid: "#272e36", area: "#20262d",
  ideal: "#e8ecf0", accelerate: "#2fcb9f", brake: "#ff8a3d", mark: "#b693ea",
};

/**
 * Returns the step of 1, 2 or 5 times a power of ten that divides the range into at most `count`
 * steps.
 */
function niceStep(range: number, count: number): number {
  const raw = range / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= raw) ?? raw;
}

export class Plot {
  private readonly context: CanvasRenderingContext2D;
  /** Top of the vertical axis. It rises at once with the data, and falls slowly. */
  private top = 10;
  /** Flows that have had marks, so that their strips do not appear and disappear. */
  private marked: boolean[] = [];

  constructor(readonly canvas: HTMLCanvasElement) {
    this.context = canvas.getContext("2d", { alpha: false })!;
  }

  /** Resets the adapted axis. */
  reset(): void {
    this.top = 10;
    this.marked = [];
  }

  /**
   * Returns the time between rows: nearly two pixels, because the work per frame grows with the
   * number of rows.
   */
  spacing(window: number): number {
    return window / Math.max(200, Math.min(800, this.canvas.clientWidth * 0.6));
  }

  draw(view: View): void {
    const { canvas, context: c } = this;
    const scale = Math.min(window.devicePixelRatio || 1, 2);
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
    }
    const colours = view.dark ? DARK : LIGHT;
    c.setTransform(scale, 0, 0, scale, 0, 0);
    c.fillStyle = colours.paper;
    c.fillRect(0, 0, width, height);
    const { rows } = view;
    const from = Math.max(0, rows.at(view.time - view.window) - 1);
    this.noteMarks(view, from);
    const strips = this.marked.filter(Boolean).length;
    const bottom = height - MARGIN.bottom - strips * (STRIP + 4);
    this.adapt(view, from);
    const x = (time: number) =>
      MARGIN.left + ((time - view.time) / view.window + 1) * (width - MARGIN.left - MARGIN.right);
    const y = (packets: number) => bottom - (packets / this.top) * (bottom - MARGIN.top);
    c.font = "12px system-ui, sans-serif";
    this.axes(view, colours, { x, y, width, bottom, height });
    c.save();
    c.beginPath();
    c.rect(MARGIN.left, MARGIN.top - 2, width - MARGIN.left - MARGIN.right, bottom - MARGIN.top + 4);
    c.clip();
    this.bands(view, colours, from, x, y, bottom);
    this.lines(view, from, x, y);
    c.restore();
    this.ends(view, y);
    this.strips(view, colours, from, x, bottom, width);
  }

  private noteMarks(view: View, from: number): void {
    const last = view.rows.length - 1;
    for (let flow = 0; flow < view.rows.flows; flow += 1) {
      const of = (row: number) =>
        view.rows.flow(row, flow, FLOW.accelerated) +
        view.rows.flow(row, flow, FLOW.braked) +
        view.rows.flow(row, flow, FLOW.marked);
      this.marked[flow] = last > from && view.shown[flow] === true && of(last) > 0;
    }
  }

  /** Adapts the top of the axis: above all visible data, and not more than twice that for long. */
  private adapt(view: View, from: number): void {
    const { rows } = view;
    let highest = 4;
    for (let row = from; row < rows.length; row += 2) {
      highest = Math.max(highest, rows.link(row, LINK.ideal) * 1.1);
      for (let flow = 0; flow < rows.flows; flow += 1) {
        if (view.shown[flow]) highest = Math.max(highest, rows.flow(row, flow, FLOW.inFlight) * 1.05);
      }
    }
    const last = rows.length - 1;
    const line = last >= 0 && view.buffer > 0 ? rows.link(last, LINK.ideal) + view.buffer : 0;
    if (line < 3 * highest) highest = Math.max(highest, line * 1.05);
    if (highest > this.top) this.top = highest;
    else this.top += (highest - this.top) * 0.04;
  }

  private axes(
    view: View,
    colours: Colours,
    at: { x(time: number): number; y(packets: number): number; width: number; bottom: number; height: number },
  ): void {
    const { context: c } = this;
    c.lineWidth = 1;
    c.strokeStyle = colours.grid;
    c.fillStyle = colours.muted;
    c.textAlign = "right";
    c.textBaseline = "middle";
    const step = niceStep(this.top, 6);
    for (let packets = 0; packets <= this.top; packets += step) {
      const y = Math.round(at.y(packets)) + 0.5;
      c.beginPath();
      c.moveTo(MARGIN.left, y);
      c.lineTo(at.width - MARGIN.right, y);
      c.stroke();
      c.fillText(String(Number(packets.toPrecision(6))), MARGIN.left - 6, y);
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
    c.fillText("packets in flight", 0, 0);
    c.restore();
  }

  /**
   * Draws the area between the bandwidth-delay product and the capacity with buffer, and both
   * lines.
   */
  private bands(
    view: View,
    colours: Colours,
    from: number,
    x: (time: number) => number,
    y: (packets: number) => number,
    bottom: number,
  ): void {
    const { context: c } = this;
    const { rows } = view;
    const ideal = new Path2D();
    const full = new Path2D();
    const area = new Path2D();
    for (let row = from; row < rows.length; row += 1) {
      const [at, packets] = [x(rows.link(row, LINK.time)), rows.link(row, LINK.ideal)];
      if (row === from) area.moveTo(at, bottom);
      ideal.lineTo(at, y(packets));
      if (view.buffer > 0) {
        full.lineTo(at, y(packets + view.buffer));
        area.lineTo(at, y(packets + view.buffer));
      }
    }
    if (rows.length > 0 && view.buffer > 0) {
      area.lineTo(x(view.time), bottom);
      c.fillStyle = colours.area;
      c.fill(area);
      c.strokeStyle = colours.muted;
      c.lineWidth = 1.5;
      c.setLineDash([4, 4]);
      c.stroke(full);
    }
    c.setLineDash([]);
    c.strokeStyle = colours.ideal;
    c.lineWidth = 2.5;
    c.stroke(ideal);
  }

  private lines(view: View, from: number, x: (time: number) => number, y: (packets: number) => number): void {
    const { context: c } = this;
    const { rows } = view;
    c.lineWidth = 1.75;
    c.lineJoin = "round";
    for (let flow = 0; flow < rows.flows; flow += 1) {
      if (!view.shown[flow]) continue;
      const style = view.styles[flow]!;
      c.strokeStyle = view.dark ? style.dark : style.light;
      c.setLineDash(dashPattern(style.dash));
      c.beginPath();
      for (let row = from; row < rows.length; row += 1) {
        c.lineTo(x(rows.link(row, LINK.time)), y(rows.flow(row, flow, FLOW.inFlight)));
      }
      c.stroke();
    }
    c.setLineDash([]);
  }

  /** Draws the number of each flow at the end of its line. */
  private ends(view: View, y: (packets: number) => number): void {
    const { context: c } = this;
    const { rows } = view;
    const last = rows.length - 1;
    if (last < 0) return;
    const labels = [];
    for (let flow = 0; flow < rows.flows; flow += 1) {
      if (view.shown[flow]) labels.push({ flow, at: y(Math.min(rows.flow(last, flow, FLOW.inFlight), this.top)) });
    }
    labels.sort((one, other) => one.at - other.at);
    c.textAlign = "left";
    c.textBaseline = "middle";
    c.font = "600 12px system-ui, sans-serif";
    let lowest = -Infinity;
    for (const label of labels) {
      const at = Math.max(label.at, lowest + 13);
      lowest = at;
      const style = view.styles[label.flow]!;
      c.fillStyle = view.dark ? style.dark : style.light;
      c.fillText(String(label.flow + 1), this.canvas.clientWidth - MARGIN.right + 6, at);
    }
    c.font = "12px system-ui, sans-serif";
  }

  /**
   * Draws for each flow with marks, over time: accelerates and brakes, or the share of CE marks.
   */
  private strips(
    view: View,
    colours: Colours,
    from: number,
    x: (time: number) => number,
    bottom: number,
    width: number,
  ): void {
    const { context: c } = this;
    const { rows } = view;
    let top = bottom + 6;
    const columns = 120;
    for (let flow = 0; flow < rows.flows; flow += 1) {
      if (!this.marked[flow]) continue;
      c.fillStyle = colours.grid;
      c.fillRect(MARGIN.left, top, width - MARGIN.left - MARGIN.right, STRIP);
      const each = view.window / columns;
      const start = Math.floor((view.time - view.window) / each);
      let row = from;
      for (let n = start; n <= start + columns; n += 1) {
        const until = Math.min((n + 1) * each, view.time);
        const begin = row;
        while (row < rows.length - 1 && rows.link(row, LINK.time) < until) row += 1;
        const grown = (column: number) =>
          Math.max(0, rows.flow(row, flow, column) - rows.flow(begin, flow, column));
        const [fast, slow, marks] = [grown(FLOW.accelerated), grown(FLOW.braked), grown(FLOW.marked)];
        const left = Math.max(MARGIN.left, x(n * each));
        const wide = Math.min(x((n + 1) * each), width - MARGIN.right) - left;
        if (fast + slow > 0) {
          const high = (STRIP * fast) / (fast + slow);
          c.fillStyle = colours.brake;
          c.fillRect(left, top, wide, STRIP - high);
          c.fillStyle = colours.accelerate;
          c.fillRect(left, top + STRIP - high, wide, high);
        } else if (marks > 0) {
          c.fillStyle = colours.mark;
          const high = Math.max(3, Math.min(STRIP, marks));
          c.fillRect(left, top + STRIP - high, Math.max(wide, 1), high);
        }
      }
      c.fillStyle = colours.muted;
      c.textAlign = "right";
      c.textBaseline = "middle";
      c.fillText(`marks ${flow + 1}`, MARGIN.left - 4, top + STRIP / 2);
      top += STRIP + 4;
    }
  }
}
