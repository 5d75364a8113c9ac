/** Shows the user interface of a tool (MCP Apps) in a frame without access to the page, and answers its messages (JSON-RPC over `postMessage`). Everything received is untrusted. */

import type { Fields } from "@toolport/base";
import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { AppView } from "../console-api.js";
import { ask } from "./api.js";
import { html } from "./html.js";
import { askWithConsent, question, usePage } from "./page-state.js";
import { fieldsOf } from "./widgets.js";

export interface AppFrameProps {
  /** The public name of the tool. */
  readonly tool: string;
  readonly args: unknown;
  readonly result: unknown;
}

const START_HEIGHT = 320;
const MIN_HEIGHT = 40;
const MAX_HEIGHT = 900;
const ignore = () => {};

export function AppFrame({ tool, args, result }: AppFrameProps): VNode {
  const [view, setView] = useState<AppView | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const close = (reason: string | null) => {
    setView(null);
    setProblem(reason === null ? "The app closed itself" : `The app was stopped: ${reason}`);
  };
  useEffect(() => {
    const gone = new AbortController();
    let opened: string | undefined;
    setView(null);
    setProblem(null);
    askWithConsent("openApp", { tool }, gone.signal).then(
      (app) => {
        opened = app?.id;
        if (gone.signal.aborted) forget(opened);
        else if (app === undefined) setProblem("The app was not opened: its server is not started");
        else setView(app);
      },
      (error: Error) => gone.signal.aborted || setProblem(`The app cannot be shown: ${error.message}`),
    );
    return () => {
      gone.abort();
      forget(opened);
    };
  }, [tool, result]);
  if (problem !== null) return html`<p class="note bad" role="alert">${problem}</p>`;
  if (view === null) return html`<p class="muted">Loading the app…</p>`;
  return html`<${Frame} key=${view.id} view=${view} args=${args} result=${result} onClose=${close} />`;
}

const forget = (app: string | undefined) => app !== undefined && void ask("closeApp", { app }).catch(ignore);

interface FrameProps extends Omit<AppFrameProps, "tool"> {
  readonly view: AppView;
  readonly onClose: (reason: string | null) => void;
}

function Frame({ view, args, result, onClose }: FrameProps): VNode {
  const { state } = usePage();
  const [height, setHeight] = useState(START_HEIGHT);
  const frame = useRef<HTMLIFrameElement>(null);
  // Before the browser loads the document, so that no message is missed.
  useLayoutEffect(() => {
    const gone = new AbortController();
    const messages = new AppMessages({
      view,
      args,
      result,
      version: state?.version ?? "",
      // The origin of the frame is opaque, so no other target can be named. The page's policy keeps other documents out of the frame.
      send: (message) => frame.current?.contentWindow?.postMessage(message, "*"),
      // An app cannot make the page ask whether to start a program: such a call fails.
      call: (name, input) => ask("callFromApp", { app: view.id, name, args: input }, gone.signal),
      openLink: (url) => openLink(url, view.server),
      resize: (wanted) => setHeight(Math.min(Math.max(Math.ceil(wanted) || 0, MIN_HEIGHT), MAX_HEIGHT)),
      stop: onClose,
    });
    const onMessage = (event: MessageEvent) => {
      if (event.source !== null && event.source === frame.current?.contentWindow) messages.receive(event);
    };
    const colors = matchMedia("(prefers-color-scheme: dark)");
    const onColors = () =>
      messages.notify("host-context-changed", { theme: colors.matches ? "dark" : "light" });
    addEventListener("message", onMessage);
    colors.addEventListener("change", onColors);
    return () => {
      gone.abort();
      removeEventListener("message", onMessage);
      colors.removeEventListener("change", onColors);
    };
  }, []);
  return html`<figure class="app">
    <iframe ref=${frame} sandbox="allow-scripts" allow="" referrerpolicy="no-referrer" src=${view.path} height=${height}
      title=${`App of ${view.server}: ${view.tool.title}`}></iframe>
    <figcaption class="muted small">An app of ${view.server}. It can call the tools of this server.
      ${view.refused.length > 0 && ` Not allowed, because they are not public https origins: ${view.refused.join(", ")}`}</figcaption>
  </figure>`;
}

async function openLink(url: URL, server: string): Promise<boolean> {
  const isWanted = await question({
    title: "Open this page?",
    text: `The app of ${server} asks for it. The page opens in a new tab.`,
    commands: [{ server: url.host, command: url.href }],
    confirm: "Open",
  });
  if (isWanted) open(url.href, "_blank", "noopener,noreferrer");
  return isWanted;
}

const PROTOCOL_VERSION = "2026-01-26";
/** Messages within one second; further ones are dropped. */
const MAX_PER_SECOND = 200;
/** After this many dropped messages, the app is stopped. */
const MAX_DROPPED = 1_000;
const MAX_RUNNING = 4;
const MAX_ARGUMENTS = 250_000;
const MAX_DECLINED = 2;
const MAX_LINK = 2_000;

interface AppMessageParts extends Omit<FrameProps, "onClose"> {
  readonly version: string;
  readonly send: (message: object) => void;
  readonly call: (name: string, args: Fields) => Promise<unknown>;
  /** Asks the user, then opens the page. Resolves to false if the user declines. */
  readonly openLink: (url: URL) => Promise<boolean>;
  readonly resize: (height: number) => void;
  readonly stop: (reason: string | null) => void;
}

/** An answer with an error code of JSON-RPC. */
class Refusal extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

/** What a server would have sent as its result. */
function toCallResult(result: unknown): object {
  const { content, structuredContent, isError, _meta } = fieldsOf(result);
  return {
    content: Array.isArray(content) ? content : [],
    ...(structuredContent !== undefined && { structuredContent }),
    ...(isError === true && { isError }),
    ...(_meta !== undefined && { _meta }),
  };
}

class AppMessages {
  #second = 0;
  #count = 0;
  #dropped = 0;
  #running = 0;
  #declined = 0;
  #isAsking = false;
  #isWelcomed = false;
  #isReady = false;

  constructor(readonly parts: AppMessageParts) {}

  /** Handles one message. Reads nothing of it above the limit. */
  receive(event: { readonly data: unknown }): void {
    if (this.#isTooMuch()) return;
    const { jsonrpc, id, method, params } = fieldsOf(event.data);
    if (jsonrpc !== "2.0" || typeof method !== "string") return;
    if (typeof id !== "string" && typeof id !== "number") return this.#notified(method, fieldsOf(params));
    const { send } = this.parts;
    this.#answer(method, fieldsOf(params)).then(
      (result) => send({ jsonrpc, id, result }),
      (error: Error) => {
        const code = error instanceof Refusal ? error.code : -32000;
        send({ jsonrpc, id, error: { code, message: error.message } });
      },
    );
  }

  notify(method: string, params: object): void {
    if (this.#isReady) this.parts.send({ jsonrpc: "2.0", method: `ui/notifications/${method}`, params });
  }

  #isTooMuch(): boolean {
    const second = Math.floor(performance.now() / 1_000);
    if (second !== this.#second) [this.#second, this.#count] = [second, 0];
    if (++this.#count <= MAX_PER_SECOND) return false;
    if (++this.#dropped === MAX_DROPPED) this.parts.stop("it sent too many messages");
    return true;
  }

  #notified(method: string, params: Fields): void {
    if (!this.#isWelcomed) return;
    if (method === "ui/notifications/size-changed" && typeof params["height"] === "number")
      this.parts.resize(params["height"]);
    else if (method === "ui/notifications/request-teardown") this.parts.stop(null);
    else if (method === "ui/notifications/initialized" && !this.#isReady) {
      this.#isReady = true;
      this.notify("tool-input", { arguments: fieldsOf(this.parts.args) });
      this.notify("tool-result", toCallResult(this.parts.result));
    }
  }

  async #answer(method: string, params: Fields): Promise<object> {
    if (!this.#isWelcomed && method !== "ui/initialize")
      throw new Refusal(-32600, "Send ui/initialize first");
    switch (method) {
      case "ui/initialize":
        return this.#welcome();
      case "ping":
        return {};
      case "tools/call":
        return this.#call(params);
      case "ui/open-link":
        return this.#openLink(String(params["url"]));
      case "ui/request-display-mode":
        return { mode: "inline" };
      // There is no conversation that could take it.
      case "ui/message":
        return { isError: true };
      default:
        throw new Refusal(-32601, "The console does not support this method");
    }
  }

  #welcome(): object {
    const { view, version } = this.parts;
    this.#isWelcomed = true;
    return {
      protocolVersion: PROTOCOL_VERSION,
      hostInfo: { name: "toolport-console", version },
      hostCapabilities: { openLinks: {}, serverTools: {} },
      hostContext: {
        toolInfo: { tool: view.tool },
        theme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light",
        displayMode: "inline",
        availableDisplayModes: ["inline"],
        locale: navigator.language,
        timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
        userAgent: `toolport-console/${version}`,
        platform: "web",
      },
    };
  }

  async #call(params: Fields): Promise<object> {
    const { name, arguments: args = {} } = params;
    if (typeof name !== "string" || JSON.stringify(args).length > MAX_ARGUMENTS)
      throw new Refusal(-32602, "The name or the arguments of the tool are invalid");
    if (this.#running >= MAX_RUNNING)
      throw new Refusal(-32000, "Too many calls are running. Try again later");
    this.#running++;
    try {
      return toCallResult(await this.parts.call(name, fieldsOf(args)));
    } finally {
      this.#running--;
    }
  }

  /** Asks one question at a time, and none after the user declined twice. */
  async #openLink(text: string): Promise<object> {
    // The user has to read the whole address.
    const url = text.length <= MAX_LINK && URL.canParse(text) ? new URL(text) : undefined;
    const isWeb = url?.protocol === "https:" || url?.protocol === "http:";
    if (url === undefined || !isWeb || this.#isAsking || this.#declined >= MAX_DECLINED)
      return { isError: true };
    this.#isAsking = true;
    const isOpened = await this.parts.openLink(url);
    this.#isAsking = false;
    if (isOpened) return {};
    this.#declined++;
    return { isError: true };
  }
}
