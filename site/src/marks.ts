// Strips below the plot: the marks of each flow over time.

import { MARGIN, rightMargin, type Colours, type Frame, type View } from "./canvas";
import { FLOW, LINK } from "./rows";

const STRIP = 16;
const GAP = 4;
/** Bins over the visible time. */
const COLUMNS = 120;

/** Kinds of marks that the visible flows have. */
export interface MarkKinds {
  abc: boolean;
  ce: boolean;
}

export class MarkStrips {
  /** Flows that have had marks, so that their strips do not appear and disappear. */
  private marked: boolean[] = [];

  reset(): void {
    this.marked = [];
  }

  /** Notes which flows have marks; returns the height of their strips. */
  note(view: View, from: number): number {
    const last = view.rows.length - 1;
    for (let flow = 0; flow < view.rows.flows; flow += 1) {
      const marks = (row: number) =>
        view.rows.flow(row, flow, FLOW.accelerated) +
        view.rows.flow(row, flow, FLOW.braked) +
        view.rows.flow(row, flow, FLOW.marked);
      this.marked[flow] = last > from && view.shown[flow] === true && marks(last) > 0;
    }
    return this.marked.filter(Boolean).length * (STRIP + GAP);
  }

  /** Returns the kinds of marks that are drawn. */
  kinds(view: View): MarkKinds {
    const last = view.rows.length - 1;
    const some = (column: number) =>
      last >= 0 && this.marked.some((on, flow) => on && view.rows.flow(last, flow, column) > 0);
    return { abc: some(FLOW.accelerated) || some(FLOW.braked), ce: some(FLOW.marked) };
  }

  /** Draws for each flow with marks, over time: accelerates and brakes, or the share of CE marks. */
  draw(c: CanvasRenderingContext2D, view: View, colours: Colours, from: number, at: Frame): void {
    const { rows } = view;
    const right = at.width - rightMargin(at.width);
    let top = at.bottom + 6;
    for (let flow = 0; flow < rows.flows; flow += 1) {
      if (!this.marked[flow]) continue;
      c.fillStyle = colours.grid;
      c.fillRect(MARGIN.left, top, right - MARGIN.left, STRIP);
      const each = view.window / COLUMNS;
      const start = Math.floor((view.time - view.window) / each);
      let row = from;
      for (let n = start; n <= start + COLUMNS; n += 1) {
        const until = Math.min((n + 1) * each, view.time);
        const begin = row;
        while (row < rows.length - 1 && rows.link(row, LINK.time) < until) row += 1;
        const grown = (column: number) =>
          Math.max(0, rows.flow(row, flow, column) - rows.flow(begin, flow, column));
        const [fast, slow, marks] = [grown(FLOW.accelerated), grown(FLOW.braked), grown(FLOW.marked)];
        const left = Math.max(MARGIN.left, at.x(n * each));
        const wide = Math.min(at.x((n + 1) * each), right) - left;
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
      top += STRIP + GAP;
    }
  }
}
