// A browser and the page in it, for tests and measurements.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { existsSync } from "node:fs";
import { chromium } from "playwright-core";

/** The program that serves the page; below, the folder of the page. */
export const program = process.env.PACELINE ?? "paceline";
export const site = process.env.PACELINE_SITE_BUILT;

const browsers = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const folders = (process.env.PATH ?? "").split(":");
const found = browsers.flatMap((name) => folders.map((folder) => `${folder}/${name}`)).find(existsSync);

export async function browser() {
  if (!found) throw new Error("there is no Chromium");
  return chromium.launch({ executablePath: found, args: ["--no-sandbox"], timeout: 180_000 });
}

/** Starts `paceline serve` on a free port; returns its address, and a function that ends it. */
export async function serve() {
  const child = spawn(program, ["serve", "--port", "0", "--site", site], { stdio: ["ignore", "pipe", "inherit"] });
  const line = await new Promise((resolve, reject) => {
    createInterface(child.stdout).once("line", resolve);
    child.once("error", reject);
    child.once("exit", (status) => reject(new Error(`paceline serve ended with ${status}`)));
  });
  return { address: line, close: () => child.kill() };
}
