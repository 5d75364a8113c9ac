/** What should make a user look twice before a command is run. The list warns; it does not protect. */

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
