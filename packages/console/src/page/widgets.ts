/** Components, hooks and formats shared by the panes. */

import { type Fields, isRecord } from "@toolport/base";
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { ActionName, ActionValue } from "../console-api.js";
import { ask } from "./api.js";
import { html } from "./html.js";
import { showNotice, usePage } from "./page-state.js";

/** The colour of a state, always shown together with text. */
export type Tone = "good" | "busy" | "wait" | "bad" | "calm";

export const STATE_TONES: Readonly<Record<string, Tone>> = {
  ready: "good",
  connecting: "busy",
  connected: "busy",
  discovering: "busy",
  reconnecting: "wait",
  authenticating: "wait",
  failed: "bad",
};

export const Pill = ({ tone, children }: { tone: Tone; children?: unknown }): VNode =>
  html`<span class=${`pill ${tone}`}><i aria-hidden="true"></i>${children}</span>`;

/** The fields of a value; none if it is no object. */
export const fieldsOf = (value: unknown): Fields => (isRecord(value) ? value : {});

interface BarProps {
  readonly title: string;
  readonly note?: unknown;
  readonly children?: unknown;
}

/** The header of a pane: title, summary and actions. */
export const Bar = ({ title, note, children }: BarProps): VNode =>
  html`<div class="bar"><h2>${title}</h2><span class="muted">${note}</span>${children}</div>`;

/** Whether the texts contain every word of the filter. */
export function matches(filter: string, ...texts: (string | null)[]): boolean {
  const all = texts.join(" ").toLowerCase();
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word));
}

export const Empty = ({ title, children }: Omit<BarProps, "note">): VNode =>
  html`<div class="empty"><p><strong>${title}</strong></p>${children && html`<p>${children}</p>`}</div>`;

/** The label, the help and the issue of a form field, and the attributes that connect them with its input. */
export function useField(title: string, must: boolean, description: unknown, issue: string | undefined) {
  const id = useElementId();
  const about = [description && `${id}-help`, issue && `${id}-issue`].filter(Boolean).join(" ");
  return {
    id,
    label: html`${title}${must && html`<b class="must" title="required"> *</b>`}`,
    help: html`${description && html`<p class="help" id=${`${id}-help`}>${String(description)}</p>`}
      ${issue && html`<p class="issue" id=${`${id}-issue`}>${issue}</p>`}`,
    shared: { id, "aria-describedby": about || undefined, "aria-invalid": issue !== undefined },
  };
}

/** A value that can be chosen. */
export interface Option {
  readonly value: unknown;
  readonly title: string;
}

interface SelectProps {
  readonly options: readonly Option[];
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
  /** Attributes of the element. */
  readonly shared: object;
  /** It cannot be left unset. */
  readonly must?: boolean;
}

export function Select({ options, value, onChange, shared, must }: SelectProps): VNode {
  const at = options.findIndex((option) => JSON.stringify(option.value) === JSON.stringify(value));
  return html`<select ...${shared} value=${String(at)} onChange=${(event: Event) => onChange(options[Number(typed(event))]?.value)}>
    ${!must && html`<option value="-1">not set</option>`}
    ${options.map(({ title }, index) => html`<option value=${String(index)} selected=${index === at}>${title}</option>`)}
  </select>`;
}

export const typed = (event: Event): string => (event.target as HTMLInputElement).value;

interface SearchProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

export const Search = ({ label, value, onChange }: SearchProps): VNode =>
  html`<input type="search" aria-label=${label} placeholder=${label} value=${value} onInput=${(event: Event) => onChange(typed(event))} />`;

/** Chooses one server, or all with "". */
export function ServerSelect({ value, onChange }: Omit<SearchProps, "label">): VNode {
  const servers = usePage().state?.servers ?? [];
  return html`<select aria-label="Server" value=${value} onChange=${(event: Event) => onChange(typed(event))}>
    <option value="">All servers</option>
    ${servers.map(({ name }) => html`<option value=${name}>${name}</option>`)}
  </select>`;
}

let names = 0;

/** A unique and stable element id. */
export const useElementId = (): string => useState(() => `n${++names}`)[0];

/** The value of an action, reloaded when the body or `again` changes. Undefined while loading, null after a failure. */
export function useAction<Name extends ActionName>(action: Name, body: object, again?: unknown) {
  const [answer, setAnswer] = useState<ActionValue<Name> | null>();
  const turn = useRef(0);
  const load = () => {
    const mine = ++turn.current;
    const keep = (value: ActionValue<Name> | null) => mine === turn.current && setAnswer(value);
    ask(action, body).then(keep, (error: Error) => {
      keep(null);
      showNotice(error.message, true);
    });
  };
  useEffect(load, [JSON.stringify(body), again]);
  return [answer, load] as const;
}

/** Runs `run` regularly while it is needed. */
export function useInterval(run: () => void, ms: number, isNeeded = true): void {
  useEffect(() => {
    if (!isNeeded) return;
    const timer = setInterval(run, ms);
    return () => clearInterval(timer);
  }, [isNeeded]);
}

/** Redraws regularly while a countdown is shown. */
export function useSeconds(isNeeded: boolean): number {
  const [, redraw] = useState(0);
  useInterval(() => redraw(Date.now()), 500, isNeeded);
  return Date.now();
}

export interface PickListProps<Item> {
  readonly label: string;
  readonly items: readonly Item[];
  readonly keyOf: (item: Item) => string;
  readonly draw: (item: Item) => unknown;
  readonly picked: string | null;
  readonly onPick: (key: string) => void;
  /** Shown in place of no items. */
  readonly empty?: VNode;
}

const STEP = 300;
const MOVES: Readonly<Record<string, (at: number, last: number) => number>> = {
  ArrowDown: (at, last) => Math.min(at + 1, last),
  ArrowUp: (at) => Math.max(at - 1, 0),
  Home: () => 0,
  End: (_at, last) => last,
};

/** A list with a single tab stop: arrow keys move, Enter or a click selects. */
export function PickList<Item>(props: PickListProps<Item>): VNode {
  const { label, items, keyOf, draw, picked, onPick, empty } = props;
  const [limit, setLimit] = useState(STEP);
  const [focused, setFocused] = useState<string | null>(null);
  const list = useRef<HTMLUListElement>(null);
  const page = items.slice(0, limit);
  const stop =
    [focused, picked].find((key) => page.some((item) => keyOf(item) === key)) ?? (page[0] && keyOf(page[0]));
  const onKeyDown = (event: KeyboardEvent) => {
    const at = page.findIndex((item) => keyOf(item) === stop);
    const to = MOVES[event.key]?.(at, page.length - 1);
    if (to !== undefined) {
      event.preventDefault();
      setFocused(keyOf(page[to] as Item));
      (list.current?.children[to] as HTMLElement | undefined)?.focus();
    } else if ((event.key === "Enter" || event.key === " ") && stop !== undefined) {
      event.preventDefault();
      onPick(stop);
    }
  };
  if (items.length === 0 && empty) return empty;
  return html`<ul class="picks" role="listbox" aria-label=${label} ref=${list} onKeyDown=${onKeyDown}>
      ${page.map((item) => {
        const key = keyOf(item);
        return html`<li key=${key} role="option" aria-selected=${key === picked} tabindex=${key === stop ? 0 : -1}
          onFocus=${() => setFocused(key)} onClick=${() => onPick(key)}>${draw(item)}</li>`;
      })}
    </ul>
    ${items.length > limit && html`<button class="quiet" onClick=${() => setLimit(limit + STEP)}>Show more (${items.length - limit})</button>`}`;
}

export interface SplitProps {
  /** Whether an item is selected. On a narrow screen, it replaces the list. */
  readonly isOpen: boolean;
  readonly onBack: () => void;
  readonly list: unknown;
  readonly children?: unknown;
}

/** A list and the selected item, side by side on wide screens. */
export function Split({ isOpen, onBack, list, children }: SplitProps): VNode {
  const detail = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isOpen && matchMedia("(max-width: 859px)").matches) detail.current?.focus();
  }, [isOpen]);
  return html`<div class=${isOpen ? "split open" : "split"}>
    <div class="side">${list}</div>
    <div class="detail" ref=${detail} tabindex="-1">
      ${isOpen && html`<button class="quiet back" onClick=${onBack}>← Back to the list</button>`}
      ${children}
    </div>
  </div>`;
}

export function duration(ms: number): string {
  if (ms < 1) return "<1 ms";
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`;
}

export const timeOfDay = (at: number): string => new Date(at).toLocaleTimeString([], { hour12: false });

export function size(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`;
  return bytes < 1_048_576 ? `${(bytes / 1_024).toFixed(1)} KB` : `${(bytes / 1_048_576).toFixed(1)} MB`;
}

/** "in 5 min", "3 h ago". */
export function fromNow(at: number, now = Date.now()): string {
  const distance = Math.abs(at - now);
  const units: [number, string][] = [
    [86_400_000, "d"],
    [3_600_000, "h"],
    [60_000, "min"],
    [1_000, "s"],
  ];
  const [unit, name] = units.find(([ms]) => distance >= ms) ?? [1_000, "s"];
  const text = `${Math.floor(distance / unit)} ${name}`;
  return at >= now ? `in ${text}` : `${text} ago`;
}

/** An estimated number of tokens. */
export const about = (tokens: number): string => `~${tokens.toLocaleString("en")}`;

export const json = (value: unknown): string => JSON.stringify(value, null, 2) ?? "";

export const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? "" : "s"}`;
