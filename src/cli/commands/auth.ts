/** `toolport auth`: logs in to a server, with a browser that comes back to this machine. */
import { AuthError } from "../../errors/auth-error.js";
import { authorizeInBrowser } from "../../node/authorize-in-browser.js";
import type { ServerReport } from "../../port/report.js";
import type { Toolport } from "../../toolport.js";
import { type CommandModule, flagOption, type Invocation } from "../command.js";
import { EXIT } from "../exit-codes.js";
import { shellWord } from "../next-command.js";
import type { Shell } from "../shell.js";

/** Ends the waiting before it begins: nobody has to log in. */
class NothingToDo {
  readonly #report: ServerReport;

  constructor(report: ServerReport) {
    this.#report = report;
  }

  get report(): ServerReport {
    return this.#report;
  }
}

export const run: CommandModule["run"] = async (invocation, shell) => {
  const [server = ""] = invocation.words;
  const redirectUrl = await redirectUrlOf(server, shell);
  let toolport: Toolport | undefined;
  let report: ServerReport | undefined;
  try {
    await authorizeInBrowser({
      redirectUrl,
      authUrl: async (callbackUrl) => {
        toolport = await open(server, callbackUrl, { invocation, shell });
        return loginPage(await toolport.connectServer(server, { signal: shell.signal }), server);
      },
      openBrowser: !flagOption(invocation, "no-browser"),
      onUrl: (url) => showPage(url, { server, invocation, shell }),
      finish: async (params) => {
        report = await toolport!.finishAuth(server, params, { signal: shell.signal });
      },
      timeoutMs: shell.timeoutMs,
      signal: shell.signal,
    });
  } catch (error) {
    if (!(error instanceof NothingToDo)) throw error;
    tellEnd({ server, report: error.report, isNew: false }, shell);
    return EXIT.ok;
  }
  if (report?.error !== undefined) throw report.error;
  tellEnd({ server, report: report!, isNew: true }, shell);
  return EXIT.ok;
};

async function open(
  server: string,
  callbackUrl: string,
  { invocation, shell }: { invocation: Invocation; shell: Shell },
): Promise<Toolport> {
  const { toolport, statePath, leftOut } = await shell.openPort({
    servers: [server],
    options: { callbackUrl },
  });
  const error = leftOut.get(server);
  if (error !== undefined) throw error;
  if (statePath === undefined)
    shell.warn("State is kept in memory: the login is lost when this command ends");
  if (flagOption(invocation, "reset")) await toolport.logOut(server);
  return toolport;
}

/** A client that was registered by hand may come back to one address only. */
async function redirectUrlOf(server: string, shell: Shell): Promise<string | undefined> {
  const { config, leftOut } = await shell.loadServers([server]);
  const error = leftOut.get(server);
  if (error !== undefined) throw error;
  const entry = config.mcpServers[server] as { oauth?: { redirectUrl?: string | URL } | false } | undefined;
  const url = entry?.oauth ? entry.oauth.redirectUrl : undefined;
  return url === undefined ? undefined : String(url);
}

function loginPage(report: ServerReport, server: string): string {
  if (report.state === "ready") throw new NothingToDo(report);
  if (report.authUrl !== undefined) return report.authUrl;
  throw (
    report.error ??
    new AuthError({
      code: "AUTH_FAILED",
      server,
      what: "The server names no page to log in at",
      outcome: "unsent",
    })
  );
}

function showPage(
  url: string,
  { server, invocation, shell }: { server: string; invocation: Invocation; shell: Shell },
): void {
  if (shell.form === "json") return shell.printJson({ event: "authUrl", server, url }, { isLine: true });
  if (!flagOption(invocation, "no-browser")) {
    shell.tell([`Log in to ${server} in your browser. If it does not open, go to:`, "", `  ${url}`, ""]);
    return;
  }
  shell.tell(`Log in to ${server} here:`);
  shell.print(url);
}

interface End {
  readonly server: string;
  readonly report: ServerReport;
  readonly isNew: boolean;
}

function tellEnd({ server, report: { state, toolCount }, isNew }: End, shell: Shell): void {
  if (shell.form === "json") {
    const event = isNew ? "authorized" : "nothingToDo";
    return shell.printJson({ event, server, state, tools: toolCount }, { isLine: true });
  }
  const how = isNew ? "You are logged in to" : "There is nothing to do for";
  shell.tell(`${how} ${server}: it is ${state}, with ${toolCount} tools`, "green");
  shell.tell(
    isNew
      ? `Next: toolport tools ${shellWord(server)}`
      : `To log in as somebody else: toolport auth ${shellWord(server)} --reset`,
  );
}
