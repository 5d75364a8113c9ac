/** Starts a host program that uses the built package, and waits until it reports that it is ready. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { processTree } from "./processes.js";

const BUILT = fileURLToPath(new URL("../../packages/toolport/dist/index.js", import.meta.url));

/** The path of a host program in `test/fixtures/hosts`. */
export const hostPath = (name: string): string =>
  fileURLToPath(new URL(`../fixtures/hosts/${name}`, import.meta.url));

export interface Host {
  readonly pid: number;
  /** The data of its `ready` line. */
  readonly report: unknown;
  readonly exited: Promise<{ code: number | null; signal: string | null }>;
  /** Its lines on stdout so far. */
  readonly said: readonly string[];
  /** The JSON after this word in its output. */
  reported(word: string): unknown;
  /** Its current descendants, including guardians. */
  family(): number[];
  send(line: string): void;
  kill(signal: NodeJS.Signals): void;
}

/** A line `ready <json>` on stdout ends the wait. */
export async function startHost(program: string, args: readonly string[]): Promise<Host> {
  if (!existsSync(BUILT)) throw new Error("Hosts use the built package: run `npm run build` first");
  const child = spawn(process.execPath, [hostPath(program), ...args], { stdio: ["pipe", "pipe", "ignore"] });
  child.stdin.on("error", () => {});
  const exited = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
    child.once("exit", (code, signal) => resolve({ code, signal }));
  });
  const said: string[] = [];
  const reported = (word: string): unknown => {
    const line = said.find((one) => one.startsWith(`${word} `));
    return line === undefined ? undefined : JSON.parse(line.slice(word.length + 1));
  };
  await new Promise<void>((resolve, reject) => {
    createInterface({ input: child.stdout }).on("line", (line) => {
      said.push(line);
      if (line.startsWith("ready ")) resolve();
    });
    exited.then(({ code, signal }) => reject(new Error(`The host ended early with ${code ?? signal}`)));
  });
  return {
    pid: child.pid as number,
    report: reported("ready"),
    exited,
    said,
    reported,
    family: () => processTree(child.pid as number).map(({ pid }) => pid),
    send: (line) => void child.stdin.write(`${line}\n`),
    kill: (signal) => void child.kill(signal),
  };
}
