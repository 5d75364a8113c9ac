/** The atomic operations in Redis, as Lua scripts. All times come from the server's clock. */
import { createHash } from "node:crypto";
import { CHANGE_MEMORY_MS } from "../change-feed.js";

/** A script, and the name under which the server keeps it. */
export interface Script {
  readonly lua: string;
  readonly sha: string;
}

/** An expired lease is deleted after this time: its fence is no longer in use. */
const LEASE_MEMORY_MS = 7 * 24 * 3_600_000;
/** Maximum number of expired keys that one write removes from the index. */
const SWEEP_MAX = 100;

const script = (body: string): Script => {
  const lua = `${CLOCK}${body}`;
  return { lua, sha: createHash("sha1").update(lua).digest("hex") };
};

/**
 * Increasing numbers start at the time in microseconds: a server that lost its last writes, or all of them, does
 * not use a number twice. They stay below 2^53 for another two centuries.
 */
const CLOCK = `
local time = redis.call("TIME")
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)
local function greater(last)
  return string.format("%.0f", math.max((tonumber(last) or 0) + 1, micros))
end
local function changed(zset, key, channel)
  redis.call("ZADD", zset, now, key)
  redis.call("ZREMRANGEBYSCORE", zset, "-inf", now - ${CHANGE_MEMORY_MS})
  redis.call("PUBLISH", channel, key)
end
`;

/** KEYS: record. */
export const GET = script(`
local record = redis.call("HMGET", KEYS[1], "version", "text")
if not record[1] then return false end
return { record[1], record[2], redis.call("PTTL", KEYS[1]) }
`);

/** KEYS: record, index, expiry, changes, version, lease. ARGV: key, text, version or "", milliseconds or "", fence or "", channel. */
export const PUT = script(`
if ARGV[5] ~= "" and redis.call("HGET", KEYS[6], "fence") ~= ARGV[5] then return false end
if ARGV[3] ~= "" and (redis.call("HGET", KEYS[1], "version") or "0") ~= ARGV[3] then return false end
for _, gone in ipairs(redis.call("ZRANGEBYSCORE", KEYS[3], "-inf", now, "LIMIT", 0, ${SWEEP_MAX})) do
  redis.call("ZREM", KEYS[2], gone)
  redis.call("ZREM", KEYS[3], gone)
end
local version = greater(redis.call("GET", KEYS[5]))
redis.call("SET", KEYS[5], version)
redis.call("DEL", KEYS[1])
redis.call("HSET", KEYS[1], "version", version, "text", ARGV[2])
redis.call("ZADD", KEYS[2], 0, ARGV[1])
if ARGV[4] == "" then
  redis.call("ZREM", KEYS[3], ARGV[1])
else
  local expires = string.format("%.0f", now + ARGV[4])
  redis.call("PEXPIREAT", KEYS[1], expires)
  redis.call("ZADD", KEYS[3], expires, ARGV[1])
end
changed(KEYS[4], ARGV[1], ARGV[6])
return version
`);

/** KEYS: record, index, expiry, changes. ARGV: key, version or "", channel. */
export const DELETE = script(`
local version = redis.call("HGET", KEYS[1], "version")
if not version or (ARGV[2] ~= "" and version ~= ARGV[2]) then return 0 end
redis.call("DEL", KEYS[1])
redis.call("ZREM", KEYS[2], ARGV[1])
redis.call("ZREM", KEYS[3], ARGV[1])
changed(KEYS[4], ARGV[1], ARGV[3])
return 1
`);

/** KEYS: index, expiry. ARGV: prefix. Writes nothing, so that a replica can answer. No byte of UTF-8 is 255. */
export const LIST = script(`
local gone = {}
for _, key in ipairs(redis.call("ZRANGEBYSCORE", KEYS[2], "-inf", now)) do gone[key] = true end
local keys = {}
local last = ARGV[1] == "" and "+" or "(" .. ARGV[1] .. "\\255"
local first = ARGV[1] == "" and "-" or "[" .. ARGV[1]
for _, key in ipairs(redis.call("ZRANGEBYLEX", KEYS[1], first, last)) do
  if not gone[key] then keys[#keys + 1] = key end
end
return keys
`);

/** KEYS: index, changes. ARGV: milliseconds. Returns all keys if changes are not stored that long. */
export const CHANGED = script(`
local since = now - ARGV[1]
if tonumber(ARGV[1]) < ${CHANGE_MEMORY_MS} then return redis.call("ZRANGEBYSCORE", KEYS[2], since, "+inf") end
local keys = redis.call("ZRANGEBYSCORE", KEYS[2], "-inf", "+inf")
for _, key in ipairs(redis.call("ZRANGE", KEYS[1], 0, -1)) do keys[#keys + 1] = key end
return keys
`);

/** KEYS: lease. ARGV: milliseconds. */
export const ACQUIRE = script(`
local held = redis.call("HMGET", KEYS[1], "fence", "expires")
if held[2] and tonumber(held[2]) > now then return false end
local fence = greater(held[1])
redis.call("HSET", KEYS[1], "fence", fence, "expires", now + ARGV[1])
redis.call("PEXPIREAT", KEYS[1], string.format("%.0f", now + ARGV[1] + ${LEASE_MEMORY_MS}))
return fence
`);

/** KEYS: lease. ARGV: fence, milliseconds until it ends (0: released). */
export const RENEW = script(`
if redis.call("HGET", KEYS[1], "fence") ~= ARGV[1] then return 0 end
redis.call("HSET", KEYS[1], "expires", now + ARGV[2])
redis.call("PEXPIREAT", KEYS[1], string.format("%.0f", now + ARGV[2] + ${LEASE_MEMORY_MS}))
return 1
`);
