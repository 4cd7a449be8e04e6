import { defineConfig } from "vite";

// Relative addresses let the page work in any folder of any server; it loads nothing from other
// servers. `make site` sets the output folder.
export default defineConfig({
  base: "./",
  publicDir: "public",
  worker: { format: "es" },
  build: { target: "es2022", assetsInlineLimit: 0, emptyOutDir: true, reportCompressedSize: false },
});
