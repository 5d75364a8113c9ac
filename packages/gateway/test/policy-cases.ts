/** Thirty cases of a policy: what a list shows and what a call may do, by server, tool, user, scope and argument. */
import type { PolicyDocument, PolicyEffect } from "../src/policy/policy.js";

/** The tools that the cases use, by server. */
export const POLICY_SERVERS = {
  files: ["read_file", "write_file", "delete_file", "copy_files"],
  mail: ["send", "read"],
  bank: ["transfer", "balance"],
} as const;

export interface PolicyCase {
  readonly title: string;
  readonly policy: PolicyDocument;
  readonly user?: string;
  readonly scopes?: readonly string[];
  readonly server: keyof typeof POLICY_SERVERS;
  readonly tool: string;
  readonly args?: Readonly<Record<string, unknown>>;
  /** The list shows the tool. */
  readonly isListed: boolean;
  readonly called: PolicyEffect;
  /** Part of the reason of the call's decision. */
  readonly reason?: string;
}

const ALICE = JSON.stringify(["https://id.example.com", "alice"]);
const BOB = JSON.stringify(["https://id.example.com", "bob"]);
const MALLORY = JSON.stringify(["https://evil.example.com", "alice"]);

const NO_BANK: PolicyDocument = {
  default: "allow",
  rules: [{ effect: "deny", server: "bank", reason: "The bank is closed" }],
};
const FILES_ONLY: PolicyDocument = { default: "deny", rules: [{ effect: "allow", server: "f*s" }] };
const TOOLS: PolicyDocument = {
  default: "allow",
  rules: [
    { effect: "allow", server: "mail", tool: "read" },
    { effect: "deny", tool: ["delete_*", "read"] },
    { effect: "approve", tool: "write_fil?", reason: "Writes need a second person" },
  ],
};
const USERS: PolicyDocument = {
  default: "deny",
  rules: [
    { effect: "allow", user: { issuer: "https://id.example.com", subject: "alice" } },
    { effect: "allow", server: "mail", user: { subject: "bob" } },
    { effect: "approve", server: "files", user: "service-*" },
    { effect: "allow", server: "bank", scope: ["bank:read", "bank:*"], tool: "balance" },
  ],
};
const ARGUMENTS: PolicyDocument = {
  default: "deny",
  rules: [
    {
      effect: "deny",
      server: "files",
      args: { "/path": { regex: "(^|/)\\.\\.(/|$)" } },
      reason: "No parent folders",
    },
    { effect: "allow", server: "files", tool: "read_file", args: { "/path": "/home/*" } },
    {
      effect: "allow",
      server: "files",
      tool: "copy_files",
      args: { "/files/*/from": "/home/*", "/to": "/home/*" },
    },
    { effect: "allow", server: "bank", tool: "transfer", args: { "/amount": { max: 100 } } },
    {
      effect: "approve",
      server: "bank",
      tool: "transfer",
      args: { "/amount": { max: 1000 } },
      reason: "More than 100",
    },
    { effect: "deny", server: "mail", tool: "send", args: { "/to": { not: "*@example.com" } } },
    { effect: "allow", server: "mail", tool: "send", args: { "/bcc": { present: false } } },
  ],
};

const cases = (policy: PolicyDocument, rows: readonly Omit<PolicyCase, "policy">[]): PolicyCase[] =>
  rows.map((row) => ({ ...row, policy }));

export const POLICY_CASES: readonly PolicyCase[] = [
  ...cases(NO_BANK, [
    {
      title: "denies a server",
      server: "bank",
      tool: "balance",
      isListed: false,
      called: "deny",
      reason: "The bank is closed",
    },
    {
      title: "leaves other servers alone",
      server: "files",
      tool: "read_file",
      isListed: true,
      called: "allow",
    },
  ]),
  ...cases(FILES_ONLY, [
    {
      title: "allows a server by a glob",
      server: "files",
      tool: "delete_file",
      isListed: true,
      called: "allow",
    },
    {
      title: "denies what no rule allows",
      server: "mail",
      tool: "read",
      isListed: false,
      called: "deny",
      reason: "No rule of the policy allows this",
    },
  ]),
  ...cases({ default: "approve", rules: [] }, [
    {
      title: "approves everything by default",
      server: "mail",
      tool: "send",
      isListed: true,
      called: "approve",
    },
  ]),
  ...cases(TOOLS, [
    {
      title: "denies a tool by a glob",
      server: "files",
      tool: "delete_file",
      isListed: false,
      called: "deny",
      reason: "Rule 2",
    },
    {
      title: "needs approval for a tool",
      server: "files",
      tool: "write_file",
      isListed: true,
      called: "approve",
      reason: "second person",
    },
    {
      title: "lets the first rule decide",
      server: "mail",
      tool: "read",
      isListed: true,
      called: "allow",
    },
    {
      title: "compares whole names",
      server: "files",
      tool: "read_file",
      isListed: true,
      called: "allow",
    },
    {
      title: "allows a tool that no rule names",
      server: "bank",
      tool: "transfer",
      isListed: true,
      called: "allow",
    },
  ]),
  ...cases(USERS, [
    {
      title: "allows a user",
      user: ALICE,
      server: "bank",
      tool: "transfer",
      isListed: true,
      called: "allow",
    },
    {
      title: "denies a user of another issuer with the same subject",
      user: MALLORY,
      server: "bank",
      tool: "transfer",
      isListed: false,
      called: "deny",
    },
    {
      title: "allows a user one server",
      user: BOB,
      server: "mail",
      tool: "send",
      isListed: true,
      called: "allow",
    },
    {
      title: "denies that user another server",
      user: BOB,
      server: "files",
      tool: "read_file",
      isListed: false,
      called: "deny",
    },
    {
      title: "needs approval for users by a glob",
      user: "service-7",
      server: "files",
      tool: "read_file",
      isListed: true,
      called: "approve",
    },
    {
      title: "denies a request without a user",
      server: "files",
      tool: "read_file",
      isListed: false,
      called: "deny",
    },
    {
      title: "allows a scope",
      user: BOB,
      scopes: ["mcp", "bank:read"],
      server: "bank",
      tool: "balance",
      isListed: true,
      called: "allow",
    },
    {
      title: "denies without the scope",
      user: BOB,
      scopes: ["mcp"],
      server: "bank",
      tool: "balance",
      isListed: false,
      called: "deny",
    },
  ]),
  ...cases(ARGUMENTS, [
    {
      title: "allows an argument",
      server: "files",
      tool: "read_file",
      args: { path: "/home/a.txt" },
      isListed: true,
      called: "allow",
    },
    {
      title: "denies another argument",
      server: "files",
      tool: "read_file",
      args: { path: "/etc/passwd" },
      isListed: true,
      called: "deny",
      reason: "No rule",
    },
    {
      title: "denies a pattern before it allows a folder",
      server: "files",
      tool: "read_file",
      args: { path: "/home/../etc/passwd" },
      isListed: true,
      called: "deny",
      reason: "No parent folders",
    },
    {
      title: "denies a missing argument",
      server: "files",
      tool: "read_file",
      args: {},
      isListed: true,
      called: "deny",
    },
    {
      title: "hides a tool that no argument can make allowed",
      server: "files",
      tool: "delete_file",
      args: { path: "/home/a" },
      isListed: false,
      called: "deny",
    },
    {
      title: "allows a list if every element matches",
      server: "files",
      tool: "copy_files",
      args: { files: [{ from: "/home/a" }, { from: "/home/b" }], to: "/home/c" },
      isListed: true,
      called: "allow",
    },
    {
      title: "denies a list with one element that does not match",
      server: "files",
      tool: "copy_files",
      args: { files: [{ from: "/home/a" }, { from: "/etc/shadow" }], to: "/home/c" },
      isListed: true,
      called: "deny",
    },
    {
      title: "allows a number in the range",
      server: "bank",
      tool: "transfer",
      args: { amount: 100 },
      isListed: true,
      called: "allow",
    },
    {
      title: "needs approval for a larger number",
      server: "bank",
      tool: "transfer",
      args: { amount: 100.01 },
      isListed: true,
      called: "approve",
      reason: "More than 100",
    },
    {
      title: "denies a number that arrives as text",
      server: "bank",
      tool: "transfer",
      args: { amount: "5000" },
      isListed: true,
      called: "deny",
    },
    {
      title: "denies one bad recipient among good ones",
      server: "mail",
      tool: "send",
      args: { to: ["a@example.com", "b@evil.com"] },
      isListed: true,
      called: "deny",
      reason: "Rule 6",
    },
    {
      title: "allows a call without an argument that must be absent",
      server: "mail",
      tool: "send",
      args: { to: "a@example.com" },
      isListed: true,
      called: "allow",
    },
  ]),
];
