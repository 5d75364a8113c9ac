import { utf8Length } from "@toolport/base";
import { describe, expect, test, vi } from "vitest";
import { asInterceptor, callOf, inTurn } from "../../../../test/support/tool-call.js";
import { ArtifactStore } from "./artifacts/artifact-store.js";
import { TRUNCATED_META_KEY } from "./artifacts/result-payload.js";
import { type ResultSizeOption, type ResultSizeParts, resultSizeStep } from "./result-size.js";
import type { ContentBlock, ResultArtifact, ToolResult } from "./tool-result.js";

const text = (value: string): ContentBlock => ({ type: "text", text: value });
const said = (block: ContentBlock | undefined): string =>
  (block as { text?: string } | undefined)?.text ?? "";
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
  asInterceptor(resultSizeStep(option, parts))(inTurn(answer))(callOf());

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

/** The note in front of a text without line breaks. */
const cutNote = (bytes: number, total: number): ContentBlock =>
  text(
    `[truncated: ${bytes} of ${total} bytes. Shape: text of 1 line. Below: the start. For the rest, call the tool again with narrower arguments, such as a filter or a page.]`,
  );

describe("truncating", () => {
  test("cuts the text, puts a note in front, and sets the mark", async () => {
    const answer = result([text("a".repeat(150))], { _meta: { theirs: 1 } });
    const { content, text: joined, _meta } = await bound(answer, 100);
    expect(content).toEqual([cutNote(100, 150), text("a".repeat(100))]);
    expect(joined).toBe(`${said(cutNote(100, 150))}\n${"a".repeat(100)}`);
    expect(_meta).toEqual({ theirs: 1, [TRUNCATED_META_KEY]: { bytes: 100, totalBytes: 150 } });
    expect(answer.content).toEqual([text("a".repeat(150))]);
  });

  test("does not split characters", async () => {
    const { content } = await bound(result([text("€".repeat(50))]), 100);
    expect(content).toEqual([cutNote(99, 150), text("€".repeat(33))]);
    const faces = await bound(result([text("😀".repeat(50))]), 10);
    expect(faces.content[1]).toEqual(text("😀😀"));
  });

  test("removes an image that is too large, and keeps the text after it", async () => {
    const { content } = await bound(result([text("before"), image(500), text("after")]), 100);
    expect(content).toEqual([text("[truncated: 11 of 511 bytes]"), text("before"), text("after")]);
  });

  test("measures embedded resources", async () => {
    const resource = (inside: { text?: string; blob?: string }) =>
      ({ type: "resource", resource: { uri: "file:///a", ...inside } }) as const;
    const { content } = await bound(result([resource({ blob: "A".repeat(101) })]), 100);
    expect(content).toEqual([text("[truncated: 0 of 101 bytes]")]);
    const cut = await bound(result([resource({ text: "a".repeat(101) })]), 100);
    expect(cut.content).toEqual([cutNote(100, 101), resource({ text: "a".repeat(100) })]);
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

describe("texts of a truncated result", () => {
  const rows = (count: number) => Array.from({ length: count }, (_, id) => ({ id, name: `Row ${id}` }));

  test("JSON is compacted, then cut between items; the note says what is there", async () => {
    const indented = JSON.stringify({ total: 500, rows: rows(500) }, null, 2);
    const compact = JSON.stringify(JSON.parse(indented));
    // Nothing is lost, so there is no note.
    expect(await bound(result([text("Rows:"), text(indented)]), 14_000)).toEqual(
      result([text("Rows:"), text(compact)]),
    );
    const beside = await bound(result([text(indented), text("x".repeat(20_000))]), 14_000);
    expect(beside.content[1]).toEqual(text(compact));
    expect(said(beside.content[0])).toMatch(
      /^\[truncated: \d+ of \d+ bytes\. Shape: text of 10 lines\. Below: /,
    );
    const { content } = await bound(result([text(indented)]), 1_000);
    const shown = (JSON.parse(said(content[1])) as { rows: unknown[] }).rows;
    expect(shown).toEqual(rows(shown.length));
    expect(said(content[0])).toContain(
      `Shape: { total: number, rows: list of 500 { id: number, name: text } }. Below: items 0 to ${shown.length - 1} of 500 of rows.`,
    );
  });

  test("structured content that repeats the text is not named twice", async () => {
    const structuredContent = { rows: rows(500) };
    const artifacts = new ArtifactStore().createPart();
    const keep = vi.spyOn(artifacts, "keep");
    const answer = result([text(JSON.stringify(structuredContent, null, 2))], { structuredContent });
    const options = { bytes: 1_000, mode: "truncate", read: true } as const;
    const { text: joined } = await bound(answer, options, { artifacts: () => artifacts });
    expect(joined).toMatch(
      /^\[truncated: \d+ of \d+ bytes, without \d+ bytes of structured content\. Shape: /,
    );
    expect(keep).toHaveBeenCalledOnce();
    const other = result([text("x".repeat(2_000))], { structuredContent });
    expect((await bound(other, options, { artifacts: () => artifacts })).text).toContain(
      "The structured content: Read on: read_artifact",
    );
  });
});

describe("the limit of a tool", () => {
  const option: ResultSizeOption = {
    bytes: 100,
    mode: "truncate",
    tools: { "docs__*": 200, docs__read: Number.POSITIVE_INFINITY, "*_list": 300, "*": 150 },
  };
  const cutTo = async (name: string, sourceName = name) => {
    const step = asInterceptor(resultSizeStep(option))(inTurn(result([text("a".repeat(1_000))])));
    const { content } = await step({ ...callOf(), tool: { ...callOf().tool, name, sourceName } });
    return said(content.at(-1)).length;
  };

  test.each([
    ["docs__read", 1_000],
    ["docs__write", 200],
    ["docs__list", 200],
    ["other_list", 300],
    ["other", 150],
  ])("%s: %i", async (name, bytes) => {
    expect(await cutTo(name)).toBe(bytes);
  });

  test("the name on the server counts too", async () => {
    expect(await cutTo("x__docs__read", "docs__read")).toBe(1_000);
  });
});

describe("reading on", () => {
  const artifacts = new ArtifactStore().createPart();
  const parts = { artifacts: () => artifacts };

  test("the text that was cut is kept whole, and the note names it", async () => {
    const whole = "line\n".repeat(500);
    const { text: joined } = await bound(
      result([text(whole)]),
      { bytes: 500, mode: "truncate", read: true },
      parts,
    );
    const [, id] = /read_artifact with \{"id":"(\w+)","from":\d+\}; "find" searches\.\]/.exec(joined) ?? [];
    expect(artifacts.get(id!)).toMatchObject({ text: whole, server: "a", tool: callOf().tool.sourceName });
  });

  test("many small texts become one artifact", async () => {
    const blocks = Array.from({ length: 100 }, (_, index) => text(`{"row":${index}}`));
    const { text: joined } = await bound(result(blocks), { bytes: 300, mode: "truncate", read: true }, parts);
    const [, id] = /"id":"(\w+)"/.exec(joined) ?? [];
    expect(artifacts.get(id!)?.text.endsWith('{"row":98}\n{"row":99}')).toBe(true);
  });

  test("spilled texts can be read, images cannot", async () => {
    const long = "line\n".repeat(500);
    const answer = result([text(long), image(5_000)]);
    const { content, artifacts: handles = [] } = await bound(
      answer,
      { bytes: 500, mode: "spill", read: true },
      parts,
    );
    const [textHandle, imageHandle] = [...handles].sort((a, b) => a.bytes - b.bytes);
    expect(artifacts.get(textHandle!.id)?.text).toBe(long);
    expect(artifacts.get(imageHandle!.id)).toBeUndefined();
    expect(said(content[0])).toMatch(
      /^\[moved to artifact \w+: text, 2500 bytes\. Shape: text of 500 lines\. Read on/,
    );
    expect(said(content[1])).toMatch(/^\[moved to artifact [\w-]+: image\/png, 5000 bytes\]$/);
  });

  test("nothing is kept without the option", async () => {
    const keep = vi.spyOn(artifacts, "keep");
    const { text: joined } = await bound(
      result([text("a".repeat(999))]),
      { bytes: 100, mode: "truncate" },
      parts,
    );
    expect(keep).not.toHaveBeenCalled();
    expect(joined).not.toContain("read_artifact");
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
