var __addDisposableResource = (this && this.__addDisposableResource) || function (env, value, async) {
    if (value !== null && value !== void 0) {
        if (typeof value !== "object" && typeof value !== "function") throw new TypeError("Object expected.");
        var dispose, inner;
        if (async) {
            if (!Symbol.asyncDispose) throw new TypeError("Symbol.asyncDispose is not defined.");
            dispose = value[Symbol.asyncDispose];
        }
        if (dispose === void 0) {
            if (!Symbol.dispose) throw new TypeError("Symbol.dispose is not defined.");
            dispose = value[Symbol.dispose];
            if (async) inner = dispose;
        }
        if (typeof dispose !== "function") throw new TypeError("Object not disposable.");
        if (inner) dispose = function() { try { inner.call(this); } catch (e) { return Promise.reject(e); } };
        env.stack.push({ value: value, dispose: dispose, async: async });
    }
    else if (async) {
        env.stack.push({ async: true });
    }
    return value;
};
var __disposeResources = (this && this.__disposeResources) || (function (SuppressedError) {
    return function (env) {
        function fail(e) {
            env.error = env.hasError ? new SuppressedError(e, env.error, "An error was suppressed during disposal.") : e;
            env.hasError = true;
        }
        var r, s = 0;
        function next() {
            while (r = env.stack.pop()) {
                try {
                    if (!r.async && s === 1) return s = 0, env.stack.push(r), Promise.resolve().then(next);
                    if (r.dispose) {
                        var result = r.dispose.call(r.value);
                        if (r.async) return s |= 2, Promise.resolve(result).then(next, function(e) { fail(e); return next(); });
                    }
                    else s |= 1;
                }
                catch (e) {
                    fail(e);
                }
            }
            if (s === 1) return env.hasError ? Promise.reject(env.error) : Promise.resolve();
            if (env.hasError) throw env.error;
        }
        return next();
    };
})(typeof SuppressedError === "function" ? SuppressedError : function (error, suppressed, message) {
    var e = new Error(message);
    return e.name = "SuppressedError", e.error = error, e.suppressed = suppressed, e;
});
/** Which era a server speaks is found out with one process, and remembered. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createToolport, memoryStore } from "toolport";
import { createTestServer } from "toolport/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
const SERVER = "test/fixtures/servers/stdio-eras.mjs";
let folder;
let log;
beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "toolport-eras-"));
    log = join(folder, "log");
});
afterEach(() => rm(folder, { recursive: true, force: true }));
async function connectOnce(args, store = memoryStore(), protocol = "auto") {
    const env_1 = { stack: [], error: void 0, hasError: false };
    try {
        const server = { command: process.execPath, args: [SERVER, "--log", log, ...args], protocol };
        const toolport = __addDisposableResource(env_1, createToolport({ mcpServers: { server }, store, connectTimeoutMs: 15_000 }), true);
        const { servers } = await toolport.connect();
        const report = servers["server"];
        if (report.state === "ready") {
            const { text } = await toolport.callTool("server__pid");
            expect(Number(text)).toBeGreaterThan(0);
        }
        return { era: toolport.snapshot().servers["server"].era, state: report.state, ms: report.ms };
    }
    catch (e_1) {
        env_1.error = e_1;
        env_1.hasError = true;
    }
    finally {
        const result_1 = __disposeResources(env_1);
        if (result_1)
            await result_1;
    }
}
async function received() {
    const lines = (await readFile(log, "utf8")).trim().split("\n");
    const methods = lines.map((line) => line.split(" ")[1]);
    return { starts: methods.filter((method) => method === "start").length, methods };
}
describe("first contact over stdio", () => {
    test("a server of both eras is found to be modern, with one process", async () => {
        expect(await connectOnce(["--era", "both"])).toMatchObject({ state: "ready", era: "modern" });
        expect(await received()).toMatchObject({ starts: 1 });
    });
    test("a legacy server that refuses the probe is initialized in the same process", async () => {
        expect(await connectOnce(["--era", "legacy"])).toMatchObject({ state: "ready", era: "legacy" });
        const { starts, methods } = await received();
        expect(starts).toBe(1);
        expect(methods.slice(0, 4)).toEqual([
            "start",
            "server/discover",
            "initialize",
            "notifications/initialized",
        ]);
    });
    test("a legacy server that is silent about what it does not know costs about 2 s, and one process", async () => {
        const { era, ms } = await connectOnce(["--era", "legacy", "--unknown", "silent"]);
        expect(era).toBe("legacy");
        expect(ms).toBeGreaterThan(1_900);
        expect(ms).toBeLessThan(4_000);
        expect(await received()).toMatchObject({ starts: 1 });
    });
    test("a slow modern server is not taken for a legacy one", async () => {
        const { era } = await connectOnce(["--era", "modern", "--delay", "2600"]);
        expect(era).toBe("modern");
        expect(await received()).toMatchObject({ starts: 1 });
    });
    test("a legacy server that ends at the probe gets one fresh process", async () => {
        expect(await connectOnce(["--era", "legacy", "--unknown", "exit"])).toMatchObject({
            state: "ready",
            era: "legacy",
        });
        const { starts, methods } = await received();
        expect(starts).toBe(2);
        expect(methods.filter((method) => method === "server/discover")).toHaveLength(1);
    });
    test("a pinned revision that the server does not speak is refused with its name", async () => {
        const env_2 = { stack: [], error: void 0, hasError: false };
        try {
            const server = {
                command: process.execPath,
                args: [SERVER, "--era", "legacy"],
                protocol: { pin: "2026-07-28" },
            };
            const toolport = __addDisposableResource(env_2, createToolport({ mcpServers: { server } }), true);
            const { servers } = await toolport.connect();
            expect(servers["server"]).toMatchObject({ state: "failed", error: { code: "HANDSHAKE_FAILED" } });
            expect(servers["server"].error.message).toContain("2026-07-28");
        }
        catch (e_2) {
            env_2.error = e_2;
            env_2.hasError = true;
        }
        finally {
            const result_2 = __disposeResources(env_2);
            if (result_2)
                await result_2;
        }
    });
    test.each(["2025-06-18", "2024-11-05"])("a pinned legacy revision (%s) is the one spoken", async (pin) => {
        const env_3 = { stack: [], error: void 0, hasError: false };
        try {
            const server = { command: process.execPath, args: [SERVER], protocol: { pin } };
            const toolport = __addDisposableResource(env_3, createToolport({ mcpServers: { server } }), true);
            await toolport.connect();
            expect(toolport.snapshot().servers["server"].protocolVersion).toBe(pin);
        }
        catch (e_3) {
            env_3.error = e_3;
            env_3.hasError = true;
        }
        finally {
            const result_3 = __disposeResources(env_3);
            if (result_3)
                await result_3;
        }
    });
});
describe("the second start", () => {
    test.each(["legacy", "modern"])("of a %s server asks nothing", async (era) => {
        const store = memoryStore();
        await connectOnce(["--era", era], store);
        await rm(log);
        expect(await connectOnce(["--era", era], store)).toMatchObject({ state: "ready", era });
        const { starts, methods } = await received();
        expect(starts).toBe(1);
        expect(methods).not.toContain("server/discover");
        if (era === "modern")
            expect(methods.slice(1, 3)).toEqual(["tools/list", "tools/call"]);
    });
    test("of a server whose verdict rests on silence asks again", async () => {
        const store = memoryStore();
        await connectOnce(["--era", "legacy", "--unknown", "silent"], store);
        await rm(log);
        await connectOnce(["--era", "legacy", "--unknown", "silent"], store);
        expect((await received()).methods).toContain("server/discover");
    });
    test("of a server that ended at the probe starts with initialize", async () => {
        const store = memoryStore();
        await connectOnce(["--era", "legacy", "--unknown", "exit"], store);
        await rm(log);
        await connectOnce(["--era", "legacy", "--unknown", "exit"], store);
        expect(await received()).toMatchObject({ starts: 1 });
    });
    test("of a server that is no longer modern finds that out by itself", async () => {
        const env_4 = { stack: [], error: void 0, hasError: false };
        try {
            const store = memoryStore();
            const key = (await storeKeyAfterModern(store));
            // The same command line, another program behind it: what an upgrade or a downgrade looks like.
            const record = await store.get(key);
            const legacy = { command: process.execPath, args: [SERVER, "--log", log, "--era", "legacy"] };
            const legacyStore = memoryStore();
            const first = __addDisposableResource(env_4, createToolport({ mcpServers: { server: legacy }, store: legacyStore }), true);
            await first.connect();
            const [legacyKey] = await legacyStore.list("era/");
            await legacyStore.put(legacyKey, record.value);
            const second = __addDisposableResource(env_4, createToolport({ mcpServers: { server: legacy }, store: legacyStore }), true);
            const { servers } = await second.connect();
            expect(servers["server"].state).toBe("ready");
            expect(second.snapshot().servers["server"].era).toBe("legacy");
            expect((await legacyStore.get(legacyKey))?.value).toMatchObject({ era: "legacy" });
        }
        catch (e_4) {
            env_4.error = e_4;
            env_4.hasError = true;
        }
        finally {
            const result_4 = __disposeResources(env_4);
            if (result_4)
                await result_4;
        }
    });
});
async function storeKeyAfterModern(store) {
    await connectOnce(["--era", "modern"], store);
    return (await store.list("era/"))[0];
}
describe("over HTTP", () => {
    test.each(["legacy", "modern"])("a %s server is found and remembered", async (era) => {
        const env_5 = { stack: [], error: void 0, hasError: false };
        try {
            const server = __addDisposableResource(env_5, createTestServer({ era, tools: { hello: { handler: () => "hello" } } }), true);
            const { url } = await server.http();
            const store = memoryStore();
            for (let round = 0; round < 2; round += 1) {
                const env_6 = { stack: [], error: void 0, hasError: false };
                try {
                    const toolport = __addDisposableResource(env_6, createToolport({ mcpServers: { web: { url } }, store }), true);
                    await toolport.connect();
                    expect(toolport.snapshot().servers["web"].era).toBe(era);
                    expect((await toolport.callTool("web__hello")).text).toBe("hello");
                }
                catch (e_5) {
                    env_6.error = e_5;
                    env_6.hasError = true;
                }
                finally {
                    const result_5 = __disposeResources(env_6);
                    if (result_5)
                        await result_5;
                }
            }
            const [key] = await store.list("era/");
            expect((await store.get(key))?.value).toMatchObject({ era });
        }
        catch (e_6) {
            env_5.error = e_6;
            env_5.hasError = true;
        }
        finally {
            const result_6 = __disposeResources(env_5);
            if (result_6)
                await result_6;
        }
    });
});
