/** Reduces a PNG to 256 colours. Pictures of flat pages lose nothing that is visible, and a third of their size remains. */
import { deflateSync, inflateSync } from "node:zlib";

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** @param {Buffer} png 8 bits per channel, with or without alpha, not interlaced: what Chromium writes */
export function toPalettePng(png) {
  const { width, height, channels, data } = decode(png);
  const counts = new Map();
  const keyAt = (at) => (data[at] << 16) | (data[at + 1] << 8) | data[at + 2];
  for (let at = 0; at < data.length; at += channels) {
    const key = keyAt(at);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const palette = choose(counts);
  const nearest = new Map(palette.map((key, index) => [key, index]));
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++)
      rows[y * (width + 1) + 1 + x] = indexOf(keyAt((y * width + x) * channels), palette, nearest);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  const colours = Buffer.from(palette.flatMap((key) => [key >> 16, (key >> 8) & 255, key & 255]));
  return Buffer.concat([
    SIGNATURE,
    chunk("IHDR", header),
    chunk("PLTE", colours),
    chunk("IDAT", deflateSync(rows, { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/** The most frequent colours, at most one of every small cube, so that rare colours are represented too. */
function choose(counts) {
  const sorted = [...counts].sort((a, b) => b[1] - a[1]);
  if (sorted.length <= 256) return sorted.map(([key]) => key);
  const chosen = sorted.slice(0, 64).map(([key]) => key);
  const cubes = new Set(chosen.map(cubeOf));
  for (const [key] of sorted.slice(64)) {
    if (chosen.length === 256) break;
    if (cubes.has(cubeOf(key))) continue;
    cubes.add(cubeOf(key));
    chosen.push(key);
  }
  return chosen;
}

const cubeOf = (key) => ((key >> 20) << 8) | (((key >> 12) & 15) << 4) | ((key >> 4) & 15);

function indexOf(key, palette, nearest) {
  const known = nearest.get(key);
  if (known !== undefined) return known;
  const [red, green, blue] = [key >> 16, (key >> 8) & 255, key & 255];
  let [best, least] = [0, Number.POSITIVE_INFINITY];
  palette.forEach((other, index) => {
    const distance =
      (red - (other >> 16)) ** 2 + (green - ((other >> 8) & 255)) ** 2 + (blue - (other & 255)) ** 2;
    if (distance < least) [best, least] = [index, distance];
  });
  nearest.set(key, best);
  return best;
}

function decode(png) {
  let [width, height, channels] = [0, 0, 0];
  const parts = [];
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    const type = png.toString("latin1", at + 4, at + 8);
    const body = png.subarray(at + 8, at + 8 + length);
    if (type === "IHDR") {
      [width, height] = [body.readUInt32BE(0), body.readUInt32BE(4)];
      if (body[8] !== 8 || ![2, 6].includes(body[9]) || body[12] !== 0)
        throw new Error("Not a PNG of Chromium");
      channels = body[9] === 6 ? 4 : 3;
    } else if (type === "IDAT") parts.push(body);
    at += length + 12;
  }
  return {
    width,
    height,
    channels,
    data: unfilter(inflateSync(Buffer.concat(parts)), width * channels, channels),
  };
}

function unfilter(raw, stride, channels) {
  const height = raw.length / (stride + 1);
  const data = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y++) {
    const filter = raw[y * (stride + 1)];
    for (let x = 0; x < stride; x++) {
      const at = y * stride + x;
      const left = x >= channels ? data[at - channels] : 0;
      const up = y > 0 ? data[at - stride] : 0;
      const corner = x >= channels && y > 0 ? data[at - stride - channels] : 0;
      const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter];
      data[at] = (raw[y * (stride + 1) + 1 + x] + guess) & 255;
    }
  }
  return data;
}

function paeth(left, up, corner) {
  const guess = left + up - corner;
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)];
  if (a <= b && a <= c) return left;
  return b <= c ? up : corner;
}

function chunk(type, data) {
  const named = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(checksum(named));
  return Buffer.concat([length, named, sum]);
}

/** CRC-32 as used by PNG. */
function checksum(bytes) {
  let sum = 0xffffffff;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1;
  }
  return (sum ^ 0xffffffff) >>> 0;
}
