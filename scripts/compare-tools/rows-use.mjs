/** Rows about servers and calls. */
import { adHoc, call, d, i, list, m, read, steps, t, tool } from "./cells.mjs";

export const SERVERS = [
  {
    what: "a process (stdio)",
    toolport: steps(t(["tools", "everything"], tool("echo"))),
    mcporter: steps(m(["list", "everything"], tool("echo"))),
    inspector: steps(i("everything", list, tool("echo"))),
  },
  {
    what: "Streamable HTTP",
    toolport: steps(t(["tools", "web"], tool("hello"))),
    mcporter: steps(m(["list", "web"], tool("hello"))),
    inspector: steps(i("web", list, tool("hello"))),
  },
  {
    what: "legacy HTTP+SSE",
    toolport: steps(t(["tools", "old"], tool("hello"))),
    mcporter: steps(m(["list", "old"], tool("hello"))),
    inspector: steps(i("old", list, tool("hello"))),
  },
  {
    what: "WebSocket",
    toolport: steps(t(["tools", "socket"], tool("hello"))),
    mcporter: steps(m(["list", "socket"], tool("hello"))),
    inspector: steps(adHoc(["{ws}", ...list], tool("hello"))),
  },
  {
    what: "a server that speaks only 2026-07-28",
    toolport: steps(t(["tools", "modern"], tool("hello"))),
    mcporter: steps(m(["list", "modern"], tool("hello"))),
    inspector: steps(i("modern", [...list, "--protocol-era", "auto"], tool("hello"))),
  },
  {
    what: "a container image as an entry",
    toolport: read("●"),
    mcporter: read("○"),
    inspector: read("○"),
  },
  {
    what: "a URL that is in no file",
    toolport: steps(t(["tools", "{http}"], tool("hello"), { isTyped: true })),
    mcporter: steps(m(["list", "--http-url", "{http}", "--allow-http"], tool("hello"))),
    inspector: steps(adHoc(["{http}", ...list], tool("hello"))),
  },
  {
    what: "a command that is in no file",
    toolport: steps(t(["tools", "--stdio", "{node} {everything}"], tool("echo"), { isTyped: true })),
    mcporter: steps(m(["list", "--stdio", "{node} {everything}", "--name", "x"], tool("echo"))),
    inspector: steps(adHoc(["{node}", "{everything}", ...list], tool("echo"))),
  },
  {
    what: "servers from the file of another client (Cursor)",
    toolport: steps(t(["list", "--config", ".cursor/mcp.json", "--yes"], tool("fromcursor"))),
    mcporter: steps(m(["list", "fromcursor"], tool("hello"))),
    inspector: steps({
      program: "inspector",
      args: ["--cli", "--config", ".cursor/mcp.json", "--server", "fromcursor", ...list],
      expect: tool("hello"),
    }),
  },
  {
    what: "all servers at once, one of them dead",
    toolport: steps(t(["list"], /everything[\s\S]*web|web[\s\S]*everything/)),
    mcporter: steps(m(["list"], /everything[\s\S]*web|web[\s\S]*everything/)),
    inspector: steps(adHoc(["--config", "mcp.json", ...list], /hello[\s\S]*echo|echo[\s\S]*hello/)),
  },
  {
    what: "search a registry for servers",
    toolport: steps({ program: "toolport", args: ["--help"], expect: /Search a registry/ }),
    mcporter: steps(m(["--help"], /registry/i)),
    inspector: steps(adHoc(["--help"], /registry/i)),
  },
];

export const CALLS = [
  {
    what: "`key=value`",
    toolport: steps(t(["call", "everything.echo", "message=hi"], /Echo: hi/)),
    mcporter: steps(m(["call", "everything.echo", "message=hi"], /Echo: hi/)),
    inspector: steps(i("everything", call("echo", "--tool-arg", "message=hi"), /Echo: hi/)),
  },
  {
    what: "`server.tool(a: 1)`",
    toolport: steps(t(["call", 'everything.echo(message: "hi")'], /Echo: hi/)),
    mcporter: steps(m(["call", 'everything.echo(message: "hi")'], /Echo: hi/)),
    inspector: steps(i("everything", call('echo(message: "hi")'), /Echo: hi/)),
  },
  {
    what: "`--key value`",
    toolport: steps(t(["call", "everything.echo", "--message", "hi"], /Echo: hi/)),
    mcporter: steps(m(["call", "everything.echo", "--message", "hi"], /Echo: hi/)),
    inspector: steps(i("everything", call("echo", "--message", "hi"), /Echo: hi/)),
  },
  {
    what: "a call to a URL in one command",
    toolport: steps(t(["call", "{http}.hello"], /hello from/, { isTyped: true })),
    mcporter: steps(m(["call", "{http}.hello", "--allow-http"], /hello from/)),
    inspector: steps(adHoc(["{http}", ...call("hello")], /hello from/)),
  },
  {
    what: "JSON on stdout",
    toolport: steps(t(["call", "web.hello", "--json", "--quiet"], /^\{[\s\S]*hello from[\s\S]*\}\s*$/)),
    mcporter: steps(m(["call", "web.hello", "--output", "json"], /^[[{"][\s\S]*hello from[\s\S]*[\]}"]\s*$/)),
    inspector: steps(i("web", [...call("hello"), "--format", "json", "--quiet"], /^\{[\s\S]*hello from/)),
  },
  {
    what: "a tool that reports an error has an exit code of its own",
    toolport: steps(t(["call", "web.fail"], /out of stock/, { exit: 5 })),
    mcporter: steps(m(["call", "web.fail"], /out of stock/, { exit: 2 })),
    inspector: steps(i("web", call("fail"), /out of stock/, { exit: 5 })),
  },
  {
    what: "an unreachable server has another exit code than a wrong name",
    toolport: steps(
      t(["call", "dead.x"], undefined, { exit: 4 }),
      t(["call", "nope.x"], undefined, { exit: 1 }),
    ),
    mcporter: steps(m(["call", "dead.x"], undefined, { exit: 4 })),
    inspector: steps(i("dead", list, undefined, { exit: 4 }), i("nope", list, undefined, { exit: 1 })),
  },
  {
    what: "read a resource",
    toolport: steps(t(["read", "everything", "demo://resource/static/document/features.md"], /Features/i)),
    mcporter: steps(
      m(["resource", "everything", "demo://resource/static/document/features.md"], /Features/i),
    ),
    inspector: steps(
      i(
        "everything",
        ["--method", "resources/read", "--uri", "demo://resource/static/document/features.md"],
        /Features/i,
      ),
    ),
  },
  {
    what: "get a prompt",
    toolport: steps(t(["prompt", "everything", "args-prompt", "city=Oslo"], /Oslo/)),
    mcporter: steps(m(["--help"], /\bprompts?\b/i)),
    inspector: steps(
      i(
        "everything",
        ["--method", "prompts/get", "--prompt-name", "args-prompt", "--prompt-args", "city=Oslo"],
        /Oslo/,
      ),
    ),
  },
  {
    what: "a server keeps its state between two commands",
    toolport: steps(t(["shell"], /Echo: hi/, { stdin: "call everything.echo message=hi\n" })),
    mcporter: steps(
      m(["--config", "config/kept.json", "daemon", "start"]),
      m(["--config", "config/kept.json", "call", "everything.echo", "message=hi"], /Echo: hi/),
      m(["--config", "config/kept.json", "daemon", "status"], /everything/),
      m(["--config", "config/kept.json", "daemon", "stop"], undefined, { always: true }),
    ),
    inspector: steps(
      d(["--config", "mcp.json", "connect", "everything"]),
      d(["--connection", "everything", "tools/call", "echo", "message:=hi"], /Echo: hi/),
      d(["daemon", "stop"], undefined, { always: true }),
    ),
  },
  {
    what: "answer a question of a server (elicitation) in the terminal",
    toolport: read("●"),
    mcporter: read("○"),
    inspector: read("●"),
  },
  {
    what: "a call that waits for a person is saved and continued by another process",
    toolport: steps({ program: "toolport", args: ["resume", "--help"], expect: /waits/ }),
    mcporter: steps(m(["--help"], /suspend|resume/i)),
    // A question waits in the daemon of mcpdo, and is gone when that ends.
    inspector: read("◐"),
  },
];
