/** See lean-servers.mjs. */
export type LeanEntries = Record<string, { url: string } | { command: string; args: string[] }>;
export function nameOf(index: number): string;
export function startHttpServers(count: number): Promise<{ entries: LeanEntries; close(): Promise<void> }>;
export function shellServers(count: number): LeanEntries;
export function nodeServers(count: number): LeanEntries;
