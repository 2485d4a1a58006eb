#!/usr/bin/env -S node --min-semi-space-size=8 --max-semi-space-size=32
// The `sallyport` command as it is installed: runs the bundle beside it with the code that V8 compiled when it was built. A
// sandbox is one start of this, and compiling was a quarter of it. V8 takes the cache only if version, flags and source
// are the ones it was made with; otherwise it compiles.
'use strict';
const { readFileSync, writeFileSync } = require('node:fs');
const { wrap } = require('node:module');
const { join } = require('node:path');
const { Script } = require('node:vm');

// Before anything uses them: a look-up of a name keeps one of libuv's threads busy for as long as a name server likes, and of
// four it may have two. src/stages/forward/dial/fair-lookups.ts shares them out among the sandboxes.
process.env.UV_THREADPOOL_SIZE ??= '16';

// The bundler escapes what is not ASCII, so that this quick reading is the right one.
const bundle = join(__dirname, 'sallyport.cjs');
// The gateway that a run starts uses other parts of it than the run: each role has its own.
const role = process.argv[2] === 'background' ? 'gateway' : 'command';
const cache = `${bundle}.${role}.cache`;

function readCache() {
  try {
    return readFileSync(cache);
  } catch {
    return undefined;
  }
}

const script = new Script(wrap(readFileSync(bundle, 'latin1')), { filename: bundle, cachedData: readCache() });
// Only scripts/build.mjs asks for it: what was used in this run is what the next one will need.
if (process.env.SALLYPORT_BUILD_CACHE === '1') {
  process.on('exit', () => writeFileSync(cache, script.createCachedData()));
}
script.runInThisContext()(exports, require, module, bundle, __dirname);
