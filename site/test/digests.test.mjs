// The digests of scenarios in WebAssembly equal those of native builds: scenarios/golden.txt.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import test from "node:test";

const scenarios = new URL("../../scenarios/", import.meta.url);
// No scenario here has controllers of the page.
const imports = { paceline: { controller: () => 2 } };
const bytes = readFileSync(process.env.PACELINE_WASM ?? new URL("../src/paceline.wasm", import.meta.url));
const { exports } = (await WebAssembly.instantiate(bytes, imports)).instance;

function call(request) {
  const text = new TextEncoder().encode(JSON.stringify(request));
  const input = exports.paceline_input(text.length);
  new Uint8Array(exports.memory.buffer, input, text.length).set(text);
  const length = exports.paceline_call();
  const output = new Uint8Array(exports.memory.buffer, exports.paceline_output(), length);
  return JSON.parse(new TextDecoder().decode(output));
}

const golden = new Map();
for (const line of readFileSync(new URL("golden.txt", scenarios), "utf8").split("\n")) {
  const found = /^scenario (\S+): (\S+) (\d+)$/.exec(line);
  if (found) golden.set(found[1], { digest: found[2], packets: Number(found[3]) });
}
const files = readdirSync(scenarios).filter((file) => file.endsWith(".toml"));

test("there are ten scenarios or more, all with golden results", () => {
  assert.ok(files.length >= 10, `${files.length}`);
  assert.equal(golden.size, files.length);
});

for (const file of files) {
  test(`the digest of ${file}`, () => {
    const text = readFileSync(new URL(file, scenarios), "utf8");
    const { error, name, digest, packets } = call({ method: "run", file, text });
    assert.equal(error, undefined);
    assert.deepEqual({ digest, packets }, golden.get(name));
  });
}

test("a live run has the same digest whatever its steps", () => {
  const flows = ["remy", "abc", "cubic", "bbr"].map((scheme) => ({ scheme, on: true }));
  const digests = [0.005, 0.25].map((step) => {
    call({ method: "play", rate_mbps: 20, rtt_ms: 60, buffer: 100, queue: "droptail", flows });
    for (let time = step; time < 4.0001; time += step) exports.paceline_advance(time, step);
    exports.paceline_advance(4, step);
    return call({ method: "status" }).digest;
  });
  assert.equal(digests[0], digests[1]);
  assert.match(digests[0], /^[0-9a-f]{16}$/);
});
