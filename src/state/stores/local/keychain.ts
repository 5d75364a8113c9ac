/** The operating system's keychain, where `@napi-rs/keyring` is installed and there is a keychain to reach. */

/** Keeps small secrets under names. Every method throws if the keychain is locked, missing or forbidden. */
export interface Keychain {
  read(account: string): Promise<string | undefined>;
  write(account: string, secret: string): Promise<void>;
  remove(account: string): Promise<void>;
}

interface KeyringPackage {
  AsyncEntry: new (
    service: string,
    account: string,
    options: { linux: { store: "secret-service" } },
  ) => {
    getPassword(): Promise<string | null>;
    setPassword(secret: string): Promise<void>;
    deleteCredential(): Promise<boolean>;
  };
}

/** A variable, so that neither TypeScript nor a bundler asks for an optional package. */
const PACKAGE: string = "@napi-rs/keyring";
const SERVICE = "toolport";

/** The keychain, or undefined if the package is not there. */
export async function loadKeychain(
  load: () => Promise<unknown> = () => import(PACKAGE),
): Promise<Keychain | undefined> {
  let keyring: KeyringPackage;
  try {
    keyring = (await load()) as KeyringPackage;
  } catch {
    return undefined;
  }
  // The package's other choice on Linux, the kernel's keyring, forgets everything at a restart of the machine.
  const entry = (account: string) =>
    new keyring.AsyncEntry(SERVICE, account, { linux: { store: "secret-service" } });
  return {
    read: async (account) => (await entry(account).getPassword()) ?? undefined,
    write: (account, secret) => entry(account).setPassword(secret),
    async remove(account) {
      await entry(account).deleteCredential();
    },
  };
}
