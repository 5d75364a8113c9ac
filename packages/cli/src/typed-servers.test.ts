import { expect, test } from "vitest";
import { nameFromCommand, nameFromUrl } from "./typed-servers.js";

test.each([
  ["https://mcp.linear.app/mcp", "linear"],
  ["https://example.com/mcp", "example"],
  ["https://mcp.example.co.uk/sse", "example"],
  ["https://api.githubcopilot.com/mcp/", "githubcopilot"],
  ["https://gitmcp.io/docs", "gitmcp"],
  ["https://weather.me.workers.dev/sse", "weather"],
  ["https://notes-mcp.vercel.app/mcp", "notes"],
  ["http://localhost:3000/mcp", "local"],
  ["http://127.0.0.1:3000/mcp", "local"],
  ["http://[::1]:3000/mcp", "local"],
  ["wss://tools.example.org/ws", "example"],
  ["https://mcp.app/mcp", "mcp"],
  ["http://weather/mcp", "weather"],
  ["https://", "server"],
])("the server at %s is called %s", (address, name) => {
  expect(nameFromUrl(address)).toBe(name);
});

test.each([
  ["npx -y @modelcontextprotocol/server-everything", "everything"],
  ["npx -y @modelcontextprotocol/server-filesystem .", "filesystem"],
  ["npx chrome-devtools-mcp@latest --headless", "chrome-devtools"],
  ["npx -y @notionhq/notion-mcp-server", "notion"],
  ["npx -y @acme/mcp", "acme"],
  ["uvx mcp-server-time --local-timezone UTC", "time"],
  ["python3 -m mcp_server_git", "git"],
  ["uv run --directory src weather.py", "weather"],
  ["docker run -i --rm -e TOKEN mcp/time", "time"],
  ["docker run -i ghcr.io/github/github-mcp-server:latest", "github"],
  ["node server.js", "server"],
  ["node weather/dist/index.js", "weather"],
  ["/opt/tools/notes --stdio", "notes"],
  ["deno run -A main.ts", "main"],
  ["env", "env"],
])("the server started by %s is called %s", (line, name) => {
  expect(nameFromCommand(line.split(" "))).toBe(name);
});
