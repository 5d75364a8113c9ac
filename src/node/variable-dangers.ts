/** Variables that should make a user look twice. The lists only mark what is shown: consent covers every variable alike. */
import type { CommandRisk } from "./command-dangers.js";

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
export const isTelling = (name: string): boolean => KINDS.some(([pattern]) => pattern.test(name));

/** The risks in the names of variables. */
export const variableRisks = (names: readonly string[]): CommandRisk[] =>
  KINDS.flatMap(([pattern, effect]): CommandRisk[] => {
    const found = names.filter((name) => pattern.test(name));
    return found.length === 0 ? [] : [{ level: "danger", message: `sets ${found.join(", ")}, ${effect}` }];
  });
