import { describe, expect, test, vi } from "vitest";
import { callOf, inTurn } from "../../test/support/tool-call.js";
import { utf8Length } from "../util/utf8-length.js";
import {
  type ResultSizeOption,
  type ResultSizeParts,
  resultSizeStep,
  TRUNCATED_META_KEY,
} from "./result-size.js";
import type { ContentBlock, ResultArtifact, ToolResult } from "./tool-result.js";

const text = (value: string): ContentBlock => ({ type: "text", text: value });
const image = (bytes: number): ContentBlock => ({
  type: "image",
  data: "A".repeat(bytes),
  mimeType: "image/png",
});

function result(content: ContentBlock[], changes: Partial<ToolResult> = {}): ToolResult {
  const joined = content.filter((block) => block.type === "text").map((block) => block.text);
  return {
    text: joined.join("\n"),
    content,
    isError: false,
    server: "a",
    attempts: 1,
    durationMs: 1,
    ...changes,
  };
}

const bound = (answer: ToolResult, option: ResultSizeOption, parts?: ResultSizeParts): Promise<ToolResult> =>
  resultSizeStep(option, parts)(inTurn(answer))(callOf());

describe("a result within the limit", () => {
  test.each<[string, ToolResult]>([
    ["short", result([text("hello")])],
    ["of exactly the limit", result([text("a".repeat(50)), image(50)])],
    ["with structured content", result([text("x")], { structuredContent: { a: 1 } })],
    ["with a link", result([{ type: "resource_link", name: "a", uri: `file:///${"a".repeat(500)}` }])],
    ["without content", result([])],
  ])("stays unchanged: %s", async (_name, answer) => {
    expect(await bound(answer, 100)).toBe(answer);
    expect(await bound(answer, { bytes: 100, mode: "spill" })).toBe(answer);
  });
});

describe("truncating", () => {
  test("cuts the text, appends a note, and sets the mark", async () => {
    const answer = result([text("a".repeat(150))], { _meta: { theirs: 1 } });
    const { content, text: joined, _meta } = await bound(answer, 100);
    expect(content).toEqual([text("a".repeat(100)), text("[truncated: 100 of 150 bytes]")]);
    expect(joined).toBe(`${"a".repeat(100)}\n[truncated: 100 of 150 bytes]`);
    expect(_meta).toEqual({ theirs: 1, [TRUNCATED_META_KEY]: { bytes: 100, totalBytes: 150 } });
    expect(answer.content).toEqual([text("a".repeat(150))]);
  });

  test("does not split characters", async () => {
    const { content } = await bound(result([text("€".repeat(50))]), 100);
    expect(content).toEqual([text("€".repeat(33)), text("[truncated: 99 of 150 bytes]")]);
    const faces = await bound(result([text("😀".repeat(50))]), 10);
    expect(faces.content[0]).toEqual(text("😀😀"));
  });

  test("removes an image that is too large, and keeps the text after it", async () => {
    const { content } = await bound(result([text("before"), image(500), text("after")]), 100);
    expect(content).toEqual([text("before"), text("after"), text("[truncated: 11 of 511 bytes]")]);
  });

  test("measures embedded resources", async () => {
    const resource = (inside: { text?: string; blob?: string }) =>
      ({ type: "resource", resource: { uri: "file:///a", ...inside } }) as const;
    for (const inside of [{ text: "a".repeat(101) }, { blob: "A".repeat(101) }]) {
      const { content } = await bound(result([resource(inside)]), 100);
      expect(content).toEqual([text("[truncated: 0 of 101 bytes]")]);
    }
  });

  test("removes structured content that is too large", async () => {
    const structuredContent = { rows: "x".repeat(200) };
    const size = utf8Length(JSON.stringify(structuredContent));
    const bounded = await bound(result([text("short")], { structuredContent }), 100);
    expect("structuredContent" in bounded).toBe(false);
    expect(bounded._meta).toEqual({
      [TRUNCATED_META_KEY]: { bytes: 5, totalBytes: 5, structuredBytes: size },
    });
    expect(bounded.text).toContain(`without ${size} bytes of structured content`);
    const long = result([text("a".repeat(200))], { structuredContent: { a: 1 } });
    expect((await bound(long, 100)).structuredContent).toEqual({ a: 1 });
  });

  test("keeps all other fields, including isError", async () => {
    const answer = result([text("a".repeat(200))], { isError: true, server: "b", attempts: 3 });
    expect(await bound(answer, 100)).toMatchObject({ isError: true, server: "b", attempts: 3 });
  });
});

describe("spilling", () => {
  let count = 0;
  const parts = { createId: () => `id-${++count}` };
  const option = { bytes: 1_000, mode: "spill" } as const;

  test("replaces only the largest blocks by artifacts", async () => {
    count = 0;
    const large = image(5_000);
    const answer = result([text("before"), large, text("b".repeat(900))]);
    const { content, artifacts, text: joined, _meta } = await bound(answer, option, parts);
    const note = "[moved to artifact id-1: image/png, 5000 bytes]";
    expect(content).toEqual([text("before"), text(note), text("b".repeat(900))]);
    expect(joined).toContain(note);
    expect(_meta).toBeUndefined();
    expect(artifacts).toEqual([
      { id: "id-1", type: "image", mimeType: "image/png", bytes: 5_000, read: expect.any(Function) },
    ]);
    expect(await artifacts?.[0]?.read()).toBe(large);
  });

  test("replaces structured content as well", async () => {
    const structuredContent = { rows: "x".repeat(2_000) };
    const bounded = await bound(result([text("short")], { structuredContent }), option);
    expect(bounded.structuredContent).toBeUndefined();
    const [artifact] = bounded.artifacts ?? [];
    expect(artifact).toMatchObject({ type: "structuredContent", bytes: 2_011 });
    expect(bounded.text).toContain(artifact?.id);
    expect(await artifact?.read()).toEqual({ type: "structuredContent", structuredContent });
  });

  test("names the type of an embedded resource", async () => {
    const resource = { uri: "file:///a", mimeType: "text/csv", text: "x".repeat(2_000) };
    const { artifacts } = await bound(result([{ type: "resource", resource }]), option);
    expect(artifacts).toMatchObject([{ type: "resource", mimeType: "text/csv", bytes: 2_000 }]);
  });

  test("never cuts its own notes", async () => {
    const answer = result(Array.from({ length: 50 }, () => image(5_000)));
    const { content, artifacts, _meta } = await bound(answer, option);
    expect(artifacts).toHaveLength(50);
    expect(content).toHaveLength(50);
    expect(_meta).toBeUndefined();
  });

  test("truncates a result of small blocks", async () => {
    const answer = result(Array.from({ length: 100 }, () => text("x".repeat(100))));
    const { artifacts, content, _meta } = await bound(answer, option);
    expect(artifacts).toBeUndefined();
    expect(content).toHaveLength(11);
    expect(_meta).toEqual({ [TRUNCATED_META_KEY]: { bytes: 1_000, totalBytes: 10_000 } });
  });

  test("calls onSpill before it returns, and ignores its failure", async () => {
    const seen: ResultArtifact[] = [];
    const report = vi.fn();
    const onSpill = async (artifact: ResultArtifact) => {
      seen.push(artifact);
      throw new Error("disk full");
    };
    const bounded = await bound(result([image(5_000)]), { ...option, onSpill }, { report });
    expect(seen).toEqual(bounded.artifacts);
    expect(report).toHaveBeenCalledExactlyOnceWith(new Error("disk full"));
  });
});
