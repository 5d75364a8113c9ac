/** Programs in code mode: runs those that the user starts in the page, and keeps what the last programs on the port did. */

import { BoundedMap, hideCredentials } from "@toolport/base";
import type { CodeMode } from "@toolport/code";
import {
  type ProgramNews,
  type ProgramReport,
  type StartedProgram,
  watchPrograms,
} from "@toolport/code/internal";
import type { Action } from "./actions.js";
import { ConsoleRun } from "./logs.js";
import type { Observer } from "./observer.js";
import { BadRequest, textOf } from "./read-body.js";
import { messageOf, redactJson, shortText } from "./redact-json.js";

const MAX_PROGRAMS = 50;
/** Maximum length of a source, of all lines of a program, and of a value. */
const MAX_TEXT = 64 * 1024;
const MAX_CALLS = 500;
/** Pages load the programs again at most once in this time. */
const NEWS_MS = 100;

interface Program {
  readonly id: number;
  readonly startedAt: number;
  /** The page's own id of the run. Null for programs of the host. */
  readonly run: string | null;
  /** Redacted, as all texts below. */
  readonly source: string;
  /** `waiting`: for a person. */
  state: "running" | "ok" | "error" | "waiting" | "cancelled";
  durationMs: number | null;
  /** While the program runs, this is its own report. After its end, a small copy. */
  report: ProgramReport;
  /** JSON. */
  value: string | null;
  error: string | null;
  /** Where the error is, from 1. */
  line: number | null;
}

export class Programs {
  readonly #programs = new BoundedMap<number, Program>(MAX_PROGRAMS);
  readonly #stop: () => void;
  #code: Promise<CodeMode> | undefined;
  #count = 0;
  #news: NodeJS.Timeout | undefined;

  constructor(readonly observer: Observer) {
    this.#stop = watchPrograms(observer.toolport, (started) => this.#add(started));
  }

  /** Actions that the page can request, by name. `cancel` ends a program, as it ends calls. */
  get actions() {
    return {
      programs: async () => [...this.#programs.values()].reverse().map(toSummary),
      program: async ({ id }) => {
        const program = this.#programs.get(Number(id));
        return program === undefined ? null : toView(program);
      },
      runProgram: async (body, signal) => {
        const [source, run] = [textOf(body, "source"), textOf(body, "run")];
        if (source.length > MAX_TEXT)
          throw new BadRequest(413, `The program is longer than ${MAX_TEXT} characters`);
        const code = await this.#open(body["consent"]);
        await this.observer.runs.run(run, signal, (context) =>
          code.execute(source, { signal: context.controller.signal, context }),
        );
      },
      describeTools: async (body, signal) => {
        const query = textOf(body, "query");
        return hideCredentials(await (await this.#open(body["consent"])).describe(query, { signal }));
      },
    } satisfies Record<string, Action>;
  }

  async close(): Promise<void> {
    this.#stop();
    clearTimeout(this.#news);
    await (await this.#code?.catch(() => undefined))?.close();
  }

  /** Code mode connects every server of the port, so the user has to agree to all their commands. */
  #open(agreed: unknown): Promise<CodeMode> {
    const { toolport, consent } = this.observer;
    consent.require(Object.keys(toolport.snapshot().servers), agreed);
    this.#code ??= import("@toolport/code").then(({ createCodeMode }) => createCodeMode(toolport));
    return this.#code;
  }

  #add({ source, context }: StartedProgram) {
    const program: Program = {
      id: ++this.#count,
      startedAt: Date.now(),
      run: context instanceof ConsoleRun ? context.id : null,
      source: shortText(source, MAX_TEXT),
      state: "running",
      durationMs: null,
      report: { logs: [], calls: [] },
      value: null,
      error: null,
      line: null,
    };
    this.#programs.set(program.id, program);
    const start = performance.now();
    const end = (changes: Partial<Program>, report = program.report) => {
      Object.assign(program, changes, { durationMs: performance.now() - start, report: small(report) });
      this.#changed();
    };
    this.#changed();
    return (news: ProgramNews) => {
      if ("report" in news) {
        program.report = news.report;
        return this.#changed();
      }
      if ("error" in news)
        return end({ state: "cancelled", error: shortText(messageOf(news.error), MAX_TEXT) });
      const { outcome } = news;
      if ("paused" in outcome) return end({ state: "waiting" }, outcome.paused);
      if (outcome.error === undefined) return end({ state: "ok", value: toText(outcome.value) }, outcome);
      const { message, line = null } = outcome.error;
      end({ state: "error", error: shortText(message, MAX_TEXT), line }, outcome);
    };
  }

  /** Tells the pages soon, once for all changes until then. */
  #changed(): void {
    this.#news ??= setTimeout(() => {
      this.#news = undefined;
      this.observer.feed.publish({ type: "programs" });
    }, NEWS_MS).unref();
  }
}

function toText(value: unknown): string | null {
  const text = JSON.stringify(redactJson(value), null, 2);
  return text === undefined ? null : shortText(text, MAX_TEXT, String);
}

/** A redacted copy of limited size. */
function small({ logs, calls }: ProgramReport): ProgramReport {
  const lines: string[] = [];
  let left = MAX_TEXT;
  for (const line of logs) {
    if (left <= 0) break;
    lines.push(shortText(line, left));
    // An empty line takes space, too.
    left -= line.length + 1;
  }
  if (lines.length < logs.length) lines.push(`… (${logs.length - lines.length} more lines)`);
  return { logs: lines, calls: calls.slice(0, MAX_CALLS) };
}

function toSummary({ id, startedAt, run, source, state, durationMs, report }: Program) {
  const title = source.trim().split("\n", 1)[0]!.slice(0, 120);
  return { id, startedAt, run, state, durationMs, title, callCount: report.calls.length };
}

function toView(program: Program) {
  const { source, value, error, line, report, durationMs } = program;
  const { logs, calls } = durationMs === null ? small(report) : report;
  return {
    ...toSummary(program),
    source,
    value,
    error,
    line,
    logs,
    calls: calls.map(({ tool, ok, code, outcome, durationMs: took }) => ({
      tool,
      state: ok ? "ok" : code === "UNFINISHED" && durationMs === null ? "running" : "error",
      code: code ?? null,
      outcome: outcome ?? null,
      durationMs: took,
    })),
  };
}
