/** Finds risks in the commands, variables and URLs of server entries. The rules warn the user; they do not protect. */
import type { ServerConfig } from "@toolport/core/internal";

export interface CommandRisk {
  /** `"danger"` can do harm at once; `"note"` is common, but good to know. */
  readonly level: "danger" | "note";
  /** One line that does not quote the entry. */
  readonly message: string;
}

/** A text is the source of an expression that ignores case, and whose dot matches every character. */
type Rule = readonly [pattern: RegExp | string, message: string];

/** The name of a program, with or without a directory and `.exe`. */
const program = (names: string): string =>
  `(?:^|[\\s;&|(\`'"/\\\\])(?:${names})(?:\\.exe)?(?=$|[\\s;&|)\`'"])`;
const SHELL = "sh|bash|zsh|dash|ksh|fish|cmd|powershell|pwsh";

/** What can do harm at once. */
const DANGERS: readonly Rule[] = [
  [program("sudo|doas|su|pkexec|runas|gsudo"), "runs with administrator rights"],
  [
    `${program("rm")}.{0,400}?\\s(?:-[a-z]*[rf]|--recursive|--force)|${program("rmdir|del|rd")}.{0,400}?\\s/[sq]`,
    "deletes files and directories",
  ],
  [program("mkfs(?:\\.\\w+)?|dd|shred|wipefs|fdisk|diskpart|format"), "can overwrite a disk"],
  [
    `\\|\\s*(?:sudo\\s+)?(?:\\S*[/\\\\])?(?:${SHELL}|node|python\\d*|perl|ruby)(?:\\.exe)?(?=$|[\\s;&|)'"])`,
    "pipes text into a program that executes it",
  ],
  [
    `${program("curl|wget|nc|ncat|netcat|socat|ssh|scp|ftp|telnet|invoke-webrequest|iwr|iex")}|/dev/(?:tcp|udp)/`,
    "connects to the network outside of MCP",
  ],
  [
    `${program(SHELL)}.{0,400}?\\s(?:-\\w*c|/c|/k|-command|-enc\\w*)(?=\\s|$)`,
    "is a shell that executes text as commands",
  ],
  [
    `${program("node|deno|bun|python\\d*(?:\\.\\d+)?|perl|ruby|php|osascript")}.{0,400}?\\s(?:-e|-c|-r|-p|--eval|--print|eval)(?=\\s|$)`,
    "executes code from its arguments",
  ],
  [/\$\(|`[^`]+`|\beval\b|\bbase64\b.{0,400}?\s(?:-d|-D|--decode)\b/, "hides what it runs"],
  [
    /\$\{?HOME\b|%USERPROFILE%|(?:^|[\s=:'"])~(?=$|[\s/\\'":])|(?:^|[\s=:'"])(?:\/|[a-z]:[\\/]?)(?=$|[\s'":])/i,
    "can access the whole home directory or disk",
  ],
  [
    /[/\\]\.(?:ssh|aws|gnupg|kube|azure|docker|netrc|npmrc|pypirc)\b|\bid_(?:rsa|ed25519|ecdsa)\b|\/etc\/(?:shadow|passwd|sudoers)|\bkeychain\b/i,
    "refers to a location of keys or passwords",
  ],
  [
    `${program("crontab|systemctl|launchctl|schtasks|reg")}|\\.(?:bashrc|zshrc|profile|bash_profile)\\b|/etc/(?:cron|init|systemd)`,
    "can make a program start automatically",
  ],
  [`${program("chmod")}.{0,400}?\\s(?:[ugoa]*\\+[rwx]*s|[0-7]*777)`, "weakens file permissions"],
  [
    /--privileged\b|docker\.sock\b|--(?:pid|net|network|ipc|uts|userns)[= ]host\b|--cap-add\b|(?:-v|--volume|source=|src=)[= ]?\/:/i,
    "weakens the isolation of its container",
  ],
];

/** What is common, but good to know. */
const NOTES: readonly Rule[] = [
  [
    `${program("npx|bunx|pnpx|uvx|dnx|pipx")}|${program("npm|pnpm|yarn|bun|uv|deno")}.{0,400}?\\s(?:exec|dlx|x|run)(?=\\s)`,
    "downloads a program and runs it",
  ],
  [program("docker|podman|nerdctl"), "starts a container"],
];

const RULES = Object.entries({ danger: DANGERS, note: NOTES } as const).flatMap(([level, rules]) =>
  rules.map(([pattern, message]) => ({
    risk: { level: level as CommandRisk["level"], message },
    pattern: typeof pattern === "string" ? new RegExp(pattern, "is") : pattern,
  })),
);

/** Characters that are invisible or change the direction of text. */
export const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]|[^\P{Zs} ]/gu;

/** The rules examine no more than this. Longer commands are reported as a danger. */
const MAX_EXAMINED = 64 * 1024;

/** The risks of a command line. */
export function commandRisks(words: readonly string[]): CommandRisk[] {
  const line = words.join(" ").slice(0, MAX_EXAMINED);
  // Also test the text without invisible characters and escape sequences.
  const seen = line.replace(/\u001b\[[0-9;]{0,32}[a-z]/gi, " ").replace(HIDDEN, " ");
  const risks: CommandRisk[] = RULES.filter(({ pattern }) => pattern.test(line) || pattern.test(seen)).map(
    ({ risk }) => risk,
  );
  const danger = (message: string) => void risks.push({ level: "danger", message });
  if (words.some((word) => word.search(HIDDEN) >= 0))
    danger("contains invisible characters (shown as \\u{…} above)");
  if (line.length === MAX_EXAMINED) danger("is too long to be examined");
  // Padding can push the end of a command out of the window.
  if (words.some((word) => /\s{20}/.test(word)))
    danger("contains a long run of spaces, which can hide what follows");
  return risks;
}

const LOOPBACK = /^(?:localhost|.*\.localhost|127(?:\.\d+){3}|\[::1\])$/;
const SECRET = /token|secret|password|passwd|api[_-]?key|^key$|^auth/i;

export function addressWarnings(config: ServerConfig | { readonly url: string }): string[] {
  if (!("url" in config)) return [];
  const url = new URL(config.url);
  const warnings: string[] = [];
  if ((url.protocol === "http:" || url.protocol === "ws:") && !LOOPBACK.test(url.hostname)) {
    warnings.push(
      `is not encrypted: others on the network can read the traffic; use ${url.protocol.replace(":", "s:")}//`,
    );
  }
  const named = [...url.searchParams.keys()].find((name) => SECRET.test(name));
  if (named !== undefined) {
    warnings.push(
      `contains a secret ("${named.slice(0, 40)}"), and URLs end up in logs; use "headers" instead`,
    );
  }
  return warnings;
}

const RUNS_CODE = new RegExp(
  `^(?:${[
    ...["LD_.*", "DYLD_.*", "GCONV_PATH", "PATH", "PATHEXT", "HOME", "USERPROFILE", "XDG_CONFIG_.*", "SHELL"],
    ...["BASH_ENV", "ENV", "ZDOTDIR", "PROMPT_COMMAND", "OPENSSL_CONF", "OPENSSL_ENGINES", "OPENSSL_MODULES"],
    ...["NODE_OPTIONS", "NODE_PATH", "BUN_.*", "DENO_.*", "NPM_CONFIG_.*", "YARN_.*", "PNPM_.*"],
    "COREPACK_.*",
    ...["PYTHON(?:PATH|STARTUP|HOME|USERBASE|BREAKPOINT|WARNINGS)", "PIP_.*", "UV_.*", "PERL5(?:LIB|OPT|DB)"],
    ...["RUBY(?:OPT|LIB)", "GEM_.*", "BUNDLE_.*", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS"],
    ...["CLASSPATH", "DOTNET_STARTUP_HOOKS", "CORECLR_.*", "COR_.*", "PHPRC", "PHP_INI_SCAN_DIR", "LUA_.*"],
    ...["GIT_.*", "DOCKER_.*", "CONTAINER_HOST", "EDITOR", "VISUAL", "PAGER", "BROWSER"],
  ].join("|")})$`,
  "i",
);
const REROUTES = /^(?:(?:HTTPS?|ALL|FTP|NO|SOCKS|WSS?)_PROXY|NODE_USE_ENV_PROXY|GLOBAL_AGENT_.*)$/i;
const WEAKENS_TLS =
  /^(?:NODE_TLS_REJECT_UNAUTHORIZED|NODE_EXTRA_CA_CERTS|NODE_USE_SYSTEM_CA|SSL_CERT_(?:FILE|DIR)|(?:REQUESTS|CURL|AWS)_CA_BUNDLE|PYTHONHTTPSVERIFY|SSLKEYLOGFILE)$/i;

const KINDS: readonly (readonly [pattern: RegExp, effect: string])[] = [
  [RUNS_CODE, "which can change which code runs"],
  [REROUTES, "which can redirect its traffic through another machine"],
  [WEAKENS_TLS, "which can change or disable certificate checks"],
];

/** Whether to show the value of a variable to the user. */
export const isRiskyVariable = (name: string): boolean => KINDS.some(([pattern]) => pattern.test(name));

/** The risks of variables, judged by their names. */
export const variableRisks = (names: readonly string[]): CommandRisk[] =>
  KINDS.flatMap(([pattern, effect]): CommandRisk[] => {
    const found = names.filter((name) => pattern.test(name));
    return found.length === 0 ? [] : [{ level: "danger", message: `sets ${found.join(", ")}, ${effect}` }];
  });
