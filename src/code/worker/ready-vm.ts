/** A VM without a program: made before the program comes, because that takes longer than most programs. */
import { EvalFlags, type JSValueHandle, MAX_STACK_SIZE, QuickJS } from "quickjs-wasi";
import { GUEST_SOURCE } from "./guest.js";
import type { CompiledWasm } from "./thread-link.js";

export interface ReadyVm {
  readonly vm: QuickJS;
  /** The function of `GUEST_SOURCE`, not called yet. */
  readonly guest: JSValueHandle;
  readonly memoryBytes: number;
  readonly hooks: VmHooks;
}

/** `WebAssembly.Memory`, for which the types of Node have no name. */
interface VmMemory {
  readonly buffer: ArrayBuffer;
}

/** What a VM and its program share. */
export interface VmHooks {
  /** Set by the program. True ends the code that runs. */
  isDue(): boolean;
  /** Set by the engine: all memory of the VM. */
  memory?: VmMemory;
}

/** Options of a VM that is created or restored. */
export const vmOptions = (wasm: CompiledWasm, memoryBytes: number, hooks: VmHooks) => ({
  wasm,
  memoryLimit: memoryBytes,
  maxStackSize: MAX_STACK_SIZE,
  interruptHandler: () => hooks.isDue(),
  wasi: (memory: VmMemory) => {
    hooks.memory = memory;
    // The engine may print: nothing of that belongs to the host.
    return { fd_write: () => 8 };
  },
});

export async function createVm(wasm: CompiledWasm, memoryBytes: number): Promise<ReadyVm> {
  const hooks: VmHooks = { isDue: () => false };
  const vm = await QuickJS.create(vmOptions(wasm, memoryBytes, hooks));
  return { vm, guest: vm.evalCode(GUEST_SOURCE, "toolport"), memoryBytes, hooks };
}

/** Compiles code that programs use. It changes nothing that a program can see. */
const REHEARSAL = `(async () => {
  await null;
  const { a } = JSON.parse(JSON.stringify({ a: [1, "b", null] }));
  new Proxy({}, { get: () => a.map((value) => value) }).b;
  try { throw new Error("c"); } catch (error) { error.stack; }
})()`;

/** Creates a VM and lets it run once, so that the functions of the engine are compiled. */
export async function prepareVm(wasm: CompiledWasm, memoryBytes: number): Promise<ReadyVm> {
  const ready = await createVm(wasm, memoryBytes);
  const { vm } = ready;
  vm.evalCode(REHEARSAL, "toolport").dispose();
  vm.executePendingJobs();
  vm.evalCode("async function _() {}", "toolport", EvalFlags.COMPILE_ONLY).dispose();
  vm.runGC();
  return ready;
}
