/** The keychain of the operating system, if `@napi-rs/keyring` is installed and a keychain is available. */

/** Stores small secrets by name. Every method throws if the keychain is locked, missing or forbidden. */
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

/** A variable, so that neither TypeScript nor a bundler requires the optional package. */
const PACKAGE: string = "@napi-rs/keyring";
const SERVICE = "toolport";

/** The keychain, or undefined if the package is not installed. */
export async function loadKeychain(
  load: () => Promise<unknown> = () => import(PACKAGE),
): Promise<Keychain | undefined> {
  let keyring: KeyringPackage;
  try {
    keyring = (await load()) as KeyringPackage;
  } catch {
    return undefined;
  }
  // The package's alternative on Linux, the kernel keyring, loses everything at a reboot.
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
