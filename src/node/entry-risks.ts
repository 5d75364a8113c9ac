/** What should make a user look twice before a command is run. The list warns; it does not protect. */
import type { ServerConfig } from "../config/server-config.js";

export interface CommandRisk {
  /** `"danger"` can do harm at once; `"note"` is usual, but good to know. */
  readonly level: "danger" | "note";
  /** One line, without the text that caused it. */
  readonly message: string;
}

type Rule = readonly [level: CommandRisk["level"], pattern: RegExp, message: string];

/** The name of a program, with or without a folder and `.exe`. */
const program = (names: string): string =>
  `(?:^|[\\s;&|(\`'"/\\\\])(?:${names})(?:\\.exe)?(?=$|[\\s;&|)\`'"])`;
const SHELL = "sh|bash|zsh|dash|ksh|fish|cmd|powershell|pwsh";

const rules: readonly Rule[] = [
  [
    "danger",
    new RegExp(program("sudo|doas|su|pkexec|runas|gsudo"), "is"),
    "runs with the rights of an administrator",
  ],
  [
    "danger",
    new RegExp(
      `${program("rm")}.{0,400}?\\s(?:-[a-z]*[rf]|--recursive|--force)|${program("rmdir|del|rd")}.{0,400}?\\s/[sq]`,
      "is",
    ),
    "deletes files and folders",
  ],
  [
    "danger",
    new RegExp(program("mkfs(?:\\.\\w+)?|dd|shred|wipefs|fdisk|diskpart|format"), "is"),
    "can overwrite a disk",
  ],
  [
    "danger",
    new RegExp(
      `\\|\\s*(?:sudo\\s+)?(?:\\S*[/\\\\])?(?:${SHELL}|node|python\\d*|perl|ruby)(?:\\.exe)?(?=$|[\\s;&|)'"])`,
      "is",
    ),
    "pipes text into a program that runs it",
  ],
  [
    "danger",
    new RegExp(
      `${program("curl|wget|nc|ncat|netcat|socat|ssh|scp|ftp|telnet|invoke-webrequest|iwr|iex")}|/dev/(?:tcp|udp)/`,
      "is",
    ),
    "talks to the network by itself, outside of MCP",
  ],
  [
    "danger",
    new RegExp(`${program(SHELL)}.{0,400}?\\s(?:-\\w*c|/c|/k|-command|-enc\\w*)(?=\\s|$)`, "is"),
    "is a shell that runs a text as commands",
  ],
  [
    "danger",
    new RegExp(
      `${program("node|deno|bun|python\\d*(?:\\.\\d+)?|perl|ruby|php|osascript")}.{0,400}?\\s(?:-e|-c|-r|-p|--eval|--print|eval)(?=\\s|$)`,
      "is",
    ),
    "runs code that stands in its arguments",
  ],
  ["danger", /\$\(|`[^`]+`|\beval\b|\bbase64\b.{0,400}?\s(?:-d|-D|--decode)\b/, "hides what it runs"],
  [
    "danger",
    /\$\{?HOME\b|%USERPROFILE%|(?:^|[\s=:'"])~(?=$|[\s/\\'":])|(?:^|[\s=:'"])(?:\/|[a-z]:[\\/]?)(?=$|[\s'":])/i,
    "reaches the whole home directory or disk",
  ],
  [
    "danger",
    /[/\\]\.(?:ssh|aws|gnupg|kube|azure|docker|netrc|npmrc|pypirc)\b|\bid_(?:rsa|ed25519|ecdsa)\b|\/etc\/(?:shadow|passwd|sudoers)|\bkeychain\b/i,
    "names a place where keys and passwords are kept",
  ],
  [
    "danger",
    new RegExp(
      `${program("crontab|systemctl|launchctl|schtasks|reg")}|\\.(?:bashrc|zshrc|profile|bash_profile)\\b|/etc/(?:cron|init|systemd)`,
      "is",
    ),
    "can make something start again by itself",
  ],
  [
    "danger",
    new RegExp(`${program("chmod")}.{0,400}?\\s(?:[ugoa]*\\+[rwx]*s|[0-7]*777)`, "is"),
    "weakens the protection of files",
  ],
  [
    "danger",
    /--privileged\b|docker\.sock\b|--(?:pid|net|network|ipc|uts|userns)[= ]host\b|--cap-add\b|(?:-v|--volume|source=|src=)[= ]?\/:/i,
    "takes the walls of its container down",
  ],
  [
    "note",
    new RegExp(
      `${program("npx|bunx|pnpx|uvx|dnx|pipx")}|${program("npm|pnpm|yarn|bun|uv|deno")}.{0,400}?\\s(?:exec|dlx|x|run)(?=\\s)`,
      "is",
    ),
    "downloads the program and runs it",
  ],
  ["note", new RegExp(program("docker|podman|nerdctl"), "is"), "starts a container"],
];

/** Characters that are not seen, or turn around what is. */
export const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]|[^\P{Zs} ]/gu;

/** Rules look no further; whoever writes more than this wants nobody to read it. */
const MAX_EXAMINED = 64 * 1024;

/** The risks in the words of a command line. */
export function commandRisks(words: readonly string[]): CommandRisk[] {
  const line = words.join(" ").slice(0, MAX_EXAMINED);
  // A second look without what a terminal would not show.
  const seen = line.replace(/\u001b\[[0-9;]{0,32}[a-z]/gi, " ").replace(HIDDEN, " ");
  const risks = rules
    .filter(([, pattern]) => pattern.test(line) || pattern.test(seen))
    .map(([level, , message]): CommandRisk => ({ level, message }));
  if (words.some((word) => word.search(HIDDEN) >= 0)) {
    risks.push({
      level: "danger",
      message: "holds characters that cannot be seen (written as \\u{…} above)",
    });
  }
  if (line.length === MAX_EXAMINED) {
    risks.push({ level: "danger", message: "is far too long to be examined" });
  }
  // Padding pushes the end of a command out of a window.
  if (words.some((word) => /\s{20}/.test(word))) {
    risks.push({ level: "danger", message: "holds a long empty stretch, which can hide what follows" });
  }
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
      `is not encrypted: everybody on the way can read along; use ${url.protocol.replace(":", "s:")}//`,
    );
  }
  const named = [...url.searchParams.keys()].find((name) => SECRET.test(name));
  if (named !== undefined) {
    warnings.push(
      `holds a secret ("${named.slice(0, 40)}"), and addresses end up in logs; use "headers" instead`,
    );
  }
  return warnings;
}

const RUNS_CODE = new RegExp(
  `^(?:${[
    ...["LD_.*", "DYLD_.*", "GCONV_PATH", "PATH", "PATHEXT", "HOME", "USERPROFILE", "XDG_CONFIG_.*", "SHELL"],
    ...["BASH_ENV", "ENV", "ZDOTDIR", "PROMPT_COMMAND", "OPENSSL_CONF", "OPENSSL_ENGINES", "OPENSSL_MODULES"],
    ...[
      "NODE_OPTIONS",
      "NODE_PATH",
      "BUN_.*",
      "DENO_.*",
      "NPM_CONFIG_.*",
      "YARN_.*",
      "PNPM_.*",
      "COREPACK_.*",
    ],
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
  [RUNS_CODE, "which can change what is run"],
  [REROUTES, "which can lead its traffic through another machine"],
  [WEAKENS_TLS, "which can change or switch off certificate checks"],
];

/** Whether the value of a variable is worth a look. */
export const isRiskyVariable = (name: string): boolean => KINDS.some(([pattern]) => pattern.test(name));

/** The risks in the names of variables. */
export const variableRisks = (names: readonly string[]): CommandRisk[] =>
  KINDS.flatMap(([pattern, effect]): CommandRisk[] => {
    const found = names.filter((name) => pattern.test(name));
    return found.length === 0 ? [] : [{ level: "danger", message: `sets ${found.join(", ")}, ${effect}` }];
  });
