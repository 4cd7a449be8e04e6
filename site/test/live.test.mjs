// The live run: values by hand, the path of flows, plots, packets as dots, keys, sessions.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { cell, close, drop, number, open, patience, reading, said, setValue, shot, until } from "./pages.mjs";

test("values of people can be set, with units, and mistakes are named", async () => {
  const page = await open("#ratatouille?speed=0&flows=cubic");
  const heard = (id) => page.locator(`#${id}`).getAttribute("aria-valuetext");
  for (const [id, text, value] of [
    ["rate", "10", "10 Mbit/s"], ["rate", "500 kbit/s", "0.5 Mbit/s"], ["rate", "0.1Gbps", "100 Mbit/s"],
    ["rtt", "20", "20 ms"], ["rtt", "0.2 s", "200 ms"], ["buffer", "1 BDP", "1667 packets"], ["buffer", "15 kB", "10 packets"],
    ["rate", "500000 bits/s", "0.5 Mbit/s"], ["rate", "2 Mbits/s", "2 Mbit/s"], ["rtt", "0,125 s", "125 ms"],
    ["buffer", "no limit", "no limit"], ["buffer", "1", "1 packet"], ["loss", "0.25 %", "0.25 %"], ["loss", "none", "none"],
    ["speed", "0.3", "0.3 ×"], ["window", "7 s", "7 s"],
  ]) {
    await page.locator("#controls-path").evaluate((details) => (details.open = true));
    await setValue(page, id, text);
    assert.equal(await heard(id), value, `${id}: ${text}`);
    assert.equal(await page.locator(`#${id}-value`).inputValue(), value);
  }
  for (const [id, text] of [["rate", "fast"], ["rate", "10 MB/s"], ["rate", "0"], ["rtt", "1 h"], ["buffer", "-3"], ["loss", "90"],
    ["rate", "100 bits/s"], ["rate", "12 bit"], ["rate", "1,200 kbit/s"], ["buffer", "1,000"], ["buffer", "1,000 packets"]]) {
    const before = await heard(id);
    await setValue(page, id, text);
    await page.locator(`#${id}-problem`).filter({ hasText: "Expected" }).waitFor();
    assert.equal(await page.locator(`#${id}-value`).getAttribute("aria-invalid"), "true");
    assert.equal(await heard(id), before);
    await page.locator(`#${id}-value`).press("Escape");
    assert.equal(await page.locator(`#${id}-problem`).isVisible(), false);
  }
  // The rate of a trace varies: the slider's, which is off, makes no sizes.
  await page.locator("#link-trace").selectOption("lte-driving");
  for (const text of ["1 BDP", "100 ms"]) {
    await setValue(page, "buffer", text);
    await page.locator("#buffer-problem").filter({ hasText: "for example 250, 64 kB or no limit" }).waitFor();
    await page.locator("#buffer-value").press("Escape");
  }
  await page.locator("#link-trace").selectOption("");
  // The slider itself stops at round numbers only.
  const seen = [];
  await page.locator("#rate").focus();
  await page.keyboard.press("Home");
  for (let step = 0; step < 40; step += 1) {
    seen.push(await heard("rate"));
    await page.keyboard.press("ArrowRight");
  }
  for (const rate of [1, 2, 5, 10, 12, 20, 50, 100, 200, 300]) assert.ok(seen.includes(`${rate} Mbit/s`), `${rate}: ${seen}`);
  await close(page);
});

test("a link is drawn by hand, with the pointer and with keys, and stays in the address", async () => {
  const page = await open("#ratatouille?rate=6&speed=20&flows=cubic");
  await page.locator("#controls-draw summary").click();
  const drawing = page.locator("#draw-link");
  const at = async (second, mbps) => {
    await drawing.scrollIntoViewIfNeeded();
    const box = await drawing.boundingBox();
    return [box.x + (box.width * (second - 0.5)) / 20, box.y + box.height * (1 - mbps / 24)];
  };
  // From the left to the right: a fast pointer leaves no second out.
  await page.mouse.move(...(await at(1, 20)));
  await page.mouse.down();
  await page.mouse.move(...(await at(11, 10)));
  await page.mouse.up();
  const drawn = async () => decodeURIComponent(/drawn=([^&]*)/.exec(await page.evaluate(() => location.hash))?.[1] ?? "").split("+");
  await page.waitForFunction(() => /trace=drawn\.csv/.test(location.hash), null, patience);
  const rates = (await drawn()).map(Number);
  assert.equal(rates.length, 20);
  assert.ok(rates.slice(0, 11).every((rate, second) => Math.abs(rate - (20 - second)) <= 1), `${rates}`);
  // The others have the rate that the link had.
  assert.ok(rates.slice(11).every((rate) => rate === 6), `${rates}`);
  assert.equal(await page.locator("#link-trace").inputValue(), "drawn.csv");
  assert.ok(await page.locator("#rate").isDisabled());
  // The keyboard alone sets a second, too.
  await page.locator("#draw-second").focus();
  await page.keyboard.press("End");
  await page.locator("#draw-rate").focus();
  await page.keyboard.press("Home");
  await page.waitForFunction(() => /drawn=[^&]*\+0(&|$)/.test(location.hash), null, patience);
  await setValue(page, "draw-second", "19");
  await setValue(page, "draw-rate", "500 kbit/s");
  await page.waitForFunction(() => /drawn=[^&]*\+0\.5\+0(&|$)/.test(location.hash), null, patience);
  // The run follows the drawing: the product of link and RTT falls where the rate falls, and returns.
  await until(page, "the run has come round", async () => (await reading(page, "time")) > 25);
  const heights = await page.evaluate(() => window.paceline.rows().map(({ ideal }) => ideal));
  assert.ok(Math.max(...heights) > 4 * Math.min(...heights), `${Math.min(...heights)} to ${Math.max(...heights)}`);
  await shot(page, "drawn-1300");
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save it as drawn.csv" }).click()]);
  const lines = readFileSync(await download.path(), "utf8").trim().split("\n");
  assert.deepEqual([lines[0], lines[19], lines[20]], ["time_ms,mbps", "18000,0.5", "19000,0"]);
  const before = await drawn();
  await page.reload();
  await page.waitForSelector("html[data-ready]");
  await until(page, "it runs again", async () => (await reading(page, "time")) > 1);
  assert.deepEqual(await drawn(), before);
  assert.equal(await page.locator("#draw-rate").getAttribute("aria-valuetext"), `${before[0]} Mbit/s`);
  await close(page);
});

test("an address without its trace says so, and so does the button that copies it", async () => {
  const page = await open("#ratatouille?speed=1&flows=cubic");
  await drop(page, "#play", { "mine.csv": "time_ms,mbps\n0,3\n1000,4\n" });
  await said(page, "The link follows the file mine.csv.");
  await page.waitForFunction(() => location.hash.includes("trace=mine.csv"), null, patience);
  await page.locator("#share").click();
  await page.locator("#play-error").filter({ hasText: "not the trace mine.csv from your file" }).waitFor();
  const { hash } = new URL(page.url());
  await close(page);
  const other = await open(hash);
  await other.locator("#start-error").filter({ hasText: "There is no trace mine.csv here: drop its file" }).waitFor();
  assert.equal(await other.locator("#link-trace").inputValue(), "");
  await close(other);
  const queue = await open("#ratatouille?queue=nonsense&flows=cubic");
  await queue.locator("#start-error").filter({ hasText: "There is no queue nonsense" }).waitFor();
  await close(queue);
});

test("packets in flight of all flows are link × RTT and the queue", async () => {
  const page = await open("#ratatouille?rate=12&rtt=100&speed=20&flows=newreno+newreno+newreno+newreno");
  await until(page, "a while has passed", async () => (await reading(page, "time")) > 20);
  await page.keyboard.press("Space");
  await said(page, "Paused.");
  const errors = await page.evaluate(() => window.paceline.rows().filter((row) => row.queue > 20)
    .map(({ total, ideal, queue }) => Math.abs(total - ideal - queue) / total).sort((one, other) => one - other));
  assert.ok(errors.length > 100, `${errors.length} rows`);
  assert.ok(errors[errors.length >> 1] < 0.05, `${errors[errors.length >> 1]}`);
  assert.ok(await page.locator("#key-all").isVisible());
  assert.equal(await page.locator("#key-abc").isVisible(), false);
  await close(page);
});

test("flows have their own RTT, a second link, and loss", async () => {
  const page = await open("#ratatouille?rate=12&rtt=50&speed=20&flows=newreno+newreno");
  await page.locator("#controls-path summary").click();
  await page.getByLabel("Show RTT and links of each flow in the table").check();
  await page.getByLabel("Additional RTT of flow 2 in ms").fill("200");
  await page.keyboard.press("Enter");
  await until(page, "the longer RTT", async () => (await number(page, 2, 1)) > (await number(page, 1, 1)) + 150);
  await page.waitForFunction(() => location.hash.includes("extra=0+200"), null, patience);
  await setValue(page, "second", "4");
  await page.getByLabel("Links of flow 2").selectOption("first");
  await until(page, "the second link limits flow 1 only", async () =>
    (await reading(page, "time")) > 10 && (await number(page, 1, 0)) < 4.1 && (await number(page, 2, 0)) > 5);
  await setValue(page, "loss", "2 %");
  await until(page, "losses", async () => /\(\d.*%\)/.test(await cell(page, 1, 3)));
  await page.waitForFunction(() => /loss=2\b/.test(location.hash), null, patience);
  await page.reload();
  await page.waitForSelector("html[data-ready]");
  assert.equal(await page.getByLabel("Links of flow 2").inputValue(), "first");
  assert.equal(await page.locator("#loss").getAttribute("aria-valuetext"), "2 %");
  await close(page);
});

test("the share of lost packets is that of packets, also over two links", async () => {
  const page = await open("#ratatouille?rate=12&rtt=20&second=12&loss=10&speed=20&flows=newreno");
  await until(page, "a while has passed", async () => (await reading(page, "time")) > 60);
  const share = Number(/\(([\d.]+) %\)/.exec(await cell(page, 1, 3))[1]);
  assert.ok(share > 7 && share < 14, `${share} %`);
  await close(page);
});

test("further plots are chosen, and stay in the address", async () => {
  const page = await open("#ratatouille?plots=queue&flows=cubic", 390);
  assert.deepEqual(await page.locator("#series figcaption").allInnerTexts(), ["Queue"]);
  await page.locator("#plot-delay").check();
  await page.locator("#plot-window").check();
  await page.waitForFunction(() => location.hash.includes("plots=delay+window+queue"), null, patience);
  assert.deepEqual(await page.locator("#series figcaption").allInnerTexts(), ["Round-trip time", "Window", "Queue"]);
  // On a phone the plot stays in view while the controls are used.
  await page.locator("#window-value").scrollIntoViewIfNeeded();
  await page.evaluate(() => window.scrollTo(0, 1500));
  const box = await page.locator("#plot").boundingBox();
  assert.ok(box.y >= 0 && box.y < 20, `${box.y}`);
  await shot(page, "phone-sticky");
  await close(page);
});

test("packets are dots at low speeds", async () => {
  const page = await open("#ratatouille?rate=12&rtt=100&speed=0.5&window=2&pipe=1&flows=cubic+vegas");
  await until(page, "packets in the queue, on the wire, and their acknowledgements", async () => {
    const said = await page.locator("#pipe").getAttribute("aria-label");
    const found = /(\d+) in the queue, (\d+) on the wire, (\d+) ack/.exec(said ?? "");
    return found && found.slice(1).every((count) => Number(count) > 5);
  });
  await shot(page, "pipe-1300");
  await setValue(page, "speed", "20");
  await page.locator("#pipe-note").filter({ hasText: /Too many packets.*2 ×|1 ×/ }).waitFor();
  await page.getByLabel("Packets as dots").uncheck();
  assert.equal(await page.locator("#pipe").isVisible(), false);
  await close(page);
});

test("keys pause, step and begin anew", async () => {
  const page = await open("#ratatouille?rate=12&flows=cubic");
  await until(page, "it runs", async () => (await reading(page, "time")) > 0.3);
  await page.keyboard.press("Space");
  await said(page, "Paused.");
  // The answer comes after what the simulator had still to do.
  await page.getByRole("switch", { name: "Flow 2 on" }).check();
  await said(page, "Flow 2, bbr, is on.");
  await page.locator("#main").focus();
  const last = () => page.evaluate(() => window.paceline.time());
  const before = await last();
  await page.keyboard.press("ArrowRight");
  await until(page, "a step of 10 ms", async () => Math.abs((await last()) - before - 0.01) < 1e-6);
  await page.keyboard.press("Shift+ArrowRight");
  await until(page, "a step of 100 ms", async () => Math.abs((await last()) - before - 0.11) < 1e-6);
  // In a field the keys are the field's.
  await page.locator("#rate-value").focus();
  await page.keyboard.press("ArrowRight");
  await page.locator("#main").focus();
  await page.keyboard.press("r");
  await until(page, "it begins anew", async () => (await last()) === 0);
  await page.keyboard.press("Space");
  await until(page, "it runs again", async () => (await last()) > 0.3);
  await close(page);
});

test("a recorded session is repeated to the same digest", async () => {
  const page = await open("#ratatouille?rate=12&rtt=60&speed=2&flows=cubic+-bbr");
  await until(page, "it runs", async () => (await reading(page, "time")) > 1);
  await setValue(page, "rate", "4");
  await until(page, "some time", async () => (await reading(page, "time")) > 2);
  await page.getByRole("switch", { name: "Flow 2 on" }).check();
  await said(page, "Flow 2, bbr, is on.");
  await until(page, "some more", async () => (await reading(page, "time")) > 3);
  await page.locator("#pause").click();
  await page.locator("#session-line").filter({ hasText: /2 changes are recorded; digest [0-9a-f]{16}/ }).waitFor({ state: "attached" });
  await page.locator("#controls-session summary").click();
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save session" }).click()]);
  const file = readFileSync(await download.path(), "utf8");
  const words = new URLSearchParams(JSON.parse(file).session);
  assert.match(words.get("changes"), /^\d+:rate=4 \d+:flow2=bbr$/);
  // By the address, in a new page, at another speed.
  words.set("speed", "5");
  const other = await open(`#ratatouille?${words}`);
  await other.locator("#session-result").filter({ hasText: `with the recorded digest ${words.get("digest")}` }).waitFor();
  assert.equal(await other.locator("#rate-value").inputValue(), "4 Mbit/s");
  assert.ok(await other.getByRole("switch", { name: "Flow 2 on" }).isChecked());
  await close(other);
  // By the file, dropped on the page.
  await drop(page, "#play", { "session.json": file });
  await page.locator("#session-result").filter({ hasText: "with the recorded digest" }).waitFor();
  // A change on the way gives up the rest.
  await drop(page, "#play", { "session.json": file });
  await page.locator("#session-result").filter({ hasText: "A recorded session runs" }).waitFor();
  await setValue(page, "rtt", "30");
  await page.locator("#session-result").filter({ hasText: "rest of the recorded session is left out" }).waitFor();
  await close(page);
  const damaged = await open("#ratatouille?flows=cubic&changes=5:rate=x&end=10");
  await damaged.getByRole("alert").filter({ hasText: "damaged" }).waitFor();
  await close(damaged);
});

test("a change that the simulator refuses is taken back", async () => {
  const page = await open("#ratatouille?queue=infinite&buffer=250&flows=cubic&speed=1");
  await until(page, "it runs", async () => (await reading(page, "time")) > 0.1);
  await setValue(page, "buffer", "50");
  await page.locator("#play-error").filter({ hasText: "cannot change its limit" }).waitFor();
  await until(page, "the former buffer", async () => (await page.locator("#buffer-value").inputValue()) === "250 packets");
  await page.waitForFunction(() => location.hash.includes("buffer=250"), null, patience);
  await close(page);
});

test("changes that a restart has overtaken are no part of the new run", async () => {
  const page = await open("#ratatouille?flows=cubic&speed=20");
  await until(page, "it runs", async () => (await reading(page, "time")) > 5);
  await page.evaluate(() => {
    const rate = document.querySelector("#rate");
    for (const position of [3, 5, 25]) {
      rate.value = String(position);
      rate.dispatchEvent(new Event("input"));
    }
    document.querySelector("#reset").click();
  });
  await until(page, "the link of the defaults", async () => (await reading(page, "link")) === 12 && (await reading(page, "time")) > 0.5);
  assert.equal(await page.locator("#rate-value").inputValue(), "12 Mbit/s");
  await page.locator("#session-line").filter({ hasText: "0 changes are recorded" }).waitFor({ state: "attached" });
  // Those that come while a run begins are changes of this run.
  await page.evaluate(() => {
    document.querySelector("#restart").click();
    const rate = document.querySelector("#rate");
    rate.value = String(Number(rate.value) + 2);
    rate.dispatchEvent(new Event("input"));
  });
  await page.locator("#session-line").filter({ hasText: "1 change is recorded" }).waitFor({ state: "attached" });
  const rate = Number.parseFloat(await page.locator("#rate-value").inputValue());
  assert.ok(rate > 12);
  await until(page, "the link of the change", async () => (await reading(page, "link")) === rate);
  await close(page);
});

test("files with the name of the drawing or of a built-in trace do not take its place", async () => {
  const page = await open("#ratatouille?speed=10&flows=cubic");
  const text = "time_ms,mbps\n0,3\n1000,3\n";
  await page.locator("#controls-draw summary").click();
  await setValue(page, "draw-rate", "20 Mbit/s");
  await page.waitForFunction(() => /trace=drawn\.csv/.test(location.hash), null, patience);
  await drop(page, "#play", { "drawn.csv": text });
  await said(page, "The link follows the file drawn-2.csv.");
  await until(page, "the file's link", async () => Math.abs((await reading(page, "link")) - 3) < 0.5);
  await page.locator("#link-trace").selectOption("drawn.csv");
  await until(page, "the drawn link", async () => (await reading(page, "link")) > 10);
  await drop(page, "#play", { "lte-driving": "4\n8\n12\n" });
  await said(page, "The link follows the file lte-driving-2.");
  await until(page, "the file's link", async () => (await reading(page, "link")) < 4);
  assert.equal(await page.locator("#link-trace option[value=lte-driving]").innerText(), "lte-driving");
  await close(page);
  const compare = await open("#compare?traces=lte-driving&schemes=cubic&runs=1&duration=5s");
  await drop(compare, "#drop", { "lte-driving": "4\n8\n12\n" });
  await compare.locator("#compare-files").filter({ hasText: "lte-driving-2" }).waitFor();
  await compare.locator("#compare-run").click();
  await compare.locator("#compare-results h2").filter({ hasText: /^Results$/ }).waitFor();
  assert.deepEqual(await compare.locator("#compare-results tbody tr").evaluateAll((rows) => rows.map((row) => row.cells[0].textContent)),
    ["lte-driving", "lte-driving-2"]);
  await close(compare);
});

test("a session with numbers of more than four digits is repeated to the same digest", async () => {
  const page = await open("#ratatouille?rate=12.3456&rtt=60.125&buffer=12345&speed=5&flows=cubic+bbr&extra=0+123.456");
  await until(page, "it runs", async () => (await reading(page, "time")) > 1);
  await page.locator("#pause").click();
  await page.locator("#session-line").filter({ hasText: /digest [0-9a-f]{16}/ }).waitFor({ state: "attached" });
  await page.locator("#controls-session summary").click();
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save session" }).click()]);
  const file = readFileSync(await download.path(), "utf8");
  const words = new URLSearchParams(JSON.parse(file).session);
  assert.deepEqual(["rate", "rtt", "buffer"].map((name) => words.get(name)), ["12.3456", "60.125", "12345"]);
  assert.match(words.get("extra"), /^0 123\.456 0/);
  await drop(page, "#play", { "session.json": file });
  await page.locator("#session-result").filter({ hasText: "with the recorded digest" }).waitFor();
  await close(page);
});

for (const width of [390, 1300]) {
  test(`a chapter's sentences set the simulation at ${width} px, by keyboard`, async () => {
    const page = await open("", width);
    await page.getByRole("link", { name: "Six short chapters" }).focus();
    await page.keyboard.press("Enter");
    await page.locator("#story h2", { hasText: "Slow start" }).waitFor();
    await until(page, "the chapter's run", async () => (await page.locator("#buffer-value").inputValue()) === "100 packets"
      && (await reading(page, "time")) > 0.02);
    await page.locator("#story nav a", { hasText: "Unfair" }).click();
    await page.getByRole("button", { name: "Make flow 2's path 160 ms longer" }).focus();
    await page.keyboard.press("Enter");
    await until(page, "flow 1 gets more", async () =>
      (await reading(page, "time")) > 20 && (await number(page, 1, 0)) > 2 * (await number(page, 2, 0)) && (await number(page, 2, 0)) > 0);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false);
    await shot(page, `story-${width}`);
    await page.locator("#tab-ratatouille").click();
    await page.waitForFunction(() => location.hash.includes("extra=0+160"), null, patience);
    assert.equal(await page.locator("#story").isVisible(), false);
    await close(page);
  });
}

test("a scenario file is run as the command runs it", async () => {
  const page = await open("#compare");
  const scenario = "name = \"mine\"\nduration = \"5s\"\n[[link]]\nname = \"link\"\nrate = \"12Mbps\"\n[[flow]]\nscheme = \"cubic\"\nrtt = \"60ms\"\n";
  await page.locator("#scenario-file").setInputFiles({ name: "mine.toml", mimeType: "text/plain", buffer: Buffer.from(scenario) });
  await page.locator("#scenario-line").filter({ hasText: /mine: digest [0-9a-f]{16}/ }).waitFor();
  await page.frameLocator("#scenario-results iframe").getByRole("heading").first().waitFor();
  await page.locator("#scenario-file").setInputFiles({ name: "bad.toml", mimeType: "text/plain", buffer: Buffer.from("x = 1") });
  await page.getByRole("alert").filter({ hasText: "bad.toml:1" }).waitFor();
  // Several runs have their medians.
  await page.locator("#scenario-file").setInputFiles({ name: "three.toml", mimeType: "text/plain", buffer: Buffer.from(`runs = 3\n${scenario}`) });
  await page.locator("#scenario-line").filter({ hasText: /mine: 3 runs, and below their medians/ }).waitFor();
  await page.frameLocator("#scenario-results iframe").getByText("in each of 3 runs").waitFor();
  await page.locator("#scenario-file").setInputFiles({ name: "bad.toml", mimeType: "text/plain", buffer: Buffer.from("x = 1") });
  await page.getByRole("alert").filter({ hasText: "bad.toml:1" }).waitFor();
  // The page of the earlier run is gone.
  assert.equal(await page.locator("#scenario-results iframe").count(), 0);
  await shot(page, "scenario-1300");
  await close(page);
});
