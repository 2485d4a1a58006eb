// Types for the list inside the package, which declares them in another place.
declare module 'tldts/dist/cjs/src/data/trie.js' {
  export * from 'tldts/dist/types/src/data/trie.js';
}
