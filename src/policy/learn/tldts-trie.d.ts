// The package says the types of its list in one place and keeps the list in another.
declare module 'tldts/dist/cjs/src/data/trie.js' {
  export * from 'tldts/dist/types/src/data/trie.js';
}
