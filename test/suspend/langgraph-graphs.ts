/** The same agent as a graph with a plain `ToolNode` and as `createAgent`, with a model that follows a script. */
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import type { DynamicStructuredTool } from "@langchain/core/tools";
import {
  type BaseCheckpointSaver,
  Command,
  END,
  MessagesAnnotation,
  START,
  StateGraph,
} from "@langchain/langgraph";
import { ToolNode, toolsCondition } from "@langchain/langgraph/prebuilt";
import { type AgentMiddleware, createAgent } from "langchain";
import {
  createResume,
  type GraphInterrupt,
  type InterruptAnswers,
  type InterruptedCall,
  type InterruptValue,
} from "toolport/langchain";

/** The tool calls of the model's first message. */
export type Script = readonly {
  readonly name: string;
  readonly args: Record<string, unknown>;
  id?: string;
}[];

/** Calls the tools of the script, then ends. What it does depends on the messages only, like in a new process. */
export class ScriptedModel extends BaseChatModel {
  readonly #script: Script;

  constructor(script: Script) {
    super({});
    this.#script = script;
  }

  _llmType(): string {
    return "scripted";
  }

  override bindTools(): this {
    return this;
  }

  override async _generate(messages: BaseMessage[]) {
    const tool_calls = this.#script.map((call, index) => ({ id: `call-${index}`, ...call }));
    const isOver = messages.some((message) => ToolMessage.isInstance(message));
    const message = isOver ? new AIMessage("done") : new AIMessage({ content: "", tool_calls });
    return { generations: [{ text: "", message }] };
  }
}

export interface GraphState {
  readonly messages: BaseMessage[];
  readonly __interrupt__?: GraphInterrupt[];
}

export interface Graph {
  invoke(input: unknown, config?: Record<string, unknown>): Promise<GraphState>;
}

export type GraphKind = "ToolNode" | "createAgent";

export function createGraph(
  kind: GraphKind,
  {
    script,
    tools,
    checkpointer,
    middleware = [],
  }: {
    script: Script;
    tools: DynamicStructuredTool[];
    checkpointer?: BaseCheckpointSaver | undefined;
    /** Of `createAgent`. */
    middleware?: AgentMiddleware[];
  },
): Graph {
  const model = new ScriptedModel(script);
  const compiled = checkpointer === undefined ? {} : { checkpointer };
  if (kind === "createAgent")
    return createAgent({ model, tools, middleware, ...compiled }) as unknown as Graph;
  return new StateGraph(MessagesAnnotation)
    .addNode("model", async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
    .addNode("tools", new ToolNode(tools))
    .addEdge(START, "model")
    .addConditionalEdges("model", toolsCondition, ["tools", END])
    .addEdge("tools", "model")
    .compile(compiled) as unknown as Graph;
}

/** One conversation with a graph. */
export class Conversation {
  readonly graph: Graph;
  state: GraphState | undefined;
  readonly config: Record<string, unknown>;

  constructor(graph: Graph, thread = "thread-1") {
    this.graph = graph;
    this.config = { configurable: { thread_id: thread } };
  }

  start(): Promise<this> {
    return this.#invoke({ messages: [new HumanMessage("go")] });
  }

  /** Resumes with any value. */
  resume(resume: unknown): Promise<this> {
    return this.#invoke(new Command({ resume: resume as never }));
  }

  answer(answers: InterruptAnswers): Promise<this> {
    return this.resume(createResume(this.interrupts, answers));
  }

  get interrupts(): GraphInterrupt[] {
    return this.state?.__interrupt__ ?? [];
  }

  /** The calls that all interrupts list. The order of tasks, and so of their interrupts, may change. */
  get calls(): InterruptedCall[] {
    const calls = this.interrupts.flatMap(({ value }) => (value as InterruptValue).calls);
    return calls.sort((a, b) => (a.toolCallId < b.toolCallId ? -1 : 1));
  }

  /** The contents of the tool messages, in the order of the calls; undefined while the graph is interrupted. */
  get outputs(): unknown[] | undefined {
    if (this.interrupts.length > 0) return undefined;
    return this.state?.messages
      .filter((message) => ToolMessage.isInstance(message))
      .sort((a, b) => (a.tool_call_id < b.tool_call_id ? -1 : 1))
      .map(({ content }) => content);
  }

  async #invoke(input: unknown): Promise<this> {
    this.state = await this.graph.invoke(input, this.config);
    return this;
  }
}

/** The answer to the question for a seat. */
export const seat = (name: string) => ({
  answers: { seat: { action: "accept" as const, content: { seat: name } } },
});
