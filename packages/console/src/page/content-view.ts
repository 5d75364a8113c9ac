/** Shows results: text, images, and other content as JSON. */
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { ProgressView } from "../console-api.js";
import { AppFrame } from "./app-frame.js";
import { html } from "./html.js";
import { showNotice, usePage } from "./page-state.js";
import { duration, fieldsOf, json, Pill, plural, size, useElementId } from "./widgets.js";

/** Image types that cannot contain scripts. */
const IMAGES = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"];

const text = (value: unknown): string => (typeof value === "string" ? value : "");

export const Code = ({ children, label }: { children?: unknown; label?: string }): VNode =>
  html`<pre class="code" tabindex="0" role="region" aria-label=${label ?? "Text"}>${children}</pre>`;

/** Copies a text to the clipboard. */
export function CopyButton({ text, label }: { text: string; label: string }): VNode {
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => showNotice("Copied"),
      () => showNotice("The browser does not allow copying", true),
    );
  return html`<button type="button" class="quiet" aria-label=${label} onClick=${copy}>Copy</button>`;
}

/** A content block of a result, a prompt or a resource. */
function Block({ block }: { block: unknown }): VNode {
  const content = fieldsOf(block);
  const type = text(content["mimeType"]);
  if (content["type"] === "resource") return Block({ block: content["resource"] });
  const data = text(content["data"]) || text(content["blob"]);
  if (IMAGES.includes(type) && data !== "")
    return html`<figure><img src=${`data:${type};base64,${data}`} alt=${`Image, ${type.slice(6)}, ${size((data.length * 3) / 4)}`} />
      <figcaption class="muted small">${type} · ${size((data.length * 3) / 4)}</figcaption></figure>`;
  if ("data" in content || "blob" in content)
    return html`<p class="note">${data === "" ? "Too large to show" : `Not shown here: ${size((data.length * 3) / 4)}`} of ${type || "data"}</p>`;
  if (content["type"] === "resource_link")
    return html`<p class="note">Resource: <span class="mono">${text(content["uri"])}</span> ${text(content["name"])}</p>`;
  if (typeof content["text"] === "string")
    return html`<${Code} label="Result text">${pretty(content["text"])}<//>`;
  return html`<${Code} label="Result data">${json(block)}<//>`;
}

/** Formats JSON text. */
function pretty(value: string): string {
  if (!/^\s*[[{]/.test(value) || value.includes("\n")) return value;
  try {
    return json(JSON.parse(value));
  } catch {
    return value;
  }
}

export interface ResultViewProps {
  readonly result: unknown;
  /** The public name of the tool, if the result is one of a tool. */
  readonly tool?: string | undefined;
  /** The arguments of the call. */
  readonly args?: unknown;
  /** The user has just made the call: its app is opened at once. */
  readonly isNew?: boolean | undefined;
}

/**
 * A tool's result, the messages of a prompt, or the contents of a resource; or its JSON. Every pane renders results with this
 * function.
 */
export function ResultView({ result, tool, args, isNew = false }: ResultViewProps): VNode {
  const { catalog } = usePage();
  const [isRaw, setIsRaw] = useState(false);
  const [isApp, setIsApp] = useState(isNew);
  const hasApp = tool !== undefined && catalog?.tools.some(({ name, hasApp }) => hasApp && name === tool);
  const text = json(result);
  return html`<div class="result">
    ${hasApp && isApp && html`<${AppFrame} tool=${tool} args=${args} result=${result} />`}
    <div class="buttons">
      ${hasApp && html`<button type="button" class="quiet" aria-pressed=${isApp} onClick=${() => setIsApp(!isApp)}>App</button>`}
      <button type="button" class="quiet" aria-pressed=${isRaw} onClick=${() => setIsRaw(!isRaw)}>Raw JSON</button>
      <${CopyButton} text=${text} label="Copy result" />
    </div>
    ${isRaw ? html`<${Code} label="Raw result">${text}<//>` : drawResult(result)}
  </div>`;
}

function drawResult(result: unknown): VNode {
  if (Array.isArray(result))
    return html`<div class="blocks">${result.map((block) => html`<${Block} block=${block} />`)}</div>`;
  const { content, messages, structuredContent } = fieldsOf(result);
  if (Array.isArray(messages))
    return html`<div class="blocks">${messages.map((message) => {
      const { role, content: said } = fieldsOf(message);
      return html`<section><p class="muted small">${text(role)}</p><${Block} block=${said} /></section>`;
    })}</div>`;
  if (!Array.isArray(content))
    return html`<${Code} label="Result">${typeof result === "string" ? result : json(result)}<//>`;
  // Tools with structured content repeat it as text for older clients: show it once.
  const isRepeated =
    structuredContent !== undefined && content.length === 1 && sameData(content[0], structuredContent);
  return html`<div class="blocks">
    ${!isRepeated && content.map((block) => html`<${Block} block=${block} />`)}
    ${structuredContent !== undefined && html`<p class="muted small">Structured content</p><${Code} label="Structured content">${json(structuredContent)}<//>`}
    ${content.length === 0 && structuredContent === undefined && html`<p class="muted">An empty result</p>`}
  </div>`;
}

function sameData(block: unknown, data: unknown): boolean {
  try {
    return JSON.stringify(JSON.parse(text(fieldsOf(block)["text"]))) === JSON.stringify(data);
  } catch {
    return false;
  }
}

export const progressText = (last: ProgressView | null | undefined): string | null =>
  !last ? null : last.total === null ? String(last.progress) : `${last.progress} of ${last.total}`;

interface RunningProps {
  readonly progress: ProgressView | null | undefined;
  readonly label?: string;
  readonly onCancel?: (() => unknown) | undefined;
}

/** Something that runs: its progress, and a button that cancels it. */
export function Running({ progress: last, label = "Running", onCancel }: RunningProps): VNode {
  const id = useElementId();
  const { progress, total = null, message = null } = last ?? {};
  const done = progressText(last);
  return html`<div class="running" role="status">
    <label for=${id}>${label}${done && `: ${done}`}${message && ` · ${message}`}</label>
    <progress id=${id} max=${total ?? 1} value=${total === null ? undefined : progress}></progress>
    ${onCancel && html`<button type="button" aria-label="Cancel the call" onClick=${onCancel}>Cancel</button>`}
  </div>`;
}

/** The line above a result: outcome, duration and server. */
export function ResultLine({ result }: { result: unknown }): VNode {
  const { isError, durationMs, attempts, server } = fieldsOf(result);
  return html`<p class="line" role="status">
    <${Pill} tone=${isError === true ? "bad" : "good"}>${isError === true ? "the tool failed" : "answered"}<//>
    ${typeof durationMs === "number" && html`<span>${duration(durationMs)}</span>`}
    ${typeof server === "string" && html`<span>by ${server}</span>`}
    ${typeof attempts === "number" && attempts > 1 && html`<span>${plural(attempts, "attempt")}</span>`}
  </p>`;
}
