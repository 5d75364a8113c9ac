/** A scripted model for the AI SDK that records its requests. */
import { simulateReadableStream } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import type { ScriptedTurn } from "./model-double.js";

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

type Streamed = Awaited<ReturnType<MockLanguageModelV3["doStream"]>>["stream"];
type StreamPart = Streamed extends ReadableStream<infer Part> ? Part : never;

/** Returns the turns in order, streamed or not. */
export function scriptedAiSdkModel(turns: readonly ScriptedTurn[]): MockLanguageModelV3 {
  let next = 0;
  const content = () => {
    const turn = turns[next++] ?? "The script is over";
    if (typeof turn === "string") return [{ type: "text" as const, text: turn }];
    return turn.map(({ name, args }, place) => ({
      type: "tool-call" as const,
      toolCallId: `${next}-${place}`,
      toolName: name,
      input: JSON.stringify(args),
    }));
  };
  const finishOf = (parts: ReturnType<typeof content>) => {
    const unified = parts.some(({ type }) => type === "tool-call")
      ? ("tool-calls" as const)
      : ("stop" as const);
    return { unified, raw: undefined };
  };
  return new MockLanguageModelV3({
    doGenerate: async () => {
      const parts = content();
      return { content: parts, finishReason: finishOf(parts), usage, warnings: [] };
    },
    doStream: async () => {
      const parts = content();
      return {
        stream: simulateReadableStream<StreamPart>({
          chunks: [
            { type: "stream-start", warnings: [] },
            ...parts.flatMap((part): StreamPart[] =>
              part.type === "text"
                ? [
                    { type: "text-start", id: "1" },
                    { type: "text-delta", id: "1", delta: part.text },
                    { type: "text-end", id: "1" },
                  ]
                : [part],
            ),
            { type: "finish", finishReason: finishOf(parts), usage },
          ],
        }),
      };
    },
  });
}
