// Measures the page: eight flows at 20 Mbit/s, how long from frame to frame, and the work of a second.
//
// Prints; judges nothing. A machine that does other work at the same time shows longer frames.

import { execFileSync } from "node:child_process";
import { browser, serve } from "./browser.mjs";

const SECONDS = Number(process.argv[2] ?? 20);

const server = await serve();
const chrome = await browser();
const page = await chrome.newPage({ viewport: { width: 1300, height: 950 } });
await page.goto(`${server.address}#ratatouille?rate=20&rtt=100&flows=${"remy cubic abc bbr vegas copa newreno cubic".replaceAll(" ", "+")}`);
await page.waitForSelector("html[data-ready]");
await page.waitForTimeout(3000);

/** CPU seconds of Chromium's processes so far, by their kind. */
function cpu() {
  const lines = execFileSync("ps", ["-eo", "pid,ppid,cputimes,args"]).toString().split("\n");
  const all = lines.map((line) => /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(.*)$/.exec(line)).filter(Boolean);
  const own = new Set([process.pid]);
  for (let size = 0; size !== own.size; ) {
    size = own.size;
    for (const [, pid, parent] of all) if (own.has(Number(parent))) own.add(Number(pid));
  }
  const of = (kind) => all.filter(([, pid, , , args]) => own.has(Number(pid)) && args.includes(kind))
    .reduce((sum, [, , , seconds]) => sum + Number(seconds), 0);
  return { page: of("--type=renderer"), drawing: of("--type=gpu-process") };
}

const before = cpu();
await page.waitForTimeout(SECONDS * 1000);
const after = cpu();
const frames = (await page.evaluate(() => window.paceline.frames())).slice(-Math.round(SECONDS * 60)).sort((a, b) => a - b);
const at = (share) => frames[Math.min(frames.length - 1, Math.floor(share * frames.length))].toFixed(1);
const drawn = await page.evaluate(() => document.getElementById("pace").textContent);
console.log(`frames: ${frames.length}; from one to the next: median ${at(0.5)} ms, 95 % ${at(0.95)} ms, 99 % ${at(0.99)} ms`);
console.log(`simulator: ${drawn}`);
console.log(`CPU seconds in ${SECONDS} s: page and simulator ${after.page - before.page}, drawing ${after.drawing - before.drawing}`);
await chrome.close();
server.close();
