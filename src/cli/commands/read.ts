/** `toolport read`: one resource. */
import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { ResourceContents } from "../../port/resources/read-resource.js";
import { CliError } from "../cli-error.js";
import { type Invocation, textOption } from "../command.js";
import { requireServer } from "../connect-servers.js";
import { EXIT } from "../exit-codes.js";
import { shellWord } from "../next-command.js";
import type { Shell } from "../shell.js";

export async function run(invocation: Invocation, shell: Shell): Promise<number> {
  const [server = "", uri = ""] = invocation.words;
  const opened = await shell.openPort({ servers: [server] });
  await requireServer(shell, opened, server);
  const progress = shell.progress(`Reading ${uri}`);
  const contents = await opened.toolport
    .readResource(server, uri, {
      signal: shell.signal,
      ...(shell.timeoutMs !== undefined && { timeoutMs: shell.timeoutMs }),
    })
    .finally(() => progress.done());
  const out = textOption(invocation, "out");
  if (out !== undefined) await save(contents, { path: resolve(shell.cwd, out), shell });
  if (shell.form === "json") shell.printJson({ server, uri, contents });
  else if (out === undefined && shell.form === "raw") {
    for (const content of contents) await printContent(content, shell);
  } else if (out === undefined) {
    for (const content of contents) {
      if (contents.length > 1) shell.tell(`${content.uri}:`, "dim");
      const { text, blob = "", mimeType = "unknown type" } = content;
      if (text !== undefined) shell.print(text);
      else shell.print(`[${mimeType}, ${Buffer.from(blob, "base64").length} bytes]`);
    }
    if (contents.some(({ text }) => text === undefined))
      shell.tell(`Save its bytes: toolport read ${shellWord(server)} ${shellWord(uri)} --out <file>`, "dim");
  }
  return EXIT.ok;
}

const bytesOf = ({ text, blob = "" }: ResourceContents): Buffer =>
  text === undefined ? Buffer.from(blob, "base64") : Buffer.from(text, "utf8");

async function printContent(content: ResourceContents, shell: Shell): Promise<void> {
  if (content.text === undefined) return shell.printBytes(bytesOf(content));
  return shell.print(content.text);
}

async function save(
  contents: readonly ResourceContents[],
  { path, shell }: { path: string; shell: Shell },
): Promise<void> {
  const [content] = contents;
  if (content === undefined || contents.length > 1)
    throw new CliError({
      code: "SEVERAL_CONTENTS",
      message: `The address stands for ${contents.length} contents, and one file holds one`,
      next: `toolport read … --json`,
    });
  const bytes = bytesOf(content);
  await writeFile(path, bytes);
  shell.tell(`Wrote ${path} (${bytes.length} bytes)`);
}
