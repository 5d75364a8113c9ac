/** Arbitrary replies to a request: the right one, none, two, one with the wrong id, or anything else. */
import fc from "fast-check";
import { almost, contentBlock, oddText, wireValue } from "./arbitraries.js";
import { listedTool } from "./schema-arbitraries.js";

type Message = Record<string, unknown>;

/** The messages that are sent in place of one reply, in order, or "die" if the server ends instead. */
export type AnswerPlan = (
  honest: Message | undefined,
  request: { id: unknown; method: string },
) => readonly unknown[] | "die";

const errorObject = almost({
  code: fc.constantFrom(-32601, -32600, -32001, -32602, -32603, -32042, -32020, 0, 1e308),
  message: oddText,
  data: wireValue,
});

/** Almost valid results of every method. */
const result = almost({
  resultType: fc.constantFrom("complete", "task", "input_required", "odd"),
  protocolVersion: fc.constantFrom("2025-11-25", "2024-11-05", "9999-01-01"),
  supportedVersions: fc.array(fc.constantFrom("2026-07-28", "2025-11-25", "x"), { maxLength: 2 }),
  capabilities: almost({
    tools: wireValue,
    resources: wireValue,
    prompts: wireValue,
    tasks: wireValue,
    logging: wireValue,
  }),
  serverInfo: almost({ name: oddText, version: oddText }),
  instructions: oddText,
  tools: fc.array(listedTool, { maxLength: 3 }),
  resources: fc.array(almost({ uri: oddText, name: oddText }), { maxLength: 2 }),
  prompts: fc.array(almost({ name: oddText, arguments: wireValue }), { maxLength: 2 }),
  nextCursor: fc.constantFrom("", "1", "same"),
  content: fc.array(contentBlock, { maxLength: 3 }),
  structuredContent: wireValue,
  isError: fc.boolean(),
  inputRequests: almost({
    a: almost({ method: fc.constantFrom("roots/list", "elicitation/create", "x"), params: wireValue }),
  }),
  requestState: oddText,
  task: almost({
    taskId: oddText,
    status: fc.constantFrom("working", "completed", "failed", "x"),
    pollInterval: fc.integer(),
  }),
  ttlMs: fc.constantFrom(-1, 0, 1, 1e308),
  _meta: wireValue,
});

/** Messages that a server sends without a request. */
export const unasked: fc.Arbitrary<Message> = almost({
  jsonrpc: fc.constantFrom("2.0", "1.0"),
  id: fc.oneof(fc.integer(), oddText, fc.constantFrom("toolport-1", "toolport-2", null)),
  method: fc.constantFrom(
    ...[
      "notifications/progress",
      "notifications/tools/list_changed",
      "notifications/message",
      "ping",
      "roots/list",
    ],
    ...[
      "notifications/cancelled",
      "sampling/createMessage",
      "elicitation/create",
      "notifications/tasks/status",
      "odd",
    ],
    ...[
      "notifications/resources/updated",
      "notifications/elicitation/complete",
      "notifications/subscriptions/acknowledged",
    ],
  ),
  params: almost({
    progressToken: fc.constantFrom("toolport-1", "toolport-2", 0),
    progress: fc.integer(),
    requestId: fc.constantFrom("toolport-1", 1, null),
    level: fc.constantFrom("info", "odd"),
    uri: oddText,
    _meta: wireValue,
  }),
  result,
  error: errorObject,
}).map((message) => ({ jsonrpc: "2.0", ...message }));

const answered = (body: fc.Arbitrary<Message>): fc.Arbitrary<AnswerPlan> =>
  body.map((fields) => named(fields, (_, { id }) => [{ jsonrpc: "2.0", id, ...fields }]));

/** Shows the replies in a counterexample. */
function named(what: unknown, plan: AnswerPlan): AnswerPlan {
  return Object.assign(plan, { [fc.toStringMethod]: () => fc.stringify(what) });
}

export const answerPlan: fc.Arbitrary<AnswerPlan> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.constant(named("honest", (honest) => (honest === undefined ? [] : [honest]))),
  },
  {
    weight: 5,
    arbitrary: fc.constantFrom<AnswerPlan>(
      named("silence", () => []),
      named("twice", (honest) => (honest === undefined ? [] : [honest, honest])),
      named("to another request", (honest) => [
        { ...honest, id: "toolport-77777" },
        { ...honest, id: null },
      ]),
      named("number for text", (honest) => [
        { ...honest, id: Number(String(honest?.["id"]).replace(/\D/g, "")) },
      ]),
      named("die", () => "die"),
      named("answer, then die", (honest) => (honest === undefined ? "die" : [honest, "die"])),
      named("large", (_, { id }) => [
        { jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "x".repeat(9_000) }] } },
      ]),
      named("neither", (_, { id }) => [{ jsonrpc: "2.0", id }]),
    ),
  },
  { weight: 4, arbitrary: answered(result.map((made) => ({ result: made }))) },
  { weight: 1, arbitrary: answered(wireValue.map((made) => ({ result: made }))) },
  { weight: 2, arbitrary: answered(fc.oneof(errorObject, wireValue).map((error) => ({ error }))) },
  {
    weight: 3,
    arbitrary: unasked.map((message) => named(message, (honest) => (honest ? [message, honest] : [message]))),
  },
);

/** One plan for each reply in order; after the last one, replies are correct. */
export const answerPlans: fc.Arbitrary<AnswerPlan[]> = fc.array(answerPlan, { maxLength: 16, size: "+1" });
