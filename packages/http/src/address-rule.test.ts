import { describe, expect, it } from "vitest";
import { isPrivateAddress, isPrivateHost } from "./address-rule.js";
import { canonicalHost, isLoopbackHost } from "./local-host.js";

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

  it.each(PUBLIC_URLS)("allows %s", (url) => {
    expect(isPrivateHost(canonicalHost(new URL(url)))).toBe(false);
  });
});

describe("isPrivateAddress", () => {
  it.each(["127.0.0.1", "::1", "[::1]", "fe80::1%eth0", "::ffff:10.0.0.1", "nonsense", "", "1.2.3"])(
    "refuses %s",
    (address) => expect(isPrivateAddress(address)).toBe(true),
  );
  it.each(["1.1.1.1", "2606:4700::1111"])("allows %s", (address) =>
    expect(isPrivateAddress(address)).toBe(false),
  );
});

/** First and last address of every block that is not globally reachable, and of those that embed one. */
const BLOCKED_RANGES = [
  ["0.0.0.0", "0.255.255.255"],
  ["10.0.0.0", "10.255.255.255"],
  ["100.64.0.0", "100.127.255.255"],
  ["127.0.0.0", "127.255.255.255"],
  ["169.254.0.0", "169.254.255.255"],
  ["172.16.0.0", "172.31.255.255"],
  ["192.0.0.0", "192.0.0.255"],
  ["192.0.2.0", "192.0.2.255"],
  ["192.88.99.0", "192.88.99.255"],
  ["192.168.0.0", "192.168.255.255"],
  ["198.18.0.0", "198.19.255.255"],
  ["198.51.100.0", "198.51.100.255"],
  ["203.0.113.0", "203.0.113.255"],
  ["224.0.0.0", "239.255.255.255"],
  ["240.0.0.0", "255.255.255.255"],
  ["::", "::ffff:ffff"],
  ["::ffff:0:0:0", "::ffff:0:ff:ffff"],
  ["64:ff9b::", "64:ff9b::ff:ffff"],
  ["64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff"],
  ["100::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["2002:a00::", "2002:aff:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["3fff::", "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["4000::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["2600::5efe:a00:0", "2600::5efe:aff:ffff"],
  ["2600::200:5efe:7f00:1", "2600::200:5efe:a9fe:a9fe"],
] as const;

it.each(BLOCKED_RANGES)("blocks %s to %s", (first, last) => {
  expect([first, last].map(isPrivateAddress)).toEqual([true, true]);
});

describe("Azure's platform address, which is in a public range", () => {
  it.each([
    "168.63.129.16",
    "::ffff:168.63.129.16",
    "::ffff:a83f:8110",
    "::ffff:0:a83f:8110",
    "64:ff9b::a83f:8110",
    "2002:a83f:8110::1",
    "2600::5efe:a83f:8110",
  ])("is blocked as %s", (address) => expect(isPrivateAddress(address)).toBe(true));

  it("is blocked in every spelling of a URL; adjacent addresses are not", () => {
    const isBlocked = (url: string) => isPrivateHost(canonicalHost(new URL(url)));
    expect(["http://0xa83f8110/", "http://2822734096/", "http://168.63.33040/"].map(isBlocked)).toEqual([
      true,
      true,
      true,
    ]);
    expect(["http://168.63.129.15/", "http://168.63.129.17/"].map(isBlocked)).toEqual([false, false]);
  });
});

describe("text that is not a plain address", () => {
  it.each(["010.8.8.8", "8.8.2056", "134744072", "0x8080808", "8.8.8.8:80", "8.8.8.8/32", "2606:4700::/32"])(
    "counts as private: %s",
    (address) => expect(isPrivateAddress(address)).toBe(true),
  );
});

it("recognises this machine", () => {
  expect(["localhost", "127.0.0.2", "::1", "a.localhost"].map(isLoopbackHost)).toEqual([
    true,
    true,
    true,
    true,
  ]);
  expect(["10.0.0.1", "example.com", "127.example.com"].map(isLoopbackHost)).toEqual([false, false, false]);
});
