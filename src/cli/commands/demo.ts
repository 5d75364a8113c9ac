/** `toolport demo`: the same as `npm start` in the repository. */
import { startDemo } from "../../demo/start-demo.js";
import { type CommandModule, flagOption, textOption } from "../command.js";

export const run: CommandModule["run"] = (invocation, shell) =>
  startDemo({
    json: shell.form === "json",
    console: flagOption(invocation, "console") && !flagOption(invocation, "once"),
    modelUrl: textOption(invocation, "model-url"),
    model: textOption(invocation, "model"),
    signal: shell.signal,
  });
