/** A registry of npm with the packed Toolport and the packages that are installed here, for installations without a network. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { published, root } from "../tree/source-files.js";

const run = promisify(execFile);

export interface PackageRegistry extends AsyncDisposable {
  readonly url: string;
  /** Packages that were fetched, as `name@version`. */
  readonly fetched: readonly string[];
}

interface Manifest {
  readonly name: string;
  readonly version: string;
}

/** Folders of the installed packages, by name. */
function installedPackages(): ReadonlyMap<string, readonly string[]> {
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as { packages: object };
  const folders = new Map<string, string[]>();
  for (const path of Object.keys(lock.packages)) {
    const name = path.split("node_modules/").at(-1) ?? "";
    if (name !== "") folders.set(name, [...(folders.get(name) ?? []), join(root, path)]);
  }
  return folders;
}

const manifestIn = async (folder: string): Promise<Manifest | undefined> =>
  readFile(join(folder, "package.json"), "utf8").then(JSON.parse, () => undefined);

/** Starts on a free port of the loopback interface. Needs a built Toolport. */
export async function startPackageRegistry(): Promise<PackageRegistry> {
  const folder = await mkdtemp(join(tmpdir(), "toolport-registry-"));
  const pack = ["pack", "--json", "--ignore-scripts", "--pack-destination", folder];
  const { stdout } = await run("npm", pack, { cwd: published });
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
  const own = (await manifestIn(published))!;
  const installed = installedPackages();
  const fetched: string[] = [];

  /** The versions of a package and the folders that contain them. */
  const versionsOf = async (name: string): Promise<Map<string, { manifest: Manifest; folder: string }>> => {
    const folders = name === own.name ? [published] : (installed.get(name) ?? []);
    const found = await Promise.all(folders.map(async (each) => [await manifestIn(each), each] as const));
    return new Map(
      found.flatMap(([manifest, each]) =>
        manifest === undefined ? [] : [[manifest.version, { manifest, folder: each }] as const],
      ),
    );
  };

  const sendManifests = async (name: string, response: ServerResponse): Promise<void> => {
    const versions = await versionsOf(name);
    if (versions.size === 0) return void response.writeHead(404).end("{}");
    const described = [...versions].map(([version, { manifest }]) => {
      const tarball = `${url}/-/${encodeURIComponent(name)}/${version}.tgz`;
      return [version, { ...manifest, dist: { tarball } }];
    });
    const body = {
      name,
      "dist-tags": { latest: [...versions.keys()].at(-1) },
      versions: Object.fromEntries(described),
    };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
  };

  const sendPackage = async (name: string, version: string, response: ServerResponse): Promise<void> => {
    const from = (await versionsOf(name)).get(version)?.folder;
    if (from === undefined) return void response.writeHead(404).end();
    fetched.push(`${name}@${version}`);
    if (name === own.name) return void response.end(await readFile(join(folder, filename)));
    const args = ["-czf", "-", "--exclude=./node_modules", "--transform=s,^[.],package,", "-C", from, "."];
    const tar = spawn("tar", args, { stdio: ["ignore", "pipe", "ignore"] });
    await pipeline(tar.stdout, response);
  };

  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? "").slice(1);
    const [, name, version] = /^-\/(.+)\/([^/]+)[.]tgz$/.exec(path) ?? [];
    const sending =
      name === undefined || version === undefined
        ? sendManifests(path, response)
        : sendPackage(name, version, response);
    sending.catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    fetched,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await rm(folder, { recursive: true });
    },
  };
}
