// Controllers in JavaScript, in the WebAssembly simulator, without a browser.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { build } from "vite";

const bytes = readFileSync(process.env.PACELINE_WASM ?? new URL("../src/paceline.wasm", import.meta.url));

/** Returns the exports of a source file. */
async function load(path) {
  const built = await build({
    configFile: false, publicDir: false, logLevel: "error",
    build: { write: false, minify: false, lib: { entry: new URL(path, import.meta.url).pathname, formats: ["es"] } },
  });
  const { code } = [built].flat()[0].output[0];
  return import(`data:text/javascript,${encodeURIComponent(code)}`);
}

const { Engine } = await load("../src/engine.ts");
const { Controllers } = await load("../src/sandbox/controllers.ts");
const { EXAMPLES } = await load("../src/examples.ts");
const { replaceMath } = await load("../src/sandbox/maths.ts");
const textOf = (name) => EXAMPLES.find((example) => example.name === name).text;

async function start(scripts) {
  const controllers = new Controllers();
  const engine = await Engine.load(bytes, controllers);
  controllers.use(scripts);
  assert.deepEqual(engine.call({ method: "scripts", names: scripts.map(({ name }) => name) }), {});
  return { engine, controllers };
}

/** Compares schemes on one trace; returns the rows by scheme. */
function compare(engine, schemes, options = {}) {
  const request = {
    method: "compare", schemes, duration: "30s", warmup: "0s", rtt: "100ms", buffer: "250", flows: 1, seed: 1, runs: 1,
    spread: "0s", traces: [{ name: "lte-driving" }], ...options,
  };
  let progress = engine.call(request);
  while (progress.error === undefined && progress.done < progress.runs) progress = engine.call({ method: "compare-next" });
  if (progress.error !== undefined) throw new Error(progress.error);
  const { runs } = engine.call({ method: "compare-result" }).json;
  return Object.fromEntries(runs.map((run) => [run.scheme, run]));
}

test("the arithmetic of NewReno in JavaScript gives the digest of `newreno`", async () => {
  for (const options of [{}, { traces: [{ name: "12Mbps" }], buffer: "40" }]) {
    const { engine } = await start([{ name: "reno", text: textOf("reno") }]);
    const { reno, newreno } = compare(engine, "reno,newreno", options);
    assert.equal(reno.digest, newreno.digest);
    assert.ok(newreno.throughput_mbps > 1, `${newreno.throughput_mbps}`);
  }
  // Four flows, with timeouts and with losses beyond those of the queue. Their names decide when they begin.
  const { engine } = await start([{ name: "reno", text: textOf("reno") }]);
  const scenario = (scheme) => `duration = "30s"
    [[link]]
    name = "link"
    rate = "3Mbps"
    buffer = 10
    [[flow]]
    name = "four"
    scheme = "${scheme}"
    count = 4
    rtt = "40ms"
    data.loss = 0.02`;
  const run = (scheme) => engine.call({ method: "run", file: "four.toml", text: scenario(scheme) });
  const [ours, theirs] = [run("reno"), run("newreno")];
  assert.equal(theirs.error, undefined);
  assert.equal(ours.digest, theirs.digest);
});

// The task: over the link that *Write* has first, at least 80 % of Cubic's throughput at a tenth of its delay.
test("the example and the controller of docs/howto/lesson.md solve its task", async () => {
  const lesson = readFileSync(new URL("../../docs/howto/lesson.md", import.meta.url), "utf8");
  const written = /```js\n([^]*?)```/.exec(lesson)[1];
  assert.ok(written.trim().split("\n").length <= 15, written);
  for (const text of [textOf("delay"), written]) {
    const { engine } = await start([{ name: "mine", text }]);
    for (const [trace, share] of [["lte-driving", 0.1], ["12Mbps", 0.5]]) {
      const { mine, cubic } = compare(engine, "mine,cubic", { traces: [{ name: trace }] });
      assert.ok(mine.queue_delay_ms.p95 < share * cubic.queue_delay_ms.p95, `${trace}: ${mine.queue_delay_ms.p95} ${cubic.queue_delay_ms.p95}`);
      assert.ok(mine.throughput_mbps > 0.8 * cubic.throughput_mbps, `${trace}: ${mine.throughput_mbps} ${cubic.throughput_mbps}`);
    }
  }
});

test("each example runs and has at most 25 lines", async () => {
  for (const { name, text } of EXAMPLES) {
    const { engine } = await start([{ name, text }]);
    assert.ok(compare(engine, name)[name].throughput_mbps > 0.5, name);
    const lines = text.split("\n").filter((line) => line.trim() !== "" && !line.trim().startsWith("//"));
    assert.ok(lines.length <= 25 || name === "reno", `${name}: ${lines.length}`);
  }
});

test("equal texts, scenarios and seeds give equal digests, random numbers and logarithms included", async () => {
  const text = `let cwnd = 10;
    function on_ack(ack) { cwnd = 10 + 20 * Math.random() + Math.log(ack.now_s + 1); return cwnd; }`;
  const digests = [];
  for (const seed of [1, 1, 2]) {
    const { engine, controllers } = await start([{ name: "mine", text }]);
    const before = Object.getOwnPropertyDescriptors(Math);
    replaceMath(engine);
    Object.defineProperty(Math, "random", { value: () => controllers.random(), configurable: true });
    digests.push(compare(engine, "mine", { seed, duration: "5s" }).mine.digest);
    digests.push(compare(engine, "mine", { seed, duration: "5s" }).mine.digest);
    Object.defineProperties(Math, before);
  }
  assert.equal(new Set(digests.slice(0, 4)).size, 1, digests.join(" "));
  assert.notEqual(digests[4], digests[0]);
});

test("mistakes are told with their line, and other runs go on", async () => {
  const failing = async (text, words) => {
    const { engine } = await start([{ name: "mine", text }]);
    assert.throws(() => compare(engine, "mine,cubic"), ({ message }) => words.test(message) || assert.fail(message));
    assert.ok(compare(engine, "cubic").cubic.throughput_mbps > 1);
  };
  await failing("let a;\nfunction on_ack(ack) {\n  return a.b;\n}", /^mine\.js, line 3: TypeError: Cannot read/);
  await failing("function on_ack() { return 0 / 0; }", /NaN/);
  await failing("function on_ack() { return -5; }", /cwnd_bytes: expected a number from 0 on/);
  await failing("function on_ack() { return 1e12; }", /cwnd_bytes: expected at most/);
  await failing("function on_ack() { return { cwnd: 5 }; }", /no field cwnd; its fields are cwnd_bytes/);
  await failing("function on_ack() { return { cwnd_bytes: 15000, pacing_mbps: -1 }; }", /pacing_mbps: expected a number from 0 on/);
  await failing("function on_ack() { return { cwnd_bytes: 15000, ecn: 'yes' }; }", /ecn: expected not-ect/);
  await failing("function on_ack() { return 'a lot'; }", /window in packets.*a lot/);
  await failing("async function on_ack() { return 5; }", /returns a window in packets/);
  await failing("function on_ack() { throw 5; }", /threw 5/);
  await failing("function on_ack() { undeclared = 5; }", /^mine\.js, line 1: ReferenceError: undeclared/);
  await failing("function on_ack() { return on_ack(); }", /^mine\.js, line 1: RangeError/);
  const refused = (text, words) => assert.throws(() => new Controllers().use([{ name: "mine", text }]), words);
  refused("function on_ack( {", /mine\.js: SyntaxError/);
  refused("function on_loss() {}", /no function on_ack/);
  refused("let a = b.c;\nfunction on_ack() {}", /mine\.js, line 1: ReferenceError/);
  refused(`//${"a".repeat(60_000)}`, /longer than/);
});

test("outputs of all kinds neither end the simulator nor hold it", async () => {
  let state = 7;
  const draw = (count) => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return Math.floor((state / 4294967296) * count);
  };
  const values = ["NaN", "-1", "-Infinity", "Infinity", "1e308", "1e-308", "0", "-0", "1", "2 ** 53", "null", "undefined", "true",
    "''", "'5'", "[]", "{}", "() => 1", "Symbol()", "10n", "new Date", "Promise.resolve(5)", "15000", "3e4", "1e5"];
  const fields = ["cwnd_bytes", "pacing_mbps", "gap_ms", "burst_bytes", "ecn", "timer_s", "reduces_by_prr", "exact_window"];
  let [told, ran] = [0, 0];
  for (let round = 0; round < 120; round += 1) {
    const some = Array.from({ length: 1 + draw(3) }, () => `${fields[draw(fields.length)]}: ${values[draw(values.length)]}`);
    const answer = draw(3) === 0 ? values[draw(values.length)] : `{ cwnd_bytes: 30000, ${some.join(", ")} }`;
    const text = `let n = 0; function on_ack(f) { n += 1; if (n % 7 === 0) return ${answer.startsWith("{") ? `(${answer})` : answer}; }
      function on_timer(now_s) { return ${answer.startsWith("{") ? `(${answer})` : answer}; }`;
    const { engine } = await start([{ name: "mine", text }]);
    try {
      compare(engine, "mine", { duration: "2s" });
      ran += 1;
    } catch (error) {
      assert.match(error.message, /mine|expected/);
      assert.doesNotMatch(error.message, /unreachable|memory/);
      told += 1;
    }
  }
  assert.ok(told > 20 && ran > 20, `${told} told, ${ran} ran`);
});

test("a live run has controllers, too, and pacing and timers work", async () => {
  const text = `function start() { return { cwnd_bytes: 1e6, pacing_mbps: 3, timer_s: 1 }; }
    function on_ack() {}
    function on_timer(now_s) { return { cwnd_bytes: 1e6, pacing_mbps: now_s < 2 ? 3 : 6, timer_s: now_s + 1 }; }`;
  const { engine } = await start([{ name: "mine", text }]);
  const flows = [{ scheme: "mine", on: true }];
  const answer = engine.call({ method: "play", rate_mbps: 12, rtt_ms: 40, buffer: 100, queue: "droptail", flows });
  assert.equal(answer.error, undefined);
  const goodput = (seconds) => {
    engine.advance(seconds, 0.01);
    return engine.call({ method: "status" }).flows[0].goodput_bytes * 8e-6;
  };
  const [one, two, three, four] = [1, 2, 3, 4].map(goodput);
  assert.ok(Math.abs(two - one - 3) < 0.2, `${two - one}`);
  assert.ok(Math.abs(four - three - 6) < 0.3, `${four - three}`);
});
