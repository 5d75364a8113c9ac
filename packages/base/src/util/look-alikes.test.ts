import { describe, expect, test } from "vitest";
import { lookOf, mixesLookAlikes, toAsciiName } from "./look-alikes.js";

describe("lookOf", () => {
  test.each([
    ["case", "Read_File", "read_file"],
    ["hyphen", "read-file", "read_file"],
    ["dot", "read.file", "read_file"],
    ["blank", "read file", "read_file"],
    ["long dash", "read\u2014file", "read_file"],
    ["Cyrillic a", "re\u0430d_file", "read_file"],
    ["Greek omicron", "t\u03bf\u03bfl", "tool"],
    ["Cyrillic capitals", "\u0420\u0410\u0423", "PAY"],
    ["Greek capitals", "\u039d\u039f", "NO"],
    ["full width", "\uff52\uff45\uff41\uff44_file", "read_file"],
    ["mathematical", "\u{1d42b}\u{1d41e}\u{1d41a}\u{1d41d}_file", "read_file"],
    ["small capitals", "\u1d18\u1d00\u028f", "pay"],
    ["Armenian", "g\u0585", "go"],
    ["Cherokee", "\u13a0\u13aa\u13a2\u13aa", "DATA"],
    ["dotless i", "f\u0131le", "file"],
    ["accent", "r\u00e9sum\u00e9", "resume"],
    ["zero width", "read\u200b_file", "read_file"],
    ["tags", "read_file\u{e0041}", "read_file"],
    ["soft hyphen", "re\u00adad", "read"],
    ["zero and o", "g00gle", "google"],
    ["one and l", "too1", "tool"],
    ["ligature", "\ufb01le", "file"],
  ])("%s", (_what, one, other) => {
    expect(lookOf(one)).toBe(lookOf(other));
  });

  test.each([
    ["read_file", "write_file"],
    ["mail", "mall"],
    ["a_b", "ab"],
    ["a__b", "a_b"],
    ["天気", "天气"],
    ["v2", "v3"],
  ])("%s and %s do not look alike", (one, other) => {
    expect(lookOf(one)).not.toBe(lookOf(other));
  });
});

test.each([
  ["re\u0430d_file", true],
  ["re\uff41d", true],
  ["read_file", false],
  ["résumé", false],
  ["погода", false],
  ["天气_weather", false],
  ["🔥fire", false],
])("%s mixes look-alikes: %s", (name, expected) => {
  expect(mixesLookAlikes(name)).toBe(expected);
});

test.each([
  ["read_file", "read_file"],
  ["a.b.c", "a_b_c"],
  ["files/read all", "files_read_all"],
  ["🔥hot", "hot"],
  ["hot🔥🔥stuff", "hot_stuff"],
  ["天气", ""],
  ["天气 get 查询", "get"],
  ["résumé", "resume"],
  ["Straße", "Strasse"],
  ["погода", "pogoda"],
  ["Погода", "Pogoda"],
  ["καιρός", "kairos"],
  ["re\u0430d_file", "read_file"],
  ["\uff52\uff45\uff41\uff44", "read"],
  ["a\u0000\n b", "a_b"],
  ["!?", ""],
])("%j becomes %j", (name, expected) => {
  expect(toAsciiName(name)).toBe(expected);
});
