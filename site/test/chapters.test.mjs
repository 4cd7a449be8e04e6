// The figures in the chapters of the story: each is measured in a run with the setting that the text
// before it makes. `PACELINE_FIGURES=print` prints what is measured.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

const bytes = readFileSync(process.env.PACELINE_WASM ?? new URL("../src/paceline.wasm", import.meta.url));
const module = await WebAssembly.compile(bytes);
// Imports are for controllers that readers write; the chapters have none.
const imports = {};
for (const { module: from, name } of WebAssembly.Module.imports(module)) (imports[from] ??= {})[name] = () => 0;
const { exports } = await WebAssembly.instantiate(module, imports);

function call(request) {
  const text = new TextEncoder().encode(JSON.stringify(request));
  const input = exports.paceline_input(text.length);
  new Uint8Array(exports.memory.buffer, input, text.length).set(text);
  const length = exports.paceline_call();
  const answer = JSON.parse(new TextDecoder().decode(new Uint8Array(exports.memory.buffer, exports.paceline_output(), length)));
  assert.equal(answer.error, undefined);
  return answer;
}

const chapters = JSON.parse(readFileSync(new URL("../src/chapters.json", import.meta.url), "utf8"));

/** Runs a setting until `to`, and returns a quantity from `from` on. */
function measure(setting, { what, flow, from, to }) {
  const flows = Array.from({ length: 8 }, (_, index) => ({
    scheme: setting.on[index + 1] ?? "cubic", on: setting.on[index + 1] !== undefined, extra_ms: setting.extra?.[index + 1] ?? 0,
  }));
  const layout = call({
    method: "play", rate_mbps: setting.rate ?? 12, rtt_ms: setting.rtt, buffer: setting.buffer, queue: setting.queue, loss: setting.loss / 100,
    second_mbps: setting.second > 0 ? setting.second : null, trace: setting.trace ? { name: setting.trace } : null, flows,
  });
  const width = layout.link.length + layout.flow.length * layout.flows;
  const column = (name) => layout.link.length + layout.flow.length * (flow - 1) + layout.flow.indexOf(name);
  const rows = () => {
    const count = exports.paceline_advance(...arguments_) / width;
    const numbers = new Float64Array(exports.memory.buffer, exports.paceline_rows(), count * width).slice();
    return Array.from({ length: count }, (_, row) => numbers.subarray(row * width, (row + 1) * width));
  };
  let arguments_ = [from, 0.01];
  const before = from > 0 ? rows().at(-1) : new Float64Array(width);
  arguments_ = [to, 0.01];
  const measured = rows();
  const mean = (at) => measured.reduce((sum, row) => sum + row[at], 0) / measured.length;
  if (what === "rtt") return mean(column("rtt_ms"));
  if (what === "ideal") return mean(layout.link.indexOf("ideal"));
  if (what === "mbps") return ((measured.at(-1)[column("delivered")] - before[column("delivered")]) * 0.012) / (to - from);
  if (what === "dropped") return call({ method: "status" }).drops;
  throw new Error(`unknown: ${what}`);
}

for (const chapter of chapters) {
  test(`the figures of "${chapter.title}"`, () => {
    let setting = {};
    for (const part of chapter.text.flat()) {
      if (typeof part === "string") continue;
      if (part.set) setting = { ...setting, ...part.set };
      if (!part.figure) continue;
      const measured = measure(setting, part.measure);
      const told = Number.parseFloat(part.figure);
      const places = /\.(\d+)/.exec(part.figure)?.[1]?.length ?? 0;
      if (process.env.PACELINE_FIGURES === "print") {
        console.log(`${chapter.id}: "${part.figure}" measured ${measured}`);
        continue;
      }
      // The text rounds to two digits.
      const tolerance = Math.max(0.5 * 10 ** -places, told * 0.06);
      assert.ok(Math.abs(measured - told) <= tolerance, `${chapter.id}: the text says ${part.figure}, measured ${measured}`);
    }
  });
}
