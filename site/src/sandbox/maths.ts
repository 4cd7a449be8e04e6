// Functions of `Math` that are equal in every browser.

import type { Engine } from "../engine";

/** Functions whose last digits differ between browsers, in the order of bindings/web/src/maths.rs. */
const MATH = [
  "exp", "expm1", "log", "log1p", "log2", "log10", "pow", "cbrt", "sin", "cos", "tan", "asin", "acos", "atan",
  "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "hypot",
] as const;

/** Replaces them in `Math` by the simulator's. */
export function replaceMath(engine: Engine): void {
  for (const [number, name] of MATH.entries()) {
    const value = name === "hypot"
      ? (...sides: number[]) => sides.reduce((sum, side) => engine.math(number, sum, side), 0)
      : (a: number, b: number) => engine.math(number, Number(a), Number(b));
    Object.defineProperty(Math, name, { value, configurable: true });
  }
}

/** Returns numbers from 0 up to 1 (Mulberry32) from a key of two 32-bit halves. */
export function randomNumbers(high: number, low: number): () => number {
  let state = (high ^ Math.imul(low, 0x9e3779b1)) >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
