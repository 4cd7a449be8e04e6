// The page in a browser at three widths: moving, switching, dropping and reading.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, test } from "node:test";
import { program } from "./browser.mjs";
import { cell, close, drop, newContext, number, open, patience, reading, said, serverAddress, setValue, shot, until } from "./pages.mjs";

const WIDTHS = [390, 1300, 1900];

const folders = [];
after(() => folders.forEach((folder) => rmSync(folder, { recursive: true })));

/** Makes a folder that is removed after all tests. */
function newFolder(name) {
  folders.push(mkdtempSync(join(tmpdir(), name)));
  return folders.at(-1);
}

for (const width of WIDTHS) {
  test(`Ratatouille at ${width} px`, async () => {
    const page = await open("#ratatouille?rate=12&rtt=60&speed=5&flows=remy+cubic+-abc", width);
    await until(page, "the run goes on", async () => (await reading(page, "time")) > 3);
    assert.equal(await reading(page, "link × RTT"), 60);
    await until(page, "Cubic has packets in flight", async () => (await number(page, 2, 2)) > 0);
    // Sliders move with the pointer and with keys, and the address follows.
    await setValue(page, "rate", "95");
    await until(page, "a faster link", async () => (await reading(page, "link")) > 90);
    await page.locator("#rtt").focus();
    await page.keyboard.press("End");
    assert.equal(await page.locator("#rtt").getAttribute("aria-valuetext"), "500 ms");
    await until(page, "a longer path", async () => (await reading(page, "link × RTT")) > 3000);
    await page.keyboard.press("Home");
    await setValue(page, "rate", "9.49 Mbit/s");
    await setValue(page, "rtt", "0.04 s");
    await page.waitForFunction(() => location.hash.includes("rate=9.49&rtt=40&"), null, patience);
    // Flows are switched on and off.
    await page.getByRole("switch", { name: "Flow 3 on" }).check();
    await until(page, "ABC has marks", async () => (await cell(page, 3, 4)).includes("acc."));
    await shot(page, `ratatouille-${width}`);
    await page.getByRole("switch", { name: "Flow 2 on" }).uncheck();
    await until(page, "Cubic is gone", async () => (await cell(page, 2, 2)) === "–");
    await page.getByLabel("Scheme of flow 1", { exact: true }).selectOption("bbr");
    await until(page, "BBR runs", async () => (await number(page, 1, 0)) > 0);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false);
    await close(page);
  });

  test(`Compare at ${width} px`, async () => {
    const page = await open("#compare", width);
    const trace = Array.from({ length: 3000 }, (_, n) => `${2 * n + 1}\n`).join("");
    const data = await page.evaluateHandle((text) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([text], "dropped.trace"));
      return transfer;
    }, trace);
    await page.locator("#drop").dispatchEvent("drop", { dataTransfer: data });
    await page.locator("#compare-files").getByText("dropped.trace").waitFor();
    await page.getByRole("checkbox", { name: "vegas" }).check();
    await page.locator("#compare").getByLabel("Duration").fill("5s");
    await page.getByRole("spinbutton", { name: "Runs" }).fill("3");
    await page.getByRole("button", { name: "Compare" }).click();
    await page.getByRole("heading", { name: "Results", exact: true }).waitFor();
    assert.equal(await page.locator("#compare-results figure svg").count(), 3);
    // Medians with ranges, bands over time, and sentences about the first scheme against the
    // others.
    assert.match(await page.locator("#compare-results table").innerText(), /\d \(\d/);
    assert.match(await page.locator("#compare-results figure").nth(1).innerHTML(), /90 % of the runs/);
    assert.match(await page.locator("#compare-results .words").innerText(), /abc carries [\d.]+ \([\d.]+ to [\d.]+\) times what cubic carries on lte-driving/);
    const [download] = await Promise.all([
      page.waitForEvent("download"), page.getByRole("button", { name: "Save JSON" }).click(),
    ]);
    const own = JSON.parse(readFileSync(await download.path(), "utf8"));
    assert.equal(own.runs.length, 18);
    assert.deepEqual(own.summary.map((row) => row.runs), [3, 3, 3, 3, 3, 3]);
    // The command gives equal runs, to the last packet.
    const folder = newFolder("paceline-page-");
    writeFileSync(join(folder, "dropped.trace"), trace);
    const schemes = [...new Set(own.runs.map((run) => run.scheme))];
    const output = execFileSync(program, ["compare", "--json", "-q", "--runs", "3", "--duration", "5s", "--trace", "lte-driving",
      "--trace", join(folder, "dropped.trace"), "--schemes", schemes.join(",")]);
    const native = JSON.parse(output.toString());
    const figures = ({ run, start_ms, seed, digest, utilization, queue_delay_ms }) =>
      ({ run, start_ms, seed, digest, utilization, queue_delay_ms });
    assert.deepEqual(own.runs.map(figures), native.runs.map(figures));
    // The command names a file by its path, the page by its name.
    const byName = (rows) => rows.map((row) => ({ ...row, trace: basename(row.trace) }));
    assert.deepEqual(own.summary, byName(native.summary));
    assert.deepEqual(own.ratios, byName(native.ratios));
    // The page reports a wrong parameter, and keeps the results.
    await page.locator("#compare").getByLabel("Duration").fill("a while");
    await page.getByRole("button", { name: "Compare" }).click();
    await page.getByRole("alert").filter({ hasText: "a while" }).waitFor();
    await page.locator("#compare").getByLabel("Duration").fill("5s");
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false);
    await shot(page, `compare-${width}`);
    await close(page);
  });

  test(`Claims at ${width} px`, async () => {
    const page = await open("#claims/x01", width);
    const entry = page.locator("#claim-x01");
    await entry.getByRole("button", { name: "Run it here" }).click();
    await entry.locator(".trial table").first().waitFor();
    assert.match(await entry.locator(".trial .note").last().innerText(), /shortened|synthetic/);
    assert.ok((await entry.locator(".trial tbody tr").count()) > 0);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false);
    await shot(page, `claims-${width}`);
    const all = await page.locator("#claims-list details:visible").count();
    assert.ok(all > 90, `${all} claims`);
    await page.getByLabel("Verdict").selectOption("bad");
    const few = await page.locator("#claims-list details:visible").count();
    assert.ok(few > 0 && few < all);
    await close(page);
  });
}

test("a claim runs over recordings from a folder", async () => {
  const page = await open("#claims/a15");
  const entry = page.locator("#claim-a15");
  await entry.getByText("until then synthetic ones stand in").waitFor();
  // The links are constant here; that a run takes them shows in its traces, and in what is missing.
  const recording = (gap) => Array.from({ length: 20_000 / gap }, (_, n) => `${n * gap + 1}\n`).join("");
  const folder = newFolder("paceline-recordings-");
  mkdirSync(join(folder, "mahimahi"));
  writeFileSync(join(folder, "README"), "words");
  writeFileSync(join(folder, "mahimahi", "Verizon-LTE-short.down"), recording(2));
  await page.locator("#claims-files").setInputFiles(folder);
  await page.locator("#claims-recordings", { hasText: "Claims run over 1 recording: Verizon-LTE-short.down." }).waitFor();
  await entry.getByText("over the recordings that you have added").waitFor();
  await entry.getByRole("button", { name: "Run it here" }).click();
  await entry.getByRole("alert").filter({ hasText: "Verizon-LTE-short.up is not among the recordings" }).waitFor();
  await drop(page, "#claims-drop", { "Verizon-LTE-short.up": recording(4), "other.txt": "words" });
  await page.locator("#claims-recordings", { hasText: "Claims run over 2 recordings" }).waitFor();
  await entry.getByRole("button", { name: "Run it here" }).click();
  await entry.locator(".trial table").first().waitFor();
  assert.match(await entry.locator(".trial .note").last().innerText(), /shortened/);
  await drop(page, "#claims-drop", { "other.txt": "words" });
  await page.locator("#claims-error", { hasText: "None of the 1 files is one of the recordings: ATT-LTE-driving" }).waitFor();
  await page.getByRole("button", { name: "Remove the recordings" }).click();
  await said(page, "Claims run over synthetic traces.");
  await entry.getByText("until then synthetic ones stand in").waitFor();
  await close(page);
});

test("a setting is in the address, and mistakes are told", async () => {
  const page = await open("#ratatouille?rate=20&rtt=100&speed=2&flows=abc+-cubic");
  await until(page, "ABC runs", async () => (await number(page, 1, 0)) > 0);
  // Two schemes with different routers cannot share a link.
  await page.getByLabel("Scheme of flow 2", { exact: true }).selectOption("xcp");
  await page.getByRole("switch", { name: "Flow 2 on" }).click();
  await page.getByRole("alert").filter({ hasText: "router" }).waitFor();
  assert.equal(await page.getByRole("switch", { name: "Flow 2 on" }).isChecked(), false);
  await page.locator("#ratatouille").getByLabel("Link", { exact: true }).selectOption("lte-driving");
  assert.ok(await page.locator("#rate").isDisabled());
  await page.waitForFunction(() => location.hash.includes("trace=lte-driving"));
  await page.reload();
  await page.waitForSelector("html[data-ready]");
  assert.equal(await page.locator("#ratatouille").getByLabel("Link", { exact: true }).inputValue(), "lte-driving");
  await until(page, "the trace is the link", async () => (await reading(page, "time")) > 1);
  const data = await page.evaluateHandle(() => {
    const transfer = new DataTransfer();
    transfer.items.add(new File(["no trace"], "wrong.trace"));
    return transfer;
  });
  await page.locator("#play").dispatchEvent("drop", { dataTransfer: data });
  await page.getByRole("alert").filter({ hasText: "wrong.trace" }).waitFor();
  await close(page);
});

test("an address that makes no run is mended by hand", async () => {
  const page = await open("#ratatouille?speed=&buffer=&flows=%3Cb%3Enonsense+cubic");
  await page.getByRole("alert").filter({ hasText: "<b>nonsense" }).waitFor();
  assert.equal(await page.locator("#speed").getAttribute("aria-valuetext"), "1 ×");
  assert.equal(await page.locator("#buffer").getAttribute("aria-valuetext"), "250 packets");
  await page.getByLabel("Scheme of flow 1", { exact: true }).selectOption("bbr");
  await until(page, "BBR runs", async () => (await number(page, 1, 0)) > 0);
  assert.equal(await page.locator("#play-error").isVisible(), false);
  // The address separates flows by spaces, so it writes schemes without spaces.
  await page.getByLabel("Scheme of flow 1", { exact: true }).selectOption({ label: "with parameters …" });
  const text = page.getByLabel("Scheme of flow 1, with parameters");
  await text.fill("abc[dt=60ms, eta=0.95]");
  await text.press("Enter");
  await page.waitForFunction(() => location.hash.includes("eta"), null, patience);
  await page.reload();
  await page.waitForSelector("html[data-ready]");
  assert.equal(await text.inputValue(), "abc[dt=60ms,eta=0.95]");
  await until(page, "ABC runs", async () => (await number(page, 1, 0)) > 0);
  await close(page);
});

test("nothing is left of a run that was begun anew", async () => {
  const page = await open("#ratatouille?rate=12&rtt=60&speed=10&flows=cubic");
  const traces = { "a.trace": "1\n2\n3\n", "b.trace": "1\n3\n5\n" };
  await drop(page, "#play", traces);
  await until(page, "the run goes on", async () => (await reading(page, "time")) > 3);
  for (let time = 0; time < 5; time += 1) {
    await page.getByRole("button", { name: "Start anew" }).click();
    await page.waitForTimeout(300);
    const times = await page.evaluate(() => window.paceline.times());
    assert.deepEqual(times, [...times].sort((one, other) => one - other));
  }
  // A file that was dropped before another one is still there.
  await page.locator("#ratatouille").getByLabel("Link", { exact: true }).selectOption("a.trace");
  await until(page, "its rate", async () => Math.abs((await reading(page, "link")) - 12) < 0.5);
  assert.equal(await page.locator("#play-error").isVisible(), false);
  await close(page);
});

test("first results show while further runs are made, and the address has the setting", async () => {
  const page = await open("#compare?traces=12Mbps+lte-driving&schemes=abc+vegas&duration=60s&runs=250&spread=trace");
  assert.equal(await page.locator("#compare").getByLabel("Constant rates").inputValue(), "12Mbps");
  // 60,000 s of simulated time: no machine finishes them before the page shows some results.
  assert.equal(await page.getByRole("spinbutton", { name: "Runs" }).inputValue(), "250");
  assert.equal(await page.locator("#compare").getByLabel("Spread of starts").inputValue(), "trace");
  assert.ok(await page.getByRole("checkbox", { name: "vegas" }).isChecked());
  assert.equal(await page.getByRole("checkbox", { name: "cubic", exact: true }).isChecked(), false);
  await page.getByRole("button", { name: "Compare" }).click();
  await page.getByRole("heading", { name: "Results of the first run, more follow" }).waitFor();
  assert.equal(await page.locator("#compare-results figure svg").count(), 3);
  // A constant rate and a recording, two schemes: a focused figure keeps the focus while its drawing is replaced.
  await page.locator("#compare-results figure").first().focus();
  await page.getByRole("heading", { name: /Results of \d+ runs, more follow/ }).waitFor();
  assert.equal(await page.evaluate(() => document.activeElement?.tagName), "FIGURE");
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByRole("heading", { name: "Results", exact: true }).waitFor();
  // One run has no ranges and no sentences about runs.
  await page.getByRole("spinbutton", { name: "Runs" }).fill("1");
  await page.keyboard.press("Enter");
  await said(page, "4 runs are done.");
  assert.doesNotMatch(await page.locator("#compare-results table").innerText(), /\(/);
  assert.equal(await page.locator("#compare-results .words li").count(), 0);
  assert.match(new URL(page.url()).hash, /runs=1&spread=trace/);
  await close(page);
});

test("a comparison is begun once, and a simulator that is missing is told", async () => {
  const page = await open("#compare");
  const disabled = await page.evaluate(() => {
    document.getElementById("compare-form").requestSubmit();
    return document.getElementById("compare-run").disabled;
  });
  assert.ok(disabled, "the button waits for the answer");
  await close(page);
  for (const file of ["**/*.wasm", "**/worker*.js"]) {
    const context = await newContext();
    await context.route(file, (route) => route.fulfill({ status: 404, body: "" }));
    const broken = await context.newPage();
    broken.setDefaultTimeout(patience.timeout);
    await broken.goto(serverAddress());
    await broken.locator("#start-error").filter({ hasText: "the simulator" }).waitFor();
    await context.close();
  }
});

test("a pause holds time, and reduced motion begins with one", async () => {
  const page = await open("", 1300, { reducedMotion: "reduce" });
  await page.waitForTimeout(500);
  assert.equal(Number.isNaN(await reading(page, "time")), true);
  await page.getByRole("button", { name: "Run" }).click();
  await until(page, "it runs", async () => (await reading(page, "time")) > 0.5);
  await page.getByRole("button", { name: "Pause" }).click();
  // The simulator answers in the order of requests, so with this answer it has processed the pause.
  await page.getByRole("switch", { name: "Flow 3 on" }).check();
  await said(page, "Flow 3, abc, is on.");
  const time = await page.evaluate(() => window.paceline.times().at(-1));
  assert.ok(time > 0);
  await page.waitForTimeout(600);
  assert.equal(await page.evaluate(() => window.paceline.times().at(-1)), time);
  await close(page);
});

test("a setting that is remembered late does not take the tab away", async () => {
  const page = await open("");
  await until(page, "it runs", async () => (await reading(page, "time")) > 0.3);
  const remembered = await page.evaluate(() => {
    const [later, wait] = [[], window.setTimeout];
    window.setTimeout = (callback) => later.push(callback);
    const slider = document.querySelector("#sliders input[type=range]");
    slider.value = slider.max;
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    window.setTimeout = wait;
    // The address changes at once; the page gets the event after this task.
    location.hash = "#compare";
    later.forEach((callback) => callback());
    return later.length;
  });
  assert.ok(remembered > 0, "the slider's setting is remembered later");
  await page.locator("#compare").waitFor();
  assert.equal(new URL(page.url()).hash, "#compare");
  await close(page);
});

test("a change just before the tab is left is kept", async () => {
  const page = await open("#ratatouille?rate=12&flows=cubic");
  await until(page, "it runs", async () => (await reading(page, "time")) > 0.3);
  await page.evaluate(() => {
    const slider = document.getElementById("rtt");
    slider.value = slider.max;
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    document.getElementById("tab-compare").click();
    window.same = true;
  });
  await page.locator("#compare").waitFor();
  await page.goBack();
  await page.locator("#ratatouille").waitFor();
  assert.equal(await page.locator("#rtt").getAttribute("aria-valuetext"), "500 ms");
  // The tab's own link has no setting; the page adds it.
  await page.locator("#tab-claims").click();
  await page.locator("#claims").waitFor();
  await page.locator("#tab-ratatouille").click();
  await page.waitForFunction(() => location.hash.includes("rtt=500"), null, patience);
  assert.ok(await page.evaluate(() => window.same), "the page was not loaded again");
  await close(page);
});

/**
 * Holds back the simulator of workers that request it from now on, until the returned function is
 * called.
 */
async function holdSimulator(page) {
  let letGo;
  const free = new Promise((resolve) => (letGo = resolve));
  await page.route("**/*.wasm", async (route) => {
    await free;
    await route.continue();
  });
  return letGo;
}

test("results of an earlier comparison do not stand below an error", async () => {
  const page = await open("#compare?traces=12Mbps&schemes=dctcp+cubic&runs=1&duration=3s");
  // A scheme without a box is one of the further ones.
  assert.equal(await page.locator("#compare-form [name=more-schemes]").inputValue(), "dctcp");
  await page.locator("#compare-run").click();
  const results = page.locator("#compare-results h2");
  await results.filter({ hasText: /^Results$/ }).waitFor();
  await page.locator("#compare-form [name=duration]").fill("5x");
  await page.locator("#compare-run").click();
  await page.locator("#compare-error").filter({ hasText: "5x" }).waitFor();
  assert.equal(await results.count(), 0);
  await page.locator("#compare-form [name=duration]").fill("3s");
  await page.locator("#compare-run").click();
  await results.filter({ hasText: /^Results$/ }).waitFor();
  assert.equal(await page.locator("#compare-results tbody tr").count(), 2);
  await close(page);
});

test("a damaged address of a document is told, and a claim is shown that the filter hides", async () => {
  const page = await open("#documents/schemes%");
  await page.locator("#documents-error").filter({ hasText: "schemes%, is damaged" }).waitFor();
  await page.evaluate(() => (location.hash = "#claims"));
  await page.locator("#claim-a05").waitFor();
  await page.locator("#claims-search").fill("no such claim");
  await page.locator("#claim-a05").waitFor({ state: "hidden" });
  await page.evaluate(() => (location.hash = "#claims/a05"));
  await page.locator("#claim-a05[open]").waitFor();
  await close(page);
});

test("a document is shown with its plot, and its links lead to others", async () => {
  const page = await open("#documents/schemes/abc", 390);
  const plot = page.locator("#documents-text img");
  await plot.waitFor();
  await until(page, "the plot is loaded", () => plot.evaluate((image) => image.complete && image.naturalWidth > 0));
  assert.ok((await page.locator("#documents-text tbody tr").count()) > 5);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false);
  await page.getByLabel("Document", { exact: true }).selectOption("schemes");
  await page.locator("#documents-text a", { hasText: "cubic" }).first().click();
  await page.locator("#documents-text h2", { hasText: "cubic" }).waitFor();
  assert.match(page.url(), /#documents\/schemes\/cubic$/);
  await page.getByLabel("Document", { exact: true }).selectOption("validation");
  await page.locator("#documents-text h2", { hasText: "What was found" }).waitFor();
  await page.evaluate(() => (location.hash = "#documents/nothing"));
  await page.getByRole("alert").filter({ hasText: "docs/nothing.md: 404" }).waitFor();
  // The browser's console names the missing file; there is no other error.
  assert.deepEqual(page.wrong.filter((text) => !text.includes("404")), []);
  page.wrong.length = 0;
  await close(page);
});

test("a claim that is asked for while the list is loaded is opened", async () => {
  const page = await open("#compare");
  const letGo = await holdSimulator(page);
  await page.locator("#tab-claims").click();
  await page.locator("#claims").waitFor();
  await page.evaluate(() => (location.hash = "#claims/x01"));
  // The page has processed the event when this task begins.
  await page.evaluate(() => new Promise((resolve) => setTimeout(resolve)));
  letGo();
  await page.locator("#claim-x01[open]").waitFor();
  await close(page);
});

test("a flow that is switched on while the run begins is told", async () => {
  const page = await open("#compare");
  const letGo = await holdSimulator(page);
  await page.locator("#tab-ratatouille").click();
  await page.getByRole("switch", { name: "Flow 4 on" }).check();
  letGo();
  await said(page, "Flow 4, vegas, is on.");
  await close(page);
});

test("figures of flows are shown at the highest speed, too", async () => {
  const page = await open("#ratatouille?rate=1&speed=50&flows=cubic");
  await until(page, "Cubic runs", async () => (await number(page, 1, 0)) > 0);
  await close(page);
});

test("the keyboard reaches everything, and everything has a name", async () => {
  const page = await open("", 1300, { colorScheme: "dark" });
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), "To the content");
  for (const tab of ["compare", "claims", "ratatouille"]) {
    await page.locator(`#tab-${tab}`).focus();
    await page.keyboard.press("Enter");
    await page.locator(`#${tab}`).waitFor();
    if (tab === "claims") await page.locator("#claims-list details").first().waitFor();
    const nameless = await page.evaluate(() =>
      [...document.querySelectorAll("button, input, select, summary, a, canvas, progress, [role=region]")]
        .filter((one) => one.checkVisibility())
        .filter((one) => !(one.getAttribute("aria-label") || one.textContent?.trim() || one.labels?.[0]?.textContent?.trim()))
        .map((one) => one.outerHTML.slice(0, 120)));
    assert.deepEqual(nameless, []);
    const same = await page.evaluate(() => {
      const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
      return ids.filter((id, at) => ids.indexOf(id) !== at);
    });
    assert.deepEqual(same, []);
  }
  await page.getByRole("switch", { name: "Flow 4 on" }).focus();
  await page.keyboard.press("Space");
  await page.waitForFunction(() => document.getElementById("announcement")?.textContent?.includes("is on"));
  await until(page, "Vegas runs", async () => (await number(page, 4, 0)) > 0);
  await shot(page, "dark-1300");
  await close(page);
});
