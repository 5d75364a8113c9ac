/** What the host and the worker of a program send each other. */
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
