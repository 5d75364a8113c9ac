/** Runs a program in a real terminal with `script`. */
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from "node:child_process";
import { waitFor } from "./wait-for.js";

/** Whether `script` is available. */
export const hasTerminal =
  process.platform === "linux" && spawnSync("script", ["-qec", "true", "/dev/null"]).status === 0;

export interface Terminal {
  /** All output so far, including escape sequences. */
  readonly shown: string;
  type(text: string): void;
  /** Resolves when the output contains the text. */
  waitForText(text: string | RegExp, timeoutMs?: number): Promise<void>;
  /** The exit code of the program. */
  readonly ended: Promise<number | null>;
  kill(): void;
}

const quote = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

export function openTerminal(
  command: readonly string[],
  { cwd, env }: { cwd: string; env: Readonly<Record<string, string>> },
): Terminal {
  const line = command.map(quote).join(" ");
  const child: ChildProcessWithoutNullStreams = spawn("script", ["-qec", line, "/dev/null"], {
    cwd,
    env: { TERM: "xterm", SHELL: "/bin/sh", ...env },
  });
  let shown = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    shown += text;
  });
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  return {
    get shown() {
      return shown;
    },
    type: (text) => void child.stdin.write(text),
    async waitForText(text, timeoutMs = 15_000) {
      const isThere = () => (typeof text === "string" ? shown.includes(text) : text.test(shown));
      await waitFor(isThere, { timeoutMs, label: () => `${String(text)} in:\n${shown}` });
    },
    ended,
    kill: () => void child.kill("SIGKILL"),
  };
}
