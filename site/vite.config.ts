import { defineConfig } from "vite";

// Relative addresses, so that the page works in any folder of any server; nothing comes from
// elsewhere. `make site` sets the folder of the output.
export default defineConfig({
  base: "./",
  publicDir: "public",
  worker: { format: "es" },
  build: { target: "es2022", assetsInlineLimit: 0, emptyOutDir: true, reportCompressedSize: false },
});
