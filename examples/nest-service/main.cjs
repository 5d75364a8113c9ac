/** Starts the service: `GET /tools` and `GET /ask?prompt=…`, for the user of the header `x-user`. */
// @ts-check
"use strict";
const { createServer } = require("node:http");
const { createApplication } = require("./container.cjs");
const { ToolsModule } = require("./tools.module.cjs");

async function main() {
  const application = await createApplication(ToolsModule);
  const port = Number(process.env["PORT"] ?? 3001);

  const server = createServer(async (request, response) => {
    const left = new AbortController(); // cancels calls when the client leaves
    response.on("close", () => left.abort());
    /** @param {number} status @param {unknown} body */
    const send = (status, body) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    try {
      const user = request.headers["x-user"]; // set by your gateway or guard, after it checked the login
      if (typeof user !== "string") return send(401, { error: "The header x-user is missing" });
      const { pathname, searchParams } = new URL(request.url ?? "/", "http://service");
      const scope = { user, signal: left.signal };
      if (pathname === "/tools") {
        const tools = await application.get("UserTools", scope).list();
        return send(
          200,
          tools.map((/** @type {{ name: string }} */ { name }) => name),
        );
      }
      if (pathname === "/ask") {
        const prompt = searchParams.get("prompt") ?? "What did I order?";
        return send(200, { text: await application.get("AgentService", scope).answer(prompt) });
      }
      return send(404, { error: "Ask for /tools or /ask" });
    } catch (error) {
      console.error(error);
      return send(500, { error: "Something went wrong" });
    }
  });
  server.listen(port, "127.0.0.1", () => console.log(`Listening on http://127.0.0.1:${port}`));

  const stop = async () => {
    server.close();
    server.closeAllConnections();
    await application.close();
  };
  process.once("SIGINT", stop);
  process.once("SIGTERM", stop);
}

main();
