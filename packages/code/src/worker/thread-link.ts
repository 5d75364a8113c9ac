/**
 * What the host and a worker thread share: their messages, and memory that says without messages that the program must stop, and whether
 * JavaScript runs in the thread. The host ends a thread only while it is quiet: see `worker-thread.ts`.
 */
import type { CodeProgram, ProgramAnswer, ProgramCall, ProgramEnd } from "../code-executor.js";

/** QuickJS as compiled WebAssembly. The types of Node have no name for it. */
export type CompiledWasm = object;

/** Given to a worker when it starts. */
export interface WorkerSettings {
  /** QuickJS, compiled once by the host. */
  readonly wasm: CompiledWasm;
  /** The memory of a `ThreadState`. */
  readonly cells: Int32Array<SharedArrayBuffer>;
}

export type ToWorker =
  /** A program will probably come: make a VM with this memory ready. */
  | { readonly type: "prepare"; readonly memoryBytes: number }
  | { readonly type: "start"; readonly program: CodeProgram }
  | { readonly type: "answer"; readonly id: number; readonly answer: ProgramAnswer }
  /** `maxBytes`: of the memory of the VM. */
  | { readonly type: "snapshot"; readonly maxBytes: number }
  /** For a program that waits. One that computes sees the state of the thread. */
  | { readonly type: "stop" };

export type FromWorker =
  /** The program begins to compute: its processor time counts from here. */
  | { readonly type: "running" }
  | { readonly type: "call"; readonly call: ProgramCall; readonly cpuMs: number }
  | { readonly type: "log"; readonly lines: readonly string[] }
  /** Output is left out from here on. */
  | { readonly type: "cut" }
  /** The program waits. `answered`: how many answers it has received. */
  | {
      readonly type: "wait";
      readonly pending: readonly number[];
      readonly answered: number;
      readonly cpuMs: number;
    }
  /** The program is over, as with `end`. Without an image, it was too large and the program goes on. */
  | { readonly type: "image"; readonly image: Uint8Array | undefined; readonly cpuMs: number }
  | { readonly type: "end"; readonly end: ProgramEnd };

const STOP = 0;
const BUSY = 1;
/** Counts how often JavaScript began or stopped to run. */
const PULSE = 2;
/** Never changes: a parked thread waits for that. */
const PARKED = 3;

export class ThreadState {
  /** Shared memory. */
  readonly cells: Int32Array<SharedArrayBuffer>;

  constructor(cells: Int32Array<SharedArrayBuffer> = new Int32Array(new SharedArrayBuffer(16))) {
    this.cells = cells;
  }

  /** Set by the host: the program must end. */
  get isStopRequested(): boolean {
    return Atomics.load(this.cells, STOP) === 1;
  }

  set isStopRequested(isRequested: boolean) {
    Atomics.store(this.cells, STOP, isRequested ? 1 : 0);
  }

  /** Called in the thread: JavaScript runs from here on. */
  wake(): void {
    Atomics.store(this.cells, BUSY, 1);
    Atomics.add(this.cells, PULSE, 1);
  }

  /** Called in the thread: it waits for messages, or runs the engine, which is WebAssembly, from here on. */
  rest(): void {
    Atomics.add(this.cells, PULSE, 1);
    Atomics.store(this.cells, BUSY, 0);
  }

  /** Called in the thread: sleeps until the host ends the thread. */
  park(): void {
    this.rest();
    Atomics.wait(this.cells, PARKED, 0);
  }

  /** A number that stays the same as long as no JavaScript runs. Undefined while JavaScript runs. */
  get restMark(): number | undefined {
    const mark = Atomics.load(this.cells, PULSE);
    return Atomics.load(this.cells, BUSY) === 1 ? undefined : mark;
  }
}
