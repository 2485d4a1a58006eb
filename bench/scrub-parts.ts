// What scrub.mjs drives by itself, without a gateway around it.
export { Secret } from '../src/path/secret.ts';
export { KnownSecrets } from '../src/stages/inject/scrub/known-secrets.ts';
export { Scrubs } from '../src/stages/inject/scrub/secret-scrub.ts';
