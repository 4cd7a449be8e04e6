// The simulator in WebAssembly. docs/page.md has the requests.

/** The exports of the WebAssembly module: bindings/web/src/exports.rs. */
interface Exports {
  memory: WebAssembly.Memory;
  paceline_input(length: number): number;
  paceline_call(): number;
  paceline_output(): number;
  paceline_advance(seconds: number, every: number): number;
  paceline_rows(): number;
  paceline_math(fn: number, a: number, b: number): number;
}

/** An answer, or an error in words. */
export type Answer = Record<string, unknown> & { error?: string };

/** The functions behind the module's only import: bindings/web/src/script.rs has calls and numbers. */
export interface ControllerHost {
  /** Answers a call of a controller; reads its arguments from `numbers`, and writes a plan over them. */
  call(call: number, controller: number, numbers: Float64Array): number;
  /** Returns the failure of a controller since the last call, in words; empty without one. */
  takeFailure(): string;
}

/** Length of the array of a controller: `NUMBERS` in bindings/web/src/script.rs. */
const NUMBERS = 24;
/** Answer of a page without controllers: the call has failed. */
const FAILED = 2;

export class Engine {
  private readonly exports: Exports;
  /** Arrays of controllers by their addresses, while the memory has not moved. */
  private readonly arrays = new Map<number, Float64Array>();

  private constructor(instance: WebAssembly.Instance, private readonly host: ControllerHost | undefined) {
    this.exports = instance.exports as unknown as Exports;
  }

  /** Loads an engine from the bytes of the module. `host` has the page's controllers, if it has some. */
  static async load(bytes: BufferSource, host?: ControllerHost): Promise<Engine> {
    let engine: Engine | undefined;
    const controller = (call: number, number: number, address: number) =>
      host && engine ? host.call(call, number, engine.array(address)) : FAILED;
    const { instance } = await WebAssembly.instantiate(bytes, { paceline: { controller } });
    engine = new Engine(instance, host);
    return engine;
  }

  /** Answers a request. */
  call(request: object): Answer {
    const bytes = new TextEncoder().encode(JSON.stringify(request));
    const input = this.exports.paceline_input(bytes.length);
    new Uint8Array(this.exports.memory.buffer, input, bytes.length).set(bytes);
    const length = this.exports.paceline_call();
    const output = this.exports.paceline_output();
    const answer = new Uint8Array(this.exports.memory.buffer, output, length);
    const text = new TextDecoder().decode(answer);
    // The host knows the line of a failure; the simulator knows only that there was one.
    const failure = this.host?.takeFailure();
    return failure ? { error: failure } : (JSON.parse(text) as Answer);
  }

  /** Advances the live run to `seconds`; returns a copy of its new rows. */
  advance(seconds: number, every: number): Float64Array {
    const numbers = this.exports.paceline_advance(seconds, every);
    return new Float64Array(this.exports.memory.buffer, this.exports.paceline_rows(), numbers).slice();
  }

  /** Returns a function of `Math`, by its number, as the simulator computes it. */
  math(fn: number, a: number, b: number): number {
    return this.exports.paceline_math(fn, a, b);
  }

  private array(address: number): Float64Array {
    const known = this.arrays.get(address);
    if (known?.buffer === this.exports.memory.buffer) return known;
    const made = new Float64Array(this.exports.memory.buffer, address, NUMBERS);
    this.arrays.set(address, made);
    return made;
  }
}
