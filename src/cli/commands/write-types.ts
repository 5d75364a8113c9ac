/** `toolport types`: generates a typed TypeScript client of the tools. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { type RunCommand, textOption } from "../command.js";
import { connectForList, requireServer } from "../connect-servers.js";
import { EXIT } from "../exit-codes.js";
import { plural } from "../plain-text.js";
import { generateClient } from "../types/generate-client.js";

export const typesCommand: RunCommand = async (invocation, context) => {
  const { words } = invocation;
  const opened = await context.openPort(words.length === 0 ? {} : { servers: words });
  for (const server of words) await requireServer(context, opened, server);
  const { exitCode } =
    words.length > 0 ? { exitCode: EXIT.ok } : await connectForList(context, opened, undefined);
  const tools = await opened.toolport.tools({
    all: true,
    signal: context.signal,
    ...(words.length > 0 && { servers: words }),
  });
  const text = generateClient(tools);
  const out = textOption(invocation, "out");
  if (out !== undefined) {
    const path = resolve(context.cwd, out);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
    context.info(`Wrote ${path}: ${plural(tools.length, "tool")}`);
    if (context.form === "json") context.printJson({ path, toolCount: tools.length });
  } else if (context.form === "json") context.printJson({ text, toolCount: tools.length });
  else context.print(text.trimEnd());
  return exitCode;
};
