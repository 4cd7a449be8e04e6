// Measures the page with eight flows at 20 Mbit/s: the time between frames, and the processor time
// per second.
//
// Prints figures, without a verdict. Other work on the machine makes the time between frames
// longer.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { browser, serve } from "./browser.mjs";

const SECONDS = Number(process.argv[2] ?? 20);

const server = await serve();
const chrome = await browser();
const page = await chrome.newPage({ viewport: { width: 1300, height: 950 } });
await page.goto(`${server.address}#ratatouille?rate=20&rtt=100&flows=${"remy cubic abc bbr vegas copa newreno cubic".replaceAll(" ", "+")}`);
await page.waitForSelector("html[data-ready]");
await page.waitForTimeout(3000);

const session = await page.context().newCDPSession(page);
await session.send("Performance.enable", { timeDomain: "threadTicks" });

/**
 * Returns seconds of processor time: of the page's thread as it reports them, of all processes as
 * Linux reports them.
 */
async function cpu() {
  const { metrics } = await session.send("Performance.getMetrics");
  const of = (name) => metrics.find((metric) => metric.name === name)?.value ?? 0;
  const lines = execFileSync("ps", ["-eo", "pid,ppid,args"]).toString().split("\n");
  const all = lines.map((line) => /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line)).filter(Boolean);
  const own = new Set([process.pid]);
  for (let size = 0; size !== own.size; ) {
    size = own.size;
    for (const [, pid, parent] of all) if (own.has(Number(parent))) own.add(Number(pid));
  }
  const ticks = (kind) => all.filter(([, pid, , args]) => own.has(Number(pid)) && args.includes(kind))
    .map(([, pid]) => readFileSync(`/proc/${pid}/stat`, "utf8").replace(/^.*\) /, "").split(" "))
    .reduce((sum, fields) => sum + (Number(fields[11]) + Number(fields[12])) / 100, 0);
  return {
    "the page's thread": of("TaskDuration"), "of this scripts": of("ScriptDuration"),
    "of this layout and styles": of("LayoutDuration") + of("RecalcStyleDuration"),
    "the page's process, worker and all": ticks("--type=renderer"), "the process that draws": ticks("--type=gpu-process"),
  };
}

const before = await cpu();
await page.waitForTimeout(SECONDS * 1000);
const after = await cpu();
const all = await page.evaluate(() => window.paceline.frames());
// The newest frames whose times add up to the measured time.
let sum = 0;
const frames = all.reverse().filter((frame) => (sum += frame) <= SECONDS * 1000).sort((a, b) => a - b);
const at = (share) => frames[Math.min(frames.length - 1, Math.floor(share * frames.length))].toFixed(1);
const drawn = await page.evaluate(() => document.getElementById("pace").title);
console.log(`frames: ${frames.length}; from one to the next: median ${at(0.5)} ms, 95 % ${at(0.95)} ms, 99 % ${at(0.99)} ms`);
console.log(`simulator: ${drawn}`);
for (const [name, end] of Object.entries(after)) {
  const used = end - before[name];
  const each = ((1000 * used) / frames.length).toFixed(2);
  console.log(`processor, ${name}: ${used.toFixed(2)} s in ${SECONDS} s, ${each} ms a frame`);
}
await chrome.close();
server.close();
