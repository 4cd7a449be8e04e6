// The page as one file, opened from a disk: it runs, compares, tells a story, judges a claim, and runs a controller.

import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after } from "node:test";
import { pathToFileURL } from "node:url";
import { site } from "./browser.mjs";
import { close, newContext, number, open, patience, reading, shot, until } from "./pages.mjs";

// Alone in its folder, so that no other file can help.
const folder = mkdtempSync(join(tmpdir(), "paceline-single-"));
copyFileSync(join(site, "paceline.html"), join(folder, "paceline.html"));
const address = pathToFileURL(join(folder, "paceline.html")).href;
after(() => rmSync(folder, { recursive: true }));

test("the file simulates, and a chapter's sentences set the simulation", async () => {
  const page = await open("", 1300, { address });
  await until(page, "the run goes on", async () => (await reading(page, "time")) > 1);
  await page.locator("#tab-story").click();
  await page.locator("#story nav a", { hasText: "Unfair" }).click();
  await page.getByRole("button", { name: "Make flow 2's path 160 ms longer" }).click();
  await until(page, "flow 1 gets more", async () =>
    (await reading(page, "time")) > 5 && (await number(page, 1, 0)) > (await number(page, 2, 0)) && (await number(page, 2, 0)) > 0);
  await shot(page, "single-story");
  // The address has the setting, as on a server.
  await page.locator("#tab-ratatouille").click();
  await page.waitForFunction(() => location.hash.includes("extra=0+160"), null, patience);
  await page.reload();
  await page.waitForSelector("html[data-ready]");
  await until(page, "the run goes on", async () => (await reading(page, "time")) > 0.3);
  await close(page);
});

test("the file compares, judges a claim, shows documents, and runs a controller", async () => {
  const page = await open("#compare?traces=12Mbps+lte-driving&schemes=abc+vegas&duration=3s&runs=1", 1300, { address });
  await page.getByRole("button", { name: "Compare" }).click();
  await page.getByRole("heading", { name: "Results", exact: true }).waitFor();
  assert.equal(await page.locator("#compare-results figure svg").count(), 3);
  await page.locator("#tab-claims").click();
  const entry = page.locator("#claim-x01");
  await entry.locator("summary").click();
  await entry.getByRole("button", { name: "Run it here" }).click();
  await entry.locator(".trial table").first().waitFor();
  await page.evaluate(() => (location.hash = "#documents/schemes/abc"));
  const plot = page.locator("#documents-text img");
  await until(page, "the plot is loaded", () => plot.evaluate((image) => image.complete && image.naturalWidth > 0));
  await page.evaluate(() => (location.hash = "#documents/licences"));
  await page.locator("#documents-text", { hasText: "Permission is hereby granted" }).waitFor();
  await page.locator("#tab-write").click();
  await page.locator("#write").getByRole("button", { name: "Run", exact: true }).click();
  await page.locator("#write-digests").filter({ hasText: /Digests: \S+ [0-9a-f]{16}, cubic [0-9a-f]{16}/ }).waitFor();
  await close(page);
});

test("the page for a server, opened from a disk, names the file", async () => {
  const context = await newContext();
  const page = await context.newPage();
  await page.goto(pathToFileURL(join(site, "index.html")).href);
  await page.locator("#no-script").getByRole("link", { name: "paceline.html" }).click({ timeout: patience.timeout });
  await page.waitForSelector("html[data-ready]", patience);
  await context.close();
});
