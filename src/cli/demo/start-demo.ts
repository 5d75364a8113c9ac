/** Runs the demo as a program: flags, output and exit code. */
import { chooseModel } from "../agent/choose-model.js";
import type { Model } from "../agent/run-agent.js";
import { ToolportError } from "../../errors/toolport-error.js";
import type { Toolport } from "../../index.js";
import { type DemoReport, runDemo } from "./run-demo.js";
import { createScreen, type Screen, silentScreen } from "./step-runner.js";

export interface DemoFlags {
  /** Print one JSON document instead of text. */
  readonly json: boolean;
  /** Keep the servers running at the end, and show them in the console. Ignored with `json`. */
  readonly console: boolean;
  readonly modelUrl?: string | undefined;
  readonly model?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Resolves with the exit code: 0 if every step passed. Does not reject for a failed step. */
export async function startDemo(flags: DemoFlags): Promise<number> {
  let model: Model | undefined;
  try {
    model = await chooseModel({ url: flags.modelUrl, name: flags.model, env: process.env });
  } catch (error) {
    if (!ToolportError.isInstance(error)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 2;
  }
  if (flags.json) {
    const report = await runDemo(silentScreen, { model });
    process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
    return report.ok ? 0 : 1;
  }
  const screen = createScreen(process.stdout);
  const title = "Toolport demo: every transport, both protocol eras, on this machine only";
  screen.print([screen.paint("title", title), ""]);
  const report = await runDemo(screen, {
    model,
    ...(flags.console && { stayUp: (toolport) => stayUp(toolport, screen, flags.signal) }),
  });
  screen.print(summarise(report, screen));
  return report.ok ? 0 : 1;
}

function summarise({ ok, ms, steps }: DemoReport, { paint }: Screen): string[] {
  const failed = steps.filter((step) => !step.ok);
  const seconds = (ms / 1_000).toFixed(1);
  if (ok) return [paint("good", `All ${steps.length} steps passed in ${seconds} s.`)];
  return [
    paint("bad", `${failed.length} of ${steps.length} steps failed in ${seconds} s:`),
    ...failed.map(({ title, error }) => `  ${title}: ${error}`),
  ];
}

/** Keeps the servers running and shows them in the console, until Enter, Ctrl-C or the signal. */
async function stayUp(toolport: Toolport, screen: Screen, signal?: AbortSignal): Promise<void> {
  const { startConsole } = await import("../../console/start-console.js");
  const page = await startConsole({ toolport, log: (message) => screen.print([message]) });
  try {
    screen.print([
      `${screen.paint("title", "The servers keep running. Open the console:")} ${page.url}`,
      screen.paint("quiet", "Press Enter or Ctrl-C to end the demo."),
      "",
    ]);
    await waitForEnd(signal);
  } finally {
    await page.close();
  }
}

function waitForEnd(signal: AbortSignal | undefined): Promise<void> {
  const { stdin } = process;
  return new Promise((resolve) => {
    const end = () => {
      stdin.off("data", end).off("end", end).pause();
      process.off("SIGINT", end).off("SIGTERM", end);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    stdin.on("data", end).on("end", end).resume();
    process.on("SIGINT", end).on("SIGTERM", end);
    signal?.addEventListener("abort", end);
    if (signal?.aborted) end();
  });
}
