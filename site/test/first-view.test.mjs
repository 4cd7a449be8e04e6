// What the first view loads from `paceline serve`, and that it stands still once it is there.

import assert from "node:assert/strict";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { site } from "./browser.mjs";
import { newContext, patience, reading, serverAddress, until } from "./pages.mjs";

/** Most bytes of the first view, and of it without the simulator. */
const [MOST, MOST_BESIDE] = [1_500_000, 120_000];
const simulator = readdirSync(join(site, "assets")).find((name) => name.endsWith(".wasm"));
/** A simulator of the tests' profile has checks and is not optimised for size. */
const isSmall = statSync(join(site, "assets", simulator)).size < 10e6;

for (const width of [390, 1300]) {
  test(`the first view at ${width} px is small, and does not move`, async () => {
    const context = await newContext({ viewport: { width, height: width < 500 ? 844 : 950 } });
    const page = await context.newPage();
    const loaded = new Map();
    page.on("requestfinished", (request) => loaded.set(request.url(), [...(loaded.get(request.url()) ?? []), request]));
    await page.addInitScript(() => {
      window.shifts = [];
      new PerformanceObserver((list) => window.shifts.push(...list.getEntries().filter((entry) => !entry.hadRecentInput).map((entry) => ({
        value: entry.value, at: entry.startTime,
        moved: entry.sources.map(({ node }) => (node instanceof Element ? node.id || node.className || node.tagName : node?.textContent)),
      })))).observe({ type: "layout-shift", buffered: true });
    });
    await page.goto(serverAddress());
    await page.waitForSelector("html[data-ready]", patience);
    await until(page, "the run goes on", async () => (await reading(page, "time")) > 1);
    let [all, beside] = [0, 0];
    for (const [url, requests] of loaded) {
      for (const request of requests) {
        const response = await request.response();
        if (response.fromServiceWorker() || !url.startsWith("http")) continue;
        const { responseBodySize } = await request.sizes();
        all += responseBodySize;
        if (!url.endsWith(".wasm")) beside += responseBodySize;
        // Texts come compressed.
        if (/\.(js|css|wasm)$/.test(url) && responseBodySize > 1024) assert.equal(response.headers()["content-encoding"], "br", url);
      }
      assert.doesNotMatch(url, /reproduction|docs\//, "documents are loaded with their tab");
    }
    assert.ok(beside > 10_000 && beside < MOST_BESIDE, `${beside} bytes beside the simulator`);
    if (isSmall) assert.ok(all < MOST, `${all} bytes`);
    // Cumulative layout shift: web.dev calls up to 0.1 good.
    const shifts = await page.evaluate(() => window.shifts);
    const sum = shifts.reduce((total, { value }) => total + value, 0);
    console.log(`first view at ${width} px: ${all} bytes, ${beside} beside the simulator; shift ${sum.toFixed(3)}`);
    assert.ok(sum < 0.1, `moved by ${sum}: ${JSON.stringify(shifts)}`);
    await context.close();
  });
}
