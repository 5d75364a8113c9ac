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
/** One program, one server per transport, two that cannot start: each is reported by name, the others work. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ConnectionError, createToolport, isUnauthorized, ToolportError } from "toolport";
import { createTestServer } from "toolport/testing";
import { expect, test } from "vitest";
const LEAN = "test/fixtures/servers/stdio-lean.mjs";
const echo = { echo: { handler: ({ text }) => String(text) } };
async function withServers(run) {
    const env_1 = { stack: [], error: void 0, hasError: false };
    try {
        const legacy = __addDisposableResource(env_1, createTestServer({ era: "legacy", tools: echo }), true);
        const modern = __addDisposableResource(env_1, createTestServer({ era: "modern", tools: echo }), true);
        const both = __addDisposableResource(env_1, createTestServer({ tools: echo }), true);
        const folder = await mkdtemp(join(tmpdir(), "toolport-docker-"));
        try {
            await run({
                stdio: { command: process.execPath, args: [LEAN] },
                legacy: { url: (await legacy.http()).url },
                modern: { url: (await modern.http()).url },
                sse: (await both.sse()).entry,
                socket: (await both.webSocket()).entry,
                docker: {
                    image: "mcp/lean",
                    engine: "test/fixtures/bin/docker-stand-in.mjs",
                    env: { DOCKER_STAND_IN_LOG: join(folder, "log") },
                },
                missing: { command: "no-such-program-anywhere" },
                broken: { command: process.execPath, args: [LEAN, "--stderr=The config is missing", "--exit=1"] },
            });
        }
        finally {
            await rm(folder, { recursive: true, force: true });
        }
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
const GOOD = ["stdio", "legacy", "modern", "sse", "socket", "docker"];
test("six servers over six transports are ready, two are reported with what went wrong", async () => {
    await withServers(async (mcpServers) => {
        const env_2 = { stack: [], error: void 0, hasError: false };
        try {
            const toolport = __addDisposableResource(env_2, createToolport({ mcpServers }), true);
            const { servers } = await toolport.connect();
            expect(GOOD.map((name) => [name, servers[name]?.state, servers[name]?.error?.message])).toEqual(GOOD.map((name) => [name, "ready", undefined]));
            const missing = servers["missing"].error;
            expect(missing).toMatchObject({ code: "SPAWN_FAILED", server: "missing", errno: "ENOENT" });
            const broken = servers["broken"].error;
            expect(broken).toMatchObject({ code: "SPAWN_FAILED", server: "broken", exitCode: 1 });
            expect(broken.stderrTail).toContain("The config is missing");
            expect(broken.message).toContain("The config is missing");
            for (const server of GOOD) {
                const result = await toolport.callTool(`${server}__echo`, { text: server });
                expect(result).toMatchObject({ text: server, isError: false, server });
            }
            const { servers: seen } = toolport.snapshot();
            expect(seen["legacy"]).toMatchObject({ era: "legacy", transport: "http" });
            expect(seen["modern"]).toMatchObject({ era: "modern", protocolVersion: "2026-07-28" });
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
});
test('onServerError "throw" throws one error that names every failure', async () => {
    await withServers(async (mcpServers) => {
        const env_3 = { stack: [], error: void 0, hasError: false };
        try {
            const toolport = __addDisposableResource(env_3, createToolport({ mcpServers, onServerError: "throw" }), true);
            const error = await toolport.connect().then(() => undefined, (reason) => reason);
            expect(ToolportError.isInstance(error)).toBe(true);
            expect(error.errors.map(({ server }) => server).sort()).toEqual(["broken", "missing"]);
            expect(error.message).toMatch(/broken/);
            expect(isUnauthorized(error)).toBe(false);
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
test("one failed server throws its own error; a function is told of each", async () => {
    const env_4 = { stack: [], error: void 0, hasError: false };
    try {
        const missing = { command: "no-such-program-anywhere" };
        const throwing = __addDisposableResource(env_4, createToolport({ mcpServers: { missing }, onServerError: "throw" }), true);
        await expect(throwing.connect()).rejects.toBeInstanceOf(ConnectionError);
        const told = [];
        const telling = __addDisposableResource(env_4, createToolport({
            mcpServers: { missing },
            onServerError: (server, error) => told.push([server.name, error.code]),
        }), true);
        await telling.connect();
        expect(told).toEqual([["missing", "SPAWN_FAILED"]]);
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
