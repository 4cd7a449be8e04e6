declare module "*.wasm?url" {
  const address: string;
  export default address;
}

declare module "*.md?raw" {
  const text: string;
  export default text;
}

/** The text of the worker that runs controllers: vite.config.ts. */
declare module "virtual:sandbox-worker" {
  const text: string;
  export default text;
}
