// Removes from a worker what makes runs differ, and what reaches out of it.

/** Globals that controllers may use: those of the language whose results depend on their arguments only. */
const KEPT = new Set([
  "Object", "Function", "Array", "Number", "String", "Boolean", "Symbol", "BigInt", "Math", "JSON", "Reflect", "Proxy",
  "Map", "Set", "WeakMap", "WeakSet", "RegExp", "Error", "EvalError", "RangeError", "ReferenceError", "SyntaxError",
  "TypeError", "URIError", "AggregateError", "ArrayBuffer", "DataView", "Int8Array", "Uint8Array", "Uint8ClampedArray",
  "Int16Array", "Uint16Array", "Int32Array", "Uint32Array", "Float32Array", "Float64Array", "BigInt64Array",
  "BigUint64Array", "Iterator", "Infinity", "NaN", "undefined", "parseFloat", "parseInt", "isNaN", "isFinite", "eval",
  "globalThis", "escape", "unescape", "encodeURI", "encodeURIComponent", "decodeURI", "decodeURIComponent",
  // Promises cannot be removed: functions that are `async` make them. The page takes no promise as a plan.
  "Promise",
]);

/** What to use instead of a global that controllers may expect. */
const REMEDIES: Record<string, string> = {
  Date: "controllers get the simulated time, as feedback.now_s",
  performance: "controllers get the simulated time, as feedback.now_s",
  setTimeout: "return a plan with timer_s, and write a function on_timer",
  setInterval: "return a plan with timer_s, and write a function on_timer",
};

/** Removes all other globals, and freezes the rest. `log` takes the arguments of `console.log`. */
export function lockDown(log: (...values: unknown[]) => void): void {
  const global = globalThis as unknown as Record<string, unknown>;
  for (let place: object | null = globalThis; place && place !== Object.prototype; place = Object.getPrototypeOf(place) as object | null) {
    for (const name of Object.getOwnPropertyNames(place)) {
      if (KEPT.has(name) || name === "constructor" || name === "console") continue;
      const remedy = REMEDIES[name];
      const get = remedy
        ? () => {
            throw new ReferenceError(`${name} does not exist in a controller: ${remedy}`);
          }
        : () => undefined;
      try {
        Object.defineProperty(place, name, { get, set: undefined, configurable: false, enumerable: false });
      } catch {
        try {
          // Not configurable, but perhaps writable.
          Object.defineProperty(place, name, { value: undefined });
        } catch {
          // The worker's policy forbids networks, whatever remains here.
        }
      }
    }
  }
  Object.defineProperty(globalThis, "console", { value: Object.freeze({ log }) });
  for (const name of KEPT) {
    const value = global[name];
    if (typeof value !== "function" && (typeof value !== "object" || value === null || value === globalThis)) continue;
    const prototype = (value as { prototype?: object }).prototype;
    // Frozen properties of these two could not be set in objects of controllers: `this.name = ...`.
    if (prototype && name !== "Object" && name !== "Error" && name !== "Function") Object.freeze(prototype);
    Object.freeze(value);
  }
}
