// The simulator in WebAssembly. docs/page.md has the requests.

/** The exports of the WebAssembly module: bindings/web/src/exports.rs. */
interface Exports {
  memory: WebAssembly.Memory;
  paceline_input(length: number): number;
  paceline_call(): number;
  paceline_output(): number;
  paceline_advance(seconds: number, every: number): number;
  paceline_rows(): number;
}

/** An answer, or an error in words. */
export type Answer = Record<string, unknown> & { error?: string };

export class Engine {
  private readonly exports: Exports;

  private constructor(instance: WebAssembly.Instance) {
    this.exports = instance.exports as unknown as Exports;
  }

  /** Loads an engine from the bytes of the module, which imports nothing. */
  static async load(bytes: BufferSource): Promise<Engine> {
    const { instance } = await WebAssembly.instantiate(bytes, {});
    return new Engine(instance);
  }

  /** Answers a request. */
  call(request: object): Answer {
    const bytes = new TextEncoder().encode(JSON.stringify(request));
    const input = this.exports.paceline_input(bytes.length);
    new Uint8Array(this.exports.memory.buffer, input, bytes.length).set(bytes);
    const length = this.exports.paceline_call();
    const output = this.exports.paceline_output();
    const answer = new Uint8Array(this.exports.memory.buffer, output, length);
    return JSON.parse(new TextDecoder().decode(answer)) as Answer;
  }

  /** Advances the live run to `seconds`; returns a copy of its new rows. */
  advance(seconds: number, every: number): Float64Array {
    const numbers = this.exports.paceline_advance(seconds, every);
    return new Float64Array(this.exports.memory.buffer, this.exports.paceline_rows(), numbers).slice();
  }
}
