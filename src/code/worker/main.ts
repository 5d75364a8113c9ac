/** The program of a worker thread: runs one program of a model, then waits to be ended. */
import { parentPort, workerData } from "node:worker_threads";
import { ProgramVm } from "./program-vm.js";
import { prepareVm } from "./ready-vm.js";
import type { FromWorker, ToWorker, WorkerSettings } from "./worker-messages.js";

const host = parentPort!;
const { wasm, memoryBytes } = workerData as WorkerSettings;
/** Fails again, with its reason, when the program starts. */
const ready = memoryBytes === undefined ? undefined : prepareVm(wasm, memoryBytes).catch(() => undefined);

/** So many lines are sent at once; later ones wait until there is a packet or the program waits. */
const SINGLE_LINES = 100;
const PACKET_CHARACTERS = 2_000;

let vm: Promise<ProgramVm> | undefined;
let answered = 0;
let lineCount = 0;
let isCut = false;
let lines: string[] = [];
let lineLength = 0;
let cpuMs = (): number => 0;

const post = (message: FromWorker): void => host.postMessage(message);

function flush(): void {
  if (lines.length === 0) return;
  post({ type: "log", lines });
  lines = [];
  lineLength = 0;
}

async function start({ program }: Extract<ToWorker, { type: "start" }>): Promise<ProgramVm> {
  return ProgramVm.start({ wasm, ready: await ready }, program, {
    onOpened: (opened) => {
      cpuMs = () => opened.cpuMs;
    },
    onRunning: () => post({ type: "running" }),
    onCall: (call) => {
      flush();
      post({ type: "call", call, cpuMs: cpuMs() });
    },
    onLog: (line) => {
      lines.push(line);
      lineLength += line.length;
      lineCount += 1;
      if (lineCount <= SINGLE_LINES || lineLength >= PACKET_CHARACTERS) flush();
    },
    onCut: () => {
      if (!isCut) post({ type: "cut" });
      isCut = true;
    },
    onWait: (pending) => {
      flush();
      post({ type: "wait", pending, answered, cpuMs: cpuMs() });
    },
    onEnd: (end) => {
      flush();
      post({ type: "end", end });
    },
  });
}

async function handle(message: ToWorker): Promise<void> {
  if (message.type === "start") {
    vm = start(message);
    await vm;
  } else if (message.type === "answer") {
    answered += 1;
    await (await vm)?.answer(message.id, message.answer);
  } else {
    const opened = await vm;
    if (opened === undefined) return;
    const image = opened.snapshot();
    host.postMessage({ type: "image", image, cpuMs: opened.cpuMs } satisfies FromWorker, [image.buffer]);
  }
}

// A failure here is a failure of the worker: it ends, and the host reports it.
host.on("message", (message: ToWorker) => void handle(message));
