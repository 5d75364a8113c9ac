#!/usr/bin/env node
/** The program `toolport`. */
import { runCommandLine } from "./run-command-line.js";

// Node's own warnings (SQLite being new, for instance) are not for whoever reads our stderr.
process.removeAllListeners("warning");
process.on("warning", (warning) => {
  if (warning.name !== "ExperimentalWarning") process.stderr.write(`warning: ${warning.message}\n`);
});

runCommandLine({
  args: process.argv.slice(2),
  env: process.env,
  cwd: process.cwd(),
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  signals: process,
  onSecondSignal: (exitCode) => process.exit(exitCode),
}).then((exitCode) => {
  process.exitCode = exitCode;
  // Interrupted: what the command was waiting for is not waited for.
  if (exitCode > 128) process.exit();
});
