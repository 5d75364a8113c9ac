/** The program of a worker thread: runs programs of a model, one after the other, each in a new VM. */
import { parentPort, workerData } from "node:worker_threads";
import { type CodeProgram, endError, type ProgramEnd } from "../code-executor.js";
import { ProgramVm, prepareVm, type ReadyVm } from "./program-vm.js";
import { type FromWorker, ThreadState, type ToWorker, type WorkerSettings } from "./thread-link.js";

const host = parentPort!;
const { wasm, cells } = workerData as WorkerSettings;
const thread = new ThreadState(cells);

/** So many lines are sent at once; later ones wait until there is a packet or the program waits. */
const SINGLE_LINES = 100;
const PACKET_CHARACTERS = 2_000;

let ready: Promise<ReadyVm | undefined> | undefined;
let current: RunningProgram | undefined;
/** Messages that are being handled. */
let active = 0;

const post = (message: FromWorker): void => host.postMessage(message);

/** One program and what it has not sent yet. */
class RunningProgram {
  /** Resolves when the program waits for the first time, or is over. */
  readonly vm: Promise<ProgramVm>;
  #opened: ProgramVm | undefined;
  #answered = 0;
  #lineCount = 0;
  #isCut = false;
  #lines: string[] = [];
  #lineLength = 0;

  constructor(program: CodeProgram) {
    this.vm = this.#start(program);
  }

  async #start(program: CodeProgram): Promise<ProgramVm> {
    const prepared = await ready;
    ready = undefined;
    return ProgramVm.start({ wasm, ready: prepared, thread }, program, {
      onOpened: (opened) => {
        this.#opened = opened;
      },
      onRunning: () => post({ type: "running" }),
      onCall: (call) => {
        this.#flush();
        post({ type: "call", call, cpuMs: this.#cpuMs });
      },
      onLog: (line) => this.#log(line),
      onCut: () => {
        if (!this.#isCut) post({ type: "cut" });
        this.#isCut = true;
      },
      onWait: (pending) => {
        this.#flush();
        post({ type: "wait", pending, answered: this.#answered, cpuMs: this.#cpuMs });
      },
      onEnd: (end) => this.#end(end),
    });
  }

  get #cpuMs(): number {
    return this.#opened?.cpuMs ?? 0;
  }

  async answer({ id, answer }: Extract<ToWorker, { type: "answer" }>): Promise<void> {
    const vm = await this.vm;
    // Not before: a program that is being restored would report that it waits, as if it had this answer.
    this.#answered += 1;
    await vm.answer(id, answer);
  }

  async snapshot(maxBytes: number): Promise<void> {
    const vm = await this.vm;
    if (current !== this) return;
    // Before it is compressed: to make an image takes three times the memory, and there are several threads.
    if (vm.memoryBytes > maxBytes) return post({ type: "image", image: undefined, cpuMs: vm.cpuMs });
    const image = vm.snapshot();
    current = undefined;
    host.postMessage({ type: "image", image, cpuMs: vm.cpuMs } satisfies FromWorker, [image.buffer]);
  }

  async stop(): Promise<void> {
    (await this.vm).stop();
  }

  /** The engine or the code around it failed. */
  fail(): void {
    this.#end({ error: endError("CRASHED", "The worker thread of the program failed"), cpuMs: this.#cpuMs });
  }

  #end(end: ProgramEnd): void {
    // A second end would be that of the next program.
    if (current !== this) return;
    this.#flush();
    // V8 can collect the VM from here on.
    current = undefined;
    post({ type: "end", end });
  }

  #log(line: string): void {
    this.#lines.push(line);
    this.#lineLength += line.length;
    this.#lineCount += 1;
    if (this.#lineCount <= SINGLE_LINES || this.#lineLength >= PACKET_CHARACTERS) this.#flush();
  }

  #flush(): void {
    if (this.#lines.length === 0) return;
    post({ type: "log", lines: this.#lines });
    this.#lines = [];
    this.#lineLength = 0;
  }
}

async function handle(message: ToWorker): Promise<void> {
  switch (message.type) {
    case "prepare":
      // If this fails, so does the start of the program, and says why.
      ready = prepareVm(wasm, message.memoryBytes).catch(() => undefined);
      return void (await ready);
    case "start":
      current = new RunningProgram(message.program);
      return void (await current.vm);
    case "answer":
      return current?.answer(message);
    case "snapshot":
      return current?.snapshot(message.maxBytes);
    case "stop":
      return current?.stop();
  }
}

async function receive(message: ToWorker): Promise<void> {
  const program = message.type === "start" ? undefined : current;
  active += 1;
  thread.wake();
  try {
    await handle(message);
  } catch {
    (program ?? current)?.fail();
  }
  active -= 1;
  if (active === 0) thread.rest();
}

host.on("message", (message: ToWorker) => void receive(message));
thread.rest();
