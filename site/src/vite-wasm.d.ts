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

/** The texts of workers that need no files: vite.config.ts. */
declare module "virtual:inline-worker" {
  const text: string;
  export default text;
}

declare module "virtual:run-worker" {
  const text: string;
  export default text;
}
