/** `toolport types`: generates a typed TypeScript client of the tools. */
import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { type RunCommand, textOption } from "../command.js";
import { connectForList, requireServer } from "../connect-servers.js";
import { EXIT } from "../exit-codes.js";
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
    await writeFile(path, text);
    context.info(`Wrote ${path}: ${tools.length} tools`);
    if (context.form === "json") context.printJson({ path, toolCount: tools.length });
  } else if (context.form === "json") context.printJson({ text, toolCount: tools.length });
  else context.print(text.trimEnd());
  return exitCode;
};
