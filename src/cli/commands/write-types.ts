/** `toolport types`: a typed client of the tools, as a TypeScript file. */
import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { type Invocation, textOption } from "../command.js";
import { connectForList, requireServer } from "../connect-servers.js";
import { EXIT } from "../exit-codes.js";
import type { Shell } from "../shell.js";
import { generateClient } from "../types/generate-client.js";

export async function run(invocation: Invocation, shell: Shell): Promise<number> {
  const { words } = invocation;
  const opened = await shell.openPort(words.length === 0 ? {} : { servers: words });
  for (const server of words) await requireServer(shell, opened, server);
  const { exitCode } =
    words.length > 0 ? { exitCode: EXIT.ok } : await connectForList(shell, opened, undefined);
  const tools = await opened.toolport.tools({
    all: true,
    signal: shell.signal,
    ...(words.length > 0 && { servers: words }),
  });
  const text = generateClient(tools);
  const out = textOption(invocation, "out");
  if (out !== undefined) {
    const path = resolve(shell.cwd, out);
    await writeFile(path, text);
    shell.tell(`Wrote ${path}: ${tools.length} tools`);
    if (shell.form === "json") shell.printJson({ path, toolCount: tools.length });
  } else if (shell.form === "json") shell.printJson({ text, toolCount: tools.length });
  else shell.print(text.trimEnd());
  return exitCode;
}
