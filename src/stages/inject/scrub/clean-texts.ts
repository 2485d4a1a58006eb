// Texts in which nothing was found: clients and servers send the same field values again and again, and what was searched
// once need not be searched again while there is nothing else to look for. Small, and forgotten as a whole.

/** Of all hosts together. */
const maxTexts = 4096;
/** What is longer is seldom sent twice. */
const maxTextLength = 512;

export class CleanTexts {
  readonly #byHost = new Map<string, Set<string>>();
  #texts = 0;
  #version = -1;

  /** Of this host, as long as `version` is the same; null: it is new here. */
  of(host: string, version: number): Set<string> | null {
    if (version !== this.#version || this.#texts >= maxTexts) {
      this.#byHost.clear();
      this.#texts = 0;
      this.#version = version;
    }
    return this.#byHost.get(host) ?? null;
  }

  addHost(host: string): Set<string> {
    const texts = new Set<string>();
    this.#byHost.set(host, texts);
    this.#texts++;
    return texts;
  }

  add(texts: Set<string>, text: string): void {
    if (text.length > maxTextLength) return;
    // A copy: the text may be a part of a whole head, which would be kept with it.
    texts.add(Buffer.from(text, 'latin1').toString('latin1'));
    this.#texts++;
  }
}
