/** Rows about looking inside, other programs, and safety. */
import { adHoc, call, documented, helloWithMcporter, i, list, m, read, steps, t, tool } from "./cells.mjs";

export const INSPECT = [
  {
    what: "a page in the browser",
    toolport: steps(
      t(["console"], /<title>/i, {
        until: /http:\/\/127\.0\.0\.1:\d+\S*/,
        page: /http:\/\/127\.0\.0\.1:\d+[^\s#]*/,
      }),
    ),
    mcporter: steps(m(["--help"], /browser ui|web ui|console/i)),
    inspector: steps({
      program: "inspector",
      args: ["--web", "--config", "mcp.json"],
      env: { MCP_AUTO_OPEN_ENABLED: "false", CLIENT_PORT: "6274" },
      until: /https?:\/\/(localhost|127\.0\.0\.1):\d+\S*/,
      page: /https?:\/\/(localhost|127\.0\.0\.1):\d+[^\s]*/,
      expect: /<title>/i,
    }),
  },
  {
    what: "raw messages of both directions",
    toolport: steps(t(["inspect", "web", "--raw"], /"method":\s*"tools\/list"|tools\/list/)),
    mcporter: read("◐"),
    inspector: read("●"),
  },
  {
    what: "record the messages of a call in a file",
    toolport: steps(t(["call", "web.hello", "--record", "{folder}/session.ndjson"], /hello from/)),
    mcporter: steps(
      m(
        [
          "record",
          "session",
          "--server",
          "web",
          "--",
          "{mcporterNode}",
          "{mcporterCli}",
          ...helloWithMcporter,
        ],
        /hello from/,
      ),
    ),
    inspector: steps(adHoc(["--help"], /--record\b/)),
  },
  {
    what: "replay a recording without the server",
    // `replayServer` of toolport/testing.
    toolport: read("●"),
    mcporter: steps(
      m(
        [
          "replay",
          "session",
          "--server",
          "web",
          "--",
          "{mcporterNode}",
          "{mcporterCli}",
          ...helloWithMcporter,
        ],
        /hello from/,
      ),
    ),
    inspector: steps(adHoc(["--help"], /--replay\b/)),
  },
  {
    what: "a full-screen terminal interface",
    toolport: steps({ program: "toolport", args: ["--help"], expect: /full-screen/ }),
    mcporter: steps(m(["--help"], /\bTUI\b/)),
    inspector: steps({ program: "inspector", args: ["--help"], expect: /Run TUI/ }),
  },
  {
    what: "check the configuration files",
    toolport: steps(t(["doctor", "web"], /web/)),
    mcporter: steps(m(["config", "doctor"])),
    inspector: steps(adHoc(["--help"], /\bdoctor\b/)),
  },
  {
    what: "check the schemas of tools for what models reject",
    toolport: steps(t(["doctor", "web"], /schemas?/i)),
    mcporter: steps(m(["list", "--help"], /--strict\b/)),
    inspector: steps(i("web", [...list, "--strict"], tool("hello"))),
  },
  {
    what: "about how many tokens the tools cost",
    toolport: steps(t(["tools", "web", "--cost"], /tokens/)),
    mcporter: steps(m(["list", "web"], /tokens/)),
    inspector: steps(i("web", list, /tokens/)),
  },
  {
    what: "load test of a tool",
    toolport: steps({ program: "toolport", args: ["call", "--help"], expect: /load/ }),
    mcporter: steps(m(["call", "--help"], /load test/i)),
    inspector: steps(i("web", [...call("hello"), "--load", "--load-requests", "5"], /latency|p95|p50/i)),
  },
  {
    what: "completion for the shell",
    toolport: steps({ program: "toolport", args: ["completion", "bash"], expect: /complete/ }),
    mcporter: steps(m(["--help"], /completion/)),
    inspector: steps(adHoc(["--completion", "bash"], /complete/)),
  },
];

/** What a page shows cannot be checked by a command: read in the documentation and in the code of the page. */
const inPage = (what, pattern, inspector) => ({
  what,
  toolport: documented("docs/console.md", pattern),
  mcporter: read("○"),
  inspector: read(inspector),
});

export const PAGE = [
  inPage("raw messages of both directions, with a filter", /JSON-RPC messages in both directions/, "●"),
  inPage("stderr of servers", /lines of stderr/, "●"),
  inPage("each request of an OAuth login", /requests of logins/, "●"),
  inPage("progress of a call, and a button that cancels it", /progress and can be cancelled/, "●"),
  inPage("questions of servers (elicitation), answered in the page", /elicitation/, "●"),
  inPage("requests for a model (sampling), answered in the page", /sampling/, "●"),
  inPage("roots, edited in the page", /^\| Roots/m, "●"),
  inPage("subscriptions to resources", /subscribe to a resource/, "●"),
  inPage("proposals while you type the arguments of a prompt", /proposals while you type/, "●"),
  inPage("tasks", /tasks that run/, "●"),
  inPage("MCP Apps, rendered", /MCP Apps/, "●"),
  inPage("latency, failures and calls of the last hour", /last hour/, "○"),
  inPage("the calls of a running program", /watch the calls of your agent/, "○"),
];

export const PROGRAMS = [
  {
    what: "all servers as one MCP server, over stdio",
    toolport: steps({
      program: "toolport",
      args: ["serve", "--config", "{folder}/toolport.json", "--yes"],
      serves: /hello/,
    }),
    mcporter: steps(
      { program: "mcporter", args: ["serve", "--config", "config/kept.json", "--stdio"], serves: /echo/ },
      m(["--config", "config/kept.json", "daemon", "stop"], undefined, { always: true }),
    ),
    inspector: steps(adHoc(["--help"], /\bserve\b/)),
  },
  {
    what: "the same over HTTP",
    toolport: steps(
      t(["serve", "--http", "{port}", "--no-token"], /hello/, {
        until: /:{port}|http:\/\//,
        mcp: "http://127.0.0.1:{port}/mcp",
      }),
    ),
    mcporter: steps(
      m(["--config", "config/kept.json", "serve", "--http", "{port}"], /echo/, {
        until: /http:\/\/|listening/i,
        mcp: "http://127.0.0.1:{port}/mcp",
      }),
      m(["--config", "config/kept.json", "daemon", "stop"], undefined, { always: true }),
    ),
    inspector: steps(adHoc(["--help"], /\bserve\b/)),
  },
  {
    what: "a typed TypeScript client",
    toolport: steps(t(["types", "web"], /hello/)),
    mcporter: steps(m(["emit-ts", "web", "--mode", "client", "--out", "{folder}/web.ts"])),
    inspector: steps(adHoc(["--help"], /typescript|emit-ts/i)),
  },
  {
    what: "a standalone command line for one server",
    toolport: steps({ program: "toolport", args: ["--help"], expect: /generate-cli/ }),
    mcporter: steps(m(["--help"], /generate-cli/)),
    inspector: steps(adHoc(["--help"], /generate-cli/)),
  },
  {
    what: "let a model do a task with the tools",
    toolport: steps({ program: "toolport", args: ["--help"], expect: /Let a model do a task/ }),
    mcporter: steps(m(["--help"], /model do|agent loop/i)),
    inspector: steps(adHoc(["--help"], /--model\b/)),
  },
  {
    what: "a script of the model calls tools in a sandbox (code mode)",
    toolport: steps({ program: "toolport", args: ["--help"], expect: /^ +exec\b/m }),
    mcporter: steps(m(["--help"], /code mode|sandbox/i)),
    inspector: steps(adHoc(["--help"], /sandbox/i)),
  },
  {
    what: "a library for your own program",
    toolport: read("●"),
    mcporter: read("●"),
    inspector: read("○"),
  },
];

export const SAFETY = [
  {
    what: "a server does not get the variables of your shell",
    toolport: steps(t(["call", "everything.get-env"], /PATH/, { not: /not-for-servers/ })),
    mcporter: steps(m(["call", "everything.get-env"], /PATH/, { not: /not-for-servers/ })),
    inspector: steps(i("everything", call("get-env"), /PATH/, { not: /not-for-servers/ })),
  },
  {
    what: "a project's file starts nothing before you agree",
    toolport: steps({
      program: "toolport",
      args: ["tools", "everything", "--config", "{folder}/unknown.json"],
      exit: 2,
    }),
    mcporter: steps(m(["call", "everything.echo", "message=hi"], undefined, { exit: 2 })),
    inspector: steps(i("everything", list, undefined, { exit: 2 })),
  },
  {
    what: "tokens are encrypted at rest",
    toolport: read("●"),
    mcporter: read("○"),
    inspector: read("◐"),
  },
];
