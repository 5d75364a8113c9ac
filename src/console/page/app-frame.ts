/** Shows the user interface of a tool (MCP Apps) in a frame without access to the page. */
import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { AppView } from "../console-api.js";
import { ask } from "./api.js";
import { AppMessages } from "./app-messages.js";
import { html } from "./html.js";
import { askWithConsent, question, usePage } from "./page-state.js";

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
    askWithConsent<AppView>("openApp", { tool }, gone.signal).then(
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

interface FrameProps {
  readonly view: AppView;
  readonly args: unknown;
  readonly result: unknown;
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
      call: (name, given) => ask("callFromApp", { app: view.id, name, args: given }, gone.signal),
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
