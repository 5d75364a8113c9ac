/** Gateways whose policy wants an approval for each call, and clients that answer the question exactly as a test writes it. */
import { EventEmitter } from "node:events";
import { inputRequired, UrlElicitationRequiredError } from "@modelcontextprotocol/server";
import type { Store, ToolportOptions } from "toolport";
import type { GatewayOptions, PolicyAnswer } from "toolport/serve";
import { createTestServer, type TestServer, type TestToolContext } from "toolport/testing";
import { type AttackScene, openAttackScene } from "../attack-scene.js";
import type { Fields, GatewayAnswer } from "../raw-client.js";

export interface ApprovalRig extends AsyncDisposable {
  readonly server: TestServer;
  /** Emits `started` when the tool `hold` begins; `end` lets it go on. */
  readonly news: EventEmitter;
  /** The answers that bookings were made with. */
  readonly booked: readonly unknown[];
  /** What the policy says about calls. */
  effect: PolicyAnswer;
  /** From now on the tool `visit` no longer demands that a web page is opened first. */
  visited(): void;
  /** Opens a replica. All share their users and their server. */
  replica(store: Store, options?: ToolportOptions, more?: GatewayOptions): Promise<AttackScene>;
  /** How often a tool ran. */
  runs(tool: string): number;
}

const form = { type: "object" as const, properties: { seat: { type: "string" as const } } };

/** @param era the revision of the server behind the gateway */
export async function openApprovalRig(era: "modern" | "legacy" = "modern"): Promise<ApprovalRig> {
  const news = new EventEmitter();
  const booked: unknown[] = [];
  let isVisited = false;
  const book = (seat: unknown) => {
    booked.push(seat);
    return `booked ${JSON.stringify(seat)}`;
  };
  const server = createTestServer({
    era,
    tools: {
      pay: { handler: (args: unknown) => `paid ${JSON.stringify(args)}` },
      fail: {
        handler() {
          throw new Error("no money");
        },
      },
      large: { handler: () => "x".repeat(100_000) },
      hold: {
        async handler() {
          const end = new Promise((resolve) => news.once("end", resolve));
          news.emit("started");
          await end;
          return "held";
        },
      },
      /** Demands that a web page is opened first. */
      visit: {
        handler() {
          if (isVisited) return "visited";
          throw new UrlElicitationRequiredError([
            { mode: "url", message: "Open it", url: "https://pay.example.com/", elicitationId: "one" },
          ]);
        },
      },
      /** Asks for a seat; each answer is one booking. */
      book: {
        async handler(_args: unknown, { request }: TestToolContext) {
          const question = { message: "Which seat?", requestedSchema: form };
          if (era === "legacy") {
            const params = { ...question, mode: "form" as const };
            const answer: Fields = await request.mcpReq.send({
              method: "elicitation/create",
              params,
            } as never);
            return book(answer["content"]);
          }
          const { seat } = (request.mcpReq.inputResponses ?? {}) as Record<string, { content?: unknown }>;
          if (seat !== undefined) return book(seat.content);
          return inputRequired({
            inputRequests: { seat: inputRequired.elicit(question as never) },
            requestState: "of the server",
          });
        },
      },
    },
  });
  const { entry } = await server.http();
  const scenes: AttackScene[] = [];
  const rig: ApprovalRig = {
    server,
    news,
    booked,
    effect: "approve",
    visited() {
      isVisited = true;
    },
    async replica(store, options, more) {
      const logger = { debug() {}, info() {}, warn() {}, error() {} };
      const scene = await openAttackScene(
        { mcpServers: { up: entry }, store, logger, ...options },
        { policy: ({ method }) => (method === "tools/call" ? rig.effect : "allow"), ...more },
        scenes[0],
      );
      scenes.push(scene);
      return scene;
    },
    runs: (tool) => server.calls.filter(({ name }) => name === tool).length,
    async [Symbol.asyncDispose]() {
      // The first one owns the issuer.
      for (const scene of scenes.reverse()) await scene[Symbol.asyncDispose]();
      await server.close();
    },
  };
  return rig;
}

export const YES = { approval: { action: "accept", content: { allow: true } } };

export interface SentCall {
  readonly tool: string;
  /** What the client calls it. @default with the prefix of the server */
  readonly name?: string;
  readonly args?: Fields;
  readonly state?: string | undefined;
  readonly answers?: Fields;
  readonly user?: string;
}

/** Sends one round of a call of a modern client. */
export function sendCall(
  scene: AttackScene,
  { tool, name = `up__${tool}`, args = { amount: 1 }, state, answers = YES, user = "ada" }: SentCall,
): Promise<GatewayAnswer> {
  return scene.modern(
    user,
    "tools/call",
    {
      name,
      arguments: args,
      ...(state !== undefined && { requestState: state, inputResponses: answers }),
    },
    { capabilities: { elicitation: { form: {}, url: {} } } },
  );
}

/** The state with which a call waits for its approval. */
export async function waitingState(scene: AttackScene, call: SentCall): Promise<string> {
  const { last } = await sendCall(scene, call);
  if (last.result?.inputRequests?.approval === undefined)
    throw new Error(`Expected a question: ${JSON.stringify(last)}`);
  return last.result.requestState as string;
}

/** The error for a state that cannot be used (any more). */
export const UNUSABLE = {
  code: -32602,
  message: "Invalid or expired requestState",
  data: { code: "SUSPENSION_UNKNOWN", retryable: false, outcome: "unknown" },
};

export const textOf = ({ last }: GatewayAnswer): string => last.result?.content?.[0]?.text ?? "";
