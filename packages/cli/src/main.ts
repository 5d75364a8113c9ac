#!/usr/bin/env node
/** Entry point of the program `toolport`. */
import { runCommandLine } from "./run-command-line.js";

// Hide Node's experimental warnings, such as the one about SQLite.
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
  // After an interruption, do not wait for open handles.
  if (exitCode > 128) process.exit();
});
