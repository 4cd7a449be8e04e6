// Controllers in JavaScript: compiles their text, calls their functions, and says where they fail.

import type { ControllerHost } from "../engine";
import { randomNumbers } from "./maths";

/** A controller's name and text. */
export interface Script {
  name: string;
  text: string;
}

/** Functions that a text may have; bindings/python's classes have the same ones. */
const FUNCTIONS = ["start", "on_feedback", "on_ack", "on_loss", "on_timer", "on_send", "on_idle"] as const;
type Functions = Partial<Record<(typeof FUNCTIONS)[number], (...values: unknown[]) => unknown>>;

/** Calls and bits of answers: bindings/web/src/script.rs. */
const CALL = { start: 0, feedback: 1, timer: 2, send: 3, idle: 4, end: 5 };
const [PLAN, FAILED, SENDS] = [1, 2, 4];

const ECN = ["not-ect", "ect1", "ect0", "ce"];
const CONGESTION = [null, "loss", "loss_after_mark", "ecn", "timeout", "undo"];

/** Fields of a plan, with the values that they have if a controller leaves them out. */
const PLAN_FIELDS: [name: string, missing: number][] = [
  ["cwnd_bytes", Number.NaN], ["pacing_mbps", Number.NaN], ["gap_ms", 0], ["burst_bytes", 0], ["ecn", 0],
  ["timer_s", Number.NaN], ["reduces_by_prr", 1], ["exact_window", 0],
];
const PLAN_NAMES = new Set(PLAN_FIELDS.map(([name]) => name));
const PLACE = { cwnd: 0, ecn: 4, timer: 5 };

/** Longest text of a controller in characters, and most lines of `console.log`. */
const MOST_TEXT = 50_000;
const MOST_LINES = 200;

/** Fields of feedback, as in Python, with units in their names; `null` for a missing value. */
export interface Feedback {
  now_s: number;
  mss_bytes: number;
  acked_bytes: number;
  acked_packets: number;
  lost_bytes: number;
  lost_packets: number;
  marked_packets: number;
  echo: string;
  prior_in_flight_bytes: number;
  in_flight_bytes: number;
  cwnd_limited: boolean;
  rtt_ms: number | null;
  srtt_ms: number;
  min_rtt_ms: number;
  delivered_bytes: number;
  round: number;
  round_start: boolean;
  delivery_rate_mbps: number | null;
  app_limited: boolean;
  congestion: string | null;
  in_recovery: boolean;
  max_in_flight_bytes: number;
  may_raise_cwnd: boolean;
}

interface Controller {
  script: Script;
  functions: Functions;
  mss: number;
  /** The present plan, in the order of the fields. */
  plan: Float64Array;
  random: () => number;
}

/** File name of a controller in messages and stacks. */
const fileName = (script: Script) => `${script.name}.js`;

/** Returns the factory of a controller: each call gives a flow variables of its own. */
function compile(script: Script): () => Functions {
  if (script.text.length > MOST_TEXT) throw new Error(`${script.name}: longer than ${MOST_TEXT} characters`);
  const found = FUNCTIONS.map((name) => `${name}: typeof ${name} === "function" ? ${name} : undefined`);
  // All on the first line, so that the lines of the text have their own numbers.
  const source = `"use strict"; (() => {${script.text}\n;return { ${found.join(", ")} };})\n//# sourceURL=${fileName(script)}`;
  // Indirect, so that the text does not see the variables of this module.
  return (0, eval)(source) as () => Functions;
}

export class Controllers implements ControllerHost {
  private scripts: { script: Script; make: () => Functions }[] = [];
  private readonly running = new Map<number, Controller>();
  private failure = "";
  private present: Controller | undefined;
  private lines: string[] = [];
  /** Called at most every 250 ms while controllers run, before one of them is called. */
  onalive: () => void = () => {};

  /** Takes over the controllers for the next runs. Throws an error in words if one is no JavaScript. */
  use(scripts: Script[]): void {
    this.scripts = scripts.map((script) => ({ script, make: this.compiled(script) }));
    for (const { script, make } of this.scripts) this.check(script, make);
  }

  private compiled(script: Script): () => Functions {
    try {
      return compile(script);
    } catch (error) {
      throw new Error(describe(script, error));
    }
  }

  /** Checks that a controller has one of the functions that react to acknowledgements. */
  private check(script: Script, make: () => Functions): void {
    this.onalive();
    let functions: Functions;
    try {
      functions = this.within({ script, functions: {}, mss: 1500, plan: newPlan(1500), random: randomNumbers(0, 0) }, make);
    } catch (error) {
      throw new Error(describe(script, error));
    }
    if (!functions.on_ack && !functions.on_feedback) {
      throw new Error(`${fileName(script)} has no function on_ack(feedback), which is called for each acknowledgement`);
    }
  }

  /** Returns the lines that controllers have logged since the last call. */
  takeLines(): string[] {
    return this.lines.splice(0);
  }

  /** Takes a line of `console.log`. */
  log(values: unknown[]): void {
    if (this.lines.length < MOST_LINES) this.lines.push(values.map(readable).join(" "));
  }

  takeFailure(): string {
    const failure = this.failure;
    this.failure = "";
    return failure;
  }

  /** Returns a number for `Math.random`, from the stream of the flow whose controller is called. */
  random(): number {
    if (!this.present) throw new Error("Math.random works while a controller is called");
    return this.present.random();
  }

  private within<T>(controller: Controller, call: () => T): T {
    this.present = controller;
    try {
      return call();
    } finally {
      this.present = undefined;
    }
  }

  call(call: number, number: number, numbers: Float64Array): number {
    this.onalive();
    if (call === CALL.start) return this.start(number, numbers);
    const controller = this.running.get(number);
    if (call === CALL.end) this.running.delete(number);
    if (!controller || call === CALL.end) return 0;
    return this.attempt(controller, numbers, () => this.react(controller, call, numbers));
  }

  private start(number: number, numbers: Float64Array): number {
    const [place = 0, mss = 1500, flow = 0, connection = 0, high = 0, low = 0] = numbers;
    const entry = this.scripts[place];
    if (!entry) return FAILED;
    const controller = { script: entry.script, functions: {} as Functions, mss, plan: newPlan(mss), random: randomNumbers(high, low) };
    const answer = this.attempt(controller, numbers, () => {
      controller.functions = entry.make();
      return controller.functions.start?.({ mss_bytes: mss, flow, connection });
    });
    this.running.set(number, controller);
    return answer | (controller.functions.on_send ? SENDS : 0);
  }

  /** Calls a function, and writes the plan that it returns. */
  private attempt(controller: Controller, numbers: Float64Array, call: () => unknown): number {
    try {
      const answer = this.within(controller, call);
      if (answer === undefined || answer === null) return 0;
      readPlan(controller, answer);
      numbers.set(controller.plan);
      return PLAN;
    } catch (error) {
      this.failure ||= describe(controller.script, error);
      return FAILED;
    }
  }

  private react(controller: Controller, call: number, numbers: Float64Array): unknown {
    const { functions } = controller;
    if (call === CALL.feedback) {
      const feedback = readFeedback(numbers);
      if (functions.on_feedback) return functions.on_feedback(feedback);
      const { congestion } = feedback;
      const isReduction = congestion !== null && congestion !== "undo";
      return isReduction && functions.on_loss ? functions.on_loss(feedback) : functions.on_ack?.(feedback);
    }
    const now = numbers[0]!;
    if (call === CALL.timer) {
      controller.plan[PLACE.timer] = Number.NaN;
      return functions.on_timer?.(now);
    }
    if (call === CALL.send) return functions.on_send?.(now, numbers[1], numbers[2], numbers[3] === 1);
    return functions.on_idle?.(now, numbers[1], numbers[2]);
  }
}

/** Returns the plan of ten packets with which a flow begins. */
function newPlan(mss: number): Float64Array {
  const plan = Float64Array.from(PLAN_FIELDS, ([, missing]) => missing);
  plan[PLACE.cwnd] = 10 * mss;
  return plan;
}

/**
 * Takes over an answer: a number is a window in packets, and leaves the rest of the plan; an object is
 * a whole plan. The simulator checks the values.
 */
function readPlan(controller: Controller, answer: unknown): void {
  if (typeof answer === "number") {
    if (Number.isNaN(answer)) throw new RangeError("the window is NaN: a division by zero, or a value that is missing");
    controller.plan[PLACE.cwnd] = answer * controller.mss;
    return;
  }
  if (typeof answer !== "object" || answer === null || typeof (answer as { then?: unknown }).then === "function") {
    throw new TypeError(`a controller returns a window in packets, a plan such as { cwnd_bytes: 15000 }, or nothing, not ${readable(answer)}`);
  }
  const values = answer as Record<string, unknown>;
  const unknown = Object.keys(values).find((name) => !PLAN_NAMES.has(name));
  if (unknown !== undefined) {
    throw new TypeError(`a plan has no field ${unknown}; its fields are ${[...PLAN_NAMES].join(", ")}`);
  }
  for (const [place, [name, missing]] of PLAN_FIELDS.entries()) {
    const value = values[name];
    if (value === undefined || value === null) controller.plan[place] = missing;
    else if (place === PLACE.ecn) controller.plan[place] = ECN.indexOf(String(value));
    else if (typeof value === "number" || typeof value === "boolean") {
      // A number that is none must not count as a missing one.
      if (Number.isNaN(value)) throw new RangeError(`${name} is NaN: a division by zero, or a value that is missing`);
      controller.plan[place] = Number(value);
    } else throw new TypeError(`${name}: expected a number, not ${readable(value)}`);
  }
}

function readFeedback(n: Float64Array): Feedback {
  const orNull = (value: number) => (Number.isNaN(value) ? null : value);
  return {
    now_s: n[0]!, mss_bytes: n[1]!, acked_bytes: n[2]!, acked_packets: n[3]!, lost_bytes: n[4]!, lost_packets: n[5]!,
    marked_packets: n[6]!, echo: ECN[n[7]!]!, prior_in_flight_bytes: n[8]!, in_flight_bytes: n[9]!, cwnd_limited: n[10] === 1,
    rtt_ms: orNull(n[11]!), srtt_ms: n[12]!, min_rtt_ms: n[13]!, delivered_bytes: n[14]!, round: n[15]!,
    round_start: n[16] === 1, delivery_rate_mbps: orNull(n[17]!), app_limited: n[18] === 1,
    congestion: CONGESTION[n[19]!]!, in_recovery: n[20] === 1, max_in_flight_bytes: n[21]!, may_raise_cwnd: n[22] === 1,
  };
}

/** Returns a value in a few words. */
function readable(value: unknown): string {
  try {
    const text = typeof value === "object" && value !== null ? JSON.stringify(value) : String(value);
    return text.length > 300 ? `${text.slice(0, 300)} …` : text;
  } catch {
    return `a value of type ${typeof value}`;
  }
}

/** Returns an error with the line of the controller in which it occurred, if the browser says so. */
function describe(script: Script, error: unknown): string {
  const isError = error instanceof Error;
  const stack = isError ? String(error.stack ?? "") : "";
  const found = new RegExp(`${script.name}\\.js:(\\d+)`).exec(stack);
  const text = isError ? `${error.name}: ${error.message}` : `threw ${readable(error)}`;
  return found ? `${fileName(script)}, line ${found[1]}: ${text}` : `${fileName(script)}: ${text}`;
}
