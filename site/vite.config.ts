import { build, defaultClientConditions, defineConfig, type Plugin } from "vite";

/** Names that the sandbox's worker keeps for itself, since controllers must not use them. */
const OWN = "performance, TextEncoder, TextDecoder, WebAssembly";

/** Workers whose texts are parts of other scripts, because where they run no file can be loaded. */
const WORKERS: Record<string, { entry: string; wrap?: (code: string) => string }> = {
  "virtual:sandbox-worker": {
    entry: "src/sandbox/worker.ts",
    wrap: (code) => `(function (${OWN}) {\n${code}\n})(${OWN});`,
  },
  "virtual:inline-worker": { entry: "src/worker-inline.ts" },
  "virtual:run-worker": { entry: "src/component/worker.ts" },
};

/** Builds the workers that are texts. */
export function workerTexts(): Plugin {
  return {
    name: "worker-texts",
    resolveId: (wanted) => (wanted in WORKERS ? `\0${wanted}` : null),
    async load(wanted) {
      const worker = WORKERS[wanted.slice(1)];
      if (!wanted.startsWith("\0") || !worker) return null;
      const entry = new URL(worker.entry, import.meta.url).pathname;
      const built = await build({
        configFile: false,
        publicDir: false,
        logLevel: "warn",
        // A worker gets the simulator's bytes from its page.
        define: { __PACELINE_WASM__: "undefined" },
        build: { write: false, target: "es2022", lib: { entry, formats: ["iife"], name: "worker" } },
      });
      const output = [built].flat().flatMap((part) => ("output" in part ? part.output : []));
      const code = output.map((part) => ("code" in part ? part.code : "")).join("");
      return `export default ${JSON.stringify(worker.wrap ? worker.wrap(code) : code)};`;
    },
  };
}

/** Writes the frame of the sandbox, a file of its own to which `paceline serve` gives its own policy. */
function sandboxFrame(): Plugin {
  return {
    name: "sandbox-frame",
    async generateBundle() {
      const frame = new URL("src/sandbox/frame.html", import.meta.url).pathname;
      const source = await this.fs.readFile(frame, { encoding: "utf8" });
      this.emitFile({ type: "asset", fileName: "sandbox.html", source });
    },
  };
}

// Relative addresses let the page work in any folder of any server; it loads nothing from other
// servers. `make site` sets the output folder. The mode `single` makes the page of one file, whose parts
// `single.mjs` puts together.
export default defineConfig(({ mode }) => {
  const isSingle = mode === "single";
  return {
    base: "./",
    publicDir: isSingle ? false : "public",
    plugins: isSingle ? [workerTexts()] : [workerTexts(), sandboxFrame()],
    resolve: { conditions: [...(isSingle ? ["paceline-single"] : []), ...defaultClientConditions] },
    worker: { format: "es" },
    build: {
      target: "es2022", assetsInlineLimit: 0, emptyOutDir: true, reportCompressedSize: false,
      ...(isSingle ? { modulePreload: false } : {}),
    },
  };
});
