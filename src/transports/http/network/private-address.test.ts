import { describe, expect, it } from "vitest";
import { canonicalHost, isLoopbackHost, isPrivateAddress, isPrivateHost } from "./private-address.js";

const PRIVATE_URLS = [
  "https://127.0.0.1/",
  "https://127.1/",
  "https://2130706433/",
  "https://0x7f000001/",
  "https://0177.0.0.1/",
  "https://0x7f.0.0.1/",
  "https://127.0.0.1./",
  "https://0/",
  "https://localhost/",
  "https://LOCALHOST./",
  "https://a.localhost/",
  "https://①②⑦.0.0.1/",
  "https://10.1.2.3/",
  "https://172.16.0.1/",
  "https://172.31.255.255/",
  "https://192.168.0.1/",
  "https://169.254.169.254/",
  "https://0xa9fea9fe/",
  "https://100.64.0.1/",
  "https://198.18.0.1/",
  "https://224.0.0.1/",
  "https://255.255.255.255/",
  "https://[::1]/",
  "https://[::]/",
  "https://[0:0:0:0:0:0:0:1]/",
  "https://[::ffff:127.0.0.1]/",
  "https://[::ffff:a9fe:a9fe]/",
  "https://[::ffff:0:10.0.0.1]/",
  "https://[::127.0.0.1]/",
  "https://[64:ff9b::a9fe:a9fe]/",
  "https://[64:ff9b:1::1]/",
  "https://[2002:7f00:1::]/",
  "https://[2002:a9fe:a9fe::1]/",
  "https://[fe80::5efe:10.0.0.1]/",
  "https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/",
  "https://[fc00::1]/",
  "https://[fd12:3456::1]/",
  "https://[fe80::1]/",
  "https://[fec0::1]/",
  "https://[ff02::1]/",
  "https://[2001:db8::1]/",
  "https://metadata.google.internal/",
  "https://printer.local/",
];

const PUBLIC_URLS = [
  "https://example.com/",
  "https://8.8.8.8/",
  "https://172.15.0.1/",
  "https://172.32.0.1/",
  "https://192.169.0.1/",
  "https://100.128.0.1/",
  "https://[2606:4700:4700::1111]/",
  "https://[::ffff:8.8.8.8]/",
  "https://[64:ff9b::808:808]/",
  "https://[2002:808:808::1]/",
  "https://notlocalhost/",
  "https://local.example.com/",
];

describe("isPrivateHost", () => {
  it.each(PRIVATE_URLS)("refuses %s", (url) => {
    expect(isPrivateHost(canonicalHost(new URL(url)))).toBe(true);
  });

  it.each(PUBLIC_URLS)("lets %s pass", (url) => {
    expect(isPrivateHost(canonicalHost(new URL(url)))).toBe(false);
  });
});

describe("isPrivateAddress", () => {
  it.each(["127.0.0.1", "::1", "[::1]", "fe80::1%eth0", "::ffff:10.0.0.1", "nonsense", "", "1.2.3"])(
    "refuses %s",
    (address) => expect(isPrivateAddress(address)).toBe(true),
  );
  it.each(["1.1.1.1", "2606:4700::1111"])("lets %s pass", (address) =>
    expect(isPrivateAddress(address)).toBe(false),
  );
});

it("knows this machine", () => {
  expect(["localhost", "127.0.0.2", "::1", "a.localhost"].map(isLoopbackHost)).toEqual([
    true,
    true,
    true,
    true,
  ]);
  expect(["10.0.0.1", "example.com", "127.example.com"].map(isLoopbackHost)).toEqual([false, false, false]);
});
