// Puts the page into one file that works from a disk: node single.mjs BUILT OUT. BUILT is what vite's mode
// `single` has built; the simulator and the documents are those of site/build.sh. Texts and the simulator
// are compressed, and src/parts-single.ts unpacks them.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const [built, out] = process.argv.slice(2);
const here = (path) => new URL(path, import.meta.url).pathname;

/** Returns the element with a part. */
function part(name, bytes) {
  const packed = gzipSync(bytes, { level: 9 }).toString("base64");
  return `<script type="text/plain" id="part-${name}">${packed}</script>`;
}

/** Returns the documents as JSON: texts by paths. */
function documents() {
  const folder = here("public/docs");
  const paths = readdirSync(folder, { recursive: true }).filter((path) => /\.(md|svg|txt)$/.test(path)).sort();
  return JSON.stringify(Object.fromEntries(paths.map((path) => [path, readFileSync(join(folder, path), "utf8")])));
}

/** Replaces the only match; a second one, or none, is an error. */
function replaceOnce(text, pattern, by) {
  const found = text.split(pattern).length - 1;
  if (found !== 1) throw new Error(`single.mjs: ${found} times ${pattern} in ${built}/index.html, expected once`);
  return text.replace(pattern, by);
}

const read = (address) => readFileSync(join(built, address), "utf8");
// Within an element <script>, these two would end it or begin a comment. In strings and patterns a backslash
// changes nothing, and elsewhere a script has neither.
const script = (code) => code.replaceAll("</script", "<\\/script").replaceAll("<!--", "\\x3C!--");

let html = readFileSync(join(built, "index.html"), "utf8");
let code = "";
html = replaceOnce(html, /<script type="module"[^>]* src="[^"]+"[^>]*><\/script>/, (tag) => {
  code = read(/ src="([^"]+)"/.exec(tag)[1]);
  return "";
});
html = replaceOnce(html, /<link rel="stylesheet"[^>]*>/, (tag) => `<style>\n${read(/ href="([^"]+)"/.exec(tag)[1])}</style>`);
// What only the page of a server has.
html = html.replace(/<!-- server -->[^]*?<!-- \/server -->/g, "");
html = replaceOnce(html, "</body>", () => [
  part("simulator", readFileSync(here("src/paceline.wasm"))), part("documents", documents()),
  `<script type="module">${script(code)}</script>`, "</body>",
].join("\n"));
writeFileSync(out, html);
