/** `toolport auth` and `logout`: log in to a server in the browser, and delete its tokens. */
import { AuthError } from "@toolport/base";
import { authorizeInBrowser } from "@toolport/config";
import type { ServerReport, Toolport } from "@toolport/core";
import type { CommandContext, CommandSpec, OpenedPort, RunCommand } from "../command.js";
import { flag, PRINCIPAL_OPTION, SERVER, TYPED_OPTIONS } from "../command-options.js";
import { forgetInputs } from "../load-servers.js";
import { plural } from "../plain-text.js";
import { shellWord } from "../shell-words.js";
import { principalOf } from "../suspended-calls.js";

export const authCommand: CommandSpec = {
  name: "auth",
  summary: "Log in to a server",
  group: "servers",
  positionals: [SERVER],
  options: {
    reset: flag("Log out first, to log in with another account"),
    "no-browser": flag("Print the login page's URL instead of opening it"),
    ...PRINCIPAL_OPTION,
    ...TYPED_OPTIONS,
  },
  takesTyped: "server",
  examples: [
    ["toolport auth weather", "in the browser"],
    ["toolport auth weather --no-browser --timeout 120000", "open the page yourself, within two minutes"],
  ],
  load: async () => (await import("./auth.js")).runAuth,
};

export const logoutCommand: CommandSpec = {
  name: "logout",
  summary: "Revoke and delete the tokens of a server",
  group: "servers",
  positionals: [SERVER],
  options: TYPED_OPTIONS,
  takesTyped: "server",
  examples: [["toolport logout weather", "the next call needs a new login"]],
  load: async () => (await import("./auth.js")).runLogout,
};

/** Thrown to skip the browser: the server is ready without a login. */
class AlreadyLoggedIn {
  constructor(readonly report: ServerReport) {}
}

export const runAuth: RunCommand = async (context) => {
  const [server = ""] = context.words;
  const { redirectUrl, hasLogin } = await readLogin(server, context);
  let toolport: Toolport | undefined;
  let report: ServerReport | undefined;
  try {
    await authorizeInBrowser({
      redirectUrl,
      authUrl: async (callbackUrl) => {
        toolport = await open(server, callbackUrl, context);
        return loginPage(await toolport.connectServer(server, { signal: context.signal }), server);
      },
      openBrowser: !context.flag("no-browser"),
      onUrl: (url) => showPage(url, server, context),
      finish: async (params) => {
        report = await toolport!.finishAuth(server, params, { signal: context.signal });
      },
      timeoutMs: context.timeoutMs,
      signal: context.signal,
    });
  } catch (error) {
    if (!(error instanceof AlreadyLoggedIn)) throw error;
    return reportEnd(server, error.report, { isNew: false, hasLogin }, context);
  }
  if (report?.error !== undefined) throw report.error;
  reportEnd(server, report!, { isNew: true, hasLogin }, context);
};

const throwIfLeftOut = (leftOut: OpenedPort["leftOut"], server: string): void => {
  const error = leftOut.get(server);
  if (error !== undefined) throw error;
};

async function open(server: string, callbackUrl: string, context: CommandContext): Promise<Toolport> {
  const principal = principalOf(context);
  const { toolport, statePath, leftOut } = await context.openPort({
    servers: [server],
    principal,
    isSpecial: true,
    options: { callbackUrl },
  });
  throwIfLeftOut(leftOut, server);
  if (statePath === undefined) context.warn("State is in memory: the login is lost when this command ends");
  if (context.flag("reset")) await toolport.logOut(server);
  return toolport;
}

/** A manually registered client may have only one redirect URL. Only servers with a URL have logins. */
async function readLogin(server: string, context: CommandContext) {
  const { config, leftOut } = await context.loadServers([server]);
  throwIfLeftOut(leftOut, server);
  const entry = config.mcpServers[server] as { oauth?: { redirectUrl?: string | URL } | false } | undefined;
  const url = entry?.oauth ? entry.oauth.redirectUrl : undefined;
  return { redirectUrl: url === undefined ? undefined : String(url), hasLogin: hasUrl(entry) };
}

function loginPage(report: ServerReport, server: string): string {
  if (report.state === "ready") throw new AlreadyLoggedIn(report);
  if (report.authUrl !== undefined) return report.authUrl;
  const what = "The server provides no login page";
  throw report.error ?? new AuthError({ code: "AUTH_FAILED", server, what, outcome: "unsent" });
}

function showPage(url: string, server: string, context: CommandContext): void {
  if (context.form === "json") return context.printJson({ event: "authUrl", server, url }, { isLine: true });
  if (!context.flag("no-browser")) {
    context.info([`Log in to ${server} in your browser. If it does not open, visit:`, "", `  ${url}`, ""]);
    return;
  }
  context.info(`Log in to ${server} here:`);
  context.print(url);
}

function reportEnd(
  server: string,
  { state, toolCount }: ServerReport,
  { isNew, hasLogin }: { isNew: boolean; hasLogin: boolean },
  context: CommandContext,
): undefined {
  if (context.form === "json") {
    const event = isNew ? "authorized" : "nothingToDo";
    return context.printJson({ event, server, state, tools: toolCount }, { isLine: true });
  }
  const how = isNew ? "Logged in to" : "No login required for";
  context.info(`${how} ${server}: ${state}, ${plural(toolCount, "tool")}`, "green");
  context.info(
    isNew || !hasLogin
      ? `Next: toolport tools ${shellWord(server)}`
      : `To log in with another account: toolport auth ${shellWord(server)} --reset`,
  );
}

export const runLogout: RunCommand = async (context) => {
  const [server = ""] = context.words;
  const { toolport, leftOut, config } = await context.openPort({ servers: [server] });
  throwIfLeftOut(leftOut, server);
  const written = (await context.readServers()).servers.get(server);
  const answers = written === undefined ? 0 : await forgetInputs(context, written);
  // A server that is started by a command has no login, but its file may have asked for a key.
  const hasLogin = answers === 0 || hasUrl(config.mcpServers[server]);
  if (hasLogin) await toolport.logOut(server);
  if (context.form === "json")
    context.printJson({ server, loggedOut: hasLogin, ...(answers > 0 && { forgottenInputs: answers }) });
  else {
    if (hasLogin) context.info(`Logged out of ${server}: its tokens were deleted`, "green");
    if (answers > 0) context.info(`Deleted ${plural(answers, "saved answer")} for ${server}`, "green");
  }
};

const hasUrl = (entry: object | undefined): boolean =>
  (entry as { url?: unknown } | undefined)?.url !== undefined;
