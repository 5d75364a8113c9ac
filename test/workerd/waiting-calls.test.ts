/** Calls that wait for a person in a Durable Object: saved in its storage, and continued after a restart of workerd. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createWorkerProject, openMiniflare, type WorkerProject } from "../support/workerd.js";
import { type BookingServer, createBookingServer } from "../suspend/booking-server.js";

let project: WorkerProject;
let folder: string;
let script: string;
let booking: BookingServer;
let url: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "toolport-waiting-"));
  project = await createWorkerProject([]);
  const { text, warnings } = await project.bundle("waiting-worker.ts");
  expect(warnings).toEqual([]);
  script = text;
  booking = createBookingServer();
  ({ url } = await booking.server.http());
});
afterAll(async () => {
  await booking?.server.close();
  await project?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

async function open(bindings: Readonly<Record<string, string>>) {
  const miniflare = await openMiniflare({
    modules: [{ type: "ESModule", path: "worker.js", contents: script }],
    durableObjects: { Traveller: { className: "Traveller", useSQLite: true } },
    durableObjectsPersist: folder,
    bindings: { server: url, ...bindings },
  });
  return {
    async rpc(method: string, ...args: unknown[]): Promise<{ result?: string; error?: string }> {
      const body = JSON.stringify({ method, args });
      const response = await miniflare.dispatchFetch("http://localhost/", { method: "POST", body });
      return (await response.json()) as { result?: string; error?: string };
    },
    [Symbol.asyncDispose]: () => miniflare.dispose(),
  };
}

const key = "22".repeat(32);
const answer = { answers: { seat: { action: "accept", content: { seat: "12A" } } } };

it("refuses to suspend without a key, and sends nothing", async () => {
  await using worker = await open({});
  expect((await worker.rpc("book", "Rome")).error).toContain("(NOT_OFFERED)");
  expect(booking.seen.requests).toBe(0);
});

it("continues a call after a restart, with two requests and one booking", async () => {
  let token: string | undefined;
  {
    await using worker = await open({ key });
    token = (await worker.rpc("book", "Oslo")).result;
    expect(token).toMatch(/^tpc1\./);
  }
  await using worker = await open({ key });
  expect(await worker.rpc("waiting")).toEqual({ result: 1 });
  expect(await worker.rpc("book", "Oslo")).toEqual({ result: token });
  const booked = { result: "booked Oslo, seat 12A, meal none" };
  expect(await worker.rpc("answer", token, answer)).toEqual(booked);
  expect((await worker.rpc("answer", token, answer)).error).toContain("(SUSPENSION_UNKNOWN)");
  expect(await worker.rpc("book", "Oslo")).toEqual(booked);
  expect(booking.seen).toMatchObject({ requests: 2, booked: [{ to: "Oslo" }] });
});
