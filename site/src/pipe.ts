// The pipe picture: packets as dots, in the queue, on the wire, and their acknowledgements on the
// way back, at the simulated time of the plot.
//
// The simulator passes on when packets arrive at a link, leave it or are dropped. From its departure
// on, a packet's place on the wire follows from the delay of the path.

import { clearCanvas, coloursOf, type View } from "./canvas";
import type { Client } from "./client";
import { byId } from "./dom";
import { FLOWS, type Setting } from "./state";

/** Packets per second of real time above which dots would only flicker. */
const MOST_PER_SECOND = 2500;
/** Columns of an event: bindings/web/src/play.rs. */
const COLUMNS = 6;
const [ARRIVAL, DEPARTURE] = [0, 1];
/** Share of the RTT for which a dropped packet is shown. */
const DROP_SHOWN = 0.25;
/** Widths in pixels of a host at either end. */
const HOST = 58;

interface Dot {
  flow: number;
  time: number;
}

export class PipePicture {
  private readonly canvas = byId<HTMLCanvasElement>("pipe");
  private readonly context = this.canvas.getContext("2d", { alpha: false })!;
  private readonly note = byId("pipe-note");
  /** Packets in the queue of each link, in the order of their arrival. */
  private queues: Map<string, Dot>[] = [new Map(), new Map()];
  private wire: Dot[] = [];
  private drops: (Dot & { link: number })[] = [];
  private watching = false;
  private asking = false;

  constructor(private readonly client: Client) {}

  /** Forgets all packets: a new run begins. */
  reset(): void {
    this.queues = [new Map(), new Map()];
    this.wire = [];
    this.drops = [];
    this.watching = false;
  }

  /** Returns true if packets pass slowly enough to be seen. */
  private slow(setting: Setting, capacity: number): boolean {
    return (capacity / 0.012) * setting.speed <= MOST_PER_SECOND;
  }

  /** Asks the simulator for what happened to packets, if they are shown. */
  update(setting: Setting, capacity: number): void {
    const on = setting.pipe && this.slow(setting, capacity);
    this.canvas.hidden = this.note.hidden = !setting.pipe;
    const note = !setting.pipe ? "" : on
      ? "Each dot is a packet: left in the queue, then on the wire; below it acknowledgements come back."
      : `Too many packets pass to see each of them: set the speed to ${this.speed(capacity)} × or less.`;
    if (this.note.textContent !== note) this.note.textContent = note;
    if (!on && this.watching) this.reset();
    if (!on || this.asking) return;
    this.asking = true;
    void this.client.ask<{ events: number[] }>({ method: "packets", on: true })
      .then(({ events }) => {
        // Packets of the time before are unknown, so queues fill from now on.
        this.watching = true;
        this.take(events, setting);
      })
      .catch(() => undefined)
      .finally(() => (this.asking = false));
  }

  /** Returns the highest of the usual speeds at which dots are seen. */
  private speed(capacity: number): number {
    const most = (MOST_PER_SECOND * 0.012) / capacity;
    return [1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01].find((speed) => speed <= most) ?? 0.01;
  }

  private take(events: number[], setting: Setting): void {
    for (let at = 0; at + COLUMNS <= events.length; at += COLUMNS) {
      const [link, kind, time, flow, number] = events.slice(at, at + 5) as [number, number, number, number, number];
      const key = `${flow}:${number}`;
      if (kind === ARRIVAL) this.queues[link]!.set(key, { flow, time });
      else {
        this.queues[link]!.delete(key);
        const last = setting.second > 0 && setting.flows[flow]?.via !== "first" ? 1 : 0;
        if (kind !== DEPARTURE) this.drops.push({ flow, time, link });
        else if (link === last) this.wire.push({ flow, time });
      }
    }
  }

  draw(view: View, setting: Setting): void {
    if (!setting.pipe) return;
    const c = this.context;
    const colours = coloursOf(view.dark);
    const [width, height] = clearCanvas(this.canvas, c, colours.paper);
    const rtt = setting.rtt / 1000;
    const extra = (flow: number) => (setting.flows[flow]?.extra ?? 0) / 1000;
    this.wire = this.wire.filter((dot) => view.time - dot.time < rtt + extra(dot.flow));
    this.drops = this.drops.filter((dot) => view.time - dot.time < rtt * DROP_SHOWN);
    const links = setting.second > 0 ? 2 : 1;
    const queueWidth = Math.max(70, (width * 0.36) / links - 16);
    const [upper, lower] = [height * 0.4, height - 26];
    const wireLeft = HOST + links * (queueWidth + 16);
    const wireRight = width - HOST;
    const colourOf = (flow: number) => {
      const style = view.styles[flow];
      return style && flow < FLOWS ? (view.dark ? style.dark : style.light) : colours.muted;
    };
    c.strokeStyle = colours.grid;
    c.lineWidth = 12;
    c.beginPath();
    c.moveTo(wireLeft, upper);
    c.lineTo(wireRight, upper);
    c.moveTo(wireRight, lower);
    c.lineTo(HOST, lower);
    c.stroke();
    c.fillStyle = colours.muted;
    c.textBaseline = "middle";
    c.textAlign = "right";
    c.fillText("senders", HOST - 6, (upper + lower) / 2);
    c.textAlign = "left";
    c.fillText("receivers", wireRight + 4, (upper + lower) / 2);
    for (let link = 0; link < links; link += 1) {
      this.drawQueue(view, link, { left: HOST + link * (queueWidth + 16), width: queueWidth, top: 16, bottom: upper + 20 }, colourOf);
    }
    let acknowledgements = 0;
    for (const dot of this.wire) {
      const out = rtt / 2 + extra(dot.flow);
      const passed = view.time - dot.time;
      c.fillStyle = colourOf(dot.flow);
      c.beginPath();
      if (passed < out) c.arc(wireLeft + (passed / out) * (wireRight - wireLeft), upper, 4, 0, 2 * Math.PI);
      else {
        acknowledgements += 1;
        c.arc(wireRight - ((passed - out) / (rtt / 2)) * (wireRight - HOST), lower, 2.2, 0, 2 * Math.PI);
      }
      c.fill();
    }
    const queued = this.queues.reduce((sum, queue) => sum + queue.size, 0);
    const text = `Packets now: ${queued} in the queue, ${this.wire.length - acknowledgements} on the wire, `
      + `${acknowledgements} acknowledgements on the way back`;
    // Screen readers need no picture sixty times a second.
    if (Math.floor(view.time * 2) !== this.said) this.canvas.setAttribute("aria-label", text);
    this.said = Math.floor(view.time * 2);
  }

  private said = -1;

  /** Draws a queue as a box whose packets stand in columns, the next one to leave at the right. */
  private drawQueue(
    view: View, link: number, box: { left: number; width: number; top: number; bottom: number },
    colourOf: (flow: number) => string,
  ): void {
    const c = this.context;
    const colours = coloursOf(view.dark);
    const queue = this.queues[link]!;
    const height = box.bottom - box.top;
    // Dots shrink if a whole buffer would not fit.
    const room = Math.max(view.buffer, queue.size, 10);
    const size = Math.max(2.5, Math.min(11, Math.sqrt((box.width * height) / room)));
    const rows = Math.max(1, Math.floor(height / size));
    c.strokeStyle = colours.muted;
    c.lineWidth = 1.5;
    c.strokeRect(box.left - 2, box.top - 2, box.width + 4, height + 4);
    let index = 0;
    for (const dot of queue.values()) {
      const x = box.left + box.width - (Math.floor(index / rows) + 0.5) * size;
      if (x < box.left) break;
      c.fillStyle = colourOf(dot.flow);
      c.beginPath();
      c.arc(x, box.bottom - ((index % rows) + 0.5) * size, size * 0.42, 0, 2 * Math.PI);
      c.fill();
      index += 1;
    }
    c.strokeStyle = colours.brake;
    c.lineWidth = 2.5;
    c.beginPath();
    const latest = this.drops.filter((dot) => dot.link === link).slice(-12);
    latest.forEach((_, at) => {
      const [x, y] = [box.left + 8 + at * 14, box.bottom + 12];
      c.moveTo(x - 4, y - 4);
      c.lineTo(x + 4, y + 4);
      c.moveTo(x - 4, y + 4);
      c.lineTo(x + 4, y - 4);
    });
    c.stroke();
    c.fillStyle = colours.muted;
    c.textAlign = "left";
    c.textBaseline = "alphabetic";
    c.fillText(`queue${this.queues[1]!.size > 0 || link > 0 ? ` ${link + 1}` : ""}: ${queue.size}`, box.left, box.top - 5);
  }
}
