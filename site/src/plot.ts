// The plot of Ratatouille: packets in flight over time, of each flow and of all, on a canvas.
//
// Own code instead of a chart library: the lines scroll with simulated time, areas between two
// curves are the buffer and the queue in it, and the marks of each flow are below. The plot is
// redrawn sixty times per second, from numbers in a ring buffer.

import {
  clearCanvas, clipTo, coloursOf, drawAxes, drawEndLabels, lineLabel, makeFrame, MARGIN, type Colours, type Frame, type View,
} from "./canvas";
import { dashPattern } from "./catalog";
import { MarkStrips, type MarkKinds } from "./marks";
import { FLOW, LINK } from "./rows";

/** Pixels between two marks of losses on a line. */
const LOSS_SPACING = 7;

export class Plot {
  private readonly context: CanvasRenderingContext2D;
  private readonly marks = new MarkStrips();
  /** Top of the vertical axis. It rises at once with the data, and falls slowly. */
  private top = 10;

  constructor(readonly canvas: HTMLCanvasElement) {
    this.context = canvas.getContext("2d", { alpha: false })!;
  }

  /** Resets the adapted axis. */
  reset(): void {
    this.top = 10;
    this.marks.reset();
  }

  /**
   * Returns the time between rows: nearly two pixels, because the work per frame grows with the
   * number of rows.
   */
  spacing(window: number): number {
    return window / Math.max(200, Math.min(800, this.canvas.clientWidth * 0.6));
  }

  /** Returns the kinds of marks that the last drawing showed. */
  kinds(view: View): MarkKinds {
    return this.marks.kinds(view);
  }

  draw(view: View): void {
    const { canvas, context: c } = this;
    const colours = coloursOf(view.dark);
    const [width, height] = clearCanvas(canvas, c, colours.paper);
    const from = Math.max(0, view.rows.at(view.time - view.window) - 1);
    const bottom = height - MARGIN.bottom - this.marks.note(view, from);
    const several = view.shown.filter(Boolean).length > 1;
    this.adapt(view, from);
    const frame = makeFrame(view, width, height, bottom, this.top);
    drawAxes(c, view, colours, frame, "packets in flight");
    clipTo(c, frame);
    this.bands(view, colours, from, frame);
    this.lines(view, from, frame);
    if (several) this.total(view, colours, from, frame);
    c.restore();
    this.ends(view, colours, frame, several);
    this.marks.draw(c, view, colours, from, frame);
  }

  /** Adapts the top of the axis: above all visible data, and not more than twice that for long. */
  private adapt(view: View, from: number): void {
    const { rows } = view;
    let highest = 4;
    for (let row = from; row < rows.length; row += 2) {
      highest = Math.max(highest, rows.link(row, LINK.ideal) * 1.1, rows.total(row) * 1.05);
    }
    const last = rows.length - 1;
    const line = last >= 0 && view.buffer > 0 ? rows.link(last, LINK.ideal) + view.buffer : 0;
    if (line < 3 * highest) highest = Math.max(highest, line * 1.05);
    if (highest > this.top) this.top = highest;
    else this.top += (highest - this.top) * 0.04;
  }

  /**
   * Draws the bandwidth-delay product, above it the area of the buffer with its upper limit, and in
   * this area the queue.
   */
  private bands(view: View, colours: Colours, from: number, { x, y }: Frame): void {
    const { context: c } = this;
    const { rows } = view;
    if (rows.length === 0) return;
    const ideal = new Path2D();
    const full = new Path2D();
    const buffer = new Path2D();
    const queue = new Path2D();
    for (let row = from; row < rows.length; row += 1) {
      const [at, packets] = [x(rows.link(row, LINK.time)), rows.link(row, LINK.ideal)];
      ideal.lineTo(at, y(packets));
      queue.lineTo(at, y(packets + rows.queue(row)));
      if (view.buffer > 0) {
        full.lineTo(at, y(packets + view.buffer));
        buffer.lineTo(at, y(packets + view.buffer));
      }
    }
    // Back along the product, so that both areas lie above it.
    for (let row = rows.length - 1; row >= from; row -= 1) {
      const [at, packets] = [x(rows.link(row, LINK.time)), y(rows.link(row, LINK.ideal))];
      queue.lineTo(at, packets);
      if (view.buffer > 0) buffer.lineTo(at, packets);
    }
    if (view.buffer > 0) {
      c.fillStyle = colours.area;
      c.fill(buffer);
    }
    c.fillStyle = colours.queue;
    c.fill(queue);
    if (view.buffer > 0) {
      c.strokeStyle = colours.muted;
      c.lineWidth = 1.5;
      c.setLineDash([4, 4]);
      c.stroke(full);
    }
    c.setLineDash([10, 3, 2, 3]);
    c.strokeStyle = colours.ideal;
    c.lineWidth = 2;
    c.stroke(ideal);
    c.setLineDash([]);
  }

  private lines(view: View, from: number, frame: Frame): void {
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
        c.lineTo(frame.x(rows.link(row, LINK.time)), frame.y(rows.flow(row, flow, FLOW.inFlight)));
      }
      c.stroke();
      c.setLineDash([]);
      this.losses(view, from, flow, frame);
    }
  }

  /** Draws a cross on a flow's line where it has found packets lost. */
  private losses(view: View, from: number, flow: number, frame: Frame): void {
    const { context: c } = this;
    const { rows } = view;
    let last = -Infinity;
    c.beginPath();
    for (let row = Math.max(from, 1); row < rows.length; row += 1) {
      if (rows.flow(row, flow, FLOW.lost) <= rows.flow(row - 1, flow, FLOW.lost)) continue;
      const at = frame.x(rows.link(row, LINK.time));
      if (at - last < LOSS_SPACING) continue;
      last = at;
      const y = frame.y(rows.flow(row, flow, FLOW.inFlight));
      c.moveTo(at - 3.5, y - 3.5);
      c.lineTo(at + 3.5, y + 3.5);
      c.moveTo(at - 3.5, y + 3.5);
      c.lineTo(at + 3.5, y - 3.5);
    }
    c.stroke();
  }

  /** Draws the packets in flight of all flows together. */
  private total(view: View, colours: Colours, from: number, frame: Frame): void {
    const { context: c } = this;
    const { rows } = view;
    c.strokeStyle = colours.ideal;
    c.lineWidth = 2.5;
    c.beginPath();
    for (let row = from; row < rows.length; row += 1) {
      c.lineTo(frame.x(rows.link(row, LINK.time)), frame.y(rows.total(row)));
    }
    c.stroke();
  }

  /** Draws the number of each flow, with its scheme where there is room, at the end of its line, and a sign at that of their sum. */
  private ends(view: View, colours: Colours, frame: Frame, several: boolean): void {
    const { rows } = view;
    const last = rows.length - 1;
    if (last < 0) return;
    const place = (packets: number) => frame.y(Math.min(packets, this.top));
    const labels = [];
    for (let flow = 0; flow < rows.flows; flow += 1) {
      if (!view.shown[flow]) continue;
      const style = view.styles[flow]!;
      const colour = view.dark ? style.dark : style.light;
      labels.push({ text: lineLabel(view, flow, frame.width), colour, at: place(rows.flow(last, flow, FLOW.inFlight)) });
    }
    if (several) labels.push({ text: "all", colour: colours.ideal, at: place(rows.total(last)) });
    drawEndLabels(this.context, frame, labels);
  }
}
