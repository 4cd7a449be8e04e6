// WCAG 2.2 AA by axe-core: every view of the page, and pages of the book if mdbook has built it.

import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import test from "node:test";
import { site } from "./browser.mjs";
import { close, drop, newContext, open, patience, reading, serverAddress, setValue, shot, until } from "./pages.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
/** Rules of good practice that are checked, too. */
const FURTHER = ["heading-order", "page-has-heading-one", "landmark-one-main", "region", "empty-heading", "label-title-only"];

/** Fails if axe finds something; in `place`, if it is named. */
async function check(page, name, { place, further = FURTHER } = {}) {
  await page.evaluate(axe);
  const found = await page.evaluate(async ([tags, rules, selector]) => {
    const options = { resultTypes: ["violations"], runOnly: { type: "tag", values: tags }, rules: {} };
    for (const rule of rules) options.rules[rule] = { enabled: true };
    const { violations } = await window.axe.run(selector ?? document, options);
    return violations.map(({ id, help, nodes }) => ({
      id, help, count: nodes.length, first: nodes.slice(0, 4).map((node) => `${node.target.join(" ")}: ${node.failureSummary.split("\n").slice(1, 3).join(" ")}`),
    }));
  }, [TAGS, further, place ?? null]);
  assert.deepEqual(found, [], `${name}: ${JSON.stringify(found, null, 1)}`);
}

/** The views: their address, and what is done before the check. */
const VIEWS = {
  ratatouille: ["#ratatouille?rate=12&flows=remy+cubic+abc+vegas&plots=throughput+delay+window+queue&second=20&extra=0+20", async (page) => {
    await until(page, "it runs", async () => (await reading(page, "time")) > 1);
    for (const details of await page.locator("#play details").all()) await details.evaluate((one) => (one.open = true));
    await setValue(page, "rate", "fast");
    await page.locator("#rate-problem").filter({ hasText: "Expected" }).waitFor();
  }],
  story: ["#story/bufferbloat", async (page) => page.locator("#story h2").waitFor()],
  compare: ["#compare?traces=12Mbps&schemes=abc+vegas&duration=3s&runs=2", async (page) => {
    await drop(page, "#drop", { "mine.trace": "1\n2\n3\n" });
    await page.getByRole("button", { name: "Compare" }).click();
    await page.getByRole("heading", { name: "Results", exact: true }).waitFor();
    await page.locator("#scenario-file").setInputFiles({ name: "bad.toml", mimeType: "text/plain", buffer: Buffer.from("x = 1") });
    await page.getByRole("alert").filter({ hasText: "bad.toml:1" }).waitFor();
  }],
  write: ["#write", async (page) => {
    await page.locator("#write").getByRole("button", { name: "Run", exact: true }).click();
    await page.locator("#write-digests").filter({ hasText: "Digests" }).waitFor();
    for (const details of await page.locator("#write details").all()) await details.evaluate((one) => (one.open = true));
  }],
  claims: ["#claims/x01", async (page) => {
    await page.locator("#claim-x01").getByRole("button", { name: "Run it here" }).click();
    await page.locator("#claim-x01 .trial table").first().waitFor();
    await page.locator("#claims > details").first().evaluate((one) => (one.open = true));
  }],
  documents: ["#documents/schemes/abc", async (page) => page.locator("#documents-text h2").first().waitFor()],
  "a document with code and tables": ["#documents/page", async (page) => page.locator("#documents-text pre").first().waitFor()],
};

for (const [name, [address, prepare]] of Object.entries(VIEWS)) {
  for (const [width, colorScheme] of [[1300, "light"], [1300, "dark"], [390, "light"]]) {
    test(`${name} at ${width} px, ${colorScheme}`, async () => {
      const page = await open(address, width, { colorScheme });
      await prepare(page);
      await check(page, name);
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false, "it scrolls sideways");
      await shot(page, `access-${name.replaceAll(" ", "-")}-${width}-${colorScheme}`);
      await close(page);
    });
  }
}

test("a printed page has the plot and the figures, dark ink on white, and no controls", async () => {
  const page = await open("#ratatouille?rate=12&flows=cubic+abc", 1300, { colorScheme: "dark" });
  await until(page, "it runs", async () => (await reading(page, "time")) > 1);
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  assert.equal(await page.locator(".controls").isVisible(), false);
  assert.ok(await page.locator("#plot").isVisible());
  assert.ok(await page.locator("table.flows").isVisible());
  const [paper, ink] = await page.evaluate(() => {
    const { backgroundColor, color } = getComputedStyle(document.body);
    return [backgroundColor, color];
  });
  assert.deepEqual([paper, ink], ["rgb(255, 255, 255)", "rgb(28, 33, 38)"]);
  // The plot is drawn anew, on white.
  await until(page, "a white plot", () => page.locator("#plot").evaluate((canvas) =>
    canvas.getContext("2d").getImageData(2, 2, 1, 1).data.slice(0, 3).every((value) => value === 255)));
  await shot(page, "print");
  await close(page);
});

const book = join(site, "book", "index.html");
/** Pages of the book with all kinds of contents: tables, code in several languages, figures, links. PACELINE_BOOK=all checks all. */
const usual = ["index", "page", "json", "commands", "default-scheme", "python", "quic", "tutorials/scenario", "howto/sweeps"].map((name) => `${name}.html`);
const frames = ["print.html", "toc.html", "404.html"];
const all = () => readdirSync(join(site, "book"), { recursive: true }).filter((path) => path.endsWith(".html") && !frames.includes(path));
test("pages of the book", { skip: !existsSync(book) && "the book was not built" }, async () => {
  const pages = process.env.PACELINE_BOOK === "all" ? all() : usual;
  for (const colorScheme of ["light", "dark"]) {
    const context = await newContext({ colorScheme });
    const page = await context.newPage();
    page.setDefaultTimeout(patience.timeout);
    // site/links.sh has put the book beside the tabs of the page.
    await page.goto(serverAddress());
    await page.locator("nav a", { hasText: "Book" }).click();
    await page.waitForURL("**/book/index.html");
    for (const path of pages) {
      await page.goto(`${serverAddress()}book/${path}`);
      await page.locator("main :is(h1, h2)").first().waitFor();
      // The book's frame, with its order of headings, is mdbook's.
      await check(page, `book/${path}, ${colorScheme}`, { place: "main", further: [] });
    }
    await context.close();
  }
});
