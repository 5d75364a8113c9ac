/** `toolport resources`: what can be read. */
import type { Invocation } from "../command.js";
import { connectForList } from "../connect-servers.js";
import { oneLine, plainLine } from "../plain-text.js";
import { printRows } from "../print-rows.js";
import type { Shell } from "../shell.js";

export async function run({ words: [server] }: Invocation, shell: Shell): Promise<number> {
  const opened = await shell.openPort(server === undefined ? {} : { servers: [server] });
  const { errors, exitCode } = await connectForList(shell, opened, server);
  const { signal } = shell;
  const isWanted = (info: { server: string }) => server === undefined || info.server === server;
  const resources = (await opened.toolport.resources({ signal })).filter(isWanted);
  const resourceTemplates = (await opened.toolport.resourceTemplates({ signal })).filter(isWanted);
  const rows = [
    ...resources.map(({ uri, ...info }) => ({ ...info, uri })),
    ...resourceTemplates.map(({ uriTemplate, ...info }) => ({ ...info, uri: uriTemplate })),
  ];
  if (shell.form === "json") shell.printJson({ resources, resourceTemplates, errors });
  else if (shell.form === "raw") for (const { uri } of rows) shell.print(plainLine(uri));
  else if (rows.length === 0) shell.tell("There are no resources");
  else
    printRows(
      shell,
      ["SERVER", "URI", "TYPE", "NAME"],
      rows.map(({ server: owner, uri, mimeType, title, name, description }) => [
        owner,
        uri,
        mimeType,
        oneLine([title ?? name, description].filter(Boolean).join(": "), 80),
      ]),
    );
  return exitCode;
}
