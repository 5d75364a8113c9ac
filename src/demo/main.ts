/** `npm start`: the main job with no key, no network and no Docker. Exit code 0 if every step passed. */
import { parseArgs } from "node:util";
import { type DemoReport, runDemo } from "./run-demo.js";
import { createScreen, type Screen, silentScreen } from "./screen.js";

const USAGE = `Usage: npm start [-- --once] [-- --json]

  --once   end after the summary (for now the demo always does)
  --json   print one JSON document instead of text
  --help   show this`;

async function main(): Promise<number> {
  const flags = readFlags();
  if (flags === undefined) return 1;
  if (flags.help) {
    process.stdout.write(`${USAGE}\n`);
    return 0;
  }
  if (flags.json) {
    const report = await runDemo(silentScreen);
    process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
    return report.ok ? 0 : 1;
  }
  const screen = createScreen(process.stdout);
  const title = "Toolport demo: every transport, both protocol eras, nothing but this machine";
  screen.print([screen.paint("title", title), ""]);
  const report = await runDemo(screen);
  screen.print(summarise(report, screen));
  return report.ok ? 0 : 1;
}

function readFlags(): { help: boolean; json: boolean } | undefined {
  const flag = { type: "boolean", default: false } as const;
  try {
    const { values } = parseArgs({ options: { once: flag, json: flag, help: flag } });
    return { help: values.help, json: values.json };
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${USAGE}\n`);
    return undefined;
  }
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

// Not `process.exit`: that the process ends by itself is part of what is shown.
main().then(
  (exitCode) => {
    process.exitCode = exitCode;
  },
  (error: unknown) => {
    process.stderr.write(`${String(error)}\n`);
    process.exitCode = 1;
  },
);
