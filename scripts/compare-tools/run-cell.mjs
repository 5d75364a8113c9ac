/** Runs the commands of one cell of the table and says whether the program can do it. */
import { spawn } from "node:child_process";
import { createToolport } from "toolport";

const LIMIT_MS = 60_000;

const fill = (text, values) => text.replaceAll(/\{(\w+)\}/g, (all, name) => values[name] ?? all);

/** Starts a program; resolves when it ends, or when `until` matches its output. */
function start({ program, args, stdin = "", until, env = {} }, workspace) {
  const [command, ...before] = workspace.programs[program];
  const filled = args.map((arg) => fill(arg, workspace.values));
  const child = spawn(command, [...before, ...filled], {
    cwd: workspace.folder,
    env: { ...workspace.env, ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  child.stdin.on("error", () => {}).end(fill(stdin, workspace.values));
  return new Promise((resolve, reject) => {
    let output = "";
    let timer;
    const settle = (code) => {
      clearTimeout(timer);
      resolve({ output, code, child });
    };
    timer = setTimeout(() => {
      child.kill("SIGKILL");
      output += "\n(timed out)";
    }, LIMIT_MS);
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text) => {
        output += text;
        if (until?.test(output)) settle(undefined);
      });
    child.once("error", reject);
    child.once("close", (code) => settle(code ?? 1));
  });
}

const hasEnded = (child) => child.exitCode !== null || child.signalCode !== null;

async function end(child) {
  if (hasEnded(child)) return;
  const ended = new Promise((resolve) => child.once("close", resolve));
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), 5_000);
  await ended;
  clearTimeout(timer);
}

/** Names of the tools that an MCP server offers. */
async function toolsAt(entry) {
  const toolport = createToolport({ mcpServers: { x: entry }, connectTimeoutMs: 20_000, prefix: false });
  try {
    await toolport.connect();
    return (await toolport.tools()).map(({ name }) => name).join(" ");
  } finally {
    await toolport.close();
  }
}

/** What a running program offers: its page, or its tools as an MCP server. */
async function visit({ page, mcp }, output, values) {
  if (mcp !== undefined) return toolsAt({ url: fill(mcp, values) });
  const url = page.exec(output)?.[0] ?? "";
  return (await fetch(url)).text();
}

/** One command: `{ ok, output }`. */
async function runStep(step, workspace) {
  if (step.serves !== undefined) {
    const [command, ...before] = workspace.programs[step.program];
    const args = [...before, ...step.args.map((arg) => fill(arg, workspace.values))];
    const output = await toolsAt({ command, args, cwd: workspace.folder, env: workspace.env });
    return { ok: step.serves.test(output), output };
  }
  const { output, code, child } = await start(step, workspace);
  try {
    if (step.until === undefined) {
      const { expect = /(?:)/, not, exit = 0 } = step;
      return { ok: code === exit && expect.test(output) && !not?.test(output), output, code };
    }
    if (code !== undefined) return { ok: false, output, code };
    const seen = await visit(step, output, workspace.values);
    return { ok: step.expect.test(seen), output: `${output}\n${seen.slice(0, 500)}` };
  } finally {
    await end(child);
  }
}

/** `{ mark, commands, output }`: ● if every step did what is expected. */
export async function runCell(cell, workspace) {
  if (cell.read !== undefined) return { mark: cell.read, isRead: true, commands: [] };
  const outputs = [];
  let ok = true;
  for (const step of cell.steps) {
    if (!ok && !step.always) continue;
    const outcome = await runStep(step, workspace).catch((error) => ({ ok: false, output: String(error) }));
    outputs.push(`${step.program} ${step.args.join(" ")} → ${outcome.code ?? ""}\n${outcome.output}`);
    // A step that cleans up does not decide.
    if (!step.always) ok = outcome.ok;
  }
  const shown = cell.steps.filter(({ always }) => !always);
  return { mark: ok ? "●" : "○", commands: shown.map(describe), output: outputs.join("\n") };
}

const quote = (arg) => (/[\s"'()]/.test(arg) ? `'${arg}'` : arg);
const describe = ({ program, args, stdin }) =>
  `${stdin ? "… | " : ""}${program} ${args.map(quote).join(" ")}`.replaceAll(
    "{node} {everything}",
    "node everything.js",
  );
