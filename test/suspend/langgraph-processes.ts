/** Runs a graph of LangGraph step by step, every step in a process of its own that ends by kill -9. See `langgraph-host.mjs`. */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hostPath, startHost } from "../support/start-host.js";
import type { GraphKind } from "./langgraph-graphs.js";

/** Which questions one step answers. */
export type Order = "together" | "first" | "last";

export interface Step {
  readonly points?: readonly string[];
  readonly outputs?: readonly string[];
  readonly killedAt?: string;
}

export interface Kill {
  /** Number of the process, from 0. */
  readonly step: number;
  readonly killAt?: number;
  readonly serverKillsAt?: number;
}

export interface GraphRun {
  readonly steps: readonly Step[];
  /** What the server did. */
  readonly effects: string[];
  readonly outputs: readonly string[];
}

export interface GraphPlan {
  readonly kind: GraphKind;
  readonly order: Order;
  readonly kill?: Kill | undefined;
  /** The model calls one program of code mode in place of the tools. */
  readonly program?: string | undefined;
}

/** A server and a folder for the state of graphs. */
export class GraphProcesses {
  readonly #folder = mkdtempSync(join(tmpdir(), "toolport-langgraph-"));
  readonly #server = startHost("langgraph-server.mjs", [this.#folder]);
  #runs = 0;

  async close(): Promise<void> {
    const server = await this.#server;
    server.kill("SIGKILL");
    await server.exited;
    rmSync(this.#folder, { recursive: true });
  }

  /** Runs processes until the graph is over. */
  async run({ kill, ...plan }: GraphPlan): Promise<GraphRun> {
    this.#runs += 1;
    const run = `run-${this.#runs}`;
    const steps: Step[] = [];
    while (steps.at(-1)?.outputs === undefined) {
      if (steps.length === 10) throw new Error(`The graph does not end: ${JSON.stringify(steps)}`);
      const { step, ...at } = kill ?? { step: -1 };
      steps.push(await this.#step({ ...plan, run, ...(step === steps.length && at) }));
    }
    const file = join(this.#folder, `${run}.effects`);
    const effects = existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
    return { steps, effects, outputs: steps.at(-1)!.outputs! };
  }

  /** Runs one process and returns its last line; `{}` if it was killed without one. */
  async #step(given: Record<string, unknown>): Promise<Step> {
    const { url } = (await this.#server).report as { url: string };
    const job = JSON.stringify({ ...given, url, folder: this.#folder });
    const host = spawn(process.execPath, [hostPath("langgraph-host.mjs"), job]);
    let output = "";
    let errors = "";
    host.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
    host.stderr.setEncoding("utf8").on("data", (text: string) => {
      errors += text;
    });
    const signal = await new Promise((resolve) => host.once("close", (_code, by) => resolve(by)));
    if (signal !== "SIGKILL") throw new Error(`The process ended by itself: ${errors}`);
    return JSON.parse(output.trim() || "{}") as Step;
  }
}

/** Six at a time: a process mostly waits until the lease of the killed one is over. */
export async function eachOf<Item>(
  items: readonly Item[],
  run: (item: Item) => Promise<void>,
): Promise<void> {
  const left = [...items];
  const worker = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await run(item);
  };
  await Promise.all(Array.from({ length: 6 }, worker));
}
