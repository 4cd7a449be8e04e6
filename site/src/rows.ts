// The rows of numbers of a live run, for the time that the plots show.

/** Columns of a row: bindings/web/src/live_rows.rs. */
export const LINK = { time: 0, backlog: 1, ideal: 2, capacity: 3, secondBacklog: 4 };
export const FLOW = { inFlight: 0, cwnd: 1, accelerated: 2, braked: 3, marked: 4, delivered: 5, rtt: 6, lost: 7 };
const LINK_COLUMNS = 5;
const FLOW_COLUMNS = 8;

export class Rows {
  readonly width: number;
  private readonly numbers: Float64Array;
  private first = 0;
  private count = 0;

  constructor(
    readonly flows: number,
    private readonly capacity = 8192,
  ) {
    this.width = LINK_COLUMNS + flows * FLOW_COLUMNS;
    this.numbers = new Float64Array(this.width * capacity);
  }

  get length(): number {
    return this.count;
  }

  clear(): void {
    [this.first, this.count] = [0, 0];
  }

  /** Appends rows; drops the oldest ones if there are too many. */
  push(rows: Float64Array): void {
    for (let at = 0; at + this.width <= rows.length; at += this.width) {
      const place = (this.first + this.count) % this.capacity;
      this.numbers.set(rows.subarray(at, at + this.width), place * this.width);
      if (this.count < this.capacity) this.count += 1;
      else this.first = (this.first + 1) % this.capacity;
    }
  }

  link(row: number, column: number): number {
    return this.numbers[((this.first + row) % this.capacity) * this.width + column]!;
  }

  flow(row: number, flow: number, column: number): number {
    return this.link(row, LINK_COLUMNS + flow * FLOW_COLUMNS + column);
  }

  /** Returns the packets in the queues of the links. */
  queue(row: number): number {
    return this.link(row, LINK.backlog) + this.link(row, LINK.secondBacklog);
  }

  /** Returns the packets in flight of all flows. */
  total(row: number): number {
    let total = 0;
    for (let flow = 0; flow < this.flows; flow += 1) total += this.flow(row, flow, FLOW.inFlight);
    return total;
  }

  /** Returns the first row at or after a time. */
  at(time: number): number {
    let [low, high] = [0, this.count];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.link(middle, LINK.time) < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
