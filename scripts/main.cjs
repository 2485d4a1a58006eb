#!/usr/bin/env node
// The `sallyport` command as it is installed: runs the bundle beside it with the code that V8 compiled when it was built. A
// sandbox is one start of this, and compiling was a quarter of it. V8 takes the cache only if version, flags and source
// are the ones it was made with; otherwise it compiles. Node does the same with its own modules: so no flag of V8 is given
// where this is started (docs/adr/060).
'use strict';
const { readFileSync, writeFileSync } = require('node:fs');
const { wrap } = require('node:module');
const { join } = require('node:path');
const { Script } = require('node:vm');

// Before anything uses them: a look-up of a name keeps one of libuv's threads busy for as long as a name server likes, and of
// four it may have two. src/stages/forward/dial/fair-lookups.ts shares them out among the sandboxes.
process.env.UV_THREADPOOL_SIZE ??= '16';

// A run is small, and a gateway stays: each has a bundle of its own. What is asked for otherwise is in the large one.
const bundleOf = { run: 'run.cjs', background: 'gateway.cjs', up: 'gateway.cjs', worker: 'gateway.cjs' };
const bundle = join(__dirname, bundleOf[process.argv[2]] ?? 'sallyport.cjs');
const cache = `${bundle}.cache`;

function readCache() {
  try {
    return readFileSync(cache);
  } catch {
    return undefined;
  }
}

// The bundler escapes what is not ASCII, so that this quick reading is the right one.
const script = new Script(wrap(readFileSync(bundle, 'latin1')), { filename: bundle, cachedData: readCache() });
// Only scripts/build.mjs asks for it: what was used in this run is what the next one will need.
if (process.env.SALLYPORT_BUILD_CACHE === '1') {
  process.on('exit', () => {
    // What a gateway switches off for as long as it serves (docs/adr/054) would be among the flags that it was made with.
    require('node:v8').setFlagsFromString('--allocation-site-pretenuring');
    writeFileSync(cache, script.createCachedData());
  });
}
script.runInThisContext()(exports, require, module, bundle, __dirname);
