/** Shows results: text, images, and other content as JSON. */
import type { VNode } from "preact";
import { duration, json, plural, size } from "./format.js";
import { html } from "./html.js";
import { Pill } from "./widgets.js";

type Fields = Readonly<Record<string, unknown>>;

/** Image types that cannot contain scripts. */
const IMAGES = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"];

const fields = (value: unknown): Fields =>
  typeof value === "object" && value !== null ? (value as Fields) : {};
const text = (value: unknown): string => (typeof value === "string" ? value : "");

export const Code = ({ children, label }: { children?: unknown; label?: string }): VNode =>
  html`<pre class="code" tabindex="0" role="region" aria-label=${label ?? "Text"}>${children}</pre>`;

/** A content block of a result, a prompt or a resource. */
function Block({ block }: { block: unknown }): VNode {
  const content = fields(block);
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

/** A tool's result, the messages of a prompt, or the contents of a resource. */
export function ResultView({ result }: { result: unknown }): VNode {
  if (Array.isArray(result))
    return html`<div class="blocks">${result.map((block) => html`<${Block} block=${block} />`)}</div>`;
  const { content, messages, structuredContent } = fields(result);
  if (Array.isArray(messages))
    return html`<div class="blocks">${messages.map((message) => {
      const { role, content: said } = fields(message);
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
    return JSON.stringify(JSON.parse(text(fields(block)["text"]))) === JSON.stringify(data);
  } catch {
    return false;
  }
}

/** The line above a result: outcome, duration and server. */
export function ResultLine({ result }: { result: unknown }): VNode {
  const { isError, durationMs, attempts, server } = fields(result);
  return html`<p class="line" role="status">
    <${Pill} tone=${isError === true ? "bad" : "good"}>${isError === true ? "the tool failed" : "answered"}<//>
    ${typeof durationMs === "number" && html`<span>${duration(durationMs)}</span>`}
    ${typeof server === "string" && html`<span>by ${server}</span>`}
    ${typeof attempts === "number" && attempts > 1 && html`<span>${plural(attempts, "attempt")}</span>`}
  </p>`;
}
