import { build, defineConfig, type Plugin } from "vite";

/** Names that the sandbox's worker keeps for itself, since controllers must not use them. */
const OWN = "performance, TextEncoder, TextDecoder, WebAssembly";

/**
 * Builds the worker of the sandbox as a text, `virtual:sandbox-worker`: its frame may load no files. The
 * frame is a file of its own, to which `paceline serve` gives its own policy.
 */
function sandbox(): Plugin {
  const id = "virtual:sandbox-worker";
  return {
    name: "sandbox",
    resolveId: (wanted) => (wanted === id ? `\0${id}` : null),
    async load(wanted) {
      if (wanted !== `\0${id}`) return null;
      const entry = new URL("src/sandbox/worker.ts", import.meta.url).pathname;
      const built = await build({
        configFile: false,
        publicDir: false,
        logLevel: "warn",
        build: { write: false, target: "es2022", lib: { entry, formats: ["iife"], name: "sandbox" } },
      });
      const output = [built].flat().flatMap((part) => ("output" in part ? part.output : []));
      const code = output.map((part) => ("code" in part ? part.code : "")).join("");
      return `export default ${JSON.stringify(`(function (${OWN}) {\n${code}\n})(${OWN});`)};`;
    },
    async generateBundle() {
      const frame = new URL("src/sandbox/frame.html", import.meta.url).pathname;
      const source = await this.fs.readFile(frame, { encoding: "utf8" });
      this.emitFile({ type: "asset", fileName: "sandbox.html", source });
    },
  };
}

// Relative addresses let the page work in any folder of any server; it loads nothing from other
// servers. `make site` sets the output folder.
export default defineConfig({
  base: "./",
  publicDir: "public",
  plugins: [sandbox()],
  worker: { format: "es" },
  build: { target: "es2022", assetsInlineLimit: 0, emptyOutDir: true, reportCompressedSize: false },
});
