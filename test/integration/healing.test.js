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
/** A server that dies, restarts or forgets: the next call with the same handle works, and no call runs twice. */
import { createToolport } from "toolport";
import { createTestServer } from "toolport/testing";
import { describe, expect, test } from "vitest";
import { waitFor } from "../support/leaks.js";
import { waitForExit } from "../support/processes.js";
const LEAN = "test/fixtures/servers/stdio-lean.mjs";
const stdio = { command: process.execPath, args: [LEAN] };
const failure = (promise) => promise.then(() => Promise.reject(new Error("It should have failed")), (error) => error);
describe("a stdio server killed with -9", () => {
    test("between two calls: the second call works, with another process", async () => {
        const env_1 = { stack: [], error: void 0, hasError: false };
        try {
            const toolport = __addDisposableResource(env_1, createToolport({ mcpServers: { stdio } }), true);
            const first = Number((await toolport.callTool("stdio__pid")).text);
            process.kill(first, "SIGKILL");
            await waitForExit(first);
            const second = Number((await toolport.callTool("stdio__pid")).text);
            expect(second).not.toBe(first);
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
    });
    test("during a call: that call fails at once, typed, and is not repeated", async () => {
        const env_2 = { stack: [], error: void 0, hasError: false };
        try {
            const toolport = __addDisposableResource(env_2, createToolport({ mcpServers: { stdio } }), true);
            const pid = Number((await toolport.callTool("stdio__pid")).text);
            const starts = [];
            toolport.on("state", ({ to }) => starts.push(to));
            const call = failure(toolport.callTool("stdio__slow", { ms: 60_000 }));
            const killedAt = performance.now();
            process.kill(pid, "SIGKILL");
            const error = await call;
            expect(performance.now() - killedAt).toBeLessThan(500);
            expect(error).toMatchObject({
                name: "ConnectionError",
                code: "CLOSED",
                server: "stdio",
                signal: "SIGKILL",
                outcome: "unknown",
            });
            expect((await toolport.callTool("stdio__echo", { text: "back" })).text).toBe("back");
            expect(starts).toEqual(["reconnecting", "connecting", "connected", "discovering", "ready"]);
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
    test("again and again: five starts in a minute, then it is given up with its last words", async () => {
        const env_3 = { stack: [], error: void 0, hasError: false };
        try {
            const crashing = {
                command: process.execPath,
                args: [LEAN, "--stderr=out of luck"],
                restart: { delayMs: 1 },
            };
            const toolport = __addDisposableResource(env_3, createToolport({ mcpServers: { crashing } }), true);
            await toolport.connect();
            for (let crash = 0; crash < 5; crash += 1)
                await failure(toolport.callTool("crashing__crash"));
            await waitFor(() => toolport.snapshot().servers["crashing"].state === "failed");
            const error = await failure(toolport.callTool("crashing__echo", { text: "?" }));
            expect(error).toMatchObject({ code: "RESTART_LIMIT", exitCode: 3 });
            expect(error.stderrTail).toContain("out of luck");
            // Asking for it by name starts a new count.
            expect(await toolport.connectServer("crashing")).toMatchObject({ state: "ready" });
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
    test("restart: { enabled: false } leaves it down", async () => {
        const env_4 = { stack: [], error: void 0, hasError: false };
        try {
            const toolport = __addDisposableResource(env_4, createToolport({
                mcpServers: { stdio: { ...stdio, restart: { enabled: false } } },
            }), true);
            await failure(toolport.callTool("stdio__crash"));
            expect(await failure(toolport.callTool("stdio__pid"))).toMatchObject({ code: "CLOSED", exitCode: 3 });
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
    test("a call that may run twice is repeated", async () => {
        const env_5 = { stack: [], error: void 0, hasError: false };
        try {
            const toolport = __addDisposableResource(env_5, createToolport({ mcpServers: { stdio } }), true);
            const pid = Number((await toolport.callTool("stdio__pid")).text);
            const call = toolport.callTool("stdio__slow", { ms: 300 }, { idempotent: true });
            process.kill(pid, "SIGKILL");
            expect((await call).text).toBe("done");
        }
        catch (e_5) {
            env_5.error = e_5;
            env_5.hasError = true;
        }
        finally {
            const result_5 = __disposeResources(env_5);
            if (result_5)
                await result_5;
        }
    });
});
describe("an HTTP server", () => {
    const tools = { hello: { handler: () => "hello" } };
    test("that forgets its sessions is greeted anew, once for all waiting calls", async () => {
        const env_6 = { stack: [], error: void 0, hasError: false };
        try {
            const server = __addDisposableResource(env_6, createTestServer({ era: "legacy", tools }), true);
            const http = await server.http();
            const toolport = __addDisposableResource(env_6, createToolport({ mcpServers: { web: { url: http.url } } }), true);
            await toolport.callTool("web__hello");
            const moves = [];
            toolport.on("state", ({ to }) => moves.push(to));
            await http.forgetSessions();
            const results = await Promise.all(Array.from({ length: 20 }, () => toolport.callTool("web__hello")));
            expect(results.map(({ text }) => text)).toEqual(Array(20).fill("hello"));
            expect(moves.filter((state) => state === "connecting")).toHaveLength(1);
            expect(server.calls.filter(({ name }) => name === "hello")).toHaveLength(21);
        }
        catch (e_6) {
            env_6.error = e_6;
            env_6.hasError = true;
        }
        finally {
            const result_6 = __disposeResources(env_6);
            if (result_6)
                await result_6;
        }
    });
    test.each(["legacy", "modern"])("that restarts (%s) answers the next call", async (era) => {
        const env_7 = { stack: [], error: void 0, hasError: false };
        try {
            const first = createTestServer({ era, tools });
            const { url, close } = await first.http();
            const port = Number(new URL(url).port);
            const toolport = __addDisposableResource(env_7, createToolport({ mcpServers: { web: { url } } }), true);
            await toolport.callTool("web__hello");
            await close();
            await first.close();
            const call = toolport.callTool("web__hello");
            const second = __addDisposableResource(env_7, createTestServer({ era, tools }), true);
            await second.http({ port });
            expect((await call).text).toBe("hello");
            expect((await toolport.callTool("web__hello")).text).toBe("hello");
        }
        catch (e_7) {
            env_7.error = e_7;
            env_7.hasError = true;
        }
        finally {
            const result_7 = __disposeResources(env_7);
            if (result_7)
                await result_7;
        }
    });
    test("that stays away: a call waits no longer than its own limit", async () => {
        const env_8 = { stack: [], error: void 0, hasError: false };
        try {
            const server = createTestServer({ tools });
            const { url } = await server.http();
            const toolport = __addDisposableResource(env_8, createToolport({ mcpServers: { web: { url } } }), true);
            await toolport.connect();
            await server.close();
            const error = await failure(toolport.callTool("web__hello", {}, { timeoutMs: 300 }));
            expect(error).toMatchObject({ code: "TIMEOUT", phase: "connect", outcome: "unsent" });
            expect(error.cause).toMatchObject({ code: "UNREACHABLE", errno: "ECONNREFUSED" });
        }
        catch (e_8) {
            env_8.error = e_8;
            env_8.hasError = true;
        }
        finally {
            const result_8 = __disposeResources(env_8);
            if (result_8)
                await result_8;
        }
    });
});
describe.each(["sse", "webSocket"])("%s", (kind) => {
    const tools = {
        echo: { handler: ({ text }) => String(text) },
        hang: { handler: () => new Promise(() => { }) },
    };
    test("a dropped connection is back for the next call", async () => {
        const env_9 = { stack: [], error: void 0, hasError: false };
        try {
            const server = __addDisposableResource(env_9, createTestServer({ tools }), true);
            const listening = await server[kind]();
            const toolport = __addDisposableResource(env_9, createToolport({ mcpServers: { it: listening.entry } }), true);
            await toolport.connect();
            const call = failure(toolport.callTool("it__hang"));
            // The request must be on its way before the line is cut.
            await waitFor(() => server.calls.length === 1);
            listening.dropConnections();
            expect(await call).toMatchObject({ name: "ConnectionError", outcome: "unknown" });
            expect((await toolport.callTool("it__echo", { text: "back" })).text).toBe("back");
            expect(server.calls.filter(({ name }) => name === "hang")).toHaveLength(1);
        }
        catch (e_9) {
            env_9.error = e_9;
            env_9.hasError = true;
        }
        finally {
            const result_9 = __disposeResources(env_9);
            if (result_9)
                await result_9;
        }
    });
    test("a server that restarts answers the next call", async () => {
        const env_10 = { stack: [], error: void 0, hasError: false };
        try {
            const server = __addDisposableResource(env_10, createTestServer({ tools }), true);
            const first = await server[kind]();
            const toolport = __addDisposableResource(env_10, createToolport({ mcpServers: { it: first.entry } }), true);
            await toolport.connect();
            const lost = new Promise((resolve) => toolport.on("state", resolve));
            await first.close();
            await lost;
            await server[kind]({ port: Number(new URL(first.url).port) });
            expect((await toolport.callTool("it__echo", { text: "back" })).text).toBe("back");
        }
        catch (e_10) {
            env_10.error = e_10;
            env_10.hasError = true;
        }
        finally {
            const result_10 = __disposeResources(env_10);
            if (result_10)
                await result_10;
        }
    });
});
test("disconnect() leaves a server down until it is asked for", async () => {
    const env_11 = { stack: [], error: void 0, hasError: false };
    try {
        const toolport = __addDisposableResource(env_11, createToolport({ mcpServers: { stdio } }), true);
        await toolport.connect();
        await toolport.disconnect("stdio");
        expect(await failure(toolport.callTool("stdio__pid"))).toMatchObject({ code: "CLOSED", outcome: "unsent" });
        expect(await toolport.connectServer("stdio")).toMatchObject({ state: "ready", toolCount: 7 });
        expect((await toolport.callTool("stdio__echo", { text: "up" })).text).toBe("up");
    }
    catch (e_11) {
        env_11.error = e_11;
        env_11.hasError = true;
    }
    finally {
        const result_11 = __disposeResources(env_11);
        if (result_11)
            await result_11;
    }
});
test("an idle connection is closed and reopens by itself", async () => {
    const env_12 = { stack: [], error: void 0, hasError: false };
    try {
        const toolport = __addDisposableResource(env_12, createToolport({ mcpServers: { stdio }, idleTimeoutMs: 200 }), true);
        const pid = Number((await toolport.callTool("stdio__pid")).text);
        await waitFor(() => toolport.snapshot().servers["stdio"].state === "closed");
        await waitForExit(pid);
        expect(Number((await toolport.callTool("stdio__pid")).text)).not.toBe(pid);
    }
    catch (e_12) {
        env_12.error = e_12;
        env_12.hasError = true;
    }
    finally {
        const result_12 = __disposeResources(env_12);
        if (result_12)
            await result_12;
    }
});
test("a health check brings back a server that stopped answering", async () => {
    const env_13 = { stack: [], error: void 0, hasError: false };
    try {
        const toolport = __addDisposableResource(env_13, createToolport({ mcpServers: { stdio }, healthCheck: { intervalMs: 50 } }), true);
        const pid = Number((await toolport.callTool("stdio__pid")).text);
        const states = [];
        toolport.on("state", ({ to }) => states.push(to));
        process.kill(pid, "SIGKILL");
        await waitForExit(pid);
        await waitFor(() => states.at(-1) === "ready");
        expect(Number((await toolport.callTool("stdio__pid")).text)).not.toBe(pid);
    }
    catch (e_13) {
        env_13.error = e_13;
        env_13.hasError = true;
    }
    finally {
        const result_13 = __disposeResources(env_13);
        if (result_13)
            await result_13;
    }
});
