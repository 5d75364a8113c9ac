import { expect, test } from "vitest";
import { EventStream } from "./event-stream.js";
import type { EventSink, HttpReply } from "./http-request.js";

/** A client that reads nothing. */
function stalledReply() {
  const written: Buffer[] = [];
  let isCut = false;
  const sink: EventSink = {
    flush() {},
    write(text) {
      written.push(Buffer.from(text));
      return false;
    },
    onDrain() {},
    end() {},
    destroy() {
      isCut = true;
    },
  };
  const reply = { open: () => sink, onGone() {} } as unknown as HttpReply;
  return { reply, isCut: () => isCut, text: () => Buffer.concat(written).toString() };
}

test("a large result is sent to a slow client after what waits: the stream ends with it", () => {
  const { reply, isCut, text } = stalledReply();
  const stream = new EventStream(reply, {});
  stream.send('{"a":1}');
  stream.send('{"b":2}');
  const json = JSON.stringify({ result: "é".repeat(5 * 1024 * 1024) });
  stream.sendResult(json);
  stream.end();
  expect(isCut()).toBe(false);
  const data = text().match(/^data: .*$/gm);
  expect(data?.map((line) => line.length)).toEqual([13, 13, json.length + 6]);
  expect(data?.[2]).toBe(`data: ${json}`);
});

test("a client that reads nothing is cut, if too many messages wait for it", () => {
  const { reply, isCut } = stalledReply();
  const stream = new EventStream(reply, {});
  for (let count = 0; count < 4; count += 1) stream.send(JSON.stringify("x".repeat(1024 * 1024)));
  expect(isCut()).toBe(false);
  stream.send(JSON.stringify("x".repeat(1024 * 1024)));
  expect(isCut()).toBe(true);
});
