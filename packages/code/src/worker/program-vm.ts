/** One program in its VM: runs it within its limits, sends its calls, and can put it into an image and continue it. */
import { gunzipSync, gzipSync } from "node:zlib";
import { countContainers } from "@toolport/base";
import {
  EvalFlags,
  JSException,
  type JSValueHandle,
  MAX_STACK_SIZE,
  QuickJS,
  type Snapshot,
} from "quickjs-wasi";
import {
  type CodeProgram,
  cpuLimit,
  type EndError,
  endError,
  memoryLimit,
  type ProgramAnswer,
  type ProgramCall,
  type ProgramEnd,
  stopped,
  tooLarge,
} from "../code-executor.js";
import { GUEST_SOURCE } from "./guest.js";
import {
  FILE,
  isTimeout,
  loadSucrase,
  type ParsedProgram,
  type Position,
  type ProgramSyntaxError,
  parseJavaScript,
  parseTypeScript,
  positionIn,
  positionInSource,
} from "./parse-program.js";
import { type CompiledWasm, ThreadState } from "./thread-link.js";

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
const vmOptions = (wasm: CompiledWasm, memoryBytes: number, hooks: VmHooks) => ({
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

async function createVm(wasm: CompiledWasm, memoryBytes: number): Promise<ReadyVm> {
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

/** What a program runs in. */
interface VmSource {
  readonly wasm: CompiledWasm;
  /** Used for a new program with the same limit. @default a VM is created */
  readonly ready?: ReadyVm | undefined;
  /** The thread of the program. @default a state that nothing watches */
  readonly thread?: ThreadState | undefined;
}

/** What the VM reports. */
interface VmListener {
  /** Called first. */
  onOpened(vm: ProgramVm): void;
  /** The program begins to compute. */
  onRunning(): void;
  onCall(call: ProgramCall): void;
  onLog(line: string): void;
  /** Output is left out from here on. */
  onCut(): void;
  onWait(pending: readonly number[]): void;
  onEnd(end: ProgramEnd): void;
}

/** A program that calls the host this long after it was due runs in functions of the engine that cannot be interrupted. */
const PARK_MS = 100;

/** Of the arguments of one call. */
const ARGUMENT_LIMITS = { levels: 500, containers: 100_000 };

/** What the program threw. */
interface Thrown {
  readonly name: string;
  readonly message: string;
  readonly stack: string;
  readonly code: string | undefined;
  readonly missing: { readonly server: string; readonly tool?: string | undefined } | undefined;
}

const textOf = (handle: JSValueHandle | undefined): string | undefined =>
  handle?.isString ? handle.toString() : undefined;

export class ProgramVm {
  #vm!: QuickJS;
  #hooks!: VmHooks;
  #api!: JSValueHandle;
  #main: JSValueHandle | undefined;
  #pending = new Set<number>();
  #isTypeScript = false;
  #usedMs: number;
  #busySince: number | undefined;
  #dueSince: number | undefined;
  #isInterrupted = false;
  #hasEnded = false;
  #outputLeft: number;
  #outputMissing = 0;
  #thrown: Thrown | undefined;
  #value: { readonly json: string | undefined } | { readonly size: number } | undefined;

  private constructor(
    readonly program: CodeProgram,
    readonly listener: VmListener,
    readonly thread: ThreadState,
  ) {
    this.#usedMs = program.usedCpuMs ?? 0;
    this.#outputLeft = program.limits.outputBytes;
  }

  /** Starts the program, or continues its image. */
  static async start(source: VmSource, program: CodeProgram, listener: VmListener): Promise<ProgramVm> {
    const opened = new ProgramVm(program, listener, source.thread ?? new ThreadState());
    listener.onOpened(opened);
    if (program.image === undefined) await opened.#begin(source);
    else await opened.#continue(source.wasm, program.image);
    return opened;
  }

  /** Processor time so far: the time that the program computes, without the time that it waits. */
  get cpuMs(): number {
    return this.#usedMs + (this.#busySince === undefined ? 0 : performance.now() - this.#busySince);
  }

  async #begin({ wasm, ready }: VmSource): Promise<void> {
    const { memoryBytes } = this.program.limits;
    try {
      const opened = ready?.memoryBytes === memoryBytes ? ready : await createVm(wasm, memoryBytes);
      this.#vm = opened.vm;
      this.#hooks = opened.hooks;
      this.#hooks.isDue = this.#interrupt;
      this.#inVm(() => this.#openGuest(opened.guest));
    } catch (error) {
      return this.#end(engineFailure(error));
    }
    this.listener.onRunning();
    let parsed: ParsedProgram | ProgramSyntaxError;
    try {
      parsed = await this.#parse();
    } catch (error) {
      return this.#end(isTimeout(error) ? cpuLimit(this.program.limits.cpuMs) : engineFailure(error));
    }
    if (this.thread.isStopRequested) return this.stop();
    if ("message" in parsed) {
      const { message, line, column } = parsed;
      return this.#end({ code: "SYNTAX", name: "SyntaxError", message, line, column });
    }
    this.#isTypeScript = parsed.isTypeScript;
    await this.#enter(() => {
      this.#main = this.#callGuest("run", this.#vm.evalCode(parsed.code, parsed.file));
    });
  }

  /** JavaScript, or TypeScript if that fails. `sucrase` is loaded only then. Both parsers use the time of the program. */
  async #parse(): Promise<ParsedProgram | ProgramSyntaxError> {
    const { source } = this.program;
    const compile = (code: string) =>
      this.#inVm(() => this.#vm.evalCode(code, FILE, EvalFlags.COMPILE_ONLY).dispose());
    const plain = this.#compute(() => parseJavaScript(source, compile));
    if (!("message" in plain) || plain.isFinal) return plain;
    const transform = await loadSucrase();
    if (transform === undefined) return plain;
    return this.#compute(() => parseTypeScript(source, compile, { transform, limitMs: this.#leftMs }));
  }

  get #leftMs(): number {
    return this.program.limits.cpuMs - this.cpuMs;
  }

  /** Runs code whose time counts as that of the program. */
  #compute<Result>(run: () => Result): Result {
    this.#busySince = performance.now();
    try {
      return run();
    } finally {
      this.#usedMs += performance.now() - this.#busySince;
      this.#busySince = undefined;
    }
  }

  /** Not part of the program's time. */
  #openGuest(guest: JSValueHandle): void {
    const vm = this.#vm;
    const { tools, limits } = this.program;
    const members = JSON.stringify({ names: Object.keys(tools), tools: Object.values(tools) });
    this.#api = vm.callFunction(
      guest,
      vm.undefined,
      ...Object.entries(this.#callbacks()).map(([name, callback]) => vm.newFunction(name, callback)),
      vm.newString(members),
      vm.newNumber(limits.outputBytes),
      vm.newNumber(limits.resultBytes),
      vm.newNumber(limits.calls),
    );
  }

  async #continue(wasm: CompiledWasm, image: Uint8Array): Promise<void> {
    const { header, snapshot } = readImage(image);
    this.#hooks = { isDue: this.#interrupt };
    const vm = await QuickJS.restore(snapshot, vmOptions(wasm, this.program.limits.memoryBytes, this.#hooks));
    this.#vm = vm;
    for (const [name, callback] of Object.entries(this.#callbacks())) vm.registerHostCallback(name, callback);
    this.#api = vm.importHandle(header.api);
    this.#main = vm.importHandle(header.main);
    this.#pending = new Set(header.pending);
    this.#outputLeft = header.outputLeft;
    this.#outputMissing = header.outputMissing;
    this.#isTypeScript = header.isTypeScript;
    if (this.thread.isStopRequested) return this.stop();
    this.listener.onRunning();
    await this.#enter(() => {});
  }

  /** Ends a program that waits. One that computes is interrupted by the state of the thread. */
  stop(): void {
    if (!this.#hasEnded) this.#end(stopped());
  }

  /** All memory of the VM. It never shrinks. */
  get memoryBytes(): number {
    return this.#hooks.memory!.buffer.byteLength;
  }

  /** The image of the waiting program. */
  snapshot(): Uint8Array<ArrayBuffer> {
    this.#vm.runGC();
    const header = {
      api: this.#vm.exportHandle(this.#api),
      main: this.#vm.exportHandle(this.#main!),
      pending: [...this.#pending],
      outputLeft: this.#outputLeft,
      outputMissing: this.#outputMissing,
      isTypeScript: this.#isTypeScript,
    };
    return writeImage(header, this.#vm.snapshot());
  }

  /** Gives the program the answer to a call. */
  async answer(id: number, answer: ProgramAnswer): Promise<void> {
    if (this.#hasEnded || !this.#pending.delete(id)) return;
    await this.#enter(() => this.#give(id, answer));
  }

  #give(id: number, answer: ProgramAnswer): void {
    const vm = this.#vm;
    const number = vm.newNumber(id);
    if ("error" in answer) {
      const { name, code, message } = answer.error;
      const texts = [name, code, message].map((text) => vm.newString(text));
      this.#callGuest("fail", number, ...texts).dispose();
      return;
    }
    let json: JSValueHandle;
    try {
      json = vm.newString(answer.value);
    } catch {
      return this.#give(id, tooLarge(answer.value.length));
    }
    this.#callGuest("answer", number, json).dispose();
    json.dispose();
  }

  #callGuest(name: string, ...args: JSValueHandle[]): JSValueHandle {
    return this.#inVm(() =>
      this.#api.getProp(name).consume((method) => this.#vm.callFunction(method, this.#vm.undefined, ...args)),
    );
  }

  /** Runs the engine: the thread can be ended meanwhile. */
  #inVm<Result>(run: () => Result): Result {
    this.thread.rest();
    try {
      return run();
    } finally {
      this.thread.wake();
    }
  }

  /** Runs a function of the worker that the engine calls. */
  #inHost<Result>(run: () => Result): Result {
    this.thread.wake();
    try {
      return run();
    } finally {
      this.thread.rest();
    }
  }

  /** A promise catches the error of an interrupt like any other: code that runs on nevertheless ends with an error of the worker. */
  readonly #interrupt = (): boolean =>
    this.#inHost(() => {
      if (this.#isInterrupted) throw new Error("The program goes on after an interrupt");
      this.#isInterrupted = this.#isDue();
      return this.#isInterrupted;
    });

  #isDue(): boolean {
    if (this.#dueSince === undefined && (this.thread.isStopRequested || this.#isLate()))
      this.#dueSince = performance.now();
    return this.#dueSince !== undefined;
  }

  #isLate(): boolean {
    return this.cpuMs > this.program.limits.cpuMs;
  }

  /** The functions of the worker that the guest calls. Their names are part of images. */
  #callbacks(): Record<string, (...args: JSValueHandle[]) => JSValueHandle> {
    const run =
      (callback: (...args: JSValueHandle[]) => JSValueHandle | undefined) =>
      (...args: JSValueHandle[]) =>
        this.#inHost(() => {
          if (this.#isDue() && performance.now() - this.#dueSince! > PARK_MS) this.thread.park();
          return callback(...args) ?? this.#vm.undefined;
        });
    return {
      countObjects: run((json) => {
        const counted = countContainers(json!.toString(), ARGUMENT_LIMITS);
        return this.#vm.newNumber(typeof counted === "number" ? counted : Number.POSITIVE_INFINITY);
      }),
      send: run((id, server, tool, args, stack) => {
        const number = id!.toNumber();
        this.#pending.add(number);
        const { line } = positionIn(textOf(stack) ?? "");
        this.listener.onCall({
          id: number,
          server: server!.toString(),
          tool: tool!.toString(),
          args: textOf(args),
          line,
        });
      }),
      write: run((line, length) => {
        this.#write(line!.toString(), length!.toNumber());
      }),
      finish: run((kind, ...rest) => {
        this.#finish(kind!.toString(), rest.map(textOf));
      }),
    };
  }

  #write(line: string, length: number): void {
    if (this.#outputLeft > 0) {
      const bytes = Buffer.from(line);
      const whole = bytes.length <= this.#outputLeft;
      // Cut between characters.
      const part = whole
        ? line
        : new TextDecoder().decode(bytes.subarray(0, this.#outputLeft), { stream: true });
      this.#outputLeft -= bytes.length + 1;
      this.listener.onLog(part);
      if (part.length === length) return;
      this.#outputLeft = 0;
      this.#outputMissing += length - part.length;
    } else this.#outputMissing += length;
    this.listener.onCut();
  }

  #finish(kind: string, [first, ...rest]: (string | undefined)[]): void {
    if (kind === "value") this.#value = { json: first };
    else if (kind === "large") this.#value = { size: Number(first) };
    else {
      const [message = "", stack = "", code, server, tool] = rest;
      const missing = server === undefined ? undefined : { server, tool };
      this.#thrown = { name: first ?? "Error", message, stack, code, missing };
    }
  }

  /** Runs code of the VM and everything that follows from it, then reports the state of the program. */
  async #enter(action: () => void): Promise<void> {
    let failure: unknown;
    try {
      this.#compute(() => {
        action();
        this.#inVm(() => this.#vm.executePendingJobs());
      });
    } catch (error) {
      failure = error;
    }
    await this.#report(failure);
  }

  async #report(failure: unknown): Promise<void> {
    const value = this.#value;
    if (this.#dueSince !== undefined)
      return this.#end(this.#isLate() ? cpuLimit(this.program.limits.cpuMs) : stopped());
    if (value !== undefined) return this.#endWith(value);
    if (this.#thrown !== undefined) {
      // Answers that arrive meanwhile must not run the program again.
      this.#hasEnded = true;
      return this.#end(await this.#describe(this.#thrown));
    }
    if (failure !== undefined) return this.#end(engineFailure(failure));
    if (this.#pending.size > 0) return this.listener.onWait([...this.#pending]);
    // The guest reports every end, unless it has no memory left for that.
    if (this.#main?.promiseState !== 0) return this.#end(memoryLimit());
    this.#end(endError("STUCK", "The program waits for a promise that nothing will resolve"));
  }

  #endWith(value: { readonly json: string | undefined } | { readonly size: number }): void {
    const { resultBytes } = this.program.limits;
    const size = "size" in value ? value.size : Buffer.byteLength(value.json ?? "");
    if ("json" in value && size <= resultBytes) return this.#close({ value: value.json, cpuMs: this.cpuMs });
    const message = `The result has ${size} bytes as JSON; the limit is ${resultBytes}`;
    this.#end({ code: "RESULT_TOO_LARGE", name: "RangeError", message });
  }

  async #describe({ name, message, stack, code, missing }: Thrown): Promise<EndError> {
    if (name === "InternalError" && message === "out of memory") return memoryLimit();
    const position = await this.#positionOf(stack);
    return { code: "THROWN", name, message, ...position, thrownCode: code, missing };
  }

  async #positionOf(stack: string): Promise<Position> {
    const position = positionIn(stack);
    const transform = this.#isTypeScript ? await loadSucrase() : undefined;
    if (transform === undefined) return position;
    return positionInSource(this.program.source, position, {
      transform,
      limitMs: this.program.limits.cpuMs,
    });
  }

  #end(error: EndError): void {
    this.#close({ error, cpuMs: this.cpuMs });
  }

  #close(end: ProgramEnd): void {
    this.#hasEnded = true;
    if (this.#outputMissing > 0)
      this.listener.onLog(`[${this.#outputMissing} more characters of output were left out]`);
    this.listener.onEnd(end);
  }
}

/** Characters of an error's message. */
const MAX_MESSAGE = 4_000;

function engineFailure(failure: unknown): EndError {
  const message = failure instanceof Error ? failure.message : "";
  if (/out of memory|wasm_malloc/.test(message)) return memoryLimit();
  // A callback of the program that nothing awaits, for example of queueMicrotask().
  const [, name = "Error", thrown] = /^Job execution error: (?:(\w+): )?(.*)$/s.exec(message) ?? [];
  if (thrown !== undefined) return { code: "THROWN", name, message: thrown.slice(0, MAX_MESSAGE) };
  // The stack of the engine overflowed. It cannot continue, but the program is to blame.
  if (failure instanceof RangeError || failure instanceof JSException)
    return { code: "THROWN", name: failure.name, message };
  return endError("CRASHED", "The engine that runs programs failed");
}

/** Stored in an image beside the memory of the VM. */
interface ImageHeader {
  readonly api: number;
  readonly main: number;
  readonly pending: readonly number[];
  readonly outputLeft: number;
  readonly outputMissing: number;
  readonly isTypeScript: boolean;
  /** Where the engine goes on. */
  readonly engine: Omit<Snapshot, "memory">;
}

function writeImage(
  header: Omit<ImageHeader, "engine">,
  { memory, ...engine }: Snapshot,
): Uint8Array<ArrayBuffer> {
  const text = Buffer.from(JSON.stringify({ ...header, engine } satisfies ImageHeader));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length);
  // The fastest level: most of the memory is empty. In two parts, so that the memory is not copied once more.
  const parts = [Buffer.concat([length, text]), memory].map((part) => gzipSync(part, { level: 1 }));
  return new Uint8Array(Buffer.concat(parts));
}

function readImage(image: Uint8Array): { header: ImageHeader; snapshot: Snapshot } {
  const bytes = gunzipSync(image);
  const end = 4 + bytes.readUInt32LE(0);
  const header = JSON.parse(bytes.toString("utf8", 4, end)) as ImageHeader;
  return { header, snapshot: { ...header.engine, memory: bytes.subarray(end) } };
}
