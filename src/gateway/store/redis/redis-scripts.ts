// What Redis does in one step. Each gets the prefix first and builds its keys from it: they are not declared, so this works
// with one Redis (and its replicas), not with Redis Cluster. Times are those of Redis; a registration is over when both Redis
// and the gateway that asks think so. docs/store.md has the keys.
import { createHash } from 'node:crypto';

export interface RedisScript {
  readonly text: string;
  readonly sha: string;
}

function script(...parts: string[]): RedisScript {
  const text = parts.join('\n');
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}

/**
 * The live gateways as instance, name, instance, name …. Beside them the names of the quiet ones: without a heartbeat, but it
 * may be Redis alone that they cannot reach, and then they serve whom they know until their grace is over.
 */
const gateways = `
local p = ARGV[1]
local function live()
  local found, names, quiet = {}, {}, {}
  local known = redis.call('HGETALL', p .. 'gateways')
  for i = 1, #known, 2 do
    if redis.call('EXISTS', p .. 'alive:' .. known[i]) == 1 then
      found[#found + 1] = known[i]
      found[#found + 1] = known[i + 1]
      names[known[i + 1]] = true
    elseif redis.call('EXISTS', p .. 'grace:' .. known[i]) == 1 then
      quiet[#quiet + 1] = known[i + 1]
    else
      redis.call('HDEL', p .. 'gateways', known[i])
    end
  end
  return found, quiet, names
end`;

const registrations = `
local function drop(id)
  local key = p .. 'registration:' .. id
  local claims = redis.call('HGET', key, 'claims')
  for claim in string.gmatch(claims or '', '[^\\n]+') do
    if redis.call('GET', p .. 'claim:' .. claim) == id then redis.call('DEL', p .. 'claim:' .. claim) end
  end
  redis.call('DEL', key)
  redis.call('ZREM', p .. 'registrations', id)
end
local function last() return tonumber(redis.call('GET', p .. 'version') or '0') or 0 end
local function note(version)
  if tonumber(version) > last() then redis.call('SET', p .. 'version', version) end
end
local function goneWith(id) return tonumber(redis.call('GET', p .. 'gone:' .. id) or '0') or 0 end
local function done()
  local reply, quiet, names = live()
  table.insert(reply, 1, 'done')
  for _, name in ipairs(quiet) do
    -- One that was started again has read everything since.
    if not names[name] then
      reply[#reply + 1] = ''
      reply[#reply + 1] = name
    end
  end
  return reply
end`;

/**
 * ARGV: prefix, mode, id, version, the version it follows, end, now, ms to keep, sealed, message, claims.
 * Modes: add; replace; restore (an add with its old version, after Redis has lost it, unless it was removed since).
 */
export const putRegistration = script(
  gateways,
  registrations,
  `
local mode, id, version, follows = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local ends, now, keep, sealed, message, claims = ARGV[6], tonumber(ARGV[7]), ARGV[8], ARGV[9], ARGV[10], ARGV[11]
-- A gateway whose clock is ahead must not take what is in use.
now = math.min(now, tonumber(redis.call('TIME')[1]) * 1000 + 999)
if mode ~= 'restore' and tonumber(version) <= last() then return {'old', redis.call('GET', p .. 'version')} end
local key = p .. 'registration:' .. id
local function lives(holder)
  local untilMs = redis.call('HGET', p .. 'registration:' .. holder, 'expires')
  return untilMs and (tonumber(untilMs) or 0) > now
end
local own = redis.call('HGET', key, 'version')
if mode == 'restore' and goneWith(id) >= tonumber(version) then return {'gone'} end
if mode == 'replace' then
  if not own then return {'gone'} end
  if own ~= follows then return {'changed'} end
elseif own and lives(id) then
  return {'taken', 'id ' .. id, id}
end
for claim in string.gmatch(claims, '[^\\n]+') do
  local holder = redis.call('GET', p .. 'claim:' .. claim)
  if holder and holder ~= id then
    if lives(holder) then return {'taken', claim, holder} end
    drop(holder)
  end
end
drop(id)
redis.call('HSET', key, 'version', version, 'expires', ends, 'claims', claims, 'sealed', sealed)
redis.call('PEXPIRE', key, keep)
for claim in string.gmatch(claims, '[^\\n]+') do redis.call('SET', p .. 'claim:' .. claim, id, 'PX', keep) end
redis.call('ZADD', p .. 'registrations', ends, id)
redis.call('ZREMRANGEBYSCORE', p .. 'registrations', '-inf', now - 86400000)
note(version)
redis.call('PUBLISH', p .. 'changes', message)
return done()`,
);

/** ARGV: prefix, id, version, message, `again`: a removal that Redis has lost, of what is not newer than that. */
export const removeRegistration = script(
  gateways,
  registrations,
  `
local id, version, message, again = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
if again == 'again' then
  local found = redis.call('HGET', p .. 'registration:' .. id, 'version')
  if found and (tonumber(found) or 0) > tonumber(version) then return {'newer'} end
elseif tonumber(version) <= last() then
  return {'old', redis.call('GET', p .. 'version')}
end
-- Remembered until it would have expired: else a gateway that was cut off could take it for lost, and restore it.
local ends = tonumber(redis.call('HGET', p .. 'registration:' .. id, 'expires') or '') or 0
local keep = math.max(86400000, ends - tonumber(redis.call('TIME')[1]) * 1000) + 600000
if goneWith(id) < tonumber(version) then
  redis.call('SET', p .. 'gone:' .. id, version, 'PX', string.format('%.0f', keep))
end
drop(id)
note(version)
redis.call('PUBLISH', p .. 'changes', message)
return done()`,
);

/**
 * ARGV: prefix, instance, name, ms, ms it may serve without a heartbeat, CA. The version, whether the last heartbeat was
 * still there, then the live gateways.
 */
export const beat = script(
  gateways,
  `
local was = redis.call('EXISTS', p .. 'alive:' .. ARGV[2])
redis.call('SET', p .. 'alive:' .. ARGV[2], '1', 'PX', ARGV[4])
redis.call('SET', p .. 'grace:' .. ARGV[2], '1', 'PX', ARGV[5])
redis.call('HSET', p .. 'gateways', ARGV[2], ARGV[3])
-- Also when Redis has lost it: a gateway of another CA must not be the first one there.
redis.call('SET', p .. 'ca', ARGV[6], 'NX')
local reply = live()
table.insert(reply, 1, was)
table.insert(reply, 1, redis.call('GET', p .. 'version') or '0')
return reply`,
);

const bucket = `
local key, perSecond, burst = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + tonumber(time[2]) / 1000
local kept = redis.call('HMGET', key, 'left', 'at')
local left = tonumber(kept[1] or '') or burst
left = math.min(burst, left + math.max(0, now - (tonumber(kept[2] or '') or now)) * perSecond / 1000)
local function keep()
  redis.call('HSET', key, 'left', string.format('%.6f', left), 'at', string.format('%.3f', now))
  local full = perSecond > 0 and (burst - left) / perSecond * 1000 or 86400000
  redis.call('PEXPIRE', key, string.format('%.0f', math.min(full, 86400000 * 30) + 1000))
end`;

/** ARGV: key, per second, burst, least, wanted. What is granted, and ms until there is something again. */
export const drawFromBucket = script(
  bucket,
  `
local least, wanted = tonumber(ARGV[4]), tonumber(ARGV[5])
local needed = math.min(least, burst)
local granted = 0
if left >= needed then granted = math.max(least, math.min(wanted, math.floor(left))) end
left = left - granted
keep()
if granted >= wanted then return {tostring(granted), 0} end
local missing = (granted == 0 and needed or math.min(1, burst)) - left
return {tostring(granted), perSecond > 0 and math.max(1, math.ceil(missing * 1000 / perSecond)) or 60000}`,
);

/** ARGV: key, per second, burst, amount; a negative one gives back. What is left. */
export const spendFromBucket = script(
  bucket,
  `
left = math.min(burst, left - tonumber(ARGV[4]))
keep()
return string.format('%.6f', left)`,
);

/** ARGV: prefix, key, instance, limit, held, wanted, ms to keep. How many it has now. */
export const takePlaces = script(`
local p, key, own = ARGV[1], ARGV[2], ARGV[3]
local limit, held, wanted = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local others = 0
local all = redis.call('HGETALL', key)
for i = 1, #all, 2 do
  if all[i] ~= own then
    if redis.call('EXISTS', p .. 'alive:' .. all[i]) == 1 then others = others + (tonumber(all[i + 1]) or 0)
    else redis.call('HDEL', key, all[i]) end
  end
end
local mine = math.max(held, math.min(wanted, limit - others), 0)
if mine > 0 then
  redis.call('HSET', key, own, mine)
  redis.call('PEXPIRE', key, ARGV[7])
else
  redis.call('HDEL', key, own)
end
return mine`);

/**
 * ARGV: key, instance, all it ever counted, ms to keep, all that the journal of its gateway has from before. The sum of all.
 * What the earlier processes of that gateway have reported is in the journal too: only what is missing of it is added.
 */
export const reportTally = script(`
local key, instance = ARGV[1], ARGV[2]
local function nameOf(field) return string.match(field, '^(.*)#') or field end
local reported, others = 0, 0
local all = redis.call('HGETALL', key)
for i = 1, #all, 2 do
  local sum = tonumber(all[i + 1]) or 0
  if all[i] ~= instance then
    if nameOf(all[i]) == nameOf(instance) then reported = reported + sum else others = others + sum end
  end
end
local own = tonumber(ARGV[3]) + math.max(0, (tonumber(ARGV[5] or '') or 0) - reported)
if own ~= 0 then
  redis.call('HSET', key, instance, string.format('%.17g', own))
  if redis.call('PTTL', key) < tonumber(ARGV[4]) then redis.call('PEXPIRE', key, ARGV[4]) end
end
return string.format('%.17g', own + reported + others)`);

/** ARGV: key, token, ms; 0 lets go. 1: it was held by this token. */
export const keepLock = script(`
if redis.call('GET', ARGV[1]) ~= ARGV[2] then return 0 end
if tonumber(ARGV[3]) > 0 then redis.call('PEXPIRE', ARGV[1], ARGV[3]) else redis.call('DEL', ARGV[1]) end
return 1`);

/**
 * ARGV: prefix, instance. Does once what the others do, so that a right that is missing is known before anything depends on
 * it: a script that fails half-way has changed something. The time, and as far as it may be asked, how memory is limited.
 */
export const tryEverything = script(`
local key = ARGV[1] .. 'trial:' .. ARGV[2]
for _, one in ipairs({
  {'DEL', key}, {'SET', key, '1', 'PX', 1000}, {'GET', key}, {'EXISTS', key}, {'PTTL', key}, {'DEL', key},
  {'HSET', key, 'a', '1'}, {'PEXPIRE', key, 1000}, {'HGET', key, 'a'}, {'HMGET', key, 'a'}, {'HGETALL', key},
  {'HDEL', key, 'a'},
  {'ZADD', key, 1, 'a'}, {'PEXPIRE', key, 1000}, {'ZRANGE', key, 0, -1}, {'ZREM', key, 'a'},
  {'ZREMRANGEBYSCORE', key, 1, 1},
  {'PUBLISH', key, ''},
}) do redis.call(unpack(one)) end
local memory = redis.pcall('INFO', 'memory')
memory = type(memory) == 'string' and memory or ''
return {redis.call('TIME')[1], string.match(memory, 'maxmemory:(%d+)') or '', string.match(memory, 'maxmemory_policy:(%S+)') or ''}`);
