// The npm package: packed, installed in an empty folder, and used in Node.js and in a page without anything of the site.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createReadStream, mkdtempSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { after, before, test } from "node:test";
import { browser } from "./browser.mjs";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "paceline-npm-")));
const patience = { timeout: 180_000 };
let [chrome, server] = [];

before(async () => {
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "scratch", private: true, type: "module" }));
  execFileSync("npm", ["install", "--offline", "--no-audit", "--no-fund", "--loglevel=error", process.env.PACELINE_NPM], { cwd: folder });
  const types = { ".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm" };
  server = createServer((request, response) => {
    const path = join(folder, new URL(request.url, "http://localhost").pathname);
    try {
      statSync(path);
      response.writeHead(200, { "content-type": types[extname(path)] ?? "text/plain" });
      createReadStream(path).pipe(response);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  chrome = await browser();
});

after(async () => {
  await chrome?.close();
  server?.close();
  server?.closeAllConnections();
  rmSync(folder, { recursive: true });
});

/** Opens a page with this body, which has the element by its script. */
async function open(body, options = {}) {
  writeFileSync(join(folder, "page.html"), `<!doctype html><html lang="en"><title>A page</title><script>
    window.heard = [];
    for (const name of ["start", "result", "error"]) {
      addEventListener("paceline-" + name, (event) => heard.push([name, event.target.id, event.detail]));
    }
    </script><script type="module" src="node_modules/paceline/element.js"></script><main><h1>A page</h1>${body}</main></html>`);
  const context = await chrome.newContext({ viewport: { width: 900, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(patience.timeout);
  page.wrong = [];
  page.on("pageerror", (error) => page.wrong.push(error.message));
  await page.goto(`http://127.0.0.1:${server.address().port}/page.html`);
  return page;
}

/** Waits for the n-th event of a name; returns its detail. */
const heard = (page, name, count = 1) => page.waitForFunction(
  ([wanted, number]) => window.heard.filter(([one]) => one === wanted)[number - 1]?.[2], [name, count], patience)
  .then((handle) => handle.jsonValue());

function inNode(code) {
  return JSON.parse(execFileSync(process.execPath, ["--input-type=module", "-e", code], { cwd: folder, maxBuffer: 1 << 26 }).toString());
}

test("the package has its licences, its types, and no dependency", () => {
  const installed = join(folder, "node_modules", "paceline");
  const { name, license, dependencies, version } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
  assert.deepEqual([name, license, dependencies], ["paceline", "MIT OR Apache-2.0", undefined]);
  assert.match(version, /^\d+\.\d+\.\d+/);
  assert.notEqual(version, "0.0.0");
  for (const [file, words] of [
    ["LICENSE-MIT", /MIT|Permission/], ["LICENSE-APACHE", /Apache License/], ["THIRD-PARTY.txt", /serde_json/], ["README.md", /<paceline-run/],
    ["types/component/simulator.d.ts", /class Simulator/], ["types/component/element.d.ts", /class PacelineRun/],
  ]) assert.match(readFileSync(join(installed, file), "utf8"), words, file);
});

test("TypeScript accepts the types, and refuses a wrong field", () => {
  const tsc = new URL("../node_modules/typescript/bin/tsc", import.meta.url).pathname;
  const compile = (text) => {
    writeFileSync(join(folder, "use.ts"), text);
    const options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2022", "--lib", "es2022,dom"];
    return execFileSync(process.execPath, [tsc, ...options, "use.ts"], { cwd: folder, stdio: "pipe" }).toString();
  };
  const begin = 'import { Simulator, type RunResult } from "paceline";\nconst simulator = await Simulator.load();\n';
  compile(`${begin}const { flows }: RunResult = simulator.run({ schemes: ["cubic"], rate: 12 });\nflows[0]?.throughput_mbps.toFixed();\n`
    + 'import { PacelineRun } from "paceline/element";\nconst run: PacelineRun = document.createElement("paceline-run");\nrun.play();\n');
  assert.throws(() => compile(`${begin}simulator.run({ schemes: "cubic", speed: 12 });\n`), ({ stdout }) => /speed/.test(String(stdout)));
});

test("Node.js runs settings, scenarios and requests", () => {
  const scenario = readFileSync(new URL("../../scenarios/fairness.toml", import.meta.url), "utf8");
  const golden = /^scenario fairness: (\S+) /m.exec(readFileSync(new URL("../../scenarios/golden.txt", import.meta.url), "utf8"));
  const found = inNode(`
    import { Simulator } from "paceline";
    import "paceline/element";
    const simulator = await Simulator.load();
    const run = (setting) => simulator.run({ schemes: "cubic,abc[dt=60ms,eta=0.95]", rate: "12 Mbit/s", rtt: 60, duration: 10, ...setting });
    const wrong = (setting) => { try { run(setting); return ""; } catch (error) { return error.message; } };
    const { rows, series, ...result } = run({});
    console.log(JSON.stringify({
      result, again: run({}).digest, seeded: run({ seed: 2, loss: 1 }).digest, unseeded: run({ loss: 1 }).digest,
      scenario: simulator.scenario(${JSON.stringify(scenario)}),
      traces: simulator.catalog().traces, times: series.link.time_s.length, inFlight: Math.max(...series.flows[0].in_flight),
      wrong: [{ rate: "fast" }, { rtt: "-1" }, { schemes: "" }, { schemes: "nonsense" }, { trace: "lte-driving" }, { buffer: "x" }, { duration: 1e6 },
        { rate: undefined, trace: "nowhere" }, { rate: undefined, trace: "lte-driving", buffer: "1 BDP" },
        { rate: undefined, trace: "lte-driving", buffer: "100 ms " }, { buffer: "1,000" }].map(wrong),
    }));`);
  const [cubic, abc] = found.result.flows;
  assert.equal(cubic.scheme, "cubic");
  assert.equal(abc.scheme, "abc[dt=60ms,eta=0.95]");
  assert.ok(cubic.throughput_mbps + abc.throughput_mbps > 9 && cubic.throughput_mbps + abc.throughput_mbps < 12, JSON.stringify(found.result));
  assert.ok(cubic.rtt_ms.mean >= 60 && cubic.rtt_ms.p95 >= cubic.rtt_ms.mean);
  assert.match(found.result.digest, /^[0-9a-f]{16}$/);
  assert.equal(found.again, found.result.digest);
  assert.notEqual(found.seeded, found.unseeded);
  assert.ok(found.traces.includes("lte-driving") && found.times > 900 && found.inFlight > 10, `${found.times} ${found.inFlight}`);
  assert.equal(found.scenario.digest, golden[1]);
  const words = [/rate "fast": expected Mbit/, /rtt "-1"/, /schemes ""/, /nonsense/, /expected one of the two/, /buffer "x"/, /duration/, /nowhere/, /on a trace/, /on a trace/, /buffer "1,000"/];
  for (const [at, pattern] of words.entries()) assert.match(found.wrong[at], pattern);
});

test("the element runs, by keyboard, and tells its result", async () => {
  const page = await open('<paceline-run id="run" schemes="cubic,bbr" rate="12 Mbit/s" rtt="60 ms" duration="10 s" plots="throughput delay"></paceline-run>');
  const result = await heard(page, "result");
  assert.equal(result.flows.length, 2);
  assert.ok(result.flows[0].throughput_mbps + result.flows[1].throughput_mbps > 9);
  // Node.js has the same digest.
  const { digest } = inNode(`import { Simulator } from "paceline";
    const { digest } = (await Simulator.load()).run({ schemes: "cubic,bbr", rate: 12, rtt: 60, duration: 10 });
    console.log(JSON.stringify({ digest }));`);
  assert.equal(result.digest, digest);
  const element = page.locator("#run");
  assert.equal(await element.locator("tbody tr").count(), 2);
  assert.match(await element.locator("figcaption").innerText(), new RegExp(`12 Mbit/s, RTT 60 ms, buffer 250 packets, 10 s, seed 1. Digest ${digest}`));
  // The plot is drawn: it has more colours than its paper.
  const colours = await element.locator("canvas").first().evaluate((canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size;
  });
  assert.ok(colours > 20, `${colours} colours`);
  const time = () => page.evaluate(() => document.getElementById("run").time);
  assert.equal(await time(), 10);
  if (process.env.PACELINE_SHOTS) await page.screenshot({ path: join(process.env.PACELINE_SHOTS, "element-900.png"), fullPage: true });
  // The first stop is the button, the second the slider.
  await page.keyboard.press("Tab");
  await page.keyboard.press("Space");
  await page.waitForFunction(() => document.getElementById("run").time > 0.05 && document.getElementById("run").time < 9, null, patience);
  await page.keyboard.press("Space");
  const held = await time();
  await page.waitForTimeout(300);
  assert.equal(await time(), held);
  await page.keyboard.press("Tab");
  await page.keyboard.press("End");
  assert.equal(await time(), 10);
  await page.keyboard.press("Home");
  assert.equal(await time(), 0);
  // Another attribute is another run; a wrong one is told, and leaves the element usable.
  await page.evaluate(() => document.getElementById("run").setAttribute("schemes", "vegas"));
  assert.equal((await heard(page, "result", 2)).flows[0].scheme, "vegas");
  await page.evaluate(() => document.getElementById("run").setAttribute("rate", "fast"));
  assert.match((await heard(page, "error")).message, /rate "fast"/);
  await element.getByRole("alert").filter({ hasText: 'rate "fast"' }).waitFor();
  await page.evaluate(() => {
    const run = document.getElementById("run");
    run.removeAttribute("rate");
    run.setAttribute("trace", "mine");
    run.traceText = Array.from({ length: 100 }, (_, n) => `${4 * n + 1}\n`).join("");
  });
  const traced = await heard(page, "result", 3);
  assert.ok(traced.flows[0].throughput_mbps < 3.1, JSON.stringify(traced.flows));
  assert.equal(await element.getByRole("alert").isVisible(), false);
  assert.deepEqual(page.wrong, []);
  await page.context().close();
});

test("an element that was changed outside of the document runs anew in it", async () => {
  const page = await open('<paceline-run id="run" schemes="cubic" rate="12" duration="5"></paceline-run>');
  await heard(page, "result");
  // While it runs, an attribute changes.
  await page.evaluate(async () => {
    window.run = document.getElementById("run");
    run.setAttribute("duration", "100");
    await new Promise((resolve) => setTimeout(resolve, 20));
    run.remove();
    run.setAttribute("duration", "3");
  });
  await page.waitForTimeout(1500);
  assert.equal(await page.evaluate(() => run.result), undefined);
  await page.evaluate(() => document.querySelector("main").append(run));
  assert.equal((await heard(page, "result", 2)).setting.duration, 3);
  await page.evaluate(() => {
    run.remove();
    run.traceText = "4\n8\n12\n";
    document.querySelector("main").append(run);
  });
  await heard(page, "result", 3);
  assert.deepEqual(page.wrong, []);
  await page.context().close();
});

test("several elements share a simulator, at 390 px, dark, and a missing one is told", async () => {
  const page = await open(
    '<paceline-run id="one" schemes="abc" trace="lte-driving" duration="5"></paceline-run><paceline-run id="two" schemes="cubic" theme="light"'
    + ' duration="5" label="Cubic alone"></paceline-run><paceline-run id="three" wasm="nowhere.wasm"></paceline-run>',
    { viewport: { width: 390, height: 844 }, colorScheme: "dark" });
  await heard(page, "result", 2);
  assert.match((await heard(page, "error")).message, /nowhere\.wasm cannot be loaded: 404/);
  const loaded = await page.evaluate(() => performance.getEntriesByType("resource").filter(({ name }) => name.endsWith("paceline.wasm")).length);
  assert.equal(loaded, 1);
  assert.match(await page.locator("#two figcaption").innerText(), /^Cubic alone: /);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false);
  const papers = await page.evaluate(() => ["one", "two"].map((id) =>
    getComputedStyle(document.getElementById(id).shadowRoot.querySelector("figure")).backgroundColor));
  assert.deepEqual(papers, ["rgb(20, 24, 29)", "rgb(255, 255, 255)"]);
  const axe = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
  await page.evaluate(axe);
  const violations = await page.evaluate(async () =>
    (await window.axe.run(document, { runOnly: { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa"] } })).violations
      .map(({ id, nodes }) => [id, nodes.map((node) => node.target.join(" "))]));
  assert.deepEqual(violations, []);
  if (process.env.PACELINE_SHOTS) await page.screenshot({ path: join(process.env.PACELINE_SHOTS, "element-390.png"), fullPage: true });
  await page.context().close();
});
