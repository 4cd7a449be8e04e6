// Further plots over time: what each flow delivers, its round-trip time, its window, and the queue.

import {
  clearCanvas, clipTo, coloursOf, drawAxes, drawEndLabels, lineLabel, makeFrame, MARGIN, type Colours, type Frame, type View,
} from "./canvas";
import { dashPattern } from "./catalog";
import { FLOW, LINK } from "./rows";

/** Quantities that the further plots show. */
export const SERIES = {
  throughput: { title: "Throughput", axis: "Mbit/s", says: "of each flow, and the link's capacity" },
  delay: { title: "Round-trip time", axis: "ms", says: "of each flow, and that of the empty path" },
  window: { title: "Window", axis: "packets", says: "congestion window of each flow" },
  queue: { title: "Queue", axis: "packets", says: "packets in the buffer, and its size" },
} as const;
export type SeriesName = keyof typeof SERIES;

/** Bits of a packet, in millions. */
const PACKET_MBIT = 0.012;
/** Shortest bin of throughput in seconds. */
const SHORTEST_BIN = 0.02;

export class SeriesPlot {
  private readonly context: CanvasRenderingContext2D;
  private top = 1;

  constructor(
    readonly canvas: HTMLCanvasElement,
    readonly name: SeriesName,
  ) {
    this.context = canvas.getContext("2d", { alpha: false })!;
  }

  reset(): void {
    this.top = 1;
  }

  draw(view: View): void {
    const { context: c } = this;
    const colours = coloursOf(view.dark);
    const [width, height] = clearCanvas(this.canvas, c, colours.paper);
    if (width === 0) return;
    const from = Math.max(0, view.rows.at(view.time - view.window) - 1);
    const lines = this.lines(view, from, width);
    const reference = this.reference(view, from);
    const largest = (points: number[]) => points.reduce((most, value, at) => (at % 2 ? Math.max(most, value) : most), 0);
    let highest = Math.max(this.name === "throughput" ? 0.1 : 4, ...lines.map((line) => largest(line.points) * 1.06));
    // A reference far above the data, such as a large buffer, does not flatten them.
    const compared = largest(reference) * 1.06;
    if (compared < 3 * highest) highest = Math.max(highest, compared);
    if (highest > this.top) this.top = highest;
    else this.top += (highest - this.top) * 0.04;
    const frame = makeFrame(view, width, height, height - MARGIN.bottom, this.top);
    drawAxes(c, view, colours, frame, SERIES[this.name].axis);
    clipTo(c, frame);
    this.stroke(reference, frame, colours.ideal, this.name === "queue" ? [4, 4] : [10, 3, 2, 3], 1.5);
    for (const line of lines) {
      if (line.filled) this.fill(line.points, frame, colours);
      this.stroke(line.points, frame, line.colour || colours.ideal, line.dash, 1.75);
    }
    c.restore();
    const labels = lines.filter((line) => line.label !== "" && line.points.length > 0).map((line) => ({
      text: line.label, colour: line.colour, at: frame.y(Math.min(line.points.at(-1)!, this.top)),
    }));
    drawEndLabels(c, frame, labels);
  }

  /** Returns the lines: times and values in turn. */
  private lines(view: View, from: number, width: number): { points: number[]; colour: string; dash: number[]; label: string; filled?: true }[] {
    const { rows } = view;
    if (this.name === "queue") {
      const points: number[] = [];
      for (let row = from; row < rows.length; row += 1) points.push(rows.link(row, LINK.time), rows.queue(row));
      return [{ points, colour: "", dash: [], label: "", filled: true }];
    }
    const lines = [];
    for (let flow = 0; flow < rows.flows; flow += 1) {
      if (!view.shown[flow]) continue;
      const style = view.styles[flow]!;
      const points = this.name === "throughput" ? this.rates(view, from, flow) : this.column(view, from, flow);
      lines.push({
        points, colour: view.dark ? style.dark : style.light, dash: dashPattern(style.dash), label: lineLabel(view, flow, width),
      });
    }
    return lines;
  }

  private column(view: View, from: number, flow: number): number[] {
    const column = this.name === "delay" ? FLOW.rtt : FLOW.cwnd;
    const points: number[] = [];
    for (let row = from; row < view.rows.length; row += 1) {
      const value = view.rows.flow(row, flow, column);
      // Before its first sample a flow has no RTT; a scheme that only paces has no window.
      if (value > 0) points.push(view.rows.link(row, LINK.time), value);
    }
    return points;
  }

  /** Returns a flow's throughput in bins, whose borders stay at their times while the plot scrolls. */
  private rates(view: View, from: number, flow: number): number[] {
    const { rows } = view;
    const bin = Math.max(SHORTEST_BIN, view.window / 50);
    const points: number[] = [];
    let row = from;
    for (let n = Math.floor((view.time - view.window) / bin); (n + 1) * bin <= view.time; n += 1) {
      while (row < rows.length - 1 && rows.link(row, LINK.time) < n * bin) row += 1;
      const first = row;
      while (row < rows.length - 1 && rows.link(row, LINK.time) < (n + 1) * bin) row += 1;
      const seconds = rows.link(row, LINK.time) - rows.link(first, LINK.time);
      if (row >= rows.length || !(seconds > bin / 2)) continue;
      const packets = rows.flow(row, flow, FLOW.delivered) - rows.flow(first, flow, FLOW.delivered);
      // A flow that was started anew counts from zero.
      const rate = packets >= 0 ? (packets * PACKET_MBIT) / seconds : 0;
      points.push((n + 0.5) * bin, rate);
    }
    return points;
  }

  /** Returns the line to compare with: capacity, RTT of the empty path, or buffer. */
  private reference(view: View, from: number): number[] {
    const { rows } = view;
    const points: number[] = [];
    for (let row = from; row < rows.length; row += 1) {
      const time = rows.link(row, LINK.time);
      if (this.name === "throughput") points.push(time, rows.link(row, LINK.capacity));
      else if (this.name === "delay") points.push(time, view.rtt);
      else if (this.name === "queue" && view.buffer > 0) points.push(time, view.buffer);
    }
    return points;
  }

  private stroke(points: number[], { x, y }: Frame, colour: string, dash: number[], width: number): void {
    const { context: c } = this;
    c.strokeStyle = colour;
    c.lineWidth = width;
    c.lineJoin = "round";
    c.setLineDash(dash);
    c.beginPath();
    for (let at = 0; at < points.length; at += 2) c.lineTo(x(points[at]!), y(points[at + 1]!));
    c.stroke();
    c.setLineDash([]);
  }

  private fill(points: number[], { x, y }: Frame, colours: Colours): void {
    if (points.length === 0) return;
    const { context: c } = this;
    c.fillStyle = colours.queue;
    c.beginPath();
    c.moveTo(x(points[0]!), y(0));
    for (let at = 0; at < points.length; at += 2) c.lineTo(x(points[at]!), y(points[at + 1]!));
    c.lineTo(x(points.at(-2)!), y(0));
    c.fill();
  }
}
