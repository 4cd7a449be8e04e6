// Pages in a browser, and what tests read from them. A file of tests that imports this one gets a
// server and a browser of its own.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { after, before } from "node:test";
import { browser, serve } from "./browser.mjs";

const shots = process.env.PACELINE_SHOTS;
/** Longest time for any step of a test. */
export const patience = { timeout: 180_000 };
let [chrome, server] = [];

before(async () => {
  chrome = await browser();
  server = await serve();
  if (shots) mkdirSync(shots, { recursive: true });
});

export const newContext = (options) => chrome.newContext(options);
export const serverAddress = () => server.address;

after(async () => {
  await chrome?.close();
  server?.close();
});

/**
 * Opens a page of this width; every error in it fails the test, and each request for another file than those
 * below `address`, by default the server's.
 */
export async function open(hash, width = 1300, { address = server.address, ...options } = {}) {
  const context = await chrome.newContext({ viewport: { width, height: width < 500 ? 844 : 950 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(patience.timeout);
  page.wrong = [];
  page.on("console", (message) => message.type() === "error" && page.wrong.push(message.text()));
  page.on("pageerror", (error) => page.wrong.push(error.message));
  page.on("request", (request) => {
    if (!["data:", "blob:", "about:"].includes(new URL(request.url()).protocol) && !request.url().startsWith(address)) {
      page.wrong.push(`asks for ${request.url()}`);
    }
  });
  await page.goto(address + hash);
  await page.waitForSelector("html[data-ready]");
  return page;
}

export async function close(page) {
  assert.deepEqual(page.wrong, []);
  await page.context().close();
}

export const shot = async (page, name) => shots && page.screenshot({ path: join(shots, `${name}.png`), fullPage: true });

/** Returns a reading below the plot as a number. */
export async function reading(page, name) {
  const text = await page.evaluate((wanted) => {
    const term = [...document.querySelectorAll("#readings dt")].find((dt) => dt.textContent === wanted);
    return term?.nextElementSibling?.textContent ?? "";
  }, name);
  return Number.parseFloat(text);
}

export async function until(page, what, check) {
  const end = Date.now() + patience.timeout;
  for (;;) {
    const value = await check();
    if (value) return value;
    assert.ok(Date.now() < end, `in vain: ${what}; ${await page.locator("#readings").innerText()}`);
    await page.waitForTimeout(100);
  }
}

/** Waits until the page has announced this text to users of screen readers. */
export const said = (page, text) => page.locator("#announcement").filter({ hasText: text }).waitFor({ state: "attached" });

export const cell = (page, flow, column) =>
  page.locator("table.flows tbody tr").nth(flow - 1).locator("td.number").nth(column).innerText();
export const number = async (page, flow, column) => Number.parseFloat(await cell(page, flow, column)) || 0;

/** Writes a value into the field beside a slider. */
export async function setValue(page, id, text) {
  await page.locator(`#${id}-value`).fill(text);
  await page.locator(`#${id}-value`).press("Enter");
}

/** Drops files on a place of the page. */
export async function drop(page, place, files) {
  const data = await page.evaluateHandle((given) => {
    const transfer = new DataTransfer();
    for (const [name, text] of Object.entries(given)) transfer.items.add(new File([text], name));
    return transfer;
  }, files);
  await page.locator(place).dispatchEvent("drop", { dataTransfer: data });
}
