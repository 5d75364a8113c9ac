/**
 * A program of a `WorkerExecutor`. It waits for a thread, runs in one, or is kept as an image: while it waits for its calls, another
 * program can have its thread.
 */
import type {
  CodeProgram,
  ExecutorLimits,
  ProgramAnswer,
  ProgramEnd,
  ProgramHost,
  ProgramRun,
} from "./code-executor.js";
import { type EndError, stopped } from "./program-ends.js";
import { type Answer, bytesOf, type WorkerRun } from "./worker-run.js";

interface Image {
  readonly image: Uint8Array;
  readonly cpuMs: number;
}

type State =
  /** Wants a thread, to begin or to continue with these answers. */
  | { readonly type: "queued"; readonly image?: Image; readonly answers: readonly Answer[] }
  | { readonly type: "running"; readonly run: WorkerRun }
  /** Waits for its calls, in its thread. `isLarge`: its memory was too large to leave the thread. */
  | { readonly type: "waiting"; readonly run: WorkerRun; readonly isLarge: boolean }
  /** Its image is being made. Answers wait for that. */
  | {
      readonly type: "leaving";
      readonly run: WorkerRun;
      readonly left: Promise<void>;
      readonly answers: Answer[];
    }
  /** Waits for its calls, as an image. */
  | { readonly type: "kept"; readonly image: Image }
  | { readonly type: "ended" };

export interface PooledProgramPlan {
  readonly program: CodeProgram;
  readonly host: ProgramHost;
  /** The program wants a thread, or could leave its own. */
  onChange(): void;
  /** An answer waits for the program. */
  onAnswer(): void;
}

export class PooledProgram implements ProgramRun {
  readonly ended: Promise<ProgramEnd>;
  readonly owner: string;
  readonly limits: ExecutorLimits;
  /** False until the program has had a thread. */
  hasStarted = false;
  readonly #plan: PooledProgramPlan;
  #settle!: (end: ProgramEnd) => void;
  #state: State;

  constructor(plan: PooledProgramPlan) {
    const { owner = "", limits, image, usedCpuMs = 0 } = plan.program;
    this.#plan = plan;
    this.owner = owner;
    this.limits = limits;
    this.#state = { type: "queued", answers: [], ...(image && { image: { image, cpuMs: usedCpuMs } }) };
    this.ended = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  get state(): State["type"] {
    return this.#state.type;
  }

  get hasThread(): boolean {
    return "run" in this.#state;
  }

  /** Waits in a thread that it cannot leave. */
  get isLarge(): boolean {
    return this.#state.type === "waiting" && this.#state.isLarge;
  }

  /** Size of the image that is kept. */
  get imageBytes(): number {
    return "image" in this.#state ? (this.#state.image?.image.length ?? 0) : 0;
  }

  /** Size of the answers that it has not taken yet. */
  get answerBytes(): number {
    if ("answers" in this.#state)
      return this.#state.answers.map(({ answer }) => bytesOf(answer)).reduce((sum, bytes) => sum + bytes, 0);
    return "run" in this.#state ? this.#state.run.answerBytes : 0;
  }

  /** Begins or continues in a thread. `open` starts the program there. */
  begin(open: (program: CodeProgram, host: ProgramHost) => WorkerRun): void {
    if (this.#state.type !== "queued") return;
    const { image, answers } = this.#state;
    const { host, program } = this.#plan;
    this.hasStarted = true;
    const run = open(
      { ...program, ...(image && { image: image.image, usedCpuMs: image.cpuMs }) },
      {
        onCall: (call) => host.onCall(call),
        onLog: (line) => host.onLog(line),
        onWait: (pending) => {
          this.#state = { type: "waiting", run, isLarge: false };
          host.onWait(pending);
          this.#plan.onChange();
        },
      },
    );
    this.#state = { type: "running", run };
    for (const answer of answers) run.answer(answer);
    void run.ended.then((end) => {
      if ("run" in this.#state && this.#state.run === run) this.#end(end);
    });
  }

  /** Resolves when the program has the answer. */
  answer(id: number, answer: ProgramAnswer): Promise<void> {
    return new Promise((taken) => {
      this.#give({ id, answer, taken });
      this.#plan.onAnswer();
    });
  }

  #give(answer: Answer): void {
    const state = this.#state;
    switch (state.type) {
      case "running":
      case "waiting":
        this.#state = { type: "running", run: state.run };
        return state.run.answer(answer);
      case "leaving":
        return void state.answers.push(answer);
      case "kept":
      case "queued":
        this.#state = {
          ...state,
          type: "queued",
          answers: [...(state.type === "queued" ? state.answers : []), answer],
        };
        return this.#plan.onChange();
      case "ended":
    }
  }

  /** Leaves the thread of a program that waits, unless its memory has more bytes than this. */
  leave(maxBytes: number): void {
    const state = this.#state;
    if (state.type !== "waiting") return;
    const { run } = state;
    const answers: Answer[] = [];
    const left = run.snapshot(maxBytes).then(
      (image) => {
        if (this.#state.type !== "leaving") return;
        if (image !== undefined)
          this.#state = answers.length > 0 ? { type: "queued", image, answers } : { type: "kept", image };
        else {
          this.#state = { type: "waiting", run, isLarge: true };
          for (const answer of answers) this.#give(answer);
        }
        this.#plan.onChange();
      },
      // The program has ended: see `begin`.
      () => {},
    );
    this.#state = { type: "leaving", run, left, answers };
  }

  async snapshot(): Promise<Image> {
    if (this.#state.type === "leaving") await this.#state.left;
    const state = this.#state;
    if (state.type === "running" || state.type === "waiting") {
      // It may not be asked to leave as well.
      this.#state = { type: "running", run: state.run };
      return (await state.run.snapshot())!;
    }
    if (!("image" in state) || state.image === undefined) throw new Error("The program has ended");
    const { image } = state;
    this.#end({ error: stopped(), cpuMs: image.cpuMs });
    return image;
  }

  stop(): Promise<void> {
    return this.fail(stopped());
  }

  /** Ends the program. Resolves when nothing of it is left. */
  async fail(error: EndError): Promise<void> {
    const state = this.#state;
    if (state.type === "ended") return;
    if (!("run" in state)) {
      const { cpuMs = 0 } = state.image ?? {};
      return this.#end({ error, cpuMs });
    }
    // The thread of a program that leaves may be free already, and then nothing reports an end.
    if (state.type === "leaving" || error.code !== "STOPPED") this.#end({ error, cpuMs: state.run.cpuMs });
    await state.run.stop();
    // Its thread is free now.
    this.#plan.onChange();
  }

  #end(end: ProgramEnd): void {
    this.#state = { type: "ended" };
    this.#settle(end);
  }
}
