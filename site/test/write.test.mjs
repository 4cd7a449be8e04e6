// Write: controllers in JavaScript in the page, their sandbox, their addresses, and the contest.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { program } from "./browser.mjs";
import { close, number, open, serverAddress, shot, until } from "./pages.mjs";

const editor = (page) => page.getByLabel("The controller's text");
const run = (page) => page.locator("#write").getByRole("button", { name: "Run", exact: true });
const alert = (page, words) => page.locator("#write [role=alert]").filter({ hasText: words }).first().waitFor();

/** Writes a controller and runs it. */
async function write(page, name, text) {
  await page.locator("#write-name").fill(name);
  await editor(page).fill(text);
  await run(page).click();
}

const digests = async (page) => {
  await page.locator("#write-digests").filter({ hasText: "Digests" }).waitFor();
  const text = await page.locator("#write-digests").innerText();
  return Object.fromEntries([...text.matchAll(/(\w+) ([0-9a-f]{16})/g)].map(([, scheme, digest]) => [scheme, digest]));
};

for (const width of [390, 1300]) {
  test(`an example runs against Cubic at ${width} px`, async () => {
    const page = await open("#write", width, { colorScheme: width === 390 ? "light" : "dark" });
    await run(page).click();
    const found = await digests(page);
    // The command makes the same run of Cubic.
    const output = execFileSync(program, ["compare", "--json", "-q", "--runs", "1", "--spread", "0s", "--duration", "30s",
      "--trace", "lte-driving", "--schemes", "cubic"]);
    assert.equal(found.cubic, JSON.parse(output.toString()).runs[0].digest);
    assert.notEqual(found.aimd, found.cubic);
    assert.equal(await page.locator("#write .written figure svg").count(), 2);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false);
    await shot(page, `write-${width}`);
    await close(page);
  });
}

test("an address has the controller, which runs only after the reader presses Run", async () => {
  const page = await open("#write");
  await write(page, "mine", "// " + "ä€😀".repeat(9) + "\nfunction on_ack(ack) {\n  console.log('runs');\n  return 30;\n}");
  const first = await digests(page);
  assert.match(await page.locator("#write .log").innerText(), /^runs\nruns/);
  await page.waitForFunction(() => location.hash.includes("controller=mine."));
  const { hash } = new URL(page.url());
  await close(page);
  // Another browser, which has no controllers.
  const other = await open(hash);
  assert.match(await editor(other).inputValue(), /ä€😀[^]*return 30/);
  await other.locator("#write .offer").filter({ hasText: "comes with the address" }).waitFor();
  assert.equal(await other.locator("iframe").count(), 0);
  // Nor does it run in the other views before.
  await other.evaluate((words) => (location.hash = `#ratatouille?flows=mine+cubic&${words}`), hash.slice(hash.indexOf("controller=")));
  await other.locator("#play-error").filter({ hasText: "comes with the address" }).waitFor();
  await other.locator("#tab-write").click();
  await run(other).click();
  assert.deepEqual(await digests(other), first);
  // Then it is a scheme of the live view.
  await other.getByRole("button", { name: "Watch live" }).click();
  await until(other, "the controller sends", async () => (await number(other, 1, 0)) > 0);
  assert.equal(await other.getByLabel("Scheme of flow 1", { exact: true }).inputValue(), "mine");
  await other.waitForFunction(() => location.hash.includes("controller=mine."));
  await close(other);
});

test("the live view has the link of the form, or says what it does not have", async () => {
  const page = await open("#write");
  const fill = (name, text) => page.locator(`#write input[name=${name}]`).fill(text);
  const watch = page.getByRole("button", { name: "Watch live" });
  for (const [name, wrong, words, right] of [
    ["link", "400Mbps", 'rate "400Mbps": it has 0.3 to 300 Mbit/s', "500kbps"],
    ["rtt", "0.9s", 'rtt "0.9s": it has 5 to 500 ms', "0.2s"],
    ["against", "cubic+codel", "leave out that of cubic+codel", "vegas[alpha=3,beta=6],cubic"],
    ["buffer", "many", 'buffer "many"', "2BDP"],
  ]) {
    await fill(name, wrong);
    await watch.click();
    await alert(page, words);
    await fill(name, right);
  }
  await watch.click();
  await page.waitForFunction(() => location.hash.startsWith("#ratatouille"));
  await page.waitForSelector("html[data-ready]");
  await page.locator("#rate-value").waitFor();
  const seen = () => Promise.all(["rate", "rtt", "buffer"].map((id) => page.locator(`#${id}-value`).inputValue()));
  await until(page, "the setting of the form", async () => String(await seen()) === "0.5 Mbit/s,200 ms,17 packets");
  assert.match(await page.evaluate(() => decodeURIComponent(location.hash)), /flows=aimd\+vegas\[alpha=3,beta=6\]\+cubic/);
  await close(page);
});

test("a controller is chosen for a flow that is off", async () => {
  const page = await open("#write");
  await page.locator("#write input[name=duration]").fill("2s");
  await write(page, "mine", "function on_ack(ack) { return 20; }");
  await digests(page);
  await page.evaluate(() => (location.hash = "#ratatouille?flows=cubic+-bbr&speed=2"));
  await page.waitForFunction(() => document.querySelector("table.flows"));
  await until(page, "it runs", async () => (await number(page, 1, 0)) > 0);
  await page.getByLabel("Scheme of flow 2", { exact: true }).selectOption("mine");
  await page.waitForFunction(() => /flows=cubic\+-mine/.test(location.hash));
  assert.equal(await page.locator("#play-error").isVisible(), false);
  await page.getByRole("switch", { name: "Flow 2 on" }).check();
  await until(page, "the controller sends", async () => (await number(page, 2, 0)) > 0);
  assert.equal(await page.getByLabel("Scheme of flow 2", { exact: true }).inputValue(), "mine");
  await close(page);
});

test("a shared address has the whole form, and the controllers of the others", async () => {
  const page = await open("#write");
  const field = (of, name) => of.locator(`#write input[name=${name}]`);
  await field(page, "duration").fill("2s");
  await write(page, "other", "function on_ack(ack) { return 20; }");
  await digests(page);
  await field(page, "against").fill("other,cubic");
  await write(page, "mine", "function on_ack(ack) { return 30; }");
  await until(page, "both controllers", async () => (await page.evaluate(() => location.hash.match(/controller=/g)?.length)) === 2);
  const { hash } = new URL(page.url());
  await write(page, "mine", `// ${"a".repeat(50_000)}`);
  await alert(page, "at most 50 kB");
  await close(page);
  // A reader with other fields gets those of the address.
  const other = await open("#write");
  await field(other, "buffer").fill("20");
  await field(other, "rtt").fill("300ms");
  await other.evaluate((words) => (location.hash = words), hash);
  await until(other, "the form", async () => (await field(other, "against").inputValue()) === "other,cubic");
  assert.deepEqual([await field(other, "buffer").inputValue(), await field(other, "rtt").inputValue()], ["250", "100ms"]);
  assert.equal(await other.locator("#write-name").inputValue(), "mine");
  // The other controller has to be read first, too.
  await run(other).click();
  await alert(other, "The controller other comes with the address");
  await other.getByLabel("Controller", { exact: true }).selectOption("other");
  await field(other, "against").fill("cubic");
  await run(other).click();
  assert.ok((await digests(other)).other);
  await close(other);
});

test("a damaged address is told", async () => {
  const page = await open("#write?controller=mine.AAAA");
  await page.locator("#start-error").filter({ hasText: "damaged" }).waitFor();
  await close(page);
});

test("mistakes are told with their lines, and an endless loop is ended", async () => {
  const page = await open("#write");
  await write(page, "mine", "let a = 1;\nlet b = 2;\nfunction on_ack(ack {\n  return 5;\n}");
  await alert(page, "mine.js, line 3: SyntaxError");
  assert.equal(await editor(page).evaluate((area) => area.value.slice(area.selectionStart, area.selectionEnd)), "function on_ack(ack {");
  await write(page, "mine", "function on_ack(ack) {\n  return ack.none.at;\n}");
  await alert(page, "mine.js, line 2: TypeError");
  await write(page, "Mine", "function on_ack(ack) { return 5; }");
  await alert(page, "name has up to 40");
  await write(page, "cubic", "function on_ack(ack) { return 5; }");
  await alert(page, "`cubic` already");
  await write(page, "mine", "function on_ack(ack) {\n  for (;;);\n}");
  await alert(page, "did not return within 10 s");
  assert.equal(await page.locator("iframe").count(), 0);
  await write(page, "mine", "for (;;);");
  await alert(page, "did not return within 10 s");
  // The page goes on.
  await write(page, "mine", "function on_ack(ack) { return 5; }");
  assert.ok((await digests(page)).mine);
  // A controller that is only slow can be stopped.
  await write(page, "mine", "function on_ack(ack) { let n = 0; for (let i = 0; i < 3e7; i += 1) n += i; return 5 + (n & 1); }");
  await page.locator("#write").getByRole("button", { name: "Stop" }).first().click();
  await alert(page, "Stopped.");
  await close(page);
});

test("controllers reach neither networks, nor clocks, nor the page", async () => {
  const page = await open("#write");
  const attempt = async (code, words) => {
    await write(page, "mine", `function on_ack(ack) {\n  ${code}\n  return 5;\n}`);
    await alert(page, words);
  };
  await attempt("Date.now();", "Date does not exist in a controller: controllers get the simulated time");
  await attempt("performance.now();", "performance does not exist");
  await attempt("setTimeout(() => {}, 5);", "setTimeout does not exist");
  for (const name of ["fetch", "XMLHttpRequest", "WebSocket", "importScripts", "postMessage", "indexedDB", "caches", "navigator", "crypto",
    "Worker", "self", "WebAssembly", "Atomics", "Intl", "location", "BroadcastChannel", "EventSource", "WebTransport"]) {
    await attempt(`const found = [typeof ${name}, typeof globalThis.${name}, Function("return typeof ${name}")()];
      throw found.join();`, "threw undefined,undefined,undefined");
  }
  await attempt("Math.max = () => 5;", "TypeError");
  await attempt("Array.prototype.push = () => 5;", "TypeError");
  // What the language itself can ask for is refused by the policy: nothing leaves the page.
  const { origin } = new URL(serverAddress());
  await write(page, "mine", `function on_ack(ack) { import("${origin}/stolen.js").catch(() => {}); import("data:text/javascript,1").catch(() => {}); return 5; }`);
  assert.ok((await digests(page)).mine);
  assert.deepEqual(page.wrong.filter((text) => !/Content Security Policy|Content-Security-Policy/.test(text)), []);
  page.wrong.length = 0;
  await close(page);
});

test("the contest ranks controllers and schemes as the command does, and goes through a file", async () => {
  const page = await open("#write");
  await write(page, "bad", "let n = 0;\nfunction on_ack(ack) { n += 1; if (n > 100) throw 'bad'; return 5; }");
  await alert(page, "bad.js");
  await page.getByLabel("Controller", { exact: true }).selectOption({ label: "By delay: keeps five packets in the queue" });
  await run(page).click();
  await digests(page);
  await page.getByLabel("Schemes", { exact: true }).fill("cubic,vegas");
  await page.getByRole("button", { name: "Run the contest" }).click();
  await alert(page, "Left out: bad: bad.js");
  const board = page.getByRole("region", { name: "Leaderboard, secret trace" });
  assert.match(await board.innerText(), /delay/);
  await shot(page, "contest-1300");
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Export JSON" }).click()]);
  const text = readFileSync(await download.path(), "utf8");
  const { attempts, controllers } = JSON.parse(text);
  assert.deepEqual(controllers.map(({ name }) => name).sort(), ["bad", "delay"]);
  const native = JSON.parse(execFileSync(program, ["contest", "--json", "--entries", "cubic,vegas"]).toString()).attempts;
  const figures = ({ entry, round, throughput_mbps, delay_ms, power }) => ({ entry, round, throughput_mbps, delay_ms, power });
  const ours = attempts.filter(({ entry }) => entry !== "delay").map(figures);
  assert.deepEqual(ours, native.map(figures));
  for (const round of ["training", "secret"]) {
    const places = attempts.filter((attempt) => attempt.round === round && attempt.place !== null);
    assert.deepEqual(places.map(({ place }) => place), [1, 2, 3]);
    assert.ok(places.every(({ power }, at) => at === 0 || power <= places[at - 1].power));
  }
  // The board is kept, and another browser takes it from the file.
  await page.reload();
  await page.waitForSelector("html[data-ready]");
  assert.equal(await page.getByRole("region", { name: /^Leaderboard/ }).count(), 2);
  await close(page);
  const other = await open("#write", 390);
  await other.locator("#contest-file").setInputFiles([
    { name: "contest.json", mimeType: "application/json", buffer: Buffer.from(text) },
    { name: "Anna's 1.js", mimeType: "text/javascript", buffer: Buffer.from("function on_ack() { return 8; }") },
  ]);
  await other.getByRole("checkbox", { name: "anna_s_1" }).waitFor();
  assert.ok(await other.getByRole("checkbox", { name: "delay" }).isChecked());
  assert.equal(await other.locator("iframe").count(), 0);
  await shot(other, "contest-390");
  await other.locator("#contest-file").setInputFiles([{ name: "x.json", mimeType: "application/json", buffer: Buffer.from("{}") }]);
  await alert(other, "x.json: it is no leaderboard");
  const [attempt] = attempts;
  for (const [name, board] of [["y.json", { attempts: [{ ...attempt, trace: undefined, place: undefined }] }], ["z.json", { attempts, controllers: [null] }]]) {
    await other.locator("#contest-file").setInputFiles([{ name, mimeType: "application/json", buffer: Buffer.from(JSON.stringify(board)) }]);
    await alert(other, `${name}: it is no leaderboard`);
  }
  assert.equal(await other.evaluate(() => document.documentElement.scrollWidth > innerWidth), false);
  await close(other);
});

test("a run in the editor leaves the contest alone", async () => {
  const page = await open("#write");
  await page.locator("#write input[name=duration]").fill("2s");
  await run(page).click();
  await digests(page);
  await page.evaluate(async () => {
    const button = (text) => [...document.querySelectorAll("#write button")].find((one) => one.textContent === text);
    button("Run the contest").click();
    while (document.querySelector(".contest progress").hidden) await new Promise((resolve) => setTimeout(resolve, 1));
    button("Run").click();
  });
  const board = page.getByRole("region", { name: "Leaderboard, secret trace" });
  await board.waitFor();
  assert.match(await board.innerText(), /aimd/);
  assert.equal(await page.locator(".contest [role=alert]").isVisible(), false);
  await digests(page);
  await close(page);
});

test("everything has a name, and the keyboard reaches it", async () => {
  const page = await open("#write");
  const nameless = await page.evaluate(() =>
    [...document.querySelectorAll("#write :is(button, input, select, textarea, summary, progress, [role=region])")]
      .filter((one) => one.checkVisibility())
      .filter((one) => !(one.getAttribute("aria-label") || one.textContent?.trim() || one.labels?.[0]?.textContent?.trim()))
      .map((one) => one.outerHTML.slice(0, 120)));
  assert.deepEqual(nameless, []);
  // Tab leaves the editor.
  await editor(page).focus();
  await page.keyboard.press("Tab");
  assert.notEqual(await page.evaluate(() => document.activeElement?.tagName), "TEXTAREA");
  await close(page);
});
