#!/usr/bin/env node
// What the gateway's own code costs per small request, without kernel and TLS. Compiles path-cost.ts, which says how, from the
// source as it is, and runs it.
// usage: node bench/path-cost.mjs [requests] [--smoke]     (--cpu-prof works on it)
import { importSource } from './built.mjs';

const smoke = process.argv.includes('--smoke');
const requests = Number(process.argv.slice(2).find((word) => !word.startsWith('--')) ?? (smoke ? 2000 : 200_000));
const { measurePath } = await importSource('path-cost.ts');
console.log(await measurePath(requests, smoke ? 500 : 20_000));
process.exit(0);
