/** Renders templates. All values are inserted as text with invisible characters escaped, never as markup. */
import htm from "htm";
import { type ComponentChild, h, type VNode } from "preact";

/** Control characters except tab and line feed, zero-width and bidirectional characters, and tags. */
const INVISIBLE =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]|[\u{e0000}-\u{e007f}]/gu;

/** Escapes invisible characters. */
const visible = (text: string): string =>
  text.replace(INVISIBLE, (character) =>
    character === "\r" ? "" : `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );

/** Attributes that browsers show or read aloud. */
const TEXT_ATTRIBUTES = ["title", "aria-label", "placeholder", "alt"];

const show = (child: unknown): ComponentChild =>
  typeof child === "string"
    ? visible(child)
    : Array.isArray(child)
      ? child.map(show)
      : (child as ComponentChild);

function element(type: unknown, props: Record<string, unknown> | null, ...children: unknown[]): VNode {
  const safe = { ...props };
  for (const name of TEXT_ATTRIBUTES) if (typeof safe[name] === "string") safe[name] = visible(safe[name]);
  return h(type as string, safe, ...children.map(show)) as VNode;
}

/** Creates elements from a template. */
export const html = htm.bind(element) as (strings: TemplateStringsArray, ...values: unknown[]) => VNode;
