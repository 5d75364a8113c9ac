/** A form that adds a server by its URL. Programs are added on the command line only. */
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { ask } from "./api.js";
import { CopyButton } from "./content-view.js";
import { html } from "./html.js";
import { act } from "./page-state.js";
import { typed, useElementId } from "./widgets.js";

const COMMAND = "toolport add files -- npx -y @modelcontextprotocol/server-filesystem .";

export function AddServer({ onDone }: { onDone: () => void }): VNode {
  const id = useElementId();
  const [name, setName] = useState("");
  const [url, setUrl] = useState("");
  const [issue, setIssue] = useState<{ field: string; message: string } | null>(null);
  const add = async (event: Event) => {
    event.preventDefault();
    try {
      await ask("addServer", { name, url });
    } catch (error) {
      const { message } = error as Error;
      return setIssue({ field: /name/i.test(message) ? "name" : "url", message });
    }
    onDone();
    await act("connect", { server: name });
  };
  const field = (key: string, label: string, value: string, set: (text: string) => void, hint: string) =>
    html`<div class="field"><label for=${`${id}-${key}`}>${label}</label>
      <input id=${`${id}-${key}`} type="text" required autocomplete="off" spellcheck=${false} placeholder=${hint} value=${value}
        aria-invalid=${issue?.field === key} aria-describedby=${issue?.field === key ? `${id}-issue` : undefined} onInput=${(event: Event) => set(typed(event))} />
      ${issue?.field === key && html`<p class="issue" id=${`${id}-issue`}>${issue.message}</p>`}</div>`;
  return html`<form class="try card" novalidate onSubmit=${add} aria-label="Add a server">
    <h3>Add a server</h3>
    ${field("name", "Name", name, setName, "weather")}
    ${field("url", "URL", url, setUrl, "https://…/mcp")}
    <div class="buttons"><button class="primary">Add and connect</button><button type="button" onClick=${onDone}>Cancel</button></div>
    <p class="muted small">A server that runs as a program is added on the command line, for example:</p>
    <p class="row"><code class="mono wrap">${COMMAND}</code><${CopyButton} text=${COMMAND} label="Copy command" /></p>
  </form>`;
}
