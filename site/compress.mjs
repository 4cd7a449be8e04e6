// Writes brotli and gzip forms beside the files of a built page: node compress.mjs FOLDER [fast]. `paceline serve`
// sends them to browsers that accept them. The interfaces of crates and package stay as they are. Prints what the first view loads.

import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, sep } from "node:path";
import { availableParallelism } from "node:os";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

const [folder, speed] = process.argv.slice(2);
const isFast = speed === "fast";
/** Most bytes of the first view with brotli, which all browsers accept. */
const MOST = 1_500_000;
/** Shorter files gain less than a header costs. */
const SHORTEST = 1024;
const TEXTS = /\.(html|js|css|wasm|json|svg|md|txt)$/;

const paths = readdirSync(folder, { recursive: true }).map((path) => join(folder, path)).filter((path) => statSync(path).isFile());
for (const path of paths) if (/\.(br|gz)$/.test(path)) rmSync(path);
// The interfaces have thousands of pages, each of which is read seldom.
const interfaces = join(folder, "api") + sep;
const work = paths.filter((path) => TEXTS.test(path) && !path.startsWith(interfaces) && statSync(path).size >= SHORTEST);

async function compress(path) {
  const bytes = readFileSync(path);
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: isFast ? 4 : 11,
    [constants.BROTLI_PARAM_LGWIN]: 24,
    [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
  };
  const [br, gz] = await Promise.all([promisify(brotliCompress)(bytes, { params }), promisify(gzip)(bytes, { level: isFast ? 3 : 9 })]);
  for (const [ending, coded] of [["br", br], ["gz", gz]]) if (coded.length < bytes.length) writeFileSync(`${path}.${ending}`, coded);
  return { plain: bytes.length, gzip: gz.length, brotli: br.length };
}

const sizes = new Map();
await Promise.all(Array.from({ length: availableParallelism() }, async () => {
  for (let path = work.pop(); path !== undefined; path = work.pop()) sizes.set(path, await compress(path));
}));
const first = [...sizes].filter(([path]) => path === join(folder, "index.html") || path.startsWith(join(folder, "assets")));
for (const form of ["plain", "gzip", "brotli"]) {
  const bytes = first.reduce((sum, [, size]) => sum + size[form], 0);
  console.log(`the first view, ${form}: ${bytes} bytes`);
  if (form === "brotli" && !isFast && bytes > MOST) {
    console.error(`the first view may have ${MOST} bytes with brotli: make paceline-web smaller, or load parts of it later`);
    process.exitCode = 1;
  }
}
