/** The module: one port for the service, and the tools of one user for each request. */
// @ts-check
"use strict";
const { createToolport } = require("toolport");
const { createScriptedModel, createTestServer, runAgentLoop } = require("toolport/testing");

/** The connection to all MCP servers: opened with the module, closed with it. `@Injectable()` */
class ToolportService {
  constructor() {
    // A local server instead of yours. It sees who asks in the header that `as(user)` adds.
    this.orders = createTestServer({
      tools: {
        mine: {
          description: "The orders of the user",
          handler: (_args, { request }) => `the orders of ${request.http?.req?.headers.get("x-user")}`,
        },
      },
    });
  }

  async onModuleInit() {
    const { url } = await this.orders.http();
    this.port = createToolport({
      mcpServers: { orders: { url } },
      idleTimeoutMs: 300_000, // closes the connections of users who left
    });
    console.log("ToolportService: ready");
  }

  async onModuleDestroy() {
    await this.port?.close(); // no process, socket or timer is left
    await this.orders[Symbol.asyncDispose]();
    console.log("ToolportService: closed");
  }

  /** The same servers with the credentials of one user. The same name returns the same port.
   * @param {string} user */
  forUser(user) {
    if (this.port === undefined) throw new Error("The module is not initialised");
    return this.port.as(user, { headers: async () => ({ "x-user": user }) });
  }
}

/** The tools of the user who asks: one for each request. `@Injectable({ scope: Scope.REQUEST })` */
class UserTools {
  /**
   * @param {ToolportService} toolport
   * @param {{ user: string, signal: AbortSignal }} request
   */
  constructor(toolport, { user, signal }) {
    this.port = toolport.forUser(user);
    this.signal = signal;
  }

  list() {
    return this.port.tools({ signal: this.signal });
  }
}

/** Answers a question with an agent. `@Injectable({ scope: Scope.REQUEST })`, because it uses `UserTools` */
class AgentService {
  /** @param {UserTools} tools */
  constructor(tools) {
    this.tools = tools;
  }

  /** @param {string} prompt */
  async answer(prompt) {
    // A script instead of a model, so that this runs without a key.
    const model = createScriptedModel([
      { say: { calls: [{ tool: "orders__mine" }] } },
      { say: ({ answers }) => `These are ${answers[0]?.text}` },
    ]);
    const { port, signal } = this.tools;
    return (await runAgentLoop({ toolport: port, model, prompt, signal })).text;
  }
}

/** @type {import("./container.cjs").Module} */
const ToolsModule = {
  providers: {
    ToolportService: { create: () => new ToolportService() },
    UserTools: {
      scope: "request",
      inject: ["ToolportService", "request"],
      create: (toolport, request) => new UserTools(toolport, request),
    },
    AgentService: { scope: "request", inject: ["UserTools"], create: (tools) => new AgentService(tools) },
  },
};

module.exports = { ToolsModule };
