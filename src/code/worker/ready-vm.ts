/** A VM without a program: made before the program comes, because that takes longer than most programs. */
import { EvalFlags, type JSValueHandle, MAX_STACK_SIZE, QuickJS } from "quickjs-wasi";
import { GUEST_SOURCE } from "./guest.js";
import type { CompiledWasm } from "./worker-messages.js";

export interface ReadyVm {
  readonly vm: QuickJS;
  /** The function of `GUEST_SOURCE`, not called yet. */
  readonly guest: JSValueHandle;
  readonly memoryBytes: number;
  readonly interrupt: Interrupt;
}

/** Set by the program. True ends the code that runs. */
export interface Interrupt {
  isDue(): boolean;
}

/** Options of a VM that is created or restored. */
export const vmOptions = (wasm: CompiledWasm, memoryBytes: number, interrupt: Interrupt) => ({
  wasm,
  memoryLimit: memoryBytes,
  maxStackSize: MAX_STACK_SIZE,
  interruptHandler: () => interrupt.isDue(),
  // The engine may print: nothing of that belongs to the host.
  wasi: () => ({ fd_write: () => 8 }),
});

export async function createVm(wasm: CompiledWasm, memoryBytes: number): Promise<ReadyVm> {
  const interrupt: Interrupt = { isDue: () => false };
  const vm = await QuickJS.create(vmOptions(wasm, memoryBytes, interrupt));
  return { vm, guest: vm.evalCode(GUEST_SOURCE, "toolport"), memoryBytes, interrupt };
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
