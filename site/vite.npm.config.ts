import { defineConfig, type Plugin } from "vite";
import { workerTexts } from "./vite.config.ts";

/** Writes the address of the simulator into the scripts as bundlers know it, which vite would replace by the file's bytes. */
function simulatorAddress(): Plugin {
  return {
    name: "simulator-address",
    renderChunk: (code) => code.replaceAll("__PACELINE_WASM__", 'new URL("./paceline.wasm", import.meta.url)'),
  };
}

// The npm package: `npm.sh` sets the output folder.
export default defineConfig({
  publicDir: false,
  plugins: [workerTexts(), simulatorAddress()],
  build: {
    target: "es2022", emptyOutDir: true, reportCompressedSize: false,
    lib: { entry: { simulator: "src/component/simulator.ts", element: "src/component/element.ts" }, formats: ["es"] },
  },
});
