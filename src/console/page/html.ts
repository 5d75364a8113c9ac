/** The one door through which text reaches the page: as text, with everything invisible made visible. */
import htm from "htm";
import { type ComponentChild, h, type VNode } from "preact";

/** Controls but tab and line feed, characters of no width, those that turn the direction of text around, and tags. */
const UNSEEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]|[\u{e0000}-\u{e007f}]/gu;

/** The same text, fit to be looked at. */
const visible = (text: string): string =>
  text.replace(UNSEEN, (character) =>
    character === "\r" ? "" : `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );

/** Attributes that a reader sees or hears. */
const SPOKEN = ["title", "aria-label", "placeholder", "alt"];

const show = (child: unknown): ComponentChild =>
  typeof child === "string"
    ? visible(child)
    : Array.isArray(child)
      ? child.map(show)
      : (child as ComponentChild);

function element(type: unknown, props: Record<string, unknown> | null, ...children: unknown[]): VNode {
  const safe = { ...props };
  for (const name of SPOKEN) if (typeof safe[name] === "string") safe[name] = visible(safe[name]);
  return h(type as string, safe, ...children.map(show)) as VNode;
}

/** Markup of ours, with values that are never markup. */
export const html = htm.bind(element) as (strings: TemplateStringsArray, ...values: unknown[]) => VNode;
