// Packs made by hand, right or wrong on purpose: git itself writes only right ones.
import { createHash } from 'node:crypto';
import { deflateSync } from 'node:zlib';
import { PackObjects, type PackObjectsLimits } from '../../../../../src/protocols/git/objects/pack-objects.ts';
import { PackScan, type PackScanLimits, type PackSummary } from '../../../../../src/protocols/git/objects/pack-scan.ts';

export interface Part {
  readonly code: number;
  readonly content: Buffer;
  /** For an offset-delta the number of the part it is based on (or a distance in bytes), for a ref-delta an id. */
  readonly base?: number | string;
  readonly distance?: number;
  /** What the header claims; the true size when not given. */
  readonly size?: number;
  readonly packed?: Buffer;
}

export interface PackOptions {
  readonly count?: number;
  readonly version?: number;
  readonly checksum?: Buffer;
}

export function packOf(parts: readonly Part[], options: PackOptions = {}): Buffer {
  const header = Buffer.alloc(12);
  header.write('PACK', 0, 'latin1');
  header.writeUInt32BE(options.version ?? 2, 4);
  header.writeUInt32BE(options.count ?? parts.length, 8);
  const pieces = [header];
  const offsets: number[] = [];
  let at = header.length;
  for (const part of parts) {
    offsets.push(at);
    const piece = [objectHeader(part.code, part.size ?? part.content.length)];
    if (part.code === 6) piece.push(distanceBytes(part.distance ?? at - (offsets[part.base as number] ?? 0)));
    if (part.code === 7) piece.push(Buffer.from(part.base as string, 'hex'));
    piece.push(part.packed ?? deflateSync(part.content));
    const bytes = Buffer.concat(piece);
    pieces.push(bytes);
    at += bytes.length;
  }
  return sealed(Buffer.concat(pieces), options.checksum);
}

export function sealed(body: Buffer, checksum?: Buffer): Buffer {
  return Buffer.concat([body, checksum ?? createHash('sha1').update(body).digest()]);
}

export function objectHeader(code: number, size: number): Buffer {
  const bytes: number[] = [];
  let rest = Math.floor(size / 16);
  let byte = (code << 4) | (size % 16);
  while (rest > 0) {
    bytes.push(byte | 0x80);
    byte = rest % 128;
    rest = Math.floor(rest / 128);
  }
  return Buffer.from([...bytes, byte]);
}

function distanceBytes(distance: number): Buffer {
  const bytes = [distance % 128];
  for (let rest = Math.floor(distance / 128); rest > 0; rest = Math.floor(rest / 128)) {
    rest -= 1;
    bytes.unshift((rest % 128) | 0x80);
  }
  return Buffer.from(bytes);
}

export function commitText(tree: string, parents: readonly string[], message = 'm'): Buffer {
  const lines = [`tree ${tree}`, ...parents.map((parent) => `parent ${parent}`)];
  return Buffer.from(`${lines.join('\n')}\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\n\n${message}\n`);
}

export function treeText(entries: readonly [mode: string, name: string, oid: string][]): Buffer {
  return Buffer.concat(
    entries.map(([mode, name, oid]) => Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(oid, 'hex')])),
  );
}

/** A delta that replaces the base by a text: literal bytes only. */
export function literalDelta(baseSize: number, result: Buffer): Buffer {
  const pieces = [sizeBytes(baseSize), sizeBytes(result.length)];
  for (let at = 0; at < result.length; at += 127) {
    const piece = result.subarray(at, at + 127);
    pieces.push(Buffer.from([piece.length]), piece);
  }
  return Buffer.concat(pieces);
}

/** A delta that keeps the whole base (under 64 KiB) and adds a text (under 128 bytes) behind it. */
export function appendDelta(baseSize: number, added: Buffer): Buffer {
  const copy = Buffer.from([0xb0, baseSize & 0xff, baseSize >> 8]);
  const sizes = [sizeBytes(baseSize), sizeBytes(baseSize + added.length)];
  return Buffer.concat([...sizes, copy, Buffer.from([added.length]), added]);
}

export function sizeBytes(size: number): Buffer {
  const bytes: number[] = [];
  let rest = size;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80);
  return Buffer.from([...bytes, rest]);
}

export async function scan(
  pack: Buffer,
  limits: Partial<PackScanLimits> = {},
  chunkBytes = 65_536,
): Promise<PackSummary> {
  const scanning = new PackScan(limits);
  for (let at = 0; at < pack.length; at += chunkBytes) await scanning.feed(pack.subarray(at, at + chunkBytes));
  return scanning.end();
}

export async function objectsOf(
  pack: Buffer,
  limits: Partial<PackScanLimits & PackObjectsLimits> = {},
): Promise<PackObjects> {
  const { entries } = await scan(pack, limits);
  const readAt = async (offset: number, length: number) => pack.subarray(offset, offset + length);
  const objects = new PackObjects(entries, readAt, limits);
  await objects.resolve();
  return objects;
}
