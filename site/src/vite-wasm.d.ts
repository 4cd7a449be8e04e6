declare module "*.wasm?url" {
  const address: string;
  export default address;
}

declare module "*.md?raw" {
  const text: string;
  export default text;
}
