/** `npm start`: runs the demo without API key, network or Docker. Exits with 0 if every step passed. */
import { parseArgs } from "node:util";
import { type DemoFlags, startDemo } from "./start-demo.js";

const USAGE = `Usage: npm start [-- --once] [-- --json] [-- --console] [-- --model-url <url>] [-- --model <name>]

  --once             end after the last step, even with --console
  --console          keep the servers running and show them in the console, until Enter or Ctrl-C
  --json             print one JSON document instead of text
  --model-url <url>  use a real model for the agent: an OpenAI-compatible endpoint
  --model <name>     name of the model
  --help             show this help

With OPENAI_API_KEY or ANTHROPIC_API_KEY set, the agent uses a model of that provider.`;

async function main(): Promise<number> {
  const flags = readFlags();
  if (flags === undefined) return 1;
  if (flags.help) {
    process.stdout.write(`${USAGE}\n`);
    return 0;
  }
  return startDemo(flags);
}

function readFlags(): (DemoFlags & { help: boolean }) | undefined {
  const flag = { type: "boolean", default: false } as const;
  const text = { type: "string" } as const;
  try {
    const { values } = parseArgs({
      options: { once: flag, console: flag, json: flag, help: flag, "model-url": text, model: text },
    });
    const { once, json, help, model } = values;
    return { json, help, model, console: values.console && !once, modelUrl: values["model-url"] };
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${USAGE}\n`);
    return undefined;
  }
}

// Do not call `process.exit`: the demo shows that no open handle keeps the process alive.
main().then(
  (exitCode) => {
    process.exitCode = exitCode;
  },
  (error: unknown) => {
    process.stderr.write(`${String(error)}\n`);
    process.exitCode = 1;
  },
);
