// What every placeholder has in it: words that say what it is and for which credential, so that one is known wherever it
// turns up. A placeholder is and was never a key, and is good for nothing anywhere.

/** In every placeholder but those whose form has no room for words. */
export const placeholderMark = 'sallyport-placeholder';

/**
 * The words for one credential: letters of base64url alone, so that they fit into keys, tokens and the signature of a JWT.
 * `prefix` is what clients look for before they send anything.
 */
export function placeholderFor(credential: string, prefix = ''): string {
  return `${prefix}${wordsFor(credential)}-gateway-puts-the-real-key-in`;
}

/** Forms without room for words, by credential. */
const wordless: ReadonlyMap<string, readonly string[]> = new Map([
  // An access key id has 20 capitals and digits.
  ['aws', ['AKIASALLYPORT0000000']],
]);

/** What to look for to find a placeholder of this credential: no one else's holds it. */
export function placeholderSigns(credential: string): readonly string[] {
  return [wordsFor(credential), ...(wordless.get(credential) ?? [])];
}

/** The end says where the name ends: `open` is not the beginning of `openai`. */
function wordsFor(credential: string): string {
  return `${placeholderMark}-for-${credential.replace(/[^A-Za-z0-9_-]/g, '_')}-the`;
}
