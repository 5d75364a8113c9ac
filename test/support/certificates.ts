/** Creates certificates for tests with `openssl`. The repository contains none. */
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

export interface Certificates {
  /** File with the signing authority, for `NODE_EXTRA_CA_CERTS`. */
  readonly authorityFile: string;
  /** Valid, for 127.0.0.1 and localhost. */
  readonly good: Certificate;
  /** Like `good`, but expired. */
  readonly expired: Certificate;
  /** Valid, for another host. */
  readonly otherHost: Certificate;
  /** For 127.0.0.1, self-signed. */
  readonly selfSigned: Certificate;
}

export const hasOpenssl = (): boolean => spawnSync("openssl", ["version"]).status === 0;

const CONFIG = `
[ca]
default_ca = own
[own]
database = index.txt
new_certs_dir = .
serial = serial
default_md = sha256
policy = any
copy_extensions = copy
unique_subject = no
[any]
commonName = supplied
[req]
distinguished_name = name
[name]
`;

/** Creates all of them in `folder`, which the caller removes. */
export function makeCertificates(folder: string): Certificates {
  const openssl = (...args: string[]) =>
    execFileSync("openssl", args, { cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
  const read = (name: string): Certificate => ({
    key: readFileSync(join(folder, `${name}.key`), "utf8"),
    cert: readFileSync(join(folder, `${name}.pem`), "utf8"),
  });
  const newKey = [
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:prime256v1",
    "-nodes",
    "-config",
    "own.cnf",
  ];
  writeFileSync(join(folder, "own.cnf"), CONFIG);
  writeFileSync(join(folder, "index.txt"), "");
  writeFileSync(join(folder, "serial"), "01\n");

  function selfSign(name: string, ...more: string[]): void {
    openssl(
      "req",
      "-x509",
      ...newKey,
      "-keyout",
      `${name}.key`,
      "-out",
      `${name}.pem`,
      "-days",
      "2",
      ...more,
    );
  }

  /** Signed by the authority for a host, valid from yesterday to tomorrow, or expired. */
  function sign(name: string, host: string, [from, to]: readonly [string, string]): Certificate {
    const san = `subjectAltName=${host}`;
    openssl(
      "req",
      "-new",
      ...newKey,
      "-subj",
      `/CN=${name}`,
      "-addext",
      san,
      "-keyout",
      `${name}.key`,
      "-out",
      `${name}.csr`,
    );
    const signing = ["-cert", "authority.pem", "-keyfile", "authority.key", "-in", `${name}.csr`];
    openssl(
      "ca",
      "-batch",
      "-notext",
      "-config",
      "own.cnf",
      ...signing,
      "-out",
      `${name}.pem`,
      "-startdate",
      from,
      "-enddate",
      to,
    );
    return read(name);
  }

  const here = "IP:127.0.0.1,DNS:localhost";
  const day = 24 * 3_600_000;
  const now = [date(Date.now() - day), date(Date.now() + day)] as const;
  selfSign("authority", "-subj", "/CN=authority", "-addext", "basicConstraints=critical,CA:TRUE");
  selfSign("alone", "-subj", "/CN=alone", "-addext", `subjectAltName=${here}`);
  return {
    authorityFile: join(folder, "authority.pem"),
    good: sign("good", here, now),
    expired: sign("expired", here, [date(Date.now() - 3 * day), date(Date.now() - 2 * day)]),
    otherHost: sign("other", "DNS:other.example", now),
    selfSigned: read("alone"),
  };
}

/** In ASN.1 format: `20260102030405Z`. */
const date = (at: number): string => `${new Date(at).toISOString().replace(/\D/g, "").slice(0, 14)}Z`;
